//! Array functions applied to keys: what they keep, reorder, copy or mix.
//!
//! **Invariant:** a typed array of keys may be rearranged freely; on a raw one the last axis holds words, and mixing it
//! with others is a misuse.

use std::sync::Arc;

use crate::analysis::domain::implementation::Implementation;
use crate::analysis::domain::kinds::{BufferOp, ImplementationConflict, KeyKind};
use crate::analysis::domain::term::{Symbol, Term, TermId, Terms};
use crate::analysis::domain::value::{Array, Elements, Key, Order, Val, Value};
use crate::analysis::library::functions::short_name;
use crate::analysis::library::transpose::{Exchange, transpose};
use crate::analysis::library::{consume, derive, mixed_implementations};
use crate::analysis::machine::notes::{self, BufferUse};
use crate::analysis::machine::{Frame, Machine, arrays, implied, name_cache, operate};
use crate::analysis::program::Program;
use crate::analysis::store::args::Args;
use crate::analysis::store::heap::{Item, ObjectKind};
use crate::analysis::store::{evidence, paths};
use crate::finding::Place;
use crate::ir::Name;
use crate::models::roots::ROOT;
use crate::models::{Callable, Effect, NumberOp, ShapeOp};

/// Applies an array function to values that may be keys.
pub fn shape_op<'p>(
    machine: &mut Machine<'p>,
    frame: &mut Frame<'p>,
    callable: &'p Callable,
    args: &Args,
    path: &Name,
    place: Place,
) -> Value {
    let Effect::Shape { op, of, chosen, .. } = &callable.effect else {
        return name_cache::unknown_result(machine, path, place);
    };
    let op = *op;
    let mut inputs: Vec<Value> = Vec::new();
    for name in of {
        inputs.extend(args.all_of(callable, name).into_iter().map(|arg| arg.value.clone()));
    }
    if path.split('.').next() == Some(ROOT) {
        are_present(machine, &inputs);
    }
    let get = |name: &str| args.of(callable, name).map(|arg| arg.value.clone());
    match op {
        ShapeOp::Array
        | ShapeOp::Stack
        | ShapeOp::Vstack
        | ShapeOp::Hstack
        | ShapeOp::Concatenate
        | ShapeOp::Dstack
        | ShapeOp::ColumnStack => {
            // The first array, by default.
            let axis = get("axis").map_or(Some(0), |axis| machine.state.int_of(&axis));
            let join =
                if matches!(op, ShapeOp::Array | ShapeOp::Stack | ShapeOp::Vstack) { stack } else { concatenate };
            return join(machine, frame, (op, axis), &inputs, path, place);
        }
        ShapeOp::Where | ShapeOp::Select => {
            machine.recorder.choose(place, path);
            mixed_implementations::note(machine, frame, ImplementationConflict::Joined, &inputs, place);
            let test = chosen.as_deref().filter(|_| op == ShapeOp::Where).and_then(get);
            return select(machine, &inputs, test, path, args, place);
        }
        _ => {}
    }
    let Some(input) = inputs.first().cloned() else {
        return name_cache::unknown_result(machine, path, place);
    };
    let keyed = input
        .alternatives()
        .iter()
        .any(|alternative| operate::evident_key(machine, &alternative.val.clone()).is_some());
    if !keyed {
        return shape_of_unknown(machine, op, &input, path, args);
    }
    let input = machine.state.possible(&input);
    let axis = get("axis").and_then(|axis| machine.state.int_of(&axis));
    let dims = shape_argument(machine, frame, callable, args, op);
    paths::on_alternatives(machine, &input, |this, val| {
        let Some(key) = operate::evident_key(this, val) else { return Value::of(val.clone()) };
        let text = short_name(path);
        let keys = &Keys { val, key, place, text: &text };
        match op {
            ShapeOp::Reshape | ShapeOp::Ravel => reshape(this, frame, keys, op, dims.as_deref()),
            ShapeOp::Transpose
            | ShapeOp::MatrixTranspose
            | ShapeOp::Swapaxes
            | ShapeOp::Moveaxis
            | ShapeOp::Rollaxis
            | ShapeOp::Rot90
            | ShapeOp::Fliplr => {
                let exchange = Exchange::of(this, frame, (callable, args), op);
                transpose(this, frame, keys, &exchange)
            }
            ShapeOp::Flip | ShapeOp::Flipud | ShapeOp::Roll => {
                flip(this, frame, keys, axis.is_none() && op != ShapeOp::Flipud)
            }
            ShapeOp::Squeeze => squeeze(this, val),
            ShapeOp::ExpandDims | ShapeOp::Atleast => {
                let at = added_axis(val, axis);
                arrays::with_axis(&mut this.state.terms, &Value::of(val.clone()), at)
            }
            ShapeOp::BroadcastTo | ShapeOp::Repeat | ShapeOp::Tile | ShapeOp::Full => {
                duplicated(this, frame, keys, op, axis, dims.as_deref())
            }
            ShapeOp::Take | ShapeOp::TakeAlongAxis | ShapeOp::Index => {
                let index = ["indices", "index"].iter().find_map(|name| get(name)).unwrap_or_default();
                taken(this, val, &index, place)
            }
            ShapeOp::Slice | ShapeOp::Some | ShapeOp::Update => match val {
                Val::Array(array) => some_of(this, frame, (callable, args), op, array),
                _ => this.state.terms.opaque("<part>", Some(place)),
            },
            ShapeOp::Unstack => unstacked(this, frame, val, place),
            ShapeOp::Split | ShapeOp::BroadcastArrays => this.state.terms.opaque("<parts>", Some(place)),
            _ => this.state.terms.opaque(format!("{path}(…)"), Some(place)),
        }
    })
}

