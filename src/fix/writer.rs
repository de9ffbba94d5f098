//! Statements that split a key for its uses, and the edits of those uses.
//!
//! **Invariant:** a written statement binds only names that are free from there to the last use that reads them.

use super::children::{self, SplitKey};
use super::context::{FixContext, Proposal};
use super::key_uses::{Use, shared};
use super::layout;
use super::liveness::Variable;
use super::names::ScopeId;
use super::naming::{Reserved, is_general_child};
use super::purpose_names::KeyArgument;
use super::split_apart::site;
use super::tree::{self, Step};
use crate::python::ast::{self, Expr, Stmt};
use crate::python::span_of;
use crate::text::{Edit, Span, apply_edits};

/// Where the statement that splits goes, and what it may do there.
pub(super) struct Site<'a> {
    /// The function or module.
    pub scope: ScopeId,
    /// The statement that it goes before.
    pub step: Step<'a>,
    /// How many statements enclose it.
    pub depth: usize,
}

/// How a key, or each key of an array, is split here.
pub(super) enum Split {
    Plain(String),
    /// A key that may be `None`.
    Optional(String),
    Lanes {
        vmap: String,
        split: String,
    },
}

impl Split {
    fn statement(&self, key: &str, names: &[String], keeps: bool) -> String {
        let (vmap, split) = match self {
            Self::Plain(split) => return statement(key, split, names, keeps),
            Self::Optional(split) => {
                let code = statement(key, split, names, false);
                let (targets, split) = code.split_once(" = ").unwrap_or_default();
                let none = vec!["None"; names.len()].join(", ");
                return format!("{targets} = ({none}) if {key} is None else {split}");
            }
            Self::Lanes { vmap, split } => (vmap, split),
        };
        let mut targets: Vec<&str> = names.iter().map(String::as_str).collect();
        if keeps {
            targets.insert(0, key);
        }
        let each = match targets.len() {
            2 => split.clone(),
            count => format!("lambda key: {split}(key, {count})"),
        };
        format!("{} = {vmap}({each}, out_axes=1)({key})", targets.join(", "))
    }
}

/// Writes splits.
pub(super) struct Writer<'b, 'a> {
    pub cx: &'b FixContext<'a>,
    pub site: &'b Site<'a>,
    pub start: u32,
    pub key: &'b str,
    pub split: Split,
    pub resolves: &'b [usize],
}

