//! The IR as text, of one small program per construct.

use super::lowered;

const PROGRAMS: [(&str, &str); 26] = [
    ("assignments", "a, (*b, c.d) = e[f] = g\n"),
    ("augmented", "a += 1\nb.c -= d\ne[f] *= g\n"),
    ("annotated", "a: int = b\nc.d: int\n"),
    ("operators", "a + -b < c < d\nnot (a and b or c)\n"),
    ("conditional", "a if b else c\n"),
    ("calls", "f(a, *b(), c=d(), **e)\n"),
    ("displays", "[a, *b, c], {d: e, **f}, x[1:2, ...]\n"),
    ("texts", "f'a{b!r:>{c}}d' 'e'\n"),
    ("functions", "@a\ndef f(b, /, c=d, *e, g: int = h, **i) -> j:\n    k = b\n    return lambda: k + c\n"),
    ("generators", "def f():\n    a = yield b\n    yield from c\n"),
    ("coroutines", "async def f():\n    async with a as b:\n        async for c in d:\n            await c\n"),
    ("classes", "@a\nclass C(b, m=c):\n    x: int = d\n    def f(self):\n        return super().f(x)\n"),
    ("type_parameters", "def f[T](a: T):\n    return T\n"),
    ("comprehension", "[a + b for a in c if d for b in e(a)]\n"),
    ("comprehension_captured", "def f(c):\n    return {a: lambda: a for a in c}\n"),
    ("generator_expression", "def f(c):\n    return (b := a for a in c)\n"),
    ("walrus", "if (n := f()) > 1:\n    n\n"),
    ("conditionals", "if a:\n    b\nelif c:\n    d\nelse:\n    e\n"),
    ("for_loop", "for a, b in c:\n    if a:\n        continue\n    break\nelse:\n    d\n"),
    ("while_loop", "while a < b:\n    a = c(a)\n"),
    ("with_items", "with a() as b, c:\n    d\n"),
    (
        "exceptions",
        "try:\n    a()\nexcept b as c:\n    raise d from c\nexcept:\n    raise\nelse:\n    e\nfinally:\n    f\n",
    ),
    (
        "match_patterns",
        "match a:\n    case [1, b] | C(b, c=None) if d:\n        b\n    case {'k': e, **f}:\n        e\n    case _:\n        g\n",
    ),
    ("scopes", "def f(a):\n    global g\n    def h():\n        nonlocal a\n        a = g = a\n    g = h\n    del a\n"),
    ("imports", "import a.b, c.d as e\nfrom ..f import g as h, i\nfrom j import *\n"),
    ("not_modelled", "break\nassert a, b\ntry:\n    c\nexcept* d as e:\n    e\n"),
];

#[test]
fn programs_as_operations() {
    for (name, program) in PROGRAMS {
        insta::with_settings!({ description => program, omit_expression => true }, {
            insta::assert_snapshot!(name, lowered(program).to_string());
        });
    }
}
