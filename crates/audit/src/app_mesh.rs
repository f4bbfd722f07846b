//! Resources of App Mesh as `aws appmesh describe-…` prints them.

use std::sync::Arc;

use super::{
    document::{Node, Span},
    source::SourceFile,
};

/// The exported resources of a run.
#[derive(Debug, Default)]
pub struct Resources {
    /// In the order of the files.
    pub all: Vec<Resource>,
}

/// A resource of a mesh.
#[derive(Debug)]
pub struct Resource {
    /// What it is.
    pub kind: ResourceKind,
    /// The mesh that it is in; its own name, if it is one.
    pub mesh: String,
    /// Its name.
    pub name: String,
    /// The virtual router, where it is a route.
    pub router: Option<String>,
    /// The complete resource: `meshName`, `spec`…
    pub node: Node,
    /// The bytes of its name.
    pub span: Span,
    /// The file that it is from.
    pub file: Arc<SourceFile>,
}

/// The kinds of resource that are checked.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum ResourceKind {
    /// A mesh.
    Mesh,
    /// Represents an ECS service.
    VirtualNode,
    /// Distributes requests by its routes.
    VirtualRouter,
    /// A rule of a virtual router.
    Route,
    /// The name by which other services call a service.
    VirtualService,
    /// Lets traffic into the mesh.
    VirtualGateway,
}

impl ResourceKind {
    /// Every kind, with the key of its export and the key of its name.
    pub const KEYS: [(Self, &'static str, &'static str); 6] = [
        (Self::Mesh, "mesh", "meshName"),
        (Self::VirtualNode, "virtualNode", "virtualNodeName"),
        (Self::VirtualRouter, "virtualRouter", "virtualRouterName"),
        (Self::Route, "route", "routeName"),
        (Self::VirtualService, "virtualService", "virtualServiceName"),
        (Self::VirtualGateway, "virtualGateway", "virtualGatewayName"),
    ];

    /// Every kind, nested kinds first.
    const INNERMOST_FIRST: [Self; 6] =
        [Self::Route, Self::VirtualNode, Self::VirtualRouter, Self::VirtualService, Self::VirtualGateway, Self::Mesh];

    /// As users read it.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Mesh => "mesh",
            Self::VirtualNode => "virtual node",
            Self::VirtualRouter => "virtual router",
            Self::Route => "route",
            Self::VirtualService => "virtual service",
            Self::VirtualGateway => "virtual gateway",
        }
    }
}

impl Resources {
    /// Those of one kind.
    pub fn of(&self, kind: ResourceKind) -> impl Iterator<Item = &Resource> {
        self.all.iter().filter(move |resource| resource.kind == kind)
    }

    /// The one with this name in this mesh.
    #[must_use]
    pub fn named(&self, kind: ResourceKind, mesh: &str, name: &str) -> Option<&Resource> {
        self.of(kind).find(|resource| resource.mesh == mesh && resource.name == name)
    }
}

impl Resources {
    /// Whether a resource is certainly missing: the run has other resources of its kind in its mesh, but not this one.
    /// An export may be incomplete.
    #[must_use]
    pub fn lacks(&self, kind: ResourceKind, mesh: &str, name: &str) -> bool {
        self.of(kind).any(|resource| resource.mesh == mesh) && self.named(kind, mesh, name).is_none()
    }

    /// Another mesh that has a resource of this kind and name.
    #[must_use]
    pub fn other_mesh_with(&self, kind: ResourceKind, mesh: &str, name: &str) -> Option<&str> {
        let other = self.of(kind).find(|resource| resource.name == name && resource.mesh != mesh);
        other.map(|resource| resource.mesh.as_str())
    }

    /// The references of all resources of one kind to resources that are in no mesh of the run.
    pub fn broken_references(&self, from: ResourceKind) -> impl Iterator<Item = (&Resource, Reference<'_>)> {
        self.of(from).flat_map(|resource| resource.references().into_iter().map(move |to| (resource, to))).filter(
            |(resource, to)| {
                self.lacks(to.kind, &resource.mesh, to.name)
                    && self.other_mesh_with(to.kind, &resource.mesh, to.name).is_none()
            },
        )
    }

    /// The names of the resources of one kind in a mesh, for help texts.
    #[must_use]
    pub fn names(&self, kind: ResourceKind, mesh: &str) -> String {
        let names: Vec<&str> =
            self.of(kind).filter(|resource| resource.mesh == mesh).map(|resource| resource.name.as_str()).collect();
        names.join(", ")
    }

    /// The routes of a virtual router.
    pub fn routes<'r>(&'r self, router: &'r Resource) -> impl Iterator<Item = &'r Resource> {
        self.of(ResourceKind::Route)
            .filter(|route| route.mesh == router.mesh && route.router.as_deref() == Some(router.name.as_str()))
    }
}

/// A reference from one resource to another.
#[derive(Debug, Clone, Copy)]
pub struct Reference<'r> {
    /// The kind of the resource that it names.
    pub kind: ResourceKind,
    /// The name of that resource.
    pub name: &'r str,
    /// The value in the file.
    pub node: &'r Node,
}

impl<'r> Reference<'r> {
    fn of(kind: ResourceKind, node: Option<&'r Node>) -> Option<Self> {
        let node = node?;
        Some(Self { kind, name: node.text()?, node })
    }
}

