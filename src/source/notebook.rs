//! Notebooks as text: the Python of all code cells in order.
//!
//! **Invariant:** only this file uses the crate for the format. Each cell's code is followed by one line ending, so that no statement spans
//! two cells. Cells with a magic for another language (`%%bash`) are skipped.

use std::borrow::Cow;

use ruff_notebook::{Notebook, NotebookError};
use serde::Deserialize;
use serde_json::value::RawValue;

use crate::text::{Cell, Cells, Span};

/// The first words of a Git LFS pointer, which Git LFS leaves if the contents were not fetched (its specification, "The Pointer").
const LFS_POINTER: &str = "version https://git-lfs.github.com/spec/";

/// The code of a notebook and its cells. A notebook in another language than Python has no code.
pub(super) fn code(document: &str) -> Result<(String, Cells), String> {
    // Editors open an empty file as an empty notebook.
    if document.trim().is_empty() {
        return Ok((String::new(), Cells::NONE));
    }
    if document.starts_with(LFS_POINTER) {
        return Err(
            "Git LFS left a pointer instead of the notebook; run `git lfs pull`, or exclude the file".to_owned()
        );
    }
    let (notebook, document) = if let Some(notebook) = read(document) {
        (notebook, Cow::Borrowed(document))
    } else {
        let document = strict(document);
        let whole = || Notebook::from_source_code(&document).map_err(|error| worded(&error));
        (read(&document).map_or_else(whole, Ok)?, document)
    };
    if !(notebook.is_python_notebook() || names_python(&document)) {
        return Ok((String::new(), Cells::NONE));
    }
    let offset = |at: usize| u32::try_from(at).unwrap_or(u32::MAX);
    let ranges = notebook.cell_offsets().ranges();
    let cells = notebook.index().iter().zip(ranges).map(|(cell, range)| Cell {
        number: offset(cell.cell_index().get()),
        span: Span::new(range.start().to_u32(), range.end().to_u32()),
    });
    let cells: Vec<Cell> = cells.collect();
    let text = if cells.is_empty() { String::new() } else { notebook.source_code().to_owned() };
    Ok((text, Cells::new(cells)))
}

/// Replaces what is not strict JSON by strict JSON of the same length, with all strings and lists at the same offsets: Python
/// writes `NaN`, `Infinity` and lone surrogates into outputs.
pub(super) fn strict(document: &str) -> Cow<'_, str> {
    let bytes = document.as_bytes();
    let mut strict: Option<Vec<u8>> = None;
    let mut replace = |range: std::ops::Range<usize>, with: &[u8]| {
        let strict = strict.get_or_insert_with(|| bytes.to_vec());
        let padded = with.iter().copied().chain(std::iter::repeat(b' '));
        strict.get_mut(range).unwrap_or_default().iter_mut().zip(padded).for_each(|(byte, new)| *byte = new);
    };
    let mut at = 0;
    let mut in_string = false;
    while let Some(byte) = bytes.get(at) {
        let rest = bytes.get(at..).unwrap_or_default();
        let length = match (in_string, byte) {
            (_, b'"') => {
                in_string = !in_string;
                1
            }
            (true, b'\\') => match (surrogate(rest), rest.get(6..).and_then(surrogate)) {
                (Some(Half::High), Some(Half::Low)) => 12,
                (Some(_), _) => {
                    replace(at..at + 6, b"\\ufffd");
                    6
                }
                (None, _) => 2,
            },
            (false, b'-' | b'0'..=b'9' | b'N' | b'I') => {
                let is_part = |byte: &&u8| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'+' | b'.');
                let length = rest.iter().take_while(is_part).count();
                let word = document.get(at..at + length).unwrap_or_default();
                let is_named = matches!(word, "NaN" | "Infinity" | "-Infinity");
                let is_number = word.trim_start_matches('-').starts_with(|first: char| first.is_ascii_digit());
                let is_huge = is_number && word.parse().is_ok_and(|number: f64| number.is_infinite());
                if is_named || is_huge {
                    replace(at..at + length, b"0");
                }
                length
            }
            _ => 1,
        };
        at += length;
    }
    // ASCII was replaced by ASCII, so the result is still UTF-8.
    strict.and_then(|strict| String::from_utf8(strict).ok()).map_or(Cow::Borrowed(document), Cow::Owned)
}

