//! Value flow within one function: what a value reaches, by definitions and uses.
//!
//! A value is followed by part: if a draw is an element of a tuple, code that takes the other elements does not observe it.
//!
//! **Invariant:** what cannot be followed counts as observed. The number of steps is bounded, and so is the depth of parts.

use std::cell::Cell;
use std::rc::Rc;

use rustc_hash::FxHashSet;

use crate::analysis::domain::value::{EnvironmentId, ModuleIndex, Val};
use crate::analysis::record::{Callee, MEASURES};
use crate::finding::Place;
use crate::ir::{
    Argument, Collection, Constant, Element, Function, FunctionId, FunctionKind, Name, OpKind, Operator, Temp, Uses,
    Variable,
};
use crate::judge::consequence::{Code, Flows};

/// Deepest nesting of parts that are distinguished.
const NESTED: usize = 4;

/// Most steps within one function.
const STEPS: usize = 4_000;

/// Which part of a value is followed.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Part {
    /// The element at an index.
    Index(u32),
    /// The entry of a key.
    Key(Name),
    /// The attribute of a name.
    Field(Name),
    /// The field of a record, which may be a tuple of its fields.
    Member(Name, u32),
    /// Some element.
    Any,
}

/// The part of a value that is followed, outermost first; empty for all of it.
pub type Path = Vec<Part>;

/// What becomes of a value, as a set.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct Sinks(u16);

impl Sinks {
    /// Only its shape, dtype or structure is used.
    pub const SHAPE: Self = Self(1);
    /// It is returned by the outermost function.
    pub const RETURNED: Self = Self(2);
    /// It is stored where other code may read it.
    pub const STORED: Self = Self(4);
    /// It reaches something unknown.
    pub const ESCAPES: Self = Self(8);
    /// It decides a branch.
    pub const DECIDES: Self = Self(16);
    /// It is bound to a variable that nothing reads: unfinished code, or a draw that is never used.
    pub const UNREAD: Self = Self(32);
    /// It is the result of an expression statement: unfinished code.
    pub const DROPPED: Self = Self(64);
    /// It is printed.
    pub const PRINTED: Self = Self(128);
    /// It is bound to a variable of the module that functions read, or put into its object.
    pub const SHARED: Self = Self(256);
    /// The program waits for what is computed from it, and does not use that.
    pub const TIMED: Self = Self(512);
    /// It is passed to an unknown function whose result is returned: that function may store it, unless what becomes of the result shows
    /// that it only makes an example of a shape.
    pub const PASSED: Self = Self(1024);
    /// It is an example of a shape for what a library makes: an input of `init`. It is also a [`SHAPE`](Self::SHAPE).
    pub const EXAMPLE: Self = Self(2048 | Self::SHAPE.0);
    /// It is stored only where the statements of a program read it, as those of a function read a local variable.
    pub const IN_PROGRAM: Self = Self(4096);
    /// The sinks that depend on no number.
    const NO_NUMBERS: u16 = Self::EXAMPLE.0 | Self::TIMED.0 | Self::IN_PROGRAM.0;

    /// Adds another sink.
    pub fn add(&mut self, other: Self) {
        self.0 |= other.0;
    }

    /// The sinks, with what unknown functions do decided.
    fn decided(self) -> u16 {
        let others = self.0 & !Self::PASSED.0;
        let is_example = others & Self::EXAMPLE.0 == Self::EXAMPLE.0 && others & !Self::NO_NUMBERS == 0;
        if self.0 == others || is_example { others } else { others | Self::ESCAPES.0 }
    }

    /// Whether it reaches this sink.
    pub fn has(self, sink: Self) -> bool {
        self.decided() & sink.0 != 0
    }

    /// Whether it reaches all of these sinks.
    pub fn has_all(self, sinks: Self) -> bool {
        self.decided() & sinks.0 == sinks.0
    }

    /// Whether its numbers can make a difference, or could once the code is finished.
    pub fn is_observed(self) -> bool {
        self.decided() & !Self::NO_NUMBERS != 0
    }

