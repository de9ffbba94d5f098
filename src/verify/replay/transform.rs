//! Transforms: functions that call their function arguments.
//!
//! **Invariant:** how often a body runs and on what comes from the transform's model. If that is more often than the bounds allow, the
//! first iterations stand for all.

use std::cell::RefCell;
use std::rc::Rc;

use super::builtin;
use super::frame::{Eval, ITERATIONS, ROUNDS};
use super::library;
use super::library::{argument, arguments};
use super::machine::Machine;
use super::shape;
use super::step::ELEMENTS;
use super::value::{Args, Instance, Stack, Value, Wrapped, contents, like, sequence};
use crate::finding::Place;
use crate::ir::Name;
use crate::models::{BuiltinOp, Callable, Effect, Runs, Transform, TransformResult};

/// Most iterations of a body whose number is known.
const KNOWN_ITERATIONS: u32 = 8;

/// Most lanes of a mapped function that are run.
const LANES: u32 = 4;

/// Deepest tree of results that becomes a tree of arrays, and the most parts of one of its branches.
const STACKED: u32 = 6;
const WIDTH: usize = 16;

/// A call of the result of a transform or a factory.
pub(super) fn call_wrapped<'p>(
    machine: &mut Machine<'p>,
    wrapped: &Rc<Wrapped<'p>>,
    mut args: Args<'p>,
    place: Place,
) -> Eval<'p, Value<'p>> {
    let Some(callable) = machine.project.models.callable(&wrapped.path) else {
        return machine.unresolved(&Value::None, &args, place);
    };
    let transform = match &callable.effect {
        Effect::Transform(transform) => transform,
        Effect::Factory { makes } => return library::apply(machine, makes, &wrapped.path, args, place),
        Effect::Builtin(BuiltinOp::Wraps) => return Ok(args.positional.first().cloned().unwrap_or(Value::None)),
        _ => return machine.unresolved(&Value::None, &args, place),
    };
    let Some(function) = &wrapped.function else {
        // A decorator with arguments is applied to its function.
        let Some(function) = args.positional.first().cloned() else { return Ok(machine.unknown(&wrapped.path)) };
        let path = wrapped.path.clone();
        let function = Some(function);
        return Ok(Value::Wrapped(Rc::new(Wrapped { path, function, args: wrapped.args.clone() })));
    };
    let option = |name: Option<&str>| name.and_then(|name| argument(&wrapped.args, callable, name)).cloned();
    if transform.cached {
        let given = args.positional.iter_mut().chain(args.keywords.iter_mut().map(|(_, given)| given));
        given.for_each(|given| *given = builtin::rebuilt(given));
    }
    match transform.runs {
        Runs::Lanes | Runs::Blocks => {
            let axes = option(transform.axes.as_deref());
            let (outputs, known) = run_lanes(machine, function, &args, axes.as_ref(), place)?;
            match option(transform.out_axes.as_deref()) {
                Some(Value::Int(1)) => Ok(stacked_within(machine, &outputs, known)),
                _ => Ok(stacked(machine, outputs, known)),
            }
        }
        Runs::Map if args.keywords.is_empty() && !args.is_open => map(machine, function, &args.positional, place),
        Runs::Abstract => Ok(machine.unknown(&wrapped.path)),
        _ => {
            let value = machine.call_value(function, args, place)?;
            let aux = option(transform.aux.as_deref()).is_some_and(|flag| flag.truth() == Some(true));
            transformed(machine, transform.result, value, aux)
        }
    }
}

fn transformed<'p>(
    machine: &mut Machine<'p>,
    result: TransformResult,
    value: Value<'p>,
    aux: bool,
) -> Eval<'p, Value<'p>> {
    Ok(match result {
        TransformResult::Value => value,
        TransformResult::Grad => {
            let gradients = machine.unknown("gradients");
            if aux {
                let extra = machine.item(&value, &Value::Int(1))?;
                Value::tuple(vec![gradients, extra])
            } else {
                gradients
            }
        }
        TransformResult::ValueAndGrad | TransformResult::Jvp | TransformResult::Vjp => {
            let gradients = machine.unknown("gradients");
            Value::tuple(vec![value, gradients])
        }
        TransformResult::Opaque => machine.unknown("transformed"),
    })
}

