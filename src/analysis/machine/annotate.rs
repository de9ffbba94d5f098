//! Annotations as evidence that a value is a key.
//!
//! **Invariant:** an annotation adds to what is known about a value; it never replaces what the program computed.

use std::sync::Arc;

use crate::analysis::domain::guard::Guard;
use crate::analysis::domain::kinds::{KeyKind, ReferenceKind};
use crate::analysis::domain::term::{Term, TermId};
use crate::analysis::domain::value::{ClassHandle, Elements, Key, ModuleIndex, Val, Value, Wrapped};
use crate::analysis::machine::{Frame, Machine};
use crate::analysis::program::names::members;
use crate::analysis::store::State;
use crate::analysis::store::heap::{ElementClass, InstancePositions, ObjectKind};
use crate::finding::Place;
use crate::ir::{Annotation, FunctionId, Name, Operator};
use crate::models::{AnnotationKind, AnnotationRank, Effect};
use crate::text::Span;

/// The evidence of an annotation.
#[derive(Clone, Copy)]
pub struct Evidence {
    kind: KeyKind,
    rank: Option<u8>,
}

/// `x: Annotation = value`
pub fn annotated<'p>(
    machine: &mut Machine<'p>,
    frame: &mut Frame<'p>,
    value: &Value,
    annotation: &Annotation,
    _span: Span,
) -> Value {
    annotated_in(machine, frame.module, value, annotation)
}

/// The value with what an annotation (read in this module) adds.
pub fn annotated_in(machine: &mut Machine<'_>, module: ModuleIndex, value: &Value, annotation: &Annotation) -> Value {
    let Some(Val::Term(term)) = value.single() else { return value.clone() };
    let term = *term;
    if machine.state.terms.is_constant(term) {
        return value.clone();
    }
    if let Some(path) = annotated_stream(machine, module, annotation) {
        let object = machine.state.allocate_with(ObjectKind::Stream(path), term, None, true);
        return Value::of(Val::Object(object));
    }
    if let Some(class) = annotated_class(machine, module, annotation)
        && matches!(machine.state.terms.get(term), Term::Symbol(_) | Term::Attribute(..) | Term::Item(..))
    {
        return instance_of(&mut machine.state, term, class);
    }
    if let Some(class) = optional_class(machine, module, annotation)
        && matches!(machine.state.terms.get(term), Term::Symbol(_) | Term::Attribute(..))
    {
        return optional_instance(&mut machine.state, term, class);
    }
    if let Some(held) = element_class(machine, module, annotation) {
        machine.state.store.element_classes.insert(term, held);
        return value.clone();
    }
    if let Some(path) = annotated_factory(machine, module, annotation) {
        return made_by_factory(path, Vec::new());
    }
    let Some(evidence) = evidence_of(machine, module, annotation) else { return value.clone() };
    machine.recorder.declare(term);
    // `keys: PRNGKeyArray` is written for several keys as well.
    let words = &machine.program.models.words;
    let is_plural = match machine.state.terms.get(term) {
        Term::Attribute(_, name, _) => words.names_several_keys(name),
        _ => machine
            .state
            .terms
            .symbol(term)
            .is_some_and(|info| words.names_several_keys(info.text.rsplit('.').next().unwrap_or_default())),
    };
    match evidence.rank.filter(|rank| *rank > 0 || !is_plural) {
        Some(0) => Value::of(Val::Key(Key { term, kind: evidence.kind, derivation: 0 })),
        Some(rank) => {
            let start = machine.state.terms.int(0);
            let dims: Vec<Option<TermId>> = (0..rank).map(|_| None).collect();
            let elements = Elements::whole(term, start);
            Value::array(evidence.kind, 0, Some(dims.into()), elements)
        }
        None => value.clone(),
    }
}

/// A value from outside that is an instance of a class of the program.
pub fn instance_of(state: &mut State, term: TermId, class: ClassHandle) -> Value {
    let object =
        if let Some(object) = state.store.shadows.get(&term) { *object } else { state.shadow_with(term, Some(class)) };
    Value::of(Val::Object(object))
}

