//! `keylint check --add-ignores`: program text in, program text with comments out.

use std::ffi::OsString;
use std::fs;
use std::path::Path;

use keylint::cli::Status;
use walkdir::WalkDir;

use crate::run;

/// Runs `keylint check` on a path; status and what it says on standard error.
fn check(path: &Path, arguments: &[&str]) -> (Status, String) {
    let start = ["check", "--isolated"].map(OsString::from);
    let arguments = start.into_iter().chain([path.into()]).chain(arguments.iter().map(OsString::from));
    let ran = run::keylint(&std::env::current_dir().unwrap(), arguments, &[]);
    (ran.status, ran.err)
}

const START: &str = "import jax\n\ndef f(key):\n    a = jax.random.normal(key)\n";

/// The text after `--add-ignores` without [`START`], and the messages.
fn silenced(code: &str) -> (String, String) {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("a.py");
    fs::write(&path, START.to_owned() + code).unwrap();
    let (_, said) = check(&path, &["--add-ignores", "meant so"]);
    let text = fs::read_to_string(&path).unwrap();
    let (status, again) = check(&path, &["--add-ignores", "meant so"]);
    if status == Status::Clean {
        assert_eq!(again, "Suppressed 0 findings in 0 files.\n");
    }
    assert_eq!(fs::read_to_string(&path).unwrap(), text, "a second time adds nothing");
    (text.strip_prefix(START).unwrap_or(&text).to_owned(), said)
}

#[track_caller]
fn becomes(code: &str, expected: &str) {
    let (text, said) = silenced(code);
    assert_eq!(text, expected);
    assert!(said.starts_with("Suppressed ") && !said.contains("could not be"), "{said}");
}

#[test]
fn short_statements_get_trailing_comments() {
    becomes("    jax.random.bits(key)\n", "    jax.random.bits(key)  # keylint: ignore[KEY101] meant so\n");
    becomes("    jax.random.bits(key)", "    jax.random.bits(key)  # keylint: ignore[KEY101] meant so");
    becomes("    if a: jax.random.bits(key)\n", "    if a: jax.random.bits(key)  # keylint: ignore[KEY101] meant so\n");
    becomes(
        "    while a < jax.random.bits(key):\n        pass\n",
        "    while a < jax.random.bits(key):  # keylint: ignore[KEY101] meant so\n        pass\n",
    );
    becomes(
        "    b = 1; jax.random.bits(key)\n",
        "    b = 1; jax.random.bits(key)  # keylint: ignore[KEY101] meant so\n",
    );
}

#[test]
fn long_or_multi_line_statements_get_comments_above() {
    let above = "    # keylint: ignore[KEY101] meant so\n";
    for code in [
        "    b = [\n        jax.random.bits(key)]\n",
        "    b = jax.random.bits(key)  # a remark\n",
        "    b = 1, \\\n        jax.random.bits(key)\n",
        "    b = jax.random.bits(key), '''\n    # text'''\n",
        "    b = jax.random.bits(key); c = '''\n    text'''\n",
        "    b_very_long_name_of_a_variable = jax.random.bits(key, shape=(10, 20, 30, 40))\n",
    ] {
        becomes(code, &format!("{above}{code}"));
    }
    becomes(
        "    @jax.jit\n    def g(b=jax.random.bits(key)):\n        return b\n    print(a, g)\n",
        &format!("{above}    @jax.jit\n    def g(b=jax.random.bits(key)):\n        return b\n    print(a, g)\n"),
    );
    // A comment between the rows of one logical line would end it.
    let (text, _) = silenced("    if a: \\\n        jax.random.bits(key)\n");
    assert_eq!(text, "    if a: \\\n        jax.random.bits(key)  # keylint: ignore[KEY101] meant so\n");
}

#[test]
fn wrong_comments_are_corrected() {
    let (_, said) = silenced("    jax.random.bits(key)  # keylint: ignore[KEY998]\n");
    assert_eq!(
        said,
        "Suppressed 1 finding in 1 file. 1 finding about comments remains: correct or remove the comment.\n"
    );
}

#[test]
fn existing_comments_are_extended() {
    becomes(
        "    jax.random.bits(key)  # keylint: ignore[KEY202] old\n",
        "    jax.random.bits(key)  # keylint: ignore[KEY202, KEY101] old\n",
    );
    becomes(
        "    # keylint: ignore[KEY202] old\n    jax.random.bits(key)\n",
        "    # keylint: ignore[KEY202, KEY101] old\n    jax.random.bits(key)\n",
    );
    // Several findings of a statement share one.
    becomes(
        "    return jax.random.bits(key) + jax.random.bits(key[0])\n",
        "    # keylint: ignore[KEY101, KEY201] meant so\n    return jax.random.bits(key) + jax.random.bits(key[0])\n",
    );
}

