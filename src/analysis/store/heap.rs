//! Mutable objects and environments.
//!
//! Every execution of a display, constructor or definition creates a new object, so updates are strong; an object's contents are guarded
//! values like any other.
//!
//! **Invariant:** if unknown code may have changed an object, its epoch increases and its previous contents are dropped.

use std::collections::{BTreeMap, BTreeSet};
use std::hash::Hash;
use std::ops::{Index, IndexMut};
use std::sync::Arc;

use rustc_hash::FxHashMap;

use crate::analysis::domain::guard::Guard;
use crate::analysis::domain::term::TermId;
use crate::analysis::domain::value::{ClassHandle, EnvironmentId, ModuleIndex, Value};
use crate::ir::{FunctionId, Name, Temp, Variable};
use crate::models::Yield;

/// A sequence that is cheap to copy: the frozen part is shared, and the rest is shared element by element, until one
/// copy writes to it.
#[derive(Clone, Debug)]
pub struct Shared<T> {
    frozen: Arc<Vec<Arc<T>>>,
    /// Values that replace elements of `frozen`.
    changed: FxHashMap<usize, Arc<T>>,
    own: Vec<Arc<T>>,
    /// The elements that were written since [`Shared::watch`].
    written: Option<BTreeSet<usize>>,
}

impl<T> Default for Shared<T> {
    fn default() -> Self {
        Self { frozen: Arc::default(), changed: FxHashMap::default(), own: Vec::new(), written: None }
    }
}

impl<T> Shared<T> {
    /// Begins to record which elements are written; returns the records that this interrupts.
    pub fn watch(&mut self) -> Option<BTreeSet<usize>> {
        self.written.replace(BTreeSet::new())
    }

    /// Continues records that [`Shared::watch`] interrupted.
    pub fn unwatch(&mut self, interrupted: Option<BTreeSet<usize>>) {
        let since = std::mem::replace(&mut self.written, interrupted);
        if let Some(written) = &mut self.written {
            written.extend(since.into_iter().flatten());
        }
    }

    /// The elements that were written since [`Shared::watch`], in order.
    pub fn written(&self) -> impl Iterator<Item = usize> {
        self.written.iter().flatten().copied()
    }

    /// Adds an element.
    pub fn push(&mut self, element: T) {
        self.own.push(Arc::new(element));
    }

    /// Number of elements.
    #[expect(clippy::len_without_is_empty, reason = "nothing depends on whether it is empty")]
    pub fn len(&self) -> usize {
        self.frozen.len() + self.own.len()
    }

    /// Number of elements that all copies share.
    pub fn frozen(&self) -> usize {
        self.frozen.len()
    }

    /// The elements, in order.
    pub fn iter(&self) -> impl Iterator<Item = &T> {
        (0..self.len()).map(|index| &self[index])
    }

    /// The elements that are not frozen, in order, with their positions.
    pub fn own(&self) -> impl DoubleEndedIterator<Item = (usize, &T)> {
        let first = self.frozen.len();
        self.own.iter().enumerate().map(move |(index, element)| (first + index, &**element))
    }

    /// Freezes the current contents, so that copying them costs nothing. What is left is empty and has no capacity, which a copy would
    /// have too.
    pub fn freeze(&mut self) {
        let mut all = Arc::unwrap_or_clone(std::mem::take(&mut self.frozen));
        for (index, element) in std::mem::take(&mut self.changed) {
            all[index] = element;
        }
        all.append(&mut std::mem::take(&mut self.own));
        all.shrink_to_fit();
        self.frozen = Arc::new(all);
    }
}

impl<T> Index<usize> for Shared<T> {
    type Output = T;

    fn index(&self, index: usize) -> &T {
        match index.checked_sub(self.frozen.len()) {
            Some(own) => &self.own[own],
            None if self.changed.is_empty() => &self.frozen[index],
            None => self.changed.get(&index).unwrap_or_else(|| &self.frozen[index]),
        }
    }
}

impl<T: Clone> IndexMut<usize> for Shared<T> {
    fn index_mut(&mut self, index: usize) -> &mut T {
        if let Some(written) = &mut self.written {
            written.insert(index);
        }
        Arc::make_mut(match index.checked_sub(self.frozen.len()) {
            Some(own) => &mut self.own[own],
            None => self.changed.entry(index).or_insert_with(|| Arc::clone(&self.frozen[index])),
        })
    }
}

/// A map that is cheap to copy: the frozen part is shared, and entries on top of it replace its entries.
#[derive(Clone, Debug)]
pub struct Layered<K, V> {
    frozen: Arc<FxHashMap<K, V>>,
    own: FxHashMap<K, V>,
}

impl<K, V> Default for Layered<K, V> {
    fn default() -> Self {
        Self { frozen: Arc::default(), own: FxHashMap::default() }
    }
}

