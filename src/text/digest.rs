//! Digests of content.
//!
//! **Invariant:** the same parts in the same order give the same digest on every machine.

use std::fmt;
use std::hash::Hasher;

use serde::{Deserialize, Serialize};
use siphasher::sip128::{Hasher128, SipHasher13};

/// A 128-bit digest.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct Digest(u64, u64);

impl Digest {
    /// The digest of some bytes.
    pub fn of(bytes: &[u8]) -> Self {
        let mut digester = Digester::default();
        digester.add(bytes);
        digester.finish()
    }
}

impl fmt::Display for Digest {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:016x}{:016x}", self.0, self.1)
    }
}

/// Computes one digest of several parts.
#[derive(Clone, Copy, Debug, Default)]
pub struct Digester(SipHasher13);

impl Digester {
    /// Adds a part. The boundaries of parts affect the digest.
    pub fn add(&mut self, part: impl AsRef<[u8]>) {
        let part = part.as_ref();
        self.0.write_u64((part.len() as u64).to_le());
        self.0.write(part);
    }

    /// The digest of all parts.
    pub fn finish(&self) -> Digest {
        let hash = self.0.finish128();
        Digest(hash.h1, hash.h2)
    }
}
