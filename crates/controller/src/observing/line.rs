//! The log line of a write that was not sent.

/// Logs a call that mode `observe` does not send, with its subject.
macro_rules! observed {
    ($call:expr, $($subject:tt)+) => {
        tracing::info!(action = "observe", outcome = "observed", call = $call, $($subject)+)
    };
}

/// The different ones of some names, as one text.
pub(super) fn listed<'a>(names: impl Iterator<Item = &'a str>) -> String {
    let names: std::collections::BTreeSet<&str> = names.collect();
    names.into_iter().collect::<Vec<_>>().join(", ")
}
