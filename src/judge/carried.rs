//! Consumed keys that are returned or stored, so that somebody uses them again.
//!
//! **Invariant:** a key that is reported as used again is not reported as carried on.

use std::collections::BTreeSet;

use crate::analysis::domain::term::{Term, TermId};
use crate::analysis::record::{Consumption, LoggedExit, Recording};
use crate::finding::Confidence;
use crate::ir::{Argument, Constant, Element, FunctionId, FunctionKind, OpKind, Temp};
use crate::judge::callee_model::model_of;
use crate::judge::derivation::derivation;
use crate::judge::facts::{CarriedKey, CarryKind, Facts, Role};
use crate::judge::paths::PathQueries;
use crate::judge::reuse::{Reuses, returns_what_it_draws, use_at};
use crate::judge::stale::is_constructor;
use crate::judge::traced::is_initialiser;
use crate::judge::unused::loses_next_key;
use crate::models::Effect;
use crate::text::FileId;

/// Consumed keys that are returned or stored.
pub fn extract_exits(
    run: &Recording<'_>,
    paths: &mut PathQueries<'_>,
    reuses: &Reuses,
    facts: &mut Facts,
    file: FileId,
) {
    let (mut seen, mut records) = (BTreeSet::new(), BTreeSet::new());
    for exit in run.log.exits.clone() {
        let code = run.module(exit.activation.module).function(exit.activation.function);
        if exit.place.file != file
            || run.replays.contains(&(exit.activation.module, exit.activation.function))
            || code.kind == FunctionKind::Lambda
        {
            continue;
        }
        let consumed = run.log.consumptions[..exit.after.min(run.log.consumptions.len())]
            .iter()
            .find(|event| {
                event.target.covers(run.terms, exit.term)
                    && event.chain()[0].0.id == exit.activation.id
                    && match event.role {
                        Role::Sample | Role::Split => true,
                        // A function derives keys from the field, so the key is one, and is used again.
                        Role::Protocol | Role::Unresolved => is_used(run, event) && is_field_of_a_key(run, &exit),
                        Role::Fold | Role::Library => false,
                    }
            })
            .cloned();
        // A key that is reported as used again is not also reported as carried on.
        let is_reported =
            |event: &Consumption| reuses.all.iter().any(|reuse| run.log.consumptions[reuse.first].place == event.place);
        let is_consequence = run.terms.ancestors(exit.term).iter().any(|ancestor| reuses.keys.contains(ancestor));
        let Some(event) = consumed.filter(|event| !is_reported(event) && !is_consequence) else { continue };
        let both = paths.and(event.guard, exit.guard);
        // A record that is stored again is reported where it is stored first.
        let is_stored_again = exit.kind == CarryKind::Stored && exit.name.is_none() && !records.insert(exit.term);
        if !paths.feasible(both) || is_stored_again || !seen.insert(exit.place) {
            continue;
        }
        let is_held = matches!(exit.kind, CarryKind::Held | CarryKind::Copied);
        if exit.kind == CarryKind::Copied && is_selected(run, &event) {
            continue;
        }
        // An object that returns itself may be given its next key by another method, and one that is only set up is not advanced.
        let is_setup = || run.program.models.words.names_a_construction(&run.code(&exit.activation).name);
        let is_not_advanced = is_of_self(run, &exit) && (exit.kind == CarryKind::Held || is_setup());
        let is_replaced = || !loses_next_key(run, &event) && is_replaced_elsewhere(run, &exit);
        let is_doubtful = is_held && (is_not_advanced || is_replaced());
        let chain = event.chain();
        facts.carried.push(CarriedKey {
            kind: exit.kind,
            place: exit.place,
            used: use_at(run, &event, &chain, 0),
            derivation: derivation(run.terms, exit.term),
            confidence: if is_doubtful { Confidence::Low } else { Confidence::Medium },
            function: run.qualified(&exit.activation),
        });
    }
}

/// Whether a call of unknown code probably draws from its key: the program reads what it returns. What initialises a network may only read shapes.
fn is_used(run: &Recording<'_>, event: &Consumption) -> bool {
    match event.role {
        Role::Protocol => !is_initialiser(run, event),
        _ => returns_what_it_draws(run, event),
    }
}

/// Whether a record is returned, and another function of the module splits the field that holds the key.
fn is_field_of_a_key(run: &Recording<'_>, exit: &LoggedExit) -> bool {
    let Some(field) = exit.name.as_ref().filter(|_| exit.kind == CarryKind::Returned) else { return false };
    let module = run.module(run.home);
    let functions = (0u32..).map(FunctionId).zip(&module.functions);
    let mut others = functions.filter(|(id, _)| *id != exit.activation.function);
    others.any(|(id, code)| {
        let splits = |call: &Temp, key: Temp| match &code.ops[*call as usize].kind {
            OpKind::Call(callee, arguments) => {
                let model = model_of(run, run.home, code, *callee);
                let is_split = model.is_some_and(|callable| matches!(callable.effect, Effect::Split { .. }));
                is_split && arguments.iter().any(|argument| argument.value() == key)
            }
            _ => false,
        };
        let reads =
            (0u32..).zip(&code.ops).filter(|(_, op)| matches!(&op.kind, OpKind::Attribute(_, name) if name == field));
        reads.into_iter().any(|(read, _)| run.uses_of(run.home, id).readers(read).iter().any(|call| splits(call, read)))
    })
}

