//! Whether a program goes on when a number that Python knows becomes one that JAX traces.
//!
//! A traced number cannot be tested, converted, or used as a shape or a slice. If it only meets other traced values in arithmetic, or is
//! returned, the program did the same with the number that Python knew: the result was traced before.
//!
//! **Invariant:** a use that is not certainly harmless counts as harmful.

use super::context::FixContext;
use super::jax;
use super::names::{Action, Occurrence, ScopeId};
use super::tree;
use crate::models::Effect;
use crate::python::ast::{self, AnyNodeRef, Expr, Stmt};
use crate::python::span_of;
use crate::text::Span;

/// Most variables between the number and its use, and between a value and the parameter that it comes from.
const STEPS: u32 = 6;

/// The method that converts an array, and the other function that makes one.
const ASTYPE: &str = "astype";
const ARRAY: &str = "jax.numpy.array";

/// A number that becomes traced.
pub(super) struct Drawn<'a> {
    /// The traced function.
    pub def: &'a ast::StmtFunctionDef,
    /// Its scope.
    pub scope: ScopeId,
    /// Whether what the function returns becomes an array anyway.
    pub is_returned: bool,
    /// Whether it is an integer.
    pub is_integer: bool,
    /// The transform as written.
    pub traced: &'a str,
}

/// Whether the value of the expression at a span may be traced.
pub(super) fn stays_traced(cx: &FixContext<'_>, drawn: &Drawn<'_>, span: Span) -> bool {
    is_harmless(cx, drawn, span, STEPS)
}

fn is_harmless(cx: &FixContext<'_>, drawn: &Drawn<'_>, span: Span, left: u32) -> bool {
    let Some(left) = left.checked_sub(1) else { return false };
    let nodes = tree::ancestors(cx.module, span);
    let mut around = nodes.into_iter().rev().filter(|node| span_of(node) != span);
    let (Some(parent), beyond) = (around.next(), around.next()) else { return false };
    match parent {
        AnyNodeRef::ExprBinOp(sum) => {
            let other = if span_of(&*sum.left).covers(span) { &*sum.right } else { &*sum.left };
            // A list times an integer is a longer list.
            let is_number = matches!(other, Expr::NumberLiteral(_)) || !drawn.is_integer && is_named(other);
            is_traced(cx, drawn, other) || is_number && is_harmless(cx, drawn, span_of(sum), left)
        }
        AnyNodeRef::ExprUnaryOp(of) => of.op != ast::UnaryOp::Not && is_harmless(cx, drawn, span_of(of), left),
        // A comparison of arrays is a mask; that of numbers must not become a condition either.
        AnyNodeRef::ExprCompare(compare) => {
            let is_plain = compare.ops.len() == 1
                && !matches!(compare.ops[0], ast::CmpOp::Is | ast::CmpOp::IsNot | ast::CmpOp::In | ast::CmpOp::NotIn);
            is_plain && is_harmless(cx, drawn, span_of(compare), left)
        }
        AnyNodeRef::ExprAttribute(method) => match beyond {
            Some(AnyNodeRef::ExprCall(call)) if span_of(&*call.func) == span_of(method) => {
                method.attr.as_str() == ASTYPE && is_harmless(cx, drawn, span_of(call), left)
            }
            _ => false,
        },
        AnyNodeRef::Arguments(arguments) => match beyond {
            Some(AnyNodeRef::ExprCall(call)) => {
                if is_condition(cx, call, span) {
                    return tree::arguments(call).any(|other| is_traced(cx, drawn, other));
                }
                let is_first = arguments.args.first().is_some_and(|first| span_of(first) == span);
                let path = cx.path_of(&call.func);
                is_first
                    && path.is_some_and(|path| path == jax::ASARRAY || path == ARRAY)
                    && is_harmless(cx, drawn, span_of(call), left)
            }
            _ => false,
        },
        AnyNodeRef::ExprSubscript(item) => {
            span_of(&*item.slice).covers(span) && drawn.is_integer && is_traced(cx, drawn, &item.value)
        }
        AnyNodeRef::ExprTuple(tuple) => match beyond {
            Some(AnyNodeRef::ExprSubscript(item)) => {
                span_of(&*item.slice) == span_of(tuple) && drawn.is_integer && is_traced(cx, drawn, &item.value)
            }
            Some(AnyNodeRef::StmtReturn(_)) => drawn.is_returned,
            _ => false,
        },
        AnyNodeRef::StmtReturn(_) => drawn.is_returned,
        // `x += noise`
        AnyNodeRef::StmtAugAssign(assign) => assign.target.is_name_expr() && is_traced(cx, drawn, &assign.target),
        AnyNodeRef::StmtAssign(assign) => match &assign.targets[..] {
            [Expr::Name(name)] => {
                let own = occurrences(cx, drawn, name.id.as_str());
                let is_bound_once = own.iter().filter(|one| one.action != Action::Read).count() == 1;
                let mut reads = own.iter().filter(|one| one.action == Action::Read);
                is_bound_once && reads.all(|one| one.scope == drawn.scope && is_harmless(cx, drawn, one.span, left))
            }
            _ => false,
        },
        _ => false,
    }
}