impl<K: Clone + Eq + Hash, V: Clone> Layered<K, V> {
    /// The value of a key.
    pub fn get(&self, key: &K) -> Option<&V> {
        self.own.get(key).or_else(|| self.frozen.get(key))
    }

    /// Whether there is such a key.
    pub fn contains_key(&self, key: &K) -> bool {
        self.get(key).is_some()
    }

    /// Sets the value of a key.
    pub fn insert(&mut self, key: K, value: V) {
        self.own.insert(key, value);
    }

    /// The value of a key, mutably.
    pub fn get_mut(&mut self, key: &K) -> Option<&mut V> {
        if !self.own.contains_key(key) {
            let shared = self.frozen.get(key)?.clone();
            self.own.insert(key.clone(), shared);
        }
        self.own.get_mut(key)
    }

    /// The value of a key, mutably; inserts a default if there is none.
    pub fn or_default(&mut self, key: K) -> &mut V
    where
        V: Default,
    {
        let Self { frozen, own } = self;
        own.entry(key).or_insert_with_key(|key| frozen.get(key).cloned().unwrap_or_default())
    }

    /// Freezes the current contents, so that copying them costs nothing. What is left is empty and has no capacity, which a copy would
    /// have too.
    pub fn freeze(&mut self) {
        let mut all = Arc::unwrap_or_clone(std::mem::take(&mut self.frozen));
        all.extend(std::mem::take(&mut self.own));
        all.shrink_to_fit();
        self.frozen = Arc::new(all);
    }
}

/// One element of a list, with the paths on which it exists.
#[derive(Clone, Debug, PartialEq)]
pub struct Item {
    /// On which paths.
    pub guard: Guard,
    /// What.
    pub value: Value,
}

/// One entry of a dict, with the paths on which it was written.
#[derive(Clone, Debug, PartialEq)]
pub struct Entry {
    /// The key, by its term.
    pub key: TermId,
    /// The key itself, for iteration.
    pub key_value: Value,
    /// On which paths.
    pub guard: Guard,
    /// What.
    pub value: Value,
}

/// What an iterator yields next.
#[derive(Clone, Debug, PartialEq)]
pub enum Source {
    /// These elements.
    Items(Vec<Item>),
    /// The elements of an opaque value, by its term.
    Opaque(TermId),
    /// The elements of an array of keys (the value), along its first axis.
    Array(Value),
    /// `start, start + step, …` below `stop`.
    Range(TermId, TermId, TermId),
    /// Pairs of a number and an element.
    Enumerate(Value, TermId),
    /// Tuples of the elements of these iterators; ends with the shortest.
    Zip(Vec<Value>),
    /// The results of a function on the elements of these iterators.
    Map(Value, Vec<Value>),
    /// The result of this function at each call, until it raises.
    Calls(Value),
    /// The results of this function for 0, 1, 2, …, until it raises: `__getitem__` of a class without `__iter__`.
    Indexed(Value),
    /// One value for ever (or this many times).
    Repeat(Value),
    /// The elements of these iterators, one after the other.
    Chain(Vec<Value>),
    /// These elements for ever.
    Cycle(Vec<Item>),
    /// A generator that has not begun: its frame.
    Generator(Box<Suspended>),
    /// Fresh keys for ever.
    Stream(Yield),
}

/// The class of the instances that a container from outside holds.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ElementClass {
    /// Of the program.
    Program(ClassHandle),
    /// Of a library: a layer that is called with a key.
    Library(Name),
}

/// Which parts of a container from outside are instances of a known class.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum InstancePositions {
    /// Its elements.
    Elements,
    /// The values of a mapping.
    Values,
    /// The second parts of its elements, which are pairs.
    Pairs,
}

/// A generator's frame before its first step.
#[derive(Clone, Debug, PartialEq)]
pub struct Suspended {
    /// The module.
    pub module: ModuleIndex,
    /// The function.
    pub function: FunctionId,
    /// Its environment, arguments bound.
    pub environment: EnvironmentId,
    /// The class that defines it.
    pub class: Option<ClassHandle>,
}

/// The symbol of an object that Python's own `dict` made, rather than a class that resembles it.
pub const DICT: &str = "<dict>";

/// Kinds of objects.
#[derive(Clone, Debug, PartialEq)]
pub enum ObjectKind {
    /// A list (or deque); `unknown` if there may be elements that are not listed.
    List {
        /// The elements.
        items: Vec<Item>,
        /// Whether there may be others.
        unknown: bool,
    },
    /// A dict.
    Dict {
        /// The entries, in order of insertion.
        entries: Vec<Entry>,
        /// Whether there may be others.
        unknown: bool,
    },
    /// A set: holds values that cannot be read by index.
    Set(Vec<Item>),
    /// An instance of a class, or anything with attributes.
    Instance,
    /// An iterator at a position; `None` where the position is not known.
    Iterator(Source, Option<u32>),
    /// A source of fresh keys of a library, by the canonical path of its class.
    Stream(Name),
}

