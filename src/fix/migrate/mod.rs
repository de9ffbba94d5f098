//! From raw keys to typed ones: the edits of one file, for `keylint migrate`.
//!
//! Constructors and annotations are rewritten by name. Code that tests the shape or dtype of a key is rewritten for typed keys. All other
//! code that needs the words gets `key_data`: the value is then the same array as before, so the code after it is unaffected.
//!
//! **Invariant:** only values that the analysis knows to be keys are changed; edits refer to the file before the migration, and do not
//! overlap.

mod annotations;
mod constructors;
mod declared;
mod raw_words;
mod shapes;
mod uses;

use std::collections::{BTreeMap, BTreeSet};

use super::context::FixContext;
use super::jax;
use super::names::Names;
use super::tree;
use super::typed;
use super::typed_uses::{KnownKey, is_key, maker};
use crate::python::ast::{self, Expr, Stmt};
use crate::python::span_of;
use crate::text::{Edit, Span};

/// What an edit is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Change {
    /// A constructor of keys, or its import.
    Constructor,
    /// An annotation, or its import.
    Annotation,
    /// A test of the shape or dtype of a key.
    Shape,
    /// `key_data`, where words are needed.
    Words,
}

/// A place that a person should review.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Remark {
    /// Where.
    pub span: Span,
    /// Why: a sentence without its full stop.
    pub reason: String,
}

/// The migration of one file.
#[derive(Clone, Debug, Default)]
pub struct FileMigration {
    /// The edits, sorted.
    pub edits: Vec<Edit>,
    /// How many places were changed, by the kind of change.
    pub changes: BTreeMap<Change, usize>,
    /// Places that were left unchanged, or that now use key data.
    pub remarks: BTreeSet<Remark>,
    /// The places that change other than in annotations: their draws are replayed.
    pub places: Vec<Span>,
    /// Expressions whose tests of a shape were rewritten for typed keys.
    pub asked: BTreeSet<Span>,
    /// Whether a constructor of raw keys remains.
    pub keeps_constructors: bool,
}

/// What is done with a key's words at a place.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct WordUse {
    /// Where.
    pub span: Span,
    /// Why a person should review the place, if they should.
    pub review: Option<&'static str>,
    /// Whether it is a key only if a particular caller runs the function.
    pub is_called: bool,
}

/// What is known about a file before it is migrated.
#[derive(Clone, Copy)]
pub struct RawFile<'k> {
    /// The keys that the analysis knows.
    pub held: &'k [KnownKey],
    /// Where words are used.
    pub words: &'k [WordUse],
    /// The constructors of raw keys.
    pub made: &'k [Span],
    /// The names that other modules import from it; `*` stands for all.
    pub exported: &'k BTreeSet<String>,
    /// The kinds of keys that may reach it.
    pub mix: KeyRepresentation,
}

/// The kinds of keys that may reach a file once the project is migrated.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum KeyRepresentation {
    /// Typed keys: shapes are taken from them.
    Typed,
    /// Some stay raw: shapes are taken from the words.
    Either,
    /// There were no raw keys before either: only names change.
    Known,
    /// No code makes keys, of either kind: what is written for raw keys takes their words.
    Unseen,
}

/// The edits of a file.
pub fn migrate(cx: &FixContext<'_>, raw: RawFile<'_>) -> FileMigration {
    let RawFile { held, words, made, exported, mix } = raw;
    let is_raw_project = matches!(mix, KeyRepresentation::Typed | KeyRepresentation::Either);
    let stays_raw = mix == KeyRepresentation::Either;
    let seen: BTreeSet<Span> = held.iter().map(|one| one.span).collect();
    let mut known: BTreeMap<Span, Vec<KnownKey>> = BTreeMap::new();
    for one in held.iter().filter(|_| is_raw_project) {
        known.entry(one.span).or_default().push(*one);
    }
    let done = FileMigration::default();
    let mut writer = Writer { cx, known, held: seen, mix, stays_raw, exported, done, import: None };
    constructors::rewrite(&mut writer, made);
    let declared = annotations::rewrite(&mut writer);
    for expr in tree::expressions(cx.module) {
        uses::rewrite(&mut writer, expr);
    }
    for word in words.iter().filter(|_| mix != KeyRepresentation::Known) {
        writer.take_words(word);
    }
    if mix == KeyRepresentation::Typed {
        raw_words::rewrite(&mut writer);
    }
    declared::check(&mut writer, &declared);
    writer.done
}

