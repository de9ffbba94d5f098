//! Index maps of array operations: which element of an array goes where.
//!
//! An operation that only moves elements (a subscript, a transpose, a stack, a broadcast) is a [`Map`]: the shape of its result and, for
//! each element of the result in row-major order, the position of the element that it copies. All of them are built the same way: each
//! axis of the result has a list of offsets, and a position is the sum of one offset per axis.
//!
//! **Invariant:** nothing here depends on what the elements are. Every function is total: it returns `None` if a length overflows, an
//! axis does not exist, or shapes do not match.

/// Where the elements of a result come from.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Map {
    /// The shape of the result.
    pub shape: Vec<usize>,
    /// For each element of the result, in row-major order, its position in the operand.
    pub positions: Vec<usize>,
}

/// One entry of a subscript. Entries apply to the axes of the operand in order.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Entry {
    /// Takes these elements of the next axis, and replaces the axis by axes of this shape (by none if the entry is an integer).
    Take(Vec<usize>, Vec<usize>),
    /// Inserts an axis of length one.
    NewAxis,
}

/// The number of elements of an array.
pub fn size(shape: &[usize]) -> Option<usize> {
    if shape.contains(&0) {
        return Some(0);
    }
    shape.iter().try_fold(1_usize, |size, length| size.checked_mul(*length))
}

/// The row-major stride of each axis, in elements.
fn strides(shape: &[usize]) -> Vec<usize> {
    let mut strides = vec![1_usize; shape.len()];
    for axis in (1..shape.len()).rev() {
        strides[axis - 1] = strides[axis].saturating_mul(shape[axis]);
    }
    strides
}

/// Resolves a Python index, which may be negative.
pub fn position(length: usize, index: i128) -> Option<usize> {
    let length = i128::try_from(length).ok()?;
    let index = if index < 0 { index.checked_add(length)? } else { index };
    usize::try_from(index).ok().filter(|_| index < length)
}

/// Resolves an index of a JAX array, which is clamped to the bounds. `None` if the array is empty.
pub fn nearest(length: usize, index: i128) -> Option<usize> {
    let last = i128::try_from(length).ok()?.checked_sub(1).filter(|last| *last >= 0)?;
    let index = if index < 0 { index.saturating_add(last).saturating_add(1) } else { index };
    usize::try_from(index.clamp(0, last)).ok()
}

/// Resolves an axis number, which may be negative.
pub fn axis(rank: usize, axis: i128) -> Option<usize> {
    position(rank, axis)
}

/// `len(range(from, to, step))`
pub fn range_length(from: i128, to: i128, step: i128) -> i128 {
    let (low, high, stride) = if step < 0 { (to, from, step.saturating_neg()) } else { (from, to, step) };
    if stride == 0 || low >= high {
        return 0;
    }
    high.saturating_sub(low).saturating_sub(1) / stride + 1
}

/// The elements that a slice selects, as computed by Python's `slice.indices`; `None` if the step is zero.
pub fn slice(length: usize, lower: Option<i128>, upper: Option<i128>, step: Option<i128>) -> Option<Vec<usize>> {
    let step = step.unwrap_or(1);
    let length = i128::try_from(length).ok()?;
    let (least, most) = if step < 0 { (-1, length - 1) } else { (0, length) };
    let bound = |given: Option<i128>, default: i128| {
        let given = given.map(|given| if given < 0 { given.saturating_add(length) } else { given });
        given.map_or(default, |given| given.clamp(least, most))
    };
    let (start, stop) = match step {
        0 => return None,
        1.. => (bound(lower, least), bound(upper, most)),
        _ => (bound(lower, most), bound(upper, least)),
    };
    let count = range_length(start, stop, step);
    (0..count).map(|index| usize::try_from(start + index * step).ok()).collect()
}

/// The target shape of `reshape` for an array of this size; one length may be -1.
pub fn reshaped(size: usize, lengths: &[i128]) -> Option<Vec<usize>> {
    let lengths_known = lengths.iter().filter_map(|length| usize::try_from(*length).ok());
    let known = lengths_known.fold(1, usize::saturating_mul);
    let fill = size.checked_div(known).unwrap_or(0);
    let length = |length: &i128| if *length == -1 { Some(fill) } else { usize::try_from(*length).ok() };
    let shape: Vec<usize> = lengths.iter().map(length).collect::<Option<_>>()?;
    let is_open = lengths.iter().filter(|length| **length == -1).count();
    (is_open <= 1 && self::size(&shape) == Some(size)).then_some(shape)
}

/// The shape that two compatible shapes broadcast to.
pub fn joint_shape(left: &[usize], right: &[usize]) -> Vec<usize> {
    let rank = left.len().max(right.len());
    let at = |shape: &[usize], axis: usize| (axis + shape.len()).checked_sub(rank).map_or(1, |axis| shape[axis]);
    (0..rank)
        .map(|axis| match (at(left, axis), at(right, axis)) {
            (1, other) => other,
            (this, _) => this,
        })
        .collect()
}

