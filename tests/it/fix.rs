//! Fixes as users see them: what `--fix` writes, in every layout that Python allows.
//!
//! **Invariant:** everything here goes through the command line and so through the whole pipeline, replay included.

use std::fmt::Write;
use std::fs;
use std::path::Path;
use std::sync::LazyLock;

use keylint::cli::Status;
use keylint::python::{SourceKind, parse};

use crate::{rule_docs, run};

/// Runs keylint on standard input; status, standard output and standard error.
fn keylint(arguments: &[&str], cwd: &Path, input: &[u8]) -> (Status, Vec<u8>, String) {
    let arguments = ["check", "--isolated"].into_iter().chain(arguments.iter().copied());
    let ran = run::keylint(cwd, arguments, input);
    (ran.status, ran.out, ran.err)
}

/// A folder with no Python files near it.
fn nowhere() -> &'static Path {
    Path::new(concat!(env!("CARGO_MANIFEST_DIR"), "/rules/models"))
}

/// The text after `--fix --unsafe-fixes`.
pub fn fixed(text: &str) -> String {
    fixed_with(&[], text)
}

/// The text after `--fix --unsafe-fixes` with further options.
fn fixed_with(options: &[&str], text: &str) -> String {
    let options = [&["--fix", "--unsafe-fixes"], options, &["-"]].concat();
    let (_, out, _) = keylint(&options, nowhere(), text.as_bytes());
    String::from_utf8(out).unwrap()
}

