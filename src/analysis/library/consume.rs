//! Consumption: what a sink does to the keys passed to it.
//!
//! **Invariant:** an event is logged under the paths on which it happens, and not at all where a transform only traces.

use crate::analysis::domain::constraint::LENGTH;
use crate::analysis::domain::extent::Extent;
use crate::analysis::domain::guard::Guard;
use crate::analysis::domain::kinds::{KeyKind, Role};
use crate::analysis::domain::term::{Term, TermId, Terms};
use crate::analysis::domain::value::{Array, DerivationId, Elements, Key, Val, Value};
use crate::analysis::library::mixed_implementations;
use crate::analysis::machine::context::Lane;
use crate::analysis::machine::{Frame, Machine};
use crate::analysis::record::{Consumption, DrawnIn, LoggedBroadcast, SharingLanes, Target};
use crate::analysis::store::args::Arg;
use crate::analysis::store::{evidence, paths};
use crate::finding::Place;
use crate::ir::{Name, Operator};

/// How deep a container is searched for keys.
pub const NESTING: u32 = 4;

/// Consumes the keys in an argument.
pub fn consume<'p>(
    machine: &mut Machine<'p>,
    frame: &mut Frame<'p>,
    arg: &Arg,
    role: Role,
    callee: &Name,
    place: Place,
) {
    consume_at(machine, frame, arg, Sink { role, callee, place, drawn_in: &DrawnIn::Unknown });
}

/// Consumes the keys in an argument of a sink.
pub fn consume_at<'p>(machine: &mut Machine<'p>, frame: &mut Frame<'p>, arg: &Arg, sink: Sink<'_>) {
    if machine.transforms.abstract_depth > 0 {
        return;
    }
    consume_value(machine, frame, &arg.value, arg.written.as_ref(), sink, NESTING);
}

/// The consumer of keys: its role, its name and its place.
#[derive(Clone, Copy)]
pub struct Sink<'a> {
    /// What it does with a key.
    pub role: Role,
    /// Its name.
    pub callee: &'a Name,
    /// Where it is called.
    pub place: Place,
    /// Where it draws.
    pub drawn_in: &'a DrawnIn,
}

fn consume_value<'p>(
    machine: &mut Machine<'p>,
    frame: &mut Frame<'p>,
    value: &Value,
    written: Option<&Name>,
    sink: Sink<'_>,
    depth: u32,
) {
    for alternative in value.alternatives() {
        paths::under(machine, alternative.guard, |machine| {
            consume_val(machine, frame, &alternative.val, written, sink, depth);
        });
    }
}

fn consume_val<'p>(
    machine: &mut Machine<'p>,
    frame: &mut Frame<'p>,
    val: &Val,
    written: Option<&Name>,
    sink: Sink<'_>,
    depth: u32,
) {
    let containers = matches!(sink.role, Role::Library | Role::Protocol | Role::Unresolved) && depth > 0;
    match val {
        Val::Key(Key { term, .. }) | Val::Term(term) if machine.transforms.keys.contains_key(term) => {
            for target in machine.transforms.keys.get(term).cloned().unwrap_or_default() {
                log_event(machine, frame, target, sink, written);
            }
        }
        Val::Key(key) => {
            if matches!(sink.role, Role::Sample | Role::Split | Role::Fold) {
                mixed_implementations::note_taken(machine, frame, *key, sink.place);
            }
            let target = target(machine, key.term, key.derivation);
            log_event(machine, frame, target, sink, written);
        }
        // `normal(key_data(key))`: words are a raw key.
        Val::Words(key, None) => {
            let key = Key { kind: KeyKind::Raw, ..*key };
            consume_val(machine, frame, &Val::Key(key), written, sink, depth);
        }
        Val::Term(term) if evidence::may_be_key(&machine.state.terms, *term) => {
            if matches!(sink.role, Role::Sample | Role::Split | Role::Library) {
                machine.recorder.assume_scalar(*term);
            }
            let target = target(machine, *term, 0);
            log_event(machine, frame, target, sink, written);
        }
        Val::Term(term) if matches!(sink.role, Role::Sample | Role::Split | Role::Fold) => {
            let guard = machine.state.paths.pc;
            for operand in operands_of(&machine.state.terms, *term) {
                machine.recorder.computed_from(operand, guard);
            }
        }
        Val::Array(array) => {
            for target in targets_of(machine, &array.clone()) {
                log_event(machine, frame, target, sink, written);
            }
        }
        Val::Tuple(parts) if containers => {
            for part in parts.iter() {
                consume_evident(machine, frame, part, sink, depth - 1);
            }
        }
        Val::Object(object) if containers => {
            for (guard, value) in machine.state.store.objects[object.0 as usize].kind.clone().held() {
                paths::under(machine, guard, |this| consume_evident(this, frame, value, sink, depth - 1));
            }
        }
        _ => {}
    }
}

