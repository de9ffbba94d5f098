//! Reading a model file: TOML to checked rows.
//!
//! **Invariant:** reading does no I/O and cannot fail: it returns models or every problem found, each with its
//! position. A row is checked alone, so that one bad row does not hide the problems of the next.

use std::mem::take;
use std::ops::Range;
use std::sync::Arc;

use serde::de::DeserializeOwned;
use toml::Spanned;
use toml::de::{DeTable, DeValue, ValueDeserializer};

use super::array_objects::{RawArrayObject, RawProtocolNames};
use super::implementations::Implementation;
use super::lookup::{Models, prefixes};
use super::objects::{Annotation, Class, Construct, DrawsBy, Protocol, Yield};
use super::raw::{ConstructName, OneOrMany, RawAlias, RawCallable, RawClass};
use super::schema::{Callable, Effect, Library, Param, ParamKind};
use super::typed::RawTyped;
use crate::text::Span;

/// Something wrong in a model file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Problem {
    /// The file, as named by the caller.
    pub origin: String,
    /// Where in its text.
    pub span: Span,
    /// Row of the start, from 1.
    pub row: usize,
    /// Column of the start in characters, from 1.
    pub column: usize,
    /// What is wrong: lower case, no full stop.
    pub message: String,
}

impl std::fmt::Display for Problem {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{}:{}:{}: {}", self.origin, self.row, self.column, self.message)
    }
}

impl Models {
    /// Reads the text of a model file; `origin` names it in problems.
    pub fn parse(text: &str, origin: &str) -> Result<Self, Vec<Problem>> {
        let mut reader = Reader { text, origin, problems: Vec::new(), models: Self::default() };
        reader.file();
        if reader.problems.is_empty() {
            return Ok(reader.models);
        }
        reader.problems.sort_by(|left, right| (left.span, &left.message).cmp(&(right.span, &right.message)));
        Err(reader.problems)
    }
}

pub(super) struct Reader<'t> {
    text: &'t str,
    origin: &'t str,
    pub(super) problems: Vec<Problem>,
    pub(super) models: Models,
}

/// One row: its position and the positions of its fields.
pub(super) struct Row {
    pub(super) span: Range<usize>,
    pub(super) fields: Vec<(String, Range<usize>)>,
}

impl Row {
    pub(super) fn field(&self, name: &str) -> Range<usize> {
        let found = self.fields.iter().find(|(field, _)| field == name);
        found.map_or_else(|| self.span.clone(), |(_, span)| span.clone())
    }
}

impl<'t> Reader<'t> {
    fn file(&mut self) {
        let (document, errors) = DeTable::parse_recoverable(self.text);
        for error in &errors {
            self.problem(error.span().unwrap_or(0..0), error.message().to_owned());
        }
        if !errors.is_empty() {
            return;
        }
        for (key, value) in document.into_inner() {
            let span = key.span();
            match key.into_inner().as_ref() {
                "library" if value.get_ref().is_table() => {
                    if let Some((row, raw)) = self.row(value) {
                        self.library(&row, raw);
                    }
                }
                "library" => self.rows(value, span, Self::library),
                "words" => {
                    if let Some((_, words)) = self.row(value) {
                        self.models.words.merge(words);
                    }
                }
                "implementation" => {
                    self.rows(value, span, |reader, _, row: Implementation| reader.models.implementations.push(row));
                }
                "global-implementation" => {
                    if let Some((_, choice)) = self.row(value) {
                        self.models.choice = choice;
                    }
                }
                "alias" => self.rows(value, span, Self::alias),
                "callable" => self.rows(value, span, |reader, row, raw| reader.callable(row, raw, true)),
                "namespace" => self.rows(value, span, |reader, row, raw| reader.callable(row, raw, false)),
                "class" => self.rows(value, span, Self::class),
                "annotation" => self.rows(value, span, Self::annotation),
                "protocol" => self.rows(value, span, Self::protocol),
                "equivalent" => self.rows(value, span, Self::equivalent),
                "typed" => self.rows(value, span, Self::typed),
                "reported" => self.rows(value, span, Self::reported),
                "array-object" => self.rows(value, span, |reader, row, raw| reader.array_object(row, &raw)),
                "array-protocol" => {
                    if let Some((_, names)) = self.row::<RawProtocolNames>(value) {
                        self.models.array_protocol.extend(names.into_patterns());
                    }
                }
                other => self.problem(
                    span,
                    format!(
                        "unknown table `{other}`, expected one of `library`, `alias`, `callable`, `namespace`, \
                         `class`, `annotation`, `protocol`, `typed`, `equivalent`, `reported`, `array-object`, `array-protocol`, `implementation`, \
                         `global-implementation`, `words`"
                    ),
                ),
            }
        }
    }

