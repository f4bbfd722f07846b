//! The deadline of an invocation. Work that cannot finish in time fails, and its messages return to the queue.

use std::{future::Future, time::Duration};

use tokio::time::{Instant, timeout_at};

use crate::error::ControllerError;

/// The time reserved for the answer, for returning messages, and for sending events.
const RESERVE: Duration = Duration::from_secs(4);

/// The end of the work of an invocation, before Lambda's own timeout.
#[derive(Debug, Clone, Copy)]
pub struct Deadline(Instant);

impl Deadline {
    /// Work may take `remaining`, less a reserve for returning messages.
    pub fn after(remaining: Duration) -> Self {
        Self(Instant::now() + remaining.saturating_sub(RESERVE))
    }

    /// A deadline after half of the time left: for reads, so that the other half is left for writes.
    pub(crate) fn half_way(self) -> Self {
        Self(Instant::now() + self.left() / 2)
    }

    /// The time left for work.
    pub fn left(self) -> Duration {
        self.0.saturating_duration_since(Instant::now())
    }

    /// Runs the work, and fails when time runs out.
    pub(crate) async fn run<T, E>(self, work: impl Future<Output = Result<T, E>>) -> Result<T, ControllerError>
    where
        E: Into<ControllerError>,
    {
        if self.left().is_zero() {
            return Err(ControllerError::OutOfTime);
        }
        timeout_at(self.0, work).await.map_err(|_| ControllerError::OutOfTime)?.map_err(Into::into)
    }
}