/// `None` makes no array of `jax.numpy`, while `numpy` makes one of objects.
fn are_present(machine: &mut Machine<'_>, inputs: &[Value]) {
    for input in inputs {
        if let Some(Val::Term(term)) = input.single() {
            implied::is_present(&mut machine.state, *term);
        }
    }
}

/// Some keys of an array: those between the bounds of a slice, where they are known.
fn some_of<'p>(
    machine: &mut Machine<'p>,
    frame: &mut Frame<'p>,
    (callable, args): (&'p Callable, &Args),
    op: ShapeOp,
    array: &Arc<Array>,
) -> Value {
    let bounds = if op == ShapeOp::Slice { slice_bounds(machine, frame, callable, args, array) } else { None };
    match bounds {
        Some(bounds) => arrays::array_slice(machine, array, bounds),
        None => arrays::subset(&mut machine.state.terms, array),
    }
}

/// The keys of an array, as a list.
fn unstacked<'p>(machine: &mut Machine<'p>, frame: &mut Frame<'p>, val: &Val, place: Place) -> Value {
    let Some(items) = machine.items_of(frame, &Value::of(val.clone())) else {
        return machine.state.terms.opaque("<parts>", Some(place));
    };
    let kind = ObjectKind::List { items, unknown: false };
    Value::of(Val::Object(machine.state.allocate(kind, "<parts>", Some(place))))
}

/// The bounds of `dynamic_slice` and similar functions along the first axis, if they are numbers and the other axes stay whole.
fn slice_bounds<'p>(
    machine: &mut Machine<'p>,
    frame: &mut Frame<'p>,
    callable: &'p Callable,
    args: &Args,
    array: &Array,
) -> Option<[Option<TermId>; 3]> {
    if array.dims.as_ref()?.len() != 1 {
        return None;
    }
    let mut first = |names: [&str; 2]| {
        let given = names.iter().find_map(|name| args.of(callable, name)).map(|arg| arg.value.clone())?;
        let one = match machine.items_of(frame, &given) {
            Some(items) => items.into_iter().next()?.value,
            None => given,
        };
        machine.state.int_of(&one)
    };
    let axis = args.of(callable, "axis").map_or(Some(0), |_| first(["axis", "axis"]))?;
    let lower = first(["start_indices", "start_index"]).filter(|start| *start >= 0)?;
    let upper = first(["limit_indices", "limit_index"])
        .or_else(|| first(["slice_sizes", "slice_size"]).map(|size| lower + size))?;
    let stride = match args.of(callable, "strides").or_else(|| args.of(callable, "stride")) {
        Some(_) => first(["strides", "stride"])?,
        None => 1,
    };
    (axis == 0).then(|| [lower, upper, stride].map(|bound| Some(machine.state.terms.int(bound))))
}

