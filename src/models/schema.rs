//! The contents of models, as plain data.
//!
//! **Invariant:** parameter names in an effect are parameters of its callable (the loader checks it), so [`Callable::argument`] finds them
//! by name.

use std::collections::BTreeMap;
use std::sync::Arc;

use serde::Deserialize;

use super::ops::{BuiltinOp, NumberOp, ShapeOp, ShapeQuery, TreeOp};
use super::transform::Transform;

/// A library that a model file describes.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Library {
    /// Its canonical root: `jax`.
    pub name: String,
    /// The versions that the rows were checked against, as written: `>=0.4.16`.
    pub versions: String,
    #[serde(default)]
    pub(super) modules: Vec<String>,
}

/// How a parameter takes its arguments.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum ParamKind {
    /// By position or by name.
    Positional,
    /// By name only.
    KeywordOnly,
    /// All other positional arguments (`*args`).
    Rest,
    /// All other keyword arguments (`**kwargs`).
    KeywordRest,
}

/// One parameter of a callable.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Param {
    /// Its name, without stars.
    pub name: String,
    /// How it takes its arguments.
    pub kind: ParamKind,
}

/// Which arguments of a call are bound to a parameter.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Argument {
    /// The positional argument with this index.
    Positional(usize),
    /// The keyword argument with this index among the keyword arguments of the call.
    Keyword(usize),
    /// All positional arguments from this index on.
    Rest(usize),
    /// All keyword arguments that no parameter names.
    KeywordRest,
}

/// A function (or a constructor that is not modelled as a [`super::Class`]) and what it does with keys.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Callable {
    /// Its canonical path, or the path of the namespace whose default it is.
    pub path: String,
    /// Its parameters in order; empty in a namespace default that names none.
    pub params: Vec<Param>,
    /// What it does.
    pub effect: Effect,
    /// The parameter that gives the lengths of the result's axes.
    pub lengths: Option<String>,
    /// The elements of the result that hold no numbers of the arguments, only their structure.
    pub structure: Vec<u32>,
    /// The parameters of which only the structure is used.
    pub patterns: Vec<String>,
    /// Whether it writes its arguments, to a file or to a log.
    pub writes: bool,
    /// Whether its result differs between the lanes of a mapped function, and is the same in each call.
    pub by_lane: bool,
    /// Its relation to Python's own randomness.
    pub host: Option<Host>,
    /// The parameter with which a call seeds the draws of the host itself.
    pub seeded_by: Option<String>,
    /// False if the path has no row and the default of a namespace applies.
    pub exact: bool,
    /// The version that brought it, where later than the library's first modelled version.
    pub since: Option<String>,
    /// The version that removed it.
    pub removed: Option<String>,
}

/// The relation of a function to Python's own randomness.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Host {
    /// It draws.
    Draw,
    /// It makes a generator, whose methods draw; without arguments it is seeded by the system.
    Generator,
    /// It reads the clock, which is random where it becomes a seed.
    Clock,
    /// It seeds the generator that all functions of its module share.
    Seeding,
    /// It hashes its argument; the hash of a string, or of a value that contains one, differs in every process.
    Hash,
    /// It returns a value that no other process repeats: an address, a unique number.
    Unique,
}

impl Host {
    /// Whether Python draws numbers by it.
    pub fn draws(self) -> bool {
        matches!(self, Self::Draw | Self::Generator | Self::Clock)
    }
}

/// Whether a constructor makes typed or raw keys.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum SeedKind {
    /// `jax.random.key`.
    Typed,
    /// `jax.random.PRNGKey`.
    Raw,
}

