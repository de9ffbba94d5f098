//! Values: small sets of guarded alternatives.
//!
//! **Invariant:** the guards of a value's alternatives exclude each other and alternatives are pairwise different; a
//! value with more than [`ALTERNATIVES`] of them is replaced by a fresh one. The order of alternatives means nothing.

use std::sync::Arc;

use smallvec::SmallVec;

use crate::analysis::domain::kinds::KeyKind;
use crate::finding::Place;
use crate::ir::{FunctionId, Name};

use super::guard::{Guard, Guards};
use super::term::{Symbol, Term, TermId, Terms, Text};

/// Most alternatives of a value.
pub const ALTERNATIVES: usize = 8;

/// Handle of a heap object.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ObjectId(pub u32);

/// Handle of an environment: the variables of one activation.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct EnvironmentId(pub u32);

/// Handle of a class.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ClassHandle(pub u32);

/// Index of a module in the program.
pub type ModuleIndex = usize;

/// Handle of a derivation: one execution of a constructor, `split` or `fold_in`.
pub type DerivationId = u32;

/// One key.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Key {
    /// How it was derived.
    pub term: TermId,
    /// Typed or raw.
    pub kind: KeyKind,
    /// Which execution derived it; two executions can derive equal keys.
    pub derivation: DerivationId,
}

/// What is known about the order of the keys in a view.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Order {
    /// Element `i` of the view is element `start + i * step` of the family.
    Known,
    /// The same keys in an unknown order.
    Permuted,
    /// Some of the keys.
    Subset,
    /// All keys, each of them several times.
    Repeated,
}

impl Order {
    /// Whether the view holds each key of its range once.
    pub const fn is_whole(self) -> bool {
        matches!(self, Self::Known | Self::Permuted)
    }
}

/// The keys of an array.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum Elements {
    /// A view of a family of keys.
    View {
        /// The family: [`Term::Children`] or an array from outside.
        family: TermId,
        /// Index of the first element, flat.
        start: TermId,
        /// Difference of neighbours.
        step: i64,
        /// Whether the view reaches the end of the family.
        to_end: bool,
        /// What is known about the order.
        order: Order,
    },
    /// Keys (or arrays of keys) stacked along the first axis.
    Listed(Arc<[Value]>),
    /// Arrays concatenated along the first axis, or keys in an unknown order.
    Joined(Arc<[Value]>),
    /// Copies of one key.
    Copies(Arc<Value>),
}

impl Elements {
    /// All keys of a family, in their order, from the first.
    pub fn whole(family: TermId, start: TermId) -> Self {
        Self::View { family, start, step: 1, to_end: true, order: Order::Known }
    }
}

/// An array of keys.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Array {
    /// Typed or raw.
    pub kind: KeyKind,
    /// Which execution derived it.
    pub derivation: DerivationId,
    /// Lengths of its axes (a raw array's buffer axis not counted), outermost first; absent where the rank is not known.
    pub dims: Option<Arc<[Option<TermId>]>>,
    /// Its keys.
    pub elements: Elements,
}

/// A function with its environment and defaults.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Closure {
    /// The module that defines it.
    pub module: ModuleIndex,
    /// The function.
    pub function: FunctionId,
    /// The environment it was defined in, where that is a function's.
    pub environment: Option<EnvironmentId>,
    /// Defaults, by parameter, bound at definition.
    pub defaults: Arc<[(u32, Value)]>,
    /// Number of the execution that made it.
    pub identity: u32,
    /// The class whose body defines it, for `super()`.
    pub class: Option<ClassHandle>,
}

/// A function wrapped by a transform, with the arguments of the transform.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Wrapped {
    /// Canonical path of the transform.
    pub transform: Name,
    /// The arguments of the transform's own call, the function excluded.
    pub options: Arc<[(Name, Value)]>,
    /// The function; absent in a decorator that has not yet received it.
    pub function: Option<Value>,
}

