//! Transforms: functions that call their function arguments.
//!
//! **Invariant:** how often a body runs and on what is read from the transform's model. Loop-like transforms run a few copies, as
//! loops do; a body runs at least once.

use std::sync::Arc;

use crate::analysis::domain::guard::Guard;
use crate::analysis::domain::kinds::{ImplementationConflict, WrapperWay};
use crate::analysis::domain::size::Walk;
use crate::analysis::domain::term::{Term, TermId, Terms};
use crate::analysis::domain::value::{Partial, PartialKind, Val, Value, Wrapped};
use crate::analysis::library::wrappers::{self, TransformCall};
use crate::analysis::library::{
    container_construction, functions, inference, lanes, mixed_implementations, traces, tree,
};
use crate::analysis::machine::{Frame, Machine, arrays};
use crate::analysis::store::args::{Arg, Args};
use crate::analysis::store::{State, paths};
use crate::finding::Place;
use crate::ir::{Name, Operator};
use crate::models::{Callable, Effect, Returns, Runs, Transform, TransformResult, TreeOp};

/// A call of the transform itself.
pub fn transform<'p>(
    machine: &mut Machine<'p>,
    frame: &mut Frame<'p>,
    (transform, callable): (&'p Transform, &'p Callable),
    path: &Name,
    args: Args,
    place: Place,
) -> Value {
    match transform.returns {
        Returns::Function => {
            let function = transform.function.as_deref().and_then(|name| args.of(callable, name));
            let function = function.map(|arg| arg.value.clone());
            if let Some(function) = &function {
                mark_transformed(machine, function);
                let statics = traces::statics(transform, callable, &args);
                traces::note(machine, (transform, path), std::slice::from_ref(function), &statics, place);
            }
            let mut options: Vec<(Name, Value)> = Vec::new();
            for param in &callable.params {
                if transform.function.as_deref() == Some(param.name.as_str()) {
                    continue;
                }
                if let Some(arg) = args.of(callable, &param.name) {
                    options.push((Name::from(param.name.as_str()), arg.value.clone()));
                }
            }
            Value::of(Val::Wrapped(Arc::new(Wrapped { transform: path.clone(), options: options.into(), function })))
        }
        Returns::Result => {
            note_bodies(machine, (transform, path), callable, &args, place);
            let crossing = TransformCall { path, place };
            let names = transform.operands.iter().chain(&transform.over).chain(&transform.carry);
            for arg in names.flat_map(|name| args.all_of(callable, name)) {
                wrappers::note_crossing(machine, frame, crossing, WrapperWay::Argument, arg);
            }
            let value = run_transform(machine, frame, transform, callable, &args, place);
            let arg = Arg { value, written: None };
            wrappers::note_crossing(machine, frame, crossing, WrapperWay::Result, &arg);
            arg.value
        }
    }
}

/// Records the functions that a transform runs at once.
fn note_bodies(
    machine: &mut Machine<'_>,
    transform: (&Transform, &Name),
    callable: &Callable,
    args: &Args,
    place: Place,
) {
    let Transform { function, cond, branches, .. } = transform.0;
    let names = function.iter().chain(cond).chain(branches);
    let bodies = names.filter_map(|name| args.of(callable, name)).map(|arg| arg.value.clone()).collect::<Vec<_>>();
    traces::note(machine, transform, &bodies, &[], place);
}

fn mark_transformed(machine: &mut Machine<'_>, function: &Value) {
    for alternative in function.alternatives() {
        match &alternative.val {
            Val::Function(closure) => {
                if let Some(pending) = machine.context.pending.get_mut(&closure.identity) {
                    pending.transformed = true;
                }
            }
            Val::Wrapped(wrapped) => {
                if let Some(inner) = &wrapped.function {
                    mark_transformed(machine, inner);
                }
            }
            _ => {}
        }
    }
}

