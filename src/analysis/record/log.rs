//! The log of one run: what was consumed, where, on which paths, in execution order, and the other facts that the judge
//! needs.
//!
//! **Invariant:** the log only grows during a run; an index is an identity. It describes what happened, without judging it.

use std::ops::Range;
use std::rc::Rc;
use std::sync::Arc;

use rustc_hash::{FxHashMap, FxHashSet};

use crate::analysis::domain::extent::{Extent, must_overlap};
use crate::analysis::domain::guard::Guard;
use crate::analysis::domain::implementation::Implementation;
use crate::analysis::domain::kinds::{
    BufferOp, CarryKind, ImplementationConflict, KeyKind, ReferenceKind, Role, TraceCache, WrapperWay,
};
use crate::analysis::domain::term::{Term, TermId, Terms};
use crate::analysis::domain::value::{ClassHandle, DerivationId, EnvironmentId, Key, ModuleIndex, ObjectId, Value};
use crate::finding::Place;
use crate::ir::{FunctionId, Name};

/// Everything that one run recorded.
#[derive(Clone, Debug, Default)]
pub struct Log {
    /// What was consumed, in execution order.
    pub consumptions: Vec<Consumption>,
    /// The consumptions of each family, in execution order.
    pub by_family: FxHashMap<TermId, Vec<usize>>,
    /// The operations that made keys. Derivation number *n* is element *n* - 1.
    pub derivations: Vec<Derivation>,
    /// Keys that all lanes of a mapped function share.
    pub broadcasts: Vec<LoggedBroadcast>,
    /// Uses of keys' buffers.
    pub buffers: Vec<LoggedBuffer>,
    /// Names of libraries.
    pub references: Vec<LoggedReference>,
    /// Values that leave the function.
    pub exits: Vec<LoggedExit>,
    /// Keys stored in attributes.
    pub stores: Vec<LoggedStore>,
    /// Keys written to an object that other functions can read.
    pub writes: Vec<LoggedWrite>,
    /// Keys of different implementations that are combined.
    pub conflicts: Vec<LoggedConflict>,
    /// Functions that were passed to a transform that traces them.
    pub traces: Vec<LoggedTrace>,
    /// Objects with `__jax_array__` around a key that were passed to library functions that do not convert them.
    pub wrappers: Vec<LoggedWrapper>,
    /// Keys that functions read from what is older than they are.
    pub reads: Vec<LoggedRead>,
    /// Globals that functions write.
    pub global_stores: FxHashSet<Name>,
    /// Where attributes and globals were read first, by term.
    pub origins: FxHashMap<TermId, Place>,
    /// Terms that a sink of the library used as a scalar key.
    pub scalar_keys: FxHashSet<TermId>,
    /// Terms from which the key of a library function was computed, and the paths: `key` in `normal(key + i)`.
    pub computed_from: Vec<(TermId, Guard)>,
    /// What calls reached, by place.
    pub callees: FxHashMap<Place, Vec<Callee>>,
    /// Calls that choose between arrays, with the function called: `jnp.where(test, x, y)`.
    pub choices: FxHashMap<Place, Name>,
    /// Calls that draw nothing because of how their callee was made, with the positions of the arguments that are keys.
    pub undrawn: FxHashMap<Place, Vec<usize>>,
    /// Calls that go through the leaves of a tree, with the functions of the program that they run on them.
    pub trees: FxHashMap<Place, FxHashSet<(ModuleIndex, FunctionId)>>,
    /// Streams, and which of them may give keys.
    pub streams: Streams,
    /// Which children of splits escape.
    pub children: Children,
    /// `for` loops in which something was consumed.
    pub loops: Vec<LoggedLoop>,
    /// The conditions that `if` statements test.
    pub tested: FxHashSet<TermId>,
    /// The arrays whose rows draws reorder or select, by consumption.
    pub row_selections: FxHashMap<usize, RowSelection>,
    /// Terms that an annotation declares to be keys.
    pub declared: FxHashSet<TermId>,
    /// Keys in data that are read after unknown code has got the data.
    pub kept: FxHashSet<TermId>,
    /// Parameters that an annotation declares to be something else.
    pub otherwise: FxHashSet<TermId>,
    /// Parameters that have no default and whose annotation does not admit `None`.
    pub given: FxHashSet<TermId>,
    /// The values of the entry's parameters.
    pub entered: Option<Vec<Value>>,
    /// Expressions that were keys, if hovers need them.
    pub observed: FxHashSet<Observed>,
    /// Expressions that were containers, objects or arrays of keys when they were run.
    pub not_single: FxHashSet<Place>,
    /// Attributes and items of objects that functions of the program compute, with the attribute's name; `None` for an item.
    pub computed_reads: FxHashSet<(Place, Option<Name>)>,
    /// The functions of the analysed module that were run.
    pub ran: FxHashSet<FunctionId>,
}

