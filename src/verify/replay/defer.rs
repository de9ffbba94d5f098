//! Statements of modules that run when what they bind is asked for.
//!
//! A replay of a function asks for few of the classes, decorated functions and tables that the modules around it make. In a module
//! that logs nothing, a statement that does no more than bind names which nothing else binds is put off until one of its names
//! is asked for.
//!
//! **Invariant:** what a name is bound to does not depend on when that is asked. A statement that is put off may call, and what
//! it calls may write to what the module holds: before a thing that can be written to is given out, those that call have run.

use std::ops::Range;
use std::rc::Rc;

use rustc_hash::FxHashMap;

use super::access::IMPORTING;
use super::lost::is_container;
use super::machine::{Halt, Machine, Ran, Signal};
use super::value::{Environment, Value};
use crate::ir::{Function, FunctionId, Module, Name, Op, OpKind, Temp, Variable};

/// Fewest operations of a statement that is put off; for less, that is no saving.
const WORTH: usize = 4;

/// Statements of a module's body that follow each other, and run together.
pub(super) struct Statements {
    /// Where they stand in the body.
    block: Range<usize>,
    /// Their operations, and those of their blocks, in the arena.
    pub(super) arena: Range<Temp>,
    /// The names that they bind, where they may be put off.
    binds: Vec<Name>,
    /// Whether they call.
    calls: bool,
}

/// The statements of a module's body.
pub(super) struct Plan {
    parts: Vec<Statements>,
    /// The part that makes each function, or the class around it.
    makers: FxHashMap<FunctionId, usize>,
}

/// Statements that have not run, and the variables of the body that they are in.
pub(super) struct Deferred<'p> {
    module: usize,
    part: usize,
    environment: Rc<Environment<'p>>,
}

impl Plan {
    /// What of a module's body may be put off.
    pub(super) fn of(module: &Module) -> Self {
        let mut plan = Self { parts: Vec::new(), makers: FxHashMap::default() };
        let Some(code) = module.functions.first() else { return plan };
        let bound = bindings(module);
        let mut start = 0;
        for end in statement_ends(code) {
            let statement = statement(code, start..end, &bound);
            start = end;
            match plan.parts.last_mut() {
                Some(last) if last.binds.is_empty() && statement.binds.is_empty() => {
                    last.block.end = statement.block.end;
                    last.arena.start = last.arena.start.min(statement.arena.start);
                    last.arena.end = last.arena.end.max(statement.arena.end);
                }
                _ => plan.parts.push(statement),
            }
        }
        plan.note_makers(module, code);
        plan
    }

    fn note_makers(&mut self, module: &Module, code: &Function) {
        for (number, part) in self.parts.iter().enumerate() {
            for temp in part.arena.clone() {
                let made = match code.ops.get(temp as usize).map(|op| &op.kind) {
                    Some(OpKind::Function(function, _)) => Some(*function),
                    Some(OpKind::Class(class, _)) => module.classes.get(class.0 as usize).map(|class| class.body),
                    _ => None,
                };
                self.makers.extend(made.map(|made| (made, number)));
            }
        }
        for (number, function) in (0u32..).zip(&module.functions) {
            // Functions follow the one that they are defined in.
            if let Some(maker) = function.parent.and_then(|parent| self.makers.get(&parent)).copied() {
                self.makers.entry(FunctionId(number)).or_insert(maker);
            }
        }
    }
}

/// How often each global name is written or deleted in a module.
fn bindings(module: &Module) -> FxHashMap<&Name, u32> {
    let mut bound = FxHashMap::default();
    let written = module.functions.iter().flat_map(|code| &code.ops).flat_map(|op| match &op.kind {
        OpKind::Store(variable, _) | OpKind::Delete(variable) => vec![variable],
        OpKind::Unsupported(variables) => variables.iter().collect(),
        OpKind::Try { handlers, .. } => handlers.iter().filter_map(|handler| handler.name.as_ref()).collect(),
        _ => Vec::new(),
    });
    for variable in written {
        if let Variable::Global(name) = variable {
            *bound.entry(name).or_insert(0) += 1;
        }
    }
    bound
}

/// Where statements of a body end: no operation behind such a place reads a result of one before it.
fn statement_ends(code: &Function) -> Vec<usize> {
    let position: FxHashMap<Temp, usize> = code.body.iter().enumerate().map(|(at, temp)| (*temp, at)).collect();
    // How far the result of each operation of the body is read.
    let mut last_use: Vec<usize> = (0..code.body.len()).collect();
    for (at, temp) in code.body.iter().enumerate() {
        let mut work = vec![*temp];
        while let Some(temp) = work.pop() {
            let Some(op) = code.ops.get(temp as usize) else { continue };
            op.kind.operands(&mut |read| {
                if let Some(made) = position.get(&read) {
                    last_use[*made] = last_use[*made].max(at);
                }
            });
            work.extend(op.kind.blocks().into_iter().flatten());
        }
    }
    let mut ends = Vec::new();
    let mut open_until = 0;
    for (at, last) in last_use.into_iter().enumerate() {
        open_until = open_until.max(last);
        if open_until <= at {
            ends.push(at + 1);
        }
    }
    ends
}

