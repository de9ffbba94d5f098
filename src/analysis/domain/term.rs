//! Terms: how a value was derived, hash-consed.
//!
//! A key is not a variable and not an object but *how it was derived*: `Seed`, `Child`, `Fold`, or a symbol for what came from
//! outside. Numbers (seeds, indices, fold data) are terms too. Two values are known to be equal exactly when their terms have one
//! handle.
//!
//! **Invariant:** terms are interned in a normal form (integers folded, `symbol + constant` flattened, comparison operators
//! reduced to `==`, `<` and `is` with `not`), so that what is computed by the same pure operators from the same symbols is one term.

use hashbrown::HashTable;
use hashbrown::hash_table::{Entry, OccupiedEntry};
use rustc_hash::FxHashSet;

use crate::finding::Place;
use crate::ir::{Name, Operator};

use super::SWEPT;
use super::guard::Guard;
use super::marks::ELLIPSIS;
use super::visit::Visits;

/// Handle of a term.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct TermId(pub u32);

/// A name: one of the analysis, or one from the program or a model.
#[derive(Clone, Debug)]
pub enum Text {
    /// Of the analysis.
    Fixed(&'static str),
    /// Of the program or a model.
    Given(Name),
}

impl std::ops::Deref for Text {
    type Target = str;

    fn deref(&self) -> &str {
        match self {
            Self::Fixed(text) => text,
            Self::Given(text) => text,
        }
    }
}

impl PartialEq for Text {
    fn eq(&self, other: &Self) -> bool {
        **self == **other
    }
}

impl Eq for Text {}

impl std::hash::Hash for Text {
    fn hash<H: std::hash::Hasher>(&self, state: &mut H) {
        (**self).hash(state);
    }
}

impl From<&'static str> for Text {
    fn from(text: &'static str) -> Self {
        Self::Fixed(text)
    }
}

impl From<Name> for Text {
    fn from(text: Name) -> Self {
        Self::Given(text)
    }
}

impl From<&Name> for Text {
    fn from(text: &Name) -> Self {
        Self::Given(text.clone())
    }
}

impl From<String> for Text {
    fn from(text: String) -> Self {
        Self::Given(text.into())
    }
}

/// The origin of a symbol.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum Symbol {
    /// A parameter of the function that is analysed.
    Parameter,
    /// The result of a call or operation that nothing resolves: fresh at each evaluation.
    Opaque,
    /// An attribute after `del`: the class may still have one of that name.
    Deleted,
    /// A unique object that equals only itself: a sentinel, a member of an enumeration.
    Unique,
    /// The number of the lane that a mapped function runs in.
    Lane,
    /// The number of an iteration that is not among the first.
    Iteration {
        /// The least that it can be.
        first: u32,
        /// All numbers from `first` to below this one are those of iterations, if it is known.
        count: Option<u32>,
    },
    /// What a variable may have become in iterations that are not run.
    Havoc,
    /// "This loop has another iteration", "this operation raises": a truth value only.
    Path,
}

/// The text, place and kind of a symbol.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct SymbolInfo {
    /// The origin of the symbol.
    pub symbol: Symbol,
    /// For people.
    pub text: Text,
    /// Where it arises.
    pub place: Option<PlaceKey>,
}

/// A place in hashable form: file, start, end.
pub type PlaceKey = (u32, u32, u32);

/// Turns a place into its hashable form.
pub fn place_key(place: Place) -> PlaceKey {
    (place.file.0, place.span.start, place.span.end)
}

