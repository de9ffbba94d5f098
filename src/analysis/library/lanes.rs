//! Mapped functions: one body, many lanes at once.
//!
//! The body runs once, on the element of a lane whose number is a symbol. A key that mentions the symbol is the lane's own; one
//! that does not is shared by all.
//!
//! **Invariant:** lanes are not iterations: what one lane consumes never meets what another consumes, except as a shared key.

use std::collections::BTreeMap;
use std::sync::Arc;

use crate::analysis::domain::extent::Extent;
use crate::analysis::domain::kinds::{BufferOp, KeyKind};
use crate::analysis::domain::size::Walk;
use crate::analysis::domain::term::{Symbol, Term, TermId, Terms};
use crate::analysis::domain::value::{Array, Elements, Key, ObjectId, Order, Val, Value};
use crate::analysis::library::{consume, transform, tree};
use crate::analysis::machine::context::Lane;
use crate::analysis::machine::notes::{self, BufferUse};
use crate::analysis::machine::{Frame, Machine, arrays, operate};
use crate::analysis::store::args::{Arg, Args};
use crate::analysis::store::heap::{Entry, Item, ObjectKind};
use crate::analysis::store::{State, paths};
use crate::finding::Place;
use crate::ir::{Name, Operator};

/// How a transform maps one argument.
#[derive(Clone, Debug)]
pub enum Axis {
    /// Over this axis.
    Mapped(i128),
    /// It is passed whole to every lane.
    Unmapped,
    /// Part by part.
    Parts(Vec<Axis>),
    /// Field by field of a record.
    Fields(BTreeMap<Name, Axis>),
    /// Unknown.
    Unknown,
}

/// Runs a mapped function.
pub fn run_lanes<'p>(
    machine: &mut Machine<'p>,
    frame: &mut Frame<'p>,
    function: &Value,
    args: Args,
    axes: Option<&Value>,
    place: Place,
) -> Value {
    let axes = match axes {
        Some(axes) => axis_of(machine, frame, axes, &mut Walk::to(tree::NESTED)),
        None => Axis::Mapped(0),
    };
    run_along(machine, frame, function, &args, (&axes, false), place)
}

/// Runs a function on blocks of its arguments: which axes are divided, and into how many blocks, is unknown. Every
/// device gets the whole argument if its specification names no axis of the mesh, `P()`.
pub fn run_blocks<'p>(
    machine: &mut Machine<'p>,
    frame: &mut Frame<'p>,
    function: &Value,
    args: Args,
    specs: Option<&Value>,
    place: Place,
) -> Value {
    let axes = match specs.map(|specs| (machine.items_of(frame, specs), specs)) {
        Some((Some(parts), _)) if parts.len() == args.positional.len() => {
            let parts = parts.iter().zip(&args.positional);
            Axis::Parts(parts.map(|(spec, arg)| block_axis(machine, &spec.value, &arg.value, tree::NESTED)).collect())
        }
        Some((None, spec)) if is_replicated(machine, spec) => Axis::Unmapped,
        _ => Axis::Unknown,
    };
    run_along(machine, frame, function, &args, (&axes, true), place)
}

/// How an argument is divided into blocks: a specification applies to the whole argument, or has the same parts.
fn block_axis(machine: &Machine<'_>, spec: &Value, value: &Value, depth: u32) -> Axis {
    if is_replicated(machine, spec) {
        return Axis::Unmapped;
    }
    let object = |value: &Value| match value.single() {
        Some(Val::Object(object)) => Some(&machine.state.store.objects[object.0 as usize].kind),
        _ => None,
    };
    let pairs: Vec<(&Value, &Value)> = match (spec.single(), value.single()) {
        (Some(Val::Tuple(specs)), Some(Val::Tuple(parts))) if specs.len() == parts.len() => {
            specs.iter().zip(parts.iter()).collect()
        }
        _ => match (object(spec), object(value)) {
            (Some(ObjectKind::Dict { entries: specs, .. }), Some(ObjectKind::Dict { entries, unknown: false })) => {
                let spec_of = |key| specs.iter().find(|spec| spec.key == key).map(|spec| &spec.value);
                entries.iter().map_while(|entry| Some((spec_of(entry.key)?, &entry.value))).collect()
            }
            _ => return Axis::Unknown,
        },
    };
    if depth == 0 {
        return Axis::Unknown;
    }
    Axis::Parts(pairs.iter().map(|(spec, part)| block_axis(machine, spec, part, depth - 1)).collect())
}

