//! Skipped tests: they print a line, which the summary of the suites shows.

use std::{env, io::Write, thread};

/// Prints that the running test is skipped, and what is missing. The test then returns.
///
/// # Panics
///
/// With `CI=true`: there, `make setup` has installed all requirements.
pub fn skip(missing: &str) {
    let is_ci = env::var("CI").is_ok_and(|value| value == "true");
    assert!(!is_ci, "make setup should have installed it: {missing}");
    skip_optional(missing);
}

/// The same for what `make setup` does not install.
pub fn skip_optional(missing: &str) {
    let thread = thread::current();
    // Written to standard error directly: the captured output of a test that passes is not shown.
    // In one piece, because other tests print at the same time.
    let line = format!("\nskipped: {}: {missing}\n", thread.name().unwrap_or("a test"));
    let _ = std::io::stderr().write_all(line.as_bytes());
}
