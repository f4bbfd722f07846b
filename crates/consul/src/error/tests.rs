//! What each answer of Consul becomes.

use std::collections::BTreeMap;

use serde::Deserialize;
use serde_json::Value;

use super::*;

/// Calls with the answers of Consul 1.8.7 and of 1.21 (Community Edition), and what the client makes of each answer. Random
/// IDs, indexes and times are masked.
const ANSWERS: &str = include_str!("../../tests/recordings/consul-answers.json");

#[derive(Deserialize)]
struct Row {
    case: String,
    answers: BTreeMap<String, RecordedAnswer>,
    becomes: BTreeMap<String, String>,
}

#[derive(Deserialize)]
struct RecordedAnswer {
    status: u16,
    body: Value,
}

fn sorted(status: u16, body: &str) -> String {
    match classify("the thing", TokenOwner::Controller, status, None, body) {
        Refusal::Ambiguous => "Ambiguous".to_owned(),
        Refusal::NoServers(error) | Refusal::Known(error) => {
            let debug = format!("{error:?}");
            debug.split_whitespace().next().unwrap_or_default().to_owned()
        }
    }
}

#[test]
fn answers_of_real_servers_are_classified() {
    assert_eq!(sorted(403, "ACL not found"), "Ambiguous");
    assert_eq!(sorted(403, "rpc error making call: ACL not found"), "Ambiguous");
    assert_eq!(sorted(403, "Permission denied: token lacks permission 'acl:write'"), "PermissionDenied");
    assert_eq!(sorted(409, r#"{"Errors":[{"OpIndex":0,"What":"Permission denied"}]}"#), "PermissionDenied");
    assert_eq!(sorted(409, r#"{"Errors":[{"OpIndex":0,"What":"failed to delete, index is stale"}]}"#), "Conflict");
    assert_eq!(sorted(404, ""), "Ambiguous");
    assert_eq!(sorted(401, "ACL support disabled"), "AclsDisabled");
    assert_eq!(sorted(500, "leadership lost while committing log"), "Unavailable");
    assert_eq!(sorted(500, "Invalid Token: AccessorID is already in use"), "Conflict");
    assert_eq!(sorted(500, "Invalid Policy: A Policy with Name \"p\" already exists"), "Conflict");
    assert_eq!(sorted(500, "Missing service registration"), "Conflict");
    assert_eq!(sorted(500, "Unknown service 'web-1' for check 'web-1-app'"), "Conflict");
    assert_eq!(sorted(500, "Cannot find token \"6e4a3bde-6d1e-4d3c-a4cc-1f2d3c4b5a69\""), "NotFound");
    assert_eq!(sorted(500, "No cluster leader"), "Unavailable");
    assert_eq!(sorted(503, "upstream connect error"), "Unavailable");
    assert_eq!(sorted(429, "Too many requests"), "Throttled");
    assert_eq!(sorted(400, "Invalid query parameter: \"ns\""), "Refused");
    assert_eq!(sorted(500, "Service identity \"_\" has an invalid name"), "Refused");
}

#[test]
fn each_recorded_answer_becomes_what_the_table_says() {
    let rows: Vec<Row> = serde_json::from_str(ANSWERS).unwrap();
    assert_eq!(rows.len(), 185);
    for row in rows {
        for (version, answer) in &row.answers {
            let body = answer.body.as_str().map_or_else(|| answer.body.to_string(), str::to_owned);
            let found = if answer.status == 200 { "Success".to_owned() } else { sorted(answer.status, &body) };
            assert_eq!(found, row.becomes[version], "{} in Consul {version}", row.case);
        }
    }
}

/// The accessor ID of the client's token is not secret, and names the token whose policy has to change.
#[test]
fn missing_permission_names_the_accessor_of_the_own_token() {
    let body =
        "Permission denied: token with AccessorID '6e4a3bde-6d1e-4d3c-a4cc-1f2d3c4b5a69' lacks permission 'acl:read'";
    let refused = |token, body| match classify("the list of ACL tokens", token, 403, None, body) {
        Refusal::Known(error) => error,
        other => panic!("{other:?}"),
    };
    let error = refused(TokenOwner::Controller, body);
    assert!(error.to_string().contains("6e4a3bde-6d1e-4d3c-a4cc-1f2d3c4b5a69"), "{error}");
    assert_eq!(error.missing_permission(), Some("acl:read"));
    // Before Consul 1.14, it does not say which
    assert_eq!(refused(TokenOwner::Controller, "Permission denied").missing_permission(), None);
}

#[test]
fn a_command_and_the_controller_name_their_own_tokens() {
    let subject = || "the list of ACL tokens".to_owned();
    let errors = |token| {
        [
            ConsulError::CredentialRejected { subject: subject(), token },
            ConsulError::PermissionDenied { subject: subject(), token, reason: "denied".to_owned() },
            ConsulError::CredentialUnreadable { token, reason: "broken".to_owned(), is_denied: false },
        ]
        .map(|error| error.to_string())
    };
    for said in errors(TokenOwner::Controller) {
        assert!(said.contains("the controller's own ACL token"), "{said}");
    }
    for said in errors(TokenOwner::Command) {
        assert!(said.contains("the token in CONSUL_HTTP_TOKEN or CONSUL_HTTP_TOKEN_FILE"), "{said}");
        assert!(!said.contains("controller") && !said.contains("install-sam"), "{said}");
    }
}
