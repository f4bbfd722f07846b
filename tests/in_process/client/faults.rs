//! Elections, throttling, lost and broken answers, and servers that fail.

use std::{
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering},
    },
    time::{Duration, Instant},
};

use consul::{
    CatalogReads as _, CatalogWrites as _, ConsulError, CredentialSource, Grant, HttpConsul, NewToken, RetryPolicy,
    TlsSettings, TokenReads as _, TokenWrites as _,
};
use mesh::{tenancy::Tenancy, token::TokenPair};
use secrecy::SecretString;
use tokio::io::{AsyncReadExt, AsyncWriteExt};

use crate::{
    client::{ACCESSOR, CLUSTER, Rotating, accessor, against, client, closed_address, instance, quick_retries, urls},
    time::{LONG, later_when, pass},
};
use local_stack::wait::eventually;
use test_harness::{
    installation::Installation,
    recorder::{Answer, Recorder},
};

#[tokio::test]
async fn elections_and_gateway_errors_are_waited_out() {
    let (server, consul) = against(|_, before| match before {
        0 => Answer::status(500, "No cluster leader"),
        1 => Answer::status(503, "upstream"),
        2 => Answer::status(429, "slow down"),
        _ => Answer::ok("[]"),
    })
    .await;
    consul.tokens(&Tenancy::Community, &|_| true).await.unwrap();
    assert_eq!(server.requests().len(), 4);
}

#[tokio::test]
async fn retry_after_is_honoured() {
    let (_server, consul) = against(|_, before| match before {
        0 => Answer::Reply(429, vec![("retry-after", "1".to_owned())], String::new()),
        _ => Answer::ok("[]"),
    })
    .await;
    let start = Instant::now();
    consul.tokens(&Tenancy::Community, &|_| true).await.unwrap();
    assert!(start.elapsed() >= Duration::from_secs(1), "waited {:?}", start.elapsed());
}

#[tokio::test]
async fn a_long_retry_after_is_not_awaited() {
    let (server, consul) =
        against(|_, _| Answer::Reply(429, vec![("retry-after", "60".to_owned())], String::new())).await;
    let error = consul.tokens(&Tenancy::Community, &|_| true).await.unwrap_err();
    assert!(matches!(error, ConsulError::Throttled { retry_after: Some(wait), .. } if wait.as_secs() == 60), "{error}");
    assert_eq!(server.requests().len(), 1);
}

#[tokio::test]
async fn a_transaction_without_an_answer_conflicts() {
    let (server, consul) = against(|_, before| match before {
        0 => Answer::status(502, "bad gateway"),
        _ => Answer::status(
            409,
            r#"{"Results":null,"Errors":[{"OpIndex":0,"What":"failed to delete service, index is stale"}]}"#,
        ),
    })
    .await;
    let error = consul.deregister(&[instance(Tenancy::Community)]).await.unwrap_err();
    assert!(matches!(error, ConsulError::Conflict { .. }), "{error}");
    assert_eq!(server.requests().len(), 2);
}

#[tokio::test]
async fn the_next_address_is_tried_and_kept() {
    let server = Recorder::start(|_, _| Answer::ok("[]")).await;
    let credential = Rotating::new(&["own"]);
    let consul = client(&format!("http://{},{}", closed_address(), server.url), &credential);
    consul.tokens(&Tenancy::Community, &|_| true).await.unwrap();
    consul.tokens(&Tenancy::Community, &|_| true).await.unwrap();
    assert_eq!(server.requests().len(), 2);
}

#[tokio::test]
async fn a_failed_server_is_asked_last() {
    let broken = Recorder::start(|_, _| Answer::status(503, "no route")).await;
    let server = Recorder::start(|_, _| Answer::ok("[]")).await;
    let consul = client(&format!("{},{}", broken.url, server.url), &Rotating::new(&["own"]));
    consul.tokens(&Tenancy::Community, &|_| true).await.unwrap();
    consul.tokens(&Tenancy::Community, &|_| true).await.unwrap();
    assert_eq!((broken.requests().len(), server.requests().len()), (1, 2));
}

