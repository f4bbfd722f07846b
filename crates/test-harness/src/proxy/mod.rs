//! A proxy before a real server that spoils requests, and counts what passes.
//!
//! Client and server are real, and so is what breaks: connections are reset, answers end halfway, requests vanish. Which
//! request suffers what is decided by a script: by a queue of faults in random order, or by what is asked.
//!
//! What happens to a request happens in a task of the proxy's own: it goes on when the client has left.

mod answer;
mod fault;
mod fault_queue;
mod tally;
mod wire;

use std::{
    collections::BTreeSet,
    net::SocketAddr,
    sync::{Arc, Mutex},
};

use axum::{
    Router,
    body::{Body, Bytes},
    extract::{ConnectInfo, State},
    http::{HeaderMap, Method, Response, Uri},
};
use tokio::net::{TcpListener, TcpStream};

use self::{
    answer::cut,
    wire::{Connection, End, Gateway},
};
pub use self::{
    fault::{Action, Fault, What, When, action, seed},
    fault_queue::FaultQueue,
    tally::Tally,
};
use local_stack::progress::until_done;

/// Which server is behind it, and so how a fault looks.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Dialect {
    /// Consul: throttles with status 429 and `Retry-After`.
    Consul,
    /// AWS: throttles with status 400 and `ThrottlingException`.
    Aws,
}

/// A request on its way.
pub struct Call {
    /// The HTTP method.
    pub method: Method,
    /// Path and query.
    pub uri: String,
    /// The operation of AWS, or nothing.
    pub operation: String,
    /// The whole body of the request.
    pub body: Bytes,
    /// Who asks.
    pub peer: SocketAddr,
}

impl Call {
    /// The operation of AWS; or of Consul the method and the first two parts of the path, as in `PUT acl/token`.
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
    pub tally: Arc<Tally>,
    address: SocketAddr,
    shared: Arc<Shared>,
}

struct Shared {
    upstream: String,
    dialect: Dialect,
    script: Mutex<Script>,
    tally: Arc<Tally>,
    client: reqwest::Client,
}

impl Proxy {
    /// A proxy that forwards all requests to `upstream` (`http://host:port`), until it is told otherwise.
    pub async fn before(upstream: &str, dialect: Dialect) -> Self {
        local_stack::http::choose_tls_backend();
        let tally = Arc::new(Tally::default());
        let shared = Arc::new(Shared {
            upstream: upstream.trim_end_matches('/').to_owned(),
            dialect,
            script: Mutex::new(Arc::new(|_| None)),
            tally: Arc::clone(&tally),
            client: reqwest::Client::builder().no_proxy().build().unwrap(),
        });
        let listener = TcpListener::bind(("127.0.0.1", 0)).await.unwrap();
        let address = listener.local_addr().unwrap();
        let gateway = Gateway { listener, tally: Arc::clone(&tally) };
        let app = Router::new().fallback(handle).with_state(Arc::clone(&shared));
        let service = app.into_make_service_with_connect_info::<Connection>();
        tokio::spawn(async move { axum::serve(gateway, service).await });
        Self { url: format!("http://{address}"), tally, address, shared }
    }

    /// From now on `script` decides.
    pub fn script(&self, script: impl Fn(&Call) -> Option<Fault> + Send + Sync + 'static) {
        *self.shared.script.lock().unwrap() = Arc::new(script);
    }

    /// From now on requests get their faults from a queue.
    pub fn inject(&self, faults: Arc<FaultQueue>) {
        self.script(move |_| faults.next());
    }

    /// From now on all requests are only forwarded.
    pub fn let_everything_through(&self) {
        self.script(|_| None);
    }

