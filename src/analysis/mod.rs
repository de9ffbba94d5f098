//! The abstract interpreter: which values are keys, how each was derived, and where it is consumed.
//!
//! **Invariant:** forgetting is always sound. Only must-equality of derivations makes a fact.

mod constructors;
pub mod domain;
mod drawing_defaults;
mod entry;
mod kept;
mod late_writes;
mod library;
mod machine;
pub mod program;
pub mod record;
mod snapshot;
mod store;

pub use entry::run;
pub use kept::KeptRuns;
pub use program::{Overview, Program, is_entry};
pub use snapshot::ImportSnapshot;
pub(crate) use store::heap;
pub use store::heap::{Layered, Shared};
