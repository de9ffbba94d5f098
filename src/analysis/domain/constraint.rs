//! The constraints that literals of a guard put on values, and which of them contradict each other.
//!
//! A literal is the truth of a term. Many terms constrain another one: `x == 1`, `n < 3`, `len(xs) == 0`, `n < m + 2`, `s.lower() == "a"`.
//! The constraints on one subject are kept together as an interval, a few literals and a few lengths.
//!
//! **Invariant:** rejected literals cannot hold together in a run that evaluates both; undecided ones are admitted.

use std::cmp::Ordering;

use smallvec::SmallVec;

use crate::ir::Operator;

use super::range::{Bound, LARGEST, Predicate, Range, Residues, ZERO, as_float};
use super::term::{Symbol, SymbolInfo, Term, TermId, Terms};

/// The name of the function whose value is the length of its argument: of an array, that of its first axis.
pub const LENGTH: &str = "len";

/// The prefix of the methods of strings: their results depend only on the string and the arguments.
pub const TEXT_METHODS: &str = "builtins.str.";

/// Types of which no two share an instance (`bool`, a kind of `int`, is not listed).
const VALUE_TYPES: &[&str] = &[
    "builtins.bytes",
    "builtins.dict",
    "builtins.float",
    "builtins.frozenset",
    "builtins.int",
    "builtins.list",
    "builtins.set",
    "builtins.str",
    "builtins.tuple",
];

/// The part of its subject that a constraint is about.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Part {
    /// The subject itself.
    Whole,
    /// Its length.
    Length,
    /// The number of its elements.
    Size,
    /// What remains when it is divided by the first number, after the second was added.
    Residue(i128, i128),
    /// The result of one of its methods, by the term of the call.
    Method(TermId),
}

/// The parts of some constraints on one subject: hardly ever many.
type Few<T> = SmallVec<[T; 8]>;

/// The subject of constraints: a term, or the difference of two.
pub type Subject = (TermId, Option<TermId>);

/// The constraint that a literal puts on its subject.
#[derive(Clone, Copy, Debug)]
pub struct Constraint {
    /// What it constrains.
    pub subject: Subject,
    part: Part,
    predicate: Predicate,
}

impl Terms {
    /// The constraint of a literal.
    pub fn constraint(&self, id: TermId) -> Constraint {
        let about = |subject: TermId, predicate: Predicate| {
            let (subject, part) = self.part(subject);
            Constraint { subject: (subject, None), part, predicate }
        };
        let Term::Operate(operator, parts) = self.get(id) else { return about(id, Predicate::True) };
        match (operator, &**parts) {
            (Operator::Eq, [x, c]) if let Some((array, at)) = self.place_of(*x, *c) => {
                Constraint { subject: (array, Some(*c)), part: Part::Whole, predicate: Predicate::Is(at) }
            }
            (Operator::Is | Operator::Eq, [x, c]) if self.is_named(*c) => match (operator, self.bound(*c)) {
                (Operator::Is, Some(bound)) => about(*x, Predicate::Same(bound)),
                (_, Some(bound)) => about(*x, Predicate::Is(bound)),
                _ => about(*x, Predicate::Equals(*c)),
            },
            (Operator::Lt, [a, b]) if self.is_constant(*a) || self.is_constant(*b) => {
                match (self.bound(*a), self.bound(*b)) {
                    (None, Some(bound)) => about(*a, Predicate::Below(bound)),
                    (Some(bound), None) => about(*b, Predicate::Above(bound)),
                    _ => about(id, Predicate::True),
                }
            }
            (Operator::Lt | Operator::Eq, [a, b]) => self.difference_constraint(*operator, *a, *b),
            (Operator::MatchClass, [x, class]) => about(*x, Predicate::Instance(*class)),
            (Operator::In, [x, all])
                if self.members(*all).is_some_and(|all| all.iter().all(|one| self.is_named(*one))) =>
            {
                about(*x, Predicate::Among(*all))
            }
            _ => about(id, Predicate::True),
        }
    }

    /// The elements of a tuple.
    fn members(&self, tuple: TermId) -> Option<&[TermId]> {
        match self.get(tuple) {
            Term::Apply(name, parts) if &**name == "<tuple>" => Some(parts),
            _ => None,
        }
    }

