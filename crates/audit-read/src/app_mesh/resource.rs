//! A resource of App Mesh, as the API spells it.

use std::sync::Arc;

use crate::definition::{
    Dialect, Text, Undeclared,
    api::{self, Departure, Shape, Unread, departures_from},
};
use document::{HOLE, Node, SourceFile, Span, Value};

/// The kinds of resource that are checked.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum ResourceKind {
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
    /// A rule of a virtual gateway.
    GatewayRoute,
}

impl ResourceKind {
    /// Every kind, nested kinds first.
    pub const ALL: [Self; 7] = [
        Self::Route,
        Self::GatewayRoute,
        Self::VirtualNode,
        Self::VirtualRouter,
        Self::VirtualService,
        Self::VirtualGateway,
        Self::Mesh,
    ];

    /// Its name as users read it, its name in the API, and the key of a resource's name in the API.
    fn names(self) -> [&'static str; 3] {
        match self {
            Self::Mesh => ["mesh", "mesh", "meshName"],
            Self::VirtualNode => ["virtual node", "virtualNode", "virtualNodeName"],
            Self::VirtualRouter => ["virtual router", "virtualRouter", "virtualRouterName"],
            Self::Route => ["route", "route", "routeName"],
            Self::VirtualService => ["virtual service", "virtualService", "virtualServiceName"],
            Self::VirtualGateway => ["virtual gateway", "virtualGateway", "virtualGatewayName"],
            Self::GatewayRoute => ["gateway route", "gatewayRoute", "gatewayRouteName"],
        }
    }

    /// As users read it.
    pub fn as_str(self) -> &'static str {
        let [shown, ..] = self.names();
        shown
    }

    /// Its name in the API: the key of its export, and the type in its ARN.
    pub fn key(self) -> &'static str {
        let [_, key, _] = self.names();
        key
    }

    /// The key of its name in the API.
    pub fn name_key(self) -> &'static str {
        let [.., name_key] = self.names();
        name_key
    }

    /// What App Mesh's API says of it.
    pub(crate) fn shape(self) -> &'static Shape {
        match self {
            Self::Mesh => &api::MESH,
            Self::VirtualNode => &api::VIRTUAL_NODE,
            Self::VirtualRouter => &api::VIRTUAL_ROUTER,
            Self::Route => &api::ROUTE,
            Self::VirtualService => &api::VIRTUAL_SERVICE,
            Self::VirtualGateway => &api::VIRTUAL_GATEWAY,
            Self::GatewayRoute => &api::GATEWAY_ROUTE,
        }
    }

    /// The kind of the resource that it is a rule of.
    pub fn owner(self) -> Option<Self> {
        match self {
            Self::Route => Some(Self::VirtualRouter),
            Self::GatewayRoute => Some(Self::VirtualGateway),
            _ => None,
        }
    }
}

/// A resource of a mesh.
#[derive(Debug)]
pub struct Resource {
    /// What it is.
    pub kind: ResourceKind,
    /// The mesh that it is in; its own name, if it is one.
    pub mesh: Text,
    pub name: Text,
    /// The virtual router of a route; the virtual gateway of a gateway route.
    pub owner: Option<Text>,
    /// The complete resource, spelled as in the API: `meshName`, `spec`…
    pub node: Node,
    /// The spelling of its keys in the file.
    pub dialect: Dialect,
    /// Where it departs from App Mesh's API, as the file spells it.
    pub departures: Vec<Departure>,
    /// The values that no rule reads.
    pub unread: Vec<Unread>,
    /// References to what the input does not declare.
    pub undeclared: Vec<Undeclared>,
    /// The bytes that findings about all of it point at: its name, or its logical ID.
    pub span: Span,
    /// The file that it is from.
    pub file: Arc<SourceFile>,
    /// How it is in the file.
    pub presence: Presence,
    /// Its name in the file: a logical ID, a resource address. Empty in an export.
    pub address: String,
    /// The path of its construct, if the AWS CDK has synthesised the file.
    pub construct: Option<String>,
    /// Whether the AWS CDK has synthesised the file: then an edit of it is lost.
    pub is_synthesised: bool,
}

