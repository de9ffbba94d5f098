//! Transforms: functions that run the functions they are given.
//!
//! **Invariant:** how often a body runs and on what is read from the transform's model. Loop-like transforms run a few copies, as
//! loops do; a body runs at least once.

use std::rc::Rc;

use crate::analysis::domain::guard::Guard;
use crate::analysis::domain::term::{Term, TermId};
use crate::analysis::domain::value::{Val, Value, Wrapped};
use crate::finding::Place;
use crate::ir::{Name, Operator};
use crate::models::{Callable, Effect, Returns, Runs, Transform, TransformResult};

use super::bind::{Arg, Args};
use super::{Frame, Machine};

impl<'p> Machine<'p> {
    /// A call of the transform itself.
    pub(super) fn transform(
        &mut self,
        frame: &mut Frame<'p>,
        transform: &'p Transform,
        callable: &'p Callable,
        path: &Name,
        args: Args,
        place: Place,
    ) -> Value {
        match transform.returns {
            Returns::Function => {
                let function = transform.function.as_deref().and_then(|name| args.of(callable, name));
                let function = function.map(|arg| arg.value.clone());
                if let Some(function) = &function {
                    self.mark_transformed(function);
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
                Value::of(Val::Wrapped(Rc::new(Wrapped { transform: path.clone(), options: options.into(), function })))
            }
            Returns::Result => self.run_transform(frame, transform, callable, &args, place),
        }
    }

    fn mark_transformed(&mut self, function: &Value) {
        for alternative in function.alternatives() {
            match &alternative.val {
                Val::Function(closure) => {
                    if let Some(idle) = self.context.pending.get_mut(&closure.identity) {
                        idle.transformed = true;
                    }
                }
                Val::Wrapped(wrapped) => {
                    if let Some(inner) = &wrapped.function {
                        self.mark_transformed(inner);
                    }
                }
                _ => {}
            }
        }
    }

    /// A call of what a transform returned.
    pub(super) fn call_wrapped(
        &mut self,
        frame: &mut Frame<'p>,
        wrapped: &Rc<Wrapped>,
        mut args: Args,
        place: Place,
    ) -> Value {
        let models = self.program.models;
        let Some(callable) = models.callable(&wrapped.transform) else {
            return self.opaque("<transformed>", Some(place));
        };
        let transform = match &callable.effect {
            Effect::Transform(transform) => transform,
            Effect::Factory { makes } => {
                let path = wrapped.transform.clone();
                return self.apply_model(frame, makes, &path, args, place);
            }
            _ => return self.opaque("<transformed>", Some(place)),
        };
        let Some(function) = wrapped.function.clone() else {
            // A decorator with arguments meets its function.
            if args.positional.is_empty() {
                return self.opaque("<decorator>", Some(place));
            }
            let function = args.positional.remove(0).value;
            self.mark_transformed(&function);
            return Value::of(Val::Wrapped(Rc::new(Wrapped {
                transform: wrapped.transform.clone(),
                options: wrapped.options.clone(),
                function: Some(function),
            })));
        };
        let option = |name: Option<&str>| {
            let name = name?;
            wrapped.options.iter().find(|(option, _)| &**option == name).map(|(_, value)| value.clone())
        };
        match transform.runs {
            Runs::Lanes => {
                let axes = option(transform.axes.as_deref());
                self.run_lanes(frame, &function, args, axes.as_ref(), place)
            }
            Runs::Blocks => self.run_blocks(frame, &function, args, place),
            Runs::Abstract => {
                self.transforms.abstract_depth += 1;
                self.call_value(frame, &function, args, Some(place));
                self.transforms.abstract_depth -= 1;
                self.opaque("<abstract>", Some(place))
            }
            _ => {
                let value = self.call_value(frame, &function, args, Some(place));
                let aux = option(transform.aux.as_deref()).is_some_and(|flag| self.is_true(&flag));
                self.transform_result(transform.result, value, aux, place)
            }
        }
    }

    pub(super) fn is_true(&mut self, value: &Value) -> bool {
        self.truth(value).is_true()
    }

    fn transform_result(&mut self, result: TransformResult, value: Value, aux: bool, place: Place) -> Value {
        match result {
            TransformResult::Value => value,
            TransformResult::Grad => {
                let gradients = self.opaque("<gradients>", Some(place));
                if aux {
                    let extra = self.part(&value, 1, place);
                    Value::of(Val::Tuple([gradients, extra].into()))
                } else {
                    gradients
                }
            }
            TransformResult::ValueAndGrad | TransformResult::Jvp | TransformResult::Vjp => {
                let gradients = self.opaque("<gradients>", Some(place));
                Value::of(Val::Tuple([value, gradients].into()))
            }
            TransformResult::Opaque => self.opaque("<transformed>", Some(place)),
        }
    }

    /// One part of a tuple, by index.
    pub(super) fn part(&mut self, value: &Value, index: usize, place: Place) -> Value {
        self.on_alternatives(value, |this, val| match val {
            Val::Tuple(parts) => match parts.get(index) {
                Some(part) => part.clone(),
                None => this.opaque("<part>", Some(place)),
            },
            Val::Term(term) => {
                let index = this.terms.int(i128::try_from(index).unwrap_or(0));
                Value::term(this.terms.intern(Term::Item(*term, index, 0)))
            }
            _ => this.opaque("<part>", Some(place)),
        })
    }

    /// A transform that runs its body when it is called itself.
    #[expect(clippy::too_many_lines, reason = "one arm for each operation")]
    fn run_transform(
        &mut self,
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
            let mut unpacked = Vec::new();
            for operand in &operands {
                match self.items_of(frame, &operand.value) {
                    Some(items) => {
                        unpacked.extend(items.into_iter().map(|item| Arg { value: item.value, written: None }));
                    }
                    None => unpacked.push(operand.clone()),
                }
            }
            operands = unpacked;
        }
        match transform.runs {
            Runs::Reduce if transform.carry.is_some() => {
                let carry = get(transform.carry.as_deref());
                let over = transform.over.first().and_then(|name| get(Some(name))).unwrap_or_default();
                self.run_reduce(frame, &function, carry, &over, place)
            }
            Runs::Once | Runs::Associative | Runs::Reduce | Runs::Abstract | Runs::Lanes | Runs::Blocks => {
                let body_args = if matches!(transform.runs, Runs::Associative | Runs::Reduce) {
                    let place = Some(place);
                    Args::positional(vec![self.opaque("<left>", place), self.opaque("<right>", place)])
                } else {
                    Args { positional: operands, ..Args::default() }
                };
                let is_abstract = transform.runs == Runs::Abstract;
                self.transforms.abstract_depth += u32::from(is_abstract);
                let value = self.call_value(frame, &function, body_args, Some(place));
                self.transforms.abstract_depth -= u32::from(is_abstract);
                if is_abstract || matches!(transform.runs, Runs::Associative | Runs::Reduce) {
                    return self.opaque("<result>", Some(place));
                }
                let aux = get(transform.aux.as_deref()).is_some_and(|flag| self.is_true(&flag));
                self.transform_result(transform.result, value, aux, place)
            }
            Runs::Scan => {
                let carry = get(transform.carry.as_deref()).unwrap_or_default();
                let over: Vec<Value> = transform.over.iter().filter_map(|name| get(Some(name))).collect();
                let length = get(transform.length.as_deref());
                self.run_scan(frame, &function, carry, &over, length.as_ref(), place)
            }
            Runs::Map => {
                let over: Vec<Value> = transform
                    .over
                    .iter()
                    .flat_map(|name| {
                        args.all_of(callable, name).into_iter().map(|arg| arg.value.clone()).collect::<Vec<_>>()
                    })
                    .collect();
                self.run_map(frame, &function, &over, place)
            }
            Runs::Fori => {
                let carry = get(transform.carry.as_deref()).unwrap_or_default();
                let lower = get(transform.lower.as_deref()).unwrap_or_default();
                let upper = get(transform.upper.as_deref()).unwrap_or_default();
                self.run_fori(frame, &function, carry, &lower, &upper, place)
            }
            Runs::While => {
                let mut carry = get(transform.carry.as_deref()).unwrap_or_default();
                let cond = get(transform.cond.as_deref()).unwrap_or_default();
                let before = self.paths.pc;
                let mut over = Guard::FALSE;
                self.repeat(frame, None, place, |this, frame, copy| {
                    let test = this.call_value(frame, &cond, Args::positional(vec![carry.clone()]), Some(place));
                    let holds = this.truth(&test);
                    // A body is taken to run once.
                    if copy > 0 || this.is_possible(holds) {
                        let end = this.paths.guards.without(this.paths.pc, holds);
                        over = this.paths.guards.or(over, end);
                        this.paths.pc = this.paths.guards.and(this.paths.pc, holds);
                    }
                    if !this.feasible(this.paths.pc) {
                        this.paths.pc = Guard::FALSE;
                        return;
                    }
                    carry = this.call_value(frame, &function, Args::positional(vec![carry.clone()]), Some(place));
                });
                self.paths.pc = self.paths.guards.or(self.paths.pc, over);
                if self.paths.pc.is_false() {
                    self.paths.pc = before;
                }
                carry
            }
            Runs::Cond => {
                let chosen = get(transform.chosen.as_deref()).unwrap_or_default();
                let branches: Vec<Value> = transform.branches.iter().filter_map(|name| get(Some(name))).collect();
                let holds = self.truth(&chosen);
                let others = self.paths.guards.not(holds);
                self.run_branches(frame, &branches, &[holds, others], &operands, place)
            }
            Runs::Switch => {
                let chosen = get(transform.chosen.as_deref()).unwrap_or_default();
                let sequence = transform.branches.first().and_then(|name| get(Some(name))).unwrap_or_default();
                let Some(items) = self.items_of(frame, &sequence) else {
                    for operand in &operands {
                        self.havoc(&operand.value);
                    }
                    return self.opaque("<switch>", Some(place));
                };
                let branches: Vec<Value> = items.into_iter().map(|item| item.value).collect();
                let index = self.term_of(&chosen);
                let mut rest = Guard::TRUE;
                let mut guards = Vec::new();
                for position in 0..branches.len() {
                    let number = self.terms.int(i128::try_from(position).unwrap_or(0));
                    let equal = self.terms.operate(Operator::Eq, &[index, number]);
                    let holds = if position + 1 == branches.len() { Guard::TRUE } else { self.truth_of_term(equal) };
                    let guard = self.paths.guards.and(rest, holds);
                    rest = self.paths.guards.without(rest, holds);
                    guards.push(guard);
                }
                self.run_branches(frame, &branches, &guards, &operands, place)
            }
            Runs::TreeMap => {
                let trees: Vec<Value> = transform
                    .over
                    .iter()
                    .flat_map(|name| {
                        args.all_of(callable, name).into_iter().map(|arg| arg.value.clone()).collect::<Vec<_>>()
                    })
                    .collect();
                self.run_tree_map(frame, &function, &trees, transform.leading, place)
            }
        }
    }

