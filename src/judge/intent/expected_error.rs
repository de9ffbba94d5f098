//! Calls that are there to raise: `try: model.init(key, x)`, `except ValueError as error: trace = error.__traceback__`.
//!
//! **Invariant:** a call counts as one only where it is the last that its `try` does, nothing reads what it returns, nothing runs
//! where it raises nothing, and a handler keeps a part of the error: what is logged or passed over may as well not happen.

use crate::analysis::record::Recording;
use crate::finding::{Intent, IntentKind};
use crate::ir::{Function, Handler, OpKind, Temp, Uses};
use crate::judge::intent::intent;

/// A draw happens within a call that is there to raise.
pub fn expected_error(run: &Recording<'_>, consumption: usize) -> Option<Intent> {
    let chain = run.log.consumptions[consumption].chain();
    let raising = chain.iter().find(|(activation, place)| {
        let (module, id) = (activation.module, activation.function);
        let code = run.module(module).function(id);
        if !code.ops.iter().any(|op| matches!(op.kind, OpKind::Try { .. })) {
            return false;
        }
        let uses = run.uses_of(module, id);
        let call = uses.call_at(place.span).filter(|_| run.module(module).file == place.file);
        call.is_some_and(|call| is_there_to_raise(code, &uses, call))
    })?;
    Some(intent(IntentKind::ExpectedError, raising.1))
}

fn is_there_to_raise(code: &Function, uses: &Uses, call: Temp) -> bool {
    uses.readers(call).is_empty()
        && code.ops.iter().any(|op| match &op.kind {
            OpKind::Try { body, handlers, orelse, .. } => {
                body.last() == Some(&call)
                    && orelse.is_empty()
                    && handlers.iter().any(|handler| keeps_error(code, handler))
            }
            _ => false,
        })
}

/// Whether a handler stores a part of the error.
fn keeps_error(code: &Function, handler: &Handler) -> bool {
    let Some(name) = &handler.name else { return false };
    handler.body.iter().any(|temp| match &code.ops[*temp as usize].kind {
        OpKind::Store(_, stored) => match &code.ops[*stored as usize].kind {
            OpKind::Attribute(of, _) => {
                matches!(&code.ops[*of as usize].kind, OpKind::Load(variable) if variable == name)
            }
            _ => false,
        },
        _ => false,
    })
}
