//! The table of formats.
//!
//! **Invariant:** a format is one row; the command line, its help, completions and `--output-file` read the table.

use std::io::{self, Write};

use super::{Report, azure, concise, full, github, gitlab, grouped, html, json, junit, pylint, rdjson, sarif};
use crate::config::OutputFormat;

/// The table of formats. A new one is a file with a `write`, its `mod` in `mod.rs`, and a row here; the command line, its help,
/// completions and `--output-file` read the table.
macro_rules! formats {
    ($($format:ident $name:literal $audience:ident, $fixes:ident, $about:literal => $write:expr;)*) => {
        /// How findings are written.
        #[derive(Clone, Copy, Debug, PartialEq, Eq)]
        pub enum Format {
            $(#[doc = $about] $format,)*
        }

        impl Format {
            /// Every format.
            pub const ALL: &[Self] = &[$(Self::$format,)*];

            /// The name in options.
            pub const fn name(self) -> &'static str {
                match self { $(Self::$format => $name,)* }
            }

            /// A description for help texts.
            pub const fn about(self) -> &'static str {
                match self { $(Self::$format => $about,)* }
            }

            /// Whether it is for people. Such formats end with a summary.
            pub const fn is_for_people(self) -> bool {
                matches!(match self { $(Self::$format => Audience::$audience,)* }, Audience::People)
            }

            /// Whether it can show fixes.
            pub const fn shows_fixes(self) -> bool {
                matches!(match self { $(Self::$format => Fixes::$fixes,)* }, Fixes::Shown)
            }

            /// Whether it only marks findings that the options of the run would fix.
            pub const fn marks_fixes(self) -> bool {
                matches!(match self { $(Self::$format => Fixes::$fixes,)* }, Fixes::Marked)
            }

            fn write(self, report: &Report<'_>, colour: bool, out: &mut dyn Write) -> io::Result<()> {
                let write: fn(&Report<'_>, bool, &mut dyn Write) -> io::Result<()> = match self {
                    $(Self::$format => $write,)*
                };
                write(report, colour, out)
            }
        }

        impl From<OutputFormat> for Format {
            fn from(configured: OutputFormat) -> Self {
                match configured { $(OutputFormat::$format => Self::$format,)* }
            }
        }
    };
}

/// The readers of a format.
enum Audience {
    People,
    Tools,
}

/// What a format does with fixes.
enum Fixes {
    Shown,
    /// It only marks findings that the options of the run would fix.
    Marked,
    Absent,
}

formats! {
    Full "full" People, Shown, "An excerpt of the source for each finding" => full::write;
    Concise "concise" People, Marked, "One line for each finding" => concise::write;
    Grouped "grouped" People, Marked, "One line for each finding, grouped by file" => grouped::write;
    Html "html" Tools, Shown, "A self-contained HTML page with filters and search" => |report, _, out| html::write(report, out);
    Json "json" Tools, Shown, "One JSON array" => |report, _, out| json::write_array(report, out);
    JsonLines "json-lines" Tools, Shown, "One JSON object per line" => |report, _, out| json::write_lines(report, out);
    Sarif "sarif" Tools, Shown, "SARIF 2.1.0, for code scanning" => |report, _, out| sarif::write(report, out);
    Github "github" Tools, Absent, "Annotations for GitHub Actions" => |report, _, out| github::write(report, out);
    Gitlab "gitlab" Tools, Absent, "A code quality report for GitLab" => |report, _, out| gitlab::write(report, out);
    Azure "azure" Tools, Absent, "Build issues for Azure Pipelines" => |report, _, out| azure::write(report, out);
    Pylint "pylint" Tools, Absent, "One line for each finding, in pylint's format" => |report, _, out| pylint::write(report, out);
    Junit "junit" Tools, Absent, "A test report in XML, for CI systems" => |report, _, out| junit::write(report, out);
    Rdjson "rdjson" Tools, Shown, "Diagnostics for reviewdog" => |report, _, out| rdjson::write(report, out);
}

impl Report<'_> {
    /// Writes the findings. The summary is separate: [`summary()`](super::summary()).
    pub fn write(&self, format: Format, colour: bool, out: &mut dyn Write) -> io::Result<()> {
        format.write(self, colour, out)
    }
}
