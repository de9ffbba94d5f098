//! Laws of the domain, against brute force: truth tables, Python's integer arithmetic, assignments.
//!
//! **Invariant:** the reference here is written from the definitions and shares no code with what it tests.

use std::collections::BTreeMap;

use keylint::analysis::domain::guard::{Guard, Guards};
use keylint::analysis::domain::term::{Symbol, Term, TermId, Terms};
use keylint::analysis::domain::value::{Val, Value};
use keylint::ir::Operator;
use proptest::prelude::*;

/// Number of literals; a truth table is a word with a bit for each assignment.
const LITERALS: u32 = 6;

/// A Boolean expression.
#[derive(Clone, Debug)]
enum Formula {
    Constant(bool),
    Literal(u32),
    Not(Box<Formula>),
    And(Box<Formula>, Box<Formula>),
    Or(Box<Formula>, Box<Formula>),
    Without(Box<Formula>, Box<Formula>),
    Choose(Box<Formula>, Box<Formula>, Box<Formula>),
}

fn formula() -> impl Strategy<Value = Formula> {
    let leaf = prop_oneof![any::<bool>().prop_map(Formula::Constant), (0..LITERALS).prop_map(Formula::Literal)];
    leaf.prop_recursive(5, 40, 3, |inner| {
        let boxed = || inner.clone().prop_map(Box::new);
        prop_oneof![
            boxed().prop_map(Formula::Not),
            (boxed(), boxed()).prop_map(|(a, b)| Formula::And(a, b)),
            (boxed(), boxed()).prop_map(|(a, b)| Formula::Or(a, b)),
            (boxed(), boxed()).prop_map(|(a, b)| Formula::Without(a, b)),
            (boxed(), boxed(), boxed()).prop_map(|(a, b, c)| Formula::Choose(a, b, c)),
        ]
    })
}

impl Formula {
    fn guard(&self, guards: &mut Guards) -> Guard {
        self.guard_over(guards, &[0, 1, 2, 3, 4, 5].map(TermId))
    }

    /// The guard over these literals.
    fn guard_over(&self, guards: &mut Guards, literals: &[TermId]) -> Guard {
        match self {
            Self::Constant(value) => {
                if *value {
                    Guard::TRUE
                } else {
                    Guard::FALSE
                }
            }
            Self::Literal(index) => guards.literal(literals[*index as usize]),
            Self::Not(a) => {
                let a = a.guard_over(guards, literals);
                guards.not(a)
            }
            Self::And(a, b) => {
                let (a, b) = (a.guard_over(guards, literals), b.guard_over(guards, literals));
                guards.and(a, b)
            }
            Self::Or(a, b) => {
                let (a, b) = (a.guard_over(guards, literals), b.guard_over(guards, literals));
                guards.or(a, b)
            }
            Self::Without(a, b) => {
                let (a, b) = (a.guard_over(guards, literals), b.guard_over(guards, literals));
                guards.without(a, b)
            }
            Self::Choose(a, b, c) => {
                let (a, b, c) =
                    (a.guard_over(guards, literals), b.guard_over(guards, literals), c.guard_over(guards, literals));
                guards.choose(a, b, c)
            }
        }
    }

    /// The truth under an assignment, a bit for each literal.
    fn holds(&self, assignment: u32) -> bool {
        match self {
            Self::Constant(value) => *value,
            Self::Literal(index) => assignment >> index & 1 == 1,
            Self::Not(a) => !a.holds(assignment),
            Self::And(a, b) => a.holds(assignment) && b.holds(assignment),
            Self::Or(a, b) => a.holds(assignment) || b.holds(assignment),
            Self::Without(a, b) => a.holds(assignment) && !b.holds(assignment),
            Self::Choose(a, b, c) => {
                if a.holds(assignment) {
                    b.holds(assignment)
                } else {
                    c.holds(assignment)
                }
            }
        }
    }

    fn table(&self) -> u64 {
        assignments().filter(|assignment| self.holds(*assignment)).fold(0, |table, assignment| table | 1 << assignment)
    }
}

fn assignments() -> impl Iterator<Item = u32> {
    0..1 << LITERALS
}

/// The truth of a guard under an assignment.
fn holds(guards: &mut Guards, guard: Guard, assignment: u32) -> bool {
    guards.assume(guard, &|literal| Some(assignment >> literal.0 & 1 == 1)).is_true()
}

