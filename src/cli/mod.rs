//! The command line: arguments, one file per command, exit status.
//!
//! **Invariant:** commands do input and output through [`Process`] only, so that a test sees all a user would; the exit status is 0 if no
//! findings are shown, 1 if findings are, 2 if the run itself failed.

mod args;
mod backend;
mod baseline;
mod check;
mod clean;
mod completions;
mod config;
mod destinations;
mod dev;
mod engine_backend;
mod environment;
mod eval;
mod fix;
mod graph;
mod ignores;
mod migrate;
mod output;
mod progress;
mod questions;
mod refuse;
mod rule;
mod server;
mod version;
mod watch;
pub mod why;

use std::ffi::OsString;
use std::io::{self, IsTerminal, Read, Write};
use std::path::PathBuf;
use std::process::ExitCode;

pub use args::{Args, Command, pairs};
pub use backend::{Backend, CheckRequest, Listing, Stdin};
pub use engine_backend::EngineBackend;

use crate::config::ConfigError;
use crate::report;
use output::Colour;

/// What a command sees of the machine it runs on.
pub struct Process<'a> {
    /// The absolute current directory.
    pub cwd: PathBuf,
    /// Environment variables.
    pub env: &'a dyn Fn(&str) -> Option<String>,
    /// Whether standard output is a terminal.
    pub stdout_is_terminal: bool,
    /// Whether the terminal of standard output has links.
    pub stdout_has_links: bool,
    /// Whether standard error is a terminal.
    pub stderr_is_terminal: bool,
    /// Standard input.
    pub stdin: &'a mut (dyn Read + Send),
    /// Standard output.
    pub stdout: &'a mut (dyn Write + Send),
    /// Standard error.
    pub stderr: &'a mut dyn Write,
}

/// How a command ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Status {
    /// Nothing shown.
    Clean,
    /// Findings shown.
    Findings,
    /// The run itself failed.
    Failed,
    /// A client of the server left without shutting it down.
    Abandoned,
}

impl Status {
    /// The exit status of the process.
    pub fn code(self) -> u8 {
        match self {
            Self::Clean => 0,
            Self::Findings | Self::Abandoned => 1,
            Self::Failed => 2,
        }
    }
}

/// Why a command could not do its work.
#[derive(Debug, thiserror::Error)]
enum Failure {
    /// The configuration is wrong.
    #[error(transparent)]
    Config(#[from] ConfigError),
    /// An argument is wrong, or something named by one.
    #[error("{0}")]
    Usage(String),
    /// Output could not be written.
    #[error("cannot write the output: {0}")]
    Write(#[from] io::Error),
}

/// Runs one command.
pub fn run(arguments: impl IntoIterator<Item = OsString>, backend: &dyn Backend, process: &mut Process<'_>) -> Status {
    let args = match environment::parse(arguments, process.env) {
        Ok(args) => args,
        Err(error) => return refuse::refuse(error, process),
    };
    let result = match &args.command {
        Command::Check(command) => check::run(command, &args, backend, process),
        Command::Rule(command) => rule::run(command, process),
        Command::Eval(command) => eval::run(command, process),
        Command::Baseline(command) => baseline::run(command, &args, backend, process),
        Command::Clean(command) => clean::run(command, &args, process),
        Command::Config(command) => config::run(command, process),
        Command::Why(command) => why::run(command, backend, process),
        Command::Migrate(command) => migrate::run(command, &args, backend, process),
        Command::Graph(command) => graph::run(command, backend, process),
        Command::Dev(command) => dev::run(command, backend, process),
        Command::Server => Ok(server::run(process)),
        Command::Version(command) => version::run(command, process),
        Command::Completions(command) => completions::run(command, process),
    };
    let status = match result {
        Ok(status) => Ok(status),
        // The reader of the output has closed it: nothing went wrong.
        Err(Failure::Write(error)) if error.kind() == io::ErrorKind::BrokenPipe => Ok(Status::Clean),
        Err(failure) => report_failure(&failure, &args, process).map(|()| Status::Failed),
    };
    // Standard error itself may be closed; then the message is lost.
    status.unwrap_or(Status::Failed)
}

/// Reports why a command failed.
fn report_failure(failure: &Failure, args: &Args, process: &mut Process<'_>) -> io::Result<()> {
    let colour = Colour::new(args.color, process.env).on(process.stderr_is_terminal);
    match failure {
        Failure::Config(error) => report::problem(error, colour, process.stderr),
        failure => writeln!(process.stderr, "error: {}", report::neutral_line(&failure.to_string())),
    }
}

/// Runs the command that the process was started with.
pub fn main(backend: &dyn Backend) -> ExitCode {
    let cwd = match std::env::current_dir() {
        Ok(cwd) => cwd,
        Err(error) => {
            // Standard error may be closed; the status is still set.
            let _ = writeln!(io::stderr(), "error: the current directory cannot be read: {error}");
            return ExitCode::from(Status::Failed.code());
        }
    };
    let mut process = Process {
        cwd,
        env: &|name| std::env::var(name).ok(),
        stdout_is_terminal: io::stdout().is_terminal(),
        stdout_has_links: supports_hyperlinks::on(supports_hyperlinks::Stream::Stdout),
        stderr_is_terminal: io::stderr().is_terminal(),
        stdin: &mut io::stdin(),
        stdout: &mut io::stdout(),
        stderr: &mut io::stderr(),
    };
    ExitCode::from(run(std::env::args_os(), backend, &mut process).code())
}