/// A call of the result of a transform.
pub fn call_wrapped<'p>(
    machine: &mut Machine<'p>,
    frame: &mut Frame<'p>,
    wrapped: &Arc<Wrapped>,
    mut args: Args,
    place: Place,
) -> Value {
    let models = machine.program.models;
    let Some(callable) = models.callable(&wrapped.transform) else {
        return machine.state.terms.opaque("<transformed>", Some(place));
    };
    let transform = match &callable.effect {
        Effect::Transform(transform) => transform,
        Effect::Factory { makes } => {
            let path = wrapped.transform.clone();
            let args = inference::with_options(machine, wrapped, args);
            return functions::apply_model(machine, frame, makes, &path, args, place);
        }
        // A module of an unknown class, in a mode in which it draws nothing.
        Effect::Tree { op: TreeOp::Quiet, .. } => {
            machine.leave_undrawn(&args, place);
            return machine.state.terms.opaque("<transformed>", Some(place));
        }
        _ => return machine.state.terms.opaque("<transformed>", Some(place)),
    };
    let option = |name: Option<&str>| {
        let name = name?;
        wrapped.options.iter().find(|(option, _)| &**option == name).map(|(_, value)| value.clone())
    };
    let Some(function) = wrapped.function.clone() else {
        // A decorator with arguments is applied to its function.
        if args.positional.is_empty() {
            return machine.state.terms.opaque("<decorator>", Some(place));
        }
        let function = args.positional.remove(0).value;
        mark_transformed(machine, &function);
        let statics: Vec<Value> = transform.statics.iter().filter_map(|name| option(Some(name))).collect();
        traces::note(machine, (transform, &wrapped.transform), std::slice::from_ref(&function), &statics, place);
        return Value::of(Val::Wrapped(Arc::new(Wrapped {
            transform: wrapped.transform.clone(),
            options: wrapped.options.clone(),
            function: Some(function),
        })));
    };
    let crossing = TransformCall { path: &wrapped.transform, place };
    wrappers::note_arguments(machine, frame, (transform, crossing), &args, &|name| option(Some(name)));
    if transform.cached {
        let given = args.positional.iter_mut().chain(args.keywords.iter_mut().map(|(_, given)| given));
        given.for_each(|given| given.value = container_construction::rebuilt(&mut machine.state, &given.value));
    }
    let (result, value) = match transform.runs {
        Runs::Lanes => {
            let axes = option(transform.axes.as_deref());
            let value = lanes::run_lanes(machine, frame, &function, args, axes.as_ref(), place);
            (value.clone(), value)
        }
        Runs::Blocks => {
            let specs = option(transform.axes.as_deref());
            let value = lanes::run_blocks(machine, frame, &function, args, specs.as_ref(), place);
            (value.clone(), value)
        }
        Runs::Map if args.is_positional() => {
            let over: Vec<Value> = args.positional.into_iter().map(|arg| arg.value).collect();
            let value = run_map(machine, frame, &function, &over, place);
            (value.clone(), value)
        }
        Runs::Abstract => {
            machine.transforms.abstract_depth += 1;
            let value = machine.call_value(frame, &function, args, Some(place));
            machine.transforms.abstract_depth -= 1;
            (machine.state.terms.opaque("<abstract>", Some(place)), value)
        }
        _ => {
            let value = machine.call_value(frame, &function, args, Some(place));
            let aux = option(transform.aux.as_deref()).is_some_and(|flag| is_true(&mut machine.state, &flag));
            (transform_result(&mut machine.state, transform.result, value.clone(), aux, place), value)
        }
    };
    wrappers::note_crossing(machine, frame, crossing, WrapperWay::Result, &Arg { value, written: None });
    result
}

pub fn is_true(state: &mut State, value: &Value) -> bool {
    state.truth(value).is_true()
}

fn transform_result(state: &mut State, result: TransformResult, value: Value, aux: bool, place: Place) -> Value {
    match result {
        TransformResult::Value => value,
        TransformResult::Grad => {
            let gradients = state.terms.opaque("<gradients>", Some(place));
            if aux {
                let extra = part(state, &value, 1, place);
                Value::of(Val::Tuple([gradients, extra].into()))
            } else {
                gradients
            }
        }
        TransformResult::ValueAndGrad | TransformResult::Jvp | TransformResult::Vjp => {
            let gradients = state.terms.opaque("<gradients>", Some(place));
            Value::of(Val::Tuple([value, gradients].into()))
        }
        TransformResult::Opaque => state.terms.opaque("<transformed>", Some(place)),
    }
}

