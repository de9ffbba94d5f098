//! A self-contained HTML page: a graph of each function beside its source.
//!
//! **Invariant:** the page is self-contained: it needs no network, fonts or other scripts. Text of the program is escaped.

use std::collections::BTreeSet;
use std::fmt::Write;

use super::layout::{LINE, PADDING, Placed, WIDTH, layout};
use super::{Picture, omitted};
use crate::engine::{FunctionKeys, LineageKey};
use crate::finding::Place;
use crate::report::markup::{THEME, escaped};
use crate::report::neutral;

// Writing to a string cannot fail, so the results of `write!` below are ignored.

const STYLE: &str = include_str!("page.css");
const SCRIPT: &str = include_str!("page.js");

/// The maximum number of characters of a line in a box.
const CHARACTERS: usize = 38;

/// The maximum number of source lines that are shown; the others are only counted.
const ROWS: u32 = 20_000;

pub(super) fn write(picture: &Picture<'_>) -> String {
    let path = escaped(&picture.path());
    let mut out = String::from("<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n");
    out.push_str("<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n");
    let _ = write!(out, "<title>Keys of {path}</title>\n<style>\n{THEME}{STYLE}</style>\n</head>\n<body>\n");
    let reused = picture.functions.iter().flat_map(|function| &function.keys).filter(|key| key.is_reused()).count();
    let reused = match reused {
        0 => "No key is reused.".to_owned(),
        1 => "1 key is reused; it is red.".to_owned(),
        count => format!("{count} keys are reused; they are red."),
    };
    let _ = write!(out, "<header><h1>Keys of {path}</h1>");
    let _ = write!(
        out,
        "<p>{reused} Click a key, or press Enter on it, to highlight its lines; Escape removes the highlight.</p></header>\n<main>\n"
    );
    out.push_str("<div id=\"graphs\">\n");
    for function in picture.functions {
        draw(picture, function, &mut out);
    }
    out.push_str("</div>\n");
    source(picture, &mut out);
    let _ = write!(out, "</main>\n<script>\n{SCRIPT}</script>\n</body>\n</html>\n");
    out
}

fn draw(picture: &Picture<'_>, function: &FunctionKeys, out: &mut String) {
    let count = |key: &LineageKey| u32::try_from(lines(picture, key).len()).unwrap_or(u32::MAX);
    let (boxes, width, height) = layout(function, &count);
    let _ = writeln!(out, "<h2>{}</h2>", escaped(&neutral(&function.name)));
    if let Some(text) = omitted(function) {
        let _ = writeln!(out, "<p>{text}</p>");
    }
    // Leave a border of one pixel for outlines.
    let _ = writeln!(
        out,
        "<svg width=\"{}\" height=\"{}\" viewBox=\"-2 -2 {} {}\" role=\"group\" aria-label=\"keys\">",
        width + 4,
        height + 4,
        width + 4,
        height + 4
    );
    for (index, key) in function.keys.iter().enumerate() {
        if let Some(parent) = key.parent {
            edge(boxes[parent], boxes[index], "", out);
        }
    }
    for (first, second) in &function.equal {
        edge(boxes[*first], boxes[*second], " class=\"equal\"", out);
    }
    for (key, placed) in function.keys.iter().zip(&boxes) {
        node(picture, key, *placed, out);
    }
    out.push_str("</svg>\n");
}

/// An edge between the heads of two boxes.
fn edge(from: Placed, to: Placed, class: &str, out: &mut String) {
    let head = PADDING + LINE / 2;
    let (x1, y1, x2, y2) = (from.x + WIDTH, from.y + head, to.x, to.y + head);
    let middle = u32::midpoint(x1, x2);
    let _ = writeln!(out, "<path{class} d=\"M{x1} {y1} C{middle} {y1} {middle} {y2} {x2} {y2}\"/>");
}

