//! `vmap`: values that differ from lane to lane.
//!
//! A function under `vmap` runs once, on values that hold one value for each lane; an operation on them is done lane by
//! lane. That is what JAX's batching computes, but for `rbg` and `unsafe_rbg`, whose batched draws all come from the key
//! of the first lane: `random` passes the keys of all lanes to such a draw together.
//!
//! **Invariant:** values of lanes never decide shapes, types or which operation runs; where Python would need them as numbers, the result
//! is a problem.

use std::rc::Rc;

use super::super::value::{Tensor, Value};
use super::NumericState;
use super::arguments::elements;
use super::arithmetic::tensor;
use super::numpy::{concatenate, rearranged};
use super::value::{Argument, Vmap, like, sequence, typed};
use super::{Outcome, Problem};
use crate::arrays::Map;
use crate::prng::array::{Array, axis_of, size_of};
use crate::prng::error::{Error, shape_text};
use crate::prng::keys::Keys;
use crate::prng::mode::Mode;
use crate::text::Span;

/// The budget cost of one lane, whatever its size.
const LANE_COST: usize = 16;

impl Value<'_> {
    /// The outermost level at which the value differs from lane to lane.
    fn level(&self) -> Option<usize> {
        if let Self::Lanes(level, _) = self { Some(*level) } else { None }
    }

    /// All such levels, and how many lanes each has, from the outside in.
    pub fn levels(&self) -> Vec<(usize, usize)> {
        let mut levels = Vec::new();
        let mut value = self;
        while let Self::Lanes(level, lanes) = value {
            levels.push((*level, lanes.len()));
            let Some(first) = lanes.first() else { break };
            value = first;
        }
        levels
    }

    /// The value in one lane of an outermost level; the value itself where it does not differ there.
    fn in_lane(&self, at: usize, lane: usize) -> &Self {
        match self {
            Self::Lanes(level, lanes) if *level == at => lanes.get(lane).unwrap_or(self),
            _ => self,
        }
    }

    /// The innermost values, outer lanes first.
    pub fn flat(&self) -> Vec<&Self> {
        match self {
            Self::Lanes(_, lanes) => lanes.iter().flat_map(Self::flat).collect(),
            _ => vec![self],
        }
    }

    /// Lanes made of as many values as the levels have lanes together.
    pub fn from_flat(levels: &[(usize, usize)], values: &mut impl Iterator<Item = Self>) -> Option<Self> {
        match levels {
            [] => values.next(),
            [(level, count), inner @ ..] => {
                let lanes: Option<Rc<[Self]>> = (0..*count).map(|_| Self::from_flat(inner, values)).collect();
                lanes.map(|lanes| Self::Lanes(*level, lanes))
            }
        }
    }

    /// The value with its levels in order, where only the outermost may be out of order.
    fn sink_level(self) -> Self {
        let Self::Lanes(level, lanes) = &self else { return self };
        let Some(Self::Lanes(inner, first)) = lanes.first() else { return self };
        if inner > level {
            return self;
        }
        let column = |lane: usize| {
            let column = lanes.iter().map(|row| row.in_lane(*inner, lane).clone()).collect();
            Self::Lanes(*level, column).sink_level()
        };
        Self::Lanes(*inner, (0..first.len()).map(column).collect())
    }
}

