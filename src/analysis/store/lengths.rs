//! Lengths: the results of `len`, and the lengths of the axes of arrays that hold no keys.
//!
//! `len(x)`, `x.shape[0]`, and the number of iterations of a `for` or `scan` over `x` are one term, so that a condition on one of them
//! decides the others.
//!
//! **Invariant:** the length of a value follows from how its term was made; otherwise it is `len` of the term.

use std::sync::Arc;

use crate::analysis::domain::constraint::{LENGTH, MAXIMUM, MINIMUM};
use crate::analysis::domain::guard::Guard;
use crate::analysis::domain::term::{Term, TermId, Terms};
use crate::analysis::domain::value::{ALTERNATIVES, Array, Elements, ObjectId, Order, Val, Value};
use crate::analysis::store::args::Args;
use crate::analysis::store::heap::{Item, ObjectKind};
use crate::analysis::store::{State, paths};
use crate::ir::Operator;
use crate::models::{Callable, Effect, ShapeOp};

/// Known lengths of axes.
pub type Lengths = Arc<[Option<TermId>]>;

/// How deep a term is traversed.
pub const DEPTH: u32 = 8;

impl State {
    /// The number of some elements that exist, path by path; `None` if there are too many cases.
    pub fn count(&mut self, items: &[Item]) -> Option<Value> {
        let mut certain = 0_i128;
        let mut counts = vec![self.paths.pc];
        for item in items {
            if self.is_there(item.guard) {
                certain += 1;
                continue;
            }
            let mut next = vec![Guard::FALSE; counts.len() + 1];
            for (number, guard) in counts.into_iter().enumerate() {
                let (with, without) =
                    (self.paths.guards.and(guard, item.guard), self.paths.guards.without(guard, item.guard));
                next[number] = self.paths.guards.or(next[number], without);
                next[number + 1] = self.paths.guards.or(next[number + 1], with);
            }
            if next.iter().filter(|guard| !guard.is_false()).count() > ALTERNATIVES {
                return None;
            }
            counts = next;
        }
        let mut value = Value::unbound();
        for (number, guard) in counts.into_iter().enumerate() {
            if !guard.is_false() {
                let number = self.terms.int(certain + i128::try_from(number).ok()?);
                let guard = if guard == self.paths.pc { Guard::TRUE } else { guard };
                value.push(&mut self.paths.guards, guard, Val::Term(number));
            }
        }
        (!value.is_unbound()).then_some(value)
    }

    /// The sum of two numbers, path by path, the second of which is unbound if it is zero.
    pub fn sum(&mut self, number: &Value, further: &Value) -> Value {
        let further = self.possible(further);
        if further.is_unbound() {
            return number.clone();
        }
        paths::on_alternatives(self, number, |this, one| {
            paths::on_alternatives(this, &further, |this, other| {
                let parts = [one, other].map(|part| this.term_of_val(part));
                Value::term(this.terms.operate(Operator::Add, &parts))
            })
        })
    }

    /// The current length of an object; it is a new one once the contents have changed.
    pub fn length_now(&mut self, id: ObjectId) -> Value {
        let object = &self.store.objects[id.0 as usize];
        let (kind, symbol, epoch) = (object.kind.clone(), object.symbol, object.epoch);
        let versions = self.store.sized.entry(id).or_default();
        let version = versions.iter().position(|seen| *seen == (epoch, kind.clone())).unwrap_or_else(|| {
            versions.push((epoch, kind));
            versions.len() - 1
        });
        let marks = match i128::try_from(version) {
            // The length that iteration over it queries.
            Ok(0) | Err(_) => vec![symbol],
            Ok(version) => vec![symbol, self.terms.int(version)],
        };
        Value::term(self.terms.intern(Term::Apply(LENGTH.into(), marks.into())))
    }

