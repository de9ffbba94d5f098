//! Symbols: unknown values of the program, identified by their origin.
//!
//! **Invariant:** hash-consed: equal computations on the same symbols are the same symbol. What is learned about a symbol on a path (it is
//! true, it is `None`, it equals a constant) holds for all later queries about it.

use std::hash::BuildHasher;

use hashbrown::HashTable;
use hashbrown::hash_table::Entry;
use rustc_hash::{FxBuildHasher, FxHashMap, FxHashSet};

use super::value::Value;
use crate::ir::Name;

/// A symbol.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(super) struct Symbol(u32);

/// How a symbol came about.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(super) enum Node {
    /// Something that nothing else is equal to, with a name to call it by.
    Fresh(u32, Name),
    /// `object.name`, at an epoch of the object's contents.
    Attribute(Symbol, Name, u32),
    /// `object[index]`
    Item(Symbol, Symbol, u32),
    /// A pure function or operator.
    Apply(Name, Box<[Symbol]>),
    Int(i128),
    Text(Name),
    /// `None`, `True`, `1.5`, …: other constants, as written.
    Constant(Name),
}

/// What is known of a symbol on this path.
#[derive(Clone, Debug, Default)]
struct Known {
    truth: Option<bool>,
    is_none: Option<bool>,
    equals: Option<Symbol>,
}

/// All symbols of one path.
#[derive(Clone, Default)]
pub(super) struct Symbols {
    nodes: Vec<Node>,
    /// Symbols by the hash of their nodes.
    index: HashTable<Symbol>,
    known: FxHashMap<Symbol, Known>,
    numbers: FxHashMap<Symbol, i128>,
    keys: FxHashMap<Symbol, u32>,
    epochs: FxHashMap<Symbol, u32>,
    /// Results of calls: their names are those of what was called.
    results: FxHashSet<Symbol>,
    /// What was decided, in order.
    decided: Vec<(Symbol, bool)>,
    fresh: u32,
}

/// A query about a symbol: already decided, or to be chosen now.
pub(super) enum Query {
    Answered(bool),
    /// Choose the truth of this symbol; negate it if the flag is set.
    Open(Symbol, bool),
}

/// Deepest nesting of symbols that is searched for a part.
const PARTS: u32 = 6;

/// The first of the placeholder numbers, which programs do not write.
const FIRST_PLACEHOLDER: i128 = 1_000_003;

/// How far apart they are, so that sums with small numbers differ.
const PLACEHOLDER_DISTANCE: i128 = 65_537;

impl Symbols {
    pub(super) fn intern(&mut self, node: Node) -> Symbol {
        let Self { nodes, index, .. } = self;
        let is_it = |symbol: &Symbol| nodes.get(symbol.0 as usize) == Some(&node);
        let hash_of = |node: &Node| FxBuildHasher.hash_one(node);
        let entry = index.entry(hash_of(&node), is_it, |symbol| hash_of(&nodes[symbol.0 as usize]));
        match entry {
            Entry::Occupied(known) => *known.get(),
            Entry::Vacant(new) => {
                let symbol = Symbol(u32::try_from(nodes.len()).unwrap_or(u32::MAX));
                new.insert(symbol);
                nodes.push(node);
                symbol
            }
        }
    }

    /// How many there are.
    pub(super) fn len(&self) -> usize {
        self.nodes.len()
    }

    pub(super) fn node(&self, symbol: Symbol) -> Option<&Node> {
        self.nodes.get(symbol.0 as usize)
    }

    pub(super) fn fresh(&mut self, name: &str) -> Symbol {
        self.fresh += 1;
        self.intern(Node::Fresh(self.fresh, name.into()))
    }

    /// The unknown result of a call.
    pub(super) fn result(&mut self, callee: &str) -> Symbol {
        let symbol = self.fresh(callee);
        self.results.insert(symbol);
        symbol
    }

    pub(super) fn int(&mut self, value: i128) -> Symbol {
        self.intern(Node::Int(value))
    }

    pub(super) fn apply(&mut self, name: &str, parts: &[Symbol]) -> Symbol {
        self.intern(Node::Apply(name.into(), parts.into()))
    }

    pub(super) fn attribute(&mut self, of: Symbol, name: &Name) -> Symbol {
        let epoch = self.epoch(of);
        self.intern(Node::Attribute(of, name.clone(), epoch))
    }

