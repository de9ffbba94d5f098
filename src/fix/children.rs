//! Existing children: an unused one is drawn from, and the next key comes from the parent that was kept for it.
//!
//! **Invariant:** nothing is derived that the file does not derive already.

use super::attribute_keys::{Storage, storage_of};
use super::context::{FixContext, Proposal};
use super::key_uses::{Use, number_of, shared};
use super::liveness::Variable;
use super::names::{Action, Occurrence, ScopeId, ScopeKind};
use super::naming::{ends_in_digit, is_general_child};
use super::purpose_names::KeyArgument;
use super::split_apart::{assigns, loop_below};
use super::tree::{self, Step};
use crate::finding::{Finding, RuleId};
use crate::models::Effect;
use crate::python::ast::{self, Expr, Stmt};
use crate::python::span_of;
use crate::text::{Edit, Span};

/// The call of `split` whose children a statement binds to names or attributes, and those.
pub(super) fn split_of<'a>(cx: &FixContext<'_>, statement: &'a Stmt) -> Option<(&'a ast::ExprCall, &'a [Expr])> {
    let Stmt::Assign(assign) = statement else { return None };
    let ([Expr::Tuple(targets)], Expr::Call(call)) = (&assign.targets[..], &*assign.value) else { return None };
    let are_plain = targets.elts.iter().all(|target| target.is_name_expr() || target.is_attribute_expr());
    let is_split = cx.is_split(call);
    (is_split && are_plain).then_some((call, &targets.elts[..]))
}

/// `key, a = split(key)` whose `a` nothing reads, before draws from `key`: `a` was made for one of them. If there are
/// several draws, the same split makes a child for each.
///
/// One use may keep the key, if nothing else is derived from it afterwards.
pub(super) fn unused(cx: &FixContext<'_>, uses: &[Use<'_>], resolves: &[usize]) -> Option<Proposal> {
    ChildAssignment::all(cx, uses)
        .into_iter()
        .filter(|moves| !moves.unused.is_empty())
        .find_map(|moves| moves.proposal(cx, resolves))
}

/// `key, a = split(key)` right before draws from `key`, or from `a`: the same split makes a child for each.
pub(super) fn extend_split(cx: &FixContext<'_>, uses: &[Use<'_>], resolves: &[usize]) -> Option<Proposal> {
    // One use that is elsewhere, such as in a comprehension, may keep the key.
    let can_replace = |moves: &ChildAssignment<'_, '_>| {
        let is_behind = |one: &Use<'_>| {
            let step = moves.made.step;
            one.steps.iter().any(|other| other.is_beside(step) && step.index < other.index)
        };
        let is_enough = moves.is_all || moves.uses.len() + 1 == uses.len() && uses.iter().all(is_behind);
        is_enough && moves.made.can_replace_all(cx, uses, &moves.uses)
    };
    ChildAssignment::all(cx, uses).into_iter().filter(can_replace).find_map(|moves| moves.proposal(cx, resolves))
}

/// Uses of a key made by a split that get other children of that split.
struct ChildAssignment<'u, 'a> {
    made: SplitKey<'a>,
    /// The uses, except one that may keep the key.
    uses: Vec<&'u Use<'a>>,
    /// The use that may keep the key, if nothing else reads it.
    only: Option<&'u Use<'a>>,
    /// Whether all of these uses are of this key.
    is_all: bool,
    unused: Vec<&'a ast::ExprName>,
}

