//! Dead splits: `key, subkey = split(key)` as the last use of the key, or `a, b = split(key)` before a draw from `key` itself.
//!
//! **Invariant:** a statement is removed only if everything that it binds is dead there, its suite has other statements, and no
//! comment or string mentions it; otherwise the fixes of its finding are only displayed.

use super::children::split_of;
use super::context::{FixContext, Proposal, is_plain};
use super::derived::is_mentioned;
use super::key_uses::{pair, uses_of};
use super::layout;
use super::liveness::Variable;
use super::names::ScopeId;
use super::split_apart::loop_below;
use super::tree::{self, Step};
use crate::finding::{Finding, RuleId};
use crate::python::ast::{self, Expr, Stmt};
use crate::python::span_of;
use crate::text::{Edit, Span};

/// A split whose result is not used.
struct Dead<'a> {
    scope: ScopeId,
    way: Vec<Step<'a>>,
    call: &'a ast::ExprCall,
    names: &'a [Expr],
}

/// Puts proposals that remove or use the dead split of a finding first; the others become display-only.
pub(super) fn prefer(cx: &FixContext<'_>, findings: &[Finding], index: usize, others: Vec<Proposal>) -> Vec<Proposal> {
    let Some([first, second]) = pair(cx, &findings[index]) else { return others };
    let (first, second) = if span_of(first) <= span_of(second) { (first, second) } else { (second, first) };
    let later = Dead::of(cx, second).or_else(|| Dead::dropped(cx, second));
    let earlier = Dead::of(cx, first).filter(|_| span_of(first) != span_of(second));
    if later.is_none() && earlier.is_none() {
        return others;
    }
    let mut proposals = Vec::new();
    if let Some(dead) = &earlier {
        proposals.extend(dead.revived(cx, findings, index));
    }
    proposals.extend([later, earlier].into_iter().flatten().filter_map(|dead| dead.removed(cx, findings, index)));
    // A draw from a child makes such a split live.
    let revives = |proposal: &Proposal| {
        let at_hand = |edit: &Edit| [first, second].iter().any(|call| binds(cx, call, &edit.content));
        proposal.edits.iter().any(at_hand)
    };
    for mut other in others {
        if !revives(&other) {
            other.make_display_only("one of the two splits has no effect and should be removed");
        }
        proposals.push(other);
    }
    proposals
}

/// A split whose result is discarded is deleted, if nothing draws from the key afterwards.
pub(super) fn deleted(cx: &FixContext<'_>, findings: &[Finding], index: usize) -> Option<Proposal> {
    let call = tree::call_at(cx.module, cx.here(findings[index].primary)?)?;
    let mut proposal = Dead::dropped(cx, call)?.removed(cx, findings, index)?;
    if !proposal.resolves.contains(&index) {
        proposal.resolves.push(index);
    }
    Some(proposal)
}

/// Whether the statement of a split binds a name.
fn binds(cx: &FixContext<'_>, call: &ast::ExprCall, name: &str) -> bool {
    let step = cx.steps(span_of(call)).pop();
    let bound = step.and_then(|step| split_of(cx, step.statement())).map_or(&[][..], |(_, bound)| bound);
    bound.iter().any(|target| cx.code(target) == name)
}

impl<'a> Dead<'a> {
    /// The statement that splits and does nothing else, if all that it binds is dead after it.
    fn of(cx: &FixContext<'a>, call: &ast::ExprCall) -> Option<Self> {
        let way = cx.steps(span_of(call));
        let step = *way.last()?;
        let (split, names) = split_of(cx, step.statement()).filter(|(split, _)| span_of(*split) == span_of(call))?;
        let scope = cx.names.frame_at(span_of(split).start)?;
        let is_plainly_made =
            tree::arguments(split).all(|argument| is_plain(argument) || argument.is_number_literal_expr());
        let behind = cx.statements_after(step);
        let is_dead = |target: &Expr| {
            let Expr::Name(name) = target else { return false };
            let name = name.id.as_str();
            !cx.is_claimed(scope, name, span_of(step.statement()))
                && Variable::of(cx, scope, name).is_unneeded_from(&behind)
        };
        (is_plainly_made && names.iter().all(is_dead)).then_some(Self { scope, way, call: split, names })
    }

