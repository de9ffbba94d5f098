//! The words that findings share: how keys, callees and consumptions are named.
//!
//! **Invariant:** messages contain no line numbers, because baselines must survive moved lines; places are labels.
//! Texts are lower case and have no full stop.

use crate::finding::{Confidence, Derivation, DerivationKind, Finding, FixHints, Label, Place, RuleId};
use crate::judge::facts::{KeyName, Origin, Role, Trace, Use};

use super::Rule;

/// The function name of module-level code.
pub(super) const MODULE: &str = "<module>";

/// The three texts of a finding.
pub(super) struct Text {
    /// What is wrong; makes sense on its own.
    pub message: String,
    /// What the reader sees at the primary place.
    pub label: String,
    /// What to do instead; empty if no short advice fits.
    pub help: String,
}

/// A finding at the rule's own level, without related places.
pub(super) fn finding(rule: &Rule, place: Place, confidence: Confidence, function: &str, text: Text) -> Finding {
    Finding {
        label: text.label,
        help: Some(text.help).filter(|help| !help.is_empty()),
        function: function.to_owned(),
        ..Finding::new(rule.id, rule.level, confidence, place, text.message)
    }
}

/// `key` in backticks.
pub(super) fn code(text: &str) -> String {
    format!("`{text}`")
}

/// What is called; it may have no name, as in `make(x)(key)`.
pub(super) fn callee(text: &str) -> String {
    if text.starts_with('<') { "a function without a name".to_owned() } else { code(text) }
}

/// A key of which neither a name nor a derivation is known.
pub(super) const UNNAMED: &str = "one key";

/// How a key is named: as written, else by how it was derived.
pub(super) fn subject(name: Option<&KeyName>, derivation: &Derivation) -> String {
    name.map_or_else(|| derived(derivation), |name| code(&name.text))
}

/// A key without a name at the place that mentions it, in words.
fn derived(derivation: &Derivation) -> String {
    let source = |parent: &Derivation| match parent.kind() {
        DerivationKind::Elsewhere | DerivationKind::Part(_) if is_name(parent) => Some(code(parent)),
        DerivationKind::Seed(Some(seed), _) => Some(format!("seed {seed}")),
        _ => None,
    };
    let root = || std::iter::successors(derivation.parent(), |of| of.parent()).find_map(source);
    match derivation.kind() {
        DerivationKind::Elsewhere | DerivationKind::Part(_) if derivation.is_empty() => "the key".to_owned(),
        DerivationKind::Elsewhere | DerivationKind::Part(_) if is_name(derivation) => code(derivation),
        DerivationKind::Seed(Some(seed), _) => format!("the key created from seed {seed}"),
        DerivationKind::Elsewhere | DerivationKind::Part(_) | DerivationKind::Seed(None, _) => UNNAMED.to_owned(),
        DerivationKind::Child(parent, _) | DerivationKind::Children(parent) => match (source(parent), root()) {
            (Some(parent), _) => format!("a key split from {parent}"),
            (None, Some(root)) => format!("a key derived from {root}"),
            (None, None) => "the key".to_owned(),
        },
        DerivationKind::Fold(..) | DerivationKind::Clone(_) => {
            root().map_or_else(|| "the key".to_owned(), |root| format!("a key derived from {root}"))
        }
    }
}

/// Whether a reader of the program recognises a description: parts of computed values are left out of theirs, and `None` holds no key.
fn is_name(text: &str) -> bool {
    !text.is_empty() && !text.starts_with("None[") && !text.contains('…')
}

/// A statement that takes a child of a key and keeps another one under its name; `None` if no statement can bind that name, or the key has
/// none.
pub(super) fn rebinding(name: Option<&KeyName>) -> Option<String> {
    let key = &name.filter(|name| name.can_rebind && !name.is_several)?.text;
    // It is unknown whether an object that holds the key can be changed, unless it is the object of the method.
    let is_kept = key.contains('.') && !key.starts_with("self.");
    let child = if key == "subkey" { "draw_key" } else { "subkey" };
    (!is_kept).then(|| format!("`{key}, {child} = jax.random.split({key})`"))
}

/// The advice on a key that a function of the project consumes and then returns.
pub(super) fn returned_help(returned_at: Option<&(String, Place)>, role: Role) -> Option<String> {
    let (function, _) = returned_at?;
    let done = if role == Role::Split { "split" } else { "consumed" };
    Some(format!("have {} return a key that it has not {done}", callee(function)))
}

/// The advice that fits most reuse.
pub(super) fn split_help(name: Option<&KeyName>) -> String {
    match name {
        Some(name) if name.text.contains('.') => format!("replace `{}` with a new key each time you use it", name.text),
        Some(name) if name.is_several => "give each call its own keys".to_owned(),
        Some(name) => format!("give each call its own key: `key1, key2 = jax.random.split({})`", name.text),
        None => "give each call its own key".to_owned(),
    }
}

