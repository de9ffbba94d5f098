//! `keylint graph`.
//!
//! **Invariant:** a function that is not there is an error that names those that are.

use std::path::{Path, PathBuf};

use super::args::Graph;
use super::backend::Backend;
use super::check::resolver;
use super::output::write_file;
use super::{Failure, Status, World};
use crate::config::{absolute, suggest};
use crate::report::graph::draw;

/// Most functions that an error names.
const NAMED: usize = 12;

pub(super) fn run(command: &Graph, backend: &dyn Backend, world: &mut World<'_>) -> Result<Status, Failure> {
    let (file, function) = match command.place.split_once("::") {
        Some((file, function)) => (file, Some(function)),
        None => (command.place.as_str(), None),
    };
    let resolver = resolver(&command.selection, &[PathBuf::from(file)], world)?;
    let lineage = backend.lineage(Path::new(file), &resolver).map_err(Failure::Usage)?;
    let functions = match function {
        Some(name) => lineage.named(name),
        None => lineage.functions.iter().collect(),
    };
    if functions.is_empty() {
        let known: Vec<&str> = lineage.functions.iter().map(|function| function.name.as_str()).collect();
        return Err(Failure::Usage(missing(file, function, &known)));
    }
    let text = draw(&lineage, &functions, command.output_format);
    match &command.output_file {
        Some(path) => write_file(&absolute(&world.cwd, path), text.as_bytes())
            .map_err(|error| Failure::Usage(format!("cannot write `{}`: {error}", path.display())))?,
        None => world.stdout.write_all(text.as_bytes())?,
    }
    Ok(Status::Clean)
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
            format!("no function `{function}` of `{file}` handles keys{hint}; these do: {}{more}", names.join(", "))
        }
    }
}
