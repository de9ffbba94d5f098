//! Tests of `python::marks`.

use keylint::python::{SourceKind, marks, parse};

fn marked(text: &str) -> Vec<u32> {
    marks(text, &parse(text, SourceKind::Py).comments)
}

#[test]
fn cells_are_marked_by_comments_alone() {
    let light = "# ---\n# jupyter:\n#   jupytext:\n# ---\n\n# +\nx = 1\n# -\n# + [markdown]\n";
    assert_eq!(marked(light), [38, 52]);
    assert_eq!(marked("x = 1\n# %% second\ny = 2\n#%%\n"), [6, 24]);
    assert_eq!(marked("# + is an operator\n# +\nprint('# %%')\nif x:\n    # %% of a block\n    f()\n"), [0u32; 0]);
}

#[test]
fn strings_contain_no_cell_marks() {
    assert_eq!(marked("HELP = '''\n# %%\n'''\n# %%\n"), [20]);
    assert_eq!(marked("HELP = '''\n#   jupytext:\n'''\n# +\n"), [0u32; 0]);
}
