//! Functions of `jax.numpy` on arrays: elementwise ones, reductions, and arrays that are made of others.
//!
//! **Invariant:** a sum is added in the order in which XLA:CPU adds it; if that order is not known, there is no result.

#![expect(
    clippy::cast_possible_truncation,
    clippy::cast_precision_loss,
    reason = "elements of `float32` are kept as `float64`, and lengths become divisors as XLA rounds them"
)]

use std::cell::Cell;
use std::cmp::Ordering;
use std::rc::Rc;

use super::super::value::{Tensor, Value};
use super::arguments::{self, Arguments, problem};
use super::arithmetic::{self, common_type, has_subnormals, tensor};
use super::numpy::{array_of, concatenate, rearranged};
use super::value::sequence;
use super::{Builtin, NumericState, Outcome, Problem, complex};
use crate::arrays::{Map, joint_shape};
use crate::ir::Operator;
use crate::prng::array::Array;
use crate::prng::dtype::{DType, DTypeKind};
use crate::prng::float::single;
use crate::text::Span;

/// The longest axis with a known order of additions.
const LONGEST_SUM: usize = 2048;

/// Numbers of rows of which XLA adds all numbers one after another, if a row has at most [`single::WINDOW`]. For 2, 4 and 8 rows and for
/// more it adds several rows at a time.
const ROWS: [usize; 5] = [3, 5, 6, 7, 9];

const X: &[&str] = &["x"];
const PAIR: &[&str] = &["x1", "x2"];
const REDUCED: &[&str] = &["a", "axis"];
const KEEPS: &[&str] = &["keepdims"];
const SPREADS: &[&str] = &["keepdims", "ddof"];

/// The functions, by name. Those in [`METHODS`] are methods as well.
pub(super) static FUNCTIONS: &[Builtin] = &[
    Builtin::new("abs", X, &[], 1, |c, a| signed(c, a, f64::abs, i128::abs, Some(complex::magnitudes))),
    Builtin::new("absolute", X, &[], 1, |c, a| signed(c, a, f64::abs, i128::abs, Some(complex::magnitudes))),
    Builtin::new("negative", X, &[], 1, |c, a| signed(c, a, |x| -x, |x| -x, Some(negated))),
    Builtin::new("square", X, &[], 1, |c, a| power(c, a, 2)),
    Builtin::new("sqrt", X, &[], 1, |c, a| real(c, a, (f32::sqrt, None), Some(f64::sqrt))),
    Builtin::new("exp", X, &[], 1, |c, a| real(c, a, (single::exp, Some(f64::exp)), None)),
    Builtin::new("log", X, &[], 1, |c, a| real(c, a, (single::log, Some(f64::ln)), None)),
    Builtin::new("floor", X, &[], 1, |c, a| signed(c, a, f64::floor, |x| x, None)),
    Builtin::new("ceil", X, &[], 1, |c, a| signed(c, a, f64::ceil, |x| x, None)),
    Builtin::new("add", PAIR, &[], 2, |c, a| binary(c, a, Operator::Add)),
    Builtin::new("subtract", PAIR, &[], 2, |c, a| binary(c, a, Operator::Sub)),
    Builtin::new("multiply", PAIR, &[], 2, |c, a| binary(c, a, Operator::Mul)),
    Builtin::new("divide", PAIR, &[], 2, |c, a| binary(c, a, Operator::Div)),
    Builtin::new("power", PAIR, &[], 2, |c, a| binary(c, a, Operator::Pow)),
    Builtin::new("dot", &["a", "b"], &[], 2, |c, a| binary(c, a, Operator::MatMul)),
    Builtin::new("maximum", PAIR, &[], 2, |c, a| extreme_of_two(c, a, Ordering::Greater)),
    Builtin::new("minimum", PAIR, &[], 2, |c, a| extreme_of_two(c, a, Ordering::Less)),
    Builtin::new("where", &["condition", "x", "y"], &[], 3, chosen),
    Builtin::new("sum", REDUCED, KEEPS, 1, |c, a| reduced(c, a, Reduction::Sum)),
    Builtin::new("mean", REDUCED, KEEPS, 1, |c, a| reduced(c, a, Reduction::Mean)),
    Builtin::new("var", REDUCED, SPREADS, 1, |c, a| reduced(c, a, Reduction::Variance(a.count("ddof")?))),
    Builtin::new("std", REDUCED, SPREADS, 1, |c, a| reduced(c, a, Reduction::Deviation(a.count("ddof")?))),
    Builtin::new("max", REDUCED, KEEPS, 1, |c, a| reduced(c, a, Reduction::Extreme(Ordering::Greater))),
    Builtin::new("min", REDUCED, KEEPS, 1, |c, a| reduced(c, a, Reduction::Extreme(Ordering::Less))),
    Builtin::new("argmax", REDUCED, KEEPS, 1, |c, a| reduced(c, a, Reduction::Place(Ordering::Greater))),
    Builtin::new("argmin", REDUCED, KEEPS, 1, |c, a| reduced(c, a, Reduction::Place(Ordering::Less))),
    Builtin::new("any", REDUCED, KEEPS, 1, |c, a| reduced(c, a, Reduction::Any)),
    Builtin::new("all", REDUCED, KEEPS, 1, |c, a| reduced(c, a, Reduction::All)),
    Builtin::new("stack", &["arrays", "axis"], &[], 1, stacked),
    Builtin::new("concatenate", &["arrays", "axis"], &[], 1, concatenated),
    Builtin::new("ravel", &["a"], &[], 1, flat),
    Builtin::new("full", &["shape", "fill_value", "dtype"], &[], 2, full),
    Builtin::new("linspace", &["start", "stop", "num", "endpoint"], &["dtype"], 2, linspace),
    Builtin::new("eye", &["N", "M"], &[], 1, eye),
];

