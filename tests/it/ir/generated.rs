//! Programs generated from a grammar, broken programs, absurd programs, and real ones: lowering never panics, and the IR
//! is valid.

use std::path::{Path, PathBuf};

use keylint::ir::{Module, lower};
use keylint::python::{SourceKind, parse};
use keylint::text::FileId;
use proptest::collection::vec;
use proptest::prelude::*;
use proptest::sample::select;

use super::{lowered, on_deep_stack};

fn name() -> impl Strategy<Value = String> {
    select(vec!["a", "b", "c", "x", "self", "T"]).prop_map(String::from)
}

fn join(parts: &[String]) -> String {
    parts.join(", ")
}

/// The clauses of a comprehension.
fn clauses(expr: impl Strategy<Value = String> + Clone) -> impl Strategy<Value = String> {
    let clause = (name(), expr.clone(), vec(expr, 0..3)).prop_map(|(target, iterable, conditions)| {
        let conditions: Vec<String> = conditions.iter().map(|condition| format!(" if ({condition})")).collect();
        format!(" for {target} in ({iterable}){}", conditions.concat())
    });
    vec(clause, 1..3).prop_map(|clauses| clauses.concat())
}

/// Arguments as Python allows them; a starred one may come after a keyword.
fn arguments(expr: impl Strategy<Value = String> + Clone) -> impl Strategy<Value = String> {
    let positional = vec((select(vec!["", "*"]), expr.clone()), 0..4);
    (positional, vec(expr.clone(), 0..3), vec(expr, 0..3)).prop_map(|(positional, keywords, mappings)| {
        let first = positional.iter().map(|(mark, value)| format!("{mark}({value})"));
        let middle = keywords.iter().enumerate().map(|(i, value)| format!("k{i}=({value})"));
        let late = keywords.last().map(|value| format!("*({value})"));
        let last = mappings.iter().map(|value| format!("**({value})"));
        join(&first.chain(middle).chain(late).chain(last).collect::<Vec<_>>())
    })
}

fn expr() -> BoxedStrategy<String> {
    let leaf = prop_oneof![
        4 => name(),
        1 => select(vec!["0", "-1", "1.5", "'s'", "b'b'", "None", "True", "...", "2j", "99999999999999999999999999999999999999999"])
            .prop_map(String::from),
    ];
    leaf.prop_recursive(4, 24, 4, |inner| {
        let several = vec(inner.clone(), 0..4);
        let starred = vec((select(vec!["", "*"]), inner.clone()).prop_map(|(star, e)| format!("{star}({e})")), 1..4);
        prop_oneof![
            (inner.clone(), select(vec!["+", "*", "@", "//", "<<", "|"]), inner.clone())
                .prop_map(|(a, op, b)| format!("({a}) {op} ({b})")),
            (vec(inner.clone(), 2..5), select(vec!["<", "==", "is", "not in"]))
                .prop_map(|(values, op)| format!("(({}))", values.join(&format!(") {op} (")))),
            (vec(inner.clone(), 2..4), select(vec!["and", "or"]))
                .prop_map(|(values, op)| format!("(({}))", values.join(&format!(") {op} (")))),
            (inner.clone(), inner.clone(), inner.clone()).prop_map(|(a, b, c)| format!("(({a}) if ({b}) else ({c}))")),
            (inner.clone(), arguments(inner.clone())).prop_map(|(f, arguments)| format!("({f})({arguments})")),
            (inner.clone(), name()).prop_map(|(value, name)| format!("({value}).{name}")),
            (inner.clone(), inner.clone(), inner.clone())
                .prop_map(|(value, from, to)| format!("({value})[({from}):({to})]")),
            (inner.clone(), starred.clone()).prop_map(|(value, index)| format!("({value})[{}]", join(&index))),
            (vec(name(), 0..3), inner.clone(), inner.clone()).prop_map(|(parameters, default, body)| {
                let parameters: Vec<String> =
                    parameters.iter().enumerate().map(|(i, name)| format!("{name}{i}=({default})")).collect();
                format!("(lambda {}: ({body}))", join(&parameters))
            }),
            starred.clone().prop_map(|values| format!("[{}]", join(&values))),
            starred.clone().prop_map(|values| format!("({},)", join(&values))),
            starred.prop_map(|values| format!("{{{}}}", join(&values))),
            (inner.clone(), several).prop_map(|(key, values)| {
                let items: Vec<String> = values.iter().map(|value| format!("({key}): ({value})")).collect();
                format!("{{{}, **({key})}}", join(&items)).replace("{, ", "{")
            }),
            (inner.clone(), clauses(inner.clone())).prop_map(|(value, clauses)| format!("[({value}){clauses}]")),
            (inner.clone(), clauses(inner.clone())).prop_map(|(value, clauses)| format!("{{({value}){clauses}}}")),
            (inner.clone(), clauses(inner.clone())).prop_map(|(value, clauses)| format!("(({value}){clauses})")),
            (inner.clone(), clauses(inner.clone())).prop_map(|(value, clauses)| format!("[*({value}){clauses}]")),
            (inner.clone(), clauses(inner.clone())).prop_map(|(v, clauses)| format!("{{({v}): ({v}){clauses}}}")),
            (name(), inner.clone()).prop_map(|(name, value)| format!("({name} := ({value}))")),
            (inner.clone(), inner.clone()).prop_map(|(a, b)| format!("f\"a{{({a})!r:>{{({b})}}}}{{({b})=}}\"")),
            inner.clone().prop_map(|value| format!("(yield ({value}))")),
            inner.clone().prop_map(|value| format!("(await ({value}))")),
            inner.prop_map(|value| format!("super().a(({value}))")),
        ]
    })
    .boxed()
}

