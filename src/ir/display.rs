//! The IR as text, for developers and for snapshots.
//!
//! **Invariant:** the text shows every operation of every function once, in evaluation order.

use std::fmt::{self, Write};

use super::{Argument, Block, Constant, Element, Function, FunctionKind, Module, OpKind, Temp, Variable};

impl fmt::Display for Module {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (index, function) in self.functions.iter().enumerate() {
            if index > 0 {
                f.write_char('\n')?;
            }
            write!(f, "{index} {function}")?;
        }
        Ok(())
    }
}

impl fmt::Display for Function {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let kind = match self.kind {
            FunctionKind::Module => "module",
            FunctionKind::Def => "def",
            FunctionKind::Lambda => "lambda",
            FunctionKind::ClassBody => "class",
            FunctionKind::Generator => "generator",
            FunctionKind::Comprehension => "comprehension",
        };
        let parameters: Vec<&str> = self.parameters.iter().map(|p| &*p.name).collect();
        let marks = [(self.is_async, "async "), (self.is_generator, "yielding ")];
        let marks: String = marks.into_iter().filter_map(|(holds, mark)| holds.then_some(mark)).collect();
        writeln!(f, "{marks}{kind} {}({}):", self.qualified, parameters.join(", "))?;
        self.write_block(f, &self.body, 1)
    }
}

impl Function {
    fn write_block(&self, f: &mut fmt::Formatter<'_>, block: &Block, depth: usize) -> fmt::Result {
        for temp in block {
            self.write_op(f, *temp, depth)?;
        }
        Ok(())
    }

    fn write_nested(&self, f: &mut fmt::Formatter<'_>, title: &str, block: &Block, depth: usize) -> fmt::Result {
        if block.is_empty() {
            return Ok(());
        }
        writeln!(f, "{:1$}{title}:", "", depth * 2)?;
        self.write_block(f, block, depth + 1)
    }

    fn variable(&self, variable: &Variable) -> String {
        match variable {
            Variable::Local(slot) => {
                format!("{}#{slot}", self.slots.get(*slot as usize).map_or("?", |name| name))
            }
            Variable::Outer(depth, slot) => format!("outer({depth})#{slot}"),
            Variable::Global(name) => format!("global {name}"),
        }
    }

