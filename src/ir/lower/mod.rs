//! Lowering of one module: statements and expressions become operations, names become variables.
//!
//! **Invariant:** operations are emitted in Python's evaluation order; every construct either has its operations or an
//! `Unsupported` that names what it writes.

mod comprehension;
mod define;
mod expr;
mod pattern;
mod stmt;
mod target;

use rustc_hash::FxHashMap;

use super::scope::Bindings;
use super::{
    Argument, Block, Class, Collection, Constant, DeclaredEffect, Element, Function, FunctionId, FunctionKind, Module,
    Name, Op, OpKind, Operator, Temp, Variable,
};
use crate::python::{ast, span_of};
use crate::text::{FileId, Span};

/// Finds the effect comments that belong to a `def`, by the span of its header.
pub type EffectLookup<'a> = dyn Fn(Span) -> Vec<DeclaredEffect> + 'a;

/// Lowers a parsed module.
pub fn lower(file: FileId, module: &ast::ModModule, effects: &EffectLookup<'_>) -> Module {
    let mut lowering = Lowering {
        names: FxHashMap::default(),
        functions: Vec::new(),
        classes: Vec::new(),
        scopes: Vec::new(),
        effects,
    };
    lowering.module(module);
    Module { file, functions: lowering.functions.into_iter().flatten().collect(), classes: lowering.classes }
}

/// State of the lowering of one module.
struct Lowering<'a> {
    names: FxHashMap<Box<str>, Name>,
    /// A place is reserved before a function's body is lowered, so that ids follow source order.
    functions: Vec<Option<Function>>,
    classes: Vec<Class>,
    /// The scopes being lowered, innermost last.
    scopes: Vec<Scope>,
    effects: &'a EffectLookup<'a>,
}

/// A function being lowered.
struct Scope {
    id: FunctionId,
    kind: FunctionKind,
    qualified: Name,
    class: Option<super::ClassId>,
    slots: Vec<Name>,
    /// Slot of each bound name.
    bound: FxHashMap<Name, u32>,
    /// Names declared `global`.
    globals: Vec<Name>,
    /// Targets of the comprehensions being lowered, innermost last.
    overlays: Vec<FxHashMap<Name, u32>>,
    ops: Vec<Op>,
    /// Blocks being filled, innermost last.
    blocks: Vec<Block>,
}

impl Scope {
    fn find(&self, name: &str) -> Option<u32> {
        self.overlays.iter().rev().find_map(|overlay| overlay.get(name)).or_else(|| self.bound.get(name)).copied()
    }
}

