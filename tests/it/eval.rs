//! `keylint eval`: published numbers, the witnesses recorded under a real JAX, and errors that point at their cause.
//!
//! **Invariant:** expected values come from JAX itself or its documentation, never from a run of this program.

use std::path::Path;
use std::process::Command;

use keylint::cli::Status;
use keylint::prng::implementation::Implementation;
use keylint::prng::mode::Mode;
use keylint::verify::eval::{Answer, Settings, evaluate};
use proptest::prelude::*;
use serde_json::{Value, json};

use crate::run;

struct Run {
    status: Status,
    out: String,
    err: String,
}

fn run(arguments: &[&str], input: &str) -> Run {
    let arguments = ["eval"].iter().chain(arguments);
    let ran = run::keylint(Path::new("/nonexistent"), arguments, input.as_bytes());
    Run { status: ran.status, out: String::from_utf8(ran.out).unwrap(), err: ran.err }
}

pub(crate) const NEW: Settings = settings(Implementation::Threefry2x32, true, false);
const OLD: Settings = settings(Implementation::Threefry2x32, false, false);
const X64: Settings = settings(Implementation::Threefry2x32, true, true);

const fn settings(implementation: Implementation, partitionable: bool, x64: bool) -> Settings {
    Settings { mode: Mode { partitionable, x64 }, implementation }
}

fn with_impl(name: &str) -> Settings {
    Settings { implementation: Implementation::from_name(name).unwrap(), ..NEW }
}

fn answer(settings: Settings, text: &str) -> Value {
    match evaluate(settings, text) {
        Ok(answer) => serde_json::from_str(&answer.json()).unwrap(),
        Err(problem) => json!({"error": problem.message}),
    }
}

/// The same boolean, a few times.
pub fn all(value: bool, count: usize) -> Value {
    vec![value; count].into()
}

/// Compares elements only: key data of typed keys, data of all others.
#[track_caller]
pub(crate) fn check(settings: Settings, table: &[(&str, Value)]) {
    for (text, want) in table {
        let got = answer(settings, text);
        let elements = got.get("data").or(got.get("key_data")).unwrap_or(&got);
        assert_eq!(elements, want, "{text}");
    }
}

#[track_caller]
pub(crate) fn check_refused(settings: Settings, table: &[(&str, &str)]) {
    for (text, want) in table {
        let got = evaluate(settings, text).map(|answer| answer.json());
        let message = got.expect_err(text).message;
        assert!(message.contains(want), "{text}: {message}");
    }
}

#[test]
fn json_of_values_follows_the_contract() {
    for (text, want) in [
        ("jnp.arange(2, dtype=jnp.uint8)", json!({"dtype": "uint8", "shape": [2], "data": [0, 1]})),
        ("key(0)", json!({"dtype": "key<fry>", "shape": [], "key_data": [0, 0]})),
        ("PRNGKey(7)", json!({"dtype": "uint32", "shape": [2], "data": [0, 7]})),
        (
            "split(key(0))",
            json!({"dtype": "key<fry>", "shape": [2],
                   "key_data": [[1_797_259_609_u32, 2_579_123_966_u32], [928_981_903, 3_453_687_069_u32]]}),
        ),
        ("jnp.zeros((2, 0))", json!({"dtype": "float32", "shape": [2, 0], "data": [[], []]})),
        ("jnp.array(True)", json!({"dtype": "bool", "shape": [], "data": true})),
        ("2", json!({"dtype": "int64", "shape": [], "data": 2})),
        (
            "(key(1), [1.5])",
            json!({"tuple": [{"dtype": "key<fry>", "shape": [], "key_data": [0, 1]},
                             {"tuple": [{"dtype": "float64", "shape": [], "data": 1.5}]}]}),
        ),
        ("key_impl(key(0))", json!({"dtype": "str", "shape": [], "data": "threefry2x32"})),
    ] {
        assert_eq!(answer(NEW, text), want, "{text}");
    }
}

#[test]
fn published_numbers() {
    check(NEW, &[("uniform(key(0), (3,))", json!([0.947_667, 0.978_579_9, 0.332_291_48]))]);
    check(OLD, &[("uniform(key(0), (3,))", json!([0.965_321_4, 0.314_681_65, 0.633_029_94]))]);
    check(
        with_impl("rbg"),
        &[("jax.random.uniform(jax.random.key(0), (3,))", json!([0.399_046_42, 0.880_520_1, 0.735_712_77]))],
    );
    check(NEW, &[("uniform(key(0, impl='rbg'), (3,))", json!([0.399_046_42, 0.880_520_1, 0.735_712_77]))]);
}

#[test]
fn prefixes_and_roots_are_equivalent() {
    for prefix in ["", "random.", "jr.", "jax.random.", "olympus.random."] {
        check(NEW, &[(&*format!("{prefix}key_data({prefix}key(seed=3))"), json!([0, 3]))]);
    }
    for prefix in ["jnp.", "jax.numpy.", "olympus.numpy."] {
        check(NEW, &[(&*format!("{prefix}array([1, 2], dtype={prefix}uint8)"), json!([1, 2]))]);
    }
}

