//! The task definitions that an execution environment has read. Their content is immutable, but their tags are not.

use std::{sync::Arc, time::Duration};

use jiff::Timestamp;
use lru::LruCache;
use mesh::{arn::TaskDefinitionArn, consul_ecs::MESH_TAG, definition::TaskDefinition, time::elapsed};

/// How much of the function's 256 MB the cache takes at most. A definition has up to 64 KB.
const MAX_BYTES: usize = 32 * 1024 * 1024;
/// How long a definition that runs consul-ecs without the mesh tag is kept: its tasks wait for the tag.
const UNTAGGED_FOR: Duration = Duration::from_mins(5);
/// How long any other definition is kept.
const KEPT_FOR: Duration = Duration::from_hours(1);

/// The definitions that were used last.
pub(super) struct DefinitionCache {
    entries: LruCache<TaskDefinitionArn, Entry>,
    bytes: usize,
}

struct Entry {
    definition: Arc<TaskDefinition>,
    bytes: usize,
    read_at: Timestamp,
}

impl DefinitionCache {
    pub(super) fn new() -> Self {
        Self { entries: LruCache::unbounded(), bytes: 0 }
    }

    /// The definition, if it was read lately enough.
    pub(super) fn get(&mut self, arn: &TaskDefinitionArn, now: Timestamp) -> Option<Arc<TaskDefinition>> {
        let Entry { definition, read_at, .. } = self.entries.get(arn)?;
        (elapsed(*read_at, now) < kept_for(definition)).then(|| Arc::clone(definition))
    }

    /// Adds a definition that was read at `now`. Those that were not used for the longest time make room for it.
    pub(super) fn put(&mut self, definition: &Arc<TaskDefinition>, now: Timestamp) {
        let arn = &definition.arn;
        self.remove(arn);
        let bytes = definition.approximate_size();
        self.entries.push(arn.clone(), Entry { definition: Arc::clone(definition), bytes, read_at: now });
        self.bytes += bytes;
        while self.bytes > MAX_BYTES
            && let Some((_, oldest)) = self.entries.pop_lru()
        {
            self.bytes -= oldest.bytes;
        }
    }

    pub(super) fn remove(&mut self, arn: &TaskDefinitionArn) {
        self.bytes -= self.entries.pop(arn).map_or(0, |entry| entry.bytes);
    }
}

fn kept_for(definition: &TaskDefinition) -> Duration {
    let is_tagged = definition.tags.get(MESH_TAG).is_some();
    if definition.runs_consul_ecs() && !is_tagged { UNTAGGED_FOR } else { KEPT_FOR }
}

#[cfg(test)]
mod tests {
    use mesh::{
        consul_ecs::{Configuration, names::CLIENT},
        definition::ContainerDefinition,
        time::later,
    };
    use mesh_examples::definition_arn;

    use super::*;

    /// A definition; its configuration has a name of so many bytes.
    fn definition(revision: usize, name_bytes: usize, tags: &[(&str, &str)]) -> Arc<TaskDefinition> {
        Arc::new(TaskDefinition {
            tags: tags.iter().copied().collect(),
            config: (name_bytes > 0).then(|| configuration(name_bytes)),
            ..mesh_examples::definition(definition_arn(&format!("web:{revision}")))
        })
    }

    fn configuration(name_bytes: usize) -> Configuration {
        format!(r#"{{"service":{{"name":"{}"}}}}"#, "x".repeat(name_bytes)).as_str().into()
    }

    const NOW: Timestamp = Timestamp::UNIX_EPOCH;

    #[test]
    fn two_thousand_of_the_largest_definitions_take_no_more_than_the_bound() {
        let mut cache = DefinitionCache::new();
        for revision in 1..=2_000 {
            cache.put(&definition(revision, 64 * 1024, &[]), NOW);
            assert!(cache.bytes <= MAX_BYTES);
        }
        let name = |entry: &Entry| entry.definition.config.as_ref()?.named().ok()?.name().map(str::len);
        let kept: usize = cache.entries.iter().map(|(_, entry)| name(entry).unwrap()).sum();
        assert!((MAX_BYTES * 9 / 10..=MAX_BYTES).contains(&kept), "{kept} bytes");
        let newest = definition(2_000, 0, &[]).arn.clone();
        assert!(cache.get(&newest, NOW).is_some() && cache.get(&definition(1, 0, &[]).arn, NOW).is_none());
        while let Some(arn) = cache.entries.peek_lru().map(|(arn, _)| arn.clone()) {
            cache.remove(&arn);
        }
        assert_eq!(cache.bytes, 0);
    }

    #[test]
    fn definition_that_is_read_again_counts_once() {
        let mut cache = DefinitionCache::new();
        let one = definition(1, 100, &[]);
        cache.put(&one, NOW);
        let bytes = cache.bytes;
        cache.put(&one, NOW);
        assert_eq!(cache.bytes, bytes);
    }

    #[test]
    fn absent_mesh_tag_is_read_again_within_minutes_and_others_within_the_hour() {
        let agent = ContainerDefinition { name: CLIENT.to_owned(), ..ContainerDefinition::default() };
        let with_agent = TaskDefinition { containers: vec![agent], ..Arc::unwrap_or_clone(definition(4, 0, &[])) };
        for (definition, minutes) in [
            (definition(1, 2, &[]), 5),
            (Arc::new(with_agent), 5),
            (definition(2, 2, &[(MESH_TAG, "true")]), 60),
            (definition(3, 0, &[]), 60),
        ] {
            let mut cache = DefinitionCache::new();
            cache.put(&definition, NOW);
            let is_kept = |seconds: u64, cache: &mut DefinitionCache| {
                cache.get(&definition.arn, later(NOW, Duration::from_secs(seconds))).is_some()
            };
            assert!(is_kept(minutes * 60 - 1, &mut cache) && !is_kept(minutes * 60, &mut cache), "{definition:?}");
        }
    }
}
