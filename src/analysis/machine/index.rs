//! Subscripts and unpacking.
//!
//! **Invariant:** indexing a value that may be a scalar key is classified by rank: an index that reaches a key's words is a misuse, whether
//! JAX raises (typed keys) or returns numbers (raw keys).

use std::sync::Arc;

use crate::analysis::domain::guard::Guard;
use crate::analysis::domain::kinds::{BufferOp, KeyKind};
use crate::analysis::domain::term::{Symbol, Term, TermId, Terms};
use crate::analysis::domain::value::{Array, Elements, Key, Order, Val, Value};
use crate::analysis::machine::notes::{self, BufferUse};
use crate::analysis::machine::{Frame, Machine, annotate, arrays, implied, name_cache, operate, text};
use crate::analysis::store::args::Args;
use crate::analysis::store::heap::{Item, ObjectKind};
use crate::analysis::store::items::SELECTED;
use crate::analysis::store::{State, evidence, items, paths};
use crate::arrays::{position, slice};
use crate::ir::{Op, OpKind, Operator, Temp};
use crate::models::{Callable, Effect, StreamUse};

/// One part of a subscript.
pub enum Index {
    /// `None`
    NewAxis,
    /// `...`
    Ellipsis,
    /// `a:b:c`
    Slice([Option<TermId>; 3]),
    /// A number.
    At(TermId),
    /// An array or list of indices, a mask.
    Gather,
}

/// Deepest combination of conditions that is recognised as a mask.
const MASKS: u32 = 4;

/// `object[index]`
pub fn item<'p>(
    machine: &mut Machine<'p>,
    frame: &mut Frame<'p>,
    object: &Value,
    index: &Value,
    op: &'p Op,
    object_temp: Temp,
) -> Value {
    let object = machine.state.possible(object);
    let written = name_cache::written_text(machine, frame, object_temp);
    paths::on_alternatives(machine, &object, |this, val| item_of_val(this, frame, val, index, op, written.as_deref()))
}

fn item_of_val<'p>(
    machine: &mut Machine<'p>,
    frame: &mut Frame<'p>,
    val: &Val,
    index: &Value,
    op: &'p Op,
    written: Option<&str>,
) -> Value {
    let place = machine.place(frame, op.span);
    match val {
        Val::Tuple(parts) => element_of(&mut machine.state, parts, index, val, place),
        Val::Array(array) => array_item(machine, frame, &array.clone(), index, op, written),
        Val::Key(key) => key_item(machine, frame, *key, index, op, written),
        // The buffers of a value that may be an array of keys: an index selects one of them.
        Val::Words(key, None) if may_be_many(machine, *key) => {
            let words = machine.state.terms.intern(Term::Words(key.term, None));
            let index = machine.state.term_of(index);
            Value::term(machine.state.terms.intern(Term::Item(words, index, 0)))
        }
        Val::Words(key, None) => {
            let number = machine.state.term_of(index);
            let word = machine.state.terms.as_int(number).and_then(|number| u8::try_from(number.rem_euclid(2)).ok());
            match word {
                Some(word) => Value::of(Val::Words(*key, Some(word))),
                None => machine.state.terms.opaque("<word>", Some(place)),
            }
        }
        Val::Object(object) => {
            let item = object_item(machine, frame, *object, index, place);
            machine.state.possible(&item)
        }
        Val::Term(term) => {
            let parts = index_parts(machine, index);
            note_shape_slice(machine, frame, *term, &parts, place, written);
            match parts.as_slice() {
                [Index::At(number)] => {
                    let is_key = matches!(machine.state.terms.get(*number), Term::Text(name) if machine.program.models.words.ends_like_a_key(name));
                    let epoch = if is_key { machine.state.key_epoch_of(*term) } else { machine.state.epoch_of(*term) };
                    if machine.recorder.log().declared.contains(term) || !machine.state.terms.is_constant(*term) {
                        notes::note_index(machine, frame, *term, place, written, Some(index));
                    }
                    if let Some(value) = machine.state.shadow_item(*term, *number) {
                        return value;
                    }
                    if let Some(length) = machine.state.item_of_shape(*term, *number) {
                        return Value::term(length);
                    }
                    let item = machine.state.terms.intern(Term::Item(*term, *number, epoch));
                    annotate::item(&mut machine.state, *term, item)
                }
                // All of a variable that is written through: `variable[...]`.
                [Index::Ellipsis] => {
                    let (term, whole, epoch) = (*term, machine.state.term_of(index), machine.state.epoch_of(*term));
                    let stored = machine.state.shadow_item(term, whole);
                    stored.unwrap_or_else(|| Value::term(machine.state.terms.intern(Term::Item(term, whole, epoch))))
                }
                [Index::Slice(bounds)] if evidence::may_be_key(&machine.state.terms, *term) => {
                    let start = machine.state.terms.int(0);
                    let family = *term;
                    let array = Array {
                        kind: KeyKind::Unknown,
                        derivation: 0,
                        dims: None,
                        elements: Elements::whole(family, start),
                    };
                    let mut one = array.clone();
                    one.dims = Some(vec![Some(machine.state.length_of_term(family))].into());
                    arrays::array_slice(machine, &Arc::new(one), *bounds)
                }
                [Index::NewAxis] if evidence::may_be_key(&machine.state.terms, *term) => {
                    arrays::listed(&mut machine.state.terms, vec![Value::term(*term)], KeyKind::Unknown)
                }
                _ => {
                    let term = *term;
                    let index = machine.state.term_of(index);
                    Value::term(machine.state.terms.intern(Term::Item(term, index, 0)))
                }
            }
        }
        Val::Class(_) | Val::Library(_) => Value::of(val.clone()),
        // `keys.at[i]` is resolved when `set` or a similar method is called.
        Val::UnknownMethod(method) if &*method.1 == "at" => {
            let place_in = Value::of(Val::Tuple([method.0.clone(), index.clone()].into()));
            Value::of(Val::UnknownMethod(Arc::new((place_in, method.1.clone()))))
        }
        _ => machine.state.terms.opaque("<item>", Some(place)),
    }
}