impl NumericState {
    /// Applies a function of single values to values that may differ from lane to lane.
    pub(super) fn lift<'a>(
        &mut self,
        span: Span,
        values: &[Value<'a>],
        function: &dyn Fn(&[Value<'a>]) -> Outcome<Value<'a>>,
    ) -> Outcome<Value<'a>> {
        let Some(level) = values.iter().filter_map(Value::level).min() else {
            let value = function(values)?;
            self.spend(span, 1 + size(&value))?;
            return Ok(value);
        };
        self.lift_level(span, values, level, &mut |numeric, values| numeric.lift(span, values, function))
    }

    /// Applies a function to the values in each lane of one level, which is outermost wherever it occurs.
    fn lift_level<'a>(
        &mut self,
        span: Span,
        values: &[Value<'a>],
        level: usize,
        function: &mut dyn FnMut(&mut Self, &[Value<'a>]) -> Outcome<Value<'a>>,
    ) -> Outcome<Value<'a>> {
        let is_here = |value: &&Value<'a>| value.level() == Some(level);
        let count =
            values.iter().find(is_here).map_or(0, |value| value.levels().first().map_or(0, |(_, count)| *count));
        let mut lanes = Vec::with_capacity(count);
        for lane in 0..count {
            self.spend(span, LANE_COST)?;
            let values: Vec<Value<'a>> = values.iter().map(|value| value.in_lane(level, lane).clone()).collect();
            lanes.push(function(self, &values)?);
        }
        Ok(Value::Lanes(level, lanes.into()))
    }

    /// Applies a function lane by lane, at those levels only at which the leading value does not differ. The function gets values that
    /// differ at levels of the leading value or at none.
    pub(super) fn lift_around<'a>(
        &mut self,
        span: Span,
        leader: usize,
        values: &[Value<'a>],
        function: &mut dyn FnMut(&mut Self, &[Value<'a>]) -> Outcome<Value<'a>>,
    ) -> Outcome<Value<'a>> {
        let own = values.get(leader).map(Value::levels).unwrap_or_default();
        let is_other = |level: &usize| own.iter().all(|(own, _)| own != level);
        let others = values.iter().flat_map(Value::levels).map(|(level, _)| level).filter(is_other);
        let Some(level) = others.max() else {
            return function(self, values);
        };
        let raised: Vec<Value<'a>> = values.iter().map(|value| value.raise_level(level)).collect();
        let value = self.lift_level(span, &raised, level, &mut |numeric, values| {
            numeric.lift_around(span, leader, values, function)
        })?;
        Ok(value.sink_level())
    }

    /// The arguments of a function under `vmap`, each with a value for every lane, and how many lanes there are.
    pub(super) fn split_arguments<'a>(
        &mut self,
        vmap: &Vmap<'a>,
        arguments: Vec<Argument<'a>>,
        span: Span,
    ) -> Outcome<(Vec<Argument<'a>>, usize)> {
        let axes = argument_axes(&vmap.in_axes, &arguments, span)?;
        let mut mapping = Mapping { count: vmap.size, axes: Vec::new() };
        for (argument, axes) in arguments.iter().zip(&axes) {
            mapping.measure(&argument.value, axes, argument.span)?;
        }
        let Some(count) = mapping.count else {
            return Err(Problem::new(span, "vmap must map at least one argument, or be given an axis_size"));
        };
        self.spend(span, count.saturating_mul(LANE_COST))?;
        let mut axes = mapping.axes.into_iter();
        let mut mapped = Vec::with_capacity(arguments.len());
        for argument in arguments {
            let value = split_lanes(&argument.value, self.vmaps, count, &mut axes, argument.span)?;
            mapped.push(Argument { value, ..argument });
        }
        Ok((mapped, count))
    }

    /// Makes one array of the lanes of a level, its lanes along `axes`.
    pub(super) fn join_lanes<'a>(
        &mut self,
        value: &Value<'a>,
        level: usize,
        count: usize,
        axes: &Value<'a>,
        span: Span,
    ) -> Outcome<Value<'a>> {
        if let Some(items) = sequence(value) {
            let of_item = |index: usize| match sequence(axes) {
                Some(axes) if axes.len() == items.len() => Ok(axes[index].clone()),
                Some(_) => Err(Problem::new(span, "vmap out_axes do not fit the result")),
                None => Ok(axes.clone()),
            };
            let joined: Outcome<Vec<Value<'a>>> = items
                .iter()
                .enumerate()
                .map(|(index, item)| self.join_lanes(item, level, count, &of_item(index)?, span))
                .collect();
            return Ok(like(value, joined?));
        }
        let axis = match axes {
            Value::None => None,
            Value::Int(axis) => Some(*axis),
            _ => return Err(Problem::new(span, "vmap out_axes must be integers or None")),
        };
        let differs = value.levels().iter().any(|(own, _)| *own == level);
        match (axis, value) {
            (_, Value::None) => Ok(Value::None),
            (None, _) if differs => Err(Problem::new(span, "vmap out_axes is None, but the result is batched")),
            (None, _) => Ok(value.clone()),
            (Some(axis), _) => {
                let lanes = match value.raise_level(level) {
                    Value::Lanes(found, lanes) if found == level => lanes,
                    same => vec![same; count.max(1)].into(),
                };
                let mode = self.settings.mode;
                self.lift(span, &lanes, &|lanes| stack(mode, lanes, count, axis, span))
            }
        }
    }
}

