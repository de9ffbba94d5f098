//! A Mermaid flowchart.
//!
//! **Invariant:** labels are quoted, and characters that could end a label or be read as markup are written as entities.

use std::fmt::Write;

use super::{Picture, omitted};
use crate::report::neutral;

// Writing to a string cannot fail, so the results of `write!` below are ignored.

pub(super) fn write(picture: &Picture<'_>) -> String {
    let mut out = String::from("flowchart LR\n");
    for (number, function) in picture.functions.iter().enumerate() {
        let _ = writeln!(out, "  subgraph f{number}[\"{}\"]", label(&function.name));
        for (index, key) in function.keys.iter().enumerate() {
            let title = format!("<b>{}</b>", label(&neutral(&key.title())));
            let details = picture.details(key).into_iter().map(|detail| label(&detail));
            let lines: Vec<String> = std::iter::once(title).chain(details).collect();
            let class = if key.is_reused() { ":::reused" } else { "" };
            let _ = writeln!(out, "    f{number}k{index}[\"{}\"]{class}", lines.join("<br/>"));
            for (nth, used) in key.uses.iter().enumerate() {
                let class = if used.is_reuse { ":::reused" } else { "" };
                let node = format!("f{number}k{index}u{nth}");
                let _ = writeln!(out, "    {node}([\"{}\"]){class}", label(&picture.used(used)));
                let _ = writeln!(out, "    f{number}k{index} --> {node}");
            }
        }
        for (index, key) in function.keys.iter().enumerate() {
            if let Some(parent) = key.parent {
                let _ = writeln!(out, "    f{number}k{parent} -->|{}| f{number}k{index}", key.step());
            }
        }
        for (first, second) in &function.equal {
            let _ = writeln!(out, "    f{number}k{first} -. equal keys .- f{number}k{second}");
        }
        if let Some(text) = omitted(function) {
            let _ = writeln!(out, "    f{number}more[\"{text}\"]");
        }
        out.push_str("  end\n");
    }
    out.push_str("  classDef reused stroke:#c62828,stroke-width:2px\n");
    out
}

/// A text as a quoted label.
fn label(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for c in text.chars() {
        match c {
            '"' | '<' | '>' | '&' | '#' | '`' | ';' | '|' | '\\' => {
                let _ = write!(out, "#{};", u32::from(c));
            }
            c => out.push(c),
        }
    }
    out
}
