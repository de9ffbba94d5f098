//! The name of a key at a place, as the program writes it there.
//!
//! A consumption may be some calls below the reported place. The name of the key there is found by following the calls outwards: from a
//! parameter to its argument, from a captured variable to the function that holds it.
//!
//! **Invariant:** a name is one that the code around the reported place can read; if there is none, the result is `None`.

use crate::analysis::domain::term::{Term, TermId};
use crate::analysis::domain::value::{Val, Value};
use crate::analysis::heap::{Environment, ObjectKind};
use crate::analysis::record::{Activation, Chain, Consumption, Recording};
use crate::ir::{Argument, Collection, Constant, Element, Function, FunctionKind, Module, Op, OpKind, Temp, Variable};
use crate::judge::facts::{KeyName, Use};

/// Most enclosing functions that are searched for a variable.
const AROUND: usize = 16;

/// The name of the key of a consumption in a frame of its chain.
pub fn name_at(run: &Recording<'_>, event: &Consumption, chain: &Chain, depth: usize) -> Option<KeyName> {
    let term = event.target.term;
    let last = chain.len().checked_sub(1)?;
    let mut name = event.written.as_ref().map(ToString::to_string);
    name = name.or_else(|| variable_holding(run, &chain[last].0, term));
    for level in (depth..last).rev() {
        let (outer, inner) = (&chain[level].0, &chain[level + 1].0);
        name = name
            .and_then(|name| outwards(run, inner, outer, &name, term))
            .or_else(|| argument_holding(run, inner, term))
            .or_else(|| variable_holding(run, outer, term));
    }
    let text = name?;
    let can_rebind = can_rebind(run, &chain[depth.min(last)].0, &text);
    let is_several = run.program.models.words.names_several_keys(&text);
    Some(KeyName { text, can_rebind, is_several })
}

/// The argument of a consuming call, as written, unless it is captured from an enclosing function.
pub fn own_name(run: &Recording<'_>, event: &Consumption) -> Option<String> {
    let (written, activation) = (event.written.as_ref()?, &event.activation);
    let root = root_of(written);
    let is_captured = !holds_slot(run.code(activation), root) && owner(run, activation, root).is_some();
    (!is_captured).then(|| written.to_string())
}

/// The name of a callee's key in its caller.
fn outwards(run: &Recording<'_>, inner: &Activation, outer: &Activation, name: &str, term: TermId) -> Option<String> {
    let (root, code) = (root_of(name), run.code(inner));
    let parameter = code.parameters.iter().position(|parameter| &*parameter.name == root);
    if let Some(slot) = parameter {
        let environment = &run.environments[inner.environment.0 as usize];
        let given = environment.given.iter().flat_map(|given| given.iter());
        let given = given.into_iter().find(|given| given.slot as usize == slot)?;
        let is_part = root.len() < name.len();
        let is_it = if is_part { !is_stored(code, slot) } else { is_key(&given.value, term) };
        return is_it.then(|| format!("{}{}", given.written, &name[root.len()..]));
    }
    if holds_slot(code, root) && code.kind != FunctionKind::Module {
        return None;
    }
    // A captured variable has the same name in all enclosing functions up to the one that holds it; a global has it in
    // the whole module.
    if outer.module != inner.module {
        return None;
    }
    match owner(run, inner, root) {
        Some(owner) => around(run, outer).any(|code| std::ptr::eq(code, owner)).then(|| name.to_owned()),
        None => Some(name.to_owned()),
    }
}

/// The functions that enclose a frame's code, starting with itself.
fn around<'r>(run: &Recording<'r>, activation: &Activation) -> impl Iterator<Item = &'r Function> + use<'r> {
    let module = run.module(activation.module);
    let outwards = move |code: &&'r Function| code.parent.map(|parent| module.function(parent));
    std::iter::successors(Some(module.function(activation.function)), outwards).take(AROUND)
}

/// The function around a frame that holds a variable; `None` of a global.
fn owner<'r>(run: &Recording<'r>, activation: &Activation, root: &str) -> Option<&'r Function> {
    let is_scope = |code: &&Function| !matches!(code.kind, FunctionKind::Module | FunctionKind::ClassBody);
    around(run, activation).filter(is_scope).find(|code| holds_slot(code, root))
}

fn holds_slot(code: &Function, name: &str) -> bool {
    code.slots.iter().take(code.named as usize).any(|slot| &**slot == name)
}