impl<'u, 'a> ChildAssignment<'u, 'a> {
    /// The uses of each split that made the key of a use. In a loop, the key of one use may be made before the loop,
    /// and that of another in it.
    fn all(cx: &FixContext<'a>, uses: &'u [Use<'a>]) -> Vec<Self> {
        let mut all: Vec<Self> = Vec::new();
        for made in uses.iter().filter_map(|one| SplitKey::of(cx, one)) {
            if !all.iter().any(|known| known.made.step.is(made.step)) {
                all.extend(Self::of(cx, made, uses));
            }
        }
        all
    }

    fn of(cx: &FixContext<'a>, made: SplitKey<'a>, uses: &'u [Use<'a>]) -> Option<Self> {
        let own: Vec<&Use<'_>> = uses.iter().filter(|one| made.is_of(cx, one)).collect();
        let is_all = own.len() == uses.len();
        let way = cx.statements_after(made.step);
        let exempt: Vec<Span> = own.iter().map(|one| span_of(one.key)).collect();
        let (scope, name) = (made.scope, made.key);
        let is_live = made.is_kept || Variable { cx, scope, name, exempt: &exempt, split: None }.is_read_from(&way);
        let stays = made.keeping_use(cx, uses, &own, is_live);
        let moved: Vec<&Use<'_>> =
            own.into_iter().filter(|one| !stays.is_some_and(|stays| std::ptr::eq(stays, *one))).collect();
        let last = span_of(moved.last()?.key);
        // In a loop after the split, one child would be drawn from again and again.
        if moved.iter().any(|one| loop_below(one, way.len() - 1).is_some()) {
            return None;
        }
        // A computation that starts with the key is where the parent's successor was to go.
        let starts = moved.len() == 1 && moved.iter().all(|one| is_computation(cx, one.call));
        let mut unused = made.unused(cx, &way, last, starts);
        unused.truncate(number_of(&shared(cx, &moved)));
        Some(Self { made, uses: moved, only: stays.filter(|_| !is_live), is_all, unused })
    }

    /// A child named `subkey` is named after its use if the others are named after theirs.
    fn renamed(&self, cx: &FixContext<'_>) -> Option<(Vec<Edit>, Vec<String>, Span)> {
        let (made, only) = (&self.made, self.only.filter(|_| self.unused.is_empty())?);
        let is_shown = cx.is_exported_from(made.scope, made.key);
        let is_deleted = cx.names.deletes(made.scope, made.key);
        let parent = made.split.arguments.args.first()?;
        if !is_general_child(made.key, cx.code(parent)) || ends_in_digit(made.key) || is_shown || is_deleted {
            return None;
        }
        let mut uses: Vec<&Use<'_>> = self.uses.iter().copied().chain([only]).collect();
        uses.sort_by_key(|one| one.span());
        let start = span_of(made.step.statement()).start;
        let range = Span::new(start, uses.iter().map(|one| span_of(one.call).end).fold(start, u32::max));
        let given: Vec<KeyArgument<'_>> = uses.iter().map(|one| one.given()).collect();
        let names = cx.purposes(made.scope, made.key, &given, range)?;
        let (first, others) = names.split_first()?;
        let target = made.names.iter().find(|name| cx.code(name) == made.key)?;
        // The others are added after the last target.
        let mut edits = widened(made.names, made.split, others)?;
        edits.push(Edit::replace(span_of(target), first.clone()));
        edits.extend(read_instead(&uses, &names));
        Some((edits, names, range))
    }

    fn proposal(&self, cx: &FixContext<'_>, resolves: &[usize]) -> Option<Proposal> {
        let given = || {
            let (mut edits, names, range) = self.made.assign(cx, &self.uses, &self.unused)?;
            edits.extend(read_instead(&self.uses, &names));
            Some((edits, names, range))
        };
        let (mut edits, names, range) = self.renamed(cx).or_else(given)?;
        edits.sort_by_key(|edit| edit.span);
        let message = match &names[..] {
            [name, others @ ..] if self.unused.len() == 1 && others.iter().all(|other| other == name) => {
                format!("draw from the unused child `{name}`; the numbers change")
            }
            _ if self.unused.is_empty() => {
                format!("add one child per call to the `split` that creates `{}`; the numbers change", self.made.key)
            }
            _ => {
                format!("use separate children of `{}`, including the unused one; the numbers change", self.made.key)
            }
        };
        let reserved = cx.claim_within(self.made.scope, &names, range);
        Some(Proposal::new(message, edits, resolves.to_vec()).naming(reserved))
    }
}

/// Whether a call runs a function through a transform.
fn is_computation(cx: &FixContext<'_>, call: &ast::ExprCall) -> bool {
    cx.model_of(&call.func).is_some_and(|callable| matches!(callable.effect, Effect::Transform(_)))
}

