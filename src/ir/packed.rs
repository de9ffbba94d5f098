//! The operations of functions as bytes, until they are read.
//!
//! Most functions of a program never run, and an operation takes about ten times as much memory as its bytes. Operations refer to each
//! other by distance, names by their number in the module.
//!
//! **Invariant:** what is unpacked equals what was packed; packing changes nothing but memory and time.

use std::borrow::Cow;
use std::ops::Deref;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, OnceLock};

use rustc_hash::FxHashMap;

use super::{
    Argument, Block, ClassId, Collection, Constant, Element, FunctionId, Name, Op, OpKind, Operator, Temp, Variable,
};
use crate::text::Span;

/// The operations of a function. Packed ones are unpacked when they are first read, and kept from then on.
#[derive(Debug, Default)]
pub struct Ops {
    packed: Option<Packed>,
    open: OnceLock<Box<[Op]>>,
    /// Whether they were read since they were last asked. Nothing is ordered by it.
    is_read: AtomicBool,
}

/// The bytes of one function within those of its module.
#[derive(Clone, Debug)]
struct Packed {
    module: Arc<PackedModule>,
    start: usize,
}

/// What the packed functions of a module share.
#[derive(Debug, Default)]
struct PackedModule {
    bytes: Vec<u8>,
    names: Vec<Name>,
    /// Operations of rare kinds, as they are.
    rare: Vec<OpKind>,
}

impl Ops {
    /// The operations, which stay packed if they are.
    pub fn read(&self) -> Cow<'_, [Op]> {
        self.note_read();
        match (self.open.get(), &self.packed) {
            (Some(open), _) => Cow::Borrowed(open),
            (None, Some(packed)) => Cow::Owned(packed.unpack()),
            (None, None) => Cow::Borrowed(&[]),
        }
    }

    /// How many there are, without unpacking them.
    pub fn len(&self) -> usize {
        self.note_read();
        match (self.open.get(), &self.packed) {
            (Some(open), _) => open.len(),
            (None, Some(packed)) => packed.unpacker().index() as usize,
            (None, None) => 0,
        }
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Records that a result depends on them.
    pub(super) fn note_read(&self) {
        if !self.is_read.load(Ordering::Relaxed) {
            self.is_read.store(true, Ordering::Relaxed);
        }
    }

    /// Whether they were read since this was last asked, or set.
    pub(super) fn replace_read(&self, is_read: bool) -> bool {
        let was_read = self.is_read.load(Ordering::Relaxed);
        if was_read != is_read {
            self.is_read.store(is_read, Ordering::Relaxed);
        }
        was_read
    }

    /// The operations that were never packed.
    pub(super) fn unpacked_mut(&mut self) -> &mut [Op] {
        self.open.get_mut().map_or(&mut [], |open| &mut **open)
    }

    /// Forgets what was unpacked.
    pub(super) fn fold(&mut self) {
        if self.packed.is_some() {
            self.open = OnceLock::new();
        }
    }
}

impl Deref for Ops {
    type Target = [Op];

    fn deref(&self) -> &[Op] {
        self.note_read();
        self.open.get_or_init(|| self.packed.as_ref().map(Packed::unpack).unwrap_or_default().into())
    }
}

impl<'a> IntoIterator for &'a Ops {
    type Item = &'a Op;
    type IntoIter = std::slice::Iter<'a, Op>;

    fn into_iter(self) -> Self::IntoIter {
        self.iter()
    }
}

impl From<Vec<Op>> for Ops {
    fn from(ops: Vec<Op>) -> Self {
        Self { open: OnceLock::from(ops.into_boxed_slice()), ..Self::default() }
    }
}

/// A copy of packed operations shares their bytes, and is unpacked by itself.
impl Clone for Ops {
    fn clone(&self) -> Self {
        let open = if self.packed.is_some() { OnceLock::new() } else { self.open.clone() };
        Self { packed: self.packed.clone(), open, is_read: AtomicBool::default() }
    }
}

