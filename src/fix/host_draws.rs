//! A number that Python draws while a function is traced (KEY403): a sampler of JAX draws it, from a key that the function has or gets from its
//! callers.
//!
//! **Invariant:** the distribution is the same, and so is what the program can do with the number: it only meets values that are traced
//! (`traced_values.rs`).

use super::callers::{CHOICES, keys_of, parameter_name, passed, split_before};
use super::context::{FixContext, Proof, Proposal, is_plain};
use super::jax;
use super::names::ScopeId;
use super::naming::Reserved;
use super::traced_values::{Drawn, stays_traced};
use super::tree;
use super::writer::statement;
use crate::finding::{Finding, Place};
use crate::models::{Effect, Equivalent, Runs};
use crate::python::ast::{self, Expr, Stmt};
use crate::python::span_of;
use crate::text::{Edit, Span};

/// The parameters of samplers for bounds and shapes.
const MINVAL: &str = "minval";
const MAXVAL: &str = "maxval";
const SHAPE: &str = "shape";

/// `x + np.random.normal(size=x.shape)` becomes `x + jax.random.normal(subkey, x.shape)`.
pub(super) fn propose(cx: &FixContext<'_>, findings: &[Finding], index: usize) -> Vec<Proposal> {
    let Some(draw) = HostDraw::of(cx, &findings[index]) else { return Vec::new() };
    if let Some(proposal) = draw.with_own_key(cx, index) {
        return vec![proposal];
    }
    let mut proposals: Vec<Proposal> =
        (0..CHOICES).filter_map(|choice| draw.with_parameter(cx, index, choice)).collect();
    proposals.dedup_by(|one, other| one.edits == other.edits);
    proposals
}

/// A draw that a sampler can make.
struct HostDraw<'a> {
    place: Place,
    call: &'a ast::ExprCall,
    def: &'a ast::StmtFunctionDef,
    scope: ScopeId,
    equivalent: &'a Equivalent,
    shape: Option<String>,
}

impl<'a> HostDraw<'a> {
    fn of(cx: &FixContext<'a>, finding: &Finding) -> Option<Self> {
        let span = cx.here(finding.primary)?;
        let call = tree::call_at(cx.module, span)?;
        let equivalent = cx.models.equivalent(&cx.path_of(&call.func)?)?;
        let def = tree::function_around(cx.module, span)?;
        let scope = cx.names.frame_at(span.start)?;
        let is_own = finding.function.rsplit('.').next() == Some(def.name.as_str());
        if cx.names.scopes[scope].full != span_of(def) || !is_own {
            return None;
        }
        let shape = shape(cx, equivalent, call)?;
        let traced = cx.here(finding.related.last()?.place)?;
        let runs = runs(cx, traced);
        // A plain number has the type of what it meets, and JAX's has its own: a carry must keep its type.
        if shape.is_none() && !matches!(runs, Some(Runs::Once | Runs::Lanes)) {
            return None;
        }
        let drawn = Drawn {
            def,
            scope,
            is_returned: runs == Some(Runs::Once),
            is_integer: equivalent.integers,
            traced: cx.slice(traced),
        };
        let draw = Self { place: finding.primary, call, def, scope, equivalent, shape };
        stays_traced(cx, &drawn, span).then_some(draw)
    }

    /// The draw from a key that the function has.
    fn with_own_key(&self, cx: &FixContext<'a>, index: usize) -> Option<Proposal> {
        let (start, range) = self.statement(cx)?;
        let key = *keys_of(cx, self.scope, start).first()?;
        let start = split_before(cx, self.scope, key, start);
        let (split, names) = self.split(cx, key, Span::new(start, range.end))?;
        let edits = vec![cx.before(start, &split), self.drawn_from(cx, &names.first()?.name)?];
        Some(self.proposal(edits, index, names, Vec::new()))
    }

    /// The draw from a new parameter.
    fn with_parameter(&self, cx: &FixContext<'a>, index: usize, choice: usize) -> Option<Proposal> {
        let parameter = parameter_name(cx, self.scope)?;
        let passed = passed(cx, self.def, parameter, choice, None)?;
        let mut edits = passed.edits;
        let mut names = passed.names;
        let full = span_of(self.def);
        let way = cx.steps(span_of(self.call));
        let mut own = way.iter().map(|step| step.statement()).filter(|step| full.covers(span_of(*step)));
        if own.any(|statement| matches!(statement, Stmt::For(_) | Stmt::While(_))) {
            let (start, range) = self.statement(cx)?;
            let (split, own) = self.split(cx, parameter, range)?;
            edits.extend([cx.before(start, &split), self.drawn_from(cx, &own.first()?.name)?]);
            names.extend(own);
        } else {
            edits.push(self.drawn_from(cx, parameter)?);
        }
        Some(self.proposal(edits, index, names, passed.places))
    }

