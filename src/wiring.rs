//! Connects the controller to Consul and AWS: its clients, the source of its own Consul token, and the discovery of Consul servers
//! that run in ECS tasks.

use std::{collections::BTreeMap, sync::Arc, time::Duration};

use async_trait::async_trait;
use aws::{
    ec2::AwsEc2,
    ecs::{AwsEcs, EcsError},
    events::DefaultBus,
    iam::AwsIam,
    queue::SqsQueue,
    sdk,
    secrets::{AwsSecrets, SecretsError},
};
use aws_types::SdkConfig;
use consul::{
    ConnectorError, ConsulAddresses, CredentialError, CredentialSource, EcsServers, HttpConsul, NoServers, RetryPolicy,
    Server, ServerSource, TlsSettings, TokenOwner,
};
use controller::{
    Controller, Edges, SystemEntropy, Writes,
    settings::{CredentialSetting, Settings},
};
use mesh::names::InvalidField;
use observe::{Reads, SystemClock};
use secrecy::{ExposeSecret, SecretString};
use serde::Deserialize;
use tokio::time::timeout;

/// The tag of the secrets that the controller creates.
const MANAGED_BY: (&str, &str) = ("managed-by", "ecs-mesh-controller");

/// Why a function could not start.
#[derive(Debug, thiserror::Error)]
pub enum StartError {
    /// A setting is missing or invalid.
    #[error(transparent)]
    Setting(#[from] InvalidField),
    /// The CA certificate could not be read.
    #[error("CONSUL_CACERT_SECRET_ARN: {0}")]
    CaCertificate(#[source] SecretsError),
    /// No client can be created with these settings.
    #[error(transparent)]
    Connector(#[from] ConnectorError),
}

/// The controller for the environment's variables, and its settings. `level` is the result of parsing `LOG_LEVEL`;
/// `retry_policy` is the function's.
///
/// # Errors
/// The first missing or invalid setting, or why a client could not be created.
pub async fn start(
    level: Result<(), InvalidField>,
    retry_policy: RetryPolicy,
    variable: impl Fn(&str) -> Option<String> + Send + Sync + 'static,
) -> Result<(Controller, Settings), StartError> {
    level?;
    let settings = Settings::read(&variable)?;
    let clients = Clients::new(&settings, &sdk::of_function(variable), retry_policy).await?;
    // Before Lambda hands out the first event. What takes longer is given up, and done by the event.
    let _ = timeout(LONGEST_OPENING, clients.open_connections()).await;
    Ok((Controller::new(settings.scope.clone(), clients.edges), settings))
}

/// The longest that a start waits for its connections: three round trips of 100 ms. If nothing answers, each start takes this much
/// longer.
const LONGEST_OPENING: Duration = Duration::from_millis(300);

/// The clients of the external services.
pub struct Clients {
    pub edges: Edges,
    consul: Arc<HttpConsul>,
    ecs: Arc<AwsEcs>,
}

impl Clients {
    /// The clients for `settings`; `retry_policy` is for the client of Consul.
    ///
    /// # Errors
    /// The secret of the CA certificate cannot be read, or is not a certificate.
    pub async fn new(settings: &Settings, aws: &SdkConfig, retry_policy: RetryPolicy) -> Result<Self, StartError> {
        let tags = BTreeMap::from([(MANAGED_BY.0.to_owned(), MANAGED_BY.1.to_owned())]);
        let secrets = Arc::new(AwsSecrets::new(aws, settings.kms_key_id.clone(), tags));
        let ca_certificates = match &settings.ca_certificate_secret {
            Some(arn) => {
                let pem = secrets.read_value(arn).await.map_err(StartError::CaCertificate)?;
                Some(pem.expose_secret().to_owned())
            }
            None => None,
        };
        let tls = TlsSettings { ca_certificates, server_name: settings.tls_server_name.clone() };
        let credential: Arc<dyn CredentialSource> = match &settings.consul_credential {
            CredentialSetting::Secret(arn) => {
                Arc::new(SecretCredential { secrets: Arc::clone(&secrets), arn: arn.clone() })
            }
            CredentialSetting::Token(token) => Arc::new(FixedCredential(token.clone())),
        };
        let ecs = Arc::new(AwsEcs::new(aws));
        let servers = servers(&settings.consul_addresses, ecs.clone());
        let consul = HttpConsul::new(servers, &tls, credential, retry_policy)?;
        let consul = Arc::new(if settings.scope.mode.acts() { consul } else { consul.accepting_hidden_secrets() });
        let reads = Reads {
            consul: consul.clone(),
            ecs: ecs.clone(),
            ec2: Arc::new(AwsEc2::new(aws)),
            iam: Arc::new(AwsIam::new(aws)),
            secrets: secrets.clone(),
            clock: Arc::new(SystemClock),
        };
        let edges = Edges {
            reads,
            writes: Writes { consul: consul.clone(), secrets },
            events: Arc::new(DefaultBus::new(aws)),
            queue: Arc::new(SqsQueue::new(aws, settings.queue_url.clone())),
            entropy: Arc::new(SystemEntropy),
        };
        Ok(Self { edges, consul, ecs })
    }

    /// Opens the connections that the first event needs, and reads the token. A failure shows in the event, which tries again.
    pub async fn open_connections(&self) {
        tokio::join!(self.consul.open_connections(), self.ecs.open_connection());
    }
}

/// A token from the environment, which does not change during the life of the process.
struct FixedCredential(SecretString);

#[async_trait]
impl CredentialSource for FixedCredential {
    async fn read(&self) -> Result<SecretString, CredentialError> {
        Ok(self.0.clone())
    }

    fn owner(&self) -> TokenOwner {
        TokenOwner::Controller
    }
}

/// A token in Secrets Manager, which may be rotated.
struct SecretCredential {
    secrets: Arc<AwsSecrets>,
    arn: String,
}

#[derive(Deserialize)]
struct TokenKey {
    token: SecretString,
}

#[async_trait]
impl CredentialSource for SecretCredential {
    async fn read(&self) -> Result<SecretString, CredentialError> {
        let read = self.secrets.read_value(&self.arn).await;
        let unreadable = |error: SecretsError| CredentialError::Unreadable {
            is_denied: matches!(error, SecretsError::Denied { .. }),
            source: Box::new(error),
        };
        let value = read.map_err(unreadable)?;
        controller_token(&value).ok_or_else(|| CredentialError::NoToken { secret: self.arn.clone() })
    }

    fn owner(&self) -> TokenOwner {
        TokenOwner::Controller
    }
}

/// Parses the controller's own token from the value of its secret: the token itself, or JSON with a key `token`. `None`
/// if it contains none that is valid in a header.
pub fn controller_token(value: &SecretString) -> Option<SecretString> {
    let token = match serde_json::from_str::<TokenKey>(value.expose_secret()) {
        Ok(json) => json.token,
        Err(_) => SecretString::from(value.expose_secret().trim()),
    };
    // Header values are visible ASCII; any other token would fail in every request.
    let is_token = !token.expose_secret().is_empty() && token.expose_secret().bytes().all(|b| b.is_ascii_graphic());
    is_token.then_some(token)
}

/// The source of the servers for these addresses.
pub fn servers(addresses: &ConsulAddresses, ecs: Arc<AwsEcs>) -> Arc<dyn ServerSource> {
    match addresses {
        ConsulAddresses::Urls(urls) => Arc::new(urls.clone()),
        ConsulAddresses::Ecs(servers) => Arc::new(EcsServerSource { ecs, servers: servers.clone() }),
    }
}

/// Servers in ECS tasks, whose addresses change with every replacement.
struct EcsServerSource {
    ecs: Arc<AwsEcs>,
    servers: EcsServers,
}

#[async_trait]
impl ServerSource for EcsServerSource {
    async fn servers(&self) -> Result<Vec<Server>, NoServers> {
        let (cluster, name) = (&self.servers.cluster, &self.servers.family_or_service);
        let addresses = self.ecs.addresses(cluster, name).await.map_err(|error| unknown(&error))?;
        if addresses.is_empty() {
            let reason = format!(
                "no running task of {}. Start one in network mode awsvpc, or correct CONSUL_HTTP_ADDR",
                self.servers
            );
            return Err(NoServers::NotUp(reason));
        }
        addresses.into_iter().map(|address| self.servers.at(address)).collect()
    }
}

/// The failure of a discovery by ECS, with what to do.
fn unknown(error: &EcsError) -> NoServers {
    let remedy = match error {
        EcsError::NoAddress { .. } => {
            "run the Consul servers in network mode awsvpc, or set CONSUL_HTTP_ADDR to their addresses (https://host:port)"
        }
        _ => "correct CONSUL_HTTP_ADDR, or let the role call ecs:ListTasks and ecs:DescribeTasks in that cluster",
    };
    NoServers::Unknown(format!("{error}; {remedy}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn token_is_bare_or_in_json_and_valid_in_a_header() {
        let token = |value: &str| controller_token(&SecretString::from(value)).map(|t| t.expose_secret().to_owned());
        assert_eq!(token(" t0ken\n").as_deref(), Some("t0ken"));
        assert_eq!(token(r#"{"token":"t0ken","accessor_id":"a"}"#).as_deref(), Some("t0ken"));
        for value in ["", "\n", "a b", "a\r\nX-Consul-Token: b", r#"{"token":""}"#, r#"{"token":"a\r\nb"}"#] {
            assert_eq!(token(value), None, "{value:?}");
        }
    }
}
