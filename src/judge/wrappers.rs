//! Objects with `__jax_array__` around a key that are passed to library functions that do not convert them.
//!
//! **Invariant:** what may be registered somewhere in the project counts as registered: a registration that was not run is recognised by
//! the names alone.

use std::collections::BTreeSet;

use crate::analysis::domain::value::ClassHandle;
use crate::analysis::record::{LoggedWrapper, Recording};
use crate::finding::{Confidence, Place};
use crate::ir::{Argument, Function, Name, Op, OpKind, Temp, Variable};
use crate::judge::extract::is_expected_to_raise;
use crate::judge::facts::{Facts, WrappedKey, WrapperWay};
use crate::judge::paths::PathQueries;
use crate::models::Takes;
use crate::text::FileId;

/// Most calls around a place that are searched.
const STEPS: usize = 12;

/// The objects that are passed to functions that reject them.
pub fn extract_wrapped_keys(run: &Recording<'_>, paths: &PathQueries<'_>, facts: &mut Facts, file: FileId) {
    let mut seen = BTreeSet::new();
    for wrapper in &run.log.wrappers {
        let models = run.program.models;
        let Some(row) = models.array_object(&wrapper.callee) else { continue };
        let Some(place) = place_in(wrapper, file) else { continue };
        let is_crossing = wrapper.way != WrapperWay::Handed;
        if !seen.insert((place, is_crossing)) || is_expected_to_raise(run, paths, wrapper.guard) {
            continue;
        }
        if row.takes == Takes::Registered && is_registered(run, wrapper.class) {
            continue;
        }
        let info = &run.classes[wrapper.class.0 as usize];
        let module = run.module(info.module);
        let class = module.class(info.class);
        facts.wrapped.push(WrappedKey {
            way: wrapper.way,
            place,
            leaf: wrapper.place,
            callee: wrapper.callee.to_string(),
            class: class.name.to_string(),
            class_at: (!run.program.is_prelude(info.module)).then_some(Place { file: module.file, span: class.span }),
            method: method_of(run, wrapper.class),
            written: wrapper.written.as_ref().filter(|_| place == wrapper.place).map(ToString::to_string),
            since: row.since,
            warns: row.warns,
            confidence: Confidence::High,
            function: run.qualified(&wrapper.activation),
        });
    }
}

/// The place in a file that passes the object: the call itself, or one that leads to it.
fn place_in(wrapper: &LoggedWrapper, file: FileId) -> Option<Place> {
    let mut step = (wrapper.activation.clone(), wrapper.place);
    for _ in 0..STEPS {
        if step.1.file == file {
            return Some(step.1);
        }
        let caller = step.0.caller.clone();
        step = caller?;
    }
    None
}

/// The name of the method that converts instances of a class to arrays.
fn method_of(run: &Recording<'_>, class: ClassHandle) -> String {
    let says = |name: &&Name| run.program.models.is_array_protocol(name, run.program.roots);
    let lineage = run.lineage(class);
    let mut names = lineage.iter().filter_map(|class| {
        let attributes = &run.classes[class.0 as usize].attributes;
        attributes.keys().find(says).map(ToString::to_string)
    });
    names.next().unwrap_or_default()
}

/// Whether a class is registered as a pytree, by code that ran or anywhere else in the project: its name is passed to a registering
/// function, or one of its methods calls one.
fn is_registered(run: &Recording<'_>, class: ClassHandle) -> bool {
    let lineage = run.lineage(class);
    let infos = || lineage.iter().map(|class| &run.classes[class.0 as usize]);
    if run.classes[class.0 as usize].is_pytree() {
        return true;
    }
    let functions = || run.program.modules().iter().flat_map(|module| &module.functions);
    let mut registering: BTreeSet<&str> = run.program.models.registering().collect();
    // Functions of the project that register their argument.
    let helpers: Vec<&str> =
        functions().filter(|code| calls(code, &registering, None)).map(|code| &*code.name).collect();
    registering.extend(helpers);
    let info = &run.classes[class.0 as usize];
    let name = &run.module(info.module).class(info.class).name;
    functions().any(|code| calls(code, &registering, Some(name)))
        || infos().any(|info| {
            let mut methods = run.module(info.module).functions.iter().filter(|code| code.class == Some(info.class));
            methods.any(|code| calls(code, &registering, None))
        })
}

/// Whether a function calls one of these names, with an argument of this name.
fn calls(code: &Function, names: &BTreeSet<&str>, given: Option<&Name>) -> bool {
    let ops = &*code.ops.read();
    let is_given = |argument: &Argument| match argument {
        Argument::Positional(value) | Argument::Keyword(_, value) => last_name(code, ops, *value) == given,
        Argument::Spread(_) | Argument::SpreadMapping(_) => false,
    };
    ops.iter().any(|op| match &op.kind {
        OpKind::Call(callee, arguments) => {
            last_name(code, ops, *callee).is_some_and(|callee| names.contains(&**callee))
                && (given.is_none() || arguments.iter().any(is_given))
        }
        _ => false,
    })
}

/// The last name that an operation loads.
fn last_name<'a>(code: &'a Function, ops: &'a [Op], temp: Temp) -> Option<&'a Name> {
    match &ops.get(temp as usize)?.kind {
        OpKind::Attribute(_, name) | OpKind::Load(Variable::Global(name)) => Some(name),
        OpKind::Load(Variable::Local(slot)) => code.slots.get(*slot as usize),
        _ => None,
    }
}
