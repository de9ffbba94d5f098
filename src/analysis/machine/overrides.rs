//! Methods that subclasses of a class implement.
//!
//! **Invariant:** only an instance from outside may be of a subclass of its known class, and its methods are all of one
//! class.

use std::ops::Range;
use std::sync::Arc;

use rustc_hash::{FxHashMap, FxHashSet};

use crate::analysis::domain::guard::Guard;
use crate::analysis::domain::marks::OVERRIDDEN;
use crate::analysis::domain::term::{Term, TermId};
use crate::analysis::domain::value::{ClassHandle, Closure, ModuleIndex, Val, Value};
use crate::analysis::machine::Machine;
use crate::analysis::store::heap::{ClassInfo, Shared};
use crate::ir::{ClassId, Name, Operator};

/// Most classes that an instance is assumed to belong to.
const MAX_SUBCLASSES: usize = 4;

/// Classes, each with a method of it.
pub type OverridingMethods = Arc<[(ClassHandle, Arc<Closure>)]>;

/// A class statement: each run of its module makes a new class.
pub type ClassStatement = (ModuleIndex, ClassId);

/// The classes that inherit from those that a class statement made: among those of the snapshot, and among the others.
#[derive(Clone, Default)]
pub struct Descendants {
    frozen: Arc<InheritanceIndex>,
    own: Arc<InheritanceIndex>,
    /// The modules that only their classes brought into the snapshot: these come last.
    unimported: Arc<[ModuleIndex]>,
}

/// The classes that inherit from each other, among some of a store.
#[derive(Default)]
struct InheritanceIndex {
    among: Range<usize>,
    of: FxHashMap<ClassStatement, Arc<[ClassHandle]>>,
    /// The statements that made those that inherit.
    statements: FxHashSet<ClassStatement>,
}

impl InheritanceIndex {
    /// The newest class comes first, those of modules that nothing imports last. A module that ran again made new classes; the last one
    /// counts.
    fn of(classes: &Shared<ClassInfo>, among: Range<usize>, unimported: &[ModuleIndex]) -> Self {
        let mut found: FxHashMap<ClassStatement, Vec<ClassHandle>> = FxHashMap::default();
        let mut statements = FxHashSet::default();
        for index in among.clone().rev() {
            let info = &classes[index];
            if info.bases.is_empty() || !statements.insert(statement(info)) {
                continue;
            }
            let heir = ClassHandle(u32::try_from(index).unwrap_or(u32::MAX));
            for of in info.lineage.iter() {
                let heirs = found.entry(statement(&classes[of.0 as usize])).or_default();
                if heirs.last() != Some(&heir) {
                    heirs.push(heir);
                }
            }
        }
        let is_unimported = |heir: &ClassHandle| unimported.contains(&classes[heir.0 as usize].module);
        let ordered = |mut heirs: Vec<ClassHandle>| {
            heirs.sort_by_key(is_unimported);
            heirs.into()
        };
        let of = found.into_iter().map(|(base, heirs)| (base, ordered(heirs))).collect();
        Self { among, of, statements }
    }
}

impl Descendants {
    /// Those of a store, all of whose classes are frozen.
    pub fn of(classes: &Shared<ClassInfo>, unimported: Arc<[ModuleIndex]>) -> Self {
        let frozen = Arc::new(InheritanceIndex::of(classes, 0..classes.frozen(), &unimported));
        Self { frozen, own: Arc::default(), unimported }
    }