    /// Whether membership in these tuples, or absence from them, is consistent with the other constraints on the element.
    fn can_be_among(
        &self,
        among: &[(TermId, bool)],
        equals: Option<TermId>,
        unequal: &[TermId],
        number: &mut Range,
    ) -> bool {
        let members = |tuple: TermId| self.members(tuple).unwrap_or_default();
        let may_equal = |a: TermId, b: TermId| a == b || !self.are_unequal(a, b);
        let excluded = || among.iter().filter(|(_, polarity)| !polarity).flat_map(|(tuple, _)| members(*tuple));
        if equals.is_some_and(|literal| excluded().any(|member| *member == literal)) {
            return false;
        }
        number.without.extend(excluded().filter_map(|member| self.bound(*member)).map(|bound| bound.at));
        let is_possible = |member: &TermId| {
            equals.is_none_or(|literal| may_equal(literal, *member))
                && !unequal.contains(member)
                && !excluded().any(|other| other == member)
                && self.bound(*member).is_none_or(|bound| number.reaches(bound.at))
                && among
                    .iter()
                    .filter(|(_, polarity)| *polarity)
                    .all(|(tuple, _)| members(*tuple).iter().any(|other| may_equal(*other, *member)))
        };
        among.iter().filter(|(_, polarity)| *polarity).all(|(tuple, _)| members(*tuple).iter().any(is_possible))
    }

    /// If an element of an array without repetitions equals a number, that gives the number's place: the array and the index.
    fn place_of(&self, element: TermId, number: TermId) -> Option<(TermId, Bound)> {
        let Term::Item(array, index, _) = self.get(element) else { return None };
        let is_known = self.is_varied(*array) && self.as_exact_int(number).is_some() && self.as_int(*index)? >= 0;
        is_known.then_some((*array, self.bound(*index)?))
    }

    /// `a < b + k` as a constraint on `a - b`.
    fn difference_constraint(&self, operator: Operator, a: TermId, b: TermId) -> Constraint {
        let split = |id: TermId| match self.get(id) {
            Term::Offset(base, offset) => (*base, *offset),
            _ => (id, 0),
        };
        let ((first, minus), (second, plus)) = (split(a), split(b));
        let apart = plus.saturating_sub(minus).clamp(-LARGEST, LARGEST);
        let bound = |at: i128| Bound { at: as_float(at), is_integer: true };
        let (subject, predicate) = match (operator, first <= second) {
            (Operator::Lt, true) => ((first, second), Predicate::Below(bound(apart))),
            (Operator::Lt, false) => ((second, first), Predicate::Above(bound(-apart))),
            (_, true) => ((first, second), Predicate::Is(bound(apart))),
            (_, false) => ((second, first), Predicate::Is(bound(-apart))),
        };
        Constraint { subject: (subject.0, Some(subject.1)), part: Part::Whole, predicate }
    }

    /// What a term is a part of.
    fn part(&self, id: TermId) -> (TermId, Part) {
        match self.get(id) {
            Term::Apply(name, parts) => match &**parts {
                [of] if &**name == LENGTH => (*of, Part::Length),
                [of, ..] if name.starts_with(TEXT_METHODS) => (*of, Part::Method(id)),
                _ => (id, Part::Whole),
            },
            Term::Attribute(of, name, 0) if &**name == "size" => (*of, Part::Size),
            Term::Operate(Operator::Mod, parts) => match self.as_int(parts[1]) {
                Some(divisor) if (2..LARGEST).contains(&divisor) => match self.get(parts[0]) {
                    Term::Offset(base, shift) => (*base, Part::Residue(divisor, shift.rem_euclid(divisor))),
                    _ => (parts[0], Part::Residue(divisor, 0)),
                },
                _ => (id, Part::Whole),
            },
            _ => (id, Part::Whole),
        }
    }

    /// A literal as a bound.
    pub(super) fn bound(&self, id: TermId) -> Option<Bound> {
        if let Term::Float(bits) = self.get(id) {
            return Some(Bound { at: f64::from_bits(*bits), is_integer: false }).filter(|bound| bound.at.is_finite());
        }
        let number = self.as_exact_int(id).filter(|number| number.unsigned_abs() < LARGEST.unsigned_abs())?;
        Some(Bound { at: as_float(number), is_integer: true })
    }