#[test]
fn indexing_a_raw_key_reads_its_words() {
    check(
        NEW,
        &[
            ("PRNGKey(999)", json!([0, 999])),
            ("PRNGKey(999)[1]", json!(999)),
            ("PRNGKey(PRNGKey(999)[1])", json!([0, 999])),
            ("PRNGKey(PRNGKey(123456)[0])", json!([0, 0])),
            (
                "split(PRNGKey(999))",
                json!([[2_320_258_729_u32, 2_368_583_152_u32], [2_891_654_438_u32, 1_268_651_290]]),
            ),
            ("PRNGKey(split(PRNGKey(999))[0][0])", json!([0, 2_320_258_729_u32])),
            ("PRNGKey(split(PRNGKey(999))[0][1])", json!([0, 2_368_583_152_u32])),
            ("PRNGKey(2**40 + 5)", json!([0, 5])),
            ("split(key(1), 3)[3] == split(key(1), 3)[2]", json!(true)),
            ("split(key(1), 3)[-9] == split(key(1), 3)[0]", json!(true)),
        ],
    );
    check(X64, &[("PRNGKey(2**40 + 5)", json!([256, 5]))]);
    check_refused(
        NEW,
        &[
            ("key(0)[0]", "too many indices"),
            ("key(0)[:1]", "too many indices"),
            ("uniform(PRNGKey(0)[0])", "ends with (2,), got shape ()"),
            ("jnp.zeros((0,))[0]", "out of bounds"),
        ],
    );
}

#[test]
fn arithmetic_on_raw_keys_changes_the_seed() {
    check(
        NEW,
        &[
            ("(PRNGKey(0) + jnp.arange(10, dtype=jnp.uint32)[:, None])[9]", json!([9, 9])),
            ("PRNGKey(42) + jnp.array([0, 1], dtype=jnp.uint32)", json!([0, 43])),
            ("PRNGKey(21) * 2", json!([0, 42])),
            ("PRNGKey(21) << 1", json!([0, 42])),
            ("PRNGKey(21) + PRNGKey(21)", json!([0, 42])),
            ("PRNGKey(40) + PRNGKey(2)", json!([0, 42])),
            ("PRNGKey(40) ^ PRNGKey(2)", json!([0, 42])),
            ("PRNGKey(5) ^ PRNGKey(5)", json!([0, 0])),
            ("PRNGKey(5) - PRNGKey(5)", json!([0, 0])),
            ("-PRNGKey(0)", json!([0, 0])),
            ("PRNGKey(0) << 7", json!([0, 0])),
            ("PRNGKey(1) ^ 1", json!([1, 0])),
            ("PRNGKey(0) - 1", json!([4_294_967_295_u32, 4_294_967_295_u32])),
            ("~PRNGKey(0)", json!([4_294_967_295_u32, 4_294_967_295_u32])),
            ("PRNGKey(0) + (-1)", json!([4_294_967_295_u32, 4_294_967_295_u32])),
            (
                "split(key_data(key(0)))[0].astype(jnp.float32).astype(jnp.uint32)",
                json!([1_797_259_648, 2_579_123_968_u32]),
            ),
            ("vmap(uniform)(PRNGKey(0) + jnp.arange(3, dtype=jnp.uint32)[:, None])[0] == uniform(key(0))", json!(true)),
        ],
    );
    check(
        X64,
        &[
            ("PRNGKey(0) + 1", json!([1, 1])),
            ("PRNGKey(2**32 + 1)", json!([1, 1])),
            ("PRNGKey(-1)", json!([4_294_967_295_u32, 4_294_967_295_u32])),
            ("PRNGKey(2**32)", json!([1, 0])),
        ],
    );
    check(with_impl("rbg"), &[("PRNGKey(42) + 1", json!([1, 43, 1, 43]))]);
    for (text, dtype) in [
        ("PRNGKey(0) + jnp.arange(10)[:, None]", "int32"),
        ("PRNGKey(0) + jnp.int32(1)", "int32"),
        ("PRNGKey(0) + jnp.uint32(1)", "uint32"),
        ("PRNGKey(0) + 1", "uint32"),
        ("PRNGKey(0) + True", "uint32"),
        ("PRNGKey(0) + 1.0", "float32"),
        ("PRNGKey(0) / 2", "float32"),
        ("jnp.uint8(3) + jnp.int8(2)", "int16"),
        ("jnp.bfloat16(3) * jnp.float16(2)", "float32"),
    ] {
        assert_eq!(answer(NEW, text)["dtype"], dtype, "{text}");
    }
    check_refused(
        NEW,
        &[
            ("uniform(PRNGKey(0) + jnp.arange(2))", "key data of dtype uint32, got dtype int32"),
            ("uniform(PRNGKey(0) + 1.0)", "key data of dtype uint32, got dtype float32"),
            ("PRNGKey(0) + 2**32", "out of bounds"),
            ("key(0) + 1", "do not support arithmetic"),
            ("PRNGKey(3) ** -1", "negative powers"),
        ],
    );
}

