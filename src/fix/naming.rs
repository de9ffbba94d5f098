//! Names for the keys that a fix makes: those that the file's author would have chosen.
//!
//! **Invariant:** a name offered for a range of code is free there. Nothing else uses it, or all its values are children of keys
//! that are dead by then: `key, subkey = split(key)` may rebind `subkey`.

use super::context::FixContext;
use super::liveness::Variable;
use super::names::{Action, Occurrence, ScopeId};
use super::purpose_names::KeyArgument;
use super::tree;
use crate::models::Words;
use crate::python::ast::{Expr, Stmt};
use crate::text::Span;

/// A name that a proposal introduces.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Reserved {
    /// The whole scope that it is introduced in.
    pub scope: Span,
    /// The name.
    pub name: String,
    /// The range in which its value is needed.
    pub range: Span,
}

/// Words that cannot be the name of a variable, and builtins that should not be.
const KEYWORDS: [&str; 9] = ["all", "any", "hash", "id", "iter", "map", "next", "set", "zip"];

/// Most statements that are searched for names of children.
const LOOKED_AT: usize = 64;

impl FixContext<'_> {
    /// Whether a new variable would collide with another.
    pub(super) fn is_taken(&self, scope: ScopeId, name: &str) -> bool {
        let full = self.names.scopes[scope].full;
        self.names.is_taken(scope, name) || KEYWORDS.binary_search(&name).is_ok() || self.is_reserved(name, full, full)
    }

    /// Whether a name is claimed by an accepted proposal in a part of a scope, or in an enclosing or nested scope.
    fn is_reserved(&self, name: &str, scope: Span, range: Span) -> bool {
        let overlap = |one: Span, other: Span| one.start < other.end && other.start < one.end;
        let nests = |other: Span| other.covers(scope) || scope.covers(other);
        let overlaps = |one: &Reserved| nests(one.scope) && overlap(one.range, range);
        self.claimed.iter().any(|one| one.name == name && overlaps(one))
    }

    /// Whether a name is reserved for an accepted proposal in an overlapping range of a scope. An unused child is reserved from its split
    /// to the call that gets it.
    pub(super) fn is_claimed(&self, scope: ScopeId, name: &str, range: Span) -> bool {
        self.is_reserved(name, self.names.scopes[scope].full, range)
    }

    /// Claims the names of a proposal in a whole scope.
    pub(super) fn claim(&self, scope: ScopeId, names: &[String]) -> Vec<Reserved> {
        self.claim_within(scope, names, self.names.scopes[scope].full)
    }

    /// The names of a proposal that binds them at the start of a range of code and does not read them after it.
    pub(super) fn claim_within(&self, scope: ScopeId, names: &[String], range: Span) -> Vec<Reserved> {
        let scope = self.names.scopes[scope].full;
        names.iter().map(|name| Reserved { scope, name: name.clone(), range }).collect()
    }

    /// Free names for `count` keys that are derived from the key named `key`.
    pub(super) fn fresh(&self, scope: ScopeId, key: &str, count: usize) -> Vec<String> {
        let base = base_name(&self.models.words, key);
        if count == 1 {
            let single = single_name(&base);
            if !self.is_taken(scope, single) {
                return vec![single.to_owned()];
            }
        }
        self.numbered(&base, count, &|name| !self.is_taken(scope, name))
    }

    /// Names for `count` keys that are derived from the key named `key`, bound at the start of a range of code and read
    /// within it.
    pub(super) fn fresh_within(&self, scope: ScopeId, key: &str, count: usize, range: Span) -> Vec<String> {
        self.fresh_beside(scope, key, count, (range, &[]))
    }

    /// The same, for a statement that binds other names as well.
    fn fresh_beside(&self, scope: ScopeId, key: &str, count: usize, (range, bound): (Span, &[&str])) -> Vec<String> {
        let is_free = |name: &str| self.is_free_beside(scope, name, (range, bound));
        let base = base_name(&self.models.words, key);
        let usual = self.usual_child(scope, key);
        if count == 1 {
            // If `_rng` is taken, the next one is `rng_1`.
            let is_hidden = usual.is_some_and(|(_, child)| child.starts_with('_'));
            let single = Some(single_name(&base)).filter(|_| !is_hidden);
            let free = usual.map(|(_, child)| child).into_iter().chain(single).find(|name| is_free(name));
            if let Some(single) = free {
                return vec![single.to_owned()];
            }
        }
        let stem = usual.filter(|(is_here, child)| {
            *is_here && self.is_keyish(child) && !child.starts_with('_') && !ends_in_digit(child)
        });
        self.numbered(stem.map_or(&base, |(_, child)| child), count, &is_free)
    }

    /// Names for more children of the split that binds some names and that made or splits the key named `key`: one for
    /// each of some calls.
    pub(super) fn more_children(
        &self,
        scope: ScopeId,
        key: &str,
        (bound, is_carried): (&[&str], bool),
        uses: &[KeyArgument<'_>],
        range: Span,
    ) -> Vec<String> {
        let count = uses.len();
        let is_free = |name: &str| self.is_free_beside(scope, name, (range, bound));
        // `key4` and `key5` after `key3`, where they are free.
        let stem = |name: &str| name.trim_end_matches(|one: char| one.is_ascii_digit()).len();
        let run = bound.last().and_then(|last| {
            let (base, number) = last.split_at_checked(stem(last))?;
            let number: u32 = number.parse().ok()?;
            let is_akin = is_carried || key.get(..stem(key)) == Some(base);
            let names = (1..=count).map(|more| {
                let more = u32::try_from(more).unwrap_or(u32::MAX);
                format!("{base}{}", number.saturating_add(more))
            });
            Some(names.collect::<Vec<_>>()).filter(|names| is_akin && names.iter().all(|name| is_free(name)))
        });
        let is_usual = is_carried || bound == [key];
        if let Some(names) = run {
            return names;
        }
        // If there is a `params_key`, another key is named after its use as well.
        let is_general = |name: &&str| *name == key || is_general_child(name, key) || ends_in_digit(name);
        // Beside `sub`, a second child with a general name would say nothing.
        let is_second = bound.iter().any(|name| *name != key && is_general_child(name, key) && !ends_in_digit(name));
        let is_first = bound.is_empty() || bound.iter().any(is_general);
        if let Some(names) = self.purposes_beside(scope, key, uses, (range, bound)).filter(|_| is_second) {
            return names;
        }
        if count == 1 && is_usual && is_first {
            let single = self.fresh_beside(scope, key, 1, (range, bound));
            if !single.iter().any(|name| ends_in_digit(name)) {
                return single;
            }
        }
        if let Some(names) = self.purposes_beside(scope, key, uses, (range, bound)) {
            return names;
        }
        if is_usual {
            self.fresh_beside(scope, key, count, (range, bound))
        } else {
            self.numbered(&base_name(&self.models.words, key), count, &is_free)
        }
    }

    /// Whether a name is free within a range of code, for a statement that binds other names as well, and does not look
    /// like the name of another key.
    fn is_free_beside(&self, scope: ScopeId, name: &str, (range, bound): (Span, &[&str])) -> bool {
        !bound.contains(&name) && self.is_no_other(scope, name) && self.is_free_within(scope, name, range)
    }

    /// Whether no other key of a scope has a number in its name: a name that is bound repeatedly does not count.
    fn is_no_other(&self, scope: ScopeId, name: &str) -> bool {
        let bound = self.names.occurrences(name).iter().filter(|one| one.scope == scope && one.action == Action::Bind);
        !ends_in_digit(name) || bound.count() != 1
    }

    /// The first free ones of `key_1`, `key_2`, …, or of `key1`, `key2`, … if the file numbers its keys like this.
    fn numbered(&self, base: &str, count: usize, is_free: &dyn Fn(&str) -> bool) -> Vec<String> {
        let is_short = base.len() <= 2 || self.numbers_without_gap();
        let gap = if is_short && !ends_in_digit(base) { "" } else { "_" };
        let numbers = (1_u32..).map(|number| format!("{base}{gap}{number}"));
        numbers.filter(|name| is_free(name)).take(count).collect()
    }

    /// Whether the file numbers its keys like `key1` and not like `key_1`.
    fn numbers_without_gap(&self) -> bool {
        let (mut with, mut without) = (0_usize, 0_usize);
        for name in self.names.all() {
            let stem = name.trim_end_matches(|one: char| one.is_ascii_digit());
            let mut words = self.models.words.key_words();
            if stem.len() == name.len() || !words.any(|(key, _)| stem.trim_end_matches('_').ends_with(key)) {
                continue;
            }
            *(if stem.ends_with('_') { &mut with } else { &mut without }) += 1;
        }
        without > with
    }

    /// The author's name for the child of a carried key, `subkey` in `key, subkey = split(key)`, in this scope or
    /// elsewhere; and whether it is in this one. Names that describe the purpose of a child are not reused.
    fn usual_child(&self, scope: ScopeId, key: &str) -> Option<(bool, &str)> {
        let bound = self.names.occurrences(key).iter().filter(|one| one.action == Action::Bind).take(LOOKED_AT);
        let children = bound.filter_map(|one| Some((one.scope == scope, self.child_bound_at(key, one.span)?)));
        let general = children.filter(|(_, child)| is_general_child(child, key));
        general.min_by_key(|(is_here, _)| !*is_here)
    }

    fn child_bound_at(&self, key: &str, span: Span) -> Option<&str> {
        let Stmt::Assign(assign) = self.steps(span).pop()?.statement() else { return None };
        let ([Expr::Tuple(targets)], Expr::Call(call)) = (&assign.targets[..], &*assign.value) else { return None };
        let [Expr::Name(next), Expr::Name(child)] = &targets.elts[..] else { return None };
        let is_carried = next.id.as_str() == key && call.arguments.args.first().is_some_and(|of| self.code(of) == key);
        (is_carried && self.is_split(call)).then_some(child.id.as_str())
    }

    /// Whether a name can be bound at the start of a range of code and read until its end.
    pub(super) fn is_free_within(&self, scope: ScopeId, name: &str, range: Span) -> bool {
        let full = self.names.scopes[scope].full;
        if KEYWORDS.binary_search(&name).is_ok() || self.is_reserved(name, full, range) {
            return false;
        }
        // Names that nested functions bind themselves are separate variables.
        let is_theirs = |one: &&Occurrence| {
            let binder = self.names.binder(one.scope, name);
            binder.is_some_and(|binder| binder != scope && self.names.is_within(binder, scope))
        };
        let mut seen = self.names.occurrences(name).iter().filter(|one| {
            let is_around = one.action != Action::Read && self.names.is_within(scope, one.scope);
            is_around || self.names.is_within(one.scope, scope) && !is_theirs(one)
        });
        seen.next().is_none() || self.is_dead_within(scope, name, range)
    }

    /// Whether a variable only holds children of keys, none of which is needed in a range of code or after it.
    fn is_dead_within(&self, scope: ScopeId, name: &str, range: Span) -> bool {
        let is_made_by_split = |one: &Occurrence| match self.steps(one.span).pop().map(tree::Step::statement) {
            Some(Stmt::Assign(assign)) => matches!(&*assign.value, Expr::Call(call) if self.is_split(call)),
            _ => false,
        };
        let is_child = |one: &Occurrence| match one.action {
            Action::Read => true,
            Action::Bind => !range.covers(one.span) && is_made_by_split(one),
            _ => false,
        };
        let mut own = self.names.occurrences(name).iter().filter(|one| one.scope == scope);
        let way = self.steps(Span::new(range.start, range.start));
        self.names.binds(scope, name) && own.all(is_child) && Variable::of(self, scope, name).is_unneeded_from(&way)
    }
}

