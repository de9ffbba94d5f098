//! Operators: arithmetic, comparisons and membership, and what they do to keys.
//!
//! **Invariant:** an operator on numbers is a term; an operator on a key is a misuse of its buffer, and its result is
//! not a key.

use std::sync::Arc;

use crate::analysis::domain::guard::Guard;
use crate::analysis::domain::kinds::{BufferOp, KeyKind};
use crate::analysis::domain::term::{Symbol, Term};
use crate::analysis::domain::value::{Array, Elements, Key, Val, Value};
use crate::analysis::machine::notes::{self, BufferUse};
use crate::analysis::machine::{Frame, Machine, arrays, held_keys, implied, instances, name_cache};
use crate::analysis::store::args::Arg;
use crate::analysis::store::heap::{Item, ObjectKind};
use crate::analysis::store::{State, container_mutation, paths};
use crate::finding::Place;
use crate::ir::{Collection, Name, Op, OpKind, Operator, Temp};
use crate::models::{BuiltinOp, Effect, is_of_arrays};

/// Most operations that are followed to see whether operands are lists.
const OPERANDS: usize = 32;

/// The function whose application stands for the result of arithmetic on a key.
const COMPUTED: &str = "<computed key>";

/// `len(x)`
pub fn length<'p>(machine: &mut Machine<'p>, frame: &mut Frame<'p>, of: Option<&Arg>, place: Place) -> Value {
    let Some(of) = of else { return machine.state.terms.opaque("<len>", Some(place)) };
    let value = machine.state.possible(&of.value);
    let value = machine.state.with_contents(&value);
    if value.alternatives().len() > 1 && are_terms(&value) {
        return paths::on_alternatives(machine, &value, |this, val| {
            let term = this.state.term_of_val(val);
            Value::term(this.state.length_of_term(term))
        });
    }
    // Every call may give another number: what a loop stores in an object is known for its first iterations only.
    if let Some(val @ Val::Object(id)) = value.single()
        && machine.state.store.objects[id.0 as usize].kind == ObjectKind::Instance
        && machine.state.instance_method(val, &"__len__".into()).is_some()
    {
        return Value::term(machine.state.terms.fresh(Symbol::Opaque, "<len>", Some(place)));
    }
    if let Some(Val::Key(key)) = value.single().cloned()
        && key.kind != crate::analysis::domain::kinds::KeyKind::Unknown
    {
        let text = format!("len({})", of.written.as_deref().unwrap_or("…"));
        let raises = key.kind == crate::analysis::domain::kinds::KeyKind::Typed;
        notes::buffer_use(machine, frame, key, place, BufferUse::new(BufferOp::ShapeLogic, text, raises));
    }
    if let Some(Val::Array(array)) = value.single().cloned()
        && let Some(length) = machine.state.length_of_slice(&array)
    {
        return Value::term(length);
    }
    if let Some(Val::Array(array)) = value.single()
        && let Some(length) = array.dims.as_ref().and_then(|dims| dims.first().copied().flatten())
    {
        return Value::term(length);
    }
    if !matches!(value.single(), Some(Val::Object(id)) if matches!(machine.state.store.objects[id.0 as usize].kind, ObjectKind::Iterator(..)))
        && let Some(items) = machine.items_of(frame, &value)
        && let Some(count) = machine.state.count(&items)
    {
        let further = match value.single() {
            Some(Val::Object(id)) => machine.state.store.objects[id.0 as usize].further.clone(),
            _ => Value::unbound(),
        };
        return machine.state.sum(&count, &further);
    }
    if let Some(Val::Object(id)) = value.single() {
        return machine.state.length_now(*id);
    }
    let term = machine.state.term_of(&value);
    if let Term::Attribute(of, name, 0) = machine.state.terms.get(term)
        && &**name == "shape"
    {
        let of = *of;
        return Value::term(machine.state.terms.intern(Term::Attribute(of, "ndim".into(), 0)));
    }
    Value::term(machine.state.length_of_term(term))
}