/// Whether a specification names no axis of a mesh: `P()`, `P(None)`, `None`.
fn is_replicated(machine: &Machine<'_>, spec: &Value) -> bool {
    let terms = &machine.state.terms;
    let is_none = |term: &TermId| matches!(terms.get(*term), Term::None);
    matches!(spec.single(), Some(Val::Term(term)) if match terms.get(*term) {
        Term::Apply(_, axes) => axes.iter().all(is_none),
        term => matches!(term, Term::None),
    })
}

fn run_along<'p>(
    machine: &mut Machine<'p>,
    frame: &mut Frame<'p>,
    function: &Value,
    args: &Args,
    (axes, blocks): (&Axis, bool),
    place: Place,
) -> Value {
    let born = machine.state.terms.fresh(Symbol::Lane, "<lane>", Some(place));
    let mut lane = Lane {
        symbols: vec![born],
        place,
        activation: frame.activation.clone(),
        born,
        unmapped: Vec::new(),
        copied: Vec::new(),
        repeated: Vec::new(),
        only: Vec::new(),
        blocks,
        walk: Walk::to(tree::NESTED),
    };
    let mut mapped = Args { prebound: args.prebound, placed: args.placed, ..Args::default() };
    let mut length = None;
    for (index, arg) in args.positional.iter().enumerate() {
        let axis = match axes {
            Axis::Parts(parts) => parts.get(index).cloned().unwrap_or(Axis::Unknown),
            other => other.clone(),
        };
        length = length.or_else(|| lane_length(&arg.value));
        let value = lane_value(machine, frame, &arg.value, &axis, &mut lane, place);
        mapped.positional.push(Arg { value, written: arg.written.clone() });
    }
    for (name, arg) in &args.keywords {
        let axis = if blocks || matches!(axes, Axis::Unknown) { Axis::Unknown } else { Axis::Mapped(0) };
        let value = lane_value(machine, frame, &arg.value, &axis, &mut lane, place);
        mapped.keywords.push((name.clone(), Arg { value, written: arg.written.clone() }));
    }
    mapped.spread = args.spread.iter().chain(&args.mappings).map(|_| Value::term(born)).collect();
    let symbols = lane.symbols.clone();
    machine.transforms.lanes.push(lane);
    let result = machine.call_value(frame, function, mapped, Some(place));
    machine.transforms.lanes.pop();
    stacked(machine, frame, result, &symbols, length)
}

fn axis_of<'p>(machine: &mut Machine<'p>, frame: &mut Frame<'p>, value: &Value, walk: &mut Walk) -> Axis {
    if !walk.down() {
        return Axis::Unknown;
    }
    let axis = match value.single() {
        Some(Val::Term(term)) => match (machine.state.terms.get(*term), machine.state.terms.as_int(*term)) {
            (Term::None, _) => Axis::Unmapped,
            (_, Some(axis)) => Axis::Mapped(axis),
            _ => Axis::Unknown,
        },
        Some(Val::Tuple(_)) => match machine.items_of(frame, value) {
            Some(items) => Axis::Parts(items.iter().map(|item| axis_of(machine, frame, &item.value, walk)).collect()),
            None => Axis::Unknown,
        },
        Some(Val::Object(object)) => match machine.state.store.objects[object.0 as usize].kind.clone() {
            ObjectKind::List { items, unknown: false } => {
                Axis::Parts(items.iter().map(|item| axis_of(machine, frame, &item.value, walk)).collect())
            }
            ObjectKind::Dict { entries, unknown: false } => {
                Axis::Parts(entries.iter().map(|entry| axis_of(machine, frame, &entry.value, walk)).collect())
            }
            ObjectKind::Instance if machine.state.is_record(*object) => {
                let fields = machine.state.store.objects[object.0 as usize].attributes.clone();
                let fields = fields.into_iter().map(|(name, value)| (name, axis_of(machine, frame, &value, walk)));
                Axis::Fields(fields.collect())
            }
            _ => Axis::Unknown,
        },
        _ => Axis::Unknown,
    };
    walk.back();
    axis
}

