//! The one integration-test binary.

mod cli;
mod config;
mod report;
mod rule_docs;
mod rules;
