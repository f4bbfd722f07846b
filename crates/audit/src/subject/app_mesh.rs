//! The containers of an App Mesh task, by role.

use audit_read::{
    app_mesh::ResourceKind,
    definition::{Container, Maybe, ProxyConfiguration, TaskDefinition, Text, Variable},
};
use document::HOLE;

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

/// The variables with Envoy's mesh resource, the newer one first.
pub const RESOURCE_VARIABLES: [&str; 2] = ["APPMESH_RESOURCE_ARN", "APPMESH_VIRTUAL_NODE_NAME"];

impl<'d> AppMeshTask<'d> {
    pub(super) fn of(definition: &'d TaskDefinition) -> Option<Self> {
        let proxy = definition.proxy.known();
        let containers = &definition.containers.items;
        let named = proxy.and_then(|proxy| proxy.container.text());
        let is_envoy = |container: &&Container| named.is_some_and(|name| container.is_called(name));
        let may_be_envoy = |container: &&Container| {
            container.image.known().is_some_and(|image| image.mentions("appmesh-envoy"))
                || RESOURCE_VARIABLES.iter().any(|name| matches!(container.variable(name), Maybe::Known(_)))
        };
        // A proxy configuration may name the wrong container.
        let envoy = containers.iter().find(|it| is_envoy(it) && may_be_envoy(it));
        let envoy = envoy.or_else(|| containers.iter().find(may_be_envoy)).or_else(|| containers.iter().find(is_envoy));
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

    /// The proxy configuration and the Envoy container, if both exist.
    pub fn proxied(&self) -> Option<(&'d ProxyConfiguration, &'d Container)> {
        self.proxy.zip(self.envoy)
    }

    /// The variable with Envoy's mesh resource: the newer one, if both exist.
    pub fn resource_variable(&self) -> Option<&'d Variable> {
        let envoy = self.envoy?;
        RESOURCE_VARIABLES.iter().find_map(|name| match envoy.variable(name) {
            Maybe::Known(variable) => Some(variable),
            Maybe::Absent | Maybe::Unknown => None,
        })
    }

    /// The mesh resource that Envoy represents, if it is known.
    pub fn resource(&self) -> Option<MeshResource<'d>> {
        MeshResource::of(self.resource_variable()?.value.known()?)
    }

    /// The same if its kind is known: parts of its names may not be.
    pub fn resource_of_kind(&self, kind: ResourceKind) -> Option<MeshResource<'d>> {
        MeshResource::parse(&self.resource_variable()?.value.known()?.0).filter(|resource| resource.kind == kind)
    }
}

fn is_virtual_gateway(envoy: &Container) -> bool {
    RESOURCE_VARIABLES.iter().any(|name| match envoy.variable(name) {
        Maybe::Known(variable) => variable.value.known().is_some_and(|value| value.mentions("virtualGateway/")),
        Maybe::Absent | Maybe::Unknown => false,
    })
}

/// Whether a container is AWS's X-Ray daemon.
pub fn is_xray_daemon(container: &Container) -> bool {
    container.image.known().is_some_and(|image| image.mentions("xray-daemon"))
}

/// A mesh resource that Envoy represents.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct MeshResource<'t> {
    /// The mesh's name.
    pub mesh: &'t str,
    /// A virtual node or a virtual gateway.
    pub kind: ResourceKind,
    /// The resource's name.
    pub name: &'t str,
}

impl<'t> MeshResource<'t> {
    /// Parses a text of which parts may be unknown, if the names of the mesh and of the resource are known. An ARN's
    /// region and account need not be.
    pub fn of(text: &'t Text) -> Option<Self> {
        let resource = Self::parse(&text.0)?;
        let is_known = |name: &str| !name.contains(HOLE);
        (is_known(resource.mesh) && is_known(resource.name)).then_some(resource)
    }

    /// Whether a text cannot name a virtual node or gateway with any value of its unknown parts.
    pub fn is_malformed(text: &Text) -> bool {
        let is_misspelt = |kind: &str| !kind.contains(HOLE) && kind_of(kind).is_none();
        match text.whole() {
            Some(whole) => MeshResource::parse(whole).is_none(),
            None => matches!(text.0.split('/').collect::<Vec<_>>()[..], [_, _, kind, _] if is_misspelt(kind)),
        }
    }

    /// Parses `mesh/<mesh>/virtualNode/<node>`, `mesh/<mesh>/virtualGateway/<gateway>`, or an ARN that ends with one of
    /// these.
    pub fn parse(text: &'t str) -> Option<Self> {
        let path = match text.strip_prefix("arn:") {
            Some(arn) => {
                let parts: Vec<&str> = arn.splitn(5, ':').collect();
                let [_, "appmesh", _, _, path] = parts[..] else { return None };
                path
            }
            None => text,
        };
        let parts: Vec<&str> = path.split('/').collect();
        let ["mesh", mesh, kind, name] = parts.as_slice() else { return None };
        let kind = kind_of(kind)?;
        // In other accounts, the name of a shared mesh is `mesh@owner`.
        let mesh = mesh.split('@').next().unwrap_or_default();
        (!mesh.is_empty() && !name.is_empty()).then_some(Self { mesh, kind, name })
    }
}

fn kind_of(spelled: &str) -> Option<ResourceKind> {
    match spelled {
        "virtualNode" => Some(ResourceKind::VirtualNode),
        "virtualGateway" => Some(ResourceKind::VirtualGateway),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_resource_is_a_path_or_an_arn() {
        let node = MeshResource { mesh: "shop", kind: ResourceKind::VirtualNode, name: "orders" };
        let gateway = MeshResource { mesh: "shop", kind: ResourceKind::VirtualGateway, name: "in" };
        for (text, resource) in [
            ("mesh/shop/virtualNode/orders", Some(node)),
            ("arn:aws:appmesh:eu-west-1:123456789012:mesh/shop/virtualNode/orders", Some(node)),
            ("arn:aws:appmesh:eu-west-1:123456789012:mesh/shop@210987654321/virtualNode/orders", Some(node)),
            ("mesh/shop/virtualGateway/in", Some(gateway)),
            ("mesh/shop/virtualRouter/orders", None),
            ("mesh/shop/virtualNode/", None),
            ("shop/orders", None),
            ("arn:aws:ecs:eu-west-1:123456789012:mesh/shop/virtualNode/orders", None),
        ] {
            assert_eq!(MeshResource::parse(text), resource, "{text}");
        }
    }

    #[test]
    fn only_names_must_be_known() {
        let node = MeshResource { mesh: "shop", kind: ResourceKind::VirtualNode, name: "orders" };
        for (text, resource) in [
            ("arn:?:appmesh:?:?:mesh/shop/virtualNode/orders", Some(node)),
            ("arn:aws:appmesh:?:mesh/shop/virtualNode/orders", None),
            ("arn:aws:?:?:?:mesh/shop/virtualNode/orders", None),
            ("mesh/?/virtualNode/orders", None),
            ("mesh/shop/virtualNode/?", None),
            ("?mesh/shop/virtualNode/orders", None),
        ] {
            let text = Text(text.replace('?', &HOLE.to_string()));
            assert_eq!(MeshResource::of(&text), resource, "{}", text.shown());
        }
    }
}
