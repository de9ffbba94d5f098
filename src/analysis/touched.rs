//! Which analyses of a module an edit within some of its functions can change.
//!
//! A repair is tried by analysing the patched text. Most edits stand in one function, and only those that run it say something
//! else than before: it is enough to hold these against what they said.
//!
//! **Invariant:** names over-approximate, within the module: who mentions the name of a function that is touched, as a global or as an
//! attribute, may run it and is touched. Where a function may be run without being named (by the module's body, by the constructor of
//! its class, by an operator), everything is. With a method, those that store attributes are touched.

use rustc_hash::FxHashSet;

use crate::ir::{Function, FunctionId, FunctionKind, Module, Name, OpKind, Variable};
use crate::text::Span;

use super::interp::is_entry;

/// Methods that run when an object is made, beside those that Python calls by itself.
const HOOKS: &[&str] = &["setup"];

/// The functions of a module, of those that are analysed on their own, whose analysis may change when the text at these places does;
/// `None` where that may be any.
pub fn touched(module: &Module, edits: &[Span]) -> Option<Vec<FunctionId>> {
    let owners = owners(module);
    let mut found: FxHashSet<FunctionId> = FxHashSet::default();
    for edit in edits {
        found.insert(edited(module, *edit)?);
    }
    let mut names: FxHashSet<&Name> = FxHashSet::default();
    for id in &found {
        names.insert(called_by_name(module.function(*id))?);
    }
    // Each round adds a function, or is the last.
    for _ in 0..=module.functions.len() {
        let before = found.len();
        for (function, owner) in module.functions.iter().zip(&owners) {
            if owner.is_some_and(|owner| found.contains(&owner)) || !mentions(function, &names) {
                continue;
            }
            let owner = (*owner)?;
            found.insert(owner);
            names.insert(called_by_name(module.function(owner))?);
        }
        if found.len() == before {
            break;
        }
    }
    if found.iter().any(|id| module.function(*id).class.is_some()) {
        found.extend(storing(module, &owners));
    }
    let mut found: Vec<FunctionId> = found.into_iter().collect();
    found.sort_unstable();
    Some(found)
}

/// The methods that store attributes: what is said of a stored key depends on who replaces it.
fn storing<'a>(module: &'a Module, owners: &'a [Option<FunctionId>]) -> impl Iterator<Item = FunctionId> + 'a {
    let stores = |function: &&Function| function.ops.iter().any(|op| matches!(op.kind, OpKind::StoreAttribute(..)));
    let owned = module.functions.iter().zip(owners).filter(move |(function, _)| stores(function));
    owned.filter_map(|(_, owner)| *owner).filter(|owner| module.function(*owner).class.is_some())
}

/// For each function, the one around it, or it itself, that is analysed on its own.
fn owners(module: &Module) -> Vec<Option<FunctionId>> {
    let mut owners: Vec<Option<FunctionId>> = Vec::with_capacity(module.functions.len());
    for (number, function) in (0u32..).zip(&module.functions) {
        // Functions follow the one that they are defined in.
        let around = function.parent.and_then(|parent| owners.get(parent.0 as usize).copied()).flatten();
        let own = is_entry(module, function).then_some(FunctionId(number));
        owners.push(own.or(around));
    }
    owners
}

/// The function that is analysed on its own in whose body, and not in whose head, an edit stands.
fn edited(module: &Module, edit: Span) -> Option<FunctionId> {
    let holds = |function: &Function| function.full.start < edit.start && edit.end <= function.full.end;
    let all = (0u32..).map(FunctionId).zip(&module.functions);
    let (id, function) = all.filter(|(_, function)| is_entry(module, function) && holds(function)).last()?;
    let defaults = function.parent.map(|parent| module.function(parent)).into_iter().flat_map(|parent| {
        let of_this = parent.ops.iter().filter_map(move |op| match &op.kind {
            OpKind::Function(made, defaults) if *made == id => Some(defaults),
            _ => None,
        });
        of_this.flatten().filter_map(|(_, temp)| parent.ops.get(*temp as usize)).map(|op| op.span.end)
    });
    let parameters = function.parameters.iter().map(|parameter| parameter.span.end);
    let head = defaults.chain(parameters).fold(function.span.end, u32::max);
    (edit.start > head).then_some(id)
}

/// The name by which alone a function is run.
fn called_by_name(function: &Function) -> Option<&Name> {
    let is_implicit = function.name.starts_with("__") && function.name.ends_with("__");
    (!is_implicit && !HOOKS.contains(&&*function.name)).then_some(&function.name)
}

/// Whether a function mentions one of these names otherwise than by defining it.
fn mentions(function: &Function, names: &FxHashSet<&Name>) -> bool {
    function.ops.iter().any(|op| match &op.kind {
        OpKind::Load(Variable::Global(name)) | OpKind::Attribute(_, name) => names.contains(name),
        OpKind::Load(Variable::Local(slot)) if function.kind == FunctionKind::ClassBody => {
            function.slots.get(*slot as usize).is_some_and(|name| names.contains(name))
        }
        _ => false,
    })
}