/// What a callable does with keys. Strings are names of its parameters.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Effect {
    /// Makes a key from a seed.
    Seed {
        /// The parameter that is the seed.
        seed: String,
        /// What kind of key it makes.
        kind: SeedKind,
    },
    /// Consumes a key and returns the array of its children.
    Split {
        /// The parameter that is the parent.
        key: String,
        /// The parameter that is the number (or shape) of children; absent if no parameter gives it.
        num: Option<String>,
    },
    /// Derives a key from a key and a number; does not consume.
    Fold {
        /// The parameter that is the parent.
        key: String,
        /// The parameter that is the number.
        data: String,
    },
    /// Returns the same key with a fresh licence.
    Clone {
        /// The parameter that is the key.
        key: String,
    },
    /// Returns a key's buffer.
    KeyData {
        /// The parameter that is the key.
        key: String,
    },
    /// Makes a typed key of a buffer.
    Wrap {
        /// The parameter that is the buffer.
        data: String,
    },
    /// A `jax.random` sampler: draws from the keys.
    Sample {
        /// The parameters that are keys.
        keys: Vec<String>,
        /// The array whose rows the numbers drawn put in another order or choose.
        rows: Option<String>,
    },
    /// A library function or constructor that consumes the keys given, or the keys in the dict, list or tuple given.
    Consume {
        /// The parameters that carry keys; in a namespace default, names to look for among keyword arguments.
        keys: Vec<String>,
        /// The parameter that limits which consumers get the key: two such calls may be intended to agree.
        only: Option<String>,
        /// Flags by parameter, each with the value for which the call draws nothing.
        no_draw_when: BTreeMap<String, bool>,
    },
    /// Looks and does not consume; the result is unknown and holds no key.
    Observe,
    /// Returns an argument unchanged, same keys.
    Forward {
        /// The parameter that is returned.
        of: String,
        /// Whether it does nothing but wait until its argument is computed.
        awaits: bool,
        /// Whether the containers in the argument are built anew.
        copies: bool,
    },
    /// A deterministic function of its arguments, without keys in its result.
    Pure {
        /// Whether an argument that is a key is thereby treated as a number (`jnp.sum(key)`).
        numeric: bool,
        /// Whether the result is an array of at least one axis, for any arguments: as an index it selects several elements.
        many: bool,
        /// Whether the result counts up from zero to its one argument: element `i` is `i`.
        counts: bool,
    },
    /// Rearranges arrays, possibly arrays of keys.
    Shape {
        /// How.
        op: ShapeOp,
        /// The parameters that hold the arrays.
        of: Vec<String>,
        /// What determines which array an element comes from: the condition of `where`.
        chosen: Option<String>,
        /// Whether each leaf of a tree is rearranged.
        leaves: bool,
    },
    /// Makes an array like its argument, and so a key out of nothing when given one (`zeros_like`).
    Fabricate {
        /// The parameter that is the pattern.
        of: String,
        /// Whether it is made of zeros.
        zeros: bool,
    },
    /// Turns its argument into plain numbers (`int`, `np.asarray`); a raw key's result is its words.
    Number {
        /// The parameter that is turned.
        of: String,
        /// Into what.
        op: NumberOp,
        /// Whether the result is an array of at least one axis: as an index it selects several.
        many: bool,
    },
    /// Queries a shape.
    ShapeOf {
        /// Which property is queried.
        query: ShapeQuery,
        /// The parameter that is queried.
        of: String,
    },
    /// Returns a fresh key at each call.
    Supply {
        /// Whether it returns a sequence of fresh keys instead.
        many: bool,
    },
    /// Runs a function, or returns one that does.
    Transform(Box<Transform>),
    /// Takes trees apart or builds them.
    Tree {
        /// How.
        op: TreeOp,
        /// The parameter that is the tree, the leaves or the structure.
        of: String,
    },
    /// Returns a function that behaves as modelled.
    Factory {
        /// The function that is returned; its path is the factory's path followed by `()`.
        makes: Box<Callable>,
    },
    /// A function of Python itself, known to the interpreter by its operation.
    Builtin(BuiltinOp),
    /// A function that the prelude defines in Python (`rules/prelude/*.py`).
    Prelude {
        /// The file and the name in it: `itertools.pairwise`.
        definition: Arc<str>,
    },
}