/// An array function without a known key: its result depends on its arguments.
fn shape_of_unknown(machine: &mut Machine<'_>, op: ShapeOp, input: &Value, path: &Name, args: &Args) -> Value {
    if matches!(op, ShapeOp::BroadcastTo | ShapeOp::Repeat | ShapeOp::Tile) {
        let one = match input.single() {
            Some(Val::Term(term)) if evidence::may_be_key(&machine.state.terms, *term) => Some(input.clone()),
            // `repeat(expand_dims(key, 0), n, axis=0)`
            Some(Val::Term(term)) => match machine.state.terms.get(*term) {
                Term::Apply(path, parts) if adds_an_axis(machine.program, path) => {
                    parts.first().copied().filter(|of| evidence::may_be_key(&machine.state.terms, *of)).map(Value::term)
                }
                _ => None,
            },
            Some(Val::Array(array)) => match &array.elements {
                Elements::Listed(parts) if parts.len() == 1 => parts.first().cloned(),
                _ => None,
            },
            _ => None,
        };
        if let Some(one) = one {
            // Copies of a value that may be a key: then the copies are one key.
            return Value::array(KeyKind::Unknown, 0, None, Elements::Copies(Arc::new(one)));
        }
    }
    let mut parts: Vec<TermId> = vec![machine.state.term_of(input)];
    for arg in args.positional.iter().skip(1) {
        parts.push(machine.state.term_of(&arg.value));
    }
    for (name, arg) in &args.keywords {
        parts.push(machine.state.terms.intern(Term::Text(name.clone())));
        parts.push(machine.state.term_of(&arg.value));
    }
    Value::term(machine.state.terms.intern(Term::Apply(path.into(), parts.into())))
}

/// Whether a library function returns its argument with one more axis.
fn adds_an_axis<'p>(program: &'p Program<'p>, path: &str) -> bool {
    let callable = program.models.callable(path).filter(|callable| callable.exact);
    callable.is_some_and(|callable| matches!(callable.effect, Effect::Shape { op: ShapeOp::ExpandDims, .. }))
}

/// The lengths in a shape argument: `reshape(a, (m, n))`, `a.reshape(m, n)`, `tile(a, n)`.
fn shape_argument<'p>(
    machine: &mut Machine<'p>,
    frame: &mut Frame<'p>,
    callable: &'p Callable,
    args: &Args,
    op: ShapeOp,
) -> Option<Vec<TermId>> {
    let names: &[&str] = match op {
        ShapeOp::Repeat => &["repeats"],
        ShapeOp::Tile => &["reps"],
        _ => &["shape", "newshape", "args", "order"],
    };
    let mut values: Vec<Value> = Vec::new();
    for name in names {
        let found = args.all_of(callable, name);
        if !found.is_empty() {
            values = found.into_iter().map(|arg| arg.value.clone()).collect();
            break;
        }
    }
    if let [only] = values.as_slice()
        && let Some(items) = machine.items_of(frame, only)
    {
        values = items.into_iter().map(|item| item.value).collect();
    }
    if values.is_empty() {
        return None;
    }
    Some(values.iter().map(|value| machine.state.term_of(value)).collect())
}

/// A key or an array of keys that is rearranged: where, and by what, as written.
pub(super) struct Keys<'a> {
    pub(super) val: &'a Val,
    pub(super) key: Key,
    pub(super) place: Place,
    text: &'a str,
}

impl Keys<'_> {
    /// Records that the operation uses the buffer of raw keys as if it held something else.
    pub(super) fn misused<'p>(&self, machine: &mut Machine<'p>, frame: &Frame<'p>, used_as: BufferOp) {
        notes::buffer_use(machine, frame, self.key, self.place, BufferUse::new(used_as, self.text.to_owned(), false));
    }
}

/// Keys in reverse or moved along; over all axes, that mixes the words of raw ones.
fn flip<'p>(machine: &mut Machine<'p>, frame: &Frame<'p>, keys: &Keys<'_>, over_all_axes: bool) -> Value {
    let is_raw = keys.key.kind == KeyKind::Raw;
    match keys.val {
        Val::Array(array) => {
            if array.kind == KeyKind::Raw && over_all_axes {
                keys.misused(machine, frame, BufferOp::Transpose);
            }
            arrays::reordered(array)
        }
        _ if is_raw => {
            keys.misused(machine, frame, BufferOp::Transpose);
            machine.state.terms.opaque("<mixed words>", Some(keys.place))
        }
        val => Value::of(val.clone()),
    }
}