/// A derivation.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum Term {
    /// Something from outside, with an index into the table of symbols.
    Symbol(u32),
    /// `None`
    None,
    /// `True`, `False`
    Bool(bool),
    /// An integer.
    Int(i128),
    /// A float, by its bits.
    Float(u64),
    /// A string.
    Text(Name),
    /// `symbol + constant`, the constant not zero.
    Offset(TermId, i128),
    /// A pure operator applied to terms.
    Operate(Operator, Box<[TermId]>),
    /// A pure library function applied to terms.
    Apply(Text, Box<[TermId]>),
    /// A value that depends on the path.
    Choice(Box<[(Guard, TermId)]>),
    /// `key(seed)`: the seed as a 32-bit number where it is known.
    Seed(TermId),
    /// The array of the children of a key, however many.
    Children(TermId),
    /// The child of a key with an index: element of `split(parent, n)`.
    Child(TermId, TermId),
    /// `fold_in(parent, data)`
    Fold(TermId, TermId),
    /// `clone(key)`, numbered: the same key data, which may be used once more.
    Clone(TermId, u32),
    /// An attribute of a value, at an epoch of the value's contents.
    Attribute(TermId, Name, u32),
    /// An element of a value, at an epoch of the value's contents.
    Item(TermId, TermId, u32),
    /// The buffer of a key, or the word of it with this index.
    Words(TermId, Option<u8>),
}

/// The arena of terms.
#[derive(Clone, Debug, Default)]
pub struct Terms {
    arena: Vec<Term>,
    /// Handles by the hash of their terms.
    interned: HashTable<TermId>,
    symbols: Vec<SymbolInfo>,
    queries: Queries,
    /// Terms that the program uses as integers.
    counts: FxHashSet<TermId>,
    /// Arrays without repeated numbers.
    varied: FxHashSet<TermId>,
    visits: Visits,
}

/// Comparisons and remainders of integers that are known.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Queries {
    /// A hash of all comparisons and remainders, in their order.
    pub questions: u64,
    /// A common multiple of all divisors: the least one, unless that is large.
    pub multiple: i128,
}

impl Default for Queries {
    fn default() -> Self {
        Self { questions: 0, multiple: 1 }
    }
}

/// Largest common multiple that is computed.
const MULTIPLE: i128 = 1 << 40;

impl Queries {
    /// These queries, and then others.
    #[must_use]
    pub fn then(self, next: Self) -> Self {
        let multiple = common_multiple(self.multiple, next.multiple);
        let multiple = if multiple > MULTIPLE { self.multiple } else { multiple };
        Self { questions: hash(&(self.questions, next.questions)), multiple }
    }

    /// This query alone.
    fn once(operator: Operator, [a, b]: [i128; 2]) -> Self {
        let divides = operator == Operator::Mod && (1..MULTIPLE).contains(&b);
        Self { questions: hash(&(operator, a, b)), multiple: if divides { b } else { 1 } }
    }
}

/// The least common multiple of two positive numbers.
pub(super) fn common_multiple(a: i128, b: i128) -> i128 {
    let (mut divisor, mut rest) = (a, b);
    while rest != 0 {
        (divisor, rest) = (rest, divisor % rest);
    }
    (a / divisor).saturating_mul(b)
}

fn hash(value: &impl std::hash::Hash) -> u64 {
    std::hash::BuildHasher::hash_one(&rustc_hash::FxBuildHasher, value)
}

/// Deepest chain of derivations; a deeper one becomes a fresh symbol.
const DEPTH: usize = 64;

/// Longest text that is concatenated.
const TEXT: usize = 64;

impl Terms {
    /// The next term that is made: those before it are older.
    pub fn next(&self) -> TermId {
        TermId(u32::try_from(self.arena.len()).unwrap_or(u32::MAX))
    }

    /// The current size of the arena.
    pub fn mark(&self) -> (usize, usize) {
        (self.arena.len(), self.symbols.len())
    }

    /// Drops the terms that were made since a mark. Their handles must not be used again.
    pub fn truncate(&mut self, mark: (usize, usize)) {
        let dropped = mark.0..self.arena.len();
        if dropped.len() < self.interned.len() / SWEPT {
            for id in dropped {
                let place = self.interned.find_entry(hash(&self.arena[id]), |known| known.0 as usize == id);
                place.ok().map(OccupiedEntry::remove);
            }
        } else {
            self.interned.retain(|id| (id.0 as usize) < mark.0);
        }
        self.arena.truncate(mark.0);
        for noted in [&mut self.counts, &mut self.varied] {
            noted.retain(|id| (id.0 as usize) < mark.0);
        }
        self.symbols.truncate(mark.1);
    }

