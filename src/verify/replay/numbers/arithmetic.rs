//! Operators on numbers and arrays, with JAX's type promotion.
//!
//! Operations on Python numbers follow Python. With an array, a Python number takes the type of the array if the kinds allow it, so
//! `PRNGKey(0) + 1` stays `uint32`; two arrays follow the lattice of JAX's type promotion, so `PRNGKey(0) + jnp.arange(2)` is `int32` and
//! no longer a key.
//!
//! **Invariant:** a result is rounded once, in its promoted type, or is refused: where XLA's own result depends on flushed subnormals,
//! library functions or division by zero, there is none.

#![expect(
    clippy::cast_precision_loss,
    reason = "Python and JAX convert integers to floating-point numbers by rounding"
)]

use std::rc::Rc;

use super::super::step::{integers, reals};
use super::super::value::{Tensor, Value};
use super::arguments::elements;
use super::{Outcome, Problem, complex};
use crate::arrays::joint_shape;
use crate::ir::Operator;
use crate::prng::array::Array;
use crate::prng::dtype::{DType, DTypeKind};
use crate::prng::error::Result;
use crate::prng::float::Float as _;
use crate::prng::keys::Keys;
use crate::prng::mode::Mode;
use crate::text::Span;

/// A number or an array as an array; a Python number has JAX's default type, which it has to fit.
pub fn tensor(mode: Mode, value: &Value<'_>, span: Span) -> Outcome<Tensor> {
    let weak = |array: Array| Tensor { array: Rc::new(array), weak: true };
    match value {
        Value::Array(tensor) => Ok(tensor.clone()),
        Value::Bool(value) => Ok(Tensor { weak: false, ..weak(Array::integer(DType::Bool, i128::from(*value))) }),
        Value::Int(value) => {
            Array::python_int(mode, *value).map(weak).map_err(|error| Problem::new(span, error.to_string()))
        }
        Value::Float(value) => Ok(weak(Array::python_float(mode, *value))),
        Value::Complex(real, imaginary) => {
            let array = Array::from_complexes(DType::default_complex(mode), &[], [(*real, *imaginary)]);
            array.map(weak).map_err(|error| Problem::new(span, error.to_string()))
        }
        _ => Err(Problem::new(span, format!("expected an array or a number, got {}", value.description()))),
    }
}

/// Converts an array as `astype` does; XLA's result for a number out of range differs between machines.
pub fn convert(array: &Array, dtype: DType, span: Span) -> Outcome<Array> {
    if array.dtype().kind() == DTypeKind::Real && dtype.is_integer() {
        let (low, high) = dtype.bounds();
        // Both bounds are exact: `high + 1` is a power of two.
        let fits = |value: &f64| value.trunc() >= low as f64 && value.trunc() < (high + 1) as f64;
        if !array.reals().iter().all(fits) {
            return Err(Problem::new(span, format!("a number is out of bounds for {dtype}")));
        }
    }
    Ok(array.cast(dtype))
}

/// What a type is to promotion.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Operand {
    Strong(DType),
    WeakInteger,
    WeakReal,
    WeakComplex,
}

impl Operand {
    fn of(tensor: &Tensor) -> Self {
        match (tensor.weak, tensor.array.dtype().kind()) {
            (true, DTypeKind::Real) => Self::WeakReal,
            (true, DTypeKind::Complex) => Self::WeakComplex,
            (true, DTypeKind::Signed | DTypeKind::Unsigned) => Self::WeakInteger,
            _ => Self::Strong(tensor.array.dtype()),
        }
    }

