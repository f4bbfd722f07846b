//! ACL tokens.

use consul::{Grant, NewToken, Token};
use mesh::{tenancy::Tenancy, token::TokenPair};
use secrecy::{ExposeSecret, SecretString};
use serde_json::{Map, Value, json};

use super::{Row, not_served, served};
use crate::{consul::Record, world::World};

const HOME: Tenancy = Tenancy::Community;
const INVALID: &str = "the types of the controller's requests have no such value";
const ROLES: &str = "the controller gives no role to a token";
const FILTERED: &str = "the controller lists all tokens";
const ENTERPRISE: &str = "the controller names a partition or a namespace only to Enterprise, and this server is not";
const BUILT_IN: &str = "only the bootstrap, which is not simulated, changes Consul's own tokens";
const OWN: &str =
    "the controller's own token is none of the simulated tokens; `credentials` has the case that it does not exist";

fn pair(accessor: usize, secret: usize) -> TokenPair {
    let secret = SecretString::from(format!("{secret:08}-2222-4222-8222-222222222222"));
    TokenPair { accessor: format!("{accessor:08}-1111-4111-8111-111111111111").parse().unwrap(), secret }
}

/// A token of the service `orders`.
fn orders(accessor: usize, secret: usize, description: &str) -> NewToken {
    let grant = Grant::ServiceIdentity("orders".parse().unwrap());
    NewToken { pair: pair(accessor, secret), description: description.to_owned(), grant, tenancy: HOME }
}

fn create(world: &mut World, new: &NewToken) -> Result<Value, crate::dialect::Answer> {
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

pub(super) fn rows() -> Vec<Row> {
    let mut rows = vec![
        served("read a token that is not there", |world| {
            world.token(&HOME, pair(1, 1).accessor).map(|token| body(&token))
        }),
        served("delete a token that is not there", |world| {
            world.delete_token(pair(1, 1).accessor).map(|()| json!(true))
        }),
        served("update a token that is not there", |world| {
            world.update_token(&orders(1, 1, "x")).map(|token| body(&token))
        }),
        served("create a token", |world| create(world, &orders(1, 1, "made for orders"))),
        served("read it", |world| {
            with_first(world, "made for orders");
            world.token(&HOME, pair(1, 1).accessor).map(|token| body(&token))
        }),
        served("create the same again", |world| {
            with_first(world, "made for orders");
            create(world, &orders(1, 1, "made for orders"))
        }),
        served("create with the accessor in use and another secret", |world| {
            with_first(world, "made for orders");
            create(world, &orders(1, 2, "made for orders"))
        }),
        served("create with the secret in use and another accessor", |world| {
            with_first(world, "made for orders");
            create(world, &orders(2, 1, "made for orders"))
        }),
    ];
    rows.extend(not_served(
        INVALID,
        &["create with an accessor that is no UUID", "create with a service name in capitals"],
    ));
    rows.push(served("create with a policy that is not there", |world| {
        create(world, &NewToken { grant: Grant::Policy("absent".to_owned()), ..orders(4, 4, "") })
    }));
    rows.extend(not_served(ROLES, &["create with a role that is not there"]));
    rows.extend([
        served("update the description", |world| {
            with_first(world, "made for orders");
            world.update_token(&orders(1, 1, "renamed")).map(|token| body(&token))
        }),
        served("update with another secret", |world| {
            with_first(world, "renamed");
            world.update_token(&orders(1, 9, "made for orders")).map(|token| body(&token))
        }),
        served("list tokens", |world| {
            with_first(world, "renamed");
            with_built_in_tokens(world);
            Ok(listed(world))
        }),
    ]);
    rows.extend(rest());
    rows
}

fn rest() -> Vec<Row> {
    let filtered = [
        "list tokens of an auth method that is not there",
        "list tokens of a service",
        "list tokens of a policy that is not there",
    ];
    let enterprise =
        ["list tokens with a partition", "list tokens with a namespace", "list tokens in another namespace"];
    let built_in = ["delete the anonymous token", "read the anonymous token"];
    [
        not_served(FILTERED, &filtered),
        not_served(ENTERPRISE, &enterprise),
        not_served(BUILT_IN, &built_in),
        not_served(OWN, &["own token"]),
    ]
    .into_iter()
    .flatten()
    .collect()
}
