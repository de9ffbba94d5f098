//! The intermediate representation: a closed set of operations in A-normal form, with Python's control flow and
//! evaluation order made explicit and with no knowledge of any library.
//!
//! # Small-step semantics
//!
//! A [`Function`] owns an arena of [`Op`]s; the index of an operation in the arena names its result (a [`Temp`]) and is its identity, which
//! inlining keeps. A [`Block`] lists operations in evaluation order. Executing an operation reads temps that were executed before it on
//! every path, performs the effect of its [`OpKind`], and binds its own temp; executed again (in a loop), it rebinds it. Structured
//! operations contain blocks:
//!
//! * `If` runs one of its blocks; the value of a conditional expression goes through a synthetic local.
//! * `Loop` runs `head`, then `body`, until `head` ends it; `Continue` goes to the next `head`, `Break` leaves without
//!   `orelse`. A `while` loop ends when `test`, an operation of `head`, is false. A `for` loop has no `test`; its `head` is
//!   one `Next` on the iterator that `Iterate` made, and the loop ends when that has no more elements.
//! * `Try` runs `body`, and `orelse` if `body` ran to its end. An exception in `body` (not in `orelse`) goes to the handlers
//!   in order: a handler's block begins with the evaluation of `types`, up to and including that operation; if the exception
//!   is not of these types the next handler is tried, and else `name` is bound, the rest of the block runs, and `name` is
//!   unbound on every way out of it. `finally` runs on every way out of all of these, and a way out of its own replaces the
//!   one that was under way. An operation that [may raise](OpKind::may_raise) leaves with the state *before* it.
//! * `Enter` and `Leave` are the two calls of a `with`, whose body is a `Try` with a `Leave` in its `finally`. Where an
//!   exception is under way, `Leave` is shown it and may swallow it: execution goes on after the `Try`.
//! * `Return`, `Raise`, `Break` and `Continue` leave at once: what follows in their block is dead, but kept. `Raise` without
//!   a value raises again what is being handled.
//!
//! # Variables
//!
//! Names are resolved to [`Variable`]s when the module is lowered. Running a function makes an *environment*, a row of slots
//! whose parent is the environment that its [`OpKind::Function`] (or [`OpKind::Class`]) ran in. A variable is a slot of the
//! running environment, a slot of an enclosing one (read when the operation runs, as Python's cells are), or a global name.
//! Slots begin unbound, but for the parameters. The first [`Function::named`] slots are the variables of the scope; the ones
//! after them are hidden: targets of comprehensions, type parameters, and temporaries, whose names look like `<if>`. In a
//! class body, an unbound named slot reads the global of its name; after the body has run, its bound named slots are the class's
//! attributes. A class's environment takes part in counting outwards, though nothing nested can name its attributes.
//!
//! A list, set or dict comprehension runs in the enclosing frame, with hidden slots for its targets, unless a function within it captures
//! them: then it is a [`FunctionKind::Comprehension`] that is called in place, so that every run has its own cells. A generator expression
//! always is a function. Either takes the outermost iterable as its one argument.
//!
//! # Calls
//!
//! Arguments are listed in the order in which Python evaluates them: those by position, then those by keyword. `*xs` is
//! iterated by the call or display that spreads it; where Python does that before it evaluates a later operand, lowering
//! puts the elements into a list first, unless `xs` is held somewhere (a name, an attribute, an item of one, a display).
//! `**mapping` is read by the call or display.
//!
//! Calling a generator function makes an iterator that runs the body up to the next `Yield` each time it is advanced. Calling an `async`
//! function makes a coroutine that runs when `Await` waits for it. `async for`, `async with` and asynchronous comprehensions are lowered
//! like their plain forms: the iterator and the manager determine which protocol applies. Formatting is a call of `format`, `repr`, `str`
//! or `ascii`, and a zero-argument `super()` gets the first parameter.
//!
//! # What is not modelled
//!
//! Constructs that lowering does not model become [`OpKind::Unsupported`] with the variables that they may write: nothing is dropped.
//! Annotations and the bounds of type parameters are not executed. Private names (`self.__x`) are kept as written. An instance that lacks
//! an attribute which a class pattern names raises, where Python tries the next case. Code that Python's compiler rejects though its
//! grammar allows it (`break` outside a loop) is unsupported too.
//!
//! **Invariant:** operands precede the operation that reads them, every operation is in exactly one block, every slot index is below
//! `Function::slots.len()`, and blocks nest no deeper than the syntax does, plus a constant. `tests/it/ir/validate.rs` checks it.