/// The functions that arrays have as methods, with the array for their first argument.
const METHODS: &[&str] =
    &["sum", "mean", "var", "std", "max", "min", "argmax", "argmin", "any", "all", "dot", "ravel", "conj", "conjugate"];

/// The function of that name.
pub(super) fn lookup(name: &str) -> Option<&'static Builtin> {
    FUNCTIONS.iter().find(|function| function.name == name)
}

/// The function that a method of arrays is.
pub(super) fn method(name: &str) -> Option<&'static Builtin> {
    let name = if name == "flatten" { "ravel" } else { name };
    lookup(name).or_else(|| complex::lookup(name)).filter(|function| METHODS.contains(&function.name))
}

fn held<'a>(array: Array, weak: bool) -> Value<'a> {
    Value::Array(Tensor { array: Rc::new(array), weak })
}

/// Whether XLA calls the C library for an element of an array with one axis. Of fewer than 16 numbers it takes eight as one vector and the
/// rest as another, and it has code of its own only for vectors whose length is a power of two.
const fn calls_library(count: usize, index: usize) -> bool {
    let rest = count % 8;
    count < 16 && rest > 0 && !rest.is_power_of_two() && index >= count - rest
}

/// A function of `float32`: XLA's own, and that of the C library if XLA calls it.
type Singles = (fn(f32) -> f32, Option<fn(f64) -> f64>);