    pub(super) fn item(&mut self, of: Symbol, index: Symbol) -> Symbol {
        let epoch = self.epoch(of);
        // `xs[a:][i]` is `xs[a + i]`.
        if let (Some(Node::Item(base, slice, _)), Some(Node::Int(index))) = (self.node(of), self.node(index))
            && let (base, index) = (*base, *index)
            && index >= 0
            && let Some(Node::Apply(name, parts)) = self.node(*slice)
            && &**name == "slice"
            && let [from, _, step] = **parts
            && matches!(self.node(step), Some(Node::Constant(none)) if &**none == "None")
        {
            let from = match self.node(from) {
                Some(Node::Int(from)) if *from >= 0 => Some(*from),
                Some(Node::Constant(none)) if &**none == "None" => Some(0),
                _ => None,
            };
            if let Some(at) = from.and_then(|from| from.checked_add(index)) {
                let at = self.int(at);
                return self.item(base, at);
            }
        }
        self.intern(Node::Item(of, index, epoch))
    }

    pub(super) fn epoch(&self, symbol: Symbol) -> u32 {
        self.epochs.get(&symbol).copied().unwrap_or(0)
    }

    /// What the symbol holds may have changed.
    pub(super) fn invalidate(&mut self, symbol: Symbol) {
        *self.epochs.entry(symbol).or_insert(0) += 1;
    }

    /// How the program writes it, if it is a variable or a part of one.
    pub(super) fn written(&self, symbol: Symbol) -> Option<Name> {
        let mut root = symbol;
        while let Some(Node::Attribute(of, ..) | Node::Item(of, ..)) = self.node(root) {
            root = *of;
        }
        let is_variable = matches!(self.node(root), Some(Node::Fresh(..))) && !self.results.contains(&root);
        self.name(symbol).filter(|name| is_variable && !name.contains('<'))
    }

    /// A name for it, from its origin.
    pub(super) fn name(&self, symbol: Symbol) -> Option<Name> {
        match self.node(symbol)? {
            Node::Fresh(_, name) => Some(name.clone()),
            Node::Attribute(of, name, _) => {
                let of = self.name(*of)?;
                Some(format!("{of}.{name}").into())
            }
            Node::Item(of, index, _) => {
                let of = self.name(*of)?;
                let index = match self.node(*index)? {
                    Node::Int(index) => index.to_string(),
                    Node::Text(text) => format!("'{text}'"),
                    _ => return Some(of),
                };
                Some(format!("{of}[{index}]").into())
            }
            _ => None,
        }
    }

    /// The placeholder number of the symbol.
    pub(super) fn number(&mut self, symbol: Symbol) -> i128 {
        self.number_within(symbol, 16)
    }

    fn number_within(&mut self, symbol: Symbol, depth: u32) -> i128 {
        if let Some(equal) = self.known.get(&symbol).and_then(|known| known.equals)
            && let Some(Node::Int(value)) = self.node(equal)
        {
            return *value;
        }
        match self.node(symbol).cloned() {
            Some(Node::Int(value)) => return value,
            Some(Node::Apply(name, parts)) if depth > 0 && matches!(&*name, "+" | "-" | "*") && parts.len() == 2 => {
                let (a, b) = (self.number_within(parts[0], depth - 1), self.number_within(parts[1], depth - 1));
                let result = match &*name {
                    "+" => a.checked_add(b),
                    "-" => a.checked_sub(b),
                    _ => a.checked_mul(b),
                };
                if let Some(result) = result.filter(|result| (0..i128::from(u32::MAX)).contains(result)) {
                    return result;
                }
            }
            _ => {}
        }
        let next = FIRST_PLACEHOLDER + PLACEHOLDER_DISTANCE * i128::try_from(self.numbers.len() % 30_000).unwrap_or(0);
        *self.numbers.entry(symbol).or_insert(next)
    }

    /// Remembers that a loop has counted up to a symbol, unless something about the symbol was decided before.
    pub(super) fn learn_count(&mut self, symbol: Symbol, count: u32) {
        let decides =
            |(decided, _): &(Symbol, bool)| !self.is_element(*decided) && self.mentions(*decided, symbol, PARTS);
        if self.decided.iter().any(decides) {
            return;
        }
        let count = self.int(i128::from(count));
        let known = self.known.entry(symbol).or_default();
        known.equals.get_or_insert(count);
        known.is_none = Some(false);
    }

    /// Whether a symbol says that something has an element.
    fn is_element(&self, symbol: Symbol) -> bool {
        matches!(self.node(symbol), Some(Node::Apply(name, _)) if &**name == "has element")
    }

