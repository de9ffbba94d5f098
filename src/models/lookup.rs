//! The set of all models, and finding one by qualified name.
//!
//! **Invariant:** a lookup follows at most [`HOPS`] aliases, prefers the longest modelled name, and does not depend on the order in which
//! rows were read. Hash maps are iterated over only to sort.

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::sync::Arc;

use rustc_hash::{FxHashMap, FxHashSet};

use super::array_objects::ArrayObject;
use super::equivalents::Equivalent;
use super::implementations::{GlobalChoice, Implementation};
use super::objects::{Annotation, Class, Construct, DrawsBy, Protocol, ProtocolEffect, StreamUse, Yield};
use super::reported::ReportedName;
use super::roots::{ROOT, rooted};
use super::schema::{Callable, Effect, Library};
use super::typed::Typed;
use super::words::Words;

/// Most aliases that are followed for one name.
const HOPS: usize = 8;

/// The class of arrays: its methods and attributes are rows below it.
pub const ARRAY: &str = "jax.Array";

/// The name that library names for `None` resolve to.
const NONE: &str = "builtins.None";

/// All models known in a run.
#[derive(Clone, Debug, Default)]
pub struct Models {
    pub(super) libraries: Vec<Library>,
    pub(super) callables: FxHashMap<String, Callable>,
    pub(super) namespaces: FxHashMap<String, Callable>,
    pub(super) classes: FxHashMap<String, Class>,
    pub(super) annotations: FxHashMap<String, Annotation>,
    pub(super) aliases: FxHashMap<String, String>,
    pub(super) protocols: FxHashMap<String, Vec<Protocol>>,
    /// The methods that make the submodules of modules, by library.
    pub(super) made_in: BTreeMap<String, String>,
    pub(super) draws_by: FxHashMap<String, DrawsBy>,
    pub(super) typed: BTreeMap<String, Typed>,
    pub(super) equivalents: BTreeMap<String, Equivalent>,
    pub(super) reported: FxHashMap<String, ReportedName>,
    /// Reported attributes of a key's dtype.
    pub(super) dtype_attributes: FxHashSet<String>,
    pub(super) array_objects: BTreeMap<String, ArrayObject>,
    /// The text before and after the root package in the names of conversion methods.
    pub(super) array_protocol: Vec<(String, String)>,
    /// Flags that turn drawing off in calls of some protocol, each with that value.
    pub quiet_flags: BTreeMap<String, bool>,
    /// PRNG implementations.
    pub implementations: Vec<Implementation>,
    /// How a program chooses one for all keys.
    pub choice: GlobalChoice,
    /// What programs call things.
    pub words: Words,
    /// First segments of all modelled names: most names of a program are none of them.
    pub(super) roots: FxHashSet<String>,
    /// All modelled names, and the packages around them.
    pub(super) named: Arc<FxHashSet<String>>,
    /// Modules that come with a library, whether a row speaks of them or not.
    pub(super) modules: FxHashSet<String>,
}

impl Models {
    /// The model of a function: its own row, or else the default of the closest namespace around it.
    ///
    /// Aliases are followed; `None` for classes (see [`Models::class`]) and for unmodelled names.
    pub fn callable(&self, path: &str) -> Option<&Callable> {
        // A name with a row of its own is not an alias.
        if let Some(callable) = self.callables.get(path) {
            return Some(callable);
        }
        if !self.mentions(path, &[]) {
            return None;
        }
        let path = self.canonical(path, &[]);
        if let Some(callable) = self.callables.get(&*path) {
            return Some(callable);
        }
        if self.classes.contains_key(&*path) {
            return None;
        }
        for prefix in prefixes(&path) {
            if self.classes.contains_key(prefix) {
                return None;
            }
            if let Some(namespace) = self.namespaces.get(prefix) {
                return Some(namespace);
            }
        }
        None
    }

    /// The model of a method or attribute of arrays.
    pub fn of_array(&self, name: &str) -> Option<&Callable> {
        self.callable(&format!("{ARRAY}.{name}")).filter(|callable| callable.exact)
    }

    /// Whether a method of arrays, by its name, does nothing but wait until the array is computed.
    pub fn awaits(&self, method: &str) -> bool {
        self.of_array(method).is_some_and(Callable::awaits)
    }

    /// Whether a method of arrays, by its name, makes a number of Python.
    pub fn makes_number(&self, method: &str) -> bool {
        self.of_array(method).is_some_and(|callable| matches!(callable.effect, Effect::Number { .. }))
    }

    /// Whether a function counts up from zero to its one argument: element `i` of its result is `i`.
    pub fn is_counting(&self, path: &str) -> bool {
        matches!(self.callable(path), Some(Callable { effect: Effect::Pure { counts: true, .. }, .. }))
    }

    /// Whether a name is another one for `None`.
    pub fn is_none(&self, path: &str) -> bool {
        self.aliases.get(path).is_some_and(|to| to == NONE)
    }

