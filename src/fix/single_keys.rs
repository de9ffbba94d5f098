//! Whether the value that a fix splits or folds is a single key: neither an array of keys nor an object that holds
//! keys.
//!
//! **Invariant:** the analysis of the program determines what an expression is, never its name.

use std::collections::BTreeSet;

use super::context::FixContext;
use super::tree;
use crate::models::{Effect, Words};
use crate::python::ast::{self, Expr, Stmt};
use crate::python::span_of;
use crate::text::{Edit, Span};

/// The key facts of the expressions of a file and of its fixed version.
pub struct SingleKeys<'a> {
    /// The file.
    pub text: &'a str,
    /// Expressions of the file that are no single key on some path, as numbers that keys are made from.
    pub before: &'a BTreeSet<Span>,
    /// The same of the fixed file.
    pub after: &'a BTreeSet<Span>,
    /// Expressions of the file that come from outside, and are not passed to anything that takes only single keys.
    pub unproven: &'a BTreeSet<Span>,
}

impl SingleKeys<'_> {
    /// Whether edits derive only from single keys, and replace only single keys by single keys.
    pub fn are_all_derived_from(&self, patched: &FixContext<'_>, edits: &[Edit]) -> bool {
        let inserted = inserted(edits);
        let rows = rows(patched);
        let is_exchanged = edits.iter().zip(&inserted).any(|(edit, new)| {
            let are_rows = || edit.content.split(", ").all(|name| rows.contains(name));
            let is_several = || self.after.contains(new) || are_rows();
            self.before.contains(&edit.span) && !is_several() && !self.is_sum(edit)
                || self.is_doubtful(&patched.models.words, edit.span)
        });
        let is_new = |call: &ast::ExprCall| {
            let span = span_of(call);
            inserted.iter().any(|new| new.start < span.end && span.start < new.end)
        };
        let derives = |call: &ast::ExprCall| {
            let callable = patched.model_of(&call.func);
            callable.is_some_and(|callable| matches!(callable.effect, Effect::Split { .. } | Effect::Fold { .. }))
        };
        let takes = |call: &ast::ExprCall| {
            let key = call.arguments.find_keyword("key").map(|keyword| &keyword.value);
            call.arguments.args.first().or(key).is_some_and(|key| self.after.contains(&span_of(key)))
        };
        let calls = tree::calls(patched.module);
        !is_exchanged && !calls.into_iter().any(|call| is_new(call) && takes(call) && derives(call))
    }

    /// Whether a number replaces another one: `seed + 1`.
    fn is_sum(&self, edit: &Edit) -> bool {
        let before = self.text.get(edit.span.start as usize..edit.span.end as usize).unwrap_or_default();
        edit.content.strip_prefix(before).is_some_and(|rest| rest.starts_with(" + "))
    }

    /// Whether an expression may be several keys: its name is plural, and `apply(variables, x, rngs=rngs)` takes a dict
    /// as well.
    fn is_doubtful(&self, words: &Words, span: Span) -> bool {
        let code = self.text.get(span.start as usize..span.end as usize).unwrap_or_default();
        words.is_keyish(code) && code.ends_with('s') && self.unproven.contains(&span)
    }
}

/// What `a_keys, b_keys = split(key, (2, n))` binds.
fn rows<'a>(patched: &FixContext<'a>) -> BTreeSet<&'a str> {
    let of = |call: &ast::ExprCall| {
        let step = patched.steps(span_of(call)).pop()?;
        let Stmt::Assign(assign) = step.statement() else { return None };
        let [Expr::Tuple(targets)] = &assign.targets[..] else { return None };
        let is_value = span_of(&*assign.value) == span_of(call) && patched.is_split(call);
        let has_rows = call.arguments.args.get(1).is_some_and(Expr::is_tuple_expr);
        (is_value && has_rows).then(|| targets.elts.iter().map(|target| patched.code(target)).collect::<Vec<_>>())
    };
    tree::calls(patched.module).into_iter().filter_map(of).flatten().collect()
}

/// The positions of the edits in the edited text.
fn inserted(edits: &[Edit]) -> Vec<Span> {
    let mut moved = 0_i64;
    let spans = edits.iter().map(|edit| {
        let start = u32::try_from(i64::from(edit.span.start) + moved).unwrap_or_default();
        let length = u32::try_from(edit.content.len()).unwrap_or_default();
        moved += i64::from(length) - i64::from(edit.span.len());
        Span::new(start, start.saturating_add(length))
    });
    spans.collect()
}
