//! Statements that use keys, as people write them; now and then one uses a key that it should not.
//!
//! **Invariant:** with a sloppiness of zero no program draws twice from one key.

use super::scope::Scope;
use super::writer::{Effect, Writer};

/// Several statements.
pub fn statements(w: &mut Writer, scope: &mut Scope, count: usize) {
    for _ in 0..count {
        if w.budget == 0 {
            return;
        }
        w.budget -= 1;
        statement(w, scope);
    }
}

fn statement(w: &mut Writer, scope: &mut Scope) {
    // Keys are made as fast as they are used.
    if scope.fresh.len() + scope.arrays.len() < 2 && w.dice.percent(70) {
        return derive(w, scope);
    }
    if !scope.fresh_unless.is_empty() && w.dice.percent(60) {
        return draw_on_other_paths(w, scope);
    }
    let can_nest = w.depth < 5;
    match w.dice.below(39) {
        0..=5 => draw(w, scope),
        6..=8 => derive(w, scope),
        9 | 10 if can_nest => branch(w, scope),
        11 if can_nest => one_sided(w, scope),
        12 if can_nest => early_exit(w, scope),
        13..=16 if can_nest => super::repeats::loops(w, scope),
        17 => super::repeats::comprehension(w, scope),
        18..=20 => super::transforms::transform(w, scope),
        21 => alias(w, scope),
        22 => container(w, scope),
        23 if can_nest => attempt(w, scope),
        24 | 25 => closure(w, scope),
        26 => ternary(w, scope),
        27 => walrus(w, scope),
        28 if can_nest => matching(w, scope),
        29 => threaded(w, scope),
        30 => supplier(w, scope),
        31 => several(w, scope),
        32 => super::repeats::generator(w, scope),
        33 | 34 if can_nest => super::guards::once(w, scope),
        35..=37 if can_nest => super::guards::guarded(w, scope),
        _ => base(w, scope),
    }
}

/// `x = normal(key, …)`.
pub fn draw(w: &mut Writer, scope: &mut Scope) {
    let Some(key) = w.take(scope) else { return };
    let drawn = w.draw(&key, scope);
    match w.dice.below(6) {
        0 if !scope.values.is_empty() && !scope.in_loop => {
            let value = w.value(scope);
            w.put(&format!("{value} = {value} + {drawn}"));
        }
        1 => w.put(&format!("print({drawn})")),
        _ => {
            let name = w.value_name();
            w.put(&format!("{name} = {drawn}"));
            scope.values.push(name);
        }
    }
}

/// Two draws in one statement.
fn several(w: &mut Writer, scope: &mut Scope) {
    let (Some(first), Some(second)) = (w.take(scope), w.take(scope)) else { return };
    let (one, other) = (w.draw(&first, scope), w.draw(&second, scope));
    let name = w.value_name();
    match w.dice.below(5) {
        0 => w.put(&format!("{name} = ({one}) + ({other})")),
        1 => w.put(&format!("{name} = jnp.stack([{one}, {other}]).mean(axis=0)")),
        2 => w.put(&format!("{name} = dict(a={one}, b={other})[\"a\"]")),
        3 => w.put(&format!("{name} = jnp.where(\n    ({one}) > 0,\n    {other},\n    0.0,\n)")),
        _ => {
            let more = w.value_name();
            w.put(&format!("{name}, {more} = {one}, {other}"));
            scope.values.push(more);
        }
    }
    scope.values.push(name);
}