/// Literals about two subjects; some of those about the first exclude each other.
fn about_two(terms: &mut Terms) -> [TermId; LITERALS as usize] {
    let [x, y] = ["x", "y"].map(|name| terms.fresh(Symbol::Parameter, name, None));
    let none = terms.intern(Term::None);
    let [zero, one, three] = [0, 1, 3].map(|number| terms.int(number));
    [
        x,
        terms.operate(Operator::Is, &[x, none]),
        terms.operate(Operator::Eq, &[x, zero]),
        terms.operate(Operator::Eq, &[x, one]),
        y,
        terms.operate(Operator::Lt, &[x, three]),
    ]
}

proptest! {
    #[test]
    fn guards_are_boolean_functions(a in formula(), b in formula()) {
        let mut guards = Guards::default();
        // Variables are ordered by first use: the other way round must mean the same.
        let (guard_a, guard_b) = (a.guard(&mut guards), b.guard(&mut guards));
        prop_assert_eq!(guard_a == guard_b, a.table() == b.table());
        for assignment in assignments() {
            prop_assert_eq!(holds(&mut guards, guard_a, assignment), a.holds(assignment));
        }
        prop_assert_eq!(guard_a.is_false(), a.table() == 0);
        prop_assert_eq!(guard_a.is_true(), a.table() == u64::MAX);
        let support: Vec<u32> = guards.support(guard_a).into_iter().map(|literal| literal.0).collect();
        for literal in 0..LITERALS {
            let matters = assignments().any(|one| a.holds(one) != a.holds(one ^ 1 << literal));
            prop_assert_eq!(support.contains(&literal), matters);
        }
    }

    #[test]
    fn guards_keep_the_laws_of_boole(a in formula(), b in formula(), c in formula()) {
        let mut g = Guards::default();
        let (a, b, c) = (a.guard(&mut g), b.guard(&mut g), c.guard(&mut g));
        let (not_a, not_b) = (g.not(a), g.not(b));
        let (and, or) = (g.and(a, b), g.or(a, b));
        prop_assert_eq!(and, g.and(b, a));
        prop_assert_eq!(or, g.or(b, a));
        prop_assert_eq!(g.and(a, or), a);
        prop_assert_eq!(g.or(a, and), a);
        prop_assert_eq!(g.and(a, not_a), Guard::FALSE);
        prop_assert_eq!(g.or(a, not_a), Guard::TRUE);
        prop_assert_eq!(g.not(not_a), a);
        prop_assert_eq!(g.not(and), g.or(not_a, not_b));
        prop_assert_eq!(g.without(a, b), g.and(a, not_b));
        let (left, right) = (g.and(and, c), g.and(b, c));
        prop_assert_eq!(left, g.and(a, right));
        let (left, right) = (g.or(or, c), g.or(b, c));
        prop_assert_eq!(left, g.or(a, right));
        let (over, b_or_c) = (g.and(a, c), g.or(b, c));
        prop_assert_eq!(g.and(a, b_or_c), g.or(and, over));
    }

    #[test]
    fn feasible_guards_have_consistent_paths(formulas in prop::collection::vec(formula(), 1..6)) {
        let (mut guards, mut terms) = (Guards::default(), Terms::default());
        let literals = about_two(&mut terms);
        let keeps = |assignment: u32| {
            let mut path = Vec::new();
            literals.iter().enumerate().all(|(at, literal)| {
                let (constraint, polarity) = (terms.constraint(*literal), assignment >> at & 1 == 1);
                path.push((constraint, polarity));
                let alike: Vec<_> = path.iter().filter(|(other, _)| other.subject == constraint.subject).copied().collect();
                terms.are_consistent(&alike)
            })
        };
        // Results for one guard are used for those above it.
        for formula in formulas {
            let guard = formula.guard_over(&mut guards, &literals);
            let really = assignments().any(|assignment| formula.holds(assignment) && keeps(assignment));
            prop_assert_eq!(guards.feasible(guard, &terms), really);
        }
    }

    #[test]
    fn evicted_results_change_no_answer(a in formula(), b in formula(), kept in 0usize..4) {
        let (mut fresh, mut reused, mut terms) = (Guards::default(), Guards::default(), Terms::default());
        let literals = about_two(&mut terms);
        for guards in [&mut fresh, &mut reused] {
            for literal in &literals[..kept] {
                guards.literal(*literal);
            }
        }
        let mark = reused.mark();
        let forgotten = a.guard_over(&mut reused, &literals);
        reused.feasible(forgotten, &terms);
        reused.truncate(mark);
        let (guard, other) = (b.guard_over(&mut fresh, &literals), b.guard_over(&mut reused, &literals));
        prop_assert_eq!(fresh.feasible(guard, &terms), reused.feasible(other, &terms));
        prop_assert_eq!(fresh.support(guard), reused.support(other));
        prop_assert_eq!(guard, other);
    }

    #[test]
    fn guards_are_compatible_if_their_conjunction_is_feasible(known in formula(), a in formula(), b in formula()) {
        let (mut guards, mut terms) = (Guards::default(), Terms::default());
        let literals = about_two(&mut terms);
        let known = known.guard_over(&mut guards, &literals);
        guards.feasible(known, &terms);
        let (a, b) = (a.guard_over(&mut guards, &literals), b.guard_over(&mut guards, &literals));
        let both = guards.and(a, b);
        prop_assert_eq!(guards.are_compatible(a, b, &terms), guards.feasible(both, &terms));
    }
}

