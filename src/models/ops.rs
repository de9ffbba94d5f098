//! The operations that rows name: closed lists, each known to the interpreters.
//!
//! **Invariant:** every operation is named by some row of the built-in models.

use serde::Deserialize;

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
    /// `where(condition, x, y)`: the first array where the condition holds.
    Where,
    /// `select(condlist, choicelist, default)`, `select_n(which, *cases)`: a choice that no single truth makes.
    Select,
    /// `take(a, indices, axis)`.
    Take,
    /// `take_along_axis(arr, indices, axis)`.
    TakeAlongAxis,
    /// `dynamic_index_in_dim(operand, index, axis, keepdims)`.
    Index,
    /// `slice_in_dim`, `dynamic_slice` and similar functions.
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
}

/// What a key is converted to when it is used as numbers.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum NumberOp {
    /// A number, or something else that a key is not: `complex(key)`.
    #[default]
    Value,
    /// A number of Python with a fraction: `float(key)`.
    Float,
    /// A number of Python without: `int(key)`.
    Integer,
    /// An array: the words of a raw key, `np.asarray(key)`, `key.tolist()`, `np.save(file, key)`.
    Words,
    /// The same array of another dtype: `key.astype(dtype)`.
    Cast,
}

/// Which property of a shape a call queries.
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
    /// A copy of a tree in which other values replace the parts that a function selects (`eqx.tree_at`).
    At,
    /// A copy of a module in which the parts that draw by a flag draw nothing (`eqx.nn.inference_mode`).
    Quiet,
}

/// Operations of Python itself.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Deserialize)]
#[serde(rename_all = "kebab-case")]
#[expect(missing_docs, reason = "each is the function of the same name")]
pub enum BuiltinOp {
    Abs,
    All,
    Any,
    Asdict,
    Astuple,
    Attrgetter,
    Bool,
    Cached,
    CachedProperty,
    Callable,
    Chain,
    Classmethod,
    Clock,
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
    Enumerate,
    Eval,
    /// What never returns: `sys.exit`.
    Exit,
    Field,
    Fields,
    Frozenset,
    Getattr,
    Globals,
    Hasattr,
    Hash,
    Id,
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
    Min,
    Namedtuple,
    Namespace,
    Next,
    Nullcontext,
    Object,
    Open,
    OrderedDict,
    Partial,
    PartialMethod,
    Print,
    Property,
    Raises,
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
    Suppress,
    Tuple,
    Type,
    Vars,
    Wraps,
    Zip,
}