/// The same, or `None`: a test for `None` separates the paths.
pub fn optional_instance(state: &mut State, term: TermId, class: ClassHandle) -> Value {
    let none = state.terms.none();
    let of_none = state.term_of(&none);
    let is_none = state.terms.operate(Operator::Is, &[term, of_none]);
    let is_none = state.truth_of_term(is_none);
    let is_some = state.paths.guards.without(Guard::TRUE, is_none);
    let mut value = Value::unbound();
    value.push(&mut state.paths.guards, is_none, Val::Term(of_none));
    for alternative in instance_of(state, term, class).alternatives() {
        value.push(&mut state.paths.guards, is_some, alternative.val.clone());
    }
    value
}

/// An element of a container from outside that holds instances of a class.
fn instance_of_element(state: &mut State, item: TermId, class: ElementClass) -> Value {
    match class {
        ElementClass::Program(class) => instance_of(state, item, class),
        ElementClass::Library(path) => made_by_factory(path, Vec::new()),
    }
}

/// The result of a subscript of a container from outside, whose class may be known: `layers: dict[str, Layer]`.
pub fn item(state: &mut State, container: TermId, item: TermId) -> Value {
    match state.store.element_classes.get(&container).cloned() {
        Some((class, InstancePositions::Elements | InstancePositions::Values)) => {
            instance_of_element(state, item, class)
        }
        Some((_, InstancePositions::Pairs)) | None => Value::term(item),
    }
}

/// An element of an iteration over a container from outside: `layers: list[Layer]`.
pub fn element(state: &mut State, container: TermId, item: TermId) -> Value {
    match state.store.element_classes.get(&container).cloned() {
        Some((class, InstancePositions::Elements)) => instance_of_element(state, item, class),
        Some((class, InstancePositions::Pairs)) => {
            let [first, second] = [0, 1].map(|index| {
                let index = state.terms.int(index);
                state.terms.intern(Term::Item(item, index, 0))
            });
            let value = instance_of_element(state, second, class);
            Value::of(Val::Tuple([Value::term(first), value].into()))
        }
        Some((_, InstancePositions::Values)) | None => Value::term(item),
    }
}

/// Records the class of the values that a method of a mapping from outside returns.
pub fn note_view(state: &mut State, mapping: TermId, method: &str, view: TermId) {
    let Some((class, InstancePositions::Values)) = state.store.element_classes.get(&mapping).cloned() else { return };
    let holds = match method {
        "values" => InstancePositions::Elements,
        "items" => InstancePositions::Pairs,
        _ => return,
    };
    state.store.element_classes.insert(view, (class, holds));
}

/// The class to which all elements of a container, or all values of a mapping, belong.
fn element_class(
    machine: &mut Machine<'_>,
    module: ModuleIndex,
    annotation: &Annotation,
) -> Option<(ElementClass, InstancePositions)> {
    let Annotation::Subscript(base, arguments) = annotation else { return None };
    let Annotation::Path(path, _) = &**base else { return None };
    let (name, words) = (path.last()?, &machine.program.models.words);
    let (element, holds) = match arguments.as_slice() {
        [element] | [element, Annotation::Other] if words.is_sequence_type(name) => {
            (element, InstancePositions::Elements)
        }
        [_, element] if words.is_mapping_type(name) => (element, InstancePositions::Values),
        _ => return None,
    };
    let of_library = |machine: &mut Machine<'_>| annotated_factory(machine, module, element).map(ElementClass::Library);
    let class = annotated_class(machine, module, element).map(ElementClass::Program);
    Some((class.or_else(|| of_library(machine))?, holds))
}

/// Whether an annotation denotes an instance of a class of the program, or a container of such instances.
pub fn names_instances(machine: &mut Machine<'_>, module: ModuleIndex, annotation: &Annotation) -> bool {
    annotated_class(machine, module, annotation).is_some()
        || optional_class(machine, module, annotation).is_some()
        || element_class(machine, module, annotation).is_some()
}

