//! A bound on the depth of a tree, from text or tokens in one pass and without recursion.
//!
//! **Invariant:** for the tokens that the parser saw, twice the bound and [`SLACK`] make at least the depth of the tree. For text the scan
//! follows Python's lexical rules, and may differ from the parser only where strings or brackets are broken.
//!
//! The measure: within one statement, and there within one pair of brackets, every token between two commas may be a link of
//! a chain (`- - - x`, `a.b.c`, `x + y + z`, `not not x`, `f()()()`, `lambda: lambda: x`), so a pair of brackets is at most as deep as its
//! longest item has tokens plus its deepest inner pair. Statements add their level of indentation. The scan is generous: it
//! counts words in flat chains such as `a or b or c`, which matters only in texts of many megabytes.

use memchr::{memchr2, memchr3};
use ruff_python_ast::token::TokenKind;

/// Nodes on a path that no chain accounts for: a statement, its clauses and parameters, a leaf.
pub const SLACK: u32 = 16;

/// Length of the longest keyword of `Scan::begins_statement`.
const LONGEST_OPENER: usize = 6;

/// How deep, and in which statement.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Bound {
    /// No path through the tree has more than twice as many nodes and [`SLACK`].
    pub levels: u32,
    /// Offset at which the deepest statement starts.
    pub at: u32,
}

/// What one pair of brackets, or the statement outside of all, has shown so far.
#[derive(Clone, Copy, Debug, Default)]
struct Frame {
    /// Tokens of the present item.
    links: u32,
    /// The deepest pair of brackets within the present item.
    inner: u32,
    /// The deepest of the items before.
    closed: u32,
    /// Whether commas end no item, because they may belong to the parameters of a `lambda`.
    sticky: bool,
    /// How the text of this frame is read.
    reading: Reading,
}

impl Frame {
    fn levels(self) -> u32 {
        self.closed.max(self.links.saturating_add(self.inner))
    }
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum Reading {
    /// Tokens, up to the closing bracket.
    #[default]
    Code,
    /// Tokens, up to the `}` that ends a replacement field of the string.
    Field(Quotes),
    /// The text of an f-string or t-string.
    Literal(Quotes),
    /// The text of a format specification within such a string.
    Specification(Quotes),
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Quotes {
    byte: u8,
    triple: bool,
}

/// Accumulates a [`Bound`].
#[derive(Debug, Default)]
pub struct Meter {
    /// The frames that are open around the present one, outermost first.
    outer: Vec<Frame>,
    /// The present frame.
    frame: Frame,
    /// Levels of indentation.
    indentation: u32,
    /// Whether the present statement has any token.
    started: bool,
    statement: u32,
    deepest: Bound,
}

impl Meter {
    /// A token that may lengthen a chain, at an offset.
    fn link(&mut self, at: u32) {
        if !self.started {
            self.started = true;
            self.statement = at;
        }
        self.frame.links += 1;
    }

    /// A token whose commas are not the brackets' own: `lambda a, b: lambda c, d: x` is one item.
    fn sticky_link(&mut self, at: u32) {
        self.link(at);
        self.frame.sticky = true;
    }

    fn open(&mut self, reading: Reading, at: u32) {
        self.link(at);
        self.outer.push(self.frame);
        self.frame = Frame { reading, ..Frame::default() };
    }

    fn close(&mut self) {
        if let Some(outer) = self.outer.pop() {
            let levels = self.frame.levels().saturating_add(1);
            self.frame = outer;
            self.frame.inner = self.frame.inner.max(levels);
        }
    }

    /// A comma ends an item, but not outside brackets, where it may be in the header of a statement.
    fn comma(&mut self) {
        if !self.outer.is_empty() && !self.frame.sticky {
            self.frame.closed = self.frame.levels();
            self.frame.links = 0;
            self.frame.inner = 0;
        }
    }

    /// The end of a logical line; brackets that are still open are broken.
    fn end_statement(&mut self) {
        while !self.outer.is_empty() {
            self.close();
        }
        let levels = self.frame.levels().saturating_add(self.indentation);
        if levels > self.deepest.levels {
            self.deepest = Bound { levels, at: self.statement };
        }
        self.frame = Frame::default();
        self.started = false;
    }

    /// A bound of all that was fed.
    pub fn finish(mut self) -> Bound {
        self.end_statement();
        self.deepest
    }

    /// Whether the bound is certain to exceed `limit`.
    fn exceeds(&self, limit: u32) -> bool {
        self.outer.len() > limit as usize || self.deepest.levels > limit
    }
}

/// Feeds a token of the parser.
pub fn feed(meter: &mut Meter, kind: TokenKind, at: u32) {
    match kind {
        TokenKind::Lpar | TokenKind::Lsqb | TokenKind::Lbrace | TokenKind::FStringStart | TokenKind::TStringStart => {
            meter.open(Reading::Code, at);
        }
        TokenKind::Rpar | TokenKind::Rsqb | TokenKind::Rbrace | TokenKind::FStringEnd | TokenKind::TStringEnd => {
            meter.close();
        }
        TokenKind::Comma => meter.comma(),
        TokenKind::Lambda | TokenKind::Yield => meter.sticky_link(at),
        TokenKind::Newline => meter.end_statement(),
        TokenKind::Indent => meter.indentation += 1,
        TokenKind::Dedent => meter.indentation = meter.indentation.saturating_sub(1),
        // Trivia, operands, what is no token at all, and operators whose chains are flat.
        TokenKind::NonLogicalNewline
        | TokenKind::Comment
        | TokenKind::EndOfFile
        | TokenKind::Unknown
        | TokenKind::Name
        | TokenKind::Int
        | TokenKind::Float
        | TokenKind::Complex
        | TokenKind::String
        | TokenKind::FStringMiddle
        | TokenKind::TStringMiddle
        | TokenKind::And
        | TokenKind::Or
        | TokenKind::In
        | TokenKind::Is
        | TokenKind::Equal
        | TokenKind::EqEqual
        | TokenKind::NotEqual
        | TokenKind::Less
        | TokenKind::LessEqual
        | TokenKind::Greater
        | TokenKind::GreaterEqual => {}
        _ => meter.link(at),
    }
}

/// A bound for a text that is not parsed yet; the scan stops early once the bound exceeds `limit`.
pub fn bound_of_text(text: &str, limit: u32) -> Bound {
    let mut scan = Scan { bytes: text.as_bytes(), at: 0, meter: Meter::default(), columns: Vec::new() };
    scan.at_line_start();
    while scan.at < scan.bytes.len() {
        match scan.meter.frame.reading {
            Reading::Code | Reading::Field(_) => scan.code(),
            Reading::Literal(quotes) => scan.literal(quotes, false),
            Reading::Specification(quotes) => scan.literal(quotes, true),
        }
        if scan.meter.exceeds(limit) {
            break;
        }
    }
    scan.meter.finish()
}

struct Scan<'a> {
    bytes: &'a [u8],
    at: usize,
    meter: Meter,
    /// Columns of the blocks that are open.
    columns: Vec<u32>,
}

impl Scan<'_> {
    fn byte(&self, ahead: usize) -> u8 {
        self.bytes.get(self.at + ahead).copied().unwrap_or(0)
    }

