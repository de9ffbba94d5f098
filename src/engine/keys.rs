//! What is known about every key of one file, as plain data for an editor.
//!
//! **Invariant:** the facts are those of the analysis that makes the findings; key data are computed by the reference
//! PRNG from the derivation, and are absent if it contains anything unknown.

use std::collections::{BTreeMap, BTreeSet};

use super::inspect::{Seen, syntax_error, with_facts};
use super::{FileTable, Job};
use crate::finding::{Confidence, Derivation, DerivationKind, Label, Place};
use crate::judge::facts::{KeyKind, KeyReuse, KeyValue, ReuseKind, Role};
use crate::models::Words;
use crate::text::{FileId, Span};
use crate::verify::derived;

/// The keys of one file.
#[derive(Debug)]
pub struct Keys {
    /// The texts that places refer to.
    pub files: FileTable,
    /// The file.
    pub file: FileId,
    /// What is known about each expression that is a key, sorted by place.
    pub notes: Vec<KeyNote>,
    /// Where a key is consumed again: the later and the earlier consumption.
    pub again: Vec<(Place, Place)>,
    /// The same with the keys, for findings that `keylint check` shows by default.
    pub reused: Vec<Reused>,
    /// The first syntax error of the file, with its place.
    pub broken: Option<String>,
}

/// An expression, or a variable that is bound, whose value is a key.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct KeyNote {
    /// Its place.
    pub place: Place,
    /// Whether this is true only if a particular caller runs the function.
    pub is_called: bool,
    /// `typed key`, `raw key array`, and the like.
    pub kind: &'static str,
    /// The implementation, if the derivation contains it.
    pub implementation: Option<String>,
    /// How it was derived: `split(key(0))[1]`.
    pub derivation: Derivation,
    /// Its words, if everything that it was derived from is known.
    pub key_data: Option<String>,
    /// Where it came from.
    pub origin: Option<Label>,
    /// What is done with it, in execution order.
    pub uses: Vec<NoteUse>,
    /// Qualified name of its function.
    pub function: String,
    /// The definition of that function.
    pub within: Span,
    /// The function around it that ran it, for any caller: its qualified name and definition.
    pub run_by: Option<(String, Span)>,
}

/// Two consumptions of one key, or of equal keys.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Reused {
    /// The earlier consumption: the call in the reporting frame, and the consuming call itself.
    pub first: [Place; 2],
    /// The later one.
    pub second: [Place; 2],
    /// The key, unless the two were derived differently.
    pub derivation: Option<Derivation>,
}

impl Reused {
    /// Whether a place consumes a key of this derivation in this pair.
    pub fn concerns(&self, derivation: &Derivation, place: Place) -> bool {
        let is_key = self.derivation.as_ref().is_none_or(|own| own == derivation);
        is_key && (self.first.contains(&place) || self.second.contains(&place))
    }
}

/// Something that is done with a key.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NoteUse {
    /// The call.
    pub place: Place,
    /// What is called.
    pub callee: String,
    /// Whether it certainly consumes the key.
    pub consumes: bool,
    /// What it does with it: `draws from it`.
    pub verb: &'static str,
}

/// The keys of the one file of the job; otherwise why nothing is known about them.
pub fn keys(job: &Job<'_>) -> Result<Keys, String> {
    let version = job.inputs.first().and_then(|input| (job.settings)(&input.path).jax_version);
    // Before JAX 0.5.0 the children of a key depended on how many were made.
    let splits_evenly = version.is_none_or(|pin| (pin.newest().major, pin.newest().minor) >= (0, 5));
    with_facts(job, |&Seen { facts, models, files, file, problems }| {
        let mut known: BTreeMap<&Derivation, Option<Known>> = BTreeMap::new();
        let notes = facts.values.iter().map(|value| {
            let of_one = !value.is_array && value.kind != KeyKind::Unknown;
            let known = known.entry(&value.derivation).or_insert_with(|| evaluated(&value.derivation, splits_evenly));
            KeyNote::new(value, known.clone().filter(|_| of_one))
        });
        let mut notes: Vec<KeyNote> = notes.collect();
        drop_unknown(&mut notes, &facts.values, files.text(file), &models.words);
        find_uses_elsewhere(&mut notes);
        let reported = facts.reuses.iter().filter(|reuse| !reuse.is_harmless());
        let reported: Vec<&KeyReuse> = reported.filter(|reuse| reuse.kind != ReuseKind::FoldAndSampled).collect();
        let shown = reported.iter().filter(|reuse| reuse.confidence > Confidence::Low);
        let reused = shown.map(|reuse| {
            let [first, second] = [&reuse.first, &reuse.second].map(|used| [used.place, used.leaf]);
            let same = Some(reuse.derivation.clone()).filter(|_| reuse.derived_at.is_none());
            let mut reused = Reused { first, second, derivation: same };
            let is_shown = |note: &KeyNote| note.uses.iter().any(|used| reused.concerns(&note.derivation, used.place));
            // The caller may derive the key in another way than the function knows.
            if !notes.iter().any(is_shown) {
                reused.derivation = None;
            }
            reused
        });
        let reused = reused.collect();
        let again = reported.iter().map(|reuse| (reuse.second.place, reuse.first.place)).collect::<Vec<_>>();
        let broken = syntax_error(files, file, problems);
        Ok(Keys { files: files.clone(), file, notes, again, reused, broken })
    })
}

