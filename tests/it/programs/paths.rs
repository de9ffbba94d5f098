//! Programs that bind the free child of a split on some of their paths, and draw from the parent twice: what a fix draws from instead has to
//! be bound on every path.

/// What makes the children: `SPLIT` is a statement that binds `key` and `sub`.
const BOUND: [&str; 23] = [
    "SPLIT",
    "if p:\n    SPLIT",
    "if p:\n    SPLIT\nelif q:\n    pass\nelse:\n    SPLIT",
    "if p:\n    SPLIT\nelse:\n    SPLIT",
    "sub = None\nif p:\n    SPLIT",
    "if not p:\n    return 0.0\nSPLIT",
    "for _ in range(n):\n    SPLIT",
    "for _ in range(n):\n    if p:\n        break\n    SPLIT",
    "while n:\n    n -= 1\n    SPLIT\nelse:\n    q = not q",
    "while True:\n    if p:\n        break\n    SPLIT\n    break",
    "while True:\n    SPLIT\n    if p or q or True:\n        break",
    "try:\n    if p:\n        raise ValueError\n    SPLIT\nexcept ValueError:\n    pass",
    "try:\n    SPLIT\n    if p:\n        raise ValueError\nexcept ValueError:\n    del sub",
    "try:\n    SPLIT\nfinally:\n    q = not q",
    "SPLIT\nif p:\n    del sub",
    "match n:\n    case 0:\n        pass\n    case _:\n        SPLIT",
    "rest = [sub for sub in range(n)]\nif rest:\n    SPLIT",
    "with contextlib.nullcontext():\n    if p:\n        SPLIT",
    "SPLIT\ntry:\n    if p:\n        raise ValueError\nexcept ValueError as sub:\n    q = not q",
    "SPLIT\ntry:\n    if p:\n        raise ValueError\nexcept* ValueError as sub:\n    q = not q",
    "SPLIT\nfor _ in range(n):\n    try:\n        if p:\n            raise ValueError\n    except ValueError as sub:\n        break",
    "with contextlib.suppress(ValueError):\n    if p:\n        raise ValueError\n    SPLIT",
    "with Swallowing():\n    if p:\n        raise ValueError\n    SPLIT",
];

/// The two draws.
const DRAWN: [&str; 6] = [
    "a = jax.random.normal(key)\nb = jax.random.uniform(key)",
    "a = b = 0.0\nif q:\n    a = jax.random.normal(key)\n    b = jax.random.uniform(key)",
    "a = sum([jax.random.normal(key) for _ in range(2)])\nb = 0.0",
    "def draw():\n    return jax.random.normal(key)\na = draw()\nb = jax.random.uniform(key)",
    "a = b = 0.0\ntry:\n    a = jax.random.normal(key)\nfinally:\n    b = jax.random.uniform(key)",
    "left, right = jax.random.split(key)\na = jax.random.normal(left)\nb = jax.random.normal(key)",
];

fn indented(text: &str, by: usize) -> String {
    let indent = " ".repeat(by);
    text.lines().flat_map(|line| [&indent, line, "\n"]).collect()
}

/// Every way of binding with every way of drawing.
pub fn programs() -> Vec<String> {
    let split = "key, sub = jax.random.split(key)";
    let program = |bound: &str, drawn: &str| {
        format!(
            "import contextlib\n\nimport jax\n\n\nclass Swallowing:\n    def __enter__(self):\n        return self\n\n    def __exit__(self, kind, error, trace):\n        return kind is ValueError\n\n\ndef f(key, p, q, n):\n{}{}    return a + b\n\n\ndef main(p, q, mode, n):\n    return f(jax.random.key(0), p, q, n)\n",
            indented(&bound.replace("SPLIT", split), 4),
            indented(drawn, 4)
        )
    };
    BOUND.iter().flat_map(|bound| DRAWN.iter().map(move |drawn| program(bound, drawn))).collect()
}
