//! Operators: arithmetic, comparisons and membership, and what they do to keys.
//!
//! **Invariant:** an operator on numbers is a term; an operator on a key is a misuse of its buffer and its result is no key.

use crate::analysis::domain::guard::Guard;
use crate::analysis::domain::kinds::{BufferOp, KeyKind};
use crate::analysis::domain::term::{Symbol, Term};
use crate::analysis::domain::value::{Array, Elements, Key, Val, Value};
use crate::analysis::heap::{Item, Kind};
use crate::ir::{Op, Operator, Temp};
use crate::models::is_of_arrays;

use super::{Frame, Machine};

impl<'p> Machine<'p> {
    pub(super) fn operate(
        &mut self,
        frame: &mut Frame<'p>,
        operator: Operator,
        operands: [Option<Temp>; 2],
        augmented: bool,
        op: &'p Op,
    ) -> Value {
        let [left, right] = operands.map(|temp| temp.map(|temp| frame.temps[temp as usize].clone()));
        let Some(left) = left else { return self.opaque("<operator>", None) };
        let texts = operands.map(|temp| temp.and_then(|temp| self.written_text(frame, temp)));
        if is_arithmetic(operator) {
            for (value, index) in [(Some(&left), 0), (right.as_ref(), 1)] {
                let Some(value) = value else { continue };
                let value = self.possible(value);
                for alternative in value.alternatives() {
                    let Some(key) = self.evident_key(&alternative.val) else { continue };
                    // `[key] * n` and `keys + [key]` are lists; `+key` is the key.
                    if operator == Operator::Pos {
                        return value;
                    }
                    if self.other_is_list(if index == 0 { right.as_ref() } else { Some(&left) }) {
                        continue;
                    }
                    let place = self.place(frame, op.span);
                    let guard = alternative.guard;
                    let text = operator_text(operator, &texts);
                    self.under(guard, |this| {
                        this.buffer_use(frame, BufferOp::Arithmetic, key, place, text, true);
                    });
                    return self.arithmetic_result(key, operator, &left, right.as_ref());
                }
            }
        }
        let Some(right) = right else {
            return if operator == Operator::Not {
                let left = self.with_truth(&left);
                let holds = self.truth(&left);
                self.boolean(holds, Operator::Not, &left)
            } else {
                let term = self.term_of(&left);
                Value::term(self.terms.operate(operator, &[term]))
            };
        };
        if let Some(value) = self.sequence_operation(frame, operator, &left, &right, augmented, op) {
            return value;
        }
        match operator {
            Operator::Is | Operator::IsNot | Operator::Eq | Operator::Ne => {
                let place = self.place(frame, op.span);
                self.note_shape_logic(frame, &left, &right, &texts, place);
                self.compare(operator, &left, &right)
            }
            Operator::In | Operator::NotIn => {
                let changed = self.with_members(&right);
                if changed != right && Self::are_terms(&changed) {
                    let needle = self.term_of(&left);
                    return self.on_alternatives(&changed, |this, val| {
                        let container = this.term_of_val(val);
                        let found = this.is_member(needle, container);
                        let is_in = operator == Operator::In;
                        Value::term(if is_in { found } else { this.terms.operate(Operator::Not, &[found]) })
                    });
                }
                let (a, b) = (self.term_of(&left), self.term_of(&right));
                match self.membership(frame, &left, &right) {
                    Some(found) => {
                        let value = if operator == Operator::In { found } else { !found };
                        Value::term(self.terms.intern(Term::Bool(value)))
                    }
                    None => match self.among(frame, &left, &right) {
                        Some(found) if operator == Operator::In => Value::term(found),
                        Some(found) => Value::term(self.terms.operate(Operator::Not, &[found])),
                        None => Value::term(self.terms.operate(operator, &[a, b])),
                    },
                }
            }
            _ => {
                if matches!(operator, Operator::Lt | Operator::Le | Operator::Gt | Operator::Ge) {
                    let place = self.place(frame, op.span);
                    self.note_shape_logic(frame, &left, &right, &texts, place);
                    if left.alternatives().len() > 1 && Self::are_terms(&left) && right.single().is_some() {
                        let right = self.term_of(&right);
                        return self.on_alternatives(&left, |this, val| {
                            let left = this.term_of_val(val);
                            Value::term(this.terms.operate(operator, &[left, right]))
                        });
                    }
                }
                let (a, b) = (self.term_of(&left), self.term_of(&right));
                Value::term(self.terms.operate(operator, &[a, b]))
            }
        }
    }

