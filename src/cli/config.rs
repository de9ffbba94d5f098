//! `keylint config`.
//!
//! **Invariant:** what is printed is what `keylint check` would use for the same path and options.

use std::fmt::Display;
use std::io::{self, Write};

use super::args::Config;
use super::check::{report_warnings, resolver};
use super::{Failure, Process, Status};
use crate::config::{Settings, Source};
use crate::engine;
use crate::report::Format;

pub(super) fn run(command: &Config, process: &mut Process<'_>) -> Result<Status, Failure> {
    let resolver = resolver(&command.selection, std::slice::from_ref(&command.path), process)?;
    if !process.cwd.join(&command.path).exists() {
        return Err(Failure::Usage(format!("`{}`: no such file or directory", command.path.display())));
    }
    let settings = if process.cwd.join(&command.path).is_dir() {
        resolver.for_directory(&command.path)?
    } else {
        resolver.for_file(&command.path)?
    };
    report_warnings(&resolver, process)?;
    print(&settings, process.stdout)?;
    Ok(Status::Clean)
}

fn print(settings: &Settings, out: &mut dyn Write) -> io::Result<()> {
    writeln!(out, "# root: {}", settings.root.display())?;
    let source_of = |key: &str| settings.sources.get(key).unwrap_or(&Source::Default);
    let line =
        |out: &mut dyn Write, key: &str, value: &dyn Display| writeln!(out, "{key} = {value}  # {}", source_of(key));
    if settings.include().next().is_some() {
        line(out, "include", &list(settings.include()))?;
    }
    line(out, "exclude", &list(settings.exclude()))?;
    line(out, "roots", &list(settings.roots.iter().map(String::as_str)))?;
    let models: Vec<String> = settings.models.iter().map(|path| path.display().to_string()).collect();
    line(out, "models", &list(models.iter().map(String::as_str)))?;
    match &settings.baseline {
        Some(baseline) => line(out, "baseline", &quoted(&baseline.display().to_string()))?,
        None => writeln!(out, "# baseline: none")?,
    }
    match &settings.cache_dir {
        Some(folder) => line(out, "cache-dir", &quoted(&folder.display().to_string()))?,
        None => writeln!(out, "# cache-dir: {}", engine::cache_folder(settings).display())?,
    }
    line(out, "tests", &list(settings.tests().iter().map(String::as_str)))?;
    match settings.jax_version {
        Some(version) => line(out, "jax-version", &quoted(&version.to_string()))?,
        None => writeln!(out, "# jax-version: unknown")?,
    }
    line(out, "min-level", &quoted(&settings.min_level.to_string()))?;
    line(out, "min-confidence", &quoted(&settings.min_confidence.to_string()))?;
    let ignores: Vec<String> = settings
        .per_file_ignores()
        .map(|(pattern, rules)| format!("{} = {}", quoted(&pattern), list(rules.iter().map(String::as_str))))
        .collect();
    line(out, "per-file-ignores", &format!("{{ {} }}", ignores.join(", ")).replace("{  }", "{}"))?;
    let [fixable, unfixable] = settings.fixable();
    line(out, "fixable", &list(fixable.iter().map(String::as_str)))?;
    line(out, "unfixable", &list(unfixable.iter().map(String::as_str)))?;
    let run = &settings.run;
    let format = run.output_format.map_or(Format::Full, Format::from);
    line(out, "output-format", &quoted(format.name()))?;
    for (key, value, usual) in [
        ("fix", run.fix, false),
        ("unsafe-fixes", run.unsafe_fixes, false),
        ("fix-only", run.fix_only, false),
        ("show-fixes", run.show_fixes, false),
        ("force-exclude", run.force_exclude, false),
        ("respect-gitignore", run.respect_gitignore, true),
    ] {
        line(out, key, &value.unwrap_or(usual))?;
    }
    for key in ["select", "extend-select", "ignore", "extend-ignore", "levels"] {
        if let Some(source) = settings.sources.get(key) {
            writeln!(out, "# {key}: {source}")?;
        }
    }
    writeln!(out, "# rules:")?;
    for (rule, level) in settings.enabled() {
        writeln!(out, "#   {} {} ({level})", rule.id, rule.id.name())?;
    }
    Ok(())
}

fn list<'a>(items: impl Iterator<Item = &'a str>) -> String {
    format!("[{}]", items.map(quoted).collect::<Vec<_>>().join(", "))
}

/// A TOML string.
fn quoted(text: &str) -> String {
    toml::Value::String(text.to_owned()).to_string()
}
