//! The rules on hand-made facts: which fact gives which finding, and with which message.
//!
//! **Invariant:** places are numbered lines of an imaginary file, so that snapshots are readable.

use std::fmt::Write;

use keylint::finding::{Confidence, Derivation, DerivationKind, Finding, Intent, IntentKind, Level, Place};
use keylint::judge::facts::{
    Broadcast, BroadcastKind, BufferOp, BufferUse, CallerKeyLoss, CaptureKind, CapturedUse, CarriedKey, CarryKind,
    ChoiceKind, ConstantKey, Discarded, Facts, GlobalChoice, HostDraw, IgnoredCaller, ImplementationConflict,
    IterationDistance, KeyBinding, KeyEquality, KeyKind, KeyName, KeyReuse, LeakKind, LeakedKey, LoopKind, Mismatch,
    Origin, RawBridge, Reference, ReferenceKind, ReuseKind, Role, StaleState, Trace, TraceKind, UnstableSeed,
    UntypedKey, UnusedChild, Use, WrappedKey, WrapperWay,
};
use keylint::models::Models;
use keylint::rules;
use keylint::text::{FileId, Span};

/// A place for line `line`.
fn at(line: u32) -> Place {
    Place { file: FileId(0), span: Span::new(line * 100, line * 100 + 10) }
}

fn sample(line: u32, callee: &str) -> Use {
    used(line, callee, Role::Sample)
}

fn used(line: u32, callee: &str, role: Role) -> Use {
    Use {
        place: at(line),
        leaf: at(line),
        via: Vec::new(),
        callee: callee.to_owned(),
        role,
        written: None,
        name: Some(named()),
    }
}

/// A consumption on line 90 that is reached through a call on `line` and another one on line 80.
fn through(line: u32, callee: &str) -> Use {
    Use {
        place: at(line),
        leaf: at(90),
        via: vec![at(80)],
        callee: callee.to_owned(),
        role: Role::Sample,
        written: None,
        name: Some(named()),
    }
}

fn named() -> KeyName {
    KeyName { text: "key".to_owned(), can_rebind: true, is_several: false }
}

fn origin() -> Origin {
    Origin { place: at(1), text: "created by `jax.random.key(0)`".to_owned() }
}

fn reuse(kind: ReuseKind, first: Use, second: Use) -> KeyReuse {
    KeyReuse {
        kind,
        first,
        second,
        derived_at: None,
        origin: Some(origin()),
        derivation: Derivation::new("key(0)".to_owned(), DerivationKind::Elsewhere),
        repeated_by: None,
        loop_kind: LoopKind::Statement,
        entries: Vec::new(),
        carried_at: None,
        returned_at: None,
        distance: IterationDistance::Adjacent,
        binding: KeyBinding::Constant,
        is_seeded_again: false,
        equality: KeyEquality::Always,
        intended_child: None,
        intent: None,
        consequence: None,
        open_end: None,
        confidence: Confidence::High,
        function: "train".to_owned(),
    }
}

fn buffer(op: BufferOp, line: u32, text: &str, kind: KeyKind) -> BufferUse {
    BufferUse {
        op,
        place: at(line),
        text: text.to_owned(),
        kind,
        raises: kind == KeyKind::Typed,
        is_called: false,
        origin: Some(origin()),
        derivation: Derivation::new("key(0)".to_owned(), DerivationKind::Elsewhere),
        confidence: Confidence::High,
        function: "<module>".to_owned(),
    }
}

fn reference(line: u32, path: &str, written: &str, kind: ReferenceKind) -> Reference {
    Reference {
        place: at(line),
        path: path.to_owned(),
        written: written.to_owned(),
        kind,
        function: "f".to_owned(),
        reported: Models::builtin().reported(path).cloned(),
        is_guarded: false,
        is_evaluated: true,
    }
}

/// Findings as text: what a reader of a terminal sees, with line numbers for places.
fn story(findings: &[Finding]) -> String {
    let line = |place: Place| place.span.start / 100;
    let mut text = String::new();
    for finding in findings {
        let (code, name) = (finding.rule.code(), finding.rule.name());
        writeln!(text, "{code} {name} {} {}: {}", finding.level, finding.confidence, finding.message)
            .expect("writing to a string succeeds");
        writeln!(text, "  line {}: {}", line(finding.primary), finding.label).expect("writing to a string succeeds");
        for label in &finding.related {
            writeln!(text, "  line {}: {}", line(label.place), label.message).expect("writing to a string succeeds");
        }
        if let Some(help) = &finding.help {
            writeln!(text, "  help: {help}").expect("writing to a string succeeds");
        }
        for step in &finding.flow {
            writeln!(text, "  > line {}: {}", line(step.place), step.message).expect("writing to a string succeeds");
        }
        text.push('\n');
    }
    text
}

