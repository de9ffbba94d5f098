//! Streams of keys that nobody asks for a key.
//!
//! Making a stream counts as consuming what it is made from, since nearly every stream is asked sooner or later. Of one that is handed
//! to functions in sight only, as the default of a parameter is, it can be seen that none of them asks it.
//!
//! **Invariant:** a stream counts as asked once anything but a function in sight has it in hand.

use crate::analysis::record::Recording;
use crate::finding::{Intent, IntentKind};
use crate::judge::intent::default_key::is_default;
use crate::judge::intent::intent;

/// A consumption is the making of a stream that nobody asks for a key. Where a bound ended the analysis, somebody later may, but
/// for the default of a parameter: that serves where a call leaves it out.
pub fn unused_stream(run: &Recording<'_>, consumption: usize) -> Option<Intent> {
    let stream = run.log.streams.made.get(&consumption)?;
    let made = &run.log.consumptions[consumption];
    let is_unused = !run.log.streams.asked.contains(stream) && (run.exhausted.is_none() || is_default(run, made));
    is_unused.then(|| intent(IntentKind::UnusedStream, made.place))
}
