//! Random numbers that Python draws: by `numpy`, `random`, `secrets`, the operating system, or from the time.
//!
//! No key is involved, so most of these functions are never run. Where they draw, and whom they call, is read from the code: names lead
//! to functions of the program, `self.method` to methods of the class, and a function that a transform runs counts as called.
//!
//! **Invariant:** a draw belongs to every function that leads to it by such calls; callbacks of JAX lead nowhere, since Python runs them
//! at every call. Walks are bounded by [`DEPTH`] and [`STEPS`].

use std::collections::BTreeSet;

use crate::analysis::domain::value::{ModuleIndex, Val};
use crate::analysis::record::{LoggedTrace, Recording};
use crate::finding::{Confidence, Place};
use crate::ir::{Argument, ClassId, Function, FunctionId, FunctionKind, Module, Name, Op, OpKind, Temp, Variable};
use crate::judge::consequence::Flows;
use crate::judge::facts::{Facts, HostDraw};
use crate::judge::traced::{step, traced_function};
use crate::models::{Callable, Effect, Host};

/// Calls below each other that are followed.
const DEPTH: u32 = 6;

/// Most operations that one question looks at.
const STEPS: u32 = 4_096;

/// A function of the program.
type Callee = (ModuleIndex, FunctionId);

/// A draw that a function leads to.
#[derive(Clone)]
struct Found {
    /// The place in the function: of the draw, or of the call that leads there.
    place: Place,
    leaf: Place,
    source: Name,
    /// Whether the function does no more with the number than to return it.
    is_only_returned: bool,
}

