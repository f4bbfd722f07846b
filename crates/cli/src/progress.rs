//! The progress of work that takes longer than two seconds, on a terminal.

use std::{
    future::Future,
    pin::pin,
    sync::mpsc::{RecvTimeoutError, channel},
    thread,
    time::Duration,
};

use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};
use tokio::time::timeout;

use crate::exit::Failure;

/// How long nothing is shown.
const SHOWN_AFTER: Duration = Duration::from_secs(2);
/// How often the line is drawn.
const TICK: Duration = Duration::from_millis(120);

/// A line that says what is being done. It is drawn on standard error, if that is a terminal.
pub(super) struct Progress(ProgressBar);

impl Progress {
    pub(super) fn new() -> Result<Self, Failure> {
        let bar = ProgressBar::with_draw_target(None, ProgressDrawTarget::hidden());
        let style = ProgressStyle::with_template("{spinner} {msg} ({elapsed})");
        bar.set_style(style.map_err(|error| Failure::Message(error.to_string()))?);
        Ok(Self(bar))
    }

    /// Says what is being done.
    pub(super) fn say(&self, what: &str) {
        self.0.set_message(what.to_owned());
    }

    /// Does some work, and shows the line meanwhile if it takes long.
    pub(super) async fn during<T>(&self, work: impl Future<Output = T>) -> T {
        let mut work = pin!(work);
        if let Ok(done) = timeout(SHOWN_AFTER, &mut work).await {
            return done;
        }
        self.show();
        let done = work.await;
        self.hide();
        done
    }

    /// Does some work on this thread, and shows the line meanwhile if it takes long.
    pub(super) fn during_blocking<T>(&self, work: impl FnOnce() -> T) -> T {
        let (working, ended) = channel::<()>();
        thread::scope(|scope| {
            scope.spawn(move || {
                if ended.recv_timeout(SHOWN_AFTER) == Err(RecvTimeoutError::Timeout) {
                    self.show();
                    // Nothing is sent: it returns when the work has ended.
                    let _ = ended.recv();
                    self.hide();
                }
            });
            let done = work();
            drop(working);
            done
        })
    }

    fn show(&self) {
        self.0.reset();
        // The bar is shared: this sets the time of the same one.
        let _ = self.0.clone().with_elapsed(SHOWN_AFTER);
        self.0.set_draw_target(ProgressDrawTarget::stderr());
        self.0.enable_steady_tick(TICK);
    }

    fn hide(&self) {
        self.0.disable_steady_tick();
        self.0.finish_and_clear();
        self.0.set_draw_target(ProgressDrawTarget::hidden());
    }
}

impl Drop for Progress {
    fn drop(&mut self) {
        self.0.finish_and_clear();
    }
}
