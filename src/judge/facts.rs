//! What is extracted from the runs of one module, as plain data that rules read.
//!
//! **Invariant:** facts are sorted by place and free of the interpreter's handles; a rule needs nothing else.

pub use crate::analysis::domain::kinds::{
    BufferOp, CarryKind, ImplementationConflict, KeyKind, ReferenceKind, Role, WrapperWay,
};
pub use crate::analysis::program::choices::ChoiceKind;
pub use crate::judge::equality::KeyEquality;
pub use crate::judge::implementation_facts::{GlobalChoice, Mismatch, RawBridge, UnstableSeed};
pub use crate::judge::trace_facts::{
    ConstantKey, FrozenKey, HostDraw, LeakKind, LeakedKey, Trace, TraceKind, TraceStep, TracedFunction,
};

use rustc_hash::{FxHashMap, FxHashSet};

use crate::finding::{Confidence, Consequence, Derivation, Intent, Place};
use crate::ir::FunctionId;
use crate::judge::closures::ClosureCall;
use crate::judge::default_fields::KeyFields;
use crate::judge::default_keys::DefaultCall;
use crate::models::ReportedName;
use crate::text::{FileId, Span};

/// All facts about one module.
#[derive(Clone, Debug, Default)]
pub struct Facts {
    /// Two consumptions (or derivations) of equal keys on one feasible path.
    pub reuses: Vec<KeyReuse>,
    /// One key shared by all lanes of a batch.
    pub broadcasts: Vec<Broadcast>,
    /// Operations on a key's buffer, shape, dtype or number.
    pub buffers: Vec<BufferUse>,
    /// Results of `split` or `fold_in` that nothing uses.
    pub discarded: Vec<Discarded>,
    /// Keys captured by a function that will consume them at every call.
    pub captured: Vec<CapturedUse>,
    /// Calls of escaping closures; `reconcile` reads them.
    pub closure_calls: Vec<ClosureCall>,
    /// Calls of functions that have a default key; `reconcile` reads them.
    pub default_calls: Vec<DefaultCall>,
    /// Attributes or globals whose key is consumed and never replaced.
    pub stale: Vec<StaleState>,
    /// Consumed keys that leave the function.
    pub carried: Vec<CarriedKey>,
    /// Functions that take a key or seed and draw from a constant one.
    pub ignored: Vec<IgnoredCaller>,
    /// Records that keep a constant default key although the function that makes them takes a key.
    pub kept_defaults: Vec<KeptDefault>,
    /// What the module does with fields that are named like keys; `reconcile` reads it.
    pub key_fields: KeyFields,
    /// Functions that are passed to a transform that traces or maps them; `reconcile` reads them.
    pub traced: Vec<TracedFunction>,
    /// Keys that leak from a traced function.
    pub leaked: Vec<LeakedKey>,
    /// Keys that functions make from constant seeds.
    pub constant: Vec<ConstantKey>,
    /// Keys that functions read from outside, and of which a trace keeps the first.
    pub frozen: Vec<FrozenKey>,
    /// Random numbers that Python draws.
    pub host: Vec<HostDraw>,
    /// Objects with `__jax_array__` around a key that are passed to library functions that reject them.
    pub wrapped: Vec<WrappedKey>,
    /// Parameters of public functions that take raw keys as well as typed ones.
    pub untyped: Vec<UntypedKey>,
    /// Keys of one implementation where another one is expected.
    pub mismatches: Vec<Mismatch>,
    /// Places that choose the implementation of all keys.
    pub choices: Vec<GlobalChoice>,
    /// Words of keys that are passed to code that expects raw keys.
    pub bridges: Vec<RawBridge>,
    /// Seeds that no other run repeats.
    pub unstable: Vec<UnstableSeed>,
    /// References to library names, in source order, resolved through imports and re-assignment.
    pub references: Vec<Reference>,
    /// What is known about the keys that are derived or consumed, for `keylint why`.
    pub keys: Vec<KeyFact>,
    /// Every expression that is a key, if hovers need them.
    pub values: Vec<KeyValue>,
    /// Expressions that are containers, objects or arrays of keys on some path; filled like `values`.
    pub not_single: Vec<Place>,
    /// Attributes and items that functions of the program compute: the place of each read, and the attribute's name.
    pub computed_reads: Vec<(Place, Option<Box<str>>)>,
    /// The functions of the module that ran in the analysis of each entry; for the module's body, those that the body
    /// and the constructors ran.
    pub ran: FxHashMap<FunctionId, FxHashSet<FunctionId>>,
    /// Places where a budget was hit and a value became unknown.
    pub exhausted: Vec<Exhausted>,
    /// Operations that the analysis ran.
    pub operations: u64,
    /// Reuses within a callee that only this caller can see; those that the callee's own analysis shows are dropped by
    /// [`reconcile`](crate::judge::reconcile()).
    pub indirect: Vec<KeyReuse>,
    /// Why all that the module shares is intended, if it is.
    pub intent: Option<Intent>,
    /// The name under which the module imports `jax.random`: `jr`.
    pub random: Option<String>,
    /// Major, minor and patch number of the newest JAX that the project admits.
    pub jax: Option<[u32; 3]>,
}

