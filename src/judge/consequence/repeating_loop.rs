//! The loop that repeats a draw: what its iterations compute from the loop variable, and what happens to what they draw.
//!
//! A call in the body either is the draw or leads to it. Its arguments follow from def-use chains within the function of the loop; what
//! happens to the draw there is in its [`Reach`].
//!
//! **Invariant:** only loop statements are considered; the operands of a value are searched in a bounded number of steps, beyond which they
//! count as not found.

use rustc_hash::FxHashSet;

use super::{Frame, Reach};
use crate::analysis::domain::value::Val;
use crate::analysis::record::{Activation, Callee, Chain, Consumption, Iteration, Recording};
use crate::finding::Place;
use crate::ir::{Argument, Function, Name, Op, OpKind, Operator, Temp, Variable};
use crate::judge::callee_model::model_of;
use crate::judge::facts::Role;
use crate::models::{BuiltinOp, Effect};

/// Most operations that the computation of one value of a loop is searched for.
const FOLLOWED: usize = 128;

/// Most steps from the elements of a loop to the values that are computed from them.
const ROUNDS: usize = 4;

/// A loop in the body of a function that repeats a draw.
pub struct RepeatingLoop<'r> {
    pub(super) run: &'r Recording<'r>,
    /// The activations from the one that runs the loop to the one that draws, each with the place in it.
    pub(super) chain: Chain,
    pub(super) code: &'r Function,
    /// What the loop iterates over, if it is a `for`.
    pub(super) iterator: Option<Temp>,
    pub(super) body: FxHashSet<Temp>,
    /// The call in the body that is the draw or leads to it.
    pub(super) call: Option<Temp>,
}

/// What becomes of the result of an iteration in the loop.
#[derive(Clone, Copy, Default, PartialEq, Eq)]
pub struct Kept {
    /// It may be stored next to other draws, like members of an ensemble.
    pub beside: bool,
    /// It affects the draws of later iterations, as the state of a training loop does.
    pub carried: bool,
}

impl<'r> RepeatingLoop<'r> {
    /// The loop of an iteration, if it is a statement of a function in which a draw happens, directly or through calls.
    pub fn around(run: &'r Recording<'r>, draw: &Consumption, iteration: &Iteration) -> Option<Self> {
        let mut chain = draw.chain();
        let (at, (iterator, body)) = chain
            .iter()
            .enumerate()
            .find_map(|(at, (activation, _))| Some((at, loop_at(run, activation, iteration)?)))?;
        chain.drain(..at);
        let (activation, place) = chain.first()?;
        let (code, call) = (run.code(activation), run.call_at(activation, *place));
        Some(Self { run, chain, code, iterator, body, call })
    }

    /// Whether the draw happens within a call in the body, and not in the body itself.
    pub fn is_in_call(&self) -> bool {
        self.chain.len() > 1
    }

    /// Whether everything between the loop and the draw can be followed.
    pub fn is_followed(&self) -> bool {
        self.chain.iter().skip(1).all(|(activation, _)| returns_results(self.run.code(activation)))
    }

    /// What happens to the draw of an iteration.
    pub fn kept(&self, reach: &Reach) -> Kept {
        let mut kept = Kept { beside: self.is_put_into_parameter(reach), carried: false };
        let Some(frame) = self.frame(reach) else { return kept };
        let reached = &frame.effects.reached;
        for temp in &self.body {
            match self.kind(*temp) {
                OpKind::Load(variable) if reached.contains(temp) => {
                    kept.beside |= self.first_store(variable).is_none();
                    let is_earlier = self.is_of_earlier((*temp, variable), reached);
                    kept.carried |= is_earlier && !self.is_only_compared(*temp);
                }
                OpKind::Append(container, _) => {
                    kept.beside |= reached.contains(container) && !self.body.contains(container);
                }
                OpKind::Yield { .. } => kept.beside = true,
                _ => {}
            }
        }
        kept
    }

    /// Whether a load of a variable that the body binds, and whose value has something of the draw, reads what an earlier iteration left: code
    /// before the draw, or before the variable is bound, is reached through the next iteration only. What each iteration makes anew before
    /// the load has nothing of an earlier one, even if the draw changes it.
    fn is_of_earlier(&self, (load, variable): (Temp, &Variable), reached: &FxHashSet<Temp>) -> bool {
        let Some(bound) = self.first_store(variable) else { return false };
        load < bound || self.call.is_none_or(|call| load < call) && !self.is_made_anew(bound, reached)
    }

