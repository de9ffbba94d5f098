//! The one integration-test binary.
<<<<<<< HEAD

#![expect(clippy::unwrap_used, reason = "a test that cannot go on should fail where it stands, in its helpers too")]

mod cli;
mod config;
mod front;
mod models;
mod report;
mod rule_docs;
mod rules;
=======
mod prng;
>>>>>>> wip-e