    /// Records that the program fails if this is not an integer.
    pub fn count(&mut self, id: TermId) {
        self.counts.insert(id);
    }

    /// Whether a term must be an integer because of how the program uses it.
    pub(super) fn is_count(&self, id: TermId) -> bool {
        self.counts.contains(&id)
    }

    /// Records that an array contains no number twice.
    pub fn vary(&mut self, id: TermId) {
        self.varied.insert(id);
    }

    /// Whether an array contains no number twice.
    pub fn is_varied(&self, id: TermId) -> bool {
        self.varied.contains(&id)
    }

    /// The queries since [`Terms::replace_queries`].
    pub fn queries(&self) -> Queries {
        self.queries
    }

    /// Continues with these queries; returns the queries so far.
    pub fn replace_queries(&mut self, queries: Queries) -> Queries {
        std::mem::replace(&mut self.queries, queries)
    }

    /// The handle of a term.
    pub fn intern(&mut self, term: Term) -> TermId {
        let (next, arena) = (self.next(), &self.arena);
        let term_of = |id: &TermId| &arena[id.0 as usize];
        match self.interned.entry(hash(&term), |id| *term_of(id) == term, |id| hash(term_of(id))) {
            Entry::Occupied(known) => *known.get(),
            Entry::Vacant(place) => {
                place.insert(next);
                self.arena.push(term);
                next
            }
        }
    }

    /// The term of a handle.
    pub fn get(&self, id: TermId) -> &Term {
        &self.arena[id.0 as usize]
    }

    /// A symbol that is equal to nothing before it.
    pub fn fresh(&mut self, symbol: Symbol, text: impl Into<Text>, place: Option<Place>) -> TermId {
        let index = u32::try_from(self.symbols.len()).unwrap_or(u32::MAX);
        self.symbols.push(SymbolInfo { symbol, text: text.into(), place: place.map(place_key) });
        self.intern(Term::Symbol(index))
    }

    /// The origin of a symbol.
    pub fn symbol(&self, id: TermId) -> Option<&SymbolInfo> {
        match self.get(id) {
            Term::Symbol(index) => self.symbols.get(*index as usize),
            _ => None,
        }
    }

    /// An integer.
    pub fn int(&mut self, value: i128) -> TermId {
        self.intern(Term::Int(value))
    }

    /// The value of a term that is an integer (`True` is 1, as in Python).
    pub fn as_exact_int(&self, id: TermId) -> Option<i128> {
        match self.get(id) {
            Term::Int(value) => Some(*value),
            Term::Bool(value) => Some(i128::from(*value)),
            _ => None,
        }
    }

    /// The value of a term that is an integer and counts or indexes something: so small that sums and a product of such
    /// numbers cannot overflow.
    pub fn as_int(&self, id: TermId) -> Option<i128> {
        self.as_exact_int(id).filter(is_small)
    }

    /// `term + offset`; a sum that is too large stays a sum.
    pub fn offset(&mut self, id: TermId, offset: i128) -> TermId {
        if offset == 0 {
            return id;
        }
        let sum = match self.get(id) {
            Term::Int(value) => value.checked_add(offset).map(Term::Int),
            Term::Offset(base, old) => match old.checked_add(offset) {
                Some(0) => return *base,
                new => new.map(|new| Term::Offset(*base, new)),
            },
            _ => Some(Term::Offset(id, offset)),
        };
        if let Some(sum) = sum {
            return self.intern(sum);
        }
        let offset = self.int(offset);
        self.intern(Term::Operate(Operator::Add, Box::new([id, offset])))
    }

    /// The difference `a - b`, if it is a known integer and as small as those of [`Terms::as_int`].
    pub fn difference(&self, a: TermId, b: TermId) -> Option<i128> {
        let ((base_a, offset_a), (base_b, offset_b)) = (self.split_offset(a), self.split_offset(b));
        if base_a == base_b { offset_a.checked_sub(offset_b).filter(is_small) } else { None }
    }