/// Adds `key_data` where the analysis of the migrated file finds that words are needed; returns whether the key
/// expression was found at all of these places. Places refer to the original file.
pub fn take_more(cx: &FixContext<'_>, done: &mut FileMigration, words: &[WordUse]) -> bool {
    let (known, exported) = (BTreeMap::new(), &BTreeSet::new());
    let (held, mix, done_before) = (BTreeSet::new(), KeyRepresentation::Typed, std::mem::take(done));
    let mut writer = Writer { cx, known, held, mix, stays_raw: false, exported, done: done_before, import: None };
    let without = words.iter().filter(|word| !writer.take_words(word)).count();
    *done = writer.done;
    without == 0
}

/// Where a place of the migrated file was before; `None` within text that the edits wrote.
pub fn place_before(span: Span, edits: &[Edit]) -> Option<Span> {
    Some(Span::new(typed::before(span.start, edits)?, typed::before(span.end, edits)?))
}

/// The edits of a file while they are collected.
struct Writer<'b, 'a> {
    cx: &'b FixContext<'a>,
    known: BTreeMap<Span, Vec<KnownKey>>,
    /// The places of all keys that the analysis knows, whatever their kind.
    held: BTreeSet<Span>,
    mix: KeyRepresentation,
    stays_raw: bool,
    exported: &'b BTreeSet<String>,
    done: FileMigration,
    /// The import of the package that was added, and the name that it has.
    import: Option<String>,
}

impl Writer<'_, '_> {
    /// What the analysis knows about an expression: `None` if it is not a key, or is already a typed one.
    fn key(&self, expr: &Expr) -> Option<Known> {
        let known = self.known_at(span_of(expr))?;
        Some(Known { is_called: known.is_called && !is_key(self.cx, expr), ..known })
    }

    fn known_at(&self, span: Span) -> Option<Known> {
        let known = self.known.get(&span)?;
        let is_typed = known.iter().any(|one| one.is_typed);
        let is_called = known.iter().all(|one| one.is_called);
        (!is_typed).then(|| Known { is_array: known.iter().all(|one| one.is_array), is_called })
    }

    /// Adds edits that belong together, unless they overlap others; returns whether it did.
    fn add(&mut self, change: Change, edits: Vec<Edit>) -> bool {
        let count = edits.len();
        let fresh: Vec<Edit> = edits.into_iter().filter(|edit| !self.done.edits.contains(edit)).collect();
        // A conversion that shares its opening edit with another one must share the closing edit as well.
        let is_half = !fresh.is_empty() && fresh.len() < count;
        if is_half || fresh.iter().any(|edit| self.done.edits.iter().any(|other| overlap(edit, other))) {
            return false;
        }
        if let Some(first) = fresh.first() {
            *self.done.changes.entry(change).or_default() += 1;
            if change != Change::Annotation {
                self.done.places.push(first.span);
            }
        }
        self.done.edits.extend(fresh);
        self.sort();
        true
    }

    /// Of two insertions at one place, a closing one precedes an opening one.
    fn sort(&mut self) {
        self.done.edits.sort_by_key(|edit| (edit.span.start, edit.span.end, edit.content != ")"));
    }

    /// Whether other modules may import a name from this file.
    fn is_exported(&self, name: &str) -> bool {
        self.exported.contains(name) || self.exported.contains("*") || self.cx.names.is_listed(name)
    }

    fn remark(&mut self, span: Span, reason: impl Into<String>) {
        self.done.remarks.insert(Remark { span, reason: reason.into() });
    }

    /// Leaves a place unchanged if only some callers pass a key, because others may pass something else.
    fn leave(&mut self, span: Span) -> bool {
        self.remark(span, "some callers pass a key here and others may pass another array, so it is left unchanged");
        false
    }

    /// Wraps a key in `key_data` at its place.
    fn convert(&mut self, key: &Expr) -> bool {
        let at = span_of(key);
        if self.key(key).is_some_and(|known| known.is_called) {
            return self.leave(at);
        }
        let Some(function) = self.spelled(at.start, jax::KEY_DATA, Some(key)) else {
            self.remark(at, "the words of this key are needed, but the file has no name for `jax.random.key_data`");
            return false;
        };
        self.add(Change::Words, vec![Edit::insert(at.start, format!("{function}(")), Edit::insert(at.end, ")")])
    }

