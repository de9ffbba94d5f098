//! keylint finds misuse of PRNG keys in Python code that uses JAX.
//!
//! Data flows one way: paths → `source` → `python` → `ir` → `analysis` → `judge` → `rules` → `suppress` → `report`.
//!
//! **Invariant:** a room imports only from the layers below it (the table in `docs/architecture.md`;
//! `tests/it/architecture.rs` enforces it).

pub mod analysis;
pub mod arrays;
pub mod cache;
pub mod cli;
pub mod config;
pub mod engine;
pub mod finding;
pub mod fix;
pub mod ir;
pub mod judge;
pub mod models;
pub mod prng;
pub mod python;
pub mod report;
pub mod rules;
pub mod server;
pub mod source;
pub mod suppress;
pub mod text;
pub mod verify;