mod alike;
mod annotation;
pub mod display;
pub mod liveness;
pub mod lookup;
mod lower;
mod op;
mod packed;
pub mod prelude;
mod reaching;
mod scope;
mod uses;

use std::sync::{Arc, OnceLock};

use rustc_hash::FxHashSet;
use thin_vec::ThinVec;

pub use alike::is_written_alike;
pub use annotation::Annotation;
pub use lower::{EffectLookup, binary_operator, lower, lower_again};
pub use op::{Argument, Collection, Constant, Element, Handler, Op, OpKind, Operator, Variable, passes};
pub use packed::Ops;
pub use reaching::{DefUses, ReachingDefinitions};
pub use uses::Uses;

use crate::text::{FileId, Span};

/// An identifier or attribute name.
pub type Name = Arc<str>;

/// The result of the operation with this index in its function's arena.
pub type Temp = u32;

/// Operations in evaluation order, as indices into the function's arena. A block is one word: three of them in an operation decide how
/// large every operation is.
pub type Block = ThinVec<Temp>;

/// Index of a function in its module.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct FunctionId(pub u32);

/// Index of a class in its module.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ClassId(pub u32);

/// Resolves an import to a file.
pub trait Resolver: Sync {
    /// The file of the module that `from` imports with `level` leading dots and this dotted path; `None` where it is not part
    /// of the program.
    fn module(&self, from: FileId, level: u32, path: &str) -> Option<FileId>;
    /// The dotted path of an import as seen from outside, for libraries: relative imports resolved against the package.
    fn absolute(&self, from: FileId, level: u32, path: &str) -> String;
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
    /// The names of the methods of its classes, once something has asked for one.
    methods: OnceLock<FxHashSet<Name>>,
}

impl Module {
    /// The function that holds the module's statements.
    pub const BODY: FunctionId = FunctionId(0);

    /// A module of these functions, the first of which is its body, and classes.
    pub fn new(file: FileId, functions: Vec<Function>, classes: Vec<Class>) -> Self {
        Self { file, functions, classes, methods: OnceLock::new() }
    }

    /// Whether a class of the module has a method of this name.
    pub fn has_method(&self, name: &Name) -> bool {
        let methods = self.methods.get_or_init(|| {
            let methods = self.functions.iter().filter(|function| function.class.is_some());
            methods.map(|function| function.name.clone()).collect()
        });
        methods.contains(name)
    }

    /// The function that is this many levels around another one.
    pub fn enclosing<'m>(&'m self, function: &'m Function, levels: u32) -> Option<&'m Function> {
        (0..levels).try_fold(function, |inner, _| inner.parent.map(|parent| self.function(parent)))
    }

    /// Packs the operations of all functions. A copy of a packed module shares what is packed, and unpacks by itself what it reads.
    pub fn pack(&mut self) {
        packed::pack(self.functions.iter_mut().map(|function| &mut function.ops));
    }

    /// The functions whose operations were read since this was last asked.
    pub fn take_read(&self) -> Vec<FunctionId> {
        let numbered = (0u32..).map(FunctionId).zip(&self.functions);
        numbered.filter(|(_, function)| function.ops.replace_read(false)).map(|(id, _)| id).collect()
    }

    /// Records that a result depends on the operations of a function.
    pub fn note_read(&self, id: FunctionId) {
        if let Some(function) = self.functions.get(id.0 as usize) {
            function.ops.note_read();
        }
    }

    /// Records that a result depends on the operations of all functions.
    pub fn note_all_read(&self) {
        self.functions.iter().for_each(|function| function.ops.note_read());
    }

