//! What the programs of the mesh log, as it stands in `CloudWatch` Logs, and what `why` makes of it. The lines are from the issues and
//! sources that the table of the messages names, with the time and the names changed.

use std::collections::BTreeSet;

use mesh::consul_ecs::{ConfigCheck, ConfigFault, NEWEST, ROOT, names::DATAPLANE};
use serde_json::json;

use super::log::with_log;
use crate::why::{
    Meaning,
    log::{KNOWN_MESSAGES, KnownMessage},
};

/// How hclog writes a login that Consul's servers refuse, if the reason has one line.
fn refused(reason: &str) -> String {
    format!(
        "2026-11-29T11:00:00.123Z [ERROR] consul-server-connection-manager: ACL auth method login failed: error=\"{reason}\""
    )
}

/// How hclog writes the same with the answer of STS or IAM, which has several: `awslogs` makes an event of each.
fn refused_by_aws(service: &str, code: &str, message: &str) -> String {
    format!(
        "2026-11-29T11:00:00.123Z [ERROR] consul-server-connection-manager: ACL auth method login failed:\n  error=\n  \
         | rpc error: code = Unauthenticated desc = received error code 403: \
         <ErrorResponse xmlns=\"https://{service}.amazonaws.com/doc/2011-06-15/\">\n  |   <Error>\n  |     <Type>Sender</Type>\n  \
         |     <Code>{code}</Code>\n  |     <Message>{message}</Message>\n  |   </Error>\n  |   \
         <RequestId>7b0c1d9e-95a4-4c2f-9f4a-6f4b3a5c1d2e</RequestId>\n  | </ErrorResponse>\n  "
    )
}

/// How consul-dataplane writes that it reaches no server.
fn unavailable(why: &str) -> String {
    format!(
        "2026-11-29T11:00:00.123Z [ERROR] consul-dataplane.server-connection-manager: connection error: \
         error=\"failed to switch to Consul server \\\"10.0.0.7:8503\\\": {why}\""
    )
}

/// How it does if a TLS handshake failed.
fn untrusted(why: &str) -> String {
    unavailable(&format!(
        "rpc error: code = Unavailable desc = connection error: desc = \\\"transport: authentication handshake failed: {why}\\\""
    ))
}

/// How Envoy writes that it rejects a listener.
fn rejected(why: &str) -> String {
    format!(
        "2026-11-29T11:00:00.123Z+00:00 [warning] envoy.config(14) delta config for \
         type.googleapis.com/envoy.config.listener.v3.Listener rejected: Error adding/updating listener(s) {why}"
    )
}

/// How Envoy writes that Consul has closed its stream.
fn closed(why: &str) -> String {
    format!(
        "2026-11-29T11:00:00.123Z+00:00 [warning] envoy.config(14) DeltaAggregatedResources gRPC config stream to \
         consul-dataplane closed: {why}"
    )
}