    /// Whether its numbers can make a difference to what is computed.
    pub fn enters_results(self) -> bool {
        self.decided() & !(Self::NO_NUMBERS | Self::UNREAD.0 | Self::DROPPED.0 | Self::PRINTED.0) != 0
    }

    /// Whether its numbers can make a difference, or are discarded where they are drawn.
    pub fn is_read(self) -> bool {
        self.decided() & !(Self::NO_NUMBERS | Self::UNREAD.0) != 0
    }

    /// Whether its numbers can make a difference.
    pub fn is_used(self) -> bool {
        self.decided() & !(Self::NO_NUMBERS | Self::UNREAD.0 | Self::DROPPED.0) != 0
    }
}

/// What a function does with a part of a value.
#[derive(Clone, Debug, Default)]
pub struct Effects {
    /// What becomes of it in the function and in those that it calls.
    pub sinks: Sinks,
    /// Its position in the function's result.
    pub returned: Vec<Path>,
    /// Its position in the function's arguments, by parameter.
    pub mutated: Vec<(u32, Path)>,
    /// The operations whose results hold something of it.
    pub reached: FxHashSet<Temp>,
    /// The variables whose objects absorb it, if the effect on them is unknown or they are not the function's own.
    pub takers: FxHashSet<Variable>,
    /// The choices that it is a side of: the call, and the argument.
    pub sides: Vec<(Temp, usize)>,
    /// The parameters of functions of the program that it is passed to.
    pub passed: Vec<Passed>,
    /// The branches that it decides.
    pub decided: FxHashSet<Temp>,
}

/// A value is passed to a function of the program.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Passed {
    /// The call.
    pub call: Temp,
    /// The function.
    pub to: Code,
    /// Its parameter.
    pub slot: u32,
    /// The part of the parameter's value.
    pub part: Path,
}

/// What it took to follow a value through a function.
#[derive(Clone, Copy, Debug, Default)]
pub struct Cost {
    /// Steps in the function itself.
    pub steps: usize,
    /// Whether the values of its variables were asked for.
    pub asks_environment: bool,
}

/// Follows values through one function.
pub struct Body<'a, 'r> {
    pub flows: &'a Flows<'r>,
    pub module: ModuleIndex,
    pub id: FunctionId,
    pub code: &'r Function,
    pub(super) uses: Rc<Uses>,
    /// Operations that do not run on the paths in question.
    pub excluded: &'a FxHashSet<Temp>,
    /// An attribute, as variable and name, that gets a new key and does not count as an observer.
    pub renewed: Option<(Variable, Name)>,
    /// The values of its variables when it ran, if the query is about one run.
    pub environment: Option<EnvironmentId>,
    /// The sink for a value that is bound to a variable that nothing reads.
    pub unread: Sinks,
    /// Whether draws from keys are not followed.
    pub only_keys: bool,
    /// Remaining depth of callees that may be followed.
    pub depth: u32,
    /// Whether it is bound to a variable of a program whose functions use only its shape.
    is_program_variable: bool,
    /// Whether it is bound to a variable of a program that only its own statements read, or put into the object of one.
    is_in_own_variable: bool,
    /// What is followed from the start.
    starts: Vec<Temp>,
    seen: FxHashSet<(Temp, Path)>,
    /// The definitions, with parts, into whose objects something was put.
    pub(super) shared: FxHashSet<(Temp, Path)>,
    work: Vec<(Temp, Path)>,
    pub(super) effects: Effects,
    steps: usize,
    asks_environment: Cell<bool>,
}

impl<'a, 'r> Body<'a, 'r> {
    pub fn new(
        flows: &'a Flows<'r>,
        (module, id): (ModuleIndex, FunctionId),
        excluded: &'a FxHashSet<Temp>,
        depth: u32,
    ) -> Self {
        let (code, uses) = (flows.run.module(module).function(id), flows.run.uses_of(module, id));
        Self {
            flows,
            module,
            id,
            code,
            uses,
            excluded,
            renewed: None,
            environment: None,
            only_keys: false,
            unread: Sinks::default(),
            depth,
            is_program_variable: false,
            is_in_own_variable: false,
            starts: Vec::new(),
            seen: FxHashSet::default(),
            shared: FxHashSet::default(),
            work: Vec::new(),
            effects: Effects::default(),
            steps: 0,
            asks_environment: Cell::default(),
        }
    }