/// A `for` loop without `else` that may run no iteration.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LoggedLoop {
    /// What was consumed in it.
    pub events: Range<usize>,
    /// The paths on which it began.
    pub begun: Guard,
    /// Those of them on which it ran no iteration.
    pub empty: Guard,
}

/// What a call reached.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Callee {
    /// A function of the program, with the number of arguments before those that the call writes; `None` if the
    /// arguments are not those of the call.
    Function(ModuleIndex, FunctionId, Option<usize>),
    /// A function of a library.
    Library(Name),
    /// A method of a value of no class in the program.
    Method(Name),
    /// A class of the program.
    Class(ClassHandle),
    /// Something that nothing resolves.
    Unknown,
}

/// How a closure left the function that made it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Escape {
    /// Passed to unknown code, or not used at all.
    Passed,
    /// Returned or stored.
    Stored,
    /// Returned or stored under a transform.
    Transformed,
}

/// The streams that a run made.
#[derive(Clone, Debug, Default)]
pub struct Streams {
    /// By the event of their creation.
    pub made: FxHashMap<usize, ObjectId>,
    /// Those that may have given a key.
    pub used: FxHashSet<ObjectId>,
}

/// Which children of splits escape.
#[derive(Clone, Debug, Default)]
pub struct Children {
    /// Splits of which a child was passed to a visible function.
    pub given: FxHashSet<DerivationId>,
    /// Splits of which a child has escaped.
    pub taken: FxHashSet<DerivationId>,
    /// Keys of which a child of unknown split has escaped.
    pub parents: FxHashSet<TermId>,
}

/// What a draw reorders, or selects rows from.
#[derive(Clone, Debug)]
pub struct RowSelection {
    /// The array.
    pub rows: TermId,
    /// The arguments other than key and array, by parameter.
    pub others: Box<[Option<TermId>]>,
    /// Whether it takes each row once.
    pub is_whole: bool,
}

/// One activation of a function, linked to the one that called it.
#[derive(Debug)]
pub struct Activation {
    /// Its number.
    pub id: u32,
    /// The activation that called it, and the place of the call.
    pub caller: Option<(Arc<Activation>, Place)>,
    /// The module.
    pub module: ModuleIndex,
    /// The function.
    pub function: FunctionId,
    /// Number of activations below it.
    pub depth: u32,
    /// Its variables.
    pub environment: EnvironmentId,
    /// Whether facts are reported for it: it is the root, or a closure that is run on its own.
    pub root: bool,
    /// The first term that was made in it: older ones came from outside.
    pub born: TermId,
}

/// An iteration of a loop in which an event happened.
#[derive(Clone, Debug)]
pub struct Iteration {
    /// The execution of the loop.
    pub instance: u32,
    /// Which copy.
    pub copy: u32,
    /// The loop's head or the transform's call.
    pub place: Place,
    /// Of the copy for the last iteration, the paths on which it began.
    pub last: Option<Guard>,
    /// The enclosing iteration.
    pub outer: Option<Rc<Iteration>>,
}

/// The target of a consumption.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Target {
    /// The family, or the key itself.
    pub family: TermId,
    /// Which keys of it.
    pub extent: Extent,
    /// The key (or a term that stands for the keys).
    pub term: TermId,
    /// Whether the key was made by `fold_in`, and so is a member of the family only under JAX's default implementation.
    pub folded: bool,
    /// Which execution derived the key.
    pub derivation: DerivationId,
}

impl Target {
    /// Whether it is a key, or all keys of an array, or certainly has a key among its children.
    pub fn covers(&self, terms: &Terms, term: TermId) -> bool {
        let is_among = || match (terms.get(term), terms.get(self.family)) {
            (Term::Child(parent, index), Term::Children(of)) => {
                parent == of && !self.folded && must_overlap(terms, self.extent, Extent::Index(*index))
            }
            _ => false,
        };
        self.term == term || self.family == term && self.extent.is_whole(terms) || is_among()
    }
}

