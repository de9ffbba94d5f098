//! Operations of the reference interpreter other than control flow: calls, attributes, iteration.
//!
//! **Invariant:** arguments are bound as in Python; operations that no snippet needs raise a `TypeError`.

use std::cell::RefCell;
use std::rc::Rc;

use keylint::ir::{Argument, Collection, Element, FunctionId, Name, OpKind, ParameterKind};

use super::machine::{Frame, Machine, Stop};
use super::values::{Class, Closure, Instance, Ran, Value, append, get, set};

impl<'m> Machine<'m> {
    pub fn simple(&self, frame: &Frame<'m>, kind: &'m OpKind) -> Ran<'m, Value<'m>> {
        let at = |temp: &u32| frame.temps[*temp as usize].clone();
        let unless = |holds: bool, error: &str| if holds { Ok(Value::None) } else { Err(self.error(error)) };
        match kind {
            OpKind::Constant(constant) => Ok(Self::constant(constant)),
            OpKind::Load(variable) => self.load(frame, variable),
            OpKind::Store(variable, value) => {
                self.store(frame, variable, Some(at(value)));
                Ok(Value::None)
            }
            OpKind::Delete(variable) => unless(self.store(frame, variable, None), Self::unbound(frame, variable)),
            OpKind::Attribute(object, name) => self.attribute(&at(object), name),
            OpKind::StoreAttribute(object, name, value) => match at(object) {
                Value::Instance(instance) => {
                    set(&mut instance.attributes.borrow_mut(), name, at(value));
                    Ok(Value::None)
                }
                _ => Err(self.error("AttributeError")),
            },
            OpKind::DeleteAttribute(object, name) => {
                if let Value::Instance(instance) = at(object) {
                    instance.attributes.borrow_mut().retain(|(attribute, _)| attribute != name);
                }
                Ok(Value::None)
            }
            OpKind::Item(object, index) => at(object).item(&at(index)).ok_or_else(|| match at(object) {
                Value::Dict(_) if at(index).is_hashable() => self.error("KeyError"),
                Value::List(_) | Value::Tuple(_) => self.error("IndexError"),
                _ => self.error("TypeError"),
            }),
            OpKind::StoreItem(object, index, value) => unless(at(object).set_item(at(index), at(value)), "TypeError"),
            OpKind::DeleteItem(object, index) => unless(at(object).delete_item(&at(index)), "KeyError"),
            OpKind::Build(collection, elements) => self.build(frame, *collection, elements),
            OpKind::Operate(operator, [left, right], augmented) => {
                let (left, right) = (left.as_ref().map_or(Value::None, at), right.as_ref().map(at));
                Value::operate(*operator, &left, right.as_ref(), *augmented).ok_or_else(|| self.error("TypeError"))
            }
            OpKind::Call(callee, arguments) => {
                let (positional, keywords) = self.arguments(frame, arguments)?;
                if let (Value::Builtin(name), [receiver]) = (at(callee), positional.as_slice())
                    && &*name == "super"
                {
                    return self.superclass(frame, receiver);
                }
                self.call(&at(callee), positional, keywords)
            }
            OpKind::Function(id, defaults) => Ok(self.make_function(frame, *id, defaults)),
            OpKind::Class(id, arguments) => {
                let class = self.module.class(*id);
                let (bases, _) = self.arguments(frame, arguments)?;
                let bases = bases.into_iter().filter_map(|base| match base {
                    Value::Class(base) => Some(base),
                    _ => None,
                });
                self.make_class(frame, class.body, &class.name, bases.collect())
            }
            OpKind::Unpack { value, count, star } => self.unpack(&at(value), *count as usize, *star),
            OpKind::Project(unpacked, index) => {
                at(unpacked).item(&Value::Int((*index).into())).ok_or_else(|| self.error("TypeError"))
            }
            OpKind::Iterate(value) => self.iterate(&at(value)),
            OpKind::Append(container, element) => {
                let container = at(container);
                match element {
                    Element::Value(value) => unless(append(&container, at(value)), "TypeError"),
                    Element::Spread(values) => {
                        self.elements(&at(values))?.into_iter().for_each(|value| _ = append(&container, value));
                        Ok(Value::None)
                    }
                    Element::Pair(key, value) => unless(container.set_item(at(key), at(value)), "TypeError"),
                    Element::SpreadMapping(mapping) => {
                        self.pairs(&at(mapping))?.into_iter().for_each(|(k, v)| _ = container.set_item(k, v));
                        Ok(Value::None)
                    }
                }
            }
            OpKind::Enter(manager) => self.manage(&at(manager), "enter", Vec::new()),
            OpKind::Await(value) => self.finish(&at(value)),
            OpKind::Annotate(..) => Ok(Value::None),
            _ => Err(self.error("TypeError")),
        }
    }

