//! The rules: one file each, facts in and findings out.
//!
//! A rule is two functions: `find` selects its facts, and `describe` writes the message for one of them. Its metadata and its documentation
//! are the page `rules/<name>.md`.
//!
//! **Invariant:** the table in `finding/rule_id.rs` is the only list of rules. Rules read plain facts and never reach into the
//! interpreter; whether a finding is shown is decided later, by the engine.

mod buffer;
mod references;
mod reuse;
mod rule;
mod run;
mod wording;

use std::sync::LazyLock;

use crate::finding::{Finding, RuleId, every_rule};
use crate::judge::facts::Facts;

pub use rule::{FixAvailability, Rule, Status};
pub use run::{internal_error, invalid_suppression, syntax_error, unreadable_file, unused_suppression};
pub use wording::{INSIDE, fit_advice};

/// Makes the modules and the registry from the table of all rules.
macro_rules! registry {
    (
        run: [$($run:ident $run_code:literal $run_name:literal,)*]
        facts: [$($module:ident $rule:ident $code:literal $name:literal,)*]
    ) => {
        $(mod $module;)*

        /// Every rule, in the order of codes.
        static REGISTRY: LazyLock<Result<Vec<Rule>, String>> = LazyLock::new(|| {
            [
                $(Rule::from_page(
                    RuleId::$run,
                    include_str!(concat!("../../rules/", $run_name, ".md")),
                    None,
                ),)*
                $(Rule::from_page(
                    RuleId::$rule,
                    include_str!(concat!("../../rules/", $name, ".md")),
                    Some(|rule, facts| {
                        $module::find(facts).iter().map(|hit| $module::describe(rule, hit)).collect()
                    }),
                ),)*
            ]
            .into_iter()
            .collect()
        });
    };
}

every_rule!(registry);

/// Every rule, in the order of codes.
///
/// # Panics
///
/// When a page's front matter does not parse. Pages are part of the executable, so the tests exclude it.
pub fn all() -> &'static [Rule] {
    REGISTRY.as_deref().expect("every page opens with complete front matter, which the tests check")
}

/// The rules in force, in the order of codes.
pub fn in_force() -> impl Iterator<Item = &'static Rule> {
    all().iter().filter(|rule| rule.status != Status::Removed)
}

/// The rule with this identity.
pub fn get(id: RuleId) -> &'static Rule {
    &all()[id as usize]
}

/// The rule that `selector` names by its code, its name or an alias.
pub fn find(selector: &str) -> Option<&'static Rule> {
    all().iter().find(|rule| rule.is_called(selector))
}

/// Drops the facts that no rule reads: those for `keylint why`, and most references.
pub fn drop_unread(facts: &mut Facts) {
    facts.keys = Vec::new();
    facts.references.retain(|reference| references::is_reported(reference) || legacy_prngkey::makes_raw_key(reference));
    facts.references.shrink_to_fit();
}

/// The findings of all rules over one module's facts, sorted by place and code.
pub fn check(facts: &Facts) -> Vec<Finding> {
    let mut findings: Vec<Finding> =
        in_force().filter_map(|rule| rule.check.map(|check| check(rule, facts))).flatten().collect();
    if let Some(intent) = &facts.intent {
        for finding in findings.iter_mut().filter(|finding| finding.rule.may_be_intended()) {
            finding.note_intent(intent.clone());
        }
    }
    if let Some(random) = &facts.random {
        for help in findings.iter_mut().filter_map(|finding| finding.help.as_mut()) {
            *help = help.replace("jax.random.", &format!("{random}."));
        }
    }
    findings.sort_by(|a, b| (a.primary, a.rule, &a.message).cmp(&(b.primary, b.rule, &b.message)));
    findings.dedup_by(|a, b| (a.primary, a.rule, &a.message) == (b.primary, b.rule, &b.message));
    findings
}