impl Value<'_> {
    /// The value with one level outermost, the others in order below it.
    fn raise_level(&self, level: usize) -> Self {
        let levels = self.levels();
        let Some(depth) = levels.iter().position(|(own, _)| *own == level) else { return self.clone() };
        let count = levels[depth].1;
        let lane = |lane: usize| self.drop_level(depth, lane);
        Self::Lanes(level, (0..count).map(lane).collect())
    }

    /// The value in one lane of the level at a depth.
    fn drop_level(&self, depth: usize, lane: usize) -> Self {
        match self {
            Self::Lanes(_, lanes) if depth == 0 => lanes.get(lane).unwrap_or(self).clone(),
            Self::Lanes(level, lanes) => {
                Self::Lanes(*level, lanes.iter().map(|inner| inner.drop_level(depth - 1, lane)).collect())
            }
            _ => self.clone(),
        }
    }
}

/// Elements in a value.
fn size(value: &Value<'_>) -> usize {
    match value {
        Value::Array(tensor) => tensor.array.len(),
        Value::Keys(keys) => keys.keys.words().len(),
        _ => 0,
    }
}

/// The axes in `in_axes` for each argument. Keywords are always mapped along their first axis.
fn argument_axes<'a>(in_axes: &Value<'a>, arguments: &[Argument<'a>], span: Span) -> Outcome<Vec<Value<'a>>> {
    let positional = arguments.iter().filter(|argument| argument.name.is_none()).count();
    let mut axes = match sequence(in_axes) {
        Some(axes) if axes.len() == positional => axes,
        Some(axes) => {
            let message = format!("vmap in_axes has {} entries for {positional} positional arguments", axes.len());
            return Err(Problem::new(span, message));
        }
        None => vec![in_axes.clone(); positional],
    };
    axes.resize(arguments.len(), Value::Int(0));
    Ok(axes)
}

/// The number of lanes that the arguments of a `vmap` imply.
struct Mapping {
    count: Option<usize>,
    /// The axis of each leaf of the arguments, in order.
    axes: Vec<Option<usize>>,
}

impl Mapping {
    fn measure<'a>(&mut self, value: &Value<'a>, axes: &Value<'a>, span: Span) -> Outcome<()> {
        if let Some(items) = sequence(value) {
            return match sequence(axes) {
                Some(axes) if axes.len() == items.len() => {
                    items.iter().zip(axes.iter()).try_for_each(|(item, axes)| self.measure(item, axes, span))
                }
                Some(_) => Err(Problem::new(span, "vmap in_axes do not fit this argument")),
                None => items.iter().try_for_each(|item| self.measure(item, axes, span)),
            };
        }
        let axis = match axes {
            Value::None => {
                self.axes.push(None);
                return Ok(());
            }
            Value::Int(axis) => *axis,
            _ => return Err(Problem::new(span, "vmap in_axes must be integers or None, in tuples or lists")),
        };
        let shape = match (value, value.own_shape()) {
            (_, Some(shape)) => shape,
            (Value::Bool(_) | Value::Int(_) | Value::Float(_), _) => &[],
            (Value::None, _) => return Ok(()),
            _ => return Err(Problem::new(span, format!("vmap cannot map {}", value.description()))),
        };
        let named = isize::try_from(axis).ok().and_then(|axis| axis_of("vmap", axis, shape.len()).ok());
        let Some(axis) = named else {
            let message = format!("vmap cannot map axis {axis} of this argument: its shape is {}", shape_text(shape));
            return Err(Problem::new(span, message));
        };
        let found = shape[axis];
        match self.count {
            Some(count) if count != found => {
                let message = format!("vmap got inconsistent sizes for the axes to be mapped: {count} and {found}");
                return Err(Problem::new(span, message));
            }
            _ => self.count = Some(found),
        }
        self.axes.push(Some(axis));
        Ok(())
    }
}

/// Splits each leaf along its axis. With no lanes, one of zeros is made: its numbers are never seen, but its type and shape determine those
/// of the result.
fn split_lanes<'a>(
    value: &Value<'a>,
    level: usize,
    count: usize,
    axes: &mut impl Iterator<Item = Option<usize>>,
    span: Span,
) -> Outcome<Value<'a>> {
    if let Some(items) = sequence(value) {
        let items: Outcome<Vec<Value<'a>>> =
            items.iter().map(|item| split_lanes(item, level, count, axes, span)).collect();
        return Ok(like(value, items?));
    }
    if matches!(value, Value::None) {
        return Ok(Value::None);
    }
    let Some(axis) = axes.next().flatten() else { return Ok(value.clone()) };
    split_leaf(value, level, count, axis, span)
}

