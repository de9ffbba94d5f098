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

/// Writes and reads the values of a type by one table: for each form, a byte, the parts with the methods that write and read them, in order,
/// and the form itself. Nothing is written of a value without a row, and `$other` reads what has another byte.
macro_rules! packed {
    ($type:ty, $method:ident, $other:path, { $($tag:literal [$($part:ident: $how:ident),*] { $($form:tt)+ })+ }) => {
        impl Packer {
            fn $method(&mut self, value: &$type) -> bool {
                #[allow(unreachable_patterns, reason = "some tables have a row for each form")]
                match value {
                    $($($form)+ => {
                        self.tag($tag);
                        $(self.$how($part);)*
                    })+
                    _ => return false,
                }
                true
            }
        }

        impl Unpacker<'_> {
            fn $method(&mut self) -> $type {
                match self.tag() {
                    $($tag => {
                        $(let $part = self.$how();)*
                        $($form)+
                    })+
                    _ => $other(self),
                }
            }
        }
    };
}

// Zero stands for the kinds that are rare.
packed!(OpKind, kind, Unpacker::rare, {
    1 [] { OpKind::Constant(Constant::None) }
    2 [] { OpKind::Constant(Constant::Bool(false)) }
    3 [] { OpKind::Constant(Constant::Bool(true)) }
    4 [number: int] { OpKind::Constant(Constant::Int(number)) }
    5 [number: float] { OpKind::Constant(Constant::Float(number)) }
    6 [text: name] { OpKind::Constant(Constant::Str(text)) }
    7 [slot: index] { OpKind::Load(Variable::Local(slot)) }
    8 [depth: index, slot: index] { OpKind::Load(Variable::Outer(depth, slot)) }
    9 [name: name] { OpKind::Load(Variable::Global(name)) }
    10 [slot: index, value: temp] { OpKind::Store(Variable::Local(slot), value) }
    11 [depth: index, slot: index, value: temp] { OpKind::Store(Variable::Outer(depth, slot), value) }
    12 [name: name, value: temp] { OpKind::Store(Variable::Global(name), value) }
    13 [object: temp, name: name] { OpKind::Attribute(object, name) }
    14 [object: temp, value: temp, name: name] { OpKind::StoreAttribute(object, name, value) }
    15 [object: temp, index: temp] { OpKind::Item(object, index) }
    16 [object: temp, index: temp, value: temp] { OpKind::StoreItem(object, index, value) }
    17 [elements: elements] { OpKind::Build(Collection::Tuple, elements) }
    18 [elements: elements] { OpKind::Build(Collection::List, elements) }
    19 [elements: elements] { OpKind::Build(Collection::Set, elements) }
    20 [elements: elements] { OpKind::Build(Collection::Dict, elements) }
    21 [elements: elements] { OpKind::Build(Collection::Slice, elements) }
    22 [elements: elements] { OpKind::Build(Collection::Text, elements) }
    23 [operator: operator, left: optional, right: optional] { OpKind::Operate(operator, [left, right], false) }
    24 [operator: operator, left: optional, right: optional] { OpKind::Operate(operator, [left, right], true) }
    25 [callee: temp, arguments: arguments] { OpKind::Call(callee, arguments) }
    26 [id: index, defaults: defaults] { OpKind::Function(FunctionId(id), defaults) }
    27 [id: index, arguments: arguments] { OpKind::Class(ClassId(id), arguments) }
    28 [value: temp, index: index] { OpKind::Project(value, index) }
    29 [value: temp] { OpKind::Iterate(value) }
    30 [value: temp] { OpKind::Next(value) }
    31 [test: temp, then: block, orelse: block] { OpKind::If { test, then, orelse } }
    32 [test: optional, head: block, body: block, orelse: block] { OpKind::Loop { head, test, body, orelse } }
    33 [value: optional] { OpKind::Return(value) }
    34 [value: optional] { OpKind::Raise(value) }
});

packed!(Element, element, Unpacker::unknown, {
    0 [value: temp] { Element::Value(value) }
    1 [value: temp] { Element::Spread(value) }
    2 [value: temp] { Element::SpreadMapping(value) }
    3 [key: temp, value: temp] { Element::Pair(key, value) }
});

packed!(Argument, argument, Unpacker::unknown, {
    0 [value: temp] { Argument::Positional(value) }
    1 [value: temp] { Argument::Spread(value) }
    2 [value: temp] { Argument::SpreadMapping(value) }
    3 [value: temp, name: name] { Argument::Keyword(name, value) }
});

