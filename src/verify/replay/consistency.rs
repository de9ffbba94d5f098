//! Path consistency: whether the choices of a run can all hold for some values.
//!
//! A run that chooses `n == 1` and later a second element of `range(n)` is inconsistent: no program does that. So candidate values are
//! tried for unknown values: numbers near those that the program compares with, texts that it mentions, sequences of a few lengths.
//!
//! **Invariant:** a run is inconsistent only if no tried value fits all decisions that can be computed; a decision that
//! cannot be computed fits every value.

use std::collections::{BTreeMap, BTreeSet};

use super::symbol::{Node, Symbol, Symbols};

/// Most unknown values that are tried together.
const MOST_UNKNOWNS: usize = 3;

/// Most combinations that are tried.
const TRIALS: usize = 20_000;

/// How deep a symbol is traversed.
const DEPTH: u32 = 12;

/// A candidate value of an unknown.
#[derive(Clone, Debug, PartialEq)]
enum Candidate {
    None,
    Bool(bool),
    Number(f64),
    Text(String),
    /// Something with so many elements.
    Many(f64),
    /// Values on which an operation raises: no run continues with them.
    Raises,
}

/// Unknown values, and what was decided of them.
type Group = (BTreeSet<Symbol>, Vec<(Symbol, bool)>);

/// What is tried.
type Trials = BTreeMap<Symbol, Candidate>;

/// Whether all that was decided of the symbols of a run can be true together.
pub(super) fn is_consistent(symbols: &Symbols) -> bool {
    let mut groups: Vec<Group> = Vec::new();
    let mut group_of: BTreeMap<Symbol, usize> = BTreeMap::new();
    for (symbol, truth) in symbols.decided() {
        let mut leaves = BTreeSet::new();
        collect(symbols, *symbol, DEPTH, &mut leaves);
        let met: BTreeSet<usize> = leaves.iter().filter_map(|leaf| group_of.get(leaf).copied()).collect();
        // The largest takes in the others, so that few leaves change their group.
        let largest = met.iter().copied().max_by_key(|group| groups[*group].0.len());
        let into = largest.unwrap_or_else(|| {
            groups.push(Group::default());
            groups.len() - 1
        });
        for other in met.into_iter().filter(|other| *other != into) {
            let (others, decisions) = std::mem::take(&mut groups[other]);
            leaves.extend(others);
            groups[into].1.extend(decisions);
        }
        group_of.extend(leaves.iter().map(|leaf| (*leaf, into)));
        groups[into].0.extend(leaves);
        groups[into].1.push((*symbol, *truth));
    }
    groups
        .iter()
        .all(|(leaves, decisions)| leaves.is_empty() || decisions.len() < 2 || has_model(symbols, leaves, decisions))
}

/// Whether values for the leaves fit all decisions.
fn has_model(symbols: &Symbols, leaves: &BTreeSet<Symbol>, decisions: &[(Symbol, bool)]) -> bool {
    let leaves: Vec<Symbol> = leaves.iter().copied().collect();
    let candidates = candidates(symbols, decisions);
    let count = candidates.len();
    let total = (0..leaves.len()).try_fold(1_usize, |total, _| total.checked_mul(count));
    if leaves.len() > MOST_UNKNOWNS || total.is_none_or(|total| total > TRIALS) {
        return true;
    }
    (0..total.unwrap_or(0)).any(|number| {
        let mut rest = number;
        let mut trials = Trials::new();
        for leaf in &leaves {
            if let Some(candidate) = candidates.get(rest % count) {
                trials.insert(*leaf, candidate.clone());
            }
            rest /= count;
        }
        decisions.iter().all(|(symbol, wanted)| match value(symbols, *symbol, &trials, DEPTH) {
            None => true,
            Some(found) => truth(&found).is_some_and(|truth| truth == *wanted),
        })
    })
}