/// Packs the functions of a module.
pub(super) fn pack<'a>(functions: impl Iterator<Item = &'a mut Ops>) {
    let mut packer = Packer { module: PackedModule::default(), names: FxHashMap::default(), at: 0, start: 0 };
    let mut done: Vec<(usize, &mut Ops)> = Vec::new();
    for ops in functions {
        let start = packer.module.bytes.len();
        packer.ops(ops);
        done.push((start, ops));
    }
    let PackedModule { mut bytes, mut names, mut rare } = packer.module;
    bytes.shrink_to_fit();
    names.shrink_to_fit();
    rare.shrink_to_fit();
    let module = Arc::new(PackedModule { bytes, names, rare });
    for (start, ops) in done {
        *ops = Ops { packed: Some(Packed { module: Arc::clone(&module), start }), ..Ops::default() };
    }
}

/// The kinds of operations, as bytes.
mod kind {
    pub(super) const RARE: u8 = 0;
    pub(super) const NONE: u8 = 1;
    pub(super) const FALSE: u8 = 2;
    pub(super) const TRUE: u8 = 3;
    pub(super) const INT: u8 = 4;
    pub(super) const FLOAT: u8 = 5;
    pub(super) const STR: u8 = 6;
    pub(super) const LOAD_LOCAL: u8 = 7;
    pub(super) const LOAD_OUTER: u8 = 8;
    pub(super) const LOAD_GLOBAL: u8 = 9;
    pub(super) const STORE_LOCAL: u8 = 10;
    pub(super) const STORE_OUTER: u8 = 11;
    pub(super) const STORE_GLOBAL: u8 = 12;
    pub(super) const ATTRIBUTE: u8 = 13;
    pub(super) const STORE_ATTRIBUTE: u8 = 14;
    pub(super) const ITEM: u8 = 15;
    pub(super) const STORE_ITEM: u8 = 16;
    pub(super) const TUPLE: u8 = 17;
    pub(super) const LIST: u8 = 18;
    pub(super) const SET: u8 = 19;
    pub(super) const DICT: u8 = 20;
    pub(super) const SLICE: u8 = 21;
    pub(super) const TEXT: u8 = 22;
    pub(super) const OPERATE: u8 = 23;
    pub(super) const OPERATE_AUGMENTED: u8 = 24;
    pub(super) const CALL: u8 = 25;
    pub(super) const FUNCTION: u8 = 26;
    pub(super) const CLASS: u8 = 27;
    pub(super) const PROJECT: u8 = 28;
    pub(super) const ITERATE: u8 = 29;
    pub(super) const NEXT: u8 = 30;
    pub(super) const IF: u8 = 31;
    pub(super) const LOOP: u8 = 32;
    pub(super) const RETURN: u8 = 33;
    pub(super) const RAISE: u8 = 34;
}

/// The operators whose number is packed.
const OPERATORS: [Operator; 28] = [
    Operator::Add,
    Operator::Sub,
    Operator::Mul,
    Operator::MatMul,
    Operator::Div,
    Operator::FloorDiv,
    Operator::Mod,
    Operator::Pow,
    Operator::Shl,
    Operator::Shr,
    Operator::Or,
    Operator::Xor,
    Operator::And,
    Operator::Invert,
    Operator::Not,
    Operator::Neg,
    Operator::Pos,
    Operator::Eq,
    Operator::Ne,
    Operator::Lt,
    Operator::Le,
    Operator::Gt,
    Operator::Ge,
    Operator::Is,
    Operator::IsNot,
    Operator::In,
    Operator::NotIn,
    Operator::MatchClass,
];

/// Writes the operations of a module.
struct Packer {
    module: PackedModule,
    names: FxHashMap<Name, u64>,
    /// The number of the operation.
    at: Temp,
    /// Where the source of the operation before it starts.
    start: u32,
}

