//! Sources and derivations: constructors, `split`, `fold_in`, `clone`, and streams.
//!
//! **Invariant:** the term of a derived key contains everything that its key data depends on.

use crate::analysis::domain::implementation::Implementation;
use crate::analysis::domain::kinds::{BufferOp, KeyKind, Role};
use crate::analysis::domain::marks::{SEEDED, SUPPLIED, SUPPLIED_KEYS};
use crate::analysis::domain::term::{Symbol, Term, TermId, Terms};
use crate::analysis::domain::value::{DerivationId, Elements, Key, Val, Value};
use crate::analysis::library::consume;
use crate::analysis::machine::notes::{self, BufferUse};
use crate::analysis::machine::{Frame, Machine};
use crate::analysis::record::Derivation;
use crate::analysis::store::args::Arg;
use crate::analysis::store::{State, paths};
use crate::finding::Place;
use crate::ir::Name;
use crate::models::{Effect, NumberOp, SeedKind};

/// Modulus of seeds while 64-bit integers are off, as is JAX's default.
pub const SEED_MODULUS: i128 = 1 << 32;

/// Further facts about a derivation.
#[derive(Clone, Copy, Default)]
pub struct DerivationDetails {
    /// The number of keys that are made.
    pub number: Option<TermId>,
    /// Whether their number is the default of `split`.
    pub by_default: bool,
}

/// Records how a key was derived.
pub fn derived<'p>(
    machine: &mut Machine<'p>,
    frame: &Frame<'p>,
    place: Place,
    callee: &Name,
    term: TermId,
    how: DerivationDetails,
) -> DerivationId {
    let DerivationDetails { number, by_default } = how;
    machine.recorder.derive(Derivation {
        place,
        activation: frame.activation.clone(),
        callee: callee.clone(),
        term,
        number,
        by_default,
    })
}

/// `key(seed)` or `PRNGKey(seed)`.
pub fn seed<'p>(
    machine: &mut Machine<'p>,
    frame: &mut Frame<'p>,
    seed: Option<&Arg>,
    (implementation, kind): (Implementation, SeedKind),
    callee: &Name,
    place: Place,
) -> Value {
    let kind = match kind {
        SeedKind::Typed => KeyKind::Typed,
        SeedKind::Raw => KeyKind::Raw,
    };
    let Some(seed) = seed else {
        let term = machine.state.terms.fresh(Symbol::Opaque, "<key>", Some(place));
        let derivation = derived(machine, frame, place, callee, term, DerivationDetails::default());
        return Value::of(Val::Key(Key { term, kind, derivation }));
    };
    let value = seed.value.clone();
    paths::on_alternatives(machine, &value, |this, val| {
        if let Val::Words(key, word) = val {
            // `PRNGKey(key[1])`: 32 bits of another key as a seed; for a fresh key the very same one.
            let used = BufferUse::new(BufferOp::Reseed, reseed_text(callee, seed), true);
            notes::buffer_use(this, frame, *key, place, used);
            let data = this.state.term_of_val(val);
            let term = reseeded(&mut this.state.terms, *key, *word, data);
            let derivation = derived(this, frame, place, callee, term, DerivationDetails::default());
            return Value::of(Val::Key(Key { term, kind, derivation }));
        }
        if let Val::Array(_) | Val::Key(_) = val {
            let term = this.state.terms.fresh(Symbol::Opaque, "<key>", Some(place));
            let derivation = derived(this, frame, place, callee, term, DerivationDetails::default());
            return Value::of(Val::Key(Key { term, kind, derivation }));
        }
        let number = this.state.term_of_val(val);
        let number = unconverted(this, number);
        let (number, by_default) = match this.state.terms.as_exact_int(number) {
            Some(value) if !(0..SEED_MODULUS).contains(&value) => {
                (this.state.terms.int(value.rem_euclid(SEED_MODULUS)), true)
            }
            Some(value) => (this.state.terms.int(value), false),
            None => (number, false),
        };
        // One seed makes different keys under different implementations.
        let number = match implementation {
            Implementation::Given(implementation) => {
                this.state.terms.intern(Term::Apply(SEEDED.into(), [number, implementation].into()))
            }
            Implementation::Default => number,
        };
        let term = this.state.terms.intern(Term::Seed(number));
        let derivation = derived(this, frame, place, callee, term, DerivationDetails { number: None, by_default });
        Value::of(Val::Key(Key { term, kind, derivation }))
    })
}

/// The seed before `int(seed)`: a seed is an integer, otherwise no key is made.
fn unconverted(machine: &Machine<'_>, number: TermId) -> TermId {
    match machine.state.terms.get(number) {
        Term::Apply(path, parts) if parts.len() == 1 => {
            let callable = machine.program.models.callable(path).filter(|callable| callable.exact);
            match callable.map(|callable| &callable.effect) {
                Some(Effect::Number { op: NumberOp::Value | NumberOp::Float | NumberOp::Integer, .. }) => parts[0],
                _ => number,
            }
        }
        _ => number,
    }
}

/// The key made from a word of a fresh key: word 1 of `PRNGKey(s)` is `s`, word 0 is 0 (threefry, 64-bit integers off).
fn reseeded(terms: &mut Terms, key: Key, word: Option<u8>, data: TermId) -> TermId {
    let number = match (terms.get(key.term).clone(), word) {
        // Other implementations arrange their words differently.
        (Term::Seed(number), _) if matches!(terms.get(number), Term::Apply(name, _) if &**name == SEEDED) => data,
        (Term::Seed(number), Some(1)) => number,
        (Term::Seed(_), Some(0)) => terms.int(0),
        _ => data,
    };
    terms.intern(Term::Seed(number))
}

