//! Running blocks and operations.
//!
//! **Invariant:** an operation runs only while some path reaches it, and each costs one unit of fuel.

use crate::analysis::domain::guard::Guard;
use crate::analysis::domain::marks::{ELLIPSIS, EXPECTED, raised_in};
use crate::analysis::domain::size;
use crate::analysis::domain::term::{Symbol, Term, TermId, Terms};
use crate::analysis::domain::value::{Val, Value};
use crate::analysis::machine::{
    Frame, LoopState, Machine, annotate, held_keys, hover, implied, index, name_cache, notes, operate, reads,
    split_escape, stream_use, text, writes,
};
use crate::analysis::store::State;
use crate::analysis::store::heap::{DICT, Entry, Item, ObjectKind};
use crate::analysis::store::paths::Catching;
use crate::ir::{Block, Collection, Constant, Element, Handler, Name, Op, OpKind, Temp, Variable};

/// Represents a context manager whose body is expected to raise.
pub const EXPECTS: &str = "<expects an exception>";

/// Represents a context manager that suppresses exceptions of its body.
pub const SUPPRESSES: &str = "<suppresses exceptions>";

/// Most exception edges that one `try` body makes.
pub const EXCEPTION_EDGES: usize = 24;

/// This many parts of values cost as much as an operation.
const PARTS_OF_AN_OPERATION: usize = 64;

/// Most nodes of a path condition that may still branch.
pub const PATH_NODES: usize = 256;

/// Python's functions that are called in a `try` because they may raise.
const PARSING: [&str; 2] = ["builtins.float", "builtins.int"];

impl<'p> Machine<'p> {
    /// Runs a block until its end or until no path is left.
    pub fn block(&mut self, frame: &mut Frame<'p>, block: &Block) {
        for temp in block {
            if self.state.paths.pc.is_false() {
                return;
            }
            let op = Self::op(frame, *temp);
            if self.budget.fuel == 0 {
                let place = self.place(frame, op.span);
                return self.exhaust(place, "operations");
            }
            self.budget.fuel -= 1;
            self.budget.ran += 1;
            self.context.here = self.place(frame, op.span);
            let parts = self.state.store.parts;
            let made = self.run_op(frame, *temp, op);
            let value = self.bounded(frame, op, made);
            let parts = self.state.store.parts.saturating_sub(parts) / PARTS_OF_AN_OPERATION;
            self.budget.fuel = self.budget.fuel.saturating_sub(u32::try_from(parts).unwrap_or(u32::MAX));
            if self.program.observes && frame.inlined.is_none() {
                hover::observe(self, frame, op, &value);
            }
            frame.temps[*temp as usize] = value;
            if self.state.paths.guards.exhausted() && self.budget.exhausted.is_none() {
                self.budget.exhausted = Some((self.place(frame, op.span), "paths"));
            }
        }
    }

    /// The result of an operation, if it is within the size bound.
    fn bounded(&mut self, frame: &Frame<'p>, op: &Op, made: Value) -> Value {
        let is_kept = match &op.kind {
            // These pass on the result of another operation.
            OpKind::Constant(_) | OpKind::Load(_) | OpKind::Project(..) | OpKind::Await(_) => true,
            _ => size::parts(&made).is_some_and(|parts| self.state.store.has_room(parts)),
        };
        if self.state.store.take_overflow() || !is_kept {
            let place = self.place(frame, op.span);
            self.budget.exhausted.get_or_insert((place, "sizes of values"));
            self.budget.limited.get_or_insert((place, "sizes of values"));
        }
        if is_kept { made } else { self.state.terms.opaque("<too large>", None) }
    }

