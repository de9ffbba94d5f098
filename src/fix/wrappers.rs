//! Objects with `__jax_array__` around keys: converted where a key is needed (KEY501), registered where they cross a transform (KEY502).
//!
//! **Invariant:** a class is registered only if its constructor only stores its arguments, so that instances can be rebuilt from their
//! parts.

use super::context::{FixContext, Proof, Proposal};
use super::jax;
use super::layout;
use super::tree;
use crate::finding::{Finding, RuleId};
use crate::models::Construct;
use crate::python::ast::{self, AnyNodeRef, Expr, Stmt};
use crate::python::span_of;
use crate::text::{Edit, Span};

/// `normal(box)` becomes `normal(jnp.asarray(box))`.
pub(super) fn converted(cx: &FixContext<'_>, findings: &[Finding], index: usize) -> Vec<Proposal> {
    conversion(cx, findings, index).into_iter().collect()
}

fn conversion(cx: &FixContext<'_>, findings: &[Finding], index: usize) -> Option<Proposal> {
    let finding = &findings[index];
    let fix_hints = finding.fix_hints.as_ref()?;
    let (class, _) = fix_hints.wrapper.as_ref()?;
    let Expr::Call(call) = tree::expression_at(cx.module, cx.here(finding.primary)?)? else { return None };
    let is_it = |expr: &Expr| match (&fix_hints.written[0], expr) {
        (Some(written), _) => cx.code(expr) == written,
        (None, Expr::Call(made)) => cx.code(&made.func).rsplit('.').next() == Some(class),
        _ => false,
    };
    let mut given: Vec<&Expr> = Vec::new();
    for argument in call.arguments.args.iter().chain(call.arguments.keywords.iter().map(|keyword| &keyword.value)) {
        match argument {
            Expr::List(list) => given.extend(&list.elts),
            Expr::Tuple(tuple) => given.extend(&tuple.elts),
            other => given.push(other),
        }
    }
    let objects: Vec<&Expr> = given.into_iter().filter(|argument| is_it(argument)).collect();
    let at = span_of(objects.first().copied()?).start;
    let mut edits = Vec::new();
    let asarray = if let Some(asarray) = cx.spelled(at, jax::ASARRAY, None) {
        asarray
    } else {
        edits.push(import(cx)?);
        "jnp.asarray".to_owned()
    };
    for object in &objects {
        // The object itself is unchanged.
        let span = span_of(*object);
        edits.extend([Edit::insert(span.start, format!("{asarray}(")), Edit::insert(span.end, ")")]);
    }
    let message = format!("convert `{}` to its key", cx.code(objects[0]));
    Some(Proposal::new(message, edits, vec![index]).proved_by(Proof::Own { instead: None }))
}

/// `import jax.numpy as jnp` before the first import of the library, if the file uses the name for nothing else.
fn import(cx: &FixContext<'_>) -> Option<Edit> {
    let import = cx.import_before_others(&format!("import {}.numpy as jnp", cx.imports.root))?;
    cx.names.occurrences("jnp").is_empty().then_some(import)
}

/// The class becomes a registered pytree.
pub(super) fn registered(cx: &FixContext<'_>, findings: &[Finding], index: usize) -> Vec<Proposal> {
    registration(cx, findings, index).into_iter().collect()
}

fn registration(cx: &FixContext<'_>, findings: &[Finding], index: usize) -> Option<Proposal> {
    let (_, class_at) = findings[index].fix_hints.as_ref()?.wrapper.as_ref()?;
    let class = tree::ancestors(cx.module, cx.here(*class_at)?).into_iter().rev().find_map(|node| match node {
        AnyNodeRef::StmtClassDef(class) => Some(class),
        _ => None,
    })?;
    let name = class.name.as_str();
    let of_class = |other: &Finding| {
        let wrapper = other.fix_hints.as_ref().and_then(|fix_hints| fix_hints.wrapper.as_ref());
        other.rule == RuleId::ArrayWrapperCrossesTransform && wrapper.is_some_and(|(_, at)| at == class_at)
    };
    let edits = if is_dataclass(cx, class) { as_dataclass(cx, class) } else { as_node(cx, class) }?;
    let resolves = cx.matching(findings, of_class);
    let message = format!("register `{name}` as a pytree");
    Some(Proposal::new(message, edits, resolves).proved_by(Proof::Own { instead: None }))
}

