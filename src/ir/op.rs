//! Operations: what a function does, one small step at a time.
//!
//! **Invariant:** the set is closed; an interpreter that runs every kind runs every program.

use std::borrow::Cow;

use thin_vec::ThinVec;

use super::{Annotation, Block, ClassId, FunctionId, Name, Temp};
use crate::text::Span;

/// A resolved variable.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum Variable {
    /// A slot of the running function.
    Local(u32),
    /// A slot of the function this many environments out.
    Outer(u32, u32),
    /// A global (or builtin) name.
    Global(Name),
}

/// A literal.
#[derive(Clone, Debug, PartialEq)]
pub enum Constant {
    /// `None`
    None,
    /// `...`
    Ellipsis,
    /// `True` or `False`
    Bool(bool),
    /// An integer that fits in 128 bits; it is boxed because it is rare and would double the size of every operation.
    Int(Box<i128>),
    /// An integer beyond 128 bits.
    BigInt,
    /// A float.
    Float(f64),
    /// A complex number without a real part: `2j`.
    Imaginary(f64),
    /// A string.
    Str(Name),
    /// Bytes: nothing keys depend on.
    Other,
}

impl Constant {
    /// Whether it is the number zero.
    pub fn is_zero(&self) -> bool {
        match self {
            Self::Int(number) => **number == 0,
            Self::Float(number) => *number == 0.0,
            _ => false,
        }
    }
}

/// Unary, binary and comparison operators.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Operator {
    /// `+`
    Add,
    /// `-`
    Sub,
    /// `*`
    Mul,
    /// `@`
    MatMul,
    /// `/`
    Div,
    /// `//`
    FloorDiv,
    /// `%`
    Mod,
    /// `**`
    Pow,
    /// `<<`
    Shl,
    /// `>>`
    Shr,
    /// `|`
    Or,
    /// `^`
    Xor,
    /// `&`
    And,
    /// `~x`
    Invert,
    /// `not x`
    Not,
    /// `-x`
    Neg,
    /// `+x`
    Pos,
    /// `==`
    Eq,
    /// `!=`
    Ne,
    /// `<`
    Lt,
    /// `<=`
    Le,
    /// `>`
    Gt,
    /// `>=`
    Ge,
    /// `is`
    Is,
    /// `is not`
    IsNot,
    /// `in`
    In,
    /// `not in`
    NotIn,
    /// A `match` test for a class pattern: whether the subject is an instance of the class.
    MatchClass,
    /// A `match` test for a sequence (no string) of exactly this many elements, or, with the flag, of at least so many.
    MatchSequence(u16, bool),
    /// A `match` test for a mapping that has all keys of the tuple that follows the subject.
    MatchMapping,
}

impl Operator {
    /// Whether Python raises for some numbers: `1 / 0`, `0 ** -1`.
    pub fn divides(self) -> bool {
        matches!(self, Self::Div | Self::FloorDiv | Self::Mod | Self::Pow)
    }

    /// Whether it computes a number of numbers.
    pub fn computes(self) -> bool {
        matches!(
            self,
            Self::Add
                | Self::Sub
                | Self::Mul
                | Self::MatMul
                | Self::Div
                | Self::FloorDiv
                | Self::Mod
                | Self::Pow
                | Self::Shl
                | Self::Shr
                | Self::Or
                | Self::Xor
                | Self::And
                | Self::Invert
                | Self::Neg
                | Self::Pos
        )
    }

