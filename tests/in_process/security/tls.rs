//! TLS verification against real Consul servers; no setting turns it off.

use std::sync::Arc;

use consul::{ConsulError, ConsulUrls, HttpConsul, RetryPolicy, TlsSettings, TokenReads as _};
use mesh::tenancy::Tenancy;
use tokio::{io::AsyncWriteExt, net::TcpListener};
use tokio_rustls::{
    TlsAcceptor,
    rustls::{
        self, NamedGroup, ServerConfig,
        crypto::{ActiveKeyExchange, CryptoProvider, SupportedKxGroup, ring},
        pki_types::{CertificateDer, PrivateKeyDer, pem::PemObject},
    },
};

use crate::environment::{Token, without_time_limits};
use local_stack::consul::Consul;
use test_harness::{
    recorder::{Answer, Recorder},
    tls::{certificate_for, expired_certificate_for},
};

const NAME: &str = "server.dc1.consul";

/// Lists the tokens of a server at an address, with this authority and server name.
async fn ask(address: &str, token: &str, ca: Option<&str>, name: Option<&str>) -> Result<usize, ConsulError> {
    let urls: ConsulUrls = address.parse().unwrap();
    let tls = TlsSettings { ca_certificates: ca.map(str::to_owned), server_name: name.map(str::to_owned) };
    let retry_policy = RetryPolicy { retries: 0, ..without_time_limits() };
    let consul = HttpConsul::new(Arc::new(urls), &tls, Arc::new(Token(token.to_owned())), retry_policy).unwrap();
    Ok(consul.tokens(&Tenancy::Community, &|_| true).await?.map_or(0, |tokens| tokens.len()))
}

/// Asserts that the connection failed, and why.
fn assert_refused(what: &str, asked: Result<usize, ConsulError>, why: &str) {
    let error = asked.expect_err(what).to_string();
    assert!(error.contains(why), "{what}: {error}");
}

#[tokio::test]
async fn untrusted_certificates_and_plain_http_are_refused() {
    let consul = Consul::start_with_certificate(NAME, certificate_for(NAME)).await;
    let (address, token) = (consul.address.as_str(), consul.management_token.as_str());
    let ca = consul.ca_certificate.as_deref();
    // With the right authority and name, the server answers
    assert!(ask(address, token, ca, Some(NAME)).await.unwrap() > 0);
    // With anything else, the connection fails
    let other = certificate_for(NAME).authority;
    assert_refused("another authority", ask(address, token, Some(&other), Some(NAME)).await, "certificate");
    assert_refused("the system's authorities", ask(address, token, None, Some(NAME)).await, "certificate");
    assert_refused("the address as name", ask(address, token, ca, None).await, "not valid for name");
    assert_refused("another name", ask(address, token, ca, Some("server.dc2.consul")).await, "not valid for name");
    let plain = address.replace("https://", "http://");
    assert_refused("plain HTTP", ask(&plain, token, ca, Some(NAME)).await, "HTTP");
}

#[tokio::test]
async fn an_expired_certificate_is_refused() {
    let consul = Consul::start_with_certificate(NAME, expired_certificate_for(NAME)).await;
    let asked = ask(&consul.address, &consul.management_token, consul.ca_certificate.as_deref(), Some(NAME)).await;
    assert_refused("an expired certificate", asked, "expired");
}

#[tokio::test]
async fn tls_to_a_plain_server_is_refused() {
    let server = Recorder::start(|_, _| Answer::ok("[]")).await;
    let address = server.url.replace("http://", "https://");
    let ca = certificate_for(NAME).authority;
    assert_refused("TLS to plain HTTP", ask(&address, "token", Some(&ca), Some(NAME)).await, "Consul is unavailable");
    assert!(server.requests().is_empty(), "{:?}", server.lines());
}

/// The hybrid group, which the server wants and the client does not offer.
#[derive(Debug)]
struct Hybrid;

impl SupportedKxGroup for Hybrid {
    fn start(&self) -> Result<Box<dyn ActiveKeyExchange>, rustls::Error> {
        Err(rustls::Error::General("no client offers it".to_owned()))
    }

    fn name(&self) -> NamedGroup {
        NamedGroup::X25519MLKEM768
    }
}

/// The address and the authority of a server that accepts one key-exchange group only.
async fn server_with(group: &'static dyn SupportedKxGroup) -> (String, String) {
    let issued = certificate_for(NAME);
    let certificate = CertificateDer::from_pem_slice(issued.certificate.as_bytes()).unwrap();
    let key = PrivateKeyDer::from_pem_slice(issued.key.as_bytes()).unwrap();
    let provider = CryptoProvider { kx_groups: vec![group], ..ring::default_provider() };
    let config = ServerConfig::builder_with_provider(Arc::new(provider)).with_safe_default_protocol_versions().unwrap();
    let config = config.with_no_client_auth().with_single_cert(vec![certificate], key).unwrap();
    let acceptor = TlsAcceptor::from(Arc::new(config));
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = format!("https://{}", listener.local_addr().unwrap());
    tokio::spawn(async move {
        while let Ok((connection, _)) = listener.accept().await {
            if let Ok(mut tls) = acceptor.accept(connection).await {
                let answer = b"HTTP/1.1 200 OK\r\ncontent-length: 2\r\nconnection: close\r\n\r\n[]";
                tls.write_all(answer).await.unwrap();
            }
        }
    });
    (address, issued.authority)
}

#[tokio::test]
async fn a_server_that_wants_another_key_exchange_is_named() {
    let (address, ca) = server_with(&Hybrid).await;
    let asked = ask(&address, "token", Some(&ca), Some(NAME)).await;
    assert_refused("the hybrid group", asked, "The server accepts none of the versions (TLS 1.2 and 1.3), ciphers");
    let (address, ca) = server_with(ring::kx_group::SECP384R1).await;
    assert_eq!(ask(&address, "token", Some(&ca), Some(NAME)).await.unwrap(), 0);
}

#[tokio::test]
async fn a_redirect_takes_the_token_nowhere() {
    let elsewhere = Recorder::start(|_, _| Answer::ok("[]")).await;
    let target = format!("{}/v1/acl/tokens", elsewhere.url);
    for status in [301, 302, 307, 308] {
        let target = target.clone();
        let server =
            Recorder::start(move |_, _| Answer::Reply(status, vec![("location", target.clone())], String::new())).await;
        assert_refused("a redirect", ask(&server.url, "token", None, None).await, &status.to_string());
    }
    assert!(elsewhere.requests().is_empty(), "{:?}", elsewhere.lines());
}

#[test]
fn nothing_turns_tls_verification_off() {
    for path in test_harness::sources::sources() {
        let text = std::fs::read_to_string(&path).unwrap();
        for word in ["danger_", "dangerous()", "accept_invalid", "CONSUL_HTTP_SSL_VERIFY", "SSLKEYLOGFILE"] {
            assert!(!text.contains(word), "{path} has {word}");
        }
    }
}