    /// Runs `work` without recording which operations it reads.
    pub fn unrecorded<T>(&self, work: impl FnOnce() -> T) -> T {
        let before = self.take_read();
        let result = work();
        self.take_read();
        for id in before {
            self.function(id).ops.replace_read(true);
        }
        result
    }

    /// Whether it is lowered as another one.
    pub fn is_same_as(&self, other: &Self) -> bool {
        let is_same = |(one, other): (&Function, &Function)| {
            one.full == other.full && one.has_signature_of(other) && one.has_body_of(other)
        };
        (self.file, self.functions.len(), &self.classes) == (other.file, other.functions.len(), &other.classes)
            && self.functions.iter().zip(&other.functions).all(is_same)
    }

    /// Replaces all places. Operations must not be packed.
    pub fn replace_spans(&mut self, of: &dyn Fn(Span) -> Span) {
        self.functions.iter_mut().for_each(|function| function.replace_spans(of));
        self.classes.iter_mut().for_each(|class| class.replace_spans(of));
    }

    /// Replaces neighbouring functions and classes by as many others, whose operations are not packed yet.
    pub fn replace(&mut self, functions: (FunctionId, Vec<Function>), classes: (ClassId, Vec<Class>)) {
        self.methods = OnceLock::new();
        let (FunctionId(first), mut functions) = functions;
        packed::pack(functions.iter_mut().map(|function| &mut function.ops));
        for (place, function) in self.functions.iter_mut().skip(first as usize).zip(functions) {
            *place = function;
        }
        let (ClassId(first), classes) = classes;
        for (place, class) in self.classes.iter_mut().skip(first as usize).zip(classes) {
            *place = class;
        }
    }

    /// Forgets the operations that were unpacked.
    pub fn fold(&mut self) {
        self.functions.iter_mut().for_each(|function| function.ops.fold());
    }

    /// The innermost function whose definition contains a place; the module's body where there is none.
    pub fn innermost(&self, span: Span) -> FunctionId {
        let around = (0u32..).zip(&self.functions).skip(1).filter(|(_, code)| code.full.covers(span));
        around.min_by_key(|(_, code)| code.full.len()).map_or(Self::BODY, |(id, _)| FunctionId(id))
    }

    /// The functions around a place, innermost first; `None` where the innermost statements are those of a class or of the module.
    pub fn functions_around(&self, span: Span) -> Option<Vec<FunctionId>> {
        let is_function =
            |id: &FunctionId| !matches!(self.function(*id).kind, FunctionKind::Module | FunctionKind::ClassBody);
        let innermost = Some(self.innermost(span)).filter(is_function)?;
        let around = std::iter::successors(Some(innermost), |id| self.function(*id).parent);
        Some(around.filter(is_function).collect())
    }

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
    /// A list, set or dict comprehension with targets that a function within it captures; its one parameter is the
    /// outermost iterable, its result what it builds.
    Comprehension,
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
#[derive(Clone, Debug, PartialEq)]
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
    /// The name (`<lambda>`, `<genexpr>`, `<listcomp>`, `<module>` where there is none).
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
    /// How many of the slots are variables of the scope; the others are hidden.
    pub named: u32,
    /// The arena.
    pub ops: Ops,
    /// The body.
    pub body: Block,
    /// Whether calling it makes a generator.
    pub is_generator: bool,
    /// Whether calling it makes a coroutine (or an asynchronous generator).
    pub is_async: bool,
    /// The annotated result.
    pub returns: Option<Annotation>,
    /// Comment on the `def` that declares what it does with its keys.
    pub effects: Vec<DeclaredEffect>,
    /// Whether the body is only a docstring, `...`, `pass` or `raise NotImplementedError`: a stub, which says nothing about the
    /// implementation.
    pub is_stub: bool,
}

impl Class {
    /// Replaces all places.
    pub fn replace_spans(&mut self, of: &dyn Fn(Span) -> Span) {
        self.span = of(self.span);
        self.fields.iter_mut().for_each(|field| field.annotation.replace_spans(of));
    }
}

impl Function {
    /// Records that a result depends on the operations.
    pub fn note_read(&self) {
        self.ops.note_read();
    }