impl Packer {
    fn ops(&mut self, ops: &[Op]) {
        self.start = 0;
        self.number(ops.len() as u64);
        for (at, op) in (0..).zip(ops) {
            self.at = at;
            self.op(op);
        }
    }

    fn op(&mut self, op: &Op) {
        if !self.kind(&op.kind) {
            self.tag(kind::RARE);
            self.number(self.module.rare.len() as u64);
            self.module.rare.push(op.kind.clone());
        }
        self.signed(i64::from(op.span.start) - i64::from(self.start));
        self.number(u64::from(op.span.end - op.span.start));
        self.start = op.span.start;
    }

    /// Writes an operation of a frequent kind; false for others, of which nothing is written.
    fn kind(&mut self, op: &OpKind) -> bool {
        match op {
            OpKind::Constant(constant) => return self.constant(constant),
            OpKind::Load(variable) => {
                self.variable([kind::LOAD_LOCAL, kind::LOAD_OUTER, kind::LOAD_GLOBAL], variable);
            }
            OpKind::Store(variable, value) => {
                self.variable([kind::STORE_LOCAL, kind::STORE_OUTER, kind::STORE_GLOBAL], variable);
                self.temp(*value);
            }
            OpKind::Attribute(object, name) => {
                self.with_temps(kind::ATTRIBUTE, &[*object]);
                self.name(name);
            }
            OpKind::StoreAttribute(object, name, value) => {
                self.with_temps(kind::STORE_ATTRIBUTE, &[*object, *value]);
                self.name(name);
            }
            OpKind::Item(object, index) => self.with_temps(kind::ITEM, &[*object, *index]),
            OpKind::StoreItem(object, index, value) => self.with_temps(kind::STORE_ITEM, &[*object, *index, *value]),
            OpKind::Build(collection, elements) => self.build(*collection, elements),
            OpKind::Operate(operator, [left, right], is_augmented) => {
                let Some(number) = OPERATORS.iter().position(|known| known == operator) else { return false };
                self.tag(if *is_augmented { kind::OPERATE_AUGMENTED } else { kind::OPERATE });
                self.number(number as u64);
                self.optional(*left);
                self.optional(*right);
            }
            OpKind::Call(callee, arguments) => {
                self.with_temps(kind::CALL, &[*callee]);
                self.arguments(arguments);
            }
            OpKind::Function(id, defaults) => {
                self.tag(kind::FUNCTION);
                self.number(u64::from(id.0));
                self.number(defaults.len() as u64);
                for (parameter, value) in defaults {
                    self.number(u64::from(*parameter));
                    self.temp(*value);
                }
            }
            OpKind::Class(id, arguments) => {
                self.tag(kind::CLASS);
                self.number(u64::from(id.0));
                self.arguments(arguments);
            }
            OpKind::Project(value, index) => {
                self.with_temps(kind::PROJECT, &[*value]);
                self.number(u64::from(*index));
            }
            OpKind::Iterate(value) => self.with_temps(kind::ITERATE, &[*value]),
            OpKind::Next(value) => self.with_temps(kind::NEXT, &[*value]),
            OpKind::If { test, then, orelse } => {
                self.with_temps(kind::IF, &[*test]);
                self.block(then);
                self.block(orelse);
            }
            OpKind::Loop { head, test, body, orelse } => {
                self.tag(kind::LOOP);
                self.optional(*test);
                for block in [head, body, orelse] {
                    self.block(block);
                }
            }
            OpKind::Return(value) => {
                self.tag(kind::RETURN);
                self.optional(*value);
            }
            OpKind::Raise(value) => {
                self.tag(kind::RAISE);
                self.optional(*value);
            }
            OpKind::Delete(_)
            | OpKind::DeleteAttribute(..)
            | OpKind::DeleteItem(..)
            | OpKind::Import { .. }
            | OpKind::ImportFrom { .. }
            | OpKind::Unpack { .. }
            | OpKind::Append(..)
            | OpKind::Try { .. }
            | OpKind::Enter(_)
            | OpKind::Leave(_)
            | OpKind::Break
            | OpKind::Continue
            | OpKind::Yield { .. }
            | OpKind::Await(_)
            | OpKind::Annotate(..)
            | OpKind::Unsupported(_) => return false,
        }
        true
    }

