//! `match` statements, as a chain of tests.
//!
//! **Invariant:** the subject is evaluated once; a case binds its captures when its whole pattern has matched and before its guard is
//! evaluated; a failed case falls through to the next and leaves no capture behind.

use super::operator::operate;
use super::{Lowering, call, index};
use crate::ir::{Block, Collection, Constant, Element, OpKind, Operator, Temp, Variable};
use crate::python::ast::{self, Expr, Pattern, Singleton};
use crate::python::span_of;
use crate::text::Span;

/// Built-in classes whose one positional pattern is matched against the subject itself.
const SELF_MATCHING: [&str; 11] =
    ["bool", "bytearray", "bytes", "dict", "float", "frozenset", "int", "list", "set", "str", "tuple"];

/// The state of matching one case.
struct Case<'a> {
    /// The hidden slot that holds whether the pattern has matched so far.
    slot: u32,
    /// Captures that wait in hidden slots, since a later part of the pattern may fail.
    pending: Vec<(&'a str, u32, Span)>,
}

/// The parts of a pattern that are matched one after the other.
struct Parts {
    /// Whether all parts so far match everything.
    certain: bool,
    /// Whether nothing that may fail comes after the whole.
    last: bool,
    /// Index of the last part that may fail.
    failing: Option<usize>,
}

impl Parts {
    fn of(patterns: &[&Pattern], last: bool) -> Self {
        Self { certain: true, last, failing: patterns.iter().rposition(|pattern| !is_irrefutable(pattern)) }
    }

    /// Whether nothing that may fail comes after the part with this index.
    fn is_last(&self, index: usize) -> bool {
        self.last && self.failing.is_none_or(|failing| failing <= index)
    }
}

impl<'a> Lowering<'a> {
    /// `match subject: …`
    pub(super) fn matching(&mut self, matching: &'a ast::StmtMatch) {
        let subject = self.expr(&matching.subject);
        let cases = &matching.cases;
        self.chain(span_of(matching), cases.len(), &|this, index, more| this.case(&cases[index], subject, more));
    }

    fn case(&mut self, case: &'a ast::MatchCase, subject: Temp, more: &dyn Fn(&mut Self)) {
        let span = span_of(&case.pattern);
        let mut state = Case { slot: 0, pending: Vec::new() };
        if case.guard.is_none() && is_irrefutable(&case.pattern) {
            self.capture_all(&case.pattern, subject, true, &mut state);
            return self.body(&case.body);
        }
        state.slot = self.fresh_slot("<case>");
        self.matched(&case.pattern, subject, true, &mut state);
        if let Some(guard) = &case.guard {
            let matched = self.load_slot(span, state.slot);
            let then = self.block(|this| {
                this.bind_pending(&state);
                let value = this.expr(guard);
                this.store_slot(span, state.slot, value);
            });
            self.when(span, matched, then);
        }
        let test = self.load_slot(span, state.slot);
        let then = self.block(|this| {
            if case.guard.is_none() {
                this.bind_pending(&state);
            }
            this.body(&case.body);
        });
        let orelse = self.block(more);
        self.emit(span, OpKind::If { test, then, orelse });
    }

    fn bind_pending(&mut self, state: &Case<'a>) {
        for (name, slot, span) in &state.pending {
            let value = self.load_slot(*span, *slot);
            self.bind(name, value, *span);
        }
    }

    /// Stores whether `pattern` matches. With `last`, nothing that may fail comes after it, so it binds its captures.
    fn matched(&mut self, pattern: &'a Pattern, subject: Temp, last: bool, state: &mut Case<'a>) {
        let span = span_of(pattern);
        match pattern {
            Pattern::MatchValue(value) => {
                let value = self.expr(&value.value);
                let test = self.emit(span, operate(Operator::Eq, subject, value));
                self.store_slot(span, state.slot, test);
            }
            Pattern::MatchSingleton(singleton) => {
                let constant = match singleton.value {
                    Singleton::None => Constant::None,
                    Singleton::True => Constant::Bool(true),
                    Singleton::False => Constant::Bool(false),
                };
                let value = self.constant(span, constant);
                let test = self.emit(span, operate(Operator::Is, subject, value));
                self.store_slot(span, state.slot, test);
            }
            Pattern::MatchOr(or) => self.alternatives(&or.patterns, subject, state),
            Pattern::MatchAs(capture) => match &capture.pattern {
                Some(inner) if !is_irrefutable(inner) => {
                    self.matched(inner, subject, last, state);
                    if let Some(name) = &capture.name {
                        self.if_matched(span, state, |this, state| this.capture(name, subject, span, last, state));
                    }
                }
                _ => {
                    let test = self.constant(span, Constant::Bool(true));
                    self.store_slot(span, state.slot, test);
                    self.capture_all(pattern, subject, last, state);
                }
            },
            Pattern::MatchSequence(sequence) => self.sequence(&sequence.patterns, subject, last, state, span),
            Pattern::MatchMapping(mapping) => self.mapping(mapping, subject, last, state),
            Pattern::MatchClass(class) => self.class(class, subject, last, state),
            Pattern::MatchStar(_) => {
                // A star outside of a sequence survives only in recovered source.
                let test = self.unsupported(span);
                self.store_slot(span, state.slot, test);
            }
        }
    }

