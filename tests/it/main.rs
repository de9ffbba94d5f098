//! The one integration-test binary.

mod front;
