//! Arguments of a call, and binding them to parameters.
//!
//! **Invariant:** an argument that cannot be placed makes the parameters it might go to unknown; it is never dropped silently.

use std::sync::Arc;

use crate::analysis::domain::guard::Guard;
use crate::analysis::domain::term::Symbol;
use crate::analysis::domain::value::{Closure, EnvironmentId, Val, Value};
use crate::analysis::machine::{Frame, Machine, annotate, call, name_cache};
use crate::analysis::store::args::{Arg, Args};
use crate::analysis::store::heap::{Entry, Item, ObjectKind, WrittenArgument};
use crate::analysis::store::{State, items};
use crate::finding::Place;
use crate::ir::{Argument, Function, FunctionKind, Name, Parameter, ParameterKind};
use crate::text::{FileId, Span};

impl<'p> Machine<'p> {
    /// The arguments of a call operation, with known spreads expanded.
    pub fn arguments(&mut self, frame: &mut Frame<'p>, arguments: &[Argument]) -> Args {
        let mut args = Args { prebound: Some(0), ..Args::default() };
        for argument in arguments {
            match argument {
                Argument::Positional(temp) => {
                    let value = frame.value(*temp);
                    args.positional.push(Arg { value, written: name_cache::written_text(self, frame, *temp) });
                }
                Argument::Keyword(name, temp) => {
                    let value = frame.value(*temp);
                    args.keywords
                        .push((name.clone(), Arg { value, written: name_cache::written_text(self, frame, *temp) }));
                }
                Argument::Spread(temp) => {
                    let value = frame.value(*temp);
                    match self.items_of(frame, &value) {
                        Some(items) => {
                            let (placed, all) = by_place(&mut self.state, &items);
                            args.positional.extend(placed.into_iter().map(|value| Arg { value, written: None }));
                            if !all {
                                args.spread(value);
                            }
                        }
                        None => args.spread(value),
                    }
                }
                Argument::SpreadMapping(temp) => {
                    let value = frame.value(*temp);
                    match self.state.entries_of(&value) {
                        Some((entries, unknown)) => {
                            for entry in entries {
                                if let crate::analysis::domain::term::Term::Text(name) = self.state.terms.get(entry.key)
                                {
                                    let name = name.clone();
                                    args.keywords.push((name, Arg { value: entry.value, written: None }));
                                }
                            }
                            if unknown {
                                args.mappings.push(value);
                            }
                        }
                        None => args.mappings.push(value),
                    }
                }
            }
        }
        args
    }

    /// Makes the variables of a call: arguments bound to parameters, and the arguments as written.
    pub fn entered(&mut self, code: &Function, closure: &Arc<Closure>, args: Args, place: Place) -> EnvironmentId {
        let written = written_arguments(code, &args);
        let slots = self.bind(code, closure, args, Some(place));
        let value = |slot: u32| slots.get(slot as usize).cloned().unwrap_or_default();
        let given = written.into_iter().map(|(slot, written)| WrittenArgument { slot, written, value: value(slot) });
        let given: Arc<[WrittenArgument]> = given.collect();
        let environment = call::new_environment(&mut self.state, slots, closure.environment);
        self.state.store.environments[environment.0 as usize].given = Some(given).filter(|given| !given.is_empty());
        environment
    }

    /// The names that cannot be in the mappings of a call: if the only mapping is the `**options` of a function, that
    /// function's own parameters took them.
    fn taken_from(&self, mappings: &[Value]) -> Vec<Name> {
        let [mapping] = mappings else { return Vec::new() };
        let Some(Val::Term(term)) = mapping.single() else { return Vec::new() };
        let collected = self.state.terms.symbol(*term).filter(|info| info.symbol == Symbol::Parameter);
        let Some(place) = collected.and_then(|info| info.place) else { return Vec::new() };
        let Some(module) = self.program.of_file(FileId(place.0)) else { return Vec::new() };
        let gathers = |code: &&Function| {
            let mut parameters = code.parameters.iter();
            parameters.any(|parameter| {
                parameter.kind == ParameterKind::Keywords && parameter.span == Span::new(place.1, place.2)
            })
        };
        let owner = self.module(module).functions.iter().find(gathers);
        let named = owner
            .into_iter()
            .flat_map(|code| code.parameters.iter())
            .filter(|parameter| matches!(parameter.kind, ParameterKind::Normal | ParameterKind::KeywordOnly));
        named.map(|parameter| parameter.name.clone()).collect()
    }

