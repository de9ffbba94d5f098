//! Expressions that are written alike.
//!
//! **Invariant:** only what is written counts: a variable may hold something else where the second expression runs.

use super::{Argument, Element, Function, OpKind, Temp};

/// Whether two operations compute the same expression from the same variables, as written.
pub fn is_written_alike(code: &Function, one: Temp, other: Temp) -> bool {
    let alike = |one: &Temp, other: &Temp| is_written_alike(code, *one, *other);
    match (&code.ops[one as usize].kind, &code.ops[other as usize].kind) {
        (OpKind::Load(one), OpKind::Load(other)) => one == other,
        (OpKind::Constant(one), OpKind::Constant(other)) => one == other,
        (OpKind::Attribute(of, name), OpKind::Attribute(from, other)) => name == other && alike(of, from),
        (OpKind::Call(callee, given), OpKind::Call(other, others)) => {
            let is_same = |(given, other): (&Argument, &Argument)| match (given, other) {
                (Argument::Positional(given), Argument::Positional(other)) => alike(given, other),
                (Argument::Keyword(name, given), Argument::Keyword(named, other)) => {
                    name == named && alike(given, other)
                }
                _ => false,
            };
            given.len() == others.len() && alike(callee, other) && given.iter().zip(others).all(is_same)
        }
        (OpKind::Build(one, elements), OpKind::Build(other, others)) => {
            let is_same = |(element, other): (&Element, &Element)| match (element, other) {
                (Element::Value(one), Element::Value(other)) => alike(one, other),
                (Element::Pair(key, value), Element::Pair(other, held)) => alike(key, other) && alike(value, held),
                _ => false,
            };
            one == other && elements.len() == others.len() && elements.iter().zip(others).all(is_same)
        }
        (OpKind::Item(of, index), OpKind::Item(from, other)) => alike(of, from) && alike(index, other),
        _ => false,
    }
}
