//! Fields of records whose default is one constant key, `rng_key: jax.Array = jax.random.key(0)`, and that nothing ever sets to another one.
//!
//! **Invariant:** a field counts as never set only if each key that the project gives it comes from a field of that name. What is spread
//! into a call of the class may be the field.

use std::collections::BTreeSet;

use crate::analysis::domain::term::{Term, TermId};
use crate::analysis::domain::value::{ClassHandle, Closure, Key, PartialKind, Val, Value};
use crate::analysis::program::names::is_of_another_kind;
use crate::analysis::record::{Callee, Recording, UPDATES};
use crate::finding::{Confidence, Place};
use crate::ir::{
    Argument, Constant, Function, FunctionId, FunctionKind, Name, Op, OpKind, Parameter, ParameterKind, Temp, Variable,
    passes,
};
use crate::judge::callee_model::model_of;
use crate::judge::derivation::seed_number;
use crate::judge::facts::{Facts, KeptDefault, Role};
use crate::judge::memoised::sets_attribute;
use crate::judge::slice::is_computed_from;
use crate::models::{BuiltinOp, Effect};

/// Most attributes and calls that follow a variable.
const CHAINED: usize = 8;

/// What a module does with fields that are named like keys.
#[derive(Clone, Debug, Default)]
pub struct KeyFields {
    /// Records that keep the default of such a field.
    kept: Vec<KeptDefault>,
    /// Fields that are set to a key from elsewhere, with the class if it is known; an empty name stands for all fields.
    set: BTreeSet<(String, Option<Place>)>,
    /// Fields whose key is consumed, with the class of their object if it is known, and the place.
    consumed: BTreeSet<(String, Option<Place>, Place)>,
}

impl KeyFields {
    /// Adds what another function does.
    pub fn absorb(&mut self, other: Self) {
        self.kept.extend(other.kept);
        self.set.extend(other.set);
        self.consumed.extend(other.consumed);
    }
}

/// What an entry does with such fields: the keys of them that it consumes, and the records that it makes with their defaults although it has
/// a key.
pub fn extract_fields(run: &Recording<'_>, facts: &mut Facts, id: FunctionId) {
    let fields = &mut facts.key_fields;
    let draws = run.log.consumptions.iter().filter(|event| matches!(event.role, Role::Sample | Role::Split));
    for event in draws {
        let ancestors = run.terms.ancestors(event.target.term);
        let held = std::iter::once(event.target.term).chain(ancestors).find_map(|term| match run.terms.get(term) {
            Term::Attribute(owner, name, _) => Some((*owner, name.to_string())),
            _ => None,
        });
        fields.consumed.extend(held.map(|(owner, name)| {
            let object = run.objects.iter().find(|object| object.symbol == owner && object.class.is_some());
            (name, object.and_then(|object| object.class).map(|class| class_place(run, class)), event.place)
        }));
    }
    let home = run.module(run.home);
    let entry = home.function(id);
    let Some(parameter) = consumed_parameter(run, entry) else { return };
    for (place, callees) in run.log.callees.iter().filter(|(place, _)| place.file == home.file) {
        let class = callees.iter().find_map(|callee| match callee {
            Callee::Class(class) => Some(*class),
            _ => None,
        });
        let Some(class) = class else { continue };
        let maker = home.innermost(place.span);
        let Some(call) = run.uses_of(run.home, maker).call_at(place.span) else { continue };
        let code = home.function(maker);
        let OpKind::Call(callee, arguments) = &code.ops[call as usize].kind else { continue };
        // `partial(State, key=key)(x)` and `vmap(State)(xs, keys)` may pass the field.
        if class_named(run, code, *callee) != Some(class) {
            continue;
        }
        for (position, field, made_at) in constant_fields(run, class) {
            if passes(arguments, position, &field, true) {
                continue;
            }
            fields.kept.push(KeptDefault {
                place: *place,
                class: class_name(run, class),
                lineage: run.lineage(class).iter().map(|of| class_place(run, *of)).collect(),
                field,
                made_at,
                parameter: parameter.name.to_string(),
                declared_at: Place { file: home.file, span: parameter.span },
                consumed_at: made_at,
                confidence: Confidence::Medium,
                function: code.qualified.to_string(),
                entry: entry.qualified.to_string(),
            });
        }
    }
}