    /// Records the lengths of the result of a library function.
    pub fn note_lengths(&mut self, callable: &Callable, args: &Args, result: &Value) {
        let Some(Val::Term(term)) = result.single() else { return };
        let term = *term;
        if self.terms.is_constant(term) || self.store.axis_lengths.contains_key(&term) {
            return;
        }
        if let Some(lengths) = self.lengths_made(callable, args)
            && lengths.first().is_some_and(Option::is_some)
        {
            self.store.axis_lengths.insert(term, lengths);
        }
    }

    fn lengths_made(&mut self, callable: &Callable, args: &Args) -> Option<Lengths> {
        if !args.spread.is_empty() || !args.mappings.is_empty() {
            return None;
        }
        if let Some(name) = &callable.lengths {
            let shape: Vec<Value> = args.all_of(callable, name).into_iter().map(|arg| arg.value.clone()).collect();
            return self.lengths_written(&shape);
        }
        let one = |this: &mut Self, name: &str| {
            args.of(callable, name).map(|arg| arg.value.clone()).map(|value| this.term_of(&value))
        };
        match &callable.effect {
            Effect::Pure { counts: true, .. } => {
                let bounds: Vec<TermId> = args.positional.iter().take(3).map(|arg| self.term_of(&arg.value)).collect();
                let is_plain = args.keywords.iter().all(|(name, _)| &**name == "dtype");
                match bounds.as_slice() {
                    [stop] if is_plain => Some([Some(*stop)].into()),
                    [start, stop] if is_plain => {
                        Some([Some(self.terms.operate(Operator::Sub, &[*stop, *start]))].into())
                    }
                    _ => None,
                }
            }
            Effect::Shape { op: ShapeOp::ExpandDims, of, .. } => {
                let axis = one(self, "axis").or_else(|| one(self, "dimensions"))?;
                let inner = one(self, of.first()?)?;
                match self.terms.as_int(axis) {
                    Some(0) => Some([Some(self.terms.int(1)), self.axis_length(inner, 0)].into()),
                    Some(_) => Some([Some(self.length_of_term(inner))].into()),
                    None => None,
                }
            }
            Effect::Shape { op: ShapeOp::Stack | ShapeOp::Array, of, .. } => {
                let axis = one(self, "axis").map(|axis| self.terms.as_int(axis));
                let list = args.of(callable, of.first()?)?.value.clone();
                (matches!(axis, None | Some(Some(0)))).then(|| self.lengths_listed(&list)).flatten()
            }
            Effect::Number { of, many: true, .. } => {
                let list = args.of(callable, of)?.value.clone();
                self.lengths_listed(&list)
            }
            // `zeros_like(x, shape=(4,))` is like `x` in its dtype only.
            Effect::Fabricate { .. } if args.keyword("shape").is_some() => None,
            Effect::Fabricate { of, .. } => {
                let of = one(self, of)?;
                Some([Some(self.length_of_term(of))].into())
            }
            _ => None,
        }
    }

    /// The lengths in a shape argument: `(n, 3)`, `n`, `n, 3`; a length that JAX computes is unknown.
    fn lengths_written(&mut self, shape: &[Value]) -> Option<Lengths> {
        let parts: Vec<Value> = match shape {
            [] => return None,
            [only] => match only.single()? {
                Val::Tuple(parts) => parts.to_vec(),
                Val::Term(_) => vec![only.clone()],
                Val::Object(object) => match &self.store.objects[object.0 as usize].kind {
                    ObjectKind::List { items, unknown: false } if items.iter().all(|item| item.guard.is_true()) => {
                        items.iter().map(|item| item.value.clone()).collect()
                    }
                    _ => return None,
                },
                _ => return None,
            },
            several => several.to_vec(),
        };
        // A shape that is a name may be a tuple.
        if let ([only], [Val::Term(term)]) =
            (shape, &parts.iter().filter_map(|part| part.single().cloned()).collect::<Vec<_>>()[..])
            && matches!(only.single(), Some(Val::Term(_)))
            && self.terms.as_int(*term).is_none()
        {
            return None;
        }
        let lengths = parts.iter().map(|part| {
            let term = self.term_of(part);
            (self.terms.as_int(term) != Some(-1)).then_some(term)
        });
        Some(lengths.collect())
    }