    fn build(&mut self, collection: Collection, elements: &[Element]) {
        self.tag(match collection {
            Collection::Tuple => kind::TUPLE,
            Collection::List => kind::LIST,
            Collection::Set => kind::SET,
            Collection::Dict => kind::DICT,
            Collection::Slice => kind::SLICE,
            Collection::Text => kind::TEXT,
        });
        self.number(elements.len() as u64);
        for element in elements {
            match *element {
                Element::Value(value) => self.with_temps(0, &[value]),
                Element::Spread(value) => self.with_temps(1, &[value]),
                Element::SpreadMapping(value) => self.with_temps(2, &[value]),
                Element::Pair(key, value) => self.with_temps(3, &[key, value]),
            }
        }
    }

    fn constant(&mut self, constant: &Constant) -> bool {
        match constant {
            Constant::None => self.tag(kind::NONE),
            Constant::Bool(false) => self.tag(kind::FALSE),
            Constant::Bool(true) => self.tag(kind::TRUE),
            Constant::Int(number) => {
                let Ok(number) = i64::try_from(**number) else { return false };
                self.tag(kind::INT);
                self.signed(number);
            }
            Constant::Float(number) => {
                self.tag(kind::FLOAT);
                self.module.bytes.extend(number.to_bits().to_le_bytes());
            }
            Constant::Str(text) => {
                self.tag(kind::STR);
                self.name(text);
            }
            Constant::Ellipsis | Constant::BigInt | Constant::Imaginary(_) | Constant::Other => return false,
        }
        true
    }

    fn variable(&mut self, [local, outer, global]: [u8; 3], variable: &Variable) {
        match variable {
            Variable::Local(slot) => {
                self.tag(local);
                self.number(u64::from(*slot));
            }
            Variable::Outer(depth, slot) => {
                self.tag(outer);
                self.number(u64::from(*depth));
                self.number(u64::from(*slot));
            }
            Variable::Global(name) => {
                self.tag(global);
                self.name(name);
            }
        }
    }

    fn arguments(&mut self, arguments: &[Argument]) {
        self.number(arguments.len() as u64);
        for argument in arguments {
            match argument {
                Argument::Positional(value) => self.with_temps(0, &[*value]),
                Argument::Spread(value) => self.with_temps(1, &[*value]),
                Argument::SpreadMapping(value) => self.with_temps(2, &[*value]),
                Argument::Keyword(name, value) => {
                    self.with_temps(3, &[*value]);
                    self.name(name);
                }
            }
        }
    }

    /// A block is mostly runs of operations that follow each other.
    fn block(&mut self, block: &Block) {
        let mut rest = &block[..];
        let mut next = self.at;
        while let Some(first) = rest.first() {
            let length = rest.iter().zip(*first..).take_while(|(temp, next)| *temp == next).count();
            self.number(length as u64);
            self.signed(i64::from(*first) - i64::from(next));
            rest = &rest[length..];
            next = first + u32::try_from(length).unwrap_or(u32::MAX);
        }
        self.number(0);
    }

    fn with_temps(&mut self, tag: u8, temps: &[Temp]) {
        self.tag(tag);
        for temp in temps {
            self.temp(*temp);
        }
    }

    fn temp(&mut self, temp: Temp) {
        self.signed(i64::from(self.at) - i64::from(temp));
    }

    fn optional(&mut self, temp: Option<Temp>) {
        // No operation reads itself.
        self.temp(temp.unwrap_or(self.at));
    }

