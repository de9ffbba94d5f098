//! Hostile input: it gives a message or a result, never a crash, a hang or a stack overflow.
//!
//! Every program goes through the built executable, as a user's would, and must finish within [`PATIENCE`], a limit that
//! only a hang or superlinear work can reach.
//!
//! **Invariant:** the exit status is as documented: 0 nothing shown, 1 findings shown, 2 the run itself failed.

use std::fmt::Write;
use std::fs;
use std::path::Path;
use std::process::{Command, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use tempfile::TempDir;

use crate::run;

/// The time after which a run counts as hanging.
const PATIENCE: Duration = Duration::from_mins(5);

/// How a run ended.
#[derive(Debug)]
pub(crate) struct Run {
    pub(crate) status: i32,
    pub(crate) out: String,
    pub(crate) err: String,
}

impl Run {
    /// Whether a finding with this code is shown.
    fn shows(&self, code: &str) -> bool {
        self.out.contains(&format!("\"code\":\"{code}\"")) || self.out.contains(&format!("\"code\": \"{code}\""))
    }
}

/// Checks the contents of a folder. Output goes to files, so that a full pipe cannot look like a hang.
fn check(folder: &Path) -> Run {
    let outputs = tempfile::tempdir().unwrap();
    let (out, err) = (outputs.path().join("out"), outputs.path().join("err"));
    let mut child = Command::new(env!("CARGO_BIN_EXE_keylint"))
        .args(["check", "--isolated", "--output-format", "json", "."])
        .current_dir(folder)
        .stdin(Stdio::null())
        .stdout(fs::File::create(&out).unwrap())
        .stderr(fs::File::create(&err).unwrap())
        .spawn()
        .unwrap();
    let start = Instant::now();
    let status = loop {
        if let Some(status) = child.try_wait().unwrap() {
            break status;
        }
        if start.elapsed() > PATIENCE {
            child.kill().unwrap();
            child.wait().unwrap();
            panic!("the run hangs");
        }
        thread::sleep(Duration::from_millis(10));
    };
    let text = |path| String::from_utf8(fs::read(path).unwrap()).unwrap();
    let run = Run { status: status.code().expect("no signal ends a run"), out: text(out), err: text(err) };
    assert!(!run.shows("KEY005") && !run.err.contains("panicked"), "an internal error\n{}\n{}", run.out, run.err);
    run
}

/// Checks files of these names and texts.
fn check_files(files: &[(&str, &[u8])]) -> Run {
    check(run::folder(files).path())
}

pub(crate) fn check_text(text: &str) -> Run {
    check_files(&[("program.py", text.as_bytes())])
}

/// A program that draws twice from one key; the code before it must not hide that.
const REUSE: &str = "from jax import random\ndef reuse(key):\n    return random.normal(key) + random.normal(key)\n";

#[test]
fn deep_nesting_is_refused_with_a_message() {
    let depth = 300_000;
    let brackets = format!("x = {}1{}\n", "(".repeat(depth), ")".repeat(depth));
    let lists = format!("x = {}{}\n", "[".repeat(depth), "]".repeat(depth));
    let unclosed = format!("x = {}\n", "{".repeat(depth));
    let signs = format!("x = {}1\n", "-".repeat(depth));
    let negations = format!("x = {}1\n", "not ".repeat(depth));
    let sum = format!("import jax\nx = 1{}\n", " + 1".repeat(depth));
    let attributes = format!("import jax\nx = jax{}\n", ".random".repeat(depth));
    let calls = format!("import jax\nx = jax{}\n", "()".repeat(depth));
    let lambdas = format!("x = {}1\n", "lambda: ".repeat(depth));
    let ternaries = format!("x = {}0\n", "1 if a else ".repeat(depth));
    let powers = format!("x = 1{}\n", " ** 1".repeat(depth));
    let text = format!("x = {}1{}\n", "f'{".repeat(2_000), "}'".repeat(2_000));
    for (name, program) in [
        ("brackets", brackets),
        ("lists", lists),
        ("unclosed", unclosed),
        ("signs", signs),
        ("negations", negations),
        ("sum", sum),
        ("attributes", attributes),
        ("calls", calls),
        ("lambdas", lambdas),
        ("ternaries", ternaries),
        ("powers", powers),
        ("text", text),
    ] {
        let run = check_text(&program);
        assert_eq!((run.status, run.shows("KEY001")), (1, true), "{name}: {}", run.err);
    }
}

#[test]
fn deep_blocks_are_refused_with_a_message() {
    for header in ["if a:", "for a in b:", "def f():", "class A:", "with a:", "try:"] {
        let mut program = String::new();
        for depth in 0..3_000 {
            writeln!(program, "{}{header}", " ".repeat(depth)).unwrap();
        }
        writeln!(program, "{}pass", " ".repeat(3_000)).unwrap();
        let run = check_text(&program);
        assert_eq!((run.status, run.shows("KEY001")), (1, true), "{header}: {}", run.err);
    }
}

#[test]
fn deep_nesting_within_the_limit_is_analysed() {
    let mut functions = String::from("from jax import random\n");
    let mut loops = String::from("from jax import random\ndef f(key):\n");
    for depth in 0..80 {
        writeln!(functions, "{}def f{depth}(key):", " ".repeat(depth)).unwrap();
        writeln!(loops, "{}for i{depth} in range(3):", " ".repeat(depth + 1)).unwrap();
    }
    writeln!(functions, "{0}random.normal(key)\n{0}return random.normal(key)", " ".repeat(80)).unwrap();
    writeln!(loops, "{}print(random.normal(key))", " ".repeat(81)).unwrap();
    for program in [functions, loops, format!("{REUSE}x = {}1{}\n", "(".repeat(200), ")".repeat(200))] {
        let run = check_text(&program);
        assert!(run.status <= 1, "{}", run.err);
    }
}

/// The size of a large file: several times what any bound admits, and no more than the checks of a debug build get through in seconds.
const LARGE: usize = if cfg!(debug_assertions) { 3_000_000 } else { 10_000_000 };

#[test]
fn large_files_are_analysed() {
    let line = "    values = [value * 2.0 + 1.0 for value in values if value is not None]  # nothing to see here\n";
    let mut inside = format!("{REUSE}\ndef work(values):\n");
    // More operations than one body may have: the code before such a table is run, the code after it is not.
    let mut literal = format!("{REUSE}table = [\n");
    while inside.len() < LARGE {
        inside.push_str(line);
    }
    while literal.len() < LARGE {
        literal.push_str("    [0.25, -1.5, 3, 'some text', None, True],\n");
    }
    literal.push_str("]\n");
    let comment = format!("# {}\n{REUSE}", "x".repeat(LARGE));
    for program in [inside, literal, comment] {
        let run = check_text(&program);
        assert_eq!((run.status, run.shows("KEY101")), (1, true), "{}", run.err);
    }
}

#[test]
fn broken_texts_are_findings() {
    let nul = format!("x = 1\0\n{REUSE}");
    let nuls = vec![0; 100_000];
    let open_string = format!("{REUSE}x = 'open\n");
    let open_triple = format!("{REUSE}x = '''open\n");
    let open_format = format!("{REUSE}x = f'{{open\n");
    let bytes: Vec<u8> = (0..=255).cycle().take(65_536).collect();
    let utf16: Vec<u8> = b"\xFF\xFE".iter().copied().chain(REUSE.bytes().flat_map(|byte| [byte, 0])).collect();
    let texts: [(&[u8], &[&str]); 8] = [
        (nul.as_bytes(), &["KEY001"]),
        (&nuls, &["KEY001"]),
        (open_string.as_bytes(), &["KEY001", "KEY101"]),
        (open_triple.as_bytes(), &["KEY001", "KEY101"]),
        (open_format.as_bytes(), &["KEY001", "KEY101"]),
        (&bytes, &["KEY004"]),
        (&utf16, &["KEY004"]),
        (b"\\\n\\\n\\", &["KEY001"]),
    ];
    for (text, codes) in texts {
        let run = check_files(&[("program.py", text)]);
        let start = String::from_utf8_lossy(&text[..text.len().min(20)]).into_owned();
        assert_eq!(run.status, if codes.contains(&"KEY004") { 2 } else { 1 }, "{start:?}: {}{}", run.out, run.err);
        for code in codes {
            assert!(run.shows(code), "{start:?} lacks {code}: {}", run.out);
        }
    }
    for text in ["", "\n", "\u{feff}", "\r", "#", "\\", "\t", "\u{c}"] {
        assert!(check_text(text).status <= 1, "{text:?}");
    }
}

/// A folder with a program that reuses a key.
fn folder_with_reuse() -> TempDir {
    let folder = tempfile::tempdir().unwrap();
    fs::write(folder.path().join("program.py"), REUSE).unwrap();
    folder
}

#[cfg(unix)]
#[test]
fn unusual_folders_are_walked_once() {
    use std::os::unix::fs::symlink;

    let folder = folder_with_reuse();
    let at = |path: &str| folder.path().join(path);
    fs::create_dir_all(at("a/b")).unwrap();
    symlink(folder.path(), at("a/b/up")).unwrap();
    symlink(at("a/self.py"), at("a/self.py")).unwrap();
    symlink("nowhere.py", at("a/dangling.py")).unwrap();
    fs::create_dir(at("folder.py")).unwrap();
    fs::write(at("folder.py/inner.py"), REUSE).unwrap();
    let run = check(folder.path());
    assert!((1..=2).contains(&run.status), "{}", run.err);
    assert_eq!(run.out.matches("KEY101").count(), 2, "{}", run.out);
}

#[test]
fn folders_named_like_files_are_walked() {
    let folder = folder_with_reuse();
    fs::create_dir(folder.path().join("x.py")).unwrap();
    let run = check(folder.path());
    assert_eq!((run.status, run.shows("KEY101")), (1, true), "{}{}", run.out, run.err);
}

#[test]
fn long_loops_cost_no_more_than_short_ones() {
    let mut programs = Vec::new();
    for length in ["10**9", "10**30", "10**10**10", "n", "1 << 90"] {
        programs.push(format!(
            "from jax import random\ndef f(key, n):\n    keys = [key] * ({length})\n    \
             for i in range({length}):\n        for j in range({length}):\n            random.normal(key)\n    \
             return [random.normal(k) for k in keys], random.split(key, {length}), list(range({length}))\n"
        ));
    }
    for program in programs {
        let run = check_text(&program);
        assert_eq!((run.status, run.shows("KEY102")), (1, true), "{}", run.err);
    }
}

/// Numbers at the limits of machine words, wherever a number is allowed.
const LARGE_NUMBERS: &str = r#"from jax import random
def f(key, x, n):
    least = -2**126 * 2
    most = 2**126 - 1 + 2**126
    keys = random.split(key, most)
    a = random.normal(keys[least]), random.normal(keys[most]), random.normal(keys[x - least]), random.normal(keys[x + most + most])
    b = random.normal(keys[least::-1]), random.normal(keys[most::least]), random.normal(keys[least:most:most]), random.normal(keys[::least])
    c = random.fold_in(key, least), random.fold_in(key, x - least), random.fold_in(key, most * most), random.key(least), random.key(most)
    for i in range(least, most, most):
        random.normal(keys[i * most + least])
    for i in range(most, least, least):
        random.normal(keys[i - least])
    for i in range(n):
        random.normal(keys[i * least - most])
    d = [key] * least, [key] * most, keys.reshape(least, -1), random.split(key, (most, most)), keys[None, least]
    if x < least or x > most or x < least + 1 or least <= x <= most:
        random.normal(key)
    e = least // -1, least % -1, -least, ~least, abs(least), least ** most, least << most, most >> least, least << 99, 1 << most
    g = (1, 2, 3)[least], (1, 2, 3)[most:least:least], "abc"[least], list(range(least, most))[least], [1, 2][::least], (1, 2) * most
    return a, b, c, d, e, g, enumerate(keys, most), keys[least:], keys[:least], keys[-most:], random.split(key, least), keys[least][most]
f(random.key(0), 1, 2**127 - 1)
"#;

#[test]
fn numbers_may_have_any_size() {
    let run = check_text(LARGE_NUMBERS);
    assert_eq!((run.status, run.shows("KEY103")), (1, true), "{}", run.err);
}

#[test]
fn many_branches_terminate() {
    let mut ifs = String::from("from jax import random\ndef f(key, a):\n");
    let mut dependent = String::from("from jax import random\ndef f(key, a):\n    x = 0\n");
    let mut rebinding = String::from("from jax import random\ndef f(key, a):\n");
    let mut chain =
        String::from("from jax import random\ndef f(key, a):\n    if a == -1:\n        random.normal(key)\n");
    let mut attempts = String::from("from jax import random\ndef f(key, a):\n");
    for index in 0..2_000 {
        writeln!(ifs, "    if a[{index}]:\n        random.normal(key)").unwrap();
        writeln!(dependent, "    if a({index}, x):\n        x = random.normal(key) + x").unwrap();
        writeln!(rebinding, "    if a[{index}]:\n        key, sub = random.split(key)\n        random.normal(sub)")
            .unwrap();
        writeln!(chain, "    elif a == {index}:\n        random.normal(key)").unwrap();
    }
    // Fewer of these, because each handler's draw is reported and a fix is searched for it.
    for index in 0..300 {
        writeln!(attempts, "    try:\n        a = a(key)\n    except E{index}:\n        random.normal(key)").unwrap();
    }
    for program in [ifs, dependent, rebinding, chain, attempts] {
        let run = check_text(&program);
        assert!(run.status <= 1, "{}", run.err);
    }
}

#[test]
fn long_functions_terminate() {
    let mut straight = String::from("from jax import random\ndef f(key):\n");
    let mut uses = String::from("from jax import random\ndef f(key):\n    keys = random.split(key, 2000)\n");
    let mut reuses = String::from("from jax import random\ndef f(key, out):\n");
    let mut folds = String::from("from jax import random\ndef f(key):\n");
    let mut aliases = String::from("from jax import random\ndef f(a0):\n");
    for index in 0..5_000 {
        writeln!(straight, "    key, sub = random.split(key)\n    random.normal(sub)").unwrap();
        writeln!(folds, "    key = random.fold_in(key, {index})").unwrap();
    }
    for index in 0..2_000 {
        writeln!(uses, "    x{index} = random.normal(keys[{index}])").unwrap();
        writeln!(reuses, "    out.append(random.normal(key))").unwrap();
        writeln!(aliases, "    a{} = (a{index}, a{index})", index + 1).unwrap();
    }
    writeln!(aliases, "    return a2000").unwrap();
    for (program, code) in [(straight, None), (uses, None), (reuses, Some("KEY101")), (folds, None), (aliases, None)] {
        let run = check_text(&program);
        assert_eq!(run.status, i32::from(code.is_some()), "{}{}", run.out, run.err);
        assert!(code.is_none_or(|code| run.shows(code)));
    }
}

#[test]
fn many_functions_terminate() {
    // Each calls the next, in the worst order for propagating a property along calls.
    let mut chain = String::from("from jax import random\n");
    let mut fan = String::from("from jax import random\ndef f0(key):\n    return random.normal(key)\n");
    for index in 0..1_500 {
        writeln!(chain, "def g{index}(key):\n    return g{}(key)", index + 1).unwrap();
    }
    writeln!(chain, "def g1500(key):\n    return random.normal(key)").unwrap();
    for index in 1..30 {
        writeln!(fan, "def f{index}(key):\n    return f{0}(key) + f{0}(key)", index - 1).unwrap();
    }
    assert_eq!(check_text(&chain).status, 0);
    assert_eq!(check_text(&fan).status, 1);
}

#[test]
fn import_cycles_terminate() {
    let programs = [
        // Mutual recursion.
        "def even(key, n):\n    return odd(key, n - 1) + random.normal(key)\n\
         def odd(key, n):\n    return even(key, n - 1) + random.normal(key)\neven(random.key(0), 9)\n",
        "def f(key):\n    return f(key) + f(key)\n",
        "def f(g, key):\n    return g(g, key)\nf(f, random.key(0))\n",
        "f = lambda g, key: g(g, random.normal(key))\nf(f, random.key(0))\n",
        // Classes that inherit from themselves, or from each other.
        "class A(A):\n    def draw(self, key):\n        return random.normal(key) + super().draw(key)\nA().draw(random.key(0))\n",
        "class A:\n    pass\nclass B(A):\n    pass\nclass A(B):\n    pass\nA().draw(random.key(0))\n",
        "class A:\n    def __getattr__(self, name):\n        return getattr(self, name)\nrandom.normal(A().key)\n",
        "class A:\n    @property\n    def key(self):\n        return self.key\nrandom.normal(A().key)\n",
        // Containers and functions that contain themselves.
        "x = []\nx.append(x)\nrandom.normal(x[0])\nprint(x + x)\n",
        "d = {}\nd['d'] = d\nrandom.normal(d['d']['d'])\n",
        "class A:\n    pass\na = A()\na.a = a\na.key = random.key(0)\nrandom.normal(a.a.a.key)\nimport copy\ncopy.deepcopy(a)\n",
        "def gen(key):\n    yield from gen(key)\n    yield random.normal(key)\nlist(gen(random.key(0)))\n",
        "import functools\nf = functools.partial(random.normal)\nfor i in range(9):\n    f = functools.partial(f)\nf(random.key(0))\n",
        "import functools\ndef f(key):\n    return f(key)\nf = functools.partial(f)\nf(random.key(0))\n",
        "import jax\ndef f(key):\n    return jax.jit(jax.vmap(f))(key)\nf(random.key(0))\n",
        "import jax\ndef body(c, x):\n    return jax.lax.scan(body, c, x)\njax.lax.scan(body, random.key(0), None)\n",
        "it = iter([])\nit = iter(it)\nfor x in it:\n    it = iter(it)\n    random.normal(x)\n",
        "while True:\n    while True:\n        random.normal(random.key(0))\n",
        "def f(key, n=f):\n    return n(key)\n",
        "@f\n@f\ndef f(key):\n    return random.normal(key)\n",
    ];
    for program in programs {
        let run = check_text(&format!("from jax import random\n{program}"));
        assert!(run.status <= 1, "{program}\n{}", run.err);
    }
}

#[test]
fn circular_imports_terminate() {
    let run = check_files(&[
        ("a.py", b"from jax import random\nfrom b import g\ndef f(key):\n    return g(key) + random.normal(key)\nx = f(random.key(0))\n"),
        ("b.py", b"from jax import random\nfrom a import f, x\ndef g(key):\n    f(key)\n    return random.normal(key)\ny = g(random.key(1))\n"),
        ("own.py", b"import own\nfrom own import *\nfrom own import x\nx = own.x\nimport jax\njax.random.normal(x)\n"),
        ("p/__init__.py", b"from . import p\nfrom .p import *\nfrom .. import p\nfrom ..... import q\nimport jax\n"),
        ("p/p.py", b"from . import *\nfrom .p import p\nimport jax\n"),
    ]);
    assert_eq!((run.status, run.shows("KEY101")), (1, true), "{}{}", run.out, run.err);
}

#[test]
fn random_programs_terminate() {
    let mut keywords = String::from("from jax import random\nrandom.normal(");
    let mut targets = String::new();
    let mut patterns = String::from("from jax import random\ndef f(key):\n    match key:\n");
    let mut decorators = String::from("import jax\n");
    for index in 0..2_000 {
        write!(keywords, "k{index}=random.key({index}), ").unwrap();
        write!(targets, "a{index}, ").unwrap();
        writeln!(patterns, "        case [x, *y] if random.normal(key) > {index}: random.normal(key)").unwrap();
        writeln!(decorators, "@jax.jit").unwrap();
    }
    writeln!(keywords, ")").unwrap();
    writeln!(decorators, "def f(key):\n    return jax.random.normal(key) + jax.random.normal(key)").unwrap();
    let targets = format!(
        "from jax import random\n{targets} = random.split(random.key(0), 2000)\n[random.normal(a) for a in ({targets})]\n"
    );
    let ignores = format!("{REUSE}{}", "x = 1  # keylint: ignore[KEY101, KEY102, KEY999]\n".repeat(5_000));
    for program in [keywords, targets, patterns, decorators, ignores] {
        let run = check_text(&program);
        assert!(run.status <= 1, "{}", run.err);
    }
}

#[cfg(unix)]
#[test]
fn pipes_and_devices_are_skipped() {
    use std::os::unix::fs::symlink;
    let folder = tempfile::tempdir().unwrap();
    let at = |name: &str| folder.path().join(name);
    for name in ["pipe.py", "uv.lock", "requirements.txt", "sub/.gitignore", "sub/pipe.py"] {
        fs::create_dir_all(at(name).parent().unwrap()).unwrap();
        assert!(Command::new("mkfifo").arg(at(name)).status().unwrap().success());
    }
    symlink("/dev/zero", at("zero.py")).unwrap();
    fs::write(at("program.py"), format!("import pipe, zero\n{REUSE}")).unwrap();
    fs::write(at("setup.py"), "").unwrap();
    let run = check(folder.path());
    assert_eq!((run.status, run.shows("KEY101")), (1, true), "{}{}", run.out, run.err);
}
