//! Replays: what they confirm, what they never confirm, and that they terminate.
//!
//! **Invariant:** a program is given as text; the result of its replay is compared with the known behaviour of the
//! program.

use std::fs;
use std::path::{Path, PathBuf};

use keylint::finding::{Evidence, Inconclusive, Place, Sharing, Witness, WitnessStatus};
use keylint::ir::Resolver;
use keylint::ir::{self, OpKind};
use keylint::models::Models;
use keylint::python::{SourceKind, parse};
use keylint::text::{Edit, FileId, Span, apply_edits};
use keylint::verify::replay::{self, Budget, Comparison, DrawKind, Entry, EntryStates, Freedom, Project, Traces};
use serde_json::Value;
use walkdir::WalkDir;

use crate::in_memory::check_text;

/// The file of every program.
const FILE: FileId = FileId(0);

/// Nothing but the one file.
pub(crate) struct SingleFile;

impl Resolver for SingleFile {
    fn module(&self, _: FileId, _: u32, _: &str) -> Option<FileId> {
        None
    }

    fn absolute(&self, _: FileId, _: u32, path: &str) -> String {
        path.to_owned()
    }
}

fn lowered(text: &str) -> ir::Module {
    ir::lower(FILE, &parse(text, SourceKind::Py).module, &|_| Vec::new())
}

fn project(module: &ir::Module) -> Project<'_> {
    Project::new(vec![module], &SingleFile, Models::builtin(), &[])
}

/// The place of the first or only text like this.
fn place(text: &str, part: &str) -> Place {
    let start = text.find(part).unwrap();
    let span = |at: usize| u32::try_from(at).unwrap();
    Place { file: FILE, span: Span::new(span(start), span(start + part.len())) }
}

/// The paths of the function around the first text like this.
fn traces(text: &str, part: &str) -> Traces {
    let module = lowered(text);
    replay::trace(&project(&module), place(text, part))
}

/// The verdict of the replay on the claim that two draws get the same key.
fn status(text: &str, sharing: Sharing, first: &str, second: &str) -> WitnessStatus {
    witness(text, sharing, first, second).status
}

fn witness(text: &str, sharing: Sharing, first: &str, second: &str) -> Witness {
    let module = lowered(text);
    let (first, second) = (vec![place(text, first)], vec![place(text, second)]);
    let evidence = Evidence { sharing, first, second, draws_numbers: true, ends_in_split: false, is_open: false };
    replay::witness(&project(&module), &evidence, &[], &mut Budget::FILE.clone(), &mut EntryStates::default())
}

/// Code, status and sentence of every witness among the findings of a text.
fn witnesses(text: &str) -> Vec<(&'static str, WitnessStatus, String)> {
    let checked = check_text("/program.py", text).into_iter();
    checked
        .filter_map(|checked| {
            let witness = checked.finding.witness?;
            Some((checked.finding.rule.code(), witness.status, witness.sentence))
        })
        .collect()
}

fn at(path: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join(path)
}

/// Programs of a file that lists them.
fn listed(path: &str) -> Vec<Value> {
    let value: Value = serde_json::from_str(&fs::read_to_string(at(path)).unwrap()).unwrap();
    value.as_array().cloned().or_else(|| value["programs"].as_array().cloned()).unwrap()
}

