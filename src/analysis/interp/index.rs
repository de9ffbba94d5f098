//! Subscripts and unpacking.
//!
//! **Invariant:** indexing what may be a scalar key is judged by rank: an index that reaches a key's words is a misuse, whether JAX
//! raises (typed) or goes on with numbers (raw).

use std::rc::Rc;

use crate::analysis::domain::guard::Guard;
use crate::analysis::domain::kinds::{BufferOp, KeyKind};
use crate::analysis::domain::term::{Symbol, Term, TermId};
use crate::analysis::domain::value::{Array, Elements, Key, Order, Val, Value};
use crate::analysis::heap::{Entry, Item, Kind};
use crate::ir::{Op, Temp};
use crate::models::Callable;

use super::arrays::slice_indices;
use super::{Frame, Machine};

/// One part of a subscript.
enum Index {
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

impl<'p> Machine<'p> {
    /// `object[index]`
    pub(super) fn item(
        &mut self,
        frame: &mut Frame<'p>,
        object: &Value,
        index: &Value,
        op: &'p Op,
        object_temp: Temp,
    ) -> Value {
        let object = self.possible(object);
        let written = self.written_text(frame, object_temp);
        self.on_alternatives(&object, |this, val| this.item_of_val(frame, val, index, op, written.as_deref()))
    }

    fn item_of_val(
        &mut self,
        frame: &mut Frame<'p>,
        val: &Val,
        index: &Value,
        op: &'p Op,
        written: Option<&str>,
    ) -> Value {
        let place = self.place(frame, op.span);
        match val {
            Val::Tuple(parts) => self.sequence_item(&parts.clone(), index, place),
            Val::Array(array) => self.array_item(frame, &array.clone(), index, op, written),
            Val::Key(key) => self.key_item(frame, *key, index, op, written),
            // The buffers of what may be an array of keys: an index selects one of them.
            Val::Words(key, None) if self.may_be_many(*key) => {
                let words = self.terms.intern(Term::Words(key.term, None));
                let index = self.term_of(index);
                Value::term(self.terms.intern(Term::Item(words, index, 0)))
            }
            Val::Words(key, None) => {
                let number = self.term_of(index);
                let word = self.terms.as_int(number).and_then(|number| u8::try_from(number.rem_euclid(2)).ok());
                match word {
                    Some(word) => Value::of(Val::Words(*key, Some(word))),
                    None => self.opaque("<word>", Some(place)),
                }
            }
            Val::Object(object) => self.object_item(frame, *object, index, place),
            Val::Term(term) => {
                let parts = self.index_parts(index);
                self.note_shape_slice(frame, *term, &parts, place, written);
                match parts.as_slice() {
                    [Index::At(number)] => {
                        let epoch = self.epoch_of(*term);
                        if self.recorder.log.declared.contains(term) || !self.terms.is_constant(*term) {
                            self.note_index(frame, *term, place, written, index, false);
                        }
                        if let Some(value) = self.shadow_item(*term, *number) {
                            return value;
                        }
                        if let Some(length) = self.item_of_shape(*term, *number) {
                            return Value::term(length);
                        }
                        Value::term(self.terms.intern(Term::Item(*term, *number, epoch)))
                    }
                    [Index::Slice(bounds)] if self.may_be_key(*term) => {
                        let start = self.terms.int(0);
                        let family = *term;
                        let array = Array {
                            kind: KeyKind::Unknown,
                            derivation: 0,
                            dims: None,
                            elements: Elements::View { family, start, step: 1, to_end: true, order: Order::Known },
                        };
                        let mut one = array.clone();
                        one.dims = Some(vec![Some(self.length_of_term(family))].into());
                        self.array_slice(&Rc::new(one), *bounds)
                    }
                    [Index::NewAxis] if self.may_be_key(*term) => {
                        self.listed(vec![Value::term(*term)], KeyKind::Unknown)
                    }
                    _ => {
                        let term = *term;
                        let index = self.term_of(index);
                        Value::term(self.terms.intern(Term::Item(term, index, 0)))
                    }
                }
            }
            Val::Class(_) | Val::Library(_) => Value::of(val.clone()),
            _ => self.opaque("<item>", Some(place)),
        }
    }

