//! The options of a configuration file, as written.
//!
//! **Invariant:** every key is optional, and an absent key has no effect; defaults belong to the resolved settings.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::Deserialize;

use crate::finding::{Confidence, Level};

/// Options of keylint, as written in `keylint.toml`, `.keylint.toml` or `[tool.keylint]` of `pyproject.toml`.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
#[schemars(title = "keylint")]
pub struct Options {
    /// Rules to enable, instead of the default set: codes (`KEY101`), prefixes of codes (`KEY1`, `KEY`), names
    /// (`key-reused`) or `ALL`. A more specific selector overrides a less specific one.
    pub select: Option<Vec<String>>,
    /// Rules to disable; overrides `select` and `extend-select` if both are equally specific.
    pub ignore: Option<Vec<String>>,
    /// The same as `ignore`.
    pub extend_ignore: Option<Vec<String>>,
    /// Rules to enable in addition to those selected; opt-in rules by code or name only.
    pub extend_select: Option<Vec<String>>,
    /// Rules to disable in files that match a pattern; `!` before the pattern means all other files.
    pub per_file_ignores: Option<BTreeMap<String, Vec<String>>>,
    /// The same as `per-file-ignores`.
    pub extend_per_file_ignores: Option<BTreeMap<String, Vec<String>>>,
    /// Rules whose findings may be fixed, instead of all.
    pub fixable: Option<Vec<String>>,
    /// Rules whose findings may be fixed in addition to `fixable`.
    pub extend_fixable: Option<Vec<String>>,
    /// Rules whose findings are never fixed; overrides `fixable` if both are equally specific.
    pub unfixable: Option<Vec<String>>,
    /// Rules whose findings are never fixed, in addition to `unfixable`.
    pub extend_unfixable: Option<Vec<String>>,
    /// Patterns of the files to check in directories, instead of `*.py`, `*.pyi`, `*.pyw` and `*.ipynb`.
    pub include: Option<Vec<String>>,
    /// Patterns of files to check in addition to `include`.
    pub extend_include: Option<Vec<String>>,
    /// Files and directories to skip, in addition to the usual ones (`.git`, `.venv`, `node_modules`, …).
    pub exclude: Option<Vec<String>>,
    /// The same as `exclude`.
    pub extend_exclude: Option<Vec<String>>,
    /// Whether excluded files are skipped even if they are given as arguments.
    pub force_exclude: Option<bool>,
    /// Whether files that `.gitignore` and the like exclude are skipped; they are by default.
    pub respect_gitignore: Option<bool>,
    /// The format of the report.
    pub output_format: Option<OutputFormat>,
    /// Whether to apply fixes, as with `--fix`.
    pub fix: Option<bool>,
    /// Whether to apply unsafe fixes too, as with `--unsafe-fixes`.
    pub unsafe_fixes: Option<bool>,
    /// Whether to apply fixes and report nothing, as with `--fix-only`.
    pub fix_only: Option<bool>,
    /// Whether to list what was fixed, as with `--show-fixes`.
    pub show_fixes: Option<bool>,
    /// The versions of keylint that may check the project: `0.1.0`, or constraints such as `>=0.1,<0.3`.
    pub required_version: Option<String>,
    /// Another configuration file to start from, relative to this one.
    pub extend: Option<String>,
    /// Package roots that mirror JAX's API, in addition to `jax` and `olympus`.
    pub roots: Option<Vec<String>>,
    /// Files with models of further libraries, relative to this one.
    pub models: Option<Vec<String>>,
    /// The baseline, a file of accepted findings, relative to this one.
    pub baseline: Option<String>,
    /// The folder of the cache, relative to this file; by default `.keylint_cache` beside it.
    pub cache_dir: Option<String>,
    /// Patterns of test files, instead of `tests/`, `test_*.py`, `*_test.py`, `*_tests.py` and `conftest.py`. In test files the
    /// findings of `KEY1xx`, `KEY2xx`, `KEY301`, `KEY304` and `KEY402` are notes.
    pub tests: Option<Vec<String>>,
    /// Levels of rules, by selector.
    #[schemars(with = "Option<BTreeMap<String, LevelName>>")]
    pub levels: Option<BTreeMap<String, Level>>,
    /// The JAX version the code runs with, such as `0.4.35`, or an upper bound such as `<0.4`; by default read from a lock file or from what the project requires.
    pub jax_version: Option<String>,
    /// The lowest level to show.
    #[schemars(with = "Option<LevelName>")]
    pub min_level: Option<Level>,
    /// The lowest confidence to show.
    #[schemars(with = "Option<ConfidenceName>")]
    pub min_confidence: Option<Confidence>,
}

/// The format of a report.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
#[expect(missing_docs, reason = "the table of formats in `report` says what each is")]
pub enum OutputFormat {
    Full,
    Concise,
    Grouped,
    Html,
    Json,
    JsonLines,
    Sarif,
    Github,
    Gitlab,
    Azure,
    Pylint,
    Junit,
    Rdjson,
}

/// How bad a finding is.
#[derive(JsonSchema)]
#[serde(rename = "Level", rename_all = "lowercase")]
#[expect(dead_code, reason = "the schema is derived from the variants; no value is ever made")]
enum LevelName {
    Note,
    Warning,
    Error,
}

/// How certain a finding is.
#[derive(JsonSchema)]
#[serde(rename = "Confidence", rename_all = "lowercase")]
#[expect(dead_code, reason = "the schema is derived from the variants; no value is ever made")]
enum ConfidenceName {
    Low,
    Medium,
    High,
}

/// The JSON Schema of [`Options`], pretty-printed, as checked in at `keylint.schema.json`.
pub fn schema() -> String {
    let schema = schemars::schema_for!(Options);
    let mut text = format!("{:#}", schema.as_value());
    text.push('\n');
    text
}