fn is_dataclass(cx: &FixContext<'_>, class: &ast::StmtClassDef) -> bool {
    class.decorator_list.iter().any(|decorator| {
        let function = match &decorator.expression {
            Expr::Call(call) => &*call.func,
            other => other,
        };
        let construct = cx.path_of(function).and_then(|path| Some(&cx.models.class(&path)?.construct));
        matches!(construct, Some(Construct::Record { .. }))
    })
}

/// The line of a decorator before a class.
fn decorator(cx: &FixContext<'_>, class: &ast::StmtClassDef, function: &str) -> Option<Edit> {
    let start = class.decorator_list.first().map_or(span_of(class).start, |first| span_of(first).start);
    let written = cx.spelled(start, function, None)?;
    layout::indentation(cx.text, start)?;
    Some(layout::before(cx.text, start, &format!("@{written}")))
}

/// Fields that hold text or other values that are not numbers are not array leaves.
fn as_dataclass(cx: &FixContext<'_>, class: &ast::StmtClassDef) -> Option<Vec<Edit>> {
    let is_array = |annotation: &Expr| {
        let name = cx.code(annotation).rsplit('.').next().unwrap_or_default();
        matches!(name, "Array" | "ArrayLike" | "ndarray" | "int" | "float" | "PRNGKey" | "KeyArray" | "PRNGKeyArray")
    };
    let mut fields = class.body.iter().filter_map(|statement| match statement {
        Stmt::AnnAssign(field) => Some(&*field.annotation),
        _ => None,
    });
    let plain = class.arguments.as_deref().is_none_or(ast::Arguments::is_empty);
    (plain && fields.all(is_array)).then_some(())?;
    Some(vec![decorator(cx, class, jax::REGISTER_DATACLASS)?])
}

/// The decorator, and the two methods that it needs.
fn as_node(cx: &FixContext<'_>, class: &ast::StmtClassDef) -> Option<Vec<Edit>> {
    let parts = stored_parts(cx, class)?;
    let last = class.body.last()?;
    let indent = layout::indentation(cx.text, span_of(class.body.first()?).start)?;
    let decorated = decorator(cx, class, jax::REGISTER_CLASS)?;
    let end = layout::line_end(cx.text);
    let step = if indent.contains('\t') { "\t" } else { "    " };
    let listed = |is_text: bool| -> String {
        let of_kind: Vec<String> = parts
            .iter()
            .filter(|part| part.is_text == is_text)
            .map(|part| format!("self.{}", part.attribute))
            .collect();
        let comma = if of_kind.len() == 1 { "," } else { "" };
        if is_text && of_kind.is_empty() { "None".to_owned() } else { format!("({}{comma})", of_kind.join(", ")) }
    };
    let lines = [
        String::new(),
        format!("{indent}def tree_flatten(self):"),
        format!("{indent}{step}return {}, {}", listed(false), listed(true)),
        String::new(),
        format!("{indent}@classmethod"),
        format!("{indent}def tree_unflatten(cls, aux_data, children):"),
        format!("{indent}{step}return cls({})", rebuilt(&parts)),
    ];
    let content = format!("{end}{}", lines.join(end));
    let at = line_end_after(cx.text, span_of(last));
    Some(vec![decorated, Edit::insert(at, content)])
}

/// The end of the line that a statement ends on, so that a comment there stays with it.
fn line_end_after(text: &str, statement: Span) -> u32 {
    let rest = text.get(statement.end as usize..).unwrap_or_default();
    let more = rest.find(['\n', '\r']).unwrap_or(rest.len());
    statement.end + u32::try_from(more).unwrap_or(0)
}

/// A parameter of a constructor.
struct Part<'a> {
    /// The attribute in which it is stored.
    attribute: &'a str,
    /// Whether it is text or a flag, which is no leaf of a tree.
    is_text: bool,
}