/// Programs to be fixed, by name; an import is added to those without one.
const PROGRAMS: [(&str, &str); 30] = [
    ("reuse", "def f(key):\n    a = jax.random.normal(key)\n    b = jax.random.uniform(key)\n    return a + b\n"),
    ("one statement", "def f(key):\n    return jax.random.normal(key) + jax.random.uniform(key)\n"),
    (
        "three uses",
        "def f(key):\n    # first\n    a = jax.random.normal(key)\n    # second\n    b = jax.random.normal(key, (2,))\n    c = jax.random.normal(key, (3,))  # third\n    return a, b, c\n",
    ),
    (
        "a key that lives on",
        "def f(key):\n    a = jax.random.normal(key)\n    b = jax.random.uniform(key)\n    return a + b, jax.random.fold_in(key, 3)\n",
    ),
    (
        "branches",
        "def f(key, p):\n    x = 0.0\n    if p:\n        x = jax.random.normal(key)\n    else:\n        pass\n    return x + jax.random.uniform(key)\n",
    ),
    (
        "taken names",
        "def f(key, key_1, subkey):\n    a = jax.random.normal(key)\n    return a + jax.random.uniform(key) + key_1 + subkey\n",
    ),
    (
        "tabs",
        "def f(key):\n\tif True:\n\t\ta = jax.random.normal(key)\n\t\tb = jax.random.normal(key)\n\treturn a + b\n",
    ),
    ("one-line suite", "def f(key): return jax.random.normal(key) + jax.random.uniform(key)\n"),
    (
        "semicolons",
        "def f(key):\n    a = 1; b = jax.random.normal(key); c = jax.random.normal(key)\n    return a + b + c\n",
    ),
    (
        "continued lines",
        "def f(key):\n    a = jax.random.normal(key) \\\n        + jax.random.uniform(\n            key,  # again\n        )\n    return a\n",
    ),
    (
        "decorators and async",
        "@jax.jit\nasync def f(key):\n    a = jax.random.normal(key)\n    return a + jax.random.normal(key)\n",
    ),
    (
        "not ASCII",
        "def f(key, größe):\n    é = \"漢😀\"; a = jax.random.normal(key, größe)\n    return é, a, jax.random.normal(key, größe)\n",
    ),
    (
        "from jax import random",
        "from jax import random\n\ndef f(key):\n    return random.normal(key), random.normal(key)\n",
    ),
    ("import jax.random as jr", "import jax.random as jr\n\ndef f(k):\n    return jr.normal(k), jr.normal(k)\n"),
    (
        "from jax.random import",
        "from jax.random import normal, split\n\ndef f(rng):\n    return normal(rng), normal(rng)\n",
    ),
    ("olympus", "import olympus\n\ndef f(rng):\n    return olympus.random.normal(rng), olympus.random.normal(rng)\n"),
    (
        "attribute",
        "class A:\n    def draw(self, state):\n        a = jax.random.normal(state.key)\n        return a + jax.random.uniform(state.key)\n",
    ),
    ("lambda", "f = lambda key: jax.random.normal(key) + jax.random.uniform(key)\n"),
    (
        "sister",
        "def f(key):\n    k1, k2 = jax.random.split(key)\n    return jax.random.normal(k1) + jax.random.uniform(k1)\n",
    ),
    (
        "drawn, then split",
        "def f(key):\n    a = jax.random.normal(key)\n    key, sub = jax.random.split(key)\n    return a, jax.random.normal(sub), key\n",
    ),
    ("split for nothing", "def f(key):\n    jax.random.split(key)\n    return jax.random.normal(key)\n"),
    (
        "split twice",
        "def f(key):\n    a, b = jax.random.split(key)\n    c, d = jax.random.split(key)\n    return [jax.random.normal(k) for k in (a, b, c, d)]\n",
    ),
    ("seed twice", "a = jax.random.key(0)\nb = jax.random.key(0)\nx = jax.random.normal(a) + jax.random.normal(b)\n"),
    (
        "for",
        "def f(key, xs):\n    out = []\n    for x in xs:\n        out.append(x * jax.random.normal(key))\n    return out\n",
    ),
    (
        "while on one line",
        "def f(key, n):\n    x = 0.0\n    while n: n -= 1; x += jax.random.normal(key)\n    return x\n",
    ),
    (
        "parent thrown away",
        "def f(key):\n    x = 0.0\n    for i in range(3):\n        _, sub = jax.random.split(key)\n        x += jax.random.normal(sub)\n    return x\n",
    ),
    (
        "comprehension",
        "def f(key, xs):\n    a = [jax.random.normal(key) for _ in range(4)]\n    return a\n\ndef g(key, xs):\n    return {x: jax.random.normal(key) for x in xs}\n",
    ),
    (
        "fori_loop",
        "def f(key):\n    def body(i, x):\n        return x + jax.random.normal(key)\n    return jax.lax.fori_loop(0, 3, body, 0.0)\n",
    ),
    (
        "scan",
        "def f(key, n):\n    def body(x, _):\n        return x + jax.random.normal(key), None\n    return jax.lax.scan(body, 0.0, None, length=n)\n",
    ),
    (
        "buffers",
        "def f(seed, step):\n    key = jax.random.key(seed)\n    a, b = key\n    return jax.random.normal(a), jax.random.normal(key + step), jax.random.normal(b)\n",
    ),
];

/// The programs after they are fixed.
static FIXED: LazyLock<Vec<(&str, String)>> =
    LazyLock::new(|| PROGRAMS.iter().map(|(name, text)| (*name, fixed(&program(text)))).collect());

fn program(text: &str) -> String {
    let imports = text.lines().any(|line| line.starts_with("import ") || line.starts_with("from "));
    if imports { text.to_owned() } else { format!("import jax\n\n{text}") }
}

#[test]
fn fixes_follow_the_style_of_the_file() {
    let mut shown = String::new();
    for (name, fixed) in FIXED.iter() {
        write!(shown, "# --- {name}\n{fixed}\n").unwrap();
    }
    insta::assert_snapshot!(shown);
}

#[test]
fn fixed_programs_parse_and_need_no_more_fixes() {
    for (name, once) in FIXED.iter() {
        assert!(parse(once, SourceKind::Py).problems.is_empty(), "{name}:\n{once}");
        let second = rustpython_parser::parse(once, rustpython_parser::Mode::Module, "<fixed>");
        assert!(second.is_ok(), "{name}: {second:?}\n{once}");
        assert_eq!(fixed(once), *once, "{name}: fixing twice");
    }
}

