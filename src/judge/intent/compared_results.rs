//! Two calls whose results the program compares: a difference or the order of one function's results, or a test whether two results are equal.
//!
//! **Invariant:** what is compared is the same part of both results. A test whether it is equal has something of both draws, and is asserted or
//! printed. Of a difference or an order, the arguments other than the key differ, or their variables are bound again between the calls: common
//! random numbers are less noisy there. Draws that samplers return, and results that are added or changed first, may have to be independent; only
//! a threshold may be added to a side of an order.

use std::collections::BTreeSet;
use std::rc::Rc;

use rustc_hash::FxHashSet;

use crate::analysis::domain::term::TermId;
use crate::analysis::domain::value::{Val, Value};
use crate::analysis::record::{Consumption, Recording};
use crate::finding::{Intent, IntentKind};
use crate::ir::{
    Argument, Collection, Constant, Element, Function, Name, OpKind, Operator, ReachingDefinitions, Temp, Uses,
    Variable, is_written_alike,
};
use crate::judge::consequence::Flows;
use crate::judge::consequence::body::Effects;
use crate::judge::consequence::repeating_loop::RepeatingLoop;
use crate::judge::facts::ReuseKind;
use crate::judge::intent::pair::runs_one_function;
use crate::judge::intent::pair::{Calls, Pair, STEPS, because, calls_apart};
use crate::judge::intent::paired_calls::is_unchanged;
use crate::models::Effect;

const COMMON: &str = "the program compares one function for different arguments, on common random numbers";

const EQUAL: &str = "the program tests whether the two results are equal";

/// Most pairs of values that are the same part of two results.
const PAIRS: usize = 64;

/// The largest difference between results that a program calls equal.
const TOLERANCE: f64 = 0.001;

/// Built-in functions that write a value as text, also within f-strings.
const WRITING: [&str; 3] = ["format", "repr", "str"];

/// How the names of functions begin that raise unless what they test holds.
const ASSERT: &str = "assert";

/// The results of two calls that draw are compared: `loss(w + d, key) - loss(w - d, key)`, `assert jnp.allclose(fast(key, x), slow(key, x))`.
pub fn compared_results(flows: &Flows<'_>, kind: ReuseKind, pair: &Pair<'_>) -> Option<Intent> {
    if matches!(kind, ReuseKind::Iterated) {
        return trial(flows, pair);
    }
    if pair.repeated_by.is_some() {
        return None;
    }
    let calls = calls_apart(flows.run, pair, 0).filter(|calls| calls.once != calls.again)?;
    let is_within = calls_apart(flows.run, pair, 1).is_some();
    let is_one = is_within && calls.run_one_function(flows.run) && get_one_key(flows.run, pair, &calls);
    let comparison = Comparison { flows, pair, calls: &calls };
    if let Some(reader) = is_one.then(|| comparison.order()).flatten() {
        return Some(because(IntentKind::Comparison, COMMON, calls.place(reader)));
    }
    let test = comparison.equality()?;
    Some(because(IntentKind::Comparison, EQUAL, calls.place(test)))
}

/// Each iteration of a loop compares the result for another argument with that of a call before the loop, and does nothing else with it: `while
/// loss(w - step * g, key) > start: step /= 2`.
fn trial(flows: &Flows<'_>, pair: &Pair<'_>) -> Option<Intent> {
    let calls = calls_apart(flows.run, pair, 1).filter(|calls| calls.once == calls.again)?;
    let around = RepeatingLoop::around(flows.run, pair.second, pair.repeated_by.as_ref()?)?;
    let (code, uses, trial) = (calls.code, &calls.uses, calls.once);
    if around.call() != Some(trial) || !around.gets_rebound() || !get_one_key(flows.run, pair, &calls) {
        return None;
    }
    let sides = copies(code, uses, trial);
    let is_comparison = |temp: Temp| matches!(&code.ops[temp as usize].kind, OpKind::Operate(op, ..) if is_order(*op));
    let is_store = |temp: Temp| matches!(code.ops[temp as usize].kind, OpKind::Store(..));
    let readers: BTreeSet<Temp> =
        sides.iter().flat_map(|side| uses.readers(*side)).copied().filter(|reader| !is_store(*reader)).collect();
    let first = readers.first().copied().filter(|_| readers.iter().all(|reader| is_comparison(*reader)))?;
    let is_start = |other: Temp| {
        let differs = || differing(code, trial, other).is_some_and(|[differing, same]| differing > 0 && same > 0);
        let is_one = || runs_one_function(flows.run, calls.place(trial), calls.place(other));
        !around.has(other) && differs() && is_one()
    };
    let OpKind::Operate(_, [Some(a), Some(b)], _) = &code.ops[first as usize].kind else { return None };
    let other = if sides.contains(a) { *b } else { *a };
    let is_common = parts_of_threshold(code, other).into_iter().any(|side| made_by(code, side).is_some_and(is_start));
    is_common.then(|| because(IntentKind::Comparison, COMMON, calls.place(first)))
}

