//! Two consumptions that may be intended, and the two calls that lead to them.
//!
//! **Invariant:** both calls are in the code of one activation, the innermost that both consumptions have in common.

use std::rc::Rc;

use crate::analysis::record::{Callee, Consumption, Iteration, Recording};
use crate::finding::{Intent, IntentKind, Place};
use crate::ir::{Function, OpKind, Operator, Temp, Uses};
use crate::judge::reuse::Reuse;
use crate::text::FileId;

/// Two consumptions of one key that may be intended.
pub struct Pair<'r> {
    /// The earlier consumption.
    pub first: &'r Consumption,
    /// The later consumption.
    pub second: &'r Consumption,
    /// The same, as numbers.
    pub reuse: Reuse,
    /// The loop of which they happen in different iterations.
    pub repeated_by: Option<Rc<Iteration>>,
}

pub(super) fn intent(kind: IntentKind, place: Place) -> Intent {
    Intent::new(kind, Some(place))
}

pub(super) fn because(kind: IntentKind, reason: &str, place: Place) -> Intent {
    Intent::because(kind, reason, Some(place))
}

/// Two calls of one activation.
pub(super) struct Calls<'r> {
    /// The number of the activation.
    pub activation: u32,
    pub code: &'r Function,
    pub uses: Rc<Uses>,
    pub file: FileId,
    pub once: Temp,
    pub again: Temp,
}

impl Calls<'_> {
    pub fn place(&self, temp: Temp) -> Place {
        Place { file: self.file, span: self.code.ops[temp as usize].span }
    }

    /// Whether an operation computes a value from both results, `f(key) @ g(key)`, and does not compare them.
    pub fn are_combined(&self) -> bool {
        let is_operation = |temp: &Temp| {
            matches!(
                self.code.ops[*temp as usize].kind,
                OpKind::Operate(Operator::Add | Operator::Mul | Operator::MatMul | Operator::Div, ..)
            )
        };
        let others = self.uses.readers(self.again);
        self.uses.readers(self.once).iter().any(|reader| is_operation(reader) && others.contains(reader))
    }

    /// Whether both may run one function of the program.
    pub fn run_one_function(&self, run: &Recording<'_>) -> bool {
        runs_one_function(run, self.place(self.once), self.place(self.again))
    }
}

/// The calls that lead to two draws from their innermost common function, in its code, if each draw is at least so many calls away.
pub(super) fn calls_apart<'r>(run: &Recording<'r>, pair: &Pair<'_>, away: usize) -> Option<Calls<'r>> {
    let (a, b) = (pair.first.chain(), pair.second.chain());
    let common = a.iter().zip(&b).take_while(|((one, _), (other, _))| one.id == other.id).count();
    let frame = common.checked_sub(1).filter(|frame| frame + away < a.len() && frame + away < b.len())?;
    let ((activation, one), (_, other)) = (&a[frame], &b[frame]);
    let uses = run.uses_of(activation.module, activation.function);
    let (once, again) = (uses.call_at(one.span)?, uses.call_at(other.span)?);
    Some(Calls { activation: activation.id, code: run.code(activation), uses, file: one.file, once, again })
}

/// Most operations that a result is followed through.
pub(super) const STEPS: usize = 16;

/// Whether calls in two places may run one function of the program.
pub(super) fn runs_one_function(run: &Recording<'_>, once: Place, again: Place) -> bool {
    let functions = |place| {
        run.log.callees.get(&place).into_iter().flatten().filter_map(|callee| match callee {
            Callee::Function(module, id, _) => Some((*module, *id)),
            _ => None,
        })
    };
    functions(once).any(|one| functions(again).any(|other| one == other))
}
