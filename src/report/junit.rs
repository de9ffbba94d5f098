//! The `junit` format: a test suite per file, a failed test per finding.
//!
//! **Invariant:** a run without findings is one passed test, because some readers reject an empty report.

use std::fmt::Write as _;
use std::io::{self, Write};

use quick_junit::{NonSuccessKind, Report as Document, TestCase, TestCaseStatus, TestSuite, XmlString};

use super::Report;
use super::neutral::neutral_line;
use crate::finding::Finding;
use crate::text::{FileId, LineColumn};

pub(super) fn write(report: &Report<'_>, out: &mut dyn Write) -> io::Result<()> {
    let mut document = Document::new("keylint");
    let mut suite: Option<(FileId, TestSuite)> = None;
    for finding in report.findings() {
        let file = finding.primary.file;
        if suite.as_ref().is_none_or(|(current, _)| *current != file) {
            document.test_suites.extend(suite.take().map(|(_, suite)| suite));
            let mut fresh = TestSuite::new(report.relative(file));
            fresh.extra.insert(XmlString::new("package"), XmlString::new("keylint"));
            suite = Some((file, fresh));
        }
        if let Some((_, suite)) = &mut suite {
            suite.add_test_case(case(report, finding));
        }
    }
    document.test_suites.extend(suite.map(|(_, suite)| suite));
    if document.test_suites.is_empty() {
        let mut clean = TestSuite::new("keylint");
        clean.add_test_case(TestCase::new("no findings", TestCaseStatus::success()));
        document.add_test_suite(clean);
    } else {
        let suites = std::mem::take(&mut document.test_suites);
        // Added one by one, so that the totals are counted.
        document.add_test_suites(suites);
    }
    let text = document.to_string().map_err(io::Error::other)?;
    out.write_all(text.as_bytes())
}

fn case(report: &Report<'_>, finding: &Finding) -> TestCase {
    let LineColumn { row, column } = report.start(finding.primary);
    let file = report.relative(finding.primary.file);
    let mut status = TestCaseStatus::non_success(NonSuccessKind::Failure);
    let mut text = format!("{}: {} {}", report.locus_in(&file, finding.primary), finding.rule, finding.message);
    for label in &finding.related {
        let locus = report.locus_in(&report.relative(label.place.file), label.place);
        // Writing to a string cannot fail.
        let _ = write!(text, "\n  {locus}: {}", label.message);
    }
    if let Some(help) = &finding.help {
        let _ = write!(text, "\n  help: {help}");
    }
    status.set_message(neutral_line(&finding.message)).set_type(finding.level.to_string());
    status.set_description(neutral_line(&text));
    let mut case = TestCase::new(report.locus_in(finding.rule.code(), finding.primary), status);
    // Readers group by class name: a path without its extension.
    let class = file.strip_suffix(".py").or_else(|| file.strip_suffix(".ipynb"));
    case.set_classname(class.unwrap_or(&file));
    case.extra.insert(XmlString::new("line"), XmlString::new(row.to_string()));
    case.extra.insert(XmlString::new("column"), XmlString::new(column.to_string()));
    case
}
