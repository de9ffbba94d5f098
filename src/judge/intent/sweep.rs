//! Loops that try every configuration with the same seeds or the same key.
//!
//! **Invariant:** a loop over seeds has several of them, made in an inner loop. Functions are compared only if a name says so.

use crate::analysis::domain::term::Term;
use crate::analysis::record::{Activation, Consumption, Derivation, Recording};
use crate::finding::{Intent, IntentKind, Place};
use crate::ir::{OpKind, Temp, Variable};
use crate::judge::intent::pair::{Pair, because, calls_apart, intent};

/// A loop calls one function after another with a key that it makes again from one seed, and its names say that it compares them: `for
/// method in (search, climb): scores[method.__name__] = method(key(0), f)`.
pub fn methods_compared(run: &Recording<'_>, pair: &Pair<'_>) -> Option<Intent> {
    let calls = calls_apart(run, pair, 0).filter(|calls| calls.once == calls.again)?;
    let code = calls.code;
    let OpKind::Call(callee, _) = &code.ops[calls.once as usize].kind else { return None };
    let OpKind::Load(Variable::Local(slot)) = &code.ops[*callee as usize].kind else { return None };
    let is_made_again = pair.first.target.derivation != pair.second.target.derivation
        && matches!(run.terms.get(pair.second.target.term), Term::Seed(_));
    let is_next = |temp: Temp| match &code.ops[temp as usize].kind {
        OpKind::Next(_) => true,
        OpKind::Project(of, _) => match &code.ops[*of as usize].kind {
            OpKind::Unpack { value, .. } => matches!(code.ops[*value as usize].kind, OpKind::Next(_)),
            _ => false,
        },
        _ => false,
    };
    let steps = code.ops.iter().any(
        |op| matches!(&op.kind, OpKind::Store(Variable::Local(stored), value) if stored == slot && is_next(*value)),
    );
    let words = &run.program.models.words;
    let names = [&*code.name].into_iter().chain(code.slots.iter().map(|name| &**name));
    let compares = pair.first.activation.function != pair.second.activation.function
        && names.into_iter().any(|name| words.names_a_comparison(name));
    (is_made_again && steps && compares).then(|| intent(IntentKind::Comparison, calls.place(*callee)))
}

/// An inner loop makes a key, by a call that makes keys from several seeds, and an outer loop repeats it: each
/// iteration of the outer loop goes through the seeds of the inner one.
pub fn seed_sweep(run: &Recording<'_>, pair: &Pair<'_>) -> Option<Intent> {
    let (key, outer) = (pair.second, pair.repeated_by.as_ref()?);
    key.iteration.as_ref().filter(|inner| inner.instance != outer.instance)?;
    // Seeds that collide by arithmetic, as those of `key(epoch + step)` do, are equal in different iterations of the next loop.
    let next = |event: &Consumption| {
        let iterations = event.iterations();
        let at = iterations.iter().position(|iteration| iteration.instance == outer.instance)?;
        iterations.get(at.checked_sub(1)?).cloned()
    };
    let inner = next(key)?;
    next(pair.first).filter(|next| next.copy == inner.copy)?;
    let mut seeds = run.terms.ancestors(key.target.term).into_iter().chain([key.target.term]);
    let seed = seeds.find(|term| matches!(run.terms.get(*term), Term::Seed(_)))?;
    let root = root_of(&key.activation);
    let of_run = || run.log.derivations.iter().filter(|derivation| root_of(&derivation.activation) == root);
    let made: Vec<Place> = of_run().filter(|made| made.term == seed).map(|made| made.place).collect();
    // A function that makes its key and then loops, as a generator of keys does, loops over no seeds.
    let is_made_before = |made: &Derivation| {
        let module = run.module(made.activation.module);
        module.file == inner.place.file
            && module.innermost(inner.place.span) == made.activation.function
            && made.place.span.start < inner.place.span.start
    };
    if of_run().any(|made| made.term == seed && is_made_before(made)) {
        return None;
    }
    // A seed that is made once is used by all iterations of both loops.
    let is_made_again = made.len() > 1;
    let other = of_run().find(|other| {
        other.term != seed && made.contains(&other.place) && matches!(run.terms.get(other.term), Term::Seed(_))
    });
    let other = other.filter(|_| is_made_again)?;
    Some(because(IntentKind::Comparison, "each iteration loops over the same list of seeds", other.place))
}

/// The number of the outermost activation.
fn root_of(activation: &Activation) -> u32 {
    let mut outermost = activation;
    while let Some((caller, _)) = &outermost.caller {
        outermost = caller;
    }
    outermost.id
}
