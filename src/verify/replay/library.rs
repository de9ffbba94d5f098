//! Calls of library functions, by what their models say.
//!
//! **Invariant:** what a function does with keys is read from its model; nothing here knows a path of a library.

use std::rc::Rc;

use super::DrawKind;
use super::access::is_exception;
use super::frame::{Ran, Signal};
use super::machine::Machine;
use super::symbol::Symbol;
use super::value::{Args, KeyArray, KeyKind, Stack, Value, Wrapped};
use crate::finding::Place;
use crate::ir::Name;
use crate::models::{Argument, Callable, Construct, Effect, ParamKind, Returns, SeedKind, ShapeOp, TreeOp};
use crate::prng::keys::Keys;

/// The argument that is bound to a parameter.
pub(super) fn argument<'a, 'p>(args: &'a Args<'p>, callable: &Callable, name: &str) -> Option<&'a Value<'p>> {
    match callable.position(name) {
        Some(position) if position < args.positional.len() => args.positional.get(position),
        _ => args.keyword(name),
    }
}

/// All arguments that are bound to a parameter, which may take any number.
pub(super) fn arguments<'p>(args: &Args<'p>, callable: &Callable, name: &str) -> Vec<Value<'p>> {
    let name = name.trim_start_matches('*');
    match callable.param(name).map(|param| param.kind) {
        Some(ParamKind::Rest) => {
            args.positional.iter().skip(callable.position(name).unwrap_or(usize::MAX)).cloned().collect()
        }
        Some(ParamKind::KeywordRest) => {
            let rest = args.keywords.iter().filter(|(keyword, _)| callable.param(keyword).is_none());
            rest.map(|(_, value)| value.clone()).collect()
        }
        _ => argument(args, callable, name).cloned().into_iter().collect(),
    }
}

/// Whether the axes that an operation copies along are those of keys of this kind: raw ones have one more.
fn fits_axes(op: ShapeOp, array: Option<&KeyArray>, args: &Args<'_>) -> bool {
    let axes = args.values().filter_map(|value| match value {
        Value::Tuple(axes) => Some(axes.len()),
        Value::Int(_) if op == ShapeOp::Tile => Some(1),
        _ => None,
    });
    match (array, axes.last().filter(|_| op != ShapeOp::Repeat)) {
        (Some(array), Some(axes)) => match array.kind {
            KeyKind::Typed => axes <= array.keys.shape().len().max(1),
            KeyKind::Raw => axes > array.keys.shape().len().max(1),
            KeyKind::Unknown => true,
        },
        _ => true,
    }
}

/// The lengths that `reshape` is given, as one or one by one.
fn axes_of<'p>(args: &Args<'p>, callable: &Callable) -> Vec<Value<'p>> {
    let mut parts = arguments(args, callable, "shape");
    if parts.is_empty() {
        parts = arguments(args, callable, "args");
    }
    match &parts[..] {
        [Value::Tuple(values)] => values.to_vec(),
        [Value::List(values)] => values.borrow().clone(),
        _ => parts,
    }
}

/// `keys.reshape(shape)`
fn reshaped<'p>(array: &KeyArray, args: &Args<'p>, callable: &Callable) -> Option<Value<'p>> {
    let shape: Option<Vec<i128>> = axes_of(args, callable).iter().map(Value::int).collect();
    let mut shape = shape.filter(|shape| !shape.is_empty())?;
    if array.kind == KeyKind::Raw {
        // The last axis holds the words, and stays whole or there are no keys any more.
        let width = i128::try_from(array.keys.implementation().width()).ok()?;
        shape.pop().filter(|last| *last == width || *last == -1 && !shape.contains(&-1))?;
    }
    let known: i128 = shape.iter().filter(|length| **length > 0).product();
    let length = i128::try_from(array.keys.len()).ok()?;
    let shape: Option<Vec<usize>> = shape
        .iter()
        .map(|part| usize::try_from(if *part < 0 { length.checked_div(known)? } else { *part }).ok())
        .collect();
    Some(array.with(array.keys.clone().reshape(&shape?).ok()?))
}

