//! What comes of a touched key buffer: which key a word of it seeds, which seeds a sum with it stands for, what lanes over the wrong
//! axis get.
//!
//! The operation is evaluated by `eval`'s functions on the words of the key. A key that comes from somewhere else is stood in for by that
//! of one seed, and the sentence says so.
//!
//! **Invariant:** nothing is shown but what was computed; where the operation or the key cannot be evaluated there is no witness.

use super::eval::{self, Settings};
use crate::finding::{self, Place, Touch, Touched, Witness, WitnessStatus};
use crate::python::ast::{self, Expr, Stmt};
use crate::python::{SourceKind, parse, span_of};

/// What stands for a key that comes from somewhere else.
const STAND_IN: &str = "random.PRNGKey(42)";
/// The same of another seed, to see what does not depend on it.
const OTHER: &str = "random.PRNGKey(43)";
/// Rows of a sum that are told.
const ROWS: usize = 3;
/// Rows of a sum where their number is not known.
const SOME_ROWS: &str = "4";

/// What is shown: a sentence, and the keys that it speaks of.
type Shown = (String, Vec<Vec<u32>>);

/// Shows what the operation at a place of `text` makes of a key.
pub fn witness(text: &str, place: Place, touch: &Touch) -> Option<Witness> {
    let code = text.get(place.span.start as usize..place.span.end as usize)?;
    let key = Key::of(&touch.derivation)?;
    let parsed = parse(code, SourceKind::Py);
    let statement =
        parsed.module.body.first().filter(|_| parsed.problems.is_empty() && parsed.module.body.len() == 1)?;
    let operation = Operation { code, statement, key: &key };
    let (sentence, keys) = match touch.what {
        Touched::Seed => operation.seed(),
        Touched::Word => operation.word(),
        Touched::Words => operation.words(),
        Touched::Sum => operation.sum(),
        Touched::Axis => operation.axis(),
    }?;
    let draws = keys.into_iter().map(|key_data| finding::Draw { place, key_data }).collect();
    let sentence = match key.stands_for {
        Some(name) => format!("in a replay with `{name}` = PRNGKey(42), {sentence}"),
        None => sentence,
    };
    Some(Witness { draws, sentence, ..Witness::silent(WitnessStatus::Confirmed) })
}

/// A key as an expression.
struct Key<'a> {
    expression: String,
    /// What it stands for, if it is a stand-in.
    stands_for: Option<&'a str>,
}

impl<'a> Key<'a> {
    /// The key that the analysis tells by its derivation.
    fn of(derivation: &'a str) -> Option<Self> {
        let is_word = |one: char| one.is_alphanumeric() || one == '_';
        let words: Vec<&str> = derivation.split(|one| !is_word(one)).filter(|word| !word.is_empty()).collect();
        let is_number = |word: &str| word.bytes().all(|byte| byte.is_ascii_digit());
        if derivation.contains('(') {
            let is_known = words.iter().all(|word| matches!(*word, "key" | "split" | "fold_in") || is_number(word));
            let written = derivation.replace("key(", "PRNGKey(");
            let written = ["PRNGKey(", "split(", "fold_in("]
                .into_iter()
                .fold(written, |written, name| written.replace(name, &format!("random.{name}")));
            return is_known.then_some(Self { expression: written, stands_for: None });
        }
        let is_name =
            derivation.chars().all(|one| is_word(one) || one == '.') && !words.iter().all(|word| is_number(word));
        is_name.then(|| Self { expression: STAND_IN.to_owned(), stands_for: Some(derivation) })
    }

    fn words(&self) -> Option<Vec<u32>> {
        evaluated(&self.expression).filter(|words| words.len() == 2)
    }

    /// The words of a key that a seed of 32 bits gave.
    fn seeded(&self) -> Option<Vec<u32>> {
        self.words().filter(|words| words.first() == Some(&0))
    }
}

struct Operation<'a> {
    code: &'a str,
    statement: &'a Stmt,
    key: &'a Key<'a>,
}