    /// Does something if the pattern has matched so far.
    fn if_matched(&mut self, span: Span, state: &mut Case<'a>, fill: impl FnOnce(&mut Self, &mut Case<'a>)) {
        let test = self.load_slot(span, state.slot);
        let then = self.block(|this| fill(this, state));
        self.when(span, test, then);
    }

    /// Matches a part if the parts before it matched.
    fn part(&mut self, index: usize, pattern: &'a Pattern, value: Temp, parts: &mut Parts, state: &mut Case<'a>) {
        let last = parts.is_last(index);
        let span = span_of(pattern);
        match (parts.certain, is_irrefutable(pattern)) {
            (true, true) => self.capture_all(pattern, value, last, state),
            (true, false) => {
                self.matched(pattern, value, last, state);
                parts.certain = false;
            }
            (false, true) if !captures(pattern) => {}
            (false, true) => {
                self.if_matched(span, state, |this, state| this.capture_all(pattern, value, last, state));
            }
            (false, false) => self.if_matched(span, state, |this, state| this.matched(pattern, value, last, state)),
        }
    }

    /// Tries patterns until one matches. Each may capture a name at another place, so all captures wait.
    fn alternatives(&mut self, patterns: &'a [Pattern], subject: Temp, state: &mut Case<'a>) {
        let slot = state.slot;
        let shared = std::cell::RefCell::new(std::mem::replace(state, Case { slot, pending: Vec::new() }));
        let span = patterns.first().map_or_else(Span::default, span_of);
        self.chain(span, patterns.len(), &|this, index, more| {
            this.matched(&patterns[index], subject, false, &mut shared.borrow_mut());
            if index + 1 < patterns.len() {
                let span = span_of(&patterns[index]);
                let test = this.load_slot(span, slot);
                let orelse = this.block(more);
                this.emit(span, OpKind::If { test, then: Block::default(), orelse });
            }
        });
        *state = shared.into_inner();
    }

    fn sequence(&mut self, patterns: &'a [Pattern], subject: Temp, last: bool, state: &mut Case<'a>, span: Span) {
        let star = patterns.iter().position(Pattern::is_match_star);
        let least = u16::try_from(patterns.len() - usize::from(star.is_some())).unwrap_or(u16::MAX);
        let operator = Operator::MatchSequence(least, star.is_some());
        let test = self.emit(span, OpKind::Operate(operator, [Some(subject), None], false));
        self.store_slot(span, state.slot, test);
        let then = self.block(|this| {
            let (count, star) = (index(patterns.len()), star.map(index));
            let unpacked = this.emit(span, OpKind::Unpack { value: subject, count, star });
            let all: Vec<&'a Pattern> = patterns.iter().collect();
            let mut parts = Parts::of(&all, last);
            for (place, inner) in patterns.iter().enumerate() {
                let value = this.emit(span_of(inner), OpKind::Project(unpacked, index(place)));
                this.part(place, inner, value, &mut parts, state);
            }
        });
        self.when(span, test, then);
    }

    fn mapping(&mut self, mapping: &'a ast::PatternMatchMapping, subject: Temp, last: bool, state: &mut Case<'a>) {
        let span = span_of(mapping);
        let keys: Vec<Temp> = mapping.keys.iter().map(|key| self.expr(key)).collect();
        let tuple = self.emit(span, super::build(Collection::Tuple, &keys));
        let test = self.emit(span, operate(Operator::MatchMapping, subject, tuple));
        self.store_slot(span, state.slot, test);
        let then = self.block(|this| {
            let all: Vec<&'a Pattern> = mapping.patterns.iter().collect();
            let mut parts = Parts::of(&all, last);
            for (place, (key, inner)) in keys.iter().zip(&mapping.patterns).enumerate() {
                let value = this.emit(span_of(inner), OpKind::Item(subject, *key));
                this.part(place, inner, value, &mut parts, state);
            }
            let Some(rest) = &mapping.rest else { return };
            let bind = |this: &mut Self, state: &mut Case<'a>| {
                let span = span_of(rest);
                let others =
                    this.emit(span, OpKind::Build(Collection::Dict, Box::new([Element::SpreadMapping(subject)])));
                for key in &keys {
                    this.emit(span, OpKind::DeleteItem(others, *key));
                }
                this.capture(rest, others, span, last, state);
            };
            if parts.certain {
                bind(this, state);
            } else {
                this.if_matched(span, state, bind);
            }
        });
        self.when(span, test, then);
    }

    fn class(&mut self, class: &'a ast::PatternMatchClass, subject: Temp, last: bool, state: &mut Case<'a>) {
        let span = span_of(class);
        let callee = self.expr(&class.cls);
        let test = self.emit(span, operate(Operator::MatchClass, subject, callee));
        self.store_slot(span, state.slot, test);
        let (positional, keywords) = (&class.arguments.patterns, &class.arguments.keywords);
        if positional.is_empty() && keywords.is_empty() {
            return;
        }
        let itself = positional.len() == 1 && self.matches_itself(&class.cls);
        let then = self.block(|this| {
            let all: Vec<&'a Pattern> =
                positional.iter().chain(keywords.iter().map(|keyword| &keyword.pattern)).collect();
            let mut parts = Parts::of(&all, last);
            for (place, inner) in positional.iter().enumerate() {
                let value = if itself { subject } else { this.positional_part(place, inner, subject, callee) };
                this.part(place, inner, value, &mut parts, state);
            }
            for (place, keyword) in (positional.len()..).zip(keywords) {
                let name = this.name(&keyword.attr);
                let value = this.emit(span_of(&keyword.pattern), OpKind::Attribute(subject, name));
                this.part(place, &keyword.pattern, value, &mut parts, state);
            }
        });
        self.when(span, test, then);
    }

    /// The attribute that a class's `__match_args__` names.
    fn positional_part(&mut self, place: usize, inner: &Pattern, subject: Temp, class: Temp) -> Temp {
        let span = span_of(inner);
        let place = self.constant(span, Constant::Int(Box::new(index(place).into())));
        let names = self.name("__match_args__");
        let names = self.emit(span, OpKind::Attribute(class, names));
        let name = self.emit(span, OpKind::Item(names, place));
        let getattr = self.builtin(span, "getattr");
        self.emit(span, call(getattr, &[subject, name]))
    }

    fn matches_itself(&mut self, class: &'a Expr) -> bool {
        let Expr::Name(name) = class else { return false };
        SELF_MATCHING.contains(&name.id.as_str()) && matches!(self.resolve(&name.id), Variable::Global(_))
    }

    /// Binds the captures of a pattern that always matches.
    fn capture_all(&mut self, pattern: &'a Pattern, value: Temp, last: bool, state: &mut Case<'a>) {
        let (inner, name) = match pattern {
            Pattern::MatchAs(capture) => (capture.pattern.as_deref(), &capture.name),
            Pattern::MatchStar(star) => (None, &star.name),
            _ => return,
        };
        if let Some(inner) = inner {
            self.capture_all(inner, value, last, state);
        }
        if let Some(name) = name {
            self.capture(name, value, span_of(pattern), last, state);
        }
    }

    /// Binds a capture, at once or when all of the pattern has matched.
    fn capture(&mut self, name: &'a str, value: Temp, span: Span, last: bool, state: &mut Case<'a>) {
        if last {
            return self.bind(name, value, span);
        }
        // The alternatives of a pattern capture the same names.
        let known = state.pending.iter().find(|(pending, ..)| *pending == name).map(|(_, slot, _)| *slot);
        let slot = known.unwrap_or_else(|| {
            let slot = self.fresh_slot("<capture>");
            state.pending.push((name, slot, span));
            slot
        });
        self.store_slot(span, slot, value);
    }
}

/// Whether a pattern matches everything.
fn is_irrefutable(pattern: &Pattern) -> bool {
    match pattern {
        Pattern::MatchAs(capture) => capture.pattern.as_deref().is_none_or(is_irrefutable),
        Pattern::MatchStar(_) => true,
        _ => false,
    }
}

/// Whether a pattern that matches everything binds a name.
fn captures(pattern: &Pattern) -> bool {
    match pattern {
        Pattern::MatchAs(capture) => capture.name.is_some() || capture.pattern.as_deref().is_some_and(captures),
        Pattern::MatchStar(star) => star.name.is_some(),
        _ => false,
    }
}
