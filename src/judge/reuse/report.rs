//! How two consumptions of one key are reported: in which frame, as which kind, and with what confidence.
//!
//! **Invariant:** a reuse is reported in the innermost frame that sees both consumptions; if two arguments are one key,
//! at the caller's call.

use crate::analysis::domain::marks::{SUPPLIED, SUPPLIED_KEYS};
use crate::analysis::domain::term::{Term, TermId};
use crate::analysis::domain::value::{Elements, Val, Value};
use crate::analysis::is_entry;
use crate::analysis::program::names::is_named_for_a_key;
use crate::analysis::record::{Activation, Chain, Consumption, DrawnIn, Escape, Recording};
use crate::finding::{Confidence, Consequence, ConsequenceKind, Place};
use crate::ir::{Argument, OpKind, Temp, Variable};
use crate::judge::consequence::body::Sinks;
use crate::judge::consequence::repeating_loop::RepeatingLoop;
use crate::judge::consequence::{Flows, consequence};
use crate::judge::derivation::derivation;
use crate::judge::equality::equality_of;
use crate::judge::facts::{KeyBinding, KeyReuse, LoopKind, ReuseKind, Role, UnusedChild, Use};
use crate::judge::intent;
use crate::judge::intent::Pair;
use crate::judge::intent::default_key::{is_fallback, waits_for_none};
use crate::judge::intent::separate::are_kept_together;
use crate::judge::naming::{entries, name_at, own_name};
use crate::judge::origin::origin;
use crate::judge::paths::PathQueries;
use crate::judge::reuse::Reuse;
use crate::judge::reuse::repetition::{
    binding, carried_at, continues_in_transform, distance, loop_kind, repeated_by, returned_at,
};
use crate::judge::traced::is_initialiser;
use crate::judge::unused::{Child, dead_children, unread_children};

/// How the two consumptions of a reuse are assigned to a frame.
pub struct Placed {
    first: Use,
    second: Use,
    /// The frame that reports it.
    function: String,
    /// Whether the frame saw it itself, rather than through a call for which only a caller knows that the keys are equal.
    direct: bool,
    confidence: Confidence,
}

pub fn use_at(run: &Recording<'_>, event: &Consumption, chain: &Chain, depth: usize) -> Use {
    let last = chain.len() - 1;
    let depth = depth.min(last);
    Use {
        place: chain[depth].1,
        leaf: event.place,
        via: if depth < last { chain[depth + 1..last].iter().map(|(_, place)| *place).collect() } else { Vec::new() },
        callee: event.callee.to_string(),
        role: event.role,
        written: own_name(run, event),
        name: name_at(run, event, chain, depth),
    }
}

impl Placed {
    /// What pairs have in common that the code and the frame cannot tell apart: they differ in the calls around that frame.
    pub fn written(&self) -> Written {
        let uses = [&self.first, &self.second].map(|it| (it.place, it.leaf));
        Written { uses, direct: self.direct, confidence: self.confidence }
    }
}

/// The places of a pair in the frame that reports it and at the consumptions themselves.
#[derive(Clone, Debug, Eq, Hash, PartialEq)]
pub struct Written {
    uses: [(Place, Place); 2],
    direct: bool,
    confidence: Confidence,
}