/// The draws of Python that functions of the module lead to.
pub fn extract_host_draws(run: &Recording<'_>, facts: &mut Facts) {
    if !run.program.relevance.draws() {
        return;
    }
    let (module, flows) = (run.module(run.home), Flows::new(run));
    for (number, code) in (0u32..).zip(&module.functions) {
        let mut search = Search { run, flows: &flows, seen: BTreeSet::new(), left: STEPS };
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
                let fate = self.fate((index, id), temp);
                all.extend(fate.map(|is_only_returned| Found { place, leaf: place, source, is_only_returned }));
                continue;
            }
            let Some(depth) = depth.checked_sub(1) else { continue };
            if let Some(called) = self.function((index, id), *callee) {
                for found in self.draws(called, depth) {
                    let fate = if found.is_only_returned { self.fate((index, id), temp) } else { Some(false) };
                    all.extend(fate.map(|is_only_returned| Found { place, is_only_returned, ..found }));
                }
            }
            if self.runs_its_arguments(index, code, *callee) {
                for value in passed(arguments) {
                    let Some(callee) = self.function((index, id), value) else { continue };
                    let found = self.draws(callee, depth).into_iter();
                    all.extend(found.map(|found| Found { place, is_only_returned: false, ..found }));
                }
            }
        }
        all
    }

    /// Whether a function does no more with a number than to return it; `None` where it only prints or names something with it. What
    /// nothing reads may change an argument: `shuffle(x)`.
    fn fate(&self, (index, id): Callee, temp: Temp) -> Option<bool> {
        if self.run.uses_of(index, id).readers(temp).is_empty() {
            return Some(false);
        }
        match self.flows.enters_results((index, id), temp) {
            [false, false] => None,
            [enters, _] => Some(!enters),
        }
    }

    /// The functions that a function hands to transforms: it may be one that is not run.
    fn note_traced(&self, (index, id): Callee, facts: &mut Facts) {
        let module = self.run.module(index);
        let code = module.function(id);
        for op in &code.ops {
            let OpKind::Call(callee, arguments) = &op.kind else { continue };
            let Some((transform, _)) = self.modelled(index, code, *callee) else { continue };
            for value in passed(arguments) {
                let Some((module_of, function)) = self.function((index, id), value) else { continue };
                let trace = LoggedTrace {
                    module: module_of,
                    function,
                    transform: transform.clone(),
                    place: Place { file: module.file, span: op.span },
                    bound: u32::from(matches!(code.ops[value as usize].kind, OpKind::Attribute(..))),
                };
                facts.traced.extend(traced_function(self.run, &trace));
            }
        }
    }

    /// What a call draws by, if Python draws a number there.
    fn drawn(&self, (index, id): Callee, callee: Temp, arguments: &[Argument]) -> Option<Name> {
        let module = self.run.module(index);
        let code = module.function(id);
        if let Some((path, callable)) = self.modelled(index, code, callee) {
            return match callable.host? {
                Host::Draw => Some(path),
                // A generator with a seed repeats its numbers wherever it is made; one without is seeded by the system.
                Host::Generator => arguments.is_empty().then_some(path),
                Host::Clock => self.is_seed(index, code, callee).then_some(path),
                Host::Seeding | Host::Hash | Host::Unique => None,
            };
        }
        let OpKind::Attribute(object, method) = &code.ops[callee as usize].kind else { return None };
        let generator = self.generator((index, id), *object, 2)?;
        Some(format!("{generator}().{method}").into())
    }

    /// The generator from outside the function that a temp holds.
    fn generator(&self, (index, id): Callee, temp: Temp, depth: u32) -> Option<Name> {
        let depth = depth.checked_sub(1)?;
        let module = self.run.module(index);
        let code = module.function(id);
        match &code.ops.get(temp as usize)?.kind {
            OpKind::Load(Variable::Outer(..)) => {
                let (outer, value) = stored_outside(module, code, temp)?;
                self.constructor(index, outer, value)
            }
            OpKind::Load(Variable::Global(name)) => {
                let body = module.function(Module::BODY);
                let value = body.ops.iter().find_map(|op| match &op.kind {
                    OpKind::Store(Variable::Global(stored), value) if stored == name => Some(*value),
                    _ => None,
                })?;
                self.constructor(index, body, value)
            }
            OpKind::Attribute(object, name) => {
                let class = owner(module, code, *object)?;
                let mut methods = module.functions.iter().filter(|method| method.class == Some(class));
                methods.find_map(|method| {
                    let value = method.ops.iter().find_map(|op| match &op.kind {
                        OpKind::StoreAttribute(_, stored, value) if stored == name => Some(*value),
                        _ => None,
                    })?;
                    self.constructor(index, method, value)
                })
            }
            OpKind::Load(Variable::Local(slot)) => {
                let value = stored(code, *slot)?;
                self.generator((index, id), value, depth)
            }
            _ => None,
        }
    }

    /// The path of the class of generators that an operation makes an instance of.
    fn constructor(&self, index: ModuleIndex, code: &Function, value: Temp) -> Option<Name> {
        let OpKind::Call(callee, _) = &code.ops.get(value as usize)?.kind else { return None };
        let (path, callable) = self.modelled(index, code, *callee)?;
        (callable.host == Some(Host::Generator)).then_some(path)
    }

    /// The path and the model of the library function that a temp stands for.
    fn modelled(&self, index: ModuleIndex, code: &Function, temp: Temp) -> Option<(Name, &'a Callable)> {
        let path = self.run.library_named(index, code, temp)?;
        let callable = self.run.program.models.callable(&path)?;
        Some((path, callable))
    }

    /// The function of the program that a temp stands for.
    fn function(&self, (index, id): Callee, temp: Temp) -> Option<Callee> {
        let module = self.run.module(index);
        let code = module.function(id);
        match &code.ops.get(temp as usize)?.kind {
            OpKind::Function(inner, _) => Some((index, *inner)),
            OpKind::Load(Variable::Local(slot)) => Some((index, made(code, stored(code, *slot)?)?)),
            OpKind::Load(Variable::Outer(..)) => {
                let (outer, value) = stored_outside(module, code, temp)?;
                Some((index, made(outer, value)?))
            }
            OpKind::Attribute(object, name) if let Some(class) = owner(module, code, *object) => {
                let method =
                    module.functions.iter().position(|method| method.class == Some(class) && method.name == *name)?;
                Some((index, FunctionId(u32::try_from(method).ok()?)))
            }
            // A call that wraps a function gives that function back: `jax.grad(loss)(params)`.
            OpKind::Call(callee, arguments) if self.runs_its_arguments(index, code, *callee) => {
                match arguments.first()? {
                    Argument::Positional(inner) if *inner < temp => self.function((index, id), *inner),
                    _ => None,
                }
            }
            _ => match self.run.named(index, code, temp)?.single()? {
                Val::Function(closure) => Some((closure.module, closure.function)),
                Val::Wrapped(wrapped) => match wrapped.function.as_ref()?.single()? {
                    Val::Function(closure) => Some((closure.module, closure.function)),
                    _ => None,
                },
                _ => None,
            },
        }
    }

    /// Whether a call runs the functions that it is given.
    fn runs_its_arguments(&self, index: ModuleIndex, code: &Function, callee: Temp) -> bool {
        let modelled = self.modelled(index, code, callee);
        modelled.is_some_and(|(_, callable)| matches!(callable.effect, Effect::Transform(_)))
    }

    /// Whether what a clock says becomes a seed in the function: `key(int(time.time()))`.
    fn is_seed(&self, index: ModuleIndex, code: &Function, clock: Temp) -> bool {
        let is_seeding = |callee: Temp| {
            self.modelled(index, code, callee).is_some_and(|(_, callable)| {
                matches!(callable.effect, Effect::Seed { .. }) || callable.host == Some(Host::Generator)
            })
        };
        let is_seeded =
            |op: &Op| matches!(&op.kind, OpKind::Call(callee, _) if *callee != clock && is_seeding(*callee));
        code.ops.iter().any(|op| is_seeded(op) && computes_from(code, op, clock))
    }
}

