//! What a model says, as plain data.
//!
//! **Invariant:** parameter names held by an effect are names of parameters of the callable that carries it
//! (the loader checks it), so [`Callable::argument`] finds them by name.

use serde::Deserialize;

/// A library that a model file describes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Library {
    /// Its canonical root: `jax`.
    pub name: String,
    /// The versions that the rows were checked against, as written: `>=0.4.16`.
    pub versions: String,
}

/// How a parameter takes its arguments.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum ParamKind {
    /// By position or by name.
    Positional,
    /// By name only.
    KeywordOnly,
    /// All further positional arguments (`*args`).
    Rest,
    /// All further keyword arguments (`**kwargs`).
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

/// A function (or a constructor that is not modelled as a [`Class`]) and what it does with keys.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Callable {
    /// Its canonical path, or the path of the namespace whose default it is.
    pub path: String,
    /// Its parameters in order; empty in a namespace default that names none.
    pub params: Vec<Param>,
    /// What it does.
    pub effect: Effect,
    /// False where no row names the path and a namespace's default speaks for it.
    pub exact: bool,
    /// The version that brought it, where later than the library's first modelled version.
    pub since: Option<String>,
    /// The version that removed it.
    pub removed: Option<String>,
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
        /// The parameter that is the number (or shape) of children; absent where no parameter tells it.
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
    },
    /// A library function or constructor that consumes the keys given, or the keys in the dict, list or tuple given.
    Consume {
        /// The parameters that carry keys; in a namespace default, names to look for among keyword arguments.
        keys: Vec<String>,
    },
    /// Looks and does not consume; the result is unknown and holds no key.
    Observe,
    /// Returns an argument unchanged, same keys.
    Forward {
        /// The parameter that is returned.
        of: String,
    },
    /// A deterministic function of its arguments, without keys in its result.
    Pure {
        /// Whether an argument that is a key is thereby treated as a number (`jnp.sum(key)`).
        numeric: bool,
    },
    /// Rearranges arrays, possibly arrays of keys.
    Shape {
        /// How.
        op: ShapeOp,
        /// The parameters that hold the arrays.
        of: Vec<String>,
    },
    /// Makes an array like its argument, and so a key out of nothing when given one (`zeros_like`).
    Fabricate {
        /// The parameter that is the pattern.
        of: String,
    },
    /// Turns its argument into plain numbers (`int`, `np.asarray`); a raw key's result is its words.
    Number {
        /// The parameter that is turned.
        of: String,
    },
    /// Asks for a shape.
    ShapeOf {
        /// What is asked.
        query: ShapeQuery,
        /// The parameter that is asked about.
        of: String,
    },
    /// Returns a fresh key at each call.
    Supply {
        /// Whether it returns a sequence of fresh keys instead.
        many: bool,
    },
    /// Runs a function it is given, or returns one that will.
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
}

