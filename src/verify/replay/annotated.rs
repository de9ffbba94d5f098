//! The types of values from outside, according to annotations: `layer: Layer`, `layers: dict[str, Layer]`.
//!
//! **Invariant:** an annotation is consulted where the program reads a member of an unknown value, calls it or iterates over it. A test for
//! `None` stays open: the other values that `layer: Layer | None` admits have no members.

use std::cell::RefCell;
use std::rc::Rc;

use rustc_hash::FxHashMap;

use super::copy::Copier;
use super::machine::Machine;
use super::symbol::Symbol;
use super::value::{Class, Instance, Value};
use crate::ir::{Annotation, Name};

/// The part of an annotated value that a symbol denotes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Part {
    Whole,
    /// An element of a sequence, or a value of a mapping.
    Element,
    /// The values of a mapping.
    Values,
    /// The pairs of a mapping.
    Items,
    /// One of these pairs.
    Pair,
}

/// An annotation, and the module in which its names are to be looked up.
#[derive(Clone, Copy)]
struct Written<'p> {
    module: usize,
    annotation: &'p Annotation,
    part: Part,
}

/// The annotations of symbols.
#[derive(Default)]
pub(super) struct Annotated<'p> {
    written: FxHashMap<Symbol, Written<'p>>,
    instances: FxHashMap<Symbol, Option<Rc<Instance<'p>>>>,
}

impl<'p> Annotated<'p> {
    /// The annotations in a copy of the run's state.
    pub(super) fn copied(&self, copier: &mut Copier<'p>) -> Self {
        let copy = |(symbol, known): (&Symbol, &Option<Rc<Instance<'p>>>)| {
            (*symbol, known.as_ref().map(|instance| copier.instance(instance)))
        };
        Self { written: self.written.clone(), instances: self.instances.iter().map(copy).collect() }
    }

    /// Records the annotation of a value, unless it is not a symbol or something is already known about it.
    pub(super) fn note(&mut self, value: &Value<'p>, module: usize, annotation: Option<&'p Annotation>) {
        if let (Value::Unknown(symbol), Some(annotation)) = (value, annotation) {
            self.written.entry(*symbol).or_insert(Written { module, annotation, part: Part::Whole });
        }
    }

    /// Records that one symbol is the result of a subscript of another.
    pub(super) fn note_item(&mut self, of: Symbol, item: Symbol) {
        self.note_part(of, item, |part| match part {
            Part::Whole => Some(Part::Element),
            _ => None,
        });
    }

    /// Records that one symbol is an element from an iteration over another.
    pub(super) fn note_element(&mut self, of: Symbol, element: Symbol) {
        self.note_part(of, element, |part| match part {
            Part::Whole | Part::Values => Some(Part::Element),
            Part::Items => Some(Part::Pair),
            Part::Element | Part::Pair => None,
        });
    }

    fn note_part(&mut self, of: Symbol, part: Symbol, of_part: impl Fn(Part) -> Option<Part>) {
        if let Some(written) = self.written.get(&of).copied()
            && let Some(inner) = of_part(written.part)
        {
            self.written.entry(part).or_insert(Written { part: inner, ..written });
        }
    }
}

/// The instance that an unknown value is, according to its annotation.
pub(super) fn instance<'p>(machine: &mut Machine<'p>, symbol: Symbol) -> Option<Value<'p>> {
    let written = machine.annotated.written.get(&symbol).copied()?;
    if let Some(known) = machine.annotated.instances.get(&symbol) {
        return known.clone().map(Value::Instance);
    }
    // The result is unknown while the name is being resolved: modules that run meanwhile may query it again.
    machine.annotated.instances.insert(symbol, None);
    let class = class_of(machine, written)?;
    let made = Rc::new(Instance { class, attributes: RefCell::default(), symbol });
    machine.made_here.instance(&made);
    machine.annotated.instances.insert(symbol, Some(made.clone()));
    Some(Value::Instance(made))
}

/// Whether an annotation denotes an instance of a class of the program, or a container of such instances.
pub(super) fn holds_instances<'p>(machine: &mut Machine<'p>, value: &Value<'p>) -> bool {
    let Value::Unknown(symbol) = value else { return false };
    let Some(written) = machine.annotated.written.get(symbol).copied() else { return false };
    let mut is_class = |part| class_of(machine, Written { part, ..written }).is_some();
    is_class(Part::Whole) || is_class(Part::Element)
}

/// The pair that an iteration over the items of a mapping gives: `for name, layer in layers.items()`.
pub(super) fn pair<'p>(machine: &mut Machine<'p>, symbol: Symbol) -> Option<Value<'p>> {
    let written = machine.annotated.written.get(&symbol).copied().filter(|written| written.part == Part::Pair)?;
    let [first, second] = [0, 1].map(|index| {
        let index = machine.symbols.int(index);
        machine.symbols.item(symbol, index)
    });
    machine.annotated.written.entry(second).or_insert(Written { part: Part::Element, ..written });
    Some(Value::tuple(vec![Value::Unknown(first), Value::Unknown(second)]))
}

/// What a method of an annotated mapping gives: `layers.values()`, `layers.items()`.
pub(super) fn view<'p>(machine: &mut Machine<'p>, receiver: &Value<'p>, method: &str) -> Option<Value<'p>> {
    let Value::Unknown(symbol) = receiver else { return None };
    let written = machine.annotated.written.get(symbol).copied().filter(|written| written.part == Part::Whole)?;
    let part = match method {
        "values" => Part::Values,
        "items" => Part::Items,
        _ => return None,
    };
    class_of(machine, Written { part: Part::Element, ..written })?;
    let view = machine.symbols.apply(method, &[*symbol]);
    machine.annotated.written.insert(view, Written { part, ..written });
    Some(Value::Unknown(view))
}

/// The class of the program of which an annotated value, or a part of it, is an instance.
fn class_of<'p>(machine: &mut Machine<'p>, written: Written<'p>) -> Option<Rc<Class<'p>>> {
    let words = &machine.project.models.words;
    let path = match written.part {
        Part::Whole => path_of(only_type(written.annotation, |name| words.is_union(name))?),
        Part::Element => {
            let whole = only_type(written.annotation, |name| words.is_union(name))?;
            let Annotation::Subscript(base, arguments) = whole else { return None };
            let name = path_of(base)?.last()?;
            match arguments.as_slice() {
                [element] | [element, Annotation::Other] if words.is_sequence_type(name) => path_of(element),
                [_, element] if words.is_mapping_type(name) => path_of(element),
                _ => None,
            }
        }
        Part::Values | Part::Items | Part::Pair => None,
    }?;
    let mut value = machine.global(written.module, path.first()?);
    for name in &path[1..] {
        let Value::Module(_) = value else { return None };
        value = machine.attribute(&value, name).ok()?;
    }
    match value {
        Value::Class(class) => Some(class),
        _ => None,
    }
}

fn path_of(annotation: &Annotation) -> Option<&[Name]> {
    match annotation {
        Annotation::Path(path, _) => Some(path),
        _ => None,
    }
}

/// The only type besides `None` that an annotation admits.
fn only_type(annotation: &Annotation, is_union: impl Fn(&str) -> bool) -> Option<&Annotation> {
    let Some(members) = annotation.members(is_union) else { return Some(annotation) };
    let mut types = members.iter().filter(|member| !matches!(member, Annotation::None));
    types.next().filter(|_| types.next().is_none())
}