/// Whether an annotation admits a stream of a library: `rngs: nnx.Rngs | None`.
pub fn admits_stream(machine: &mut Machine<'_>, module: ModuleIndex, annotation: &Annotation) -> bool {
    match members(&machine.program.models.words, annotation) {
        Some(parts) => parts.iter().any(|part| admits_stream(machine, module, part)),
        None => annotated_stream(machine, module, annotation).is_some(),
    }
}

fn annotated_stream(machine: &mut Machine<'_>, module: ModuleIndex, annotation: &Annotation) -> Option<Name> {
    match annotation {
        Annotation::Path(path, _) => {
            let path = annotation_path(machine, module, path)?;
            let class = machine.program.models.class(&path)?;
            matches!(class.construct, crate::models::Construct::Stream { .. }).then(|| class.path.as_str().into())
        }
        _ => None,
    }
}

/// A class of a library whose instances are called with keys: a layer that draws.
fn annotated_factory(machine: &mut Machine<'_>, module: ModuleIndex, annotation: &Annotation) -> Option<Name> {
    let Annotation::Path(path, _) = annotation else { return None };
    let path = annotation_path(machine, module, path)?;
    let callable = machine.program.models.callable(&path)?;
    (callable.exact && matches!(callable.effect, Effect::Factory { .. })).then(|| path.as_str().into())
}

fn annotated_class(machine: &mut Machine<'_>, module: ModuleIndex, annotation: &Annotation) -> Option<ClassHandle> {
    let Annotation::Path(path, _) = annotation else { return None };
    let mut value = machine.global(module, path.first()?)?;
    for name in &path[1..] {
        let Some(Val::Module(inner)) = value.single() else { return None };
        value = machine.global(*inner, name)?;
    }
    match value.single() {
        Some(Val::Class(class)) => Some(*class),
        _ => None,
    }
}

/// The class of an optional instance: `layer: Layer | None`. If no method of the class involves keys, separate paths would add nothing.
fn optional_class(machine: &mut Machine<'_>, module: ModuleIndex, annotation: &Annotation) -> Option<ClassHandle> {
    let parts = members(&machine.program.models.words, annotation)?;
    let mut named = parts.iter().filter(|part| !matches!(part, Annotation::None));
    let only = named.next().filter(|_| named.next().is_none())?;
    let class = annotated_class(machine, module, only)?;
    let has_methods = machine.state.lineage(class).iter().any(|class| {
        let info = &machine.state.store.classes[class.0 as usize];
        let functions = (0u32..).map(FunctionId).zip(&machine.module(info.module).functions);
        let mut methods = functions.filter(|(_, code)| code.class == Some(info.class));
        methods.any(|(method, _)| machine.program.relevance.of(info.module, method))
    });
    has_methods.then_some(class)
}

/// The qualified name that an annotation's path denotes in a module.
fn annotation_path(machine: &mut Machine<'_>, module: ModuleIndex, path: &[Name]) -> Option<String> {
    let mut value = machine.global(module, path.first()?)?;
    let mut joined = String::new();
    for name in &path[1..] {
        // A package of the program re-exports a library: `from layers import nn`.
        if let Some(Val::Module(inner)) = value.single() {
            value = machine.global(*inner, name)?;
        } else {
            joined.push('.');
            joined.push_str(name);
        }
    }
    let Some(Val::Library(library)) = value.single() else { return None };
    joined.insert_str(0, library);
    Some(machine.program.models.rooted(&joined, machine.program.roots).into_owned())
}

