//! Parses text into a syntax tree, problems and comments.
//!
//! **Invariant:** [`parse`] is total and deterministic: any text gives a tree (at worst an empty one) and problems, in time and memory
//! linear in the size of the text, without overflowing the stack of the calling thread.

use ast::visitor::source_order::{SourceOrderVisitor, TraversalSignal};
use ast::{AnyNodeRef, PythonVersion, token::TokenKind};
use ruff_python_ast as ast;
use ruff_python_parser::{ParseOptions, parse_unchecked};
use ruff_text_size::Ranged;

use super::commands::python_only;
use super::marks::marks;
use super::{nesting, span_of};
use crate::text::Span;

/// The maximum depth of a tree that [`parse`] returns, counted in nodes from the module to the innermost leaf.
///
/// Lowering, the rules and the destructor of the tree are recursive. In a debug build a visitor uses a few kilobytes of
/// stack per node, so a thousand nodes take a few megabytes of a stack of [`WORKER_STACK_BYTES`]; the destructor fits
/// into the 2 MiB of a test thread. Code written by people stays below a depth of a hundred, and `CPython` itself
/// rejects 100 levels of indentation and 200 of brackets.
pub const MAX_DEPTH: u32 = 1_000;

/// The stack size of threads that walk syntax trees.
pub const WORKER_STACK_BYTES: usize = 256 << 20;

/// Up to this bound of [`nesting`], the tree cannot be deeper than [`MAX_DEPTH`], because no token adds more than two
/// nodes to a path.
const SHALLOW_BOUND: u32 = (MAX_DEPTH - nesting::SLACK) / 2;

/// Above this bound of [`nesting`], the text is rejected without parsing it: a stack of [`WORKER_STACK_BYTES`] is too small
/// to measure or drop such a tree. Between the two bounds, the tree is measured on a thread with a stack of this size.
pub const HOPELESS_BOUND: u32 = 100_000;

/// A text up to this size is parsed without a scan: its nesting cannot exceed [`HOPELESS_BOUND`], and the parser needs at
/// most some tens of megabytes of stack, which it allocates itself. Most files are smaller.
const UNSCANNED_BYTES: usize = 64 << 10;

/// The maximum number of problems listed for a text; a binary file would otherwise have one for every other byte.
pub const MAX_PROBLEMS: usize = 100;

/// The dialect of a text.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum SourceKind {
    /// A module that runs.
    Py,
    /// A stub of signatures.
    Pyi,
    /// The code of a notebook, with `IPython`'s commands among it.
    Ipynb,
}

impl SourceKind {
    /// The dialect for a file name: a module unless the suffix is `.pyi` or `.ipynb`.
    pub fn of_path(path: &str) -> Self {
        match path.rsplit_once('.') {
            Some((_, suffix)) if suffix.eq_ignore_ascii_case("pyi") => Self::Pyi,
            Some((_, "ipynb")) => Self::Ipynb,
            _ => Self::Py,
        }
    }
}

/// A syntax error.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SyntaxProblem {
    /// Its location within the text; may be empty.
    pub span: Span,
    /// What is wrong: lower case, no full stop.
    pub message: String,
}

/// A comment.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Comment {
    /// From the `#` up to the end of the line, without the line ending.
    pub span: Span,
    /// Whether only white space precedes it on its line.
    pub own_line: bool,
}

/// The result of [`parse`].
#[derive(Debug)]
pub struct Parsed {
    /// The tree; after syntax errors, what the parser could recover.
    pub module: ast::ModModule,
    /// Syntax errors in source order. If there are any, parts of the tree are guesses.
    pub problems: Vec<SyntaxProblem>,
    /// All comments in source order.
    pub comments: Vec<Comment>,
}

/// Parses a module as the newest version of Python, which accepts everything that older versions of Python 3 accept.
pub fn parse(text: &str, kind: SourceKind) -> Parsed {
    // Python rejects a text with null bytes as a whole, and the parser would report every other byte of a binary file.
    if let Some(at) = memchr::memchr(0, text.as_bytes()).and_then(|at| u32::try_from(at).ok()) {
        return refused(text, Span::new(at, at + 1), "a null byte; the file is binary".to_owned());
    }
    if text.len() > UNSCANNED_BYTES
        && let Some(refusal) = scanned(text)
    {
        return refusal;
    }
    let mut raw = parse_raw(text, kind);
    // A deep tree must not be dropped on this thread.
    if kind == SourceKind::Py && !raw.parsed.problems.is_empty() && raw.bound <= SHALLOW_BOUND {
        raw = with_commands(text, raw);
    }
    if raw.bound <= SHALLOW_BOUND { raw.parsed } else { measured(text, raw) }
}