#[test]
fn line_ends_marks_and_encodings_are_kept() {
    let text = program(PROGRAMS[0].1);
    let plain = fixed(&text);
    assert_ne!(plain, text);
    assert_eq!(fixed(&text.replace('\n', "\r\n")), plain.replace('\n', "\r\n"));
    assert_eq!(fixed(&format!("\u{feff}{text}")), format!("\u{feff}{plain}"));
    let latin = |text: &str| -> Vec<u8> {
        format!("# coding: latin-1\n# é\n{text}").chars().map(|one| u8::try_from(u32::from(one)).unwrap()).collect()
    };
    let (_, out, _) = keylint(&["--fix", "--unsafe-fixes", "-"], nowhere(), &latin(&text));
    assert_eq!(out, latin(&plain));
    // A file without a final line ending stays without.
    assert_eq!(fixed(text.trim_end()), plain.trim_end());
}

#[test]
fn unsound_fixes_are_not_offered() {
    let programs = [
        // The key is rebound between the uses.
        "def f(key, other, p):\n    a = jax.random.normal(key)\n    if p:\n        key = other\n    return a + jax.random.normal(key)\n",
        // No name for `split` is imported here, and `jax` is something else.
        "from jax.random import normal\n\ndef f(key, jax):\n    return normal(key), normal(key)\n",
        // A class body.
        "class A:\n    a = jax.random.normal(K)\n    b = jax.random.normal(K)\n",
        // An attribute is mapped over, so it holds several keys, which `split` does not take.
        "def core(x, key):\n    key, sub = jax.random.split(key)\n    return x + jax.random.normal(sub), key\n\nclass Walkers:\n    \
         def run(self, x):\n        step = jax.vmap(core)\n        a, _ = step(x, self.keys)\n        \
         b, self.keys = step(x, self.keys)\n        return a + b\n",
        // A file that does not parse is not changed.
        "def f(key):\n    return jax.random.normal(key), jax.random.normal(key)\n)\n",
    ];
    for text in programs {
        let text = program(text);
        assert_eq!(fixed_with(&["--min-confidence", "low"], &text), text);
    }
}

#[test]
fn files_are_written_only_when_asked_and_keep_their_permissions() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("a.py");
    let text = program(PROGRAMS[0].1);
    fs::write(&path, &text).unwrap();
    let file = path.to_str().unwrap();
    let read = || fs::read_to_string(&path).unwrap();

    let (status, out, _) = keylint(&["--diff", "--unsafe-fixes", file], folder.path(), b"");
    let diff = String::from_utf8(out).unwrap();
    assert_eq!((status, read()), (Status::Findings, text.clone()));
    assert!(diff.contains("+    a_key, b_key = jax.random.split(key)\n"), "{diff}");

    let (status, out, _) = keylint(&["--fix", file], folder.path(), b"");
    let said = String::from_utf8(out).unwrap();
    assert_eq!((status, read()), (Status::Findings, text));
    assert!(said.ends_with("1 fix would be applied with --unsafe-fixes.\n"), "{said}");

    #[cfg(unix)]
    {
        use std::os::unix::fs::PermissionsExt;
        fs::set_permissions(&path, fs::Permissions::from_mode(0o640)).unwrap();
    }
    let (status, out, _) = keylint(&["--fix", "--unsafe-fixes", file], folder.path(), b"");
    let said = String::from_utf8(out).unwrap();
    assert_eq!(status, Status::Clean, "{said}");
    assert_eq!(said, "All checks passed.\nFixed 1 finding in 1 file.\n");
    assert!(read().contains("a_key, b_key = jax.random.split(key)"));
    #[cfg(unix)]
    {
        use std::os::unix::fs::PermissionsExt;
        assert_eq!(fs::metadata(&path).unwrap().permissions().mode() & 0o777, 0o640);
    }
    let (status, out, _) = keylint(&["--diff", "--unsafe-fixes", file], folder.path(), b"");
    assert_eq!((status, out), (Status::Clean, Vec::new()));
}

