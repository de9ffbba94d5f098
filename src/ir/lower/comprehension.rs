//! Comprehensions and generator expressions.
//!
//! **Invariant:** a list, set or dict comprehension runs in place, with separate slots for its targets; a generator expression is a
//! generator function. A function takes its outermost iterable, evaluated in the enclosing scope, as its only parameter.

use super::{FunctionSpec, Lowering, Overlay, call};
use crate::ir::scope::{Bindings, Captures};
use crate::ir::{Block, Collection, Element, FunctionKind, OpKind, Parameter, ParameterKind, Temp};
use crate::python::ast::{self, Comprehension, Expr};
use crate::python::span_of;
use crate::text::Span;

/// The name of the parameter that takes the outermost iterable.
const ITERABLE: &str = "<iterable>";

/// Most `for` clauses of one comprehension, each of which contains the next.
const MOST_CLAUSES: usize = 100;

/// A comprehension or generator expression.
struct ComprehensionParts<'a> {
    /// What is built; nothing if values are yielded.
    collection: Option<Collection>,
    key: Option<&'a Expr>,
    value: &'a Expr,
    generators: &'a [Comprehension],
    span: Span,
}

impl<'a> Lowering<'a> {
    /// `[f(x) for x in xs]`, `{f(x) for x in xs}`
    pub(super) fn comprehension(
        &mut self,
        collection: Collection,
        value: &'a Expr,
        generators: &'a [Comprehension],
        span: Span,
    ) -> Temp {
        self.comprehended(&ComprehensionParts { collection: Some(collection), key: None, value, generators, span })
    }

    /// `{k: v for k, v in xs}`
    pub(super) fn dict_comprehension(&mut self, comp: &'a ast::ExprDictComp, span: Span) -> Temp {
        self.comprehended(&ComprehensionParts {
            collection: Some(Collection::Dict),
            key: comp.key.as_deref(),
            value: &comp.value,
            generators: &comp.generators,
            span,
        })
    }

    /// `(f(x) for x in xs)`
    pub(super) fn generator(&mut self, generator: &'a ast::ExprGenerator, span: Span) -> Temp {
        self.comprehended(&ComprehensionParts {
            collection: None,
            key: None,
            value: &generator.elt,
            generators: &generator.generators,
            span,
        })
    }

    fn comprehended(&mut self, comp: &ComprehensionParts<'a>) -> Temp {
        let most = if self.is_deep() { 1 } else { MOST_CLAUSES };
        let Some(first) = comp.generators.first().filter(|_| comp.generators.len() <= most) else {
            let writes = self.walruses(comp);
            return self.emit(comp.span, OpKind::Unsupported(writes.into()));
        };
        let mut targets = Vec::new();
        for generator in comp.generators {
            names_of(&generator.target, &mut targets);
        }
        // The outermost iterable is evaluated outside of the comprehension's scope.
        let outermost = self.expr(&first.iter);
        let parts: Vec<&'a Expr> = comp.key.into_iter().chain([comp.value]).collect();
        let Captures { captured, awaits, .. } = Captures::of(&targets, &parts, comp.generators);
        // A function that awaits is a coroutine, which is more than a scope.
        if comp.collection.is_none() || (captured && !awaits) {
            return self.as_function(comp, &targets, outermost, awaits);
        }
        let names = targets.into_iter().map(|target| (target, self.fresh_slot(target))).collect();
        self.scope().overlays.push(Overlay { names, comprehension: true });
        let result = self.run(comp, outermost);
        self.scope().overlays.pop();
        result
    }

    /// The variables that walruses within a comprehension write.
    fn walruses(&mut self, comp: &ComprehensionParts<'a>) -> Vec<crate::ir::Variable> {
        let mut bindings = Bindings::default();
        for part in comp.key.into_iter().chain([comp.value]) {
            bindings.walruses(part);
        }
        for generator in comp.generators {
            bindings.walruses(&generator.iter);
            generator.ifs.iter().for_each(|condition| bindings.walruses(condition));
        }
        bindings.bound.into_iter().map(|name| self.resolve(name)).collect()
    }