impl KeyNote {
    fn new(value: &KeyValue, known: Option<Known>) -> Self {
        Self {
            place: value.place,
            is_called: value.is_called,
            kind: match (value.kind, value.is_array) {
                (KeyKind::Typed, false) => "typed key",
                (KeyKind::Typed, true) => "array of typed keys",
                (KeyKind::Raw, false) => "raw key",
                (KeyKind::Raw, true) => "array of raw keys",
                (KeyKind::Unknown, false) => "key",
                (KeyKind::Unknown, true) => "array of keys",
            },
            implementation: known.as_ref().map(|(implementation, _)| implementation.clone()),
            derivation: value.derivation.clone(),
            key_data: known.map(|(_, data)| data),
            origin: value.origin.clone().map(|origin| Label { place: origin.place, message: origin.text }),
            uses: value
                .uses
                .iter()
                .map(|used| NoteUse {
                    place: used.place,
                    callee: used.callee.clone(),
                    consumes: matches!(used.role, Role::Sample | Role::Split | Role::Library | Role::Protocol),
                    verb: match used.role {
                        Role::Sample => "draws from it",
                        Role::Split => "splits it",
                        Role::Fold => "derives from it",
                        Role::Library | Role::Protocol => "consumes it",
                        Role::Unresolved => "may consume it",
                    },
                })
                .collect(),
            function: value.function.clone(),
            within: value.within,
            run_by: value.run_by.clone(),
        }
    }
}

/// Drops values without evidence that they are keys or contain some: being passed to unresolved calls is none, nor is being sliced, unless
/// the name is that of a key.
fn drop_unknown(notes: &mut Vec<KeyNote>, values: &[KeyValue], text: &str, words: &Words) {
    let is_used = |value: &KeyValue| value.uses.iter().any(|used| used.role != Role::Unresolved);
    let is_known = |value: &KeyValue| {
        let is_made = !matches!(value.derivation.kind(), DerivationKind::Elsewhere | DerivationKind::Part(_));
        let is_named = text.get(value.place.span.range()).is_some_and(|name| words.is_keyish(name));
        let has_parts = || values.iter().any(|part| is_used(part) && part.derivation.is_made_of(&value.derivation));
        let is_unused = value.uses.is_empty() && (!value.is_array || has_parts());
        value.kind != KeyKind::Unknown || is_made || is_named || is_used(value) || is_unused
    };
    let known: BTreeSet<(&Derivation, Span)> =
        values.iter().filter(|value| is_known(value)).map(|value| (&value.derivation, value.within)).collect();
    notes.retain(|note| known.contains(&(&note.derivation, note.within)));
}

/// A key of the module's body, or of an object, is consumed by functions that run later: a key without uses at its place gets the uses of
/// the same key elsewhere.
fn find_uses_elsewhere(notes: &mut [KeyNote]) {
    let identity = |note: &KeyNote| (note.derivation.clone(), note.origin.as_ref().map(|origin| origin.place));
    let mut uses: BTreeMap<_, Vec<NoteUse>> = BTreeMap::new();
    for note in notes.iter().filter(|note| note.origin.is_some()) {
        let known = uses.entry(identity(note)).or_default();
        for used in &note.uses {
            if !known.contains(used) {
                known.push(used.clone());
            }
        }
    }
    for note in notes.iter_mut().filter(|note| note.uses.is_empty()) {
        if let Some(uses) = uses.get(&identity(note)) {
            note.uses.clone_from(uses);
        }
    }
}

/// Implementation and words of a key.
type Known = (String, String);

/// The key data of a derivation, if it is fully known.
pub fn evaluated(derivation: &Derivation, splits_evenly: bool) -> Option<Known> {
    let is_split = derivation.is_split();
    if matches!(derivation.kind(), DerivationKind::Children(_)) || (is_split && !splits_evenly) {
        return None;
    }
    let keys = derived::keys(derivation)?;
    let implementation = keys.implementation().name().to_owned();
    // Under other implementations the children may depend on how many there are.
    let is_certain = !is_split || implementation == "threefry2x32";
    Some((implementation, keys.data().ok()?.to_string())).filter(|_| is_certain)
}