/// Whether a function stores to a parameter.
fn is_stored(code: &Function, slot: usize) -> bool {
    code.ops.iter().any(|op| matches!(&op.kind, OpKind::Store(Variable::Local(stored), _) if *stored as usize == slot))
}

/// The argument of a call that holds a key, as the caller writes it.
fn argument_holding(run: &Recording<'_>, inner: &Activation, term: TermId) -> Option<String> {
    let environment = &run.environments[inner.environment.0 as usize];
    let given = environment.given.as_ref()?;
    let whole = given.iter().find(|given| is_key(&given.value, term)).map(|given| given.written.to_string());
    whole.or_else(|| given.iter().find_map(|given| part_holding(run, &given.written, &given.value, term)))
}

/// The variable of a frame, or of a function around it, that holds a key.
fn variable_holding(run: &Recording<'_>, activation: &Activation, term: TermId) -> Option<String> {
    let mut environment: Option<&Environment> = Some(&run.environments[activation.environment.0 as usize]);
    let mut inner: Vec<&Function> = Vec::new();
    for code in around(run, activation) {
        let here = environment?;
        // A variable of a function within hides one of the same name around it.
        let is_hidden = |name: &str| inner.iter().any(|code| holds_slot(code, name));
        let slots = || code.slots.iter().take(code.named as usize).zip(&here.slots);
        let named = || slots().filter(|(name, _)| !is_hidden(name));
        let is_plain = |name: &str| name != "_" && !name.starts_with(['<', '.']);
        let is_scope = code.kind != FunctionKind::ClassBody;
        let whole = named().find(|(name, value)| is_scope && is_plain(name) && is_key(value, term));
        if let Some((name, _)) = whole {
            return Some(name.to_string());
        }
        let part = named().filter(|(name, _)| is_scope && is_plain(name));
        if let Some(found) = part.into_iter().find_map(|(name, value)| part_holding(run, name, value, term)) {
            return Some(found);
        }
        environment = here.parent.map(|parent| &run.environments[parent.0 as usize]);
        inner.push(code);
    }
    None
}

/// The element of a container that is a key: `keys["params"]`.
fn part_holding(run: &Recording<'_>, name: &str, value: &Value, term: TermId) -> Option<String> {
    value.alternatives().iter().find_map(|alternative| match &alternative.val {
        Val::Tuple(values) => {
            let index = values.iter().position(|value| is_key(value, term))?;
            Some(format!("{name}[{index}]"))
        }
        Val::Object(object) => match &run.objects[object.0 as usize].kind {
            ObjectKind::List { items, .. } => {
                let index = items.iter().position(|item| is_key(&item.value, term))?;
                Some(format!("{name}[{index}]"))
            }
            ObjectKind::Dict { entries, .. } => {
                let entry = entries.iter().find(|entry| is_key(&entry.value, term))?;
                let is_literal = matches!(run.terms.get(entry.key), Term::Text(_) | Term::Int(_));
                is_literal.then(|| format!("{name}[{}]", run.terms.describe(entry.key)))
            }
            _ => None,
        },
        _ => None,
    })
}

/// Whether a value may be a key.
fn is_key(value: &Value, term: TermId) -> bool {
    value.alternatives().iter().any(|alternative| match &alternative.val {
        Val::Key(key) => key.term == term,
        Val::Term(held) => *held == term,
        _ => false,
    })
}

/// Whether the code of a frame can rebind a name: a variable of its own, or an attribute.
fn can_rebind(run: &Recording<'_>, activation: &Activation, name: &str) -> bool {
    let code = run.code(activation);
    let is_own = holds_slot(code, root_of(name)) || code.kind == FunctionKind::Module;
    match code.kind {
        FunctionKind::Lambda | FunctionKind::Generator | FunctionKind::Comprehension => false,
        FunctionKind::Module | FunctionKind::Def | FunctionKind::ClassBody => is_own && !name.contains('['),
    }
}

/// The variable that an attribute chain or a subscript starts with.
fn root_of(name: &str) -> &str {
    name.split(['.', '[']).next().unwrap_or(name)
}