#[test]
fn path_conditions_grow_by_conjuncts_and_shrink_at_joins() {
    let mut guards = Guards::default();
    let mut paths = Guard::TRUE;
    for number in 0..300 {
        let fails = guards.literal(TermId(number));
        paths = guards.without(paths, fails);
    }
    let made = guards.mark().0;
    assert!(made < 1_000, "{made} nodes for 300 conjuncts");
    let last = guards.literal(TermId(300));
    let (then, orelse) = (guards.and(paths, last), guards.without(paths, last));
    assert_eq!(guards.or(then, orelse), paths);
    assert!(guards.mark().0 - made < 4);
    assert!(guards.is_larger(paths, 299) && !guards.is_larger(paths, 300));
}

#[test]
fn exhausted_portions_end_only_their_own_work() {
    let mut guards = Guards::default();
    guards.renew();
    let literal = guards.literal(TermId(0));
    let before = guards.portion();
    let mut number = 1;
    while !guards.exhausted() {
        guards.literal(TermId(number));
        number += 1;
    }
    let spent = number;
    guards.rejoin(before);
    assert!(!guards.exhausted());
    let other = guards.literal(TermId(number));
    assert!(!guards.and(literal, other).is_false());
    while !guards.exhausted() {
        number += 1;
        guards.literal(TermId(number));
    }
    assert!(number - spent > 2 * spent, "most was left: {spent} of {number}");
    let around = guards.renew();
    assert!(!guards.exhausted());
    guards.resume(around);
    assert!(guards.exhausted());
}

/// A value as a list of conditional writes; the last one whose condition holds decides.
fn written() -> impl Strategy<Value = Vec<(Formula, u32)>> {
    prop::collection::vec((formula(), 0..4u32), 0..4)
}

fn value_of(guards: &mut Guards, writes: &[(Formula, u32)]) -> Value {
    let mut value = Value::term(TermId(100));
    for (formula, term) in writes {
        let guard = formula.guard(guards);
        value = Value::term(TermId(100 + term)).join(guards, guard, &value);
    }
    value
}

/// The alternatives of a value under an assignment; more than one breaks its invariant.
fn value_at(guards: &mut Guards, value: &Value, assignment: u32) -> Vec<u32> {
    let term = |val: &Val| match val {
        Val::Term(term) => term.0,
        _ => 0,
    };
    let alternatives: Vec<(Guard, u32)> =
        value.alternatives().iter().map(|alternative| (alternative.guard, term(&alternative.val))).collect();
    alternatives.into_iter().filter(|(guard, _)| holds(guards, *guard, assignment)).map(|(_, term)| term).collect()
}

/// A value as a set: the order of alternatives means nothing.
fn as_set(value: &Value) -> BTreeMap<u32, Guard> {
    let term = |val: &Val| match val {
        Val::Term(term) => term.0,
        _ => 0,
    };
    value.alternatives().iter().map(|alternative| (term(&alternative.val), alternative.guard)).collect()
}

