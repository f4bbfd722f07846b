//! Releases of programs, and the images that contain them.

use std::{fmt, str::FromStr};

use serde::Deserialize;

use crate::names::InvalidField;

/// A release such as 0.9.4, or a line of releases such as 0.9. A line sorts before its releases.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Deserialize)]
#[serde(try_from = "String")]
pub struct Release {
    pub major: u64,
    pub minor: u64,
    /// `None` for a line.
    pub patch: Option<u64>,
}

const EXPECTED: &str = "a version such as 2.0 or 1.21.4";

impl Release {
    pub const fn new(major: u64, minor: u64, patch: u64) -> Self {
        Self { major, minor, patch: Some(patch) }
    }

    pub const fn line(major: u64, minor: u64) -> Self {
        Self { major, minor, patch: None }
    }

    /// The line that the release belongs to.
    #[must_use]
    pub const fn in_line(self) -> Self {
        Self::line(self.major, self.minor)
    }

    /// Whether they are equal, or one is the line of the other.
    pub fn may_be(self, other: Self) -> bool {
        self.first() <= other.last() && other.first() <= self.last()
    }

    /// The first release of a line, or the release itself.
    pub(crate) fn first(self) -> (u64, u64, u64) {
        (self.major, self.minor, self.patch.unwrap_or(0))
    }

    /// A bound for the last release of a line, or the release itself.
    pub(crate) fn last(self) -> (u64, u64, u64) {
        (self.major, self.minor, self.patch.unwrap_or(u64::MAX))
    }

    /// The numbers at the start of a tag: `0.8.4`, `v1.21.4`, `0.8`, `0.8.4-dev`, `1.17.0-ent`. `latest` has none.
    pub fn in_tag(tag: &str) -> Option<Self> {
        let tag = tag.trim_start_matches('v');
        let end = tag.find(|c: char| !c.is_ascii_digit() && c != '.').unwrap_or(tag.len());
        let mut parts = tag.split_at(end).0.split('.').map(str::parse::<u64>);
        let (major, minor) = (parts.next()?.ok()?, parts.next()?.ok()?);
        Some(Self { major, minor, patch: parts.next().and_then(Result::ok) })
    }

    /// The line of a release as users and Consul's API write it: of `2.0`, `1.21.4`, `v1.21.4`, `1.21.4+ent`.
    ///
    /// # Errors
    /// The text is neither a line nor a release.
    pub fn line_of(text: &str) -> Result<Self, InvalidField> {
        let numbers = text.strip_prefix('v').unwrap_or(text);
        let (numbers, _) = numbers.split_once(['-', '+']).unwrap_or((numbers, ""));
        let expected = "a version of Consul, such as 2.0 or 1.21.4";
        numbers.parse::<Self>().map(Self::in_line).map_err(|_| InvalidField::new("version", text, expected))
    }
}

impl FromStr for Release {
    type Err = InvalidField;

    /// Two or three numbers.
    fn from_str(text: &str) -> Result<Self, InvalidField> {
        let numbers: Option<Vec<u64>> = text.split('.').map(|number| number.parse().ok()).collect();
        match numbers.as_deref() {
            Some([major, minor]) => Ok(Self::line(*major, *minor)),
            Some([major, minor, patch]) => Ok(Self::new(*major, *minor, *patch)),
            _ => Err(InvalidField::new("version", text, EXPECTED)),
        }
    }
}

impl TryFrom<String> for Release {
    type Error = InvalidField;

    fn try_from(text: String) -> Result<Self, InvalidField> {
        text.parse()
    }
}

impl fmt::Display for Release {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}.{}", self.major, self.minor)?;
        self.patch.map_or(Ok(()), |patch| write!(f, ".{patch}"))
    }
}

/// An image reference: `registry/path/name:tag@digest`. Source: <https://github.com/distribution/reference>
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Image {
    /// The last part of the repository: `consul-ecs`.
    pub name: String,
    pub tag: Option<String>,
}

/// The programs of the mesh, by the names of their images.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Software {
    ConsulEcs,
    Consul,
    Dataplane,
    Envoy,
}

impl Image {
    pub fn parse(reference: &str) -> Self {
        let without_digest = reference.split('@').next().unwrap_or_default();
        let last = without_digest.rsplit('/').next().unwrap_or_default();
        match last.split_once(':') {
            Some((name, tag)) => Self { name: name.to_owned(), tag: Some(tag.to_owned()) },
            None => Self { name: last.to_owned(), tag: None },
        }
    }

    /// The numbers in the tag, as [`Release::in_tag`] reads them.
    pub fn version(&self) -> Option<Release> {
        Release::in_tag(self.tag.as_deref()?)
    }

    /// The release in the tag, if the tag names a single one: `0.9.4`, `1.21.2-ent`, `0.9.1-ubi`, `0.10.1-fips1403`.
    /// A tag with two numbers moves from release to release, and `-dev` or `-rc1` comes before one.
    pub fn release(&self) -> Option<Release> {
        self.releases().filter(|release| release.patch.is_some())
    }