    fn offset(&self) -> u32 {
        u32::try_from(self.at).unwrap_or(u32::MAX)
    }

    fn skip_newline(&mut self) {
        self.at += if self.byte(0) == b'\r' && self.byte(1) == b'\n' { 2 } else { 1 };
    }

    /// One token, comment or run of white space.
    fn code(&mut self) {
        let byte = self.byte(0);
        match byte {
            // Assignments and comparisons chain flatly, and their operands are links already.
            b' ' | b'\t' | b'\x0c' | b'=' => self.at += 1,
            b'\n' | b'\r' => self.newline(),
            b'#' => self.at = memchr2(b'\n', b'\r', &self.bytes[self.at..]).map_or(self.bytes.len(), |n| self.at + n),
            b'\\' if matches!(self.byte(1), b'\n' | b'\r') => {
                self.at += 1;
                self.skip_newline();
            }
            b'(' | b'[' | b'{' => {
                self.meter.open(Reading::Code, self.offset());
                self.at += 1;
            }
            b')' | b']' | b'}' => {
                // A bracket that closes nothing of its kind is an error; the string's own field outlives it.
                if byte == b'}' || !matches!(self.meter.frame.reading, Reading::Field(_)) {
                    self.meter.close();
                }
                self.at += 1;
            }
            b',' => {
                self.meter.comma();
                self.at += 1;
            }
            b':' => {
                self.meter.link(self.offset());
                self.at += 1;
                if let Reading::Field(quotes) = self.meter.frame.reading {
                    self.meter.open(Reading::Specification(quotes), self.offset());
                }
            }
            b'"' | b'\'' => self.string(byte, false),
            b'_' | b'a'..=b'z' | b'A'..=b'Z' | b'0'..=b'9' | 0x80.. => self.word(),
            _ => {
                self.meter.link(self.offset());
                self.at += 1;
            }
        }
    }