impl<'a> Operation<'a> {
    fn expression(&self) -> Option<&'a Expr> {
        match self.statement {
            Stmt::Expr(statement) => Some(&statement.value),
            _ => None,
        }
    }

    fn slice(&self, expr: &Expr) -> &'a str {
        let span = span_of(expr);
        self.code.get(span.start as usize..span.end as usize).unwrap_or_default()
    }

    /// `PRNGKey(key[1])`
    fn seed(&self) -> Option<Shown> {
        let Expr::Call(call) = self.expression()? else { return None };
        let argument = call.arguments.args.first()?;
        let item = match argument {
            Expr::Call(number) => number.arguments.args.first()?,
            other => other,
        };
        let Expr::Subscript(item) = item else { return None };
        let (at, key) = (self.slice(&item.slice), self.key.words()?);
        let seeded = |key: &str| evaluated(&format!("random.PRNGKey({key}[{at}])"));
        let new = seeded(&self.key.expression).filter(|new| new.len() == 2)?;
        let name = self.slice(&item.value);
        let whole = self.code;
        let sentence = if new == key {
            format!("`{whole}` is `{name}` itself: both are {}", list(&key))
        } else {
            let always = self.key.stands_for.is_some() && seeded(OTHER)? == new;
            let always = if always { ", whatever seed below 2**32 it came from" } else { "" };
            format!("`{whole}` is {}, the key of the seed {}{always}", list(&new), new.get(1)?)
        };
        Some((sentence, vec![key, new]))
    }

    /// `key[0]`
    fn word(&self) -> Option<Shown> {
        let Expr::Subscript(item) = self.expression()? else { return None };
        let key = self.key.seeded()?;
        let word = evaluated(&format!("{}[{}]", self.key.expression, self.slice(&item.slice)))?;
        let [word] = word[..] else { return None };
        let same = evaluated(&format!("{OTHER}[{}]", self.slice(&item.slice)))? == [word];
        let what = if same { "as in every key of a seed below 2**32" } else { "the seed itself" };
        Some((format!("`{}` is {word}, {what}", self.code), vec![key]))
    }

    /// `a, b = key`
    fn words(&self) -> Option<Shown> {
        let key = self.key.seeded()?;
        let [first, seed] = key[..] else { return None };
        Some((
            format!("the words are {first}, as in every key of a seed below 2**32, and {seed}, the seed itself"),
            vec![key],
        ))
    }

    /// `key + 1` and `key + jnp.arange(n)[:, None]`
    fn sum(&self) -> Option<Shown> {
        let (left, right) = match self.statement {
            Stmt::AugAssign(assign) => (&*assign.target, &*assign.value),
            _ => match self.expression()? {
                Expr::BinOp(sum) => (&*sum.left, &*sum.right),
                _ => return None,
            },
        };
        let between = self.code.get(span_of(left).end as usize..span_of(right).start as usize)?;
        // Brackets around the operands, and what makes an assignment of an operator, are no operator.
        let operator: String =
            between.chars().filter(|one| !matches!(one, '(' | ')' | '=' | ' ' | '\n' | '\\')).collect();
        let key = &self.key.expression;
        let (written, name) = match (self.operand(right), self.operand(left)) {
            (Some(other), None) => (format!("({key}) {operator} ({other})"), self.slice(left)),
            (None, Some(other)) => (format!("({other}) {operator} ({key})"), self.slice(right)),
            _ => return None,
        };
        let words = evaluated(&written)?;
        let original = self.key.words()?;
        let rows: Vec<Vec<u32>> = words.chunks(2).take(ROWS).map(<[u32]>::to_vec).collect();
        let seed = |row: &[u32]| match row {
            [high, low] => Some((u64::from(*high) << 32) | u64::from(*low)),
            _ => None,
        };
        let seeds: Option<Vec<u64>> = rows.iter().map(|row| seed(row)).collect();
        let seeds = seeds?;
        let wide = if seeds.iter().any(|seed| *seed > u64::from(u32::MAX)) {
            " (those of 64 bits need `jax_enable_x64`)"
        } else {
            ""
        };
        let sentence = match (&rows[..], &seeds[..]) {
            ([row], _) if words.len() == 2 && *row == original => {
                format!("the result is `{name}` itself: both are {}", list(row))
            }
            ([row], [seed]) if words.len() == 2 => {
                format!("the result is {}, the key of the seed {seed}{wide}", list(row))
            }
            ([row, ..], _) => {
                let told: Vec<String> = seeds.iter().map(ToString::to_string).collect();
                let more = if words.len() > 2 * ROWS { ", …" } else { "" };
                let itself =
                    if *row == original { format!("row 0 is `{name}` itself, {}; ", list(row)) } else { String::new() };
                format!("{itself}the rows are the keys of the seeds {}{more}{wide}", told.join(", "))
            }
            _ => return None,
        };
        Some((sentence, rows))
    }

    /// An operand that is no key: a number, or a column that counts.
    fn operand(&self, expr: &Expr) -> Option<String> {
        match expr {
            Expr::NumberLiteral(_) => Some(self.slice(expr).to_owned()),
            Expr::Subscript(item) => {
                let (Expr::Call(count), Expr::Tuple(axes)) = (&*item.value, &*item.slice) else { return None };
                let is_arange = matches!(&*count.func, Expr::Attribute(function) if function.attr.as_str() == "arange");
                let is_column = matches!(&axes.elts[..], [Expr::Slice(_), _]);
                let ([length], true) = (&count.arguments.args[..], is_arange && is_column) else { return None };
                let length = if matches!(length, Expr::NumberLiteral(_)) { self.slice(length) } else { SOME_ROWS };
                Some(format!("jnp.arange({length})[:, None]"))
            }
            _ => None,
        }
    }

    /// `vmap(f, in_axes=1)(keys)` and `keys.T`
    fn axis(&self) -> Option<Shown> {
        let keys = match self.key.stands_for {
            Some(_) => format!("random.split({})", self.key.expression),
            None => self.key.expression.clone(),
        };
        let words = evaluated(&keys)?;
        let [a, b, c, d] = words[..] else { return None };
        let part = if matches!(self.expression()?, Expr::Call(ast::ExprCall { func, .. }) if matches!(**func, Expr::Call(_)))
        {
            "batch element"
        } else {
            "row"
        };
        let (first, second) = (vec![a, c], vec![b, d]);
        let sentence = format!(
            "{part} 0 gets {} and {part} 1 gets {}: one word of each of the keys {} and {}",
            list(&first),
            list(&second),
            list(&[a, b]),
            list(&[c, d])
        );
        Some((sentence, vec![first, second]))
    }
}

/// The words that a small expression evaluates to.
fn evaluated(expression: &str) -> Option<Vec<u32>> {
    let numbers = eval::first_numbers(Settings::default(), expression, 64)?;
    numbers.iter().map(|number| number.parse().ok()).collect()
}

/// Words as Python writes them.
fn list(words: &[u32]) -> String {
    let words: Vec<String> = words.iter().map(ToString::to_string).collect();
    format!("[{}]", words.join(", "))
}