    /// A number as the sum of a term, where there is one, and a constant.
    pub fn split_offset(&self, id: TermId) -> (Option<TermId>, i128) {
        match self.get(id) {
            Term::Int(value) => (None, *value),
            Term::Offset(base, offset) => (Some(*base), *offset),
            _ => (Some(id), 0),
        }
    }

    /// Whether the two can never be equal. `false` means "not known".
    pub fn distinct(&self, a: TermId, b: TermId) -> bool {
        if a == b {
            return false;
        }
        if self.is_constant(a) && self.is_constant(b) {
            return self.are_unequal(a, b);
        }
        if self.is_ellipsis(a) && self.is_constant(b) || self.is_ellipsis(b) && self.is_constant(a) {
            return true;
        }
        if self.difference(a, b).is_some_and(|difference| difference != 0) {
            return true;
        }
        let is_below = |a: TermId, b: TermId| match (self.bounds(a), self.bounds(b)) {
            ([_, Some(most)], [Some(least), _]) => most < least,
            _ => false,
        };
        is_below(a, b) || is_below(b, a)
    }

    /// The key that a derived term comes from directly.
    pub fn parent(&self, id: TermId) -> Option<TermId> {
        match self.get(id) {
            Term::Child(parent, _) | Term::Fold(parent, _) | Term::Children(parent) | Term::Clone(parent, _) => {
                Some(*parent)
            }
            _ => None,
        }
    }

    /// The root from which a term was derived, or of which it is a part.
    pub fn root(&self, id: TermId) -> TermId {
        match self.get(id) {
            Term::Attribute(of, ..) | Term::Item(of, ..) => self.root(*of),
            _ => self.parent(id).map_or(id, |parent| self.root(parent)),
        }
    }

    /// Whether a term is the value of a parameter.
    pub fn is_parameter(&self, id: TermId) -> bool {
        self.symbol(id).is_some_and(|info| info.symbol == Symbol::Parameter)
    }

    /// The owner of an attribute.
    pub fn owner(&self, id: TermId) -> Option<TermId> {
        match self.get(id) {
            Term::Attribute(owner, ..) => Some(*owner),
            _ => None,
        }
    }

    /// The chain of keys that a term was derived from, nearest first, itself excluded.
    pub fn ancestors(&self, id: TermId) -> Vec<TermId> {
        let mut chain = Vec::new();
        let mut current = id;
        while let Some(parent) = self.parent(current) {
            chain.push(parent);
            current = parent;
            if chain.len() > DEPTH {
                break;
            }
        }
        chain
    }

    /// Whether a term exceeds the depth bound.
    pub fn too_deep(&self, id: TermId) -> bool {
        self.ancestors(id).len() >= DEPTH
    }

    /// Whether `id` mentions a term for which `found` holds.
    pub fn mentions(&self, id: TermId, found: &dyn Fn(TermId) -> bool) -> bool {
        self.mentions_beyond(id, found, &|_| false)
    }

    /// The same, outside of attributes and results of functions with names for which `ends` holds.
    pub fn mentions_beyond(&self, id: TermId, found: &dyn Fn(TermId) -> bool, ends: &dyn Fn(&str) -> bool) -> bool {
        let mut is_found = false;
        self.visits.each(id.0, |handle, work| {
            is_found = found(TermId(handle));
            match self.get(TermId(handle)) {
                Term::Attribute(_, name, _) if ends(name) => {}
                Term::Apply(name, _) if ends(name) => {}
                Term::Symbol(_) | Term::None | Term::Bool(_) | Term::Int(_) | Term::Float(_) | Term::Text(_) => {}
                Term::Offset(a, _)
                | Term::Seed(a)
                | Term::Children(a)
                | Term::Clone(a, _)
                | Term::Attribute(a, _, _)
                | Term::Words(a, _) => work.push(a.0),
                Term::Child(a, b) | Term::Fold(a, b) | Term::Item(a, b, _) => work.extend([a.0, b.0]),
                Term::Operate(_, parts) | Term::Apply(_, parts) => work.extend(parts.iter().map(|part| part.0)),
                Term::Choice(parts) => work.extend(parts.iter().map(|(_, part)| part.0)),
            }
            !is_found
        });
        is_found
    }

