//! Whether a call of a network draws, according to flags and to the key itself.
//!
//! **Invariant:** a flag counts only with the value that a model lists for it. With any other value, or an unknown one, the call may draw.

use crate::analysis::domain::term::{Term, TermId, Terms};
use crate::analysis::domain::value::{ModuleIndex, Val, Value};
use crate::analysis::library::parameters::named;
use crate::analysis::machine::Machine;
use crate::analysis::store::args::{Arg, Args};
use crate::analysis::store::heap::ObjectKind;
use crate::finding::Place;
use crate::ir::{Argument, Constant, Function, FunctionId, Name, Op, OpKind, ParameterKind, Temp};
use crate::models::{Protocol, ProtocolEffect};

/// The argument that names another method to run.
const METHOD: &str = "method";

/// How many arguments the receiver of a method is.
const BOUND: usize = 1;

/// What a flag implies for a call.
#[derive(Clone, Copy, PartialEq, Eq)]
enum FlagEffect {
    /// It draws nothing.
    DrawsNothing,
    /// It may draw.
    Draws,
}

/// Whether a call may draw nothing: by default, because of a flag (`deterministic=True`, `train=False`), or because its key only satisfies
/// the signature.
pub fn may_draw_nothing(
    machine: &mut Machine<'_>,
    receiver: &Val,
    protocol: &Protocol,
    key: &Arg,
    call: (&Args, Place),
) -> bool {
    let (args, place) = call;
    let terms = &machine.state.terms;
    let is_value = |val: &Val| !matches!(val, Val::Term(term) if matches!(terms.get(*term), Term::None));
    let is_given = |name: &String| args.keyword(name).is_some_and(|given| given.value.single().is_some_and(is_value));
    if protocol.no_draw_by_default.is_some() || protocol.no_draw_with.iter().any(is_given) {
        return true;
    }
    if protocol.no_draw_when.is_empty() {
        return false;
    }
    let mut effects: Vec<FlagEffect> =
        args.keywords.iter().filter_map(|(name, given)| flag_effect(terms, protocol, name, &given.value)).collect();
    if effects.contains(&FlagEffect::DrawsNothing) {
        return true;
    }
    let by_position = flags_by_position(machine, receiver, protocol, args);
    if by_position.contains(&FlagEffect::DrawsNothing) && !draws_always(machine, receiver, protocol) {
        return true;
    }
    effects.extend(by_position);
    let is_formality =
        |machine: &Machine<'_>| is_constant_here(machine, key, place) && !draws_always(machine, receiver, protocol);
    effects.is_empty() && (is_formality(machine) || turns_off(machine, receiver, protocol))
}

/// Whether the class of a receiver, if it is part of the program, draws whatever the flags: it requests a key itself, or contains
/// `nn.Dropout(0.5, deterministic=False)`.
fn draws_always(machine: &Machine<'_>, receiver: &Val, protocol: &Protocol) -> bool {
    let Val::Object(id) = receiver else { return false };
    let Some(class) = machine.state.store.objects[id.0 as usize].class else { return false };
    let supplies = |name: &Name| {
        let mut protocols = machine.program.models.protocols(name).iter();
        protocols.any(|protocol| protocol.effect == ProtocolEffect::Supply)
    };
    let draws = |code: &Function, op: &Op| {
        let OpKind::Call(callee, arguments) = &op.kind else { return false };
        let is_flag = |argument: &Argument| match argument {
            Argument::Keyword(name, given) => {
                protocol.no_draw_when.get(&**name).is_some_and(|wanted| is_constant_flag(code, *given, !wanted))
            }
            _ => false,
        };
        let asks = matches!(&code.ops[*callee as usize].kind, OpKind::Attribute(_, name) if supplies(name));
        asks || arguments.iter().any(is_flag)
    };
    machine.state.lineage(class).iter().any(|class| {
        let info = &machine.state.store.classes[class.0 as usize];
        let functions = &machine.program.module(info.module).functions;
        let mut methods = functions.iter().filter(|function| function.class == Some(info.class));
        methods.any(|code| code.ops.iter().any(|op| draws(code, op)))
    })
}

