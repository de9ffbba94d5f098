//! The order in which Python looks for a name in a class and its bases: the C3 linearisation.
//!
//! **Invariant:** each class occurs once; where the bases do not contradict each other, it comes before those that it inherits from, and the
//! bases of a class keep their order.

/// The lineages of a class's bases, each from the base on, as one lineage of at most so many classes. If the bases contradict each other, for
/// which Python raises, the first of them comes first.
pub fn merged<T: Clone>(lineages: Vec<Vec<T>>, is_same: impl Fn(&T, &T) -> bool, most: usize) -> Vec<T> {
    let bases = lineages.iter().filter_map(|lineage| lineage.first().cloned()).collect();
    let mut lines = lineages;
    lines.push(bases);
    let mut order = Vec::new();
    while order.len() < most {
        let waits = |class: &T| {
            let mut behind = lines.iter().filter_map(|line| line.split_first()).flat_map(|(_, behind)| behind);
            behind.any(|other| is_same(other, class))
        };
        let mut heads = lines.iter().filter_map(|line| line.first());
        let Some(next) = heads.clone().find(|head| !waits(head)).or_else(|| heads.next()).cloned() else { break };
        for line in &mut lines {
            line.retain(|other| !is_same(other, &next));
        }
        order.push(next);
    }
    order
}