#[test]
fn uniforms_of_shifted_keys() {
    let text = "vmap(uniform)(PRNGKey(0) + jnp.arange(10, dtype=jnp.uint32)[:, None])";
    let drawn = answer(NEW, text);
    let want =
        [0.947_667, 0.708_661, 0.677_7, 0.479_813, 0.636_176, 0.883_766, 0.790_267, 0.430_601, 0.499_265, 0.668_604];
    for (got, want) in drawn["data"].as_array().unwrap().iter().zip(want) {
        assert!((got.as_f64().unwrap() - want).abs() < 1e-6);
    }
}

#[test]
fn in_axes_1_maps_over_key_words() {
    check(
        NEW,
        &[
            ("vmap(uniform)(split(PRNGKey(0)))", json!([0.842_314_1, 0.007_293_820_4])),
            ("vmap(uniform, in_axes=1)(split(PRNGKey(0)))", json!([0.448_460_58, 0.870_162_1])),
            ("vmap(uniform)(split(PRNGKey(0)).T)", json!([0.448_460_58, 0.870_162_1])),
            ("vmap(PRNGKey)(jnp.array([5, 9]))", json!([[0, 5], [0, 9]])),
            ("vmap(PRNGKey)(jnp.array([5, 9])).T", json!([[0, 0], [5, 9]])),
            ("vmap(uniform, in_axes=1)(vmap(PRNGKey)(jnp.array([5, 9])))[0] == uniform(key(0))", json!(true)),
            ("jnp.array([PRNGKey(1), PRNGKey(2)]).T", json!([[0, 0], [1, 2]])),
        ],
    );
    check_refused(
        NEW,
        &[
            ("vmap(uniform, in_axes=1)(split(PRNGKey(0), 3))", "ends with (2,), got shape (3,)"),
            ("vmap(uniform, in_axes=1)(split(key(0), 3))", "cannot map axis 1"),
            ("vmap(uniform)(key(0))", "cannot map axis 0"),
            ("vmap(uniform)(PRNGKey(0))", "got shape ()"),
        ],
    );
    let drawn = answer(with_impl("rbg"), "vmap(uniform, in_axes=1)(split(PRNGKey(0), 4))");
    let want = [0.504_166, 0.876_686, 0.233_696, 0.699_862];
    for (got, want) in drawn["data"].as_array().unwrap().iter().zip(want) {
        assert!((got.as_f64().unwrap() - want).abs() < 1e-6);
    }
    check_refused(with_impl("rbg"), &[("vmap(uniform, in_axes=1)(split(PRNGKey(0)))", "ends with (4,)")]);
}

#[test]
fn split_and_fold_in_share_keys() {
    check(
        NEW,
        &[
            (
                "split(key(42), 3)",
                json!([
                    [1_832_780_943, 270_669_613],
                    [64_467_757, 2_916_123_636_u32],
                    [2_465_931_498_u32, 255_383_827]
                ]),
            ),
            ("fold_in(key(42), 1)", json!([64_467_757, 2_916_123_636_u32])),
            ("fold_in(key(42), 1.9)", json!([64_467_757, 2_916_123_636_u32])),
            ("fold_in(key(42), True)", json!([64_467_757, 2_916_123_636_u32])),
            ("fold_in(key(42), jnp.int32(-1)) == fold_in(key(42), 2**32 - 1)", json!(true)),
            ("split(key(42), (2, 2))[1, 0] == split(key(42), 4)[2]", json!(true)),
            ("fold_in(fold_in(key(0), 1), 2) == fold_in(fold_in(key(0), 2), 1)", json!(false)),
            ("fold_in(key(0), 5) == fold_in(key(5), 0)", json!(false)),
        ],
    );
    check(
        OLD,
        &[
            ("split(key(42), 2)", json!([[2_465_931_498_u32, 3_679_230_171_u32], [255_383_827, 267_815_257]])),
            (
                "split(key(42), 3)",
                json!([
                    [3_134_548_294_u32, 3_733_159_049_u32],
                    [3_746_501_087_u32, 894_150_801],
                    [801_545_058, 2_363_201_431_u32]
                ]),
            ),
            ("split(key(42), 1)[0] == fold_in(key(42), 1)", json!(true)),
        ],
    );
    // With implementations for which `fold_in` hashes the same counters, a child and a fold with the same number are one key.
    for implementation in Implementation::ALL {
        let meets = implementation != Implementation::UnsafeRbg;
        let settings = Settings { implementation, ..NEW };
        check(
            settings,
            &[
                ("split(key(7), 4) == vmap(lambda i: fold_in(key(7), i))(jnp.arange(4))", all(meets, 4)),
                ("split(key(7), 2) == split(key(7), 5)[:2]", all(true, 2)),
            ],
        );
    }
    check(
        with_impl("unsafe_rbg"),
        &[
            ("fold_in(fold_in(key(0), 1), 2) == fold_in(fold_in(key(0), 2), 1)", json!(true)),
            ("fold_in(fold_in(key(0), 3), 3) == key(0)", json!(true)),
        ],
    );
    check_refused(NEW, &[("fold_in(key(0), -1)", "out of bounds"), ("fold_in(key(0), 2**32)", "out of bounds")]);
}

