//! Keys that each read makes anew: `keys["w"]` and `stream.next`, where the program's own code computes them.
//!
//! A function that is analysed on its own reads two equal keys from a parameter of unknown class. If a caller passes an
//! object that computes what is read, `__getitem__` or a property may advance a stream.
//!
//! **Invariant:** a reuse is dropped only if callers were analysed with such an object and none of them shows the reuse.

use std::collections::{BTreeMap, BTreeSet};

use crate::finding::Place;
use crate::judge::facts::{Facts, KeyReuse, ReuseKind, Use};
use crate::text::Span;

/// Drops the reuses of keys that two reads compute, unless a caller shows them.
pub(super) fn drop_computed(modules: &mut [Facts]) {
    let computed = modules.iter_mut().flat_map(|facts| std::mem::take(&mut facts.computed_reads));
    let computed: BTreeMap<Place, Option<Box<str>>> = computed.collect();
    if computed.is_empty() {
        return;
    }
    let shown: BTreeSet<Place> =
        modules.iter().flat_map(|facts| &facts.indirect).map(|reuse| reuse.second.leaf).collect();
    for facts in modules {
        facts.reuses.retain(|reuse| shown.contains(&reuse.second.leaf) || !is_computed(reuse, &computed));
    }
}

/// Whether the two keys are the results of two reads, or of one read in two iterations.
fn is_computed(reuse: &KeyReuse, computed: &BTreeMap<Place, Option<Box<str>>>) -> bool {
    let key = reuse.derivation.to_string().replace('\'', "\"");
    let read = |used: &Use| read_of(used, &key, computed);
    let (Some(first), Some(second)) = (read(&reuse.first), read(&reuse.second)) else { return false };
    first != second || reuse.kind == ReuseKind::Iterated
}

/// The computed read that a consuming call has as its key, if that is what the key is: code that computes it did not run.
fn read_of(used: &Use, key: &str, computed: &BTreeMap<Place, Option<Box<str>>>) -> Option<Place> {
    let text = used.name.as_ref().map(|name| &*name.text).or(used.written.as_deref())?;
    if text.replace('\'', "\"") != key {
        return None;
    }
    let call = used.place;
    let start = Place { span: Span::new(call.span.start, call.span.start), ..call };
    let end = Place { span: Span::new(call.span.end, call.span.end), ..call };
    let starting = computed.range(start..end);
    // Of the same length as the key, it is no other argument, such as a shape.
    let is_as_long = |place: &Place| (place.span.end - place.span.start) as usize == text.len();
    let mut matching = starting.filter(|(place, name)| {
        call.span.covers(place.span)
            && is_as_long(place)
            && match name {
                Some(name) => text.rsplit_once('.').is_some_and(|(_, last)| last == &**name),
                None => text.ends_with(']'),
            }
    });
    matching.next().map(|(place, _)| *place)
}
