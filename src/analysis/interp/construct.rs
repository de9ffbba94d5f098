//! Classes of the program: their statement, their attributes, their instances.
//!
//! **Invariant:** attributes are looked up along the bases in order, each class once; what a base outside of the program may hold
//! is unknown.

use std::collections::BTreeMap;
use std::rc::Rc;

use crate::analysis::domain::term::{Symbol, Term, TermId};
use crate::analysis::domain::value::{ClassHandle, ModuleIndex, ObjectId, Partial, Val, Value};
use crate::analysis::heap::{ClassInfo, Kind};
use crate::finding::Place;
use crate::ir::{Annotation, Argument, ClassId, Name, Op, ParameterKind, Temp};
use crate::models::Construct;

use super::bind::Args;
use super::{Frame, Machine};

impl<'p> Machine<'p> {
    /// Runs a class statement.
    pub(super) fn make_class(
        &mut self,
        frame: &mut Frame<'p>,
        class: ClassId,
        arguments: &'p [Argument],
        temp: Temp,
        op: &'p Op,
    ) -> Value {
        let mut bases = Vec::new();
        for argument in arguments {
            if let Argument::Positional(temp) = argument {
                bases.push(frame.temps[*temp as usize].clone());
            }
        }
        let info = self.module(frame.module).class(class);
        let (mut record, mut frozen, mut sequence) = (false, false, false);
        for base in &bases {
            match base.single() {
                Some(Val::Class(base)) => {
                    record |= self.store.classes[base.0 as usize].record;
                    frozen |= self.store.classes[base.0 as usize].frozen;
                    sequence |= self.store.classes[base.0 as usize].sequence;
                }
                Some(Val::Library(path)) => {
                    if let Some(Construct::Record { frozen: is_frozen, sequence: is_sequence }) =
                        self.program.models.class(path).map(|class| &class.construct)
                    {
                        record = true;
                        frozen |= *is_frozen;
                        sequence |= *is_sequence;
                    }
                }
                _ => {}
            }
        }
        let handle = ClassHandle(u32::try_from(self.store.classes.len()).unwrap_or(u32::MAX));
        self.store.classes.push(ClassInfo {
            module: frame.module,
            class,
            bases,
            attributes: BTreeMap::new(),
            record,
            frozen,
            sequence,
            identity: temp,
        });
        let code = self.module(frame.module).function(info.body);
        let environment = self.new_environment(Value::places(code.slots.len()), Some(frame.environment));
        let place = self.place(frame, op.span);
        self.activate(frame, frame.module, info.body, environment, Some(handle), place, true);
        let slots = self.store.environments[environment.0 as usize].slots.clone();
        let attributes = code
            .slots
            .iter()
            .take(code.named as usize)
            .cloned()
            .zip(slots)
            .filter(|(_, value)| !value.is_unbound())
            .collect();
        self.store.classes[handle.0 as usize].attributes = attributes;
        Value::of(Val::Class(handle))
    }

    /// The class and its bases within the program, in lookup order.
    pub(super) fn lineage(&self, class: ClassHandle) -> Vec<ClassHandle> {
        crate::analysis::record::lineage(&self.store.classes, class)
    }

    /// Whether all bases are part of the program (or `object`).
    pub(super) fn is_closed(&self, class: ClassHandle) -> bool {
        self.lineage(class).iter().all(|class| {
            self.store.classes[class.0 as usize].bases.iter().all(|base| match base.single() {
                Some(Val::Class(_)) => true,
                Some(Val::Library(path)) => {
                    &**path == "builtins.object"
                        || matches!(
                            self.program.models.class(path).map(|class| &class.construct),
                            Some(Construct::Record { .. })
                        )
                }
                _ => false,
            })
        })
    }

    /// What a class or its bases bind a name to.
    pub(super) fn class_attribute(&self, class: ClassHandle, name: &Name) -> Option<Value> {
        self.lineage(class)
            .into_iter()
            .find_map(|class| self.store.classes[class.0 as usize].attributes.get(name).cloned())
    }

    /// A method of an instance, bound.
    pub(super) fn instance_method(&mut self, val: &Val, name: &Name) -> Option<Value> {
        let Val::Object(id) = val else { return None };
        let class = self.store.objects[id.0 as usize].class?;
        let function = self.class_attribute(class, name)?;
        matches!(function.single(), Some(Val::Function(_) | Val::Wrapped(_)))
            .then(|| Value::of(Val::Method(std::rc::Rc::new((Value::of(val.clone()), function)))))
    }

