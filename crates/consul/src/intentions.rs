//! Intentions: which service may call which: <https://developer.hashicorp.com/consul/api-docs/connect/intentions>.

use std::collections::BTreeMap;

use mesh::tenancy::Tenancy;
use serde::Deserialize;
use serde_json::Value;

use crate::{
    error::ConsulError,
    http::HttpConsul,
    request::{Request, or_default},
};

/// The name that stands for every service, or for every namespace.
const WILDCARD: &str = "*";

/// Which end of an intention a service is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum IntentionEnd {
    Source,
    Destination,
}

/// An intention. Consul leaves out `Action` where permissions decide.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "PascalCase")]
pub struct Intention {
    pub source_name: String,
    #[serde(rename = "SourceNS", default)]
    pub source_namespace: String,
    #[serde(default)]
    pub source_partition: String,
    #[serde(default)]
    pub source_peer: String,
    pub destination_name: String,
    #[serde(rename = "DestinationNS", default)]
    pub destination_namespace: String,
    #[serde(default)]
    pub destination_partition: String,
    #[serde(default)]
    pub action: Option<IntentionAction>,
    /// Rules for requests: the first that matches decides.
    #[serde(default, deserialize_with = "or_default")]
    pub permissions: Vec<IntentionPermission>,
    #[serde(rename = "JWT")]
    jwt: Option<Value>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum IntentionAction {
    Allow,
    Deny,
}

/// A rule for requests.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "PascalCase")]
pub struct IntentionPermission {
    pub action: IntentionAction,
    #[serde(rename = "HTTP")]
    pub http: Option<HttpMatch>,
    #[serde(rename = "JWT")]
    jwt: Option<Value>,
}

/// Which requests a permission or a route is for. The empty one is for all.
#[derive(Debug, Clone, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "PascalCase", default)]
pub struct HttpMatch {
    pub path_exact: String,
    pub path_prefix: String,
    pub path_regex: String,
    #[serde(deserialize_with = "or_default")]
    pub methods: Vec<String>,
    #[serde(deserialize_with = "or_default")]
    header: Vec<Value>,
    #[serde(deserialize_with = "or_default")]
    query_param: Vec<Value>,
}

/// Whether something is for a request, by its method and path.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Matched {
    Yes,
    No,
    /// It depends on a regular expression, a header or a query parameter.
    Perhaps,
}

impl HttpMatch {
    /// Whether it is for every request. Consul writes the route of all others with the prefix `/`.
    pub fn is_for_all(&self) -> bool {
        let rest = Self { path_prefix: String::new(), ..self.clone() };
        ["", "/"].contains(&self.path_prefix.as_str()) && rest == Self::default()
    }

    /// Whether it is for requests with this method and path.
    pub fn matches(&self, method: &str, path: &str) -> Matched {
        let is_method = self.methods.is_empty() || self.methods.iter().any(|it| it.eq_ignore_ascii_case(method));
        let is_path = (self.path_exact.is_empty() || self.path_exact == path) && path.starts_with(&self.path_prefix);
        let depends = !self.path_regex.is_empty() || !self.header.is_empty() || !self.query_param.is_empty();
        match (is_method && is_path, depends) {
            (false, _) => Matched::No,
            (true, true) => Matched::Perhaps,
            (true, false) => Matched::Yes,
        }
    }
}

impl IntentionPermission {
    /// Whether it also asks for a JSON web token.
    pub fn needs_jwt(&self) -> bool {
        self.jwt.is_some()
    }
}

impl Intention {
    /// Whether it is about calls to a service of this datacenter.
    pub fn is_to(&self, service: &str, tenancy: &Tenancy) -> bool {
        let [partition, namespace] = tenancy.place();
        is_it(&self.destination_name, service)
            && is_it(or_named_default(&self.destination_namespace), namespace)
            && or_named_default(&self.destination_partition) == partition
    }

    /// Whether it is about every source of its namespace.
    pub fn names_no_source(&self) -> bool {
        self.source_name == WILDCARD
    }

    /// Whether it is about calls from a service of this datacenter.
    pub fn is_from(&self, service: &str, tenancy: &Tenancy) -> bool {
        let [partition, namespace] = tenancy.place();
        self.source_peer.is_empty()
            && is_it(&self.source_name, service)
            && is_it(or_named_default(&self.source_namespace), namespace)
            && or_named_default(&self.source_partition) == partition
    }

    /// Whether its source and its destination are one service each.
    pub fn is_exact(&self) -> bool {
        [&self.source_name, &self.source_namespace, &self.destination_name, &self.destination_namespace]
            .iter()
            .all(|name| *name != WILDCARD)
    }

    /// Whether it names its destination, and not every service.
    pub fn names_destination(&self) -> bool {
        self.destination_name != WILDCARD
    }

    /// Whether it also asks for a JSON web token.
    pub fn needs_jwt(&self) -> bool {
        self.jwt.is_some()
    }
}

/// Whether the name in an intention stands for the wanted one.
fn is_it(its: &str, wanted: &str) -> bool {
    its == WILDCARD || its == wanted
}

/// Community Edition leaves names out that mean `default`.
fn or_named_default(name: &str) -> &str {
    if name.is_empty() { "default" } else { name }
}

impl HttpConsul {
    /// All intentions of a partition that the token may read, in order of precedence:
    /// <https://developer.hashicorp.com/consul/api-docs/connect/intentions#list-intentions>.
    pub async fn every_intention(&self, tenancy: &Tenancy) -> Result<Vec<Intention>, ConsulError> {
        let request = Request::list("the intentions", &["connect", "intentions"]).in_all_namespaces_of(tenancy);
        let answer: Option<Vec<Intention>> = self.json(&request).await?;
        Ok(answer.unwrap_or_default())
    }

    /// The intentions with a service at one end, also those for every service, in order of precedence: the first that
    /// applies decides. It takes `intentions:read` of the service, which `service:read` includes.
    pub async fn intentions(
        &self,
        end: IntentionEnd,
        service: &str,
        tenancy: &Tenancy,
    ) -> Result<Vec<Intention>, ConsulError> {
        let by = match end {
            IntentionEnd::Source => "source",
            IntentionEnd::Destination => "destination",
        };
        let request = Request::get(format!("intentions of service {service}"), &["connect", "intentions", "match"]);
        let request = request.query("by", by).query("name", service).within(tenancy);
        let answer: BTreeMap<String, Option<Vec<Intention>>> = self.json(&request).await?;
        Ok(answer.into_values().flatten().flatten().collect())
    }
}
