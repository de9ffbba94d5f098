//! Programs that could make the analysis explode: values and terms that double, containers that contain themselves, many calls of
//! small functions.
//!
//! Each runs through the built executable with fixes and replays, as a user's would.
//!
//! **Invariant:** a plain reuse at the end of the file is reported, whatever precedes it.

use std::fmt::Write;
use std::fs;
use std::process::Command;

use crate::hostile::{Run, check_text};

/// Checks a function made of these lines, and that the function after it is analysed.
fn check(name: &str, lines: &[String]) -> Run {
    check_program(
        name,
        &format!("def f(key, xs):\n    random.normal(random.fold_in(key, 1))\n    {}\n", lines.join("\n    ")),
    )
}

fn check_program(name: &str, program: &str) -> Run {
    let text = format!(
        "import dataclasses\nimport functools\nimport jax\nimport jax.numpy as jnp\nfrom jax import random\n\n{program}\n\ndef \
         sentinel(key):\n    return random.normal(key) + random.uniform(key)\n"
    );
    let run = check_text(&text);
    let findings: Vec<serde_json::Value> = serde_json::from_str(&run.out).expect(name);
    let last = text.lines().count();
    let is_found = findings.iter().any(|finding| finding["code"] == "KEY101" && finding["location"]["row"] == last);
    assert!(is_found, "{name}: the sentinel is not reported\n{}", run.out);
    run
}

/// The first line, a line that is repeated, and the last lines.
fn repeated(first: &str, line: &str, times: usize, last: &[&str]) -> Vec<String> {
    let lines = std::iter::once(first).chain(std::iter::repeat_n(line, times)).chain(last.iter().copied());
    lines.map(str::to_owned).collect()
}

#[test]
fn doubling_values_terminate() {
    let used = ["random.normal(s[0])", "jax.tree.map(random.normal, s)", "jax.vmap(lambda t: t)(s)", "s == s"];
    for line in ["s = s + s", "s = (*s, *s)", "s = (s, s)", "s = {0: s, 1: s}", "s = tuple(zip(s, s))", "s = s * 2"] {
        check(line, &repeated("s = (key,)", line, 60, &used));
    }
    for line in ["s.extend(s)", "s.append(s)", "s = [*s, *s]", "s += s", "s = [s, s]"] {
        check(line, &repeated("s = [key]", line, 60, &used));
    }
    for line in ["s = jnp.stack([s, s])", "s = jnp.concatenate([s, s])", "s = jnp.hstack([s, s])"] {
        check(line, &repeated("s = random.split(key)", line, 60, &["jax.vmap(random.normal)(s)"]));
    }
    for line in ["x = x + x", "x = xs(x, x)", "x = jnp.where(x > 1, x + x, x * x)", "x = (x & xs.a) & (x & xs.b)"] {
        check(line, &repeated("x = xs.x", line, 60, &["random.normal(x)", "if x:", "    random.normal(key)"]));
    }
    check("text", &repeated("s = 'ab' * 10**12", "s = s + s", 200, &["random.normal(key)"]));
}

#[test]
fn self_containing_containers_terminate() {
    let used = [
        "jax.tree.map(random.normal, s)",
        "jax.tree_util.tree_map_with_path(lambda p, k: random.normal(k), s)",
        "jax.vmap(lambda t: t)(s)",
        "jax.lax.scan(lambda c, t: (c, t), s, s)",
        "s == s",
        "print(s, *s)",
        "return s",
    ];
    check("list", &repeated("s = [key]", "s.append(s)", 1, &used));
    check("dict", &repeated("s = {'k': key}", "s['self'] = s", 1, &used));
    check("two", &repeated("s, t = [key], [key]", "s.append(t); t.append(s)", 1, &used));
    check("partial", &repeated("s = random.normal", "s = functools.partial(s)", 500, &["s(key)"]));
    check("jit", &repeated("s = random.normal", "s = jax.jit(s)", 500, &["s(key)"]));
    let node = "@dataclasses.dataclass\nclass Node:\n    key: jax.Array\n    next: 'Node' = None\n\n    def __getattr__(self, \
                name):\n        return getattr(self, name + name)\n\n    def __iter__(self):\n        return self\n\ndef \
                f(key):\n    n = Node(key)\n    n.next = n\n    random.normal(n.next.next.key)\n    \
                jax.tree.map(random.normal, n)\n    jax.vmap(lambda m: random.normal(m.key))(n)\n    n.other\n    for x in \
                n:\n        random.normal(x)\n    return dataclasses.replace(n, next=n)\n";
    check_program("node", node);
    check_program(
        "class",
        "class A(A):\n    pass\n\ndef d(f):\n    return d(d)(f)\n\n@d\n@d\ndef g(key):\n    return g(g(key))\n",
    );
}

