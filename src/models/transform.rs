//! Rows about functions that run other functions.
//!
//! **Invariant:** plain data; parameter names are names of the callable that carries the transform.

use serde::Deserialize;

/// How often a transform runs its function, and on what.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Runs {
    /// Once for each call (`jit`, `grad`, `checkpoint`).
    Once,
    /// Once for each lane, all at once (`vmap`, `pmap`).
    Lanes,
    /// Once per device, in parallel, on blocks that keep the axes of the arguments (`shard_map`).
    Blocks,
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

/// How a transform runs its functions. Strings are names of its parameters.
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
    /// Arguments that are passed to the body unchanged.
    pub operands: Vec<String>,
    /// Whether each of `operands` is a sequence that holds the body's arguments (`jvp`'s `primals`).
    pub packed: bool,
    /// Arguments that the transform itself puts before the others, of unknown value (`tree_map_with_path`: 1).
    pub leading: usize,
    /// What the caller gets.
    pub result: TransformResult,
    /// The flag for bodies that return a pair of value and auxiliary result.
    pub aux: Option<String>,
    /// Whether Python runs the body once, to record what it computes; what runs at each call is the record.
    pub traced: bool,
    /// Whether calls of one function share a trace: what the function reads from outside is read by the first call. It gets
    /// lists and dicts of its own.
    pub cached: bool,
    /// The parameters that list, by number or by name, the arguments that are passed through untraced.
    pub statics: Vec<String>,
}
