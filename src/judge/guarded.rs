//! Names of libraries that are used only if the program has checked that they exist: under `hasattr(jax.random,
//! "KeyArray")`, under a version test, or in a `try` whose handler catches the error of a missing name.
//!
//! **Invariant:** a guard admits names in the branch for which its condition holds; in the other branch a missing name is still missing.

use rustc_hash::FxHashMap;

use crate::analysis::domain::value::Val;
use crate::analysis::record::Recording;
use crate::ir::{Argument, Block, Constant, Function, Module, Name, Op, OpKind, Operator, Temp, Variable};
use crate::judge::facts::ReferenceKind;
use crate::text::Span;

/// The exceptions that a missing attribute raises, and those of a missing name in an import.
const MISSING: [(&str, bool, bool); 5] = [
    ("AttributeError", true, false),
    ("ImportError", false, true),
    ("ModuleNotFoundError", false, true),
    ("Exception", true, true),
    ("BaseException", true, true),
];

/// Most tests of one function that are considered.
const NAME_TESTS: usize = 64;

/// A region of the module that runs only under a guard.
struct Region {
    span: Span,
    condition: Condition,
}

/// The condition of a guard.
enum Condition {
    /// A library has this name.
    Has(String),
    /// A library does not have this name, and so may have the one that it replaced.
    Lacks(String),
    /// A version was compared.
    Version,
    /// A handler catches the exception of a missing attribute or import.
    Caught { attribute: bool, import: bool },
}

/// The guarded parts of the home module.
pub struct Guarded(Vec<Region>);

impl Guarded {
    /// Finds the guards of the home module.
    pub fn of(run: &Recording<'_>) -> Self {
        let mut guarded = Self(Vec::new());
        let module = run.module(run.home);
        let flags = flags(run);
        for code in &module.functions {
            let name_tests = name_tests(run, code);
            for op in &code.ops {
                match &op.kind {
                    OpKind::If { test, then, orelse } => {
                        let span = code.ops[*test as usize].span;
                        let here = name_tests.iter().filter(|question| span.covers(question.span));
                        let flag = match &code.ops[*test as usize].kind {
                            OpKind::Load(Variable::Global(name)) => flags.get(name),
                            _ => None,
                        };
                        for question in here.chain(flag.into_iter().flatten()) {
                            guarded.branch(module, code, question, [then, orelse]);
                        }
                    }
                    OpKind::Try { body, handlers, finally, .. } => {
                        let manager = swallowing(run, code, finally);
                        let (mut attribute, mut import) =
                            manager.map_or((false, false), |manager| caught(code, manager));
                        for handler in handlers {
                            let (one, other) = handler.types.map_or((true, true), |types| caught(code, types));
                            attribute |= one;
                            import |= other;
                        }
                        if attribute || import {
                            guarded.admit(module, code, body, || Condition::Caught { attribute, import });
                        }
                    }
                    _ => {}
                }
            }
        }
        guarded
    }

    /// Whether the program has checked that this name exists before it uses it here.
    pub fn admits(&self, path: &str, kind: ReferenceKind, span: Span) -> bool {
        self.0.iter().filter(|region| region.span.covers(span)).any(|region| match &region.condition {
            Condition::Has(name) => path.split('.').any(|part| part == name),
            Condition::Lacks(name) => path.split('.').all(|part| part != name),
            Condition::Version => true,
            Condition::Caught { attribute, import } => {
                if kind == ReferenceKind::Import {
                    *import
                } else {
                    *attribute
                }
            }
        })
    }

    /// The conditions that a test puts on the two blocks of a branch, either directly or through a variable that stores its result.
    fn branch(&mut self, module: &Module, code: &Function, question: &NameTest, [then, orelse]: [&Block; 2]) {
        let (yes, no) = if question.is_denied { (orelse, then) } else { (then, orelse) };
        let Some(name) = &question.name else {
            self.admit(module, code, yes, || Condition::Version);
            self.admit(module, code, no, || Condition::Version);
            return;
        };
        self.admit(module, code, yes, || Condition::Has(name.clone()));
        if question.is_of_library {
            // The new name is missing, so the old one exists.
            self.admit(module, code, no, || Condition::Lacks(name.clone()));
        }
    }

