//! From the fields of a row to its effect.
//!
//! **Invariant:** an effect is built only from fields that are valid for it and from parameters that the row lists; anything else in the
//! row is a problem at its own position.

use std::collections::BTreeMap;

use serde::de::value::{Error, StrDeserializer};
use serde::de::{DeserializeOwned, IntoDeserializer as _};

use super::load::{Reader, Row};
use super::ops::NumberOp;
use super::raw::{EffectName, OneOrMany, RawCallable, RawMakes};
use super::schema::{Callable, Effect, Param};
use super::transform::{Returns, Transform};

impl Reader<'_> {
    /// The effect of a row; reports each field that is missing, not valid, or names no parameter.
    pub(super) fn effect(&mut self, row: &Row, raw: RawCallable, params: &[Param], exact: bool) -> Option<Effect> {
        let name = raw.effect;
        for (field, span) in &row.fields {
            if !COMMON.contains(&field.as_str()) && !fields_of(name).contains(&field.as_str()) {
                self.problem(span.clone(), format!("`{field}` has no meaning for this effect"));
            }
        }
        let before = self.problems.len();
        let mut take = FieldReader { reader: self, row, params, exact };
        let first = params.first().map(|param| param.name.clone());
        let effect = match name {
            EffectName::Seed => {
                let kind = raw.kind;
                if kind.is_none() {
                    take.missing("kind");
                }
                Effect::Seed { seed: take.name("seed", raw.seed.as_deref(), Some("seed"))?, kind: kind? }
            }
            EffectName::Split => {
                Effect::Split { key: take.one("key", raw.key, Some("key"))?, num: take.optional("num", raw.num) }
            }
            EffectName::Fold => Effect::Fold {
                key: take.one("key", raw.key, Some("key"))?,
                data: take.name("data", raw.data.as_deref(), Some("data"))?,
            },
            EffectName::Clone => Effect::Clone { key: take.one("key", raw.key, Some("key"))? },
            EffectName::KeyData => Effect::KeyData { key: take.one("key", raw.key, Some("keys"))? },
            EffectName::Wrap => Effect::Wrap { data: take.name("data", raw.data.as_deref(), None)? },
            EffectName::Sample => {
                Effect::Sample { keys: take.many("key", raw.key, Some("key"))?, rows: take.optional("rows", raw.rows) }
            }
            EffectName::Consume => {
                let (keys, only) = (take.many("key", raw.key, Some("key"))?, take.optional("only", raw.only));
                Effect::Consume { keys, only, no_draw_when: BTreeMap::new() }
            }
            EffectName::Observe => Effect::Observe,
            EffectName::Supply => Effect::Supply { many: raw.many.unwrap_or(false) },
            EffectName::Pure => Effect::Pure {
                numeric: raw.numeric.unwrap_or(false),
                many: raw.many.unwrap_or(false),
                counts: raw.counts.unwrap_or(false),
            },
            EffectName::Forward => Effect::Forward {
                of: take.one("of", raw.of, first.as_deref())?,
                awaits: raw.awaits.unwrap_or(false),
                copies: raw.copies.unwrap_or(false),
            },
            EffectName::Fabricate => {
                Effect::Fabricate { of: take.one("of", raw.of, first.as_deref())?, zeros: raw.zeros.unwrap_or(false) }
            }
            EffectName::Number => {
                let op = if raw.op.is_some() { take.op(raw.op) } else { Some(NumberOp::default()) };
                let of = take.one("of", raw.of, first.as_deref())?;
                Effect::Number { of, op: op?, many: raw.many.unwrap_or(false) }
            }
            EffectName::Shape => {
                let op = take.op(raw.op);
                let of = take.many("of", raw.of, first.as_deref())?;
                Effect::Shape {
                    of,
                    op: op?,
                    chosen: take.optional("chosen", raw.chosen),
                    leaves: raw.leaves.unwrap_or(false),
                }
            }
            EffectName::Tree => {
                let op = take.op(raw.op);
                Effect::Tree { of: take.one("of", raw.of, first.as_deref())?, op: op? }
            }
            EffectName::ShapeOf => {
                let query = take.op(raw.op);
                Effect::ShapeOf { of: take.one("of", raw.of, first.as_deref())?, query: query? }
            }
            EffectName::Builtin => Effect::Builtin(take.op(raw.op)?),
            // By default, each path of the row names its definition.
            EffectName::Prelude => Effect::Prelude { definition: raw.definition.unwrap_or_default().into() },
            EffectName::Factory => {
                let Some(makes) = raw.makes else {
                    take.missing("makes");
                    return None;
                };
                Effect::Factory { makes: Box::new(self.made(row, makes)?) }
            }
            EffectName::Transform => Effect::Transform(Box::new(transform(&mut take, raw)?)),
        };
        (self.problems.len() == before).then_some(effect)
    }

    /// What a factory makes.
    fn made(&mut self, row: &Row, raw: RawMakes) -> Option<Callable> {
        let params = self.params(row, &raw.params);
        let mut take = FieldReader { reader: self, row, params: &params, exact: true };
        let effect = match raw.effect {
            EffectName::Sample => Effect::Sample { keys: take.many("makes", raw.key, Some("key"))?, rows: None },
            EffectName::Consume => Effect::Consume {
                keys: take.many("makes", raw.key, Some("key"))?,
                only: None,
                no_draw_when: raw.no_draw_when,
            },
            EffectName::Observe => Effect::Observe,
            EffectName::Pure => Effect::Pure { numeric: false, many: false, counts: false },
            EffectName::Supply => Effect::Supply { many: false },
            EffectName::Forward => {
                let first = params.first().map(|param| param.name.clone());
                Effect::Forward { of: take.one("makes", None, first.as_deref())?, awaits: false, copies: false }
            }
            _ => {
                let message = "`makes` expects one of `sample`, `consume`, `observe`, `pure`, `supply`, `forward`";
                self.problem(row.field("makes"), message.to_owned());
                return None;
            }
        };
        Some(Callable {
            path: String::new(),
            params,
            effect,
            lengths: None,
            structure: Vec::new(),
            patterns: Vec::new(),
            writes: false,
            by_lane: false,
            host: None,
            seeded_by: None,
            exact: true,
            since: None,
            removed: None,
        })
    }
}

