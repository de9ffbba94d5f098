//! The arguments, as clap parses them.
//!
//! **Invariant:** option names follow ruff's; an option is defined only once the feature behind it works.

use std::collections::{BTreeMap, BTreeSet};
use std::path::PathBuf;

use clap::builder::{PossibleValue, PossibleValuesParser};
use clap::{Parser, Subcommand, ValueEnum};

use super::destinations::Destinations;
use super::output::ColourChoice;
use crate::config::{CommandLine, Options, RunSettings};
use crate::finding::{Confidence, Level, RuleId};
use crate::prng::implementation::Implementation;
use crate::report::Format;
use crate::report::graph::GraphFormat;

/// Finds misuse of PRNG keys in Python code that uses JAX.
#[derive(Debug, Parser)]
#[command(name = "keylint", version, max_term_width = 100, disable_help_subcommand = true)]
pub struct Args {
    /// What to do.
    #[command(subcommand)]
    pub command: Command,
    /// Print only findings, no summary.
    #[arg(short, long, global = true)]
    pub quiet: bool,
    /// Print more about the run on standard error.
    #[arg(short, long, global = true)]
    pub verbose: bool,
    /// When to use colours.
    #[arg(long, global = true, value_enum, default_value_t, value_name = "WHEN")]
    pub color: ColourChoice,
}

/// The commands.
#[derive(Debug, Subcommand)]
pub enum Command {
    /// Check files for misuse of keys.
    Check(Box<Check>),
    /// Explain a rule, or list all rules.
    Rule(Rule),
    /// Evaluate `jax.random` expressions on a PRNG that matches JAX bit for bit.
    Eval(Eval),
    /// Accept the current findings, so that only new ones are reported.
    #[command(subcommand)]
    Baseline(BaselineCommand),
    /// Show the settings that apply to a file, and where each comes from.
    Config(Config),
    /// Remove the cache.
    Clean(Clean),
    /// Explain what keylint knows about the keys on a line.
    Why(Why),
    /// Draw how the keys of a file or a function are created, split, folded and consumed.
    Graph(Graph),
    /// Move a project from raw to typed keys, as one diff.
    Migrate(Migrate),
    /// Print the version.
    Version(Version),
    /// Run the language server on standard input and output.
    Server,
    /// Show internals, for developing keylint.
    Dev(Dev),
    /// Print a completion script for a shell.
    Completions(Completions),
}

impl Command {
    /// The options that choose configuration and rules, of a command that has them.
    pub(super) fn selection_mut(&mut self) -> Option<&mut Selection> {
        match self {
            Self::Check(command) => Some(&mut command.selection),
            Self::Baseline(
                BaselineCommand::Create(what) | BaselineCommand::Update(what) | BaselineCommand::Prune(what),
            ) => Some(&mut what.selection),
            Self::Config(command) => Some(&mut command.selection),
            Self::Clean(command) => Some(&mut command.selection),
            Self::Why(command) => Some(&mut command.selection),
            Self::Graph(command) => Some(&mut command.selection),
            _ => None,
        }
    }
}