#[test]
fn suppressed_findings_are_not_fixed() {
    let text = "import jax\n\ndef f(key):\n    a = jax.random.normal(key)\n    return a + jax.random.normal(key)  # keylint: ignore[KEY101] meant\n";
    assert_eq!(fixed(text), text);
}

#[test]
fn comments_that_a_fix_makes_unused_stay() {
    let text = "import jax\n\n\ndef f(key):\n    key, sub = jax.random.split(key)  # keylint: ignore[KEY110] for later\n    a = jax.random.normal(key)\n    return a, jax.random.uniform(key)  # keylint: ignore[KEY104]\n";
    let now = "import jax\n\n\ndef f(key):\n    key, sub, subkey = jax.random.split(key, 3)  # keylint: ignore[KEY110] for later\n    a = jax.random.normal(sub)\n    return a, jax.random.uniform(subkey)\n";
    assert_eq!(fixed(text), now);
}

#[test]
fn fixes_that_are_not_verified_are_shown_apart() {
    let text = "import jax\n\n\ndef f(key, image, mask):\n    a = jax.random.normal(key)\n    b = jax.random.uniform(key)\n    return a, b\n\n\ndef g(key):\n    a = jax.random.normal(key)\n    b = jax.random.uniform(key)\n    assert abs(a - b) < 1\n    return a\n";
    let (status, out, err) =
        keylint(&["--diff", "--unsafe-fixes", "--show-unverified", "-"], nowhere(), text.as_bytes());
    let out = String::from_utf8(out).unwrap();
    let (applied, shown) =
        out.split_once("# not verified: -:13:9 KEY101: an assertion compares the two results\n").unwrap();
    assert!(applied.contains("b_key = jax.random.split") && !applied.contains("abs"), "{out}");
    // The second diff is one of the fixed file.
    assert!(shown.contains("\n     assert abs(a - b) < 1\n") && !shown.contains("# not verified"), "{out}");
    let lines =
        "Would fix 1 finding in 1 file.\n1 finding has a fix that is not verified, shown above and never applied.\n";
    assert_eq!((status, err.as_str()), (Status::Findings, lines));
}

/// A fix of KEY301 that is not verified is not counted among those that would be applied.
#[test]
fn only_fixes_that_would_be_applied_are_counted() {
    let text = "import jax\n\nkey = jax.random.PRNGKey(1)\nprint(key.shape)\na = jax.random.normal(key)\nprint(a, jax.random.uniform(key))\n";
    let (_, out, _) = keylint(&["-"], nowhere(), text.as_bytes());
    let out = String::from_utf8(out).unwrap();
    assert!(
        out.contains("1 warning") && out.ends_with("\n1 fix would be applied with --fix --unsafe-fixes.\n"),
        "{out}"
    );
}

/// Raw keys of several files are one line of a text report: their fixes are searched only where they are shown or applied.
#[test]
fn a_split_before_a_call_does_not_fix_a_loop_of_the_callee() {
    let lib = "import jax\n\ndef kernel(key, x):\n    new, sub = jax.random.split(key)\n    return key, x + jax.random.normal(sub)\n\n\
               def run(kernel, key, n):\n    x = 0.0\n    for _ in range(n):\n        key, x = kernel(key, x)\n    return x\n";
    let main = "import jax\nfrom lib import kernel, run\n\nfor i in range(3):\n    k = jax.random.key(i)\n    print(run(kernel, k, 10))\n";
    let folder = run::folder(&[("lib.py", lib), ("main.py", main)]);
    keylint(&["--fix", "--unsafe-fixes", folder.path().to_str().unwrap()], folder.path(), b"");
    assert_eq!(fs::read_to_string(folder.path().join("main.py")).unwrap(), main);
}