/// A function of floating-point numbers: in `float32`, and in `float64`. If there is none for `float64`, JAX
/// takes it from the C library.
fn real<'a>(
    numeric: &mut NumericState,
    arguments: &Arguments<'a>,
    (single, library): Singles,
    double: Option<fn(f64) -> f64>,
) -> Outcome<Value<'a>> {
    let (value, span) = arguments.required(0)?;
    let (mode, name) = (numeric.settings.mode, arguments.builtin.name);
    let own = value.own_shape().unwrap_or_default();
    let lengths: Vec<usize> = value.levels().iter().map(|level| level.1).chain(own.iter().copied()).collect();
    // What `jit` traces becomes one loop with other operations, which has no such vectors.
    let library = library.filter(|_| numeric.traces == 0 && lengths.len() == 1);
    let count = lengths.first().copied().unwrap_or_default();
    let done = Cell::new(0);
    numeric.lift(arguments.span, std::slice::from_ref(value), &|values| {
        let Tensor { array, weak } = tensor(mode, &values[0], span)?;
        complex::refuse(&array, span)?;
        let dtype = array.dtype().inexact(mode);
        let array = array.cast(dtype);
        let apply = |x: f64| {
            if dtype == DType::Float64 {
                return Some(double?(x));
            }
            let index = done.replace(done.get() + 1);
            let library = library.filter(|_| calls_library(count, index));
            Some(f64::from(library.map_or_else(|| single(x as f32), |function| function(x) as f32)))
        };
        let numbers: Option<Vec<f64>> = array.reals().into_iter().map(apply).collect();
        let Some(numbers) = numbers else {
            return Err(Problem::new(
                span,
                format!("{name} in float64 is not supported: JAX takes it from the C library"),
            ));
        };
        let result = Array::from_reals(dtype, array.shape(), numbers).map_err(|error| problem(span, &error))?;
        if [&array, &result].into_iter().any(has_subnormals) {
            return Err(Problem::new(span, arithmetic::SUBNORMAL));
        }
        Ok(held(result, weak))
    })
}

/// A function that is exact in every type.
fn signed<'a>(
    numeric: &mut NumericState,
    arguments: &Arguments<'a>,
    of_real: fn(f64) -> f64,
    of_integer: fn(i128) -> i128,
    of_complex: Option<fn(&Array) -> crate::prng::error::Result<Array>>,
) -> Outcome<Value<'a>> {
    let (value, span) = arguments.required(0)?;
    let mode = numeric.settings.mode;
    numeric.lift(arguments.span, std::slice::from_ref(value), &|values| {
        let Tensor { array, weak } = tensor(mode, &values[0], span)?;
        let (dtype, shape) = (array.dtype(), array.shape());
        let result = match dtype.kind() {
            DTypeKind::Real => Array::from_reals(dtype, shape, array.reals().into_iter().map(of_real)),
            DTypeKind::Signed | DTypeKind::Unsigned => {
                Array::from_integers(dtype, shape, array.integers().into_iter().map(of_integer))
            }
            DTypeKind::Complex => match of_complex {
                Some(of_complex) => of_complex(&array),
                None => return Err(Problem::new(span, "this function takes no complex numbers")),
            },
            DTypeKind::Bool => {
                return Err(Problem::new(span, "this function takes numbers, got an array of truth values"));
            }
        };
        result.map(|array| held(array, weak)).map_err(|error| problem(span, &error))
    })
}

fn negated(array: &Array) -> crate::prng::error::Result<Array> {
    let negated = array.complexes().into_iter().map(|(real, imaginary)| (-real, -imaginary));
    Array::from_complexes(array.dtype(), array.shape(), negated)
}

fn power<'a>(numeric: &mut NumericState, arguments: &Arguments<'a>, exponent: i128) -> Outcome<Value<'a>> {
    let (value, span) = arguments.required(0)?;
    let mode = numeric.settings.mode;
    numeric.lift(arguments.span, std::slice::from_ref(value), &|values| {
        let base = Value::Array(tensor(mode, &values[0], span)?);
        arithmetic::binary(mode, Operator::Pow, &base, &Value::Int(exponent), span)
    })
}

/// An operator as a function: its arguments are arrays.
fn binary<'a>(numeric: &mut NumericState, arguments: &Arguments<'a>, operator: Operator) -> Outcome<Value<'a>> {
    let ((left, span), (right, _)) = (arguments.required(0)?, arguments.required(1)?);
    let mode = numeric.settings.mode;
    numeric.lift(arguments.span, &[left.clone(), right.clone()], &|values| {
        let left = Value::Array(tensor(mode, &values[0], span)?);
        arithmetic::binary(mode, operator, &left, &values[1], span)
    })
}