/// Candidate values: those near the constants in the decisions.
fn candidates(symbols: &Symbols, decisions: &[(Symbol, bool)]) -> Vec<Candidate> {
    let (mut numbers, mut texts) = (BTreeSet::from([-1, 0, 1, 2, 3, 4]), BTreeSet::new());
    let mut halves = BTreeSet::new();
    for (symbol, _) in decisions {
        mentioned(symbols, *symbol, DEPTH, &mut |node| match node {
            Node::Int(number) if number.unsigned_abs() < 1 << 40 => numbers.extend([number - 1, *number, number + 1]),
            Node::Text(text) => {
                texts.insert(text.to_string());
            }
            Node::Constant(written) => {
                if let Ok(number) = written.parse::<f64>()
                    && number.abs() < 1e9
                {
                    #[expect(clippy::cast_possible_truncation, reason = "the number is small, and only near is asked")]
                    halves.extend([
                        (number * 1000.0) as i128 - 1,
                        (number * 1000.0) as i128,
                        (number * 1000.0) as i128 + 1,
                    ]);
                }
            }
            _ => {}
        });
    }
    let exact: Vec<f64> = numbers.iter().map(|number| as_float(*number)).collect();
    let mut all = vec![Candidate::None, Candidate::Bool(false), Candidate::Bool(true)];
    all.extend(exact.iter().map(|number| Candidate::Number(*number)));
    all.extend(halves.iter().map(|number| Candidate::Number(as_float(*number) / 1000.0)));
    all.extend(exact.iter().filter(|number| **number >= 0.0).map(|number| Candidate::Many(*number)));
    all.extend(texts.iter().flat_map(|text| [Candidate::Text(text.clone()), Candidate::Text(format!("{text}?"))]));
    all.push(Candidate::Text(String::new()));
    all.push(Candidate::Text("?".to_owned()));
    all
}

#[expect(clippy::cast_precision_loss, reason = "only numbers that are small are tried")]
fn as_float(number: i128) -> f64 {
    number as f64
}

/// Shows every node of a symbol.
fn mentioned(symbols: &Symbols, symbol: Symbol, depth: u32, see: &mut dyn FnMut(&Node)) {
    let (Some(depth), Some(node)) = (depth.checked_sub(1), symbols.node(symbol)) else { return };
    see(node);
    match node {
        Node::Apply(_, parts) => parts.iter().for_each(|part| mentioned(symbols, *part, depth, see)),
        Node::Item(of, index, _) => [of, index].into_iter().for_each(|part| mentioned(symbols, *part, depth, see)),
        Node::Attribute(of, _, _) => mentioned(symbols, *of, depth, see),
        _ => {}
    }
}

/// The unknown values that a symbol depends on.
fn collect(symbols: &Symbols, symbol: Symbol, depth: u32, leaves: &mut BTreeSet<Symbol>) {
    let (Some(depth), Some(node)) = (depth.checked_sub(1), symbols.node(symbol)) else { return };
    match node {
        Node::Attribute(of, name, 0) if &**name == "shape" => collect(symbols, *of, depth, leaves),
        Node::Item(of, index, 0) if is_shape(symbols, *of) || is_part(symbols, *index) => {
            collect(symbols, *of, depth, leaves);
        }
        Node::Fresh(..) | Node::Attribute(..) | Node::Item(..) => {
            leaves.insert(symbol);
        }
        Node::Apply(_, parts) => parts.iter().for_each(|part| collect(symbols, *part, depth, leaves)),
        Node::Int(_) | Node::Text(_) | Node::Constant(_) => {}
    }
}

fn is_shape(symbols: &Symbols, symbol: Symbol) -> bool {
    matches!(symbols.node(symbol), Some(Node::Attribute(_, name, 0)) if &**name == "shape")
}

/// Whether an index takes a part of an array and no element.
fn is_part(symbols: &Symbols, index: Symbol) -> bool {
    match symbols.node(index) {
        Some(Node::Constant(none)) => &**none == "None",
        Some(Node::Apply(name, _)) => &**name == "slice",
        _ => false,
    }
}

fn truth(value: &Candidate) -> Option<bool> {
    match value {
        Candidate::None => Some(false),
        Candidate::Bool(truth) => Some(*truth),
        Candidate::Number(number) => Some(*number != 0.0),
        Candidate::Text(text) => Some(!text.is_empty()),
        Candidate::Many(length) => Some(*length > 0.0),
        Candidate::Raises => None,
    }
}

fn number(value: &Candidate) -> Option<f64> {
    match value {
        Candidate::Number(number) => Some(*number),
        Candidate::Bool(truth) => Some(f64::from(u8::from(*truth))),
        _ => None,
    }
}

/// What a symbol is once the unknown values are these; nothing where that cannot be computed.
fn value(symbols: &Symbols, symbol: Symbol, trials: &Trials, depth: u32) -> Option<Candidate> {
    let depth = depth.checked_sub(1)?;
    if let Some(trial) = trials.get(&symbol) {
        return Some(trial.clone());
    }
    match symbols.node(symbol)? {
        Node::Int(number) => Some(Candidate::Number(as_float(*number))),
        Node::Text(text) => Some(Candidate::Text(text.to_string())),
        Node::Constant(written) => match &**written {
            "None" => Some(Candidate::None),
            "True" => Some(Candidate::Bool(true)),
            "False" => Some(Candidate::Bool(false)),
            written => written.parse().ok().map(Candidate::Number),
        },
        Node::Item(of, index, 0) if is_shape(symbols, *of) => {
            let Some(Node::Attribute(array, ..)) = symbols.node(*of) else { return None };
            matches!(symbols.node(*index), Some(Node::Int(0))).then(|| length(symbols, *array, trials, depth)).flatten()
        }
        Node::Apply(name, parts) => apply(symbols, name, parts, trials, depth),
        _ => None,
    }
}

