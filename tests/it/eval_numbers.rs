//! `keylint eval`: array functions, rejection samplers and complex numbers give the same numbers as JAX.
//!
//! **Invariant:** expected values come from JAX 0.10.2, never from a run of this program.

use keylint::verify::eval::evaluate;
use serde_json::json;

use crate::eval::{NEW, all, check, check_refused};

/// What JAX 0.10.2 prints for the same expressions.
#[test]
fn rejection_samplers_match_jax() {
    for (text, want) in [
        ("gamma(key(0), 1.5, (4,))", "Array([1.102542  , 1.2449834 , 0.72785676, 3.2122676 ], dtype=float32)"),
        ("gamma(key(0), jnp.array([-1.0, 0.0, 1e30]))", "Array([   nan, 0.e+00, 1.e+30], dtype=float32)"),
        ("loggamma(key(0), 0.0)", "Array(-inf, dtype=float32)"),
        ("ball(key(0), 3)", "Array([0.91715974, 0.39274216, 0.0116535 ], dtype=float32)"),
        ("dirichlet(key(0), jnp.array([1., 2., 3.]))", "Array([0.1422856 , 0.4048826 , 0.45283177], dtype=float32)"),
        ("multinomial(key(0), 10, jnp.array([.2, .3, .5]))", "Array([1., 1., 8.], dtype=float32)"),
        ("poisson(key(0), jnp.array([3., 30.]))", "Array([ 0, 27], dtype=int32)"),
        ("poisson(key(5), jnp.array([3., 50., 12., 0.5]))", "Array([ 1, 52, 17,  0], dtype=int32)"),
        ("binomial(key(3), jnp.array([5, 500, 30, 2000]), .25)", "Array([  0., 125.,   9., 489.], dtype=float32)"),
        ("vmap(lambda k: gamma(k, 2.0))(split(key(0), 3))", "Array([1.5650784, 3.9326215, 2.0865793], dtype=float32)"),
        ("weibull_min(key(0), jnp.array([1., 2.]), 1.5)", "Array([2.0569668, 4.1139336], dtype=float32)"),
    ] {
        assert_eq!(evaluate(NEW, text).unwrap().to_string(), want, "{text}");
    }
}

/// What JAX 0.10.2 prints for the same expressions. Of short arrays XLA takes some elements from the C library, and a single draw has no loop
/// out of which it could move a division.
#[test]
fn short_arrays_match_jax() {
    for (text, want) in [
        ("jnp.exp(uniform(key(5), (3,)))", "Array([1.5942125, 2.511502 , 2.0871723], dtype=float32)"),
        (
            "jnp.exp(normal(key(3), (13,)))",
            "Array([0.23544993, 4.661704  , 1.4659541 , 7.1757107 , 0.5556218 ,\n       1.2329574 , 0.28784633, 0.7398038 , \
             0.4478694 , 0.32107627,\n       1.8848567 , 0.3640387 , 0.5934627 ], dtype=float32)",
        ),
        ("jnp.log(uniform(key(5), (3,)))", "Array([-0.7627548 , -0.08242442, -0.30678314], dtype=float32)"),
        (
            "vmap(jnp.exp)(normal(key(1), (7,)))",
            "Array([0.8568973 , 1.0883985 , 0.87285966, 0.8563841 , 3.5490053 ,\n       1.159858  , 8.51271   ], dtype=float32)",
        ),
        (
            "jnp.exp(normal(key(1), (2, 3)))",
            "Array([[0.8568973 , 1.0883985 , 0.87285966],\n       [0.85638416, 3.5490053 , 1.159858  ]], dtype=float32)",
        ),
        ("pareto(key(1), 0.3)", "Array(6.852394, dtype=float32)"),
        ("pareto(key(3), 1.7, (1,))", "Array([1.0462973], dtype=float32)"),
        ("lognormal(key(4), 1.7)", "Array(7.4048204, dtype=float32)"),
        (
            "vmap(lambda k: pareto(k, 0.3))(split(key(0), 4))",
            "Array([4.7208896e+02, 1.0247020e+00, 2.3401021e+03, 2.8159995e+00],      dtype=float32)",
        ),
    ] {
        assert_eq!(evaluate(NEW, text).unwrap().to_string(), want, "{text}");
    }
}