/// Arguments of `keylint check`.
#[derive(Clone, Debug, clap::Args)]
#[expect(clippy::struct_excessive_bools, reason = "each is an independent command-line flag")]
pub struct Check {
    /// Files and directories; `-` reads standard input.
    #[arg(default_value = ".", value_name = "PATHS")]
    pub paths: Vec<PathBuf>,
    /// The format of the report, `full` by default. For a file that ends in `.html`, `.sarif`, `.json` or `.jsonl`, that format.
    #[arg(long, value_enum, value_name = "FORMAT")]
    pub output_format: Option<Format>,
    /// Write the report to this file instead of standard output (`-`); `FORMAT=FILE` writes an additional report. Repeatable.
    #[arg(short, long, value_name = "[FORMAT=]FILE")]
    pub output_file: Vec<String>,
    /// Apply safe fixes. `--no-fix` overrides the configuration.
    #[arg(long, overrides_with = "no_fix")]
    pub fix: bool,
    #[arg(long, hide = true, overrides_with = "fix")]
    pub(super) no_fix: bool,
    /// Also apply fixes that change random numbers, shapes or checkpoints. Any fix of a reuse changes random numbers.
    /// `--no-unsafe-fixes` overrides the configuration.
    #[arg(long, overrides_with = "no_unsafe_fixes")]
    pub unsafe_fixes: bool,
    #[arg(long, hide = true, overrides_with = "unsafe_fixes")]
    pub(super) no_unsafe_fixes: bool,
    /// Apply fixes; the remaining findings are not reported and do not affect the exit status. `--no-fix-only` overrides
    /// the configuration.
    #[arg(long, overrides_with = "no_fix_only")]
    pub fix_only: bool,
    #[arg(long, hide = true, overrides_with = "fix_only")]
    pub(super) no_fix_only: bool,
    /// List what was fixed, by file and rule. `--no-show-fixes` overrides the configuration.
    #[arg(long, overrides_with = "no_show_fixes")]
    pub show_fixes: bool,
    #[arg(long, hide = true, overrides_with = "show_fixes")]
    pub(super) no_show_fixes: bool,
    /// Show what `--fix` would change, as a diff, and write nothing.
    #[arg(long)]
    pub diff: bool,
    /// With `--diff`, also show fixes that are not verified, each with the reason. They are never applied.
    #[arg(long, requires = "diff")]
    pub show_unverified: bool,
    /// Exit with 0 even if there are findings.
    #[arg(short, long)]
    pub exit_zero: bool,
    /// Exit with 1 if a fix changed a file, even if no findings remain.
    #[arg(long)]
    pub exit_non_zero_on_fix: bool,
    /// Also show findings that a comment suppresses: `# keylint: ignore[…]` and `# noqa`.
    #[arg(long)]
    pub ignore_noqa: bool,
    /// Files and directories to skip, in addition to those configured.
    #[arg(long, value_delimiter = ',', value_name = "PATTERNS", help_heading = "Files")]
    pub exclude: Option<Vec<String>>,
    /// The same as `--exclude`.
    #[arg(long, value_delimiter = ',', value_name = "PATTERNS", help_heading = "Files")]
    pub extend_exclude: Option<Vec<String>>,
    /// Skip files that `.gitignore` and the like exclude; this is the default. `--no-respect-gitignore` checks them.
    #[arg(long, overrides_with = "no_respect_gitignore", help_heading = "Files")]
    pub respect_gitignore: bool,
    #[arg(long, hide = true, overrides_with = "respect_gitignore")]
    pub(super) no_respect_gitignore: bool,
    /// Skip excluded files even if they are given as arguments. `--no-force-exclude` overrides the configuration.
    #[arg(long, overrides_with = "no_force_exclude", help_heading = "Files")]
    pub force_exclude: bool,
    #[arg(long, hide = true, overrides_with = "force_exclude")]
    pub(super) no_force_exclude: bool,
    /// Do not read or write the cache.
    #[arg(short, long)]
    pub no_cache: bool,
    /// Do not replay findings on the reference PRNG.
    #[arg(long)]
    pub no_verify: bool,
    /// Check again whenever a file changes, and say when and which.
    #[arg(short, long, conflicts_with_all = ["add_ignores", "show_files"])]
    pub watch: bool,
    /// List the files that would be checked, and exit.
    #[arg(long)]
    pub show_files: bool,
    /// Show the number of findings per rule instead of the findings; with `full`, `concise`, `grouped` or `json`.
    #[arg(long)]
    pub statistics: bool,
    /// Hide the progress bar.
    #[arg(long)]
    pub no_progress: bool,
    /// Add comments with this reason that suppress the findings shown.
    #[arg(long, value_name = "REASON", conflicts_with_all = ["fix", "fix_only", "diff"])]
    pub add_ignores: Option<String>,
    /// The file of accepted findings, instead of the configured one.
    #[arg(long, value_name = "FILE")]
    pub baseline: Option<PathBuf>,
    /// The file name to use for standard input.
    #[arg(long, value_name = "NAME")]
    pub stdin_filename: Option<PathBuf>,
    #[command(flatten)]
    pub(super) selection: Selection,
}

