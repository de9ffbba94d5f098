//! Havoc: mutable values whose contents are no longer known, because unknown code or an abandoned call had access to them.
//!
//! **Invariant:** after a havoc, every alias of such a value sees the same symbol, and so does an iteration that runs over it. What it
//! contained may have changed as well.

use std::rc::Rc;

use rustc_hash::{FxHashMap, FxHashSet};

use super::copy::Copier;
use super::frame::{Frame, at, put};
use super::iterate::Source;
use super::machine::Machine;
use super::project::add;
use super::symbol::Symbol;
use super::value::{Class, Closure, Environment, Shared, Value, contents};
use crate::ir::{Function, FunctionId, OpKind, Temp, Variable};

/// How deep mutable things are looked for in immutable ones.
pub(super) const DEPTH: u32 = 8;

/// Most functions that one call is believed to reach.
const FUNCTIONS: usize = 256;

/// The havocked values, by address; each is kept alive, so that no other gets its address.
#[derive(Default)]
pub(super) struct Havocked<'p> {
    of: FxHashMap<usize, (Value<'p>, Symbol)>,
}

impl<'p> Havocked<'p> {
    /// The havocked values of a copy of the run's state.
    pub(super) fn copied(&self, copier: &mut Copier<'p>) -> Self {
        let copies = self.of.values().map(|(value, symbol)| (copier.value(value), *symbol));
        Self { of: copies.filter_map(|(value, symbol)| Some((address(&value)?, (value, symbol)))).collect() }
    }

    fn symbol(&self, address: usize) -> Option<Symbol> {
        self.of.get(&address).map(|(_, symbol)| *symbol)
    }

    /// The symbol of the contents of a list that is being iterated over.
    pub(super) fn of_list(&self, values: &Shared<Value<'p>>) -> Option<Symbol> {
        if self.of.is_empty() { None } else { self.symbol(Rc::as_ptr(values).addr()) }
    }

    /// What is known of a value by now.
    pub(super) fn current(&self, value: Value<'p>) -> Value<'p> {
        if self.of.is_empty() {
            return value;
        }
        match address(&value).and_then(|address| self.symbol(address)) {
            Some(symbol) => Value::Unknown(symbol),
            None => value,
        }
    }
}

/// The place of a value that has no symbol itself.
fn address(value: &Value<'_>) -> Option<usize> {
    Some(match value {
        Value::List(values) | Value::Set(values) => Rc::as_ptr(values).addr(),
        Value::Dict(pairs) => Rc::as_ptr(pairs).addr(),
        Value::Generator(frame) => Rc::as_ptr(frame).addr(),
        _ => return None,
    })
}

impl<'p> Machine<'p> {
    /// What mutable things hold may have changed.
    pub(super) fn havoc(&mut self, value: &Value<'p>) {
        self.havoc_within(value, DEPTH);
    }

    fn havoc_within(&mut self, value: &Value<'p>, depth: u32) {
        let Some(depth) = depth.checked_sub(1) else { return };
        let held: Vec<Value<'p>> = match value {
            Value::Unknown(symbol) if self.symbols.known_key(*symbol).is_none() => {
                self.symbols.invalidate(*symbol);
                return;
            }
            Value::Instance(instance) => {
                self.symbols.invalidate(instance.symbol);
                let attributes = std::mem::take(&mut *instance.attributes.borrow_mut());
                attributes.into_iter().map(|(_, value)| value).collect()
            }
            Value::Iterator(source) => {
                let symbol = self.symbols.fresh("<advanced>");
                *source.borrow_mut() = Source::Unknown(symbol, 0);
                self.is_bounded = true;
                return;
            }
            Value::Generator(suspended) => {
                // It may have been run to its end.
                suspended.borrow_mut().take();
                self.is_bounded = true;
                Vec::new()
            }
            Value::Bound(bound) => vec![bound.0.clone()],
            Value::Partial(partial) => partial.args.values().chain([&partial.function]).cloned().collect(),
            other => match contents(other) {
                Some(values) => values,
                None => return,
            },
        };
        if let Some(address) = address(value) {
            if self.havocked.of.contains_key(&address) {
                return;
            }
            let symbol = self.symbols.fresh("<changed>");
            self.havocked.of.insert(address, (value.clone(), symbol));
        }
        for value in held {
            self.havoc_within(&value, depth);
        }
    }

