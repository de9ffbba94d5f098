//! A cheap test of whether a file can matter at all.
//!
//! **Invariant:** a file whose code names one of the words is never denied; a mention in a comment counts as well.

use memchr::memmem;

/// Whether any of the words occurs anywhere in the text, as part of a longer word too.
pub fn mentions(text: &[u8], words: &[&str]) -> bool {
    words.iter().any(|word| memmem::find(text, word.as_bytes()).is_some())
}