impl Map {
    /// The map whose positions are sums of one offset per axis.
    fn of(shape: Vec<usize>, axes: &[Vec<usize>]) -> Self {
        let mut positions = vec![0];
        for offsets in axes {
            positions = positions.iter().flat_map(|start| offsets.iter().map(move |offset| start + offset)).collect();
        }
        Self { shape, positions }
    }

    /// A subscript; axes without an entry are unchanged.
    pub fn select(shape: &[usize], entries: &[Entry]) -> Option<Self> {
        let strides = strides(shape);
        let (mut axis, mut result, mut axes) = (0, Vec::new(), Vec::new());
        for entry in entries {
            match entry {
                Entry::NewAxis => result.push(1),
                Entry::Take(elements, own) => {
                    let (stride, length) = (*strides.get(axis)?, *shape.get(axis)?);
                    if size(own) != Some(elements.len()) || elements.iter().any(|element| *element >= length) {
                        return None;
                    }
                    result.extend_from_slice(own);
                    axes.push(elements.iter().map(|element| element * stride).collect());
                    axis += 1;
                }
            }
        }
        for (length, stride) in shape.iter().zip(&strides).skip(axis) {
            result.push(*length);
            axes.push((0..*length).map(|element| element * stride).collect());
        }
        Some(Self::of(result, &axes))
    }

    /// Takes these elements of one axis, and everything along the others: `array[:, elements]`.
    pub fn take(shape: &[usize], axis: usize, elements: &[usize]) -> Option<Self> {
        Self::along(shape, axis, elements, vec![elements.len()])
    }

    /// Takes one element of an axis and removes the axis: a row, a column, or what one lane sees.
    pub fn element(shape: &[usize], axis: usize, element: usize) -> Option<Self> {
        Self::along(shape, axis, &[element], Vec::new())
    }

    fn along(shape: &[usize], axis: usize, elements: &[usize], own: Vec<usize>) -> Option<Self> {
        let whole = |length: &usize| Entry::Take((0..*length).collect(), vec![*length]);
        let mut entries: Vec<Entry> = shape.get(..axis)?.iter().map(whole).collect();
        entries.push(Entry::Take(elements.to_vec(), own));
        Self::select(shape, &entries)
    }

    /// `transpose(array, axes)`: axis *i* of the result is axis `axes[i]` of the operand.
    pub fn permute(shape: &[usize], axes: &[usize]) -> Option<Self> {
        let mut seen = vec![false; shape.len()];
        for axis in axes {
            if std::mem::replace(seen.get_mut(*axis)?, true) {
                return None;
            }
        }
        if axes.len() != shape.len() {
            return None;
        }
        let strides = strides(shape);
        let result = axes.iter().map(|axis| shape[*axis]).collect();
        let offsets = |axis: &usize| (0..shape[*axis]).map(|element| element * strides[*axis]).collect();
        Some(Self::of(result, &axes.iter().map(offsets).collect::<Vec<_>>()))
    }

    /// `array.T`
    pub fn transpose(shape: &[usize]) -> Self {
        let axes: Vec<usize> = (0..shape.len()).rev().collect();
        Self::permute(shape, &axes).unwrap_or_else(|| Self::of(Vec::new(), &[]))
    }

    /// `moveaxis(array, from, to)`
    pub fn moveaxis(shape: &[usize], from: usize, to: usize) -> Option<Self> {
        let mut axes: Vec<usize> = (0..shape.len()).filter(|axis| *axis != from).collect();
        if from >= shape.len() || to > axes.len() {
            return None;
        }
        axes.insert(to, from);
        Self::permute(shape, &axes)
    }

    /// `stack(arrays, axis)` of arrays that share one shape. Positions count the elements of all arrays, one array after another.
    pub fn stack(shape: &[usize], count: usize, axis: usize) -> Option<Self> {
        Self::moveaxis(&[&[count], shape].concat(), 0, axis)
    }

    /// `concatenate(arrays, axis)` of arrays of these shapes. Positions count the elements of all arrays, one array after another.
    pub fn concatenate(shapes: &[&[usize]], axis: usize) -> Option<Self> {
        let first = *shapes.first()?;
        let fits = |shape: &&&[usize]| {
            shape.len() == first.len()
                && shape.iter().zip(first).enumerate().all(|(at, (own, other))| at == axis || own == other)
        };
        if axis >= first.len() || !shapes.iter().all(|shape| fits(&shape)) {
            return None;
        }
        let mut shape = first.to_vec();
        shape[axis] = shapes.iter().map(|shape| shape[axis]).sum();
        // The result consists of blocks, each with one part from every array.
        let outer = size(&first[..axis])?;
        let mut positions = Vec::with_capacity(size(&shape)?);
        for block in 0..outer {
            let mut start = 0;
            for own in shapes {
                let part = size(&own[axis..])?;
                positions.extend((0..part).map(|element| start + block * part + element));
                start += outer * part;
            }
        }
        Some(Self { shape, positions })
    }
}
