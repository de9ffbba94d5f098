//! Definite assignment: a fix reads no variable that may be unbound there.
//!
//! `if flag: key, sub = split(key)` leaves `sub` unbound on one path. Every fix is checked after its edits, whichever
//! generator proposed it: the reads that it adds, and the remaining reads of variables whose binding it removed.
//!
//! **Invariant:** a variable that another function than its owner binds may be bound at any time, and counts as bound.

use std::collections::BTreeSet;

use rustc_hash::FxHashMap;

use super::context::FixContext;
use super::managers;
use crate::ir::{Block, Function, FunctionId, FunctionKind, Module, Name, OpKind, ReachingDefinitions, Temp, Variable};
use crate::text::{Edit, Span, moved, written};

/// Whether the file reads a variable after edits that may be unbound there, on a path that read it bound, or did not read it, before.
pub fn reads_unbound(cx: &FixContext<'_>, after: &Module, edits: &[Edit]) -> bool {
    is_worse(cx.ir(), after, edits, &managers::swallowing(cx))
}

/// Whether `after`, the module after the edits, reads a variable that may be unbound and `before` did not. The context managers named in
/// `swallowing` stop exceptions.
pub fn is_worse(before: &Module, after: &Module, edits: &[Edit], swallowing: &BTreeSet<String>) -> bool {
    let texts: Vec<Span> = edits.iter().filter_map(|edit| written(edit, edits)).collect();
    let taken: Vec<Span> = edits.iter().map(|edit| edit.span).filter(|span| !span.is_empty()).collect();
    let (mut names, removed) = names_within(before, &taken);
    names.extend(names_within(after, &texts).0);
    let known = unbound_reads(before, &names, &removed, swallowing);
    let is_known = |read: &Read| {
        known.iter().any(|other| {
            let is_edited = edits.iter().any(|edit| edit.span.contains(other.start));
            let is_itself = !is_edited && moved(other.start, edits) == read.start;
            // A read that replaces another is no worse than that one, unless it is before a branch that encloses it.
            let is_as_deep = || other.around.iter().all(|start| read.around.contains(&moved(*start, edits)));
            let is_of_one_function = || read.is_deferred && other.is_deferred && read.function == other.function;
            read.name == other.name && (is_itself || is_edited && is_as_deep() || is_of_one_function())
        })
    };
    !unbound_reads(after, &names, &removed, swallowing).iter().all(is_known)
}

/// A read of a variable that may be unbound there.
struct Read {
    name: Name,
    /// Where it starts.
    start: u32,
    /// The qualified name of the function that reads.
    function: Name,
    /// Where the branches, loops and `try` statements around it start.
    around: Vec<u32>,
    /// Whether the function runs later than it is created.
    is_deferred: bool,
}

/// The names that are read, bound or deleted within some spans, and those that are bound.
fn names_within(module: &Module, spans: &[Span]) -> (BTreeSet<Name>, BTreeSet<Name>) {
    let (mut names, mut bound) = (BTreeSet::new(), BTreeSet::new());
    for (id, function) in functions(module) {
        for op in &function.ops {
            let (OpKind::Load(variable) | OpKind::Store(variable, _) | OpKind::Delete(variable)) = &op.kind else {
                continue;
            };
            if spans.iter().any(|span| span.start < op.span.end && op.span.start < span.end) {
                let name = owner_of(module, id, variable).map(|(_, _, name)| name);
                bound.extend(name.clone().filter(|_| matches!(op.kind, OpKind::Store(..))));
                names.extend(name);
            }
        }
    }
    (names, bound)
}

fn functions(module: &Module) -> impl Iterator<Item = (FunctionId, &Function)> {
    (0u32..).map(FunctionId).zip(&module.functions)
}

/// The function whose variable a function means, the variable as that function itself writes it, and its name.
fn owner_of(module: &Module, id: FunctionId, variable: &Variable) -> Option<(FunctionId, Variable, Name)> {
    let (owner, slot) = match variable {
        Variable::Global(name) => return Some((Module::BODY, variable.clone(), name.clone())),
        Variable::Local(slot) => (id, *slot),
        Variable::Outer(depth, slot) => ((0..*depth).try_fold(id, |at, _| module.function(at).parent)?, *slot),
    };
    let function = module.function(owner);
    let name = function.slots.get(slot as usize).filter(|_| slot < function.named)?;
    Some((owner, Variable::Local(slot), name.clone()))
}