/// What JAX 0.10.2 and Python print for the same expressions.
#[test]
fn powers_match_jax() {
    for (text, want) in [
        ("uniform(key(0)) ** 2.0", "Array(0.8980727, dtype=float32)"),
        ("uniform(key(0), (3,)) ** 0.5", "Array([0.9734819 , 0.98923194, 0.5764473 ], dtype=float32)"),
        ("2 ** uniform(key(1), (3,))", "Array([1.355319 , 1.4476902, 1.362181 ], dtype=float32)"),
        ("jnp.power(uniform(key(2), (3,)), 0.5)", "Array([0.80049425, 0.94900054, 0.47961873], dtype=float32)"),
        ("normal(key(0), (3,)) ** 1.5", "Array([2.0669699, 2.8821907,       nan], dtype=float32)"),
        ("uniform(key(1), (2,)) ** uniform(key(2), (2,))", "Array([0.5897411, 0.5681226], dtype=float32)"),
        ("uniform(key(0), (2,), jnp.float16) ** 2.0", "Array([0.09644, 0.04532], dtype=float16)"),
        ("uniform(key(0), (2,), jnp.bfloat16) ** 0.5", "Array([0.804688, 0.753906], dtype=bfloat16)"),
        ("jnp.arange(3) ** 0.5", "Array([0.       , 1.       , 1.4142135], dtype=float32)"),
        ("2.0 ** jnp.arange(3)", "Array([1., 2., 4.], dtype=float32)"),
        ("2.0 ** 0.5", "1.4142135623730951"),
        ("2 ** -1", "0.5"),
    ] {
        assert_eq!(evaluate(NEW, text).unwrap().to_string(), want, "{text}");
    }
    let complex = "a fractional power of a negative number is complex";
    check_refused(NEW, &[("0.0 ** -1", "negative power"), ("(-8.0) ** 0.5", complex), ("10.0 ** 400", "too large")]);
}

/// What JAX 0.10.2 prints for the same expressions.
#[test]
fn sums_of_matrices_match_jax() {
    for (text, want) in [
        ("jnp.sum(normal(key(0), (3, 4)))", "Array(2.2773418, dtype=float32)"),
        ("normal(key(0), (3, 4)).mean()", "Array(0.18977849, dtype=float32)"),
        ("normal(key(0), (7, 9)).sum()", "Array(1.3276101, dtype=float32)"),
        ("normal(key(0), (5, 1, 9)).sum(keepdims=True)", "Array([[[4.8947563]]], dtype=float32)"),
    ] {
        assert_eq!(evaluate(NEW, text).unwrap().to_string(), want, "{text}");
    }
    let several = "along several axes at once is not modelled";
    check_refused(
        NEW,
        &[
            ("normal(key(0), (8, 8)).mean()", several),
            ("normal(key(0), (3, 4)).var()", several),
            ("vmap(jnp.sum)(normal(key(0), (2, 3, 4)))", several),
            ("normal(key(0), (3000,)).sum()", "an axis of at most 2048"),
        ],
    );
}

/// What JAX 0.10.2 prints for the same expressions.
#[test]
fn ranges_and_spreads_have_the_numbers_of_jax() {
    for (text, want) in [
        ("jnp.linspace(0, 1, 5)", "Array([0.  , 0.25, 0.5 , 0.75, 1.  ], dtype=float32)"),
        ("jnp.linspace(-1.5, 2.5, 4, endpoint=False)", "Array([-1.5, -0.5,  0.5,  1.5], dtype=float32)"),
        ("jnp.linspace(2, -3, 1)", "Array([2.], dtype=float32)"),
        ("normal(key(0), (6,)).var()", "Array(1.1654086, dtype=float32)"),
        ("jnp.std(normal(key(0), (6,)))", "Array(1.079541, dtype=float32)"),
        ("jnp.var(normal(key(0), (2, 3)), axis=1, ddof=1)", "Array([1.7393671, 0.363581 ], dtype=float32)"),
        ("jnp.var(normal(key(0), (100,)))", "Array(0.8863652, dtype=float32)"),
    ] {
        assert_eq!(evaluate(NEW, text).unwrap().to_string(), want, "{text}");
    }
    check_refused(
        NEW,
        &[
            ("jnp.linspace(jnp.zeros(2), 1)", "between two numbers"),
            ("jnp.linspace(0, 1, dtype=jnp.float16)", "float32 only"),
        ],
    );
}