    fn run_op(&mut self, frame: &mut Frame<'p>, temp: Temp, op: &'p Op) -> Value {
        stream_use::note_operation(self, frame, &op.kind);
        split_escape::note_operation(self, frame, &op.kind);
        match &op.kind {
            OpKind::Constant(constant) => return constant_value(&mut self.state.terms, constant),
            OpKind::Load(variable) => return self.run_load(frame, variable, op),
            OpKind::Store(variable, value) => {
                let value = frame.value(*value);
                self.store(frame, variable, &value, op);
            }
            OpKind::Delete(variable) => delete(&mut self.state, frame, variable),
            OpKind::Attribute(object, name) => return self.run_attribute(frame, *object, name, op),
            OpKind::StoreAttribute(object, name, value) => {
                let (object, value) = (frame.value(*object), frame.value(*value));
                self.store_attribute(frame, &object, name, &value, op);
            }
            OpKind::DeleteAttribute(object, name) => {
                let object = frame.value(*object);
                let deleted = Value::term(self.state.terms.fresh(Symbol::Deleted, name.clone(), None));
                self.store_attribute(frame, &object, name, &deleted, op);
            }
            OpKind::Item(object, index) => {
                exception_edge(&mut self.state, frame, false);
                let (value, index) = (frame.value(*object), frame.value(*index));
                return index::item(self, frame, &value, &index, op, *object);
            }
            OpKind::StoreItem(target, index, value) => {
                let [object, index, value] = [target, index, value].map(|temp| frame.value(*temp));
                index::store_item(self, frame, &object, &index, &value, op);
                index::store_array_item(self, frame, *target, &object, op);
            }
            OpKind::DeleteItem(object, index) => {
                index::delete_item(&mut self.state, &frame.value(*object), &frame.value(*index));
            }
            OpKind::Build(collection, elements) => return self.build(frame, *collection, elements, op),
            OpKind::Operate(operator, operands, augmented) => {
                exception_edge(&mut self.state, frame, !operator.divides());
                return operate::operate(self, frame, *operator, *operands, *augmented, op);
            }
            OpKind::Call(callee, arguments) => {
                self.exception_edge_of_call(frame, *callee);
                return self.call_op(frame, *callee, arguments, op);
            }
            OpKind::Function(function, defaults) => return self.make_function(frame, *function, defaults),
            OpKind::Class(class, arguments) => return self.make_class(frame, *class, arguments, temp, op),
            OpKind::Import { path, whole } => return self.import(frame, path, *whole, op),
            OpKind::ImportFrom { level, module, name } => return self.import_from(frame, *level, module, name, op),
            OpKind::Unpack { value, count, star } => {
                let targets = index::Targets { count: *count, star: *star };
                return index::unpack(self, frame, &frame.value(*value), targets, op, *value);
            }
            OpKind::Project(unpacked, index) => {
                return match frame.temps[*unpacked as usize].single() {
                    Some(Val::Tuple(parts)) => parts.get(*index as usize).cloned().unwrap_or_default(),
                    _ => self.state.terms.opaque("<part>", Some(self.place(frame, op.span))),
                };
            }
            OpKind::Iterate(value) => {
                let (value, place) = (frame.value(*value), self.place(frame, op.span));
                notes::touch_iterated(self, frame, &value, op);
                return self.iterator_of(frame, &value, Some(place));
            }
            OpKind::Next(iterator) => return self.next_step(frame, &frame.value(*iterator), op.span).value,
            OpKind::Append(container, element) => append(&mut self.state, frame, *container, element),
            OpKind::If { test, then, orelse } => {
                let written = name_cache::written_text(self, frame, *test);
                let test = frame.value(*test);
                notes::note_truth(self, frame, &test, written.clone(), op);
                let holds = self.state.truth(&test);
                self.branch(frame, holds, then, orelse);
                if then.is_empty() {
                    notes::note_default(self, frame, (&test, written), orelse, op);
                }
            }
            OpKind::Loop { head, test, body, orelse } => self.run_loop(frame, head, *test, body, orelse, op),
            OpKind::Try { body, handlers, orelse, finally } => self.run_try(frame, body, handlers, orelse, finally),
            OpKind::Enter(manager) => return (self.library.enter)(self, frame, &frame.value(*manager), op),
            OpKind::Leave(entered) => {
                if let OpKind::Enter(manager) = Self::op(frame, *entered).kind {
                    (self.library.leave)(self, frame, &frame.value(manager), op);
                }
            }
            OpKind::Return(value) => self.run_return(frame, *value, op),
            OpKind::Raise(_) => self.raise(),
            OpKind::Break => leave_iteration(&mut self.state, frame, |innermost| &mut innermost.breaks),
            OpKind::Continue => leave_iteration(&mut self.state, frame, |innermost| &mut innermost.continues),
            OpKind::Yield { value, from } => return self.run_yield(frame, *value, *from, op),
            OpKind::Await(value) => return frame.value(*value),
            OpKind::Annotate(value, annotation) => {
                frame.temps[*value as usize] =
                    annotate::annotated(self, frame, &frame.value(*value), annotation, op.span);
            }
            OpKind::Unsupported(writes) => return self.run_unsupported(frame, writes, op),
        }
        Value::unbound()
    }