    /// The model of a class.
    pub fn class(&self, path: &str) -> Option<&Class> {
        // A name with a row of its own is not an alias.
        if self.callables.contains_key(path) {
            return self.classes.get(path);
        }
        self.classes.get(&*self.canonical(path, &[]))
    }

    /// Whether a class method of the class at a path makes instances from their fields.
    pub fn is_maker(&self, path: &str, method: &str) -> bool {
        self.class(path).is_some_and(|class| class.makers.iter().any(|maker| maker == method))
    }

    /// What a stream of the class at a path gives when it is used like this.
    pub fn stream_yield(&self, path: &str, used: StreamUse) -> Yield {
        match (self.class(path).map(|class| &class.construct), used) {
            (Some(Construct::Stream { call, .. }), StreamUse::Call) => *call,
            (Some(Construct::Stream { next, .. }), StreamUse::Next) => *next,
            (Some(Construct::Stream { items, .. }), StreamUse::Item) => *items,
            _ => Yield::Unknown,
        }
    }

    /// What an annotation of this name says about a key.
    pub fn annotation(&self, path: &str) -> Option<&Annotation> {
        let canonical = self.canonical(path, &[]);
        self.annotations.get(&*canonical).or_else(|| self.annotations.get(&*self.rooted(path, &[])))
    }

    /// What methods of this name may be, where the receiver's class is not known.
    pub fn protocols(&self, method: &str) -> &[Protocol] {
        self.protocols.get(method).map_or(&[], Vec::as_slice)
    }

    /// Whether a method of this name may consume keys that it gets by a keyword of this name, where the receiver's class is not known.
    pub fn consumes_keyword(&self, method: &str, keyword: &str) -> bool {
        let takes = |protocol: &Protocol| {
            protocol.effect == ProtocolEffect::Consume && protocol.key.names.iter().any(|name| name == keyword)
        };
        self.protocols(method).iter().any(takes)
    }

    /// With which initialisers instances of a library's class draw, where they draw in no other way.
    pub fn draws_by(&self, path: &str) -> Option<&DrawsBy> {
        self.draws_by.get(&*self.canonical(path, &[]))
    }