    /// Starts with a part of the result of an operation.
    pub fn hold(&mut self, temp: Temp, mut path: Path) {
        self.steps += 1;
        if !self.flows.step() {
            self.add(Sinks::ESCAPES);
            return;
        }
        if path.len() > NESTED {
            path.truncate(NESTED);
        }
        if self.seen.insert((temp, path.clone())) {
            self.work.push((temp, path));
        }
    }

    /// Starts with a part of a parameter's value.
    pub fn hold_parameter(&mut self, slot: u32, path: &Path) {
        let uses = self.uses.clone();
        for load in uses.reaching(self.code, &Variable::Local(slot)).loads_of_parameter() {
            self.hold(*load, path.clone());
        }
        if uses.is_captured(slot) {
            self.hold_captured(slot, path);
        }
    }

    /// Follows everything to its end.
    pub fn finish(mut self) -> (Effects, Cost) {
        let mut steps = 0;
        self.starts = self.work.iter().map(|(temp, _)| *temp).collect();
        while let Some((temp, path)) = self.work.pop() {
            steps += 1;
            if steps > STEPS {
                self.effects.sinks.add(Sinks::ESCAPES);
                break;
            }
            self.effects.reached.insert(temp);
            let uses = self.uses.clone();
            if uses.readers(temp).is_empty() && self.is_shown(temp) {
                self.add(Sinks::ESCAPES);
            }
            for reader in uses.readers(temp).iter().filter(|reader| !self.excluded.contains(reader)) {
                self.read(*reader, temp, &path);
            }
        }
        // Only if an operation yields nothing but the shape or the time are its numbers known not to be used.
        let sinks = self.effects.sinks;
        let is_measured = sinks != Sinks::default() && !sinks.is_observed();
        let is_program_variable = self.is_program_variable && (!is_measured || !self.effects.returned.is_empty());
        if self.is_in_own_variable || is_program_variable {
            if !sinks.has(Sinks::STORED) {
                self.add(Sinks::IN_PROGRAM);
            }
            self.add(Sinks::STORED);
        }
        self.effects.returned.sort_unstable();
        self.effects.returned.dedup();
        self.effects.mutated.sort_unstable();
        self.effects.mutated.dedup();
        self.effects.passed.sort_unstable();
        self.effects.passed.dedup();
        (self.effects, Cost { steps: self.steps, asks_environment: self.asks_environment.get() })
    }

    /// Whether an unused value is displayed, like the last value of a cell: outside functions, an expression statement
    /// that is an operation or a tuple has no other purpose. A call may be made for its effects.
    fn is_shown(&self, temp: Temp) -> bool {
        let kind = self.code.ops.get(temp as usize).map(|op| &op.kind);
        self.code.kind == FunctionKind::Module
            && matches!(kind, Some(OpKind::Attribute(..) | OpKind::Item(..) | OpKind::Build(..) | OpKind::Operate(..)))
    }

    pub fn add(&mut self, sink: Sinks) {
        self.effects.sinks.add(sink);
    }

    /// Whether the function reads the result of an operation.
    pub fn is_read(&self, temp: Temp) -> bool {
        !self.uses.readers(temp).is_empty()
    }

    pub fn add_taker(&mut self, variable: Variable) {
        self.effects.takers.insert(variable);
    }

    pub fn add_passed(&mut self, passed: Passed) {
        self.effects.passed.push(passed);
    }

    pub fn add_side(&mut self, call: Temp, argument: usize) {
        self.effects.sides.push((call, argument));
    }

    pub fn place(&self, temp: Temp) -> Place {
        Place { file: self.flows.run.module(self.module).file, span: self.code.ops[temp as usize].span }
    }

