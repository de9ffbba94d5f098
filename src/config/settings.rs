//! Resolved settings, and how they apply to a finding.
//!
//! **Invariant:** a judgement depends only on the settings, the file's path and the finding itself.

use std::collections::BTreeMap;
use std::fmt;
use std::path::{Path, PathBuf};

use super::jax_version::JaxPin;
use super::patterns::{Patterns, absolute};
use super::run_settings::RunSettings;
use super::selector::{KnownRule, Selector};
use crate::finding::{Confidence, ConsequenceKind, Family, Finding, IntentKind, Level, RuleId};

/// The source of a setting's value.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Source {
    /// The default.
    Default,
    /// A configuration file.
    File {
        /// The file.
        path: PathBuf,
        /// The 1-based row of the key.
        row: usize,
    },
    /// An inline `key = value` of `--config`.
    Inline,
    /// A command-line option.
    CommandLine,
    /// The environment variable of a command-line option.
    Variable(String),
    /// A lock file or a list of requirements.
    Lock(PathBuf),
}

impl fmt::Display for Source {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Default => f.write_str("default"),
            Self::File { path, row } => write!(f, "{}:{row}", path.display()),
            Self::Inline => f.write_str("--config"),
            Self::CommandLine => f.write_str("command line"),
            Self::Variable(name) => f.write_str(name),
            Self::Lock(path) => write!(f, "{}", path.display()),
        }
    }
}

/// The settings of one rule.
#[derive(Clone, Copy, Debug)]
pub(super) struct RuleSetting {
    /// The rule.
    pub(super) rule: KnownRule,
    /// Whether it is selected.
    pub(super) enabled: bool,
    /// Whether `--select` names exactly this rule, by code or name.
    pub(super) named: bool,
    /// Its level in the option `levels`.
    pub(super) level: Option<Level>,
}

/// Rules that are ignored in some files.
#[derive(Clone, Debug)]
pub(super) struct PerFileIgnore {
    pub(super) pattern: Patterns,
    pub(super) negated: bool,
    pub(super) selectors: Vec<Selector>,
}

/// The rules whose findings may be fixed.
#[derive(Clone, Debug)]
pub(super) struct Fixable {
    pub(super) only: Vec<Selector>,
    pub(super) never: Vec<Selector>,
}

/// The resolved settings of one project directory.
#[derive(Clone, Debug)]
pub struct Settings {
    /// The directory of the configuration file, or of the project; absolute.
    pub root: PathBuf,
    /// The package roots that mirror JAX's API.
    pub roots: Vec<String>,
    /// Files with models of further libraries; absolute.
    pub models: Vec<PathBuf>,
    /// The baseline file; absolute.
    pub baseline: Option<PathBuf>,
    /// The folder of the cache; absolute. `None` for the default.
    pub cache_dir: Option<PathBuf>,
    /// What is known about the JAX version that the code runs with.
    pub jax_version: Option<JaxPin>,
    /// The lowest level to show.
    pub min_level: Level,
    /// The lowest confidence to show.
    pub min_confidence: Confidence,
    /// The settings of the run as a whole.
    pub run: RunSettings,
    /// Whether suppression comments are ignored.
    pub ignores_comments: bool,
    /// The source of each setting, by its key in a configuration file.
    pub sources: BTreeMap<&'static str, Source>,
    pub(super) cwd: PathBuf,
    pub(super) rules: BTreeMap<RuleId, RuleSetting>,
    pub(super) per_file_ignores: Vec<PerFileIgnore>,
    pub(super) fixable: Fixable,
    /// The files to check in folders; `None` for the default.
    pub(super) include: Option<Vec<Patterns>>,
    pub(super) exclude: Vec<Patterns>,
    pub(super) tests: Patterns,
    pub(super) benchmarks: Patterns,
    pub(super) docs: Patterns,
}

impl Settings {
    /// Whether the rule runs at all; per-file ignores may still suppress it.
    pub fn is_enabled(&self, rule: RuleId) -> bool {
        is_always_on(rule) || self.rules.get(&rule).is_some_and(|setting| setting.enabled)
    }

    /// Whether no rule is selected. Only problems that prevent a check are then reported.
    pub fn selects_nothing(&self) -> bool {
        self.rules.values().all(|setting| !setting.enabled || is_always_on(setting.rule.id))
    }

    /// Whether the configuration excludes a file or directory. Some directories (`.git`, `.venv`, …) are always skipped.
    pub fn is_excluded(&self, path: &Path) -> bool {
        let path = absolute(&self.cwd, path);
        self.exclude.iter().any(|patterns| patterns.matches(&path))
    }

