//! The walk over the syntax of an expression.
//!
//! **Invariant:** operands are evaluated once each, from left to right, and every step is paid for from one budget, so
//! that no expression runs forever.

use std::sync::Arc;

use super::arguments::Arguments;
use super::arithmetic::{self, Binary};
use super::lanes::is_mapped;
use super::numpy;
use super::random;
use super::subscript::{Index, subscript};
use super::value::{Argument, Partial, Sequence, Value, Vmap};
use super::{Outcome, Problem, Settings};
use crate::arrays;
use crate::models::roots::{ROOT, ROOTS};
use crate::prng::dtype::DType;
use crate::python::ast::{self, Expr};
use crate::python::span_of;
use crate::text::Span;

/// The most steps and elements one evaluation may take.
const BUDGET: usize = 1 << 24;

/// The deepest nesting of expressions and calls: that of Python's own interpreter.
const DEPTH: usize = 1_000;

/// A function of the libraries.
#[derive(Debug)]
pub struct Builtin {
    /// Its name.
    pub name: &'static str,
    /// Parameters that can be given by position, in order, or by name.
    pub positional: &'static [&'static str],
    /// Parameters that can only be given by name.
    pub keywords: &'static [&'static str],
    /// How many of the positional ones must be given.
    pub required: usize,
    /// What it does.
    pub run: for<'a> fn(&mut Evaluator<'a>, &Arguments<'a>) -> Outcome<Value<'a>>,
}

/// A function written as `lambda`.
#[derive(Debug)]
pub struct Lambda<'a> {
    parameters: Vec<&'a str>,
    body: &'a Expr,
    scope: Scope<'a>,
}

/// The parameters of the functions around an expression, innermost first.
type Scope<'a> = Option<Arc<Frame<'a>>>;

/// The parameters of one function.
#[derive(Debug)]
pub struct Frame<'a> {
    names: Vec<(&'a str, Value<'a>)>,
    outer: Scope<'a>,
}

/// Evaluates one expression.
#[derive(Debug)]
pub struct Evaluator<'a> {
    /// JAX's flags.
    pub(super) settings: Settings,
    /// How many `vmap`s are around what runs.
    pub(super) vmaps: usize,
    budget: usize,
    depth: usize,
    text: std::marker::PhantomData<&'a ()>,
}

impl<'a> Evaluator<'a> {
    /// An evaluator with its whole budget.
    pub fn new(settings: Settings) -> Self {
        Self { settings, vmaps: 0, budget: BUDGET, depth: 0, text: std::marker::PhantomData }
    }

    /// Takes steps from the budget.
    pub(super) fn spend(&mut self, span: Span, steps: usize) -> Outcome<()> {
        match self.budget.checked_sub(steps) {
            Some(rest) => {
                self.budget = rest;
                Ok(())
            }
            None => Err(Problem::new(span, format!("this takes more than {BUDGET} steps and elements"))),
        }
    }

