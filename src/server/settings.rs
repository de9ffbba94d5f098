//! The settings that the client sends.
//!
//! **Invariant:** an unknown or malformed setting is reported and otherwise ignored.

use std::collections::BTreeSet;
use std::path::Path;

use serde::de::DeserializeOwned;
use serde_json::{Map, Value};

use crate::config::{CommandLine, Options, suggest};

/// The names of all settings.
const NAMES: [&str; 12] = [
    "enable",
    "configuration",
    "select",
    "ignore",
    "extendSelect",
    "exclude",
    "minLevel",
    "minConfidence",
    "verify",
    "unsafeFixes",
    "ignoreReason",
    "inlayHints",
];

/// Settings of the client itself in the same section.
const OF_CLIENTS: [&str; 6] = ["path", "args", "trace", "importStrategy", "interpreter", "logLevel"];

/// The settings of one folder.
#[derive(Clone, Debug, PartialEq, Eq)]
#[expect(clippy::struct_excessive_bools, reason = "each is a setting of its own that is on or off")]
pub struct EditorSettings {
    /// Whether findings are reported at all.
    pub enable: bool,
    /// Overrides of the configuration, as on the command line.
    pub command_line: CommandLine,
    /// Whether findings are replayed.
    pub verify: bool,
    /// Whether fix-all applies unsafe fixes, as with `--unsafe-fixes`.
    pub unsafe_fixes: bool,
    /// The reason in comments that suppress a finding.
    pub ignore_reason: String,
    /// Whether inlay hints show where keys are consumed.
    pub inlay_hints: bool,
}

impl Default for EditorSettings {
    fn default() -> Self {
        Self {
            enable: true,
            command_line: CommandLine::default(),
            verify: true,
            unsafe_fixes: false,
            ignore_reason: "intended".to_owned(),
            inlay_hints: false,
        }
    }
}

impl EditorSettings {
    /// Reads settings; also returns their problems.
    pub fn read(written: &Map<String, Value>) -> (Self, Vec<String>) {
        let mut settings = Self::default();
        let mut reader = Reader { written, problems: Vec::new() };
        reader.check_names();
        let usual = settings.clone();
        settings.enable = reader.get("enable").unwrap_or(usual.enable);
        settings.verify = reader.get("verify").unwrap_or(usual.verify);
        settings.unsafe_fixes = reader.get("unsafeFixes").unwrap_or(usual.unsafe_fixes);
        settings.inlay_hints = reader.get("inlayHints").unwrap_or(usual.inlay_hints);
        if let Some(reason) = reader.get::<String>("ignoreReason") {
            if reason.contains(|character: char| character.is_control() || character == '#') {
                reader.problems.push("`ignoreReason` expects one line without `#`".to_owned());
            } else {
                reason.trim().clone_into(&mut settings.ignore_reason);
            }
        }
        settings.command_line = CommandLine {
            isolated: false,
            ignores_comments: false,
            variables: BTreeSet::new(),
            config: reader.configuration(),
            options: Options {
                select: reader.get("select"),
                ignore: reader.get("ignore"),
                extend_select: reader.get("extendSelect"),
                exclude: reader.get("exclude"),
                min_level: reader.get("minLevel"),
                min_confidence: reader.get("minConfidence"),
                ..Options::default()
            },
        };
        (settings, reader.problems)
    }
}

struct Reader<'a> {
    written: &'a Map<String, Value>,
    problems: Vec<String>,
}

impl Reader<'_> {
    fn check_names(&mut self) {
        for name in self.written.keys() {
            if !NAMES.contains(&name.as_str()) && !OF_CLIENTS.contains(&name.as_str()) {
                let hint =
                    suggest(name, NAMES).map(|similar| format!("; did you mean `{similar}`?")).unwrap_or_default();
                self.problems.push(format!("unknown setting `{name}`{hint}"));
            }
        }
    }

    /// A setting, unless it is absent, null or malformed.
    fn get<T: DeserializeOwned>(&mut self, name: &str) -> Option<T> {
        let value = self.written.get(name).filter(|value| !value.is_null())?;
        match serde_json::from_value(value.clone()) {
            Ok(value) => Some(value),
            Err(error) => {
                self.problems.push(format!("setting `{name}`: {error}"));
                None
            }
        }
    }

    /// A path of a configuration file, or options as a table: the values of `--config`.
    fn configuration(&mut self) -> Vec<String> {
        match self.written.get("configuration") {
            None | Some(Value::Null) => Vec::new(),
            Some(Value::String(path)) if path.is_empty() => Vec::new(),
            Some(Value::String(path)) => vec![path.clone()],
            Some(Value::Object(table)) => {
                let mut inline = Vec::new();
                for (key, value) in table {
                    match toml::Value::try_from(value) {
                        Ok(value) => inline.push(format!("{key} = {value}")),
                        Err(error) => self.problems.push(format!("setting `configuration.{key}`: {error}")),
                    }
                }
                inline
            }
            Some(_) => {
                self.problems.push("setting `configuration` expects a path or a table".to_owned());
                Vec::new()
            }
        }
    }
}

