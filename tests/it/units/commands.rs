//! Cells in other languages.

use std::borrow::Cow;

use keylint::python::commands::python_only;

#[test]
fn code_in_other_languages_becomes_blanks() {
    let text = "# %%\nx = 1\n# %% é\n\n%%bash\nécho 'x\n# %%\n%%time\ny = 2\n# %%\n%%html\n<b>";
    let marks: Vec<u32> = text.match_indices("# %%").map(|(at, _)| at.try_into().unwrap()).collect();
    let only = python_only(text, &marks);
    assert_eq!(only, "# %%\nx = 1\n# %% é\n\n      \n        \n# %%\n%%time\ny = 2\n# %%\n      \n   ");
    assert_eq!(only.len(), text.len());
    assert!(matches!(python_only("%%bash\nls\n", &[]), Cow::Borrowed(_)));
}
