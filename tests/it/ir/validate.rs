//! Checks the guarantees of the IR.
//!
//! **Invariant:** the check knows nothing of how lowering works; a module that passes can be run by an interpreter that
//! indexes without looking.

use keylint::ir::{
    Argument, Block, Element, Function, FunctionId, FunctionKind, Module, OpKind, Operator, Temp, Variable,
};
use keylint::python::MAX_DEPTH;

/// Deepest nesting of blocks: a few for each level of syntax.
const DEEPEST: u32 = 4 * MAX_DEPTH;

/// The problems of a module, one sentence each; none for the output of lowering.
pub fn validate(module: &Module) -> Vec<String> {
    let mut problems = Vec::new();
    let mut made = vec![0_u32; module.functions.len()];
    match module.functions.first() {
        Some(body) if body.kind == FunctionKind::Module && body.parent.is_none() => {}
        _ => problems.push("the first function is not the module's body".to_owned()),
    }
    for (index, function) in (0u32..).zip(&module.functions) {
        let mut check = Check {
            module,
            function,
            id: FunctionId(index),
            state: vec![State::Absent; function.ops.len()],
            made: &mut made,
            loops: 0,
            depth: 0,
            problems: Vec::new(),
        };
        check.function();
        problems.append(&mut check.problems);
    }
    for (index, count) in made.iter().enumerate().skip(1) {
        if *count != 1 {
            problems.push(format!("function {index} is made by {count} operations"));
        }
    }
    problems
}

/// What is known of an operation while blocks are walked.
#[derive(Clone, Copy, PartialEq)]
enum State {
    /// It is in no block so far.
    Absent,
    /// It has been executed on every path to here.
    Done,
    /// It is in a block that does not dominate this one.
    Elsewhere,
}

struct Check<'m> {
    module: &'m Module,
    function: &'m Function,
    id: FunctionId,
    state: Vec<State>,
    made: &'m mut Vec<u32>,
    loops: u32,
    depth: u32,
    problems: Vec<String>,
}

