//! The sources of the controller's own Consul token.

use std::sync::Arc;

use async_trait::async_trait;
use aws::secrets::AwsSecrets;
use consul::{CredentialError, CredentialSource};
use secrecy::{ExposeSecret, SecretString};
use serde::Deserialize;

/// A token from the environment, which does not change during the life of the process.
pub(crate) struct FixedCredential(pub(crate) SecretString);

#[async_trait]
impl CredentialSource for FixedCredential {
    async fn read(&self) -> Result<SecretString, CredentialError> {
        Ok(self.0.clone())
    }
}

/// A token in Secrets Manager, which may be rotated.
pub(crate) struct SecretCredential {
    pub(crate) secrets: Arc<AwsSecrets>,
    pub(crate) arn: String,
}

#[derive(Deserialize)]
struct TokenKey {
    token: SecretString,
}

#[async_trait]
impl CredentialSource for SecretCredential {
    async fn read(&self) -> Result<SecretString, CredentialError> {
        let read = self.secrets.read_value(&self.arn).await;
        let value = read.map_err(|error| CredentialError::Unreadable(Box::new(error)))?;
        controller_token(&value).ok_or_else(|| CredentialError::NoToken { secret: self.arn.clone() })
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