/// `key.shape[:-1]` drops the words of a raw key, and a batch axis of typed ones.
fn note_shape_slice<'p>(
    machine: &mut Machine<'p>,
    frame: &Frame<'p>,
    term: TermId,
    parts: &[Index],
    place: crate::finding::Place,
    written: Option<&str>,
) {
    if let [Index::Slice([None, Some(upper), None])] = parts
        && machine.state.terms.as_int(*upper) == Some(-1)
        && let Term::Attribute(of, name, _) = machine.state.terms.get(term).clone()
        && &*name == "shape"
    {
        notes::log_shape_use(
            machine,
            frame,
            BufferOp::ShapeLogic,
            of,
            place,
            format!("{}[:-1]", written.unwrap_or("….shape")),
        );
    }
}

fn sequence_item(state: &mut State, parts: &Arc<[Value]>, index: &Value, place: crate::finding::Place) -> Value {
    if let Some(Val::Slice(bounds)) = index.single() {
        let bounds = bounds.clone();
        match known_bounds(state, &bounds) {
            Some((lower, upper, step)) => {
                let chosen: Vec<Value> = slice(parts.len(), lower, upper, Some(step))
                    .into_iter()
                    .flatten()
                    .filter_map(|index| parts.get(index).cloned())
                    .collect();
                Value::of(Val::Tuple(chosen.into()))
            }
            None => state.terms.opaque("<slice>", Some(place)),
        }
    } else {
        let term = state.term_of(index);
        match state.terms.as_int(term) {
            Some(number) => {
                let part = position(parts.len(), number).and_then(|at| parts.get(at));
                part.cloned().unwrap_or_else(|| state.terms.opaque("<item>", Some(place)))
            }
            None => state.terms.opaque("<item>", Some(place)),
        }
    }
}