    fn name(&mut self, name: &Name) {
        let number = if let Some(known) = self.names.get(name) {
            *known
        } else {
            let fresh = self.module.names.len() as u64;
            self.names.insert(name.clone(), fresh);
            self.module.names.push(name.clone());
            fresh
        };
        self.number(number);
    }

    fn tag(&mut self, tag: u8) {
        self.module.bytes.push(tag);
    }

    fn signed(&mut self, number: i64) {
        self.number(((number << 1) ^ (number >> 63)).cast_unsigned());
    }

    /// Seven bits in each byte, the lowest first; the last byte is below 128.
    fn number(&mut self, mut number: u64) {
        while number >= 0x80 {
            self.module.bytes.push(number.to_le_bytes()[0] | 0x80);
            number >>= 7;
        }
        self.module.bytes.push(number.to_le_bytes()[0]);
    }
}

impl Packed {
    fn unpacker(&self) -> Unpacker<'_> {
        Unpacker { module: &self.module, bytes: &self.module.bytes[self.start..], at: 0, start: 0 }
    }

    fn unpack(&self) -> Vec<Op> {
        self.unpacker().ops()
    }
}

/// Reads the operations of a function.
struct Unpacker<'a> {
    module: &'a PackedModule,
    /// What is left.
    bytes: &'a [u8],
    at: Temp,
    start: u32,
}