fn lane_length(value: &Value) -> Option<TermId> {
    match value.single()? {
        Val::Array(array) => array.dims.as_ref()?.first().copied()?,
        _ => None,
    }
}

/// The part of an argument that one lane gets.
fn lane_value<'p>(
    machine: &mut Machine<'p>,
    frame: &mut Frame<'p>,
    value: &Value,
    axis: &Axis,
    lane: &mut Lane,
    place: Place,
) -> Value {
    if !lane.walk.down() {
        let fresh = machine.state.terms.fresh(Symbol::Lane, "<perhaps mapped>", Some(place));
        lane.symbols.push(fresh);
        return Value::term(fresh);
    }
    let value = value.clone();
    let seen = paths::on_alternatives(machine, &value, |this, val| lane_val(this, frame, val, axis, lane, place));
    lane.walk.back();
    seen
}

fn lane_val<'p>(
    machine: &mut Machine<'p>,
    frame: &mut Frame<'p>,
    val: &Val,
    axis: &Axis,
    lane: &mut Lane,
    place: Place,
) -> Value {
    match axis {
        Axis::Unmapped => {
            let term = machine.state.term_of_val(val);
            lane.unmapped.push(term);
            return Value::of(val.clone());
        }
        Axis::Unknown => {
            // Neither certainly shared nor certainly the lane's own: unknown.
            let fresh = machine.state.terms.fresh(Symbol::Lane, "<perhaps mapped>", Some(place));
            lane.symbols.push(fresh);
            return Value::term(fresh);
        }
        Axis::Mapped(_) | Axis::Parts(_) | Axis::Fields(_) => {}
    }
    let part_axis = |index: usize| match axis {
        Axis::Parts(parts) => parts.get(index).cloned().unwrap_or(Axis::Unknown),
        other => other.clone(),
    };
    match val {
        Val::Array(array) => {
            let array = array.clone();
            if let Axis::Mapped(number) = axis {
                check_map_axis(machine, frame, &array, *number, place);
                if *number != 0 && array.dims.as_ref().is_none_or(|dims| dims.len() != 1 || *number != -1) {
                    let fresh = machine.state.terms.fresh(Symbol::Lane, "<lane>", Some(place));
                    lane.symbols.push(fresh);
                    return arrays::column_of(&mut machine.state, &array, *number, fresh);
                }
            }
            lane_element(machine, &array, lane, place)
        }
        Val::Tuple(parts) => {
            let parts: Vec<Value> = parts
                .clone()
                .iter()
                .enumerate()
                .map(|(index, part)| lane_value(machine, frame, part, &part_axis(index), lane, place))
                .collect();
            Value::of(Val::Tuple(parts.into()))
        }
        Val::Object(object) => lane_object(machine, frame, *object, axis, lane, place),
        Val::Term(term) => {
            match machine.state.terms.get(*term) {
                // The words of keys, by lane.
                Term::Words(family, None) if matches!(machine.state.terms.get(*family), Term::Children(_)) => {}
                Term::Words(..) | Term::None => return Value::of(val.clone()),
                _ => {}
            }
            let (term, symbol) = (*term, lane.born);
            if let Axis::Mapped(number) = axis
                && *number != 0
            {
                let number = machine.state.terms.int(*number);
                let lane_of =
                    machine.state.terms.intern(Term::Apply("<lane of>".into(), Box::new([term, number, symbol])));
                return Value::term(lane_of);
            }
            let whole = Extent::whole(&mut machine.state.terms, None);
            let index = machine.state.terms.intern(Term::Apply("<lane>".into(), Box::new([symbol, term])));
            machine.transforms.extents.insert(index, whole);
            lane.symbols.push(index);
            let item = machine.state.terms.intern(Term::Item(term, index, 0));
            if let Some(length) = transform::counted(machine, term) {
                let start = machine.state.terms.int(0);
                let numbers = Extent::Range { start, step: 1, length: Some(length), to_end: false };
                machine.transforms.extents.insert(item, numbers);
            }
            if machine.recorder.log().declared.contains(&term) {
                machine.recorder.declare(item);
            }
            Value::term(item)
        }
        _ => {
            let fresh = machine.state.terms.fresh(Symbol::Lane, "<lane>", Some(place));
            lane.symbols.push(fresh);
            Value::term(fresh)
        }
    }
}

