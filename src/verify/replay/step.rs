//! Operations without blocks.
//!
//! **Invariant:** what an operation needs that is not known makes its result a symbol, never a failure.

use std::rc::Rc;

use super::frame::{Eval, Frame, Signal, at};
use super::machine::Machine;
use super::symbol::{Node, Symbol};
use super::value::{Value, any, get, length_of_range, like, sequence};
use crate::ir::{Argument, Collection, Constant, Element, Op, OpKind, Operator, Temp};

/// The largest collection that is spelled out.
pub(super) const ELEMENTS: usize = 4_096;

/// A comprehension adds an element to what it makes.
fn append<'p>(frame: &Frame<'p>, container: &Value<'p>, element: &Element) {
    match (container, element) {
        (Value::List(values) | Value::Set(values), Element::Value(value)) => {
            values.borrow_mut().push(at(frame, *value));
        }
        (Value::Dict(pairs), Element::Pair(key, value)) => {
            put_pair(&mut pairs.borrow_mut(), at(frame, *key), at(frame, *value));
        }
        _ => {}
    }
}

impl<'p> Machine<'p> {
    /// Runs an operation that may call functions, with a part of the remaining budget.
    pub(super) fn within_budget(&mut self, frame: &mut Frame<'p>, op: &'p Op, temp: Temp) -> Eval<'p, Value<'p>> {
        let Some(part) = self.part_of(frame, self.left()) else { return self.simple(frame, op, temp) };
        let kept = self.budget.reserve(part);
        let result = self.simple(frame, op, temp);
        let back = self.budget.release(kept);
        if matches!(result, Err(Signal::Stop)) && self.left() > 0 && back > 0 && !self.is_full() {
            let (function, given) = passed(frame, &op.kind);
            self.havoc_call(&function, &given);
            return Ok(self.unknown("<left early>"));
        }
        result
    }

    pub(super) fn simple(&mut self, frame: &mut Frame<'p>, op: &'p Op, temp: Temp) -> Eval<'p, Value<'p>> {
        match self.arithmetic {
            Some(arithmetic) => (arithmetic.compute)(self, frame, op, temp),
            None => self.symbolic(frame, op, temp),
        }
    }