/// What the flags imply that a call passes by position, or leaves to their defaults, if the function that the library runs is part of the
/// program: `def __call__(self, x, train=False)`.
fn flags_by_position(machine: &Machine<'_>, receiver: &Val, protocol: &Protocol, args: &Args) -> Vec<FlagEffect> {
    let of_class = |method: &String| {
        let Val::Object(id) = receiver else { return None };
        let class = machine.state.store.objects[id.0 as usize].class?;
        match machine.state.class_attribute(class, &method.as_str().into())?.single() {
            Some(Val::Function(closure)) => Some(closure.clone()),
            _ => None,
        }
    };
    if !args.spread.is_empty() || !args.mappings.is_empty() || args.keyword(METHOD).is_some() {
        return Vec::new();
    }
    let (parameters, defaults) = match protocol.runs.as_ref().and_then(of_class) {
        Some(closure) => {
            let code = machine.module(closure.module).function(closure.function);
            (code.parameters.get(BOUND..).unwrap_or_default(), Some(closure))
        }
        None => match function_of(machine, receiver) {
            Some((module, function)) => (machine.module(module).function(function).parameters.as_slice(), None),
            None => return Vec::new(),
        },
    };
    // What the library takes itself comes first: the parameters of the network, or these and the key.
    let own = protocol.key.position.map_or(1, |position| position + 1);
    let mut given = args.positional.iter().skip(own);
    let terms = &machine.state.terms;
    let mut effects = Vec::new();
    for (number, parameter) in parameters.iter().enumerate() {
        let by_position = matches!(parameter.kind, ParameterKind::PositionalOnly | ParameterKind::Normal);
        let passed = if by_position { given.next().map(|arg| &arg.value) } else { None };
        let is_named = || args.keyword(&parameter.name).is_some();
        let value = match (passed, &defaults) {
            (Some(value), _) => Some(value),
            (None, Some(closure)) if !is_named() => {
                let slot = number + BOUND;
                closure.defaults.iter().find(|(of, _)| *of as usize == slot).map(|(_, value)| value)
            }
            _ => None,
        };
        effects.extend(value.and_then(|value| flag_effect(terms, protocol, &parameter.name, value)));
    }
    effects
}

fn flag_effect(terms: &Terms, protocol: &Protocol, name: &str, value: &Value) -> Option<FlagEffect> {
    let wanted = protocol.no_draw_when.get(name)?;
    let is_wanted =
        |val: &Val| matches!(val, Val::Term(term) if matches!(terms.get(*term), Term::Bool(flag) if flag == wanted));
    Some(if value.single().is_some_and(is_wanted) { FlagEffect::DrawsNothing } else { FlagEffect::Draws })
}

/// The function from which a library made the receiver, `hk.transform(forward)`.
pub fn function_of(machine: &Machine<'_>, receiver: &Val) -> Option<(ModuleIndex, FunctionId)> {
    match receiver {
        Val::Term(term) => machine.state.store.transformed.get(term).copied(),
        // The result of a decorator represents the decorated function.
        Val::Function(closure) => Some((closure.module, closure.function)),
        _ => None,
    }
}

/// Whether a key is made from a constant seed in the call itself, `net.apply(params, x, rngs={"dropout": PRNGKey(0)})`: a caller that wants
/// draws sets a flag and passes a key that changes.
fn is_constant_here(machine: &Machine<'_>, key: &Arg, place: Place) -> bool {
    let is_made_here = |val: &Val| match val {
        Val::Key(key) => {
            let made = machine.recorder.made_at(key.derivation);
            is_constant_seed(&machine.state.terms, key.term)
                && made.is_some_and(|made| made.file == place.file && place.span.covers(made.span))
        }
        _ => false,
    };
    match key.value.single() {
        Some(Val::Object(id)) => match &machine.state.store.objects[id.0 as usize].kind {
            ObjectKind::Dict { entries, unknown: false } => {
                !entries.is_empty() && entries.iter().all(|entry| entry.value.single().is_some_and(is_made_here))
            }
            _ => false,
        },
        Some(val) => is_made_here(val),
        None => false,
    }
}

fn is_constant_seed(terms: &Terms, term: TermId) -> bool {
    matches!(terms.get(term), Term::Seed(number) if terms.as_int(*number).is_some())
}

/// Whether the function that a library transformed passes such a flag to its parts, and no other value of it.
fn turns_off(machine: &mut Machine<'_>, receiver: &Val, protocol: &Protocol) -> bool {
    let Some((module, function)) = function_of(machine, receiver) else { return false };
    let code = machine.program.module(module).function(function);
    let mut effects = Vec::new();
    for op in &code.ops {
        let OpKind::Call(callee, arguments) = &op.kind else { continue };
        let parameters = match named(machine, module, code, *callee).as_ref().and_then(Value::single) {
            Some(Val::Function(closure)) => {
                machine.program.module(closure.module).function(closure.function).parameters.as_slice()
            }
            _ => &[],
        };
        let mut names = parameters.iter().map(|parameter| &parameter.name);
        for argument in arguments {
            let (name, given): (Option<&Name>, Temp) = match argument {
                Argument::Positional(given) => (names.next(), *given),
                Argument::Keyword(name, given) => (Some(name), *given),
                Argument::Spread(_) | Argument::SpreadMapping(_) => break,
            };
            let Some(wanted) = name.and_then(|name| protocol.no_draw_when.get(&**name)) else { continue };
            effects.push(if is_constant_flag(code, given, *wanted) {
                FlagEffect::DrawsNothing
            } else {
                FlagEffect::Draws
            });
        }
    }
    effects.contains(&FlagEffect::DrawsNothing) && !effects.contains(&FlagEffect::Draws)
}

/// Whether an operand is written as this constant.
fn is_constant_flag(code: &Function, given: Temp, value: bool) -> bool {
    matches!(code.ops[given as usize].kind, OpKind::Constant(Constant::Bool(flag)) if flag == value)
}
