//! `keylint eval`.
//!
//! **Invariant:** every expression has exactly one result, in the order of the expressions: a value, or an error that makes the status 1.

use std::io::{BufRead, BufReader, IsTerminal as _, Read, Write};

use rustyline::error::ReadlineError;
use rustyline::{Config, DefaultEditor};
use unicode_width::UnicodeWidthChar;

use super::args::{Eval, TextOrJson};
use super::{Failure, Process, Status};
use crate::prng::implementation::Implementation;
use crate::prng::mode::Mode;
use crate::report;
use crate::text::{LineIndex, Span};
use crate::verify::eval::{Answer, Problem, Settings, evaluate};

/// The most characters of an expression that an error shows.
const WIDTH: usize = 100;

pub(super) fn run(command: &Eval, process: &mut Process<'_>) -> Result<Status, Failure> {
    let implementation =
        Implementation::from_name(&command.implementation).map_err(|error| Failure::Usage(error.to_string()))?;
    let mode = Mode { partitionable: !command.no_partitionable, x64: command.x64 };
    let settings = Settings { mode, implementation };
    let reads_stdin = command.expressions.iter().any(|text| text == "-");
    if reads_stdin && command.expressions.len() > 1 {
        return Err(Failure::Usage(
            "`-` reads standard input and cannot be combined with other expressions".to_owned(),
        ));
    }
    // A stream of expressions is a program's; it reads one object a line.
    let format = command.output_format.unwrap_or(if reads_stdin { TextOrJson::Json } else { TextOrJson::Text });
    let mut status = Status::Clean;
    if command.expressions.is_empty() {
        return session(settings, format, process);
    }
    if reads_stdin {
        let mut lines = BufReader::new(&mut *process.stdin);
        let mut line = Vec::new();
        while read_line(&mut lines, &mut line)? {
            let text = std::str::from_utf8(&line);
            let answer = text.map_or_else(
                |_| Err(Problem { span: Span::default(), message: "the line is not UTF-8".to_owned() }),
                |text| evaluate(settings, text),
            );
            write_answer(text.unwrap_or_default(), answer, format, process.stdout, process.stderr, &mut status)?;
        }
    } else {
        for text in &command.expressions {
            // The space that keeps the parser of arguments from reading `-1` as an option.
            let text = text.strip_prefix(' ').filter(|rest| rest.starts_with('-')).unwrap_or(text);
            write_answer(text, evaluate(settings, text), format, process.stdout, process.stderr, &mut status)?;
        }
    }
    Ok(status)
}

/// Where the functions are listed.
const PAGE: &str = concat!(env!("CARGO_PKG_REPOSITORY"), "/blob/main/docs/eval.md");

/// How many brackets a text leaves open. Those in strings and comments do not count.
fn open_brackets(text: &str) -> usize {
    let (mut depth, mut quote, mut rest) = (0_usize, "", text);
    while let Some(first) = rest.chars().next() {
        let mut length = first.len_utf8();
        match first {
            '\\' if !quote.is_empty() => length += rest[length..].chars().next().map_or(0, char::len_utf8),
            '\n' if quote.len() == 1 => quote = "",
            _ if !quote.is_empty() && rest.starts_with(quote) => {
                length = quote.len();
                quote = "";
            }
            _ if !quote.is_empty() => {}
            '\'' | '"' => {
                quote =
                    ["\"\"\"", "\'\'\'", "\"", "\'"].into_iter().find(|quote| rest.starts_with(quote)).unwrap_or("");
                length = quote.len();
            }
            '#' => length = rest.find('\n').unwrap_or(rest.len()),
            '(' | '[' | '{' => depth += 1,
            ')' | ']' | '}' => depth = depth.saturating_sub(1),
            _ => {}
        }
        rest = &rest[length..];
    }
    depth
}

/// Runs the lines of standard input one after another, each after the statements before it. A block ends with an empty line, and an open
/// bracket continues on the next line.
fn session(settings: Settings, format: TextOrJson, process: &mut Process<'_>) -> Result<Status, Failure> {
    let mut status = Status::Clean;
    let asks = process.stdout_is_terminal && std::io::stdin().is_terminal();
    let mut lines = Lines::new(asks, &mut *process.stdin)?;
    let (mut before, mut input) = (String::new(), String::new());
    let mut is_block = false;
    loop {
        let (text, is_over) = match lines.next(if input.is_empty() { ">>> " } else { "... " })? {
            Line::Text(text) => (text, false),
            Line::GivenUp => {
                input.clear();
                is_block = false;
                continue;
            }
            Line::Over => (String::new(), true),
        };
        match text.trim() {
            "exit()" | "quit()" if input.is_empty() => return Ok(if asks { Status::Clean } else { status }),
            "help" | "help()" if input.is_empty() => {
                writeln!(process.stdout, "{PAGE} lists what can be evaluated. Ctrl-D or exit() ends.")?;
                continue;
            }
            _ => {}
        }
        input.push_str(&text);
        input.push('\n');
        let is_open = open_brackets(&input) > 0;
        let opens = !is_open && (text.trim_end().ends_with(':') || text.starts_with('@'));
        is_block |= opens;
        if !is_over && (is_open || opens || is_block && !text.trim().is_empty()) {
            continue;
        }
        is_block = false;
        let written = std::mem::take(&mut input);
        if !written.trim().is_empty() {
            let start = u32::try_from(before.len()).unwrap_or(u32::MAX);
            let answer = evaluate(settings, &format!("{before}{written}")).map_err(|problem| {
                let here = |offset: u32| offset.saturating_sub(start);
                Problem { span: Span::new(here(problem.span.start), here(problem.span.end)), ..problem }
            });
            // A line without a result has bound a name, and so have all statements but the last.
            if matches!(answer, Ok(Answer::Nothing)) || answer.is_ok() && written.trim().contains([';', '\n']) {
                before.push_str(&written);
            }
            let lineage = match &answer {
                Ok(Answer::Keys { lineage, .. }) if asks => lineage.clone(),
                _ => Vec::new(),
            };
            write_answer(&written, answer, format, process.stdout, process.stderr, &mut status)?;
            for expression in lineage {
                writeln!(process.stdout, "  = {expression}")?;
            }
        }
        if is_over {
            return Ok(if asks { Status::Clean } else { status });
        }
    }
}