/// An array of one key is that key; axes of other lengths stay.
fn squeeze(machine: &mut Machine<'_>, val: &Val) -> Value {
    if let Val::Array(array) = val
        && let Some([one]) = array.dims.as_deref()
        && one.and_then(|one| machine.state.terms.as_int(one)) == Some(1)
    {
        let zero = machine.state.terms.int(0);
        return arrays::array_element(machine, array, zero);
    }
    Value::of(val.clone())
}

/// Where `expand_dims` puts an axis among those of the keys; in front where that is not known.
fn added_axis(val: &Val, axis: Option<i128>) -> usize {
    let Val::Array(array) = val else { return 0 };
    let Some(dims) = &array.dims else { return 0 };
    let rank = dims.len() + usize::from(array.kind == KeyKind::Raw);
    axis.and_then(|axis| crate::arrays::axis(rank + 1, axis)).map_or(0, |at| at.min(dims.len()))
}

/// `take(keys, index)`: one key, or some.
fn taken(machine: &mut Machine<'_>, val: &Val, index: &Value, place: Place) -> Value {
    let Val::Array(array) = val else { return machine.state.terms.opaque("<taken>", Some(place)) };
    match index.single() {
        Some(Val::Term(term)) if !matches!(machine.state.terms.get(*term), Term::Apply(..)) => {
            arrays::array_element(machine, array, *term)
        }
        _ => arrays::subset(&mut machine.state.terms, array),
    }
}

fn reshape<'p>(
    machine: &mut Machine<'p>,
    frame: &mut Frame<'p>,
    keys: &Keys<'_>,
    op: ShapeOp,
    dims: Option<&[TermId]>,
) -> Value {
    let Keys { val, key, place, .. } = *keys;
    let last = dims.and_then(|dims| dims.last().copied()).and_then(|last| machine.state.terms.as_int(last));
    let raw = key.kind == KeyKind::Raw;
    if raw && op == ShapeOp::Ravel && matches!(val, Val::Key(_)) {
        return Value::of(val.clone());
    }
    let keeps_words = raw && op == ShapeOp::Reshape && last == Some(-1) && keeps_words(machine, val, dims);
    if keeps_words {
        // `(n, 2)` words reshaped to `(m, -1)`: right for raw keys only.
        keys.misused(machine, frame, BufferOp::RawShape);
    }
    let all_known = dims.is_some_and(|dims| dims.iter().all(|dim| machine.state.terms.as_int(*dim).is_some()));
    let mixes = raw
            && match op {
                ShapeOp::Ravel => true,
                _ => all_known && !matches!(last, Some(2 | 4)) && !keeps_words,
            }
            // `reshape(-1)` of a single raw key is the key.
            && !(matches!(val, Val::Key(_)) && dims.is_some_and(|dims| dims.len() == 1));
    if mixes {
        keys.misused(machine, frame, BufferOp::Reshape);
        return machine.state.terms.opaque("<mixed words>", Some(place));
    }
    if op == ShapeOp::Reshape && matches!(val, Val::Array(_)) && is_open(machine, dims) {
        // The number of axes is now unknown, and so is what an index selects.
        return machine.state.terms.opaque("<reshaped keys>", Some(place));
    }
    match val {
        Val::Array(array) => {
            let array = array.clone();
            let mut lengths: Vec<Option<TermId>> = match (op, dims) {
                (ShapeOp::Ravel, _) => vec![consume::flat_length(&mut machine.state.terms, &array)],
                (_, Some(dims)) => {
                    let known: Vec<Option<i128>> = dims.iter().map(|dim| machine.state.terms.as_int(*dim)).collect();
                    let total = consume::flat_length(&mut machine.state.terms, &array)
                        .and_then(|total| machine.state.terms.as_int(total));
                    let product: Option<i128> =
                        known.iter().filter(|n| **n != Some(-1)).copied().try_fold(1, |all, n| Some(all * n?));
                    dims.iter()
                        .zip(&known)
                        .map(|(dim, number)| match number {
                            Some(-1) => match (total, product) {
                                (Some(total), Some(product)) if product > 0 && !raw => {
                                    Some(machine.state.terms.int(total / product))
                                }
                                _ => None,
                            },
                            _ => Some(*dim),
                        })
                        .collect()
                }
                _ => return arrays::subset(&mut machine.state.terms, &array),
            };
            if raw && op == ShapeOp::Reshape {
                // The last length is that of the buffer.
                lengths.pop();
            }
            if lengths.is_empty() {
                let zero = machine.state.terms.int(0);
                return arrays::array_element(machine, &array, zero);
            }
            if let Elements::View { .. } = &array.elements {
                return Value::of(Val::Array(Arc::new(Array { dims: Some(lengths.into()), ..(*array).clone() })));
            }
            Value::of(Val::Array(array))
        }
        Val::Key(key) => {
            if raw {
                return Value::of(val.clone());
            }
            arrays::listed(&mut machine.state.terms, vec![Value::of(val.clone())], key.kind)
        }
        _ => Value::of(val.clone()),
    }
}

