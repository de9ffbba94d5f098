//! Statements.
//!
//! **Invariant:** every statement leaves the block stack as it found it.

use thin_vec::ThinVec;

use super::Lowering;
use super::operator::binary;
use crate::ir::{Block, Constant, FunctionKind, Handler, OpKind, Temp, Variable};
use crate::python::ast::{self, ExceptHandler, Expr, Stmt};
use crate::python::span_of;
use crate::text::Span;

/// Most managers of one `with` that are left again. Python refuses more than twenty nested blocks.
const MOST_MANAGERS: usize = 32;

impl<'a> Lowering<'a> {
    /// Lowers one statement.
    pub(super) fn stmt(&mut self, stmt: &'a Stmt) {
        let span = span_of(stmt);
        match stmt {
            Stmt::FunctionDef(def) => self.function_def(def),
            Stmt::ClassDef(class) => self.class_def(class),
            Stmt::Return(ret) => {
                let value = ret.value.as_ref().map(|value| self.expr(value));
                let within = !matches!(self.scope().kind, FunctionKind::Module | FunctionKind::ClassBody);
                self.emit(span, if within { OpKind::Return(value) } else { OpKind::Unsupported(Box::default()) });
            }
            Stmt::Delete(delete) => delete.targets.iter().for_each(|target| self.delete(target)),
            Stmt::Assign(assign) => {
                let value = self.expr(&assign.value);
                for target in &assign.targets {
                    self.assign(target, value);
                }
            }
            Stmt::AugAssign(assign) => self.aug_assign(assign),
            Stmt::AnnAssign(assign) => self.ann_assign(assign, span),
            Stmt::For(for_loop) => self.for_loop(for_loop),
            Stmt::While(while_loop) => {
                let mut test = None;
                let head = self.block(|this| test = Some(this.expr(&while_loop.test)));
                let body = self.loop_body(|this| this.body(&while_loop.body));
                let orelse = self.block(|this| this.body(&while_loop.orelse));
                self.emit(span, OpKind::Loop { head, test, body, orelse });
            }
            Stmt::If(conditional) => self.conditional(conditional),
            Stmt::With(with) => self.with(&with.items, &with.body, 0),
            Stmt::Match(matching) => self.matching(matching),
            Stmt::Raise(raise) => {
                let value = raise.exc.as_ref().map(|value| self.expr(value));
                if let Some(cause) = &raise.cause {
                    self.expr(cause);
                }
                self.emit(span, OpKind::Raise(value));
            }
            Stmt::Try(attempt) => self.attempt(attempt),
            Stmt::Assert(assert) => {
                let test = self.expr(&assert.test);
                let orelse = self.block(|this| {
                    let mut error = this.builtin(span, "AssertionError");
                    if let Some(message) = &assert.msg {
                        let message = this.expr(message);
                        error = this.emit(span, super::call(error, &[message]));
                    }
                    this.emit(span, OpKind::Raise(Some(error)));
                });
                self.emit(span, OpKind::If { test, then: Block::default(), orelse });
            }
            Stmt::Import(import) => self.import(import),
            Stmt::ImportFrom(import) => self.import_from(import),
            Stmt::Expr(expr) => {
                // A docstring does nothing.
                if !expr.value.is_literal_expr() {
                    self.expr(&expr.value);
                }
            }
            Stmt::Break(_) => self.jump(span, OpKind::Break),
            Stmt::Continue(_) => self.jump(span, OpKind::Continue),
            Stmt::TypeAlias(alias) => {
                let value = self.constant(span, Constant::Other);
                self.assign(&alias.name, value);
            }
            Stmt::Global(_) | Stmt::Nonlocal(_) | Stmt::Pass(_) => {}
            Stmt::IpyEscapeCommand(command) => {
                self.command(command.kind, &command.value, span);
            }
        }
    }

    /// `break` and `continue` have no meaning outside a loop.
    fn jump(&mut self, span: Span, jump: OpKind) {
        let kind = if self.scope().loops > 0 { jump } else { OpKind::Unsupported(Box::default()) };
        self.emit(span, kind);
    }