/// One part of a tuple, by index.
pub fn part(state: &mut State, value: &Value, index: usize, place: Place) -> Value {
    paths::on_alternatives(state, value, |this, val| match val {
        Val::Tuple(parts) => match parts.get(index) {
            Some(part) => part.clone(),
            None => this.terms.opaque("<part>", Some(place)),
        },
        Val::Term(term) => {
            let index = this.terms.int(i128::try_from(index).unwrap_or(0));
            Value::term(this.terms.intern(Term::Item(*term, index, 0)))
        }
        _ => this.terms.opaque("<part>", Some(place)),
    })
}

/// A transform that runs its body when it is called itself.
fn run_transform<'p>(
    machine: &mut Machine<'p>,
    frame: &mut Frame<'p>,
    transform: &'p Transform,
    callable: &'p Callable,
    args: &Args,
    place: Place,
) -> Value {
    let get = |name: Option<&str>| name.and_then(|name| args.of(callable, name)).map(|arg| arg.value.clone());
    let function = get(transform.function.as_deref()).unwrap_or_default();
    let mut operands: Vec<Arg> = Vec::new();
    for name in &transform.operands {
        for arg in args.all_of(callable, name) {
            operands.push(arg.clone());
        }
    }
    if transform.packed {
        operands = unpacked(machine, frame, operands);
    }
    let mut carry = get(transform.carry.as_deref());
    if transform.cached {
        let given = operands.iter_mut().map(|operand| &mut operand.value).chain(carry.as_mut());
        given.for_each(|given| *given = container_construction::rebuilt(&mut machine.state, given));
    }
    let over: Vec<Value> = transform
        .over
        .iter()
        .flat_map(|name| args.all_of(callable, name).into_iter().map(|arg| arg.value.clone()).collect::<Vec<_>>())
        .collect();
    match transform.runs {
        Runs::Reduce if transform.carry.is_some() => {
            let over = over.into_iter().next().unwrap_or_default();
            run_reduce(machine, frame, &function, carry, &over, place)
        }
        Runs::Associative | Runs::Reduce => {
            let sides = ["<left>", "<right>"].map(|side| machine.state.terms.opaque(side, Some(place)));
            machine.call_value(frame, &function, Args::positional(sides.into()), Some(place));
            machine.state.terms.opaque("<result>", Some(place))
        }
        Runs::Abstract => {
            let body_args = Args { positional: operands, ..Args::default() };
            machine.transforms.abstract_depth += 1;
            machine.call_value(frame, &function, body_args, Some(place));
            machine.transforms.abstract_depth -= 1;
            machine.state.terms.opaque("<result>", Some(place))
        }
        Runs::Once | Runs::Lanes | Runs::Blocks => {
            let body_args = Args { positional: operands, ..Args::default() };
            let value = machine.call_value(frame, &function, body_args, Some(place));
            let aux = get(transform.aux.as_deref()).is_some_and(|flag| is_true(&mut machine.state, &flag));
            transform_result(&mut machine.state, transform.result, value, aux, place)
        }
        Runs::Scan => {
            let length = get(transform.length.as_deref());
            run_scan(machine, frame, &function, carry.unwrap_or_default(), (&over, length.as_ref()), place)
        }
        Runs::Map => run_map(machine, frame, &function, &over, place),
        Runs::Fori => {
            let lower = get(transform.lower.as_deref()).unwrap_or_default();
            let upper = get(transform.upper.as_deref()).unwrap_or_default();
            run_fori(machine, frame, &function, carry.unwrap_or_default(), [&lower, &upper], place)
        }
        Runs::While => {
            let cond = get(transform.cond.as_deref()).unwrap_or_default();
            run_while(machine, frame, [&function, &cond], carry.unwrap_or_default(), place)
        }
        Runs::Cond => {
            let chosen = get(transform.chosen.as_deref()).unwrap_or_default();
            let branches: Vec<Value> = transform.branches.iter().filter_map(|name| get(Some(name))).collect();
            let (branches, operands) = with_operands_of_their_own(branches, operands);
            let holds = machine.state.truth(&chosen);
            let others = machine.state.paths.guards.not(holds);
            run_branches(machine, frame, &branches, &[holds, others], &operands, place)
        }
        Runs::Switch => {
            let chosen = get(transform.chosen.as_deref()).unwrap_or_default();
            let sequence = transform.branches.first().and_then(|name| get(Some(name))).unwrap_or_default();
            run_switch(machine, frame, &chosen, &sequence, &operands, place)
        }
        Runs::TreeMap => tree::run_tree_map(machine, frame, &function, &over, transform.leading, place),
    }
}