    /// Whether a symbol is made of another one; a deep one may be.
    fn mentions(&self, symbol: Symbol, part: Symbol, depth: u32) -> bool {
        symbol == part
            || match self.node(symbol) {
                Some(Node::Attribute(of, ..)) => depth == 0 || self.mentions(*of, part, depth - 1),
                Some(Node::Item(of, index, _)) => {
                    depth == 0 || [of, index].into_iter().any(|of| self.mentions(*of, part, depth - 1))
                }
                Some(Node::Apply(_, parts)) => depth == 0 || parts.iter().any(|of| self.mentions(*of, part, depth - 1)),
                _ => false,
            }
    }

    /// The number that a symbol is on this path, if that is known: no placeholder.
    pub(super) fn known_number(&self, symbol: Symbol, depth: u32) -> Option<i128> {
        let symbol = self.known.get(&symbol).and_then(|known| known.equals).unwrap_or(symbol);
        match self.node(symbol)? {
            Node::Int(value) => Some(*value),
            Node::Apply(name, parts) if depth > 0 && parts.len() == 2 => {
                let (a, b) = (self.known_number(parts[0], depth - 1)?, self.known_number(parts[1], depth - 1)?);
                match &**name {
                    "+" => a.checked_add(b),
                    "-" => a.checked_sub(b),
                    _ => None,
                }
            }
            _ => None,
        }
    }

    /// The number of the placeholder key of the symbol, from 1.
    pub(super) fn key(&mut self, symbol: Symbol) -> u32 {
        let next = u32::try_from(self.keys.len()).unwrap_or(u32::MAX).saturating_add(1);
        *self.keys.entry(symbol).or_insert(next)
    }

    /// The symbol of the placeholder key with this number.
    pub(super) fn of_key(&self, number: u32) -> Option<Symbol> {
        self.keys.iter().find(|(_, key)| **key == number).map(|(symbol, _)| *symbol)
    }

    /// How many placeholder keys stand for functions of symbols.
    pub(super) fn computed_keys(&self) -> usize {
        self.keys.keys().filter(|symbol| matches!(self.node(**symbol), Some(Node::Apply(..)))).count()
    }

    /// Whether a symbol has a placeholder key already.
    pub(super) fn known_key(&self, symbol: Symbol) -> Option<u32> {
        self.keys.get(&symbol).copied()
    }

    /// Whether the symbol is true, as far as that follows from what was learned.
    pub(super) fn query(&self, symbol: Symbol) -> Query {
        let mut symbol = symbol;
        let mut turned = false;
        while let Some(Node::Apply(name, parts)) = self.node(symbol)
            && &**name == "not"
            && let [inner] = **parts
        {
            symbol = inner;
            turned = !turned;
        }
        match self.follows(symbol) {
            Some(answer) => Query::Answered(answer != turned),
            None => Query::Open(symbol, turned),
        }
    }

    fn follows(&self, symbol: Symbol) -> Option<bool> {
        let known = self.known.get(&symbol);
        if let Some(truth) = known.and_then(|known| known.truth) {
            return Some(truth);
        }
        match self.node(symbol)? {
            Node::Apply(name, parts) => match (&**name, &**parts) {
                ("is None", [of]) => {
                    let known = self.known.get(of)?;
                    known.is_none.or_else(|| (known.truth == Some(true) || known.equals.is_some()).then_some(false))
                }
                ("==", [of, constant]) => {
                    let known = self.known.get(of)?;
                    if let Some(equal) = known.equals {
                        return Some(equal == *constant);
                    }
                    (known.is_none == Some(true)).then_some(false)
                }
                ("isinstance", [of, _]) => {
                    let known = self.known.get(of)?;
                    (known.is_none == Some(true)).then_some(false)
                }
                _ => None,
            },
            Node::Int(value) => Some(*value != 0),
            Node::Text(text) => Some(!text.is_empty()),
            _ => None,
        }
        .or_else(|| {
            let known = known?;
            if known.is_none == Some(true) {
                return Some(false);
            }
            match self.node(known.equals?)? {
                Node::Int(value) => Some(*value != 0),
                Node::Text(text) => Some(!text.is_empty()),
                _ => None,
            }
        })
    }

    /// The symbols whose truth was chosen, and how.
    pub(super) fn decided(&self) -> &[(Symbol, bool)] {
        &self.decided
    }

