//! The intermediate representation: a closed set of operations in A-normal form, with Python's control flow and
//! evaluation order made explicit and with no knowledge of any library.
//!
//! # Small-step semantics
//!
//! A [`Function`] owns an arena of [`Op`]s; the index of an operation in the arena names its result (a [`Temp`]) and its
//! identity ([`Site`]), which inlining keeps. A [`Block`] lists operations in evaluation order. Executing an operation
//! reads temps that were executed before it on every path, performs the effect that [`OpKind`] states, and binds its own
//! temp. Structured operations hold blocks:
//!
//! * `If` runs one of its blocks; the value of a conditional expression goes through a synthetic local.
//! * `Loop` runs `head`, then `body`, until `head` ends it; `Continue` goes to the next `head`, `Break` leaves without
//!   `orelse`. A `for` loop's `head` is one `Next` on the iterator that `Iterate` made.
//! * `Try` runs `body`; an operation that [may raise](OpKind::may_raise) can leave it with the state *before* that
//!   operation; `finally` runs on every way out.
//! * `Return`, `Raise`, `Break` and `Continue` end the block they stand in.
//!
//! Names are resolved to [`Variable`]s when the module is lowered: a slot of the running function, a slot of an enclosing one
//! (read when the operation runs, as Python's cells are), or a global name. Whatever lowering does not model becomes
//! [`OpKind::Unsupported`] with the variables that it may write: nothing is dropped.
//!
//! **Invariant:** operands precede the operation that reads them, every temp is bound once, and every slot index is below
//! `Function::slots.len()`.

mod annotation;
pub mod display;
mod lower;
mod scope;

use std::sync::Arc;

pub use annotation::Annotation;
pub use lower::lower;

use crate::text::{FileId, Span};

/// An identifier or attribute name.
pub type Name = Arc<str>;

/// The result of the operation with this index in its function's arena.
pub type Temp = u32;

/// Operations in evaluation order, as indices into the function's arena.
pub type Block = Vec<Temp>;

/// Index of a function in its module.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct FunctionId(pub u32);

/// Index of a class in its module.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ClassId(pub u32);

/// Identity of one operation in the whole project.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Site {
    /// The file.
    pub file: FileId,
    /// The function within it.
    pub function: FunctionId,
    /// The operation within the function.
    pub op: Temp,
}

/// A lowered module.
#[derive(Clone, Debug)]
pub struct Module {
    /// The file that was lowered.
    pub file: FileId,
    /// All functions; the first is the module's own body.
    pub functions: Vec<Function>,
    /// All classes.
    pub classes: Vec<Class>,
}

impl Module {
    /// The function that holds the module's statements.
    pub const BODY: FunctionId = FunctionId(0);

    /// The function with this index.
    pub fn function(&self, id: FunctionId) -> &Function {
        &self.functions[id.0 as usize]
    }

    /// The class with this index.
    pub fn class(&self, id: ClassId) -> &Class {
        &self.classes[id.0 as usize]
    }
}

/// What kind of scope a function is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum FunctionKind {
    /// The statements of a module; its variables are globals.
    Module,
    /// A `def`.
    Def,
    /// A `lambda`.
    Lambda,
    /// The statements of a class; its variables become attributes.
    ClassBody,
    /// A generator expression; its one parameter is the outermost iterable.
    Generator,
}

/// How a parameter takes its argument.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum ParameterKind {
    /// By position only.
    PositionalOnly,
    /// By position or keyword.
    Normal,
    /// `*args`.
    Variadic,
    /// By keyword only.
    KeywordOnly,
    /// `**kwargs`.
    Keywords,
}

/// A parameter; its slot is its index.
#[derive(Clone, Debug)]
pub struct Parameter {
    /// The name.
    pub name: Name,
    /// How it takes its argument.
    pub kind: ParameterKind,
    /// Whether it has a default (a temp of the defining function: see [`OpKind::Function`]).
    pub has_default: bool,
    /// The annotation as written.
    pub annotation: Option<Annotation>,
    /// Where it is declared.
    pub span: Span,
}

/// A function, class body or module body.
#[derive(Clone, Debug)]
pub struct Function {
    /// The name (`<lambda>`, `<genexpr>`, `<module>` where there is none).
    pub name: Name,
    /// The qualified name within the module (`Model.step`, `train.<lambda>`).
    pub qualified: Name,
    /// What kind of scope it is.
    pub kind: FunctionKind,
    /// The function whose variables it can capture.
    pub parent: Option<FunctionId>,
    /// The class whose body holds the `def`.
    pub class: Option<ClassId>,
    /// The name in the `def` (or the whole lambda).
    pub span: Span,
    /// The whole definition.
    pub full: Span,
    /// Parameters; the first `parameters.len()` slots are theirs.
    pub parameters: Vec<Parameter>,
    /// Names of the slots.
    pub slots: Vec<Name>,
    /// The arena.
    pub ops: Vec<Op>,
    /// The body.
    pub body: Block,
    /// Whether calling it makes a generator.
    pub is_generator: bool,
    /// The annotated result.
    pub returns: Option<Annotation>,
    /// Comment on the `def` that declares what it does with its keys.
    pub effects: Vec<DeclaredEffect>,
    /// Whether the body is only a docstring, `...`, `pass` or `raise NotImplementedError`: a stub says nothing of what
    /// the implementation does.
    pub is_stub: bool,
}

