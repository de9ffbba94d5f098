//! Assignment targets.
//!
//! **Invariant:** the value is evaluated before the target's own parts, and targets are written from left to right.

use super::Lowering;
use crate::ir::{OpKind, Temp};
use crate::python::ast::Expr;
use crate::python::span_of;

impl Lowering<'_> {
    /// Writes `value` to `target`.
    pub(super) fn assign(&mut self, target: &Expr, value: Temp) {
        let span = span_of(target);
        match target {
            Expr::Name(name) => {
                let variable = self.resolve(&name.id);
                self.emit(span, OpKind::Store(variable, value));
            }
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
            _ => {
                self.emit(span, OpKind::Unsupported(Vec::new()));
            }
        }
    }

    fn unpack(&mut self, targets: &[Expr], value: Temp, whole: &Expr) {
        let span = span_of(whole);
        let star = targets.iter().position(|target| matches!(target, Expr::Starred(_)));
        let count = u32::try_from(targets.len()).unwrap_or(u32::MAX);
        let star = star.and_then(|index| u32::try_from(index).ok());
        let unpacked = self.emit(span, OpKind::Unpack { value, count, star });
        for (index, target) in (0u32..).zip(targets) {
            let element = self.emit(span_of(target), OpKind::Project(unpacked, index));
            self.assign(target, element);
        }
    }

    /// `del target`
    pub(super) fn delete(&mut self, target: &Expr) {
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
            _ => {
                self.emit(span, OpKind::Unsupported(Vec::new()));
            }
        }
    }
}
