//! Negative claims: what is never used, and callers' keys that are ignored.
//!
//! **Invariant:** these come from the definitions and uses of a whole body, not from the copies of it that ran.

use std::collections::BTreeSet;

use crate::analysis::program::names::is_of_another_kind;
use crate::analysis::record::{Activation, Consumption, Recording};
use crate::finding::{Confidence, Place};
use crate::ir::{
    Block, Function, FunctionId, FunctionKind, Name, OpKind, ParameterKind, ReachingDefinitions, Temp, Variable,
};
use crate::judge::derivation::seed_number;
use crate::judge::facts::{CallerKeyLoss, Discarded, Facts, IgnoredCaller, Role, UnusedChild};
use crate::judge::naming::leaf_use;
use crate::models::Effect;
use crate::text::FileId;

/// What becomes of the result of an operation.
enum ResultUse {
    /// Nothing reads it.
    Ignored,
    /// It is stored in a variable that nothing reads.
    Unread(Name),
    /// It is unpacked, and nothing reads these children.
    Children(Vec<Child>),
    /// It is used as a whole.
    Used,
}

/// A child of a split that is stored in a variable.
pub struct Child {
    /// The variable's name.
    pub name: Name,
    variable: Variable,
    /// The operation that stores it.
    store: Temp,
}

impl Child {
    /// The fact that rules read.
    pub fn fact(&self, run: &Recording<'_>, activation: &Activation) -> UnusedChild {
        let span = run.code(activation).ops[self.store as usize].span;
        let file = run.module(activation.module).file;
        UnusedChild { name: self.name.to_string(), bound_at: Place { file, span } }
    }

    /// Whether its variable holds it at a call in its function, on every path that leads there.
    pub fn is_held_at(&self, run: &Recording<'_>, activation: &Activation, call: Place) -> bool {
        let (module, id) = (activation.module, activation.function);
        let call = run.uses_of(module, id).call_at(call.span);
        call.is_some_and(|call| {
            let code = run.module(module).function(id);
            ReachingDefinitions::before(code, &self.variable, &[call], &|_| false).is_always(call, self.store)
        })
    }
}

/// `split` and `fold_in` results that go nowhere, and callers' keys that are ignored.
pub fn extract_unused(run: &Recording<'_>, facts: &mut Facts, file: FileId) {
    let mut seen = BTreeSet::new();
    for derivation in run.log.derivations.clone() {
        if derivation.place.file != file || !seen.insert(derivation.place) {
            continue;
        }
        let splits = run
            .program
            .models
            .callable(&derivation.callee)
            .is_some_and(|callable| matches!(callable.effect, Effect::Split { .. } | Effect::Fold { .. }));
        if !splits {
            continue;
        }
        let activation = &derivation.activation;
        let code = run.module(activation.module).function(activation.function);
        let function = code.qualified.to_string();
        let callee = derivation.callee.to_string();
        let discarded = |whole: bool, name: Option<String>| Discarded {
            place: derivation.place,
            callee: callee.clone(),
            whole,
            name,
            function: function.clone(),
        };
        match result_use_of(run, activation, derivation.place, &|variable, _| is_unread(run, activation, variable)) {
            Some(ResultUse::Ignored) => facts.discarded.push(discarded(true, None)),
            Some(ResultUse::Unread(name)) => facts.discarded.push(discarded(true, Some(name.to_string()))),
            Some(ResultUse::Children(unread)) => {
                for child in unread.iter().filter(|child| !child.name.starts_with('_')) {
                    facts.discarded.push(discarded(false, Some(child.name.to_string())));
                }
            }
            Some(ResultUse::Used) | None => {}
        }
    }
    extract_ignored(run, facts, file);
}

/// The children of the split at this place that nothing reads; `None` where that cannot be decided.
pub fn unread_children(run: &Recording<'_>, place: Place, activation: &Activation) -> Option<Vec<Child>> {
    match result_use_of(run, activation, place, &|variable, _| is_unread(run, activation, variable))? {
        ResultUse::Children(unread) => Some(unread.into_iter().filter(|child| !child.name.starts_with('_')).collect()),
        _ => None,
    }
}

