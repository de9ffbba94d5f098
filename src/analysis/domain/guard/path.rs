//! Paths through a guard whose literals can hold together.
//!
//! Of the literals of a path, only those about the same subject can contradict each other, and most subjects have one literal.
//!
//! **Invariant:** two constraints have one subject number exactly when they have the same subject, and `per_subject` counts the constraints of
//! each.

use rustc_hash::FxHashMap;
use smallvec::SmallVec;

use crate::analysis::domain::constraint::{Constraint, Subject};
use crate::analysis::domain::term::Terms;

/// A literal on a path.
#[derive(Clone, Copy, Debug)]
pub(super) struct Step {
    /// The number of the subject of its constraint.
    subject: u32,
    /// The number of the literal.
    literal: u32,
    holds: bool,
}

/// The constraints of the literals of an arena of guards, by number.
#[derive(Clone, Debug, Default)]
pub(super) struct Constraints {
    /// The literals that are constrained so far, with the numbers of their subjects.
    known: Vec<Option<(u32, Constraint)>>,
    subjects: FxHashMap<Subject, u32>,
    /// How many constraints there are on each subject.
    per_subject: Vec<u32>,
}

impl Constraints {
    /// The newest literal, which is not checked yet.
    pub(super) fn push(&mut self) {
        self.known.push(None);
    }

    /// Forgets the literals from this number on.
    pub(super) fn truncate(&mut self, literals: usize) {
        for (subject, _) in self.known.drain(literals.min(self.known.len())..).flatten() {
            self.per_subject[subject as usize] -= 1;
        }
    }

    /// A literal with this polarity, as a part of a path; `constraint` is its constraint.
    pub(super) fn step(&mut self, literal: usize, holds: bool, constraint: impl FnOnce() -> Constraint) -> Step {
        let subject = if let Some((subject, _)) = self.known[literal] {
            subject
        } else {
            let constraint = constraint();
            let next = u32::try_from(self.per_subject.len()).unwrap_or(u32::MAX);
            let subject = *self.subjects.entry(constraint.subject).or_insert(next);
            if subject == next {
                self.per_subject.push(0);
            }
            self.per_subject[subject as usize] += 1;
            self.known[literal] = Some((subject, constraint));
            subject
        };
        Step { subject, literal: u32::try_from(literal).unwrap_or(u32::MAX), holds }
    }

    /// Whether no other literal is about the same subject.
    pub(super) fn is_alone(&self, step: Step) -> bool {
        self.per_subject[step.subject as usize] == 1
    }

    /// Whether a literal is consistent with those of a path.
    pub(super) fn admit(&self, path: &[Step], step: Step, terms: &Terms) -> bool {
        // Searches come by here more often than anywhere else, and hardly any other literal of a path is about the same subject.
        if self.is_alone(step) || !path.iter().any(|other| other.subject == step.subject) {
            return true;
        }
        let mut about_it: SmallVec<[(Constraint, bool); 4]> = SmallVec::new();
        for other in path.iter().chain([&step]) {
            if other.subject == step.subject
                && let Some((_, constraint)) = self.known[other.literal as usize]
            {
                about_it.push((constraint, other.holds));
            }
        }
        terms.are_consistent(&about_it)
    }
}