/// New keys from an old one.
pub fn derive(w: &mut Writer, scope: &mut Scope) {
    let splitters: Vec<String> =
        w.helpers.iter().filter(|helper| helper.effect == Effect::Splits).map(|helper| helper.name.clone()).collect();
    let Some(key) = w.take(scope) else { return };
    let is_name = key.chars().all(|c| c.is_alphanumeric() || c == '_');
    match w.dice.below(9) {
        0..=2 if is_name && !scope.in_loop => {
            let sub = w.key_name();
            match w.dice.below(4) {
                0 => w.put(&format!("{sub}, {key} = R.split({key})")),
                1 => w.put(&format!("({key}, {sub}) = R.split({key}, 2)")),
                _ => w.put(&format!("{key}, {sub} = R.split({key})")),
            }
            scope.bind(&key);
            scope.bind(&sub);
        }
        3 if is_name && !scope.in_loop => {
            let keys = w.name(&["subs", "subkeys", "ks", "rngs"]);
            let length = w.length();
            w.put(&format!("{key}, *{keys} = R.split({key}, {})", length + 1));
            scope.bind(&key);
            scope.arrays.push((keys, length));
        }
        4 | 5 => {
            let keys = w.name(&["keys", "ks", "rngs", "subkeys"]);
            let length = w.length();
            match w.dice.below(3) {
                0 => w.put(&format!("{keys} = R.split({key}, num={length})")),
                1 => w.put(&format!("{keys} = list(R.split({key}, {length}))")),
                _ => w.put(&format!("{keys} = R.split({key}, {length})")),
            }
            scope.arrays.push((keys, length));
        }
        6 if !splitters.is_empty() => {
            let splitter = splitters[w.dice.below(splitters.len())].clone();
            let (a, b) = (w.key_name(), w.key_name());
            w.put(&format!("{a}, {b} = {splitter}({key})"));
            scope.bind(&a);
            scope.bind(&b);
        }
        _ => {
            let names: Vec<String> = (0..w.length()).map(|_| w.key_name()).collect();
            let count = if names.len() == 2 { String::new() } else { format!(", {}", names.len()) };
            w.put(&format!("{} = R.split({key}{count})", names.join(", ")));
            for name in &names {
                scope.bind(name);
            }
        }
    }
}

/// A key is kept as the base of folds.
fn base(w: &mut Writer, scope: &mut Scope) {
    let Some(key) = w.take(scope) else { return };
    if key.contains("fold_in") || w.dice.percent(30) {
        let (a, b) = (w.key_name(), w.key_name());
        let step = if w.slips() { 1 } else { 2 };
        let base = w.key_name();
        w.put(&format!("{base} = {key}\n{a} = R.fold_in({base}, 1)\n{b} = R.fold_in({base}, {step})"));
        scope.bind(&a);
        scope.bind(&b);
        return;
    }
    // A base is neither fresh nor used: a draw from it is next to its folds.
    scope.used.retain(|other| *other != key);
    scope.bases.push((key, 0));
}

fn branch(w: &mut Writer, scope: &mut Scope) {
    let (condition, _) = w.condition(scope);
    let arms = 2 + w.dice.below(2);
    let mut joined: Option<Scope> = None;
    for arm in 0..arms {
        let header = match arm {
            0 => format!("if {condition}:"),
            1 if arms == 3 => format!("elif {}:", w.condition(scope).0),
            _ => "else:".to_owned(),
        };
        let mut inner = scope.clone();
        let count = 1 + w.dice.below(2);
        let leaves = w.block(&header, |w| {
            statements(w, &mut inner, count);
            w.dice.percent(15) && leave(w, &mut inner)
        });
        if !leaves {
            joined = Some(match joined {
                None => inner,
                Some(other) => other.join(&inner),
            });
        }
    }
    let Some(joined) = joined else {
        // No path continues; the code after it never runs.
        w.budget = 0;
        return;
    };
    // Names that only some arm bound are not to be used.
    let outer = scope.clone();
    *scope = joined;
    let is_known = |name: &String| {
        let root = name.split(['[', '.']).next().unwrap_or_default();
        outer.fresh.iter().chain(&outer.used).any(|key| key.split(['[', '.']).next() == Some(root))
            || outer.arrays.iter().any(|(array, _)| array == root)
    };
    scope.fresh.retain(|key| is_known(key));
    scope.used.retain(|key| is_known(key));
    scope.arrays.retain(|(array, _)| outer.arrays.iter().any(|(other, _)| other == array));
    scope.values.retain(|value| outer.values.contains(value));
}

