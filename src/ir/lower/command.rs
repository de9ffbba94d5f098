//! Commands of `IPython` in the code of notebooks: `%time x = f(key)`, `!ls {folder}`, `f?`.
//!
//! **Invariant:** the effect of a command is not modelled. The names of the program in it are read, and those that it may bind are written
//! by the `Unsupported` that represents it.

use super::Lowering;
use crate::ir::{OpKind, Temp, Variable};
use crate::python::ast::IpyEscapeKind;
use crate::text::Span;

/// Magics that run the rest of their line as Python in the notebook's own namespace.
const RUNNERS: [&str; 4] = ["time", "prun", "lprun", "memit"];

impl<'a> Lowering<'a> {
    /// A command, given as what follows its mark.
    pub(super) fn command(&mut self, kind: IpyEscapeKind, text: &'a str, span: Span) -> Temp {
        for name in words(text) {
            if self.scope().bound.contains_key(name) {
                let variable = self.resolve(name);
                self.emit(span, OpKind::Load(variable));
            }
        }
        let (magic, rest) = text.split_once(char::is_whitespace).unwrap_or((text, ""));
        let runs = kind.is_magic() && RUNNERS.contains(&magic);
        let target = rest.split_once('=').filter(|(_, value)| runs && !value.starts_with('='));
        let mut writes: Vec<Variable> = Vec::new();
        for name in target.into_iter().flat_map(|(target, _)| words(target)) {
            let variable = self.resolve(name);
            if !writes.contains(&variable) {
                writes.push(variable);
            }
        }
        self.emit(span, OpKind::Unsupported(writes.into()))
    }
}

/// The words of a text that could be names.
fn words(text: &str) -> impl Iterator<Item = &str> {
    let is_part = |character: char| character.is_alphanumeric() || character == '_';
    let words = text.split(move |character: char| !is_part(character));
    words.filter(|word| word.starts_with(|first: char| first.is_alphabetic() || first == '_'))
}