/// `sequence[index]`, an unknown index gives the same element wherever it is used again.
fn element_of(
    state: &mut State,
    parts: &Arc<[Value]>,
    index: &Value,
    sequence: &Val,
    place: crate::finding::Place,
) -> Value {
    let number = state.term_of(index);
    if matches!(index.single(), Some(Val::Slice(_))) || state.terms.is_constant(number) {
        return sequence_item(state, parts, index, place);
    }
    let whole = state.term_of_val(sequence);
    let element = Value::term(state.terms.intern(Term::Item(whole, number, 0)));
    let numbered = (0i128..).zip(parts.iter().take(SELECTED));
    let elements: Vec<(TermId, Value)> = numbered.map(|(at, part)| (state.terms.int(at), part.clone())).collect();
    items::selected(state, &elements, number, &element).unwrap_or(element)
}

/// Bounds of a slice that are absent or literal.
pub fn known_bounds(state: &mut State, bounds: &[Value]) -> Option<(Option<i128>, Option<i128>, i128)> {
    let mut known = [None; 3];
    for (place, bound) in known.iter_mut().zip(bounds) {
        let term = state.term_of(bound);
        *place = match state.terms.get(term) {
            Term::None => None,
            _ => Some(state.terms.as_int(term)?),
        };
    }
    Some((known[0], known[1], known[2].unwrap_or(1)))
}

fn index_parts(machine: &mut Machine<'_>, index: &Value) -> Vec<Index> {
    match index.single().cloned() {
        Some(Val::Tuple(parts)) => parts.iter().flat_map(|part| index_parts(machine, part)).collect(),
        Some(Val::Slice(bounds)) => {
            let mut terms = [None; 3];
            for (place, bound) in terms.iter_mut().zip(bounds.iter()) {
                let term = machine.state.term_of(bound);
                *place = (!matches!(machine.state.terms.get(term), Term::None)).then_some(term);
            }
            vec![Index::Slice(terms)]
        }
        Some(Val::Term(term)) => match machine.state.terms.get(term) {
            Term::None | Term::Bool(_) => vec![Index::NewAxis],
            _ if machine.state.terms.is_ellipsis(term) => vec![Index::Ellipsis],
            // Arrays select several; a number selects one.
            Term::Apply(name, _) if machine.program.models.callable(name).is_some_and(Callable::makes_many) => {
                vec![Index::Gather]
            }
            _ if is_mask(&machine.state.terms, term, MASKS) => vec![Index::Gather],
            _ => vec![Index::At(term)],
        },
        Some(Val::Library(path)) if machine.program.models.is_none(&path) => vec![Index::NewAxis],
        Some(Val::Object(_) | Val::Array(_)) => vec![Index::Gather],
        _ => {
            let term = machine.state.term_of(index);
            vec![Index::At(term)]
        }
    }
}

/// Whether a subscript is a truth value for each element: `~done`, `(x > 0) & (x < 1)`. A single truth value is no useful subscript.
fn is_mask(terms: &Terms, term: TermId, depth: u32) -> bool {
    match terms.get(term) {
        Term::Operate(Operator::Eq | Operator::Lt | Operator::Not | Operator::Invert, _) => true,
        Term::Operate(Operator::And | Operator::Or | Operator::Xor, parts) => {
            depth > 0 && parts.iter().any(|part| is_mask(terms, *part, depth - 1))
        }
        _ => false,
    }
}

/// `keys[…]`
fn array_item<'p>(
    machine: &mut Machine<'p>,
    frame: &mut Frame<'p>,
    array: &Arc<Array>,
    index: &Value,
    op: &'p Op,
    written: Option<&str>,
) -> Value {
    let place = machine.place(frame, op.span);
    let mut parts = index_parts(machine, index);
    let rank = array.dims.as_ref().map(|dims| dims.len());
    if let Some(rank) = rank
        && !drop_word_axis(&mut parts, rank, array.kind)
        && let Some(key) = operate::evident_key(machine, &Val::Array(array.clone()))
    {
        let text = format!("{}[{}]", written.unwrap_or("…"), text::index_text(&mut machine.state, index));
        let used = BufferUse::new(BufferOp::Index, text, array.kind == KeyKind::Typed);
        notes::buffer_use(machine, frame, key, place, used);
        return machine.state.terms.opaque("<words>", Some(place));
    }
    if let Some(rank) = rank {
        expand_ellipsis(&mut parts, rank);
    }
    let own: Vec<&Index> = parts.iter().filter(|part| !matches!(part, Index::NewAxis)).collect();
    let mut value = without_new_axes(machine, array, &own);
    let mut axes = 0;
    for part in &parts {
        match part {
            Index::NewAxis => {
                value = arrays::with_axis(&mut machine.state.terms, &value, axes);
                axes += 1;
            }
            Index::At(_) => {}
            Index::Ellipsis | Index::Slice(_) | Index::Gather => axes += 1,
        }
    }
    value
}

