//! Facts about functions that a transform traces, and what happens to keys in them, as plain data that rules read.
//!
//! **Invariant:** like all facts, they are free of the interpreter's handles.

use crate::analysis::domain::kinds::TraceCache;
use crate::finding::{Confidence, Place};
use crate::judge::facts::Use;

/// How a transform runs its functions.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum TraceKind {
    /// Python runs the body once, and each call repeats what was recorded: `jit`.
    Recorded,
    /// The same, and one call repeats it many times: `scan`.
    Looped,
    /// The same for one of several bodies: `cond`.
    Branch,
    /// The same, but for shapes only.
    Abstract,
    /// Python runs the body once, for all lanes.
    Mapped,
    /// The method of a module that each forward pass calls. Usually a transform traces it, in code that does not name it.
    Forward,
}

/// A function that is passed to a transform.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct TracedFunction {
    /// Its definition.
    pub defined_at: Place,
    /// Qualified name of the transform.
    pub transform: String,
    /// The call of the transform.
    pub at: Place,
    /// Number of leading parameters that are the caller's own objects.
    pub bound: u32,
    /// What the transform does.
    pub kind: TraceKind,
    /// Which calls of the function share a trace.
    pub cache: TraceCache,
    /// The function in which the transform is called.
    pub made_in: Place,
}

/// A function in which something happened.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct TraceStep {
    /// Its definition.
    pub defined_at: Place,
    /// The place in it: of the event itself, or of the call that leads to it.
    pub place: Place,
    /// Its qualified name.
    pub function: String,
    /// The number of leading parameters that must be the caller's own objects for this to matter; `None` where it never does.
    pub bound: Option<u32>,
    /// The last parameter that the key is computed from, counted from zero.
    pub source: Option<u32>,
    /// Whether the key is not made in it: it is a tracer only if a traced argument holds it.
    pub is_given: bool,
    /// Number of parameters. Where all of them are the caller's own objects or static, each trace runs once.
    pub parameters: u32,
    /// Whether its name says that it makes a part of the program's state: as a rule it is called once.
    pub makes_state: bool,
}

/// The trace in which something happened.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Trace {
    /// The place in the traced function.
    pub place: Place,
    /// Qualified name of the traced function.
    pub function: String,
    /// Qualified name of the transform.
    pub transform: String,
    /// The call of the transform.
    pub at: Place,
    /// What the transform does.
    pub kind: TraceKind,
    /// Whether the key is computed from an argument of the trace, and so differs between calls.
    pub depends_on_argument: bool,
}

/// Where a key is left.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum LeakKind {
    /// A global variable.
    Global,
    /// A variable of an enclosing function.
    Variable,
    /// An attribute, or an element of a container.
    Part,
    /// An iterator or a stream, which advances to its next key.
    Iterator,
}

/// A key that a traced function stores in something that is older than its trace.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LeakedKey {
    /// Where it is stored.
    pub kind: LeakKind,
    /// The target, or the iterator, as written; empty where it has no name.
    pub name: String,
    /// Where it is written.
    pub leaf: Place,
    /// The functions in which it is written, innermost first.
    pub steps: Vec<TraceStep>,
    /// The trace; set by [`reconcile`](crate::judge::reconcile()).
    pub trace: Option<Trace>,
    /// How certain.
    pub confidence: Confidence,
}

/// A key that a function makes from a constant seed and draws from.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ConstantKey {
    /// The constructor call.
    pub made_at: Place,
    /// Its qualified name.
    pub maker: String,
    /// The consumption of the key.
    pub used: Use,
    /// The functions in which it is made, innermost first.
    pub steps: Vec<TraceStep>,
    /// The trace; set by [`reconcile`](crate::judge::reconcile()).
    pub trace: Option<Trace>,
    /// Whether it draws noise for an array, and nothing else may give the key.
    pub is_noise: bool,
    /// How certain.
    pub confidence: Confidence,
}

/// A key that a function reads from outside, and that is another one in a later call: a trace keeps the first.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FrozenKey {
    /// The variable, or the attribute.
    pub name: String,
    /// Where it is read.
    pub read_at: Place,
    /// The consumption of the key.
    pub used: Use,
    /// A call of the function.
    pub before: Place,
    /// A later call, which reads another key.
    pub again: Place,
    /// Where that key is made.
    pub made_at: Option<Place>,
    /// The functions in which it is read, innermost first.
    pub steps: Vec<TraceStep>,
    /// The functions that lead to the two calls.
    pub callers: Vec<Place>,
    /// The trace; set by [`reconcile`](crate::judge::reconcile()).
    pub trace: Option<Trace>,
}

impl FrozenKey {
    /// Whether both calls share a trace, if the function is passed to transforms in these ways. If one of the callers transforms what
    /// it made from the function, it may do so for each call.
    pub fn shares_a_trace(&self, ways: &[TracedFunction]) -> bool {
        let is_made_again =
            |way: &TracedFunction| way.cache < TraceCache::Function && self.callers.contains(&way.made_in);
        ways.iter().any(|way| way.cache > TraceCache::None) && !ways.iter().any(is_made_again)
    }
}

/// A random number that Python draws.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct HostDraw {
    /// Qualified name of the function that draws.
    pub source: String,
    /// Where.
    pub leaf: Place,
    /// The function that leads to the draw.
    pub steps: Vec<TraceStep>,
    /// The trace; set by [`reconcile`](crate::judge::reconcile()).
    pub trace: Option<Trace>,
    /// How certain.
    pub confidence: Confidence,
}
