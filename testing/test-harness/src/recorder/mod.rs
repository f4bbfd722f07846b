//! An HTTP server that records every request, and answers by a script or forwards to a real server.
//!
//! Tests use it to assert exact requests, to count calls, and to inject a fault at a chosen call.

mod answer;

use std::{
    net::SocketAddr,
    sync::{
        Arc, Mutex,
        atomic::{AtomicUsize, Ordering},
    },
    time::Instant,
};

use axum::{
    Router,
    body::{Body, Bytes},
    extract::State,
    http::{HeaderMap, Method, Response, Uri},
    serve::ListenerExt,
};

pub use answer::{Answer, Gate, Translation};
use local_stack::{aws::Aws, pids};

/// A request as it arrived.
#[derive(Debug, Clone)]
pub struct RecordedRequest {
    /// The HTTP method.
    pub method: Method,
    /// Path and query, as sent: still percent-encoded.
    pub uri: String,
    /// The request's headers.
    pub headers: HeaderMap,
    /// The body as text; invalid UTF-8 is replaced by U+FFFD.
    pub body: String,
    /// When it had arrived.
    pub at: Instant,
}

impl RecordedRequest {
    /// `METHOD /path?query`.
    pub fn line(&self) -> String {
        format!("{} {}", self.method, self.uri)
    }

    /// The AWS operation, for example `GetSecretValue`: in a header, or, in the Query protocol of IAM, in the body.
    pub fn operation(&self) -> Option<String> {
        let Some(target) = self.headers.get("x-amz-target") else {
            let action = self.body.strip_prefix("Action=")?;
            return action.split('&').next().map(str::to_owned);
        };
        target.to_str().ok()?.rsplit('.').next().map(str::to_owned)
    }

    /// The first value of a header, if it exists and is visible ASCII.
    pub fn header(&self, name: &str) -> Option<&str> {
        self.headers.get(name)?.to_str().ok()
    }

    /// The body parsed as JSON; `Null` if it is not JSON.
    pub fn json(&self) -> serde_json::Value {
        serde_json::from_str(&self.body).unwrap_or_default()
    }
}

type Script = Box<dyn Fn(&RecordedRequest, usize) -> Answer + Send + Sync>;

/// The server that requests are forwarded to.
enum Upstream {
    Nowhere,
    Server(String),
    /// `MiniStack`, whose ECS takes one call at a time: see [`Aws::lock_ecs`].
    Aws(&'static Aws),
}

struct Shared {
    seen: Mutex<Vec<RecordedRequest>>,
    under_way: AtomicUsize,
    connections: AtomicUsize,
    script: Script,
    upstream: Upstream,
    client: reqwest::Client,
}

/// The server. It ends with the test's runtime.
pub struct Recorder {
    /// The server's URL: `http://127.0.0.1:port`.
    pub url: String,
    port: u16,
    shared: Arc<Shared>,
}

impl Recorder {
    /// Answers each request by `script`, which gets the request and the number of requests before it.
    pub async fn start(script: impl Fn(&RecordedRequest, usize) -> Answer + Send + Sync + 'static) -> Self {
        Self::new(Upstream::Nowhere, Box::new(script)).await
    }

    /// Stands in front of `upstream` (`http://host:port`): `script` decides which requests are forwarded.
    pub async fn before(
        upstream: &str,
        script: impl Fn(&RecordedRequest, usize) -> Answer + Send + Sync + 'static,
    ) -> Self {
        Self::new(Upstream::Server(upstream.trim_end_matches('/').to_owned()), Box::new(script)).await
    }

    /// Stands in front of AWS: `script` decides which requests are forwarded. Calls of ECS and invocations are forwarded one at a time, under
    /// `Aws::lock_ecs`, which the test must not hold meanwhile: `MiniStack` answers 500 to some reads during a change.
    pub async fn before_aws(
        aws: &'static Aws,
        script: impl Fn(&RecordedRequest, usize) -> Answer + Send + Sync + 'static,
    ) -> Self {
        Self::new(Upstream::Aws(aws), Box::new(script)).await
    }

    async fn new(upstream: Upstream, script: Script) -> Self {
        local_stack::http::choose_tls_backend();
        let shared = Arc::new(Shared {
            seen: Mutex::default(),
            under_way: AtomicUsize::new(0),
            connections: AtomicUsize::new(0),
            script,
            upstream,
            client: reqwest::Client::builder().no_proxy().build().expect("a client"),
        });
        let listener = tokio::net::TcpListener::bind(SocketAddr::from(([127, 0, 0, 1], 0))).await.expect("a free port");
        let address = listener.local_addr().expect("an address");
        let app = Router::new().fallback(answer).with_state(Arc::clone(&shared));
        let counted = Arc::clone(&shared);
        let listener = listener.tap_io(move |_| {
            counted.connections.fetch_add(1, Ordering::SeqCst);
        });
        tokio::spawn(async move { axum::serve(listener, app).await });
        Self { url: format!("http://{address}"), port: address.port(), shared }
    }

    /// Every request so far.
    pub fn requests(&self) -> Vec<RecordedRequest> {
        self.shared.seen.lock().expect("not poisoned").clone()
    }