/// The findings over reuses alone.
fn of_reuses(reuses: Vec<KeyReuse>) -> String {
    story(&rules::check(&Facts { reuses, ..Facts::default() }))
}

/// The message, the help and the labels of the only finding of a program.
fn only_finding(program: &str) -> (String, String, Vec<String>) {
    let found = crate::in_memory::check_text("program.py", &format!("import itertools\nimport jax\n{program}"));
    let shown: Vec<&Finding> = found.iter().map(|one| &one.finding).filter(|one| one.level > Level::Note).collect();
    let [finding] = shown[..] else { panic!("{} findings:\n{program}", shown.len()) };
    let labels = finding.related.iter().map(|label| label.message.clone()).collect();
    (finding.message.clone(), finding.help.clone().unwrap_or_default(), labels)
}

#[test]
fn a_helper_that_returns_a_consumed_key_is_what_has_to_change() {
    let returned = "def draw(key):\n    sub, rest = jax.random.split(key)\n    x = jax.random.uniform(sub)\n    return x, KEY\n\ndef run(key):\n    x, key = draw(key)\n    return x + jax.random.normal(key)\n";
    let (message, help, labels) = only_finding(&returned.replace("KEY", "sub"));
    assert!(message.starts_with("`key` is consumed twice"), "{message}");
    assert_eq!(help, "have `draw` return a key that it has not consumed");
    assert!(labels.iter().any(|label| label == "`sub`, already consumed, is returned here"), "{labels:?}");
    assert!(
        crate::in_memory::check_text("program.py", &format!("import jax\n{}", returned.replace("KEY", "rest")))
            .is_empty()
    );
    // The name is rebound before one `return`, so the other one has to change.
    let rebound = returned.replace(
        "    return x, KEY",
        "    if x > 0:\n        sub = rest\n        return x, sub\n    return x, sub  # here",
    );
    let found = crate::in_memory::check_text("program.py", &format!("import jax\n{rebound}"));
    let labels: Vec<_> = found
        .iter()
        .flat_map(|one| &one.finding.related)
        .filter(|label| label.message.contains("is returned here"))
        .collect();
    assert!(!labels.is_empty());
    let here = u32::try_from(rebound.find("return x, sub  # here").unwrap() + "import jax\n".len()).unwrap();
    assert!(labels.iter().all(|label| label.place.span.start == here), "{labels:?}");
    // A parameter that is returned and then bound to the same name is the same mistake.
    let given = "def draw(key):\n    return jax.random.uniform(key), key\n\ndef run(key):\n    x, key = draw(key)\n    return x + jax.random.normal(key)\n";
    let (_, help, _) = only_finding(given);
    assert_eq!(help, "have `draw` return a key that it has not consumed");
    // The branch that does not draw does not return a consumed key.
    let either = "def draw(key):\n    if key is not None:\n        x = jax.random.uniform(key)\n    else:\n        return 0.0, key\n    return x, key  # here\n\ndef run(key):\n    x, key = draw(key)\n    return x + jax.random.normal(key)\n";
    let found = crate::in_memory::check_text("program.py", &format!("import jax\n{either}"));
    let here = u32::try_from(either.find("return x, key  # here").unwrap() + "import jax\n".len()).unwrap();
    let mut labels = found.iter().flat_map(|one| &one.finding.related);
    assert!(labels.any(|label| label.message.contains("is returned here") && label.place.span.start == here));
    // The key that is used again is the caller's own, whatever other parts of the call are read.
    let beside = "def draw(key):\n    return jax.random.uniform(key), key\n\ndef step(x, key):\n    return x + jax.random.normal(key)\n\ndef run(key):\n    x, _ = draw(key)\n    return step(x, key)\n";
    let (_, help, _) = only_finding(beside);
    assert_eq!(help, "give each call its own key: `key1, key2 = jax.random.split(key)`");
    // The caller has the key as well, so it is the caller that uses it twice.
    let passed = "def draw(key):\n    return jax.random.uniform(key), 0\n\ndef run(key):\n    x, _ = draw(key)\n    return x + jax.random.normal(key)\n";
    let (_, help, _) = only_finding(passed);
    assert_eq!(help, "give each call its own key: `key1, key2 = jax.random.split(key)`");
}