/// The elements of operands that are passed in one sequence.
fn unpacked<'p>(machine: &mut Machine<'p>, frame: &mut Frame<'p>, operands: Vec<Arg>) -> Vec<Arg> {
    let mut unpacked = Vec::new();
    for operand in operands {
        match machine.items_of(frame, &operand.value) {
            Some(items) => unpacked.extend(items.into_iter().map(|item| Arg { value: item.value, written: None })),
            None => unpacked.push(operand),
        }
    }
    unpacked
}

/// `while_loop(cond, body, carry)`: the body is assumed to run at least once.
fn run_while<'p>(
    machine: &mut Machine<'p>,
    frame: &mut Frame<'p>,
    [function, cond]: [&Value; 2],
    mut carry: Value,
    place: Place,
) -> Value {
    let before = machine.state.paths.pc;
    let mut over = Guard::FALSE;
    repeat(machine, frame, None, place, |this, frame, copy| {
        let test = this.call_value(frame, cond, Args::positional(vec![carry.clone()]), Some(place));
        let holds = this.state.truth(&test);
        if copy > 0 || this.state.is_possible(holds) {
            let end = this.state.paths.guards.without(this.state.paths.pc, holds);
            over = this.state.paths.guards.or(over, end);
            this.state.paths.pc = this.state.paths.guards.and(this.state.paths.pc, holds);
        }
        if !this.state.feasible(this.state.paths.pc) {
            this.state.paths.pc = Guard::FALSE;
            return;
        }
        let next = this.call_value(frame, function, Args::positional(vec![carry.clone()]), Some(place));
        mixed_implementations::note_carry(this, frame, [&carry, &next], place);
        carry = next;
    });
    machine.state.paths.pc = machine.state.paths.guards.or(machine.state.paths.pc, over);
    if machine.state.paths.pc.is_false() {
        machine.state.paths.pc = before;
    }
    carry
}

/// `switch(index, branches, *operands)`: an index beyond the last branch runs the last one.
fn run_switch<'p>(
    machine: &mut Machine<'p>,
    frame: &mut Frame<'p>,
    chosen: &Value,
    sequence: &Value,
    operands: &[Arg],
    place: Place,
) -> Value {
    let Some(items) = machine.items_of(frame, sequence) else {
        for operand in operands {
            machine.state.havoc(&operand.value);
        }
        return machine.state.terms.opaque("<switch>", Some(place));
    };
    let branches: Vec<Value> = items.into_iter().map(|item| item.value).collect();
    let index = machine.state.term_of(chosen);
    let mut rest = Guard::TRUE;
    let mut guards = Vec::new();
    for position in 0..branches.len() {
        let number = machine.state.terms.int(i128::try_from(position).unwrap_or(0));
        let equal = machine.state.terms.operate(Operator::Eq, &[index, number]);
        let holds = if position + 1 == branches.len() { Guard::TRUE } else { machine.state.truth_of_term(equal) };
        guards.push(machine.state.paths.guards.and(rest, holds));
        rest = machine.state.paths.guards.without(rest, holds);
    }
    run_branches(machine, frame, &branches, &guards, operands, place)
}

