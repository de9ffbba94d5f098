//! What a value is put into: objects, and the containers and attributes that they were taken from.
//!
//! **Invariant:** a variable may share its object with what it was bound to, unless a class or a library function made it there. What a
//! function of the program returns counts as stored, and so does what the bound cuts off.

use crate::analysis::record::Callee;
use crate::ir::{Argument, Element, OpKind, Temp, Variable};
use crate::judge::consequence::body::{Body, Part, Path, Sinks, within};

/// The slot of the receiver of a method.
const RECEIVER: u32 = 0;

/// Most definitions, with parts, into whose objects a value is put.
const SHARED: usize = 256;

impl Body<'_, '_> {
    /// A part of a value is put into an object.
    pub fn put_into(&mut self, object: Temp, path: &Path) {
        match &self.code.ops[object as usize].kind {
            OpKind::Call(callee, _) if self.is_super(*callee) => {
                let receivers = self.uses.clone();
                self.effects.mutated.push((RECEIVER, path.clone()));
                receivers.loads_of(RECEIVER).iter().for_each(|load| self.hold(*load, path.clone()));
            }
            OpKind::Load(Variable::Local(slot)) => {
                let uses = self.uses.clone();
                if (*slot as usize) < self.code.parameters.len() {
                    self.effects.mutated.push((*slot, path.clone()));
                }
                for load in uses.loads_of(*slot) {
                    if !self.excluded.contains(load) {
                        self.hold(*load, path.clone());
                    }
                }
                if uses.is_captured(*slot) {
                    self.add(Sinks::STORED);
                }
                self.put_into_originals(object, *slot, path);
            }
            OpKind::Attribute(of, name) => self.put_into(*of, &within(Part::Field(name.clone()), path)),
            OpKind::Item(of, _) => self.put_into(*of, &within(Part::Any, path)),
            OpKind::Build(..) => self.hold(object, path.clone()),
            // The result of a call may be stored elsewhere.
            kind => {
                if let OpKind::Load(variable @ (Variable::Global(_) | Variable::Outer(..))) = kind {
                    self.add_taker(variable.clone());
                    self.add(Sinks::SHARED);
                }
                match kind {
                    OpKind::Load(Variable::Global(name)) => self.add_to_global(name),
                    _ => self.add(Sinks::STORED),
                }
                self.hold(object, path.clone());
            }
        }
    }

    /// Whether a callee is `super`, whose result stands for the receiver of the method.
    fn is_super(&self, callee: Temp) -> bool {
        let is_named =
            matches!(&self.code.ops[callee as usize].kind, OpKind::Load(Variable::Global(name)) if &**name == "super");
        is_named && self.code.class.is_some() && !self.code.parameters.is_empty()
    }

    /// A part of a value is put into the object of a variable, which it may share with what it was taken from.
    fn put_into_originals(&mut self, load: Temp, slot: u32, path: &Path) {
        let (code, uses) = (self.code, self.uses.clone());
        let reaching = uses.reaching(code, &Variable::Local(slot));
        for store in uses.stores_of(slot).iter().filter(|store| reaching.loads_of(**store).contains(&load)) {
            if !self.shared.insert((*store, path.clone())) {
                continue;
            }
            if self.shared.len() > SHARED {
                return self.add(Sinks::ESCAPES);
            }
            if let OpKind::Store(_, value) = &code.ops[*store as usize].kind {
                self.put_into_original(*value, path);
            }
        }
    }

    /// A part of a value is put into what a value was taken from: an element of a container, an attribute, another variable.
    fn put_into_original(&mut self, value: Temp, path: &Path) {
        let code = self.code;
        match &code.ops[value as usize].kind {
            OpKind::Load(_) | OpKind::Attribute(..) | OpKind::Item(..) => self.put_into(value, path),
            OpKind::Project(of, _) => self.put_into_original(*of, &within(Part::Any, path)),
            OpKind::Unpack { value: of, .. } | OpKind::Iterate(of) => self.put_into_original(*of, path),
            OpKind::Next(of) => match &code.ops[*of as usize].kind {
                OpKind::Iterate(all) => self.put_into_elements(*all, path),
                _ => self.add(Sinks::STORED),
            },
            // The elements of a tuple or list that is taken apart again.
            OpKind::Build(_, elements) => {
                let rest = path.split_first().map(|(_, rest)| rest.to_vec()).unwrap_or_default();
                for element in elements {
                    match element {
                        Element::Value(value) | Element::Pair(_, value) => self.put_into_original(*value, &rest),
                        Element::Spread(all) | Element::SpreadMapping(all) => self.put_into_original(*all, path),
                    }
                }
            }
            // A function may return an object that something else holds; a class makes one, and runs its constructor.
            OpKind::Call(..) => {
                let callees = self.flows.run.log.callees.get(&self.place(value)).map_or(&[][..], Vec::as_slice);
                let is_made = callees.iter().any(|callee| matches!(callee, Callee::Class(_)));
                let is_library = |callee: &Callee| matches!(callee, Callee::Library(_));
                if !is_made && (callees.is_empty() || !callees.iter().all(is_library)) {
                    self.add(Sinks::STORED);
                }
            }
            _ => {}
        }
    }

    /// A part of a value is put into the elements of what a loop goes through. Those of `zip(a, b)` and `d.items()` are elements of the
    /// arguments and the receiver, unless a function of the program makes them.
    fn put_into_elements(&mut self, all: Temp, path: &Path) {
        let path = within(Part::Any, path);
        let OpKind::Call(callee, arguments) = &self.code.ops[all as usize].kind else {
            return self.put_into_original(all, &path);
        };
        let callees = self.flows.run.log.callees.get(&self.place(all));
        let is_library = |callee: &Callee| matches!(callee, Callee::Library(_) | Callee::Method(_));
        if !callees.is_some_and(|callees| callees.iter().all(is_library)) {
            self.add(Sinks::STORED);
        }
        if let OpKind::Attribute(of, _) = &self.code.ops[*callee as usize].kind {
            self.put_into_original(*of, &path);
        }
        for argument in arguments {
            if let Argument::Positional(value) = argument {
                self.put_into_original(*value, &path);
            }
        }
    }
}