    /// The operator as written in Python; of a test of `match`, a word for it.
    pub fn sign(self) -> &'static str {
        match self {
            Self::Add | Self::Pos => "+",
            Self::Sub | Self::Neg => "-",
            Self::Mul => "*",
            Self::MatMul => "@",
            Self::Div => "/",
            Self::FloorDiv => "//",
            Self::Mod => "%",
            Self::Pow => "**",
            Self::Shl => "<<",
            Self::Shr => ">>",
            Self::Or => "|",
            Self::Xor => "^",
            Self::And => "&",
            Self::Invert => "~",
            Self::Not => "not",
            Self::Eq => "==",
            Self::Ne => "!=",
            Self::Lt => "<",
            Self::Le => "<=",
            Self::Gt => ">",
            Self::Ge => ">=",
            Self::Is => "is",
            Self::IsNot => "is not",
            Self::In => "in",
            Self::NotIn => "not in",
            Self::MatchClass => "isinstance",
            Self::MatchSequence(..) => "sequence",
            Self::MatchMapping => "mapping",
        }
    }
}

/// What a display or literal builds.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Collection {
    /// `(a, b)`
    Tuple,
    /// `[a, b]`
    List,
    /// `{a, b}`
    Set,
    /// `{a: b}`
    Dict,
    /// `a:b:c` in a subscript; three elements, `None` where absent.
    Slice,
    /// An f-string: its literal pieces (constants) and its formatted values, to be joined. Of a template, the same without
    /// the formatting.
    Text,
}

/// One element of a display.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Element {
    /// A value.
    Value(Temp),
    /// `*iterable`
    Spread(Temp),
    /// `key: value`
    Pair(Temp, Temp),
    /// `**mapping`
    SpreadMapping(Temp),
}

/// One argument of a call, in evaluation order.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Argument {
    /// `f(x)`
    Positional(Temp),
    /// `f(*x)`
    Spread(Temp),
    /// `f(name=x)`
    Keyword(Name, Temp),
    /// `f(**x)`
    SpreadMapping(Temp),
}

/// Whether a call passes the parameter at a position of its callee. What is spread may pass it or not: `by_spread` says which counts.
pub fn passes(arguments: &[Argument], position: usize, name: &str, by_spread: bool) -> bool {
    arguments.iter().enumerate().any(|(at, argument)| match argument {
        Argument::Positional(_) => at == position,
        Argument::Keyword(keyword, _) => **keyword == *name,
        Argument::Spread(_) | Argument::SpreadMapping(_) => by_spread,
    })
}

impl Argument {
    /// The value that is passed; for `*x` and `**x`, what is spread.
    pub const fn value(&self) -> Temp {
        match self {
            Self::Positional(value) | Self::Spread(value) | Self::Keyword(_, value) | Self::SpreadMapping(value) => {
                *value
            }
        }
    }
}

/// An exception handler.
#[derive(Clone, Debug, PartialEq)]
pub struct Handler {
    /// The exception types: an operation of `body`. Absent, everything is caught.
    pub types: Option<Temp>,
    /// The variable that holds the exception while the handler runs, and is unbound when it ends.
    pub name: Option<Variable>,
    /// The evaluation of the types, then the handler's body.
    pub body: Block,
}

/// An operation.
#[derive(Clone, Debug, PartialEq)]
pub struct Op {
    /// The source text.
    pub span: Span,
    /// What it does.
    pub kind: OpKind,
}