    /// The operation on known values; otherwise the result is a symbol.
    pub(super) fn symbolic(&mut self, frame: &mut Frame<'p>, op: &'p Op, temp: Temp) -> Eval<'p, Value<'p>> {
        let get = |temp: &Temp| at(frame, *temp);
        Ok(match &op.kind {
            OpKind::Constant(constant) => self.constant(constant),
            OpKind::Load(variable) => self.load(frame, variable),
            OpKind::Store(variable, value) => {
                let value = get(value);
                self.store(frame, variable, Some(value));
                Value::None
            }
            OpKind::Delete(variable) => {
                self.store(frame, variable, None);
                Value::None
            }
            OpKind::Attribute(object, name) => self.attribute(&get(object), name)?,
            OpKind::StoreAttribute(object, name, value) => {
                self.set_attribute(&get(object), name, Some(get(value)))?;
                Value::None
            }
            OpKind::DeleteAttribute(object, name) => {
                self.set_attribute(&get(object), name, None)?;
                Value::None
            }
            OpKind::Item(object, index) => self.item(&get(object), &get(index))?,
            OpKind::StoreItem(object, index, value) => {
                self.set_item(&get(object), get(index), Some(get(value)))?;
                Value::None
            }
            OpKind::DeleteItem(object, index) => {
                self.set_item(&get(object), get(index), None)?;
                Value::None
            }
            OpKind::Build(collection, elements) => self.build(frame, *collection, elements)?,
            OpKind::Operate(operator, [left, right], augmented) => {
                let left = left.as_ref().map_or(Value::None, get);
                let right = right.as_ref().map(get);
                self.operate(*operator, &left, right.as_ref(), *augmented)?
            }
            OpKind::Call(function, arguments) => {
                let function = get(function);
                let args = self.arguments(frame, arguments)?;
                let place = self.here.0;
                self.call_value(&function, args, place)?
            }
            OpKind::Function(id, defaults) => {
                let defaults = defaults.iter().map(|(index, temp)| (*index, get(temp))).collect();
                self.make_function(frame, *id, defaults)
            }
            OpKind::Class(class, arguments) => {
                let args = self.arguments(frame, arguments)?;
                self.make_class(frame, *class, args)?
            }
            OpKind::Import { path, whole } => self.import(frame.module, path, *whole),
            OpKind::ImportFrom { level, module, name } => self.import_at(frame, *level, module, name),
            OpKind::Unpack { value, count, star } => {
                let value = get(value);
                self.unpack(&value, *count as usize, star.map(|star| star as usize))?
            }
            OpKind::Project(unpacked, index) => {
                let part = match get(unpacked) {
                    Value::Tuple(values) => values.get(*index as usize).cloned(),
                    _ => None,
                };
                part.unwrap_or_else(|| self.unknown("<part>"))
            }
            OpKind::Iterate(value) => self.iterate(&get(value))?,
            OpKind::Append(container, element) => {
                append(frame, &get(container), element);
                Value::None
            }
            OpKind::Enter(manager) => self.manage(&get(manager), true)?,
            OpKind::Await(value) => get(value),
            OpKind::Annotate(..) => Value::None,
            OpKind::Unsupported(variables) => {
                for variable in variables {
                    let value = self.unknown("<unsupported>");
                    self.store(frame, variable, Some(value));
                }
                self.unknown("<unsupported>")
            }
            OpKind::Next(_)
            | OpKind::If { .. }
            | OpKind::Loop { .. }
            | OpKind::Try { .. }
            | OpKind::Leave(_)
            | OpKind::Return(_)
            | OpKind::Raise(_)
            | OpKind::Break
            | OpKind::Continue
            | OpKind::Yield { .. } => {
                debug_assert!(false, "operation {temp} is a step of its own");
                Value::None
            }
        })
    }

