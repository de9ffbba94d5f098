//! Assignment targets.
//!
//! **Invariant:** the value is evaluated before the target's own parts, and targets are written from left to right.

use super::{Lowering, index};
use crate::ir::{OpKind, Temp};
use crate::python::ast::Expr;
use crate::python::span_of;

impl<'a> Lowering<'a> {
    /// Writes `value` to `target`.
    pub(super) fn assign(&mut self, target: &'a Expr, value: Temp) {
        let span = span_of(target);
        match target {
            Expr::Name(name) => self.bind(&name.id, value, span),
            Expr::Attribute(attribute) => {
                let object = self.expr(&attribute.value);
                let name = self.name(&attribute.attr);
                self.emit(span, OpKind::StoreAttribute(object, name, value));
            }
            Expr::Subscript(subscript) => {
                let object = self.expr(&subscript.value);
                let index = self.expr(&subscript.slice);
                self.emit(span, OpKind::StoreItem(object, index, value));
            }
            Expr::Tuple(tuple) => self.unpack(&tuple.elts, value, target),
            Expr::List(list) => self.unpack(&list.elts, value, target),
            Expr::Starred(starred) => self.assign(&starred.value, value),
            _ => self.no_target(target),
        }
    }

    fn unpack(&mut self, targets: &'a [Expr], value: Temp, whole: &Expr) {
        let span = span_of(whole);
        let star = targets.iter().position(Expr::is_starred_expr).map(index);
        let unpacked = self.emit(span, OpKind::Unpack { value, count: index(targets.len()), star });
        for (place, target) in (0u32..).zip(targets) {
            let element = self.emit(span_of(target), OpKind::Project(unpacked, place));
            self.assign(target, element);
        }
    }

    /// `del target`
    pub(super) fn delete(&mut self, target: &'a Expr) {
        let span = span_of(target);
        match target {
            Expr::Name(name) => {
                let variable = self.resolve(&name.id);
                self.emit(span, OpKind::Delete(variable));
            }
            Expr::Attribute(attribute) => {
                let object = self.expr(&attribute.value);
                let name = self.name(&attribute.attr);
                self.emit(span, OpKind::DeleteAttribute(object, name));
            }
            Expr::Subscript(subscript) => {
                let object = self.expr(&subscript.value);
                let index = self.expr(&subscript.slice);
                self.emit(span, OpKind::DeleteItem(object, index));
            }
            Expr::Tuple(tuple) => tuple.elts.iter().for_each(|element| self.delete(element)),
            Expr::List(list) => list.elts.iter().for_each(|element| self.delete(element)),
            _ => self.no_target(target),
        }
    }

    /// An expression in place of a target, in recovered source, is evaluated.
    pub(super) fn no_target(&mut self, target: &'a Expr) {
        self.expr(target);
        self.unsupported(span_of(target));
    }
}
