//! Panics in keylint, contained to the file on which they happen.
//!
//! **Invariant:** a contained panic prints nothing and reaches its caller as a sentence; panics elsewhere are reported
//! as usual.

use std::cell::{Cell, RefCell};
use std::panic::{self, AssertUnwindSafe};
use std::sync::Once;

thread_local! {
    static IS_CONTAINED: Cell<bool> = const { Cell::new(false) };
    static MESSAGE: RefCell<Option<String>> = const { RefCell::new(None) };
}

/// Runs `work`; if it panics, the message and its place in keylint's sources.
pub fn contained<T>(work: impl FnOnce() -> T) -> Result<T, String> {
    static HOOK: Once = Once::new();
    HOOK.call_once(|| {
        let usual = panic::take_hook();
        panic::set_hook(Box::new(move |panic| {
            if !IS_CONTAINED.get() {
                return usual(panic);
            }
            let message = panic.payload_as_str().unwrap_or("a panic without message");
            let place = panic.location().map(|at| format!(" ({}:{})", at.file(), at.line())).unwrap_or_default();
            let message = format!("{}{place}", message.lines().next().unwrap_or_default());
            MESSAGE.with_borrow_mut(|kept| *kept = Some(message));
        }));
    });
    let before = IS_CONTAINED.replace(true);
    // State that `work` may have left inconsistent is never used again: its results are discarded with it.
    let result = panic::catch_unwind(AssertUnwindSafe(work));
    IS_CONTAINED.set(before);
    result.map_err(|payload| {
        // Dropping the payload could panic in turn; a string cannot.
        if !payload.is::<String>() && !payload.is::<&str>() {
            std::mem::forget(payload);
        }
        MESSAGE.with_borrow_mut(Option::take).unwrap_or_else(|| "a panic without message".to_owned())
    })
}