/// Assigns the two events of a reuse to the innermost frame that sees both; `None` if there is no evidence that the value is a key.
pub fn placed(run: &Recording<'_>, reuse: Reuse) -> Option<Placed> {
    let (first, second) = (&run.log.consumptions[reuse.first], &run.log.consumptions[reuse.second]);
    let confidence = reuse.confidence;
    if !is_known_key(run, first) && !is_known_key(run, second) {
        return None;
    }
    let (a, b) = (first.chain(), second.chain());
    let loops: Vec<Place> = first.iterations().iter().map(|iteration| iteration.place).collect();
    let mut depth = 0;
    let mut common = None;
    let mut direct = true;
    // The frame whose call passes the same key twice.
    let mut caller = 0;
    while depth < a.len() && depth < b.len() {
        let (x, y) = (&a[depth].0, &b[depth].0);
        if x.id == y.id {
            if depth > 0 && !x.root && !conflicts_by_itself(run, x, second) {
                if direct {
                    caller = depth - 1;
                }
                direct = false;
            }
            common = Some(depth);
        } else if depth > 0
            && x.module == y.module
            && x.function == y.function
            && a[depth - 1].1 == b[depth - 1].1
            && loops.contains(&a[depth - 1].1)
            && !run.code(x).is_generator
        {
            // Two iterations of a body that one call runs: the body's own frame reports it. A generator is not the body of the loop
            // that runs it.
            common = Some(depth);
        } else {
            break;
        }
        depth += 1;
    }
    Some(match common {
        Some(depth) if direct => Placed {
            first: use_at(run, first, &a, depth),
            second: use_at(run, second, &b, depth),
            function: run.qualified(&a[depth].0),
            direct: true,
            confidence,
        },
        Some(depth) => {
            let reporting = if is_own_mistake(run, &a[depth].0, second) { depth } else { caller };
            Placed {
                first: use_at(run, first, &a, reporting),
                second: use_at(run, second, &b, reporting),
                function: run.qualified(&a[reporting].0),
                direct: false,
                confidence,
            }
        }
        // A closure that runs later, and the function that made it.
        None => {
            let escapes = |chain: &Chain| run.escaped.get(&chain[0].0.id).map(|(escape, _)| *escape);
            let least = match (escapes(&a), escapes(&b)) {
                (Some(_), Some(_)) | (None, Some(Escape::Passed)) | (Some(Escape::Passed), None) => Confidence::Low,
                _ => Confidence::Medium,
            };
            Placed {
                first: use_at(run, first, &a, 0),
                second: use_at(run, second, &b, 0),
                function: run.qualified(&b[0].0),
                direct: true,
                confidence: confidence.min(least),
            }
        }
    })
}

/// Whether the mistake is in a frame although only a caller knows enough to see it, for example the class of a
/// receiver. It is not if the caller passed one key in two places.
fn is_own_mistake(run: &Recording<'_>, frame: &Activation, second: &Consumption) -> bool {
    if frame.module != run.home {
        return false;
    }
    let code = run.module(frame.module).function(frame.function);
    let environment = &run.environments[frame.environment.0 as usize];
    let arguments = environment.slots.iter().take(code.parameters.len());
    arguments.map(|argument| count_occurrences(run, argument, second.target.term)).sum::<usize>() < 2
}

/// In how many places a value holds a key: itself, or as parts of a list, tuple, dict or array of keys.
fn count_occurrences(run: &Recording<'_>, value: &Value, term: TermId) -> usize {
    let is_it = |value: &&Value| {
        value.alternatives().iter().any(|alternative| match &alternative.val {
            Val::Key(key) => key.term == term,
            Val::Term(held) => *held == term,
            _ => false,
        })
    };
    if is_it(&value) {
        return 1;
    }
    let held = value.alternatives().iter().map(|alternative| match &alternative.val {
        Val::Array(array) => match &array.elements {
            Elements::Listed(keys) | Elements::Joined(keys) => keys.iter().filter(is_it).count(),
            Elements::Copies(key) => 2 * usize::from(is_it(&&**key)),
            Elements::View { .. } => 0,
        },
        Val::Tuple(values) => values.iter().filter(is_it).count(),
        Val::Object(object) => run.objects[object.0 as usize].kind.held().map(|(_, value)| value).filter(is_it).count(),
        _ => 0,
    });
    held.max().unwrap_or(0)
}

/// Whether a nested function that is only run by its parent sees by itself that two consumptions conflict: not if they
/// consume two of its parameters, which are equal only for this caller.
fn conflicts_by_itself(run: &Recording<'_>, activation: &Activation, event: &Consumption) -> bool {
    let module = run.module(activation.module);
    let code = module.function(activation.function);
    if is_entry(module, code) {
        return false;
    }
    let environment = &run.environments[activation.environment.0 as usize];
    let holding = environment.slots.iter().take(code.parameters.len()).filter(|slot| {
        slot.alternatives().iter().any(|alternative| match &alternative.val {
            Val::Key(key) => key.term == event.target.term,
            Val::Term(term) => *term == event.target.term,
            _ => false,
        })
    });
    holding.count() < 2
}