/// Whether each call takes the child of a split that a number of the state selects, `split(state.key, n)[state.step]`: the key is the same in all
/// calls, and the child is not if the number changes.
fn is_selected(run: &Recording<'_>, split: &Consumption) -> bool {
    let state = run.terms.root(split.target.term);
    let is_of_state =
        |index: TermId| matches!(run.terms.get(index), Term::Attribute(of, ..) if run.terms.root(*of) == state);
    let mut children = run.log.consumptions.iter().filter_map(|event| match run.terms.get(event.target.term) {
        Term::Child(parent, index) if *parent == split.target.term => Some(*index),
        _ => None,
    });
    split.role == Role::Split && children.next().is_some_and(is_of_state) && children.all(is_of_state)
}

/// Whether a key is held by the object whose method returns it.
fn is_of_self(run: &Recording<'_>, exit: &LoggedExit) -> bool {
    let code = run.code(&exit.activation);
    let owner = run.terms.symbol(run.terms.root(exit.term));
    code.class.is_some() && owner.is_some_and(|of| code.parameters.first().is_some_and(|first| *first.name == *of.text))
}

/// Whether another function of the module sets the field of a key in something that exists, `state.replace(key=key)`: the key may be advanced
/// there, once for several draws. A class that is called makes the first key.
fn is_replaced_elsewhere(run: &Recording<'_>, exit: &LoggedExit) -> bool {
    let field = match run.terms.get(exit.term) {
        Term::Attribute(_, field, _) => field,
        Term::Item(_, index, _) => match run.terms.get(*index) {
            Term::Text(field) => field,
            _ => return false,
        },
        _ => return false,
    };
    let own = exit.activation.function;
    let functions = (0u32..).zip(&run.module(run.home).functions);
    let mut others = functions.filter(|(id, _)| FunctionId(*id) != own).map(|(_, code)| code);
    others.any(|code| {
        let is_field = |temp: Temp| matches!(&code.ops[temp as usize].kind, OpKind::Constant(Constant::Str(name)) if **name == **field);
        code.ops.iter().any(|op| match &op.kind {
            OpKind::StoreAttribute(_, name, _) => name == field && !is_constructor(&code.name),
            OpKind::StoreItem(_, index, _) => is_field(*index),
            // A dict that takes over another and replaces this entry.
            OpKind::Build(_, elements) => {
                elements.iter().any(|element| matches!(element, Element::SpreadMapping(_)))
                    && elements.iter().any(|element| matches!(element, Element::Pair(key, _) if is_field(*key)))
            }
            OpKind::Call(callee, arguments) => {
                matches!(code.ops[*callee as usize].kind, OpKind::Attribute(..))
                    && arguments.iter().any(|argument| matches!(argument, Argument::Keyword(name, _) if name == field))
            }
            _ => false,
        })
    })
}

/// Keys that a method returns and also keeps in the attribute from which its next call derives: `self.key = split(self.key)[0]; return
/// self.key`.
pub fn extract_kept(run: &Recording<'_>, paths: &mut PathQueries<'_>, facts: &mut Facts, file: FileId) {
    let exits = &run.log.exits;
    let returned = exits.iter().filter(|exit| exit.kind == CarryKind::Returned && exit.place.file == file);
    for exit in returned.filter(|exit| exit.activation.caller.is_none() && returns_one_value(run, exit)) {
        let is_kept = |other: &&LoggedExit| {
            other.kind == CarryKind::Stored && other.term == exit.term && other.activation.id == exit.activation.id
        };
        let ancestors = run.terms.ancestors(exit.term);
        // The next call makes anew what this one has made.
        let is_older = |term: TermId| {
            let root = run.terms.root(term);
            run.terms.is_parameter(root) || root < exit.activation.born
        };
        for stored in exits.iter().filter(is_kept) {
            let name = stored.name.as_deref().and_then(|written| written.rsplit_once('.')).map(|(_, name)| name);
            let is_next = |event: &&Consumption| {
                event.role == Role::Split
                    && event.activation.id == exit.activation.id
                    && ancestors.contains(&event.target.term)
                    && matches!(run.terms.get(event.target.term), Term::Attribute(_, of, _) if Some(&**of) == name)
                    && is_older(event.target.term)
            };
            let Some(event) = run.log.consumptions.iter().find(is_next) else { continue };
            let both = paths.and(exit.guard, stored.guard);
            if !paths.feasible(both) {
                continue;
            }
            facts.carried.push(CarriedKey {
                kind: CarryKind::Kept,
                place: exit.place,
                used: use_at(run, event, &event.chain(), 0),
                derivation: derivation(run.terms, exit.term),
                confidence: Confidence::Medium,
                function: run.qualified(&exit.activation),
            });
        }
    }
}

/// Whether the returned value is a single value, by its name: a record of the whole state is not a key to draw from.
fn returns_one_value(run: &Recording<'_>, exit: &LoggedExit) -> bool {
    let code = run.code(&exit.activation);
    code.ops.iter().filter(|op| op.span == exit.place.span).any(|op| match &op.kind {
        OpKind::Return(Some(value)) => {
            matches!(code.ops[*value as usize].kind, OpKind::Load(_) | OpKind::Attribute(..) | OpKind::Item(..))
        }
        _ => false,
    })
}
