//! Laws of the whole pipeline, over every fixture: changes that must not affect the findings, and texts that must not crash it.
//!
//! Changes come from a generator with a fixed seed, so that failures are reproducible. A failure is reported with the text that shows it.
//!
//! **Invariant:** findings, including hidden ones, are compared with those of the unchanged text, never with recorded
//! ones.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write;
use std::fs;
use std::ops::Range;
use std::path::Path;
use std::thread;

use walkdir::WalkDir;

use crate::in_memory::check_text;

/// The number of damaged texts.
const DAMAGED: usize = if cfg!(debug_assertions) { 700 } else { 5_000 };

/// A program of the fixtures.
struct Program {
    path: String,
    text: String,
}

/// The parts of a finding that laws compare.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Found {
    row: usize,
    column: usize,
    code: &'static str,
    shown: bool,
    fingerprint: String,
}

fn programs() -> Vec<Program> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let mut programs = Vec::new();
    for folder in ["fixtures/cases", "fixtures/clean", "fixtures/jep"] {
        for entry in WalkDir::new(root.join(folder)).sort_by_file_name() {
            let path = entry.unwrap().into_path();
            if path.extension().is_some_and(|extension| extension == "py") {
                let text = fs::read_to_string(&path).unwrap();
                let path = path.strip_prefix(root).unwrap().to_string_lossy().into_owned();
                programs.push(Program { path, text });
            }
        }
    }
    programs
}

fn found(path: &str, text: &str) -> Vec<Found> {
    let mut found: Vec<Found> = check_text(path, text)
        .into_iter()
        .map(|checked| Found {
            row: checked.row,
            column: checked.column,
            code: checked.finding.rule.code(),
            shown: checked.shown,
            fingerprint: checked.finding.fingerprint,
        })
        .collect();
    found.sort();
    found
}

/// Describes the difference between the expected and the actual findings.
fn reported(report: &mut String, path: &str, change: &str, due: &[Found], found: &[Found]) {
    if due == found {
        return;
    }
    writeln!(report, "\n{path}, {change}").unwrap();
    for lost in due.iter().filter(|one| !found.contains(one)) {
        writeln!(report, "    lost {lost:?}").unwrap();
    }
    for new in found.iter().filter(|one| !due.contains(one)) {
        writeln!(report, "    new  {new:?}").unwrap();
    }
}

/// What a token is.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Kind {
    Name,
    Text,
    Comment,
    Other,
}

/// Tokens of Python, as roughly as the changes here need them: names, strings, comments, single characters.
fn tokens(text: &str) -> Vec<(Kind, Range<usize>)> {
    let bytes = text.as_bytes();
    let mut tokens = Vec::new();
    let mut at = 0;
    while at < bytes.len() {
        let start = at;
        let kind = match bytes[at] {
            b'#' => {
                while at < bytes.len() && bytes[at] != b'\n' {
                    at += 1;
                }
                Kind::Comment
            }
            quote @ (b'"' | b'\'') => {
                let delimiter = if text[at..].starts_with(&String::from(quote as char).repeat(3)) { 3 } else { 1 };
                let close = String::from(quote as char).repeat(delimiter);
                at += delimiter;
                while at < bytes.len() && !text.as_bytes()[at..].starts_with(close.as_bytes()) {
                    at += if bytes[at] == b'\\' { 2 } else { 1 };
                }
                at = (at + delimiter).min(bytes.len());
                Kind::Text
            }
            byte if byte == b'_' || byte.is_ascii_alphabetic() => {
                while at < bytes.len() && (bytes[at] == b'_' || bytes[at].is_ascii_alphanumeric()) {
                    at += 1;
                }
                Kind::Name
            }
            _ => {
                at += text[at..].chars().next().map_or(1, char::len_utf8);
                Kind::Other
            }
        };
        tokens.push((kind, start..at));
    }
    tokens
}

