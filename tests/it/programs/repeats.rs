//! Loops, comprehensions and generators.

use super::scope::Scope;
use super::statements::{draw, statements};
use super::writer::Writer;

/// One of the loops that people write.
#[expect(clippy::too_many_lines, reason = "a list of shapes, one arm each")]
pub fn loops(w: &mut Writer, scope: &mut Scope) {
    if scope.indices.len() >= 2 {
        return draw(w, scope);
    }
    let Some(key) = w.take(scope) else { return };
    let is_name = key.chars().all(|c| c.is_alphanumeric() || c == '_');
    let mut inner = scope.repeated();
    inner.in_loop = true;
    let count = match scope.numbers.first() {
        Some(number) if w.dice.percent(60) => number.clone(),
        _ => (2 + w.dice.below(2)).to_string(),
    };
    let index = w.name(&["i", "step", "t", "epoch"]);
    let sub = w.key_name();
    let body = 1 + w.dice.below(2);
    match w.dice.below(9) {
        // The key is rebound in every iteration.
        0..=2 if is_name && !scope.in_loop => {
            inner.indices.push(index.clone());
            inner.bind(&sub);
            let slip = w.slips();
            w.block(&format!("for {index} in range({count}):"), |w| {
                let target = if slip { "_" } else { key.as_str() };
                if w.dice.percent(15) {
                    let (condition, _) = w.condition(&Scope { values: Vec::new(), ..inner.clone() });
                    w.put(&format!("if {condition}:\n    continue"));
                }
                w.put(&format!("{target}, {sub} = R.split({key})"));
                draw(w, &mut inner);
                statements(w, &mut inner, body);
            });
            if !slip {
                scope.bind(&key);
            }
        }
        3 => {
            inner.indices.push(index.clone());
            inner.bind(&sub);
            let slip = w.slips();
            w.block(&format!("for {index} in range({count}):"), |w| {
                let data = if slip { "0".to_owned() } else { index.clone() };
                w.put(&format!("{sub} = R.fold_in({key}, {data})"));
                draw(w, &mut inner);
                statements(w, &mut inner, body);
            });
        }
        4 => {
            inner.bind(&sub);
            w.block(&format!("for {sub} in R.split({key}, {count}):"), |w| {
                draw(w, &mut inner);
                statements(w, &mut inner, body);
            });
        }
        5 => {
            inner.indices.push(index.clone());
            inner.bind(&sub);
            w.block(&format!("for {index}, {sub} in enumerate(R.split({key}, {count})):"), |w| {
                draw(w, &mut inner);
                statements(w, &mut inner, body);
            });
        }
        6 => {
            let keys = w.name(&["keys", "step_keys", "rngs"]);
            inner.indices.push(index.clone());
            let at = if w.slips() { "0".to_owned() } else { index.clone() };
            inner.fresh.push(format!("{keys}[{at}]"));
            w.put(&format!("{keys} = R.split({key}, 3)"));
            let header = match w.dice.below(2) {
                0 => format!("for {index} in range(3):"),
                _ => format!("for {index} in range(len({keys})):"),
            };
            w.block(&header, |w| {
                draw(w, &mut inner);
                statements(w, &mut inner, body);
            });
        }
        7 if is_name && !scope.in_loop => {
            inner.indices.push(index.clone());
            inner.bind(&sub);
            w.put(&format!("{index} = 0"));
            let slip = w.slips();
            w.block(&format!("while {index} < {count}:"), |w| {
                w.put(&format!("{index} += 1"));
                if slip {
                    w.put(&format!("{sub} = {key}"));
                } else {
                    w.put(&format!("{key}, {sub} = R.split({key})"));
                }
                draw(w, &mut inner);
                statements(w, &mut inner, body);
            });
            if !slip {
                scope.bind(&key);
            }
        }
        _ => {
            inner.bind(&sub);
            let item = w.value_name();
            inner.values.push(item.clone());
            let items =
                w.dice.pick(&["[jnp.ones(3), jnp.zeros(3)]", "jnp.ones((3, 3))", "(jnp.ones(3),) * 3"]).to_owned();
            w.block(&format!("for {item}, {sub} in zip({items}, R.split({key}, 3)):"), |w| {
                draw(w, &mut inner);
                statements(w, &mut inner, body);
            });
        }
    }
}

