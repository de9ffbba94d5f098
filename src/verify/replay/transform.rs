//! Transforms: functions that run the functions they are given.
//!
//! **Invariant:** how often a body runs and on what is read from the transform's model. Where that is more often than the
//! bounds allow, the first few times stand for all.

use std::rc::Rc;

use super::frame::{ITERATIONS, ROUNDS, Ran};
use super::library::{argument, arguments};
use super::machine::Machine;
use super::step::ELEMENTS;
use super::value::{Args, Stack, Value, Wrapped};
use crate::finding::Place;
use crate::ir::Name;
use crate::models::{BuiltinOp, Callable, Effect, Runs, Transform, TransformResult};

/// Most iterations of a body whose number is known.
const KNOWN_ITERATIONS: u32 = 8;

/// Most lanes of a mapped function that are run.
const LANES: u32 = 4;

impl<'p> Machine<'p> {
    /// A call of what a transform or a factory returned.
    pub(super) fn call_wrapped(
        &mut self,
        wrapped: &Rc<Wrapped<'p>>,
        args: Args<'p>,
        place: Place,
    ) -> Ran<'p, Value<'p>> {
        let Some(callable) = self.project.models.callable(&wrapped.path) else {
            return self.unresolved(&Value::None, &args, place);
        };
        let transform = match &callable.effect {
            Effect::Transform(transform) => transform,
            Effect::Factory { makes } => return self.apply(makes, &wrapped.path, args, place),
            Effect::Builtin(BuiltinOp::Wraps) => return Ok(args.positional.first().cloned().unwrap_or(Value::None)),
            _ => return self.unresolved(&Value::None, &args, place),
        };
        let Some(function) = &wrapped.function else {
            // A decorator with arguments meets its function.
            let Some(function) = args.positional.first().cloned() else { return Ok(self.unknown(&wrapped.path)) };
            let path = wrapped.path.clone();
            let function = Some(function);
            return Ok(Value::Wrapped(Rc::new(Wrapped { path, function, args: wrapped.args.clone() })));
        };
        let option = |name: Option<&str>| name.and_then(|name| argument(&wrapped.args, callable, name)).cloned();
        match transform.runs {
            Runs::Lanes | Runs::Blocks => {
                let axes = option(transform.axes.as_deref());
                let (outputs, known) = self.run_lanes(function, &args, axes.as_ref(), place)?;
                match option(transform.out_axes.as_deref()) {
                    Some(Value::Int(1)) => Ok(self.stacked_within(&outputs, known)),
                    _ => Ok(self.stacked(outputs, known)),
                }
            }
            Runs::Abstract => Ok(self.unknown(&wrapped.path)),
            _ => {
                let value = self.call_value(function, args, place)?;
                let aux = option(transform.aux.as_deref()).is_some_and(|flag| flag.truth() == Some(true));
                self.transformed(transform.result, value, aux)
            }
        }
    }

    fn transformed(&mut self, result: TransformResult, value: Value<'p>, aux: bool) -> Ran<'p, Value<'p>> {
        Ok(match result {
            TransformResult::Value => value,
            TransformResult::Grad => {
                let gradients = self.unknown("gradients");
                if aux {
                    let extra = self.item(&value, &Value::Int(1))?;
                    Value::tuple(vec![gradients, extra])
                } else {
                    gradients
                }
            }
            TransformResult::ValueAndGrad | TransformResult::Jvp | TransformResult::Vjp => {
                let gradients = self.unknown("gradients");
                Value::tuple(vec![value, gradients])
            }
            TransformResult::Opaque => self.unknown("transformed"),
        })
    }

