//! Code that does not run on any path with both draws.
//!
//! **Invariant:** only code of a common frame of both draws is excluded, with the functions that it makes for such code, and only if no loop may
//! bring control back to it while the values that it reads are unchanged.

use rustc_hash::{FxHashMap, FxHashSet};

use crate::analysis::record::{Activation, Consumption, Recording};
use crate::ir::{Block, Function, FunctionId, OpKind, Temp, Uses, Variable};
use crate::judge::callee_model::model_of;
use crate::models::{Effect, Runs};

/// The operations that do not run on paths on which both draws use one key, for the frame that both have in common, by
/// activation. What they do with `draw` cannot be observed together with `other`.
pub fn excluded(run: &Recording<'_>, draw: &Consumption, other: &Consumption) -> FxHashMap<u32, FxHashSet<Temp>> {
    let mut excluded = FxHashMap::default();
    let (a, b) = (draw.chain(), other.chain());
    let Some(common) = a.iter().zip(&b).take_while(|((x, _), (y, _))| x.id == y.id).count().checked_sub(1) else {
        return excluded;
    };
    let ((activation, one), (_, two)) = (&a[common], &b[common]);
    let code = run.code(activation);
    let (Some(from), Some(to)) = (run.call_at(activation, *one), run.call_at(activation, *two)) else {
        return excluded;
    };
    let mut excluded_ops = FxHashSet::default();
    let uses = run.uses_of(activation.module, activation.function);
    let Some(way) = uses.blocks_around(code, to) else { return excluded };
    exclude_other_arms(code, &way, &mut excluded_ops);
    if from < to {
        exclude_overwritten((code, &uses), &way, from, &mut excluded_ops);
    }
    if let Some((branch, _)) = b.get(common + 1).filter(|_| !way.iter().any(|(block, at)| is_loop(code, block[*at]))) {
        exclude_other_branches(run, (activation, to), branch.function, &mut excluded_ops);
    }
    // If the variable that holds the key is rebound between the draws, they have different keys.
    if let Some(variable) = key_variable(code, other).filter(|_| from <= to && common + 1 == b.len()) {
        let inner = way.iter().rev().find(|(block, at)| is_loop(code, block[*at]));
        let inner = inner.map(|(block, at)| block[*at]);
        exclude_rebindings((code, &uses), &variable, (from, to), inner, &mut excluded_ops);
    }
    if !excluded_ops.is_empty() {
        excluded.insert(activation.id, excluded_ops);
    }
    excluded
}

fn is_loop(code: &Function, temp: Temp) -> bool {
    matches!(code.ops.get(temp as usize).map(|op| &op.kind), Some(OpKind::Loop { .. }))
}

/// Excludes the other arms of the branches around an operation, and the code after them if the operation's arm always leaves.
fn exclude_other_arms(code: &Function, way: &[(&Block, usize)], excluded_ops: &mut FxHashSet<Temp>) {
    // A later iteration may run another arm with the earlier draw.
    if way.iter().any(|(block, at)| is_loop(code, block[*at])) {
        return;
    }
    let mut leaves = false;
    for (depth, (block, at)) in way.iter().enumerate().rev() {
        if leaves {
            for temp in block.iter().skip(at + 1) {
                exclude(code, *temp, excluded_ops);
            }
        }
        leaves |= block.iter().skip(*at).any(|temp| {
            matches!(code.ops.get(*temp as usize).map(|op| &op.kind), Some(OpKind::Return(_) | OpKind::Raise(_)))
        });
        let Some((outer, at)) = depth.checked_sub(1).and_then(|depth| way.get(depth)) else { continue };
        match code.ops.get(outer[*at] as usize).map(|op| &op.kind) {
            Some(OpKind::If { then, orelse, .. }) => {
                let other = if std::ptr::eq(then, *block) { orelse } else { then };
                for temp in other {
                    exclude(code, *temp, excluded_ops);
                }
            }
            // Handlers and `finally` run on exits that are not followed here.
            _ => return,
        }
    }
}