impl Check {
    /// The options in the form that the configuration takes; otherwise what is wrong with them.
    pub(super) fn command_line(&self) -> Result<CommandLine, String> {
        let mut given = self.selection.command_line()?;
        given.ignores_comments = self.ignore_noqa;
        given.options.exclude.clone_from(&self.exclude);
        given.options.extend_exclude.clone_from(&self.extend_exclude);
        given.options.respect_gitignore = either(self.respect_gitignore, self.no_respect_gitignore);
        Ok(given)
    }

    /// The same arguments, completed from the configuration.
    pub(super) fn completed(&self, configured: RunSettings) -> Self {
        let flag = |yes, no, configured: Option<bool>| either(yes, no).or(configured).unwrap_or(false);
        let mut all = self.clone();
        let implied = Destinations::of(&self.output_file).ok().and_then(|to| to.implied_format());
        all.output_format = self.output_format.or(implied).or(configured.output_format.map(Format::from));
        all.unsafe_fixes = flag(self.unsafe_fixes, self.no_unsafe_fixes, configured.unsafe_fixes);
        all.show_fixes = flag(self.show_fixes, self.no_show_fixes, configured.show_fixes);
        all.force_exclude = flag(self.force_exclude, self.no_force_exclude, configured.force_exclude);
        // Options that only show something change no file, whatever is configured.
        let looks = self.diff || self.no_fix || self.add_ignores.is_some() || self.statistics;
        all.fix_only =
            either(self.fix_only, self.no_fix_only).or(configured.fix_only.filter(|_| !looks)).unwrap_or(false);
        all.fix = either(self.fix, self.no_fix).or(configured.fix.filter(|_| !looks)).unwrap_or(false) || all.fix_only;
        all
    }

    /// The format of the report.
    pub(super) fn format(&self) -> Format {
        self.output_format.unwrap_or(Format::Full)
    }
}

/// The value of a pair of opposite flags.
fn either(yes: bool, no: bool) -> Option<bool> {
    (yes || no).then_some(yes)
}

/// What to do with the baseline.
#[derive(Debug, Subcommand)]
pub enum BaselineCommand {
    /// Accept all findings shown; the file must not exist yet.
    Create(Baseline),
    /// Also accept the findings shown, and remove entries that match no finding.
    Update(Baseline),
    /// Remove entries that match no finding.
    Prune(Baseline),
}

impl BaselineCommand {
    pub(super) fn what(&self) -> &Baseline {
        match self {
            Self::Create(what) | Self::Update(what) | Self::Prune(what) => what,
        }
    }
}

/// Arguments of `keylint baseline`.
#[derive(Debug, clap::Args)]
pub struct Baseline {
    /// Files and directories.
    #[arg(default_value = ".", value_name = "PATHS")]
    pub paths: Vec<PathBuf>,
    /// The file, instead of the configured one or `keylint-baseline.json`.
    #[arg(long = "baseline", value_name = "FILE")]
    pub file: Option<PathBuf>,
    #[command(flatten)]
    pub(super) selection: Selection,
}

/// Arguments of `keylint migrate`.
#[derive(Clone, Debug, clap::Args)]
pub struct Migrate {
    /// Files and directories. Give the whole project, because keys that flow between files change together.
    #[arg(default_value = ".", value_name = "PATHS")]
    pub paths: Vec<PathBuf>,
    /// Write the changes to the files instead of printing them as a diff.
    #[arg(long)]
    pub write: bool,
    /// Print the changes as a diff, and write nothing; this is the default.
    #[arg(long, conflicts_with = "write")]
    pub diff: bool,
    /// Ask about each undecided place. Answers (`y`, `n`, `a` for all, `q`) come from the terminal or standard input.
    #[arg(short, long)]
    pub interactive: bool,
    #[command(flatten)]
    pub(super) selection: Selection,
}