/// The reads of variables of these names that may find them unbound. A global that nothing binds is a builtin or comes from `import *`,
/// unless it is one of those whose binding was `removed`.
fn unbound_reads(
    module: &Module,
    names: &BTreeSet<Name>,
    removed: &BTreeSet<Name>,
    swallowing: &BTreeSet<String>,
) -> Vec<Read> {
    let makers = makers(module);
    // For each variable, the operations of its owner at which it is read, there or in a function that is created there.
    let mut reads: FxHashMap<(FunctionId, Variable), Vec<(Temp, Read)>> = FxHashMap::default();
    let mut bound_by_others: BTreeSet<(FunctionId, Name)> = BTreeSet::new();
    let mut bound: BTreeSet<(FunctionId, Name)> = BTreeSet::new();
    for (id, function) in functions(module) {
        visit(function, &function.body, &mut Vec::new(), &mut |temp, around| {
            let op = &function.ops[temp as usize];
            match &op.kind {
                OpKind::Load(variable) => {
                    let Some((owner, own, name)) = owner_of(module, id, variable) else { return };
                    // A class body that has not bound a name reads the global.
                    let is_class = module.function(owner).kind == FunctionKind::ClassBody;
                    let place = if owner == id { Some((temp, false)) } else { made_at(module, &makers, id, owner) };
                    let Some((at, is_deferred)) = place.filter(|_| names.contains(&name) && !is_class) else { return };
                    let (start, around) = (op.span.start, around.to_vec());
                    let read = Read { name, start, function: function.qualified.clone(), around, is_deferred };
                    reads.entry((owner, own)).or_default().push((at, read));
                }
                OpKind::Store(variable, _) => {
                    let Some((owner, _, name)) = owner_of(module, id, variable) else { return };
                    let of = if owner == id { &mut bound } else { &mut bound_by_others };
                    of.insert((owner, name));
                }
                _ => {}
            }
        });
    }
    let mut found = Vec::new();
    for ((owner, variable), reads) in reads {
        let Some((_, first)) = reads.first() else { continue };
        let of = (owner, first.name.clone());
        let is_unknown = owner == Module::BODY && !bound.contains(&of) && !removed.contains(&of.1);
        if bound_by_others.contains(&of) || is_unknown {
            continue;
        }
        let places: Vec<Temp> = reads.iter().map(|(at, _)| *at).collect();
        let function = module.function(owner);
        let swallows =
            |manager: Temp| managers::callee(function, manager).is_some_and(|name| swallowing.contains(&name));
        let holds = ReachingDefinitions::before(function, &variable, &places, &swallows);
        // A function of the module may run after the module has run, or before.
        let is_late = |read: &Read| read.is_deferred && owner == Module::BODY && !holds.may_be_unbound_at_the_end();
        found.extend(
            reads.into_iter().filter(|(at, read)| holds.may_be_unbound(*at) && !is_late(read)).map(|(_, read)| read),
        );
    }
    found
}

/// Calls a function with each operation of a block, and the places where the enclosing operations start.
fn visit(function: &Function, block: &Block, around: &mut Vec<u32>, see: &mut impl FnMut(Temp, &[u32])) {
    for temp in block {
        see(*temp, around);
        let op = &function.ops[*temp as usize];
        around.push(op.span.start);
        for inner in op.kind.blocks() {
            visit(function, inner, around, see);
        }
        around.pop();
    }
}

/// For each function, the operation that creates it, in another function.
fn makers(module: &Module) -> FxHashMap<FunctionId, (FunctionId, Temp)> {
    let mut makers = FxHashMap::default();
    for (id, function) in functions(module) {
        for (temp, op) in (0u32..).zip(&function.ops) {
            let made = match &op.kind {
                OpKind::Function(made, _) => *made,
                OpKind::Class(class, _) => module.class(*class).body,
                _ => continue,
            };
            makers.insert(made, (id, temp));
        }
    }
    makers
}

/// The operation of `owner` that creates a function, or one around it, and whether the function runs later.
fn made_at(
    module: &Module,
    makers: &FxHashMap<FunctionId, (FunctionId, Temp)>,
    id: FunctionId,
    owner: FunctionId,
) -> Option<(Temp, bool)> {
    let mut is_deferred = false;
    let mut at = id;
    loop {
        is_deferred |= matches!(module.function(at).kind, FunctionKind::Def | FunctionKind::Lambda);
        let (maker, temp) = *makers.get(&at)?;
        if maker == owner {
            return Some((temp, is_deferred));
        }
        at = maker;
    }
}