    /// Waits until every client has closed its connections, and the server works on none of their requests any more: also
    /// not on such as a client had sent before it was killed.
    pub async fn clients_have_left(&self) {
        // Connections are taken in the order in which they were opened: when this one is, those of the clients are.
        let last = TcpStream::connect(self.address).await.unwrap();
        let only_the_last = BTreeSet::from([last.local_addr().unwrap()]);
        until_done("the clients of a proxy to leave it, and their requests to end", || async {
            self.tally.must_not_have_panicked();
            // In this order: a request is counted before its connection is closed.
            let (clients, at_work) = (self.tally.clients(), self.tally.at_work());
            if clients == only_the_last && at_work == 0 {
                Ok(())
            } else {
                Err(format!(
                    "connected: {clients:?}, of which {only_the_last:?} is the last; {at_work} requests under way"
                ))
            }
        })
        .await;
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
    let mut under_way = shared.tally.arrived();
    let target = headers.get("x-amz-target").and_then(|target| target.to_str().ok()).unwrap_or_default();
    let operation = target.rsplit('.').next().unwrap_or_default().to_owned();
    let call = Call { method, uri: uri.to_string(), operation, body, peer: connection.peer };
    let kind = call.kind();
    let script = Arc::clone(&shared.script.lock().unwrap());
    let fault = script(&call);
    // A client that leaves ends this function, and neither task. The request counts from now on, not only when the tasks begin.
    let handed_on = shared.tally.handed_on();
    let work = tokio::spawn(Arc::clone(&shared).work(call, headers, connection, fault));
    let done = tokio::spawn(handed_on.until_done(work, kind.clone()));
    let Ok(Some((response, injected))) = done.await else {
        return std::future::pending().await;
    };
    // Only what the client is still there to suffer counts.
    if let Some(name) = injected {
        shared.tally.injected(name);
    }
    under_way.answered(kind);
    response
}

impl Shared {
    /// Does what is to happen to a request. The answer to it, and the fault that it then suffers; nothing where it gets no
    /// answer.
    async fn work(
        self: Arc<Self>,
        call: Call,
        headers: HeaderMap,
        connection: Connection,
        fault: Option<Fault>,
    ) -> Option<(Response<Body>, Option<&'static str>)> {
        let Some(fault) = fault else { return Some((self.forward(call, headers, &connection).await, None)) };
        let (name, peer, when) = (fault.name(), call.peer, fault.when);
        let forward = self.forward(call, headers, &connection);
        let response = match (fault.what, when) {
            (What::Delay(delay), _) => {
                tokio::time::sleep(delay).await;
                forward.await
            }
            (What::Act(_, action), When::Before) => {
                self.count(name, action(peer).await);
                return Some((forward.await, None));
            }
            (What::Act(_, action), When::After) => {
                let answer = forward.await;
                self.count(name, action(peer).await);
                return Some((answer, None));
            }
            (What::End(_, action), _) => {
                if when == When::After {
                    drop(forward.await);
                }
                self.count(name, action(peer).await);
                return None;
            }
            (What::Silence, _) => {
                if when == When::After {
                    drop(forward.await);
                }
                self.count(name, true);
                return None;
            }
            (what, When::Before) => self.spoil(&what, None, &connection).await,
            (what, When::After) => {
                let answer = forward.await;
                self.spoil(&what, Some(answer), &connection).await
            }
        };
        Some((response, Some(name)))
    }

    fn count(&self, name: &'static str, took_effect: bool) {
        if took_effect {
            self.tally.injected(name);
        }
    }

    async fn forward(&self, call: Call, mut headers: HeaderMap, connection: &Connection) -> Response<Body> {
        headers.remove("host");
        headers.remove("content-length");
        let url = format!("{}{}", self.upstream, call.uri);
        let sent = self.client.request(call.method, url).headers(headers).body(call.body).send().await;
        let whole = match sent {
            Ok(answer) => {
                let head = (answer.status(), answer.headers().clone());
                answer.bytes().await.map(|body| (head, body))
            }
            Err(error) => Err(error),
        };
        let Ok(((status, headers), body)) = whole else {
            // Nobody is there: whoever asks sees what it would see without a proxy, a broken connection.
            connection.break_now(End::Reset);
            return Response::new(Body::empty());
        };
        let mut response = Response::builder().status(status);
        for (name, value) in &headers {
            if name != "transfer-encoding" && name != "connection" {
                response = response.header(name, value);
            }
        }
        response.body(Body::from(body)).unwrap()
    }

    /// Makes a fault of the answer, or of there being none.
    async fn spoil(&self, what: &What, answer: Option<Response<Body>>, connection: &Connection) -> Response<Body> {
        match what {
            What::Reset => cut(answer, connection, End::Reset).await,
            What::Truncate => cut(answer, connection, End::Close).await,
            What::Throttle => self.dialect.throttled(),
            What::ServerError(choice) => self.dialect.server_error(*choice),
            // The others are not about answers.
            What::Silence | What::Delay(_) | What::Act(..) | What::End(..) => std::future::pending().await,
        }
    }
}
