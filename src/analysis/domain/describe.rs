//! Terms as text, for messages.
//!
//! **Invariant:** the text is what the program writes, if that is short; otherwise an ellipsis.

use std::cell::Cell;

use super::marks::SEEDED;
use super::term::{Symbol, Term, TermId, Terms};

/// Longest text of a derivation.
const LONGEST: usize = 60;

/// Most parts that are described; more would not fit into the longest text.
const PARTS: u32 = 512;

impl Terms {
    /// A derivation, for people: `split(key(0))[1]`.
    pub fn describe(&self, term: TermId) -> String {
        let text = self.describe_within(term, 6, &Cell::new(PARTS));
        if text.chars().count() > LONGEST {
            let short: String = text.chars().take(LONGEST).collect();
            format!("{short}…")
        } else {
            text
        }
    }

    fn describe_within(&self, term: TermId, depth: u32, left: &Cell<u32>) -> String {
        let Some((depth, parts)) = depth.checked_sub(1).zip(left.get().checked_sub(1)) else { return "…".into() };
        left.set(parts);
        match self.get(term) {
            Term::Symbol(_) => match self.symbol(term) {
                Some(info) if matches!(info.symbol, Symbol::Lane | Symbol::Iteration { .. }) => "i".into(),
                Some(info) => info.text.trim_matches(['<', '>']).to_owned(),
                None => "…".into(),
            },
            Term::None => "None".into(),
            Term::Bool(value) => if *value { "True" } else { "False" }.into(),
            Term::Int(value) => value.to_string(),
            Term::Float(bits) => f64::from_bits(*bits).to_string(),
            Term::Text(text) => format!("{text:?}"),
            Term::Offset(base, offset) if *offset < 0 => {
                format!("{} - {}", self.describe_within(*base, depth, left), offset.unsigned_abs())
            }
            Term::Offset(base, offset) => format!("{} + {offset}", self.describe_within(*base, depth, left)),
            Term::Seed(seed) => format!("key({})", self.describe_within(*seed, depth, left)),
            Term::Children(parent) => format!("split({})", self.describe_within(*parent, depth, left)),
            Term::Child(parent, index) => {
                format!(
                    "split({})[{}]",
                    self.describe_within(*parent, depth, left),
                    self.describe_within(*index, depth, left)
                )
            }
            Term::Fold(parent, data) => {
                format!(
                    "fold_in({}, {})",
                    self.describe_within(*parent, depth, left),
                    self.describe_within(*data, depth, left)
                )
            }
            Term::Clone(parent, _) => format!("clone({})", self.describe_within(*parent, depth, left)),
            Term::Attribute(base, name, _) => match self.get(*base) {
                Term::Apply(module, _) if &**module == "<module>" => name.to_string(),
                _ => format!("{}.{name}", self.describe_within(*base, depth, left)),
            },
            Term::Item(base, index, _) => {
                format!("{}[{}]", self.describe_within(*base, depth, left), self.describe_within(*index, depth, left))
            }
            Term::Words(key, Some(word)) => format!("{}[{word}]", self.describe_within(*key, depth, left)),
            Term::Words(key, None) => format!("key_data({})", self.describe_within(*key, depth, left)),
            Term::Apply(name, parts) if &**name == "<slice>" => {
                let bound = |part: &TermId| match self.get(*part) {
                    Term::None => String::new(),
                    _ => self.describe_within(*part, depth, left),
                };
                let bounds: Vec<String> = parts.iter().map(bound).collect();
                match bounds.as_slice() {
                    [lower, upper, step] if step.is_empty() => format!("{lower}:{upper}"),
                    _ => bounds.join(":"),
                }
            }
            Term::Apply(name, parts) if &**name == "<tuple>" => {
                let parts: Vec<String> = parts.iter().map(|part| self.describe_within(*part, depth, left)).collect();
                parts.join(", ")
            }
            Term::Apply(name, parts) if &**name == "<ellipsis>" && parts.is_empty() => "...".into(),
            Term::Apply(name, parts) if &**name == SEEDED => {
                let parts: Vec<String> = parts.iter().map(|part| self.describe_within(*part, depth, left)).collect();
                parts.join(", impl=")
            }
            Term::Apply(name, _) if name.starts_with('<') => "…".into(),
            Term::Apply(name, parts) if parts.is_empty() && name.ends_with(')') => {
                name.rsplit('.').next().unwrap_or(name).to_owned()
            }
            Term::Apply(name, _) => format!("{}(…)", name.rsplit('.').next().unwrap_or(name)),
            Term::Operate(..) | Term::Choice(_) => "…".into(),
        }
    }
}