#[test]
fn fixes_of_folded_findings_are_not_searched() {
    let raw = "import jax\n\nkey = jax.random.PRNGKey(1)\nprint(jax.random.normal(key))\n";
    let reused = "print(jax.random.normal(key))\nprint(jax.random.uniform(key))\n";
    let folder = run::folder(&[("a.py", raw), ("b.py", &format!("{raw}{reused}"))]);
    let printed = |options: &[&str]| {
        let path = folder.path().to_str().unwrap();
        let (_, out, _) = keylint(&[options, &[path]].concat(), folder.path(), &[]);
        String::from_utf8(out).unwrap()
    };
    let (folded, listed) = (printed(&[]), printed(&["--select", "KEY1,KEY301"]));
    assert!(folded.contains("2 files create raw keys"), "{folded}");
    assert!(
        folded.ends_with("2 fixes would be applied with --fix --unsafe-fixes, not counting those of KEY301.\n"),
        "{folded}"
    );
    assert!(listed.ends_with("4 fixes would be applied with --fix --unsafe-fixes.\n"), "{listed}");
    let fixes = |out: &str| out.matches("create typed keys").count();
    assert_eq!([fixes(&folded), fixes(&listed)], [0, 2]);
    assert!(fixes(&printed(&["--output-format", "json"])) >= 2);
    let one = run::folder(&[("a.py", raw)]);
    let (_, out, _) = keylint(&[one.path().to_str().unwrap()], one.path(), &[]);
    assert_eq!(fixes(&String::from_utf8(out).unwrap()), 1);
    assert!(printed(&["--diff", "--unsafe-fixes"]).matches("+key = jax.random.key(1)").count() == 2);
}

#[test]
fn intended_reuse_gets_no_fix() {
    let rows = "    return jax.random.permutation(key, xs), jax.random.permutation(key, ys)\n";
    let text = format!("import jax\n\n\ndef shuffled(key, xs, ys):\n{rows}");
    let arguments = ["--fix", "--unsafe-fixes", "--min-level", "note", "-"];
    let (_, out, _) = keylint(&arguments, nowhere(), text.as_bytes());
    assert_eq!(String::from_utf8(out).unwrap(), text);
}

/// The fix of the raw key is in the same function and does not affect the reuse.
#[test]
fn typing_a_key_leaves_room_for_other_fixes() {
    let text = "import jax\nfrom environment import env, wrapped\n\nenv = wrapped(env)\nreset = jax.jit(env.reset)\nstep = jax.jit(env.step)\nkey = jax.random.PRNGKey(0)\n_, key = jax.random.split(key)\nstate = reset(key)\nstates = [state]\nfor i in range(1000):\n    _, key = jax.random.split(key)\n    action = jax.random.normal(key, shape=(4,))\n    state = step(state, action)\n    states.append(state)\n";
    let (_, out, _) = keylint(&["--diff", "--unsafe-fixes", "-"], nowhere(), text.as_bytes());
    let diff = String::from_utf8(out).unwrap();
    for line in ["+key = jax.random.key(0)", "+    action = jax.random.normal(subkey, shape=(4,))"] {
        assert!(diff.contains(line), "{line} is missing in\n{diff}");
    }
}

#[test]
fn removed_types_are_safe_to_replace() {
    let text =
        "from jax.random import KeyArray, normal\nimport jax\n\ndef f(key: KeyArray) -> KeyArray:\n    return key\n";
    let (status, out, err) = keylint(&["--fix", "-"], nowhere(), text.as_bytes());
    let expected = "from jax.random import normal\nimport jax\n\ndef f(key: jax.Array) -> jax.Array:\n    return key\n";
    assert_eq!((status, String::from_utf8(out).unwrap().as_str()), (Status::Clean, expected), "{err}");
    // The program tests for the dtype of typed keys.
    let text = "import jax\n\ndef f(key):\n    if isinstance(key, jax.random.KeyArray):\n        return 1\n    return not isinstance(key, jax.random.KeyArray)\n";
    let test = "isinstance(key, jax.Array) and jax.dtypes.issubdtype(key.dtype, jax.dtypes.prng_key)";
    let expected = format!("import jax\n\ndef f(key):\n    if {test}:\n        return 1\n    return not ({test})\n");
    assert_eq!(fixed(text), expected);
    // Several findings need one import.
    let text = "import os\nimport jax.random as jr\n\ndef f(key: jr.KeyArray | None):\n    return key\n\ndef g(key: jr.KeyArray):\n    return key\n";
    let (status, out, err) = keylint(&["--fix", "-"], nowhere(), text.as_bytes());
    let expected = text.replace("import jax", "import jax\nimport jax").replace("jr.KeyArray", "jax.Array");
    assert_eq!((status, String::from_utf8(out).unwrap()), (Status::Clean, expected), "{err}");
}

