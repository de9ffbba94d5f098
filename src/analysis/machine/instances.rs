//! Tests for classes: `isinstance(value, Class)`, `case Class():`.
//!
//! **Invariant:** a test is decided only if the class of the value is known with all its bases, and the tested class defines no test of its
//! own.

use crate::analysis::domain::term::Term;
use crate::analysis::domain::value::{ClassHandle, Val, Value};
use crate::analysis::machine::Machine;
use crate::analysis::store::heap::{DICT, ObjectKind};
use crate::analysis::store::paths;
use crate::ir::{Operator, prelude};
use crate::models::{ARRAY, Class, Construct, Effect};

/// Special methods that compute nothing.
const PLAIN: [&str; 12] = [
    "__doc__",
    "__module__",
    "__qualname__",
    "__annotations__",
    "__init__",
    "__post_init__",
    "__repr__",
    "__str__",
    "__eq__",
    "__hash__",
    "__len__",
    "__slots__",
];

/// Whether a value is certainly not an instance of a class: a stream is not an array, and a key is not a stream.
pub fn is_other_than(machine: &Machine<'_>, value: &Value, class: &Value) -> bool {
    let path = match class.single() {
        Some(Val::Library(path)) => path,
        Some(Val::Class(class)) => {
            let alternatives = value.alternatives();
            return !alternatives.is_empty()
                && alternatives.iter().all(|alternative| is_foreign(machine, &alternative.val, *class));
        }
        Some(Val::Tuple(classes)) => {
            return !classes.is_empty()
                && classes.iter().all(|class| {
                    !matches!(class.single(), Some(Val::Tuple(_))) && is_other_than(machine, value, class)
                });
        }
        _ => return false,
    };
    if let Some(own) = value.single().and_then(|val| builtin_classes(machine, val))
        && let Some(name) = builtin_class(path)
    {
        return !own.0.contains(&name);
    }
    match value.single() {
        Some(Val::Object(id)) => {
            let object = &machine.state.store.objects[id.0 as usize];
            let is_no_array = match object.kind {
                ObjectKind::Stream(_) => true,
                ObjectKind::Instance => object.class.is_some_and(|class| is_known(machine, class)),
                _ => false,
            };
            is_no_array && *machine.program.models.canonical(path, &[]) == *ARRAY
        }
        Some(Val::Key(_)) => {
            let class = machine.program.models.class(path);
            class.is_some_and(|class| matches!(class.construct, Construct::Stream { .. }))
        }
        // A layer of another class, or a function: `[jax.nn.silu, eqx.nn.Dropout(0.1)]`.
        Some(Val::Wrapped(made)) => {
            is_layer(machine, path) && is_layer(machine, &made.transform) && made.transform != *path
        }
        Some(Val::Library(function)) => {
            is_layer(machine, path)
                && machine
                    .program
                    .models
                    .callable(function)
                    .is_some_and(|callable| matches!(callable.effect, Effect::Pure { .. }))
        }
        Some(Val::Function(_)) => is_layer(machine, path),
        _ => false,
    }
}

/// Python's own classes of containers, numbers and texts.
const BUILTIN: [&str; 9] = ["bool", "bytes", "complex", "dict", "float", "int", "list", "str", "tuple"];

/// The name of one of [`BUILTIN`].
fn builtin_class(path: &str) -> Option<&str> {
    path.strip_prefix("builtins.").filter(|name| BUILTIN.contains(name))
}