    fn constant(&mut self, constant: &Constant) -> Value<'p> {
        match constant {
            Constant::None => Value::None,
            Constant::Ellipsis => Value::Ellipsis,
            Constant::Bool(value) => Value::Bool(*value),
            Constant::Int(value) => Value::Int(**value),
            Constant::Float(value) => Value::Float(*value),
            Constant::Str(text) => Value::Text(text.clone()),
            Constant::BigInt => Value::Unknown(self.symbols.apply("<big integer>", &[])),
            Constant::Imaginary(value) if self.numeric.is_some() => Value::Complex(0.0, *value),
            Constant::Imaginary(_) | Constant::Other => Value::Unknown(self.symbols.apply("<literal>", &[])),
        }
    }

    fn build(&mut self, frame: &Frame<'p>, collection: Collection, elements: &[Element]) -> Eval<'p, Value<'p>> {
        let mut values = Vec::with_capacity(elements.len());
        let mut pairs = Vec::new();
        let mut is_open = false;
        for element in elements {
            match element {
                Element::Value(value) => values.push(at(frame, *value)),
                Element::Spread(value) => match self.items_of(&at(frame, *value))? {
                    Some(items) => values.extend(items),
                    None => is_open = true,
                },
                Element::Pair(key, value) => put_pair(&mut pairs, at(frame, *key), at(frame, *value)),
                Element::SpreadMapping(value) => match at(frame, *value) {
                    Value::Dict(more) => {
                        for (key, value) in more.borrow().iter() {
                            put_pair(&mut pairs, key.clone(), value.clone());
                        }
                    }
                    _ => is_open = true,
                },
            }
        }
        if is_open && (!matches!(collection, Collection::Dict) || pairs.is_empty()) {
            return Ok(self.unknown("<display>"));
        }
        Ok(match collection {
            Collection::Tuple => Value::tuple(values),
            Collection::List => Value::list(values),
            Collection::Set => Value::Set(Rc::new(std::cell::RefCell::new(values))),
            Collection::Dict => Value::dict(pairs),
            Collection::Slice => {
                let mut parts = values.into_iter();
                let mut part = || parts.next().unwrap_or(Value::None);
                Value::Slice(Rc::new([part(), part(), part()]))
            }
            Collection::Text => {
                let mut text = String::new();
                for value in &values {
                    match value {
                        Value::Text(piece) => text.push_str(piece),
                        other => {
                            let Some(number) = other.int() else {
                                let parts: Vec<Symbol> = values.iter().map(|value| self.symbol_of(value)).collect();
                                return Ok(Value::Unknown(self.symbols.apply("<text>", &parts)));
                            };
                            text.push_str(&number.to_string());
                        }
                    }
                }
                Value::text(&text)
            }
        })
    }

    pub(super) fn unpack(&mut self, value: &Value<'p>, count: usize, star: Option<usize>) -> Eval<'p, Value<'p>> {
        let finite = match value {
            Value::Unknown(_) | Value::Family(_) => None,
            Value::Stack(stack) if !stack.is_whole => None,
            other => self.items_of(other)?,
        };
        if let Some(items) = finite {
            if star.is_none() && items.len() != count {
                let error = Value::Library("builtins.ValueError".into());
                return Err(super::frame::Signal::Raise(error));
            }
            let Some(star) = star else { return Ok(Value::tuple(items)) };
            let extra = (items.len() + 1).saturating_sub(count);
            let mut parts = Vec::with_capacity(count);
            let mut items = items.into_iter();
            for index in 0..count {
                if index == star {
                    parts.push(Value::list(items.by_ref().take(extra).collect()));
                } else {
                    parts.push(items.next().unwrap_or(Value::None));
                }
            }
            return Ok(Value::tuple(parts));
        }
        let mut parts = Vec::with_capacity(count.min(ELEMENTS));
        for index in 0..count.min(ELEMENTS) {
            let after_star = star.is_some_and(|star| index > star);
            if star == Some(index) {
                parts.push(self.unknown("<rest>"));
            } else {
                let index = i128::try_from(index).unwrap_or(0);
                let index = if after_star { index - i128::try_from(count).unwrap_or(0) } else { index };
                parts.push(self.item(value, &Value::Int(index))?);
            }
        }
        Ok(Value::tuple(parts))
    }

    /// An operator.
    pub(super) fn operate(
        &mut self,
        operator: Operator,
        left: &Value<'p>,
        right: Option<&Value<'p>>,
        augmented: bool,
    ) -> Eval<'p, Value<'p>> {
        let Some(right) = right else { return Ok(self.unary(operator, left)) };
        let negate = |answer: Option<bool>| answer.map(|answer| Value::Bool(!answer));
        let known = match operator {
            Operator::Is => left.is(right).map(Value::Bool),
            Operator::IsNot => negate(left.is(right)),
            Operator::Eq => left.equals(right, 16).map(Value::Bool),
            Operator::Ne => negate(left.equals(right, 16)),
            Operator::In => Self::contains(left, right).map(Value::Bool),
            Operator::NotIn => negate(Self::contains(left, right)),
            Operator::MatchClass => Self::is_a(left, right).map(Value::Bool),
            Operator::MatchMapping => match (left, right) {
                (Value::Dict(_), Value::Tuple(keys)) => {
                    let answers: Option<Vec<bool>> = keys.iter().map(|key| Self::contains(key, left)).collect();
                    answers.map(|answers| Value::Bool(answers.into_iter().all(|answer| answer)))
                }
                (Value::Unknown(_), _) => None,
                _ => Some(Value::Bool(false)),
            },
            _ => self.arithmetic(operator, left, right, augmented)?,
        };
        if let Some(known) = known {
            return Ok(known);
        }
        if let Value::Instance(instance) = left
            && let Some(method) = dunder(operator).and_then(|name| instance.class.find(name))
        {
            let place = self.here.0;
            let bound = Value::Bound(Rc::new((left.clone(), method)));
            return self.call_value(&bound, super::value::Args::of(vec![right.clone()]), place);
        }
        let (a, b) = (self.symbol_of(left), self.symbol_of(right));
        let symbol = match operator {
            Operator::Is => self.identity(left, right, a, b),
            Operator::IsNot => {
                let inner = self.identity(left, right, a, b);
                self.symbols.apply("not", &[inner])
            }
            Operator::Eq => self.equality(a, b),
            Operator::Ne => {
                let inner = self.equality(a, b);
                self.symbols.apply("not", &[inner])
            }
            Operator::NotIn => {
                let inner = self.symbols.apply("in", &[a, b]);
                self.symbols.apply("not", &[inner])
            }
            Operator::In => self.symbols.apply("in", &[a, b]),
            Operator::Gt => self.symbols.apply("<", &[b, a]),
            Operator::Le => {
                let inner = self.symbols.apply("<", &[b, a]);
                self.symbols.apply("not", &[inner])
            }
            Operator::Ge => {
                let inner = self.symbols.apply("<", &[a, b]);
                self.symbols.apply("not", &[inner])
            }
            Operator::MatchClass => self.symbols.apply("isinstance", &[a, b]),
            Operator::Add | Operator::Mul if a > b => self.symbols.apply(operator.sign(), &[b, a]),
            _ => self.symbols.apply(operator.sign(), &[a, b]),
        };
        Ok(Value::Unknown(symbol))
    }

    fn identity(&mut self, left: &Value<'p>, right: &Value<'p>, a: Symbol, b: Symbol) -> Symbol {
        match (left, right) {
            (Value::None, _) => self.symbols.apply("is None", &[b]),
            (_, Value::None) => self.symbols.apply("is None", &[a]),
            // `x is True` and the like imply what `==` implies.
            _ => self.equality(a, b),
        }
    }

    fn equality(&mut self, a: Symbol, b: Symbol) -> Symbol {
        let is_constant = |node: Option<&Node>| matches!(node, Some(Node::Int(_) | Node::Text(_) | Node::Constant(_)));
        if is_constant(self.symbols.node(a)) && !is_constant(self.symbols.node(b)) {
            self.symbols.apply("==", &[b, a])
        } else if is_constant(self.symbols.node(b)) || a <= b {
            self.symbols.apply("==", &[a, b])
        } else {
            self.symbols.apply("==", &[b, a])
        }
    }

    fn unary(&mut self, operator: Operator, value: &Value<'p>) -> Value<'p> {
        let known = match operator {
            Operator::Not => value.truth().map(|truth| Value::Bool(!truth)),
            Operator::Neg => match value {
                Value::Float(number) => Some(Value::Float(-number)),
                _ => value.int().and_then(i128::checked_neg).map(Value::Int),
            },
            Operator::Pos => value.int().map(Value::Int),
            Operator::Invert => value.int().map(|number| Value::Int(!number)),
            Operator::MatchSequence(count, more) => match value {
                Value::Unknown(_) | Value::Stack(_) | Value::Keys(_) | Value::Family(_) => None,
                _ => {
                    let (length, count) = (sequence(value).map(|items| items.len()), usize::from(count));
                    Some(Value::Bool(length.is_some_and(|length| length == count || more && length > count)))
                }
            },
            _ => None,
        };
        known.unwrap_or_else(|| {
            let symbol = self.symbol_of(value);
            let name = match operator {
                Operator::Not => "not",
                Operator::MatchSequence(..) => "sequence",
                _ => operator.sign(),
            };
            Value::Unknown(self.symbols.apply(name, &[symbol]))
        })
    }

    /// `item in container`; `None` where it depends on what is unknown.
    fn contains(item: &Value<'p>, container: &Value<'p>) -> Option<bool> {
        let any = |values: &[Value<'p>]| any(values.iter().map(|value| value.equals(item, 8)));
        match container {
            Value::Tuple(values) => any(values),
            Value::List(values) | Value::Set(values) => any(&values.borrow()),
            Value::Dict(pairs) => {
                let keys: Vec<Value<'p>> = pairs.borrow().iter().map(|(key, _)| key.clone()).collect();
                any(&keys)
            }
            Value::Range(from, to, step) => {
                let item = item.int()?;
                let inside = if *step > 0 { (*from..*to).contains(&item) } else { item <= *from && item > *to };
                Some(inside && *step != 0 && item.checked_sub(*from)?.checked_rem(*step)? == 0)
            }
            Value::Text(text) => match item {
                Value::Text(item) => Some(text.contains(&**item)),
                _ => None,
            },
            _ => None,
        }
    }

    fn arithmetic(
        &mut self,
        operator: Operator,
        left: &Value<'p>,
        right: &Value<'p>,
        augmented: bool,
    ) -> Eval<'p, Option<Value<'p>>> {
        if let (Some(a), Some(b)) = (left.int(), right.int()) {
            return Ok(integers(operator, a, b));
        }
        if let (Some(a), Some(b)) = (left.real(), right.real()) {
            return Ok(reals(operator, a, b));
        }
        Ok(match (operator, left, right) {
            (Operator::Add, Value::Text(a), Value::Text(b)) if a.len() + b.len() < ELEMENTS => {
                Some(Value::text(&format!("{a}{b}")))
            }
            (Operator::Add, Value::Tuple(a), Value::Tuple(b)) if a.len() + b.len() < ELEMENTS => {
                Some(Value::tuple(a.iter().chain(b.iter()).cloned().collect()))
            }
            (Operator::Add, Value::List(a), _) if augmented => {
                if let Some(more) = self.items_of(right)? {
                    let more: Vec<Value<'p>> = more.into_iter().take(ELEMENTS).collect();
                    a.borrow_mut().extend(more);
                }
                Some(left.clone())
            }
            // A replay may forget the elements of a long list; numbers must be exact.
            (Operator::Add, Value::List(a), Value::List(b))
                if self.numeric.is_none() || a.borrow().len() + b.borrow().len() <= ELEMENTS =>
            {
                let both: Vec<Value<'p>> = a.borrow().iter().chain(b.borrow().iter()).take(ELEMENTS).cloned().collect();
                Some(Value::list(both))
            }
            (Operator::Mul, Value::List(_) | Value::Tuple(_), _) => Self::repeated(left, right),
            (Operator::Mul, _, Value::List(_) | Value::Tuple(_)) => Self::repeated(right, left),
            (Operator::Or, Value::Dict(a), Value::Dict(b)) => {
                let mut pairs = a.borrow().clone();
                for (key, value) in b.borrow().iter() {
                    put_pair(&mut pairs, key.clone(), value.clone());
                }
                if augmented {
                    a.borrow_mut().clone_from(&pairs);
                    return Ok(Some(left.clone()));
                }
                Some(Value::dict(pairs))
            }
            _ => None,
        })
    }

    /// `[x] * n`; of an unknown `n`, two copies, the others like them.
    fn repeated(values: &Value<'p>, count: &Value<'p>) -> Option<Value<'p>> {
        let items = sequence(values)?;
        let copies = match count {
            Value::Unknown(_) => 2,
            other => usize::try_from(other.int()?.max(0)).ok()?,
        };
        let length = items.len().checked_mul(copies).filter(|length| *length <= ELEMENTS)?;
        Some(like(values, items.iter().cycle().take(length).cloned().collect()))
    }
}