/// Options that choose the configuration and the rules.
#[derive(Clone, Debug, Default, clap::Args)]
#[command(next_help_heading = "Rules and configuration")]
pub struct Selection {
    /// Rules to enable, instead of those configured: codes, prefixes of codes, names, or ALL. Opt-in rules need their code or name.
    #[arg(long, value_delimiter = ',', value_name = "RULES")]
    pub select: Option<Vec<String>>,
    /// Rules to disable.
    #[arg(long, value_delimiter = ',', value_name = "RULES")]
    pub ignore: Option<Vec<String>>,
    /// Rules to enable in addition to those configured.
    #[arg(long, value_delimiter = ',', value_name = "RULES")]
    pub extend_select: Option<Vec<String>>,
    /// The same as `--ignore`.
    #[arg(long, value_delimiter = ',', value_name = "RULES")]
    pub extend_ignore: Option<Vec<String>>,
    /// Rules to disable in files that match a pattern: `PATTERN:RULE`, separated by commas.
    #[arg(long, value_delimiter = ',', value_name = "PATTERN:RULE")]
    pub per_file_ignores: Option<Vec<String>>,
    /// The same as `--per-file-ignores`; both add to the configuration.
    #[arg(long, value_delimiter = ',', value_name = "PATTERN:RULE")]
    pub extend_per_file_ignores: Option<Vec<String>>,
    /// Rules whose findings may be fixed, instead of those configured.
    #[arg(long, value_delimiter = ',', value_name = "RULES")]
    pub fixable: Option<Vec<String>>,
    /// Rules whose findings may be fixed in addition to those configured.
    #[arg(long, value_delimiter = ',', value_name = "RULES")]
    pub extend_fixable: Option<Vec<String>>,
    /// Rules whose findings are never fixed, instead of those configured.
    #[arg(long, value_delimiter = ',', value_name = "RULES")]
    pub unfixable: Option<Vec<String>>,
    /// Rules whose findings are never fixed, in addition to those configured.
    #[arg(long, value_delimiter = ',', value_name = "RULES")]
    pub extend_unfixable: Option<Vec<String>>,
    /// The lowest level to show.
    #[arg(long, value_parser = level_parser(), value_name = "LEVEL")]
    pub min_level: Option<Level>,
    /// The lowest confidence to show.
    #[arg(long, value_parser = confidence_parser(), value_name = "CONFIDENCE")]
    pub min_confidence: Option<Confidence>,
    /// A configuration file, or an inline setting such as `min-level = "note"`.
    #[arg(long, value_name = "PATH|KEY=VALUE")]
    pub config: Vec<String>,
    /// Read no configuration file.
    #[arg(long)]
    pub isolated: bool,
    /// The cache folder, instead of the configured one or the one that `KEYLINT_CACHE_DIR` names.
    #[arg(long, value_name = "DIR")]
    pub cache_dir: Option<PathBuf>,
    /// Names of the options, of these and of the command's own, that variables of the environment gave.
    #[arg(skip)]
    pub(super) variables: BTreeSet<String>,
}

impl Selection {
    /// Whether the command line selects a rule explicitly: by code or name, and not by a prefix.
    pub(super) fn names(&self, rule: RuleId) -> bool {
        let selected = self.select.iter().chain(&self.extend_select).flatten();
        let names = [rule.code(), rule.name()];
        selected.into_iter().any(|selector| names.iter().any(|name| name.eq_ignore_ascii_case(selector.trim())))
    }