    /// `key.shape[:-1]` drops the words of a raw key, and a batch axis of typed ones.
    fn note_shape_slice(
        &mut self,
        frame: &Frame<'p>,
        term: TermId,
        parts: &[Index],
        place: crate::finding::Place,
        written: Option<&str>,
    ) {
        if let [Index::Slice([None, Some(upper), None])] = parts
            && self.terms.as_int(*upper) == Some(-1)
            && let Term::Attribute(of, name, _) = self.terms.get(term).clone()
            && &*name == "shape"
        {
            self.log_shape_use(
                frame,
                BufferOp::ShapeLogic,
                of,
                place,
                format!("{}[:-1]", written.unwrap_or("….shape")),
            );
        }
    }

    fn sequence_item(&mut self, parts: &Rc<[Value]>, index: &Value, place: crate::finding::Place) -> Value {
        if let Some(Val::Slice(bounds)) = index.single() {
            let bounds = bounds.clone();
            match self.known_bounds(&bounds) {
                Some((lower, upper, step)) => {
                    let length = i128::try_from(parts.len()).unwrap_or(i128::MAX);
                    let chosen: Vec<Value> = slice_indices(lower, upper, step, length)
                        .into_iter()
                        .filter_map(|index| parts.get(index).cloned())
                        .collect();
                    Value::of(Val::Tuple(chosen.into()))
                }
                None => self.opaque("<slice>", Some(place)),
            }
        } else {
            let term = self.term_of(index);
            match self.terms.as_int(term) {
                Some(number) => {
                    let length = i128::try_from(parts.len()).unwrap_or(i128::MAX);
                    let number = if number < 0 { number + length } else { number };
                    let part = usize::try_from(number).ok().and_then(|number| parts.get(number));
                    part.cloned().unwrap_or_else(|| self.opaque("<item>", Some(place)))
                }
                None => self.opaque("<item>", Some(place)),
            }
        }
    }

    /// Bounds of a slice that are absent or literal.
    pub(super) fn known_bounds(&mut self, bounds: &[Value]) -> Option<(Option<i128>, Option<i128>, i128)> {
        let mut known = [None; 3];
        for (place, bound) in known.iter_mut().zip(bounds) {
            let term = self.term_of(bound);
            *place = match self.terms.get(term) {
                Term::None => None,
                _ => Some(self.terms.as_int(term)?),
            };
        }
        Some((known[0], known[1], known[2].unwrap_or(1)))
    }

    fn index_parts(&mut self, index: &Value) -> Vec<Index> {
        match index.single().cloned() {
            Some(Val::Tuple(parts)) => parts.iter().flat_map(|part| self.index_parts(part)).collect(),
            Some(Val::Slice(bounds)) => {
                let mut terms = [None; 3];
                for (place, bound) in terms.iter_mut().zip(bounds.iter()) {
                    let term = self.term_of(bound);
                    *place = (!matches!(self.terms.get(term), Term::None)).then_some(term);
                }
                vec![Index::Slice(terms)]
            }
            Some(Val::Term(term)) => match self.terms.get(term) {
                Term::None | Term::Bool(_) => vec![Index::NewAxis],
                Term::Apply(name, _) if &**name == "<ellipsis>" => vec![Index::Ellipsis],
                // Arrays select several; a number selects one.
                Term::Apply(name, _) if self.program.models.callable(name).is_some_and(Callable::makes_many) => {
                    vec![Index::Gather]
                }
                Term::Operate(crate::ir::Operator::Eq | crate::ir::Operator::Lt | crate::ir::Operator::Not, _) => {
                    vec![Index::Gather]
                }
                _ => vec![Index::At(term)],
            },
            Some(Val::Library(path)) if self.program.models.is_none(&path) => vec![Index::NewAxis],
            Some(Val::Object(_) | Val::Array(_)) => vec![Index::Gather],
            _ => {
                let term = self.term_of(index);
                vec![Index::At(term)]
            }
        }
    }

