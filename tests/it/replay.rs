//! Replays: what they confirm, and that they never confirm what is not so.

use std::path::Path;

use keylint::engine::check_text;
use keylint::finding::WitnessStatus;

/// The status and sentence of every witness of a text.
fn witnesses(text: &str) -> Vec<(&'static str, WitnessStatus, String)> {
    let checked = check_text("/program.py", text);
    checked
        .into_iter()
        .filter_map(|checked| {
            let witness = checked.finding.witness?;
            Some((checked.finding.code, witness.status, witness.sentence))
        })
        .collect()
}

#[test]
fn reuse_in_line() {
    let text = "\
import jax
key = jax.random.key(42)
a = jax.random.uniform(key, (3,))
b = jax.random.uniform(key, (3,))
";
    println!("{:?}", witnesses(text));
}

#[test]
fn survey() {
    let (mut all, mut confirmed) = (0, 0);
    for folder in ["fixtures/cases", "fixtures/hard"] {
        for entry in walkdir::WalkDir::new(Path::new(env!("CARGO_MANIFEST_DIR")).join(folder)).sort_by_file_name() {
            let entry = entry.unwrap();
            if entry.path().extension().is_none_or(|extension| extension != "py") {
                continue;
            }
            let text = std::fs::read_to_string(entry.path()).unwrap();
            for checked in check_text("/program.py", &text) {
                let Some(witness) = &checked.finding.witness else { continue };
                all += 1;
                if witness.status == WitnessStatus::Confirmed {
                    confirmed += 1;
                } else {
                    println!(
                        "{:?} {} {}:{}",
                        witness.status,
                        checked.finding.code,
                        entry.path().display(),
                        checked.row
                    );
                }
            }
        }
    }
    for file in ["fixtures/jax/reuse_programs.json", "fixtures/hard/structures.json"] {
        let Ok(text) = std::fs::read_to_string(Path::new(env!("CARGO_MANIFEST_DIR")).join(file)) else { continue };
        let value: serde_json::Value = serde_json::from_str(&text).unwrap();
        let list = value.as_array().cloned().or_else(|| value["programs"].as_array().cloned()).unwrap();
        for program in list {
            let Some(text) = program["source"].as_str() else { continue };
            for checked in check_text("/program.py", &text) {
                let Some(witness) = &checked.finding.witness else { continue };
                all += 1;
                if witness.status == WitnessStatus::Confirmed {
                    confirmed += 1;
                } else {
                    println!("{:?} {} {}:{}", witness.status, checked.finding.code, program["id"], checked.row);
                }
            }
        }
    }
    println!("{confirmed} of {all}");
}