    /// The options in the form that the configuration takes; otherwise what is wrong with them.
    pub(super) fn command_line(&self) -> Result<CommandLine, String> {
        let per_file_ignores = self.per_file_ignores.as_deref().map(pairs).transpose()?;
        let extend_per_file_ignores = self.extend_per_file_ignores.as_deref().map(pairs).transpose()?;
        let options = Options {
            select: selectors(self.select.as_deref()),
            ignore: selectors(self.ignore.as_deref()),
            extend_select: selectors(self.extend_select.as_deref()),
            extend_ignore: selectors(self.extend_ignore.as_deref()),
            per_file_ignores,
            extend_per_file_ignores,
            fixable: selectors(self.fixable.as_deref()),
            extend_fixable: selectors(self.extend_fixable.as_deref()),
            unfixable: selectors(self.unfixable.as_deref()),
            extend_unfixable: selectors(self.extend_unfixable.as_deref()),
            min_level: self.min_level,
            min_confidence: self.min_confidence,
            cache_dir: self.cache_dir.as_ref().map(|path| path.display().to_string()),
            ..Options::default()
        };
        Ok(CommandLine {
            isolated: self.isolated,
            config: self.config.clone(),
            options,
            variables: self.variables.clone(),
            ignores_comments: false,
        })
    }
}

/// The selectors of an option: empty text between two commas is ignored.
fn selectors(written: Option<&[String]>) -> Option<Vec<String>> {
    let pieces = written?.iter().map(|piece| piece.trim()).filter(|piece| !piece.is_empty());
    Some(pieces.map(str::to_owned).collect())
}

/// Reads `a.py:KEY101,KEY102,b.py:KEY2`: an item without a pattern belongs to the pattern before it.
pub fn pairs(items: &[String]) -> Result<BTreeMap<String, Vec<String>>, String> {
    let mut out: BTreeMap<String, Vec<String>> = BTreeMap::new();
    let mut pattern: Option<&str> = None;
    for item in items {
        let selector = match item.rsplit_once(':') {
            Some((written, selector)) => {
                pattern = Some(written);
                selector
            }
            None => item,
        };
        let Some(pattern) = pattern.filter(|pattern| !pattern.is_empty()) else {
            return Err(format!("`--per-file-ignores` expects `PATTERN:RULE`, not `{item}`"));
        };
        out.entry(pattern.trim().to_owned()).or_default().push(selector.trim().to_owned());
    }
    Ok(out)
}

impl ValueEnum for Format {
    fn value_variants<'a>() -> &'a [Self] {
        Self::ALL
    }

    fn to_possible_value(&self) -> Option<PossibleValue> {
        Some(PossibleValue::new(self.name()).help(self.about()))
    }
}

/// Arguments of `keylint rule`.
#[derive(Debug, clap::Args)]
pub struct Rule {
    /// The rule to explain, by code or name. If it is left out, all rules are listed.
    #[arg(value_name = "CODE|NAME", conflicts_with = "all")]
    pub wanted: Option<String>,
    /// Print the pages of all rules.
    #[arg(long)]
    pub all: bool,
    /// The format of the output.
    #[arg(long, value_enum, default_value = "text", value_name = "FORMAT")]
    pub output_format: TextOrJson,
}

/// Text for people or JSON for machines.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum TextOrJson {
    /// For people.
    Text,
    /// For machines.
    Json,
}

/// Arguments of `keylint version`.
#[derive(Debug, clap::Args)]
pub struct Version {
    /// The format of the output.
    #[arg(long, value_enum, default_value = "text", value_name = "FORMAT")]
    pub output_format: TextOrJson,
}

