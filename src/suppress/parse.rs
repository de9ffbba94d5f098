//! The grammar of keylint's comments, and of the relevant part of `# noqa` and of ruff's comments.
//!
//! ```text
//! # keylint: ignore[KEY101, key-arithmetic] reason
//! # keylint: file-ignore[KEY301] reason
//! # keylint: consumes(key)          derives(key), observes(key): what a function does with a parameter
//! # noqa                            # noqa: KEY101, E501
//! # ruff: noqa: KEY101              # flake8: noqa: the same for the whole file
//! # ruff: ignore[KEY101]            # ruff: file-ignore[KEY101]
//! ```
//!
//! One comment may contain several directives, each after its own `#`: `# type: ignore # keylint: ignore[KEY101] reason`.
//!
//! **Invariant:** parsing is total. A comment that starts with keylint's prefix and does not follow the grammar is a [`Problem`], and so is
//! one of ruff's that names rules of keylint, or none, and that ruff would not honour either; other comments are ignored.

use crate::config::suggest;
use crate::finding::RuleId;
use crate::rules;

/// What a function does with a parameter, as declared in a comment on its `def`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Effect {
    /// It consumes the key.
    Consumes,
    /// It derives from the key and does not consume it.
    Derives,
    /// It neither consumes nor derives.
    Observes,
}

/// A code or name within brackets, with its offset in the comment.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Item {
    /// As written.
    pub written: String,
    /// Offset of its first byte in the comment.
    pub start: usize,
}

/// One directive of a comment. Offsets are in bytes from the comment's `#`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Directive {
    /// `keylint: ignore[…]` or `keylint: file-ignore[…]`.
    Ignore {
        /// Whether it applies to the whole file.
        file: bool,
        /// The rules that it names.
        items: Vec<Item>,
        /// The text after the brackets.
        reason: String,
        /// The directive's bytes, from its `#`.
        range: (usize, usize),
    },
    /// A directive that another tool defines: `noqa` or one of ruff's own, with the codes to which it is limited.
    Noqa {
        /// The codes, those of other tools included; `None` for a blanket one.
        codes: Option<Vec<String>>,
        /// Its scope.
        place: NoqaPlace,
    },
    /// `keylint: consumes(…)` and similar comments.
    Effect {
        /// The effect.
        effect: Effect,
        /// The parameters, each as written.
        parameters: Vec<String>,
    },
}

/// The scope of a directive of another tool.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum NoqaPlace {
    /// Its line.
    Line,
    /// Its statement; on a line of its own, the statement below.
    Statement,
    /// The file.
    File,
}

/// An invalid comment for keylint.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Problem {
    /// What is wrong: lower case, no full stop.
    pub message: String,
    /// What to do instead.
    pub help: Option<String>,
    /// The invalid bytes, counted from the comment's `#`.
    pub range: (usize, usize),
}

/// The directives of one comment, which starts with its `#`.
pub fn parse(comment: &str) -> (Vec<Directive>, Vec<Problem>) {
    let (mut directives, mut problems) = (Vec::new(), Vec::new());
    let starts: Vec<usize> = comment.match_indices('#').map(|(at, _)| at).collect();
    for (index, &start) in starts.iter().enumerate() {
        let end = starts.get(index + 1).copied().unwrap_or(comment.len());
        let part = Part { text: &comment[start..end], start };
        match part.directive() {
            Some(Ok(directive)) => directives.push(directive),
            Some(Err(problem)) => problems.push(problem),
            None => {}
        }
    }
    (directives, problems)
}

/// The text from one `#` up to the next.
#[derive(Clone, Copy)]
struct Part<'a> {
    text: &'a str,
    start: usize,
}

impl<'a> Part<'a> {
    fn directive(self) -> Option<Result<Directive, Problem>> {
        let body = self.text.trim_start_matches('#').trim_start();
        if let Some(rest) = strip_word(body, "noqa") {
            return noqa(rest, NoqaPlace::Line).map(Ok);
        }
        for tool in ["ruff", "flake8"] {
            if let Some(rest) = strip_word(body, tool).and_then(|rest| rest.trim_start().strip_prefix(':')) {
                return self.of_tool(&body[..tool.len()], rest.trim_start());
            }
        }
        let rest = strip_word(body, "keylint")?.trim_start();
        if let Some(rest) = rest.strip_prefix(':') {
            return Some(self.ours(rest.trim_start()));
        }
        // Without a colon it is prose, unless a directive follows unmistakably.
        let word = leading_word(rest);
        let is_directive = matches!(word, "ignore" | "file-ignore") && rest[word.len()..].trim_start().starts_with('[');
        is_directive.then(|| Err(self.problem("missing `:` after `keylint`", format!("write `# keylint: {word}[…]`"))))
    }