/// Sets a pair of a dict.
pub(super) fn put_pair<'p>(pairs: &mut Vec<(Value<'p>, Value<'p>)>, key: Value<'p>, value: Value<'p>) {
    match pairs.iter_mut().find(|(old, _)| old.equals(&key, 4) == Some(true)) {
        Some((_, old)) => *old = value,
        None => pairs.push((key, value)),
    }
}

/// What an operation calls and what it passes.
fn passed<'p>(frame: &Frame<'p>, kind: &OpKind) -> (Value<'p>, Vec<Value<'p>>) {
    match kind {
        OpKind::Call(function, arguments) => {
            let given = arguments.iter().map(|argument| match argument {
                Argument::Positional(temp)
                | Argument::Keyword(_, temp)
                | Argument::Spread(temp)
                | Argument::SpreadMapping(temp) => at(frame, *temp),
            });
            (at(frame, *function), given.collect())
        }
        OpKind::Item(object, index) => (at(frame, *object), vec![at(frame, *index)]),
        OpKind::Operate(_, operands, _) => {
            (Value::None, operands.iter().flatten().map(|operand| at(frame, *operand)).collect())
        }
        _ => (Value::None, Vec::new()),
    }
}

/// The number of elements, where it is known.
pub(super) fn length(value: &Value<'_>) -> Option<i128> {
    let length = match value {
        Value::Tuple(values) => values.len(),
        Value::List(values) | Value::Set(values) => values.borrow().len(),
        Value::Dict(pairs) => pairs.borrow().len(),
        Value::Text(text) => text.chars().count(),
        Value::Range(from, to, step) => return Some(length_of_range(*from, *to, *step)),
        Value::Keys(keys) => *keys.keys.shape().first()?,
        Value::Stack(stack) if stack.is_whole => stack.items.len(),
        _ => return None,
    };
    i128::try_from(length).ok()
}

