//! Draws whose spread the program sets to zero: `policy(params, observation, temperature=0.0).sample(seed=key)` gives the mean.
//!
//! **Invariant:** the number is zero on every path to the draw that was run, and is given under a name that `[words]` lists.

use crate::analysis::domain::term::Term;
use crate::analysis::domain::value::{Val, Value};
use crate::analysis::record::{Consumption, Recording};
use crate::ir::{Argument, Constant, OpKind, Temp, Variable};
use crate::judge::facts::Role;

/// Whether what is sampled was made with no spread, or all that is drawn from the children of a split.
pub fn is_muted(run: &Recording<'_>, event: &Consumption) -> bool {
    match event.role {
        Role::Protocol | Role::Library => samples_the_mean(run, event),
        Role::Split => {
            // The stream that goes on is split there again.
            let is_below = |other: &&Consumption| {
                let made = run.derivation(other.target.derivation);
                made.is_some_and(|made| made.place == event.place && made.activation.id == event.activation.id)
                    && !(other.role == Role::Split && other.place == event.place)
            };
            let mut drawn = run.log.consumptions.iter().filter(is_below).peekable();
            drawn.peek().is_some() && drawn.all(|other| samples_the_mean(run, other))
        }
        Role::Sample | Role::Fold | Role::Unresolved => false,
    }
}

fn samples_the_mean(run: &Recording<'_>, event: &Consumption) -> bool {
    if !matches!(event.role, Role::Protocol | Role::Library) {
        return false;
    }
    let activation = &event.activation;
    let (code, uses) = (run.code(activation), run.uses_of(activation.module, activation.function));
    let environment = &run.environments[activation.environment.0 as usize];
    let kind = |temp: Temp| &code.ops[temp as usize].kind;
    let made = |temp: Temp| match kind(temp) {
        OpKind::Load(Variable::Local(slot)) if uses.stores_of(*slot) == 1 => {
            code.ops.iter().find_map(|op| match &op.kind {
                OpKind::Store(Variable::Local(stored), value) if stored == slot => Some(*value),
                _ => None,
            })
        }
        _ => Some(temp),
    };
    let given = |slot: u32| {
        let is_parameter = (slot as usize) < code.parameters.len() && uses.stores_of(slot) == 0;
        environment.slots.get(slot as usize).filter(|_| is_parameter)
    };
    let is_zero_term = |value: &Value| match value.single() {
        Some(Val::Term(term)) => match run.terms.get(*term) {
            Term::Int(number) => *number == 0,
            Term::Float(bits) => f64::from_bits(*bits) == 0.0,
            _ => false,
        },
        _ => false,
    };
    let is_zero = |temp: Temp| match kind(temp) {
        OpKind::Constant(Constant::Int(number)) => **number == 0,
        OpKind::Constant(Constant::Float(number)) => *number == 0.0,
        OpKind::Load(Variable::Local(slot)) => given(*slot).is_some_and(is_zero_term),
        _ => false,
    };
    let words = &run.program.models.words;
    let mutes = |argument: &Argument| match argument {
        Argument::Keyword(name, value) => words.scales_noise(name) && is_zero(*value),
        Argument::Positional(value) => match kind(*value) {
            OpKind::Load(Variable::Local(slot)) => {
                code.slots.get(*slot as usize).is_some_and(|name| words.scales_noise(name)) && is_zero(*value)
            }
            _ => false,
        },
        Argument::Spread(_) | Argument::SpreadMapping(_) => false,
    };
    let sampled = run.call_at(activation, event.place).and_then(|call| match kind(call) {
        OpKind::Call(callee, _) => match kind(*callee) {
            OpKind::Attribute(receiver, _) => made(*receiver),
            _ => None,
        },
        _ => None,
    });
    sampled.is_some_and(|sampled| matches!(kind(sampled), OpKind::Call(_, arguments) if arguments.iter().any(mutes)))
}