#[test]
fn files_keep_their_encoding_and_line_ends() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("a.py");
    let code = "# coding: latin-1\r\nimport jax\r\nk = jax.random.key(0)\r\na = jax.random.normal(k), '\u{e9}'\r\n";
    let next = "b = (\r\n  jax.random.normal(k))\r\n";
    let bytes = |text: &str| text.chars().map(|c| u8::try_from(u32::from(c)).unwrap()).collect::<Vec<u8>>();
    fs::write(&path, bytes(&format!("{code}{next}"))).unwrap();
    let (status, said) = check(&path, &["--add-ignores", "caf\u{e9}"]);
    assert_eq!((status, said.as_str()), (Status::Clean, "Suppressed 1 finding in 1 file.\n"));
    assert_eq!(fs::read(&path).unwrap(), bytes(&format!("{code}# keylint: ignore[KEY101] caf\u{e9}\r\n{next}")));
    fs::write(&path, bytes(&format!("{code}{next}"))).unwrap();
    let (status, said) = check(&path, &["--add-ignores", "漢"]);
    assert_eq!(status, Status::Failed);
    assert!(said.contains("the file's encoding cannot represent '漢'"), "{said}");
    assert_eq!(fs::read(&path).unwrap(), bytes(&format!("{code}{next}")));
}

#[test]
fn notebooks_are_written_cell_by_cell() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("a.ipynb");
    let document = |line: &str| {
        format!(
            "{{\"nbformat\":4,\"nbformat_minor\":2,\"metadata\":{{}},\"cells\":[
 {{\"cell_type\":\"code\",\"metadata\":{{}},\"outputs\":[],\"execution_count\":1,\"source\":\"import jax\\nk = jax.random.key(0)\\na = jax.random.bits(k)\"}},
 {{\"cell_type\":\"code\",\"metadata\":{{}},\"outputs\":[],\"execution_count\":1,\"source\":[\n   {line}]}}]}}"
        )
    };
    let line = "\"b = jax.random.bits(k)";
    fs::write(&path, document(&format!("{line}\""))).unwrap();
    assert_eq!(check(&path, &["--add-ignores", "so"]), (Status::Clean, "Suppressed 1 finding in 1 file.\n".to_owned()));
    assert_eq!(fs::read_to_string(&path).unwrap(), document(&format!("{line}  # keylint: ignore[KEY101] so\"")));
}

#[test]
fn unignorable_findings_are_reported() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("a.py");
    let broken = "import jax\nk = jax.random.key(0)\njax.random.bits(k)\njax.random.bits(k)\nx = (\n";
    fs::write(&path, broken).unwrap();
    let (status, said) = check(&path, &["--add-ignores", "so"]);
    assert_eq!(status, Status::Findings);
    assert!(said.contains("cannot be ignored"), "{said}");
    assert_eq!(fs::read_to_string(&path).unwrap(), broken);
    for reason in ["", " ", "a\nb", "see #12"] {
        let (status, said) = check(&path, &["--add-ignores", reason]);
        assert_eq!(status, Status::Failed);
        assert!(said.contains("expects a one-line reason"), "{said}");
    }
    let (status, said) = check(&path, &["--add-ignores", path.to_str().unwrap()]);
    assert_eq!(status, Status::Failed);
    assert!(said.contains("expects a reason") && said.contains("is a path"), "{said}");
    let (status, said) = check(Path::new("-"), &["--add-ignores", "so"]);
    assert_eq!(status, Status::Failed);
    assert!(said.contains("cannot be used with `-`"), "{said}");
}

/// Every finding of every fixture can be suppressed, by one run.
#[test]
fn all_fixtures_can_be_suppressed() {
    let folder = tempfile::tempdir().unwrap();
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("fixtures/cases");
    for entry in WalkDir::new(&root).into_iter().filter_map(Result::ok).filter(|entry| entry.file_type().is_file()) {
        let target = folder.path().join(entry.path().strip_prefix(&root).unwrap());
        fs::create_dir_all(target.parent().unwrap()).unwrap();
        fs::copy(entry.path(), target).unwrap();
    }
    let all = ["--add-ignores", "so", "--min-level", "note", "--min-confidence", "low"];
    let (status, said) = check(folder.path(), &all);
    assert_eq!(status, Status::Clean, "{said}");
    assert!(said.starts_with("Suppressed ") && said.matches('.').count() == 1, "{said}");
    let (status, said) = check(folder.path(), &all);
    assert_eq!((status, said.as_str()), (Status::Clean, "Suppressed 0 findings in 0 files.\n"));
}
