//! How visible code changes the contents of a list, dict or set from outside.
//!
//! Such a container is a term, and `if xs`, `len(xs)` and `x in xs` test that term. After `xs.append(x)` they test a different one.
//!
//! **Invariant:** only the mutating methods of Python's own containers count, by name; anything else leaves the truth, length and members
//! of a value unchanged.

use crate::analysis::domain::term::{Symbol, Term, TermId, Terms};
use crate::analysis::domain::value::{ObjectId, Val, Value};
use crate::analysis::store::args::Args;
use crate::analysis::store::{State, paths};
use crate::ir::Operator;

/// Methods after which a container has another length, and by how much where that is known.
pub const RESIZING: [(&str, Option<i128>); 11] = [
    ("append", Some(1)),
    ("appendleft", Some(1)),
    ("clear", None),
    ("discard", None),
    ("extend", None),
    ("extendleft", None),
    ("insert", Some(1)),
    ("pop", None),
    ("popitem", None),
    ("popleft", None),
    ("remove", None),
];

/// Methods after which a container may have other members, while objects of many kinds have methods of these names.
pub const EXTENDING: [&str; 3] = ["add", "setdefault", "update"];

/// Methods that put their first argument in.
pub const ADDING: [&str; 4] = ["add", "append", "appendleft", "setdefault"];

/// Methods that take their first argument out.
pub const REMOVING: [&str; 2] = ["discard", "pop"];

/// Whether Python's containers change by a method of this name.
pub fn changes_a_container(name: &str) -> bool {
    let resizes = RESIZING.iter().any(|(method, _)| *method == name);
    resizes || EXTENDING.contains(&name)
}

/// The names under which a value from outside stores the term of its current contents.
pub const CONTENTS: &str = "<contents>";
pub const MEMBERS: &str = "<members>";

/// What has the members of the first part, and the second part.
pub const WITH: &str = "<with>";

/// What has the members of the first part, but not the second part.
pub const WITHOUT: &str = "<without>";

impl State {
    /// Records what a method did to its receiver.
    pub fn note_changed(&mut self, receiver: &Val, method: &str, args: &Args) {
        let Val::Term(term) = *receiver else { return };
        let resized = RESIZING.iter().find(|(name, _)| *name == method);
        if resized.is_none() && !EXTENDING.contains(&method) {
            return;
        }
        if let Some((_, more)) = resized {
            self.resize(term, *more);
        }
        let member = args.positional.first().map(|arg| self.term_of(&arg.value));
        let by = match member {
            Some(member) if ADDING.contains(&method) => Some((WITH, member)),
            Some(member) if REMOVING.contains(&method) => keyed(&self.terms, WITHOUT, member),
            _ => None,
        };
        self.change_members(term, by);
    }

    /// Records that an item was written: of a dict it may be a new one.
    pub fn note_item_written(&mut self, container: TermId, index: TermId) {
        self.change_members(container, keyed(&self.terms, WITH, index));
    }

    /// Records that an item was deleted.
    pub fn note_item_deleted(&mut self, container: TermId, index: TermId) {
        self.resize(container, None);
        self.change_members(container, keyed(&self.terms, WITHOUT, index));
    }

    fn resize(&mut self, term: TermId, more: Option<i128>) {
        let Some((shadow, old)) = self.part_of(term, CONTENTS) else { return };
        let new = self.terms.fresh(Symbol::Opaque, CONTENTS, None);
        if let (Some(more), Some(Val::Term(old))) = (more, old.single()) {
            let length = self.length_of_term(*old);
            let length = self.terms.offset(length, more);
            self.store.axis_lengths.insert(new, [Some(length)].into());
        }
        let value = self.written_within(shadow, &Value::term(new), &old);
        self.store.objects[shadow.0 as usize].attributes.insert(CONTENTS.into(), value);
    }

    fn change_members(&mut self, term: TermId, by: Option<(&'static str, TermId)>) {
        let Some((shadow, old)) = self.part_of(term, MEMBERS) else { return };
        let new = match (by, old.single()) {
            (Some((mark, member)), Some(Val::Term(old))) => {
                self.terms.intern(Term::Apply(mark.into(), Box::new([*old, member])))
            }
            _ => self.terms.fresh(Symbol::Opaque, MEMBERS, None),
        };
        let value = self.written_within(shadow, &Value::term(new), &old);
        self.store.objects[shadow.0 as usize].attributes.insert(MEMBERS.into(), value);
    }

    /// The term of the current contents of a value from outside, or of a part of it.
    fn part_of(&mut self, term: TermId, part: &str) -> Option<(ObjectId, Value)> {
        let is_from_outside = matches!(self.terms.get(term), Term::Symbol(_) | Term::Attribute(..) | Term::Item(..));
        is_from_outside.then(|| {
            let shadow = self.shadow_of(term);
            let old = self.store.objects[shadow.0 as usize].attributes.get(part).cloned();
            (shadow, old.unwrap_or_else(|| Value::term(term)))
        })
    }

    /// A value with what is in it now in place of things from outside that were changed by visible code.
    pub fn with_contents(&mut self, value: &Value) -> Value {
        self.with_part(value, CONTENTS)
    }

    /// The same, for membership tests.
    pub fn with_members(&mut self, value: &Value) -> Value {
        self.with_part(value, MEMBERS)
    }

    /// The same, for truth tests.
    pub fn with_truth(&mut self, value: &Value) -> Value {
        let now = self.with_contents(value);
        if now == *value {
            return now;
        }
        paths::on_alternatives(self, &now, |this, val| {
            let length = match val {
                Val::Term(term) => {
                    this.store.axis_lengths.get(term).and_then(|lengths| lengths.first().copied().flatten())
                }
                _ => None,
            };
            let Some(length) = length else { return Value::of(val.clone()) };
            let zero = this.terms.int(0);
            Value::term(this.terms.operate(Operator::Lt, &[zero, length]))
        })
    }

    fn with_part(&mut self, value: &Value, part: &str) -> Value {
        let changed = |this: &Self, val: &Val| {
            let Val::Term(term) = val else { return None };
            let shadow = this.store.shadows.get(term)?;
            this.store.objects[shadow.0 as usize].attributes.get(part).cloned()
        };
        if !value.alternatives().iter().any(|alternative| changed(self, &alternative.val).is_some()) {
            return value.clone();
        }
        paths::on_alternatives(self, value, |this, val| changed(this, val).unwrap_or_else(|| Value::of(val.clone())))
    }
}

/// The member that an index denotes: an index of a list denotes none.
fn keyed(terms: &Terms, mark: &'static str, index: TermId) -> Option<(&'static str, TermId)> {
    terms.as_exact_int(index).is_none().then_some((mark, index))
}

/// `needle in container`, for a container with what was put into it and taken out of it by visible code.
pub fn is_member(terms: &mut Terms, needle: TermId, container: TermId) -> TermId {
    let mut container = container;
    loop {
        let (is_in, old, member) = match terms.get(container) {
            Term::Apply(name, parts) if &**name == WITH => (true, parts[0], parts[1]),
            Term::Apply(name, parts) if &**name == WITHOUT => (false, parts[0], parts[1]),
            _ => break,
        };
        if member == needle {
            return terms.intern(Term::Bool(is_in));
        }
        if !terms.distinct(member, needle) {
            break;
        }
        container = old;
    }
    terms.operate(Operator::In, &[needle, container])
}

/// Whether a name is one under which a value from outside stores its current contents.
pub fn is_part(name: &str) -> bool {
    matches!(name, CONTENTS | MEMBERS)
}