    /// The least type both can become: JAX's lattice.
    fn join(self, other: Self) -> Self {
        use Operand::{Strong, WeakComplex, WeakInteger, WeakReal};
        match (self, other) {
            (a, b) if a == b => a,
            (Strong(a), Strong(b)) => join_types(a, b),
            (Strong(DType::Bool), weak) | (weak, Strong(DType::Bool)) => weak,
            (Strong(strong), WeakInteger) | (WeakInteger, Strong(strong)) => Strong(strong),
            (Strong(strong), WeakReal) | (WeakReal, Strong(strong))
                if matches!(strong.kind(), DTypeKind::Real | DTypeKind::Complex) =>
            {
                Strong(strong)
            }
            (Strong(strong), WeakComplex) | (WeakComplex, Strong(strong))
                if matches!(strong.kind(), DTypeKind::Real | DTypeKind::Complex) =>
            {
                Strong(strong.complex())
            }
            (WeakComplex, _) | (_, WeakComplex) => WeakComplex,
            _ => WeakReal,
        }
    }

    /// What a quotient of such numbers is.
    fn divided(self, mode: Mode) -> Self {
        match self {
            Self::Strong(dtype) => Self::Strong(dtype.canonical(mode).inexact(mode)),
            Self::WeakInteger => Self::WeakReal,
            weak => weak,
        }
    }

    fn dtype(self, mode: Mode) -> DType {
        match self {
            Self::Strong(dtype) => dtype.canonical(mode),
            Self::WeakInteger => DType::default_int(mode),
            Self::WeakReal => DType::default_float(mode),
            Self::WeakComplex => DType::default_complex(mode),
        }
    }
}

fn join_types(a: DType, b: DType) -> Operand {
    use DTypeKind::{Bool, Complex, Real, Signed, Unsigned};
    let wider = if a.width() >= b.width() { a } else { b };
    Operand::Strong(match (a.kind(), b.kind()) {
        (Complex, Real) | (Real, Complex) => {
            if [a, b].contains(&DType::Float64) {
                DType::Complex128
            } else {
                wider.complex()
            }
        }
        (Complex, Complex) => wider,
        (Complex, _) => a,
        (Bool, _) | (_, Complex) => b,
        (Real, Real) if a.width() == b.width() && a != b => DType::Float32,
        (Real, Real) | (Signed, Signed) | (Unsigned, Unsigned) => wider,
        (_, Bool) | (Real, _) => a,
        (_, Real) => b,
        (Signed, Unsigned) if a.width() > b.width() => a,
        (Unsigned, Signed) if b.width() > a.width() => b,
        (Signed | Unsigned, _) => {
            let unsigned = if a.kind() == Unsigned { a } else { b };
            match unsigned.width() {
                8 => DType::Int16,
                16 => DType::Int32,
                32 => DType::Int64,
                _ => return Operand::WeakReal,
            }
        }
    })
}

/// The type that all of some arrays promote to, and whether it is weak.
pub fn common_type(mode: Mode, tensors: &[Tensor]) -> Option<(DType, bool)> {
    let joined = tensors.iter().map(Operand::of).reduce(Operand::join)?;
    Some((joined.dtype(mode), !matches!(joined, Operand::Strong(_))))
}

/// Applies a binary operator.
pub fn binary<'a>(
    mode: Mode,
    operator: Operator,
    left: &Value<'a>,
    right: &Value<'a>,
    span: Span,
) -> Outcome<Value<'a>> {
    in_lane(mode, operator, (left, right), false, span)
}

/// Applies a binary operator in one lane; whether the right operand is the same in all lanes and the left one is not.
pub fn in_lane<'a>(
    mode: Mode,
    operator: Operator,
    (left, right): (&Value<'a>, &Value<'a>),
    is_shared: bool,
    span: Span,
) -> Outcome<Value<'a>> {
    let problem = |message: String| Problem::new(span, message);
    match (left, right) {
        (Value::Keys(left), Value::Keys(right)) => compare_keys(operator, &left.keys, &right.keys, span),
        (Value::Keys(keys), _) | (_, Value::Keys(keys)) => Err(problem(format!(
            "typed keys of dtype {} do not support arithmetic: derive keys with split or fold_in",
            keys.keys.implementation().key_dtype()
        ))),
        (Value::Array(_), _) | (_, Value::Array(_)) => {
            let (left, right) = (tensor(mode, left, span)?, tensor(mode, right, span)?);
            arrays(mode, operator, (&left, &right), is_shared, span)
        }
        _ => python_numbers(operator, left, right, span),
    }
}

