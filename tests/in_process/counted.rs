//! What the controller counts, in the thread of a test.

use std::collections::BTreeMap;

use metrics::LocalRecorderGuard;
use metrics_util::debugging::{DebugValue, DebuggingRecorder, Snapshotter};

/// The counters of this thread, from now on.
pub(crate) struct Counters {
    snapshotter: Snapshotter,
    _guard: LocalRecorderGuard<'static>,
}

impl Counters {
    /// Counts from now on.
    pub(crate) fn start() -> Self {
        // The recorder lives as long as the process: the guard of the thread refers to it.
        let recorder: &'static DebuggingRecorder = Box::leak(Box::new(DebuggingRecorder::new()));
        Self { snapshotter: recorder.snapshotter(), _guard: metrics::set_default_local_recorder(recorder) }
    }

    /// What was counted without a further dimension since the last time.
    pub(crate) fn take(&self) -> BTreeMap<String, u64> {
        let counted = |(key, _, _, value): (metrics_util::CompositeKey, _, _, DebugValue)| match value {
            DebugValue::Counter(count) if count > 0 && key.key().labels().len() == 0 => {
                Some((key.key().name().to_owned(), count))
            }
            _ => None,
        };
        self.snapshotter.snapshot().into_vec().into_iter().filter_map(counted).collect()
    }
}

/// Counts by name.
pub(crate) fn counts(expected: &[(&str, u64)]) -> BTreeMap<String, u64> {
    expected.iter().map(|(name, count)| ((*name).to_owned(), *count)).collect()
}
