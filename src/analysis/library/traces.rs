//! Which functions are passed to a transform that traces them, or maps them over lanes.
//!
//! **Invariant:** the recorded function is the one whose body runs, without its wrappers, together with the number of leading arguments
//! that are the caller's own objects: a transform flattens all others and rebuilds them.

use crate::analysis::domain::kinds::TraceCache;
use crate::analysis::domain::term::Term;
use crate::analysis::domain::value::{ObjectId, Val, Value};
use crate::analysis::machine::Machine;
use crate::analysis::record::LoggedTrace;
use crate::analysis::store::args::Args;
use crate::analysis::store::heap::ObjectKind;
use crate::finding::Place;
use crate::ir::{Module, Name};
use crate::models::{Callable, Runs, Transform};

/// Most wrappers around a function that are removed.
const NESTED: u32 = 6;

/// Records the functions that are passed to a transform.
pub fn note(
    machine: &mut Machine<'_>,
    (transform, path): (&Transform, &Name),
    functions: &[Value],
    statics: &[Value],
    place: Place,
) {
    let is_traced = transform.traced || matches!(transform.runs, Runs::Lanes | Runs::Abstract);
    if !is_traced || machine.state.paths.pc.is_false() {
        return;
    }
    let keeps_first = statics.iter().any(|value| names_first(machine, value));
    let is_shared = statics.is_empty() || keeps_first && statics.iter().all(|value| names_one(machine, value));
    let cache = if transform.cached && is_shared { TraceCache::Function } else { TraceCache::None };
    let how = How { path, place, cache };
    for function in functions {
        note_within(machine, how, function, u32::from(keeps_first), NESTED);
    }
}

/// How a function is passed to a transform.
#[derive(Clone, Copy)]
struct How<'a> {
    path: &'a Name,
    place: Place,
    /// Which calls share a trace.
    cache: TraceCache,
}

fn note_within(machine: &mut Machine<'_>, how: How<'_>, function: &Value, bound: u32, depth: u32) {
    let Some(depth) = depth.checked_sub(1) else { return };
    // Each evaluation of `self.step`, `partial(step, 2)` or `vmap(step)` makes a function of its own.
    let inner = How { cache: how.cache.min(TraceCache::Object), ..how };
    for alternative in function.alternatives() {
        match &alternative.val {
            Val::Function(closure) => {
                let code = machine.module(closure.module).function(closure.function);
                if !machine.program.is_prelude(closure.module) && !code.is_stub {
                    machine.recorder.trace(LoggedTrace {
                        module: closure.module,
                        function: closure.function,
                        transform: how.path.clone(),
                        place: how.place,
                        bound,
                        cache: how.cache,
                        made_in: machine.context.stack.last().copied().unwrap_or((closure.module, Module::BODY)),
                    });
                }
            }
            Val::Method(method) => note_within(machine, inner, &method.1.clone(), bound + 1, depth),
            Val::Partial(partial) => {
                let more = u32::try_from(partial.positional.len()).unwrap_or(0);
                note_within(machine, inner, &partial.function.clone(), bound + more, depth);
            }
            Val::Wrapped(wrapped) => {
                if let Some(function) = wrapped.function.clone() {
                    note_within(machine, inner, &function, bound, depth);
                }
            }
            // The branches of `switch`.
            Val::Tuple(parts) => parts.clone().iter().for_each(|part| note_within(machine, how, part, bound, depth)),
            Val::Object(id) if matches!(machine.state.store.objects[id.0 as usize].kind, ObjectKind::List { .. }) => {
                for part in listed(machine, *id) {
                    note_within(machine, how, &part, bound, depth);
                }
            }
            Val::Object(_) => {
                if let Some(method) = machine.state.instance_method(&alternative.val, &"__call__".into()) {
                    note_within(machine, inner, &method, bound, depth);
                }
            }
            _ => {}
        }
    }
}

/// Whether the first argument is among those that `static_argnums` or `static_argnames` lists: `0`, `(0, 1)`, `"self"`.
fn names_first(machine: &mut Machine<'_>, value: &Value) -> bool {
    value.alternatives().iter().any(|alternative| match &alternative.val {
        Val::Term(term) => match machine.state.terms.get(*term) {
            Term::Int(number) => *number == 0,
            Term::Text(name) => &**name == "self",
            _ => false,
        },
        Val::Tuple(parts) => parts.clone().iter().any(|part| names_first(machine, part)),
        Val::Object(id) => listed(machine, *id).iter().any(|item| names_first(machine, item)),
        _ => false,
    })
}

/// Whether an option lists one argument: `0`, `(0,)`, `"self"`.
fn names_one(machine: &Machine<'_>, value: &Value) -> bool {
    match value.single() {
        Some(Val::Term(_)) => true,
        Some(Val::Tuple(parts)) => parts.len() == 1,
        Some(Val::Object(id)) => listed(machine, *id).len() == 1,
        _ => false,
    }
}

/// The elements of a list.
fn listed(machine: &Machine<'_>, id: ObjectId) -> Vec<Value> {
    match &machine.state.store.objects[id.0 as usize].kind {
        ObjectKind::List { items, .. } => items.iter().map(|item| item.value.clone()).collect(),
        _ => Vec::new(),
    }
}

/// The arguments of a call that list static arguments.
pub fn statics(transform: &Transform, callable: &Callable, args: &Args) -> Vec<Value> {
    let given = transform.statics.iter().filter_map(|name| args.of(callable, name));
    given.map(|arg| arg.value.clone()).collect()
}