/// Of which of [`BUILTIN`] a value may be an instance, and whether it certainly is one. A list may stand for a tuple or a deque, and a dict
/// for a frozen one; a number may be traced.
fn builtin_classes(machine: &Machine<'_>, val: &Val) -> Option<(&'static [&'static str], bool)> {
    match val {
        Val::Tuple(_) => Some((&["list", "tuple"], false)),
        Val::Object(id) => {
            let object = &machine.state.store.objects[id.0 as usize];
            match object.kind {
                ObjectKind::Dict { .. } => {
                    let made = machine.state.terms.symbol(object.symbol);
                    Some((&["dict"], made.is_some_and(|info| &*info.text == DICT)))
                }
                ObjectKind::List { .. } => Some((&["list", "tuple"], false)),
                _ => None,
            }
        }
        Val::Term(term) => match machine.state.terms.get(*term) {
            Term::Text(_) => Some((&["str"], true)),
            Term::None => Some((&[], false)),
            _ => None,
        },
        _ => None,
    }
}

/// Whether a path is that of a class of layers, whose instances are called.
pub fn is_layer(machine: &Machine<'_>, path: &str) -> bool {
    let callable = machine.program.models.callable(path);
    callable.is_some_and(|callable| callable.exact && matches!(callable.effect, Effect::Factory { .. }))
}

/// Whether a value is certainly not an instance of a class of the program: its class is another one, or not of the
/// program.
fn is_foreign(machine: &Machine<'_>, val: &Val, class: ClassHandle) -> bool {
    match val {
        Val::Object(id) => {
            let object = &machine.state.store.objects[id.0 as usize];
            match object.class {
                Some(of) => {
                    // An annotation admits instances of subclasses.
                    let may_be_derived = machine.state.store.shadows.contains_key(&object.symbol)
                        && machine.state.lineage(class).contains(&of);
                    !may_be_derived
                        && !machine.state.lineage(of).contains(&class)
                        && is_known(machine, of)
                        && is_known(machine, class)
                }
                None => false,
            }
        }
        Val::Key(_) | Val::Array(_) | Val::Tuple(_) | Val::Function(_) | Val::Method(_) | Val::Wrapped(_) => {
            is_known(machine, class)
        }
        // A function of a library: `[jnp.tanh, Dropout()]`.
        Val::Library(path) => {
            let models = machine.program.models;
            (models.callable(path).is_some() || models.class(path).is_some()) && is_known(machine, class)
        }
        // The result of a computation on numbers is a number, unless a class defines the operator.
        Val::Term(term) => match machine.state.terms.get(*term) {
            Term::None => is_known(machine, class),
            Term::Operate(operator, _) if operator.computes() => {
                let computes = |class: &ClassHandle| {
                    let attributes = &machine.state.store.classes[class.0 as usize].attributes;
                    attributes.keys().any(|name| name.starts_with("__") && !PLAIN.contains(&&**name))
                };
                is_known(machine, class) && !machine.state.lineage(class).iter().any(computes)
            }
            _ => false,
        },
        _ => false,
    }
}

/// Whether all bases of a class are known: classes of the program, or of libraries that define no test for their instances.
fn is_known(machine: &Machine<'_>, class: ClassHandle) -> bool {
    let is_plain = |base: &Value| match base.single() {
        Some(Val::Class(_)) => true,
        Some(Val::Library(path)) => {
            let class = machine.program.models.class(path);
            let is_record = |class: &Class| matches!(class.construct, Construct::Record { sequence: false, .. });
            &**path == "builtins.object" || class.is_some_and(is_record)
        }
        _ => false,
    };
    let lineage = machine.state.lineage(class);
    lineage.iter().all(|class| machine.state.store.classes[class.0 as usize].bases.iter().all(is_plain))
}

/// Whether a value is certainly an instance of a class of the program or of Python's own, or of one of several.
fn is_of(machine: &Machine<'_>, val: &Val, class: &Value) -> bool {
    match (val, class.single()) {
        (Val::Object(id), Some(Val::Class(class))) => {
            let of = machine.state.store.objects[id.0 as usize].class;
            of.is_some_and(|of| machine.state.lineage(of).contains(class))
        }
        (_, Some(Val::Tuple(classes))) => classes.iter().any(|class| is_of(machine, val, class)),
        (_, Some(Val::Library(path))) => {
            if let Some(class) = prelude_class(machine, path) {
                return is_of(machine, val, &Value::of(Val::Class(class)));
            }
            let certain = builtin_classes(machine, val).filter(|(_, is_certain)| *is_certain);
            let name = builtin_class(path);
            certain.zip(name).is_some_and(|((own, _), name)| own.contains(&name))
        }
        _ => false,
    }
}

/// Whether the value is an instance of the class, for each of its alternatives: a truth value, or a term for it.
pub fn test(machine: &mut Machine<'_>, value: &Value, class: &Value) -> Value {
    if value.alternatives().len() < 2 || !is_of_program(class) {
        return test_of_one(machine, value, class);
    }
    let value = machine.state.possible(value);
    paths::on_alternatives(machine, &value, |this, val| test_of_one(this, &Value::of(val.clone()), class))
}

fn test_of_one(machine: &mut Machine<'_>, value: &Value, class: &Value) -> Value {
    let is_certain = value.single().is_some_and(|val| is_of(machine, val, class));
    if is_certain || is_other_than(machine, value, class) {
        return Value::term(machine.state.terms.intern(Term::Bool(is_certain)));
    }
    let parts = [machine.state.term_of(value), machine.state.term_of(class)];
    Value::term(machine.state.terms.operate(Operator::MatchClass, &parts))
}

/// Whether a class, or one of several, is one of the program.
fn is_of_program(class: &Value) -> bool {
    match class.single() {
        Some(Val::Class(_)) => true,
        Some(Val::Tuple(classes)) => classes.iter().any(is_of_program),
        _ => false,
    }
}

/// The class of the prelude that a library's class is, once it is defined: `flax.nnx.Variable`.
pub fn prelude_class(machine: &Machine<'_>, path: &str) -> Option<ClassHandle> {
    let Effect::Prelude { definition } = &machine.program.models.callable(path)?.effect else { return None };
    let (module, name) = prelude::class(definition)?;
    let module = machine.state.store.modules.get(&machine.program.prelude(module))?;
    match module.globals.get(&name)?.single()? {
        Val::Class(class) => Some(*class),
        _ => None,
    }
}