/// Variables that are nothing but variables: assigned at the start of a line, and never an attribute, a keyword, a parameter, an import or
/// part of a text.
fn plain_variables(text: &str) -> BTreeSet<&str> {
    let tokens = tokens(text);
    let mut assigned = BTreeSet::new();
    let mut other = BTreeSet::new();
    let mut depth = 0_i32;
    let mut in_header = false;
    for (index, (kind, range)) in tokens.iter().enumerate() {
        let word = &text[range.clone()];
        let next = tokens[index + 1..].iter().map(|(_, next)| &text[next.clone()]).find(|next| *next != " ");
        let after = &text[range.end..];
        match kind {
            Kind::Name => {
                let line = text[..range.start].rsplit('\n').next().unwrap_or_default();
                let is_import = line.trim_start().starts_with("import ") || line.trim_start().starts_with("from ");
                let is_keyword = depth > 0 && next == Some("=") && !after.trim_start().starts_with("==");
                let is_attribute = text[..range.start].ends_with('.');
                if is_import || is_keyword || is_attribute || in_header || line.trim_start().starts_with("class ") {
                    other.insert(word);
                } else if depth == 0 && line.trim().is_empty() && after.starts_with(" = ") && !word.starts_with('_') {
                    assigned.insert(word);
                }
                in_header |= word == "def" || word == "lambda";
            }
            Kind::Text => {
                for inner in text[range.clone()].split(|c: char| c != '_' && !c.is_ascii_alphanumeric()) {
                    other.insert(inner);
                }
            }
            Kind::Comment => {}
            Kind::Other => match word {
                "(" | "[" | "{" => depth += 1,
                ")" | "]" | "}" => depth -= 1,
                ":" | "\n" if depth == 0 => in_header = false,
                _ => {}
            },
        }
        // A lambda's parameters end at its colon, at any depth.
        if word == ":" {
            in_header = in_header
                && depth > 0
                && !text[..range.start].rsplit('\n').next().unwrap_or_default().contains("lambda");
        }
    }
    assigned.difference(&other).copied().collect()
}

fn renamed(text: &str, old: &str, new: &str) -> String {
    let mut result = String::new();
    for (kind, range) in tokens(text) {
        let word = &text[range];
        result.push_str(if kind == Kind::Name && word == old { new } else { word });
    }
    result
}

/// Code that has nothing to do with what stands above it.
const UNRELATED: &str = "\n\n\ndef unrelated_total(amounts):\n    return sum(amount * 2 for amount in amounts)\n\n\n\
                         class UnrelatedBox:\n    def __init__(self, content):\n        self.content = content\n";

/// Where lines are added: before the first line, and before every second definition at top level that follows an empty line. The first part
/// is the number of lines above.
fn additions(text: &str) -> Vec<(usize, &'static str)> {
    let lines: Vec<&str> = text.split_inclusive('\n').collect();
    let mut places = vec![0];
    let mut quotes = 0;
    for (index, line) in lines.iter().enumerate() {
        let follows_empty = index > 0 && lines[index - 1].trim().is_empty();
        if quotes % 2 == 0 && follows_empty && (line.starts_with("def ") || line.starts_with("class ")) {
            places.push(index);
        }
        quotes += line.matches("\"\"\"").count();
    }
    places.into_iter().step_by(2).zip(["\n", "# nothing to see here\n", "\n\n"].into_iter().cycle()).collect()
}

/// A text with lines added, and the findings in it if those only move.
fn with_additions(text: &str, due: &[Found], additions: &[(usize, &str)]) -> (String, Vec<Found>) {
    let mut added = String::new();
    for (index, line) in text.split_inclusive('\n').enumerate() {
        added.extend(additions.iter().filter(|(place, _)| *place == index).map(|(_, line)| *line));
        added.push_str(line);
    }
    let above = |row: usize| -> usize {
        additions.iter().filter(|(place, _)| row > *place).map(|(_, line)| line.matches('\n').count()).sum()
    };
    (added, due.iter().map(|one| Found { row: one.row + above(one.row), ..one.clone() }).collect())
}

/// The laws about what stands around the code and about the ends of lines, each alone: where one is broken, this tells which.
fn laws_one_by_one(report: &mut String, program: &Program, due: &[Found]) {
    let Program { path, text } = program;
    for addition in additions(text) {
        let (added, moved) = with_additions(text, due, &[addition]);
        let what = format!("{:?} above row {}", addition.1, addition.0 + 1);
        reported(report, path, &what, &moved, &found(path, &added));
    }
    reported(report, path, "unrelated code below", due, &found(path, &format!("{text}{UNRELATED}")));
    for (name, end) in [("CRLF", "\r\n"), ("CR", "\r")] {
        reported(report, path, name, due, &found(path, &text.replace('\n', end)));
    }
}

/// What the names of variables must not change.
fn without_names(found: &[Found]) -> Vec<(usize, &str, bool)> {
    found.iter().map(|one| (one.row, one.code, one.shown)).collect()
}

/// Reports whether a program has other findings with other names of its variables; returns the number of names.
fn check_names(report: &mut String, program: &Program, due: &[Found]) -> usize {
    let Program { path, text } = program;
    let another = |text: &str, name: &str| renamed(text, name, &format!("another_{name}"));
    // The first few of each file are enough.
    let names: Vec<&str> = plain_variables(text).into_iter().take(3).collect();
    let mut check = |names: &[&str]| {
        let got = found(path, &names.iter().fold(text.clone(), |text, name| another(&text, name)));
        let (due, got) = (without_names(due), without_names(&got));
        if due != got {
            writeln!(report, "\n{path}: {names:?} renamed\n    due {due:?}\n    got {got:?}").unwrap();
        }
        due == got
    };
    if !names.is_empty() && !check(&names) && names.len() > 1 {
        for name in names.iter().copied() {
            check(&[name]);
        }
    }
    names.len()
}

