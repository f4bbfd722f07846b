//! Secrets are in a type that redacts itself and is zeroed on drop.

use crate::shipped::tokens;
use consul::{Grant, NewToken, Token};
use controller::settings::{CredentialSetting, Settings};
use mesh::{
    secret::{Retirement, SecretState, StoredSecret},
    tenancy::Tenancy,
    token::TokenPair,
};
use secrecy::{SecretString, zeroize::ZeroizeOnDrop};

const CANARY: &str = "canary-2c26b46b68ffc68ff99b";

/// Compiles only for types that are zeroed on drop.
fn zeroed_on_drop<T: ZeroizeOnDrop>(_: &T) {}

fn pair() -> TokenPair {
    let accessor = "6e4a3bde-6d1e-4d3c-a4cc-1f2d3c4b5a69".parse().unwrap();
    TokenPair { accessor, secret: SecretString::from(CANARY) }
}

#[test]
fn secret_types_redact_and_zero() {
    let settings = Settings::read(|name| {
        let value = match name {
            "CONSUL_HTTP_ADDR" => "http://127.0.0.1:8500",
            "CONSUL_HTTP_TOKEN" => CANARY,
            "ECS_CLUSTER_ARNS" => "arn:aws:ecs:us-east-1:123456789012:cluster/prod",
            "QUEUE_URL" => "http://127.0.0.1:1/queue",
            _ => return None,
        };
        Some(value.to_owned())
    })
    .unwrap();
    let (description, tenancy) = ("".into(), Tenancy::Community);
    let token = Token { pair: pair(), description, grants: serde_json::Map::new(), tenancy };
    let new = NewToken {
        pair: pair(),
        description: "".into(),
        grant: Grant::Policy("p".to_owned()),
        tenancy: Tenancy::Community,
    };
    let stored = StoredSecret { state: SecretState::Active(pair()), is_ours: true, version: None, written_at: None };
    for shown in [
        format!("{settings:?}"),
        format!("{settings:#?}"),
        format!("{token:?}"),
        format!("{new:?}"),
        format!("{stored:#?}"),
        format!("{:?}", SecretState::Active(pair()).render(uuid::Uuid::nil())),
        format!("{:?}", SecretState::Retiring(pair(), Retirement::default()).render(uuid::Uuid::nil())),
    ] {
        assert!(!shown.contains(CANARY) && shown.contains("REDACTED"), "{shown}");
    }
    let CredentialSetting::Token(own) = settings.consul_credential else { panic!("a token") };
    zeroed_on_drop(&own);
    zeroed_on_drop(&new.pair.secret);
    zeroed_on_drop(&SecretState::Active(pair()).render(uuid::Uuid::nil()));
    zeroed_on_drop(&SecretState::Retiring(pair(), Retirement::default()).render(uuid::Uuid::nil()));
}

/// The files that expose secrets, and how often: for requests, for storage, and for comparisons. Review a new exposure before
/// listing it here.
const EXPOSURES: [(&str, usize); 6] = [
    ("crates/aws/src/secrets.rs", 3),
    ("crates/consul/src/acl.rs", 2),
    ("crates/consul/src/credential.rs", 5),
    ("crates/mesh/src/secret.rs", 2),
    ("crates/mesh/src/token.rs", 2),
    ("src/wiring.rs", 5),
];

#[test]
fn secrets_are_exposed_only_in_listed_files() {
    let mut found = Vec::new();
    // Tests may read their own secrets.
    let is_code = |path: &String| !path.ends_with("/tests.rs") && !path.contains("/tests/");
    for path in test_harness::sources::sources().into_iter().filter(is_code) {
        let text = std::fs::read_to_string(&path).unwrap();
        let count = tokens(&path, &text).matches("expose_secret").count();
        if count > 0 {
            assert!(!text.contains("#[derive(Debug, Serialize"), "{path}: a type with a secret could be serialised");
            found.push((path, count));
        }
    }
    let expected: Vec<(String, usize)> = EXPOSURES.map(|(path, count)| (path.to_owned(), count)).into();
    assert_eq!(found, expected);
}