/// A transform that runs its body when it is called itself.
pub(super) fn run_transform<'p>(
    machine: &mut Machine<'p>,
    transform: &'p Transform,
    callable: &'p Callable,
    path: &Name,
    args: &Args<'p>,
    place: Place,
) -> Eval<'p, Value<'p>> {
    let get = |name: Option<&str>| name.and_then(|name| argument(args, callable, name)).cloned();
    let function = get(transform.function.as_deref()).unwrap_or(Value::None);
    let mut operands: Vec<Value<'p>> =
        transform.operands.iter().flat_map(|name| arguments(args, callable, name)).collect();
    if transform.packed {
        let mut unpacked = Vec::new();
        for operand in &operands {
            match machine.items_of(operand)? {
                Some(items) => unpacked.extend(items),
                None => unpacked.push(operand.clone()),
            }
        }
        operands = unpacked;
    }
    let mut carry = get(transform.carry.as_deref()).unwrap_or(Value::None);
    if transform.cached {
        let given = operands.iter_mut().chain(std::iter::once(&mut carry));
        given.for_each(|given| *given = builtin::rebuilt(given));
    }
    let over: Vec<Value<'p>> = transform.over.iter().flat_map(|name| arguments(args, callable, name)).collect();
    match transform.runs {
        Runs::Once | Runs::Lanes | Runs::Blocks => {
            let value = machine.call_value(&function, Args::of(operands), place)?;
            let aux = get(transform.aux.as_deref()).is_some_and(|flag| flag.truth() == Some(true));
            transformed(machine, transform.result, value, aux)
        }
        Runs::Abstract => Ok(machine.unknown_result(path)),
        Runs::Associative | Runs::Reduce => reduce(machine, &function, args, path, place),
        Runs::Scan => {
            let length = get(transform.length.as_deref());
            scan(machine, &function, carry, &over, length.as_ref(), place)
        }
        Runs::Map => map(machine, &function, &over, place),
        Runs::Fori => {
            let lower = get(transform.lower.as_deref()).unwrap_or(Value::Int(0));
            let upper = get(transform.upper.as_deref()).unwrap_or(Value::None);
            fori(machine, &function, carry, [&lower, &upper], place)
        }
        Runs::While => {
            let cond = get(transform.cond.as_deref()).unwrap_or(Value::None);
            run_while(machine, &function, &cond, carry, place)
        }
        Runs::Cond | Runs::Switch => {
            let chosen = get(transform.chosen.as_deref()).unwrap_or(Value::None);
            let branches: Vec<Value<'p>> = transform.branches.iter().filter_map(|name| get(Some(name))).collect();
            let (branches, operands) = with_its_operand(machine, &chosen, branches, operands);
            match branch(machine, transform.runs, &chosen, branches)? {
                Some(branch) => machine.call_value(&branch, Args::of(operands), place),
                None => Ok(machine.unknown_result(path)),
            }
        }
        Runs::TreeMap => tree_map(machine, &function, &over, transform.leading, place),
    }
}

/// `cond(pred, true_operand, true_fun, false_operand, false_fun)`: the branch that runs, with the operand before it.
fn with_its_operand<'p>(
    machine: &mut Machine<'p>,
    chosen: &Value<'p>,
    branches: Vec<Value<'p>>,
    operands: Vec<Value<'p>>,
) -> (Vec<Value<'p>>, Vec<Value<'p>>) {
    match (branches.as_slice(), operands.as_slice()) {
        ([first, then], [second, orelse])
            if !first.is_function() && then.is_function() && !second.is_function() && orelse.is_function() =>
        {
            let (branch, operand) = if machine.truth(chosen, None) { (then, first) } else { (orelse, second) };
            (vec![branch.clone(), branch.clone()], vec![operand.clone()])
        }
        _ => (branches, operands),
    }
}

/// The branch that a `cond` or a `switch` runs.
fn branch<'p>(
    machine: &mut Machine<'p>,
    runs: Runs,
    chosen: &Value<'p>,
    branches: Vec<Value<'p>>,
) -> Eval<'p, Option<Value<'p>>> {
    if runs == Runs::Cond {
        let at = usize::from(!machine.truth(chosen, None));
        return Ok(branches.get(at).cloned());
    }
    // `switch` takes its branches as a sequence.
    let sequence = branches.into_iter().next().unwrap_or(Value::None);
    let Some(branches) = machine.items_of(&sequence)? else { return Ok(None) };
    let count = u8::try_from(branches.len().min(16)).unwrap_or(16);
    let at = match chosen.int() {
        Some(at) => usize::try_from(at.max(0)).unwrap_or(0).min(branches.len().saturating_sub(1)),
        None => usize::from(machine.choose(count, 0)),
    };
    Ok(branches.get(at).cloned())
}