/// Drops the part of a subscript that takes all words of raw keys: `raw[:, None, :]`. False where a part reaches single words, or an
/// axis that typed keys do not have.
fn drop_word_axis(parts: &mut Vec<Index>, rank: usize, kind: KeyKind) -> bool {
    let reaches = |part: &Index| !matches!(part, Index::NewAxis | Index::Ellipsis);
    let reached = parts.iter().filter(|part| reaches(part)).count();
    let after_ellipsis = parts.iter().rposition(|part| matches!(part, Index::Ellipsis));
    let last = parts.iter().rposition(reaches);
    let is_at_words = match after_ellipsis {
        Some(ellipsis) => kind == KeyKind::Raw && last > Some(ellipsis),
        None => kind != KeyKind::Typed && reached == rank + 1,
    };
    match last.filter(|_| is_at_words) {
        Some(last) if matches!(parts[last], Index::Slice([None, None, None])) => {
            parts.remove(last);
            reached <= rank + 1
        }
        Some(last) => after_ellipsis.is_some() && reached <= rank && !matches!(parts[last], Index::At(_)),
        None => reached <= rank,
    }
}

/// Expands an ellipsis into whole axes.
fn expand_ellipsis(parts: &mut Vec<Index>, rank: usize) {
    let Some(at) = parts.iter().position(|part| matches!(part, Index::Ellipsis)) else { return };
    let reached = parts.iter().filter(|part| !matches!(part, Index::NewAxis | Index::Ellipsis)).count();
    let whole = (reached..rank).map(|_| Index::Slice([None, None, None]));
    parts.splice(at..=at, whole);
}

/// A subscript of an array without new axes.
fn without_new_axes(machine: &mut Machine<'_>, array: &Arc<Array>, parts: &[&Index]) -> Value {
    let mut value = Value::of(Val::Array(array.clone()));
    if let [Index::Slice([None, None, None]), Index::At(column)] = parts {
        return arrays::column_of(&mut machine.state, array, 1, *column);
    }
    // Indices apply to successive axes: after a number the next axis is the first one.
    let mut sliced = false;
    for part in parts {
        let Some(Val::Array(current)) = value.single().cloned() else { break };
        value = match part {
            Index::NewAxis | Index::Ellipsis => value,
            Index::Slice([None, None, None]) => {
                sliced = true;
                value
            }
            _ if sliced => {
                return arrays::subset(&mut machine.state.terms, &current);
            }
            Index::At(number) => arrays::array_element(machine, &current, *number),
            Index::Slice(bounds) => {
                sliced = true;
                arrays::array_slice(machine, &current, *bounds)
            }
            Index::Gather => {
                sliced = true;
                arrays::subset(&mut machine.state.terms, &current)
            }
        };
    }
    value
}

/// Whether a value that only looks like a key may be an array of keys.
pub fn may_be_many(machine: &Machine<'_>, key: Key) -> bool {
    let is_symbolic = matches!(
        machine.state.terms.get(key.term),
        Term::Symbol(_) | Term::Attribute(..) | Term::Item(..) | Term::Choice(_) | Term::Apply(..)
    );
    is_symbolic && key.kind == KeyKind::Unknown && !machine.recorder.log().declared.contains(&key.term)
}

