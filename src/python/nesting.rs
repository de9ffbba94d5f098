//! An upper bound of the depth of a syntax tree, computed from text or tokens in one pass and without recursion.
//!
//! **Invariant:** for the tokens of the parser, the depth of the tree is at most twice the bound plus [`SLACK`]. The scan of a text follows
//! Python's lexical rules, and differs from the parser only if strings or brackets are unbalanced.
//!
//! Within a pair of brackets, or a statement outside brackets, every token between two commas may be a link of a chain (`- - - x`,
//! `a.b.c`, `x + y + z`, `not not x`, `f()()()`, `lambda: lambda: x`). So a pair of brackets is at most as deep as the number of tokens of
//! its longest item plus the depth of its deepest inner pair. Statements add their level of indentation. The scan overestimates: it also
//! counts the words of flat chains such as `a or b or c`, which matters only in texts of many megabytes.

use memchr::{memchr2, memchr3};
use ruff_python_ast::token::TokenKind;

/// Nodes on a path that are not links of a chain: a statement, its clauses and parameters, a leaf.
pub const SLACK: u32 = 16;

/// Length of the longest keyword of `Scan::begins_statement`.
const LONGEST_OPENER: usize = 6;

/// A bound, with the statement in which it is reached.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Bound {
    /// The number of nodes on a path through the tree is at most twice this plus [`SLACK`].
    pub levels: u32,
    /// The offset at which the deepest statement starts.
    pub at: u32,
}

/// The state of the scan within one pair of brackets, or within a statement outside brackets.
#[derive(Clone, Copy, Debug, Default)]
struct Frame {
    /// The number of tokens of the current item so far.
    links: u32,
    /// The depth of the deepest pair of brackets within the current item.
    inner: u32,
    /// The depth of the deepest earlier item.
    closed: u32,
    /// Whether commas do not end the item, because they may separate parameters of a `lambda`.
    sticky: bool,
    /// How the text of this frame is scanned.
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

/// Computes a [`Bound`].
#[derive(Debug, Default)]
pub struct Meter {
    /// The frames that enclose the current one, outermost first.
    outer: Vec<Frame>,
    /// The current frame.
    frame: Frame,
    /// Levels of indentation.
    indentation: u32,
    /// Whether the current statement has any token.
    started: bool,
    statement: u32,
    deepest: Bound,
}

impl Meter {
    /// Counts a token that may be a link of a chain.
    fn link(&mut self, at: u32) {
        if !self.started {
            self.started = true;
            self.statement = at;
        }
        self.frame.links += 1;
    }

    /// Counts a token after which commas do not end the item: `lambda a, b: lambda c, d: x` is one item.
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

    /// A comma ends an item within brackets. Outside, it may be in the header of a statement.
    fn comma(&mut self) {
        if !self.outer.is_empty() && !self.frame.sticky {
            self.frame.closed = self.frame.levels();
            self.frame.links = 0;
            self.frame.inner = 0;
        }
    }

    /// Ends a logical line. Brackets that are still open are unbalanced.
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

    /// The bound of all tokens so far.
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
        // Trivia, operands, invalid tokens, and operators whose chains are flat.
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

/// The bound of a text that is not yet parsed. The scan stops once the bound exceeds `limit`.
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
    /// The indentation of each open block.
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

    /// Scans one token, comment or run of white space.
    fn code(&mut self) {
        let byte = self.byte(0);
        match byte {
            // Chains of assignments and comparisons are flat, and their operands count as links.
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
                // A closing bracket without an opening one is an error; it does not end a replacement field.
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

    /// Scans a name, keyword, number, or the prefix of a string.
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

    /// Scans the opening quotes, and for a plain string also the rest.
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

    /// Scans the text of an f-string up to and including the next significant byte.
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

    /// Closes the innermost open string with these quotes, and all frames within it.
    fn leave_string(&mut self, quotes: Quotes) {
        loop {
            let reading = self.meter.frame.reading;
            self.meter.close();
            if reading == Reading::Literal(quotes) || self.meter.outer.is_empty() {
                return;
            }
        }
    }

    /// Handles the end of a line outside strings. It ends the statement outside brackets. Within brackets, it does so if the next line can
    /// only start a new statement, because the parser then treats the brackets as unclosed.
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

    /// Handles the indentation of a line with code.
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
