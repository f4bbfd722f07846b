//! Versions of secrets as AWS treats them. A version that exists with the same content is left as it is, and with other
//! content it is refused; `MiniStack` writes it again and makes it the current one, so that a call that it answers late
//! would undo what was written since.

use std::{
    collections::BTreeMap,
    sync::{Arc, Mutex},
};

use axum::{body::Body, http::HeaderMap, http::Response};
use serde_json::{Value, json};

use super::{Call, Shared, answer::respond, wire::Connection};

/// One write of a secret at a time.
#[derive(Default)]
pub(super) struct SecretVersions(Mutex<BTreeMap<String, Arc<tokio::sync::Mutex<()>>>>);

impl SecretVersions {
    fn of(&self, secret: &str) -> Arc<tokio::sync::Mutex<()>> {
        Arc::clone(self.0.lock().unwrap().entry(secret.to_owned()).or_default())
    }
}

impl Shared {
    pub(super) async fn put_secret_value(
        &self,
        call: Call,
        headers: HeaderMap,
        connection: &Connection,
    ) -> Response<Body> {
        let wanted: Value = serde_json::from_slice(&call.body).unwrap_or_default();
        let secret = self.secret_versions.of(wanted["SecretId"].as_str().unwrap_or_default());
        let _alone = secret.lock().await;
        let Some(existing) = self.existing_version(&wanted, &headers).await else {
            return self.pass(call, headers, connection).await;
        };
        if existing["SecretString"] == wanted["SecretString"] {
            let same = json!({
                "ARN": existing["ARN"], "Name": existing["Name"],
                "VersionId": existing["VersionId"], "VersionStages": existing["VersionStages"],
            });
            return respond(200, same.to_string());
        }
        let message = "You can't use ClientRequestToken … because that value is already in use";
        respond(400, json!({ "__type": "ResourceExistsException", "Message": message }).to_string())
    }

    /// The version that a call wants to write, if there is one.
    async fn existing_version(&self, wanted: &Value, headers: &HeaderMap) -> Option<Value> {
        let version = wanted["ClientRequestToken"].as_str()?;
        let body = json!({ "SecretId": wanted["SecretId"], "VersionId": version });
        let authorization = headers.get("authorization")?;
        let request = self
            .client
            .post(format!("{}/", self.upstream))
            .header("authorization", authorization)
            .header("content-type", "application/x-amz-json-1.1")
            .header("x-amz-target", "secretsmanager.GetSecretValue")
            .body(body.to_string());
        let answer = request.send().await.ok()?;
        if !answer.status().is_success() {
            return None;
        }
        serde_json::from_slice(&answer.bytes().await.ok()?).ok()
    }
}