    /// `x: T = value`; without a value, the parts of a target are still evaluated.
    fn ann_assign(&mut self, assign: &'a ast::StmtAnnAssign, span: Span) {
        if let Some(value) = &assign.value {
            let value = self.expr(value);
            let annotation = self.annotation(&assign.annotation);
            self.emit(span, OpKind::Annotate(value, annotation));
            return self.assign(&assign.target, value);
        }
        match &*assign.target {
            Expr::Name(_) => {}
            Expr::Attribute(attribute) => {
                self.expr(&attribute.value);
            }
            Expr::Subscript(subscript) => {
                self.expr(&subscript.value);
                self.expr(&subscript.slice);
            }
            other => self.no_target(other),
        }
    }

    /// `x += y` reads the target's parts once, then the target, then the operand.
    fn aug_assign(&mut self, assign: &'a ast::StmtAugAssign) {
        let span = span_of(assign);
        let target_span = span_of(&*assign.target);
        let op = binary(assign.op);
        let augment = |this: &mut Self, current: Temp| {
            let operand = this.expr(&assign.value);
            this.emit(span, OpKind::Operate(op, [Some(current), Some(operand)], true))
        };
        match &*assign.target {
            Expr::Name(name) => {
                let variable = self.resolve(&name.id);
                let current = self.emit(target_span, OpKind::Load(variable.clone()));
                let value = augment(self, current);
                self.emit(span, OpKind::Store(variable, value));
            }
            Expr::Attribute(attribute) => {
                let object = self.expr(&attribute.value);
                let name = self.name(&attribute.attr);
                let current = self.emit(target_span, OpKind::Attribute(object, name.clone()));
                let value = augment(self, current);
                self.emit(span, OpKind::StoreAttribute(object, name, value));
            }
            Expr::Subscript(subscript) => {
                let object = self.expr(&subscript.value);
                let index = self.expr(&subscript.slice);
                let current = self.emit(target_span, OpKind::Item(object, index));
                let value = augment(self, current);
                self.emit(span, OpKind::StoreItem(object, index, value));
            }
            other => {
                self.expr(&assign.value);
                let value = self.unsupported(span);
                self.assign(other, value);
            }
        }
    }

    fn for_loop(&mut self, for_loop: &'a ast::StmtFor) {
        let iterable = self.expr(&for_loop.iter);
        let iterator = self.emit(span_of(&*for_loop.iter), OpKind::Iterate(iterable));
        // What an iterator runs for an element is called by the loop.
        let header = span_of(&*for_loop.target).cover(span_of(&*for_loop.iter));
        let mut element = 0;
        let head = self.block(|this| element = this.emit(header, OpKind::Next(iterator)));
        let body = self.loop_body(|this| {
            this.assign(&for_loop.target, element);
            this.body(&for_loop.body);
        });
        let orelse = self.block(|this| this.body(&for_loop.orelse));
        self.emit(header, OpKind::Loop { head, test: None, body, orelse });
    }

    fn conditional(&mut self, conditional: &'a ast::StmtIf) {
        let clauses = &conditional.elif_else_clauses;
        self.chain(span_of(conditional), clauses.len() + 1, &|this, index, more| {
            let (condition, body) = match index.checked_sub(1).map(|index| &clauses[index]) {
                None => (Some(&*conditional.test), &conditional.body),
                Some(clause) => (clause.test.as_ref(), &clause.body),
            };
            let Some(condition) = condition else { return this.body(body) };
            let test = this.expr(condition);
            let then = this.block(|this| this.body(body));
            let orelse = this.block(more);
            this.emit(span_of(condition), OpKind::If { test, then, orelse });
        });
    }

