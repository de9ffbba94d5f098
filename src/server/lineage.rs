//! `workspace/executeCommand` with `keylint.showLineage`: the keys of a function, from their origin to their uses.
//!
//! **Invariant:** each key is listed once, below the key from which it was derived.

use std::fmt::Write;

use gen_lsp_types::{ExecuteCommandParams, Position, Uri};
use serde::Deserialize;
use serde_json::Value;

use super::client::SHOW_LINEAGE;
use super::hover::row;
use super::places::Page;
use super::workers::{Failure, RequestContext, code};
use crate::engine::{FunctionKeys, Keys, Lineage};
use crate::report::graph::{GraphFormat, draw};
use crate::text::LineIndex;

/// The location for which the command was invoked.
#[derive(Debug, Deserialize)]
struct At {
    uri: Uri,
    #[serde(default)]
    position: Position,
    /// The requested form: text, or a graph in a format.
    #[serde(default)]
    format: LineageForm,
}

/// The form in which the command returns the lineage.
#[derive(Clone, Copy, Debug, Default, Deserialize)]
#[serde(rename_all = "lowercase")]
enum LineageForm {
    #[default]
    Text,
    #[serde(untagged)]
    Picture(GraphFormat),
}

pub(super) fn execute(request: &RequestContext<'_>, params: &ExecuteCommandParams) -> Result<Value, Failure> {
    if params.command != SHOW_LINEAGE {
        return Err(Failure::new(code::INVALID_PARAMS, format!("no command {}", params.command)));
    }
    let argument = params.arguments.as_ref().and_then(|arguments| arguments.first()).cloned().unwrap_or_default();
    let expected = |error| Failure::new(code::INVALID_PARAMS, format!("expected {{uri, position}}: {error}"));
    let At { uri, position, format } = serde_json::from_value(argument).map_err(expected)?;
    let (path, opened) = request.document(&uri).ok_or_else(Failure::gone)?;
    let nothing = || Value::String("No known keys here.\n".to_owned());
    let Some(keys) = request.snapshot.keys(path, request.is_cancelled)? else { return Ok(nothing()) };
    let text = keys.files.text(keys.file);
    let lines = LineIndex::new(text);
    let page = Page { text, lines: &lines, cells: keys.files.cells(keys.file), unit: request.snapshot.client.unit };
    let offset = page.offset(opened, &uri, position).unwrap_or_default();
    let lineage = Lineage::of(&keys);
    let Some(function) = lineage.around(offset) else { return Ok(nothing()) };
    Ok(Value::String(match format {
        LineageForm::Text => as_text(function, &keys, page),
        LineageForm::Picture(format) => draw(&lineage, &[function], format),
    }))
}

/// The keys of a function as text.
fn as_text(function: &FunctionKeys, keys: &Keys, page: Page<'_>) -> String {
    let mut text = format!("Keys of {} ({})\n", function.name, page.row(function.within.start));
    // The list is a stack: the first root must be on top.
    let roots: Vec<usize> = function.children(None).collect();
    let mut open: Vec<(usize, usize)> = roots.into_iter().rev().map(|root| (root, 1)).collect();
    while let Some((index, depth)) = open.pop() {
        let key = &function.keys[index];
        let indent = "  ".repeat(depth);
        let _ = write!(text, "{indent}{} ({}, {})", key.derivation, key.kind, page.row(key.place.span.start));
        let _ = key.key_data.iter().try_for_each(|data| write!(text, " {data}"));
        text.push('\n');
        for used in &key.uses {
            let row = row(keys, page, used.place).replace('`', "");
            let again = keys.again.iter().any(|(second, _)| *second == used.place);
            let again = if again { ", again" } else { "" };
            let _ = writeln!(text, "{indent}  {} {} ({row}{again})", used.callee, used.verb);
        }
        let below: Vec<usize> = function.children(Some(index)).collect();
        open.extend(below.into_iter().rev().map(|child| (child, depth + 1)));
    }
    if function.omitted > 0 {
        let _ = writeln!(text, "  {} more keys are left out", function.omitted);
    }
    text
}