    /// Whether every iteration runs a store, and stores an element of the loop, a constant, or what a call computes from nothing that has
    /// something of the draw: a library's, a constructor, or one that gets an element of the loop.
    fn is_made_anew(&self, store: Temp, reached: &FxHashSet<Temp>) -> bool {
        let OpKind::Store(_, value) = self.kind(store) else { return false };
        let is_nested = |temp: &Temp| {
            let kind = self.kind(*temp);
            // The body of a `try` or `with` always runs.
            let always = usize::from(matches!(kind, OpKind::Try { .. }));
            kind.blocks().into_iter().skip(always).any(|block| self.code.within(block).any(|within| within == store))
        };
        let mut made_by = *value;
        while let OpKind::Project(of, _) | OpKind::Unpack { value: of, .. } = self.kind(made_by) {
            made_by = *of;
        }
        let is_own = match self.kind(made_by) {
            OpKind::Next(iterator) => Some(*iterator) == self.iterator,
            OpKind::Call(_, arguments) => {
                let is_of_draw = |argument: &Argument| {
                    self.operands_of(argument.value()).iter().any(|operand| reached.contains(operand))
                };
                (self.makes_anew(made_by) || self.varies(made_by, &self.varying())) && !arguments.iter().any(is_of_draw)
            }
            OpKind::Constant(_) => true,
            _ => false,
        };
        is_own && !self.body.iter().any(is_nested)
    }

    /// Whether a call in the body is one of a library's function, or makes an object.
    fn makes_anew(&self, call: Temp) -> bool {
        let (OpKind::Call(callee, _), Some((activation, _))) = (self.kind(call), self.chain.first()) else {
            return false;
        };
        let called = self.run.named(activation.module, self.code, *callee);
        matches!(called.as_ref().and_then(|called| called.single()), Some(Val::Library(_) | Val::Class(_)))
    }

    /// Whether the body only compares a value: the best result so far, say.
    fn is_only_compared(&self, value: Temp) -> bool {
        let is_comparison = |op: Operator| matches!(op, Operator::Lt | Operator::Le | Operator::Gt | Operator::Ge);
        let reads = |temp: &&Temp| {
            let mut is_operand = false;
            self.kind(**temp).operands(&mut |operand| is_operand |= operand == value);
            is_operand
        };
        self.body
            .iter()
            .filter(reads)
            .all(|reader| matches!(self.kind(*reader), OpKind::Operate(op, ..) if is_comparison(*op)))
    }

    /// Whether the body stores the draw in an attribute, or in an item that does not depend on the loop variable: a later iteration may get it.
    pub fn is_stored_as_state(&self, reach: &Reach) -> bool {
        let Some(frame) = self.frame(reach) else { return true };
        let is_reached = |value: &Temp| frame.effects.reached.contains(value);
        let varying = self.varying();
        self.body.iter().any(|temp| match self.kind(*temp) {
            OpKind::StoreAttribute(_, _, value) => is_reached(value),
            OpKind::StoreItem(_, index, value) => is_reached(value) && !self.varies(*index, &varying),
            _ => false,
        })
    }

    /// Whether the body reads the loop variable.
    pub fn reads_element(&self) -> bool {
        let varying = self.varying();
        self.body.iter().any(|temp| matches!(self.kind(*temp), OpKind::Load(variable) if varying.contains(&variable)))
    }

    /// Whether a method of an object from outside the loop, which returns nothing that is used, draws or gets the draw: the object keeps it, as
    /// `append` does. Logs only show it.
    pub fn is_collected(&self, reach: &Reach) -> bool {
        let Some((frame, (activation, _))) = self.frame(reach).zip(self.chain.first()) else { return true };
        let uses = self.run.uses_of(activation.module, activation.function);
        self.body.iter().any(|temp| {
            let OpKind::Call(callee, arguments) = self.kind(*temp) else { return false };
            let OpKind::Attribute(object, name) = self.kind(*callee) else { return false };
            let OpKind::Load(variable) = self.kind(*object) else { return false };
            let takes = || arguments.iter().any(|argument| frame.effects.reached.contains(&argument.value()));
            self.first_store(variable).is_none()
                && uses.readers(*temp).is_empty()
                && !self.run.program.models.words.is_log(name)
                && self.run.library_named(activation.module, self.code, *callee).is_none()
                && (self.call == Some(*temp) || takes())
        })
    }

