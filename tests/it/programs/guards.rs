//! Conditions that exclude each other in different forms, and loops that run once.
//!
//! **Invariant:** without a mistake, each key is drawn from once, because of what the conditions say about numbers,
//! strings and lengths.

use super::scope::Scope;
use super::writer::Writer;

/// A condition, one that excludes it, and one that does not.
const NUMBERS: &[[&str; 3]] = &[
    ["N == 1", "N != 1", "N < 2"],
    ["N > 1", "N <= 1", "N >= 1"],
    ["N >= 1", "N < 1", "N < 2"],
    ["max(N, 1) == 1", "N > 1", "N >= 1"],
    ["min(N, 2) == 2", "N < 2", "N > 1"],
    ["N % 2 == 0", "N % 2 == 1", "N > 1"],
    ["N % 2", "N % 2 == 0", "N % 2 != 0"],
    ["N + 1 > 2", "N < 2", "N > 1"],
    ["0 < N < 3", "N <= 0 or N >= 3", "N == 2"],
    ["N in (1, 2)", "N == 3", "N == 2"],
    ["N - 1 == 1", "N == 3", "N == 2"],
    ["N > 2.5", "N < 2.5", "N > 2"],
    ["not N", "N > 0", "N < 1"],
    ["N <= 1", "not N <= 1", "not N > 1"],
];

const MODES: &[[&str; 3]] = &[
    ["M == \"train\"", "M.startswith(\"ev\")", "M.startswith(\"tr\")"],
    ["M.lower() == \"eval\"", "M == \"train\"", "M != \"train\""],
    ["M in (\"train\", \"eval\")", "M == \"test\"", "M == \"eval\""],
    ["M in {\"train\", \"test\"}", "M not in (\"test\", \"train\")", "M not in (\"test\", \"valid\")"],
    ["M.startswith(\"t\")", "not M.startswith(\"t\")", "M.startswith(\"tr\")"],
    ["M.upper() != \"TRAIN\"", "M == \"train\"", "M == \"eval\""],
    ["len(M) == 5", "M == \"eval\"", "M == \"train\""],
    ["M.endswith(\"t\")", "M == \"train\"", "M == \"test\""],
];

const LISTS: &[[&str; 3]] = &[
    ["len(L) == 0", "L", "not L"],
    ["not L", "len(L) > 0", "len(L) < 1"],
    ["L", "len(L) == 0", "len(L) != 0"],
    ["len(L) > 1", "len(L) <= 1", "len(L) == 2"],
    ["len(L)", "not L", "L"],
    ["bool(L)", "len(L) < 1", "len(L) > 1"],
];

const FLAGS: &[[&str; 3]] = &[
    ["F and N > 1", "not F", "F"],
    ["not (F or N > 1)", "F", "not F"],
    ["F is True", "not F", "F"],
    ["bool(F)", "F is False", "F"],
    ["(N > 1) == True", "N <= 1", "N > 1"],
    ["isinstance(N, int) and F", "not F", "F"],
];

/// Two draws from one key under conditions.
pub fn guarded(w: &mut Writer, scope: &mut Scope) {
    let (Some(number), Some(flag)) =
        (scope.numbers.first().cloned(), scope.flags.iter().find(|flag| *flag != "mode").cloned())
    else {
        return;
    };
    let has_mode = scope.flags.iter().any(|flag| flag == "mode");
    let list = w.name(&["rows", "batches", "parts", "items"]);
    let table = match w.dice.below(8) {
        0..=2 => NUMBERS,
        3 | 4 if has_mode => MODES,
        5 => FLAGS,
        _ => LISTS,
    };
    let [first, contrary, beside] = table[w.dice.below(table.len())];
    let Some(key) = w.take(scope) else { return };
    if key.contains('(') {
        let (name, drawn) = (w.value_name(), w.draw(&key, scope));
        w.put(&format!("{name} = {drawn}"));
        return scope.values.push(name);
    }
    if std::ptr::eq(table, LISTS) {
        w.put(&format!("{list} = [jnp.ones(3)] * {number}"));
    }
    let spelled = |condition: &str| -> String {
        condition
            .split_inclusive(|c: char| !c.is_alphanumeric() && c != '_')
            .map(|word| {
                let end = word.trim_end_matches(|c: char| !c.is_alphanumeric() && c != '_');
                let rest = &word[end.len()..];
                match end {
                    "N" => format!("{number}{rest}"),
                    "M" => format!("mode{rest}"),
                    "L" => format!("{list}{rest}"),
                    "F" => format!("{flag}{rest}"),
                    _ => word.to_owned(),
                }
            })
            .collect()
    };
    let second = if w.slips() { beside } else { contrary };
    let (first, second) = (spelled(first), spelled(second));
    let (one, other) = (w.draw(&key, scope), w.draw(&key, scope));
    let name = w.value_name();
    match w.dice.below(5) {
        // A flag that is computed first.
        0 => {
            let known = w.name(&["ready", "first", "wanted", "small"]);
            w.put(&format!("{known} = {first}\n{name} = jnp.zeros(3)"));
            w.put(&format!("if {known}:\n    {name} = {one}\nif {second}:\n    {name} = {other}"));
        }
        1 => w.put(&format!(
            "{name} = {one} if {first} else jnp.zeros(3)\n{name} = {name} + ({other} if {second} else 0.0)"
        )),
        // One of them in a separate function.
        2 => {
            let function = w.name(&["noisy", "later", "extra"]);
            w.put(&format!("def {function}(x):\n    if {second}:\n        return x + {other}\n    return x"));
            w.put(&format!("{name} = jnp.zeros(3)\nif {first}:\n    {name} = {one}\n{name} = {function}({name})"));
        }
        // The second one, after the first is done.
        3 => w.put(&format!(
            "{name} = jnp.zeros(3)\ntry:\n    if {first}:\n        {name} = {one}\nfinally:\n    if {second}:\n        {name} = {other}"
        )),
        _ => w.put(&format!(
            "{name} = jnp.zeros(3)\nif {first}:\n    {name} = {one}\nif {second}:\n    {name} = {other}"
        )),
    }
    scope.values.push(name);
}

