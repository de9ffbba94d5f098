//! The one integration-test binary.
mod prng;