/// Describes a reuse for its frame. The second part says whether the frame itself sees the reuse.
pub fn report(
    run: &Recording<'_>,
    flows: &Flows<'_>,
    paths: &mut PathQueries<'_>,
    reuse: Reuse,
    mut placed: Placed,
) -> (KeyReuse, bool) {
    let first = run.log.consumptions[reuse.first].clone();
    let second = run.log.consumptions[reuse.second].clone();
    let repeated_by = repeated_by(&first, &second);
    let kind = kind_of(run, &first, &second, repeated_by.is_some());
    if kind == ReuseKind::FoldAndSampled || kind == ReuseKind::SplitTwice && splits_a_path(run, &first, &second) {
        placed.confidence = Confidence::Low;
    }
    let (x, y) = (run.derivation(first.target.derivation), run.derivation(second.target.derivation));
    let derived_at = match (x, y) {
        (Some(x), Some(y)) if x.place != y.place || first.target.derivation != second.target.derivation => {
            Some((x.place, y.place))
        }
        _ => None,
    };
    let derived_at = derived_at.filter(|_| {
        let mixed = kind == ReuseKind::Iterated && first.target.folded != second.target.folded;
        mixed || matches!(kind, ReuseKind::SeededTwice | ReuseKind::FoldedTwice | ReuseKind::FoldMeetsChild)
    });
    // A default key; whether callers pass another is unknown here.
    if kind == ReuseKind::SeededTwice
        && [&first, &second].into_iter().any(|event| is_fallback(run, event) && waits_for_none(run, paths, event.guard))
    {
        placed.confidence = Confidence::Low;
    }
    let mut intended_child = unused_sibling(run, &first, &second, kind);
    let pair = Pair { first: &first, second: &second, reuse, repeated_by: repeated_by.clone() };
    let mut consequence = consequence(flows, reuse.first, reuse.second);
    if matches!(consequence.kind, ConsequenceKind::Stored | ConsequenceKind::Escapes) && is_carried(flows, &pair) {
        consequence = Consequence::of(ConsequenceKind::Carried, None);
    }
    let intent = intent::of(flows, kind, &pair, &consequence);
    let come_together = || meets(run, &second, &consequence) || are_kept_together(flows, &pair);
    if kind == ReuseKind::Sampled && has_child_for_each(run, (&first, &second), intended_child.as_ref(), &come_together)
    {
        placed.confidence = placed.confidence.max(Confidence::Medium);
    }
    if is_beside_unknown(&first, &second) && !(meets(run, &second, &consequence) && placed.direct) {
        placed.confidence = Confidence::Low;
    }
    // The author made a child for the call that nothing resolves, and passed another one.
    if is_beside_unknown(&first, &second)
        && let Some(child) = child_for_unknown(run, &first, &second)
    {
        placed.confidence = placed.confidence.max(Confidence::Medium);
        // The advice is about the second consumption, or about what precedes a split.
        if second.role == Role::Unresolved || second.role == Role::Split {
            intended_child.get_or_insert(child);
        }
    }
    if kind == ReuseKind::Iterated && is_doubtful_in_loop(flows, &pair, &consequence, placed.confidence) {
        placed.confidence = Confidence::Low;
    }
    let mut draws = [(reuse.first, first.place), (reuse.second, second.place)].into_iter();
    let is_open = |draw: usize| {
        let sinks = flows.reach(draw).sinks;
        sinks.has(Sinks::UNREAD) || sinks.has(Sinks::SHARED)
    };
    let open_end = draws.find(|(draw, _)| is_open(*draw)).map(|(_, place)| place);
    let open_end = open_end.or_else(|| are_kept_together(flows, &pair).then_some(second.place));
    let repeated = repeated_by.as_ref().map(|iteration| iteration.place);
    let loop_kind = repeated.map_or(LoopKind::Statement, |head| loop_kind(run, &second, head, placed.second.place));
    let carried_at = repeated.and_then(|_| carried_at(run, &first, &second));
    let names @ [_, name] = [&placed.first, &placed.second].map(|it| it.name.as_ref().map(|name| name.text.as_str()));
    let returned_at = carried_at.is_none().then(|| returned_at(run, &first, &second, names)).flatten();
    let binding = repeated.map_or(KeyBinding::Constant, |head| binding(run, &second, name, head));
    let reuse = KeyReuse {
        kind,
        first: placed.first,
        second: placed.second,
        derived_at,
        origin: origin(run, second.target.term, second.target.derivation),
        derivation: derivation(run.terms, second.target.term),
        repeated_by: repeated_by.filter(|_| kind == ReuseKind::Iterated).map(|iteration| iteration.place),
        loop_kind,
        entries: entries(run, &first, &second),
        carried_at,
        returned_at,
        distance: distance(&first, &second),
        is_seeded_again: matches!(run.terms.get(second.target.term), Term::Seed(_))
            && are_made_apart((first.target.derivation, second.target.derivation)),
        equality: equality_of(run, kind, &first, &second),
        binding,
        intended_child,
        intent,
        consequence: Some(consequence),
        open_end,
        confidence: placed.confidence,
        function: placed.function,
    };
    (reuse, placed.direct)
}