#[test]
fn sentences_describe_what_was_replayed() {
    let known = "\
import jax
key = jax.random.key(42)
a = jax.random.uniform(key, (3,))
b = jax.random.uniform(key, (3,))
";
    let numbers = "verified by replay: both calls receive the key [0, 42]; both draw 0.48870957, 0.6797972, 0.6162715";
    assert_eq!(witnesses(known), [("KEY101", WitnessStatus::Confirmed, numbers.to_owned())]);

    let unlike = known.replacen("uniform", "normal", 1);
    let sentence = "verified by replay: both calls receive the key [0, 42]";
    assert_eq!(witnesses(&unlike), [("KEY101", WitnessStatus::Confirmed, sentence.to_owned())]);

    let given = "\
import jax
def f(key, n):
    return jax.random.uniform(key, (n,)), jax.random.uniform(key, (n,))
";
    let sentence = "verified by replay with a made-up `key` = [1, 1]: both calls receive the same key";
    assert_eq!(witnesses(given), [("KEY101", WitnessStatus::Confirmed, sentence.to_owned())]);

    let looped = "\
import jax
key = jax.random.key(7)
for _ in range(3):
    print(jax.random.bits(key))
";
    let found = witnesses(looped);
    assert!(found[0].2.starts_with("verified by replay: two iterations receive the key [0, 7]"), "{found:?}");

    // The program determines the length of a sequence.
    let long = "\
import jax
def f(key, xs):
    if xs and len(xs) == 100:
        return jax.random.normal(key) + jax.random.uniform(key)
    return 0.0
";
    assert_eq!(witnesses(long)[0].1, WitnessStatus::Confirmed);

    let mapped = "\
import jax, jax.numpy as jnp
key = jax.random.key(7)
print(jax.vmap(lambda x: x + jax.random.bits(key))(jnp.arange(3)))
";
    let found = witnesses(mapped);
    assert!(found[0].2.starts_with("verified by replay: two batch elements receive the key [0, 7]"), "{found:?}");
}

/// `# shows: SENTENCE` at the end of a line of `fixtures/witnesses`, or alone on the line above.
#[test]
fn buffer_operations_show_their_result() {
    let mut seen = 0;
    for entry in fs::read_dir(at("fixtures/witnesses")).unwrap() {
        let text = fs::read_to_string(entry.unwrap().path()).unwrap();
        let mut due = Vec::new();
        for (row, line) in (1..).zip(text.lines()) {
            if let Some((before, sentence)) = line.split_once("# shows: ") {
                due.push((row + usize::from(before.is_empty()), sentence.to_owned()));
            }
        }
        let findings = check_text("program.py", &text);
        let shown: Vec<(usize, String)> =
            findings.into_iter().filter_map(|checked| Some((checked.row, checked.finding.witness?.sentence))).collect();
        assert_eq!(shown, due);
        seen += due.len();
    }
    assert!(seen > 10, "{seen}");
}

#[test]
fn claims_are_confirmed_refuted_or_left_open() {
    let split = "\
import jax
a, b = jax.random.split(jax.random.key(0))
x = jax.random.normal(a)
y = jax.random.uniform(b)
";
    let (first, second) = ("jax.random.normal(a)", "jax.random.uniform(b)");
    assert_eq!(status(split, Sharing::Twice, first, second), WitnessStatus::Refuted);
    let same = split.replace("uniform(b)", "uniform(a)");
    let second_same = "jax.random.uniform(a)";
    assert_eq!(status(&same, Sharing::Twice, first, second_same), WitnessStatus::Confirmed);
    let unknown = split.replace("jax.random.key(0)", "make()");
    assert_eq!(status(&unknown, Sharing::Twice, first, second), WitnessStatus::Inconclusive);
    let never = split.replace("y =", "if False: y =");
    assert_eq!(status(&never, Sharing::Twice, first, second), WitnessStatus::Inconclusive);
    let endless = format!("while True: pass\n{split}");
    assert_eq!(status(&endless, Sharing::Twice, first, second), WitnessStatus::Inconclusive);
}