    /// `keys[…]`
    fn array_item(
        &mut self,
        frame: &mut Frame<'p>,
        array: &Rc<Array>,
        index: &Value,
        op: &'p Op,
        written: Option<&str>,
    ) -> Value {
        let place = self.place(frame, op.span);
        let parts = self.index_parts(index);
        let reached = parts.iter().filter(|part| !matches!(part, Index::NewAxis | Index::Ellipsis)).count();
        let ellipsis = parts.iter().any(|part| matches!(part, Index::Ellipsis));
        let last_at = matches!(parts.last(), Some(Index::At(_)));
        if let Some(rank) = array.dims.as_ref().map(|dims| dims.len())
            && (reached > rank || ellipsis && last_at && array.kind == KeyKind::Raw)
            && let Some(key) = self.evident_key(&Val::Array(array.clone()))
        {
            let text = format!("{}[{}]", written.unwrap_or("…"), self.index_text(index));
            self.buffer_use(frame, BufferOp::Index, key, place, text, array.kind == KeyKind::Typed);
            return self.opaque("<words>", Some(place));
        }
        let mut value = Value::of(Val::Array(array.clone()));
        if let [Index::Slice([None, None, None]), Index::At(column)] = parts.as_slice() {
            return self.column_of(array, 1, *column);
        }
        // Indices apply to successive axes: after a number the next axis is the first one.
        let mut sliced = false;
        for part in &parts {
            let Some(Val::Array(current)) = value.single().cloned() else { break };
            value = match part {
                Index::NewAxis => {
                    let one = self.terms.int(1);
                    let dims = current.dims.as_ref().map(|dims| {
                        let mut dims = dims.to_vec();
                        dims.insert(0, Some(one));
                        dims.into()
                    });
                    if sliced { value } else { Value::of(Val::Array(Rc::new(Array { dims, ..(*current).clone() }))) }
                }
                Index::Ellipsis => value,
                _ if sliced => {
                    return self.subset(&current);
                }
                Index::At(number) => self.array_element(&current, *number),
                Index::Slice(bounds) => {
                    sliced = true;
                    self.array_slice(&current, *bounds)
                }
                Index::Gather => {
                    sliced = true;
                    self.subset(&current)
                }
            };
        }
        value
    }

    /// Whether what only looks like a key may be an array of them.
    pub(super) fn may_be_many(&self, key: Key) -> bool {
        let is_symbolic = matches!(
            self.terms.get(key.term),
            Term::Symbol(_) | Term::Attribute(..) | Term::Item(..) | Term::Choice(_) | Term::Apply(..)
        );
        is_symbolic && key.kind == KeyKind::Unknown && !self.recorder.log.declared.contains(&key.term)
    }

    /// `key[…]` on one key.
    fn key_item(&mut self, frame: &mut Frame<'p>, key: Key, index: &Value, op: &'p Op, written: Option<&str>) -> Value {
        let place = self.place(frame, op.span);
        let parts = self.index_parts(index);
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
            let listed = self.listed(vec![Value::of(Val::Key(key))], key.kind);
            return listed;
        }
        if self.may_be_many(key) {
            // What only looks like a key may be an array of them.
            let number = self.term_of(index);
            return Value::term(self.terms.intern(Term::Item(key.term, number, 0)));
        }
        let text = format!("{}[{}]", written.unwrap_or("…"), self.index_text(index));
        self.buffer_use(frame, BufferOp::Index, key, place, text, key.kind == KeyKind::Typed);
        if key.kind == KeyKind::Typed {
            return self.opaque("<raises>", Some(place));
        }
        let word = match parts.as_slice() {
            [Index::At(number)] => {
                self.terms.as_int(*number).and_then(|number| u8::try_from(number.rem_euclid(2)).ok())
            }
            _ => None,
        };
        if let Some(word) = word {
            Value::of(Val::Words(key, Some(word)))
        } else {
            let words = self.terms.intern(Term::Words(key.term, None));
            let number = self.term_of(index);
            Value::term(self.terms.intern(Term::Item(words, number, 0)))
        }
    }

