//! Children that there are already: one that nothing has used yet is drawn from, and the next key comes from the parent that was
//! kept for it.
//!
//! **Invariant:** nothing is derived that the file does not derive already.

use super::alive::Variable;
use super::bench::{Bench, Proof, Proposal};
use super::names::{Does, ScopeId, ScopeKind};
use super::reuse::Use;
use super::tree::Step;
use crate::finding::{Applicability, Finding};
use crate::python::ast::{self, Expr, Stmt};
use crate::python::span_of;
use crate::text::Edit;

/// The call of `split` whose children a statement binds to names, and those names.
fn split_of<'a>(bench: &Bench<'_>, statement: &'a Stmt) -> Option<(&'a ast::ExprCall, Vec<&'a ast::ExprName>)> {
    let Stmt::Assign(assign) = statement else { return None };
    let ([Expr::Tuple(targets)], Expr::Call(call)) = (&assign.targets[..], &*assign.value) else { return None };
    let names: Option<Vec<_>> = targets.elts.iter().map(Expr::as_name_expr).collect();
    let is_split = bench.path_of(&call.func).is_some_and(|path| path == "jax.random.split");
    names.filter(|_| is_split).map(|names| (call, names))
}

/// `key, a = split(key)` whose `a` nothing reads, before a draw from `key`: `a` was made for it.
pub(super) fn idle(bench: &Bench<'_>, uses: &[Use<'_>], mends: &[usize]) -> Option<Proposal> {
    uses.iter().find_map(|one| {
        let Expr::Name(key) = one.key else { return None };
        let key = key.id.as_str();
        let scope = bench.names.frame_at(span_of(one.key).start)?;
        let is_split = bench.path_of(&one.call.func).is_some_and(|path| path == "jax.random.split");
        let (step, names) = made_by(bench, scope, key, one).filter(|_| !is_split)?;
        let after = Step { suite: step.suite, index: step.index + 1 };
        let mut way = bench.steps(span_of(step.statement()));
        way.pop();
        way.push(after);
        // What other modules draw from is used.
        let is_global = bench.names.scopes[scope].kind == ScopeKind::Module;
        let is_own = |name: &str| !is_global || !bench.is_exported(name);
        let is_idle =
            |name: &str| is_own(name) && !Variable { bench, scope, name, exempt: &[], split: None }.is_read_from(&way);
        let mut others = names.iter().filter(|name| name.id.as_str() != key && is_idle(name.id.as_str()));
        let (child, None) = (others.next()?, others.next()) else { return None };
        let (name, mut edits) = match child.id.as_str() {
            "_" => {
                let fresh = bench.fresh(scope, key, 1).pop()?;
                (fresh.clone(), vec![Edit { span: span_of(*child), content: fresh }])
            }
            named => (named.to_owned(), Vec::new()),
        };
        if bench.is_promised(scope, &name) {
            return None;
        }
        edits.push(Edit { span: span_of(one.key), content: name.clone() });
        edits.sort_by_key(|edit| edit.span);
        Some(Proposal {
            message: format!("draw from `{name}`, the child that nothing uses yet; the numbers change"),
            applicability: Applicability::Unsafe,
            proof: Proof::Claim,
            edits,
            mends: mends.to_vec(),
            names: bench.promise(scope, &[name]),
        })
    })
}

/// The statement that made the key of a use by splitting, in a suite that leads to the use, and the names that it binds.
fn made_by<'a>(
    bench: &Bench<'a>,
    scope: ScopeId,
    key: &str,
    one: &Use<'a>,
) -> Option<(Step<'a>, Vec<&'a ast::ExprName>)> {
    let bound = bench.names.occurrences(key).iter().filter(|found| found.scope == scope && found.does == Does::Bind);
    let last = bound.map(|found| found.span).filter(|span| span.end <= span_of(one.key).start).max()?;
    let step = bench.steps(last).pop()?;
    let leads = one.steps.iter().any(|other| other.is_beside(step) && step.index < other.index);
    let (_, names) = split_of(bench, step.statement()).filter(|_| leads)?;
    Some((step, names))
}

/// `key, subkey = split(subkey)` after a draw from `subkey`: the next keys come from `key`, which was kept for them.
pub(super) fn other_parent(bench: &Bench<'_>, findings: &[Finding], index: usize) -> Option<Proposal> {
    let span = bench.here(*findings.get(index)?.evidence.as_ref()?.second.first()?)?;
    let step = bench.steps(span).pop()?;
    let (call, names) = split_of(bench, step.statement())?;
    let [next, child] = names[..] else { return None };
    let (next, child) = (next.id.as_str(), child.id.as_str());
    let [Expr::Name(parent)] = &call.arguments.args[..] else { return None };
    let scope = bench.names.frame_at(span.start)?;
    let is_before = |name: &str| {
        let mut found = bench.names.occurrences(name).iter();
        found.any(|one| one.scope == scope && one.does != Does::Read && one.span.end <= span_of(step.statement()).start)
    };
    let is_tangled = span_of(call) == span && parent.id.as_str() == child && next != child && is_before(next);
    is_tangled.then(|| Proposal {
        message: format!("split `{next}`, which is kept for the next keys; the numbers change"),
        applicability: Applicability::Unsafe,
        proof: Proof::Claim,
        edits: vec![Edit { span: span_of(parent), content: next.to_owned() }],
        mends: vec![index],
        names: Vec::new(),
    })
}
