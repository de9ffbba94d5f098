//! Random numbers that Python draws: by `numpy`, `random`, `secrets`, the operating system, or from the time.
//!
//! No key is involved, so most of these functions are never run. Their draws and calls are read from the code: names resolve to functions
//! of the program, methods to those of the receiver's class, and a function that a transform runs counts as called.
//!
//! **Invariant:** a draw belongs to every function that leads to it through such calls; callbacks of JAX are not followed, because Python
//! runs them at every call. Walks are bounded by [`DEPTH`] and [`STEPS`].

use std::collections::BTreeSet;

use crate::analysis::domain::kinds::TraceCache;
use crate::analysis::domain::value::ModuleIndex;
use crate::analysis::record::{LoggedTrace, Recording};
use crate::finding::{Confidence, Place};
use crate::ir::{Argument, Function, FunctionId, FunctionKind, Module, Name, Op, OpKind, Temp, Variable};
use crate::judge::consequence::Flows;
use crate::judge::denotation::{Callee, Denotation, Denotations, stored};
use crate::judge::facts::{Facts, HostDraw};
use crate::judge::traced::{step, traced_function};
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
}

/// The host draws that functions of the module lead to.
pub fn extract_host_draws(run: &Recording<'_>, facts: &mut Facts) {
    if !run.program.relevance.has_host_draws() {
        return;
    }
    let (module, flows, denotations) = (run.module(run.home), Flows::new(run), Denotations::new(run));
    for (number, code) in (0u32..).zip(&module.functions) {
        let mut search = Search { run, flows: &flows, denotations: &denotations, seen: BTreeSet::new(), left: STEPS };
        search.note_traced((run.home, FunctionId(number)), facts);
        if matches!(code.kind, FunctionKind::Module | FunctionKind::ClassBody) {
            continue;
        }
        for found in search.draws((run.home, FunctionId(number)), DEPTH) {
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
    seen: BTreeSet<Callee>,
    left: u32,
}

impl<'a> Search<'_, 'a> {
    fn draws(&mut self, (index, id): Callee, depth: u32) -> Vec<Found> {
        let mut all = Vec::new();
        if !self.seen.insert((index, id)) {
            return all;
        }
        let module: &'a Module = self.run.module(index);
        let code = module.function(id);
        for (temp, op) in (0u32..).zip(&code.ops) {
            if self.left == 0 {
                break;
            }
            self.left -= 1;
            let OpKind::Call(callee, arguments) = &op.kind else { continue };
            let place = Place { file: module.file, span: op.span };
            if let Some(source) = self.drawn((index, id), *callee, arguments) {
                let fate = self.only_returns_number((index, id), temp);
                let is_of_generator = self.denotations.modelled(index, code, *callee).is_none();
                all.extend(fate.map(|is_only_returned| Found {
                    place,
                    leaf: place,
                    source,
                    is_only_returned,
                    is_of_generator,
                }));
                continue;
            }
            let Some(depth) = depth.checked_sub(1) else { continue };
            if let Some(called) = self.denotations.function((index, id), *callee) {
                // A generator that the function creates with a seed gives a constant on purpose.
                let is_own = self.is_made_here((index, id), *callee);
                for found in self.draws(called, depth).into_iter().filter(|found| !is_own || !found.is_of_generator) {
                    let fate =
                        if found.is_only_returned { self.only_returns_number((index, id), temp) } else { Some(false) };
                    all.extend(fate.map(|is_only_returned| Found { place, is_only_returned, ..found }));
                }
            }
            if self.runs_its_arguments(index, code, *callee) {
                for value in passed(arguments) {
                    let Some(callee) = self.denotations.function((index, id), value) else { continue };
                    let found = self.draws(callee, depth).into_iter();
                    all.extend(found.map(|found| Found { place, is_only_returned: false, ..found }));
                }
            }
        }
        all
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
            let Some((transform, _)) = self.denotations.modelled(index, code, *callee) else { continue };
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
        if let Some((path, callable)) = self.denotations.modelled(index, code, callee) {
            return match callable.host? {
                Host::Draw => (!is_seeded(callable, arguments)).then_some(path),
                // A generator with a seed repeats its numbers wherever it is created; without a seed, the system seeds
                // it.
                Host::Generator => arguments.is_empty().then_some(path),
                Host::Clock | Host::Unique => self.is_seed(index, code, callee).then_some(path),
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
    fn runs_its_arguments(&self, index: ModuleIndex, code: &Function, callee: Temp) -> bool {
        let modelled = self.denotations.modelled(index, code, callee);
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
    fn is_seed(&self, index: ModuleIndex, code: &Function, clock: Temp) -> bool {
        let is_seeding = |callee: Temp| {
            self.denotations.modelled(index, code, callee).is_some_and(|(_, callable)| {
                matches!(callable.effect, Effect::Seed { .. } | Effect::Fold { .. })
                    || callable.host == Some(Host::Generator)
            })
        };
        let is_seeded =
            |op: &Op| matches!(&op.kind, OpKind::Call(callee, _) if *callee != clock && is_seeding(*callee));
        code.ops.iter().any(|op| is_seeded(op) && computes_from(code, op, clock))
    }
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
