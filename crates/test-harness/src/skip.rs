//! Skipped tests: they print a line, which the summary of the suites shows.

use std::{env, fmt, io::Write, thread};

/// A requirement of a test that was not found.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Missing {
    /// A Chromium; scripts/setup-browser.sh finds or installs one.
    Browser,
}

/// The requirements that may be missing in continuous integration: none, because `make setup` installs all.
const MAY_BE_MISSING_IN_CI: &[Missing] = &[];

impl fmt::Display for Missing {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Browser => write!(f, "no Chromium; scripts/setup-browser.sh finds or installs one"),
        }
    }
}

/// Prints that the running test is skipped, and why. The test then returns.
///
/// # Panics
///
/// With `CI=true`, if `make setup` should have installed the requirement.
pub fn skip(missing: Missing) {
    let is_ci = env::var("CI").is_ok_and(|value| value == "true");
    assert!(!is_ci || MAY_BE_MISSING_IN_CI.contains(&missing), "make setup should have installed it: {missing}");
    let thread = thread::current();
    // Written to standard error directly: the captured output of a test that passes is not shown.
    let _ = writeln!(std::io::stderr(), "\nskipped: {}: {missing}", thread.name().unwrap_or("a test"));
}
