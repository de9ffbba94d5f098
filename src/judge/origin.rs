//! Where keys come from.
//!
//! **Invariant:** a result is a place of the program, or `None`.

use crate::analysis::domain::term::{Symbol, Term, TermId};
use crate::analysis::record::Recording;
use crate::finding::Place;
use crate::judge::facts::{Origin, Role};
use crate::text::{FileId, Span};

/// Where a key came from.
pub fn origin(run: &Recording<'_>, term: TermId, derivation: u32) -> Option<Origin> {
    if let Some(derivation) = run.derivation(derivation) {
        let short = derivation.callee.as_ref();
        let text = match (run.terms.get(term), parent_of(run, derivation.place)) {
            (Term::Child(..) | Term::Children(_), Some((Role::Split, parent))) => format!("split from `{parent}` here"),
            (Term::Fold(..), Some((Role::Fold, parent))) => format!("derived from `{parent}` here"),
            (Term::Child(_, index), _) if matches!(run.terms.get(derivation.term), Term::Children(_)) => {
                format!("element {} of the result of `{short}`", run.terms.describe(*index))
            }
            _ => format!("created by `{short}`"),
        };
        return Some(Origin { place: derivation.place, text });
    }
    let root = run.terms.root(term);
    if let Some(info) = run.terms.symbol(root)
        && let Some((file, start, end)) = info.place
    {
        let place = Place { file: FileId(file), span: Span::new(start, end) };
        let name = run.terms.describe(term);
        let text = match info.symbol {
            Symbol::Parameter if root == term => format!("parameter `{name}`"),
            Symbol::Parameter => match run.log.origins.get(&term) {
                Some(place) => return Some(Origin { place: *place, text: format!("`{name}` is read here") }),
                None => format!("`{name}` comes from this parameter"),
            },
            _ => "obtained here".to_owned(),
        };
        return Some(Origin { place, text });
    }
    let place = run.log.origins.get(&term)?;
    Some(Origin { place: *place, text: format!("`{}` is read here", run.terms.describe(term)) })
}

/// The function that made a derivation, and its parent, as written there.
fn parent_of<'r>(run: &Recording<'r>, place: Place) -> Option<(Role, &'r str)> {
    let mut derived = run.log.consumptions.iter().filter(|event| matches!(event.role, Role::Split | Role::Fold));
    derived.find(|event| event.place == place).and_then(|event| Some((event.role, event.written.as_deref()?)))
}
