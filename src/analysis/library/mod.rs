//! What libraries do with keys: the models applied.
//!
//! **Invariant:** the machine knows no library; it asks through [`Library`], which is implemented here.

#![expect(
    clippy::needless_pass_by_value,
    reason = "arguments of calls are handed on by value: whoever runs a call may take them apart"
)]

pub mod builtins;
pub mod callbacks;
pub mod consume;
pub mod container_construction;
pub mod containers;
pub mod derive;
pub mod functions;
pub mod iterators;
pub mod lanes;
pub mod methods;
pub mod parameters;
pub mod protocols;
pub mod shape;
pub mod transform;
pub mod tree;

use std::rc::Rc;

use crate::analysis::domain::kinds::Role;
use crate::analysis::domain::value::{Val, Value, Wrapped};
use crate::analysis::machine::{Frame, Library, Machine};
use crate::analysis::store::args::{Arg, Args, Call};
use crate::finding::Place;
use crate::ir::Name;
use crate::models::Yield;

/// The models of `rules/models/*.toml`, applied.
pub struct Models;

impl Library for Models {
    fn key_attribute<'p>(
        &self,
        machine: &mut Machine<'p>,
        frame: &mut Frame<'p>,
        val: &Val,
        name: &Name,
        place: Place,
    ) -> Value {
        methods::key_attribute(machine, frame, val, name, place)
    }

    fn makes_drawless(&self, machine: &Machine<'_>, path: &str, args: &Args) -> bool {
        parameters::makes_drawless(machine.program, path, args)
    }

    fn idle_method(&self, machine: &Machine<'_>, function: &Value) -> Option<Name> {
        protocols::idle_method(machine.program, function)
    }

    fn protocol_or_unknown<'p>(
        &self,
        machine: &mut Machine<'p>,
        frame: &mut Frame<'p>,
        val: &Val,
        name: &Name,
        call: Call,
    ) -> Value {
        protocols::protocol_or_unknown(machine, frame, val, name, call)
    }

    fn call_method<'p>(
        &self,
        machine: &mut Machine<'p>,
        frame: &mut Frame<'p>,
        receiver: &Value,
        name: &Name,
        call: Call,
    ) -> Value {
        methods::call_method(machine, frame, receiver, name, call)
    }

    fn call_library<'p>(&self, machine: &mut Machine<'p>, frame: &mut Frame<'p>, path: &Name, call: Call) -> Value {
        functions::call_library(machine, frame, path, call.args, call.place, call.written)
    }

    fn call_wrapped<'p>(
        &self,
        machine: &mut Machine<'p>,
        frame: &mut Frame<'p>,
        wrapped: &Rc<Wrapped>,
        args: Args,
        place: Place,
    ) -> Value {
        transform::call_wrapped(machine, frame, wrapped, args, place)
    }

    fn call_stream(&self, machine: &mut Machine<'_>, path: &Name, place: Place) -> Value {
        functions::call_stream(machine, path, place)
    }

    fn consume<'p>(
        &self,
        machine: &mut Machine<'p>,
        frame: &mut Frame<'p>,
        arg: &Arg,
        role: Role,
        callee: &Name,
        place: Place,
    ) {
        consume::consume(machine, frame, arg, role, callee, place);
    }

    fn enter<'p>(
        &self,
        machine: &mut Machine<'p>,
        frame: &mut Frame<'p>,
        manager: &Value,
        op: &'p crate::ir::Op,
    ) -> Value {
        methods::enter(machine, frame, manager, op)
    }

    fn leave<'p>(&self, machine: &mut Machine<'p>, frame: &mut Frame<'p>, manager: &Value, op: &'p crate::ir::Op) {
        methods::leave(machine, frame, manager, op);
    }

    fn stream_item(&self, machine: &Machine<'_>, path: &Name) -> Yield {
        functions::stream_item(machine.program, path)
    }

    fn stream_result(&self, machine: &mut Machine<'_>, given: Yield, path: &Name, place: Place) -> Value {
        functions::stream_result(machine, given, path, place)
    }

    fn stream_next(&self, machine: &Machine<'_>, path: &Name) -> Yield {
        functions::stream_next(machine.program, path)
    }

    fn supplied_key(&self, machine: &mut Machine<'_>, place: Place) -> Value {
        derive::supplied_key(&mut machine.state.terms, place)
    }
}
