//! Reproducible randomness: the same seed gives the same program on every machine.

/// The generator `SplitMix64`.
#[derive(Clone)]
pub struct Dice(u64);

impl Dice {
    /// Dice that are distinguished by a number.
    pub fn new(seed: u64) -> Self {
        let mut dice = Self(seed.wrapping_mul(0x9E37_79B9_7F4A_7C15));
        dice.next();
        dice
    }

    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mut word = self.0;
        word = (word ^ (word >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        word = (word ^ (word >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        word ^ (word >> 31)
    }

    /// A number below the bound, which is not zero.
    pub fn below(&mut self, bound: usize) -> usize {
        usize::try_from(self.next() >> 11).unwrap_or(0) % bound
    }

    /// True with this probability, in percent.
    pub fn percent(&mut self, chance: usize) -> bool {
        self.below(100) < chance
    }

    /// One of several texts.
    pub fn pick<'a>(&mut self, texts: &[&'a str]) -> &'a str {
        texts[self.below(texts.len())]
    }
}
