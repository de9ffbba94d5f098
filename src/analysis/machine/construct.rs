//! Classes of the program: their statement, their attributes, their instances.
//!
//! **Invariant:** attributes are looked up along the bases in order, each class once; the attributes of a base outside
//! of the program are unknown.

use std::collections::BTreeMap;
use std::sync::Arc;

use crate::analysis::domain::term::{Term, TermId};
use crate::analysis::domain::value::{ClassHandle, ModuleIndex, ObjectId, PartialKind, Val, Value};
use crate::analysis::machine::{Frame, Machine, annotate, call, prelude};
use crate::analysis::store::args::{Arg, Args};
use crate::analysis::store::classes;
use crate::analysis::store::heap::{ClassInfo, Inheritance, ObjectKind, Registration};
use crate::finding::Place;
use crate::ir::{Annotation, Argument, ClassId, Name, Op, ParameterKind, Temp};
use crate::models::{Class, Construct, Effect, Registers};

impl<'p> Machine<'p> {
    /// Runs a class statement.
    pub fn make_class(
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
                let base = frame.value(*temp);
                let defined = match base.single() {
                    Some(Val::Library(path)) => prelude::define_class(self, path),
                    _ => None,
                };
                bases.push(defined.map_or(base, |class| Value::of(Val::Class(class))));
            }
        }
        let info = self.module(frame.module).class(class);
        let (mut record, mut frozen, mut sequence) = (false, false, false);
        let pytree = self.inherited_registration(&bases, arguments, frame);
        for base in &bases {
            match base.single() {
                Some(Val::Class(base)) => {
                    record |= self.state.store.classes[base.0 as usize].record;
                    frozen |= self.state.store.classes[base.0 as usize].frozen;
                    sequence |= self.state.store.classes[base.0 as usize].sequence;
                }
                Some(Val::Library(path)) => {
                    if let Some(Construct::Record { frozen: is_frozen, sequence: is_sequence, fields }) =
                        self.program.models.class(path).map(|class| &class.construct)
                        && fields.is_empty()
                    {
                        record = true;
                        frozen |= *is_frozen;
                        sequence |= *is_sequence;
                    }
                }
                _ => {}
            }
        }
        let handle = ClassHandle(u32::try_from(self.state.store.classes.len()).unwrap_or(u32::MAX));
        let lineage = classes::lineage(&self.state.store.classes, handle, &bases);
        self.state.store.classes.push(ClassInfo {
            module: frame.module,
            class,
            inherits: self.inheritance(&bases),
            bases,
            lineage,
            attributes: BTreeMap::new(),
            record,
            frozen,
            sequence,
            pytree,
            identity: temp,
        });
        let code = self.module(frame.module).function(info.body);
        let environment =
            call::new_environment(&mut self.state, Value::places(code.slots.len()), Some(frame.environment));
        let place = self.place(frame, op.span);
        self.activate(frame, (frame.module, info.body), environment, Some(handle), place, true);
        let slots = self.state.store.environments[environment.0 as usize].slots.clone();
        let attributes = code
            .slots
            .iter()
            .take(code.named as usize)
            .cloned()
            .zip(slots)
            .filter(|(_, value)| !value.is_unbound())
            .collect();
        self.state.store.classes[handle.0 as usize].attributes = attributes;
        self.run_class_hooks(frame, handle, arguments, place);
        Value::of(Val::Class(handle))
    }

    /// Calls `__set_name__` of a class's descriptors and `__init_subclass__` of its bases.
    fn run_class_hooks(&mut self, frame: &mut Frame<'p>, class: ClassHandle, arguments: &[Argument], place: Place) {
        let made = Value::of(Val::Class(class));
        let attributes = self.state.store.classes[class.0 as usize].attributes.clone();
        for (name, value) in attributes {
            let Some(descriptor @ Val::Object(_)) = value.single() else { continue };
            if let Some(named) = self.state.instance_method(descriptor, &"__set_name__".into()) {
                let name = Value::term(self.state.terms.intern(Term::Text(name.clone())));
                self.call_value(frame, &named, Args::positional(vec![made.clone(), name]), Some(place));
            }
        }
        let inherited = self.state.lineage(class).get(1).copied();
        let hook = inherited.and_then(|base| self.state.class_attribute(base, &"__init_subclass__".into()));
        if let Some(hook) = hook.filter(|hook| matches!(hook.single(), Some(Val::Function(_) | Val::Partial(_)))) {
            let function = match hook.single() {
                Some(Val::Partial(partial)) => partial.function.clone(),
                _ => hook.clone(),
            };
            let mut args = Args::positional(vec![made]);
            args.keywords = arguments
                .iter()
                .filter_map(|argument| match argument {
                    Argument::Keyword(name, temp) if &**name != "metaclass" => {
                        Some((name.clone(), Arg { value: frame.value(*temp), written: None }))
                    }
                    _ => None,
                })
                .collect();
            self.call_value(frame, &function, args, Some(place));
        }
    }

    /// How the bases and the metaclass of a class register it. Unknown ones may register anything.
    fn inherited_registration(&self, bases: &[Value], arguments: &[Argument], frame: &Frame<'p>) -> Registration {
        let models = self.program.models;
        let of_path = |path: &Name| match models.array_object(path).and_then(|row| row.registers) {
            Some(Registers::Nothing) => Registration::None,
            None if models.class(path).is_some_and(|class| matches!(class.construct, Construct::Plain { .. })) => {
                Registration::None
            }
            _ => Registration::Family,
        };
        let of = |value: &Value| match value.single() {
            Some(Val::Class(base)) => {
                let info = &self.state.store.classes[base.0 as usize];
                let hooks = self.state.class_attribute(*base, &"__init_subclass__".into()).is_some();
                if hooks || info.pytree == Registration::Family { Registration::Family } else { Registration::None }
            }
            Some(Val::Library(path)) => of_path(path),
            // `Generic[T]`
            _ => Registration::Family,
        };
        let metaclass = arguments.iter().filter_map(|argument| match argument {
            Argument::Keyword(_, temp) => Some(frame.value(*temp)),
            _ => None,
        });
        bases.iter().cloned().chain(metaclass).map(|value| of(&value)).max().unwrap_or_default()
    }

    /// Whether all bases are part of the program (or `object`).
    pub fn is_closed(&self, class: ClassHandle) -> bool {
        self.state
            .lineage(class)
            .iter()
            .all(|class| self.state.store.classes[class.0 as usize].inherits == Inheritance::Known)
    }

    /// What is known of the bases of a class.
    fn inheritance(&self, bases: &[Value]) -> Inheritance {
        let models = self.program.models;
        let is_record = |class: &Class| matches!(class.construct, Construct::Record { .. });
        let of = |base: &Value| match base.single() {
            Some(Val::Class(_)) => Inheritance::Known,
            Some(Val::Library(path)) => {
                if &**path == "builtins.object" || models.class(path).is_some_and(is_record) {
                    Inheritance::Known
                } else if models.array_object(path).is_some_and(|row| row.registers == Some(Registers::Nothing)) {
                    Inheritance::Abstract
                } else {
                    Inheritance::Unknown
                }
            }
            _ => Inheritance::Unknown,
        };
        bases.iter().map(of).max().unwrap_or(Inheritance::Known)
    }

    /// Whether a class method that a class inherits from one of a library makes instances as the constructor does.
    pub fn is_maker(&self, class: ClassHandle, method: &Name) -> bool {
        self.state.lineage(class).iter().any(|class| {
            self.state.store.classes[class.0 as usize].bases.iter().any(|base| match base.single() {
                Some(Val::Library(path)) => self.program.models.is_maker(path, method),
                _ => false,
            })
        })
    }

    /// The class of a library whose constructor is that of these classes, which have none, if it consumes a key: `class Dense(eqx.nn.Linear)`.
    pub fn inherited_constructor(&self, lineage: &[ClassHandle]) -> Option<Value> {
        let mut bases = lineage.iter().flat_map(|class| &self.state.store.classes[class.0 as usize].bases);
        let consumes = |path: &Name| {
            let callable = self.program.models.callable(path);
            callable.is_some_and(|callable| callable.exact && matches!(callable.effect, Effect::Consume { .. }))
        };
        bases.find(|base| matches!(base.single(), Some(Val::Library(path)) if consumes(path))).cloned()
    }

    /// `Class(…)`
    pub fn construct(&mut self, frame: &mut Frame<'p>, class: ClassHandle, args: Args, place: Place) -> Value {
        let info = &self.state.store.classes[class.0 as usize];
        let name = self.program.module(info.module).class(info.class).name.clone();
        let open = !self.is_closed(class);
        let symbol = self.state.terms.fresh(crate::analysis::domain::term::Symbol::Opaque, name.clone(), Some(place));
        let object = self.state.allocate_with(ObjectKind::Instance, symbol, Some(class), open);
        let instance = Value::of(Val::Object(object));
        let init: Name = "__init__".into();
        if let Some(constructor) = self.state.instance_method(&Val::Object(object), &init) {
            self.call_value(frame, &constructor, args, Some(place));
            return instance;
        }
        let record = self.state.store.classes[class.0 as usize].record;
        if !record && let Some(constructor) = self.inherited_constructor(&self.state.lineage(class)) {
            self.call_value(frame, &constructor, args, Some(place));
            return instance;
        }
        if !record {
            // An unknown constructor: the keys passed to it may be consumed.
            if open {
                for arg in args.positional.iter().chain(args.keywords.iter().map(|(_, arg)| arg)) {
                    (self.library.consume)(
                        self,
                        frame,
                        arg,
                        crate::analysis::domain::kinds::Role::Unresolved,
                        &name,
                        place,
                    );
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
            let value =
                given.or_else(|| self.state.class_attribute(class, field).filter(|default| !default.is_unbound()));
            if let Some(value) = value {
                let value = self.field_default(frame, &value, place);
                self.state.store.objects[object.0 as usize].attributes.insert(field.clone(), value);
            }
        }
        for (name, arg) in &args.keywords {
            self.state.store.objects[object.0 as usize]
                .attributes
                .entry(name.clone())
                .or_insert_with(|| arg.value.clone());
        }
        for hook in ["__post_init__", "setup"] {
            let hook: Name = hook.into();
            if let Some(method) = self.state.instance_method(&Val::Object(object), &hook)
                && &*hook == "__post_init__"
            {
                self.call_value(frame, &method, Args::default(), Some(place));
            }
        }
        instance
    }

    /// `field(default_factory=f)` calls `f` for each instance.
    fn field_default(&mut self, frame: &mut Frame<'p>, value: &Value, place: Place) -> Value {
        let Some(Val::Partial(partial)) = value.single() else { return value.clone() };
        match partial.kind {
            PartialKind::FieldFactory => self.call_value(frame, &partial.function, Args::default(), Some(place)),
            PartialKind::FieldDefault => partial.function.clone(),
            _ => value.clone(),
        }
    }

    /// The fields of a record, those of its bases first.
    pub fn fields_of(&self, class: ClassHandle) -> Vec<(Name, crate::ir::Annotation)> {
        let mut fields: Vec<(Name, crate::ir::Annotation)> = Vec::new();
        for class in self.state.lineage(class).iter().rev() {
            let info = &self.state.store.classes[class.0 as usize];
            for field in &self.program.module(info.module).class(info.class).fields {
                if !fields.iter().any(|(name, _)| *name == field.name) {
                    fields.push((field.name.clone(), field.annotation.clone()));
                }
            }
        }
        fields
    }

    /// The attributes of an instance that are its items as well, in order.
    fn item_names(&self, id: ObjectId) -> Option<Arc<[Name]>> {
        let object = &self.state.store.objects[id.0 as usize];
        if !matches!(object.kind, ObjectKind::Instance) || object.items.is_some() {
            return object.items.clone();
        }
        let class = object.class.filter(|class| self.state.store.classes[class.0 as usize].sequence)?;
        Some(self.fields_of(class).into_iter().map(|(name, _)| name).collect())
    }

    /// The items of an instance that is a tuple of its fields.
    pub fn items_of_record(&mut self, frame: &mut Frame<'p>, id: ObjectId) -> Option<Vec<Value>> {
        let names = self.item_names(id)?;
        let place = self.context.here;
        Some(names.iter().map(|name| self.attribute_of_val(frame, &Val::Object(id), name, place)).collect())
    }

    /// A call of the result of `namedtuple`.
    pub fn make_record(&mut self, frame: &mut Frame<'p>, names: &[Name], args: &Args, place: Place) -> Value {
        let mut given: Vec<Value> = args.positional.iter().map(|arg| arg.value.clone()).collect();
        for spread in &args.spread {
            match self.items_of(frame, spread) {
                Some(items) => given.extend(items.into_iter().map(|item| item.value)),
                None => return self.state.terms.opaque("<record>", Some(place)),
            }
        }
        if !args.mappings.is_empty() {
            return self.state.terms.opaque("<record>", Some(place));
        }
        let id = self.state.allocate(ObjectKind::Instance, "<record>", Some(place));
        let mut given = given.into_iter();
        for name in names {
            if let Some(value) = args.keyword(name).map(|arg| arg.value.clone()).or_else(|| given.next()) {
                self.state.store.objects[id.0 as usize].attributes.insert(name.clone(), value);
            }
        }
        self.state.store.objects[id.0 as usize].items = Some(names.into());
        Value::of(Val::Object(id))
    }

    /// The evidence of a class's field annotations for an attribute.
    pub fn field_evidence(&mut self, class: ClassHandle, name: &Name, term: TermId) -> Option<Value> {
        let (module, annotation) = self.field(class, name)?;
        let value = Value::term(term);
        Some(annotate::annotated_in(self, module, &value, annotation))
    }

    /// The annotation of a class's field, and the module that it is written in.
    pub fn field(&self, class: ClassHandle, name: &Name) -> Option<(ModuleIndex, &'p Annotation)> {
        self.state.lineage(class).iter().find_map(|class| {
            let info = &self.state.store.classes[class.0 as usize];
            let class = self.program.module(info.module).class(info.class);
            class.fields.iter().find(|field| field.name == *name).map(|field| (info.module, &field.annotation))
        })
    }
}

/// Whether a function is a method whose first parameter is its instance.
pub fn takes_self(code: &crate::ir::Function) -> bool {
    code.class.is_some()
        && matches!(
            code.parameters.first().map(|parameter| parameter.kind),
            Some(ParameterKind::Normal | ParameterKind::PositionalOnly)
        )
}