    /// Whether a file in a folder is checked; `None` if `include` is not configured.
    pub fn is_included(&self, path: &Path) -> Option<bool> {
        let path = absolute(&self.cwd, path);
        let include = self.include.as_ref()?;
        Some(include.iter().any(|patterns| patterns.matches(&path)))
    }

    /// Whether findings of a rule may be fixed.
    pub fn is_fixable(&self, rule: RuleId) -> bool {
        let narrowest = |selectors: &[Selector]| {
            selectors.iter().filter(|selector| selector.covers(rule)).map(Selector::specificity).max()
        };
        let never = narrowest(&self.fixable.never);
        narrowest(&self.fixable.only).is_some_and(|only| never.is_none_or(|never| only > never))
    }

    /// The settings as they apply to one file.
    pub fn for_file(&self, path: &Path) -> FileSettings<'_> {
        let path = absolute(&self.cwd, path);
        let ignored = self
            .per_file_ignores
            .iter()
            .filter(|ignore| ignore.pattern.matches(&path) != ignore.negated)
            .flat_map(|ignore| &ignore.selectors)
            .collect();
        let (is_test, is_benchmark) = (self.tests.matches(&path), self.benchmarks.matches(&path));
        let is_docs = self.docs.matches(&path);
        FileSettings { settings: self, is_test, is_benchmark, is_docs, ignored }
    }

    /// Every setting that affects which findings are found and shown, as text for a cache key. It does not include what depends on the file,
    /// which is in [`FileSettings::deciding`].
    pub fn deciding(&self) -> String {
        // The pattern is exhaustive, so that a new setting is not forgotten.
        let Self {
            roots,
            jax_version,
            min_level,
            min_confidence,
            rules,
            ignores_comments,
            // These affect where files are, which files are checked, and what happens after the analysis.
            root: _,
            cwd: _,
            sources: _,
            models: _,
            cache_dir: _,
            include: _,
            exclude: _,
            baseline: _,
            fixable: _,
            run: _,
            // These are decided per file.
            per_file_ignores: _,
            tests: _,
            benchmarks: _,
            docs: _,
        } = self;
        format!("{roots:?} {jax_version:?} {min_level} {min_confidence} {rules:?} {ignores_comments}")
    }

    /// The enabled rules and their levels, sorted by code.
    pub fn enabled(&self) -> impl Iterator<Item = (KnownRule, Level)> + '_ {
        let enabled = self.rules.values().filter(|setting| self.is_enabled(setting.rule.id));
        enabled.map(|setting| (setting.rule, setting.level.unwrap_or(setting.rule.level)))
    }

    /// The patterns of test files, as written.
    pub fn tests(&self) -> &[String] {
        self.tests.written()
    }

    /// The patterns of files to check in folders, as written.
    pub fn include(&self) -> impl Iterator<Item = &str> {
        self.include.iter().flatten().flat_map(Patterns::written).map(String::as_str)
    }

    /// The selectors in `fixable` and `unfixable`.
    pub fn fixable(&self) -> [Vec<String>; 2] {
        [&self.fixable.only, &self.fixable.never].map(|list| list.iter().map(ToString::to_string).collect())
    }

    /// The patterns of excluded files, as written.
    pub fn exclude(&self) -> impl Iterator<Item = &str> {
        self.exclude.iter().flat_map(Patterns::written).map(String::as_str)
    }

    /// The per-file ignores: each pattern with the rules that it disables.
    pub fn per_file_ignores(&self) -> impl Iterator<Item = (String, Vec<String>)> + '_ {
        self.per_file_ignores.iter().map(|ignore| {
            let sign = if ignore.negated { "!" } else { "" };
            let pattern = ignore.pattern.written().first().map_or("", String::as_str);
            (format!("{sign}{pattern}"), ignore.selectors.iter().map(ToString::to_string).collect())
        })
    }
}

/// How a finding is reported.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Judgement {
    /// The level after overrides and the demotion in test files.
    pub level: Level,
    /// Whether it is shown, and if not, why.
    pub shown: Shown,
    /// The intent that the kind of file implies, which makes the finding a note.
    pub intent: Option<IntentKind>,
}

/// Whether a finding is shown.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Shown {
    /// It is shown.
    Yes,
    /// Its rule is not selected for this file.
    Unselected,
    /// Its level is below `min-level`.
    BelowLevel,
    /// Its confidence is below `min-confidence`.
    BelowConfidence,
}

/// The settings as they apply to one file.
#[derive(Clone, Debug)]
pub struct FileSettings<'a> {
    settings: &'a Settings,
    is_test: bool,
    is_benchmark: bool,
    is_docs: bool,
    ignored: Vec<&'a Selector>,
}