impl ObjectKind {
    /// The elements of a list or the values of a dict, each with the paths on which it is there.
    pub fn held(&self) -> impl Iterator<Item = (Guard, &Value)> {
        let (items, entries): (&[Item], &[Entry]) = match self {
            Self::List { items, .. } => (items, &[]),
            Self::Dict { entries, .. } => (&[], entries),
            Self::Set(_) | Self::Instance | Self::Iterator(..) | Self::Stream(_) => (&[], &[]),
        };
        let items = items.iter().map(|item| (item.guard, &item.value));
        items.chain(entries.iter().map(|entry| (entry.guard, &entry.value)))
    }
}

/// A mutable object.
#[derive(Clone, Debug, PartialEq)]
pub struct Object {
    /// What kind.
    pub kind: ObjectKind,
    /// Attributes written by visible code.
    pub attributes: BTreeMap<Name, Value>,
    /// Its class, where that is part of the program.
    pub class: Option<ClassHandle>,
    /// The term of the object as a function of its contents.
    pub symbol: TermId,
    /// The term of the object as a whole, where `symbol` is that of the object it was copied from: attributes that were not replaced are
    /// equal, items and length may differ.
    pub copied: Option<TermId>,
    /// How many elements it has beside those listed, if a loop may have added any.
    pub further: Value,
    /// The attributes that are also its items, in order, if its class does not list them.
    pub items: Option<Arc<[Name]>>,
    /// How often unknown code may have changed its contents.
    pub epoch: u32,
    /// How often it may have changed the keys in it.
    pub key_epoch: u32,
    /// Attributes that it had before: what it holds in them is unknown unless it is stored anew, and never the default of
    /// its class.
    pub changed: BTreeSet<Name>,
    /// The attributes named like keys that were read when nothing was stored in them, with what they held.
    pub read: BTreeMap<Name, TermId>,
    /// Whether attributes that were not written by visible code may exist.
    pub open: bool,
    /// The paths on which it was made: it exists on no other.
    pub made: Guard,
}

/// The variables of one activation.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Environment {
    /// By slot.
    pub slots: Vec<Value>,
    /// The environment of the enclosing activation.
    pub parent: Option<EnvironmentId>,
    /// What the call passed that is written as a name.
    pub given: Option<Arc<[WrittenArgument]>>,
    /// The arguments that are objects, by slot: the parameters may be bound to others since.
    pub passed: Vec<(u32, Value)>,
    /// Variables that only a loop has bound, with the paths on which it has not.
    pub unbound: Vec<(Variable, Guard)>,
}

/// An argument of a call, as written.
#[derive(Clone, Debug, PartialEq)]
pub struct WrittenArgument {
    /// The parameter that took it.
    pub slot: u32,
    /// As written: a name, an attribute chain, or a subscript of one.
    pub written: Name,
    /// Its value.
    pub value: Value,
}

/// A module of the program, as far as this analysis has run it.
#[derive(Clone, Debug, Default)]
pub struct ModuleState {
    /// What its global names hold.
    pub globals: Arc<BTreeMap<Name, Value>>,
    /// Whether its body is running: an import cycle sees what is bound so far.
    pub running: bool,
}

/// Whether JAX flattens instances of a class.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub enum Registration {
    /// Nothing that has run registers it.
    #[default]
    None,
    /// It is registered, or may be.
    Own,
    /// The same holds for all its subclasses.
    Family,
}

/// A class of the program, as its statement made it.
#[derive(Clone, Debug, PartialEq)]
pub struct ClassInfo {
    /// The module.
    pub module: ModuleIndex,
    /// The class statement.
    pub class: crate::ir::ClassId,
    /// Its bases.
    pub bases: Vec<Value>,
    /// The class and its bases, as far as they are part of the program, in method resolution order.
    pub lineage: Arc<[ClassHandle]>,
    /// What its body bound.
    pub attributes: BTreeMap<Name, Value>,
    /// Whether instances store the arguments of the constructor, field by field.
    pub record: bool,
    /// Whether instances cannot be changed after construction.
    pub frozen: bool,
    /// Whether an instance is the tuple of its fields as well.
    pub sequence: bool,
    /// What is known of its bases.
    pub inherits: Inheritance,
    /// Whether its instances are pytrees, as far as that is known.
    pub pytree: Registration,
    /// Slot names of the body, to look up what it bound.
    pub identity: Temp,
}

/// What is known of the bases of a class.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Inheritance {
    /// They are classes of the program, `object`, or base classes of records.
    Known,
    /// Some only say what the class is: `Generic[T]`, `ABC`.
    Abstract,
    /// Others are among them, which may define any method.
    Unknown,
}

impl ClassInfo {
    /// Whether instances are pytrees, or may be, according to what has run.
    pub fn is_pytree(&self) -> bool {
        self.pytree > Registration::None
    }
}
