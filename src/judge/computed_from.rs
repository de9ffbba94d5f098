//! What the values of a function are computed from.
//!
//! **Invariant:** the shape of an array is not computed from its elements.

use rustc_hash::FxHashSet;

use crate::ir::{Argument, Element, Function, OpKind, Temp, Uses, Variable};

/// The attribute of an array that is its shape.
const SHAPE: &str = "shape";

/// Most operations that are looked at to find what an array is computed from.
const STEPS: usize = 64;

/// A function whose values are followed back.
pub struct Origins<'a> {
    pub code: &'a Function,
    pub uses: &'a Uses,
}

impl<'a> Origins<'a> {
    fn kind(&self, temp: Temp) -> &'a OpKind {
        &self.code.ops[temp as usize].kind
    }

    /// What is stored in the variable that an operation reads.
    fn stored(&self, temp: Temp) -> impl Iterator<Item = Temp> {
        let stores = match self.kind(temp) {
            OpKind::Load(Variable::Local(slot)) => self.uses.stores_of(*slot),
            _ => &[],
        };
        stores.iter().filter_map(|store| match self.kind(*store) {
            OpKind::Store(_, value) => Some(*value),
            _ => None,
        })
    }

    /// The array of which an expression is the whole shape: `x.shape`, `jnp.shape(x)`, or a variable that only holds one of them.
    pub fn measured(&self, temp: Temp) -> Option<Temp> {
        let mut stored = self.stored(temp);
        let made = match (stored.next(), stored.next()) {
            (None, _) => temp,
            (Some(value), None) => value,
            (Some(_), Some(_)) => return None,
        };
        match self.kind(made) {
            OpKind::Attribute(array, name) => (&**name == SHAPE).then_some(*array),
            OpKind::Call(callee, arguments) => match (self.kind(*callee), &arguments[..]) {
                (OpKind::Attribute(_, name), [array]) => (&**name == SHAPE).then_some(array.value()),
                _ => None,
            },
            _ => None,
        }
    }

    /// Whether an array is computed from an argument, other than from its shape.
    pub fn is_computed(&self, array: Temp) -> bool {
        let first = u32::from(self.code.class.is_some());
        self.is_from(array, &|temp| match self.kind(temp) {
            OpKind::Load(Variable::Local(slot)) => (*slot as usize) < self.code.parameters.len() && *slot >= first,
            _ => false,
        })
    }

    /// Whether a value is one of some results, or computed from one, other than from its shape.
    pub fn is_from(&self, value: Temp, is_origin: &dyn Fn(Temp) -> bool) -> bool {
        let (mut work, mut seen) = (vec![value], FxHashSet::default());
        while let Some(temp) = work.pop().filter(|_| seen.len() < STEPS) {
            if !seen.insert(temp) {
                continue;
            }
            if is_origin(temp) {
                return true;
            }
            match self.kind(temp) {
                OpKind::Load(_) => work.extend(self.stored(temp)),
                OpKind::Call(callee, arguments) => {
                    work.push(*callee);
                    work.extend(arguments.iter().map(Argument::value));
                }
                OpKind::Attribute(of, name) if &**name != SHAPE => work.push(*of),
                OpKind::Item(of, _) | OpKind::Project(of, _) | OpKind::Unpack { value: of, .. } => work.push(*of),
                OpKind::Operate(_, parts, _) => work.extend(parts.iter().flatten()),
                OpKind::Build(_, elements) => work.extend(elements.iter().map(|element| match element {
                    Element::Value(part)
                    | Element::Spread(part)
                    | Element::Pair(_, part)
                    | Element::SpreadMapping(part) => *part,
                })),
                _ => {}
            }
        }
        false
    }
}