/// `key[…]` on one key.
fn key_item<'p>(
    machine: &mut Machine<'p>,
    frame: &mut Frame<'p>,
    key: Key,
    index: &Value,
    op: &'p Op,
    written: Option<&str>,
) -> Value {
    let place = machine.place(frame, op.span);
    let parts = index_parts(machine, index);
    // All words of a key that is not typed are that key: `key[None, :]` makes a batch of one.
    let whole = |part: &&Index| matches!(part, Index::Slice([None, None, None]));
    let all_words = key.kind != KeyKind::Typed && parts.iter().filter(whole).count() == 1;
    let reaching = |part: &Index| match part {
        Index::NewAxis | Index::Ellipsis => false,
        Index::Slice([None, None, None]) => !all_words,
        _ => true,
    };
    if !parts.iter().any(reaching) {
        let axes = parts.iter().filter(|part| matches!(part, Index::NewAxis)).count();
        if axes == 0 {
            return Value::of(Val::Key(key));
        }
        let whole = Value::of(Val::Key(key));
        return (0..axes).fold(whole, |value, _| arrays::with_axis(&mut machine.state.terms, &value, 0));
    }
    if may_be_many(machine, key) {
        // A value that only looks like a key may be an array of keys.
        let number = machine.state.term_of(index);
        return Value::term(machine.state.terms.intern(Term::Item(key.term, number, 0)));
    }
    let text = format!("{}[{}]", written.unwrap_or("…"), text::index_text(&mut machine.state, index));
    notes::buffer_use(machine, frame, key, place, BufferUse::new(BufferOp::Index, text, key.kind == KeyKind::Typed));
    if key.kind == KeyKind::Typed {
        return machine.state.terms.opaque("<raises>", Some(place));
    }
    let word = match parts.as_slice() {
        [Index::At(number)] => {
            machine.state.terms.as_int(*number).and_then(|number| u8::try_from(number.rem_euclid(2)).ok())
        }
        _ => None,
    };
    if let Some(word) = word {
        Value::of(Val::Words(key, Some(word)))
    } else {
        let words = machine.state.terms.intern(Term::Words(key.term, None));
        let number = machine.state.term_of(index);
        Value::term(machine.state.terms.intern(Term::Item(words, number, 0)))
    }
}

fn object_item<'p>(
    machine: &mut Machine<'p>,
    frame: &mut Frame<'p>,
    object: crate::analysis::domain::value::ObjectId,
    index: &Value,
    place: crate::finding::Place,
) -> Value {
    match machine.state.store.objects[object.0 as usize].kind.clone() {
        ObjectKind::List { items, unknown } => {
            let certain = !unknown && items.iter().all(|item| machine.state.is_there(item.guard));
            if certain {
                let parts: Arc<[Value]> = items.into_iter().map(|item| item.value).collect();
                if let Some(Val::Slice(_)) = index.single() {
                    let value = sequence_item(&mut machine.state, &parts, index, place);
                    return match value.single() {
                        Some(Val::Tuple(parts)) => {
                            let items = parts.iter().map(|v| Item { guard: Guard::TRUE, value: v.clone() }).collect();
                            let kind = ObjectKind::List { items, unknown: false };
                            Value::of(Val::Object(machine.state.allocate(kind, "<list>", Some(place))))
                        }
                        _ => value,
                    };
                }
                return element_of(&mut machine.state, &parts, index, &Val::Object(object), place);
            }
            // Elements that exist only on some paths.
            let term = machine.state.term_of(index);
            if let Some(number) = machine.state.terms.as_int(term).filter(|_| !unknown)
                && let Some(found) = items::found(&mut machine.state, &items, number)
                && let Some(value) = items::value_at(&mut machine.state, &items, &found)
            {
                implied::end(machine, found.none);
                return value;
            }
            let symbol = machine.state.term_of_val(&Val::Object(object));
            Value::term(machine.state.terms.intern(Term::Item(symbol, term, 0)))
        }
        ObjectKind::Dict { entries, unknown } => {
            let key = machine.state.term_of(index);
            items::dict_item(&mut machine.state, object, &entries, unknown, key)
        }
        ObjectKind::Instance => {
            let dunder: crate::ir::Name = "__getitem__".into();
            if let Some(method) = machine.state.instance_method(&Val::Object(object), &dunder) {
                machine.recorder.note_computed_read(place, None);
                let args = Args::positional(vec![index.clone()]);
                return machine.call_value(frame, &method, args, Some(place));
            }
            if let Some(items) = machine.items_of_record(frame, object) {
                return sequence_item(&mut machine.state, &items.into(), index, place);
            }
            let symbol = machine.state.term_of_val(&Val::Object(object));
            let index = machine.state.term_of(index);
            Value::term(machine.state.terms.intern(Term::Item(symbol, index, 0)))
        }
        ObjectKind::Stream(path) => {
            let given = machine.program.models.stream_yield(&path, StreamUse::Item);
            (machine.library.stream_result)(machine, given, &path, place)
        }
        ObjectKind::Set(_) | ObjectKind::Iterator(..) => machine.state.terms.opaque("<item>", Some(place)),
    }
}

