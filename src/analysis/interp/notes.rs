//! What is noted along the way for the conclusions: buffer uses, exits, stores, reads of globals.
//!
//! **Invariant:** a note carries the paths on which it holds; notes about other modules are not kept.

use crate::analysis::domain::guard::Guard;
use crate::analysis::domain::kinds::{BufferOp, CarryKind, KeyKind};
use crate::analysis::domain::term::{Term, TermId};
use crate::analysis::domain::value::{ClassHandle, Key, ObjectId, Val, Value};
use crate::analysis::heap::Kind;
use crate::analysis::record::{LoggedBuffer, LoggedExit, LoggedStore};
use crate::finding::Place;
use crate::ir::{Name, Op};

use super::{Frame, Machine};

impl<'p> Machine<'p> {
    /// Notes a use of a key's buffer.
    pub(super) fn buffer_use(
        &mut self,
        frame: &Frame<'p>,
        op: BufferOp,
        key: Key,
        place: Place,
        text: String,
        raises: bool,
    ) {
        self.log_buffer(frame, op, key, place, text, raises, false);
    }

    #[expect(clippy::too_many_arguments, reason = "the parts of one note")]
    fn log_buffer(
        &mut self,
        frame: &Frame<'p>,
        op: BufferOp,
        key: Key,
        place: Place,
        text: String,
        raises: bool,
        if_scalar: bool,
    ) {
        if self.paths.pc.is_false() || frame.module != self.context.home {
            return;
        }
        let raises = raises && (key.kind == KeyKind::Typed || op == BufferOp::Number);
        self.recorder.log.buffers.push(LoggedBuffer {
            op,
            key,
            place,
            text,
            raises,
            guard: self.paths.pc,
            activation: frame.activation.clone(),
            if_scalar,
        });
    }

    /// An index or unpacking of something that may turn out to be one key.
    pub(super) fn note_index(
        &mut self,
        frame: &Frame<'p>,
        term: TermId,
        place: Place,
        written: Option<&str>,
        index: &Value,
        unpack: bool,
    ) {
        if !self.may_be_key(term) {
            return;
        }
        let key = Key { term, kind: KeyKind::Unknown, derivation: 0 };
        let (op, text) = if unpack {
            (BufferOp::Unpack, format!("unpacking {}", written.unwrap_or("it")))
        } else {
            (BufferOp::Index, format!("{}[{}]", written.unwrap_or("…"), self.index_text(index)))
        };
        self.log_buffer(frame, op, key, place, text, false, true);
    }

    /// Iterating over one key iterates over its words.
    pub(super) fn touch_iterated(&mut self, frame: &Frame<'p>, value: &Value, op: &Op) {
        if let Some(Val::Key(key)) = value.single().cloned()
            && (key.kind != KeyKind::Unknown || self.recorder.log.declared.contains(&key.term))
        {
            let place = self.place(frame, op.span);
            let raises = key.kind == KeyKind::Typed;
            self.buffer_use(frame, BufferOp::Unpack, key, place, "iterating over it".into(), raises);
        }
    }

    /// Notes what a function returns.
    pub(super) fn note_return(&mut self, frame: &Frame<'p>, value: &Value, op: &'p Op) {
        let place = self.place(frame, op.span);
        if frame.activation.root {
            self.note_exit(frame, value, CarryKind::Returned, place, None, 3);
        }
        self.mark_stored(value, 3);
    }