/// The operands of a computed number that may be keys.
fn operands_of(terms: &Terms, computed: TermId) -> Vec<TermId> {
    let operands = match terms.get(computed) {
        Term::Operate(_, operands) => &operands[..],
        Term::Offset(base, _) => std::slice::from_ref(base),
        _ => &[],
    };
    operands.iter().copied().filter(|operand| evidence::may_be_key(terms, *operand)).collect()
}

/// Within a container, only values that are known to be keys count.
fn consume_evident<'p>(machine: &mut Machine<'p>, frame: &mut Frame<'p>, value: &Value, sink: Sink<'_>, depth: u32) {
    let evident = value.alternatives().iter().any(|alternative| match &alternative.val {
        Val::Key(_) | Val::Array(_) | Val::Tuple(_) | Val::Object(_) => true,
        Val::Term(term) => machine.recorder.is_known_key(*term),
        _ => false,
    });
    if evident {
        consume_value(machine, frame, value, None, sink, depth);
    }
}

/// Which family a key belongs to, and which member of it it is.
pub fn target(machine: &mut Machine<'_>, term: TermId, derivation: DerivationId) -> Target {
    let (family, extent, folded) = match machine.state.terms.get(term).clone() {
        Term::Child(parent, index) => {
            let family = machine.state.terms.intern(Term::Children(parent));
            (family, extent_of_index(machine, index), false)
        }
        Term::Fold(parent, data) => {
            let family = machine.state.terms.intern(Term::Children(parent));
            (family, extent_of_index(machine, data), true)
        }
        Term::Item(array, index, 0) => (array, extent_of_index(machine, index), false),
        _ => (term, Extent::Single, false),
    };
    Target { family, extent, term, folded, derivation }
}

/// The index of a lane represents the indices of all lanes.
fn extent_of_index(machine: &Machine<'_>, index: TermId) -> Extent {
    machine.transforms.extents.get(&index).copied().unwrap_or(Extent::Index(index))
}

/// The targets of consuming an array of keys.
pub fn targets_of(machine: &mut Machine<'_>, array: &Array) -> Vec<Target> {
    match &array.elements {
        Elements::View { family, .. } => {
            let extent = extent_of_view(&mut machine.state.terms, array);
            vec![Target { family: *family, extent, term: *family, folded: false, derivation: array.derivation }]
        }
        Elements::Listed(parts) | Elements::Joined(parts) => {
            let parts = parts.clone();
            let mut targets = Vec::new();
            for part in parts.iter() {
                for alternative in part.alternatives() {
                    match &alternative.val {
                        Val::Key(key) => targets.push(target(machine, key.term, key.derivation)),
                        Val::Array(inner) => targets.extend(targets_of(machine, &inner.clone())),
                        Val::Term(term) if evidence::may_be_key(&machine.state.terms, *term) => {
                            targets.push(target(machine, *term, 0));
                        }
                        _ => {}
                    }
                }
            }
            targets
        }
        Elements::Copies(of) => match of.single() {
            Some(Val::Key(key)) => vec![target(machine, key.term, key.derivation)],
            Some(Val::Term(term)) => vec![target(machine, *term, 0)],
            _ => Vec::new(),
        },
    }
}