/// A loop of one iteration, or of more if there is a mistake.
pub fn once(w: &mut Writer, scope: &mut Scope) {
    let Some(number) = scope.numbers.first().cloned() else { return };
    let Some(key) = w.take(scope) else { return };
    let slip = w.slips();
    let drawn = w.draw(&key, scope);
    if key.contains('(') {
        let name = w.value_name();
        w.put(&format!("{name} = {drawn}"));
        return scope.values.push(name);
    }
    let (name, item) = (w.value_name(), w.name(&["row", "step", "part"]));
    w.put(&format!("{name} = jnp.zeros(3)"));
    let headers: &[[&str; 2]] = &[
        ["for I in range(1):", "for I in range(2):"],
        ["for I in range(min(N, 1)):", "for I in range(N):"],
        ["for I in [jnp.ones(3)]:", "for I in [jnp.ones(3), jnp.zeros(3)]:"],
        ["for I in jnp.ones((3, 3))[:1]:", "for I in jnp.ones((3, 3))[1:]:"],
        ["for I in jnp.zeros((1, 3)):", "for I in jnp.zeros((3, 1)):"],
        ["for I in jnp.ones(3)[None]:", "for I in jnp.ones((3, 1)):"],
        ["for I, _ in zip(range(N), [0]):", "for I, _ in zip(range(N), [0, 1]):"],
        ["for I in range(N, N + 1):", "for I in range(N, N + 2):"],
        ["for I in jnp.expand_dims(jnp.ones(3), 0):", "for I in jnp.arange(3):"],
    ];
    match w.dice.below(9) {
        0 => {
            let last = if slip { format!("if {number} > 1:\n        break") } else { "break".to_owned() };
            let more = if slip { format!("\n    {number} += 1") } else { String::new() };
            w.put(&format!("while True:\n    {name} = {drawn}{more}\n    {last}"));
        }
        1 => {
            let bound = if slip { format!("{number} - 2") } else { format!("{number} - 1") };
            w.put(&format!(
                "for {item} in range({number}):\n    if {item} < {bound}:\n        continue\n    {name} = {drawn}"
            ));
        }
        2 => {
            let bound = if slip { ">= 0" } else { "== 0" };
            w.put(&format!("for {item} in range({number}):\n    if {item} {bound}:\n        {name} = {drawn}"));
        }
        3 => {
            let least = if slip { 3 } else { 2 };
            w.put(&format!(
                "if {number} < {least}:\n    for {item} in range({number}):\n        {name} = {name} + {drawn}"
            ));
        }
        4 => {
            let xs = if slip { "jnp.ones((2, 3))" } else { "jnp.ones((1, 3))" };
            let body = w.name(&["body", "step_fn", "one"]);
            w.put(&format!("def {body}(x):\n    return x + {drawn}\n{name} = J.lax.map({body}, {xs})[0]"));
        }
        5 => {
            let xs = if slip { "jnp.arange(2)" } else { "jnp.arange(1)" };
            let body = w.name(&["body", "step_fn", "one"]);
            w.put(&format!(
                "def {body}(carry, x):\n    return carry + {drawn}, None\n{name}, _ = J.lax.scan({body}, jnp.zeros(3), {xs})"
            ));
        }
        6 => {
            let xs = w.name(&["xs", "batch", "table"]);
            let least = if slip { 2 } else { 1 };
            w.put(&format!(
                "{xs} = jnp.ones((max({number}, 1), 3))\nif {xs}.shape[0] <= {least}:\n    {name} = J.lax.map(lambda x: x + {drawn}, {xs})[0]"
            ));
        }
        _ => {
            let header = headers[w.dice.below(headers.len())][usize::from(slip)];
            let header = header
                .replace("for I", &format!("for {item}"))
                .replace('N', &number)
                .replace(&format!("{number}one"), "None");
            w.put(&format!("{header}\n    {name} = {name} + {drawn}"));
        }
    }
    scope.values.push(name);
}