fn compare_keys<'a>(operator: Operator, left: &Keys, right: &Keys, span: Span) -> Outcome<Value<'a>> {
    let problem = |message: String| Problem::new(span, message);
    let equal = match operator {
        Operator::Eq => true,
        Operator::Ne => false,
        _ => {
            let dtype = left.implementation().key_dtype();
            return Err(problem(format!("typed keys of dtype {dtype} support no operators but == and !=")));
        }
    };
    let shape = joint_shape(left.shape(), right.shape());
    elements(&shape, span)?;
    let compare = |shape: &[usize]| -> Result<Option<Array>> {
        let (left, right) = (left.broadcast_to("equal", shape)?, right.broadcast_to("equal", shape)?);
        let answers = left.equal(&right).map(|answers| answers.into_iter().map(|answer| answer == equal).collect());
        answers.map(|answers| Array::from_bools(shape, answers)).transpose()
    };
    compare(&shape).map_err(|error| problem(error.to_string()))?.map(Value::array).ok_or_else(|| {
        let (left, right) = (left.implementation().key_dtype(), right.implementation().key_dtype());
        problem(format!("keys of dtype {left} and {right} cannot be compared"))
    })
}

fn arrays<'a>(
    mode: Mode,
    operator: Operator,
    (left, right): (&Tensor, &Tensor),
    is_shared: bool,
    span: Span,
) -> Outcome<Value<'a>> {
    let problem = |message: &str| Problem::new(span, message);
    if operator == Operator::MatMul {
        return product(mode, left, right, is_shared, span);
    }
    if let Some(exponent) = constant_power(operator, left, right) {
        let powers = raised(&left.array, exponent);
        let array =
            Rc::new(powers.ok_or_else(|| problem(UNSUPPORTED_REAL))?.map_err(|error| problem(&error.to_string()))?);
        return Ok(Value::Array(Tensor { array, weak: left.weak }));
    }
    let mut joined = Operand::of(left).join(Operand::of(right));
    if operator == Operator::Div {
        joined = joined.divided(mode);
    }
    if operator == Operator::Pow && right.array.rank() == 0 && Operand::of(right) == Operand::WeakInteger {
        if right.array.integers().iter().any(|&exponent| exponent < 0) {
            return Err(problem("integers cannot be raised to negative powers"));
        }
        joined = Operand::of(left);
    }
    let dtype = joined.dtype(mode);
    let shape = joint_shape(left.array.shape(), right.array.shape());
    elements(&shape, span)?;
    let spread = |tensor: &Tensor| tensor.array.cast(dtype).broadcast_to("broadcasting", &shape);
    let operands = spread(left).and_then(|left| Ok((left, spread(right)?)));
    let (a, b) = operands.map_err(|error| Problem::new(span, error.to_string()))?;
    let result = match operator {
        comparison if is_comparison(comparison) => {
            let answers: Option<Vec<bool>> = if dtype.kind() == DTypeKind::Complex {
                let wanted = comparison == Operator::Eq;
                let pairs = a.complexes().into_iter().zip(b.complexes());
                let has_order = !matches!(comparison, Operator::Eq | Operator::Ne);
                pairs.map(|(a, b)| (!has_order).then_some((a == b) == wanted)).collect()
            } else if dtype.kind() == DTypeKind::Real {
                let pairs = a.reals().into_iter().zip(b.reals());
                pairs.map(|(a, b)| compare(comparison, a.partial_cmp(&b))).collect()
            } else {
                let pairs = a.integers().into_iter().zip(b.integers());
                pairs.map(|(a, b)| compare(comparison, Some(a.cmp(&b)))).collect()
            };
            let answers = answers.ok_or_else(|| problem("this comparison of arrays is not supported"))?;
            return Array::from_bools(&shape, answers)
                .map(Value::array)
                .map_err(|error| Problem::new(span, error.to_string()));
        }
        operator if dtype.kind() == DTypeKind::Real => {
            let pairs = a.reals().into_iter().zip(b.reals());
            // XLA divides by what is the same for many elements once, and multiplies with the result.
            let is_spread = operator == Operator::Div && (is_shared || right.array.len() < a.len());
            let round = rounding(dtype);
            let apply = |(a, b): (f64, f64)| match round {
                _ if operator == Operator::Pow => Some(real_power(dtype, a, b)),
                Some(round) if is_spread => Some(a * round(1.0 / b)),
                None if is_spread => None,
                round => real(operator, a, b).or_else(|| divided(operator, a, b, round?)),
            };
            let values: Outcome<Vec<f64>> =
                pairs.map(|pair| apply(pair).ok_or_else(|| problem(UNSUPPORTED_REAL))).collect();
            let array = Array::from_reals(dtype, &shape, values?);
            if let Ok(array) = &array
                && [&a, &b, array].into_iter().any(has_subnormals)
            {
                return Err(problem(SUBNORMAL));
            }
            array
        }
        operator if dtype.kind() == DTypeKind::Complex => {
            let pairs = a.complexes().into_iter().zip(b.complexes());
            // A factor that is the same for many elements comes first.
            let is_spread = operator == Operator::Mul && (is_shared || right.array.len() < a.len());
            let apply = |(a, b)| {
                let (a, b) = if is_spread { (b, a) } else { (a, b) };
                complex::operate(operator, dtype, a, b).ok_or_else(|| problem(UNSUPPORTED_COMPLEX))
            };
            let array = Array::from_complexes(dtype, &shape, pairs.map(apply).collect::<Outcome<Vec<_>>>()?);
            if let Ok(array) = &array
                && [&a, &b, array].into_iter().any(has_subnormals)
            {
                return Err(problem(SUBNORMAL));
            }
            array
        }
        operator => {
            let pairs = a.integers().into_iter().zip(b.integers());
            let values: std::result::Result<Vec<i128>, &str> =
                pairs.map(|(a, b)| integer(operator, dtype, a, b)).collect();
            Array::from_integers(dtype, &shape, values.map_err(problem)?)
        }
    };
    let array = Rc::new(result.map_err(|error| Problem::new(span, error.to_string()))?);
    Ok(Value::Array(Tensor { array, weak: !matches!(joined, Operand::Strong(_)) }))
}