    /// The lengths of an array made of the elements of a display.
    fn lengths_listed(&mut self, list: &Value) -> Option<Lengths> {
        let count = match list.single()? {
            Val::Tuple(parts) => parts.len(),
            Val::Object(object) => match &self.store.objects[object.0 as usize].kind {
                ObjectKind::List { items, unknown: false } if items.iter().all(|item| item.guard.is_true()) => {
                    items.len()
                }
                _ => return None,
            },
            Val::Term(term) if !self.terms.is_constant(*term) => {
                let length = self.length_of_term(*term);
                return Some([Some(length)].into());
            }
            _ => return None,
        };
        Some([Some(self.terms.int(i128::try_from(count).ok()?))].into())
    }

    /// The length of the value of a term, along its first axis.
    pub fn length_of_term(&mut self, term: TermId) -> TermId {
        if let Term::Text(text) = self.terms.get(term)
            && let Ok(count) = i128::try_from(text.chars().count())
        {
            return self.terms.int(count);
        }
        self.axis_length_within(term, 0, DEPTH)
            .unwrap_or_else(|| self.terms.intern(Term::Apply(LENGTH.into(), Box::new([term]))))
    }

    /// The length of an axis of the value of a term, if it is known; that of the first axis always is.
    pub fn axis_length(&mut self, term: TermId, axis: usize) -> Option<TermId> {
        if axis == 0 { Some(self.length_of_term(term)) } else { self.axis_length_within(term, axis, DEPTH) }
    }

    fn axis_length_within(&mut self, term: TermId, axis: usize, depth: u32) -> Option<TermId> {
        let depth = depth.checked_sub(1)?;
        if let Some(lengths) = self.store.axis_lengths.get(&term) {
            return lengths.get(axis).copied().flatten();
        }
        match self.terms.get(term).clone() {
            Term::Item(of, index, _) => self.item_length(of, index, axis, depth),
            Term::Offset(of, _) => {
                self.axis_length_within(of, axis, depth).or_else(|| own_length(&mut self.terms, of, axis))
            }
            Term::Operate(operator, parts) if is_elementwise(operator) => match *parts {
                [of] => self.axis_length_within(of, axis, depth),
                // A number has no axes; one of two arrays may be broadcast to the other.
                [of, number] | [number, of] if self.terms.is_constant(number) => {
                    // A list is repeated by an integer, and a string is concatenated with another.
                    let repeats = operator == Operator::Mul && self.terms.as_exact_int(number).is_some()
                        || matches!(self.terms.get(number), Term::Text(_));
                    let known = self.axis_length_within(of, axis, depth);
                    if repeats { known } else { known.or_else(|| own_length(&mut self.terms, of, axis)) }
                }
                [a, b] => {
                    let (a, b) = (self.axis_length_within(a, axis, depth)?, self.axis_length_within(b, axis, depth)?);
                    (a == b).then_some(a)
                }
                _ => None,
            },
            _ => None,
        }
    }

    /// The length of `of[index]`.
    fn item_length(&mut self, of: TermId, index: TermId, axis: usize, depth: u32) -> Option<TermId> {
        let parts = match self.terms.get(index) {
            Term::Apply(name, parts) if &**name == "<tuple>" => parts.to_vec(),
            _ => vec![index],
        };
        // The axis of `of` to which the next part of the index applies, and the axis of the result.
        let (mut from, mut to) = (0, 0);
        for part in parts {
            match self.terms.get(part).clone() {
                Term::None if to == axis => return Some(self.terms.int(1)),
                Term::None => to += 1,
                Term::Apply(name, bounds) if &*name == "<slice>" => {
                    if to == axis {
                        let length =
                            self.axis_length_within(of, from, depth).or_else(|| own_length(&mut self.terms, of, from));
                        return slice_length(&mut self.terms, &bounds, length);
                    }
                    (from, to) = (from + 1, to + 1);
                }
                Term::Int(_) => from += 1,
                _ => return None,
            }
        }
        let axis = axis.checked_sub(to)?.checked_add(from)?;
        self.axis_length_within(of, axis, depth).or_else(|| own_length(&mut self.terms, of, axis))
    }