/// The search for a test whether two results are equal.
struct Comparison<'c, 'r> {
    flows: &'c Flows<'r>,
    pair: &'c Pair<'c>,
    calls: &'c Calls<'r>,
}

impl Comparison<'_, '_> {
    /// The difference or the order of two results of one function for other arguments: a side is the result of each call, and the other that of
    /// its partner, or of a third call.
    fn order(&self) -> Option<Temp> {
        let Calls { code, uses, once, again, .. } = self.calls;
        let own = |call: Temp, partner: Temp| own_comparison(code, uses, [call, partner]);
        if let Some(found) = own(*once, *again).and_then(|_| own(*again, *once)) {
            return Some(found);
        }
        let [differing, same] = differing(code, *once, *again)?;
        let alike = self.same_parts();
        let are_both = |a: Temp, b: Temp| alike.contains(&(a, b)) || alike.contains(&(b, a));
        let is_it = |temp: &Temp| match &code.ops[*temp as usize].kind {
            OpKind::Operate(op, [Some(a), Some(b)], _) => (*op == Operator::Sub || is_order(*op)) && are_both(*a, *b),
            _ => false,
        };
        let readers: BTreeSet<Temp> = alike.iter().flat_map(|(one, _)| uses.readers(*one)).copied().collect();
        readers.into_iter().find(is_it).filter(|_| differing > 0 && same > 0)
    }

    /// The test whether the same part of two results is equal.
    fn equality(&self) -> Option<Temp> {
        let (code, uses) = (self.calls.code, &*self.calls.uses);
        let drawn = [self.reached(self.pair.reuse.first)?, self.reached(self.pair.reuse.second)?];
        let alike = self.same_parts();
        let are_both = |a: Temp, b: Temp| {
            let both = alike.contains(&(a, b)) || alike.contains(&(b, a));
            both && drawn.iter().all(|effects| effects.reached.contains(&a) || effects.reached.contains(&b))
        };
        let is_test = |reader: Temp| match &code.ops[reader as usize].kind {
            OpKind::Operate(Operator::Eq, [Some(a), Some(b)], _) => are_both(*a, *b) && is_asserted(code, uses, reader),
            OpKind::Operate(Operator::Sub, [Some(a), Some(b)], _) if are_both(*a, *b) => match size(code, uses, reader)
            {
                Some(Size::Tested(test)) => is_asserted(code, uses, test) || is_printed(code, uses, test),
                Some(Size::Other(size)) => is_printed(code, uses, size) && self.has_one_input(),
                None => false,
            },
            OpKind::Call(callee, given) => match &given[..] {
                [Argument::Positional(a), Argument::Positional(b), further @ ..] if are_both(*a, *b) => {
                    let raises = self.tests_equality(*callee).filter(|_| is_strict(code, further));
                    raises.is_some_and(|raises| {
                        raises || is_asserted(code, uses, reader) || is_printed(code, uses, reader)
                    })
                }
                _ => false,
            },
            _ => false,
        };
        let readers: BTreeSet<Temp> = alike.iter().flat_map(|(one, _)| uses.readers(*one)).copied().collect();
        readers.into_iter().find(|reader| is_test(*reader))
    }

    /// Whether both calls have the same arguments, so that their results should agree.
    fn has_one_input(&self) -> bool {
        let Calls { code, once, again, .. } = self.calls;
        differing_arguments(code, *once, *again).is_some_and(|[differing, _]| differing == 0)
    }

    /// What a draw reaches in the function that compares its results.
    fn reached(&self, draw: usize) -> Option<Rc<Effects>> {
        let reach = self.flows.reach(draw);
        let frame = reach.frames.iter().find(|frame| frame.activation == self.calls.activation)?;
        Some(frame.effects.clone())
    }

