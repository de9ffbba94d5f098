//! Notebooks: small ones in, findings by cell out; and edits written back into the document.

use std::fmt::Write;
use std::fs;

use keylint::source::{SourceFile, decode};
use keylint::text::{Edit, Span};
use proptest::prelude::*;
use serde_json::{Value, json};

use crate::run;

const PYTHON: &str = "python";

/// A notebook whose cells hold Python; one that starts with `#` is Markdown.
fn notebook(cells: &[&str]) -> String {
    document(cells, PYTHON, true)
}

fn document(cells: &[&str], language: &str, as_lists: bool) -> String {
    let cell = |text: &&str| {
        let source: Value =
            if as_lists { text.split_inclusive('\n').collect() } else { Value::String((*text).to_owned()) };
        if text.starts_with('#') {
            json!({"cell_type": "markdown", "metadata": {}, "source": source})
        } else {
            json!({"cell_type": "code", "execution_count": 1, "metadata": {"tags": ["é"]},
                "outputs": [{"output_type": "stream", "name": "stdout", "text": ["1\n"]}], "source": source})
        }
    };
    let cells: Vec<Value> = cells.iter().map(cell).collect();
    let document = json!({"nbformat": 4, "nbformat_minor": 4, "cells": cells,
        "metadata": {"language_info": {"name": language, "version": "3.12"}}});
    serde_json::to_string_pretty(&document).unwrap() + "\n"
}

/// Runs a command in a folder that holds these files; what it prints, standard output first.
fn keylint(files: &[(&str, &str)], arguments: &[&str]) -> String {
    let folder = tempfile::tempdir().unwrap();
    for (path, text) in files {
        fs::write(folder.path().join(path), text).unwrap();
    }
    let arguments = arguments.iter().map(|argument| -> std::ffi::OsString {
        let is_path = files.iter().any(|(path, _)| argument.starts_with(path));
        if is_path { folder.path().join(argument).into() } else { (*argument).into() }
    });
    let ran = run::keylint(folder.path(), arguments, &[]);
    let printed = String::from_utf8(ran.out).unwrap() + &ran.err;
    printed.replace(&format!("{}/", folder.path().display()), "")
}

/// The findings in a notebook of these cells, one a line.
fn findings(cells: &[&str]) -> Vec<String> {
    let printed = keylint(&[("a.ipynb", &notebook(cells))], &["check", "-q", "--output-format", "concise", "a.ipynb"]);
    let places = printed.lines().map(|line| {
        let (place, rest) = line.split_once(": KEY").unwrap_or((line, ""));
        format!("{place} KEY{}", rest.get(..3).unwrap_or_default())
    });
    places.collect()
}

#[test]
fn keys_reused_across_cells_are_reported() {
    let cells = [
        "# Title",
        "import jax\nkey = jax.random.key(0)",
        "a = jax.random.normal(key)\n",
        "## Again",
        "\n\nb = (\n  jax.random.normal(key))",
    ];
    assert_eq!(findings(&cells), ["a.ipynb:cell 5:4:3 KEY101"]);
    let json = keylint(&[("a.ipynb", &notebook(&cells))], &["check", "a.ipynb", "--output-format", "json"]);
    let json: Value = serde_json::from_str(&json).unwrap();
    assert_eq!(json[0]["cell"], 5);
    assert_eq!(json[0]["location"], json!({"row": 4, "column": 3}));
    assert_eq!(json[0]["end_location"], json!({"row": 4, "column": 25}));
    assert_eq!(json[0]["related"][1]["cell"], 3);
    assert_eq!(json[0]["related"][1]["location"], json!({"row": 1, "column": 5}));
    let sarif = keylint(&[("a.ipynb", &notebook(&cells))], &["check", "a.ipynb", "--output-format", "sarif"]);
    let sarif: Value = serde_json::from_str(&sarif).unwrap();
    let location = &sarif["runs"][0]["results"][0]["locations"][0];
    assert_eq!(location["properties"]["cell"], 5);
    assert_eq!(location["physicalLocation"]["region"]["startLine"], 4);
}