    /// The length of a slice of something from outside, which may be shorter than the slice.
    pub fn length_of_slice(&mut self, array: &Array) -> Option<TermId> {
        let Elements::View { family, start, step: 1, order: Order::Known, .. } = &array.elements else { return None };
        let (family, start) = (*family, *start);
        if array.derivation != 0 || matches!(self.terms.get(family), Term::Children(_)) {
            return None;
        }
        let [Some(count)] = **array.dims.as_ref()? else { return None };
        let whole = self.length_of_term(family);
        let stop = self.terms.operate(Operator::Add, &[start, count]);
        let stop = extreme(&mut self.terms, MINIMUM, [stop, whole]);
        let length = self.terms.operate(Operator::Sub, &[stop, start]);
        let zero = self.terms.int(0);
        Some(if start == zero { length } else { extreme(&mut self.terms, MAXIMUM, [length, zero]) })
    }

    /// `x.shape[i]`, where the length of that axis is known.
    pub fn item_of_shape(&mut self, shape: TermId, index: TermId) -> Option<TermId> {
        let Term::Attribute(of, name, 0) = self.terms.get(shape) else { return None };
        if &**name != "shape" {
            return None;
        }
        let of = *of;
        let axis = usize::try_from(self.terms.as_int(index)?).ok()?;
        self.axis_length(of, axis)
    }
}

fn own_length(terms: &mut Terms, term: TermId, axis: usize) -> Option<TermId> {
    (axis == 0).then(|| terms.intern(Term::Apply(LENGTH.into(), Box::new([term]))))
}

/// The length of a slice of something of this length.
fn slice_length(terms: &mut Terms, bounds: &[TermId], length: Option<TermId>) -> Option<TermId> {
    let [lower, upper, step] = *bounds else { return None };
    if !matches!(terms.get(step), Term::None) && terms.as_int(step) != Some(1) {
        return None;
    }
    let zero = terms.int(0);
    let edge = |this: &mut Terms, bound: TermId, absent: Option<TermId>| match (this.get(bound), this.as_int(bound)) {
        (Term::None, _) => absent,
        (_, Some(number)) if number < 0 => {
            let from_the_end = this.offset(length?, number);
            Some(extreme(this, MAXIMUM, [from_the_end, zero]))
        }
        _ => Some(match length {
            Some(length) => extreme(this, MINIMUM, [bound, length]),
            None => bound,
        }),
    };
    let (lower, upper) = (edge(terms, lower, Some(zero))?, edge(terms, upper, length)?);
    let difference = terms.operate(Operator::Sub, &[upper, lower]);
    Some(if lower == zero { difference } else { extreme(terms, MAXIMUM, [difference, zero]) })
}

/// The least or greatest of two numbers.
fn extreme(terms: &mut Terms, name: &'static str, of: [TermId; 2]) -> TermId {
    match of.map(|one| terms.as_int(one)) {
        [Some(a), Some(b)] => terms.int(if name == MINIMUM { a.min(b) } else { a.max(b) }),
        _ if of[0] == of[1] => of[0],
        _ => terms.intern(Term::Apply(name.into(), of.into())),
    }
}

/// Whether an operator works on arrays element by element.
fn is_elementwise(operator: Operator) -> bool {
    use Operator::{Add, Div, FloorDiv, Mod, Mul, Neg, Pow, Sub};
    matches!(operator, Add | Div | FloorDiv | Mod | Mul | Neg | Pow | Sub)
}