    /// Pairs of values that are the same part of two results: copies, fields, items, and what a library keeps the numbers of.
    fn same_parts(&self) -> FxHashSet<(Temp, Temp)> {
        let (code, uses) = (self.calls.code, &*self.calls.uses);
        let [once, again] = [self.calls.once, self.calls.again].map(|call| self.awaited(call));
        let (mut found, mut work) = (FxHashSet::default(), vec![(once, again)]);
        while let Some((one, other)) = work.pop() {
            let others = copies(code, uses, other);
            let pairs =
                copies(code, uses, one).into_iter().flat_map(|one| others.iter().map(move |other| (one, *other)));
            for (one, other) in pairs {
                if found.len() >= PAIRS {
                    return found;
                }
                if found.insert((one, other)) {
                    let readers = |temp: Temp| uses.readers(temp).iter().copied().take(PAIRS);
                    let steps = readers(one).flat_map(|a| readers(other).map(move |b| (a, b)));
                    work.extend(steps.filter(|(a, b)| self.is_same_step((one, *a), (other, *b))).take(PAIRS));
                }
            }
        }
        found
    }

    /// Whether two operations take the same part of two values, or keep their numbers.
    fn is_same_step(&self, (one, a): (Temp, Temp), (other, b): (Temp, Temp)) -> bool {
        let code = self.calls.code;
        match (&code.ops[a as usize].kind, &code.ops[b as usize].kind) {
            (OpKind::Attribute(_, name), OpKind::Attribute(_, named)) => name == named,
            (OpKind::Project(_, index), OpKind::Project(_, second)) => index == second,
            (OpKind::Unpack { .. }, OpKind::Unpack { .. }) => true,
            (OpKind::Item(of, index), OpKind::Item(from, second)) => {
                (*of, *from) == (one, other) && is_written_alike(code, *index, *second)
            }
            // `float(x)`, `jnp.stack(x)`
            (OpKind::Call(callee, given), OpKind::Call(called, passed)) => {
                matches!((&given[..], &passed[..]), ([Argument::Positional(_)], [Argument::Positional(_)]))
                    && is_written_alike(code, *callee, *called)
                    && self.keeps_numbers(*callee)
            }
            _ => false,
        }
    }

    /// Whether a function returns the numbers that it gets.
    fn keeps_numbers(&self, callee: Temp) -> bool {
        let is_float = is_global(self.calls.code, callee, "float");
        let path = self.library(callee);
        let effect = path.and_then(|path| self.run().program.models.callable(&path)).map(|callable| &callable.effect);
        is_float || matches!(effect, Some(Effect::Forward { .. } | Effect::Shape { .. }))
    }

    /// The result of a call, or what the program gets for it once it has waited: `f(x).block_until_ready()`.
    fn awaited(&self, call: Temp) -> Temp {
        let uses = &self.calls.uses;
        let waits = || {
            let [method] = uses.readers(call) else { return None };
            let OpKind::Attribute(_, name) = &self.calls.code.ops[*method as usize].kind else { return None };
            uses.readers(*method).first().copied().filter(|_| self.run().program.models.awaits(name))
        };
        waits().unwrap_or(call)
    }

    /// Whether a function tests if its arguments are equal, and whether it raises unless they are.
    fn tests_equality(&self, callee: Temp) -> Option<bool> {
        let library = self.library(callee);
        let written = match &self.calls.code.ops[callee as usize].kind {
            OpKind::Attribute(_, name) | OpKind::Load(Variable::Global(name)) => Some(name),
            _ => None,
        };
        let path = library.as_ref().or(written)?;
        let name = path.rsplit('.').next().unwrap_or(path);
        self.run().program.models.words.tests_equality(name).then(|| name.starts_with(ASSERT))
    }

    fn library(&self, callee: Temp) -> Option<Name> {
        self.run().library_named(self.pair.first.activation.module, self.calls.code, callee)
    }

    fn run(&self) -> &Recording<'_> {
        self.flows.run
    }
}

/// Whether the tolerances that a test for equality gets allow small differences only.
fn is_strict(code: &Function, arguments: &[Argument]) -> bool {
    arguments.iter().all(|argument| match &code.ops[argument.value() as usize].kind {
        OpKind::Constant(Constant::Float(tolerance)) => *tolerance <= TOLERANCE,
        _ => true,
    })
}