/// Two arrays in their common type and shape.
fn together(mode: crate::prng::mode::Mode, pair: [&Tensor; 2], span: Span) -> Outcome<([Array; 2], bool)> {
    let [left, right] = pair;
    let (dtype, weak) =
        common_type(mode, &[left.clone(), right.clone()]).unwrap_or((DType::default_float(mode), false));
    let shape = joint_shape(left.array.shape(), right.array.shape());
    arguments::elements(&shape, span)?;
    let spread = |tensor: &Tensor| {
        tensor.array.cast(dtype).broadcast_to("broadcasting", &shape).map_err(|error| problem(span, &error))
    };
    Ok(([spread(left)?, spread(right)?], weak))
}

fn extreme_of_two<'a>(numeric: &mut NumericState, arguments: &Arguments<'a>, wanted: Ordering) -> Outcome<Value<'a>> {
    let ((left, span), (right, _)) = (arguments.required(0)?, arguments.required(1)?);
    let mode = numeric.settings.mode;
    numeric.lift(arguments.span, &[left.clone(), right.clone()], &|values| {
        let pair = [&tensor(mode, &values[0], span)?, &tensor(mode, &values[1], span)?];
        let ([left, right], weak) = together(mode, pair, span)?;
        complex::refuse(&left, span)?;
        let (dtype, shape) = (left.dtype(), left.shape());
        let result = if dtype.kind() == DTypeKind::Real {
            let pairs = left.reals().into_iter().zip(right.reals());
            Array::from_reals(dtype, shape, pairs.map(|(one, other)| further(wanted, one, other)))
        } else {
            let pairs = left.integers().into_iter().zip(right.integers());
            let pick = |(one, other): (i128, i128)| if one.cmp(&other) == wanted { one } else { other };
            Array::from_integers(dtype, shape, pairs.map(pick))
        };
        result.map(|array| held(array, weak)).map_err(|error| problem(span, &error))
    })
}

/// The greater or the smaller number; not a number if one is not.
fn further(wanted: Ordering, one: f64, other: f64) -> f64 {
    if one.is_nan() || one.partial_cmp(&other) == Some(wanted) { one } else { other }
}

/// `jnp.where(condition, x, y)`
fn chosen<'a>(numeric: &mut NumericState, arguments: &Arguments<'a>) -> Outcome<Value<'a>> {
    let (condition, span) = arguments.required(0)?;
    let ((x, _), (y, _)) = (arguments.required(1)?, arguments.required(2)?);
    let mode = numeric.settings.mode;
    numeric.lift(arguments.span, &[condition.clone(), x.clone(), y.clone()], &|values| {
        let condition = tensor(mode, &values[0], span)?.array;
        complex::refuse(&condition, span)?;
        let pair = [&tensor(mode, &values[1], span)?, &tensor(mode, &values[2], span)?];
        let ([x, y], weak) = together(mode, pair, span)?;
        let shape = joint_shape(condition.shape(), x.shape());
        arguments::elements(&shape, span)?;
        let spread = |array: &Array| array.broadcast_to("where", &shape).map_err(|error| problem(span, &error));
        let (condition, x, y) = (spread(&condition)?.reals(), spread(&x)?, spread(&y)?);
        let both = concatenate(&[&x, &y], x.dtype(), &[2 * x.len()]).map_err(|error| problem(span, &error))?;
        let count = x.len();
        let positions: Vec<usize> =
            condition.iter().enumerate().map(|(at, is_true)| if *is_true == 0.0 { at + count } else { at }).collect();
        both.gather(&shape, &positions).map(|array| held(array, weak)).map_err(|error| problem(span, &error))
    })
}

