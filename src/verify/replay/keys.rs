//! Keys: making, deriving and expanding them, and recording what draws from them.
//!
//! **Invariant:** every derivation is that of the reference PRNG under JAX's defaults. A placeholder key has a first word that no seed
//! produces, and is marked, as are all keys derived from it.

use std::rc::Rc;

use super::DrawKind;
use super::constants::{Constants, constant};
use super::machine::{Draw, Machine};
use super::step::ELEMENTS;
use super::symbol::Symbol;
use super::value::{Args, Family, KeyArray, KeyKind, Value, contents};
use crate::arrays::{Entry, Map};
use crate::finding::Place;
use crate::ir::Name;
use crate::prng::derive;
use crate::prng::implementation::Implementation;
use crate::prng::keys::Keys;
use crate::prng::mode::Mode;

/// The first word of placeholder keys: keys of 32-bit seeds have 0.
pub(super) const PLACEHOLDER: u32 = 1;

/// Most keys of an array that are expanded when it is passed as a whole.
const WHOLE: usize = 64;

/// Most draws of one path.
const DRAWS: usize = 4_096;

/// The keys in a value, as far as they are expanded.
#[derive(Default)]
pub(super) struct ExpandedKeys {
    pub(super) keys: Vec<Vec<u32>>,
    pub(super) is_known: bool,
}

/// Element `index` along the first axis.
pub(super) fn element<'p>(array: &KeyArray, index: usize) -> Option<Value<'p>> {
    gather(array, &Map::element(array.keys.shape(), 0, index)?)
}

/// These elements along the first axis.
pub(super) fn taken<'p>(array: &KeyArray, elements: &[usize]) -> Option<Value<'p>> {
    gather(array, &Map::take(array.keys.shape(), 0, elements)?)
}

/// What a subscript takes.
pub(super) fn selected<'p>(array: &KeyArray, entries: &[Entry]) -> Option<Value<'p>> {
    gather(array, &Map::select(array.keys.shape(), entries)?)
}

fn gather<'p>(array: &KeyArray, map: &Map) -> Option<Value<'p>> {
    Some(array.with(array.keys.gather(&map.shape, &map.positions).ok()?))
}

/// Child `index` of a family.
pub(super) fn child<'p>(family: &Family, index: u32) -> Value<'p> {
    // With partitionable threefry, `split(key, n)[i]` is `fold_in(key, i)` for any `n`.
    match derive::fold_in(&family.parent, family.from.saturating_add(index)) {
        Ok(keys) if family.rank <= 1 => Value::keys(keys, false, family.kind),
        Ok(parent) => {
            Value::Family(Rc::new(Family { parent, from: 0, rank: family.rank - 1, count: None, kind: family.kind }))
        }
        Err(_) => Value::None,
    }
}

impl<'p> Machine<'p> {
    /// The placeholder key of a symbol.
    pub(super) fn placeholder(&mut self, symbol: Symbol) -> Option<Keys> {
        let number = self.symbols.key(symbol);
        Keys::new(Implementation::default(), &[], vec![PLACEHOLDER, number]).ok()
    }

    /// The single key, or array of keys, that a value is.
    pub(super) fn key_of(&mut self, value: &Value<'p>) -> Option<Rc<KeyArray>> {
        match value {
            Value::Keys(array) => Some(array.clone()),
            Value::Unknown(symbol) => {
                let keys = self.placeholder(*symbol)?;
                Some(Rc::new(KeyArray { keys, is_known: false, kind: KeyKind::Unknown }))
            }
            _ => None,
        }
    }

    /// All keys that a value holds.
    pub(super) fn expand_keys(&mut self, value: &Value<'p>) -> ExpandedKeys {
        let mut expanded = ExpandedKeys { keys: Vec::new(), is_known: true };
        self.collect(value, &mut expanded, true, 4);
        expanded
    }

    /// All keys that a value holds and that are keys by now.
    pub(super) fn held(&mut self, value: &Value<'p>) -> ExpandedKeys {
        let mut expanded = ExpandedKeys { keys: Vec::new(), is_known: true };
        self.collect(value, &mut expanded, false, 4);
        expanded
    }

    fn collect(&mut self, value: &Value<'p>, into: &mut ExpandedKeys, demands: bool, depth: u32) {
        if depth == 0 || into.keys.len() >= WHOLE {
            return;
        }
        match value {
            Value::Keys(array) => {
                into.keys.extend(array.keys.iter().take(WHOLE).map(<[u32]>::to_vec));
                into.is_known &= array.is_known;
            }
            Value::Family(family) => {
                for index in 0..4 {
                    let value = child(family, index);
                    self.collect(&value, into, demands, depth - 1);
                }
                into.is_known = false;
            }
            Value::Unknown(symbol) => {
                into.is_known = false;
                if demands || self.symbols.known_key(*symbol).is_some() {
                    into.keys.extend(self.placeholder(*symbol).map(|keys| keys.words().to_vec()));
                }
            }
            Value::Stack(stack) => {
                into.is_known &= stack.is_whole;
                for item in stack.items.clone() {
                    self.collect(&item, into, demands, depth - 1);
                }
            }
            other => {
                for value in contents(other).into_iter().flatten() {
                    self.collect(&value, into, demands, depth - 1);
                }
            }
        }
    }

