//! What libraries do with keys: the models applied.
//!
//! **Invariant:** the machine knows no library; it asks through [`Library`], which is implemented here.

pub mod builtins;
pub mod callbacks;
pub mod consume;
pub mod container_construction;
pub mod containers;
pub mod derive;
pub mod lanes;
pub mod library;
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
use crate::analysis::store::args::{Arg, Args};
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

    fn makes_drawless<'p>(&self, machine: &Machine<'p>, path: &str, args: &Args) -> bool {
        parameters::makes_drawless(machine.program, path, args)
    }

    fn idle_method<'p>(&self, machine: &Machine<'p>, function: &Value) -> Option<Name> {
        protocols::idle_method(machine.program, function)
    }

    fn protocol_or_unknown<'p>(
        &self,
        machine: &mut Machine<'p>,
        frame: &mut Frame<'p>,
        val: &Val,
        name: &Name,
        args: Args,
        place: Place,
        written: Option<Name>,
    ) -> Value {
        protocols::protocol_or_unknown(machine, frame, val, name, args, place, written)
    }

    fn call_method<'p>(
        &self,
        machine: &mut Machine<'p>,
        frame: &mut Frame<'p>,
        receiver: &Value,
        name: &Name,
        args: Args,
        place: Place,
        written: Option<Name>,
    ) -> Value {
        methods::call_method(machine, frame, receiver, name, args, place, written)
    }

    fn call_library<'p>(
        &self,
        machine: &mut Machine<'p>,
        frame: &mut Frame<'p>,
        path: &Name,
        args: Args,
        place: Place,
        written: Option<Name>,
    ) -> Value {
        library::call_library(machine, frame, path, args, place, written)
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

    fn call_stream<'p>(&self, machine: &mut Machine<'p>, path: &Name, place: Place) -> Value {
        library::call_stream(machine, path, place)
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
        consume::consume(machine, frame, arg, role, callee, place)
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

    fn stream_item<'p>(&self, machine: &Machine<'p>, path: &Name) -> Yield {
        library::stream_item(machine.program, path)
    }

    fn stream_result<'p>(&self, machine: &mut Machine<'p>, given: Yield, path: &Name, place: Place) -> Value {
        library::stream_result(machine, given, path, place)
    }

    fn stream_next<'p>(&self, machine: &Machine<'p>, path: &Name) -> Yield {
        library::stream_next(machine.program, path)
    }

    fn supplied_key<'p>(&self, machine: &mut Machine<'p>, place: Place) -> Value {
        derive::supplied_key(&mut machine.state.terms, place)
    }
}
