//! A proxy in front of a real server that injects faults and counts requests.
//!
//! Client and server are real, and so are the faults: connections are reset, answers are truncated, requests are dropped. A script
//! decides the fault of each request, from a queue of faults in random order or by the request itself.
//!
//! Each request is handled in its own task, which continues when the client has disconnected.

mod answer;
mod connection;
mod fault;
mod fault_queue;
mod stats;

use std::{
    net::SocketAddr,
    sync::{Arc, Mutex},
};

use axum::{
    Router,
    body::{Body, Bytes},
    extract::{ConnectInfo, State},
    http::{HeaderMap, Method, Response, Uri},
};
use tokio::net::TcpListener;

use self::{
    answer::cut,
    connection::{Connection, End, Gateway},
};
pub use self::{
    fault::{Action, Fault, FaultKind, FaultPoint, action, seed},
    fault_queue::FaultQueue,
    stats::Stats,
};
use crate::recorder::whole_answer;

/// The kind of server behind the proxy, which decides the form of its errors.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Dialect {
    /// Consul: throttles with status 429 and `Retry-After`.
    Consul,
    /// AWS: throttles with status 400 and `ThrottlingException`.
    Aws,
}

/// A request.
pub struct Call {
    /// The HTTP method.
    pub method: Method,
    /// Path and query.
    pub uri: String,
    /// The AWS operation; empty for Consul.
    pub operation: String,
    /// The whole body of the request.
    pub body: Bytes,
    /// The client's address.
    pub peer: SocketAddr,
}

impl Call {
    /// The AWS operation; for Consul the method and the first two segments of the path, as in `PUT acl/token`.
    pub fn kind(&self) -> String {
        if !self.operation.is_empty() {
            return self.operation.clone();
        }
        let path = self.uri.split('?').next().unwrap_or_default();
        let parts: Vec<&str> = path.split('/').skip(2).take(2).filter(|part| !part.is_empty()).collect();
        format!("{} {}", self.method, parts.join("/"))
    }
}

type Script = Arc<dyn Fn(&Call) -> Option<Fault> + Send + Sync>;

/// The proxy. It ends with the test's runtime.
pub struct Proxy {
    /// The proxy's URL, which clients use in place of the server's: `http://127.0.0.1:port`.
    pub url: String,
    /// Counts of the requests, connections and injected faults.
    pub stats: Arc<Stats>,
    shared: Arc<Shared>,
}

struct Shared {
    upstream: String,
    dialect: Dialect,
    script: Mutex<Script>,
    stats: Arc<Stats>,
    client: reqwest::Client,
}

impl Proxy {
    /// A proxy that forwards all requests to `upstream` (`http://host:port`) until a script is set.
    pub async fn before(upstream: &str, dialect: Dialect) -> Self {
        local_stack::http::choose_tls_backend();
        let stats = Arc::new(Stats::default());
        let shared = Arc::new(Shared {
            upstream: upstream.trim_end_matches('/').to_owned(),
            dialect,
            script: Mutex::new(Arc::new(|_| None)),
            stats: Arc::clone(&stats),
            client: reqwest::Client::builder().no_proxy().build().unwrap(),
        });
        let listener = TcpListener::bind(("127.0.0.1", 0)).await.unwrap();
        let address = listener.local_addr().unwrap();
        let gateway = Gateway { listener, stats: Arc::clone(&stats) };
        let app = Router::new().fallback(handle).with_state(Arc::clone(&shared));
        let service = app.into_make_service_with_connect_info::<Connection>();
        tokio::spawn(async move { axum::serve(gateway, service).await });
        Self { url: format!("http://{address}"), stats, shared }
    }

    /// Sets the script that decides the fault of each request.
    pub fn script(&self, script: impl Fn(&Call) -> Option<Fault> + Send + Sync + 'static) {
        *self.shared.script.lock().unwrap() = Arc::new(script);
    }

    /// Takes the faults of requests from a queue.
    pub fn inject(&self, faults: Arc<FaultQueue>) {
        self.script(move |_| faults.next());
    }

    /// Forwards all requests without faults.
    pub fn pass_through(&self) {
        self.script(|_| None);
    }
}