#[test]
fn one_flag_has_one_value_on_a_path() {
    let text = "\
import jax
def f(key, train, cfg):
    if train and cfg.noise is not None:
        a = jax.random.normal(key)
    if not train:
        b = jax.random.uniform(key)
";
    let (first, second) = ("jax.random.normal(key)", "jax.random.uniform(key)");
    assert_eq!(status(text, Sharing::Twice, first, second), WitnessStatus::Inconclusive);
    for also in ["if cfg.noise:", "if cfg.noise is not None:", "if train:", "if not (not train):", "if cfg.other == 3:"]
    {
        let other = text.replace("if not train:", also);
        assert_eq!(status(&other, Sharing::Twice, first, second), WitnessStatus::Confirmed, "{also}");
    }
    for never in ["if cfg.noise is None:", "if not cfg.noise is not None:", "if not bool(train):"] {
        let other = text.replace("if not train:", never);
        assert_eq!(status(&other, Sharing::Twice, first, second), WitnessStatus::Inconclusive, "{never}");
    }
}

#[test]
fn expected_findings_are_confirmed_by_the_replay() {
    let mut texts: Vec<(String, String)> = Vec::new();
    for entry in WalkDir::new(at("fixtures/cases")).sort_by_file_name() {
        let entry = entry.unwrap();
        if entry.path().extension().is_some_and(|extension| extension == "py") {
            texts.push((entry.path().display().to_string(), fs::read_to_string(entry.path()).unwrap()));
        }
    }
    for file in ["fixtures/jax/reuse_programs.json", "fixtures/hard/structures.json"] {
        for program in listed(file) {
            texts.push((program["id"].to_string(), program["source"].as_str().unwrap().to_owned()));
        }
    }
    let (mut all, mut confirmed, mut others) = (0, 0, Vec::new());
    for (name, text) in texts {
        for checked in check_text("/program.py", &text) {
            let Some(witness) = &checked.finding.witness else { continue };
            if checked.finding.buffer_access.is_some() {
                continue;
            }
            all += 1;
            assert_ne!(witness.status, WitnessStatus::Refuted, "{name}:{}", checked.row);
            if witness.status == WitnessStatus::Confirmed {
                confirmed += 1;
                assert_eq!(witness.draws.len(), 2, "{name}:{}", checked.row);
                assert_eq!(witness.draws[0].key_data, witness.draws[1].key_data, "{name}:{}", checked.row);
            } else {
                others.push(format!("{name}:{} {}", checked.row, checked.finding.rule.code()));
            }
        }
    }
    assert!(all > 800, "{all}");
    // A replay does not know what overrides a method, or which part of an array a slice is, where the analysis does. Nor does it follow
    // `shard_map`, assume that a parameter has its default, run a call that nothing resolves, the method that `apply` of a module selects, or
    // the constructor that a class inherits from a library, keep a record or the methods of an object that such a call gets, compute what
    // replaces parts of a tree, copy an unknown number of keys with `tile`, raise where `float` may, or run a loop until a counter is
    // large. This is a number and no share: a share would fall whenever a finding that is confirmed becomes a note, which is not replayed.
    assert!(others.len() <= 75, "{confirmed} of {all}\n{others:#?}");
}

/// The only correct structure that draws from equal keys: `clone` says that this is intended.
const MEANT: &str = "ok-clone";

#[test]
fn clean_programs_have_no_findings() {
    let mut programs: Vec<(String, String)> = Vec::new();
    for program in listed("fixtures/hard/structures.json") {
        if program["expect"] == "silent" && program["structure"] != MEANT {
            let source = program["source"].as_str().unwrap();
            programs.push((program["id"].as_str().unwrap().to_owned(), source.to_owned()));
        }
    }
    assert!(programs.len() > 100);
    let mut wrong = Vec::new();
    for (id, text) in &programs {
        let module = lowered(text);
        let traces = replay::trace(&project(&module), Place { file: FILE, span: Span::new(0, 0) });
        let collides = traces.paths.iter().any(|path| {
            let samples: Vec<_> = path.draws.iter().filter(|draw| draw.kind == DrawKind::Sample).collect();
            let pairs = samples.iter().enumerate().flat_map(|(at, draw)| samples[..at].iter().map(move |b| (draw, b)));
            pairs.into_iter().any(|(a, b)| a.keys.iter().any(|key| b.keys.contains(key)))
        });
        if collides {
            wrong.push(id.clone());
        }
    }
    assert!(wrong.is_empty(), "{wrong:#?}");
}