/// The settings of all folders, as received.
#[derive(Clone, Debug, Default)]
pub struct Written {
    /// For every folder.
    global: Map<String, Value>,
    /// For folders by URI, from `initialize`.
    by_folder: Vec<(String, Map<String, Value>)>,
    /// For folders by URI, or for all with an empty one, from `workspace/configuration`.
    configured: Vec<(String, Map<String, Value>)>,
}

impl Written {
    /// Reads `initializationOptions`: either the settings themselves, or objects with the keys `settings` and `globalSettings`. `settings` is
    /// an object, or a list in which each item names the URI of a folder.
    pub fn from_initialize(options: &Value) -> Self {
        let mut written = Self::default();
        let object = |value: &Value| value.as_object().cloned().unwrap_or_default();
        if options.get("settings").is_none() && options.get("globalSettings").is_none() {
            written.global = section(options);
            return written;
        }
        written.global = object(&options["globalSettings"]);
        match &options["settings"] {
            Value::Array(folders) => {
                for folder in folders {
                    let mut settings = object(folder);
                    let address = settings.remove("workspace").or_else(|| settings.remove("workspacePath"));
                    settings.remove("cwd");
                    if let Some(Value::String(address)) = address {
                        written.by_folder.push((address, settings));
                    }
                }
            }
            settings => written.global.extend(section(settings)),
        }
        written
    }

    /// Applies settings that a client pushes when they change; returns whether any of them is for keylint.
    pub fn replace_global(&mut self, settings: &Value) -> bool {
        let is_ours = |settings: &Map<String, Value>| {
            settings.contains_key("keylint") || settings.keys().any(|name| NAMES.contains(&name.as_str()))
        };
        let is_ours = settings.as_object().is_some_and(is_ours);
        if is_ours {
            self.global = section(settings);
        }
        is_ours
    }

    /// Applies the client's response for folders.
    pub fn replace_configured(&mut self, configured: Vec<(String, Value)>) {
        self.configured = configured.into_iter().map(|(address, settings)| (address, section(&settings))).collect();
    }

    /// The settings of a folder, the most specific last. In a response, `null` removes the value from `initialize`, and an empty URI means all
    /// folders.
    pub fn of(&self, is_folder: impl Fn(&str) -> bool) -> Map<String, Value> {
        let mut all = self.global.clone();
        let here = |(address, _): &&(String, Map<String, Value>)| !address.is_empty() && is_folder(address);
        let answers = self.configured.iter().filter(|(address, _)| address.is_empty());
        let initial = self.by_folder.iter().filter(here);
        let layers = answers.map(|layer| (layer, true)).chain(initial.map(|layer| (layer, false)));
        for ((_, settings), is_answer) in layers.chain(self.configured.iter().filter(here).map(|layer| (layer, true))) {
            for (name, value) in settings {
                if !value.is_null() {
                    all.insert(name.clone(), value.clone());
                } else if is_answer {
                    all.remove(name);
                }
            }
        }
        all
    }
}

/// The object with keylint's settings, whether or not it is below the key `keylint`.
fn section(settings: &Value) -> Map<String, Value> {
    let inner = settings.get("keylint").unwrap_or(settings);
    inner.as_object().cloned().unwrap_or_default()
}

/// A path in the settings, expanded: `~` is the home directory of the user.
pub(super) fn expanded(path: &str, home: Option<&Path>) -> String {
    match (path.strip_prefix("~/"), home) {
        (Some(rest), Some(home)) => home.join(rest).display().to_string(),
        _ => path.to_owned(),
    }
}