/// A gap is missing right before a comment, or is all of a block; any other error stays one.
#[test]
fn gaps_of_exercises_are_notes() {
    let missing = "loss = # your code here\n";
    let empty = "def loss(x):\n    # your code here\n";
    let broken = "loss = = 1  # mean error\n";
    assert!(findings(&[missing]).is_empty());
    assert!(findings(&[empty]).is_empty());
    assert_eq!(findings(&[broken]), ["a.ipynb:cell 1:1:8 KEY001"]);
    for other in [
        "if x = 1:\n    # compare with one\n    y = 2\n",
        "def f(x):\n    # double it\nreturn 2 * x\n",
        "x = foo(1,  # first argument\ny = 3\n",
        "def f():\n    # c\n    x = 3 +\n    return x\n",
        "if a ==  # compare\n    b = 1\n",
    ] {
        assert_eq!(findings(&[other]).len(), 1, "{other}");
    }
    let printed = keylint(&[("a.ipynb", &notebook(&[missing]))], &["check", "--min-level", "note", "a.ipynb"]);
    assert!(printed.contains("the cell has a gap to fill in: \"# your code here\""), "{printed}");
    let script = keylint(&[("a.py", missing)], &["check", "a.py"]);
    assert!(script.contains("error[KEY001]"), "{script}");
}

/// A cell that passes an existing key to a call tries it out; drawing itself, or using one key twice in the cell, is a finding.
#[test]
fn computations_of_cells_with_one_key_are_notes() {
    let start = "import jax\nkey = jax.random.key(0)\n\ndef walk(key):\n  return jax.random.normal(key).cumsum()";
    assert_eq!(findings(&[start, "a = walk(key)", "b = walk(key)\nprint(a + b)"]), [""; 0]);
    assert_eq!(findings(&[start, "a = walk(key)\nb = walk(key)\nprint(a + b)"]), [""; 0]);
    assert_eq!(findings(&[start, "a = jax.random.normal(key)", "key, child = jax.random.split(key)"]), [""; 0]);
    let twice = "a = jax.random.normal(key)\nkey, child = jax.random.split(key)\nb = a + jax.random.normal(child)";
    assert_eq!(findings(&[start, twice]), ["a.ipynb:cell 2:2:14 KEY103"]);
    let noisy = "w = 0.0\nfor step in range(9):\n  key, child = jax.random.split(key)\n  w = w - walk(key)\nprint(w)";
    assert_eq!(findings(&[start, noisy]), ["a.ipynb:cell 2:3:16 KEY102"]);
    let defined = "def both(key):\n  return walk(key) + walk(key)";
    assert_eq!(findings(&[start, defined]), ["a.ipynb:cell 2:2:22 KEY101"]);
}

#[test]
fn an_excerpt_numbers_the_rows_of_its_cell() {
    let cells =
        ["import jax\nkey = jax.random.key(0)", "# two\n", "\na = jax.random.normal(key)\nb = jax.random.bits(key)"];
    let printed = keylint(&[("a.ipynb", &notebook(&cells))], &["check", "a.ipynb"]);
    insta::assert_snapshot!(printed);
}

#[test]
fn commands_are_tolerated_and_their_bindings_unknown() {
    let start = "%load_ext autoreload\nimport jax\n!pip install jax\nkey = jax.random.key(0)";
    assert_eq!(findings(&[start, "files = !ls {key}\n?jax\njax.random.normal(key)"]), [""; 0]);
    assert_eq!(
        findings(&[start, "%%time\na = jax.random.normal(key)", "%%bash\nnot python (", "b = jax.random.normal(key)"]),
        ["a.ipynb:cell 4:1:5 KEY101"]
    );
    let timed = "a = jax.random.normal(key)\n%time key, sub = jax.random.split(key)\nb = jax.random.normal(key)";
    assert_eq!(findings(&[start, timed]), [""; 0]);
    // A name that only a magic reads is used.
    assert_eq!(findings(&[start, "sub = jax.random.split(key)", "%timeit f(sub)"]), [""; 0]);
}