    fn note_exit(
        &mut self,
        frame: &Frame<'p>,
        value: &Value,
        kind: CarryKind,
        place: Place,
        name: Option<&Name>,
        depth: u32,
    ) {
        let Some(depth) = depth.checked_sub(1) else { return };
        for alternative in value.alternatives() {
            let guard = self.paths.guards.and(self.paths.pc, alternative.guard);
            if !self.feasible(guard) {
                continue;
            }
            let term = match &alternative.val {
                Val::Key(key) => key.term,
                Val::Term(term) if self.may_be_key(*term) => *term,
                Val::Tuple(parts) => {
                    let parts = parts.clone();
                    self.under(guard, |this| {
                        for part in parts.iter() {
                            this.note_exit(frame, part, kind, place, name, depth);
                        }
                    });
                    continue;
                }
                Val::Object(id) => {
                    let held: Vec<(Guard, Value)> = match &self.store.objects[id.0 as usize].kind {
                        Kind::Dict { entries, .. } => {
                            entries.iter().map(|entry| (entry.guard, entry.value.clone())).collect()
                        }
                        Kind::List { items, .. } => items.iter().map(|item| (item.guard, item.value.clone())).collect(),
                        Kind::Instance => self.fields_set(*id).into_iter().map(|field| (Guard::TRUE, field)).collect(),
                        _ => continue,
                    };
                    for (there, value) in held {
                        let paths = self.paths.guards.and(guard, there);
                        self.under(paths, |this| this.note_exit(frame, &value, kind, place, name, depth));
                    }
                    continue;
                }
                _ => continue,
            };
            self.recorder.log.exits.push(LoggedExit {
                kind,
                place,
                term,
                guard,
                name: name.cloned(),
                activation: frame.activation.clone(),
                after: self.recorder.log.consumptions.len(),
            });
        }
    }

    /// What the fields of a record were set to, where nothing but a call gave them: what a constructor of the program's own stores
    /// is told there, and what a copy took over is told where it is not replaced.
    fn fields_set(&self, id: ObjectId) -> Vec<Value> {
        let object = &self.store.objects[id.0 as usize];
        let is_plain = |class: ClassHandle| {
            self.store.classes[class.0 as usize].record && self.class_attribute(class, &"__init__".into()).is_none()
        };
        let is_given = object.copied.is_some() || !self.terms.is_parameter(object.symbol);
        if !(is_given && object.class.is_some_and(is_plain)) {
            return Vec::new();
        }
        let is_taken_over = |value: &&Value| match value.single() {
            Some(Val::Key(Key { term, .. }) | Val::Term(term)) => {
                matches!(self.terms.get(*term), Term::Attribute(of, ..) if *of == object.symbol)
            }
            _ => false,
        };
        object.attributes.values().filter(|value| !is_taken_over(value)).cloned().collect()
    }

    /// Closures in a value that is returned or stored may run any number of times.
    pub(super) fn mark_stored(&mut self, value: &Value, depth: u32) {
        let Some(depth) = depth.checked_sub(1) else { return };
        for alternative in value.alternatives() {
            match &alternative.val {
                Val::Function(closure) => {
                    if let Some(idle) = self.context.pending.get_mut(&closure.identity) {
                        idle.stored = true;
                    }
                }
                Val::Wrapped(wrapped) => {
                    if let Some(function) = wrapped.function.clone() {
                        self.mark_stored(&function, depth);
                    }
                }
                Val::Partial(partial) => {
                    let function = partial.function.clone();
                    self.mark_stored(&function, depth);
                }
                Val::Tuple(parts) => {
                    for part in parts.clone().iter() {
                        self.mark_stored(part, depth);
                    }
                }
                _ => {}
            }
        }
    }

    /// Notes a store to an attribute or item.
    pub(super) fn note_store(
        &mut self,
        frame: &Frame<'p>,
        value: &Value,
        object: &Value,
        name: Option<&Name>,
        op: &'p Op,
    ) {
        self.mark_stored(value, 3);
        let place = self.place(frame, op.span);
        let Some(name) = name else { return };
        let Some(Val::Object(id)) = object.single() else { return };
        let Some(class) = self.store.objects[id.0 as usize].class else { return };
        let is_key = value.alternatives().iter().any(|alternative| match &alternative.val {
            Val::Key(_) | Val::Array(_) => true,
            Val::Term(term) => {
                self.recorder.log.declared.contains(term) || self.recorder.log.scalar_keys.contains(term)
            }
            _ => false,
        });
        self.recorder.log.stores.push(LoggedStore {
            class,
            name: name.clone(),
            place,
            function: frame.code.name.clone(),
        });
        if frame.activation.root && is_key {
            let written: Name = format!("self.{name}").into();
            self.note_exit(frame, value, CarryKind::Stored, place, Some(&written), 1);
        } else if frame.activation.root
            && let Some(Val::Object(record)) = value.single()
            && record != id
        {
            self.note_exit(frame, &value.clone(), CarryKind::Stored, place, None, 2);
        }
    }

