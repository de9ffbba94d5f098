//! Lowering of one module: statements and expressions become operations, names become variables.
//!
//! **Invariant:** operations are emitted in Python's evaluation order; every construct either has its operations or an `Unsupported` that
//! lists what it writes. The output depends on the module alone; functions and classes are numbered in the order of their
//! definitions.

mod chain;
mod command;
mod comprehension;
mod define;
mod expr;
mod operator;
mod parameters;
mod pattern;
mod stmt;
mod target;
mod text;

pub use operator::binary as binary_operator;
use rustc_hash::FxHashMap;

use super::scope::Bindings;
use super::{
    Annotation, Argument, Block, Class, ClassId, Collection, Constant, DeclaredEffect, Element, Function, FunctionId,
    FunctionKind, Module, Name, Op, OpKind, Temp, Variable,
};
use crate::python::{ast, span_of};
use crate::text::{FileId, Span};

/// Finds the effect comments of a `def`, by the span of its header.
pub type EffectLookup<'a> = dyn Fn(Span) -> Vec<DeclaredEffect> + 'a;

/// Lowers a parsed module.
pub fn lower(file: FileId, module: &ast::ModModule, effects: &EffectLookup<'_>) -> Module {
    let mut lowering = Lowering::new(effects);
    lowering.module_after(module, FunctionId(1));
    let mut functions: Vec<Function> = lowering.functions.into_iter().flatten().collect();
    functions.shrink_to_fit();
    lowering.classes.shrink_to_fit();
    Module::new(file, functions, lowering.classes)
}

/// Lowers one statement of a module at its place among functions and classes that were lowered before.
///
/// Returns the functions and classes that it defines, numbered after those of the statements before it. What it adds to the module's body
/// is dropped.
pub fn lower_again(
    module: &ast::ModModule,
    effects: &EffectLookup<'_>,
    before: FunctionId,
    classes: &[Class],
) -> (Vec<Function>, Vec<Class>) {
    let mut lowering = Lowering::new(effects);
    lowering.classes = classes.to_vec();
    lowering.module_after(module, before);
    let functions = lowering.functions.into_iter().skip(before.0 as usize).flatten().collect();
    (functions, lowering.classes.split_off(classes.len()))
}

/// State of the lowering of one module.
struct Lowering<'a> {
    names: FxHashMap<&'a str, Name>,
    /// A place is reserved before a function's body is lowered, so that ids follow source order.
    functions: Vec<Option<Function>>,
    classes: Vec<Class>,
    /// The scopes being lowered, innermost last.
    scopes: Vec<Scope<'a>>,
    /// The operations of all blocks being filled, innermost last.
    temps: Vec<Temp>,
    /// Arenas of functions that are done, for others to be filled in.
    arenas: Vec<Vec<Op>>,
    /// Maps of functions that are done.
    maps: Vec<FxHashMap<&'a str, u32>>,
    /// How many blocks are being filled.
    depth: u32,
    effects: &'a EffectLookup<'a>,
}

/// A function being lowered.
struct Scope<'a> {
    id: FunctionId,
    kind: FunctionKind,
    qualified: Name,
    class: Option<ClassId>,
    /// Whether the first slot is a parameter that takes an argument by position.
    receiver: bool,
    yields: bool,
    /// How many loops of this function enclose the statement being lowered.
    loops: u32,
    slots: Vec<Name>,
    named: u32,
    /// Slot of each bound name.
    bound: FxHashMap<&'a str, u32>,
    /// Names declared `global`.
    globals: Vec<&'a str>,
    /// Scopes within the function that have their variables in its frame, innermost last.
    overlays: Vec<Overlay<'a>>,
    ops: Vec<Op>,
    /// Where the blocks of this function begin.
    mark: usize,
}

/// Names that mean hidden slots while a part of the function is lowered.
struct Overlay<'a> {
    names: Vec<(&'a str, u32)>,
    /// Whether it is a comprehension, which does not see the names of a class body; type parameters do.
    comprehension: bool,
}

/// What a name refers to in a scope.
enum Meaning {
    Slot(u32),
    Global,
}