/// `IPython` removes the indentation of a cell's first line.
#[test]
fn first_line_of_a_cell_may_be_indented() {
    let start = "import jax\nkey = jax.random.key(0)";
    assert_eq!(findings(&[start, " def f(x):\n    return x\nf(1)"]), [""; 0]);
    let twice = "  x = jax.random.normal(key)\n  y = jax.random.normal(key)\nprint(x + y)";
    assert_eq!(findings(&[start, twice]), ["a.ipynb:cell 2:2:7 KEY101"]);
    assert_eq!(findings(&[start, "    x = 1\n  y = 2"]), ["a.ipynb:cell 2:1:1 KEY001"]);
    assert_eq!(findings(&[start, "x = 1\n  y = 2"]), ["a.ipynb:cell 2:2:1 KEY001"]);
}

#[test]
fn last_expression_of_a_cell_is_displayed() {
    let start = "import jax\nkey = jax.random.key(0)";
    assert_eq!(findings(&[start, "jax.random.split(key)\n"]), [""; 0]);
    assert_eq!(findings(&[start, "jax.random.split(key)\nx = 1"]), ["a.ipynb:cell 2:1:1 KEY110"]);
}

/// Each cell of a tutorial tends to make the key of seed 0.
#[test]
fn warnings_in_cells_are_notes() {
    let cells = [
        "import jax\n",
        "key = jax.random.key(0)\n@jax.jit\ndef loss(x):\n    return x + jax.random.normal(key, (3,))\n",
        "loss(1.0)\n",
        "print(jax.random.normal(key, (3,)) + jax.random.normal(key, (3,)))\n",
    ];
    let shown = |level: &str| {
        let arguments = ["check", "-q", "--output-format", "concise", "--min-level", level, "a.ipynb"];
        keylint(&[("a.ipynb", &notebook(&cells))], &arguments)
    };
    assert!(!shown("warning").contains("KEY106"));
    assert!(shown("note").contains("KEY106"));
    assert!(shown("warning").contains("KEY101"));
}

#[test]
fn one_seed_across_cells_is_a_note() {
    let draw = |name: &str| format!("{name} = jax.random.normal(jax.random.key(0))");
    let (a, b) = (draw("a"), draw("b"));
    assert_eq!(findings(&["import jax", &a, &b]), [""; 0]);
    assert_eq!(findings(&["import jax", &format!("{a}\n{b}")]), [""; 0]);
    let again = "key = jax.random.key(0)\na = jax.random.normal(key)\nb = jax.random.normal(key)";
    assert_eq!(findings(&["import jax", again]), ["a.ipynb:cell 2:3:5 KEY101"]);
}

#[test]
fn fixes_are_applied_to_the_document() {
    let cells =
        ["import jax\nkey = jax.random.key(0)", "# Text", "a = jax.random.normal(key)", "b = jax.random.normal(key)"];
    let before = notebook(&cells);
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("a.ipynb");
    fs::write(&path, &before).unwrap();
    let run = |options: &[&str]| {
        let arguments = ["check"].iter().chain(options).map(std::ffi::OsString::from);
        run::keylint(folder.path(), arguments.chain([path.clone().into()]), before.as_bytes()).text()
    };
    let diff = run(&["--diff", "--unsafe-fixes"]);
    assert!(diff.contains("a.ipynb:cell 3") && !diff.contains("a.ipynb:cell 1"), "{diff}");
    assert_eq!(fs::read_to_string(&path).unwrap(), before);
    run(&["--fix", "--unsafe-fixes"]);
    let after = fs::read_to_string(&path).unwrap();
    assert_ne!(after, before);
    let added: Vec<&str> = diff.lines().filter(|line| line.starts_with('+') && !line.starts_with("+++")).collect();
    let code = read(&after).text;
    assert!(!added.is_empty() && added.iter().all(|line| code.contains(&line[1..])), "{diff}\n{code}");
    // Everything that is not code is unchanged.
    let frame = |text: &str| {
        let mut document: Value = serde_json::from_str(text).unwrap();
        document["cells"].as_array_mut().unwrap().iter_mut().for_each(|cell| cell["source"] = Value::Null);
        document
    };
    assert_eq!(frame(&after), frame(&before));
    assert!(run(&["--output-format", "concise"]).contains("All checks passed"));
}

/// The code after the fixes that are applied by default.
fn fixed(cells: &[&str]) -> String {
    let before = notebook(cells);
    let printed = keylint(&[("a.ipynb", &before)], &["check", "--diff", "--unsafe-fixes", "a.ipynb"]);
    printed
        .lines()
        .filter(|line| line.starts_with('+') && !line.starts_with("+++"))
        .fold(String::new(), |all, line| all + &line[1..] + "\n")
}