#[test]
fn raw_keys_whose_shape_or_dtype_is_written_down_are_left_to_people() {
    let made = "def f(n):\n    key = jax.random.PRNGKey(0)\n    keys = jax.random.split(key, n)\n";
    for line in [
        "keys = keys.reshape((2, n // 2, 2))",
        "keys = jax.numpy.reshape(keys, (-1, 2))",
        "keys = jax.numpy.asarray(keys, dtype=jax.numpy.uint32)",
        "keys = jax.numpy.zeros((n, 2), jax.numpy.uint32).at[0].set(key)",
        "keys = jax.numpy.concatenate([keys, key[None, :]])",
        "n, _ = keys.shape",
        "rows = {}; rows[0] = key",
        "key = jax.random.wrap_key_data(key)",
    ] {
        let text = program(&format!("{made}    {line}\n    return jax.vmap(jax.random.normal)(keys)\n"));
        assert_eq!(fixed(&text), text);
    }
    let text = program(&format!("{made}    return jax.vmap(jax.random.normal)(jax.numpy.asarray(keys))\n"));
    assert_eq!(fixed(&text), text.replace("PRNGKey", "key"));
}

#[test]
fn unsound_migrations_are_left_to_people() {
    for body in [
        // `_` is read.
        "def f(key):\n    _, a = jax.random.split(key)\n    return jax.random.normal(a) + jax.random.normal(_), key\n",
        // A tracer would be stored.
        "class A:\n    def __init__(self, key):\n        self.key = key\n    def draw(self):\n        return jax.random.normal(self.key)\n    def run(self):\n        return jax.jit(self.draw)()\n",
        // Names whose annotation does not denote a key, or denotes several.
        "def f(x, key: str):\n    return x + jax.random.normal(jax.random.key(0))\n",
        "def f(x, keys):\n    return x + jax.random.normal(jax.random.key(0))\n",
        "def f(x, seed: str):\n    return x + jax.random.normal(jax.random.key(0))\n",
    ] {
        assert_eq!(fixed(&program(body)), program(body));
    }
    let annotated = "def f(x, key: jax.Array):\n    return x + jax.random.normal(jax.random.key(0))\n";
    assert_eq!(fixed(&program(annotated)), program(&annotated.replace("jax.random.key(0)", "key")));
}