/// The key of one lane; it represents the whole view.
fn lane_element(machine: &mut Machine<'_>, array: &Arc<Array>, lane: &mut Lane, place: Place) -> Value {
    let index = machine.state.terms.fresh(Symbol::Lane, "<lane>", Some(place));
    lane.symbols.push(index);
    if let Elements::View { family, start, step, to_end, order } = &array.elements
        && array.dims.as_ref().is_none_or(|dims| dims.len() == 1)
    {
        let of_rows = machine.transforms.rows.get(start).cloned();
        let of_rows = of_rows.and_then(|rows| all_rows(&mut machine.state.terms, &rows, array));
        let (family, start, step, to_end, order) = (*family, *start, *step, *to_end, *order);
        let length = array.dims.as_ref().and_then(|dims| dims.first().copied().flatten());
        let is_one = length.and_then(|length| machine.state.terms.as_int(length)) == Some(1);
        if is_one && order == Order::Known {
            let only = arrays::member(machine, family, start, array);
            let term = machine.state.term_of(&only);
            lane.only.push(term);
            return only;
        }
        let extent = match order {
            Order::Subset | Order::Repeated => Extent::Some,
            Order::Known | Order::Permuted => of_rows.unwrap_or(Extent::Range { start, step, length, to_end }),
        };
        machine.transforms.extents.insert(index, extent);
        let member = arrays::member(machine, family, index, array);
        if order == Order::Repeated {
            lane.repeated.push((machine.state.term_of(&member), array.derivation));
        }
        return member;
    }
    if let Elements::Copies(of) = &array.elements {
        // Every lane gets the same key.
        let of = (**of).clone();
        let term = machine.state.term_of(&of);
        lane.copied.push((term, array.derivation));
        let length = array.dims.as_ref().and_then(|dims| dims.first().copied().flatten());
        if length.and_then(|length| machine.state.terms.as_int(length)) == Some(1) {
            lane.only.push(term);
        }
        return of;
    }
    if let Elements::Listed(_) | Elements::Joined(_) = &array.elements
        && array.dims.as_ref().is_none_or(|dims| dims.len() == 1)
    {
        let targets = consume::targets_of(machine, &array.clone());
        machine.transforms.keys.insert(index, targets);
        let key = Key { term: index, kind: array.kind, derivation: array.derivation };
        return if arrays::is_evident(machine, array) { Value::of(Val::Key(key)) } else { Value::term(index) };
    }
    let element = arrays::array_element(machine, array, index);
    if let Some(Val::Array(inner)) = element.single()
        && let (Elements::View { start, .. }, Elements::View { start: first, step, to_end, order, .. }) =
            (&inner.elements, &array.elements)
    {
        let (start, first, step, to_end, order) = (*start, *first, *step, *to_end, *order);
        if machine.state.terms.mentions(start, &|term| term == index) {
            // The first key of a row represents the first keys of all rows, which are one row length apart.
            let inner = inner.clone();
            let rows = machine.transforms.rows.get(&first).cloned();
            let rows = rows.and_then(|rows| with_inner_rows(&mut machine.state.terms, &rows, array));
            machine.transforms.rows.insert(start, rows.unwrap_or_else(|| array.clone()));
            let width = consume::flat_length(&mut machine.state.terms, &inner)
                .and_then(|width| machine.state.terms.as_int(width));
            let width = width.and_then(|width| i64::try_from(width).ok()).filter(|width| *width > 0);
            let length = array.dims.as_ref().and_then(|dims| dims.first().copied().flatten());
            let extent = match width {
                Some(width) if order.is_whole() => {
                    Extent::Range { start: first, step: step * width, length, to_end: to_end && width == 1 }
                }
                _ => Extent::Some,
            };
            machine.transforms.extents.insert(start, extent);
        }
    }
    element
}