/// Makes the advice on a shared key general if the statement of the finding does not mention the key: where a callee captured the key, or
/// read it from an object, splitting a variable of that name changes nothing.
pub fn fit_advice(finding: &mut Finding, statement: &str) {
    let general = match finding.rule {
        RuleId::KeyReused => "give each call its own key",
        RuleId::KeyReusedInLoop => "give each iteration its own key",
        RuleId::KeyBroadcast => "create one key for each batch element, and map over the result",
        _ => return,
    };
    let Some(help) = &mut finding.help else { return };
    let is_word = |character: char| character.is_alphanumeric() || character == '_';
    let code = [".split(", ".fold_in("].into_iter().find_map(|call| help.split_once(call));
    let key = code.map(|(_, rest)| rest.split(|character| !is_word(character)).next().unwrap_or_default());
    if key.is_some_and(|key| !statement.split(|character| !is_word(character)).any(|word| word == key)) {
        general.clone_into(help);
    }
}

/// The effect of a repeated consumption of one key.
pub(super) fn repetition(role: Role) -> &'static str {
    match role {
        Role::Sample => "draws the same numbers",
        Role::Split => "derives the same keys",
        Role::Fold => "derives the same key",
        Role::Library | Role::Protocol | Role::Unresolved => "gets the same key",
    }
}

/// How the label of a call ends that leads to what the label says.
pub const INSIDE: &str = " inside this call";

/// The label of a finding's primary place, where that is a consumption.
pub(super) fn here(used: &Use, what: &str) -> String {
    if is_direct(used) { format!("{what} here") } else { format!("{what}{INSIDE}") }
}

/// The way into a consumption: the place in the reporting frame, the calls below it, the consuming call. Each label makes sense on its own,
/// because editors and other tools show it alone.
pub(super) fn steps(used: &Use, what: &str) -> Vec<Label> {
    if is_direct(used) {
        return vec![leaf(used, what)];
    }
    let mut steps = vec![label(used.place, format!("{what}{INSIDE}"))];
    steps.extend(inner_steps(used, what));
    steps
}

/// The way into a consumption below its place in the reporting frame.
pub(super) fn inner_steps(used: &Use, what: &str) -> Vec<Label> {
    if is_direct(used) {
        return Vec::new();
    }
    let mut steps: Vec<Label> = used.via.iter().map(|&place| label(place, format!("{what}{INSIDE}"))).collect();
    steps.push(leaf(used, what));
    steps
}

/// The consuming call itself; a call of `split` is easy to recognise.
fn leaf(used: &Use, what: &str) -> Label {
    let by = if used.role == Role::Split { String::new() } else { format!(" by {}", callee(&used.callee)) };
    label(used.leaf, format!("{what} here{by}"))
}

/// Why it is uncertain that a call consumes its key, if the library itself does not say that it does.
pub(super) fn doubt(used: &Use) -> Option<String> {
    let callee = callee(&used.callee);
    match used.role {
        Role::Protocol => Some(format!("keylint assumes from its name and arguments that {callee} draws from the key")),
        Role::Library => Some(format!("only keylint's model of the library says that {callee} draws from the key")),
        Role::Unresolved => Some(format!("keylint cannot see what {callee} does with the key")),
        Role::Sample | Role::Split | Role::Fold => None,
    }
}

/// The way into a consumption as places, from the reporting frame's own call to the consuming call.
pub(super) fn way(used: &Use) -> Vec<Place> {
    if is_direct(used) {
        return vec![used.place];
    }
    [used.place].into_iter().chain(used.via.iter().copied()).chain([used.leaf]).collect()
}

/// Where the key came from, as the first step of a story.
pub(super) fn origin(origin: Option<&Origin>) -> Vec<Label> {
    origin.map(|origin| label(origin.place, origin.text.clone())).into_iter().collect()
}

/// A place with its sentence.
pub(super) fn label(place: Place, message: String) -> Label {
    Label { place, message }
}

/// Adds `labels` to the finding's related places, except places that already have a label.
pub(super) fn relate(finding: &mut Finding, labels: impl IntoIterator<Item = Label>) {
    for label in labels {
        let known = label.place == finding.primary || finding.related.iter().any(|old| old.place == label.place);
        if !known {
            finding.related.push(label);
        }
    }
}

/// The name of a traced function.
pub(super) fn traced(trace: &Trace) -> String {
    let name = trace.function.rsplit('.').next().unwrap_or_default();
    if name.starts_with('<') { "the function".to_owned() } else { code(name) }
}

/// Foreign text as the tail of a message: first letter lower case unless it starts a proper noun, no full stop.
pub(super) fn sentence(text: &str) -> String {
    let line = text.lines().next().unwrap_or_default().trim().trim_end_matches('.');
    let mut letters = line.chars();
    match (letters.next(), letters.clone().next()) {
        (Some(first), Some(second)) if first.is_uppercase() && second.is_lowercase() => {
            first.to_lowercase().chain(letters).collect()
        }
        _ => line.to_owned(),
    }
}

/// Whether the consuming call itself is in the reporting frame.
fn is_direct(used: &Use) -> bool {
    used.place == used.leaf
}

/// What a fix needs to know of a finding about one consumption.
pub(super) fn fix_hints(used: &Use) -> FixHints {
    FixHints { written: [used.written.clone(), None], used_at: Some(used.place), ..FixHints::default() }
}
