//! PRNG implementations that the library ships, and how a program chooses one for all keys.
//!
//! **Invariant:** an implementation without a row is unknown: nothing is assumed about its keys.

use serde::Deserialize;

/// One implementation.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct Implementation {
    /// Its name, as in `key(seed, impl=…)`.
    pub name: String,
    /// Number of words of a key.
    pub width: u32,
    /// Whether keys use it by default.
    #[serde(default)]
    pub default: bool,
    /// The guarantee that it loses under `vmap`, as a sentence without a full stop.
    pub caveat: Option<String>,
}

/// How a program chooses the implementation of all keys.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(default, deny_unknown_fields, rename_all = "kebab-case")]
pub struct GlobalChoice {
    /// Names of the option.
    pub options: Vec<String>,
    /// Functions that take the option and its value.
    pub setters: Vec<String>,
    /// Objects that have the option as an attribute.
    pub holders: Vec<String>,
    /// Context managers that take the value.
    pub managers: Vec<String>,
    /// Names of the environment variable.
    pub variables: Vec<String>,
    /// Mappings that are the environment.
    pub environments: Vec<String>,
    /// Functions that take an environment variable and its value.
    pub variable_setters: Vec<String>,
}