/// Excludes the reads of a variable that holds nothing but the first draw until the arm with the second one overwrites it: `w = normal(key)`,
/// then `if uniform: w = uniform(key)`. Nothing reads the first draw before, so no other value has a part of it.
fn exclude_overwritten(
    (code, uses): (&Function, &Uses),
    way: &[(&Block, usize)],
    from: Temp,
    excluded_ops: &mut FxHashSet<Temp>,
) {
    let [store] = uses.readers(from) else { return };
    let OpKind::Store(Variable::Local(slot), _) = code.ops[*store as usize].kind else { return };
    let ends = |temp: Temp| matches!(code.ops[temp as usize].kind, OpKind::Loop { .. } | OpKind::Try { .. });
    if uses.is_captured(slot) || way.iter().any(|(block, at)| ends(block[*at])) {
        return;
    }
    for (outer, arm) in way.iter().zip(way.iter().skip(1)) {
        let branch = outer.0[outer.1];
        let is_inside = |temp: Temp| uses.around(temp).any(|(around, _)| around == branch);
        let overwrites = |temp: &Temp| matches!(code.ops[*temp as usize].kind, OpKind::Store(Variable::Local(other), _) if other == slot);
        let is_unread = uses.loads_of(slot).iter().all(|load| *load > branch && !is_inside(*load));
        if *store < branch && !is_inside(*store) && is_unread && arm.0.iter().any(overwrites) {
            excluded_ops.extend(uses.loads_of(slot));
        }
    }
}

/// Excludes the functions that a `cond` or `switch` of a library would run instead of the one that draws, if nothing else reads them.
fn exclude_other_branches(
    run: &Recording<'_>,
    (activation, call): (&Activation, Temp),
    branch: FunctionId,
    excluded_ops: &mut FxHashSet<Temp>,
) {
    let (code, uses) = (run.code(activation), run.uses_of(activation.module, activation.function));
    let OpKind::Call(callee, arguments) = &code.ops[call as usize].kind else { return };
    let chooses = model_of(run, activation.module, code, *callee).is_some_and(|callable| match &callable.effect {
        Effect::Transform(transform) => matches!(transform.runs, Runs::Cond | Runs::Switch),
        _ => false,
    });
    for argument in arguments.iter().filter(|_| chooses) {
        let value = argument.value();
        let made = match &code.ops[value as usize].kind {
            OpKind::Load(Variable::Local(slot)) if uses.loads_of(*slot).len() == 1 && !uses.is_captured(*slot) => {
                code.sole_value(&Variable::Local(*slot))
            }
            _ => Some(value),
        };
        let other =
            made.filter(|made| matches!(code.ops[*made as usize].kind, OpKind::Function(id, _) if id != branch));
        excluded_ops.extend(other);
    }
}

/// Excludes arms that rebind a variable between two operations; in a loop, anywhere in its body.
fn exclude_rebindings(
    (code, uses): (&Function, &Uses),
    variable: &Variable,
    (from, to): (Temp, Temp),
    inner: Option<Temp>,
    excluded_ops: &mut FxHashSet<Temp>,
) {
    let is_between = |temp: Temp| match inner {
        Some(inner) if from == to => uses.is_within(temp, inner, OpKind::LOOP_BODY),
        _ => from < temp && temp < to,
    };
    for (temp, op) in (0u32..).zip(&code.ops) {
        let OpKind::If { then, orelse, .. } = &op.kind else { continue };
        if !is_between(temp) {
            continue;
        }
        for (number, arm) in [then, orelse].into_iter().enumerate() {
            let holds = |inner: Temp| uses.is_within(inner, temp, number);
            let renews = |temp: &Temp| matches!(&code.ops[*temp as usize].kind, OpKind::Store(written, _) if written == variable);
            if arm.iter().any(renews) && !holds(from) && !holds(to) {
                for temp in arm {
                    exclude(code, *temp, excluded_ops);
                }
            }
        }
    }
}

fn exclude(code: &Function, temp: Temp, excluded_ops: &mut FxHashSet<Temp>) {
    excluded_ops.extend(code.within(&[temp]));
}

/// The variable that held the key of a draw, if there was one.
fn key_variable(code: &Function, draw: &Consumption) -> Option<Variable> {
    let name = draw.written.as_deref()?;
    let slot = code.slots.iter().take(code.named as usize).position(|slot| **slot == *name)?;
    Some(Variable::Local(u32::try_from(slot).ok()?))
}