    fn object_item(
        &mut self,
        frame: &mut Frame<'p>,
        object: crate::analysis::domain::value::ObjectId,
        index: &Value,
        place: crate::finding::Place,
    ) -> Value {
        match self.store.objects[object.0 as usize].kind.clone() {
            Kind::List { items, unknown } => {
                let certain = !unknown && items.iter().all(|item| self.is_there(item.guard));
                if certain {
                    let parts: Rc<[Value]> = items.into_iter().map(|item| item.value).collect();
                    if let Some(Val::Slice(_)) = index.single() {
                        let value = self.sequence_item(&parts, index, place);
                        return match value.single() {
                            Some(Val::Tuple(parts)) => {
                                let items =
                                    parts.iter().map(|v| Item { guard: Guard::TRUE, value: v.clone() }).collect();
                                let kind = Kind::List { items, unknown: false };
                                Value::of(Val::Object(self.allocate(kind, "<list>", Some(place))))
                            }
                            _ => value,
                        };
                    }
                    return self.sequence_item(&parts, index, place);
                }
                // Elements that are there on some paths only: an index is sure where all before it are there.
                let term = self.term_of(index);
                if let Some(number) = self.terms.as_int(term).and_then(|number| usize::try_from(number).ok())
                    && number < items.len()
                    && !unknown
                    && items[..=number].iter().all(|item| self.is_there(item.guard))
                {
                    return items[number].value.clone();
                }
                let symbol = self.term_of_val(&Val::Object(object));
                Value::term(self.terms.intern(Term::Item(symbol, term, 0)))
            }
            Kind::Dict { entries, unknown } => {
                let key = self.term_of(index);
                self.dict_item(object, &entries, unknown, key)
            }
            Kind::Instance => {
                let dunder: crate::ir::Name = "__getitem__".into();
                if let Some(method) = self.instance_method(&Val::Object(object), &dunder) {
                    let args = super::bind::Args::positional(vec![index.clone()]);
                    return self.call_value(frame, &method, args, Some(place));
                }
                if let Some(items) = self.items_of_record(frame, object) {
                    return self.sequence_item(&items.into(), index, place);
                }
                let symbol = self.term_of_val(&Val::Object(object));
                let index = self.term_of(index);
                Value::term(self.terms.intern(Term::Item(symbol, index, 0)))
            }
            Kind::Stream(path) => {
                let given = self.stream_item(&path);
                self.stream_result(given, &path, place)
            }
            Kind::Set(_) | Kind::Iterator(..) => self.opaque("<item>", Some(place)),
        }
    }

    /// Whether what is there under a guard is there on all current paths.
    pub(super) fn is_there(&mut self, guard: Guard) -> bool {
        guard.is_true() || self.paths.guards.without(self.paths.pc, guard).is_false()
    }

    /// `d[key]`: the last entry written, path by path.
    pub(super) fn dict_item(
        &mut self,
        object: crate::analysis::domain::value::ObjectId,
        entries: &[Entry],
        unknown: bool,
        key: TermId,
    ) -> Value {
        let uncertain = |this: &Self, entry: &Entry| {
            entry.key != key && !this.terms.distinct(entry.key, key) && !this.terms.is_constant(entry.key)
        };
        let symbol = self.term_of_val(&Val::Object(object));
        let mut rest = Guard::TRUE;
        let mut result = Value::unbound();
        for entry in entries.iter().rev() {
            if rest.is_false() {
                break;
            }
            if entry.key == key {
                let paths = self.paths.guards.and(rest, entry.guard);
                for alternative in entry.value.alternatives() {
                    let both = self.paths.guards.and(paths, alternative.guard);
                    result.push(&mut self.paths.guards, both, alternative.val.clone());
                }
                rest = self.paths.guards.without(rest, entry.guard);
            } else if uncertain(self, entry) {
                return Value::term(self.terms.intern(Term::Item(symbol, key, 0)));
            }
        }
        if !rest.is_false() && (unknown || result.is_unbound()) {
            let item = self.terms.intern(Term::Item(symbol, key, 0));
            result.push(&mut self.paths.guards, rest, Val::Term(item));
        }
        if let [only] = result.alternatives() {
            return Value::of(only.val.clone());
        }
        result
    }

    /// An item of a mapping, by the term of its key.
    pub(super) fn item_by_term(&mut self, mapping: &Value, key: TermId) -> Value {
        let mapping = mapping.clone();
        self.on_alternatives(&mapping, |this, val| {
            if let Val::Object(object) = val {
                if let Kind::Dict { entries, unknown } = this.store.objects[object.0 as usize].kind.clone() {
                    this.dict_item(*object, &entries, unknown, key)
                } else {
                    let symbol = this.term_of_val(val);
                    Value::term(this.terms.intern(Term::Item(symbol, key, 0)))
                }
            } else {
                let symbol = this.term_of_val(val);
                Value::term(this.terms.intern(Term::Item(symbol, key, 0)))
            }
        })
    }

    /// `object[index] = value`
    pub(super) fn store_item(
        &mut self,
        frame: &mut Frame<'p>,
        object: &Value,
        index: &Value,
        value: &Value,
        op: &'p Op,
    ) {
        self.store.mutations += 1;
        let object = self.possible(object);
        let term = self.term_of(index);
        self.note_store(frame, value, &object, None, op);
        for alternative in object.alternatives().to_vec() {
            let before = self.paths.pc;
            self.paths.pc = self.paths.guards.and(before, alternative.guard);
            match &alternative.val {
                Val::Object(id) => self.store_object_item(*id, term, index, value),
                Val::Term(base) => {
                    self.shadow_store(*base, term, value);
                    self.note_item_written(*base, term);
                }
                _ => {}
            }
            self.paths.pc = before;
        }
    }