/// The size of a difference, `abs(a - b)` or `jnp.max(jnp.abs(a - b))`, and what reads it.
enum Size {
    /// The test whether it is small: `abs(a - b) < 1e-6`.
    Tested(Temp),
    /// The value itself, which something else reads.
    Other(Temp),
}

/// What is done with the size of a difference; `None` if it is no size, or more than one operation reads it.
fn size(code: &Function, uses: &Uses, difference: Temp) -> Option<Size> {
    let (mut temp, mut is_absolute) = (difference, false);
    for _ in 0..STEPS {
        let [reader] = uses.readers(temp) else { return None };
        let other = is_absolute.then_some(Size::Other(temp));
        match &code.ops[*reader as usize].kind {
            OpKind::Operate(Operator::Lt | Operator::Le, [Some(small), Some(bound)], _) if *small == temp => {
                let OpKind::Constant(Constant::Float(bound)) = code.ops[*bound as usize].kind else { return other };
                return if bound <= TOLERANCE { is_absolute.then_some(Size::Tested(*reader)) } else { other };
            }
            OpKind::Call(callee, given) if given.len() <= 1 => match &code.ops[*callee as usize].kind {
                OpKind::Attribute(_, name) | OpKind::Load(Variable::Global(name)) => match &**name {
                    "abs" | "absolute" | "fabs" | "norm" => is_absolute = true,
                    "float" | "max" | "mean" | "sum" => {}
                    _ => return other,
                },
                _ => return other,
            },
            OpKind::Store(variable, _) => {
                let loads = sole_loads(code, uses, variable, *reader);
                let [load] = loads[..] else { return None };
                temp = load;
                continue;
            }
            OpKind::Attribute(..) => {}
            _ => return other,
        }
        temp = *reader;
    }
    None
}

/// Whether a value is only the test of an `assert`, perhaps through `bool(…)`, `jnp.all(…)` or `.all()`.
fn is_asserted(code: &Function, uses: &Uses, value: Temp) -> bool {
    let raises = |temp: &Temp| matches!(code.ops[*temp as usize].kind, OpKind::Raise(_));
    let reader = whole(code, uses, value).map(|reader| &code.ops[reader as usize].kind);
    matches!(reader, Some(OpKind::If { then, orelse, .. }) if then.is_empty() && orelse.last().is_some_and(raises))
}

/// Whether a value is only printed, perhaps within a text.
fn is_printed(code: &Function, uses: &Uses, value: Temp) -> bool {
    let mut temp = value;
    for _ in 0..STEPS {
        let Some(reader) = whole(code, uses, temp) else { return false };
        match &code.ops[reader as usize].kind {
            OpKind::Build(Collection::Text, _) => temp = reader,
            OpKind::Call(callee, _) if is_global(code, *callee, "print") => return true,
            OpKind::Call(callee, _) if WRITING.iter().any(|name| is_global(code, *callee, name)) => temp = reader,
            _ => return false,
        }
    }
    false
}

/// Whether a callee is the built-in function of a name.
fn is_global(code: &Function, callee: Temp, name: &str) -> bool {
    matches!(&code.ops[callee as usize].kind, OpKind::Load(Variable::Global(written)) if &**written == name)
}

/// The only operation that reads a truth value, or what `bool(…)`, `jnp.all(…)` or `.all()` makes of it. Another function may negate.
fn whole(code: &Function, uses: &Uses, value: Temp) -> Option<Temp> {
    let mut temp = value;
    for _ in 0..STEPS {
        let [reader] = uses.readers(temp) else { return None };
        match &code.ops[*reader as usize].kind {
            OpKind::Call(callee, _) if is_whole(code, *callee) => temp = *reader,
            OpKind::Attribute(_, name) if &**name == "all" => temp = *reader,
            _ => return Some(*reader),
        }
    }
    None
}

/// Whether a callee is `bool`, or `all` of a library or of an array.
fn is_whole(code: &Function, callee: Temp) -> bool {
    match &code.ops[callee as usize].kind {
        OpKind::Load(Variable::Global(name)) => matches!(&**name, "all" | "bool"),
        OpKind::Attribute(_, name) => &**name == "all",
        _ => false,
    }
}