/// Takes fields of a row and checks that the parameters they name exist.
struct FieldReader<'r, 't> {
    reader: &'r mut Reader<'t>,
    row: &'r Row,
    params: &'r [Param],
    /// False for namespace defaults, which may name keyword arguments without listing parameters.
    exact: bool,
}

impl FieldReader<'_, '_> {
    fn missing(&mut self, field: &str) {
        self.reader.problem(self.row.span.clone(), format!("this effect needs `{field}`"));
    }

    /// A parameter name without stars, checked.
    fn checked(&mut self, field: &str, written: &str) -> String {
        let name = written.trim_start_matches('*');
        if self.exact && !self.params.iter().any(|param| param.name == name) {
            self.reader.problem(self.row.field(field), format!("`{name}` is not among `params`"));
        }
        name.to_owned()
    }

    fn optional(&mut self, field: &str, value: Option<String>) -> Option<String> {
        value.map(|name| self.checked(field, &name))
    }

    fn name(&mut self, field: &str, value: Option<&str>, default: Option<&str>) -> Option<String> {
        let name = value.or(default);
        if name.is_none() {
            self.missing(field);
        }
        name.map(|name| self.checked(field, name))
    }

    fn many(&mut self, field: &str, value: Option<OneOrMany>, default: Option<&str>) -> Option<Vec<String>> {
        let names = value.map(OneOrMany::into_vec).or_else(|| default.map(|name| vec![name.to_owned()]));
        let Some(names) = names.filter(|names| !names.is_empty()) else {
            self.missing(field);
            return None;
        };
        Some(names.iter().map(|name| self.checked(field, name)).collect())
    }

