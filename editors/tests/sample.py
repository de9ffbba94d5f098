"""The project that every editor opens: emoji, tabs, CRLF, a notebook, two modules of which one imports the other.

`python sample.py FOLDER` writes it; the folder is made.
"""

import json
import pathlib
import sys

CONFIGURATION = 'min-level = "warning"\n'

# A fix that is safe, one that changes numbers, findings without a fix, and a comment that silences nothing.
TRAIN = '''\
import jax


def init(key: jax.random.KeyArray, n):
    """Weights 🎲 and bias."""
    weights = jax.random.normal(key, (n,)); bias = "🎲🎲", jax.random.normal(key, (n,))
    return weights, bias


def noise(key, steps):
    jax.random.split(key)
    total = 0
    for _ in range(steps):
        total += jax.random.normal(key)
    return total


def silent(key):
    return jax.random.normal(key)  # keylint: ignore[KEY101] nothing to ignore
'''

# One finding, with a fix; characters of one, two and four bytes before it.
WINDOWS = (
    "import jax\r\n\r\n\r\ndef draw(key):\r\n\tif True:\r\n\t\ta = 'ü🎲',\tjax.random.normal(key)\r\n"
    "\t\tb = 'ü🎲',\tjax.random.uniform(key)\r\n\treturn a, b\r\n"
)

HELPER = '''\
import jax


def noise(key):
    return jax.random.normal(key)
'''

# Wrong only as long as the helper draws.
CALLER = '''\
import jax

import helper


def augment(key, image):
    return image + helper.noise(key), jax.random.normal(key)
'''

CLEAN = '''\
import jax


def pair(key):
    first, second = jax.random.split(key)
    return jax.random.normal(first), jax.random.normal(second)
'''

NOTEBOOK_CELLS = (
    ("markdown", "# Draws 🎲\n"),
    ("code", "import jax\nkey = jax.random.key(0)"),
    ("code", "%matplotlib inline\na = '🎲', jax.random.normal(key)\n"),
    ("code", "b = '🎲', jax.random.normal(key)\nb"),
)

TEXTS = {
    "keylint.toml": CONFIGURATION,
    "train.py": TRAIN,
    "windows.py": WINDOWS,
    "helper.py": HELPER,
    "caller.py": CALLER,
    "clean.py": CLEAN,
}


def notebook(cells=NOTEBOOK_CELLS) -> str:
    """The file of a notebook, as Jupyter writes it."""

    def cell(kind, text):
        code = {"execution_count": None, "outputs": []} if kind == "code" else {}
        return {"cell_type": kind, **code, "metadata": {}, "source": text.splitlines(keepends=True)}

    language = {"language_info": {"name": "python"}}
    document = {"cells": [cell(*it) for it in cells], "metadata": language, "nbformat": 4, "nbformat_minor": 4}
    return json.dumps(document, indent=1, ensure_ascii=False) + "\n"


def write(folder: pathlib.Path) -> pathlib.Path:
    """Writes the project."""
    folder.mkdir(parents=True, exist_ok=True)
    for name, text in {**TEXTS, "explore.ipynb": notebook()}.items():
        (folder / name).write_bytes(text.encode())
    return folder


if __name__ == "__main__":
    write(pathlib.Path(sys.argv[1]))
