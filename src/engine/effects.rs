//! Effect comments, and the `def` that each belongs to.
//!
//! **Invariant:** a comment belongs to a `def` if it is in the header, on the line of a one-line `def`, or in the block of comments
//! directly above; a malformed comment belongs to none (`suppress` reports it).

use crate::ir::{self, DeclaredEffect, EffectWord};
use crate::python::Comment;
use crate::suppress::{self, Directive, Effect};
use crate::text::{LineIndex, Span};

/// The effect comments of one file.
pub struct Effects {
    lines: Option<LineIndex>,
    declared: Vec<Declared>,
}

struct Declared {
    offset: u32,
    row: u32,
    own_line: bool,
    effects: Vec<DeclaredEffect>,
}

impl Effects {
    /// Reads the effect comments of a text.
    pub fn of(text: &str, comments: &[Comment]) -> Self {
        let mut lines = None;
        let mut declared = Vec::new();
        for comment in comments {
            if !names_us(text, *comment) {
                continue;
            }
            let effects = declared_by(comment_text(text, *comment), comment.span);
            if !effects.is_empty() {
                let row = lines.get_or_insert_with(|| LineIndex::new(text)).row(comment.span.start);
                declared.push(Declared { offset: comment.span.start, row, own_line: comment.own_line, effects });
            }
        }
        Self { lines, declared }
    }

    /// The effects declared on the `def` with this header.
    pub fn on(&self, header: Span) -> Vec<DeclaredEffect> {
        let Some(lines) = &self.lines else { return Vec::new() };
        let first = lines.row(header.start);
        let mut found = Vec::new();
        let mut above = first;
        for declared in self.declared.iter().rev().filter(|declared| declared.own_line) {
            if declared.row + 1 == above {
                above = declared.row;
                found.extend(declared.effects.iter().cloned());
            }
        }
        for declared in &self.declared {
            if header.contains(declared.offset) || (!declared.own_line && declared.row == first) {
                found.extend(declared.effects.iter().cloned());
            }
        }
        found
    }
}

/// What is wrong with the effects that a module declares, and where: a parameter that its function does not have.
pub(super) fn misdeclared(module: &ir::Module) -> Vec<(Span, String)> {
    let mut wrong = Vec::new();
    for function in &module.functions {
        let has = |name: &str| function.parameters.iter().any(|parameter| &*parameter.name == name);
        for declared in function.effects.iter().filter(|declared| !has(&declared.parameter)) {
            wrong.push((declared.span, format!("`{}` has no parameter `{}`", function.name, declared.parameter)));
        }
    }
    wrong
}

/// Whether a comment mentions keylint at all.
pub(super) fn names_us(text: &str, comment: Comment) -> bool {
    let text = comment_text(text, comment).as_bytes();
    text.windows(7).any(|word| word.eq_ignore_ascii_case(b"keylint"))
}

fn comment_text(text: &str, comment: Comment) -> &str {
    text.get(comment.span.start as usize..comment.span.end as usize).unwrap_or_default()
}

fn declared_by(comment: &str, span: Span) -> Vec<DeclaredEffect> {
    let mut effects = Vec::new();
    for directive in suppress::parse(comment).0 {
        if let Directive::Effect { effect, parameters } = directive {
            let effect = match effect {
                Effect::Consumes => EffectWord::Consumes,
                Effect::Derives => EffectWord::Derives,
                Effect::Observes => EffectWord::Observes,
            };
            effects.extend(parameters.into_iter().map(|name| DeclaredEffect { effect, parameter: name.into(), span }));
        }
    }
    effects
}