/// `object[index] = value`
pub fn store_item<'p>(
    machine: &mut Machine<'p>,
    frame: &mut Frame<'p>,
    object: &Value,
    index: &Value,
    value: &Value,
    op: &'p Op,
) {
    machine.state.store.mutations += 1;
    let object = machine.state.possible(object);
    let term = machine.state.term_of(index);
    notes::note_store(machine, frame, value, &object, None, op);
    let place = machine.place(frame, op.span);
    for alternative in object.alternatives().to_vec() {
        if let Some(method) = machine.state.instance_method(&alternative.val, &"__setitem__".into()) {
            let args = Args::positional(vec![index.clone(), value.clone()]);
            paths::under(machine, alternative.guard, |this| {
                this.call_value(frame, &method, args, Some(place));
            });
            continue;
        }
        paths::on(&mut machine.state, alternative.guard, |state| match &alternative.val {
            Val::Object(id) => items::store_object_item(state, *id, term, index, value),
            Val::Term(base) => {
                state.shadow_store(*base, term, value);
                state.note_item_written(*base, term);
            }
            _ => {}
        });
    }
}

/// `keys[i] = key` on a list that is known by the array it was made from: it is no longer known which keys it holds.
pub fn store_array_item<'p>(machine: &mut Machine<'p>, frame: &Frame<'p>, target: Temp, object: &Value, op: &'p Op) {
    let [only] = object.alternatives() else { return };
    let (Val::Array(array), OpKind::Load(variable)) = (&only.val, &Machine::op(frame, target).kind) else {
        return;
    };
    let family = machine.state.terms.fresh(Symbol::Opaque, "<changed keys>", None);
    if arrays::is_evident(machine, array) {
        machine.recorder.declare(family);
    }
    let start = machine.state.terms.int(0);
    let elements = Elements::whole(family, start);
    let changed = Value::of(Val::Array(Arc::new(Array { elements, ..(**array).clone() })));
    machine.store(frame, variable, &changed, op);
}

/// `del object[index]`
pub fn delete_item(state: &mut State, object: &Value, index: &Value) {
    state.store.mutations += 1;
    let term = state.term_of(index);
    for alternative in object.alternatives().to_vec() {
        if let Val::Term(of) = alternative.val {
            state.note_item_deleted(of, term);
        }
        if let Val::Object(id) = alternative.val {
            let object = &mut state.store.objects[id.0 as usize];
            match &mut object.kind {
                ObjectKind::Dict { entries, .. } => entries.retain(|entry| entry.key != term),
                ObjectKind::List { unknown, .. } => *unknown = true,
                _ => {}
            }
            object.epoch += 1;
        }
    }
}

/// The targets of an unpacking, one of which may take the rest.
#[derive(Clone, Copy)]
pub struct Targets {
    /// Their number.
    pub count: u32,
    /// The one with a star.
    pub star: Option<u32>,
}

