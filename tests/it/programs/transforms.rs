//! Higher-order functions such as `vmap`, `scan` and `cond`.

use super::scope::Scope;
use super::writer::Writer;

/// One call of a transform.
#[expect(clippy::too_many_lines, reason = "a list of shapes, one arm each")]
pub fn transform(w: &mut Writer, scope: &mut Scope) {
    let Some(key) = w.take(scope) else { return };
    let name = w.value_name();
    let value = w.value(scope);
    let a = Scope { values: vec!["a".to_owned()], ..Scope::default() };
    let c = Scope { values: vec!["c".to_owned()], ..Scope::default() };
    let function = w.name(&["body", "step_fn", "loop_body", "one", "f"]);
    let slip = w.slips();
    match w.dice.below(13) {
        0 => {
            let drawn = w.draw(if slip { &key } else { "k" }, &a);
            w.put(&format!(
                "{name} = J.vmap(lambda a, k: {drawn})(jnp.ones((3, 3)), R.split({}, 3))[0]",
                if slip { "R.KEY(77)" } else { &key }
            ));
        }
        1 => {
            let drawn = w.draw("k", &a);
            w.put(&format!("@J.vmap\ndef {function}(k):\n    a = jnp.ones(3)\n    return {drawn}"));
            w.put(&format!("{name} = {function}(R.split({key}, 4))[0]"));
        }
        2 => {
            let drawn = w.draw("k", &a);
            let axes = if slip { "(0, None)" } else { "(None, 0)" };
            let (first, second) = if slip {
                ("jnp.ones((2, 3))".to_owned(), key.clone())
            } else {
                (value.clone(), format!("R.split({key}, 3)"))
            };
            w.put(&format!("{name} = J.vmap(lambda a, k: {drawn}, in_axes={axes})({first}, {second})[0]"));
        }
        3 => {
            let drawn = w.draw("sub", &c);
            let carried = if slip { "k" } else { "next_k" };
            w.put(&format!(
                "def {function}(carry, _):\n    k, c = carry\n    next_k, sub = R.split(k)\n    c = {drawn}\n    return ({carried}, c), c"
            ));
            let last = w.key_name();
            w.put(&format!("({last}, {name}), _ = L.scan({function}, ({key}, jnp.zeros(3)), None, length=3)"));
            if !slip {
                scope.bind(&last);
            }
        }
        4 => {
            let drawn = w.draw(if slip { &key } else { "k" }, &c);
            w.put(&format!("def {function}(c, k):\n    c = {drawn}\n    return c, c.mean()"));
            let split = if slip { "R.KEY(78)" } else { &key };
            w.put(&format!("{name}, _ = L.scan({function}, jnp.zeros(3), R.split({split}, 3))"));
        }
        5 => {
            let data = if slip { "0" } else { "i" };
            let drawn = w.draw(&format!("R.fold_in({key}, {data})"), &c);
            w.put(&format!("{name} = L.fori_loop(0, 3, lambda i, c: {drawn}, jnp.zeros(3))"));
        }
        6 => {
            let drawn = w.draw("keys[i]", &c);
            let keys = w.name(&["loop_keys"]);
            let drawn = drawn.replace("keys[i]", &format!("{keys}[{}]", if slip { "0" } else { "i" }));
            w.put(&format!("{keys} = R.split({key}, 3)\ndef {function}(i, c):\n    return {drawn}"));
            w.put(&format!("{name} = L.fori_loop(0, 3, {function}, jnp.zeros(3))"));
        }
        7 => {
            let drawn = w.draw("sub", &c);
            let carried = if slip { "k" } else { "nk" };
            w.put(&format!(
                "def {function}(state):\n    i, k, c = state\n    nk, sub = R.split(k)\n    c = {drawn}\n    return i + 1, {carried}, c"
            ));
            w.put(&format!("_, _, {name} = L.while_loop(lambda s: s[0] < 3, {function}, (0, {key}, jnp.zeros(3)))"));
        }
        8 => {
            let (condition, _) = w.condition(scope);
            let (one, other) = (w.draw("k", &a), w.draw("k", &a));
            w.put(&format!("{name} = L.cond({condition}, lambda k, a: {one}, lambda k, a: {other}, {key}, {value})"));
        }
        9 => {
            let (condition, _) = w.condition(scope);
            let (one, other) = (w.draw(&key, &a), w.draw(&key, &a));
            w.put(&format!("{name} = L.cond({condition}, lambda a: {one}, lambda a: {other}, {value})"));
        }
        10 => {
            let drawn = w.draw("k", &Scope { values: vec!["p".to_owned()], ..Scope::default() });
            w.put(&format!("def {function}(p, k):\n    return jnp.mean(({drawn}) ** 2)"));
            let grads = w.value_name();
            match w.dice.below(3) {
                0 => w.put(&format!("{name} = J.grad({function})({value}, {key})")),
                1 => w.put(&format!("{grads}, {name} = J.value_and_grad({function})({value}, {key})")),
                _ => w.put(&format!("{name} = J.jit(J.grad({function}))({value}, k={key})")),
            }
            if slip {
                w.put(&format!("{name} = {name} + J.grad({function})({name}, {key})"));
            }
        }
        11 => {
            let drawn = w.draw(if slip { &key } else { "k" }, &a);
            let split = if slip { "R.KEY(79)" } else { &key };
            w.put(&format!("def {function}(k):\n    a = jnp.ones(3)\n    return {drawn}"));
            w.put(&format!("{name} = L.map({function}, R.split({split}, 3))[0]"));
        }
        _ => {
            let tree = w.name(&["weights", "params"]);
            let drawn = w.draw(if slip { &key } else { "k" }, &a);
            w.put(&format!("{tree} = {{\"w\": jnp.ones(3), \"b\": jnp.zeros(3)}}"));
            if slip {
                w.put(&format!("{name} = J.tree.map(lambda a: {drawn}, {tree})[\"w\"]"));
            } else {
                let split = w.name(&["leaf_keys"]);
                w.put(&format!("{split} = dict(zip({tree}, R.split({key})))"));
                w.put(&format!("{name} = J.tree.map(lambda a, k: {drawn}, {tree}, {split})[\"w\"]"));
            }
        }
    }
    scope.values.push(name);
}