    fn run_load(&mut self, frame: &Frame<'p>, variable: &Variable, op: &Op) -> Value {
        implied::read(self, frame, variable);
        let value = self.load(frame, variable, op);
        if matches!(variable, Variable::Outer(..)) {
            stream_use::note(self, &value);
            split_escape::escape(self, &value);
            reads::note_variable(self, frame, variable, &value, op);
        }
        value
    }

    fn run_attribute(&mut self, frame: &mut Frame<'p>, of: Temp, name: &Name, op: &'p Op) -> Value {
        let object = frame.value(of);
        if !self.state.has_attribute(&object, name) {
            exception_edge(&mut self.state, frame, true);
        }
        let value = self.attribute(frame, &object, name, op);
        reads::note_attribute(self, frame, (&object, of, name), &value, op);
        value
    }

    fn run_return(&mut self, frame: &mut Frame<'p>, value: Option<Temp>, op: &'p Op) {
        let value = value.map_or_else(|| self.state.terms.none(), |value| frame.value(value));
        notes::note_return(self, frame, &value, op);
        let paths = &mut self.state.paths;
        frame.returns.push((paths.pc, value));
        frame.left = paths.guards.or(frame.left, paths.pc);
        if frame.activation.caller.is_none() {
            // After the outermost function, nothing of the analysed program runs.
            paths.end();
        } else {
            paths.frame_live = paths.guards.without(paths.frame_live, paths.pc);
            paths.pc = Guard::FALSE;
        }
    }

    fn run_unsupported(&mut self, frame: &mut Frame<'p>, writes: &[Variable], op: &Op) -> Value {
        for variable in writes {
            let unknown = self.state.terms.opaque("<unsupported>", None);
            self.store(frame, variable, &unknown, op);
        }
        self.state.terms.opaque("<unsupported>", Some(self.place(frame, op.span)))
    }

    pub fn load(&mut self, frame: &Frame<'p>, variable: &Variable, op: &Op) -> Value {
        let value = match variable {
            Variable::Local(slot) => self.state.store.environments[frame.environment.0 as usize]
                .slots
                .get(*slot as usize)
                .cloned()
                .unwrap_or_default(),
            Variable::Outer(depth, slot) => outer(&self.state, frame, *depth, *slot),
            Variable::Global(name) => return self.load_global(frame, name, op),
        };
        if value.is_unbound() {
            if let (Variable::Local(slot), crate::ir::FunctionKind::ClassBody) = (variable, frame.code.kind)
                && *slot < frame.code.named
                && let Some(name) = frame.code.slots.get(*slot as usize)
            {
                let name = name.clone();
                return self.load_global(frame, &name, op);
            }
            let text = text::variable_text(frame, variable);
            return self.state.terms.opaque(text, Some(self.place(frame, op.span)));
        }
        self.state.possible(&value)
    }

    pub fn store(&mut self, frame: &Frame<'p>, variable: &Variable, value: &Value, op: &Op) {
        implied::bind(&mut self.state, frame.environment, variable);
        match variable {
            Variable::Local(slot) => store_slot(&mut self.state, frame.environment, *slot, value, State::written),
            Variable::Outer(depth, slot) => {
                if let Some(environment) = writes::environment_of(self, frame, *depth) {
                    writes::note_variable(self, frame, value, (environment, variable), op);
                    store_slot(&mut self.state, environment, *slot, value, State::written_anywhere);
                }
            }
            Variable::Global(name) => self.store_global(frame, name, value, op),
        }
    }

    /// Runs `then` on the paths of `holds` and `orelse` on the others.
    pub fn branch(&mut self, frame: &mut Frame<'p>, holds: Guard, then: &Block, orelse: &Block) {
        let before = self.state.paths.pc;
        if self.state.paths.guards.is_larger(before, PATH_NODES) {
            return self.exhaust(self.context.here, "paths");
        }
        self.recorder.test(self.state.paths.guards.support(holds));
        let then_paths = self.state.paths.guards.and(before, holds);
        let else_paths = self.state.paths.guards.without(before, holds);
        self.state.paths.pc = if self.state.feasible(then_paths) { then_paths } else { Guard::FALSE };
        self.block(frame, then);
        let after_then = self.state.paths.pc;
        self.state.paths.pc = if self.state.feasible(else_paths) { else_paths } else { Guard::FALSE };
        self.block(frame, orelse);
        self.state.paths.pc = self.state.paths.guards.or(after_then, self.state.paths.pc);
    }

