//! Values of the reference interpreter, and the built-in functions and operators on them.
//!
//! **Invariant:** operations that no snippet needs raise a `TypeError`, so that a snippet cannot pass by accident.

use std::cell::RefCell;
use std::rc::Rc;

use keylint::ir::{Collection, Function, Name, Operator};

use super::machine::Frame;

/// A result, or the exception that was raised.
pub type Ran<'m, T> = Result<T, Value<'m>>;

pub struct Environment<'m> {
    pub slots: RefCell<Vec<Option<Value<'m>>>>,
    pub parent: Option<Rc<Environment<'m>>>,
}

pub struct Closure<'m> {
    pub code: &'m Function,
    pub parent: Option<Rc<Environment<'m>>>,
    pub defaults: Vec<(u32, Value<'m>)>,
    /// The class whose body made it.
    pub class: RefCell<Option<Rc<Class<'m>>>>,
}

pub struct Class<'m> {
    pub name: Name,
    pub bases: Vec<Rc<Class<'m>>>,
    pub attributes: RefCell<Vec<(Name, Value<'m>)>>,
}

impl<'m> Class<'m> {
    /// The class and its bases, in the order in which attributes are looked up (of single inheritance).
    pub fn lineage(self: &Rc<Self>) -> Vec<Rc<Self>> {
        let mut lineage = vec![self.clone()];
        lineage.extend(self.bases.iter().flat_map(Self::lineage));
        lineage
    }

    pub fn find(self: &Rc<Self>, name: &str) -> Option<Value<'m>> {
        self.lineage().iter().find_map(|class| get(&class.attributes.borrow(), name))
    }
}

pub struct Instance<'m> {
    pub class: Rc<Class<'m>>,
    pub attributes: RefCell<Vec<(Name, Value<'m>)>>,
}

pub fn get<'m>(attributes: &[(Name, Value<'m>)], name: &str) -> Option<Value<'m>> {
    attributes.iter().find(|(key, _)| &**key == name).map(|(_, value)| value.clone())
}

pub fn set<'m>(attributes: &mut Vec<(Name, Value<'m>)>, name: &Name, value: Value<'m>) {
    match attributes.iter_mut().find(|(key, _)| key == name) {
        Some((_, old)) => *old = value,
        None => attributes.push((name.clone(), value)),
    }
}