/// The extent of a view within its family.
pub fn extent_of_view(terms: &mut Terms, array: &Array) -> Extent {
    let Elements::View { start, step, to_end, order, .. } = &array.elements else { return Extent::Some };
    let (start, step, to_end) = (*start, *step, *to_end);
    if !order.is_whole() {
        return Extent::Some;
    }
    let length = flat_length(terms, array);
    Extent::Range { start, step, length, to_end }
}

/// Number of keys in an array, where its axes are known.
pub fn flat_length(terms: &mut Terms, array: &Array) -> Option<TermId> {
    let dims = array.dims.clone()?;
    let mut product = terms.int(1);
    for dim in dims.iter() {
        product = terms.operate(crate::ir::Operator::Mul, &[product, (*dim)?]);
    }
    Some(product)
}

/// The key that a value must be if a sink uses it as one.
pub fn as_key(terms: &mut Terms, val: &Val) -> Option<Key> {
    match val {
        Val::Key(key) => Some(*key),
        Val::Words(key, None) => Some(Key { kind: KeyKind::Raw, ..*key }),
        Val::Term(term) if evidence::may_be_key(terms, *term) => {
            Some(Key { term: *term, kind: KeyKind::Unknown, derivation: 0 })
        }
        _ => None,
    }
}

pub fn log_event<'p>(
    machine: &mut Machine<'p>,
    frame: &Frame<'p>,
    target: Target,
    sink: Sink<'_>,
    written: Option<&Name>,
) {
    let Sink { role, callee, place, drawn_in } = sink;
    if machine.transforms.abstract_depth > 0 || machine.state.paths.pc.is_false() {
        return;
    }
    let guard = if matches!(role, Role::Sample | Role::Split) {
        where_present(machine, target.term)
    } else {
        machine.state.paths.pc
    };
    if guard.is_false() {
        return;
    }
    machine.state.store.mutations += 1;
    let event = Consumption {
        target,
        guard,
        role,
        callee: callee.clone(),
        written: written.cloned(),
        place,
        activation: frame.activation.clone(),
        iteration: machine.context.iteration.clone(),
        lanes: u32::try_from(machine.transforms.lanes.len()).unwrap_or(u32::MAX),
        drawn_in: drawn_in.clone(),
    };
    let index = machine.recorder.consume(event);
    if role != Role::Fold {
        check_broadcast(machine, index);
    }
}

/// The current paths on which a value is not `None`: a sampler draws nothing from `None`.
fn where_present(machine: &mut Machine<'_>, term: TermId) -> Guard {
    let pc = machine.state.paths.pc;
    if !matches!(machine.state.terms.get(term), Term::Symbol(_) | Term::Attribute(..) | Term::Item(..)) {
        return pc;
    }
    let none = machine.state.terms.intern(Term::None);
    let is_none = machine.state.terms.operate(Operator::Is, &[term, none]);
    if !machine.state.paths.guards.depends_on(pc, is_none) {
        return pc;
    }
    let is_none = machine.state.paths.guards.literal(is_none);
    machine.state.paths.guards.without(pc, is_none)
}

