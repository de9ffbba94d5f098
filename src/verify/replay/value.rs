//! What a value of the replayed program can be.
//!
//! **Invariant:** values are cheap to clone; what Python shares, they share.

use std::cell::{Cell, OnceCell, RefCell};
use std::rc::Rc;

use super::frame::Frame;
use super::iterate::Source;
use super::symbol::Symbol;
use crate::ir::{self, Field, Function, FunctionId, Name, lookup};
use crate::models::{Models, ProtocolEffect};
use crate::prng::array::Array;
use crate::prng::dtype::DType;
use crate::prng::implementation::Implementation;
use crate::prng::keys::Keys;

pub(super) use crate::arrays::range_length as length_of_range;

/// A list that is shared.
pub(super) type Shared<T> = Rc<RefCell<Vec<T>>>;

/// Slots of a running function, and of those around it.
pub(super) struct Environment<'p> {
    pub(super) slots: RefCell<Vec<Option<Value<'p>>>>,
    pub(super) parent: Option<Rc<Environment<'p>>>,
}

/// A function value.
pub(super) struct Closure<'p> {
    pub(super) module: usize,
    pub(super) id: FunctionId,
    pub(super) code: &'p Function,
    pub(super) parent: Option<Rc<Environment<'p>>>,
    pub(super) defaults: Vec<(u32, Value<'p>)>,
    /// The class whose body made it.
    pub(super) class: RefCell<Option<Rc<Class<'p>>>>,
    /// Identifies function values.
    pub(super) number: u32,
    pub(super) is_called: Cell<bool>,
}

/// A class of the program.
pub(super) struct Class<'p> {
    pub(super) name: Name,
    pub(super) bases: Vec<Value<'p>>,
    pub(super) attributes: RefCell<Vec<(Name, Value<'p>)>>,
    /// Annotated fields, in order.
    pub(super) fields: Vec<Name>,
    /// The module and the code of its `class` statement, if it has one.
    pub(super) code: Option<(usize, &'p ir::Class)>,
    /// Whether its constructor takes its fields.
    pub(super) is_record: Cell<bool>,
    pub(super) number: u32,
    /// The bases and theirs, in lookup order, once they were asked for.
    pub(super) above: OnceCell<Vec<Rc<Class<'p>>>>,
}

/// An instance of a class of the program.
pub(super) struct Instance<'p> {
    pub(super) class: Rc<Class<'p>>,
    pub(super) attributes: RefCell<Vec<(Name, Value<'p>)>>,
    /// What its unknown attributes are attributes of.
    pub(super) symbol: Symbol,
}

/// A function with some of its arguments.
pub(super) struct Partial<'p> {
    pub(super) function: Value<'p>,
    pub(super) args: Args<'p>,
}

/// The result of a transform or factory: the path of its model, with its arguments.
pub(super) struct Wrapped<'p> {
    pub(super) path: Name,
    pub(super) function: Option<Value<'p>>,
    pub(super) args: Args<'p>,
}

/// Elements of which the first are known.
pub(super) struct Stack<'p> {
    pub(super) items: Vec<Value<'p>>,
    /// What the others are elements of.
    pub(super) rest: Symbol,
    /// Whether there are no others.
    pub(super) is_whole: bool,
}

/// A key, or an array of keys.
pub(super) struct KeyArray {
    pub(super) keys: Keys,
    /// Whether nothing on the way of the keys was unknown.
    pub(super) is_known: bool,
    pub(super) kind: KeyKind,
}

/// `from module import name`
pub(super) struct Import {
    pub(super) from: usize,
    pub(super) level: u32,
    pub(super) module: Name,
    pub(super) name: Name,
}

/// Whether keys show their words.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum KeyKind {
    Typed,
    Raw,
    /// A placeholder for a key from elsewhere.
    Unknown,
}

impl KeyArray {
    /// Keys that are derived from these.
    pub(super) fn with<'p>(&self, keys: Keys) -> Value<'p> {
        Value::Keys(Rc::new(Self { keys, is_known: self.is_known, kind: self.kind }))
    }
}

/// The children of a key, however many: `split(key, n)` of an unknown `n`.
#[derive(Clone)]
pub(super) struct Family {
    pub(super) parent: Keys,
    /// The index of its first.
    pub(super) from: u32,
    /// The number of axes.
    pub(super) rank: u8,
    /// An array whose length along one axis was queried.
    pub(super) count: Option<Symbol>,
    pub(super) kind: KeyKind,
}

/// An array of numbers, with what type promotion has to know of it.
#[derive(Clone)]
pub(super) struct Tensor {
    pub(super) array: Rc<Array>,
    /// JAX's weak type: made of Python numbers only, it gives way to the type of any other array.
    pub(super) weak: bool,
}

