//! The releases that tasks run, by the tags of their images.

use std::collections::BTreeSet;

use aws::ecs::DefinitionState;
use mesh::definition::DATAPLANE;
use serde::Serialize;

/// What stands for the tag of an image without one.
pub(crate) const UNTAGGED: &str = "untagged";

/// The releases that tasks run; several during a deployment.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Versions {
    /// Of consul-ecs.
    pub consul_ecs: BTreeSet<String>,
    /// Of consul-dataplane.
    pub consul_dataplane: BTreeSet<String>,
}

impl Versions {
    /// Adds those of a definition. An image without a tag counts as [`UNTAGGED`].
    pub(crate) fn add(&mut self, state: &DefinitionState) {
        let programs = &state.definition.programs;
        let registrar = programs.registrar.as_ref().map(|container| container.name.as_str());
        let by_name = || state.images.values().find(|image| repository(image).ends_with("consul-ecs"));
        let consul_ecs = registrar.and_then(|name| state.images.get(name)).or_else(by_name);
        self.consul_ecs.extend(consul_ecs.map(|image| tag(image).to_owned()));
        self.consul_dataplane.extend(state.images.get(DATAPLANE).map(|image| tag(image).to_owned()));
    }
}

/// The last part of an image's name: `consul-ecs` in `public.ecr.aws/hashicorp/consul-ecs:0.9.0`.
fn last(image: &str) -> &str {
    image.rsplit_once('/').map_or(image, |(_, last)| last)
}

pub(crate) fn repository(image: &str) -> &str {
    last(image).split([':', '@']).next().unwrap_or_default()
}

pub(crate) fn tag(image: &str) -> &str {
    let without_digest = last(image).split('@').next().unwrap_or_default();
    without_digest.split_once(':').map_or(UNTAGGED, |(_, tag)| tag)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tag_is_read_beside_a_registry_s_port_and_a_digest() {
        for (image, expected) in [
            ("public.ecr.aws/hashicorp/consul-ecs:0.9.0", "0.9.0"),
            ("registry:5000/mirror/consul-ecs:0.9.0@sha256:00ff", "0.9.0"),
            ("hashicorp/consul-dataplane@sha256:00ff", "untagged"),
            ("registry:5000/consul-ecs", "untagged"),
        ] {
            assert_eq!(tag(image), expected, "{image}");
        }
    }
}
