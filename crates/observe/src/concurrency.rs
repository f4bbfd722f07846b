//! Concurrent calls.

use futures::{StreamExt, stream};

/// The most concurrent calls to one service.
pub(crate) const CONCURRENCY: usize = 8;

/// Runs work concurrently, up to [`CONCURRENCY`]; the results are in the order of the work.
pub async fn concurrently_in_order<T>(work: impl Iterator<Item = impl Future<Output = T>>) -> Vec<T> {
    stream::iter(work).buffered(CONCURRENCY).collect().await
}

/// Runs work concurrently, up to [`CONCURRENCY`]; the results are in the order in which they come.
pub async fn concurrently<T>(work: impl Iterator<Item = impl Future<Output = T>>) -> Vec<T> {
    stream::iter(work).buffer_unordered(CONCURRENCY).collect().await
}