    fn rows<T: DeserializeOwned>(
        &mut self,
        value: Spanned<DeValue<'t>>,
        key: Range<usize>,
        mut take: impl FnMut(&mut Self, &Row, T),
    ) {
        match value.into_inner() {
            DeValue::Array(rows) => {
                for value in rows {
                    if let Some((row, raw)) = self.row::<T>(value) {
                        take(self, &row, raw);
                    }
                }
            }
            other => self.problem(key, format!("expected an array of tables, found {}", other.type_str())),
        }
    }

    fn row<T: DeserializeOwned>(&mut self, value: Spanned<DeValue<'t>>) -> Option<(Row, T)> {
        let span = value.span();
        let fields = value.get_ref().as_table().map_or_else(Vec::new, |table| {
            table.iter().map(|(key, _)| (key.get_ref().to_string(), key.span())).collect()
        });
        let deserializer = ValueDeserializer::from(value);
        match T::deserialize(deserializer) {
            Ok(raw) => Some((Row { span, fields }, raw)),
            Err(error) => {
                self.problem(error.span().unwrap_or(span), error.message().to_owned());
                None
            }
        }
    }

    pub(super) fn problem(&mut self, span: Range<usize>, message: String) {
        let start = span.start.min(self.text.len());
        let before = self.text.get(..start).unwrap_or(self.text);
        let line = before.rfind('\n').map_or(0, |at| at + 1);
        self.problems.push(Problem {
            origin: self.origin.to_owned(),
            span: Span::new(offset(start), offset(span.end)),
            row: before.matches('\n').count() + 1,
            column: before[line..].chars().count() + 1,
            message,
        });
    }

    pub(super) fn paths(&mut self, row: &Row, path: Option<String>, paths: Vec<String>) -> Vec<String> {
        let all: Vec<String> = path.into_iter().filter(|path| !path.is_empty()).chain(paths).collect();
        if all.is_empty() {
            self.problem(row.span.clone(), "a row needs `path` or `paths`".to_owned());
        }
        for path in &all {
            self.dotted(row, path);
            self.root(path);
        }
        all
    }

    /// Adds what a row says of each of its paths; `add` returns whether another row has said it.
    pub(super) fn add(&mut self, row: &Row, paths: Vec<String>, mut add: impl FnMut(&mut Models, String) -> bool) {
        for path in paths {
            if add(&mut self.models, path.clone()) {
                self.problem(row.span.clone(), format!("`{path}` has two rows"));
            }
        }
    }

    /// Checks that a field is a version.
    pub(super) fn version(&mut self, row: &Row, field: &str, text: &str) {
        if !is_version(text) {
            self.problem(row.field(field), "expected a version such as `0.4.16`".to_owned());
        }
    }

    fn dotted(&mut self, row: &Row, path: &str) {
        let segment = |segment: &str| {
            segment.chars().next().is_some_and(|first| first == '_' || first.is_alphabetic())
                && segment.chars().all(|rest| rest == '_' || rest.is_alphanumeric())
        };
        if !path.split('.').all(segment) {
            self.problem(row.span.clone(), format!("`{path}` is not a dotted name"));
        }
    }

    fn root(&mut self, path: &str) {
        let root = path.split('.').next().unwrap_or(path);
        if !self.models.roots.contains(root) {
            self.models.roots.insert(root.to_owned());
        }
        let named = Arc::make_mut(&mut self.models.named);
        for around in std::iter::once(path).chain(prefixes(path)) {
            if !named.insert(around.to_owned()) {
                break;
            }
        }
    }

    fn library(&mut self, row: &Row, mut library: Library) {
        self.dotted(row, &library.name);
        self.models.modules.extend(take(&mut library.modules));
        self.models.libraries.push(library);
    }

    fn alias(&mut self, row: &Row, raw: RawAlias) {
        self.dotted(row, &raw.to);
        for from in raw.from.into_vec() {
            self.dotted(row, &from);
            self.root(&from);
            if self.models.aliases.insert(from.clone(), raw.to.clone()).is_some() {
                self.problem(row.field("from"), format!("`{from}` has two aliases"));
            }
        }
    }