/// Whether the words of raw keys stay together where all but the last of the lengths are written and the last is open: the lengths
/// count the keys, or are unknown.
fn keeps_words(machine: &mut Machine<'_>, val: &Val, dims: Option<&[TermId]>) -> bool {
    let (Val::Array(array), Some([lengths @ .., _])) = (val, dims) else { return false };
    let terms = &mut machine.state.terms;
    let total = consume::flat_length(terms, array).and_then(|total| terms.as_int(total));
    let count = lengths.iter().try_fold(1_i128, |count, length| count.checked_mul(terms.as_int(*length)?));
    !lengths.is_empty() && total.zip(count).is_none_or(|(total, count)| total == count)
}

/// Whether not even the number of axes follows from the lengths: `keys.reshape(shape)`.
fn is_open(machine: &Machine<'_>, dims: Option<&[TermId]>) -> bool {
    match dims {
        None => true,
        Some([only]) => machine.state.terms.as_int(*only).is_none(),
        Some(_) => false,
    }
}

/// Copies of a key make a batch whose members are equal.
fn duplicated<'p>(
    machine: &mut Machine<'p>,
    frame: &mut Frame<'p>,
    keys: &Keys<'_>,
    op: ShapeOp,
    axis: Option<i128>,
    dims: Option<&[TermId]>,
) -> Value {
    let Keys { val, key, place, text } = *keys;
    let scalar = matches!(val, Val::Key(_));
    if key.kind == KeyKind::Raw
        && (op == ShapeOp::Repeat && scalar && axis.is_none()
            || op == ShapeOp::Tile && scalar && dims.is_some_and(|dims| dims.len() == 1))
    {
        keys.misused(machine, frame, BufferOp::Reshape);
        return machine.state.terms.opaque("<repeated words>", Some(place));
    }
    let derivation =
        derive::derived(machine, frame, place, &text.into(), key.term, derive::DerivationDetails::default());
    let one = match val {
        Val::Key(key) => Some(Value::of(Val::Key(*key))),
        Val::Array(array) => match &array.elements {
            Elements::Listed(parts) if parts.len() == 1 => parts.first().cloned(),
            Elements::Copies(of) => Some((**of).clone()),
            _ => None,
        },
        _ => None,
    };
    match one {
        Some(one) => {
            let rank = match (op, dims) {
                (ShapeOp::BroadcastTo | ShapeOp::Tile | ShapeOp::Full, Some(dims)) => {
                    dims.len().saturating_sub(usize::from(key.kind == KeyKind::Raw)).max(1)
                }
                _ => 1,
            };
            let first = dims.and_then(|dims| dims.first().copied());
            let lengths: Vec<Option<TermId>> =
                std::iter::once(first).chain(std::iter::repeat_n(None, rank - 1)).collect();
            Value::array(key.kind, derivation, Some(lengths.into()), Elements::Copies(Arc::new(one)))
        }
        None => match val {
            Val::Array(array) if op == ShapeOp::BroadcastTo && adds_an_axis_to(array, dims) => {
                let first = dims.and_then(|dims| dims.first().copied());
                let lengths = std::iter::once(first).chain(array.dims.iter().flat_map(|dims| dims.iter().copied()));
                Value::array(
                    key.kind,
                    derivation,
                    Some(lengths.collect()),
                    Elements::Copies(Arc::new(Value::of(val.clone()))),
                )
            }
            Val::Array(array) => {
                let mut array = (**array).clone();
                if let (ShapeOp::BroadcastTo, Some(dims)) = (op, dims) {
                    let axes = dims.len().saturating_sub(usize::from(key.kind == KeyKind::Raw));
                    array.dims = Some(dims.iter().take(axes).map(|length| Some(*length)).collect());
                }
                let is_first =
                    axis.is_none_or(|axis| axis == 0) && array.dims.as_ref().is_some_and(|dims| dims.len() == 1);
                let once = dims.and_then(|dims| machine.state.terms.as_int(*dims.first()?)) == Some(1);
                if matches!(op, ShapeOp::Repeat | ShapeOp::Tile) && is_first && !once {
                    array.derivation = derivation;
                    return arrays::repeated(&mut machine.state.terms, &Arc::new(array));
                }
                arrays::subset(&mut machine.state.terms, &Arc::new(array))
            }
            _ => machine.state.terms.opaque("<copies>", Some(place)),
        },
    }
}

