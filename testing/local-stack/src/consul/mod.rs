//! A real Consul server on 127.0.0.1, with ACLs enabled and a default policy of deny.

mod configuration;

use std::path::PathBuf;
use std::sync::Mutex;
use std::time::Duration;

use reqwest::{Client, Method, RequestBuilder, Url};
use serde_json::{Value, json};

pub use self::configuration::version;
use self::configuration::{Ports, serve_proxies, write_configuration};
use super::http::{self, Answer};
use super::process::Process;
use super::wait::{SOON, eventually};
use super::{ports, scratch, tool};

/// A server, which can be stopped and started again with its data.
pub struct Consul {
    /// The URL of its HTTP API, for `CONSUL_HTTP_ADDR`.
    pub address: String,
    /// The initial management token of its configuration.
    pub management_token: String,
    /// The authority that a client must trust, if the server uses TLS.
    pub ca_certificate: Option<String>,
    /// The port for agents that join.
    pub serf_port: u16,
    /// The port for server RPC, which `/v1/status/leader` names.
    rpc_port: u16,
    name: String,
    client: Client,
    /// The URL with the name in its certificate.
    named_address: String,
    directory: PathBuf,
    process: Mutex<Option<Process>>,
}

/// A certificate for one server and the authority that issued it, as PEM.
pub struct ServerCertificate {
    /// The authority's certificate: what a client must trust.
    pub authority: String,
    /// The server's certificate.
    pub certificate: String,
    /// The server's private key.
    pub key: String,
    /// Whether the server's certificate has expired.
    pub is_expired: bool,
}

/// The initial management token. The servers listen on loopback, and their data is temporary.
const MANAGEMENT_TOKEN: &str = "6d616e61-6765-4d65-8e74-000000000001";
/// How long a server may take to start on a busy machine.
const START: Duration = Duration::from_mins(5);
/// A server's answer during an election.
const NO_LEADER: &str = "No cluster leader";

/// An ACL token.
#[derive(Debug, Clone)]
pub struct Token {
    /// The `AccessorID`: the token's public identifier.
    pub accessor_id: String,
    /// The `SecretID`: what a client sends as `X-Consul-Token`.
    pub secret_id: String,
}

impl From<&Value> for Token {
    fn from(token: &Value) -> Self {
        let field = |name: &str| token[name].as_str().unwrap_or_else(|| panic!("no {name} in {token}")).to_owned();
        Self { accessor_id: field("AccessorID"), secret_id: field("SecretID") }
    }
}

impl Consul {
    /// Starts a server without TLS.
    pub async fn start() -> Self {
        Self::start_with(None).await
    }

    /// Starts a server with TLS only, with a certificate for `server_name` and not for its address.
    pub async fn start_with_certificate(server_name: &str, certificate: ServerCertificate) -> Self {
        Self::start_with(Some((server_name, certificate))).await
    }

    async fn start_with(tls: Option<(&str, ServerCertificate)>) -> Self {
        Self::prepare(Ports::free(), &[], tls).started().await
    }

    /// Starts a server for proxies, and returns the port of its xDS streams. Its default policy is to allow, so that tasks have
    /// nothing to prove, and every service may call every other.
    pub async fn start_for_proxies() -> (Self, u16) {
        let grpc = ports::reserve();
        let consul = Self::prepare(Ports::free(), &[], None);
        serve_proxies(&consul.directory, grpc);
        (consul.started().await, grpc)
    }

    async fn started(self) -> Self {
        self.spawn();
        self.writable().await;
        self
    }

    /// Starts several servers, which elect a leader.
    pub async fn start_cluster(size: usize) -> Vec<Self> {
        let ports: Vec<Ports> = (0..size).map(|_| Ports::free()).collect();
        let serf: Vec<u16> = ports.iter().map(|ports| ports.serf).collect();
        let servers: Vec<Self> = ports.into_iter().map(|ports| Self::prepare(ports, &serf, None)).collect();
        for server in &servers {
            server.spawn();
        }
        for server in &servers {
            server.writable().await;
        }
        servers
    }

    /// A server that is not started yet. `cluster` are the serf ports of all servers; empty for a single server.
    fn prepare(ports: Ports, cluster: &[u16], tls: Option<(&str, ServerCertificate)>) -> Self {
        let port = ports.http;
        let name = format!("consul-{port}");
        let directory = scratch::directory().join(&name);
        std::fs::create_dir_all(&directory).unwrap();

        let mut client = http::builder();
        if let Some((server_name, issued)) = &tls {
            let certificate = reqwest::Certificate::from_pem(issued.authority.as_bytes()).unwrap();
            client = client.tls_certs_only([certificate]).resolve(server_name, ([127, 0, 0, 1], port).into());
            if issued.is_expired {
                client = client.tls_danger_accept_invalid_certs(true);
            }
        }
        let (server_name, issued) = tls.unzip();
        write_configuration(&directory, ports, cluster, issued.as_ref());

        let scheme = if issued.is_some() { "https" } else { "http" };
        Self {
            address: format!("{scheme}://127.0.0.1:{port}"),
            named_address: format!("{scheme}://{}:{port}", server_name.unwrap_or("127.0.0.1")),
            management_token: MANAGEMENT_TOKEN.to_owned(),
            ca_certificate: issued.map(|issued| issued.authority),
            serf_port: ports.serf,
            rpc_port: ports.rpc,
            name,
            client: client.build().unwrap(),
            directory,
            process: Mutex::default(),
        }
    }

