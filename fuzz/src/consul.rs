//! Consul's answers: each call of the production client, to a server that answers with the input.

use std::{
    cell::{OnceCell, RefCell},
    io,
    mem::ManuallyDrop,
    rc::Rc,
    sync::Arc,
};

use async_trait::async_trait;
use consul::{
    AgentReads, AgentWrites, CatalogReads, ConsulError, ConsulUrls, CredentialError, CredentialSource, HttpConsul,
    Object, ObjectKind, ObjectReads, Permissions, RetryPolicy, TlsSettings, TokenOwner, TokenReads, TokenWrites,
};
use controller::bootstrap::client_agent_policy;
use mesh::{
    arn::{ClusterArn, TaskId},
    cluster_selection::ClusterSelection,
    permissions,
    tenancy::Tenancy,
};
use secrecy::SecretString;
use tokio::{
    io::{AsyncReadExt, AsyncWriteExt},
    net::{TcpListener, TcpStream},
    runtime::Runtime,
};

/// The controller's token, which no error may contain.
const CANARY: &str = "canary-0b1d9c62-75ac";
const ACCESSOR: &str = "6e4a3bde-6d1e-4d3c-a4cc-1f2d3c4b5a69";
const CLUSTER: &str = "arn:aws:ecs:us-east-1:123456789012:cluster/prod";
const TASK: &str = "0123456789abcdef0123456789abcdef";

/// The heads of the answers: the second character of the input, a digit, selects one.
const HEADS: [&str; 8] = [
    "200 OK",
    "200 OK\r\nX-Consul-Results-Filtered-By-ACLs: true",
    "403 Forbidden",
    "404 Not Found",
    "409 Conflict",
    "429 Too Many Requests\r\nRetry-After: 18446744073709551615",
    "500 Internal Server Error",
    "503 Service Unavailable",
];

/// A server and a client in one thread.
struct Exchange {
    runtime: Runtime,
    answer: Rc<RefCell<Vec<u8>>>,
    client: HttpConsul,
    tasks: tokio::task::LocalSet,
}

thread_local! {
    // Never dropped: a runtime's shutdown requires other thread-local values.
    static EXCHANGE: OnceCell<ManuallyDrop<Exchange>> = const { OnceCell::new() };
}

/// The source of the controller's token.
pub(super) struct Canary;

#[async_trait]
impl CredentialSource for Canary {
    async fn read(&self) -> Result<SecretString, CredentialError> {
        Ok(SecretString::from(CANARY))
    }

    fn owner(&self) -> TokenOwner {
        TokenOwner::Controller
    }
}

/// The first letter selects the call (lower case for Enterprise), the digit after it the head, and the rest is the answer's body.
pub fn run(data: &[u8]) {
    let [call, head, body @ ..] = data else { return };
    EXCHANGE.with(|exchange| exchange.get_or_init(|| ManuallyDrop::new(Exchange::start())).make(*call, *head, body));
}

impl Exchange {
    fn start() -> Self {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().expect("a runtime");
        let tasks = tokio::task::LocalSet::new();
        let listener = runtime.block_on(TcpListener::bind("127.0.0.1:0")).expect("a free port");
        let urls: ConsulUrls = format!("http://{}", listener.local_addr().expect("an address")).parse().expect("a URL");
        let answer = Rc::new(RefCell::default());
        tasks.spawn_local(serve(listener, Rc::clone(&answer)));
        let retry_policy = RetryPolicy { retries: 0, ..RetryPolicy::for_events() };
        let client =
            HttpConsul::new(Arc::new(urls), &TlsSettings::default(), Arc::new(Canary), retry_policy).expect("a client");
        Self { runtime, answer, client, tasks }
    }

    fn make(&self, call: u8, head: u8, body: &[u8]) {
        let head = HEADS[usize::from(head.wrapping_sub(b'0')) % HEADS.len()];
        let mut answer = format!("HTTP/1.1 {head}\r\nContent-Length: {}\r\n\r\n", body.len()).into_bytes();
        answer.extend_from_slice(body);
        self.answer.replace(answer);
        let said = self.tasks.block_on(&self.runtime, ask(&self.client, call));
        if let Err(error) = said {
            let text = error.to_string();
            assert!(text.len() < 2_000, "an error contains a whole answer: {text}");
            assert!(!text.contains(CANARY), "an error contains the token: {text}");
        }
    }
}