    /// A binary or unary operator applied to terms, in normal form.
    pub fn operate(&mut self, operator: Operator, operands: &[TermId]) -> TermId {
        if let [a, b] = operands
            && matches!(operator, Operator::Mod | Operator::Eq | Operator::Lt)
            && let (Some(a), Some(b)) = (self.as_int(*a), self.as_int(*b))
        {
            self.queries = self.queries.then(Queries::once(operator, [a, b]));
        }
        if let Some(folded) = self.fold(operator, operands) {
            return folded;
        }
        match (operator, operands) {
            (Operator::Add, [a, b]) => {
                if let Some(value) = self.as_exact_int(*b) {
                    return self.offset(*a, value);
                }
                if let Some(value) = self.as_exact_int(*a) {
                    return self.offset(*b, value);
                }
                if let (Term::Text(one), Term::Text(other)) = (self.get(*a), self.get(*b))
                    && one.len() + other.len() <= TEXT
                {
                    let text = format!("{one}{other}");
                    return self.intern(Term::Text(text.into()));
                }
                // Addition of numbers is commutative, concatenation of strings is not.
                let is_text = |id: TermId| matches!(self.get(id), Term::Text(_));
                for (one, other) in [(*a, *b), (*b, *a)] {
                    if let Term::Offset(base, offset) = *self.get(one)
                        && !is_text(other)
                    {
                        let sum = self.operate(Operator::Add, &[base, other]);
                        return self.offset(sum, offset);
                    }
                }
                let (a, b) = if a <= b || is_text(*a) || is_text(*b) { (*a, *b) } else { (*b, *a) };
                self.intern(Term::Operate(operator, Box::new([a, b])))
            }
            (Operator::Sub, [a, b]) => match self.as_exact_int(*b).and_then(i128::checked_neg) {
                Some(value) => self.offset(*a, value),
                None => self.intern(Term::Operate(operator, Box::new([*a, *b]))),
            },
            (Operator::Mul, [a, b]) => match (self.as_exact_int(*a), self.as_exact_int(*b)) {
                (Some(1), _) => *b,
                (_, Some(1)) => *a,
                (Some(factor), None) => self.multiple(*b, factor),
                (None, Some(factor)) => self.multiple(*a, factor),
                _ => self.intern(Term::Operate(operator, Box::new(if a <= b { [*a, *b] } else { [*b, *a] }))),
            },
            (Operator::Mod, [a, b]) => {
                let divisor = self.as_int(*b).filter(|divisor| *divisor > 0);
                let a = divisor.map_or(*a, |divisor| self.dividend(*a, divisor));
                self.intern(Term::Operate(operator, Box::new([a, *b])))
            }
            (Operator::Pos, [a]) => *a,
            (Operator::Not, [a]) => match self.get(*a).clone() {
                // `not not 5` is `True`: only for a truth value is it the value itself.
                Term::Operate(Operator::Not, inner) if self.is_truth(inner[0]) => inner[0],
                _ => self.intern(Term::Operate(operator, Box::new([*a]))),
            },
            (Operator::Ne, [a, b]) => self.negated(Operator::Eq, *a, *b),
            (Operator::IsNot, [a, b]) => self.negated(Operator::Is, *a, *b),
            (Operator::NotIn, [a, b]) => self.negated(Operator::In, *a, *b),
            (Operator::Gt, [a, b]) => self.operate(Operator::Lt, &[*b, *a]),
            (Operator::Ge, [a, b]) => self.negated(Operator::Lt, *a, *b),
            (Operator::Le, [a, b]) => self.negated(Operator::Lt, *b, *a),
            // Neither `None` nor a key is a dict, a list or a number.
            (Operator::MatchClass, [a, b])
                if matches!(self.get(*a), Term::None | Term::Seed(_) | Term::Child(..) | Term::Fold(..))
                    && self.is_value_type(*b) =>
            {
                self.intern(Term::Bool(false))
            }
            (Operator::Eq | Operator::Is, [a, b]) => {
                if a == b {
                    return self.intern(Term::Bool(true));
                }
                if self.distinct(*a, *b) || self.is_named(*a) && self.is_named(*b) && self.are_unequal(*a, *b) {
                    return self.intern(Term::Bool(false));
                }
                for (side, other) in [(*a, *b), (*b, *a)] {
                    if let Term::Bool(wanted) = *self.get(other)
                        && self.is_truth(side)
                    {
                        return if wanted { side } else { self.operate(Operator::Not, &[side]) };
                    }
                }
                let [a, b] = if operator == Operator::Eq { self.balanced([*a, *b]) } else { [*a, *b] };
                // The constant is the second operand.
                let (a, b) = if self.is_named(a) || (!self.is_named(b) && b < a) { (b, a) } else { (a, b) };
                let [a, b] = if operator == Operator::Eq { self.balanced([a, b]) } else { [a, b] };
                self.intern(Term::Operate(operator, Box::new([a, b])))
            }
            (Operator::Lt, [a, b]) => {
                let sides = self.balanced([*a, *b]);
                self.intern(Term::Operate(operator, Box::new(sides)))
            }
            _ => self.intern(Term::Operate(operator, operands.into())),
        }
    }

