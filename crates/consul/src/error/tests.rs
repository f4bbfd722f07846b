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
    match classify("the thing", status, None, body) {
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

/// The accessor ID of the controller's own token is not secret, and names the token whose policy has to change.
#[test]
fn missing_permission_names_the_accessor_of_the_own_token() {
    let body =
        "Permission denied: token with AccessorID '6e4a3bde-6d1e-4d3c-a4cc-1f2d3c4b5a69' lacks permission 'acl:read'";
    let Refusal::Known(error) = classify("the list of ACL tokens", 403, None, body) else { panic!("a known refusal") };
    assert!(error.to_string().contains("6e4a3bde-6d1e-4d3c-a4cc-1f2d3c4b5a69"), "{error}");
}
