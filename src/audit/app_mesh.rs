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
        exports.iter().filter_map(|export| Self::one(file, export)).collect()
    }

    fn one(file: &Arc<SourceFile>, export: &Node) -> Option<Self> {
        ResourceKind::KEYS.iter().find_map(|(kind, key, name_key)| {
            // The CLI prints the resource under its kind; the API's body is the bare resource.
            let node = export.get(key).filter(|inner| inner.get(name_key).is_some());
            let name = node?.get(name_key)?;
            let node = node?;
            Some(Self {
                kind: *kind,
                mesh: node.get("meshName")?.text()?.to_owned(),
                name: name.text()?.to_owned(),
                router: node
                    .get("virtualRouterName")
                    .and_then(Node::text)
                    .filter(|_| *kind == ResourceKind::Route)
                    .map(str::to_owned),
                node: node.clone(),
                span: name.place.span,
                file: file.clone(),
            })
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
