//! Facts from a recording: broadcasts, uses of buffers, captures, keys that leave a function.
//!
//! **Invariant:** facts about other modules are left to the analysis of those.

use std::collections::BTreeSet;

use rustc_hash::{FxHashMap, FxHashSet};

use crate::analysis::domain::guard::Guard;
use crate::analysis::domain::marks::EXPECTED;
use crate::analysis::domain::term::{Symbol, Term, TermId};
use crate::analysis::domain::value::{Key, Val, Value};
use crate::analysis::record::{Activation, Consumption, Escape, LoggedBuffer, LoggedReference, Recording, Stage};
use crate::finding::{Confidence, ConsequenceKind, Intent, IntentKind, Place};
use crate::ir::{FunctionId, Module, Op, OpKind, Temp, Variable};
use crate::judge::broadcasts::extract_broadcasts;
use crate::judge::carried::{extract_exits, extract_kept};
use crate::judge::closures::extract_closure_calls;
use crate::judge::consequence::Flows;
use crate::judge::default_keys::extract_default_calls;
use crate::judge::derivation::derivation;
use crate::judge::facts::{
    BufferOp, BufferUse, CaptureKind, CapturedUse, Exhausted, Facts, KeyFact, KeyKind, KeyReuse, Reference,
    ReferenceKind, ReuseKind, Role,
};
use crate::judge::frozen::extract_frozen_keys;
use crate::judge::guarded::Guarded;
use crate::judge::implementations::extract_mismatches;
use crate::judge::intent::of_captured;
use crate::judge::number_words::is_number;
use crate::judge::origin::origin;
use crate::judge::paths::PathQueries;
use crate::judge::reuse::{Placed, Reuse, Reuses, detect, others, placed, report, use_at};
use crate::judge::stale::is_called_once_where_defined;
use crate::judge::traced::{extract_constant_keys, extract_leaks};
use crate::judge::unused::extract_unused;
use crate::judge::wrappers::extract_wrapped_keys;
use crate::models::{NameStatus, PRIVATE_ROOT, ReportedName};
use crate::text::{FileId, Span};

/// All facts of the home module that the log contains.
pub fn facts(run: &Recording<'_>, paths: &mut PathQueries<'_>) -> Facts {
    let mut facts = Facts { references: references(run), ..Facts::default() };
    let file = run.module(run.home).file;
    let flows = Flows::new(run);
    let reuses = detect(run, paths);
    let mut alike: FxHashMap<_, usize> = FxHashMap::default();
    for reuse in &reuses.all {
        let Some(placed) = placed(run, *reuse) else { continue };
        let judged = alike.entry(placed.written()).or_default();
        *judged += 1;
        if *judged > ALIKE {
            continue;
        }
        let (fact, direct) = report_harm(run, &flows, paths, &reuses, (*reuse, placed));
        if fact.second.place.file == file {
            if direct {
                facts.reuses.push(fact);
            } else {
                facts.indirect.push(fact);
            }
        }
    }
    extract_keys(run, &mut facts, file);
    extract_broadcasts(run, &flows, &mut facts, file);
    extract_buffers(run, paths, &mut facts, file);
    extract_captures(run, &mut facts, file);
    extract_closure_calls(run, &mut facts);
    extract_default_calls(run, &mut facts);
    extract_exits(run, paths, &reuses, &mut facts, file);
    extract_kept(run, paths, &mut facts, file);
    extract_unused(run, &mut facts, file);
    extract_leaks(run, paths, &mut facts, file);
    extract_constant_keys(run, (&flows, paths), &mut facts, file);
    extract_frozen_keys(run, (&flows, paths), &mut facts, file);
    extract_wrapped_keys(run, paths, &mut facts, file);
    extract_mismatches(run, &mut facts, file);
    let computed = run.log.computed_reads.iter();
    facts.computed_reads.extend(computed.map(|(place, name)| (*place, name.as_deref().map(Box::from))));
    facts.exhausted.extend(limit(run));
    facts
}

/// Most pairs of two places that are judged, in the order of their execution. All are one finding, whose frame is called in many ways.
const ALIKE: usize = 32;

/// Most other reuses of an event that are searched for a harmful one.
const OTHERS: usize = 8;