    /// Evaluates an expression.
    pub fn evaluate(&mut self, expression: &'a Expr, scope: &Scope<'a>) -> Outcome<Value<'a>> {
        let span = span_of(expression);
        self.spend(span, 1)?;
        if self.depth >= DEPTH {
            return Err(Problem::new(span, format!("expressions and calls nest deeper than {DEPTH} levels")));
        }
        self.depth += 1;
        let value = self.dispatch(expression, scope, span);
        self.depth -= 1;
        value
    }

    fn dispatch(&mut self, expression: &'a Expr, scope: &Scope<'a>, span: Span) -> Outcome<Value<'a>> {
        match expression {
            Expr::NumberLiteral(literal) => number(&literal.value, span),
            Expr::StringLiteral(literal) => Ok(Value::Str(literal.value.to_str().into())),
            Expr::BooleanLiteral(literal) => Ok(Value::Bool(literal.value)),
            Expr::NoneLiteral(_) => Ok(Value::None),
            Expr::Tuple(tuple) => self.sequence(Sequence::Tuple, &tuple.elts, scope),
            Expr::List(list) => self.sequence(Sequence::List, &list.elts, scope),
            Expr::Name(_) | Expr::Attribute(_) => self.reference(expression, scope, span),
            Expr::Subscript(node) => self.subscript(node, scope, span),
            Expr::UnaryOp(node) => {
                let operand = self.evaluate(&node.operand, scope)?;
                self.lift(span, &[operand], &|values| arithmetic::unary(node.op, &values[0], span))
            }
            Expr::BinOp(node) => {
                let (left, right) = (self.evaluate(&node.left, scope)?, self.evaluate(&node.right, scope)?);
                self.binary(Binary::Number(node.op), left, right, span)
            }
            Expr::Compare(node) => match (&*node.ops, &*node.comparators) {
                ([operator], [right]) => {
                    let (left, right) = (self.evaluate(&node.left, scope)?, self.evaluate(right, scope)?);
                    self.binary(Binary::Comparison(*operator), left, right, span)
                }
                _ => Err(Problem::new(span, "chained comparisons are not supported")),
            },
            Expr::Lambda(node) => lambda(node, scope, span),
            Expr::Call(node) => self.call_expression(node, scope, span),
            _ => Err(Problem::new(span, "this kind of expression is not supported")),
        }
    }

    fn binary(&mut self, operator: Binary, left: Value<'a>, right: Value<'a>, span: Span) -> Outcome<Value<'a>> {
        let mode = self.settings.mode;
        self.lift(span, &[left, right], &|values| arithmetic::binary(mode, operator, &values[0], &values[1], span))
    }

    fn sequence(&mut self, kind: Sequence, items: &'a [Expr], scope: &Scope<'a>) -> Outcome<Value<'a>> {
        let items: Outcome<Arc<[Value<'a>]>> = items.iter().map(|item| self.evaluate(item, scope)).collect();
        Ok(Value::Sequence(kind, items?))
    }

    /// A name, a dotted name of a library, or an attribute of a value.
    fn reference(&mut self, expression: &'a Expr, scope: &Scope<'a>, span: Span) -> Outcome<Value<'a>> {
        let Some(path) = path_of(expression) else {
            let Expr::Attribute(attribute) = expression else {
                return Err(Problem::new(span, "this kind of expression is not supported"));
            };
            let value = self.evaluate(&attribute.value, scope)?;
            return self.attribute(value, attribute.attr.as_str(), span);
        };
        let (root, rest) = path.split_first().map_or(("", &[][..]), |(root, rest)| (*root, rest));
        if let Some(value) = lookup(scope, root) {
            return rest.iter().try_fold(value, |value, name| self.attribute(value, name, span));
        }
        resolve(&path, span)
    }

    fn attribute(&mut self, value: Value<'a>, name: &str, span: Span) -> Outcome<Value<'a>> {
        numpy::attribute(self, value, name, span)
    }

    fn subscript(&mut self, node: &'a ast::ExprSubscript, scope: &Scope<'a>, span: Span) -> Outcome<Value<'a>> {
        let base = self.evaluate(&node.value, scope)?;
        let entries: Vec<&'a Expr> = match &*node.slice {
            Expr::Tuple(tuple) => tuple.elts.iter().collect(),
            single => vec![single],
        };
        let mut indices = Vec::with_capacity(entries.len());
        for entry in entries {
            indices.push(self.index(entry, scope)?);
        }
        if let Value::Sequence(kind, items) = &base {
            return select(*kind, items, &indices, span);
        }
        let mut values = vec![base];
        values.extend(indices.iter().filter_map(|index| match index {
            Index::At(value) => Some(value.clone()),
            _ => None,
        }));
        self.lift(span, &values, &|values| {
            let mut ats = values.iter().skip(1);
            let indices: Vec<Index<'a>> = indices
                .iter()
                .map(|index| match (index, matches!(index, Index::At(_)).then(|| ats.next()).flatten()) {
                    (_, Some(value)) => Index::At(value.clone()),
                    (index, None) => index.clone(),
                })
                .collect();
            subscript(&values[0], &indices, span)
        })
    }

    fn index(&mut self, entry: &'a Expr, scope: &Scope<'a>) -> Outcome<Index<'a>> {
        let span = span_of(entry);
        match entry {
            Expr::EllipsisLiteral(_) => Ok(Index::Ellipsis),
            Expr::Slice(slice) => {
                let mut bound = |part: &'a Option<Box<Expr>>| -> Outcome<Option<i128>> {
                    let Some(part) = part else { return Ok(None) };
                    match self.evaluate(part, scope)? {
                        Value::None => Ok(None),
                        value => super::arguments::integer(&value, span_of(&**part)).map(Some),
                    }
                };
                Ok(Index::Slice(bound(&slice.lower)?, bound(&slice.upper)?, bound(&slice.step)?))
            }
            _ => match self.evaluate(entry, scope)? {
                Value::None => Ok(Index::NewAxis),
                Value::Bool(_) => Err(Problem::new(span, "truth values as indices are not supported")),
                value @ (Value::Int(_) | Value::Array(_) | Value::Lanes(..)) => Ok(Index::At(value)),
                value => {
                    let found = value.description();
                    Err(Problem::new(span, format!("an index must be an integer, a slice or None, not {found}")))
                }
            },
        }
    }

    fn call_expression(&mut self, node: &'a ast::ExprCall, scope: &Scope<'a>, span: Span) -> Outcome<Value<'a>> {
        let function = self.evaluate(&node.func, scope)?;
        let mut arguments = Vec::new();
        for argument in &node.arguments.args {
            if argument.is_starred_expr() {
                return Err(Problem::new(span_of(argument), "starred arguments are not supported"));
            }
            let value = self.evaluate(argument, scope)?;
            arguments.push(Argument { name: None, value, span: span_of(argument) });
        }
        for keyword in &node.arguments.keywords {
            let Some(name) = &keyword.arg else {
                return Err(Problem::new(span_of(keyword), "starred arguments are not supported"));
            };
            let value = self.evaluate(&keyword.value, scope)?;
            arguments.push(Argument { name: Some(name.as_str().into()), value, span: span_of(&keyword.value) });
        }
        if !is_function(&function) {
            return Err(Problem::new(span_of(&*node.func), format!("{} cannot be called", function.description())));
        }
        self.call(&function, arguments, span)
    }

    /// Calls a function.
    pub(super) fn call(
        &mut self,
        function: &Value<'a>,
        mut arguments: Vec<Argument<'a>>,
        span: Span,
    ) -> Outcome<Value<'a>> {
        match function {
            Value::Builtin(builtin) => {
                let arguments = Arguments::bind(builtin, arguments, span)?;
                (builtin.run)(self, &arguments)
            }
            Value::DType(dtype) => {
                let arguments = Arguments::bind(&numpy::CONVERSION, arguments, span)?;
                numpy::converted(self, &arguments, *dtype)
            }
            Value::Method(method, receiver) => numpy::call_method(self, *method, receiver, arguments, span),
            Value::Lambda(lambda) => {
                let names = bind_lambda(lambda, arguments, span)?;
                let scope = Some(Arc::new(Frame { names, outer: lambda.scope.clone() }));
                self.evaluate(lambda.body, &scope)
            }
            Value::Partial(partial) => {
                let is_given =
                    |name: &Option<Arc<str>>| name.is_some() && arguments.iter().any(|argument| argument.name == *name);
                let mut all: Vec<Argument<'a>> =
                    partial.arguments.iter().filter(|argument| !is_given(&argument.name)).cloned().collect();
                all.append(&mut arguments);
                all.sort_by_key(|argument| argument.name.is_some());
                self.nested(span, |evaluator| evaluator.call(&partial.function, all, span))
            }
            Value::Vmap(vmap) => self.nested(span, |evaluator| evaluator.call_vmap(vmap, arguments, span)),
            _ => Err(Problem::new(span, format!("{} cannot be called", function.description()))),
        }
    }

    /// A call through another function, which counts as a level of nesting.
    fn nested<T>(&mut self, span: Span, work: impl FnOnce(&mut Self) -> Outcome<T>) -> Outcome<T> {
        if self.depth >= DEPTH {
            return Err(Problem::new(span, format!("expressions and calls nest deeper than {DEPTH} levels")));
        }
        self.depth += 1;
        let result = work(self);
        self.depth -= 1;
        result
    }
}