/// The kinds of route: the key in a route's specification, and the protocol.
pub const ROUTE_KINDS: [(&str, &str); 4] =
    [("httpRoute", "http"), ("http2Route", "http2"), ("grpcRoute", "grpc"), ("tcpRoute", "tcp")];

impl Resource {
    /// The resources that it refers to.
    #[must_use]
    pub fn references(&self) -> Vec<Reference<'_>> {
        match self.kind {
            ResourceKind::VirtualService => {
                let node = self.spec("provider.virtualNode.virtualNodeName");
                let router = self.spec("provider.virtualRouter.virtualRouterName");
                let node = Reference::of(ResourceKind::VirtualNode, node);
                node.into_iter().chain(Reference::of(ResourceKind::VirtualRouter, router)).collect()
            }
            ResourceKind::VirtualNode | ResourceKind::VirtualGateway => {
                let backends = self.spec("backends").map(Node::items).unwrap_or_default();
                backends
                    .iter()
                    .filter_map(|backend| {
                        let name = backend.get("virtualService")?.get("virtualServiceName");
                        Reference::of(ResourceKind::VirtualService, name)
                    })
                    .collect()
            }
            ResourceKind::Route => {
                let router = Reference::of(ResourceKind::VirtualRouter, self.node.get("virtualRouterName"));
                let targets = self.weighted_targets().iter();
                let nodes = targets.filter_map(|to| Reference::of(ResourceKind::VirtualNode, to.get("virtualNode")));
                router.into_iter().chain(nodes).collect()
            }
            ResourceKind::Mesh | ResourceKind::VirtualRouter => Vec::new(),
        }
    }

    /// The protocol of a route, and the specification for that protocol.
    #[must_use]
    pub fn route(&self) -> Option<(&'static str, &Node)> {
        ROUTE_KINDS.iter().find_map(|(key, protocol)| Some((*protocol, self.spec(key)?)))
    }

    /// A route's targets.
    #[must_use]
    pub fn weighted_targets(&self) -> &[Node] {
        let action = self.route().and_then(|(_, route)| route.get("action"));
        action.and_then(|action| action.get("weightedTargets")).map(Node::items).unwrap_or_default()
    }

    /// The port mappings of its listeners: `port` and `protocol`.
    pub fn listeners(&self) -> impl Iterator<Item = &Node> {
        let listeners = self.spec("listeners").map(Node::items).unwrap_or_default();
        listeners.iter().filter_map(|listener| listener.get("portMapping"))
    }

    /// The bytes of the value at a path of its specification; those of its name if there is no such value.
    #[must_use]
    pub fn span_of(&self, path: &str) -> Span {
        self.spec(path).map_or(self.span, |node| node.place.span)
    }

    /// The resources in a file: one export, or a list of exports.
    #[must_use]
    pub fn all_in(file: &Arc<SourceFile>, node: &Node) -> Vec<Self> {
        let exports = if node.items().is_empty() { std::slice::from_ref(node) } else { node.items() };
        exports.iter().flat_map(|export| Self::exported(file, export)).collect()
    }

    /// The CLI prints a resource under its kind; the API's response body is the bare resource.
    fn exported(file: &Arc<SourceFile>, export: &Node) -> Vec<Self> {
        let under_kinds = ResourceKind::KEYS.iter().filter_map(|(kind, key, name_key)| {
            let inner = export.get(key)?;
            Self::new(file, *kind, inner, inner.get(name_key)?)
        });
        let found: Vec<Self> = under_kinds.collect();
        if found.is_empty() { Self::bare(file, export).into_iter().collect() } else { found }
    }

    /// A body contains the name of its mesh too, and a route's body that of its router: nested kinds come first.
    fn bare(file: &Arc<SourceFile>, body: &Node) -> Option<Self> {
        body.get("spec").filter(|_| body.get("gatewayRouteName").is_none())?;
        let of_kind = |wanted: ResourceKind| {
            let (_, _, key) = ResourceKind::KEYS.iter().find(|(kind, ..)| *kind == wanted)?;
            Some((wanted, body.get(key)?))
        };
        let (kind, name) = ResourceKind::INNERMOST_FIRST.into_iter().find_map(of_kind)?;
        Self::new(file, kind, body, name)
    }

    fn new(file: &Arc<SourceFile>, kind: ResourceKind, node: &Node, name: &Node) -> Option<Self> {
        let router = node.get("virtualRouterName").and_then(Node::text).filter(|_| kind == ResourceKind::Route);
        Some(Self {
            kind,
            mesh: node.get("meshName")?.text()?.to_owned(),
            name: name.text()?.to_owned(),
            router: router.map(str::to_owned),
            node: node.clone(),
            span: name.place.span,
            file: file.clone(),
        })
    }

    /// The value at a path below `spec`: `listeners`, `provider.virtualNode`.
    #[must_use]
    pub fn spec(&self, path: &str) -> Option<&Node> {
        path.split('.').try_fold(self.node.get("spec")?, Node::get)
    }

    /// Its name in messages: `virtual node orders`.
    #[must_use]
    pub fn label(&self) -> String {
        format!("{} {}", self.kind.as_str(), self.name)
    }
}
