//! Tests that cannot run here: they say so, and the summary of the suites shows it.

use std::{env, fmt, io::Write, thread};

/// What a test needs and has not found.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Missing {
    /// A Chromium, which set-up finds, or installs where it may.
    Browser,
}

impl Missing {
    /// Whether its absence is a fault in continuous integration, where set-up brings it.
    fn is_brought_by_set_up(self) -> bool {
        match self {
            Self::Browser => true,
        }
    }
}

impl fmt::Display for Missing {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Browser => write!(f, "no Chromium; scripts/setup-browser.sh finds or installs one"),
        }
    }
}

/// Says that the running test is skipped, and why. The test then returns.
///
/// # Panics
///
/// With `CI=true`, if set-up should have brought what is missing.
pub fn skip(missing: Missing) {
    let is_ci = env::var("CI").is_ok_and(|value| value == "true");
    assert!(!is_ci || !missing.is_brought_by_set_up(), "set-up should have brought it: {missing}");
    let thread = thread::current();
    // Written past the capture of the test's output, which a test that passes does not show.
    let _ = writeln!(std::io::stderr(), "\nskipped: {}: {missing}", thread.name().unwrap_or("a test"));
}