    /// Replaces all places. Operations must not be packed.
    pub fn replace_spans(&mut self, of: &dyn Fn(Span) -> Span) {
        (self.span, self.full) = (of(self.span), of(self.full));
        for parameter in &mut self.parameters {
            parameter.span = of(parameter.span);
            parameter.annotation.iter_mut().for_each(|annotation| annotation.replace_spans(of));
        }
        self.returns.iter_mut().for_each(|annotation| annotation.replace_spans(of));
        self.effects.iter_mut().for_each(|declared| declared.span = of(declared.span));
        for op in self.ops.unpacked_mut() {
            op.span = of(op.span);
            if let OpKind::Annotate(_, annotation) = &mut op.kind {
                annotation.replace_spans(of);
            }
        }
    }

    /// Whether everything but the body, and how far it extends, is that of another function.
    pub fn has_signature_of(&self, other: &Self) -> bool {
        let Self { name, qualified, kind, parent, class, span, full, parameters, .. } = self;
        let Self { is_generator, is_async, returns, effects, is_stub, .. } = self;
        (name, qualified, kind, parent, class)
            == (&other.name, &other.qualified, &other.kind, &other.parent, &other.class)
            && (span, full.start, parameters) == (&other.span, other.full.start, &other.parameters)
            && (is_generator, is_async, returns) == (&other.is_generator, &other.is_async, &other.returns)
            && (effects, is_stub) == (&other.effects, &other.is_stub)
    }

    /// Whether everything but the body is that of another function, apart from places.
    pub fn has_moved_signature_of(&self, other: &Self) -> bool {
        let unplaced = |function: &Self| {
            let mut bare = Self { ops: Ops::default(), ..function.clone() };
            bare.replace_spans(&|_| Span::default());
            bare
        };
        unplaced(self).has_signature_of(&unplaced(other))
    }

    /// Whether the body is that of another function.
    pub fn has_body_of(&self, other: &Self) -> bool {
        (&self.slots, self.named, &self.body) == (&other.slots, other.named, &other.body)
            && *self.ops.read() == *other.ops.read()
    }

    /// What the function stores in a variable, if it does so once.
    pub fn sole_value(&self, variable: &Variable) -> Option<Temp> {
        let mut stores = self.ops.iter().filter_map(|op| match &op.kind {
            OpKind::Store(stored, value) if stored == variable => Some(*value),
            _ => None,
        });
        stores.next().filter(|_| stores.next().is_none())
    }

    /// The operations of a block and of the blocks within it, in order.
    pub fn within<'a>(&'a self, block: &'a [Temp]) -> impl Iterator<Item = Temp> + 'a {
        let mut open = vec![block.iter()];
        std::iter::from_fn(move || {
            loop {
                if let Some(temp) = open.last_mut()?.next() {
                    let blocks = self.ops.get(*temp as usize).map(|op| op.kind.blocks()).unwrap_or_default();
                    open.extend(blocks.into_iter().rev().map(|inner| inner.iter()));
                    return Some(*temp);
                }
                open.pop();
            }
        })
    }
}

/// A declared effect on a parameter: `# keylint: consumes(key)`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DeclaredEffect {
    /// `consumes`, `derives` or `observes`.
    pub effect: EffectWord,
    /// The parameter.
    pub parameter: Name,
    /// The comment.
    pub span: Span,
}

/// The words of an effect comment.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum EffectWord {
    /// The key is consumed.
    Consumes,
    /// New keys are derived from the key; it is not consumed.
    Derives,
    /// The key is only inspected.
    Observes,
}

/// A class.
#[derive(Clone, Debug, PartialEq)]
pub struct Class {
    /// The name.
    pub name: Name,
    /// The name in the `class` statement.
    pub span: Span,
    /// The function that runs its body.
    pub body: FunctionId,
    /// Annotated fields, in order.
    pub fields: Vec<Field>,
}

/// An annotated field of a class.
#[derive(Clone, Debug, PartialEq)]
pub struct Field {
    /// The name.
    pub name: Name,
    /// The annotation as written.
    pub annotation: Annotation,
    /// Whether the class body gives it a value.
    pub has_default: bool,
}
