//! A client of Consul's HTTP API: one trait for each part that the controller uses, and [`HttpConsul`], which
//! implements all of them.
//!
//! ```text
//!  Acl  Catalog  Agents  Logins  Permissions  ConsulBootstrap  Release     called by the controller
//!    └──────┴─────┬───┴─────┴─────────┴──────────────┴────────────┘
//!             HttpConsul (http): retries, failover between servers
//!                  ├─ credential ─▶ CredentialSource   the controller's own token
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
mod credential;
mod endpoints;
mod error;
mod http;
mod request;
mod servers;

pub use self::{
    acl::{Acl, Grant, NewToken, Token, TokenFilter, TokenSearch, grants_of},
    agent::{Agents, Datacenter, Release},
    authorization::{Logins, OwnToken, Permissions},
    bootstrap::{ConsulBootstrap, Fields, Kind, Object, fields},
    catalog::{Catalog, MAX_TRANSACTION_OPERATIONS},
    credential::{CredentialError, CredentialSource},
    endpoints::{ConnectorError, TlsSettings},
    error::{ConsulError, Refusal, classify},
    http::HttpConsul,
    request::RetryPolicy,
    servers::{ConsulAddresses, ConsulUrls, EcsServers, NoServers, Server, ServerSource},
};
