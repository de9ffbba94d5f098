//! Expressions.
//!
//! **Invariant:** lowering an expression emits its operands before itself and returns the temp of its value.

use super::{Lowering, binary, comparison, operate};
use crate::ir::{Argument, Collection, Constant, Element, OpKind, Operator, Temp, Variable};
use crate::python::ast::{self, Expr};
use crate::python::span_of;
use crate::text::Span;

impl Lowering<'_> {
    /// Lowers an expression that is read.
    pub(super) fn expr(&mut self, expr: &Expr) -> Temp {
        let span = span_of(expr);
        match expr {
            Expr::Name(name) => {
                let variable = self.resolve(&name.id);
                self.emit(span, OpKind::Load(variable))
            }
            Expr::Attribute(attribute) => {
                let object = self.expr(&attribute.value);
                let name = self.name(&attribute.attr);
                self.emit(span, OpKind::Attribute(object, name))
            }
            Expr::Subscript(subscript) => {
                let object = self.expr(&subscript.value);
                let index = self.expr(&subscript.slice);
                self.emit(span, OpKind::Item(object, index))
            }
            Expr::Slice(slice) => {
                let parts = [&slice.lower, &slice.upper, &slice.step];
                let values = parts.map(|part| match part {
                    Some(part) => self.expr(part),
                    None => self.none(span),
                });
                self.emit(span, super::build(Collection::Slice, values.to_vec()))
            }
            Expr::Call(call) => self.call(call, span),
            Expr::BinOp(binary_op) => {
                let left = self.expr(&binary_op.left);
                let right = self.expr(&binary_op.right);
                self.emit(span, operate(binary(binary_op.op), left, right))
            }
            Expr::UnaryOp(unary) => {
                // `-1` is one literal to every reader of the IR.
                if let (ast::UnaryOp::USub, Expr::NumberLiteral(number)) = (unary.op, &*unary.operand)
                    && let Constant::Int(value) = number_constant(&number.value)
                {
                    return self.constant(span, Constant::Int(-value));
                }
                let operand = self.expr(&unary.operand);
                let operator = match unary.op {
                    ast::UnaryOp::Invert => Operator::Invert,
                    ast::UnaryOp::Not => Operator::Not,
                    ast::UnaryOp::UAdd => Operator::Pos,
                    ast::UnaryOp::USub => Operator::Neg,
                };
                self.emit(span, OpKind::Operate(operator, [Some(operand), None], false))
            }
            Expr::Compare(compare) => self.compare(compare, span),
            Expr::BoolOp(bool_op) => self.bool_op(bool_op, span),
            Expr::If(conditional) => {
                let test = self.expr(&conditional.test);
                let slot = self.fresh_slot("<if>");
                let then = self.store_into(slot, &conditional.body);
                let orelse = self.store_into(slot, &conditional.orelse);
                self.emit(span, OpKind::If { test, then, orelse });
                self.emit(span, OpKind::Load(Variable::Local(slot)))
            }
            Expr::Named(named) => {
                let value = self.expr(&named.value);
                self.assign(&named.target, value);
                value
            }
            Expr::Lambda(lambda) => self.lambda(lambda, span),
            Expr::Tuple(tuple) => self.display(Collection::Tuple, &tuple.elts, span),
            Expr::List(list) => self.display(Collection::List, &list.elts, span),
            Expr::Set(set) => self.display(Collection::Set, &set.elts, span),
            Expr::Dict(dict) => {
                let elements = dict
                    .items
                    .iter()
                    .map(|item| match &item.key {
                        Some(key) => {
                            let key = self.expr(key);
                            Element::Pair(key, self.expr(&item.value))
                        }
                        None => Element::SpreadMapping(self.expr(&item.value)),
                    })
                    .collect();
                self.emit(span, OpKind::Build(Collection::Dict, elements))
            }
            Expr::ListComp(comp) => self.comprehension(Collection::List, None, &comp.elt, &comp.generators, span),
            Expr::SetComp(comp) => self.comprehension(Collection::Set, None, &comp.elt, &comp.generators, span),
            Expr::DictComp(comp) => {
                self.comprehension(Collection::Dict, comp.key.as_deref(), &comp.value, &comp.generators, span)
            }
            Expr::Generator(generator) => self.generator(generator, span),
            Expr::Await(awaited) => {
                let value = self.expr(&awaited.value);
                self.emit(span, OpKind::Await(value))
            }
            Expr::Yield(yielded) => {
                let value = yielded.value.as_ref().map(|value| self.expr(value));
                self.emit(span, OpKind::Yield { value, from: false })
            }
            Expr::YieldFrom(yielded) => {
                let value = self.expr(&yielded.value);
                self.emit(span, OpKind::Yield { value: Some(value), from: true })
            }
            Expr::FString(text) => {
                let mut values = Vec::new();
                for element in text.value.elements() {
                    self.interpolation(element, &mut values);
                }
                self.emit(span, super::build(Collection::Text, values))
            }
            Expr::TString(text) => {
                let mut values = Vec::new();
                for element in text.value.elements() {
                    self.interpolation(element, &mut values);
                }
                self.emit(span, super::build(Collection::Text, values))
            }
            Expr::StringLiteral(text) => {
                let text = self.name(text.value.to_str());
                self.constant(span, Constant::Str(text))
            }
            Expr::NumberLiteral(number) => self.constant(span, number_constant(&number.value)),
            Expr::BooleanLiteral(boolean) => self.constant(span, Constant::Bool(boolean.value)),
            Expr::NoneLiteral(_) => self.constant(span, Constant::None),
            Expr::EllipsisLiteral(_) => self.constant(span, Constant::Ellipsis),
            Expr::BytesLiteral(_) => self.constant(span, Constant::Other),
            Expr::Starred(starred) => {
                // A star where Python allows none survives only in recovered source.
                let value = self.expr(&starred.value);
                self.emit(span, OpKind::Build(Collection::Tuple, vec![Element::Spread(value)]))
            }
            Expr::IpyEscapeCommand(_) => self.emit(span, OpKind::Unsupported(Vec::new())),
        }
    }

    fn interpolation(&mut self, element: &ast::InterpolatedStringElement, values: &mut Vec<Temp>) {
        if let ast::InterpolatedStringElement::Interpolation(interpolation) = element {
            values.push(self.expr(&interpolation.expression));
            if let Some(spec) = &interpolation.format_spec {
                for nested in &spec.elements {
                    self.interpolation(nested, values);
                }
            }
        }
    }

    fn display(&mut self, collection: Collection, elements: &[Expr], span: Span) -> Temp {
        let elements = elements
            .iter()
            .map(|element| match element {
                Expr::Starred(starred) => Element::Spread(self.expr(&starred.value)),
                other => Element::Value(self.expr(other)),
            })
            .collect();
        self.emit(span, OpKind::Build(collection, elements))
    }

    /// Arguments in source order, which is Python's evaluation order.
    pub(super) fn arguments(&mut self, arguments: &ast::Arguments) -> Vec<Argument> {
        let mut lowered = Vec::with_capacity(arguments.args.len() + arguments.keywords.len());
        for argument in arguments.iter_source_order() {
            lowered.push(match argument {
                ast::ArgOrKeyword::Arg(Expr::Starred(starred)) => Argument::Spread(self.expr(&starred.value)),
                ast::ArgOrKeyword::Arg(value) => Argument::Positional(self.expr(value)),
                ast::ArgOrKeyword::Keyword(keyword) => {
                    let value = self.expr(&keyword.value);
                    match &keyword.arg {
                        Some(name) => Argument::Keyword(self.name(name), value),
                        None => Argument::SpreadMapping(value),
                    }
                }
            });
        }
        lowered
    }

    fn call(&mut self, call: &ast::ExprCall, span: Span) -> Temp {
        // `super()` reads the enclosing class and the first parameter, which the IR makes explicit.
        if let Expr::Name(name) = &*call.func
            && name.id.as_str() == "super"
            && call.arguments.args.is_empty()
            && self.scope().class.is_some()
        {
            let callee = self.expr(&call.func);
            let receiver = self.emit(span, OpKind::Load(Variable::Local(0)));
            return self.emit(span, super::call(callee, vec![receiver]));
        }
        let callee = self.expr(&call.func);
        let arguments = self.arguments(&call.arguments);
        self.emit(span, OpKind::Call(callee, arguments))
    }

    /// `a < b < c` evaluates `b` once and stops at the first false comparison.
    fn compare(&mut self, compare: &ast::ExprCompare, span: Span) -> Temp {
        let left = self.expr(&compare.left);
        let pairs: Vec<(ast::CmpOp, &Expr)> = compare.ops.iter().copied().zip(compare.comparators.iter()).collect();
        if let [(op, right)] = pairs.as_slice() {
            let right = self.expr(right);
            return self.emit(span, operate(comparison(*op), left, right));
        }
        let slot = self.fresh_slot("<compare>");
        self.compare_chain(left, &pairs, slot, span);
        self.emit(span, OpKind::Load(Variable::Local(slot)))
    }

    fn compare_chain(&mut self, left: Temp, pairs: &[(ast::CmpOp, &Expr)], slot: u32, span: Span) {
        let Some(((op, right), rest)) = pairs.split_first() else { return };
        let right = self.expr(right);
        let value = self.emit(span, operate(comparison(*op), left, right));
        self.emit(span, OpKind::Store(Variable::Local(slot), value));
        if !rest.is_empty() {
            let then = self.block(|this| this.compare_chain(right, rest, slot, span));
            self.emit(span, OpKind::If { test: value, then, orelse: Vec::new() });
        }
    }

    /// `a and b` is `b if a else a`, with `a` evaluated once.
    fn bool_op(&mut self, bool_op: &ast::ExprBoolOp, span: Span) -> Temp {
        let slot = self.fresh_slot("<bool>");
        self.bool_chain(bool_op.op, &bool_op.values, slot, span);
        self.emit(span, OpKind::Load(Variable::Local(slot)))
    }

    fn bool_chain(&mut self, op: ast::BoolOp, values: &[Expr], slot: u32, span: Span) {
        let Some((first, rest)) = values.split_first() else { return };
        let value = self.expr(first);
        self.emit(span_of(first), OpKind::Store(Variable::Local(slot), value));
        if rest.is_empty() {
            return;
        }
        let more = self.block(|this| this.bool_chain(op, rest, slot, span));
        let (then, orelse) = match op {
            ast::BoolOp::And => (more, Vec::new()),
            ast::BoolOp::Or => (Vec::new(), more),
        };
        self.emit(span, OpKind::If { test: value, then, orelse });
    }

    fn store_into(&mut self, slot: u32, expr: &Expr) -> Vec<Temp> {
        self.block(|this| {
            let value = this.expr(expr);
            this.emit(span_of(expr), OpKind::Store(Variable::Local(slot), value));
        })
    }
}

/// The constant of a number literal.
fn number_constant(number: &ast::Number) -> Constant {
    match number {
        ast::Number::Int(int) => match int.as_i64() {
            Some(value) => Constant::Int(i128::from(value)),
            None => int.to_string().parse().map_or(Constant::BigInt, Constant::Int),
        },
        ast::Number::Float(value) => Constant::Float(*value),
        ast::Number::Complex { .. } => Constant::Other,
    }
}
