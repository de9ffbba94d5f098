//! Where a program chooses the PRNG implementation of all its keys: by an option of the library or by the environment.
//!
//! **Invariant:** read from the code alone, since the modules that do so often have nothing else to do with keys. A
//! choice whose value is not a literal chooses an unknown implementation.

use crate::analysis::program::imported::ImportedNames;
use crate::ir::{
    Argument, Collection, Constant, Element, Function, FunctionKind, Module, Name, OpKind, Temp, Variable,
};
use crate::models::{BuiltinOp, Effect, Models};
use crate::text::Span;

/// How the implementation of all keys is chosen.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum ChoiceKind {
    /// By an option: `jax.config.update(name, value)`.
    Option,
    /// While a block runs: `with jax.default_prng_impl(value):`.
    Block,
    /// By a variable of the environment.
    Environment,
}

/// One place that chooses it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Choice {
    /// Its place.
    pub span: Span,
    /// How.
    pub kind: ChoiceKind,
    /// The function that is called, or the target that is written: `jax.config.update`.
    pub by: String,
    /// The implementation, where it is a literal.
    pub name: Option<Name>,
    /// Qualified name of the function.
    pub function: Name,
    /// Whether it is made whenever its module runs, and holds from then on.
    pub holds: bool,
}

/// The implementation of keys that are made without one.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum DefaultImplementation {
    /// That of the library.
    #[default]
    Library,
    /// This one, no matter what runs.
    Chosen(Name),
    /// It depends on what runs.
    Unknown,
}

/// What the modules of a program choose, module by module.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Choices(Vec<Vec<Choice>>);

impl Choices {
    /// The choices of these modules.
    pub fn of(modules: &[&Module], models: &Models, roots: &[String]) -> Self {
        Self(modules.iter().map(|module| choices(module, models, roots)).collect())
    }

    /// The same with another version of a module.
    #[must_use]
    pub fn replacing(&self, index: usize, module: &Module, models: &Models, roots: &[String]) -> Self {
        let mut all = self.0.clone();
        if let Some(of_module) = all.get_mut(index) {
            *of_module = choices(module, models, roots);
        }
        Self(all)
    }

    /// The choices of one module.
    pub fn of_module(&self, index: usize) -> &[Choice] {
        self.0.get(index).map_or(&[], Vec::as_slice)
    }

    /// Whether there are no choices.
    pub fn is_empty(&self) -> bool {
        self.0.iter().all(Vec::is_empty)
    }

    /// The default where a module runs. What another module chooses holds there only if that runs as well.
    pub fn default_in(&self, index: usize) -> DefaultImplementation {
        let mut all = self.0.iter().flatten();
        let Some(first) = self.of_module(index).first() else {
            return if all.next().is_none() { DefaultImplementation::Library } else { DefaultImplementation::Unknown };
        };
        match &first.name {
            Some(name) if all.all(|choice| choice.holds && choice.name.as_ref() == Some(name)) => {
                DefaultImplementation::Chosen(name.clone())
            }
            _ => DefaultImplementation::Unknown,
        }
    }
}

/// The places of a module that choose the implementation of all keys.
fn choices(module: &Module, models: &Models, roots: &[String]) -> Vec<Choice> {
    // Each function is read once.
    let module = &module.clone();
    let reader = Reader { names: ImportedNames::of(module, models, roots) };
    module.functions.iter().flat_map(|code| reader.function(code)).collect()
}

struct Reader<'a> {
    names: ImportedNames<'a>,
}

impl<'a> Reader<'a> {
    fn function(&self, code: &'a Function) -> Vec<Choice> {
        let mut found = Vec::new();
        for (temp, op) in (0u32..).zip(&code.ops) {
            let read = match &op.kind {
                OpKind::Call(callee, arguments) => self.call(code, *callee, arguments),
                OpKind::StoreAttribute(object, name, value) => self.attribute(code, *object, name, *value),
                OpKind::StoreItem(object, index, value) => self.item(code, *object, *index, *value),
                _ => None,
            };
            if let Some((kind, by, value)) = read
                && !self.is_earlier_value(code, value)
            {
                let span = op.span;
                let name = text(code, value).cloned();
                // An environment variable counts only if the library is not imported yet.
                let holds =
                    kind == ChoiceKind::Option && code.kind == FunctionKind::Module && code.body.contains(&temp);
                found.push(Choice { span, kind, by, name, function: code.qualified.clone(), holds });
            }
        }
        found
    }

    fn call(&self, code: &'a Function, callee: Temp, arguments: &[Argument]) -> Option<(ChoiceKind, String, Temp)> {
        let choice = &self.names.models.choice;
        let (OpKind::Load(_) | OpKind::Attribute(..)) = &code.ops.get(callee as usize)?.kind else { return None };
        let first = arguments.first()?;
        // Most calls are ruled out by their arguments, without resolving the callee.
        let last = match &code.ops[callee as usize].kind {
            OpKind::Attribute(_, name) => Some(name),
            _ => None,
        };
        let given = match first {
            Argument::Positional(value) => text(code, *value).or_else(|| {
                let is_setter = |path: &String| last.is_some_and(|last| path.ends_with(&**last));
                choice.setters.iter().any(is_setter).then(|| self.named_text(code, *value)).flatten()
            }),
            _ => None,
        };
        let is_named = |names: &[String]| given.is_some_and(|given| names.iter().any(|name| **name == **given));
        if is_named(&choice.options) || is_named(&choice.variables) {
            let path = self.names.path(code, callee)?;
            let kind = if choice.setters.contains(&path) {
                ChoiceKind::Option
            } else if choice.variable_setters.contains(&path) {
                ChoiceKind::Environment
            } else {
                return None;
            };
            let value = match arguments.get(1)? {
                Argument::Positional(value) | Argument::Keyword(_, value) => *value,
                Argument::Spread(_) | Argument::SpreadMapping(_) => return None,
            };
            return Some((kind, path, value));
        }
        let is_manager = |path: &String| last.is_none_or(|last| path.ends_with(&**last));
        if choice.managers.iter().any(is_manager)
            && let Argument::Positional(value) | Argument::Keyword(_, value) = first
            && let Some(path) = self.names.path(code, callee)
            && choice.managers.contains(&path)
        {
            return Some((ChoiceKind::Block, path, *value));
        }
        self.update(code, callee, arguments).or_else(|| self.set_attribute(code, callee, arguments))
    }

