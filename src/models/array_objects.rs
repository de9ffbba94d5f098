//! Objects of the program's own classes that convert to arrays (`__jax_array__`): what functions do with them, and what registers their
//! classes as pytrees.
//!
//! **Invariant:** plain data. Only [`Models::is_array_protocol`] decides which method converts.

use std::borrow::Cow;
use std::collections::BTreeSet;

use serde::Deserialize;

use super::lookup::Models;
use super::raw::OneOrMany;
use super::roots::{ROOTS, rooted};
use super::schema::Effect;

/// What a function does with an object that converts to an array.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Takes {
    /// It takes the array.
    Converted,
    /// The same, but it refuses such an object as its key.
    Data,
    /// It takes the leaves of a pytree, and refuses objects of a class that is not registered as one.
    Registered,
    /// It refuses such objects.
    Never,
    /// It passes them through.
    Anything,
}

/// Which classes a function, a decorator or a base class registers as pytrees.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Registers {
    /// The class passed as its argument.
    Class,
    /// Its argument, or the class that has it as a base, and all subclasses.
    Family,
    /// None: a base class without effect.
    Nothing,
}

/// A row.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ArrayObject {
    /// The function, or the namespace of all functions below it without a row of their own.
    pub path: String,
    /// What is done with an object.
    pub takes: Takes,
    /// Which classes it registers.
    pub registers: Option<Registers>,
    /// The version that refuses the object, where older ones took its array.
    pub since: Option<[u32; 3]>,
    /// The version that warned first.
    pub warns: Option<[u32; 3]>,
    /// The parameter that numbers the arguments that matter, with 0 for its default; the others, and results, are left alone.
    pub only: Option<String>,
    /// Whether arguments that are not mapped are ignored.
    pub mapped: bool,
}

#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub(super) struct RawArrayObject {
    pub path: Option<String>,
    #[serde(default)]
    pub paths: Vec<String>,
    takes: Option<Takes>,
    registers: Option<Registers>,
    since: Option<String>,
    warns: Option<String>,
    only: Option<String>,
    #[serde(default)]
    mapped: bool,
}

/// The table `[array-protocol]`.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub(super) struct RawProtocolNames {
    /// The methods that convert an object to an array; `{root}` stands for the library's root package.
    methods: OneOrMany,
}

impl RawProtocolNames {
    pub(super) fn into_patterns(self) -> Vec<(String, String)> {
        let split = |pattern: String| {
            let (start, end) = pattern.split_once("{root}").unwrap_or((&pattern, ""));
            (start.to_owned(), end.to_owned())
        };
        self.methods.into_vec().into_iter().map(split).collect()
    }
}

/// The numbers of `0.8.0`.
pub(super) fn version_numbers(text: &str) -> [u32; 3] {
    let mut parts = text.split('.').map(|part| part.parse().unwrap_or(0));
    std::array::from_fn(|_| parts.next().unwrap_or(0))
}

impl RawArrayObject {
    /// The versions that it names.
    pub(super) fn versions(&self) -> impl Iterator<Item = (&'static str, &str)> {
        [("since", &self.since), ("warns", &self.warns)]
            .into_iter()
            .filter_map(|(field, version)| Some((field, version.as_deref()?)))
    }

    /// Whether it has no entries.
    pub(super) fn is_empty(&self) -> bool {
        self.takes.is_none() && self.registers.is_none()
    }

    /// The row of one of its paths.
    pub(super) fn of(&self, path: String) -> ArrayObject {
        ArrayObject {
            path,
            takes: self.takes.unwrap_or(Takes::Anything),
            registers: self.registers,
            since: self.since.as_deref().map(version_numbers),
            warns: self.warns.as_deref().map(version_numbers),
            only: self.only.clone(),
            mapped: self.mapped,
        }
    }
}

impl Models {
    /// What a function does with objects that convert to arrays.
    pub fn array_object(&self, path: &str) -> Option<&ArrayObject> {
        let written = rooted(path, &[]);
        let canonical = self.canonical(path, &[]);
        [&written, &canonical].into_iter().find_map(|path: &Cow<'_, str>| {
            let prefixes = path.rmatch_indices('.').map(|(at, _)| &path[..at]);
            std::iter::once(&**path).chain(prefixes).find_map(|prefix| self.array_objects.get(prefix))
        })
    }

    /// Whether a method of this name converts its object to an array: `__jax_array__`. `roots` are further names of the library's root
    /// package.
    pub fn is_array_protocol(&self, name: &str, roots: &[String]) -> bool {
        self.array_protocol.iter().any(|(start, end)| {
            let root = name.strip_prefix(start.as_str()).and_then(|rest| rest.strip_suffix(end.as_str()));
            root.is_some_and(|root| ROOTS.contains(&root) || roots.iter().any(|other| other == root))
        })
    }

    /// The methods that convert, in order of preference.
    pub fn array_methods(&self, roots: &[String]) -> Vec<String> {
        let all: Vec<&str> = ROOTS.into_iter().chain(roots.iter().map(String::as_str)).collect();
        let of =
            |(start, end): &(String, String)| all.iter().map(|root| format!("{start}{root}{end}")).collect::<Vec<_>>();
        self.array_protocol.iter().flat_map(of).collect()
    }

    /// The last names of a library's classes whose instances convert to arrays.
    pub fn converting(&self) -> BTreeSet<&str> {
        let is_defined =
            |path: &str| self.callable(path).is_some_and(|callable| matches!(callable.effect, Effect::Prelude { .. }));
        let converting = self.array_objects.values().filter(|row| is_defined(&row.path));
        converting.map(|row| row.path.rsplit('.').next().unwrap_or(&row.path)).collect()
    }

    /// The last names of the functions that register a class.
    pub fn registering(&self) -> impl Iterator<Item = &str> {
        let registering = self.array_objects.values().filter(|row| matches!(row.registers, Some(Registers::Class)));
        registering.map(|row| row.path.rsplit('.').next().unwrap_or(&row.path))
    }
}