/// Parses a script with syntax errors again, accepting `IPython` commands. If editors run it cell by cell, the commands are valid; if
/// not, and there is no other problem, all of them together are one problem.
fn with_commands(text: &str, mut raw: Raw) -> Raw {
    let marks = marks(text, &raw.parsed.comments);
    let mut cells = parse_raw(&python_only(text, &marks), SourceKind::Ipynb);
    if cells.bound > SHALLOW_BOUND {
        std::mem::forget(cells.parsed);
        return raw;
    }
    if marks.is_empty() {
        if !cells.parsed.problems.is_empty() {
            return raw;
        }
        cells.parsed.problems.push(raw.parsed.problems.swap_remove(0));
    }
    cells
}

/// Scans a text before it is parsed, and rejects it if it is nested too deeply.
fn scanned(text: &str) -> Option<Parsed> {
    if u32::try_from(text.len()).is_err() {
        return Some(refused(text, Span::default(), "file of 4 GiB or more; split it or exclude it".to_owned()));
    }
    let bound = nesting::bound_of_text(text, HOPELESS_BOUND);
    (bound.levels > HOPELESS_BOUND).then(|| too_deep(text, Span::new(bound.at, bound.at)))
}

/// The result of the parser before its depth is measured.
pub struct Raw {
    /// What was read.
    pub parsed: Parsed,
    /// The bound of the depth, as [`nesting`] defines it.
    pub bound: u32,
}

/// Parses a text and bounds the depth of its tree.
pub fn parse_raw(text: &str, kind: SourceKind) -> Raw {
    let source = match kind {
        SourceKind::Py => ast::PySourceType::Python,
        SourceKind::Pyi => ast::PySourceType::Stub,
        SourceKind::Ipynb => ast::PySourceType::Ipynb,
    };
    let options = ParseOptions::from(source).with_target_version(PythonVersion::PY315);
    let Some(parsed) = parse_unchecked(text, options).try_into_module() else {
        // The parser returns an expression only in expression mode.
        return Raw { parsed: refused(text, Span::default(), "not a module".to_owned()), bound: 0 };
    };
    let mut problems: Vec<SyntaxProblem> = parsed
        .errors()
        .iter()
        .take(MAX_PROBLEMS)
        .map(|error| SyntaxProblem { span: within(span_of(error), text), message: worded(&error.error.to_string()) })
        .collect();
    problems.sort_by_key(|problem| problem.span);
    name_unclosed(text, parsed.tokens(), &mut problems);

    let mut comments = Vec::new();
    let mut meter = nesting::Meter::default();
    for token in parsed.tokens() {
        if token.kind() == TokenKind::Comment {
            let span = span_of(token);
            comments.push(Comment { span, own_line: starts_line(text, span.start) });
        } else {
            nesting::feed(&mut meter, token.kind(), token.start().to_u32());
        }
    }
    let bound = meter.finish().levels;
    Raw { parsed: Parsed { module: parsed.into_syntax(), problems, comments }, bound }
}

/// Returns the tree if it is not too deep; otherwise drops it on a thread with a large stack.
///
/// If that is impossible, the tree is leaked rather than aborting the process. This happens only if unbalanced strings made
/// the scan see other tokens than the parser, or if the system has no memory for one more thread.
fn measured(text: &str, raw: Raw) -> Parsed {
    if raw.bound > HOPELESS_BOUND {
        std::mem::forget(raw.parsed);
        return too_deep(text, Span::default());
    }
    let mut tree = Some(raw.parsed);
    let outcome = on_deep_stack(|| {
        let parsed = tree.take()?;
        Some(match Depth::below(MAX_DEPTH, &parsed.module).exceeded {
            Some(span) => too_deep(text, Span::new(span.start, span.start)),
            None => parsed,
        })
    });
    std::mem::forget(tree);
    outcome.flatten().unwrap_or_else(|| {
        refused(text, Span::default(), "not enough memory for a stack to measure deep nesting".to_owned())
    })
}