/// What a callable that was made from a function does when it is called, or looked up through a class.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum PartialKind {
    /// Calls the function with the bound arguments first: `functools.partial`.
    Bound,
    /// A method that `super()` found, bound to the instance: no class that inherits from its own overrides it.
    Super,
    /// Makes a record with the fields that the keywords name: a named tuple.
    Record,
    /// Extracts the items that the arguments name: `operator.itemgetter`.
    Items,
    /// Extracts the attributes that the arguments name: `operator.attrgetter`.
    Attributes,
    /// Runs the function once for equal arguments: `functools.cache`.
    Cached,
    /// One of several functions, chosen by the type of the first argument: `functools.singledispatch`.
    Dispatched,
    /// A `property`, with the function that sets it.
    Property(Option<Value>),
    /// A property that an instance computes once.
    CachedProperty,
    /// A function that is not bound to the instance.
    StaticMethod,
    /// A function that is bound to the class.
    ClassMethod,
    /// The default of a field, computed for each instance: `field(default_factory=f)`.
    FieldFactory,
    /// The default of a field: `field(default=x)`.
    FieldDefault,
}

/// A function with some arguments bound, or with a kind that decides how it is called or looked up.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Partial {
    /// What it does.
    pub kind: PartialKind,
    /// The function.
    pub function: Value,
    /// Bound positional arguments.
    pub positional: Vec<Value>,
    /// Bound keyword arguments.
    pub keywords: Vec<(Name, Value)>,
}

impl Partial {
    /// A function of this kind without arguments.
    pub fn of(kind: PartialKind, function: Value) -> Self {
        Self { kind, function, positional: Vec::new(), keywords: Vec::new() }
    }

    /// The bound arguments.
    pub fn bound(&self) -> impl Iterator<Item = &Value> {
        self.positional.iter().chain(self.keywords.iter().map(|(_, value)| value))
    }
}

/// A name that another module of the program binds by an import; it is resolved on demand.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Import {
    /// The module that imports.
    pub from: ModuleIndex,
    /// Number of leading dots.
    pub level: u32,
    /// The dotted path.
    pub path: Name,
    /// The name taken from it.
    pub name: Name,
    /// Where it is written.
    pub place: Place,
}

/// One alternative, without its guard.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum Val {
    /// A value known only by its term: numbers, constants, inputs, results of unknown calls.
    Term(TermId),
    /// A key.
    Key(Key),
    /// An array of keys.
    Array(Arc<Array>),
    /// The buffer of a key, or the word of it with this index.
    Words(Key, Option<u8>),
    /// A tuple.
    Tuple(Arc<[Value]>),
    /// A slice object: start, stop, step.
    Slice(Arc<[Value]>),
    /// A mutable object.
    Object(ObjectId),
    /// A function.
    Function(Arc<Closure>),
    /// A function with its receiver.
    Method(Arc<(Value, Value)>),
    /// A method of a receiver without visible methods: receiver and name.
    UnknownMethod(Arc<(Value, Name)>),
    /// A class of the program.
    Class(ClassHandle),
    /// A module of the program.
    Module(ModuleIndex),
    /// A name of a library, canonical.
    Library(Name),
    /// An import that is not resolved yet; only the globals of other modules contain these.
    Import(Arc<Import>),
    /// A function under a transform.
    Wrapped(Arc<Wrapped>),
    /// A function with bound arguments.
    Partial(Arc<Partial>),
}

/// An alternative and the paths on which it holds.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Alternative {
    /// On which paths.
    pub guard: Guard,
    /// What.
    pub val: Val,
}

/// A set of guarded alternatives; empty means unbound.
#[derive(Debug, Default, PartialEq, Eq, Hash)]
pub struct Value(SmallVec<[Alternative; 1]>);

impl Clone for Value {
    fn clone(&self) -> Self {
        // Nearly all values have one alternative at most, and values are copied all the time.
        match self.0.as_slice() {
            [] => Self::default(),
            [only] => Self(SmallVec::from_buf([only.clone()])),
            several => Self(several.iter().cloned().collect()),
        }
    }
}

