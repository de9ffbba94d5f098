//! The element types that occur in JAX's random functions.
//!
//! **Invariant:** a `DType` says how elements are rounded or wrapped; it never decides which bits are drawn, except
//! through its width.

use std::fmt;

use super::mode::Mode;

/// An element type.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum DType {
    /// `bool`
    Bool,
    /// `int8`
    Int8,
    /// `int16`
    Int16,
    /// `int32`
    Int32,
    /// `int64`
    Int64,
    /// `uint8`
    Uint8,
    /// `uint16`
    Uint16,
    /// `uint32`
    Uint32,
    /// `uint64`
    Uint64,
    /// `float16`, IEEE 754 binary16
    Float16,
    /// `bfloat16`, the upper half of a binary32
    Bfloat16,
    /// `float32`
    Float32,
    /// `float64`
    Float64,
    /// `complex64`: two `float32`
    Complex64,
    /// `complex128`: two `float64`
    Complex128,
}

/// The families of element types.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum DTypeKind {
    /// Booleans.
    Bool,
    /// Two's-complement integers.
    Signed,
    /// Non-negative integers.
    Unsigned,
    /// Floating-point numbers.
    Real,
    /// Complex numbers.
    Complex,
}

impl DType {
    /// Every element type, in declaration order.
    pub const ALL: [Self; 15] = [
        Self::Bool,
        Self::Int8,
        Self::Int16,
        Self::Int32,
        Self::Int64,
        Self::Uint8,
        Self::Uint16,
        Self::Uint32,
        Self::Uint64,
        Self::Float16,
        Self::Bfloat16,
        Self::Float32,
        Self::Float64,
        Self::Complex64,
        Self::Complex128,
    ];

    /// The name that `NumPy` and JAX print.
    pub fn name(self) -> &'static str {
        match self {
            Self::Bool => "bool",
            Self::Int8 => "int8",
            Self::Int16 => "int16",
            Self::Int32 => "int32",
            Self::Int64 => "int64",
            Self::Uint8 => "uint8",
            Self::Uint16 => "uint16",
            Self::Uint32 => "uint32",
            Self::Uint64 => "uint64",
            Self::Float16 => "float16",
            Self::Bfloat16 => "bfloat16",
            Self::Float32 => "float32",
            Self::Float64 => "float64",
            Self::Complex64 => "complex64",
            Self::Complex128 => "complex128",
        }
    }

    /// The type of that name.
    pub fn from_name(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|dtype| dtype.name() == name)
    }

    /// Bits in one element.
    pub fn width(self) -> u32 {
        match self {
            Self::Bool | Self::Int8 | Self::Uint8 => 8,
            Self::Int16 | Self::Uint16 | Self::Float16 | Self::Bfloat16 => 16,
            Self::Int32 | Self::Uint32 | Self::Float32 => 32,
            Self::Int64 | Self::Uint64 | Self::Float64 | Self::Complex64 => 64,
            Self::Complex128 => 128,
        }
    }

    /// The family.
    pub fn kind(self) -> DTypeKind {
        match self {
            Self::Bool => DTypeKind::Bool,
            Self::Int8 | Self::Int16 | Self::Int32 | Self::Int64 => DTypeKind::Signed,
            Self::Uint8 | Self::Uint16 | Self::Uint32 | Self::Uint64 => DTypeKind::Unsigned,
            Self::Float16 | Self::Bfloat16 | Self::Float32 | Self::Float64 => DTypeKind::Real,
            Self::Complex64 | Self::Complex128 => DTypeKind::Complex,
        }
    }

    /// Whether elements are integers.
    pub fn is_integer(self) -> bool {
        matches!(self.kind(), DTypeKind::Signed | DTypeKind::Unsigned)
    }

    /// The least and the greatest element of an integer type; `(0, 1)` for the others.
    pub fn bounds(self) -> (i128, i128) {
        match self.kind() {
            DTypeKind::Signed => (-(1 << (self.width() - 1)), (1 << (self.width() - 1)) - 1),
            DTypeKind::Unsigned => (0, (1 << self.width()) - 1),
            DTypeKind::Bool | DTypeKind::Real | DTypeKind::Complex => (0, 1),
        }
    }

    /// The type that JAX uses for a requested type: without x64, every 64-bit type becomes its 32-bit counterpart.
    #[must_use]
    pub fn canonical(self, mode: Mode) -> Self {
        match self {
            Self::Int64 if !mode.x64 => Self::Int32,
            Self::Uint64 if !mode.x64 => Self::Uint32,
            Self::Float64 if !mode.x64 => Self::Float32,
            Self::Complex128 if !mode.x64 => Self::Complex64,
            other => other,
        }
    }

    /// The type of `jnp.array(1)`.
    pub fn default_int(mode: Mode) -> Self {
        Self::Int64.canonical(mode)
    }

    /// The type of `jax.random.bits(key)`.
    pub fn default_uint(mode: Mode) -> Self {
        Self::Uint64.canonical(mode)
    }

    /// The type of the real and imaginary parts of a complex type; any other type is returned unchanged.
    #[must_use]
    pub fn part(self) -> Self {
        match self {
            Self::Complex64 => Self::Float32,
            Self::Complex128 => Self::Float64,
            other => other,
        }
    }

    /// The complex type whose parts are of this floating-point type.
    #[must_use]
    pub fn complex(self) -> Self {
        if matches!(self, Self::Float64 | Self::Complex128) { Self::Complex128 } else { Self::Complex64 }
    }

    /// The type of `jnp.array(1j)`.
    pub fn default_complex(mode: Mode) -> Self {
        Self::Complex128.canonical(mode)
    }

    /// The floating-point type to which this type is promoted, for example by a division: 32 bits wide, except for 64-bit integers.
    #[must_use]
    pub fn inexact(self, mode: Mode) -> Self {
        match self.kind() {
            DTypeKind::Real | DTypeKind::Complex => self,
            DTypeKind::Bool | DTypeKind::Signed | DTypeKind::Unsigned if self.width() < 64 => Self::Float32,
            DTypeKind::Bool | DTypeKind::Signed | DTypeKind::Unsigned => Self::default_float(mode),
        }
    }

    /// The type of `jnp.array(1.0)`.
    pub fn default_float(mode: Mode) -> Self {
        Self::Float64.canonical(mode)
    }
}

impl fmt::Display for DType {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}
