//! The one integration-test binary.

#![expect(clippy::unwrap_used, reason = "a test that cannot go on should fail where it stands, in its helpers too")]

mod architecture;
mod baseline;
mod book;
mod cache;
mod cases;
mod cli;
mod config;
mod costs;
mod engine;
mod eval;
mod eval_numbers;
mod everywhere;
mod explosions;
#[cfg(unix)]
mod first_hour;
mod fix;
mod formats;
mod front;
mod functions;
mod graph;
mod hostile;
mod ignores;
mod in_memory;
mod ir;
mod jax_truth;
mod jep;
mod laws;
mod memory;
mod migrate;
mod mistakes;
mod models;
mod notebooks;
mod options;
mod picture;
mod prelude;
mod prng;
mod programs;
mod projects;
mod readme;
#[cfg(unix)]
mod release;
mod replay;
mod report;
mod rule_docs;
mod rules;
mod run;
mod server;
mod structures;
mod units;
mod words;
mod worlds;
mod wrappers;
