//! Loops that try settings: what they go through, and what they run for each.
//!
//! **Invariant:** a setting is an element of what the loop goes through, or is computed from it; a counter is none. The values that a loop goes
//! through are searched in a bounded number of steps, beyond which they are not constant.

use super::Reach;
use super::repeating_loop::{FOLLOWED, Kept, RepeatingLoop};
use crate::analysis::record::{Activation, Consumption, Iteration};
use crate::ir::{Argument, Module, Name, OpKind, Temp, Variable};
use crate::judge::facts::Role;

impl<'r> RepeatingLoop<'r> {
    /// Whether a call that leads to the draw takes the loop variable, or a value computed from it: a setting, and not another member of an
    /// ensemble. A counter is an epoch, or numbers such members.
    ///
    /// Results may be stored by setting, `results[rate] = train(key(0), rate)`. Results that are appended may be layers of one network.
    pub fn is_for_setting(&self, reach: &Reach, kept: Kept) -> bool {
        // A sampler that the body calls directly computes nothing else.
        let Some(call) = self.call.filter(|_| self.is_in_call() && !kept.carried) else { return false };
        let varying = self.varying();
        self.varies(call, &varying) && (!kept.beside || self.is_kept_by_setting(reach, &varying))
    }

    /// Whether a function of the program or an unknown one that the body calls takes the key and the setting, and no later iteration uses the draw.
    pub fn tries_settings(&self, role: Role, reach: &Reach) -> bool {
        (self.is_in_call() || role == Role::Unresolved)
            && self.call.is_some_and(|call| self.varies(call, &self.varying()))
            && !self.kept(reach).carried
            && !self.is_put_into_argument(reach)
    }

    /// Whether the body shows what is drawn beside the setting, and keeps nothing: `print(rate, train(key, rate))`.
    pub fn is_shown_by_setting(&self, reach: &Reach) -> bool {
        let Some(frame) = self.frame(reach) else { return false };
        let (varying, words) = (self.varying(), &self.run.program.models.words);
        let is_shown = |temp: &Temp| {
            let OpKind::Call(callee, arguments) = self.kind(*temp) else { return false };
            let is_log = match self.kind(*callee) {
                OpKind::Load(Variable::Global(name)) | OpKind::Attribute(_, name) => words.is_log(name),
                _ => false,
            };
            is_log
                && arguments.iter().any(|argument| frame.effects.reached.contains(&argument.value()))
                && arguments.iter().any(|argument| self.varies(argument.value(), &varying))
        };
        self.kept(reach) == Kept::default() && self.body.iter().any(is_shown)
    }

    /// Whether the call that leads to the draw puts it into an object that all iterations share: `trainer.fit(data[:n])`.
    fn is_put_into_argument(&self, reach: &Reach) -> bool {
        let Some((activation, _)) = self.chain.get(1) else { return false };
        let Some(OpKind::Call(callee, arguments)) = self.call.map(|call| self.kind(call)) else { return false };
        let receiver = match self.kind(*callee) {
            OpKind::Attribute(object, _) => Some(*object),
            _ => None,
        };
        let given: Vec<Temp> = receiver.into_iter().chain(arguments.iter().map(Argument::value)).collect();
        let is_shared = |slot: u32| {
            given.get(slot as usize).is_some_and(|value| match self.kind(*value) {
                OpKind::Load(variable) => self.first_store(variable).is_none(),
                _ => false,
            })
        };
        let mut frames = reach.frames.iter().filter(|frame| frame.activation == activation.id);
        frames.any(|frame| frame.effects.mutated.iter().any(|(slot, _)| is_shared(*slot)))
    }

    /// Whether the loop goes through what is written in the program, numbers, texts, functions or classes: `for rate in (0.1, 0.01)`, `for mode in
    /// MODES`. Numbers that are counted are not.
    pub fn goes_through_constants(&self) -> bool {
        let Some((activation, _)) = self.chain.first() else { return false };
        let Some(iterator) = self.iterator.filter(|iterator| !self.counts(*iterator)) else { return false };
        let of_module = self.run.module(activation.module).function(Module::BODY);
        let (mut work, mut steps, mut constants) = (vec![(self.code, iterator)], 0, 0);
        while let Some((code, temp)) = work.pop() {
            steps += 1;
            match &code.ops[temp as usize].kind {
                _ if steps > FOLLOWED => return false,
                OpKind::Constant(_) | OpKind::Function(..) | OpKind::Class(..) => constants += 1,
                OpKind::Call(callee, arguments) => match &code.ops[*callee as usize].kind {
                    // `settings.items()`
                    OpKind::Attribute(object, _) if arguments.is_empty() => work.push((code, *object)),
                    _ => return false,
                },
                OpKind::Load(variable) => {
                    let of = if matches!(variable, Variable::Global(_)) { of_module } else { code };
                    let Some(value) = of.sole_value(variable) else { return false };
                    work.push((of, value));
                }
                kind @ (OpKind::Build(..) | OpKind::Iterate(..) | OpKind::Operate(_, [Some(_), None], _)) => {
                    kind.operands(&mut |operand| work.push((code, operand)));
                }
                _ => return false,
            }
        }
        constants > 0
    }

    /// The names of the function that has the loop and of the variable that is bound to its elements.
    pub fn names(&self) -> Vec<&'r Name> {
        let is_element =
            |value: Temp| matches!(self.kind(value), OpKind::Next(iterator) if Some(*iterator) == self.iterator);
        let mut names = vec![&self.code.name];
        for op in &self.code.ops {
            match &op.kind {
                OpKind::Store(Variable::Global(name), value) if is_element(*value) => names.push(name),
                OpKind::Store(Variable::Local(slot), value) if is_element(*value) => {
                    names.extend(self.code.slots.get(*slot as usize));
                }
                _ => {}
            }
        }
        names
    }

    /// Whether the function that the body calls draws many numbers, one after another or in lanes, or a loop in it uses what is drawn: it runs a
    /// computation, and does not only make one value.
    pub fn runs_computation(&self, draw: &Consumption, iteration: &Iteration, reach: &Reach) -> bool {
        let Some((callee, _)) = self.chain.get(1) else { return false };
        let is_part = |other: &Consumption| other.chain().iter().any(|(activation, _)| activation.id == callee.id);
        let is_repeated = |other: &Consumption| {
            other.lanes > draw.lanes
                || other.iteration.as_ref().is_some_and(|inner| inner.instance != iteration.instance)
        };
        draw.lanes > 0
            || self.is_used_in_a_loop(callee, reach)
            || self.run.log.consumptions.iter().any(|other| is_repeated(other) && is_part(other))
    }

    /// Whether a loop of a function uses what is drawn.
    fn is_used_in_a_loop(&self, activation: &Activation, reach: &Reach) -> bool {
        let Some(frame) = reach.frames.iter().find(|frame| frame.activation == activation.id) else { return false };
        let code = self.run.code(activation);
        code.ops.iter().any(|op| match &op.kind {
            OpKind::Loop { body, .. } => code.within(body).any(|within| frame.effects.reached.contains(&within)),
            _ => false,
        })
    }

    /// Whether the draw of an iteration is stored at an index that varies.
    fn is_kept_by_setting(&self, reach: &Reach, varying: &[&Variable]) -> bool {
        let Some(frame) = self.frame(reach) else { return false };
        self.body.iter().any(|temp| match self.kind(*temp) {
            OpKind::StoreItem(_, index, value) => frame.effects.reached.contains(value) && self.varies(*index, varying),
            _ => false,
        })
    }
}