/// One consumption (or `fold_in`, which derives).
#[derive(Clone, Debug)]
pub struct Consumption {
    /// What was consumed.
    pub target: Target,
    /// On which paths.
    pub guard: Guard,
    /// How.
    pub role: Role,
    /// By what.
    pub callee: Name,
    /// The argument as written.
    pub written: Option<Name>,
    /// Where.
    pub place: Place,
    /// In which activation.
    pub activation: Arc<Activation>,
    /// In which iterations.
    pub iteration: Option<Rc<Iteration>>,
    /// Number of mapped functions around it.
    pub lanes: u32,
    /// Where the callee draws, if it is a method of a module.
    pub drawn_in: DrawnIn,
}

/// Where a call of a library that folds paths into keys draws.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum DrawnIn {
    /// It is not known.
    #[default]
    Unknown,
    /// In these submodules: the first parts of their paths, without numbers.
    Submodules(Arc<[Name]>),
    /// In submodules that are not known, through this method of the receiver, which the call names.
    Method(Name),
    /// In what the call drops: nothing that is drawn is in its result.
    Nothing,
}

/// What made a key.
#[derive(Clone, Debug)]
pub struct Derivation {
    /// The call.
    pub place: Place,
    /// In which activation.
    pub activation: Arc<Activation>,
    /// The maker's qualified name.
    pub callee: Name,
    /// The derived key, or the family.
    pub term: TermId,
    /// The number of children, for `split`.
    pub number: Option<TermId>,
    /// Whether equality of its term with others rests on a default (`x64` off).
    pub by_default: bool,
}

/// The activations in which an event happened, outermost first, each with the place in it.
pub type Chain = Vec<(Arc<Activation>, Place)>;

impl Consumption {
    /// The activations that it happened in, outermost first.
    pub fn chain(&self) -> Chain {
        let mut chain = vec![(self.activation.clone(), self.place)];
        let mut current = self.activation.clone();
        while let Some((caller, place)) = &current.caller {
            chain.push((caller.clone(), *place));
            current = caller.clone();
        }
        chain.reverse();
        chain
    }

    /// The iterations that it happened in, innermost first.
    pub fn iterations(&self) -> Vec<Rc<Iteration>> {
        std::iter::successors(self.iteration.clone(), |iteration| iteration.outer.clone()).collect()
    }
}

impl Activation {
    /// This activation and those that led to it, innermost first.
    pub fn outwards(&self) -> impl Iterator<Item = &Self> {
        std::iter::successors(Some(self), |inner| inner.caller.as_ref().map(|(caller, _)| &**caller))
    }

    /// The number of the outermost activation that led to this one.
    pub fn outermost(&self) -> u32 {
        self.outwards().last().map_or(self.id, |outermost| outermost.id)
    }
}

/// Which lanes draw from one key.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SharingLanes {
    /// All elements of a batch.
    Elements,
    /// The elements of a batch that a condition selects.
    Selected,
    /// Devices that see blocks of the arguments.
    Devices,
}

/// A key drawn from by all lanes.
#[derive(Clone, Debug)]
pub struct LoggedBroadcast {
    /// The consumption.
    pub event: usize,
    /// The call that maps.
    pub mapped_at: Place,
    /// The activation that maps.
    pub activation: Arc<Activation>,
    /// Whether the key was passed to every lane (and not captured).
    pub unmapped: bool,
    /// The derivation of the copies, if every lane was passed one.
    pub copied: Option<DerivationId>,
    /// Whether each of several keys was copied, and only some lanes share one.
    pub repeated: bool,
    /// What the lanes are.
    pub lanes: SharingLanes,
    /// What differs between the lanes.
    pub symbols: Vec<TermId>,
    /// Values that are unknown from here on may belong to one lane.
    pub born: TermId,
}

/// A use of a key's buffer.
#[derive(Clone, Debug)]
pub struct LoggedBuffer {
    /// What is done.
    pub op: BufferOp,
    /// To which key.
    pub key: Key,
    /// Where.
    pub place: Place,
    /// As written.
    pub text: String,
    /// Whether JAX raises.
    pub raises: bool,
    /// On which paths.
    pub guard: Guard,
    /// In which activation.
    pub activation: Arc<Activation>,
    /// Whether it is a misuse only if the term turns out to be one key.
    pub if_scalar: bool,
}

/// Keys that were made with different implementations, or words and the implementation that they are wrapped for.
#[derive(Clone, Debug)]
pub struct LoggedConflict {
    /// Where they meet.
    pub kind: ImplementationConflict,
    /// The call.
    pub place: Place,
    /// The keys: one if it meets an implementation, none if words meet that belong to no key.
    pub keys: [Option<Key>; 2],
    /// The implementations; none of words that are no key's.
    pub implementations: [Option<Implementation>; 2],
    /// The number of such words.
    pub width: Option<u32>,
    /// On which paths.
    pub guard: Guard,
    /// In which activation.
    pub activation: Arc<Activation>,
}