    /// A comment for another tool that may also apply to keylint.
    fn of_tool(self, tool: &str, rest: &str) -> Option<Result<Directive, Problem>> {
        // ruff reads its name and its own directives only in lower case, but `noqa` in any.
        let is_ruff = tool.eq_ignore_ascii_case("ruff");
        let is_shouted = is_ruff && tool != "ruff";
        let is_foreign =
            |codes: &[String]| !codes.is_empty() && codes.iter().all(|code| named_elsewhere(code).is_empty());
        let in_lower_case = |directive: &str| {
            let help = format!("write `# ruff: {directive}`");
            Some(Err(self.problem("a comment for ruff must be in lower case, as ruff itself requires", help)))
        };
        if let Some(rest) = strip_word(rest, "noqa") {
            return match noqa(rest, NoqaPlace::File)? {
                Directive::Noqa { codes: Some(codes), .. } if is_shouted && is_foreign(&codes) => None,
                _ if is_shouted => in_lower_case("noqa"),
                directive => Some(Ok(directive)),
            };
        }
        let word = leading_word(rest);
        let directive = word.to_ascii_lowercase();
        let place = match directive.as_str() {
            "ignore" => Some(NoqaPlace::Statement),
            "file-ignore" => Some(NoqaPlace::File),
            "disable" => None,
            _ => return None,
        };
        let after = rest[word.len()..].trim_start();
        let list = after.strip_prefix(['[', '(', ':']).unwrap_or_default();
        let codes: Vec<String> = pieces(list.split([']', ')']).next().unwrap_or(list)).map(str::to_owned).collect();
        // A comment about rules of other tools is theirs to check.
        if !is_ruff || is_foreign(&codes) {
            return None;
        }
        let Some(place) = place else {
            let help = "write `# keylint: ignore[…]` at each statement, or `# keylint: file-ignore[…]`".to_owned();
            return Some(Err(self.problem("keylint does not support `# ruff: disable[…]` ranges", help)));
        };
        if is_shouted || directive != word {
            return in_lower_case(&format!("{directive}[…]"));
        }
        if codes.is_empty() || !(after.starts_with('[') && after.contains(']')) {
            let message = format!("`# ruff: {directive}` needs rules in square brackets");
            return Some(Err(self.problem(&message, format!("write `# ruff: {directive}[KEY101]`"))));
        }
        Some(Ok(Directive::Noqa { codes: Some(codes), place }))
    }

    fn ours(self, rest: &'a str) -> Result<Directive, Problem> {
        let word = leading_word(rest);
        let after = &rest[word.len()..];
        match word {
            "ignore" | "file-ignore" => self.ignore(word, after.trim_start()),
            "consumes" => self.effect(Effect::Consumes, word, after.trim_start()),
            "derives" => self.effect(Effect::Derives, word, after.trim_start()),
            "observes" => self.effect(Effect::Observes, word, after.trim_start()),
            _ if let Some(codes) = codes_for_other_tool(word, after) => {
                let help = format!("did you mean `# keylint: ignore[{codes}]`?");
                Err(self.problem(&format!("unknown directive `{word}`"), help))
            }
            _ => {
                let near = suggest(word, ["ignore", "file-ignore", "consumes", "derives", "observes"]);
                let help = near.map_or_else(
                    || {
                        "expected `ignore[…]`, `file-ignore[…]`, `consumes(…)`, `derives(…)` or `observes(…)`"
                            .to_owned()
                    },
                    |near| format!("did you mean `{near}`?"),
                );
                Err(self.problem(&format!("unknown directive `{word}`"), help))
            }
        }
    }

    fn ignore(self, word: &str, rest: &'a str) -> Result<Directive, Problem> {
        let example = format!("write `# keylint: {word}[KEY101] reason`");
        let Some(inner) = rest.strip_prefix('[') else {
            let in_parentheses = rest.strip_prefix('(').and_then(|inner| inner.split_once(')'));
            if let Some((list, _)) = in_parentheses.filter(|(list, _)| pieces(list).next().is_some()) {
                let help = format!("did you mean `# keylint: {word}[{list}]`?");
                return Err(self.problem(&format!("the rules of `{word}` go in square brackets"), help));
            }
            return Err(self.problem(&format!("`{word}` names no rule"), example));
        };
        let Some((list, reason)) = inner.split_once(']') else {
            return Err(self.problem("missing `]`", example));
        };
        let items: Vec<Item> =
            pieces(list).map(|written| Item { written: written.to_owned(), start: self.offset_of(written) }).collect();
        if items.is_empty() {
            return Err(self.problem(&format!("`{word}` names no rule"), example));
        }
        let reason = reason.trim().to_owned();
        Ok(Directive::Ignore { file: word == "file-ignore", items, reason, range: self.range() })
    }

