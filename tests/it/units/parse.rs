//! Tests of `python::parse`: well-formed, broken and hostile texts.

use std::time::{Duration, Instant};

use keylint::python::parse::{Depth, HOPELESS_BOUND, MAX_PROBLEMS, Raw, parse_raw};
use keylint::python::{MAX_DEPTH, Parsed, SourceKind, ast, nesting, parse};

fn py(text: &str) -> Parsed {
    parse(text, SourceKind::Py)
}

/// Parses within a time limit that allows for a debug build on a busy machine, but not for quadratic work.
fn quickly(what: &str, text: &str) -> Parsed {
    let start = Instant::now();
    let parsed = py(text);
    let took = start.elapsed();
    assert!(took < Duration::from_secs(20), "{what}: {} bytes took {took:?}", text.len());
    for problem in &parsed.problems {
        assert!(problem.span.end as usize <= text.len(), "{what}: {problem:?}");
    }
    parsed
}

#[track_caller]
fn refuses(what: &str, text: &str) {
    let parsed = quickly(what, text);
    assert_eq!(parsed.problems.len(), 1, "{what}: {:?}", parsed.problems);
    assert_eq!(parsed.problems[0].message, "nesting deeper than 1000 levels", "{what}");
    assert!(parsed.module.body.is_empty(), "{what}");
}

#[track_caller]
fn accepts(what: &str, text: &str) {
    let parsed = quickly(what, text);
    assert_eq!(parsed.problems, [], "{what}");
    assert!(!parsed.module.body.is_empty(), "{what}");
}

/// The text of a construct that is nested to a given depth.
type Nesting = fn(usize) -> String;

fn nestings() -> Vec<(&'static str, Nesting)> {
    vec![
        ("parentheses", |n| format!("x = {}1{}\n", "-(".repeat(n), ")".repeat(n))),
        ("lists", |n| format!("x = {}1{}\n", "[".repeat(n), "]".repeat(n))),
        ("sets", |n| format!("x = {}1{}\n", "{".repeat(n), "}".repeat(n))),
        ("dicts", |n| format!("x = {}1{}\n", "{1: ".repeat(n), "}".repeat(n))),
        ("calls", |n| format!("x = {}1{}\n", "f(".repeat(n), ")".repeat(n))),
        ("calls of calls", |n| format!("x = f{}\n", "()".repeat(n))),
        ("subscripts", |n| format!("x = f{}\n", "[0]".repeat(n))),
        ("unary minus", |n| format!("x = {}1\n", "-".repeat(n))),
        ("not", |n| format!("x = {}1\n", "not ".repeat(n))),
        ("await", |n| format!("async def f():\n    x = {}1{}\n", "await (".repeat(n), ")".repeat(n))),
        ("attributes", |n| format!("x = a{}\n", ".b".repeat(n))),
        ("sums", |n| format!("x = 1{}\n", " + 1".repeat(n))),
        ("powers", |n| format!("x = 1{}\n", " ** 1".repeat(n))),
        ("lambdas", |n| format!("x = {}1\n", "lambda: ".repeat(n))),
        ("lambdas with parameters", |n| format!("x = [{}1]\n", "lambda a, b: ".repeat(n))),
        ("lambda defaults", |n| format!("x = [{}1{}]\n", "lambda a, b=".repeat(n), ": 0".repeat(n))),
        ("conditional expressions", |n| format!("x = {}2\n", "0 if 1 else ".repeat(n))),
        ("comprehensions", |n| format!("x = {}1{}\n", "[".repeat(n), " for _ in y]".repeat(n))),
        ("tuples", |n| format!("x = {}1{}\n", "(0, ".repeat(n), ")".repeat(n))),
        ("starred", |n| format!("x = {}1{}\n", "[*".repeat(n), "]".repeat(n))),
        ("walruses", |n| format!("x = {}1{}\n", "(a := ".repeat(n), ")".repeat(n))),
        ("slices", |n| format!("x = {}1{}\n", "a[b:".repeat(n), "]".repeat(n))),
        ("type parameters", |n| format!("type X[T = {}1{}] = int\n", "a[".repeat(n), "]".repeat(n))),
        ("patterns", |n| format!("match x:\n    case {}y{}:\n        pass\n", "[".repeat(n), "]".repeat(n))),
        ("format fields", |n| format!("x = f'{}1{}'\n", "{a:".repeat(n), "}".repeat(n))),
        ("f-strings", |n| format!("x = {}1{}\n", "f'{".repeat(n), "}'".repeat(n))),
        ("keyword arguments", |n| format!("x = {}1{}\n", "f(a=".repeat(n), ")".repeat(n))),
        ("iterables", |n| format!("x = {}1{}\n", "[x for x in ".repeat(n), "]".repeat(n))),
        ("class patterns", |n| format!("match x:\n    case {}y{}:\n        pass\n", "C(a=".repeat(n), ")".repeat(n))),
    ]
}