pub fn operate<'p>(
    machine: &mut Machine<'p>,
    frame: &mut Frame<'p>,
    operator: Operator,
    operands: [Option<Temp>; 2],
    augmented: bool,
    op: &'p Op,
) -> Value {
    let [left, right] = operands.map(|temp| temp.map(|temp| frame.value(temp)));
    let Some(left) = left else { return machine.state.terms.opaque("<operator>", None) };
    let texts = operands.map(|temp| temp.and_then(|temp| name_cache::written_text(machine, frame, temp)));
    if is_arithmetic(operator)
        && let Some(value) = arithmetic(machine, frame, operator, [Some(&left), right.as_ref()], (operands, &texts), op)
    {
        return value;
    }
    let Some(right) = right else {
        return if operator == Operator::Not {
            let [written, _] = texts;
            notes::note_truth(machine, frame, &left, written, op);
            let left = machine.state.with_truth(&left);
            let holds = machine.state.truth(&left);
            boolean(&mut machine.state, holds, Operator::Not, &left)
        } else {
            let term = machine.state.term_of(&left);
            Value::term(machine.state.terms.operate(operator, &[term]))
        };
    };
    implied::divide(machine, operator, &left, &right);
    if let Some(value) = sequence_operation(machine, frame, operator, [&left, &right], augmented, op) {
        return value;
    }
    match operator {
        Operator::Is | Operator::IsNot | Operator::Eq | Operator::Ne => {
            let place = machine.place(frame, op.span);
            notes::note_shape_logic(machine, frame, &left, &right, &texts, place);
            compare(machine, operator, &left, &right)
        }
        Operator::MatchClass => instances::test(machine, &left, &right),
        Operator::In | Operator::NotIn => {
            notes::note_hash(machine, frame, operator, [&left, &right], &texts, op);
            let changed = machine.state.with_members(&right);
            if changed != right && are_terms(&changed) {
                let needle = machine.state.term_of(&left);
                return paths::on_alternatives(machine, &changed, |this, val| {
                    let container = this.state.term_of_val(val);
                    let found = container_mutation::is_member(&mut this.state.terms, needle, container);
                    let is_in = operator == Operator::In;
                    Value::term(if is_in { found } else { this.state.terms.operate(Operator::Not, &[found]) })
                });
            }
            let (a, b) = (machine.state.term_of(&left), machine.state.term_of(&right));
            match membership(machine, frame, &left, &right) {
                Some(found) => {
                    let value = if operator == Operator::In { found } else { !found };
                    Value::term(machine.state.terms.intern(Term::Bool(value)))
                }
                None => match among(machine, frame, &left, &right) {
                    Some(found) if operator == Operator::In => Value::term(found),
                    Some(found) => Value::term(machine.state.terms.operate(Operator::Not, &[found])),
                    None => Value::term(machine.state.terms.operate(operator, &[a, b])),
                },
            }
        }
        _ => {
            if matches!(operator, Operator::Lt | Operator::Le | Operator::Gt | Operator::Ge) {
                let place = machine.place(frame, op.span);
                notes::note_shape_logic(machine, frame, &left, &right, &texts, place);
                if left.alternatives().len() > 1 && are_terms(&left) && right.single().is_some() {
                    let right = machine.state.term_of(&right);
                    return paths::on_alternatives(machine, &left, |this, val| {
                        let left = this.state.term_of_val(val);
                        Value::term(this.state.terms.operate(operator, &[left, right]))
                    });
                }
            } else if is_arithmetic(operator) {
                let place = machine.place(frame, op.span);
                let text = || operator_text(operator, &texts);
                notes::note_arithmetic(machine, frame, [&left, &right], &texts, (place, &text));
            }
            let (a, b) = (machine.state.term_of(&left), machine.state.term_of(&right));
            Value::term(machine.state.terms.operate(operator, &[a, b]))
        }
    }
}

/// Arithmetic on keys, which uses their words as numbers, and on lists of them.
fn arithmetic<'p>(
    machine: &mut Machine<'p>,
    frame: &mut Frame<'p>,
    operator: Operator,
    [left, right]: [Option<&Value>; 2],
    (operands, texts): ([Option<Temp>; 2], &[Option<Name>; 2]),
    op: &'p Op,
) -> Option<Value> {
    if operator == Operator::Add
        && let Some(lists) = joined_lists(machine, frame, [left?, right?], operands)
    {
        return Some(lists);
    }
    if operator == Operator::Mul
        && let Some(list) = repeated_list(machine, frame, [left?, right?], operands)
    {
        return Some(list);
    }
    for (value, other) in [(left, right), (right, left)] {
        let Some(value) = value else { continue };
        let value = machine.state.possible(value);
        if let Some(Val::Term(term)) = value.single() {
            implied::is_present(&mut machine.state, *term);
        }
        for alternative in value.alternatives() {
            let Some(key) = evident_key(machine, &alternative.val) else { continue };
            // `[key] * n` and `keys + [key]` are lists; `+key` is the key.
            if operator == Operator::Pos {
                return Some(value);
            }
            if other_is_list(&machine.state, other) {
                continue;
            }
            let place = machine.place(frame, op.span);
            let guard = alternative.guard;
            let text = operator_text(operator, texts);
            let is_comparison = matches!(operator, Operator::Lt | Operator::Le | Operator::Gt | Operator::Ge);
            let used_as = if is_comparison { BufferOp::Numeric } else { BufferOp::Arithmetic };
            // What is computed from a key is reported there, not again in all that follows.
            if !is_computed(&machine.state, key) {
                paths::under(machine, guard, |this| {
                    notes::buffer_use(this, frame, key, place, BufferUse::new(used_as, text, true));
                });
            }
            if is_comparison {
                let (a, b) = (machine.state.term_of(left?), machine.state.term_of(right?));
                return Some(Value::term(machine.state.terms.operate(operator, &[a, b])));
            }
            // On the other paths the operands are numbers.
            let (left, _) = (left?, value.single()?);
            return Some(arithmetic_result(&mut machine.state, key, operator, left, right));
        }
    }
    None
}

