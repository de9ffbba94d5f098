//! Errors, worded as in JAX if JAX would raise one too.
//!
//! **Invariant:** if the result cannot be computed to the documented precision, the request is an error, never a wrong number.

use super::dtype::DType;

/// Why a request has no result.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Error {
    /// A batch of keys where JAX expects one key.
    #[error(
        "{function} accepts a single key, but was given a key array of shape {} != (); use vmap for batching",
        shape_text(.shape)
    )]
    KeyArray {
        /// The function that was called.
        function: &'static str,
        /// The shape of the key array.
        shape: Vec<usize>,
    },
    /// An array that cannot be key data because its elements are not `uint32`.
    #[error("JAX expects key data of dtype uint32, got dtype {0}")]
    KeyDataType(DType),
    /// An array that cannot be key data because its last axis has the wrong length.
    #[error(
        "JAX expects key data of {implementation} to have a shape that ends with ({width},), got shape {}",
        shape_text(.shape)
    )]
    KeyDataShape {
        /// The name of the implementation.
        implementation: &'static str,
        /// Words in one of its keys.
        width: usize,
        /// The shape of the array.
        shape: Vec<usize>,
    },
    /// A Python integer that does not fit the type to which JAX converts it.
    #[error("Python integer {value} out of bounds for {dtype}")]
    Overflow {
        /// The integer.
        value: i128,
        /// The type.
        dtype: DType,
    },
    /// A name that is not one of JAX's implementations.
    #[error(
        "unrecognized PRNG implementation {0:?}; JAX has threefry2x32, \
          rbg, unsafe_rbg, threefry4x32, philox2x32 and philox4x32"
    )]
    UnknownImplementation(String),
    /// A dtype that the function cannot draw.
    #[error("{function} draws {expected}, not {got}")]
    DrawType {
        /// The function that was called.
        function: &'static str,
        /// What it draws.
        expected: &'static str,
        /// What was requested.
        got: DType,
    },
    /// A parameter that does not broadcast to the shape of the draw.
    #[error("{function}: shape {} does not broadcast to {}", shape_text(.from), shape_text(.to))]
    Broadcast {
        /// The function that was called.
        function: &'static str,
        /// The shape of the parameter.
        from: Vec<usize>,
        /// The shape it has to fit.
        to: Vec<usize>,
    },
    /// An axis the array does not have.
    #[error("{function}: axis {axis} is out of bounds for an array of dimension {rank}")]
    Axis {
        /// The function that was called.
        function: &'static str,
        /// The axis.
        axis: isize,
        /// The number of axes.
        rank: usize,
    },
    /// An argument JAX rejects.
    #[error("{function}: {problem}")]
    Argument {
        /// The function that was called.
        function: &'static str,
        /// What is wrong.
        problem: String,
    },
    /// A request that is valid in JAX but not supported here.
    #[error("{what} is not supported by the reference PRNG: {why}")]
    Unsupported {
        /// The function or option.
        what: String,
        /// The reason.
        why: &'static str,
    },
    /// A draw whose result is too large.
    #[error("an array of shape {} is too large for the reference PRNG (limit: {limit} elements)", shape_text(.shape))]
    TooLarge {
        /// The requested shape.
        shape: Vec<usize>,
        /// The most elements an array may have.
        limit: usize,
    },
}

/// The result type of this module's fallible functions.
pub type Result<T> = std::result::Result<T, Error>;

/// A shape as Python writes it: `()`, `(3,)`, `(2, 3)`.
pub fn shape_text(shape: &[usize]) -> String {
    match shape {
        [only] => format!("({only},)"),
        _ => format!("({})", shape.iter().map(usize::to_string).collect::<Vec<_>>().join(", ")),
    }
}
