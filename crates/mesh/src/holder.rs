//! The holders of ACL tokens.

use std::fmt;

use crate::{identity::MeshService, tenancy::Tenancy};

/// The holder of a token in Secrets Manager.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum TokenHolder {
    /// All instances of a service share one token.
    Service(MeshService),
    /// The token of a service in a secret whose name is the service's in another case.
    Spelled {
        service: MeshService,
        /// The secret's name after the prefix, which differs from [`MeshService::secret_name`].
        secret: String,
    },
    /// All Consul client agents (`consul-client` containers) of a partition share one token.
    Client {
        /// The tenancy of the client agents: the default namespace of their partition.
        tenancy: Tenancy,
    },
}

impl TokenHolder {
    pub fn tenancy(&self) -> &Tenancy {
        match self {
            Self::Service(service) | Self::Spelled { service, .. } => &service.tenancy,
            Self::Client { tenancy } => tenancy,
        }
    }

    /// The holder of a service's token in the secret with this name after the prefix. `None` if the name is not the service's,
    /// ignoring case: no token of the service is written into it.
    pub fn in_secret(service: MeshService, secret: &str) -> Option<Self> {
        let own = service.secret_name();
        match secret {
            same if same == own => Some(Self::Service(service)),
            spelled if spelled.eq_ignore_ascii_case(&own) => {
                Some(Self::Spelled { service, secret: spelled.to_owned() })
            }
            _ => None,
        }
    }

    /// The service whose instances have the token; `None` for client agents.
    pub fn service(&self) -> Option<&MeshService> {
        match self {
            Self::Service(service) | Self::Spelled { service, .. } => Some(service),
            Self::Client { .. } => None,
        }
    }

    /// Whether the token is of this service. Absent partitions and namespaces, as in Community Edition, mean `default`.
    pub fn is_of_service(&self, service: &MeshService) -> bool {
        let own = self.service();
        own.is_some_and(|own| own.name == service.name && own.tenancy.is_same_place(&service.tenancy))
    }
}

impl fmt::Display for TokenHolder {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Service(service) => write!(f, "service {}", service.name),
            Self::Spelled { service, secret } => write!(f, "service {} in the secret {secret}", service.name),
            Self::Client { .. } => f.write_str("consul-client"),
        }
    }
}