    fn one(&mut self, field: &str, value: Option<OneOrMany>, default: Option<&str>) -> Option<String> {
        let mut names = self.many(field, value, default)?;
        if names.len() > 1 {
            self.reader.problem(self.row.field(field), format!("`{field}` expects one parameter"));
        }
        names.pop()
    }

    /// Reads the name of an operation; the problem lists the names there are.
    fn op<T: DeserializeOwned>(&mut self, value: Option<String>) -> Option<T> {
        let Some(text) = value else {
            self.missing("op");
            return None;
        };
        let deserializer: StrDeserializer<'_, Error> = text.as_str().into_deserializer();
        T::deserialize(deserializer).map_err(|error| self.reader.problem(self.row.field("op"), error.to_string())).ok()
    }
}

fn transform(take: &mut FieldReader<'_, '_>, raw: RawCallable) -> Option<Transform> {
    if raw.runs.is_none() {
        take.missing("runs");
    }
    let runs = raw.runs?;
    let mut all = |field: &str, names: Option<OneOrMany>| -> Vec<String> {
        let names = names.map_or_else(Vec::new, OneOrMany::into_vec);
        names.iter().map(|name| take.checked(field, name)).collect()
    };
    let over = all("over", raw.over);
    let operands = all("operands", raw.operands);
    let statics = all("static", raw.statics);
    let branches = all("branches", Some(OneOrMany::Many(raw.branches)));
    if raw.function.is_none() && branches.is_empty() {
        take.missing("function");
    }
    Some(Transform {
        runs,
        returns: raw.returns.unwrap_or(Returns::Function),
        function: take.optional("function", raw.function),
        branches,
        chosen: take.optional("chosen", raw.chosen),
        cond: take.optional("cond", raw.cond),
        axes: take.optional("axes", raw.axes),
        out_axes: take.optional("out-axes", raw.out_axes),
        carry: take.optional("carry", raw.carry),
        over,
        length: take.optional("length", raw.length),
        lower: take.optional("lower", raw.lower),
        upper: take.optional("upper", raw.upper),
        operands,
        packed: raw.packed.unwrap_or(false),
        leading: raw.leading.unwrap_or(0),
        result: raw.result.unwrap_or_default(),
        aux: take.optional("aux", raw.aux),
        traced: raw.traced.unwrap_or(false),
        cached: raw.cached.unwrap_or(false),
        statics,
    })
}

/// Fields that every function row may have.
const COMMON: &[&str] = &[
    "path",
    "paths",
    "params",
    "effect",
    "lengths",
    "structure",
    "patterns",
    "writes",
    "by-lane",
    "host",
    "seeded-by",
    "since",
    "removed",
];

/// Valid fields of an effect, besides the common ones.
fn fields_of(effect: EffectName) -> &'static [&'static str] {
    match effect {
        EffectName::Seed => &["seed", "kind"],
        EffectName::Split => &["key", "num"],
        EffectName::Fold => &["key", "data"],
        EffectName::Clone | EffectName::KeyData => &["key"],
        EffectName::Consume => &["key", "only"],
        EffectName::Sample => &["key", "rows"],
        EffectName::Wrap => &["data"],
        EffectName::Observe => &[],
        EffectName::Supply => &["many"],
        EffectName::Forward => &["of", "awaits", "copies"],
        EffectName::Fabricate => &["of", "zeros"],
        EffectName::Number => &["of", "op", "many"],
        EffectName::Pure => &["numeric", "many", "counts"],
        EffectName::Shape => &["op", "of", "chosen", "leaves"],
        EffectName::Tree | EffectName::ShapeOf => &["op", "of"],
        EffectName::Builtin => &["op"],
        EffectName::Prelude => &["definition"],
        EffectName::Factory => &["makes"],
        EffectName::Transform => &[
            "runs", "returns", "function", "branches", "chosen", "cond", "axes", "out-axes", "carry", "over", "length",
            "lower", "upper", "operands", "packed", "leading", "result", "aux", "static", "traced", "cached",
        ],
    }
}
