//! placeholder
use keylint::models::Models;
#[test]
fn every_file_loads() {
    for (origin, text) in Models::builtin_files() {
        if let Err(problems) = Models::parse(text, origin) {
            panic!("{}", problems.iter().map(ToString::to_string).collect::<Vec<_>>().join("\n"));
        }
    }
}