/// `cond(pred, true_operand, true_fun, false_operand, false_fun)`: each branch gets the operand before it.
fn with_operands_of_their_own(branches: Vec<Value>, operands: Vec<Arg>) -> (Vec<Value>, Vec<Arg>) {
    let is_function = |value: &Value| {
        let is_one = |val: &Val| {
            matches!(val, Val::Function(_) | Val::Method(_) | Val::Partial(_) | Val::Wrapped(_) | Val::Library(_))
        };
        !value.is_unbound() && value.alternatives().iter().all(|alternative| is_one(&alternative.val))
    };
    let given = |function: &Value, operand: &Value| {
        let (function, positional) = (function.clone(), vec![operand.clone()]);
        Value::of(Val::Partial(Arc::new(Partial { positional, ..Partial::of(PartialKind::Bound, function) })))
    };
    match (branches.as_slice(), operands.as_slice()) {
        ([first, then], [second, orelse])
            if !is_function(first)
                && is_function(then)
                && is_function(&orelse.value)
                && !is_function(&second.value) =>
        {
            (vec![given(then, first), given(&orelse.value, &second.value)], Vec::new())
        }
        _ => (branches, operands),
    }
}

fn run_branches<'p>(
    machine: &mut Machine<'p>,
    frame: &mut Frame<'p>,
    branches: &[Value],
    guards: &[Guard],
    operands: &[Arg],
    place: Place,
) -> Value {
    let before = machine.state.paths.pc;
    let mut after = Guard::FALSE;
    let mut result = Value::unbound();
    let mut results = Vec::new();
    for (branch, guard) in branches.iter().zip(guards) {
        machine.state.paths.pc = machine.state.paths.guards.and(before, *guard);
        if !machine.state.feasible(machine.state.paths.pc) {
            continue;
        }
        let args = Args { positional: operands.to_vec(), ..Args::default() };
        let value = machine.call_value(frame, branch, args, Some(place));
        results.push(value.clone());
        for alternative in value.alternatives() {
            let both = machine.state.paths.guards.and(*guard, alternative.guard);
            result.push(&mut machine.state.paths.guards, both, alternative.val.clone());
        }
        after = machine.state.paths.guards.or(after, machine.state.paths.pc);
    }
    machine.state.paths.pc = if after.is_false() { before } else { after };
    mixed_implementations::note_trees(machine, frame, ImplementationConflict::Branches, &results, place);
    if result.is_unbound() || result.is_too_various() {
        machine.state.terms.opaque("<branch>", Some(place))
    } else {
        result
    }
}

/// Runs `body` for a few iterations.
pub fn repeat<'p>(
    machine: &mut Machine<'p>,
    frame: &mut Frame<'p>,
    known: Option<u32>,
    place: Place,
    body: impl FnMut(&mut Machine<'p>, &mut Frame<'p>, u32),
) {
    repeat_if(machine, frame, known, None, place, body);
}

/// Runs `body` for a few iterations; a second one only on the paths on which `may_continue` holds.
fn repeat_if<'p>(
    machine: &mut Machine<'p>,
    frame: &mut Frame<'p>,
    known: Option<u32>,
    may_continue: Option<TermId>,
    place: Place,
    mut body: impl FnMut(&mut Machine<'p>, &mut Frame<'p>, u32),
) {
    let copies = machine.copies(known);
    let (instance, outer) = machine.begin_loop();
    let mut over = Guard::FALSE;
    for copy in 0..copies {
        if let (1, Some(may_continue)) = (copy, may_continue) {
            let holds = machine.state.truth_of_term(may_continue);
            over = machine.state.paths.guards.without(machine.state.paths.pc, holds);
            machine.state.paths.pc = machine.state.paths.guards.and(machine.state.paths.pc, holds);
            if !machine.state.feasible(machine.state.paths.pc) {
                machine.state.paths.pc = Guard::FALSE;
            }
        }
        if machine.state.paths.pc.is_false() {
            break;
        }
        machine.begin_copy(instance, copy, place, outer.clone());
        body(machine, frame, copy);
    }
    machine.state.paths.pc = machine.state.paths.guards.or(machine.state.paths.pc, over);
    machine.end_loop(outer);
}

/// The condition that there are at least two iterations, if their number is a term.
fn has_two(terms: &mut Terms, length: Option<TermId>) -> Option<TermId> {
    let length = length.filter(|length| terms.as_int(*length).is_none())?;
    let one = terms.int(1);
    Some(terms.operate(Operator::Lt, &[one, length]))
}

