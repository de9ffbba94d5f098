//! Fields of records whose default is one constant key, `rng_key: jax.Array = jax.random.key(0)`, and that nothing ever sets to another one.
//!
//! **Invariant:** a field counts as never set only if each key that the project gives it comes from a field of that name. What is spread
//! into a call of the class may be the field.

use std::collections::BTreeSet;

use crate::analysis::domain::marks::SEEDED;
use crate::analysis::domain::term::Term;
use crate::analysis::domain::value::{ClassHandle, Key, PartialKind, Val, Value};
use crate::analysis::program::names::is_of_another_kind;
use crate::analysis::record::{Callee, Recording, UPDATES};
use crate::finding::{Confidence, Place};
use crate::ir::{Argument, Function, FunctionId, Name, OpKind, Parameter, ParameterKind, Temp, Variable, passes};
use crate::judge::facts::{Facts, KeptDefault, Role};
use crate::judge::slice::is_computed_from;

/// What a module does with fields that are named like keys.
#[derive(Clone, Debug, Default)]
pub struct KeyFields {
    /// Records that keep the default of such a field.
    kept: Vec<KeptDefault>,
    /// Fields that are set to a key from elsewhere, with the class if it is known.
    set: BTreeSet<(String, Option<Place>)>,
    /// Fields whose key is consumed, with the place.
    consumed: BTreeSet<(String, Place)>,
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
        let term = event.target.term;
        let ancestors = run.terms.ancestors(term);
        let held = std::iter::once(term).chain(ancestors).find_map(|term| match run.terms.get(term) {
            Term::Attribute(_, name, _) => Some(name.to_string()),
            _ => None,
        });
        fields.consumed.extend(held.map(|name| (name, event.place)));
    }
    let home = run.module(run.home);
    let entry = home.function(id);
    let entered = run.uses_of(run.home, id);
    let is_used = |slot: u32| !entered.loads_of(slot).is_empty();
    let mut keys = (0u32..).zip(&entry.parameters).filter(|(slot, parameter)| is_key(run, parameter) && is_used(*slot));
    let Some((_, parameter)) = keys.next() else { return };
    for (place, callees) in run.log.callees.iter().filter(|(place, _)| place.file == home.file) {
        let Some(class) = callees.iter().find_map(|callee| match callee {
            Callee::Class(class) => Some(*class),
            _ => None,
        }) else {
            continue;
        };
        let maker = home.innermost(place.span);
        let Some(call) = run.uses_of(run.home, maker).call_at(place.span) else { continue };
        let code = home.function(maker);
        let OpKind::Call(_, arguments) = &code.ops[call as usize].kind else { continue };
        for (position, field, default) in constant_fields(run, class) {
            if passes(arguments, position, &field, true) {
                continue;
            }
            let Some(made) = run.derivation(default.derivation) else { continue };
            fields.kept.push(KeptDefault {
                place: *place,
                class: class_name(run, class),
                class_at: class_place(run, class),
                field,
                made_at: made.place,
                parameter: parameter.name.to_string(),
                declared_at: Place { file: home.file, span: parameter.span },
                consumed_at: made.place,
                confidence: Confidence::Medium,
                function: code.qualified.to_string(),
                entry: entry.qualified.to_string(),
            });
        }
    }
}

/// The fields that the functions of the home module set to keys from elsewhere.
pub fn extract_set_fields(run: &Recording<'_>, facts: &mut Facts) {
    let home = run.module(run.home);
    let words = &run.program.models.words;
    for (id, code) in (0u32..).map(FunctionId).zip(&home.functions) {
        for op in &code.ops {
            let given: Vec<(&str, Temp, Option<Place>)> = match &op.kind {
                OpKind::StoreAttribute(owner, name, value) => vec![(name, *value, own_class(run, code, *owner))],
                OpKind::Call(callee, arguments) => given_fields(run, code, *callee, arguments),
                _ => continue,
            };
            let uses = run.uses_of(run.home, id);
            let comes_from_field = |name: &str, value: Temp| {
                let reads = |_, kind: &OpKind| matches!(kind, OpKind::Attribute(_, field) if **field == *name);
                is_computed_from((code, &uses), value, &reads) == Some(true)
            };
            let set = given.into_iter().filter(|(name, value, _)| {
                (name.is_empty() || words.is_keyish(name)) && !comes_from_field(name, *value)
            });
            facts.key_fields.set.extend(set.map(|(name, _, class)| (name.to_owned(), class)));
        }
    }
}

