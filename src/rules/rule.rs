//! One rule as data: its identity, and the metadata that its page states.
//!
//! **Invariant:** metadata is written once, in the front matter of `rules/<name>.md`; only code and name are also in the table of rules,
//! and a test compares them.

use serde::{Deserialize, Serialize};

use crate::finding::{Confidence, Finding, Level, RuleId};
use crate::judge::facts::Facts;

/// The fence around a page's front matter.
const FENCE: &str = "+++";

/// A rule: its name, how it reports by default, and its page.
#[derive(Clone, Debug)]
pub struct Rule {
    /// Which rule it is: its code and its name.
    pub id: RuleId,
    /// One line: what the rule reports.
    pub summary: String,
    /// Default level of its findings; a finding may be lower.
    pub level: Level,
    /// The highest confidence its findings reach.
    pub confidence: Confidence,
    /// How often a finding comes with a fix.
    pub fix: FixAvailability,
    /// The version that introduced the rule.
    pub since: String,
    /// The lifecycle stage of the rule.
    pub status: Status,
    /// Other names that select the rule.
    pub aliases: Vec<String>,
    /// Whether the rule reports only when it is selected by code or name.
    pub opt_in: bool,
    /// The page below its front matter, as Markdown.
    pub page: &'static str,
    /// Facts to findings; `None` for the rules whose findings the run itself makes.
    pub(super) check: Option<Check>,
}

/// How a rule turns facts into findings.
pub(super) type Check = fn(&Rule, &Facts) -> Vec<Finding>;

/// How often a rule's findings come with a fix.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum FixAvailability {
    /// Never.
    None,
    /// If the structure of the program allows it.
    Sometimes,
    /// For every finding.
    Always,
}

/// The lifecycle stage of a rule.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Status {
    /// New; its findings may still change considerably.
    Preview,
    /// In force.
    #[default]
    Stable,
    /// In force, and about to be removed.
    Deprecated,
    /// A tombstone: it reports nothing, and its code stays taken.
    Removed,
}

/// The front matter of a page, field by field.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct FrontMatter {
    code: String,
    name: String,
    summary: String,
    level: Level,
    confidence: Confidence,
    fix: FixAvailability,
    since: String,
    #[serde(default)]
    status: Status,
    #[serde(default)]
    aliases: Vec<String>,
    #[serde(default)]
    opt_in: bool,
}

impl Rule {
    /// Reads the page of the rule that the table of rules lists as `id`.
    pub(super) fn from_page(id: RuleId, page: &'static str, check: Option<Check>) -> Result<Self, String> {
        let (code, name) = (id.code(), id.name());
        let (front, body) = split_front_matter(page).ok_or_else(|| format!("{name}: no front matter"))?;
        let front: FrontMatter = toml::from_str(front).map_err(|problem| format!("{name}: {problem}"))?;
        if front.code != code || front.name != name {
            return Err(format!("{name}: the page calls itself {} {}", front.code, front.name));
        }
        Ok(Self {
            id,
            summary: front.summary,
            level: front.level,
            confidence: front.confidence,
            fix: front.fix,
            since: front.since,
            status: front.status,
            aliases: front.aliases,
            opt_in: front.opt_in,
            page: body,
            check,
        })
    }

    /// The code that is printed and never reassigned: `KEY101`.
    pub fn code(&self) -> &'static str {
        self.id.code()
    }

    /// The name, which reads well after "ignore": `key-reused`.
    pub fn name(&self) -> &'static str {
        self.id.name()
    }

    /// Address of the rule's page.
    pub fn url(&self) -> String {
        format!("{}/blob/main/docs/rules/{}.md", env!("CARGO_PKG_REPOSITORY"), self.name())
    }

    /// The page with absolute links, for readers who do not see it beside the other pages.
    pub fn linked_page(&self) -> String {
        let base = concat!(env!("CARGO_PKG_REPOSITORY"), "/blob/main");
        let mut page = String::with_capacity(self.page.len());
        let mut rest = self.page;
        while let Some(at) = rest.find("](") {
            let (before, link) = rest.split_at(at + 2);
            page.push_str(before);
            let target = link.split(')').next().unwrap_or_default();
            // `x[i](y)` in code is no link.
            let file = target.split('#').next().unwrap_or_default();
            let is_page = file.strip_suffix(".md").is_some() && !target.contains(':');
            if is_page {
                page.push_str(base);
                page.push_str(if target.starts_with("../") { "/" } else { "/docs/rules/" });
            }
            rest = if is_page { link.strip_prefix("../").unwrap_or(link) } else { link };
        }
        page + rest
    }

    /// Whether `selector` names this very rule: its code, its name or an alias.
    pub fn is_called(&self, selector: &str) -> bool {
        let names = [self.code(), self.name()].into_iter().chain(self.aliases.iter().map(String::as_str));
        names.into_iter().any(|name| name.eq_ignore_ascii_case(selector))
    }
}

/// The front matter between the first two fences, and the text after them.
fn split_front_matter(page: &str) -> Option<(&str, &str)> {
    let rest = page.strip_prefix(FENCE)?.strip_prefix('\n')?;
    let (front, body) = rest.split_once("\n+++\n")?;
    Some((front, body.trim_start()))
}
