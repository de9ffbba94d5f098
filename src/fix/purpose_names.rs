//! Keys named after what each is for: `noise_key` where `noise = normal(key)`.
//!
//! **Invariant:** either all keys that a fix makes at once get such names, with distinct words from the program, or
//! none does.

use super::context::FixContext;
use super::names::ScopeId;
use super::naming::{base_name, ends_in_digit};
use super::tree;
use crate::models::Words;
use crate::python::ast::{self, AnyNodeRef, Expr, Stmt};
use crate::python::span_of;
use crate::text::Span;

/// The maximum number of such names: with more, the assignment becomes too long for one line.
const MOST: usize = 6;

/// The highest number behind such a name.
const LAST: usize = 9;

/// A longer word is less useful than a number.
const LONGEST: usize = 16;

/// How a file distinguishes its keys.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Style {
    /// `noise_key`.
    Behind,
    /// `key_noise`.
    Before,
    /// `key_1`, `key2`.
    Numbered,
}

/// A call, and the expression of its key.
pub(super) type KeyArgument<'a> = (&'a ast::ExprCall, &'a Expr);

impl FixContext<'_> {
    /// Free names for the keys of some calls, all derived from `key`; `range` extends from the place where they are
    /// bound to the last of the calls.
    pub(super) fn fresh_for(&self, scope: ScopeId, key: &str, uses: &[KeyArgument<'_>], range: Span) -> Vec<String> {
        let purposes = self.purposes(scope, key, uses, range).filter(|_| uses.len() > 1);
        purposes.unwrap_or_else(|| self.fresh_within(scope, key, uses.len(), range))
    }

    /// The same, if the program has words for the results of the calls.
    pub(super) fn purposes(
        &self,
        scope: ScopeId,
        key: &str,
        uses: &[KeyArgument<'_>],
        range: Span,
    ) -> Option<Vec<String>> {
        self.purposes_beside(scope, key, uses, (range, &[]))
    }

    /// The same, for a statement that also binds other names, which show whether this author writes `key` or `rng`.
    pub(super) fn purposes_beside(
        &self,
        scope: ScopeId,
        key: &str,
        uses: &[KeyArgument<'_>],
        (range, bound): (Span, &[&str]),
    ) -> Option<Vec<String>> {
        let base = base_name(&self.models.words, key);
        let style = self.style();
        // After `k`, the next one is `k1`.
        if uses.len() > MOST || base.len() <= 2 || style == Style::Numbered {
            return None;
        }
        let statements = uses.iter().map(|(call, _)| Some(self.steps(span_of(*call)).pop()?.statement()));
        let statements: Vec<&Stmt> = statements.collect::<Option<_>>()?;
        let words = uses.iter().zip(&statements).map(|(given, statement)| {
            let is_alone = statements.iter().filter(|other| std::ptr::eq(**other, *statement)).count() == 1;
            self.purpose(*given, statement, is_alone)
        });
        let mut words: Vec<&str> = words.collect::<Option<_>>()?;
        // `x = crop(key, x)` after `x = flip(key, x)`.
        if words.len() > 1 && words.iter().all(|word| *word == words[0]) {
            words = uses.iter().map(|(call, _)| self.function_word(call)).collect::<Option<_>>()?;
            if words.iter().all(|word| *word == words[0]) {
                return None;
            }
        }
        let beside = bound.iter().filter(|name| **name != key).find_map(|name| {
            let (_, last) = name.rsplit_once('_')?;
            self.models.words.key_words().map(|(key, _)| key).find(|key| *key == last)
        });
        let kind = match base.as_str() {
            _ if beside.is_some() => beside.unwrap_or_default(),
            rng if rng.ends_with("rng") || rng.starts_with("rng") && !rng.contains("key") => "rng",
            seed if seed.ends_with("seed") => "seed",
            _ => "key",
        };
        let names = words.iter().enumerate().map(|(at, word)| {
            let name = match style {
                Style::Before => format!("{kind}_{word}"),
                Style::Behind | Style::Numbered => format!("{word}_{kind}"),
            };
            let is_same = |other: &&&str| *other == word;
            match words.iter().filter(is_same).count() {
                1 => name,
                _ => format!("{name}_{}", words[..=at].iter().filter(is_same).count()),
            }
        });
        let names: Vec<String> = names.collect();
        // The second of two `a` gets the same name as a single `a_2`.
        let are_distinguished = names.iter().enumerate().all(|(at, name)| !names[..at].contains(name));
        let is_free = |name: &str| !bound.contains(&name) && self.is_free_within(scope, name, range);
        if !are_distinguished {
            return None;
        }
        // `noise_key_2` beside a `noise_key` that is in use.
        let free = |name: &String| {
            let mut numbered = (2..=LAST).map(|number| format!("{name}_{number}"));
            let known = ends_in_digit(name) || self.names.is_taken(scope, name);
            if is_free(name) { Some(name.clone()) } else { numbered.find(|name| known && is_free(name)) }
        };
        let names: Vec<String> = names.iter().map(free).collect::<Option<_>>()?;
        let are_distinguished = names.iter().enumerate().all(|(at, name)| !names[..at].contains(name));
        are_distinguished.then_some(names)
    }

    /// The word for a key's purpose: the name of the argument, dict entry or variable that the draw goes to, otherwise
    /// the function of the program that takes the key.
    fn purpose<'w>(&'w self, (call, key): KeyArgument<'w>, statement: &'w Stmt, is_alone: bool) -> Option<&'w str> {
        let words = &self.models.words;
        let mut around = tree::ancestors(self.module, span_of(key)).into_iter().rev();
        let entry = around.find_map(|node| match node {
            AnyNodeRef::Keyword(keyword) => word(words, keyword.arg.as_ref()?.as_str()),
            AnyNodeRef::ExprDict(dict) => {
                let entry = dict.items.iter().find(|entry| span_of(&entry.value).covers(span_of(key)))?;
                word(words, entry.key.as_ref()?.as_string_literal_expr()?.value.to_str())
            }
            _ => None,
        });
        let target = || match tree::targets(statement) {
            [target] if is_alone => match target {
                Expr::Name(name) => word(words, name.id.as_str()),
                Expr::Attribute(attribute) => word(words, attribute.attr.as_str()),
                Expr::Subscript(item) => word(words, item.slice.as_string_literal_expr()?.value.to_str()),
                _ => None,
            },
            _ => None,
        };
        entry.or_else(target).or_else(|| self.function_word(call))
    }

    /// The name of a function of the program.
    fn function_word(&self, call: &ast::ExprCall) -> Option<&str> {
        let name = self.code(&call.func).rsplit('.').next()?;
        let is_library = self.model_of(&call.func).is_some();
        word(&self.models.words, name).filter(|name| !is_library && !name.starts_with(char::is_uppercase))
    }

    /// How this file distinguishes its keys, judging by its names.
    fn style(&self) -> Style {
        let (mut behind, mut before, mut numbered) = (0_usize, 0_usize, 0_usize);
        for name in self.names.all() {
            let plain = name.trim_end_matches(|one: char| one.is_ascii_digit());
            let is_key = |part: &str| self.models.words.is_key_word(part.trim_matches('_'));
            if plain.len() < name.len() && self.is_keyish(plain) {
                numbered += 1;
            } else if let Some((first, rest)) = name.split_once('_')
                && is_key(first)
                && !self.is_keyish(rest)
            {
                before += 1;
            } else if let Some((rest, last)) = name.rsplit_once('_')
                && is_key(last)
                && !self.is_keyish(rest)
                && !rest.is_empty()
            {
                behind += 1;
            }
        }
        if numbered > behind + before {
            Style::Numbered
        } else if before > behind {
            Style::Before
        } else {
            Style::Behind
        }
    }
}

/// A name without its word for keys; `None` if the rest is not useful as a part of another name.
fn word<'n>(words: &Words, name: &'n str) -> Option<&'n str> {
    let mut word = name.trim_matches('_');
    for key in words.key_words().flat_map(|(one, several)| [several, one]) {
        if let Some(rest) = word.strip_suffix(key).filter(|rest| rest.is_empty() || rest.ends_with('_')) {
            word = rest.trim_matches('_');
        }
        if let Some(rest) = word.strip_prefix(key).filter(|rest| rest.is_empty() || rest.starts_with('_')) {
            word = rest.trim_matches('_');
        }
    }
    let is_plain = word.chars().all(|one| one.is_ascii_alphanumeric() || one == '_');
    let is_word = is_plain && word.starts_with(|first: char| first.is_ascii_alphabetic()) && word.len() <= LONGEST;
    (is_word && !words.is_keyish(word)).then_some(word)
}