    /// Whether the called function raises only in incorrect programs: a modelled one, or a method that copies or adds.
    fn never_raises(&self, callee: &Value) -> bool {
        match callee.single() {
            // `int(text)`
            Some(Val::Library(path)) if PARSING.contains(&&**path) => false,
            Some(Val::Library(path)) => {
                path.starts_with("jax.numpy.")
                    || self.program.models.callable(path).is_some_and(|callable| callable.exact)
            }
            Some(Val::UnknownMethod(method)) => is_safe_method(&method.1),
            Some(Val::Term(term)) => {
                matches!(self.state.terms.get(*term), Term::Attribute(_, name, _) if is_safe_method(name))
            }
            _ => false,
        }
    }

    /// The exception edge of a call. Where a function of the program raises itself, the handlers see what it did before.
    fn exception_edge_of_call(&mut self, frame: &Frame<'p>, callee: Temp) {
        if self.state.paths.catching.borrow().is_empty() {
            return;
        }
        let callee = &frame.temps[callee as usize];
        let function = match callee.single() {
            Some(Val::Method(bound)) => bound.1.single(),
            function => function,
        };
        let hardly = match function {
            Some(Val::Function(closure)) => {
                let code = self.module(closure.module).function(closure.function);
                if code.ops.iter().any(|op| matches!(op.kind, OpKind::Raise(_))) {
                    return;
                }
                true
            }
            _ => self.never_raises(callee),
        };
        exception_edge(&mut self.state, frame, hardly);
    }

    fn run_try(&mut self, frame: &mut Frame<'p>, body: &Block, handlers: &[Handler], orelse: &Block, finally: &Block) {
        let outer_left = std::mem::replace(&mut frame.left, Guard::FALSE);
        let live = self.state.paths.frame_live;
        let manager = manager_of(&self.state.terms, frame, finally);
        let before = self.state.paths.pc;
        if manager == Some(EXPECTS) {
            // It is unknown where the body raises: possibly before any of its effects.
            let literal = self.state.terms.fresh(Symbol::Path, EXPECTED, None);
            let runs = self.state.paths.guards.literal(literal);
            self.state.paths.pc = self.state.paths.guards.and(before, runs);
        }
        let raised = if handlers.is_empty() && finally.is_empty() {
            self.block(frame, body);
            Guard::FALSE
        } else {
            let passes_system_exit = passes_system_exit(&self.state.terms, frame, handlers, finally);
            self.state.paths.catching.borrow_mut().push(Catching {
                raised: Guard::FALSE,
                passes_system_exit,
                raises: frame.code.within(body).any(|temp| matches!(Self::op(frame, temp).kind, OpKind::Raise(_))),
                depth: frame.activation.depth,
                seen: u64::MAX,
                unlikely: None,
            });
            self.block(frame, body);
            self.state.paths.catching.borrow_mut().pop().map_or(Guard::FALSE, |catching| catching.raised)
        };
        self.block(frame, orelse);
        let mut after = self.state.paths.pc;
        let mut uncaught = raised;
        for (index, handler) in handlers.iter().enumerate() {
            if uncaught.is_false() {
                break;
            }
            let last = index + 1 == handlers.len();
            let caught = if handler.types.is_none() || last {
                Guard::TRUE
            } else {
                let literal = self.state.terms.fresh(Symbol::Path, "<caught>", None);
                self.state.paths.guards.literal(literal)
            };
            self.state.paths.pc = self.state.paths.guards.and(uncaught, caught);
            uncaught = self.state.paths.guards.without(uncaught, caught);
            if let Some(variable) = &handler.name {
                let exception = self.state.terms.opaque("<exception>", None);
                if let Some(op) = handler.body.first().map(|temp| Self::op(frame, *temp)) {
                    self.store(frame, variable, &exception, op);
                }
            }
            self.block(frame, &handler.body);
            if let Some(variable) = &handler.name {
                // Python unbinds the name when the handler ends.
                delete(&mut self.state, frame, variable);
            }
            after = self.state.paths.guards.or(after, self.state.paths.pc);
        }
        if manager == Some(EXPECTS) {
            after = self.state.paths.guards.without(before, frame.left);
            uncaught = Guard::FALSE;
        } else if manager == Some(SUPPRESSES) {
            after = self.state.paths.guards.or(after, uncaught);
            uncaught = Guard::FALSE;
        }
        if !finally.is_empty() {
            // `finally` sees the paths that left by `return`, `break`, `continue` or an exception, too.
            let leaving = self.state.paths.guards.or(frame.left, uncaught);
            let before_live = std::mem::replace(&mut self.state.paths.frame_live, live);
            self.state.paths.pc = self.state.paths.guards.or(after, leaving);
            self.block(frame, finally);
            after = self.state.paths.guards.and(self.state.paths.pc, after);
            self.state.paths.frame_live = before_live;
        }
        if !uncaught.is_false() {
            self.state.paths.pc = uncaught;
            self.raise();
        }
        self.state.paths.pc = after;
        frame.left = self.state.paths.guards.or(outer_left, frame.left);
    }