/// Lines of a log, and the beginning of what they mean.
type Recorded = (String, &'static str);

fn recorded() -> Vec<Recorded> {
    [logins(), connections(), of_envoy(), others()].concat()
}

fn logins() -> Vec<Recorded> {
    vec![
        (
            refused(
                "rpc error: code = Unauthenticated desc = IAM principal arn:aws:iam::111122223333:role/web is not trusted",
            ),
            "Consul does not trust the task role",
        ),
        (refused("rpc error: code = Internal desc = failed to create token"), "usually, the tag"),
        (
            refused("rpc error: code = InvalidArgument desc = auth method \\\"iam-ecs-service-token\\\" not found"),
            "Consul has no such auth method",
        ),
        (
            refused("rpc error: code = Unimplemented desc = unknown service hashicorp.consul.acl.ACLService"),
            "Consul's servers are too old for this login",
        ),
        (
            refused_by_aws(
                "sts",
                "SignatureDoesNotMatch",
                "Signature expired: 20261129T103000Z is now earlier than 20261129T104500Z (20261129T110000Z - 15 min.)",
            ),
            "AWS refuses the signed request as too old",
        ),
        (
            refused_by_aws(
                "sts",
                "SignatureDoesNotMatch",
                "Signature not yet current: 20261129T113000Z is still later than 20261129T110500Z (20261129T110000Z + 5 min.)",
            ),
            "AWS refuses the signed request as too new",
        ),
        (
            refused_by_aws("sts", "ExpiredToken", "The security token included in the request is expired"),
            "the credentials that signed the request have expired",
        ),
        (
            refused_by_aws(
                "iam",
                "AccessDenied",
                "User: arn:aws:sts::111122223333:assumed-role/web/0123 is not authorized to perform: iam:GetRole on resource: \
                 role web because no identity-based policy allows the iam:GetRole action",
            ),
            "the task role may not read itself",
        ),
        (
            refused(
                "rpc error: code = Unauthenticated desc = error making request: Post \\\"https://sts.eu-west-1.amazonaws.com/\\\": \
                 dial tcp 54.239.37.7:443: i/o timeout",
            ),
            "Consul's servers do not reach STS or IAM",
        ),
        (
            refused(
                "rpc error: code = Unauthenticated desc = invalid STS hostname: \\\"sts.cn-north-1.amazonaws.com.cn\\\"",
            ),
            "the task signs for an endpoint outside amazonaws.com: set STSEndpoint",
        ),
        (
            refused(
                "rpc error: code = Unauthenticated desc = invalid IAM hostname: \\\"iam.cn-north-1.amazonaws.com.cn\\\"",
            ),
            "the task signs for an endpoint outside amazonaws.com: set IAMEndpoint",
        ),
        (
            refused("rpc error: code = Unauthenticated desc = missing header \\\"X-Consul-IAM-GetEntity-Method\\\""),
            "the request lacks the role",
        ),
        (
            refused("rpc error: code = Unauthenticated desc = missing header \\\"X-Consul-IAM-ServerID\\\""),
            "the auth method demands the header",
        ),
    ]
}

fn connections() -> Vec<Recorded> {
    vec![
        (
            untrusted(
                "tls: failed to verify certificate: x509: certificate has expired or is not yet valid: current time \
                 2026-11-29T11:00:00Z is after 2026-11-28T00:00:00Z",
            ),
            "a certificate has expired",
        ),
        (
            untrusted(
                "tls: failed to verify certificate: x509: certificate is valid for server.dc1.consul, localhost, not \
                 consul.example.com",
            ),
            "the servers' certificate has another name",
        ),
        (
            untrusted(
                "tls: failed to verify certificate: x509: cannot validate certificate for 10.0.0.7 because it doesn't contain any \
                 IP SANs",
            ),
            "the servers' certificate has no IP addresses",
        ),
        (
            untrusted("tls: failed to verify certificate: x509: certificate signed by unknown authority"),
            "the task does not trust the CA",
        ),
        (
            untrusted("tls: first record does not look like a TLS handshake"),
            "the port of the servers does not speak TLS",
        ),
        (
            unavailable("rpc error: code = Unavailable desc = connection error: desc = \\\"error reading server preface: EOF\\\""),
            "the port of the servers does not speak gRPC without TLS",
        ),
        (
            "2026-11-29T11:00:00.123Z [ERROR] Put \"https://10.0.0.7:8500/v1/catalog/register\": http: server gave HTTP response to \
             HTTPS client"
                .to_owned(),
            "the HTTP API of the servers does not speak TLS there",
        ),
        (
            "2026-11-29T11:00:00.123Z [ERROR] Unexpected response code: 400 (Client sent an HTTP request to an HTTPS server.)"
                .to_owned(),
            "the HTTP API of the servers speaks TLS",
        ),
    ]
}

fn of_envoy() -> Vec<Recorded> {
    vec![
        (closed("3, Envoy 1.33.6 is too old and is not supported by Consul"), "Consul refuses the Envoy"),
        (closed("8, too many xDS streams open"), "Consul's servers spread the proxies"),
        (
            rejected("public_listener:0.0.0.0:20000: cannot bind '0.0.0.0:20000': Address already in use"),
            "a port of the proxy",
        ),
        (
            rejected("api:127.0.0.1:80: cannot bind '127.0.0.1:80': Permission denied"),
            "the user of the proxy may not listen",
        ),
        (rejected("api:127.0.0.1:1234: route: unknown cluster 'api.default.dc1'"), "Envoy rejects a part"),
    ]
}

fn others() -> Vec<Recorded> {
    vec![
        (
            "2026-11-29T11:00:00.123Z [ERROR] only one check should be associated with the sidecar proxy service".to_owned(),
            "its sidecar proxy has a check of another program",
        ),
        (
            unavailable("fetching supported dataplane features: rpc error: code = Unauthenticated desc = ACL not found"),
            "Consul does not know the token",
        ),
        (
            "2026-11-29T11:00:00.123Z [ERROR] consul-server-connection-manager: connection error: error=\"failed to discover Consul \
             server addresses: failed to resolve DNS name: consul.internal: lookup consul.internal on 10.0.0.2:53: no such host\""
                .to_owned(),
            "no server is found",
        ),
        (
            "2026-11-29T11:00:00.123Z [ERROR] open /consul/service-token: permission denied".to_owned(),
            "the user of the container may not open the file",
        ),
        (
            "panic: mkdir /consul/envoy: permission denied".to_owned(),
            "the user of the container may not write to the folder",
        ),
        (
            "2026-11-29T11:00:00.123Z [ERROR] Unexpected response code: 403 (rpc error making call: Permission denied: token with \
             AccessorID '0b3c5ff2-5a3e-4a0f-9e6c-8b8f7d2f9b11' lacks permission 'service:write' on \"Web\")"
                .to_owned(),
            "the token of the task lacks the permission",
        ),
        (
            refused("rpc error: code = PermissionDenied desc = Permission denied"),
            "Consul's binding rules give the task role nothing",
        ),
        (
            "2026-11-29T11:00:00.123Z [ERROR] consul-dataplane: failed to get bootstrap config: error=\"rpc error: code = \
             PermissionDenied desc = Permission denied\""
                .to_owned(),
            "Consul does not permit it",
        ),
        (
            "2026-11-29T11:00:00.123Z [ERROR] Unexpected response code: 403 (rpc error making call: Permission denied)".to_owned(),
            "Consul does not permit it",
        ),
        (closed("7, Permission denied"), "Consul does not permit it"),
        (
            unavailable("rpc error: code = Unavailable desc = connection error: desc = \\\"transport: Error while dialing: dial tcp \
                         10.0.0.7:8503: connect: connection refused\\\""),
            "nothing listens at the address",
        ),
        (
            unavailable("rpc error: code = DeadlineExceeded desc = context deadline exceeded"),
            "the servers do not answer",
        ),
    ]
}

/// What is made of a log of these lines, each an event of its own.
fn meaning(lines: &str) -> Option<Meaning> {
    let lines: Vec<&str> = ["2026-11-29T11:00:00.000Z [INFO]  starting"].into_iter().chain(lines.lines()).collect();
    with_log(DATAPLANE, &lines).log.unwrap().meaning
}

#[test]
fn each_recorded_message_has_its_meaning() {
    for (lines, expected) in recorded() {
        let found = meaning(&lines).map(|meaning| meaning.sentence);
        assert!(found.is_some_and(|sentence| sentence.starts_with(expected)), "{lines}: {found:?}");
    }
}

#[test]
fn each_known_message_has_a_recorded_one() {
    let seen: BTreeSet<&str> =
        recorded().iter().filter_map(|(lines, _)| meaning(lines)).map(|it| it.sentence).collect();
    for message in KNOWN_MESSAGES {
        assert!(seen.contains(message.meaning.sentence), "no recorded line means: {}", message.meaning.sentence);
    }
}

#[test]
fn answer_of_aws_is_shown_as_one_line_with_its_message() {
    let (code, message) = ("ExpiredToken", "The security token included in the request is expired");
    let lines = refused_by_aws("sts", code, message);
    let lines: Vec<&str> = lines.lines().chain(["2026-11-29T11:00:01.000Z [INFO]  retrying"]).collect();
    let log = with_log(DATAPLANE, &lines).log.unwrap();
    assert_eq!(log.lines.len(), 1, "{log:?}");
    let shown = &log.lines[0].text;
    assert!(shown.contains(&format!("<Message>{message}</Message>")) && !shown.contains('|'), "{shown}");
}

#[test]
fn messages_about_something_else_have_no_meaning() {
    for line in [
        // At a normal stop
        "[ERROR] consul-server-connection-manager: ACL auth method logout failed: error=\"rpc error: code = DeadlineExceeded desc = \
         context deadline exceeded\"",
        "[ERROR] consul-server-connection-manager: ACL auth method logout failed: error=\"rpc error: code = Unauthenticated desc = \
         ACL not found\"",
        // A file, and not Consul
        "sh: can't create /consul/x: Permission denied",
        "[ERROR] fork/exec /usr/local/bin/envoy: permission denied",
        // The task's own Envoy, which does not run yet
        "[ERROR] consul-dataplane.metrics: error scraping: Get \"http://127.0.0.1:19000/stats\": dial tcp 127.0.0.1:19000: connect: \
         connection refused",
        "[ERROR] missing header \"Content-Type\"",
        "[ERROR] error making request to the app: EOF",
    ] {
        assert_eq!(meaning(line), None, "{line}");
    }
}

#[test]
fn settings_that_a_meaning_names_exist() {
    let is_named = |word: &&str| word.starts_with("consulServers.") || word.starts_with("consulLogin.");
    let words = |message: &KnownMessage| message.meaning.sentence.split([' ', ',', ':']);
    let settings: BTreeSet<&str> = KNOWN_MESSAGES.iter().flat_map(words).filter(is_named).collect();
    assert!(settings.len() > 5, "{settings:?}");
    for setting in settings.iter().chain(&["consulServers.tls.caCertPem"]) {
        let value = setting.rsplit('.').fold(json!("x"), |value, key| json!({ key: value }));
        let unknown = |fault: &ConfigFault| matches!(fault, ConfigFault::Unknown { .. });
        let problems = ConfigCheck::run(&value, &ROOT, None, NEWEST);
        let is_unknown = problems.iter().any(|problem| unknown(&problem.fault));
        assert_eq!(is_unknown, *setting == "consulServers.tls.caCertPem", "{setting}");
    }
}
