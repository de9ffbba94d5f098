//! `keylint rule`.
//!
//! **Invariant:** what is printed is the registry's text, word for word.

use std::io::Write;

use serde::Serialize;

use super::args::{Rule, TextOrJson};
use super::backend::{Backend, RuleInfo};
use super::{Failure, Status, World};
use crate::config::suggest;

pub(super) fn run(command: &Rule, backend: &dyn Backend, world: &mut World<'_>) -> Result<Status, Failure> {
    let rules = backend.rules();
    let chosen: Vec<&RuleInfo> = match &command.wanted {
        Some(written) => vec![find(&rules, written)?],
        None => rules.iter().collect(),
    };
    let is_list = command.wanted.is_none() && !command.all;
    let out = &mut *world.stdout;
    match command.output_format {
        TextOrJson::Json if command.wanted.is_some() => {
            for rule in chosen {
                writeln!(out, "{}", json(rule)?)?;
            }
        }
        TextOrJson::Json => writeln!(out, "{}", json(&chosen)?)?,
        TextOrJson::Text if is_list => list(&chosen, out)?,
        TextOrJson::Text => {
            for (index, rule) in chosen.iter().enumerate() {
                let gap = if index == 0 { "" } else { "\n" };
                writeln!(out, "{gap}{}", rule.page.trim_end())?;
            }
        }
    }
    Ok(Status::Clean)
}

fn json(value: &impl Serialize) -> std::io::Result<String> {
    serde_json::to_string_pretty(value).map_err(std::io::Error::other)
}

fn find<'a>(rules: &'a [RuleInfo], written: &str) -> Result<&'a RuleInfo, Failure> {
    let is_meant = |rule: &&RuleInfo| rule.code.eq_ignore_ascii_case(written) || rule.known().is_called(written);
    rules.iter().find(is_meant).ok_or_else(|| {
        let near = suggest(written, rules.iter().flat_map(|rule| [rule.code, rule.name]));
        let help =
            near.map_or_else(|| "`keylint rule` lists the rules".to_owned(), |near| format!("did you mean `{near}`?"));
        Failure::Usage(format!("unknown rule `{written}` ({help})"))
    })
}

fn list(rules: &[&RuleInfo], out: &mut dyn Write) -> std::io::Result<()> {
    let width = rules.iter().map(|rule| rule.name.len()).max().unwrap_or_default();
    for rule in rules {
        let level = if rule.opt_in { "opt-in".to_owned() } else { rule.level.to_string() };
        writeln!(out, "{}  {:width$}  {level:7}  {}", rule.code, rule.name, rule.summary)?;
    }
    Ok(())
}