impl Scope<'_> {
    /// What the name means here, seen from the scope itself or from a nested one.
    fn meaning(&self, name: &str, nested: bool) -> Option<Meaning> {
        let mut hidden = nested;
        for overlay in self.overlays.iter().rev() {
            if let Some((_, slot)) = overlay.names.iter().find(|(target, _)| *target == name) {
                return Some(Meaning::Slot(*slot));
            }
            hidden |= overlay.comprehension;
        }
        if hidden && self.kind == FunctionKind::ClassBody {
            return None;
        }
        if self.globals.contains(&name) {
            return Some(Meaning::Global);
        }
        self.bound.get(name).copied().map(Meaning::Slot)
    }
}

/// What distinguishes a function that is opened.
struct FunctionSpec<'a> {
    kind: FunctionKind,
    qualified: Name,
    class: Option<ClassId>,
    receiver: bool,
    bindings: Bindings<'a>,
}

impl<'a> Lowering<'a> {
    fn new(effects: &'a EffectLookup<'a>) -> Self {
        Self {
            names: FxHashMap::default(),
            functions: Vec::new(),
            classes: Vec::new(),
            scopes: Vec::new(),
            temps: Vec::new(),
            arenas: Vec::new(),
            maps: Vec::new(),
            depth: 0,
            effects,
        }
    }

    /// The module's body, whose first function has this number.
    fn module_after(&mut self, module: &'a ast::ModModule, first: FunctionId) {
        let qualified = self.name("<module>");
        let id = self.open(FunctionSpec {
            kind: FunctionKind::Module,
            qualified: qualified.clone(),
            class: None,
            receiver: false,
            bindings: Bindings::default(),
        });
        self.functions.resize_with(first.0 as usize, || None);
        self.body(&module.body);
        self.close(id, |function| {
            function.name = qualified;
            function.full = span_of(module);
        });
    }

    /// The shared copy of a name.
    fn name(&mut self, text: &'a str) -> Name {
        self.names.entry(text).or_insert_with(|| Name::from(text)).clone()
    }

    fn annotation(&mut self, expr: &'a ast::Expr) -> Annotation {
        Annotation::of(expr, &mut |name| self.name(name))
    }

    /// The bindings of a scope before anything but its parameters is known.
    fn bindings(&mut self, parameters: Vec<&'a str>) -> Bindings<'a> {
        Bindings::of_names(parameters, self.maps.pop().unwrap_or_default())
    }

    /// Begins a function whose first slots are what it binds.
    fn open(&mut self, opening: FunctionSpec<'a>) -> FunctionId {
        let id = FunctionId(index(self.functions.len()));
        self.functions.push(None);
        let Bindings { bound, slots, globals, yields, .. } = opening.bindings;
        let named = index(bound.len());
        let names = bound.into_iter().map(|name| self.name(name)).collect();
        self.scopes.push(Scope {
            id,
            kind: opening.kind,
            qualified: opening.qualified,
            class: opening.class,
            receiver: opening.receiver,
            yields,
            loops: 0,
            named,
            slots: names,
            bound: slots,
            globals,
            overlays: Vec::new(),
            ops: self.arenas.pop().unwrap_or_default(),
            mark: self.temps.len(),
        });
        id
    }

    /// Ends the innermost function and stores it in its place.
    fn close(&mut self, id: FunctionId, finish: impl FnOnce(&mut Function)) {
        let Some(mut scope) = self.scopes.pop() else { return };
        let ops: Vec<Op> = scope.ops.drain(..).collect();
        self.arenas.push(scope.ops);
        self.maps.push(scope.bound);
        let mut function = Function {
            name: scope.qualified.clone(),
            qualified: scope.qualified,
            kind: scope.kind,
            parent: self.scopes.last().map(|outer| outer.id),
            class: scope.class,
            span: Span::default(),
            full: Span::default(),
            parameters: Vec::new(),
            slots: scope.slots,
            named: scope.named,
            ops: ops.into(),
            body: self.cut(scope.mark),
            is_generator: scope.yields,
            is_async: false,
            returns: None,
            effects: Vec::new(),
            is_stub: false,
        };
        finish(&mut function);
        if let Some(place) = self.functions.get_mut(id.0 as usize) {
            *place = Some(function);
        }
    }

    fn scope(&mut self) -> &mut Scope<'a> {
        self.scopes.last_mut().expect("a scope is open while statements are lowered")
    }