#[test]
fn unused_children_are_renamed_safely() {
    let spare = |body: &str| {
        let text = program(body);
        let (_, out, _) = keylint(&["--fix", "--min-level", "note", "-"], nowhere(), text.as_bytes());
        String::from_utf8(out).unwrap().strip_prefix("import jax\n\n").unwrap().to_owned()
    };
    let of_two = "def f(key):\n    a, b = jax.random.split(key)\n    return jax.random.normal(a)\n";
    assert_eq!(spare(of_two), of_two.replace("b =", "_ ="));
    // A module's names may be read elsewhere, and `_` may be a function.
    let of_module = "key = jax.random.key(0)\na, b = jax.random.split(key)\nprint(jax.random.normal(a))\n";
    assert_eq!(spare(of_module), of_module);
    let translated = of_two.replace("normal(a)", "normal(a), _(0)");
    assert_eq!(spare(&translated), translated);
    let of_inner = "def f(key):\n    a, b = jax.random.split(key)\n    def g():\n        nonlocal b\n        b = 3\n    g()\n    return jax.random.normal(a)\n";
    assert_eq!(spare(of_inner), of_inner);
    // A comment or a string would mention a name that no longer exists; an attribute or an argument is something else.
    for reported in ["    # noise = normal(b)\n", "    print(\"b is spare\")\n"] {
        let of_reported = of_two.replace("    return", &format!("{reported}    return"));
        assert_eq!(spare(&of_reported), of_reported);
    }
    let of_others = of_two.replace("normal(a)", "normal(a, b=x.b)");
    assert_eq!(spare(&of_others), of_others.replace("b = jax", "_ = jax"));
    // The fix of a reuse may need the child.
    let of_mistaken = "def f(key):\n    a, b = jax.random.split(key)\n    x = jax.random.normal(key)\n    return x + jax.random.normal(a)\n";
    assert_eq!(spare(of_mistaken), of_mistaken);
    // The first program draws from the carried key although the child may have been intended; the second splits it
    // again.
    let of_slip = "def f(key):\n    key, b = jax.random.split(key)\n    return jax.random.normal(key)\n";
    assert_eq!(spare(of_slip), of_slip);
    let of_carry = of_slip.replace("normal(key)", "split(key, 3)");
    assert_eq!(spare(&of_carry), of_carry.replace("b =", "_ ="));
    // Where nothing is used, nothing should be split.
    let of_none = "def f(key):\n    _, b = jax.random.split(key)\n    return 1\n";
    assert_eq!(spare(of_none), of_none);
    let of_both = "def f(key):\n    a, b = jax.random.split(key)\n    return 1\n";
    assert_eq!(spare(of_both), of_both);
}

#[test]
fn children_used_by_other_modules_are_not_unused() {
    let folder = tempfile::tempdir().unwrap();
    let setup = "import jax\n\nkey = jax.random.key(0)\nkey, child = jax.random.split(key)\na = jax.random.normal(key)\nkey, other = jax.random.split(key)\nb = jax.random.normal(other)\n";
    fs::write(folder.path().join("setup.py"), "").unwrap();
    let path = folder.path().join("keys.py");
    let user = folder.path().join("user.py");
    let fixed = |uses: &str| {
        fs::write(&path, setup).unwrap();
        fs::write(&user, format!("import jax\n{uses}\n")).unwrap();
        keylint(&["--fix", "--unsafe-fixes", folder.path().to_str().unwrap()], folder.path(), b"");
        fs::read_to_string(&path).unwrap()
    };
    assert!(fixed("x = jax.random.normal(jax.random.key(1))").contains("a = jax.random.normal(child)"));
    for uses in [
        "from keys import child\nx = jax.random.normal(child)",
        "import keys\nx = jax.random.normal(keys.child)",
        "from keys import *\nx = jax.random.normal(child)",
    ] {
        let text = fixed(uses);
        assert!(text != setup && !text.contains("normal(child)"), "{uses}\n{text}");
    }
    let listed = format!("__all__ = [\"child\"]\n{setup}");
    let (_, out, _) = keylint(&["--fix", "--unsafe-fixes", "-"], nowhere(), listed.as_bytes());
    assert!(!String::from_utf8(out).unwrap().contains("normal(child)"));
}