fn is_function(value: &Value<'_>) -> bool {
    matches!(
        value,
        Value::Builtin(_) | Value::DType(_) | Value::Method(..) | Value::Lambda(_) | Value::Partial(_) | Value::Vmap(_)
    )
}

fn number<'a>(number: &ast::Number, span: Span) -> Outcome<Value<'a>> {
    match number {
        ast::Number::Int(int) => {
            let text = int.to_string();
            let (digits, radix) = match text.get(..2) {
                Some("0x" | "0X") => (&text[2..], 16),
                Some("0o" | "0O") => (&text[2..], 8),
                Some("0b" | "0B") => (&text[2..], 2),
                _ => (&text[..], 10),
            };
            let parsed = i128::from_str_radix(&digits.replace('_', ""), radix);
            parsed.map(Value::Int).map_err(|_| Problem::new(span, "integers beyond 128 bits are not supported"))
        }
        ast::Number::Float(float) => Ok(Value::Float(*float)),
        ast::Number::Complex { .. } => Err(Problem::new(span, "complex numbers are not supported")),
    }
}

fn lambda<'a>(node: &'a ast::ExprLambda, scope: &Scope<'a>, span: Span) -> Outcome<Value<'a>> {
    let mut parameters = Vec::new();
    if let Some(list) = &node.parameters {
        if list.vararg.is_some() || list.kwarg.is_some() || !list.kwonlyargs.is_empty() {
            return Err(Problem::new(span, "starred and keyword-only parameters are not supported"));
        }
        for parameter in list.posonlyargs.iter().chain(&list.args) {
            if parameter.default.is_some() {
                return Err(Problem::new(span_of(parameter), "default values of parameters are not supported"));
            }
            parameters.push(parameter.parameter.name.as_str());
        }
    }
    Ok(Value::Lambda(Arc::new(Lambda { parameters, body: &node.body, scope: scope.clone() })))
}

