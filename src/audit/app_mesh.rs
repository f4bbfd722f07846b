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
    /// The whole of it: `meshName`, `spec`…
    pub node: Node,
    /// Where its name stands.
    pub span: Span,
    /// The file that it is from.
    pub file: Arc<SourceFile>,
}

/// The kinds of resource that are checked.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum ResourceKind {
    /// A mesh.
    Mesh,
    /// The stand-in of an ECS service.
    VirtualNode,
    /// Spreads requests by routes.
    VirtualRouter,
    /// A rule of a virtual router.
    Route,
    /// The name under which others call a service.
    VirtualService,
    /// Lets traffic into the mesh.
    VirtualGateway,
}

impl ResourceKind {
    /// Every kind, with the key that its export stands under and the key of its name.
    pub const KEYS: [(Self, &'static str, &'static str); 6] = [
        (Self::Mesh, "mesh", "meshName"),
        (Self::VirtualNode, "virtualNode", "virtualNodeName"),
        (Self::VirtualRouter, "virtualRouter", "virtualRouterName"),
        (Self::Route, "route", "routeName"),
        (Self::VirtualService, "virtualService", "virtualServiceName"),
        (Self::VirtualGateway, "virtualGateway", "virtualGatewayName"),
    ];

    /// Every kind, those that are in others first.
    const INNERMOST_FIRST: [Self; 6] =
        [Self::Route, Self::VirtualNode, Self::VirtualRouter, Self::VirtualService, Self::VirtualGateway, Self::Mesh];

    /// For people.
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

impl Resource {
    /// Takes the resources out of what a file holds: one export, or a list of exports.
    #[must_use]
    pub fn all_in(file: &Arc<SourceFile>, node: &Node) -> Vec<Self> {
        let exports = if node.items().is_empty() { std::slice::from_ref(node) } else { node.items() };
        exports.iter().flat_map(|export| Self::exported(file, export)).collect()
    }

    /// The CLI prints a resource under its kind; the API's body is the bare resource.
    fn exported(file: &Arc<SourceFile>, export: &Node) -> Vec<Self> {
        let under_kinds = ResourceKind::KEYS.iter().filter_map(|(kind, key, name_key)| {
            let inner = export.get(key)?;
            Self::new(file, *kind, inner, inner.get(name_key)?)
        });
        let found: Vec<Self> = under_kinds.collect();
        if found.is_empty() { Self::bare(file, export).into_iter().collect() } else { found }
    }

    /// A body names what it is in as well: a route names its router, and everything its mesh.
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

    /// As messages call it: `virtual node orders`.
    #[must_use]
    pub fn label(&self) -> String {
        format!("{} {}", self.kind.as_str(), self.name)
    }
}