    /// Pairs of literals (with polarities) among `support` that cannot hold together: `x is None` and `x`, `x == 1` and
    /// `x == 2`, `x < 3` and not `x < 5`.
    pub fn exclusions(&self, support: &[TermId]) -> Vec<[(TermId, bool); 2]> {
        let constraints: Vec<(TermId, Constraint)> = support.iter().map(|id| (*id, self.constraint(*id))).collect();
        let mut pairs = Vec::new();
        for (index, (a, first)) in constraints.iter().enumerate() {
            for (b, second) in constraints[index + 1..].iter().filter(|(_, other)| other.subject == first.subject) {
                for (x, y) in [(true, true), (true, false), (false, true), (false, false)] {
                    if !self.are_consistent(&[(*first, x), (*second, y)]) {
                        pairs.push([(*a, x), (*b, y)]);
                    }
                }
            }
        }
        pairs
    }

    /// Whether constraints on one subject, each with its polarity, are consistent; one alone is.
    pub fn are_consistent(&self, constraints: &[(Constraint, bool)]) -> bool {
        let [(Constraint { subject, .. }, _), _, ..] = constraints else { return true };
        let (mut number, mut integer) = (Range::all(), Range::all());
        // As numbers of any kind, and as the integers that the program compares them with.
        number.is_integer = false;
        if subject.1.is_none() {
            let [low, high] = self.bounds(subject.0);
            number.low = low.map_or(number.low, as_float);
            number.high = high.map_or(number.high, as_float);
            (integer.low, integer.high) = (number.low, number.high);
        }
        let (mut length, mut size) = (Range::counting(), Range::counting());
        let mut holds = None;
        let (mut equals, mut unequal): (Option<TermId>, Few<TermId>) = (None, Few::new());
        let (mut classes, mut answers): (Few<TermId>, Vec<(TermId, Predicate, bool)>) = (Few::new(), Vec::new());
        let (mut residues, mut among) = (Residues::default(), Vec::new());
        for (constraint, polarity) in constraints {
            match (constraint.part, constraint.predicate) {
                (Part::Whole, Predicate::True) => holds = Some(*polarity),
                (Part::Whole, Predicate::Equals(literal)) if *polarity => {
                    if equals.is_some_and(|other| self.are_unequal(other, literal)) {
                        return false;
                    }
                    equals = Some(literal);
                }
                (Part::Whole, Predicate::Equals(literal)) => unequal.push(literal),
                (Part::Whole, Predicate::Instance(class)) if *polarity => classes.push(class),
                (Part::Whole, Predicate::Instance(_)) => {}
                (Part::Whole, Predicate::Among(tuple)) => among.push((tuple, *polarity)),
                (Part::Whole, predicate) => {
                    number.add(predicate, *polarity);
                    integer.add_integer(predicate, *polarity);
                }
                // A value whose length or size is true is not empty.
                (Part::Length, Predicate::True) => length.add(Predicate::Above(ZERO), *polarity),
                (Part::Size, Predicate::True) => size.add(Predicate::Above(ZERO), *polarity),
                (Part::Length, predicate) => length.add(predicate, *polarity),
                (Part::Size, predicate) => size.add(predicate, *polarity),
                (Part::Residue(divisor, shift), predicate) => residues.add([divisor, shift], predicate, *polarity),
                (Part::Method(call), predicate) => answers.push((call, predicate, *polarity)),
            }
        }
        if implies_number(constraints, false) && classes.iter().any(|class| self.is_container(*class)) {
            return false;
        }
        if !among.is_empty() && !self.can_be_among(&among, equals, &unequal, &mut number) {
            return false;
        }
        if let Some(literal) = equals {
            // A comparison that was never evaluated with `None` may have either result. A named constant of a library may be a number.
            let is_none = matches!(self.get(literal), Term::None);
            let is_known = self.is_constant(literal) || self.is_value_type(literal);
            if unequal.contains(&literal)
                || is_known && implies_number(constraints, is_none)
                || !self.agrees_with(literal, holds, &classes)
            {
                return false;
            }
            holds = self.truth(literal).or(holds);
            if let Term::Text(text) = self.get(literal) {
                let letters = as_float(i128::try_from(text.chars().count()).unwrap_or(LARGEST));
                length.add(Predicate::Is(Bound { at: letters, is_integer: true }), true);
                let is_other = |(call, predicate, polarity): &(TermId, Predicate, bool)| {
                    self.method_result(*call, text)
                        .is_some_and(|method_result| method_result.is_unlike(self, *predicate, *polarity))
                };
                if answers.iter().any(is_other) {
                    return false;
                }
            }
        }
        if classes.iter().enumerate().any(|(at, a)| classes[..at].iter().any(|b| self.are_unrelated_types(*a, *b))) {
            return false;
        }
        if size.is_known && size.high >= 1.0 && size.high < length.high {
            (length.high, length.is_open[1], length.is_known) = (size.high, size.is_open[1], true);
        }
        // Rates lie between 0 and 1, so a comparison with 0 or 1 does not imply that the subject is an integer.
        let is_rate = number.low >= 0.0 && number.low < number.high && number.high <= 1.0 && !self.is_count(subject.0);
        let whole = if is_rate { &number } else { &integer };
        if number.is_empty() || whole.is_empty() || length.is_empty() || size.is_empty() || self.clash(&answers) {
            return false;
        }
        if !residues.agree(whole, self.is_count(subject.0)) {
            return false;
        }
        match holds {
            Some(true) => whole.is_zero() != Some(true) && length.is_zero() != Some(true),
            // A value that is not zero need not be true: `None` is not zero either.
            Some(false) => {
                number.is_zero() != Some(false) && length.is_zero() != Some(false) && !length.without.contains(&0.0)
            }
            None => true,
        }
    }

