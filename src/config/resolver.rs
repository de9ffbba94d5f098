//! Resolves layers of options into settings, once per directory.
//!
//! The nearest configuration file applies to a source file; files further up count only if it extends them. Inline options override the
//! file, and the command line overrides inline options.
//!
//! **Invariant:** within one run, the settings of a directory do not depend on the order of queries.

use std::collections::{BTreeMap, BTreeSet};
use std::io;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};

use super::error::ConfigError;
use super::jax_version::{self, JaxPin};
use super::layer::{Layer, Read};
use super::options::Options;
use super::patterns::{Patterns, absolute};
use super::run_settings::RunSettings;
use super::selector::{KnownRule, Selector};
use super::settings::{Fixable, PerFileIgnore, RuleSetting, Settings, Source};
use super::usual_files::{UsualFiles, usual};
use super::version;
use crate::finding::{Confidence, Level, RuleId};
use crate::models::roots::ROOTS;

/// The names of configuration files; earlier ones take precedence.
const FILE_NAMES: [&str; 3] = [".keylint.toml", "keylint.toml", "pyproject.toml"];

/// Files that mark the root of a project.
pub const PROJECT_MARKS: [&str; 6] =
    ["pyproject.toml", "keylint.toml", ".keylint.toml", "setup.py", "setup.cfg", ".git"];

/// The configuration on the command line.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct CommandLine {
    /// Read no configuration file (`--isolated`).
    pub isolated: bool,
    /// The values of `--config`: at most one path, and any number of inline `key = value`.
    pub config: Vec<String>,
    /// Options such as `--select`.
    pub options: Options,
    /// The names of the options that come from environment variables.
    pub variables: BTreeSet<String>,
    /// Whether suppression comments are ignored (`--ignore-noqa`).
    pub ignores_comments: bool,
}

/// Resolves the settings of source files.
#[derive(Debug)]
pub struct Resolver {
    cwd: PathBuf,
    /// The absolute paths of the run. An unmarked project consists of everything below such a folder.
    given: Vec<PathBuf>,
    rules: Vec<KnownRule>,
    isolated: bool,
    ignores_comments: bool,
    /// The file of `--config`, with those it extends, outermost first.
    explicit: Option<Vec<Layer>>,
    /// Inline options and the command line, weakest first.
    overrides: Vec<Layer>,
    cache: Mutex<Cache>,
    /// Warnings about configurations.
    warnings: Mutex<BTreeSet<String>>,
}

type Resolved = Result<Arc<Settings>, ConfigError>;

#[derive(Debug, Default)]
struct Cache {
    by_directory: BTreeMap<PathBuf, Resolved>,
    by_root: BTreeMap<PathBuf, Resolved>,
}

impl Resolver {
    /// A resolver for paths relative to the absolute directory `cwd`. Checks the options of the command line.
    pub fn new(cwd: &Path, rules: Vec<KnownRule>, command_line: CommandLine) -> Result<Self, ConfigError> {
        let mut explicit = None;
        let mut overrides = Vec::new();
        for written in &command_line.config {
            let path = absolute(cwd, Path::new(written));
            if !path.is_file() && written.contains('=') {
                overrides.push(Layer::inline(written, cwd)?);
            } else if command_line.isolated {
                return Err(ConfigError::of_file("--config", "a file cannot be combined with `--isolated`"));
            } else if explicit.is_some() {
                return Err(ConfigError::of_file("--config", "more than one configuration file was given"));
            } else {
                explicit = Some(read_required(&path)?);
            }
        }
        overrides.push(Layer::command_line(command_line.options, command_line.variables, cwd));
        let cache = Mutex::default();
        let resolver = Self {
            cwd: cwd.to_owned(),
            given: vec![cwd.to_owned()],
            rules,
            isolated: command_line.isolated,
            ignores_comments: command_line.ignores_comments,
            explicit,
            overrides,
            cache,
            warnings: Mutex::default(),
        };
        // An error on the command line must be reported even if no file is checked.
        resolver.compile(&[], cwd)?;
        Ok(resolver)
    }

