//! `primaryLocationLineHash`, the fingerprint by which GitHub code scanning recognises an alert in the next upload.
//!
//! It is a hash of the hundred UTF-16 units that follow the start of a line. White space within lines is skipped, all line endings are
//! the same, and equal hashes in a file are numbered. GitHub computes it if it is absent, but only when its own action uploads the SARIF
//! file. Our hash must be equal, or an alert would be closed and opened again (codeql-action, `fingerprints.ts`).
//!
//! **Invariant:** the computation takes linear time; arithmetic wraps at 64 bits.

use rustc_hash::FxHashMap;

/// The number of units that are hashed for each line.
const WINDOW: usize = 100;
const FACTOR: u64 = 37;
/// Marks the end of the file.
const END: u16 = 0xffff;

/// The hash of each line, by row from 1 at index 0, as `hexadecimal:occurrence`.
pub fn line_hashes(text: &str) -> Vec<String> {
    let (units, starts) = significant(text);
    // FACTOR to the power of WINDOW: the factor of the unit that leaves the window.
    let leaving = (0..WINDOW).fold(1_u64, |power, _| power.wrapping_mul(FACTOR));
    let unit = |at: usize| u64::from(units.get(at).copied().unwrap_or(0));
    let mut occurrences: FxHashMap<u64, u32> = FxHashMap::default();
    let mut hashes = Vec::with_capacity(starts.len());
    // The hash of the window that begins at `at`, padded with zeros beyond the end of the text.
    let mut hash = (0..WINDOW).fold(0_u64, |hash, at| hash.wrapping_mul(FACTOR).wrapping_add(unit(at)));
    let mut at = 0;
    for start in starts {
        while at < start {
            let entering = hash.wrapping_mul(FACTOR).wrapping_add(unit(at + WINDOW));
            hash = entering.wrapping_sub(leaving.wrapping_mul(unit(at)));
            at += 1;
        }
        let occurrence = occurrences.entry(hash).or_default();
        *occurrence += 1;
        hashes.push(format!("{hash:x}:{occurrence}"));
    }
    hashes
}

/// The units that are hashed, with `END` at the end, and the index at which each line begins.
fn significant(text: &str) -> (Vec<u16>, Vec<usize>) {
    let mut units = Vec::with_capacity(text.len() + 1);
    let mut starts = Vec::new();
    let mut is_at_start = true;
    let mut after_return = false;
    for unit in text.encode_utf16() {
        let follows_return = std::mem::take(&mut after_return);
        let unit = match unit {
            0x20 | 0x09 => continue,
            0x0a if follows_return => continue,
            0x0d => {
                after_return = true;
                0x0a
            }
            unit => unit,
        };
        if std::mem::take(&mut is_at_start) {
            starts.push(units.len());
        }
        is_at_start = unit == 0x0a;
        units.push(unit);
    }
    if is_at_start {
        starts.push(units.len());
    }
    units.push(END);
    (units, starts)
}