    /// Every request so far, as `METHOD /path?query`.
    pub fn lines(&self) -> Vec<String> {
        self.requests().iter().map(RecordedRequest::line).collect()
    }

    /// Every AWS operation so far, in alphabetical order.
    pub fn operations(&self) -> Vec<String> {
        let mut operations: Vec<String> = self.requests().iter().filter_map(RecordedRequest::operation).collect();
        operations.sort();
        operations
    }

    /// The number of connections that were opened so far.
    pub fn connections(&self) -> usize {
        self.shared.connections.load(Ordering::SeqCst)
    }

    /// The number of requests that are neither answered nor abandoned by their client.
    pub fn under_way(&self) -> usize {
        self.shared.under_way.load(Ordering::SeqCst)
    }

    /// Whether a connection holds an unread request or answer, so that further requests may follow.
    pub fn has_unread(&self) -> bool {
        pids::has_unread(self.port)
    }

    /// Removes all recorded requests.
    pub fn forget(&self) {
        self.shared.seen.lock().expect("not poisoned").clear();
    }
}

/// A request that is under way until this guard is dropped.
struct UnderWay<'a>(&'a AtomicUsize);

impl<'a> UnderWay<'a> {
    fn begin(count: &'a AtomicUsize) -> Self {
        count.fetch_add(1, Ordering::SeqCst);
        Self(count)
    }
}

impl Drop for UnderWay<'_> {
    fn drop(&mut self) {
        self.0.fetch_sub(1, Ordering::SeqCst);
    }
}

async fn answer(
    State(shared): State<Arc<Shared>>,
    method: Method,
    uri: Uri,
    headers: HeaderMap,
    body: Bytes,
) -> Response<Body> {
    let _under_way = UnderWay::begin(&shared.under_way);
    let (text, at) = (String::from_utf8_lossy(&body).into_owned(), Instant::now());
    let seen = RecordedRequest { method, uri: uri.to_string(), headers, body: text, at };
    let before = {
        let mut all = shared.seen.lock().expect("not poisoned");
        all.push(seen.clone());
        all.len() - 1
    };
    match (shared.script)(&seen, before) {
        Answer::Reply(status, headers, body) => {
            let mut response = Response::builder().status(status);
            for (name, value) in headers {
                response = response.header(name, value);
            }
            response.body(Body::from(body)).expect("a response")
        }
        Answer::InParts(parts, pause) => Response::new(answer::in_parts(parts, pause)),
        Answer::Endless(start) => Response::new(answer::endless(start)),
        Answer::Forward => forward(&shared, seen, body).await,
        Answer::ForwardThrough(gate) => {
            gate.pass().await;
            forward(&shared, seen, body).await
        }
        Answer::ForwardAs(body, translation) => {
            translated(forward(&shared, seen, body.into()).await, translation).await
        }
        Answer::Hang => std::future::pending().await,
    }
}

async fn forward(shared: &Shared, seen: RecordedRequest, body: Bytes) -> Response<Body> {
    let is_ecs = seen.header("x-amz-target").is_some_and(|target| target.starts_with("AmazonEC2ContainerService"));
    // The invoked function calls ECS itself.
    let is_ecs = is_ecs || seen.uri.ends_with("/invocations");
    let (upstream, _ecs) = match &shared.upstream {
        Upstream::Nowhere => panic!("no server to forward to: {}", seen.line()),
        Upstream::Server(url) => (url, None),
        Upstream::Aws(aws) if is_ecs => (&aws.endpoint, Some(aws.lock_ecs().await)),
        Upstream::Aws(aws) => (&aws.endpoint, None),
    };
    let url = format!("{upstream}{}", seen.uri);
    let sent = whole_answer(&shared.client, seen.method, &url, seen.headers, body);
    // The answer if the real server gave no complete answer.
    let bad_gateway = |error: reqwest::Error| Response::builder().status(502).body(Body::from(error.to_string()));
    sent.await.unwrap_or_else(|error| bad_gateway(error).expect("a response"))
}

/// The real server's whole answer to a request.
pub(crate) async fn whole_answer(
    client: &reqwest::Client,
    method: Method,
    url: &str,
    mut headers: HeaderMap,
    body: Bytes,
) -> reqwest::Result<Response<Body>> {
    // The host stays: AWS's signatures contain it.
    headers.remove("content-length");
    let answer = client.request(method, url).headers(headers).body(body).send().await?;
    let mut response = Response::new(Body::empty());
    *response.status_mut() = answer.status();
    *response.headers_mut() = answer.headers().clone();
    for of_the_connection in ["transfer-encoding", "connection"] {
        response.headers_mut().remove(of_the_connection);
    }
    *response.body_mut() = Body::from(answer.bytes().await?);
    Ok(response)
}

async fn translated(response: Response<Body>, translation: Translation) -> Response<Body> {
    let (mut head, body) = response.into_parts();
    let body = axum::body::to_bytes(body, usize::MAX).await.expect("a whole answer");
    if head.status != 200 {
        return Response::from_parts(head, Body::from(body));
    }
    head.headers.remove("content-length");
    let body = translation(String::from_utf8_lossy(&body).into_owned());
    Response::from_parts(head, Body::from(body))
}
