//! Where output goes, and in which colours.
//!
//! **Invariant:** a report file is either the old one or the new one, never a part of either.

use std::fs;
use std::io::{self, Write};
use std::path::{Path, PathBuf};

use clap::ValueEnum;

/// The values of `--color`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
pub enum ColourChoice {
    /// On a terminal, unless the environment says otherwise.
    #[default]
    Auto,
    /// Always.
    Always,
    /// Never.
    Never,
}

/// The decision about colours, up to whether the output is a terminal.
#[derive(Clone, Copy, Debug)]
pub(super) enum Colour {
    On,
    Off,
    OnTerminals,
}

impl Colour {
    /// The option decides; without it `NO_COLOR`, then `CLICOLOR_FORCE`.
    pub(super) fn new(choice: ColourChoice, env: &dyn Fn(&str) -> Option<String>) -> Self {
        let is_set = |name: &str| env(name).is_some_and(|value| !value.is_empty());
        match choice {
            ColourChoice::Always => Self::On,
            ColourChoice::Never => Self::Off,
            ColourChoice::Auto if is_set("NO_COLOR") => Self::Off,
            ColourChoice::Auto if env("CLICOLOR_FORCE").is_some_and(|value| !value.is_empty() && value != "0") => {
                Self::On
            }
            ColourChoice::Auto if env("TERM").is_some_and(|term| term == "dumb") => Self::Off,
            ColourChoice::Auto => Self::OnTerminals,
        }
    }

    pub(super) fn on(self, is_terminal: bool) -> bool {
        match self {
            Self::On => true,
            Self::Off => false,
            Self::OnTerminals => is_terminal,
        }
    }
}

/// Puts `bytes` at `path`: a new file beside it takes its place, and its permissions, in one step.
pub(super) fn write_file(path: &Path, bytes: &[u8]) -> io::Result<()> {
    // A link is followed, so that it stays one; a device or a pipe cannot be replaced and is written to.
    let path = fs::canonicalize(path).unwrap_or_else(|_| path.to_owned());
    if fs::metadata(&path).is_ok_and(|metadata| !metadata.is_file()) {
        return fs::OpenOptions::new().write(true).open(&path)?.write_all(bytes);
    }
    let temporary = beside(&path);
    let permissions = fs::metadata(&path).map(|metadata| metadata.permissions()).ok();
    let keep = |()| permissions.map_or(Ok(()), |permissions| fs::set_permissions(&temporary, permissions));
    let written = fs::write(&temporary, bytes).and_then(keep).and_then(|()| fs::rename(&temporary, &path));
    if written.is_err() {
        // The first error is the one to report; a leftover does no harm.
        let _ = fs::remove_file(&temporary);
    }
    written
}

fn beside(path: &Path) -> PathBuf {
    let name = path.file_name().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default();
    path.with_file_name(format!(".{name}.{}.tmp", std::process::id()))
}