    /// The same resolver for a run with these paths.
    #[must_use]
    pub fn of_paths<'p>(mut self, paths: impl IntoIterator<Item = &'p Path>) -> Self {
        self.given = paths.into_iter().map(|path| absolute(&self.cwd, path)).collect();
        self.cache = Mutex::default();
        self
    }

    /// The settings of the source file at `path`.
    pub fn for_file(&self, path: &Path) -> Result<Arc<Settings>, ConfigError> {
        let path = absolute(&self.cwd, path);
        self.for_directory(path.parent().unwrap_or(&self.cwd))
    }

    /// The settings of the source files directly in `dir`.
    pub fn for_directory(&self, dir: &Path) -> Resolved {
        let dir = absolute(&self.cwd, dir);
        if let Some(settings) = self.cached(&dir) {
            return settings;
        }
        let settings = self.resolve(&dir);
        self.cache.lock().unwrap_or_else(PoisonError::into_inner).by_directory.insert(dir, settings.clone());
        settings
    }

    fn cached(&self, dir: &Path) -> Option<Resolved> {
        self.cache.lock().unwrap_or_else(PoisonError::into_inner).by_directory.get(dir).cloned()
    }

    /// Settings depend only on the root, so all directories of a root share them.
    fn resolve(&self, dir: &Path) -> Resolved {
        let (layers, root) = self.locate(dir)?;
        let cached = self.cache.lock().unwrap_or_else(PoisonError::into_inner).by_root.get(&root).cloned();
        if let Some(settings) = cached {
            return settings;
        }
        let settings = self.compile(&layers, &root).map(Arc::new);
        self.cache.lock().unwrap_or_else(PoisonError::into_inner).by_root.insert(root, settings.clone());
        settings
    }

    /// The layers of the files that apply in `dir`, lowest precedence first, and their root.
    fn locate(&self, dir: &Path) -> Result<(Vec<Layer>, PathBuf), ConfigError> {
        if let Some(layers) = &self.explicit {
            return Ok((layers.clone(), self.root_of(dir).to_owned()));
        }
        if !self.isolated {
            for ancestor in dir.ancestors() {
                if let Some(layers) = self.nearest(ancestor)? {
                    return Ok((layers, ancestor.to_owned()));
                }
            }
        }
        Ok((Vec::new(), self.root_of(dir).to_owned()))
    }

    /// The configuration in a directory itself, with the files that it extends, lowest precedence first.
    fn nearest(&self, dir: &Path) -> Result<Option<Vec<Layer>>, ConfigError> {
        let mut used: Option<(&str, Layer)> = None;
        for name in FILE_NAMES {
            let path = dir.join(name);
            // Anything with this name counts as the configuration: a folder or a broken link must be reported.
            match std::fs::symlink_metadata(&path) {
                Ok(_) => {}
                Err(error) if matches!(error.kind(), io::ErrorKind::NotFound | io::ErrorKind::NotADirectory) => {
                    continue;
                }
                Err(error) => {
                    self.warn(format!("`{}` cannot be read and is ignored: {error}", path.display()));
                    continue;
                }
            }
            let Some((stronger, _)) = &used else {
                match Layer::read(&path)? {
                    Read::Ours(layer) => used = Some((name, *layer)),
                    Read::Foreign => {}
                    Read::Broken(why) => self.warn(format!("`{}` {why} and is ignored", path.display())),
                }
                continue;
            };
            if name != "pyproject.toml" || matches!(Layer::read(&path), Ok(Read::Ours(_))) {
                let stronger = dir.join(stronger);
                self.warn(format!("`{}` is ignored, because `{}` is used", path.display(), stronger.display()));
            }
        }
        used.map(|(_, layer)| with_extended(layer)).transpose()
    }

    fn warn(&self, warning: String) {
        self.warnings.lock().unwrap_or_else(PoisonError::into_inner).insert(warning);
    }

    /// The warnings about all configurations read so far; sorted.
    pub fn warnings(&self) -> Vec<String> {
        self.warnings.lock().unwrap_or_else(PoisonError::into_inner).iter().cloned().collect()
    }

    /// The root of the project that contains a directory, independently of any configuration file: the nearest marked directory; otherwise
    /// the folder from which Python would import the modules in the outermost given one, or else those in the directory.
    fn root_of<'d>(&self, dir: &'d Path) -> &'d Path {
        let marked = dir.ancestors().find(|dir| PROJECT_MARKS.iter().any(|mark| dir.join(mark).exists()));
        if let Some(marked) = marked {
            return marked;
        }
        let given = || dir.ancestors().filter(|dir| self.given.iter().any(|given| given == dir)).last();
        let from = given().unwrap_or(dir);
        let root = from.ancestors().find(|dir| !dir.join("__init__.py").exists()).unwrap_or(from);
        // Folders such as `tests` are parts of a project, not roots.
        root.ancestors().find(|dir| !UsualFiles::builtin().is_part(dir)).unwrap_or(root)
    }

    /// Resolves `layers`, lowest precedence first, and the overrides on top of them.
    fn compile(&self, layers: &[Layer], root: &Path) -> Result<Settings, ConfigError> {
        let layers: Vec<&Layer> = layers.iter().chain(&self.overrides).collect();
        let mut sources = BTreeMap::new();
        required_version(&layers)?;
        let roots = Self::roots(&layers, &mut sources);
        let jax_version = Self::jax_version(&layers, root, &roots, &mut sources)?;
        let last_models = last(&layers, "models", &mut sources, |options| options.models.as_ref());
        let baseline = last(&layers, "baseline", &mut sources, |options| options.baseline.as_ref());
        let cache_dir = last(&layers, "cache-dir", &mut sources, |options| options.cache_dir.as_ref());
        let min_level = last(&layers, "min-level", &mut sources, |options| options.min_level.as_ref());
        let min_confidence = last(&layers, "min-confidence", &mut sources, |options| options.min_confidence.as_ref());
        Ok(Settings {
            root: root.to_owned(),
            models: last_models
                .map(|(layer, models)| models.iter().map(|path| absolute(&layer.base, Path::new(path))).collect())
                .unwrap_or_default(),
            baseline: baseline.map(|(layer, path)| absolute(&layer.base, Path::new(path))),
            cache_dir: cache_dir.map(|(layer, path)| absolute(&layer.base, Path::new(path))),
            min_level: min_level.map_or(Level::Warning, |(_, level)| *level),
            min_confidence: min_confidence.map_or(Confidence::Medium, |(_, confidence)| *confidence),
            rules: self.rules(&layers, &mut sources)?,
            per_file_ignores: self.per_file_ignores(&layers, &mut sources)?,
            fixable: self.fixable(&layers, &mut sources)?,
            include: included(&layers, &mut sources)?,
            exclude: excludes(&layers, &mut sources)?,
            run: RunSettings::of(&layers, &mut sources),
            ignores_comments: self.ignores_comments,
            tests: tests(&layers, root, &mut sources)?,
            benchmarks: usual(root, "benchmarks", &UsualFiles::builtin().benchmarks)?,
            docs: usual(root, "docs", &UsualFiles::builtin().docs)?,
            cwd: self.cwd.clone(),
            roots,
            jax_version,
            sources,
        })
    }

    fn roots(layers: &[&Layer], sources: &mut BTreeMap<&'static str, Source>) -> Vec<String> {
        let mut roots: Vec<String> = ROOTS.map(str::to_owned).to_vec();
        if let Some((_, more)) = last(layers, "roots", sources, |options| options.roots.as_ref()) {
            let fresh: Vec<String> = more.iter().filter(|root| !roots.contains(root)).cloned().collect();
            roots.extend(fresh);
        }
        roots
    }

    fn jax_version(
        layers: &[&Layer],
        root: &Path,
        roots: &[String],
        sources: &mut BTreeMap<&'static str, Source>,
    ) -> Result<Option<JaxPin>, ConfigError> {
        if let Some((layer, written)) = last(layers, "jax-version", sources, |options| options.jax_version.as_ref()) {
            return JaxPin::parse(written).map(Some).ok_or_else(|| {
                let message = format!("`{written}` is not a version");
                layer.error_at("jax-version=", message, Some("write it as `0.4.35` or `<0.4`".to_owned()))
            });
        }
        // The pinned version is a property of the project, not of its configuration.
        Ok(jax_version::find(root, roots).map(|(pin, path)| {
            sources.insert("jax-version", Source::Lock(path));
            pin
        }))
    }

    fn selectors(&self, layer: &Layer, key: &str, list: Option<&Vec<String>>) -> Result<Vec<Selector>, ConfigError> {
        let list = list.map(Vec::as_slice).unwrap_or_default();
        list.iter()
            .enumerate()
            .map(|(index, written)| self.selector(layer, &format!("{key}[{index}]"), written))
            .collect()
    }

    fn selector(&self, layer: &Layer, key: &str, written: &str) -> Result<Selector, ConfigError> {
        Selector::parse(written, &self.rules).map_err(|near| {
            let help = near.map(|near| format!("did you mean `{near}`?"));
            let help = help.unwrap_or_else(|| "`keylint rule` lists the rules".to_owned());
            let message = if written.trim().is_empty() {
                "a rule is missing".to_owned()
            } else {
                format!("unknown rule `{written}`")
            };
            layer.error_at(key, message, Some(help))
        })
    }

    /// Which rules are enabled, and at which level. The last layer with `select` replaces the set; its `extend-select` and `ignore`,
    /// and those of later layers, then change the set, more specific selectors last.
    fn rules(
        &self,
        layers: &[&Layer],
        sources: &mut BTreeMap<&'static str, Source>,
    ) -> Result<BTreeMap<RuleId, RuleSetting>, ConfigError> {
        let setting = |rule: &KnownRule| RuleSetting { rule: *rule, enabled: !rule.opt_in, named: false, level: None };
        let mut rules: BTreeMap<_, _> = self.rules.iter().map(|rule| (rule.id, setting(rule))).collect();
        for layer in layers {
            let select = self.selectors(layer, "select", layer.options.select.as_ref())?;
            let extend = self.selectors(layer, "extend-select", layer.options.extend_select.as_ref())?;
            let mut ignore = self.selectors(layer, "ignore", layer.options.ignore.as_ref())?;
            ignore.extend(self.selectors(layer, "extend-ignore", layer.options.extend_ignore.as_ref())?);
            if layer.options.select.is_some() {
                for setting in rules.values_mut() {
                    setting.enabled = false;
                }
            }
            let on = select.iter().chain(&extend).map(|selector| (selector, true));
            let mut changes: Vec<(&Selector, bool)> =
                on.chain(ignore.iter().map(|selector| (selector, false))).collect();
            // The sort is stable: if both are equally specific, `ignore` comes after `select` and wins.
            changes.sort_by_key(|(selector, _)| selector.specificity());
            for (selector, enabled) in changes {
                let applies =
                    |rule: &KnownRule| if enabled { selector.enables(rule) } else { selector.covers(rule.id) };
                rules
                    .values_mut()
                    .filter(|setting| applies(&setting.rule))
                    .for_each(|setting| setting.enabled = enabled);
            }
            if matches!(layer.source_of("select"), Source::CommandLine | Source::Variable(_)) {
                for setting in rules.values_mut() {
                    setting.named = select.contains(&Selector::Rule(setting.rule.id));
                }
            }
            let mut levels = Vec::new();
            for (written, level) in layer.options.levels.iter().flatten() {
                levels.push((self.selector(layer, &format!("levels.{written}"), written)?, *level));
            }
            levels.sort_by_key(|(selector, _)| selector.specificity());
            for (selector, level) in levels {
                let covered = rules.values_mut().filter(|setting| selector.covers(setting.rule.id));
                covered.for_each(|setting| setting.level = Some(level));
            }
            let written = [
                ("select", layer.options.select.is_some()),
                ("extend-select", layer.options.extend_select.is_some()),
                ("ignore", layer.options.ignore.is_some()),
                ("extend-ignore", layer.options.extend_ignore.is_some()),
                ("levels", layer.options.levels.is_some()),
            ];
            for (key, _) in written.into_iter().filter(|(_, is_written)| *is_written) {
                sources.insert(key, layer.source_of(key));
            }
        }
        Ok(rules)
    }

    fn per_file_ignores(
        &self,
        layers: &[&Layer],
        sources: &mut BTreeMap<&'static str, Source>,
    ) -> Result<Vec<PerFileIgnore>, ConfigError> {
        let mut out = Vec::new();
        for layer in layers {
            let maps = [
                ("per-file-ignores", &layer.options.per_file_ignores),
                ("extend-per-file-ignores", &layer.options.extend_per_file_ignores),
            ];
            let written = maps.into_iter().flat_map(|(name, map)| map.iter().flatten().map(move |entry| (name, entry)));
            for (name, (written, selectors)) in written {
                let key = format!("{name}.{written}");
                let negated = written.starts_with('!');
                let pattern = written.strip_prefix('!').unwrap_or(written).to_owned();
                let pattern = Patterns::new(&layer.base, &[pattern])
                    .map_err(|(_, message)| layer.error_at(&key, malformed(&message), None))?;
                let selectors = self.selectors(layer, &key, Some(selectors))?;
                out.push(PerFileIgnore { pattern, negated, selectors });
                sources.insert("per-file-ignores", layer.source_of(name));
            }
        }
        Ok(out)
    }

    /// Which findings may be fixed: the last `fixable` minus the last `unfixable`, each with all additions.
    fn fixable(&self, layers: &[&Layer], sources: &mut BTreeMap<&'static str, Source>) -> Result<Fixable, ConfigError> {
        let mut fixable = Fixable { only: vec![Selector::All], never: Vec::new() };
        for layer in layers {
            let options = &layer.options;
            if options.fixable.is_some() {
                fixable.only = self.selectors(layer, "fixable", options.fixable.as_ref())?;
                sources.insert("fixable", layer.source_of("fixable"));
            }
            fixable.only.extend(self.selectors(layer, "extend-fixable", options.extend_fixable.as_ref())?);
            if options.unfixable.is_some() {
                fixable.never = self.selectors(layer, "unfixable", options.unfixable.as_ref())?;
                sources.insert("unfixable", layer.source_of("unfixable"));
            }
            fixable.never.extend(self.selectors(layer, "extend-unfixable", options.extend_unfixable.as_ref())?);
        }
        Ok(fixable)
    }
}