/// Whether a key is the result of arithmetic on another one.
fn is_computed(state: &State, key: Key) -> bool {
    matches!(state.terms.get(key.term), Term::Apply(name, _) if &**name == COMPUTED)
}

/// `key + 1` on raw words: the result is still usable as a key if it stays `uint32`.
fn arithmetic_result(state: &mut State, key: Key, operator: Operator, left: &Value, right: Option<&Value>) -> Value {
    if key.kind == KeyKind::Typed {
        return state.terms.opaque("<raises>", None);
    }
    let a = state.term_of(left);
    let mut parts = vec![a];
    if let Some(right) = right {
        parts.push(state.term_of(right));
    }
    let computed = state.terms.intern(Term::Operate(operator, parts.into()));
    let term = state.terms.intern(Term::Apply(COMPUTED.into(), Box::new([computed])));
    Value::of(Val::Key(Key { term, kind: KeyKind::Raw, derivation: 0 }))
}

/// `[key] * n * m`: a list that is repeated, of unknown length.
fn repeated_list<'p>(
    machine: &Machine<'p>,
    frame: &Frame<'p>,
    factors: [&Value; 2],
    operands: [Option<Temp>; 2],
) -> Option<Value> {
    factors.into_iter().zip(operands).find_map(|(factor, operand)| match factor.single()? {
        Val::Array(array) if are_lists(machine, frame, [operand, None]) => {
            let dims = array.dims.as_ref().map(|dims| vec![None; dims.len()].into());
            Some(Value::of(Val::Array(Arc::new(Array { dims, ..(**array).clone() }))))
        }
        _ => None,
    })
}

/// `list(split(a, n)) + list(split(b, m))`: a list of keys whose number is not known is known by its keys only.
fn joined_lists<'p>(
    machine: &Machine<'p>,
    frame: &Frame<'p>,
    [left, right]: [&Value; 2],
    operands: [Option<Temp>; 2],
) -> Option<Value> {
    let keys = |value: &Value| match value.single()? {
        Val::Array(array) if arrays::is_evident(machine, array) => Some(array.clone()),
        _ => None,
    };
    let (first, second) = (keys(left)?, keys(right)?);
    // Nothing is known of a sum of two lists with the same keys.
    if left == right || !are_lists(machine, frame, operands) {
        return None;
    }
    let rank = first.dims.as_ref().map(|dims| dims.len());
    let array = Array {
        kind: if first.kind == second.kind { first.kind } else { KeyKind::Unknown },
        derivation: 0,
        dims: rank.map(|rank| vec![None; rank].into()),
        elements: Elements::Joined([left.clone(), right.clone()].into()),
    };
    Some(Value::of(Val::Array(Arc::new(array))))
}

