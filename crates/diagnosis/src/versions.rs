//! The releases that tasks run, by the tags of their images.

use std::collections::BTreeSet;

use audit::subject::{Image, Software};
use aws::ecs::DefinitionState;
use mesh::definition::DATAPLANE;
use serde::Serialize;

/// What stands for the tag of an image without one.
pub(crate) const UNTAGGED: &str = "untagged";

/// What stands for the tag of an image whose reference is known only at deployment.
pub(crate) const UNKNOWN: &str = "unknown";

/// The releases that tasks run; several during a deployment.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
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
        let is_it = |image: &&String| Image::parse(image).software() == Some(Software::ConsulEcs);
        let by_name = || state.images.values().find(is_it);
        let consul_ecs = registrar.and_then(|name| state.images.get(name)).or_else(by_name);
        self.consul_ecs.extend(consul_ecs.map(|image| tag(image)));
        self.consul_dataplane.extend(state.images.get(DATAPLANE).map(|image| tag(image)));
    }
}

/// The tag of an image.
pub(crate) fn tag(image: &str) -> String {
    Image::parse(image).tag.unwrap_or_else(|| UNTAGGED.to_owned())
}