fn evidence_of(machine: &mut Machine<'_>, module: ModuleIndex, annotation: &Annotation) -> Option<Evidence> {
    match annotation {
        Annotation::Path(path, _) => {
            let words = &machine.program.models.words;
            let is_named_for_keys = path.last().is_some_and(|name| words.names_a_key_type(name));
            let full = annotation_path(machine, module, path);
            let Some(model) = full.and_then(|full| machine.program.models.annotation(&full)) else {
                // A name that the project made: `PRNGKey = jax.Array`.
                return is_named_for_keys.then_some(Evidence { kind: KeyKind::Unknown, rank: None });
            };
            let rank = match model.rank {
                AnnotationRank::Known(rank) => Some(rank),
                AnnotationRank::Shape | AnnotationRank::Unknown => None,
            };
            Some(Evidence { kind: kind_of(model.kind), rank })
        }
        Annotation::Subscript(base, arguments) => {
            if let Annotation::Path(path, _) = &**base {
                if let Some(full) = annotation_path(machine, module, path)
                    && let Some(model) = machine.program.models.annotation(&full)
                {
                    let rank = match model.rank {
                        AnnotationRank::Shape => arguments.iter().find_map(shape_rank),
                        AnnotationRank::Known(rank) => Some(rank),
                        AnnotationRank::Unknown => None,
                    };
                    return Some(Evidence { kind: kind_of(model.kind), rank });
                }
                // `Annotated[Key, …]`, `Final[Key]`
                if path.last().is_some_and(|name| machine.program.models.words.qualifies_type(name)) {
                    return evidence_of_union(machine, module, arguments);
                }
            }
            evidence_of_union(machine, module, members(&machine.program.models.words, annotation)?)
        }
        Annotation::Union(parts) => evidence_of_union(machine, module, parts),
        Annotation::Text(_) | Annotation::None | Annotation::Other => None,
    }
}

/// Every member but `None` must be a key.
fn evidence_of_union(machine: &mut Machine<'_>, module: ModuleIndex, parts: &[Annotation]) -> Option<Evidence> {
    let mut found: Option<Evidence> = None;
    for part in parts {
        if matches!(part, Annotation::None | Annotation::Text(_)) {
            continue;
        }
        let evidence = evidence_of(machine, module, part)?;
        found = Some(match found {
            Some(other) => Evidence {
                kind: if other.kind == evidence.kind { other.kind } else { KeyKind::Unknown },
                rank: if other.rank == evidence.rank { other.rank } else { None },
            },
            None => evidence,
        });
    }
    found
}

/// Records the library names in an annotation.
pub fn note_annotation<'p>(machine: &mut Machine<'p>, frame: &Frame<'p>, annotation: &Annotation) {
    match annotation {
        Annotation::Path(path, span) => {
            if let Some(full) = annotation_path(machine, frame.module, path) {
                let place = Place { file: machine.module(frame.module).file, span: *span };
                let written = Some(path.join(".").into());
                machine.note_written_reference(frame, &full.into(), written, ReferenceKind::Annotation, place);
            }
        }
        Annotation::Subscript(base, arguments) => {
            note_annotation(machine, frame, base);
            for argument in arguments {
                note_annotation(machine, frame, argument);
            }
        }
        Annotation::Union(parts) => {
            for part in parts {
                note_annotation(machine, frame, part);
            }
        }
        Annotation::Text(_) | Annotation::None | Annotation::Other => {}
    }
}

/// A callable without a path: the result of a factory.
pub fn made_by_factory(transform: Name, options: Vec<(Name, Value)>) -> Value {
    let (options, function) = (options.into(), Some(Value::unbound()));
    Value::of(Val::Wrapped(Arc::new(Wrapped { transform, options, function })))
}

fn kind_of(kind: AnnotationKind) -> KeyKind {
    match kind {
        AnnotationKind::Typed => KeyKind::Typed,
        AnnotationKind::Raw => KeyKind::Raw,
        AnnotationKind::Unknown => KeyKind::Unknown,
    }
}

/// Number of axes that a jaxtyping shape string names; variadic ones make it unknown.
fn shape_rank(annotation: &Annotation) -> Option<u8> {
    let text: &str = match annotation {
        Annotation::Text(text) => text,
        Annotation::Path(path, _) if path.len() == 1 => &path[0],
        _ => return None,
    };
    if matches!(annotation, Annotation::Path(..)) && matches!(text, "Array" | "ArrayLike" | "Shaped") {
        return None;
    }
    if text.contains("...") || text.contains('*') {
        return None;
    }
    u8::try_from(text.split_whitespace().count()).ok()
}
