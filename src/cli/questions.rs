//! Questions to the user: on a terminal, or with answers line by line on standard input.
//!
//! **Invariant:** if the answers end, every further question is answered with no, and nothing waits.

use std::io::Read;

use super::{Failure, Process};

/// The answers, as they are read.
#[derive(Default)]
pub(super) struct Answers {
    /// The answer to all further questions, once `a` or `q` was given.
    all: Option<bool>,
}

impl Answers {
    /// Asks a question; an empty line means `default`. `a` is yes to this and all further ones, `q` no to all.
    pub(super) fn ask(&mut self, question: &str, default: bool, process: &mut Process<'_>) -> Result<bool, Failure> {
        if let Some(all) = self.all {
            return Ok(all);
        }
        let choices = if default { "Y/n/a/q" } else { "y/N/a/q" };
        loop {
            // Answers that are piped in do not echo a line break.
            let end = if process.stderr_is_terminal { " " } else { "\n" };
            write!(process.stderr, "{question} [{choices}]{end}")?;
            process.stderr.flush()?;
            let Some(line) = line(process.stdin) else {
                self.all = Some(false);
                return Ok(false);
            };
            match line.trim().to_ascii_lowercase().as_str() {
                "" => return Ok(default),
                "y" | "yes" => return Ok(true),
                "n" | "no" => return Ok(false),
                "a" | "all" => self.all = Some(true),
                "q" | "quit" => self.all = Some(false),
                _ => {
                    writeln!(process.stderr, "Answer y (yes), n (no), a (yes to all that follow) or q (no to all).")?;
                    continue;
                }
            }
            return Ok(self.all.unwrap_or(false));
        }
    }
}

/// The next line; `None` at the end of input.
fn line(input: &mut (dyn Read + Send)) -> Option<String> {
    let mut line = Vec::new();
    let mut byte = [0];
    // Read one byte at a time, so that text after the line stays unread.
    while input.read(&mut byte).is_ok_and(|count| count == 1) {
        if byte[0] == b'\n' {
            return Some(String::from_utf8_lossy(&line).into_owned());
        }
        line.push(byte[0]);
    }
    (!line.is_empty()).then(|| String::from_utf8_lossy(&line).into_owned())
}
