//! The key facts of expressions, for hovers.
//!
//! **Invariant:** nothing is recorded unless the program is analysed for that purpose; these records change no other
//! fact.

use crate::analysis::domain::kinds::KeyKind;
use crate::analysis::domain::term::Term;
use crate::analysis::domain::value::{Elements, Val, Value};
use crate::analysis::machine::{Frame, Machine, text};
use crate::analysis::record::Observed;
use crate::finding::Place;
use crate::ir::{FunctionId, Module, Op, OpKind};

/// Records the result of an operation.
pub fn observe<'p>(machine: &mut Machine<'p>, frame: &Frame<'p>, op: &Op, value: &Value) {
    let stored;
    let value = match &op.kind {
        OpKind::Load(_) | OpKind::Call(..) | OpKind::Item(..) | OpKind::Attribute(..) => value,
        OpKind::Store(variable, temp) => {
            // The span of a store may be that of the whole statement.
            if text::variable_text(frame, variable).len() != op.span.len() as usize {
                return;
            }
            stored = frame.temps.get(*temp as usize).cloned().unwrap_or_default();
            &stored
        }
        OpKind::StoreAttribute(_, _, temp) => {
            stored = frame.temps.get(*temp as usize).cloned().unwrap_or_default();
            &stored
        }
        _ => return,
    };
    let place = machine.place(frame, op.span);
    observe_value(machine, frame, place, value);
}

/// Records the parameters of a function.
pub fn observe_parameters<'p>(machine: &mut Machine<'p>, frame: &Frame<'p>) {
    let environment = frame.environment.0 as usize;
    for (index, parameter) in frame.code.parameters.iter().enumerate() {
        let slot = machine.state.store.environments[environment].slots.get(index).cloned();
        let place = machine.place(frame, parameter.span);
        observe_value(machine, frame, place, &slot.unwrap_or_default());
    }
}

fn observe_value<'p>(machine: &mut Machine<'p>, frame: &Frame<'p>, place: Place, value: &Value) {
    if frame.module != machine.context.home && !machine.program.follows {
        return;
    }
    let is_called = !frame.activation.root && frame.activation.caller.is_some();
    let run_by = if is_called { run_by(machine, frame) } else { None };
    for alternative in value.alternatives() {
        if matches!(alternative.val, Val::Array(_) | Val::Tuple(_) | Val::Object(_)) {
            machine.recorder.observe_no_single(place);
        }
        let (term, derivation, kind, is_array, is_guess) = match &alternative.val {
            Val::Key(key) => (key.term, key.derivation, key.kind, false, false),
            Val::Array(array) => match &array.elements {
                Elements::View { family, .. } => (*family, array.derivation, array.kind, true, false),
                _ => continue,
            },
            Val::Term(term)
                if matches!(machine.state.terms.get(*term), Term::Symbol(_) | Term::Attribute(..) | Term::Item(..)) =>
            {
                (*term, 0, KeyKind::Unknown, false, true)
            }
            _ => continue,
        };
        let (module, function) = (frame.module, frame.activation.function);
        let seen = Observed { place, is_called, term, derivation, kind, is_array, is_guess, function, module, run_by };
        machine.recorder.observe(seen);
    }
}

/// The function that was run on its own and led here, if its definition contains that of this function.
fn run_by(machine: &Machine<'_>, frame: &Frame<'_>) -> Option<FunctionId> {
    let mut top = &frame.activation;
    while !top.root
        && let Some((caller, _)) = &top.caller
    {
        top = caller;
    }
    if top.module != frame.module || top.function == Module::BODY || top.function == frame.activation.function {
        return None;
    }
    let around = machine.module(top.module).function(top.function).full;
    around.covers(frame.code.full).then_some(top.function)
}