/// Reports a reuse, or another of the same event: if that one is intended or harmless, the first harmful one; if its draws do not meet, the
/// nearest of its kind whose draws do.
fn report_harm(
    run: &Recording<'_>,
    flows: &Flows<'_>,
    paths: &mut PathQueries<'_>,
    reuses: &Reuses,
    (reuse, placed_at): (Reuse, Placed),
) -> (KeyReuse, bool) {
    let (own, direct) = report(run, flows, paths, reuse, placed_at);
    let meets = |fact: &KeyReuse| {
        let kind = fact.consequence.as_ref().map(|consequence| consequence.kind);
        matches!(kind, Some(ConsequenceKind::Meet | ConsequenceKind::Returned))
    };
    // If computations restart from one key on purpose, draws that meet are more important, and so is a loop that repeats one of them.
    let starts_again = own.intent.as_ref().is_some_and(|intent| intent.kind == IntentKind::SeparateRuns);
    let (doubtful, confidence) = (own.is_harmless() && !starts_again, own.confidence);
    if !doubtful && meets(&own) {
        return (own, direct);
    }
    let mut others = others(run, paths, reuses, reuse);
    if !doubtful {
        others.reverse();
    }
    let sure = others.into_iter().filter(|other| other.confidence > Confidence::Low).take(OTHERS);
    let mut harmful = sure
        .filter_map(|other| Some(report(run, flows, paths, other, placed(run, other)?)))
        .filter(|(fact, _)| !fact.is_harmless() && fact.confidence > Confidence::Low);
    let better = if doubtful {
        harmful.next()
    } else {
        let is_repeated = |other: &KeyReuse| other.kind == ReuseKind::Iterated && other.first.leaf == other.second.leaf;
        let is_other_kind = |other: &KeyReuse| starts_again && own.kind != other.kind && is_repeated(other);
        let meets_too = |other: &KeyReuse| other.kind == own.kind && meets(other) && other.confidence >= confidence;
        harmful.find(|(other, _)| is_other_kind(other) || meets_too(other))
    };
    better.unwrap_or((own, direct))
}

/// The bound that the run hit first, if it hit one. It belongs to the function of this module that holds the place, or, where the place is in
/// another module, to the function that was run.
fn limit(run: &Recording<'_>) -> Option<Exhausted> {
    let (place, budget) = run.limited?;
    let module = run.module(run.home);
    let around = Some(module.innermost(place.span)).filter(|id| place.file == module.file && *id != Module::BODY);
    let within = around.map(|id| module.function(id));
    let run_code = match run.stage {
        Stage::Entry(id) => Some(module.function(id)),
        Stage::Body | Stage::End => None,
    };
    let (function_at, function) = if let Some(code) = within.or(run_code) {
        (Place { file: module.file, span: code.span }, code.qualified.to_string())
    } else {
        let start = Place { file: module.file, span: Span::default() };
        (if place.file == module.file { place } else { start }, "<module>".to_owned())
    };
    Some(Exhausted { place, budget, function_at, function, others: 0 })
}

/// The home module defines a subclass of a test case, from any library: tests share keys so that results can be
/// compared.
pub fn test_code(run: &Recording<'_>) -> Option<Intent> {
    let words = &run.program.models.words;
    let is_test_case = |base: &Value| match base.single() {
        Some(Val::Library(path)) => path.rsplit('.').next().is_some_and(|name| words.is_test_case(name)),
        Some(Val::Term(term)) => {
            matches!(run.terms.get(*term), Term::Attribute(_, name, _) if words.is_test_case(name))
        }
        _ => false,
    };
    let (_, class) = run.classes_of(run.home).find(|(_, class)| class.bases.iter().any(is_test_case))?;
    let module = run.module(run.home);
    let place = Place { file: module.file, span: module.class(class.class).span };
    Some(Intent::new(IntentKind::TestCode, Some(place)))
}

/// Marks the references of the home module that are guarded, and those that Python does not evaluate.
pub fn mark_guarded(run: &Recording<'_>, references: &mut [Reference]) {
    let guarded = Guarded::of(run);
    let keeps_annotations = run.module(run.home).function(Module::BODY).ops.iter().any(|op| {
        matches!(&op.kind, OpKind::ImportFrom { level: 0, module, name } if &**module == "__future__" && &**name == "annotations")
    });
    for reference in references.iter_mut().filter(|reference| reference.place.file == run.module(run.home).file) {
        reference.is_evaluated = !(keeps_annotations && reference.kind == ReferenceKind::Annotation);
        reference.is_guarded = guarded.admits(&reference.path, reference.kind, reference.place.span);
    }
}

