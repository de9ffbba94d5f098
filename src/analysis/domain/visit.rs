//! Visits to everything that a handle of an arena refers to.
//!
//! **Invariant:** parts are made before the whole, so the handle of the whole is the largest.

use std::cell::RefCell;

/// Scratch space that visits to one arena use in turn. A nested visit has its own.
#[derive(Clone, Debug, Default)]
pub(super) struct Visits(RefCell<Room>);

#[derive(Clone, Debug, Default)]
struct Room {
    /// The number of the last visit that reached each handle.
    met: Vec<u32>,
    visit: u32,
    work: Vec<u32>,
}

impl Visits {
    /// Calls `visit` once with `start` and with every handle that it pushes to the work list, until none is left or it returns false.
    pub(super) fn each(&self, start: u32, mut visit: impl FnMut(u32, &mut Vec<u32>) -> bool) {
        let mut room = self.0.take();
        if room.visit == u32::MAX {
            room.met.clear();
            room.visit = 0;
        }
        room.visit += 1;
        room.met.resize(room.met.len().max(start as usize + 1), 0);
        room.work.clear();
        room.work.push(start);
        while let Some(handle) = room.work.pop() {
            let is_met = std::mem::replace(&mut room.met[handle as usize], room.visit) == room.visit;
            if !is_met && !visit(handle, &mut room.work) {
                break;
            }
        }
        self.0.replace(room);
    }
}