/// Whether an array of keys that is broadcast to these lengths is repeated along a new first axis.
fn adds_an_axis_to(array: &Array, dims: Option<&[TermId]>) -> bool {
    let axes = dims.map(|dims| dims.len().saturating_sub(usize::from(array.kind == KeyKind::Raw)));
    array.kind != KeyKind::Unknown && axes.is_some() && axes == array.dims.as_ref().map(|dims| dims.len() + 1)
}

fn stack<'p>(
    machine: &mut Machine<'p>,
    frame: &mut Frame<'p>,
    (op, axis): (ShapeOp, Option<i128>),
    inputs: &[Value],
    path: &Name,
    place: Place,
) -> Value {
    let Some(input) = inputs.first().cloned() else {
        return name_cache::unknown_result(machine, path, place);
    };
    let input = machine.state.possible(&input);
    let parts: Vec<Value> = if inputs.len() > 1 {
        inputs.to_vec()
    } else {
        match input.single() {
            // `jnp.array(key)` is the key.
            Some(Val::Key(_) | Val::Array(_) | Val::Term(_) | Val::Words(..)) if op == ShapeOp::Array => {
                return input;
            }
            Some(Val::Array(_)) => return input,
            _ => match machine.items_of(frame, &input) {
                Some(items) => items.into_iter().map(|item: Item| item.value).collect(),
                None => return name_cache::unknown_result(machine, path, place),
            },
        }
    };
    mixed_implementations::note(machine, frame, ImplementationConflict::Joined, &parts, place);
    let keys: Vec<Key> = parts
        .iter()
        .filter_map(|part| part.single().cloned())
        .filter_map(|val| operate::evident_key(machine, &val))
        .collect();
    if keys.is_empty()
        && let [first, rest @ ..] = parts.as_slice()
        && !rest.is_empty()
        && let Some(Val::Term(term)) = first.single()
        && evidence::may_be_key(&machine.state.terms, *term)
        && rest.iter().all(|part| part == first)
    {
        return Value::array(KeyKind::Unknown, 0, None, Elements::Copies(Arc::new(first.clone())));
    }
    if keys.is_empty() || keys.len() != parts.len() {
        let mut term: Vec<TermId> = parts.iter().map(|part| machine.state.term_of(part)).collect();
        if let Some(axis) = axis.filter(|axis| *axis != 0) {
            term.extend([machine.state.terms.intern(Term::Text("axis".into())), machine.state.terms.int(axis)]);
        }
        return Value::term(machine.state.terms.intern(Term::Apply(path.into(), term.into())));
    }
    let raw = keys[0].kind == KeyKind::Raw;
    if raw && axis.is_some_and(|axis| axis != 0) && matches!(parts[0].single(), Some(Val::Key(_))) {
        let used = BufferUse::new(BufferOp::Transpose, format!("{}(…, axis=…)", short_name(path)), false);
        notes::buffer_use(machine, frame, keys[0], place, used);
        return machine.state.terms.opaque("<mixed words>", Some(place));
    }
    if parts.len() > 1 && keys.iter().all(|key| key.term == keys[0].term) {
        let derivation =
            derive::derived(machine, frame, place, path, keys[0].term, derive::DerivationDetails::default());
        let length = machine.state.terms.int(i128::try_from(parts.len()).unwrap_or(0));
        return Value::array(
            keys[0].kind,
            derivation,
            Some(vec![Some(length)].into()),
            Elements::Copies(Arc::new(parts[0].clone())),
        );
    }
    // Arrays that are concatenated along another axis are the columns of the result.
    if op == ShapeOp::Stack
        && axis != Some(0)
        && let Some(Val::Array(first)) = parts[0].single()
    {
        let rank = first.dims.as_ref().map(|dims| dims.len() + 1);
        return opaque_keys(&mut machine.state.terms, keys[0].kind, rank);
    }
    arrays::listed(&mut machine.state.terms, parts, keys[0].kind)
}

