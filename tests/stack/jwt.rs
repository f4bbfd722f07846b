//! Genuine login tokens, without AWS: a `jwt` auth method whose key pair we hold.
//!
//! Consul does the same for it as for `aws-iam`, which older servers lack: it writes the login's meta into the
//! token's description.

use std::time::SystemTime;

use jsonwebtoken::{Algorithm, EncodingKey, Header};
use serde_json::{Value, json};

use super::consul::{Consul, Token};
use super::http::Answer;

const ISSUER: &str = "ecs-mesh-controller-tests";

/// An auth method of a server, and the key that signs for it.
pub(crate) struct JwtAuthMethod<'a> {
    consul: &'a Consul,
    name: String,
    key: EncodingKey,
}

impl<'a> JwtAuthMethod<'a> {
    /// Makes the auth method, and a rule that binds a login to the service that it names.
    pub(crate) async fn create(consul: &'a Consul, name: &str) -> Self {
        let key = rcgen::KeyPair::generate().unwrap();
        let method = json!({
            "Name": name,
            "Type": "jwt",
            "Config": {
                "BoundIssuer": ISSUER,
                "JWTValidationPubKeys": [key.public_key_pem()],
                "JWTSupportedAlgs": ["ES256"],
                "ClaimMappings": { "service": "service" },
            },
        });
        consul.put("/v1/acl/auth-method", &method).await;
        let rule = json!({ "AuthMethod": name, "BindType": "service", "BindName": "${value.service}" });
        consul.put("/v1/acl/binding-rule", &rule).await;
        let key = EncodingKey::from_ec_pem(key.serialize_pem().as_bytes()).unwrap();
        Self { consul, name: name.to_owned(), key }
    }

    /// Logs a task of a service in, as `mesh-init` of consul-ecs does.
    pub(crate) async fn log_in_task(&self, service: &str, cluster_arn: &str, task_id: &str) -> Token {
        let meta = json!({
            "consul.hashicorp.com/cluster": cluster_arn,
            "consul.hashicorp.com/task-id": task_id,
        });
        self.log_in(service, &meta).await
    }

    /// Logs a service in with any meta.
    pub(crate) async fn log_in(&self, service: &str, meta: &Value) -> Token {
        let now = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH);
        let now = now.unwrap().as_secs();
        // Without `nbf`, Consul counts it back from the expiry: two and a half minutes.
        let claims = json!({ "iss": ISSUER, "nbf": now, "exp": now + 3600, "service": service });
        let bearer = jsonwebtoken::encode(&Header::new(Algorithm::ES256), &claims, &self.key).unwrap();
        let login = json!({ "AuthMethod": self.name, "BearerToken": bearer, "Meta": meta });
        let request = self.consul.request(reqwest::Method::POST, "/v1/acl/login", "").json(&login);
        let token = Answer::to(request).await.and_then(Answer::good);
        Token::from(&token.unwrap_or_else(|error| panic!("login of {service}: {error}")))
    }
}
