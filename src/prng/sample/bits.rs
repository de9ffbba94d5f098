//! Random bits, from which every sampler computes its numbers.
//!
//! **Invariant:** samplers and implementations interact only by requests for bits, whose number and order matter. The
//! batching rule of `rbg`, by which a batch draws from its first key, is part of this interface.

use crate::prng::array::{Array, size_of};
use crate::prng::dtype::{DType, DTypeKind};
use crate::prng::error::{Error, Result};
use crate::prng::keys::Keys;
use crate::prng::mode::Mode;

/// `jax.random.bits(key, shape, dtype)`. Exact.
pub fn bits(mode: Mode, keys: &Keys, shape: &[usize], dtype: Option<DType>) -> Result<Array> {
    let dtype = dtype.map_or(DType::default_uint(mode), |dtype| dtype.canonical(mode));
    if dtype.kind() != DTypeKind::Unsigned {
        return Err(Error::DrawType { function: "bits", expected: "unsigned integers", got: dtype });
    }
    let shape = [keys.shape(), shape].concat();
    let drawn = draw(mode, keys, &shape, dtype.width())?;
    Array::from_integers(dtype, &shape, drawn.into_iter().map(i128::from))
}

/// Draws of `width` bits to fill `shape`, which starts with the shape of the keys.
pub(super) fn draw(mode: Mode, keys: &Keys, shape: &[usize], width: u32) -> Result<Vec<u64>> {
    let size = size_of(shape)?;
    let generator = keys.implementation().generator();
    let mut drawn = vec![0; size];
    if size == 0 || keys.is_empty() {
        return Ok(drawn);
    }
    let each = if generator.batch_draws_from_first_key() { size } else { size / keys.len() };
    let mut narrow = vec![0; if width == 64 { 0 } else { each }];
    for (key, drawn) in keys.iter().zip(drawn.chunks_exact_mut(each)) {
        match width {
            64 => generator.fill_64(mode, key, drawn),
            32 => generator.fill_32(mode, key, &mut narrow),
            _ => generator.fill_narrow(mode, key, width, &mut narrow),
        }
        for (wide, narrow) in drawn.iter_mut().zip(&narrow) {
            *wide = u64::from(*narrow);
        }
    }
    Ok(drawn)
}