/// Replaces the key of each use with a name.
fn read_instead(uses: &[&Use<'_>], names: &[String]) -> Vec<Edit> {
    uses.iter().zip(names).map(|(one, name)| Edit::replace(one.span(), name.clone())).collect()
}

/// A key that a statement made by splitting.
pub(super) struct SplitKey<'a> {
    key: &'a str,
    /// Whether an object stores it.
    is_kept: bool,
    scope: ScopeId,
    /// The statement.
    pub step: Step<'a>,
    split: &'a ast::ExprCall,
    names: &'a [Expr],
}

impl<'a> SplitKey<'a> {
    /// The split of a use that is a statement that binds its children.
    pub fn by(cx: &FixContext<'a>, scope: ScopeId, splits: &Use<'a>) -> Option<Self> {
        let step = *splits.steps.last()?;
        let (split, names) =
            split_of(cx, step.statement()).filter(|(split, _)| span_of(*split) == splits.call_span())?;
        Some(Self { key: cx.code(splits.key), is_kept: false, scope, step, split, names })
    }

    /// The children that nothing reads before the last of some uses.
    pub fn unused_until(&self, cx: &FixContext<'a>, last: Span) -> Vec<&'a ast::ExprName> {
        self.unused(cx, &cx.statements_after(self.step), last, false)
    }

    /// The names that it binds, the statement, and its call.
    pub fn parts(&self) -> (&'a [Expr], Step<'a>, &'a ast::ExprCall) {
        (self.names, self.step, self.split)
    }

    /// The split that made the key of a use.
    pub fn of(cx: &FixContext<'a>, one: &Use<'a>) -> Option<Self> {
        let is_kept = !one.key.is_name_expr();
        if is_kept && storage_of(cx, one.key) != Storage::Writable {
            return None;
        }
        let scope = cx.names.frame_at(span_of(one.key).start)?;
        let (step, split, names) = made_by(cx, scope, one)?;
        Some(Self { key: cx.code(one.key), is_kept, scope, step, split, names })
    }

    /// Whether a child of this split can replace the key of a use: it is a use of this key, nearby, and not in a loop after the split.
    pub fn can_replace(&self, cx: &FixContext<'a>, one: &Use<'a>) -> bool {
        self.may_replace(cx, one) && cx.are_near(span_of(self.step.statement()), span_of(one.key))
    }

    /// Whether children of this split can replace the key of several uses: the first is nearby, or a new split would be no nearer.
    fn can_replace_all(&self, cx: &FixContext<'a>, uses: &[Use<'a>], moved: &[&Use<'a>]) -> bool {
        let is_module = cx.names.scopes[self.scope].kind == ScopeKind::Module;
        let own = span_of(self.step.statement());
        let mut near = uses.iter().take(if is_module { uses.len() } else { 1 });
        near.all(|one| cx.are_near(own, one.span())) && moved.iter().all(|one| self.may_replace(cx, one))
    }

    fn may_replace(&self, cx: &FixContext<'a>, one: &Use<'a>) -> bool {
        self.is_of(cx, one) && loop_below(one, cx.steps(span_of(self.step.statement())).len() - 1).is_none()
    }

    /// Whether one of its children takes the place of the key that it splits, as in `key, a = split(key)`.
    pub fn is_carried(&self, cx: &FixContext<'_>) -> bool {
        self.split.arguments.args.first().is_some_and(|parent| cx.code(parent) == self.key)
    }

    /// The name of a child for each of some uses, existing ones first, the edits that make the others, and the range in which they are
    /// needed. Uses on exclusive paths share a child.
    pub fn assign(
        &self,
        cx: &FixContext<'_>,
        uses: &[&Use<'_>],
        unused: &[&ast::ExprName],
    ) -> Option<(Vec<Edit>, Vec<String>, Span)> {
        // The statement may be moved before uses that it comes after.
        let statement = span_of(self.step.statement());
        let start = uses.iter().map(|one| one.call_span().start).fold(statement.start, u32::min);
        let later = uses.iter().any(|one| one.call_span().end < statement.start);
        let least = if later { statement.end } else { start };
        let range = Span::new(start, uses.iter().map(|one| span_of(one.call).end).fold(least, u32::max));
        let keys = shared(cx, uses);
        let count = number_of(&keys);
        let first_of = |key: usize| keys.iter().position(|known| *known == key).and_then(|at| uses.get(at));
        let firsts: Vec<&Use<'_>> = (0..count).map_while(first_of).copied().collect();
        let available = unused.iter().take(count);
        let (unnamed, named): (Vec<&ast::ExprName>, Vec<_>) = available.partition(|child| child.id.as_str() == "_");
        let known: Vec<&str> = self.names.iter().map(|name| cx.code(name)).filter(|name| *name != "_").collect();
        let is_carried = self.is_carried(cx);
        let missing: Vec<KeyArgument<'_>> = firsts.iter().skip(named.len()).map(|one| one.given()).collect();
        let mut fresh = cx.more_children(self.scope, self.key, (&known, is_carried), &missing, range).into_iter();
        let mut edits = Vec::new();
        let mut names: Vec<String> = named.iter().map(|child| child.id.to_string()).collect();
        for child in unnamed {
            let name = fresh.next()?;
            edits.push(Edit::replace(span_of(child), name.clone()));
            names.push(name);
        }
        let more: Vec<String> = fresh.collect();
        if !more.is_empty() {
            edits.extend(widened(self.names, self.split, &more)?);
        }
        names.extend(more);
        let own: Option<Vec<String>> = keys.iter().map(|key| names.get(*key).cloned()).collect();
        Some((edits, own?, range))
    }

    /// Whether a use is one of this key.
    fn is_of(&self, cx: &FixContext<'a>, one: &Use<'a>) -> bool {
        cx.code(one.key) == self.key
            && cx.names.frame_at(span_of(one.key).start) == Some(self.scope)
            && made_by(cx, self.scope, one).is_some_and(|(step, ..)| step.is(self.step))
    }

    /// The use that keeps the key: the one that makes the next key, or else, if nothing else reads it, a split, or the first use of one of
    /// several children. No draw keeps a carried key.
    fn keeping_use<'u>(
        &self,
        cx: &FixContext<'a>,
        uses: &'u [Use<'a>],
        own: &[&'u Use<'a>],
        is_live: bool,
    ) -> Option<&'u Use<'a>> {
        let is_split = |one: &&&Use<'_>| cx.is_split(one.call);
        let goes_on =
            own.iter().find(|one| one.steps.last().is_some_and(|step| assigns(cx, step.statement(), self.key)));
        let goes_on = goes_on.or_else(|| own.iter().find(|one| self.is_next(one)));
        if goes_on.is_some() || is_live || uses.len() < 2 {
            return goes_on.copied();
        }
        // Whoever reads `key, a = split(key)` expects that later code splits `key` again, and that no draw uses it.
        let either = own.first().filter(|_| !self.is_carried(cx));
        own.iter().find(is_split).or(either).copied()
    }

