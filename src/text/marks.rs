//! The comments of a script that mark where the cells of a notebook start.
//!
//! **Invariant:** a comment of any other kind marks nothing.

/// How far into a script a notebook says what it was made of.
const HEADER: usize = 40;

/// Where the cells of a script start that stands for a notebook: at each `# %%`, as editors have it, and at each `# +` where the
/// header says that `jupytext` wrote it.
pub fn marks(text: &str) -> Vec<u32> {
    let is_light =
        text.split(['\n', '\r']).take(HEADER).any(|line| line.starts_with('#') && line.contains("jupytext:"));
    let is_mark = |line: &str| {
        let Some(comment) = line.strip_prefix('#') else { return false };
        let comment = comment.trim_start_matches(' ');
        comment.starts_with("%%") || is_light && (comment.trim_end() == "+" || comment.starts_with("+ "))
    };
    let mut start = 0;
    let mut marks = Vec::new();
    for line in text.split_inclusive(['\n', '\r']) {
        if is_mark(line) {
            marks.push(start);
        }
        start += u32::try_from(line.len()).unwrap_or(u32::MAX);
    }
    marks
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn cells_are_marked_by_comments_alone() {
        let light = "# ---\n# jupyter:\n#   jupytext:\n# ---\n\n# +\nx = 1\n# -\n# + [markdown]\n";
        assert_eq!(marks(light), [38, 52]);
        assert_eq!(marks("x = 1\n# %% second\ny = 2\n#%%\n"), [6, 24]);
        assert_eq!(marks("# + is an operator\n# +\nprint('# %%')\n    # %% of a block\n"), [0u32; 0]);
    }
}