    fn admit(&mut self, module: &Module, code: &Function, block: &Block, condition: impl Fn() -> Condition) {
        for temp in block {
            let op = &code.ops[*temp as usize];
            let span = match &op.kind {
                OpKind::Function(id, _) => module.function(*id).full,
                OpKind::Class(id, _) => module.class(*id).span,
                _ => op.span,
            };
            self.0.push(Region { span, condition: condition() });
        }
    }
}

/// A test whether a library has a name, or which version it is.
#[derive(Clone)]
struct NameTest {
    span: Span,
    /// The name, of `hasattr`.
    name: Option<String>,
    is_of_library: bool,
    /// Whether it is negated by `not`.
    is_denied: bool,
}

/// The tests in a function, up to the bound.
fn name_tests(run: &Recording<'_>, code: &Function) -> Vec<NameTest> {
    let ask = |op: &Op| match &op.kind {
        OpKind::Call(..) => {
            let (name, is_of_library) = has(run, code, &op.kind)?;
            let is_denied = code.ops.iter().any(|other| {
                matches!(&other.kind, OpKind::Operate(Operator::Not, [Some(of), _], _)
                    if code.ops[*of as usize].span == op.span)
            });
            Some(NameTest { span: op.span, name: Some(name), is_of_library, is_denied })
        }
        OpKind::Attribute(_, name) | OpKind::Load(Variable::Global(name))
            if run.program.models.words.names_a_version(name) =>
        {
            Some(NameTest { span: op.span, name: None, is_of_library: true, is_denied: false })
        }
        _ => None,
    };
    code.ops.iter().filter_map(ask).take(NAME_TESTS).collect()
}

/// Globals that hold the result of a test: `HAS_TYPE = hasattr(jax.random, "KeyArray")`.
fn flags(run: &Recording<'_>) -> FxHashMap<Name, Vec<NameTest>> {
    let body = run.module(run.home).function(Module::BODY);
    let name_tests = name_tests(run, body);
    let mut flags: FxHashMap<Name, Vec<NameTest>> = FxHashMap::default();
    for op in &body.ops {
        let OpKind::Store(Variable::Global(name), value) = &op.kind else { continue };
        let span = body.ops[*value as usize].span;
        let within = name_tests.iter().filter(|question| span.covers(question.span));
        let within: Vec<NameTest> = within.cloned().collect();
        if !within.is_empty() {
            flags.entry(name.clone()).or_default().extend(within);
        }
    }
    flags
}

/// The name that `hasattr` tests for, and whether its object is a library.
fn has(run: &Recording<'_>, code: &Function, call: &OpKind) -> Option<(String, bool)> {
    let OpKind::Call(callee, given) = call else { return None };
    let [Argument::Positional(of), Argument::Positional(name)] = &**given else { return None };
    let is_hasattr =
        matches!(&code.ops[*callee as usize].kind, OpKind::Load(Variable::Global(name)) if &**name == "hasattr");
    let OpKind::Constant(Constant::Str(name)) = &code.ops[*name as usize].kind else { return None };
    let holder = run.named(run.home, code, *of);
    let is_library = holder.is_some_and(|holder| matches!(holder.single(), Some(Val::Library(_))));
    is_hasattr.then(|| (name.to_string(), is_library))
}

/// The context manager that a block leaves, if it suppresses exceptions of its body: `suppress(AttributeError)`.
fn swallowing(run: &Recording<'_>, code: &Function, finally: &Block) -> Option<Temp> {
    let [leave] = &**finally else { return None };
    let OpKind::Leave(enter) = &code.ops[*leave as usize].kind else { return None };
    let OpKind::Enter(manager) = &code.ops[*enter as usize].kind else { return None };
    let OpKind::Call(callee, _) = &code.ops[*manager as usize].kind else { return None };
    let callee = run.named(run.home, code, *callee)?;
    let Val::Library(path) = callee.single()? else { return None };
    run.program.models.callable(path)?.swallows_exceptions().then_some(*manager)
}

/// Whether a handler of these types catches the exception of a missing attribute, and that of a missing name in an
/// import.
fn caught(code: &Function, types: Temp) -> (bool, bool) {
    let span = code.ops[types as usize].span;
    let names = code.ops.iter().filter(|op| span.covers(op.span)).filter_map(|op| match &op.kind {
        OpKind::Load(Variable::Global(name)) => MISSING.iter().find(|(missing, ..)| **name == **missing),
        _ => None,
    });
    names.fold((false, false), |(attribute, import), (_, one, other)| (attribute || *one, import || *other))
}
