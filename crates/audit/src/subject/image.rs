//! Container images, and the programs and releases in them.

use crate::versions::Program;
use audit_read::definition::Container;
use mesh::release::{Image, Release, Software};

/// A container's image, if enough of the reference is known for the name.
pub fn image_of(container: &Container) -> Option<Image> {
    let text = container.image.known()?;
    let image = Image::parse(text.tail());
    // After an unknown part, the rest may begin within a name, unless it contains a slash.
    (text.whole().is_some() || text.tail().contains('/')).then_some(image)
}

/// Whether a container has the image of consul-ecs, by its name.
pub fn is_consul_ecs(container: &Container) -> bool {
    image_of(container).is_some_and(|image| image.is_consul_ecs())
}

/// The version of consul-ecs in the image of a container.
pub fn consul_ecs_version(container: &Container) -> Option<Release> {
    image_of(container)?.consul_ecs_version()
}

fn program_of(image: &Image) -> Option<Program> {
    match image.software()? {
        Software::ConsulEcs => Some(Program::ConsulEcs),
        Software::Consul => Some(Program::Consul),
        Software::Dataplane => Some(Program::Dataplane),
        // The table has no releases of Envoy.
        Software::Envoy => None,
    }
}

/// The program of the mesh in the image of a container, and its release, if both are certain.
pub fn release_of(container: &Container) -> Option<(Program, Release)> {
    let image = image_of(container)?;
    Some((program_of(&image)?, image.release()?))
}

/// The program of the mesh in the image of a container, and the line of its release, if both are certain.
pub fn line_of(container: &Container) -> Option<(Program, Release)> {
    let image = image_of(container)?;
    Some((program_of(&image)?, image.version()?.in_line()))
}