#[test]
fn traces_hold_every_path_and_draw() {
    let text = "\
import jax
def f(key, flag):
    k1, k2 = jax.random.split(key)
    if flag:
        return jax.random.normal(k1)
    return jax.random.normal(k2), jax.random.uniform(k1)
";
    let traces = traces(text, "return");
    assert!(traces.is_complete);
    let kinds: Vec<Vec<&str>> = traces
        .paths
        .iter()
        .map(|path| path.draws.iter().map(|draw| draw.callee.rsplit('.').next().unwrap()).collect())
        .collect();
    assert_eq!(kinds, [vec!["split", "normal", "uniform"], vec!["split", "normal"]]);
    let draws = &traces.paths[0].draws;
    assert_eq!(draws[0].kind, DrawKind::Split);
    assert_ne!(draws[1].keys, draws[2].keys);
    assert_eq!(traces.paths[1].draws[1].keys, draws[2].keys);
}

/// The draws that the following texts have.
const FIRST: &str = "jax.random.normal(key)";
const SECOND: &str = "jax.random.uniform(key)";

#[test]
fn inconclusive_replays_say_why() {
    let text = "\
import jax
def f(key, other, flag):
    if flag: jax.random.normal(key)
    if flag: jax.random.uniform(key)
";
    let gap = |from: &str, to: &str| witness(&text.replace(from, to), Sharing::Twice, FIRST, SECOND).gap;
    assert_eq!(gap("", ""), None);
    assert_eq!(gap("if flag: jax.random.u", "if False: jax.random.u"), Some(Inconclusive::SecondNotReached));
    assert_eq!(gap("if flag: jax.random.n", "if False: jax.random.n"), Some(Inconclusive::FirstNotReached));
    assert_eq!(
        gap("    if flag: jax.random.n", "    return\n    if flag: jax.random.n"),
        Some(Inconclusive::NeitherReached)
    );
    assert_eq!(gap("if flag: jax.random.u", "if not flag: jax.random.u"), Some(Inconclusive::NeverBoth));
    assert_eq!(gap("if flag: jax.random.u", "key = other\n    jax.random.u"), Some(Inconclusive::KeysDiffer));
    let module = lowered(text);
    let (first, second) = (vec![place(text, FIRST)], vec![place(text, SECOND)]);
    let evidence =
        Evidence { sharing: Sharing::Twice, first, second, draws_numbers: true, ends_in_split: false, is_open: false };
    let mut nothing = Budget::FILE.clone().part(0);
    let spent = replay::witness(&project(&module), &evidence, &[], &mut nothing, &mut EntryStates::default());
    assert_eq!((spent.status, spent.gap), (WitnessStatus::Inconclusive, Some(Inconclusive::NoBudget)));
}

/// A function that costs more than a run may, with what it does before it ends.
fn costly(last: &str) -> String {
    format!(
        "\
import jax
key = jax.random.key(0)
class Box: pass
box = Box()
box.key = key
def once(n): return n + 1
def twice(n): return once(once(n))
def costly(box):
    global key
    n = 0
    for i in range(1000):
        for j in range(1000):
            n = twice(n)
    {last}
def f(key):
    costly(box)
    a = jax.random.normal(key)
    costly(box)
    b = jax.random.uniform(key)
"
    )
}

