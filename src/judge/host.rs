//! Random numbers that Python draws: by `numpy`, `random`, `secrets`, the operating system, or from the time.
//!
//! No key is involved, so most of these functions are never run. Their draws and calls are read from the code: names resolve to functions
//! of the program, methods to those of the receiver's class, and a function that a transform runs counts as called.
//!
//! **Invariant:** a draw belongs to every function that leads to it through such calls; callbacks of JAX are not followed, because Python
//! runs them at every call. Walks are bounded by [`DEPTH`] and [`STEPS`].

use std::collections::{BTreeMap, BTreeSet};

use crate::analysis::domain::kinds::TraceCache;
use crate::analysis::record::{LoggedTrace, Recording};
use crate::finding::{Confidence, Place};
use crate::ir::{
    Argument, Constant, Function, FunctionId, FunctionKind, Module, Name, Op, OpKind, Operator, Temp, Variable,
};
use crate::judge::consequence::Flows;
use crate::judge::denotation::{Callee, Denotation, Denotations, stored};
use crate::judge::facts::{Facts, HostDraw};
use crate::judge::traced::{argument_for, is_passed, step, traced_function};
use crate::models::{Callable, Effect, Host};

/// Calls below each other that are followed.
const DEPTH: u32 = 6;

/// Most operations that one query visits.
const STEPS: u32 = 4_096;

/// A draw that a function leads to.
#[derive(Clone)]
struct Found {
    /// The place in the function: of the draw, or of the call that leads to it.
    place: Place,
    leaf: Place,
    source: Name,
    /// Whether the function only returns the number.
    is_only_returned: bool,
    /// Whether it is drawn from a stored generator.
    is_of_generator: bool,
    /// The parameter without which only the function draws: `if seed is None: seed = randint(9)`.
    without: Option<u32>,
}

/// The host draws that functions of the module lead to.
pub fn extract_host_draws(run: &Recording<'_>, facts: &mut Facts) {
    if !run.program.relevance.has_host_draws() {
        return;
    }
    let (module, flows, denotations) = (run.module(run.home), Flows::new(run), Denotations::new(run));
    for (number, code) in (0u32..).zip(&module.functions) {
        let mut search = Search { run, flows: &flows, denotations: &denotations, known: BTreeMap::new(), left: STEPS };
        search.note_traced((run.home, FunctionId(number)), facts);
        if matches!(code.kind, FunctionKind::Module | FunctionKind::ClassBody) {
            continue;
        }
        for found in search.draws((run.home, FunctionId(number)), DEPTH) {
            if found.without.is_some_and(|slot| is_given(module, code, slot)) {
                continue;
            }
            facts.host.push(HostDraw {
                source: found.source.to_string(),
                leaf: found.leaf,
                steps: vec![step(module, code, (found.place, found.leaf), Some(0))],
                trace: None,
                confidence: Confidence::High,
            });
        }
    }
}

/// One search for draws, through the functions that are called.
struct Search<'r, 'a> {
    run: &'r Recording<'a>,
    flows: &'r Flows<'r>,
    denotations: &'r Denotations<'r, 'a>,
    /// What functions lead to; nothing while they are searched.
    known: BTreeMap<Callee, Vec<Found>>,
    left: u32,
}

