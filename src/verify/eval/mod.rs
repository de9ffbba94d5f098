//! The evaluator behind `keylint eval`: Python expressions over `jax.random`, answered by the reference PRNG.
//!
//! | module | its part |
//! |---|---|
//! | [`walk`] | the syntax: names, literals, operators, lambdas |
//! | [`value`] | what an expression can be |
//! | [`lanes`] | `vmap`: values that differ from lane to lane, and how functions reach them |
//! | [`arithmetic`] | operators, with JAX's type promotion |
//! | [`subscript`] | indices and slices, with JAX's clamping |
//! | [`arguments`] | binding arguments to parameters, and reading them |
//! | [`random`] | the functions of `jax.random` |
//! | [`numpy`] | `jnp.array`, `jnp.arange`, element types, attributes of arrays |
//! | [`answer`] | results as plain data, as JSON and as text |
//!
//! **Invariant:** [`evaluate`] is total: any text gives an answer or a problem that points into the text, within
//! bounded time, memory and stack. A number it gives is the one JAX gives; where that is not known it gives none.

mod answer;
mod arguments;
mod arithmetic;
mod lanes;
mod numpy;
mod random;
mod subscript;
mod value;
mod walk;

pub use answer::Answer;

use crate::prng::implementation::Implementation;
use crate::prng::mode::Mode;
use crate::python::{SourceKind, WORKER_STACK_BYTES, ast, parse, span_of};
use crate::text::Span;

/// The flags of JAX under which an expression is evaluated.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub struct Settings {
    /// `jax_threefry_partitionable` and `jax_enable_x64`.
    pub mode: Mode,
    /// `jax_default_prng_impl`: what `key` and `PRNGKey` make, and what raw keys are taken for.
    pub implementation: Implementation,
}

/// Why an expression has no answer.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Problem {
    /// Which part of the expression is to blame.
    pub span: Span,
    /// What is wrong with it.
    pub message: String,
}

impl Problem {
    fn new(span: Span, message: impl Into<String>) -> Self {
        Self { span, message: message.into() }
    }
}

/// The result of every step.
type Outcome<T> = Result<T, Problem>;

/// Evaluates one Python expression.
pub fn evaluate(settings: Settings, text: &str) -> Result<Answer, Problem> {
    // Expressions nest, and so does the walk over them: it gets a stack that the deepest tree the parser hands out
    // cannot exhaust.
    let answer = std::thread::scope(|scope| {
        let builder = std::thread::Builder::new().stack_size(WORKER_STACK_BYTES);
        let worker = builder.spawn_scoped(scope, || evaluate_here(settings, text)).ok()?;
        match worker.join() {
            Ok(answer) => Some(answer),
            // A panic is the caller's to contain, as if the work had run on its own thread.
            Err(panic) => std::panic::resume_unwind(panic),
        }
    });
    answer.unwrap_or_else(|| Err(Problem::new(Span::default(), "not enough memory for a stack to evaluate on")))
}

/// The first numbers, at most `count`, of the array that a small expression evaluates to, as Python writes them. It
/// runs on
/// the stack of its caller, which must know that the expression is flat.
pub(in crate::verify) fn first_numbers(settings: Settings, text: &str, count: usize) -> Option<Vec<String>> {
    match evaluate_here(settings, text).ok()? {
        Answer::Array(array) => Some((0..array.len().min(count)).map(|index| array.element_text(index)).collect()),
        _ => None,
    }
}

fn evaluate_here(settings: Settings, text: &str) -> Result<Answer, Problem> {
    // As Python's own `eval`, which ignores white space before the expression.
    let source = text.trim_start_matches([' ', '\t', '\u{c}']);
    let shift = |span: Span| {
        let before = u32::try_from(text.len() - source.len()).unwrap_or(u32::MAX);
        Span::new(span.start.saturating_add(before), span.end.saturating_add(before))
    };
    expression(settings, source).map_err(|problem| Problem { span: shift(problem.span), ..problem })
}

fn expression(settings: Settings, source: &str) -> Result<Answer, Problem> {
    let parsed = parse(source, SourceKind::Py);
    if let Some(problem) = parsed.problems.first() {
        return Err(Problem::new(problem.span, problem.message.clone()));
    }
    let expression = match &*parsed.module.body {
        [ast::Stmt::Expr(statement)] => &*statement.value,
        [] => return Err(Problem::new(Span::default(), "there is no expression")),
        [ast::Stmt::Expr(_), second, ..] => {
            return Err(Problem::new(span_of(second), "there is more than one expression"));
        }
        [statement, ..] => return Err(Problem::new(span_of(statement), "this is a statement, not an expression")),
    };
    let value = walk::Evaluator::new(settings).evaluate(expression, &None)?;
    Answer::new(&value, span_of(expression))
}
