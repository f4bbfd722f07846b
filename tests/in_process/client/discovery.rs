//! The discovery of servers: found, lost, replaced, and waited for.

use std::{
    net::{IpAddr, SocketAddr},
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering},
    },
    time::Duration,
};

use async_trait::async_trait;
use consul::{ConsulError, HttpConsul, NoServers, RetryPolicy, Server, ServerSource, TlsSettings, TokenReads as _};
use futures::future::join_all;
use mesh::tenancy::Tenancy;
use tokio::{
    io::{AsyncReadExt, AsyncWriteExt},
    time::Instant,
};

use crate::client::{Rotating, closed_address, quick_retries, urls};
use test_harness::recorder::{Answer, Recorder};

/// A source that answers by the number of earlier requests, after a moment.
struct Scripted<F> {
    script: F,
    asks: AtomicUsize,
}

impl<F: Fn(usize) -> Result<Vec<Server>, NoServers> + Send + Sync + 'static> Scripted<F> {
    fn new(script: F) -> Arc<Self> {
        Arc::new(Self { script, asks: AtomicUsize::new(0) })
    }

    fn asks(&self) -> usize {
        self.asks.load(Ordering::SeqCst)
    }

    fn client(self: &Arc<Self>, retry_policy: RetryPolicy) -> HttpConsul {
        HttpConsul::new(self.clone(), &TlsSettings::default(), Rotating::new(&["own"]), retry_policy).unwrap()
    }
}

#[async_trait]
impl<F: Fn(usize) -> Result<Vec<Server>, NoServers> + Send + Sync> ServerSource for Scripted<F> {
    async fn servers(&self) -> Result<Vec<Server>, NoServers> {
        let before = self.asks.fetch_add(1, Ordering::SeqCst);
        tokio::time::sleep(Duration::from_millis(20)).await;
        (self.script)(before)
    }
}

/// The server of a URL, at an address.
fn server(url: &str, address: &str) -> Server {
    Server { url: url.parse().unwrap(), address: address.parse().unwrap() }
}

fn at(address: SocketAddr) -> Server {
    server(&format!("http://{address}"), &address.ip().to_string())
}

fn at_url(url: &str) -> Server {
    server(url, "127.0.0.1")
}

/// An address that refuses connections.
fn dead() -> Server {
    at(closed_address())
}

/// An address to which the operating system rejects connections without a packet, so that tests with paused time need not wait
/// for one.
fn unreachable() -> Server {
    at(SocketAddr::from(([255, 255, 255, 255], 8500)))
}

fn not_up() -> Result<Vec<Server>, NoServers> {
    Err(NoServers::NotUp("no running task; start it".to_owned()))
}

/// A short limit for the wait for servers that do not start.
fn short() -> RetryPolicy {
    RetryPolicy { discovery: Duration::from_millis(400), ..quick_retries() }
}

async fn ask(consul: &HttpConsul) -> Result<(), ConsulError> {
    consul.tokens(&Tenancy::Community, &|_| true).await.map(drop)
}

/// Makes eight concurrent requests, as a batch does.
async fn ask_together(consul: &HttpConsul) -> Vec<Result<(), ConsulError>> {
    join_all((0..8).map(|_| ask(consul))).await
}

fn assert_unavailable(answer: Result<(), ConsulError>, because: &str) {
    let error = answer.unwrap_err();
    assert!(matches!(error, ConsulError::Unavailable { .. }) && error.to_string().contains(because), "{error}");
}

#[tokio::test]
async fn every_address_behind_one_name_is_tried() {
    let listening = Recorder::start(|_, _| Answer::ok("[]")).await;
    let url = listening.url.replace("127.0.0.1", "consul.internal");
    let addresses = vec![server(&url, "127.0.0.2"), server(&url, "127.0.0.1")];
    let source = Scripted::new(move |_| Ok(addresses.clone()));
    let consul = source.client(quick_retries());
    ask(&consul).await.unwrap();
    ask(&consul).await.unwrap();
    assert_eq!((source.asks(), listening.requests().len()), (1, 2));
    let host = url.trim_start_matches("http://");
    assert_eq!(listening.requests()[0].header("host"), Some(host), "the request still goes to the name");
}

#[tokio::test]
async fn a_name_is_resolved() {
    let listening = Recorder::start(|_, _| Answer::ok("[]")).await;
    let named = urls(&listening.url.replace("127.0.0.1", "localhost"));
    let found: Vec<IpAddr> = named.servers().await.unwrap().iter().map(|server| server.address).collect();
    assert!(found.iter().all(IpAddr::is_loopback) && !found.is_empty(), "{found:?}");
    let consul = HttpConsul::new(named, &TlsSettings::default(), Rotating::new(&["own"]), quick_retries()).unwrap();
    ask(&consul).await.unwrap();
}

#[tokio::test]
async fn an_unknown_name_hides_no_other() {
    // The label is too long, so that no name server is queried
    let unknown = format!("http://{}.example:8500", "x".repeat(64));
    let error = urls(&unknown).servers().await.unwrap_err();
    let text = error.to_string();
    assert!(matches!(error, NoServers::NotUp(_)) && text.contains("xxx.example") && text.contains("CONSUL_HTTP_ADDR"));
    let both = urls(&format!("{unknown},http://[::1]:8500")).servers().await.unwrap();
    assert_eq!(both, [server("http://[::1]:8500", "::1")]);
}