    /// `keys[i] = key` on a list that is known by the array it was made from: which keys it holds is not known any more.
    pub(super) fn store_array_item(&mut self, frame: &Frame<'p>, target: Temp, object: &Value, op: &'p Op) {
        let [only] = object.alternatives() else { return };
        let (Val::Array(array), crate::ir::OpKind::Load(variable)) = (&only.val, &Self::op(frame, target).kind) else {
            return;
        };
        let family = self.terms.fresh(Symbol::Opaque, "<changed keys>", None);
        if self.is_evident(array) {
            self.recorder.log.declared.insert(family);
        }
        let start = self.terms.int(0);
        let elements = Elements::View { family, start, step: 1, to_end: true, order: Order::Known };
        let changed = Value::of(Val::Array(Rc::new(Array { elements, ..(**array).clone() })));
        self.store(frame, variable, &changed, op);
    }

    fn store_object_item(
        &mut self,
        id: crate::analysis::domain::value::ObjectId,
        term: TermId,
        index: &Value,
        value: &Value,
    ) {
        let guard = if self.paths.guards.without(self.paths.alive, self.paths.pc).is_false() {
            Guard::TRUE
        } else {
            self.paths.pc
        };
        // What is read by a key that is not sure to be this one may be this element from now on.
        self.store.objects[id.0 as usize].epoch += 1;
        let number = self.terms.as_int(term);
        let mut kind = self.store.objects[id.0 as usize].kind.clone();
        match &mut kind {
            Kind::Dict { entries, .. } => {
                if guard.is_true() {
                    entries.retain(|entry| entry.key != term);
                }
                entries.push(Entry { key: term, key_value: index.clone(), guard, value: value.clone() });
            }
            Kind::List { items, unknown } => {
                let length = i128::try_from(items.len()).unwrap_or(0);
                let place = number
                    .map(|number| if number < 0 { number + length } else { number })
                    .and_then(|number| usize::try_from(number).ok())
                    .filter(|place| *place < items.len() && !*unknown);
                if let Some(place) = place {
                    let old = items[place].value.clone();
                    items[place].value = self.written(value, &old);
                } else {
                    // Which element changed is not known.
                    *unknown = true;
                    self.store.objects[id.0 as usize].epoch += 1;
                }
            }
            _ => self.store.objects[id.0 as usize].epoch += 1,
        }
        self.store.objects[id.0 as usize].kind = kind;
    }

    /// `del object[index]`
    pub(super) fn delete_item(&mut self, object: &Value, index: &Value) {
        self.store.mutations += 1;
        let term = self.term_of(index);
        for alternative in object.alternatives().to_vec() {
            if let Val::Term(of) = alternative.val {
                self.note_item_deleted(of, term);
            }
            if let Val::Object(id) = alternative.val {
                let object = &mut self.store.objects[id.0 as usize];
                match &mut object.kind {
                    Kind::Dict { entries, .. } => entries.retain(|entry| entry.key != term),
                    Kind::List { unknown, .. } => *unknown = true,
                    _ => {}
                }
                object.epoch += 1;
            }
        }
    }

    /// `a, b = value`
    pub(super) fn unpack(
        &mut self,
        frame: &mut Frame<'p>,
        value: &Value,
        count: u32,
        star: Option<u32>,
        op: &'p Op,
        source: Temp,
    ) -> Value {
        let place = self.place(frame, op.span);
        let value = self.possible(value);
        let written = self.written_text(frame, source);
        // Alternatives of one shape are unpacked part by part.
        let mut columns: Vec<Value> = Value::places(count as usize);
        let before = self.paths.pc;
        for alternative in value.alternatives().to_vec() {
            let paths = self.paths.guards.and(before, alternative.guard);
            if paths.is_false() || !self.feasible(paths) {
                continue;
            }
            self.paths.pc = paths;
            let parts = self.unpack_val(frame, &alternative.val, count, star, place, written.as_deref());
            for (column, part) in columns.iter_mut().zip(parts) {
                for piece in part.alternatives() {
                    let guard = self.paths.guards.and(piece.guard, alternative.guard);
                    column.push(&mut self.paths.guards, guard, piece.val.clone());
                }
            }
        }
        self.paths.pc = before;
        for column in &mut columns {
            if column.is_unbound() || column.is_too_various() {
                *column = self.opaque("<part>", Some(place));
            }
        }
        Value::of(Val::Tuple(columns.into()))
    }

