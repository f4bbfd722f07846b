//! Requests to Consul's HTTP API, before they are sent, and how long they may take.

use std::time::Duration;

use http_client::Limit;
use mesh::tenancy::Tenancy;
use reqwest::Method;
use serde::{Deserialize, Deserializer};
use serde_json::Value;

use crate::{credential::TokenOwner, error::ConsulError};

/// The path of the token of the request.
const OWN_TOKEN: [&str; 3] = ["acl", "token", "self"];

/// One request. Not `Debug`, because its body may contain a secret.
pub(super) struct Request {
    /// The requested object, for errors.
    pub(super) subject: String,
    pub(super) method: Method,
    /// Path segments below `/v1`; each is percent-encoded.
    pub(super) path: Vec<String>,
    pub(super) query: Vec<(&'static str, String)>,
    pub(super) body: Option<Value>,
    /// Whether the time until the end of the answer grows with the number of tasks and tokens.
    pub(super) is_list: bool,
    /// How much of the answer is read.
    pub(super) limit: Limit,
}

impl Request {
    pub(super) fn get(subject: impl Into<String>, path: &[&str]) -> Self {
        Self::new(Method::GET, subject, path)
    }

    pub(super) fn put(subject: impl Into<String>, path: &[&str], body: Value) -> Self {
        Self { body: Some(body), ..Self::new(Method::PUT, subject, path) }
    }

    /// A PUT without a body.
    pub(super) fn put_nothing(subject: impl Into<String>, path: &[&str]) -> Self {
        Self::new(Method::PUT, subject, path)
    }

    pub(super) fn post(subject: impl Into<String>, path: &[&str], body: Value) -> Self {
        Self { body: Some(body), ..Self::new(Method::POST, subject, path) }
    }

    pub(super) fn delete(subject: impl Into<String>, path: &[&str]) -> Self {
        Self::new(Method::DELETE, subject, path)
    }

    /// Reads the configuration of the server that answers.
    pub(super) fn agent_self() -> Self {
        Self::get("Consul's datacenter", &["agent", "self"])
    }

    /// Reads the token of the request, and whose it is.
    pub(super) fn own_token(owner: TokenOwner) -> Self {
        Self::get(owner.token(), &OWN_TOKEN)
    }

    pub(super) fn is_about_own_token(&self) -> bool {
        self.path == OWN_TOKEN
    }

    fn new(method: Method, subject: impl Into<String>, path: &[&str]) -> Self {
        let path = path.iter().map(|&segment| segment.to_owned()).collect();
        let (subject, query, limit) = (subject.into(), Vec::new(), Limit::Whole);
        Self { subject, method, path, query, body: None, is_list: false, limit }
    }

    /// Reads a list, whose time limit is [`RetryPolicy::list`].
    pub(super) fn list(subject: impl Into<String>, path: &[&str]) -> Self {
        Self { is_list: true, limit: Limit::List, ..Self::get(subject, path) }
    }

    /// Reads a list while it arrives.
    pub(super) fn streamed_list(subject: impl Into<String>, path: &[&str]) -> Self {
        Self { limit: Limit::Stream, ..Self::list(subject, path) }
    }

    /// Reads what a list has of a few tasks. Consul looks through all of it, which takes as long, but the answer is short.
    pub(super) fn part_of_list(subject: impl Into<String>, path: &[&str], filter: String) -> Self {
        Self { limit: Limit::Whole, ..Self::list(subject, path) }.query("filter", filter)
    }

    pub(super) fn query(mut self, key: &'static str, value: impl Into<String>) -> Self {
        self.query.push((key, value.into()));
        self
    }

    /// Asks the leader, after it has made sure that it still is.
    pub(super) fn consistent(self) -> Self {
        self.query("consistent", "")
    }

    /// Adds the partition and the namespace if they are configured: Community Edition rejects both.
    pub(super) fn within(self, tenancy: &Tenancy) -> Self {
        match tenancy {
            Tenancy::Community => self,
            Tenancy::Enterprise { namespace, .. } => self.in_partition_of(tenancy).query("ns", namespace.as_str()),
        }
    }

    /// Adds the partition if it is configured.
    pub(super) fn in_partition_of(self, tenancy: &Tenancy) -> Self {
        match tenancy.partition() {
            Some(partition) => self.query("partition", partition.as_str()),
            None => self,
        }
    }

    /// Adds the partition if it is configured, and all of its namespaces.
    pub(super) fn in_all_namespaces_of(self, tenancy: &Tenancy) -> Self {
        match tenancy.partition() {
            Some(partition) => self.query("partition", partition.as_str()).query("ns", "*"),
            None => self,
        }
    }

    /// The error for an answer that cannot be read.
    pub(super) fn malformed(&self, reason: impl Into<String>) -> ConsulError {
        ConsulError::Malformed { subject: self.subject.clone(), reason: reason.into() }
    }
}

/// Reads a field of an answer in which Consul writes `null` for an empty value.
pub(super) fn or_default<'de, D: Deserializer<'de>, T: Default + Deserialize<'de>>(field: D) -> Result<T, D::Error> {
    Ok(Option::deserialize(field)?.unwrap_or_default())
}

/// Timeouts and retries of the client.
#[derive(Debug, Clone, Copy)]
pub struct RetryPolicy {
    /// The timeout of a connection attempt.
    pub connect: Duration,
    /// The timeout of one request, from start to the last byte of the answer.
    pub request: Duration,
    /// The same for lists, whose answers grow with the number of tasks and tokens: of tokens, of the services and checks
    /// on the node of a cluster, and of agents.
    pub list: Duration,
    /// How long the first byte of a list, or the next one, may take. After that, another server is asked.
    pub silence: Duration,
    /// The maximum delay of the first retry; it doubles with each further one.
    pub first_retry: Duration,
    /// The number of retries.
    pub retries: usize,
    /// The timeout of the discovery of servers, including the wait for the first one to come up.
    pub discovery: Duration,
}

impl RetryPolicy {
    /// For a batch of events, which has 60 seconds. Its reads end after half of the time that is left, 28 seconds: a list
    /// may take 25 of them.
    pub fn for_events() -> Self {
        Self {
            connect: Duration::from_secs(2),
            request: Duration::from_secs(5),
            list: Duration::from_secs(25),
            silence: Duration::from_secs(10),
            first_retry: Duration::from_millis(200),
            retries: 4,
            discovery: Duration::from_secs(20),
        }
    }

    /// For a sweep or a deployment, which has 300 seconds. A request ends long before the bound `call` of the token
    /// lifecycle, 30 seconds, within which it takes effect or not at all.
    pub fn for_sweeps() -> Self {
        Self {
            request: Duration::from_secs(10),
            list: Duration::from_secs(100),
            silence: Duration::from_secs(30),
            ..Self::for_events()
        }
    }
}