    /// The name under its canonical root; `roots` are further names of the library's root package. Aliases are not followed, so that rules
    /// about deprecated names see the name as written.
    pub fn rooted<'p>(&self, path: &'p str, roots: &[String]) -> Cow<'p, str> {
        rooted(path, roots)
    }

    /// The name under which the models know it: canonical root, aliases followed, without inner modules of its library.
    pub fn canonical<'p>(&self, path: &'p str, roots: &[String]) -> Cow<'p, str> {
        let name = self.written(path, roots);
        if self.has_row(&name) || !self.roots.contains(first_segment(&name)) {
            return name;
        }
        match self.public(&name) {
            Some(public) => Cow::Owned(self.written(&public, &[]).into_owned()),
            None => name,
        }
    }

    /// The name under its canonical root, aliases followed.
    fn written<'p>(&self, path: &'p str, roots: &[String]) -> Cow<'p, str> {
        let mut name = self.rooted(path, roots);
        if !self.roots.contains(first_segment(&name)) {
            return name;
        }
        for _ in 0..HOPS {
            if self.has_row(&name) {
                break;
            }
            let Some(next) = self.follow(&name) else { break };
            name = Cow::Owned(next);
        }
        name
    }

    /// Whether some model has names with this first segment; a cheap early test.
    pub fn mentions(&self, path: &str, roots: &[String]) -> bool {
        self.roots.contains(first_segment(&self.rooted(path, roots)))
    }

    /// Whether the first segment of the name is a library's, modelled or only named.
    pub fn knows(&self, path: &str, roots: &[String]) -> bool {
        self.mentions(path, roots) || self.modules.contains(first_segment(path))
    }

    /// Whether a path has a row of its own, rather than the default of a namespace.
    pub fn is_modelled(&self, path: &str) -> bool {
        // A name with a row of its own is not an alias.
        if let Some(callable) = self.callables.get(path) {
            return callable.exact || self.classes.contains_key(path);
        }
        self.is_exact(&self.canonical(path, &[]))
    }

    /// The same for a path as it is written: what an inner module of a library denotes is in its source, if the program has it.
    fn is_modelled_as_written(&self, path: &str) -> bool {
        self.is_exact(&self.written(path, &[]))
    }

    fn is_exact(&self, path: &str) -> bool {
        self.classes.contains_key(path) || self.callables.get(path).is_some_and(|callable| callable.exact)
    }

    /// Whether `import path`, with a path under its canonical root, denotes the modelled library even if the program has a module of that
    /// name. The array library always does; for others, the source in the program is more precise than a default.
    pub fn claims(&self, path: &str, roots: &[String]) -> bool {
        self.mentions(path, roots) && (is_of_arrays(path) || self.is_modelled_as_written(path))
    }

    /// Whether `from module import name`, of the path that they make under the canonical root, means the library in the same way. A
    /// relative import means it only by a row.
    pub fn claims_member(&self, path: &str, is_relative: bool, roots: &[String]) -> bool {
        self.mentions(path, roots) && (is_of_arrays(path) && !is_relative || self.is_modelled_as_written(path))
    }

    /// The method that makes the submodules of modules, and stores them in attributes, if a class is one of a library whose modules have
    /// such a method.
    pub fn submodules_made_in(&self, base: &str) -> Option<&str> {
        self.made_in.get(base.split('.').next()?).map(String::as_str)
    }

    /// The implementation of this name.
    pub fn implementation(&self, name: &str) -> Option<&Implementation> {
        self.implementations.iter().find(|one| one.name == name)
    }

    /// The default implementation of keys.
    pub fn default_implementation(&self) -> Option<&Implementation> {
        self.implementations.iter().find(|one| one.default)
    }

    /// Adds the rows of `other`; where both have a row, that of `other` holds.
    pub fn merge(&mut self, other: Self) {
        self.libraries.extend(other.libraries);
        self.callables.extend(other.callables);
        self.namespaces.extend(other.namespaces);
        self.classes.extend(other.classes);
        self.annotations.extend(other.annotations);
        self.aliases.extend(other.aliases);
        self.roots.extend(other.roots);
        Arc::make_mut(&mut self.named).extend(other.named.iter().cloned());
        self.modules.extend(other.modules);
        self.typed.extend(other.typed);
        self.equivalents.extend(other.equivalents);
        self.quiet_flags.extend(other.quiet_flags);
        self.made_in.extend(other.made_in);
        self.reported.extend(other.reported);
        self.dtype_attributes.extend(other.dtype_attributes);
        self.array_objects.extend(other.array_objects);
        self.array_protocol.extend(other.array_protocol);
        self.words.merge(other.words);
        self.implementations.extend(other.implementations);
        if other.choice != GlobalChoice::default() {
            self.choice = other.choice;
        }
        self.draws_by.extend(other.draws_by);
        let mut protocols: Vec<_> = other.protocols.into_iter().collect();
        protocols.sort_by(|left, right| left.0.cmp(&right.0));
        for (method, rows) in protocols {
            self.protocols.entry(method).or_default().extend(rows);
        }
    }

    /// The libraries described, in the order in which they were merged.
    pub fn libraries(&self) -> &[Library] {
        &self.libraries
    }

    /// Whether a function's result differs between the lanes of a mapped function.
    pub fn is_by_lane(&self, path: &str) -> bool {
        self.callable(path).is_some_and(|callable| callable.by_lane)
    }

    /// All modelled names, and the packages around them.
    pub fn names(&self) -> Arc<FxHashSet<String>> {
        Arc::clone(&self.named)
    }

    /// All rows for functions, by path.
    pub fn callables(&self) -> Vec<&Callable> {
        sorted(&self.callables, |row| &row.path)
    }

    /// All namespace defaults, by path.
    pub fn namespaces(&self) -> Vec<&Callable> {
        sorted(&self.namespaces, |row| &row.path)
    }

    /// All rows for classes, by path.
    pub fn classes(&self) -> Vec<&Class> {
        sorted(&self.classes, |row| &row.path)
    }

    /// All annotations, by path.
    pub fn annotations(&self) -> Vec<&Annotation> {
        sorted(&self.annotations, |row| &row.path)
    }

    /// All aliases, by the name they are another name of something for.
    pub fn aliases(&self) -> Vec<(&str, &str)> {
        let mut all: Vec<_> = self.aliases.iter().map(|(from, to)| (from.as_str(), to.as_str())).collect();
        all.sort_unstable();
        all
    }

    pub(super) fn has_row(&self, path: &str) -> bool {
        self.callables.contains_key(path) || self.classes.contains_key(path) || self.annotations.contains_key(path)
    }

    /// Replaces the longest prefix that is an alias.
    pub(super) fn follow(&self, path: &str) -> Option<String> {
        std::iter::once(path).chain(prefixes(path)).find_map(|prefix| {
            let to = self.aliases.get(prefix)?;
            Some(format!("{to}{}", &path[prefix.len()..]))
        })
    }
}

/// Whether a path, under its canonical root, is the array library or below it.
pub fn is_of_arrays(path: &str) -> bool {
    first_segment(path) == ROOT
}

/// The proper dotted prefixes of a name, longest first.
pub(super) fn prefixes(path: &str) -> impl Iterator<Item = &str> {
    path.rmatch_indices('.').map(|(at, _)| &path[..at])
}

fn first_segment(path: &str) -> &str {
    path.split_once('.').map_or(path, |(first, _)| first)
}

fn sorted<T>(rows: &FxHashMap<String, T>, path: impl Fn(&T) -> &str) -> Vec<&T> {
    let mut all: Vec<_> = rows.values().collect();
    all.sort_by(|left, right| path(left).cmp(path(right)));
    all
}
