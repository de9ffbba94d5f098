//! The one integration-test binary.

mod rule_docs;
mod rules;