    /// Whether a value that equals a literal has this truth and these classes.
    fn agrees_with(&self, literal: TermId, holds: Option<bool>, classes: &[TermId]) -> bool {
        let truth =
            self.truth(literal).or_else(|| (self.is_value_type(literal) || self.is_unique(literal)).then_some(true));
        if holds.is_some_and(|holds| truth == Some(!holds)) {
            return false;
        }
        let own = match self.get(literal) {
            Term::None => "None",
            Term::Text(_) => "builtins.str",
            _ => return true,
        };
        classes.iter().all(|class| match self.get(*class) {
            Term::Apply(name, parts) if parts.is_empty() => &**name == own || !VALUE_TYPES.contains(&&**name),
            _ => !self.is_value_type(*class) || own != "None",
        })
    }

    /// Whether the results of two methods of one string contradict each other.
    fn clash(&self, answers: &[(TermId, Predicate, bool)]) -> bool {
        let argument = |call: TermId| match self.get(call) {
            Term::Apply(name, parts) => match parts.get(1).map(|part| self.get(*part)) {
                Some(Term::Text(text)) => Some((name, text)),
                _ => None,
            },
            _ => None,
        };
        let differ = |a: &(TermId, Predicate, bool), b: &(TermId, Predicate, bool)| match (a, b) {
            ((call, Predicate::Equals(c), x), (other, Predicate::Equals(d), y)) if call == other => {
                *x && *y && self.are_unequal(*c, *d) || x != y && c == d
            }
            ((call, Predicate::True, x), (other, Predicate::True, y)) => match (argument(*call), argument(*other)) {
                (Some((method, text)), Some((same, longer))) if method == same => {
                    let (starts, ends) = (method.ends_with(".startswith"), method.ends_with(".endswith"));
                    let within = |a: &str, b: &str| starts && b.starts_with(a) || ends && b.ends_with(a);
                    match (x, y) {
                        (true, true) => (starts || ends) && !within(text, longer) && !within(longer, text),
                        (true, false) => within(longer, text),
                        (false, true) => within(text, longer),
                        _ => false,
                    }
                }
                _ => false,
            },
            _ => false,
        };
        answers.iter().enumerate().any(|(at, a)| answers[..at].iter().any(|b| differ(a, b)))
    }