    /// A term with the same remainder: without multiples of the divisor, and without an earlier remainder by one of
    /// these.
    fn dividend(&mut self, id: TermId, divisor: i128) -> TermId {
        let split = |this: &Self, id: TermId| match this.get(id) {
            Term::Offset(base, offset) => (*base, *offset),
            _ => (id, 0),
        };
        let (mut base, mut offset) = split(self, id);
        if let Term::Operate(Operator::Mod, parts) = self.get(base)
            && self.as_int(parts[1]).is_some_and(|earlier| earlier > 0 && earlier % divisor == 0)
        {
            let (inner, added) = split(self, parts[0]);
            (base, offset) = (inner, offset.saturating_add(added));
        }
        self.offset(base, offset.rem_euclid(divisor))
    }

    /// `id * factor`, distributed over the constant offset of a symbol.
    fn multiple(&mut self, id: TermId, factor: i128) -> TermId {
        if let Term::Offset(base, offset) = *self.get(id)
            && let Some(offset) = offset.checked_mul(factor)
        {
            let product = self.multiple(base, factor);
            return self.offset(product, offset);
        }
        let factor = self.int(factor);
        let factors = if id <= factor { [id, factor] } else { [factor, id] };
        self.intern(Term::Operate(Operator::Mul, Box::new(factors)))
    }

    /// The sides of a comparison, with what is added to the left one taken to the right one, and all of it to a constant.
    fn balanced(&mut self, [a, b]: [TermId; 2]) -> [TermId; 2] {
        if let Term::Offset(base, offset) = *self.get(a)
            && let Some(minus) = offset.checked_neg()
            && !matches!(self.get(b), Term::Float(_) | Term::None | Term::Text(_))
        {
            return [base, self.offset(b, minus)];
        }
        if let (Some(number), Term::Offset(base, offset)) = (self.as_exact_int(a), self.get(b).clone())
            && let Some(number) = number.checked_sub(offset)
        {
            return [self.int(number), base];
        }
        [a, b]
    }

    fn negated(&mut self, operator: Operator, a: TermId, b: TermId) -> TermId {
        let positive = self.operate(operator, &[a, b]);
        self.operate(Operator::Not, &[positive])
    }

    /// Whether a term is `True` or `False`, no matter which. A comparison of arrays is an array, and `not` of it
    /// raises.
    pub fn is_truth(&self, id: TermId) -> bool {
        matches!(
            self.get(id),
            Term::Bool(_)
                | Term::Operate(
                    Operator::Not | Operator::Eq | Operator::Lt | Operator::Is | Operator::In | Operator::MatchClass,
                    _
                )
        )
    }

    /// Whether a term is a literal.
    pub fn is_constant(&self, id: TermId) -> bool {
        matches!(self.get(id), Term::None | Term::Bool(_) | Term::Int(_) | Term::Float(_) | Term::Text(_))
    }

    /// Whether a term is `...`.
    pub fn is_ellipsis(&self, id: TermId) -> bool {
        matches!(self.get(id), Term::Apply(name, _) if &**name == ELLIPSIS)
    }