pub fn comprehension(w: &mut Writer, scope: &mut Scope) {
    let Some(key) = w.take(scope) else { return };
    let name = w.value_name();
    let inner = Scope { values: vec!["v".to_owned()], ..Scope::default() };
    let plain = Scope::default();
    match w.dice.below(7) {
        0 => {
            let drawn = w.draw("k", &plain);
            w.put(&format!("{name} = [{drawn} for k in R.split({key}, 3)][0]"));
        }
        1 => {
            let data = if w.slips() { "0" } else { "i" };
            let drawn = w.draw(&format!("R.fold_in({key}, {data})"), &plain);
            w.put(&format!("{name} = sum({drawn} for i in range(3))"));
        }
        2 => {
            let drawn = w.draw("k", &inner);
            w.put(&format!("{name} = [{drawn} for k, v in zip(R.split({key}, 2), [jnp.ones(3), jnp.zeros(3)])][-1]"));
        }
        3 => {
            let drawn = w.draw("k", &plain);
            w.put(&format!("{name} = {{n: {drawn} for n, k in zip([\"a\", \"b\"], R.split({key}))}}[\"a\"]"));
        }
        4 => {
            let drawn = w.draw("k", &plain);
            w.put(&format!("{name} = list(map(lambda k: {drawn}, R.split({key}, 3)))[0]"));
        }
        5 => {
            let drawn = w.draw("ks[i]", &plain);
            let ks = w.name(&["ks"]);
            let drawn = drawn.replace("ks[i]", &format!("{ks}[i]"));
            w.put(&format!("{ks} = R.split({key}, 3)\n{name} = jnp.stack([{drawn} for i in range(3)]).mean(axis=0)"));
        }
        _ => {
            if w.slips() {
                let drawn = w.draw(&key, &plain);
                w.put(&format!("{name} = [{drawn} for _ in range(2)][0]"));
            } else {
                let drawn = w.draw("k", &plain);
                w.put(&format!("{name} = [{drawn} for _, k in enumerate(R.split({key}, 2))][0]"));
            }
        }
    }
    scope.values.push(name);
}

/// A generator function and a loop over it.
pub fn generator(w: &mut Writer, scope: &mut Scope) {
    let Some(key) = w.take(scope) else { return };
    let function = w.name(&["batches", "key_stream", "epochs", "augmented"]);
    let (item, total) = (w.value_name(), w.value_name());
    let plain = Scope::default();
    let slip = w.slips();
    match w.dice.below(3) {
        0 => {
            let drawn = w.draw("sub", &plain);
            let target = if slip { "_" } else { "k" };
            w.put(&format!(
                "def {function}(k, n):\n    for _ in range(n):\n        {target}, sub = R.split(k)\n        yield {drawn}"
            ));
            w.put(&format!(
                "{total} = jnp.zeros(3)\nfor {item} in {function}({key}, 3):\n    {total} = {total} + {item}"
            ));
        }
        1 => {
            let drawn = w.draw(&item, &plain);
            let data = if slip { "7" } else { "i" };
            w.put(&format!("def {function}(k):\n    for i in range(3):\n        yield R.fold_in(k, {data})"));
            w.put(&format!(
                "{total} = jnp.zeros(3)\nfor {item} in {function}({key}):\n    {total} = {total} + {drawn}"
            ));
        }
        _ => {
            let drawn = w.draw(&format!("next({item})"), &plain);
            let again = w.draw(&format!("next({item})"), &plain);
            let data = if slip { "_" } else { "k" };
            w.put(&format!(
                "def {function}(k):\n    while True:\n        {data}, sub = R.split(k)\n        yield sub\n{item} = {function}({key})"
            ));
            w.put(&format!("{total} = {drawn}\n{total} = {total} + {again}"));
        }
    }
    scope.values.push(total);
}
