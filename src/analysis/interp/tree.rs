//! Trees: `tree.map`, leaves, flatten.
//!
//! **Invariant:** a tree of known shape is walked leaf by leaf; one of unknown shape stands for at least two leaves.

use crate::analysis::domain::guard::Guard;
use crate::analysis::domain::term::TermId;
use crate::analysis::domain::value::{ObjectId, Val, Value};
use crate::analysis::heap::{Entry, Item, Kind};
use crate::finding::Place;
use crate::models::{Callable, TreeOp};

use super::bind::Args;
use super::{Frame, Machine};

/// Deepest tree that is walked.
const DEPTH: u32 = 6;

/// What is done with corresponding leaves; the flag says that they may stand for many.
type EachLeaf<'a, 'p> = dyn FnMut(&mut Machine<'p>, &mut Frame<'p>, &[Value], bool) -> Value + 'a;

impl<'p> Machine<'p> {
    /// `tree.map(function, first, *rest)`
    pub(super) fn run_tree_map(
        &mut self,
        frame: &mut Frame<'p>,
        function: &Value,
        trees: &[Value],
        leading: usize,
        place: Place,
    ) -> Value {
        let run = self.recorder.log.trees.entry(place).or_default();
        if let Some(Val::Function(closure)) = function.single() {
            run.insert((closure.module, closure.function));
        }
        let (instance, outer) = self.begin_loop();
        let mut copy = 0;
        let result = self.map_leaves(frame, trees, DEPTH, &mut |this, frame, leaves, more| {
            let mut result = Value::unbound();
            // A leaf of unknown shape may be many.
            for _ in 0..=u32::from(more) {
                this.begin_copy(instance, copy, place, outer.clone());
                copy += 1;
                let mut values: Vec<Value> = (0..leading).map(|_| this.opaque("<path>", Some(place))).collect();
                values.extend(if more {
                    let index = this.terms.int(i128::from(copy));
                    leaves.iter().map(|leaf| this.slice_tree(leaf, index)).collect::<Vec<_>>()
                } else {
                    leaves.to_vec()
                });
                result = this.call_value(frame, function, Args::positional(values), Some(place));
            }
            if more { this.opaque("<mapped tree>", Some(place)) } else { result }
        });
        self.end_loop(outer);
        result
    }

    /// Walks trees of one shape together.
    fn map_leaves(&mut self, frame: &mut Frame<'p>, trees: &[Value], depth: u32, each: &mut EachLeaf<'_, 'p>) -> Value {
        let first = match trees {
            [only] if only.alternatives().len() > 1 => {
                let only = self.possible(only);
                return self.on_alternatives(&only, |this, val| {
                    this.map_leaves(frame, &[Value::of(val.clone())], depth, each)
                });
            }
            _ => trees.first().and_then(Value::single).cloned(),
        };
        let Some(first) = first else {
            return each(self, frame, trees, true);
        };
        let Some(depth) = depth.checked_sub(1) else { return each(self, frame, trees, true) };
        match &first {
            Val::Tuple(parts) => {
                let parts: Vec<Value> = (0..parts.len())
                    .map(|index| {
                        let column: Vec<Value> = trees.iter().map(|tree| self.tree_part(tree, index)).collect();
                        self.map_leaves(frame, &column, depth, each)
                    })
                    .collect();
                Value::of(Val::Tuple(parts.into()))
            }
            Val::Object(id) => match self.store.objects[id.0 as usize].kind.clone() {
                Kind::List { items, unknown: false } => {
                    let items: Vec<Item> = items
                        .iter()
                        .enumerate()
                        .map(|(index, item)| {
                            let column: Vec<Value> = trees.iter().map(|tree| self.tree_part(tree, index)).collect();
                            Item { guard: item.guard, value: self.map_leaves(frame, &column, depth, each) }
                        })
                        .collect();
                    let kind = Kind::List { items, unknown: false };
                    Value::of(Val::Object(self.allocate(kind, "<tree>", None)))
                }
                Kind::Dict { entries, unknown: false } => {
                    let entries: Vec<Entry> = entries
                        .iter()
                        .map(|entry| {
                            let column: Vec<Value> =
                                trees.iter().map(|tree| self.item_by_term(tree, entry.key)).collect();
                            Entry { value: self.map_leaves(frame, &column, depth, each), ..entry.clone() }
                        })
                        .collect();
                    let kind = Kind::Dict { entries, unknown: false };
                    Value::of(Val::Object(self.allocate(kind, "<tree>", None)))
                }
                _ => each(self, frame, trees, true),
            },
            Val::Key(_) | Val::Array(_) => each(self, frame, trees, false),
            Val::Term(term) if self.terms.is_constant(*term) => each(self, frame, trees, false),
            Val::Term(term)
                if matches!(
                    self.terms.get(*term),
                    crate::analysis::domain::term::Term::Apply(name, _) if name.starts_with("jax.numpy")
                ) =>
            {
                each(self, frame, trees, false)
            }
            _ => each(self, frame, trees, true),
        }
    }