/// The operators whose number is packed.
const OPERATORS: [Operator; 28] = {
    use Operator::{
        Add, And, Div, Eq, FloorDiv, Ge, Gt, In, Invert, Is, IsNot, Le, Lt, MatMul, MatchClass, Mod, Mul, Ne, Neg, Not,
    };
    use Operator::{NotIn, Or, Pos, Pow, Shl, Shr, Sub, Xor};
    [
        Add, Sub, Mul, MatMul, Div, FloorDiv, Mod, Pow, Shl, Shr, Or, Xor, And, Invert, Not, Neg, Pos, Eq, Ne, Lt, Le,
        Gt, Ge, Is, IsNot, In, NotIn, MatchClass,
    ]
};

/// Writes the operations of a module.
struct Packer {
    module: PackedModule,
    names: FxHashMap<Name, u64>,
    /// The number of the operation.
    at: Temp,
    /// Where the source of the operation before it starts.
    start: u32,
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "the tables pass parts of what is packed")]
impl Packer {
    fn ops(&mut self, ops: &[Op]) {
        self.start = 0;
        self.length(ops.len());
        for (at, op) in (0..).zip(ops) {
            self.at = at;
            self.op(op);
        }
    }

    fn op(&mut self, op: &Op) {
        let is_rare = match &op.kind {
            OpKind::Operate(operator, ..) => !OPERATORS.contains(operator),
            OpKind::Constant(Constant::Int(number)) => i64::try_from(**number).is_err(),
            _ => false,
        };
        if is_rare || !self.kind(&op.kind) {
            self.tag(0);
            self.length(self.module.rare.len());
            self.module.rare.push(op.kind.clone());
        }
        self.signed(i64::from(op.span.start) - i64::from(self.start));
        self.number(u64::from(op.span.end - op.span.start));
        self.start = op.span.start;
    }

    fn operator(&mut self, operator: &Operator) {
        self.length(OPERATORS.iter().position(|known| known == operator).unwrap_or_default());
    }

    fn elements(&mut self, elements: &[Element]) {
        self.length(elements.len());
        for element in elements {
            self.element(element);
        }
    }

    fn arguments(&mut self, arguments: &[Argument]) {
        self.length(arguments.len());
        for argument in arguments {
            self.argument(argument);
        }
    }

    fn defaults(&mut self, defaults: &[(u32, Temp)]) {
        self.length(defaults.len());
        for (parameter, value) in defaults {
            self.index(parameter);
            self.temp(value);
        }
    }

    /// A block is mostly runs of operations that follow each other.
    fn block(&mut self, block: &Block) {
        let mut rest = &block[..];
        let mut next = self.at;
        while let Some(first) = rest.first() {
            let length = rest.iter().zip(*first..).take_while(|(temp, next)| *temp == next).count();
            self.length(length);
            self.signed(i64::from(*first) - i64::from(next));
            rest = &rest[length..];
            next = first + u32::try_from(length).unwrap_or(u32::MAX);
        }
        self.number(0);
    }

    fn temp(&mut self, temp: &Temp) {
        self.signed(i64::from(self.at) - i64::from(*temp));
    }

    #[expect(clippy::ref_option, reason = "the table lends each field")]
    fn optional(&mut self, temp: &Option<Temp>) {
        // No operation reads itself.
        self.temp(&temp.unwrap_or(self.at));
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

    fn int(&mut self, number: &i128) {
        self.signed(i64::try_from(*number).unwrap_or_default());
    }

    fn float(&mut self, number: &f64) {
        self.module.bytes.extend(number.to_bits().to_le_bytes());
    }

    fn index(&mut self, index: &u32) {
        self.number(u64::from(*index));
    }

    fn length(&mut self, length: usize) {
        self.number(length as u64);
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

    fn rare(&mut self) -> OpKind {
        let number = self.index() as usize;
        self.module.rare[number].clone()
    }

    fn unknown<T>(&mut self) -> T {
        unreachable!("each byte has a row, {} bytes before the end", self.bytes.len())
    }

    fn operator(&mut self) -> Operator {
        OPERATORS[self.index() as usize]
    }

    fn elements(&mut self) -> Box<[Element]> {
        (0..self.index()).map(|_| self.element()).collect()
    }

    fn arguments(&mut self) -> Box<[Argument]> {
        (0..self.index()).map(|_| self.argument()).collect()
    }

    fn defaults(&mut self) -> Box<[(u32, Temp)]> {
        (0..self.index()).map(|_| (self.index(), self.temp())).collect()
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

    #[expect(clippy::unnecessary_box_returns, reason = "the table makes each field")]
    fn int(&mut self) -> Box<i128> {
        Box::new(i128::from(self.signed()))
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
