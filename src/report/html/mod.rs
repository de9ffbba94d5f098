//! The `html` format: a self-contained page for browsing the findings of a run.
//!
//! A finding is shown as the `full` format shows it. The page filters by file, rule, level and words.
//!
//! **Invariant:** the page is self-contained: it needs no network, fonts or other scripts. Text of the program is escaped.

use std::collections::BTreeMap;
use std::io::{self, Write};

use super::markup::{THEME, escaped, terminal};
use super::{Report, full, neutral, page_url, summary};
use crate::finding::{Finding, RuleId};

const STYLE: &str = include_str!("page.css");
const SCRIPT: &str = include_str!("page.js");

pub(super) fn write(report: &Report<'_>, out: &mut dyn Write) -> io::Result<()> {
    let mut findings: Vec<&Finding> = report.findings().to_vec();
    let path = |finding: &Finding| report.files.path(finding.primary.file);
    findings.sort_by(|a, b| path(a).cmp(path(b)).then_with(|| b.level.cmp(&a.level)));
    write!(
        out,
        "<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n\
         <meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n<title>keylint</title>\n\
         <style>\n{THEME}{STYLE}</style>\n</head>\n<body>\n<header>\n<h1>keylint</h1>\n<p>{}</p>\n",
        escaped(&summary(report))
    )?;
    out.write_all(
        b"<p><input id=\"words\" type=\"search\" placeholder=\"Search\" aria-label=\"Search\"> \
          <span id=\"shown\" role=\"status\"></span></p>\n\
          <p class=\"keys\"><kbd>/</kbd> searches, <kbd>j</kbd> and <kbd>k</kbd> go to the next and the previous finding, \
          <kbd>Escape</kbd> shows all.</p>\n</header>\n<main>\n<nav aria-label=\"Filters\">\n",
    )?;
    filters(report, &findings, out)?;
    out.write_all(b"</nav>\n<div id=\"findings\">\n")?;
    for group in findings.chunk_by(|one, next| one.primary.file == next.primary.file) {
        let Some(first) = group.first() else { continue };
        let name = escaped(&neutral(&report.filename(first.primary.file)));
        writeln!(out, "<section data-file=\"{name}\">\n<h2>{name}</h2>")?;
        group.iter().try_for_each(|finding| article(report, finding, out))?;
        out.write_all(b"</section>\n")?;
    }
    write!(out, "</div>\n</main>\n<script>\n{SCRIPT}</script>\n</body>\n</html>\n")
}

/// Buttons for the rules, the levels and the files, each with its number of findings.
fn filters(report: &Report<'_>, findings: &[&Finding], out: &mut dyn Write) -> io::Result<()> {
    let (mut rules, mut levels, mut files) = (BTreeMap::new(), BTreeMap::new(), BTreeMap::new());
    for finding in findings {
        *rules.entry(finding.rule).or_insert(0_usize) += 1;
        *levels.entry(finding.level).or_insert(0_usize) += 1;
        *files.entry(neutral(&report.filename(finding.primary.file))).or_insert(0_usize) += 1;
    }
    let title = |rule: RuleId| format!("{} {}", rule.code(), rule.name());
    let levels = levels.into_iter().rev().map(|(level, count)| (level.to_string(), level.to_string(), count));
    buttons("level", "Levels", levels, out)?;
    buttons("rule", "Rules", rules.into_iter().map(|(rule, count)| (rule.code().to_owned(), title(rule), count)), out)?;
    buttons("file", "Files", files.into_iter().map(|(file, count)| (file.clone(), file, count)), out)
}

fn buttons(
    kind: &str,
    title: &str,
    rows: impl Iterator<Item = (String, String, usize)>,
    out: &mut dyn Write,
) -> io::Result<()> {
    writeln!(out, "<h2>{title}</h2>")?;
    for (value, text, count) in rows {
        let (value, text) = (escaped(&value), escaped(&text));
        writeln!(
            out,
            "<button aria-pressed=\"false\" data-kind=\"{kind}\" data-value=\"{value}\">{text} <b>{count}</b></button>"
        )?;
    }
    Ok(())
}

/// One finding: what it is, where, the excerpt with its labels and notes, and the lineage of the key.
fn article(report: &Report<'_>, finding: &Finding, out: &mut dyn Write) -> io::Result<()> {
    let (code, name, level) = (finding.rule.code(), finding.rule.name(), finding.level);
    let message = escaped(&neutral(&finding.message));
    writeln!(
        out,
        "<article tabindex=\"0\" data-rule=\"{code}\" data-level=\"{level}\">\n<h3><a class=\"{level}\" href=\"{}\">{code} \
         {name}</a> {message}</h3>",
        escaped(&page_url(finding))
    )?;
    let mut excerpt = Vec::new();
    full::write_one(report, finding, &[], true, &mut Vec::new(), &mut excerpt)?;
    let excerpt = String::from_utf8_lossy(&excerpt);
    // The first line repeats the heading.
    let (_, excerpt) = excerpt.split_once('\n').unwrap_or_default();
    writeln!(out, "<pre>{}</pre>", wrapped(&terminal(excerpt.trim_end())))?;
    if !finding.flow.is_empty() {
        out.write_all(b"<details><summary>Lineage of the key</summary><ol>\n")?;
        for label in &finding.flow {
            let (message, locus) = (neutral(&label.message), neutral(&report.locus(label.place)));
            writeln!(out, "<li>{} <span>{}</span></li>", escaped(&message), escaped(&locus))?;
        }
        out.write_all(b"</ol></details>\n")?;
    }
    out.write_all(b"</article>\n")
}

/// Allows line breaks in notes and advice, which need no alignment.
fn wrapped(excerpt: &str) -> String {
    let is_prose = |line: &str| ["note", "help", "fix"].iter().any(|kind| line.contains(&format!("=</span> {kind}: ")));
    let lines = excerpt.lines().map(|line| {
        if is_prose(line) && line.matches("<span").count() == line.matches("</span>").count() {
            format!("<span class=\"prose\">{line}</span>")
        } else {
            line.to_owned()
        }
    });
    lines.collect::<Vec<_>>().join("\n")
}
