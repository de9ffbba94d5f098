//! Values as text, for messages.
//!
//! **Invariant:** the text is what the program writes, if that is short; otherwise an ellipsis.

use crate::analysis::domain::value::Value;
use crate::analysis::machine::Frame;
use crate::analysis::store::State;
use crate::ir::{Constant, Function, Module, Name, OpKind, Temp, Variable};

/// An operand that is a name.
pub fn written_name(module: &Module, frame: &Frame<'_>, temp: Temp) -> Option<Name> {
    match &frame.code.ops.get(temp as usize)?.kind {
        OpKind::Load(variable) => variable_name(module, frame, variable),
        _ => None,
    }
}

/// The name of a variable, if the program named it.
pub fn variable_name(module: &Module, frame: &Frame<'_>, variable: &Variable) -> Option<Name> {
    let slot_of =
        |code: &Function, slot: u32| code.slots.get(slot as usize).filter(|name| !name.starts_with('<')).cloned();
    match variable {
        Variable::Local(slot) => slot_of(frame.code, *slot),
        Variable::Outer(depth, slot) => {
            let enclosing = |code: &&Function| code.parent.map(|parent| module.function(parent));
            let mut outwards = std::iter::successors(Some(frame.code), enclosing);
            slot_of(outwards.nth(*depth as usize)?, *slot)
        }
        Variable::Global(name) => Some(name.clone()),
    }
}

/// The source of an operand, reconstructed.
pub fn source_text(module: &Module, frame: &Frame<'_>, temp: Temp) -> Option<Name> {
    match &frame.code.ops.get(temp as usize)?.kind {
        OpKind::Load(_) => written_name(module, frame, temp),
        OpKind::Attribute(object, name) => {
            let object = source_text(module, frame, *object)?;
            Some(format!("{object}.{name}").into())
        }
        OpKind::Item(object, index) => {
            let object = source_text(module, frame, *object)?;
            let index = match &frame.code.ops.get(*index as usize)?.kind {
                OpKind::Constant(Constant::Int(value)) => value.to_string(),
                OpKind::Constant(Constant::Str(text)) => format!("{text:?}"),
                _ => source_text(module, frame, *index)?.to_string(),
            };
            Some(format!("{object}[{index}]").into())
        }
        OpKind::Constant(Constant::Int(value)) => Some(value.to_string().into()),
        _ => None,
    }
}

pub fn variable_text(frame: &Frame<'_>, variable: &Variable) -> Name {
    match variable {
        Variable::Local(slot) => frame.code.slots.get(*slot as usize).cloned().unwrap_or_else(|| "<local>".into()),
        Variable::Outer(..) => "<captured>".into(),
        Variable::Global(name) => name.clone(),
    }
}

/// An index, for people.
pub fn index_text(state: &mut State, index: &Value) -> String {
    let term = state.term_of(index);
    state.terms.describe(term)
}
