//! What the programs of the mesh write when they fail, and what it means.

use super::Meaning;

/// A message that is known.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in crate::why) struct KnownMessage {
    /// A line with all these parts has the message.
    pub(in crate::why) parts: &'static [&'static str],
    pub(in crate::why) meaning: Meaning,
}

const fn known(parts: &'static [&'static str], sentence: &'static str, source: &'static str) -> KnownMessage {
    KnownMessage { parts, meaning: Meaning { sentence, source } }
}

const LOGIN: &str = "https://github.com/hashicorp/consul/blob/v1.21.0/agent/grpc-external/services/acl/login.go";
const BINDER: &str = "https://github.com/hashicorp/consul/blob/v1.21.0/agent/consul/auth/binder.go";
const AWS_IAM: &str = "https://github.com/hashicorp/consul-awsauth/blob/main/auth.go";
const ENVOY_VERSIONS: &str =
    "https://github.com/hashicorp/consul/blob/v1.21.0/agent/envoyextensions/xdscommon/envoy_versioning.go";
const XDS: &str = "https://github.com/hashicorp/consul/blob/v1.21.0/agent/xds/delta.go";
const DISCOVERY: &str = "https://github.com/hashicorp/consul-server-connection-manager/blob/main/discovery/watcher.go";
const HEALTH_SYNC: &str = "https://github.com/hashicorp/consul-ecs/blob/v0.10.0/subcommand/health-sync/checks.go";
const ENVOY_REJECTS: &str = "https://www.envoyproxy.io/docs/envoy/latest/configuration/overview/xds_api";
const X509: &str = "https://pkg.go.dev/crypto/x509";
const GRPC: &str = "https://pkg.go.dev/google.golang.org/grpc/codes";

/// The messages. The first that a line has says what it means: what is more special comes first.
pub(in crate::why) const KNOWN_MESSAGES: [KnownMessage; 24] = [
    known(
        &["IAM principal", "is not trusted"],
        "Consul does not trust the task role: it is outside the path that the auth method admits, or in another account",
        AWS_IAM,
    ),
    known(
        &["failed to create token"],
        "the tag consul.hashicorp.com.service-name of the task role is missing, or is no name of a service, for example because \
         of a capital letter",
        BINDER,
    ),
    known(
        &["auth method", "not found"],
        "Consul has no such auth method in this partition and namespace, or is older than 1.12",
        LOGIN,
    ),
    known(
        &["received error code 403", "Signature expired"],
        "AWS refuses the signed request as too old: the clock of the host is wrong, or the container was restarted and sent the \
         request of its first start again",
        AWS_IAM,
    ),
    known(
        &["received error code 403", "not yet current"],
        "AWS refuses the signed request as too new: the clock of the host is wrong",
        AWS_IAM,
    ),
    known(
        &["received error code 403", "iam:GetRole"],
        "the task role may not read itself: allow iam:GetRole on its own ARN",
        AWS_IAM,
    ),
    known(&["error making request"], "Consul's servers do not reach STS or IAM", AWS_IAM),
    known(
        &["invalid STS hostname"],
        "the task signs for an endpoint outside amazonaws.com: set STSEndpoint of the auth method",
        AWS_IAM,
    ),
    known(
        &["invalid IAM hostname"],
        "the task signs for an endpoint outside amazonaws.com: set IAMEndpoint of the auth method",
        AWS_IAM,
    ),
    known(
        &["missing header"],
        "the request lacks the role: remove includeEntity from consulLogin in CONSUL_ECS_CONFIG_JSON",
        AWS_IAM,
    ),
    known(
        &["x509", "has expired"],
        "a certificate has expired, or the clock of the host is wrong. Look at the certificates of Consul's servers and at its CA",
        X509,
    ),
    known(
        &["x509", "certificate is valid for"],
        "the servers' certificate has another name: set consulServers.tls.tlsServerName to one that it has",
        X509,
    ),
    known(
        &["x509", "doesn't contain any IP SANs"],
        "the servers' certificate has no IP addresses: set consulServers.tls.tlsServerName to a name that it has",
        X509,
    ),
    known(
        &["certificate signed by unknown authority"],
        "the task does not trust the CA of Consul's servers: set consulServers.tls.caCertPem, or caCertFile, to their CA",
        X509,
    ),
    known(
        &["is too old", "is not supported by Consul"],
        "Consul refuses the Envoy of this consul-dataplane as too old: use a consul-dataplane that fits the servers",
        ENVOY_VERSIONS,
    ),
    known(
        &["too many xDS streams open"],
        "Consul's servers spread the proxies among themselves, and count registered proxies that no longer run. A sweep removes \
         these, and the proxy tries again by itself",
        XDS,
    ),
    known(
        &["cannot bind", "in use"],
        "a port of the proxy is taken: another container of the task, or another task on the host, listens there",
        ENVOY_REJECTS,
    ),
    known(
        &["config for", "rejected"],
        "Envoy rejects a part of its configuration, and keeps what it had. The line names the part: look at the config entries of \
         the service and of its upstreams",
        ENVOY_REJECTS,
    ),
    known(
        &["only one check should be associated with the sidecar proxy service"],
        "its sidecar proxy has a check of another program, and health-sync demands exactly one. Deregister that check",
        HEALTH_SYNC,
    ),
    known(
        &["ACL not found"],
        "Consul does not know the token: it was deleted, has expired, or Consul was restored from a snapshot. Replace the task",
        LOGIN,
    ),
    known(
        &["failed to discover Consul server addresses"],
        "no server is found: consulServers.hosts names none that DNS has, or go-discover finds none",
        DISCOVERY,
    ),
    known(
        &["ermission denied"],
        "Consul's rules do not permit it: no binding rule gives the task role a service, or its token lacks the permission that \
         the line names",
        LOGIN,
    ),
    known(
        &["connection refused"],
        "nothing listens at the address and port of the line: check consulServers.hosts and consulServers.grpc.port",
        GRPC,
    ),
    known(
        &["deadline exceeded"],
        "the servers do not answer: check the address, the port, and that the security groups let the task reach it",
        GRPC,
    ),
];

/// What a line with a known message means.
pub(super) fn meaning(text: &str) -> Option<Meaning> {
    let is_it = |message: &&KnownMessage| message.parts.iter().all(|part| text.contains(part));
    KNOWN_MESSAGES.iter().find(is_it).map(|message| message.meaning)
}
