//! 64-bit numbers as pairs of 32-bit words.
//!
//! **Invariant:** nothing is lost: `join(high(x), low(x)) == x`.

/// The low word.
#[inline]
pub fn low(number: u64) -> u32 {
    (number & 0xFFFF_FFFF) as u32
}

/// The high word.
#[inline]
pub fn high(number: u64) -> u32 {
    (number >> 32) as u32
}

/// The number with these two words.
#[inline]
pub fn join(high: u32, low: u32) -> u64 {
    u64::from(high) << 32 | u64::from(low)
}

/// The high and the low word of an element's index.
#[inline]
pub fn of_index(index: usize) -> [u32; 2] {
    let index = index as u64;
    [high(index), low(index)]
}

/// The high and the low word of a product.
#[inline]
pub fn product(a: u32, b: u32) -> [u32; 2] {
    let product = u64::from(a) * u64::from(b);
    [high(product), low(product)]
}
