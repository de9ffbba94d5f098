//! Where keys come from, and whether they were only made for want of others.
//!
//! **Invariant:** an answer names a place of the program, or nothing; it decides whether and how a finding is told, never whether two keys are one.

use crate::analysis::domain::guard::Guard;
use crate::analysis::domain::term::{Symbol, Term, TermId};
use crate::analysis::facts::Origin;
use crate::analysis::log::Consumption;
use crate::finding::Place;
use crate::ir::{OpKind, Temp};
use crate::text::{FileId, Span};

use super::Machine;

impl Machine<'_> {
    /// Whether a key was made only because none was given: `if key is None: key = PRNGKey(0)`.
    pub(super) fn is_fallback(&self, event: &Consumption) -> bool {
        let Some(derivation) = self.derivation(event.target.derivation) else { return false };
        let code = self.module(derivation.activation.module).function(derivation.activation.function);
        let made = |temp: &Temp| {
            let op = &code.ops[*temp as usize];
            op.span == derivation.place.span && matches!(op.kind, OpKind::Call(..))
        };
        code.ops.iter().any(|op| match &op.kind {
            OpKind::If { test, then, orelse } => {
                let asks = matches!(
                    code.ops[*test as usize].kind,
                    OpKind::Operate(crate::ir::Operator::Is | crate::ir::Operator::IsNot, ..)
                );
                asks && then.iter().chain(orelse).any(made)
            }
            _ => false,
        })
    }

    /// Whether a key was made as the default of a parameter, and so serves where none is given.
    pub(super) fn is_default(&self, event: &Consumption) -> bool {
        let Some(derivation) = self.derivation(event.target.derivation) else { return false };
        let code = self.module(derivation.activation.module).function(derivation.activation.function);
        code.ops.iter().any(|op| match &op.kind {
            OpKind::Function(_, defaults) => {
                defaults.iter().any(|(_, temp)| code.ops[*temp as usize].span.covers(derivation.place.span))
            }
            _ => false,
        })
    }

    /// Whether a consumption happens on paths only where something unknown is `None`.
    pub(super) fn waits_for_none(&self, guard: Guard) -> bool {
        self.paths.guards.support(guard).iter().any(|literal| match self.terms.get(*literal) {
            Term::Operate(crate::ir::Operator::Is, parts) => matches!(self.terms.get(parts[1]), Term::None),
            _ => false,
        })
    }

    /// Where a key came from.
    pub(super) fn origin(&self, term: TermId, derivation: u32) -> Option<Origin> {
        if let Some(derivation) = self.derivation(derivation) {
            let short = derivation.callee.as_ref();
            let text = match self.terms.get(term) {
                Term::Child(_, index) if matches!(self.terms.get(derivation.term), Term::Children(_)) => {
                    format!("element {} of what `{short}` returned", self.describe(*index))
                }
                _ => format!("created by `{short}`"),
            };
            return Some(Origin { place: derivation.place, text });
        }
        let root = self.root_of(term);
        if let Some(info) = self.terms.symbol(root)
            && let Some((file, start, end)) = info.place
        {
            let place = Place { file: FileId(file), span: Span::new(start, end) };
            let name = self.describe(term);
            let text = match info.symbol {
                Symbol::Parameter if root == term => format!("parameter `{name}`"),
                Symbol::Parameter => match self.recorder.log.origins.get(&term) {
                    Some(place) => return Some(Origin { place: *place, text: format!("`{name}` is read here") }),
                    None => format!("`{name}` comes with this parameter"),
                },
                _ => "obtained here".to_owned(),
            };
            return Some(Origin { place, text });
        }
        let place = self.recorder.log.origins.get(&term)?;
        Some(Origin { place: *place, text: format!("`{}` is read here", self.describe(term)) })
    }

    pub(super) fn root_of(&self, term: TermId) -> TermId {
        match self.terms.get(term) {
            Term::Attribute(of, ..) | Term::Item(of, ..) => self.root_of(*of),
            Term::Child(parent, _) | Term::Fold(parent, _) | Term::Children(parent) | Term::Clone(parent, _) => {
                self.root_of(*parent)
            }
            _ => term,
        }
    }
}