fn target() -> impl Strategy<Value = String> {
    let leaf = prop_oneof![3 => name(), 1 => name().prop_map(|n| format!("a.{n}")), 1 => expr().prop_map(|e| format!("b[{e}]"))];
    leaf.prop_recursive(2, 6, 3, |inner| {
        prop_oneof![
            vec(inner.clone(), 1..4).prop_map(|targets| format!("({},)", join(&targets))),
            (inner.clone(), inner).prop_map(|(a, b)| format!("[{a}, *{b}]")),
        ]
    })
}

fn pattern() -> impl Strategy<Value = String> {
    let leaf =
        prop_oneof![name(), select(vec!["_", "1", "'s'", "None", "a.b", "int(x)", "C()"]).prop_map(String::from),];
    leaf.prop_recursive(3, 10, 3, |inner| {
        prop_oneof![
            vec(inner.clone(), 1..4).prop_map(|parts| format!("[{}]", join(&parts))),
            vec(inner.clone(), 1..3).prop_map(|parts| format!("({}, *rest)", join(&parts))),
            vec(inner.clone(), 2..4).prop_map(|parts| format!("({})", parts.join(" | "))),
            (inner.clone(), name()).prop_map(|(part, name)| format!("({part} as {name})")),
            (inner.clone(), inner.clone()).prop_map(|(a, b)| format!("C({a}, k={b})")),
            (inner.clone(), inner).prop_map(|(a, b)| format!("{{'k': {a}, 1: {b}, **rest}}")),
        ]
    })
}

fn indented(lines: &[String]) -> Vec<String> {
    if lines.is_empty() { vec!["    pass".into()] } else { lines.iter().map(|line| format!("    {line}")).collect() }
}

/// A header with a body, and more such.
fn blocks(parts: Vec<(String, Vec<String>)>) -> Vec<String> {
    parts.into_iter().flat_map(|(header, body)| [vec![header], indented(&body)].concat()).collect()
}

fn simple() -> impl Strategy<Value = Vec<String>> {
    prop_oneof![
        3 => (vec(target(), 1..3), expr()).prop_map(|(targets, value)| format!("{} = {value}", targets.join(" = "))),
        1 => (select(vec!["a", "a.b", "b[(a := c)]"]), expr()).prop_map(|(target, value)| format!("{target} += {value}")),
        1 => (select(vec!["a", "a.b", "b[c]", "(x)"]), expr()).prop_map(|(target, value)| format!("{target}: int = {value}")),
        1 => select(vec!["a: int", "a.b: T", "b[c()]: T", "(x): T"]).prop_map(String::from),
        2 => expr(),
        1 => expr().prop_map(|value| format!("return {value}")),
        1 => expr().prop_map(|value| format!("raise {value} from {value}")),
        1 => expr().prop_map(|value| format!("assert {value}, {value}")),
        2 => select(vec![
            "break", "continue", "pass", "return", "raise", "global a", "nonlocal b", "del a, b[c], x.y", "import a.b",
            "import a.b as c", "from . import x", "from a import b as c", "type A[T] = T", "super()",
        ])
        .prop_map(String::from),
    ]
    .prop_map(|line| vec![line])
}