    /// `key + 1` on raw words: numbers that still pass for a key where they stay `uint32`.
    fn arithmetic_result(&mut self, key: Key, operator: Operator, left: &Value, right: Option<&Value>) -> Value {
        if key.kind == KeyKind::Typed {
            return self.opaque("<raises>", None);
        }
        let a = self.term_of(left);
        let mut parts = vec![a];
        if let Some(right) = right {
            parts.push(self.term_of(right));
        }
        let computed = self.terms.intern(Term::Operate(operator, parts.into()));
        let term = self.terms.intern(Term::Apply("<computed key>".into(), Box::new([computed])));
        Value::of(Val::Key(Key { term, kind: KeyKind::Raw, derivation: 0 }))
    }

    /// Whether all alternatives of a value are terms.
    pub(super) fn are_terms(value: &Value) -> bool {
        value.alternatives().iter().all(|alternative| matches!(alternative.val, Val::Term(_)))
    }

    fn other_is_list(&self, other: Option<&Value>) -> bool {
        other.is_some_and(|value| {
            value.alternatives().iter().any(|alternative| match &alternative.val {
                Val::Tuple(_) => true,
                Val::Object(object) => matches!(self.store.objects[object.0 as usize].kind, Kind::List { .. }),
                _ => false,
            })
        })
    }

    /// The Boolean value that is true on the paths of `holds`.
    fn boolean(&mut self, holds: Guard, operator: Operator, of: &Value) -> Value {
        if holds.is_true() || holds.is_false() {
            let value = if operator == Operator::Not { holds.is_false() } else { holds.is_true() };
            return Value::term(self.terms.intern(Term::Bool(value)));
        }
        let term = if let Some(Val::Term(term)) = of.single() {
            *term
        } else {
            // The truth of several alternatives, as a choice between constants.
            let (yes, no) = (self.terms.intern(Term::Bool(true)), self.terms.intern(Term::Bool(false)));
            let others = self.paths.guards.not(holds);
            self.terms.intern(Term::Choice(Box::new([(holds, yes), (others, no)])))
        };
        Value::term(self.terms.operate(operator, &[term]))
    }

    /// `==`, `!=`, `is`, `is not`, alternative by alternative.
    fn compare(&mut self, operator: Operator, left: &Value, right: &Value) -> Value {
        let positive = if matches!(operator, Operator::Is | Operator::IsNot) { Operator::Is } else { Operator::Eq };
        let negated = matches!(operator, Operator::Ne | Operator::IsNot);
        let right_term = self.term_of(right);
        let left = left.clone();
        let result = self.on_alternatives(&left, |this, val| {
            let value = if matches!(this.terms.get(right_term), Term::None) {
                this.is_none(val, positive)
            } else {
                let term = this.term_of_val(val);
                this.terms.operate(positive, &[term, right_term])
            };
            Value::term(value)
        });
        if !negated {
            return result;
        }
        self.on_alternatives(&result, |this, val| match val {
            Val::Term(term) => Value::term(this.terms.operate(Operator::Not, &[*term])),
            other => Value::of(other.clone()),
        })
    }

    fn is_none(&mut self, val: &Val, operator: Operator) -> crate::analysis::domain::term::TermId {
        match val {
            Val::Term(term) => {
                let none = self.terms.intern(Term::None);
                match self.terms.get(*term) {
                    Term::None => self.terms.intern(Term::Bool(true)),
                    Term::Seed(_) | Term::Child(..) | Term::Fold(..) | Term::Offset(..) | Term::Operate(..) => {
                        self.terms.intern(Term::Bool(false))
                    }
                    Term::Apply(name, _) if name.starts_with('<') || is_of_arrays(name) => {
                        self.terms.intern(Term::Bool(false))
                    }
                    Term::Symbol(_) if self.is_drawn(*term) => self.terms.intern(Term::Bool(false)),
                    _ => self.terms.operate(operator, &[*term, none]),
                }
            }
            // A key that only an annotation or a parameter vouches for may be `None`.
            Val::Key(key)
                if matches!(self.terms.get(key.term), Term::Symbol(_) | Term::Attribute(..) | Term::Item(..)) =>
            {
                let none = self.terms.intern(Term::None);
                self.terms.operate(operator, &[key.term, none])
            }
            _ => self.terms.intern(Term::Bool(false)),
        }
    }