    /// A call was abandoned: what it may have changed is unknown.
    pub(super) fn havoc_call(&mut self, function: &Value<'p>, given: &[Value<'p>]) {
        self.is_bounded = true;
        let mut reach = Reach::default();
        for value in given.iter().chain([function]) {
            reach.value(value, DEPTH);
        }
        for value in given.iter().chain([function]) {
            self.havoc(value);
        }
        self.havoc_reached(reach);
    }

    /// What functions reach from within may have changed: variables that they write, and mutable things that they read; and so on
    /// for the functions that they read.
    pub(super) fn havoc_reached(&mut self, mut reach: Reach<'p>) {
        let project = self.project;
        let mut done = 0;
        while let Some(closure) = reach.functions.get(done).cloned() {
            done += 1;
            let Some(within) = project.reached_within(closure.module, closure.id) else { continue };
            for variable in &within.read {
                if let Some(value) = self.outside(&closure, variable) {
                    reach.value(&value, DEPTH);
                }
            }
            for (variable, name) in &within.members {
                if let Some(Value::Module(module)) = self.outside(&closure, variable)
                    && let Some(value) = self.bound(module, name)
                {
                    reach.value(&value, DEPTH);
                }
            }
        }
        for closure in &reach.functions {
            let Some(within) = project.reached_within(closure.module, closure.id) else { continue };
            for variable in &within.read {
                if let Some(value) = self.outside(closure, variable) {
                    self.havoc(&value);
                }
            }
            for variable in &within.written {
                self.havoc_variable(closure, variable);
            }
        }
    }

    /// The value of a variable that is not a function's own, if it is bound.
    fn outside(&mut self, closure: &Closure<'p>, variable: &Variable) -> Option<Value<'p>> {
        match variable {
            Variable::Global(name) => self.bound(closure.module, name),
            Variable::Outer(depth, slot) => {
                let environment = around(closure, *depth)?;
                let slots = environment.slots.borrow();
                slots.get(*slot as usize).cloned().flatten()
            }
            Variable::Local(_) => None,
        }
    }

    fn havoc_variable(&mut self, closure: &Closure<'p>, variable: &Variable) {
        if self.outside(closure, variable).is_none() {
            return;
        }
        match variable {
            Variable::Global(name) => {
                let value = self.unknown(name);
                self.globals.entry(closure.module).or_default().insert(name.clone(), value);
            }
            Variable::Outer(depth, slot) => {
                let value = self.unknown("<written>");
                if let Some(environment) = around(closure, *depth)
                    && let Some(place) = environment.slots.borrow_mut().get_mut(*slot as usize)
                {
                    *place = Some(value);
                }
            }
            Variable::Local(_) => {}
        }
    }
}

/// The variables around a function.
fn around<'p>(closure: &Closure<'p>, depth: u32) -> Option<Rc<Environment<'p>>> {
    (1..depth).try_fold(closure.parent.clone(), |at, _| Some(at?.parent.clone())).flatten()
}

/// Functions that may have run.
#[derive(Default)]
pub(super) struct Reach<'p> {
    functions: Vec<Rc<Closure<'p>>>,
    known: FxHashSet<(usize, FunctionId, u32)>,
}

impl<'p> Reach<'p> {
    /// Adds the functions that code with access to a value can call.
    pub(super) fn value(&mut self, value: &Value<'p>, depth: u32) {
        let Some(depth) = depth.checked_sub(1) else { return };
        match value {
            Value::Function(closure) => {
                if self.functions.len() >= FUNCTIONS || !self.known.insert((closure.module, closure.id, closure.number))
                {
                    return;
                }
                self.functions.push(closure.clone());
                if let Some(class) = closure.class.borrow().as_ref() {
                    // Its receiver is one of these.
                    self.class(class, depth);
                }
            }
            Value::Bound(bound) => {
                self.value(&bound.0, depth);
                self.value(&bound.1, depth);
            }
            Value::Partial(partial) => {
                for value in partial.args.values().chain([&partial.function]) {
                    self.value(value, depth);
                }
            }
            Value::Wrapped(wrapped) => {
                for value in wrapped.args.values().chain(&wrapped.function) {
                    self.value(value, depth);
                }
            }
            Value::Class(class) => self.class(class, depth),
            Value::Instance(instance) => self.class(&instance.class, depth),
            Value::Static(inner) | Value::ClassMethod(inner) => self.value(inner, depth),
            Value::Property(property) => {
                for part in std::iter::once(&property.0).chain(&property.1) {
                    self.value(part, depth);
                }
            }
            Value::Tuple(values) => values.iter().for_each(|value| self.value(value, depth)),
            _ => {}
        }
    }

