//! `float32`: logarithms, the error function and its inverse, by the same operations that XLA:CPU executes.
//!
//! The polynomials, and the places where products and sums are fused, are those of the LLVM code and the machine code
//! that jaxlib 0.10.2 emits for x86-64 (`XLA_FLAGS=--xla_dump_to`). The constants come from:
//!
//! | function | source of the constants |
//! |---|---|
//! | `log` | S. Moshier, Cephes, `logf.c` |
//! | `log1p` | S. Moshier, Cephes, `unity.c` |
//! | `erf_inv` | M. Giles, "Approximating the erfinv function", GPU Computing Gems 2 (2011), single precision |
//! | `erf` | the (4, 6) rational approximation of Eigen and XNNPACK, clamped where it reaches 1 |
//!
//! **Invariant:** the order of operations is part of the result. A rearrangement that is mathematically equal can change
//! the last bit; the golden vectors in `fixtures/prng` detect it.

use super::{Float, horner};
use crate::prng::dtype::DType;

/// `ln 2` in two parts, the first exact in few bits (Cephes, `C2` and `C1`).
const LN_2_HIGH: f32 = 0.693_359_4;
const LN_2_LOW: f32 = -0.000_212_194_44;

/// The natural logarithm.
pub fn log(x: f32) -> f32 {
    if x.is_nan() || x < 0.0 {
        return f32::NAN;
    }
    if x == 0.0 {
        return f32::NEG_INFINITY;
    }
    if x == f32::INFINITY {
        return x;
    }
    // Subnormal numbers are treated as the least normal number.
    let bits = x.max(f32::MIN_POSITIVE).to_bits();
    let mut exponent = (bits >> 23) as f32 - 126.0;
    let mut x = f32::from_bits(bits & 0x807F_FFFF | 0x3F00_0000);
    // Reduces the significand, in [1/2, 1), to a number near zero, in [√½ - 1, √2 - 1).
    if x < std::f32::consts::FRAC_1_SQRT_2 {
        exponent -= 1.0;
        x = (x - 1.0) + x;
    } else {
        x -= 1.0;
    }
    let square = x * x;
    let cube = square * x;
    let high = horner!(x, 0.070_376_836_f32, -0.115_146_1, 0.116_769_984);
    let middle = horner!(x, -0.124_201_41_f32, 0.142_493_23, -0.166_680_57);
    let low = horner!(x, 0.200_007_14_f32, -0.249_999_94, 0.333_333_3);
    let tail = horner!(cube, high, middle, low);
    let correction = tail.mul_add(cube, exponent * LN_2_LOW);
    exponent.mul_add(LN_2_HIGH, square.mul_add(-0.5, x) + correction)
}

/// The natural logarithm of `1 + x`: a rational approximation near zero, `log` elsewhere.
pub fn log1p(x: f32) -> f32 {
    // √2 - 1, where the approximation ends.
    if x.abs() >= 0.414_213_57 || x.is_nan() {
        return log(1.0 + x);
    }
    let square = x * x;
    let numerator = horner!(x, 4.527e-5_f32, 0.498_541_03, 6.578_732_5, 29.911_919, 60.949_67, 57.112_965, 20.039_553);
    let denominator = horner!(x, 1.0_f32, 15.062_909, 83.047_57, 221.762_4, 309.098_72, 216.427_89, 60.118_66);
    let tail = x * square * (numerator / denominator);
    x + square.mul_add(-0.5, tail)
}

/// The exponential function: `2^n exp(r)` with the remainder `r` in `[-ln 2 / 2, ln 2 / 2]` (Cephes, `expf.c`).
pub fn exp(x: f32) -> f32 {
    // Beyond these bounds, JAX returns infinity or zero. Results below the least normal number are not modelled.
    const GREATEST: f32 = 88.722_84;
    const LEAST: f32 = -87.0;
    if x.is_nan() {
        return x;
    }
    if x > GREATEST {
        return f32::INFINITY;
    }
    if x < LEAST {
        // A subnormal number marks a result that is too small to be computed exactly.
        return if x < -104.0 { 0.0 } else { f32::MIN_POSITIVE / 2.0 };
    }
    let whole = x.mul_add(std::f32::consts::LOG2_E, 0.5).floor();
    let rest = (-whole).mul_add(LN_2_LOW, (-whole).mul_add(LN_2_HIGH, x));
    let tail = horner!(rest, 0.000_198_756_91_f32, 0.001_398_2, 0.008_333_452, 0.041_665_796, 0.166_666_66, 0.5);
    let value = tail.mul_add(rest * rest, rest) + 1.0;
    nearest(f64::from(value) * f64::from(whole).exp2())
}

/// `x` to the power `y`, computed in `float64` and rounded: within two units in the last place of XLA's result.
pub fn power(x: f32, y: f32) -> f32 {
    nearest(f64::from(x).powf(f64::from(y)))
}

