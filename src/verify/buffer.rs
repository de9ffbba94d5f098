//! The consequence of misusing a key buffer: which key a word of it seeds, which seeds a sum with it corresponds to, what lanes over the
//! wrong axis get.
//!
//! The operation is evaluated by `eval`'s functions on the words of the key. A key from elsewhere is replaced by the key of one seed, and
//! the sentence says so.
//!
//! **Invariant:** only computed results are shown; if the operation or the key cannot be evaluated, there is no
//! witness.

use super::derived;
use super::replay::{Operand, calculated};
use crate::arrays;
use crate::finding::{self, BufferAccess, BufferPart, Derivation, DerivationKind, Place, Witness, WitnessStatus};
use crate::ir::{Operator, binary_operator};
use crate::prng::array::Array;
use crate::prng::derive;
use crate::prng::dtype::DType;
use crate::prng::implementation::Implementation;
use crate::prng::keys::Keys;
use crate::prng::mode::Mode;
use crate::python::ast::{self, Expr, Number, Stmt, UnaryOp};
use crate::python::{SourceKind, parse, span_of};

/// The seed of the placeholder for a key from elsewhere.
const PLACEHOLDER: i128 = 42;
/// Another seed, to see what does not depend on it.
const OTHER: i128 = 43;
/// Rows of a sum that are shown.
const ROWS: usize = 3;
/// Rows of a sum where their number is not known.
const SOME_ROWS: i128 = 4;
/// Most words of a result that are shown.
const WORDS: usize = 64;

/// The result: a sentence, and the keys that it mentions.
type Shown = (String, Vec<Vec<u32>>);

/// Shows the result of the operation at a place of `text` on a key.
pub fn witness(text: &str, place: Place, access: &BufferAccess) -> Option<Witness> {
    let code = text.get(place.span.start as usize..place.span.end as usize)?;
    let key = Key::of(&access.derivation)?;
    let parsed = parse(code, SourceKind::Py);
    let statement =
        parsed.module.body.first().filter(|_| parsed.problems.is_empty() && parsed.module.body.len() == 1)?;
    let operation = Operation { code, statement, key: &key };
    let (sentence, keys) = match access.what {
        BufferPart::Seed => operation.seed(),
        BufferPart::Word => operation.word(),
        BufferPart::Words => operation.words(),
        BufferPart::Sum => operation.sum(),
        BufferPart::Axis => operation.axis(),
    }?;
    let draws = keys.into_iter().map(|key_data| finding::Draw { place, key_data }).collect();
    let sentence = match key.derivation {
        Some(name) => format!("for example, if `{name}` is `PRNGKey(42)`, {sentence}"),
        None => sentence,
    };
    Some(Witness { draws, sentence, ..Witness::silent(WitnessStatus::Confirmed) })
}

/// A key with its words, or an array of keys.
struct Key<'a> {
    keys: Keys,
    /// The expression that it is a placeholder for.
    derivation: Option<&'a str>,
}

impl<'a> Key<'a> {
    /// The key that the analysis identifies by its derivation.
    fn of(derivation: &'a Derivation) -> Option<Self> {
        match derivation.kind() {
            DerivationKind::Elsewhere | DerivationKind::Part(_) => {
                let is_word = |one: char| one.is_alphanumeric() || one == '_';
                let is_name = derivation.chars().all(|one| is_word(one) || one == '.')
                    && !derivation.split('.').all(|word| word.bytes().all(|byte| byte.is_ascii_digit()));
                let keys = seeded(PLACEHOLDER).filter(|_| is_name)?;
                Some(Self { keys, derivation: Some(&**derivation) })
            }
            DerivationKind::Seed(..)
            | DerivationKind::Children(_)
            | DerivationKind::Child(..)
            | DerivationKind::Fold(..)
            | DerivationKind::Clone(_) => {
                let keys = derived::keys(derivation)?;
                let is_default = keys.implementation() == Implementation::default();
                is_default.then_some(Self { keys, derivation: None })
            }
        }
    }

    fn words(&self) -> Option<Vec<u32>> {
        Some(self.keys.words().to_vec()).filter(|words| words.len() == 2)
    }

    /// The words of a key that a seed of 32 bits gave.
    fn seeded(&self) -> Option<Vec<u32>> {
        self.words().filter(|words| words.first() == Some(&0))
    }
}

/// `PRNGKey(seed)`
fn seeded(seed: i128) -> Option<Keys> {
    derive::key(Mode::default(), Implementation::default(), seed).ok()
}

/// The integer that an expression writes.
fn integer(expr: &Expr) -> Option<i128> {
    match expr {
        Expr::NumberLiteral(literal) => match &literal.value {
            Number::Int(number) => number.as_i64().map(i128::from),
            Number::Float(_) | Number::Complex { .. } => None,
        },
        Expr::UnaryOp(unary) if unary.op == UnaryOp::USub => integer(&unary.operand).map(|number| -number),
        _ => None,
    }
}

