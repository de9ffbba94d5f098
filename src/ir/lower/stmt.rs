//! Statements.
//!
//! **Invariant:** every statement leaves the block stack as it found it.

use super::{Lowering, binary};
use crate::ir::{Annotation, Block, Constant, Handler, OpKind, Temp};
use crate::python::ast::{self, ExceptHandler, Expr, Stmt};
use crate::python::span_of;

impl Lowering<'_> {
    /// Lowers one statement.
    pub(super) fn stmt(&mut self, stmt: &Stmt) {
        let span = span_of(stmt);
        match stmt {
            Stmt::FunctionDef(def) => self.function_def(def),
            Stmt::ClassDef(class) => self.class_def(class),
            Stmt::Return(ret) => {
                let value = ret.value.as_ref().map(|value| self.expr(value));
                self.emit(span, OpKind::Return(value));
            }
            Stmt::Delete(delete) => delete.targets.iter().for_each(|target| self.delete(target)),
            Stmt::Assign(assign) => {
                let value = self.expr(&assign.value);
                for target in &assign.targets {
                    self.assign(target, value);
                }
            }
            Stmt::AugAssign(assign) => self.aug_assign(assign),
            Stmt::AnnAssign(assign) => {
                if let Some(value) = &assign.value {
                    let value = self.expr(value);
                    let annotated = self.emit(span, OpKind::Annotate(value, Annotation::of(&assign.annotation)));
                    self.assign(&assign.target, annotated);
                }
            }
            Stmt::For(for_loop) => self.for_loop(for_loop),
            Stmt::While(while_loop) => {
                let mut test = None;
                let head = self.block(|this| test = Some(this.expr(&while_loop.test)));
                let body = self.block(|this| this.body(&while_loop.body));
                let orelse = self.block(|this| this.body(&while_loop.orelse));
                self.emit(span, OpKind::Loop { head, test, body, orelse });
            }
            Stmt::If(conditional) => {
                let test = self.expr(&conditional.test);
                let then = self.block(|this| this.body(&conditional.body));
                let orelse = self.block(|this| this.clauses(&conditional.elif_else_clauses));
                self.emit(span_of(&*conditional.test), OpKind::If { test, then, orelse });
            }
            Stmt::With(with) => self.with(&with.items, &with.body),
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
                    let message = assert.msg.as_ref().map(|message| this.expr(message));
                    this.emit(span, OpKind::Raise(message));
                });
                self.emit(span, OpKind::If { test, then: Vec::new(), orelse });
            }
            Stmt::Import(import) => {
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
            Stmt::ImportFrom(import) => {
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
            Stmt::Expr(expr) => {
                self.expr(&expr.value);
            }
            Stmt::Break(_) => {
                self.emit(span, OpKind::Break);
            }
            Stmt::Continue(_) => {
                self.emit(span, OpKind::Continue);
            }
            Stmt::TypeAlias(alias) => {
                let value = self.constant(span, Constant::Other);
                self.assign(&alias.name, value);
            }
            Stmt::Global(_) | Stmt::Nonlocal(_) | Stmt::Pass(_) => {}
            Stmt::IpyEscapeCommand(_) => {
                self.emit(span, OpKind::Unsupported(Vec::new()));
            }
        }
    }

    /// `x += y` reads the target's parts once, then the target, then the operand.
    fn aug_assign(&mut self, assign: &ast::StmtAugAssign) {
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
            _ => {
                self.emit(span, OpKind::Unsupported(Vec::new()));
            }
        }
    }

    fn for_loop(&mut self, for_loop: &ast::StmtFor) {
        let iterable = self.expr(&for_loop.iter);
        let iterator = self.emit(span_of(&*for_loop.iter), OpKind::Iterate(iterable));
        let target_span = span_of(&*for_loop.target);
        let mut element = 0;
        let head = self.block(|this| element = this.emit(target_span, OpKind::Next(iterator)));
        let body = self.block(|this| {
            this.assign(&for_loop.target, element);
            this.body(&for_loop.body);
        });
        let orelse = self.block(|this| this.body(&for_loop.orelse));
        let header = target_span.cover(span_of(&*for_loop.iter));
        self.emit(header, OpKind::Loop { head, test: None, body, orelse });
    }

    fn clauses(&mut self, clauses: &[ast::ElifElseClause]) {
        let Some((clause, rest)) = clauses.split_first() else { return };
        match &clause.test {
            Some(condition) => {
                let test = self.expr(condition);
                let then = self.block(|this| this.body(&clause.body));
                let orelse = self.block(|this| this.clauses(rest));
                self.emit(span_of(condition), OpKind::If { test, then, orelse });
            }
            None => self.body(&clause.body),
        }
    }

    /// The body of a `with` runs inside a `try` whose `finally` leaves the managers in reverse order.
    fn with(&mut self, items: &[ast::WithItem], body: &[Stmt]) {
        let Some((item, rest)) = items.split_first() else { return self.body(body) };
        let span = span_of(&item.context_expr);
        let manager = self.expr(&item.context_expr);
        let entered = self.emit(span, OpKind::Enter(manager));
        if let Some(target) = &item.optional_vars {
            self.assign(target, entered);
        }
        let inner = self.block(|this| this.with(rest, body));
        let finally = self.block(|this| {
            this.emit(span, OpKind::Leave(entered));
        });
        self.emit(span, OpKind::Try { body: inner, handlers: Vec::new(), orelse: Vec::new(), finally });
    }

    fn attempt(&mut self, attempt: &ast::StmtTry) {
        let body = self.block(|this| this.body(&attempt.body));
        let handlers = attempt.handlers.iter().map(|handler| self.handler(handler)).collect();
        let orelse: Block = self.block(|this| this.body(&attempt.orelse));
        let finally: Block = self.block(|this| this.body(&attempt.finalbody));
        self.emit(span_of(attempt), OpKind::Try { body, handlers, orelse, finally });
    }

    fn handler(&mut self, handler: &ExceptHandler) -> Handler {
        let ExceptHandler::ExceptHandler(handler) = handler;
        let name = handler.name.as_ref().map(|name| self.resolve(name));
        let mut types = None;
        let body = self.block(|this| {
            types = handler.type_.as_ref().map(|types| this.expr(types));
            this.body(&handler.body);
        });
        Handler { types, name, body }
    }
}