    /// Makes typed keys of words, unless other keys of the project stay raw.
    fn wrap(&mut self, span: Span) {
        if self.stays_raw {
            return;
        }
        let Some(function) = self.spelled(span.start, jax::WRAP_KEY_DATA, None) else { return };
        let [open, close] = [Edit::insert(span.start, format!("{function}(")), Edit::insert(span.end, ")")];
        let overlaps = self.done.edits.iter().any(|other| overlap(&open, other) || overlap(&close, other));
        if overlaps || self.done.edits.contains(&open) {
            return;
        }
        *self.done.changes.entry(Change::Words).or_default() += 1;
        self.done.places.push(open.span);
        // It is around a conversion that begins at the same place.
        self.done.edits.insert(0, open);
        self.done.edits.push(close);
        self.sort();
    }

    fn take_words(&mut self, word: &WordUse) -> bool {
        let keys = typed::keys_at(self.cx, word.span);
        if word.is_called && !keys.iter().all(|key| is_key(self.cx, key)) {
            return self.leave(word.span);
        }
        if keys.is_empty() || typed::makes_keys(self.cx, word.span) {
            return false;
        }
        if let Some(review) = word.review {
            self.remark(word.span, review);
        }
        keys.into_iter().filter(|key| !self.convert(key)).count() == 0
    }

    /// A function of the library as the file spells it; an import is added if the file has no name for the library.
    fn spelled(&mut self, offset: u32, path: &str, like: Option<&Expr>) -> Option<String> {
        if let Some(spelling) = self.cx.spelled(offset, path, like.and_then(|key| maker(self.cx, key))) {
            return Some(spelling);
        }
        let below = path.split_once('.').map_or("", |(_, below)| below);
        if let Some(root) = &self.import {
            return Some(format!("{root}.{below}"));
        }
        let root = self.cx.imports.root.clone();
        if is_taken(&self.cx.names, &root) {
            return None;
        }
        let import = import_place(self.cx, &root)?;
        self.add(Change::Words, vec![super::layout::before(self.cx.text, import, &format!("import {root}"))]);
        let spelling = format!("{root}.{below}");
        self.import = Some(root);
        Some(spelling)
    }
}

/// What is known about a key.
#[derive(Clone, Copy)]
struct Known {
    /// Whether it is an array of keys, whatever callers pass.
    is_array: bool,
    /// Whether it is a key only for some callers of the function, and its name is not that of a key either.
    is_called: bool,
}

fn is_taken(names: &Names<'_>, name: &str) -> bool {
    !names.occurrences(name).is_empty()
}

/// Where an import of the package goes: before the first import of another library that sorts after it, otherwise
/// before the first import of the module.
fn import_place(cx: &FixContext<'_>, root: &str) -> Option<u32> {
    let is_future =
        |import: &ast::StmtImportFrom| import.module.as_ref().is_some_and(|module| *module == *"__future__");
    let imported = |statement: &Stmt| match statement {
        Stmt::Import(import) => import.names.first().map(|alias| alias.name.to_string()),
        Stmt::ImportFrom(import) if !is_future(import) => import.module.as_ref().map(ToString::to_string),
        _ => None,
    };
    let imports: Vec<(u32, String)> =
        cx.module.body.iter().filter_map(|one| Some((span_of(one).start, imported(one)?))).collect();
    let is_library = |name: &str| {
        let first = name.split('.').next().unwrap_or_default();
        cx.models.libraries().iter().any(|library| library.name == first && library.name != "python")
    };
    let behind = imports.iter().find(|(_, name)| is_library(name) && name.as_str() > root);
    behind.or(imports.first()).map(|(start, _)| *start)
}

/// Whether two edits cannot both be applied: one changes text within the text that the other replaces.
fn overlap(one: &Edit, other: &Edit) -> bool {
    if one.span.is_empty() || other.span.is_empty() {
        let (at, around) = if one.span.is_empty() { (one.span.start, other) } else { (other.span.start, one) };
        return around.span.start < at && at < around.span.end;
    }
    one.span.start < other.span.end && other.span.start < one.span.end
}
