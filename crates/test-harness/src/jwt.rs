//! Login tokens without AWS: a `jwt` auth method, with the key pair of the test.
//!
//! As with `aws-iam`, which older servers do not have, Consul writes the login's meta into the token's description.

use std::time::SystemTime;

use jsonwebtoken::{Algorithm, EncodingKey, Header};
use serde_json::{Value, json};

use local_stack::consul::{Consul, Token};
use local_stack::http::Answer;

const ISSUER: &str = "ecs-mesh-controller-tests";

/// An auth method, and the key that signs logins.
pub struct JwtAuthMethod<'a> {
    consul: &'a Consul,
    name: String,
    private: EncodingKey,
}

impl<'a> JwtAuthMethod<'a> {
    /// Creates the auth method, with a key on the curve P-256, and a binding rule that binds a login to the service in its claim.
    pub async fn create(consul: &'a Consul, name: &str) -> Self {
        let key = rcgen::KeyPair::generate().unwrap();
        let config = json!({
            "BoundIssuer": ISSUER, "JWTValidationPubKeys": [key.public_key_pem()], "JWTSupportedAlgs": ["ES256"],
            "ClaimMappings": { "service": "service" },
        });
        consul.put("/v1/acl/auth-method", &json!({ "Name": name, "Type": "jwt", "Config": config })).await;
        let rule = json!({ "AuthMethod": name, "BindType": "service", "BindName": "${value.service}" });
        consul.put("/v1/acl/binding-rule", &rule).await;
        let private = EncodingKey::from_ec_pem(key.serialize_pem().as_bytes()).unwrap();
        Self { consul, name: name.to_owned(), private }
    }

    /// Logs in as a task of a service, as consul-ecs's `mesh-init` does.
    pub async fn log_in_task(&self, service: &str, cluster_arn: &str, task_id: &str) -> Token {
        let meta = json!({ "consul.hashicorp.com/cluster": cluster_arn, "consul.hashicorp.com/task-id": task_id });
        self.log_in(service, &meta).await
    }

    /// Logs in as a service with this meta.
    pub async fn log_in(&self, service: &str, meta: &Value) -> Token {
        let now = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).unwrap().as_secs();
        // Without `nbf`, Consul assumes 150 seconds before the expiry.
        let claims = json!({ "iss": ISSUER, "nbf": now, "exp": now + 3600, "service": service });
        let bearer = jsonwebtoken::encode(&Header::new(Algorithm::ES256), &claims, &self.private).unwrap();
        let login = json!({ "AuthMethod": self.name, "BearerToken": bearer, "Meta": meta });
        let request = self.consul.request(reqwest::Method::POST, "/v1/acl/login", "").json(&login);
        let token = Answer::to(request).await.and_then(Answer::success);
        Token::from(&token.unwrap_or_else(|error| panic!("login of {service}: {error}")))
    }
}