/// Reports what changes the findings of a program and must not: lines above, unrelated code below, the ends of lines, the names of variables.
/// Each analysis takes time, so the changes are made together, and one by one only where a law is broken. Returns the number of renamed
/// variables.
fn check_laws(report: &mut String, program: &Program) -> usize {
    let Program { path, text } = program;
    let due = found(path, text);
    let (around, moved) = with_additions(&format!("{text}{UNRELATED}"), &due, &additions(text));
    let mut is_lawful = true;
    for (name, end) in [("CRLF", "\r\n"), ("CR", "\r")] {
        let got = found(path, &around.replace('\n', end));
        is_lawful &= got == moved;
        reported(report, path, &format!("{name}, lines above and code below"), &moved, &got);
    }
    if !is_lawful {
        laws_one_by_one(report, program, &due);
    }
    check_names(report, program, &due)
}

#[test]
fn names_lines_above_unrelated_code_and_line_ends_do_not_matter() {
    let programs = programs();
    let parts = thread::scope(|scope| {
        let check = |part: usize| {
            let mut report = String::new();
            let count: usize = programs.iter().skip(part).step_by(2).map(|one| check_laws(&mut report, one)).sum();
            (report, count)
        };
        let other = scope.spawn(move || check(1));
        [check(0), other.join().unwrap()]
    });
    let (report, count) = (parts[0].0.clone() + &parts[1].0, parts[0].1 + parts[1].1);
    assert!(report.is_empty(), "{report}");
    assert!(count > 200, "only {count} variables were renamed");
}

/// xorshift64*: a fixed sequence of numbers.
struct Numbers(u64);

impl Numbers {
    fn below(&mut self, limit: usize) -> usize {
        self.0 ^= self.0 >> 12;
        self.0 ^= self.0 << 25;
        self.0 ^= self.0 >> 27;
        let number = self.0.wrapping_mul(0x2545_F491_4F6C_DD1D) >> 33;
        usize::try_from(number).unwrap_or(0) % limit.max(1)
    }
}

/// Tokens that are inserted at random.
const PIECES: [&str; 24] = [
    "(", ")", "[", "]", ":", ",", "=", "*", "**", "not ", "lambda: ", "yield ", "await ", "-1", "2**127", "-2**127",
    "0", "None", "...", "key", "self.", "[::-1]", "\n", "    ",
];

/// A text with a few tokens or lines deleted, doubled, swapped or inserted.
fn damaged(text: &str, numbers: &mut Numbers) -> String {
    let mut parts: Vec<String> = if numbers.below(3) == 0 {
        text.split_inclusive('\n').map(str::to_owned).collect()
    } else {
        tokens(text).into_iter().map(|(_, range)| text[range].to_owned()).collect()
    };
    for _ in 0..=numbers.below(4) {
        if parts.is_empty() {
            break;
        }
        let at = numbers.below(parts.len());
        match numbers.below(5) {
            0 => drop(parts.remove(at)),
            1 => parts.insert(at, parts[at].clone()),
            2 => {
                let other = numbers.below(parts.len());
                parts.swap(at, other);
            }
            3 => parts.insert(at, PIECES[numbers.below(PIECES.len())].to_owned()),
            _ => {
                // The same name, in another place of the program.
                let other = numbers.below(parts.len());
                let part = parts[other].clone();
                parts[at] = part;
            }
        }
    }
    parts.concat()
}

#[test]
fn damaged_programs_do_not_panic() {
    let programs = programs();
    let mut numbers = Numbers(0x9E37_79B9_7F4A_7C15);
    let mut codes: BTreeMap<&'static str, usize> = BTreeMap::new();
    for _ in 0..DAMAGED {
        let program = &programs[numbers.below(programs.len())];
        let text = damaged(&program.text, &mut numbers);
        for checked in check_text(&program.path, &text) {
            let finding = &checked.finding;
            assert_ne!(finding.rule.code(), "KEY005", "{}: {}\n{text}", program.path, finding.message);
            *codes.entry(finding.rule.code()).or_default() += 1;
        }
    }
    // If all texts were rejected, or none, the test would show nothing.
    assert!(codes.contains_key("KEY001") && codes.contains_key("KEY101"), "{codes:?}");
}