const UNSUPPORTED_REAL: &str = "this operator is not supported on arrays of floating-point numbers of this type";

const UNSUPPORTED_COMPLEX: &str = "this operator is not supported on these complex numbers";

pub const SUBNORMAL: &str = "subnormal numbers are not supported: XLA flushes them on some machines";

/// How results are rounded, in the types whose operations are rounded one by one.
fn rounding(dtype: DType) -> Option<fn(f64) -> f64> {
    match dtype {
        DType::Float32 => Some(|value| f64::from(f32::from_f64(value))),
        DType::Float64 => Some(|value| value),
        _ => None,
    }
}

/// `//` and `%`, from the remainder that has the sign of the dividend.
fn divided(operator: Operator, a: f64, b: f64, round: fn(f64) -> f64) -> Option<f64> {
    let rest = a % b;
    let is_behind = rest != 0.0 && (rest < 0.0) != (b < 0.0);
    match operator {
        _ if b == 0.0 || !a.is_finite() || !b.is_finite() => None,
        Operator::Mod => Some(if is_behind { rest + b } else { rest }),
        Operator::FloorDiv => {
            let whole = round(round(a - rest) / b);
            Some(if is_behind { round(whole - 1.0) } else { whole }.round())
        }
        _ => None,
    }
}

/// The exponent, where floating-point numbers are raised to a Python integer.
fn constant_power(operator: Operator, base: &Tensor, exponent: &Tensor) -> Option<i128> {
    let is_constant = exponent.array.rank() == 0 && Operand::of(exponent) == Operand::WeakInteger;
    let is_power = operator == Operator::Pow && base.array.dtype().kind() == DTypeKind::Real;
    exponent.array.integers().first().copied().filter(|_| is_constant && is_power)
}