/// The attribute of an instance that is set.
pub(super) fn own<'p>(value: &Value<'p>, name: &str) -> Option<Value<'p>> {
    match value {
        Value::Instance(instance) => get(&instance.attributes.borrow(), name),
        _ => None,
    }
}

pub(super) fn integers<'p>(operator: Operator, a: i128, b: i128) -> Option<Value<'p>> {
    let int = |value: Option<i128>| value.map(Value::Int);
    match operator {
        Operator::Add => int(a.checked_add(b)),
        Operator::Sub => int(a.checked_sub(b)),
        Operator::Mul => int(a.checked_mul(b)),
        Operator::FloorDiv => int(a.checked_div_euclid(b).map(|_| floor_div(a, b))),
        Operator::Mod => int((b != 0).then(|| a.checked_sub(b.checked_mul(floor_div(a, b))?)).flatten()),
        Operator::Div if b != 0 && is_exact(a) && is_exact(b) => {
            reals(Operator::Div, Value::Int(a).real()?, Value::Int(b).real()?)
        }
        Operator::Pow => int(u32::try_from(b).ok().and_then(|b| a.checked_pow(b))),
        Operator::Shl => int(u32::try_from(b).ok().filter(|b| *b < 127).and_then(|b| a.checked_mul(1_i128 << b))),
        Operator::Shr => int(u32::try_from(b).ok().map(|b| a >> b.min(127))),
        Operator::Or => int(Some(a | b)),
        Operator::And => int(Some(a & b)),
        Operator::Xor => int(Some(a ^ b)),
        Operator::Lt => Some(Value::Bool(a < b)),
        Operator::Le => Some(Value::Bool(a <= b)),
        Operator::Gt => Some(Value::Bool(a > b)),
        Operator::Ge => Some(Value::Bool(a >= b)),
        _ => None,
    }
}