/// The number of elements of the first of some trees that has a known one.
fn symbolic_length(state: &mut State, trees: &[Value]) -> Option<TermId> {
    trees.iter().find_map(|tree| match tree.single()? {
        Val::Array(array) => array.dims.as_ref()?.first().copied().flatten(),
        Val::Tuple(parts) => symbolic_length(state, parts),
        Val::Term(term) if !state.terms.is_constant(*term) => Some(state.length_of_term(*term)),
        _ => None,
    })
}

/// The `n` of `arange(n)`, of any type.
pub fn counted(machine: &Machine<'_>, term: TermId) -> Option<TermId> {
    match machine.state.terms.get(term) {
        Term::Apply(name, parts) if machine.program.models.is_counting(name) => match &**parts {
            [number] => Some(*number),
            [number, keyword, _] => {
                matches!(machine.state.terms.get(*keyword), Term::Text(keyword) if &**keyword == "dtype")
                    .then_some(*number)
            }
            _ => None,
        },
        _ => None,
    }
}

fn run_scan<'p>(
    machine: &mut Machine<'p>,
    frame: &mut Frame<'p>,
    function: &Value,
    mut carry: Value,
    (over, length): (&[Value], Option<&Value>),
    place: Place,
) -> Value {
    let known = common_length(&mut machine.state, over).or_else(|| {
        let term = length.map(|length| machine.state.term_of(length))?;
        u32::try_from(machine.state.terms.as_int(term)?).ok()
    });
    let mut outputs: Vec<Value> = Vec::new();
    let steps =
        symbolic_length(&mut machine.state, over).or_else(|| length.map(|length| machine.state.term_of(length)));
    let may_continue = has_two(&mut machine.state.terms, steps);
    repeat_if(machine, frame, known, may_continue, place, |this, frame, copy| {
        let index = this.state.terms.int(i128::from(copy));
        let mut args = vec![carry.clone()];
        args.extend(over.iter().map(|tree| slice_tree(this, tree, index)));
        let result = this.call_value(frame, function, Args::positional(args), Some(place));
        let next = part(&mut this.state, &result, 0, place);
        mixed_implementations::note_carry(this, frame, [&carry, &next], place);
        carry = next;
        let output = part(&mut this.state, &result, 1, place);
        outputs.push(output);
    });
    let stacked = lanes::joined(&mut machine.state, &outputs, place);
    Value::of(Val::Tuple([carry, stacked].into()))
}

/// `reduce(function, over, carry)`: without a carry, the first element is the carry.
fn run_reduce<'p>(
    machine: &mut Machine<'p>,
    frame: &mut Frame<'p>,
    function: &Value,
    carry: Option<Value>,
    over: &Value,
    place: Place,
) -> Value {
    let mut elements = machine.items_of(frame, over).map(Vec::into_iter);
    let known = elements.as_ref().and_then(|elements| u32::try_from(elements.len()).ok());
    let is_first_taken = carry.is_none();
    let mut next = |this: &mut Machine<'p>, position: u32| {
        if let Some(elements) = &mut elements {
            return elements.next().map_or((Guard::TRUE, Value::unbound()), |item| (item.guard, item.value));
        }
        let index = this.state.terms.int(i128::from(position));
        (Guard::TRUE, slice_tree(this, over, index))
    };
    let mut carry = carry.unwrap_or_else(|| next(machine, 0).1);
    let first = u32::from(is_first_taken);
    repeat(machine, frame, known.map(|known| known.saturating_sub(first)), place, |this, frame, copy| {
        let (guard, element) = next(this, copy + first);
        let args = Args::positional(vec![carry.clone(), element]);
        let mut added = carry.clone();
        paths::under(this, guard, |this| added = this.call_value(frame, function, args, Some(place)));
        carry = added.join(&mut this.state.paths.guards, guard, &carry);
    });
    carry
}