    fn callable(&mut self, row: &Row, raw: RawCallable, exact: bool) {
        let paths = self.paths(row, raw.path.clone(), raw.paths.clone());
        let params = self.params(row, &raw.params);
        // A sampler's shape is that of its result, whether a row lists it or not; along an axis it takes the place of one.
        let has = |name: &str| params.iter().any(|param| param.name == name);
        let is_shaped = raw.effect == super::raw::EffectName::Sample && has("shape") && !has("axis");
        let lengths = raw.lengths.clone().or_else(|| is_shaped.then(|| "shape".to_owned()));
        let named =
            lengths.iter().map(|name| ("lengths", name)).chain(raw.seeded_by.iter().map(|name| ("seeded-by", name)));
        for (field, name) in
            named.chain(raw.patterns.iter().map(|name| ("patterns", name))).filter(|(_, name)| !has(name))
        {
            self.problem(row.field(field), format!("`{name}` is not among `params`"));
        }
        for (version, field) in [(&raw.since, "since"), (&raw.removed, "removed")] {
            if let Some(version) = version {
                self.version(row, field, version);
            }
        }
        let Some(effect) = self.effect(row, raw.clone(), &params, exact) else { return };
        let model = Callable {
            path: String::new(),
            params,
            effect: Effect::Observe,
            lengths,
            structure: raw.structure,
            patterns: raw.patterns,
            writes: raw.writes,
            by_lane: raw.by_lane,
            host: raw.host,
            seeded_by: raw.seeded_by,
            exact,
            since: raw.since,
            removed: raw.removed,
        };
        self.add(row, paths, |models, path| {
            let effect = match &effect {
                Effect::Factory { makes } => {
                    Effect::Factory { makes: Box::new(Callable { path: format!("{path}()"), ..(**makes).clone() }) }
                }
                Effect::Prelude { definition } if definition.is_empty() => {
                    Effect::Prelude { definition: path.as_str().into() }
                }
                other => other.clone(),
            };
            let rows = if exact { &mut models.callables } else { &mut models.namespaces };
            rows.insert(path.clone(), Callable { path, effect, ..model.clone() }).is_some()
        });
    }

    pub(super) fn params(&mut self, row: &Row, written: &[String]) -> Vec<Param> {
        let mut params: Vec<Param> = Vec::with_capacity(written.len());
        let mut kind = ParamKind::Positional;
        for entry in written {
            if entry == "*" {
                kind = ParamKind::KeywordOnly;
                continue;
            }
            let (name, this) = if let Some(name) = entry.strip_prefix("**") {
                (name, ParamKind::KeywordRest)
            } else if let Some(name) = entry.strip_prefix('*') {
                kind = ParamKind::KeywordOnly;
                (name, ParamKind::Rest)
            } else {
                (entry.as_str(), kind)
            };
            if params.iter().any(|param| param.name == name) {
                self.problem(row.field("params"), format!("the parameter `{name}` is listed twice"));
            }
            params.push(Param { name: name.to_owned(), kind: this });
        }
        params
    }

    fn class(&mut self, row: &Row, raw: RawClass) {
        let paths = self.paths(row, raw.path, raw.paths);
        let params = self.params(row, &raw.params);
        let allowed: &[&str] = match raw.construct {
            ConstructName::Stream => &["seeds", "splits", "lifted", "call", "next", "items", "methods", "otherwise"],
            ConstructName::Record => &["frozen", "sequence", "fields", "forward", "makers"],
            ConstructName::Plain => &["consumes"],
        };
        for (field, span) in &row.fields {
            let common = ["path", "paths", "params", "construct"];
            if !common.contains(&field.as_str()) && !allowed.contains(&field.as_str()) {
                self.problem(span.clone(), format!("`{field}` has no meaning for this construct"));
            }
        }
        let names = |names: Option<OneOrMany>| -> Vec<String> {
            let names = names.map_or_else(Vec::new, OneOrMany::into_vec);
            names.iter().map(|name| name.trim_start_matches('*').to_owned()).collect()
        };
        let construct = match raw.construct {
            ConstructName::Stream => Construct::Stream {
                seeds: names(raw.seeds),
                splits: raw.splits.unwrap_or(false),
                lifted: raw.lifted.unwrap_or(false),
                call: raw.call.unwrap_or(Yield::Unknown),
                next: raw.next.unwrap_or(Yield::Unknown),
                items: raw.items.or(raw.next).unwrap_or(Yield::Unknown),
                methods: raw.methods.unwrap_or_default().into_iter().collect(),
                otherwise: raw.otherwise.unwrap_or(Yield::Unknown),
            },
            ConstructName::Record => Construct::Record {
                frozen: raw.frozen.unwrap_or(false),
                sequence: raw.sequence.unwrap_or(false),
                fields: names(raw.fields),
            },
            ConstructName::Plain => Construct::Plain { consumes: names(raw.consumes) },
        };
        let (Construct::Stream { seeds: named, .. }
        | Construct::Plain { consumes: named }
        | Construct::Record { fields: named, .. }) = &construct;
        for name in named {
            if !params.iter().any(|param| &param.name == name) {
                self.problem(row.span.clone(), format!("`{name}` is not among `params`"));
            }
        }
        let makers = names(raw.makers);
        let class = Class { path: String::new(), params, construct, forward: raw.forward, makers };
        self.add(row, paths, |models, path| {
            models.classes.insert(path.clone(), Class { path, ..class.clone() }).is_some()
        });
    }

