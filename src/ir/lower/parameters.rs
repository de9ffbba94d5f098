//! Parameters, type parameters and the fields of classes: what a definition declares before its body.
//!
//! **Invariant:** parameters are in slot order, which is also the order in which their defaults are evaluated.

use super::{Lowering, Overlay, index};
use crate::ir::{Constant, Field, Parameter, ParameterKind, Temp};
use crate::python::ast::{self, Expr, Stmt};
use crate::python::span_of;

/// Lowered parameters.
#[derive(Default)]
pub(super) struct Signature<'a> {
    /// The parameters.
    pub parameters: Vec<Parameter>,
    /// Their names, which are the first slots.
    pub names: Vec<&'a str>,
    /// Defaults, evaluated where the function is defined.
    pub defaults: Vec<(u32, Temp)>,
}

impl Signature<'_> {
    /// Whether the first parameter takes an argument by position.
    pub fn receiver(&self) -> bool {
        let first = self.parameters.first().map(|parameter| parameter.kind);
        matches!(first, Some(ParameterKind::PositionalOnly | ParameterKind::Normal))
    }
}

impl<'a> Lowering<'a> {
    /// Lowers parameters and evaluates their defaults.
    pub(super) fn signature(&mut self, parameters: &'a ast::Parameters) -> Signature<'a> {
        let mut signature = Signature::default();
        for parameter in &parameters.posonlyargs {
            self.parameter(ParameterKind::PositionalOnly, parameter, &mut signature);
        }
        for parameter in &parameters.args {
            self.parameter(ParameterKind::Normal, parameter, &mut signature);
        }
        if let Some(variadic) = &parameters.vararg {
            self.plain_parameter(ParameterKind::Variadic, variadic, false, &mut signature);
        }
        for parameter in &parameters.kwonlyargs {
            self.parameter(ParameterKind::KeywordOnly, parameter, &mut signature);
        }
        if let Some(keywords) = &parameters.kwarg {
            self.plain_parameter(ParameterKind::Keywords, keywords, false, &mut signature);
        }
        signature.parameters.shrink_to_fit();
        signature
    }

    fn parameter(
        &mut self,
        kind: ParameterKind,
        parameter: &'a ast::ParameterWithDefault,
        signature: &mut Signature<'a>,
    ) {
        let default = parameter.default();
        if let Some(default) = default {
            let value = self.expr(default);
            signature.defaults.push((index(signature.parameters.len()), value));
        }
        self.plain_parameter(kind, &parameter.parameter, default.is_some(), signature);
    }

    fn plain_parameter(
        &mut self,
        kind: ParameterKind,
        parameter: &'a ast::Parameter,
        has_default: bool,
        signature: &mut Signature<'a>,
    ) {
        signature.names.push(&parameter.name);
        let annotation = parameter.annotation().map(|annotation| self.annotation(annotation));
        signature.parameters.push(Parameter {
            name: self.name(&parameter.name),
            kind,
            has_default,
            annotation,
            span: span_of(&parameter.name),
        });
    }

    /// Gives type parameters hidden slots that nested scopes see; if it returns `true`, the caller pops the overlay.
    pub(super) fn type_parameters(&mut self, parameters: Option<&'a ast::TypeParams>) -> bool {
        let Some(parameters) = parameters else { return false };
        let mut names = Vec::new();
        for parameter in &parameters.type_params {
            let span = span_of(parameter);
            let name = parameter.name().as_str();
            let slot = self.fresh_slot(name);
            let value = self.constant(span, Constant::Other);
            self.store_slot(span, slot, value);
            names.push((name, slot));
        }
        self.scope().overlays.push(Overlay { names, comprehension: false });
        true
    }

    /// The annotated fields of a class.
    pub(super) fn fields(&mut self, body: &'a [Stmt]) -> Vec<Field> {
        let mut fields: Vec<Field> = Vec::new();
        for stmt in body {
            if let Stmt::AnnAssign(assign) = stmt
                && let Expr::Name(name) = &*assign.target
            {
                let annotation = self.annotation(&assign.annotation);
                fields.push(Field { name: self.name(&name.id), annotation, has_default: assign.value.is_some() });
            }
        }
        fields.shrink_to_fit();
        fields
    }
}