/// Whether the functions that two calls run get the key by a parameter of one value. If each gets it within another object, `moments(train)` and
/// `moments(valid)`, these should have had keys of their own.
pub(super) fn get_one_key(run: &Recording<'_>, pair: &Pair<'_>, calls: &Calls<'_>) -> bool {
    let parameters = |event: &Consumption| {
        let chain = event.chain();
        let at = chain.iter().position(|(activation, _)| activation.id == calls.activation)?;
        let (callee, _) = chain.get(at + 1)?;
        let slots = &run.environments[callee.environment.0 as usize].slots;
        Some(slots.iter().take(run.code(callee).parameters.len()).cloned().collect::<Vec<Value>>())
    };
    let (Some(one), Some(other)) = (parameters(pair.first), parameters(pair.second)) else { return false };
    // The key itself, or what it was derived from.
    let sources = |value: &Value, event: &Consumption| {
        let terms = value.alternatives().iter().filter_map(|alternative| match &alternative.val {
            Val::Key(key) => Some(key.term),
            Val::Term(term) => Some(*term),
            _ => None,
        });
        let is_source = |term: &TermId| run.terms.mentions(event.target.term, &|part| part == *term);
        terms.filter(is_source).collect::<BTreeSet<TermId>>()
    };
    let are_arrays = |value: &Value| {
        value.alternatives().iter().any(|alternative| matches!(alternative.val, Val::Array(_) | Val::Tuple(_)))
    };
    // A parameter that the function binds again, as in `key, sub = split(key)`, held the key before.
    let is_rebound_key = |slot: u32| {
        let chain = pair.first.chain();
        let called = chain.iter().skip_while(|(activation, _)| activation.id != calls.activation).nth(1);
        called.is_some_and(|(callee, _)| {
            let name = run.code(callee).parameters.get(slot as usize).map(|parameter| &parameter.name);
            let uses = run.uses_of(callee.module, callee.function);
            name.is_some_and(|name| run.program.models.words.names_a_key(name)) && !uses.stores_of(slot).is_empty()
        })
    };
    (0u32..).zip(one.iter().zip(&other)).any(|(slot, (one, other))| {
        are_arrays(one) && one == other
            || !sources(one, pair.first).is_disjoint(&sources(other, pair.second))
            || is_rebound_key(slot)
    })
}

/// In how many arguments two calls of one callee differ, as written or because a variable is bound again between them, and how many are the
/// same; `None` if they are no such calls. The object of a method is an argument, too.
pub(super) fn differing(code: &Function, once: Temp, again: Temp) -> Option<[usize; 2]> {
    let callee = |call: Temp| match &code.ops[call as usize].kind {
        OpKind::Call(callee, _) => Some(*callee),
        _ => None,
    };
    let (one, other) = (callee(once)?, callee(again)?);
    let method = |callee: Temp| match &code.ops[callee as usize].kind {
        OpKind::Attribute(_, name) => Some(name),
        _ => None,
    };
    let is_method = method(one).is_some() && method(one) == method(other);
    let [differing, same] = differing_arguments(code, once, again)?;
    if is_unchanged(code, [once, again], one, other) {
        return Some([differing, same]);
    }
    is_method.then_some([differing + 1, same])
}

/// In how many arguments two calls differ, and how many are the same; `None` if they have other parameters.
fn differing_arguments(code: &Function, once: Temp, again: Temp) -> Option<[usize; 2]> {
    let (one, other) = (&code.ops[once as usize].kind, &code.ops[again as usize].kind);
    let (OpKind::Call(_, given), OpKind::Call(_, others)) = (one, other) else { return None };
    if given.len() != others.len() {
        return None;
    }
    let mut counts = [0, 0];
    for pair in given.iter().zip(others) {
        let (one, other) = match pair {
            (Argument::Positional(one), Argument::Positional(other)) => (one, other),
            (Argument::Keyword(name, one), Argument::Keyword(named, other)) if name == named => (one, other),
            _ => return None,
        };
        counts[usize::from(is_unchanged(code, [once, again], *one, *other))] += 1;
    }
    Some(counts)
}

/// Whether an operator tells which of two values is smaller.
fn is_order(op: Operator) -> bool {
    matches!(op, Operator::Lt | Operator::Le | Operator::Gt | Operator::Ge)
}

/// A side of an order, and what it is without a threshold: `start - c * step`.
fn parts_of_threshold(code: &Function, side: Temp) -> Vec<Temp> {
    match &code.ops[side as usize].kind {
        OpKind::Operate(Operator::Add | Operator::Sub, [Some(a), Some(b)], _) => vec![side, *a, *b],
        _ => vec![side],
    }
}