/// What is known about every key, by place.
fn extract_keys(run: &Recording<'_>, facts: &mut Facts, file: FileId) {
    for derivation in run.log.derivations.iter().filter(|derivation| derivation.place.file == file) {
        let term = run.terms.describe(derivation.term);
        let text = format!("`{}` creates `{term}`", derivation.callee);
        // What splits or folds a key is reported as that.
        let is_new = matches!(run.terms.get(derivation.term), Term::Seed(_));
        let brief = is_new.then(|| text.clone());
        facts.keys.push(KeyFact { place: derivation.place, text, brief });
    }
    for event in run.log.consumptions.iter().filter(|event| event.place.file == file) {
        let what = match event.role {
            Role::Sample => "draws from",
            Role::Split => "splits (and so consumes)",
            Role::Fold => "derives from (and does not consume)",
            Role::Library | Role::Protocol => "is modelled as consuming",
            Role::Unresolved => "is unresolved and may consume",
        };
        let key = run.terms.describe(event.target.term);
        let text = format!("`{}` {what} `{key}`", event.callee);
        let written = event.written.as_deref().unwrap_or(&key);
        let computed =
            if event.written.is_none() && is_of_operator(run, event) { "what is computed from " } else { "" };
        let brief = Some(format!("`{}` {what} {computed}`{written}`", event.callee));
        facts.keys.push(KeyFact { place: event.place, text, brief });
    }
}

/// Whether a call gets the result of an operator instead of the key as it is: `normal(key + i)`, where `key + 0` is `key`.
fn is_of_operator(run: &Recording<'_>, event: &Consumption) -> bool {
    let kind = |temp: Temp| &run.code(&event.activation).ops[temp as usize].kind;
    let call = run.call_at(&event.activation, event.place);
    matches!(call.map(kind), Some(OpKind::Call(_, arguments))
        if arguments.iter().any(|argument| matches!(kind(argument.value()), OpKind::Operate(..))))
}

fn extract_buffers(run: &Recording<'_>, paths: &mut PathQueries<'_>, facts: &mut Facts, file: FileId) {
    let mut seen = BTreeSet::new();
    let is_called = |used: &LoggedBuffer| !used.activation.root && used.activation.caller.is_some();
    let own: BTreeSet<_> =
        run.log.buffers.iter().filter(|used| !is_called(used)).map(|used| (used.place, used.op)).collect();
    for used in run.log.buffers.clone() {
        let is_asked = used.place.file == file || run.program.follows;
        if !is_asked || !seen.insert((used.place, used.op)) {
            continue;
        }
        if is_kind_known(run, paths, &used)
            || is_not_typed_there(run, paths, &used)
            || may_be_array_there(run, paths, &used)
            || is_expected_to_raise(run, paths, used.guard)
        {
            continue;
        }
        let mut confidence = Confidence::High;
        if used.if_scalar {
            // Only a draw from the very same value, or from what is computed from it, proves that it is one key.
            let proofs: Vec<_> = run
                .log
                .consumptions
                .iter()
                .filter(|event| {
                    event.target.term == used.key.term && matches!(event.role, Role::Sample | Role::Split | Role::Fold)
                })
                .map(|event| event.guard)
                .collect();
            let mut is_possible = |guard: Guard| {
                let both = paths.and(guard, used.guard);
                paths.feasible(both)
            };
            let computed = run.log.computed_from.iter().filter(|(term, _)| *term == used.key.term);
            let is_computed = computed.map(|(_, guard)| *guard).any(&mut is_possible);
            if !is_computed && !proofs.into_iter().any(is_possible) {
                // There may be other evidence.
                seen.remove(&(used.place, used.op));
                continue;
            }
            let unconditional = used.guard.is_true()
                && run.log.consumptions.iter().any(|event| event.target.term == used.key.term && event.guard.is_true());
            let is_value = used.op == BufferOp::Number || used.op.always_raises();
            let is_clear = unconditional || is_computed || is_value;
            confidence = if is_clear { Confidence::Medium } else { Confidence::Low };
        }
        if !is_own(run, &used.activation) && !run.program.follows {
            continue;
        }
        // Only some of the methods that may run return a key.
        let is_of_override = used.key.derivation != 0 && paths.needs_override(used.guard);
        if is_of_override || used.op == BufferOp::Index && !used.raises && is_number(run, &used) {
            confidence = Confidence::Low;
        }
        facts.buffers.push(BufferUse {
            op: used.op,
            place: used.place,
            text: used.text,
            kind: used.key.kind,
            raises: used.raises || used.key.kind == KeyKind::Typed,
            is_called: !own.contains(&(used.place, used.op)),
            origin: origin(run, used.key.term, used.key.derivation),
            derivation: derivation(run.terms, used.key.term),
            confidence,
            function: run.qualified(&used.activation),
        });
    }
}