impl Facts {
    /// Adds what the analysis of another function of the same module found.
    pub(crate) fn absorb(&mut self, other: Self) {
        self.reuses.extend(other.reuses);
        self.broadcasts.extend(other.broadcasts);
        self.buffers.extend(other.buffers);
        self.discarded.extend(other.discarded);
        self.captured.extend(other.captured);
        self.closure_calls.extend(other.closure_calls);
        self.default_calls.extend(other.default_calls);
        self.stale.extend(other.stale);
        self.carried.extend(other.carried);
        self.ignored.extend(other.ignored);
        self.kept_defaults.extend(other.kept_defaults);
        self.key_fields.absorb(other.key_fields);
        self.traced.extend(other.traced);
        self.leaked.extend(other.leaked);
        self.constant.extend(other.constant);
        self.frozen.extend(other.frozen);
        self.host.extend(other.host);
        self.wrapped.extend(other.wrapped);
        self.untyped.extend(other.untyped);
        self.mismatches.extend(other.mismatches);
        self.choices.extend(other.choices);
        self.bridges.extend(other.bridges);
        self.unstable.extend(other.unstable);
        self.references.extend(other.references);
        self.keys.extend(other.keys);
        self.values.extend(other.values);
        self.not_single.extend(other.not_single);
        self.computed_reads.extend(other.computed_reads);
        self.ran.extend(other.ran);
        self.exhausted.extend(other.exhausted);
        self.indirect.extend(other.indirect);
        self.intent = self.intent.take().or(other.intent);
        self.random = self.random.take().or(other.random);
    }

