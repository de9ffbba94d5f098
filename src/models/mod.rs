//! API models: what library functions do with keys, and how transforms run their functions.
//!
//! A model file has these tables: `[library]` (or `[[library]]`) with name and versions checked; `[[alias]]`, one public path for another;
//! `[[callable]]`, what a function does; `[[namespace]]`, the default for functions below a path; `[[class]]`, what constructing an
//! instance does; `[[annotation]]`, names that mark keys; `[[protocol]]`, what methods of a name do on objects of unknown class, in files
//! that use a library or if a key is passed; `[[typed]]`, which functions accept typed keys like raw ones; `[[equivalent]]`, the samplers that draw what functions of the host draw;
//! `[[reported]]`, names that are gone or private;
//! `[[array-object]]`, what functions do with objects that convert to arrays, by the methods of `[array-protocol]`; `[[implementation]]`
//! and `[global-implementation]`, the PRNG implementations and how a program chooses one for all keys; `[words]`, words in names and comments.
//! Methods and attributes of arrays are callables below `jax.Array`, with the array as `self`; functions of Python itself are callables
//! below `builtins`.
//!
//! `docs/models.md` describes all keys. The rows live in `rules/models/*.toml`; [`Models::builtin`] holds them parsed. Users add their own with
//! [`Models::parse`] and [`Models::merge`].
//!
//! **Invariant:** a row that loads is complete: every parameter an effect names is a parameter of its callable.
//! Lookups are total and do not depend on the order of rows or hashes.

mod array_objects;
mod effects;
mod equivalents;
mod implementations;
mod inner;
mod load;
mod lookup;
mod objects;
mod ops;
mod raw;
mod reported;
pub mod roots;
mod schema;
mod transform;
mod typed;
mod words;

use std::sync::OnceLock;

pub use array_objects::{ArrayObject, Registers, Takes};
pub use equivalents::Equivalent;
pub use implementations::{GlobalChoice, Implementation};
pub use load::Problem;
pub use lookup::{ARRAY, Models, is_of_arrays};
pub use objects::{
    Annotation, AnnotationKind, AnnotationRank, Class, Construct, DrawsBy, KeyPlace, Protocol, ProtocolEffect,
    StreamUse, Submodules, UndrawnResult, Yield,
};
pub use ops::{BuiltinOp, NumberOp, ShapeOp, ShapeQuery, TreeOp};
pub use reported::{NameStatus, ReportedName, path_of_dtype};
pub use roots::{PRIVATE_ROOT, ROOT};
pub use schema::{Argument, Callable, Effect, Host, Library, Param, ParamKind, SeedKind, bound};
pub use transform::{Returns, Runs, Transform, TransformResult};
pub use typed::Typed;
pub use words::Words;

/// The model files that keylint brings along, by name.
const FILES: &[(&str, &str)] = &[
    ("rules/models/array_objects.toml", include_str!("../../rules/models/array_objects.toml")),
    ("rules/models/environments.toml", include_str!("../../rules/models/environments.toml")),
    ("rules/models/equinox.toml", include_str!("../../rules/models/equinox.toml")),
    ("rules/models/flax.toml", include_str!("../../rules/models/flax.toml")),
    ("rules/models/haiku.toml", include_str!("../../rules/models/haiku.toml")),
    ("rules/models/haliax.toml", include_str!("../../rules/models/haliax.toml")),
    ("rules/models/jax.toml", include_str!("../../rules/models/jax.toml")),
    ("rules/models/libraries.toml", include_str!("../../rules/models/libraries.toml")),
    ("rules/models/numpy.toml", include_str!("../../rules/models/numpy.toml")),
    ("rules/models/numpyro.toml", include_str!("../../rules/models/numpyro.toml")),
    ("rules/models/probability.toml", include_str!("../../rules/models/probability.toml")),
    ("rules/models/python.toml", include_str!("../../rules/models/python.toml")),
    ("rules/models/words.toml", include_str!("../../rules/models/words.toml")),
];

impl Models {
    /// The models that keylint brings along.
    pub fn builtin() -> &'static Self {
        static BUILTIN: OnceLock<Models> = OnceLock::new();
        BUILTIN.get_or_init(|| {
            let mut all = Self::default();
            for (origin, text) in FILES {
                // A test shows the problems of every file; a file that fails would cost its rows, not the run.
                if let Ok(models) = Self::parse(text, origin) {
                    all.merge(models);
                }
            }
            all
        })
    }
}
