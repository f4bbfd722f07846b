//! A release of a program, and the lines of Consul that it goes with.

use audit::{
    subject::version_in,
    versions::{Line, Program, bundled_envoy, consul_of, envoy_of, table},
};
use semver::Version;

use crate::versions::{UNKNOWN, UNTAGGED};

/// A program, its tag, and its version; `None` is a tag that names no release.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Release {
    pub(super) program: Program,
    pub(super) tag: String,
    version: Option<Version>,
}

impl Release {
    pub(super) fn of_tag(program: Program, tag: Option<&str>) -> Self {
        let tag = tag.unwrap_or(UNKNOWN).to_owned();
        let version = version_in(&tag);
        Self { program, tag, version }
    }

    pub(super) fn of_version(program: Program, version: &Version) -> Self {
        Self { program, tag: version.to_string(), version: Some(version.clone()) }
    }

    pub(super) fn line(&self) -> Option<Line> {
        self.version.as_ref().map(Line::of)
    }

    pub(super) fn is_newer_than(&self, other: &Self) -> bool {
        self.version > other.version
    }

    /// The lines of Consul that it goes with, if the table has it: without those whose oldest Envoy is newer than the one in its
    /// image, because servers refuse an Envoy that is too old: <https://github.com/hashicorp/consul-dataplane/issues/1245>
    pub(super) fn consul(&self) -> Option<Vec<Line>> {
        let lines = consul_of(self.program, self.line()?)?;
        Some(lines.into_iter().filter(|line| self.refused_envoy(*line).is_none()).collect())
    }

    /// The Envoy in its image, and the oldest that this line of Consul supports, if that is newer.
    fn refused_envoy(&self, consul: Line) -> Option<(Line, Line)> {
        let version = self.version.as_ref().filter(|_| self.program == Program::Dataplane)?;
        let (own, oldest) = (bundled_envoy(version)?, *envoy_of(consul).first()?);
        (own < oldest).then_some((own, oldest))
    }

    /// Whether it is not known what it goes with.
    pub(super) fn is_unknown(&self) -> bool {
        self.consul().is_none()
    }

    /// Whether it certainly does not go with one of these.
    pub(super) fn conflicts_with(&self, consul: &[Line]) -> bool {
        self.consul().is_some_and(|lines| consul.iter().any(|line| !lines.contains(line)))
    }

    /// Why it does not go with a line of Consul; `lines` are those that it goes with.
    pub(super) fn why_not(&self, consul: Line, lines: &[Line]) -> String {
        let Self { program, tag, .. } = self;
        let lines = lines.iter().map(ToString::to_string).collect::<Vec<_>>().join(", ");
        let is_listed = self.line().and_then(|line| consul_of(*program, line)).is_some_and(|all| all.contains(&consul));
        match self.refused_envoy(consul).filter(|_| is_listed) {
            Some((own, oldest)) if lines.is_empty() => {
                format!("{program} {tag} contains Envoy {own}, and Consul {consul} starts at Envoy {oldest}")
            }
            Some((own, oldest)) => format!(
                "{program} {tag} goes with Consul {lines}: it contains Envoy {own}, and Consul {consul} starts at Envoy {oldest}"
            ),
            None => format!("{program} {tag} goes with Consul {lines}"),
        }
    }

    /// Why it is not known what it goes with.
    pub(super) fn unknown(&self) -> String {
        match self.version {
            Some(_) => format!("{} {} is not in the table of {}", self.program, self.tag, table().as_of),
            None => no_release(&self.program.to_string(), &self.tag),
        }
    }
}

/// Why it is not known what a program runs, by a tag that names no release.
pub(super) fn no_release(program: &str, tag: &str) -> String {
    match tag {
        UNTAGGED => format!("the image of {program} has no tag"),
        UNKNOWN => format!("the image of {program} is not known"),
        _ => format!("the tag {tag} of {program} names no release"),
    }
}