fn run_map<'p>(
    machine: &mut Machine<'p>,
    frame: &mut Frame<'p>,
    function: &Value,
    over: &[Value],
    place: Place,
) -> Value {
    let known = common_length(&mut machine.state, over);
    let mut outputs: Vec<Value> = Vec::new();
    let steps = symbolic_length(&mut machine.state, over);
    let may_continue = has_two(&mut machine.state.terms, steps);
    repeat_if(machine, frame, known, may_continue, place, |this, frame, copy| {
        let index = this.state.terms.int(i128::from(copy));
        let args = over.iter().map(|tree| slice_tree(this, tree, index)).collect();
        outputs.push(this.call_value(frame, function, Args::positional(args), Some(place)));
    });
    lanes::joined(&mut machine.state, &outputs, place)
}

fn run_fori<'p>(
    machine: &mut Machine<'p>,
    frame: &mut Frame<'p>,
    function: &Value,
    mut carry: Value,
    [lower, upper]: [&Value; 2],
    place: Place,
) -> Value {
    let (lower, upper) = (machine.state.term_of(lower), machine.state.term_of(upper));
    let known = machine.state.terms.difference(upper, lower).and_then(|trips| u32::try_from(trips.max(0)).ok());
    let steps = machine.state.terms.operate(Operator::Sub, &[upper, lower]);
    let may_continue = has_two(&mut machine.state.terms, Some(steps));
    repeat_if(machine, frame, known, may_continue, place, |this, frame, copy| {
        let index = this.state.terms.offset(lower, i128::from(copy));
        let args = vec![Value::term(index), carry.clone()];
        let next = this.call_value(frame, function, Args::positional(args), Some(place));
        mixed_implementations::note_carry(this, frame, [&carry, &next], place);
        carry = next;
    });
    carry
}

/// Element `index` of every array in a tree.
pub fn slice_tree(machine: &mut Machine<'_>, tree: &Value, index: TermId) -> Value {
    slice_within(machine, tree, index, &mut Walk::to(tree::NESTED))
}

/// The same, below a tree that is being sliced.
pub fn slice_within(machine: &mut Machine<'_>, tree: &Value, index: TermId, walk: &mut Walk) -> Value {
    if !walk.down() {
        return machine.state.terms.opaque("<slice>", None);
    }
    let tree = tree.clone();
    let slice = paths::on_alternatives(machine, &tree, |this, val| match val {
        Val::Array(array) => arrays::array_element(this, &array.clone(), index),
        Val::Tuple(parts) => {
            let parts: Vec<Value> = parts.clone().iter().map(|part| slice_within(this, part, index, walk)).collect();
            Value::of(Val::Tuple(parts.into()))
        }
        Val::Term(term) if this.state.terms.is_constant(*term) => Value::term(*term),
        Val::Term(term) => {
            if counted(this, *term).is_some() {
                return Value::term(index);
            }
            Value::term(this.state.terms.intern(Term::Item(*term, index, 0)))
        }
        Val::Object(object) => tree::slice_object(this, *object, index, walk),
        _ => {
            let term = this.state.term_of_val(val);
            Value::term(this.state.terms.intern(Term::Item(term, index, 0)))
        }
    });
    walk.back();
    slice
}

/// Length that the arrays in these trees share, where it is known.
pub fn common_length(state: &mut State, trees: &[Value]) -> Option<u32> {
    for tree in trees {
        let shortest = tree
            .alternatives()
            .iter()
            .map(|alternative| length_of_val(state, &alternative.val.clone()))
            .try_fold(i128::MAX, |least, length| Some(least.min(length?)));
        if let Some(length) = shortest.filter(|_| !tree.is_unbound()) {
            return u32::try_from(length).ok();
        }
    }
    None
}

/// Length of the arrays in one tree, where it is known.
fn length_of_val(state: &mut State, val: &Val) -> Option<i128> {
    match val {
        Val::Array(array) => {
            let first = array.dims.as_ref().and_then(|dims| dims.first().copied().flatten());
            first.and_then(|length| state.terms.as_int(length))
        }
        Val::Tuple(parts) => common_length(state, &parts.clone()).map(i128::from),
        Val::Term(term) if !state.terms.is_constant(*term) => {
            let length = state.length_of_term(*term);
            state.terms.as_int(length)
        }
        _ => None,
    }
}