#[tokio::test]
async fn a_stale_pooled_connection_is_replaced() {
    // Given a server that answers once on a connection, and drops it when the next request arrives on it
    let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap();
    let connections = Arc::new(AtomicUsize::new(0));
    let counted = Arc::clone(&connections);
    tokio::spawn(async move {
        while let Ok((mut connection, _)) = listener.accept().await {
            counted.fetch_add(1, Ordering::SeqCst);
            let mut request = [0; 4096];
            assert_ne!(connection.read(&mut request).await.unwrap(), 0, "a request arrives");
            connection.write_all(b"HTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\n[]").await.unwrap();
            assert_ne!(connection.read(&mut request).await.unwrap(), 0, "a request arrives");
        }
    });
    let consul = client(&format!("http://{address}"), &Rotating::new(&["own"]));
    consul.tokens(&Tenancy::Community, &|_| true).await.unwrap();
    // When the environment resumes and uses the pooled connection, then the call succeeds on a new one
    consul.tokens(&Tenancy::Community, &|_| true).await.unwrap();
    assert_eq!(connections.load(Ordering::SeqCst), 2);
}

#[tokio::test]
async fn an_unanswered_request_times_out() {
    let server = Recorder::start(|_, _| Answer::Hang).await;
    let credential: Arc<dyn CredentialSource> = Rotating::new(&["own"]);
    // Given a client without a timeout for each request, and a deadline that expires while it waits
    let retry_policy = RetryPolicy { request: 2 * LONG, retries: 2, ..quick_retries() };
    let consul = HttpConsul::new(urls(&server.url), &TlsSettings::default(), credential, retry_policy).unwrap();
    let time = async {
        for attempt in 1..=3 {
            eventually(&format!("attempt {attempt}"), LONG, || async {
                match server.requests().len() {
                    seen if seen == attempt => Ok(()),
                    seen => Err(format!("{seen} requests")),
                }
            })
            .await;
            pass(retry_policy.request).await;
        }
    };
    let tenancy = Tenancy::Community;
    let (answer, ()) = tokio::join!(consul.tokens(&tenancy, &|_| true), time);
    let error = answer.unwrap_err();
    assert!(matches!(error, ConsulError::Unavailable { .. }) && error.to_string().contains("timed out"), "{error}");
    assert_eq!(server.requests().len(), 3);
}

#[tokio::test]
async fn a_list_that_stops_arriving_is_read_from_the_next_server() {
    // Given a server that announces a list and sends nothing, and a limit for that which is shorter than that of a list
    let silent = Recorder::start(|_, _| Answer::InParts(vec!["[]".to_owned()], 100 * LONG)).await;
    let server = Recorder::start(|_, _| Answer::ok("[]")).await;
    let credential: Arc<dyn CredentialSource> = Rotating::new(&["own"]);
    let retry_policy = RetryPolicy { silence: 2 * LONG, list: 50 * LONG, ..quick_retries() };
    let addresses = urls(&format!("{},{}", silent.url, server.url));
    let consul = HttpConsul::new(addresses, &TlsSettings::default(), credential, retry_policy).unwrap();
    let is_stuck = || match (silent.requests().len(), silent.under_way(), silent.has_unread()) {
        (1, 0, false) => Ok(()),
        seen => Err(format!("(requests, unanswered ones, is one unread): {seen:?}")),
    };
    let tenancy = Tenancy::Community;
    let list = consul.tokens(&tenancy, &|_| true);
    later_when(list, "a list that does not arrive", is_stuck, || retry_policy.silence).await.unwrap();
    assert_eq!((silent.requests().len(), server.requests().len()), (1, 1));
}

