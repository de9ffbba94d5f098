//! Streams of keys that nobody asks for a key.
//!
//! Making a stream counts as consuming what it is made from, since nearly every stream is asked sooner or later. Of one that is handed
//! to functions in sight only, as the default of a parameter is, it can be seen that none of them asks it.
//!
//! **Invariant:** a stream counts as asked once anything but a function in sight has it in hand.

use crate::analysis::record::Recording;
use crate::judge::intent::default_key::is_default;

/// Whether an event is the making of a stream that nobody asks for a key. Where a bound ended the analysis, somebody later may, but
/// for the default of a parameter: that serves where a call leaves it out.
pub fn is_never_asked(run: &Recording<'_>, event: usize) -> bool {
    let Some(stream) = run.log.streams.made.get(&event) else { return false };
    let is_seen = |event: usize| run.exhausted.is_none() || is_default(run, &run.log.consumptions[event]);
    !run.log.streams.asked.contains(stream) && is_seen(event)
}