async fn serve(listener: TcpListener, answer: Rc<RefCell<Vec<u8>>>) {
    while let Ok((stream, _)) = listener.accept().await {
        let answer = Rc::clone(&answer);
        tokio::task::spawn_local(async move {
            // The client has closed the connection.
            let _ = converse(stream, &answer).await;
        });
    }
}

async fn converse(mut stream: TcpStream, answer: &RefCell<Vec<u8>>) -> io::Result<()> {
    stream.set_nodelay(true)?;
    let mut received = Vec::new();
    loop {
        while !is_whole(&received) {
            if stream.read_buf(&mut received).await? == 0 {
                return Ok(());
            }
        }
        received.clear();
        let answer = answer.borrow().clone();
        stream.write_all(&answer).await?;
    }
}

/// Whether a request is complete.
fn is_whole(received: &[u8]) -> bool {
    let text = String::from_utf8_lossy(received).to_ascii_lowercase();
    let Some((head, body)) = text.split_once("\r\n\r\n") else { return false };
    let length = head.lines().find_map(|line| line.strip_prefix("content-length:"));
    body.len() >= length.and_then(|length| length.trim().parse().ok()).unwrap_or(0)
}

/// Every call that reads an answer.
async fn ask(consul: &HttpConsul, call: u8) -> Result<(), ConsulError> {
    let enterprise = Tenancy::default_namespace_of("team".parse().expect("a name"));
    let tenancy = if call.is_ascii_lowercase() { enterprise } else { Tenancy::Community };
    let cluster: ClusterArn = CLUSTER.parse().expect("an ARN");
    let tasks: [TaskId; 1] = [TASK.parse().expect("an ID")];
    let accessor = ACCESSOR.parse().expect("a UUID");
    let service = "web".parse().expect("a name");
    match call.to_ascii_uppercase() {
        b'A' => {
            // Debug output redacts the secret half.
            let token = consul.token(&tenancy, accessor).await?;
            assert!(token.is_none_or(|token| format!("{:?}", token.pair.secret).contains("REDACTED")));
        }
        b'B' => drop(consul.tokens(&tenancy, &|_| true).await?),
        b'C' => drop(consul.instances(&cluster, &tenancy, &tasks).await?),
        b'D' => drop(consul.instances_of(&service, &tenancy, &tasks).await?),
        b'E' => drop(consul.node(CLUSTER, &tenancy).await?),
        b'F' => drop(consul.node_checks(CLUSTER, &tenancy).await?),
        b'G' => drop(consul.members(&tenancy).await?),
        b'H' => drop(consul.partitions().await?),
        b'I' => consul.force_leave("node", &tenancy).await?,
        b'J' => consul.delete_token(&tenancy, accessor).await?,
        b'K' => drop(consul.delete_policy(&client_agent_policy(&tenancy, "p")).await?),
        b'L' => drop(consul.is_primary().await?),
        b'M' => drop(consul.namespaces(&"team".parse().expect("a name")).await?),
        b'N' => {
            let clusters = ClusterSelection::parse(CLUSTER, None).expect("a selection");
            let permissions = permissions::required(&clusters, clusters.patterns(), true);
            drop(consul.missing_permissions(&tenancy, &permissions).await?);
        }
        b'P' => drop(consul.synthetic_nodes(&tenancy).await?),
        b'O' => {
            // The fields that were read are merged with the wanted ones.
            for kind in [ObjectKind::Policy, ObjectKind::AuthMethod, ObjectKind::BindingRule, ObjectKind::SyntheticNode]
            {
                let object = Object { kind, name: CLUSTER.to_owned(), tenancy: tenancy.clone(), body: body_of(kind) };
                let found = consul.read(&object).await?;
                let _ = controller::bootstrap::merge(found.as_ref(), &object);
            }
        }
        _ => drop(consul.checks(&cluster, &tenancy, &tasks).await?),
    }
    Ok(())
}

fn body_of(kind: ObjectKind) -> serde_json::Map<String, serde_json::Value> {
    let body = match kind {
        ObjectKind::AuthMethod => {
            serde_json::json!({ "Type": "aws-iam", "Config": { "BoundIAMPrincipalARNs": ["a"] } })
        }
        ObjectKind::BindingRule => serde_json::json!({ "AuthMethod": "m", "BindType": "service", "BindName": "b" }),
        _ => serde_json::json!({ "Name": CLUSTER }),
    };
    body.as_object().cloned().unwrap_or_default()
}
