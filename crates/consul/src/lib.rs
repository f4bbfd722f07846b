//! A client of Consul's HTTP API: for each part of it one trait that reads and, where something is changed, one that writes.
//! [`HttpConsul`] implements all of them. What only commands read has no trait.
//!
//! ```text
//!  TokenReads   CatalogReads   AgentReads   ObjectReads   Logins  Permissions  ServerVersion
//!  TokenWrites  CatalogWrites  AgentWrites  ObjectWrites
//!       └─────────────┴──────┬──────┴────────────┴───────────┴─────────┴─────────┘
//!             HttpConsul (http): retries, failover between servers
//!                  ├─ credential ─▶ CredentialSource   the token, and whose it is
//!                  └─ endpoints ──▶ ServerSource       the current servers
//! ```
//!
//! Every call may be repeated: tokens are created with a given pair, policies with a name, and transactions use
//! check-and-set.

mod acl;
mod agent;
mod array;
mod authorization;
mod bootstrap;
mod catalog;
mod certificate;
mod config_entry;
mod credential;
mod discovery_chain;
mod endpoints;
mod error;
mod gateways;
mod http;
mod intentions;
mod limits;
mod peerings;
mod proxies;
mod request;
mod roots;
mod servers;

pub use self::{
    acl::{Grant, NewToken, Token, TokenFilter, TokenReads, TokenSearch, TokenWrites, grants_of},
    agent::{AgentReads, AgentWrites, Datacenter, ServerVersion},
    authorization::{Logins, OwnToken, Permissions},
    bootstrap::{Fields, Object, ObjectKind, ObjectReads, ObjectWrites, fields},
    catalog::{CatalogReads, CatalogWrites, MAX_TRANSACTION_OPERATIONS},
    certificate::{UnreadableCertificate, Validity},
    config_entry::{Direction, MeshEntry},
    credential::{CredentialError, CredentialSource, TokenOwner},
    discovery_chain::{
        ChainNode, ChainOverrides, ChainResolver, ChainRoute, ChainSplit, ChainTarget, DiscoveryChain, RouteDefinition,
        SubsetDefinition,
    },
    endpoints::{ConnectorError, TlsSettings},
    error::{ConsulError, Refusal, classify},
    gateways::{ExportedService, GatewayRoute},
    http::HttpConsul,
    intentions::{HttpMatch, Intention, IntentionAction, IntentionEnd, IntentionPermission, Matched},
    limits::{CallLimits, EnvoyExtension, OutlierDetection, ProxyDefaults, ServiceLimits},
    peerings::Peering,
    proxies::{ConnectProxy, ProxyPlace, RegisteredUpstream},
    request::RetryPolicy,
    roots::{CaRoot, ExpiringCertificate},
    servers::{ConsulAddresses, ConsulUrls, EcsServers, NoServers, Server, ServerSource},
};