    /// The body of a `with` runs inside a `try` whose `finally` leaves the managers in reverse order. The target of a manager
    /// is written inside, too.
    fn with(&mut self, items: &'a [ast::WithItem], body: &'a [Stmt], entered: usize) {
        let Some((item, rest)) = items.split_first() else { return self.body(body) };
        if entered >= MOST_MANAGERS || (entered > 0 && self.is_deep()) {
            for item in items {
                self.expr(&item.context_expr);
                let value = self.unsupported(span_of(item));
                if let Some(target) = &item.optional_vars {
                    self.assign(target, value);
                }
            }
            return self.body(body);
        }
        let span = span_of(&item.context_expr);
        let manager = self.expr(&item.context_expr);
        let value = self.emit(span, OpKind::Enter(manager));
        let inner = self.block(|this| {
            if let Some(target) = &item.optional_vars {
                this.assign(target, value);
            }
            this.with(rest, body, entered + 1);
        });
        let finally = self.block(|this| {
            this.emit(span, OpKind::Leave(value));
        });
        self.emit(span, OpKind::Try { body: inner, handlers: ThinVec::new(), orelse: Block::default(), finally });
    }

    fn attempt(&mut self, attempt: &'a ast::StmtTry) {
        let body = self.block(|this| this.body(&attempt.body));
        let handlers = if attempt.is_star {
            ThinVec::from([self.group_handler(&attempt.handlers)])
        } else {
            attempt.handlers.iter().map(|handler| self.handler(handler)).collect()
        };
        let orelse: Block = self.block(|this| this.body(&attempt.orelse));
        let finally: Block = self.block(|this| this.body(&attempt.finalbody));
        self.emit(span_of(attempt), OpKind::Try { body, handlers, orelse, finally });
    }

    fn handler(&mut self, handler: &'a ExceptHandler) -> Handler {
        let ExceptHandler::ExceptHandler(handler) = handler;
        let name = handler.name.as_ref().map(|name| self.resolve(name));
        let mut types = None;
        let body = self.block(|this| {
            types = handler.type_.as_ref().map(|types| this.expr(types));
            this.body(&handler.body);
        });
        Handler { types, name, body }
    }

    /// `except*`: any number of the handlers may run, in order, and something may be left to be raised again. Which ones do
    /// is not modelled.
    fn group_handler(&mut self, handlers: &'a [ExceptHandler]) -> Handler {
        let body = self.block(|this| {
            for ExceptHandler::ExceptHandler(handler) in handlers {
                let span = span_of(handler);
                if let Some(types) = &handler.type_ {
                    this.expr(types);
                }
                let writes: Vec<Variable> = handler.name.iter().map(|name| this.resolve(name)).collect();
                let test = this.emit(span, OpKind::Unsupported(writes.into()));
                let then = this.block(|this| {
                    this.body(&handler.body);
                    // Python unbinds the name when the handler ends.
                    if let Some(name) = &handler.name {
                        let variable = this.resolve(name);
                        this.emit(span, OpKind::Delete(variable));
                    }
                });
                this.when(span, test, then);
            }
            if let Some(ExceptHandler::ExceptHandler(last)) = handlers.last() {
                let span = span_of(last);
                let test = this.unsupported(span);
                let then = this.block(|this| {
                    this.emit(span, OpKind::Raise(None));
                });
                this.when(span, test, then);
            }
        });
        Handler { types: None, name: None, body }
    }

    fn import(&mut self, import: &'a ast::StmtImport) {
        for alias in &import.names {
            let path = self.name(&alias.name);
            let place = span_of(alias);
            let value = self.emit(place, OpKind::Import { path, whole: alias.asname.is_some() });
            let bound = match &alias.asname {
                Some(name) => name.as_str(),
                None => alias.name.split('.').next().unwrap_or_default(),
            };
            self.bind(bound, value, place);
        }
    }

    fn import_from(&mut self, import: &'a ast::StmtImportFrom) {
        let module = self.name(import.module.as_ref().map_or("", |module| module.as_str()));
        for alias in &import.names {
            let place = span_of(alias);
            let name = self.name(&alias.name);
            let level = import.level;
            let value = self.emit(place, OpKind::ImportFrom { level, module: module.clone(), name });
            if alias.name.as_str() != "*" {
                self.bind(alias.asname.as_ref().unwrap_or(&alias.name), value, place);
            }
        }
    }
}
