//! Concurrent calls.

use futures::{StreamExt, TryStreamExt, stream};

/// The most concurrent calls to one service.
const CONCURRENCY: usize = 8;

/// Runs work concurrently, up to [`CONCURRENCY`]; the results are in the order of the work.
pub async fn concurrently_in_order<T>(work: impl Iterator<Item = impl Future<Output = T>>) -> Vec<T> {
    stream::iter(work).buffered(CONCURRENCY).collect().await
}

/// The same until the first error.
pub(crate) async fn try_concurrently_in_order<T, E>(
    work: impl Iterator<Item = impl Future<Output = Result<T, E>>>,
) -> Result<Vec<T>, E> {
    stream::iter(work).buffered(CONCURRENCY).try_collect().await
}

/// Runs work concurrently, up to [`CONCURRENCY`], until the first error; the results are in the order in which they come.
pub(crate) async fn try_concurrently<T, E>(
    work: impl Iterator<Item = impl Future<Output = Result<T, E>>>,
) -> Result<Vec<T>, E> {
    stream::iter(work).buffer_unordered(CONCURRENCY).try_collect().await
}

/// Runs work concurrently, up to [`CONCURRENCY`]; the results are in the order in which they come.
pub async fn concurrently<T>(work: impl Iterator<Item = impl Future<Output = T>>) -> Vec<T> {
    stream::iter(work).buffer_unordered(CONCURRENCY).collect().await
}