    /// Logs keys that are passed at `place`.
    pub(super) fn log(&mut self, kind: DrawKind, callee: &Name, place: Place, expanded: ExpandedKeys) {
        self.log_with(kind, callee, place, expanded, None, Vec::new());
    }

    pub(super) fn log_with(
        &mut self,
        kind: DrawKind,
        callee: &Name,
        place: Place,
        expanded: ExpandedKeys,
        numbers: Option<Constants>,
        maybe: Vec<Symbol>,
    ) {
        if self.suspended_logs > 0 || expanded.keys.is_empty() && maybe.is_empty() {
            return;
        }
        if self.draws.len() >= DRAWS {
            self.is_bounded = true;
            return;
        }
        let mut way = self.stack.clone();
        way.push((place, self.here.1));
        self.draws.push(Draw {
            kind,
            way,
            callee: callee.clone(),
            keys: expanded.keys,
            maybe,
            is_known: expanded.is_known,
            lanes: self.lanes.clone(),
            numbers,
        });
    }

    /// A number, or the placeholder of a symbol; and whether it is known.
    fn number_of(&mut self, value: &Value<'p>) -> (i128, bool) {
        if let Some(number) = value.int() {
            return (number, true);
        }
        let symbol = self.symbol_of(value);
        (self.symbols.number(symbol), false)
    }

    /// `key(seed)`
    pub(super) fn seed(&mut self, seed: &Value<'p>, kind: KeyKind) -> Value<'p> {
        let (number, is_known) = self.number_of(seed);
        match derive::key(Mode::default(), Implementation::default(), number) {
            Ok(keys) => Value::keys(keys, is_known, kind),
            Err(_) => self.unknown("<key>"),
        }
    }

    /// `split(key, num)`
    pub(super) fn split(&mut self, key: &Value<'p>, num: Option<&Value<'p>>) -> Value<'p> {
        let Some(array) = self.key_of(key) else { return self.unknown("<keys>") };
        let keys = &array.keys;
        let shape: Option<Vec<usize>> = match num {
            None => Some(vec![2]),
            Some(Value::Tuple(values)) => values.iter().map(length_of).collect(),
            Some(Value::List(values)) => values.borrow().iter().map(length_of).collect(),
            Some(other) => length_of(other).map(|length| vec![length]),
        };
        let size = shape.as_ref().and_then(|shape| shape.iter().try_fold(keys.len(), |size, n| size.checked_mul(*n)));
        if let (Some(shape), Some(size)) = (&shape, size)
            && size <= ELEMENTS
        {
            return match derive::split(Mode::default(), keys, shape) {
                Ok(children) => array.with(children),
                Err(_) => self.unknown("<keys>"),
            };
        }
        if !keys.shape().is_empty() {
            return self.unknown("<keys>");
        }
        let rank = match num {
            Some(Value::Tuple(values)) => u8::try_from(values.len()).unwrap_or(u8::MAX),
            _ => 1,
        };
        let count = num.filter(|num| !matches!(num, Value::Tuple(_))).map(|num| self.symbol_of(num));
        Value::Family(Rc::new(Family { parent: keys.clone(), from: 0, rank, count, kind: array.kind }))
    }

    /// `fold_in(key, data)`
    pub(super) fn fold_in(&mut self, key: &Value<'p>, data: &Value<'p>) -> Value<'p> {
        let Some(array) = self.key_of(key) else { return self.unknown("<key>") };
        let (number, is_known) = self.number_of(data);
        let data = u32::try_from(number.rem_euclid(1 << 32)).unwrap_or(0);
        match derive::fold_in(&array.keys, data) {
            Ok(keys) => Value::keys(keys, array.is_known && is_known, array.kind),
            Err(_) => self.unknown("<key>"),
        }
    }
}

/// The arguments of a sampler other than its key, if they are small constants.
pub(super) fn constants(args: &Args<'_>, key: &str, position: Option<usize>) -> Option<Constants> {
    let positional = args.positional.iter().enumerate().filter(|(index, _)| Some(*index) != position);
    let positional = positional.map(|(_, value)| Some((None, constant(value, 4)?)));
    let keywords = args.keywords.iter().filter(|(name, _)| &**name != key);
    let keywords = keywords.map(|(name, value)| Some((Some(name.clone()), constant(value, 4)?)));
    if args.is_open { None } else { positional.chain(keywords).collect() }
}

fn length_of(value: &Value<'_>) -> Option<usize> {
    value.int().and_then(|length| usize::try_from(length).ok())
}
