//! Which functions are run on their own: those that are near keys.
//!
//! Naming a class may call any of its methods, so by names alone nearly every function of a library reaches keys somewhere. Half of these
//! functions never see a key when they are run. A function is run on its own only if it has a name for a key, or if it reaches keys through
//! a few nested calls, where naming a class calls only the methods that Python calls implicitly. Keys that are further away are analysed in
//! the functions in between.
//!
//! **Invariant:** a function that is near keys also reaches them by names.

use crate::analysis::program::is_entry;
use crate::analysis::program::vocabulary::Mentions;
use crate::ir::{Argument, Constant, Function, FunctionKind, Module, Op, OpKind};
use crate::models::Words;

/// Most nested calls through which a function reaches keys.
const NESTED_CALLS: usize = 2;

/// How functions are nested, by node.
pub(super) struct Nesting {
    /// The enclosing function, if that is not the body of the module.
    parents: Vec<Option<usize>>,
    /// Methods of classes of the module that run only if they are called by name. What a class in a function defines runs with that function.
    is_called_by_name: Vec<bool>,
    /// Functions that are called, which excludes bodies of classes.
    is_called: Vec<bool>,
}

impl Nesting {
    pub(super) fn of(modules: &[&Module], starts: &[usize]) -> Self {
        let (mut parents, mut is_called_by_name, mut is_called) = (Vec::new(), Vec::new(), Vec::new());
        for (module, start) in modules.iter().zip(starts) {
            for function in &module.functions {
                let parent = function.parent.filter(|parent| *parent != Module::BODY);
                let in_class = parent.is_some_and(|parent| module.function(parent).kind == FunctionKind::ClassBody);
                parents.push(parent.map(|parent| start + parent.0 as usize));
                is_called_by_name.push(in_class && is_entry(module, function) && !function.name.starts_with("__"));
                is_called.push(function.kind != FunctionKind::ClassBody);
            }
        }
        Self { parents, is_called_by_name, is_called }
    }

    /// The enclosing function; `None` for other nodes.
    pub(super) fn parent(&self, node: usize) -> Option<&usize> {
        self.parents.get(node)?.as_ref()
    }

    /// The enclosing function that runs this one.
    fn implicit_caller(&self, node: usize) -> Option<usize> {
        let runs = self.is_called_by_name.get(node).is_some_and(|asked| !asked);
        if runs { self.parent(node).copied() } else { None }
    }
}

/// Which nodes reach a node that mentions keys through a few nested calls.
pub(super) fn near(nesting: &Nesting, callers: &[Vec<usize>], mentions: &[Mentions]) -> Vec<bool> {
    let mut near: Vec<bool> = mentions.iter().map(|mentions| *mentions == Mentions::Keys).collect();
    let mut work: Vec<usize> = (0..near.len()).filter(|node| near[*node]).collect();
    for left in (0..=NESTED_CALLS).rev() {
        let mut further = Vec::new();
        while let Some(node) = work.pop() {
            let implicit_caller = nesting.implicit_caller(node);
            for caller in callers[node].iter().copied().chain(implicit_caller) {
                let is_call = nesting.is_called.get(caller) == Some(&true) && implicit_caller != Some(caller);
                if is_call {
                    further.push(caller);
                } else if !std::mem::replace(&mut near[caller], true) {
                    work.push(caller);
                }
            }
        }
        if left > 0 {
            further.retain(|caller| !std::mem::replace(&mut near[*caller], true));
            work = further;
        }
    }
    near
}

/// Which functions of a module are run on their own, of those that reach keys by names.
pub(super) fn entries(
    module: &Module,
    own: &[Mentions],
    mentions: &[Mentions],
    near: &[bool],
    words: &Words,
) -> Vec<bool> {
    let functions = own.iter().zip(mentions).zip(near);
    let is_entry = |(function, ((own, mentions), near)): (&Function, ((&Mentions, &Mentions), &bool))| match mentions {
        Mentions::Keys => *near || *own == Mentions::Names || names_a_key(function, words),
        Mentions::Names => true,
        Mentions::Nothing | Mentions::Host => false,
    };
    module.functions.iter().zip(functions).map(is_entry).collect()
}

/// Whether a function has a name for a key: a variable, an attribute, a keyword, or a subscript.
pub(in crate::analysis::program::relevance) fn names_a_key(function: &Function, words: &Words) -> bool {
    let is_key = |name: &str| words.names_a_key(name) || words.names_several_keys(name);
    if function.slots.iter().any(|name| is_key(name)) {
        return true;
    }
    let ops = function.ops.read();
    let is_named = |op: &Op| match &op.kind {
        // `keys` is a method of every dict.
        OpKind::Attribute(_, name) => words.names_a_key(name),
        OpKind::Item(_, index) => match ops.get(*index as usize).map(|op| &op.kind) {
            Some(OpKind::Constant(Constant::Str(text))) => is_key(text),
            _ => false,
        },
        OpKind::Call(_, arguments) => {
            arguments.iter().any(|argument| matches!(argument, Argument::Keyword(name, _) if is_key(name)))
        }
        _ => false,
    };
    ops.iter().any(is_named)
}