    /// Whether a function that the body calls puts the draw into an argument: a queue from which the results of all iterations are taken.
    fn is_put_into_parameter(&self, reach: &Reach) -> bool {
        self.chain.iter().skip(1).any(|(activation, _)| {
            let count = self.run.code(activation).parameters.len();
            let is_parameter = |taker: &Variable| matches!(taker, Variable::Local(slot) if (*slot as usize) < count);
            let mut within = reach.frames.iter().filter(|frame| frame.activation == activation.id);
            within.any(|frame| frame.effects.takers.iter().any(is_parameter))
        })
    }

    /// Whether the loop binds one variable to the elements of a collection, and does not count. Pairs of a name and a size may describe the parts
    /// of one thing.
    pub fn goes_through_things(&self) -> bool {
        let Some((iterator, (activation, _))) = self.iterator.zip(self.chain.first()) else { return false };
        let uses = self.run.uses_of(activation.module, activation.function);
        let is_next = |(_, op): &(u32, &Op)| matches!(op.kind, OpKind::Next(of) if of == iterator);
        let next = (0u32..).zip(&self.code.ops).find(is_next).map(|(next, _)| next);
        let is_one =
            |next: Temp| uses.readers(next).iter().all(|reader| matches!(self.kind(*reader), OpKind::Store(..)));
        !self.counts(iterator) && next.is_some_and(is_one)
    }

    /// The call in the body that is the draw or leads to it.
    pub fn call(&self) -> Option<Temp> {
        self.call
    }