#[test]
fn drawing_from_a_parent_repeats_its_children() {
    check(
        NEW,
        &[
            ("bits(key(42), (4,))", json!([2_098_992_034, 2_919_706_841_u32, 2_646_866_425_u32, 2_409_546_199_u32])),
            ("split(PRNGKey(42), 4)[:, 0] ^ split(PRNGKey(42), 4)[:, 1] == bits(key(42), (4,))", all(true, 4)),
            ("permutation(key(42), 8)", json!([7, 4, 2, 5, 3, 6, 0, 1])),
            ("randint(key(42), (4,), 0, 256) == bits(split(key(42))[1], (4,)) % 256", all(true, 4)),
            ("choice(key(42), 8, (4,), replace=False) == permutation(key(42), 8)[:4]", all(true, 4)),
            ("(uniform(key(42), (8,)) < 0.5) == bernoulli(key(42), 0.5, (8,))", all(true, 8)),
            ("uniform(key(42), (3,)) == uniform(key(42), (5,))[:3]", all(true, 3)),
        ],
    );
    check(X64, &[("bits(key(42), (1,), jnp.uint64)", json!([7_871_734_211_187_709_741_u64]))]);
}

#[test]
fn seeds_of_every_implementation() {
    for (name, tag, zero, answer) in [
        ("threefry2x32", "fry", json!([0, 0]), json!([0, 42])),
        ("rbg", "rbg", json!([0, 0, 0, 0]), json!([0, 42, 0, 42])),
        ("unsafe_rbg", "urbg", json!([0, 0, 0, 0]), json!([0, 42, 0, 42])),
        (
            "threefry4x32",
            "fry4",
            json!([2_624_366_954_u32, 3_783_175_782_u32, 4_228_967_636_u32, 1_381_410_776]),
            json!([1_605_953_687, 3_689_221_460_u32, 1_722_219_033, 3_178_796_034_u32]),
        ),
        ("philox2x32", "phx2", json!([4_280_135_257_u32]), json!([3_991_259_024_u32])),
        ("philox4x32", "phx4", json!([1_713_891_541, 3_781_805_453_u32]), json!([3_717_705_800_u32, 533_567_081])),
    ] {
        let settings = with_impl(name);
        check(settings, &[("key(0)", zero.clone()), ("PRNGKey(0)", zero), ("key(42)", answer)]);
        assert_eq!(self::answer(settings, "key(0)")["dtype"], format!("key<{tag}>"));
    }
    check(
        NEW,
        &[
            ("PRNGKey(-1)", json!([0, 4_294_967_295_u32])),
            ("PRNGKey(2**31)", json!([0, 2_147_483_648_u32])),
            ("PRNGKey(2**32)", json!([0, 0])),
            ("PRNGKey(2**33 + 7)", json!([0, 7])),
            ("PRNGKey(2**63 - 1)", json!([0, 4_294_967_295_u32])),
            ("PRNGKey(-2**63)", json!([0, 0])),
            ("PRNGKey(jnp.uint32(7))", json!([0, 7])),
            ("PRNGKey(jnp.array(5))", json!([0, 5])),
            ("PRNGKey(True)", json!([0, 1])),
        ],
    );
    check(
        X64,
        &[
            ("PRNGKey(-1)", json!([4_294_967_295_u32, 4_294_967_295_u32])),
            ("PRNGKey(2**33 + 7)", json!([2, 7])),
            ("PRNGKey(2**63 - 1)", json!([2_147_483_647, 4_294_967_295_u32])),
            ("PRNGKey(-2**63)", json!([2_147_483_648_u32, 0])),
        ],
    );
    check_refused(
        NEW,
        &[
            ("key(2**63)", "out of bounds"),
            ("key(10**20)", "out of bounds"),
            ("key(1.0)", "must be an integer"),
            ("key(None)", "must be an integer"),
            ("key('a')", "must be an integer"),
            ("key([1, 2])", "must be an integer"),
            ("key(jnp.arange(2))", "must be an integer"),
            ("key(key(0))", "must be an integer"),
            ("key(0, 'rbg')", "at most 1 positional"),
            ("key(0, impl='fry')", "unrecognized PRNG implementation"),
            ("uniform(PRNGKey(0, impl='rbg'))", "ends with (2,), got shape (4,)"),
        ],
    );
}