    /// Sorts everything by place and keeps one fact of each kind per place.
    pub(crate) fn sort_and_deduplicate(&mut self) {
        // Of the reuses of one place, a harmful one is kept rather than a harmless one, then the most certain one, then
        // one of a key rather than of a constant seed, then the one that happens first.
        self.reuses.sort_by_key(|c| {
            let hidden = c.is_harmless() || c.confidence == Confidence::Low;
            (c.second.place, hidden, std::cmp::Reverse(c.confidence), c.kind == ReuseKind::SeededTwice)
        });
        self.reuses.dedup_by_key(|c| c.second.place);
        self.indirect.sort_by_key(|c| (c.second.place, std::cmp::Reverse(c.confidence), c.kind, c.first.leaf));
        self.indirect.dedup_by_key(|c| c.second.place);
        self.broadcasts.sort_by_key(|b| (b.used.place, !b.is_direct, b.mapped_at));
        self.broadcasts.dedup_by_key(|b| b.used.place);
        self.buffers.sort_by_key(|b| (b.place, b.op, std::cmp::Reverse(b.confidence)));
        self.buffers.dedup_by_key(|b| (b.place, b.op));
        self.discarded.sort_by_key(|d| (d.place, d.name.clone()));
        self.discarded.dedup();
        self.captured.sort_by_key(|c| c.used.place);
        self.captured.dedup_by_key(|c| c.used.place);
        self.stale.sort_by_key(|s| s.used.place);
        self.stale.dedup_by_key(|s| s.used.place);
        self.carried.sort_by_key(|c| c.place);
        self.carried.dedup_by_key(|c| c.place);
        self.ignored.sort_by_key(|i| i.place);
        self.ignored.dedup_by_key(|i| i.place);
        self.traced.sort();
        self.traced.dedup();
        self.leaked.sort_by(|a, b| (a.leaf, &a.steps).cmp(&(b.leaf, &b.steps)));
        self.leaked.dedup();
        // Noise is a mistake in more places than other draws from the same key.
        self.constant.sort_by(|a, b| {
            (a.made_at, &a.steps, !a.is_noise, a.used.leaf).cmp(&(b.made_at, &b.steps, !b.is_noise, b.used.leaf))
        });
        self.constant.dedup_by(|a, b| (a.made_at, &a.steps) == (b.made_at, &b.steps));
        self.host.sort_by(|a, b| (a.leaf, &a.steps).cmp(&(b.leaf, &b.steps)));
        self.host.dedup();
        self.wrapped.sort_by(|a, b| (a.place, a.way, &a.class).cmp(&(b.place, b.way, &b.class)));
        self.untyped.sort_by_key(|untyped| untyped.place);
        self.untyped.dedup_by_key(|untyped| untyped.place);
        self.wrapped.dedup_by_key(|wrapped| (wrapped.place, wrapped.way != WrapperWay::Handed));
        self.mismatches.sort_by_key(|m| (m.place, m.kind, std::cmp::Reverse(m.confidence)));
        self.mismatches.dedup_by_key(|m| m.place);
        self.choices.sort_by_key(|c| c.place);
        self.bridges.sort_by_key(|b| b.place);
        self.bridges.dedup_by_key(|b| b.place);
        self.unstable.sort_by_key(|u| (u.place, u.source_at));
        self.unstable.dedup_by_key(|u| u.place);
        self.keys.sort();
        self.keys.dedup();
        self.values.sort_by(|a, b| (a.place, a.is_called, &a.derivation).cmp(&(b.place, b.is_called, &b.derivation)));
        self.values.dedup_by(KeyValue::merge);
        self.not_single.sort_unstable();
        self.not_single.dedup();
        self.computed_reads.sort_unstable();
        self.computed_reads.dedup();
        self.references.sort();
        self.references.dedup_by_key(|r| (r.place, r.path.clone()));
        // `jax.random` within `jax.random.split` is not a separate reference.
        let mut longest: FxHashMap<(FileId, u32), u32> = FxHashMap::default();
        for Place { file, span } in self.references.iter().map(|r| r.place) {
            let end = longest.entry((file, span.start)).or_default();
            *end = span.end.max(*end);
        }
        self.references.retain(|r| longest.get(&(r.place.file, r.place.span.start)) == Some(&r.place.span.end));
        self.exhausted.sort_by_key(|e| (e.function_at, e.place));
        self.exhausted.dedup_by_key(|e| e.function_at);
    }
}

/// One consumption, seen from the frame that a reuse is reported in.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Use {
    /// The place in the reporting frame: the consuming call itself, or the call through which it is reached.
    pub place: Place,
    /// The consuming call itself; equals `place` if it is in the reporting frame.
    pub leaf: Place,
    /// The calls between `place` and `leaf`, outermost first, both excluded.
    pub via: Vec<Place>,
    /// What consumes: a qualified name (`jax.random.normal`) or the callee as written (`self.step`).
    pub callee: String,
    /// How the key is consumed.
    pub role: Role,
    /// The argument of the consuming call, where it is a name or attribute chain that is not captured.
    pub written: Option<String>,
    /// The name of the key in the reporting frame.
    pub name: Option<KeyName>,
}

/// A key as the program writes it at a place.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct KeyName {
    /// A name, an attribute chain, or a subscript of one.
    pub text: String,
    /// Whether a statement there can rebind it: not in a lambda, and neither a captured variable nor an element.
    pub can_rebind: bool,
    /// Whether its name is that of several keys, which `split` does not accept.
    pub is_several: bool,
}

/// Where a key came from.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Origin {
    /// The call or parameter that made the key.
    pub place: Place,
    /// What created it, for people: "created by `jax.random.key(0)`", "parameter `key`", "element 1 of this split".
    pub text: String,
}

/// Why two consumptions conflict.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum ReuseKind {
    /// The key was passed to two samplers (or library calls).
    Sampled,
    /// A later iteration of a loop, or of a loop-like transform, consumes the key again.
    Iterated,
    /// A sampler after a `split`, or a `split` after a sampler.
    SplitAndSampled,
    /// `split` twice from the same parent.
    SplitTwice,
    /// `fold_in` twice with equal data, both results consumed.
    FoldedTwice,
    /// A `fold_in` that equals a child of a `split`, both consumed.
    FoldMeetsChild,
    /// Two constructors with the same seed, both keys consumed.
    SeededTwice,
    /// A sampler draws from a key and from its `fold_in` child (low confidence).
    FoldAndSampled,
}