/// What becomes of the elements along some axes.
#[derive(Clone, Copy)]
enum Reduction {
    Sum,
    Mean,
    /// The variance, with so many degrees of freedom less than elements.
    Variance(usize),
    /// Its root.
    Deviation(usize),
    Extreme(Ordering),
    Place(Ordering),
    Any,
    All,
}

fn reduced<'a>(numeric: &mut NumericState, arguments: &Arguments<'a>, how: Reduction) -> Outcome<Value<'a>> {
    let (value, span) = arguments.required(0)?;
    let keeps = arguments.flag("keepdims", false)?;
    let mode = numeric.settings.mode;
    let axes: Option<Vec<i128>> = match arguments.optional("axis") {
        None => None,
        Some((axes, span)) => Some(match sequence(axes) {
            Some(axes) => axes.iter().map(|axis| arguments::integer(axis, span)).collect::<Outcome<_>>()?,
            None => vec![arguments::integer(axes, span)?],
        }),
    };
    let is_single = value.levels().is_empty();
    numeric.lift(arguments.span, std::slice::from_ref(value), &|values| {
        let array = tensor(mode, &values[0], span)?.array;
        let rank = array.rank();
        let missing = || Problem::new(span, format!("an array of {rank} axes does not have this axis"));
        let gone: Vec<usize> = match &axes {
            None => (0..rank).collect(),
            Some(axes) => {
                axes.iter().map(|axis| crate::arrays::axis(rank, *axis).ok_or_else(missing)).collect::<Outcome<_>>()?
            }
        };
        let kept: Vec<usize> = (0..rank).filter(|axis| !gone.contains(axis)).collect();
        let Map { shape, positions } =
            Map::permute(array.shape(), &[&kept[..], &gone[..]].concat()).ok_or_else(missing)?;
        let lengths: Vec<usize> = gone.iter().map(|axis| array.shape()[*axis]).collect();
        let length: usize = lengths.iter().product();
        let result: Vec<usize> = if keeps {
            (0..rank).map(|axis| if gone.contains(&axis) { 1 } else { array.shape()[axis] }).collect()
        } else {
            shape[..kept.len()].to_vec()
        };
        let rows = array.gather(&shape, &positions).map_err(|error| problem(span, &error))?;
        let long: Vec<usize> = lengths.into_iter().filter(|length| *length > 1).collect();
        let order = match long[..] {
            [] | [_] => Order::Windows,
            [count, row] if is_single && kept.is_empty() && ROWS.contains(&count) && row <= single::WINDOW => {
                Order::Sequence
            }
            _ => Order::Unknown,
        };
        let rows = Rows { elements: rows, length, order, span };
        if length == 0 {
            return Err(Problem::new(span, "reductions of empty arrays are not supported"));
        }
        let array = rows.reduce(mode, how, &result)?;
        Ok(held(array, false))
    })
}

/// In which order XLA adds the numbers of a row.
#[derive(Clone, Copy, PartialEq)]
enum Order {
    /// They are along one axis: that of [`single::sum`].
    Windows,
    /// One after another.
    Sequence,
    /// They are along several axes, and XLA adds several at a time.
    Unknown,
}

/// Rows of numbers, each of which is reduced to one.
struct Rows {
    elements: Array,
    length: usize,
    order: Order,
    span: Span,
}