/// What JAX 0.10.2 prints for the same expressions.
#[test]
fn complex_numbers_are_those_of_jax_and_of_python() {
    for (text, want) in [
        ("normal(key(0), (2,), complex)", "Array([ 0.70994526-1.727077j , -0.6408772 -1.4394435j], dtype=complex64)"),
        ("jnp.array([1+2j, 3.5-1e-3j])", "Array([1. +2.e+00j, 3.5-1.e-03j], dtype=complex64)"),
        ("jnp.abs(normal(key(0), (2,), jnp.complex64))", "Array([1.8673021, 1.5756652], dtype=float32)"),
        ("normal(key(0), (2,), jnp.complex64).mean()", "Array(0.03453404-1.5832603j, dtype=complex64)"),
        ("jnp.arange(2) * 2j", "Array([0.+0.j, 0.+2.j], dtype=complex64)"),
        ("jnp.array([1j, 2]).conj().imag", "Array([-1., -0.], dtype=float32)"),
        ("(1+2j) * (3-4j) / 2", "(5.5+1j)"),
        ("[-1j, 2.5+1j, 1j == 1j]", "[(-0-1j), (2.5+1j), True]"),
    ] {
        assert_eq!(evaluate(NEW, text).unwrap().to_string(), want, "{text}");
    }
    let (z, w) = ("normal(key(0), (2,), jnp.complex64)", "normal(key(1), (2,), jnp.complex64)");
    check(
        NEW,
        &[
            (&format!("{z} * {w}"), json!([[-0.030_845_597, -0.772_066_3], [0.452_710_8, 0.680_234_97]])),
            (&format!("{z} / {w}"), json!([[3.299_232_5, -3.078_759], [0.753_318_6, 2.943_555_4]])),
        ],
    );
    check_refused(
        NEW,
        &[
            ("uniform(key(0), (2,), complex)", "floating"),
            ("uniform(key(0), (2,), minval=1j)", "complex numbers are not supported here"),
            ("jnp.exp(1j)", "complex numbers are not supported here"),
            ("jnp.array(1j) < 2", "not supported"),
            ("jnp.array(1j) / 0", "not supported"),
            ("jnp.array(1j, jnp.float32)", "cannot become float32"),
        ],
    );
}