    /// Defines a function that runs the comprehension, and calls it.
    fn as_function(
        &mut self,
        comp: &ComprehensionParts<'a>,
        targets: &[&'a str],
        outermost: Temp,
        is_async: bool,
    ) -> Temp {
        let span = comp.span;
        let (kind, name) = match comp.collection {
            None => (FunctionKind::Generator, "<genexpr>"),
            Some(Collection::Set) => (FunctionKind::Comprehension, "<setcomp>"),
            Some(Collection::Dict) => (FunctionKind::Comprehension, "<dictcomp>"),
            Some(_) => (FunctionKind::Comprehension, "<listcomp>"),
        };
        // A nested walrus binds in the enclosing function, which already has the name; the targets are locals.
        let mut bindings = self.bindings([&[ITERABLE], targets].concat());
        bindings.yields = comp.collection.is_none();
        let qualified = self.qualify(name);
        let id = self.open(FunctionSpec { kind, qualified, class: None, receiver: false, bindings });
        let iterable = self.load_slot(span, 0);
        let result = self.run(comp, iterable);
        if comp.collection.is_some() {
            self.emit(span, OpKind::Return(Some(result)));
        }
        let name = self.name(name);
        let parameter = Parameter {
            name: self.name(ITERABLE),
            kind: ParameterKind::PositionalOnly,
            has_default: false,
            annotation: None,
            span,
        };
        self.close(id, |function| {
            function.name = name;
            function.span = span;
            function.full = span;
            function.is_async = is_async;
            function.parameters = vec![parameter];
        });
        let function = self.emit(span, OpKind::Function(id, Box::default()));
        self.emit(span, call(function, &[outermost]))
    }

    /// Runs the clauses in the innermost scope; what is built, if anything is.
    fn run(&mut self, comp: &ComprehensionParts<'a>, outermost: Temp) -> Temp {
        let result = comp.collection.map(|collection| self.emit(comp.span, OpKind::Build(collection, Box::default())));
        self.clauses_of(outermost, comp.generators, comp.span, &|this| {
            let element = match (comp.key, comp.value) {
                (Some(key), value) => {
                    let key = this.expr(key);
                    Element::Pair(key, this.expr(value))
                }
                (None, value) if comp.collection == Some(Collection::Dict) => Element::SpreadMapping(this.expr(value)),
                (None, Expr::Starred(starred)) => Element::Spread(this.expr(&starred.value)),
                (None, value) => Element::Value(this.expr(value)),
            };
            let kind = match (result, element) {
                (Some(result), element) => OpKind::Append(result, element),
                (None, Element::Spread(value)) => OpKind::Yield { value: Some(value), from: true },
                (None, Element::Value(value) | Element::Pair(_, value) | Element::SpreadMapping(value)) => {
                    OpKind::Yield { value: Some(value), from: false }
                }
            };
            this.emit(span_of(comp.value), kind);
        });
        result.unwrap_or(outermost)
    }

    fn clauses_of(
        &mut self,
        iterable: Temp,
        generators: &'a [Comprehension],
        span: Span,
        innermost: &dyn Fn(&mut Self),
    ) {
        let Some((generator, rest)) = generators.split_first() else { return };
        let iterator = self.emit(span_of(&generator.iter), OpKind::Iterate(iterable));
        let mut element = 0;
        let head = self.block(|this| element = this.emit(span, OpKind::Next(iterator)));
        let body = self.block(|this| {
            this.assign(&generator.target, element);
            let conditions = &generator.ifs;
            this.chain(span, conditions.len() + 1, &|this, index, more| {
                if let Some(condition) = conditions.get(index) {
                    let test = this.expr(condition);
                    let then = this.block(more);
                    this.when(span_of(condition), test, then);
                } else if let Some(next) = rest.first() {
                    let iterable = this.expr(&next.iter);
                    this.clauses_of(iterable, rest, span, innermost);
                } else {
                    innermost(this);
                }
            });
        });
        self.emit(span, OpKind::Loop { head, test: None, body, orelse: Block::default() });
    }
}

/// Names that a target binds, each once.
fn names_of<'a>(target: &'a Expr, names: &mut Vec<&'a str>) {
    match target {
        Expr::Name(name) if !names.contains(&name.id.as_str()) => names.push(&name.id),
        Expr::Tuple(tuple) => tuple.elts.iter().for_each(|element| names_of(element, names)),
        Expr::List(list) => list.elts.iter().for_each(|element| names_of(element, names)),
        Expr::Starred(starred) => names_of(&starred.value, names),
        _ => {}
    }
}
