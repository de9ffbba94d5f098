//! Draws of which nothing but the shape is asked.
//!
//! **Invariant:** the answer comes from all reads of a draw in the whole body; one that cannot be followed counts as another use.

use crate::analysis::record::{Consumption, MEASURES, Recording};
use crate::finding::{Intent, IntentKind, Place};
use crate::ir::{Constant, FunctionId, FunctionKind, OpKind, Temp, Variable};
use crate::judge::facts::Role;
use crate::judge::intent::intent;

/// How deep functions that go through trees are looked into.
const TREES: u32 = 3;

/// Nothing of a draw is used but its shape or dtype: `normal(key, n).shape`, `zeros_like(normal(key, n))`.
pub fn shape_only(run: &Recording<'_>, consumption: usize) -> Option<Intent> {
    let draw = &run.log.consumptions[consumption];
    let (module, id) = (draw.activation.module, draw.activation.function);
    let is_measured = || {
        let call = run.call_at(&draw.activation, draw.place);
        call.is_some_and(|call| is_measured(run, (module, id), call, true, TREES))
    };
    let is_shape = is_draw(run, draw) && (is_measured() || is_returned_to_be_measured(run, draw));
    is_shape.then(|| intent(IntentKind::ShapeOnly, draw.place))
}

/// Nothing of an initialisation is used but what is empty at first: `model.init(key, x)["cache"]`.
pub fn structure_probe(run: &Recording<'_>, consumption: usize) -> Option<Intent> {
    let draw = &run.log.consumptions[consumption];
    if draw.role != Role::Protocol {
        return None;
    }
    let call = run.call_at(&draw.activation, draw.place)?;
    let body = (draw.activation.module, draw.activation.function);
    let is_probe = gives_blank_parts(run, body, call, &draw.callee, true);
    is_probe.then(|| intent(IntentKind::StructureProbe, draw.place))
}

fn is_draw(run: &Recording<'_>, draw: &Consumption) -> bool {
    matches!(draw.role, Role::Sample | Role::Library | Role::Protocol)
        && run.module(draw.activation.module).file == draw.place.file
}

/// Whether a draw is handed out by its function, and perhaps by that one's caller, to one who asks for its shape or dtype:
/// `space.sample().shape`.
fn is_returned_to_be_measured(run: &Recording<'_>, event: &Consumption) -> bool {
    for (activation, place) in event.chain().iter().rev() {
        let (module, id) = (activation.module, activation.function);
        let uses = run.uses_of(module, id);
        let Some(given) = uses.call_at(place.span).filter(|_| run.module(module).file == place.file) else {
            return false;
        };
        if is_measured(run, (module, id), given, true, TREES) {
            return true;
        }
        let (code, readers) = (run.module(module).function(id), uses.readers(given));
        let is_returned = |reader: &Temp| matches!(code.ops[*reader as usize].kind, OpKind::Return(_));
        if readers.is_empty() || !readers.iter().all(is_returned) {
            return false;
        }
    }
    false
}

/// Whether all who read a temp take a part of it into which the method that made it draws nothing.
fn gives_blank_parts(
    run: &Recording<'_>,
    (module, id): (usize, FunctionId),
    temp: Temp,
    callee: &str,
    may_store: bool,
) -> bool {
    let method = callee.rsplit('.').next().unwrap_or(callee);
    let protocols = run.program.models.protocols(method);
    let is_blank = |part: &str| protocols.iter().any(|protocol| protocol.blank.iter().any(|name| name == part));
    let code = run.module(module).function(id);
    let uses = run.uses_of(module, id);
    let readers = uses.readers(temp);
    !readers.is_empty()
        && readers.iter().all(|reader| match &code.ops[*reader as usize].kind {
            OpKind::Item(of, index) if *of == temp => {
                matches!(&code.ops[*index as usize].kind, OpKind::Constant(Constant::Str(part)) if is_blank(part))
            }
            OpKind::Store(Variable::Local(slot), _) if may_store && code.kind != FunctionKind::ClassBody => {
                let loads = uses.loads_of(*slot);
                uses.stores_of(*slot) == 1
                    && !uses.is_captured(*slot)
                    && !loads.is_empty()
                    && loads.iter().all(|load| gives_blank_parts(run, (module, id), *load, callee, false))
            }
            _ => false,
        })
}

/// Whether a call asks its arguments for shape or dtype alone, or goes through the leaves of a tree with a function that does.
fn is_measuring(run: &Recording<'_>, call: Place, depth: u32) -> bool {
    let only_measures = |(module, id): &(usize, FunctionId)| {
        depth.checked_sub(1).is_some_and(|depth| only_measures(run, *module, *id, depth))
    };
    run.log.measures.contains(&call) || run.log.trees.get(&call).is_some_and(|run| run.iter().any(only_measures))
}

/// Whether a function asks its parameters for nothing but shape or dtype.
fn only_measures(run: &Recording<'_>, module: usize, id: FunctionId, depth: u32) -> bool {
    let code = run.module(module).function(id);
    let uses = run.uses_of(module, id);
    !code.parameters.is_empty()
        && (0u32..).zip(&code.parameters).all(|(slot, _)| {
            let loads = uses.loads_of(slot);
            uses.stores_of(slot) == 0
                && !uses.is_captured(slot)
                && !loads.is_empty()
                && loads.iter().all(|load| is_measured(run, (module, id), *load, false, depth))
        })
}

/// Whether a temp, or the variable that nothing else is stored in, is read, and all who read it ask for shape or dtype.
fn is_measured(
    run: &Recording<'_>,
    (module, id): (usize, FunctionId),
    temp: Temp,
    may_store: bool,
    depth: u32,
) -> bool {
    let file = run.module(module).file;
    let code = run.module(module).function(id);
    let uses = run.uses_of(module, id);
    let asks = |reader: &Temp| {
        let op = &code.ops[*reader as usize];
        match &op.kind {
            OpKind::Attribute(_, name) => MEASURES.contains(&&**name),
            OpKind::Call(callee, _) => *callee != temp && is_measuring(run, Place { file, span: op.span }, depth),
            OpKind::Store(Variable::Local(slot), _) if may_store && code.kind != FunctionKind::ClassBody => {
                let loads = uses.loads_of(*slot);
                uses.stores_of(*slot) == 1
                    && !uses.is_captured(*slot)
                    && !loads.is_empty()
                    && loads.iter().all(|load| is_measured(run, (module, id), *load, false, depth))
            }
            _ => false,
        }
    };
    let readers = uses.readers(temp);
    !readers.is_empty() && readers.iter().all(asks)
}