    /// Whether a use puts the key where its parent was, as `state.set(rng=key)` does after `key, a = split(state.rng)`.
    fn is_next(&self, one: &Use<'_>) -> bool {
        let Some(Expr::Attribute(parent)) = self.split.arguments.args.first() else { return false };
        let place = one.call.arguments.find_keyword(parent.attr.as_str());
        place.is_some_and(|keyword| span_of(&keyword.value) == span_of(one.key))
    }

    /// The children that nothing reads, and that nothing rebinds up to the last use. The one that replaces the parent is one of them only if
    /// `with_next`, because later code may continue with it.
    fn unused(&self, cx: &FixContext<'a>, way: &[Step<'a>], last: Span, with_next: bool) -> Vec<&'a ast::ExprName> {
        let statement = span_of(self.step.statement());
        let between = Span::new(statement.end, last.start.max(statement.end));
        let whole = statement.cover(last);
        // What the statement of the last use binds is bound after that use has read its key.
        let after = cx.steps(last).pop().filter(|step| step.statement().is_assign_stmt());
        let is_after = |one: &Occurrence| after.is_some_and(|step| span_of(step.statement()).covers(one.span));
        let is_unused = |name: &str| {
            let is_bound = |one: &Occurrence| one.action != Action::Read && between.covers(one.span) && !is_after(one);
            let is_bound = cx.names.occurrences(name).iter().any(is_bound);
            let is_free = name == "_" || !cx.is_claimed(self.scope, name, whole);
            !is_bound && is_free && Variable::of(cx, self.scope, name).is_unneeded_from(way)
        };
        // If a name is bound twice, only the last child remains.
        let is_bound_once =
            |name: &str| name == "_" || self.names.iter().filter(|target| cx.code(target) == name).count() == 1;
        let parent = self.split.arguments.args.first().map(|parent| cx.code(parent));
        let may_take = |name: &str| name != self.key && (with_next || Some(name) != parent);
        let is_free = |name: &str| may_take(name) && is_bound_once(name) && is_unused(name);
        // The first child is mostly the one that later code continues with.
        let own = self.names.iter().position(|name| cx.code(name) == self.key).unwrap_or_default();
        let (before, behind) = self.names.split_at(own);
        let names = behind.iter().chain(before).filter_map(Expr::as_name_expr);
        names.filter(|name| is_free(name.id.as_str())).collect()
    }
}