    fn build(&mut self, frame: &mut Frame<'p>, collection: Collection, elements: &[Element], op: &'p Op) -> Value {
        match collection {
            Collection::Tuple | Collection::List | Collection::Set => {
                let (items, unknown) = self.collect(frame, elements);
                if collection == Collection::Tuple && !unknown && items.iter().all(|item| item.guard.is_true()) {
                    return Value::of(Val::Tuple(items.into_iter().map(|item| item.value).collect()));
                }
                let kind = match collection {
                    Collection::Set => ObjectKind::Set(items),
                    _ => ObjectKind::List { items, unknown },
                };
                Value::of(Val::Object(self.state.allocate(kind, "<list>", Some(self.place(frame, op.span)))))
            }
            Collection::Dict => {
                let mut entries: Vec<Entry> = Vec::new();
                let mut unknown = false;
                for element in elements {
                    match element {
                        Element::Pair(key, value) => {
                            let key_value = frame.value(*key);
                            let value = frame.value(*value);
                            let key = self.state.term_of(&key_value);
                            entries.retain(|entry| entry.key != key);
                            entries.push(Entry { key, key_value, guard: Guard::TRUE, value });
                        }
                        Element::SpreadMapping(mapping) => {
                            let mapping = frame.value(*mapping);
                            match held_keys::entries_of(self, &mapping) {
                                Some((spread, more)) => {
                                    for entry in spread {
                                        entries.retain(|old| old.key != entry.key);
                                        entries.push(entry);
                                    }
                                    unknown |= more;
                                }
                                None => unknown = true,
                            }
                        }
                        Element::Value(_) | Element::Spread(_) => unknown = true,
                    }
                }
                let kind = ObjectKind::Dict { entries, unknown };
                Value::of(Val::Object(self.state.allocate(kind, DICT, Some(self.place(frame, op.span)))))
            }
            Collection::Slice => {
                let parts: Vec<Value> = elements
                    .iter()
                    .map(|element| match element {
                        Element::Value(value) => frame.value(*value),
                        _ => Value::unbound(),
                    })
                    .collect();
                Value::of(Val::Slice(parts.into()))
            }
            Collection::Text => {
                let parts: Vec<_> = elements
                    .iter()
                    .filter_map(|element| match element {
                        Element::Value(value) => Some(frame.value(*value)),
                        _ => None,
                    })
                    .collect();
                let terms: Vec<_> = parts.iter().map(|part| self.state.term_of(part)).collect();
                Value::term(self.state.terms.intern(Term::Apply("<text>".into(), terms.into())))
            }
        }
    }

    /// The elements of a display, with those of known iterables spread.
    fn collect(&mut self, frame: &mut Frame<'p>, elements: &[Element]) -> (Vec<Item>, bool) {
        let mut items = Vec::new();
        let mut unknown = false;
        for element in elements {
            match element {
                Element::Value(value) => {
                    items.push(Item { guard: Guard::TRUE, value: frame.value(*value) });
                }
                Element::Spread(value) => {
                    let value = frame.value(*value);
                    match self.items_of(frame, &value) {
                        Some(spread) => items.extend(spread),
                        None => unknown = true,
                    }
                }
                Element::Pair(..) | Element::SpreadMapping(_) => unknown = true,
            }
        }
        (items, unknown)
    }

