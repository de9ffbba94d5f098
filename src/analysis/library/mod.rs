//! What libraries do with keys: the models applied.
//!
//! **Invariant:** the machine knows no library; it calls [`Library`], which is implemented here.

#![expect(
    clippy::needless_pass_by_value,
    reason = "arguments of calls are passed by value, so that the callee may take them apart"
)]

pub mod builtins;
pub mod callbacks;
pub mod consume;
pub mod container_construction;
pub mod containers;
pub mod derive;
pub mod flags;
pub mod functions;
pub mod inference;
pub mod iterators;
pub mod keyless;
pub mod lanes;
pub mod methods;
pub mod mixed_implementations;
pub mod parameters;
pub mod protocols;
pub mod shape;
pub mod submodules;
pub mod traces;
pub mod transform;
mod transpose;
pub mod tree;
pub mod tree_at;
pub mod wrappers;

use crate::analysis::machine::Library;

/// The models of `rules/models/*.toml`, applied.
pub static MODELS: Library = Library {
    key_attribute: methods::key_attribute,
    makes_quiet: inference::makes_quiet,
    makes_deterministic_module: parameters::makes_deterministic_module,
    method_without_draws: protocols::method_without_draws,
    protocol_or_unknown: protocols::protocol_or_unknown,
    call_method: methods::call_method,
    call_function: functions::call_library,
    call_wrapped: transform::call_wrapped,
    consume: consume::consume,
    enter: methods::enter,
    leave: methods::leave,
    stream_result: functions::stream_result,
    supplied_key: derive::supplied_key,
};