/// What a file says about the existence of a resource.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Presence {
    /// It existed when it was exported.
    Exported,
    /// The template or plan creates it.
    Declared,
    /// The template creates it under a condition.
    Conditional,
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
    /// The resource with the body `node`. Names that the body lacks are unknown: CloudFormation generates them.
    pub fn new(file: Arc<SourceFile>, kind: ResourceKind, node: Node, span: Span, presence: Presence) -> Self {
        Self {
            kind,
            mesh: text(&node, ResourceKind::Mesh.name_key()),
            name: text(&node, kind.name_key()),
            owner: kind.owner().map(|owner| text(&node, owner.name_key())),
            node,
            dialect: Dialect::Ecs,
            departures: Vec::new(),
            unread: Vec::new(),
            undeclared: Vec::new(),
            span,
            file,
            presence,
            address: String::new(),
            construct: None,
            is_synthesised: false,
        }
    }

    /// Whether it is certainly in `mesh`.
    pub fn is_in(&self, mesh: &str) -> bool {
        self.mesh.whole() == Some(mesh)
    }

    /// Whether it is certainly the one called `name` in `mesh`, if it exists.
    pub fn is_called(&self, mesh: &str, name: &str) -> bool {
        self.is_in(mesh) && self.name.whole() == Some(name)
    }

    /// The resources that it refers to by a known name.
    pub fn references(&self) -> Vec<Reference<'_>> {
        match self.kind {
            ResourceKind::VirtualService => {
                let node = self.spec("provider.virtualNode.virtualNodeName");
                let router = self.spec("provider.virtualRouter.virtualRouterName");
                let node = Reference::of(ResourceKind::VirtualNode, node);
                node.into_iter().chain(Reference::of(ResourceKind::VirtualRouter, router)).collect()
            }
            ResourceKind::VirtualNode => {
                let backends = self.spec("backends").map(Node::items).unwrap_or_default();
                let names = backends.iter().map(|backend| backend.get("virtualService")?.get("virtualServiceName"));
                names.filter_map(|name| Reference::of(ResourceKind::VirtualService, name)).collect()
            }
            ResourceKind::Route => {
                let router = Reference::of(ResourceKind::VirtualRouter, self.node.get("virtualRouterName"));
                let targets = self.weighted_targets().iter();
                let nodes = targets.filter_map(|to| Reference::of(ResourceKind::VirtualNode, to.get("virtualNode")));
                router.into_iter().chain(nodes).collect()
            }
            ResourceKind::GatewayRoute => {
                let gateway = Reference::of(ResourceKind::VirtualGateway, self.node.get("virtualGatewayName"));
                let target = self.route().and_then(|(_, route)| {
                    ["action", "target", "virtualService", "virtualServiceName"]
                        .iter()
                        .try_fold(route, |at, key| at.get(key))
                });
                gateway.into_iter().chain(Reference::of(ResourceKind::VirtualService, target)).collect()
            }
            ResourceKind::Mesh | ResourceKind::VirtualRouter | ResourceKind::VirtualGateway => Vec::new(),
        }
    }

    /// The protocol of a route, and the specification for that protocol.
    pub fn route(&self) -> Option<(&'static str, &Node)> {
        let is_known = |node: &&Node| matches!(node.value, Value::Map(_));
        ROUTE_KINDS.iter().find_map(|(key, protocol)| Some((*protocol, self.spec(key).filter(is_known)?)))
    }

    /// A route's targets.
    pub fn weighted_targets(&self) -> &[Node] {
        let action = self.route().and_then(|(_, route)| route.get("action"));
        action.and_then(|action| action.get("weightedTargets")).map(Node::items).unwrap_or_default()
    }

    /// The port mappings of its listeners, `port` and `protocol`; an unknown value for a listener that is unknown.
    pub fn listeners(&self) -> impl Iterator<Item = &Node> {
        let listeners = self.spec("listeners").map(Node::items).unwrap_or_default();
        listeners.iter().filter_map(|listener| match listener.value {
            Value::Unknown => Some(listener),
            _ => listener.get("portMapping"),
        })
    }

    /// The bytes of the value at a path of its specification; of its name if there is no such value.
    pub fn span_of(&self, path: &str) -> Span {
        self.spec(path).map_or(self.span, |node| node.place.span)
    }

    /// The value at a path below `spec`: `listeners`, `provider.virtualNode`.
    pub fn spec(&self, path: &str) -> Option<&Node> {
        path.split('.').try_fold(self.node.get("spec")?, Node::get)
    }

    /// Its name in messages: `virtual node orders`. Without a known name, it is called by its construct or address.
    pub fn label(&self) -> String {
        let name = self.name.whole().or(self.construct.as_deref()).unwrap_or(&self.address);
        format!("{} {name}", self.kind.as_str())
    }

    /// Its name in reports: the label and the construct.
    pub fn subject(&self) -> String {
        match (self.name.whole(), &self.construct) {
            (Some(_), Some(construct)) => format!("{} ({construct})", self.label()),
            _ => self.label(),
        }
    }
}

/// A name in the body of a resource.
fn text(body: &Node, key: &str) -> Text {
    match body.get(key).map(|node| &node.value) {
        Some(Value::Text(text)) => Text(text.clone()),
        _ => Text(HOLE.to_string()),
    }
}

impl Resource {
    /// The resources in a file: one export, or a list of exports.
    pub fn all_in(file: &Arc<SourceFile>, node: &Node) -> Vec<Self> {
        let exports = if node.items().is_empty() { std::slice::from_ref(node) } else { node.items() };
        exports.iter().flat_map(|export| exported(file, export)).collect()
    }
}

/// The CLI prints a resource under its kind; the API's response body is the bare resource.
fn exported(file: &Arc<SourceFile>, export: &Node) -> Vec<Resource> {
    let under_kinds = ResourceKind::ALL.iter().filter_map(|kind| read(file, *kind, export.get(kind.key())?));
    let found: Vec<Resource> = under_kinds.collect();
    if found.is_empty() { bare(file, export).into_iter().collect() } else { found }
}

/// A body also contains the name of its mesh, and a route's body the name of its router: nested kinds come first.
fn bare(file: &Arc<SourceFile>, body: &Node) -> Option<Resource> {
    body.get("spec")?;
    let kind = ResourceKind::ALL.into_iter().find(|kind| body.get(kind.name_key()).is_some())?;
    read(file, kind, body)
}

fn read(file: &Arc<SourceFile>, kind: ResourceKind, body: &Node) -> Option<Resource> {
    let span = body.get(kind.name_key()).filter(|name| name.text().is_some())?.place.span;
    body.get("meshName")?.text()?;
    let (departures, unread) = departures_from(body, kind.shape(), Dialect::Ecs, true);
    Some(Resource { departures, unread, ..Resource::new(file.clone(), kind, body.clone(), span, Presence::Exported) })
}
