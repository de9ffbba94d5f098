//! Options as written, settings as the run uses them, and the search for the nearest configuration file.
//!
//! [`Options`] mirror a configuration file; layers of options are resolved into [`Settings`]; [`FileSettings`] decide what happens to a
//! finding in one source file.
//!
//! **Invariant:** this room knows rules only by identifier and default level ([`KnownRule`]). An option that names an unknown rule,
//! key or value is an error that points at it, and is never silently dropped.

mod error;
pub mod jax_version;
mod layer;
mod options;
mod patterns;
mod regular;
pub mod requirements;
mod resolver;
mod run_settings;
mod selector;
mod settings;
mod suggest;
pub mod usual_files;
pub mod version;

pub use error::ConfigError;
pub use jax_version::{JaxPin, JaxVersion};
pub use layer::variable;
pub use options::{Options, OutputFormat, schema};
pub use patterns::{Patterns, absolute};
pub use regular::{not_regular, read_regular, read_regular_text};
pub use resolver::{CommandLine, PROJECT_MARKS, Resolver};
pub use run_settings::RunSettings;
pub use selector::{KnownRule, Selector};
pub use settings::{FileSettings, HiddenCounts, Judgement, Settings, Shown, Source};
pub use suggest::suggest;