    /// The variables that the call in the body gets as arguments.
    pub fn passed(&self) -> impl Iterator<Item = &'r Name> {
        let arguments: &'r [Argument] = match self.call.map(|call| self.kind(call)) {
            Some(OpKind::Call(_, arguments)) => arguments,
            _ => &[],
        };
        arguments.iter().filter_map(|argument| match self.kind(argument.value()) {
            OpKind::Load(Variable::Local(slot)) => self.code.slots.get(*slot as usize),
            OpKind::Load(Variable::Global(name)) => Some(name),
            _ => None,
        })
    }

    /// Whether a call that draws gets something of an earlier iteration's draw: the one that leads to the draw, or, if the body splits the key,
    /// one that gets a child of it.
    pub fn continues(&self, draw: &Consumption, reach: &Reach) -> bool {
        let Some(frame) = self.frame(reach).filter(|_| self.kept(reach).carried) else { return false };
        let Some(source) = self.call else { return false };
        let reached = &frame.effects.reached;
        let is_earlier = |load: Temp| match self.kind(load) {
            OpKind::Load(variable) => {
                reached.contains(&load)
                    && (self.first_store(variable).is_none() || self.is_of_earlier((load, variable), reached))
            }
            _ => false,
        };
        let gets_earlier = |call: Temp| match self.kind(call) {
            OpKind::Call(_, arguments) => {
                arguments.iter().any(|argument| self.operands_of(argument.value()).into_iter().any(is_earlier))
            }
            _ => false,
        };
        let is_child = |argument: &Argument| match self.kind(argument.value()) {
            OpKind::Load(variable) => self.body.iter().any(|temp| match self.kind(*temp) {
                OpKind::Store(stored, value) => stored == variable && self.operands_of(*value).contains(&source),
                _ => false,
            }),
            _ => false,
        };
        let draws_from_child = |call: &Temp| match self.kind(*call) {
            OpKind::Call(_, arguments) => arguments.iter().any(is_child) && gets_earlier(*call),
            _ => false,
        };
        gets_earlier(source) || draw.role == Role::Split && !self.is_in_call() && self.body.iter().any(draws_from_child)
    }

    /// The names of the functions within whose calls in the body the draw happens, outermost first.
    pub fn called(&self, draw: &Consumption) -> Vec<Name> {
        let within = self.chain.iter().skip(1).map(|(activation, _)| self.run.code(activation).name.clone());
        let unresolved =
            (draw.role == Role::Unresolved).then(|| draw.callee.rsplit('.').next().unwrap_or_default().into());
        within.chain(unresolved).collect()
    }

    /// Whether the call in the body that leads to the draw gets something else in each iteration: an argument that follows from the elements
    /// of the loop or that an earlier iteration computed by a call, as an update of parameters does; or an object to one of whose methods the
    /// body passes such a value. A counter is nothing else.
    pub fn gets_another(&self) -> bool {
        let Some(OpKind::Call(callee, arguments)) = self.call.map(|call| self.kind(call)) else { return false };
        let changing = self.computed_from(self.updated());
        let differs = |value: Temp| self.varies(value, &changing);
        let receiver = match self.kind(*callee) {
            OpKind::Attribute(object, _) => Some(*object),
            _ => None,
        };
        let mut values = arguments.iter().map(Argument::value);
        values.any(differs) || receiver.is_some_and(|object| differs(object) || self.is_changed(object, &changing))
    }

    /// Whether an argument of the call in the body that leads to the draw is computed from a variable that the body binds, other than the loop's
    /// counter.
    pub fn gets_rebound(&self) -> bool {
        let Some(OpKind::Call(_, arguments)) = self.call.map(|call| self.kind(call)) else { return false };
        let is_bound = |variable: &Variable| {
            self.body.iter().any(|temp| match self.kind(*temp) {
                OpKind::Store(stored, value) => {
                    stored == variable && !matches!(self.kind(*value), OpKind::Next(iterator) if self.counts(*iterator))
                }
                _ => false,
            })
        };
        let reads = |kind: &'r OpKind| match kind {
            OpKind::Load(variable) => Some(is_bound(variable)),
            _ => None,
        };
        arguments.iter().any(|argument| self.is_computed_of(argument.value(), reads))
    }

    /// Whether the body has an operation.
    pub fn has(&self, temp: Temp) -> bool {
        self.body.contains(&temp)
    }

    /// Whether the body makes the call that leads to the draw only once in several iterations: `if step % 100 == 0: show(sample(params, key))`. The
    /// number is the loop variable, or one that the body stores.
    pub fn is_occasional(&self) -> bool {
        let Some(call) = self.call else { return false };
        let is_counter = |number: Temp| match self.kind(number) {
            OpKind::Load(variable) => self.first_store(variable).is_some(),
            _ => false,
        };
        let is_remainder = |test: Temp| match self.kind(test) {
            OpKind::Operate(Operator::Eq, [Some(remainder), Some(_)], _) => match self.kind(*remainder) {
                OpKind::Operate(Operator::Mod, [Some(number), Some(_)], _) => is_counter(*number),
                _ => false,
            },
            _ => false,
        };
        self.body.iter().any(|temp| match self.kind(*temp) {
            OpKind::If { test, then, .. } => is_remainder(*test) && self.code.within(then).any(|within| within == call),
            _ => false,
        })
    }

    /// Whether the body passes the draw to an unknown function or to a method of an unknown object, which may keep it. Logs do not.
    pub fn may_be_kept(&self, reach: &Reach) -> bool {
        let Some(frame) = self.frame(reach) else { return true };
        let Some((activation, _)) = self.chain.first() else { return true };
        let words = &self.run.program.models.words;
        self.body.iter().any(|temp| {
            let OpKind::Call(callee, arguments) = self.kind(*temp) else { return false };
            let takes = arguments.iter().any(|argument| frame.effects.reached.contains(&argument.value()));
            let name = match self.kind(*callee) {
                OpKind::Load(Variable::Global(name)) | OpKind::Attribute(_, name) => Some(name),
                _ => None,
            };
            let is_library = self.run.library_named(activation.module, self.code, *callee).is_some();
            takes && !is_library && !name.is_some_and(|name| words.is_log(name))
        })
    }

    /// Whether an object may take the draw, so that a later iteration depends on it: `optimizer.update(grads)`, `self.step(grads)`. Logs do not.
    pub fn is_taken(&self, reach: &Reach) -> bool {
        let Some(frame) = self.frame(reach) else { return false };
        let Some((activation, _)) = self.chain.first() else { return false };
        let module = self.run.module(activation.module);
        let uses = self.run.uses_of(activation.module, activation.function);
        let is_known = |call: Temp| {
            let place = Place { file: module.file, span: self.code.ops[call as usize].span };
            self.run.log.callees.get(&place).is_some_and(|callees| {
                !callees.is_empty()
                    && callees.iter().all(|callee| matches!(callee, Callee::Method(_) | Callee::Library(_)))
            })
        };
        // A list of results, to which the body appends.
        let collects = |taker: &Variable| {
            let loads = |temp: &&Temp| matches!(self.kind(**temp), OpKind::Load(read) if read == taker);
            let is_appended_to = |call: &Temp| is_known(*call) && uses.readers(*call).is_empty();
            let is_collecting = |load: &Temp, reader: &Temp| match self.kind(*reader) {
                OpKind::Attribute(..) => uses.readers(*reader).iter().all(is_appended_to),
                OpKind::StoreItem(container, ..) => container == load,
                _ => false,
            };
            let mut loaded = self.body.iter().filter(loads).peekable();
            loaded.peek().is_some()
                && loaded.all(|load| uses.readers(*load).iter().all(|reader| is_collecting(load, reader)))
        };
        let is_taker = |temp: &Temp| {
            let OpKind::Call(callee, arguments) = self.kind(*temp) else { return false };
            let OpKind::Attribute(_, name) = self.kind(*callee) else { return false };
            !is_known(*temp)
                && uses.readers(*temp).is_empty()
                && !self.run.program.models.words.is_log(name)
                && arguments.iter().any(|argument| frame.effects.reached.contains(&argument.value()))
        };
        frame.effects.takers.iter().any(|taker| !collects(taker)) || self.body.iter().any(is_taker)
    }

    /// The variables that each iteration computes by a call from what they were before.
    fn updated(&self) -> Vec<&'r Variable> {
        let stores = self.body.iter().filter_map(|temp| match self.kind(*temp) {
            OpKind::Store(variable, value) => Some((variable, *value)),
            _ => None,
        });
        let calls = |kind: &OpKind| matches!(kind, OpKind::Call(..)).then_some(true);
        let is_updated = |(variable, value): &(&'r Variable, Temp)| {
            let is_carried = self.is_computed_of(*value, |kind| match kind {
                OpKind::Load(loaded) => Some(loaded == *variable),
                _ => None,
            });
            // `g = grad(loss)(w); w = w - rate * g`
            let is_made_by_call = |variable: &Variable| {
                self.body.iter().any(|temp| match self.kind(*temp) {
                    OpKind::Store(stored, value) => stored == variable && self.is_computed_of(*value, calls),
                    _ => false,
                })
            };
            let is_computed = |kind: &'r OpKind| match kind {
                OpKind::Call(..) => Some(true),
                OpKind::Load(loaded) if loaded != *variable => Some(is_made_by_call(loaded)),
                _ => None,
            };
            is_carried && self.is_computed_of(*value, is_computed)
        };
        stores.filter(is_updated).map(|(variable, _)| variable).collect()
    }

    /// Whether the body passes a value that changes to a method of an object, or stores one in it.
    fn is_changed(&self, object: Temp, changing: &[&Variable]) -> bool {
        let OpKind::Load(variable @ Variable::Local(_)) = self.kind(object) else { return false };
        let is_it = |temp: Temp| matches!(self.kind(temp), OpKind::Load(loaded) if loaded == variable);
        self.body.iter().any(|temp| match self.kind(*temp) {
            OpKind::StoreAttribute(object, _, value) => is_it(*object) && self.varies(*value, changing),
            OpKind::Call(callee, arguments) => {
                matches!(self.kind(*callee), OpKind::Attribute(object, _) if is_it(*object))
                    && arguments.iter().any(|argument| self.varies(argument.value(), changing))
            }
            _ => false,
        })
    }

    /// The variables that the body binds to elements of the loop, or to values computed from them.
    pub(super) fn varying(&self) -> Vec<&'r Variable> {
        self.computed_from(Vec::new())
    }

    /// The same with the variables that are computed from others.
    fn computed_from(&self, mut varying: Vec<&'r Variable>) -> Vec<&'r Variable> {
        let code = self.code;
        let stores = (0u32..).zip(&code.ops).filter_map(|(temp, op)| match &op.kind {
            OpKind::Store(variable, value) if self.body.contains(&temp) => Some((variable, *value)),
            _ => None,
        });
        let stores: Vec<(&Variable, Temp)> = stores.collect();
        for _ in 0..ROUNDS {
            let before = varying.len();
            for (variable, value) in &stores {
                if !varying.contains(variable) && self.varies(*value, &varying) {
                    varying.push(*variable);
                }
            }
            if varying.len() == before {
                break;
            }
        }
        varying
    }

    /// Whether a value is computed from one of these variables or from the loop variable, other than a counter.
    pub(super) fn varies(&self, value: Temp, varying: &[&Variable]) -> bool {
        self.is_computed_of(value, |kind| match kind {
            OpKind::Next(iterator) => Some(!self.counts(*iterator)),
            OpKind::Load(variable) => Some(varying.contains(&variable)),
            _ => None,
        })
    }

    /// Whether an iterator counts: its iterable contains a `range`.
    pub(super) fn counts(&self, iterator: Temp) -> bool {
        self.is_computed_of(iterator, |kind| {
            let OpKind::Call(callee, _) = kind else { return None };
            let effect = &model_of(self.run, self.chain.first()?.0.module, self.code, *callee)?.effect;
            matches!(effect, Effect::Builtin(BuiltinOp::Range | BuiltinOp::Count)).then_some(true)
        })
    }

    /// The operations that a value is computed from within the function, and its own.
    fn operands_of(&self, value: Temp) -> FxHashSet<Temp> {
        let (mut work, mut seen) = (vec![value], FxHashSet::default());
        while let Some(temp) = work.pop().filter(|_| seen.len() < FOLLOWED) {
            if seen.insert(temp) {
                self.kind(temp).operands(&mut |operand| work.push(operand));
            }
        }
        seen
    }

    /// Whether a value is computed from an operation that satisfies a predicate; if the predicate returns `None`, its operands are tested.
    pub(super) fn is_computed_of(&self, value: Temp, answer: impl Fn(&'r OpKind) -> Option<bool>) -> bool {
        let (mut work, mut seen) = (vec![value], FxHashSet::default());
        while let Some(temp) = work.pop().filter(|_| seen.len() < FOLLOWED) {
            if !seen.insert(temp) {
                continue;
            }
            let kind = self.kind(temp);
            match answer(kind) {
                Some(true) => return true,
                Some(false) => {}
                None => kind.operands(&mut |operand| work.push(operand)),
            }
        }
        false
    }

    pub(super) fn kind(&self, temp: Temp) -> &'r OpKind {
        &self.code.ops[temp as usize].kind
    }

    /// What the draw reaches in the function that has the loop.
    pub(super) fn frame<'f>(&self, reach: &'f Reach) -> Option<&'f Frame> {
        let (activation, _) = self.chain.first()?;
        reach.frames.iter().find(|frame| frame.activation == activation.id)
    }

    /// Where the body binds a variable first.
    pub(super) fn first_store(&self, variable: &Variable) -> Option<Temp> {
        let binds = |temp: &&Temp| matches!(self.kind(**temp), OpKind::Store(stored, _) if stored == variable);
        self.body.iter().filter(binds).min().copied()
    }
}

/// Whether a call gives what the function returns: results of coroutines and generators are not tracked.
pub fn returns_results(code: &Function) -> bool {
    !code.is_async && !code.is_generator
}

/// What an iteration's loop iterates over and the operations in its body, if it is a statement of an activation's function.
fn loop_at(
    run: &Recording<'_>,
    activation: &Activation,
    iteration: &Iteration,
) -> Option<(Option<Temp>, FxHashSet<Temp>)> {
    if run.module(activation.module).file != iteration.place.file {
        return None;
    }
    let code = run.code(activation);
    let (head, body) = code.ops.iter().find_map(|op| match &op.kind {
        OpKind::Loop { head, body, .. } if op.span == iteration.place.span => Some((head, body)),
        _ => None,
    })?;
    let iterator = head.iter().find_map(|temp| match &code.ops[*temp as usize].kind {
        OpKind::Next(iterator) => Some(*iterator),
        _ => None,
    });
    Some((iterator, code.within(body).collect()))
}