    /// `Class(…)`
    pub(super) fn construct(&mut self, frame: &mut Frame<'p>, class: ClassHandle, args: Args, place: Place) -> Value {
        let info = &self.store.classes[class.0 as usize];
        let name = self.program.module(info.module).class(info.class).name.clone();
        let open = !self.is_closed(class);
        let symbol = self.terms.fresh(crate::analysis::domain::term::Symbol::Opaque, name.clone(), Some(place));
        let object = self.allocate_with(Kind::Instance, symbol, Some(class), open);
        let instance = Value::of(Val::Object(object));
        let init: Name = "__init__".into();
        if let Some(constructor) = self.instance_method(&Val::Object(object), &init) {
            self.call_value(frame, &constructor, args, Some(place));
            return instance;
        }
        let record = self.store.classes[class.0 as usize].record;
        if !record {
            // A constructor out of sight: the keys it is given may be consumed by it.
            if open {
                for arg in args.positional.iter().chain(args.keywords.iter().map(|(_, arg)| arg)) {
                    self.consume(frame, arg, crate::analysis::domain::kinds::Role::Unresolved, &name, place);
                }
            }
            return instance;
        }
        let fields = self.fields_of(class);
        let mut positional = args.positional.into_iter();
        for (field, _) in &fields {
            let given = match args.keywords.iter().find(|(name, _)| name == field) {
                Some((_, arg)) => Some(arg.value.clone()),
                None => positional.next().map(|arg| arg.value),
            };
            let value = given.or_else(|| self.class_attribute(class, field).filter(|default| !default.is_unbound()));
            if let Some(value) = value {
                let value = self.field_default(frame, &value, place);
                self.store.objects[object.0 as usize].attributes.insert(field.clone(), value);
            }
        }
        for (name, arg) in &args.keywords {
            self.store.objects[object.0 as usize].attributes.entry(name.clone()).or_insert_with(|| arg.value.clone());
        }
        for hook in ["__post_init__", "setup"] {
            let hook: Name = hook.into();
            if let Some(method) = self.instance_method(&Val::Object(object), &hook)
                && &*hook == "__post_init__"
            {
                self.call_value(frame, &method, Args::default(), Some(place));
            }
        }
        instance
    }

    /// `field(default_factory=f)` calls `f` for each instance.
    fn field_default(&mut self, frame: &mut Frame<'p>, value: &Value, place: Place) -> Value {
        if let Some(Val::Partial(partial)) = value.single()
            && let Some((mark, _)) = partial.keywords.first()
        {
            return match &**mark {
                "<factory>" => self.call_value(frame, &partial.function.clone(), Args::default(), Some(place)),
                "<default>" => partial.function.clone(),
                _ => value.clone(),
            };
        }
        value.clone()
    }

    /// The fields of a record, those of its bases first.
    pub(super) fn fields_of(&self, class: ClassHandle) -> Vec<(Name, crate::ir::Annotation)> {
        let mut fields: Vec<(Name, crate::ir::Annotation)> = Vec::new();
        for class in self.lineage(class).into_iter().rev() {
            let info = &self.store.classes[class.0 as usize];
            for field in &self.program.module(info.module).class(info.class).fields {
                if !fields.iter().any(|(name, _)| *name == field.name) {
                    fields.push((field.name.clone(), field.annotation.clone()));
                }
            }
        }
        fields
    }

    /// The attributes of an instance that are its items as well, in order.
    fn item_names(&self, id: ObjectId) -> Option<Rc<[Name]>> {
        let object = &self.store.objects[id.0 as usize];
        if !matches!(object.kind, Kind::Instance) || object.items.is_some() {
            return object.items.clone();
        }
        let class = object.class.filter(|class| self.store.classes[class.0 as usize].sequence)?;
        Some(self.fields_of(class).into_iter().map(|(name, _)| name).collect())
    }

    /// Whether an instance holds what its fields are given.
    pub(super) fn is_record(&self, id: ObjectId) -> bool {
        let object = &self.store.objects[id.0 as usize];
        object.items.is_some() || object.class.is_some_and(|class| self.store.classes[class.0 as usize].record)
    }

    /// The items of an instance that is a tuple of its fields.
    pub(super) fn items_of_record(&mut self, frame: &mut Frame<'p>, id: ObjectId) -> Option<Vec<Value>> {
        let names = self.item_names(id)?;
        let place = self.context.here;
        Some(names.iter().map(|name| self.attribute_of_val(frame, &Val::Object(id), name, place)).collect())
    }

