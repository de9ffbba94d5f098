//! Negative claims: what is never used, never stored, never asked.
//!
//! **Invariant:** these come from the definitions and uses of a whole body, not from the copies of it that ran.

use std::collections::BTreeSet;
use std::rc::Rc;

use crate::analysis::domain::term::{Term, TermId};
use crate::analysis::domain::value::Val;
use crate::analysis::facts::{CaptureKind, CapturedUse, Discarded, Facts, IgnoredCaller, Role, StaleState, Use};
use crate::analysis::log::{Activation, Consumption};
use crate::finding::{Confidence, Place};
use crate::ir::{
    Annotation, Argument, Block, Function, FunctionId, FunctionKind, Name, OpKind, ParameterKind, Variable,
};
use crate::models::Effect;
use crate::text::FileId;

use super::Machine;
use super::derive::SEEDED;
use super::notes::LoggedStore;
use super::uses::Uses;

/// Functions between one and the statements of its module that are looked through.
const CALLERS: u32 = 4;

/// A method that consumes an attribute of its instance, or a function that consumes a global, and stores nothing.
pub(super) struct StaleCandidate {
    class: Option<crate::analysis::domain::value::ClassHandle>,
    name: Name,
    fact: StaleState,
}

/// What becomes of the result of an operation.
enum Fate {
    /// Nothing reads it.
    Ignored,
    /// It is stored in a variable that nothing reads.
    Unread(Name),
    /// These children of it are read.
    Children(BTreeSet<u32>, Vec<(u32, Name)>),
    /// It is used as a whole.
    Used,
}