impl Rows {
    fn reduce(&self, mode: crate::prng::mode::Mode, how: Reduction, shape: &[usize]) -> Outcome<Array> {
        let dtype = self.elements.dtype();
        if dtype.kind() == DTypeKind::Complex {
            return self.added_by_part(mode, how, shape);
        }
        let is_real = dtype.kind() == DTypeKind::Real;
        let failed = |error: crate::prng::error::Error| problem(self.span, &error);
        let (reals, integers) = (self.elements.reals(), self.elements.integers());
        let reals = || reals.chunks_exact(self.length);
        let integers = || integers.chunks_exact(self.length);
        match how {
            Reduction::Any | Reduction::All => {
                let is_any = matches!(how, Reduction::Any);
                let answer = |row: &[f64]| row.iter().any(|number| (*number != 0.0) == is_any) == is_any;
                Array::from_bools(shape, reals().map(answer).collect()).map_err(failed)
            }
            Reduction::Extreme(wanted) if is_real => {
                let pick = |row: &[f64]| row.iter().copied().reduce(|one, other| further(wanted, one, other));
                Array::from_reals(dtype, shape, reals().filter_map(pick)).map_err(failed)
            }
            Reduction::Extreme(wanted) => {
                let pick = |row: &[i128]| {
                    row.iter().copied().reduce(|one, other| if other.cmp(&one) == wanted { other } else { one })
                };
                Array::from_integers(dtype, shape, integers().filter_map(pick)).map_err(failed)
            }
            Reduction::Place(wanted) => {
                if reals().flatten().any(|number| number.is_nan()) {
                    return Err(Problem::new(self.span, "not-a-number is not supported here"));
                }
                let place = |row: &[f64]| {
                    let ahead = |best: usize, at: usize| row[at].partial_cmp(&row[best]) == Some(wanted);
                    (1..row.len()).fold(0, |best, at| if ahead(best, at) { at } else { best }) as i128
                };
                Array::from_integers(DType::default_int(mode), shape, reals().map(place)).map_err(failed)
            }
            Reduction::Sum if !is_real => {
                let dtype = match dtype.kind() {
                    DTypeKind::Unsigned if dtype.width() < 32 => DType::default_uint(mode),
                    DTypeKind::Bool | DTypeKind::Signed if dtype.width() < 32 => DType::default_int(mode),
                    _ => dtype,
                };
                let add = |row: &[i128]| row.iter().fold(0_i128, |sum, number| sum.wrapping_add(*number));
                Array::from_integers(dtype, shape, integers().map(add)).map_err(failed)
            }
            Reduction::Sum | Reduction::Mean | Reduction::Variance(_) | Reduction::Deviation(_) => {
                self.added(mode, how, shape)
            }
        }
    }

    /// Sums and means of complex numbers: those of the parts.
    fn added_by_part(&self, mode: crate::prng::mode::Mode, how: Reduction, shape: &[usize]) -> Outcome<Array> {
        if !matches!(how, Reduction::Sum | Reduction::Mean) {
            complex::refuse(&self.elements, self.span)?;
        }
        let failed = |error: crate::prng::error::Error| problem(self.span, &error);
        let (dtype, size) = (self.elements.dtype(), self.elements.shape());
        let part = |numbers: Vec<f64>| {
            let elements = Array::from_reals(dtype.part(), size, numbers).map_err(failed)?;
            Rows { elements, ..*self }.added(mode, how, shape)
        };
        let (real, imaginary) = (part(self.elements.reals())?, part(self.elements.imaginaries())?);
        Array::from_complexes(dtype, shape, real.reals().into_iter().zip(imaginary.reals())).map_err(failed)
    }

    /// Sums of floating-point numbers, and what is made of them, in `float32`.
    fn added(&self, mode: crate::prng::mode::Mode, how: Reduction, shape: &[usize]) -> Outcome<Array> {
        let refused = |why: &str| Err(Problem::new(self.span, why));
        let rows = self.elements.cast(self.elements.dtype().inexact(mode));
        if rows.dtype() != DType::Float32 {
            return refused("sums of floating-point numbers are supported in float32 only");
        }
        let is_spread = matches!(how, Reduction::Variance(_) | Reduction::Deviation(_));
        if self.order == Order::Unknown || self.order == Order::Sequence && is_spread {
            return refused(
                "the order in which XLA adds along several axes at once is not modelled: it depends on the shape and on the processor. \
                 Add along one axis after another, which may round differently",
            );
        }
        if self.length > LONGEST_SUM {
            return refused(
                "the order in which XLA adds so many numbers is not modelled: add along an axis of at most 2048 at a time",
            );
        }
        let inverse = 1.0 / self.length as f32;
        let sum = |row: &[f32]| match self.order {
            Order::Sequence => row.iter().fold(0.0, |sum, number| sum + number),
            _ => single::sum(row),
        };
        let finished = |row: &[f64]| {
            let row: Vec<f32> = row.iter().map(|number| *number as f32).collect();
            let mean = || sum(&row) * inverse;
            f64::from(match how {
                Reduction::Mean => mean(),
                Reduction::Variance(less) => variance(&row, mean(), less),
                Reduction::Deviation(less) => variance(&row, mean(), less).sqrt(),
                _ => sum(&row),
            })
        };
        let numbers = rows.reals();
        let result = Array::from_reals(DType::Float32, shape, numbers.chunks_exact(self.length).map(finished));
        let result = result.map_err(|error| problem(self.span, &error))?;
        if [&rows, &result].into_iter().any(has_subnormals) { refused(arithmetic::SUBNORMAL) } else { Ok(result) }
    }
}