fn map<'p>(machine: &mut Machine<'p>, function: &Value<'p>, over: &[Value<'p>], place: Place) -> Eval<'p, Value<'p>> {
    let known = common_length(over);
    let mut outputs = Vec::new();
    let iterated = iterated(machine, over, "<map>");
    let mut index = 0;
    while runs_again(machine, iterated, index, known) {
        let given: Vec<Value<'p>> = slices(machine, over, index)?;
        outputs.push(machine.call_value(function, Args::of(given), place)?);
        index += 1;
    }
    Ok(stacked(machine, outputs, known))
}

fn fori<'p>(
    machine: &mut Machine<'p>,
    function: &Value<'p>,
    mut carry: Value<'p>,
    [lower, upper]: [&Value<'p>; 2],
    place: Place,
) -> Eval<'p, Value<'p>> {
    let known = match (lower.int(), upper.int()) {
        (Some(lower), Some(upper)) => u32::try_from(upper.saturating_sub(lower).max(0)).ok(),
        _ => None,
    };
    let bounds = [machine.symbol_of(lower), machine.symbol_of(upper)];
    let iterated = machine.symbols.apply("range", &bounds);
    let mut index = 0;
    while runs_again(machine, iterated, index, known) {
        let at = Value::Int(i128::from(index));
        let at = machine.operate(crate::ir::Operator::Add, lower, Some(&at), false)?;
        carry = machine.call_value(function, Args::of(vec![at, carry]), place)?;
        index += 1;
    }
    Ok(if known.is_some_and(|known| index < known) { machine.unknown("<carry>") } else { carry })
}

fn run_while<'p>(
    machine: &mut Machine<'p>,
    function: &Value<'p>,
    cond: &Value<'p>,
    mut carry: Value<'p>,
    place: Place,
) -> Eval<'p, Value<'p>> {
    let iterated = machine.symbols.fresh("<while>");
    let mut index = 0;
    loop {
        let holds = machine.call_value(cond, Args::of(vec![carry.clone()]), place)?;
        let runs_again = match holds.truth() {
            Some(truth) if index < ROUNDS => truth,
            Some(_) => {
                machine.is_bounded = true;
                return Ok(machine.unknown("<carry>"));
            }
            None => runs_again(machine, iterated, index, None),
        };
        if !runs_again {
            return Ok(carry);
        }
        carry = machine.call_value(function, Args::of(vec![carry]), place)?;
        index += 1;
    }
}

/// The symbol over whose elements a body runs: the first unknown array.
fn iterated<'p>(machine: &mut Machine<'p>, over: &[Value<'p>], otherwise: &str) -> super::symbol::Symbol {
    let found = over.iter().find_map(|tree| match tree {
        Value::Unknown(symbol) => Some(*symbol),
        Value::Tuple(parts) => parts.iter().find_map(|part| match part {
            Value::Unknown(symbol) => Some(*symbol),
            _ => None,
        }),
        _ => None,
    });
    found.unwrap_or_else(|| machine.symbols.fresh(otherwise))
}

/// Whether a body runs another iteration.
fn runs_again(machine: &mut Machine<'_>, iterated: super::symbol::Symbol, index: u32, known: Option<u32>) -> bool {
    match known {
        Some(known) if index >= known => false,
        Some(known) => {
            if index >= KNOWN_ITERATIONS && known > KNOWN_ITERATIONS {
                machine.is_bounded = true;
                return false;
            }
            true
        }
        None => index < ITERATIONS && machine.has_element(iterated, index),
    }
}

fn scan<'p>(
    machine: &mut Machine<'p>,
    function: &Value<'p>,
    mut carry: Value<'p>,
    over: &[Value<'p>],
    length: Option<&Value<'p>>,
    place: Place,
) -> Eval<'p, Value<'p>> {
    let given = length.and_then(|length| u32::try_from(length.int()?).ok());
    let known = common_length(over).or(given);
    let mut outputs = Vec::new();
    let iterated = iterated(machine, over, "<scan>");
    let mut index = 0;
    while runs_again(machine, iterated, index, known) {
        let mut given = vec![carry.clone()];
        given.extend(slices(machine, over, index)?);
        let result = machine.call_value(function, Args::of(given), place)?;
        carry = machine.item(&result, &Value::Int(0))?;
        outputs.push(machine.item(&result, &Value::Int(1))?);
        index += 1;
    }
    let stacked = stacked(machine, outputs, known);
    if known.is_some_and(|known| index < known) {
        carry = machine.unknown("<carry>");
    }
    Ok(Value::tuple(vec![carry, stacked]))
}