impl FileSettings<'_> {
    /// Whether the file is a test file.
    pub fn is_test(&self) -> bool {
        self.is_test
    }

    /// Whether the rule is selected for this file.
    pub fn is_selected(&self, rule: RuleId) -> bool {
        let ignored = self.ignored.iter().any(|selector| selector.covers(rule));
        is_always_on(rule) || (self.settings.is_enabled(rule) && !ignored)
    }

    /// Every setting of this file, besides those of its project, that affects its findings, as text for a cache key.
    pub fn deciding(&self) -> String {
        let Self { settings: _, is_test, is_benchmark, is_docs, ignored } = self;
        format!("{is_test} {is_benchmark} {is_docs} {ignored:?}")
    }

    /// Decides how a finding of this file is reported.
    pub fn judge(&self, finding: &Finding) -> Judgement {
        let setting = self.settings.rules.get(&finding.rule);
        let intent = self.intent(finding);
        // Raw keys in tests and documentation are migrated with the rest of the project, and are harmless until then. So is a test that
        // compares whole results that contain keys, or that inspects the words of a key.
        let is_aside = finding.rule == RuleId::LegacyPrngkey && (self.is_test || self.is_docs)
            || finding.rule.family() == Family::Buffer && self.is_test;
        let level = level(finding, setting);
        let level = if intent.is_some() || is_aside { level.min(Level::Note) } else { level };
        let named = setting.is_some_and(|setting| setting.named);
        let shown = if !self.is_selected(finding.rule) {
            Shown::Unselected
        } else if level < self.settings.min_level && !named && !must_be_shown(finding) {
            Shown::BelowLevel
        } else if finding.confidence < self.settings.min_confidence {
            Shown::BelowConfidence
        } else {
            Shown::Yes
        };
        Judgement { level, shown, intent }
    }

    /// Why a finding is probably intended in a file of this kind.
    fn intent(&self, finding: &Finding) -> Option<IntentKind> {
        let kind = finding.consequence.as_ref().map(|consequence| consequence.kind);
        // Training on a benchmark: the iterations are steps of one run, not alternatives.
        let are_steps = matches!(kind, Some(ConsequenceKind::Meet | ConsequenceKind::Carried));
        match finding.rule {
            RuleId::KeyReusedInLoop if self.is_benchmark && !self.is_test && are_steps => None,
            // Tests draw the same numbers twice in order to compare them.
            rule if self.is_test && rule.may_be_intended() => Some(IntentKind::TestCode),
            // Benchmarks give all alternatives the same work, and so the same key.
            RuleId::SeedReused | RuleId::KeyReusedInLoop | RuleId::KeyDerivedTwice if self.is_benchmark => {
                Some(IntentKind::Comparison)
            }
            _ => None,
        }
    }
}

/// The level of a finding under the settings of its rule.
fn level(finding: &Finding, setting: Option<&RuleSetting>) -> Level {
    match setting {
        // The rule reported this finding below its own level: an override may lower it further, but not raise it.
        Some(RuleSetting { rule, level: Some(level), .. }) if finding.level < rule.level => finding.level.min(*level),
        Some(RuleSetting { level: Some(level), .. }) => *level,
        _ => finding.level,
    }
}

/// The numbers of hidden findings, by the option that would show them.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct HiddenCounts {
    /// Those below `min-level`, by level.
    pub by_level: BTreeMap<Level, usize>,
    /// Those that are not below `min-level`, but below `min-confidence`, by confidence.
    pub by_confidence: BTreeMap<Confidence, usize>,
    /// Those that the baseline accepts.
    pub accepted: usize,
    /// Functions that were not fully analysed.
    pub limited: usize,
}

impl HiddenCounts {
    /// Counts a finding if it is selected but hidden.
    pub fn add(&mut self, finding: &Finding, judgement: Judgement) {
        match judgement.shown {
            Shown::Yes => {}
            // Counted even if the rule is not selected, because other rules miss findings beyond the limit.
            _ if finding.rule == RuleId::AnalysisLimited => self.limited += 1,
            Shown::Unselected => {}
            Shown::BelowLevel => *self.by_level.entry(judgement.level).or_default() += 1,
            Shown::BelowConfidence => *self.by_confidence.entry(finding.confidence).or_default() += 1,
        }
    }
}

/// Whether a finding means that a file was not checked, and is shown whatever its level: not a gap that an exercise leaves on purpose.
fn must_be_shown(finding: &Finding) -> bool {
    is_always_on(finding.rule) && finding.intent.is_none()
}

/// Rules whose findings mean that a file was not checked. Without them, the file would look clean.
fn is_always_on(rule: RuleId) -> bool {
    matches!(rule, RuleId::SyntaxError | RuleId::UnreadableFile | RuleId::InternalError)
}