#[test]
fn methods_traced_by_other_modules_store_nothing() {
    let folder = tempfile::tempdir().unwrap();
    let agent = "import jax\n\n\nclass Agent:\n    def __init__(self, key):\n        self.key = key\n\n    def act(self):\n        return jax.random.normal(self.key) + jax.random.uniform(self.key)\n";
    fs::write(folder.path().join("setup.py"), "").unwrap();
    let path = folder.path().join("agent.py");
    let fixed = |uses: &str| {
        fs::write(&path, agent).unwrap();
        fs::write(folder.path().join("main.py"), format!("import jax\nfrom agent import Agent\n\n{uses}")).unwrap();
        keylint(&["--fix", "--unsafe-fixes", folder.path().to_str().unwrap()], folder.path(), b"");
        fs::read_to_string(&path).unwrap()
    };
    let plain = "def main(agent: Agent):\n    return agent.act() + agent.act()\n";
    assert!(fixed(plain).contains("self.key, key_1, key_2 = jax.random.split(self.key, 3)"));
    for uses in [
        "def main(agent: Agent):\n    return jax.jit(agent.act)()\n",
        "@jax.jit\ndef step(agent: Agent):\n    return agent.act()\n",
        "def step(agent, x):\n    return x + agent.act()\n\ndef main(agent, x):\n    def body(i, x):\n        return step(agent, x)\n    return jax.lax.fori_loop(0, 3, body, x)\n",
        "def main(agent: Agent, xs):\n    return jax.vmap(lambda x: x + agent.act())(xs)\n",
    ] {
        assert_eq!(fixed(uses), agent, "{uses}");
    }
}

/// `fixtures/fixes/NAME.py` becomes `NAME.fixed.py`, or stays unchanged if that does not exist. `BLESS=1` writes them.
#[test]
fn fixtures_are_fixed_as_expected() {
    let bless = std::env::var_os("BLESS").is_some();
    let folder = Path::new(concat!(env!("CARGO_MANIFEST_DIR"), "/fixtures/fixes"));
    let mut wrong = String::new();
    let mut count = 0;
    for entry in fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        let name = path.file_name().unwrap().to_str().unwrap().to_owned();
        if name.ends_with(".fixed.py") {
            assert!(folder.join(name.replace(".fixed.py", ".py")).exists(), "{name}: nothing becomes it");
            continue;
        }
        count += 1;
        let text = fs::read_to_string(&path).unwrap();
        let once = fixed(&text);
        assert!(parse(&once, SourceKind::Py).problems.is_empty(), "{name}:\n{once}");
        assert_eq!(fixed(&once), once, "{name}: fixing twice");
        let goal = folder.join(name.replace(".py", ".fixed.py"));
        if bless && once != text {
            fs::write(&goal, &once).unwrap();
        }
        if fs::read_to_string(&goal).unwrap_or(text) != once {
            writeln!(wrong, "--- {name} becomes\n{once}").unwrap();
        }
    }
    assert!(wrong.is_empty() && count > 0, "{wrong}");
}

/// The examples of the pages: a `py fixed` block is the result of fixing the block of Python before it.
#[test]
fn rule_pages_show_the_fixes_that_are_made() {
    let unmarked = |text: &str| -> String {
        text.lines().flat_map(|line| [line.split("  # error").next().unwrap_or(line), "\n"]).collect()
    };
    let bless = std::env::var_os("BLESS").is_some();
    let mut wrong = String::new();
    for rule in keylint::rules::all() {
        let fences = rule_docs::fences(rule.name());
        let has_fixed = fences.iter().any(|fence| fence.language == "py fixed");
        let is_fixable = rule.fix != keylint::rules::FixAvailability::None;
        assert_eq!(has_fixed, is_fixable, "{}: a page shows a fix if there is one", rule.name());
        for pair in fences.windows(2).filter(|pair| pair[1].language == "py fixed") {
            let select: &[&str] = if rule.opt_in { &["--extend-select", rule.code()] } else { &[] };
            let expected = fixed_with(select, &unmarked(&pair[0].text));
            if expected == pair[1].text {
                continue;
            }
            if bless {
                let path = rule_docs::page_path(rule.name());
                let page = fs::read_to_string(&path).unwrap();
                let old = format!("```py fixed\n{}```", pair[1].text);
                fs::write(&path, page.replacen(&old, &format!("```py fixed\n{expected}```"), 1)).unwrap();
            }
            writeln!(wrong, "rules/{}.md:{} should be\n{expected}", rule.name(), pair[1].first_row).unwrap();
        }
    }
    assert!(wrong.is_empty() || bless, "{wrong}");
}
