//! Terms as text, for messages.
//!
//! **Invariant:** what is shown is what the program writes, as far as it is short; otherwise an ellipsis.

use super::marks::SEEDED;
use super::term::{Symbol, Term, TermId, Terms};

/// Longest text of a derivation.
const LONGEST: usize = 60;

impl Terms {
    /// A derivation, for people: `split(key(0))[1]`.
    pub fn describe(&self, term: TermId) -> String {
        let text = self.describe_deep(term, 6);
        if text.chars().count() > LONGEST {
            let short: String = text.chars().take(LONGEST).collect();
            format!("{short}…")
        } else {
            text
        }
    }

    fn describe_deep(&self, term: TermId, depth: u32) -> String {
        let Some(depth) = depth.checked_sub(1) else { return "…".into() };
        match self.get(term) {
            Term::Symbol(_) => match self.symbol(term) {
                Some(info) if matches!(info.symbol, Symbol::Lane | Symbol::Later(_)) => "i".into(),
                Some(info) => info.text.trim_matches(['<', '>']).to_owned(),
                None => "…".into(),
            },
            Term::None => "None".into(),
            Term::Bool(value) => if *value { "True" } else { "False" }.into(),
            Term::Int(value) => value.to_string(),
            Term::Float(bits) => f64::from_bits(*bits).to_string(),
            Term::Text(text) => format!("{text:?}"),
            Term::Offset(base, offset) if *offset < 0 => {
                format!("{} - {}", self.describe_deep(*base, depth), offset.unsigned_abs())
            }
            Term::Offset(base, offset) => format!("{} + {offset}", self.describe_deep(*base, depth)),
            Term::Seed(seed) => format!("key({})", self.describe_deep(*seed, depth)),
            Term::Children(parent) => format!("split({})", self.describe_deep(*parent, depth)),
            Term::Child(parent, index) => {
                format!("split({})[{}]", self.describe_deep(*parent, depth), self.describe_deep(*index, depth))
            }
            Term::Fold(parent, data) => {
                format!("fold_in({}, {})", self.describe_deep(*parent, depth), self.describe_deep(*data, depth))
            }
            Term::Clone(parent, _) => format!("clone({})", self.describe_deep(*parent, depth)),
            Term::Attribute(base, name, _) => match self.get(*base) {
                Term::Apply(module, _) if &**module == "<module>" => name.to_string(),
                _ => format!("{}.{name}", self.describe_deep(*base, depth)),
            },
            Term::Item(base, index, _) => {
                format!("{}[{}]", self.describe_deep(*base, depth), self.describe_deep(*index, depth))
            }
            Term::Words(key, Some(word)) => format!("{}[{word}]", self.describe_deep(*key, depth)),
            Term::Words(key, None) => format!("key_data({})", self.describe_deep(*key, depth)),
            Term::Apply(name, parts) if &**name == "<slice>" => {
                let bound = |part: &TermId| match self.get(*part) {
                    Term::None => String::new(),
                    _ => self.describe_deep(*part, depth),
                };
                let bounds: Vec<String> = parts.iter().map(bound).collect();
                match bounds.as_slice() {
                    [lower, upper, step] if step.is_empty() => format!("{lower}:{upper}"),
                    _ => bounds.join(":"),
                }
            }
            Term::Apply(name, parts) if &**name == "<tuple>" => {
                let parts: Vec<String> = parts.iter().map(|part| self.describe_deep(*part, depth)).collect();
                parts.join(", ")
            }
            Term::Apply(name, parts) if &**name == "<ellipsis>" && parts.is_empty() => "...".into(),
            Term::Apply(name, parts) if &**name == SEEDED => {
                let parts: Vec<String> = parts.iter().map(|part| self.describe_deep(*part, depth)).collect();
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