    fn fold(&mut self, operator: Operator, operands: &[TermId]) -> Option<TermId> {
        if let (Operator::Not, [a]) = (operator, operands) {
            return self.truth(*a).map(|value| self.intern(Term::Bool(!value)));
        }
        if let (Operator::Neg, [a]) = (operator, operands)
            && let Term::Float(bits) = self.get(*a)
        {
            let negated = Term::Float((-f64::from_bits(*bits)).to_bits());
            return Some(self.intern(negated));
        }
        let ints: Option<Vec<i128>> = operands.iter().map(|id| self.as_exact_int(*id)).collect();
        if let (Operator::Sub, [a, b], None) = (operator, operands, &ints)
            && let Some(difference) = self.difference(*a, *b)
        {
            return Some(self.int(difference));
        }
        if let (Operator::Lt, [a, b]) = (operator, operands) {
            if let Some(difference) = self.difference(*a, *b) {
                return Some(self.intern(Term::Bool(difference < 0)));
            }
            match (self.bounds(*a), self.bounds(*b)) {
                ([_, Some(most)], [Some(least), _]) if most < least => return Some(self.intern(Term::Bool(true))),
                ([Some(least), _], [_, Some(most)]) if least >= most => return Some(self.intern(Term::Bool(false))),
                _ => {}
            }
            if let (Some(a), Some(b)) = (self.bound(*a), self.bound(*b)) {
                return Some(self.intern(Term::Bool(a.at < b.at)));
            }
        }
        let value = match (operator, ints?.as_slice()) {
            (Operator::Neg, [a]) => a.checked_neg()?,
            (Operator::Invert, [a]) => !a,
            (Operator::Add, [a, b]) => a.checked_add(*b)?,
            (Operator::Sub, [a, b]) => a.checked_sub(*b)?,
            (Operator::Mul, [a, b]) => a.checked_mul(*b)?,
            (Operator::FloorDiv, [a, b]) if *b != 0 => floor_div(*a, *b)?,
            (Operator::Mod, [a, b]) if *b != 0 => a.checked_sub(floor_div(*a, *b)?.checked_mul(*b)?)?,
            (Operator::Pow, [a, b]) => a.checked_pow(u32::try_from(*b).ok()?)?,
            (Operator::Shl, [a, b]) if (0..100).contains(b) => {
                a.checked_mul(1i128.checked_shl(u32::try_from(*b).ok()?)?)?
            }
            (Operator::Shr, [a, b]) if (0..127).contains(b) => a >> b,
            (Operator::And, [a, b]) => a & b,
            (Operator::Or, [a, b]) => a | b,
            (Operator::Xor, [a, b]) => a ^ b,
            _ => return None,
        };
        Some(self.int(value))
    }

    /// `float(x)` of a literal number.
    pub fn float_of(&mut self, number: TermId) -> Option<TermId> {
        let bound = self.bound(number)?;
        Some(self.intern(Term::Float(bound.at.to_bits())))
    }

    /// `int(x)` of a literal integer.
    pub fn integer_of(&mut self, number: TermId) -> Option<TermId> {
        self.as_exact_int(number).map(|number| self.int(number))
    }

    /// The truth of a term, where it is a literal or a number above zero.
    pub fn truth(&self, id: TermId) -> Option<bool> {
        match self.get(id) {
            Term::None => Some(false),
            Term::Bool(value) => Some(*value),
            Term::Int(value) => Some(*value != 0),
            Term::Text(text) => Some(!text.is_empty()),
            Term::Float(bits) => Some(f64::from_bits(*bits) != 0.0),
            _ => self.bounds(id)[0].filter(|least| *least > 0).map(|_| true),
        }
    }
}

/// Whether a number counts or indexes something.
pub(super) fn is_small(value: &i128) -> bool {
    value.unsigned_abs() < 1 << 62
}

fn floor_div(a: i128, b: i128) -> Option<i128> {
    let quotient = a.checked_div(b)?;
    Some(if a % b != 0 && (a < 0) != (b < 0) { quotient - 1 } else { quotient })
}