    fn build(&self, frame: &Frame<'m>, collection: Collection, elements: &[Element]) -> Ran<'m, Value<'m>> {
        let at = |temp: &u32| frame.temps[*temp as usize].clone();
        let (mut values, mut pairs) = (Vec::new(), Vec::new());
        for element in elements {
            match element {
                Element::Value(value) => values.push(at(value)),
                Element::Spread(iterable) => values.extend(self.elements(&at(iterable))?),
                Element::Pair(key, value) => pairs.push((at(key), at(value))),
                Element::SpreadMapping(mapping) => pairs.extend(self.pairs(&at(mapping))?),
            }
        }
        let members = if collection == Collection::Set { values.as_slice() } else { &[] };
        if !members.iter().chain(pairs.iter().map(|(key, _)| key)).all(Value::is_hashable) {
            return Err(self.error("TypeError"));
        }
        Ok(Value::collection(collection, values, pairs))
    }

    fn pairs(&self, mapping: &Value<'m>) -> Ran<'m, Vec<(Value<'m>, Value<'m>)>> {
        let Value::Dict(pairs) = mapping else { return Err(self.error("TypeError")) };
        Ok(pairs.borrow().clone())
    }

    #[expect(clippy::type_complexity, reason = "arguments by position, and by keyword")]
    fn arguments(
        &self,
        frame: &Frame<'m>,
        arguments: &[Argument],
    ) -> Ran<'m, (Vec<Value<'m>>, Vec<(Name, Value<'m>)>)> {
        let at = |temp: &u32| frame.temps[*temp as usize].clone();
        let (mut positional, mut keywords) = (Vec::new(), Vec::new());
        for argument in arguments {
            match argument {
                Argument::Positional(value) => positional.push(at(value)),
                Argument::Spread(iterable) => positional.extend(self.elements(&at(iterable))?),
                Argument::Keyword(name, value) => keywords.push((name.clone(), at(value))),
                Argument::SpreadMapping(mapping) => {
                    keywords.extend(self.pairs(&at(mapping))?.into_iter().map(|(k, v)| (k.str().into(), v)));
                }
            }
        }
        Ok((positional, keywords))
    }

    pub fn call(
        &self,
        callee: &Value<'m>,
        mut positional: Vec<Value<'m>>,
        keywords: Vec<(Name, Value<'m>)>,
    ) -> Ran<'m, Value<'m>> {
        match callee {
            Value::Bound(bound) => {
                positional.insert(0, bound.0.clone());
                self.call(&bound.1, positional, keywords)
            }
            Value::Builtin(name) => self.call_builtin(name, &positional),
            Value::Class(class) => {
                if class.lineage().last().is_some_and(|root| &*root.name == "BaseException") {
                    return Ok(Self::exception(class, positional));
                }
                let instance = Instance { class: class.clone(), attributes: RefCell::default() };
                let instance = Value::Instance(Rc::new(instance));
                if let Some(init) = class.find("__init__") {
                    positional.insert(0, instance.clone());
                    self.call(&init, positional, keywords)?;
                }
                Ok(instance)
            }
            Value::Function(closure) => {
                let slots = self.bind(closure, positional, keywords)?;
                let index = self.module.functions.iter().position(|code| std::ptr::eq(code, closure.code)).unwrap();
                let id = FunctionId(u32::try_from(index).unwrap());
                let mut frame = self.frame(id, slots, closure.parent.clone(), closure.class.borrow().clone());
                if closure.code.is_generator || closure.code.is_async {
                    return Ok(Value::Suspended(Rc::new(RefCell::new(frame))));
                }
                match self.run(&mut frame) {
                    Stop::Return(value) => Ok(value),
                    Stop::Raise(error) => Err(error),
                    Stop::Yield(_) => unreachable!("the IR was validated"),
                }
            }
            _ => Err(self.error("TypeError")),
        }
    }

    fn bind(
        &self,
        closure: &Closure<'m>,
        positional: Vec<Value<'m>>,
        mut keywords: Vec<(Name, Value<'m>)>,
    ) -> Ran<'m, Vec<Option<Value<'m>>>> {
        let mut positional = positional.into_iter();
        let mut slots = Vec::new();
        for (index, parameter) in (0_u32..).zip(&closure.code.parameters) {
            let mut keyword = || {
                let found = keywords.iter().position(|(name, _)| *name == parameter.name)?;
                Some(keywords.remove(found).1)
            };
            let given = match parameter.kind {
                ParameterKind::PositionalOnly => positional.next(),
                ParameterKind::Normal => positional.next().or_else(keyword),
                ParameterKind::KeywordOnly => keyword(),
                ParameterKind::Variadic => Some(Value::Tuple(Rc::new(positional.by_ref().collect()))),
                ParameterKind::Keywords => {
                    let rest = std::mem::take(&mut keywords);
                    let rest = rest.into_iter().map(|(name, value)| (Value::Str(name), value)).collect();
                    Some(Value::collection(Collection::Dict, Vec::new(), rest))
                }
            };
            let default = || closure.defaults.iter().find(|(slot, _)| *slot == index).map(|(_, value)| value.clone());
            slots.push(Some(given.or_else(default).ok_or_else(|| self.error("TypeError"))?));
        }
        if positional.next().is_some() || !keywords.is_empty() {
            return Err(self.error("TypeError"));
        }
        Ok(slots)
    }

    fn attribute(&self, object: &Value<'m>, name: &Name) -> Ran<'m, Value<'m>> {
        let bound = |value: Value<'m>, receiver: &Value<'m>| match value {
            Value::Function(_) => Value::Bound(Rc::new((receiver.clone(), value))),
            other => other,
        };
        let found = match object {
            Value::Instance(instance) => get(&instance.attributes.borrow(), name)
                .or_else(|| instance.class.find(name).map(|value| bound(value, object))),
            Value::Class(class) => class.find(name),
            Value::Super(parts) => {
                let found = parts.0.iter().find_map(|class| get(&class.attributes.borrow(), name));
                found.map(|value| bound(value, &parts.1))
            }
            Value::List(_) if &**name == "append" => {
                Some(Value::Bound(Rc::new((object.clone(), Value::Builtin("list.append".into())))))
            }
            Value::Dict(_) if &**name == "items" => {
                Some(Value::Bound(Rc::new((object.clone(), Value::Builtin("dict.items".into())))))
            }
            _ => None,
        };
        found.ok_or_else(|| self.error("AttributeError"))
    }

    fn superclass(&self, frame: &Frame<'m>, receiver: &Value<'m>) -> Ran<'m, Value<'m>> {
        let (Some(class), Value::Instance(instance)) = (&frame.class, receiver) else {
            return Err(self.error("TypeError"));
        };
        let after = instance.class.lineage().into_iter().skip_while(|base| !Rc::ptr_eq(base, class)).skip(1);
        Ok(Value::Super(Rc::new((after.collect(), receiver.clone()))))
    }

    fn unpack(&self, value: &Value<'m>, count: usize, star: Option<u32>) -> Ran<'m, Value<'m>> {
        if value.int().is_some() {
            return Err(self.error("TypeError"));
        }
        let mut values = self.elements(value)?;
        match star {
            None if values.len() == count => {}
            Some(star) if values.len() + 1 >= count => {
                let star = star as usize;
                let after = values.len() + 1 - (count - star);
                let middle = values.drain(star..after).collect();
                values.insert(star, Value::list(middle));
            }
            _ => return Err(self.error("ValueError")),
        }
        Ok(Value::Tuple(Rc::new(values)))
    }

    /// `iter(value)`
    pub fn iterate(&self, value: &Value<'m>) -> Ran<'m, Value<'m>> {
        let values = match value {
            Value::Suspended(_) | Value::Elements(_) | Value::Cursor(_) => return Ok(value.clone()),
            Value::List(_) => return Ok(Value::Cursor(Rc::new((RefCell::new(0), value.clone())))),
            Value::Tuple(values) => values.to_vec(),
            Value::Set(values) => values.borrow().clone(),
            Value::Dict(pairs) => pairs.borrow().iter().map(|(key, _)| key.clone()).collect(),
            Value::Str(text) => text.chars().map(|c| Value::text(&c.to_string())).collect(),
            _ => return Err(self.error("TypeError")),
        };
        Ok(Value::Elements(Rc::new(RefCell::new(values.into_iter().rev().collect()))))
    }

    /// The next element of an iterator, or what it returned.
    pub fn next(&self, iterator: &Value<'m>) -> Ran<'m, Result<Value<'m>, Value<'m>>> {
        match iterator {
            Value::Elements(values) => Ok(values.borrow_mut().pop().ok_or(Value::None)),
            Value::Cursor(cursor) => {
                let place = cursor.0.replace_with(|place| *place + 1);
                Ok(cursor.1.item(&Value::Int(i128::try_from(place).unwrap())).ok_or(Value::None))
            }
            Value::Suspended(frame) => match self.run(&mut frame.borrow_mut()) {
                Stop::Yield(value) => Ok(Ok(value)),
                Stop::Return(value) => Ok(Err(value)),
                Stop::Raise(error) => Err(error),
            },
            _ => Err(self.error("TypeError")),
        }
    }

    fn elements(&self, iterable: &Value<'m>) -> Ran<'m, Vec<Value<'m>>> {
        let iterator = self.iterate(iterable)?;
        let mut values = Vec::new();
        while let Ok(value) = self.next(&iterator)? {
            values.push(value);
        }
        Ok(values)
    }

    /// Runs a coroutine to its end.
    fn finish(&self, value: &Value<'m>) -> Ran<'m, Value<'m>> {
        match value {
            Value::Suspended(frame) if frame.borrow().code.is_async => match self.run(&mut frame.borrow_mut()) {
                Stop::Return(value) => Ok(value),
                Stop::Raise(error) => Err(error),
                Stop::Yield(_) => Err(self.error("TypeError")),
            },
            _ => Err(self.error("TypeError")),
        }
    }

    /// Calls `__enter__` or `__exit__`, or awaits their asynchronous counterparts.
    pub fn manage(&self, manager: &Value<'m>, what: &str, given: Vec<Value<'m>>) -> Ran<'m, Value<'m>> {
        if let Ok(method) = self.attribute(manager, &format!("__{what}__").into()) {
            return self.call(&method, given, Vec::new());
        }
        let method = self.attribute(manager, &format!("__a{what}__").into())?;
        self.finish(&self.call(&method, given, Vec::new())?)
    }

    pub fn builtin(name: &str) -> Option<Value<'m>> {
        const NAMES: [&str; 23] = [
            "t",
            "run",
            "any",
            "bool",
            "dict",
            "format",
            "getattr",
            "hasattr",
            "int",
            "iter",
            "len",
            "list",
            "next",
            "range",
            "repr",
            "sorted",
            "str",
            "super",
            "tuple",
            "dict.items",
            "list.append",
            "ascii",
            "sum",
        ];
        NAMES.contains(&name).then(|| Value::Builtin(name.into()))
    }

    fn call_builtin(&self, name: &str, given: &[Value<'m>]) -> Ran<'m, Value<'m>> {
        match (name, given) {
            ("t", [n]) => {
                self.log.borrow_mut().push(n.repr());
                Ok(n.clone())
            }
            ("t", [n, value]) => {
                self.log.borrow_mut().push(n.repr());
                Ok(value.clone())
            }
            ("run", [coroutine]) => self.finish(coroutine),
            ("any", [iterable]) => {
                let iterator = self.iterate(iterable)?;
                while let Ok(value) = self.next(&iterator)? {
                    if value.truth() {
                        return Ok(Value::Bool(true));
                    }
                }
                Ok(Value::Bool(false))
            }
            ("format", [value, spec]) => Ok(Value::text(&value.formatted(&spec.str()))),
            ("repr" | "ascii", [value]) => Ok(Value::text(&value.repr())),
            ("str", [value]) => Ok(Value::text(&value.str())),
            ("hasattr", [object, name]) => Ok(Value::Bool(self.attribute(object, &name.str().into()).is_ok())),
            ("getattr", [object, name]) => self.attribute(object, &name.str().into()),
            ("iter", [iterable]) => self.iterate(iterable),
            ("len", [iterable]) => Ok(Value::Int(i128::try_from(self.elements(iterable)?.len()).unwrap())),
            ("list", [iterable]) => Ok(Value::list(self.elements(iterable)?)),
            ("tuple", [iterable]) => Ok(Value::Tuple(Rc::new(self.elements(iterable)?))),
            ("next", [iterator]) => self.next(iterator)?.map_err(|_| self.error("StopIteration")),
            ("next", [iterator, default]) => Ok(self.next(iterator)?.unwrap_or_else(|_| default.clone())),
            ("range", [stop]) => Ok(Value::Tuple(Rc::new((0..stop.int().unwrap_or(0)).map(Value::Int).collect()))),
            ("sorted", [iterable]) => {
                let mut values = self.elements(iterable)?;
                values.sort_by_key(Value::int);
                Ok(Value::list(values))
            }
            ("dict.items", [Value::Dict(pairs)]) => {
                let pairs = pairs.borrow();
                let pairs = pairs.iter().map(|(k, v)| Value::Tuple(Rc::new(vec![k.clone(), v.clone()])));
                Ok(Value::list(pairs.collect()))
            }
            ("list.append", [list, value]) => {
                append(list, value.clone());
                Ok(Value::None)
            }
            _ => Err(self.error("TypeError")),
        }
    }

    /// Puts the exceptions that snippets name among the globals.
    pub fn define_exceptions(&self) {
        const HIERARCHY: [(&str, &str); 12] = [
            ("BaseException", ""),
            ("Exception", "BaseException"),
            ("ValueError", "Exception"),
            ("TypeError", "Exception"),
            ("LookupError", "Exception"),
            ("KeyError", "LookupError"),
            ("IndexError", "LookupError"),
            ("AttributeError", "Exception"),
            ("AssertionError", "Exception"),
            ("RuntimeError", "Exception"),
            ("NameError", "Exception"),
            ("UnboundLocalError", "NameError"),
        ];
        for (name, base) in HIERARCHY.into_iter().chain([("StopIteration", "Exception")]) {
            let bases = match get(&self.globals.borrow(), base) {
                Some(Value::Class(base)) => vec![base],
                _ => Vec::new(),
            };
            let class = Class { name: name.into(), bases, attributes: RefCell::default() };
            set(&mut self.globals.borrow_mut(), &name.into(), Value::Class(Rc::new(class)));
        }
    }
}
