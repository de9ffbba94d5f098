//! The length of functions and the number of their parameters.
//!
//! The source is formatted, so a function ends with the first line that is only a closing brace with the indentation of its
//! `fn`.
//!
//! **Invariant:** the lists of exceptions can only shrink: an entry that is no longer needed fails too.

use std::collections::BTreeSet;
use std::fs;
use std::path::Path;

use walkdir::WalkDir;

/// The maximum number of lines of a function.
const LONGEST: usize = 100;

/// The maximum number of parameters of a function of `analysis`, without the receiver.
const PARAMETERS: usize = 6;

/// Functions that are longer.
const LONG: [&str; 0] = [];

/// A function as written.
struct Function {
    path: String,
    name: String,
    lines: usize,
    parameters: usize,
}

/// Every function below a folder that has a body.
fn functions(folder: &str) -> Vec<Function> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let mut found = Vec::new();
    for entry in WalkDir::new(root.join(folder)).sort_by_file_name() {
        let path = entry.unwrap().into_path();
        if path.extension().is_none_or(|extension| extension != "rs") {
            continue;
        }
        let text = fs::read_to_string(&path).unwrap();
        let lines: Vec<&str> = text.lines().collect();
        for (row, line) in lines.iter().enumerate() {
            let Some(name) = opens(line) else { continue };
            let end = format!("{}}}", &line[..line.len() - line.trim_start().len()]);
            let Some(length) = lines[row..].iter().position(|line| *line == end) else { continue };
            let body = &lines[row..=row + length];
            let is_declared =
                body.iter().find(|line| line.ends_with([';', '{'])).is_some_and(|line| line.ends_with(';'));
            if !is_declared {
                found.push(Function {
                    path: path.strip_prefix(root).unwrap().display().to_string(),
                    name: name.to_owned(),
                    lines: body.len(),
                    parameters: parameters(&body.join(" ")),
                });
            }
        }
    }
    assert!(found.len() > 100, "{folder} has hardly any functions");
    found
}

/// The name of the function that a line opens.
fn opens(line: &str) -> Option<&str> {
    let (before, rest) = line.split_once("fn ")?;
    let is_word = |word: &str| ["const", "async", "unsafe"].contains(&word) || word.starts_with("pub");
    let name = rest.split(|c: char| !c.is_alphanumeric() && c != '_').next()?;
    (!name.is_empty() && before.split_whitespace().all(is_word)).then_some(name)
}

/// The number of parameters of a function, without the receiver.
fn parameters(text: &str) -> usize {
    let (mut depth, mut angle, mut list, mut before) = (0_usize, 0_usize, String::new(), ' ');
    for c in text.chars() {
        match c {
            '<' if depth <= 1 => angle += 1,
            // The `>` of `->` is not a closing bracket.
            '>' if depth <= 1 && before != '-' => angle = angle.saturating_sub(1),
            '(' | '[' => depth += 1,
            ')' | ']' if depth == 1 && angle == 0 => break,
            ')' | ']' => depth = depth.saturating_sub(1),
            _ => {}
        }
        if depth == 1 && angle == 0 {
            list.push(c);
        }
        before = c;
    }
    let list = list.trim_start_matches('(').split(',').map(str::trim).filter(|parameter| !parameter.is_empty());
    list.filter(|parameter| !matches!(*parameter, "self" | "mut self" | "&self" | "&mut self")).count()
}

/// Compares what was found with its list of exceptions.
fn hold(found: &[(String, String)], exceptions: &[&str]) {
    let new: Vec<&str> =
        found.iter().filter(|(name, _)| !exceptions.contains(&name.as_str())).map(|(_, text)| text.as_str()).collect();
    assert!(new.is_empty(), "{}", new.join("\n"));
    let names: BTreeSet<&str> = found.iter().map(|(name, _)| name.as_str()).collect();
    let gone: Vec<&&str> = exceptions.iter().filter(|name| !names.contains(**name)).collect();
    assert!(gone.is_empty(), "no exceptions any more: {gone:?}");
}

#[test]
fn no_function_is_longer_than_a_page_or_two() {
    let long = functions("src").into_iter().filter(|function| function.lines > LONGEST).map(|function| {
        let text = format!("{}: `{}` has {} lines", function.path, function.name, function.lines);
        (function.name, text)
    });
    hold(&long.collect::<Vec<_>>(), &LONG);
}

#[test]
fn no_function_of_the_analysis_has_many_parameters() {
    let wide = functions("src/analysis").into_iter().filter(|function| function.parameters > PARAMETERS);
    let wide = wide.map(|function| {
        let text = format!("{}: `{}` has {} parameters", function.path, function.name, function.parameters);
        (function.name, text)
    });
    hold(&wide.collect::<Vec<_>>(), &[]);
}

#[test]
fn signatures_are_read() {
    assert_eq!(opens("    pub(super) const fn f<'a>(x: u8) -> u8 {"), Some("f"));
    assert_eq!(opens("/// A fn is no function."), None);
    assert_eq!(
        parameters("fn f<T: Fn(u8) -> u8>(&self, a: (u8, u8), b: Map<K, V>, c: impl Fn(A, B) -> C) -> D<E, F> {"),
        3
    );
    assert_eq!(parameters("fn g() {"), 0);
}