/// How an array operation rearranges its arrays.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum ShapeOp {
    /// `reshape(a, shape)`.
    Reshape,
    /// `ravel(a)`, `flatten`.
    Ravel,
    /// `transpose(a, axes)`.
    Transpose,
    /// `matrix_transpose(a)`.
    MatrixTranspose,
    /// `swapaxes(a, axis1, axis2)`.
    Swapaxes,
    /// `moveaxis(a, source, destination)`.
    Moveaxis,
    /// `rollaxis(a, axis, start)`.
    Rollaxis,
    /// `rot90(m)`.
    Rot90,
    /// `flip(m, axis)`.
    Flip,
    /// `flipud(m)`.
    Flipud,
    /// `fliplr(m)`.
    Fliplr,
    /// `roll(a, shift, axis)`.
    Roll,
    /// `squeeze(a, axis)`.
    Squeeze,
    /// `expand_dims(a, axis)`.
    ExpandDims,
    /// `broadcast_to(array, shape)`.
    BroadcastTo,
    /// `broadcast_arrays(*args)`: a list of arrays.
    BroadcastArrays,
    /// `repeat(a, repeats, axis)`.
    Repeat,
    /// `tile(A, reps)`.
    Tile,
    /// `stack(arrays, axis)`.
    Stack,
    /// `vstack(tup)`.
    Vstack,
    /// `hstack(tup)`.
    Hstack,
    /// `dstack(tup)`.
    Dstack,
    /// `column_stack(tup)`.
    ColumnStack,
    /// `concatenate(arrays, axis)`, `append`.
    Concatenate,
    /// `where(condition, x, y)`.
    Where,
    /// `select(condlist, choicelist, default)`.
    Select,
    /// `take(a, indices, axis)`.
    Take,
    /// `take_along_axis(arr, indices, axis)`.
    TakeAlongAxis,
    /// `dynamic_index_in_dim(operand, index, axis, keepdims)`.
    Index,
    /// `slice_in_dim`, `dynamic_slice` and kin.
    Slice,
    /// `split(ary, indices_or_sections, axis)` of arrays, not of keys.
    Split,
    /// `unstack(x, axis)`.
    Unstack,
    /// `array(object)` where the object may be a list of keys.
    Array,
    /// `full(shape, fill_value)`: copies of one value.
    Full,
    /// `atleast_1d`, `atleast_2d`, `atleast_3d`.
    Atleast,
    /// `pad(array, …)`.
    Pad,
    /// `delete`, `compress`, `extract`: some of the elements, not known which.
    Some,
    /// `insert`, `dynamic_update_slice`, `scatter`: the array with elements of others put in.
    Update,
    /// `sort`, `unique`, `permutation`-like: the same elements in an order that is not known.
    Reorder,
}

/// What a call asks of a shape.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum ShapeQuery {
    /// `jnp.shape`.
    Shape,
    /// `jnp.ndim`.
    Ndim,
    /// `jnp.size`.
    Size,
    /// `jnp.result_type`, `dtypes.issubdtype(key.dtype, …)`.
    Dtype,
}

/// What a tree operation does.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum TreeOp {
    /// The list of leaves.
    Leaves,
    /// The pair of leaves and structure.
    Flatten,
    /// A tree of leaves and structure.
    Unflatten,
    /// The structure alone: holds no key.
    Structure,
    /// Leaves with their paths: `(path, leaf)` pairs.
    LeavesWithPath,
    /// The pair of `(path, leaf)` pairs and structure.
    FlattenWithPath,
    /// A predicate over leaves: holds no key.
    All,
    /// A tree of trees turned inside out: the same keys.
    Transpose,
    /// One tree parted into two of the same keys (`eqx.partition`).
    Partition,
    /// Several trees combined into one of the same keys (`eqx.combine`).
    Combine,
}

/// How often a transform runs its function, and on what.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Runs {
    /// Once for each call (`jit`, `grad`, `checkpoint`).
    Once,
    /// Once for each lane, all at once (`vmap`, `pmap`, `shard_map`).
    Lanes,
    /// `scan`: once for each element, with a carry.
    Scan,
    /// `lax.map`: once for each element.
    Map,
    /// `fori_loop`: with the index and a carry.
    Fori,
    /// `while_loop`: while the condition holds of the carry.
    While,
    /// `cond`: one of two branches.
    Cond,
    /// `switch`: one of several branches.
    Switch,
    /// `associative_scan`: on pairs of slices, an unknown number of times.
    Associative,
    /// `tree.map`: once for each leaf.
    TreeMap,
    /// `functools.reduce`, `tree.reduce`: folds elements pairwise.
    Reduce,
    /// Only traced for shapes (`eval_shape`, `make_jaxpr`): what it consumes is not consumed.
    Abstract,
}

/// What a transform's own call returns.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Returns {
    /// A function that runs the body when called.
    Function,
    /// The result of having run the body.
    Result,
}