impl<'a> Search<'_, 'a> {
    fn draws(&mut self, at: Callee, depth: u32) -> Vec<Found> {
        if let Some(known) = self.known.get(&at) {
            return known.clone();
        }
        self.known.insert(at, Vec::new());
        let mut all: Vec<Found> = Vec::new();
        for temp in (0u32..).take(self.run.module(at.0).function(at.1).ops.len()) {
            if self.left == 0 {
                break;
            }
            self.left -= 1;
            for found in self.drawn_by(at, temp, depth) {
                let is_it = |other: &Found| {
                    (other.leaf, other.without, other.is_only_returned)
                        == (found.leaf, found.without, found.is_only_returned)
                };
                if !all.iter().any(is_it) {
                    all.push(found);
                }
            }
        }
        self.known.insert(at, all.clone());
        all
    }

    /// What an operation of a function leads to.
    fn drawn_by(&mut self, at: Callee, temp: Temp, depth: u32) -> Vec<Found> {
        let (index, id) = at;
        let mut all = Vec::new();
        let module: &'a Module = self.run.module(index);
        let code = module.function(id);
        let op = &code.ops[temp as usize];
        let OpKind::Call(callee, arguments) = &op.kind else { return all };
        let place = Place { file: module.file, span: op.span };
        if let Some(source) = self.drawn(at, *callee, arguments) {
            let fate = self.only_returns_number(at, temp);
            let is_of_generator = self.denotations.modelled(at, *callee).is_none();
            let without = self.without(at, temp);
            let found =
                |is_only_returned| Found { place, leaf: place, source, is_only_returned, is_of_generator, without };
            return fate.map(found).into_iter().collect();
        }
        let Some(depth) = depth.checked_sub(1) else { return all };
        if let Some(called) = self.denotations.function(at, *callee) {
            // A generator that the function creates with a seed gives a constant on purpose.
            let is_own = self.is_made_here(at, *callee);
            for found in self.draws(called, depth).into_iter().filter(|found| !is_own || !found.is_of_generator) {
                let without = match found.without.map(|slot| self.given(at, arguments, (called, slot))) {
                    Some(Given::Something) => continue,
                    Some(Given::Parameter(slot)) => Some(slot),
                    Some(Given::Nothing) | None => self.without(at, temp),
                };
                let fate = if found.is_only_returned { self.only_returns_number(at, temp) } else { Some(false) };
                all.extend(fate.map(|is_only_returned| Found { place, is_only_returned, without, ..found }));
            }
        }
        if self.runs_its_arguments(at, *callee) {
            for value in passed(arguments) {
                let Some(callee) = self.denotations.function(at, value) else { continue };
                let without = self.without(at, temp);
                let found = self.draws(callee, depth).into_iter();
                all.extend(found.map(|found| Found { place, is_only_returned: false, without, ..found }));
            }
        }
        all
    }

    /// The parameter that is `None` wherever an operation of a function runs.
    fn without(&self, (index, id): Callee, temp: Temp) -> Option<u32> {
        let code = self.run.module(index).function(id);
        let uses = self.run.uses_of(index, id);
        uses.around(temp).find_map(|(outer, number)| {
            let OpKind::If { test, .. } = &code.ops[outer as usize].kind else { return None };
            let OpKind::Operate(operator, [Some(value), Some(other)], _) = &code.ops[*test as usize].kind else {
                return None;
            };
            let is_none = matches!(code.ops[*other as usize].kind, OpKind::Constant(Constant::None));
            let asks = matches!((operator, number), (Operator::Is, 0) | (Operator::IsNot, 1));
            self.parameter((index, id), *value).filter(|_| is_none && asks)
        })
    }

    /// The parameter whose argument an operation reads.
    fn parameter(&self, (index, id): Callee, load: Temp) -> Option<u32> {
        let code = self.run.module(index).function(id);
        let OpKind::Load(variable @ Variable::Local(slot)) = &code.ops[load as usize].kind else { return None };
        let uses = self.run.uses_of(index, id);
        let reaching = uses.reaching(code, variable);
        let is_stored = uses.stores_of(*slot).iter().any(|store| reaching.loads_of(*store).contains(&load));
        let is_parameter = (*slot as usize) < code.parameters.len() && !uses.is_captured(*slot);
        Some(*slot).filter(|_| is_parameter && !is_stored)
    }

    /// What a call passes for a parameter of the function that it runs.
    fn given(&self, at: Callee, arguments: &[Argument], (called, slot): (Callee, u32)) -> Given {
        let code = self.run.module(called.0).function(called.1);
        let Some(value) = argument_for(code, arguments, slot as usize) else { return Given::Nothing };
        if let Some(own) = self.parameter(at, value) {
            return Given::Parameter(own);
        }
        let caller = self.run.module(at.0).function(at.1);
        match caller.ops[value as usize].kind {
            OpKind::Constant(Constant::None) => Given::Nothing,
            _ => Given::Something,
        }
    }

    /// Whether a function only returns a number; `None` if it only prints it or uses it in a name. A call whose result is unused may change
    /// an argument: `shuffle(x)`.
    fn only_returns_number(&self, (index, id): Callee, temp: Temp) -> Option<bool> {
        if self.run.uses_of(index, id).readers(temp).is_empty() {
            return Some(false);
        }
        match self.flows.enters_results((index, id), temp) {
            [false, false] => None,
            [enters, _] => Some(!enters),
        }
    }

    /// The functions that a function passes to transforms, even if it is never run.
    fn note_traced(&self, (index, id): Callee, facts: &mut Facts) {
        let module = self.run.module(index);
        let code = module.function(id);
        for op in &code.ops {
            let OpKind::Call(callee, arguments) = &op.kind else { continue };
            let Some((transform, _)) = self.denotations.modelled((index, id), *callee) else { continue };
            for value in passed(arguments) {
                let Some((module_of, function)) = self.denotations.function((index, id), value) else { continue };
                let trace = LoggedTrace {
                    module: module_of,
                    function,
                    transform: transform.clone(),
                    place: Place { file: module.file, span: op.span },
                    bound: u32::from(matches!(code.ops[value as usize].kind, OpKind::Attribute(..))),
                    cache: TraceCache::None,
                    made_in: (index, id),
                };
                facts.traced.extend(traced_function(self.run, &trace));
            }
        }
    }

    /// The source of a random number that Python draws in a call, if it does.
    fn drawn(&self, (index, id): Callee, callee: Temp, arguments: &[Argument]) -> Option<Name> {
        let module = self.run.module(index);
        let code = module.function(id);
        if let Some((path, callable)) = self.denotations.modelled((index, id), callee) {
            return match callable.host? {
                Host::Draw => (!is_seeded(callable, arguments)).then_some(path),
                // A generator with a seed repeats its numbers wherever it is created; without a seed, the system seeds
                // it.
                Host::Generator => arguments.is_empty().then_some(path),
                Host::Clock | Host::Unique => self.is_seed((index, id), callee).then_some(path),
                Host::Seeding | Host::Hash => None,
            };
        }
        let OpKind::Attribute(object, method) = &code.ops[callee as usize].kind else { return None };
        if self.is_made_here((index, id), *object) {
            return None;
        }
        match self.denotations.of((index, id), *object)? {
            Denotation::Generator(path) => {
                // A method of a class, or of the result of a function: `numpy.random.default_rng().normal`.
                let is_class = path.rsplit('.').next().is_some_and(|name| name.starts_with(char::is_uppercase));
                Some(format!("{path}{}.{method}", if is_class { "" } else { "()" }).into())
            }
            _ => None,
        }
    }

    /// Whether a call runs its function arguments.
    fn runs_its_arguments(&self, at: Callee, callee: Temp) -> bool {
        let modelled = self.denotations.modelled(at, callee);
        modelled.is_some_and(|(_, callable)| matches!(callable.effect, Effect::Transform(_)))
    }

    /// Whether the receiver of a method, or the callee, is created by the function itself.
    fn is_made_here(&self, at: Callee, temp: Temp) -> bool {
        let code = self.run.module(at.0).function(at.1);
        let mut current = temp;
        for _ in 0..DEPTH {
            current = match &code.ops[current as usize].kind {
                OpKind::Attribute(object, _) => *object,
                OpKind::Load(Variable::Local(slot)) if *slot as usize >= code.parameters.len() => {
                    match stored(code, *slot) {
                        Some(value) => value,
                        None => return false,
                    }
                }
                OpKind::Call(..) => {
                    return matches!(
                        self.denotations.of(at, current),
                        Some(Denotation::Instance(_) | Denotation::Generator(_))
                    );
                }
                _ => return false,
            };
        }
        false
    }

    /// Whether the time becomes a seed in the function: `key(int(time.time()))`.
    fn is_seed(&self, at: Callee, clock: Temp) -> bool {
        let code = self.run.module(at.0).function(at.1);
        let is_seeding = |callee: Temp| {
            self.denotations.modelled(at, callee).is_some_and(|(_, callable)| {
                matches!(callable.effect, Effect::Seed { .. } | Effect::Fold { .. })
                    || callable.host == Some(Host::Generator)
            })
        };
        let is_seeded =
            |op: &Op| matches!(&op.kind, OpKind::Call(callee, _) if *callee != clock && is_seeding(*callee));
        code.ops.iter().any(|op| is_seeded(op) && computes_from(code, op, clock))
    }
}