/// Whether the name of a child is generic.
pub(super) fn is_general_child(child: &str, key: &str) -> bool {
    let is_plain = ["k", "key", "rng"].contains(&child) && child != key;
    is_plain || child.strip_prefix('_') == Some(key) || child == "split" || child.contains("sub")
}

pub(super) fn ends_in_digit(name: &str) -> bool {
    name.ends_with(|last: char| last.is_ascii_digit())
}

/// The name of the only child of a key.
fn single_name(base: &str) -> &'static str {
    if base.ends_with("rng") { "sub_rng" } else { "subkey" }
}

/// The last name of an expression for a key, without the part from a subscript.
pub(super) fn base_name(words: &Words, key: &str) -> String {
    let head = key.split(['[', '(']).next().unwrap_or_default();
    // The name of an entry is more specific than that of its container.
    let entry = key.split(['"', '\'']).nth(1).filter(|entry| !words.is_keyish(head) && words.is_keyish(entry));
    let head = entry.unwrap_or(head);
    let last = head.rsplit('.').next().unwrap_or_default().trim();
    let last = last.trim_start_matches('_');
    let is_name = last.chars().all(|one| one.is_alphanumeric() || one == '_')
        && last.chars().next().is_some_and(|first| !first.is_numeric());
    let last = if is_name { last } else { "key" };
    // The children of one of the `keys` are keys.
    match last.strip_suffix('s').filter(|rest| rest.ends_with("key") || rest.ends_with("rng")) {
        Some(single) => single.to_owned(),
        None => last.to_owned(),
    }
}
