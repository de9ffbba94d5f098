//! Tests of single modules through their public functions.

mod arrays;
mod cells;
mod contain;
mod decode;
mod derivation;
mod diff;
mod digest;
mod discover;
mod edit;
mod extent;
mod files;
mod lines;
mod liveness;
mod marks;
mod modules;
mod normal;
mod patterns;
mod statements;
mod suggest;
mod suppress;
mod survey;
mod words;