/// The name under which the home module imports `jax.random` itself, if it does: `from jax import random as jr`.
pub fn random_module(run: &Recording<'_>) -> Option<String> {
    let (module, body) = (run.module(run.home), Module::BODY);
    let (code, uses) = (module.function(body), run.uses_of(run.home, body));
    let is_random = |kind: &OpKind| match kind {
        OpKind::Import { path, whole: true } => &**path == "jax.random",
        OpKind::ImportFrom { level: 0, module, name } => &**module == "jax" && &**name == "random",
        _ => false,
    };
    (0..).zip(&code.ops).filter(|(_, op)| is_random(&op.kind)).find_map(|(temp, _)| {
        uses.readers(temp).iter().find_map(|reader| match &code.ops[*reader as usize].kind {
            OpKind::Store(Variable::Global(name), _) => Some(name.to_string()),
            _ => None,
        })
    })
}

/// The names of the key within a call that gets it twice: entries of a dict, or parameters.
pub fn entries(run: &Recording<'_>, first: &Consumption, second: &Consumption) -> Vec<String> {
    let (activation, code) = (&second.activation, run.code(&second.activation));
    let is_one_call = first.place == second.place && first.activation.id == second.activation.id;
    let Some(call) = run.call_at(activation, second.place).filter(|_| is_one_call) else { return Vec::new() };
    let OpKind::Call(_, arguments) = &code.ops[call as usize].kind else { return Vec::new() };
    let slots = &run.environments[activation.environment.0 as usize].slots;
    let is_it = |temp: Temp| match &code.ops[temp as usize].kind {
        OpKind::Load(Variable::Local(slot)) => {
            slots.get(*slot as usize).is_some_and(|value| is_key(value, second.target.term))
        }
        _ => false,
    };
    let mut found = Vec::new();
    for argument in arguments {
        match argument {
            Argument::Keyword(name, temp) if is_it(*temp) => found.push(name.to_string()),
            Argument::Keyword(_, temp) | Argument::Positional(temp) => match &code.ops[*temp as usize].kind {
                OpKind::Build(Collection::Dict, pairs) => found.extend(pairs.iter().filter_map(|pair| match pair {
                    Element::Pair(key, value) if is_it(*value) => match &code.ops[*key as usize].kind {
                        OpKind::Constant(Constant::Str(name)) => Some(name.to_string()),
                        _ => None,
                    },
                    _ => None,
                })),
                OpKind::Load(Variable::Local(slot)) => {
                    let held = slots.get(*slot as usize).into_iter().flat_map(Value::alternatives);
                    found.extend(held.flat_map(|held| keys_of(run, &held.val, second.target.term)));
                }
                _ => {}
            },
            Argument::Spread(_) | Argument::SpreadMapping(_) => {}
        }
    }
    found
}

/// The texts under which a dict holds a key.
fn keys_of(run: &Recording<'_>, val: &Val, term: TermId) -> Vec<String> {
    let Val::Object(object) = val else { return Vec::new() };
    let ObjectKind::Dict { entries, .. } = &run.objects[object.0 as usize].kind else { return Vec::new() };
    let named = entries.iter().filter(|entry| is_key(&entry.value, term)).map(|entry| run.terms.get(entry.key));
    named.filter_map(|key| if let Term::Text(name) = key { Some(name.to_string()) } else { None }).collect()
}

/// The stream object of the program that advances when a key is taken from it: `stream` of `stream.next()`.
pub fn stream_at(run: &Recording<'_>, event: &Consumption, chain: &Chain, depth: usize) -> Option<String> {
    let (activation, code) = (&event.activation, run.code(&event.activation));
    let (owner, attribute) = event.written.as_deref()?.split_once('.')?;
    let is_own = code.class.is_some() && code.parameters.first().is_some_and(|own| &*own.name == owner);
    let stores = |op: &Op| match &op.kind {
        OpKind::StoreAttribute(object, name, _) => {
            &**name == attribute && matches!(code.ops[*object as usize].kind, OpKind::Load(Variable::Local(0)))
        }
        _ => false,
    };
    if !is_own || depth + 1 >= chain.len() || !code.ops.iter().any(stores) || activation.root {
        return None;
    }
    let name = name_at(run, event, chain, depth)?.text;
    name.strip_suffix(attribute)?.strip_suffix('.').filter(|stream| *stream != owner).map(str::to_owned)
}

/// A use reported where it happens.
pub fn leaf_use(run: &Recording<'_>, event: &Consumption) -> Use {
    Use {
        place: event.place,
        leaf: event.place,
        via: Vec::new(),
        callee: event.callee.to_string(),
        role: event.role,
        written: own_name(run, event),
        name: name_at(run, event, &vec![(event.activation.clone(), event.place)], 0),
    }
}