#[test]
fn vmap_of_rbg_draws_from_the_first_key() {
    let rbg = with_impl("rbg");
    check(
        rbg,
        &[
            ("vmap(uniform)(split(key(0), 3)) == uniform(split(key(0), 3)[0], (3,))", all(true, 3)),
            (
                "vmap(vmap(uniform))(split(key(0), (2, 3)))[1] == uniform(split(key(0), (2, 3))[0, 0], (2, 3))[1]",
                all(true, 3),
            ),
            ("vmap(split)(split(key(0), 3))[2] == split(split(key(0), 3)[2])", all(true, 2)),
        ],
    );
    check(NEW, &[("vmap(uniform)(split(key(0), 3))[2] == uniform(split(key(0), 3)[2])", json!(true))]);
    check_refused(rbg, &[("vmap(permutation)(split(key(0), 2), jnp.ones((2, 3)))", "not supported")]);
}

#[test]
fn vmap_maps_over_the_axes_given() {
    let shape = |text: &str| answer(NEW, text)["shape"].clone();
    assert_eq!(shape("vmap(split)(split(key(1), 3))"), json!([3, 2]));
    assert_eq!(shape("vmap(split, out_axes=1)(split(key(1), 3))"), json!([2, 3]));
    assert_eq!(shape("vmap(split, out_axes=-1)(split(PRNGKey(1), 3))"), json!([2, 2, 3]));
    assert_eq!(shape("vmap(uniform, in_axes=(0, None))(split(key(1), 3), (4,))"), json!([3, 4]));
    assert_eq!(shape("vmap(uniform)(split(key(1), 0))"), json!([0]));
    assert_eq!(shape("vmap(lambda k, x: uniform(k, minval=x), in_axes=(None, 0))(key(1), jnp.arange(3))"), json!([3]));
    assert_eq!(shape("vmap(partial(uniform, shape=(2,)))(split(key(1), 3))"), json!([3, 2]));
    check(
        NEW,
        &[
            ("vmap(uniform, in_axes=None, axis_size=2)(key(1))", json!([0.438_632_5, 0.438_632_5])),
            ("vmap(uniform)(split(key(1), 3))", json!([0.702_615_26, 0.403_646_35, 0.557_784_1])),
            ("vmap(lambda n: uniform(key(1), minval=n))(jnp.arange(3.0))", json!([0.438_632_5, 1.0, 2.0])),
            ("vmap(lambda x: permutation(key(1), x))(jnp.arange(6).reshape(2, 3))", json!([[2, 0, 1], [5, 3, 4]])),
            ("vmap(lambda i: jnp.arange(3)[i])(jnp.array([0, 5, -1, -9]))", json!([0, 2, 2, 0])),
        ],
    );
    check_refused(
        NEW,
        &[
            ("vmap(uniform, in_axes=None)(key(0))", "at least one argument"),
            ("vmap(uniform, in_axes=(0, 0))(split(key(0)))", "2 entries for 1 positional"),
            ("vmap(uniform)(split(key(0)), (2,))", "cannot map axis 0"),
            ("vmap(fold_in)(split(key(0), 3), jnp.arange(2))", "inconsistent sizes"),
            ("vmap(lambda n: uniform(key(0), (n,)))(jnp.array([1, 1]))", "the same for the whole batch"),
            ("vmap(lambda n: permutation(key(0), n))(jnp.array([3, 3]))", "the same for the whole batch"),
            ("vmap(uniform, out_axes=None)(split(key(0)))", "out_axes is None"),
            ("vmap(3)", "takes a function"),
        ],
    );
}

#[test]
fn python_number_defaults_have_the_width_of_the_mode() {
    let wide = settings(Implementation::default(), true, true);
    check(wide, &[("bernoulli(PRNGKey(999))", json!(false))]);
    check(NEW, &[("bernoulli(PRNGKey(999))", json!(true))]);
}

#[test]
fn unsupported_functions_say_why() {
    check_refused(
        NEW,
        &[
            ("orthogonal(key(0), 3)", "not supported"),
            ("jax.random.multivariate_normal(key(0), jnp.zeros(2), jnp.eye(2))", "not supported"),
            ("gamma(key(0), 1.0, dtype=jnp.float16)", "only its float32 arithmetic"),
            ("poisson(key(0), -1.0)", "negative or not finite"),
            ("dirichlet(key(0), 1.0)", "at least one axis"),
            ("uniform(split(key(0)))", "use vmap for batching"),
            ("uniform", "a function"),
            ("jax.lax.scan(1)", "`jax.lax.scan` is not supported"),
            ("uniform(key(0), (2**40,))", "too large"),
            ("vmap(lambda i: uniform(key(0), (4096,)))(jnp.arange(2**22))", "steps and elements"),
            ("(lambda f: f(f))(lambda f: f(f))", "nest deeper"),
            ("numpy.array([1])", "`numpy.array` is not supported"),
            ("jnp.arange(2**13)[:, None] + jnp.arange(2**13)", "too large"),
            ("vmap(lambda i: uniform(key(0), (2**15,)))(jnp.arange(2**13)[:, None])", "too large"),
            ("key(0) if jnp.ones(2) else key(1)", "has no truth value"),
            ("(lambda k: k)()", "missing argument `k`"),
            ("(lambda k: k)(1, 2)", "no parameter"),
            ("uniform(*[key(0)])", "starred"),
            ("", "no expression"),
            ("PRNGKey(3) // 0", "division by zero"),
        ],
    );
}