impl<'p> Machine<'p> {
    pub(super) fn call_library(&mut self, path: &Name, args: Args<'p>, place: Place) -> Ran<'p, Value<'p>> {
        let models = self.project.models;
        if let Some(class) = models.class(path) {
            let construct = class.construct.clone();
            return self.construct_library(path, &construct, &args, place);
        }
        if let Some(callable) = models.callable(path) {
            return self.apply(callable, path, args, place);
        }
        if path.strip_prefix("builtins.").is_some_and(is_exception) {
            return Ok(Value::Library(path.clone()));
        }
        self.unresolved(&Value::Library(path.clone()), &args, place)
    }

    fn construct_library(
        &mut self,
        path: &Name,
        construct: &Construct,
        args: &Args<'p>,
        place: Place,
    ) -> Ran<'p, Value<'p>> {
        match construct {
            Construct::Record { .. } => match args.positional.first() {
                // The class decorator.
                Some(Value::Class(class)) => {
                    class.is_record.set(true);
                    Ok(Value::Class(class.clone()))
                }
                None => Ok(Value::Library(path.clone())),
                Some(_) => Ok(self.unknown(path)),
            },
            Construct::Stream { seeds, .. } => {
                let mut demanded = super::keys::Demanded { keys: Vec::new(), is_known: true };
                for value in self.constructed(path, seeds, args) {
                    let value = if value.int().is_some() { self.seed(&value, KeyKind::Typed) } else { value };
                    let more = self.demand(&value);
                    demanded.keys.extend(more.keys);
                    demanded.is_known &= more.is_known;
                }
                self.log(DrawKind::Consume, path, place, demanded);
                let symbol = self.symbols.fresh(path);
                Ok(Value::Stream(Rc::new((path.clone(), symbol))))
            }
            Construct::Plain { consumes } => {
                for given in self.constructed(path, consumes, args) {
                    self.consume(DrawKind::Consume, &given, path, place);
                }
                self.escape(args, place)?;
                Ok(self.unknown(path))
            }
        }
    }

