//! The one integration-test binary.

mod front;
mod models;
