//! The evaluator behind `keylint eval`: Python over `jax.random`, on the reference PRNG.
//!
//! Statements are lowered like any program and run by the replay's machine, in a run that [computes numbers](Settings). The result is that
//! of the final expression, if there is one.
//!
//! **Invariant:** [`evaluate`] is total: any text gives a result or a problem that points into the text, within bounded time, memory and
//! stack. A number is the one JAX gives; if that is not known, the result is a problem.

use crate::ir;
use crate::python::{SourceKind, WORKER_STACK_BYTES, ast, parse, span_of};
use crate::text::{FileId, Span};
use crate::verify::replay::compute;
pub use crate::verify::replay::{Answer, Problem, Settings};

/// Runs Python statements, and evaluates the expression that they end with.
pub fn evaluate(settings: Settings, text: &str) -> Result<Answer, Problem> {
    // Expressions nest, and so does the recursion over them: it gets a stack that the deepest tree of the parser cannot exhaust.
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
    let mut module = parsed.module;
    let Some(last) = module.body.last_mut() else {
        return Err(Problem::new(Span::default(), "there is no expression"));
    };
    let ast::Stmt::Expr(statement) = last else {
        let span = span_of(&*last);
        return compute(settings, &ir::lower(FileId(0), &module, &|_| Vec::new()), span, false);
    };
    let span = span_of(&*statement.value);
    // The expression is what a function returns, so that its value is that of a call.
    let (range, node_index) = (statement.range, ast::AtomicNodeIndex::default());
    let body = statement.value.clone();
    *statement.value = ast::Expr::Lambda(ast::ExprLambda { range, node_index, parameters: None, body });
    compute(settings, &ir::lower(FileId(0), &module, &|_| Vec::new()), span, true)
}
