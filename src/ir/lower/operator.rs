//! Operators of the syntax tree as operators of the IR.
//!
//! **Invariant:** the mapping is one to one.

use crate::ir::{OpKind, Operator, Temp};
use crate::python::ast;

/// The operator of a binary expression.
pub fn binary(op: ast::Operator) -> Operator {
    match op {
        ast::Operator::Add => Operator::Add,
        ast::Operator::Sub => Operator::Sub,
        ast::Operator::Mult => Operator::Mul,
        ast::Operator::MatMult => Operator::MatMul,
        ast::Operator::Div => Operator::Div,
        ast::Operator::Mod => Operator::Mod,
        ast::Operator::Pow => Operator::Pow,
        ast::Operator::LShift => Operator::Shl,
        ast::Operator::RShift => Operator::Shr,
        ast::Operator::BitOr => Operator::Or,
        ast::Operator::BitXor => Operator::Xor,
        ast::Operator::BitAnd => Operator::And,
        ast::Operator::FloorDiv => Operator::FloorDiv,
    }
}

/// The operator of a comparison.
pub(super) fn comparison(op: ast::CmpOp) -> Operator {
    match op {
        ast::CmpOp::Eq => Operator::Eq,
        ast::CmpOp::NotEq => Operator::Ne,
        ast::CmpOp::Lt => Operator::Lt,
        ast::CmpOp::LtE => Operator::Le,
        ast::CmpOp::Gt => Operator::Gt,
        ast::CmpOp::GtE => Operator::Ge,
        ast::CmpOp::Is => Operator::Is,
        ast::CmpOp::IsNot => Operator::IsNot,
        ast::CmpOp::In => Operator::In,
        ast::CmpOp::NotIn => Operator::NotIn,
    }
}

/// The operator of a unary expression.
pub(super) fn unary(op: ast::UnaryOp) -> Operator {
    match op {
        ast::UnaryOp::Invert => Operator::Invert,
        ast::UnaryOp::Not => Operator::Not,
        ast::UnaryOp::UAdd => Operator::Pos,
        ast::UnaryOp::USub => Operator::Neg,
    }
}

/// An operation of two operands.
pub(super) fn operate(op: Operator, left: Temp, right: Temp) -> OpKind {
    OpKind::Operate(op, [Some(left), Some(right)], false)
}
