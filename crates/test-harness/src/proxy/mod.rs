//! A proxy before a real server that spoils requests, and counts what passes.
//!
//! Client and server are real, and so is what breaks: connections are reset, answers end halfway, requests vanish. Which
//! request suffers what is decided by a script: by chance from a seed, or by what is asked.

mod fault;
mod tally;
mod wire;

use std::{
    net::SocketAddr,
    sync::{Arc, Mutex},
};

use axum::{
    Router,
    body::{Body, Bytes},
    extract::{ConnectInfo, State},
    http::{HeaderMap, Method, Response, StatusCode, Uri},
};
use tokio::net::TcpListener;

use self::wire::{Connection, End, Gateway};
pub use self::{
    fault::{Deed, Fault, Weather, What, When, seed},
    tally::Tally,
};

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

type Script = Arc<dyn Fn(&Call) -> Option<Fault> + Send + Sync>;

/// The proxy. It ends with the test's runtime.
pub struct Proxy {
    /// The proxy's URL, which clients use in place of the server's: `http://127.0.0.1:port`.
    pub url: String,
    /// Counts of the requests, connections and injected faults.
    pub tally: Arc<Tally>,
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
    /// Lets everything through to `upstream` (`http://host:port`), until it is told otherwise.
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
        let url = format!("http://{}", listener.local_addr().unwrap());
        let gateway = Gateway { listener, tally: Arc::clone(&tally) };
        let app = Router::new().fallback(handle).with_state(Arc::clone(&shared));
        let service = app.into_make_service_with_connect_info::<Connection>();
        tokio::spawn(async move { axum::serve(gateway, service).await });
        Self { url, tally, shared }
    }

    /// From now on `script` decides.
    pub fn script(&self, script: impl Fn(&Call) -> Option<Fault> + Send + Sync + 'static) {
        *self.shared.script.lock().unwrap() = Arc::new(script);
    }

    /// From now on chance decides.
    pub fn foul(&self, weather: Weather) {
        self.script(move |_| weather.next());
    }

    /// From now on everything is let through.
    pub fn fair(&self) {
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
    let _under_way = shared.tally.arrived();
    let target = headers.get("x-amz-target").and_then(|target| target.to_str().ok()).unwrap_or_default();
    let operation = target.rsplit('.').next().unwrap_or_default().to_owned();
    let call = Call { method, uri: uri.to_string(), operation, body, peer: connection.peer };
    let script = Arc::clone(&shared.script.lock().unwrap());
    let Some(fault) = script(&call) else {
        return shared.forward(call, headers, &connection).await;
    };
    shared.tally.injected(fault.name());
    let (peer, when) = (call.peer, fault.when);
    let forward = shared.forward(call, headers, &connection);
    match (fault.what, when) {
        (What::Delay(delay), _) => {
            tokio::time::sleep(delay).await;
            forward.await
        }
        (What::Act(_, deed), When::Before) => {
            deed(peer);
            forward.await
        }
        (What::Act(_, deed), When::After) => {
            let answer = forward.await;
            deed(peer);
            answer
        }
        (What::End(_, deed), _) => {
            if when == When::After {
                drop(forward.await);
            }
            deed(peer);
            std::future::pending().await
        }
        (what, When::Before) => shared.spoil(what, None, &connection).await,
        (what, When::After) => {
            let answer = forward.await;
            shared.spoil(what, Some(answer), &connection).await
        }
    }
}

impl Shared {
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
    async fn spoil(&self, what: What, answer: Option<Response<Body>>, connection: &Connection) -> Response<Body> {
        match what {
            What::Reset => cut(answer, connection, End::Reset).await,
            What::Truncate => cut(answer, connection, End::Close).await,
            What::Throttle => self.throttled(),
            What::ServerError(pick) => self.server_error(pick),
            // The others are not about answers.
            What::Silence | What::Delay(_) | What::Act(..) | What::End(..) => std::future::pending().await,
        }
    }

    fn throttled(&self) -> Response<Body> {
        match self.dialect {
            Dialect::Consul => {
                let answer = Response::builder().status(429).header("Retry-After", "1");
                answer.body(Body::from("rate limit exceeded, try again later or against a different server")).unwrap()
            }
            Dialect::Aws => respond(400, r#"{"__type":"ThrottlingException","message":"Rate exceeded"}"#),
        }
    }

    fn server_error(&self, pick: usize) -> Response<Body> {
        const CONSUL: [(u16, &str); 5] = [
            (500, "No cluster leader"),
            (500, "rpc error making call: EOF"),
            (502, "<html><body>Bad Gateway</body></html>"),
            (503, "<html><body>Service Unavailable</body></html>"),
            (504, "<html><body>Gateway Time-out</body></html>"),
        ];
        const AWS: [(u16, &str); 3] = [
            (500, r#"{"__type":"InternalServiceError","message":"An error occurred on the server side."}"#),
            (503, r#"{"__type":"ServiceUnavailableException","message":"Service Unavailable"}"#),
            (502, "<html><body>Bad Gateway</body></html>"),
        ];
        let (status, body) = match self.dialect {
            Dialect::Consul => CONSUL[pick % CONSUL.len()],
            Dialect::Aws => AWS[pick % AWS.len()],
        };
        respond(status, body)
    }
}

fn respond(status: u16, body: &'static str) -> Response<Body> {
    let mut response = Response::new(Body::from(body));
    *response.status_mut() = StatusCode::from_u16(status).unwrap();
    response
}

/// Breaks the connection in the middle of the answer's body; where there is none, before the answer.
async fn cut(answer: Option<Response<Body>>, connection: &Connection, end: End) -> Response<Body> {
    let Some(answer) = answer else {
        connection.break_now(end);
        return Response::new(Body::empty());
    };
    let (head, body) = answer.into_parts();
    let body = axum::body::to_bytes(body, usize::MAX).await.unwrap();
    match body.len() {
        0 => connection.break_now(End::Reset),
        length => connection.break_in_body(length / 2, end),
    }
    Response::from_parts(head, Body::from(body))
}
