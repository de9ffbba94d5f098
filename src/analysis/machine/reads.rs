//! Keys that a function reads from what is older than it is: globals, variables of enclosing functions, attributes.
//!
//! **Invariant:** only single keys are recorded, and no reads of a module's own body or of a class body.

use crate::analysis::domain::value::{Val, Value};
use crate::analysis::machine::{Frame, Machine, name_cache, text, writes};
use crate::analysis::record::{Holder, LoggedRead};
use crate::ir::{FunctionKind, Name, Op, Temp, Variable};

/// Records that a function reads a global that holds a key.
pub fn note_global<'p>(machine: &mut Machine<'p>, frame: &Frame<'p>, name: &Name, value: &Value, op: &Op) {
    if frame.module == machine.context.home {
        note(machine, frame, value, (Holder::Global, name), op);
    }
}

/// Records that a function reads a variable of an enclosing function that holds a key.
pub fn note_variable<'p>(machine: &mut Machine<'p>, frame: &Frame<'p>, variable: &Variable, value: &Value, op: &Op) {
    if let Variable::Outer(depth, _) = variable
        && let Some(environment) = writes::environment_of(machine, frame, *depth)
        && holds_key(value)
        && let Some(name) = text::variable_name(machine.module(frame.module), frame, variable)
    {
        note(machine, frame, value, (Holder::Variable(environment), &name), op);
    }
}

/// Records that a called function reads an attribute that holds a key.
pub fn note_attribute<'p>(
    machine: &mut Machine<'p>,
    frame: &Frame<'p>,
    (object, of, name): (&Value, Temp, &Name),
    value: &Value,
    op: &Op,
) {
    if frame.activation.caller.is_some() && holds_key(value) {
        let written = name_cache::written_text(machine, frame, of).map(|of| format!("{of}.{name}").into());
        let name = written.as_ref().unwrap_or(name);
        for holder in writes::holders(machine, object) {
            note(machine, frame, value, (holder, name), op);
        }
    }
}

fn holds_key(value: &Value) -> bool {
    value.alternatives().iter().any(|alternative| matches!(alternative.val, Val::Key(_)))
}

fn note<'p>(machine: &mut Machine<'p>, frame: &Frame<'p>, value: &Value, of: (Holder, &Name), op: &Op) {
    let is_body = matches!(frame.code.kind, FunctionKind::Module | FunctionKind::ClassBody);
    if is_body || machine.transforms.abstract_depth > 0 {
        return;
    }
    let (place, pc) = (machine.place(frame, op.span), machine.state.paths.pc);
    for alternative in value.alternatives() {
        if let Val::Key(key) = alternative.val {
            machine.recorder.read_key(LoggedRead {
                holder: of.0,
                name: of.1.clone(),
                key,
                place,
                guard: machine.state.paths.guards.and(pc, alternative.guard),
                activation: frame.activation.clone(),
            });
        }
    }
}