    fn class(&mut self, class: &Rc<Class<'p>>, depth: u32) {
        for class in class.lineage() {
            for (_, value) in class.attributes.borrow().iter() {
                self.value(value, depth);
            }
        }
    }
}

/// Whether a value holds others, and may hold others later.
pub(super) fn is_container(value: &Value<'_>) -> bool {
    matches!(
        value,
        Value::Instance(_) | Value::List(_) | Value::Set(_) | Value::Dict(_) | Value::Iterator(_) | Value::Generator(_)
    )
}

/// What a loop's blocks touch.
#[derive(Default)]
struct LoopEffects {
    stored: Vec<Variable>,
    loaded: Vec<Variable>,
    /// Objects whose attributes or items are written, and collections that are filled.
    written: Vec<Temp>,
    filled: Vec<Temp>,
    /// What they call.
    called: Vec<Temp>,
}

impl<'p> Machine<'p> {
    /// Whether a loop without a target place has used up its part of the budget.
    pub(super) fn is_overrun(&self, frame: &Frame<'p>, temp: Temp) -> bool {
        if self.hints.leads(frame.module, frame.id, temp) {
            return false;
        }
        let began = frame.began.get(&temp).copied().unwrap_or(0);
        self.part_of(frame, began).is_some_and(|part| began.saturating_sub(self.left()) > part)
    }

    /// Leaves a loop whose further iterations are not run.
    pub(super) fn leave_loop(&mut self, frame: &mut Frame<'p>, temp: Temp) {
        self.is_bounded = true;
        let code: &'p Function = frame.code;
        let Some(OpKind::Loop { head, body, .. }) = code.ops.get(temp as usize).map(|op| &op.kind) else { return };
        let mut touched = LoopEffects::default();
        touched.block(code, head, 32);
        touched.block(code, body, 32);
        for temp in touched.written {
            let value = at(frame, temp);
            self.havoc(&value);
        }
        for temp in touched.filled {
            let value = self.unknown("<filled>");
            put(frame, temp, value);
        }
        for variable in touched.loaded {
            let value = self.load(frame, &variable);
            if is_container(&value) {
                self.havoc(&value);
            }
        }
        let mut reach = Reach::default();
        for called in touched.called {
            reach.value(&at(frame, called), DEPTH);
        }
        self.havoc_reached(reach);
        for variable in touched.stored {
            let value = self.unknown("<written>");
            self.store(frame, &variable, Some(value));
        }
    }
}

impl LoopEffects {
    fn block(&mut self, code: &Function, block: &[Temp], depth: u32) {
        for op in block.iter().filter_map(|temp| code.ops.get(*temp as usize)) {
            match &op.kind {
                OpKind::Store(variable, _) | OpKind::Delete(variable) => add(&mut self.stored, variable.clone()),
                OpKind::Load(variable) => add(&mut self.loaded, variable.clone()),
                OpKind::StoreAttribute(object, ..)
                | OpKind::DeleteAttribute(object, _)
                | OpKind::StoreItem(object, ..)
                | OpKind::DeleteItem(object, _) => add(&mut self.written, *object),
                OpKind::Append(collection, _) => add(&mut self.filled, *collection),
                OpKind::Call(function, _) => add(&mut self.called, *function),
                OpKind::If { then, orelse, .. } if depth > 0 => {
                    self.block(code, then, depth - 1);
                    self.block(code, orelse, depth - 1);
                }
                OpKind::Loop { head, body, orelse, .. } if depth > 0 => {
                    for block in [head, body, orelse] {
                        self.block(code, block, depth - 1);
                    }
                }
                OpKind::Try { body, handlers, orelse, finally } if depth > 0 => {
                    for block in [body, orelse, finally].into_iter().chain(handlers.iter().map(|handler| &handler.body))
                    {
                        self.block(code, block, depth - 1);
                    }
                }
                _ => {}
            }
        }
    }
}