/// The closed set of operations.
#[derive(Clone, Debug, PartialEq)]
pub enum OpKind {
    /// A literal.
    Constant(Constant),
    /// Reads a variable.
    Load(Variable),
    /// Writes a variable.
    Store(Variable, Temp),
    /// Unbinds a variable.
    Delete(Variable),
    /// `object.name`
    Attribute(Temp, Name),
    /// `object.name = value`
    StoreAttribute(Temp, Name, Temp),
    /// `del object.name`
    DeleteAttribute(Temp, Name),
    /// `object[index]`
    Item(Temp, Temp),
    /// `object[index] = value`
    StoreItem(Temp, Temp, Temp),
    /// `del object[index]`
    DeleteItem(Temp, Temp),
    /// A display, slice or f-string.
    Build(Collection, Box<[Element]>),
    /// An operator; the flag marks the augmented form (`x += y`).
    Operate(Operator, [Option<Temp>; 2], bool),
    /// A call.
    Call(Temp, Box<[Argument]>),
    /// Makes a function value; defaults are (parameter, temp).
    Function(FunctionId, Box<[(u32, Temp)]>),
    /// Runs a class body with these bases and class keywords, and makes a class value.
    Class(ClassId, Box<[Argument]>),
    /// `import a.b`: the module `a.b` (`whole`), or `a` after importing `a.b`.
    Import {
        /// The dotted path.
        path: Name,
        /// Whether the innermost module is the value (`import a.b as c`).
        whole: bool,
    },
    /// `from ..module import name`
    ImportFrom {
        /// Number of leading dots.
        level: u32,
        /// The module, empty for `from . import x`.
        module: Name,
        /// The imported name, `*` for all.
        name: Name,
    },
    /// Splits an iterable into this many values, with an optional starred one at an index.
    Unpack {
        /// What is unpacked.
        value: Temp,
        /// Number of targets, the starred one included.
        count: u32,
        /// Index of the starred target.
        star: Option<u32>,
    },
    /// One value of an `Unpack`.
    Project(Temp, u32),
    /// `iter(x)`, in asynchronous loops `aiter(x)`
    Iterate(Temp),
    /// The next element of an iterator; ends the enclosing loop when there is none.
    Next(Temp),
    /// Adds to the list, set or dict that a comprehension builds.
    Append(Temp, Element),
    /// A branch.
    If {
        /// The condition.
        test: Temp,
        /// Runs if it is true.
        then: Block,
        /// Runs if it is false.
        orelse: Block,
    },
    /// A loop.
    Loop {
        /// Evaluated before each iteration.
        head: Block,
        /// The condition of a `while`; a `for` ends by its `Next`.
        test: Option<Temp>,
        /// The body.
        body: Block,
        /// Runs when the loop ends without `break`.
        orelse: Block,
    },
    /// `try`
    Try {
        /// The guarded operations.
        body: Block,
        /// The handlers, in order.
        handlers: ThinVec<Handler>,
        /// Runs after `body` raised nothing.
        orelse: Block,
        /// Runs on every way out.
        finally: Block,
    },
    /// Enters a context manager: the value bound by `as`.
    Enter(Temp),
    /// Leaves the context manager that this `Enter` entered; shown an exception, it may swallow it.
    Leave(Temp),
    /// `return`
    Return(Option<Temp>),
    /// `raise`; without a value, what is being handled.
    Raise(Option<Temp>),
    /// `break`
    Break,
    /// `continue`
    Continue,
    /// `yield` (or `yield from`): the value sent in.
    Yield {
        /// The value yielded, or the iterable of `yield from`.
        value: Option<Temp>,
        /// Whether it is `yield from`.
        from: bool,
    },
    /// `await x`
    Await(Temp),
    /// States the type of a value, which stays this operation's operand: `x: Key = value` stores the value itself.
    Annotate(Temp, Annotation),
    /// Source that is not modelled, with the variables it may write.
    Unsupported(Box<[Variable]>),
}

impl OpKind {
    /// The number of a loop's body among its blocks.
    pub const LOOP_BODY: usize = 1;

    /// The blocks that the operation runs, in the order in which they are written.
    pub fn blocks(&self) -> Vec<&Block> {
        match self {
            Self::If { then, orelse, .. } => vec![then, orelse],
            Self::Loop { head, body, orelse, .. } => vec![head, body, orelse],
            Self::Try { body, handlers, orelse, finally } => {
                let handlers = handlers.iter().map(|handler| &handler.body);
                std::iter::once(body).chain(handlers).chain([orelse, finally]).collect()
            }
            _ => Vec::new(),
        }
    }