async fn handle(
    State(shared): State<Arc<Shared>>,
    ConnectInfo(connection): ConnectInfo<Connection>,
    method: Method,
    uri: Uri,
    headers: HeaderMap,
    body: Bytes,
) -> Response<Body> {
    let mut under_way = shared.stats.arrived();
    let target = headers.get("x-amz-target").and_then(|target| target.to_str().ok()).unwrap_or_default();
    let operation = target.rsplit('.').next().unwrap_or_default().to_owned();
    let call = Call { method, uri: uri.to_string(), operation, body, peer: connection.peer };
    let kind = call.kind();
    let script = Arc::clone(&shared.script.lock().unwrap());
    let fault = script(&call);
    // A client that disconnects cancels this function, but neither task.
    let work = tokio::spawn(Arc::clone(&shared).work(call, headers, connection, fault));
    let done = tokio::spawn(Arc::clone(&shared.stats).wait_until_done(work, kind.clone()));
    let Ok(Some((response, injected))) = done.await else {
        return std::future::pending().await;
    };
    // A fault counts only if the client is still connected.
    if let Some(name) = injected {
        shared.stats.injected(name);
    }
    under_way.answered(kind);
    response
}

impl Shared {
    /// Handles a request: its answer, and the injected fault that is still to be counted. `None` if it gets no answer.
    async fn work(
        self: Arc<Self>,
        call: Call,
        headers: HeaderMap,
        connection: Connection,
        fault: Option<Fault>,
    ) -> Option<(Response<Body>, Option<&'static str>)> {
        let Some(fault) = fault else { return Some((self.forward(call, headers, &connection).await, None)) };
        let (name, peer, when) = (fault.name(), call.peer, fault.point);
        let forward = self.forward(call, headers, &connection);
        let response = match (fault.kind, when) {
            (FaultKind::Delay(delay), _) => {
                tokio::time::sleep(delay).await;
                forward.await
            }
            (FaultKind::Act(_, action), FaultPoint::Before) => {
                self.count(name, action(peer).await);
                return Some((forward.await, None));
            }
            (FaultKind::Act(_, action), FaultPoint::After) => {
                let answer = forward.await;
                self.count(name, action(peer).await);
                return Some((answer, None));
            }
            (FaultKind::End(_, action), _) => {
                if when == FaultPoint::After {
                    drop(forward.await);
                }
                self.count(name, action(peer).await);
                return None;
            }
            (FaultKind::Silence, _) => {
                if when == FaultPoint::After {
                    drop(forward.await);
                }
                self.count(name, true);
                return None;
            }
            (what, FaultPoint::Before) => self.spoil(&what, None, &connection).await,
            (what, FaultPoint::After) => {
                let answer = forward.await;
                self.spoil(&what, Some(answer), &connection).await
            }
        };
        Some((response, Some(name)))
    }

    fn count(&self, name: &'static str, took_effect: bool) {
        if took_effect {
            self.stats.injected(name);
        }
    }

    async fn forward(&self, call: Call, headers: HeaderMap, connection: &Connection) -> Response<Body> {
        let url = format!("{}{}", self.upstream, call.uri);
        whole_answer(&self.client, call.method, &url, headers, call.body).await.unwrap_or_else(|_| {
            // The server is down: the client gets a broken connection, as without the proxy.
            connection.break_now(End::Reset);
            Response::new(Body::empty())
        })
    }

    /// Applies a fault to the answer, or in place of an answer.
    async fn spoil(&self, what: &FaultKind, answer: Option<Response<Body>>, connection: &Connection) -> Response<Body> {
        match what {
            FaultKind::Reset => cut(answer, connection, End::Reset).await,
            FaultKind::Truncate => cut(answer, connection, End::Close).await,
            FaultKind::Throttle => self.dialect.throttled(),
            FaultKind::ServerError(choice) => self.dialect.server_error(*choice),
            // These faults do not concern answers.
            FaultKind::Silence | FaultKind::Delay(_) | FaultKind::Act(..) | FaultKind::End(..) => {
                std::future::pending().await
            }
        }
    }
}