/// What a call passes for a parameter.
enum Given {
    /// Nothing, or `None`.
    Nothing,
    /// What the caller itself is passed for a parameter.
    Parameter(u32),
    Something,
}

/// Whether every call of a function passes something for a parameter, as far as the module shows.
fn is_given(module: &Module, code: &Function, slot: u32) -> bool {
    let at = slot as usize;
    code.parameters.get(at).is_some_and(|parameter| !parameter.has_default || is_passed(module, code, at))
}

/// Whether a call seeds its draws itself, and so repeats them on purpose.
fn is_seeded(callable: &Callable, arguments: &[Argument]) -> bool {
    let Some(seed) = &callable.seeded_by else { return false };
    let by_name = |argument: &Argument| matches!(argument, Argument::Keyword(name, _) if **name == **seed);
    arguments.iter().any(by_name) || callable.position(seed).is_some_and(|position| position < arguments.len())
}

/// The arguments of a call, as far as they are explicit.
fn passed(arguments: &[Argument]) -> impl Iterator<Item = Temp> {
    arguments.iter().filter_map(|argument| match argument {
        Argument::Positional(value) | Argument::Keyword(_, value) => Some(*value),
        Argument::Spread(_) | Argument::SpreadMapping(_) => None,
    })
}

/// Whether an operation is computed from the call of `callee`, directly or through variables of the function.
fn computes_from(code: &Function, op: &Op, callee: Temp) -> bool {
    let mut work: Vec<Temp> = Vec::new();
    op.kind.operands(&mut |temp| work.push(temp));
    let mut seen = BTreeSet::new();
    while let Some(temp) = work.pop() {
        if temp == callee {
            return true;
        }
        if !seen.insert(temp) {
            continue;
        }
        match &code.ops[temp as usize].kind {
            OpKind::Load(Variable::Local(slot)) => work.extend(stored(code, *slot)),
            kind => kind.operands(&mut |temp| work.push(temp)),
        }
    }
    false
}
