//! One source of options: a configuration file, an inline `key = value`, or the command line.
//!
//! **Invariant:** a layer keeps the text of its options, so that an error found later (an unknown rule, a malformed pattern) can still
//! point at it.

use std::collections::{BTreeMap, BTreeSet};
use std::ops::Range;
use std::path::{Path, PathBuf};

use serde::Deserialize;
use toml::de::{DeTable, DeValue, Deserializer};

use super::error::ConfigError;
use super::options::Options;
use super::regular::read_regular;
use super::settings::Source;
use super::suggest::suggest;

/// Options and their source.
#[derive(Clone, Debug)]
pub(super) struct Layer {
    /// The source; [`Layer::source_of`] fills in rows.
    source: Source,
    /// The directory that paths and patterns are relative to.
    pub(super) base: PathBuf,
    /// The options.
    pub(super) options: Options,
    /// The file or option named in errors.
    origin: String,
    /// The text the options were written in.
    text: String,
    /// The bytes of each key and list element, by path: `select`, `select[0]`, `levels.KEY101`.
    spans: BTreeMap<String, Range<usize>>,
    /// The options that come from environment variables.
    variables: BTreeSet<String>,
}

/// The name of an option's environment variable.
pub fn variable(option: &str) -> String {
    format!("KEYLINT_{}", option.replace('-', "_").to_ascii_uppercase())
}

const NOT_UTF8: &str = "is not valid UTF-8";

/// The result of reading a configuration file.
pub(super) enum Read {
    /// Options of keylint.
    Ours(Box<Layer>),
    /// A `pyproject.toml` without a table for keylint.
    Foreign,
    /// A `pyproject.toml` that cannot be parsed, and apparently has no table for keylint: what is wrong with it.
    Broken(&'static str),
}

impl Layer {
    /// Reads a configuration file.
    pub(super) fn read(path: &Path) -> Result<Read, ConfigError> {
        let origin = path.display().to_string();
        let bytes =
            read_regular(path).map_err(|error| ConfigError::of_file(&origin, format!("cannot be read: {error}")))?;
        let is_pyproject = path.file_name().is_some_and(|name| name == "pyproject.toml");
        // An error in a project file that does not mention keylint does not end the run.
        let names_us = !is_pyproject || memchr::memmem::find(&bytes, b"keylint").is_some();
        let text = match String::from_utf8(bytes) {
            Ok(text) if names_us => text,
            Ok(text) if text.parse::<toml::Table>().is_err() => return Ok(Read::Broken("is not valid TOML")),
            Ok(_) => return Ok(Read::Foreign),
            // In UTF-16, the name `keylint` has null bytes between its letters.
            Err(error) if !names_us && !error.as_bytes().contains(&0) => return Ok(Read::Broken(NOT_UTF8)),
            Err(_) => return Err(ConfigError::of_file(origin, NOT_UTF8)),
        };
        let base = path.parent().map(Path::to_owned).unwrap_or_default();
        let source = Source::File { path: path.to_owned(), row: 0 };
        Ok(Self::parse(origin, text, is_pyproject, base, source)?
            .map_or(Read::Foreign, |layer| Read::Ours(Box::new(layer))))
    }

    /// Parses an inline `key = value` of `--config`.
    pub(super) fn inline(written: &str, cwd: &Path) -> Result<Self, ConfigError> {
        let source = Source::Inline;
        let layer = Self::parse("--config".to_owned(), quoted(written), false, cwd.to_owned(), source)?;
        let Some(layer) = layer else { return Err(ConfigError::of_file("--config", "is empty")) };
        match layer.options.extend {
            Some(_) => Err(layer.error_at("extend", "`extend` needs a file to be relative to", None)),
            None => Ok(layer),
        }
    }

    /// Options from the command line, or from their environment variables.
    pub(super) fn command_line(options: Options, variables: BTreeSet<String>, cwd: &Path) -> Self {
        let (mut text, mut spans) = (String::new(), BTreeMap::new());
        // Each value gets its own line, after its option, so that an error can point at it.
        let mut note = |key: String, lead: &str, value: &str| {
            let option = key.split(['.', '[']).next().unwrap_or_default();
            text.extend(["--", option, " ", lead]);
            let start = text.len();
            text.push_str(value);
            spans.insert(key, start..text.len());
            text.push('\n');
        };
        let lists = [
            ("select", &options.select),
            ("ignore", &options.ignore),
            ("extend-select", &options.extend_select),
            ("extend-ignore", &options.extend_ignore),
            ("fixable", &options.fixable),
            ("extend-fixable", &options.extend_fixable),
            ("unfixable", &options.unfixable),
            ("extend-unfixable", &options.extend_unfixable),
            ("exclude", &options.exclude),
            ("extend-exclude", &options.extend_exclude),
        ];
        for (key, list) in lists {
            for (index, value) in list.iter().flatten().enumerate() {
                note(format!("{key}[{index}]"), "", value);
            }
        }
        let maps = [
            ("per-file-ignores", &options.per_file_ignores),
            ("extend-per-file-ignores", &options.extend_per_file_ignores),
        ];
        for (key, map) in maps {
            for (glob, selectors) in map.iter().flatten() {
                note(format!("{key}.{glob}"), "", glob);
                for (index, value) in selectors.iter().enumerate() {
                    note(format!("{key}.{glob}[{index}]"), &format!("{glob}:"), value);
                }
            }
        }
        let origin = "command line".to_owned();
        Self { source: Source::CommandLine, base: cwd.to_owned(), options, origin, text, spans, variables }
    }

