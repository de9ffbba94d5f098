//! Programs as in real projects, with places at which one of several texts is chosen.
//!
//! A template stands in `fixtures/programs/templates/*.txt`. `⟦a¦b‖c¦d⟧` is one of `a` and `b`, or where a mistake is due one of `c` and `d`;
//! choices may nest, and a template's last line is its call. `UNIT` is the number of the unit and `SEED` a seed of its own.
//!
//! **Invariant:** with a sloppiness of zero no template draws twice from one key.

use std::fs;
use std::path::Path;
use std::sync::LazyLock;

use super::writer::Writer;

static TEMPLATES: LazyLock<Vec<String>> = LazyLock::new(|| {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("fixtures/programs/templates");
    let files = walkdir::WalkDir::new(folder).sort_by_file_name().into_iter().filter_map(Result::ok);
    let files = files.filter(|entry| entry.path().extension().is_some_and(|extension| extension == "txt"));
    let texts: Vec<String> = files.map(|entry| fs::read_to_string(entry.path()).unwrap()).collect();
    texts.iter().flat_map(|text| text.split("\n====\n").map(|part| part.trim_matches('\n').to_owned())).collect()
});

/// Writes a template with its choices made; answers with its call.
pub fn unit(w: &mut Writer, unit: usize, seed: usize) -> String {
    let template = TEMPLATES[w.dice.below(TEMPLATES.len())].clone();
    let sloppiness = w.sloppiness;
    // One place in a template is worth several statements.
    w.sloppiness = sloppiness * 3;
    let text = chosen(w, &template);
    w.sloppiness = sloppiness;
    let key = w.dice.pick(&["key", "rng", "prng_key", "rng_key"]).to_owned();
    let sub = w.dice.pick(&["sub", "subkey", "_rng", "step_key", "k"]).to_owned();
    let text = text
        .replace("UNIT", &unit.to_string())
        .replace("SEED", &seed.to_string())
        .replace("$key", &key)
        .replace("$sub", &sub);
    let (body, call) = text.rsplit_once('\n').unwrap();
    w.put(body);
    call.to_owned()
}

/// The text with all choices made.
fn chosen(w: &mut Writer, text: &str) -> String {
    let mut result = String::new();
    let mut rest = text;
    while let Some(start) = rest.find('⟦') {
        result.push_str(&rest[..start]);
        let behind = &rest[start + '⟦'.len_utf8()..];
        let end = closing(behind);
        let inner = &behind[..end];
        let (good, bad) = parts(inner);
        let bad = if bad.is_empty() || !w.slips() { good } else { bad };
        let choice = bad[w.dice.below(bad.len())].to_owned();
        result.push_str(&chosen(w, &choice));
        rest = &behind[end + '⟧'.len_utf8()..];
    }
    result.push_str(rest);
    result
}

/// Where the bracket that is open at the start closes.
fn closing(text: &str) -> usize {
    let mut depth = 0;
    for (at, character) in text.char_indices() {
        match character {
            '⟦' => depth += 1,
            '⟧' if depth == 0 => return at,
            '⟧' => depth -= 1,
            _ => {}
        }
    }
    panic!("a choice is not closed: {text}")
}

/// The good and the bad texts of a choice.
fn parts(text: &str) -> (Vec<&str>, Vec<&str>) {
    let (mut good, mut bad) = (Vec::new(), Vec::new());
    let (mut depth, mut start, mut is_bad) = (0, 0, false);
    let marks = text.char_indices().chain([(text.len(), '¦')]);
    for (at, character) in marks {
        match character {
            '⟦' => depth += 1,
            '⟧' => depth -= 1,
            '¦' | '‖' if depth == 0 => {
                if is_bad {
                    bad.push(&text[start..at]);
                } else {
                    good.push(&text[start..at]);
                }
                is_bad |= character == '‖';
                start = at + character.len_utf8().min(text.len() - at);
            }
            _ => {}
        }
    }
    (good, bad)
}
