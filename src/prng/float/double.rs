//! `float64`: the inverse of the error function and `log1p` as XLA:CPU computes them, on top of the C library's
//! logarithm, which XLA calls too.
//!
//! Constants: S. Moshier, Cephes, `unity.c`, for `log1p`; M. Giles, "Approximating the erfinv function", GPU
//! Computing Gems 2 (2011), double precision, for `erf_inv`.
//!
//! **Invariant:** only the logarithm and the tangent come from the C library. C libraries may round them differently; then
//! the results differ in the last place, here as in JAX.

use super::{Float, horner};
use crate::prng::dtype::DType;

/// The natural logarithm of `1 + x`: a rational approximation near zero, the C library's logarithm elsewhere.
pub fn log1p(x: f64) -> f64 {
    // √2 - 1, where the approximation ends.
    if x.abs() >= 0.414_213_562_373_095_03 || x.is_nan() {
        return (1.0 + x).ln();
    }
    let square = x * x;
    let numerator = horner!(
        x,
        4.527_000_086_244_52e-5_f64,
        0.498_541_028_231_933_75,
        6.578_732_594_206_104,
        29.911_919_328_553_072,
        60.949_667_980_987_79,
        57.112_963_590_585_54,
        20.039_553_499_201_283
    );
    let denominator = horner!(
        x,
        1.0_f64,
        15.062_909_083_469_192,
        83.047_565_967_967_22,
        221.762_398_237_328_57,
        309.098_722_253_120_57,
        216.427_886_144_959_47,
        60.118_660_497_603_84
    );
    let tail = x * square * (numerator / denominator);
    x + square.mul_add(-0.5, tail)
}

/// Coefficients for w < 6.25, in powers of w - 3.125.
const CENTRE: [f64; 23] = [
    -3.644_412_064_017_82e-21,
    -1.685_059_138_182_016_6e-19,
    1.285_848_071_525_64e-18,
    1.115_787_767_802_518_1e-17,
    -1.333_171_662_854_621e-16,
    2.097_276_787_596_856_2e-17,
    6.637_638_134_358_324e-15,
    -4.054_566_272_975_207e-14,
    -8.151_934_197_605_472e-14,
    2.633_509_315_308_232_3e-12,
    -1.297_513_325_345_353_2e-11,
    -5.415_412_054_294_628e-11,
    1.051_212_273_321_532_3e-9,
    -4.112_633_980_346_984e-9,
    -2.907_036_995_788_200_5e-8,
    4.234_787_782_793_240_4e-7,
    -1.365_469_200_083_467_9e-6,
    -1.388_252_336_278_646_9e-5,
    0.000_186_734_208_034_057_14,
    -0.000_740_702_534_166_267,
    -0.006_033_670_871_430_149,
    0.240_158_182_425_589_62,
    1.653_654_562_683_102_7,
];

/// Coefficients for 6.25 ≤ w < 16, in powers of √w - 3.25.
const MIDDLE: [f64; 19] = [
    2.213_737_692_177_578_7e-9,
    9.075_656_193_888_539e-8,
    -2.751_740_629_706_454_5e-7,
    1.823_962_921_438_922_8e-8,
    1.502_740_396_890_982_8e-6,
    -4.013_867_526_981_546e-6,
    2.923_444_908_995_544_6e-6,
    1.247_530_448_167_177_9e-5,
    -4.731_822_900_905_573_4e-5,
    6.828_485_145_957_318e-5,
    2.403_111_038_709_789_4e-5,
    -0.000_355_037_520_362_847_5,
    0.000_953_289_379_737_380_5,
    -0.001_688_275_556_023_504_7,
    0.002_491_442_096_107_851,
    -0.003_751_208_507_569_241,
    0.005_370_914_553_590_064,
    1.005_258_967_694_159_2,
    3.083_885_610_492_220_8,
];

/// Coefficients for 16 ≤ w, in powers of √w - 5.
const TAIL: [f64; 17] = [
    -2.710_992_061_643_857_3e-11,
    -2.555_641_816_996_525e-10,
    1.507_657_269_350_054_8e-9,
    -3.789_465_440_126_737e-9,
    7.615_701_208_078_34e-9,
    -1.496_002_662_714_924e-8,
    2.914_795_345_090_108e-8,
    -6.771_199_775_845_234e-8,
    2.290_048_222_802_665_5e-7,
    -9.929_827_294_231_7e-7,
    4.526_062_597_223_154e-6,
    -1.968_177_810_553_167e-5,
    7.599_527_703_001_776e-5,
    -0.000_215_030_119_300_444_77,
    -0.000_138_719_318_336_231_22,
    1.010_300_464_864_534_4,
    4.849_906_401_408_584,
];

/// The inverse of the error function; infinite at ±1.
pub fn erf_inv(x: f64) -> f64 {
    fn polynomial(x: f64, coefficients: &[f64]) -> f64 {
        coefficients.iter().copied().reduce(|value, next| value.mul_add(x, next)).unwrap_or(0.0)
    }
    if x.abs() == 1.0 {
        return x * f64::INFINITY;
    }
    let w = -log1p(x * -x);
    let factor = if w < 6.25 {
        polynomial(w - 3.125, &CENTRE)
    } else if w < 16.0 {
        polynomial(w.sqrt() - 3.25, &MIDDLE)
    } else {
        polynomial(w.sqrt() - 5.0, &TAIL)
    };
    x * factor
}

impl Float for f64 {
    const DTYPE: DType = DType::Float64;
    const RANDOM_BITS: u32 = 64;
    const MANTISSA: u32 = 52;
    const TINY: Self = Self::MIN_POSITIVE;
    const EPS: Self = Self::EPSILON;
    const ABOVE_MINUS_ONE: Self = Self::EPSILON / 2.0 - 1.0;
    const ZERO: Self = 0.0;
    const ONE: Self = 1.0;

    fn from_f64(value: f64) -> Self {
        value
    }
    fn to_f64(self) -> f64 {
        self
    }
    fn times_plus(self, factor: Self, addend: Self) -> Self {
        self.mul_add(factor, addend)
    }
    fn xla_log(self) -> Self {
        self.ln()
    }
    fn xla_log1p(self) -> Self {
        log1p(self)
    }
    fn xla_tan(self) -> Self {
        self.tan()
    }
    fn xla_erf_inv(self) -> Self {
        erf_inv(self)
    }
    /// XLA calls the C library here, and Rust has no such function.
    fn xla_erf(self) -> Option<Self> {
        None
    }
    fn next_up(self) -> Self {
        self.next_up()
    }
}
