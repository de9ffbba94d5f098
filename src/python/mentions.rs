//! A cheap test of whether a file can be relevant.
//!
//! **Invariant:** there are no false negatives: a file that mentions one of the words, even in a comment, is relevant.

use memchr::memmem;

/// Whether any of the words occurs in the text, even as part of a longer word.
pub fn mentions(text: &[u8], words: &[&str]) -> bool {
    words.iter().any(|word| memmem::find(text, word.as_bytes()).is_some())
}
