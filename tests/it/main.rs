//! The one integration-test binary.

<<<<<<< HEAD
mod cli;
mod config;
mod report;
=======
mod rule_docs;
mod rules;
>>>>>>> wip-c