/// How the result of the body becomes the result that the caller sees.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum TransformResult {
    /// The body's own result (stacked over lanes or iterations where there are several).
    #[default]
    Value,
    /// Gradients; with `aux`, a pair of gradients and auxiliary result.
    Grad,
    /// A pair of the body's result and gradients.
    ValueAndGrad,
    /// A pair of the body's result and tangents.
    Jvp,
    /// A pair of the body's result and a pullback.
    Vjp,
    /// Nothing that the model knows.
    Opaque,
}

/// How a transform runs the functions it is given. Strings are names of its parameters.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Transform {
    /// How often, and on what.
    pub runs: Runs,
    /// What the call returns.
    pub returns: Returns,
    /// The parameter that is the function; where a call leaves it out and `returns` is a function, the call makes a decorator.
    pub function: Option<String>,
    /// The branches of `cond` and `switch`: parameters that are functions, or one that is a sequence of functions.
    pub branches: Vec<String>,
    /// What chooses the branch: the predicate or index of `cond` and `switch`.
    pub chosen: Option<String>,
    /// The condition of `while`.
    pub cond: Option<String>,
    /// The axes mapped, of the inputs.
    pub axes: Option<String>,
    /// The axes mapped, of the outputs.
    pub out_axes: Option<String>,
    /// The initial carry.
    pub carry: Option<String>,
    /// What is iterated over, one body argument each.
    pub over: Vec<String>,
    /// Number of iterations, where a parameter gives it.
    pub length: Option<String>,
    /// First index of `fori`.
    pub lower: Option<String>,
    /// End index of `fori`.
    pub upper: Option<String>,
    /// Arguments that are handed to the body as they are.
    pub operands: Vec<String>,
    /// Whether each of `operands` is a sequence that holds the body's arguments (`jvp`'s `primals`).
    pub packed: bool,
    /// Arguments that the transform itself puts before the others, of unknown value (`tree_map_with_path`: 1).
    pub leading: usize,
    /// What the caller gets.
    pub result: TransformResult,
    /// The flag that says that the body returns a pair of value and auxiliary result.
    pub aux: Option<String>,
    /// Whether the body is traced once and then replayed with captured values frozen.
    pub traced: bool,
}

/// Operations of Python itself.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Deserialize)]
#[serde(rename_all = "kebab-case")]
#[expect(missing_docs, reason = "each is the function of the same name")]
pub enum BuiltinOp {
    Abs,
    Accumulate,
    All,
    Any,
    Asdict,
    Astuple,
    Attrgetter,
    Batched,
    Bool,
    Cached,
    CachedProperty,
    Callable,
    Chain,
    ChainFromIterable,
    Classmethod,
    Combinations,
    Compress,
    ContextManager,
    Copy,
    Count,
    Counter,
    Cycle,
    Deepcopy,
    Defaultdict,
    Delattr,
    Deque,
    Dict,
    Dropwhile,
    Enumerate,
    Eval,
    Field,
    Fields,
    Filter,
    FilterFalse,
    Frozenset,
    Getattr,
    Getitem,
    Globals,
    Groupby,
    Hasattr,
    Hash,
    Id,
    Identity,
    Input,
    Isinstance,
    Islice,
    Issubclass,
    Itemgetter,
    Iter,
    Len,
    List,
    Locals,
    Map,
    Max,
    Methodcaller,
    Min,
    Namedtuple,
    Namespace,
    Next,
    Nullcontext,
    Object,
    Open,
    OrderedDict,
    Pairwise,
    Partial,
    PartialMethod,
    Permutations,
    Print,
    Product,
    Property,
    Range,
    Repeat,
    Replace,
    Repr,
    Reversed,
    Round,
    Set,
    Setattr,
    SingleDispatch,
    Slice,
    Sorted,
    Starmap,
    Staticmethod,
    Str,
    Sum,
    Super,
    Takewhile,
    Tee,
    Tuple,
    Type,
    Vars,
    Wraps,
    Zip,
    ZipLongest,
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
    /// An object that hands out a fresh key at each call, method call or `next`.
    Stream {
        /// Parameters that are keys or seeds (or dicts of them); a key given is consumed by the construction.
        seeds: Vec<String>,
        /// What calling the object itself gives.
        call: Yield,
        /// What `next` and iteration give.
        next: Yield,
        /// What the named methods give, sorted by name.
        methods: Vec<(String, Yield)>,
        /// What every other method gives.
        otherwise: Yield,
    },
    /// An object that holds what its fields are given: base class or decorator of dataclass-like classes.
    Record {
        /// Whether its fields cannot be assigned after construction.
        frozen: bool,
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
}

/// Typed, raw or unknown, as far as an annotation tells.
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

/// The rank that an annotation tells.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum AnnotationRank {
    /// This many axes.
    Known(u8),
    /// As many axes as the shape string of the subscript has words: `Key[Array, "n m"]`.
    Shape,
    /// Not told.
    Unknown,
}

