//! Seeds that no other run repeats: from the time, the system, addresses, or hashes of strings.
//!
//! **Invariant:** read from the code alone: the operations that compute a seed within its function, the values that the module and the
//! methods of the class store, and the results of functions of the module. A walk visits at most [`STEPS`] operations.

use std::cell::RefCell;
use std::collections::{BTreeMap, BTreeSet};

use crate::analysis::program::Program;
use crate::analysis::program::imported::ImportedNames;
use crate::finding::{Confidence, Place};
use crate::ir::{
    Annotation, Argument, Collection, Constant, Element, Function, FunctionId, Module, Name, Op, OpKind, Operator,
    Temp, Variable,
};
use crate::judge::facts::{Facts, UnstableSeed};
use crate::models::{Effect, Host};

/// Most operations that one seed is traced back through.
const STEPS: usize = 512;

/// What a seed is computed from.
struct Source {
    path: String,
    place: Place,
    is_hash: bool,
    confidence: Confidence,
}

/// Whether the program seeds the generators of modules, as far as that is known.
pub type Seeded = RefCell<BTreeMap<String, bool>>;

/// The unstable seeds of a function.
pub fn extract_seeds<'a>(
    program: &Program<'a>,
    names: &ImportedNames<'a>,
    seeded: &Seeded,
    id: FunctionId,
    facts: &mut Facts,
) {
    let module = names.module;
    let code = module.function(id);
    for op in &code.ops {
        let OpKind::Call(callee, arguments) = &op.kind else { continue };
        let Some((maker, seed)) = seed_of(names, code, *callee, arguments) else { continue };
        let (seen, carriers) = (BTreeSet::new(), BTreeSet::new());
        let mut walk = Walk { program, names, seeded, seen, carriers };
        let Some(source) = walk.source(id, seed) else { continue };
        if walk.is_displayed() {
            continue;
        }
        facts.unstable.push(UnstableSeed {
            place: Place { file: module.file, span: op.span },
            callee: maker,
            source: source.path,
            source_at: source.place,
            is_hash: source.is_hash,
            confidence: source.confidence,
            function: code.qualified.to_string(),
        });
    }
}

/// The call that makes a key from a number, or folds one in, with that number.
fn seed_of<'a>(
    names: &ImportedNames<'a>,
    code: &'a Function,
    callee: Temp,
    arguments: &[Argument],
) -> Option<(String, Temp)> {
    let (OpKind::Load(_) | OpKind::Attribute(..)) = &code.ops.get(callee as usize)?.kind else { return None };
    let path = names.path(code, callee)?;
    let callable = names.models.callable(&path)?;
    let name = match &callable.effect {
        Effect::Seed { seed, .. } => seed,
        Effect::Fold { data, .. } => data,
        _ => return None,
    };
    let position = callable.params.iter().position(|param| param.name == *name)?;
    let given = arguments.iter().find_map(|argument| match argument {
        Argument::Keyword(keyword, value) if **keyword == **name => Some(*value),
        _ => None,
    });
    let positional = || match arguments.get(position) {
        Some(Argument::Positional(value)) => Some(*value),
        _ => None,
    };
    Some((path, given.or_else(positional)?))
}

struct Walk<'n, 'a> {
    program: &'n Program<'a>,
    names: &'n ImportedNames<'a>,
    seeded: &'n Seeded,
    seen: BTreeSet<(u32, Temp)>,
    /// Variables that hold the seed, or what it is computed from, by function.
    carriers: BTreeSet<(u32, Carrier)>,
}

/// A variable that can be ordered: a slot, or a name of the module or of an attribute.
type Carrier = Result<u32, Name>;

