//! Places at which keys of different implementations are combined.
//!
//! **Invariant:** only the derivations of both sides are compared; whether two differently spelled implementations differ is not decided
//! here.

use crate::analysis::domain::guard::Guard;
use crate::analysis::domain::implementation::{Implementation, implementation};
use crate::analysis::domain::kinds::{ImplementationConflict, KeyKind};
use crate::analysis::domain::marks::CHOSEN;
use crate::analysis::domain::term::{Term, TermId};
use crate::analysis::domain::value::{Array, Elements, Key, ObjectId, Val, Value};
use crate::analysis::machine::{Frame, Machine};
use crate::analysis::program::choices::DefaultImplementation;
use crate::analysis::record::LoggedConflict;
use crate::analysis::store::heap::ObjectKind;
use crate::finding::Place;
use crate::models::{Effect, Models, ShapeOp};

/// How deep trees of keys are compared.
const NESTED: u32 = 4;

/// Most keys of one call that are compared with the first.
const KEYS: usize = 32;

/// Most dimensions in a shape.
const SHAPE: usize = 8;

/// Whether a library function makes keys from words.
pub fn wraps(models: &Models, path: &str) -> bool {
    models.callable(path).is_some_and(|callable| matches!(callable.effect, Effect::Wrap { .. }))
}

/// The implementation of the keys that a call makes, according to its `impl` argument.
pub fn given(machine: &mut Machine<'_>, argument: Option<&Value>) -> Implementation {
    let models = machine.program.models;
    let argument = argument.map(|value| machine.state.term_of(value));
    let argument = argument.filter(|term| *machine.state.terms.get(*term) != Term::None);
    let default = models.default_implementation().map(|one| one.name.as_str());
    let chosen = machine.program.choices.default_in(machine.context.home);
    match (argument, chosen) {
        (Some(term), DefaultImplementation::Unknown) => Implementation::Given(term),
        (Some(term), _) => match machine.state.terms.get(term) {
            Term::Text(name) if Some(&**name) == default => Implementation::Default,
            _ => Implementation::Given(term),
        },
        (None, DefaultImplementation::Chosen(name)) if Some(&*name) != default => {
            Implementation::Given(machine.state.terms.intern(Term::Text(name)))
        }
        (None, DefaultImplementation::Unknown) => {
            Implementation::Given(machine.state.terms.intern(Term::Apply(CHOSEN.into(), Box::new([]))))
        }
        (None, _) => Implementation::Default,
    }
}

/// What is known about the implementation of a key.
pub fn of(machine: &Machine<'_>, key: TermId) -> Option<Implementation> {
    let models = machine.program.models;
    implementation(&machine.state.terms, key, &|path| wraps(models, path))
}

/// Keys that are combined: the first with each of the others.
pub fn note<'p>(
    machine: &mut Machine<'p>,
    frame: &Frame<'p>,
    kind: ImplementationConflict,
    values: &[Value],
    place: Place,
) {
    if machine.state.paths.pc.is_false() || frame.module != machine.context.home {
        return;
    }
    let mut known: Vec<(Guard, Key, Implementation)> = Vec::new();
    for value in values.iter().take(KEYS) {
        let before = known.len();
        for alternative in value.alternatives() {
            if let Some(key) = key_in(&alternative.val)
                && let Some(implementation) = of(machine, key.term)
            {
                known.push((alternative.guard, key, implementation));
            }
        }
        for at in before..known.len() {
            let (guard, key, one) = known[at];
            for &(other_guard, other, two) in &known[..before] {
                let both = machine.state.paths.guards.and(guard, other_guard);
                let both = machine.state.paths.guards.and(both, machine.state.paths.pc);
                if one != two && machine.state.feasible(both) {
                    machine.recorder.conflict(LoggedConflict {
                        kind,
                        place,
                        keys: [Some(other), Some(key)],
                        implementations: [Some(two), Some(one)],
                        width: None,
                        guard: both,
                        activation: frame.activation.clone(),
                    });
                    return;
                }
            }
        }
    }
}

/// The carry of a loop before and after an iteration.
pub fn note_carry<'p>(machine: &mut Machine<'p>, frame: &Frame<'p>, carries: [&Value; 2], place: Place) {
    note_trees(machine, frame, ImplementationConflict::Carried, &carries.map(Clone::clone), place);
}

/// Trees that must have the same types, leaf by leaf.
pub fn note_trees<'p>(
    machine: &mut Machine<'p>,
    frame: &Frame<'p>,
    kind: ImplementationConflict,
    trees: &[Value],
    place: Place,
) {
    note_within(machine, frame, kind, trees, (place, NESTED));
}

fn note_within<'p>(
    machine: &mut Machine<'p>,
    frame: &Frame<'p>,
    kind: ImplementationConflict,
    trees: &[Value],
    (place, depth): (Place, u32),
) {
    note(machine, frame, kind, trees, place);
    let Some(depth) = depth.checked_sub(1) else { return };
    let parts: Option<Vec<Vec<Value>>> = trees
        .iter()
        .map(|tree| match tree.single()? {
            Val::Tuple(parts) => Some(parts.to_vec()),
            Val::Object(object) => leaves(machine, *object),
            _ => None,
        })
        .collect();
    let Some(parts) = parts else { return };
    let count = parts.iter().map(Vec::len).min().unwrap_or_default();
    if parts.iter().any(|leaves| leaves.len() != count) {
        return;
    }
    for at in 0..count {
        let leaves: Vec<Value> = parts.iter().filter_map(|leaves| leaves.get(at).cloned()).collect();
        note_within(machine, frame, kind, &leaves, (place, depth));
    }
}