fn split_leaf<'a>(value: &Value<'a>, level: usize, count: usize, axis: usize, span: Span) -> Outcome<Value<'a>> {
    let failed = |error: Error| Problem::new(span, error.to_string());
    if let Value::Lanes(outer, lanes) = value {
        let lanes: Outcome<Rc<[Value<'a>]>> =
            lanes.iter().map(|lane| split_leaf(lane, level, count, axis, span)).collect();
        return Ok(Value::Lanes(*outer, lanes?));
    }
    let shape = value.own_shape().unwrap_or_default();
    let lane = |lane: usize| {
        if count > 0 {
            let outside = || Problem::new(span, "the axis has no such lane");
            return rearranged(value, &Map::element(shape, axis, lane).ok_or_else(outside)?, span);
        }
        let rest = [shape.get(..axis).unwrap_or_default(), shape.get(axis + 1..).unwrap_or_default()].concat();
        let size = size_of(&rest).map_err(failed)?;
        match value {
            Value::Array(tensor) => {
                let array = Array::from_integers(tensor.array.dtype(), &rest, vec![0; size]).map_err(failed)?;
                Ok(Value::Array(Tensor { array: Rc::new(array), weak: tensor.weak }))
            }
            Value::Keys(keys) => {
                let implementation = keys.keys.implementation();
                let keys = Keys::new(implementation, &rest, vec![0; size * implementation.width()]);
                Ok(typed(keys.map_err(failed)?))
            }
            _ => Err(Problem::new(span, format!("vmap cannot map {}", value.description()))),
        }
    };
    let lanes: Outcome<Rc<[Value<'a>]>> = (0..count.max(1)).map(lane).collect();
    Ok(Value::Lanes(level, lanes?))
}

/// Makes one value of the first `count` of those given, along a new axis.
fn stack<'a>(mode: Mode, lanes: &[Value<'a>], count: usize, axis: i128, span: Span) -> Outcome<Value<'a>> {
    let failed = |error: Error| Problem::new(span, error.to_string());
    let Some(first) = lanes.first() else { return Err(Problem::new(span, "the batch is empty")) };
    let shape = first.own_shape().unwrap_or_default();
    let rank = shape.len() + 1;
    let axis = isize::try_from(axis).unwrap_or(isize::MAX);
    let axis = axis_of("vmap", axis, rank).map_err(failed)?;
    let mut full = shape.to_vec();
    full.insert(axis, count);
    elements(&full, span)?;
    // From the order in which the elements are concatenated, lane after lane, to the order in which the lanes are interleaved.
    let map = Map::stack(shape, count, axis).ok_or_else(|| Problem::new(span, "there is no such axis"))?;
    let lanes = lanes.get(..count).unwrap_or_default();
    if let Value::Keys(keys) = first {
        let words = lanes.iter().flat_map(|lane| if let Value::Keys(keys) = lane { keys.keys.words() } else { &[] });
        let joined = Keys::new(keys.keys.implementation(), &[&[count], shape].concat(), words.copied().collect());
        return joined.and_then(|keys| keys.gather(&map.shape, &map.positions)).map(typed).map_err(failed);
    }
    let first = tensor(mode, first, span)?;
    let tensors: Vec<Tensor> = lanes.iter().map(|lane| tensor(mode, lane, span)).collect::<Outcome<_>>()?;
    let arrays: Vec<&Array> = tensors.iter().map(|tensor| &*tensor.array).collect();
    concatenate(&arrays, first.array.dtype(), &[&[count], shape].concat())
        .and_then(|array| array.gather(&map.shape, &map.positions))
        .map(|array| Value::Array(Tensor { array: Rc::new(array), weak: first.weak }))
        .map_err(failed)
}

/// Whether a sequence or a value in it differs from lane to lane.
pub fn is_mapped(value: &Value<'_>) -> bool {
    match value {
        Value::Lanes(..) => true,
        _ => sequence(value).is_some_and(|items| items.iter().any(is_mapped)),
    }
}