/// An array of keys of unknown origin: equal to each other at equal indices only.
fn opaque_keys(terms: &mut Terms, kind: KeyKind, rank: Option<usize>) -> Value {
    let family = terms.fresh(Symbol::Opaque, "<keys put together>", None);
    let start = terms.int(0);
    Value::array(kind, 0, rank.map(|rank| vec![None; rank].into()), Elements::whole(family, start))
}

fn concatenate<'p>(
    machine: &mut Machine<'p>,
    frame: &mut Frame<'p>,
    (op, axis): (ShapeOp, Option<i128>),
    inputs: &[Value],
    path: &Name,
    place: Place,
) -> Value {
    let parts: Vec<Value> = match inputs {
        [only] => match machine.items_of(frame, only) {
            Some(items) => items.into_iter().map(|item| item.value).collect(),
            None => return only.clone(),
        },
        several => several.to_vec(),
    };
    mixed_implementations::note(machine, frame, ImplementationConflict::Joined, &parts, place);
    let mut kinds = Vec::new();
    for part in &parts {
        let Some(val) = part.single().cloned() else {
            return name_cache::unknown_result(machine, path, place);
        };
        if let Some(key) = operate::evident_key(machine, &val) {
            kinds.push((key, matches!(val, Val::Key(_))));
        } else {
            let terms: Vec<TermId> = parts.iter().map(|part| machine.state.term_of(part)).collect();
            return Value::term(machine.state.terms.intern(Term::Apply(path.into(), terms.into())));
        }
    }
    let Some((first, scalar)) = kinds.first().copied() else {
        return name_cache::unknown_result(machine, path, place);
    };
    if first.kind == KeyKind::Raw && (scalar || op != ShapeOp::Concatenate) {
        notes::buffer_use(machine, frame, first, place, BufferUse::new(BufferOp::Reshape, short_name(path), false));
        return machine.state.terms.opaque("<mixed words>", Some(place));
    }
    let rank = match parts[0].single() {
        Some(Val::Array(array)) => array.dims.as_ref().map(|dims| dims.len()),
        _ => Some(1),
    };
    match op {
        ShapeOp::Concatenate if axis == Some(0) => {}
        ShapeOp::Hstack if rank == Some(1) => {}
        ShapeOp::Concatenate | ShapeOp::Hstack => return opaque_keys(&mut machine.state.terms, first.kind, rank),
        _ => return opaque_keys(&mut machine.state.terms, first.kind, None),
    }
    if let Some(elements) = elements_of(machine, &parts) {
        return arrays::listed(&mut machine.state.terms, elements, first.kind);
    }
    Value::array(first.kind, 0, rank.map(|rank| vec![None; rank].into()), Elements::Joined(parts.into()))
}

/// The elements of concatenated arrays, if they are few and all known.
fn elements_of(machine: &mut Machine<'_>, parts: &[Value]) -> Option<Vec<Value>> {
    let mut elements = Vec::new();
    for part in parts {
        let Some(Val::Array(array)) = part.single().cloned() else { return None };
        if !matches!(array.elements, Elements::Listed(_) | Elements::View { order: Order::Known, .. }) {
            return None;
        }
        let length = array.dims.as_ref()?.first().copied().flatten()?;
        let length = machine.state.terms.as_int(length)?;
        if length.saturating_add(i128::try_from(elements.len()).ok()?) > arrays::LISTED {
            return None;
        }
        for index in 0..length {
            let index = machine.state.terms.int(index);
            elements.push(arrays::array_element(machine, &array, index));
        }
    }
    (!elements.is_empty()).then_some(elements)
}

