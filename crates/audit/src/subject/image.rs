//! Names of container images.

use semver::Version;

use crate::versions::{Line, Program};
use audit_read::definition::Container;

/// An image reference: `registry/path/name:tag@digest`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Image {
    /// The last part of the repository: `consul-ecs`.
    pub name: String,
    /// The tag as it is written, if there is one.
    pub tag: Option<String>,
}

impl Image {
    /// Parses a reference. Source: <https://github.com/distribution/reference>
    pub fn parse(reference: &str) -> Self {
        let without_digest = reference.split('@').next().unwrap_or_default();
        let last = without_digest.rsplit('/').next().unwrap_or_default();
        match last.split_once(':') {
            Some((name, tag)) => Self { name: name.to_owned(), tag: Some(tag.to_owned()) },
            None => Self { name: last.to_owned(), tag: None },
        }
    }

    /// The [version](version_in) in the tag.
    pub fn version(&self) -> Option<Version> {
        version_in(self.tag.as_deref()?)
    }

    /// The release in the tag, if the tag names a single one: `0.9.4`, `1.21.2-ent`, `0.9.1-ubi`, `0.10.1-fips1403`.
    /// A tag with two numbers moves from release to release, and `-dev` or `-rc1` comes before one.
    pub fn release(&self) -> Option<Version> {
        let tag = self.tag.as_deref()?.trim_start_matches('v');
        let (numbers, suffix) = tag.split_once('-').unwrap_or((tag, ""));
        let is_edition = |part: &str| matches!(part, "" | "ent" | "ubi") || part.starts_with("fips");
        numbers.parse().ok().filter(|_| suffix.split(['-', '.']).all(is_edition))
    }
}

/// The version in a tag: `0.8.4`, `v1.21.4`, `0.8`, `0.8.4-dev`, `1.17.0-ent`. `latest` is not a version.
pub fn version_in(tag: &str) -> Option<Version> {
    let tag = tag.trim_start_matches('v');
    let numbers: String = tag.chars().take_while(|c| c.is_ascii_digit() || *c == '.').collect();
    let mut parts = numbers.trim_end_matches('.').split('.').map(str::parse::<u64>);
    let major = parts.next()?.ok()?;
    let minor = parts.next()?.ok()?;
    let patch = parts.next().and_then(Result::ok).unwrap_or_default();
    Some(Version::new(major, minor, patch))
}

/// The programs of the mesh, by the names of their images.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Software {
    ConsulEcs,
    /// Consul itself.
    Consul,
    /// Consul Dataplane.
    Dataplane,
    Envoy,
}

impl Software {
    /// The program in the table of releases. It has no releases of Envoy.
    pub fn program(self) -> Option<Program> {
        match self {
            Self::ConsulEcs => Some(Program::ConsulEcs),
            Self::Consul => Some(Program::Consul),
            Self::Dataplane => Some(Program::Dataplane),
            Self::Envoy => None,
        }
    }
}

impl Image {
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
}

/// A container's image, if enough of the reference is known for the name.
pub fn image_of(container: &Container) -> Option<Image> {
    let text = container.image.known()?;
    let image = Image::parse(text.tail());
    // After an unknown part, the rest may begin within a name, unless it contains a slash.
    (text.whole().is_some() || text.tail().contains('/')).then_some(image)
}

/// Whether a container has the image of consul-ecs, by its name.
pub fn is_consul_ecs(container: &Container) -> bool {
    image_of(container).and_then(|image| image.software()) == Some(Software::ConsulEcs)
}

/// The version of consul-ecs in the image of a container. All releases are 0.x: another number is not the version of a
/// release.
pub fn consul_ecs_version(container: &Container) -> Option<Version> {
    let image = image_of(container).filter(|image| image.software() == Some(Software::ConsulEcs))?;
    image.version().filter(|version| version.major == 0)
}

/// The program of the mesh in the image of a container, and its release, if both are certain.
pub fn release_of(container: &Container) -> Option<(Program, Version)> {
    let image = image_of(container)?;
    Some((image.software()?.program()?, image.release()?))
}

/// The program of the mesh in the image of a container, and the line of its release, if both are certain.
pub fn line_of(container: &Container) -> Option<(Program, Line)> {
    let image = image_of(container)?;
    Some((image.software()?.program()?, Line::of(&image.version()?)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_and_versions_are_found_in_references() {
        for (reference, name, version) in [
            ("public.ecr.aws/hashicorp/consul-ecs:0.8.4", "consul-ecs", Some("0.8.4")),
            ("envoyproxy/envoy-alpine:v1.21.4", "envoy-alpine", Some("1.21.4")),
            ("localhost:5000/consul-ecs", "consul-ecs", None),
            ("consul-ecs:latest", "consul-ecs", None),
            ("hashicorp/consul-enterprise:1.17-ent@sha256:abc", "consul-enterprise", Some("1.17.0")),
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
}