#[test]
fn values_that_escaped_are_unknown() {
    let program = |made: &str, between: &str, drawn: &str| {
        format!(
            "\
import jax
def f(mutate):
    key = jax.random.key(0)
    held = {made}
    a = jax.random.normal({drawn})
    {between}
    b = jax.random.uniform({drawn})
"
        )
    };
    let box_of = "[type('Box', (), {})(), {'key': [key]}]";
    for (made, drawn) in [
        ("[key]", "held[0]"),
        ("{'key': key}", "held['key']"),
        ("{'keys': [key, key]}", "held['keys'][1]"),
        ("([key], 1)", "held[0][0]"),
        ("iter([key, key, key])", "next(held)"),
        ("(key for _ in range(3))", "next(held)"),
        (box_of, "held[1]['key'][0]"),
    ] {
        let (first, second) = (format!("jax.random.normal({drawn})"), format!("jax.random.uniform({drawn})"));
        let kept = program(made, "mutate(held is None)", drawn);
        assert_eq!(status(&kept, Sharing::Twice, &first, &second), WitnessStatus::Confirmed, "{kept}");
        for between in ["mutate(held)", "mutate([held])", "other = held; mutate(x=other)", "mutate.on(held)"] {
            let handed = program(made, between, drawn);
            assert_eq!(status(&handed, Sharing::Twice, &first, &second), WitnessStatus::Inconclusive, "{handed}");
        }
    }
    // An iteration that is under way sees it as well.
    let text = program("[key, key]", "for one in held: mutate(held); jax.random.bits(one)", "held[0]");
    assert_eq!(
        status(&text, Sharing::Iteration, "jax.random.bits(one)", "jax.random.bits(one)"),
        WitnessStatus::Inconclusive
    );
}

#[test]
fn abandoned_loops_apply_the_effects_of_their_calls() {
    let program = |written: &str, read: &str| {
        format!(
            "\
import jax
key = jax.random.key(0)
class Box: pass
box = Box()
box.key = key
keys = [key]
def once(n): return n + 1
def twice(n): return once(once(n))
def bump(i):
    global key
    if i == 999:
        {written}
def work():
    n = 0
    for i in range(1000):
        for j in range(1000):
            n = twice(n)
        bump(i)
def f():
    a = jax.random.normal({read})
    work()
    b = jax.random.uniform({read})
"
        )
    };
    for (read, written) in [
        ("key", "key = jax.random.split(key)[0]"),
        ("box.key", "box.key = jax.random.split(key)[0]"),
        ("keys[0]", "keys[0] = jax.random.split(key)[0]"),
    ] {
        let (first, second) = (format!("jax.random.normal({read})"), format!("jax.random.uniform({read})"));
        let kept = program("pass", read);
        assert_eq!(status(&kept, Sharing::Twice, &first, &second), WitnessStatus::Confirmed, "{kept}");
        let written = program(written, read);
        assert_eq!(status(&written, Sharing::Twice, &first, &second), WitnessStatus::Inconclusive, "{written}");
    }
}

#[test]
fn exhausted_work_is_skipped_and_its_effects_are_unknown() {
    let text = costly("return n");
    assert_eq!(status(&text, Sharing::Twice, FIRST, SECOND), WitnessStatus::Confirmed);
    // A global that the function would rebind at its end, and an attribute of what it was given.
    let last = "key = box.key = jax.random.split(key)[0]";
    for draws in ["key", "box.key"] {
        let (first, second) = (FIRST.replace("key", draws), SECOND.replace("key", draws));
        let still = costly("return n").replace("def f(key)", "def f()").replace("(key)\n", &format!("({draws})\n"));
        assert_eq!(status(&still, Sharing::Twice, &first, &second), WitnessStatus::Confirmed, "{still}");
        let renewed = costly(last).replace("def f(key)", "def f()").replace("(key)\n", &format!("({draws})\n"));
        assert_eq!(status(&renewed, Sharing::Twice, &first, &second), WitnessStatus::Inconclusive, "{renewed}");
    }
    // What a list or a dict holds that it was given, also within something else.
    for (made, draws) in [("[key]", "box[0]"), ("{'a': key}", "box['a']"), ("[{'a': key}]", "box[0]['a']")] {
        let last = format!("{draws} = jax.random.split({draws})[0]");
        let text = costly(&last).replace("box = Box()\nbox.key = key", &format!("box = {made}"));
        let text = text.replace("def f(key)", "def f()").replace("(key)\n", &format!("({draws})\n"));
        let (first, second) = (FIRST.replace("key", draws), SECOND.replace("key", draws));
        assert_eq!(status(&text, Sharing::Twice, &first, &second), WitnessStatus::Inconclusive, "{text}");
    }
}