    /// Arguments after `*xs` of unknown length: if each of the remaining parameters takes one, they go to the last
    /// parameters; otherwise it is unknown to which they go.
    fn forget_unplaced(&mut self, code: &Function, closure: &Closure, args: &mut Args, place: Option<Place>) {
        let Some(placed) = args.placed.filter(|placed| *placed < args.positional.len()) else { return };
        let takes = |(index, parameter): &(u32, &Parameter)| {
            matches!(parameter.kind, ParameterKind::PositionalOnly | ParameterKind::Normal)
                && args.keyword(&parameter.name).is_none()
                && closure.defaults.iter().all(|(defaulted, _)| defaulted != index)
        };
        let is_variadic = code.parameters.iter().any(|parameter| parameter.kind == ParameterKind::Variadic);
        let required = (0..).zip(code.parameters.iter()).take_while(takes).count();
        let all =
            (0..).zip(code.parameters.iter()).filter(|(_, parameter)| parameter.kind != ParameterKind::KeywordOnly);
        let is_exact = !is_variadic && all.count() == required + args.keywords.len();
        let after = args.positional.split_off(placed);
        let between = required.saturating_sub(placed + after.len());
        let unknown = |machine: &mut Self, index: usize| {
            let name = code.parameters.get(index).map_or("<argument>".into(), |parameter| parameter.name.clone());
            Arg { value: machine.state.terms.opaque(name, place), written: None }
        };
        let count = if is_exact { between } else { between + after.len() };
        for _ in 0..count {
            let next = unknown(self, args.positional.len());
            args.positional.push(next);
        }
        if is_exact {
            args.positional.extend(after);
        }
    }

    /// Binds arguments to the parameters of a function: one value for each slot of its frame.
    pub fn bind(
        &mut self,
        code: &Function,
        closure: &Arc<Closure>,
        mut args: Args,
        place: Option<Place>,
    ) -> Vec<Value> {
        let mut slots = Value::places(code.slots.len());
        self.forget_unplaced(code, closure, &mut args, place);
        let mut positional = std::mem::take(&mut args.positional).into_iter();
        let uncertain = !args.spread.is_empty();
        let taken = self.taken_from(&args.mappings);
        for (index, parameter) in code.parameters.iter().enumerate() {
            let keyword = |args: &mut Args| {
                let found = args.keywords.iter().position(|(name, _)| *name == parameter.name)?;
                Some(args.keywords.remove(found).1.value)
            };
            let bound = match parameter.kind {
                ParameterKind::PositionalOnly => positional.next().map(|arg| arg.value),
                ParameterKind::Normal => match positional.next() {
                    Some(arg) => Some(arg.value),
                    None => keyword(&mut args),
                },
                ParameterKind::KeywordOnly => keyword(&mut args),
                ParameterKind::Variadic => {
                    let rest: Vec<Value> = positional.by_ref().map(|arg| arg.value).collect();
                    Some(if uncertain {
                        self.state.terms.opaque(parameter.name.clone(), place)
                    } else {
                        Value::of(Val::Tuple(rest.into()))
                    })
                }
                ParameterKind::Keywords => {
                    let mut entries = Vec::new();
                    for (name, arg) in std::mem::take(&mut args.keywords) {
                        if code.parameters.iter().any(|p| p.name == name && p.kind == ParameterKind::KeywordOnly) {
                            args.keywords.push((name, arg));
                            continue;
                        }
                        let key = self.state.terms.intern(crate::analysis::domain::term::Term::Text(name));
                        let key_value = Value::term(key);
                        entries.push(Entry { key, key_value, guard: Guard::TRUE, value: arg.value });
                    }
                    let kind = ObjectKind::Dict { entries, unknown: !args.mappings.is_empty() };
                    Some(Value::of(Val::Object(self.state.allocate(kind, "<kwargs>", place))))
                }
            };
            let value = match bound {
                Some(value) => value,
                None if uncertain || !args.mappings.is_empty() && !taken.contains(&parameter.name) => {
                    let mapping = args.mappings.first().cloned();
                    match mapping {
                        Some(mapping) if parameter.kind != ParameterKind::PositionalOnly => {
                            let name = self
                                .state
                                .terms
                                .intern(crate::analysis::domain::term::Term::Text(parameter.name.clone()));
                            items::item_by_term(&mut self.state, &mapping, name)
                        }
                        _ => self.state.terms.opaque(parameter.name.clone(), place),
                    }
                }
                None => {
                    let slot = u32::try_from(index).unwrap_or(u32::MAX);
                    match closure.defaults.iter().find(|(parameter, _)| *parameter == slot) {
                        Some((_, default)) => default.clone(),
                        None => self.state.terms.opaque(parameter.name.clone(), place),
                    }
                }
            };
            let value = match &parameter.annotation {
                Some(annotation) => annotate::annotated_in(self, closure.module, &value, annotation),
                None => value,
            };
            if let Some(slot) = slots.get_mut(index) {
                *slot = value;
            }
        }
        slots
    }
}