    fn proposal(&self, edits: Vec<Edit>, index: usize, names: Vec<Reserved>, calls: Vec<Place>) -> Proposal {
        let mut places = vec![self.place];
        places.extend(calls);
        let message =
            format!("draw with `{}`, which draws anew in each call; the numbers change", self.equivalent.sampler);
        Proposal::new(message, edits, vec![index]).proved_by(Proof::NewDraws(places)).naming(names)
    }

    /// The simple statement around the draw.
    fn statement(&self, cx: &FixContext<'_>) -> Option<(u32, Span)> {
        let statement = cx.steps(span_of(self.call)).pop()?.statement();
        let span = span_of(statement);
        let is_simple = matches!(
            statement,
            Stmt::Assign(_) | Stmt::AnnAssign(_) | Stmt::AugAssign(_) | Stmt::Expr(_) | Stmt::Return(_)
        );
        is_simple.then_some((span.start, span))
    }

    /// The statement that makes a child of a key for the draw.
    fn split(&self, cx: &FixContext<'_>, key: &str, range: Span) -> Option<(String, Vec<Reserved>)> {
        let names = cx.fresh_within(self.scope, key, 1, range);
        let split = cx.spelled(range.start, jax::SPLIT, None)?;
        Some((statement(key, &split, &names, true), cx.claim_within(self.scope, &names, range)))
    }

    /// The edit that draws from a key.
    fn drawn_from(&self, cx: &FixContext<'_>, key: &str) -> Option<Edit> {
        let span = span_of(self.call);
        let of = self.equivalent;
        let sampler = cx.spelled(span.start, &of.sampler, None)?;
        let model = cx.models.callable(&of.sampler)?;
        let given = |name: &Option<String>| {
            name.as_ref().and_then(|name| argument(of, self.call, name)).map(|value| cx.code(value))
        };
        let mut arguments = vec![key.to_owned()];
        for name in &of.own {
            arguments.push(cx.code(argument(of, self.call, name)?).to_owned());
        }
        let bounds = bounds(cx, of, self.call)?;
        let follow =
            model.position(MINVAL).is_some_and(|position| Some(position) == model.position(SHAPE).map(|at| at + 1));
        match &self.shape {
            Some(shape) => arguments.push(shape.clone()),
            None if follow && bounds.is_some() => arguments.push("()".to_owned()),
            None => {}
        }
        if let Some((low, high)) = bounds {
            if follow {
                arguments.extend([low, high]);
            } else {
                arguments.extend([format!("{MINVAL}={low}"), format!("{MAXVAL}={high}")]);
            }
        }
        let mut code = format!("{sampler}({})", arguments.join(", "));
        let scale = given(&of.scale).filter(|scale| !is_number(scale, 1));
        let loc = given(&of.loc).filter(|loc| !is_number(loc, 0));
        if let Some(scale) = scale {
            code = format!("{scale} * {code}");
        }
        if let Some(loc) = loc {
            code = format!("{loc} + {code}");
        }
        let is_sum = scale.is_some() || loc.is_some();
        let stands_alone = cx.steps(span).pop().is_some_and(|step| match step.statement() {
            Stmt::Assign(assign) => span_of(&*assign.value) == span,
            _ => false,
        });
        Some(Edit::replace(span, if is_sum && !stands_alone { format!("({code})") } else { code }))
    }
}

/// The argument of a call for a parameter of the host's function.
fn argument<'e>(of: &Equivalent, call: &'e ast::ExprCall, name: &str) -> Option<&'e Expr> {
    let position = of.params.iter().position(|param| param == name)?;
    let named = || call.arguments.find_keyword(name).map(|keyword| &keyword.value);
    call.arguments.args.get(position).or_else(named).filter(|value| !value.is_none_literal_expr())
}