    fn run_yield(&mut self, frame: &mut Frame<'p>, value: Option<Temp>, from: bool, op: &'p Op) -> Value {
        let value = match value {
            Some(value) => frame.value(value),
            None => self.state.terms.none(),
        };
        if from {
            if let Some(items) = self.items_of(frame, &value) {
                for item in items {
                    let guard = self.state.paths.guards.and(self.state.paths.pc, item.guard);
                    frame.yields.push((guard, item.value));
                }
            } else {
                let element = self.state.terms.opaque("<yielded>", Some(self.place(frame, op.span)));
                frame.yields.push((self.state.paths.pc, element));
            }
        } else {
            frame.yields.push((self.state.paths.pc, value));
        }
        self.state.terms.opaque("<sent>", Some(self.place(frame, op.span)))
    }
}

pub fn constant_value(terms: &mut Terms, constant: &Constant) -> Value {
    let term = match constant {
        Constant::None => Term::None,
        Constant::Bool(value) => Term::Bool(*value),
        Constant::Int(value) => Term::Int(**value),
        Constant::Float(value) => Term::Float(value.to_bits()),
        Constant::Str(text) => Term::Text(text.clone()),
        Constant::Ellipsis => Term::Apply(ELLIPSIS.into(), Box::new([])),
        Constant::BigInt | Constant::Imaginary(_) | Constant::Other => {
            return Value::term(terms.fresh(Symbol::Opaque, "<literal>", None));
        }
    };
    Value::term(terms.intern(term))
}

fn outer(state: &State, frame: &Frame<'_>, depth: u32, slot: u32) -> Value {
    state
        .environment_around(frame.environment, depth)
        .and_then(|id| state.store.environments[id.0 as usize].slots.get(slot as usize).cloned())
        .unwrap_or_default()
}

fn store_slot(
    state: &mut State,
    environment: crate::analysis::domain::value::EnvironmentId,
    slot: u32,
    value: &Value,
    written: impl FnOnce(&mut State, &Value, &Value) -> Value,
) {
    let Some(old) = state.store.environments[environment.0 as usize].slots.get(slot as usize).cloned() else {
        return;
    };
    let new = written(state, value, &old);
    state.store.environments[environment.0 as usize].slots[slot as usize] = new;
}

/// `break`, `continue`: the paths that run it end here, and join those that left the innermost loop in the same way.
fn leave_iteration(state: &mut State, frame: &mut Frame<'_>, joined: impl Fn(&mut LoopState) -> &mut Guard) {
    let paths = &mut state.paths;
    if let Some(innermost) = frame.loops.last_mut() {
        let joined = joined(innermost);
        *joined = paths.guards.or(*joined, paths.pc);
    }
    frame.left = paths.guards.or(frame.left, paths.pc);
    paths.pc = Guard::FALSE;
}

fn delete(state: &mut State, frame: &Frame<'_>, variable: &Variable) {
    if let Variable::Local(slot) = variable
        && let Some(old) = state.store.environments[frame.environment.0 as usize].slots.get(*slot as usize).cloned()
    {
        let elsewhere = state.paths.guards.without(state.paths.frame_live, state.paths.pc);
        let kept = old.restricted(&mut state.paths.guards, elsewhere);
        state.store.environments[frame.environment.0 as usize].slots[*slot as usize] = kept;
    }
}

/// An operation that may raise leaves an enclosing `try` with the state before it. One that hardly ever raises adds an edge only if the
/// `try` has none yet and raises nothing itself, so that its handlers are reached, and only until another operation adds one.
fn exception_edge(state: &mut State, frame: &Frame<'_>, hardly: bool) {
    // The call that a prelude function belongs to has its own edge.
    if frame.inlined.is_some() {
        return;
    }
    let catching = state.paths.catching.clone();
    let mut catching = catching.borrow_mut();
    let Some(innermost) = catching.last_mut() else { return };
    if innermost.depth != frame.activation.depth
        || innermost.seen == state.store.mutations
        || hardly && (innermost.raises || innermost.seen != u64::MAX)
    {
        return;
    }
    if state.paths.guards.support(innermost.raised).len() > EXCEPTION_EDGES {
        return;
    }
    innermost.drop_unlikely(&mut state.paths.guards, state.paths.pc);
    let text = raised_in(frame.activation.id);
    let literal = state.terms.fresh(Symbol::Path, text, None);
    let raises = state.paths.guards.literal(literal);
    let paths = state.paths.guards.and(state.paths.pc, raises);
    innermost.raised = state.paths.guards.or(innermost.raised, paths);
    innermost.seen = state.store.mutations;
    state.paths.pc = state.paths.guards.without(state.paths.pc, raises);
    if hardly {
        innermost.unlikely = Some([paths, state.paths.pc]);
    }
}