/// Whether operands are lists or tuples as written: calls of `list`, sums or slices of lists, or variables that are bound to nothing else.
fn are_lists(machine: &Machine<'_>, frame: &Frame<'_>, operands: [Option<Temp>; 2]) -> bool {
    let ops = &frame.code.ops;
    let mut work: Vec<Temp> = operands.into_iter().flatten().collect();
    let mut seen: Vec<Temp> = Vec::new();
    while let Some(temp) = work.pop() {
        if seen.contains(&temp) {
            continue;
        }
        seen.push(temp);
        if seen.len() > OPERANDS {
            return false;
        }
        match &ops[temp as usize].kind {
            OpKind::Call(callee, _) => {
                let Some(Val::Library(path)) = frame.value(*callee).single().cloned() else { return false };
                let effect = machine.program.models.callable(&path).map(|callable| &callable.effect);
                if !matches!(effect, Some(Effect::Builtin(BuiltinOp::List | BuiltinOp::Tuple))) {
                    return false;
                }
            }
            OpKind::Build(Collection::List | Collection::Tuple, _) => {}
            OpKind::Operate(Operator::Add, added, _) => work.extend(added.iter().flatten()),
            OpKind::Operate(Operator::Mul, [Some(left), Some(right)], _) => {
                let is_list =
                    matches!(ops[*right as usize].kind, OpKind::Build(Collection::List | Collection::Tuple, _));
                work.push(if is_list { *right } else { *left });
            }
            OpKind::Item(of, index) if matches!(ops[*index as usize].kind, OpKind::Build(Collection::Slice, _)) => {
                work.push(*of);
            }
            OpKind::Load(variable) => {
                let before = work.len();
                work.extend(ops.iter().filter_map(|op| match &op.kind {
                    OpKind::Store(stored, value) if stored == variable => Some(*value),
                    _ => None,
                }));
                if work.len() == before {
                    return false;
                }
            }
            _ => return false,
        }
    }
    true
}

/// Whether all alternatives of a value are terms.
pub fn are_terms(value: &Value) -> bool {
    value.alternatives().iter().all(|alternative| matches!(alternative.val, Val::Term(_)))
}

fn other_is_list(state: &State, other: Option<&Value>) -> bool {
    other.is_some_and(|value| {
        value.alternatives().iter().any(|alternative| match &alternative.val {
            Val::Tuple(_) => true,
            Val::Object(object) => matches!(state.store.objects[object.0 as usize].kind, ObjectKind::List { .. }),
            _ => false,
        })
    })
}

/// The Boolean value that is true on the paths of `holds`.
fn boolean(state: &mut State, holds: Guard, operator: Operator, of: &Value) -> Value {
    if holds.is_true() || holds.is_false() {
        let value = if operator == Operator::Not { holds.is_false() } else { holds.is_true() };
        return Value::term(state.terms.intern(Term::Bool(value)));
    }
    let term = if let Some(Val::Term(term)) = of.single() {
        *term
    } else {
        // The truth of several alternatives, as a choice between constants.
        let (yes, no) = (state.terms.intern(Term::Bool(true)), state.terms.intern(Term::Bool(false)));
        let others = state.paths.guards.not(holds);
        state.terms.intern(Term::Choice(Box::new([(holds, yes), (others, no)])))
    };
    Value::term(state.terms.operate(operator, &[term]))
}

/// `==`, `!=`, `is`, `is not`, alternative by alternative.
fn compare(machine: &mut Machine<'_>, operator: Operator, left: &Value, right: &Value) -> Value {
    let positive = if matches!(operator, Operator::Is | Operator::IsNot) { Operator::Is } else { Operator::Eq };
    let negated = matches!(operator, Operator::Ne | Operator::IsNot);
    let right_term = machine.state.term_of(right);
    let left = left.clone();
    let result = paths::on_alternatives(machine, &left, |this, val| {
        let value = if matches!(this.state.terms.get(right_term), Term::None) {
            is_none(this, val, positive)
        } else {
            let term = this.state.term_of_val(val);
            this.state.terms.operate(positive, &[term, right_term])
        };
        Value::term(value)
    });
    if !negated {
        return result;
    }
    paths::on_alternatives(machine, &result, |this, val| match val {
        Val::Term(term) => Value::term(this.state.terms.operate(Operator::Not, &[*term])),
        other => Value::of(other.clone()),
    })
}

