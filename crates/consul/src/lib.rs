//! A client of Consul's HTTP API: one trait for each part that the controller uses, and [`HttpConsul`], which
//! implements all of them.
//!
//! ```text
//!  Acl  Catalog  Agents  Logins  ConsulBootstrap  Permissions     called by the controller; Health and Release: by the command line
//!    └──────┴─────┬───┴───────────┘
//!             HttpConsul ─▶ http: the credential, retries, failover between servers
//!                            ├─ credential ─▶ CredentialSource   the controller's own token
//!                            └─ endpoints ──▶ ServerSource       the current servers
//! ```
//!
//! Every call may be repeated: tokens are created with a given pair, policies with a name, and transactions use
//! check-and-set.

mod acl;
mod address;
mod agents;
mod array;
mod bootstrap;
mod catalog;
mod client;
mod connector;
mod credential;
mod endpoints;
mod error;
mod grants;
mod health;
mod http;
mod logins;
mod lookup;
mod names;
mod object;
mod permissions;
mod release;
mod request;
mod retry_policy;
mod servers;
mod token;

pub use self::{
    acl::{Acl, TokenFilter},
    address::{ConsulAddresses, ConsulUrls, EcsServers},
    agents::Agents,
    bootstrap::ConsulBootstrap,
    catalog::{Catalog, MAX_TRANSACTION_OPERATIONS},
    client::HttpConsul,
    connector::{ConnectorError, TlsSettings, choose_tls_backend},
    credential::{CredentialError, CredentialSource},
    error::{ConsulError, Refusal, classify},
    grants::grants_of,
    health::Health,
    logins::Logins,
    object::{Fields, Kind, Object, fields},
    permissions::{OwnToken, Permissions},
    release::{Datacenter, Release},
    retry_policy::RetryPolicy,
    servers::{NoServers, Server, ServerSource},
    token::{Grant, NewToken, Token, login_mark},
};