#[test]
fn huge_numbers_terminate() {
    let lines = [
        "k = random.split(key, 10**9)",
        "jax.vmap(random.normal)(k)",
        "a, *b = k",
        "for q in k:",
        "    random.normal(q)",
        "k.reshape(10**4, 10**5)",
        "jnp.tile(k, 10**12)",
        "for i in range(10**40):",
        "    random.normal(random.fold_in(key, i))",
        "for i in range(-2**127, 2**127 - 1, 2**126):",
        "    random.normal(random.fold_in(key, i))",
        "list(range(10**12))",
        "n = 10**38",
        "random.split(key, n ** n)",
        "random.fold_in(key, 1 << 10**9)",
        "-(-2**127) // -1 % -1",
    ];
    check("numbers", &lines.map(str::to_owned));
}

#[test]
fn many_draws_and_calls_terminate() {
    check("draws", &repeated("x = 0", "x += random.normal(key)", 200, &[]));
    let mut chain = String::new();
    for index in 0..60 {
        let (one, two) = (index + 1, index + 2);
        writeln!(
            chain,
            "def g{index}(key, x):\n    a, b = random.split(key)\n    return g{one}(a, x) + g{two}(b, x)\n"
        )
        .unwrap();
    }
    check_program("calls", &chain);
}

#[test]
fn cut_off_results_are_stated() {
    let line = "    key, k = random.split(key)\n    random.normal(k)\n";
    let straight = format!("def f(key):\n{}    return random.normal(key) + random.uniform(key)\n", line.repeat(5_000));
    let mut chain = String::new();
    for index in 0..60 {
        writeln!(chain, "def c{index}(key):\n    return c{}(key)\n", index + 1).unwrap();
    }
    let last = "def c60(key):\n    return random.normal(key)\n\ndef both(key):\n    return c0(key) + c0(key)\n";
    for program in [straight, format!("{chain}{last}")] {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("program.py");
        fs::write(&file, format!("from jax import random\n\n{program}")).unwrap();
        let run = |options: &[&str]| {
            let arguments = ["check", "--isolated", "--output-format", "concise"];
            let output = Command::new(env!("CARGO_BIN_EXE_keylint")).args(arguments).args(options).arg(&file).output();
            String::from_utf8(output.unwrap().stdout).unwrap()
        };
        let said = run(&[]);
        assert!(said.contains("not analysed in full, so findings in ") && said.contains("(KEY006)"), "{said}");
        let named = run(&["--min-level", "note"]);
        assert!(named.contains("KEY006 [note]") && !named.contains("(KEY006)"), "{named}");
    }
}

/// A limit cuts off the method before it stores the next key.
#[test]
fn limits_are_no_evidence_that_nothing_is_stored() {
    let program = r"
class Probe:
    def __init__(self, key):
        self.key = key

    def predict(self, xs):
        self.key, subkey = random.split(self.key)
        return random.normal(subkey, xs.shape)

    def fit(self, xs, ys, best, patience):
        for x in xs:
            self.key, *subkeys = random.split(self.key, 2)
            order = random.permutation(subkeys[0], 100)
            for y in ys:
                self.key, *subkeys = random.split(self.key, 2)
                best = best + random.normal(subkeys[0]) * y
            if x[order] > y:
                best = best - x
            if best > patience:
                patience = self.predict(x)
                if best > x:
                    patience = x
            elif best > x:
                best = x
            if best < 0:
                break
        return best
";
    let run = check_program("cut off", program);
    assert!(!run.out.contains("KEY109"), "{}", run.out);
    let left = program.replacen(
        "self.key, *subkeys = random.split(self.key, 2)",
        "other.key, *subkeys = random.split(other.key, 2)",
        1,
    );
    let run = check_program("left", &left.replace("def fit(self, ", "def fit(self, other, "));
    assert!(run.out.contains("KEY109"), "{}", run.out);
}

#[test]
fn reuse_is_found_among_many_siblings() {
    let draws = |key: &dyn Fn(usize) -> String| -> Vec<String> {
        (0..70).map(|number| format!("random.normal({})", key(number))).collect()
    };
    let folded = draws(&|number| format!("random.fold_in(key, {number})"));
    let last = ["k = random.fold_in(key, 99)", "a = random.normal(k)", "return a + random.uniform(k)"];
    let lines: Vec<String> = folded.into_iter().chain(last.map(str::to_owned)).collect();
    let run = check("folded", &lines);
    assert!(run.out.contains("`k` is consumed twice"), "{}", run.out);
    let children = draws(&|number| format!("keys[{number}]"));
    let last = ["return random.normal(keys[69]) + random.uniform(keys[70])"];
    let first = std::iter::once("keys = random.split(key, 80)".to_owned());
    let run = check("children", &first.chain(children).chain(last.map(str::to_owned)).collect::<Vec<_>>());
    assert!(run.out.contains("`keys[69]` is consumed twice"), "{}", run.out);
    assert!(!run.out.contains("keys[70]` is consumed"), "{}", run.out);
}