/// Whether a `try`, or the context manager that it represents, catches exceptions, but not that of `sys.exit()`.
fn passes_system_exit(terms: &Terms, frame: &Frame<'_>, handlers: &[Handler], finally: &Block) -> bool {
    let is_other = |name: &str| !matches!(name.rsplit('.').next(), Some("SystemExit" | "BaseException"));
    if handlers.is_empty() {
        let Some(manager) = entered(frame, finally) else { return false };
        return match terms.get(manager) {
            Term::Apply(name, types) if &**name == SUPPRESSES => types.iter().all(|of| match terms.get(*of) {
                Term::Apply(name, parts) => parts.is_empty() && is_other(name),
                Term::Attribute(_, name, _) => is_other(name),
                _ => false,
            }),
            _ => false,
        };
    }
    let mut types: Vec<Temp> = Vec::new();
    for handler in handlers {
        let Some(of) = handler.types else { return false };
        match &Machine::op(frame, of).kind {
            OpKind::Build(_, elements) => types.extend(elements.iter().filter_map(|element| match element {
                Element::Value(of) => Some(*of),
                _ => None,
            })),
            _ => types.push(of),
        }
    }
    types.into_iter().all(|of| match &Machine::op(frame, of).kind {
        OpKind::Load(Variable::Global(name)) | OpKind::Attribute(_, name) => is_other(name),
        _ => false,
    })
}

/// How the context manager that `finally` leaves treats exceptions.
fn manager_of(terms: &Terms, frame: &Frame<'_>, finally: &Block) -> Option<&'static str> {
    match terms.get(entered(frame, finally)?) {
        Term::Apply(name, _) => [EXPECTS, SUPPRESSES].into_iter().find(|mark| *mark == &**name),
        _ => None,
    }
}

/// The context manager that `finally` leaves.
fn entered(frame: &Frame<'_>, finally: &Block) -> Option<TermId> {
    let OpKind::Leave(entered) = Machine::op(frame, *finally.last()?).kind else { return None };
    let OpKind::Enter(manager) = Machine::op(frame, entered).kind else { return None };
    match frame.temps[manager as usize].single() {
        Some(Val::Term(term)) => Some(*term),
        _ => None,
    }
}

/// Adds an element to the result of a comprehension, on the current paths.
fn append(state: &mut State, frame: &mut Frame<'_>, container: Temp, element: &Element) {
    let Some(Val::Object(object)) = frame.temps[container as usize].single().cloned() else { return };
    state.store.mutations += 1;
    let guard = state.paths.pc;
    let added = match element {
        Element::Value(value) => {
            let value = frame.value(*value);
            Some((None, value))
        }
        Element::Pair(key, value) => {
            let key_value = frame.value(*key);
            Some((Some(key_value), frame.value(*value)))
        }
        Element::Spread(_) | Element::SpreadMapping(_) => None,
    };
    let Some((key, value)) = added else { return };
    let key = key.map(|key_value| (state.term_of(&key_value), key_value));
    match (&mut state.store.objects[object.0 as usize].kind, key) {
        (ObjectKind::List { items, .. } | ObjectKind::Set(items), None) => items.push(Item { guard, value }),
        (ObjectKind::Dict { entries, .. }, Some((key, key_value))) => {
            entries.push(Entry { key, key_value, guard, value });
        }
        _ => {}
    }
}

/// Whether a method of this name, of a list, an array or a record, raises only in incorrect programs.
fn is_safe_method(name: &str) -> bool {
    matches!(name, "replace" | "_replace" | "append" | "at" | "sum" | "mean" | "min" | "max" | "astype")
}