fn bind_lambda<'a>(
    lambda: &Lambda<'a>,
    arguments: Vec<Argument<'a>>,
    span: Span,
) -> Outcome<Vec<(&'a str, Value<'a>)>> {
    let mut bound: Vec<Option<Value<'a>>> = vec![None; lambda.parameters.len()];
    for (position, argument) in arguments.into_iter().enumerate() {
        let index = match &argument.name {
            None => Some(position),
            Some(name) => lambda.parameters.iter().position(|parameter| *parameter == &**name),
        };
        match index.and_then(|index| bound.get_mut(index)) {
            Some(slot @ None) => *slot = Some(argument.value),
            _ => return Err(Problem::new(argument.span, "the lambda has no parameter for this argument")),
        }
    }
    let pair = |(name, value): (&&'a str, Option<Value<'a>>)| {
        value.map(|value| (*name, value)).ok_or_else(|| Problem::new(span, format!("missing argument `{name}`")))
    };
    lambda.parameters.iter().zip(bound).map(pair).collect()
}

fn lookup<'a>(scope: &Scope<'a>, name: &str) -> Option<Value<'a>> {
    let mut frame = scope.as_ref();
    while let Some(current) = frame {
        if let Some((_, value)) = current.names.iter().find(|(known, _)| *known == name) {
            return Some(value.clone());
        }
        frame = current.outer.as_ref();
    }
    None
}

/// The parts of `a.b.c`.
fn path_of(expression: &Expr) -> Option<Vec<&str>> {
    let mut parts = Vec::new();
    let mut at = expression;
    loop {
        match at {
            Expr::Attribute(attribute) => {
                parts.push(attribute.attr.as_str());
                at = &attribute.value;
            }
            Expr::Name(name) => {
                parts.push(name.id.as_str());
                parts.reverse();
                return Some(parts);
            }
            _ => return None,
        }
    }
}