impl Lowering<'_> {
    fn module(&mut self, module: &ast::ModModule) {
        let qualified = self.name("<module>");
        let bindings = Bindings::default();
        let id = self.open(FunctionKind::Module, qualified.clone(), None, &bindings, &[]);
        self.body(&module.body);
        let span = Span::new(0, 0);
        self.close(id, |function| {
            function.name = qualified;
            function.span = span;
            function.full = span_of(module);
        });
    }

    /// The shared copy of a name.
    fn name(&mut self, text: &str) -> Name {
        if let Some(name) = self.names.get(text) {
            return name.clone();
        }
        let name = Name::from(text);
        self.names.insert(text.into(), name.clone());
        name
    }

    /// Begins a function whose first slots are `parameters`.
    fn open(
        &mut self,
        kind: FunctionKind,
        qualified: Name,
        class: Option<super::ClassId>,
        bindings: &Bindings,
        parameters: &[Name],
    ) -> FunctionId {
        let id = FunctionId(u32::try_from(self.functions.len()).unwrap_or(u32::MAX));
        self.functions.push(None);
        let mut slots: Vec<Name> = parameters.to_vec();
        let mut bound: FxHashMap<Name, u32> = FxHashMap::default();
        for (index, name) in (0u32..).zip(parameters) {
            bound.insert(name.clone(), index);
        }
        for text in &bindings.bound {
            let name = self.name(text);
            if !bound.contains_key(&name) {
                bound.insert(name.clone(), u32::try_from(slots.len()).unwrap_or(u32::MAX));
                slots.push(name);
            }
        }
        let globals = bindings.globals.iter().map(|g| self.name(g)).collect();
        self.scopes.push(Scope {
            id,
            kind,
            qualified,
            class,
            slots,
            bound,
            globals,
            overlays: Vec::new(),
            ops: Vec::new(),
            blocks: vec![Vec::new()],
        });
        id
    }

    /// Ends the innermost function and stores it in its place.
    fn close(&mut self, id: FunctionId, finish: impl FnOnce(&mut Function)) {
        let Some(mut scope) = self.scopes.pop() else { return };
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
            ops: scope.ops,
            body: scope.blocks.pop().unwrap_or_default(),
            is_generator: false,
            returns: None,
            effects: Vec::new(),
            is_stub: false,
        };
        finish(&mut function);
        if let Some(place) = self.functions.get_mut(id.0 as usize) {
            *place = Some(function);
        }
    }

    fn scope(&mut self) -> &mut Scope {
        self.scopes.last_mut().expect("a scope is open while statements are lowered")
    }

    /// Adds an operation to the block being filled.
    fn emit(&mut self, span: Span, kind: OpKind) -> Temp {
        let scope = self.scope();
        let temp = u32::try_from(scope.ops.len()).unwrap_or(u32::MAX);
        scope.ops.push(Op { span, kind });
        if let Some(block) = scope.blocks.last_mut() {
            block.push(temp);
        }
        temp
    }

    /// Fills a new block.
    fn block(&mut self, fill: impl FnOnce(&mut Self)) -> Block {
        self.scope().blocks.push(Vec::new());
        fill(self);
        self.scope().blocks.pop().unwrap_or_default()
    }

    /// A local that no name of the program can mean.
    fn fresh_slot(&mut self, name: &str) -> u32 {
        let name = self.name(name);
        let scope = self.scope();
        let slot = u32::try_from(scope.slots.len()).unwrap_or(u32::MAX);
        scope.slots.push(name);
        slot
    }

    fn constant(&mut self, span: Span, constant: Constant) -> Temp {
        self.emit(span, OpKind::Constant(constant))
    }

    fn none(&mut self, span: Span) -> Temp {
        self.constant(span, Constant::None)
    }

    /// The variable that a name means in the innermost scope.
    fn resolve(&mut self, text: &str) -> Variable {
        let name = self.name(text);
        let innermost = self.scopes.len().saturating_sub(1);
        for (index, scope) in self.scopes.iter().enumerate().rev() {
            let depth = u32::try_from(innermost - index).unwrap_or(u32::MAX);
            if scope.kind == FunctionKind::Module {
                break;
            }
            if depth == 0 && scope.globals.contains(&name) {
                break;
            }
            // Names of a class body are seen by the body itself and by nothing nested in it.
            if scope.kind == FunctionKind::ClassBody && depth > 0 {
                continue;
            }
            if let Some(slot) = scope.find(&name) {
                return if depth == 0 { Variable::Local(slot) } else { Variable::Outer(depth, slot) };
            }
        }
        // A comprehension at module level keeps its targets in slots of the module's own frame.
        if let Some(scope) = self.scopes.first()
            && let Some(slot) = scope.overlays.iter().rev().find_map(|overlay| overlay.get(&name)).copied()
        {
            let depth = u32::try_from(innermost).unwrap_or(u32::MAX);
            return if depth == 0 { Variable::Local(slot) } else { Variable::Outer(depth, slot) };
        }
        Variable::Global(name)
    }

    /// The qualified name of something defined in the innermost scope.
    fn qualify(&mut self, text: &str) -> Name {
        let scope = self.scope();
        if scope.kind == FunctionKind::Module {
            return self.name(text);
        }
        let joined = format!("{}.{text}", scope.qualified);
        self.name(&joined)
    }
}

/// The operator of a binary expression.
fn binary(op: ast::Operator) -> Operator {
    match op {
        ast::Operator::Add => Operator::Add,
        ast::Operator::Sub => Operator::Sub,
        ast::Operator::Mult => Operator::Mul,
        ast::Operator::MatMult => Operator::MatMul,
        ast::Operator::Div => Operator::Div,
        ast::Operator::Mod => Operator::Mod,
        ast::Operator::Pow => Operator::Pow,
        ast::Operator::LShift => Operator::Shl,
        ast::Operator::RShift => Operator::Shr,
        ast::Operator::BitOr => Operator::Or,
        ast::Operator::BitXor => Operator::Xor,
        ast::Operator::BitAnd => Operator::And,
        ast::Operator::FloorDiv => Operator::FloorDiv,
    }
}

/// The operator of a comparison.
fn comparison(op: ast::CmpOp) -> Operator {
    match op {
        ast::CmpOp::Eq => Operator::Eq,
        ast::CmpOp::NotEq => Operator::Ne,
        ast::CmpOp::Lt => Operator::Lt,
        ast::CmpOp::LtE => Operator::Le,
        ast::CmpOp::Gt => Operator::Gt,
        ast::CmpOp::GtE => Operator::Ge,
        ast::CmpOp::Is => Operator::Is,
        ast::CmpOp::IsNot => Operator::IsNot,
        ast::CmpOp::In => Operator::In,
        ast::CmpOp::NotIn => Operator::NotIn,
    }
}

/// An operation of two operands.
fn operate(op: Operator, left: Temp, right: Temp) -> OpKind {
    OpKind::Operate(op, [Some(left), Some(right)], false)
}

/// A display of plain values.
fn build(collection: Collection, values: Vec<Temp>) -> OpKind {
    OpKind::Build(collection, values.into_iter().map(Element::Value).collect())
}

/// A call with positional arguments.
fn call(callee: Temp, values: Vec<Temp>) -> OpKind {
    OpKind::Call(callee, values.into_iter().map(Argument::Positional).collect())
}
