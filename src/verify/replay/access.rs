//! Names, modules, attributes and items.
//!
//! **Invariant:** a path that has a model belongs to the library, even if the program has a module of that name. A module's body runs when
//! one of its names is first requested, and its consumptions are not logged.

use std::rc::Rc;

use super::annotated;
use super::frame::{Eval, Frame, Halt, Signal};
use super::machine::Machine;
use super::step::put_pair;
use super::symbol::{Node, Symbols};
use super::value::{Args, Class, Family, Import, Instance, KeyArray, KeyKind, Value, any, get, set};
use crate::arrays::{self, Entry};
use crate::ir::{Module, Name};

pub(super) use crate::arrays::position;

/// Attributes of arrays that are values, not methods.
const ARRAY_VALUES: &[&str] =
    &["shape", "dtype", "ndim", "size", "T", "mT", "at", "sharding", "device", "nbytes", "itemsize"];

/// Most sums that the number of an element goes through.
const OFFSETS: u32 = 4;

/// Deepest nesting of modules that run because other modules request their names.
const IMPORTING: u32 = 32;

impl<'p> Machine<'p> {
    /// A global or built-in name.
    pub(super) fn global(&mut self, module: usize, name: &Name) -> Value<'p> {
        if let Some(value) = self.bound(module, name) {
            return value;
        }
        let path: Name = format!("builtins.{name}").into();
        if self.project.models.is_modelled(&path) || is_exception(name) || matches!(&**name, "int" | "float" | "object")
        {
            return Value::Library(path);
        }
        let module = self.symbols.int(i128::try_from(module).unwrap_or(0));
        let module = self.symbols.apply("module", &[module]);
        Value::Unknown(self.symbols.attribute(module, name))
    }

    pub(super) fn import(&mut self, from: usize, path: &Name, whole: bool) -> Value<'p> {
        let rooted: Name = self.project.models.rooted(path, self.project.roots).into();
        let target: Name = if whole { rooted } else { rooted.split('.').next().unwrap_or_default().into() };
        match self.project_module(from, &target) {
            Some(module) => Value::Module(module),
            None => Value::Library(target),
        }
    }

    /// The module of the program that an absolute path means, unless a model claims the path.
    fn project_module(&self, from: usize, path: &str) -> Option<usize> {
        let is_claimed = self.project.models.claims(path, self.project.roots);
        if is_claimed { None } else { self.module_of(from, 0, path) }
    }

    fn module_of(&self, from: usize, level: u32, path: &str) -> Option<usize> {
        let file = self.project.modules.get(from)?.file;
        let file = self.project.resolver.module(file, level, path)?;
        self.project.of_file(file)
    }

    fn import_from(&mut self, from: usize, level: u32, module: &Name, name: &Name) -> Value<'p> {
        let Some(file) = self.project.modules.get(from).map(|module| module.file) else { return Value::None };
        let absolute: Name =
            if level == 0 { module.clone() } else { self.project.resolver.absolute(file, level, module).into() };
        let rooted: Name = self.project.models.rooted(&absolute, self.project.roots).into();
        if &**name == "*" {
            self.import_all(from, level, module);
            return Value::None;
        }
        let joined: Name = format!("{rooted}.{name}").into();
        if self.project.models.claims_member(&joined, level > 0, self.project.roots) {
            return Value::Library(joined);
        }
        let found = self.module_of(from, level, module);
        if let Some(index) = found
            && let Some(member) = self.member(index, name)
        {
            return member;
        }
        let submodule: Name = if module.is_empty() { name.clone() } else { format!("{module}.{name}").into() };
        if let Some(index) = self.module_of(from, level, &submodule) {
            return Value::Module(index);
        }
        match found {
            Some(index) => self.module_member(index, name),
            None => Value::Library(joined),
        }
    }

    fn import_all(&mut self, from: usize, level: u32, module: &Name) {
        let Some(index) = self.module_of(from, level, module) else { return };
        self.ensure_module(index);
        let Some(globals) = self.globals.get(&index) else { return };
        let public: Vec<(Name, Value<'p>)> = globals
            .iter()
            .filter(|(name, _)| !name.starts_with('_'))
            .map(|(name, value)| (name.clone(), value.clone()))
            .collect();
        self.globals.entry(from).or_default().extend(public);
    }

    /// What a module of the program binds a name to.
    fn member(&mut self, index: usize, name: &Name) -> Option<Value<'p>> {
        self.ensure_module(index);
        self.bound(index, name)
    }

    /// What a module that runs or has run binds a name to by now.
    pub(super) fn bound(&mut self, module: usize, name: &Name) -> Option<Value<'p>> {
        let value = self.globals.get(&module)?.get(name)?.clone();
        let Value::Imported(import) = &value else { return Some(value) };
        // Modules that import a name from each other do not hold it before one of them binds it.
        self.globals.get_mut(&module)?.remove(name);
        if self.import_depth >= IMPORTING {
            return None;
        }
        self.import_depth += 1;
        let found = self.import_from(import.from, import.level, &import.module, &import.name);
        self.import_depth -= 1;
        self.globals.entry(module).or_default().insert(name.clone(), found.clone());
        Some(found)
    }

    /// The value of `from module import name`. At the top of an imported module, which logs nothing, it is resolved on demand: most imports
    /// of a package are never used.
    pub(super) fn import_at(&mut self, frame: &Frame<'p>, level: u32, module: &Name, name: &Name) -> Value<'p> {
        if self.suspended_logs > 0 && frame.id == Module::BODY && &**name != "*" {
            let (module, name) = (module.clone(), name.clone());
            return Value::Imported(Rc::new(Import { from: frame.module, level, module, name }));
        }
        self.import_from(frame.module, level, module, name)
    }

    fn module_member(&mut self, index: usize, name: &Name) -> Value<'p> {
        if let Some(value) = self.member(index, name) {
            return value;
        }
        if let Some(submodule) = self.module_of(index, 1, name).filter(|submodule| *submodule != index) {
            return Value::Module(submodule);
        }
        let module = self.symbols.int(i128::try_from(index).unwrap_or(0));
        let module = self.symbols.apply("module", &[module]);
        Value::Unknown(self.symbols.attribute(module, name))
    }

    /// Runs the body of a module that has not run.
    pub(super) fn ensure_module(&mut self, index: usize) {
        if !self.globals.contains_key(&index) && (self.import_depth < IMPORTING || self.project.is_prelude(index)) {
            self.nesting += 1;
            self.import_depth += 1;
            self.suspended_logs += 1;
            let ended = self.with_module_budget(|this| this.run_module(index));
            self.suspended_logs -= 1;
            self.import_depth -= 1;
            self.nesting -= 1;
            if ended.is_err() {
                self.is_bounded = true;
            }
        }
    }

    /// Runs the body of a module; what it raises ends it.
    pub(super) fn run_module(&mut self, index: usize) -> Eval<'p, ()> {
        self.globals.entry(index).or_default();
        let Some(mut frame) = self.frame(index, Module::BODY, Vec::new(), None) else { return Ok(()) };
        let (here, stack) = (self.here, std::mem::take(&mut self.stack));
        let ended = self.run(&mut frame);
        self.here = here;
        self.stack = stack;
        match ended {
            Ok(Halt::Return(_) | Halt::Yield(_)) | Err(Signal::Raise(_)) => Ok(()),
            Err(Signal::Stop) => Err(Signal::Stop),
        }
    }

    /// `object.name`
    pub(super) fn attribute(&mut self, object: &Value<'p>, name: &Name) -> Eval<'p, Value<'p>> {
        Ok(match object {
            Value::Library(path) => {
                let joined = format!("{path}.{name}");
                let rooted: Name = self.project.models.rooted(&joined, self.project.roots).into();
                match self.project_module(0, &rooted) {
                    Some(module) => Value::Module(module),
                    None => Value::Library(rooted),
                }
            }
            Value::Module(module) => self.module_member(*module, name),
            Value::Instance(instance) => return self.instance_attribute(instance, name),
            Value::Class(class) => match class.find(name) {
                Some(Value::Static(inner)) => (*inner).clone(),
                Some(Value::ClassMethod(inner)) => Value::Bound(Rc::new((object.clone(), (*inner).clone()))),
                Some(value) => value,
                None if self.is_maker(class, name) => object.clone(),
                None => {
                    let symbol = self.symbol_of(object);
                    Value::Unknown(self.symbols.attribute(symbol, name))
                }
            },
            Value::Super(parts) => {
                let (class, receiver) = &**parts;
                let lineage = match receiver {
                    Value::Instance(instance) => instance.class.lineage(),
                    Value::Class(class) => class.lineage(),
                    _ => class.lineage(),
                };
                let after = lineage.iter().position(|known| Rc::ptr_eq(known, class)).map_or(0, |at| at + 1);
                let found = lineage.iter().skip(after).find_map(|class| get(&class.attributes.borrow(), name));
                match found {
                    Some(value) => return self.bind(receiver, &value),
                    None => Value::Method(Rc::new((object.clone(), name.clone()))),
                }
            }
            Value::Unknown(symbol) => {
                if let Some(Value::Instance(instance)) = annotated::instance(self, *symbol) {
                    return self.instance_attribute(&instance, name);
                }
                let attribute = self.symbols.attribute(*symbol, name);
                self.written.get(&attribute).cloned().unwrap_or(Value::Unknown(attribute))
            }
            Value::Keys(_) | Value::Family(_) | Value::Stack(_) if ARRAY_VALUES.contains(&&**name) => {
                let symbol = self.symbol_of(object);
                Value::Unknown(self.symbols.attribute(symbol, name))
            }
            Value::Partial(partial) if &**name == "func" => partial.function.clone(),
            Value::Slice(parts) => match &**name {
                "start" => parts[0].clone(),
                "stop" => parts[1].clone(),
                "step" => parts[2].clone(),
                _ => self.unknown(name),
            },
            _ => Value::Method(Rc::new((object.clone(), name.clone()))),
        })
    }

    fn instance_attribute(&mut self, instance: &Rc<Instance<'p>>, name: &Name) -> Eval<'p, Value<'p>> {
        if let Some(value) = get(&instance.attributes.borrow(), name) {
            return Ok(value);
        }
        let receiver = Value::Instance(instance.clone());
        if let Some(value) = instance.class.find(name) {
            // The default of a field says nothing about a record from outside, if an annotation gives its type.
            if instance.class.is_record.get()
                && let Some(value) = self.annotated_field(instance, name)
                && annotated::holds_instances(self, &value)
            {
                return Ok(value);
            }
            let bound = self.bind(&receiver, &value)?;
            return Ok(bound);
        }
        Ok(match &**name {
            "__class__" => Value::Class(instance.class.clone()),
            "__dict__" => {
                self.havoc(&receiver);
                self.unknown("__dict__")
            }
            "_replace" | "replace" if instance.class.lineage().iter().any(|class| class.is_record.get()) => {
                Value::Method(Rc::new((receiver, name.clone())))
            }
            _ if self.is_library_method(instance, name) => Value::Method(Rc::new((receiver, name.clone()))),
            _ => {
                let attribute = self.symbols.attribute(instance.symbol, name);
                let written = self.written.get(&attribute).cloned();
                written.or_else(|| self.annotated_field(instance, name)).unwrap_or(Value::Unknown(attribute))
            }
        })
    }

    /// The unknown value of a field, with the evidence of its annotation.
    fn annotated_field(&mut self, instance: &Rc<Instance<'p>>, name: &Name) -> Option<Value<'p>> {
        let (module, field) = instance.class.field(name)?;
        let value = Value::Unknown(self.symbols.attribute(instance.symbol, name));
        self.annotated.note(&value, module, Some(&field.annotation));
        Some(value)
    }

    /// Whether a library models the method for a base class.
    fn is_library_method(&self, instance: &Instance<'p>, name: &Name) -> bool {
        let modelled = |base: &Name| {
            let path = format!("{base}.{name}");
            self.project.models.callable(&path).is_some_and(|callable| callable.exact)
        };
        instance.class.library_bases().iter().any(modelled)
            || instance.class.changed_by_copy(self.project.models, name).is_some()
    }

    /// What an attribute of a class is, looked up through an instance.
    fn bind(&mut self, receiver: &Value<'p>, value: &Value<'p>) -> Eval<'p, Value<'p>> {
        Ok(match value {
            Value::Function(_) | Value::Wrapped(_) => Value::Bound(Rc::new((receiver.clone(), value.clone()))),
            Value::Static(inner) => (**inner).clone(),
            Value::ClassMethod(inner) => {
                let class = match receiver {
                    Value::Instance(instance) => Value::Class(instance.class.clone()),
                    other => other.clone(),
                };
                Value::Bound(Rc::new((class, (**inner).clone())))
            }
            Value::Property(property) => {
                let place = self.here.0;
                self.call_value(&property.0.clone(), Args::of(vec![receiver.clone()]), place)?
            }
            other => other.clone(),
        })
    }

    pub(super) fn set_attribute(&mut self, object: &Value<'p>, name: &Name, value: Option<Value<'p>>) -> Eval<'p, ()> {
        match (object, value) {
            (Value::Instance(instance), Some(value))
                if let Some(Value::Property(property)) = instance.class.find(name)
                    && let Some(setter) = &property.1 =>
            {
                let place = self.here.0;
                self.call_value(&setter.clone(), Args::of(vec![object.clone(), value]), place)?;
            }
            (Value::Instance(instance), Some(value)) => set(&mut instance.attributes.borrow_mut(), name, value),
            (Value::Instance(instance), None) => instance.attributes.borrow_mut().retain(|(key, _)| key != name),
            (Value::Class(class), Some(value)) => set(&mut class.attributes.borrow_mut(), name, value),
            (Value::Module(module), Some(value)) => {
                self.globals.entry(*module).or_default().insert(name.clone(), value);
            }
            (Value::Unknown(symbol), value) => {
                if let Some(instance) = annotated::instance(self, *symbol) {
                    return self.set_attribute(&instance, name, value);
                }
                let attribute = self.symbols.attribute(*symbol, name);
                match value {
                    Some(value) => self.written.insert(attribute, value),
                    None => self.written.remove(&attribute),
                };
            }
            _ => {}
        }
        Ok(())
    }

    /// `object[index]`
    pub(super) fn item(&mut self, object: &Value<'p>, index: &Value<'p>) -> Eval<'p, Value<'p>> {
        let sequence = |values: &[Value<'p>]| -> Option<Value<'p>> {
            match index {
                Value::Slice(parts) => {
                    let picked: Vec<Value<'p>> = sliced(values.len(), parts)?
                        .into_iter()
                        .filter_map(|position| values.get(position).cloned())
                        .collect();
                    Some(Value::tuple(picked))
                }
                other => values.get(position(values.len(), other.int()?)?).cloned(),
            }
        };
        let found = match object {
            Value::Tuple(values) => sequence(values),
            Value::List(values) => {
                let found = sequence(&values.borrow());
                match (found, index) {
                    (Some(Value::Tuple(values)), Value::Slice(_)) => Some(Value::list(values.to_vec())),
                    (found, _) => found,
                }
            }
            Value::Dict(pairs) => {
                let pairs = pairs.borrow();
                let mut is_certain = true;
                let mut found = None;
                for (key, value) in pairs.iter() {
                    match key.equals(index, 8) {
                        Some(true) => {
                            found = Some(value.clone());
                            break;
                        }
                        None => is_certain = false,
                        Some(false) => {}
                    }
                }
                found.filter(|_| is_certain)
            }
            Value::Range(from, to, step) => index.int().and_then(|at| {
                let length = arrays::range_length(*from, *to, *step);
                let at = position(usize::try_from(length).ok()?, at)?;
                from.checked_add(i128::try_from(at).ok()?.checked_mul(*step)?).map(Value::Int)
            }),
            Value::Unknown(_) if matches!(index, Value::None) => {
                Some((self.library.whole_stack)(self, vec![object.clone()]))
            }
            Value::Keys(array) => Self::key_item(array, index),
            Value::Family(family) => family_item(&self.symbols, family, index),
            Value::Stack(stack) => match index.int() {
                Some(at) if at >= 0 => usize::try_from(at).ok().and_then(|at| stack.items.get(at).cloned()),
                Some(at) if stack.is_whole => {
                    position(stack.items.len(), at).and_then(|at| stack.items.get(at).cloned())
                }
                _ => None,
            },
            Value::Library(_) | Value::Class(_) => return Ok(object.clone()),
            Value::Instance(instance) if instance.class.find("__getitem__").is_some() => {
                let place = self.here.0;
                let method = self.attribute(object, &"__getitem__".into())?;
                return self.call_value(&method, Args::of(vec![index.clone()]), place);
            }
            _ => None,
        };
        if let Some(found) = found {
            return Ok(found);
        }
        let (base, at) = (self.symbol_of(object), self.symbol_of(index));
        if let (Some(Node::Apply(name, parts)), Value::Int(0..)) = (self.symbols.node(base), index)
            && parts.len() == 1
            && self.project.models.is_counting(name)
        {
            return Ok(index.clone());
        }
        let item = self.symbols.item(base, at);
        self.annotated.note_item(base, item);
        Ok(self.written.get(&item).cloned().unwrap_or(Value::Unknown(item)))
    }

    /// Whether a class method of that name, of a library's class among the bases, makes instances as the constructor does.
    fn is_maker(&self, class: &Rc<Class<'p>>, name: &Name) -> bool {
        class.library_bases().iter().any(|path| self.project.models.is_maker(path, name))
    }

    fn key_item(array: &Rc<KeyArray>, index: &Value<'p>) -> Option<Value<'p>> {
        let length = array.keys.shape().first().copied();
        match index {
            Value::Slice(parts) => super::keys::taken(array, &sliced(length?, parts)?),
            Value::Tuple(parts) => super::keys::selected(array, &entries(array, parts)?),
            Value::Ellipsis => Some(Value::Keys(array.clone())),
            Value::None => {
                let shape: Vec<usize> = std::iter::once(1).chain(array.keys.shape().iter().copied()).collect();
                Some(array.with(array.keys.clone().reshape(&shape).ok()?))
            }
            Value::Stack(stack) if stack.is_whole => {
                let length = length?;
                let rows: Option<Vec<usize>> = stack.items.iter().map(|item| position(length, item.int()?)).collect();
                super::keys::taken(array, &rows?)
            }
            other => match (length, other.int()?) {
                // An index beyond the end is the last, as JAX has it.
                (Some(length), at) => super::keys::element(array, arrays::nearest(length, at)?),
                // The words of a raw key.
                (None, at) if array.is_known && array.kind == KeyKind::Raw => {
                    let words = array.keys.words();
                    words.get(position(words.len(), at)?).map(|word| Value::Int(i128::from(*word)))
                }
                (None, _) => None,
            },
        }
    }

    pub(super) fn set_item(&mut self, object: &Value<'p>, index: Value<'p>, value: Option<Value<'p>>) -> Eval<'p, ()> {
        match (object, value) {
            (Value::List(values), Some(value)) => {
                let length = values.borrow().len();
                if let Some(at) = index.int().and_then(|at| position(length, at))
                    && let Some(place) = values.borrow_mut().get_mut(at)
                {
                    *place = value;
                }
            }
            (Value::List(values), None) => {
                let length = values.borrow().len();
                if let Some(at) = index.int().and_then(|at| position(length, at)) {
                    values.borrow_mut().remove(at);
                }
            }
            (Value::Dict(pairs), Some(value)) => put_pair(&mut pairs.borrow_mut(), index, value),
            (Value::Dict(pairs), None) => pairs.borrow_mut().retain(|(key, _)| key.equals(&index, 4) != Some(true)),
            (Value::Instance(instance), Some(value)) if instance.class.find("__setitem__").is_some() => {
                let place = self.here.0;
                let method = self.attribute(object, &"__setitem__".into())?;
                self.call_value(&method, Args::of(vec![index, value]), place)?;
            }
            (Value::Unknown(symbol), value) => {
                let at = self.symbol_of(&index);
                let is_constant = matches!(self.symbols.node(at), Some(Node::Int(_) | Node::Text(_)));
                if !is_constant {
                    self.symbols.invalidate(*symbol);
                }
                let item = self.symbols.item(*symbol, at);
                match value {
                    Some(value) => self.written.insert(item, value),
                    None => self.written.remove(&item),
                };
            }
            _ => {}
        }
        Ok(())
    }

    /// `isinstance(value, class)`; `None` where it depends on what is unknown.
    pub(super) fn is_a(value: &Value<'p>, class: &Value<'p>) -> Option<bool> {
        match (value, class) {
            (_, Value::Tuple(classes)) => any(classes.iter().map(|class| Self::is_a(value, class))),
            (Value::Unknown(_) | Value::Stack(_), _) => None,
            (Value::Instance(instance), Value::Class(class)) => Some(descends(&instance.class, class)),
            (Value::Class(error), Value::Class(class)) => Some(descends(error, class)),
            (Value::Instance(instance), Value::Library(path)) => {
                let bases = instance.class.library_bases();
                if bases.iter().any(|base| base == path) || &**path == "builtins.object" {
                    return Some(true);
                }
                if path.starts_with("builtins.") && bases.is_empty() { Some(false) } else { None }
            }
            (Value::Library(error), Value::Library(class)) if error.starts_with("builtins.") => {
                let general = ["builtins.Exception", "builtins.BaseException"];
                Some(error == class || general.contains(&&**class))
            }
            (_, Value::Library(path)) if !matches!(value, Value::None) => {
                let name = path.strip_prefix("builtins.")?;
                Some(match name {
                    "int" => matches!(value, Value::Int(_) | Value::Bool(_)),
                    "bool" => matches!(value, Value::Bool(_)),
                    "float" => matches!(value, Value::Float(_)),
                    "str" => matches!(value, Value::Text(_)),
                    "tuple" => matches!(value, Value::Tuple(_)),
                    "list" => matches!(value, Value::List(_)),
                    "dict" => matches!(value, Value::Dict(_)),
                    "set" => matches!(value, Value::Set(_)),
                    _ => return None,
                })
            }
            (Value::None, Value::Library(_)) | (_, Value::Class(_)) => Some(false),
            _ => None,
        }
    }
}

fn descends<'p>(class: &Rc<Class<'p>>, from: &Rc<Class<'p>>) -> bool {
    class.lineage().iter().any(|base| Rc::ptr_eq(base, from))
}

/// Whether a built-in name is an exception.
pub(super) fn is_exception(name: &str) -> bool {
    name.ends_with("Error")
        || matches!(name, "Exception" | "BaseException" | "StopIteration" | "KeyboardInterrupt" | "SystemExit")
}

fn family_item<'p>(symbols: &Symbols, family: &Rc<Family>, index: &Value<'p>) -> Option<Value<'p>> {
    let number = |index: &Value<'p>| match index {
        Value::Unknown(symbol) => symbols.known_number(*symbol, OFFSETS),
        index => index.int(),
    };
    match index {
        Value::Slice(parts) => match &**parts {
            [from, Value::None | Value::Int(0..) | Value::Unknown(_), Value::None] => {
                let from = if matches!(from, Value::None) { 0 } else { u32::try_from(from.int()?).ok()? };
                let from = family.from.checked_add(from)?;
                Some(Value::Family(Rc::new(Family { from, count: None, ..(**family).clone() })))
            }
            _ => None,
        },
        Value::Tuple(parts) => {
            let mut value = Value::Family(family.clone());
            for part in parts.iter() {
                let Value::Family(family) = &value else { return None };
                value = super::keys::child(family, u32::try_from(part.int()?).ok()?);
            }
            Some(value)
        }
        other => {
            let count = family.count.and_then(|count| symbols.known_number(count, OFFSETS));
            let index = match number(other)? {
                from_end @ ..0 => count?.checked_add(from_end)?,
                // An index beyond the end is the last, as JAX has it.
                index => count.filter(|count| *count > 0).map_or(index, |count| index.min(count - 1)),
            };
            Some(super::keys::child(family, u32::try_from(index).ok()?))
        }
    }
}

