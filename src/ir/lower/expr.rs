//! Expressions.
//!
//! **Invariant:** lowering an expression emits its operands before itself and returns the temp of its value.

use super::operator::{binary, comparison, operate, unary};
use super::{Lowering, build, call};
use crate::ir::{Argument, Block, Collection, Constant, Element, OpKind, Temp};
use crate::python::ast::{self, Expr};
use crate::python::span_of;
use crate::text::Span;

impl<'a> Lowering<'a> {
    /// Lowers an expression that is read.
    pub(super) fn expr(&mut self, expr: &'a Expr) -> Temp {
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
                let values = [&slice.lower, &slice.upper, &slice.step].map(|part| match part {
                    Some(part) => self.expr(part),
                    None => self.constant(span, Constant::None),
                });
                self.emit(span, build(Collection::Slice, &values))
            }
            Expr::Call(call) => self.call(call, span),
            Expr::BinOp(binary_op) => {
                let left = self.expr(&binary_op.left);
                let right = self.expr(&binary_op.right);
                self.emit(span, operate(binary(binary_op.op), left, right))
            }
            Expr::UnaryOp(unary_op) => {
                // `-1` is one literal to every reader of the IR.
                if let (ast::UnaryOp::USub, Expr::NumberLiteral(number)) = (unary_op.op, &*unary_op.operand)
                    && let Constant::Int(value) = number_constant(&number.value)
                {
                    return self.constant(span, Constant::Int(Box::new(-*value)));
                }
                let operand = self.expr(&unary_op.operand);
                self.emit(span, OpKind::Operate(unary(unary_op.op), [Some(operand), None], false))
            }
            Expr::Compare(compare) => self.compare(compare, span),
            Expr::BoolOp(bool_op) => self.bool_op(bool_op, span),
            Expr::If(conditional) => {
                let test = self.expr(&conditional.test);
                let slot = self.fresh_slot("<if>");
                let then = self.store_into(slot, &conditional.body);
                let orelse = self.store_into(slot, &conditional.orelse);
                self.emit(span, OpKind::If { test, then, orelse });
                self.load_slot(span, slot)
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
            Expr::Dict(dict) => self.dict(dict, span),
            Expr::ListComp(comp) => self.comprehension(Collection::List, &comp.elt, &comp.generators, span),
            Expr::SetComp(comp) => self.comprehension(Collection::Set, &comp.elt, &comp.generators, span),
            Expr::DictComp(comp) => self.dict_comprehension(comp, span),
            Expr::Generator(generator) => self.generator(generator, span),
            Expr::Await(awaited) => {
                let value = self.expr(&awaited.value);
                self.emit(span, OpKind::Await(value))
            }
            Expr::Yield(yielded) => {
                let value = yielded.value.as_ref().map(|value| self.expr(value));
                self.suspend(value, false, span)
            }
            Expr::YieldFrom(yielded) => {
                let value = self.expr(&yielded.value);
                self.suspend(Some(value), true, span)
            }
            Expr::FString(text) => self.f_string(text, span),
            Expr::TString(text) => self.template(text, span),
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
                self.emit(span, OpKind::Build(Collection::Tuple, Box::new([Element::Spread(value)])))
            }
            Expr::IpyEscapeCommand(command) => self.command(command.kind, &command.value, span),
        }
    }

    /// `yield` has no meaning outside a function.
    fn suspend(&mut self, value: Option<Temp>, from: bool, span: Span) -> Temp {
        let kind =
            if self.scope().yields { OpKind::Yield { value, from } } else { OpKind::Unsupported(Box::default()) };
        self.emit(span, kind)
    }

    fn display(&mut self, collection: Collection, elements: &'a [Expr], span: Span) -> Temp {
        let last = elements.iter().rposition(|element| !is_constant(element));
        let mut lowered = Vec::with_capacity(elements.len());
        for (index, element) in elements.iter().enumerate() {
            lowered.push(match element {
                Expr::Starred(starred) => {
                    Element::Spread(self.spread(&starred.value, last.is_some_and(|last| index < last)))
                }
                other => Element::Value(self.expr(other)),
            });
        }
        self.emit(span, OpKind::Build(collection, lowered.into()))
    }

    fn dict(&mut self, dict: &'a ast::ExprDict, span: Span) -> Temp {
        let mut elements = Vec::with_capacity(dict.items.len());
        for item in &dict.items {
            elements.push(match &item.key {
                Some(key) => {
                    let key = self.expr(key);
                    Element::Pair(key, self.expr(&item.value))
                }
                None => Element::SpreadMapping(self.expr(&item.value)),
            });
        }
        self.emit(span, OpKind::Build(Collection::Dict, elements.into()))
    }

    /// The operand of a star. If something is evaluated after it, its elements are taken before that.
    fn spread(&mut self, iterable: &'a Expr, early: bool) -> Temp {
        let value = self.expr(iterable);
        if early && !is_held(iterable) {
            let elements = Box::new([Element::Spread(value)]);
            return self.emit(span_of(iterable), OpKind::Build(Collection::List, elements));
        }
        value
    }

    /// Arguments in evaluation order: in `f(k=a, *b)`, `b` comes first.
    pub(super) fn arguments(&mut self, arguments: &'a ast::Arguments) -> Vec<Argument> {
        let (positional, keywords) = (&arguments.args, &arguments.keywords);
        let mut lowered = Vec::with_capacity(positional.len() + keywords.len());
        let last = if keywords.iter().all(|keyword| is_constant(&keyword.value)) {
            positional.iter().rposition(|argument| !is_constant(argument)).unwrap_or(0)
        } else {
            positional.len()
        };
        for (index, argument) in positional.iter().enumerate() {
            lowered.push(match argument {
                Expr::Starred(starred) => {
                    // A lone `*xs` is passed to the call unchanged.
                    let early = positional.len() > 1 && index < last;
                    Argument::Spread(self.spread(&starred.value, early))
                }
                value => Argument::Positional(self.expr(value)),
            });
        }
        for keyword in keywords {
            let value = self.expr(&keyword.value);
            lowered.push(match &keyword.arg {
                Some(name) => Argument::Keyword(self.name(name), value),
                None => Argument::SpreadMapping(value),
            });
        }
        lowered
    }

    fn call(&mut self, node: &'a ast::ExprCall, span: Span) -> Temp {
        let callee = self.expr(&node.func);
        // `super()` reads the enclosing class and the first parameter, which the IR makes explicit.
        if let Expr::Name(name) = &*node.func
            && name.id.as_str() == "super"
            && node.arguments.is_empty()
            && self.scope().receiver
            && self.scope().class.is_some()
        {
            let receiver = self.load_slot(span, 0);
            return self.emit(span, call(callee, &[receiver]));
        }
        let arguments = self.arguments(&node.arguments);
        self.emit(span, OpKind::Call(callee, arguments.into()))
    }

    /// `a < b < c` evaluates `b` once and stops at the first false comparison.
    fn compare(&mut self, compare: &'a ast::ExprCompare, span: Span) -> Temp {
        let count = compare.ops.len().min(compare.comparators.len());
        let left = self.expr(&compare.left);
        let step = |this: &mut Self, index: usize, left: Temp| {
            let right = this.expr(&compare.comparators[index]);
            (this.emit(span, operate(comparison(compare.ops[index]), left, right)), right)
        };
        if count == 1 {
            return step(self, 0, left).0;
        }
        let slot = self.fresh_slot("<compare>");
        if count == 2 {
            let (test, right) = step(self, 0, left);
            self.store_slot(span, slot, test);
            let then = self.block(|this| {
                let value = step(this, 1, right).0;
                this.store_slot(span, slot, value);
            });
            self.when(span, test, then);
            return self.load_slot(span, slot);
        }
        let operand = self.fresh_slot("<operand>");
        self.chain(span, count, &|this, index, more| {
            let left = if index == 0 { left } else { this.load_slot(span, operand) };
            let (test, right) = step(this, index, left);
            this.store_slot(span, slot, test);
            if index + 1 < count {
                let then = this.block(|this| {
                    this.store_slot(span, operand, right);
                    more(this);
                });
                this.when(span, test, then);
            }
        });
        self.load_slot(span, slot)
    }

    /// `a and b` is `b if a else a`, with `a` evaluated once.
    fn bool_op(&mut self, bool_op: &'a ast::ExprBoolOp, span: Span) -> Temp {
        let slot = self.fresh_slot("<bool>");
        let values = &bool_op.values;
        self.chain(span, values.len(), &|this, index, more| {
            let value = this.expr(&values[index]);
            this.store_slot(span_of(&values[index]), slot, value);
            if index + 1 < values.len() {
                let more = this.block(more);
                let (then, orelse) = match bool_op.op {
                    ast::BoolOp::And => (more, Block::default()),
                    ast::BoolOp::Or => (Block::default(), more),
                };
                this.emit(span, OpKind::If { test: value, then, orelse });
            }
        });
        self.load_slot(span, slot)
    }

    fn store_into(&mut self, slot: u32, expr: &'a Expr) -> Block {
        self.block(|this| {
            let value = this.expr(expr);
            this.store_slot(span_of(expr), slot, value);
        })
    }
}

/// Whether evaluating an expression neither does anything nor depends on what was done before.
fn is_constant(expr: &Expr) -> bool {
    expr.is_literal_expr() || expr.is_lambda_expr()
}

/// Whether an iterable is read from a variable or container: its elements are assumed to exist already.
fn is_held(iterable: &Expr) -> bool {
    match iterable {
        Expr::Name(_) | Expr::Tuple(_) | Expr::List(_) => true,
        Expr::Attribute(attribute) => is_held(&attribute.value),
        Expr::Subscript(subscript) => is_held(&subscript.value),
        _ => false,
    }
}

/// The constant of a number literal.
fn number_constant(number: &ast::Number) -> Constant {
    match number {
        ast::Number::Int(int) => match int.as_i64() {
            Some(value) => Constant::Int(Box::new(value.into())),
            None => int.to_string().parse().map_or(Constant::BigInt, |value| Constant::Int(Box::new(value))),
        },
        ast::Number::Float(value) => Constant::Float(*value),
        ast::Number::Complex { imag, .. } => Constant::Imaginary(*imag),
    }
}
