//! Arguments of the command line.

use clap::CommandFactory;
use keylint::cli::{Args, pairs};

#[test]
fn prelude_definitions_are_sound() {
    Args::command().debug_assert();
}

#[test]
fn pairs_continue_their_pattern() {
    let items = ["a.py:KEY101", "KEY2", "b/*:ALL"].map(str::to_owned);
    let pairs = pairs(&items).unwrap();
    assert_eq!(pairs["a.py"], ["KEY101", "KEY2"]);
    assert_eq!(pairs["b/*"], ["ALL"]);
    assert!(keylint::cli::pairs(&["KEY101".to_owned()]).is_err());
}