/// Everything that the replay knows about Python works here: it is the same interpreter.
#[test]
fn errors_point_at_their_cause() {
    let texts = [
        "uniform(split(key(0)), (3,))",
        "uniform(PRNGKey(0) + jnp.arange(2))",
        "  fold_in(key(0), -1)",
        "normal(key(0), shap=(2,))",
        "vmap(uniform, in_axes=1)(split(PRNGKey(0), 3))",
        "uniform(key(0), 'é漢', orthogonal(key(0), 3))",
        "uniform(key(0)",
        "(uniform(key(0)),\n key(1.5))",
        "key_data(key(0))[::0]",
    ];
    let errors: String = texts.iter().map(|text| run(&[text], "").err).collect();
    insta::assert_snapshot!(errors);
}

#[test]
fn text_reads_like_python() {
    let texts = [
        "uniform(key(0), (3,))",
        "split(key(0))",
        "key(0)",
        "split(PRNGKey(0), (2, 2))",
        "bernoulli(key(0), shape=(2,))",
        "jnp.zeros((2, 0))",
        "(1, 2.5, key_impl(key(0)))",
        "jnp.array([1.0, -1.0]) / 0",
        "uniform(key(0))",
    ];
    let run = run(&texts, "");
    assert_eq!((run.status, &*run.err), (Status::Clean, ""));
    insta::assert_snapshot!(run.out);
}

#[test]
fn standard_input_gives_one_object_a_line() {
    let input = "key(0)\n\nuniform(key(0), (3,))\r\northogonal(key(0), 1)";
    let run = run(&["-"], input);
    let lines: Vec<Value> = run.out.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    assert_eq!((run.status, lines.len(), &*run.err), (Status::Findings, 4, ""));
    assert_eq!(lines[0]["key_data"], json!([0, 0]));
    assert_eq!(lines[1], json!({"error": "there is no expression"}));
    assert_eq!(lines[2]["data"], json!([0.947_667, 0.978_579_9, 0.332_291_48]));
    assert!(lines[3]["error"].is_string());
    assert_eq!(self::run(&["-", "--output-format", "text"], "1 + 1\n").out, "2\n");
}

#[test]
fn options_reach_the_evaluator() {
    let data = |arguments: &[&str]| {
        let run = run(&[arguments, &["--output-format", "json"]].concat(), "");
        assert_eq!(run.status, Status::Clean, "{}", run.err);
        serde_json::from_str::<Value>(&run.out).unwrap()["data"].clone()
    };
    assert_eq!(data(&["PRNGKey(1)", "--impl", "rbg"]), json!([0, 1, 0, 1]));
    assert_eq!(data(&["PRNGKey(2**32)", "--x64"]), json!([1, 0]));
    assert_eq!(data(&["--no-partitionable", "uniform(key(0), (3,))"])[0], 0.965_321_4);
    for wrong in [&["key(0)", "--impl", "fry"][..], &["key(0)", "--frob"], &["-", "key(0)"]] {
        let run = run(wrong, "");
        assert_eq!((run.status, &*run.out), (Status::Failed, ""), "{wrong:?}");
    }
}

#[test]
fn expressions_may_begin_with_a_minus() {
    let ran = run(&["-1", "-(1 + 2)", "--output-format", "text", "-abs(4)", "--no-partitionable"], "");
    assert_eq!((ran.status, &*ran.out, &*ran.err), (Status::Clean, "-1\n-3\n-4\n", ""));
    assert_eq!(run(&["-normal(key(0))"], "").out, run(&["--", "0 - normal(key(0))"], "").out);
    assert_eq!(&*run(&["-oops[0]"], "").err, "error: unknown name `oops`\n  -oops[0]\n   ^^^^\n");
    assert_eq!(run(&["--", "-1"], "").out, "-1\n");
    for wrong in ["-x", "--partitionable"] {
        assert!(run(&["1", wrong], "").err.starts_with(&format!("error: unexpected argument '{wrong}' found")));
    }
}

#[test]
fn one_error_of_many_sets_the_status() {
    let run = run(&["key(0)", "oops", "1"], "");
    assert_eq!(run.status, Status::Findings);
    assert_eq!(run.out.lines().last(), Some("1"));
    assert!(run.err.starts_with("error: unknown name `oops`\n  oops\n  ^^^^\n"), "{}", run.err);
}