#[test]
fn an_unused_child_is_offered_once() {
    let program = "import jax\n\ndef run(key):\n    key, a, b, spare = jax.random.split(key, 4)\n    w, x = jax.random.normal(a), jax.random.normal(a)\n    y, z = jax.random.normal(b), jax.random.normal(b)\n    return w, x, y, z, key\n";
    let found = crate::in_memory::check_text("program.py", program);
    let shown = found.iter().filter(|one| one.finding.level > Level::Note);
    let help: Vec<&str> = shown.filter_map(|one| one.finding.help.as_deref()).collect();
    assert_eq!(
        help,
        ["use `spare`, which is still unused", "give each call its own key: `key1, key2 = jax.random.split(b)`"]
    );
}

#[test]
fn loops_over_one_repeated_key_get_fitting_help() {
    let (message, help, _) = only_finding(
        "def run(key, xs):\n    out = []\n    for k, x in zip(itertools.repeat(key), xs):\n        out.append(x * jax.random.normal(k))\n    return out\n",
    );
    let expected = "`k` is the same key in two iterations, and consumed in both, so `jax.random.normal` draws the same numbers again";
    assert!(message.starts_with(expected), "{message}");
    assert_eq!(help, "iterate over as many keys as there are iterations, such as the result of `jax.random.split`");
    let (message, help, _) = only_finding(
        "def run(key):\n    keys = itertools.cycle(jax.random.split(key, 2))\n    return [jax.random.normal(next(keys)) for _ in range(3)]\n",
    );
    assert!(message.contains("is the same key in two iterations"), "{message}");
    assert_eq!(help, "give each iteration its own key");
    let (message, help, _) = only_finding(
        "def run(key, xs):\n    out = []\n    for x in xs:\n        out.append(x * jax.random.normal(key))\n    return out\n",
    );
    assert!(message.starts_with("`key` is consumed in every iteration"), "{message}");
    assert!(help.starts_with("split it in each iteration"), "{help}");
}

#[test]
fn two_draws_from_one_key() {
    let normal = "jax.random.normal";
    let mut unnamed = reuse(ReuseKind::Sampled, sample(2, normal), sample(3, normal));
    (unnamed.first.name, unnamed.second.name) = (None, None);
    let mut instead = reuse(ReuseKind::Sampled, sample(4, "jax.random.uniform"), sample(5, normal));
    instead.intended_child = Some(UnusedChild { name: "subkey".to_owned(), bound_at: instead.first.place });
    let helper = reuse(ReuseKind::Sampled, through(6, normal), through(7, normal));
    let mut unseen = reuse(ReuseKind::Sampled, sample(8, normal), used(9, "self.step", Role::Unresolved));
    unseen.confidence = Confidence::Low;
    let init = used(11, "flax.linen.Module.init", Role::Library);
    let library = reuse(ReuseKind::Sampled, sample(10, normal), init);
    let fold = used(13, "jax.random.fold_in", Role::Fold);
    let folded = reuse(ReuseKind::FoldAndSampled, sample(12, normal), fold);
    insta::assert_snapshot!(of_reuses(vec![unnamed, instead, helper, unseen, library, folded]));
}

#[test]
fn keys_consumed_by_each_iteration() {
    let normal = "jax.random.normal";
    let mut draw = reuse(ReuseKind::Iterated, sample(3, normal), sample(3, normal));
    draw.repeated_by = Some(at(2));
    let split = used(5, "jax.random.split", Role::Split);
    let mut split = reuse(ReuseKind::Iterated, split.clone(), split);
    split.repeated_by = Some(at(4));
    let mut neighbours = reuse(ReuseKind::Iterated, sample(8, "jax.random.uniform"), sample(7, normal));
    neighbours.repeated_by = Some(at(6));
    (neighbours.first.name, neighbours.second.name) = (None, None);
    neighbours.derivation = Derivation::new("split(key, n)[i]".to_owned(), DerivationKind::Elsewhere);
    let mut helper = reuse(ReuseKind::Iterated, through(9, normal), through(9, normal));
    helper.repeated_by = Some(at(8));
    insta::assert_snapshot!(of_reuses(vec![draw, split, neighbours, helper]));
}

