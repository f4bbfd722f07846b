//! What the programs of the mesh write when they fail, and what it means.

use super::Meaning;

/// A message that is known.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in crate::why) struct KnownMessage {
    /// A line with all these parts has the message.
    parts: &'static [&'static str],
    /// A line with one of these parts is about something else.
    others: &'static [&'static str],
    pub(in crate::why) meaning: Meaning,
}

const fn known(parts: &'static [&'static str], sentence: &'static str, source: &'static str) -> KnownMessage {
    KnownMessage { parts, others: &[], meaning: Meaning { sentence, source } }
}

/// A permission that the line does not name.
const fn denied(parts: &'static [&'static str]) -> KnownMessage {
    let sentence =
        "Consul does not permit it: no binding rule gives the task role a service, or its token lacks a permission";
    known(parts, sentence, BINDINGS).unless(LOGOUT)
}

impl KnownMessage {
    const fn unless(self, others: &'static [&'static str]) -> Self {
        Self { others, ..self }
    }

    fn is_in(&self, text: &str) -> bool {
        let has = |part: &&str| text.contains(*part);
        self.parts.iter().all(has) && !self.others.iter().any(has)
    }
}

const LOGIN: &str = "https://github.com/hashicorp/consul/blob/v1.21.0/agent/grpc-external/services/acl/login.go";
const BINDINGS: &str = "https://github.com/hashicorp/consul/blob/v1.21.0/agent/consul/auth/login.go";
const CAPITALS: &str = "https://github.com/hashicorp/consul/issues/20373";
const OLD_SERVERS: &str = "https://github.com/hashicorp/consul-k8s/issues/1798";
const AWS_IAM: &str = "https://github.com/hashicorp/consul-awsauth/blob/main/auth.go";
const AWS_IAM_TOKEN: &str = "https://github.com/hashicorp/consul-awsauth/blob/main/token.go";
const ENVOY_VERSIONS: &str =
    "https://github.com/hashicorp/consul/blob/v1.21.0/agent/envoyextensions/xdscommon/envoy_versioning.go";
const XDS: &str = "https://github.com/hashicorp/consul/blob/v1.21.0/agent/xds/delta.go";
const DISCOVERY: &str = "https://github.com/hashicorp/consul-server-connection-manager/blob/main/discovery/watcher.go";
const HEALTH_SYNC: &str = "https://github.com/hashicorp/consul-ecs/blob/v0.10.0/subcommand/health-sync/checks.go";
const ENVOY_REJECTS: &str = "https://www.envoyproxy.io/docs/envoy/latest/configuration/overview/xds_api";
const X509: &str = "https://pkg.go.dev/crypto/x509";
const TLS: &str = "https://pkg.go.dev/crypto/tls#RecordHeaderError";
const HTTP: &str = "https://pkg.go.dev/net/http";
const FILES: &str = "https://pkg.go.dev/io/fs#PathError";
const GRPC: &str = "https://pkg.go.dev/google.golang.org/grpc/codes";
const GRPC_CLIENT: &str = "https://github.com/grpc/grpc-go/blob/master/internal/transport/http2_client.go";

/// A logout fails at the end of a task that stops normally, and explains nothing.
const LOGOUT: &[&str] = &["logout"];
/// Where a container of the task itself listens.
const OWN_TASK: &[&str] = &["127.0.0.1", "localhost", "[::1]"];

