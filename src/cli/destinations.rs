//! `--output-file`: where reports and pictures go.
//!
//! **Invariant:** no two reports of a run go to one place, and none takes the place of a source file.

use std::io;
use std::path::Path;

use clap::ValueEnum;

use super::output::write_file;
use super::{Failure, Process};
use crate::config::{absolute, suggest};
use crate::engine::is_source;
use crate::report::Format;

/// Where one output goes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Destination<'a> {
    /// Standard output (`-`).
    Standard,
    File(&'a Path),
}

impl<'a> Destination<'a> {
    /// Reads the path of an option.
    pub(super) fn of(path: &'a Path) -> Result<Self, Failure> {
        if path.as_os_str() == "-" {
            return Ok(Self::Standard);
        }
        if is_source(path) {
            let path = path.display();
            return Err(Failure::Usage(format!("`{path}` would be overwritten, but it has the name of a source file")));
        }
        Ok(Self::File(path))
    }

    pub(super) fn is_standard(self) -> bool {
        self == Self::Standard
    }

    /// Writes the output; standard output is replaced by standard error if `aside`. Missing folders are created; the inner error means that
    /// the file cannot be written.
    pub(super) fn put(self, bytes: &[u8], aside: bool, process: &mut Process<'_>) -> io::Result<Result<(), String>> {
        let Self::File(path) = self else {
            let out: &mut dyn io::Write = if aside { process.stderr } else { process.stdout };
            out.write_all(bytes)?;
            return out.flush().map(Ok);
        };
        let file = absolute(&process.cwd, path);
        let made = file.parent().filter(|folder| !folder.exists()).map_or(Ok(()), std::fs::create_dir_all);
        let written = made.and_then(|()| write_file(&file, bytes));
        Ok(written.map_err(|error| format!("cannot write `{}`: {error}; choose another file", path.display())))
    }
}

/// Where the reports of a run go.
#[derive(Debug)]
pub(super) struct Destinations<'a> {
    /// The report of `--output-format`.
    pub(super) main: Destination<'a>,
    /// Additional reports.
    pub(super) further: Vec<(Format, Destination<'a>)>,
}

impl<'a> Destinations<'a> {
    /// Reads the values of `--output-file`: a path, or `FORMAT=PATH`.
    pub(super) fn of(values: &'a [String]) -> Result<Self, Failure> {
        let mut main = None;
        let mut further = Vec::new();
        for value in values {
            let named =
                value.split_once('=').and_then(|(name, path)| Some((Format::from_str(name, false).ok()?, path)));
            match named {
                Some((_, "")) => return Err(Failure::Usage(format!("`--output-file {value}` has no file after `=`"))),
                Some((format, path)) => further.push((format, Destination::of(Path::new(path))?)),
                None => {
                    is_no_format(value)?;
                    if main.is_some() {
                        return Err(Failure::Usage(format!(
                            "`--output-file` is given twice without a format; write the second one as `FORMAT={value}`"
                        )));
                    }
                    main = Some(Destination::of(Path::new(value))?);
                }
            }
        }
        let main = main.unwrap_or(Destination::Standard);
        let mut all: Vec<Destination<'_>> = further.iter().map(|(_, to)| *to).chain([main]).collect();
        all.sort_unstable();
        match all.windows(2).find(|pair| pair[0] == pair[1]).map(|pair| pair[0]) {
            None => Ok(Self { main, further }),
            Some(Destination::File(path)) => {
                Err(Failure::Usage(format!("two reports would be written to `{}`", path.display())))
            }
            Some(Destination::Standard) => {
                Err(Failure::Usage("two reports would be written to standard output".to_owned()))
            }
        }
    }
}

impl Destinations<'_> {
    /// The format that the name of the main report's file implies.
    pub(super) fn implied_format(&self) -> Option<Format> {
        let Destination::File(path) = self.main else { return None };
        let suffix = path.extension()?.to_str()?.to_ascii_lowercase();
        match suffix.as_str() {
            "html" | "htm" => Some(Format::Html),
            "sarif" => Some(Format::Sarif),
            "json" => Some(Format::Json),
            "jsonl" => Some(Format::JsonLines),
            _ => None,
        }
    }
}

/// Refuses what was probably written as `FORMAT=PATH`, or as the format.
fn is_no_format(value: &str) -> Result<(), Failure> {
    if Format::from_str(value, false).is_ok() {
        return Err(Failure::Usage(format!(
            "`--output-file {value}`: `{value}` is a format; write `--output-format {value}`, or `./{value}` for a file with that name"
        )));
    }
    let is_word = |word: &&str| !word.is_empty() && word.chars().all(|c| c.is_ascii_alphabetic() || c == '-');
    let Some(word) = value.split_once('=').map(|(word, _)| word).filter(is_word) else { return Ok(()) };
    let known: Vec<&str> = Format::ALL.iter().map(|format| format.name()).collect();
    let help = match suggest(word, known.iter().copied()) {
        Some(near) => format!("did you mean `{near}`?"),
        None => format!("one of {}", known.join(", ")),
    };
    Err(Failure::Usage(format!(
        "`--output-file {value}`: `{word}` is not a format ({help}); write `./{value}` for a file with that name"
    )))
}