/// What repeats a consumption.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum LoopKind {
    /// A `for` or `while` statement.
    Statement,
    /// A comprehension.
    Comprehension,
    /// A call that runs a function again and again: `scan`, `map`.
    Call,
    /// A call that runs a function on each leaf of a tree.
    Leaves,
}

/// How far two iterations of a loop are apart.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum IterationDistance {
    /// They follow each other, or there is no loop.
    Adjacent,
    /// Others are between them.
    Apart,
    /// They are also different iterations of a loop within it.
    OfNestedLoops,
}

/// What a loop does with the variable that holds a key.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum KeyBinding {
    /// It leaves it alone, or gives it the same key each time.
    Constant,
    /// It may give it another key in some iterations.
    Changing,
    /// It binds it itself: `for k in repeat(key)`.
    Target,
}

/// Two consumptions of equal keys on one feasible path; `second` is second in execution order.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct KeyReuse {
    /// Why they conflict.
    pub kind: ReuseKind,
    /// The earlier consumption.
    pub first: Use,
    /// The later consumption.
    pub second: Use,
    /// The derivations that made the two equal keys, if there are two (seeds, folds): place of the first and of the
    /// second.
    pub derived_at: Option<(Place, Place)>,
    /// Where the key came from.
    pub origin: Option<Origin>,
    /// The key as derived, for people: `split(key(0))[1]`.
    pub derivation: Derivation,
    /// The loop, where `kind` is `Iterated`: its head or the transform's call.
    pub repeated_by: Option<Place>,
    /// What kind of loop that is.
    pub loop_kind: LoopKind,
    /// The streams, or parameters, of one call that get the key.
    pub entries: Vec<String>,
    /// Where the key of the first consumption is passed on to the next iteration, if that is the mistake.
    pub carried_at: Option<Place>,
    /// The function that returns the key after the first consumption, and where, if that is the mistake.
    pub returned_at: Option<(String, Place)>,
    /// How far the two iterations are apart.
    pub distance: IterationDistance,
    /// Whether each of the two consumptions has its own key, created from the same seed.
    pub is_seeded_again: bool,
    /// In which versions of JAX the two keys are equal.
    pub equality: KeyEquality,
    /// What the loop does with the key's variable.
    pub binding: KeyBinding,
    /// The other child that nothing uses, where the parent was probably intended to be a child (`key, sub = split(key)`).
    pub intended_child: Option<UnusedChild>,
    /// Why it is probably intended.
    pub intent: Option<Intent>,
    /// What becomes of the two draws.
    pub consequence: Option<Consequence>,
    /// A draw that is not followed to its end: nothing reads its variable yet, functions do, or a container holds it.
    pub open_end: Option<Place>,
    /// How certain.
    pub confidence: Confidence,
    /// Qualified name of the reporting function (`<module>` at module level).
    pub function: String,
}

/// A child of a split that nothing uses.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct UnusedChild {
    /// Its variable.
    pub name: String,
    /// Where that is bound.
    pub bound_at: Place,
}

impl KeyReuse {
    /// Whether it is a note because it is intended or cannot be observed.
    pub fn is_harmless(&self) -> bool {
        self.intent.is_some() || self.consequence.as_ref().is_some_and(|consequence| consequence.kind.is_harmless())
    }

    /// Whether one of the two consumptions is a call of unknown code, which may not consume its key.
    pub fn involves_unknown_code(&self) -> bool {
        self.first.role == Role::Unresolved || self.second.role == Role::Unresolved
    }
}

/// How a whole batch came to share one key.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum BroadcastKind {
    /// The mapped function reads it from its surroundings.
    Captured,
    /// `in_axes=None` passes it to every lane.
    Unmapped,
    /// The batch was made of copies (`repeat`, `tile`, `broadcast_to`, `[key] * n`, `stack([key, key])`).
    Copied,
    /// The batch has each of several keys several times (`repeat`, `tile`).
    Repeated,
    /// The mapped function makes it, from a seed that all lanes share.
    Constant,
}