/// The keys that all lanes of all rows get, if each gets a key of a whole row.
fn all_rows(terms: &mut Terms, rows: &Arc<Array>, row: &Array) -> Option<Extent> {
    let Elements::View { start, step, to_end, order, .. } = rows.elements else { return None };
    let (of_rows, of_row) = (rows.dims.as_deref()?, row.dims.as_deref()?);
    let is_whole = order.is_whole() && of_rows.get(1..)? == of_row && of_row.iter().all(Option::is_some);
    is_whole.then(|| Extent::Range { start, step, length: consume::flat_length(terms, rows), to_end })
}

/// An array whose rows are those of the rows of another: of all keys `(2, 3, 4)`, where `(3, 4)` is a row, `(6, 4)`.
fn with_inner_rows(terms: &mut Terms, rows: &Arc<Array>, row: &Array) -> Option<Arc<Array>> {
    all_rows(terms, rows, row)?;
    let [outer, inner, rest @ ..] = rows.dims.as_deref()? else { return None };
    let both = outer.zip(*inner).map(|(outer, inner)| terms.operate(Operator::Mul, &[outer, inner]));
    let dims = std::iter::once(both).chain(rest.iter().copied()).collect();
    Some(Arc::new(Array { dims: Some(dims), ..(**rows).clone() }))
}

fn lane_object<'p>(
    machine: &mut Machine<'p>,
    frame: &mut Frame<'p>,
    object: ObjectId,
    axis: &Axis,
    lane: &mut Lane,
    place: Place,
) -> Value {
    let part_axis = |index: usize| match axis {
        Axis::Parts(parts) => parts.get(index).cloned().unwrap_or(Axis::Unknown),
        other => other.clone(),
    };
    let kind = match machine.state.store.objects[object.0 as usize].kind.clone() {
        ObjectKind::Dict { entries, unknown } => {
            let entries = entries
                .into_iter()
                .enumerate()
                .map(|(index, entry)| Entry {
                    value: lane_value(machine, frame, &entry.value, &part_axis(index), lane, place),
                    ..entry
                })
                .collect();
            ObjectKind::Dict { entries, unknown }
        }
        ObjectKind::List { items, unknown } => {
            let items = items
                .into_iter()
                .enumerate()
                .map(|(index, item)| Item {
                    guard: item.guard,
                    value: lane_value(machine, frame, &item.value, &part_axis(index), lane, place),
                })
                .collect();
            ObjectKind::List { items, unknown }
        }
        ObjectKind::Instance if tree::is_keyed_record(machine, object) => {
            return lane_record(machine, frame, object, axis, lane, place);
        }
        _ => {
            let fresh = machine.state.terms.fresh(Symbol::Lane, "<lane>", Some(place));
            lane.symbols.push(fresh);
            return Value::term(fresh);
        }
    };
    Value::of(Val::Object(machine.state.allocate(kind, "<lane>", Some(place))))
}