    /// Calls a function with each temp that the operation reads; its blocks read others.
    pub fn operands(&self, visit: &mut dyn FnMut(Temp)) {
        let element = |element: &Element, visit: &mut dyn FnMut(Temp)| match element {
            Element::Value(value) | Element::Spread(value) | Element::SpreadMapping(value) => visit(*value),
            Element::Pair(key, value) => {
                visit(*key);
                visit(*value);
            }
        };
        let argument = |argument: &Argument, visit: &mut dyn FnMut(Temp)| match argument {
            Argument::Positional(value)
            | Argument::Spread(value)
            | Argument::Keyword(_, value)
            | Argument::SpreadMapping(value) => visit(*value),
        };
        match self {
            Self::Store(_, value)
            | Self::Attribute(value, _)
            | Self::DeleteAttribute(value, _)
            | Self::Project(value, _)
            | Self::Iterate(value)
            | Self::Next(value)
            | Self::Enter(value)
            | Self::Leave(value)
            | Self::Await(value)
            | Self::Unpack { value, .. }
            | Self::If { test: value, .. }
            | Self::Return(Some(value))
            | Self::Raise(Some(value))
            | Self::Yield { value: Some(value), .. }
            | Self::Loop { test: Some(value), .. } => visit(*value),
            Self::StoreAttribute(object, _, value) | Self::Item(object, value) | Self::DeleteItem(object, value) => {
                visit(*object);
                visit(*value);
            }
            Self::StoreItem(object, index, value) => [object, index, value].into_iter().for_each(|temp| visit(*temp)),
            Self::Build(_, elements) => elements.iter().for_each(|one| element(one, visit)),
            Self::Append(container, value) => {
                visit(*container);
                element(value, visit);
            }
            Self::Operate(_, operands, _) => operands.iter().flatten().for_each(|temp| visit(*temp)),
            Self::Call(callee, arguments) => {
                visit(*callee);
                for one in arguments {
                    argument(one, visit);
                }
            }
            Self::Function(_, defaults) => defaults.iter().for_each(|(_, value)| visit(*value)),
            Self::Class(_, arguments) => arguments.iter().for_each(|one| argument(one, visit)),
            _ => {}
        }
    }

    /// The dotted path that an import binds, unless it is relative: `a` of `import a.b`, and `a.b` of `import a.b as c` or of `from a
    /// import b`.
    pub fn imported(&self) -> Option<Cow<'_, str>> {
        match self {
            Self::Import { path, whole: true } => Some(Cow::Borrowed(path)),
            Self::Import { path, whole: false } => path.split('.').next().map(Cow::Borrowed),
            Self::ImportFrom { level: 0, module, name } => Some(Cow::Owned(format!("{module}.{name}"))),
            _ => None,
        }
    }

    /// Whether the operation can raise by itself, so that control may leave a `try` before it takes effect. The test of an `If` or a `Loop`
    /// can: `__bool__` may raise.
    pub fn may_raise(&self) -> bool {
        match self {
            Self::Constant(_)
            | Self::Store(..)
            | Self::Function(..)
            | Self::Project(..)
            | Self::Try { .. }
            | Self::Return(_)
            | Self::Break
            | Self::Continue
            | Self::Annotate(..) => false,
            Self::Loop { test, .. } => test.is_some(),
            Self::Load(_)
            | Self::Delete(_)
            | Self::Attribute(..)
            | Self::StoreAttribute(..)
            | Self::DeleteAttribute(..)
            | Self::Item(..)
            | Self::StoreItem(..)
            | Self::DeleteItem(..)
            | Self::Build(..)
            | Self::Operate(..)
            | Self::Call(..)
            | Self::Class(..)
            | Self::Import { .. }
            | Self::ImportFrom { .. }
            | Self::Unpack { .. }
            | Self::Iterate(_)
            | Self::Next(_)
            | Self::Append(..)
            | Self::If { .. }
            | Self::Enter(_)
            | Self::Leave(_)
            | Self::Raise(_)
            | Self::Yield { .. }
            | Self::Await(_)
            | Self::Unsupported(_) => true,
        }
    }
}