    /// One operation reads a part of a value.
    fn read(&mut self, reader: Temp, temp: Temp, path: &Path) {
        let code = self.code;
        match &code.ops[reader as usize].kind {
            OpKind::Return(_) => self.effects.returned.push(path.clone()),
            OpKind::Store(variable, _) => self.store(reader, variable, path),
            OpKind::StoreAttribute(object, name, value) => {
                if *value == temp && !self.is_renewed(*object, name) {
                    self.put_into(*object, &within(Part::Field(name.clone()), path));
                }
            }
            OpKind::StoreItem(object, index, value) => {
                if *value == temp {
                    let part = self.part_at(*index);
                    self.put_into(*object, &within(part, path));
                } else if *index == temp {
                    self.put_into(*object, &Path::new());
                }
            }
            OpKind::Append(container, _) if *container == temp => {}
            OpKind::Append(container, element) => {
                let whole = path.clone();
                let path = match element {
                    Element::Value(_) => within(Part::Any, path),
                    Element::Pair(_, value) if *value == temp => within(Part::Any, path),
                    Element::Pair(..) | Element::Spread(_) | Element::SpreadMapping(_) => whole,
                };
                self.hold_everywhere(*container, path);
            }
            OpKind::Attribute(_, name) => self.attribute(reader, name, path),
            OpKind::Item(object, index) => self.item(reader, (*object, *index), temp, path),
            OpKind::Build(collection, elements) => self.build(reader, *collection, elements, temp, path),
            OpKind::Unpack { star, .. } => self.unpack(reader, *star, path),
            OpKind::Iterate(_) | OpKind::Await(_) => self.hold(reader, path.clone()),
            OpKind::Enter(_) => {
                self.hold(reader, path.clone());
                // What is entered gives keys to the code within: `with seed(rng_seed=key): …`.
                if self.starts.contains(&temp) {
                    self.add(Sinks::ESCAPES);
                }
            }
            OpKind::Next(_) => match path.split_first() {
                // A mapping yields its keys.
                Some((Part::Key(_), _)) => self.add(Sinks::SHAPE),
                Some((_, rest)) => self.hold(reader, rest.to_vec()),
                None => self.hold(reader, Path::new()),
            },
            OpKind::Operate(Operator::Is | Operator::IsNot, ..) => self.add(Sinks::SHAPE),
            // Zeros of the same shape.
            OpKind::Operate(Operator::Mul, factors, _)
                if factors.iter().flatten().any(
                    |factor| matches!(&code.ops[*factor as usize].kind, OpKind::Constant(factor) if factor.is_zero()),
                ) =>
            {
                self.add(Sinks::SHAPE);
            }
            OpKind::Operate(..) => self.hold(reader, Path::new()),
            OpKind::Call(callee, arguments) => self.call(reader, (*callee, arguments), temp, path),
            OpKind::If { .. } => {
                // The structure of a container is no number: `if "batch_stats" in variables`.
                let contains =
                    matches!(&code.ops[temp as usize].kind, OpKind::Operate(Operator::In | Operator::NotIn, ..));
                if path.is_empty() && !contains {
                    self.effects.decided.insert(reader);
                }
                self.add(Sinks::DECIDES);
            }
            OpKind::Loop { .. } | OpKind::Raise(_) => self.add(Sinks::DECIDES),
            // Code that iterates over the generator gets it, and may get the generator itself.
            OpKind::Yield { .. } => {
                self.effects.returned.push(within(Part::Any, path));
                self.add(Sinks::ESCAPES);
            }
            OpKind::Function(..) | OpKind::Class(..) | OpKind::DeleteItem(..) => self.add(Sinks::ESCAPES),
            // Projections are followed from their `Unpack`; the others pass nothing on.
            OpKind::Project(..)
            | OpKind::Annotate(..)
            | OpKind::Leave(_)
            | OpKind::DeleteAttribute(..)
            | OpKind::Constant(_)
            | OpKind::Load(_)
            | OpKind::Delete(_)
            | OpKind::Import { .. }
            | OpKind::ImportFrom { .. }
            | OpKind::Try { .. }
            | OpKind::Break
            | OpKind::Continue
            | OpKind::Unsupported(_) => {}
        }
    }