fn statement(code: &Function, block: Range<usize>, bound: &FxHashMap<&Name, u32>) -> Statements {
    let temps = &code.body[block.clone()];
    let ops = || temps.iter().filter_map(|temp| code.ops.get(*temp as usize));
    let mut arena = temps.first().map_or(0..0, |temp| *temp..*temp);
    let mut work: Vec<Temp> = temps.to_vec();
    while let Some(temp) = work.pop() {
        arena = arena.start.min(temp)..arena.end.max(temp.saturating_add(1));
        let blocks = code.ops.get(temp as usize).map(|op| op.kind.blocks()).unwrap_or_default();
        work.extend(blocks.into_iter().flatten());
    }
    let stored = ops().filter_map(|op| match &op.kind {
        OpKind::Store(Variable::Global(name), _) => Some(name.clone()),
        _ => None,
    });
    let mut binds: Vec<Name> = stored.collect();
    let is_alone = binds.iter().all(|name| bound.get(name) == Some(&1));
    if temps.len() < WORTH || !is_alone || !ops().all(only_binds) {
        binds.clear();
    }
    let calls = ops().any(|op| matches!(op.kind, OpKind::Call(..) | OpKind::Class(..)));
    Statements { block, arena, binds, calls }
}

/// Whether an operation does nothing but make a value or bind a name, but for what it calls.
fn only_binds(op: &Op) -> bool {
    matches!(
        op.kind,
        OpKind::Constant(_)
            | OpKind::Load(_)
            | OpKind::Store(Variable::Global(_), _)
            | OpKind::Attribute(..)
            | OpKind::Item(..)
            | OpKind::Build(..)
            | OpKind::Operate(_, _, false)
            | OpKind::Call(..)
            | OpKind::Function(..)
            | OpKind::Class(..)
            | OpKind::Unpack { .. }
            | OpKind::Project(..)
            | OpKind::Annotate(..)
    )
}

impl<'p> Machine<'p> {
    /// Runs the body of a module that logs nothing, as far as it cannot be put off.
    pub(super) fn run_deferring(&mut self, index: usize) -> Ran<'p, Halt<'p>> {
        let project = self.project;
        let (Some(plan), Some(module)) = (project.plan(index), project.modules.get(index)) else {
            return Ok(Halt::Return(Value::None));
        };
        let Some(frame) = self.part(index, 0..0, &[], None) else { return Ok(Halt::Return(Value::None)) };
        let code = module.function(Module::BODY);
        for (number, part) in plan.parts.iter().enumerate() {
            if part.binds.is_empty() {
                let block = &code.body[part.block.clone()];
                let environment = Some(frame.environment.clone());
                let Some(mut frame) = self.part(index, part.arena.clone(), block, environment) else { break };
                self.run(&mut frame)?;
                continue;
            }
            let deferred = Rc::new(Deferred { module: index, part: number, environment: frame.environment.clone() });
            if part.calls {
                self.unsettled.insert(index);
            }
            let globals = self.globals.entry(index).or_default();
            globals.extend(part.binds.iter().map(|name| (name.clone(), Value::Deferred(deferred.clone()))));
        }
        Ok(Halt::Return(Value::None))
    }

    /// What a name is bound to by statements that were put off.
    pub(super) fn undeferred(&mut self, deferred: &Deferred<'p>, name: &Name) -> Option<Value<'p>> {
        self.run_deferred(deferred);
        self.globals.get(&deferred.module)?.get(name).cloned()
    }

    fn run_deferred(&mut self, deferred: &Deferred<'p>) {
        let project = self.project;
        let Some(part) = project.plan(deferred.module).and_then(|plan| plan.parts.get(deferred.part)) else { return };
        let is_pending =
            |value: Option<&Value<'p>>| matches!(value, Some(Value::Deferred(other)) if other.part == deferred.part);
        let Some(globals) = self.globals.get_mut(&deferred.module) else { return };
        if !part.binds.iter().any(|name| is_pending(globals.get(name))) {
            return;
        }
        for name in &part.binds {
            globals.remove(name);
        }
        if self.importing >= IMPORTING {
            return;
        }
        let Some(module) = project.modules.get(deferred.module) else { return };
        let block = &module.function(Module::BODY).body[part.block.clone()];
        let environment = Some(deferred.environment.clone());
        let Some(mut frame) = self.part(deferred.module, part.arena.clone(), block, environment) else { return };
        let (here, stack) = (self.here, std::mem::take(&mut self.stack));
        self.nesting += 1;
        self.importing += 1;
        self.quiet += 1;
        self.undeferring.push((deferred.module, deferred.part));
        let ended = self.aside(|this| this.run(&mut frame));
        self.undeferring.pop();
        self.quiet -= 1;
        self.importing -= 1;
        self.nesting -= 1;
        self.here = here;
        self.stack = stack;
        if matches!(ended, Err(Signal::Stop)) {
            self.is_bounded = true;
        }
    }

    /// Runs those statements of a module that were put off and call, before what they may write to is given out. One of them
    /// that runs sees what those before it did.
    pub(super) fn settle_module(&mut self, module: usize, given: &Value<'p>) {
        if self.unsettled.is_empty() || !is_container(given) || !self.unsettled.remove(&module) {
            return;
        }
        let project = self.project;
        let Some(plan) = project.plan(module) else { return };
        let running = self.undeferring.iter().rev().find(|(other, _)| *other == module).map(|(_, part)| *part);
        let before = plan.parts.get(..running.unwrap_or(plan.parts.len())).unwrap_or_default();
        for part in before.iter().filter(|part| part.calls) {
            let pending = part.binds.iter().find_map(|name| match self.globals.get(&module)?.get(name)? {
                Value::Deferred(deferred) => Some(deferred.clone()),
                _ => None,
            });
            if let Some(deferred) = pending {
                self.run_deferred(&deferred);
            }
        }
        if running.is_some() {
            self.unsettled.insert(module);
        }
    }

    /// Runs the statement that makes a function, or the class around it.
    pub(super) fn make_ready(&mut self, module: usize, function: FunctionId) {
        let Some(plan) = self.project.plan(module) else { return };
        let Some(part) = plan.makers.get(&function).and_then(|part| plan.parts.get(*part)) else { return };
        for name in &part.binds {
            self.bound(module, name);
        }
    }
}