enum Half {
    High,
    Low,
}

/// Whether an escape sequence for half of a surrogate pair starts here.
fn surrogate(rest: &[u8]) -> Option<Half> {
    match rest.get(..6)? {
        [b'\\', b'u', b'd' | b'D', b'8' | b'9' | b'a' | b'b' | b'A' | b'B', _, _] => Some(Half::High),
        [b'\\', b'u', b'd' | b'D', b'c'..=b'f' | b'C'..=b'F', _, _] => Some(Half::Low),
        _ => None,
    }
}

/// The format of notebooks that is read.
const FORMAT: u64 = 4;

/// The parts of a notebook that are read, as written. Other fields are skipped: outputs make up most of many documents, and Jupyter opens
/// notebooks in which other fields do not match the format.
#[derive(Deserialize)]
struct Document<'d> {
    #[serde(borrow)]
    cells: Vec<Part<'d>>,
    #[serde(borrow)]
    metadata: &'d RawValue,
    nbformat: u64,
}

/// The parts of a cell that are read.
#[derive(Deserialize)]
struct Part<'d> {
    #[serde(borrow)]
    cell_type: &'d RawValue,
    #[serde(borrow)]
    source: &'d RawValue,
    #[serde(borrow)]
    metadata: Option<&'d RawValue>,
}

/// A notebook with only these parts; `None` if one of them is missing or malformed.
fn read(document: &str) -> Option<Notebook> {
    let Document { cells, metadata, nbformat } = serde_json::from_str(document).ok()?;
    // Some editors write a later number into documents of format 4. Only documents with the structure of format 4 get here.
    let nbformat = nbformat.min(FORMAT);
    let cell = |Part { cell_type, source, metadata }: &Part<'_>| {
        let metadata = metadata.map(RawValue::get).filter(|metadata| metadata.starts_with('{')).unwrap_or("{}");
        let results = if cell_type.get() == "\"code\"" { r#","outputs":[],"execution_count":null"# } else { "" };
        format!(r#"{{"cell_type":{cell_type},"metadata":{metadata},"source":{source}{results}}}"#)
    };
    let cells: Vec<String> = cells.iter().map(cell).collect();
    let cells = cells.join(",");
    let reduced = format!(r#"{{"cells":[{cells}],"metadata":{metadata},"nbformat":{nbformat},"nbformat_minor":0}}"#);
    Notebook::from_source_code(&reduced).ok()
}

/// The part of a notebook that names its language and its kernel.
#[derive(Deserialize)]
struct Head {
    metadata: Metadata,
}

#[derive(Deserialize)]
struct Metadata {
    kernelspec: Option<Kernel>,
    language_info: Option<Named>,
}

#[derive(Deserialize)]
struct Kernel {
    name: String,
    language: Option<String>,
}

#[derive(Deserialize)]
struct Named {
    name: String,
}

/// Whether a notebook says in another way than by `"python"` that it is written in Python. Its language may have a version
/// (`"python3"`), and notebooks that never ran, or that tools wrote, may give only the name of the kernel.
fn names_python(document: &str) -> bool {
    let head: Result<Head, _> = serde_json::from_str(document);
    let Ok(Head { metadata: Metadata { kernelspec, language_info } }) = head else { return false };
    let language = language_info.map(|language| language.name);
    let language = language.or_else(|| kernelspec.map(|kernel| kernel.language.unwrap_or(kernel.name)));
    language.is_some_and(|language| language.starts_with("python"))
}

/// Words an error of the notebook format: what is wrong, and what to do.
fn worded(error: &NotebookError) -> String {
    match error {
        NotebookError::Io(error) => format!("the notebook cannot be read: {error}"),
        NotebookError::Json(error) | NotebookError::InvalidJson(error) => {
            format!("the notebook is not valid JSON, at line {}, column {}", error.line(), error.column())
        }
        NotebookError::InvalidSchema(error) => format!(
            "the JSON is not a notebook of format 4, at line {}, column {}; open and save it in Jupyter, or exclude it",
            error.line(),
            error.column()
        ),
        NotebookError::InvalidFormat(version) => format!(
            "a notebook of format {version}, where 4 is expected; convert it with `jupyter nbconvert --to notebook`, \
             or exclude it"
        ),
    }
}