    fn store(&mut self, store: Temp, variable: &Variable, path: &Path) {
        match variable {
            Variable::Local(slot) if self.code.kind != FunctionKind::ClassBody => {
                let uses = self.uses.clone();
                let is_thrown_away =
                    self.code.slots.get(*slot as usize).is_none_or(|name| name.starts_with(['_', '<']));
                if !is_thrown_away && !uses.reads_slot(*slot) {
                    self.add(self.unread);
                }
                for load in uses.reaching(self.code, variable).loads_of(store) {
                    if !self.excluded.contains(load) {
                        self.hold(*load, path.clone());
                    }
                }
                if uses.is_captured_from(self.flows.run.module(self.module), self.code, (*slot, store)) {
                    self.hold_captured(*slot, path);
                }
            }
            // The conventional name for a value that is discarded.
            Variable::Global(name) if &**name == "_" => {}
            Variable::Global(name) => {
                let uses = self.uses.clone();
                for load in uses.reaching(self.code, variable).loads_of(store) {
                    self.hold(*load, path.clone());
                }
                let is_collected = |value: Temp| matches!(self.code.ops[value as usize].kind, OpKind::Build(..));
                let is_drawn_here = matches!(self.code.ops[store as usize].kind, OpKind::Store(_, value) if self.starts.contains(&value) || is_collected(value));
                let is_own = self.code.kind == FunctionKind::Module && self.flows.is_program(self.module);
                let is_bound_here = is_own && is_drawn_here;
                let readers =
                    if is_bound_here { self.flows.readers_of_global(self.module, name) } else { Sinks::default() };
                if is_bound_here && self.is_measured_in_functions(name, path) {
                    self.is_program_variable = true;
                    // Functions that only measure it do not share it.
                    if readers == Sinks::UNREAD {
                        self.add(readers);
                    }
                } else {
                    self.add_to_global(name);
                    self.add(readers);
                }
            }
            Variable::Local(_) | Variable::Outer(..) => self.add(Sinks::STORED),
        }
    }

    /// It is stored in a variable of a module, or in the object of one.
    pub(super) fn add_to_global(&mut self, name: &Name) {
        let is_own = self.code.kind == FunctionKind::Module && self.flows.is_program(self.module);
        if is_own && self.flows.readers_of_global(self.module, name) == Sinks::default() {
            self.is_in_own_variable = true;
        } else {
            self.add(Sinks::STORED);
        }
    }

    /// Whether functions of a program use only the shape of a variable's value.
    fn is_measured_in_functions(&self, name: &Name, path: &Path) -> bool {
        let run = self.flows.run;
        let functions = (0u32..).map(FunctionId).zip(&run.module(self.module).functions).skip(1);
        functions.flat_map(|(id, inner)| (0u32..).zip(&inner.ops).map(move |(temp, op)| (id, temp, op))).all(
            |(id, temp, op)| match &op.kind {
                OpKind::Load(Variable::Global(read)) if read == name => {
                    let effects = self.flows.of_load((self.module, id), temp, path, self.depth);
                    effects.is_some_and(|effects| {
                        !effects.sinks.is_observed() && effects.mutated.is_empty() && effects.returned.is_empty()
                    })
                }
                OpKind::Store(Variable::Global(written), _) => written != name,
                _ => true,
            },
        )
    }

    /// Marks a part of an operation's result, wherever it is stored.
    fn hold_everywhere(&mut self, temp: Temp, path: Path) {
        match &self.code.ops[temp as usize].kind {
            OpKind::Load(_) | OpKind::Attribute(..) | OpKind::Item(..) => self.put_into(temp, &path),
            _ => self.hold(temp, path),
        }
    }

    fn is_renewed(&self, object: Temp, name: &Name) -> bool {
        self.renewed.as_ref().is_some_and(|(variable, attribute)| {
            attribute == name && matches!(&self.code.ops[object as usize].kind, OpKind::Load(of) if of == variable)
        })
    }

