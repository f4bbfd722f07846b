//! Consul's HTTP API, as far as the controller uses it: one trait for each part of the API, and [`HttpConsul`], which
//! implements them all.
//!
//! ```text
//!  Acl   Catalog   Agents   ConsulBootstrap     what the controller calls
//!    └──────┴─────┬───┴───────────┘
//!             HttpConsul ─▶ http: the credential, retries, failover between servers
//!                            ├─ credential ─▶ CredentialSource   the controller's own token
//!                            └─ endpoints ──▶ ServerSource       which servers there are now
//! ```
//!
//! Every call may be repeated: tokens are created as a given pair, policies under a name, and a transaction compares
//! before it deletes.

mod acl;
mod address;
mod agents;
mod bootstrap;
mod catalog;
mod client;
mod connector;
mod credential;
mod endpoints;
mod error;
mod http;
mod lookup;
mod object;
mod request;
mod retry_policy;
mod servers;

pub use self::{
    acl::Acl,
    address::{ConsulAddresses, ConsulUrls, EcsServers},
    agents::Agents,
    bootstrap::{ConsulBootstrap, Fields},
    catalog::{Catalog, MAX_TRANSACTION_OPERATIONS},
    client::HttpConsul,
    connector::{ConnectorError, TlsSettings, choose_tls_backend},
    credential::{CredentialError, CredentialSource},
    error::ConsulError,
    object::{Kind, Object, fields},
    retry_policy::RetryPolicy,
    servers::{NoServers, Server, ServerSource},
};
