//! `match` statements, as a chain of tests.
//!
//! **Invariant:** the subject is evaluated once; a case's captures are bound before its guard, as in Python; a failed case
//! falls to the next.

use super::{Lowering, operate};
use crate::ir::{Collection, Constant, Element, OpKind, Operator, Temp, Variable};
use crate::python::ast::{self, Pattern, Singleton};
use crate::python::span_of;

impl Lowering<'_> {
    /// `match subject: …`
    pub(super) fn matching(&mut self, matching: &ast::StmtMatch) {
        let subject = self.expr(&matching.subject);
        self.cases(subject, &matching.cases);
    }

    fn cases(&mut self, subject: Temp, cases: &[ast::MatchCase]) {
        let Some((case, rest)) = cases.split_first() else { return };
        let span = span_of(&case.pattern);
        if case.guard.is_none() && is_irrefutable(&case.pattern) {
            self.capture(&case.pattern, subject);
            return self.body(&case.body);
        }
        let slot = self.fresh_slot("<case>");
        self.matched(&case.pattern, subject, slot);
        if let Some(guard) = &case.guard {
            let matched = self.emit(span, OpKind::Load(Variable::Local(slot)));
            let then = self.block(|this| {
                let value = this.expr(guard);
                this.emit(span, OpKind::Store(Variable::Local(slot), value));
            });
            self.emit(span, OpKind::If { test: matched, then, orelse: Vec::new() });
        }
        let test = self.emit(span, OpKind::Load(Variable::Local(slot)));
        let then = self.block(|this| this.body(&case.body));
        let orelse = self.block(|this| this.cases(subject, rest));
        self.emit(span, OpKind::If { test, then, orelse });
    }

    /// Stores in `slot` whether `pattern` matches, and binds its captures where it does.
    fn matched(&mut self, pattern: &Pattern, subject: Temp, slot: u32) {
        let span = span_of(pattern);
        match pattern {
            Pattern::MatchValue(value) => {
                let value = self.expr(&value.value);
                let test = self.emit(span, operate(Operator::Eq, subject, value));
                self.emit(span, OpKind::Store(Variable::Local(slot), test));
            }
            Pattern::MatchSingleton(singleton) => {
                let constant = match singleton.value {
                    Singleton::None => Constant::None,
                    Singleton::True => Constant::Bool(true),
                    Singleton::False => Constant::Bool(false),
                };
                let value = self.constant(span, constant);
                let test = self.emit(span, operate(Operator::Is, subject, value));
                self.emit(span, OpKind::Store(Variable::Local(slot), test));
            }
            Pattern::MatchOr(or) => self.alternatives(&or.patterns, subject, slot),
            Pattern::MatchAs(capture) => {
                match &capture.pattern {
                    Some(inner) => self.matched(inner, subject, slot),
                    None => {
                        let test = self.constant(span, Constant::Bool(true));
                        self.emit(span, OpKind::Store(Variable::Local(slot), test));
                    }
                }
                if let Some(name) = &capture.name {
                    self.bind(name, subject, span);
                }
            }
            Pattern::MatchSequence(sequence) => self.sequence(&sequence.patterns, subject, slot, pattern),
            Pattern::MatchMapping(mapping) => {
                let mut elements = Vec::new();
                for key in &mapping.keys {
                    let key = self.expr(key);
                    elements.push(Element::Value(key));
                }
                let keys = self.emit(span, OpKind::Build(Collection::Tuple, elements.clone()));
                let test = self.emit(span, operate(Operator::MatchMapping, subject, keys));
                self.emit(span, OpKind::Store(Variable::Local(slot), test));
                let then = self.block(|this| {
                    for (key, inner) in elements.iter().zip(&mapping.patterns) {
                        if let Element::Value(key) = key {
                            let value = this.emit(span_of(inner), OpKind::Item(subject, *key));
                            this.conjunct(inner, value, slot);
                        }
                    }
                    if let Some(rest) = &mapping.rest {
                        let others = this.emit(span, OpKind::Unsupported(Vec::new()));
                        this.bind(rest, others, span);
                    }
                });
                self.emit(span, OpKind::If { test, then, orelse: Vec::new() });
            }
            Pattern::MatchClass(class) => {
                let callee = self.expr(&class.cls);
                let test = self.emit(span, operate(Operator::MatchClass, subject, callee));
                self.emit(span, OpKind::Store(Variable::Local(slot), test));
                let then = self.block(|this| {
                    for (index, inner) in (0i128..).zip(&class.arguments.patterns) {
                        let index = this.constant(span, Constant::Int(index));
                        let names = this.name("__match_args__");
                        let names = this.emit(span, OpKind::Attribute(callee, names));
                        let name = this.emit(span, OpKind::Item(names, index));
                        let getattr = this.name("getattr");
                        let getattr = this.emit(span, OpKind::Load(Variable::Global(getattr)));
                        let value = this.emit(span_of(inner), super::call(getattr, vec![subject, name]));
                        this.conjunct(inner, value, slot);
                    }
                    for keyword in &class.arguments.keywords {
                        let name = this.name(&keyword.attr);
                        let value = this.emit(span_of(&keyword.pattern), OpKind::Attribute(subject, name));
                        this.conjunct(&keyword.pattern, value, slot);
                    }
                });
                self.emit(span, OpKind::If { test, then, orelse: Vec::new() });
            }
            Pattern::MatchStar(_) => {
                self.emit(span, OpKind::Unsupported(Vec::new()));
            }
        }
    }

    /// Matches a part only where the parts before it matched.
    fn conjunct(&mut self, pattern: &Pattern, value: Temp, slot: u32) {
        if is_irrefutable(pattern) {
            return self.capture(pattern, value);
        }
        let span = span_of(pattern);
        let so_far = self.emit(span, OpKind::Load(Variable::Local(slot)));
        let then = self.block(|this| this.matched(pattern, value, slot));
        self.emit(span, OpKind::If { test: so_far, then, orelse: Vec::new() });
    }

    fn alternatives(&mut self, patterns: &[Pattern], subject: Temp, slot: u32) {
        let Some((first, rest)) = patterns.split_first() else { return };
        self.matched(first, subject, slot);
        if rest.is_empty() {
            return;
        }
        let span = span_of(first);
        let test = self.emit(span, OpKind::Load(Variable::Local(slot)));
        let orelse = self.block(|this| this.alternatives(rest, subject, slot));
        self.emit(span, OpKind::If { test, then: Vec::new(), orelse });
    }

    fn sequence(&mut self, patterns: &[Pattern], subject: Temp, slot: u32, whole: &Pattern) {
        let span = span_of(whole);
        let star = patterns.iter().position(|pattern| matches!(pattern, Pattern::MatchStar(_)));
        let count = u32::try_from(patterns.len()).unwrap_or(u32::MAX);
        let least = u16::try_from(patterns.len() - usize::from(star.is_some())).unwrap_or(u16::MAX);
        let operator = Operator::MatchSequence(least, star.is_some());
        let test = self.emit(span, OpKind::Operate(operator, [Some(subject), None], false));
        self.emit(span, OpKind::Store(Variable::Local(slot), test));
        let then = self.block(|this| {
            let star = star.and_then(|index| u32::try_from(index).ok());
            let unpacked = this.emit(span, OpKind::Unpack { value: subject, count, star });
            for (index, inner) in (0u32..).zip(patterns) {
                let value = this.emit(span_of(inner), OpKind::Project(unpacked, index));
                match inner {
                    Pattern::MatchStar(rest) => {
                        if let Some(name) = &rest.name {
                            this.bind(name, value, span_of(inner));
                        }
                    }
                    _ => this.conjunct(inner, value, slot),
                }
            }
        });
        self.emit(span, OpKind::If { test, then, orelse: Vec::new() });
    }

    /// Binds the captures of a pattern that always matches.
    fn capture(&mut self, pattern: &Pattern, value: Temp) {
        if let Pattern::MatchAs(capture) = pattern {
            if let Some(inner) = &capture.pattern {
                self.capture(inner, value);
            }
            if let Some(name) = &capture.name {
                self.bind(name, value, span_of(pattern));
            }
        }
    }
}

/// Whether a pattern matches everything.
fn is_irrefutable(pattern: &Pattern) -> bool {
    match pattern {
        Pattern::MatchAs(capture) => capture.pattern.as_deref().is_none_or(is_irrefutable),
        _ => false,
    }
}