    /// Remembers the truth of a symbol.
    pub(super) fn learn(&mut self, symbol: Symbol, truth: bool) {
        self.decided.push((symbol, truth));
        self.known.entry(symbol).or_default().truth = Some(truth);
        if let Some(Node::Apply(name, parts)) = self.node(symbol).cloned() {
            match (&*name, &*parts) {
                ("is None", [of]) => self.known.entry(*of).or_default().is_none = Some(truth),
                ("==", [of, constant]) if truth => {
                    let known = self.known.entry(*of).or_default();
                    known.equals = Some(*constant);
                    known.is_none = Some(false);
                }
                ("isinstance", [of, _]) if truth => self.known.entry(*of).or_default().is_none = Some(false),
                _ => {}
            }
        }
    }
}

impl Symbols {
    /// A symbol for any value: equal for equal values.
    pub(super) fn of(&mut self, value: &Value<'_>) -> Symbol {
        self.within(value, 6)
    }

    fn within<'p>(&mut self, value: &Value<'p>, depth: u32) -> Symbol {
        if depth == 0 {
            return self.fresh("<deep>");
        }
        let parts = |this: &mut Self, name: &str, values: &[Value<'p>]| {
            if values.len() > 64 {
                return this.fresh("<long>");
            }
            let parts: Vec<Symbol> = values.iter().map(|value| this.within(value, depth - 1)).collect();
            this.apply(name, &parts)
        };
        match value {
            Value::Unknown(symbol) => *symbol,
            // Only in a run that computes numbers, which needs no symbol of it.
            Value::Complex(..) | Value::Array(_) | Value::DType(_) | Value::KeyDType(_) | Value::Lanes(..) => {
                self.fresh("<array>")
            }
            Value::None => self.intern(Node::Constant("None".into())),
            Value::Ellipsis => self.intern(Node::Constant("...".into())),
            Value::Bool(value) => self.intern(Node::Constant(if *value { "True" } else { "False" }.into())),
            Value::Int(value) => self.int(*value),
            Value::Float(value) => self.intern(Node::Constant(format!("{value:?}").into())),
            Value::Text(text) => self.intern(Node::Text(text.clone())),
            Value::Library(path) => self.intern(Node::Constant(path.clone())),
            Value::Tuple(values) => parts(self, "tuple", values),
            Value::Slice(values) => parts(self, "slice", &values[..]),
            Value::List(values) => {
                let values = values.borrow().clone();
                parts(self, "list", &values)
            }
            Value::Range(from, to, step) => {
                parts(self, "range", &[Value::Int(*from), Value::Int(*to), Value::Int(*step)])
            }
            Value::Keys(keys) => {
                let words: Vec<Symbol> =
                    keys.keys.words().iter().take(64).map(|word| self.int(i128::from(*word))).collect();
                self.apply("key", &words)
            }
            Value::Family(family) => {
                let words: Vec<Symbol> = family
                    .parent
                    .words()
                    .iter()
                    .chain([&family.from])
                    .take(64)
                    .map(|word| self.int(i128::from(*word)))
                    .collect();
                self.apply("children", &words)
            }
            Value::Stack(stack) => stack.rest,
            Value::Instance(instance) => instance.symbol,
            Value::Stream(stream) => stream.1,
            Value::Function(closure) => {
                let number = self.int(i128::from(closure.number));
                self.apply("function", &[number])
            }
            Value::Class(class) => {
                let number = self.int(i128::from(class.number));
                self.apply("class", &[number])
            }
            Value::Module(module) => {
                let number = self.int(i128::try_from(*module).unwrap_or(0));
                self.apply("module", &[number])
            }
            Value::Bound(bound) => {
                let both = [bound.0.clone(), bound.1.clone()];
                parts(self, "bound", &both)
            }
            Value::Partial(partial) => {
                let function = partial.function.clone();
                let all: Vec<Value<'p>> = std::iter::once(function).chain(partial.args.values().cloned()).collect();
                parts(self, "partial", &all)
            }
            Value::Wrapped(wrapped) => {
                let function = wrapped.function.clone().unwrap_or(Value::None);
                parts(self, &format!("wrapped {}", wrapped.path), &[function])
            }
            Value::Set(_)
            | Value::Dict(_)
            | Value::Super(_)
            | Value::Method(_)
            | Value::Iterator(_)
            | Value::Generator(_)
            | Value::Imported(_)
            | Value::Static(_)
            | Value::ClassMethod(_)
            | Value::Property(_) => self.fresh("<object>"),
        }
    }
}
