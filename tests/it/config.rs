//! Configuration files: which one applies, what it means, and how errors in it are shown.

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use keylint::config::{CommandLine, ConfigError, KnownRule, Options, Resolver, Settings, Shown, schema};
use keylint::finding::{Confidence, Finding, Level, Place, RuleId};
use keylint::report;
use keylint::text::{FileId, Span};
use tempfile::TempDir;

use crate::run;

const fn rule(id: RuleId, level: Level, opt_in: bool) -> KnownRule {
    KnownRule { id, aliases: &[], level, opt_in }
}

const RULES: [KnownRule; 9] = [
    rule(RuleId::SyntaxError, Level::Error, false),
    rule(RuleId::UnusedSuppression, Level::Warning, false),
    rule(RuleId::KeyReused, Level::Error, false),
    rule(RuleId::KeyReusedInLoop, Level::Error, false),
    rule(RuleId::SplitDiscarded, Level::Warning, false),
    rule(RuleId::KeyArithmetic, Level::Error, false),
    rule(RuleId::KeyAsNumber, Level::Warning, false),
    rule(RuleId::LegacyPrngkey, Level::Warning, false),
    rule(RuleId::PrivatePrngApi, Level::Warning, true),
];

/// A directory with files in it.
struct Project {
    dir: TempDir,
}

impl Project {
    fn new(files: &[(&str, &str)]) -> Self {
        let dir = run::folder(files);
        fs::create_dir(dir.path().join(".git")).unwrap();
        Self { dir }
    }

    fn root(&self) -> &Path {
        self.dir.path()
    }

    fn resolve(&self, file: &str, command_line: CommandLine) -> Result<Arc<Settings>, ConfigError> {
        Resolver::new(self.root(), RULES.to_vec(), command_line)?.for_file(Path::new(file))
    }

    fn settings(&self, file: &str) -> Arc<Settings> {
        self.resolve(file, CommandLine::default()).unwrap()
    }

    /// The error as it is shown, without the directory's name.
    fn mistake(&self, command_line: CommandLine) -> String {
        let error = self.resolve("a.py", command_line).unwrap_err();
        let mut out = Vec::new();
        report::problem(&error, false, &mut out).unwrap();
        String::from_utf8(out).unwrap().replace(&format!("{}/", self.root().display()), "")
    }
}

/// The error in a `keylint.toml` with this text.
fn mistake(text: &str) -> String {
    Project::new(&[("keylint.toml", text)]).mistake(CommandLine::default())
}

fn enabled(settings: &Settings) -> Vec<&'static str> {
    settings.enabled().map(|(rule, _)| rule.id.code()).filter(|code| !code.starts_with("KEY00")).collect()
}

/// The rules that a `keylint.toml` with this text enables.
fn enabled_by(text: &str) -> Vec<&'static str> {
    enabled(&Project::new(&[("keylint.toml", text)]).settings("a.py"))
}

fn select(rules: &[&str]) -> CommandLine {
    let select = Some(rules.iter().map(ToString::to_string).collect());
    CommandLine { options: Options { select, ..Options::default() }, ..CommandLine::default() }
}

fn inline(written: &str) -> CommandLine {
    CommandLine { config: vec![written.to_owned()], ..CommandLine::default() }
}

fn finding(rule: RuleId, level: Level, confidence: Confidence) -> Finding {
    Finding::new(rule, level, confidence, Place { file: FileId(0), span: Span::default() }, String::new())
}

fn judged(settings: &Settings, file: &str, finding: &Finding) -> (Level, Shown) {
    let judgement = settings.for_file(Path::new(file)).judge(finding);
    (judgement.level, judgement.shown)
}

#[test]
fn by_default_all_rules_but_opt_in_ones_are_on() {
    assert_eq!(enabled_by(""), ["KEY101", "KEY102", "KEY110", "KEY202", "KEY207", "KEY301"]);
}