impl<'a> Walk<'_, 'a> {
    fn source(&mut self, function: FunctionId, seed: Temp) -> Option<Source> {
        let mut work = vec![(function, seed)];
        let mut found: Option<Source> = None;
        while let Some((id, temp)) = work.pop() {
            if self.seen.len() >= STEPS || !self.seen.insert((id.0, temp)) {
                continue;
            }
            let module = self.names.module;
            let code = module.function(id);
            let Some(op) = code.ops.get(temp as usize) else { continue };
            match &op.kind {
                OpKind::Load(variable) => self.load(id, variable, &mut work),
                OpKind::Attribute(object, name) => {
                    work.push((id, *object));
                    self.attribute(id, *object, name, &mut work);
                }
                OpKind::Call(callee, arguments) => {
                    if let Some(source) = self.called(code, op, *callee, arguments) {
                        // The most certain source is reported.
                        if found.as_ref().is_none_or(|known| known.confidence < source.confidence) {
                            found = Some(source);
                        }
                        continue;
                    }
                    self.returned(id, *callee, &mut work);
                    op.kind.operands(&mut |temp| work.push((id, temp)));
                }
                // The test of a conditional expression chooses a seed, but is not one.
                OpKind::If { .. } | OpKind::Loop { .. } | OpKind::Try { .. } => {}
                kind => kind.operands(&mut |temp| work.push((id, temp))),
            }
        }
        found
    }

    fn load(&mut self, id: FunctionId, variable: &Variable, work: &mut Vec<(FunctionId, Temp)>) {
        let module = self.names.module;
        let code = module.function(id);
        let Some((home, values)) = self.names.stored(code, variable) else { return };
        let Some(home) = number(module, home) else { return };
        let carrier = match variable {
            Variable::Local(slot) | Variable::Outer(_, slot) => Ok(*slot),
            Variable::Global(name) => Err(name.clone()),
        };
        self.carriers.insert((home.0, carrier));
        work.extend(values.iter().map(|value| (home, *value)));
    }

    /// `self.seed`: what methods of the class store there.
    fn attribute(&mut self, id: FunctionId, object: Temp, name: &Name, work: &mut Vec<(FunctionId, Temp)>) {
        let module = self.names.module;
        let code = module.function(id);
        let is_receiver =
            matches!(code.ops.get(object as usize).map(|op| &op.kind), Some(OpKind::Load(Variable::Local(0))));
        let Some(class) = code.class.filter(|_| is_receiver) else { return };
        for (number, method) in (0u32..).zip(&module.functions).filter(|(_, method)| method.class == Some(class)) {
            for op in &method.ops {
                if let OpKind::StoreAttribute(_, stored, value) = &op.kind
                    && stored == name
                {
                    self.carriers.insert((number, Err(name.clone())));
                    work.push((FunctionId(number), *value));
                }
            }
        }
    }

    /// What the called function of the module returns.
    fn returned(&self, id: FunctionId, callee: Temp, work: &mut Vec<(FunctionId, Temp)>) {
        let module = self.names.module;
        let code = module.function(id);
        let Some(OpKind::Load(Variable::Global(name))) = code.ops.get(callee as usize).map(|op| &op.kind) else {
            return;
        };
        let functions = (0u32..).zip(&module.functions);
        let mut named = functions.filter(|(_, function)| function.qualified == *name && function.class.is_none());
        if let Some((number, function)) = named.next() {
            work.extend(function.ops.iter().filter_map(|op| match op.kind {
                OpKind::Return(Some(value)) => Some((FunctionId(number), value)),
                _ => None,
            }));
        }
    }

    fn called(&self, code: &'a Function, op: &Op, callee: Temp, arguments: &[Argument]) -> Option<Source> {
        let path = self.names.path(code, callee)?;
        let place = Place { file: self.names.module.file, span: op.span };
        let (is_hash, confidence) = match self.names.models.callable(&path)?.host? {
            Host::Draw => (!self.is_seeded(&path)).then_some((false, Confidence::High))?,
            Host::Generator => arguments.is_empty().then_some((false, Confidence::High))?,
            Host::Clock | Host::Unique => (false, Confidence::High),
            Host::Hash => {
                let Some(Argument::Positional(of)) = arguments.first() else { return None };
                (true, self.hashed(code, *of, HASHED)?)
            }
            Host::Seeding => return None,
        };
        Some(Source { path, place, is_hash, confidence })
    }

    /// Whether the program seeds the generator that a function draws from: `random.seed(0)`.
    fn is_seeded(&self, path: &str) -> bool {
        let (package, _) = path.rsplit_once('.').unwrap_or_default();
        // It depends on the operations of all functions.
        self.names.module.note_all_read();
        *self.seeded.borrow_mut().entry(package.to_owned()).or_insert_with(|| self.seeds(package))
    }

    /// Whether a module of the program seeds the generator of a package.
    fn seeds(&self, package: &str) -> bool {
        let root = package.split('.').next().unwrap_or_default();
        self.program.modules().iter().enumerate().any(|(index, module)| {
            if !self.program.relevance.imports(index, root) {
                return false;
            }
            // Most of it is read only here.
            let module = &Module::clone(module);
            let names = ImportedNames::of(module, self.names.models, self.names.roots);
            module.functions.iter().any(|code| {
                code.ops.iter().any(|op| {
                    let OpKind::Call(callee, arguments) = &op.kind else { return false };
                    let is_call = matches!(code.ops[*callee as usize].kind, OpKind::Attribute(..) | OpKind::Load(_));
                    let seeds = |path: String| {
                        let callable = names.models.callable(&path);
                        path.rsplit_once('.').is_some_and(|(of, _)| of == package)
                            && callable.is_some_and(|callable| callable.host == Some(Host::Seeding))
                    };
                    is_call && !arguments.is_empty() && names.path(code, *callee).is_some_and(seeds)
                })
            })
        })
    }

    /// How certain it is that the hash of something differs between processes; `None` if it does not.
    fn hashed(&self, code: &'a Function, of: Temp, depth: u32) -> Option<Confidence> {
        let Some(depth) = depth.checked_sub(1) else { return Some(Confidence::Medium) };
        match &code.ops.get(of as usize)?.kind {
            OpKind::Constant(Constant::Str(_) | Constant::Other) | OpKind::Build(Collection::Text, _) => {
                Some(Confidence::High)
            }
            OpKind::Constant(_) | OpKind::Operate(Operator::Not | Operator::Eq | Operator::Lt, ..) => None,
            OpKind::Build(_, elements) => {
                let hashed = elements.iter().filter_map(|element| match element {
                    Element::Value(value) => self.hashed(code, *value, depth),
                    _ => Some(Confidence::Medium),
                });
                hashed.max()
            }
            OpKind::Operate(_, operands, _) => {
                operands.iter().flatten().filter_map(|operand| self.hashed(code, *operand, depth)).max()
            }
            OpKind::Call(callee, arguments) => self.hashed_call(code, *callee, arguments, depth),
            OpKind::Load(variable) => self.hashed_variable(code, variable, depth),
            OpKind::Attribute(_, name) if name.ends_with("name__") || **name == *"name" => Some(Confidence::High),
            _ => Some(Confidence::Medium),
        }
    }

    fn hashed_call(&self, code: &'a Function, callee: Temp, arguments: &[Argument], depth: u32) -> Option<Confidence> {
        let path = self.names.path(code, callee);
        let words = &self.names.models.words;
        match path.as_deref().and_then(|path| path.strip_prefix("builtins.")) {
            Some(name) if words.makes_number(name) => None,
            Some(name) if words.makes_text(name) => Some(Confidence::High),
            Some(name) if words.collects(name) => arguments
                .iter()
                .filter_map(|argument| match argument {
                    Argument::Positional(value) => self.hashed(code, *value, depth),
                    _ => Some(Confidence::Medium),
                })
                .max(),
            _ => Some(Confidence::Medium),
        }
    }

    fn hashed_variable(&self, code: &'a Function, variable: &Variable, depth: u32) -> Option<Confidence> {
        if let Variable::Local(slot) = variable
            && let Some(parameter) = code.parameters.get(*slot as usize)
        {
            let words = &self.names.models.words;
            return match &parameter.annotation {
                Some(Annotation::Path(path, _)) => match path.last() {
                    Some(name) if words.makes_number(name) => None,
                    Some(name) if words.makes_text(name) => Some(Confidence::High),
                    _ => Some(Confidence::Medium),
                },
                _ => Some(Confidence::Medium),
            };
        }
        let Some((home, values)) = self.names.stored(code, variable).filter(|(_, values)| !values.is_empty()) else {
            return Some(Confidence::Medium);
        };
        values.iter().filter_map(|value| self.hashed(home, *value, depth)).max()
    }

    /// Whether the program shows the seed to people, who can then repeat the run.
    fn is_displayed(&self) -> bool {
        let words = &self.names.models.words;
        let module = self.names.module;
        (0u32..).zip(&module.functions).any(|(number, code)| {
            code.ops.iter().any(|op| {
                let OpKind::Call(callee, arguments) = &op.kind else { return false };
                let (OpKind::Attribute(_, name) | OpKind::Load(Variable::Global(name))) =
                    &code.ops[*callee as usize].kind
                else {
                    return false;
                };
                words.is_log(name)
                    && arguments.iter().any(|argument| match argument {
                        Argument::Positional(value) | Argument::Keyword(_, value) => {
                            self.carries(FunctionId(number), *value, HASHED)
                        }
                        _ => false,
                    })
            })
        })
    }

    /// Whether a temp is computed from a variable that holds the seed.
    fn carries(&self, id: FunctionId, temp: Temp, depth: u32) -> bool {
        let Some(depth) = depth.checked_sub(1) else { return false };
        let code = self.names.module.function(id);
        let Some(op) = code.ops.get(temp as usize) else { return false };
        let is_carrier = |number: u32, carrier: Carrier| self.carriers.contains(&(number, carrier));
        let is_one = match &op.kind {
            OpKind::Load(Variable::Local(slot)) => is_carrier(id.0, Ok(*slot)),
            OpKind::Load(Variable::Global(name)) => is_carrier(Module::BODY.0, Err(name.clone())),
            OpKind::Attribute(_, name) => self.carriers.iter().any(|(_, carrier)| carrier.as_ref() == Err(name)),
            _ => false,
        };
        let mut within = false;
        op.kind.operands(&mut |operand| within |= operand < temp && self.carries(id, operand, depth));
        is_one || within
    }
}

/// How deep the arguments of `hash`, or of functions that show a seed, are searched.
const HASHED: u32 = 6;

/// The number of a function in its module.
fn number(module: &Module, code: &Function) -> Option<FunctionId> {
    let position = module.functions.iter().position(|function| std::ptr::eq(function, code))?;
    u32::try_from(position).ok().map(FunctionId)
}
