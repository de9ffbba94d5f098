//! Which library paths involve keys, according to the models.
//!
//! **Invariant:** every path is classified once; its class depends on the path and the models alone.

use rustc_hash::{FxHashMap, FxHashSet};

use crate::ir::Name;
use crate::models::{Callable, Construct, Effect, Host, Models, NameStatus};

/// What a function mentions, in increasing order of relevance.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Mentions {
    /// Nothing.
    #[default]
    Nothing,
    /// A function that draws from a generator of Python: the module has to run, but callers need not.
    Host,
    /// A name that a rule reports; callers are not affected.
    Names,
    /// A function that makes, takes or returns keys.
    Keys,
}

/// An interned library path.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) struct PathId(u32);

/// What is known about a path.
struct Known<'a> {
    path: String,
    /// Whether the models mention its root at all.
    is_modelled: bool,
    mentions: Mentions,
    callable: Option<&'a Callable>,
}

/// The paths seen so far, classified.
pub(super) struct Vocabulary<'a> {
    models: &'a Models,
    roots: &'a [String],
    /// Packages whose members make, take or return keys.
    packages: FxHashSet<String>,
    known: Vec<Known<'a>>,
    by_path: FxHashMap<String, PathId>,
    members: FxHashMap<PathId, FxHashMap<Name, PathId>>,
}

impl<'a> Vocabulary<'a> {
    pub(super) fn new(models: &'a Models, roots: &'a [String]) -> Self {
        let mut packages: FxHashSet<String> = FxHashSet::default();
        for callable in models.callables() {
            if touches_keys(&callable.effect)
                && let Some((package, _)) = callable.path.rsplit_once('.')
                && package.contains("random")
            {
                packages.insert(package.to_owned());
            }
        }
        let (by_path, members) = (FxHashMap::default(), FxHashMap::default());
        Self { models, roots, packages, known: Vec::new(), by_path, members }
    }

    /// The identity of a path.
    pub(super) fn path(&mut self, path: &str) -> PathId {
        let path = self.models.rooted(path, self.roots);
        if let Some(id) = self.by_path.get(&*path) {
            return *id;
        }
        let path = path.into_owned();
        let is_modelled = self.models.mentions(&path, self.roots);
        let mentions = if is_modelled { self.judge(&path) } else { Mentions::Nothing };
        let callable = if is_modelled { self.models.callable(&path) } else { None };
        let id = PathId(u32::try_from(self.known.len()).unwrap_or(u32::MAX));
        self.by_path.insert(path.clone(), id);
        self.known.push(Known { path, is_modelled, mentions, callable });
        id
    }

    /// The path of a member. Members of an unmodelled path are not distinguished.
    pub(super) fn member(&mut self, of: PathId, name: &Name) -> PathId {
        let known = &self.known[of.0 as usize];
        if !known.is_modelled {
            return of;
        }
        if let Some(id) = self.members.get(&of).and_then(|members| members.get(name)) {
            return *id;
        }
        let path = format!("{}.{name}", known.path);
        let id = self.path(&path);
        self.members.entry(of).or_default().insert(name.clone(), id);
        id
    }

    /// What naming a path means.
    pub(super) fn mentions(&self, path: PathId) -> Mentions {
        self.known[path.0 as usize].mentions
    }

    /// The path itself.
    pub(super) fn text(&self, path: PathId) -> &str {
        &self.known[path.0 as usize].path
    }

    /// Whether a call of this path takes a key by a keyword of this name.
    pub(super) fn takes_key(&self, path: PathId, keyword: &str) -> bool {
        self.known[path.0 as usize].callable.is_some_and(|callable| match &callable.effect {
            Effect::Consume { keys, .. } => keys.iter().any(|key| **key == *keyword),
            _ => false,
        })
    }

    /// Whether rules report an attribute of this name, if it is that of a key's dtype.
    pub(super) fn is_reported_of_dtype(&self, name: &str) -> bool {
        self.models.is_reported_of_dtype(name)
    }

    fn judge(&self, path: &str) -> Mentions {
        let reported = self.models.reported(path).map(|name| name.status);
        if self.packages.contains(path) || reported == Some(NameStatus::Private) || self.handles_keys(path) {
            return Mentions::Keys;
        }
        let draws = || self.models.callable(path).is_some_and(|callable| callable.host.is_some_and(Host::draws));
        match (reported.is_some(), draws()) {
            (true, _) => Mentions::Names,
            (false, true) => Mentions::Host,
            (false, false) => Mentions::Nothing,
        }
    }

    fn handles_keys(&self, path: &str) -> bool {
        match self.models.class(path).map(|class| &class.construct) {
            Some(Construct::Stream { .. }) => return true,
            Some(Construct::Plain { consumes }) => return !consumes.is_empty(),
            Some(Construct::Record { .. }) => return false,
            None => {}
        }
        // What a whole namespace does by default counts only where a call passes it a key by keyword.
        self.models.callable(path).is_some_and(|callable| callable.exact && touches_keys(&callable.effect))
    }
}

fn touches_keys(effect: &Effect) -> bool {
    matches!(
        effect,
        Effect::Seed { .. }
            | Effect::Split { .. }
            | Effect::Fold { .. }
            | Effect::Clone { .. }
            | Effect::KeyData { .. }
            | Effect::Wrap { .. }
            | Effect::Sample { .. }
            | Effect::Consume { .. }
            | Effect::Supply { .. }
            | Effect::Factory { .. }
    )
}