/// What a call is given, as far as it is written out.
fn passed(arguments: &[Argument]) -> impl Iterator<Item = Temp> {
    arguments.iter().filter_map(|argument| match argument {
        Argument::Positional(value) | Argument::Keyword(_, value) => Some(*value),
        Argument::Spread(_) | Argument::SpreadMapping(_) => None,
    })
}

/// The function that an operation makes.
fn made(code: &Function, temp: Temp) -> Option<FunctionId> {
    match &code.ops.get(temp as usize)?.kind {
        OpKind::Function(function, _) => Some(*function),
        _ => None,
    }
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

/// What is stored in a variable of a function, where it is stored once.
fn stored(code: &Function, slot: u32) -> Option<Temp> {
    let mut stores = code.ops.iter().filter_map(|op| match &op.kind {
        OpKind::Store(Variable::Local(target), value) if *target == slot => Some(*value),
        _ => None,
    });
    stores.next().filter(|_| stores.next().is_none())
}

/// The enclosing function that holds a captured variable, with what it stores there.
fn stored_outside<'m>(module: &'m Module, code: &'m Function, temp: Temp) -> Option<(&'m Function, Temp)> {
    let OpKind::Load(Variable::Outer(depth, slot)) = &code.ops.get(temp as usize)?.kind else { return None };
    let outer = (0..*depth).try_fold(code, |inner, _| inner.parent.map(|parent| module.function(parent)))?;
    Some((outer, stored(outer, *slot)?))
}

/// The class of the instance that a temp is, where it is the first parameter of a method.
fn owner(module: &Module, code: &Function, temp: Temp) -> Option<ClassId> {
    let (method, slot) = match &code.ops.get(temp as usize)?.kind {
        OpKind::Load(Variable::Local(slot)) => (code, *slot),
        OpKind::Load(Variable::Outer(depth, slot)) => {
            let outer = (0..*depth).try_fold(code, |inner, _| inner.parent.map(|parent| module.function(parent)))?;
            (outer, *slot)
        }
        _ => return None,
    };
    method.class.filter(|_| slot == 0 && !method.parameters.is_empty())
}
