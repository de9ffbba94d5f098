//! Selectors of rules: a code, a prefix of codes, a name, or `ALL`.
//!
//! **Invariant:** a parsed selector covers at least one known rule.

use super::suggest::suggest;
use crate::finding::{Level, RuleId};

/// What the configuration needs to know about a rule.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct KnownRule {
    /// Its code and name.
    pub id: RuleId,
    /// Other names that select it.
    pub aliases: &'static [String],
    /// Its default level.
    pub level: Level,
    /// Whether it is off unless its code or name is selected.
    pub opt_in: bool,
}

impl KnownRule {
    /// Whether `written` is its code or one of its names, in any case.
    pub fn is_called(&self, written: &str) -> bool {
        let names = [self.id.code(), self.id.name()].into_iter().chain(self.aliases.iter().map(String::as_str));
        names.into_iter().any(|name| name.eq_ignore_ascii_case(written))
    }
}

/// A selector of rules.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Selector {
    /// Every rule. Disables opt-in rules, but does not enable them.
    All,
    /// The rules whose codes start with this. Disables opt-in rules, but does not enable them.
    Prefix(String),
    /// One rule.
    Rule(RuleId),
}

impl Selector {
    /// Parses `written`, ignoring case and surrounding white space. The error is the nearest valid selector.
    pub fn parse(written: &str, rules: &[KnownRule]) -> Result<Self, Option<String>> {
        let written = written.trim();
        if written.eq_ignore_ascii_case("ALL") {
            return Ok(Self::All);
        }
        if let Some(rule) = rules.iter().find(|rule| rule.is_called(written)) {
            return Ok(Self::Rule(rule.id));
        }
        let prefix = written.to_ascii_uppercase();
        if prefix.starts_with("KEY") && rules.iter().any(|rule| rule.id.code().starts_with(&prefix)) {
            return Ok(Self::Prefix(prefix));
        }
        let words = rules.iter().flat_map(|rule| [rule.id.code(), rule.id.name()]).chain(["ALL"]);
        Err(suggest(written, words).map(str::to_owned))
    }

    /// Whether it covers a rule.
    pub fn covers(&self, rule: RuleId) -> bool {
        match self {
            Self::All => true,
            Self::Prefix(prefix) => rule.code().starts_with(prefix.as_str()),
            Self::Rule(one) => *one == rule,
        }
    }

    /// Whether selecting this enables the rule.
    pub(super) fn enables(&self, rule: &KnownRule) -> bool {
        self.covers(rule.id) && (!rule.opt_in || matches!(self, Self::Rule(_)))
    }

    /// How specific the selector is; the more specific of two that cover a rule wins.
    pub fn specificity(&self) -> usize {
        match self {
            Self::All => 0,
            Self::Prefix(prefix) => prefix.len(),
            Self::Rule(_) => usize::MAX,
        }
    }
}

impl std::fmt::Display for Selector {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(match self {
            Self::All => "ALL",
            Self::Prefix(prefix) => prefix,
            Self::Rule(rule) => rule.code(),
        })
    }
}