fn is_none(machine: &mut Machine<'_>, val: &Val, operator: Operator) -> crate::analysis::domain::term::TermId {
    match val {
        Val::Term(term) if implied::was_present(&mut machine.state, *term) => {
            machine.state.terms.intern(Term::Bool(false))
        }
        Val::Term(term) => {
            let none = machine.state.terms.intern(Term::None);
            match machine.state.terms.get(*term) {
                Term::None => machine.state.terms.intern(Term::Bool(true)),
                Term::Seed(_) | Term::Child(..) | Term::Fold(..) | Term::Offset(..) | Term::Operate(..) => {
                    machine.state.terms.intern(Term::Bool(false))
                }
                Term::Apply(name, _) if name.starts_with('<') || is_of_arrays(name) => {
                    machine.state.terms.intern(Term::Bool(false))
                }
                // A row of `jnp.zeros((n, 2))`.
                Term::Item(of, ..) if is_array(machine, *of) => machine.state.terms.intern(Term::Bool(false)),
                Term::Symbol(_) if machine.recorder.log().given.contains(term) || is_drawn(machine, *term) => {
                    machine.state.terms.intern(Term::Bool(false))
                }
                _ => machine.state.terms.operate(operator, &[*term, none]),
            }
        }
        // A key that is known only from an annotation or a parameter may be `None`.
        Val::Key(key)
            if matches!(machine.state.terms.get(key.term), Term::Symbol(_) | Term::Attribute(..) | Term::Item(..)) =>
        {
            let none = machine.state.terms.intern(Term::None);
            machine.state.terms.operate(operator, &[key.term, none])
        }
        _ => machine.state.terms.intern(Term::Bool(false)),
    }
}

/// Whether a value is what a function of an array library returns.
fn is_array(machine: &Machine<'_>, term: crate::analysis::domain::term::TermId) -> bool {
    matches!(machine.state.terms.get(term), Term::Apply(name, _) if is_of_arrays(name))
}

/// Whether a symbol is the result of a sampler: numbers, never `None`.
fn is_drawn(machine: &Machine<'_>, term: crate::analysis::domain::term::TermId) -> bool {
    let Some(path) = machine.state.terms.symbol(term).and_then(|info| info.text.strip_suffix("(…)")) else {
        return false;
    };
    machine
        .program
        .models
        .callable(path)
        .is_some_and(|callable| callable.exact && matches!(callable.effect, crate::models::Effect::Sample { .. }))
}

/// The paths on which `x` is one of a few literals.
fn among<'p>(
    machine: &mut Machine<'p>,
    frame: &mut Frame<'p>,
    left: &Value,
    right: &Value,
) -> Option<crate::analysis::domain::term::TermId> {
    let items = machine.items_of(frame, right).filter(|items| items.len() <= 8)?;
    let needle = machine.state.term_of(left);
    let mut holds = Guard::FALSE;
    for item in items {
        let term = machine.state.term_of(&item.value);
        if !machine.state.terms.is_constant(term) {
            return None;
        }
        let equal = machine.state.terms.operate(Operator::Eq, &[needle, term]);
        let equal = machine.state.truth_of_term(equal);
        holds = machine.state.paths.guards.or(holds, equal);
    }
    let others = machine.state.paths.guards.not(holds);
    let (yes, no) = (machine.state.terms.intern(Term::Bool(true)), machine.state.terms.intern(Term::Bool(false)));
    Some(machine.state.terms.intern(Term::Choice(Box::new([(holds, yes), (others, no)]))))
}

/// `x in (…)` with literals on both sides.
fn membership<'p>(machine: &mut Machine<'p>, frame: &mut Frame<'p>, left: &Value, right: &Value) -> Option<bool> {
    let needle = machine.state.term_of(left);
    if !machine.state.terms.is_constant(needle) {
        return None;
    }
    if let Some(Val::Object(object)) = right.single()
        && let ObjectKind::Dict { entries, unknown: false } = &machine.state.store.objects[object.0 as usize].kind
    {
        let found = entries.iter().any(|entry| entry.key == needle && entry.guard.is_true());
        let maybe = entries.iter().any(|entry| entry.key == needle || !machine.state.terms.is_constant(entry.key));
        return if found {
            Some(true)
        } else if maybe {
            None
        } else {
            Some(false)
        };
    }
    let items = machine.items_of(frame, right)?;
    let terms: Vec<_> = items.iter().map(|item| machine.state.term_of(&item.value)).collect();
    if terms.contains(&needle) {
        return Some(true);
    }
    terms.iter().all(|term| machine.state.terms.is_constant(*term)).then_some(false)
}