fn node(picture: &Picture<'_>, key: &LineageKey, placed: Placed, out: &mut String) {
    let places = std::iter::once(key.place).chain(key.uses.iter().map(|used| used.place));
    let rows: BTreeSet<u32> = places.filter_map(|place| picture.row(place)).collect();
    let rows: Vec<String> = rows.iter().map(u32::to_string).collect();
    let lines = lines(picture, key);
    let spoken: Vec<&str> = lines.iter().map(|(_, line)| line.as_str()).collect();
    let class = if key.is_reused() { "key reused" } else { "key" };
    let _ = writeln!(
        out,
        "<g class=\"{class}\" tabindex=\"0\" role=\"button\" data-rows=\"{}\" aria-label=\"{}\" transform=\"translate({} {})\">",
        rows.join(" "),
        escaped(&spoken.join("; ")),
        placed.x,
        placed.y
    );
    let _ = writeln!(out, "<title>{}</title>", escaped(&spoken.join("\n")));
    let _ = writeln!(out, "<rect width=\"{WIDTH}\" height=\"{}\" rx=\"6\"/>", placed.height);
    for (nth, (class, line)) in (1..).zip(&lines) {
        let y = PADDING + LINE * nth - 5;
        let _ = writeln!(out, "<text class=\"{class}\" x=\"10\" y=\"{y}\">{}</text>", escaped(&shortened(line)));
    }
    out.push_str("</g>\n");
}

/// The lines of a box, each with its class.
fn lines(picture: &Picture<'_>, key: &LineageKey) -> Vec<(&'static str, String)> {
    let mut lines = vec![("name", neutral(&key.title()))];
    lines.extend(picture.details(key).into_iter().map(|detail| ("faint", detail)));
    lines.extend(key.uses.iter().map(|used| {
        let callee = used.callee.rsplit('.').next().unwrap_or(&used.callee);
        let (mark, class) = if used.is_reuse { ("✗", "again") } else { ("→", "use") };
        (class, format!("{mark} {}, {}", neutral(callee), picture.place(used.place)))
    }));
    lines
}

fn shortened(line: &str) -> String {
    let mut characters = line.chars();
    let head: String = characters.by_ref().take(CHARACTERS).collect();
    if characters.next().is_some() { format!("{head}…") } else { head }
}

/// The text of the file, line by line.
fn source(picture: &Picture<'_>, out: &mut String) {
    let text = picture.lineage.files.text(picture.lineage.file);
    let uses = picture.functions.iter().flat_map(|function| &function.keys).flat_map(|key| &key.uses);
    let reused = uses.filter(|used| used.is_reuse).filter_map(|used| picture.row(used.place));
    let reused: BTreeSet<u32> = reused.collect();
    // The pane starts at the first function that is drawn; the lines above it can still be read.
    let first = picture.functions.iter().map(|function| function.within.start).min().unwrap_or_default();
    let start = picture.lines.row(first);
    let _ = writeln!(out, "<div id=\"source\" tabindex=\"0\" aria-label=\"source\" data-start=\"{start}\"><ol>");
    for row in 1..=picture.lines.line_count().min(ROWS) {
        let span = picture.lines.line(text, row);
        let line = text.get(span.range()).unwrap_or_default();
        let label = number(picture, span.start, row);
        let class = if reused.contains(&row) { " class=\"bad\"" } else { "" };
        let _ = writeln!(out, "<li id=\"row-{row}\"{class}><span>{label}</span>{}</li>", escaped(&neutral(line)));
    }
    out.push_str("</ol>\n");
    if picture.lines.line_count() > ROWS {
        let _ = writeln!(out, "<p>{} more lines are left out</p>", picture.lines.line_count() - ROWS);
    }
    out.push_str("</div>\n");
}

/// The number of a line; in a notebook, within its cell.
fn number(picture: &Picture<'_>, start: u32, row: u32) -> String {
    let files = &picture.lineage.files;
    if files.cells(picture.lineage.file).is_empty() {
        return row.to_string();
    }
    let at = Place { file: picture.lineage.file, span: crate::text::Span::new(start, start) };
    picture.place(at).replace("cell ", "").replace(", line ", ":")
}