    fn tree_part(&mut self, tree: &Value, index: usize) -> Value {
        match tree.single() {
            Some(Val::Tuple(parts)) => parts.get(index).cloned().unwrap_or_default(),
            Some(Val::Object(id)) => match &self.store.objects[id.0 as usize].kind {
                Kind::List { items, .. } => items.get(index).map(|item| item.value.clone()).unwrap_or_default(),
                _ => self.opaque("<part>", None),
            },
            Some(Val::Array(array)) => {
                let array = array.clone();
                let index = self.terms.int(i128::try_from(index).unwrap_or(0));
                self.array_element(&array, index)
            }
            _ => {
                let term = self.term_of(tree);
                let index = self.terms.int(i128::try_from(index).unwrap_or(0));
                Value::term(self.terms.intern(crate::analysis::domain::term::Term::Item(term, index, 0)))
            }
        }
    }

    /// Element `index` of every array in an object.
    pub(super) fn slice_object(&mut self, id: ObjectId, index: TermId) -> Value {
        let kind = match self.store.objects[id.0 as usize].kind.clone() {
            Kind::Dict { entries, unknown } => {
                let entries = entries
                    .into_iter()
                    .map(|entry| Entry { value: self.slice_tree(&entry.value, index), ..entry })
                    .collect();
                Kind::Dict { entries, unknown }
            }
            Kind::List { items, unknown } => {
                let items = items
                    .into_iter()
                    .map(|item| Item { guard: item.guard, value: self.slice_tree(&item.value, index) })
                    .collect();
                Kind::List { items, unknown }
            }
            Kind::Instance if self.is_record(id) => {
                let object = self.store.objects[id.0 as usize].clone();
                let copy = self.allocate_with(Kind::Instance, object.symbol, object.class, object.open);
                let whole =
                    self.terms.intern(crate::analysis::domain::term::Term::Item(object.symbol, index, object.epoch));
                let attributes =
                    object.attributes.into_iter().map(|(name, value)| (name, self.slice_tree(&value, index)));
                let attributes = attributes.collect();
                let target = &mut self.store.objects[copy.0 as usize];
                (target.attributes, target.items, target.symbol) = (attributes, object.items, whole);
                return Value::of(Val::Object(copy));
            }
            _ => {
                let term = self.term_of_val(&Val::Object(id));
                let item = self.terms.intern(crate::analysis::domain::term::Term::Item(term, index, 0));
                return Value::term(item);
            }
        };
        Value::of(Val::Object(self.allocate(kind, "<slice>", None)))
    }

    fn leaves_of(&mut self, value: &Value, leaves: &mut Vec<Item>, depth: u32) -> bool {
        let Some(depth) = depth.checked_sub(1) else { return false };
        match value.single().cloned() {
            Some(Val::Tuple(parts)) => parts.iter().all(|part| self.leaves_of(part, leaves, depth)),
            Some(Val::Object(id)) => match self.store.objects[id.0 as usize].kind.clone() {
                Kind::List { items, unknown: false } => {
                    items.iter().all(|item| self.leaves_of(&item.value, leaves, depth))
                }
                Kind::Dict { mut entries, unknown: false } => {
                    // JAX orders the leaves of a dict by key.
                    entries.sort_by_key(|entry| self.terms.describe(entry.key));
                    entries.iter().all(|entry| self.leaves_of(&entry.value, leaves, depth))
                }
                _ => false,
            },
            Some(Val::Term(term)) if self.terms.get(term) == &crate::analysis::domain::term::Term::None => true,
            Some(Val::Key(_) | Val::Array(_)) => {
                leaves.push(Item { guard: Guard::TRUE, value: value.clone() });
                true
            }
            Some(Val::Term(term))
                if self.terms.is_constant(term)
                    || matches!(self.terms.get(term), crate::analysis::domain::term::Term::Apply(..)) =>
            {
                leaves.push(Item { guard: Guard::TRUE, value: value.clone() });
                true
            }
            _ => false,
        }
    }

    /// Taking trees apart and building them.
    pub(super) fn tree(
        &mut self,
        _frame: &mut Frame<'p>,
        op: TreeOp,
        callable: &'p Callable,
        of: &str,
        args: &Args,
        place: Place,
    ) -> Value {
        let tree = args.of(callable, of).map(|arg| arg.value.clone()).unwrap_or_default();
        let mut leaves = Vec::new();
        let known = self.leaves_of(&tree, &mut leaves, DEPTH);
        let term = self.term_of(&tree);
        let list = |this: &mut Self, leaves: Vec<Item>| {
            if known {
                let kind = Kind::List { items: leaves, unknown: false };
                Value::of(Val::Object(this.allocate(kind, "<leaves>", Some(place))))
            } else {
                let name = "jax.tree.leaves".into();
                Value::term(this.terms.intern(crate::analysis::domain::term::Term::Apply(name, Box::new([term]))))
            }
        };
        match op {
            TreeOp::Leaves => list(self, leaves),
            TreeOp::Flatten => {
                let leaves = list(self, leaves);
                let structure = self.opaque("<structure>", Some(place));
                Value::of(Val::Tuple([leaves, structure].into()))
            }
            TreeOp::Transpose | TreeOp::Combine => tree,
            TreeOp::Partition => Value::of(Val::Tuple([tree.clone(), tree].into())),
            TreeOp::Unflatten | TreeOp::Structure | TreeOp::LeavesWithPath | TreeOp::FlattenWithPath | TreeOp::All => {
                self.opaque("<tree>", Some(place))
            }
        }
    }
}
