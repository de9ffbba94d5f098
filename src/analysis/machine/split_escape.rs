//! Escape of the children of splits: which are passed to visible functions, and which escape.
//!
//! **Invariant:** a child escapes once anything but a visible function holds it, or once a function returns, stores, captures or computes
//! with it.

use smallvec::SmallVec;

use crate::analysis::domain::term::{Term, TermId, Terms};
use crate::analysis::domain::value::{DerivationId, Val, Value};
use crate::analysis::machine::{Frame, Machine};
use crate::analysis::program::Program;
use crate::analysis::record::MEASURES;
use crate::analysis::store::State;
use crate::analysis::store::args::Args;
use crate::ir::{Collection, FunctionKind, OpKind, Variable};
use crate::models::{BuiltinOp, Effect, Runs};

/// How deep a value is searched for children.
pub const NESTED: u32 = 4;

/// Most parts of a term that are searched for children.
const PARTS: usize = 256;

/// Records that unknown code holds the keys in a value.
pub fn escape(machine: &mut Machine<'_>, value: &Value) {
    if machine.recorder.log().derivations.is_empty() {
        return;
    }
    let mut found = Vec::new();
    children_in(&machine.state, value, NESTED, &mut found);
    for (derivation, parent) in found {
        if derivation != 0 {
            machine.recorder.note_child_escaped(derivation);
        } else if let Some(parent) = parent {
            machine.recorder.note_child_of_escaped(parent);
        }
    }
}

/// The keys in a value, each with the execution that derived it, and with the key that it is a child of.
fn children_in(state: &State, value: &Value, depth: u32, found: &mut Vec<(DerivationId, Option<TermId>)>) {
    let Some(depth) = depth.checked_sub(1) else { return };
    for alternative in value.alternatives() {
        match &alternative.val {
            Val::Key(key) | Val::Words(key, _) => found.push((key.derivation, parent_of(&state.terms, key.term))),
            Val::Array(array) => found.push((array.derivation, None)),
            Val::Term(term) => found.extend(parent_of(&state.terms, *term).map(|parent| (0, Some(parent)))),
            Val::Tuple(parts) => parts.iter().for_each(|part| children_in(state, part, depth, found)),
            Val::Method(method) => children_in(state, &method.0, depth, found),
            Val::UnknownMethod(method) => children_in(state, &method.0, depth, found),
            Val::Partial(partial) => partial.bound().for_each(|bound| children_in(state, bound, depth, found)),
            Val::Object(object) => {
                let held = state.store.objects[object.0 as usize].kind.held();
                held.for_each(|(_, value)| children_in(state, value, depth, found));
            }
            _ => {}
        }
    }
}

/// The key that a term is a child of, or holds children of.
fn parent_of(terms: &Terms, term: TermId) -> Option<TermId> {
    // Most terms have no parts.
    let mut work: SmallVec<[TermId; 8]> = SmallVec::from_slice(&[term]);
    for _ in 0..PARTS {
        match terms.get(work.pop()?) {
            Term::Child(parent, _) | Term::Children(parent) => return Some(*parent),
            Term::Item(of, ..) => work.push(*of),
            Term::Apply(_, parts) => work.extend(parts.iter().rev().copied()),
            _ => {}
        }
    }
    None
}

/// Records what an operation other than a call does with children.
pub fn note_operation(machine: &mut Machine<'_>, frame: &Frame<'_>, kind: &OpKind) {
    if machine.recorder.log().derivations.is_empty() {
        return;
    }
    let is_body = !matches!(frame.code.kind, FunctionKind::Module | FunctionKind::ClassBody);
    match kind {
        OpKind::Store(Variable::Local(_), _) if is_body => {}
        OpKind::Attribute(_, name) if MEASURES.contains(&&**name) => {}
        OpKind::Unpack { .. }
        | OpKind::Project(..)
        | OpKind::Item(..)
        | OpKind::If { .. }
        | OpKind::Annotate(..)
        | OpKind::Build(Collection::Tuple, _)
        | OpKind::Call(..) => {}
        // Unknown code that gets the function may call it.
        OpKind::Function(_, defaults) if is_body && frame.inlined.is_none() => {
            defaults.iter().for_each(|(_, temp)| escape(machine, &frame.temps[*temp as usize]));
            let uses = machine.uses_of(frame.module, frame.activation.function);
            let slots = machine.state.store.environments[frame.environment.0 as usize].slots.clone();
            for (_, held) in (0u32..).zip(&slots).filter(|(slot, _)| uses.is_captured(*slot)) {
                escape(machine, held);
            }
        }
        kind => kind.operands(&mut |temp| escape(machine, &frame.temps[temp as usize])),
    }
}

/// Records what a call does with the children passed to it.
pub fn note_call(machine: &mut Machine<'_>, callee: &Val, args: &Args) {
    if machine.recorder.log().derivations.is_empty() {
        return;
    }
    let is_visible = match callee {
        Val::Function(closure) => !machine.module(closure.module).function(closure.function).is_generator,
        Val::Method(_) => true,
        Val::Class(class) => machine.state.class_attribute(*class, &"__init__".into()).is_some(),
        _ => false,
    };
    if is_visible {
        let mut found = Vec::new();
        args.values().for_each(|value| children_in(&machine.state, value, NESTED, &mut found));
        machine.recorder.note_children_passed(found.into_iter().map(|(derivation, _)| derivation));
    } else if !passes_on(machine.program, callee) {
        args.values().chain(&args.spread).chain(&args.mappings).for_each(|value| {
            // An argument may be bound to any parameter.
            escape(machine, value);
        });
        escape(machine, &Value::of(callee.clone()));
    }
}

/// Whether a library function passes its arguments to another function, rather than only doing what the log records.
fn passes_on<'p>(program: &'p Program<'p>, callee: &Val) -> bool {
    let effect = |path: &str| program.models.callable(path).map(|callable| &callable.effect);
    let is_plain = |runs: Runs| matches!(runs, Runs::Once | Runs::Scan | Runs::Map | Runs::Fori | Runs::Cond);
    match callee {
        Val::Library(path) => match effect(path) {
            Some(Effect::Split { .. } | Effect::Observe | Effect::ShapeOf { .. }) => true,
            Some(Effect::Builtin(builtin)) => *builtin == BuiltinOp::Isinstance,
            Some(Effect::Transform(transform)) => is_plain(transform.runs),
            _ => false,
        },
        Val::Wrapped(wrapped) => {
            wrapped.function.is_some()
                && matches!(effect(&wrapped.transform), Some(Effect::Transform(transform)) if is_plain(transform.runs))
        }
        _ => false,
    }
}
