//! `keylint graph`.
//!
//! **Invariant:** a function that is not there is an error that names those that are.

use std::path::{Path, PathBuf};

use super::args::Graph;
use super::backend::Backend;
use super::check::{report_warnings, resolver};
use super::destinations::Destination;
use super::{Failure, Process, Status};
use crate::config::suggest;
use crate::report;
use crate::report::graph::{GraphFormat, draw};

/// Most functions that an error names.
const NAMED: usize = 12;

pub(super) fn run(command: &Graph, backend: &dyn Backend, process: &mut Process<'_>) -> Result<Status, Failure> {
    let (file, function) = match command.place.split_once("::") {
        Some((file, "")) => {
            let place = &command.place;
            return Err(Failure::Usage(format!(
                "`{place}` lacks a function name after `::`; pass `{file}` to draw all functions"
            )));
        }
        Some((file, function)) => (file, Some(function)),
        None => (command.place.as_str(), None),
    };
    let to = Destination::of(&command.output_file)?;
    let format = match command.output_format {
        Some(format) => format,
        None => format_of(&command.output_file)?,
    };
    let resolver = resolver(&command.selection, &[PathBuf::from(file)], process)?;
    let lineage = backend.lineage(Path::new(file), &resolver);
    report_warnings(&resolver, process)?;
    let lineage = lineage.map_err(Failure::Usage)?;
    if let Some(problem) = &lineage.broken {
        let problem = report::neutral(problem);
        writeln!(process.stderr, "warning: {problem}, so keys may be missing from the graph")?;
    }
    let functions = match function {
        Some(name) => lineage.named(name),
        None => lineage.functions.iter().collect(),
    };
    if functions.is_empty() {
        let known: Vec<&str> = lineage.functions.iter().map(|function| function.name.as_str()).collect();
        return Err(Failure::Usage(missing(file, function, &known)));
    }
    let text = draw(&lineage, &functions, format);
    to.put(text.as_bytes(), false, process)?.map_err(Failure::Usage)?;
    Ok(Status::Clean)
}

/// The format that the name of a file implies. Standard output implies none.
fn format_of(file: &Path) -> Result<GraphFormat, Failure> {
    if file.as_os_str() == "-" {
        return Ok(GraphFormat::Mermaid);
    }
    let suffix = file.extension().map(|suffix| suffix.to_string_lossy());
    suffix.as_deref().and_then(GraphFormat::of_suffix).ok_or_else(|| {
        let suffixes = GraphFormat::ALL.iter().flat_map(|format| format.suffixes());
        let suffixes: Vec<String> = suffixes.map(|suffix| format!("`.{suffix}`")).collect();
        let file = report::neutral(&file.to_string_lossy());
        Failure::Usage(format!(
            "cannot infer the format from `{file}`: use the suffix {}, or pass `--output-format`",
            suffixes.join(", ")
        ))
    })
}

/// Why there is nothing to draw.
fn missing(file: &str, function: Option<&str>, known: &[&str]) -> String {
    match function {
        None => format!("`{file}` handles no keys"),
        Some(function) if known.is_empty() => format!("`{file}` handles no keys, in `{function}` or elsewhere"),
        Some(function) => {
            let hint = suggest(function, known.iter().copied());
            let names: Vec<String> = known.iter().take(NAMED).map(|name| format!("`{name}`")).collect();
            let more = if known.len() > NAMED { ", …" } else { "" };
            let hint = hint.map(|near| format!(" (did you mean `{near}`?)")).unwrap_or_default();
            format!("no function `{function}` in `{file}` handles keys{hint}; these do: {}{more}", names.join(", "))
        }
    }
}