fn reduce<'p>(
    machine: &mut Machine<'p>,
    function: &Value<'p>,
    args: &Args<'p>,
    path: &Name,
    place: Place,
) -> Eval<'p, Value<'p>> {
    let items = match args.positional.get(1) {
        Some(values) => machine.items_of(values)?,
        None => None,
    };
    let Some(items) = items else {
        let (left, right) = (machine.unknown("left"), machine.unknown("right"));
        machine.call_value(function, Args::of(vec![left, right]), place)?;
        return Ok(machine.unknown_result(path));
    };
    let mut items = items.into_iter();
    let Some(mut folded) = args.positional.get(2).cloned().or_else(|| items.next()) else {
        return Ok(machine.unknown_result(path));
    };
    for item in items {
        folded = machine.call_value(function, Args::of(vec![folded, item]), place)?;
    }
    Ok(folded)
}

/// `tree.map`: the function on each leaf.
fn tree_map<'p>(
    machine: &mut Machine<'p>,
    function: &Value<'p>,
    trees: &[Value<'p>],
    leading: usize,
    place: Place,
) -> Eval<'p, Value<'p>> {
    let Some(first) = trees.first().cloned() else { return Ok(machine.unknown("tree")) };
    machine.nesting += 1;
    if machine.nesting > 100 {
        machine.nesting -= 1;
        machine.is_bounded = true;
        return Ok(machine.unknown("tree"));
    }
    let result = tree_map_of(machine, function, &first, trees, leading, place);
    machine.nesting -= 1;
    result
}

fn tree_map_of<'p>(
    machine: &mut Machine<'p>,
    function: &Value<'p>,
    first: &Value<'p>,
    trees: &[Value<'p>],
    leading: usize,
    place: Place,
) -> Eval<'p, Value<'p>> {
    let part = |this: &mut Machine<'p>, index: &Value<'p>| -> Eval<'p, Value<'p>> {
        let parts: Eval<'p, Vec<Value<'p>>> = trees.iter().map(|tree| this.item(tree, index)).collect();
        tree_map(this, function, &parts?, leading, place)
    };
    Ok(match first {
        Value::None => Value::None,
        Value::Tuple(_) | Value::List(_) => {
            let count = sequence(first).map_or(0, |values| values.len());
            let results = (0..).take(count).map(|index| part(machine, &Value::Int(index)));
            like(first, results.collect::<Eval<'p, _>>()?)
        }
        Value::Dict(pairs) => {
            let keys: Vec<Value<'p>> = pairs.borrow().iter().map(|(key, _)| key.clone()).collect();
            let mut results = Vec::with_capacity(keys.len());
            for key in keys {
                let value = part(machine, &key)?;
                results.push((key, value));
            }
            Value::dict(results)
        }
        Value::Instance(instance) if is_record(instance) => {
            let fields = instance.attributes.borrow().clone();
            let mut results = Vec::with_capacity(fields.len());
            for (name, value) in fields {
                let value = if is_static(&value) {
                    value
                } else {
                    let parts: Eval<'p, Vec<Value<'p>>> =
                        trees.iter().map(|tree| machine.attribute(tree, &name)).collect();
                    tree_map(machine, function, &parts?, leading, place)?
                };
                results.push((name, value));
            }
            with_fields(machine, instance, results)
        }
        // A tree of unknown leaves: two stand for all.
        Value::Unknown(_) | Value::Instance(_) => {
            let mut results = Vec::new();
            for index in 0..2 {
                let mut given: Vec<Value<'p>> = (0..leading).map(|_| machine.unknown("path")).collect();
                for tree in trees {
                    given.push(machine.item(tree, &Value::Int(index))?);
                }
                results.push(machine.call_value(function, Args::of(given), place)?);
            }
            stacked(machine, results, None)
        }
        _ => {
            let path = (0..leading).map(|_| machine.unknown("path")).collect::<Vec<_>>();
            let given = path.into_iter().chain(trees.iter().cloned()).collect();
            machine.call_value(function, Args::of(given), place)?
        }
    })
}

/// Whether an instance is a tree of its fields.
fn is_record(instance: &Instance<'_>) -> bool {
    instance.class.lineage().iter().any(|class| class.is_record.get())
}

/// Whether a field of a record holds no arrays: functions, settings.
fn is_static(value: &Value<'_>) -> bool {
    value.is_function() || matches!(value, Value::Text(_) | Value::Bool(_) | Value::Class(_) | Value::None)
}

/// A record of the class of another, with these fields.
fn with_fields<'p>(machine: &mut Machine<'p>, of: &Instance<'p>, fields: Vec<(Name, Value<'p>)>) -> Value<'p> {
    let symbol = machine.symbols.fresh(&of.class.name);
    Value::Instance(Rc::new(Instance { class: of.class.clone(), attributes: RefCell::new(fields), symbol }))
}