#[tokio::test]
async fn a_replaced_server_is_discovered_again() {
    // Given a server that stops, at its own address, so that no other test gets its port
    let listener = tokio::net::TcpListener::bind("127.0.0.9:0").await.unwrap();
    let old = at(listener.local_addr().unwrap());
    let process = tokio::spawn(async move {
        while let Ok((mut connection, _)) = listener.accept().await {
            let mut request = [0; 4096];
            assert_ne!(connection.read(&mut request).await.unwrap(), 0, "a request arrives");
            let answer = b"HTTP/1.1 200 OK\r\ncontent-length: 2\r\nconnection: close\r\n\r\n[]";
            connection.write_all(answer).await.unwrap();
        }
    });
    let new = Recorder::start(|_, _| Answer::ok("[]")).await;
    let replacement = at_url(&new.url);
    let source = Scripted::new(move |before| Ok(vec![if before == 0 { old.clone() } else { replacement.clone() }]));
    let consul = source.client(quick_retries());
    ask(&consul).await.unwrap();
    ask(&consul).await.unwrap();
    assert_eq!(source.asks(), 1, "what was found is kept");
    // When it is replaced
    process.abort();
    process.await.unwrap_err();
    // Then the next request goes to the new one
    ask(&consul).await.unwrap();
    ask(&consul).await.unwrap();
    assert_eq!((source.asks(), new.requests().len()), (2, 2));
}

#[tokio::test]
async fn an_error_answer_starts_no_discovery() {
    let listening = Recorder::start(|_, before| match before {
        0 => Answer::status(503, "upstream"),
        1 => Answer::status(429, "slow down"),
        _ => Answer::ok("[]"),
    })
    .await;
    let found = at_url(&listening.url);
    let source = Scripted::new(move |_| Ok(vec![found.clone()]));
    ask(&source.client(quick_retries())).await.unwrap();
    assert_eq!((source.asks(), listening.requests().len()), (1, 3));
}

#[tokio::test]
async fn concurrent_requests_share_one_discovery() {
    let listening = Recorder::start(|_, _| Answer::ok("[]")).await;
    let found = at_url(&listening.url);
    let source = Scripted::new(move |before| Ok(vec![if before == 0 { dead() } else { found.clone() }]));
    let consul = source.client(quick_retries());
    for answer in ask_together(&consul).await {
        answer.unwrap();
    }
    assert_eq!(source.asks(), 2, "once at first, and once after refused connections");
}

#[tokio::test]
async fn starting_servers_are_waited_for() {
    let listening = Recorder::start(|_, _| Answer::ok("[]")).await;
    let found = at_url(&listening.url);
    let source = Scripted::new(move |before| if before < 3 { not_up() } else { Ok(vec![found.clone()]) });
    ask(&source.client(quick_retries())).await.unwrap();
    assert_eq!(source.asks(), 4);
}

#[tokio::test(start_paused = true)]
async fn servers_that_stay_down_are_named() {
    let source = Scripted::new(|_| not_up());
    let start = Instant::now();
    for answer in ask_together(&source.client(short())).await {
        assert_unavailable(answer, "no running task; start it");
    }
    let waited = start.elapsed();
    assert!(waited >= short().discovery && waited < 2 * short().discovery, "waited {waited:?}");
    assert!(source.asks() > 2, "asked {} times", source.asks());
}

#[tokio::test(start_paused = true)]
async fn lost_servers_are_awaited_only_once() {
    let source = Scripted::new(|before| if before == 0 { Ok(vec![unreachable()]) } else { not_up() });
    let start = Instant::now();
    assert_unavailable(ask(&source.client(short())).await, "no running task; start it");
    let waited = start.elapsed();
    assert!(waited >= short().discovery && waited < 2 * short().discovery, "waited {waited:?}");
}

#[tokio::test]
async fn a_later_request_discovers_again() {
    let listening = Recorder::start(|_, _| Answer::ok("[]")).await;
    let found = at_url(&listening.url);
    let source = Scripted::new(move |before| match before {
        0 => Err(NoServers::Unknown("not now".to_owned())),
        _ => Ok(vec![found.clone()]),
    });
    let consul = source.client(quick_retries());
    assert_unavailable(ask(&consul).await, "not now");
    assert_eq!(source.asks(), 1, "a failed discovery is not repeated");
    ask(&consul).await.unwrap();
}

#[tokio::test(start_paused = true)]
async fn an_endless_discovery_times_out() {
    struct Endless;

    #[async_trait]
    impl ServerSource for Endless {
        async fn servers(&self) -> Result<Vec<Server>, NoServers> {
            std::future::pending().await
        }
    }

    let consul = HttpConsul::new(Arc::new(Endless), &TlsSettings::default(), Rotating::new(&["own"]), short()).unwrap();
    assert_unavailable(ask(&consul).await, "were not found within 400ms");
}

#[test]
fn tls_settings_are_checked_before_any_request() {
    let source = Scripted::new(|_| not_up());
    for (ca, name, field) in [
        (Some("nonsense"), None, "CONSUL_CACERT_SECRET_ARN"),
        (Some("-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----\n"), None, "CONSUL_CACERT_SECRET_ARN"),
        (None, Some("a b"), "CONSUL_TLS_SERVER_NAME"),
    ] {
        let tls = TlsSettings { ca_certificates: ca.map(str::to_owned), server_name: name.map(str::to_owned) };
        let error = HttpConsul::new(source.clone(), &tls, Rotating::new(&["own"]), quick_retries()).err().unwrap();
        assert!(error.to_string().contains(field), "{error}");
    }
}