/// What a call gives the fields of a record that it makes or updates; an empty name stands for all fields.
fn given_fields<'c>(
    run: &Recording<'c>,
    code: &'c Function,
    callee: Temp,
    arguments: &'c [Argument],
) -> Vec<(&'c str, Temp, Option<Place>)> {
    let named = run.named(run.home, code, callee);
    let class = match (named.as_ref().and_then(Value::single), &code.ops[callee as usize].kind) {
        (Some(Val::Class(class)), _) => Some(*class),
        (Some(Val::Library(path)), _) if UPDATES.contains(&path.rsplit('.').next().unwrap_or_default()) => None,
        (None, OpKind::Attribute(_, method)) if UPDATES.contains(&&**method) => None,
        // `cls(…)`
        (None, OpKind::Load(Variable::Local(0))) if code.class.is_some() => None,
        _ => return Vec::new(),
    };
    let place = class.map(|class| class_place(run, class));
    let fields = class.map(|class| constant_fields(run, class)).unwrap_or_default();
    let mut given = Vec::new();
    for (at, argument) in arguments.iter().enumerate() {
        match argument {
            Argument::Keyword(name, value) => given.push((&**name, *value, place)),
            Argument::Spread(value) | Argument::SpreadMapping(value) if class.is_some() => {
                given.push(("", *value, place))
            }
            Argument::Positional(value) if fields.iter().any(|(position, ..)| *position == at) => {
                given.push(("", *value, place));
            }
            Argument::Positional(_) | Argument::Spread(_) | Argument::SpreadMapping(_) => {}
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
            let is_set = ["", &kept.field]
                .into_iter()
                .any(|name| [None, Some(kept.class_at)].into_iter().any(|of| set.contains(&(name.to_owned(), of))));
            let consumption = consumed.iter().find(|(field, _)| *field == kept.field);
            if let Some((_, place)) = consumption.filter(|_| !is_set) {
                kept.consumed_at = *place;
                facts.kept_defaults.push(kept);
            }
        }
    }
}

/// The fields of a record whose default is a key from a constant seed, with their positions.
fn constant_fields(run: &Recording<'_>, class: ClassHandle) -> Vec<(usize, String, Key)> {
    if !run.classes[class.0 as usize].record {
        return Vec::new();
    }
    let lineage = run.lineage(class);
    let default = |name: &Name| {
        let attributes = lineage.iter().map(|of| &run.classes[of.0 as usize].attributes);
        attributes.filter_map(|attributes| attributes.get(name)).next()
    };
    let mut fields: Vec<&Name> = Vec::new();
    for of in lineage.iter().rev() {
        let info = &run.classes[of.0 as usize];
        for field in &run.module(info.module).class(info.class).fields {
            if !fields.contains(&&field.name) {
                fields.push(&field.name);
            }
        }
    }
    let constant = |(position, name): (usize, &Name)| {
        let key = match default(name)?.single()? {
            Val::Key(key) => *key,
            Val::Partial(partial) if partial.kind == PartialKind::FieldDefault => match partial.function.single()? {
                Val::Key(key) => *key,
                _ => return None,
            },
            _ => return None,
        };
        let Term::Seed(seed) = *run.terms.get(key.term) else { return None };
        let number = match run.terms.get(seed) {
            Term::Apply(name, parts) if &**name == SEEDED => parts[0],
            _ => seed,
        };
        run.terms.as_int(number).map(|_| (position, name.to_string(), key))
    };
    fields.into_iter().enumerate().filter_map(constant).collect()
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
