//! What the edge makes of the answers of each dialect.

use consul::{Grant, NewToken, ObjectKind, fields};
use controller::{Edges, bootstrap::client_agent_policy};
use mesh::token::TokenPair;
use secrecy::SecretString;

use super::*;
use crate::{calls::CallOutcome, direct::Direct};

const HOME: Tenancy = Tenancy::Community;

fn token() -> NewToken {
    let accessor = "00000001-1111-4111-8111-111111111111".parse().unwrap();
    let pair = TokenPair { accessor, secret: SecretString::from("00000001-2222-4222-8222-222222222222") };
    let grant = Grant::ServiceIdentity("orders".parse().unwrap());
    NewToken { pair, description: "orders".into(), grant, tenancy: HOME }
}

fn policy() -> Object {
    client_agent_policy(&HOME, "client")
}

fn role() -> Object {
    let body = fields([("Name", "role".into())]);
    Object { kind: ObjectKind::Role, name: "role".to_owned(), tenancy: HOME, body }
}

/// The result of a call: `Ok`, or the kind of the error.
fn kind<T>(result: Result<T, ConsulError>) -> String {
    let debug = result.map_or_else(|error| format!("{error:?}"), |_| "Ok".to_owned());
    debug.split_whitespace().next().unwrap_or_default().to_owned()
}

/// One call of each sort.
async fn calls(edges: &Edges) -> Vec<String> {
    let accessor = token().pair.accessor;
    vec![
        kind(edges.reads.consul.token(&HOME, accessor).await),
        kind(edges.writes.consul.update_token(&token()).await),
        kind(edges.writes.consul.delete_token(&HOME, accessor).await),
        kind(edges.writes.consul.create_policy(&policy()).await),
        kind(edges.writes.consul.delete_policy(&policy()).await),
        kind(edges.writes.consul.force_leave("gone", &HOME).await),
        kind(edges.reads.consul.read(&role()).await),
        kind(edges.writes.consul.create(&role(), role().body).await),
        kind(edges.writes.consul.update(&role(), role().body).await),
    ]
}

#[test]
fn a_deletion_that_is_repeated_succeeds_in_each_dialect() {
    for world in Dialect::ALL.map(Direct::new) {
        // Given a token and a policy
        let edges = &world.edges;
        world.drive(CallOutcome::Served, async {
            edges.writes.consul.create_token(&token()).await.unwrap();
            edges.writes.consul.create_policy(&policy()).await.unwrap();
        });
        // When the first answer to their deletion is lost, and the client repeats the request
        world.drive(CallOutcome::Repeated, async {
            // Then they are deleted
            edges.writes.consul.delete_token(&HOME, token().pair.accessor).await.unwrap();
            assert!(edges.writes.consul.delete_policy(&policy()).await.unwrap());
        });
    }
}

#[test]
fn a_fault_becomes_the_same_error_in_each_dialect() {
    for (fault, expected) in [
        (Fault::Throttled, "Throttled"),
        (Fault::Unavailable, "Unavailable"),
        (Fault::NoAnswer, "Unavailable"),
        (Fault::Credential, "CredentialRejected"),
    ] {
        for world in Dialect::ALL.map(Direct::new) {
            let found = world.drive(CallOutcome::Refused(fault), calls(&world.edges));
            assert_eq!(found, vec![expected; found.len()], "{fault:?}");
        }
    }
}
