//! Draws that a function hands out among other things, and that its caller does not read.
//!
//! A function that is asked for a value may draw an action on the way: `_, value = act(params, key)`. The key is one for form's sake.
//!
//! **Invariant:** a draw counts as unread only where every read of it, in its function and in those that it is returned to, is
//! seen, and the last of these takes the other parts of what it is returned.

use rustc_hash::FxHashSet;

use crate::analysis::domain::value::{ModuleIndex, Val, Value};
use crate::analysis::record::{Consumption, Recording};
use crate::finding::{Intent, IntentKind};
use crate::ir::{Constant, Element, Function, FunctionId, FunctionKind, OpKind, Temp, Uses, Variable};
use crate::judge::facts::Role;
use crate::judge::intent::intent;
use crate::models::{Effect, TransformResult};

/// Most parts within each other that are followed.
const NESTED: usize = 4;

/// Where a draw stands within what holds it: the index in the outermost tuple first.
type Path = Vec<u32>;

/// A draw is handed out by its function, beside other things, to one who takes only those.
pub fn dropped_result(run: &Recording<'_>, consumption: usize) -> Option<Intent> {
    let draw = &run.log.consumptions[consumption];
    is_dropped(run, draw).then(|| intent(IntentKind::DroppedResult, draw.place))
}

fn is_dropped(run: &Recording<'_>, event: &Consumption) -> bool {
    if !matches!(event.role, Role::Sample | Role::Library | Role::Protocol) {
        return false;
    }
    let mut paths: Vec<Path> = vec![Vec::new()];
    let chain = event.chain();
    for (depth, (activation, place)) in chain.iter().enumerate().rev() {
        let (module, id) = (activation.module, activation.function);
        let uses = run.uses_of(module, id);
        let Some(call) = uses.call_at(place.span).filter(|_| run.module(module).file == place.file) else {
            return false;
        };
        let is_called = depth + 1 < chain.len();
        if is_called && !keeps_structure(run, module, id, call) {
            return false;
        }
        let code = run.module(module).function(id);
        let mut follow = Follow { code, uses: &uses, seen: FxHashSet::default(), returned: Vec::new() };
        if !paths.iter().all(|path| follow.is_idle(call, path)) {
            return false;
        }
        if follow.returned.is_empty() {
            return is_called && paths.iter().all(|path| !path.is_empty()) && !uses.readers(call).is_empty();
        }
        paths = follow.returned;
    }
    false
}

/// Whether what a call returns has the parts that the function it runs returns.
fn keeps_structure(run: &Recording<'_>, module: ModuleIndex, id: FunctionId, call: Temp) -> bool {
    let code = run.module(module).function(id);
    let callee_of = |temp: Temp| match &code.ops[temp as usize].kind {
        OpKind::Call(callee, _) => Some(*callee),
        _ => None,
    };
    let Some(callee) = callee_of(call) else { return false };
    let transform = callee_of(callee);
    let named = run.named(module, code, transform.unwrap_or(callee));
    let models = run.program.models;
    let keeps = |path: &str| {
        models.callable(path).is_some_and(|callable| {
            matches!(&callable.effect, Effect::Transform(transform) if transform.result == TransformResult::Value)
        })
    };
    match named.as_ref().and_then(Value::single) {
        // `vmap(f)(x)`, but not `scan(f, x, xs)`.
        Some(Val::Library(path)) => transform.is_some() && keeps(path),
        Some(Val::Wrapped(wrapped)) => keeps(&wrapped.transform),
        _ => true,
    }
}

/// Follows a draw through one function.
struct Follow<'a> {
    code: &'a Function,
    uses: &'a Uses,
    seen: FxHashSet<(Temp, Path)>,
    /// Where it stands in what the function returns.
    returned: Vec<Path>,
}

impl Follow<'_> {
    /// Whether nothing but what is returned comes of the part of a temp.
    fn is_idle(&mut self, temp: Temp, path: &[u32]) -> bool {
        if path.len() > NESTED {
            return false;
        }
        if !self.seen.insert((temp, path.to_vec())) {
            return true;
        }
        let uses = self.uses;
        uses.readers(temp).iter().all(|reader| self.is_idle_in(*reader, temp, path))
    }

    fn is_idle_in(&mut self, reader: Temp, temp: Temp, path: &[u32]) -> bool {
        let (code, uses) = (self.code, self.uses);
        match (&code.ops[reader as usize].kind, path) {
            (OpKind::Return(_), _) => {
                self.returned.push(path.to_vec());
                true
            }
            (OpKind::Store(Variable::Local(slot), _), _) if code.kind != FunctionKind::ClassBody => {
                !uses.is_captured(*slot) && uses.loads_of(*slot).iter().all(|load| self.is_idle(*load, path))
            }
            (OpKind::Build(crate::ir::Collection::Tuple, elements), _) => {
                (0u32..).zip(elements).all(|(index, element)| match element {
                    Element::Value(value) if *value == temp => {
                        let within: Path = std::iter::once(index).chain(path.iter().copied()).collect();
                        self.is_idle(reader, &within)
                    }
                    Element::Value(_) => true,
                    _ => false,
                })
            }
            (OpKind::Unpack { star: None, .. }, [first, rest @ ..]) => {
                uses.readers(reader).iter().all(|part| match &code.ops[*part as usize].kind {
                    OpKind::Project(_, index) => index != first || self.is_idle(*part, rest),
                    _ => false,
                })
            }
            (OpKind::Item(of, index), [first, rest @ ..]) if *of == temp => match &code.ops[*index as usize].kind {
                OpKind::Constant(Constant::Int(index)) if *index >= 0 => {
                    *index != i128::from(*first) || self.is_idle(reader, rest)
                }
                _ => false,
            },
            // What is computed of numbers: `action.squeeze(0)`, `action[0] + 1`.
            (OpKind::Attribute(..) | OpKind::Operate(..), []) => self.is_idle(reader, path),
            (OpKind::Item(of, _), []) => *of == temp && self.is_idle(reader, path),
            (OpKind::Call(callee, _), []) if *callee == temp => self.is_idle(reader, path),
            _ => false,
        }
    }
}