    /// A name, keyword, number, or the prefix of a string.
    fn word(&mut self) {
        let start = self.at;
        while matches!(self.byte(0), b'_' | b'a'..=b'z' | b'A'..=b'Z' | b'0'..=b'9' | 0x80..) {
            self.at += 1;
        }
        let word = &self.bytes[start..self.at];
        let next = self.byte(0);
        if matches!(next, b'"' | b'\'') && word.len() <= 2 {
            let formatted = word.iter().any(|byte| matches!(byte, b'f' | b'F' | b't' | b'T'));
            return self.string(next, formatted);
        }
        let at = u32::try_from(start).unwrap_or(u32::MAX);
        if matches!(word, b"lambda" | b"yield") { self.meter.sticky_link(at) } else { self.meter.link(at) }
    }

    /// The opening quotes, and of a plain string the rest too.
    fn string(&mut self, quote: u8, formatted: bool) {
        let triple = self.byte(1) == quote && self.byte(2) == quote;
        let quotes = Quotes { byte: quote, triple };
        let opening = self.offset();
        self.at += if triple { 3 } else { 1 };
        if formatted {
            return self.meter.open(Reading::Literal(quotes), opening);
        }
        while let Some(found) = if triple {
            memchr2(quote, b'\\', &self.bytes[self.at..])
        } else {
            memchr3(quote, b'\\', b'\n', &self.bytes[self.at..])
        } {
            self.at += found;
            match self.byte(0) {
                b'\\' => self.at = (self.at + 2).min(self.bytes.len()),
                b'\n' if !triple => return,
                _ if self.closes(quotes) => return self.at += if triple { 3 } else { 1 },
                _ => self.at += 1,
            }
        }
        self.at = self.bytes.len();
    }

    fn closes(&self, quotes: Quotes) -> bool {
        self.byte(0) == quotes.byte && (!quotes.triple || self.byte(1) == quotes.byte && self.byte(2) == quotes.byte)
    }

    /// Text of an f-string up to and with the next byte that means something.
    fn literal(&mut self, quotes: Quotes, specification: bool) {
        let byte = self.byte(0);
        match byte {
            b'\\' => self.at = (self.at + 2).min(self.bytes.len()),
            b'{' if !specification && self.byte(1) == b'{' => self.at += 2,
            b'{' => {
                self.meter.open(Reading::Field(quotes), self.offset());
                self.at += 1;
            }
            b'}' if specification => {
                self.meter.close();
                self.meter.close();
                self.at += 1;
            }
            b'\n' | b'\r' if !quotes.triple => self.leave_string(quotes),
            _ if self.closes(quotes) => {
                self.leave_string(quotes);
                self.at += if quotes.triple { 3 } else { 1 };
            }
            _ => self.at += 1,
        }
    }

    /// Closes the innermost string with these quotes, and everything inside it.
    fn leave_string(&mut self, quotes: Quotes) {
        loop {
            let reading = self.meter.frame.reading;
            self.meter.close();
            if reading == Reading::Literal(quotes) || self.meter.outer.is_empty() {
                return;
            }
        }
    }

    /// The end of a line that is within no string: outside of brackets it ends the statement, and so it does within them
    /// when the next line can only begin a new one, for then the parser takes the brackets to be broken.
    fn newline(&mut self) {
        self.skip_newline();
        if self.meter.outer.is_empty() || self.begins_statement() {
            self.meter.end_statement();
            self.at_line_start();
        }
    }

    fn begins_statement(&self) -> bool {
        let line = &self.bytes[self.at..];
        let rest =
            line.iter().position(|byte| !matches!(byte, b' ' | b'\t')).map_or(&line[..0], |start| &line[start..]);
        let word = &rest[..rest.len().min(LONGEST_OPENER + 1)];
        let end = word.iter().position(|byte| !byte.is_ascii_lowercase()).unwrap_or(word.len());
        matches!(
            &word[..end],
            b"def"
                | b"class"
                | b"import"
                | b"return"
                | b"raise"
                | b"while"
                | b"with"
                | b"try"
                | b"assert"
                | b"del"
                | b"pass"
        )
    }

    /// Takes in the indentation of a line that holds code.
    fn at_line_start(&mut self) {
        loop {
            let mut column = 0;
            loop {
                match self.byte(0) {
                    b' ' => column += 1,
                    b'\t' => column = (column / 8 + 1) * 8,
                    b'\x0c' => column = 0,
                    _ => break,
                }
                self.at += 1;
            }
            match self.byte(0) {
                b'\n' | b'\r' => self.skip_newline(),
                b'#' => return,
                _ => return self.indent_to(column),
            }
            if self.at >= self.bytes.len() {
                return;
            }
        }
    }

    fn indent_to(&mut self, column: u32) {
        while self.columns.last().is_some_and(|open| *open > column) {
            self.columns.pop();
        }
        if self.columns.last().copied().unwrap_or(0) < column {
            self.columns.push(column);
        }
        self.meter.indentation = u32::try_from(self.columns.len()).unwrap_or(u32::MAX);
    }
}