    /// Whether a symbol stands for the result of a sampler: numbers, never `None`.
    fn is_drawn(&self, term: crate::analysis::domain::term::TermId) -> bool {
        let Some(path) = self.terms.symbol(term).and_then(|info| info.text.strip_suffix("(…)")) else { return false };
        self.program
            .models
            .callable(path)
            .is_some_and(|callable| callable.exact && matches!(callable.effect, crate::models::Effect::Sample { .. }))
    }

    /// The paths on which `x` is one of a few literals.
    fn among(
        &mut self,
        frame: &mut Frame<'p>,
        left: &Value,
        right: &Value,
    ) -> Option<crate::analysis::domain::term::TermId> {
        let items = self.items_of(frame, right).filter(|items| items.len() <= 8)?;
        let needle = self.term_of(left);
        let mut holds = Guard::FALSE;
        for item in items {
            let term = self.term_of(&item.value);
            if !self.terms.is_constant(term) {
                return None;
            }
            let equal = self.terms.operate(Operator::Eq, &[needle, term]);
            let equal = self.truth_of_term(equal);
            holds = self.paths.guards.or(holds, equal);
        }
        let others = self.paths.guards.not(holds);
        let (yes, no) = (self.terms.intern(Term::Bool(true)), self.terms.intern(Term::Bool(false)));
        Some(self.terms.intern(Term::Choice(Box::new([(holds, yes), (others, no)]))))
    }

    /// `x in (…)` with literals on both sides.
    fn membership(&mut self, frame: &mut Frame<'p>, left: &Value, right: &Value) -> Option<bool> {
        let needle = self.term_of(left);
        if !self.terms.is_constant(needle) {
            return None;
        }
        if let Some(Val::Object(object)) = right.single()
            && let Kind::Dict { entries, unknown: false } = &self.store.objects[object.0 as usize].kind
        {
            let found = entries.iter().any(|entry| entry.key == needle && entry.guard.is_true());
            let maybe = entries.iter().any(|entry| entry.key == needle || !self.terms.is_constant(entry.key));
            return if found {
                Some(true)
            } else if maybe {
                None
            } else {
                Some(false)
            };
        }
        let items = self.items_of(frame, right)?;
        let terms: Vec<_> = items.iter().map(|item| self.term_of(&item.value)).collect();
        if terms.contains(&needle) {
            return Some(true);
        }
        terms.iter().all(|term| self.terms.is_constant(*term)).then_some(false)
    }

    /// `+` and `*` on lists and tuples, and `|` on dicts.
    fn sequence_operation(
        &mut self,
        frame: &mut Frame<'p>,
        operator: Operator,
        left: &Value,
        right: &Value,
        augmented: bool,
        op: &'p Op,
    ) -> Option<Value> {
        let is_sequence = |this: &Self, value: &Value| match value.single() {
            Some(Val::Tuple(_)) => true,
            Some(Val::Object(object)) => matches!(this.store.objects[object.0 as usize].kind, Kind::List { .. }),
            _ => false,
        };
        match operator {
            Operator::Add if is_sequence(self, left) => {
                let tuple = matches!(left.single(), Some(Val::Tuple(_)));
                let added = self.items_of(frame, right);
                if augmented && let Some(Val::Object(object)) = left.single().cloned() {
                    self.extend_list(object, added);
                    return Some(left.clone());
                }
                let mut items = self.items_of(frame, left)?;
                let unknown = added.is_none();
                items.extend(added.unwrap_or_default());
                if tuple && !unknown && items.iter().all(|item| item.guard.is_true()) {
                    return Some(Value::of(Val::Tuple(items.into_iter().map(|item| item.value).collect())));
                }
                let place = self.place(frame, op.span);
                let kind = Kind::List { items, unknown };
                Some(Value::of(Val::Object(self.allocate(kind, "<list>", Some(place)))))
            }
            Operator::Mul if is_sequence(self, left) || is_sequence(self, right) => {
                let (sequence, times) = if is_sequence(self, left) { (left, right) } else { (right, left) };
                let items = self.items_of(frame, sequence)?;
                let term = self.term_of(times);
                let place = self.place(frame, op.span);
                match self.terms.as_int(term) {
                    Some(count) if (0..=16).contains(&count) => {
                        let repeated: Vec<Item> = (0..count).flat_map(|_| items.clone()).collect();
                        let kind = Kind::List { items: repeated, unknown: false };
                        Some(Value::of(Val::Object(self.allocate(kind, "<list>", Some(place)))))
                    }
                    _ => match items.as_slice() {
                        // `[key] * n`: copies of one key.
                        [only] => {
                            let array = Array {
                                kind: KeyKind::Unknown,
                                derivation: 0,
                                dims: Some(vec![Some(term)].into()),
                                elements: Elements::Copies(std::rc::Rc::new(only.value.clone())),
                            };
                            let is_key = only.value.single().cloned().is_some_and(|val| {
                                let is_called_one = matches!(&val, Val::Term(of) if self.is_named_for_a_key(*of, None));
                                is_called_one || self.evident_key(&val).is_some()
                            });
                            is_key.then(|| Value::of(Val::Array(std::rc::Rc::new(array))))
                        }
                        _ => None,
                    },
                }
            }
            Operator::Or => {
                let (mut entries, first) = self.entries_of(left)?;
                let (more, second) = self.entries_of(right)?;
                for entry in more {
                    entries.retain(|old| old.key != entry.key);
                    entries.push(entry);
                }
                let place = self.place(frame, op.span);
                let kind = Kind::Dict { entries, unknown: first || second };
                Some(Value::of(Val::Object(self.allocate(kind, "<dict>", Some(place)))))
            }
            _ => None,
        }
    }

