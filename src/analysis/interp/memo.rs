//! Answers about names that are asked for again and again.
//!
//! **Invariant:** an answer depends on the question and the program alone, so that who asks first cannot be seen.

use rustc_hash::FxHashMap;

use crate::analysis::domain::value::ModuleIndex;
use crate::ir::{FunctionId, Name, Temp};

use super::{Frame, Machine};

/// The answers of the analyses of one program.
#[derive(Default)]
pub(super) struct Memo {
    /// Members of library names, as seen from a module.
    members: FxHashMap<(ModuleIndex, Name, Name), Member>,
    /// Built-in names that a model knows, by what is written.
    builtins: FxHashMap<Name, Option<Name>>,
    /// Operands as written.
    written: FxHashMap<(ModuleIndex, FunctionId, Temp), Option<Name>>,
    /// Names of results of calls.
    calls: FxHashMap<Name, Name>,
}

impl Memo {
    /// Forgets what was told of the text of functions.
    pub(super) fn forget_functions(&mut self) {
        self.written = FxHashMap::default();
    }
}

/// What a member of a library name is.
#[derive(Clone)]
pub(super) struct Member {
    /// Its path under the canonical root.
    pub(super) path: Name,
    /// The module of the program that it is.
    pub(super) module: Option<ModuleIndex>,
}

impl<'p> Machine<'p> {
    /// The member of a library name, as seen from a module.
    pub(super) fn library_member(&self, from: ModuleIndex, path: &Name, name: &Name) -> Member {
        let question = (from, path.clone(), name.clone());
        if let Some(known) = self.caches.names.borrow().members.get(&question) {
            return known.clone();
        }
        let joined = format!("{path}.{name}");
        let path: Name = self.program.models.rooted(&joined, self.program.roots).into();
        let module = self.project_module(from, &path);
        let answer = Member { path, module };
        self.caches.names.borrow_mut().members.insert(question, answer.clone());
        answer
    }

    /// The path of a built-in name that a model knows.
    pub(super) fn builtin_path(&self, name: &Name) -> Option<Name> {
        if let Some(known) = self.caches.names.borrow().builtins.get(name) {
            return known.clone();
        }
        let answer = self.program.builtin_path(name);
        self.caches.names.borrow_mut().builtins.insert(name.clone(), answer.clone());
        answer
    }

    /// The source of an operand, where it is a name, an attribute chain or a literal subscript of one.
    pub(super) fn written_text(&self, frame: &Frame<'p>, temp: Temp) -> Option<Name> {
        if let Some(name) = Self::written_name(frame, temp) {
            return Some(name);
        }
        let question = (frame.module, frame.activation.function, temp);
        if let Some(known) = self.caches.names.borrow().written.get(&question) {
            return known.clone();
        }
        let answer = Self::source_text(frame, temp);
        self.caches.names.borrow_mut().written.insert(question, answer.clone());
        answer
    }

    /// What the result of a call is called.
    pub(super) fn call_text(&self, callee: &Name) -> Name {
        if let Some(known) = self.caches.names.borrow().calls.get(callee) {
            return known.clone();
        }
        let answer: Name = format!("{callee}(…)").into();
        self.caches.names.borrow_mut().calls.insert(callee.clone(), answer.clone());
        answer
    }
}
