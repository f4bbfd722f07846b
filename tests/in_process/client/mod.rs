//! The Consul client against recorders: exact requests, failover, retries, and ambiguities of the API.

mod credential;
mod discovery;
pub(crate) mod enterprise;
mod faults;
mod path;
mod requests;
mod sweeping;

use std::{
    net::SocketAddr,
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering},
    },
    time::Duration,
};

use async_trait::async_trait;
use consul::{
    ConsulUrls, CredentialError, CredentialSource, HttpConsul, RetryPolicy, ServerSource, TlsSettings, TokenOwner,
};
use mesh::{
    arn::TaskArn,
    catalog::{CheckStatus, HealthCheck, ServiceInstance},
    consul_ecs::instance_id,
    tenancy::Tenancy,
    token::AccessorId,
};

use crate::environment::without_time_limits;
use secrecy::SecretString;
use serde_json::json;
use test_harness::recorder::{Answer, RecordedRequest, Recorder};

const ACCESSOR: &str = "6e4a3bde-6d1e-4d3c-a4cc-1f2d3c4b5a69";
const CLUSTER: &str = "arn:aws:ecs:us-east-1:123456789012:cluster/prod";
const TASK: &str = "0123456789abcdef0123456789abcdef";

/// A credential source whose value changes with every read, up to the last one.
struct Rotating {
    values: Vec<&'static str>,
    reads: AtomicUsize,
}

impl Rotating {
    fn new(values: &[&'static str]) -> Arc<Self> {
        Arc::new(Self { values: values.to_vec(), reads: AtomicUsize::new(0) })
    }

    fn reads(&self) -> usize {
        self.reads.load(Ordering::SeqCst)
    }
}

#[async_trait]
impl CredentialSource for Rotating {
    async fn read(&self) -> Result<SecretString, CredentialError> {
        let read = self.reads.fetch_add(1, Ordering::SeqCst);
        Ok(SecretString::from(self.values[read.min(self.values.len() - 1)]))
    }

    fn owner(&self) -> TokenOwner {
        TokenOwner::Controller
    }
}

/// A retry policy without timeouts, and with short pauses before the first retries.
pub(crate) fn quick_retries() -> RetryPolicy {
    RetryPolicy { first_retry: Duration::from_millis(5), ..without_time_limits() }
}

fn client(addresses: &str, credential: &Arc<Rotating>) -> HttpConsul {
    let credential: Arc<dyn CredentialSource> = credential.clone();
    HttpConsul::new(urls(addresses), &TlsSettings::default(), credential, quick_retries()).unwrap()
}

/// A Consul that answers so, and a client with the credential `own`.
async fn against(script: impl Fn(&RecordedRequest, usize) -> Answer + Send + Sync + 'static) -> (Recorder, HttpConsul) {
    let server = Recorder::start(script).await;
    let consul = client(&server.url, &Rotating::new(&["own"]));
    (server, consul)
}

/// An address that refuses connections: a socket of this process is bound to it, and does not listen.
fn closed_address() -> SocketAddr {
    let socket = tokio::net::TcpSocket::new_v4().unwrap();
    socket.bind(SocketAddr::from(([127, 0, 0, 1], 0))).unwrap();
    let address = socket.local_addr().unwrap();
    std::mem::forget(socket);
    address
}

fn urls(addresses: &str) -> Arc<dyn ServerSource> {
    Arc::new(addresses.parse::<ConsulUrls>().unwrap())
}

fn accessor() -> AccessorId {
    ACCESSOR.parse().unwrap()
}

fn token_json() -> String {
    json!({ "AccessorID": ACCESSOR, "SecretID": "s3cret", "Description": "d", "Policies": null }).to_string()
}

fn enterprise() -> Tenancy {
    Tenancy::from_names(Some("team"), Some("shop"), ("", "")).unwrap().unwrap()
}

fn instance(tenancy: Tenancy) -> ServiceInstance {
    instance_of("web", tenancy)
}

fn instance_of(service: &str, tenancy: Tenancy) -> ServiceInstance {
    let task = TaskArn::in_cluster(&CLUSTER.parse().unwrap(), &TASK.parse().unwrap());
    let instance = mesh_examples::instance(CLUSTER, &instance_id(service, task.id()), service, &task);
    ServiceInstance { modify_index: 42, tenancy, ..instance }
}

fn check(tenancy: Tenancy) -> HealthCheck {
    mesh_examples::check(&instance(tenancy), "app", CheckStatus::Passing)
}