#[test]
fn a_key_split_and_drawn_from() {
    let split = |line| used(line, "jax.random.split", Role::Split);
    let parent = reuse(ReuseKind::SplitAndSampled, split(2), sample(3, "jax.random.normal"));
    let mut instead = reuse(ReuseKind::SplitAndSampled, split(4), sample(5, "jax.random.normal"));
    instead.intended_child = Some(UnusedChild { name: "subkey".to_owned(), bound_at: instead.first.place });
    let after = reuse(ReuseKind::SplitAndSampled, through(6, "jax.random.normal"), split(7));
    insta::assert_snapshot!(of_reuses(vec![parent, instead, after]));
}

#[test]
fn equal_derivations() {
    let split = |line| used(line, "jax.random.split", Role::Split);
    let twice = reuse(ReuseKind::SplitTwice, split(2), split(3));
    let mut disjoint = reuse(ReuseKind::SplitTwice, split(4), split(5));
    disjoint.intent = Some(Intent::new(IntentKind::DisjointParts, None));
    let draws = || (sample(8, "jax.random.normal"), sample(9, "jax.random.bernoulli"));
    let (first, second) = draws();
    let mut folded = reuse(ReuseKind::FoldedTwice, first, second);
    folded.derived_at = Some((at(6), at(7)));
    folded.derivation = Derivation::new("fold_in(key, step)".to_owned(), DerivationKind::Elsewhere);
    let (first, second) = draws();
    let mut meets = reuse(ReuseKind::FoldMeetsChild, first, second);
    meets.derived_at = Some((at(6), at(8)));
    meets.derivation = Derivation::new("fold_in(key(0), 1)".to_owned(), DerivationKind::Elsewhere);
    meets.confidence = Confidence::Medium;
    insta::assert_snapshot!(of_reuses(vec![twice, disjoint, folded, meets]));
}

#[test]
fn equal_seeds() {
    let mut seeds = reuse(ReuseKind::SeededTwice, sample(3, "jax.random.normal"), through(5, "jax.random.normal"));
    seeds.derived_at = Some((at(2), at(70)));
    let mut fallback = reuse(ReuseKind::SeededTwice, sample(8, "jax.random.normal"), sample(9, "jax.random.uniform"));
    fallback.derived_at = Some((at(6), at(7)));
    fallback.intent = Some(Intent::new(IntentKind::DocumentedDefault, None));
    insta::assert_snapshot!(of_reuses(vec![seeds, fallback]));
}

#[test]
fn stored_and_returned_key_rules() {
    let normal = "jax.random.normal";
    let captured = |kind, line| CapturedUse {
        intent: None,
        kind,
        callee: "noise".to_owned(),
        defined_at: at(2),
        used: sample(line, normal),
        origin: Some(origin()),
        name: "key".to_owned(),
        confidence: Confidence::High,
        function: "make.noise".to_owned(),
    };
    let stale = StaleState {
        advanced_at: None,
        used: through(10, normal),
        name: "self.key".to_owned(),
        stored_at: Some(at(9)),
        confidence: Confidence::High,
        function: "Policy.act".to_owned(),
    };
    let carried = |kind, line| CarriedKey {
        kind,
        place: at(line),
        used: sample(11, normal),
        derivation: Derivation::new("key".to_owned(), DerivationKind::Elsewhere),
        confidence: Confidence::High,
        function: "sample".to_owned(),
    };
    let facts = Facts {
        captured: vec![
            captured(CaptureKind::Transformed, 3),
            captured(CaptureKind::Stored, 4),
            captured(CaptureKind::Default, 5),
        ],
        stale: vec![stale],
        carried: vec![carried(CarryKind::Returned, 12), carried(CarryKind::Stored, 13)],
        ..Facts::default()
    };
    insta::assert_snapshot!(story(&rules::check(&facts)));
}

