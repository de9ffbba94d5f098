//! The keys of each function as a forest: what each key was derived from, and what is done with it.
//!
//! **Invariant:** a key's parent has a smaller number than the key, so that every walk from child to parent, and from
//! parent to child, ends. Keys are in the order of the program, each once, no matter how often it is written.

use rustc_hash::{FxHashMap, FxHashSet};

use super::{FileTable, KeyNote, Keys};
use crate::finding::{Derivation, DerivationKind, Place};
use crate::text::{FileId, Span};

/// The maximum number of keys listed for one function; the others are only counted.
const KEYS: usize = 400;

/// Longest name of a key, in bytes; longer expressions do not count as names.
const NAME: usize = 40;

/// The keys of one file, function by function.
#[derive(Clone, Debug)]
pub struct Lineage {
    /// The texts that places refer to.
    pub files: FileTable,
    /// The file.
    pub file: FileId,
    /// The functions that handle keys, and the module's body, by where they start.
    pub functions: Vec<FunctionKeys>,
    /// The first syntax error of the file, with its place.
    pub broken: Option<String>,
}

/// The keys of one function.
#[derive(Clone, Debug, Default)]
pub struct FunctionKeys {
    /// The qualified name; `<module>` of a module's body.
    pub name: String,
    /// The definition.
    pub within: Span,
    /// The keys.
    pub keys: Vec<LineageKey>,
    /// Pairs of different derivations that give equal keys, by number: a `fold_in` and a child of a `split`.
    pub equal: Vec<(usize, usize)>,
    /// Number of keys beyond the bound, which are omitted.
    pub omitted: usize,
}

/// A key, or an array of keys.
#[derive(Clone, Debug)]
pub struct LineageKey {
    /// The number of the key that it was derived from, if that is known.
    pub parent: Option<usize>,
    /// Its names in the program, in order, without duplicates.
    pub names: Vec<String>,
    /// `typed key`, `array of raw keys`, and the like.
    pub kind: &'static str,
    /// How it was derived.
    pub derivation: Derivation,
    /// Its words, if everything that it was derived from is known.
    pub key_data: Option<String>,
    /// Where it is first written.
    pub place: Place,
    /// What is done with it, in execution order.
    pub uses: Vec<LineageUse>,
}

/// Something that is done with a key.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LineageUse {
    /// The call.
    pub place: Place,
    /// What is called.
    pub callee: String,
    /// What it does with the key: `draws from it`.
    pub verb: &'static str,
    /// Whether it is one of two consumptions of equal keys.
    pub is_reuse: bool,
}

impl LineageKey {
    /// The name of the key, or how it was derived.
    pub fn title(&self) -> String {
        if self.names.is_empty() { self.derivation.to_string() } else { self.names.join(", ") }
    }

    /// What made the key of its parent: `split`, `fold_in`.
    pub fn step(&self) -> &'static str {
        match self.derivation.kind() {
            DerivationKind::Elsewhere => "",
            DerivationKind::Part(_) => "part",
            DerivationKind::Seed(..) => "seed",
            DerivationKind::Children(_) | DerivationKind::Child(..) => "split",
            DerivationKind::Fold(..) => "fold_in",
            DerivationKind::Clone(_) => "clone",
        }
    }

    fn is_array(&self) -> bool {
        matches!(self.derivation.kind(), DerivationKind::Children(_))
    }

    /// Whether one of its uses is in a pair that gets equal keys.
    pub fn is_reused(&self) -> bool {
        self.uses.iter().any(|used| used.is_reuse)
    }
}

impl Lineage {
    /// The forest of each function.
    pub fn of(keys: &Keys) -> Self {
        let mut functions: Vec<FunctionKeys> = Vec::new();
        let notes = || keys.notes.iter().filter(|note| note.place.file == keys.file);
        let drawn: FxHashSet<Span> = notes().filter(|note| !note.is_called).map(|note| note.within).collect();
        for note in notes() {
            // What only the function around it runs, such as the body of a `scan`, is drawn there.
            let around = note.run_by.as_ref().filter(|_| !drawn.contains(&note.within));
            let (name, within) = match around {
                Some((name, within)) if note.is_called => (name, *within),
                _ if note.is_called => continue,
                _ => (&note.function, note.within),
            };
            let known = functions.iter().position(|function| function.within == within);
            let index = known.unwrap_or_else(|| {
                functions.push(FunctionKeys { name: name.clone(), within, ..FunctionKeys::default() });
                functions.len() - 1
            });
            functions[index].add(keys, note);
        }
        for function in &mut functions {
            function.connect(keys);
        }
        functions.sort_by_key(|function| (function.within.start, std::cmp::Reverse(function.within.end)));
        Self { files: keys.files.clone(), file: keys.file, functions, broken: keys.broken.clone() }
    }

    /// The functions that a name denotes: the qualified name, or its last parts.
    pub fn named(&self, name: &str) -> Vec<&FunctionKeys> {
        let is_named = |function: &&FunctionKeys| {
            function.name == name || function.name.strip_suffix(name).is_some_and(|before| before.ends_with('.'))
        };
        self.functions.iter().filter(is_named).collect()
    }

