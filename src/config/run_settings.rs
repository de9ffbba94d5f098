//! The settings that apply to a run as a whole.
//!
//! **Invariant:** they come from the configuration of the current directory, whatever files are checked.

use std::collections::BTreeMap;

use super::layer::Layer;
use super::options::{Options, OutputFormat};
use super::settings::Source;

/// Settings of a run; `None` if unset.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct RunSettings {
    /// The format of the report.
    pub output_format: Option<OutputFormat>,
    /// Whether to apply fixes.
    pub fix: Option<bool>,
    /// Whether to apply unsafe fixes too.
    pub unsafe_fixes: Option<bool>,
    /// Whether to apply fixes and report nothing.
    pub fix_only: Option<bool>,
    /// Whether to list what was fixed.
    pub show_fixes: Option<bool>,
    /// Whether excluded files are skipped even if they are given as arguments.
    pub force_exclude: Option<bool>,
    /// Whether files that `.gitignore` and the like exclude are skipped.
    pub respect_gitignore: Option<bool>,
}

impl RunSettings {
    /// Takes each setting from the layer of highest precedence that sets it.
    pub(super) fn of(layers: &[&Layer], sources: &mut BTreeMap<&'static str, Source>) -> Self {
        let mut flag = |key, get: fn(&Options) -> Option<bool>| strongest(layers, key, sources, get);
        let mut settings = Self {
            output_format: None,
            fix: flag("fix", |options| options.fix),
            unsafe_fixes: flag("unsafe-fixes", |options| options.unsafe_fixes),
            fix_only: flag("fix-only", |options| options.fix_only),
            show_fixes: flag("show-fixes", |options| options.show_fixes),
            force_exclude: flag("force-exclude", |options| options.force_exclude),
            respect_gitignore: flag("respect-gitignore", |options| options.respect_gitignore),
        };
        settings.output_format = strongest(layers, "output-format", sources, |options| options.output_format);
        settings
    }
}

fn strongest<T>(
    layers: &[&Layer],
    key: &'static str,
    sources: &mut BTreeMap<&'static str, Source>,
    get: impl Fn(&Options) -> Option<T>,
) -> Option<T> {
    let (layer, value) = layers.iter().rev().find_map(|layer| Some((layer, get(&layer.options)?)))?;
    sources.insert(key, layer.source_of(key));
    Some(value)
}