/// Whether the program tested the key's dtype before it relied on its shape: `if not issubdtype(key.dtype, prng_key): raise …`.
fn is_kind_known(run: &Recording<'_>, paths: &PathQueries<'_>, used: &LoggedBuffer) -> bool {
    let asks = |term: TermId| matches!(run.terms.get(term), Term::Attribute(of, name, _) if *of == used.key.term && &**name == "dtype");
    used.op == BufferOp::ShapeLogic
        && paths.support(used.guard).into_iter().any(|literal| run.terms.mentions(literal, &asks))
}

/// Whether a key is treated as numbers only where a test has shown that it is not typed: `if not issubdtype(x.dtype, prng_key):`. What a
/// raw key is used for counts either way.
fn is_not_typed_there(run: &Recording<'_>, paths: &mut PathQueries<'_>, used: &LoggedBuffer) -> bool {
    let is_of_key = |dtype: TermId| matches!(run.terms.get(dtype), Term::Attribute(of, name, _) if *of == used.key.term && &**name == "dtype");
    let is_typed = |class: TermId| matches!(run.terms.get(class), Term::Apply(path, _) if path.ends_with("dtypes.prng_key") || path.ends_with("dtypes.extended"));
    let tests = |literal: &TermId| match run.terms.get(*literal) {
        Term::Apply(name, parts) => {
            name.ends_with(".issubdtype") && matches!(**parts, [dtype, class] if is_of_key(dtype) && is_typed(class))
        }
        _ => false,
    };
    let Some(test) = paths.support(used.guard).into_iter().find(tests) else { return false };
    let where_typed = paths.literal(test, true);
    let both = paths.and(used.guard, where_typed);
    used.key.kind != KeyKind::Raw && !paths.feasible(both)
}

/// Whether an element is taken only after a test of the number of axes, which distinguishes a key from an array of keys: `key if key.ndim == 1 else
/// key[0]`.
fn may_be_array_there(run: &Recording<'_>, paths: &PathQueries<'_>, used: &LoggedBuffer) -> bool {
    let is_measure = |term: TermId| match run.terms.get(term) {
        Term::Attribute(of, name, _) => *of == used.key.term && matches!(&**name, "ndim" | "shape" | "size"),
        _ => false,
    };
    used.op == BufferOp::Index
        && used.key.kind == KeyKind::Unknown
        && paths.support(used.guard).into_iter().any(|test| run.terms.mentions(test, &is_measure))
}

/// Whether a test expects an exception there: `with pytest.raises(TypeError): random.normal(key[0])`.
pub fn is_expected_to_raise(run: &Recording<'_>, paths: &PathQueries<'_>, guard: Guard) -> bool {
    paths.support(guard).into_iter().any(|literal| {
        run.terms.symbol(literal).is_some_and(|info| info.symbol == Symbol::Path && &*info.text == EXPECTED)
    })
}

/// Whether an activation is of a function of the home module.
fn is_own(run: &Recording<'_>, activation: &Activation) -> bool {
    activation.module == run.home
}