/// Whether the arguments of a call do not fit a function. Python would raise, so either the call never runs, or it calls another function
/// than the analysis assumes.
pub fn does_not_fit(code: &Function, closure: &Closure, args: &Args) -> bool {
    // A decorator, or what binds a function, may supply arguments: only a lambda is certainly called with those that are written.
    let has_only_these = code.kind == FunctionKind::Lambda && args.prebound.is_some();
    takes_too_few(code, args) || has_only_these && lacks_an_argument(code, closure, args)
}

/// Whether a parameter that takes arguments by position gets none and has no default.
fn lacks_an_argument(code: &Function, closure: &Closure, args: &Args) -> bool {
    if !args.spread.is_empty() || !args.mappings.is_empty() || args.placed.is_some() {
        return false;
    }
    let has_default = |slot: u32| closure.defaults.iter().any(|(defaulted, _)| *defaulted == slot);
    (0u32..).zip(&code.parameters).any(|(slot, parameter)| {
        let is_placed = (slot as usize) < args.positional.len();
        match parameter.kind {
            ParameterKind::PositionalOnly => !is_placed && !has_default(slot),
            ParameterKind::Normal => !is_placed && args.keyword(&parameter.name).is_none() && !has_default(slot),
            ParameterKind::KeywordOnly | ParameterKind::Variadic | ParameterKind::Keywords => false,
        }
    })
}

/// Whether a function has fewer parameters than a call has arguments by position.
fn takes_too_few(code: &Function, args: &Args) -> bool {
    let by_position = |parameter: &&Parameter| {
        matches!(parameter.kind, ParameterKind::PositionalOnly | ParameterKind::Normal | ParameterKind::Variadic)
    };
    let takes_all = code.parameters.iter().any(|parameter| parameter.kind == ParameterKind::Variadic);
    !takes_all && args.positional.len() > code.parameters.iter().filter(by_position).count()
}

/// The arguments that are written as names, by the parameters that take them.
fn written_arguments(code: &Function, args: &Args) -> Vec<(u32, Name)> {
    let takes =
        |parameter: &&Parameter| matches!(parameter.kind, ParameterKind::PositionalOnly | ParameterKind::Normal);
    let placed = args.placed.unwrap_or(usize::MAX);
    let by_place = (0..).zip(code.parameters.iter().take_while(takes)).zip(args.positional.iter().take(placed));
    let placed = by_place.filter_map(|((slot, _), arg)| Some((slot, arg.written.clone()?)));
    let named = args.keywords.iter().filter_map(|(name, arg)| {
        let slot = code.parameters.iter().position(|parameter| parameter.name == *name)?;
        Some((u32::try_from(slot).ok()?, arg.written.clone()?))
    });
    placed.chain(named).collect()
}

/// The elements of a list by position, and whether those are all of them. Elements on exclusive paths share a position; if one may be
/// missing before another, the positions after it are unknown.
fn by_place(state: &mut State, items: &[Item]) -> (Vec<Value>, bool) {
    if items.iter().all(|item| item.guard.is_true()) {
        return (items.iter().map(|item| item.value.clone()).collect(), true);
    }
    let mut places: Vec<(Guard, Value)> = Vec::new();
    for item in items {
        let mut guard = state.paths.guards.and(state.paths.pc, item.guard);
        let mut value = item.value.clone();
        if let Some((taken, other)) = places.last().cloned() {
            let both = state.paths.guards.and(taken, guard);
            if !state.feasible(both) {
                value = other.join(&mut state.paths.guards, taken, &value);
                guard = state.paths.guards.or(taken, guard);
                places.pop();
            }
        }
        let missing = places.iter().position(|(taken, _)| {
            let without = state.paths.guards.without(guard, *taken);
            state.feasible(without)
        });
        if let Some(missing) = missing {
            places.truncate(missing);
            return (places.into_iter().map(|(_, value)| value).collect(), false);
        }
        places.push((guard, value));
    }
    (places.into_iter().map(|(_, value)| value).collect(), true)
}
