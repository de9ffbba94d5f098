//! Fingerprints: names of findings that outlive moved lines.
//!
//! A fingerprint is FNV-1a (64 bits) over the file's path below its project, the rule's code, the qualified name of the
//! function, the normal form of the statement ([`normal_form`]), and the ordinal among findings that are equal in all of these.
//! Scripts and baselines store fingerprints: a change of the algorithm or of its input needs a new version of the baseline.
//!
//! **Invariant:** a fingerprint contains nothing that depends on a row, a column, other files or other rules.

use rustc_hash::FxHashMap;

use crate::finding::Finding;
use crate::python::{StatementSpan, normal_form};
use crate::text::Span;

const OFFSET_BASIS: u64 = 0xcbf2_9ce4_8422_2325;
const PRIME: u64 = 0x0000_0100_0000_01b3;

/// Most bytes of a statement that are read.
const READ: u32 = 20_000;

/// Most bytes of a statement that go into a fingerprint.
const LONGEST: usize = 2_000;

/// The file whose findings are named.
#[derive(Clone, Copy)]
pub struct Subject<'a> {
    /// The path relative to the project, with forward slashes.
    pub path: &'a str,
    /// The text of the file.
    pub text: &'a str,
    /// The statements of the text.
    pub statements: &'a [StatementSpan],
}

/// Names the findings, which are those of one file and in source order.
pub fn name_all(subject: Subject<'_>, findings: &mut [Finding]) {
    let mut seen: FxHashMap<u64, u64> = FxHashMap::default();
    for finding in findings.iter_mut().filter(|finding| finding.fingerprint.is_empty()) {
        let statement = subject.statement(finding.primary.span);
        let parts = [subject.path, finding.rule.code(), &finding.function, &statement];
        let common = parts.iter().fold(OFFSET_BASIS, |hash, part| fold(fold(hash, part.as_bytes()), &[0xff]));
        let ordinal = seen.entry(common).or_default();
        finding.fingerprint = format!("{:016x}", fold(common, &ordinal.to_le_bytes()));
        *ordinal += 1;
    }
}

fn fold(hash: u64, bytes: &[u8]) -> u64 {
    bytes.iter().fold(hash, |hash, byte| (hash ^ u64::from(*byte)).wrapping_mul(PRIME))
}

impl<'a> Subject<'a> {
    /// The statement around a place, or the header of a compound one; outside of any, the place's own text.
    fn statement(self, primary: Span) -> String {
        match self.header(primary) {
            Some(header) => {
                let end = header.end.min(header.start.saturating_add(READ));
                normal_form(self.slice(header.start, end), LONGEST)
            }
            None => compact(self.slice(primary.start, primary.end)),
        }
    }

    /// What the program writes around a place: the statement, or the header of a compound one.
    pub(super) fn written(self, primary: Span) -> &'a str {
        let Span { start, end } = self.header(primary).unwrap_or(primary);
        self.slice(start, end)
    }

    /// The innermost statement around a place, or the header of a compound one.
    fn header(self, primary: Span) -> Option<Span> {
        let holds = |span: Span| span.start <= primary.start && (primary.start < span.end || span == primary);
        let before = self.statements.partition_point(|statement| statement.full.start <= primary.start);
        let around = self.statements.get(..before).unwrap_or_default().iter().rev();
        around.map(|statement| statement.header).find(|header| holds(*header))
    }

    fn slice(self, start: u32, end: u32) -> &'a str {
        let end = self.text.floor_char_boundary(end as usize);
        self.text.get(start as usize..end).unwrap_or_default()
    }
}

/// White space is kept only where it separates two words.
fn compact(code: &str) -> String {
    let is_word = |character: char| character.is_alphanumeric() || character == '_';
    let mut compact = String::with_capacity(code.len().min(LONGEST));
    for word in code.split(|character: char| character.is_whitespace() || character == '\\') {
        let joins = compact.chars().next_back().is_some_and(is_word) && word.chars().next().is_some_and(is_word);
        if joins {
            compact.push(' ');
        }
        compact.push_str(word);
        if compact.len() > LONGEST {
            break;
        }
    }
    compact
}
