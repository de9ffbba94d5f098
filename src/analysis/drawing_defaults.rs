//! Parameters whose default draws: `def layer(size, kernel_init=initializers.normal())`.
//!
//! **Invariant:** the parameter of a function that is analysed on its own is the default on the paths on which no caller passes another
//! function, of which nothing is known.

use crate::analysis::domain::marks::OVERRIDDEN;
use crate::analysis::domain::term::Term;
use crate::analysis::domain::value::{Val, Value};
use crate::analysis::library::parameters::named;
use crate::analysis::machine::Machine;
use crate::ir::{Function, Module, OpKind, Operator, Variable, passes};
use crate::models::{Callable, Effect};

/// Gives the parameters of a function that is analysed on its own their defaults, where these draw.
pub fn give(machine: &mut Machine<'_>, code: &Function, defaults: &[(u32, Value)], slots: &mut [Value]) {
    // Callers of a private function are seen.
    if code.name.starts_with('_') && !code.name.starts_with("__") {
        return;
    }
    for (index, default) in defaults {
        if may_draw(machine, default)
            && !is_always_given(machine.module(machine.context.home), code, *index)
            && let Some(slot) = slots.get_mut(*index as usize)
        {
            *slot = or_default(machine, slot, default);
        }
    }
}

/// Whether the default of a parameter is a function that itself draws from a key that it gets: `kernel_init=initializers.normal()`.
fn may_draw(machine: &mut Machine<'_>, default: &Value) -> bool {
    let models = machine.program.models;
    let draws = |callable: &Callable| matches!(callable.effect, Effect::Sample { .. } | Effect::Consume { .. });
    match default.single() {
        Some(Val::Function(closure)) => {
            let code = machine.module(closure.module).function(closure.function);
            let takes_a_key = code.parameters.iter().any(|parameter| models.words.names_a_key(&parameter.name));
            let mut callees = code.ops.iter().filter_map(|op| match &op.kind {
                OpKind::Call(callee, _) => Some(*callee),
                _ => None,
            });
            takes_a_key
                && callees.any(|callee| {
                    let value = named(machine, closure.module, code, callee);
                    match value.as_ref().and_then(Value::single) {
                        Some(Val::Library(path)) => models.callable(path).is_some_and(draws),
                        _ => false,
                    }
                })
        }
        Some(Val::Library(path)) => models.callable(path).is_some_and(draws),
        Some(Val::Wrapped(made)) => models
            .callable(&made.transform)
            .is_some_and(|callable| matches!(&callable.effect, Effect::Factory { makes } if draws(makes))),
        _ => false,
    }
}

/// Whether the module calls a function by its name, and always with an argument for this parameter.
fn is_always_given(module: &Module, code: &Function, index: u32) -> bool {
    let Some(parameter) = code.parameters.get(index as usize) else { return false };
    let mut calls = 0;
    for caller in &module.functions {
        for op in &caller.ops {
            let OpKind::Call(callee, arguments) = &op.kind else { continue };
            if !matches!(&caller.ops[*callee as usize].kind, OpKind::Load(Variable::Global(name)) if *name == code.name)
            {
                continue;
            }
            calls += 1;
            if !passes(arguments, index as usize, &parameter.name, true) {
                return false;
            }
        }
    }
    calls > 0
}

/// A parameter that is its default unless a caller passes something else, of which nothing is known: it is no evidence of a draw.
fn or_default(machine: &mut Machine<'_>, parameter: &Value, default: &Value) -> Value {
    let (Some(Val::Term(symbol)), Some(function)) = (parameter.single(), default.single()) else {
        return parameter.clone();
    };
    machine.caches.quiet.insert(*symbol);
    let state = &mut machine.state;
    let kind = state.terms.intern(Term::Apply(OVERRIDDEN.into(), Box::new([*symbol])));
    let default = state.terms.int(0);
    let is_default = state.terms.operate(Operator::Eq, &[kind, default]);
    let is_default = state.truth_of_term(is_default);
    let guards = &mut state.paths.guards;
    let mut value = Value::unbound();
    value.push(guards, is_default, function.clone());
    let is_other = guards.not(is_default);
    value.push(guards, is_other, Val::Term(*symbol));
    value
}
