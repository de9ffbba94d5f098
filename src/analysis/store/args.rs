//! The arguments of a call, as they are passed.
//!
//! **Invariant:** they are values on the paths of the call; binding them to parameters does not change them.

use crate::analysis::domain::value::Value;
use crate::finding::Place;
use crate::ir::Name;
use crate::models::{self, Callable};

/// An argument.
#[derive(Clone, Debug, Default)]
pub struct Arg {
    /// The value.
    pub value: Value,
    /// As written, where it is a name or an attribute chain.
    pub written: Option<Name>,
}

/// A call: what is passed, where, and the callee as written.
#[derive(Clone, Debug)]
pub struct Call {
    /// What is passed.
    pub args: Args,
    /// Where.
    pub place: Place,
    /// The callee as written, where it is a name or an attribute chain.
    pub written: Option<Name>,
}

/// The arguments of a call.
#[derive(Clone, Debug, Default)]
pub struct Args {
    /// By position.
    pub positional: Vec<Arg>,
    /// By keyword.
    pub keywords: Vec<(Name, Arg)>,
    /// `*xs` of unknown length: what was spread.
    pub spread: Vec<Value>,
    /// How many positional arguments precede the first spread argument: the positions of the others are unknown.
    pub placed: Option<usize>,
    /// `**kw` of unknown keys: what was spread.
    pub mappings: Vec<Value>,
    /// How many arguments a receiver or a partial adds before those that the call writes; `None` if the arguments are
    /// not those of a call as written.
    pub prebound: Option<usize>,
}

impl Args {
    /// Positional arguments only.
    pub fn positional(values: Vec<Value>) -> Self {
        let positional = values.into_iter().map(|value| Arg { value, written: None }).collect();
        Self { positional, ..Self::default() }
    }

    /// The same values, without the names under which the call writes them.
    pub fn without_names(mut self) -> Self {
        for arg in self.positional.iter_mut().chain(self.keywords.iter_mut().map(|(_, arg)| arg)) {
            arg.written = None;
        }
        self
    }

    /// The same with an additional first argument.
    pub fn with_receiver(mut self, receiver: Value, written: Option<Name>) -> Self {
        self.positional.insert(0, Arg { value: receiver, written });
        self.prebound = self.prebound.map(|count| count + 1);
        self.placed = self.placed.map(|count| count + 1);
        self
    }

    /// The first argument, and the same without it.
    pub fn without_receiver(&self) -> (Option<Arg>, Self) {
        let mut rest = self.clone();
        if rest.positional.is_empty() || rest.placed == Some(0) {
            return (None, rest);
        }
        let receiver = rest.positional.remove(0);
        rest.prebound = rest.prebound.and_then(|count| count.checked_sub(1));
        rest.placed = rest.placed.and_then(|count| count.checked_sub(1));
        (Some(receiver), rest)
    }

    /// The value from a spread of unknown length, after the arguments so far.
    pub fn spread(&mut self, value: Value) {
        self.placed.get_or_insert(self.positional.len());
        self.spread.push(value);
    }

    /// Whether there are only positional arguments, all of them known.
    pub fn is_positional(&self) -> bool {
        self.keywords.is_empty() && self.spread.is_empty() && self.mappings.is_empty()
    }

    /// The keyword argument with this name.
    pub fn keyword(&self, name: &str) -> Option<&Arg> {
        self.keywords.iter().find(|(keyword, _)| &**keyword == name).map(|(_, arg)| arg)
    }

    /// The argument bound to a parameter of a model.
    pub fn of(&self, callable: &Callable, name: &str) -> Option<&Arg> {
        match callable.position(name) {
            Some(position) if position < self.positional.len() => self.positional.get(position),
            _ => self.keyword(name),
        }
    }

    /// All arguments bound to a variadic parameter (or the one bound to a plain one).
    pub fn all_of(&self, callable: &Callable, name: &str) -> Vec<&Arg> {
        models::bound(&callable.params, name, &self.positional, &self.keywords)
    }

    /// Everything that is passed.
    pub fn values(&self) -> impl Iterator<Item = &Value> {
        self.positional
            .iter()
            .map(|arg| &arg.value)
            .chain(self.keywords.iter().map(|(_, arg)| &arg.value))
            .chain(self.spread.iter())
            .chain(self.mappings.iter())
    }
}