impl Writer<'_, '_> {
    /// Free names for keys, or for the same number of arrays of keys, from the split to the last of some uses.
    fn fresh(&self, uses: &[&Use<'_>], range: Span) -> Vec<String> {
        let (scope, count) = (self.site.scope, uses.len());
        let given: Vec<KeyArgument<'_>> = uses.iter().map(|one| one.given()).collect();
        let many: Vec<String> = match self.split {
            Split::Plain(_) | Split::Optional(_) => return self.cx.fresh_for(scope, self.key, &given, range),
            Split::Lanes { .. } => (1..=count).map(|number| format!("keys_{number}")).collect(),
        };
        let is_free = many.iter().all(|name| self.cx.is_free_within(scope, name, range));
        if is_free { many } else { self.cx.fresh_within(scope, self.key, count, range) }
    }

    /// From the site to the last of some uses.
    pub(super) fn range(&self, uses: &[Use<'_>]) -> Span {
        Span::new(self.start, uses.iter().map(|one| span_of(one.call).end).fold(self.start, u32::max))
    }

    /// `a, b = split(key)` or `key, a, b = split(key, 3)`, and each use gets its own.
    pub(super) fn split_into(&self, uses: &[Use<'_>], keeps: bool) -> Option<Proposal> {
        let keys = shared(self.cx, uses);
        let first_of = |key: usize| keys.iter().position(|known| *known == key).and_then(|at| uses.get(at));
        let firsts: Vec<&Use<'_>> = (0..uses.len()).map_while(first_of).collect();
        if firsts.is_empty() || (firsts.len() < 2 && !keeps) {
            return None;
        }
        if let ([one], Split::Plain(_), true) = (uses, &self.split, keeps)
            && let Some(edits) = children::with_next_key(self.cx, one)
        {
            return Some(self.proposal(edits, Vec::new()));
        }
        // If these uses are skipped, code that continues with the key needs no split.
        let own = site(self.cx, uses).filter(|own| keeps && own.scope == self.site.scope);
        let start = own.map_or(self.start, |own| span_of(own.step.statement()).start);
        let range = Span::new(start, self.range(uses).end);
        let names = self.fresh(&firsts, range);
        let mut edits = Vec::with_capacity(uses.len() + 1);
        let statement = self.split.statement(self.key, &names, keeps);
        edits.push(self.cx.before(start, &statement));
        let is_optional = matches!(self.split, Split::Optional(_));
        let own: Vec<String> = keys.iter().filter_map(|key| names.get(*key).cloned()).collect();
        edits.extend(replaced(self.cx, uses, &own));
        let proposal = self.proposal(edits, self.cx.claim_within(self.site.scope, &names, range));
        Some(Proposal { is_optional, ..proposal })
    }

    /// A split that discards its result was intended to make the keys of the uses after it.
    pub(super) fn bind(&self, bare: &Use<'_>, uses: &[Use<'_>]) -> Option<Proposal> {
        if uses.is_empty() {
            return None;
        }
        let range = self.range(uses);
        let names = self.fresh(&uses.iter().collect::<Vec<_>>(), range);
        let call = span_of(bare.call);
        let code = self.split.statement(self.key, &names, true);
        let targets = code.strip_suffix(self.cx.slice(call)).map(str::to_owned);
        let mut edits = vec![match targets {
            Some(targets) => Edit::insert(call.start, targets),
            None => Edit::replace(call, code),
        }];
        edits.extend(replaced(self.cx, uses, &names));
        Some(self.proposal(edits, self.cx.claim_within(self.site.scope, &names, range)))
    }

    /// A split into names that comes first makes the keys of the uses after it as well.
    pub(super) fn widen(&self, splits: &Use<'_>, uses: &[Use<'_>]) -> Option<Proposal> {
        let step = splits.steps.last().filter(|step| step.is(self.site.step))?;
        let (call, bound) = children::split_of(self.cx, step.statement())?;
        if span_of(call) != span_of(splits.call) || uses.is_empty() {
            return None;
        }
        if let [other] = uses
            && let Some(proposal) = self.merge(call, bound, *step, other)
        {
            return Some(proposal);
        }
        let made = SplitKey::by(self.cx, self.site.scope, splits)?;
        let others: Vec<&Use<'_>> = uses.iter().collect();
        let mut unused = made.unused_until(self.cx, uses.last()?.span());
        unused.truncate(uses.len());
        let (mut edits, names, range) = made.assign(self.cx, &others, &unused)?;
        edits.extend(replaced(self.cx, uses, &names));
        edits.sort_by_key(|edit| edit.span);
        let proposal = self.proposal(edits, self.cx.claim_within(self.site.scope, &names, range));
        Some(match &names[..] {
            [name, others @ ..]
                if others.iter().all(|other| other == name) && unused.iter().any(|child| child.id.as_str() == name) =>
            {
                Proposal { message: format!("draw from the unused child `{name}`; the numbers change"), ..proposal }
            }
            _ => proposal,
        })
    }

    /// `a, b = split(key)` after draws from `key` comes before them, and makes their keys as well.
    pub(super) fn hoist(&self, splits: &Use<'_>, uses: &[Use<'_>]) -> Option<Proposal> {
        let cx = self.cx;
        let made = SplitKey::by(cx, self.site.scope, splits)?;
        let (bound, step, call) = made.parts();
        let statement = span_of(step.statement());
        let (lines, comment) = layout::own_lines_with_comment(cx.text, statement)?;
        let between = Span::new(self.start, statement.start);
        let is_own = |span: Span| uses.iter().any(|one| one.span() == span);
        // Between the two places its children are not yet used, and the key is the one that the split takes.
        let is_untouched = |target: &Expr| {
            let code = cx.code(target);
            let mut known = cx.names.occurrences(code).iter();
            target.is_name_expr() && !known.any(|one| between.covers(one.span) && !is_own(one.span))
        };
        let is_plain = tree::arguments(call).all(|given| given.is_name_expr() || given.is_number_literal_expr());
        let is_near = cx.are_near(Span::new(self.start, self.start), statement);
        let is_above = step.is_beside(self.site.step) && self.site.step.index < step.index;
        if uses.is_empty() || !is_above || !is_near || !is_plain || !bound.iter().all(is_untouched) {
            return None;
        }
        let others: Vec<&Use<'_>> = uses.iter().collect();
        let mut unused = made.unused_until(cx, statement);
        unused.truncate(uses.len());
        // `key, subkey = split(key)` is written repeatedly.
        let is_usual = |target: &Expr| is_general_child(cx.code(target), self.key);
        if unused.is_empty()
            && bound.len() == 2
            && bound.iter().any(is_usual)
            && bound.iter().any(|one| cx.code(one) == self.key)
        {
            return None;
        }
        let (edits, names, range) = made.assign(cx, &others, &unused)?;
        let within = edits.into_iter().map(|edit| {
            let at = |offset: u32| offset.checked_sub(statement.start);
            Some(Edit { span: Span::new(at(edit.span.start)?, at(edit.span.end)?), ..edit })
        });
        let mut within: Vec<Edit> = within.collect::<Option<_>>()?;
        within.sort_by_key(|edit| edit.span);
        let code = apply_edits(cx.slice(statement), &within).ok()?;
        let mut edits = vec![layout::before(cx.text, self.start, &format!("{code}{comment}")), Edit::delete(lines)];
        edits.extend(replaced(cx, uses, &names));
        let range = Span::new(self.start.min(range.start), range.end);
        let is_line = comment.is_empty() || layout::indentation(cx.text, self.start).is_some();
        let proposal = self.proposal(edits, cx.claim_within(self.site.scope, &names, range));
        let message = format!("split `{}` into one key per call before the first use; the numbers change", self.key);
        is_line.then_some(Proposal { message, ..proposal })
    }

