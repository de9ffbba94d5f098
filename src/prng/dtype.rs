//! The element types that occur in JAX's random functions.
//!
//! **Invariant:** a `DType` says how elements are rounded or wrapped; it never decides which bits are drawn, except
//! through its width.

use std::fmt;

use super::mode::Mode;

/// Declares the element types: name, bits in one element, family.
macro_rules! dtypes {
    ($($dtype:ident $name:literal $width:literal $kind:ident $(, $about:literal)?;)+) => {
        /// An element type.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
        pub enum DType {
            $(#[doc = concat!("`", $name, "`" $(, ": ", $about)?)] $dtype,)+
        }

        impl DType {
            /// Every element type, in declaration order.
            pub const ALL: &[Self] = &[$(Self::$dtype,)+];

            /// The name that `NumPy` and JAX print.
            pub fn name(self) -> &'static str {
                match self { $(Self::$dtype => $name,)+ }
            }

            /// Bits in one element.
            pub fn width(self) -> u32 {
                match self { $(Self::$dtype => $width,)+ }
            }

            /// The family.
            pub fn kind(self) -> DTypeKind {
                match self { $(Self::$dtype => DTypeKind::$kind,)+ }
            }
        }
    };
}

dtypes! {
    Bool "bool" 8 Bool;
    Int8 "int8" 8 Signed;
    Int16 "int16" 16 Signed;
    Int32 "int32" 32 Signed;
    Int64 "int64" 64 Signed;
    Uint8 "uint8" 8 Unsigned;
    Uint16 "uint16" 16 Unsigned;
    Uint32 "uint32" 32 Unsigned;
    Uint64 "uint64" 64 Unsigned;
    Float16 "float16" 16 Real, "IEEE 754 binary16";
    Bfloat16 "bfloat16" 16 Real, "the upper half of a binary32";
    Float32 "float32" 32 Real;
    Float64 "float64" 64 Real;
    Complex64 "complex64" 64 Complex, "two `float32`";
    Complex128 "complex128" 128 Complex, "two `float64`";
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
    /// The type of that name.
    pub fn from_name(name: &str) -> Option<Self> {
        Self::ALL.iter().copied().find(|dtype| dtype.name() == name)
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