impl Callable {
    /// Whether it makes a context manager that swallows what the body of its `with` raises.
    pub fn swallows_exceptions(&self) -> bool {
        matches!(self.effect, Effect::Builtin(BuiltinOp::Raises | BuiltinOp::Suppress))
    }

    /// The parameter of this name.
    pub fn param(&self, name: &str) -> Option<&Param> {
        self.params.iter().find(|param| param.name == name)
    }

    /// The position of a parameter, if it can be passed by position; for `*args`, the first position it takes.
    pub fn position(&self, name: &str) -> Option<usize> {
        position(&self.params, name)
    }

    /// Which of a call's arguments is bound to `name`, given the number of positional arguments and the keywords used.
    ///
    /// A namespace's default without parameters binds keyword arguments by name only. If a call spreads `*xs` or `**kw`, the caller must
    /// handle it, because only the caller knows their contents.
    pub fn argument(&self, name: &str, positional: usize, keywords: &[&str]) -> Option<Argument> {
        if !self.exact && self.params.is_empty() {
            return keywords.iter().position(|keyword| *keyword == name).map(Argument::Keyword);
        }
        argument(&self.params, name, positional, keywords)
    }

    /// Whether the result is an array that as an index selects several elements.
    pub fn makes_many(&self) -> bool {
        match &self.effect {
            Effect::Pure { many, .. } | Effect::Number { many, .. } => *many,
            Effect::Shape { op, .. } => *op == ShapeOp::Array,
            _ => false,
        }
    }

    /// Whether it only waits until its argument is computed.
    pub fn awaits(&self) -> bool {
        matches!(self.effect, Effect::Forward { awaits: true, .. })
    }
}

/// The arguments that are bound to a parameter: at most one, unless it is variadic.
pub fn bound<'a, T>(params: &[Param], name: &str, positional: &'a [T], keywords: &'a [(Arc<str>, T)]) -> Vec<&'a T> {
    let name = name.trim_start_matches('*');
    let place = position(params, name);
    match params.iter().find(|param| param.name == name).map(|param| param.kind) {
        Some(ParamKind::Rest) => positional.iter().skip(place.unwrap_or(usize::MAX)).collect(),
        Some(ParamKind::KeywordRest) => {
            let is_rest = |keyword: &str| !params.iter().any(|param| param.name == keyword);
            keywords.iter().filter(|(keyword, _)| is_rest(keyword)).map(|(_, value)| value).collect()
        }
        _ => {
            let by_name = || keywords.iter().find(|(keyword, _)| **keyword == *name).map(|(_, value)| value);
            place.and_then(|place| positional.get(place)).or_else(by_name).into_iter().collect()
        }
    }
}

fn position(params: &[Param], name: &str) -> Option<usize> {
    params
        .iter()
        .take_while(|param| matches!(param.kind, ParamKind::Positional | ParamKind::Rest))
        .position(|param| param.name == name)
}

fn argument(params: &[Param], name: &str, positional: usize, keywords: &[&str]) -> Option<Argument> {
    let param = params.iter().find(|param| param.name == name)?;
    let place = position(params, name);
    match param.kind {
        ParamKind::Rest => place.filter(|place| *place < positional).map(Argument::Rest),
        ParamKind::KeywordRest => keywords
            .iter()
            .any(|keyword| {
                !params.iter().any(|other| {
                    other.name == **keyword && matches!(other.kind, ParamKind::Positional | ParamKind::KeywordOnly)
                })
            })
            .then_some(Argument::KeywordRest),
        ParamKind::Positional | ParamKind::KeywordOnly => match place {
            Some(place) if place < positional => Some(Argument::Positional(place)),
            _ => keywords.iter().position(|keyword| *keyword == name).map(Argument::Keyword),
        },
    }
}
