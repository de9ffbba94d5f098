//! "Did you mean": the nearest known word to a misspelt one.
//!
//! **Invariant:** equal distances are decided by the order of the candidates, so suggestions are reproducible.

/// The candidate nearest to `written`, if it is near enough to be what was intended: at most a third of its letters differ.
pub fn suggest<'a>(written: &str, candidates: impl IntoIterator<Item = &'a str>) -> Option<&'a str> {
    // The distance is quadratic in the length, and long words are no misspellings of short names.
    if written.len() > 80 {
        return None;
    }
    let lower = written.to_lowercase();
    let mut best: Option<(usize, &str)> = None;
    for candidate in candidates {
        let distance = strsim::osa_distance(&lower, &candidate.to_lowercase());
        let limit = (candidate.chars().count() / 3).max(1);
        if distance <= limit && best.is_none_or(|(least, _)| distance < least) {
            best = Some((distance, candidate));
        }
    }
    best.map(|(_, candidate)| candidate)
}

#[cfg(test)]
mod tests {
    use super::suggest;

    #[test]
    fn suggestions_are_near_words_only() {
        let words = ["select", "ignore", "exclude"];
        assert_eq!(suggest("selct", words), Some("select"));
        assert_eq!(suggest("IGNORE", words), Some("ignore"));
        assert_eq!(suggest("colour", words), None);
        assert_eq!(suggest(&"x".repeat(10_000), words), None);
    }
}
