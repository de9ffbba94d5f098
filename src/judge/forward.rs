//! Modules of libraries: what a constant key draws in the method that each forward pass calls is the same in all passes.
//!
//! **Invariant:** only noise counts, which has the whole shape of another array. A matrix of random features, whose shape is
//! composed of numbers, must be the same in each pass.

use crate::analysis::domain::term::{Term, TermId};
use crate::analysis::domain::value::Val;
use crate::analysis::record::{Activation, Consumption, Recording};
use crate::finding::Place;
use crate::ir::{FunctionKind, OpKind, Operator, Temp, Variable};
use crate::judge::facts::{Role, TraceKind, TracedFunction};
use crate::judge::paths::PathQueries;

/// The parameter of a library's layers that is their input.
const INPUT: &str = "x";

/// The innermost method around a draw that forward passes call, if there is one. What a nested function draws may be the first value of a
/// parameter or of a variable.
pub fn method_around(run: &Recording<'_>, event: &Consumption) -> Option<TracedFunction> {
    let is_nested = |activation: &&Activation| {
        let module = run.module(activation.module);
        let parent = run.code(activation).parent.map(|parent| module.function(parent).kind);
        !matches!(parent, None | Some(FunctionKind::Module | FunctionKind::ClassBody))
    };
    event
        .activation
        .outwards()
        .take_while(|activation| !is_nested(activation))
        .find_map(|activation| method(run, activation))
}

/// The function of an activation, if forward passes call it: `__call__` of a class whose base is a module of a library.
fn method(run: &Recording<'_>, activation: &Activation) -> Option<TracedFunction> {
    let code = run.code(activation);
    let class = code.class?;
    let info = run.classes.iter().find(|info| info.module == activation.module && info.class == class)?;
    let bases = info.lineage.iter().flat_map(|class| &run.classes[class.0 as usize].bases);
    let base = bases.filter_map(|base| match base.single() {
        Some(Val::Library(path)) => run.program.models.class(path),
        _ => None,
    });
    let base = { base }.find(|base| base.forward.as_deref() == Some(&*code.name))?;
    let module = run.module(activation.module);
    Some(TracedFunction {
        defined_at: Place { file: module.file, span: code.span },
        transform: base.path.clone(),
        at: Place { file: module.file, span: module.class(class).span },
        bound: 1,
        kind: TraceKind::Forward,
    })
}

/// Whether a draw is noise for an array, and no other key can be there: not the key of a caller, and not one of the library.
pub fn is_noise(run: &Recording<'_>, paths: &PathQueries<'_>, event: &Consumption) -> bool {
    let activation = &event.activation;
    let is_other = |other: &Consumption| other.place == event.place && other.target.term != event.target.term;
    let asks_for_none = |literal: TermId| match run.terms.get(literal) {
        Term::Operate(Operator::Is, parts) => parts.iter().any(|part| matches!(run.terms.get(*part), Term::None)),
        _ => false,
    };
    let Some(call) = run.call_at(activation, event.place) else { return false };
    let code = run.code(activation);
    let OpKind::Call(_, arguments) = &code.ops[call as usize].kind else { return false };
    let is_shaped = match event.role {
        Role::Sample => arguments.iter().any(|argument| is_shape(run, activation, argument.value())),
        Role::Library => {
            run.program.models.callable(&event.callee).is_some_and(|callable| callable.param(INPUT).is_some())
        }
        Role::Split | Role::Fold | Role::Protocol | Role::Unresolved => false,
    };
    is_shaped
        && !run.log.consumptions.iter().any(is_other)
        && !paths.support(event.guard).into_iter().any(asks_for_none)
}

/// Whether an expression is the whole shape of something: `x.shape`, `jnp.shape(x)`, or a variable that holds one of them.
fn is_shape(run: &Recording<'_>, activation: &Activation, temp: Temp) -> bool {
    let code = run.code(activation);
    let made = match &code.ops[temp as usize].kind {
        OpKind::Load(Variable::Local(slot)) => {
            match run.uses_of(activation.module, activation.function).stores_of(*slot) {
                [store] => match &code.ops[*store as usize].kind {
                    OpKind::Store(_, value) => *value,
                    _ => return false,
                },
                _ => return false,
            }
        }
        _ => temp,
    };
    let is_named =
        |temp: Temp| matches!(&code.ops[temp as usize].kind, OpKind::Attribute(_, name) if &**name == "shape");
    match &code.ops[made as usize].kind {
        OpKind::Call(callee, arguments) => arguments.len() == 1 && is_named(*callee),
        _ => is_named(made),
    }
}