/// The layer of highest precedence that sets a key, with its value.
fn last<'a, T>(
    layers: &[&'a Layer],
    key: &'static str,
    sources: &mut BTreeMap<&'static str, Source>,
    get: impl Fn(&'a Options) -> Option<&'a T>,
) -> Option<(&'a Layer, &'a T)> {
    let found = layers.iter().rev().find_map(|layer| get(&layer.options).map(|value| (*layer, value)));
    sources.insert(key, found.map_or(Source::Default, |(layer, _)| layer.source_of(key)));
    found
}

/// Excludes accumulate: a file that extends another cannot re-include what the other excludes.
fn excludes(layers: &[&Layer], sources: &mut BTreeMap<&'static str, Source>) -> Result<Vec<Patterns>, ConfigError> {
    let mut out = Vec::new();
    sources.insert("exclude", Source::Default);
    for layer in layers {
        for (key, written) in [("exclude", &layer.options.exclude), ("extend-exclude", &layer.options.extend_exclude)] {
            if let Some(written) = written {
                out.push(patterns(layer, key, written)?);
                sources.insert("exclude", layer.source_of(key));
            }
        }
    }
    Ok(out)
}

/// The patterns of files to check, if they are configured.
fn included(
    layers: &[&Layer],
    sources: &mut BTreeMap<&'static str, Source>,
) -> Result<Option<Vec<Patterns>>, ConfigError> {
    let mut out: Option<Vec<Patterns>> = None;
    for layer in layers {
        if let Some(written) = &layer.options.include {
            out = Some(vec![patterns(layer, "include", written)?]);
            sources.insert("include", layer.source_of("include"));
        }
        if let Some(written) = &layer.options.extend_include {
            let more = patterns(layer, "extend-include", written)?;
            match &mut out {
                Some(out) => out.push(more),
                None => out = Some(vec![usual(&layer.base, "include", &UsualFiles::builtin().sources)?, more]),
            }
            sources.insert("include", layer.source_of("extend-include"));
        }
    }
    Ok(out)
}

/// Rejects a project that requires another version of keylint.
fn required_version(layers: &[&Layer]) -> Result<(), ConfigError> {
    for layer in layers {
        let Some(required) = &layer.options.required_version else { continue };
        let have = env!("CARGO_PKG_VERSION");
        let wrong = |message: String, help: &str| layer.error_at("required-version=", message, Some(help.to_owned()));
        match version::meets(have, required) {
            Ok(true) => {}
            Ok(false) => {
                let message = format!("this is keylint {have}, and `{required}` is required");
                return Err(wrong(message, "install a version that the project accepts"));
            }
            Err(message) => return Err(wrong(message, "write it as `0.1.0` or `>=0.1,<0.3`")),
        }
    }
    Ok(())
}

fn tests(
    layers: &[&Layer],
    root: &Path,
    sources: &mut BTreeMap<&'static str, Source>,
) -> Result<Patterns, ConfigError> {
    match last(layers, "tests", sources, |options| options.tests.as_ref()) {
        Some((layer, written)) => patterns(layer, "tests", written),
        None => usual(root, "tests", &UsualFiles::builtin().tests),
    }
}

fn patterns(layer: &Layer, key: &str, written: &[String]) -> Result<Patterns, ConfigError> {
    Patterns::new(&layer.base, written)
        .map_err(|(index, message)| layer.error_at(&format!("{key}[{index}]"), malformed(&message), None))
}

fn malformed(message: &str) -> String {
    format!("malformed pattern: {message}")
}

fn read_required(path: &Path) -> Result<Vec<Layer>, ConfigError> {
    match Layer::read(path)? {
        Read::Ours(layer) => with_extended(*layer),
        Read::Foreign => Err(ConfigError::of_file(path.display().to_string(), "has no `[tool.keylint]` table")),
        Read::Broken(why) => Err(ConfigError::of_file(path.display().to_string(), why)),
    }
}

/// Follows `extend` from `layer`; the result is ordered by precedence, lowest first.
fn with_extended(layer: Layer) -> Result<Vec<Layer>, ConfigError> {
    let mut chain = vec![layer];
    while let Some((current, written)) =
        chain.last().and_then(|layer| layer.options.extend.clone().map(|written| (layer, written)))
    {
        let path = absolute(&current.base, Path::new(&written));
        if chain.iter().any(|layer| layer.path() == Some(path.as_path())) {
            return Err(current.error_at("extend=", "the file extends itself, directly or through other files", None));
        }
        if !path.is_file() {
            let message = format!("`{}` is not a file", path.display());
            return Err(current.error_at("extend=", message, None));
        }
        let message = match Layer::read(&path)? {
            Read::Ours(next) => {
                chain.push(*next);
                continue;
            }
            Read::Foreign => "has no `[tool.keylint]` table",
            Read::Broken(why) => why,
        };
        return Err(current.error_at("extend=", format!("`{}` {message}", path.display()), None));
    }
    chain.reverse();
    Ok(chain)
}