/// The first parameter of an entry that is a key, by its name and because the entry consumes it.
fn consumed_parameter<'r>(run: &Recording<'_>, entry: &'r Function) -> Option<&'r Parameter> {
    let entered = run.log.entered.as_ref()?;
    let consumed: BTreeSet<TermId> =
        run.log.consumptions.iter().map(|event| run.terms.root(event.target.term)).collect();
    let mut keys = entry.parameters.iter().zip(entered).filter(|(parameter, value)| {
        let is_consumed = value.alternatives().iter().any(|alternative| match &alternative.val {
            Val::Term(term) => consumed.contains(term),
            Val::Key(key) => consumed.contains(&run.terms.root(key.term)),
            _ => false,
        });
        is_consumed && is_key(run, parameter)
    });
    keys.next().map(|(parameter, _)| parameter)
}

/// What code gives a field.
struct Given {
    /// The field; all fields if it is empty.
    name: String,
    /// The value, if it is one key.
    value: Option<Temp>,
    /// The record that is updated, if that is what gives the field.
    updated: Option<Temp>,
    /// The class, if it is known.
    class: Option<Place>,
}

/// The fields that the functions of the home module set to keys from elsewhere.
pub fn extract_set_fields(run: &Recording<'_>, facts: &mut Facts) {
    let home = run.module(run.home);
    let words = &run.program.models.words;
    for (id, code) in (0u32..).map(FunctionId).zip(&home.functions) {
        let of_op = |op: &Op| match &op.kind {
            OpKind::StoreAttribute(owner, name, value) => {
                let class = own_class(run, code, *owner);
                vec![Given { name: name.to_string(), value: Some(*value), updated: Some(*owner), class }]
            }
            OpKind::Call(callee, arguments) => given_fields(run, code, *callee, arguments),
            _ => Vec::new(),
        };
        let given = code.ops.iter().flat_map(of_op).chain(selected_fields(run, code, id));
        let set = given.filter(|given| {
            (given.name.is_empty() || words.is_keyish(&given.name)) && !comes_from_field(run, (code, id), given)
        });
        facts.key_fields.set.extend(set.map(|given| (given.name, given.class)));
    }
}

/// Whether a field gets a key that is computed from the same field, of the record that is updated if there is one. The attributes of a method's
/// own instance count only if its class declares such a field.
fn comes_from_field(run: &Recording<'_>, (code, id): (&Function, FunctionId), given: &Given) -> bool {
    let Some(value) = given.value else { return false };
    let updated = given.updated.map(|record| variable(code, record));
    let declares = code.class.is_some_and(|class| {
        let fields = &run.module(run.home).class(class).fields;
        fields.iter().any(|field| *field.name == *given.name)
    });
    let reads = |_, kind: &OpKind| match kind {
        OpKind::Attribute(of, field) if **field == *given.name => match variable(code, *of) {
            Some(Variable::Local(0)) if code.class.is_some() => declares,
            of => updated.is_none_or(|updated| updated == of),
        },
        _ => false,
    };
    is_computed_from((code, &run.uses_of(run.home, id)), value, &reads) == Some(true)
}

/// The variable that an attribute chain or a chain of calls begins with.
fn variable(code: &Function, mut temp: Temp) -> Option<&Variable> {
    for _ in 0..CHAINED {
        temp = match &code.ops[temp as usize].kind {
            OpKind::Load(variable) => return Some(variable),
            OpKind::Attribute(of, _) | OpKind::Call(of, _) => *of,
            _ => return None,
        };
    }
    None
}

/// The fields that a function selects, for code that sets what it selects: `tree_at(lambda state: state.key, state, key)`.
fn selected_fields(run: &Recording<'_>, code: &Function, id: FunctionId) -> Vec<Given> {
    if code.kind != FunctionKind::Lambda {
        return Vec::new();
    }
    let uses = run.uses_of(run.home, id);
    let returns = |reader: &Temp| matches!(code.ops[*reader as usize].kind, OpKind::Return(_) | OpKind::Build(..));
    let selected = (0u32..).zip(&code.ops).filter_map(|(temp, op)| match &op.kind {
        OpKind::Attribute(_, name) if uses.readers(temp).iter().any(returns) => {
            Some(Given { name: name.to_string(), value: None, updated: None, class: None })
        }
        _ => None,
    });
    selected.collect()
}