#[test]
fn narrow_selectors_override_wide_ones_and_ignore_wins_a_tie() {
    assert_eq!(enabled_by("select = ['KEY1']"), ["KEY101", "KEY102", "KEY110"]);
    assert_eq!(enabled_by("select = ['key-reused', 'KEY202']"), ["KEY101", "KEY202"]);
    assert_eq!(enabled_by("select = ['KEY1', 'KEY110']\nignore = ['KEY11', 'KEY101']"), ["KEY102", "KEY110"]);
    assert_eq!(enabled_by("select = ['KEY101']\nignore = ['KEY101']"), [""; 0]);
    assert_eq!(enabled_by("ignore = ['ALL']\nextend-select = ['KEY3']"), ["KEY301"]);
    assert_eq!(enabled_by("select = ['KEY3', 'KEY303']"), ["KEY301", "KEY303"]);
    assert_eq!(
        enabled_by("extend-select = ['private-prng-api']\nignore = ['KEY1', 'KEY207']"),
        ["KEY202", "KEY301", "KEY303"]
    );
    assert!(!enabled_by("select = ['ALL']").contains(&"KEY303"));
}

#[test]
fn findings_that_say_a_file_was_not_checked_are_always_on() {
    let project = Project::new(&[]);
    let settings = project.resolve("a.py", select(&["KEY101"])).unwrap();
    assert!(settings.is_enabled(RuleId::SyntaxError));
    assert!(!settings.is_enabled(RuleId::UnusedSuppression));
}

#[test]
fn the_nearest_file_wins_and_nothing_cascades() {
    let project = Project::new(&[
        ("pyproject.toml", "[tool.keylint]\nselect = ['KEY1']\nmin-level = 'note'\n"),
        ("a/keylint.toml", "select = ['KEY2']\n"),
        ("a/b/pyproject.toml", "[project]\nname = 'b'\n"),
        ("a/c/keylint.toml", "select = ['KEY301']\n"),
        ("a/c/.keylint.toml", "select = ['KEY207']\n"),
    ]);
    assert_eq!(enabled(&project.settings("x.py")), ["KEY101", "KEY102", "KEY110"]);
    assert_eq!(enabled(&project.settings("a/x.py")), ["KEY202", "KEY207"]);
    assert_eq!(project.settings("a/x.py").min_level, Level::Warning);
    assert_eq!(enabled(&project.settings("a/b/x.py")), ["KEY202", "KEY207"]);
    assert_eq!(enabled(&project.settings("a/c/x.py")), ["KEY207"]);
}

#[test]
fn broken_pyproject_matters_only_with_a_keylint_table() {
    let project = Project::new(&[
        ("keylint.toml", "select = ['KEY2']"),
        ("template/pyproject.toml", "[{{ project }}]\n"),
        ("ours/pyproject.toml", "[{{ project }}]\n[tool.keylint]\n"),
    ]);
    assert_eq!(enabled(&project.settings("template/a.py")), ["KEY202", "KEY207"]);
    assert!(project.resolve("ours/a.py", CommandLine::default()).is_err());
}

#[test]
fn directories_of_one_root_share_their_settings() {
    let project = Project::new(&[("keylint.toml", "")]);
    let resolver = Resolver::new(project.root(), RULES.to_vec(), CommandLine::default()).unwrap();
    let (one, two) = (resolver.for_file(Path::new("a/x.py")), resolver.for_file(Path::new("b/y.py")));
    assert!(Arc::ptr_eq(&one.unwrap(), &two.unwrap()));
}

#[test]
fn extended_files_come_first_and_paths_are_relative_to_their_own_file() {
    let project = Project::new(&[
        ("base/keylint.toml", "select = ['KEY1']\nignore = ['KEY102']\nmodels = ['m.toml']\nexclude = ['gen/*.py']\n"),
        ("p/keylint.toml", "extend = '../base/keylint.toml'\nextend-select = ['KEY202']\n"),
    ]);
    let settings = project.settings("p/x.py");
    assert_eq!(enabled(&settings), ["KEY101", "KEY110", "KEY202"]);
    assert_eq!(settings.models, [project.root().join("base/m.toml")]);
    assert!(settings.is_excluded(Path::new("base/gen/x.py")));
    assert!(!settings.is_excluded(Path::new("p/gen/x.py")));
    assert_eq!(settings.root, project.root().join("p"));
}