    /// The arguments of a constructor that are bound to these parameters.
    fn constructed(&self, path: &Name, names: &[String], args: &Args<'p>) -> Vec<Value<'p>> {
        let Some(class) = self.project.models.class(path) else { return Vec::new() };
        let keywords: Vec<&str> = args.keywords.iter().map(|(name, _)| &**name).collect();
        let value = |at: &usize| args.keywords.get(*at).map(|(_, value)| value.clone());
        let mut found = Vec::new();
        for name in names {
            match class.argument(name.trim_start_matches('*'), args.positional.len(), &keywords) {
                Some(Argument::Positional(at)) => found.extend(args.positional.get(at).cloned()),
                Some(Argument::Keyword(at)) => found.extend(value(&at)),
                Some(Argument::Rest(from)) => found.extend(args.positional.iter().skip(from).cloned()),
                Some(Argument::KeywordRest) => {
                    let rest = |name: &str| !class.params.iter().any(|param| param.name == name);
                    let rest = args.keywords.iter().filter(|(name, _)| rest(name));
                    found.extend(rest.map(|(_, value)| value.clone()));
                }
                None => {}
            }
        }
        found
    }

    /// What takes one key raises where it is given an array of them.
    fn single(key: &Value<'p>) -> Ran<'p, ()> {
        let is_array = match key {
            Value::Keys(array) => !array.keys.shape().is_empty(),
            Value::Family(_) | Value::Stack(_) => true,
            _ => false,
        };
        if is_array { Err(Signal::Raise(Value::Library("builtins.ValueError".into()))) } else { Ok(()) }
    }

    /// Hands keys over.
    pub(super) fn consume(&mut self, kind: DrawKind, value: &Value<'p>, path: &Name, place: Place) {
        let demanded = self.demand(value);
        self.log(kind, path, place, demanded);
    }

    /// A pure function of its arguments.
    fn pure(&mut self, path: &Name, args: &Args<'p>) -> Value<'p> {
        if args.keywords.is_empty() && self.project.models.is_counting(path) {
            match &args.positional[..] {
                [Value::Int(to)] => return Value::Range(0, *to, 1),
                [Value::Int(from), Value::Int(to)] => return Value::Range(*from, *to, 1),
                _ => {}
            }
        }
        let parts: Vec<Symbol> = args.values().take(32).map(|value| self.symbol_of(value)).collect();
        let symbol = if args.is_open { self.symbols.fresh(path) } else { self.symbols.apply(path, &parts) };
        Value::Unknown(symbol)
    }

    /// Does what a model says.
    #[expect(clippy::too_many_lines, reason = "one arm for each effect")]
    pub(super) fn apply(
        &mut self,
        callable: &'p Callable,
        path: &Name,
        args: Args<'p>,
        place: Place,
    ) -> Ran<'p, Value<'p>> {
        Ok(match &callable.effect {
            Effect::Seed { seed, kind } => {
                let seed = argument(&args, callable, seed).cloned().unwrap_or(Value::None);
                let kind = match kind {
                    SeedKind::Typed => KeyKind::Typed,
                    SeedKind::Raw => KeyKind::Raw,
                };
                let value = self.seed(&seed, kind);
                match value {
                    Value::Keys(array) if argument(&args, callable, "impl").is_some() => {
                        // Another implementation has other numbers.
                        Value::keys(array.keys.clone(), false, array.kind)
                    }
                    other => other,
                }
            }
            Effect::Split { key, num } => {
                let Some(key) = argument(&args, callable, key).cloned() else { return Ok(self.unknown(path)) };
                let num = num.as_deref().and_then(|num| argument(&args, callable, num)).cloned();
                Self::single(&key)?;
                self.consume(DrawKind::Split, &key, path, place);
                if args.is_open && num.is_none() {
                    let open = self.unknown("<num>");
                    return Ok(self.split(&key, Some(&open)));
                }
                self.split(&key, num.as_ref())
            }
            Effect::Fold { key, data } => {
                let Some(key) = argument(&args, callable, key).cloned() else { return Ok(self.unknown(path)) };
                let data = argument(&args, callable, data).cloned().unwrap_or(Value::None);
                self.consume(DrawKind::Fold, &key, path, place);
                self.fold_in(&key, &data)
            }
            Effect::Clone { key } | Effect::KeyData { key } => {
                argument(&args, callable, key).cloned().unwrap_or(Value::None)
            }
            Effect::Wrap { data: of } | Effect::Forward { of, .. } => match argument(&args, callable, of) {
                Some(of) => of.clone(),
                None if callable.params.len() > 1 && args.positional.is_empty() && !args.keywords.is_empty() => {
                    // A decorator with arguments.
                    Value::Library(path.clone())
                }
                None => self.unknown(path),
            },
            Effect::Sample { keys, .. } => {
                let mut parts: Vec<Symbol> = Vec::new();
                for name in keys {
                    let Some(key) = argument(&args, callable, name).cloned() else { continue };
                    Self::single(&key)?;
                    let demanded = self.demand(&key);
                    for words in &demanded.keys {
                        parts.extend(words.iter().map(|word| self.symbols.int(i128::from(*word))));
                    }
                    let numbers = Self::written_arguments(&args, name, callable.position(name));
                    self.log_with(DrawKind::Sample, path, place, demanded, numbers, Vec::new());
                }
                let others: Vec<Symbol> = args.values().take(16).map(|value| self.symbol_of(value)).collect();
                parts.extend(others);
                // What is drawn is a function of the key and the other arguments.
                Value::Unknown(self.symbols.apply(path, &parts))
            }
            Effect::Consume { keys, .. } => {
                let mut demanded = super::keys::Demanded { keys: Vec::new(), is_known: true };
                for name in keys {
                    let given = if !callable.exact && callable.params.is_empty() {
                        args.keyword(name).cloned().into_iter().collect()
                    } else {
                        arguments(&args, callable, name)
                    };
                    for value in given {
                        let more = self.demand(&value);
                        demanded.keys.extend(more.keys);
                        demanded.is_known &= more.is_known;
                    }
                }
                self.log(DrawKind::Consume, path, place, demanded);
                self.escape(&args, place)?;
                self.unknown(path)
            }
            Effect::Observe => {
                self.escape(&args, place)?;
                self.unknown(path)
            }
            Effect::Fabricate { of, zeros } => match argument(&args, callable, of) {
                Some(Value::Keys(array)) => {
                    let (like, is_known) = (array.keys.clone(), array.is_known);
                    let words = vec![0; like.words().len()];
                    match Keys::new(like.implementation(), like.shape(), words) {
                        Ok(keys) if *zeros => Value::keys(keys, is_known, array.kind),
                        _ => self.pure(path, &args),
                    }
                }
                _ => self.pure(path, &args),
            },
            Effect::Pure { .. } | Effect::ShapeOf { .. } => self.pure(path, &args),
            Effect::Number { of, .. } => match argument(&args, callable, of) {
                Some(value @ (Value::Int(_) | Value::Bool(_))) => value.clone(),
                Some(Value::Unknown(symbol)) => Value::Unknown(*symbol),
                _ => self.pure(path, &args),
            },
            Effect::Shape { op, of, .. } => {
                let given: Vec<Value<'p>> = of.iter().flat_map(|name| arguments(&args, callable, name)).collect();
                match self.rearranged(*op, &given, &args, callable)? {
                    Some(value) => value,
                    None => self.pure(path, &args),
                }
            }
            Effect::Supply { .. } => self.unknown(path),
            Effect::Tree { op, of } => match argument(&args, callable, of) {
                Some(tree) => self.tree(*op, &tree.clone(), path),
                None => self.unknown(path),
            },
            Effect::Transform(transform) => match transform.returns {
                Returns::Function => {
                    let function = transform.function.as_deref().and_then(|name| argument(&args, callable, name));
                    let function = function.cloned();
                    Value::Wrapped(Rc::new(Wrapped { path: path.clone(), function, args }))
                }
                Returns::Result => self.run_transform(transform, callable, path, &args, place)?,
            },
            Effect::Factory { .. } => Value::Wrapped(Rc::new(Wrapped { path: path.clone(), function: None, args })),
            Effect::Builtin(op) => self.builtin(*op, path, args, place)?,
        })
    }

    /// Rearranges arrays of keys; `None` where the result holds no known keys.
    fn rearranged(
        &mut self,
        op: ShapeOp,
        given: &[Value<'p>],
        args: &Args<'p>,
        callable: &Callable,
    ) -> Ran<'p, Option<Value<'p>>> {
        let Some(first) = given.first() else { return Ok(None) };
        let array = if let Value::Keys(array) = first { Some(array.clone()) } else { None };
        Ok(match op {
            ShapeOp::Array | ShapeOp::Stack | ShapeOp::Vstack | ShapeOp::Concatenate => match first {
                Value::Unknown(_) if op != ShapeOp::Array => None,
                Value::Keys(_)
                | Value::Family(_)
                | Value::Stack(_)
                | Value::Unknown(_)
                | Value::Int(_)
                | Value::Float(_)
                | Value::Bool(_) => Some(first.clone()),
                Value::List(_) | Value::Tuple(_) => {
                    let items = self.items_of(first)?.unwrap_or_default();
                    let is_number = |item: &Value<'p>| matches!(item, Value::Int(_));
                    if op == ShapeOp::Array && !items.is_empty() && items.iter().all(is_number) {
                        return Ok(Some(self.whole_stack(items)));
                    }
                    let is_key =
                        |item: &Value<'p>| matches!(item, Value::Keys(_) | Value::Family(_) | Value::Unknown(_));
                    let holds = items.iter().any(is_key);
                    if !holds {
                        return Ok(None);
                    }
                    if op == ShapeOp::Concatenate {
                        let mut all = Vec::new();
                        for item in &items {
                            match self.items_of(item)? {
                                Some(inner) => all.extend(inner),
                                None => return Ok(None),
                            }
                        }
                        return Ok(Some(self.whole_stack(all)));
                    }
                    Some(self.whole_stack(items))
                }
                _ => None,
            },
            ShapeOp::Ravel => array.filter(|array| array.kind != KeyKind::Raw).and_then(|array| {
                let length = array.keys.len();
                Some(array.with(array.keys.clone().reshape(&[length]).ok()?))
            }),
            ShapeOp::Reshape if matches!(first, Value::Family(_)) => self.kept_shape(first, args, callable),
            ShapeOp::Reshape => array.and_then(|array| reshaped(&array, args, callable)),
            ShapeOp::Repeat | ShapeOp::BroadcastTo | ShapeOp::Tile => {
                let fits = fits_axes(op, array.as_deref(), args);
                let copied = match first {
                    _ if !fits => None,
                    Value::Unknown(_) => Some(first.clone()),
                    Value::Keys(array) if array.keys.shape().is_empty() => Some(first.clone()),
                    Value::Keys(array) if array.keys.shape().first() == Some(&1) => super::keys::element(array, 0),
                    Value::Stack(stack) if stack.is_whole && stack.items.len() == 1 => stack.items.first().cloned(),
                    _ => None,
                };
                copied.map(|copied| {
                    let rest = self.symbols.fresh("<copies>");
                    Value::Stack(Rc::new(Stack { items: vec![copied; 4], rest, is_whole: false }))
                })
            }
            ShapeOp::Take | ShapeOp::Index => {
                let index = ["indices", "index"].iter().find_map(|name| argument(args, callable, name)).cloned();
                match (first, index) {
                    (Value::Keys(_) | Value::Family(_) | Value::Unknown(_) | Value::Stack(_), Some(index)) => {
                        Some(self.item(first, &index)?)
                    }
                    _ => None,
                }
            }
            ShapeOp::Squeeze | ShapeOp::Atleast | ShapeOp::ExpandDims if array.is_some() => array.and_then(|array| {
                let mut shape: Vec<usize> = array.keys.shape().to_vec();
                if op == ShapeOp::Squeeze {
                    shape.retain(|length| *length != 1);
                } else if op == ShapeOp::ExpandDims || shape.is_empty() {
                    shape.insert(0, 1);
                }
                Some(array.with(array.keys.clone().reshape(&shape).ok()?))
            }),
            _ => None,
        })
    }

    /// `split(key, n).reshape((n, -1))`, which leaves raw keys as they are.
    fn kept_shape(&mut self, keys: &Value<'p>, args: &Args<'p>, callable: &Callable) -> Option<Value<'p>> {
        let Value::Family(family) = keys else { return None };
        let (axes, count) = (axes_of(args, callable), family.count?);
        let [length, Value::Int(-1)] = &axes[..] else { return None };
        (family.kind != KeyKind::Typed && self.symbol_of(length) == count).then(|| keys.clone())
    }

    pub(super) fn whole_stack(&mut self, items: Vec<Value<'p>>) -> Value<'p> {
        let parts: Vec<Symbol> = items.iter().take(64).map(|item| self.symbol_of(item)).collect();
        let rest = self.symbols.apply("stack", &parts);
        Value::Stack(Rc::new(Stack { items, rest, is_whole: true }))
    }

    fn tree(&mut self, op: TreeOp, tree: &Value<'p>, path: &Name) -> Value<'p> {
        let mut leaves = Vec::new();
        let is_known = leaves_of(tree, &mut leaves, 8);
        let symbol = self.symbol_of(tree);
        match op {
            TreeOp::Leaves if is_known => Value::list(leaves),
            TreeOp::Flatten if is_known => {
                let structure = self.symbols.apply("structure", &[symbol]);
                Value::tuple(vec![Value::list(leaves), Value::Unknown(structure)])
            }
            _ => Value::Unknown(self.symbols.apply(path, &[symbol])),
        }
    }
}

/// The leaves of a tree; whether all of it is known.
pub(super) fn leaves_of<'p>(tree: &Value<'p>, leaves: &mut Vec<Value<'p>>, depth: u32) -> bool {
    if depth == 0 {
        return false;
    }
    match tree {
        Value::None => true,
        Value::Tuple(values) => values.iter().all(|value| leaves_of(value, leaves, depth - 1)),
        Value::List(values) => values.borrow().iter().all(|value| leaves_of(value, leaves, depth - 1)),
        Value::Dict(pairs) => pairs.borrow().iter().all(|(_, value)| leaves_of(value, leaves, depth - 1)),
        Value::Unknown(_) | Value::Instance(_) => false,
        other => {
            leaves.push(other.clone());
            true
        }
    }
}