/// Numbers from JAX 0.10.2 for programs of several statements.
#[test]
fn statements_and_functions_of_arrays_give_the_numbers_of_jax() {
    let table = [
        ("x / 3", json!([0.540_880_74, 0.675_088_3, -0.144_531_49])),
        ("x ** 3", json!([4.272_364, 8.307_023, -0.081_517_55])),
        ("x // 0.5", json!([3.0, 4.0, -1.0])),
        ("x % 0.5", json!([0.122_642_16, 0.025_264_74, 0.066_405_565])),
        ("x @ x", json!(6.922_669)),
        ("jnp.exp(x).sum()", json!(13.292_751)),
        ("jnp.where(x > 1, x, 0)", json!([1.622_642_2, 2.025_264_7, 0.0])),
        ("jnp.sqrt(jnp.abs(x))", json!([1.273_829_7, 1.423_118, 0.658_478_86])),
        ("vmap(lambda y: y / 3)(x)", json!([0.540_880_74, 0.675_088_3, -0.144_531_49])),
        ("jnp.stack([x, -x], axis=1).mean(axis=0)", json!([1.071_437_5, -1.071_437_5])),
        ("normal(key(1), (100,)).sum()", json!(1.862_101_2)),
        ("jnp.arange(5).mean()", json!(2.0)),
        ("sum(x[i] for i in range(len(x))) - x.sum()", json!(0.0)),
    ];
    for (expression, want) in table {
        let text = format!(
            "import jax\nfrom jax.random import normal, key\n@jax.jit\ndef f(k):\n    return normal(k, (3,))\nx = f(key(0)); {expression}"
        );
        check(NEW, &[(&text, want)]);
    }
    assert_eq!(answer(NEW, "k = key(0)\nfor i in range(2):\n    k = fold_in(k, i)"), Value::Null);
    // The elements of arrays and keys can be unpacked.
    check(
        NEW,
        &[
            ("a, b = split(PRNGKey(0)); a", json!([1_797_259_609, 2_579_123_966_u32])),
            ("x, *rest = jnp.arange(4); rest[2]", json!(3)),
            ("(a, b), c = split(key(0)), 1; b == split(key(0))[c]", json!(true)),
            (
                "vmap(lambda k: split(k)[1] == (lambda p: [b for a, b in [p]][0])(split(k)))(split(key(0), 2))",
                all(true, 2),
            ),
        ],
    );
    check_refused(
        NEW,
        &[
            ("a, b = split(key(0), 3)", "cannot unpack 3 values into 2 names"),
            ("a, b, *c = uniform(key(0), (1,))", "cannot unpack 1 values into 3 names"),
            ("a, b = (1, 2, 3)", "cannot unpack 3 values into 2 names"),
        ],
    );
    let long = answer(NEW, "s = 0\nfor i in range(60):\n    s = (s, s)\ns");
    assert_eq!(long["error"], "the result is too deep or too long to be shown");
    let session = run(&[], "k = key(0)\n\ndef f(k):\n    return uniform(k)\n\nf(k)\noops\nf(k)\n");
    assert_eq!(session.out, "Array(0.947667, dtype=float32)\n".repeat(2));
    assert!(session.err.starts_with("error: unknown name `oops`\n  oops\n  ^^^^\n"), "{}", session.err);
}

#[test]
fn a_session_continues_open_brackets_and_ends() {
    for (input, want) in [
        ("x = (1,\n2)\nx\n", "(1, 2)\n"),
        ("uniform(\n\n  key(0),  # (\n  shape=(\n    1,\n  ),\n)\n1\n", "Array([0.947667], dtype=float32)\n1\n"),
        ("len('(')\nlen(\"\\\"[\")\nlen('''\n(\n''')\n", "1\n2\n3\n"),
        ("for i in (1,\n  2):\n    y = i\n\ny\n", "2\n"),
        ("1\nquit()\n2\n", "1\n"),
    ] {
        assert_eq!(run(&[], input).out, want, "{input}");
    }
    assert!(run(&[], "help\n").out.starts_with("https://github.com/keylint/keylint/blob/main/docs/eval.md "));
}

#[test]
fn keys_report_their_derivation() {
    for (text, want) in [
        ("key(7)", vec!["key(7)"]),
        ("k = key(0)\na, b = split(k)\nb", vec!["split(key(0))[1]"]),
        (
            "split(fold_in(key(1), 5), 3)[1:]",
            vec!["split(fold_in(key(1), 5), 3)[1]", "split(fold_in(key(1), 5), 3)[2]"],
        ),
        ("wrap_key_data(jnp.array([1, 2], dtype=jnp.uint32))", vec![]),
        ("split(wrap_key_data(jnp.array([1, 2], dtype=jnp.uint32)))[0]", vec!["split(…)[0]"]),
    ] {
        match evaluate(NEW, text) {
            Ok(Answer::Keys { lineage, .. }) => assert_eq!(lineage, want, "{text}"),
            other => panic!("{text}: {other:?}"),
        }
    }
}