    /// `a, b = split(key)` and `c, d = split(key)` after it become `a, b, c, d = split(key, 4)`.
    fn merge(&self, call: &ast::ExprCall, bound: &[Expr], step: Step<'_>, other: &Use<'_>) -> Option<Proposal> {
        let later = other.steps.last().filter(|later| later.is_beside(step))?;
        let (again, more) = children::split_of(self.cx, later.statement())?;
        let lines = layout::own_lines(self.cx.text, span_of(later.statement()))?;
        let is_said = layout::comments_around(self.cx.text, span_of(later.statement())).next().is_some();
        let between = Span::new(span_of(step.statement()).start, span_of(later.statement()).start);
        let is_new = |target: &Expr| {
            let code = self.cx.code(target);
            let mut known = self.cx.names.occurrences(code).iter();
            target.is_name_expr() && code != "_" && code != self.key && !known.any(|one| between.covers(one.span))
        };
        let names: Vec<String> = more.iter().map(|target| self.cx.code(target).to_owned()).collect();
        let whole = Span::new(between.start, span_of(later.statement()).end);
        let has_free = names.iter().all(|name| !self.cx.is_claimed(self.site.scope, name, whole));
        let is_alike = span_of(again) == span_of(other.call) && more.iter().all(is_new) && has_free;
        let is_near = self.cx.is_in_one_cell(span_of(step.statement()), span_of(later.statement()));
        let mut edits = children::widened(bound, call, &names).filter(|_| is_alike && is_near && !is_said)?;
        edits.push(Edit::delete(lines));
        edits.sort_by_key(|edit| edit.span);
        let message = format!("split `{}` once into all its children; the numbers change", self.key);
        let names = self.cx.claim(self.site.scope, &names);
        Some(Proposal { message, ..self.proposal(edits, names) })
    }

    /// `key, subkey = split(key)` right before the statement of each use, except those that make the next key
    /// themselves.
    pub(super) fn one_by_one(&self, uses: &[Use<'_>], goes_on: &dyn Fn(&Use<'_>) -> bool) -> Option<Proposal> {
        let mut at: Vec<(Step<'_>, Vec<&Use<'_>>)> = Vec::new();
        for one in uses.iter().filter(|one| !goes_on(one)) {
            let step = *one.steps.last()?;
            // The condition of a loop is evaluated repeatedly.
            if matches!(step.statement(), Stmt::While(_)) {
                return None;
            }
            match at.iter_mut().find(|(known, _)| known.is(step)) {
                Some((_, here)) => here.push(one),
                None => at.push((step, vec![one])),
            }
        }
        let scope = self.site.scope;
        let mut edits = Vec::with_capacity(uses.len() + at.len());
        let mut reserved = Vec::new();
        // The split that made the key makes the children for the uses right after it.
        let mut near: Vec<(SplitKey<'_>, Vec<&Use<'_>>)> = Vec::new();
        at.retain(|(_, here)| {
            let made = here.first().and_then(|one| SplitKey::of(self.cx, one)).filter(|made| {
                let can_replace = |one: &&Use<'_>| made.can_replace(self.cx, one);
                matches!(self.split, Split::Plain(_)) && here.iter().all(can_replace)
            });
            let Some(made) = made else { return true };
            match near.iter_mut().find(|(known, _)| known.step.is(made.step)) {
                Some((_, known)) => known.extend(here),
                None => near.push((made, here.clone())),
            }
            false
        });
        for (made, here) in near {
            let (more, names, range) = made.assign(self.cx, &here, &[])?;
            edits.extend(more);
            edits.extend(here.iter().zip(&names).map(|(one, name)| Edit::replace(one.span(), name.clone())));
            reserved.extend(self.cx.claim_within(scope, &names, range));
        }
        for (step, here) in self.joined(at) {
            if let Some(more) = here.first().filter(|_| here.len() == 1).and_then(|one| self.pass_on(one, step)) {
                edits.extend(more);
                continue;
            }
            let start = span_of(step.statement()).start;
            let end = here.iter().map(|one| span_of(one.call).end).fold(start, u32::max);
            let range = Span::new(start, end);
            let names = self.fresh(&here, range);
            let code = self.split.statement(self.key, &names, true);
            edits.push(self.cx.before(start, &code));
            edits.extend(here.iter().zip(&names).map(|(one, name)| Edit::replace(one.span(), name.clone())));
            reserved.extend(self.cx.claim_within(scope, &names, range));
        }
        Some(self.proposal(edits, reserved))
    }

