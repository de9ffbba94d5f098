//! Constants among the arguments of samplers, by which a draw can be compared and computed again.
//!
//! **Invariant:** a constant is small, and holds no key, symbol or mutable thing.

use super::value::Value;
use crate::ir::Name;
use crate::prng::dtype::DType;

/// The arguments of a sampler other than its key: constants, by name if they have one.
pub(super) type Constants = Vec<(Option<Name>, Value<'static>)>;

/// A small constant among the arguments of a sampler.
pub(super) fn constant(value: &Value<'_>, depth: u32) -> Option<Value<'static>> {
    Some(match value {
        _ if depth == 0 => return None,
        Value::None => Value::None,
        Value::Bool(flag) => Value::Bool(*flag),
        Value::Int(number) if (-1_000_000..=1_000_000).contains(number) => Value::Int(*number),
        Value::Float(number) if number.is_finite() => Value::Float(*number),
        Value::Tuple(values) => {
            let product = values.iter().try_fold(1_i128, |product, value| product.checked_mul(value.int()?));
            if values.iter().all(|value| value.int().is_some()) && product.is_none_or(|product| product > 4_096) {
                return None;
            }
            Value::tuple(values.iter().map(|value| constant(value, depth - 1)).collect::<Option<_>>()?)
        }
        Value::Library(path) => Value::DType(dtype_named(path.strip_prefix("jax.numpy.")?)?),
        _ => return None,
    })
}

/// Whether two samplers have the same arguments.
pub(super) fn are_alike(first: Option<&Constants>, second: Option<&Constants>) -> bool {
    let (Some(first), Some(second)) = (first, second) else { return first.is_none() && second.is_none() };
    let is_alike = |(a, b): (&Value<'static>, &Value<'static>)| match (a, b) {
        (Value::DType(a), Value::DType(b)) => a == b,
        _ => std::mem::discriminant(a) == std::mem::discriminant(b) && a.equals(b, 8) == Some(true),
    };
    first.len() == second.len()
        && first.iter().zip(second).all(|((first, a), (second, b))| first == second && is_alike((a, b)))
}

/// The element type of that name.
pub(super) fn dtype_named(name: &str) -> Option<DType> {
    DType::from_name(if name == "bool_" { "bool" } else { name })
}