/// What a call gives the fields of a record that it makes or updates.
fn given_fields(run: &Recording<'_>, code: &Function, callee: Temp, arguments: &[Argument]) -> Vec<Given> {
    let kind = |temp: Temp| &code.ops[temp as usize].kind;
    let all = |class: Option<Place>| Given { name: String::new(), value: None, updated: None, class };
    // Whatever gets the class may make records of it.
    let only_tests = model_of(run, run.home, code, callee)
        .is_some_and(|callable| matches!(callable.effect, Effect::Builtin(BuiltinOp::Isinstance)));
    let passed = arguments.iter().filter(|_| !only_tests);
    let passed = passed.filter_map(|argument| class_named(run, code, argument.value()));
    let passed = passed.filter(|class| !constant_fields(run, *class).is_empty());
    let mut given: Vec<Given> = passed.map(|class| all(Some(class_place(run, class)))).collect();
    if sets_attribute(kind(callee)) {
        given.extend(arguments.iter().find_map(|argument| match kind(argument.value()) {
            OpKind::Constant(Constant::Str(name)) => Some(Given { name: name.to_string(), ..all(None) }),
            _ => None,
        }));
        return given;
    }
    let named = run.named(run.home, code, callee);
    let (class, updated) = match (named.as_ref().and_then(Value::single), kind(callee)) {
        (Some(Val::Class(class)), _) => (Some(class_place(run, *class)), None),
        (Some(Val::Library(path)), _) if UPDATES.contains(&path.rsplit('.').next().unwrap_or_default()) => {
            (None, arguments.first().map(Argument::value))
        }
        (None, OpKind::Attribute(of, method)) if UPDATES.contains(&&**method) => (None, Some(*of)),
        // `cls(…)`
        (None, OpKind::Load(Variable::Local(0))) if code.class.is_some() => (own_class(run, code, callee), None),
        _ => return given,
    };
    let fields = match named.as_ref().and_then(Value::single) {
        Some(Val::Class(class)) => Some(constant_fields(run, *class)),
        _ => None,
    };
    // Of a class that is not named, each argument may be such a field.
    let may_be = |at: usize| fields.as_ref().is_none_or(|fields| fields.iter().any(|(position, ..)| *position == at));
    for (at, argument) in arguments.iter().enumerate() {
        match argument {
            Argument::Keyword(name, value) => {
                given.push(Given { name: name.to_string(), value: Some(*value), updated, class });
            }
            Argument::Positional(_) if updated.is_some() || !may_be(at) => {}
            Argument::Positional(value) => {
                let name = fields.iter().flatten().find(|(position, ..)| *position == at);
                given.push(match name {
                    Some((_, name, _)) => Given { name: name.clone(), value: Some(*value), updated, class },
                    None => all(class),
                });
            }
            Argument::Spread(_) | Argument::SpreadMapping(_) => given.push(all(class)),
        }
    }
    given
}

/// Reports the defaults that nothing but the field itself replaces, if something consumes them.
pub fn reconcile(modules: &mut [Facts]) {
    let (mut set, mut consumed) = (BTreeSet::new(), BTreeSet::new());
    for facts in modules.iter_mut() {
        set.append(&mut facts.key_fields.set);
        consumed.append(&mut facts.key_fields.consumed);
    }
    for facts in modules {
        let mut kept = std::mem::take(&mut facts.key_fields.kept);
        // Of several entries that lead to one place, the function around the place is named, if it is one of them.
        kept.sort_by_key(|kept| (kept.place, kept.field.clone(), kept.entry != kept.function, kept.declared_at));
        kept.dedup_by_key(|kept| (kept.place, kept.field.clone()));
        for mut kept in kept {
            let is_of_class = |of: &Option<Place>| of.is_none_or(|of| kept.lineage.contains(&of));
            let is_set = set.iter().any(|(name, of)| (name.is_empty() || *name == kept.field) && is_of_class(of));
            let consumption = consumed.iter().find(|(field, of, _)| *field == kept.field && is_of_class(of));
            if let Some((.., place)) = consumption.filter(|_| !is_set) {
                kept.consumed_at = *place;
                facts.kept_defaults.push(kept);
            }
        }
    }
}