/// Whether a value is a tree of several parts.
pub(super) fn is_branch(value: &Value<'_>) -> bool {
    match value {
        Value::Tuple(_) | Value::List(_) | Value::Dict(_) => true,
        Value::Instance(instance) => is_record(instance),
        _ => false,
    }
}

/// A tree with the result of a function for each leaf.
pub(super) fn on_leaves<'p>(
    machine: &mut Machine<'p>,
    tree: &Value<'p>,
    depth: u32,
    each: &mut dyn FnMut(&mut Machine<'p>, &Value<'p>) -> Eval<'p, Value<'p>>,
) -> Eval<'p, Value<'p>> {
    if depth == 0 {
        return Ok(machine.unknown("tree"));
    }
    let mut part = |this: &mut Machine<'p>, value: &Value<'p>| on_leaves(this, value, depth - 1, each);
    Ok(match tree {
        Value::None => Value::None,
        Value::Tuple(_) | Value::List(_) => {
            let parts = sequence(tree).unwrap_or_default();
            let results = parts.iter().map(|value| part(machine, value)).collect::<Eval<'p, _>>()?;
            like(tree, results)
        }
        Value::Dict(pairs) => {
            let pairs = pairs.borrow().clone();
            let mut results = Vec::with_capacity(pairs.len());
            for (key, value) in pairs {
                results.push((key, part(machine, &value)?));
            }
            Value::dict(results)
        }
        Value::Instance(instance) if is_record(instance) => {
            let fields = instance.attributes.borrow().clone();
            let mut results = Vec::with_capacity(fields.len());
            for (name, value) in fields {
                let value = if is_static(&value) { value } else { part(machine, &value)? };
                results.push((name, value));
            }
            with_fields(machine, instance, results)
        }
        leaf => each(machine, leaf)?,
    })
}

/// A mapped function: its body for a few lanes.
fn run_lanes<'p>(
    machine: &mut Machine<'p>,
    function: &Value<'p>,
    args: &Args<'p>,
    axes: Option<&Value<'p>>,
    place: Place,
) -> Eval<'p, (Vec<Value<'p>>, Option<u32>)> {
    let axis_of = |index: usize| axes.map_or(Value::Int(0), |axes| axis_of_part(axes, index));
    let mapped: Vec<Value<'p>> = args
        .positional
        .iter()
        .enumerate()
        .filter(|(index, _)| !matches!(axis_of(*index), Value::None))
        .map(|(_, value)| value.clone())
        .collect();
    let known = common_length(&mapped);
    let lanes = known.map_or(2, |known| if known <= LANES { known } else { 2 });
    if known.is_some_and(|known| known > LANES) {
        machine.is_bounded = true;
    }
    let mut outputs = Vec::new();
    for lane in 0..lanes {
        let mut given = Args { is_open: args.is_open, ..Args::default() };
        for (index, value) in args.positional.iter().enumerate() {
            given.positional.push(lane_of(machine, value, &axis_of(index), lane, 6)?);
        }
        for (name, value) in &args.keywords {
            let value = lane_of(machine, value, &Value::Int(0), lane, 6)?;
            given.keywords.push((name.clone(), value));
        }
        machine.lanes.push(lane);
        let output = machine.call_value(function, given, place);
        machine.lanes.pop();
        outputs.push(output?);
    }
    Ok((outputs, known))
}