/// Powers as JAX unrolls them: by repeated squaring, and inverted for a negative exponent.
fn raised(base: &Array, exponent: i128) -> Option<Result<Array>> {
    let round = rounding(base.dtype()).filter(|_| exponent.abs() <= 1 << 10)?;
    let power = |base: f64| {
        let (mut rest, mut square, mut product) = (exponent.unsigned_abs(), base, None);
        while rest > 0 {
            if rest & 1 == 1 {
                product = Some(product.map_or(square, |product: f64| round(product * square)));
            }
            square = round(square * square);
            rest >>= 1;
        }
        let product = product.unwrap_or(1.0);
        if exponent < 0 { 1.0 / product } else { product }
    };
    let powers = Array::from_reals(base.dtype(), base.shape(), base.reals().into_iter().map(power));
    let is_plain = powers.as_ref().map_or(true, |powers| !has_subnormals(powers)) && !has_subnormals(base);
    is_plain.then_some(powers)
}

/// A power of floating-point numbers. XLA calls the C library, whose `powf` rounds nearly all results to nearest.
fn real_power(dtype: DType, base: f64, exponent: f64) -> f64 {
    let power = base.powf(exponent);
    if dtype == DType::Float64 { power } else { f64::from(f32::from_f64(power)) }
}

/// The most products of floating-point numbers whose sum is known to be added one by one, in a product of two vectors.
const PRODUCTS: usize = 32;

/// The same in a product of a matrix and a vector: from eight on XLA adds several at a time.
const PRODUCTS_OF_ROWS: usize = 7;

/// `x @ y` of vectors and matrices. What `vmap` shares among the lanes makes a product of a matrix of it.
fn product<'a>(mode: Mode, left: &Tensor, right: &Tensor, is_shared: bool, span: Span) -> Outcome<Value<'a>> {
    let refused = |message: &str| Err(Problem::new(span, message));
    let (rows, length) = match left.array.shape() {
        [length] => (None, *length),
        [rows, length] => (Some(*rows), *length),
        _ => return refused("products of arrays with more than two axes are not supported"),
    };
    let (other, columns) = match right.array.shape() {
        [other] => (*other, None),
        [other, columns] => (*other, Some(*columns)),
        _ => return refused("products of arrays with more than two axes are not supported"),
    };
    if length != other {
        return refused("the last axis of the first and the first axis of the second must have the same length");
    }
    let (dtype, weak) =
        common_type(mode, &[left.clone(), right.clone()]).unwrap_or((DType::default_float(mode), false));
    let (a, b) = (left.array.cast(dtype), right.array.cast(dtype));
    complex::refuse(&a, span)?;
    let shape: Vec<usize> = rows.into_iter().chain(columns).collect();
    let places = || {
        let columns = columns.unwrap_or(1);
        (0..rows.unwrap_or(1)).flat_map(move |row| (0..columns).map(move |column| (row, column)))
    };
    // Of each result, the places of the numbers that are multiplied.
    let pairs = |(row, column): (usize, usize)| {
        (0..length).map(move |at| (row * length + at, at * columns.unwrap_or(1) + column))
    };
    let terms = elements(&shape, span)?.saturating_mul(length);
    elements(&[terms], span)?;
    let most = match (rows, columns) {
        (None, None) if !is_shared => PRODUCTS,
        (None, None) => PRODUCTS_OF_ROWS,
        (Some(_), None) if !is_shared => PRODUCTS_OF_ROWS,
        _ => 1,
    };
    let array = match dtype {
        DType::Float32 if length <= most && !has_subnormals(&a) && !has_subnormals(&b) => {
            let (a, b) = (a.reals(), b.reals());
            let at = |numbers: &[f64], index: usize| f32::from_f64(numbers.get(index).copied().unwrap_or_default());
            let fused = |sum: f32, (i, j): (usize, usize)| at(&a, i).mul_add(at(&b, j), sum);
            let sums = places().map(|place| f64::from(pairs(place).fold(0.0_f32, fused)));
            Array::from_reals(dtype, &shape, sums)
        }
        dtype if dtype.is_integer() => {
            let (a, b) = (a.integers(), b.integers());
            let at = |numbers: &[i128], index: usize| numbers.get(index).copied().unwrap_or_default();
            let added = |sum: i128, (i, j): (usize, usize)| sum.wrapping_add(at(&a, i).wrapping_mul(at(&b, j)));
            Array::from_integers(dtype, &shape, places().map(|place| pairs(place).fold(0_i128, added)))
        }
        _ => {
            return refused(
                "the order in which XLA adds these products depends on the shapes and is not modelled: known in float32 are those of two \
                 vectors of at most 32 numbers, and of a matrix and a vector of at most 7, unless vmap shares one of them",
            );
        }
    };
    let array = array.map_err(|error| Problem::new(span, error.to_string()))?;
    Ok(Value::Array(Tensor { array: Rc::new(array), weak }))
}

