//! Connects the controller to a real Consul and to AWS, and the auditor to AWS.

use std::{collections::BTreeMap, sync::Arc};

use async_trait::async_trait;
use aws_config::SdkConfig;
use secrecy::{ExposeSecret, SecretString};
use serde::Deserialize;

use crate::{
    announce::AwsAnnouncer,
    auditor::{self, Auditor, settings::AuditSettings},
    consul::{ConsulBootstrap, CredentialSource, HttpConsul, RetryPolicy, TlsSettings},
    controller::{
        Edges, SystemClock, SystemEntropy,
        settings::{CredentialSetting, Settings},
    },
    discovery,
    ecs::{AwsEcs, Ecs},
    queue::SqsQueue,
    report_store::S3Store,
    secrets::AwsSecrets,
};

/// The tag that marks secrets as ours.
const MANAGED_BY: (&str, &str) = ("managed-by", "ecs-mesh-controller");

/// The real edges that `settings` describe.
///
/// # Errors
/// The CA certificate's secret cannot be read, or what is in it is not a certificate.
pub async fn connect(settings: &Settings, aws: &SdkConfig) -> Result<Edges, String> {
    let tags = BTreeMap::from([(MANAGED_BY.0.to_owned(), MANAGED_BY.1.to_owned())]);
    let secrets = Arc::new(AwsSecrets::new(aws, settings.kms_key_id.clone(), tags));
    let ca_certificates = match &settings.ca_certificate_secret {
        Some(arn) => {
            let pem = secrets.read_value(arn).await.map_err(|e| format!("CONSUL_CACERT_SECRET_ARN: {e}"))?;
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
    let ecs: Arc<dyn Ecs> = Arc::new(AwsEcs::new(aws));
    let servers = discovery::servers(&settings.consul_addresses, &ecs);
    let consul = Arc::new(HttpConsul::new(servers, &tls, credential, RetryPolicy::default())?);
    Ok(Edges {
        bootstrap: Arc::clone(&consul) as Arc<dyn ConsulBootstrap>,
        consul,
        ecs,
        secrets,
        queue: Arc::new(SqsQueue::new(aws, settings.queue_url.clone())),
        clock: Arc::new(SystemClock),
        entropy: Arc::new(SystemEntropy),
    })
}

/// The auditor that `settings` describe.
#[must_use]
pub fn auditor(settings: AuditSettings, aws: &SdkConfig) -> Auditor {
    let edges = auditor::Edges {
        inventory: Arc::new(AwsEcs::new(aws)),
        store: Arc::new(S3Store::new(aws, settings.bucket)),
        announcer: Arc::new(AwsAnnouncer::new(aws, settings.topic_arn)),
    };
    Auditor::new(settings.clusters, settings.configuration, edges)
}

/// A token from the environment: it cannot change while the process lives.
struct FixedCredential(SecretString);

#[async_trait]
impl CredentialSource for FixedCredential {
    async fn read(&self) -> Result<SecretString, String> {
        Ok(self.0.clone())
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
    async fn read(&self) -> Result<SecretString, String> {
        let value = self.secrets.read_value(&self.arn).await.map_err(|e| e.to_string())?;
        controller_token(&value).ok_or_else(|| {
            format!("secret {} holds no token; expected the bare token, or JSON with a key \"token\"", self.arn)
        })
    }
}

/// The controller's own token in the value of its secret: the bare token, or JSON with a key `token`. `None`: there is none
/// that could be sent.
#[must_use]
pub fn controller_token(value: &SecretString) -> Option<SecretString> {
    let token = match serde_json::from_str::<TokenKey>(value.expose_secret()) {
        Ok(json) => json.token,
        Err(_) => SecretString::from(value.expose_secret().trim()),
    };
    // Header values are visible ASCII; anything else would fail at every request, less clearly.
    let is_token = !token.expose_secret().is_empty() && token.expose_secret().bytes().all(|b| b.is_ascii_graphic());
    is_token.then_some(token)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_controller_s_token_is_bare_or_in_json_and_could_always_be_sent() {
        let token = |value: &str| controller_token(&SecretString::from(value)).map(|t| t.expose_secret().to_owned());
        assert_eq!(token(" t0ken\n").as_deref(), Some("t0ken"));
        assert_eq!(token(r#"{"token":"t0ken","accessor_id":"a"}"#).as_deref(), Some("t0ken"));
        for value in ["", "\n", "a b", "a\r\nX-Consul-Token: b", r#"{"token":""}"#, r#"{"token":"a\r\nb"}"#] {
            assert_eq!(token(value), None, "{value:?}");
        }
    }
}