/// `a, b = value`
pub fn unpack<'p>(
    machine: &mut Machine<'p>,
    frame: &mut Frame<'p>,
    value: &Value,
    targets: Targets,
    op: &'p Op,
    source: Temp,
) -> Value {
    let place = machine.place(frame, op.span);
    let value = machine.state.possible(value);
    let written = name_cache::written_text(machine, frame, source);
    note_miscount(machine, frame, (&value, source), targets, place);
    // Alternatives of one shape are unpacked part by part.
    let mut columns: Vec<Value> = Value::places(targets.count as usize);
    for alternative in value.alternatives().to_vec() {
        paths::under(machine, alternative.guard, |machine| {
            let parts = unpack_val(machine, frame, &alternative.val, targets, place, written.as_deref());
            let guards = &mut machine.state.paths.guards;
            for (column, part) in columns.iter_mut().zip(parts) {
                for piece in part.alternatives() {
                    let guard = guards.and(piece.guard, alternative.guard);
                    column.push(guards, guard, piece.val.clone());
                }
            }
        });
    }
    for column in &mut columns {
        if column.is_unbound() || column.is_too_various() {
            *column = machine.state.terms.opaque("<part>", Some(place));
        }
    }
    Value::of(Val::Tuple(columns.into()))
}

fn unpack_val<'p>(
    machine: &mut Machine<'p>,
    frame: &mut Frame<'p>,
    val: &Val,
    targets: Targets,
    place: crate::finding::Place,
    written: Option<&str>,
) -> Vec<Value> {
    let count = targets.count as usize;
    if let Val::Key(key) = val
        && !may_be_many(machine, *key)
    {
        let text = written.unwrap_or_default().to_owned();
        let used = BufferUse::new(BufferOp::Unpack, text, key.kind == KeyKind::Typed);
        notes::buffer_use(machine, frame, *key, place, used);
        return (0..count).map(|_| machine.state.terms.opaque("<word>", Some(place))).collect();
    }
    if let Some(star) = targets.star {
        return unpack_starred(machine, frame, val, count, star as usize, place);
    }
    let whole = Value::of(val.clone());
    if let Some(items) = machine.items_of(frame, &whole) {
        let (here, certain) = items_here(&mut machine.state, items);
        if here.len() == count && certain {
            return here.into_iter().map(|item| item.value).collect();
        }
        // This raises.
        if certain && matches!(val, Val::Array(_) | Val::Tuple(_)) {
            return (0..count).map(|_| machine.state.terms.opaque("<part>", Some(place))).collect();
        }
        if !certain {
            return (0..count)
                .map(|index| part_at(machine, &here, i128::try_from(index).unwrap_or(0), place))
                .collect();
        }
    }
    (0..count)
        .map(|index| {
            let index = machine.state.terms.int(i128::try_from(index).unwrap_or(0));
            match val {
                Val::Array(array) => arrays::array_element(machine, &array.clone(), index),
                Val::Term(term) => {
                    let epoch = machine.state.epoch_of(*term);
                    notes::note_index(machine, frame, *term, place, written, None);
                    if let Some(length) = machine.state.item_of_shape(*term, index) {
                        return Value::term(length);
                    }
                    let item = machine.state.terms.intern(Term::Item(*term, index, epoch));
                    annotate::element(&mut machine.state, *term, item)
                }
                Val::Object(object)
                    if !matches!(
                        machine.state.store.objects[object.0 as usize].kind,
                        ObjectKind::Iterator(..) | ObjectKind::Stream(_)
                    ) =>
                {
                    let term = machine.state.term_of_val(val);
                    Value::term(machine.state.terms.intern(Term::Item(term, index, 0)))
                }
                Val::Object(_) => machine.next_of(frame, &whole, place.span),
                _ => machine.state.terms.opaque("<part>", Some(place)),
            }
        })
        .collect()
}

/// Records that the keys of a split are unpacked into another number of names, which raises. What the program does with keys before it unpacks
/// them may depend on their number.
fn note_miscount<'p>(
    machine: &mut Machine<'p>,
    frame: &Frame<'p>,
    (keys, source): (&Value, Temp),
    targets: Targets,
    place: crate::finding::Place,
) {
    let OpKind::Call(callee, _) = &Machine::op(frame, source).kind else { return };
    let is_split = match frame.value(*callee).single() {
        Some(Val::Library(path)) => {
            let callable = machine.program.models.callable(path);
            callable.is_some_and(|callable| matches!(callable.effect, Effect::Split { .. }))
        }
        _ => false,
    };
    let Some(Val::Array(array)) = keys.single().filter(|_| is_split) else { return };
    let Some([Some(length)]) = array.dims.as_deref() else { return };
    let Some(have) = machine.state.terms.as_exact_int(*length) else { return };
    let names = i128::from(targets.count);
    let is_right = if targets.star.is_some() { have + 1 >= names } else { have == names };
    let Some(key) = operate::evident_key(machine, &Val::Array(array.clone())).filter(|_| !is_right) else { return };
    let counted = |count: i128, noun: &str| format!("{count} {noun}{}", if count == 1 { "" } else { "s" });
    let text = format!("{} into {}", counted(have, "key"), counted(names, "name"));
    notes::buffer_use(machine, frame, key, place, BufferUse::new(BufferOp::Miscount, text, true));
}

