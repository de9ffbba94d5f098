//! Keys of either kind that a public function takes (KEY306): a check at its top requires typed ones.
//!
//! **Invariant:** the check comes before all statements but a docstring, and changes nothing for typed keys.

use super::context::{FixContext, Proof, Proposal};
use super::jax;
use super::layout;
use super::tree;
use crate::finding::{Finding, RuleId};
use crate::python::ast::{self, AnyNodeRef, Expr, Stmt};
use crate::text::Edit;

/// `if not issubdtype(key.dtype, prng_key): raise TypeError(…)`
pub(super) fn propose(cx: &FixContext<'_>, findings: &[Finding], index: usize) -> Vec<Proposal> {
    checked(cx, findings, index).into_iter().collect()
}

fn checked(cx: &FixContext<'_>, findings: &[Finding], index: usize) -> Option<Proposal> {
    let finding = &findings[index];
    let name = finding.fix_hints.as_ref()?.written[0].as_deref()?;
    let around = tree::ancestors(cx.module, cx.here(finding.primary)?);
    let def = around.into_iter().rev().find_map(|node| match node {
        AnyNodeRef::StmtFunctionDef(def) => Some(def),
        _ => None,
    })?;
    let is_docstring =
        |statement: &Stmt| matches!(statement, Stmt::Expr(expr) if matches!(&*expr.value, Expr::StringLiteral(_)));
    let first = def.body.iter().find(|statement| !is_docstring(statement))?;
    let start = tree::start_of(first);
    let indent = layout::indentation(cx.text, start)?;
    let (asks, dtype) = (cx.spelled(start, jax::ISSUBDTYPE, None)?, cx.spelled(start, jax::PRNG_KEY, None)?);
    let end = layout::line_end(cx.text);
    let step = if indent.contains('\t') { "\t" } else { "    " };
    let optional = if may_be_none(def, name) { format!("{name} is not None and ") } else { String::new() };
    let said = format!("{name} must be a typed key (see jax.random.key)");
    let check = format!(
        "if {optional}not {asks}({name}.dtype, {dtype}):{end}{indent}{step}raise TypeError(\"{said}\"){end}{indent}"
    );
    let message = format!("require a typed key for `{name}`");
    let is_same = |other: &Finding| other.rule == RuleId::UntypedKeyAccepted && other.primary == finding.primary;
    let resolves = cx.matching(findings, is_same);
    Some(Proposal::new(message, vec![Edit::insert(start, check)], resolves).proved_by(Proof::Nothing))
}

/// Whether a parameter has a default of `None`.
fn may_be_none(def: &ast::StmtFunctionDef, name: &str) -> bool {
    let mut parameters = def.parameters.iter_non_variadic_params();
    parameters.any(|parameter| {
        parameter.parameter.name.as_str() == name
            && parameter.default.as_deref().is_some_and(|default| matches!(default, Expr::NoneLiteral(_)))
    })
}