impl Machine<'_> {
    /// `split` and `fold_in` results that go nowhere, and callers' keys that are ignored.
    pub(super) fn conclude_unused(&mut self, facts: &mut Facts, file: FileId) {
        let mut seen = BTreeSet::new();
        for derivation in self.recorder.log.derivations.clone() {
            if derivation.place.file != file || !seen.insert(derivation.place) {
                continue;
            }
            let splits = self
                .program
                .models
                .callable(&derivation.callee)
                .is_some_and(|callable| matches!(callable.effect, Effect::Split { .. } | Effect::Fold { .. }));
            if !splits {
                continue;
            }
            let activation = &derivation.activation;
            let code = self.module(activation.module).function(activation.function);
            let function = code.qualified.to_string();
            let callee = derivation.callee.to_string();
            let discarded = |whole: bool, name: Option<String>| Discarded {
                place: derivation.place,
                callee: callee.clone(),
                whole,
                name,
                function: function.clone(),
            };
            match self.fate_of(activation, derivation.place) {
                Some(Fate::Ignored) => facts.discarded.push(discarded(true, None)),
                Some(Fate::Unread(name)) => facts.discarded.push(discarded(true, Some(name.to_string()))),
                Some(Fate::Children(_, unread)) => {
                    for (_, name) in unread.iter().filter(|(_, name)| !name.starts_with('_')) {
                        facts.discarded.push(discarded(false, Some(name.to_string())));
                    }
                }
                Some(Fate::Used) | None => {}
            }
        }
        self.conclude_ignored(facts, file);
    }

    /// Which children of the split at this place are read; `None` where that cannot be told.
    pub(super) fn children_used(&self, place: Place, activation: &Rc<Activation>) -> Option<BTreeSet<u32>> {
        match self.fate_of(activation, place)? {
            Fate::Children(used, _) => Some(used),
            _ => None,
        }
    }

    /// The names of the children of the split at this place that nothing reads; `None` where that cannot be told.
    pub(super) fn unread_children(&self, place: Place, activation: &Activation) -> Option<Vec<Name>> {
        match self.fate_of(activation, place)? {
            Fate::Children(_, unread) => {
                Some(unread.into_iter().map(|(_, name)| name).filter(|name| !name.starts_with('_')).collect())
            }
            _ => None,
        }
    }

    /// The definitions and uses of a function, counted once.
    pub(super) fn uses_of(&self, module: usize, id: FunctionId) -> Rc<Uses> {
        let mut known = self.caches.uses.borrow_mut();
        let count = || Rc::new(Uses::of(self.module(module), self.module(module).function(id)));
        known.entry((module, id)).or_insert_with(count).clone()
    }

    /// Whether the numbers of a draw are only waited for: `normal(key, ()).block_until_ready()` as a statement.
    pub(super) fn is_barrier(&self, event: &Consumption) -> bool {
        let (module, id) = (event.activation.module, event.activation.function);
        if event.role != Role::Sample || self.module(module).file != event.place.file {
            return false;
        }
        let code = self.module(module).function(id);
        let uses = self.uses_of(module, id);
        let Some([attribute]) = uses.call_at(event.place.span).map(|draw| uses.readers(draw)) else { return false };
        let OpKind::Attribute(_, name) = &code.ops[*attribute as usize].kind else { return false };
        let method = self.program.models.of_array(name);
        method.is_some_and(|method| matches!(method.effect, Effect::Forward { .. }))
            && matches!(uses.readers(*attribute), [call] if uses.readers(*call).is_empty())
    }

    fn fate_of(&self, activation: &Activation, place: Place) -> Option<Fate> {
        let (module, id) = (activation.module, activation.function);
        let code = self.module(module).function(id);
        let uses = self.uses_of(module, id);
        match uses.readers(uses.call_at(place.span)?) {
            [] => Some(Fate::Ignored),
            [only] => match &code.ops[*only as usize].kind {
                OpKind::Store(Variable::Local(slot), _) => {
                    if self.is_read(module, id, *slot) {
                        Some(Fate::Used)
                    } else {
                        Some(Fate::Unread(code.slots.get(*slot as usize)?.clone()))
                    }
                }
                OpKind::Store(Variable::Global(name), _) if &**name == "_" => Some(Fate::Unread(name.clone())),
                OpKind::Unpack { star: None, .. } => {
                    let mut used = BTreeSet::new();
                    let mut unread = Vec::new();
                    for part in uses.readers(*only) {
                        let OpKind::Project(_, index) = code.ops[*part as usize].kind else { continue };
                        let slot = match uses.readers(*part) {
                            [store] => match &code.ops[*store as usize].kind {
                                OpKind::Store(Variable::Local(slot), _) => Some(*slot),
                                _ => None,
                            },
                            _ => None,
                        };
                        match slot {
                            Some(slot) if !self.is_read(module, id, slot) => {
                                unread.push((index, code.slots.get(slot as usize)?.clone()));
                            }
                            _ => {
                                used.insert(index);
                            }
                        }
                    }
                    Some(Fate::Children(used, unread))
                }
                OpKind::Item(_, index) => {
                    let number = match &code.ops[*index as usize].kind {
                        OpKind::Constant(crate::ir::Constant::Int(number)) => Some(*number),
                        OpKind::Load(Variable::Local(slot)) if uses.stores_of(*slot) == 0 => {
                            self.number_given(activation, *slot)
                        }
                        _ => None,
                    };
                    Some(match number {
                        Some(number) => Fate::Children(BTreeSet::from([u32::try_from(number).ok()?]), Vec::new()),
                        None => Fate::Used,
                    })
                }
                _ => Some(Fate::Used),
            },
            _ => Some(Fate::Used),
        }
    }

    /// The number that an activation was given for a parameter.
    fn number_given(&self, activation: &Activation, slot: u32) -> Option<i128> {
        let environment = &self.store.environments[activation.environment.0 as usize];
        match environment.slots.get(slot as usize)?.single()? {
            Val::Term(term) => self.terms.as_int(*term),
            _ => None,
        }
    }

    /// Whether any function reads (or deletes) a slot of this one. Variables of a module or class can be read from outside.
    fn is_read(&self, module: usize, id: FunctionId, slot: u32) -> bool {
        let code = self.module(module).function(id);
        if matches!(code.kind, FunctionKind::Module | FunctionKind::ClassBody) {
            return true;
        }
        self.uses_of(module, id).reads_slot(slot)
    }

    /// Whether a function reads what it was given for a parameter, before it writes something else there.
    fn is_heeded(&self, module: usize, id: FunctionId, slot: u32) -> bool {
        let code = self.module(module).function(id);
        let first = code.ops.iter().find_map(|op| match &op.kind {
            OpKind::Load(Variable::Local(read)) if *read == slot => Some(true),
            OpKind::Store(Variable::Local(written), _) if *written == slot => Some(false),
            _ => None,
        });
        first.unwrap_or_else(|| self.is_read(module, id, slot))
    }

    /// A function that takes a key or seed that it never reads, and draws from a constant one.
    fn conclude_ignored(&mut self, facts: &mut Facts, file: FileId) {
        let mut seen = BTreeSet::new();
        for event in self.recorder.log.consumptions.clone() {
            if !matches!(event.role, Role::Sample | Role::Split) {
                continue;
            }
            let Some(derivation) = self.derivation(event.target.derivation).cloned() else { continue };
            let Term::Seed(seed) = *self.terms.get(event.target.term) else { continue };
            let number = match self.terms.get(seed) {
                Term::Apply(name, parts) if &**name == SEEDED => parts[0],
                _ => seed,
            };
            if self.terms.as_int(number).is_none() || derivation.place.file != file {
                continue;
            }
            let activation = &derivation.activation;
            let code = self.module(activation.module).function(activation.function);
            if code.kind != FunctionKind::Def || event.activation.id != activation.id || !activation.root {
                continue;
            }
            let ignored = (0u32..).zip(&code.parameters).find(|(slot, parameter)| {
                names_a_key(&parameter.name)
                    && !parameter.annotation.as_ref().is_some_and(is_of_another_kind)
                    && !matches!(parameter.kind, ParameterKind::Variadic | ParameterKind::Keywords)
                    && !self.is_heeded(activation.module, activation.function, *slot)
            });
            let Some((_, parameter)) = ignored else { continue };
            let heeds_another = (0u32..).zip(&code.parameters).any(|(slot, parameter)| {
                names_a_key(&parameter.name) && self.is_heeded(activation.module, activation.function, slot)
            });
            if heeds_another {
                continue;
            }
            if !seen.insert(derivation.place) {
                continue;
            }
            facts.ignored.push(IgnoredCaller {
                place: derivation.place,
                callee: derivation.callee.to_string(),
                parameter: parameter.name.to_string(),
                declared_at: Place { file, span: parameter.span },
                used: leaf_use(&event),
                confidence: Confidence::Medium,
                function: code.qualified.to_string(),
            });
        }
    }

    /// Attributes and globals whose key this function consumes without storing a new one.
    pub(super) fn stale_candidates(&mut self, id: FunctionId) -> Vec<StaleCandidate> {
        let file = self.module(self.context.home).file;
        let code = self.module(self.context.home).function(id);
        if &*code.name == "__init__" || code.name.starts_with("test") {
            return Vec::new();
        }
        let mut candidates = Vec::new();
        for event in self.recorder.log.consumptions.clone() {
            if !matches!(event.role, Role::Sample | Role::Split) {
                continue;
            }
            let mut outermost = event.activation.clone();
            let mut place = event.place;
            while let Some((caller, call)) = outermost.caller.clone() {
                outermost = caller;
                place = call;
            }
            if outermost.function != id || outermost.module != self.context.home || place.file != file {
                continue;
            }
            if self.happens_once(event.guard) || self.is_memoised(code) {
                continue;
            }
            let used = Use { place, ..leaf_use(&event) };
            if let Some((class, name)) = self.attribute_of_self(event.target.term) {
                if self.recorder.log.stores.iter().any(|store| store.name == name) || self.is_handed_on(&event, &name) {
                    continue;
                }
                let owner = self.terms.owner(event.target.term).and_then(|owner| self.terms.symbol(owner));
                let owner = owner.map_or("self", |info| &*info.text);
                let fact = Self::stale_fact(used, format!("{owner}.{name}"), code);
                candidates.push(StaleCandidate { class: Some(class), name, fact });
            } else if let Some((name, _, _)) =
                self.recorder.log.global_reads.iter().find(|(_, term, _)| *term == event.target.term)
                && !self.recorder.log.global_stores.contains(name)
            {
                let name = name.clone();
                let mut fact = Self::stale_fact(used, name.to_string(), code);
                if self.runs_once(code, CALLERS) {
                    fact.confidence = Confidence::Low;
                }
                candidates.push(StaleCandidate { class: None, name, fact });
            }
        }
        candidates
    }

    /// Whether a function around a consumption hands on something by the attribute's name: `state.replace(rng=rng)`.
    fn is_handed_on(&self, event: &Consumption, name: &Name) -> bool {
        std::iter::successors(Some(event.activation.clone()), |activation| {
            activation.caller.as_ref().map(|(caller, _)| caller.clone())
        })
        .any(|activation| {
            let code = self.module(activation.module).function(activation.function);
            code.ops.iter().any(|op| match &op.kind {
                OpKind::Call(_, arguments) => {
                    arguments.iter().any(|argument| matches!(argument, Argument::Keyword(given, _) if given == name))
                }
                _ => false,
            })
        })
    }

    /// Whether a consumption waits for an attribute or global that is not there yet: `if self.w is None: self.w = …`.
    fn happens_once(&self, guard: crate::analysis::domain::guard::Guard) -> bool {
        self.paths.guards.support(guard).iter().any(|literal| match self.terms.get(*literal) {
            Term::Operate(crate::ir::Operator::Is, parts) => {
                matches!(self.terms.get(parts[0]), Term::Attribute(..))
                    && matches!(self.terms.get(parts[1]), Term::None)
            }
            Term::Apply(name, _) => &**name == "builtins.hasattr",
            _ => false,
        })
    }

    /// Whether all that the module does with a function is to call it in one place and no loop, in its own statements or in such a
    /// function: a part of a script, of which no next call is in sight.
    fn runs_once(&self, code: &Function, callers: u32) -> bool {
        let module = self.module(self.context.home);
        let is_it = |kind: &OpKind| matches!(kind, OpKind::Load(Variable::Global(name)) if *name == code.name);
        let mut readers = module
            .functions
            .iter()
            .flat_map(|reader| reader.ops.iter().filter(|op| is_it(&op.kind)).map(move |_| reader));
        let (Some(reader), None) = (readers.next(), readers.next()) else { return false };
        code.name == code.qualified
            && calls_outside_loops(reader, &reader.body, &is_it)
            && match reader.kind {
                FunctionKind::Module => true,
                FunctionKind::Def => callers > 0 && self.runs_once(reader, callers - 1),
                _ => false,
            }
    }

    /// Whether the results of a method are kept: it runs once for each instance and arguments.
    fn is_memoised(&self, code: &Function) -> bool {
        let Some(class) = code.class else { return false };
        self.store.classes.own().any(|(_, info)| {
            let is_it = info.module == self.context.home && info.class == class;
            is_it
                && matches!(
                    info.attributes.get(&code.name).and_then(|value| value.single()),
                    Some(Val::Partial(partial))
                        if partial.keywords.first().is_some_and(|(mark, _)| mark.starts_with("<cached"))
                )
        })
    }

    fn stale_fact(used: Use, name: String, code: &Function) -> StaleState {
        StaleState { used, name, stored_at: None, confidence: Confidence::Medium, function: code.qualified.to_string() }
    }

    /// Whether the module binds this function under a transform.
    fn is_transformed(&self, name: &str) -> bool {
        self.store
            .modules
            .get(&self.context.home)
            .and_then(|state| state.globals.get(name))
            .is_some_and(|value| matches!(value.single(), Some(Val::Wrapped(_))))
    }

    /// Globals whose key a transformed function captures.
    pub(super) fn captured_globals(&self, stale: &mut Vec<StaleState>) -> Vec<CapturedUse> {
        let file = self.module(self.context.home).file;
        let (captured, rest): (Vec<_>, Vec<_>) =
            std::mem::take(stale).into_iter().partition(|fact| self.is_transformed(&fact.function));
        *stale = rest;
        captured
            .into_iter()
            .filter_map(|fact| {
                let module = self.module(self.context.home);
                let code = module.functions.iter().find(|code| *code.qualified == *fact.function)?;
                Some(CapturedUse {
                    kind: CaptureKind::Transformed,
                    callee: code.name.to_string(),
                    defined_at: Place { file, span: code.span },
                    used: fact.used,
                    origin: None,
                    name: fact.name,
                    confidence: Confidence::Medium,
                    function: fact.function,
                })
            })
            .collect()
    }

    /// The class and name of an attribute of the instance that a method was called on.
    fn attribute_of_self(&self, term: TermId) -> Option<(crate::analysis::domain::value::ClassHandle, Name)> {
        let Term::Attribute(owner, name, 0) = self.terms.get(term) else { return None };
        let object = self.store.objects.iter().find(|object| object.symbol == *owner && object.class.is_some())?;
        self.terms.symbol(*owner).filter(|info| info.symbol == crate::analysis::domain::term::Symbol::Parameter)?;
        Some((object.class?, name.clone()))
    }

    /// Those candidates whose attribute is known to be given a key by the class itself.
    pub(super) fn stale_of(&self, candidates: Vec<StaleCandidate>, stores: &[LoggedStore]) -> Vec<StaleState> {
        let mut facts = Vec::new();
        let mut seen = BTreeSet::new();
        for candidate in candidates {
            let mut fact = candidate.fact;
            if let Some(class) = candidate.class {
                let info = &self.store.classes[class.0 as usize];
                if info.frozen {
                    continue;
                }
                let lineage = self.lineage(class);
                let mut own = stores
                    .iter()
                    .filter(|store| store.name == candidate.name && lineage.contains(&store.class))
                    .peekable();
                let Some(stored) = own.peek().copied() else { continue };
                // Where another method replaces the key, this one may rely on it.
                if own.any(|store| !matches!(&*store.function, "__init__" | "__post_init__")) {
                    continue;
                }
                fact.stored_at = Some(stored.place);
            }
            if seen.insert(fact.used.place) {
                facts.push(fact);
            }
        }
        facts
    }
}

