//! Modules that a flag makes deterministic: `eqx.nn.inference_mode(model)`, `Dropout(0.1, inference=True)`, `make_policy(params, deterministic=True)`.
//!
//! **Invariant:** only parts that draw by a flag stop drawing. What a method of the program draws itself is still seen.

use std::collections::BTreeMap;
use std::sync::Arc;

use crate::analysis::domain::size::Walk;
use crate::analysis::domain::term::Term;
use crate::analysis::domain::value::{Val, Value, Wrapped};
use crate::analysis::machine::Machine;
use crate::analysis::store::args::{Arg, Args};
use crate::analysis::store::heap::{Item, ObjectKind};
use crate::analysis::store::{State, paths};
use crate::finding::Place;
use crate::ir::Name;
use crate::models::{Callable, Effect};

/// Deepest module within modules that is switched.
pub const DEPTH: u32 = 6;

/// Whether a call, or the callee as it was made, sets a flag with which the call draws nothing.
pub fn draws_nothing(state: &State, callable: &Callable, flags: &BTreeMap<String, bool>, args: &Args) -> bool {
    flags
        .iter()
        .any(|(name, wanted)| args.of(callable, name).is_some_and(|given| is_bool(state, &given.value, *wanted)))
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

/// A copy of a module in which the parts that draw by a flag draw nothing. A module of an unknown class draws nothing when it is called.
pub fn quiet(
    machine: &mut Machine<'_>,
    callable: &Callable,
    (path, of): (&Name, &str),
    args: &Args,
    place: Place,
) -> Value {
    let tree = args.of(callable, of).map(|arg| arg.value.clone()).unwrap_or_default();
    let is_on = |given: &Arg| !is_bool(&machine.state, &given.value, true);
    if args.of(callable, "value").is_some_and(is_on) {
        return tree;
    }
    match tree.single() {
        Some(Val::Term(_)) => {
            let wrapped = Wrapped { transform: path.clone(), options: Arc::new([]), function: Some(tree) };
            Value::of(Val::Wrapped(Arc::new(wrapped)))
        }
        _ => quiet_parts(machine, &tree, &mut Walk::to(DEPTH), place),
    }
}

fn quiet_parts(machine: &mut Machine<'_>, tree: &Value, walk: &mut Walk, place: Place) -> Value {
    if !walk.down() {
        return tree.clone();
    }
    let result = paths::on_alternatives(machine, tree, |machine, val| match val {
        Val::Wrapped(made) => Value::of(Val::Wrapped(match flags_of(machine, &made.transform) {
            Some(flags) => Arc::new(with_flags(machine, made, flags)),
            None => made.clone(),
        })),
        Val::Tuple(parts) => {
            Value::of(Val::Tuple(parts.iter().map(|part| quiet_parts(machine, part, walk, place)).collect()))
        }
        Val::Object(id) => {
            let object = machine.state.store.objects[id.0 as usize].clone();
            match object.kind {
                ObjectKind::List { items, unknown } => {
                    let quiet = |item: Item| Item { value: quiet_parts(machine, &item.value, walk, place), ..item };
                    let items = items.into_iter().map(quiet).collect();
                    let kind = ObjectKind::List { items, unknown };
                    Value::of(Val::Object(machine.state.allocate_with(kind, object.symbol, object.class, object.open)))
                }
                ObjectKind::Instance => {
                    let mut changed = Args::default();
                    for (name, held) in object.attributes {
                        let value = quiet_parts(machine, &held, walk, place);
                        if value != held {
                            changed.keywords.push((name, Arg { value, written: None }));
                        }
                    }
                    let own = Value::of(val.clone());
                    if changed.keywords.is_empty() { own } else { machine.state.replaced(&own, &changed, place) }
                }
                _ => Value::of(val.clone()),
            }
        }
        _ => Value::of(val.clone()),
    });
    walk.back();
    result
}

/// What a factory made, with its flags set.
fn with_flags(machine: &mut Machine<'_>, made: &Wrapped, flags: &BTreeMap<String, bool>) -> Wrapped {
    let given = made.options.iter().filter(|(name, _)| !flags.contains_key(&**name)).cloned();
    let set: Vec<(Name, Value)> = flags
        .iter()
        .map(|(name, wanted)| (name.as_str().into(), Value::term(machine.state.terms.intern(Term::Bool(*wanted)))))
        .collect();
    Wrapped { options: given.chain(set).collect(), ..made.clone() }
}