/// The fields of a record that are named like keys and have a key from a constant seed as their default, with their positions and the calls
/// that create the keys.
fn constant_fields(run: &Recording<'_>, class: ClassHandle) -> Vec<(usize, String, Place)> {
    if !run.classes[class.0 as usize].record {
        return Vec::new();
    }
    let lineage = run.lineage(class);
    let default = |name: &Name| lineage.iter().find_map(|of| run.classes[of.0 as usize].attributes.get(name));
    let mut fields: Vec<&Name> = Vec::new();
    for of in lineage.iter().rev() {
        let info = &run.classes[of.0 as usize];
        for field in &run.module(info.module).class(info.class).fields {
            if !fields.contains(&&field.name) {
                fields.push(&field.name);
            }
        }
    }
    let words = &run.program.models.words;
    let constant = |(position, name): (usize, &Name)| {
        let made_at = match default(name)?.single()? {
            Val::Key(key) => constant_key(run, key),
            Val::Partial(partial) => match (&partial.kind, partial.function.single()?) {
                (PartialKind::FieldDefault, Val::Key(key)) => constant_key(run, key),
                (PartialKind::FieldFactory, Val::Function(factory)) => returned_key(run, factory),
                _ => None,
            },
            _ => None,
        };
        made_at.filter(|_| words.is_keyish(name)).map(|place| (position, name.to_string(), place))
    };
    fields.into_iter().enumerate().filter_map(constant).collect()
}

/// The call that creates a key, if its seed is a constant.
fn constant_key(run: &Recording<'_>, key: &Key) -> Option<Place> {
    run.terms.as_int(seed_number(run.terms, key.term)?)?;
    run.derivation(key.derivation).map(|made| made.place)
}

/// The call that creates the key which a factory returns, if its seed is a constant: `lambda: jax.random.key(0)`.
fn returned_key(run: &Recording<'_>, factory: &Closure) -> Option<Place> {
    let module = run.module(factory.module);
    let code = module.function(factory.function);
    let returned = code.ops.iter().find_map(|op| match op.kind {
        OpKind::Return(value) => value,
        _ => None,
    })?;
    let OpKind::Call(callee, arguments) = &code.ops[returned as usize].kind else { return None };
    let is_constant =
        |argument: &Argument| matches!(code.ops[argument.value() as usize].kind, OpKind::Constant(Constant::Int(_)));
    let makes = matches!(model_of(run, factory.module, code, *callee)?.effect, Effect::Seed { .. });
    (makes && arguments.iter().all(is_constant))
        .then(|| Place { file: module.file, span: code.ops[returned as usize].span })
}

/// The class of the program that a name of the home module denotes.
fn class_named(run: &Recording<'_>, code: &Function, temp: Temp) -> Option<ClassHandle> {
    match run.named(run.home, code, temp)?.single()? {
        Val::Class(class) => Some(*class),
        _ => None,
    }
}

fn class_place(run: &Recording<'_>, class: ClassHandle) -> Place {
    let info = &run.classes[class.0 as usize];
    let module = run.module(info.module);
    Place { file: module.file, span: module.class(info.class).span }
}

fn class_name(run: &Recording<'_>, class: ClassHandle) -> String {
    let info = &run.classes[class.0 as usize];
    run.module(info.module).class(info.class).name.to_string()
}

/// The class around a method, if a value is its instance: `self.key = key` sets no field of another class.
fn own_class(run: &Recording<'_>, code: &Function, owner: Temp) -> Option<Place> {
    let module = run.module(run.home);
    let is_self = matches!(code.ops[owner as usize].kind, OpKind::Load(Variable::Local(0)));
    let class = code.class.filter(|_| is_self)?;
    Some(Place { file: module.file, span: module.class(class).span })
}

fn is_key(run: &Recording<'_>, parameter: &Parameter) -> bool {
    let words = &run.program.models.words;
    words.names_a_key(&parameter.name)
        && !words.names_a_seed(&parameter.name)
        && !parameter.annotation.as_ref().is_some_and(|of| is_of_another_kind(words, of))
        && !matches!(parameter.kind, ParameterKind::Variadic | ParameterKind::Keywords)
}
