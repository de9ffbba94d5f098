//! Comprehensions and generator expressions.
//!
//! **Invariant:** a list, set or dict comprehension runs where it stands, with targets of its own; a generator expression is a
//! generator function whose one parameter is its outermost iterable, evaluated where it stands.

use rustc_hash::FxHashMap;

use super::{Lowering, call};
use crate::ir::scope::Bindings;
use crate::ir::{Collection, Element, FunctionKind, Name, OpKind, Parameter, ParameterKind, Temp};
use crate::python::ast::{self, Comprehension, Expr};
use crate::python::span_of;
use crate::text::Span;

impl Lowering<'_> {
    /// A list, set or dict comprehension.
    pub(super) fn comprehension(
        &mut self,
        collection: Collection,
        key: Option<&Expr>,
        value: &Expr,
        generators: &[Comprehension],
        span: Span,
    ) -> Temp {
        let Some(first) = generators.first() else { return self.emit(span, OpKind::Unsupported(Vec::new())) };
        let result = self.emit(span, OpKind::Build(collection, Vec::new()));
        // The outermost iterable is evaluated outside of the comprehension's scope.
        let outermost = self.expr(&first.iter);
        self.overlay(generators);
        self.generator_loops(outermost, generators, span, &mut |this| {
            let element = match key {
                Some(key) => {
                    let key = this.expr(key);
                    Element::Pair(key, this.expr(value))
                }
                None => Element::Value(this.expr(value)),
            };
            this.emit(span_of(value), OpKind::Append(result, element));
        });
        self.scope().overlays.pop();
        result
    }

    /// `(f(x) for x in xs)`
    pub(super) fn generator(&mut self, generator: &ast::ExprGenerator, span: Span) -> Temp {
        let Some(first) = generator.generators.first() else {
            return self.emit(span, OpKind::Unsupported(Vec::new()));
        };
        let outermost = self.expr(&first.iter);
        let qualified = self.qualify("<genexpr>");
        let parameter = self.name("<iterable>");
        // A walrus within binds in the enclosing function, which has the name already; the targets are locals.
        let mut targets = Vec::new();
        for part in &generator.generators {
            names_of(&part.target, &mut targets);
        }
        let mut bindings = Bindings::default();
        bindings.bound = targets;
        let id = self.open(FunctionKind::Generator, qualified, None, &bindings, std::slice::from_ref(&parameter));
        let iterable = self.emit(span, OpKind::Load(crate::ir::Variable::Local(0)));
        self.generator_loops(iterable, &generator.generators, span, &mut |this| {
            let value = this.expr(&generator.elt);
            this.emit(span_of(&*generator.elt), OpKind::Yield { value: Some(value), from: false });
        });
        self.close(id, |function| {
            function.name = Name::from("<genexpr>");
            function.span = span;
            function.full = span;
            function.is_generator = true;
            function.parameters = vec![Parameter {
                name: parameter,
                kind: ParameterKind::PositionalOnly,
                has_default: false,
                annotation: None,
                span,
            }];
        });
        let function = self.emit(span, OpKind::Function(id, Vec::new()));
        self.emit(span, call(function, vec![outermost]))
    }

    /// Gives the targets of a comprehension slots of their own.
    fn overlay(&mut self, generators: &[Comprehension]) {
        let mut targets = Vec::new();
        for generator in generators {
            names_of(&generator.target, &mut targets);
        }
        let mut overlay: FxHashMap<Name, u32> = FxHashMap::default();
        for target in targets {
            let slot = self.fresh_slot(&target);
            let name = self.name(&target);
            overlay.insert(name, slot);
        }
        self.scope().overlays.push(overlay);
    }

    fn generator_loops(
        &mut self,
        iterable: Temp,
        generators: &[Comprehension],
        span: Span,
        innermost: &mut dyn FnMut(&mut Self),
    ) {
        let Some((generator, rest)) = generators.split_first() else { return };
        let iterator = self.emit(span_of(&generator.iter), OpKind::Iterate(iterable));
        let mut element = 0;
        let head = self.block(|this| element = this.emit(span_of(&generator.target), OpKind::Next(iterator)));
        let body = self.block(|this| {
            this.assign(&generator.target, element);
            this.conditions(&generator.ifs, &mut |this| match rest.first() {
                Some(next) => {
                    let iterable = this.expr(&next.iter);
                    this.generator_loops(iterable, rest, span, innermost);
                }
                None => innermost(this),
            });
        });
        self.emit(span, OpKind::Loop { head, test: None, body, orelse: Vec::new() });
    }

    fn conditions(&mut self, conditions: &[Expr], innermost: &mut dyn FnMut(&mut Self)) {
        let Some((condition, rest)) = conditions.split_first() else { return innermost(self) };
        let test = self.expr(condition);
        let then = self.block(|this| this.conditions(rest, innermost));
        self.emit(span_of(condition), OpKind::If { test, then, orelse: Vec::new() });
    }
}

/// Names that a target binds.
fn names_of(target: &Expr, names: &mut Vec<String>) {
    match target {
        Expr::Name(name) => names.push(name.id.to_string()),
        Expr::Tuple(tuple) => tuple.elts.iter().for_each(|element| names_of(element, names)),
        Expr::List(list) => list.elts.iter().for_each(|element| names_of(element, names)),
        Expr::Starred(starred) => names_of(&starred.value, names),
        _ => {}
    }
}