    /// A transform that runs its body when it is called itself.
    pub(super) fn run_transform(
        &mut self,
        transform: &'p Transform,
        callable: &'p Callable,
        path: &Name,
        args: &Args<'p>,
        place: Place,
    ) -> Ran<'p, Value<'p>> {
        let get = |name: Option<&str>| name.and_then(|name| argument(args, callable, name)).cloned();
        let function = get(transform.function.as_deref()).unwrap_or(Value::None);
        let mut operands: Vec<Value<'p>> =
            transform.operands.iter().flat_map(|name| arguments(args, callable, name)).collect();
        if transform.packed {
            let mut unpacked = Vec::new();
            for operand in &operands {
                match self.items_of(operand)? {
                    Some(items) => unpacked.extend(items),
                    None => unpacked.push(operand.clone()),
                }
            }
            operands = unpacked;
        }
        let over: Vec<Value<'p>> = transform.over.iter().flat_map(|name| arguments(args, callable, name)).collect();
        match transform.runs {
            Runs::Once | Runs::Lanes | Runs::Blocks => {
                let value = self.call_value(&function, Args::of(operands), place)?;
                let aux = get(transform.aux.as_deref()).is_some_and(|flag| flag.truth() == Some(true));
                self.transformed(transform.result, value, aux)
            }
            Runs::Abstract => Ok(self.unknown(path)),
            Runs::Associative | Runs::Reduce => self.reduce(&function, args, path, place),
            Runs::Scan => {
                let carry = get(transform.carry.as_deref()).unwrap_or(Value::None);
                let length = get(transform.length.as_deref());
                self.scan(&function, carry, &over, length.as_ref(), place)
            }
            Runs::Map => self.map(&function, &over, place),
            Runs::Fori => {
                let carry = get(transform.carry.as_deref()).unwrap_or(Value::None);
                let lower = get(transform.lower.as_deref()).unwrap_or(Value::Int(0));
                let upper = get(transform.upper.as_deref()).unwrap_or(Value::None);
                self.fori(&function, carry, [&lower, &upper], place)
            }
            Runs::While => {
                let carry = get(transform.carry.as_deref()).unwrap_or(Value::None);
                let cond = get(transform.cond.as_deref()).unwrap_or(Value::None);
                self.run_while(&function, &cond, carry, place)
            }
            Runs::Cond | Runs::Switch => {
                let chosen = get(transform.chosen.as_deref()).unwrap_or(Value::None);
                let branches = transform.branches.iter().filter_map(|name| get(Some(name))).collect();
                match self.branch(transform.runs, &chosen, branches)? {
                    Some(branch) => self.call_value(&branch, Args::of(operands), place),
                    None => Ok(self.unknown(path)),
                }
            }
            Runs::TreeMap => self.tree_map(&function, &over, transform.leading, place),
        }
    }

    /// The branch that a `cond` or a `switch` runs.
    fn branch(&mut self, runs: Runs, chosen: &Value<'p>, branches: Vec<Value<'p>>) -> Ran<'p, Option<Value<'p>>> {
        if runs == Runs::Cond {
            let at = usize::from(!self.truth(chosen, None));
            return Ok(branches.get(at).cloned());
        }
        // A `switch` is given its branches in a sequence.
        let sequence = branches.into_iter().next().unwrap_or(Value::None);
        let Some(branches) = self.items_of(&sequence)? else { return Ok(None) };
        let count = u8::try_from(branches.len().min(16)).unwrap_or(16);
        let at = match chosen.int() {
            Some(at) => usize::try_from(at.max(0)).unwrap_or(0).min(branches.len().saturating_sub(1)),
            None => usize::from(self.choose(count, 0)),
        };
        Ok(branches.get(at).cloned())
    }

