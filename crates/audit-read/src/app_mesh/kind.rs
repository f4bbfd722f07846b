//! The kinds of resource of App Mesh.

/// The kinds of resource that are checked.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
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

    /// As users read it.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Mesh => "mesh",
            Self::VirtualNode => "virtual node",
            Self::VirtualRouter => "virtual router",
            Self::Route => "route",
            Self::VirtualService => "virtual service",
            Self::VirtualGateway => "virtual gateway",
            Self::GatewayRoute => "gateway route",
        }
    }

    /// Its name in the API: the key of its export, and the type in its ARN.
    pub fn key(self) -> &'static str {
        match self {
            Self::Mesh => "mesh",
            Self::VirtualNode => "virtualNode",
            Self::VirtualRouter => "virtualRouter",
            Self::Route => "route",
            Self::VirtualService => "virtualService",
            Self::VirtualGateway => "virtualGateway",
            Self::GatewayRoute => "gatewayRoute",
        }
    }

    /// The key of its name in the API.
    pub fn name_key(self) -> &'static str {
        match self {
            Self::Mesh => "meshName",
            Self::VirtualNode => "virtualNodeName",
            Self::VirtualRouter => "virtualRouterName",
            Self::Route => "routeName",
            Self::VirtualService => "virtualServiceName",
            Self::VirtualGateway => "virtualGatewayName",
            Self::GatewayRoute => "gatewayRouteName",
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
