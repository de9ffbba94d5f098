//! Tests of `python::normal_form`.

use keylint::python::normal_form;

fn form(text: &str) -> String {
    normal_form(text, 1_000)
}

#[test]
fn layout_quotes_and_names_do_not_matter() {
    let plain = form("x = jr.normal(key, (n, 2), name='a')");
    assert_eq!(plain, "_0=_1.normal(_2,_3,2,name=\"a\")");
    for same in [
        "y = jr.normal(key, (m, 2), name='a')",
        "x=jr . normal( key,  # the key\n  (n, 2,), name=\"a\" ,\n )",
        "x = (jr.normal(key, (n, 2), name=u'a'))",
        "x = random.normal(rng, (n, 2), name='''a''')",
        "x = jr.normal \\\n  (key, (n, 2), name='a')",
    ] {
        assert_eq!(form(same), plain, "{same}");
    }
    for other in [
        "x = jr.uniform(key, (n, 2), name='a')",
        "x = jr.normal(key, (n, 3), name='a')",
        "x = jr.normal(key, (n, 2), title='a')",
        "x = jr.normal(key, (key, 2), name='a')",
        "x = draw(jr.normal(key, (n, 2), name='a'))",
    ] {
        assert_ne!(form(other), plain, "{other}");
    }
}

#[test]
fn headers_and_broken_code_have_normal_forms() {
    assert_eq!(form("for i in range(n):"), "for _0 in range(_1):");
    assert_eq!(form("@jit\n    def f(key, n=3):"), "@_0 def f(_1,_2=3):");
    assert_eq!(form("f'{x} a' 'it\\'s'"), "f\"{_0} a\"\"it's\"");
    assert_eq!(form("x = = ("), "_0==");
    assert_eq!(form("%time x"), "%time x");
    assert_eq!(normal_form("x = 12345 + 6", 4), "_0=12345");
    assert_eq!(form(""), "");
}