/// The contents of a container, in the order of a tree's leaves.
fn leaves(machine: &Machine<'_>, object: ObjectId) -> Option<Vec<Value>> {
    let object = &machine.state.store.objects[object.0 as usize];
    match &object.kind {
        ObjectKind::List { items, unknown: false } => Some(items.iter().map(|item| item.value.clone()).collect()),
        ObjectKind::Dict { entries, unknown: false } => {
            let mut sorted: Vec<_> = entries.iter().collect();
            sorted.sort_by_key(|entry| entry.key);
            Some(sorted.into_iter().map(|entry| entry.value.clone()).collect())
        }
        ObjectKind::Instance => Some(object.attributes.values().cloned().collect()),
        _ => None,
    }
}

/// Words that are wrapped for an implementation.
pub fn note_wrapped<'p>(machine: &mut Machine<'p>, frame: &Frame<'p>, val: &Val, given: Implementation, place: Place) {
    if machine.state.paths.pc.is_false() || frame.module != machine.context.home {
        return;
    }
    let key = match val {
        Val::Words(key, None) => Some(*key),
        Val::Key(key) if key.kind == KeyKind::Raw => Some(*key),
        Val::Term(term) => match machine.state.terms.get(*term) {
            Term::Words(key, None) => Some(Key { term: *key, kind: KeyKind::Raw, derivation: 0 }),
            _ => None,
        },
        _ => None,
    };
    let implementation = key.and_then(|key| of(machine, key.term));
    let width = match val {
        Val::Term(term) if key.is_none() => width(machine, *term),
        _ => None,
    };
    if implementation.is_none_or(|one| one == given) && width.is_none() {
        return;
    }
    machine.recorder.conflict(LoggedConflict {
        kind: if key.is_some() { ImplementationConflict::Wrapped } else { ImplementationConflict::Width },
        place,
        keys: [key, None],
        implementations: [implementation, Some(given)],
        width,
        guard: machine.state.paths.pc,
        activation: frame.activation.clone(),
    });
}

/// A raw key that is used as one of the default implementation.
pub fn note_taken<'p>(machine: &mut Machine<'p>, frame: &Frame<'p>, key: Key, place: Place) {
    if key.kind != KeyKind::Raw || machine.state.paths.pc.is_false() || frame.module != machine.context.home {
        return;
    }
    let Some(implementation) = of(machine, key.term) else { return };
    let default = given(machine, None);
    if implementation == default {
        return;
    }
    machine.recorder.conflict(LoggedConflict {
        kind: ImplementationConflict::Taken,
        place,
        keys: [Some(key), None],
        implementations: [Some(implementation), Some(default)],
        width: None,
        guard: machine.state.paths.pc,
        activation: frame.activation.clone(),
    });
}

/// The key that a value denotes, or one key of an array.
fn key_in(val: &Val) -> Option<Key> {
    match val {
        Val::Key(key) => Some(*key),
        Val::Words(key, None) => Some(Key { kind: KeyKind::Raw, ..*key }),
        Val::Array(array) => key_of(array),
        _ => None,
    }
}

fn key_of(array: &Array) -> Option<Key> {
    match &array.elements {
        Elements::View { family, .. } => Some(Key { term: *family, kind: array.kind, derivation: array.derivation }),
        Elements::Listed(parts) | Elements::Joined(parts) => match parts.first()?.single()? {
            Val::Key(key) => Some(*key),
            Val::Array(inner) => match &inner.elements {
                Elements::View { family, .. } => {
                    Some(Key { term: *family, kind: inner.kind, derivation: inner.derivation })
                }
                _ => None,
            },
            _ => None,
        },
        Elements::Copies(of) => match of.single()? {
            Val::Key(key) => Some(*key),
            _ => None,
        },
    }
}

/// The length of the last axis of an array that is made of literals: `jnp.array([0, 1])`, `jnp.zeros((3, 2))`.
fn width(machine: &Machine<'_>, term: TermId) -> Option<u32> {
    let terms = &machine.state.terms;
    let Term::Apply(path, parts) = terms.get(term) else { return None };
    let callable = machine.program.models.callable(path)?;
    if let Effect::Shape { op: ShapeOp::Array, .. } = callable.effect {
        let are_numbers = parts.len() > 1 && parts.iter().all(|part| terms.as_exact_int(*part).is_some());
        return are_numbers.then(|| u32::try_from(parts.len()).ok()).flatten();
    }
    let position = callable.params.iter().position(|param| Some(&param.name) == callable.lengths.as_ref())?;
    let shape = *parts.get(position)?;
    let last = match terms.get(shape) {
        Term::Apply(name, lengths) if &**name == "<tuple>" && lengths.len() <= SHAPE => *lengths.last()?,
        _ => shape,
    };
    u32::try_from(terms.as_exact_int(last)?).ok()
}