/// `if flag: draw`, with nothing on the other side.
fn one_sided(w: &mut Writer, scope: &mut Scope) {
    let (condition, contrary) = w.condition(scope);
    let Some(key) = w.take(scope) else { return };
    let drawn = w.draw(&key, scope);
    let name = w.value_name();
    w.put(&format!("{name} = jnp.zeros(3)"));
    w.block(&format!("if {condition}:"), |w| w.put(&format!("{name} = {drawn}")));
    scope.values.push(name);
    if !condition.contains(".mean()") && !key.contains('(') {
        scope.fresh_unless.push((contrary, key));
    }
}

fn draw_on_other_paths(w: &mut Writer, scope: &mut Scope) {
    let (contrary, key) = scope.fresh_unless.remove(0);
    let drawn = w.draw(&key, scope);
    let name = w.value_name();
    let contrary = if w.slips() { w.condition(scope).0 } else { contrary };
    w.put(&format!("{name} = jnp.ones(3)"));
    w.block(&format!("if {contrary}:"), |w| w.put(&format!("{name} = {drawn}")));
    scope.values.push(name);
}

/// Leaves the function or the iteration, if something can be left.
fn leave(w: &mut Writer, scope: &mut Scope) -> bool {
    if scope.in_loop && w.dice.percent(60) {
        let word = w.dice.pick(&["continue", "break"]).to_owned();
        w.put(&word);
        return true;
    }
    if scope.result.is_none() {
        return false;
    }
    let value = w.value(scope);
    w.put(&format!("return {value}"));
    true
}

fn early_exit(w: &mut Writer, scope: &mut Scope) {
    if scope.result.is_none() && !scope.in_loop {
        return draw(w, scope);
    }
    let (condition, _) = w.condition(scope);
    let mut inner = scope.clone();
    w.block(&format!("if {condition}:"), |w| {
        draw(w, &mut inner);
        leave(w, &mut inner);
    });
}

fn alias(w: &mut Writer, scope: &mut Scope) {
    let Some(key) = w.take(scope) else { return };
    let name = w.key_name();
    match w.dice.below(3) {
        0 => w.put(&format!("{name} = {key}")),
        1 => {
            let other = w.key_name();
            w.put(&format!("{other} = {name} = {key}"));
            scope.used.push(other);
        }
        _ => w.put(&format!("({name},) = ({key},)")),
    }
    scope.bind(&name);
}

fn container(w: &mut Writer, scope: &mut Scope) {
    let (Some(first), Some(second)) = (w.take(scope), w.take(scope)) else { return };
    let name = w.name(&["rngs", "streams", "state", "bag"]);
    match w.dice.below(4) {
        0 => {
            w.put(&format!("{name} = {{\"params\": {first}, \"dropout\": {second}}}"));
            scope.fresh.push(format!("{name}[\"params\"]"));
            scope.fresh.push(format!("{name}[\"dropout\"]"));
        }
        1 => {
            w.put(&format!("{name} = [{first}, {second}]"));
            scope.fresh.push(format!("{name}[0]"));
            scope.fresh.push(format!("{name}[-1]"));
        }
        2 => {
            w.put(&format!("{name} = dict(a={first}, b={second})\n{name}[\"c\"] = {name}.pop(\"a\")"));
            scope.fresh.push(format!("{name}[\"b\"]"));
            scope.fresh.push(format!("{name}[\"c\"]"));
        }
        _ => {
            w.put(&format!("{name} = ({first}, jnp.zeros(3), {second})"));
            let (a, b) = (w.key_name(), w.key_name());
            w.put(&format!("{a}, _, {b} = {name}"));
            scope.bind(&a);
            scope.bind(&b);
        }
    }
}