/// The results of lanes along the second axis: as many arrays as each result has elements.
fn stacked_within<'p>(machine: &mut Machine<'p>, outputs: &[Value<'p>], known: Option<u32>) -> Value<'p> {
    let lengths: Option<Vec<usize>> = outputs
        .iter()
        .map(|output| match output {
            Value::Keys(array) => array.keys.shape().first().copied(),
            _ => None,
        })
        .collect();
    let Some((&count, rest)) = lengths.as_deref().and_then(<[usize]>::split_first) else {
        return machine.unknown("<lanes>");
    };
    if rest.iter().any(|length| *length != count) || count > ELEMENTS {
        return machine.unknown("<lanes>");
    }
    let mut rows = Vec::with_capacity(count);
    for index in 0..count {
        let element = |output: &Value<'p>| match output {
            Value::Keys(array) => super::keys::element(array, index),
            _ => None,
        };
        let row = outputs.iter().filter_map(element).collect();
        rows.push(stacked(machine, row, known));
    }
    shape::whole_stack(machine, rows)
}

/// The axis for a part of what these axes are for.
fn axis_of_part<'p>(axes: &Value<'p>, index: usize) -> Value<'p> {
    match sequence(axes) {
        Some(parts) => parts.get(index).cloned().unwrap_or(Value::Int(0)),
        None => axes.clone(),
    }
}

/// What one lane sees of an argument.
fn lane_of<'p>(
    machine: &mut Machine<'p>,
    value: &Value<'p>,
    axis: &Value<'p>,
    lane: u32,
    depth: u32,
) -> Eval<'p, Value<'p>> {
    if depth == 0 {
        return Ok(machine.unknown("<lane>"));
    }
    Ok(match (value, axis) {
        (_, Value::None) => value.clone(),
        (Value::Tuple(_) | Value::List(_), _) => {
            let parts = sequence(value).unwrap_or_default();
            let mut results = Vec::with_capacity(parts.len());
            for (index, part) in parts.iter().enumerate() {
                results.push(lane_of(machine, part, &axis_of_part(axis, index), lane, depth - 1)?);
            }
            like(value, results)
        }
        (Value::Dict(pairs), _) => {
            let pairs = pairs.borrow().clone();
            let mut results = Vec::with_capacity(pairs.len());
            for (key, value) in pairs {
                let axis = match axis {
                    Value::Dict(axes) => {
                        let axes = axes.borrow();
                        let found = axes.iter().find(|(name, _)| name.equals(&key, 4) == Some(true));
                        found.map_or(Value::Int(0), |(_, axis)| axis.clone())
                    }
                    other => other.clone(),
                };
                let value = lane_of(machine, &value, &axis, lane, depth - 1)?;
                results.push((key, value));
            }
            Value::dict(results)
        }
        (Value::Instance(record), axis) if is_record(record) => {
            let fields = record.attributes.borrow().clone();
            let mut results = Vec::with_capacity(fields.len());
            for (name, value) in fields {
                let value = if is_static(&value) {
                    value
                } else {
                    let axis = match axis {
                        Value::Instance(axes) => {
                            let axes = axes.attributes.borrow();
                            axes.iter().find(|(of, _)| *of == name).map_or(Value::Int(0), |(_, axis)| axis.clone())
                        }
                        other => other.clone(),
                    };
                    lane_of(machine, &value, &axis, lane, depth - 1)?
                };
                results.push((name, value));
            }
            with_fields(machine, record, results)
        }
        (Value::Keys(_) | Value::Family(_) | Value::Stack(_) | Value::Unknown(_) | Value::Range(..), Value::Int(0)) => {
            machine.item(value, &Value::Int(i128::from(lane)))?
        }
        (Value::Unknown(_) | Value::Keys(_) | Value::Family(_) | Value::Stack(_), axis) => {
            let index = Value::tuple(vec![axis.clone(), Value::Int(i128::from(lane))]);
            let (of, at) = (machine.symbol_of(value), machine.symbol_of(&index));
            Value::Unknown(machine.symbols.item(of, at))
        }
        _ => value.clone(),
    })
}

/// Element `index` of every tree.
fn slices<'p>(machine: &mut Machine<'p>, trees: &[Value<'p>], index: u32) -> Eval<'p, Vec<Value<'p>>> {
    trees.iter().map(|tree| lane_of(machine, tree, &Value::Int(0), index, 6)).collect()
}