/// The items that exist on some of the current paths, and whether they exist on all of them.
fn items_here(state: &mut State, items: Vec<Item>) -> (Vec<Item>, bool) {
    let pc = state.paths.pc;
    let mut here = Vec::with_capacity(items.len());
    for item in items {
        let paths = state.paths.guards.and(pc, item.guard);
        if state.feasible(paths) {
            here.push(item);
        }
    }
    let certain = here.iter().all(|item| state.is_there(item.guard));
    (here, certain)
}

/// The item at an index of a list whose items exist on some paths only.
fn part_at(machine: &mut Machine<'_>, items: &[Item], index: i128, place: crate::finding::Place) -> Value {
    let found = items::found(&mut machine.state, items, index);
    let value = found.and_then(|found| items::value_at(&mut machine.state, items, &found));
    value.unwrap_or_else(|| machine.state.terms.opaque("<part>", Some(place)))
}

fn unpack_starred<'p>(
    machine: &mut Machine<'p>,
    frame: &mut Frame<'p>,
    val: &Val,
    count: usize,
    star: usize,
    place: crate::finding::Place,
) -> Vec<Value> {
    let whole = Value::of(val.clone());
    let after = count - star - 1;
    let items = machine.items_of(frame, &whole).map(|items| items_here(&mut machine.state, items));
    if let Some((items, false)) = &items {
        let from_start = (0..star).map(|index| i128::try_from(index).unwrap_or(0));
        let from_end = (1..=after).rev().map(|index| -i128::try_from(index).unwrap_or(0));
        let mut parts: Vec<Value> = from_start.map(|index| part_at(machine, items, index, place)).collect();
        parts.push(machine.state.terms.opaque("<part>", Some(place)));
        parts.extend(from_end.map(|index| part_at(machine, items, index, place)));
        return parts;
    }
    if let Some((items, true)) = items
        && items.len() >= count - 1
    {
        let mut parts: Vec<Value> = items[..star].iter().map(|item| item.value.clone()).collect();
        let rest = items[star..items.len() - after].to_vec();
        let kind = ObjectKind::List { items: rest, unknown: false };
        parts.push(Value::of(Val::Object(machine.state.allocate(kind, "<list>", Some(place)))));
        parts.extend(items[items.len() - after..].iter().map(|item| item.value.clone()));
        return parts;
    }
    let mut parts = Vec::new();
    for index in 0..count {
        let number = i128::try_from(index).unwrap_or(0);
        let part = if let Val::Array(array) = val {
            let array = array.clone();
            if index < star {
                let number = machine.state.terms.int(number);
                arrays::array_element(machine, &array, number)
            } else if index == star && after == 0 {
                let lower = machine.state.terms.int(number);
                arrays::array_slice(machine, &array, [Some(lower), None, None])
            } else {
                let fresh = machine.state.terms.fresh(Symbol::Opaque, "<part>", Some(place));
                Value::term(fresh)
            }
        } else if let (Val::Term(term), true) = (val, index < star) {
            let number = machine.state.terms.int(number);
            Value::term(machine.state.terms.intern(Term::Item(*term, number, 0)))
        } else if let (Val::Term(term), true, true) = (val, index == star, after == 0) {
            let start = machine.state.terms.int(number);
            let elements = Elements::View { family: *term, start, step: 1, to_end: true, order: Order::Known };
            Value::array(KeyKind::Unknown, 0, Some(vec![None].into()), elements)
        } else {
            machine.state.terms.opaque("<part>", Some(place))
        };
        parts.push(part);
    }
    parts
}