/// Names that magics read are still bound after a fix.
#[test]
fn names_in_commands_are_kept() {
    let begun = "import jax\nkey = jax.random.key(0)\nkey, subkey = jax.random.split(key)";
    let draws = format!("{begun}\nnoise = jax.random.normal(subkey)\nmask = jax.random.uniform(subkey)");
    let last = "print(jax.random.normal(key))";
    assert!(fixed(&[&draws, last]).contains("key, noise_key, mask_key = "), "{}", fixed(&[&draws, last]));
    let pair = "import jax\nkey = jax.random.key(0)\na, b = jax.random.split(key)\nx = jax.random.normal(a)";
    let again = "for _ in range(2):\n    c, d = jax.random.split(key)\n    x += jax.random.normal(c)";
    let pair = format!("{pair}\n{again}");
    assert!(fixed(&[&pair]).contains("key, a, b = "), "{}", fixed(&[&pair]));
    for command in ["%timeit jax.random.normal(NAME)", "!echo {NAME}", "t = %timeit -o f(NAME)", "NAME?", "?NAME"] {
        let kept = fixed(&[&draws, &command.replace("NAME", "subkey"), last]);
        assert!(kept.contains("key, subkey, "), "{command}: {kept}");
        let kept = fixed(&[&pair, &command.replace("NAME", "b")]);
        assert!(kept.contains("a, b = jax.random.split("), "{command}: {kept}");
    }
}

/// Two cells do the same in different ways.
#[test]
fn computations_of_two_cells_get_no_fix() {
    let begin = "import jax\nkey = jax.random.key(0)\ndef start(key, x, scale):\n  y = scale * jax.random.normal(key, x.shape)\n  return y\nx = jax.numpy.ones(3)";
    let (first, again) = ("a = start(key, x, 1.0)\nprint(a)", "b = jax.jit(start)(key, x, 2.0)\nprint(b)");
    assert_eq!(fixed(&[begin, first, again]), "");
    let drawn = "a = x + jax.random.normal(key, x.shape)\nb = x - jax.random.normal(key, x.shape)\nprint(a, b)";
    assert_ne!(fixed(&[begin, drawn]), "", "drawn in the cell itself");
}

#[test]
fn broken_cells_do_not_block_fixes_in_others() {
    let reuse = "a = jax.random.normal(key)\nb = jax.random.normal(key)";
    let text =
        notebook(&["import jax\nkey = jax.random.key(0)", "if key:\n    c = jax.random.normal(", reuse, "def g(:"]);
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("a.ipynb");
    let edited = |options: &[&str]| {
        fs::write(&path, &text).unwrap();
        let arguments = ["check"].iter().chain(options).map(std::ffi::OsString::from);
        run::keylint(folder.path(), arguments.chain([path.clone().into()]), &[]);
        read(&fs::read_to_string(&path).unwrap()).text
    };
    let before = read(&text).text;
    let fixed = edited(&["--fix", "--unsafe-fixes"]);
    let split = "a_key, b_key = jax.random.split(key)\na = jax.random.normal(a_key)\nb = jax.random.normal(b_key)";
    assert_eq!(fixed, before.replace(reuse, split));
    let silenced = edited(&["--add-ignores", "meant"]);
    assert_eq!(silenced, before.replace(reuse, &format!("{reuse}  # keylint: ignore[KEY101] meant")));
}

#[test]
fn comments_and_baselines_hold_in_notebooks() {
    let start = "import jax\nkey = jax.random.key(0)\na = jax.random.normal(key)";
    assert_eq!(findings(&[start, "b = jax.random.normal(key)  # keylint: ignore[KEY101] meant"]), [""; 0]);
    assert_eq!(findings(&[start, "\n# keylint: ignore[KEY101]\nb = jax.random.normal(key)"]), [""; 0]);
    let apart = [start, "x = 1\n# keylint: ignore[KEY101]", "b = jax.random.normal(key)"];
    assert_eq!(findings(&apart), ["a.ipynb:cell 2:2:1 KEY002", "a.ipynb:cell 3:1:5 KEY101"]);
    let reuse = notebook(&[start, "b = jax.random.normal(key)"]);
    let moved = notebook(&[start, "import os", "\n\nb = jax.random.normal(key)"]);
    let fingerprint = |text: &str| {
        let json = keylint(&[("a.ipynb", text)], &["check", "a.ipynb", "--output-format", "json"]);
        serde_json::from_str::<Value>(&json).unwrap()[0]["fingerprint"].clone()
    };
    assert!(fingerprint(&reuse).is_string());
    assert_eq!(fingerprint(&reuse), fingerprint(&moved));
}