#[test]
fn the_command_line_is_stronger_than_inline_options_and_both_than_files() {
    let project = Project::new(&[("keylint.toml", "select = ['KEY1']\nmin-level = 'error'\n")]);
    let settings = project.resolve("a.py", inline("min-level = 'note'")).unwrap();
    assert_eq!((settings.min_level, enabled(&settings).len()), (Level::Note, 3));
    let mut both = select(&["KEY202"]);
    both.config = vec!["select = ['KEY301']".to_owned(), "min-confidence = 'low'".to_owned()];
    let settings = project.resolve("a.py", both).unwrap();
    assert_eq!(enabled(&settings), ["KEY202"]);
    assert_eq!((settings.min_level, settings.min_confidence), (Level::Error, Confidence::Low));
    assert_eq!(settings.sources["min-confidence"].to_string(), "--config");
    assert_eq!(settings.sources["select"].to_string(), "command line");
    assert!(settings.sources["min-level"].to_string().ends_with("keylint.toml:2"));
}

#[test]
fn isolated_runs_read_no_file_and_an_explicit_file_is_the_only_one() {
    let project = Project::new(&[("keylint.toml", "select = ['KEY1']"), ("ci/strict.toml", "select = ['KEY2']")]);
    let isolated = CommandLine { isolated: true, ..CommandLine::default() };
    assert_eq!(enabled(&project.resolve("a.py", isolated).unwrap()).len(), 6);
    assert_eq!(enabled(&project.resolve("a.py", inline("ci/strict.toml")).unwrap()), ["KEY202", "KEY207"]);
    insta::assert_snapshot!(project.mistake(inline("ci/absent.toml")));
}

#[test]
fn configuration_mistakes_are_shown_at_their_place() {
    let shown = [
        mistake("select = [\n  'KEY101',\n  'key-resued',\n]\n"),
        mistake("selct = ['KEY1']\n"),
        mistake("min-level = 'eror'\n"),
        mistake("min-confidence = 'very'\n"),
        mistake("select = 'KEY1'\n"),
        mistake("exclude = ['ok', 'a[']\n"),
        mistake("[per-file-ignores]\n'a/*.py' = ['KEY101', 'KEY9']\n"),
        mistake("[levels]\nkey-reused = 'note'\nkey-reuse = 'note'\n"),
        mistake("jax-version = 'newest'\n"),
        mistake("select = [\n"),
        mistake("extend = 'absent.toml'\n"),
        mistake("extend = './keylint.toml'\n"),
        mistake("select = ['é', '\u{202e}KEY1']\n"),
    ];
    insta::assert_snapshot!(shown.join("\n"));
}

#[test]
fn mistakes_in_pyproject_and_options_are_shown_at_their_place() {
    let pyproject =
        Project::new(&[("pyproject.toml", "[project]\nname = 'x'\n\n[tool.keylint]\nignored = ['KEY1']\n")]);
    let not_a_table = Project::new(&[("pyproject.toml", "[tool]\nkeylint = 3\n")]);
    let empty = Project::new(&[]);
    let isolated = CommandLine { isolated: true, ..inline("min-level = 'notes'") };
    let shown = [
        pyproject.mistake(CommandLine::default()),
        not_a_table.mistake(CommandLine::default()),
        empty.mistake(select(&["KEY101", "KYE102"])),
        empty.mistake(isolated),
        empty.mistake(inline("extend = 'x.toml'")),
    ];
    insta::assert_snapshot!(shown.join("\n"));
}

#[test]
fn cycles_are_found_through_other_files() {
    let project = Project::new(&[("keylint.toml", "extend = 'b.toml'"), ("b.toml", "extend = 'keylint.toml'")]);
    let error = project.resolve("a.py", CommandLine::default()).unwrap_err();
    assert!(error.message.contains("extends itself"), "{error}");
    assert!(error.origin.ends_with("b.toml"));
}

#[test]
fn findings_are_hidden_by_level_then_by_confidence() {
    let settings = Project::new(&[]).settings("a.py");
    let shown = |level, confidence| judged(&settings, "a.py", &finding(RuleId::KeyReused, level, confidence)).1;
    assert_eq!(shown(Level::Warning, Confidence::Medium), Shown::Yes);
    assert_eq!(shown(Level::Note, Confidence::Low), Shown::BelowLevel);
    assert_eq!(shown(Level::Error, Confidence::Low), Shown::BelowConfidence);
    let opt_in = finding(RuleId::PrivatePrngApi, Level::Warning, Confidence::High);
    assert_eq!(judged(&settings, "a.py", &opt_in).1, Shown::Unselected);
}