impl Unpacker<'_> {
    fn ops(&mut self) -> Vec<Op> {
        let count = self.index();
        let mut ops = Vec::with_capacity(count as usize);
        for at in 0..count {
            self.at = at;
            let kind = self.kind();
            let start = narrow(i64::from(self.start) + self.signed());
            let end = start + self.index();
            self.start = start;
            ops.push(Op { span: Span { start, end }, kind });
        }
        ops
    }

    fn kind(&mut self) -> OpKind {
        match self.tag() {
            kind::NONE => OpKind::Constant(Constant::None),
            kind::FALSE => OpKind::Constant(Constant::Bool(false)),
            kind::TRUE => OpKind::Constant(Constant::Bool(true)),
            kind::INT => OpKind::Constant(Constant::Int(Box::new(i128::from(self.signed())))),
            kind::FLOAT => OpKind::Constant(Constant::Float(self.float())),
            kind::STR => OpKind::Constant(Constant::Str(self.name())),
            kind::LOAD_LOCAL => OpKind::Load(Variable::Local(self.index())),
            kind::LOAD_OUTER => OpKind::Load(Variable::Outer(self.index(), self.index())),
            kind::LOAD_GLOBAL => OpKind::Load(Variable::Global(self.name())),
            kind::STORE_LOCAL => OpKind::Store(Variable::Local(self.index()), self.temp()),
            kind::STORE_OUTER => OpKind::Store(Variable::Outer(self.index(), self.index()), self.temp()),
            kind::STORE_GLOBAL => OpKind::Store(Variable::Global(self.name()), self.temp()),
            kind::ATTRIBUTE => OpKind::Attribute(self.temp(), self.name()),
            kind::STORE_ATTRIBUTE => {
                let (object, value) = (self.temp(), self.temp());
                OpKind::StoreAttribute(object, self.name(), value)
            }
            kind::ITEM => OpKind::Item(self.temp(), self.temp()),
            kind::STORE_ITEM => OpKind::StoreItem(self.temp(), self.temp(), self.temp()),
            kind::TUPLE => OpKind::Build(Collection::Tuple, self.elements()),
            kind::LIST => OpKind::Build(Collection::List, self.elements()),
            kind::SET => OpKind::Build(Collection::Set, self.elements()),
            kind::DICT => OpKind::Build(Collection::Dict, self.elements()),
            kind::SLICE => OpKind::Build(Collection::Slice, self.elements()),
            kind::TEXT => OpKind::Build(Collection::Text, self.elements()),
            kind::OPERATE => self.operate(false),
            kind::OPERATE_AUGMENTED => self.operate(true),
            kind::CALL => OpKind::Call(self.temp(), self.arguments()),
            kind::FUNCTION => {
                let id = FunctionId(self.index());
                let count = self.index();
                OpKind::Function(id, (0..count).map(|_| (self.index(), self.temp())).collect())
            }
            kind::CLASS => OpKind::Class(ClassId(self.index()), self.arguments()),
            kind::PROJECT => OpKind::Project(self.temp(), self.index()),
            kind::ITERATE => OpKind::Iterate(self.temp()),
            kind::NEXT => OpKind::Next(self.temp()),
            kind::IF => OpKind::If { test: self.temp(), then: self.block(), orelse: self.block() },
            kind::LOOP => {
                let test = self.optional();
                OpKind::Loop { head: self.block(), test, body: self.block(), orelse: self.block() }
            }
            kind::RETURN => OpKind::Return(self.optional()),
            kind::RAISE => OpKind::Raise(self.optional()),
            _ => {
                let number = self.index() as usize;
                self.module.rare[number].clone()
            }
        }
    }

    fn operate(&mut self, is_augmented: bool) -> OpKind {
        let operator = OPERATORS[self.index() as usize];
        OpKind::Operate(operator, [self.optional(), self.optional()], is_augmented)
    }

    fn elements(&mut self) -> Box<[Element]> {
        let count = self.index();
        let element = |_| match self.tag() {
            0 => Element::Value(self.temp()),
            1 => Element::Spread(self.temp()),
            2 => Element::SpreadMapping(self.temp()),
            _ => Element::Pair(self.temp(), self.temp()),
        };
        (0..count).map(element).collect()
    }

    fn arguments(&mut self) -> Box<[Argument]> {
        let count = self.index();
        let argument = |_| match self.tag() {
            0 => Argument::Positional(self.temp()),
            1 => Argument::Spread(self.temp()),
            2 => Argument::SpreadMapping(self.temp()),
            _ => {
                let value = self.temp();
                Argument::Keyword(self.name(), value)
            }
        };
        (0..count).map(argument).collect()
    }

    fn block(&mut self) -> Block {
        let mut block = Block::new();
        let mut next = self.at;
        loop {
            let length = self.index();
            if length == 0 {
                return block;
            }
            let first = narrow(i64::from(next) + self.signed());
            next = first + length;
            block.extend(first..next);
        }
    }

    fn temp(&mut self) -> Temp {
        narrow(i64::from(self.at) - self.signed())
    }

    fn optional(&mut self) -> Option<Temp> {
        let temp = self.temp();
        (temp != self.at).then_some(temp)
    }

    fn name(&mut self) -> Name {
        let number = self.index() as usize;
        self.module.names[number].clone()
    }

    fn float(&mut self) -> f64 {
        let (bits, rest) = self.bytes.split_first_chunk().expect("a float has eight bytes");
        self.bytes = rest;
        f64::from_bits(u64::from_le_bytes(*bits))
    }

    fn tag(&mut self) -> u8 {
        let (first, rest) = self.bytes.split_first().expect("the bytes of an operation are whole");
        self.bytes = rest;
        *first
    }

    /// A number that was an index or a length.
    fn index(&mut self) -> u32 {
        u32::try_from(self.number()).expect("an index was packed")
    }

    fn signed(&mut self) -> i64 {
        let number = self.number();
        (number >> 1).cast_signed() ^ -(number & 1).cast_signed()
    }

    fn number(&mut self) -> u64 {
        let mut number = 0;
        for shift in (0..).step_by(7) {
            let byte = self.tag();
            number |= u64::from(byte & 0x7f) << shift;
            if byte < 0x80 {
                break;
            }
        }
        number
    }
}

/// An index, from its distance to another one.
fn narrow(index: i64) -> u32 {
    u32::try_from(index).expect("an index was packed")
}