/// Whether a block calls what one of its operations reads, and no loop in it does.
fn calls_outside_loops(code: &Function, block: &Block, is_it: &dyn Fn(&OpKind) -> bool) -> bool {
    block.iter().any(|temp| match &code.ops[*temp as usize].kind {
        OpKind::Call(callee, _) => is_it(&code.ops[*callee as usize].kind),
        OpKind::Loop { .. } => false,
        kind => kind.blocks().into_iter().any(|inner| calls_outside_loops(code, inner, is_it)),
    })
}

/// A use told where it happens.
fn leaf_use(event: &Consumption) -> Use {
    Use {
        place: event.place,
        leaf: event.place,
        via: Vec::new(),
        callee: event.callee.to_string(),
        role: event.role,
        written: event.written.as_ref().map(ToString::to_string),
    }
}

/// Whether a parameter's name says that it is a key or a seed. Evidence only for a parameter that nothing reads, and for what
/// stands where a method takes its key.
pub(super) fn names_a_key(name: &str) -> bool {
    let name = name.trim_start_matches('_');
    matches!(
        name,
        "key" | "rng" | "seed" | "prng" | "rng_key" | "prng_key" | "random_key" | "rngkey" | "keys" | "random_seed"
    ) || name.ends_with("_rng")
        || name.ends_with("_seed")
        || name.ends_with("_rng_key")
}

/// Whether an annotation names what is neither a key nor a seed: `key: str`, `rng: np.random.Generator`.
pub(super) fn is_of_another_kind(annotation: &Annotation) -> bool {
    const OTHERS: [&str; 9] =
        ["str", "bytes", "bool", "tuple", "Tuple", "Hashable", "Generator", "RandomState", "Random"];
    match annotation {
        Annotation::Path(path, _) => path.last().is_some_and(|name| OTHERS.contains(&&**name)),
        // `Generator | None`, `Optional[Generator]`, `tuple[int, int]`
        Annotation::Union(parts) => parts.iter().any(is_of_another_kind),
        Annotation::Subscript(base, arguments) => {
            let is_optional =
                matches!(&**base, Annotation::Path(path, _) if path.last().is_some_and(|name| &**name == "Optional"));
            is_of_another_kind(base) || is_optional && arguments.iter().any(is_of_another_kind)
        }
        Annotation::Text(_) | Annotation::None | Annotation::Other => false,
    }
}