/// Where the lines of a session come from.
enum Lines<'w> {
    /// A terminal: lines can be edited, and those before come back with the arrow keys.
    Terminal(Box<DefaultEditor>),
    /// A file, a pipe or another program.
    Stream(BufReader<&'w mut (dyn Read + Send)>),
}

/// What a session reads.
enum Line {
    Text(String),
    /// The unfinished input is dropped (Ctrl-C).
    GivenUp,
    /// There are no more lines (Ctrl-D).
    Over,
}

impl<'w> Lines<'w> {
    fn new(is_terminal: bool, stdin: &'w mut (dyn Read + Send)) -> std::io::Result<Self> {
        if !is_terminal {
            return Ok(Self::Stream(BufReader::new(stdin)));
        }
        let editor = DefaultEditor::with_config(Config::builder().auto_add_history(true).build());
        editor.map(|editor| Self::Terminal(Box::new(editor))).map_err(std::io::Error::other)
    }

    fn next(&mut self, prompt: &str) -> std::io::Result<Line> {
        match self {
            Self::Terminal(editor) => match editor.readline(prompt) {
                Ok(text) => Ok(Line::Text(text)),
                Err(ReadlineError::Interrupted) => Ok(Line::GivenUp),
                Err(ReadlineError::Eof) => Ok(Line::Over),
                Err(ReadlineError::Io(error)) => Err(error),
                Err(error) => Err(std::io::Error::other(error)),
            },
            Self::Stream(lines) => {
                let mut line = Vec::new();
                let is_there = read_line(lines, &mut line)?;
                Ok(if is_there { Line::Text(String::from_utf8_lossy(&line).into_owned()) } else { Line::Over })
            }
        }
    }
}

/// Reads a line without its end.
fn read_line(lines: &mut impl BufRead, line: &mut Vec<u8>) -> std::io::Result<bool> {
    line.clear();
    if lines.read_until(b'\n', line)? == 0 {
        return Ok(false);
    }
    if line.last() == Some(&b'\n') {
        line.pop();
    }
    if line.last() == Some(&b'\r') {
        line.pop();
    }
    Ok(true)
}

/// Writes the result of one expression.
fn write_answer(
    text: &str,
    answer: Result<Answer, Problem>,
    format: TextOrJson,
    out: &mut dyn Write,
    err: &mut dyn Write,
    status: &mut Status,
) -> std::io::Result<()> {
    match (answer, format) {
        (Ok(Answer::Nothing), TextOrJson::Text) => Ok(()),
        (Ok(answer), TextOrJson::Json) => writeln!(out, "{}", answer.json()),
        (Ok(answer), TextOrJson::Text) => writeln!(out, "{}", report::neutral_line(&answer.to_string())),
        (Err(problem), format) => {
            *status = Status::Findings;
            match format {
                TextOrJson::Json => writeln!(out, r#"{{"error": {}}}"#, serde_json::Value::from(problem.message)),
                TextOrJson::Text => write!(err, "{}", pointed(text, &problem)),
            }
        }
    }
}

/// The problem, with a caret under each character of its span in the line.
fn pointed(text: &str, problem: &Problem) -> String {
    let mut out = format!("error: {}\n", report::neutral(&problem.message));
    let lines = LineIndex::new(text);
    let line = lines.line(text, lines.row(problem.span.start));
    let written = text.get(line.start as usize..line.end as usize).unwrap_or_default();
    if written.trim().is_empty() {
        return out;
    }
    let characters = || written.char_indices().map(|(at, c)| (line.start as usize + at, c));
    let before = characters().take_while(|(at, _)| *at < problem.span.start as usize).count();
    let marked = characters().skip(before).take_while(|(at, _)| *at < problem.span.end as usize).count().max(1);
    // A long line is cut to a window around the problem.
    let first = before.saturating_sub(WIDTH / 2);
    let (mut shown, mut carets) = (String::new(), String::new());
    for (index, (_, c)) in characters().enumerate().skip(first).take(WIDTH) {
        let piece = report::neutral(&c.to_string());
        let width: usize = piece.chars().map(|c| c.width().unwrap_or(1)).sum();
        let mark = if (before..before + marked).contains(&index) { "^" } else { " " };
        carets.push_str(&mark.repeat(width));
        shown.push_str(&piece);
    }
    if before >= first + shown.chars().count().min(WIDTH) || shown.is_empty() {
        carets.push('^');
    }
    for line in [shown, carets] {
        out.push_str("  ");
        out.push_str(line.trim_end());
        out.push('\n');
    }
    out
}