/// A declared effect on a parameter: `# keylint: consumes(key)`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DeclaredEffect {
    /// `consumes`, `derives` or `observes`.
    pub effect: EffectWord,
    /// The parameter.
    pub parameter: Name,
}

/// The words of an effect comment.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum EffectWord {
    /// The key is consumed.
    Consumes,
    /// New keys are derived from the key; it is not consumed.
    Derives,
    /// The key is only looked at.
    Observes,
}

/// A class.
#[derive(Clone, Debug)]
pub struct Class {
    /// The name.
    pub name: Name,
    /// The qualified name within the module.
    pub qualified: Name,
    /// The name in the `class` statement.
    pub span: Span,
    /// The function that runs its body.
    pub body: FunctionId,
    /// Annotated fields, in order.
    pub fields: Vec<Field>,
}

/// An annotated field of a class.
#[derive(Clone, Debug)]
pub struct Field {
    /// The name.
    pub name: Name,
    /// The annotation as written.
    pub annotation: Annotation,
    /// Whether the class body gives it a value.
    pub has_default: bool,
    /// Where it is declared.
    pub span: Span,
}

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
    /// An integer that fits.
    Int(i128),
    /// An integer beyond 128 bits.
    BigInt,
    /// A float (or the real part of nothing: complex literals are opaque).
    Float(f64),
    /// A string.
    Str(Name),
    /// Bytes or a complex number: nothing keys depend on.
    Other,
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
    /// A `match` test for a class pattern: subject, class.
    MatchClass,
    /// A `match` test for a sequence of exactly, or at least, this many elements.
    MatchSequence(u16, bool),
    /// A `match` test for a mapping with the keys that follow the subject.
    MatchMapping,
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
    /// An f-string or template: its interpolated values.
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

/// One argument of a call, in source order.
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

/// An exception handler.
#[derive(Clone, Debug)]
pub struct Handler {
    /// Operations that evaluate the exception types, and their result.
    pub types: Option<Temp>,
    /// The variable that is bound.
    pub name: Option<Variable>,
    /// The handler's body, which begins with the evaluation of its types.
    pub body: Block,
}

/// An operation.
#[derive(Clone, Debug)]
pub struct Op {
    /// The source it stands for.
    pub span: Span,
    /// What it does.
    pub kind: OpKind,
}

/// The closed set of operations.
#[derive(Clone, Debug)]
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
    Build(Collection, Vec<Element>),
    /// An operator; the flag marks the augmented form (`x += y`).
    Operate(Operator, [Option<Temp>; 2], bool),
    /// A call.
    Call(Temp, Vec<Argument>),
    /// Makes a function value; defaults are (parameter, temp).
    Function(FunctionId, Vec<(u32, Temp)>),
    /// Runs a class body with these bases and class keywords, and makes a class value.
    Class(ClassId, Vec<Argument>),
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
    /// `iter(x)`
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
        handlers: Vec<Handler>,
        /// Runs after `body` raised nothing.
        orelse: Block,
        /// Runs on every way out.
        finally: Block,
    },
    /// Enters a context manager: the value bound by `as`.
    Enter(Temp),
    /// Leaves the context manager that this `Enter` entered.
    Leave(Temp),
    /// `return`
    Return(Option<Temp>),
    /// `raise`
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
    /// States the type of a value: `x: Key = value`.
    Annotate(Temp, Annotation),
    /// Source that is not modelled, with the variables it may write.
    Unsupported(Vec<Variable>),
}

impl OpKind {
    /// Whether the operation can raise, so that a `try` may be left before it takes effect.
    pub fn may_raise(&self) -> bool {
        matches!(
            self,
            Self::Attribute(..)
                | Self::Item(..)
                | Self::StoreItem(..)
                | Self::DeleteItem(..)
                | Self::Operate(..)
                | Self::Call(..)
                | Self::Import { .. }
                | Self::ImportFrom { .. }
                | Self::Unpack { .. }
                | Self::Iterate(..)
                | Self::Next(..)
                | Self::Enter(..)
                | Self::Await(..)
                | Self::Raise(..)
                | Self::Unsupported(..)
        )
    }
}