/// Keys that a closure captures and consumes at every call.
fn extract_captures(run: &Recording<'_>, facts: &mut Facts, file: FileId) {
    let mut seen = BTreeSet::new();
    for event in run.log.consumptions.clone() {
        if !matches!(event.role, Role::Sample | Role::Split) || event.place.file != file {
            continue;
        }
        let chain = event.chain();
        let (root, place) = &chain[0];
        let (kind, born) = match run.escaped.get(&root.id) {
            Some((Escape::Transformed, born)) => (CaptureKind::Transformed, *born),
            Some((Escape::Stored, born)) => (CaptureKind::Stored, *born),
            Some((Escape::Passed, _)) | None => continue,
        };
        let inside = run
            .derivation(event.target.derivation)
            .is_some_and(|derivation| derivation.activation.outermost() == root.id);
        let own = inside || run.terms.root(event.target.term) >= born;
        if own || event.lanes > 0 || stores_outside(run, root) || !seen.insert(*place) {
            continue;
        }
        let code = run.module(root.module).function(root.function);
        let defined_at = Place { file: run.module(root.module).file, span: code.span };
        let used = use_at(run, &event, &chain, 0);
        facts.captured.push(CapturedUse {
            kind,
            callee: code.name.to_string(),
            defined_at,
            origin: origin(run, event.target.term, event.target.derivation),
            name: used.name.as_ref().map_or_else(|| run.terms.describe(event.target.term), |name| name.text.clone()),
            intent: of_captured(&used),
            used,
            confidence: Confidence::Medium,
            function: run.qualified(root),
        });
    }
}

/// Keys that are defaults of parameters: bound once, when the function is defined.
pub fn defaults(run: &Recording<'_>, facts: &mut Facts, id: FunctionId) {
    let Some(closure) = run.made.get(&(run.home, id)).cloned() else { return };
    let code = run.module(run.home).function(id);
    let environment = run.log.entered.clone();
    let inner = || run.module(run.home).functions.iter().filter(|inner| inner.parent == Some(id));
    for (slot, default) in closure.defaults.iter() {
        // The first of many keys: `nonlocal key; key, subkey = split(key)`.
        let is_first = |op: &Op| matches!(&op.kind, OpKind::Store(Variable::Outer(_, stored), _) if stored == slot);
        if inner().any(|inner| inner.ops.iter().any(is_first)) {
            continue;
        }
        if !default.alternatives().iter().any(|alternative| matches!(alternative.val, Val::Key(_))) {
            continue;
        }
        let Some((given, parameter)) = environment
            .as_ref()
            .and_then(|given| given.get(*slot as usize).cloned())
            .zip(code.parameters.get(*slot as usize))
        else {
            continue;
        };
        let given = match given.single() {
            Some(Val::Term(term) | Val::Key(Key { term, .. })) => *term,
            _ => continue,
        };
        let event = run
            .log
            .consumptions
            .iter()
            .find(|event| event.target.term == given && matches!(event.role, Role::Sample | Role::Split));
        let Some(event) = event.cloned() else { continue };
        let chain = event.chain();
        let file = run.module(run.home).file;
        let used = use_at(run, &event, &chain, 0);
        facts.captured.push(CapturedUse {
            kind: CaptureKind::Default,
            callee: code.name.to_string(),
            defined_at: Place { file, span: code.span },
            intent: of_captured(&used),
            used,
            origin: default.alternatives().iter().find_map(|alternative| match &alternative.val {
                Val::Key(key) => origin(run, key.term, key.derivation),
                _ => None,
            }),
            name: parameter.name.to_string(),
            confidence: if is_called_once_where_defined(run, id) { Confidence::Low } else { Confidence::Medium },
            function: code.qualified.to_string(),
        });
    }
}

/// Whether a closure writes to a captured variable: it may store the next key there.
fn stores_outside(run: &Recording<'_>, activation: &Activation) -> bool {
    let code = run.module(activation.module).function(activation.function);
    code.ops.iter().any(|op| {
        matches!(
            &op.kind,
            OpKind::Store(Variable::Outer(..) | Variable::Global(_), _)
                | OpKind::StoreAttribute(..)
                | OpKind::StoreItem(..)
        )
    })
}

/// The recorded references, without duplicates.
fn references(run: &Recording<'_>) -> Vec<Reference> {
    let mut seen = FxHashSet::default();
    let each_once = run.log.references.iter().filter(|reference| seen.insert(*reference));
    // What is private to the library is its own.
    let is_library = run.program.resolver.module(run.module(run.home).file, 0, PRIVATE_ROOT).is_some();
    let is_own = |name: &ReportedName| is_library && name.status == NameStatus::Private;
    each_once
        .map(|LoggedReference { place, path, written, kind, function }| Reference {
            place: *place,
            path: path.to_string(),
            written: written.as_ref().unwrap_or(path).to_string(),
            kind: *kind,
            function: function.to_string(),
            reported: run.program.models.reported(path).filter(|name| !is_own(name)).cloned(),
            is_guarded: false,
            is_evaluated: true,
        })
        .collect()
}