/// Whether a floating-point number is this integer.
fn is_exact(number: i128) -> bool {
    number.unsigned_abs() <= 1 << 53
}

fn floor_div(a: i128, b: i128) -> i128 {
    let quotient = a.checked_div(b).unwrap_or(0);
    if a.checked_rem(b).unwrap_or(0) != 0 && (a < 0) != (b < 0) { quotient - 1 } else { quotient }
}

pub(super) fn reals<'p>(operator: Operator, a: f64, b: f64) -> Option<Value<'p>> {
    Some(match operator {
        Operator::Add => Value::Float(a + b),
        Operator::Sub => Value::Float(a - b),
        Operator::Mul => Value::Float(a * b),
        Operator::Div if b != 0.0 => Value::Float(a / b),
        Operator::Lt => Value::Bool(a < b),
        Operator::Le => Value::Bool(a <= b),
        Operator::Gt => Value::Bool(a > b),
        Operator::Ge => Value::Bool(a >= b),
        _ => return None,
    })
}

/// The method that an operator calls.
fn dunder(operator: Operator) -> Option<&'static str> {
    Some(match operator {
        Operator::Add => "__add__",
        Operator::Sub => "__sub__",
        Operator::Mul => "__mul__",
        Operator::MatMul => "__matmul__",
        Operator::Or => "__or__",
        Operator::Shr => "__rshift__",
        Operator::Eq => "__eq__",
        _ => return None,
    })
}
