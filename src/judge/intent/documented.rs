//! Documented default keys: `def f(x, key=jax.random.key(0))` of a function that has a docstring.
//!
//! Every call that does not pass the key draws the same numbers. If the function has a docstring, callers read its
//! signature and see the default, so one note for each class, or for each module outside classes, is enough.
//!
//! **Invariant:** the default of an undocumented function stays a separate finding.

use std::collections::BTreeMap;

use crate::finding::{Finding, Intent, IntentKind, Label, Level, Place, RuleId};
use crate::judge::intent::said_so::Written;
use crate::text::Span;

/// Makes notes of the default keys of functions with docstrings, one for each class or module.
pub fn note_default_keys(written: Written<'_>, findings: &mut Vec<Finding>) {
    let mut noted: BTreeMap<String, usize> = BTreeMap::new();
    let mut folded = Vec::new();
    for (index, finding) in findings.iter_mut().enumerate() {
        let Some((name, span, is_named)) = documented_default(written, finding) else { continue };
        let place = Place { file: finding.primary.file, span };
        finding.level = Level::Note;
        finding.intent = Some(Intent {
            reason: if is_named {
                format!("the docstring mentions `{name}`")
            } else {
                format!("the documented signature gives `{name}` a default")
            },
            ..Intent::new(IntentKind::DocumentedDefault, Some(place))
        });
        let class = finding.function.rsplit_once('.').map_or("", |(class, _)| class).to_owned();
        if let Some(first) = noted.get(&class) {
            folded.push((*first, index));
        } else {
            noted.insert(class, index);
        }
    }
    for (first, index) in folded.iter().rev() {
        let same = findings.remove(*index);
        let message = format!("the same holds for `{}`", same.function);
        if let Some(finding) = findings.get_mut(*first) {
            finding.related.push(Label { place: same.primary, message });
        }
    }
}

/// The parameter whose default key is consumed, the docstring, and whether that mentions the parameter.
fn documented_default(written: Written<'_>, finding: &Finding) -> Option<(String, Span, bool)> {
    let name = finding.fix_hints.as_ref().filter(|_| finding.rule == RuleId::CapturedKeyInTransform)?.unused.clone()?;
    let docstrings = written.docstrings(finding.primary.span);
    let named = docstrings.into_iter().find(|span| mentions(written.slice(*span), &name));
    let span = named.or_else(|| written.docstring_of_function(finding.primary.span))?;
    Some((name, span, named.is_some()))
}

/// Whether a text has a name as a whole word.
fn mentions(text: &str, name: &str) -> bool {
    let is_part = |letter: char| letter.is_alphanumeric() || letter == '_';
    text.match_indices(name).any(|(at, found)| {
        !text[..at].ends_with(is_part) && !text[at + found.len()..].starts_with(is_part) && !name.is_empty()
    })
}
