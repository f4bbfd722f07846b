//! ACL tokens, calls with a token that does not exist, and policies.

use consul::{Grant, NewToken, Token};
use mesh::{tenancy::Tenancy, token::TokenPair};
use secrecy::{ExposeSecret, SecretString};
use serde_json::{Map, Value, json};

use super::{Row, Serve};
use crate::{consul::Record, dialect::Answer, world::World};

const HOME: Tenancy = Tenancy::Community;

fn pair(accessor: usize, secret: usize) -> TokenPair {
    let secret = SecretString::from(format!("{secret:08}-2222-4222-8222-222222222222"));
    TokenPair { accessor: format!("{accessor:08}-1111-4111-8111-111111111111").parse().unwrap(), secret }
}

/// A token of the service `orders`.
fn orders(accessor: usize, secret: usize, description: &str) -> NewToken {
    let grant = Grant::ServiceIdentity("orders".parse().unwrap());
    NewToken { pair: pair(accessor, secret), description: description.to_owned(), grant, tenancy: HOME }
}

fn create(world: &mut World, new: &NewToken) -> Result<Value, Answer> {
    world.check_new_token(new).map(|()| body(&world.commit_token(new)))
}

/// The first token exists.
fn with_first(world: &mut World, description: &str) {
    create(world, &orders(1, 1, description)).unwrap();
}

/// The tokens that every server has.
fn with_built_in_tokens(world: &mut World) {
    let management = json!({ "Policies": [{ "Name": "global-management" }] });
    for (accessor, description, grants) in [
        ("00000000-0000-4000-8000-000000000001", "Bootstrap Token (Global Management)", management),
        ("00000000-0000-0000-0000-000000000002", "Anonymous Token", json!({})),
    ] {
        let secret = world.new_secret();
        world.consul.tokens.push(Record {
            accessor: accessor.parse().unwrap(),
            secret,
            description: description.to_owned(),
            grants: grants.as_object().cloned().unwrap(),
            auth_method: None,
            created: 0,
            tenancy: HOME,
            foreign: true,
            creator: None,
        });
    }
}

fn body(token: &Token) -> Value {
    let mut fields: Map<String, Value> = token.grants.clone();
    fields.insert("AccessorID".to_owned(), json!(token.pair.accessor.to_string()));
    fields.insert("SecretID".to_owned(), json!(token.pair.secret.expose_secret()));
    fields.insert("Description".to_owned(), json!(token.description));
    Value::Object(fields)
}

fn listed(world: &World) -> Value {
    let tokens = world.listed_tokens(&HOME);
    let entry = |token: &mesh::token::ListedToken| {
        let mut entry = json!({ "AccessorID": token.accessor.to_string(), "Description": token.description });
        if !token.grants.policies.is_empty() {
            let policies: Vec<Value> = token.grants.policies.iter().map(|name| json!({ "Name": name })).collect();
            entry["Policies"] = Value::Array(policies);
        }
        entry
    };
    Value::Array(tokens.iter().map(entry).collect())
}

/// The answers to calls with a token that does not exist: to most of them, to deletions of tokens, and to a read of the own token.
const UNKNOWN: Serve = |_| Err(Answer::unknown_credential());
const UNKNOWN_DELETES_TOKEN: Serve = |world| Err(world.scenario.dialect.unknown_credential_deletes_token());
const UNKNOWN_READS_ITSELF: Serve = |world| Err(world.scenario.dialect.unknown_credential_reads_itself());

/// In the order of the recording.
pub(super) const ROWS: &[Row] = &[
    ("read a token that is not there", |world| world.token(&HOME, pair(1, 1).accessor).map(|token| body(&token))),
    ("delete a token that is not there", |world| world.delete_token(pair(1, 1).accessor).map(|()| json!(true))),
    ("update a token that is not there", |world| world.update_token(&orders(1, 1, "x")).map(|token| body(&token))),
    ("create a token", |world| create(world, &orders(1, 1, "made for orders"))),
    ("read it", |world| {
        with_first(world, "made for orders");
        world.token(&HOME, pair(1, 1).accessor).map(|token| body(&token))
    }),
    ("create the same again", |world| {
        with_first(world, "made for orders");
        create(world, &orders(1, 1, "made for orders"))
    }),
    ("create with the accessor in use and another secret", |world| {
        with_first(world, "made for orders");
        create(world, &orders(1, 2, "made for orders"))
    }),
    ("create with the secret in use and another accessor", |world| {
        with_first(world, "made for orders");
        create(world, &orders(2, 1, "made for orders"))
    }),
    ("create with a policy that is not there", |world| {
        create(world, &NewToken { grant: Grant::Policy("absent".to_owned()), ..orders(4, 4, "") })
    }),
    ("update the description", |world| {
        with_first(world, "made for orders");
        world.update_token(&orders(1, 1, "renamed")).map(|token| body(&token))
    }),
    ("update with another secret", |world| {
        with_first(world, "renamed");
        world.update_token(&orders(1, 9, "made for orders")).map(|token| body(&token))
    }),
    ("list tokens", |world| {
        with_first(world, "renamed");
        with_built_in_tokens(world);
        Ok(listed(world))
    }),
    ("a token that is not there: read a token", UNKNOWN),
    ("a token that is not there: read a token that is not there", UNKNOWN),
    ("a token that is not there: list tokens", UNKNOWN),
    ("a token that is not there: create a token", UNKNOWN),
    ("a token that is not there: update a token", UNKNOWN),
    ("a token that is not there: delete a token", UNKNOWN_DELETES_TOKEN),
    ("a token that is not there: delete a token that is not there", UNKNOWN_DELETES_TOKEN),
    ("a token that is not there: own token", UNKNOWN_READS_ITSELF),
    ("a token that is not there: read a policy by name", UNKNOWN),
    ("a token that is not there: services of a node", UNKNOWN),
    ("a token that is not there: checks of a node", UNKNOWN),
    ("a token that is not there: register", UNKNOWN),
    ("a token that is not there: deregister", UNKNOWN),
    ("a token that is not there: transaction", UNKNOWN),
    ("a token that is not there: members", UNKNOWN),
    ("a token that is not there: force-leave", UNKNOWN),
    ("read a policy by a name that is not there", |world| world.policy("absent").map(|()| json!({}))),
    ("create a policy", |world| world.create_policy("p1").map(|()| json!({ "Name": "p1" }))),
    ("create it again", |world| {
        world.create_policy("p1").unwrap();
        world.create_policy("p1").map(|()| json!({ "Name": "p1" }))
    }),
    ("read it by name", |world| {
        world.create_policy("p1").unwrap();
        world.policy("p1").map(|()| json!({ "Name": "p1" }))
    }),
    ("delete a policy", |world| {
        world.create_policy("p1").unwrap();
        world.delete_policy("p1").map(|()| json!(true))
    }),
    ("delete a policy that is gone", |world| world.delete_policy("p1").map(|()| json!(true))),
];
