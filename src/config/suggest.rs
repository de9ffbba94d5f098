//! "Did you mean": finds the known word that is nearest to a misspelt one.
//!
//! **Invariant:** ties are broken by the order of the candidates, so suggestions are reproducible.

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
        let limit = (candidate.chars().count() / 3).max(1);
        if distance <= limit && best.is_none_or(|(least, _)| distance < least) {
            best = Some((distance, candidate));
        }
    }
    best.map(|(_, candidate)| candidate)
}