    fn annotation(&mut self, row: &Row, mut raw: Annotation) {
        let paths = self.paths(row, Some(take(&mut raw.path)), take(&mut raw.paths));
        self.add(row, paths, |models, path| {
            models.annotations.insert(path.clone(), Annotation { path, ..raw.clone() }).is_some()
        });
    }

    #[expect(clippy::needless_pass_by_value, reason = "rows are passed whole")]
    fn typed(&mut self, row: &Row, raw: RawTyped) {
        let paths = self.paths(row, raw.path.clone(), raw.paths.clone());
        self.add(row, paths, |models, path| models.typed.insert(path.clone(), raw.of(path)).is_some());
    }

    fn array_object(&mut self, row: &Row, raw: &RawArrayObject) {
        if raw.is_empty() {
            self.problem(row.span.clone(), "a row needs `takes` or `registers`".to_owned());
        }
        for (field, version) in raw.versions() {
            self.version(row, field, version);
        }
        let paths = self.paths(row, raw.path.clone(), raw.paths.clone());
        self.add(row, paths, |models, path| models.array_objects.insert(path.clone(), raw.of(path)).is_some());
    }

    fn protocol(&mut self, row: &Row, mut raw: Protocol) {
        if raw.libraries.is_empty() {
            self.problem(row.field("libraries"), "a protocol needs at least one library".to_owned());
        }
        if raw.initialiser_suffix.is_some() && raw.draws_by.is_empty() {
            let message = "`initialiser-suffix` has no meaning without `draws-by`".to_owned();
            self.problem(row.field("initialiser-suffix"), message);
        }
        for (path, names) in &raw.draws_by {
            self.dotted(row, path);
            self.root(path);
            let draws_by = DrawsBy { drawing: names.clone(), suffix: raw.initialiser_suffix.clone() };
            if self.models.draws_by.insert(path.clone(), draws_by).is_some() {
                self.problem(row.field("draws-by"), format!("`{path}` appears twice"));
            }
        }
        if raw.submodules.is_some() && !raw.folds_path {
            self.problem(row.field("submodules"), "`submodules` has no meaning without `folds-path`".to_owned());
        }
        if let Some(submodules) = &raw.submodules {
            let made_in = |library: &String| (library.clone(), submodules.made_in.clone());
            self.models.made_in.extend(raw.libraries.iter().map(made_in));
        }
        let (methods, mut dropped) = (take(&mut raw.methods), take(&mut raw.dropped));
        if let Some(method) = dropped.keys().find(|method| !methods.contains(method)) {
            self.problem(row.field("dropped-streams"), format!("`{method}` is no method of this row"));
        }
        for method in methods {
            let dropped_streams = dropped.remove(&method).unwrap_or_default();
            let protocol = Protocol { method: method.clone(), dropped_streams, ..raw.clone() };
            // `train=False` may as well choose the data to draw from.
            let quiet = protocol.no_draw_when.iter().filter(|(_, wanted)| **wanted);
            self.models.quiet_flags.extend(quiet.map(|(flag, wanted)| (flag.clone(), *wanted)));
            self.models.protocols.entry(method).or_default().push(protocol);
        }
    }
}

fn is_version(text: &str) -> bool {
    text.split('.').all(|part| !part.is_empty() && part.bytes().all(|byte| byte.is_ascii_digit()))
}

/// Offsets of texts beyond four gigabytes are clamped; such a file is not a model file.
fn offset(at: usize) -> u32 {
    u32::try_from(at).unwrap_or(u32::MAX)
}
