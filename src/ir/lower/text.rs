//! f-strings and templates.
//!
//! **Invariant:** the pieces are in source order, neighbouring literals in one; a value is converted and formatted by calls
//! before the next one is evaluated.

use super::{Lowering, build, call};
use crate::ir::{Collection, Constant, Name, OpKind, Temp};
use crate::python::ast::{self, ConversionFlag, FStringPart, InterpolatedStringElement};
use crate::python::span_of;
use crate::text::Span;

/// The pieces of a text that is being lowered.
struct Pieces {
    span: Span,
    values: Vec<Temp>,
    /// Literal text that is not a value yet.
    literal: String,
    /// Whether values are formatted.
    formats: bool,
}

impl<'a> Lowering<'a> {
    /// `f"…"`, with the literals and f-strings that it is concatenated with.
    pub(super) fn f_string(&mut self, text: &'a ast::ExprFString, span: Span) -> Temp {
        let mut pieces = Pieces { span, values: Vec::new(), literal: String::new(), formats: true };
        for part in &text.value {
            match part {
                FStringPart::Literal(literal) => pieces.literal.push_str(literal),
                FStringPart::FString(part) => self.pieces(&part.elements, &mut pieces),
            }
        }
        self.joined(pieces)
    }

    /// `t"…"`
    pub(super) fn template(&mut self, text: &'a ast::ExprTString, span: Span) -> Temp {
        let mut pieces = Pieces { span, values: Vec::new(), literal: String::new(), formats: false };
        for part in &text.value {
            self.pieces(&part.elements, &mut pieces);
        }
        self.flush(&mut pieces);
        self.emit(span, build(Collection::Text, &pieces.values))
    }

    fn pieces(&mut self, elements: &'a [InterpolatedStringElement], pieces: &mut Pieces) {
        for element in elements {
            match element {
                InterpolatedStringElement::Literal(literal) => pieces.literal.push_str(literal),
                InterpolatedStringElement::Interpolation(interpolation) => self.interpolation(interpolation, pieces),
            }
        }
    }

    fn interpolation(&mut self, interpolation: &'a ast::InterpolatedElement, pieces: &mut Pieces) {
        let span = span_of(interpolation);
        if let Some(debug) = &interpolation.debug_text {
            pieces.literal.push_str(debug.as_str());
        }
        self.flush(pieces);
        let mut value = self.expr(&interpolation.expression);
        let conversion = match interpolation.conversion {
            ConversionFlag::Str => Some("str"),
            ConversionFlag::Ascii => Some("ascii"),
            ConversionFlag::Repr => Some("repr"),
            ConversionFlag::None => {
                (interpolation.debug_text.is_some() && interpolation.format_spec.is_none()).then_some("repr")
            }
        };
        if let Some(conversion) = conversion.filter(|_| pieces.formats) {
            let callee = self.builtin(span, conversion);
            value = self.emit(span, call(callee, &[value]));
        }
        if let Some(spec) = &interpolation.format_spec {
            let mut inner =
                Pieces { span: span_of(&**spec), values: Vec::new(), literal: String::new(), formats: true };
            self.pieces(&spec.elements, &mut inner);
            let spec = self.joined(inner);
            if pieces.formats {
                let callee = self.builtin(span, "format");
                value = self.emit(span, call(callee, &[value, spec]));
            }
        }
        pieces.values.push(value);
    }

    /// Makes the literal text so far a value.
    fn flush(&mut self, pieces: &mut Pieces) {
        if !pieces.literal.is_empty() {
            let literal = Name::from(pieces.literal.as_str());
            pieces.literal.clear();
            let value = self.constant(pieces.span, Constant::Str(literal));
            pieces.values.push(value);
        }
    }

    /// The text of all pieces: a constant if none is a value.
    fn joined(&mut self, mut pieces: Pieces) -> Temp {
        if pieces.values.is_empty() {
            return self.constant(pieces.span, Constant::Str(Name::from(pieces.literal)));
        }
        self.flush(&mut pieces);
        self.emit(
            pieces.span,
            OpKind::Build(Collection::Text, pieces.values.into_iter().map(super::Element::Value).collect()),
        )
    }
}