    /// The innermost function around an offset.
    pub fn around(&self, offset: u32) -> Option<&FunctionKeys> {
        let around = |function: &&FunctionKeys| {
            let Span { start, end } = function.within;
            start <= offset && offset <= end
        };
        self.functions.iter().filter(around).min_by_key(|function| function.within.len())
    }
}

impl FunctionKeys {
    /// Adds what is known about one expression.
    fn add(&mut self, keys: &Keys, note: &KeyNote) {
        let name = name(keys.files.text(keys.file), note.place.span);
        if let Some(known) = self.keys.iter_mut().find(|key| key.derivation == note.derivation) {
            known.names.extend(name.filter(|name| !known.names.contains(name)));
            return;
        }
        if self.keys.len() == KEYS {
            self.omitted += 1;
            return;
        }
        let is_reuse = |place: Place| keys.reused.iter().any(|reused| reused.concerns(&note.derivation, place));
        let uses = note.uses.iter().map(|used| LineageUse {
            place: used.place,
            callee: used.callee.clone(),
            verb: used.verb,
            is_reuse: used.consumes && is_reuse(used.place),
        });
        self.keys.push(LineageKey {
            parent: None,
            names: name.into_iter().collect(),
            kind: note.kind,
            derivation: note.derivation.clone(),
            key_data: note.key_data.clone(),
            place: note.place,
            uses: uses.collect(),
        });
    }

    /// Connects parents and equal keys.
    fn connect(&mut self, keys: &Keys) {
        // Parents come before the keys derived from them: their derivations have fewer steps.
        self.keys.sort_by_cached_key(|key| (steps(&key.derivation), key.place, key.derivation.clone()));
        self.find_parents();
        // What is done with one key of an array is listed under that key.
        for index in 0..self.keys.len() {
            if let Some(parent) = self.keys[index].parent.filter(|parent| self.keys[*parent].is_array()) {
                let below = self.keys[index].uses.clone();
                self.keys[parent].uses.retain(|used| !below.contains(used));
            }
        }
        // `split(key)` in `key, sub = split(key)` has no name: what is done with its elements is listed under them.
        let parents: FxHashSet<usize> = self.keys.iter().filter_map(|key| key.parent).collect();
        let mut index = 0;
        self.keys.retain(|key| {
            index += 1;
            !(key.is_array() && key.names.is_empty() && parents.contains(&(index - 1)))
        });
        // The remaining keys get new numbers.
        self.find_parents();
        self.find_equals(keys);
    }

    /// The parent of each key: the one with the longest derivation of those it is derived from.
    fn find_parents(&mut self) {
        for index in 0..self.keys.len() {
            let (above, rest) = self.keys.split_at_mut(index);
            let key = &mut rest[0];
            let parents = above.iter().enumerate().filter(|(_, other)| key.derivation.is_made_of(&other.derivation));
            key.parent = parents.max_by_key(|(_, other)| other.derivation.len()).map(|(parent, _)| parent);
        }
    }

    /// Different derivations that give equal keys: according to the findings, and to their words if those are known.
    fn find_equals(&mut self, keys: &Keys) {
        let user = |places: [Place; 2]| {
            let is_there = |key: &LineageKey| key.uses.iter().any(|used| places.contains(&used.place));
            self.keys.iter().position(is_there)
        };
        let pairs = keys.reused.iter().filter(|reused| reused.derivation.is_none());
        let reported = pairs.filter_map(|reused| user(reused.first).zip(user(reused.second)));
        let mut equal: Vec<(usize, usize)> = reported.filter(|(first, second)| first != second).collect();
        let mut by_data: FxHashMap<&str, usize> = FxHashMap::default();
        for (index, key) in self.keys.iter().enumerate().filter(|(_, key)| !key.uses.is_empty()) {
            if let Some(data) = &key.key_data {
                let first = *by_data.entry(data).or_insert(index);
                if first != index {
                    equal.push((first, index));
                }
            }
        }
        for (first, second) in &mut equal {
            (*first, *second) = (*first.min(second), *first.max(second));
        }
        equal.sort_unstable();
        equal.dedup();
        self.equal = equal;
    }

    /// The keys that were derived from one, or from none of this function.
    pub fn children(&self, parent: Option<usize>) -> impl Iterator<Item = usize> + '_ {
        self.keys.iter().enumerate().filter(move |(_, key)| key.parent == parent).map(|(index, _)| index)
    }
}

/// Number of steps of a derivation: a child of a `split` comes after all its children together.
fn steps(derivation: &Derivation) -> usize {
    let made = std::iter::successors(Some(derivation), |made| made.parent());
    made.map(|made| if matches!(made.kind(), DerivationKind::Child(..)) { 2 } else { 1 }).sum()
}

/// The name that an expression gives a key: a name, an attribute or an element of one.
fn name(text: &str, span: Span) -> Option<String> {
    let written = text.get(span.range()).filter(|written| written.len() <= NAME)?;
    let is_part = |c: char| c.is_alphanumeric() || "_.[]".contains(c);
    (written.starts_with(|c: char| c.is_alphabetic() || c == '_') && written.chars().all(is_part))
        .then(|| written.to_owned())
}