impl Value {
    /// The value that is `val` on every path.
    pub fn of(val: Val) -> Self {
        Self(SmallVec::from_buf([Alternative { guard: Guard::TRUE, val }]))
    }

    /// An array of keys.
    pub fn array(
        kind: KeyKind,
        derivation: DerivationId,
        dims: Option<Arc<[Option<TermId>]>>,
        elements: Elements,
    ) -> Self {
        Self::of(Val::Array(Arc::new(Array { kind, derivation, dims, elements })))
    }

    /// Slots in which nothing is bound yet.
    pub fn places(count: usize) -> Vec<Self> {
        std::iter::repeat_with(Self::default).take(count).collect()
    }

    /// The value that is known only by its term.
    pub fn term(term: TermId) -> Self {
        Self::of(Val::Term(term))
    }

    /// No value: unbound.
    pub fn unbound() -> Self {
        Self::default()
    }

    /// Whether nothing is bound.
    pub fn is_unbound(&self) -> bool {
        self.0.is_empty()
    }

    /// The alternatives.
    pub fn alternatives(&self) -> &[Alternative] {
        &self.0
    }

    /// The one alternative, where there is one and it holds on every path.
    pub fn single(&self) -> Option<&Val> {
        match self.0.as_slice() {
            [only] => Some(&only.val),
            _ => None,
        }
    }

    /// Adds an alternative; `guard` must exclude those of the others.
    pub fn push(&mut self, guards: &mut Guards, guard: Guard, val: Val) {
        if guard.is_false() {
            return;
        }
        match self.0.iter_mut().find(|alternative| alternative.val == val) {
            Some(alternative) => alternative.guard = guards.or(alternative.guard, guard),
            None => self.0.push(Alternative { guard, val }),
        }
    }

    /// The value without some of its alternatives.
    #[must_use]
    pub fn without(&self, is_dropped: impl Fn(&Val) -> bool) -> Self {
        Self(self.0.iter().filter(|alternative| !is_dropped(&alternative.val)).cloned().collect())
    }

    /// The value restricted to the paths of `guard`.
    #[must_use]
    pub fn restricted(&self, guards: &mut Guards, guard: Guard) -> Self {
        if guard.is_true() {
            return self.clone();
        }
        let mut result = Self::default();
        for alternative in &self.0 {
            let both = guards.and(alternative.guard, guard);
            if !both.is_false() {
                result.0.push(Alternative { guard: both, val: alternative.val.clone() });
            }
        }
        result
    }

    /// The alternatives whose guards are kept by a predicate.
    #[must_use]
    pub fn filtered(&self, mut is_kept: impl FnMut(Guard) -> bool) -> Self {
        Self(self.0.iter().filter(|alternative| is_kept(alternative.guard)).cloned().collect())
    }

    /// The value that is `self` on the paths of `guard` and `other` on the rest.
    #[must_use]
    pub fn join(&self, guards: &mut Guards, guard: Guard, other: &Self) -> Self {
        if guard.is_true() || self == other {
            return self.clone();
        }
        let mut result = self.restricted(guards, guard);
        for alternative in &other.0 {
            let rest = guards.without(alternative.guard, guard);
            result.push(guards, rest, alternative.val.clone());
        }
        result
    }

    /// Whether the value exceeds the bound on alternatives.
    pub fn is_too_various(&self) -> bool {
        self.0.len() > ALTERNATIVES
    }
}

impl Terms {
    /// A value that is equal to nothing before it.
    pub fn opaque(&mut self, text: impl Into<Text>, place: Option<Place>) -> Value {
        Value::term(self.fresh(Symbol::Opaque, text, place))
    }

    /// `None`.
    pub fn none(&mut self) -> Value {
        Value::term(self.intern(Term::None))
    }
}