/// What a subscript of several parts takes of an array of keys. All words of raw keys may be taken, and no single one.
fn entries(array: &KeyArray, parts: &[Value<'_>]) -> Option<Vec<Entry>> {
    let shape = array.keys.shape();
    let takes = |part: &&Value<'_>| !matches!(part, Value::None | Value::Ellipsis);
    let taken = parts.iter().filter(takes).count();
    let has_words = array.kind == KeyKind::Raw && taken == shape.len() + 1;
    let words = parts.iter().rposition(|part| takes(&part)).filter(|_| has_words);
    let (mut entries, mut axis) = (Vec::new(), 0);
    for (at, part) in parts.iter().enumerate() {
        if words == Some(at) {
            matches!(part, Value::Slice(bounds) if bounds.iter().all(|bound| matches!(bound, Value::None)))
                .then_some(())?;
            continue;
        }
        if let Value::Ellipsis = part {
            let rest = shape.len().checked_sub(taken - usize::from(has_words))?;
            for length in shape.get(axis..axis + rest)? {
                entries.push(Entry::Take((0..*length).collect(), vec![*length]));
            }
            axis += rest;
            continue;
        }
        if let Value::None = part {
            entries.push(Entry::NewAxis);
            continue;
        }
        let length = *shape.get(axis)?;
        axis += 1;
        entries.push(match part {
            Value::Slice(bounds) => {
                let elements = sliced(length, bounds)?;
                let count = elements.len();
                Entry::Take(elements, vec![count])
            }
            other => Entry::Take(vec![position(length, other.int()?)?], Vec::new()),
        });
    }
    Some(entries)
}

/// The elements that a slice names.
fn sliced(length: usize, parts: &[Value<'_>; 3]) -> Option<Vec<usize>> {
    let bound = |part: &Value<'_>| if matches!(part, Value::None) { Some(None) } else { part.int().map(Some) };
    arrays::slice(length, bound(&parts[0])?, bound(&parts[1])?, bound(&parts[2])?)
}