/// The length that the arrays in these trees share, where it is known.
fn common_length(trees: &[Value<'_>]) -> Option<u32> {
    trees.iter().find_map(|tree| leading_length(tree, 6))
}

/// The results of several runs of a body: a tree of arrays, if the results are trees of one shape.
fn stacked<'p>(machine: &mut Machine<'p>, outputs: Vec<Value<'p>>, known: Option<u32>) -> Value<'p> {
    stacked_to(machine, outputs, known, STACKED)
}

fn stacked_to<'p>(machine: &mut Machine<'p>, outputs: Vec<Value<'p>>, known: Option<u32>, depth: u32) -> Value<'p> {
    let branch = outputs.first().filter(|first| depth > 0 && are_alike(first, &outputs));
    let Some(first) = branch.cloned() else { return stacked_column(machine, outputs, known) };
    let rows: Vec<Vec<Value<'p>>> = outputs.iter().map(parts_of).collect();
    let width = rows.first().map_or(0, Vec::len);
    let mut columns = Vec::with_capacity(width);
    for column in 0..width {
        let parts: Vec<Value<'p>> = rows.iter().filter_map(|row| row.get(column).cloned()).collect();
        columns.push(stacked_to(machine, parts, known, depth - 1));
    }
    match &first {
        Value::Dict(pairs) => {
            let keys: Vec<Value<'p>> = pairs.borrow().iter().map(|(key, _)| key.clone()).collect();
            Value::dict(keys.into_iter().zip(columns).collect())
        }
        Value::Instance(record) => {
            let fields = record.attributes.borrow().clone().into_iter().zip(columns);
            let fields = fields.map(|((name, value), column)| (name, if is_static(&value) { value } else { column }));
            with_fields(machine, record, fields.collect())
        }
        _ => like(&first, columns),
    }
}

/// Whether trees have the same parts as a branch.
fn are_alike<'p>(branch: &Value<'p>, trees: &[Value<'p>]) -> bool {
    let width = parts_of(branch).len();
    let is_alike = |tree: &Value<'p>| match (branch, tree) {
        (Value::Tuple(_), Value::Tuple(_)) | (Value::List(_), Value::List(_)) => parts_of(tree).len() == width,
        (Value::Dict(one), Value::Dict(other)) => {
            let (one, other) = (one.borrow(), other.borrow());
            let mut pairs = one.iter().zip(other.iter());
            one.len() == other.len() && pairs.all(|((key, _), (named, _))| key.equals(named, 4) == Some(true))
        }
        (Value::Instance(one), Value::Instance(other)) => {
            let (fields, others) = (one.attributes.borrow(), other.attributes.borrow());
            Rc::ptr_eq(&one.class, &other.class)
                && is_record(one)
                && fields.iter().map(|(name, _)| name).eq(others.iter().map(|(name, _)| name))
        }
        _ => false,
    };
    width <= WIDTH && trees.iter().all(is_alike)
}

/// The parts of a branch of a tree, in order.
fn parts_of<'p>(branch: &Value<'p>) -> Vec<Value<'p>> {
    match branch {
        Value::Instance(record) => record.attributes.borrow().iter().map(|(_, value)| value.clone()).collect(),
        _ => contents(branch).unwrap_or_default(),
    }
}

fn stacked_column<'p>(machine: &mut Machine<'p>, outputs: Vec<Value<'p>>, known: Option<u32>) -> Value<'p> {
    if outputs.iter().all(|output| matches!(output, Value::None)) {
        return Value::None;
    }
    let is_whole = known.is_some_and(|known| known as usize == outputs.len());
    let parts: Vec<_> = outputs.iter().take(16).map(|output| machine.symbol_of(output)).collect();
    let rest = machine.symbols.apply("stacked", &parts);
    Value::Stack(Rc::new(Stack { items: outputs, rest, is_whole }))
}

fn leading_length(tree: &Value<'_>, depth: u32) -> Option<u32> {
    if depth == 0 {
        return None;
    }
    match tree {
        Value::Keys(array) => u32::try_from(*array.keys.shape().first()?).ok(),
        Value::Range(from, to, step) => u32::try_from(super::value::length_of_range(*from, *to, *step)).ok(),
        Value::Stack(stack) if stack.is_whole => u32::try_from(stack.items.len()).ok(),
        Value::Tuple(_) | Value::List(_) | Value::Dict(_) => {
            contents(tree)?.iter().find_map(|value| leading_length(value, depth - 1))
        }
        _ => None,
    }
}