    /// A value known to be a key: by construction, by annotation, or because a sampler took it for one.
    pub(super) fn evident_key(&mut self, val: &Val) -> Option<Key> {
        match val {
            Val::Key(key) => Some(*key),
            Val::Array(array) if self.is_evident(array) => {
                let term = match &array.elements {
                    Elements::View { family, .. } => *family,
                    _ => self.terms.fresh(Symbol::Opaque, "<array>", None),
                };
                Some(Key { term, kind: array.kind, derivation: array.derivation })
            }
            Val::Term(term) if self.recorder.log.declared.contains(term) => {
                Some(Key { term: *term, kind: KeyKind::Unknown, derivation: 0 })
            }
            _ => None,
        }
    }
}

impl Machine<'_> {
    /// Whether an array is known to hold keys, rather than being a view of something from outside.
    pub(super) fn is_evident(&self, array: &Array) -> bool {
        if array.kind != KeyKind::Unknown {
            return true;
        }
        let evident = |value: &Value| {
            value.alternatives().iter().any(|alternative| match &alternative.val {
                Val::Key(_) => true,
                Val::Array(inner) => self.is_evident(inner),
                Val::Term(term) => self.recorder.log.declared.contains(term),
                _ => false,
            })
        };
        match &array.elements {
            Elements::View { family, .. } => {
                array.derivation != 0
                    || self.recorder.log.declared.contains(family)
                    || matches!(self.terms.get(*family), Term::Children(_))
            }
            Elements::Listed(parts) | Elements::Joined(parts) => parts.iter().any(evident),
            Elements::Copies(of) => evident(of),
        }
    }
}

/// Operators that compute with numbers.
fn is_arithmetic(operator: Operator) -> bool {
    matches!(
        operator,
        Operator::Add
            | Operator::Sub
            | Operator::Mul
            | Operator::MatMul
            | Operator::Div
            | Operator::FloorDiv
            | Operator::Mod
            | Operator::Pow
            | Operator::Shl
            | Operator::Shr
            | Operator::Or
            | Operator::Xor
            | Operator::And
            | Operator::Invert
            | Operator::Neg
            | Operator::Pos
            | Operator::Lt
            | Operator::Le
            | Operator::Gt
            | Operator::Ge
    )
}

fn operator_text(operator: Operator, texts: &[Option<crate::ir::Name>; 2]) -> String {
    let symbol = operator.sign();
    let part = |text: &Option<crate::ir::Name>| text.as_deref().unwrap_or("…").to_owned();
    match operator {
        Operator::Invert | Operator::Neg => format!("{symbol}{}", part(&texts[0])),
        _ => format!("{} {symbol} {}", part(&texts[0]), part(&texts[1])),
    }
}