/// Every evaluation in a console block of the page and of the README is what the command prints.
#[test]
fn the_documents_show_real_output() {
    let page = [include_str!("../../docs/eval.md"), include_str!("../../README.md")].concat();
    let mut commands = 0;
    for block in page.split("```console\n").skip(1).filter_map(|rest| rest.split("```").next()) {
        for step in block.split("$ keylint eval ").skip(1) {
            let (line, want) = step.split_once('\n').unwrap();
            // Exactly the arguments with spaces are quoted.
            let words = line.split('"').enumerate().flat_map(|(index, part)| match index % 2 {
                1 => vec![part],
                _ => part.split_whitespace().collect(),
            });
            let run = run(&words.collect::<Vec<_>>(), "");
            assert_eq!(run.out + &run.err, want, "{line}");
            commands += 1;
        }
    }
    assert!(commands > 10);
}

/// Tokens from which valid expressions are more likely than from noise.
/// The comparison with JAX, which needs JAX, uses programs that cover everything that the page lists.
#[test]
fn the_programs_compared_with_jax_use_every_function_of_the_page() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    for seed in ["1", "another"] {
        let ran = Command::new("python3")
            .args(["fixtures/prng/expressions.py", "--count", "1500", "--seed", seed])
            .current_dir(root)
            .output()
            .unwrap();
        assert!(ran.status.success(), "{}", String::from_utf8_lossy(&ran.stdout));
    }
}

fn pieces() -> impl Strategy<Value = String> {
    let piece = proptest::sample::select(vec![
        "key",
        "PRNGKey",
        "split",
        "fold_in",
        "uniform",
        "bits",
        "randint",
        "choice",
        "permutation",
        "vmap",
        "lambda k:",
        "partial",
        "jnp.array",
        "jnp.arange",
        "jnp.uint32",
        "key_data",
        "wrap_key_data",
        "(",
        "(",
        ")",
        ")",
        "[",
        "]",
        ",",
        ":",
        "0",
        "1",
        "-1",
        "2**31",
        "1.5",
        "None",
        "...",
        "k",
        "+",
        "-",
        "*",
        "/",
        "<<",
        "**",
        "%",
        "//",
        "^",
        "==",
        "=",
        "in_axes=",
        "shape=",
        "'rbg'",
        ".T",
        ".shape",
        ".reshape",
        ".astype",
        "key(0)",
        "PRNGKey(0)",
        "split(key(0), 3)",
        "(2, 3)",
        "[:, None]",
        " ",
    ]);
    proptest::collection::vec(piece, 0..24).prop_map(|pieces| pieces.concat())
}

fn one_of_the_settings() -> impl Strategy<Value = Settings> {
    (proptest::sample::select(Implementation::ALL.to_vec()), any::<bool>(), any::<bool>())
        .prop_map(|(implementation, partitionable, x64)| settings(implementation, partitionable, x64))
}

proptest! {
    #[test]
    fn any_text_is_handled(text in any::<String>(), settings in one_of_the_settings()) {
        total(settings, &text)?;
    }

    #[test]
    fn any_token_soup_is_handled(text in pieces(), settings in one_of_the_settings()) {
        total(settings, &text)?;
    }

    #[test]
    fn any_call_is_handled(
        function in proptest::sample::select(vec![
            "split", "fold_in", "bits", "uniform", "normal", "randint", "bernoulli", "permutation", "choice", "categorical",
            "truncated_normal", "gumbel", "rademacher", "shuffle", "vmap(uniform)", "vmap(permutation)", "jnp.arange",
            "vmap(fold_in)", "vmap(lambda a, b: randint(a, (2,), 0, b))", "key", "key_data", "wrap_key_data",
        ]),
        arguments in proptest::collection::vec(proptest::sample::select(vec![
            "key(0)", "PRNGKey(3)", "split(key(0), 3)", "split(PRNGKey(0), (2, 2))", "3", "0", "-1", "0.5", "()", "(2, 0)",
            "jnp.arange(3)", "jnp.ones((2, 3))", "jnp.array([])", "None", "True", "'low'", "jnp.float16", "jnp.uint8",
            "jnp.bool_", "float", "2**62", "jnp.zeros((0, 2), jnp.uint32)",
        ]), 0..5),
        settings in one_of_the_settings(),
    ) {
        total(settings, &format!("{function}({})", arguments.join(", ")))?;
    }
}

fn total(settings: Settings, text: &str) -> Result<(), TestCaseError> {
    match evaluate(settings, text) {
        Ok(answer) => {
            let json = answer.json().replace("NaN", "null").replace("-Infinity", "null").replace("Infinity", "null");
            prop_assert!(serde_json::from_str::<Value>(&json).is_ok(), "{}", json);
        }
        Err(problem) => {
            prop_assert!(problem.span.start <= problem.span.end && problem.span.end as usize <= text.len());
            prop_assert!(!problem.message.is_empty());
        }
    }
    // The command line must be able to locate the error in any text.
    let _ = run(&["--", text], "");
    Ok(())
}