/// Whether two splits of one attribute's key may be a pure function of an object, and their results equal on purpose: a path at two times.
fn splits_a_path(run: &Recording<'_>, first: &Consumption, second: &Consumption) -> bool {
    let key = first.target.term;
    let of_one_state = matches!(run.terms.get(key), Term::Attribute(..))
        && first.activation.id != second.activation.id
        && owner_is_plain(run, key);
    let is_called_twice = first.place == second.place
        && is_held(run, key)
        && run.module(second.activation.module).function(second.activation.function).parameters.len() > 1;
    of_one_state || is_called_twice
}

/// Whether one of two consumptions, but not the other, is a call of unknown code, which may draw nothing.
fn is_beside_unknown(first: &Consumption, second: &Consumption) -> bool {
    (first.role == Role::Unresolved) != (second.role == Role::Unresolved)
}

/// Whether what is drawn twice comes together: not only in a condition, and not as two of several results.
fn meets(run: &Recording<'_>, second: &Consumption, consequence: &Consequence) -> bool {
    match consequence.kind {
        ConsequenceKind::Meet => !consequence.is_decision,
        ConsequenceKind::Returned => !is_one_of_several(run, second),
        ConsequenceKind::Carried => true,
        _ => false,
    }
}

/// Whether the result of a call is only an element of a tuple or list.
fn is_one_of_several(run: &Recording<'_>, event: &Consumption) -> bool {
    let code = run.code(&event.activation);
    let Some(call) = run.call_at(&event.activation, event.place) else { return false };
    let uses = run.uses_of(event.activation.module, event.activation.function);
    let is_element = |reader: &Temp| matches!(code.ops[*reader as usize].kind, OpKind::Build(..));
    uses.readers(call).iter().all(is_element)
}

/// Whether equal draws of a loop are rarely a mistake: unknown code gets one key but something else in each iteration, unless it continues with
/// what it computed; or models, environments and the like that are only stored may start alike.
fn is_doubtful_in_loop(flows: &Flows<'_>, pair: &Pair<'_>, consequence: &Consequence, confidence: Confidence) -> bool {
    let (first, second) = (pair.first.role, pair.second.role);
    let is_unknown = first == Role::Unresolved && second == Role::Unresolved;
    let draws = matches!(&pair.second.drawn_in, DrawnIn::Submodules(names) if !names.is_empty())
        && !is_initialiser(flows.run, pair.second);
    // A program reads what it stores in its own variables. But what it makes in each iteration from the same key, or by unknown code, may be
    // equal on purpose: it tries settings.
    let is_only_in_program = || flows.reach(pair.reuse.second).sinks.has(Sinks::IN_PROGRAM);
    let derivations = (pair.first.target.derivation, pair.second.target.derivation);
    let is_model = second == Role::Protocol && !are_made_apart(derivations);
    let is_stored = matches!(second, Role::Protocol | Role::Unresolved)
        && !draws
        && consequence.kind == ConsequenceKind::Stored
        && !(is_model && is_only_in_program())
        && confidence < Confidence::High;
    is_stored || is_unknown && consequence.kind != ConsequenceKind::Meet && !repeats_or_carries(flows, pair)
}

/// Whether each iteration of a loop statement makes the same call, or a later one gets what an earlier one draws.
fn repeats_or_carries(flows: &Flows<'_>, pair: &Pair<'_>) -> bool {
    let Some(around) = loop_around(flows, pair) else { return continues_in_transform(flows, pair) };
    let reach = flows.reach(pair.reuse.second);
    !around.gets_another() || around.continues(pair.second, &reach) || around.is_stored_as_state(&reach)
}

/// The loop that repeats the second draw, if there is one.
fn loop_around<'r>(flows: &Flows<'r>, pair: &Pair<'_>) -> Option<RepeatingLoop<'r>> {
    RepeatingLoop::around(flows.run, pair.second, pair.repeated_by.as_ref()?)
}

/// Whether the call that repeats a draw gets what an earlier iteration drew: `w, loss = step(w, key)`. A list or a sum of results is no such state.
fn is_carried(flows: &Flows<'_>, pair: &Pair<'_>) -> bool {
    loop_around(flows, pair).is_some_and(|around| around.continues(pair.second, &flows.reach(pair.reuse.second)))
}