/// The record that one lane gets.
fn lane_record<'p>(
    machine: &mut Machine<'p>,
    frame: &mut Frame<'p>,
    record: ObjectId,
    axis: &Axis,
    lane: &mut Lane,
    place: Place,
) -> Value {
    let whole = machine.state.terms.fresh(Symbol::Lane, "<lane>", Some(place));
    lane.symbols.push(whole);
    let fields = machine.state.store.objects[record.0 as usize].attributes.clone();
    let mut mapped = BTreeMap::new();
    for (name, value) in fields {
        let axis = match axis {
            Axis::Fields(fields) => fields.get(&name).cloned().unwrap_or(Axis::Unknown),
            Axis::Parts(_) => Axis::Unknown,
            other => other.clone(),
        };
        let value = if tree::is_static(&machine.state, &value) {
            value
        } else {
            lane_value(machine, frame, &value, &axis, lane, place)
        };
        mapped.insert(name, value);
    }
    tree::with_fields(&mut machine.state, record, mapped, whole)
}

/// `in_axes=1` on raw keys maps over their words.
fn check_map_axis<'p>(machine: &mut Machine<'p>, frame: &Frame<'p>, array: &Array, axis: i128, place: Place) {
    let Some(rank) = array.dims.as_ref().and_then(|dims| i128::try_from(dims.len()).ok()) else { return };
    let buffer = match array.kind {
        KeyKind::Raw => axis == rank || axis == -1,
        KeyKind::Unknown => axis == rank,
        KeyKind::Typed => false,
    };
    if buffer && let Some(key) = operate::evident_key(machine, &Val::Array(Arc::new(array.clone()))) {
        let used = BufferUse::new(BufferOp::MapAxis, format!("in_axes={axis}"), false);
        notes::buffer_use(machine, frame, key, place, used);
    }
}

/// The results of all lanes, as the caller gets them.
fn stacked<'p>(
    machine: &mut Machine<'p>,
    frame: &mut Frame<'p>,
    value: Value,
    symbols: &[TermId],
    length: Option<TermId>,
) -> Value {
    let mut stack = |machine: &mut Machine<'p>, _: &mut Frame<'p>, leaves: &[Value], _: bool| match leaves {
        [leaf] => stacked_leaf(machine, leaf, symbols, length, DEPTH),
        _ => Value::default(),
    };
    tree::map_leaves(machine, frame, &[value], &mut Walk::to(tree::DEPTH), &mut stack)
}

/// Most records within each other whose fields are followed, if not all fields are known.
const DEPTH: u32 = 4;

/// One array of the results of all lanes, or a record with one array for each of its known fields.
fn stacked_leaf(
    machine: &mut Machine<'_>,
    leaf: &Value,
    symbols: &[TermId],
    length: Option<TermId>,
    depth: u32,
) -> Value {
    paths::on_alternatives(machine, leaf, |this, val| match val {
        Val::Key(key) => {
            if let Term::Child(parent, index) = *this.state.terms.get(key.term)
                && let Some(Extent::Range { start, step, length, to_end }) =
                    this.transforms.extents.get(&index).copied()
            {
                let family = this.state.terms.intern(Term::Children(parent));
                let elements = Elements::View { family, start, step, to_end, order: Order::Known };
                let dims = Some(vec![length].into());
                return Value::array(key.kind, key.derivation, dims, elements);
            }
            let elements = stacked_family(&mut this.state.terms, key.term);
            let dims = Some(vec![length].into());
            Value::array(key.kind, key.derivation, dims, elements)
        }
        Val::Array(array) => {
            let array = array.clone();
            let dims: Option<Arc<[Option<TermId>]>> = array
                .dims
                .as_ref()
                .map(|dims| std::iter::once(length).chain(dims.iter().copied()).collect::<Vec<_>>().into());
            let elements = match &array.elements {
                Elements::View { family, .. } => stacked_family(&mut this.state.terms, *family),
                other => other.clone(),
            };
            Value::of(Val::Array(Arc::new(Array { dims, elements, ..(*array).clone() })))
        }
        Val::Term(term)
            if !this.state.terms.is_constant(*term)
                && this.state.terms.mentions(*term, &|part| symbols.contains(&part)) =>
        {
            Value::term(this.state.terms.intern(Term::Apply("<stacked>".into(), Box::new([*term]))))
        }
        Val::Object(id) if depth > 0 => {
            stacked_object(this, *id, &mut |this, part| stacked_leaf(this, part, symbols, length, depth - 1), symbols)
        }
        _ => Value::of(val.clone()),
    })
}