#[test]
fn accepts_nesting_beyond_what_people_write() {
    for (what, nested) in nestings() {
        accepts(what, &nested(40));
        accepts(what, &nested(190));
    }
}

#[test]
fn deepest_trees_drop_on_small_stacks() {
    accepts("unary minus", &format!("x = {}1\n", "-".repeat(MAX_DEPTH as usize - 10)));
    accepts("attributes", &format!("x = a{}\n", ".b".repeat(MAX_DEPTH as usize - 10)));
}

#[test]
fn refuses_deep_nesting_of_every_kind() {
    for (what, nested) in nestings() {
        refuses(what, &nested(1_001));
        refuses(what, &nested(20_000));
        // Close to the greatest depth that is parsed, for constructs with three tokens per level and with one.
        for depth in [33_000, 99_000] {
            refuses(what, &nested(depth));
        }
        refuses(what, &nested(300_000));
    }
}

#[test]
fn the_bound_holds_for_every_kind_of_nesting() {
    for (what, nested) in nestings() {
        for n in [0, 1, 2, 3, 10, 40, 150] {
            let text = nested(n);
            let Raw { parsed, bound } = parse_raw(&text, SourceKind::Py);
            let limit = 2 * bound + nesting::SLACK;
            assert_eq!(Depth::below(limit, &parsed.module).exceeded, None, "{what}, {n} times: bound {bound}");
            assert!(nesting::bound_of_text(&text, HOPELESS_BOUND).levels >= bound, "{what}, {n} times");
        }
    }
}

#[test]
fn redundant_parentheses_are_no_depth_until_there_are_too_many_to_try() {
    let nested = |n: usize| format!("x = {}1{}\n", "(".repeat(n), ")".repeat(n));
    accepts("parentheses", &nested(5_000));
    refuses("parentheses", &nested(300_000));
}

#[test]
fn refuses_deep_blocks() {
    // `else: if` nests although `elif` does not.
    let chain = |n: usize| -> String {
        (0..n).map(|i| format!("{0}if x:\n{0} pass\n{0}else:\n", " ".repeat(i))).collect::<Vec<_>>().concat()
            + &format!("{}pass\n", " ".repeat(n))
    };
    accepts("else if", &chain(90));
    refuses("else if", &chain(1_200));
    let blocks = |n: usize| -> String {
        (0..n).map(|i| format!("{}while x:\n", " ".repeat(i))).collect::<Vec<_>>().concat()
            + &format!("{}pass\n", " ".repeat(n))
    };
    accepts("blocks", &blocks(300));
    refuses("blocks", &blocks(3_000));
}

#[test]
fn elif_chains_are_flat() {
    let text = format!("if x:\n    pass\n{}", "elif y:\n    pass\n".repeat(20_000));
    accepts("elif", &text);
}

#[test]
fn long_flat_texts_are_not_deep() {
    accepts("list", &format!("x = [{}]\n", "f(1, 2) + 3, ".repeat(200_000)));
    accepts("boolean chain", &format!("x = a{}\n", " or a == 1".repeat(20_000)));
    accepts("strings", &format!("x = ({})\n", "'a.b.c.d' ".repeat(50_000)));
    accepts("docstring", &format!("\"\"\"{}\"\"\"\n", "- . [ ( ".repeat(50_000)));
    accepts("comments", &format!("{}x = 1\n", "# ((((((([[[[[\n".repeat(100_000)));
    accepts("f-string", &format!("x = f'''{}'''\n", "{{ ( {a.b} [ ' ".repeat(10_000)));
}

#[test]
fn deep_format_fields_do_not_overflow() {
    for n in [100, 1_001, 300_000] {
        quickly("unclosed fields", &format!("x = f'{}1'\n", "{a:".repeat(n)));
        quickly("unclosed f-strings", &format!("x = {}1\n", "f'{".repeat(n)));
    }
}

#[test]
fn ten_megabytes_of_ordinary_code() {
    let function = "def sample(key, shape=(3, 4)):\n    key, sub = jax.random.split(key)\n    return jax.random.normal(sub, shape) + 1.5\n\n\n";
    accepts("10 MB", &function.repeat(10_000_000 / function.len()));
}