/// What a dotted name means in the libraries.
fn resolve<'a>(path: &[&str], span: Span) -> Outcome<Value<'a>> {
    let unknown = || {
        let name = path.join(".");
        Problem::new(span, format!("unknown name `{name}`"))
    };
    let mut path = path.to_vec();
    if let Some(root) = path.first_mut().filter(|root| ROOTS.contains(root)) {
        *root = ROOT;
    }
    match path[..] {
        ["random" | "jr", name] | [ROOT, "random", name] => {
            random::lookup(name, span)?.map(Value::Builtin).ok_or_else(unknown)
        }
        ["jnp", name] | [ROOT, "numpy", name] => numpy::lookup(name).ok_or_else(unknown),
        ["vmap"] | [ROOT, "vmap"] => Ok(Value::Builtin(&VMAP)),
        ["partial"] | ["functools", "partial"] => Ok(Value::Builtin(&PARTIAL)),
        ["int"] => Ok(Value::DType(DType::Int64)),
        ["float"] => Ok(Value::DType(DType::Float64)),
        ["bool"] => Ok(Value::DType(DType::Bool)),
        [name] => random::lookup(name, span)?.map(Value::Builtin).ok_or_else(unknown),
        _ => Err(unknown()),
    }
}

/// An element or a slice of a Python sequence.
fn select<'a>(kind: Sequence, items: &[Value<'a>], indices: &[Index<'a>], span: Span) -> Outcome<Value<'a>> {
    match indices {
        [Index::At(value)] => {
            let index = super::arguments::integer(value, span)?;
            let item = arrays::position(items.len(), index).and_then(|index| items.get(index));
            item.cloned().ok_or_else(|| Problem::new(span, "the index of the sequence is out of range"))
        }
        [Index::Slice(lower, upper, step)] => {
            let elements = arrays::slice(items.len(), *lower, *upper, *step)
                .ok_or_else(|| Problem::new(span, "slice step cannot be zero"))?;
            Ok(Value::Sequence(kind, elements.iter().filter_map(|&element| items.get(element).cloned()).collect()))
        }
        _ => Err(Problem::new(span, "tuples and lists have one axis only")),
    }
}

/// `jax.vmap`
pub static VMAP: Builtin = Builtin {
    name: "vmap",
    positional: &["fun", "in_axes", "out_axes"],
    keywords: &["axis_size"],
    required: 1,
    run: |_, arguments| {
        let (function, span) = arguments.required(0)?;
        if !is_function(function) {
            return Err(Problem::new(span, format!("vmap takes a function, not {}", function.description())));
        }
        let axes = |name: &str| arguments.given(name).map_or(Value::Int(0), |(value, _)| value.clone());
        for name in ["in_axes", "out_axes"] {
            if let Some((value, span)) = arguments.given(name)
                && is_mapped(value)
            {
                return Err(Problem::new(span, format!("{name} must be the same for the whole batch")));
            }
        }
        let size = match arguments.optional("axis_size") {
            Some((value, span)) => Some(super::arguments::length(value, span)?),
            None => None,
        };
        let vmap = Vmap { function: function.clone(), in_axes: axes("in_axes"), out_axes: axes("out_axes"), size };
        Ok(Value::Vmap(Arc::new(vmap)))
    },
};

/// `functools.partial`
static PARTIAL: Builtin = Builtin {
    name: "partial",
    positional: &["function"],
    keywords: &[],
    required: 1,
    run: |_, arguments| {
        let (function, span) = arguments.required(0)?;
        if !is_function(function) {
            return Err(Problem::new(span, format!("partial takes a function, not {}", function.description())));
        }
        let partial = Partial { function: function.clone(), arguments: arguments.rest.clone() };
        Ok(Value::Partial(Arc::new(partial)))
    },
};

impl Builtin {
    /// Whether arguments beyond its parameters are kept rather than refused.
    pub fn takes_rest(&self) -> bool {
        self.name == "partial"
    }
}
