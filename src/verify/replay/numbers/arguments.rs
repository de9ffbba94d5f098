//! Binds arguments to parameters, and converts them to what a function needs.
//!
//! **Invariant:** what decides a shape, a type or an algorithm is never read from a value that differs between lanes.

use super::super::value::Value;
use super::Builtin;
use super::lanes::is_mapped;
use super::value::{Argument, sequence};
use super::{Outcome, Problem, python};
use crate::prng::array::size_of;
use crate::prng::dtype::DType;
use crate::prng::error::Error;
use crate::prng::implementation::Implementation;
use crate::prng::sample::Resolution;
use crate::text::Span;

/// The most elements of one array.
const LARGEST: usize = 1 << 24;

/// The arguments of one call of a library function, by parameter.
pub struct Arguments<'a> {
    /// The function.
    pub builtin: &'static Builtin,
    /// The call.
    pub span: Span,
    bound: Vec<Option<Argument<'a>>>,
}

impl<'a> Arguments<'a> {
    /// Binds arguments.
    pub fn bind(builtin: &'static Builtin, arguments: Vec<Argument<'a>>, span: Span) -> Outcome<Self> {
        let name = builtin.name;
        let count = builtin.positional.len();
        let mut bound: Vec<Option<Argument<'a>>> = Vec::new();
        bound.resize_with(count + builtin.keywords.len(), || None);
        for (position, argument) in arguments.into_iter().enumerate() {
            let index = match &argument.name {
                None => Some(position).filter(|&position| position < count),
                Some(name) => {
                    let mut parameters = builtin.positional.iter().chain(builtin.keywords);
                    parameters.position(|parameter| *parameter == &**name)
                }
            };
            match (index.and_then(|index| bound.get_mut(index)), &argument.name) {
                (Some(slot @ None), _) => *slot = Some(argument),
                (Some(Some(_)), keyword) => {
                    let keyword = keyword.as_deref().unwrap_or_default();
                    return Err(Problem::new(argument.span, format!("{name} got two values for `{keyword}`")));
                }
                (None, Some(keyword)) => {
                    return Err(Problem::new(argument.span, format!("{name} has no parameter `{keyword}`")));
                }
                (None, None) => {
                    let message = format!("{name} takes at most {count} positional arguments");
                    return Err(Problem::new(argument.span, message));
                }
            }
        }
        match builtin.positional.iter().zip(&bound).take(builtin.required).find(|(_, value)| value.is_none()) {
            Some((missing, _)) => Err(Problem::new(span, format!("{name} is missing its argument `{missing}`"))),
            None => Ok(Self { builtin, span, bound }),
        }
    }

    /// A parameter that [`Self::bind`] has checked to be present.
    pub fn required(&self, index: usize) -> Outcome<(&Value<'a>, Span)> {
        let argument = self.bound.get(index).and_then(Option::as_ref);
        argument
            .map(|argument| (&argument.value, argument.span))
            .ok_or_else(|| Problem::new(self.span, format!("{} is missing an argument", self.builtin.name)))
    }

    /// An optional parameter.
    pub fn given(&self, name: &str) -> Option<(&Value<'a>, Span)> {
        let index = self.builtin.positional.iter().chain(self.builtin.keywords).position(|known| *known == name)?;
        let argument = self.bound.get(index)?.as_ref()?;
        Some((&argument.value, argument.span))
    }

    /// A parameter for which `None` is as good as nothing.
    pub fn optional(&self, name: &str) -> Option<(&Value<'a>, Span)> {
        self.given(name).filter(|(value, _)| !matches!(value, Value::None))
    }

    /// A value, or its default.
    pub fn value_or(&self, name: &str, default: Value<'a>) -> (Value<'a>, Span) {
        self.given(name).map_or((default, self.span), |(value, span)| (value.clone(), span))
    }

    /// A shape; `()` by default.
    pub fn shape(&self) -> Outcome<Vec<usize>> {
        self.given("shape").map_or(Ok(Vec::new()), |(value, span)| shape(value, span))
    }

    /// A shape, where `None` means one that the parameters determine.
    pub fn optional_shape(&self) -> Outcome<Option<Vec<usize>>> {
        self.optional("shape").map(|(value, span)| shape(value, span)).transpose()
    }

    /// An element type.
    pub fn dtype(&self) -> Outcome<Option<DType>> {
        self.optional("dtype").map(|(value, span)| dtype(value, span)).transpose()
    }

    /// How many bits a draw takes.
    pub fn resolution(&self) -> Outcome<Resolution> {
        match self.optional("mode") {
            None => Ok(Resolution::default()),
            Some((Value::Text(name), span)) => {
                Resolution::from_name(self.builtin.name, name).map_err(|error| problem(span, &error))
            }
            Some((value, span)) => {
                Err(Problem::new(span, format!("mode must be a string, not {}", value.description())))
            }
        }
    }