#[test]
fn garbage_is_rejected_quickly() {
    let units = [
        "\0",
        "(",
        ")",
        "[",
        "]",
        "{",
        "}",
        "'",
        "\"",
        "'''",
        "f'",
        "f\"{",
        "f'''{",
        "\\\n",
        "\\",
        "\n",
        "\r",
        "\t",
        " ",
        ";",
        ",",
        ":",
        ".",
        "@",
        "$",
        "?",
        "!",
        "`",
        "é",
        "\u{feff}",
        "0",
        "x ",
        "x\n",
        "#\n",
        "if ",
        "if x: ",
        "else: ",
        "lambda ",
        "async ",
        "match ",
        "case ",
        "def f(",
        "def ",
        "class ",
        "with (",
        "import ",
        "from ",
        "x: ",
        "(\n",
        "[\ndef f():\n",
        "f'{x:",
        "f'{x!",
        "rb'\\",
        "'\\\n",
        "return ",
        "yield ",
        "* ",
        "**",
        "=",
        ":=",
        "->",
        "x[",
        "{x:",
        "(x for",
        "\n ",
        " \n\t",
        "\u{c}",
        "try:\n ",
        "(yield ",
        "for x in ",
        "not ",
        "print x",
        "type x = ",
        "del ",
        "%time\n",
    ];
    for unit in units {
        quickly(unit, &unit.repeat(200_000 / unit.len()));
        quickly(unit, &format!("x = (\n{}\n)\n", unit.repeat(20_000 / unit.len())));
        quickly(unit, &format!("def f():\n    {}", unit.repeat(20_000 / unit.len())));
    }
}

#[test]
fn broken_strings_and_nul_bytes_are_problems_and_the_rest_is_read() {
    for broken in ["x = 'abc\n", "x = \"abc\n", "x = f'a{b\n", "x = (\n", "x = 'a\\\n"] {
        let parsed = py(&format!("import jax\n{broken}y = 2\n"));
        assert!(!parsed.problems.is_empty(), "{broken:?}");
        assert!(matches!(parsed.module.body.first(), Some(ast::Stmt::Import(_))), "{broken:?}");
    }
    assert!(!py("x = '''abc\ny = 2\n").problems.is_empty());
    // A text with a null byte is treated as a binary file, which is one problem.
    assert_eq!(py("import jax\nx = 1\0\0\n").problems.len(), 1);
}

#[test]
fn reads_every_version_of_python_3() {
    for text in [
        "def f(a, /, b): return (c := a)\n",
        "with (open('a') as a, open('b') as b,): pass\n",
        "match x:\n    case {'a': [1, *_], **rest} if rest: pass\n",
        "try: pass\nexcept* ValueError: pass\n",
        "def f[T: int = int, *Ts, **P](x: T) -> T: ...\n",
        "type X[T] = list[T]\n",
        "x = f'{'a' + f'{b!r:>{w}}'}'\n",
        "x = t'{a}'\n",
        "try: pass\nexcept A, B: pass\n",
        "@a[0].b()\nclass C(metaclass=M): ...\n",
        "async def f():\n    return [x async for x in y if await x]\n",
        "x[*a, 1:2]\n",
    ] {
        accepts(text, text);
    }
}

#[test]
fn magics_and_python_2_are_problems() {
    for text in ["%matplotlib inline\n", "!ls\n", "print 'x'\n", "exec 'x'\n", "x = \0\n"] {
        let parsed = py(text);
        assert!(!parsed.problems.is_empty(), "{text}");
        for problem in parsed.problems {
            assert!(!problem.message.contains(char::is_control));
            assert!(!problem.message.ends_with('.') && !problem.message.starts_with("Expected"), "{problem:?}");
        }
    }
}

#[test]
fn commands_in_a_script_with_cells_are_read_and_one_is_a_problem_elsewhere() {
    let commands = "%load_ext autoreload\n%autoreload 2\nimport jax\n!ls\nx = 1\n";
    let script = py(commands);
    assert_eq!((script.problems.len(), script.module.body.len()), (1, 5));
    for mark in ["# %%\n", "#%% first\n"] {
        let cells = py(&format!("{mark}{commands}"));
        assert_eq!((cells.problems.len(), cells.module.body.len()), (0, 5), "{mark}");
    }
    // If something else is wrong too, only that is reported.
    let broken = py(&format!("# %%\n{commands}# %%\ny = (2\n# %%\n%%bash\nfor x in *; do echo \"$x; done\n"));
    assert_eq!(broken.problems.len(), 1, "{:?}", broken.problems);
    let foreign = py("# %%\nx = 1\n# %%\n%%bash\nls -l | wc\n# %%\n%%time\ny = 2\n");
    assert_eq!((foreign.problems.len(), foreign.module.body.len()), (0, 3));
    // Without cells, the commands are invalid.
    assert!(py(&format!("{commands}print 'x'\n")).problems.len() > 1);
}

#[test]
fn lists_comments_and_whether_they_stand_alone() {
    let text = "# a\nx = 1  # b\n\t # c\nf(\n  # d\n  1, # e\n)\r\n# f";
    let found: Vec<_> = py(text)
        .comments
        .iter()
        .map(|comment| (&text[comment.span.start as usize..comment.span.end as usize], comment.own_line))
        .collect();
    assert_eq!(found, [("# a", true), ("# b", false), ("# c", true), ("# d", true), ("# e", false), ("# f", true)]);
}

#[test]
fn caps_the_number_of_problems() {
    let parsed = py(&"$ ".repeat(5_000));
    assert_eq!(parsed.problems.len(), MAX_PROBLEMS);
}