/// Arguments of `keylint eval`.
#[derive(Debug, clap::Args)]
pub struct Eval {
    /// Python such as `uniform(key(0), (3,))`, or statements that end with an expression. `-` reads one per line from standard input.
    /// Without an expression, lines are read interactively, and each can use what the earlier ones defined.
    #[arg(value_name = "EXPR")]
    pub expressions: Vec<String>,
    /// The implementation of keys that do not name one.
    #[arg(long = "impl", value_name = "IMPL", default_value = "threefry2x32",
        value_parser = PossibleValuesParser::new(Implementation::ALL.map(Implementation::name)))]
    pub implementation: String,
    /// Draw as if `jax_threefry_partitionable` were off, the default before JAX 0.5.0.
    #[arg(long)]
    pub no_partitionable: bool,
    /// Compute as if `jax_enable_x64` were on.
    #[arg(long)]
    pub x64: bool,
    /// The format of the results; by default JSON for expressions from standard input, otherwise text.
    #[arg(long, value_enum, value_name = "FORMAT")]
    pub output_format: Option<TextOrJson>,
}

/// Arguments of `keylint config`.
#[derive(Debug, clap::Args)]
pub struct Config {
    /// The file or directory to show settings for.
    #[arg(default_value = ".")]
    pub path: PathBuf,
    #[command(flatten)]
    pub(super) selection: Selection,
}

/// Arguments of `keylint clean`.
#[derive(Debug, clap::Args)]
pub struct Clean {
    /// Files and directories whose caches are removed.
    #[arg(default_value = ".", value_name = "PATHS")]
    pub paths: Vec<PathBuf>,
    #[command(flatten)]
    pub(super) selection: Selection,
}

/// Arguments of `keylint why`.
#[derive(Debug, clap::Args)]
pub struct Why {
    /// The line to explain.
    #[arg(value_name = "FILE:[CELL:]LINE")]
    pub place: String,
    #[command(flatten)]
    pub(super) selection: Selection,
}

/// Arguments of `keylint graph`.
#[derive(Debug, clap::Args)]
pub struct Graph {
    /// The file, or one function in it by its qualified name or the end of it: `train.py::Trainer.step`.
    #[arg(value_name = "FILE[::FUNCTION]")]
    pub place: String,
    /// The format; by default chosen by the suffix of the output file, and `mermaid` on standard output.
    #[arg(long, value_enum, value_name = "FORMAT")]
    pub output_format: Option<GraphFormat>,
    /// Write the graph to this file instead of standard output (`-`).
    #[arg(short, long, default_value = "-", hide_default_value = true, value_name = "FILE")]
    pub output_file: PathBuf,
    #[command(flatten)]
    pub(super) selection: Selection,
}

impl ValueEnum for GraphFormat {
    fn value_variants<'a>() -> &'a [Self] {
        Self::ALL
    }

    fn to_possible_value(&self) -> Option<PossibleValue> {
        Some(PossibleValue::new(self.name()).help(self.about()))
    }
}

/// Arguments of `keylint dev`.
#[derive(Debug, clap::Args)]
pub struct Dev {
    /// What to show.
    #[command(subcommand)]
    pub what: DevCommand,
}

/// Views of the inside.
#[derive(Debug, Subcommand)]
pub enum DevCommand {
    /// The intermediate representation of a file.
    Ir {
        /// The file.
        file: PathBuf,
    },
    /// The facts that the analysis found in a file.
    Facts {
        /// The file.
        file: PathBuf,
    },
}

/// Arguments of `keylint completions`.
#[derive(Debug, clap::Args)]
pub struct Completions {
    /// The shell.
    pub shell: clap_complete::Shell,
}

fn level_parser() -> impl clap::builder::TypedValueParser<Value = Level> {
    use clap::builder::TypedValueParser as _;
    PossibleValuesParser::new(["note", "warning", "error"]).map(|name| match name.as_str() {
        "note" => Level::Note,
        "warning" => Level::Warning,
        _ => Level::Error,
    })
}

fn confidence_parser() -> impl clap::builder::TypedValueParser<Value = Confidence> {
    use clap::builder::TypedValueParser as _;
    PossibleValuesParser::new(["low", "medium", "high"]).map(|name| match name.as_str() {
        "low" => Confidence::Low,
        "medium" => Confidence::Medium,
        _ => Confidence::High,
    })
}
