//! `keylint rule`.
//!
//! **Invariant:** the printed text is that of the registry, word for word; links are absolute.

use std::io::Write;

use serde::Serialize;

use super::args::{self, TextOrJson};
use super::{Failure, Process, Status};
use crate::config::suggest;
use crate::finding::{Level, RuleId};
use crate::rules::{self, FixAvailability, Rule};

pub(super) fn run(command: &args::Rule, process: &mut Process<'_>) -> Result<Status, Failure> {
    let rules: Vec<&Rule> = rules::in_force().collect();
    let family = command.wanted.as_deref().map(|written| family(&rules, written)).unwrap_or_default();
    let is_one = command.wanted.is_some() && family.is_empty();
    let chosen: Vec<&Rule> = match &command.wanted {
        Some(written) if is_one => vec![find(&rules, written)?],
        Some(_) => family,
        None => rules,
    };
    let is_list = !is_one && !command.all;
    let out = &mut *process.stdout;
    match command.output_format {
        TextOrJson::Json if is_one => {
            for rule in chosen {
                writeln!(out, "{}", json(&described(rule))?)?;
            }
        }
        TextOrJson::Json => writeln!(out, "{}", json(&chosen.iter().map(|rule| described(rule)).collect::<Vec<_>>())?)?,
        TextOrJson::Text if is_list => list(&chosen, out)?,
        TextOrJson::Text => {
            for (index, rule) in chosen.iter().enumerate() {
                let gap = if index == 0 { "" } else { "\n" };
                writeln!(out, "{gap}{}", rule.linked_page().trim_end())?;
            }
        }
    }
    Ok(Status::Clean)
}

/// A rule, field by field.
#[derive(Serialize)]
struct Described<'a> {
    code: RuleId,
    name: &'a str,
    aliases: &'a [String],
    level: Level,
    opt_in: bool,
    fix: FixAvailability,
    url: String,
    summary: &'a str,
    explanation: String,
}

fn described(rule: &Rule) -> Described<'_> {
    Described {
        code: rule.id,
        name: rule.name(),
        aliases: &rule.aliases,
        level: rule.level,
        opt_in: rule.opt_in,
        fix: rule.fix,
        url: rule.url(),
        summary: &rule.summary,
        explanation: rule.linked_page(),
    }
}

fn json(value: &impl Serialize) -> std::io::Result<String> {
    serde_json::to_string_pretty(value).map_err(std::io::Error::other)
}

/// The rules whose codes begin with what is written, as in `--select KEY1`; none if it names one rule or nothing.
fn family<'a>(rules: &[&'a Rule], written: &str) -> Vec<&'a Rule> {
    let written = written.to_ascii_uppercase();
    let is_prefix = |code: &str| code.len() > written.len() && code.starts_with(&written);
    rules.iter().filter(|rule| written.starts_with("KEY") && is_prefix(rule.code())).copied().collect()
}

fn find<'a>(rules: &[&'a Rule], written: &str) -> Result<&'a Rule, Failure> {
    let is_requested = |rule: &&&Rule| rule.code().eq_ignore_ascii_case(written) || rule.is_called(written);
    rules.iter().find(is_requested).copied().ok_or_else(|| {
        let near = suggest(written, rules.iter().flat_map(|rule| [rule.code(), rule.name()]));
        let help =
            near.map_or_else(|| "`keylint rule` lists the rules".to_owned(), |near| format!("did you mean `{near}`?"));
        Failure::Usage(format!("unknown rule `{written}` ({help})"))
    })
}

fn list(rules: &[&Rule], out: &mut dyn Write) -> std::io::Result<()> {
    let width = rules.iter().map(|rule| rule.name().len()).max().unwrap_or_default();
    for rule in rules {
        let level = if rule.opt_in { "opt-in".to_owned() } else { rule.level.to_string() };
        writeln!(out, "{}  {:width$}  {level:7}  {}", rule.code(), rule.name(), rule.summary)?;
    }
    Ok(())
}