/// The children of the split at this place that nothing reads before something else has their names; `None` where that cannot be decided.
/// Names such as `_unused` say that nothing should, but `_rng` does not. A function may read any value that a variable of
/// its module has.
pub fn dead_children(run: &Recording<'_>, place: Place, activation: &Activation) -> Option<Vec<Child>> {
    let (module, id) = (activation.module, activation.function);
    let (code, uses, words) = (run.module(module).function(id), run.uses_of(module, id), &run.program.models.words);
    let is_dead = |variable: &Variable, store: Temp| match variable {
        Variable::Local(slot) => {
            !is_read(run, module, id, *slot)
                || code.kind == FunctionKind::Def
                    && !uses.is_captured_from(run.module(module), code, (*slot, store))
                    && uses.reaching(code, variable).loads_of(store).is_empty()
        }
        Variable::Global(_) => {
            let others = run.module(module).functions.iter().filter(|function| function.kind != FunctionKind::Module);
            let mut loads = others.flat_map(|function| &*function.ops);
            code.kind == FunctionKind::Module
                && uses.reaching(code, variable).loads_of(store).is_empty()
                && !loads.any(|op| matches!(&op.kind, OpKind::Load(read) if read == variable))
        }
        Variable::Outer(..) => false,
    };
    match result_use_of(run, activation, place, &is_dead)? {
        ResultUse::Children(mut unread) => {
            unread.retain(|child| !child.name.starts_with('_') || words.names_a_key(&child.name));
            Some(unread)
        }
        _ => None,
    }
}

/// Whether a split makes a child that nothing reads: the next key, which the author forgot to store.
pub fn loses_next_key(run: &Recording<'_>, event: &Consumption) -> bool {
    event.role == Role::Split
        && dead_children(run, event.place, &event.activation).is_some_and(|children| !children.is_empty())
}

/// Whether nothing reads a variable of an activation's function.
fn is_unread(run: &Recording<'_>, activation: &Activation, variable: &Variable) -> bool {
    matches!(variable, Variable::Local(slot) if !is_read(run, activation.module, activation.function, *slot))
}

/// What becomes of the result of a split; `is_unread` decides whether nothing reads what an operation stores in a variable.
fn result_use_of(
    run: &Recording<'_>,
    activation: &Activation,
    place: Place,
    is_unread: &dyn Fn(&Variable, Temp) -> bool,
) -> Option<ResultUse> {
    let (module, id) = (activation.module, activation.function);
    let code = run.module(module).function(id);
    let uses = run.uses_of(module, id);
    match uses.readers(uses.call_at(place.span)?) {
        [] => Some(ResultUse::Ignored),
        [only] => match &code.ops[*only as usize].kind {
            OpKind::Store(variable @ Variable::Local(slot), _) => {
                if is_unread(variable, *only) {
                    Some(ResultUse::Unread(code.slots.get(*slot as usize)?.clone()))
                } else {
                    Some(ResultUse::Used)
                }
            }
            OpKind::Store(Variable::Global(name), _) if &**name == "_" => Some(ResultUse::Unread(name.clone())),
            OpKind::Unpack { star: None, .. } => {
                let mut unread = Vec::new();
                for part in uses.readers(*only) {
                    let [store] = uses.readers(*part) else { continue };
                    let OpKind::Store(variable, _) = &code.ops[*store as usize].kind else { continue };
                    let name = match variable {
                        Variable::Local(slot) => code.slots.get(*slot as usize)?,
                        Variable::Global(name) => name,
                        Variable::Outer(..) => continue,
                    };
                    if is_unread(variable, *store) {
                        unread.push(Child { name: name.clone(), variable: variable.clone(), store: *store });
                    }
                }
                Some(ResultUse::Children(unread))
            }
            _ => Some(ResultUse::Used),
        },
        _ => Some(ResultUse::Used),
    }
}

/// Whether any function reads (or deletes) a slot of this one. Variables of a module or class can be read from outside.
fn is_read(run: &Recording<'_>, module: usize, id: FunctionId, slot: u32) -> bool {
    let code = run.module(module).function(id);
    if matches!(code.kind, FunctionKind::Module | FunctionKind::ClassBody) {
        return true;
    }
    run.uses_of(module, id).reads_slot(slot)
}

/// Whether a function may read the value of a parameter: on some path it is read before it is overwritten.
fn may_be_read(run: &Recording<'_>, module: usize, id: FunctionId, slot: u32) -> bool {
    let code = run.module(module).function(id);
    match first_access(code, &code.body, slot) {
        Some(access) => access == Access::Read,
        None => is_read(run, module, id, slot),
    }
}

/// What happens first to a variable.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Access {
    Read,
    Written,
}

/// Whether a block may read a variable before it has certainly written it; `None` if it continues without either.
fn first_access(code: &Function, block: &Block, slot: u32) -> Option<Access> {
    let within = |block: &Block| first_access(code, block, slot);
    block.iter().find_map(|temp| match &code.ops[*temp as usize].kind {
        OpKind::Load(Variable::Local(read)) if *read == slot => Some(Access::Read),
        OpKind::Store(Variable::Local(written), _) if *written == slot => Some(Access::Written),
        OpKind::If { then, orelse, .. } => match (within(then), within(orelse)) {
            (Some(Access::Written), Some(Access::Written)) => Some(Access::Written),
            (one, other) => [one, other].contains(&Some(Access::Read)).then_some(Access::Read),
        },
        OpKind::Try { body, handlers, .. } if handlers.is_empty() => within(body),
        kind => kind.blocks().into_iter().any(|block| within(block) == Some(Access::Read)).then_some(Access::Read),
    })
}

