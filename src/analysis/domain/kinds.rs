//! The vocabulary of the recording: how a key is consumed, what is done to its buffer, how it leaves a function.
//!
//! **Invariant:** each enumeration is closed and describes what happened, without judging it.

/// What a consumption does with the key.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Role {
    /// A sampler draws from it.
    Sample,
    /// `split` derives an array of children.
    Split,
    /// `fold_in` derives one key (a derivation, not a consumption).
    Fold,
    /// A library function that is modelled as consuming its key (flax `init`, a distribution's `sample`).
    Library,
    /// A method that consumes its key according to a protocol.
    Protocol,
    /// A call that nothing resolves.
    Unresolved,
}

impl Role {
    /// What becomes of the key, as a past participle.
    pub fn participle(self) -> &'static str {
        match self {
            Self::Sample | Self::Library | Self::Protocol => "consumed",
            Self::Split => "split",
            Self::Fold => "folded",
            Self::Unresolved => "possibly consumed",
        }
    }
}

/// Whether a key is typed (`jax.random.key`) or raw (`PRNGKey`).
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum KeyKind {
    /// A typed key: dtype `key<…>`, no buffer axis.
    Typed,
    /// A raw key: `uint32` words on the last axis.
    Raw,
    /// Not known.
    Unknown,
}

/// Where keys of two implementations come together.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum ImplementationConflict {
    /// In one array.
    Joined,
    /// In the carry of a loop: what goes in and what comes out.
    Carried,
    /// As the results of the branches of a call.
    Branches,
    /// The words of a key are wrapped as one of another implementation.
    Wrapped,
    /// Words that do not belong to a key are wrapped.
    Width,
    /// A raw key is used as one of the default implementation.
    Taken,
}

/// What is done to a key's buffer.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum BufferOp {
    /// An index reaches the words (`key[0]`, `keys[i, 0]`).
    Index,
    /// Unpacking or iterating reaches the words (`a, b = key`).
    Unpack,
    /// Keys are unpacked into another number of names (`a, b = split(key, 3)`).
    Miscount,
    /// An operator (`key + 1`, `key ^ other`).
    Arithmetic,
    /// A ufunc, reduction, sort or other number-like library call.
    Numeric,
    /// A transform maps over the buffer axis (`in_axes=1`).
    MapAxis,
    /// A transpose, swap, roll or flip that moves the buffer axis.
    Transpose,
    /// A reshape or flatten that mixes the buffer axis.
    Reshape,
    /// Logic on `.shape`, `.ndim`, `.size` or `len`.
    ShapeLogic,
    /// `keys.reshape(n, -1)` of raw keys, which keeps the words of each key together.
    RawShape,
    /// Logic on `.dtype`, or `astype`/`view`.
    DtypeLogic,
    /// Edited key data wrapped again.
    Rewrap,
    /// `zeros_like` and similar functions that fabricate a key.
    Fabricate,
    /// A new key seeded with words of another key's buffer (`PRNGKey(key[1])`).
    Reseed,
    /// `int`, `float`, `hash`, `bool`, `np.asarray` of a key.
    Number,
    /// A test of a key's truth (`if key`, `not key`, `key or default`).
    Truth,
    /// A search in a dict or a set, which hashes the key (`key in cache`).
    Search,
}

impl BufferOp {
    /// Whether it raises for raw keys as well as for typed ones, so that the words of a key do not help.
    pub fn always_raises(self) -> bool {
        matches!(self, Self::Truth | Self::Search | Self::Miscount)
    }
}

/// How a consumed key leaves a function.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum CarryKind {
    /// Returned to the caller.
    Returned,
    /// Returned to the caller in the state that it passed.
    Held,
    /// Returned to the caller in a copy of the state that it passed.
    Copied,
    /// Stored in an attribute, container or global.
    Stored,
    /// Returned to the caller, and kept in the attribute from which the next call derives.
    Kept,
    /// Consumed by a constructor, and left in the attribute that methods derive from.
    Left,
}

/// How a library name is referred to.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum ReferenceKind {
    /// `from jax.random import KeyArray`, `import jax.prng`.
    Import,
    /// A name or attribute chain in an expression.
    Value,
    /// The callee of a call.
    Call,
    /// Within an annotation.
    Annotation,
}

/// How an object with `__jax_array__` around a key reached a library function.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum WrapperWay {
    /// As an argument of a function that needs an array.
    Handed,
    /// As an argument of a function that a transform runs.
    Argument,
    /// As a result of a function that a transform runs.
    Result,
}

/// Which calls of a function share a trace, and so what it reads from outside in the first of them.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum TraceCache {
    /// None, or only those with equal static arguments.
    None,
    /// Those of one result of the transform: what was passed to it is made anew in each evaluation, as `self.step` is.
    Object,
    /// All calls of the function.
    Function,
}
