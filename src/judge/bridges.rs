//! Words of keys that are passed to code that expects raw keys: `f(jax.random.key_data(key))`.
//!
//! **Invariant:** read from the code alone, within one function. Converted words are still words; code that compares,
//! prints, saves or wraps them again is not a bridge. There is one fact for each place that takes words.

use std::collections::BTreeSet;

use crate::analysis::program::imported::ImportedNames;
use crate::finding::Place;
use crate::ir::{Argument, Function, FunctionId, FunctionKind, Module, OpKind, Temp, Variable};
use crate::judge::facts::{Facts, RawBridge};
use crate::models::{Effect, Runs, is_of_arrays};

/// The bridges of a function.
pub fn extract_bridges(names: &ImportedNames<'_>, id: FunctionId, facts: &mut Facts) {
    let module = names.module;
    let code = module.function(id);
    for (temp, op) in (0u32..).zip(&code.ops) {
        let OpKind::Call(callee, _) = &op.kind else { continue };
        let Some(path) = called(names, code, *callee) else { continue };
        let takes_words =
            names.models.callable(&path).is_some_and(|callable| matches!(callable.effect, Effect::KeyData { .. }));
        if takes_words && let Some((leaves_at, passed_to)) = leaves(names, code, temp) {
            facts.bridges.push(RawBridge {
                place: Place { file: module.file, span: op.span },
                callee: path,
                leaves_at: Place { file: module.file, span: leaves_at },
                passed_to,
                function: code.qualified.to_string(),
            });
        }
    }
}

/// The library function that a call calls, directly or for each lane: `jax.vmap(jax.random.key_data)(keys)`.
fn called<'a>(names: &ImportedNames<'a>, code: &'a Function, callee: Temp) -> Option<String> {
    match &code.ops.get(callee as usize)?.kind {
        OpKind::Load(_) | OpKind::Attribute(..) => names.path(code, callee),
        OpKind::Call(maps, arguments) => {
            let [Argument::Positional(function)] = &arguments[..] else { return None };
            let maps = names.path(code, *maps)?;
            let is_map = names.models.callable(&maps).is_some_and(|callable| match &callable.effect {
                Effect::Transform(transform) => transform.runs == Runs::Lanes,
                _ => false,
            });
            names.path(code, *function).filter(|_| is_map)
        }
        _ => None,
    }
}

/// Where the words leave the function, and what they are passed to there.
fn leaves<'a>(
    names: &ImportedNames<'a>,
    code: &'a Function,
    words: Temp,
) -> Option<(crate::text::Span, Option<String>)> {
    let mut temps: BTreeSet<Temp> = [words].into();
    let mut slots: BTreeSet<u32> = BTreeSet::new();
    for (temp, op) in (0u32..).zip(&code.ops).skip(words as usize + 1) {
        match &op.kind {
            OpKind::Store(Variable::Local(slot), value) if temps.contains(value) => {
                slots.insert(*slot);
            }
            // The name is bound to something else.
            OpKind::Store(Variable::Local(slot), _) => {
                slots.remove(slot);
            }
            OpKind::Load(Variable::Local(slot)) if slots.contains(slot) => {
                temps.insert(temp);
            }
            OpKind::Build(..) => {
                let mut holds = false;
                op.kind.operands(&mut |operand| holds |= temps.contains(&operand));
                if holds {
                    temps.insert(temp);
                }
            }
            OpKind::Return(Some(value)) if temps.contains(value) && is_public(names.module, code) => {
                return Some((op.span, None));
            }
            OpKind::Call(callee, arguments) => {
                let is_given = arguments.iter().any(|argument| match argument {
                    Argument::Positional(value)
                    | Argument::Keyword(_, value)
                    | Argument::Spread(value)
                    | Argument::SpreadMapping(value) => temps.contains(value),
                });
                if !is_given {
                    continue;
                }
                match sink(names, code, *callee) {
                    Sink::Conversion => {
                        temps.insert(temp);
                    }
                    Sink::End => {}
                    Sink::Boundary(name) => return Some((op.span, Some(name))),
                }
            }
            _ => {}
        }
    }
    None
}

/// What a call does with words.
enum Sink {
    /// It returns them in another form.
    Conversion,
    /// It uses them up.
    End,
    /// It may expect a raw key.
    Boundary(String),
}

fn sink<'a>(names: &ImportedNames<'a>, code: &'a Function, callee: Temp) -> Sink {
    let words = &names.models.words;
    let path = names.path(code, callee);
    let last = match code.ops.get(callee as usize).map(|op| &op.kind) {
        Some(OpKind::Attribute(_, name) | OpKind::Load(Variable::Global(name))) => name.to_string(),
        Some(OpKind::Load(Variable::Local(slot))) => {
            code.slots.get(*slot as usize).map(ToString::to_string).unwrap_or_default()
        }
        _ => String::new(),
    };
    if words.is_log(&last) || words.is_assertion(&last) || words.saves(&last) {
        return Sink::End;
    }
    let Some(path) = path else {
        return if last.is_empty() { Sink::End } else { Sink::Boundary(last) };
    };
    let callable = names.models.callable(&path);
    if let Some(callable) = callable {
        match &callable.effect {
            Effect::Wrap { .. } | Effect::KeyData { .. } => return Sink::End,
            _ if callable.host.is_some() => return Sink::End,
            _ => {}
        }
    }
    if path.split('.').any(|part| words.is_assertion(part) || words.saves(part)) || path.starts_with("builtins.") {
        return Sink::End;
    }
    let computes = callable.is_some_and(|callable| {
        use Effect::{Fabricate, Forward, Number, Pure, Shape, ShapeOf};
        matches!(
            callable.effect,
            Pure { .. } | Shape { .. } | Number { .. } | ShapeOf { .. } | Fabricate { .. } | Forward { .. }
        )
    });
    if computes || is_of_arrays(&path) { Sink::Conversion } else { Sink::Boundary(path) }
}

/// Whether a function is part of the module's public interface.
fn is_public(module: &Module, code: &Function) -> bool {
    let mut current = Some(code);
    while let Some(function) = current {
        match function.kind {
            FunctionKind::Def if function.name.starts_with('_') => return false,
            FunctionKind::Def | FunctionKind::ClassBody => {}
            FunctionKind::Module => return true,
            _ => return false,
        }
        current =
            function.parent.map(|parent| module.function(parent)).filter(|parent| parent.kind != FunctionKind::Def);
    }
    false
}
