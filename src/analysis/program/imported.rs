//! What names denote according to the imports of their module alone, for code that is not run.
//!
//! **Invariant:** a result is the path of an import that the name is bound to, under the canonical root; a name that also has other
//! bindings may denote something else. Chains of names are followed through at most [`HOPS`] steps, [`STEPS`] in all. The stores of a
//! function are collected once.

use std::cell::{Cell, RefCell};
use std::rc::Rc;

use rustc_hash::FxHashMap;

use crate::ir::{Function, Module, OpKind, Temp, Variable};
use crate::models::Models;

/// Most steps from a name to its import.
const HOPS: u32 = 16;

/// Most steps of all chains that one query follows.
const STEPS: u32 = 1_024;

/// The values to which a function binds its variables.
type Stores<'a> = FxHashMap<&'a Variable, Rc<[Temp]>>;

/// Where names are looked up.
pub struct ImportedNames<'a> {
    /// The module.
    pub module: &'a Module,
    /// What libraries do.
    pub models: &'a Models,
    /// Further names of the library's root package.
    pub roots: &'a [String],
    /// The stores of functions, by the address of the function.
    stores: RefCell<FxHashMap<*const Function, Stores<'a>>>,
    /// Steps that are left for a query.
    left: Cell<u32>,
}

impl<'a> ImportedNames<'a> {
    /// The names of a module.
    pub fn of(module: &'a Module, models: &'a Models, roots: &'a [String]) -> Self {
        Self { module, models, roots, stores: RefCell::default(), left: Cell::new(0) }
    }

    /// The library path that a temp of a function denotes.
    pub fn path(&self, code: &'a Function, temp: Temp) -> Option<String> {
        self.left.set(STEPS);
        let path = self.found(code, temp, HOPS)?;
        Some(self.models.rooted(&path, self.roots).into_owned())
    }

    fn found(&self, code: &'a Function, temp: Temp, hops: u32) -> Option<String> {
        let hops = hops.checked_sub(1)?;
        self.left.set(self.left.get().checked_sub(1)?);
        match &code.ops.get(temp as usize)?.kind {
            OpKind::Import { path, whole: true } => Some(path.to_string()),
            OpKind::Import { path, whole: false } => path.split('.').next().map(str::to_owned),
            OpKind::ImportFrom { level: 0, module, name } => Some(format!("{module}.{name}")),
            OpKind::Attribute(of, name) => Some(format!("{}.{name}", self.found(code, *of, hops)?)),
            OpKind::Load(variable) => {
                let (home, values) = self.stored(code, variable)?;
                let mut paths = values.iter().map(|value| self.found(home, *value, hops));
                match (paths.find_map(|path| path), variable) {
                    (Some(path), _) => Some(path),
                    (None, Variable::Global(name)) if values.is_empty() => {
                        let path = format!("builtins.{name}");
                        self.models.is_modelled(&path).then_some(path)
                    }
                    _ => None,
                }
            }
            _ => None,
        }
    }

    /// The function that binds a variable, and what it binds it to.
    pub fn stored(&self, code: &'a Function, variable: &Variable) -> Option<(&'a Function, Rc<[Temp]>)> {
        let (home, target) = match variable {
            Variable::Local(slot) => (code, Variable::Local(*slot)),
            Variable::Outer(depth, slot) => {
                let home = (0..*depth).try_fold(code, |inner, _| inner.parent.map(|id| self.module.function(id)))?;
                (home, Variable::Local(*slot))
            }
            Variable::Global(_) => (self.module.function(Module::BODY), variable.clone()),
        };
        home.note_read();
        let mut known = self.stores.borrow_mut();
        let stores = known.entry(std::ptr::from_ref(home)).or_insert_with(|| stores(home));
        Some((home, stores.get(&target).cloned().unwrap_or_default()))
    }
}

/// What a function binds its variables to, in order.
fn stores(code: &Function) -> Stores<'_> {
    let mut found: FxHashMap<&Variable, Vec<Temp>> = FxHashMap::default();
    for op in &code.ops {
        if let OpKind::Store(variable, value) = &op.kind {
            found.entry(variable).or_default().push(*value);
        }
    }
    found.into_iter().map(|(variable, values)| (variable, values.into())).collect()
}