fn real(operator: Operator, a: f64, b: f64) -> Option<f64> {
    match operator {
        Operator::Add => Some(a + b),
        Operator::Sub => Some(a - b),
        Operator::Mul => Some(a * b),
        Operator::Div => Some(a / b),
        _ => None,
    }
}

pub fn has_subnormals(array: &Array) -> bool {
    let least = match array.dtype() {
        DType::Float64 | DType::Complex128 => f64::MIN_POSITIVE,
        DType::Float16 => 0.0,
        _ => f64::from(f32::MIN_POSITIVE),
    };
    let is_below = |value: &f64| *value != 0.0 && value.abs() < least;
    array.reals().iter().chain(&array.imaginaries()).any(is_below)
}

/// One result of an operator on integers, before it wraps to the type.
fn integer(operator: Operator, dtype: DType, a: i128, b: i128) -> std::result::Result<i128, &'static str> {
    let width = i128::from(dtype.width());
    if dtype == DType::Bool {
        return match operator {
            Operator::And => Ok(a & b),
            Operator::Or => Ok(a | b),
            Operator::Xor => Ok(a ^ b),
            _ => Err("this operator is not supported on arrays of truth values"),
        };
    }
    match operator {
        Operator::Add => Ok(a + b),
        Operator::Sub => Ok(a - b),
        // Only the low half of the product is kept.
        Operator::Mul => Ok(a.wrapping_mul(b)),
        Operator::FloorDiv | Operator::Mod if b == 0 => Err("division by zero is not supported"),
        Operator::FloorDiv => Ok(a.div_euclid(b) - i128::from(b < 0 && a.rem_euclid(b) != 0)),
        Operator::Mod => Ok(a - b * (a.div_euclid(b) - i128::from(b < 0 && a.rem_euclid(b) != 0))),
        Operator::Pow => power(dtype, a, b),
        Operator::Shl if (0..width).contains(&b) => Ok(a << b),
        Operator::Shr if (0..width).contains(&b) => Ok(a >> b),
        // XLA counts a shift by unsigned numbers, so that all others are as wide as the type or wider.
        Operator::Shl => Ok(0),
        Operator::Shr => Ok(if a < 0 { -1 } else { 0 }),
        Operator::And => Ok(a & b),
        Operator::Or => Ok(a | b),
        Operator::Xor => Ok(a ^ b),
        Operator::Div | Operator::MatMul => Err("this operator is not supported on arrays of integers"),
        Operator::Invert
        | Operator::Not
        | Operator::Neg
        | Operator::Pos
        | Operator::Eq
        | Operator::Ne
        | Operator::Lt
        | Operator::Le
        | Operator::Gt
        | Operator::Ge
        | Operator::Is
        | Operator::IsNot
        | Operator::In
        | Operator::NotIn
        | Operator::MatchClass
        | Operator::MatchSequence(..)
        | Operator::MatchMapping => Err("this operator is not supported on arrays"),
    }
}

