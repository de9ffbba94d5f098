//! Findings for people and machines.
//!
//! **Invariant:** all output is neutralised: control and bidirectional characters in paths, messages and sources never reach a terminal, and
//! line lengths are bounded. Machine formats contain only the findings shown.

mod azure;
mod concise;
mod copies;
mod excerpt;
mod format;
mod full;
mod github;
mod gitlab;
pub mod graph;
mod grouped;
mod html;
mod json;
mod junit;
pub mod markup;
mod neutral;
mod paint;
mod patch;
mod pylint;
mod rdjson;
mod root;
pub mod sarif;
mod summary;

use std::collections::BTreeMap;
use std::path::Path;

use crate::config::HiddenCounts;
use crate::finding::{Applicability, Finding, Place, RuleId};
use crate::rules;
use crate::text::{Cell, Cells, FileId, LineColumn, LineIndex};

pub use excerpt::problem;
pub use format::Format;
pub use neutral::{LONGEST, escape_json, is_dangerous, neutral, neutral_line};
pub use paint::coloured_diff;
pub use root::Root;
pub use summary::{statistics, statistics_json, summary, table};

/// Path, text and cells of the files that findings refer to.
pub trait FileTable {
    /// The path as given.
    fn path(&self, file: FileId) -> &Path;
    /// The decoded text.
    fn text(&self, file: FileId) -> &str;
    /// The cells of a notebook; empty for any other file.
    fn cells(&self, file: FileId) -> &Cells;
}

/// The findings shown, in order, with the files that they refer to.
pub struct Report<'a> {
    files: &'a dyn FileTable,
    findings: Vec<&'a Finding>,
    hidden: &'a HiddenCounts,
    lines: BTreeMap<FileId, LineIndex>,
    root: Root,
    failed: bool,
    lists_raw_keys: bool,
    applied: Applicability,
    has_links: bool,
}

impl<'a> Report<'a> {
    /// A report of the findings shown; sorts them by file, row, column and code.
    pub fn new(
        files: &'a dyn FileTable,
        findings: impl IntoIterator<Item = &'a Finding>,
        hidden: &'a HiddenCounts,
    ) -> Self {
        let mut findings: Vec<&Finding> = findings.into_iter().collect();
        findings.sort_by(|a, b| {
            let key = |finding: &Finding| (finding.primary.span.start, finding.rule, finding.primary.span.end);
            let (left, right) = (files.path(a.primary.file), files.path(b.primary.file));
            left.cmp(right).then_with(|| key(a).cmp(&key(b))).then_with(|| a.message.cmp(&b.message))
        });
        let mut lines = BTreeMap::new();
        for finding in &findings {
            let labels = finding.related.iter().chain(&finding.flow).map(|label| label.place);
            let intent = finding.intent.as_ref().and_then(|intent| intent.place);
            let consequence = finding.consequence.as_ref().and_then(|consequence| consequence.place);
            for Place { file, .. } in labels.chain(intent).chain(consequence).chain([finding.primary]) {
                lines.entry(file).or_insert_with(|| LineIndex::new(files.text(file)));
            }
        }
        let (root, applied) = (Root::default(), Applicability::Safe);
        Self { files, findings, hidden, lines, root, failed: false, lists_raw_keys: false, applied, has_links: false }
    }

    /// Sets the least safe kind of fixes that the options of the run apply.
    #[must_use]
    pub fn with_applied(self, applied: Applicability) -> Self {
        Self { applied, ..self }
    }

    /// Makes codes links to their pages, for terminals that support links.
    #[must_use]
    pub fn with_links(self, has_links: bool) -> Self {
        Self { has_links, ..self }
    }

    /// Whether the options of the run would apply the fix of a finding.
    fn is_fixable(&self, finding: &Finding) -> bool {
        finding.fix.as_ref().is_some_and(|fix| fix.applicability >= self.applied)
    }

    /// The code of a finding, as it is shown.
    fn code(&self, finding: &Finding) -> String {
        let code = finding.rule.code();
        if self.has_links { paint::link(&page_url(finding), code) } else { code.to_owned() }
    }

    /// Adds the cell to a text, for formats that have no field for it.
    fn in_cell(&self, finding: &Finding, text: &str) -> String {
        match self.cell_number(finding.primary) {
            Some(cell) => format!("{text} (cell {cell})"),
            None => text.to_owned(),
        }
    }

    /// Sets the root of the repository, to which some formats make paths relative.
    #[must_use]
    pub fn with_root(self, root: Root) -> Self {
        Self { root, ..self }
    }

    /// Sets whether the run failed.
    #[must_use]
    pub fn with_failure(self, failed: bool) -> Self {
        Self { failed, ..self }
    }

    /// Makes text formats list each finding about raw keys, because the rule was selected explicitly.
    #[must_use]
    pub fn with_raw_keys_listed(self, lists_raw_keys: bool) -> Self {
        Self { lists_raw_keys, ..self }
    }