#[test]
fn selected_rules_are_shown_at_any_level() {
    let project = Project::new(&[]);
    let note = finding(RuleId::SplitDiscarded, Level::Note, Confidence::High);
    let shown = |rules: &[&str]| judged(&project.resolve("a.py", select(rules)).unwrap(), "a.py", &note).1;
    assert_eq!(shown(&["KEY110"]), Shown::Yes);
    assert_eq!(shown(&["split-discarded"]), Shown::Yes);
    assert_eq!(shown(&["KEY1"]), Shown::BelowLevel);
    let configured = Project::new(&[("keylint.toml", "select = ['KEY110']")]);
    assert_eq!(judged(&configured.settings("a.py"), "a.py", &note).1, Shown::BelowLevel);
}

#[test]
fn levels_override_those_of_rules_but_raise_no_finding_that_its_rule_lowered() {
    let settings =
        Project::new(&[("keylint.toml", "levels = { KEY1 = 'error', KEY101 = 'warning' }")]).settings("a.py");
    let level = |code, level| judged(&settings, "a.py", &finding(code, level, Confidence::High)).0;
    assert_eq!(level(RuleId::KeyReused, Level::Error), Level::Warning);
    assert_eq!(level(RuleId::KeyReused, Level::Note), Level::Note);
    assert_eq!(level(RuleId::SplitDiscarded, Level::Warning), Level::Error);
    assert_eq!(level(RuleId::SplitDiscarded, Level::Note), Level::Note);
    assert_eq!(level(RuleId::KeyArithmetic, Level::Error), Level::Error);
}

#[test]
fn in_test_files_reuse_and_words_of_keys_are_notes() {
    let project = Project::new(&[("p/keylint.toml", "tests = ['checks/']")]);
    let settings = project.settings("a.py");
    let error = |code| finding(code, Level::Error, Confidence::High);
    for path in ["tests/a.py", "src/tests/b/a.py", "test_a.py", "src/a_test.py", "conftest.py"] {
        assert_eq!(judged(&settings, path, &error(RuleId::KeyReused)).0, Level::Note, "{path}");
        assert_eq!(judged(&settings, path, &error(RuleId::KeyArithmetic)).0, Level::Note, "{path}");
        assert_eq!(judged(&settings, path, &error(RuleId::RemovedKeyType)).0, Level::Error, "{path}");
    }
    for path in ["a.py", "testing/a.py", "contest.py", "tests.py"] {
        assert_eq!(judged(&settings, path, &error(RuleId::KeyReused)).0, Level::Error, "{path}");
    }
    let configured = project.settings("p/a.py");
    assert_eq!(judged(&configured, "p/test_a.py", &error(RuleId::KeyReused)).0, Level::Error);
    assert_eq!(judged(&configured, "p/checks/a.py", &error(RuleId::KeyReused)).0, Level::Note);
}

#[test]
fn per_file_ignores_silence_rules_where_their_pattern_matches() {
    let text = "[per-file-ignores]\n'scripts/*.py' = ['KEY1']\n'!src/' = ['key-arithmetic']\n";
    let settings = Project::new(&[("keylint.toml", text)]).settings("a.py");
    let selected = |path: &str, code| settings.for_file(Path::new(path)).is_selected(code);
    assert!(!selected("scripts/a.py", RuleId::KeyReused));
    assert!(selected("scripts/sub/a.py", RuleId::KeyReused));
    assert!(selected("scripts/a.py", RuleId::LegacyPrngkey));
    assert!(!selected("scripts/a.py", RuleId::KeyArithmetic));
    assert!(selected("src/a.py", RuleId::KeyArithmetic));
}

#[test]
fn the_jax_version_is_read_from_the_nearest_pin() {
    let lock = "[[package]]\nname = 'jax'\nversion = '0.4.31'\n";
    let project = Project::new(&[("uv.lock", lock), ("p/keylint.toml", ""), ("q/keylint.toml", "jax-version = '0.6'")]);
    let bound = Project::new(&[("keylint.toml", "jax-version = '<0.5'")]).settings("a.py").jax_version;
    assert_eq!(bound.unwrap().to_string(), "<0.5.0");
    let version = |file| project.settings(file).jax_version.map(|version| version.to_string());
    assert_eq!(version("a.py").as_deref(), Some("0.4.31"));
    assert_eq!(version("p/a.py").as_deref(), Some("0.4.31"));
    assert_eq!(version("q/a.py").as_deref(), Some("0.6.0"));
    assert!(project.settings("a.py").sources["jax-version"].to_string().ends_with("uv.lock"));
}

