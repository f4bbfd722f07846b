//! When an invocation has to be over. Work that would not end in time is not begun, and its messages go back.

use std::{future::Future, time::Duration};

use tokio::time::{Instant, timeout_at};

use crate::error::ControllerError;

/// Kept for the answer, and for telling the queue which messages come back.
const RESERVE: Duration = Duration::from_secs(3);

/// The end of an invocation, a little before Lambda's own.
#[derive(Debug, Clone, Copy)]
pub struct Deadline(Instant);

impl Deadline {
    /// Work may go on for `remaining`, less a reserve for handing back what is left.
    #[must_use]
    pub fn after(remaining: Duration) -> Self {
        Self(Instant::now() + remaining.saturating_sub(RESERVE))
    }

    /// Half way to the end: for reading, so that what could be read in time can still be done.
    #[must_use]
    pub(crate) fn half_way(self) -> Self {
        Self(Instant::now() + self.left() / 2)
    }

    /// How long work may go on.
    #[must_use]
    pub fn left(self) -> Duration {
        self.0.saturating_duration_since(Instant::now())
    }

    /// Does the work, unless time runs out.
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
