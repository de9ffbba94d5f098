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
pub(super) struct Subject<'a> {
    /// The path relative to the project, with forward slashes.
    pub(super) path: &'a str,
    pub(super) text: &'a str,
    pub(super) statements: &'a [StatementSpan],
}

/// Names the findings, which are those of one file and in source order.
pub(super) fn name_all(subject: Subject<'_>, findings: &mut [Finding]) {
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::finding::{Confidence, Level, Place, RuleId};
    use crate::python::{SourceKind, parse, statement_spans};
    use crate::text::FileId;

    /// Fingerprints of a finding at each `f(`.
    fn fingerprints(path: &str, text: &str) -> Vec<String> {
        let parsed = parse(text, SourceKind::Py);
        let statements = statement_spans(&parsed.module, text);
        let at = |at: usize| u32::try_from(at).unwrap();
        let mut findings: Vec<Finding> = text
            .match_indices("f(")
            .map(|(start, _)| Finding {
                function: "g".to_owned(),
                ..Finding::new(
                    RuleId::KeyReused,
                    Level::Error,
                    Confidence::High,
                    Place { file: FileId(0), span: Span::new(at(start), at(start + 1)) },
                    String::new(),
                )
            })
            .collect();
        name_all(Subject { path, text, statements: &statements }, &mut findings);
        findings.into_iter().map(|finding| finding.fingerprint).collect()
    }

    #[test]
    fn fingerprints_are_stable() {
        // A stored baseline depends on this very number.
        assert_eq!(fingerprints("a/b.py", "x = f(key)\n"), ["fae02bf34372b617"]);
    }

    #[test]
    fn layout_and_comments_do_not_matter() {
        let plain = fingerprints("a.py", "x = f(key, n)\n");
        assert_eq!(plain, fingerprints("a.py", "\n# more\n\nx=f( key,  # the key\n  n)  # end\n"));
        assert_eq!(plain, fingerprints("a.py", "if p:\n    x = f(key, \\\n n)\n"));
        assert_eq!(plain, fingerprints("a.py", "drawn = f(key, shape,)\n"));
        assert_eq!(fingerprints("a.py", "x = f('a')\n"), fingerprints("a.py", "x = (f(\"a\"))\n"));
        assert_ne!(plain, fingerprints("a.py", "x = f(key, n, 3)\n"));
        assert_ne!(plain, fingerprints("b.py", "x = f(key, n)\n"));
    }

    #[test]
    fn equal_findings_are_numbered() {
        let twice = fingerprints("a.py", "x = f(k)\ny = 1\nx = f(k)\n");
        assert_ne!(twice[0], twice[1]);
        assert_eq!(twice[..1], fingerprints("a.py", "x = f(k)\n"));
    }
}