/// `+` and `*` on lists and tuples, and `|` on dicts.
fn sequence_operation<'p>(
    machine: &mut Machine<'p>,
    frame: &mut Frame<'p>,
    operator: Operator,
    [left, right]: [&Value; 2],
    augmented: bool,
    op: &'p Op,
) -> Option<Value> {
    let is_sequence = |this: &Machine<'p>, value: &Value| match value.single() {
        Some(Val::Tuple(_)) => true,
        Some(Val::Object(object)) => {
            matches!(this.state.store.objects[object.0 as usize].kind, ObjectKind::List { .. })
        }
        _ => false,
    };
    match operator {
        Operator::Add if is_sequence(machine, left) => {
            let tuple = matches!(left.single(), Some(Val::Tuple(_)));
            let added = machine.items_of(frame, right);
            if augmented && let Some(Val::Object(object)) = left.single().cloned() {
                machine.state.extend_list(object, added);
                return Some(left.clone());
            }
            let mut items = machine.items_of(frame, left)?;
            let unknown = added.is_none();
            items.extend(added.unwrap_or_default());
            if tuple && !unknown && items.iter().all(|item| item.guard.is_true()) {
                return Some(Value::of(Val::Tuple(items.into_iter().map(|item| item.value).collect())));
            }
            let place = machine.place(frame, op.span);
            let kind = ObjectKind::List { items, unknown };
            Some(Value::of(Val::Object(machine.state.allocate(kind, "<list>", Some(place)))))
        }
        Operator::Mul if is_sequence(machine, left) || is_sequence(machine, right) => {
            let (sequence, times) = if is_sequence(machine, left) { (left, right) } else { (right, left) };
            let items = machine.items_of(frame, sequence)?;
            let term = machine.state.term_of(times);
            let place = machine.place(frame, op.span);
            match machine.state.terms.as_int(term) {
                Some(count) if (0..=16).contains(&count) => {
                    let repeated: Vec<Item> = (0..count).flat_map(|_| items.clone()).collect();
                    let kind = ObjectKind::List { items: repeated, unknown: false };
                    Some(Value::of(Val::Object(machine.state.allocate(kind, "<list>", Some(place)))))
                }
                _ => match items.as_slice() {
                    // `[key] * n`: copies of one key.
                    [only] => {
                        let array = Array {
                            kind: KeyKind::Unknown,
                            derivation: 0,
                            dims: Some(vec![Some(term)].into()),
                            elements: Elements::Copies(Arc::new(only.value.clone())),
                        };
                        let is_key = only.value.single().cloned().is_some_and(|val| {
                            let is_called_one =
                                matches!(&val, Val::Term(of) if notes::looks_like_a_key(machine, *of, None));
                            is_called_one || evident_key(machine, &val).is_some()
                        });
                        is_key.then(|| Value::of(Val::Array(Arc::new(array))))
                    }
                    _ => None,
                },
            }
        }
        Operator::Or => {
            let (mut entries, first) = held_keys::entries_of(machine, left)?;
            let (more, second) = held_keys::entries_of(machine, right)?;
            for entry in more {
                entries.retain(|old| old.key != entry.key);
                entries.push(entry);
            }
            let place = machine.place(frame, op.span);
            let kind = ObjectKind::Dict { entries, unknown: first || second };
            Some(Value::of(Val::Object(machine.state.allocate(kind, "<dict>", Some(place)))))
        }
        _ => None,
    }
}

/// A value that is known to be a key: by construction, by annotation, or because a sampler used it as one.
pub fn evident_key(machine: &mut Machine<'_>, val: &Val) -> Option<Key> {
    match val {
        Val::Key(key) => Some(*key),
        Val::Array(array) if arrays::is_evident(machine, array) => {
            let term = match &array.elements {
                Elements::View { family, .. } => *family,
                _ => machine.state.terms.fresh(Symbol::Opaque, "<array>", None),
            };
            Some(Key { term, kind: array.kind, derivation: array.derivation })
        }
        Val::Term(term) if machine.recorder.log().declared.contains(term) => {
            Some(Key { term: *term, kind: KeyKind::Unknown, derivation: 0 })
        }
        _ => None,
    }
}

/// Operators that compute with numbers.
fn is_arithmetic(operator: Operator) -> bool {
    matches!(
        operator,
        Operator::Add
            | Operator::Sub
            | Operator::Mul
            | Operator::MatMul
            | Operator::Div
            | Operator::FloorDiv
            | Operator::Mod
            | Operator::Pow
            | Operator::Shl
            | Operator::Shr
            | Operator::Or
            | Operator::Xor
            | Operator::And
            | Operator::Invert
            | Operator::Neg
            | Operator::Pos
            | Operator::Lt
            | Operator::Le
            | Operator::Gt
            | Operator::Ge
    )
}

fn operator_text(operator: Operator, texts: &[Option<Name>; 2]) -> String {
    let symbol = operator.sign();
    let part = |text: &Option<Name>| text.as_deref().unwrap_or("…").to_owned();
    match operator {
        Operator::Invert | Operator::Neg => format!("{symbol}{}", part(&texts[0])),
        _ => format!("{} {symbol} {}", part(&texts[0]), part(&texts[1])),
    }
}