proptest! {
    #[test]
    fn joined_values_are_what_was_written(writes in written(), other in written(), on in formula(), within in formula()) {
        let mut guards = Guards::default();
        let (a, b) = (value_of(&mut guards, &writes), value_of(&mut guards, &other));
        let expected = |writes: &[(Formula, u32)], one: u32| {
            writes.iter().rev().find(|(formula, _)| formula.holds(one)).map_or(100, |(_, term)| 100 + term)
        };
        let (on_guard, within_guard) = (on.guard(&mut guards), within.guard(&mut guards));
        let joined = a.join(&mut guards, on_guard, &b);
        let restricted = joined.restricted(&mut guards, within_guard);
        for one in assignments() {
            let wanted = if on.holds(one) { expected(&writes, one) } else { expected(&other, one) };
            prop_assert_eq!(value_at(&mut guards, &joined, one), vec![wanted]);
            let wanted = if within.holds(one) { vec![wanted] } else { Vec::new() };
            prop_assert_eq!(value_at(&mut guards, &restricted, one), wanted);
        }
    }

    #[test]
    fn joins_keep_their_laws(a in written(), b in written(), c in written(), f in formula(), g in formula()) {
        let mut guards = Guards::default();
        let (a, b, c) = (value_of(&mut guards, &a), value_of(&mut guards, &b), value_of(&mut guards, &c));
        let (f, g) = (f.guard(&mut guards), g.guard(&mut guards));
        prop_assert_eq!(as_set(&a.join(&mut guards, f, &a)), as_set(&a));
        let not_f = guards.not(f);
        prop_assert_eq!(as_set(&a.join(&mut guards, f, &b)), as_set(&b.join(&mut guards, not_f, &a)));
        // `a` on `f`, else `b` on `g`, else `c`, bracketed in both ways.
        let right = b.join(&mut guards, g, &c);
        let right = a.join(&mut guards, f, &right);
        let either = guards.or(f, g);
        let left = a.join(&mut guards, f, &b);
        let left = left.join(&mut guards, either, &c);
        prop_assert_eq!(as_set(&left), as_set(&right));
    }
}

/// A value of Python.
#[derive(Clone, Debug)]
enum Python {
    None,
    Bool(bool),
    Int(i128),
    Text(&'static str),
}

impl Python {
    fn number(&self) -> Option<i128> {
        match self {
            Self::Bool(value) => Some(i128::from(*value)),
            Self::Int(value) => Some(*value),
            Self::None | Self::Text(_) => None,
        }
    }

    fn equals(&self, other: &Self) -> bool {
        match (self, other) {
            (Self::None, Self::None) => true,
            (Self::Text(a), Self::Text(b)) => a == b,
            _ => self.number().is_some() && self.number() == other.number(),
        }
    }

    fn is(&self, other: &Self) -> bool {
        matches!(self, Self::Bool(_)) == matches!(other, Self::Bool(_)) && self.equals(other)
    }