/// One key drawn from by all lanes of a mapped function.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Broadcast {
    /// How it came to be shared.
    pub kind: BroadcastKind,
    /// Whether the function that maps shows it, without its callers.
    pub is_direct: bool,
    /// Whether devices share it that see blocks of an array, and not the elements of a batch.
    pub on_devices: bool,
    /// The consumption, in the frame of the mapping call.
    pub used: Use,
    /// The mapping call, or the call that copied the key.
    pub mapped_at: Place,
    /// The constructor, where the mapped function makes the key.
    pub made_at: Option<Place>,
    /// The stream that the key comes from, where it is one of the program's own.
    pub stream: Option<String>,
    /// Why it is probably intended.
    pub intent: Option<Intent>,
    /// The consequence, if the draws cannot be observed.
    pub consequence: Option<Consequence>,
    /// Where the key came from.
    pub origin: Option<Origin>,
    /// The key as derived.
    pub derivation: Derivation,
    /// How certain.
    pub confidence: Confidence,
    /// Qualified name of the reporting function.
    pub function: String,
}

/// One operation that treats a key as numbers.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct BufferUse {
    /// What is done.
    pub op: BufferOp,
    /// Where.
    pub place: Place,
    /// The operation as written, for people: `key[0]`, `key + 1`, `jnp.sum`, `int`.
    pub text: String,
    /// The key's kind, if it is known.
    pub kind: KeyKind,
    /// Whether the program raises here (a typed key), rather than continuing with wrong numbers.
    pub raises: bool,
    /// Whether it is a key only if a particular caller runs the function.
    pub is_called: bool,
    /// Where the key came from.
    pub origin: Option<Origin>,
    /// The key as derived.
    pub derivation: Derivation,
    /// How certain.
    pub confidence: Confidence,
    /// Qualified name of the function.
    pub function: String,
}

/// A derivation whose result goes nowhere.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Discarded {
    /// The `split` or `fold_in` call.
    pub place: Place,
    /// Its qualified name (`jax.random.split`).
    pub callee: String,
    /// Whether nothing of the result is used; otherwise one child of several.
    pub whole: bool,
    /// Name of the unused child, where it has one.
    pub name: Option<String>,
    /// Qualified name of the function.
    pub function: String,
}

/// Why a function that captures a key may run more than once.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum CaptureKind {
    /// It is jitted (or otherwise transformed) and can be called again.
    Transformed,
    /// It is returned or stored.
    Stored,
    /// The key is the default of a parameter, bound once at definition.
    Default,
}

/// A captured key that every call consumes, where no second call is visible.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CapturedUse {
    /// Why the function may run again.
    pub kind: CaptureKind,
    /// The function's name (`<lambda>` for a lambda).
    pub callee: String,
    /// Where the function is defined.
    pub defined_at: Place,
    /// The consumption within it.
    pub used: Use,
    /// Where the key came from.
    pub origin: Option<Origin>,
    /// Name of the captured variable.
    pub name: String,
    /// Why each call may start from the same key.
    pub intent: Option<Intent>,
    /// How certain.
    pub confidence: Confidence,
    /// Qualified name of the function that holds the consumption.
    pub function: String,
}

/// An attribute or global whose key is consumed without a new one being stored.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct StaleState {
    /// The consumption.
    pub used: Use,
    /// The attribute or global as written: `self.key`, `KEY`.
    pub name: String,
    /// Where the attribute or global gets its key.
    pub stored_at: Option<Place>,
    /// The name of a method that consumes the same key and replaces it, and where it does.
    pub advanced_at: Option<(String, Place)>,
    /// How certain.
    pub confidence: Confidence,
    /// Qualified name of the function.
    pub function: String,
}

/// A consumed key that is used elsewhere afterwards.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CarriedKey {
    /// How it leaves.
    pub kind: CarryKind,
    /// Where it leaves.
    pub place: Place,
    /// The consumption.
    pub used: Use,
    /// The key as derived.
    pub derivation: Derivation,
    /// How certain.
    pub confidence: Confidence,
    /// Qualified name of the function.
    pub function: String,
}

/// How a function loses the key of its caller.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CallerKeyLoss {
    /// It never reads the parameter.
    Unread,
    /// It puts the constant key into the parameter's variable and continues with its children.
    Replaced,
}

/// A function that takes a key or seed and draws from a constant one.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct IgnoredCaller {
    /// The constructor call with the constant seed.
    pub place: Place,
    /// The constructor as written.
    pub callee: String,
    /// The parameter that is ignored.
    pub parameter: String,
    /// How it is.
    pub loss: CallerKeyLoss,
    /// Where the parameter is declared.
    pub declared_at: Place,
    /// The consumption of the constant key.
    pub used: Use,
    /// How certain.
    pub confidence: Confidence,
    /// Qualified name of the function.
    pub function: String,
}