/// Measures the depth of a tree up to a limit.
#[derive(Default)]
pub struct Depth {
    limit: u32,
    now: u32,
    /// The first node below the limit.
    pub exceeded: Option<Span>,
}

impl Depth {
    /// Looks for nodes below a limit.
    pub fn below(limit: u32, module: &ast::ModModule) -> Self {
        let mut depth = Self { limit, ..Self::default() };
        depth.visit_body(&module.body);
        depth
    }
}

impl<'a> SourceOrderVisitor<'a> for Depth {
    fn enter_node(&mut self, node: AnyNodeRef<'a>) -> TraversalSignal {
        self.now += 1;
        if self.now > self.limit && self.exceeded.is_none() {
            self.exceeded = Some(span_of(&node));
        }
        if self.exceeded.is_some() { TraversalSignal::Skip } else { TraversalSignal::Traverse }
    }

    fn leave_node(&mut self, _node: AnyNodeRef<'a>) {
        self.now -= 1;
    }
}

/// Runs `work` on a thread with a stack of [`WORKER_STACK_BYTES`]; `None` if the system cannot start one.
fn on_deep_stack<T: Send>(work: impl FnOnce() -> T + Send) -> Option<T> {
    std::thread::scope(|scope| {
        let worker = std::thread::Builder::new().stack_size(WORKER_STACK_BYTES).spawn_scoped(scope, work).ok()?;
        match worker.join() {
            Ok(value) => Some(value),
            // The caller contains panics, as if the work had run on the caller's thread.
            Err(panic) => std::panic::resume_unwind(panic),
        }
    })
}

fn too_deep(text: &str, span: Span) -> Parsed {
    refused(text, span, format!("nesting deeper than {MAX_DEPTH} levels"))
}

/// An empty module with one problem.
fn refused(text: &str, span: Span, message: String) -> Parsed {
    let module = ast::ModModule {
        node_index: ast::AtomicNodeIndex::NONE,
        range: ruff_text_size::TextRange::default(),
        body: ast::Suite::new(),
    };
    Parsed { module, problems: vec![SyntaxProblem { span: within(span, text), message }], comments: Vec::new() }
}

fn within(span: Span, text: &str) -> Span {
    let end = u32::try_from(text.len()).unwrap_or(u32::MAX);
    Span::new(span.start.min(end), span.end.min(end))
}

/// Rewords the parser's message in keylint's style: lower case, with control characters escaped.
fn worded(message: &str) -> String {
    let second_is_lower = message.chars().nth(1).is_some_and(|second| !second.is_uppercase());
    let mut result = String::with_capacity(message.len());
    for (index, character) in message.chars().enumerate() {
        match character {
            _ if index == 0 && second_is_lower => result.extend(character.to_lowercase()),
            _ if character.is_control() => result.extend(character.escape_default()),
            _ => result.push(character),
        }
    }
    result
}

/// A text that ends within brackets: the problem is the last bracket that is still open, as Python says.
fn name_unclosed(text: &str, tokens: &ast::token::Tokens, problems: &mut [SyntaxProblem]) {
    let end = text.trim_end().len();
    let Some(last) = problems.first_mut().filter(|problem| problem.span.start as usize >= end) else { return };
    let mut open: Vec<Span> = Vec::new();
    for token in tokens {
        match token.kind() {
            TokenKind::Lpar | TokenKind::Lsqb | TokenKind::Lbrace => open.push(span_of(token)),
            TokenKind::Rpar | TokenKind::Rsqb | TokenKind::Rbrace => drop(open.pop()),
            _ => {}
        }
    }
    if let Some(span) = open.pop() {
        last.message = format!("`{}` was never closed", text.get(span.range()).unwrap_or_default());
        last.span = span;
    }
}

fn starts_line(text: &str, offset: u32) -> bool {
    let before = text.as_bytes().get(..offset as usize).unwrap_or_default();
    let blank = |byte: &u8| matches!(byte, b' ' | b'\t' | b'\x0c');
    match before.iter().rev().find(|byte| !blank(byte)) {
        None | Some(b'\n' | b'\r') => true,
        Some(0xBF) => before.trim_ascii_end() == b"\xEF\xBB\xBF",
        Some(_) => false,
    }
}
