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

impl Line {
    /// The line of a release.
    #[must_use]
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