fn reseed_text(callee: &Name, seed: &Arg) -> String {
    let short = callee.rsplit('.').next().unwrap_or(callee);
    format!("{short}({})", seed.written.as_deref().unwrap_or("…"))
}

/// `split(key, num)`: consumes the parent, makes its children.
pub fn split<'p>(
    machine: &mut Machine<'p>,
    frame: &mut Frame<'p>,
    key: &Arg,
    num: Option<&Arg>,
    callee: &Name,
    place: Place,
) -> Value {
    let dims = split_dims(&mut machine.state, num);
    let number = match dims.as_deref() {
        Some([Some(only)]) => Some(*only),
        _ => None,
    };
    consume::consume(machine, frame, key, Role::Split, callee, place);
    let value = key.value.clone();
    paths::on_alternatives(machine, &value, |this, val| {
        let Some(parent) = consume::as_key(&mut this.state.terms, val) else {
            return this.state.terms.opaque("<split>", Some(place));
        };
        let family = if this.state.terms.too_deep(parent.term) {
            this.state.terms.fresh(Symbol::Opaque, "<children>", Some(place))
        } else {
            this.state.terms.intern(Term::Children(parent.term))
        };
        let derivation = derived(this, frame, place, callee, family, DerivationDetails { number, by_default: false });
        let Some(dims) = dims.clone() else { return Value::term(family) };
        let start = this.state.terms.int(0);
        Value::array(parent.kind, derivation, Some(dims.into()), Elements::whole(family, start))
    })
}

/// The lengths of the axes of the children; `None` if there may be any number of axes: `split(key, x.shape)`.
fn split_dims(state: &mut State, num: Option<&Arg>) -> Option<Vec<Option<TermId>>> {
    let Some(num) = num else { return Some(vec![Some(state.terms.int(2))]) };
    match num.value.single().cloned() {
        Some(Val::Tuple(parts)) => Some(parts.iter().map(|part| Some(state.term_of(part))).collect()),
        Some(Val::Term(term)) => {
            let is_shape = matches!(state.terms.get(term), Term::Attribute(_, name, _) if &**name == "shape");
            (!is_shape).then(|| vec![Some(term)])
        }
        _ => Some(vec![None]),
    }
}

/// `fold_in(key, data)`: derives one key, consumes nothing.
pub fn fold_in<'p>(
    machine: &mut Machine<'p>,
    frame: &mut Frame<'p>,
    key: &Arg,
    data: Option<&Arg>,
    callee: &Name,
    place: Place,
) -> Value {
    let number = match data {
        Some(data) => machine.state.possible(&data.value),
        None => Value::term(machine.state.terms.fresh(Symbol::Opaque, "<data>", Some(place))),
    };
    consume::consume(machine, frame, key, Role::Fold, callee, place);
    let value = key.value.clone();
    paths::on_alternatives(machine, &value, |this, val| {
        let Some(parent) = consume::as_key(&mut this.state.terms, val) else {
            return this.state.terms.opaque("<fold_in>", Some(place));
        };
        if let Val::Term(term) = val {
            this.recorder.assume_scalar(*term);
        }
        paths::on_alternatives(this, &number, |this, data| {
            let term = if this.state.terms.too_deep(parent.term) {
                this.state.terms.fresh(Symbol::Opaque, "<folded>", Some(place))
            } else {
                let data = this.state.term_of_val(data);
                this.state.terms.intern(Term::Fold(parent.term, data))
            };
            let derivation = derived(this, frame, place, callee, term, DerivationDetails::default());
            Value::of(Val::Key(Key { term, kind: parent.kind, derivation }))
        })
    })
}

/// `clone(key)`: the same key, which may be used once more.
pub fn clone_key<'p>(
    machine: &mut Machine<'p>,
    frame: &mut Frame<'p>,
    key: &Arg,
    callee: &Name,
    place: Place,
) -> Value {
    let value = key.value.clone();
    paths::on_alternatives(machine, &value, |this, val| {
        let Some(parent) = consume::as_key(&mut this.state.terms, val) else { return Value::of(val.clone()) };
        this.context.loop_instances += 1;
        let term = this.state.terms.intern(Term::Clone(parent.term, this.context.loop_instances));
        let derivation = derived(this, frame, place, callee, term, DerivationDetails::default());
        Value::of(Val::Key(Key { term, kind: parent.kind, derivation }))
    })
}

/// Fresh keys from a stateful source.
pub fn supplied_keys(machine: &mut Machine<'_>, place: Place) -> Value {
    let family = machine.state.terms.fresh(Symbol::Opaque, SUPPLIED_KEYS, Some(place));
    machine.recorder.declare(family);
    let start = machine.state.terms.int(0);
    Value::array(KeyKind::Unknown, 0, Some(vec![None].into()), Elements::whole(family, start))
}

/// A fresh key from a stream. While a mapped function runs, a stream that was made outside gives all lanes one key.
pub fn supplied_by(machine: &mut Machine<'_>, stream: TermId, place: Place) -> Value {
    let is_shared = machine.transforms.lanes.last().is_some_and(|lane| stream < lane.born);
    let key = supplied_key(&mut machine.state.terms, place);
    if is_shared && let Some(Val::Key(Key { term, .. })) = key.single() {
        machine.transforms.shared.insert(*term);
    }
    key
}

/// A fresh key from a stateful source.
pub fn supplied_key(terms: &mut Terms, place: Place) -> Value {
    let term = terms.fresh(Symbol::Opaque, SUPPLIED, Some(place));
    Value::of(Val::Key(Key { term, kind: KeyKind::Unknown, derivation: 0 }))
}