#[test]
fn loops_left_early_forget_their_writes() {
    let text = "\
import jax
def f(key, keys):
    a = jax.random.normal(key)
    for i in range(100000):
        print(i, key)
    b = jax.random.uniform(key)
";
    assert_eq!(status(text, Sharing::Twice, FIRST, SECOND), WitnessStatus::Confirmed);
    for body in ["key = jax.random.split(key)[0]", "print(i); key = jax.random.fold_in(key, i)"] {
        let text = text.replace("print(i, key)", body);
        assert_eq!(status(&text, Sharing::Twice, FIRST, SECOND), WitnessStatus::Inconclusive, "{body}");
    }
    // Two numbers of iterations that both are more than are run.
    let turned = "\
import jax
def turn(i, key):
    return jax.random.split(key)[0]
def f(key, n):
    x = jax.random.normal(jax.lax.fori_loop(0, 100, turn, key))
    y = jax.random.uniform(jax.lax.fori_loop(0, 200, turn, key))
";
    let first = "jax.random.normal(jax.lax.fori_loop(0, 100, turn, key))";
    let second = "jax.random.uniform(jax.lax.fori_loop(0, 200, turn, key))";
    assert_eq!(status(turned, Sharing::Twice, first, second), WitnessStatus::Inconclusive);
}

#[test]
fn expected_exceptions_are_ignored() {
    let text = "\
import jax, pytest
def f(key):
    with pytest.raises(ValueError):
        raise ValueError
    a = jax.random.normal(key)
    b = jax.random.uniform(key)
";
    assert_eq!(status(text, Sharing::Twice, FIRST, SECOND), WitnessStatus::Confirmed);
}

#[test]
fn frames_record_written_arguments() {
    let text = "\
import jax
def draw(key):
    return jax.random.normal(key)
def inner(sample, key, n):
    for _ in range(n):
        sample(key)
def outer(key):
    inner(draw, key, 3)
";
    let way = vec![place(text, "sample(key)"), place(text, FIRST)];
    let module = lowered(text);
    let evidence = Evidence {
        sharing: Sharing::Iteration,
        first: way.clone(),
        second: way,
        draws_numbers: true,
        ends_in_split: false,
        is_open: false,
    };
    let witness =
        replay::witness(&project(&module), &evidence, &[], &mut Budget::FILE.clone(), &mut EntryStates::default());
    assert_eq!(witness.status, WitnessStatus::Confirmed);
}

#[test]
fn star_imports_leave_names_unknown() {
    let text = "\
import jax
def f(key, table):
    names, counts = zip(*table.items())
    a = jax.random.normal(key)
    b = jax.random.uniform(key)
";
    assert_eq!(status(text, Sharing::Twice, FIRST, SECOND), WitnessStatus::Confirmed);
}

/// The edits that replace parts of a text, and the modules before and after them.
fn replaced(text: &str, parts: &[(&str, &str)]) -> (Vec<Edit>, ir::Module, ir::Module) {
    let edits: Vec<Edit> = parts
        .iter()
        .map(|(part, content)| Edit { span: place(text, part).span, content: (*content).to_owned() })
        .collect();
    let patched = apply_edits(text, &edits).unwrap();
    (edits, lowered(text), lowered(&patched))
}