/// Whether a key is stored in an attribute, or in a container that is.
fn is_held(run: &Recording<'_>, term: TermId) -> bool {
    match run.terms.get(term) {
        Term::Attribute(..) => true,
        Term::Item(container, ..) => is_held(run, *container),
        _ => false,
    }
}

/// The only unused child of the split that was intended for the second consumption: the split before it, or the one
/// that made the key. It exists on every path to that consumption.
fn unused_sibling(
    run: &Recording<'_>,
    first: &Consumption,
    second: &Consumption,
    kind: ReuseKind,
) -> Option<UnusedChild> {
    let (place, activation) = match kind {
        ReuseKind::SplitAndSampled if first.role == Role::Split => (first.place, first.activation.clone()),
        ReuseKind::Sampled if is_child(run, second) => {
            let derivation = run.derivation(second.target.derivation)?;
            (derivation.place, derivation.activation.clone())
        }
        _ => return None,
    };
    only_child(run, &unread_children(run, place, &activation)?, &activation, second)
}

/// The only child of the split that made the key which a call of unknown code got instead: nothing reads the child, but the result of the call
/// is read. The other consumption is a draw or a split.
fn child_for_unknown(run: &Recording<'_>, first: &Consumption, second: &Consumption) -> Option<UnusedChild> {
    let unknown = if first.role == Role::Unresolved { first } else { second };
    let made = run.derivation(unknown.target.derivation).filter(|_| is_child(run, unknown))?;
    let call = run.call_at(&unknown.activation, unknown.place)?;
    let uses = run.uses_of(unknown.activation.module, unknown.activation.function);
    let dead = dead_children(run, made.place, &made.activation).filter(|_| !uses.readers(call).is_empty())?;
    let child = only_child(run, &dead, &made.activation, unknown);
    child.filter(|child| is_for_a_call(run, unknown, Some(child)))
}

fn is_child(run: &Recording<'_>, event: &Consumption) -> bool {
    matches!(run.terms.get(event.target.term), Term::Child(..))
}

/// The only one of some children of a split in an activation, if its variable holds it at a consumption there.
fn only_child(
    run: &Recording<'_>,
    children: &[Child],
    activation: &Activation,
    user: &Consumption,
) -> Option<UnusedChild> {
    match children {
        [only] if activation.id == user.activation.id && only.is_held_at(run, activation, user.place) => {
            Some(only.fact(run, activation))
        }
        _ => None,
    }
}

/// Whether an unused child was made for a call: one by the name of the key that was split is for the next split.
fn is_for_a_call(run: &Recording<'_>, event: &Consumption, child: Option<&UnusedChild>) -> bool {
    let made = run.derivation(event.target.derivation);
    child.zip(made).is_some_and(|(child, made)| {
        let code = run.code(&made.activation);
        let split = run.call_at(&made.activation, made.place).map(|call| &code.ops[call as usize].kind);
        let is_parent = |given: &Argument| match &code.ops[given.value() as usize].kind {
            OpKind::Load(Variable::Local(slot)) => {
                code.slots.get(*slot as usize).is_some_and(|name| **name == *child.name)
            }
            _ => false,
        };
        !matches!(split, Some(OpKind::Call(_, arguments)) if arguments.first().is_some_and(is_parent))
    })
}

/// Whether unknown code, which may draw from neither of two equal keys, gets both, and the author made a child for each call. Two calls of
/// different functions also have to return something, which comes together.
fn has_child_for_each(
    run: &Recording<'_>,
    (first, second): (&Consumption, &Consumption),
    child: Option<&UnusedChild>,
    come_together: &dyn Fn() -> bool,
) -> bool {
    let is_unknown = first.role == Role::Unresolved && second.role == Role::Unresolved;
    let is_read = |event: &Consumption| {
        let uses = run.uses_of(event.activation.module, event.activation.function);
        run.call_at(&event.activation, event.place).is_some_and(|call| !uses.readers(call).is_empty())
    };
    is_unknown
        && is_for_a_call(run, second, child)
        && (first.callee == second.callee
            || splits_a_variable(run, second) && is_read(first) && is_read(second) && come_together())
}