#[test]
fn why_accepts_cells_and_lines() {
    let text = notebook(&["# Title", "import jax\nkey = jax.random.key(0)"]);
    let why = |place: &str| keylint(&[("a.ipynb", &text)], &["why", place]);
    assert!(why("a.ipynb:2:2").contains("a.ipynb:cell 2:2:7: "), "{}", why("a.ipynb:2:2"));
    assert_eq!(why("a.ipynb:cell 2:2"), why("a.ipynb:2:2"));
    assert!(why("a.ipynb:2").contains("name the cell as well"));
    assert!(why("a.ipynb:1:1").contains("has no Python cell 1"));
}

#[test]
fn invalid_notebooks_are_reported() {
    let reported = |text: &str| keylint(&[("a.ipynb", text)], &["check", "a.ipynb", "--output-format", "concise"]);
    assert!(
        reported("{")
            .contains("KEY004 [error] cannot read the file: the notebook is not valid JSON, at line 1, column 1")
    );
    assert!(
        reported("version https://git-lfs.github.com/spec/v1\noid sha256:0\nsize 1\n").contains("run `git lfs pull`")
    );
    assert!(reported("[]").contains("not a notebook of format 4"));
    assert!(
        reported(&notebook(&["x = 1"]).replace("\"nbformat\": 4", "\"nbformat\": 3"))
            .contains("a notebook of format 3")
    );
    // Some editors write later numbers into notebooks of format 4.
    let later = notebook(&["import jax\njax.random.PRNGKey(0)"]).replace("\"nbformat\": 4", "\"nbformat\": 5");
    assert!(reported(&later).contains("KEY301"));
    assert!(reported("\n").contains("All checks passed"));
    assert!(reported(&document(&["key <- 1 +"], "R", true)).contains("All checks passed"));
    // The parts of a notebook other than code may be anything.
    let odd = notebook(&["# Text", "x = ("]).replace("\"markdown\"", "\"markdown\", \"execution_count\": 3");
    assert!(reported(&odd).contains("a.ipynb:cell 2:1:"));
    assert!(
        reported(&odd.replace("{\n      \"cell_type\"", "3, {\n      \"cell_type\""))
            .contains("not a notebook of format 4")
    );
    let metadata = |metadata: Value| {
        let mut document: Value = serde_json::from_str(&notebook(&["x = ("])).unwrap();
        document["metadata"] = metadata;
        reported(&document.to_string()).contains("a.ipynb:cell 1:1:")
    };
    let kernel = |kernel: Value| metadata(json!({"kernelspec": kernel}));
    assert!(kernel(json!({"name": "python3", "display_name": "Python 3"})));
    assert!(kernel(json!({"name": "my-env", "display_name": "Mine", "language": "python"})));
    assert!(kernel(json!({"name": "my-env", "display_name": "Mine", "language": "python3"})));
    assert!(metadata(json!({"language_info": {"name": "python3"}})));
    assert!(!kernel(json!({"name": "ir", "display_name": "R"})));
    assert!(!metadata(json!({"kernelspec": {"name": "python3", "display_name": ""}, "language_info": {"name": "R"}})));
    assert!(reported(&notebook(&["x = 1", "y = ("])).contains("a.ipynb:cell 2:1:"));
    assert!(reported(&format!("\u{feff}{}", notebook(&["x = 1"]))).contains("All checks passed"));
}

fn read(document: &str) -> SourceFile {
    decode("a.ipynb", document.as_bytes().to_vec()).unwrap()
}

fn edited(document: &str, edits: &[(&str, &str)]) -> String {
    let file = read(document);
    let edit = |(old, new): &(&str, &str)| {
        let start = u32::try_from(file.text.find(old).unwrap()).unwrap();
        Edit { span: Span::new(start, start + u32::try_from(old.len()).unwrap()), content: (*new).to_owned() }
    };
    let edits: Vec<Edit> = edits.iter().map(edit).collect();
    String::from_utf8(file.rewrite(&edits).unwrap()).unwrap()
}