/// A name that marks a parameter or field as a key.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Annotation {
    /// Its canonical path.
    pub path: String,
    /// Typed or raw.
    pub kind: AnnotationKind,
    /// Rank.
    pub rank: AnnotationRank,
}

/// Where a method's key stands among its arguments, `self` not counted.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct KeyPlace {
    /// The position, where it can be given by position.
    pub position: Option<usize>,
    /// The names it goes by when given by keyword.
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
    /// Consumes the key and returns an array of children.
    Split,
}

/// What methods of a name do on objects whose class is not known.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Protocol {
    /// The method's name.
    pub method: String,
    /// The roots of which the file, or a module of the project that it imports, must import one.
    pub libraries: Vec<String>,
    /// Where the key stands.
    pub key: KeyPlace,
    /// What is done.
    pub effect: ProtocolEffect,
    /// The fewest positional arguments a call must have to match.
    pub min_positional: usize,
    /// The most positional arguments a call may have to match.
    pub max_positional: Option<usize>,
}

impl Callable {
    /// The parameter of this name.
    pub fn param(&self, name: &str) -> Option<&Param> {
        self.params.iter().find(|param| param.name == name)
    }

    /// The position of a parameter, where it can be given by position; for `*args`, the first position it takes.
    pub fn position(&self, name: &str) -> Option<usize> {
        position(&self.params, name)
    }

    /// Which of a call's arguments is bound to `name`, given the number of positional arguments and the keywords used.
    ///
    /// A call that spreads `*xs` or `**kw` must be answered by the caller, who alone knows what they hold.
    pub fn argument(&self, name: &str, positional: usize, keywords: &[&str]) -> Option<Argument> {
        argument(&self.params, name, positional, keywords)
    }

    /// The parameter that takes the positional argument with this index.
    pub fn takes_position(&self, index: usize) -> Option<&Param> {
        self.params
            .iter()
            .take_while(|param| matches!(param.kind, ParamKind::Positional | ParamKind::Rest))
            .enumerate()
            .find(|(place, param)| *place == index || (param.kind == ParamKind::Rest && *place <= index))
            .map(|(_, param)| param)
    }

    /// The parameter that takes the keyword argument of this name.
    pub fn takes_keyword(&self, keyword: &str) -> Option<&Param> {
        self.params
            .iter()
            .find(|param| param.name == keyword && matches!(param.kind, ParamKind::Positional | ParamKind::KeywordOnly))
            .or_else(|| self.params.iter().find(|param| param.kind == ParamKind::KeywordRest))
    }

    /// The names of the parameters that carry keys, as far as the effect names them.
    pub fn key_params(&self) -> &[String] {
        match &self.effect {
            Effect::Sample { keys } | Effect::Consume { keys } => keys,
            Effect::Split { key, .. } | Effect::Fold { key, .. } | Effect::Clone { key } | Effect::KeyData { key } => {
                std::slice::from_ref(key)
            }
            _ => &[],
        }
    }
}

impl Class {
    /// Which of a constructor call's arguments is bound to `name`; see [`Callable::argument`].
    pub fn argument(&self, name: &str, positional: usize, keywords: &[&str]) -> Option<Argument> {
        argument(&self.params, name, positional, keywords)
    }

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
