//! Modules, imports and global names.
//!
//! **Invariant:** a path that has a model belongs to the library, even if the program has a module of that name. Other modules of the
//! program are run once, without logging, when one of their names is requested; the names that they import from each other are resolved on
//! demand too.

use std::sync::Arc;

use crate::analysis::domain::kinds::ReferenceKind;
use crate::analysis::domain::term::Term;
use crate::analysis::domain::value::{Import, ModuleIndex, Val, Value};
use crate::analysis::machine::{Frame, Machine, call, imports, name_cache, notes, reads};
use crate::analysis::store::heap::ModuleState;
use crate::analysis::store::paths;
use crate::finding::Place;
use crate::ir::{FunctionKind, Module, Name, Op};

/// Fuel for the body of another module.
pub const MODULE_FUEL: u32 = 20_000;

impl<'p> Machine<'p> {
    /// `import path`
    pub fn import(&mut self, frame: &mut Frame<'p>, path: &Name, whole: bool, op: &'p Op) -> Value {
        let place = self.place(frame, op.span);
        let rooted: Name = self.program.models.rooted(path, self.program.roots).into();
        self.note_reference(frame, &rooted, ReferenceKind::Import, place);
        let target: Name = if whole { rooted } else { rooted.split('.').next().unwrap_or_default().into() };
        imports::imported(self.program, frame.module, &target)
    }

    /// `from module import name`
    pub fn import_from(&mut self, frame: &mut Frame<'p>, level: u32, module: &Name, name: &Name, op: &'p Op) -> Value {
        let place = self.place(frame, op.span);
        // Imports of other modules are resolved on demand: few of the names in a package are ever used.
        if frame.module != self.context.home && frame.code.kind == FunctionKind::Module && &**name != "*" {
            let (path, name) = (module.clone(), name.clone());
            return Value::of(Val::Import(Arc::new(Import { from: frame.module, level, path, name, place })));
        }
        if &**name == "*" {
            self.import_all(frame, level, module);
            return Value::unbound();
        }
        if let Some(path) = imports::imported_library(self.program, frame.module, level, module, name) {
            self.note_reference(frame, &path, ReferenceKind::Import, place);
            return Value::of(Val::Library(path));
        }
        self.imported_member(frame.module, level, module, name, place).unwrap_or_else(|path| {
            self.note_reference(frame, &path, ReferenceKind::Import, place);
            Value::of(Val::Library(path))
        })
    }

    /// What an import of a name without a model denotes; its path if it is not part of the program.
    fn imported_member(
        &mut self,
        from: ModuleIndex,
        level: u32,
        module: &Name,
        name: &Name,
        place: Place,
    ) -> Result<Value, Name> {
        let file = self.module(from).file;
        let found = self.program.resolver.module(file, level, module).and_then(|file| self.program.of_file(file));
        if let Some(index) = found {
            let member = self.module_member(index, name, place);
            let is_unknown = matches!(member.single(), Some(Val::Term(_)));
            if !is_unknown {
                return Ok(member);
            }
        }
        // `from package import module`
        let submodule = submodule(module, name);
        if let Some(index) =
            self.program.resolver.module(file, level, &submodule).and_then(|file| self.program.of_file(file))
        {
            return Ok(Value::of(Val::Module(index)));
        }
        if let Some(index) = found {
            return Ok(self.module_member(index, name, place));
        }
        Err(imports::imported_path(self.program, from, level, module, name))
    }

    /// The value of a global name of a module, on all paths; imports are followed.
    pub fn global(&mut self, module: ModuleIndex, name: &Name) -> Option<Value> {
        let value = self.state.store.modules.get(&module)?.globals.get(name)?;
        if !value.alternatives().iter().any(|alternative| matches!(alternative.val, Val::Import(_))) {
            return Some(value.clone());
        }
        let place = (module, name.clone());
        if let Some(known) = self.caches.imported.get(&place) {
            return Some(known.clone());
        }
        let value = value.clone();
        // Cyclic imports find nothing.
        self.caches.imported.insert(place.clone(), Value::unbound());
        let mut followed = Value::unbound();
        paths::on_the_only_path(self, |this| {
            for alternative in value.alternatives() {
                let Val::Import(import) = &alternative.val else {
                    followed.push(&mut this.state.paths.guards, alternative.guard, alternative.val.clone());
                    continue;
                };
                for part in this.follow(import).alternatives() {
                    let guard = this.state.paths.guards.and(alternative.guard, part.guard);
                    followed.push(&mut this.state.paths.guards, guard, part.val.clone());
                }
            }
        });
        let followed =
            if followed.is_too_various() { self.state.terms.opaque("<one of many>", None) } else { followed };
        self.caches.imported.insert(place, followed.clone());
        Some(followed)
    }

    fn follow(&mut self, import: &Import) -> Value {
        let Import { from, level, path, name, place } = import;
        match imports::imported_library(self.program, *from, *level, path, name) {
            Some(path) => Value::of(Val::Library(path)),
            None => self
                .imported_member(*from, *level, path, name, *place)
                .unwrap_or_else(|path| Value::of(Val::Library(path))),
        }
    }

    fn bind_global(&mut self, module: ModuleIndex, name: &Name, value: Value) {
        self.caches.imported.remove(&(module, name.clone()));
        Arc::make_mut(&mut self.state.store.modules.or_default(module).globals).insert(name.clone(), value);
    }

