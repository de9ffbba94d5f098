//! The rows of a model file as written.
//!
//! **Invariant:** every table denies unknown fields; only types are checked here.

use std::collections::BTreeMap;

use serde::{Deserialize, Deserializer};

use super::objects::Yield;
use super::schema::{Host, SeedKind};
use super::transform::{Returns, Runs, TransformResult};

/// `"key"` or `["key", "rng"]`.
#[derive(Clone, Debug, Deserialize)]
#[serde(untagged)]
pub(super) enum OneOrMany {
    One(String),
    Many(Vec<String>),
}

impl OneOrMany {
    pub(super) fn into_vec(self) -> Vec<String> {
        match self {
            Self::One(name) => vec![name],
            Self::Many(names) => names,
        }
    }
}

/// Reads a list of names of which one may stand alone.
pub(super) fn one_or_many<'de, D: Deserializer<'de>>(from: D) -> Result<Vec<String>, D::Error> {
    OneOrMany::deserialize(from).map(OneOrMany::into_vec)
}

#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct RawAlias {
    pub from: OneOrMany,
    pub to: String,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub(super) enum EffectName {
    Seed,
    Split,
    Fold,
    Clone,
    KeyData,
    Wrap,
    Sample,
    Consume,
    Observe,
    Forward,
    Pure,
    Shape,
    Fabricate,
    Number,
    ShapeOf,
    Supply,
    Transform,
    Tree,
    Factory,
    Builtin,
    Prelude,
}

#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub(super) struct RawCallable {
    pub path: Option<String>,
    #[serde(default)]
    pub paths: Vec<String>,
    #[serde(default)]
    pub params: Vec<String>,
    pub effect: EffectName,
    pub lengths: Option<String>,
    #[serde(default)]
    pub structure: Vec<u32>,
    #[serde(default)]
    pub patterns: Vec<String>,
    #[serde(default)]
    pub writes: bool,
    #[serde(default)]
    pub by_lane: bool,
    pub host: Option<Host>,
    pub seeded_by: Option<String>,
    pub since: Option<String>,
    pub removed: Option<String>,
    pub key: Option<OneOrMany>,
    pub seed: Option<String>,
    pub kind: Option<SeedKind>,
    pub num: Option<String>,
    pub data: Option<String>,
    pub of: Option<OneOrMany>,
    pub rows: Option<String>,
    pub only: Option<String>,
    pub numeric: Option<bool>,
    pub zeros: Option<bool>,
    pub op: Option<String>,
    pub definition: Option<String>,
    pub many: Option<bool>,
    pub counts: Option<bool>,
    pub leaves: Option<bool>,
    pub awaits: Option<bool>,
    pub copies: Option<bool>,
    pub makes: Option<RawMakes>,
    pub runs: Option<Runs>,
    pub returns: Option<Returns>,
    pub function: Option<String>,
    #[serde(default)]
    pub branches: Vec<String>,
    pub chosen: Option<String>,
    pub cond: Option<String>,
    pub axes: Option<String>,
    pub out_axes: Option<String>,
    pub carry: Option<String>,
    pub over: Option<OneOrMany>,
    pub length: Option<String>,
    pub lower: Option<String>,
    pub upper: Option<String>,
    pub operands: Option<OneOrMany>,
    pub packed: Option<bool>,
    pub leading: Option<usize>,
    pub result: Option<TransformResult>,
    pub aux: Option<String>,
    pub traced: Option<bool>,
    pub cached: Option<bool>,
    #[serde(rename = "static")]
    pub statics: Option<OneOrMany>,
}

/// The result of a factory: a callable without a path.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub(super) struct RawMakes {
    pub params: Vec<String>,
    pub effect: EffectName,
    pub key: Option<OneOrMany>,
    #[serde(default)]
    pub no_draw_when: BTreeMap<String, bool>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub(super) enum ConstructName {
    Stream,
    Record,
    Plain,
}

#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct RawClass {
    pub path: Option<String>,
    #[serde(default)]
    pub paths: Vec<String>,
    #[serde(default)]
    pub params: Vec<String>,
    pub construct: ConstructName,
    pub seeds: Option<OneOrMany>,
    pub splits: Option<bool>,
    pub lifted: Option<bool>,
    pub consumes: Option<OneOrMany>,
    pub frozen: Option<bool>,
    pub sequence: Option<bool>,
    pub fields: Option<OneOrMany>,
    pub forward: Option<String>,
    pub makers: Option<OneOrMany>,
    pub call: Option<Yield>,
    pub next: Option<Yield>,
    pub items: Option<Yield>,
    pub methods: Option<std::collections::BTreeMap<String, Yield>>,
    pub otherwise: Option<Yield>,
}