    fn run_branches(
        &mut self,
        frame: &mut Frame<'p>,
        branches: &[Value],
        guards: &[Guard],
        operands: &[Arg],
        place: Place,
    ) -> Value {
        let before = self.paths.pc;
        let mut after = Guard::FALSE;
        let mut result = Value::unbound();
        for (branch, guard) in branches.iter().zip(guards) {
            self.paths.pc = self.paths.guards.and(before, *guard);
            if !self.feasible(self.paths.pc) {
                continue;
            }
            let args = Args { positional: operands.to_vec(), ..Args::default() };
            let value = self.call_value(frame, branch, args, Some(place));
            for alternative in value.alternatives() {
                let both = self.paths.guards.and(*guard, alternative.guard);
                result.push(&mut self.paths.guards, both, alternative.val.clone());
            }
            after = self.paths.guards.or(after, self.paths.pc);
        }
        self.paths.pc = if after.is_false() { before } else { after };
        if result.is_unbound() || result.is_too_various() { self.opaque("<branch>", Some(place)) } else { result }
    }

    /// Runs `body` for a few iterations.
    pub(super) fn repeat(
        &mut self,
        frame: &mut Frame<'p>,
        known: Option<u32>,
        place: Place,
        body: impl FnMut(&mut Self, &mut Frame<'p>, u32),
    ) {
        self.repeat_if(frame, known, None, place, body);
    }

    /// Runs `body` for a few iterations; a second one only on the paths on which `goes_on` holds.
    fn repeat_if(
        &mut self,
        frame: &mut Frame<'p>,
        known: Option<u32>,
        goes_on: Option<TermId>,
        place: Place,
        mut body: impl FnMut(&mut Self, &mut Frame<'p>, u32),
    ) {
        let copies = self.copies(known);
        let (instance, outer) = self.begin_loop();
        let mut over = Guard::FALSE;
        for copy in 0..copies {
            if let (1, Some(goes_on)) = (copy, goes_on) {
                let holds = self.truth_of_term(goes_on);
                over = self.paths.guards.without(self.paths.pc, holds);
                self.paths.pc = self.paths.guards.and(self.paths.pc, holds);
                if !self.feasible(self.paths.pc) {
                    self.paths.pc = Guard::FALSE;
                }
            }
            if self.paths.pc.is_false() {
                break;
            }
            self.begin_copy(instance, copy, place, outer.clone());
            body(self, frame, copy);
        }
        self.paths.pc = self.paths.guards.or(self.paths.pc, over);
        self.end_loop(outer);
    }

    /// That there are two iterations at least, for a number of them that is told by a term.
    fn has_two(&mut self, length: Option<TermId>) -> Option<TermId> {
        let length = length.filter(|length| self.terms.as_int(*length).is_none())?;
        let one = self.terms.int(1);
        Some(self.terms.operate(Operator::Lt, &[one, length]))
    }

    /// The number of elements of the first of some trees that tells it.
    fn symbolic_length(&mut self, trees: &[Value]) -> Option<TermId> {
        trees.iter().find_map(|tree| match tree.single()? {
            Val::Array(array) => array.dims.as_ref()?.first().copied().flatten(),
            Val::Tuple(parts) => self.symbolic_length(parts),
            Val::Term(term) if !self.terms.is_constant(*term) => Some(self.length_of_term(*term)),
            _ => None,
        })
    }

    /// The `n` of `arange(n)`, whatever its type.
    pub(super) fn counted(&self, term: TermId) -> Option<TermId> {
        match self.terms.get(term) {
            Term::Apply(name, parts) if self.program.models.is_counting(name) => match &**parts {
                [number] => Some(*number),
                [number, keyword, _] => {
                    matches!(self.terms.get(*keyword), Term::Text(keyword) if &**keyword == "dtype").then_some(*number)
                }
                _ => None,
            },
            _ => None,
        }
    }

    fn run_scan(
        &mut self,
        frame: &mut Frame<'p>,
        function: &Value,
        mut carry: Value,
        over: &[Value],
        length: Option<&Value>,
        place: Place,
    ) -> Value {
        let known = self.common_length(over).or_else(|| {
            let term = length.map(|length| self.term_of(length))?;
            u32::try_from(self.terms.as_int(term)?).ok()
        });
        let mut outputs: Vec<Value> = Vec::new();
        let steps = self.symbolic_length(over).or_else(|| length.map(|length| self.term_of(length)));
        let goes_on = self.has_two(steps);
        self.repeat_if(frame, known, goes_on, place, |this, frame, copy| {
            let index = this.terms.int(i128::from(copy));
            let mut args = vec![carry.clone()];
            args.extend(over.iter().map(|tree| this.slice_tree(tree, index)));
            let result = this.call_value(frame, function, Args::positional(args), Some(place));
            carry = this.part(&result, 0, place);
            let output = this.part(&result, 1, place);
            outputs.push(output);
        });
        let stacked = self.joined(&outputs, place);
        Value::of(Val::Tuple([carry, stacked].into()))
    }

    /// `reduce(function, over, carry)`: without a carry the first element is it.
    fn run_reduce(
        &mut self,
        frame: &mut Frame<'p>,
        function: &Value,
        carry: Option<Value>,
        over: &Value,
        place: Place,
    ) -> Value {
        let mut elements = self.items_of(frame, over).map(Vec::into_iter);
        let known = elements.as_ref().and_then(|elements| u32::try_from(elements.len()).ok());
        let is_first_taken = carry.is_none();
        let mut next = |this: &mut Self, position: u32| {
            if let Some(elements) = &mut elements {
                return elements.next().map_or((Guard::TRUE, Value::unbound()), |item| (item.guard, item.value));
            }
            let index = this.terms.int(i128::from(position));
            (Guard::TRUE, this.slice_tree(over, index))
        };
        let mut carry = carry.unwrap_or_else(|| next(self, 0).1);
        let first = u32::from(is_first_taken);
        self.repeat(frame, known.map(|known| known.saturating_sub(first)), place, |this, frame, copy| {
            let (guard, element) = next(this, copy + first);
            let args = Args::positional(vec![carry.clone(), element]);
            let mut added = carry.clone();
            this.under(guard, |this| added = this.call_value(frame, function, args, Some(place)));
            carry = added.join(&mut this.paths.guards, guard, &carry);
        });
        carry
    }

    fn run_map(&mut self, frame: &mut Frame<'p>, function: &Value, over: &[Value], place: Place) -> Value {
        let known = self.common_length(over);
        let mut outputs: Vec<Value> = Vec::new();
        let steps = self.symbolic_length(over);
        let goes_on = self.has_two(steps);
        self.repeat_if(frame, known, goes_on, place, |this, frame, copy| {
            let index = this.terms.int(i128::from(copy));
            let args = over.iter().map(|tree| this.slice_tree(tree, index)).collect();
            outputs.push(this.call_value(frame, function, Args::positional(args), Some(place)));
        });
        self.joined(&outputs, place)
    }

    fn run_fori(
        &mut self,
        frame: &mut Frame<'p>,
        function: &Value,
        mut carry: Value,
        lower: &Value,
        upper: &Value,
        place: Place,
    ) -> Value {
        let (lower, upper) = (self.term_of(lower), self.term_of(upper));
        let known = self.terms.difference(upper, lower).and_then(|trips| u32::try_from(trips.max(0)).ok());
        let steps = self.terms.operate(Operator::Sub, &[upper, lower]);
        let goes_on = self.has_two(Some(steps));
        self.repeat_if(frame, known, goes_on, place, |this, frame, copy| {
            let index = this.terms.offset(lower, i128::from(copy));
            let args = vec![Value::term(index), carry.clone()];
            carry = this.call_value(frame, function, Args::positional(args), Some(place));
        });
        carry
    }

    /// Element `index` of every array in a tree.
    pub(super) fn slice_tree(&mut self, tree: &Value, index: TermId) -> Value {
        let tree = tree.clone();
        self.on_alternatives(&tree, |this, val| match val {
            Val::Array(array) => this.array_element(&array.clone(), index),
            Val::Tuple(parts) => {
                let parts: Vec<Value> = parts.clone().iter().map(|part| this.slice_tree(part, index)).collect();
                Value::of(Val::Tuple(parts.into()))
            }
            Val::Term(term) if this.terms.is_constant(*term) => Value::term(*term),
            Val::Term(term) => {
                if this.counted(*term).is_some() {
                    return Value::term(index);
                }
                Value::term(this.terms.intern(Term::Item(*term, index, 0)))
            }
            Val::Object(object) => this.slice_object(*object, index),
            _ => {
                let term = this.term_of_val(val);
                Value::term(this.terms.intern(Term::Item(term, index, 0)))
            }
        })
    }

    /// Length that the arrays in these trees share, where it is known.
    pub(super) fn common_length(&mut self, trees: &[Value]) -> Option<u32> {
        for tree in trees {
            let shortest = tree
                .alternatives()
                .iter()
                .map(|alternative| self.length_of_val(&alternative.val.clone()))
                .try_fold(i128::MAX, |least, length| Some(least.min(length?)));
            if let Some(length) = shortest.filter(|_| !tree.is_unbound()) {
                return u32::try_from(length).ok();
            }
        }
        None
    }

    /// Length of the arrays in one tree, where it is known.
    fn length_of_val(&mut self, val: &Val) -> Option<i128> {
        match val {
            Val::Array(array) => {
                let first = array.dims.as_ref().and_then(|dims| dims.first().copied().flatten());
                first.and_then(|length| self.terms.as_int(length))
            }
            Val::Tuple(parts) => self.common_length(&parts.clone()).map(i128::from),
            Val::Term(term) if !self.terms.is_constant(*term) => {
                let length = self.length_of_term(*term);
                self.terms.as_int(length)
            }
            _ => None,
        }
    }
}