/// The difference or the order of two results of one function for other arguments, if the result of a call is a side of one. The other side is
/// the result of its partner, or of a third call.
fn own_comparison(code: &Function, uses: &Uses, [call, partner]: [Temp; 2]) -> Option<Temp> {
    let (sides, others) = (copies(code, uses, call), copies(code, uses, partner));
    let is_other = |side: Temp| {
        let other = if others.contains(&side) { Some(partner) } else { made_by(code, side) };
        // The key is among the arguments that both calls get.
        let differing = other.and_then(|other| differing(code, call, other));
        differing.is_some_and(|[differing, same]| differing > 0 && same > 0)
    };
    let is_side = |parts: &[Temp]| parts.iter().any(|part| sides.contains(part));
    let is_other_side = |parts: &[Temp]| !is_side(parts) && parts.iter().any(|part| is_other(*part));
    let parts = |op: Operator, side: Temp| if is_order(op) { parts_of_threshold(code, side) } else { vec![side] };
    let compares = |temp: &Temp| match &code.ops[*temp as usize].kind {
        OpKind::Operate(op, [Some(a), Some(b)], _) if *op == Operator::Sub || is_order(*op) => {
            let (a, b) = (parts(*op, *a), parts(*op, *b));
            is_side(&a) && is_other_side(&b) || is_side(&b) && is_other_side(&a)
        }
        _ => false,
    };
    let readers: BTreeSet<Temp> = sides.iter().flat_map(|side| uses.readers(*side)).copied().collect();
    let later = readers.iter().flat_map(|reader| uses.readers(*reader)).copied();
    readers.iter().copied().chain(later).find(compares)
}

/// The call whose result a value is, perhaps through a variable that is stored once.
fn made_by(code: &Function, value: Temp) -> Option<Temp> {
    let is_call = |temp: &Temp| matches!(code.ops[*temp as usize].kind, OpKind::Call(..));
    let OpKind::Load(variable) = &code.ops[value as usize].kind else { return Some(value).filter(is_call) };
    code.sole_value(variable).filter(is_call)
}

/// A value, and the reads of variables that hold nothing else: also where a tuple is unpacked at once, `a, b = f(key), f(key)`.
fn copies(code: &Function, uses: &Uses, value: Temp) -> BTreeSet<Temp> {
    let mut found = BTreeSet::from([value]);
    let mut work = vec![value];
    while let Some(temp) = work.pop().filter(|_| found.len() <= STEPS) {
        for reader in uses.readers(temp) {
            let same = match &code.ops[*reader as usize].kind {
                OpKind::Store(variable, _) => sole_loads(code, uses, variable, *reader),
                OpKind::Build(Collection::Tuple, elements) => targets(code, uses, *reader, (elements, temp)),
                _ => continue,
            };
            work.extend(same.iter().filter(|copy| found.insert(**copy)));
        }
    }
    found
}

/// The parts of a tuple that hold one of its elements where it is unpacked.
fn targets(code: &Function, uses: &Uses, tuple: Temp, (elements, element): (&[Element], Temp)) -> Vec<Temp> {
    let at = elements.iter().position(|other| *other == Element::Value(element));
    let is_plain = elements.iter().all(|other| matches!(other, Element::Value(_)));
    let Some(at) = at.and_then(|at| u32::try_from(at).ok()).filter(|_| is_plain) else { return Vec::new() };
    let unpacks = uses
        .readers(tuple)
        .iter()
        .filter(|reader| matches!(code.ops[**reader as usize].kind, OpKind::Unpack { star: None, .. }));
    let parts = unpacks.flat_map(|unpack| uses.readers(*unpack));
    parts
        .copied()
        .filter(|part| matches!(code.ops[*part as usize].kind, OpKind::Project(_, index) if index == at))
        .collect()
}

/// The reads of a variable in the function that always get what a store put there.
fn sole_loads(code: &Function, uses: &Uses, variable: &Variable, store: Temp) -> Vec<Temp> {
    let loads = uses.reaching(code, variable).loads_of(store).to_vec();
    let before = ReachingDefinitions::before(code, variable, &loads, &|_| false);
    loads.into_iter().filter(|load| before.is_always(*load, store)).collect()
}