/// A key that is the same in every lane is shared by all of them.
fn check_broadcast(machine: &mut Machine<'_>, index: usize) {
    let event = &machine.recorder.log().consumptions[index];
    let (target, guard) = (event.target, event.guard);
    for lane in machine.transforms.lanes.clone().iter().rev() {
        // A view that the lanes share among them covers a range; a lane's own key mentions the lane.
        let own = machine.state.terms.mentions(target.term, &|term| {
            let is_younger = term.0 >= lane.born.0 && is_symbol(&machine.state.terms, term);
            lane.symbols.contains(&term)
                || is_younger && !machine.transforms.shared.contains(&term)
                || is_by_lane(machine, term)
        });
        // The keys of an array that is divided among the lanes are logged one by one.
        if lane.symbols.iter().any(|symbol| {
            machine
                .transforms
                .keys
                .get(symbol)
                .is_some_and(|targets| targets.iter().any(|other| other.term == target.term))
        }) {
            continue;
        }
        let is_it = |term: &TermId| *term == target.term;
        let copied = lane.copied.iter().find(|(term, _)| is_it(term)).map(|(_, copies)| *copies);
        let repeated = lane.repeated.iter().find(|(term, _)| is_it(term)).map(|(_, copies)| *copies);
        // A whole array that is passed to one lane is the argument of the call.
        let whole = target.term == target.family && !matches!(target.extent, Extent::Single);
        if own && repeated.is_none() || whole {
            continue;
        }
        // The lanes decide which of them draw; it may be only one.
        let decided_by = deciding(machine, guard, lane);
        if decided_by.iter().any(|literal| selects_one(machine, guard, *literal, lane)) {
            continue;
        }
        if machine.state.terms.mentions(target.term, &|term| lane.only.contains(&term)) {
            continue;
        }
        machine.recorder.broadcast(LoggedBroadcast {
            event: index,
            mapped_at: lane.place,
            activation: lane.activation.clone(),
            unmapped: lane.unmapped.contains(&target.term),
            copied: copied.or(repeated),
            repeated: repeated.is_some(),
            lanes: match (lane.blocks, decided_by.is_empty()) {
                (true, _) => SharingLanes::Devices,
                (false, true) => SharingLanes::Elements,
                (false, false) => SharingLanes::Selected,
            },
            symbols: lane.symbols.clone(),
            born: lane.born,
        });
        break;
    }
}

/// Whether a term is a number that differs between lanes: `axis_index("batch")`.
fn is_by_lane(machine: &Machine<'_>, term: TermId) -> bool {
    matches!(machine.state.terms.get(term), Term::Apply(path, _) if machine.program.models.is_by_lane(path))
}

/// The conditions of a path that differ between the lanes.
fn deciding(machine: &Machine<'_>, guard: Guard, lane: &Lane) -> Vec<TermId> {
    let mut literals = machine.state.paths.guards.support(guard);
    literals.retain(|literal| is_of_lanes(&machine.state.terms, *literal, lane));
    literals
}

/// What all elements of a batch have alike. An object may have a `size` of its own.
const ALIKE: [&str; 4] = ["dtype", LENGTH, "ndim", "shape"];

/// Whether a value may differ between the lanes.
fn is_of_lanes(terms: &Terms, term: TermId, lane: &Lane) -> bool {
    terms.mentions_beyond(term, &|part| lane.symbols.contains(&part), &|name| ALIKE.contains(&name))
}

/// Whether a condition may select a single lane, as `index == 0` does. `index != 0` selects all others, and `score > 3` as many as there
/// are.
fn selects_one(machine: &mut Machine<'_>, guard: Guard, literal: TermId, lane: &Lane) -> bool {
    if !is_equality(&machine.state.terms, literal, lane, NESTING) {
        return false;
    }
    let guards = &mut machine.state.paths.guards;
    let holds = guards.literal(literal);
    !guards.and(guard, holds).is_false()
}

/// Whether a condition compares a value of the lanes with another one, possibly as a part. A function of just a
/// comparison, such as `all(x == y)`, compares arrays.
fn is_equality(terms: &Terms, condition: TermId, lane: &Lane, depth: u32) -> bool {
    let parts = |parts: &[TermId]| {
        depth == 0
            || parts.iter().any(|part| is_of_lanes(terms, *part, lane) && is_equality(terms, *part, lane, depth - 1))
    };
    match terms.get(condition) {
        Term::Operate(Operator::Eq | Operator::Is | Operator::In, _) => true,
        Term::Operate(_, operands) => parts(operands),
        Term::Apply(_, arguments) if arguments.len() > 1 => parts(arguments),
        _ => false,
    }
}

fn is_symbol(terms: &Terms, term: TermId) -> bool {
    matches!(terms.get(term), Term::Symbol(_))
}
