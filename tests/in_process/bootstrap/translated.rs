//! A real Consul for the bootstrap. Its version does not support `aws-iam`: a translator in front of it replaces such methods by `jwt`
//! methods whose claims represent the tags of IAM roles.

use std::{
    collections::BTreeMap,
    sync::{Arc, Mutex},
};

use controller::Controller;
use serde_json::{Value, json};

use crate::bootstrap::{POLICY, controller};
use local_stack::consul::Consul;
use test_harness::{
    jwt::JwtKey,
    recorder::{Answer, RecordedRequest, Recorder, Translation},
};

/// The auth method of services.
pub(super) const METHOD: &str = "iam-ecs-service-token";
/// The variables of binding rules for tags, and for claims.
const WORDS: [(&str, &str); 2] = [
    (r#"entity_tags["consul.hashicorp.com.gateway-kind"]"#, "value.gateway_kind"),
    ("${entity_tags.consul.hashicorp.com.service-name}", "${value.service_name}"),
];

/// The configurations that controllers have written, by method.
type Configs = Arc<Mutex<BTreeMap<String, Value>>>;

/// A Consul, and the translator in front of it, which records the requests of controllers.
pub(super) struct TranslatedConsul {
    pub(super) consul: Consul,
    pub(super) key: Arc<JwtKey>,
    pub(super) recorder: Recorder,
    /// The secret ID of the controller's token.
    pub(super) token: String,
    configs: Configs,
}

impl TranslatedConsul {
    pub(super) async fn start() -> Self {
        let consul = Consul::start().await;
        let token = consul.token_with_rules("controller", POLICY).await.secret_id;
        let (key, configs) = (Arc::new(JwtKey::generate()), Configs::default());
        let translator = Translator { key: Arc::clone(&key), configs: Arc::clone(&configs) };
        let recorder = Recorder::before(&consul.address, move |seen, _| translator.answer(seen)).await;
        Self { consul, key, recorder, token, configs }
    }

    /// A controller in auth-method mode, with changed settings.
    pub(super) async fn controller(&self, changes: &[(&str, &str)]) -> Controller {
        controller(&self.recorder.url, &self.token, changes).await
    }

    /// A recorder in front of the translator, and its URL; `script` decides which requests are forwarded.
    pub(super) async fn behind(
        &self,
        script: impl Fn(&RecordedRequest, usize) -> Answer + Send + Sync + 'static,
    ) -> Recorder {
        Recorder::before(&self.recorder.url, script).await
    }

    /// Whether Consul has the auth method of services.
    pub(super) async fn has_method(&self) -> bool {
        self.names("/v1/acl/auth-methods", "Name").await.iter().any(|name| name == METHOD)
    }

    /// The configuration of the auth method of services, as controllers see it.
    pub(super) fn method_config(&self) -> Value {
        self.configs.lock().unwrap()[METHOD].clone()
    }

    /// The names of the clusters' nodes, sorted.
    pub(super) async fn nodes(&self) -> Vec<String> {
        self.names("/v1/catalog/nodes?filter=Node%20matches%20%22arn%22", "Node").await
    }

    /// One field of each entry of a list, sorted.
    pub(super) async fn names(&self, path: &str, field: &str) -> Vec<String> {
        let listed = self.consul.get(path).await;
        let entries = listed.as_array().into_iter().flatten();
        let mut names: Vec<String> = entries.map(|entry| entry[field].as_str().unwrap().to_owned()).collect();
        names.sort();
        names
    }
}

/// Translates between `aws-iam` for the controller and `jwt` for Consul.
struct Translator {
    key: Arc<JwtKey>,
    configs: Configs,
}

impl Translator {
    fn answer(&self, seen: &RecordedRequest) -> Answer {
        let path = seen.uri.split('?').next().unwrap();
        if path.starts_with("/v1/acl/auth-method") {
            return Answer::ForwardAs(self.method(seen), self.method_back());
        }
        if path.starts_with("/v1/acl/binding-rule") {
            return Answer::ForwardAs(rule(&seen.body, false), Box::new(|answer| rule(&answer, true)));
        }
        Answer::Forward
    }

    fn method(&self, seen: &RecordedRequest) -> String {
        let mut method = seen.json();
        if method["Type"] != "aws-iam" {
            return seen.body.clone();
        }
        let claims = json!({ "service_name": "service_name", "gateway_kind": "gateway_kind" });
        let config = method["Config"].take();
        self.configs.lock().unwrap().insert(method["Name"].as_str().unwrap().to_owned(), config);
        method["Type"] = json!("jwt");
        method["Config"] = self.key.config(&claims);
        method.to_string()
    }

    fn method_back(&self) -> Translation {
        let configs = Arc::clone(&self.configs);
        Box::new(move |answer| {
            let mut method: Value = serde_json::from_str(&answer).unwrap();
            method["Type"] = json!("aws-iam");
            method["Config"] = configs.lock().unwrap()[method["Name"].as_str().unwrap()].clone();
            method.to_string()
        })
    }
}

/// Translates the rules in a JSON text.
fn rule(text: &str, is_back: bool) -> String {
    WORDS.iter().fold(text.to_owned(), |text, (tag, claim)| {
        let tag = tag.replace('"', "\\\"");
        if is_back { text.replace(claim, &tag) } else { text.replace(&tag, claim) }
    })
}