/// The mean of squares of distances from the mean. Of few numbers XLA adds the squares as it forms them.
fn variance(row: &[f32], mean: f32, less: usize) -> f32 {
    let distances: Vec<f32> = row.iter().map(|number| number - mean).collect();
    let sum = if row.len() <= single::WINDOW {
        distances.iter().fold(0.0_f32, |sum, distance| distance.mul_add(*distance, sum))
    } else {
        single::sum(&distances.iter().map(|distance| distance * distance).collect::<Vec<_>>())
    };
    match row.len().checked_sub(less) {
        None | Some(0) => f32::NAN,
        Some(count) => sum / count as f32,
    }
}

/// `jnp.linspace(start, stop, num)` of two numbers: each is a weighted mean of both; XLA multiplies by the number of the element last.
fn linspace<'a>(numeric: &mut NumericState, arguments: &Arguments<'a>) -> Outcome<Value<'a>> {
    let ((start, span), (stop, _)) = (arguments.required(0)?, arguments.required(1)?);
    let count = match arguments.given("num") {
        Some((count, span)) => arguments::length(count, span)?,
        None => 50,
    };
    let has_end = arguments.flag("endpoint", true)?;
    let mode = numeric.settings.mode;
    numeric.spend(arguments.span, arguments::elements(&[count], arguments.span)?)?;
    let dtype = arguments.dtype()?;
    numeric.lift(arguments.span, &[start.clone(), stop.clone()], &|values| {
        let ends = [tensor(mode, &values[0], span)?, tensor(mode, &values[1], span)?];
        let common = common_type(mode, &ends).map_or(DType::default_float(mode), |(dtype, _)| dtype);
        let common = common.inexact(mode);
        if dtype.map_or(common, |dtype| dtype.canonical(mode)) != DType::Float32 {
            return Err(Problem::new(span, "linspace is supported in float32 only"));
        }
        complex::refuse(&ends[0].array, span).and_then(|()| complex::refuse(&ends[1].array, span))?;
        if ends.iter().any(|end| end.array.rank() > 0) {
            return Err(Problem::new(span, "linspace is supported between two numbers only"));
        }
        let [start, stop] = ends.map(|end| end.array.cast(DType::Float32).number(0) as f32);
        let parts = if has_end { count.saturating_sub(1).max(1) } else { count };
        let inverse = 1.0 / parts as f32;
        let number = |index: usize| {
            let place = index as f32;
            let before = start * (1.0 - place * inverse);
            f64::from(if has_end && index > 0 && index == parts { stop } else { place.mul_add(stop * inverse, before) })
        };
        let array = Array::from_reals(DType::Float32, &[count], (0..count).map(number));
        array.map(Value::array).map_err(|error| problem(span, &error))
    })
}