#[test]
fn only_the_lines_edited_change() {
    let rest = r#""metadata": {}, "outputs": [], "execution_count": null}],   "nbformat":4, "nbformat_minor":2 , "metadata":{"language_info":{"name":"python"}}}"#;
    let lists = |source: &str| format!("{{\"cells\" : [\r\n{{\"source\":{source} ,\"cell_type\":\"code\", {rest}");
    let before = lists("[\n   \"a = '\\u00e9' \\/\\n\",\n   \"b = 1\\n\",\n   \"c\" ]");
    let one = lists("[\n   \"a = '\\u00e9' \\/\\n\",\n   \"b = '\\u00fc\\ud83d\\ude00\\\"'\\n\",\n   \"c\" ]");
    assert_eq!(edited(&before, &[("1", "'ü😀\"'")]), one);
    let two = lists("[\n   \"a = '\\u00e9' \\/\\n\",\n   \"# x\\n\",\n   \"b = 1\\n\",\n   \"c\" ]");
    assert_eq!(edited(&before, &[("b =", "# x\nb =")]), two);
    let fewer = lists("[\n   \"a = '\\u00e9' \\/\\n\",\n   \"b = 1\" ]");
    assert_eq!(edited(&before, &[("c\n", "")]), fewer);
    let last = lists("[\n   \"a = '\\u00e9' \\/\\n\",\n   \"b = 1\\n\",\n   \"c  # x\" ]");
    assert_eq!(edited(&before, &[("c\n", "c  # x\n")]), last);
    assert_eq!(edited(&before, &[("a = 'é' /\nb = 1\nc\n", "")]), lists("[]"));
    let string = lists("\"a = 'é'\\r\\nb\\t= 1\"");
    assert_eq!(edited(&string, &[("b", "key")]), lists("\"a = 'é'\\r\\nkey\\t= 1\""));
    assert_eq!(edited(&string, &[("'é'", "'ü'\r\n"), ("1", "2")]), lists("\"a = 'ü'\\r\\n\\r\\nb\\t= 2\""));
}

/// Jupyter writes values that strict readers of JSON reject: they are accepted and kept.
#[test]
fn non_standard_json_is_read() {
    let before =
        notebook(&["import jax\nkey = jax.random.key(0)\na = jax.random.normal(key)", "b = jax.random.normal(key)"]);
    for odd in [
        "NaN",
        "-Infinity",
        "[Infinity, 1e400, -1e999, \"NaN \\\\\"]",
        "\"\\ud800\"",
        "\"\\uDC00 \\ud83d\\ude00 \\\\ud800\"",
    ] {
        let odd = before.replace("\"1\\n\"", &format!("\"1\\n\"], \"data\": [{odd}"));
        assert_ne!(odd, before);
        let reported = keylint(&[("a.ipynb", &odd)], &["check", "-q", "--output-format", "concise", "a.ipynb"]);
        assert!(reported.starts_with("a.ipynb:cell 2:1:5: KEY101"), "{reported}");
        assert_eq!(edited(&odd, &[("b =", "c =")]), odd.replace("b = ", "c = "));
    }
    // A lone surrogate in the code is read as an unknown character, and kept.
    let half = before.replace("\"b = ", "\"'\\ud800é'; b = ");
    assert_eq!(edited(&half, &[("b =", "c =")]), half.replace("b = ", "c = "));
    for broken in ["nan", "Nan", "-", "1e", "INF", "01"] {
        let broken = before.replace("\"execution_count\": 1", &format!("\"execution_count\": {broken}"));
        assert!(keylint(&[("a.ipynb", &broken)], &["check", "a.ipynb"]).contains("not valid JSON"), "{broken}");
    }
}