impl Check<'_> {
    fn problem(&mut self, temp: Temp, text: &str) {
        self.problems.push(format!("{} (function {}), %{temp}: {text}", self.function.qualified, self.id.0));
    }

    fn function(&mut self) {
        let function = self.function;
        let named = function.named as usize;
        if function.parameters.len() > named || named > function.slots.len() {
            self.problem(0, "parameters, named slots and slots do not nest");
        }
        for (parameter, slot) in function.parameters.iter().zip(&function.slots) {
            if parameter.name != *slot {
                self.problem(0, "a parameter is not in the slot of its place");
            }
        }
        if function.parent.is_none() && self.id != Module::BODY {
            self.problem(0, "the function stands nowhere");
        }
        self.block(&function.body);
        for (temp, state) in (0u32..).zip(self.state.clone()) {
            if state == State::Absent {
                self.problem(temp, "the operation stands in no block");
            }
        }
    }

    /// Walks a block; its operations are done when it returns.
    fn block(&mut self, block: &Block) {
        if self.depth >= DEEPEST {
            return self.problem(0, "blocks nest too deep");
        }
        self.depth += 1;
        for temp in block {
            match self.state.get(*temp as usize) {
                None => {
                    self.problem(*temp, "the operation does not exist");
                    continue;
                }
                Some(State::Absent) => {}
                Some(_) => self.problem(*temp, "the operation stands in two places"),
            }
            self.op(*temp);
            self.state[*temp as usize] = State::Done;
        }
        self.depth -= 1;
    }

    /// Walks a block whose operations are not done on the paths that follow.
    fn branch(&mut self, block: &Block) {
        self.block(block);
        self.leave(block);
    }

    fn leave(&mut self, block: &Block) {
        for temp in block {
            if let Some(state) = self.state.get_mut(*temp as usize) {
                *state = State::Elsewhere;
            }
        }
    }

    fn op(&mut self, temp: Temp) {
        let function = self.function;
        let op = &function.ops[temp as usize];
        if op.span.start > op.span.end {
            self.problem(temp, "the span ends before it begins");
        }
        match &op.kind {
            OpKind::If { test, then, orelse } => {
                self.reads(temp, [*test]);
                self.branch(then);
                self.branch(orelse);
            }
            OpKind::Loop { head, test, body, orelse } => self.check_loop(temp, head, *test, body, orelse),
            OpKind::Try { body, handlers, orelse, finally } => {
                // The handlers and `finally` may run when only a part of `body` has.
                self.block(body);
                self.branch(orelse);
                self.leave(body);
                for handler in handlers {
                    if handler.types.is_some_and(|types| !handler.body.contains(&types)) {
                        self.problem(temp, "the types of a handler are not evaluated in its block");
                    }
                    if let Some(name) = &handler.name {
                        self.variable(temp, name);
                    }
                    self.branch(&handler.body);
                }
                self.branch(finally);
            }
            kind => self.simple(temp, kind),
        }
    }

    fn check_loop(&mut self, temp: Temp, head: &Block, test: Option<Temp>, body: &Block, orelse: &Block) {
        self.block(head);
        match test {
            Some(test) if head.contains(&test) => {}
            Some(_) => self.problem(temp, "the test is not evaluated by the head"),
            None => {
                let next = |temp: &Temp| matches!(self.function.ops[*temp as usize].kind, OpKind::Next(_));
                if !matches!(&**head, [only] if next(only)) {
                    self.problem(temp, "the head of a loop without a test is not one `Next`");
                }
            }
        }
        self.loops += 1;
        self.branch(body);
        self.loops -= 1;
        self.branch(orelse);
        self.leave(head);
    }

    /// An operation without blocks.
    fn simple(&mut self, temp: Temp, kind: &OpKind) {
        let function = self.function;
        let refers = |to: Temp, is: fn(&OpKind) -> bool| function.ops.get(to as usize).is_some_and(|op| is(&op.kind));
        match kind {
            OpKind::Constant(_)
            | OpKind::Import { .. }
            | OpKind::ImportFrom { .. }
            | OpKind::If { .. }
            | OpKind::Loop { .. }
            | OpKind::Try { .. } => {}
            OpKind::Load(variable) | OpKind::Delete(variable) => self.variable(temp, variable),
            OpKind::Store(variable, value) => {
                self.variable(temp, variable);
                self.reads(temp, [*value]);
            }
            OpKind::Attribute(value, _)
            | OpKind::DeleteAttribute(value, _)
            | OpKind::Iterate(value)
            | OpKind::Enter(value)
            | OpKind::Await(value)
            | OpKind::Annotate(value, _)
            | OpKind::Unpack { value, .. } => self.reads(temp, [*value]),
            OpKind::StoreAttribute(object, _, value)
            | OpKind::Item(object, value)
            | OpKind::DeleteItem(object, value) => self.reads(temp, [*object, *value]),
            OpKind::StoreItem(object, index, value) => self.reads(temp, [*object, *index, *value]),
            OpKind::Build(_, elements) => elements.iter().for_each(|element| self.element(temp, *element)),
            OpKind::Operate(operator, operands, _) => self.operate(temp, *operator, *operands),
            OpKind::Call(callee, arguments) => {
                self.reads(temp, [*callee]);
                self.arguments(temp, arguments);
            }
            OpKind::Function(id, defaults) => {
                self.reads(temp, defaults.iter().map(|(_, value)| *value));
                let parameters = self.module.functions.get(id.0 as usize).map_or(0, |made| made.parameters.len());
                if defaults.iter().any(|(index, _)| *index as usize >= parameters) {
                    self.problem(temp, "a default belongs to no parameter");
                }
                self.makes(temp, *id);
            }
            OpKind::Class(id, arguments) => {
                self.arguments(temp, arguments);
                match self.module.classes.get(id.0 as usize) {
                    Some(class) => self.makes(temp, class.body),
                    None => self.problem(temp, "the class does not exist"),
                }
            }
            OpKind::Project(unpacked, index) => {
                self.reads(temp, [*unpacked]);
                match function.ops.get(*unpacked as usize).map(|op| &op.kind) {
                    Some(OpKind::Unpack { count, .. }) if index < count => {}
                    _ => self.problem(temp, "there is no such part"),
                }
            }
            OpKind::Next(iterator) => {
                self.reads(temp, [*iterator]);
                if !refers(*iterator, |kind| matches!(kind, OpKind::Iterate(_))) {
                    self.problem(temp, "`Next` asks something that `Iterate` did not make");
                }
            }
            OpKind::Leave(entered) => {
                self.reads(temp, [*entered]);
                if !refers(*entered, |kind| matches!(kind, OpKind::Enter(_))) {
                    self.problem(temp, "`Leave` leaves what was not entered");
                }
            }
            OpKind::Append(container, element) => {
                self.reads(temp, [*container]);
                self.element(temp, *element);
                if !refers(*container, |kind| matches!(kind, OpKind::Build(..))) {
                    self.problem(temp, "`Append` adds to what was not built here");
                }
            }
            OpKind::Return(value) => {
                self.reads(temp, value.iter().copied());
                if matches!(function.kind, FunctionKind::Module | FunctionKind::ClassBody) {
                    self.problem(temp, "`Return` outside of a function");
                }
            }
            OpKind::Raise(value) => self.reads(temp, value.iter().copied()),
            OpKind::Yield { value, .. } => {
                self.reads(temp, value.iter().copied());
                if !function.is_generator {
                    self.problem(temp, "`Yield` outside of a generator");
                }
            }
            OpKind::Break | OpKind::Continue => {
                if self.loops == 0 {
                    self.problem(temp, "a jump outside of a loop");
                }
            }
            OpKind::Unsupported(writes) => writes.iter().for_each(|variable| self.variable(temp, variable)),
        }
    }

    fn operate(&mut self, temp: Temp, operator: Operator, operands: [Option<Temp>; 2]) {
        self.reads(temp, operands.iter().flatten().copied());
        let unary = matches!(
            operator,
            Operator::Invert | Operator::Not | Operator::Neg | Operator::Pos | Operator::MatchSequence(..)
        );
        if operands[0].is_none() || operands[1].is_none() != unary {
            self.problem(temp, "the operator has another number of operands");
        }
    }

    fn reads(&mut self, temp: Temp, operands: impl IntoIterator<Item = Temp>) {
        for operand in operands {
            if self.state.get(operand as usize) != Some(&State::Done) {
                self.problem(temp, &format!("%{operand} is read but not executed on every path"));
            }
        }
    }

    fn element(&mut self, temp: Temp, element: Element) {
        match element {
            Element::Value(value) | Element::Spread(value) | Element::SpreadMapping(value) => {
                self.reads(temp, [value]);
            }
            Element::Pair(key, value) => self.reads(temp, [key, value]),
        }
    }

    fn arguments(&mut self, temp: Temp, arguments: &[Argument]) {
        let values = arguments.iter().map(|argument| match argument {
            Argument::Positional(value)
            | Argument::Spread(value)
            | Argument::Keyword(_, value)
            | Argument::SpreadMapping(value) => *value,
        });
        self.reads(temp, values);
    }

    fn makes(&mut self, temp: Temp, id: FunctionId) {
        if let Some(count) = self.made.get_mut(id.0 as usize) {
            *count += 1;
        }
        match self.module.functions.get(id.0 as usize) {
            Some(function) if function.parent == Some(self.id) && id > self.id => {}
            Some(_) => self.problem(temp, "the function belongs to another one"),
            None => self.problem(temp, "the function does not exist"),
        }
    }

    fn variable(&mut self, temp: Temp, variable: &Variable) {
        let (depth, slot) = match variable {
            Variable::Local(slot) => (0, *slot),
            Variable::Outer(0, _) => {
                return self.problem(temp, "a variable of the running function is called an outer one");
            }
            Variable::Outer(depth, slot) => (*depth, *slot),
            Variable::Global(_) => return,
        };
        let mut function = Some(self.function);
        for _ in 0..depth {
            let parent = function.and_then(|function| function.parent);
            function = parent.and_then(|parent| self.module.functions.get(parent.0 as usize));
        }
        if function.is_none_or(|function| slot as usize >= function.slots.len()) {
            self.problem(temp, "the variable's slot does not exist");
        }
    }
}
