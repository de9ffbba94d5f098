//! The rules: one file each, facts in and findings out.
//!
//! A rule is two functions: `find` selects the facts it is about, and `describe` words one of them. Its metadata and
//! its documentation are the page `rules/<name>.md`.
//!
//! **Invariant:** the list below is the only list of rules. Rules read plain facts and never reach into the
//! interpreter; whether a finding is shown is decided later, by the engine.

mod buffer;
mod collision;
mod references;
mod rule;
mod run;
mod wording;

use std::sync::LazyLock;

use crate::analysis::facts::Facts;
use crate::finding::{Finding, Level};

pub use rule::{FixAvailability, Rule, Status};
pub use run::{internal_error, invalid_suppression, syntax_error, unreadable_file, unused_suppression};

/// Expands the list of rules to modules, registry rows and pages.
macro_rules! rules {
    (
        run: [$($run_code:literal $run_name:literal,)*]
        facts: [$($module:ident $code:literal $name:literal,)*]
    ) => {
        $(mod $module;)*

        /// Every rule, in the order of codes.
        static REGISTRY: LazyLock<Result<Vec<Rule>, String>> = LazyLock::new(|| {
            [
                $(Rule::from_page(
                    $run_code,
                    $run_name,
                    include_str!(concat!("../../rules/", $run_name, ".md")),
                    None,
                ),)*
                $(Rule::from_page(
                    $code,
                    $name,
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

rules![
    run: [
        "KEY001" "syntax-error",
        "KEY002" "unused-suppression",
        "KEY003" "invalid-suppression",
        "KEY004" "unreadable-file",
        "KEY005" "internal-error",
    ]
    facts: [
        key_reused "KEY101" "key-reused",
        key_reused_in_loop "KEY102" "key-reused-in-loop",
        key_used_after_split "KEY103" "key-used-after-split",
        key_derived_twice "KEY104" "key-derived-twice",
        seed_reused "KEY105" "seed-reused",
        captured_key_in_transform "KEY106" "captured-key-in-transform",
        stored_key_not_advanced "KEY107" "stored-key-not-advanced",
        key_broadcast "KEY108" "key-broadcast",
        consumed_key_returned "KEY109" "consumed-key-returned",
        split_discarded "KEY110" "split-discarded",
        caller_key_ignored "KEY111" "caller-key-ignored",
        key_buffer_indexed "KEY201" "key-buffer-indexed",
        key_arithmetic "KEY202" "key-arithmetic",
        key_axes_swapped "KEY203" "key-axes-swapped",
        key_shape_assumed "KEY204" "key-shape-assumed",
        key_dtype_assumed "KEY205" "key-dtype-assumed",
        key_data_rewrapped "KEY206" "key-data-rewrapped",
        key_as_number "KEY207" "key-as-number",
        legacy_prngkey "KEY301" "legacy-prngkey",
        removed_key_type "KEY302" "removed-key-type",
        private_prng_api "KEY303" "private-prng-api",
    ]
];

/// Every rule, in the order of codes.
///
/// # Panics
///
/// When a page's front matter does not parse. Pages are part of the executable, so the tests exclude it.
pub fn all() -> &'static [Rule] {
    REGISTRY.as_deref().expect("every page opens with complete front matter, which the tests check")
}

/// The rule that `selector` names by its code, its name or an alias.
pub fn find(selector: &str) -> Option<&'static Rule> {
    all().iter().find(|rule| rule.is_called(selector))
}

/// Whether `selector` is a rule, a prefix of codes (`KEY1`), or `ALL`.
pub fn is_selector(selector: &str) -> bool {
    all().iter().any(|rule| selects(selector, rule))
}

/// Whether `selector` covers `rule`: by its code, its name, an alias, a prefix of its code, or `ALL`.
pub fn selects(selector: &str, rule: &Rule) -> bool {
    selector == "ALL"
        || rule.is_called(selector)
        || (selector.starts_with("KEY") && selector.len() < rule.code.len() && rule.code.starts_with(selector))
}

/// The findings of all rules over one module's facts, sorted by place and code.
pub fn check(facts: &Facts) -> Vec<Finding> {
    let mut findings: Vec<Finding> = all()
        .iter()
        .filter(|rule| rule.status != Status::Removed)
        .filter_map(|rule| rule.check.map(|check| check(rule, facts)))
        .flatten()
        .collect();
    if facts.is_test {
        for finding in findings.iter_mut().filter(|finding| finding.code.starts_with("KEY1")) {
            finding.level = Level::Note;
        }
    }
    findings.sort_by(|a, b| (a.primary, a.code, &a.message).cmp(&(b.primary, b.code, &b.message)));
    findings.dedup_by(|a, b| (a.primary, a.code, &a.message) == (b.primary, b.code, &b.message));
    findings
}
