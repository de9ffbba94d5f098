//! Modules of libraries: what a constant key draws in the method that each forward pass calls is the same in all passes.
//!
//! **Invariant:** only noise counts, which has the whole shape of an array that is computed from an argument. A matrix of random features, and
//! a mask of weights, must be the same in each pass.

use crate::analysis::domain::kinds::TraceCache;
use crate::analysis::domain::term::TermId;
use crate::analysis::domain::value::Val;
use crate::analysis::record::{Activation, Consumption, Recording};
use crate::finding::Place;
use crate::ir::{Argument, FunctionKind, Module, OpKind, Temp};
use crate::judge::computed_from::Origins;
use crate::judge::facts::{Role, TraceKind, TracedFunction};
use crate::judge::paths::PathQueries;
use crate::models::ROOT;

/// The parameter of a library's layers that is their input.
const INPUT: &str = "x";

/// The method that forward passes call and in which a draw, perhaps of a function that gets the key, is noise from a constant key that an
/// activation makes. A key that a nested function makes may be for the first value of a parameter or of a variable, and where another key may
/// be, the constant one is only a stand-in.
pub fn noisy_method(
    run: &Recording<'_>,
    paths: &PathQueries<'_>,
    (event, made_in): (&Consumption, &Activation),
) -> Option<TracedFunction> {
    let is_nested = |activation: &&Activation| {
        let module = run.module(activation.module);
        let parent = run.code(activation).parent.map(|parent| module.function(parent).kind);
        !matches!(parent, None | Some(FunctionKind::Module | FunctionKind::ClassBody))
    };
    if !is_noise(run, event) || !depends_on_parameters_only(run, paths, event) {
        return None;
    }
    for activation in made_in.outwards().take_while(|activation| !is_nested(activation)) {
        if has_other_keys(run, activation) {
            return None;
        }
        if let Some(method) = method(run, activation) {
            return Some(method);
        }
    }
    None
}

/// The function of an activation, if forward passes call it: `__call__` of a class whose base is a module of a library.
fn method(run: &Recording<'_>, activation: &Activation) -> Option<TracedFunction> {
    let code = run.code(activation);
    let class = code.class?;
    let (_, info) = run.classes_of(activation.module).find(|(_, info)| info.class == class)?;
    let bases = info.lineage.iter().flat_map(|class| &run.classes[class.0 as usize].bases);
    let base = bases.filter_map(|base| match base.single() {
        Some(Val::Library(path)) => run.program.models.class(path),
        _ => None,
    });
    let base = { base }.find(|base| base.forward.as_deref() == Some(&*code.name))?;
    let module = run.module(activation.module);
    Some(TracedFunction {
        defined_at: Place { file: module.file, span: code.span },
        transform: base.path.clone(),
        at: Place { file: module.file, span: module.class(class).span },
        bound: 1,
        kind: TraceKind::Forward,
        cache: TraceCache::None,
        made_in: run.definition(activation.module, Module::BODY),
    })
}

/// Whether a function takes a key, or gets one from its module or from a library other than JAX: `self.make_rng("noise")`.
fn has_other_keys(run: &Recording<'_>, activation: &Activation) -> bool {
    let (code, words) = (run.code(activation), &run.program.models.words);
    let is_of_jax = |temp: Temp| {
        let path = run.library_named(activation.module, code, temp);
        path.is_some_and(|path| path.split('.').next() == Some(ROOT))
    };
    let mut attributes = (0u32..).zip(&code.ops).filter_map(|(temp, op)| match &op.kind {
        OpKind::Attribute(_, name) => Some((temp, name)),
        _ => None,
    });
    code.parameters.iter().any(|parameter| words.names_a_key(&parameter.name))
        || attributes.any(|(temp, name)| words.is_keyish(name) && !is_of_jax(temp))
}

/// Whether a draw happens on all paths, or depends on parameters: `if training: …`. A test of anything else may ask for the first pass.
fn depends_on_parameters_only(run: &Recording<'_>, paths: &PathQueries<'_>, event: &Consumption) -> bool {
    let is_parameter = |literal: &TermId| run.terms.is_parameter(*literal);
    paths.support(event.guard).iter().all(is_parameter)
}

/// Whether a draw has the whole shape of an array that is computed from an argument, or is one from a distribution that is.
pub fn is_noise(run: &Recording<'_>, event: &Consumption) -> bool {
    let activation = &event.activation;
    let Some(call) = run.call_at(activation, event.place) else { return false };
    let code = run.code(activation);
    let OpKind::Call(callee, arguments) = &code.ops[call as usize].kind else { return false };
    let uses = run.uses_of(activation.module, activation.function);
    let origins = Origins { code, uses: &uses };
    let mut given = arguments.iter().map(Argument::value);
    match event.role {
        Role::Sample => {
            given.any(|argument| origins.measured(argument).is_some_and(|array| origins.is_computed(array)))
        }
        Role::Library => {
            let takes_input = |path: &str| run.program.models.callable(path)?.param(INPUT);
            takes_input(&event.callee).is_some() && given.any(|argument| origins.is_computed(argument))
        }
        Role::Protocol => match &code.ops[*callee as usize].kind {
            OpKind::Attribute(distribution, _) => origins.is_computed(*distribution),
            _ => false,
        },
        Role::Split | Role::Fold | Role::Unresolved => false,
    }
}