/// What JAX 0.10.2 prints for the same expressions.
#[test]
fn numbers_of_python_and_products_of_matrices_are_those_of_jax() {
    for (text, want) in [
        ("[float(x) for x in normal(key(0), (3,))]", "[1.622642159461975, 2.0252647399902344, -0.4335944354534149]"),
        ("abs(normal(key(0), (3,)))", "Array([1.6226422 , 2.0252647 , 0.43359444], dtype=float32)"),
        ("(abs(-3), abs(3+4j), int(jnp.float32(2.7)), bool(jnp.array(0)))", "(3, 5.0, 2, False)"),
        ("complex(jnp.array(1+2j))", "(1+2j)"),
        ("max(uniform(key(0)), uniform(key(1)))", "Array(0.947667, dtype=float32)"),
        ("min([3, 1.5, 2])", "1.5"),
        ("1 if uniform(key(0)) > 0.5 else 2", "1"),
        ("0 < uniform(key(0)) < 1", "Array(True, dtype=bool)"),
        ("jit(lambda x: x * 2)(3)", "Array(6, dtype=int32)"),
        ("jit(lambda n: n, static_argnums=0)(3) + jnp.zeros(1, int)", "Array([3], dtype=int32)"),
        ("jnp.zeros(2, dtype=float)", "Array([0., 0.], dtype=float32)"),
        ("normal(key(0), (2, 7)) @ normal(key(1), (7,))", "Array([-0.98971474, -2.3142002 ], dtype=float32)"),
        (
            "randint(key(0), (2, 4), 0, 100) @ randint(key(1), (4, 2), -9, 9)",
            "Array([[-1090,  -248],\n       [ -577,   412]], dtype=int32)",
        ),
        (
            "vmap(lambda k: normal(k, (2, 3)) @ normal(fold_in(k, 3), (3,)))(split(key(0)))",
            "Array([[-0.34166142, -1.4986572 ],\n       [-4.570887  , -0.8160482 ]], dtype=float32)",
        ),
    ] {
        assert_eq!(evaluate(NEW, text).unwrap().to_string(), want, "{text}");
    }
    check_refused(
        NEW,
        &[
            ("jit(lambda x: 1 if x > 0 else 2)(3)", "jit traces"),
            ("jit(lambda x: float(x))(jnp.ones(()))", "jit traces"),
            ("1 if jnp.ones(2) > 0 else 2", "has no truth value"),
            ("vmap(lambda x: 1 if x > 0 else 2)(jnp.ones(2))", "has no truth value"),
            ("float(jnp.ones(1))", "float takes one number"),
            ("max()", "at least one number"),
            ("normal(key(0), (2, 8)) @ normal(key(1), (8,))", "the order in which XLA adds"),
            ("vmap(lambda k: normal(k, (8,)) @ normal(key(3), (8,)))(split(key(0)))", "the order in which XLA adds"),
            ("normal(key(0), (2, 3)) @ normal(key(1), (2,))", "must have the same length"),
        ],
    );
}

/// What Python prints for the same expressions, and what JAX 0.10.2 does.
#[test]
fn values_of_python_print_as_in_python() {
    for (text, want) in [
        ("1e20", "1e+20"),
        ("1e-5", "1e-05"),
        ("1e16", "1e+16"),
        ("1e15 + 0.5", "1000000000000000.5"),
        ("1.5e300", "1.5e+300"),
        ("float(jnp.float32(1e20))", "1.0000000200408773e+20"),
        ("uniform(key(0), (2,)).dtype", "dtype('float32')"),
        ("key(0).dtype", "key<fry>"),
        ("[jnp.float32(1).dtype]", "[dtype('float32')]"),
        ("key_impl(key(0))", "'threefry2x32'"),
        ("None", "None"),
        ("(None, 1)", "(None, 1)"),
        ("[1] * 3", "[1, 1, 1]"),
        ("2 * (1, 2)", "(1, 2, 1, 2)"),
        ("randint(key(0), (), 0, 9).item()", "4"),
        ("bernoulli(key(0), 1.0, (1,)).item()", "True"),
        ("jnp.array([jnp.nan, jnp.inf, jnp.pi])", "Array([      nan,       inf, 3.1415927], dtype=float32)"),
        ("jnp.pi", "3.141592653589793"),
        ("(1e-7 + 1e20j)", "(1e-07+1e+20j)"),
    ] {
        assert_eq!(evaluate(NEW, text).unwrap().to_string(), want, "{text}");
    }
    check_refused(
        NEW,
        &[("uniform(key(0), (2,)).item()", "array of size 1"), ("jit(lambda x: x.item())(1.0)", "jit traces")],
    );
}

#[test]
fn expressions_of_python_are_run() {
    check(
        NEW,
        &[
            ("1 < 2 < 3", json!(true)),
            ("3 if 2 in (1, 2) and not 0 else 4", json!(3)),
            ("jnp.array([bits(k) for k in split(key(42))]) == vmap(bits)(split(key(42)))", all(true, 2)),
            ("jnp.array([row[1] for row in split(PRNGKey(42))]) == split(PRNGKey(42))[:, 1]", all(true, 2)),
            ("(lambda k, n=2: bits(k, (n,)))(key(42)) == bits(key(42), (2,))", all(true, 2)),
        ],
    );
}