fn statement() -> BoxedStrategy<Vec<String>> {
    let simple = simple().boxed();
    simple
        .prop_recursive(4, 24, 4, |inner| {
            let body = vec(inner, 0..3).prop_map(|statements| statements.concat()).boxed();
            prop_oneof![
                (expr(), body.clone(), vec((expr(), body.clone()), 0..3), body.clone()).prop_map(
                    |(test, then, more, last)| {
                        let more = more.into_iter().map(|(test, body)| (format!("elif {test}:"), body));
                        let parts = [(format!("if {test}:"), then)].into_iter().chain(more);
                        blocks(parts.chain([("else:".into(), last)]).collect())
                    }
                ),
                (target(), expr(), body.clone(), body.clone()).prop_map(|(target, iterable, body, last)| {
                    blocks(vec![(format!("for {target} in {iterable}:"), body), ("else:".into(), last)])
                }),
                (expr(), body.clone()).prop_map(|(test, body)| blocks(vec![(format!("while {test}:"), body)])),
                (expr(), target(), expr(), body.clone()).prop_map(|(a, target, b, body)| {
                    blocks(vec![(format!("with ({a}) as {target}, ({b}):"), body)])
                }),
                (body.clone(), select(vec!["except", "except*"]), expr(), name(), body.clone(), body.clone()).prop_map(
                    |(body, except, types, name, handler, last)| {
                        let first = (format!("{except} ({types}) as {name}:"), handler.clone());
                        let second = (format!("{except} a:"), handler);
                        let parts = vec![("try:".into(), body), first, second];
                        blocks([parts, vec![("else:".into(), last.clone()), ("finally:".into(), last)]].concat())
                    }
                ),
                (expr(), vec((pattern(), proptest::option::of(expr()), body.clone()), 1..4)).prop_map(
                    |(subject, cases)| {
                        let cases = cases.into_iter().map(|(pattern, guard, body)| {
                            let guard = guard.map_or(String::new(), |guard| format!(" if ({guard})"));
                            (format!("case {pattern}{guard}:"), body)
                        });
                        blocks(vec![(format!("match {subject}:"), blocks(cases.collect()))])
                    }
                ),
                (name(), expr(), body.clone(), any::<[bool; 3]>()).prop_map(
                    |(name, value, body, [decorated, asynchronous, generic])| {
                        let mark = if asynchronous { "async " } else { "" };
                        let parameters = if generic { "[T, *S]" } else { "" };
                        let header = format!("{mark}def {name}{parameters}(self, x=({value}), *c, k=({value}), **z):");
                        let decorator = if decorated { vec![format!("@({value})")] } else { Vec::new() };
                        [decorator, blocks(vec![(header, body)])].concat()
                    }
                ),
                (name(), expr(), body).prop_map(|(name, value, body)| {
                    blocks(vec![(format!("class {name}[T](({value}), k=({value})):"), body)])
                }),
            ]
        })
        .boxed()
}

fn program() -> impl Strategy<Value = String> {
    vec(statement(), 1..5).prop_map(|statements| statements.concat().join("\n") + "\n")
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 192, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn programs_keep_the_guarantees(program in program()) {
        let text = lowered(&program).to_string();
        prop_assert_eq!(text, lowered(&program).to_string());
    }

    #[test]
    fn grammar_is_python(program in program()) {
        let problems = parse(&program, SourceKind::Py).problems;
        prop_assert!(problems.is_empty(), "{:?}\n{}", problems, program);
    }

    #[test]
    fn broken_programs_keep_the_guarantees(program in program(), from in any::<prop::sample::Index>(), length in 1_usize..20) {
        let from = from.index(program.len());
        let kept: String = program.chars().take(from).chain(program.chars().skip(from + length)).collect();
        lowered(&kept);
    }

    #[test]
    fn packing_changes_nothing(program in program()) {
        unchanged_by_packing(&program);
    }

}