#[test]
fn reuse_rules() {
    let broadcast = |kind, line| Broadcast {
        kind,
        is_direct: true,
        on_devices: false,
        used: sample(line, "jax.random.normal"),
        mapped_at: at(2),
        made_at: None,
        stream: None,
        intent: None,
        consequence: None,
        origin: Some(origin()),
        derivation: Derivation::new("key(0)".to_owned(), DerivationKind::Elsewhere),
        confidence: Confidence::High,
        function: "<module>".to_owned(),
    };
    let discarded = |line, whole: bool| Discarded {
        place: at(line),
        callee: "jax.random.split".to_owned(),
        whole,
        name: (!whole).then(|| "bias_key".to_owned()),
        function: "init".to_owned(),
    };
    let ignored = IgnoredCaller {
        place: at(9),
        callee: "jax.random.key(0)".to_owned(),
        parameter: "key".to_owned(),
        loss: CallerKeyLoss::Unread,
        declared_at: at(8),
        used: sample(10, "jax.random.normal"),
        confidence: Confidence::High,
        function: "sample".to_owned(),
    };
    let facts = Facts {
        broadcasts: vec![
            broadcast(BroadcastKind::Captured, 3),
            broadcast(BroadcastKind::Unmapped, 4),
            broadcast(BroadcastKind::Copied, 5),
        ],
        discarded: vec![discarded(6, true), discarded(7, false)],
        ignored: vec![ignored],
        ..Facts::default()
    };
    insta::assert_snapshot!(story(&rules::check(&facts)));
}

fn trace(line: u32) -> Trace {
    Trace {
        place: at(line),
        function: "Agent.step".to_owned(),
        transform: "jax.jit".to_owned(),
        at: at(2),
        kind: TraceKind::Recorded,
        depends_on_argument: false,
    }
}

#[test]
fn tracing_rules() {
    let leaked = |kind, line, name: &str| LeakedKey {
        kind,
        name: name.to_owned(),
        leaf: at(line),
        steps: Vec::new(),
        trace: Some(trace(line)),
        confidence: Confidence::High,
    };
    let facts = Facts {
        leaked: vec![
            leaked(LeakKind::Global, 3, "key"),
            LeakedKey { leaf: at(90), ..leaked(LeakKind::Part, 4, "self.key") },
            leaked(LeakKind::Iterator, 5, "keys"),
            LeakedKey { trace: None, ..leaked(LeakKind::Variable, 6, "key") },
        ],
        constant: vec![ConstantKey {
            made_at: at(90),
            maker: "jax.random.key".to_owned(),
            used: sample(91, "jax.random.normal"),
            steps: Vec::new(),
            trace: Some(trace(7)),
            is_noise: false,
            confidence: Confidence::High,
        }],
        host: vec![HostDraw {
            source: "numpy.random.normal".to_owned(),
            leaf: at(8),
            steps: Vec::new(),
            trace: Some(trace(8)),
            confidence: Confidence::High,
        }],
        ..Facts::default()
    };
    insta::assert_snapshot!(story(&rules::check(&facts)));
}

#[test]
fn array_wrapper_rules() {
    let wrapped = |way, line, callee: &str| WrappedKey {
        way,
        place: at(line),
        leaf: at(line),
        callee: callee.to_owned(),
        class: "Box".to_owned(),
        class_at: Some(at(1)),
        method: "__jax_array__".to_owned(),
        written: Some("box".to_owned()),
        since: Some([0, 8, 0]),
        warns: Some([0, 6, 1]),
        confidence: Confidence::High,
        function: "draw".to_owned(),
    };
    let mut facts = Facts {
        wrapped: vec![
            WrappedKey { since: None, warns: None, ..wrapped(WrapperWay::Handed, 3, "jax.random.normal") },
            WrappedKey { written: None, leaf: at(90), ..wrapped(WrapperWay::Handed, 4, "jax.lax.eq") },
            wrapped(WrapperWay::Argument, 5, "jax.jit"),
            wrapped(WrapperWay::Result, 6, "jax.jit"),
        ],
        untyped: vec![UntypedKey {
            place: at(7),
            name: "key".to_owned(),
            used: sample(8, "jax.random.normal"),
            function: "noise".to_owned(),
            confidence: Confidence::High,
        }],
        ..Facts::default()
    };
    insta::assert_snapshot!(story(&rules::check(&facts)));
    let levels = |facts: &Facts| -> Vec<String> {
        rules::check(facts).iter().map(|found| format!("{} {}", found.rule, found.level)).collect()
    };
    facts.untyped.clear();
    facts.jax = Some([0, 7, 2]);
    assert_eq!(levels(&facts), ["KEY501 error", "KEY501 warning", "KEY502 warning", "KEY502 warning"]);
    facts.jax = Some([0, 5, 0]);
    assert_eq!(levels(&facts), ["KEY501 error"]);
}

