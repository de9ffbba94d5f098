//! The one integration-test binary.

mod models;