/// `key[index]`, of an index or a slice that is written.
fn item(words: &[u32], index: &Expr) -> Option<Vec<u32>> {
    let picked = match index {
        Expr::Slice(slice) => {
            let bound = |part: &Option<Box<Expr>>| match part {
                Some(part) => integer(part).map(Some),
                None => Some(None),
            };
            arrays::slice(words.len(), bound(&slice.lower)?, bound(&slice.upper)?, bound(&slice.step)?)?
        }
        index => vec![arrays::nearest(words.len(), integer(index)?)?],
    };
    picked.into_iter().map(|at| words.get(at).copied()).collect()
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
        let key = self.key.words()?;
        let of_word = |words: &[u32]| {
            let word = integer(&item.slice).and_then(|at| words.get(arrays::nearest(words.len(), at)?).copied())?;
            let seed = Array::integer(DType::Uint32, i128::from(word));
            derive::keys(Implementation::default(), &seed).ok().map(|keys| keys.words().to_vec())
        };
        let new = of_word(&key).filter(|new| new.len() == 2)?;
        let name = self.slice(&item.value);
        let whole = self.code;
        let sentence = if new == key {
            format!("`{whole}` is `{name}` itself: both are {}", list(&key))
        } else {
            let always = self.key.derivation.is_some() && of_word(seeded(OTHER)?.words())? == new;
            let always = if always { ", whatever seed below 2**32 it came from" } else { "" };
            format!("`{whole}` is {}, the key of the seed {}{always}", list(&new), new.get(1)?)
        };
        Some((sentence, vec![key, new]))
    }

    /// `key[0]`
    fn word(&self) -> Option<Shown> {
        let Expr::Subscript(subscript) = self.expression()? else { return None };
        let key = self.key.seeded()?;
        let [word] = item(&key, &subscript.slice)?[..] else { return None };
        let same = item(seeded(OTHER)?.words(), &subscript.slice)? == [word];
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
        let (left, right, operator) = match self.statement {
            Stmt::AugAssign(assign) => (&*assign.target, &*assign.value, assign.op),
            _ => match self.expression()? {
                Expr::BinOp(sum) => (&*sum.left, &*sum.right, sum.op),
                _ => return None,
            },
        };
        let operator: Operator = binary_operator(operator);
        let (other, is_first, name) = match (operand(right), operand(left)) {
            (Some(other), None) => (other, true, self.slice(left)),
            (None, Some(other)) => (other, false, self.slice(right)),
            _ => return None,
        };
        let words = calculated(operator, &self.key.keys, &other, is_first, WORDS)?;
        let original = self.key.words()?;
        let rows: Vec<Vec<u32>> = words.chunks(2).take(ROWS).map(<[u32]>::to_vec).collect();
        let seed = |row: &[u32]| match row {
            [high, low] => Some((u64::from(*high) << 32) | u64::from(*low)),
            _ => None,
        };
        let seeds: Option<Vec<u64>> = rows.iter().map(|row| seed(row)).collect();
        let seeds = seeds?;
        let wide = if seeds.iter().any(|seed| *seed > u64::from(u32::MAX)) {
            " (seeds of 64 bits need `jax_enable_x64`)"
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
                let listed: Vec<String> = seeds.iter().map(ToString::to_string).collect();
                let more = if words.len() > 2 * ROWS { ", …" } else { "" };
                let itself =
                    if *row == original { format!("row 0 is `{name}` itself, {}; ", list(row)) } else { String::new() };
                format!("{itself}the rows are the keys of the seeds {}{more}{wide}", listed.join(", "))
            }
            _ => return None,
        };
        Some((sentence, rows))
    }

    /// `vmap(f, in_axes=1)(keys)` and `keys.T`
    fn axis(&self) -> Option<Shown> {
        let keys = match self.key.derivation {
            Some(_) => derive::split(Mode::default(), &self.key.keys, &[2]).ok()?,
            None => self.key.keys.clone(),
        };
        let words = keys.words();
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

/// An operand that is not a key: a number, or a column that counts.
fn operand(expr: &Expr) -> Option<Operand> {
    match expr {
        Expr::NumberLiteral(literal) => match &literal.value {
            Number::Int(number) => number.as_i64().map(|number| Operand::Int(i128::from(number))),
            Number::Float(number) => Some(Operand::Float(*number)),
            Number::Complex { .. } => None,
        },
        Expr::Subscript(item) => {
            let (Expr::Call(count), Expr::Tuple(axes)) = (&*item.value, &*item.slice) else { return None };
            let is_arange = matches!(&*count.func, Expr::Attribute(function) if function.attr.as_str() == "arange");
            let is_column = matches!(&axes.elts[..], [Expr::Slice(_), _]);
            let ([length], true) = (&count.arguments.args[..], is_arange && is_column) else { return None };
            let length = if matches!(length, Expr::NumberLiteral(_)) { integer(length)? } else { SOME_ROWS };
            usize::try_from(length).ok().map(Operand::Column)
        }
        _ => None,
    }
}

/// Words as Python writes them.
fn list(words: &[u32]) -> String {
    let words: Vec<String> = words.iter().map(ToString::to_string).collect();
    format!("[{}]", words.join(", "))
}