#[test]
fn implementations_and_seeds() {
    let mismatch = |kind, line, names: [&str; 2], widths| Mismatch {
        kind,
        place: at(line),
        callee: "jax.numpy.stack".to_owned(),
        names: names.map(str::to_owned),
        widths,
        origins: [Some(origin()), None],
        are_defaults: [false, kind == ImplementationConflict::Width],
        confidence: Confidence::High,
        function: "f".to_owned(),
    };
    let choice = |kind, line, name: Option<&str>| GlobalChoice {
        kind,
        place: at(line),
        by: "jax.config.update".to_owned(),
        name: name.map(str::to_owned),
        caveat: None,
        function: "f".to_owned(),
    };
    let bridge = |line, passed_to: Option<&str>| RawBridge {
        place: at(line),
        callee: "jax.random.key_data".to_owned(),
        leaves_at: at(90),
        passed_to: passed_to.map(str::to_owned),
        function: "f".to_owned(),
    };
    let seed = |line, source: &str, is_hash| UnstableSeed {
        place: at(line),
        callee: "jax.random.key".to_owned(),
        source: source.to_owned(),
        source_at: at(90),
        is_hash,
        confidence: Confidence::High,
        function: "f".to_owned(),
    };
    let two = ["rbg", "threefry2x32"];
    let facts = Facts {
        mismatches: vec![
            mismatch(ImplementationConflict::Joined, 2, two, [4, 2]),
            mismatch(ImplementationConflict::Carried, 3, two, [4, 2]),
            mismatch(ImplementationConflict::Branches, 4, two, [4, 2]),
            mismatch(ImplementationConflict::Wrapped, 5, two, [4, 2]),
            mismatch(ImplementationConflict::Wrapped, 6, ["rbg", "unsafe_rbg"], [4, 4]),
            mismatch(ImplementationConflict::Width, 7, ["", "threefry2x32"], [3, 2]),
            mismatch(ImplementationConflict::Taken, 8, ["philox4x32", "threefry2x32"], [2, 2]),
        ],
        choices: vec![
            choice(ChoiceKind::Option, 9, Some("rbg")),
            choice(ChoiceKind::Block, 10, None),
            choice(ChoiceKind::Environment, 11, Some("rbg")),
        ],
        bridges: vec![bridge(12, Some("init")), bridge(13, None)],
        unstable: vec![seed(14, "time.time", false), seed(15, "builtins.hash", true)],
        ..Facts::default()
    };
    insta::assert_snapshot!(story(&rules::check(&facts)));
}

#[test]
fn number_rules() {
    let mut reseed = buffer(BufferOp::Reseed, 4, "PRNGKey(key[1])", KeyKind::Raw);
    reseed.raises = false;
    let buffers = vec![
        buffer(BufferOp::Index, 2, "key[0]", KeyKind::Raw),
        buffer(BufferOp::Index, 3, "key[0]", KeyKind::Typed),
        buffer(BufferOp::Index, 4, "key[1]", KeyKind::Raw),
        reseed,
        buffer(BufferOp::Unpack, 5, "a, b = key", KeyKind::Raw),
        buffer(BufferOp::Unpack, 6, "a, b = key", KeyKind::Typed),
        buffer(BufferOp::Arithmetic, 7, "key + 1", KeyKind::Raw),
        buffer(BufferOp::Arithmetic, 8, "key + 1", KeyKind::Typed),
        buffer(BufferOp::Numeric, 9, "jnp.sum", KeyKind::Unknown),
        buffer(BufferOp::MapAxis, 10, "jax.vmap(f, in_axes=1)", KeyKind::Raw),
        buffer(BufferOp::Transpose, 11, "keys.T", KeyKind::Raw),
        buffer(BufferOp::Reshape, 12, "keys.reshape(-1)", KeyKind::Raw),
        buffer(BufferOp::ShapeLogic, 13, "key.shape == (2,)", KeyKind::Unknown),
        buffer(BufferOp::DtypeLogic, 14, "key.dtype == jnp.uint32", KeyKind::Unknown),
        buffer(BufferOp::DtypeLogic, 15, "key.astype", KeyKind::Typed),
        buffer(BufferOp::Rewrap, 16, "jax.random.wrap_key_data", KeyKind::Typed),
        buffer(BufferOp::Fabricate, 17, "jnp.zeros_like", KeyKind::Raw),
        buffer(BufferOp::Number, 18, "int(key)", KeyKind::Typed),
        buffer(BufferOp::Truth, 19, "key", KeyKind::Unknown),
        buffer(BufferOp::Search, 20, "key not in cache", KeyKind::Typed),
    ];
    insta::assert_snapshot!(story(&rules::check(&Facts { buffers, ..Facts::default() })));
}

