//! Values of secrets: their states, and that no output contains a secret half.

use proptest::prelude::*;

use super::*;

const CANARY: &str = "canary-5d2f1c";
const TASK: &str = "arn:aws:ecs:us-east-1:123456789012:task/prod/0123456789abcdef0123456789abcdef";

fn parse(value: &str) -> Result<(SecretState, bool), InvalidField> {
    SecretState::parse("consul-ecs-web", &SecretString::from(value))
}

fn pair() -> TokenPair {
    let accessor = "6e4a3bde-6d1e-4d3c-a4cc-1f2d3c4b5a69".parse().unwrap();
    TokenPair { accessor, secret: SecretString::from(CANARY) }
}

fn retiring() -> SecretState {
    let idle_since = Timestamp::from_second(1_000).ok();
    SecretState::Retiring(
        pair(),
        Retirement { trigger: Some(Trigger::Sweep), idle_since, last_task: TASK.parse().ok() },
    )
}

#[test]
fn foreign_values_are_not_the_controllers() {
    assert!(matches!(parse("{}"), Ok((SecretState::Empty, false))));
    assert!(matches!(parse(r#"{"accessor_id":"","token":""}"#), Ok((SecretState::Empty, false))));
    assert!(matches!(parse(r#"{"accessor_id":null,"token":null}"#), Ok((SecretState::Empty, false))));
    let old = parse(r#"{"accessor_id":"6e4a3bde-6d1e-4d3c-a4cc-1f2d3c4b5a69","token":"t"}"#);
    assert!(matches!(old, Ok((SecretState::Active(_), false))));
}

#[test]
fn values_have_the_documented_form() {
    let start = r#"{"accessor_id":"6e4a3bde-6d1e-4d3c-a4cc-1f2d3c4b5a69""#;
    let nonce = "5f0c3b0e-9d5e-4a55-8a3b-0f5f7a3f1b11";
    let end = format!(r#""nonce":"6e4a3bde-6d1e-4d3c-a4cc-1f2d3c4b5a69/{nonce}"}}"#);
    let why = format!(r#""trigger":"sweep","idle_since":"1970-01-01T00:16:40Z","last_task":"{TASK}""#);
    let written = [
        (SecretState::Active(pair()), format!(r#"{start},"token":"{CANARY}",{end}"#)),
        (retiring(), format!(r#"{start},"retiring":"{CANARY}",{why},{end}"#)),
        (SecretState::Retiring(pair(), Retirement::default()), format!(r#"{start},"retiring":"{CANARY}",{end}"#)),
        (SecretState::Empty, format!(r#"{{"nonce":"empty/{nonce}"}}"#)),
    ];
    for (state, text) in written {
        assert_eq!(state.render(nonce.parse().unwrap()).expose_secret(), text);
        let (read, is_ours) = parse(&text).unwrap();
        assert!(is_ours, "{text}");
        assert_eq!(read.render(nonce.parse().unwrap()).expose_secret(), text);
    }
}

#[test]
fn unknown_fields_are_ignored() {
    let value = r#"{"accessor_id":"6e4a3bde-6d1e-4d3c-a4cc-1f2d3c4b5a69","token":"t","rotated_at":{"by":1}}"#;
    assert!(matches!(parse(value), Ok((SecretState::Active(_), false))));
    assert!(matches!(parse(r#"{"nonce":"empty/n","later":1}"#), Ok((SecretState::Empty, true))));
}

#[test]
fn edited_value_with_the_old_nonce_is_foreign() {
    let nonce = "6e4a3bde-6d1e-4d3c-a4cc-1f2d3c4b5a69/n";
    let with = |rest: &str| parse(&format!(r#"{{"nonce":"{nonce}",{rest}}}"#));
    assert!(matches!(with(r#""accessor_id":"","token":"""#), Ok((SecretState::Empty, false))));
    let blank = with(r#""accessor_id":"","retiring":"","trigger":"","idle_since":"","last_task":"""#);
    assert!(matches!(blank, Ok((SecretState::Empty, false))));
    let other = with(r#""accessor_id":"00000000-6d1e-4d3c-a4cc-1f2d3c4b5a69","token":"t""#);
    assert!(matches!(other, Ok((SecretState::Active(_), false))));
}

#[test]
fn retiring_value_has_no_token_key() {
    let value: serde_json::Value = serde_json::from_str(retiring().render(Uuid::nil()).expose_secret()).unwrap();
    assert_eq!(value.get("token"), None);
    assert!(retiring().shown().is_none());
}

#[test]
fn error_does_not_contain_the_value() {
    for value in [
        CANARY,
        r#"{"token":"canary-5d2f1c"}"#,
        r#"{"accessor_id":"canary-5d2f1c"}"#,
        r#"{"username":"canary-5d2f1c"}"#,
        r#"{"accessor_id":"6e4a3bde-6d1e-4d3c-a4cc-1f2d3c4b5a69","token":"canary-5d2f1c","retiring":"canary-5d2f1c"}"#,
        "[]",
    ] {
        let error = parse(value).unwrap_err();
        assert!(error.to_string().starts_with("secret consul-ecs-web: "), "{error}");
        assert!(!error.to_string().contains(CANARY), "{error}");
    }
}

#[test]
fn state_round_trips_and_debug_is_redacted() {
    for state in [SecretState::Active(pair()), retiring()] {
        let (read, is_ours) = SecretState::parse("s", &state.render(Uuid::nil())).unwrap();
        assert!(is_ours && !format!("{read:?}").contains(CANARY));
        assert_eq!(format!("{read:?}"), format!("{state:?}"));
        assert!(read.pair().is_some_and(|read| read.is_same_as(&pair())));
        assert_ne!(state.render(Uuid::nil()).expose_secret(), state.render(Uuid::max()).expose_secret());
    }
    assert_eq!(
        SecretState::Empty.render(Uuid::nil()).expose_secret(),
        format!(r#"{{"nonce":"empty/{}"}}"#, Uuid::nil())
    );
}

proptest! {
    #[test]
    fn parsing_never_panics(value in "\\PC*") {
        let _ = parse(&value);
    }
}