    fn truth(&self) -> bool {
        match self {
            Self::None => false,
            Self::Text(text) => !text.is_empty(),
            _ => self.number() != Some(0),
        }
    }
}

/// The quotient rounded down, by search: the largest `q` with `q * b` not beyond `a`.
fn floor_quotient(a: i128, b: i128) -> i128 {
    let (a, b) = if b < 0 { (-a, -b) } else { (a, b) };
    let mut quotient = a / b;
    while quotient * b > a {
        quotient -= 1;
    }
    quotient
}

/// What Python computes; nothing where it raises.
fn compute(operator: Operator, a: &Python, b: &Python) -> Option<Python> {
    let truth = |value| Some(Python::Bool(value));
    match operator {
        Operator::Eq => return truth(a.equals(b)),
        Operator::Ne => return truth(!a.equals(b)),
        Operator::Is => return truth(a.is(b)),
        Operator::IsNot => return truth(!a.is(b)),
        _ => {}
    }
    let (x, y) = (a.number()?, b.number()?);
    Some(match operator {
        Operator::Add => Python::Int(x + y),
        Operator::Sub => Python::Int(x - y),
        Operator::Mul => Python::Int(x * y),
        Operator::FloorDiv if y != 0 => Python::Int(floor_quotient(x, y)),
        Operator::Mod if y != 0 => Python::Int(x - y * floor_quotient(x, y)),
        Operator::And => Python::Int(x & y),
        Operator::Or => Python::Int(x | y),
        Operator::Xor => Python::Int(x ^ y),
        Operator::Shl if (0..10).contains(&y) => Python::Int(x * (0..y).fold(1, |power, _| power * 2)),
        Operator::Shr if (0..10).contains(&y) => Python::Int(floor_quotient(x, (0..y).fold(1, |power, _| power * 2))),
        Operator::Pow if (0..5).contains(&y) => Python::Int((0..y).fold(1, |power, _| power * x)),
        Operator::Lt => Python::Bool(x < y),
        Operator::Le => Python::Bool(x <= y),
        Operator::Gt => Python::Bool(x > y),
        Operator::Ge => Python::Bool(x >= y),
        _ => return None,
    })
}

/// An expression over two symbols.
#[derive(Clone, Debug)]
enum Expression {
    Symbol(usize),
    Constant(Python),
    Not(Box<Expression>),
    Negated(Box<Expression>),
    Binary(Operator, Box<Expression>, Box<Expression>),
}

/// Binary operators except identity, which concerns objects and not values.
const BINARY: [Operator; 17] = [
    Operator::Add,
    Operator::Add,
    Operator::Sub,
    Operator::Mul,
    Operator::FloorDiv,
    Operator::Mod,
    Operator::And,
    Operator::Or,
    Operator::Xor,
    Operator::Shl,
    Operator::Shr,
    Operator::Eq,
    Operator::Ne,
    Operator::Lt,
    Operator::Le,
    Operator::Gt,
    Operator::Ge,
];

fn constant() -> impl Strategy<Value = Python> {
    prop_oneof![
        6 => (-3i128..5).prop_map(Python::Int),
        2 => any::<bool>().prop_map(Python::Bool),
        1 => Just(Python::None),
        1 => prop::sample::select(vec!["", "a", "b"]).prop_map(Python::Text),
    ]
}

fn expression(depth: u32) -> impl Strategy<Value = Expression> {
    let leaf = prop_oneof![(0..2usize).prop_map(Expression::Symbol), constant().prop_map(Expression::Constant)];
    leaf.prop_recursive(depth, 12, 2, |inner| {
        let boxed = || inner.clone().prop_map(Box::new);
        prop_oneof![
            1 => boxed().prop_map(Expression::Not),
            1 => boxed().prop_map(Expression::Negated),
            6 => (prop::sample::select(BINARY.to_vec()), boxed(), boxed())
                .prop_map(|(operator, a, b)| Expression::Binary(operator, a, b)),
        ]
    })
}

impl Expression {
    fn term(&self, terms: &mut Terms, symbols: [TermId; 2]) -> TermId {
        match self {
            Self::Symbol(index) => symbols[*index],
            Self::Constant(value) => terms.intern(match value {
                Python::None => Term::None,
                Python::Bool(value) => Term::Bool(*value),
                Python::Int(value) => Term::Int(*value),
                Python::Text(text) => Term::Text((*text).into()),
            }),
            Self::Not(a) => {
                let a = a.term(terms, symbols);
                terms.operate(Operator::Not, &[a])
            }
            Self::Negated(a) => {
                let a = a.term(terms, symbols);
                terms.operate(Operator::Neg, &[a])
            }
            Self::Binary(operator, a, b) => {
                let (a, b) = (a.term(terms, symbols), b.term(terms, symbols));
                terms.operate(*operator, &[a, b])
            }
        }
    }