/// A function that takes a key or seed, and draws from a constant one: it never reads the parameter, or it replaces the key on all paths.
fn extract_ignored(run: &Recording<'_>, facts: &mut Facts, file: FileId) {
    let words = &run.program.models.words;
    let mut seen = BTreeSet::new();
    for event in run.log.consumptions.clone() {
        if !matches!(event.role, Role::Sample | Role::Split) {
            continue;
        }
        let Some(derivation) = run.derivation(event.target.derivation).cloned() else { continue };
        let Some(number) = seed_number(run.terms, event.target.term) else { continue };
        if run.terms.as_int(number).is_none() || derivation.place.file != file {
            continue;
        }
        let activation = &derivation.activation;
        let code = run.module(activation.module).function(activation.function);
        if code.kind != FunctionKind::Def || event.activation.id != activation.id {
            continue;
        }
        let is_read = |slot: u32| may_be_read(run, activation.module, activation.function, slot);
        let lost = (0u32..).zip(&code.parameters).find_map(|(slot, parameter)| {
            let is_of_caller = words.names_a_key(&parameter.name)
                && !parameter.annotation.as_ref().is_some_and(|of| is_of_another_kind(words, of))
                && !matches!(parameter.kind, ParameterKind::Variadic | ParameterKind::Keywords);
            if !is_of_caller {
                None
            } else if !is_read(slot) {
                activation.root.then_some((parameter, CallerKeyLoss::Unread))
            } else {
                replaces(run, activation, slot, [derivation.place, event.place])
                    .then_some((parameter, CallerKeyLoss::Replaced))
            }
        });
        let Some((parameter, loss)) = lost else { continue };
        let heeds_another = || {
            let mut all = (0u32..).zip(&code.parameters);
            all.any(|(slot, parameter)| words.names_a_key(&parameter.name) && is_read(slot))
        };
        if loss == CallerKeyLoss::Unread && heeds_another() {
            continue;
        }
        if !seen.insert(derivation.place) {
            continue;
        }
        facts.ignored.push(IgnoredCaller {
            place: derivation.place,
            callee: derivation.callee.to_string(),
            parameter: parameter.name.to_string(),
            loss,
            declared_at: Place { file, span: parameter.span },
            used: leaf_use(run, &event),
            confidence: Confidence::Medium,
            function: code.qualified.to_string(),
        });
    }
}

/// Whether a function consumes the key in a parameter, then puts one that it makes at one place into it, on all paths, and splits that at another to
/// continue with a child: `rng = key(0)`, then `rng, sub = split(rng)`. A function that tests the parameter, or keeps its key under another name,
/// does so on purpose.
fn replaces(run: &Recording<'_>, activation: &Activation, slot: u32, [made, split]: [Place; 2]) -> bool {
    let (module, id) = (activation.module, activation.function);
    let (code, uses) = (run.module(module).function(id), run.uses_of(module, id));
    let kind = |temp: Temp| &code.ops[temp as usize].kind;
    let stores = |temp: &Temp| matches!(kind(*temp), OpKind::Store(Variable::Local(written), _) if *written == slot);
    let is_certain = |store: &Temp| uses.around(*store).next().is_none();
    let is_passed_on = |load: Temp| {
        uses.readers(load).iter().all(|reader| match kind(*reader) {
            OpKind::Call(callee, _) => *callee != load,
            kind => matches!(kind, OpKind::Build(..) | OpKind::Return(_)),
        })
    };
    let given = uses.reaching(code, &Variable::Local(slot));
    let is_given_to = |call: Temp| given.loads_of_parameter().iter().any(|load| uses.readers(*load).contains(&call));
    let is_consumed = run.log.consumptions.iter().any(|event| {
        (event.activation.module, event.activation.function) == (module, id)
            && uses.call_at(event.place.span).is_some_and(is_given_to)
    });
    let made = uses.call_at(made.span).and_then(|call| uses.readers(call).iter().find(|reader| stores(reader)));
    let parts = uses.call_at(split.span).map_or(&[][..], |call| uses.readers(call));
    let is_unpacked = |reader: &Temp| {
        let mut parts = uses.readers(*reader).iter();
        matches!(kind(*reader), OpKind::Unpack { .. }) && parts.any(|part| uses.readers(*part).iter().any(stores))
    };
    is_consumed
        && made.is_some_and(is_certain)
        && uses.loads_of(slot).iter().all(|load| is_passed_on(*load))
        && parts.iter().any(is_unpacked)
}
