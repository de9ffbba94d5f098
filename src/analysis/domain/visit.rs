//! Visits to everything that a handle of an arena refers to.
//!
//! **Invariant:** parts are made before the whole, so the handle of the whole is the largest.

use std::cell::RefCell;

/// Scratch space that visits to one arena use in turn. A nested visit has its own.
#[derive(Clone, Debug, Default)]
pub(super) struct Visits(RefCell<VisitMarks>);

#[derive(Clone, Debug, Default)]
struct VisitMarks {
    /// The number of the last visit that reached each handle.
    reached: Vec<u32>,
    visit: u32,
    work: Vec<u32>,
}

impl Visits {
    /// Calls `visit` once with `start` and with every handle that it pushes to the work list, until none is left or it returns false.
    pub(super) fn each(&self, start: u32, mut visit: impl FnMut(u32, &mut Vec<u32>) -> bool) {
        let mut marks = self.0.take();
        if marks.visit == u32::MAX {
            marks.reached.clear();
            marks.visit = 0;
        }
        marks.visit += 1;
        marks.reached.resize(marks.reached.len().max(start as usize + 1), 0);
        marks.work.clear();
        marks.work.push(start);
        while let Some(handle) = marks.work.pop() {
            let is_reached = std::mem::replace(&mut marks.reached[handle as usize], marks.visit) == marks.visit;
            if !is_reached && !visit(handle, &mut marks.work) {
                break;
            }
        }
        self.0.replace(marks);
    }
}