/// The messages. The first that a line has says what it means: what is more special comes first.
pub(in crate::why) const KNOWN_MESSAGES: [KnownMessage; 38] = [
    known(
        &["IAM principal", "is not trusted"],
        "Consul does not trust the task role: it is outside the path that the auth method admits, or in another account",
        AWS_IAM,
    ),
    known(
        &["failed to create token"],
        "usually, the tag consul.hashicorp.com.service-name of the task role is missing, or is no name of a service. Otherwise \
         the servers failed, for example without a leader: their log has the reason",
        LOGIN,
    ),
    known(
        // With the name in quotes: each refused login names the auth method.
        &["auth method", "\" not found"],
        "Consul has no such auth method in this partition and namespace, or is older than 1.12",
        LOGIN,
    ),
    known(
        &["unknown service hashicorp.consul.acl.ACLService"],
        "Consul's servers are too old for this login, or those of the primary datacenter are: update them",
        OLD_SERVERS,
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
        &["received error code 403", "security token included in the request is expired"],
        "the credentials that signed the request have expired: the container was restarted and sent the request of its first \
         start again. Replace the task",
        AWS_IAM,
    ),
    known(
        &["received error code 403", "iam:GetRole"],
        "the task role may not read itself: allow iam:GetRole on its own ARN",
        AWS_IAM,
    ),
    known(&["desc = error making request"], "Consul's servers do not reach STS or IAM", AWS_IAM),
    known(
        &["invalid STS hostname"],
        "the task signs for an endpoint outside amazonaws.com: set STSEndpoint of the auth method",
        AWS_IAM_TOKEN,
    ),
    known(
        &["invalid IAM hostname"],
        "the task signs for an endpoint outside amazonaws.com: set IAMEndpoint of the auth method",
        AWS_IAM_TOKEN,
    ),
    known(
        &["missing header", "GetEntity"],
        "the request lacks the role: remove consulLogin.includeEntity from CONSUL_ECS_CONFIG_JSON",
        AWS_IAM_TOKEN,
    ),
    known(
        &["missing header", "ServerID"],
        "the auth method demands the header of its ServerIDHeaderValue: set consulLogin.serverIdHeaderValue to the same value",
        AWS_IAM,
    ),
    known(
        &["x509", "has expired"],
        "a certificate has expired, or the clock of the host is wrong. Look at the certificates of Consul's servers and at its CA",
        X509,
    ),
    known(
        &["x509", "certificate is valid for"],
        "the servers' certificate has another name: set consulServers.defaults.tlsServerName to one that it has",
        X509,
    ),
    known(
        &["x509", "doesn't contain any IP SANs"],
        "the servers' certificate has no IP addresses: set consulServers.defaults.tlsServerName to a name that it has",
        X509,
    ),
    known(
        &["certificate signed by unknown authority"],
        "the task does not trust the CA of Consul's servers: give their CA in CONSUL_GRPC_CACERT_PEM and \
         CONSUL_HTTPS_CACERT_PEM, or its file in consulServers.defaults.caCertFile",
        X509,
    ),
    known(
        &["first record does not look like a TLS handshake"],
        "the port of the servers does not speak TLS: correct consulServers.grpc.port, usually 8503 with TLS and 8502 without, \
         or set consulServers.grpc.tls to false",
        TLS,
    ),
    known(
        &["error reading server preface"],
        "the port of the servers does not speak gRPC without TLS: correct consulServers.grpc.port, usually 8503 with TLS and \
         8502 without, or set consulServers.grpc.tls to true",
        GRPC_CLIENT,
    ),
    known(
        &["server gave HTTP response to HTTPS client"],
        "the HTTP API of the servers does not speak TLS there: correct consulServers.http.port, or set consulServers.http.https \
         to false",
        HTTP,
    ),
    known(
        &["Client sent an HTTP request to an HTTPS server"],
        "the HTTP API of the servers speaks TLS: set consulServers.http.https to true",
        HTTP,
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
        &["cannot bind", "Permission denied"],
        "the user of the proxy may not listen on the port of the line: give the upstream a port of 1024 or higher",
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
    )
    .unless(LOGOUT),
    known(
        &["failed to discover Consul server addresses"],
        "no server is found: consulServers.hosts names none that DNS has, or go-discover finds none",
        DISCOVERY,
    ),
    known(
        &["open /", "permission denied"],
        "the user of the container may not open the file of the line: check the volume, its mount, and the container's user",
        FILES,
    ),
    known(
        &["mkdir /", "permission denied"],
        "the user of the container may not write to the folder of the line: check the volume, its mount, and the container's \
         user",
        FILES,
    ),
    known(
        &["lacks permission"],
        "the token of the task lacks the permission that the line names. Consul gives the token to the service that the task \
         role's tag names, in small letters: a service with a capital letter never gets one",
        CAPITALS,
    )
    .unless(LOGOUT),
    known(
        &["login failed", "code = PermissionDenied"],
        "Consul's binding rules give the task role nothing: create the binding rule of the auth method",
        BINDINGS,
    ),
    denied(&["code = PermissionDenied"]),
    denied(&["Unexpected response code: 403", "Permission denied"]),
    // Envoy writes the code of gRPC as a number.
    denied(&["config stream", "closed: 7,"]),
    known(
        &["connection refused"],
        "nothing listens at the address and port of the line: check consulServers.hosts and consulServers.grpc.port",
        GRPC,
    )
    .unless(OWN_TASK),
    known(
        &["deadline exceeded"],
        "the servers do not answer: check the address, the port, and that the security groups let the task reach it",
        GRPC,
    )
    .unless(LOGOUT),
];

/// What a line with a known message means.
pub(super) fn meaning(text: &str) -> Option<Meaning> {
    KNOWN_MESSAGES.iter().find(|message| message.is_in(text)).map(|message| message.meaning)
}