    fn compute(&self, assigned: &[Python; 2]) -> Option<Python> {
        match self {
            Self::Symbol(index) => Some(assigned[*index].clone()),
            Self::Constant(value) => Some(value.clone()),
            Self::Not(a) => Some(Python::Bool(!a.compute(assigned)?.truth())),
            Self::Negated(a) => Some(Python::Int(-a.compute(assigned)?.number()?)),
            Self::Binary(operator, a, b) => compute(*operator, &a.compute(assigned)?, &b.compute(assigned)?),
        }
    }
}

/// Values for the two symbols.
fn assigned() -> impl Strategy<Value = [Python; 2]> {
    let number = || prop_oneof![4 => (-4i128..6).prop_map(Python::Int), 1 => any::<bool>().prop_map(Python::Bool)];
    [number(), number()]
}

fn symbols(terms: &mut Terms) -> [TermId; 2] {
    ["x", "y"].map(|name| terms.fresh(Symbol::Parameter, name, None))
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(2_000))]

    #[test]
    fn constants_are_computed_as_python_does(
        operator in prop::sample::select(BINARY.to_vec()), a in -1000i128..1000, b in -40i128..40,
    ) {
        let mut terms = Terms::default();
        let (left, right) = (terms.int(a), terms.int(b));
        let result = terms.operate(operator, &[left, right]);
        match compute(operator, &Python::Int(a), &Python::Int(b)) {
            Some(Python::Int(expected)) => prop_assert_eq!(terms.get(result), &Term::Int(expected)),
            Some(Python::Bool(expected)) => prop_assert_eq!(terms.get(result), &Term::Bool(expected)),
            _ => {}
        }
    }

    #[test]
    fn equal_terms_are_equal_under_every_assignment(
        a in expression(3), b in expression(3), runs in prop::collection::vec(assigned(), 12),
    ) {
        let mut terms = Terms::default();
        let symbols = symbols(&mut terms);
        let (left, right) = (a.term(&mut terms, symbols), b.term(&mut terms, symbols));
        let (distinct, difference) = (terms.distinct(left, right), terms.difference(left, right));
        for run in &runs {
            let (Some(x), Some(y)) = (a.compute(run), b.compute(run)) else { continue };
            prop_assert!(left != right || x.equals(&y), "{x:?} and {y:?} have one term");
            prop_assert!(!distinct || !x.equals(&y), "{x:?} and {y:?} are called distinct");
            if let (Some(difference), Some(x), Some(y)) = (difference, x.number(), y.number()) {
                prop_assert_eq!(x - y, difference);
            }
            if let Some(truth) = terms.truth(left) {
                prop_assert_eq!(x.truth(), truth);
            }
            if let (Some(known), Some(x)) = (terms.as_int(left), x.number()) {
                prop_assert_eq!(known, x);
            }
        }
    }

    #[test]
    fn excluded_literals_are_incompatible(
        tests in prop::collection::vec(
            (prop::sample::select(vec![Operator::Eq, Operator::Is, Operator::Lt, Operator::Gt, Operator::Le]),
             0..2usize, prop::option::of(2i128..5), constant(), any::<bool>()),
            1..5,
        ),
        runs in prop::collection::vec(assigned(), 12),
    ) {
        let mut terms = Terms::default();
        let symbols = symbols(&mut terms);
        let mut literals = BTreeMap::new();
        for (index, symbol) in symbols.into_iter().enumerate() {
            literals.insert(symbol, Expression::Symbol(index));
        }
        for (operator, symbol, divisor, constant, swapped) in tests {
            let (mut a, b) = (Expression::Symbol(symbol), Expression::Constant(constant));
            if let Some(divisor) = divisor {
                a = Expression::Binary(Operator::Mod, Box::new(a), Box::new(Expression::Constant(Python::Int(divisor))));
            }
            let (a, b) = if swapped { (b, a) } else { (a, b) };
            let expression = Expression::Binary(operator, Box::new(a), Box::new(b));
            let term = expression.term(&mut terms, symbols);
            // A guard's literals are positive: `not` is the guard's business.
            match terms.get(term) {
                Term::Operate(Operator::Not, inner) => {
                    let inner = inner[0];
                    literals.insert(inner, Expression::Not(Box::new(expression)));
                }
                _ => {
                    literals.insert(term, expression);
                }
            }
        }
        let support: Vec<TermId> = literals.keys().copied().collect();
        for [(a, a_holds), (b, b_holds)] in terms.exclusions(&support) {
            for run in &runs {
                let (Some(x), Some(y)) = (literals[&a].compute(run), literals[&b].compute(run)) else { continue };
                prop_assert!(
                    x.truth() != a_holds || y.truth() != b_holds,
                    "{:?} and {:?} hold together for {:?}", literals[&a], literals[&b], run
                );
            }
        }
    }
}

#[test]
fn numbers_beyond_machine_words_are_exact() {
    let mut terms = Terms::default();
    let x = terms.fresh(Symbol::Parameter, "x", None);
    let (least, most) = (terms.int(i128::MIN), terms.int(i128::MAX));
    let one = terms.int(1);
    for operator in BINARY {
        for (a, b) in [(least, most), (most, least), (least, one), (most, one), (x, least), (x, most), (least, x)] {
            terms.operate(operator, &[a, b]);
        }
    }
    let up = terms.operate(Operator::Add, &[x, most]);
    let over = terms.operate(Operator::Add, &[up, one]);
    let down = terms.operate(Operator::Add, &[x, least]);
    assert_ne!(over, down, "a sum that is too large must not wrap around");
    assert_eq!(terms.difference(most, least), None);
}