    fn effect(self, effect: Effect, word: &str, rest: &str) -> Result<Directive, Problem> {
        let list = rest.strip_prefix('(').and_then(|inner| inner.split_once(')')).map(|(list, _)| list);
        let parameters: Vec<String> = list.into_iter().flat_map(pieces).map(str::to_owned).collect();
        if parameters.is_empty() {
            let message = format!("`{word}` names no parameter");
            return Err(self.problem(&message, format!("write `# keylint: {word}(key)`")));
        }
        Ok(Directive::Effect { effect, parameters })
    }

    /// Offset of `piece`, a part of `self.text`, in the comment.
    fn offset_of(self, piece: &str) -> usize {
        self.start + (piece.as_ptr() as usize).saturating_sub(self.text.as_ptr() as usize)
    }

    fn range(self) -> (usize, usize) {
        (self.start, self.start + self.text.trim_end().len())
    }

    fn problem(self, message: &str, help: String) -> Problem {
        Problem { message: message.to_owned(), help: Some(help), range: self.range() }
    }
}

/// Parses what follows `noqa`. With a colon but no code, the comment is malformed and suppresses nothing; the tools that define it
/// report this.
fn noqa(rest: &str, place: NoqaPlace) -> Option<Directive> {
    let Some(list) = rest.trim_start().strip_prefix(':') else {
        return Some(Directive::Noqa { codes: None, place });
    };
    let is_code = |word: &&str| {
        let letters = word.trim_end_matches(|c: char| c.is_ascii_digit());
        !letters.is_empty() && letters.len() < word.len() && letters.chars().all(|c| c.is_ascii_alphabetic())
    };
    let words = list.split(|c: char| c == ',' || c.is_whitespace()).filter(|word| !word.is_empty());
    let codes: Vec<String> = words.take_while(is_code).map(str::to_owned).collect();
    (!codes.is_empty()).then_some(Directive::Noqa { codes: Some(codes), place })
}

/// The rules that a code in a comment for another tool denotes: one by its code or name, or several by a prefix of their codes.
pub(super) fn named_elsewhere(written: &str) -> Vec<RuleId> {
    if let Some(rule) = rules::find(written) {
        return vec![rule.id];
    }
    let prefix = written.to_ascii_uppercase();
    let is_named = |rule: &&rules::Rule| prefix.starts_with("KEY") && rule.code().starts_with(&prefix);
    rules::in_force().filter(is_named).map(|rule| rule.id).collect()
}

fn pieces(list: &str) -> impl Iterator<Item = &str> {
    list.split(',').map(str::trim).filter(|piece| !piece.is_empty())
}

/// Strips `word`, in any case, from the start of `text`, if it is a whole word there.
fn strip_word<'a>(text: &'a str, word: &str) -> Option<&'a str> {
    let head = text.get(..word.len())?;
    let rest = &text[word.len()..];
    let ends = !rest.starts_with(|c: char| c.is_alphanumeric() || c == '_' || c == '-');
    (head.eq_ignore_ascii_case(word) && ends).then_some(rest)
}

/// The codes of a comment in the style of another tool: `disable=KEY101`, `noqa: KEY101`; `…` stands for none.
fn codes_for_other_tool(word: &str, rest: &str) -> Option<String> {
    let is_other = matches!(word, "disable" | "noqa" | "nolint" | "skip" | "off" | "suppress" | "allow");
    let words = rest.split(|c: char| !(c.is_alphanumeric() || c == '-' || c == '_'));
    let words = words.map(str::to_ascii_uppercase);
    let is_code = |word: &String| {
        let number = word.strip_prefix("KEY").unwrap_or_default();
        number.len() == 3 && number.chars().all(|digit| digit.is_ascii_digit())
    };
    let codes: Vec<String> = words.filter(is_code).collect();
    is_other.then(|| if codes.is_empty() { "…".to_owned() } else { codes.join(", ") })
}

fn leading_word(text: &str) -> &str {
    let end = text.find(|c: char| !(c.is_alphanumeric() || c == '-' || c == '_')).unwrap_or(text.len());
    &text[..end]
}
