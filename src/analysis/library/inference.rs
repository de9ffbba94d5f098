//! Modules that a flag makes deterministic: `eqx.nn.inference_mode(model)`, `Dropout(0.1, inference=True)`, `make_policy(params, deterministic=True)`.
//!
//! **Invariant:** of a module whose class is seen, only parts that draw by a flag stop drawing: what its methods draw themselves is still seen. A
//! module of an unknown class is assumed to draw by flags only.

use std::collections::BTreeMap;
use std::sync::Arc;

use crate::analysis::domain::size::Walk;
use crate::analysis::domain::term::Term;
use crate::analysis::domain::value::{Val, Value, Wrapped};
use crate::analysis::machine::Machine;
use crate::analysis::store::args::{Arg, Args};
use crate::analysis::store::heap::{Entry, Item, ObjectKind};
use crate::analysis::store::{State, paths};
use crate::finding::Place;
use crate::ir::Name;
use crate::models::{Callable, Effect};

/// The parameter that is false where the parts are to draw again.
const VALUE: &str = "value";

/// Deepest module within modules that is switched.
pub const DEPTH: u32 = 6;

/// Whether a call, or the callee as it was made, sets a flag with which the call draws nothing.
pub fn draws_nothing(state: &State, callable: &Callable, flags: &BTreeMap<String, bool>, args: &Args) -> bool {
    flags.iter().any(|(name, wanted)| {
        let given = args.of(callable, name).or_else(|| args.keyword(name));
        given.is_some_and(|given| is_bool(state, &given.value, *wanted))
    })
}

/// Whether a call sets a flag with which modules of some library draw nothing: what it makes draws nothing when it is called.
pub fn makes_quiet(machine: &Machine<'_>, args: &Args) -> bool {
    let flags = &machine.program.models.quiet_flags;
    args.keywords
        .iter()
        .any(|(name, given)| flags.get(&**name).is_some_and(|wanted| is_bool(&machine.state, &given.value, *wanted)))
}

fn is_bool(state: &State, value: &Value, wanted: bool) -> bool {
    let is_wanted = |val: &Val| matches!(val, Val::Term(term) if *state.terms.get(*term) == Term::Bool(wanted));
    value.single().is_some_and(is_wanted)
}

/// The flags of the callable that a factory makes.
fn flags_of<'p>(machine: &Machine<'p>, factory: &str) -> Option<&'p BTreeMap<String, bool>> {
    match &machine.program.models.callable(factory)?.effect {
        Effect::Factory { makes } => match &makes.effect {
            Effect::Consume { no_draw_when, .. } => Some(no_draw_when).filter(|flags| !flags.is_empty()),
            _ => None,
        },
        _ => None,
    }
}

/// What a factory keeps of its arguments: those by position, and flags of what it makes.
pub fn kept_options(factory: &Callable, makes: &Callable, args: &Args) -> Vec<(Name, Value)> {
    let mut options: Vec<(Name, Value)> = args.positional.iter().map(|arg| ("".into(), arg.value.clone())).collect();
    if let Effect::Consume { no_draw_when, .. } = &makes.effect {
        options.extend(
            no_draw_when.keys().filter_map(|flag| Some((flag.as_str().into(), args.of(factory, flag)?.value.clone()))),
        );
    }
    options
}

/// The arguments of a call of what a factory made, with the flags that the factory got unless the call gives others.
pub fn with_options(machine: &Machine<'_>, wrapped: &Wrapped, mut args: Args) -> Args {
    for (name, value) in wrapped.options.iter().filter(|(name, _)| !name.is_empty()) {
        let is_none = |given: &Arg| matches!(given.value.single(), Some(Val::Term(term)) if *machine.state.terms.get(*term) == Term::None);
        if args.keyword(name).is_none_or(is_none) {
            args.keywords.retain(|(given, _)| given != name);
            args.keywords.push((name.clone(), Arg { value: value.clone(), written: None }));
        }
    }
    args
}

/// A copy of a module in which the parts that draw by a flag draw nothing, or, with `value=False`, draw again. A module of an unknown class
/// draws nothing when it is called.
pub fn quiet(
    machine: &mut Machine<'_>,
    callable: &Callable,
    (path, of): (&Name, &str),
    args: &Args,
    place: Place,
) -> Value {
    let tree = args.of(callable, of).map(|arg| arg.value.clone()).unwrap_or_default();
    let is_quiet = args.of(callable, VALUE).is_none_or(|given| is_bool(&machine.state, &given.value, true));
    match tree.single() {
        Some(Val::Wrapped(made)) if made.transform == *path => match &made.function {
            Some(module) if !is_quiet => module.clone(),
            _ => tree,
        },
        Some(Val::Term(_)) if !is_quiet => tree,
        Some(Val::Term(_)) => {
            let wrapped = Wrapped { transform: path.clone(), options: Arc::new([]), function: Some(tree) };
            Value::of(Val::Wrapped(Arc::new(wrapped)))
        }
        _ => switch(machine, &tree, is_quiet, &mut Walk::to(DEPTH), place),
    }
}