/// The edits that make a split return more children.
pub(super) fn widened(bound: &[Expr], split: &ast::ExprCall, names: &[String]) -> Option<Vec<Edit>> {
    let end = span_of(bound.last()?).end;
    let targets = Edit::insert(end, format!(", {}", names.join(", ")));
    Some(vec![targets, counting(split, bound.len() + names.len())?])
}

/// `a, b = split(key)` makes the next key as well: `key, a, b = split(key, 3)`.
pub(super) fn with_next_key(cx: &FixContext<'_>, one: &Use<'_>) -> Option<Vec<Edit>> {
    let (split, bound) = split_of(cx, one.steps.last()?.statement())?;
    let key = cx.code(one.key);
    let is_own = span_of(split) == one.call_span() && bound.iter().all(|target| cx.code(target) != key);
    let first = span_of(bound.first().filter(|_| is_own)?);
    // Targets in separate parentheses, or on separate lines, are not changed.
    let Stmt::Assign(assign) = one.steps.last()?.statement() else { return None };
    let start = span_of(assign).start;
    let is_whole = matches!(&assign.targets[..], [Expr::Tuple(tuple)] if tuple.parenthesized);
    let before = if is_whole { "(" } else { "" };
    let is_line = !cx.slice(Span::new(start, span_of(split).start)).contains(['\n', '\r']);
    let is_plain = is_line && cx.slice(Span::new(start, first.start)) == before;
    let targets = Edit::insert(first.start, format!("{key}, "));
    is_plain.then_some(vec![targets, counting(split, bound.len() + 1)?])
}

/// The edit that makes a split return this many children.
pub(super) fn counting(split: &ast::ExprCall, count: usize) -> Option<Edit> {
    let call = span_of(split);
    // `split(key, (2, n))` gives rows of keys.
    let is_plain = |number: &Expr| number.is_number_literal_expr();
    let number = match (&split.arguments.args[..], &split.arguments.keywords[..]) {
        ([only], []) => Edit::insert(span_of(only).end, format!(", {count}")),
        ([_, number], []) if is_plain(number) => Edit::replace(span_of(number), count.to_string()),
        ([_], [number]) if is_plain(&number.value) => Edit::replace(span_of(&number.value), count.to_string()),
        _ => return None,
    };
    call.covers(number.span).then_some(number)
}