fn power(dtype: DType, base: i128, exponent: i128) -> std::result::Result<i128, &'static str> {
    let mut rest = u128::try_from(exponent).map_err(|_| "integers cannot be raised to negative powers")?;
    let wrap = |value: i128| Array::integer(dtype, value).integers().first().copied().unwrap_or(0);
    let (mut square, mut product) = (base, 1);
    while rest > 0 {
        if rest & 1 == 1 {
            product = wrap(square.wrapping_mul(product));
        }
        square = wrap(square.wrapping_mul(square));
        rest >>= 1;
    }
    Ok(product)
}

/// Whether an operator compares by order or equality.
fn is_comparison(operator: Operator) -> bool {
    matches!(operator, Operator::Eq | Operator::Ne | Operator::Lt | Operator::Le | Operator::Gt | Operator::Ge)
}

fn compare(comparison: Operator, ordering: Option<std::cmp::Ordering>) -> Option<bool> {
    let is = |test: fn(std::cmp::Ordering) -> bool| Some(ordering.is_some_and(test));
    match comparison {
        Operator::Eq => is(std::cmp::Ordering::is_eq),
        Operator::Ne => Some(!ordering.is_some_and(std::cmp::Ordering::is_eq)),
        Operator::Lt => is(std::cmp::Ordering::is_lt),
        Operator::Le => is(std::cmp::Ordering::is_le),
        Operator::Gt => is(std::cmp::Ordering::is_gt),
        Operator::Ge => is(std::cmp::Ordering::is_ge),
        _ => None,
    }
}

/// Python's own arithmetic.
fn python_numbers<'a>(operator: Operator, left: &Value<'a>, right: &Value<'a>, span: Span) -> Outcome<Value<'a>> {
    let problem = |message: &str| Problem::new(span, message);
    let unsupported = || {
        let (left, right) = (left.description(), right.description());
        Problem::new(span, format!("this operator does not support {left} and {right}"))
    };
    let int = |value: &Value<'_>| match value {
        Value::Bool(value) => Some(i128::from(*value)),
        Value::Int(value) => Some(*value),
        _ => None,
    };
    let float = |value: &Value<'_>| match value {
        Value::Float(value) => Some(*value),
        value => int(value).map(|value| value as f64),
    };
    if let (Some(a), Some(b)) = (int(left), int(right)) {
        let exact = |value: i128| value.unsigned_abs() <= 1 << 53;
        return match operator {
            comparison if is_comparison(comparison) => {
                compare(comparison, Some(a.cmp(&b))).map(Value::Bool).ok_or_else(unsupported)
            }
            Operator::Div | Operator::FloorDiv | Operator::Mod if b == 0 => Err(problem("division by zero")),
            Operator::Div if exact(a) && exact(b) => Ok(Value::Float(a as f64 / b as f64)),
            Operator::Pow if b < 0 => python_power(a as f64, b as f64).map_err(problem),
            operator => integers(operator, a, b).ok_or_else(|| {
                problem("this operator on integers of this size is not supported: the evaluator has 128 bits")
            }),
        };
    }
    if let (Value::Complex(..), _) | (_, Value::Complex(..)) = (left, right) {
        let (one, other) = complex::of_number(left).zip(complex::of_number(right)).ok_or_else(unsupported)?;
        return complex::python(operator, one, other).ok_or_else(unsupported);
    }
    let (Some(a), Some(b)) = (float(left), float(right)) else { return Err(unsupported()) };
    match operator {
        comparison if is_comparison(comparison) => {
            compare(comparison, a.partial_cmp(&b)).map(Value::Bool).ok_or_else(unsupported)
        }
        Operator::Div if b == 0.0 => Err(problem("division by zero")),
        Operator::Pow => python_power(a, b).map_err(problem),
        operator => reals(operator, a, b).ok_or_else(unsupported),
    }
}