/// A copy of a module in which all parts have their flags set.
fn switch(machine: &mut Machine<'_>, tree: &Value, is_quiet: bool, walk: &mut Walk, place: Place) -> Value {
    if !walk.down() {
        return tree.clone();
    }
    let result = paths::on_alternatives(machine, tree, |machine, val| match val {
        Val::Wrapped(made) => match flags_of(machine, &made.transform) {
            Some(flags) => with_flags(machine, made, (flags, is_quiet), walk, place),
            None => Value::of(val.clone()),
        },
        Val::Tuple(parts) => {
            Value::of(Val::Tuple(parts.iter().map(|part| switch(machine, part, is_quiet, walk, place)).collect()))
        }
        Val::Object(id) => {
            let object = machine.state.store.objects[id.0 as usize].clone();
            let kind = match object.kind {
                ObjectKind::List { items, unknown } => {
                    let switched =
                        |item: Item| Item { value: switch(machine, &item.value, is_quiet, walk, place), ..item };
                    ObjectKind::List { items: items.into_iter().map(switched).collect(), unknown }
                }
                ObjectKind::Dict { entries, unknown } => {
                    let switched =
                        |entry: Entry| Entry { value: switch(machine, &entry.value, is_quiet, walk, place), ..entry };
                    ObjectKind::Dict { entries: entries.into_iter().map(switched).collect(), unknown }
                }
                ObjectKind::Instance => {
                    let mut changed = Args::default();
                    for (name, held) in object.attributes {
                        let value = switch(machine, &held, is_quiet, walk, place);
                        if value != held {
                            changed.keywords.push((name, Arg { value, written: None }));
                        }
                    }
                    let own = Value::of(val.clone());
                    return if changed.keywords.is_empty() {
                        own
                    } else {
                        machine.state.replaced(&own, &changed, place)
                    };
                }
                _ => return Value::of(val.clone()),
            };
            Value::of(Val::Object(machine.state.allocate_with(kind, object.symbol, object.class, object.open)))
        }
        _ => Value::of(val.clone()),
    });
    walk.back();
    result
}

/// What a factory made, with its flags set, and so are those of the parts that it got. If such a part is a module of the program, the flags do
/// not decide whether it draws.
fn with_flags(
    machine: &mut Machine<'_>,
    made: &Wrapped,
    (flags, is_quiet): (&BTreeMap<String, bool>, bool),
    walk: &mut Walk,
    place: Place,
) -> Value {
    let mut options: Vec<(Name, Value)> = Vec::new();
    let mut decide = true;
    for (name, given) in made.options.iter().filter(|(name, _)| !flags.contains_key(&**name)) {
        let part = switch(machine, given, is_quiet, walk, place);
        decide &= is_of_library(machine, &part, walk);
        options.push((name.clone(), part));
    }
    if decide {
        for (name, wanted) in flags {
            let flag = machine.state.terms.intern(Term::Bool(*wanted == is_quiet));
            options.push((name.as_str().into(), Value::term(flag)));
        }
    }
    Value::of(Val::Wrapped(Arc::new(Wrapped { options: options.into(), ..made.clone() })))
}

/// Whether a value holds nothing but numbers and what libraries make.
fn is_of_library(machine: &Machine<'_>, value: &Value, walk: &mut Walk) -> bool {
    if !walk.down() {
        return false;
    }
    let libraries = &machine.state.store.libraries;
    let is_plain = value.alternatives().iter().all(|alternative| match &alternative.val {
        Val::Wrapped(made) => made.function.as_ref().is_none_or(Value::is_unbound),
        Val::Library(_) => true,
        val @ Val::Term(term) => machine.state.terms.is_constant(*term) || machine.state.is_of_library(val, libraries),
        Val::Tuple(parts) => parts.iter().all(|part| is_of_library(machine, part, walk)),
        Val::Object(id) => match &machine.state.store.objects[id.0 as usize].kind {
            ObjectKind::List { items, unknown: false } => {
                items.iter().all(|item| is_of_library(machine, &item.value, walk))
            }
            _ => false,
        },
        _ => false,
    });
    walk.back();
    is_plain
}