fn apply(symbols: &Symbols, name: &str, parts: &[Symbol], trials: &Trials, depth: u32) -> Option<Candidate> {
    let of = |at: usize| value(symbols, *parts.get(at)?, trials, depth);
    match (name, parts) {
        ("not", [_]) => Some(truth(&of(0)?).map_or(Candidate::Raises, |truth| Candidate::Bool(!truth))),
        ("bool", [_]) => Some(truth(&of(0)?).map_or(Candidate::Raises, Candidate::Bool)),
        ("is None", [_]) => Some(Candidate::Bool(of(0)? == Candidate::None)),
        ("==", [_, _]) => {
            let (a, b) = (of(0)?, of(1)?);
            match (number(&a), number(&b)) {
                (Some(a), Some(b)) => Some(Candidate::Bool(a.total_cmp(&b).is_eq())),
                _ if [&a, &b].iter().any(|side| matches!(side, Candidate::Many(_))) => None,
                _ => Some(Candidate::Bool(a == b)),
            }
        }
        ("<", [_, _]) => match (of(0)?, of(1)?) {
            (Candidate::Text(a), Candidate::Text(b)) => Some(Candidate::Bool(a < b)),
            (a, b) if [&a, &b].iter().any(|side| matches!(side, Candidate::Many(_))) => None,
            (a, b) => Some(match (number(&a), number(&b)) {
                (Some(a), Some(b)) => Candidate::Bool(a < b),
                _ => Candidate::Raises,
            }),
        },
        ("+" | "-" | "*" | "%" | "//" | "min" | "max", [_, _]) => {
            let (a, b) = (number(&of(0)?)?, number(&of(1)?)?);
            let is_divided = matches!(name, "%" | "//");
            let result = match name {
                "+" => a + b,
                "-" => a - b,
                "*" => a * b,
                _ if is_divided && b.abs() < f64::EPSILON => return Some(Candidate::Raises),
                "%" => a - b * (a / b).floor(),
                "//" => (a / b).floor(),
                "min" => a.min(b),
                _ => a.max(b),
            };
            Some(Candidate::Number(result))
        }
        ("len", [sequence]) => length(symbols, *sequence, trials, depth),
        ("in", [_, choices]) => {
            let Some(Node::Apply(list, choices)) = symbols.node(*choices) else { return None };
            if !matches!(&**list, "tuple" | "list") {
                return None;
            }
            let needle = of(0)?;
            let choices: Option<Vec<Candidate>> =
                choices.iter().map(|choice| value(symbols, *choice, trials, depth)).collect();
            Some(Candidate::Bool(choices?.contains(&needle)))
        }
        ("has element", [sequence, _]) => {
            let (at, length) = (number(&of(1)?)?, length(symbols, *sequence, trials, depth)?);
            Some(number(&length).map_or(Candidate::Raises, |length| Candidate::Bool(at < length)))
        }
        _ => None,
    }
}

/// The number of elements of a symbol's value.
fn length(symbols: &Symbols, symbol: Symbol, trials: &Trials, depth: u32) -> Option<Candidate> {
    let depth = depth.checked_sub(1)?;
    let number_of = |symbol: &Symbol| number(&value(symbols, *symbol, trials, depth)?);
    let is_none = |symbol: &Symbol| matches!(symbols.node(*symbol), Some(Node::Constant(none)) if &**none == "None");
    match symbols.node(symbol)? {
        Node::Item(_, index, 0) if is_none(index) => Some(Candidate::Number(1.0)),
        Node::Apply(name, parts) if matches!(&**name, "tuple" | "list") => {
            Some(Candidate::Number(as_float(i128::try_from(parts.len()).ok()?)))
        }
        Node::Apply(name, parts) if &**name == "range" => match &**parts {
            [stop] => number_of(stop).map(|stop| Candidate::Number(stop.max(0.0))),
            [start, stop] => Some(Candidate::Number((number_of(stop)? - number_of(start)?).max(0.0))),
            _ => None,
        },
        _ => Some(match value(symbols, symbol, trials, depth)? {
            Candidate::Many(length) => Candidate::Number(length),
            Candidate::Text(text) => Candidate::Number(as_float(i128::try_from(text.chars().count()).ok()?)),
            _ => Candidate::Raises,
        }),
    }
}