#[derive(Clone)]
pub enum Value<'m> {
    None,
    Bool(bool),
    Int(i128),
    Str(Name),
    Tuple(Rc<Vec<Value<'m>>>),
    List(Rc<RefCell<Vec<Value<'m>>>>),
    Set(Rc<RefCell<Vec<Value<'m>>>>),
    Dict(Rc<RefCell<Vec<(Value<'m>, Value<'m>)>>>),
    Slice(Rc<Vec<Value<'m>>>),
    Builtin(Name),
    /// A method and its receiver; of built-in objects the method is a `Builtin`.
    Bound(Rc<(Value<'m>, Value<'m>)>),
    Function(Rc<Closure<'m>>),
    Class(Rc<Class<'m>>),
    Instance(Rc<Instance<'m>>),
    /// The classes after which attributes are looked for, and the receiver.
    Super(Rc<(Vec<Rc<Class<'m>>>, Value<'m>)>),
    /// The remaining elements, the next one last.
    Elements(Rc<RefCell<Vec<Value<'m>>>>),
    /// A list that is iterated while it may grow.
    Cursor(Rc<(RefCell<usize>, Value<'m>)>),
    /// A generator or coroutine.
    Suspended(Rc<RefCell<Frame<'m>>>),
    /// A type parameter, or another literal that is never inspected.
    Other,
}

impl Value<'_> {
    pub fn list(values: Vec<Self>) -> Self {
        Self::List(Rc::new(RefCell::new(values)))
    }

    pub fn text(text: &str) -> Self {
        Self::Str(text.into())
    }

    /// A display with these elements, in which later keys replace earlier ones.
    pub fn collection(collection: Collection, values: Vec<Self>, pairs: Vec<(Self, Self)>) -> Self {
        match collection {
            Collection::Tuple => Self::Tuple(Rc::new(values)),
            Collection::List => Self::list(values),
            Collection::Slice => Self::Slice(Rc::new(values)),
            Collection::Text => Self::text(&values.iter().map(Self::str).collect::<String>()),
            Collection::Set => {
                let set = Rc::new(RefCell::new(Vec::new()));
                for value in values {
                    add(&set, value);
                }
                Self::Set(set)
            }
            Collection::Dict => {
                let dict = Rc::new(RefCell::new(Vec::new()));
                for (key, value) in pairs {
                    put(&dict, key, value);
                }
                Self::Dict(dict)
            }
        }
    }

    pub fn truth(&self) -> bool {
        match self {
            Self::None => false,
            Self::Bool(value) => *value,
            Self::Int(value) => *value != 0,
            Self::Str(text) => !text.is_empty(),
            Self::Tuple(values) => !values.is_empty(),
            Self::List(values) | Self::Set(values) => !values.borrow().is_empty(),
            Self::Dict(pairs) => !pairs.borrow().is_empty(),
            _ => true,
        }
    }

    pub fn int(&self) -> Option<i128> {
        match self {
            Self::Int(value) => Some(*value),
            Self::Bool(value) => Some(i128::from(*value)),
            _ => None,
        }
    }

    /// Whether it can be a key.
    pub fn is_hashable(&self) -> bool {
        match self {
            Self::List(_) | Self::Set(_) | Self::Dict(_) => false,
            Self::Tuple(values) => values.iter().all(Self::is_hashable),
            _ => true,
        }
    }

    pub fn is(&self, other: &Self) -> bool {
        match (self, other) {
            (Self::None, Self::None) => true,
            (Self::Bool(a), Self::Bool(b)) => a == b,
            (Self::Int(a), Self::Int(b)) => a == b,
            (Self::Str(a), Self::Str(b)) | (Self::Builtin(a), Self::Builtin(b)) => a == b,
            (Self::List(a), Self::List(b)) => Rc::ptr_eq(a, b),
            (Self::Class(a), Self::Class(b)) => Rc::ptr_eq(a, b),
            (Self::Instance(a), Self::Instance(b)) => Rc::ptr_eq(a, b),
            _ => false,
        }
    }

    pub fn equals(&self, other: &Self) -> bool {
        let all = |a: &[Self], b: &[Self]| a.len() == b.len() && a.iter().zip(b).all(|(a, b)| a.equals(b));
        match (self, other) {
            (Self::Tuple(a), Self::Tuple(b)) => all(a, b),
            (Self::List(a), Self::List(b)) => all(&a.borrow(), &b.borrow()),
            _ => match (self.int(), other.int()) {
                (Some(a), Some(b)) => a == b,
                _ => self.is(other),
            },
        }
    }

    /// `repr(self)`
    pub fn repr(&self) -> String {
        let joined = |values: &[Self]| values.iter().map(Self::repr).collect::<Vec<_>>().join(", ");
        match self {
            Self::None => "None".into(),
            Self::Bool(value) => if *value { "True" } else { "False" }.into(),
            Self::Int(value) => value.to_string(),
            Self::Str(text) if text.contains('\'') => format!("\"{text}\""),
            Self::Str(text) => format!("'{text}'"),
            Self::Tuple(values) if values.len() == 1 => format!("({},)", values[0].repr()),
            Self::Tuple(values) => format!("({})", joined(values)),
            Self::List(values) => format!("[{}]", joined(&values.borrow())),
            Self::Set(values) => format!("{{{}}}", joined(&values.borrow())),
            Self::Dict(pairs) => {
                let pairs = pairs.borrow();
                let pairs: Vec<String> = pairs.iter().map(|(k, v)| format!("{}: {}", k.repr(), v.repr())).collect();
                format!("{{{}}}", pairs.join(", "))
            }
            _ => "<object>".into(),
        }
    }

    /// `str(self)`
    pub fn str(&self) -> String {
        if let Self::Str(text) = self { text.to_string() } else { self.repr() }
    }

    /// Whether it is an instance of a class or of a built-in type.
    pub fn is_a(&self, class: &Self) -> bool {
        match (self, class) {
            (Self::Instance(instance), Self::Class(class)) => {
                instance.class.lineage().iter().any(|base| Rc::ptr_eq(base, class))
            }
            (_, Self::Builtin(name)) => matches!(
                (self, &**name),
                (Self::Int(_) | Self::Bool(_), "int")
                    | (Self::Bool(_), "bool")
                    | (Self::Str(_), "str")
                    | (Self::List(_), "list")
                    | (Self::Tuple(_), "tuple")
                    | (Self::Dict(_), "dict")
            ),
            (_, Self::Tuple(classes)) => classes.iter().any(|class| self.is_a(class)),
            _ => false,
        }
    }

    /// `self[index]`
    pub fn item(&self, index: &Self) -> Option<Self> {
        if let (Self::Dict(pairs), key) = (self, index) {
            return pairs.borrow().iter().find(|(k, _)| k.equals(key)).map(|(_, value)| value.clone());
        }
        let values = match self {
            Self::Tuple(values) => values.to_vec(),
            Self::List(values) => values.borrow().clone(),
            _ => return None,
        };
        let length = i128::try_from(values.len()).ok()?;
        if let Self::Slice(parts) = index {
            let part = |at: usize, default: i128| parts[at].int().unwrap_or(default).clamp(0, length);
            let (from, to, step) = (part(0, 0), part(1, length), parts[2].int().unwrap_or(1));
            let picked = (from..to).step_by(usize::try_from(step).ok()?);
            return Some(Self::list(picked.map(|at| values[usize::try_from(at).unwrap()].clone()).collect()));
        }
        let index = index.int()?;
        let index = if index < 0 { index + length } else { index };
        values.get(usize::try_from(index).ok()?).cloned()
    }

    /// `self[index] = value`; whether that is possible.
    pub fn set_item(&self, index: Self, value: Self) -> bool {
        match self {
            Self::Dict(pairs) if index.is_hashable() => put(pairs, index, value),
            Self::List(values) => {
                let mut values = values.borrow_mut();
                let Some(place) = index.int().and_then(|at| values.get_mut(usize::try_from(at).ok()?)) else {
                    return false;
                };
                *place = value;
            }
            _ => return false,
        }
        true
    }

    /// `del self[index]`; whether there was one.
    pub fn delete_item(&self, index: &Self) -> bool {
        let Self::Dict(pairs) = self else { return false };
        let before = pairs.borrow().len();
        pairs.borrow_mut().retain(|(key, _)| !key.equals(index));
        pairs.borrow().len() < before
    }

    /// A comparison, an arithmetic operator or a pattern's test; nothing for operands that it does not take.
    pub fn operate(operator: Operator, left: &Self, right: Option<&Self>, augmented: bool) -> Option<Self> {
        let Some(right) = right else {
            return Some(match operator {
                Operator::Not => Self::Bool(!left.truth()),
                Operator::Neg => Self::Int(-left.int()?),
                Operator::Pos => Self::Int(left.int()?),
                Operator::Invert => Self::Int(!left.int()?),
                Operator::MatchSequence(count, more) => {
                    let length = match left {
                        Self::Tuple(values) => values.len(),
                        Self::List(values) => values.borrow().len(),
                        _ => return Some(Self::Bool(false)),
                    };
                    Self::Bool(if more { length >= usize::from(count) } else { length == usize::from(count) })
                }
                _ => return None,
            });
        };
        match operator {
            Operator::Is => return Some(Self::Bool(left.is(right))),
            Operator::IsNot => return Some(Self::Bool(!left.is(right))),
            Operator::Eq => return Some(Self::Bool(left.equals(right))),
            Operator::Ne => return Some(Self::Bool(!left.equals(right))),
            Operator::MatchClass => return Some(Self::Bool(left.is_a(right))),
            Operator::MatchMapping => {
                let (Self::Dict(_), Self::Tuple(keys)) = (left, right) else { return Some(Self::Bool(false)) };
                return Some(Self::Bool(keys.iter().all(|key| left.item(key).is_some())));
            }
            Operator::In | Operator::NotIn => {
                let found = match right {
                    Self::Tuple(values) => values.iter().any(|value| value.equals(left)),
                    Self::List(values) | Self::Set(values) => values.borrow().iter().any(|value| value.equals(left)),
                    Self::Dict(_) => right.item(left).is_some(),
                    _ => return None,
                };
                return Some(Self::Bool(found == (operator == Operator::In)));
            }
            _ => {}
        }
        if let (Some(a), Some(b)) = (left.int(), right.int()) {
            return Some(match operator {
                Operator::Add => Self::Int(a + b),
                Operator::Sub => Self::Int(a - b),
                Operator::Mul => Self::Int(a * b),
                Operator::Mod => Self::Int(a.rem_euclid(b)),
                Operator::Pow => Self::Int(a.pow(u32::try_from(b).ok()?)),
                Operator::Lt => Self::Bool(a < b),
                Operator::Le => Self::Bool(a <= b),
                Operator::Gt => Self::Bool(a > b),
                Operator::Ge => Self::Bool(a >= b),
                _ => return None,
            });
        }
        match (operator, left, right) {
            (Operator::Add, Self::Str(a), Self::Str(b)) => Some(Self::text(&format!("{a}{b}"))),
            (Operator::Add, Self::Tuple(a), Self::Tuple(b)) => Some(Self::Tuple(Rc::new([&***a, b].concat()))),
            (Operator::Add, Self::List(a), Self::List(b)) if augmented => {
                let more = b.borrow().clone();
                a.borrow_mut().extend(more);
                Some(left.clone())
            }
            (Operator::Add, Self::List(a), Self::List(b)) => Some(Self::list([&**a.borrow(), &**b.borrow()].concat())),
            _ => None,
        }
    }

    /// `format(self, spec)`, of specs such as `>5` and `03d`.
    pub fn formatted(&self, spec: &str) -> String {
        let digits = spec.trim_end_matches('d').trim_start_matches(['>', '<']);
        let fill = if digits.starts_with('0') { '0' } else { ' ' };
        let text = self.str();
        let missing = digits.parse::<usize>().unwrap_or(0).saturating_sub(text.chars().count());
        let padding: String = std::iter::repeat_n(fill, missing).collect();
        if spec.starts_with('<') { text + &padding } else { padding + &text }
    }
}

fn add<'m>(set: &RefCell<Vec<Value<'m>>>, value: Value<'m>) {
    if !set.borrow().iter().any(|old| old.equals(&value)) {
        set.borrow_mut().push(value);
    }
}

fn put<'m>(dict: &RefCell<Vec<(Value<'m>, Value<'m>)>>, key: Value<'m>, value: Value<'m>) {
    let mut pairs = dict.borrow_mut();
    match pairs.iter_mut().find(|(old, _)| old.equals(&key)) {
        Some((_, old)) => *old = value,
        None => pairs.push((key, value)),
    }
}

/// Adds an element to the result of a comprehension; returns whether that is possible.
pub fn append<'m>(container: &Value<'m>, value: Value<'m>) -> bool {
    match container {
        Value::List(values) => values.borrow_mut().push(value),
        Value::Set(values) => add(values, value),
        _ => return false,
    }
    true
}
