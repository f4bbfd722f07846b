//! What a container is: its role, the program it runs, and the release in its image.

use super::{
    ControllerKind, Release, Subcommand,
    configuration::{ConfigValue, PlacedConfiguration},
};
use crate::versions::Program;
use audit_read::definition::{Container, Field, List, Maybe, TaskDefinition, Text};
use document::HOLE;
use mesh::{
    consul_ecs::{self, CONFIG_VARIABLE, Role, Words, configures_controller},
    release::{Image, Software},
};

/// A container with its role and its configuration.
pub(super) struct Part<'d> {
    pub(super) container: &'d Container,
    pub(super) role: Role,
    pub(super) configuration: PlacedConfiguration<'d>,
}

impl<'d> Part<'d> {
    /// The containers of a definition, with the role that [`mesh::consul_ecs`] gives each.
    pub(super) fn all(definition: &'d TaskDefinition) -> Vec<Self> {
        let part = |container: &'d Container| {
            let configuration = PlacedConfiguration::of(definition, container);
            let configures_controller = configuration.json().map(ConfigValue).is_some_and(configures_controller);
            let role = consul_ecs::ContainerTraits { configures_controller, ..facts(container) }.role();
            Self { container, role, configuration }
        };
        definition.containers.items.iter().map(part).collect()
    }

    /// Whether the container has a configuration that shows the task to be in the mesh: the controller has one too, and a
    /// container may run the controller if parts of its command or its configuration are unknown.
    pub(super) fn is_configured_app(&self) -> bool {
        let container = self.container;
        let has = |section: &str| matches!(self.configuration.at(section), Maybe::Known(_));
        let may_run_it = subcommand(container) == Subcommand::Unknown || kind_of(container).is_some();
        let may_be_controller = may_run_it && !has("service") && !has("gateway");
        self.role == Role::App && has_configuration(container) && !may_be_controller
    }
}

/// The controller that the command of a container runs, if the command is known.
pub(super) fn kind_of(container: &Container) -> Option<ControllerKind> {
    let Subcommand::Known(command) = subcommand(container) else { return None };
    ControllerKind::ALL.into_iter().find(|kind| kind.command() == command)
}

/// The subcommand of consul-ecs that a container runs.
pub fn subcommand(container: &Container) -> Subcommand<'_> {
    facts(container).subcommand()
}

fn facts(container: &Container) -> consul_ecs::ContainerTraits<'_> {
    consul_ecs::ContainerTraits {
        name: container.name.text(),
        image: image_of(container),
        entry_point: words(&container.entry_point),
        command: words(&container.command),
        has_configuration: has_configuration(container) || matches!(container.secret(CONFIG_VARIABLE), Maybe::Known(_)),
        configures_controller: false,
    }
}

fn words(list: &List<Field<Text>>) -> Words<'_> {
    Words { known: list.items.iter().map(Field::text).collect(), is_complete: list.is_complete }
}

fn has_configuration(container: &Container) -> bool {
    matches!(container.variable(CONFIG_VARIABLE), Maybe::Known(_))
}

/// A container's image, if enough of the reference is known for the name.
pub fn image_of(container: &Container) -> Option<Image> {
    let text = container.image.known()?;
    // After an unknown part, the rest may begin within a name, unless it contains a slash.
    if text.whole().is_some() || text.tail().contains('/') {
        return Some(Image::parse(text.tail()));
    }
    // Before it, the name is known if the tag has begun: of `consul-ecs:0.3.…`, also the line.
    let (before, _) = text.0.rsplit_once(HOLE)?;
    let (name, tag) = before.rsplit('/').next()?.split_once(':').filter(|(name, _)| !name.contains(HOLE))?;
    let line = tag.strip_suffix('.').filter(|numbers| numbers.parse::<Release>().is_ok());
    Some(Image { name: name.to_owned(), tag: line.map(str::to_owned) })
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

/// The same, or the line if the tag names its releases one after the other.
pub fn releases_of(container: &Container) -> Option<(Program, Release)> {
    let image = image_of(container)?;
    Some((program_of(&image)?, image.releases()?))
}

/// The program of the mesh in the image of a container, and the line of its release, if both are certain.
pub fn line_of(container: &Container) -> Option<(Program, Release)> {
    let image = image_of(container)?;
    Some((program_of(&image)?, image.version()?.in_line()))
}
