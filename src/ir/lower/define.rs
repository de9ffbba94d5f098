//! Definitions: `def`, `lambda`, `class`.
//!
//! **Invariant:** decorators are evaluated first, then defaults or bases, then the definition, then the decorators are
//! called from the innermost outwards, then the name is bound.

use super::{Lowering, call};
use crate::ir::scope::Bindings;
use crate::ir::{
    Annotation, Class, ClassId, Field, FunctionKind, Name, OpKind, Parameter, ParameterKind, Temp, Variable,
};
use crate::python::ast::{self, Expr, Stmt};
use crate::python::span_of;
use crate::text::Span;

impl Lowering<'_> {
    /// `def f(…): …`
    pub(super) fn function_def(&mut self, def: &ast::StmtFunctionDef) {
        let span = span_of(&def.name);
        let full = span_of(def);
        let decorators: Vec<Temp> = def.decorator_list.iter().map(|d| self.expr(&d.expression)).collect();
        let (parameters, defaults) = self.parameters(&def.parameters);
        let names: Vec<Name> = parameters.iter().map(|p| p.name.clone()).collect();
        let qualified = self.qualify(&def.name);
        let class = self.enclosing_class();
        let bindings = Bindings::of_body(&def.body);
        let id = self.open(FunctionKind::Def, qualified, class, &bindings, &names);
        self.body(&def.body);
        let name = self.name(&def.name);
        let header =
            Span::new(full.start, def.body.first().map_or(full.end, |first| span_of(first).start.max(span.end)));
        let effects = (self.effects)(header);
        self.close(id, |function| {
            function.name = name;
            function.span = span;
            function.full = full;
            function.parameters = parameters;
            function.is_generator = bindings.yields;
            function.returns = def.returns.as_deref().map(Annotation::of);
            function.effects = effects;
            function.is_stub = is_stub(&def.body);
        });
        let mut value = self.emit(span, OpKind::Function(id, defaults));
        for (decorator, node) in decorators.iter().zip(&def.decorator_list).rev() {
            value = self.emit(span_of(&node.expression), call(*decorator, vec![value]));
        }
        let variable = self.resolve(&def.name);
        self.emit(span, OpKind::Store(variable, value));
    }

    /// `lambda …: …`
    pub(super) fn lambda(&mut self, lambda: &ast::ExprLambda, span: Span) -> Temp {
        let (parameters, defaults) = match &lambda.parameters {
            Some(parameters) => self.parameters(parameters),
            None => (Vec::new(), Vec::new()),
        };
        let names: Vec<Name> = parameters.iter().map(|p| p.name.clone()).collect();
        let qualified = self.qualify("<lambda>");
        let bindings = Bindings::of_expr([&*lambda.body]);
        let id = self.open(FunctionKind::Lambda, qualified, None, &bindings, &names);
        let value = self.expr(&lambda.body);
        self.emit(span_of(&*lambda.body), OpKind::Return(Some(value)));
        let name = self.name("<lambda>");
        self.close(id, |function| {
            function.name = name;
            function.span = span;
            function.full = span;
            function.parameters = parameters;
            function.is_generator = bindings.yields;
        });
        self.emit(span, OpKind::Function(id, defaults))
    }

    /// `class C(…): …`
    pub(super) fn class_def(&mut self, class: &ast::StmtClassDef) {
        let span = span_of(&class.name);
        let decorators: Vec<Temp> = class.decorator_list.iter().map(|d| self.expr(&d.expression)).collect();
        let arguments = class.arguments.as_ref().map(|arguments| self.arguments(arguments)).unwrap_or_default();
        let qualified = self.qualify(&class.name);
        let class_id = ClassId(u32::try_from(self.classes.len()).unwrap_or(u32::MAX));
        let name = self.name(&class.name);
        let fields = self.fields(&class.body);
        self.classes.push(Class {
            name: name.clone(),
            qualified: qualified.clone(),
            span,
            body: crate::ir::Module::BODY,
            fields,
        });
        let bindings = Bindings::of_body(&class.body);
        let id = self.open(FunctionKind::ClassBody, qualified, Some(class_id), &bindings, &[]);
        self.body(&class.body);
        self.close(id, |function| {
            function.name = name;
            function.span = span;
            function.full = span_of(class);
        });
        self.classes[class_id.0 as usize].body = id;
        let mut value = self.emit(span, OpKind::Class(class_id, arguments));
        for (decorator, node) in decorators.iter().zip(&class.decorator_list).rev() {
            value = self.emit(span_of(&node.expression), call(*decorator, vec![value]));
        }
        let variable = self.resolve(&class.name);
        self.emit(span, OpKind::Store(variable, value));
    }

    fn fields(&mut self, body: &[Stmt]) -> Vec<Field> {
        let mut fields = Vec::new();
        for stmt in body {
            if let Stmt::AnnAssign(assign) = stmt
                && let Expr::Name(name) = &*assign.target
            {
                fields.push(Field {
                    name: self.name(&name.id),
                    annotation: Annotation::of(&assign.annotation),
                    has_default: assign.value.is_some(),
                    span: span_of(assign),
                });
            }
        }
        fields
    }

    fn enclosing_class(&mut self) -> Option<ClassId> {
        let scope = self.scope();
        if scope.kind == FunctionKind::ClassBody { scope.class } else { None }
    }

    /// Parameters in slot order, and their defaults, evaluated where the function is defined.
    fn parameters(&mut self, parameters: &ast::Parameters) -> (Vec<Parameter>, Vec<(u32, Temp)>) {
        let mut lowered: Vec<Parameter> = Vec::new();
        let mut defaults = Vec::new();
        let groups =
            [(ParameterKind::PositionalOnly, &parameters.posonlyargs), (ParameterKind::Normal, &parameters.args)];
        for (kind, group) in groups {
            for parameter in group {
                self.parameter(kind, parameter, &mut lowered, &mut defaults);
            }
        }
        if let Some(variadic) = &parameters.vararg {
            let parameter = self.plain_parameter(ParameterKind::Variadic, variadic);
            lowered.push(parameter);
        }
        for parameter in &parameters.kwonlyargs {
            self.parameter(ParameterKind::KeywordOnly, parameter, &mut lowered, &mut defaults);
        }
        if let Some(keywords) = &parameters.kwarg {
            let parameter = self.plain_parameter(ParameterKind::Keywords, keywords);
            lowered.push(parameter);
        }
        (lowered, defaults)
    }

    fn parameter(
        &mut self,
        kind: ParameterKind,
        parameter: &ast::ParameterWithDefault,
        lowered: &mut Vec<Parameter>,
        defaults: &mut Vec<(u32, Temp)>,
    ) {
        let mut plain = self.plain_parameter(kind, &parameter.parameter);
        if let Some(default) = parameter.default() {
            plain.has_default = true;
            let value = self.expr(default);
            defaults.push((u32::try_from(lowered.len()).unwrap_or(u32::MAX), value));
        }
        lowered.push(plain);
    }

    fn plain_parameter(&mut self, kind: ParameterKind, parameter: &ast::Parameter) -> Parameter {
        Parameter {
            name: self.name(&parameter.name),
            kind,
            has_default: false,
            annotation: parameter.annotation().map(Annotation::of),
            span: span_of(&parameter.name),
        }
    }

    /// The statements of a scope.
    pub(super) fn body(&mut self, body: &[Stmt]) {
        for stmt in body {
            self.stmt(stmt);
        }
    }

    /// Binds a name that a statement defines.
    pub(super) fn bind(&mut self, name: &str, value: Temp, span: Span) {
        let variable: Variable = self.resolve(name);
        self.emit(span, OpKind::Store(variable, value));
    }
}

/// Whether a body says nothing of what the function does.
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
