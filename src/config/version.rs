//! `required-version`: which versions of keylint may check a project.
//!
//! **Invariant:** a requirement that cannot be parsed is an error, never satisfied.

use std::cmp::Ordering;

/// Whether a version satisfies `required`: versions with operators, separated by commas. A version without operator must match exactly. The
/// error is the problem of the requirement.
pub fn meets(version: &str, required: &str) -> Result<bool, String> {
    let have = release(version).ok_or_else(|| format!("`{version}` is not a version"))?;
    let mut is_met = true;
    for part in required.split(',').map(str::trim) {
        let at = part.find(|c: char| !matches!(c, '<' | '>' | '=' | '!' | '~')).unwrap_or(part.len());
        let (operator, written) = (&part[..at], part[at..].trim());
        let is_family = written.ends_with(".*") && matches!(operator, "==" | "!=");
        let wanted =
            release(written.strip_suffix(".*").unwrap_or(written)).filter(|_| is_family || !written.ends_with('*'));
        let wanted = wanted.ok_or_else(|| format!("`{part}` is not a version or a constraint such as `>=0.1`"))?;
        let order = compare(&have, &wanted);
        let is_within = |parts: &[u32]| compare(have.get(..parts.len()).unwrap_or(&have), parts) == Ordering::Equal;
        is_met &= match operator {
            "==" if is_family => is_within(&wanted),
            "!=" if is_family => !is_within(&wanted),
            "" | "==" => order == Ordering::Equal,
            "!=" => order != Ordering::Equal,
            ">=" => order != Ordering::Less,
            "<=" => order != Ordering::Greater,
            ">" => order == Ordering::Greater,
            "<" => order == Ordering::Less,
            "~=" if wanted.len() > 1 => order != Ordering::Less && is_within(&wanted[..wanted.len() - 1]),
            _ => return Err(format!("`{operator}` is not a version operator")),
        };
    }
    Ok(is_met)
}

/// Parses the numbers of a release.
fn release(written: &str) -> Option<Vec<u32>> {
    written.split('.').map(|part| part.parse().ok()).collect()
}

/// Compares releases; omitted numbers are 0.
fn compare(one: &[u32], other: &[u32]) -> Ordering {
    let part = |release: &[u32], at: usize| release.get(at).copied().unwrap_or(0);
    let parts = 0..one.len().max(other.len());
    parts.map(|at| part(one, at).cmp(&part(other, at))).find(|order| order.is_ne()).unwrap_or(Ordering::Equal)
}