    /// The result of a method of a known string.
    fn method_result(&self, call: TermId, text: &str) -> Option<MethodResult> {
        let Term::Apply(name, parts) = self.get(call) else { return None };
        let method = name.strip_prefix(TEXT_METHODS)?;
        let argument = match parts.get(1).map(|part| self.get(*part)) {
            Some(Term::Text(argument)) => Some(argument),
            Some(_) => return None,
            None => None,
        };
        Some(match (method, argument) {
            ("lower", None) => MethodResult::Text(text.to_lowercase()),
            ("upper", None) => MethodResult::Text(text.to_uppercase()),
            ("strip", None) => MethodResult::Text(text.trim_matches(is_blank).to_owned()),
            ("startswith", Some(argument)) => MethodResult::Truth(text.starts_with(&**argument)),
            ("endswith", Some(argument)) => MethodResult::Truth(text.ends_with(&**argument)),
            _ => return None,
        })
    }

    /// Whether a term is a literal, a unique object, or a named constant of a library: a type, a member of an enumeration.
    pub(super) fn is_named(&self, id: TermId) -> bool {
        self.is_constant(id) || self.is_unique(id) || self.library_name(id).is_some()
    }

    fn is_unique(&self, id: TermId) -> bool {
        self.symbol(id).is_some_and(|info| info.symbol == Symbol::Unique)
    }

    /// The path of a named constant of a library.
    fn library_name(&self, id: TermId) -> Option<&str> {
        match self.get(id) {
            Term::Apply(name, parts) if parts.is_empty() && !name.starts_with('<') && !name.ends_with(')') => {
                Some(name)
            }
            _ => None,
        }
    }

    /// Whether two library names denote different things: `jnp.float32` and `jnp.int32`, but not `jnp.float32` and `np.float32`, which may
    /// be the same, nor `jnp.float32` and `jnp.float_`.
    fn are_unlike(a: &str, b: &str) -> bool {
        let (Some((owner, name)), Some((other_owner, other))) = (a.rsplit_once('.'), b.rsplit_once('.')) else {
            return false;
        };
        owner == other_owner && name != other && !name.ends_with('_') && !other.ends_with('_')
    }

    /// Whether a class is one of Python's own value types, so that `None` is not an instance of it.
    pub(super) fn is_value_type(&self, class: TermId) -> bool {
        match self.get(class) {
            Term::Apply(name, parts) if parts.is_empty() => VALUE_TYPES.contains(&&**name),
            Term::Apply(name, parts) if &**name == "<tuple>" => parts.iter().all(|part| self.is_value_type(*part)),
            _ => false,
        }
    }

    /// Whether the instances of a class are not numbers.
    fn is_container(&self, class: TermId) -> bool {
        let is_number = |name: &str| matches!(name, "builtins.int" | "builtins.float");
        matches!(self.get(class), Term::Apply(name, parts) if parts.is_empty() && VALUE_TYPES.contains(&&**name) && !is_number(name))
    }

    /// Whether nothing is an instance of both classes: only known of Python's own types of values.
    fn are_unrelated_types(&self, a: TermId, b: TermId) -> bool {
        let plain = |class: TermId| matches!(self.get(class), Term::Apply(_, parts) if parts.is_empty());
        a != b && plain(a) && plain(b) && self.is_value_type(a) && self.is_value_type(b)
    }

    /// Whether two terms that are [named](Self::is_named) differ in value: `1`, `1.0` and `True` are equal.
    pub(super) fn are_unequal(&self, a: TermId, b: TermId) -> bool {
        if let (Some(a), Some(b)) = (self.library_name(a), self.library_name(b)) {
            return Self::are_unlike(a, b);
        }
        if !self.is_constant(a) || !self.is_constant(b) {
            // A member of an enumeration may equal a string or a number; nothing but `None` is `None`.
            let is_none = |id: TermId| matches!(self.get(id), Term::None);
            let is_known = |id: TermId| self.is_unique(id) || self.is_value_type(id);
            let are_unique =
                self.is_unique(a) && self.is_unique(b) || is_none(a) && is_known(b) || is_known(a) && is_none(b);
            return a != b && are_unique;
        }
        match (self.get(a), self.get(b)) {
            (Term::Float(a), Term::Float(b)) => {
                f64::from_bits(*a).partial_cmp(&f64::from_bits(*b)) != Some(Ordering::Equal)
            }
            (Term::Float(_), Term::Bool(_) | Term::Int(_)) | (Term::Bool(_) | Term::Int(_), Term::Float(_)) => {
                self.bound(a).zip(self.bound(b)).is_some_and(|(a, b)| a.at.total_cmp(&b.at) != Ordering::Equal)
            }
            _ => match (self.as_exact_int(a), self.as_exact_int(b)) {
                (Some(a), Some(b)) => a != b,
                _ => a != b,
            },
        }
    }