#[tokio::test]
async fn an_answer_that_never_ends_is_read_up_to_the_limit() {
    let said = |error: ConsulError| {
        assert!(matches!(error, ConsulError::TooLarge { .. }), "{error:?}");
        error.to_string()
    };
    // Given servers that never stop sending: an element of a list, and an object
    let (server, consul) = against(|_, _| Answer::Endless("[{\"AccessorID\":\"")).await;
    let list = said(consul.tokens(&Tenancy::Community, &|_| true).await.unwrap_err());
    assert!(list.starts_with("the list of ACL tokens: Consul's answer is longer than the limit of 32 MiB"), "{list}");
    // Then nothing is asked again: the next answer would be as long
    assert_eq!(server.requests().len(), 1);
    let (_server, consul) = against(|_, _| Answer::Endless("{\"AccessorID\":\"")).await;
    let object = said(consul.token(&Tenancy::Community, accessor()).await.unwrap_err());
    assert!(object.contains(ACCESSOR) && object.contains("longer than the limit of 32 MiB"), "{object}");
    // And a list that is held whole
    let (_server, consul) = against(|_, _| Answer::Endless("{\"Node\":\"")).await;
    let node = said(consul.node(CLUSTER, &Tenancy::Community).await.unwrap_err());
    assert!(node.contains("longer than the limit of 128 MiB"), "{node}");
}

#[tokio::test]
async fn of_an_error_only_the_beginning_is_read() {
    // Given a server whose error begins with Consul's text, and is longer than what is held of any answer
    let (server, consul) = against(|_, _| {
        Answer::status(403, format!("Permission denied: token lacks permission 'acl:read'{}", "x".repeat(33 << 20)))
    })
    .await;
    // Then it is the error that its beginning says
    let error = consul.tokens(&Tenancy::Community, &|_| true).await.unwrap_err();
    assert!(matches!(error, ConsulError::PermissionDenied { .. }), "{error:?}");
    assert!(error.to_string().contains("acl:read") && error.to_string().len() < 1_000, "{error}");
    assert_eq!(server.requests().len(), 1);
}

#[tokio::test]
async fn a_connection_is_opened_by_an_answer_that_never_ends() {
    let (server, consul) = against(|_, _| Answer::Endless("\"10.0.0.1:8300")).await;
    consul.open_connections().await;
    assert_eq!(server.requests().len(), 2);
}

#[tokio::test(flavor = "multi_thread")]
async fn the_largest_answers_for_ten_thousand_tasks_are_read_whole() {
    let installation = Installation::of(10_000);
    let server = installation.consul(Duration::ZERO).await;
    let consul = client(&server.url, &Rotating::new(&["own"]));
    let tenancy = Tenancy::Community;
    let tokens = consul.tokens(&tenancy, &|token| token.login().is_some()).await.unwrap().unwrap();
    assert!(tokens.len() > 2 * installation.running, "{}", tokens.len());
    let node = consul.node(CLUSTER, &tenancy).await.unwrap().unwrap();
    assert_eq!(node.instances.len(), 2 * installation.running);
    let checks = consul.node_checks(CLUSTER, &tenancy).await.unwrap();
    assert!(checks.len() > 2 * installation.running, "{}", checks.len());
}

#[tokio::test]
async fn a_broken_answer_is_not_repeated() {
    for body in
        [r#"{"AccessorID":"x","SecretID":"canary-9""#, r#"{"AccessorID":7,"SecretID":"canary-9"}"#, "canary-9", ""]
    {
        let (_server, consul) = against(move |_, _| Answer::ok(body)).await;
        let error = consul.token(&Tenancy::Community, accessor()).await.unwrap_err();
        assert!(matches!(error, ConsulError::Malformed { .. }), "{error}");
        assert!(!format!("{error} {error:?}").contains("canary"), "{error:?}");
    }
}

#[tokio::test]
async fn an_echoed_secret_is_redacted_in_errors() {
    for status in [400, 403, 409, 500, 503] {
        // Given a gateway that repeats refused requests in its answers, as some do for debugging
        let server = Recorder::start(move |seen, _| {
            let token = seen.header("x-consul-token").unwrap_or_default();
            Answer::status(status, format!("X-Consul-Token: {token}\n\n{}", seen.body))
        })
        .await;
        let consul = client(&server.url, &Rotating::new(&["canary-own"]));
        let pair = TokenPair { accessor: accessor(), secret: SecretString::from("canary-new") };
        let new = NewToken {
            pair,
            description: "Token for web service".into(),
            grant: Grant::Policy("p".to_owned()),
            tenancy: Tenancy::Community,
        };
        let error = consul.create_token(&new).await.unwrap_err();
        let said = format!("{error} {error:?}");
        assert!(said.contains("(secret)") && !said.contains("canary"), "{said}");
    }
}