    /// The same, or the line whose releases the tag names one after the other.
    pub fn releases(&self) -> Option<Release> {
        let tag = self.tag.as_deref()?.trim_start_matches('v');
        let (numbers, suffix) = tag.split_once('-').unwrap_or((tag, ""));
        let is_edition = |part: &str| matches!(part, "" | "ent" | "ubi") || part.starts_with("fips");
        numbers.parse().ok().filter(|_| suffix.split(['-', '.']).all(is_edition))
    }

    /// The program that the image certainly contains. Mirrors may use other names, so that most names are inconclusive.
    pub fn software(&self) -> Option<Software> {
        match self.name.as_str() {
            name if name.contains("consul-ecs") => Some(Software::ConsulEcs),
            name if name.contains("consul-dataplane") => Some(Software::Dataplane),
            "consul" | "consul-enterprise" => Some(Software::Consul),
            "envoy" | "envoy-alpine" | "envoy-distroless" | "aws-appmesh-envoy" => Some(Software::Envoy),
            _ => None,
        }
    }

    pub fn is_consul_ecs(&self) -> bool {
        self.software() == Some(Software::ConsulEcs)
    }

    /// The release or line of consul-ecs in the tag. All releases are 0.x: other numbers are a mirror's own.
    pub fn consul_ecs_version(&self) -> Option<Release> {
        self.version().filter(|version| self.is_consul_ecs() && version.major == 0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn version_of_consul_ecs_is_read_from_the_tag_of_an_image_of_that_name() {
        let of = |image: &str| Image::parse(image).consul_ecs_version().map(|version| version.to_string());
        assert_eq!(of("public.ecr.aws/hashicorp/consul-ecs:0.8.1").as_deref(), Some("0.8.1"));
        assert_eq!(of("hashicorp/consul-ecs:0.10.0@sha256:abc").as_deref(), Some("0.10.0"));
        assert_eq!(of("registry:5000/hashicorp-consul-ecs:v0.9").as_deref(), Some("0.9"));
        for image in ["registry:5000/mesh:0.8.1", "hashicorp/consul-ecs", "consul-ecs:latest", "consul-ecs:1.0"] {
            assert_eq!(of(image), None, "{image}");
        }
    }

    #[test]
    fn names_and_versions_are_found_in_references() {
        for (reference, name, version) in [
            ("public.ecr.aws/hashicorp/consul-ecs:0.8.4", "consul-ecs", Some("0.8.4")),
            ("envoyproxy/envoy-alpine:v1.21.4", "envoy-alpine", Some("1.21.4")),
            ("localhost:5000/consul-ecs", "consul-ecs", None),
            ("consul-ecs:latest", "consul-ecs", None),
            ("hashicorp/consul-enterprise:1.17-ent@sha256:abc", "consul-enterprise", Some("1.17")),
            ("aws-appmesh-envoy:v1.29.12.1-prod", "aws-appmesh-envoy", Some("1.29.12")),
        ] {
            let image = Image::parse(reference);
            assert_eq!(image.name, name, "{reference}");
            assert_eq!(image.version().map(|v| v.to_string()).as_deref(), version, "{reference}");
        }
    }

    #[test]
    fn a_release_is_a_tag_with_three_numbers() {
        for (tag, release) in [
            ("0.9.4", Some("0.9.4")),
            ("v1.29.12", Some("1.29.12")),
            ("1.21.2-ent", Some("1.21.2")),
            ("1.21.2-ent-fips1402", Some("1.21.2")),
            ("0.9.1-ubi", Some("0.9.1")),
            ("0.10.1-fips1403", Some("0.10.1")),
            ("0.10.1-fips1403@sha256:abc", Some("0.10.1")),
            ("0.9", None),
            ("0.10.0-dev", None),
            ("1.22.0-rc1", None),
            ("latest", None),
        ] {
            let image = Image::parse(&format!("public.ecr.aws/hashicorp/consul-ecs:{tag}"));
            assert_eq!(image.release().map(|release| release.to_string()).as_deref(), release, "{tag}");
        }
        assert_eq!(Image::parse("consul-ecs@sha256:abc").release(), None);
    }

    #[test]
    fn a_version_has_a_line() {
        for (text, expected) in
            [("2.0", "2.0"), ("1.21.4", "1.21"), ("v1.21.4", "1.21"), ("1.21.4+ent", "1.21"), ("1.22.0-rc1", "1.22")]
        {
            assert_eq!(Release::line_of(text).map(|line| line.to_string()).as_deref(), Ok(expected), "{text}");
        }
        for text in ["", "2", "1.x", "1.21.4.5", "latest"] {
            assert!(Release::line_of(text).unwrap_err().to_string().contains("such as 2.0"), "{text}");
        }
    }
}