    fn write_op(&self, f: &mut fmt::Formatter<'_>, temp: Temp, depth: usize) -> fmt::Result {
        let Some(op) = self.ops.get(temp as usize) else { return Ok(()) };
        write!(f, "{:1$}%{temp} = ", "", depth * 2)?;
        match &op.kind {
            OpKind::Constant(constant) => writeln!(f, "{}", constant_text(constant)),
            OpKind::Load(variable) => writeln!(f, "load {}", self.variable(variable)),
            OpKind::Store(variable, value) => writeln!(f, "store {} %{value}", self.variable(variable)),
            OpKind::Delete(variable) => writeln!(f, "delete {}", self.variable(variable)),
            OpKind::Attribute(object, name) => writeln!(f, "%{object}.{name}"),
            OpKind::StoreAttribute(object, name, value) => writeln!(f, "%{object}.{name} = %{value}"),
            OpKind::DeleteAttribute(object, name) => writeln!(f, "delete %{object}.{name}"),
            OpKind::Item(object, index) => writeln!(f, "%{object}[%{index}]"),
            OpKind::StoreItem(object, index, value) => writeln!(f, "%{object}[%{index}] = %{value}"),
            OpKind::DeleteItem(object, index) => writeln!(f, "delete %{object}[%{index}]"),
            OpKind::Build(collection, elements) => {
                let elements: Vec<String> = elements.iter().map(element_text).collect();
                writeln!(f, "{collection:?} [{}]", elements.join(", "))
            }
            OpKind::Operate(operator, operands, augmented) => {
                let operands: Vec<String> = operands.iter().flatten().map(|t| format!("%{t}")).collect();
                let mark = if *augmented { " augmented" } else { "" };
                writeln!(f, "{operator:?} {}{mark}", operands.join(", "))
            }
            OpKind::Call(callee, arguments) => writeln!(f, "call %{callee}({})", arguments_text(arguments)),
            OpKind::Function(id, defaults) => {
                let defaults: Vec<String> = defaults.iter().map(|(index, t)| format!("{index}=%{t}")).collect();
                writeln!(f, "function {}({})", id.0, defaults.join(", "))
            }
            OpKind::Class(id, arguments) => writeln!(f, "class {}({})", id.0, arguments_text(arguments)),
            OpKind::Import { path, whole } => writeln!(f, "import {path}{}", if *whole { " whole" } else { "" }),
            OpKind::ImportFrom { level, module, name } => {
                writeln!(f, "from {}{module} import {name}", ".".repeat(*level as usize))
            }
            OpKind::Unpack { value, count, star } => match star {
                Some(star) => writeln!(f, "unpack %{value} into {count}, starred {star}"),
                None => writeln!(f, "unpack %{value} into {count}"),
            },
            OpKind::Project(unpacked, index) => writeln!(f, "part {index} of %{unpacked}"),
            OpKind::Iterate(value) => writeln!(f, "iterate %{value}"),
            OpKind::Next(iterator) => writeln!(f, "next %{iterator}"),
            OpKind::Append(container, element) => writeln!(f, "append %{container} {}", element_text(element)),
            OpKind::If { test, then, orelse } => {
                writeln!(f, "if %{test}")?;
                self.write_nested(f, "then", then, depth + 1)?;
                self.write_nested(f, "else", orelse, depth + 1)
            }
            OpKind::Loop { head, test, body, orelse } => {
                match test {
                    Some(test) => writeln!(f, "loop while %{test}")?,
                    None => writeln!(f, "loop")?,
                }
                self.write_nested(f, "head", head, depth + 1)?;
                self.write_nested(f, "body", body, depth + 1)?;
                self.write_nested(f, "else", orelse, depth + 1)
            }
            OpKind::Try { body, handlers, orelse, finally } => {
                writeln!(f, "try")?;
                self.write_nested(f, "body", body, depth + 1)?;
                for handler in handlers {
                    let name = handler.name.as_ref().map_or(String::new(), |v| format!(" as {}", self.variable(v)));
                    writeln!(f, "{:1$}except{2}{name}:", "", depth * 2 + 2, optional(handler.types))?;
                    self.write_block(f, &handler.body, depth + 2)?;
                }
                self.write_nested(f, "else", orelse, depth + 1)?;
                self.write_nested(f, "finally", finally, depth + 1)
            }
            OpKind::Enter(manager) => writeln!(f, "enter %{manager}"),
            OpKind::Leave(entered) => writeln!(f, "leave %{entered}"),
            OpKind::Return(value) => writeln!(f, "return{}", optional(*value)),
            OpKind::Raise(value) => writeln!(f, "raise{}", optional(*value)),
            OpKind::Break => writeln!(f, "break"),
            OpKind::Continue => writeln!(f, "continue"),
            OpKind::Yield { value, from } => {
                writeln!(f, "yield{}{}", if *from { " from" } else { "" }, optional(*value))
            }
            OpKind::Await(value) => writeln!(f, "await %{value}"),
            OpKind::Annotate(value, _) => writeln!(f, "annotate %{value}"),
            OpKind::Unsupported(writes) => {
                let writes: Vec<String> = writes.iter().map(|v| self.variable(v)).collect();
                writeln!(f, "unsupported [{}]", writes.join(", "))
            }
        }
    }
}

fn optional(value: Option<Temp>) -> String {
    value.map_or(String::new(), |temp| format!(" %{temp}"))
}

fn constant_text(constant: &Constant) -> String {
    match constant {
        Constant::None => "None".into(),
        Constant::Ellipsis => "...".into(),
        Constant::Bool(value) => if *value { "True" } else { "False" }.into(),
        Constant::Int(value) => value.to_string(),
        Constant::BigInt => "<big integer>".into(),
        Constant::Float(value) => format!("{value:?}"),
        Constant::Imaginary(value) => format!("{value:?}j"),
        Constant::Str(text) => format!("{text:?}"),
        Constant::Other => "<literal>".into(),
    }
}

fn element_text(element: &Element) -> String {
    match element {
        Element::Value(value) => format!("%{value}"),
        Element::Spread(value) => format!("*%{value}"),
        Element::Pair(key, value) => format!("%{key}: %{value}"),
        Element::SpreadMapping(value) => format!("**%{value}"),
    }
}

fn arguments_text(arguments: &[Argument]) -> String {
    let texts: Vec<String> = arguments
        .iter()
        .map(|argument| match argument {
            Argument::Positional(value) => format!("%{value}"),
            Argument::Spread(value) => format!("*%{value}"),
            Argument::Keyword(name, value) => format!("{name}=%{value}"),
            Argument::SpreadMapping(value) => format!("**%{value}"),
        })
        .collect();
    texts.join(", ")
}
