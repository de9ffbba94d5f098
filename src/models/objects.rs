//! Rows about classes, annotations, and methods of objects of unknown class.
//!
//! **Invariant:** parameter names in a construct are parameters of its class (the loader checks it).

use std::collections::BTreeMap;

use serde::de::Error as _;
use serde::{Deserialize, Deserializer};

use super::raw::one_or_many;
use super::schema::Param;
use super::words::has_word;

/// How a program uses a stream, other than by its methods.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum StreamUse {
    /// It is called.
    Call,
    /// Its next element is requested.
    Next,
    /// A subscript of it is evaluated.
    Item,
}

/// What one method of a stream gives.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Yield {
    /// A fresh key.
    Key,
    /// A sequence of fresh keys.
    Keys,
    /// Numbers drawn from a fresh key.
    Number,
    /// Another stream.
    Stream,
    /// A sequence of other streams.
    Streams,
    /// Nothing that matters to keys.
    Nothing,
    /// Something the model does not know.
    #[default]
    Unknown,
}

/// What constructing a class does.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Construct {
    /// An object that returns a fresh key on each call, method call or `next`.
    Stream {
        /// Parameters that are keys or seeds (or dicts of them); a key given is consumed by the construction.
        seeds: Vec<String>,
        /// Whether its keys are children of a split of the key given, and not folds.
        splits: bool,
        /// Whether transforms follow its state, or refuse a stream from outside, so that no trace leaves a key in it.
        lifted: bool,
        /// What calling the object itself gives.
        call: Yield,
        /// What `next` and iteration give.
        next: Yield,
        /// What a subscript gives.
        items: Yield,
        /// What the named methods give, sorted by name.
        methods: Vec<(String, Yield)>,
        /// What every other method gives.
        otherwise: Yield,
    },
    /// An object that stores its fields: base class or decorator of dataclass-like classes.
    Record {
        /// Whether its fields cannot be assigned after construction.
        frozen: bool,
        /// Whether an instance is the tuple of its fields as well.
        sequence: bool,
        /// The parameters that are its fields, if the class itself has any.
        fields: Vec<String>,
    },
    /// An object that consumes the keys given, if any.
    Plain {
        /// Parameters that carry keys.
        consumes: Vec<String>,
    },
}

/// A class of a library.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Class {
    /// Its canonical path.
    pub path: String,
    /// Parameters of its constructor, without `self`.
    pub params: Vec<Param>,
    /// What construction does.
    pub construct: Construct,
    /// The method of its subclasses that each forward pass calls.
    pub forward: Option<String>,
    /// Class methods that make an instance of the values for its fields, and of others that they compute.
    pub makers: Vec<String>,
}

/// Typed, raw or unknown, according to an annotation.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum AnnotationKind {
    /// A typed key.
    Typed,
    /// A raw key.
    Raw,
    /// Either.
    Unknown,
}

/// The rank that an annotation gives.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Deserialize)]
#[serde(untagged, expecting = "expected a number of axes or `shape`")]
pub enum AnnotationRank {
    /// This many axes.
    Known(u8),
    /// As many axes as the shape string of the subscript has words: `Key[Array, "n m"]`. Written as `"shape"`.
    #[serde(deserialize_with = "shape")]
    Shape,
    /// Not given.
    #[default]
    #[serde(skip)]
    Unknown,
}

fn shape<'de, D: Deserializer<'de>>(from: D) -> Result<(), D::Error> {
    let word = String::deserialize(from)?;
    if word == "shape" { Ok(()) } else { Err(D::Error::custom("not `shape`")) }
}

/// A name that marks a parameter or field as a key.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Annotation {
    /// Its canonical path.
    #[serde(default)]
    pub path: String,
    #[serde(default)]
    pub(super) paths: Vec<String>,
    /// Typed or raw.
    pub kind: AnnotationKind,
    /// Rank.
    #[serde(default)]
    pub rank: AnnotationRank,
    /// Whether it goes when a project moves to typed keys, in favour of the library's array type.
    #[serde(default)]
    pub goes: bool,
}

/// The position of a method's key among its arguments, without `self`.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct KeyPlace {
    /// The position, if it can be passed by position.
    pub position: Option<usize>,
    /// The names it goes by when given by keyword.
    #[serde(default)]
    pub names: Vec<String>,
}

/// What a method that matches a protocol does.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum ProtocolEffect {
    /// Consumes the key (or the keys in the dict) at its key place.
    Consume,
    /// Returns a fresh key.
    Supply,
    /// Looks, does not consume.
    Observe,
    /// A context manager whose body is expected to raise.
    Raises,
    /// Consumes the key and returns an array of children.
    Split,
    /// Returns a copy of the receiver with the fields of the keywords replaced.
    Replace,
}

/// The result of a call that draws nothing.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum UndrawnResult {
    /// It is the same for every key: the initial carry of a recurrent cell is zeros.
    Constant,
    /// It may depend on the key.
    Unknown,
}

