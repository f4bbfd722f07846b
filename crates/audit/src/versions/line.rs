//! Lines of releases.

use std::{fmt, str::FromStr};

use semver::Version;
use serde::Deserialize;

/// The releases with the same first two numbers: 1.21 is 1.21.0, 1.21.1…
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Deserialize)]
#[serde(try_from = "String")]
pub struct Line {
    major: u64,
    minor: u64,
}

/// A line that is not two numbers.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("line {0:?}: expected two numbers, such as 1.21")]
pub struct InvalidLine(String);

/// A version without a line.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("version {0:?}: expected a version of Consul, such as 2.0 or 1.21.4")]
pub struct InvalidVersion(String);

impl Line {
    /// The line of these two numbers.
    pub const fn new(major: u64, minor: u64) -> Self {
        Self { major, minor }
    }

    /// The line of a version as users and Consul's API write it: of `2.0`, `1.21.4`, `v1.21.4`, `1.21.4+ent`.
    ///
    /// # Errors
    /// It is neither a line nor a [semantic version](https://semver.org).
    pub fn of_version(text: &str) -> Result<Self, InvalidVersion> {
        let numbers = text.strip_prefix('v').unwrap_or(text);
        let line = numbers.parse().ok().or_else(|| Version::parse(numbers).ok().as_ref().map(Self::of));
        line.ok_or_else(|| InvalidVersion(text.to_owned()))
    }

    pub fn of(release: &Version) -> Self {
        Self { major: release.major, minor: release.minor }
    }
}

impl FromStr for Line {
    type Err = InvalidLine;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let numbers = text.split_once('.').and_then(|(major, minor)| Some((major.parse().ok()?, minor.parse().ok()?)));
        let (major, minor) = numbers.ok_or_else(|| InvalidLine(text.to_owned()))?;
        Ok(Self { major, minor })
    }
}

impl TryFrom<String> for Line {
    type Error = InvalidLine;

    fn try_from(text: String) -> Result<Self, Self::Error> {
        text.parse()
    }
}

impl fmt::Display for Line {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}.{}", self.major, self.minor)
    }
}