/// Compares a text with what replacing parts of it makes of it.
fn compared(text: &str, edits: &[(&str, &str)], claim: Option<(&str, &str)>) -> Comparison {
    let (edits, before, after) = replaced(text, edits);
    let claim = claim.map(|(first, second)| Evidence {
        sharing: Sharing::Twice,
        first: vec![place(text, first)],
        second: vec![place(text, second)],
        draws_numbers: true,
        ends_in_split: false,
        is_open: false,
    });
    let entry = claim.as_ref().map_or_else(|| place(text, "normal"), |claim| claim.second[0]);
    replay::compare(
        (&project(&before), &mut EntryStates::default()),
        &project(&after),
        &edits,
        &Entry { place: entry, claim },
    )
}

#[test]
fn fixes_are_reported_from_changes() {
    let text = "\
import jax
def f(key, flag):
    a = jax.random.normal(key)
    if flag:
        b = jax.random.uniform(key)
    return a
";
    let claim = Some(("jax.random.normal(key)", "jax.random.uniform(key)"));
    let split = ("    a = ", "    k1, k2 = jax.random.split(key)\n    a = ");
    let (first, second) = ("normal(key", "uniform(key");
    let good = [split, (first, "normal(k1"), (second, "uniform(k2")];
    assert_eq!(compared(text, &good, claim), Comparison::Verified);
    assert_eq!(compared(text, &good, None), Comparison::Verified);
    let same = [split, (first, "normal(k1"), (second, "uniform(k1")];
    assert!(matches!(compared(text, &same, claim), Comparison::Refuted(_)));
    assert!(matches!(compared(text, &same, None), Comparison::Refuted(_)));
    let other = [split, (first, "gumbel(k1"), (second, "uniform(k2")];
    assert!(matches!(compared(text, &other, claim), Comparison::Refuted(_)));
    let fewer = [split, (first, "normal(k1"), ("        b = jax.random.uniform(key)", "        pass")];
    assert!(matches!(compared(text, &fewer, claim), Comparison::Refuted(_)));
    let asks = [split, (first, "normal(k1"), (second, "uniform(k2"), ("    return a", "    return a if k1 else a")];
    assert!(!matches!(compared(text, &asks, claim), Comparison::Refuted(_)));
}

/// Compares the draws of a text with those of what replacing parts of it makes of it.
fn drawn(text: &str, edits: &[(&str, &str)]) -> Comparison {
    let (edits, before, after) = replaced(text, edits);
    replay::compare_draws(
        (&project(&before), &mut EntryStates::default()),
        &project(&after),
        &edits,
        place(text, "normal"),
        Freedom::None,
    )
}

#[test]
fn draws_from_computed_words_are_replayed() {
    let text = "\
import jax
def f(key, flag, n):
    a = jax.random.normal(key + 1, (3,))
    if flag:
        b = jax.random.uniform(key + 2, (n,))
    return a
";
    let (one, two) = (("key + 1", "jax.random.fold_in(key, 1)"), ("key + 2", "jax.random.fold_in(key, 2)"));
    assert_eq!(drawn(text, &[one, two]), Comparison::Verified);
    let open = |edits: &[(&str, &str)]| matches!(drawn(text, edits), Comparison::Inconclusive(_));
    let refuted = |edits: &[(&str, &str)]| matches!(drawn(text, edits), Comparison::Refuted(_));
    // One key for both, another shape, another function, a draw less, one more, and one on another path.
    assert!(open(&[one, ("key + 2", "jax.random.fold_in(key, 1)")]));
    assert!(open(&[one, ("(3,)", "(4,)"), two]));
    assert!(refuted(&[("normal", "gumbel"), one, two]));
    assert!(refuted(&[one, ("        b = jax.random.uniform(key + 2, (n,))", "        pass")]));
    assert!(refuted(&[one, two, ("    return a", "    return a + jax.random.normal(key)")]));
    assert!(!matches!(drawn(text, &[one, ("if flag:", "if not flag:"), two]), Comparison::Verified));
    // Keys that nothing draws from prove nothing.
    assert!(!matches!(
        drawn("import jax\ndef f(key):\n    return jax.random.normal, key + 1\n", &[one]),
        Comparison::Verified
    ));
}