    fn parse(
        origin: String,
        text: String,
        is_pyproject: bool,
        base: PathBuf,
        source: Source,
    ) -> Result<Option<Self>, ConfigError> {
        let fail = |error: &toml::de::Error| {
            let (message, help) = reword(error.message());
            ConfigError { origin: origin.clone(), text: text.clone(), span: error.span(), message, help }
        };
        let document = DeTable::parse(&text).map_err(|error| fail(&error))?;
        let ours = if is_pyproject {
            let tool = document.into_inner().remove("tool").map(toml::Spanned::into_inner);
            let Some(DeValue::Table(mut tool)) = tool else { return Ok(None) };
            let Some(ours) = tool.remove("keylint") else { return Ok(None) };
            let span = ours.span();
            let DeValue::Table(table) = ours.into_inner() else {
                let message = "`tool.keylint` must be a table".to_owned();
                return Err(ConfigError { origin, text, span: Some(span), message, help: None });
            };
            toml::Spanned::new(span, table)
        } else {
            document
        };
        let mut spans = BTreeMap::new();
        collect_spans("", ours.get_ref(), &mut spans);
        let options = Options::deserialize(Deserializer::from(ours)).map_err(|error| fail(&error))?;
        Ok(Some(Self { source, base, options, origin, text, spans, variables: BTreeSet::new() }))
    }

    /// The error at `key`, a path such as `select[0]`.
    pub(super) fn error_at(&self, key: &str, message: impl Into<String>, help: Option<String>) -> ConfigError {
        if let Some(origin) = self.variable_of(key) {
            let value = self.spans.get(key).and_then(|span| self.text.get(span.clone())).unwrap_or_default();
            let span = Some(0..value.len());
            return ConfigError { origin, text: value.to_owned(), span, message: message.into(), help };
        }
        ConfigError {
            origin: self.origin.clone(),
            text: self.text.clone(),
            span: self.spans.get(key).cloned(),
            message: message.into(),
            help,
        }
    }

    /// The environment variable that the value of `key` comes from, if any.
    fn variable_of(&self, key: &str) -> Option<String> {
        let option = key.split(['[', '.', '=']).next()?;
        self.variables.contains(option).then(|| variable(option))
    }

    /// The source of the value of `key`.
    pub(super) fn source_of(&self, key: &str) -> Source {
        if let Some(name) = self.variable_of(key) {
            return Source::Variable(name);
        }
        match &self.source {
            Source::File { path, .. } => {
                let start = self.spans.get(key).map_or(0, |span| span.start);
                let row = self.text.get(..start).unwrap_or_default().matches('\n').count() + 1;
                Source::File { path: path.clone(), row }
            }
            other => other.clone(),
        }
    }

    /// The file from which the layer was read.
    pub(super) fn path(&self) -> Option<&Path> {
        match &self.source {
            Source::File { path, .. } => Some(path),
            _ => None,
        }
    }
}

/// Adds quotes around a bare word in `key = value`, because shells remove them.
fn quoted(written: &str) -> String {
    let Some((key, value)) = written.split_once('=') else { return written.to_owned() };
    let value = value.trim();
    let is_word = value.starts_with(|first: char| first.is_ascii_alphabetic() || matches!(first, '.' | '/' | '~'))
        && value.chars().all(|letter| letter.is_alphanumeric() || matches!(letter, '-' | '_' | '.' | '/' | '~'))
        && !matches!(value, "true" | "false" | "inf" | "nan");
    if is_word { format!("{key}=\"{value}\"") } else { written.to_owned() }
}

fn collect_spans(prefix: &str, table: &DeTable<'_>, spans: &mut BTreeMap<String, Range<usize>>) {
    for (key, value) in table {
        let dot = if prefix.is_empty() { "" } else { "." };
        let path = format!("{prefix}{dot}{}", key.get_ref());
        spans.insert(path.clone(), key.span());
        match value.get_ref() {
            DeValue::Table(inner) => collect_spans(&path, inner, spans),
            DeValue::Array(items) => {
                for (index, item) in items.iter().enumerate() {
                    spans.insert(format!("{path}[{index}]"), item.span());
                }
            }
            _ => {
                spans.insert(format!("{path}="), value.span());
            }
        }
    }
}

/// Rewords serde's message in keylint's style, with a suggestion instead of a list of all accepted values.
fn reword(message: &str) -> (String, Option<String>) {
    let first_line = message.lines().next().unwrap_or_default();
    for (theirs, ours) in [("unknown field `", "unknown key"), ("unknown variant `", "unknown value")] {
        let Some(rest) = first_line.strip_prefix(theirs) else { continue };
        let Some((written, rest)) = rest.split_once('`') else { continue };
        let accepted: Vec<&str> = rest.split('`').skip(1).step_by(2).collect();
        let help = match suggest(written, accepted.iter().copied()) {
            Some(near) => format!("did you mean `{near}`?"),
            None => format!("expected one of {}", accepted.join(", ")),
        };
        return (format!("{ours} `{written}`"), Some(help));
    }
    if let Some(found) = first_line.strip_prefix("invalid type: ")
        && let Some((found, expected)) = found.split_once(", expected ")
    {
        let expected = expected.replace("a sequence", "a list").replace("a map", "a table");
        let written = found.strip_prefix("string ").filter(|_| expected == "a list");
        let help = written.map(|written| format!("write a list: `[{written}]`"));
        return (format!("expected {expected}, not {found}"), help);
    }
    (first_line.to_owned(), None)
}