/// A record or a dict of which not all is known, with the results of all lanes in the fields that are.
fn stacked_object<'p>(
    machine: &mut Machine<'p>,
    id: ObjectId,
    stack: &mut dyn FnMut(&mut Machine<'p>, &Value) -> Value,
    symbols: &[TermId],
) -> Value {
    let is_open_dict =
        matches!(machine.state.store.objects[id.0 as usize].kind, ObjectKind::Dict { unknown: true, .. });
    if !is_open_dict && !is_of_lane(machine, id, symbols) {
        return Value::of(Val::Object(id));
    }
    let object = machine.state.store.objects[id.0 as usize].clone();
    if let ObjectKind::Dict { mut entries, .. } = object.kind {
        for entry in &mut entries {
            entry.value = stack(machine, &entry.value);
        }
        let kind = ObjectKind::Dict { entries, unknown: true };
        return Value::of(Val::Object(machine.state.allocate(kind, "<stacked>", None)));
    }
    let fields = object.attributes.iter().map(|(name, value)| (name.clone(), stack(machine, value))).collect();
    // The fields that were not replaced stay those of the lane.
    let record = machine.state.allocate_with(ObjectKind::Instance, object.symbol, object.class, object.open);
    let copy = &mut machine.state.store.objects[record.0 as usize];
    (copy.attributes, copy.items, copy.copied) = (fields, object.items, object.copied);
    Value::of(Val::Object(record))
}

/// Whether an object is a copy of what a lane got, with some fields replaced.
fn is_of_lane(machine: &Machine<'_>, id: ObjectId, symbols: &[TermId]) -> bool {
    let object = &machine.state.store.objects[id.0 as usize];
    object.kind == ObjectKind::Instance
        && object.copied.is_some()
        && machine.state.terms.mentions(object.symbol, &|part| symbols.contains(&part))
}

fn stacked_family(terms: &mut Terms, term: TermId) -> Elements {
    let family = terms.intern(Term::Apply("<stacked>".into(), Box::new([term])));
    let start = terms.int(0);
    Elements::whole(family, start)
}

/// The outputs of the iterations of a loop-like transform, stacked.
pub fn joined(state: &mut State, outputs: &[Value], place: Place) -> Value {
    let Some(first) = outputs.first() else { return state.terms.opaque("<outputs>", Some(place)) };
    match first.single() {
        Some(Val::Tuple(parts)) => {
            let count = parts.len();
            let columns: Vec<Value> = (0..count)
                .map(|index| {
                    let column: Vec<Value> =
                        outputs.iter().map(|output| transform::part(state, output, index, place)).collect();
                    joined(state, &column, place)
                })
                .collect();
            Value::of(Val::Tuple(columns.into()))
        }
        Some(Val::Key(key)) => {
            let kind = key.kind;
            Value::array(kind, 0, Some(vec![None].into()), Elements::Joined(outputs.to_vec().into()))
        }
        Some(Val::Term(term)) if matches!(state.terms.get(*term), Term::None) => first.clone(),
        _ => state.terms.opaque("<outputs>", Some(place)),
    }
}