/// A packed module, copies of it, and one that forgot what it had unpacked have the operations that were lowered.
fn unchanged_by_packing(program: &str) {
    let module = lower(FileId(0), &parse(program, SourceKind::Py).module, &|_| Vec::new());
    let written =
        |module: &Module| format!("{:#?}", module.functions.iter().map(|code| &code.ops[..]).collect::<Vec<_>>());
    let whole = written(&module);
    let mut packed = module.clone();
    packed.pack();
    let copy = packed.clone();
    let read: Vec<_> = packed.functions.iter().map(|code| code.ops.read()).collect();
    assert_eq!(format!("{read:#?}"), whole, "{program}");
    drop(read);
    assert_eq!(written(&packed), whole, "{program}");
    packed.fold();
    assert_eq!(written(&packed), whole, "{program}");
    packed.pack();
    assert_eq!(written(&packed), whole, "{program}");
    assert_eq!(written(&copy), whole, "{program}");
}

#[test]
fn packing_keeps_extreme_constants() {
    let numbers = [
        "x = 9223372036854775807, -9223372036854775808, 9223372036854775808, 1 << 64, 10 ** 40",
        "x = 170141183460469231731687303715884105727, 170141183460469231731687303715884105728",
        "x = 0.0, -0.0, 1e400, 5e-324, 2j, ..., None, True, False, b'a', 'a', f'{a!r:>{b}}'",
        "def f(a, /, b=1, *c, d=2, **e):\n    global g\n    g = a[b:c] = d.e = f\n    return lambda: (a, *c)\n",
    ];
    for program in &numbers {
        unchanged_by_packing(program);
    }
}

#[test]
fn long_and_deep_programs_nest_within_bounds() {
    let elif = "elif x:\n    f()\n".repeat(5_000);
    let cases = "    case 1:\n        f()\n".repeat(3_000);
    let level = |depth: usize| {
        let indent = " ".repeat(depth);
        let more = format!("{indent}elif a:\n{indent} pass\n").repeat(30);
        format!("{indent}if a:\n{indent} pass\n{more}{indent}else:\n")
    };
    let nested = (0..90).map(level).collect::<Vec<_>>().concat() + &" ".repeat(90) + "pass\n";
    let programs = [
        format!("if x:\n    pass\n{elif}else:\n    g()\n"),
        format!("match x:\n{cases}"),
        nested,
        format!("x = a{}\n", " or a".repeat(20_000)),
        format!("x = a{}\n", " < a".repeat(3_000)),
        format!("x = [a for a in b{}]\n", " if a".repeat(3_000)),
        format!("x = [(y := a){}]\n", " for a in b".repeat(1_000)),
        format!("with a as b{}:\n    pass\n", ", c as d".repeat(1_000)),
        format!("match x:\n    case {}1: pass\n", "1 | ".repeat(3_000)),
        format!("x = {}a{}\n", "(a or b and (c or ".repeat(120), "))".repeat(120)),
        format!("x = {}a{}\n", "[".repeat(240), " for b in c if d for e in f]".repeat(240)),
        format!("x = {}a\n", "lambda: ".repeat(300)),
    ];
    on_deep_stack(|| {
        for program in &programs {
            assert!(parse(program, SourceKind::Py).problems.is_empty(), "{}", &program[..60]);
            lowered(program);
        }
    });
}

/// A folder of real code: `KEYLINT_CORPUS`, or `corpus` next to the project.
fn corpus() -> Option<PathBuf> {
    let beside = || Path::new(env!("CARGO_MANIFEST_DIR")).ancestors().skip(1).map(|folder| folder.join("corpus"));
    let given = std::env::var_os("KEYLINT_CORPUS").map(PathBuf::from);
    given.into_iter().chain(beside()).find(|folder| folder.is_dir())
}

/// Lowers the Python files of a folder, and returns how many there are.
fn lower_files(folder: &Path) -> usize {
    let files = walkdir::WalkDir::new(folder).into_iter().flatten();
    let files = files.filter(|entry| entry.path().extension().is_some_and(|extension| extension == "py"));
    let texts = files.filter_map(|entry| std::fs::read_to_string(entry.path()).ok());
    on_deep_stack(|| texts.inspect(|text| drop(lowered(text))).count())
}

#[test]
fn programs_of_fixtures_keep_the_guarantees() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    for folder in ["fixtures", "rules"] {
        assert!(lower_files(&root.join(folder)) > 0, "{folder} holds no Python code");
    }
}

#[test]
fn real_code_keeps_the_guarantees() {
    let Some(folder) = corpus() else {
        eprintln!("skipped: there is no corpus of Python code; KEYLINT_CORPUS names one");
        return;
    };
    let count = lower_files(&folder);
    assert!(count > 0, "{} holds no Python code", folder.display());
    eprintln!("{count} files of {}", folder.display());
}