/// The shape of the draw as JAX takes it, `None` within for one number; `None` if it is not known what a call means.
#[expect(clippy::option_option, reason = "what is not known differs from what is not given")]
fn shape(cx: &FixContext<'_>, of: &Equivalent, call: &ast::ExprCall) -> Option<Option<String>> {
    let extents = of.shape.as_deref().filter(|shape| shape.starts_with('*'));
    // `rand(*x.shape)`
    if let ([Expr::Starred(of)], [], true) = (&call.arguments.args[..], &call.arguments.keywords[..], extents.is_some())
    {
        return is_tuple(&of.value).then(|| Some(cx.code(&of.value).to_owned()));
    }
    let is_known = |keyword: &ast::Keyword| {
        keyword.arg.as_ref().is_some_and(|arg| of.params.iter().any(|param| param == arg.as_str()))
    };
    let is_plain =
        call.arguments.keywords.iter().all(is_known) && !call.arguments.args.iter().any(Expr::is_starred_expr);
    if !is_plain || extents.is_none() && call.arguments.args.len() > of.params.len() {
        return None;
    }
    let own = [&of.loc, &of.scale].into_iter().flatten().chain(&of.own).chain(&of.bounds);
    let values: Vec<&Expr> = own.filter_map(|name| argument(of, call, name)).collect();
    let given = of.shape.as_deref().filter(|_| extents.is_none()).and_then(|name| argument(of, call, name));
    if extents.is_some() {
        let given: Vec<&str> = call.arguments.args.iter().map(|extent| cx.code(extent)).collect();
        return Some(match given[..] {
            [] => None,
            [one] => Some(format!("({one},)")),
            _ => Some(format!("({})", given.join(", "))),
        });
    }
    // Arrays as parameters give an array without a shape.
    let is_scalar = |value: &&Expr| if given.is_some() { is_operand(value) } else { is_literal(cx, value) };
    if !values.iter().all(is_scalar) {
        return None;
    }
    match given {
        None => Some(None),
        Some(size) if is_extent(cx, size) => Some(Some(format!("({},)", cx.code(size)))),
        Some(size) if is_tuple(size) => Some(Some(cx.code(size).to_owned())),
        Some(_) => None,
    }
}

/// Whether an expression is an operand without parentheses: a number, a name, an item.
fn is_operand(expr: &Expr) -> bool {
    match expr {
        Expr::NumberLiteral(_) => true,
        Expr::UnaryOp(of) => of.operand.is_number_literal_expr(),
        other => is_plain(other),
    }
}

/// Whether an expression is certainly one number: a literal, or an extent of an array.
fn is_literal(cx: &FixContext<'_>, expr: &Expr) -> bool {
    matches!(expr, Expr::NumberLiteral(_))
        || matches!(expr, Expr::UnaryOp(of) if of.operand.is_number_literal_expr())
        || is_extent(cx, expr)
}

/// Whether an expression is one integer: `8`, `x.shape[0]`, `len(x)`.
fn is_extent(cx: &FixContext<'_>, expr: &Expr) -> bool {
    match expr {
        Expr::NumberLiteral(number) => matches!(number.value, ast::Number::Int(_)),
        Expr::Subscript(item) => is_shape(&item.value) && !item.slice.is_slice_expr() && !item.slice.is_tuple_expr(),
        Expr::Call(call) => cx.is_builtin(&call.func, "len"),
        _ => false,
    }
}

/// Whether an expression is a tuple of extents.
fn is_tuple(expr: &Expr) -> bool {
    match expr {
        Expr::Tuple(tuple) => !tuple.elts.iter().any(Expr::is_starred_expr),
        Expr::Subscript(part) => is_shape(&part.value) && part.slice.is_slice_expr(),
        Expr::BinOp(sum) => sum.op == ast::Operator::Add && is_tuple(&sum.left) && is_tuple(&sum.right),
        other => is_shape(other),
    }
}

fn is_shape(expr: &Expr) -> bool {
    matches!(expr, Expr::Attribute(attribute) if attribute.attr.as_str() == SHAPE)
}

/// The lowest number and the one above the highest, if the sampler has bounds and the call gives some.
#[expect(clippy::option_option, reason = "what is not known differs from what is not given")]
fn bounds(cx: &FixContext<'_>, of: &Equivalent, call: &ast::ExprCall) -> Option<Option<(String, String)>> {
    let [low, high] = &of.bounds[..] else { return Some(None) };
    let code = |value: &Expr| cx.code(value).to_owned();
    let above = |high: &Expr| {
        if !of.inclusive {
            return Some(code(high));
        }
        match code(high).parse::<i64>() {
            Ok(number) => Some(number.checked_add(1)?.to_string()),
            Err(_) => Some(format!("{} + 1", code(high))),
        }
    };
    Some(match (argument(of, call, low), argument(of, call, high)) {
        (None, None) => None,
        (Some(only), None) if of.single_is_high => Some(("0".to_owned(), above(only)?)),
        (Some(low), Some(high)) => Some((code(low), above(high)?)),
        // The other bound is a default, which only the host's function knows.
        _ => return None,
    })
}

/// Whether the code of an expression is a number.
fn is_number(code: &str, number: u8) -> bool {
    code.parse::<f64>().is_ok_and(|value| (value - f64::from(number)).abs() < f64::EPSILON)
}

/// How often the transform at a place, a call or a decorator, runs its function.
fn runs(cx: &FixContext<'_>, place: Span) -> Option<Runs> {
    let transform = |function: &Expr| match &cx.model_of(function)?.effect {
        Effect::Transform(transform) => Some(transform.runs),
        _ => None,
    };
    match tree::expression_at(cx.module, place)? {
        // `partial(jax.jit, …)`
        Expr::Call(call) => transform(&call.func).or_else(|| transform(call.arguments.args.first()?)),
        decorator => transform(decorator),
    }
}