/// `where(condition, a, b)`: one of the two, by the condition.
fn select(
    machine: &mut Machine<'_>,
    inputs: &[Value],
    condition: Option<Value>,
    path: &Name,
    args: &Args,
    place: Place,
) -> Value {
    let [a, b] = inputs else { return name_cache::unknown_result(machine, path, place) };
    let keyed = [a, b].iter().any(|value| {
        value.alternatives().iter().any(|alternative| matches!(alternative.val, Val::Key(_) | Val::Array(_)))
    });
    if !keyed {
        let parts: Vec<TermId> = args.positional.iter().map(|arg| machine.state.term_of(&arg.value)).collect();
        return Value::term(machine.state.terms.intern(Term::Apply(path.into(), parts.into())));
    }
    let test = match condition {
        Some(condition) => machine.state.term_of(&condition),
        None => machine.state.terms.fresh(Symbol::Opaque, "<condition>", Some(place)),
    };
    let holds = machine.state.truth_of_term(test);
    a.join(&mut machine.state.paths.guards, holds, b)
}

/// `zeros_like(key)`: a fabricated key.
pub fn fabricate<'p>(
    machine: &mut Machine<'p>,
    frame: &mut Frame<'p>,
    value: &Value,
    zeros: bool,
    path: &Name,
    place: Place,
) -> Value {
    let value = machine.state.possible(value);
    paths::on_alternatives(machine, &value, |this, val| {
        if let Some(key) = operate::evident_key(this, val) {
            notes::buffer_use(this, frame, key, place, BufferUse::new(BufferOp::Fabricate, short_name(path), false));
            let zero = this.state.terms.int(0);
            // Zeros are a key of the same implementation, and the seed 0 is one of the default.
            let is_default = !matches!(mixed_implementations::of(this, key.term), Some(Implementation::Given(_)));
            let term = if zeros && is_default {
                this.state.terms.intern(Term::Seed(zero))
            } else {
                this.state.terms.fresh(Symbol::Opaque, "<fabricated key>", Some(place))
            };
            let derivation = derive::derived(this, frame, place, path, term, derive::DerivationDetails::default());
            Value::of(Val::Key(Key { term, kind: key.kind, derivation }))
        } else {
            let term = this.state.term_of_val(val);
            Value::term(this.state.terms.intern(Term::Apply(path.into(), Box::new([term]))))
        }
    })
}

/// `int(key)`, `np.asarray(key)`: numbers, where it does not raise.
pub fn number_of<'p>(
    machine: &mut Machine<'p>,
    frame: &mut Frame<'p>,
    value: &Value,
    op: NumberOp,
    (text, path): (&str, &Name),
    place: Place,
) -> Value {
    let value = machine.state.possible(value);
    paths::on_alternatives(machine, &value, |this, val| {
        let are_words = match val {
            Val::Words(..) => true,
            Val::Term(term) => matches!(this.state.terms.get(*term), Term::Words(_, None)),
            _ => false,
        };
        if are_words {
            return Value::of(val.clone());
        }
        let Some(key) = operate::evident_key(this, val) else {
            let term = this.state.term_of_val(val);
            let number = match op {
                NumberOp::Float => this.state.terms.float_of(term),
                NumberOp::Integer => this.state.terms.integer_of(term),
                NumberOp::Value | NumberOp::Words | NumberOp::Cast => None,
            };
            let otherwise = || Term::Apply(path.into(), Box::new([term]));
            return Value::term(number.unwrap_or_else(|| this.state.terms.intern(otherwise())));
        };
        // A raw key is an array of numbers already: converting it is how it is saved and shown.
        if op == NumberOp::Words && key.kind != KeyKind::Typed {
            return Value::of(Val::Words(key, None));
        }
        let (used_as, raises) = match op {
            NumberOp::Cast => (BufferOp::DtypeLogic, key.kind == KeyKind::Typed),
            NumberOp::Value | NumberOp::Float | NumberOp::Integer | NumberOp::Words => (BufferOp::Number, true),
        };
        notes::buffer_use(this, frame, key, place, BufferUse::new(used_as, text.to_owned(), raises));
        let words = this.state.terms.intern(Term::Words(key.term, None));
        Value::term(this.state.terms.intern(Term::Apply(path.into(), Box::new([words]))))
    })
}
