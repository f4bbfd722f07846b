//! The programs of consul-ecs in the containers of a task definition.

/// The consul-ecs program that registers a task in Consul.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Registrar {
    /// `control-plane` of consul-ecs 0.7, which runs as long as the task and syncs its health.
    ControlPlane,
    /// `mesh-init` of 0.8 and newer, which exits once the task is registered.
    MeshInit,
}

/// A release of consul-ecs.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct Release {
    /// The major version.
    pub major: u64,
    /// The minor version.
    pub minor: u64,
}

/// From this release on, the dataplane's checks pass only if every synced container is healthy.
const OVERALL_HEALTH: Release = Release { major: 0, minor: 9 };

/// The container that registers a task.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RegistrarContainer {
    /// Its name.
    pub name: String,
    /// The program.
    pub registrar: Registrar,
    /// The value of its variable `CONSUL_ECS_CONFIG_JSON`.
    pub config_json: Option<String>,
    /// The value of its variable `AWS_REGION`.
    pub region: Option<String>,
    /// Whether a secret or a file may set either variable, so that the values are not known.
    pub reads_more: bool,
}

/// The programs of consul-ecs in a task definition.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Programs {
    /// What registers the task; `None` in the client generation up to consul-ecs 0.6, where the task's agent does.
    pub registrar: Option<RegistrarContainer>,
    /// The name of the container that reports the task's health to Consul.
    pub health_sync: Option<String>,
    /// The release, if the tag of the image tells it.
    pub release: Option<Release>,
    /// Whether a container gets a Consul token of its own (`CONSUL_HTTP_TOKEN`), or may get one from an environment file:
    /// consul-ecs 0.7 to 0.10 then skip the login.
    pub sets_token: bool,
    /// The name of the container that runs the controller of consul-ecs: it manages the mesh, and is no task of it.
    pub controller: Option<String>,
}

/// What a container runs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Program {
    /// A program that registers the task.
    Registers(Registrar),
    /// `health-sync`.
    SyncsHealth,
}

impl Program {
    /// The program of a container, by its command, or, without one, by the name that the Terraform modules give it:
    /// <https://registry.terraform.io/modules/hashicorp/consul-ecs/aws/latest>
    pub fn of(name: &str, command: &[String]) -> Option<Self> {
        let known = command.first().map_or(name.strip_prefix("consul-ecs-"), |first| Some(first.as_str()));
        match known {
            Some("mesh-init") => Some(Self::Registers(Registrar::MeshInit)),
            Some("control-plane") => Some(Self::Registers(Registrar::ControlPlane)),
            Some("health-sync") => Some(Self::SyncsHealth),
            _ => None,
        }
    }
}

/// Whether a container runs the controller of consul-ecs: `controller`, or `acl-controller` up to 0.5.
pub fn is_controller(image: &str, command: &[String]) -> bool {
    let name = image.rsplit_once('/').map_or(image, |(_, last)| last);
    let is_consul_ecs = name.split([':', '@']).next() == Some("consul-ecs");
    is_consul_ecs && command.first().is_some_and(|first| matches!(first.as_str(), "controller" | "acl-controller"))
}

impl Release {
    /// The release in the tag of an image whose name ends in `consul-ecs`; `None` for other names, which may have any
    /// tag, and for tags that are no version.
    pub fn of_image(image: &str) -> Option<Self> {
        let (name, tag) = image.rsplit_once('/').map_or(image, |(_, last)| last).split_once(':')?;
        let tag = tag.split_once('@').map_or(tag, |(tag, _)| tag);
        let mut parts = tag.trim_start_matches('v').split('.').map(|part| part.parse::<u64>().ok());
        let (major, minor) = (parts.next()??, parts.next()??);
        (name == "consul-ecs").then_some(Self { major, minor })
    }
}

impl Programs {
    /// The name of the container that reports the task's health to Consul: `health-sync`, or `control-plane` of 0.7.
    pub fn health_reporter(&self) -> Option<&str> {
        let control_plane = self.registrar.as_ref().filter(|it| it.registrar == Registrar::ControlPlane);
        self.health_sync.as_deref().or(control_plane.map(|it| it.name.as_str()))
    }

    /// Whether the dataplane's checks pass only if every synced container is healthy: since 0.9. `None` if the release is not
    /// known. `control-plane` is that of 0.7.
    pub fn report_overall_health(&self) -> Option<bool> {
        let is_control_plane = self.registrar.as_ref().is_some_and(|it| it.registrar == Registrar::ControlPlane);
        let release = self.release.or(is_control_plane.then_some(Release { major: 0, minor: 7 }));
        release.map(|release| release >= OVERALL_HEALTH)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn program_is_known_by_its_command_or_by_the_name_of_the_modules() {
        let of = |name: &str, command: &[&str]| {
            Program::of(name, &command.iter().map(|&word| word.to_owned()).collect::<Vec<_>>())
        };
        let mesh_init = Some(Program::Registers(Registrar::MeshInit));
        assert_eq!(of("init", &["mesh-init"]), mesh_init);
        assert_eq!(of("consul-ecs-mesh-init", &[]), mesh_init);
        assert_eq!(
            of("consul-ecs-control-plane", &["control-plane"]),
            Some(Program::Registers(Registrar::ControlPlane))
        );
        assert_eq!(of("consul-ecs-health-sync", &[]), Some(Program::SyncsHealth));
        assert_eq!(of("consul-ecs-mesh-init", &["sleep", "9"]), None);
        assert_eq!(of("app", &[]), None);
    }

    #[test]
    fn controller_is_known_by_its_image_and_command() {
        let is = |image: &str, command: &str| is_controller(image, &[command.to_owned()]);
        assert!(is("public.ecr.aws/hashicorp/consul-ecs:0.9.0", "controller"));
        assert!(is("hashicorp/consul-ecs@sha256:00ff", "acl-controller"));
        assert!(!is("hashicorp/consul-ecs:0.9.0", "mesh-init"));
        assert!(!is("games/controller:1", "controller"));
    }

    #[test]
    fn release_is_read_from_the_tag_of_an_image_of_that_name() {
        let of = Release::of_image;
        assert_eq!(of("public.ecr.aws/hashicorp/consul-ecs:0.8.1"), Some(Release { major: 0, minor: 8 }));
        assert_eq!(of("hashicorp/consul-ecs:0.10.0@sha256:abc"), Some(Release { major: 0, minor: 10 }));
        for image in ["registry:5000/mesh:0.8.1", "hashicorp/consul-ecs", "hashicorp/consul-ecs:latest", "consul-ecs:1"]
        {
            assert_eq!(of(image), None, "{image}");
        }
    }

    #[test]
    fn overall_health_counts_since_0_9() {
        let of = |minor: u64| {
            let release = Some(Release { major: 0, minor });
            Programs { release, ..Programs::default() }.report_overall_health()
        };
        assert_eq!([8, 9, 10].map(of), [Some(false), Some(true), Some(true)]);
        assert_eq!(Programs::default().report_overall_health(), None);
    }
}
