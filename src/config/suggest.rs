//! "Did you mean": finds the known word closest to a misspelled one.
//!
//! **Invariant:** ties are broken by the order of the candidates, so suggestions are reproducible. The code of a rule is suggested only for
//! the same number: `E501` and `KEY999` are no misspellings of `KEY501` and `KEY109`.

/// The candidate nearest to `written`, if at most a third of its letters differ.
pub fn suggest<'a>(written: &str, candidates: impl IntoIterator<Item = &'a str>) -> Option<&'a str> {
    // Computing the distance takes quadratic time, and a long word is not a misspelling of a short name.
    if written.len() > 80 {
        return None;
    }
    let lower = written.to_lowercase();
    let mut best: Option<(usize, &str)> = None;
    for candidate in candidates {
        let distance = strsim::osa_distance(&lower, &candidate.to_lowercase());
        let limit = match number(candidate) {
            "" => (candidate.chars().count() / 3).max(1),
            its if its == number(written) => 1,
            _ => 0,
        };
        if distance <= limit && best.is_none_or(|(least, _)| distance < least) {
            best = Some((distance, candidate));
        }
    }
    best.map(|(_, candidate)| candidate)
}

/// The number at the end of the code of a rule; empty for any other word.
fn number(word: &str) -> &str {
    let letters = word.trim_end_matches(|c: char| c.is_ascii_digit());
    let is_code = !letters.is_empty() && letters.bytes().all(|letter| letter.is_ascii_alphabetic());
    if is_code { &word[letters.len()..] } else { "" }
}
