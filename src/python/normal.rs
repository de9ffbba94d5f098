//! Normal forms of statements, independent of layout and of the names of variables.
//!
//! **Invariant:** texts that differ only in white space, comments, quotes, trailing commas, redundant brackets, or names of variables have
//! the same normal form. Fingerprints depend on it, so it must not change.

use ruff_python_ast::PySourceType;
use ruff_python_ast::token::{Token, TokenKind};
use ruff_python_parser::{ParseOptions, parse_unchecked};

use super::span_of;

/// The normal form of the statement at the start of `text`, or of its header; at most `longest` bytes.
///
/// Variables are numbered by their first occurrence in the statement. Names of callees, attributes, keyword arguments and definitions are
/// unchanged.
pub fn normal_form(text: &str, longest: usize) -> String {
    let parsed = parse_unchecked(text, ParseOptions::from(PySourceType::Ipynb));
    let is_code = |token: &&Token| {
        !matches!(
            token.kind(),
            TokenKind::Comment
                | TokenKind::Newline
                | TokenKind::NonLogicalNewline
                | TokenKind::Indent
                | TokenKind::Dedent
                | TokenKind::EndOfFile
        )
    };
    let tokens: Vec<&Token> = parsed.tokens().iter().filter(is_code).collect();
    let kind = |at: usize| tokens.get(at).map(|token| token.kind());
    let mut names: Vec<&str> = Vec::new();
    let mut brackets: Vec<Bracket> = Vec::new();
    let mut form = String::new();
    for (at, token) in tokens.iter().enumerate() {
        let written = text.get(span_of(*token).range()).unwrap_or_default();
        let before = at.checked_sub(1).and_then(kind);
        match token.kind() {
            TokenKind::Lpar => {
                let bracket = if before.is_some_and(ends_operand) { Bracket::Call } else { Bracket::Group };
                brackets.push(bracket);
                if bracket == Bracket::Group {
                    continue;
                }
                put(&mut form, written);
            }
            TokenKind::Rpar => {
                if brackets.pop() == Some(Bracket::Group) {
                    continue;
                }
                put(&mut form, written);
            }
            TokenKind::Lsqb | TokenKind::Lbrace => {
                brackets.push(Bracket::Other);
                put(&mut form, written);
            }
            TokenKind::Rsqb | TokenKind::Rbrace => {
                brackets.pop();
                put(&mut form, written);
            }
            TokenKind::Comma if kind(at + 1).is_none_or(|next| is_closing(next) || next == TokenKind::Equal) => {}
            TokenKind::String => put(&mut form, &string(written)),
            TokenKind::FStringStart | TokenKind::TStringStart => put(&mut form, &string_start(written)),
            TokenKind::FStringEnd | TokenKind::TStringEnd => form.push('"'),
            TokenKind::Name => {
                let is_keyword = brackets.last() == Some(&Bracket::Call) && kind(at + 1) == Some(TokenKind::Equal);
                let is_attribute = before == Some(TokenKind::Dot);
                let is_defined = matches!(before, Some(TokenKind::Def | TokenKind::Class));
                if is_attribute
                    || is_defined
                    || (is_keyword && !is_header(&tokens))
                    || kind(at + 1) == Some(TokenKind::Lpar)
                {
                    put(&mut form, written);
                } else {
                    let number = names.iter().position(|name| *name == written).unwrap_or_else(|| {
                        names.push(written);
                        names.len() - 1
                    });
                    put(&mut form, &format!("_{number}"));
                }
            }
            _ => put(&mut form, written),
        }
        if form.len() > longest {
            break;
        }
    }
    form
}

/// The role of an opening bracket.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Bracket {
    /// Arguments, or the parameters of a definition.
    Call,
    /// A parenthesised expression.
    Group,
    /// A subscript or a display.
    Other,
}

/// Whether an opening bracket after this token starts a call.
fn ends_operand(kind: TokenKind) -> bool {
    matches!(kind, TokenKind::Name | TokenKind::String | TokenKind::FStringEnd) || is_closing(kind)
}

fn is_closing(kind: TokenKind) -> bool {
    matches!(kind, TokenKind::Rpar | TokenKind::Rsqb | TokenKind::Rbrace)
}

/// Whether the tokens are the header of a function, in which `name=` gives a parameter its default.
fn is_header(tokens: &[&Token]) -> bool {
    tokens.iter().any(|token| token.kind() == TokenKind::Def)
}

/// Appends a token, with a space if it would merge with the previous word.
fn put(form: &mut String, written: &str) {
    let is_word = |character: char| character.is_alphanumeric() || character == '_';
    if form.chars().next_back().is_some_and(is_word) && written.chars().next().is_some_and(is_word) {
        form.push(' ');
    }
    form.push_str(written);
}

/// The prefix and the opening quotes of a string in canonical form.
fn string_start(written: &str) -> String {
    let prefix = written.trim_end_matches(['"', '\'']).to_ascii_lowercase();
    format!("{}\"", prefix.trim_start_matches('u'))
}

/// A string between double quotes.
fn string(written: &str) -> String {
    let start = written.find(['"', '\'']).unwrap_or_default();
    let (prefix, quoted) = written.split_at(start);
    let quotes = ["\"\"\"", "'''", "\"", "'"].into_iter().find(|quotes| quoted.starts_with(quotes)).unwrap_or_default();
    let inner = quoted.strip_prefix(quotes).unwrap_or(quoted);
    let inner = inner.strip_suffix(quotes).unwrap_or(inner);
    format!("{}{}\"", string_start(prefix), inner.replace("\\\"", "\"").replace("\\'", "'"))
}
