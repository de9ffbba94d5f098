//! Sizes of values, and walks through what they hold.
//!
//! A program can double a tuple thirty times, nest one in itself, or put a list into itself. Values are trees of shared
//! parts, so the size and the depth of each value are bounded when an operation has made it. The heap has no such
//! bound, because it may change later and may be cyclic: every traversal is bounded by a [`Walk`].
//!
//! **Invariant:** a value in a variable or an object has at most [`PARTS`] parts, at most [`NESTED`] deep.

use super::value::{Elements, PartialKind, Val, Value};

/// Most parts of a value, those of its parts included.
pub const PARTS: usize = 4_096;

/// Deepest nesting of parts.
pub const NESTED: u32 = 64;

/// Most objects and parts that one walk visits.
pub const STEPS: u32 = 4_096;

/// Number of parts of a value, including nested ones; `None` if there are more, or deeper ones, than the bound allows.
pub fn parts(value: &Value) -> Option<usize> {
    let mut left = PARTS;
    spend(value, NESTED, &mut left)?;
    Some(PARTS - left)
}

fn spend(value: &Value, depth: u32, left: &mut usize) -> Option<()> {
    let depth = depth.checked_sub(1)?;
    for alternative in value.alternatives() {
        *left = left.checked_sub(1)?;
        match &alternative.val {
            Val::Tuple(parts) | Val::Slice(parts) => each(parts.iter(), depth, left)?,
            Val::Array(array) => match &array.elements {
                Elements::View { .. } => {}
                Elements::Listed(parts) | Elements::Joined(parts) => each(parts.iter(), depth, left)?,
                Elements::Copies(of) => each(std::iter::once(&**of), depth, left)?,
            },
            Val::Function(closure) => each(closure.defaults.iter().map(|(_, value)| value), depth, left)?,
            Val::Method(method) => each([&method.0, &method.1].into_iter(), depth, left)?,
            Val::UnknownMethod(method) => each(std::iter::once(&method.0), depth, left)?,
            Val::Wrapped(wrapped) => {
                each(wrapped.options.iter().map(|(_, value)| value).chain(&wrapped.function), depth, left)?;
            }
            Val::Partial(partial) => {
                let setter = match &partial.kind {
                    PartialKind::Property(setter) => setter.as_ref(),
                    _ => None,
                };
                each(partial.bound().chain([&partial.function]).chain(setter), depth, left)?;
            }
            Val::Term(_)
            | Val::Key(_)
            | Val::Words(..)
            | Val::Object(_)
            | Val::Class(_)
            | Val::Module(_)
            | Val::Library(_)
            | Val::Import(_) => {}
        }
    }
    Some(())
}

fn each<'v>(mut parts: impl Iterator<Item = &'v Value>, depth: u32, left: &mut usize) -> Option<()> {
    parts.try_for_each(|part| spend(part, depth, left))
}

/// How much of the heap a walk may still visit.
#[derive(Clone, Debug)]
pub struct Walk {
    deeper: u32,
    steps: u32,
}

impl Walk {
    /// A walk that goes so deep.
    pub fn to(depth: u32) -> Self {
        Self { deeper: depth, steps: STEPS }
    }

    /// Goes one level down, if that is not too deep. The caller must then call [`back`](Self::back).
    pub fn down(&mut self) -> bool {
        let is_allowed = self.deeper > 0 && self.steps > 0;
        self.steps = self.steps.saturating_sub(1);
        self.deeper -= u32::from(is_allowed);
        is_allowed
    }

    /// Whether there are no steps left.
    pub fn is_over(&self) -> bool {
        self.steps == 0
    }

    /// Comes back from one level down.
    pub fn back(&mut self) {
        self.deeper += 1;
    }
}