#[test]
fn hostile_programs_terminate() {
    let programs = [
        "def f(key):\n    return f(f(key))\nf(1)\n",
        "def f(key):\n    while True:\n        key = [key, key]\n",
        "x = []\nx.append(x)\nprint(x == x, x in x, [x] * 1000000000)\n",
        "def g():\n    while True:\n        yield from g()\nfor x in g(): pass\n",
        "import itertools\nfor x in itertools.cycle(map(lambda x: x, itertools.count())): pass\n",
        "import jax\nk = jax.random.split(jax.random.key(0), 10 ** 12)\nk[5]; k[10 ** 20]; k[-1]; k[::0]\n",
        "import jax\nk = jax.random.key(0)\nfor _ in range(10 ** 18):\n    k = jax.random.split(k, (2, 2))[0, 0]\n",
        "import jax\nk = jax.random.key(10 ** 30)\njax.random.fold_in(k, -(10 ** 30))\n1 << 10 ** 9\n1 // 0\n1 % 0\n2 ** 10 ** 9\n",
        "class A(A): pass\nclass B:\n    def __getattr__(self, n): return self.x\n    def __iter__(self): return self\nfor x in B(): x()\n",
        "it = iter([])\nit = zip(it, it)\nfor a in it: pass\nnext(it, it)\nd = {}\nd[d] = d\nd == d\n{**d, 1: d}[d]\n",
        "import functools\nf = functools.partial(print)\nfor _ in range(300):\n    f = functools.partial(f, f)\nf()\n",
        "import jax\nf = lambda x: x\nfor _ in range(300):\n    f = jax.jit(jax.vmap(f))\nf(jax.random.split(jax.random.key(0)))\n",
        "t = ()\nfor _ in range(5000):\n    t = (t,)\nprint(t == t, hash(t))\nimport jax\njax.tree.map(lambda x: x, t)\n",
        "s = 'x'\nfor _ in range(100):\n    s = s + s\nl = [0]\nfor _ in range(100):\n    l += l\n",
        "g = (x for x in g)\nlist(g)\nx = reversed(sorted(zip(range(10 ** 9))))\n",
    ];
    for text in programs {
        let module = lowered(text);
        let traces = replay::trace(&project(&module), Place { file: FILE, span: Span::new(0, 0) });
        assert!(traces.paths.len() <= 64, "{text}");
    }
}

#[test]
fn any_place_can_be_replayed() {
    // Every pair of neighbouring calls of the fixtures, whether it makes sense or not: nothing panics.
    for file in ["fixtures/cases/loops", "fixtures/cases/transforms", "fixtures/cases/frameworks"] {
        for entry in WalkDir::new(at(file)).sort_by_file_name() {
            let entry = entry.unwrap();
            if entry.path().extension().is_none_or(|extension| extension != "py") {
                continue;
            }
            let module = lowered(&fs::read_to_string(entry.path()).unwrap());
            let calls = module.functions.iter().flat_map(|function| &function.ops);
            let calls: Vec<Place> = calls
                .filter(|op| matches!(op.kind, OpKind::Call(..)))
                .map(|op| Place { file: FILE, span: op.span })
                .collect();
            let project = project(&module);
            for pair in calls.windows(2).step_by(5) {
                for sharing in [Sharing::Twice, Sharing::Iteration, Sharing::Lanes] {
                    let evidence = Evidence {
                        sharing,
                        first: vec![pair[0]],
                        second: vec![pair[1]],
                        draws_numbers: true,
                        ends_in_split: false,
                        is_open: false,
                    };
                    let witness = replay::witness(
                        &project,
                        &evidence,
                        &calls,
                        &mut Budget::ONE.clone(),
                        &mut EntryStates::default(),
                    );
                    assert_eq!(witness.status == WitnessStatus::Confirmed, !witness.draws.is_empty());
                }
            }
        }
    }
}
