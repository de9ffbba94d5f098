//! Caches of frequent queries about names.
//!
//! **Invariant:** a result depends on the query and the program alone, not on the order of queries.

use rustc_hash::FxHashMap;

use crate::analysis::domain::value::{ModuleIndex, Value};
use crate::analysis::machine::{Frame, Machine, imports, text};
use crate::finding::Place;
use crate::ir::{FunctionId, Name, Temp};

/// The cached results of the analyses of one program.
#[derive(Clone, Default)]
pub struct Memo {
    /// Members of library names, as seen from a module.
    members: FxHashMap<(ModuleIndex, Name, Name), Member>,
    /// Built-in names with a model, as written.
    builtins: FxHashMap<Name, Option<Name>>,
    /// Operands as written.
    written: FxHashMap<(ModuleIndex, FunctionId, Temp), Option<Name>>,
    /// Names of results of calls.
    calls: FxHashMap<Name, Name>,
}

impl Memo {
    /// Forgets what is known about the text of functions.
    pub fn forget_functions(&mut self) {
        self.written = FxHashMap::default();
    }
}

/// What a member of a library name denotes.
#[derive(Clone)]
pub struct Member {
    /// Its path under the canonical root.
    pub path: Name,
    /// The module of the program that it denotes.
    pub module: Option<ModuleIndex>,
}

/// The member of a library name, as seen from a module.
pub fn library_member(machine: &Machine<'_>, from: ModuleIndex, path: &Name, name: &Name) -> Member {
    let question = (from, path.clone(), name.clone());
    if let Some(known) = machine.caches.names.borrow().members.get(&question) {
        return known.clone();
    }
    let joined = format!("{path}.{name}");
    let path: Name = machine.program.models.rooted(&joined, machine.program.roots).into();
    let module = imports::project_module(machine.program, from, &path);
    let answer = Member { path, module };
    machine.caches.names.borrow_mut().members.insert(question, answer.clone());
    answer
}

/// The path of a built-in name with a model.
pub fn builtin_path(machine: &Machine<'_>, name: &Name) -> Option<Name> {
    if let Some(known) = machine.caches.names.borrow().builtins.get(name) {
        return known.clone();
    }
    let answer = machine.program.builtin_path(name);
    machine.caches.names.borrow_mut().builtins.insert(name.clone(), answer.clone());
    answer
}

/// The source of an operand, where it is a name, an attribute chain or a literal subscript of one.
pub fn written_text<'p>(machine: &Machine<'p>, frame: &Frame<'p>, temp: Temp) -> Option<Name> {
    if frame.inlined.is_some() {
        return None;
    }
    let module = machine.module(frame.module);
    if let Some(name) = text::written_name(module, frame, temp) {
        return Some(name);
    }
    let question = (frame.module, frame.activation.function, temp);
    if let Some(known) = machine.caches.names.borrow().written.get(&question) {
        return known.clone();
    }
    let answer = text::source_text(module, frame, temp);
    machine.caches.names.borrow_mut().written.insert(question, answer.clone());
    answer
}

/// The unknown result of a call.
pub fn unknown_result(machine: &mut Machine<'_>, callee: &Name, place: Place) -> Value {
    let text = call_text(machine, callee);
    machine.state.terms.opaque(text, Some(place))
}

/// The name for the result of a call.
pub fn call_text(machine: &Machine<'_>, callee: &Name) -> Name {
    if let Some(known) = machine.caches.names.borrow().calls.get(callee) {
        return known.clone();
    }
    let answer: Name = format!("{callee}(…)").into();
    machine.caches.names.borrow_mut().calls.insert(callee.clone(), answer.clone());
    answer
}