fn attempt(w: &mut Writer, scope: &mut Scope) {
    let Some(key) = w.take(scope) else { return };
    let drawn = w.draw(&key, scope);
    let name = w.value_name();
    match w.dice.below(4) {
        0 => {
            w.put(&format!("try:\n    {name} = {drawn}\nexcept ValueError:\n    {name} = jnp.zeros(3)"));
        }
        1 => {
            let Some(other) = w.take(scope) else { return };
            let last = w.draw(&other, scope);
            w.put(&format!("try:\n    {name} = {drawn}\nfinally:\n    print({last})"));
        }
        2 => {
            let Some(other) = w.take(scope) else { return };
            let last = w.draw(&other, scope);
            w.put(&format!("try:\n    {name} = jnp.ones(3) / 2\nexcept ZeroDivisionError:\n    {name} = jnp.zeros(3)\nelse:\n    {name} = {drawn}\nfinally:\n    print({last})"));
        }
        _ => {
            let (condition, _) = w.condition(scope);
            let Some(other) = w.take(scope) else { return };
            let last = w.draw(&other, scope);
            w.put(&format!(
                "try:\n    if {condition}:\n        raise ValueError(\"bad\")\n    {name} = {drawn}\nexcept ValueError:\n    {name} = {last}"
            ));
        }
    }
    scope.values.push(name);
}

/// A function that captures a key, called once.
fn closure(w: &mut Writer, scope: &mut Scope) {
    let Some(key) = w.take(scope) else { return };
    let function = w.name(&["perturb", "add_noise", "apply", "sample_fn", "init"]);
    let value = w.value(scope);
    let inner = Scope { values: vec!["a".to_owned()], ..Scope::default() };
    let mut calls = if w.slips() { 2 } else { 1 };
    match w.dice.below(6) {
        0 => {
            let drawn = w.draw(&key, &inner);
            w.put(&format!("{function} = lambda a: {drawn}"));
        }
        1 => {
            let drawn = w.draw("k", &inner);
            w.put(&format!("{function} = partial(lambda k, a: {drawn}, {key})"));
        }
        2 => {
            let drawn = w.draw("k", &inner);
            w.put(&format!("def {function}(a, k={key}):\n    return {drawn}"));
        }
        3 => {
            let drawn = w.draw(&key, &inner);
            let decorator = w.dice.pick(&["@J.jit", "@J.checkpoint", "@partial(J.jit)"]).to_owned();
            w.put(&format!("{decorator}\ndef {function}(a):\n    return {drawn}"));
        }
        4 => {
            // The key is a parameter, so that every call has its own.
            let drawn = w.draw("k", &inner);
            w.put(&format!("@J.jit\ndef {function}(a, k):\n    return {drawn}"));
            let name = w.value_name();
            w.put(&format!("{name} = {function}({value}, {key})"));
            if let Some(other) = w.take(scope) {
                w.put(&format!("{name} = {name} + {function}({name}, k={other})"));
            }
            scope.values.push(name);
            return;
        }
        _ => {
            let drawn = w.draw(&key, &inner);
            w.put(&format!("def {function}(a):\n    b = {drawn}\n    return b * 2"));
        }
    }
    if scope.in_loop {
        calls = 1;
    }
    for _ in 0..calls {
        let name = w.value_name();
        w.put(&format!("{name} = {function}({value})"));
        scope.values.push(name);
    }
}

fn ternary(w: &mut Writer, scope: &mut Scope) {
    let (condition, _) = w.condition(scope);
    let Some(key) = w.take(scope) else { return };
    let (one, other) = (w.draw(&key, scope), w.draw(&key, scope));
    let name = w.value_name();
    match w.dice.below(4) {
        0 => {
            let k = w.key_name();
            let Some(second) = w.take(scope) else { return };
            w.put(&format!("{k} = {key} if {condition} else {second}"));
            scope.bind(&k);
            return;
        }
        1 => w.put(&format!("{name} = {one} if {condition} else jnp.zeros(3)")),
        2 => {
            w.put(&format!(
                "{name} = ({condition}) and ({one})\nif {name} is False or {name} is None:\n    {name} = jnp.zeros(3)"
            ));
            return;
        }
        _ => w.put(&format!("{name} = {one} if {condition} else {other}")),
    }
    scope.values.push(name);
}