/// A value that leaves the function.
#[derive(Clone, Debug)]
pub struct LoggedExit {
    /// How.
    pub kind: CarryKind,
    /// Where.
    pub place: Place,
    /// The key.
    pub term: TermId,
    /// On which paths.
    pub guard: Guard,
    /// The variable or attribute; the field of a record that is returned.
    pub name: Option<Name>,
    /// From which activation.
    pub activation: Arc<Activation>,
    /// Number of events before it.
    pub after: usize,
}

/// One occurrence of a name of a library.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct LoggedReference {
    /// Where.
    pub place: Place,
    /// The path under its canonical root.
    pub path: Name,
    /// As written, where that is one name or a chain in an annotation.
    pub written: Option<Name>,
    /// How it is used.
    pub kind: ReferenceKind,
    /// Qualified name of the function.
    pub function: Name,
}

/// A key stored in an attribute of an instance.
#[derive(Clone, Debug)]
pub struct LoggedStore {
    /// The class.
    pub class: ClassHandle,
    /// The attribute.
    pub name: Name,
    /// Where.
    pub place: Place,
    /// Name of the function that stores.
    pub function: Name,
}

/// A key that is written to an object that other functions can read, or taken from an iterator.
#[derive(Clone, Debug)]
pub struct LoggedWrite {
    /// What holds it from then on.
    pub holder: Holder,
    /// The target, or the iterator, as written.
    pub name: Name,
    /// The key.
    pub term: TermId,
    /// Where.
    pub place: Place,
    /// On which paths.
    pub guard: Guard,
    /// In which activation.
    pub activation: Arc<Activation>,
}

/// A key that a function reads from a global, a variable of an enclosing function, or an object.
#[derive(Clone, Debug)]
pub struct LoggedRead {
    /// What holds it.
    pub holder: Holder,
    /// The variable, or the attribute as written.
    pub name: Name,
    /// The key.
    pub key: Key,
    /// Where.
    pub place: Place,
    /// On which paths.
    pub guard: Guard,
    /// In which activation.
    pub activation: Arc<Activation>,
}

/// What a write changes, or a read reads.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Holder {
    /// A global variable.
    Global,
    /// A variable of an enclosing function.
    Variable(EnvironmentId),
    /// An attribute of a class.
    Class,
    /// An attribute or element of an object, by its term.
    Object(TermId),
    /// The position of an iterator, or the state of a stream, by its term.
    Iterator(TermId),
}

/// A function passed to a transform that traces it.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct LoggedTrace {
    /// The module of the function.
    pub module: ModuleIndex,
    /// The function.
    pub function: FunctionId,
    /// Qualified name of the transform.
    pub transform: Name,
    /// The call of the transform.
    pub place: Place,
    /// Number of leading parameters that are the caller's own objects: the receiver of a bound method, bound and static arguments.
    pub bound: u32,
    /// Which calls of the function share a trace.
    pub cache: TraceCache,
    /// The function in which the transform is called.
    pub made_in: (ModuleIndex, FunctionId),
}

/// An object with `__jax_array__` around a key that was passed to a library function.
#[derive(Clone, Debug)]
pub struct LoggedWrapper {
    /// How it came there.
    pub way: WrapperWay,
    /// Its class.
    pub class: ClassHandle,
    /// Qualified name of the library function.
    pub callee: Name,
    /// Where that is called.
    pub place: Place,
    /// The argument, where it is a name or an attribute chain.
    pub written: Option<Name>,
    /// On which paths.
    pub guard: Guard,
    /// In which activation.
    pub activation: Arc<Activation>,
}

/// An expression that was a key when it was run.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Observed {
    /// Its place.
    pub place: Place,
    /// Whether it ran for a caller, with the caller's arguments.
    pub is_called: bool,
    /// The key, or the family.
    pub term: TermId,
    /// Which execution derived it.
    pub derivation: DerivationId,
    /// Typed or raw.
    pub kind: KeyKind,
    /// Whether it is an array of keys.
    pub is_array: bool,
    /// Whether only its consumption shows that it is a key.
    pub is_guess: bool,
    /// The function.
    pub function: FunctionId,
    /// Its module.
    pub module: ModuleIndex,
    /// The function around it that was run on its own and ran it, as it runs the body of a `scan`.
    pub run_by: Option<FunctionId>,
}
