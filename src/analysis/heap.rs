//! Mutable objects and environments.
//!
//! Every execution of a display, constructor or definition makes an object of its own, so that updates are strong; what an object
//! holds is a guarded value like any other.
//!
//! **Invariant:** an object whose contents may have changed out of sight has a higher epoch, and what it held before is gone.

use std::collections::BTreeMap;
use std::ops::{Index, IndexMut};
use std::rc::Rc;

use crate::ir::{Name, Temp};
use crate::models::Yield;

use super::domain::guard::Guard;
use super::domain::term::TermId;
use super::domain::value::{ClassHandle, EnvironmentId, ModuleIndex, Value};
use crate::ir::FunctionId;

/// A sequence that is cheap to copy: elements are shared until one copy writes to them.
#[derive(Clone, Debug)]
pub struct Shared<T>(Vec<Rc<T>>);

impl<T> Default for Shared<T> {
    fn default() -> Self {
        Self(Vec::new())
    }
}

impl<T> Shared<T> {
    /// Adds an element.
    pub fn push(&mut self, element: T) {
        self.0.push(Rc::new(element));
    }

    /// Number of elements.
    pub fn len(&self) -> usize {
        self.0.len()
    }

    /// The elements, in order.
    pub fn iter(&self) -> impl DoubleEndedIterator<Item = &T> + ExactSizeIterator {
        self.0.iter().map(|element| &**element)
    }
}

impl<T> Index<usize> for Shared<T> {
    type Output = T;

    fn index(&self, index: usize) -> &T {
        &self.0[index]
    }
}

impl<T: Clone> IndexMut<usize> for Shared<T> {
    fn index_mut(&mut self, index: usize) -> &mut T {
        Rc::make_mut(&mut self.0[index])
    }
}

/// One element of a list, with the paths on which it is there.
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
    /// The elements of something opaque, by its term.
    Opaque(TermId),
    /// The elements of an array of keys (held by the value), along its first axis.
    Array(Value),
    /// `start, start + step, …` below `stop`.
    Range(TermId, TermId, TermId),
    /// Pairs of a number and an element.
    Enumerate(Value, TermId),
    /// Tuples of the elements of these iterators; ends with the shortest.
    Zip(Vec<Value>),
    /// The results of a function on the elements of these iterators.
    Map(Value, Vec<Value>),
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

/// Kinds of objects.
#[derive(Clone, Debug, PartialEq)]
pub enum Kind {
    /// A list (or deque); `unknown` where elements may be there that are not listed.
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
    /// A set: holds values, gives none back by index.
    Set(Vec<Item>),
    /// An instance of a class, or anything with attributes.
    Instance,
    /// An iterator at a position; `None` where the position is not known.
    Iterator(Source, Option<u32>),
    /// A source of fresh keys of a library, by the canonical path of its class.
    Stream(Name),
}

/// A mutable object.
#[derive(Clone, Debug, PartialEq)]
pub struct Object {
    /// What kind.
    pub kind: Kind,
    /// Attributes written in sight.
    pub attributes: BTreeMap<Name, Value>,
    /// Its class, where that is part of the program.
    pub class: Option<ClassHandle>,
    /// The term that stands for it in terms of what it holds.
    pub symbol: TermId,
    /// Number of times that its contents may have changed out of sight.
    pub epoch: u32,
    /// Whether attributes that were not written in sight may exist.
    pub open: bool,
}

/// The variables of one activation.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Environment {
    /// By slot.
    pub slots: Vec<Value>,
    /// The environment of the enclosing activation.
    pub parent: Option<EnvironmentId>,
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
    /// What its body bound.
    pub attributes: BTreeMap<Name, Value>,
    /// Whether instances hold what the constructor is given, field by field.
    pub record: bool,
    /// Whether instances cannot be changed after construction.
    pub frozen: bool,
    /// Slot names of the body, to find what it bound.
    pub identity: Temp,
}