    fn unpack_val(
        &mut self,
        frame: &mut Frame<'p>,
        val: &Val,
        count: u32,
        star: Option<u32>,
        place: crate::finding::Place,
        written: Option<&str>,
    ) -> Vec<Value> {
        let count = count as usize;
        if let Val::Key(key) = val
            && !self.may_be_many(*key)
        {
            let text = format!("unpacking {}", written.unwrap_or("it"));
            self.buffer_use(frame, BufferOp::Unpack, *key, place, text, key.kind == KeyKind::Typed);
            return (0..count).map(|_| self.opaque("<word>", Some(place))).collect();
        }
        if let Some(star) = star {
            return self.unpack_starred(frame, val, count, star as usize, place);
        }
        let whole = Value::of(val.clone());
        if let Some(items) = self.items_of(frame, &whole)
            && items.len() == count
        {
            return items.into_iter().map(|item| item.value).collect();
        }
        (0..count)
            .map(|index| {
                let index = self.terms.int(i128::try_from(index).unwrap_or(0));
                match val {
                    Val::Array(array) => self.array_element(&array.clone(), index),
                    Val::Term(term) => {
                        let epoch = self.epoch_of(*term);
                        self.note_index(frame, *term, place, written, &Value::term(index), true);
                        if let Some(length) = self.item_of_shape(*term, index) {
                            return Value::term(length);
                        }
                        Value::term(self.terms.intern(Term::Item(*term, index, epoch)))
                    }
                    Val::Object(object)
                        if !matches!(
                            self.store.objects[object.0 as usize].kind,
                            Kind::Iterator(..) | Kind::Stream(_)
                        ) =>
                    {
                        let term = self.term_of_val(val);
                        Value::term(self.terms.intern(Term::Item(term, index, 0)))
                    }
                    Val::Object(_) => self.next_of(frame, &whole, place.span),
                    _ => self.opaque("<part>", Some(place)),
                }
            })
            .collect()
    }

    fn unpack_starred(
        &mut self,
        frame: &mut Frame<'p>,
        val: &Val,
        count: usize,
        star: usize,
        place: crate::finding::Place,
    ) -> Vec<Value> {
        let whole = Value::of(val.clone());
        let after = count - star - 1;
        if let Some(items) = self.items_of(frame, &whole)
            && items.len() >= count - 1
        {
            let mut parts: Vec<Value> = items[..star].iter().map(|item| item.value.clone()).collect();
            let rest = items[star..items.len() - after].to_vec();
            let kind = Kind::List { items: rest, unknown: false };
            parts.push(Value::of(Val::Object(self.allocate(kind, "<list>", Some(place)))));
            parts.extend(items[items.len() - after..].iter().map(|item| item.value.clone()));
            return parts;
        }
        let mut parts = Vec::new();
        for index in 0..count {
            let number = i128::try_from(index).unwrap_or(0);
            let part = if let Val::Array(array) = val {
                let array = array.clone();
                if index < star {
                    let number = self.terms.int(number);
                    self.array_element(&array, number)
                } else if index == star && after == 0 {
                    let lower = self.terms.int(number);
                    self.array_slice(&array, [Some(lower), None, None])
                } else {
                    let fresh = self.terms.fresh(Symbol::Opaque, "<part>", Some(place));
                    Value::term(fresh)
                }
            } else if let (Val::Term(term), true) = (val, index < star) {
                let number = self.terms.int(number);
                Value::term(self.terms.intern(Term::Item(*term, number, 0)))
            } else if let (Val::Term(term), true, true) = (val, index == star, after == 0) {
                let start = self.terms.int(number);
                let elements = Elements::View { family: *term, start, step: 1, to_end: true, order: Order::Known };
                Value::of(Val::Array(Rc::new(Array {
                    kind: KeyKind::Unknown,
                    derivation: 0,
                    dims: Some(vec![None].into()),
                    elements,
                })))
            } else {
                self.opaque("<part>", Some(place))
            };
            parts.push(part);
        }
        parts
    }
}
