//! The log of one analysis: what was consumed, where, on which paths, in execution order.
//!
//! **Invariant:** the log only grows during an analysis; an index is an identity.

use std::rc::Rc;

use crate::finding::{Confidence, Place};
use crate::ir::{FunctionId, Name};

use super::domain::extent::Extent;
use super::domain::guard::Guard;
use super::domain::term::TermId;
use super::domain::value::{DerivationId, EnvironmentId, ModuleIndex};
use super::facts::Role;

/// One activation of a function, linked to the one that called it.
#[derive(Debug)]
pub struct Activation {
    /// Its number.
    pub id: u32,
    /// The activation that called it, and the place of the call.
    pub caller: Option<(Rc<Activation>, Place)>,
    /// The module.
    pub module: ModuleIndex,
    /// The function.
    pub function: FunctionId,
    /// Number of activations below it.
    pub depth: u32,
    /// Its variables.
    pub environment: EnvironmentId,
    /// Whether facts of its own are reported for it: it is the root, or a closure run on its own.
    pub root: bool,
}

/// An iteration of a loop that a consumption happened in.
#[derive(Clone, Debug)]
pub struct Iteration {
    /// The execution of the loop.
    pub instance: u32,
    /// Which copy.
    pub copy: u32,
    /// The loop's head or the transform's call.
    pub place: Place,
    /// The enclosing iteration.
    pub outer: Option<Rc<Iteration>>,
}

/// How a consumption came to its target.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Target {
    /// The family, or the key itself.
    pub family: TermId,
    /// Which keys of it.
    pub extent: Extent,
    /// The key (or a term that stands for the keys).
    pub term: TermId,
    /// Whether the key was made by `fold_in`, and so is a member of the family by JAX's default implementation only.
    pub folded: bool,
    /// Which execution derived the key.
    pub derivation: DerivationId,
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
    pub activation: Rc<Activation>,
    /// In which iterations.
    pub iteration: Option<Rc<Iteration>>,
    /// Number of mapped functions around it.
    pub lanes: u32,
}

/// What made a key.
#[derive(Clone, Debug)]
pub struct Derivation {
    /// The call.
    pub place: Place,
    /// In which activation.
    pub activation: Rc<Activation>,
    /// The maker's qualified name.
    pub callee: Name,
    /// The derived key, or the family.
    pub term: TermId,
    /// The number of children, for `split`.
    pub number: Option<TermId>,
    /// Whether equality of its term with others rests on a default (`x64` off).
    pub by_default: bool,
}

/// A collision found, before it is worded for a frame.
#[derive(Clone, Debug)]
pub struct Reuse {
    /// The earlier consumption.
    pub first: usize,
    /// The later consumption.
    pub second: usize,
    /// How certain.
    pub confidence: Confidence,
}
