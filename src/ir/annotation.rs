//! Annotations as written: names and subscripts only, for the analysis to resolve.
//!
//! **Invariant:** an annotation is evidence about a value, never executed.

use thin_vec::{ThinVec, thin_vec};

use super::Name;
use crate::python::ast::{self, Expr};
use crate::python::span_of;
use crate::text::Span;

/// An annotation expression. Lists are one word: an annotation decides how large every operation and every parameter is.
#[derive(Clone, Debug, PartialEq)]
pub enum Annotation {
    /// `a.b.c`, with its place.
    Path(ThinVec<Name>, Span),
    /// `base[arguments]`
    Subscript(Box<Annotation>, ThinVec<Annotation>),
    /// `a | b`
    Union(ThinVec<Annotation>),
    /// A string literal that is not a forward reference by its form (a jaxtyping shape).
    Text(Name),
    /// `None`
    None,
    /// Anything else.
    Other,
}

/// Deepest nesting that is represented.
const DEPTH: u32 = 16;

impl Annotation {
    /// The annotation that `expr` spells; `intern` gives the shared copy of a name.
    pub fn of<'a>(expr: &'a Expr, intern: &mut dyn FnMut(&'a str) -> Name) -> Self {
        Self::at_depth(expr, DEPTH, intern)
    }

    /// The members of a union: `A | B`, `Union[A, B]`, `Optional[A]`; `is_union` recognises the names of such types.
    pub fn members(&self, is_union: impl Fn(&str) -> bool) -> Option<&[Self]> {
        match self {
            Self::Union(parts) => Some(parts),
            Self::Subscript(base, parts) => match &**base {
                Self::Path(path, _) if path.last().is_some_and(|name| is_union(name)) => Some(parts),
                _ => None,
            },
            _ => None,
        }
    }

    /// Replaces all places.
    pub(super) fn replace_spans(&mut self, of: &dyn Fn(Span) -> Span) {
        match self {
            Self::Path(_, span) => *span = of(*span),
            Self::Subscript(base, arguments) => {
                base.replace_spans(of);
                arguments.iter_mut().for_each(|argument| argument.replace_spans(of));
            }
            Self::Union(parts) => parts.iter_mut().for_each(|part| part.replace_spans(of)),
            Self::Text(_) | Self::None | Self::Other => {}
        }
    }

    fn at_depth<'a>(expr: &'a Expr, depth: u32, intern: &mut dyn FnMut(&'a str) -> Name) -> Self {
        let Some(depth) = depth.checked_sub(1) else { return Self::Other };
        match expr {
            Expr::Name(_) | Expr::Attribute(_) => match dotted(expr, intern) {
                Some(path) => Self::Path(path, span_of(expr)),
                None => Self::Other,
            },
            Expr::Subscript(subscript) => {
                let arguments = match &*subscript.slice {
                    Expr::Tuple(tuple) => tuple.elts.iter().map(|e| Self::at_depth(e, depth, intern)).collect(),
                    other => thin_vec![Self::at_depth(other, depth, intern)],
                };
                Self::Subscript(Box::new(Self::at_depth(&subscript.value, depth, intern)), arguments)
            }
            Expr::BinOp(binary) if binary.op == ast::Operator::BitOr => Self::Union(thin_vec![
                Self::at_depth(&binary.left, depth, intern),
                Self::at_depth(&binary.right, depth, intern),
            ]),
            Expr::StringLiteral(literal) => Self::of_text(literal.value.to_str(), span_of(expr), intern),
            Expr::NoneLiteral(_) => Self::None,
            _ => Self::Other,
        }
    }

    /// A quoted annotation: `"PRNGKeyArray"`, `"jax.Array | None"`; other text is a shape.
    fn of_text<'a>(text: &'a str, span: Span, intern: &mut dyn FnMut(&'a str) -> Name) -> Self {
        let part = |part: &'a str| -> Option<Self> {
            let part = part.trim();
            let identifier = |s: &str| {
                s.chars().next().is_some_and(|c| c.is_alphabetic() || c == '_')
                    && s.chars().all(|c| c.is_alphanumeric() || c == '_')
            };
            if part == "None" {
                Some(Self::None)
            } else if part.split('.').all(identifier) {
                Some(Self::Path(part.split('.').map(&mut *intern).collect(), span))
            } else {
                None
            }
        };
        let parts: Option<ThinVec<Self>> = text.split('|').map(part).collect();
        match parts {
            Some(mut parts) if parts.len() == 1 => parts.remove(0),
            Some(parts) => Self::Union(parts),
            None => Self::Text(intern(text)),
        }
    }
}

/// The names of `a.b.c`.
fn dotted<'a>(expr: &'a Expr, intern: &mut dyn FnMut(&'a str) -> Name) -> Option<ThinVec<Name>> {
    let mut names = ThinVec::new();
    let mut current = expr;
    loop {
        match current {
            Expr::Attribute(attribute) => {
                names.push(intern(attribute.attr.as_str()));
                current = &attribute.value;
            }
            Expr::Name(name) => {
                names.push(intern(name.id.as_str()));
                names.reverse();
                return Some(names);
            }
            _ => return None,
        }
    }
}