    /// A key has no truth: JAX raises for `if key`.
    pub(super) fn note_truth(&mut self, frame: &Frame<'p>, test: &Value, written: Option<Name>, op: &Op) {
        if let Some(Val::Key(key)) = test.single().cloned()
            && key.kind != KeyKind::Unknown
        {
            let place = self.place(frame, op.span);
            let text = format!("the truth of {}", written.as_deref().unwrap_or("a key"));
            self.buffer_use(frame, BufferOp::Number, key, place, text, true);
        } else if let Some(Val::Term(term)) = test.single().cloned()
            && self.may_be_key(term)
            && let Some(written) = written
        {
            let key = Key { term, kind: KeyKind::Unknown, derivation: 0 };
            let place = self.place(frame, op.span);
            self.log_buffer(frame, BufferOp::Number, key, place, format!("the truth of {written}"), true, true);
        }
    }

    /// Notes that a function reads a global that holds a key.
    pub(super) fn note_global_read(&mut self, frame: &Frame<'p>, name: &Name, value: &Value, op: &Op) {
        if frame.code.kind == crate::ir::FunctionKind::Module || frame.module != self.context.home {
            return;
        }
        for alternative in value.alternatives() {
            if let Val::Key(key) = alternative.val {
                let place = self.place(frame, op.span);
                self.recorder.log.global_reads.push((name.clone(), key.term, place));
            }
        }
    }

    /// Notes that a function writes a global.
    pub(super) fn note_global_store(&mut self, frame: &Frame<'p>, name: &Name, value: &Value, _op: &Op) {
        self.mark_stored(value, 3);
        if frame.code.kind != crate::ir::FunctionKind::Module {
            self.recorder.log.global_stores.insert(name.clone());
        }
    }

    /// Logic on the shape of a key holds for one kind of keys only: `key.shape == (2,)`, `key.ndim == 1`, `key.shape[:-1]`.
    pub(super) fn note_shape_logic(
        &mut self,
        frame: &Frame<'p>,
        left: &Value,
        right: &Value,
        texts: &[Option<Name>; 2],
        place: Place,
    ) {
        let (a, b) = (self.term_of(left), self.term_of(right));
        for (asked, other) in [(a, b), (b, a)] {
            let Term::Attribute(of, name, _) = self.terms.get(asked).clone() else { continue };
            let op = match &*name {
                "shape" | "ndim" | "size" => BufferOp::ShapeLogic,
                "dtype" => BufferOp::DtypeLogic,
                _ => continue,
            };
            let literal = match self.terms.get(other) {
                Term::Int(_) => op == BufferOp::ShapeLogic,
                Term::Apply(apply, parts) if &**apply == "<tuple>" => {
                    op == BufferOp::ShapeLogic && parts.iter().all(|part| self.terms.is_constant(*part))
                }
                Term::Apply(apply, _) => op == BufferOp::DtypeLogic && apply.ends_with("uint32"),
                _ => false,
            };
            if !literal {
                continue;
            }
            let text = texts.iter().flatten().find(|text| text.ends_with(&*name));
            let text = text.map_or_else(|| format!("….{name}"), ToString::to_string);
            self.log_shape_use(frame, op, of, place, text);
        }
    }

    /// Logic on the shape or dtype of what may be a key.
    pub(super) fn log_shape_use(&mut self, frame: &Frame<'p>, op: BufferOp, of: TermId, place: Place, text: String) {
        let known = self.known_kind(of);
        let key = Key { term: of, kind: known.unwrap_or(KeyKind::Unknown), derivation: 0 };
        self.log_buffer(frame, op, key, place, text, false, known.is_none());
    }

    /// The kind of a derived key, where its derivation tells that it is a key.
    fn known_kind(&self, term: TermId) -> Option<KeyKind> {
        match self.terms.get(term) {
            Term::Seed(_) | Term::Child(..) | Term::Fold(..) | Term::Children(_) => Some(KeyKind::Unknown),
            _ if self.recorder.log.declared.contains(&term) => Some(KeyKind::Unknown),
            _ => None,
        }
    }
}