    /// Adds an operation to the block being filled.
    fn emit(&mut self, span: Span, kind: OpKind) -> Temp {
        let scope = self.scope();
        let temp = index(scope.ops.len());
        scope.ops.push(Op { span, kind });
        self.temps.push(temp);
        temp
    }

    /// Fills a new block.
    fn block(&mut self, fill: impl FnOnce(&mut Self)) -> Block {
        let mark = self.temps.len();
        self.depth += 1;
        fill(self);
        self.depth -= 1;
        self.cut(mark)
    }

    /// The operations since a mark, as a block.
    fn cut(&mut self, mark: usize) -> Block {
        let block = Block::from(&self.temps[mark..]);
        self.temps.truncate(mark);
        block
    }

    /// Fills the body of a loop, where `break` and `continue` have a meaning.
    fn loop_body(&mut self, fill: impl FnOnce(&mut Self)) -> Block {
        self.scope().loops += 1;
        let body = self.block(fill);
        self.scope().loops -= 1;
        body
    }

    /// A slot that no name of the program refers to.
    fn fresh_slot(&mut self, name: &'a str) -> u32 {
        let name = self.name(name);
        let scope = self.scope();
        scope.slots.push(name);
        index(scope.slots.len() - 1)
    }

    /// A branch that does nothing if the test fails.
    fn when(&mut self, span: Span, test: Temp, then: Block) {
        self.emit(span, OpKind::If { test, then, orelse: Block::default() });
    }

    /// A construct that is not modelled and writes no variable.
    fn unsupported(&mut self, span: Span) -> Temp {
        self.emit(span, OpKind::Unsupported(Box::default()))
    }

    fn constant(&mut self, span: Span, constant: Constant) -> Temp {
        self.emit(span, OpKind::Constant(constant))
    }

    fn load_slot(&mut self, span: Span, slot: u32) -> Temp {
        self.emit(span, OpKind::Load(Variable::Local(slot)))
    }

    fn store_slot(&mut self, span: Span, slot: u32, value: Temp) {
        self.emit(span, OpKind::Store(Variable::Local(slot), value));
    }

    /// Something of the language itself that has a global name.
    fn builtin(&mut self, span: Span, name: &'static str) -> Temp {
        let name = self.name(name);
        self.emit(span, OpKind::Load(Variable::Global(name)))
    }

    /// The variable that a name means in the innermost scope.
    fn resolve(&mut self, name: &'a str) -> Variable {
        for (depth, scope) in (0u32..).zip(self.scopes.iter().rev()) {
            match scope.meaning(name, depth > 0) {
                Some(Meaning::Slot(slot)) if depth == 0 => return Variable::Local(slot),
                Some(Meaning::Slot(slot)) => return Variable::Outer(depth, slot),
                Some(Meaning::Global) => break,
                None => {}
            }
        }
        Variable::Global(self.name(name))
    }

    /// Binds a name that a statement defines.
    fn bind(&mut self, name: &'a str, value: Temp, span: Span) {
        let variable = self.resolve(name);
        self.emit(span, OpKind::Store(variable, value));
    }

    /// The statements of a scope.
    fn body(&mut self, body: &'a [ast::Stmt]) {
        for stmt in body {
            self.stmt(stmt);
        }
    }

    /// The qualified name of something defined in the innermost scope.
    fn qualify(&mut self, text: &'a str) -> Name {
        let scope = self.scope();
        if scope.kind == FunctionKind::Module {
            return self.name(text);
        }
        let mut qualified = String::with_capacity(scope.qualified.len() + 1 + text.len());
        qualified.push_str(&scope.qualified);
        qualified.push('.');
        qualified.push_str(text);
        Name::from(qualified)
    }
}

/// A length as an index.
fn index(length: usize) -> u32 {
    u32::try_from(length).unwrap_or(u32::MAX)
}

/// A display of plain values.
fn build(collection: Collection, values: &[Temp]) -> OpKind {
    OpKind::Build(collection, values.iter().copied().map(Element::Value).collect())
}

/// A call with positional arguments.
fn call(callee: Temp, values: &[Temp]) -> OpKind {
    OpKind::Call(callee, values.iter().copied().map(Argument::Positional).collect())
}
