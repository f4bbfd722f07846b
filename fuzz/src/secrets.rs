//! The values of secrets: a service's token, the controller's token, and Consul's certificate authority.

use std::sync::Arc;

use consul::{ConsulUrls, HttpConsul, RetryPolicy, TlsSettings};
use controller::{Entropy, SystemEntropy};
use ecs_mesh_controller::wiring;
use mesh::{secret::SecretState, token::TokenPair};
use secrecy::{ExposeSecret, SecretString};

use super::consul::Canary;

/// The first character selects the secret: a service's token (`0`), the controller's token (`1`), or the authority (`2`).
pub fn run(kind: usize, text: &str) {
    match kind % 3 {
        0 => of_a_task(text),
        1 => of_the_controller(text),
        _ => certificate(text),
    }
}

fn of_a_task(text: &str) {
    let parse = |text: &str| SecretState::parse("consul-ecs-web", &SecretString::from(text));
    match parse(text) {
        // The error is always the same, so that it cannot contain the value.
        Err(error) => assert_eq!(error, parse("a foreign value").expect_err("not ours")),
        Ok((state, _)) => {
            let written = state.render(SystemEntropy.uuid());
            let (again, is_ours) = parse(written.expose_secret()).expect("what was written is read");
            assert!(is_ours);
            assert_eq!(state.shown().is_some(), again.shown().is_some());
            assert_eq!(state.pair().is_some(), again.pair().is_some());
            if let (Some(pair), Some(again)) = (state.pair(), again.pair()) {
                assert!(pair.is_same_as(again));
                let other = TokenPair { accessor: pair.accessor, secret: SecretString::from("another") };
                assert_eq!(format!("{pair:?}"), format!("{other:?}"));
            }
        }
    }
}

fn of_the_controller(text: &str) {
    if let Some(token) = wiring::controller_token(&SecretString::from(text)) {
        let token = token.expose_secret();
        assert!(!token.is_empty() && token.bytes().all(|b| b.is_ascii_graphic()), "it could break a header");
    }
}

fn certificate(text: &str) {
    let tls = TlsSettings { ca_certificates: Some(text.to_owned()), server_name: None };
    let urls: ConsulUrls = "https://127.0.0.1:8501".parse().expect("a URL");
    if let Err(error) = HttpConsul::new(Arc::new(urls), &tls, Arc::new(Canary), RetryPolicy::for_events()) {
        let reason = error.to_string();
        assert!(reason.starts_with("CONSUL_CACERT_SECRET_ARN: "), "{reason}");
    }
}
