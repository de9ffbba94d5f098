//! A digraph for Graphviz.
//!
//! **Invariant:** every label is a quoted string in which quotes and backslashes are escaped.

use std::fmt::Write;

use super::{Picture, omitted};
use crate::report::neutral;

// Writing to a string cannot fail, so the results of `write!` below are ignored.

/// The colour of reused keys.
const REUSED: &str = "color=\"#c62828\", penwidth=2";

pub(super) fn write(picture: &Picture<'_>) -> String {
    let mut out = String::from("digraph keys {\n  rankdir=LR;\n  node [shape=box, fontname=\"monospace\"];\n");
    for (number, function) in picture.functions.iter().enumerate() {
        let _ = writeln!(out, "  subgraph cluster_{number} {{\n    label=\"{}\";", quoted(&neutral(&function.name)));
        for (index, key) in function.keys.iter().enumerate() {
            let lines: Vec<String> =
                std::iter::once(neutral(&key.title())).chain(picture.details(key)).map(|line| quoted(&line)).collect();
            let mark = if key.is_reused() { format!(", {REUSED}") } else { String::new() };
            let _ = writeln!(out, "    f{number}k{index} [label=\"{}\\l\"{mark}];", lines.join("\\l"));
            for (nth, used) in key.uses.iter().enumerate() {
                let mark = if used.is_reuse { format!(", {REUSED}") } else { String::new() };
                let text = quoted(&picture.used(used));
                let _ = writeln!(out, "    f{number}k{index}u{nth} [shape=ellipse, label=\"{text}\"{mark}];");
                let _ = writeln!(out, "    f{number}k{index} -> f{number}k{index}u{nth};");
            }
        }
        for (index, key) in function.keys.iter().enumerate() {
            if let Some(parent) = key.parent {
                let _ = writeln!(out, "    f{number}k{parent} -> f{number}k{index} [label=\"{}\"];", key.step());
            }
        }
        for (first, second) in &function.equal {
            let how = format!("style=dashed, dir=none, label=\"equal keys\", {REUSED}");
            let _ = writeln!(out, "    f{number}k{first} -> f{number}k{second} [{how}];");
        }
        if let Some(text) = omitted(function) {
            let _ = writeln!(out, "    f{number}more [label=\"{text}\"];");
        }
        out.push_str("  }\n");
    }
    out.push_str("}\n");
    out
}

fn quoted(text: &str) -> String {
    text.replace('\\', "\\\\").replace('"', "\\\"")
}
