//! ACL tokens, and calls with a token that does not exist.

use consul::{Grant, NewToken, ObjectKind, Token};
use mesh::{tenancy::Tenancy, token::TokenPair};
use secrecy::{ExposeSecret, SecretString};
use serde_json::{Map, Value, json};

use super::{Given, NOTHING, Row, Serve, objects::object};
use crate::{consul::Record, dialect::Answer, objects::ANONYMOUS, world::World};

const HOME: Tenancy = Tenancy::Community;

fn pair(accessor: usize, secret: usize) -> TokenPair {
    let secret = SecretString::from(format!("{secret:08}-2222-4222-8222-222222222222"));
    TokenPair { accessor: format!("{accessor:08}-1111-4111-8111-111111111111").parse().unwrap(), secret }
}

/// A token of the service `orders`.
fn orders(accessor: usize, secret: usize, description: &str) -> NewToken {
    let grant = Grant::ServiceIdentity("orders".parse().unwrap());
    NewToken { pair: pair(accessor, secret), description: description.into(), grant, tenancy: HOME }
}

fn create(world: &mut World, new: &NewToken) -> Result<Value, Answer> {
    world.check_new_token(new).map(|()| body(&world.commit_token(new)))
}

/// The first token exists, with its first or with another description.
const MADE: Given = |world| drop(create(world, &orders(1, 1, "made for orders")).unwrap());
const RENAMED: Given = |world| drop(create(world, &orders(1, 1, "renamed")).unwrap());

/// The tokens that every server has.
fn with_built_in_tokens(world: &mut World) {
    let management = json!({ "Policies": [{ "Name": "global-management" }] });
    for (accessor, description, grants) in [
        ("00000000-0000-4000-8000-000000000001", "Bootstrap Token (Global Management)", management),
        (ANONYMOUS, "Anonymous Token", json!({})),
    ] {
        let record = world.new_record(description, true);
        let (accessor, grants) = (accessor.parse().unwrap(), grants.as_object().cloned().unwrap());
        world.consul.tokens.push(Record { accessor, grants, ..record });
    }
}

fn read(world: &World) -> Result<Value, Answer> {
    world.token(&HOME, pair(1, 1).accessor).map(|token| body(&token))
}

fn update(world: &mut World, new: &NewToken) -> Result<Value, Answer> {
    world.update_token(new).map(|token| body(&token))
}

fn body(token: &Token) -> Value {
    let mut fields: Map<String, Value> = token.grants.clone();
    fields.insert("AccessorID".to_owned(), json!(token.pair.accessor.to_string()));
    fields.insert("SecretID".to_owned(), json!(token.pair.secret.expose_secret()));
    fields.insert("Description".to_owned(), json!(token.description.as_str()));
    Value::Object(fields)
}

fn listed(world: &World) -> Value {
    let tokens = world.listed_tokens(&HOME, None);
    let entry = |token: &mesh::token::ListedToken| {
        let mut entry = json!({ "AccessorID": token.accessor.to_string(), "Description": token.description.as_str() });
        if !token.grants.policies.is_empty() {
            let policies: Vec<Value> = token.grants.policies.iter().map(|name| json!({ "Name": name })).collect();
            entry["Policies"] = Value::Array(policies);
        }
        entry
    };
    Value::Array(tokens.iter().map(entry).collect())
}

/// The answer to a call with a token that does not exist.
pub(super) fn with_unknown_token(call: &str) -> Serve {
    match call {
        "own token" => |world| Err(world.scenario.dialect.unknown_credential_reads_itself()),
        "delete a token" | "delete a token that is not there" => {
            |world| Err(world.scenario.dialect.unknown_credential_deletes_token())
        }
        _ => |_| Err(Answer::unknown_credential()),
    }
}

/// In the order of the recording.
pub(super) const ROWS: &[Row] = &[
    ("read a token that is not there", NOTHING, |world| read(world)),
    ("delete a token that is not there", NOTHING, |world| {
        world.delete_token(pair(1, 1).accessor).map(|()| json!(true))
    }),
    ("update a token that is not there", NOTHING, |world| update(world, &orders(1, 1, "x"))),
    ("create a token", NOTHING, |world| create(world, &orders(1, 1, "made for orders"))),
    ("read it", MADE, |world| read(world)),
    ("create the same again", MADE, |world| create(world, &orders(1, 1, "made for orders"))),
    ("create with the accessor in use and another secret", MADE, |world| {
        create(world, &orders(1, 2, "made for orders"))
    }),
    ("create with the secret in use and another accessor", MADE, |world| {
        create(world, &orders(2, 1, "made for orders"))
    }),
    ("create with a policy that is not there", NOTHING, |world| {
        create(world, &NewToken { grant: Grant::Policy("absent".to_owned()), ..orders(4, 4, "") })
    }),
    ("update the description", MADE, |world| update(world, &orders(1, 1, "renamed"))),
    ("update with another secret", RENAMED, |world| update(world, &orders(1, 9, "made for orders"))),
    ("list tokens", RENAMED, |world| {
        with_built_in_tokens(world);
        Ok(listed(world))
    }),
    ("read the anonymous token", NOTHING, |world| object(world, ObjectKind::AnonymousToken, ANONYMOUS)),
];