/// The arguments of a call.
#[derive(Clone, Default)]
pub(super) struct Args<'p> {
    pub(super) positional: Vec<Value<'p>>,
    pub(super) keywords: Vec<(Name, Value<'p>)>,
    /// Whether more may follow: `*xs` or `**kw` of something unknown was spread.
    pub(super) is_open: bool,
}

/// A value.
#[derive(Clone)]
pub(super) enum Value<'p> {
    None,
    Ellipsis,
    Bool(bool),
    Int(i128),
    Float(f64),
    /// A complex number, in a run that computes numbers: its real and its imaginary part.
    Complex(f64, f64),
    Text(Name),
    Unknown(Symbol),
    Keys(Rc<KeyArray>),
    Family(Rc<Family>),
    Stack(Rc<Stack<'p>>),
    Tuple(Rc<[Value<'p>]>),
    List(Shared<Value<'p>>),
    Set(Shared<Value<'p>>),
    Dict(Shared<(Value<'p>, Value<'p>)>),
    Slice(Rc<[Value<'p>; 3]>),
    Range(i128, i128, i128),
    Function(Rc<Closure<'p>>),
    Class(Rc<Class<'p>>),
    Instance(Rc<Instance<'p>>),
    /// `super()`: the class after which attributes are looked for, and the receiver.
    Super(Rc<(Rc<Class<'p>>, Value<'p>)>),
    Module(usize),
    /// An import at the top of a module that is not resolved yet.
    Imported(Rc<Import>),
    Library(Name),
    /// A method of the program and its receiver.
    Bound(Rc<(Value<'p>, Value<'p>)>),
    /// A method of something built in or unknown, by name.
    Method(Rc<(Value<'p>, Name)>),
    Partial(Rc<Partial<'p>>),
    Wrapped(Rc<Wrapped<'p>>),
    /// An object that returns fresh keys, by the path of its class.
    Stream(Rc<(Name, Symbol)>),
    Iterator(Rc<RefCell<Source<'p>>>),
    Generator(Rc<RefCell<Option<Box<Frame<'p>>>>>),
    /// An array of numbers, in a run that computes them.
    Array(Tensor),
    /// A dtype, which is also a function that makes arrays of it.
    DType(DType),
    /// The element type of typed keys.
    KeyDType(Implementation),
    /// A separate value for each lane of the `vmap` at a level, in a run that computes numbers.
    Lanes(usize, Rc<[Value<'p>]>),
    Static(Rc<Value<'p>>),
    ClassMethod(Rc<Value<'p>>),
    /// A getter, and a setter if there is one.
    Property(Rc<(Value<'p>, Option<Value<'p>>)>),
}

impl Value<'_> {
    pub(super) fn tuple(values: Vec<Self>) -> Self {
        Self::Tuple(values.into())
    }

    pub(super) fn list(values: Vec<Self>) -> Self {
        Self::List(Rc::new(RefCell::new(values)))
    }

    pub(super) fn dict(pairs: Vec<(Self, Self)>) -> Self {
        Self::Dict(Rc::new(RefCell::new(pairs)))
    }

    pub(super) fn keys(keys: Keys, is_known: bool, kind: KeyKind) -> Self {
        Self::Keys(Rc::new(KeyArray { keys, is_known, kind }))
    }

    pub(super) fn text(text: &str) -> Self {
        Self::Text(text.into())
    }

    pub(super) fn int(&self) -> Option<i128> {
        match self {
            Self::Int(value) => Some(*value),
            Self::Bool(value) => Some(i128::from(*value)),
            _ => None,
        }
    }

    pub(super) fn real(&self) -> Option<f64> {
        match self {
            Self::Float(value) => Some(*value),
            #[expect(clippy::cast_precision_loss, reason = "as in Python's own conversion")]
            other => other.int().map(|value| value as f64),
        }
    }

    /// Whether it can be called.
    pub(super) fn is_function(&self) -> bool {
        matches!(
            self,
            Self::Function(_)
                | Self::Bound(_)
                | Self::Partial(_)
                | Self::Wrapped(_)
                | Self::Library(_)
                | Self::Class(_)
        )
    }

    /// The truth of a value that Python knows; `None` where it depends on what is unknown.
    pub(super) fn truth(&self) -> Option<bool> {
        Some(match self {
            Self::None => false,
            Self::Bool(value) => *value,
            Self::Int(value) => *value != 0,
            Self::Float(value) => *value != 0.0,
            Self::Complex(real, imaginary) => (*real, *imaginary) != (0.0, 0.0),
            Self::Text(text) => !text.is_empty(),
            Self::Tuple(values) => !values.is_empty(),
            Self::List(values) | Self::Set(values) => !values.borrow().is_empty(),
            Self::Dict(pairs) => !pairs.borrow().is_empty(),
            Self::Range(from, to, step) => length_of_range(*from, *to, *step) > 0,
            Self::Array(tensor) if tensor.array.len() == 1 => {
                tensor.array.complexes().iter().any(|number| *number != (0.0, 0.0))
            }
            // A name of a library may be a flag: `if FLAGS.debug`.
            Self::Unknown(_) | Self::Library(_) | Self::Instance(_) | Self::Array(_) | Self::Lanes(..) => return None,
            _ => true,
        })
    }

    /// `self is other`; `None` where it depends on what is unknown.
    pub(super) fn is(&self, other: &Self) -> Option<bool> {
        Some(match (self, other) {
            (Self::Unknown(a), Self::Unknown(b)) if a == b => true,
            (Self::Unknown(_), _) | (_, Self::Unknown(_)) => return None,
            (Self::None, Self::None) | (Self::Ellipsis, Self::Ellipsis) => true,
            (Self::Bool(a), Self::Bool(b)) => a == b,
            (Self::Int(a), Self::Int(b)) => a == b,
            (Self::Text(a), Self::Text(b)) | (Self::Library(a), Self::Library(b)) => a == b,
            (Self::List(a), Self::List(b)) | (Self::Set(a), Self::Set(b)) => Rc::ptr_eq(a, b),
            (Self::Tuple(a), Self::Tuple(b)) => Rc::ptr_eq(a, b),
            (Self::Dict(a), Self::Dict(b)) => Rc::ptr_eq(a, b),
            (Self::Function(a), Self::Function(b)) => Rc::ptr_eq(a, b),
            (Self::Class(a), Self::Class(b)) => Rc::ptr_eq(a, b),
            (Self::Instance(a), Self::Instance(b)) => Rc::ptr_eq(a, b),
            (Self::Keys(a), Self::Keys(b)) => Rc::ptr_eq(a, b),
            (Self::Module(a), Self::Module(b)) => a == b,
            _ => false,
        })
    }

    /// `self == other` of two numbers, integers exactly; `None` if one is not a number.
    fn equals_as_number(&self, other: &Self) -> Option<bool> {
        #[expect(clippy::float_cmp, reason = "as in Python")]
        match (self.int(), other.int()) {
            (Some(a), Some(b)) => Some(a == b),
            _ => self.real().zip(other.real()).map(|(a, b)| a == b),
        }
    }

    /// `self == other`; `None` where it depends on what is unknown.
    pub(super) fn equals(&self, other: &Self, depth: u32) -> Option<bool> {
        if depth == 0 {
            return None;
        }
        let all = |a: &[Self], b: &[Self]| {
            let differ = |(a, b): (&Self, &Self)| Some(!a.equals(b, depth - 1)?);
            if a.len() == b.len() { Some(!any(a.iter().zip(b).map(differ))?) } else { Some(false) }
        };
        match (self, other) {
            (Self::Tuple(a), Self::Tuple(b)) => all(a, b),
            (Self::List(a), Self::List(b)) => all(&a.borrow(), &b.borrow()),
            (Self::Keys(a), Self::Keys(b)) if a.is_known && b.is_known => Some(a.keys == b.keys),
            (Self::Keys(_) | Self::Family(_) | Self::Stack(_) | Self::Instance(_), _)
            | (_, Self::Keys(_) | Self::Family(_) | Self::Stack(_) | Self::Instance(_)) => {
                if matches!((self, other), (Self::None, _) | (_, Self::None)) { Some(false) } else { None }
            }
            (Self::Dict(a), Self::Dict(b)) if !Rc::ptr_eq(a, b) => None,
            (Self::Set(a), Self::Set(b)) if !Rc::ptr_eq(a, b) => None,
            (Self::DType(a), Self::DType(b)) => Some(a == b),
            // Elements are compared one by one, when numbers are computed.
            (Self::Array(_) | Self::Lanes(..), _) | (_, Self::Array(_) | Self::Lanes(..)) => None,
            _ => self.equals_as_number(other).or_else(|| self.is(other)),
        }
    }
}

impl<'p> Args<'p> {
    pub(super) fn of(positional: Vec<Value<'p>>) -> Self {
        Self { positional, ..Self::default() }
    }

    pub(super) fn keyword(&self, name: &str) -> Option<&Value<'p>> {
        self.keywords.iter().find(|(keyword, _)| &**keyword == name).map(|(_, value)| value)
    }

    pub(super) fn with_receiver(mut self, receiver: Value<'p>) -> Self {
        self.positional.insert(0, receiver);
        self
    }

    /// Everything that is passed.
    pub(super) fn values(&self) -> impl Iterator<Item = &Value<'p>> {
        self.positional.iter().chain(self.keywords.iter().map(|(_, value)| value))
    }
}

/// The attribute of this name.
pub(super) fn get<'p>(attributes: &[(Name, Value<'p>)], name: &str) -> Option<Value<'p>> {
    attributes.iter().find(|(key, _)| &**key == name).map(|(_, value)| value.clone())
}

/// The items of a tuple or a list.
pub(super) fn sequence<'a>(value: &Value<'a>) -> Option<Vec<Value<'a>>> {
    match value {
        Value::Tuple(items) => Some(items.to_vec()),
        Value::List(items) => Some(items.borrow().clone()),
        _ => None,
    }
}

/// The values that a tuple, a list, a set or a dict holds.
pub(super) fn contents<'p>(value: &Value<'p>) -> Option<Vec<Value<'p>>> {
    match value {
        Value::Set(items) => Some(items.borrow().clone()),
        Value::Dict(pairs) => Some(pairs.borrow().iter().map(|(_, value)| value.clone()).collect()),
        _ => sequence(value),
    }
}

/// A tuple or a list, as this one is.
pub(super) fn like<'a>(value: &Value<'a>, items: Vec<Value<'a>>) -> Value<'a> {
    if matches!(value, Value::List(_)) { Value::list(items) } else { Value::tuple(items) }
}

/// Whether any of these holds; `None` where that depends on what is unknown.
pub(super) fn any(answers: impl Iterator<Item = Option<bool>>) -> Option<bool> {
    let mut any = Some(false);
    for answer in answers {
        match answer {
            Some(true) => return Some(true),
            Some(false) => {}
            None => any = None,
        }
    }
    any
}

/// Sets the attribute of this name.
pub(super) fn set<'p>(attributes: &mut Vec<(Name, Value<'p>)>, name: &Name, value: Value<'p>) {
    match attributes.iter_mut().find(|(key, _)| key == name) {
        Some((_, old)) => *old = value,
        None => attributes.push((name.clone(), value)),
    }
}

/// Most bases of a class, with theirs.
const LINEAGE: usize = 23;

impl<'p> Class<'p> {
    /// The class and its bases within the program, in lookup order.
    pub(super) fn lineage(self: &Rc<Self>) -> Vec<Rc<Self>> {
        std::iter::once(self.clone()).chain(self.above().iter().cloned()).collect()
    }

    /// The lineage without the class itself. A class is made after its bases, so this ends.
    fn above(&self) -> &[Rc<Self>] {
        self.above.get_or_init(|| {
            let bases =
                self.bases.iter().filter_map(|base| if let Value::Class(base) = base { Some(base) } else { None });
            lookup::merged(bases.map(Self::lineage).collect(), Rc::ptr_eq, LINEAGE)
        })
    }

    /// What the class or its bases bind a name to.
    pub(super) fn find(self: &Rc<Self>, name: &str) -> Option<Value<'p>> {
        // The class comes first in its lineage, and most classes have no bases in the program.
        let own = get(&self.attributes.borrow(), name);
        if own.is_some() || !self.bases.iter().any(|base| matches!(base, Value::Class(_))) {
            return own;
        }
        self.lineage().iter().find_map(|class| get(&class.attributes.borrow(), name))
    }

    /// The annotated field of that name, of the class or its bases, and the module that it is written in.
    pub(super) fn field(self: &Rc<Self>, name: &str) -> Option<(usize, &'p Field)> {
        self.lineage().iter().find_map(|class| {
            let (module, code) = class.code?;
            Some((module, code.fields.iter().find(|field| &*field.name == name)?))
        })
    }

    /// Whether JAX may treat its instances as arrays: they have a conversion method, or an unknown base class.
    pub(super) fn may_be_array(self: &Rc<Self>) -> bool {
        self.lineage().iter().any(|class| {
            let inherits = |base: &Value<'_>| match base {
                Value::Class(_) => false,
                Value::Library(path) => &**path != "builtins.object",
                _ => true,
            };
            let attributes = class.attributes.borrow();
            class.bases.iter().any(inherits) || attributes.iter().any(|(name, _)| name.ends_with("_array__"))
        })
    }

    /// The fields that always differ in what a method of an instance returns, if a library that the class has a base from makes that a copy.
    pub(super) fn changed_by_copy<'m>(self: &Rc<Self>, models: &'m Models, method: &str) -> Option<&'m [String]> {
        let mut protocols = models.protocols(method).iter();
        let is_of = |base: &Name, library: &String| base.split('.').next() == Some(library);
        let protocol = protocols.find(|protocol| {
            let is_base = |base: &Name| protocol.libraries.iter().any(|library| is_of(base, library));
            protocol.effect == ProtocolEffect::Replace && self.library_bases().iter().any(is_base)
        })?;
        Some(&protocol.changes)
    }

    /// Library classes among its bases.
    pub(super) fn library_bases(self: &Rc<Self>) -> Vec<Name> {
        let mut found = Vec::new();
        for class in self.lineage() {
            for base in &class.bases {
                if let Value::Library(path) = base {
                    found.push(path.clone());
                }
            }
        }
        found
    }
}