    /// A truth value.
    pub fn flag(&self, name: &str, default: bool) -> Outcome<bool> {
        match self.given(name) {
            None => Ok(default),
            Some((Value::Bool(flag), _)) => Ok(*flag),
            Some((value, span)) => {
                Err(Problem::new(span, format!("{name} must be True or False, not {}", value.description())))
            }
        }
    }

    /// A count; 0 by default.
    pub fn count(&self, name: &str) -> Outcome<usize> {
        self.given(name).map_or(Ok(0), |(value, span)| length(value, span))
    }

    /// An axis.
    pub fn axis(&self, default: isize) -> Outcome<isize> {
        let Some((value, span)) = self.given("axis") else { return Ok(default) };
        // No array has so many axes that the difference would matter.
        Ok(isize::try_from(integer(value, span)?).unwrap_or(isize::MAX))
    }

    /// The implementation that `impl` or `dtype` names, for which all keys of the call are.
    pub fn implementation(&self) -> Outcome<Option<Implementation>> {
        match (self.optional("impl"), self.optional("dtype")) {
            (Some(_), Some((_, span))) => Err(Problem::new(span, "give either impl or dtype, not both")),
            (Some((value, span)), None) | (None, Some((value, span))) => match value {
                Value::Text(name) => Implementation::from_name(name).map(Some).map_err(|error| problem(span, &error)),
                Value::KeyDType(implementation) => Ok(Some(*implementation)),
                _ => {
                    let found = value.description();
                    Err(Problem::new(span, format!("impl must be the name of an implementation, not {found}")))
                }
            },
            (None, None) => Ok(None),
        }
    }
}

/// A problem of the reference PRNG, in a place.
pub fn problem(span: Span, error: &Error) -> Problem {
    Problem::new(span, error.to_string())
}

/// An integer that is the same in all lanes.
pub fn integer(value: &Value<'_>, span: Span) -> Outcome<i128> {
    let refused =
        |what: &str| Err(Problem::new(span, format!("expected an integer{what}, got {}", value.description())));
    match value {
        Value::Int(number) => Ok(*number),
        Value::Bool(flag) => Ok(i128::from(*flag)),
        Value::Array(tensor) if tensor.array.rank() == 0 && tensor.array.dtype().is_integer() => {
            tensor.array.integers().first().copied().map_or_else(|| refused(""), Ok)
        }
        _ if is_mapped(value) => refused(" that is the same for the whole batch"),
        _ => refused(""),
    }
}

/// A length that is not negative.
pub fn length(value: &Value<'_>, span: Span) -> Outcome<usize> {
    let number = integer(value, span)?;
    let length = usize::try_from(number).ok();
    length.ok_or_else(|| Problem::new(span, format!("a length must not be negative, and {number} is")))
}

/// A shape: an integer, a tuple or a list.
pub fn shape(value: &Value<'_>, span: Span) -> Outcome<Vec<usize>> {
    let lengths: Vec<usize> = match value {
        Value::Tuple(_) | Value::List(_) => {
            sequence(value).iter().flatten().map(|item| length(item, span)).collect::<Outcome<_>>()?
        }
        Value::Array(tensor) if tensor.array.rank() == 1 && tensor.array.dtype().is_integer() => {
            let numbers = tensor.array.integers().into_iter();
            numbers.map(|number| length(&Value::Int(number), span)).collect::<Outcome<_>>()?
        }
        single => vec![length(single, span)?],
    };
    elements(&lengths, span)?;
    Ok(lengths)
}

/// How many elements an array of a shape has, if they are not too many.
pub fn elements(shape: &[usize], span: Span) -> Outcome<usize> {
    match size_of(shape) {
        Ok(size) if size <= LARGEST => Ok(size),
        _ => Err(problem(span, &Error::TooLarge { shape: shape.to_vec(), limit: LARGEST })),
    }
}

/// An element type: one of `jnp`, a type of Python, or a name.
pub fn dtype(value: &Value<'_>, span: Span) -> Outcome<DType> {
    let named = match value {
        Value::DType(dtype) => Some(*dtype),
        Value::Library(path) => python::dtype(path),
        Value::Text(name) => DType::from_name(name),
        _ => None,
    };
    named.ok_or_else(|| Problem::new(span, format!("expected a dtype such as jnp.float32, got {}", shown(value))))
}

fn shown(value: &Value<'_>) -> String {
    if let Value::Text(name) = value { format!("{:?}", &**name) } else { value.description() }
}
