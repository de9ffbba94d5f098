//! Definitions: `def`, `lambda`, `class`.
//!
//! **Invariant:** decorators are evaluated first, then defaults or bases, then the definition, then the decorators are
//! called from the innermost outwards, then the name is bound.

use super::parameters::Signature;
use super::{FunctionSpec, Lowering, call};
use crate::ir::{Class, ClassId, FunctionKind, Module, OpKind, Temp};
use crate::python::ast::{self, Expr, Stmt};
use crate::python::span_of;
use crate::text::Span;

impl<'a> Lowering<'a> {
    /// `def f(…): …`
    pub(super) fn function_def(&mut self, def: &'a ast::StmtFunctionDef) {
        let span = span_of(&def.name);
        let full = span_of(def);
        let decorators = self.decorators(&def.decorator_list);
        let mut signature = self.signature(&def.parameters);
        let overlaid = self.type_parameters(def.type_params.as_deref());
        let names = std::mem::take(&mut signature.names);
        let bindings = self.bindings(names).with_body(&def.body);
        let opening = FunctionSpec {
            kind: FunctionKind::Def,
            qualified: self.qualify(&def.name),
            class: self.enclosing_class(),
            receiver: signature.receiver(),
            bindings,
        };
        let id = self.open(opening);
        self.body(&def.body);
        let name = self.name(&def.name);
        let header =
            Span::new(full.start, def.body.first().map_or(full.end, |first| span_of(first).start.max(span.end)));
        let effects = (self.effects)(header);
        let returns = def.returns.as_deref().map(|returns| self.annotation(returns));
        self.close(id, |function| {
            function.name = name;
            function.span = span;
            function.full = full;
            function.parameters = signature.parameters;
            function.is_async = def.is_async;
            function.returns = returns;
            function.effects = effects;
            function.is_stub = is_stub(&def.body);
        });
        if overlaid {
            self.scope().overlays.pop();
        }
        let value = self.emit(span, OpKind::Function(id, signature.defaults.into()));
        self.define(&def.name, value, &decorators, &def.decorator_list);
    }

    /// `lambda …: …`
    pub(super) fn lambda(&mut self, lambda: &'a ast::ExprLambda, span: Span) -> Temp {
        let mut signature = match &lambda.parameters {
            Some(parameters) => self.signature(parameters),
            None => Signature::default(),
        };
        let opening = FunctionSpec {
            kind: FunctionKind::Lambda,
            qualified: self.qualify("<lambda>"),
            class: None,
            receiver: signature.receiver(),
            bindings: self.bindings(std::mem::take(&mut signature.names)).with_expr(&lambda.body),
        };
        let id = self.open(opening);
        let value = self.expr(&lambda.body);
        self.emit(span_of(&*lambda.body), OpKind::Return(Some(value)));
        let name = self.name("<lambda>");
        self.close(id, |function| {
            function.name = name;
            function.span = span;
            function.full = span;
            function.parameters = signature.parameters;
        });
        self.emit(span, OpKind::Function(id, signature.defaults.into()))
    }

    /// `class C(…): …`
    pub(super) fn class_def(&mut self, class: &'a ast::StmtClassDef) {
        let span = span_of(&class.name);
        let decorators = self.decorators(&class.decorator_list);
        let overlaid = self.type_parameters(class.type_params.as_deref());
        let arguments = class.arguments.as_ref().map(|arguments| self.arguments(arguments)).unwrap_or_default();
        let qualified = self.qualify(&class.name);
        let class_id = ClassId(super::index(self.classes.len()));
        let name = self.name(&class.name);
        let fields = self.fields(&class.body);
        self.classes.push(Class { name: name.clone(), span, body: Module::BODY, fields });
        let mut bindings = self.bindings(Vec::new()).with_body(&class.body);
        bindings.yields = false;
        let opening =
            FunctionSpec { kind: FunctionKind::ClassBody, qualified, class: Some(class_id), receiver: false, bindings };
        let id = self.open(opening);
        self.body(&class.body);
        self.close(id, |function| {
            function.name = name;
            function.span = span;
            function.full = span_of(class);
        });
        self.classes[class_id.0 as usize].body = id;
        if overlaid {
            self.scope().overlays.pop();
        }
        let value = self.emit(span, OpKind::Class(class_id, arguments.into()));
        self.define(&class.name, value, &decorators, &class.decorator_list);
    }

    fn decorators(&mut self, decorators: &'a [ast::Decorator]) -> Vec<Temp> {
        decorators.iter().map(|decorator| self.expr(&decorator.expression)).collect()
    }

    /// Calls the decorators of a definition and binds its name.
    fn define(&mut self, name: &'a ast::Identifier, mut value: Temp, decorators: &[Temp], nodes: &'a [ast::Decorator]) {
        for (decorator, node) in decorators.iter().zip(nodes).rev() {
            value = self.emit(span_of(&node.expression), call(*decorator, &[value]));
        }
        self.bind(name, value, span_of(name));
    }

    fn enclosing_class(&mut self) -> Option<ClassId> {
        let scope = self.scope();
        if scope.kind == FunctionKind::ClassBody { scope.class } else { None }
    }
}

/// Whether a body is a stub.
fn is_stub(body: &[Stmt]) -> bool {
    body.iter().all(|stmt| match stmt {
        Stmt::Pass(_) => true,
        Stmt::Expr(expr) => matches!(&*expr.value, Expr::StringLiteral(_) | Expr::EllipsisLiteral(_)),
        Stmt::Raise(raise) => raise.exc.as_deref().is_some_and(|exc| {
            let callee = if let Expr::Call(call) = exc { &call.func } else { exc };
            matches!(callee, Expr::Name(name) if name.id.as_str() == "NotImplementedError")
        }),
        _ => false,
    })
}