/// `jnp.stack(arrays, axis)`
fn stacked<'a>(numeric: &mut NumericState, arguments: &Arguments<'a>) -> Outcome<Value<'a>> {
    let (parts, span) = arguments.required(0)?;
    let axis = arguments.axis(0)?;
    let whole = array_of(numeric, parts, None, span)?;
    let shape = whole.own_shape().unwrap_or_default().to_vec();
    let map = crate::arrays::axis(shape.len(), axis as i128).and_then(|axis| Map::moveaxis(&shape, 0, axis));
    let map = map.ok_or_else(|| Problem::new(span, "the arrays do not have this axis"))?;
    numeric.lift(span, &[whole], &|values| rearranged(&values[0], &map, span))
}

/// `jnp.concatenate(arrays, axis)`
fn concatenated<'a>(numeric: &mut NumericState, arguments: &Arguments<'a>) -> Outcome<Value<'a>> {
    let (parts, span) = arguments.required(0)?;
    let axis = arguments.axis(0)?;
    let Some(parts) = sequence(parts) else {
        return Err(Problem::new(span, format!("expected a list of arrays, got {}", parts.description())));
    };
    let mode = numeric.settings.mode;
    numeric.lift(arguments.span, &parts, &|values| {
        let tensors: Vec<Tensor> = values.iter().map(|value| tensor(mode, value, span)).collect::<Outcome<_>>()?;
        let shapes: Vec<&[usize]> = tensors.iter().map(|tensor| tensor.array.shape()).collect();
        let rank = shapes.first().map_or(0, |shape| shape.len());
        let map = crate::arrays::axis(rank, axis as i128).and_then(|axis| Map::concatenate(&shapes, axis));
        let (Some(map), Some((dtype, _))) = (map, common_type(mode, &tensors)) else {
            return Err(Problem::new(span, "arrays of these shapes cannot be concatenated"));
        };
        let casts: Vec<Array> = tensors.iter().map(|tensor| tensor.array.cast(dtype)).collect();
        let count = casts.iter().map(Array::len).sum();
        concatenate(&casts.iter().collect::<Vec<_>>(), dtype, &[count])
            .and_then(|array| array.gather(&map.shape, &map.positions))
            .map(|array| held(array, false))
            .map_err(|error| problem(span, &error))
    })
}

fn flat<'a>(numeric: &mut NumericState, arguments: &Arguments<'a>) -> Outcome<Value<'a>> {
    let (value, span) = arguments.required(0)?;
    let count: usize = value.own_shape().unwrap_or_default().iter().product();
    let map = Map { shape: vec![count], positions: (0..count).collect() };
    numeric.lift(span, std::slice::from_ref(value), &|values| rearranged(&values[0], &map, span))
}

/// `jnp.full(shape, fill_value, dtype)`
fn full<'a>(numeric: &mut NumericState, arguments: &Arguments<'a>) -> Outcome<Value<'a>> {
    let (shape, dtype) = (arguments.shape()?, arguments.dtype()?);
    let (value, span) = arguments.required(1)?;
    let value = array_of(numeric, value, dtype, span)?;
    let mode = numeric.settings.mode;
    numeric.lift(arguments.span, &[value], &|values| {
        let Tensor { array, weak } = tensor(mode, &values[0], span)?;
        array.broadcast_to("full", &shape).map(|array| held(array, weak)).map_err(|error| problem(span, &error))
    })
}

fn eye<'a>(numeric: &mut NumericState, arguments: &Arguments<'a>) -> Outcome<Value<'a>> {
    let (rows, span) = arguments.required(0)?;
    let rows = arguments::length(rows, span)?;
    let columns = match arguments.optional("M") {
        Some((columns, span)) => arguments::length(columns, span)?,
        None => rows,
    };
    let count = arguments::elements(&[rows, columns], span)?;
    numeric.spend(span, count)?;
    let is_diagonal = |at: usize| i128::from(columns > 0 && at / columns == at % columns);
    Array::from_integers(DType::default_float(numeric.settings.mode), &[rows, columns], (0..count).map(is_diagonal))
        .map(Value::array)
        .map_err(|error| problem(span, &error))
}