/// The logarithm of the gamma function of `z + 1` for non-negative `z`, by the Lanczos approximation.
pub fn log_factorial(z: f32) -> f32 {
    const COEFFICIENTS: [f32; 8] =
        [676.520_4, -1_259.139_2, 771.323_4, -176.615_03, 12.507_343, -0.138_571_1, 9.984_369e-6, 1.505_632_7e-7];
    // 7.5, its logarithm and its reciprocal, and the logarithm of √(2π).
    const OFFSET: f32 = 7.5;
    const LOG_OFFSET: f32 = 2.014_903;
    const LOG_ROOT: f32 = 0.918_938_5;
    let term = |(index, coefficient): (u16, f32)| coefficient / (z + f32::from(index));
    let series = (1_u16..).zip(COEFFICIENTS).map(term).fold(1.0, |sum, term| sum + term);
    let level = LOG_OFFSET + log1p(z * (1.0 / OFFSET));
    let distance = (z + 0.5) - (OFFSET + z) / level;
    distance.mul_add(level, LOG_ROOT) + log(series)
}

/// The window size of XLA:CPU's sums: a longer sum is the sum, computed in the same way, of the sums of its windows.
pub const WINDOW: usize = 32;

/// The sum in XLA:CPU's order: by windows, after padding the numbers with zeros to full windows, half of the zeros on the left.
pub fn sum(row: &[f32]) -> f32 {
    let mut numbers = row.to_vec();
    while numbers.len() > WINDOW {
        let count = numbers.len().div_ceil(WINDOW);
        let missing = count * WINDOW - numbers.len();
        let mut padded = vec![0.0; missing / 2];
        padded.append(&mut numbers);
        padded.resize(count * WINDOW, 0.0);
        numbers =
            padded.chunks_exact(WINDOW).map(|window| window.iter().fold(0.0, |sum, number| sum + number)).collect();
    }
    numbers.iter().fold(0.0, |sum, number| sum + number)
}

/// The inverse of the error function; infinite at ±1.
pub fn erf_inv(x: f32) -> f32 {
    if x.abs() == 1.0 {
        return x * f32::INFINITY;
    }
    let w = -log1p(x * -x);
    let polynomial = if w < 5.0 {
        horner!(
            w - 2.5,
            2.810_226_4e-8_f32,
            3.432_739_4e-7,
            -3.523_387_7e-6,
            -4.391_506_5e-6,
            0.000_218_580_87,
            -0.001_253_725,
            -0.004_177_681_6,
            0.246_640_73,
            1.501_409_4
        )
    } else {
        horner!(
            w.sqrt() - 3.0,
            -0.000_200_214_26_f32,
            0.000_100_950_56,
            0.001_349_343_2,
            -0.003_673_428_4,
            0.005_739_507_7,
            -0.007_622_461_3,
            0.009_438_870_5,
            1.001_674,
            2.832_976_8
        )
    };
    x * polynomial
}

/// The error function.
pub fn erf(x: f32) -> f32 {
    // Beyond this bound, the error function rounds to ±1.
    const REACH: f32 = 3.743_921_3;
    // The slope at zero.
    #[expect(clippy::approx_constant, reason = "the approximation starts one unit below 2/√π")]
    const SLOPE: f32 = 1.128_379_1;
    if x.abs() >= REACH {
        return 1.0_f32.copysign(x);
    }
    let square = x * x;
    let numerator = x * horner!(square, 0.000_229_050_65_f32, 0.003_408_291, 0.050_955_694, 0.185_208_32, SLOPE);
    let denominator = horner!(
        square,
        -1.179_160_3e-7_f32,
        2.354_796_6e-5,
        0.001_017_962_6,
        0.014_070_47,
        0.110_985_05,
        0.497_469_25,
        1.0
    );
    numerator / denominator
}

#[expect(clippy::cast_possible_truncation, reason = "rounding to the nearest float32 is what the conversion does")]
fn nearest(value: f64) -> f32 {
    value as f32
}

impl Float for f32 {
    const DTYPE: DType = DType::Float32;
    const RANDOM_BITS: u32 = 32;
    const MANTISSA: u32 = 23;
    const TINY: Self = Self::MIN_POSITIVE;
    const EPS: Self = Self::EPSILON;
    const ABOVE_MINUS_ONE: Self = Self::EPSILON / 2.0 - 1.0;
    const ZERO: Self = 0.0;
    const ONE: Self = 1.0;

    fn from_f64(value: f64) -> Self {
        nearest(value)
    }
    fn to_f64(self) -> f64 {
        self.into()
    }
    fn times_plus(self, factor: Self, addend: Self) -> Self {
        self.mul_add(factor, addend)
    }
    fn xla_log(self) -> Self {
        log(self)
    }
    fn xla_log1p(self) -> Self {
        log1p(self)
    }
    /// XLA calls the C library; a tangent computed in `float64` and rounded differs from it by at most one unit in the last place.
    fn xla_tan(self) -> Self {
        nearest(f64::from(self).tan())
    }
    fn xla_erf_inv(self) -> Self {
        erf_inv(self)
    }
    fn xla_erf(self) -> Option<Self> {
        Some(erf(self))
    }
    fn next_up(self) -> Self {
        self.next_up()
    }
}
