//! Connects the controller to Consul and AWS.

use std::{collections::BTreeMap, sync::Arc};

use aws::{
    ecs::AwsEcs,
    events::DefaultBus,
    iam::AwsIam,
    queue::SqsQueue,
    sdk,
    secrets::{AwsSecrets, SecretsError},
};
use aws_types::SdkConfig;
use consul::{ConnectorError, CredentialSource, HttpConsul, RetryPolicy, TlsSettings};
use controller::{
    Controller, Edges, SystemClock, SystemEntropy,
    settings::{CredentialSetting, Settings},
};
use mesh::field::InvalidField;
use secrecy::ExposeSecret;

use crate::{
    credential::{FixedCredential, SecretCredential},
    discovery,
};

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
/// `retry_policy` is that of the function.
///
/// # Errors
/// The first missing or invalid setting, or why a client could not be created.
pub async fn start(
    level: Result<(), InvalidField>,
    retry_policy: RetryPolicy,
    variable: impl Fn(&str) -> Option<String>,
) -> Result<(Controller, Settings), StartError> {
    level?;
    let settings = Settings::read(&variable)?;
    let edges = connect(&settings, &sdk::of_function(variable), retry_policy).await?;
    Ok((Controller::new(settings.scope.clone(), edges), settings))
}

/// The clients of the external services for `settings`; `retry_policy` is that of the client of Consul.
///
/// # Errors
/// The secret of the CA certificate cannot be read, or is not a certificate.
pub async fn connect(settings: &Settings, aws: &SdkConfig, retry_policy: RetryPolicy) -> Result<Edges, StartError> {
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
    let servers = discovery::servers(&settings.consul_addresses, ecs.clone());
    let consul = HttpConsul::new(servers, &tls, credential, retry_policy)?;
    let consul = Arc::new(if settings.scope.mode.acts() { consul } else { consul.accepting_hidden_secrets() });
    Ok(Edges {
        bootstrap: consul.clone(),
        consul,
        ecs,
        iam: Arc::new(AwsIam::new(aws)),
        secrets,
        events: Arc::new(DefaultBus::new(aws)),
        queue: Arc::new(SqsQueue::new(aws, settings.queue_url.clone())),
        clock: Arc::new(SystemClock),
        entropy: Arc::new(SystemEntropy),
    })
}
