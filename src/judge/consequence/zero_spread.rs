//! Draws whose spread the program sets to zero: `policy(params, observation, temperature=0.0).sample(seed=key)` gives the mean.
//!
//! **Invariant:** the number is zero on every analysed path to the draw, and is passed under a name that `[words]` lists.

use std::rc::Rc;

use crate::analysis::domain::value::{Val, Value};
use crate::analysis::record::{Consumption, Recording};
use crate::ir::{Argument, Function, OpKind, Temp, Uses, Variable};
use crate::judge::facts::Role;

/// Whether the sampled distribution has no spread, or, for a split, all distributions that are sampled with its
/// children.
pub fn has_no_spread(run: &Recording<'_>, event: &Consumption) -> bool {
    match event.role {
        Role::Protocol | Role::Library => samples_the_mean(run, event),
        Role::Split => {
            // The stream that continues is split there again.
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

/// Whether the sampled distribution was made without spread, by a call in the same function.
fn samples_the_mean(run: &Recording<'_>, event: &Consumption) -> bool {
    if !matches!(event.role, Role::Protocol | Role::Library) {
        return false;
    }
    let activation = &event.activation;
    let environment = &run.environments[activation.environment.0 as usize];
    let uses = run.uses_of(activation.module, activation.function);
    let caller = Caller { run, code: run.code(activation), uses, slots: &environment.slots };
    run.call_at(activation, event.place).is_some_and(|call| caller.samples_the_mean(call))
}

/// A function that samples, as it ran.
struct Caller<'a, 'r> {
    run: &'a Recording<'r>,
    code: &'r Function,
    uses: Rc<Uses>,
    slots: &'a [Value],
}

impl Caller<'_, '_> {
    fn kind(&self, temp: Temp) -> &OpKind {
        &self.code.ops[temp as usize].kind
    }

    /// Whether a call is a method of an object that was created without spread.
    fn samples_the_mean(&self, call: Temp) -> bool {
        let OpKind::Call(callee, _) = self.kind(call) else { return false };
        let OpKind::Attribute(sampled, _) = self.kind(*callee) else { return false };
        match self.made(*sampled).map(|made| self.kind(made)) {
            Some(OpKind::Call(_, arguments)) => arguments.iter().any(|argument| self.mutes(argument)),
            _ => false,
        }
    }

    /// The operation that made a value, looking through variables.
    fn made(&self, temp: Temp) -> Option<Temp> {
        let OpKind::Load(Variable::Local(slot)) = self.kind(temp) else { return Some(temp) };
        let mut stores = self.code.ops.iter().filter_map(|op| match &op.kind {
            OpKind::Store(Variable::Local(stored), value) if stored == slot => Some(*value),
            _ => None,
        });
        stores.next().filter(|_| self.uses.stores_of(*slot).len() == 1)
    }

    /// Whether an argument says that there is no spread: `temperature=0.0`, or the parameter `temperature`, if it is
    /// zero.
    fn mutes(&self, argument: &Argument) -> bool {
        let (name, value) = match argument {
            Argument::Keyword(name, value) => (Some(name), *value),
            Argument::Positional(value) => match self.kind(*value) {
                OpKind::Load(Variable::Local(slot)) => (self.code.slots.get(*slot as usize), *value),
                _ => (None, *value),
            },
            Argument::Spread(_) | Argument::SpreadMapping(_) => return false,
        };
        name.is_some_and(|name| self.run.program.models.words.scales_noise(name)) && self.is_zero(value)
    }

    /// Whether an operand is zero: as written, or as given for a parameter.
    fn is_zero(&self, temp: Temp) -> bool {
        match self.kind(temp) {
            OpKind::Constant(number) => number.is_zero(),
            OpKind::Load(Variable::Local(slot)) => {
                let is_parameter =
                    (*slot as usize) < self.code.parameters.len() && self.uses.stores_of(*slot).is_empty();
                let given = self.slots.get(*slot as usize).filter(|_| is_parameter).and_then(Value::single);
                matches!(given, Some(Val::Term(term)) if self.run.terms.is_zero(*term))
            }
            _ => false,
        }
    }
}