    /// The least and the greatest integer that a term can be, according to its form.
    pub fn bounds(&self, id: TermId) -> [Option<i128>; 2] {
        self.bounds_within(id, 4)
    }

    fn bounds_within(&self, id: TermId, depth: u32) -> [Option<i128>; 2] {
        let Some(depth) = depth.checked_sub(1) else { return [None; 2] };
        match self.get(id) {
            Term::Int(_) | Term::Bool(_) => [self.as_int(id); 2],
            Term::Symbol(_) => match self.symbol(id) {
                Some(SymbolInfo { symbol: Symbol::Iteration { first, .. }, .. }) => [Some(i128::from(*first)), None],
                _ => [None; 2],
            },
            Term::Offset(of, offset) => {
                self.bounds_within(*of, depth).map(|bound| bound.and_then(|bound| bound.checked_add(*offset)))
            }
            Term::Apply(name, parts) => match &**name {
                LENGTH => [Some(0), None],
                MINIMUM | MAXIMUM => {
                    let parts: Vec<[Option<i128>; 2]> =
                        parts.iter().map(|part| self.bounds_within(*part, depth)).collect();
                    let least = |side: usize| parts.iter().filter_map(|part| part[side]).min();
                    let most = |side: usize| parts.iter().filter_map(|part| part[side]).max();
                    let all = |side: usize| parts.iter().all(|part| part[side].is_some());
                    if &**name == MINIMUM {
                        [least(0).filter(|_| all(0)), least(1)]
                    } else {
                        [most(0), most(1).filter(|_| all(1))]
                    }
                }
                _ => [None; 2],
            },
            Term::Attribute(_, name, _) if matches!(&**name, "size" | "ndim") => [Some(0), None],
            Term::Operate(Operator::Mod, parts) => match self.as_int(parts[1]) {
                // The remainder of a float modulo one is its fractional part.
                Some(divisor) if divisor > 1 => [Some(0), Some(divisor - 1)],
                _ => [None; 2],
            },
            Term::Operate(Operator::Not | Operator::Is | Operator::In | Operator::MatchClass, _) => [Some(0), Some(1)],
            _ => [None; 2],
        }
    }
}

/// Whether Python's `str.strip` removes a character.
fn is_blank(letter: char) -> bool {
    letter.is_whitespace() || ('\x1c'..='\x1f').contains(&letter)
}

/// The name of the function that returns the least of its arguments.
pub const MINIMUM: &str = "min";

/// The name of the function that returns the greatest of its arguments.
pub const MAXIMUM: &str = "max";

/// The result of a method of a string.
enum MethodResult {
    Text(String),
    Truth(bool),
}

impl MethodResult {
    /// Whether a value contradicts a constraint.
    fn is_unlike(&self, terms: &Terms, predicate: Predicate, polarity: bool) -> bool {
        match (self, predicate) {
            (Self::Text(text), Predicate::Equals(literal)) => match terms.get(literal) {
                Term::Text(other) => (text.as_str() == &**other) != polarity,
                _ => false,
            },
            (Self::Truth(truth), Predicate::True) => *truth != polarity,
            _ => false,
        }
    }
}

/// Whether a constraint that holds implies that its subject is a number; if `exact`, by more than an order comparison.
fn implies_number(constraints: &[(Constraint, bool)], is_exact: bool) -> bool {
    constraints.iter().any(|(constraint, polarity)| {
        let predicate = match constraint.predicate {
            Predicate::Is(_) | Predicate::Same(_) => true,
            Predicate::Below(_) | Predicate::Above(_) => !is_exact,
            _ => false,
        };
        *polarity && constraint.part == Part::Whole && predicate
    })
}
