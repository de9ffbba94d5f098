//! Tests of `fix::hunks`.

use keylint::fix::hunks;
use keylint::text::apply_edits;
use proptest::prelude::*;

proptest! {
    #[test]
    fn hunks_reproduce_the_new_text(before in "[ab\r\né]{0,12}", after in "[ab\r\né]{0,12}") {
        prop_assert_eq!(apply_edits(&before, &hunks(&before, &after)), Ok(after));
    }
}