    /// `setattr(jax.config, "jax_default_prng_impl", value)`
    fn set_attribute(
        &self,
        code: &'a Function,
        callee: Temp,
        arguments: &[Argument],
    ) -> Option<(ChoiceKind, String, Temp)> {
        let [Argument::Positional(object), Argument::Positional(name), Argument::Positional(value)] = arguments else {
            return None;
        };
        let OpKind::Load(Variable::Global(setter)) = &code.ops.get(callee as usize)?.kind else { return None };
        let callable = self.names.models.callable(&format!("builtins.{setter}"))?;
        matches!(callable.effect, Effect::Builtin(BuiltinOp::Setattr)).then_some(())?;
        self.attribute(code, *object, text(code, *name)?, *value)
    }

    /// The string that a variable always has.
    fn named_text(&self, code: &'a Function, value: Temp) -> Option<&'a Name> {
        let OpKind::Load(variable) = &code.ops.get(value as usize)?.kind else { return None };
        let (home, values) = self.names.stored(code, variable)?;
        let [only] = values[..] else { return None };
        text(home, only)
    }

    /// `os.environ.update(NAME=value)`, `os.environ.update({"NAME": value})`
    fn update(&self, code: &'a Function, callee: Temp, arguments: &[Argument]) -> Option<(ChoiceKind, String, Temp)> {
        let choice = &self.names.models.choice;
        let OpKind::Attribute(object, method) = &code.ops.get(callee as usize)?.kind else { return None };
        if &**method != "update" {
            return None;
        }
        let is_variable = |name: &str| choice.variables.iter().any(|variable| variable == name);
        let value = arguments.iter().find_map(|argument| match argument {
            Argument::Keyword(name, value) => is_variable(name).then_some(*value),
            Argument::Positional(mapping) => match &code.ops.get(*mapping as usize)?.kind {
                OpKind::Build(Collection::Dict, elements) => elements.iter().find_map(|element| match element {
                    Element::Pair(key, value) => {
                        text(code, *key).is_some_and(|name| is_variable(name)).then_some(*value)
                    }
                    _ => None,
                }),
                _ => None,
            },
            Argument::Spread(_) | Argument::SpreadMapping(_) => None,
        })?;
        let path = self.names.path(code, *object)?;
        choice.environments.contains(&path).then_some((ChoiceKind::Environment, path, value))
    }

    /// `jax.config.jax_default_prng_impl = value`
    fn attribute(
        &self,
        code: &'a Function,
        object: Temp,
        name: &Name,
        value: Temp,
    ) -> Option<(ChoiceKind, String, Temp)> {
        let choice = &self.names.models.choice;
        if !choice.options.iter().any(|option| **option == **name) {
            return None;
        }
        let path = self.names.path(code, object)?;
        choice.holders.contains(&path).then(|| (ChoiceKind::Option, format!("{path}.{name}"), value))
    }

    /// `os.environ["JAX_DEFAULT_PRNG_IMPL"] = value`
    fn item(&self, code: &'a Function, object: Temp, index: Temp, value: Temp) -> Option<(ChoiceKind, String, Temp)> {
        let choice = &self.names.models.choice;
        let name = text(code, index)?;
        if !choice.variables.iter().any(|variable| **variable == **name) {
            return None;
        }
        let path = self.names.path(code, object)?;
        choice.environments.contains(&path).then_some((ChoiceKind::Environment, path, value))
    }

    /// Whether a value is the option's previous value: restoring it chooses nothing.
    fn is_earlier_value(&self, code: &'a Function, value: Temp) -> bool {
        let options = &self.names.models.choice.options;
        let reads = |code: &Function, temp: Temp| match &code.ops[temp as usize].kind {
            OpKind::Attribute(_, name) => options.iter().any(|option| **option == **name),
            OpKind::Call(_, arguments) => arguments.iter().any(|argument| match argument {
                Argument::Positional(value) => {
                    text(code, *value).is_some_and(|text| options.iter().any(|option| **option == **text))
                }
                _ => false,
            }),
            _ => false,
        };
        match &code.ops[value as usize].kind {
            OpKind::Load(variable @ (Variable::Local(_) | Variable::Outer(..) | Variable::Global(_))) => {
                let stored = self.names.stored(code, variable);
                stored.is_some_and(|(home, values)| values.iter().any(|value| reads(home, *value)))
            }
            _ => reads(code, value),
        }
    }
}

/// The string literal that a temp denotes.
fn text(code: &Function, temp: Temp) -> Option<&Name> {
    match &code.ops.get(temp as usize)?.kind {
        OpKind::Constant(Constant::Str(text)) => Some(text),
        _ => None,
    }
}