/// The text between the strings of a list is kept.
#[test]
fn text_between_source_lines_is_kept() {
    let rest = r#""metadata": {}, "outputs": [], "execution_count": null}], "nbformat":4, "nbformat_minor":2, "metadata":{"language_info":{"name":"python"}}}"#;
    let lists = |source: &str| format!("{{\"cells\": [{{\"source\":{source}, \"cell_type\":\"code\", {rest}");
    let before = lists(r#"[ "", "a = 1\n" ,"b = 2\n",   "", "c =" ,  " 3\n"	, "d = 4" , "" ]"#);
    for (edits, after) in [
        (vec![("1", "10"), ("4", "40")], r#"[ "", "a = 10\n" ,"b = 2\n",   "", "c =" ,  " 3\n"	, "d = 40" , "" ]"#),
        (
            vec![("a", "# x\na"), ("d", "# y\nd")],
            r##"[ "", "# x\n", "a = 1\n" ,"b = 2\n",   "", "c =" ,  " 3\n"	, "# y\n"	, "d = 4" , "" ]"##,
        ),
        (vec![("b = 2\n", "")], r#"[ "", "a = 1\n",   "", "c =" ,  " 3\n"	, "d = 4" , "" ]"#),
        (vec![("1\nb", "1; b")], r#"[ "", "a = 1; b = 2\n",   "", "c =" ,  " 3\n"	, "d = 4" , "" ]"#),
        (vec![("c = 3", "c = 5")], r#"[ "", "a = 1\n" ,"b = 2\n",   "", "c = 5" ,  "\n"	, "d = 4" , "" ]"#),
        (
            vec![("d = 4", "d = 4\ne = 5")],
            r#"[ "", "a = 1\n" ,"b = 2\n",   "", "c =" ,  " 3\n"	, "d = 4\n"	, "e = 5" , "" ]"#,
        ),
    ] {
        assert_eq!(edited(&before, &edits), lists(after));
    }
}

/// An unclosed bracket ends with its cell, as when the cell runs; the other cells are checked, with the names that can be
/// found in this one.
#[test]
fn syntax_errors_belong_to_one_cell() {
    let start = "import jax\nkey = jax.random.key(0)\na = jax.random.normal(key)";
    let again = "b = jax.random.normal(key)";
    for (open, row) in
        [("x = (", 1), ("s = \"\"\"a", 1), ("if a:", 1), ("@jax.jit", 1), ("x = 1 + \\", 1), ("y = [1,\n2", 1)]
    {
        let found = findings(&[start, open, again, "%time c = jax.random.normal(key)"]);
        assert_eq!(found.last().map(String::as_str), Some("a.ipynb:cell 3:1:5 KEY101"), "{open}: {found:?}");
        assert!(found[0].starts_with(&format!("a.ipynb:cell 2:{row}:")), "{open}: {found:?}");
        let (own, others): (Vec<&String>, Vec<&String>) = found.iter().partition(|line| line.ends_with("KEY001"));
        assert!(others.len() == 1 && own.iter().all(|line| line.starts_with("a.ipynb:cell 2:")), "{open}: {found:?}");
    }
    // Two broken cells do not form a valid one together.
    let found = findings(&["x = (", "1)", "if x:\n  y = 1", "else:\n  y = 2"]);
    let mut cells: Vec<&str> = found.iter().map(|line| &line[.."a.ipynb:cell 1".len()]).collect();
    cells.dedup();
    assert_eq!(cells, ["a.ipynb:cell 1", "a.ipynb:cell 2", "a.ipynb:cell 4"], "{found:?}");
    // A cell that does not parse does not run, even if parts of it can be read.
    let broken =
        "def f(n, key:\n    return jax.random.normal(key) + jax.random.normal(key)\nc = jax.random.normal(key)";
    assert_eq!(findings(&[start, broken, again]), ["a.ipynb:cell 2:1:14 KEY001", "a.ipynb:cell 3:1:5 KEY101"]);
    // Names that the broken cell binds are bound.
    assert_eq!(findings(&[start, "key = jax.random.key(1)\nx = (", again]), ["a.ipynb:cell 2:2:5 KEY001"]);
}

#[test]
fn edits_stay_within_their_cell() {
    let file = read(&notebook(&["a = 1", "b = 2"]));
    let edit = |start, end, content: &str| Edit { span: Span::new(start, end), content: content.to_owned() };
    assert!(file.rewrite(&[edit(3, 8, "")]).unwrap_err().message.contains("beyond the end of a cell"));
    let at_start = String::from_utf8(file.rewrite(&[edit(6, 6, "# x\n")]).unwrap()).unwrap();
    assert!(at_start.contains("\"# x\\n\",\n        \"b = 2\"\n"), "{at_start}");
    let whole = file.encode("a = 1\nb = 3\n").unwrap();
    assert_eq!(String::from_utf8(whole).unwrap(), notebook(&["a = 1", "b = 3"]));
    assert_eq!(file.encode(&file.text).unwrap(), notebook(&["a = 1", "b = 2"]).into_bytes());
}

/// Escapes all characters beyond ASCII.
fn ascii(document: &str) -> String {
    let mut out = String::new();
    for unit in document.encode_utf16() {
        match u8::try_from(unit) {
            Ok(byte) if byte.is_ascii() => out.push(char::from(byte)),
            _ => write!(out, "\\u{unit:04x}").unwrap(),
        }
    }
    out
}

proptest! {
    /// Reading the written file gives the edited text, and everything outside the cell's code keeps its bytes.
    #[test]
    fn edits_survive_and_touch_nothing_else(
        cells in prop::collection::vec("( |x|é|😀|\"|\\\\|\n|\r\n|\t){1,12}", 1..4),
        (as_lists, is_ascii, which) in (any::<bool>(), any::<bool>(), any::<prop::sample::Index>()),
        (from, to) in (any::<prop::sample::Index>(), any::<prop::sample::Index>()),
        content in "(y|ü|𝄞|\n|\"|\\\\){0,5}",
    ) {
        let cells: Vec<&str> = cells.iter().map(String::as_str).collect();
        let mut before = document(&cells, PYTHON, as_lists);
        if is_ascii {
            before = ascii(&before);
        }
        let file = read(&before);
        prop_assert_eq!(file.rewrite(&[]).unwrap(), before.as_bytes());
        let which = which.index(cells.len());
        let base = cells[..which].iter().map(|cell| cell.len() + 1).sum::<usize>();
        let bounds: Vec<usize> = cells[which].char_indices().map(|(at, _)| at).chain([cells[which].len()]).collect();
        let (from, to) = (bounds[from.index(bounds.len())], bounds[to.index(bounds.len())]);
        let (from, to) = (from.min(to), from.max(to));
        let offset = |at: usize| u32::try_from(base + at).unwrap();
        let edit = Edit { span: Span::new(offset(from), offset(to)), content: content.clone() };
        let bytes = file.rewrite(std::slice::from_ref(&edit)).unwrap();
        let after = read(std::str::from_utf8(&bytes).unwrap());
        let mut expected = file.text.clone();
        expected.replace_range(base + from..base + to, &content);
        prop_assert_eq!(&after.text, &expected);
        prop_assert_eq!(after.cells.iter().count(), cells.len());
        // The other cells, and everything but the code of this one, are unchanged.
        let mut changed = cells.clone();
        let code = cells[which][..from].to_owned() + &content + &cells[which][to..];
        changed[which] = &code;
        let document = document(&changed, PYTHON, as_lists);
        let values: (Value, Value) = (serde_json::from_slice(&bytes).unwrap(), serde_json::from_str(&document).unwrap());
        for field in ["metadata", "nbformat", "nbformat_minor"] {
            prop_assert_eq!(&values.0[field], &values.1[field]);
        }
        if !code.contains('\r') {
            let written = if is_ascii { ascii(&document) } else { document };
            // An ASCII document without escapes does not show whether its writer would escape.
            if before.contains("\\u") || !is_ascii {
                prop_assert_eq!(String::from_utf8(bytes).unwrap(), written);
            }
        }
    }

    #[test]
    fn rewriting_never_panics(
        cells in prop::collection::vec("(a|é|\n){0,6}", 0..4),
        edits in prop::collection::vec((0_u32..20, 0_u32..20, "(b|\n){0,3}"), 0..4),
    ) {
        let cells: Vec<&str> = cells.iter().map(String::as_str).collect();
        let file = read(&notebook(&cells));
        let edits: Vec<Edit> = edits
            .into_iter()
            .map(|(start, end, content)| Edit { span: Span::new(start, end), content })
            .collect();
        if let Ok(bytes) = file.rewrite(&edits) {
            prop_assert!(decode("a.ipynb", bytes).is_ok());
        }
    }
}