    fn attribute(&mut self, reader: Temp, name: &Name, path: &Path) {
        let uses = self.uses.clone();
        let is_called =
            |call: &&Temp| matches!(&self.code.ops[**call as usize].kind, OpKind::Call(callee, _) if *callee == reader);
        if uses.readers(reader).iter().any(|call| is_called(&call)) {
            // A method: `call` sees the receiver through it.
            self.hold(reader, path.clone());
            return;
        }
        if !path.is_empty() && self.property(reader, path) {
            return;
        }
        match path.split_first() {
            // `__dict__` holds every attribute.
            Some(_) if name.starts_with("__") => self.hold(reader, Path::new()),
            None if MEASURES.contains(&&**name) => self.add(Sinks::SHAPE),
            Some((Part::Field(field) | Part::Member(field, _), rest)) => {
                if field == name {
                    self.hold(reader, rest.to_vec());
                } else if self.flows.is_method(name) {
                    // A bound method has its object.
                    self.hold(reader, path.clone());
                }
            }
            _ => self.hold(reader, Path::new()),
        }
    }

    /// An attribute of an instance whose class computes it: what the property does with a part of the instance.
    fn property(&mut self, reader: Temp, path: &Path) -> bool {
        let OpKind::Attribute(object, name) = &self.code.ops[reader as usize].kind else { return false };
        let (object, run) = (*object, self.flows.run);
        let Some(callees) = run.log.callees.get(&self.place(reader)) else { return false };
        // A value stored under the property's name went through its setter.
        if let Some((Part::Field(stored), rest)) = path.split_first()
            && stored == name
        {
            self.hold(reader, rest.to_vec());
        }
        for callee in callees {
            let Callee::Function(module, id, _) = callee else {
                self.hold(reader, Path::new());
                continue;
            };
            let Some(effects) = self.flows.of_parameter((*module, *id), 0, path, self.depth) else {
                self.add(Sinks::ESCAPES);
                continue;
            };
            self.add(effects.sinks);
            for returned in &effects.returned {
                self.hold(reader, returned.clone());
            }
            for (slot, changed) in &effects.mutated {
                match slot {
                    0 => self.put_into(object, changed),
                    _ => self.add(Sinks::STORED),
                }
            }
        }
        true
    }

    /// Which part of a container an index selects.
    fn part_at(&self, index: Temp) -> Part {
        match &self.code.ops[index as usize].kind {
            OpKind::Constant(Constant::Str(key)) => Part::Key(key.clone()),
            OpKind::Constant(Constant::Int(index)) => u32::try_from(**index).map_or(Part::Any, Part::Index),
            OpKind::Load(Variable::Local(slot)) if self.uses.stores_of(*slot).is_empty() => {
                self.argument_number(*slot).map_or(Part::Any, Part::Index)
            }
            _ => Part::Any,
        }
    }

    /// The number passed for a parameter.
    fn argument_number(&self, slot: u32) -> Option<u32> {
        self.asks_environment.set(true);
        let run = self.flows.run;
        let environment = &run.environments[self.environment?.0 as usize];
        match environment.slots.get(slot as usize)?.single()? {
            Val::Term(term) => u32::try_from(run.terms.as_int(*term)?).ok(),
            _ => None,
        }
    }

    /// The result of a function goes to the call that ran it: as its result, or into an object that a method changes.
    pub fn return_to_caller(&mut self, call: Temp) {
        let run = self.flows.run;
        let OpKind::Call(callee, _) = self.code.ops[call as usize].kind else { return };
        for reached in run.log.callees.get(&self.place(call)).into_iter().flatten() {
            match (reached, &self.code.ops[callee as usize].kind) {
                (Callee::Method(_), OpKind::Attribute(object, _)) => self.put_into(*object, &vec![Part::Any]),
                (Callee::Method(_) | Callee::Unknown, _) => self.add(Sinks::ESCAPES),
                (Callee::Function(..) | Callee::Library(_) | Callee::Class(_), _) => {}
            }
        }
    }

    fn item(&mut self, reader: Temp, (object, index): (Temp, Temp), temp: Temp, path: &Path) {
        if index == temp && object != temp {
            // A choice of rows: the numbers select.
            if !self.ignores_index_of(object) {
                self.hold(reader, Path::new());
            }
            return;
        }
        let Some((held, rest)) = path.split_first() else {
            self.hold(reader, Path::new());
            return;
        };
        if matches!(self.code.ops[index as usize].kind, OpKind::Build(Collection::Slice | Collection::Tuple, _)) {
            self.hold(reader, Path::new());
            return;
        }
        let selected = self.part_at(index);
        match (held, &selected) {
            (Part::Index(_) | Part::Key(_), Part::Index(_) | Part::Key(_)) if *held != selected => {}
            (Part::Member(_, held), Part::Index(selected)) if held != selected => {}
            (Part::Field(_), _) => self.hold(reader, Path::new()),
            _ => self.hold(reader, rest.to_vec()),
        }
    }