/// Whether a variable holds the key of which a key is a child. A child of `self.key` or of a new key may be intended for the next split, unless
/// another child is stored for it: `self.key, a, b = split(self.key, 3)`.
fn splits_a_variable(run: &Recording<'_>, event: &Consumption) -> bool {
    run.derivation(event.target.derivation).is_some_and(|made| {
        let (code, uses) = (run.code(&made.activation), run.uses_of(made.activation.module, made.activation.function));
        let Some(call) = run.call_at(&made.activation, made.place) else { return false };
        let kind = |temp: Temp| &code.ops[temp as usize].kind;
        let is_variable = |given: &Argument| matches!(kind(given.value()), OpKind::Load(_));
        let stores_one = |unpack: &Temp| {
            let mut children = uses.readers(*unpack).iter().flat_map(|child| uses.readers(*child));
            children.any(|reader| matches!(kind(*reader), OpKind::StoreAttribute(..)))
        };
        matches!(kind(call), OpKind::Call(_, arguments) if arguments.first().is_some_and(is_variable))
            || uses.readers(call).iter().any(stores_one)
    })
}

/// Whether there is evidence besides a protocol or an unknown call that a value is a key: its name is enough in addition to a protocol.
pub fn is_known_key(run: &Recording<'_>, event: &Consumption) -> bool {
    !matches!(event.role, Role::Protocol | Role::Unresolved)
        || event.target.derivation != 0
        || run.log.declared.contains(&event.target.term)
        || run.log.scalar_keys.contains(&event.target.term)
        || event.role == Role::Protocol && is_key_by_name(run, event)
        || run
            .terms
            .symbol(run.terms.root(event.target.term))
            .is_some_and(|info| [SUPPLIED, SUPPLIED_KEYS].contains(&&*info.text))
        || matches!(run.terms.get(run.terms.root(event.target.term)), Term::Seed(_))
        || matches!(
            run.terms.get(event.target.term),
            Term::Child(..) | Term::Fold(..) | Term::Children(_) | Term::Clone(..)
        )
}

/// Whether the argument's name is enough evidence: a generator of `NumPy` is also named `rng`, and the key of a dict `key`, so a library in
/// use has to have the method, unless the name means nothing but keys.
fn is_key_by_name(run: &Recording<'_>, event: &Consumption) -> bool {
    let written = event.written.as_deref();
    let name = written.and_then(|written| written.rsplit('.').next()).unwrap_or_default();
    let words = &run.program.models.words;
    is_named_for_a_key(words, (run.terms, &run.log.otherwise), event.target.term, written)
        && (words.is_unmistakable(name) || run.program.has_protocol(event.activation.module, &event.callee))
}

/// Whether these derivations of two equal keys are two.
fn are_made_apart(derivations: (u32, u32)) -> bool {
    derivations.0 != derivations.1 && derivations.0 != 0 && derivations.1 != 0
}

fn kind_of(run: &Recording<'_>, first: &Consumption, second: &Consumption, iterated: bool) -> ReuseKind {
    let derivations = (first.target.derivation, second.target.derivation);
    if first.role == Role::Fold || second.role == Role::Fold {
        return ReuseKind::FoldAndSampled;
    }
    let made_twice = are_made_apart(derivations);
    // Elements of a list, each made in a different place: two of them are equal, but not those of all iterations.
    let made_apart = made_twice
        && matches!(run.terms.get(second.target.term), Term::Seed(_))
        && run.derivation(derivations.0).map(|made| made.place) != run.derivation(derivations.1).map(|made| made.place);
    if iterated && !made_apart {
        return ReuseKind::Iterated;
    }
    match run.terms.get(second.target.term) {
        Term::Seed(_) if made_twice => return ReuseKind::SeededTwice,
        Term::Fold(..) | Term::Child(..) if first.target.folded != second.target.folded => {
            return ReuseKind::FoldMeetsChild;
        }
        Term::Fold(..) if made_twice && first.target.folded && second.target.folded => {
            return ReuseKind::FoldedTwice;
        }
        _ => {}
    }
    match (first.role, second.role) {
        (Role::Split, Role::Split) => ReuseKind::SplitTwice,
        (Role::Split, _) | (_, Role::Split) => ReuseKind::SplitAndSampled,
        _ => ReuseKind::Sampled,
    }
}

/// Whether an attribute belongs to a value from outside that is not an instance of a visible class: a state that is
/// passed around.
fn owner_is_plain(run: &Recording<'_>, term: TermId) -> bool {
    match run.terms.get(term) {
        Term::Attribute(owner, ..) => {
            run.terms.symbol(*owner).is_some()
                && !run.objects.iter().any(|object| object.symbol == *owner && object.class.is_some())
        }
        _ => false,
    }
}