    fn map(&mut self, function: &Value<'p>, over: &[Value<'p>], place: Place) -> Ran<'p, Value<'p>> {
        let known = Self::common_length(over);
        let mut outputs = Vec::new();
        let trips = self.trips(over, "<map>");
        let mut index = 0;
        while self.goes_on(trips, index, known) {
            let given: Vec<Value<'p>> = self.slices(over, index)?;
            outputs.push(self.call_value(function, Args::of(given), place)?);
            index += 1;
        }
        Ok(self.stacked(outputs, known))
    }

    fn fori(
        &mut self,
        function: &Value<'p>,
        mut carry: Value<'p>,
        [lower, upper]: [&Value<'p>; 2],
        place: Place,
    ) -> Ran<'p, Value<'p>> {
        let known = match (lower.int(), upper.int()) {
            (Some(lower), Some(upper)) => u32::try_from(upper.saturating_sub(lower).max(0)).ok(),
            _ => None,
        };
        let bounds = [self.symbol_of(lower), self.symbol_of(upper)];
        let trips = self.symbols.apply("range", &bounds);
        let mut index = 0;
        while self.goes_on(trips, index, known) {
            let at = Value::Int(i128::from(index));
            let at = self.operate(crate::ir::Operator::Add, lower, Some(&at), false)?;
            carry = self.call_value(function, Args::of(vec![at, carry]), place)?;
            index += 1;
        }
        Ok(if known.is_some_and(|known| index < known) { self.unknown("<carry>") } else { carry })
    }

    fn run_while(
        &mut self,
        function: &Value<'p>,
        cond: &Value<'p>,
        mut carry: Value<'p>,
        place: Place,
    ) -> Ran<'p, Value<'p>> {
        let trips = self.symbols.fresh("<while>");
        let mut index = 0;
        loop {
            let holds = self.call_value(cond, Args::of(vec![carry.clone()]), place)?;
            let goes_on = match holds.truth() {
                Some(truth) if index < ROUNDS => truth,
                Some(_) => {
                    self.is_bounded = true;
                    return Ok(self.unknown("<carry>"));
                }
                None => self.goes_on(trips, index, None),
            };
            if !goes_on {
                return Ok(carry);
            }
            carry = self.call_value(function, Args::of(vec![carry]), place)?;
            index += 1;
        }
    }

    /// The symbol of which a body runs once for each element: the first array that is not known.
    fn trips(&mut self, over: &[Value<'p>], otherwise: &str) -> super::symbol::Symbol {
        let found = over.iter().find_map(|tree| match tree {
            Value::Unknown(symbol) => Some(*symbol),
            Value::Tuple(parts) => parts.iter().find_map(|part| match part {
                Value::Unknown(symbol) => Some(*symbol),
                _ => None,
            }),
            _ => None,
        });
        found.unwrap_or_else(|| self.symbols.fresh(otherwise))
    }

    /// Whether a body runs once more.
    fn goes_on(&mut self, trips: super::symbol::Symbol, index: u32, known: Option<u32>) -> bool {
        match known {
            Some(known) if index >= known => false,
            Some(known) => {
                if index >= KNOWN_ITERATIONS && known > KNOWN_ITERATIONS {
                    self.is_bounded = true;
                    return false;
                }
                true
            }
            None => index < ITERATIONS && self.has_element(trips, index),
        }
    }

    fn scan(
        &mut self,
        function: &Value<'p>,
        mut carry: Value<'p>,
        over: &[Value<'p>],
        length: Option<&Value<'p>>,
        place: Place,
    ) -> Ran<'p, Value<'p>> {
        let given = length.and_then(|length| u32::try_from(length.int()?).ok());
        let known = Self::common_length(over).or(given);
        let mut outputs = Vec::new();
        let trips = self.trips(over, "<scan>");
        let mut index = 0;
        while self.goes_on(trips, index, known) {
            let mut given = vec![carry.clone()];
            given.extend(self.slices(over, index)?);
            let result = self.call_value(function, Args::of(given), place)?;
            carry = self.item(&result, &Value::Int(0))?;
            outputs.push(self.item(&result, &Value::Int(1))?);
            index += 1;
        }
        let stacked = self.stacked(outputs, known);
        if known.is_some_and(|known| index < known) {
            carry = self.unknown("<carry>");
        }
        Ok(Value::tuple(vec![carry, stacked]))
    }

    fn reduce(&mut self, function: &Value<'p>, args: &Args<'p>, path: &Name, place: Place) -> Ran<'p, Value<'p>> {
        let items = match args.positional.get(1) {
            Some(values) => self.items_of(values)?,
            None => None,
        };
        let Some(items) = items else {
            let (left, right) = (self.unknown("left"), self.unknown("right"));
            self.call_value(function, Args::of(vec![left, right]), place)?;
            return Ok(self.unknown(path));
        };
        let mut items = items.into_iter();
        let Some(mut folded) = args.positional.get(2).cloned().or_else(|| items.next()) else {
            return Ok(self.unknown(path));
        };
        for item in items {
            folded = self.call_value(function, Args::of(vec![folded, item]), place)?;
        }
        Ok(folded)
    }

    /// `tree.map`: the function on each leaf.
    fn tree_map(
        &mut self,
        function: &Value<'p>,
        trees: &[Value<'p>],
        leading: usize,
        place: Place,
    ) -> Ran<'p, Value<'p>> {
        let Some(first) = trees.first().cloned() else { return Ok(self.unknown("tree")) };
        self.nesting += 1;
        if self.nesting > 100 {
            self.nesting -= 1;
            self.is_bounded = true;
            return Ok(self.unknown("tree"));
        }
        let result = self.tree_map_of(function, &first, trees, leading, place);
        self.nesting -= 1;
        result
    }

    fn tree_map_of(
        &mut self,
        function: &Value<'p>,
        first: &Value<'p>,
        trees: &[Value<'p>],
        leading: usize,
        place: Place,
    ) -> Ran<'p, Value<'p>> {
        let part = |this: &mut Self, index: &Value<'p>| -> Ran<'p, Value<'p>> {
            let parts: Ran<'p, Vec<Value<'p>>> = trees.iter().map(|tree| this.item(tree, index)).collect();
            this.tree_map(function, &parts?, leading, place)
        };
        Ok(match first {
            Value::None => Value::None,
            Value::Tuple(values) => {
                let count = values.len();
                let mut results = Vec::with_capacity(count);
                for index in 0..count {
                    results.push(part(self, &Value::Int(i128::try_from(index).unwrap_or(0)))?);
                }
                Value::tuple(results)
            }
            Value::List(values) => {
                let count = values.borrow().len();
                let mut results = Vec::with_capacity(count);
                for index in 0..count {
                    results.push(part(self, &Value::Int(i128::try_from(index).unwrap_or(0)))?);
                }
                Value::list(results)
            }
            Value::Dict(pairs) => {
                let keys: Vec<Value<'p>> = pairs.borrow().iter().map(|(key, _)| key.clone()).collect();
                let mut results = Vec::with_capacity(keys.len());
                for key in keys {
                    let value = part(self, &key)?;
                    results.push((key, value));
                }
                Value::dict(results)
            }
            // A tree of unknown leaves: two stand for all.
            Value::Unknown(_) | Value::Instance(_) => {
                let mut results = Vec::new();
                for index in 0..2 {
                    let mut given: Vec<Value<'p>> = Vec::new();
                    for _ in 0..leading {
                        given.push(self.unknown("path"));
                    }
                    for tree in trees {
                        given.push(self.item(tree, &Value::Int(index))?);
                    }
                    results.push(self.call_value(function, Args::of(given), place)?);
                }
                self.stacked(results, None)
            }
            _ => {
                let mut given: Vec<Value<'p>> = Vec::new();
                for _ in 0..leading {
                    given.push(self.unknown("path"));
                }
                given.extend(trees.iter().cloned());
                self.call_value(function, Args::of(given), place)?
            }
        })
    }

    /// A mapped function: its body for a few lanes.
    fn run_lanes(
        &mut self,
        function: &Value<'p>,
        args: &Args<'p>,
        axes: Option<&Value<'p>>,
        place: Place,
    ) -> Ran<'p, (Vec<Value<'p>>, Option<u32>)> {
        let axis_of = |index: usize| -> Value<'p> {
            match axes {
                None => Value::Int(0),
                Some(Value::Tuple(parts)) => parts.get(index).cloned().unwrap_or(Value::Int(0)),
                Some(Value::List(parts)) => parts.borrow().get(index).cloned().unwrap_or(Value::Int(0)),
                Some(other) => other.clone(),
            }
        };
        let mapped: Vec<Value<'p>> = args
            .positional
            .iter()
            .enumerate()
            .filter(|(index, _)| !matches!(axis_of(*index), Value::None))
            .map(|(_, value)| value.clone())
            .collect();
        let known = Self::common_length(&mapped);
        let lanes = known.map_or(2, |known| if known <= LANES { known } else { 2 });
        if known.is_some_and(|known| known > LANES) {
            self.is_bounded = true;
        }
        let mut outputs = Vec::new();
        for lane in 0..lanes {
            let mut given = Args { is_open: args.is_open, ..Args::default() };
            for (index, value) in args.positional.iter().enumerate() {
                given.positional.push(self.lane(value, &axis_of(index), lane, 6)?);
            }
            for (name, value) in &args.keywords {
                let value = self.lane(value, &Value::Int(0), lane, 6)?;
                given.keywords.push((name.clone(), value));
            }
            self.lanes.push(lane);
            let output = self.call_value(function, given, place);
            self.lanes.pop();
            outputs.push(output?);
        }
        Ok((outputs, known))
    }

    /// The results of lanes along the second axis: as many arrays as each result has elements.
    fn stacked_within(&mut self, outputs: &[Value<'p>], known: Option<u32>) -> Value<'p> {
        let lengths: Option<Vec<usize>> = outputs
            .iter()
            .map(|output| match output {
                Value::Keys(array) => array.keys.shape().first().copied(),
                _ => None,
            })
            .collect();
        let Some((&count, rest)) = lengths.as_deref().and_then(<[usize]>::split_first) else {
            return self.unknown("<lanes>");
        };
        if rest.iter().any(|length| *length != count) || count > ELEMENTS {
            return self.unknown("<lanes>");
        }
        let mut rows = Vec::with_capacity(count);
        for index in 0..count {
            let element = |output: &Value<'p>| match output {
                Value::Keys(array) => super::keys::element(array, index),
                _ => None,
            };
            let row = outputs.iter().filter_map(element).collect();
            rows.push(self.stacked(row, known));
        }
        self.whole_stack(rows)
    }

    /// What one lane sees of an argument.
    fn lane(&mut self, value: &Value<'p>, axis: &Value<'p>, lane: u32, depth: u32) -> Ran<'p, Value<'p>> {
        if depth == 0 {
            return Ok(self.unknown("<lane>"));
        }
        let part = |axis: &Value<'p>, index: usize| match axis {
            Value::Tuple(parts) => parts.get(index).cloned().unwrap_or(Value::Int(0)),
            Value::List(parts) => parts.borrow().get(index).cloned().unwrap_or(Value::Int(0)),
            other => other.clone(),
        };
        Ok(match (value, axis) {
            (_, Value::None) => value.clone(),
            (Value::Tuple(values), _) => {
                let mut results = Vec::with_capacity(values.len());
                for (index, value) in values.iter().enumerate() {
                    results.push(self.lane(value, &part(axis, index), lane, depth - 1)?);
                }
                Value::tuple(results)
            }
            (Value::List(values), _) => {
                let values = values.borrow().clone();
                let mut results = Vec::with_capacity(values.len());
                for (index, value) in values.iter().enumerate() {
                    results.push(self.lane(value, &part(axis, index), lane, depth - 1)?);
                }
                Value::list(results)
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
                    let value = self.lane(&value, &axis, lane, depth - 1)?;
                    results.push((key, value));
                }
                Value::dict(results)
            }
            (
                Value::Keys(_) | Value::Family(_) | Value::Stack(_) | Value::Unknown(_) | Value::Range(..),
                Value::Int(0),
            ) => self.item(value, &Value::Int(i128::from(lane)))?,
            (Value::Unknown(_) | Value::Keys(_) | Value::Family(_) | Value::Stack(_), axis) => {
                let index = Value::tuple(vec![axis.clone(), Value::Int(i128::from(lane))]);
                let (of, at) = (self.symbol_of(value), self.symbol_of(&index));
                Value::Unknown(self.symbols.item(of, at))
            }
            _ => value.clone(),
        })
    }

    /// Element `index` of every tree.
    fn slices(&mut self, trees: &[Value<'p>], index: u32) -> Ran<'p, Vec<Value<'p>>> {
        trees.iter().map(|tree| self.lane(tree, &Value::Int(0), index, 6)).collect()
    }

    /// The length that the arrays in these trees share, where it is known.
    fn common_length(trees: &[Value<'p>]) -> Option<u32> {
        trees.iter().find_map(|tree| leading_length(tree, 6))
    }

    /// The results of several runs of a body as one array.
    fn stacked(&mut self, outputs: Vec<Value<'p>>, known: Option<u32>) -> Value<'p> {
        if let Some(Value::Tuple(first)) = outputs.first() {
            let width = first.len();
            let fits = outputs.iter().all(|output| matches!(output, Value::Tuple(parts) if parts.len() == width));
            if fits && width <= 16 {
                let mut columns = Vec::with_capacity(width);
                for column in 0..width {
                    let parts = outputs.iter().filter_map(|output| match output {
                        Value::Tuple(parts) => parts.get(column).cloned(),
                        _ => None,
                    });
                    let parts = parts.collect();
                    columns.push(self.stacked_column(parts, known));
                }
                return Value::tuple(columns);
            }
        }
        self.stacked_column(outputs, known)
    }

    fn stacked_column(&mut self, outputs: Vec<Value<'p>>, known: Option<u32>) -> Value<'p> {
        if outputs.iter().all(|output| matches!(output, Value::None)) {
            return Value::None;
        }
        let is_whole = known.is_some_and(|known| known as usize == outputs.len());
        let parts: Vec<_> = outputs.iter().take(16).map(|output| self.symbol_of(output)).collect();
        let rest = self.symbols.apply("stacked", &parts);
        Value::Stack(Rc::new(Stack { items: outputs, rest, is_whole }))
    }
}

fn leading_length(tree: &Value<'_>, depth: u32) -> Option<u32> {
    if depth == 0 {
        return None;
    }
    match tree {
        Value::Keys(array) => u32::try_from(*array.keys.shape().first()?).ok(),
        Value::Range(from, to, step) => u32::try_from(super::value::length_of_range(*from, *to, *step)).ok(),
        Value::Stack(stack) if stack.is_whole => u32::try_from(stack.items.len()).ok(),
        Value::Tuple(values) => values.iter().find_map(|value| leading_length(value, depth - 1)),
        Value::List(values) => values.borrow().iter().find_map(|value| leading_length(value, depth - 1)),
        Value::Dict(pairs) => pairs.borrow().iter().find_map(|(_, value)| leading_length(value, depth - 1)),
        _ => None,
    }
}