    /// Statements that follow each other share a split, if there are words for what each of their keys is for.
    fn joined<'u, 's>(&self, at: Vec<(Step<'s>, Vec<&'u Use<'s>>)>) -> Vec<(Step<'s>, Vec<&'u Use<'s>>)> {
        let cx = self.cx;
        let mut joined: Vec<(Step<'s>, Vec<&'u Use<'s>>)> = Vec::with_capacity(at.len());
        let mut end: Option<Step<'s>> = None;
        for (step, here) in at {
            let follows = |last: Step<'s>| {
                let (from, to) = (span_of(last.statement()), span_of(step.statement()));
                let lines =
                    memchr::memchr_iter(b'\n', cx.slice(Span::new(from.end, to.start.max(from.end))).as_bytes());
                last.is_beside(step) && last.index + 1 == step.index && cx.is_in_one_cell(from, to) && lines.count() < 3
            };
            let is_split = |one: &&Use<'_>| {
                children::split_of(cx, one.steps.last().map_or(step, |own| *own).statement()).is_some()
            };
            let before = joined.last_mut().filter(|_| end.is_some_and(follows) && !here.iter().any(is_split));
            end = Some(step);
            if let Some((first, known)) = before {
                let all: Vec<&Use<'_>> = known.iter().chain(&here).copied().collect();
                let given: Vec<KeyArgument<'_>> = all.iter().map(|one| one.given()).collect();
                let start = span_of(first.statement()).start;
                let range = Span::new(start, all.iter().map(|one| one.call_span().end).fold(start, u32::max));
                let is_plain = matches!(self.split, Split::Plain(_)) && !known.iter().any(is_split);
                if is_plain && cx.purposes(self.site.scope, self.key, &given, range).is_some() {
                    *known = all;
                    continue;
                }
            }
            joined.push((step, here));
        }
        joined
    }

    /// `a, b = split(key)` passes the next key on as well: `key, a, b = split(key, 3)`. `_, a = split(key)` has a place for it:
    /// `key, a = split(key)`.
    fn pass_on(&self, one: &Use<'_>, step: Step<'_>) -> Option<Vec<Edit>> {
        let edit = self.in_place_of_unnamed(one, step).map(|edit| vec![edit]);
        edit.or_else(|| children::with_next_key(self.cx, one).filter(|_| matches!(self.split, Split::Plain(_))))
    }

    fn in_place_of_unnamed(&self, one: &Use<'_>, step: Step<'_>) -> Option<Edit> {
        let (call, bound) = children::split_of(self.cx, step.statement())?;
        let ([Expr::Name(left), Expr::Name(right)], Split::Plain(_)) = (bound, &self.split) else { return None };
        let way = self.cx.statements_after(step);
        let is_unnamed = |target: &ast::ExprName| {
            target.id.as_str() == "_" && Variable::of(self.cx, self.site.scope, "_").is_unneeded_from(&way)
        };
        let wanted = match (is_unnamed(left), is_unnamed(right)) {
            (false, true) => left,
            (true, false) => right,
            _ => return None,
        };
        let is_own = span_of(call) == span_of(one.call) && call.arguments.len() == 1 && wanted.id.as_str() != self.key;
        let targets = Span::new(span_of(left).start, span_of(right).end);
        // Parentheses and comments in between would be lost.
        let are_bare = self.cx.slice(Span::new(span_of(left).end, span_of(right).start)) == ", ";
        (is_own && are_bare).then(|| Edit::replace(targets, format!("{}, {}", self.key, wanted.id)))
    }

    fn proposal(&self, edits: Vec<Edit>, names: Vec<Reserved>) -> Proposal {
        Proposal::new(
            format!("split `{}` and give each call its own key; the numbers change", self.key),
            edits,
            self.resolves.to_vec(),
        )
        .naming(names)
    }
}

/// Each use reads a name instead.
fn replaced(cx: &FixContext<'_>, uses: &[Use<'_>], names: &[String]) -> Vec<Edit> {
    let pairs = uses.iter().zip(names);
    pairs.map(|(one, name)| Edit::replace(one.replaceable(cx), name.clone())).collect()
}

/// `key, a, b = split(key, 3)`, or without `key` on the left.
pub(super) fn statement(key: &str, split: &str, names: &[String], keeps: bool) -> String {
    let mut targets: Vec<&str> = names.iter().map(String::as_str).collect();
    if keeps {
        targets.insert(0, key);
    }
    let number = if targets.len() == 2 { String::new() } else { format!(", {}", targets.len()) };
    format!("{} = {split}({key}{number})", targets.join(", "))
}