    /// `split(key)` as an expression statement, after which nothing reads the key.
    fn dropped(cx: &FixContext<'a>, call: &'a ast::ExprCall) -> Option<Self> {
        let way = cx.steps(span_of(call));
        let step = *way.last()?;
        let Stmt::Expr(statement) = step.statement() else { return None };
        let [Expr::Name(key), ..] = &call.arguments.args[..] else { return None };
        let scope = cx.names.frame_at(span_of(call).start)?;
        let is_statement = span_of(&*statement.value) == span_of(call) && cx.is_split(call);
        let is_needed = Variable::of(cx, scope, key.id.as_str()).is_read_from(&cx.statements_after(step));
        (is_statement && !is_needed && !cx.is_notebook()).then_some(Self { scope, way, call, names: &[] })
    }

    fn step(&self) -> Step<'a> {
        self.way[self.way.len() - 1]
    }

    fn statement(&self) -> Span {
        span_of(self.step().statement())
    }

    /// Whether a comment or a string mentions a name that only this split binds or reads.
    fn is_mentioned_elsewhere(&self, cx: &FixContext<'a>, name: &str) -> bool {
        let statement = self.statement();
        let is_elsewhere = cx.names.occurrences(name).iter().any(|one| !statement.covers(one.span));
        !is_elsewhere && is_mentioned(cx, self.scope, name)
    }

    /// The draw after the split takes one of its children.
    fn revived(&self, cx: &FixContext<'a>, findings: &[Finding], index: usize) -> Option<Proposal> {
        let uses = uses_of(cx, findings, &[index])?;
        let mut others = uses.iter().filter(|one| span_of(one.call) != span_of(self.call));
        let (draw, None) = (others.next()?, others.next()) else { return None };
        let step = self.step();
        let leads = draw.steps.iter().any(|other| other.is_beside(step) && step.index < other.index);
        let is_own = cx.names.frame_at(span_of(draw.key).start) == Some(self.scope);
        if !leads || !is_own || loop_below(draw, self.way.len() - 1).is_some() {
            return None;
        }
        let is_between = |name: &str| {
            let between = Span::new(self.statement().end, span_of(draw.call).end);
            cx.names.occurrences(name).iter().any(|one| between.covers(one.span))
        };
        let names = self.names.iter().filter_map(Expr::as_name_expr).map(|name| name.id.as_str());
        let free = names.filter(|name| *name != "_" && !self.is_mentioned_elsewhere(cx, name) && !is_between(name));
        let child = free.last()?;
        Some(
            Proposal::new(
                format!("use `{child}`, which is still unused; the numbers change"),
                vec![Edit::replace(span_of(draw.key), child.to_owned())],
                vec![index],
            )
            .naming(cx.claim_within(
                self.scope,
                &[child.to_owned()],
                self.statement().cover(span_of(draw.call)),
            )),
        )
    }

    /// The statement is removed.
    fn removed(&self, cx: &FixContext<'a>, findings: &[Finding], index: usize) -> Option<Proposal> {
        let statement = self.statement();
        let (lines, _) = layout::own_lines_with_comment(cx.text, statement).filter(|_| self.step().suite.len() > 1)?;
        let call = span_of(self.call);
        let resolves = cx.matching(findings, |other| {
            let is_unused = other.rule == RuleId::SplitDiscarded && cx.here(other.primary) == Some(call);
            let is_again = other.rule == findings[index].rule
                && pair(cx, other).is_some_and(|calls| calls.into_iter().any(|one| span_of(one) == call));
            is_again || is_unused
        });
        let is_mentioned = self.names.iter().any(|name| self.is_mentioned_elsewhere(cx, cx.code(name)))
            || layout::comment_above(cx.text, statement).is_some();
        Some(
            Proposal::new("remove this split, which nothing uses".to_owned(), vec![Edit::delete(lines)], resolves)
                .display_only_if(is_mentioned, "a comment or a string mentions a removed name")
                .display_only_if(cx.is_run_in_cells(self.scope), "other cells may use a removed name"),
        )
    }
}
