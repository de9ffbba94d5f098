//! Implementations of keys: where a program chooses one for all keys, and where two implementations meet.
//!
//! **Invariant:** an implementation without a model is never compared, and neither is the default of a program in which
//! it depends on what runs.

use crate::analysis::domain::implementation::Implementation;
use crate::analysis::domain::kinds::KeyKind;
use crate::analysis::domain::term::Term;
use crate::analysis::domain::value::ModuleIndex;
use crate::analysis::program::Program;
use crate::analysis::record::{Callee, LoggedConflict, Recording};
use crate::finding::{Confidence, Place};
use crate::judge::facts::{Facts, GlobalChoice, ImplementationConflict, Mismatch};
use crate::judge::origin::origin;
use crate::models::{self, ARRAY};
use crate::text::FileId;

/// The places of a module that choose the implementation of all keys.
pub fn extract_choices(program: &Program<'_>, index: ModuleIndex, facts: &mut Facts) {
    let file = program.module(index).file;
    facts.choices.extend(program.choices.of_module(index).iter().map(|choice| {
        let known = choice.name.as_ref().and_then(|name| program.models.implementation(name));
        GlobalChoice {
            kind: choice.kind,
            place: Place { file, span: choice.span },
            by: choice.by.clone(),
            name: choice.name.as_ref().map(ToString::to_string),
            caveat: known.and_then(|known| known.caveat.clone()),
            function: choice.function.to_string(),
        }
    }));
}

/// Keys of one implementation where another one is expected.
pub fn extract_mismatches(run: &Recording<'_>, facts: &mut Facts, file: FileId) {
    let own = run.log.conflicts.iter().filter(|conflict| conflict.place.file == file);
    facts.mismatches.extend(own.filter_map(|conflict| mismatch(run, conflict)));
}

fn mismatch(run: &Recording<'_>, conflict: &LoggedConflict) -> Option<Mismatch> {
    let [one, other] = conflict.implementations;
    let other = known(run, other?)?;
    let (name, width) = match (one, conflict.width) {
        (Some(one), _) => known(run, one).map(|one| (one.name.clone(), one.width))?,
        (None, width) => (String::new(), width?),
    };
    let is_same =
        if conflict.kind == ImplementationConflict::Width { width == other.width } else { name == other.name };
    // Raw keys of one width are stacked; samplers then treat them as keys of one implementation.
    let are_raw = conflict.keys.iter().all(|key| key.is_some_and(|key| key.kind == KeyKind::Raw));
    if is_same || are_raw && width == other.width {
        return None;
    }
    let callee = run.log.callees.get(&conflict.place)?.iter().find_map(|callee| match callee {
        Callee::Library(path) => Some(path.to_string()),
        // `keys.at[0].set(key)`
        Callee::Method(name) => Some(format!("{ARRAY}.at.{name}")),
        Callee::Function(..) | Callee::Class(_) | Callee::Unknown => None,
    })?;
    Some(Mismatch {
        kind: conflict.kind,
        place: conflict.place,
        callee,
        names: [name, other.name.clone()],
        widths: [width, other.width],
        origins: conflict.keys.map(|key| key.and_then(|key| origin(run, key.term, key.derivation))),
        are_defaults: conflict.implementations.map(|one| one == Some(Implementation::Default)),
        confidence: if conflict.guard.is_true() { Confidence::High } else { Confidence::Medium },
        function: run.qualified(&conflict.activation),
    })
}

/// The implementation in a derivation, if it has a model.
fn known<'r>(run: &Recording<'r>, of: Implementation) -> Option<&'r models::Implementation> {
    let models = run.program.models;
    match of {
        Implementation::Default => models.default_implementation(),
        Implementation::Given(term) => match run.terms.get(term) {
            Term::Text(name) => models.implementation(name),
            _ => None,
        },
    }
}
