//! Chains: constructs whose parts nest in the IR though they are siblings in the syntax (`elif` after `elif`, `a or b or …`, case after
//! case).
//!
//! **Invariant:** however long a chain is, its blocks nest no deeper than [`LONGEST`], and together with the chains around it
//! no deeper than the syntax does, plus [`NESTING`].

use super::Lowering;
use crate::ir::Constant;
use crate::text::Span;

/// Most parts of a chain that nest.
const LONGEST: u32 = 64;

/// Depth of blocks from which the parts of chains no longer nest.
const NESTING: u32 = 200;

/// Lowers the part of a chain with this index; the function that is passed lowers the rest, in the block in which it is called.
pub(super) type Link<'l, 'a> = dyn Fn(&mut Lowering<'a>, usize, &dyn Fn(&mut Lowering<'a>)) + 'l;

impl<'a> Lowering<'a> {
    /// Whether blocks nest so deep that nothing but the nesting of the syntax may add to it.
    pub(super) fn is_deep(&self) -> bool {
        self.depth >= NESTING
    }

    /// Lowers a chain of `count` parts.
    ///
    /// A long chain is cut. A hidden slot records whether the part before the cut fell through; if it did, the rest runs after the cut.
    pub(super) fn chain(&mut self, span: Span, count: usize, link: &Link<'_, 'a>) {
        let length = NESTING.saturating_sub(self.depth).clamp(1, LONGEST) as usize;
        if count <= length {
            return self.links(0, count, link, None);
        }
        let more = self.fresh_slot("<more>");
        for from in (0..count).step_by(length) {
            let to = count.min(from + length);
            let part = |this: &mut Self| {
                let stops = this.constant(span, Constant::Bool(false));
                this.store_slot(span, more, stops);
                this.links(from, to, link, (to < count).then_some((span, more)));
            };
            if from == 0 {
                part(self);
            } else {
                let test = self.load_slot(span, more);
                let then = self.block(part);
                self.when(span, test, then);
            }
        }
    }

    fn links(&mut self, from: usize, to: usize, link: &Link<'_, 'a>, more: Option<(Span, u32)>) {
        if from < to {
            link(self, from, &|this| this.links(from + 1, to, link, more));
        } else if let Some((span, slot)) = more {
            let goes_on = self.constant(span, Constant::Bool(true));
            self.store_slot(span, slot, goes_on);
        }
    }
}