#[test]
fn the_jax_version_may_be_an_upper_bound_of_the_projects_metadata() {
    let project = Project::new(&[
        ("pyproject.toml", "[project]\ndependencies = ['jax>=0.3,<0.4']\n"),
        ("p/setup.py", "setup(install_requires=['jax==0.3.25'])\n"),
        ("p/keylint.toml", ""),
        ("q/requirements.txt", "\u{feff}jax==0.4.20\n"),
        ("q/keylint.toml", ""),
        ("r/setup.cfg", "[options]\ninstall_requires =\n    jax<=0.4.10\n"),
        ("r/keylint.toml", ""),
        ("s/environment.yml", "name: s\ndependencies:\n  - python=3.10\n  - conda-forge::jax=0.4.19=py310_0\n"),
        ("s/keylint.toml", ""),
        ("t/environment.yaml", "dependencies:\n  - jaxlib>=0.4\n  - pip:\n      - jax==0.4.30\n"),
        ("t/keylint.toml", ""),
    ]);
    let version = |file| project.settings(file).jax_version.map(|pin| pin.to_string());
    assert_eq!(version("a.py").as_deref(), Some("<0.4.0"));
    assert_eq!(version("p/a.py").as_deref(), Some("0.3.25"));
    assert_eq!(version("q/a.py").as_deref(), Some("0.4.20"));
    assert_eq!(version("r/a.py").as_deref(), Some("<0.4.11"));
    assert_eq!(version("s/a.py").as_deref(), Some("<0.4.20"));
    assert_eq!(version("t/a.py").as_deref(), Some("0.4.30"));
    // The requirements of a project are not keylint's configuration.
    let isolated = CommandLine { isolated: true, ..CommandLine::default() };
    let pin = project.resolve("a.py", isolated).unwrap().jax_version;
    assert_eq!(pin.map(|pin| pin.to_string()).as_deref(), Some("<0.4.0"));
}

#[test]
fn roots_add_to_the_usual_ones() {
    let settings = Project::new(&[("keylint.toml", "roots = ['myjax', 'jax']")]).settings("a.py");
    assert_eq!(settings.roots, ["jax", "olympus", "myjax"]);
}

/// `BLESS=1 cargo test` writes the schema again.
#[test]
fn the_schema_is_current() {
    let path = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("keylint.schema.json");
    let fresh = schema();
    if std::env::var_os("BLESS").is_some() {
        fs::write(&path, &fresh).unwrap();
    }
    let written = fs::read_to_string(&path).unwrap_or_default();
    assert!(written == fresh, "keylint.schema.json is stale: run `BLESS=1 cargo test --test it schema`");
}

/// `.ci/packages` validates settings with it.
#[test]
fn the_schema_refuses_unknown_keys_and_values() {
    let schema: serde_json::Value = serde_json::from_str(&schema()).unwrap();
    assert_eq!(schema["additionalProperties"], false);
    assert_eq!(schema["properties"]["min-level"]["anyOf"][0]["$ref"], "#/$defs/Level");
    assert_eq!(schema["$defs"]["Level"]["enum"], serde_json::json!(["note", "warning", "error"]));
}

proptest::proptest! {
    #![proptest_config(proptest::prelude::ProptestConfig::with_cases(64))]

    /// Whatever a file contains, the result is settings or an error that can be shown.
    #[test]
    fn any_file_parses_as_settings_or_problems(
        text in "((select|ignore|levels|extend|exclude|tests|min-level|x) ?= ?|\\[|\\]|'|\"|KEY1|note|\\*|\\{|\\}|,|\n|é|\u{1b}| ){0,24}"
    ) {
        let project = Project::new(&[("keylint.toml", &text)]);
        if let Err(error) = project.resolve("a.py", CommandLine::default()) {
            let mut out = Vec::new();
            report::problem(&error, false, &mut out).unwrap();
            proptest::prop_assert!(!out.contains(&0x1b));
        }
    }
}
