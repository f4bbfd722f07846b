//! A task definition and the part that each of its containers plays in the mesh.

mod agent_script;
mod configuration;
mod consul;
mod image;
mod observer;

pub use self::{
    agent_script::{AgentScript, BINARY_DIRECTORY},
    configuration::Configuration,
    consul::{ConsulTask, Generation, names},
    image::{Image, Software, image_of},
    observer::is_observer,
};
use super::definition::{Container, Maybe, ProxyConfiguration, TaskDefinition};

/// A task definition as rules look at it.
#[derive(Debug)]
pub struct Subject<'d> {
    /// The definition.
    pub definition: &'d TaskDefinition,
    /// Its part in Consul's mesh, if its containers are those of one.
    pub consul: Option<ConsulTask<'d>>,
    /// Its part in App Mesh, if it has one.
    pub app_mesh: Option<AppMeshTask<'d>>,
}

/// A task definition of App Mesh.
#[derive(Debug)]
pub struct AppMeshTask<'d> {
    /// The proxy configuration. A virtual gateway has none.
    pub proxy: Option<&'d ProxyConfiguration>,
    /// The Envoy container, if there is one.
    pub envoy: Option<&'d Container>,
    /// Whether it is a virtual gateway: then Envoy is the app.
    pub is_gateway: bool,
    /// All containers but Envoy and the X-Ray daemon.
    pub apps: Vec<&'d Container>,
}

/// The variables that tell Envoy who it is, the newer one first.
pub const RESOURCE_VARIABLES: [&str; 2] = ["APPMESH_RESOURCE_ARN", "APPMESH_VIRTUAL_NODE_NAME"];

impl<'d> Subject<'d> {
    /// Looks at `definition`.
    #[must_use]
    pub fn new(definition: &'d TaskDefinition) -> Self {
        Self { definition, consul: ConsulTask::of(definition), app_mesh: AppMeshTask::of(definition) }
    }
}

impl<'d> AppMeshTask<'d> {
    fn of(definition: &'d TaskDefinition) -> Option<Self> {
        let proxy = definition.proxy.known();
        let containers = &definition.containers.items;
        let named = proxy.and_then(|proxy| proxy.container.text());
        let is_envoy = |container: &&Container| named.is_some_and(|name| container.is_called(name));
        let looks_like_envoy = |container: &&Container| {
            container.image.known().is_some_and(|image| image.mentions("appmesh-envoy"))
                || RESOURCE_VARIABLES.iter().any(|name| matches!(container.variable(name), Maybe::Known(_)))
        };
        let envoy = containers.iter().find(is_envoy).or_else(|| containers.iter().find(looks_like_envoy));
        if proxy.is_none() && envoy.is_none() {
            return None;
        }
        let is_gateway = proxy.is_none() && envoy.is_some_and(is_virtual_gateway);
        let is_app = |container: &&Container| {
            let is_envoy = envoy.is_some_and(|envoy| std::ptr::eq(*container, envoy));
            !is_envoy && !is_xray_daemon(container)
        };
        Some(Self { proxy, envoy, is_gateway, apps: containers.iter().filter(is_app).collect() })
    }
}

fn is_virtual_gateway(envoy: &Container) -> bool {
    RESOURCE_VARIABLES.iter().any(|name| match envoy.variable(name) {
        Maybe::Known(variable) => variable.value.known().is_some_and(|value| value.mentions("virtualGateway/")),
        Maybe::Absent | Maybe::Unknown => false,
    })
}

/// Whether a container is AWS's X-Ray daemon.
#[must_use]
pub fn is_xray_daemon(container: &Container) -> bool {
    container.image.known().is_some_and(|image| image.mentions("xray-daemon"))
}