    fn build(&mut self, reader: Temp, collection: Collection, elements: &[Element], temp: Temp, path: &Path) {
        if matches!(collection, Collection::Slice | Collection::Text) {
            self.hold(reader, Path::new());
            return;
        }
        let mut is_placed = true;
        for (index, element) in (0u32..).zip(elements) {
            match element {
                Element::Value(value) if *value == temp => {
                    let is_listed = matches!(collection, Collection::Tuple | Collection::List) && is_placed;
                    let part = if is_listed { Part::Index(index) } else { Part::Any };
                    self.hold(reader, within(part, path));
                }
                Element::Pair(key, value) if *value == temp => {
                    let part = match self.part_at(*key) {
                        key @ Part::Key(_) => key,
                        _ => Part::Any,
                    };
                    self.hold(reader, within(part, path));
                }
                Element::Pair(key, _) if *key == temp => self.hold(reader, Path::new()),
                Element::Spread(spread) | Element::SpreadMapping(spread) => {
                    is_placed = false;
                    if *spread == temp {
                        let is_mapping = matches!(element, Element::SpreadMapping(_));
                        let kept = match path.split_first() {
                            Some((_, _)) if is_mapping => path.clone(),
                            Some((_, rest)) => within(Part::Any, &rest.to_vec()),
                            None => Path::new(),
                        };
                        self.hold(reader, kept);
                    }
                }
                Element::Value(_) | Element::Pair(..) => {}
            }
        }
    }

    fn unpack(&mut self, reader: Temp, star: Option<u32>, path: &Path) {
        let uses = self.uses.clone();
        for part in uses.readers(reader).iter().filter(|part| !self.excluded.contains(part)) {
            let OpKind::Project(_, index) = self.code.ops[*part as usize].kind else { continue };
            let is_exact = star.is_none_or(|star| index < star);
            match path.split_first() {
                Some((Part::Index(held) | Part::Member(_, held), rest)) if is_exact => {
                    if *held == index {
                        self.hold(*part, rest.to_vec());
                    }
                }
                Some((Part::Index(held) | Part::Member(_, held), _)) if star.is_some_and(|star| *held < star) => {}
                Some((_, rest)) if is_exact => self.hold(*part, rest.to_vec()),
                Some(_) | None => self.hold(*part, Path::new()),
            }
        }
    }

    /// The parameter slots and parts to which an argument of a call goes; `slots` are the parameters, of which some are bound before the
    /// explicit arguments.
    pub fn argument_slots(callee: &Function, prebound: usize, arguments: &[Argument], temp: Temp) -> Option<Vec<u32>> {
        let mut slots = Vec::new();
        let mut position = prebound;
        for argument in arguments {
            match argument {
                Argument::Positional(value) => {
                    if *value == temp {
                        slots.push(positional_slot(callee, position)?);
                    }
                    position += 1;
                }
                Argument::Keyword(name, value) if *value == temp => {
                    let by_name = callee.parameters.iter().position(|parameter| parameter.name == *name);
                    slots.push(u32::try_from(by_name?).ok()?);
                }
                Argument::Keyword(..) => {}
                // The positions after it are unknown.
                Argument::Spread(_) | Argument::SpreadMapping(_) => return None,
            }
        }
        Some(slots)
    }
}

/// The parameter that takes the argument at a position; `None` where it is one of several.
fn positional_slot(callee: &Function, position: usize) -> Option<u32> {
    use crate::ir::ParameterKind::{Normal, PositionalOnly};
    let parameter = callee.parameters.get(position)?;
    matches!(parameter.kind, PositionalOnly | Normal).then(|| u32::try_from(position).ok())?
}

/// A part within another.
pub(super) fn within(part: Part, path: &Path) -> Path {
    std::iter::once(part).chain(path.iter().cloned()).take(NESTED).collect()
}