    /// The classes that inherit from the one that a statement makes, the newest first.
    fn get(&mut self, classes: &Shared<ClassInfo>, base: ClassStatement) -> Arc<[ClassHandle]> {
        let (frozen, own) = (0..classes.frozen(), classes.frozen()..classes.len());
        if self.frozen.among != frozen {
            self.frozen = Arc::new(InheritanceIndex::of(classes, frozen, &self.unimported));
        }
        if self.own.among != own {
            self.own = Arc::new(InheritanceIndex::of(classes, own, &self.unimported));
        }
        let of = |descent: &InheritanceIndex| descent.of.get(&base).cloned().unwrap_or_default();
        let (frozen, own) = (of(&self.frozen), of(&self.own));
        let is_current = |heir: &&ClassHandle| !self.own.statements.contains(&statement(&classes[heir.0 as usize]));
        if own.is_empty() && frozen.iter().all(|heir| is_current(&heir)) {
            return frozen;
        }
        own.iter().chain(frozen.iter().filter(is_current)).copied().collect()
    }
}

/// What may run when a method of an instance is called: the method itself, or an override that treats keys differently.
pub fn possible(machine: &mut Machine<'_>, receiver: &Value, function: &Value) -> Option<Value> {
    let Some(Val::Function(closure)) = function.single() else { return None };
    let code = machine.module(closure.module).function(closure.function);
    if !code.is_stub && machine.program.relevance.of(closure.module, closure.function) {
        return None;
    }
    let (symbol, class) = instance_from_outside(machine, receiver)?;
    let heirs = heirs(machine, class, &code.name, closure);
    if heirs.is_empty() {
        return None;
    }
    let kind = machine.state.terms.intern(Term::Apply(OVERRIDDEN.into(), Box::new([symbol])));
    let mut rest = Guard::TRUE;
    let mut value = Value::unbound();
    for (heir, function) in heirs.iter() {
        let number = machine.state.terms.int(i128::from(heir.0));
        let is_heir = machine.state.terms.operate(Operator::Eq, &[kind, number]);
        let is_heir = machine.state.truth_of_term(is_heir);
        let guards = &mut machine.state.paths.guards;
        let taken = guards.and(rest, is_heir);
        value.push(guards, taken, Val::Function(function.clone()));
        rest = guards.without(rest, is_heir);
    }
    value.push(&mut machine.state.paths.guards, rest, Val::Function(closure.clone()));
    Some(value)
}

/// The symbol of an instance that a caller made, and its known class.
fn instance_from_outside(machine: &Machine<'_>, receiver: &Value) -> Option<(TermId, ClassHandle)> {
    let Some(Val::Object(id)) = receiver.single() else { return None };
    let object = &machine.state.store.objects[id.0 as usize];
    let is_from_outside =
        machine.state.terms.is_parameter(object.symbol) || machine.state.store.shadows.get(&object.symbol) == Some(id);
    object.class.filter(|_| is_from_outside).map(|class| (object.symbol, class))
}

/// The subclasses of `class` that override the method of this name and touch keys in it; each with the method.
fn heirs(machine: &mut Machine<'_>, class: ClassHandle, name: &Name, own: &Closure) -> OverridingMethods {
    let base = statement(&machine.state.store.classes[class.0 as usize]);
    if let Some(known) = machine.caches.heirs.get(&(base, name.clone())) {
        return known.clone();
    }
    let touches_keys = |machine: &Machine<'_>, method: &Closure| {
        machine.program.relevance.of(method.module, method.function)
            && !machine.module(method.module).function(method.function).is_stub
    };
    let mut found: Vec<(ClassHandle, Arc<Closure>)> = Vec::new();
    let heirs = machine.caches.descendants.get(&machine.state.store.classes, base);
    for &heir in heirs.iter() {
        let Some(method) = machine.state.class_attribute(heir, name) else { continue };
        let Some(Val::Function(method)) = method.single() else { continue };
        if (own.module, own.function) != (method.module, method.function) && touches_keys(machine, method) {
            found.push((heir, method.clone()));
        }
        if found.len() == MAX_SUBCLASSES {
            break;
        }
    }
    let found: OverridingMethods = found.into();
    machine.caches.heirs.insert((base, name.clone()), found.clone());
    found
}

fn statement(class: &ClassInfo) -> ClassStatement {
    (class.module, class.class)
}
