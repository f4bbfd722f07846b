//! What the rules report, what they do not report, and what their fixes do.

mod examples;
mod fixes;
mod releases;
mod schema;
mod secrecy;

/// A value that looks like a secret.
const CANARY: &str = "e95b599e-166e-7d80-08ad-aee76e7ddf19";