/// Whether an argument chooses between others, element by element: the condition of `where`.
fn is_condition(cx: &FixContext<'_>, call: &ast::ExprCall, span: Span) -> bool {
    let Some(callable) = cx.model_of(&call.func) else { return false };
    let Effect::Shape { chosen: Some(chosen), .. } = &callable.effect else { return false };
    let position = call.arguments.args.iter().position(|one| span_of(one) == span);
    position.is_some() && callable.position(chosen) == position && call.arguments.keywords.is_empty()
}

/// A name or an attribute, which is a number where it meets one that is not an integer.
fn is_named(expr: &Expr) -> bool {
    matches!(expr, Expr::Name(_) | Expr::Attribute(_))
}

/// The occurrences of a variable of the traced function.
fn occurrences<'c>(cx: &'c FixContext<'_>, drawn: &Drawn<'_>, name: &str) -> Vec<&'c Occurrence> {
    let own = |one: &&Occurrence| cx.names.binder(one.scope, name) == Some(drawn.scope);
    cx.names.occurrences(name).iter().filter(own).collect()
}

/// Whether the value of an expression is certainly traced.
fn is_traced(cx: &FixContext<'_>, drawn: &Drawn<'_>, expr: &Expr) -> bool {
    TracedValue { cx, drawn }.is_traced(expr, &[], STEPS)
}

struct TracedValue<'b, 'a> {
    cx: &'b FixContext<'a>,
    drawn: &'b Drawn<'a>,
}

impl TracedValue<'_, '_> {
    /// Whether an expression is, if some variables are.
    fn is_traced(&self, expr: &Expr, assumed: &[&str], left: u32) -> bool {
        let Some(left) = left.checked_sub(1) else { return false };
        let of = |expr: &Expr| self.is_traced(expr, assumed, left);
        match expr {
            Expr::Name(name) => self.is_variable(name.id.as_str(), assumed, left),
            Expr::Subscript(item) => of(&item.value),
            Expr::UnaryOp(operation) => operation.op != ast::UnaryOp::Not && of(&operation.operand),
            Expr::BinOp(sum) => of(&sum.left) || of(&sum.right),
            Expr::Call(call) => match &*call.func {
                Expr::Attribute(method) if self.cx.path_of(&method.value).is_none() => of(&method.value),
                function => {
                    let effect = self.cx.model_of(function).map(|callable| &callable.effect);
                    let makes_array = matches!(effect, Some(Effect::Pure { numeric: true, .. } | Effect::Shape { .. }));
                    makes_array && tree::arguments(call).any(of)
                }
            },
            _ => false,
        }
    }

    /// Whether all values of a variable are: `x = x + 1` keeps what the parameter is.
    fn is_variable(&self, name: &str, assumed: &[&str], left: u32) -> bool {
        if assumed.contains(&name) {
            return true;
        }
        let within = [assumed, &[name]].concat();
        let own = occurrences(self.cx, self.drawn, name);
        let mut bound = own.iter().filter(|one| one.action != Action::Read).peekable();
        let is_bound = bound.peek().is_some();
        let mut is_kept = true;
        let mut is_new = false;
        for one in bound {
            match self.cx.steps(one.span).pop().map(tree::Step::statement) {
                _ if one.action == Action::Parameter => is_new |= is_argument(self.drawn, name),
                Some(Stmt::Assign(assign)) if assign.targets.iter().all(Expr::is_name_expr) => {
                    is_new |= self.is_traced(&assign.value, assumed, left);
                    is_kept &= self.is_traced(&assign.value, &within, left);
                }
                Some(Stmt::AugAssign(_)) => {}
                _ => is_kept = false,
            }
            is_kept &= one.action != Action::Parameter || is_argument(self.drawn, name);
        }
        is_bound && is_kept && is_new
    }
}

/// Whether a parameter of the traced function is an argument of the trace: it has no default, and no option makes it static.
fn is_argument(drawn: &Drawn<'_>, name: &str) -> bool {
    let mut parameters = drawn.def.parameters.iter_non_variadic_params();
    let is_plain = parameters.any(|one| one.parameter.name.as_str() == name && one.default.is_none());
    let says = |word: &str| drawn.traced.contains(word);
    let is_static = says("static") && (says(name) || drawn.traced.contains(|one: char| one.is_ascii_digit()));
    is_plain && !is_static && !says("nondiff") && name != "self"
}