/// The arguments that rebuild an object from its children and from what is no leaf.
fn rebuilt(parts: &[Part<'_>]) -> String {
    let texts = parts.iter().filter(|part| part.is_text).count();
    if texts == 0 {
        return "*children".to_owned();
    }
    if parts.iter().skip(parts.len() - texts).all(|part| part.is_text) {
        return "*children, *aux_data".to_owned();
    }
    let (mut children, mut others) = (0.., 0..);
    let numbered = parts.iter().map(|part| {
        let (name, number) = if part.is_text { ("aux_data", others.next()) } else { ("children", children.next()) };
        format!("{name}[{}]", number.unwrap_or(0))
    });
    numbered.collect::<Vec<_>>().join(", ")
}

/// Whether an expression is text or a flag.
fn is_text(expr: &Expr) -> bool {
    matches!(expr, Expr::StringLiteral(_) | Expr::FString(_) | Expr::BytesLiteral(_) | Expr::BooleanLiteral(_))
}

/// Whether a parameter of a class's constructor is text or a flag: by its annotation, its default, or what the file passes for it.
fn takes_text(
    cx: &FixContext<'_>,
    class: &ast::StmtClassDef,
    (at, parameter): (usize, &ast::ParameterWithDefault),
) -> bool {
    let name = parameter.parameter.name.as_str();
    let says = |annotation: &Expr| {
        let annotation = tree::expressions_within(annotation);
        annotation
            .iter()
            .any(|part| matches!(part, Expr::Name(name) if matches!(name.id.as_str(), "str" | "bool" | "bytes")))
    };
    let is_passed = |call: &&ast::ExprCall| {
        let is_it = matches!(&*call.func, Expr::Name(of) if of.id == class.name.id);
        let by_name = || {
            let named = |keyword: &&ast::Keyword| keyword.arg.as_ref().is_some_and(|arg| arg.as_str() == name);
            call.arguments.keywords.iter().find(named).map(|keyword| &keyword.value)
        };
        is_it && call.arguments.args.get(at).or_else(by_name).is_some_and(is_text)
    };
    parameter.parameter.annotation.as_deref().is_some_and(says)
        || parameter.default.as_deref().is_some_and(is_text)
        || tree::calls(cx.module).iter().any(is_passed)
}

/// What the class's own constructor stores, in the order of its parameters; `None` if it does anything else.
fn stored_parts<'a>(cx: &FixContext<'_>, class: &'a ast::StmtClassDef) -> Option<Vec<Part<'a>>> {
    if class.arguments.as_deref().is_some_and(|arguments| !arguments.is_empty()) {
        return None;
    }
    let constructor = class.body.iter().find_map(|statement| match statement {
        Stmt::FunctionDef(def) if def.name.as_str() == "__init__" => Some(def),
        _ => None,
    })?;
    let parameters = &constructor.parameters;
    if parameters.vararg.is_some() || parameters.kwarg.is_some() || !parameters.kwonlyargs.is_empty() {
        return None;
    }
    let mut given = parameters.iter_non_variadic_params();
    let receiver = given.next()?.parameter.name.as_str();
    let mut stored: Vec<(&str, &str)> = Vec::new();
    for statement in &constructor.body {
        let (target, value) = match statement {
            Stmt::Assign(assign) if assign.targets.len() == 1 => (&assign.targets[0], &*assign.value),
            Stmt::AnnAssign(assign) => (&*assign.target, assign.value.as_deref()?),
            Stmt::Expr(expr) if matches!(&*expr.value, Expr::StringLiteral(_)) => continue,
            _ => return None,
        };
        let (Expr::Attribute(attribute), Expr::Name(value)) = (target, value) else { return None };
        let is_own = matches!(&*attribute.value, Expr::Name(of) if of.id.as_str() == receiver);
        is_own.then(|| stored.push((value.id.as_str(), attribute.attr.as_str())))?;
    }
    let part = |(at, parameter): (usize, &'a ast::ParameterWithDefault)| {
        let (_, attribute) = stored.iter().find(|(value, _)| *value == parameter.parameter.name.as_str())?;
        Some(Part { attribute, is_text: takes_text(cx, class, (at, parameter)) })
    };
    let parts: Option<Vec<Part<'a>>> = given.enumerate().map(part).collect();
    parts.filter(|parts| parts.iter().any(|part| !part.is_text) && parts.len() == stored.len())
}