#[test]
fn legacy_name_rules() {
    let references = vec![
        reference(1, "jax.random.PRNGKey", "PRNGKey", ReferenceKind::Import),
        reference(2, "jax.random.KeyArray", "KeyArray", ReferenceKind::Import),
        reference(3, "jax.random.KeyArray", "KeyArray", ReferenceKind::Annotation),
        reference(4, "jax.random.PRNGKeyArray", "jax.random.PRNGKeyArray", ReferenceKind::Value),
        reference(5, "jax.random.shuffle", "jax.random.shuffle", ReferenceKind::Call),
        reference(6, "jax.prng", "jax.prng", ReferenceKind::Import),
        reference(7, "jax.prng.threefry_2x32", "jax.prng.threefry_2x32", ReferenceKind::Call),
        reference(8, "jax._src.prng", "prng", ReferenceKind::Import),
        reference(9, "jax._src.prng.PRNGKeyArray", "prng.PRNGKeyArray", ReferenceKind::Value),
        reference(10, "key.dtype._impl", "key.dtype._impl", ReferenceKind::Value),
        reference(11, "jax.random.PRNGKey", "PRNGKey", ReferenceKind::Call),
        reference(12, "jax.random.PRNGKey", "PRNGKey", ReferenceKind::Annotation),
        reference(13, "jax.random.PRNGKey", "PRNGKey", ReferenceKind::Value),
        reference(14, "jax.random.key", "jax.random.key", ReferenceKind::Call),
        reference(15, "jax._src.core", "jax._src.core", ReferenceKind::Import),
        reference(16, "jax.prngs", "jax.prngs", ReferenceKind::Value),
    ];
    insta::assert_snapshot!(story(&rules::check(&Facts { references, ..Facts::default() })));
}

#[test]
fn findings_about_the_run() {
    let findings = [
        rules::syntax_error(at(1), "Expected an expression."),
        rules::unused_suppression(at(2), "KEY101"),
        rules::invalid_suppression(at(3), "unknown rule `KEY998`"),
        rules::unreadable_file(at(4), "not UTF-8"),
        rules::internal_error(at(5), "index out of bounds"),
    ];
    insta::assert_snapshot!(story(&findings));
}

/// Every sentence of every finding above follows the style guide.
#[test]
fn words_keep_the_style() {
    let ops = [BufferOp::Index, BufferOp::Unpack, BufferOp::Arithmetic, BufferOp::MapAxis, BufferOp::Number];
    let kinds = [KeyKind::Typed, KeyKind::Raw, KeyKind::Unknown];
    let buffers =
        ops.into_iter().zip(1..).flat_map(|(op, line)| kinds.map(|kind| buffer(op, line, "key", kind))).collect();
    let kinds = [
        ReuseKind::Sampled,
        ReuseKind::Iterated,
        ReuseKind::SplitAndSampled,
        ReuseKind::SplitTwice,
        ReuseKind::FoldedTwice,
        ReuseKind::FoldMeetsChild,
        ReuseKind::SeededTwice,
        ReuseKind::FoldAndSampled,
    ];
    let reuses = kinds
        .into_iter()
        .zip(20..)
        .map(|(kind, line)| reuse(kind, sample(line, "jax.random.normal"), through(line + 20, "jax.random.bits")))
        .collect();
    let findings = rules::check(&Facts { buffers, reuses, ..Facts::default() });
    assert!(!findings.is_empty());
    for finding in &findings {
        let labels = finding.related.iter().chain(&finding.flow).map(|label| &label.message);
        for text in [&finding.message, &finding.label].into_iter().chain(labels).chain(&finding.help) {
            let first = text.chars().next().expect("texts are not empty");
            assert!(!first.is_uppercase(), "{text}");
            assert!(!text.ends_with('.') && !text.contains('\n'), "{text}");
        }
    }
}