    /// Ends the server as `kill -9` does; what it has committed stays on disk.
    pub fn kill(&self) {
        self.process.lock().unwrap().take().expect("Consul runs").kill();
    }

    /// The server's process ID.
    pub fn pid(&self) -> u32 {
        self.process.lock().unwrap().as_ref().expect("Consul runs").pid()
    }

    /// Whether this server answers, and considers itself the leader.
    pub async fn leads(&self) -> bool {
        let leader = Answer::to(self.request(Method::GET, "/v1/status/leader", &self.management_token)).await;
        leader.is_ok_and(|leader| leader.body == format!("127.0.0.1:{}", self.rpc_port))
    }

    /// Stops the server; its data stays on disk.
    pub fn stop(&self) {
        self.process.lock().unwrap().take().expect("Consul runs").stop();
    }

    /// Starts a stopped server again, on the same port, and waits until it accepts writes.
    pub async fn start_again(&self) {
        self.spawn();
        self.writable().await;
    }

    /// Starts the server again with its data and another certificate, on the same ports.
    pub async fn start_again_with_certificate(&self, server_name: &str, certificate: ServerCertificate) -> Self {
        self.stop();
        let http = self.address.rsplit(':').next().and_then(|port| port.parse().ok()).expect("a port");
        let ports = Ports { http, serf: self.serf_port, rpc: self.rpc_port };
        let consul = Self::prepare(ports, &[], Some((server_name, certificate)));
        consul.spawn();
        consul.writable().await;
        consul
    }

    /// Waits until the server knows its tokens and accepts writes, which require a leader.
    async fn writable(&self) {
        self.once_ready("Consul's own token", Method::GET, "/v1/acl/token/self").await;
        self.once_ready("Consul's key-value store", Method::PUT, "/v1/kv/started").await;
    }

    /// Keeps the server running after this process. Returns the command that stops it.
    pub fn keep(&self) -> String {
        let process = self.process.lock().unwrap().take().expect("Consul runs");
        let stop = format!("kill -TERM -- -{}", process.group());
        process.keep();
        stop
    }

    /// A request with a token; an empty token is not sent.
    pub fn request(&self, method: Method, path: &str, token: &str) -> RequestBuilder {
        let url = Url::parse(&self.named_address).and_then(|url| url.join(path)).unwrap();
        let request = self.client.request(method, url).timeout(Duration::from_mins(1));
        if token.is_empty() { request } else { request.header("X-Consul-Token", token) }
    }

    /// Calls the API with any token, and returns the answer with any status.
    pub async fn call(&self, method: Method, path: &str, token: &str, body: Option<&Value>) -> Answer {
        let mut request = self.request(method.clone(), path, token);
        if let Some(body) = body {
            request = request.json(body);
        }
        Answer::to(request).await.unwrap_or_else(|error| panic!("{method} {path}: {error}"))
    }

    /// `GET` with the management token.
    pub async fn get(&self, path: &str) -> Value {
        self.manage(Method::GET, path, None).await
    }

    /// `PUT` with the management token.
    pub async fn put(&self, path: &str, body: &Value) -> Value {
        self.manage(Method::PUT, path, Some(body)).await
    }

    /// `DELETE` with the management token.
    pub async fn delete(&self, path: &str) {
        self.manage(Method::DELETE, path, None).await;
    }

    /// Creates a policy with these rules (HCL), and a token with the policy.
    pub async fn token_with_rules(&self, policy: &str, rules: &str) -> Token {
        let policy = self.put("/v1/acl/policy", &json!({ "Name": policy, "Rules": rules })).await;
        let token = json!({ "Description": policy["Name"], "Policies": [{ "ID": policy["ID"] }] });
        Token::from(&self.put("/v1/acl/token", &token).await)
    }

    /// Calls the API with the management token. While there is no leader, nothing is read or written, and the call is repeated.
    async fn manage(&self, method: Method, path: &str, body: Option<&Value>) -> Value {
        let answer = eventually("a leader of Consul's servers", SOON, || async {
            let answer = self.call(method.clone(), path, &self.management_token, body).await;
            let message = answer.body.as_str().unwrap_or_default();
            if answer.status == 500 && message.contains(NO_LEADER) {
                Err(format!("{method} {path}: {message}"))
            } else {
                Ok(answer)
            }
        });
        answer.await.success().unwrap_or_else(|error| panic!("{method} {path}: {error}"))
    }

    fn spawn(&self) {
        let configuration = self.directory.join(configuration::FILE);
        let args = ["agent", "-config-file", configuration.to_str().unwrap()];
        *self.process.lock().unwrap() = Some(Process::start(&self.name, &program(), &args, &[]));
    }

    /// Repeats a call until it succeeds: an election takes a second or two.
    async fn once_ready(&self, what: &str, method: Method, path: &str) -> Value {
        eventually(what, START, || async {
            self.process.lock().unwrap().as_mut().expect("Consul runs").assert_running();
            let request = self.request(method.clone(), path, &self.management_token);
            Answer::to(request).await.and_then(Answer::success)
        })
        .await
    }
}

/// `CONSUL_BIN`, or the Consul that `make setup` installed.
pub fn program() -> PathBuf {
    std::env::var_os("CONSUL_BIN").map_or_else(|| tool("bin/consul"), PathBuf::from)
}