/// The statement that made the key of a use by splitting, in an enclosing suite, with its split and the names that it binds.
fn made_by<'a>(
    cx: &FixContext<'a>,
    scope: ScopeId,
    one: &Use<'a>,
) -> Option<(Step<'a>, &'a ast::ExprCall, &'a [Expr])> {
    let key = cx.code(one.key);
    // `key, a = split(key)` reads the key before it binds it.
    let is_simple = |step: &&Step<'_>| matches!(step.statement(), Stmt::Assign(_));
    let start = one.steps.last().filter(is_simple).map_or(span_of(one.key), |step| span_of(step.statement())).start;
    let is_before = |span: &Span| span.end <= start;
    let last = if one.key.is_name_expr() {
        let found = cx.names.occurrences(key).iter().filter(|one| one.scope == scope && one.action == Action::Bind);
        found.map(|found| found.span).filter(is_before).max()?
    } else {
        let full = cx.names.scopes[scope].full;
        let stored = tree::stored(cx.module).filter(|expr| cx.code(expr) == key);
        stored.map(span_of).filter(|span| full.covers(*span) && is_before(span)).max()?
    };
    let step = cx.steps(last).pop()?;
    let leads = one.steps.iter().any(|other| other.is_beside(step) && step.index < other.index);
    let (split, names) = split_of(cx, step.statement()).filter(|_| leads)?;
    Some((step, split, names))
}

/// `key, subkey = split(subkey)` after a draw from `subkey`: the next keys come from `key`, which was kept for this.
/// Fixing only one of several such mistakes would look like an oversight.
pub(super) fn other_parent(cx: &FixContext<'_>, findings: &[Finding], index: usize) -> Vec<Proposal> {
    let Some((step, own)) = split_of_child(cx, findings, index) else { return Vec::new() };
    let others = cx.matching(findings, |other| {
        matches!(other.rule, RuleId::KeyReused | RuleId::KeyUsedAfterSplit | RuleId::KeyDerivedTwice)
    });
    let mut joined = own.clone();
    for at in others.into_iter().filter(|at| *at != index && !cx.is_resolved(*at)) {
        let Some((_, other)) = split_of_child(cx, findings, at).filter(|(other, _)| other.is_beside(step)) else {
            continue;
        };
        let is_alike = other.message == joined.message && !joined.edits.contains(&other.edits[0]);
        if is_alike && joined.edits.len() < MOST_MISTAKES {
            joined.edits.extend(other.edits);
            joined.resolves.push(at);
        }
    }
    joined.edits.sort_by_key(|edit| edit.span);
    let is_more = joined.edits.len() > 1;
    [joined].into_iter().filter(|_| is_more).chain([own]).collect()
}

/// Mistakes of one kind that are fixed together.
const MOST_MISTAKES: usize = 16;

/// The statement of a finding that splits the child instead of the parent, and the edits that resolve it.
fn split_of_child<'a>(cx: &FixContext<'a>, findings: &[Finding], index: usize) -> Option<(Step<'a>, Proposal)> {
    let span = cx.here(*findings.get(index)?.evidence.as_ref()?.second.first()?)?;
    let step = cx.steps(span).pop()?;
    let (call, names) = split_of(cx, step.statement())?;
    let [Expr::Name(next), Expr::Name(child)] = names else { return None };
    let (next, child) = (next.id.as_str(), child.id.as_str());
    let [Expr::Name(parent)] = &call.arguments.args[..] else { return None };
    let scope = cx.names.frame_at(span.start)?;
    let start = span_of(step.statement()).start;
    // Both are children of one split: `key, subkey = split(key)`.
    let made_by = |name: &str| {
        let found = cx.names.occurrences(name).iter().filter(|one| one.scope == scope && one.action == Action::Bind);
        let last = found.map(|one| one.span).filter(|bound| bound.end <= start).max()?;
        let made = cx.steps(last).pop()?;
        split_of(cx, made.statement()).map(|_| span_of(made.statement()))
    };
    let are_siblings = || made_by(next).is_some_and(|made| made_by(child) == Some(made));
    let is_tangled = span_of(call) == span && parent.id.as_str() == child && next != child && are_siblings();
    let resolve = || {
        Proposal::new(
            format!("split `{next}` instead, which is kept for later use; the numbers change"),
            vec![Edit::replace(span_of(parent), next.to_owned())],
            vec![index],
        )
    };
    is_tangled.then(|| (step, resolve()))
}