/// A power of Python's floating-point numbers, which Python takes from the C library.
fn python_power<'a>(base: f64, exponent: f64) -> std::result::Result<Value<'a>, &'static str> {
    let power = base.powf(exponent);
    match base {
        0.0 if exponent < 0.0 => Err("zero cannot be raised to a negative power"),
        _ if power.is_nan() && !base.is_nan() && !exponent.is_nan() => {
            Err("a fractional power of a negative number is complex, which is not supported")
        }
        _ if power.is_infinite() && base.is_finite() && exponent.is_finite() => {
            Err("the power is too large for a float")
        }
        _ => Ok(Value::Float(power)),
    }
}

/// Applies a unary operator.
pub fn unary<'a>(operator: Operator, value: &Value<'a>, span: Span) -> Outcome<Value<'a>> {
    let unsupported = || Problem::new(span, format!("this operator does not support {}", value.description()));
    match (operator, value) {
        (Operator::Pos, Value::Bool(value)) => Ok(Value::Int(i128::from(*value))),
        (Operator::Pos, Value::Int(_) | Value::Float(_) | Value::Complex(..) | Value::Array(_) | Value::Keys(_)) => {
            Ok(value.clone())
        }
        (Operator::Neg, Value::Bool(value)) => Ok(Value::Int(-i128::from(*value))),
        (Operator::Neg, Value::Int(value)) => value.checked_neg().map(Value::Int).ok_or_else(unsupported),
        (Operator::Neg, Value::Float(value)) => Ok(Value::Float(-value)),
        (Operator::Neg, Value::Complex(real, imaginary)) => Ok(Value::Complex(-real, -imaginary)),
        (Operator::Invert, Value::Int(value)) => Ok(Value::Int(!value)),
        (Operator::Invert, Value::Bool(value)) => Ok(Value::Int(!i128::from(*value))),
        (Operator::Not, Value::Bool(value)) => Ok(Value::Bool(!value)),
        (Operator::Invert | Operator::Neg, Value::Array(Tensor { array, weak })) => {
            let (dtype, shape) = (array.dtype(), array.shape());
            let result = match (operator, dtype.kind()) {
                (Operator::Neg, DTypeKind::Real) => {
                    Array::from_reals(dtype, shape, array.reals().into_iter().map(|value| -value))
                }
                (Operator::Neg, DTypeKind::Complex) => {
                    let negated = array.complexes().into_iter().map(|(real, imaginary)| (-real, -imaginary));
                    Array::from_complexes(dtype, shape, negated)
                }
                (Operator::Neg, DTypeKind::Signed | DTypeKind::Unsigned) => {
                    Array::from_integers(dtype, shape, array.integers().into_iter().map(|value| -value))
                }
                (Operator::Invert, DTypeKind::Signed | DTypeKind::Unsigned) => {
                    Array::from_integers(dtype, shape, array.integers().into_iter().map(|value| !value))
                }
                (Operator::Invert, DTypeKind::Bool) => {
                    Array::from_integers(dtype, shape, array.integers().into_iter().map(|value| 1 - value))
                }
                _ => return Err(unsupported()),
            };
            let array = result.map_err(|error| Problem::new(span, error.to_string()))?;
            Ok(Value::Array(Tensor { array: Rc::new(array), weak: *weak }))
        }
        _ => Err(unsupported()),
    }
}
