//! Findings as plain data: what every rule produces and every report, fix and suppression reads.
//!
//! **Invariant:** a finding contains only spans and texts; it never borrows from the analysis that made it.

use std::fmt;

use serde::{Deserialize, Serialize};

mod derivation;
mod intent;
mod proof;
mod rule_id;

pub use derivation::{Derivation, DerivationKind};
pub use intent::{Consequence, ConsequenceKind, Intent, IntentKind};
pub use proof::{
    Applicability, BufferAccess, BufferPart, Draw, Evidence, Fix, FixHints, Inconclusive, Sharing, Verdict, Witness,
    WitnessStatus,
};
pub(crate) use rule_id::every_rule;
pub use rule_id::{Family, RuleId};

use crate::text::{FileId, Span};

/// How bad the misuse is, regardless of certainty. Ordered: `Note < Warning < Error`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Level {
    /// Worth knowing; hidden by default.
    Note,
    /// Likely a mistake.
    Warning,
    /// A mistake.
    Error,
}

/// How certain one finding is, regardless of its level. Ordered: `Low < Medium < High`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Confidence {
    /// A sink is unresolved, or kind or rank is guessed; hidden by default.
    Low,
    /// A sink comes from a library or protocol model, or equality rests on a JAX default.
    Medium,
    /// Both sinks resolve to the library itself and the terms must be equal.
    High,
}

impl fmt::Display for Level {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Note => "note",
            Self::Warning => "warning",
            Self::Error => "error",
        })
    }
}

impl fmt::Display for Confidence {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Low => "low",
            Self::Medium => "medium",
            Self::High => "high",
        })
    }
}

/// A place in a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct Place {
    /// The file.
    pub file: FileId,
    /// The bytes within it.
    pub span: Span,
}

/// A place with a sentence about it: a related location, or one step of a flow.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Label {
    /// Where.
    pub place: Place,
    /// The text: lower case, no full stop.
    pub message: String,
}

/// One finding of one rule.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Finding {
    /// The rule.
    pub rule: RuleId,
    /// Level of this finding (the rule's level, unless the rule or the settings lowered it).
    pub level: Level,
    /// Confidence of this finding.
    pub confidence: Confidence,
    /// Why the confidence is not high, if that is known: lower case, no full stop.
    pub doubt: Option<String>,
    /// The first line makes sense on its own: lower case, no full stop.
    pub message: String,
    /// What the reader sees at the primary location: short, lower case, no full stop.
    pub label: String,
    /// The primary location; the finding belongs to its file.
    pub primary: Place,
    /// Where the key came from, first use, and the like, in the order in which they are shown.
    pub related: Vec<Label>,
    /// The way of the key from its creation to the second use, in execution order.
    pub flow: Vec<Label>,
    /// One sentence of advice: what to do instead.
    pub help: Option<String>,
    /// Qualified name of the function that holds the primary location (`<module>` at module level).
    pub function: String,
    /// The claim in a form that can be replayed; `None` where there is nothing to replay.
    pub evidence: Option<Evidence>,
    /// What is done to a key's buffer; `None` if the finding is about something else, or comes from the cache: only the
    /// witness and the fix are made from it.
    #[serde(skip)]
    pub buffer_access: Option<BufferAccess>,
    /// The call that creates the key anew for each use; `None` if there is no such call, or if the finding comes from the cache: only the
    /// intent is read from what is written beside it.
    #[serde(skip)]
    pub created_anew: Option<Place>,
    /// What a fix needs to know; `None` if the places are enough.
    pub fix_hints: Option<FixHints>,
    /// What the replay showed; `None` where nothing was replayed.
    pub witness: Option<Witness>,
    /// Why it is probably intended, if that is known: then it is only a note, or hidden.
    pub intent: Option<Intent>,
    /// What happens to the two draws, if that is known.
    pub consequence: Option<Consequence>,
    /// How it can be fixed.
    pub fix: Option<Fix>,
    /// Fingerprint that survives moved lines; filled by the engine, empty before.
    pub fingerprint: String,
}

impl Finding {
    /// States why the reported use is probably intended, which makes the finding a note. The first reason is kept.
    pub fn note_intent(&mut self, intent: Intent) {
        self.level = self.level.min(Level::Note);
        self.intent.get_or_insert(intent);
    }

    /// Calls `visit` with every place of the finding; its edits are in the file of the primary location.
    pub fn each_place(&mut self, visit: &mut dyn FnMut(&mut Place)) {
        let Self {
            primary,
            related,
            flow,
            evidence,
            created_anew,
            fix_hints,
            witness,
            intent,
            consequence,
            rule: _,
            level: _,
            confidence: _,
            doubt: _,
            message: _,
            label: _,
            help: _,
            function: _,
            buffer_access: _,
            fix: _,
            fingerprint: _,
        } = self;
        visit(primary);
        created_anew.iter_mut().for_each(&mut *visit);
        related.iter_mut().chain(flow).for_each(|label| visit(&mut label.place));
        if let Some(Evidence { sharing: _, first, second, draws_numbers: _, ends_in_split: _, is_open: _ }) = evidence {
            first.iter_mut().chain(second).for_each(&mut *visit);
        }
        if let Some(FixHints {
            derived_at,
            repeated_by,
            used_at,
            wrapper,
            written: _,
            is_seeded_alike: _,
            unused: _,
            implementation: _,
            always_raises: _,
        }) = fix_hints
        {
            if let Some((first, second)) = derived_at {
                visit(first);
                visit(second);
            }
            repeated_by.iter_mut().chain(used_at).for_each(&mut *visit);
            if let Some((_, place)) = wrapper {
                visit(place);
            }
        }
        witness.iter_mut().flat_map(|witness| &mut witness.draws).for_each(|draw| visit(&mut draw.place));
        intent.iter_mut().filter_map(|intent| intent.place.as_mut()).for_each(&mut *visit);
        consequence.iter_mut().filter_map(|consequence| consequence.place.as_mut()).for_each(visit);
    }

    /// A finding with only a message and a place.
    pub fn new(rule: RuleId, level: Level, confidence: Confidence, primary: Place, message: String) -> Self {
        Self {
            rule,
            level,
            confidence,
            doubt: None,
            message,
            label: String::new(),
            primary,
            related: Vec::new(),
            flow: Vec::new(),
            help: None,
            function: String::new(),
            evidence: None,
            buffer_access: None,
            created_anew: None,
            fix_hints: None,
            witness: None,
            intent: None,
            consequence: None,
            fix: None,
            fingerprint: String::new(),
        }
    }
}