/// A record that keeps the constant default of a key field, made for a function that takes a key. Nothing sets the field to a key from elsewhere.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct KeptDefault {
    /// The call that makes the record.
    pub place: Place,
    /// The name of its class.
    pub class: String,
    /// Where it and its bases are named in their statements.
    pub lineage: Vec<Place>,
    /// The field.
    pub field: String,
    /// The constructor of the default key.
    pub made_at: Place,
    /// The key parameter of the function that was run.
    pub parameter: String,
    /// Where the parameter is declared.
    pub declared_at: Place,
    /// Where the field's key is consumed.
    pub consumed_at: Place,
    /// How certain.
    pub confidence: Confidence,
    /// Qualified name of the function around the call.
    pub function: String,
    /// Qualified name of the function that takes the key.
    pub entry: String,
}

/// An object with `__jax_array__` around a key that is passed to a library function that rejects it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct WrappedKey {
    /// How it gets there.
    pub way: WrapperWay,
    /// The call in the module that passes it.
    pub place: Place,
    /// The call of the library function; equals `place` if it is in the module.
    pub leaf: Place,
    /// Qualified name of the library function.
    pub callee: String,
    /// The name of its class.
    pub class: String,
    /// Where that is defined, if not in a library.
    pub class_at: Option<Place>,
    /// The method that converts it to its key.
    pub method: String,
    /// The object as written, if that is a name or an attribute chain.
    pub written: Option<String>,
    /// The first version that refuses it; `None` for all.
    pub since: Option<[u32; 3]>,
    /// The first version that warns.
    pub warns: Option<[u32; 3]>,
    /// How certain.
    pub confidence: Confidence,
    /// Qualified name of the function.
    pub function: String,
}

/// A parameter of a public function that is a key, typed or raw.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct UntypedKey {
    /// The parameter.
    pub place: Place,
    /// Its name.
    pub name: String,
    /// The function that uses it as a key.
    pub used: Use,
    /// Qualified name of the function.
    pub function: String,
    /// How certain.
    pub confidence: Confidence,
}

/// One reference to a library name.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Reference {
    /// Its place (the whole attribute chain).
    pub place: Place,
    /// The qualified name under its canonical root: `jax.random.PRNGKey`, even if the source says `olympus`.
    pub path: String,
    /// The chain as written: `jr.PRNGKey`.
    pub written: String,
    /// How it is used.
    pub kind: ReferenceKind,
    /// Qualified name of the function.
    pub function: String,
    /// The reported name that it is, or is below.
    pub reported: Option<ReportedName>,
    /// Whether the program made sure that the name exists.
    pub is_guarded: bool,
    /// Whether Python evaluates the name: under `from __future__ import annotations` annotations stay text.
    pub is_evaluated: bool,
}

/// What is known about a key at a place.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct KeyFact {
    /// The call that derives or consumes it.
    pub place: Place,
    /// A sentence: how the key was derived, and what happens to it here.
    pub text: String,
    /// The same in the program's own words, for any caller; `None` if another fact reports it.
    pub brief: Option<String>,
}

/// An expression, or a variable that is bound, whose value is a key.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct KeyValue {
    /// Its place.
    pub place: Place,
    /// Whether this is true only if a particular caller runs the function.
    pub is_called: bool,
    /// The key as derived.
    pub derivation: Derivation,
    /// Typed or raw.
    pub kind: KeyKind,
    /// Whether it is an array of keys, those derived being its elements.
    pub is_array: bool,
    /// Where the key came from.
    pub origin: Option<Origin>,
    /// What is done with the key, in execution order.
    pub uses: Vec<KeyUse>,
    /// Qualified name of the function.
    pub function: String,
    /// The whole definition of the function.
    pub within: Span,
    /// The function around it that ran it, for any caller: its qualified name and definition.
    pub run_by: Option<(String, Span)>,
}

/// Something that is done with a key.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct KeyUse {
    /// The call.
    pub place: Place,
    /// What is called.
    pub callee: String,
    /// How the key is used.
    pub role: Role,
}

/// A budget that was hit.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Exhausted {
    /// Where it was hit.
    pub place: Place,
    /// Which budget, for people: "operations", "nested calls".
    pub budget: &'static str,
    /// Where the function is defined.
    pub function_at: Place,
    /// Qualified name of the function.
    pub function: String,
    /// How many other functions reach the bound at the same place; [`reconcile`](crate::judge::reconcile()) counts them.
    pub others: usize,
}