/// What methods of a name do on objects whose class is not known.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct Protocol {
    /// The method's name.
    #[serde(skip)]
    pub method: String,
    #[serde(rename = "method", deserialize_with = "one_or_many")]
    pub(super) methods: Vec<String>,
    /// The roots of which the file, or a module of the project that it imports, must import one; if it imports no library that has a method
    /// of this name, a key at the key's position is enough evidence.
    pub libraries: Vec<String>,
    /// The position of the key.
    #[serde(default)]
    pub key: KeyPlace,
    /// What is done.
    pub effect: ProtocolEffect,
    /// The fewest positional arguments a call must have to match.
    #[serde(default)]
    pub min_positional: usize,
    /// The most positional arguments a call may have to match.
    pub max_positional: Option<usize>,
    /// The method of the receiver that the call runs, on what follows the first argument, unless `method=` names another.
    pub runs: Option<String>,
    /// The fields of the copy that are others in any case.
    #[serde(default)]
    pub changes: Vec<String>,
    /// The parts of the result, by name, into which nothing is drawn.
    #[serde(default)]
    pub blank: Vec<String>,
    /// Whether it reads nothing but the shapes of its other arguments.
    #[serde(default)]
    pub reads_shapes: bool,
    /// Words, one of which the receiver's name has; empty if every receiver counts.
    #[serde(default)]
    pub receivers: Vec<String>,
    /// The receiver's method that declares a parameter with an initialiser, its second argument, which the call runs: if all are constant
    /// and the receiver's methods request no key in another way, nothing is drawn.
    pub declares: Option<String>,
    /// Methods of the receiver that request no key.
    #[serde(default)]
    pub requests_no_key: Vec<String>,
    /// Whether each draw uses a key with the path of the drawing submodule folded in: equal keys give equal numbers only to calls of the
    /// same method.
    #[serde(default)]
    pub folds_path: bool,
    /// The result if the receiver was not made to draw, as by default; `None` if the call draws in any case.
    pub no_draw_by_default: Option<UndrawnResult>,
    /// Keywords of constructors with which a receiver draws.
    #[serde(default)]
    pub drawn_with: Vec<String>,
    /// Flags by keyword, each with the value for which the call may draw nothing.
    #[serde(default)]
    pub no_draw_when: BTreeMap<String, bool>,
    /// Whether it draws only with the keys that the function requests from which the library made the receiver.
    #[serde(default)]
    pub draws_requested: bool,
    /// Keywords with which the call may draw nothing: they supply the values that would be drawn.
    #[serde(default)]
    pub no_draw_with: Vec<String>,
    /// Streams with which alone the call may draw nothing: that of parameters that already exist.
    #[serde(default)]
    pub no_draw_streams: Vec<String>,
    /// Streams from which nothing in the result is drawn.
    #[serde(skip)]
    pub dropped_streams: Vec<String>,
    #[serde(rename = "dropped-streams", default)]
    pub(super) dropped: BTreeMap<String, Vec<String>>,
    #[serde(default)]
    pub(super) draws_by: BTreeMap<String, Vec<String>>,
    pub(super) initialiser_suffix: Option<String>,
    /// How the submodules get the names that paths consist of, if the library folds paths and does so by their classes.
    pub submodules: Option<Submodules>,
    /// Callables that make receivers whose method takes no key, so that the argument in its position is something else.
    #[serde(default)]
    pub keyless: Vec<String>,
}

impl Protocol {
    /// Whether a receiver of this name has the method.
    pub fn admits(&self, receiver: Option<&str>) -> bool {
        self.receivers.is_empty() || receiver.is_some_and(|name| has_word(&self.receivers, name))
    }
}

/// How the submodules of a library's modules get their names: from the attribute that holds them or from their class, unless their
/// constructors get a name.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct Submodules {
    /// The method that makes submodules and stores them in attributes; others make them where they use them.
    pub made_in: String,
    /// The constructor's keyword for a name.
    pub named_by: String,
}

/// With which initialisers instances of a library's class draw when they are initialised.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DrawsBy {
    /// The parameters for the initialisers with which it draws by default: if all of these, and all others that are passed, are constant,
    /// nothing is drawn.
    pub drawing: Vec<String>,
    /// What the names of all parameters end with that take initialisers.
    pub suffix: Option<String>,
}

impl DrawsBy {
    /// Whether the parameter of this name takes an initialiser.
    pub fn takes_initialiser(&self, name: &str) -> bool {
        self.suffix.as_ref().is_some_and(|suffix| name.ends_with(suffix)) || self.drawing.iter().any(|one| one == name)
    }
}

impl Class {
    /// What the method of this name gives, where the class is a stream.
    pub fn method(&self, name: &str) -> Option<Yield> {
        match &self.construct {
            Construct::Stream { methods, otherwise, .. } => {
                Some(methods.iter().find(|(method, _)| method == name).map_or(*otherwise, |(_, given)| *given))
            }
            Construct::Record { .. } | Construct::Plain { .. } => None,
        }
    }
}
