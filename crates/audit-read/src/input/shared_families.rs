//! Definitions of one family.

use std::collections::BTreeMap;

use crate::definition::TaskDefinition;

/// Marks definitions of one file and one family: only the address distinguishes them.
pub(super) fn mark_shared_families(definitions: &mut [TaskDefinition]) {
    let mut seen: BTreeMap<String, usize> = BTreeMap::new();
    for definition in definitions.iter() {
        *seen.entry(definition.name()).or_default() += 1;
    }
    for definition in definitions {
        definition.shares_family = seen.get(&definition.name()).is_some_and(|count| *count > 1);
    }
}