    fn import_all(&mut self, frame: &mut Frame<'p>, level: u32, module: &Name) {
        let file = self.module(frame.module).file;
        if let Some(index) =
            self.program.resolver.module(file, level, module).and_then(|file| self.program.of_file(file))
        {
            self.ensure_module(index);
            let globals = self.state.store.modules.get(&index).map(|state| state.globals.clone()).unwrap_or_default();
            for (name, value) in globals.iter() {
                if !name.starts_with('_') {
                    self.set_global(frame.module, name, value);
                }
            }
        }
    }

    /// A name of a module of the program.
    pub fn module_member(&mut self, index: ModuleIndex, name: &Name, place: Place) -> Value {
        self.ensure_module(index);
        if let Some(value) = self.global(index, name) {
            let value = self.state.possible(&value);
            if !value.is_unbound() {
                return value;
            }
        }
        let file = self.module(index).file;
        if let Some(submodule) = self.program.resolver.module(file, 1, name).and_then(|file| self.program.of_file(file))
            && submodule != index
        {
            return Value::of(Val::Module(submodule));
        }
        let module = self.state.terms.int(i128::try_from(index).unwrap_or(0));
        let base = self.state.terms.intern(Term::Apply("<module>".into(), Box::new([module])));
        let attribute = self.state.terms.intern(Term::Attribute(base, name.clone(), 0));
        self.recorder.read(attribute, place);
        Value::term(attribute)
    }

    /// Runs the body of a module that has not run, without logging.
    pub fn ensure_module(&mut self, index: ModuleIndex) {
        self.ensure_module_with(index, MODULE_FUEL);
    }

    /// The same, with this fuel.
    pub fn ensure_module_with(&mut self, index: ModuleIndex, fuel: u32) {
        if self.state.store.modules.contains_key(&index) {
            return;
        }
        let fuel = std::mem::replace(&mut self.budget.fuel, fuel);
        let budget = self.state.paths.guards.renew();
        let exhausted = self.budget.exhausted.take();
        let (cut_off, limited) = (self.budget.cut_off.take(), self.budget.limited.take());
        let catching = std::mem::take(&mut *self.state.paths.catching.borrow_mut());
        let iteration = self.context.iteration.take();
        let lanes = std::mem::take(&mut self.transforms.lanes);
        let stack = std::mem::take(&mut self.context.stack);
        let pending = std::mem::take(&mut self.context.pending);
        let depth = std::mem::replace(&mut self.context.loop_depth, 0);
        self.transforms.abstract_depth += 1;
        paths::on_the_only_path(self, |this| this.run_module(index));
        self.transforms.abstract_depth -= 1;
        *self.state.paths.catching.borrow_mut() = catching;
        self.context.iteration = iteration;
        self.transforms.lanes = lanes;
        self.context.stack = stack;
        self.context.pending = pending;
        self.context.loop_depth = depth;
        self.budget.fuel = fuel;
        self.state.paths.guards.resume(budget);
        self.budget.exhausted = exhausted;
        (self.budget.cut_off, self.budget.limited) = (cut_off, limited);
    }

    /// Runs the body of a module.
    pub fn run_module(&mut self, index: ModuleIndex) {
        self.state.store.modules.insert(index, ModuleState { running: true, ..ModuleState::default() });
        let code = self.module(index).function(Module::BODY);
        let environment = call::new_environment(&mut self.state, Value::places(code.slots.len()), None);
        let activation = self.root_activation(index, Module::BODY, environment);
        self.run_frame(index, Module::BODY, environment, None, activation);
        if let Some(state) = self.state.store.modules.get_mut(&index) {
            state.running = false;
        }
    }

    pub fn load_global(&mut self, frame: &Frame<'p>, name: &Name, op: &Op) -> Value {
        let module = frame.module;
        if let Some(value) = self.global(module, name) {
            let value = self.state.possible(&value);
            if !value.is_unbound() {
                if let Some(Val::Library(path)) = value.single()
                    && self.program.models.mentions(path, self.program.roots)
                {
                    let (path, place) = (path.clone(), self.place(frame, op.span));
                    self.note_written_reference(frame, &path, Some(name.clone()), ReferenceKind::Value, place);
                }
                reads::note_global(self, frame, name, &value, op);
                return value;
            }
        }
        if let Some(path) = name_cache::builtin_path(self, name) {
            return Value::of(Val::Library(path));
        }
        let place = self.place(frame, op.span);
        let module_number = self.state.terms.int(i128::try_from(module).unwrap_or(0));
        let base = self.state.terms.intern(Term::Apply("<module>".into(), Box::new([module_number])));
        let term = self.state.terms.intern(Term::Attribute(base, name.clone(), 0));
        self.recorder.read(term, place);
        Value::term(term)
    }

    pub fn store_global(&mut self, frame: &Frame<'p>, name: &Name, value: &Value, op: &Op) {
        notes::note_global_store(self, frame, name, value, op);
        self.set_global(frame.module, name, value);
    }

    fn set_global(&mut self, module: ModuleIndex, name: &Name, value: &Value) {
        let old = self
            .state
            .store
            .modules
            .get(&module)
            .and_then(|state| state.globals.get(name))
            .cloned()
            .unwrap_or_default();
        let new = self.state.written_anywhere(value, &old);
        self.bind_global(module, name, new);
    }
}

/// The path of a module within a package, as in `from package import name`.
pub fn submodule(package: &Name, name: &Name) -> Name {
    if package.is_empty() { name.clone() } else { format!("{package}.{name}").into() }
}
