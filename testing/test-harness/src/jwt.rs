//! Login tokens without AWS: a `jwt` auth method, with the key pair of the test.
//!
//! As with `aws-iam`, which older servers do not have, Consul writes the login's meta into the token's description.

use std::time::SystemTime;

use jsonwebtoken::{Algorithm, EncodingKey, Header};
use serde_json::{Value, json};

use local_stack::consul::{Consul, Token};
use local_stack::http::Answer;

const ISSUER: &str = "ecs-mesh-controller-tests";

/// A key pair that signs for logins.
pub struct JwtKey {
    public: String,
    private: EncodingKey,
}

impl JwtKey {
    /// Generates an ECDSA key pair on the curve P-256, for signatures with ES256.
    pub fn generate() -> Self {
        let key = rcgen::KeyPair::generate().unwrap();
        let private = EncodingKey::from_ec_pem(key.serialize_pem().as_bytes()).unwrap();
        Self { public: key.public_key_pem(), private }
    }

    /// The configuration of a `jwt` auth method that trusts this key. `claims` are its `ClaimMappings`.
    pub fn config(&self, claims: &Value) -> Value {
        json!({
            "BoundIssuer": ISSUER,
            "JWTValidationPubKeys": [self.public],
            "JWTSupportedAlgs": ["ES256"],
            "ClaimMappings": claims,
        })
    }

    /// Logs in with claims and meta, and returns the token.
    pub async fn log_in(&self, consul: &Consul, method: &str, claims: &Value, meta: &Value) -> Value {
        let now = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH);
        let now = now.unwrap().as_secs();
        // Without `nbf`, Consul assumes 150 seconds before the expiry.
        let mut all = json!({ "iss": ISSUER, "nbf": now, "exp": now + 3600 });
        all.as_object_mut().unwrap().extend(claims.as_object().unwrap().clone());
        let bearer = jsonwebtoken::encode(&Header::new(Algorithm::ES256), &all, &self.private).unwrap();
        let login = json!({ "AuthMethod": method, "BearerToken": bearer, "Meta": meta });
        let request = consul.request(reqwest::Method::POST, "/v1/acl/login", "").json(&login);
        let token = Answer::to(request).await.and_then(Answer::success);
        token.unwrap_or_else(|error| panic!("login with {claims}: {error}"))
    }
}

/// An auth method, and the key that signs logins.
pub struct JwtAuthMethod<'a> {
    consul: &'a Consul,
    name: String,
    key: JwtKey,
}

impl<'a> JwtAuthMethod<'a> {
    /// Creates the auth method, and a binding rule that binds a login to the service in its claim.
    pub async fn create(consul: &'a Consul, name: &str) -> Self {
        let key = JwtKey::generate();
        let method = json!({ "Name": name, "Type": "jwt", "Config": key.config(&json!({ "service": "service" })) });
        consul.put("/v1/acl/auth-method", &method).await;
        let rule = json!({ "AuthMethod": name, "BindType": "service", "BindName": "${value.service}" });
        consul.put("/v1/acl/binding-rule", &rule).await;
        Self { consul, name: name.to_owned(), key }
    }

    /// Logs in as a task of a service, as consul-ecs's `mesh-init` does.
    pub async fn log_in_task(&self, service: &str, cluster_arn: &str, task_id: &str) -> Token {
        let meta = json!({
            "consul.hashicorp.com/cluster": cluster_arn,
            "consul.hashicorp.com/task-id": task_id,
        });
        self.log_in(service, &meta).await
    }

    pub async fn log_in(&self, service: &str, meta: &Value) -> Token {
        Token::from(&self.key.log_in(self.consul, &self.name, &json!({ "service": service }), meta).await)
    }
}
