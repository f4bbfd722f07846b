//! Tests that cannot run here: they say so, and the summary of the suites shows it.

use std::{env, fmt, io::Write, thread};

/// What a test needs and has not found.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Missing {
    /// A Chromium, which set-up finds, or installs where it may.
    Browser,
}

/// What may be missing in continuous integration: nothing, because set-up brings it all.
const MAY_BE_MISSING_IN_CI: &[Missing] = &[];

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
    assert!(!is_ci || MAY_BE_MISSING_IN_CI.contains(&missing), "set-up should have brought it: {missing}");
    let thread = thread::current();
    // Written past the capture of the test's output, which a test that passes does not show.
    let _ = writeln!(std::io::stderr(), "\nskipped: {}: {missing}", thread.name().unwrap_or("a test"));
}