    /// The findings that are shown individually, in the order of the lines.
    fn by_line(&self) -> Vec<&'a Finding> {
        let folds = self.folds_raw_keys();
        let is_listed = |finding: &&Finding| !folds || finding.rule != RuleId::LegacyPrngkey;
        self.findings.iter().copied().filter(|finding| is_listed(finding)).collect()
    }

    /// The same findings, file by file, and in each file the most severe first.
    fn for_people(&self) -> Vec<&'a Finding> {
        let mut listed = self.by_line();
        let path = |finding: &Finding| self.files.path(finding.primary.file);
        listed.sort_by(|a, b| path(a).cmp(path(b)).then_with(|| b.level.cmp(&a.level)));
        listed
    }

    /// Whether text formats count the files with raw keys in one line.
    pub fn folds_raw_keys(&self) -> bool {
        self.folded() > 0
    }

    /// The number of files with raw keys that are reported in one line.
    fn folded(&self) -> usize {
        let files = self.findings.iter().filter(|finding| finding.rule == RuleId::LegacyPrngkey).count();
        if self.lists_raw_keys || files < 2 { 0 } else { files }
    }

    /// The findings, in the order of the report.
    pub fn findings(&self) -> &[&'a Finding] {
        &self.findings
    }

    fn text(&self, file: FileId) -> &'a str {
        self.files.text(file)
    }

    fn filename(&self, file: FileId) -> String {
        self.files.path(file).display().to_string()
    }

    fn root(&self) -> &Root {
        &self.root
    }

    fn failed(&self) -> bool {
        self.failed
    }

    /// The path below the root of the repository.
    fn relative(&self, file: FileId) -> String {
        self.root.relative(self.files.path(file))
    }

    /// The URI of a file, and whether it is relative.
    fn uri(&self, file: FileId) -> (String, bool) {
        self.root.uri(self.files.path(file))
    }

    /// The cell in which a place starts.
    fn cell(&self, place: Place) -> Option<Cell> {
        self.files.cells(place.file).around(place.span.start)
    }

    /// The number of the cell in which a place starts.
    fn cell_number(&self, place: Place) -> Option<u32> {
        self.cell(place).map(|cell| cell.number)
    }

    /// Start and end of a place as row and column from 1. Columns count bytes; in a notebook, rows count within the cell.
    fn byte_positions(&self, place: Place) -> [(u32, u32); 2] {
        let Some(lines) = self.lines.get(&place.file) else { return [(1, 1); 2] };
        let column = |offset: u32| {
            let line = lines.line(self.text(place.file), lines.row(offset));
            offset.clamp(line.start, line.end) - line.start + 1
        };
        // A place that extends to the end of its cell ends before the line ending that closes the cell.
        let last = self.cell(place).map_or(u32::MAX, |cell| cell.span.end.saturating_sub(1));
        let (start, end) = (self.start(place), self.end(place));
        [(start.row, column(place.span.start)), (end.row, column(place.span.end.min(last)))]
    }

    /// The line in which a place starts.
    fn line(&self, place: Place) -> &'a str {
        let line =
            self.lines.get(&place.file).map(|lines| lines.line(self.text(place.file), lines.row(place.span.start)));
        line.and_then(|line| self.text(place.file).get(line.range())).unwrap_or_default()
    }

    /// The row in the whole text of the file.
    fn row_of_text(&self, place: Place) -> u32 {
        self.lines.get(&place.file).map_or(1, |lines| lines.row(place.span.start))
    }

    /// Row and column of the start; in a notebook, within the cell.
    fn start(&self, place: Place) -> LineColumn {
        self.position(place, place.span.start)
    }

    /// Row and column of the end; in a notebook, within the cell of the start.
    fn end(&self, place: Place) -> LineColumn {
        self.position(place, place.span.end)
    }

    fn position(&self, place: Place, offset: u32) -> LineColumn {
        let (text, cells) = (self.text(place.file), self.files.cells(place.file));
        match self.lines.get(&place.file) {
            Some(lines) => cells.line_column(lines, text, place.span.start, offset),
            None => LineColumn { row: 1, column: 1 },
        }
    }

    /// `path:row:column`, or `path:cell number:row:column`, with this spelling of the path.
    fn locus_in(&self, path: &str, place: Place) -> String {
        let LineColumn { row, column } = self.start(place);
        format!("{path}{}:{row}:{column}", self.cell_suffix(place))
    }

    /// `:cell number` in a notebook; otherwise empty.
    fn cell_suffix(&self, place: Place) -> String {
        self.cell_number(place).map(|number| format!(":cell {number}")).unwrap_or_default()
    }

    /// The place as path, row and column, neutralised for a terminal.
    fn locus(&self, place: Place) -> String {
        self.locus_in(&neutral(&self.filename(place.file)), place)
    }
}

/// The URL of the page of a finding's rule.
fn page_url(finding: &Finding) -> String {
    rules::get(finding.rule).url()
}

impl FileTable for crate::engine::FileTable {
    fn path(&self, file: FileId) -> &Path {
        self.path(file)
    }

    fn text(&self, file: FileId) -> &str {
        self.text(file)
    }

    fn cells(&self, file: FileId) -> &Cells {
        self.cells(file)
    }
}
