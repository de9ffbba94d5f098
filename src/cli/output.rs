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
    /// The option decides; without it `NO_COLOR`, then `FORCE_COLOR` and `CLICOLOR_FORCE`.
    pub(super) fn new(choice: ColourChoice, env: &dyn Fn(&str) -> Option<String>) -> Self {
        let is_set = |name: &str| env(name).is_some_and(|value| !value.is_empty());
        let is_forced = |name: &str| env(name).is_some_and(|value| !matches!(value.as_str(), "" | "0" | "false"));
        match choice {
            ColourChoice::Always => Self::On,
            ColourChoice::Never => Self::Off,
            ColourChoice::Auto if is_set("NO_COLOR") => Self::Off,
            ColourChoice::Auto if is_forced("FORCE_COLOR") || is_forced("CLICOLOR_FORCE") => Self::On,
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

/// Writes `bytes` to `path` atomically: a new file beside it replaces it, with its permissions, owner and group. If that would break a hard
/// link or change the owner, it is an error.
pub(super) fn write_file(path: &Path, bytes: &[u8]) -> io::Result<()> {
    // A link is followed, so that it stays one; a device or a pipe cannot be replaced and is written to.
    let path = fs::canonicalize(path).unwrap_or_else(|_| path.to_owned());
    if fs::metadata(&path).is_ok_and(|metadata| !metadata.is_file()) {
        return fs::OpenOptions::new().write(true).open(&path)?.write_all(bytes);
    }
    let temporary = beside(&path);
    let old = fs::metadata(&path).ok();
    if let Some(old) = &old {
        has_one_name(old)?;
    }
    let keep = |()| {
        let Some(old) = &old else { return Ok(()) };
        keep_owner(old, &temporary)?;
        fs::set_permissions(&temporary, old.permissions())
    };
    let written = create(&temporary, bytes).and_then(keep).and_then(|()| fs::rename(&temporary, &path));
    if written.is_err() {
        // The first error is the one to report; a leftover does no harm.
        let _ = fs::remove_file(&temporary);
    }
    written
}

/// Makes a file with this content. On Linux it has no name before all is written, so that a process that is killed leaves nothing.
fn create(path: &Path, bytes: &[u8]) -> io::Result<()> {
    #[cfg(target_os = "linux")]
    if let Some(file) = nameless(path) {
        use std::os::fd::AsRawFd as _;
        (&file).write_all(bytes)?;
        let own = format!("/proc/self/fd/{}", file.as_raw_fd());
        let (here, follow) = (rustix::fs::CWD, rustix::fs::AtFlags::SYMLINK_FOLLOW);
        if rustix::fs::linkat(here, own, here, path, follow).is_ok() {
            return Ok(());
        }
    }
    fs::write(path, bytes)
}

/// A file without a name in the folder of a path, where the file system has such files.
#[cfg(target_os = "linux")]
fn nameless(path: &Path) -> Option<fs::File> {
    use rustix::fs::{CWD, Mode, OFlags, openat};
    let folder = path.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."));
    let flags = OFlags::TMPFILE | OFlags::WRONLY | OFlags::CLOEXEC;
    openat(CWD, folder, flags, Mode::from_raw_mode(0o666)).ok().map(fs::File::from)
}

/// Refuses a file with several names: a new file would leave the old text under the others.
fn has_one_name(old: &fs::Metadata) -> io::Result<()> {
    #[cfg(unix)]
    if std::os::unix::fs::MetadataExt::nlink(old) > 1 {
        return Err(io::Error::other("the file has several hard links; replacing it would leave the others unchanged"));
    }
    let _ = old;
    Ok(())
}

/// Gives a new file the owner and the group of the old one.
fn keep_owner(old: &fs::Metadata, new: &Path) -> io::Result<()> {
    #[cfg(unix)]
    {
        use std::os::unix::fs::{MetadataExt as _, chown};
        let made = fs::metadata(new)?;
        let differing = |new: u32, old: u32| (new != old).then_some(old);
        let (user, group) = (differing(made.uid(), old.uid()), differing(made.gid(), old.gid()));
        if user.is_some() || group.is_some() {
            let cannot = |error| io::Error::other(format!("its owner and group cannot be kept: {error}"));
            chown(new, user, group).map_err(cannot)?;
        }
    }
    let _ = (old, new);
    Ok(())
}

fn beside(path: &Path) -> PathBuf {
    let name = path.file_name().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default();
    path.with_file_name(format!(".{name}.{}.tmp", std::process::id()))
}
