//! A function and its inverse, as their names tell: what the one does with the numbers the other can only undo with the same.
//!
//! **Invariant:** names count only where they differ by a word that says the opposite.

use crate::analysis::record::{Activation, Consumption, Recording};

/// Whether two draws happen within calls of a function and of its inverse, as their names tell: what the one does with the numbers
/// the other can only undo with the same.
pub fn is_undone(run: &Recording<'_>, first: &Consumption, second: &Consumption) -> bool {
    let (a, b) = (first.chain(), second.chain());
    let apart = a.iter().zip(&b).find(|((one, _), (other, _))| {
        one.id != other.id && (one.module, one.function) != (other.module, other.function)
    });
    let Some(((one, _), (other, _))) = apart else { return false };
    let name = |of: &Activation| run.module(of.module).function(of.function).name.clone();
    are_inverse(&name(one), &name(other))
}

/// Whether one of two names says the opposite of the other: `rotate` and `inverse_rotate`, `shuffle` and `unshuffle`, `encode` and `decode`.
fn are_inverse(one: &str, other: &str) -> bool {
    let words = |name: &str| -> Vec<String> {
        name.split('_').filter(|word| !word.is_empty()).map(str::to_ascii_lowercase).collect()
    };
    let is_said = |word: &String| matches!(word.as_str(), "inverse" | "inv");
    let (one, other) = (words(one), words(other));
    let plain = |words: &[String]| -> Vec<String> { words.iter().filter(|word| !is_said(word)).cloned().collect() };
    let (a, b) = (plain(&one), plain(&other));
    if a.is_empty() || a.len() != b.len() {
        return false;
    }
    if one.len() - a.len() != other.len() - b.len() {
        return a == b;
    }
    let is_opposite = |a: &str, b: &str| {
        let rest = b.strip_prefix("un").or_else(|| b.strip_prefix("de"));
        rest.is_some_and(|rest| rest == a || a.strip_prefix("en") == Some(rest))
    };
    let mut apart = a.iter().zip(&b).filter(|(a, b)| a != b);
    match (apart.next(), apart.next()) {
        (Some((a, b)), None) => is_opposite(a, b) || is_opposite(b, a),
        _ => false,
    }
}