fn walrus(w: &mut Writer, scope: &mut Scope) {
    let Some(key) = w.take(scope) else { return };
    let drawn = w.draw(&key, scope);
    let name = w.value_name();
    w.put(&format!("if ({name} := {drawn}).mean() > 0:\n    print({name})"));
    scope.values.push(name);
}

fn matching(w: &mut Writer, scope: &mut Scope) {
    let Some(mode) = scope.flags.iter().find(|flag| *flag == "mode").cloned() else { return draw(w, scope) };
    let Some(key) = w.take(scope) else { return };
    let name = w.value_name();
    w.put(&format!("match {mode}:"));
    w.depth += 1;
    let words = ["\"train\"", "\"eval\" | \"valid\"", "_"];
    for word in words {
        let drawn = if w.dice.percent(70) { w.draw(&key, scope) } else { "jnp.zeros(3)".to_owned() };
        w.put(&format!("case {word}:\n    {name} = {drawn}"));
    }
    w.depth -= 1;
    scope.values.push(name);
}

/// A helper that returns the next key.
fn threaded(w: &mut Writer, scope: &mut Scope) {
    let threads: Vec<String> =
        w.helpers.iter().filter(|helper| helper.effect == Effect::Threads).map(|helper| helper.name.clone()).collect();
    let folds: Vec<String> =
        w.helpers.iter().filter(|helper| helper.effect == Effect::Folds).map(|helper| helper.name.clone()).collect();
    if threads.is_empty() || (w.dice.percent(40) && !folds.is_empty()) {
        if folds.is_empty() {
            return draw(w, scope);
        }
        let folder = folds[w.dice.below(folds.len())].clone();
        let Some(key) = w.take(scope) else { return };
        let (a, b) = (w.key_name(), w.key_name());
        let second = if w.slips() { 3 } else { 4 };
        let base = w.key_name();
        w.put(&format!("{base} = {key}\n{a} = {folder}({base}, 3)\n{b} = {folder}({base}, {second})"));
        scope.bind(&a);
        scope.bind(&b);
        return;
    }
    let helper = threads[w.dice.below(threads.len())].clone();
    let Some(key) = w.take(scope) else { return };
    let is_name = key.chars().all(|c| c.is_alphanumeric() || c == '_') && !scope.in_loop;
    let target = if is_name && !w.slips() { key.clone() } else { w.key_name() };
    let name = w.value_name();
    w.put(&format!("{target}, {name} = {helper}({key})"));
    scope.bind(&target);
    scope.values.push(name);
}

/// `def next_key(): nonlocal …`.
fn supplier(w: &mut Writer, scope: &mut Scope) {
    if scope.in_loop {
        return draw(w, scope);
    }
    let Some(key) = w.take(scope) else { return };
    let state = w.name(&["state_key", "root", "carry_key"]);
    let function = w.name(&["next_key", "fresh_key", "rng_next"]);
    let slip = w.slips();
    match w.dice.below(3) {
        0 => {
            let rebound = if slip { "_" } else { state.as_str() };
            let extra = if slip { String::new() } else { format!("    nonlocal {state}\n") };
            w.put(&format!(
                "{state} = {key}\ndef {function}():\n{extra}    {rebound}, out = R.split({state})\n    return out"
            ));
        }
        1 => {
            let data = if slip { "0" } else { "count[0]" };
            w.put(&format!(
                "{state} = {key}\ncount = [0]\ndef {function}():\n    count[0] += 1\n    return R.fold_in({state}, {data})"
            ));
        }
        _ => {
            w.put(&format!("{state} = iter(R.split({key}, 4))\ndef {function}():\n    return next({state})"));
        }
    }
    let inner = Scope::default();
    for _ in 0..2 {
        let name = w.value_name();
        let drawn = w.draw(&format!("{function}()"), &inner);
        w.put(&format!("{name} = {drawn}"));
        scope.values.push(name);
    }
}