    /// `namedtuple(name, fields)`: a function that makes records.
    pub(super) fn record_factory(&mut self, fields: Option<Value>, path: &Name, place: Place) -> Value {
        let fields = fields.unwrap_or_default();
        let names: Option<Vec<Name>> = match fields.single() {
            Some(Val::Term(term)) => match self.terms.get(*term) {
                Term::Text(text) => Some(text.replace(',', " ").split_whitespace().map(Name::from).collect()),
                _ => None,
            },
            Some(Val::Tuple(parts)) => parts.clone().iter().map(|part| self.text_of(part)).collect(),
            Some(Val::Object(id)) => match self.store.objects[id.0 as usize].kind.clone() {
                Kind::List { items, unknown: false } => items.iter().map(|item| self.text_of(&item.value)).collect(),
                _ => None,
            },
            _ => None,
        };
        let Some(names) = names else { return self.opaque("<class>", Some(place)) };
        let unbound = Value::unbound();
        let keywords = names.into_iter().map(|name| (name, unbound.clone())).collect();
        let function = Value::of(Val::Library(format!("{path}()").into()));
        Value::of(Val::Partial(Rc::new(Partial { function, positional: Vec::new(), keywords })))
    }

    fn text_of(&self, value: &Value) -> Option<Name> {
        match value.single() {
            Some(Val::Term(term)) => match self.terms.get(*term) {
                Term::Text(text) => Some(text.clone()),
                _ => None,
            },
            _ => None,
        }
    }

    /// A call of what `namedtuple` made.
    pub(super) fn make_record(&mut self, frame: &mut Frame<'p>, names: &[Name], args: &Args, place: Place) -> Value {
        let mut given: Vec<Value> = args.positional.iter().map(|arg| arg.value.clone()).collect();
        for spread in &args.spread {
            match self.items_of(frame, spread) {
                Some(items) => given.extend(items.into_iter().map(|item| item.value)),
                None => return self.opaque("<record>", Some(place)),
            }
        }
        if !args.mappings.is_empty() {
            return self.opaque("<record>", Some(place));
        }
        let id = self.allocate(Kind::Instance, "<record>", Some(place));
        let mut given = given.into_iter();
        for name in names {
            if let Some(value) = args.keyword(name).map(|arg| arg.value.clone()).or_else(|| given.next()) {
                self.store.objects[id.0 as usize].attributes.insert(name.clone(), value);
            }
        }
        self.store.objects[id.0 as usize].items = Some(names.into());
        Value::of(Val::Object(id))
    }

    /// What a class's field annotations say of an attribute.
    pub(super) fn field_evidence(&mut self, class: ClassHandle, name: &Name, term: TermId) -> Option<Value> {
        let (module, annotation) = self.field(class, name)?;
        let value = Value::term(term);
        Some(self.annotated_in(module, &value, annotation))
    }

    /// The annotation of a class's field, and the module that it is written in.
    pub(super) fn field(&self, class: ClassHandle, name: &Name) -> Option<(ModuleIndex, &'p Annotation)> {
        self.lineage(class).into_iter().find_map(|class| {
            let info = &self.store.classes[class.0 as usize];
            let class = self.program.module(info.module).class(info.class);
            class.fields.iter().find(|field| field.name == *name).map(|field| (info.module, &field.annotation))
        })
    }

    /// A copy of a record with some fields replaced: `dataclasses.replace`, `.replace(…)`, `._replace(…)`.
    pub(super) fn replaced(&mut self, value: &Value, args: &Args, place: Place) -> Value {
        let value = value.clone();
        self.on_alternatives(&value, |this, val| {
            let (symbol, class, mut attributes, items, open) = match val {
                Val::Object(id) if matches!(this.store.objects[id.0 as usize].kind, Kind::Instance) => {
                    let object = &this.store.objects[id.0 as usize];
                    (object.symbol, object.class, object.attributes.clone(), object.items.clone(), object.open)
                }
                Val::Term(term) => {
                    let attributes = this
                        .store
                        .shadows
                        .get(term)
                        .map(|id| this.store.objects[id.0 as usize].attributes.clone())
                        .unwrap_or_default();
                    (*term, None, attributes, None, true)
                }
                _ => return this.opaque("<replaced>", Some(place)),
            };
            if !args.mappings.is_empty() {
                return this.opaque("<replaced>", Some(place));
            }
            for (name, arg) in &args.keywords {
                attributes.insert(name.clone(), arg.value.clone());
            }
            let copy = this.allocate_with(Kind::Instance, symbol, class, open);
            let whole = this.terms.fresh(Symbol::Opaque, "<replaced>", Some(place));
            let object = &mut this.store.objects[copy.0 as usize];
            object.attributes = attributes;
            object.items = items;
            object.copied = (!args.keywords.is_empty()).then_some(whole);
            Value::of(Val::Object(copy))
        })
    }

    /// Whether a function is a method whose first parameter is its instance.
    pub(super) fn takes_self(code: &crate::ir::Function) -> bool {
        code.class.is_some()
            && matches!(
                code.parameters.first().map(|parameter| parameter.kind),
                Some(ParameterKind::Normal | ParameterKind::PositionalOnly)
            )
    }
}
