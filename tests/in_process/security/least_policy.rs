//! The policy in docs/how-to/install-sam.md is sufficient and minimal: all requests of the controller are made to a real
//! server, with the whole policy, without each of its rules, and with each write permission reduced to read.

use std::collections::BTreeSet;

use consul::{
    AgentReads as _, AgentWrites as _, CatalogReads as _, CatalogWrites as _, Grant, HttpConsul, NewToken,
    ObjectReads as _, ObjectWrites as _, TokenReads as _, TokenWrites as _,
};
use consul::{Object, ObjectKind};
use futures::future::join_all;
use mesh::{
    arn::{ClusterArn, TaskId},
    catalog::{CheckStatus, DrainReason, HealthCheck},
    consul_ecs::instance_id,
    tenancy::Tenancy,
    token::{AccessorId, TokenPair},
};
use secrecy::SecretString;
use serde_json::{Value, json};

use crate::environment::client;
use local_stack::{
    Stack,
    consul::Consul,
    world::{cluster_arn, documented_policy},
};

const TASK: &str = "0123456789abcdef0123456789abcdef";
const HOME: Tenancy = Tenancy::Community;

/// The rules of the documented policy.
fn rules() -> Vec<String> {
    let policy = documented_policy();
    let blocks = policy.split("\n\n").map(|block| {
        let lines = block.lines().filter(|line| !line.starts_with('#'));
        lines.collect::<Vec<_>>().join("\n").trim().to_owned()
    });
    blocks.filter(|block| !block.is_empty()).collect()
}

/// A set of Consul objects, one of each kind that the controller manages.
struct Objects<'a> {
    consul: &'a Consul,
    client: HttpConsul,
    name: String,
    cluster: ClusterArn,
    task: TaskId,
    leftover: AccessorId,
}

impl<'a> Objects<'a> {
    async fn with_rules(consul: &'a Consul, name: String, rules: &str) -> Self {
        let token = consul.token_with_rules(&name, rules).await.secret_id;
        let client = client(&consul.address, &token);
        let (cluster, task): (String, TaskId) = (cluster_arn(&name), TASK.parse().unwrap());
        for (node, meta) in [(cluster.clone(), json!({ "synthetic-node": "true" })), (format!("ip-{name}"), json!({}))]
        {
            let service = json!({ "ID": instance_id(&name, &task), "Service": name, "Meta": { "task-id": TASK } });
            let check = json!({ "CheckID": format!("{name}-check"), "Name": "c", "Status": "passing", "ServiceID": service["ID"] });
            let body =
                json!({ "Node": node, "Address": "10.0.0.1", "NodeMeta": meta, "Service": service, "Checks": [check] });
            consul.put("/v1/catalog/register", &body).await;
        }
        let leftover = consul.put("/v1/acl/token", &json!({ "Description": format!("leftover of {name}") })).await;
        let leftover = leftover["AccessorID"].as_str().unwrap().parse().unwrap();
        Self { consul, client, name, cluster: cluster.parse().unwrap(), task, leftover }
    }

    /// The requests of both token modes, and whether each succeeds. Each prepares the next.
    async fn duties_of_both_modes(&self) -> Vec<(&'static str, bool)> {
        let (client, tasks) = (&self.client, std::slice::from_ref(&self.task));
        let tokens = client.tokens(&HOME, &|_| true).await.ok().flatten().unwrap_or_default();
        let members = client.members(&HOME).await.unwrap_or_default();
        let node = client.node(self.cluster.as_str(), &HOME).await.ok().flatten().unwrap_or_default();
        let service = self.name.parse().unwrap();
        let of_agents = client.instances_of(&service, &HOME, tasks).await.unwrap_or_default();
        let instances = client.instances(&self.cluster, &HOME, tasks).await.ok().flatten().unwrap_or_default();
        let checks = client.checks(&self.cluster, &HOME, tasks).await.unwrap_or_default();
        let ailing: Vec<HealthCheck> =
            checks.iter().map(|c| HealthCheck { status: CheckStatus::Critical, ..c.clone() }).collect();
        let is_synced = client.set_checks(&ailing).await.is_ok() && self.statuses().await == ["critical"];
        let drain: Vec<HealthCheck> =
            instances.iter().map(|instance| HealthCheck::maintenance(instance, DrainReason::Stopping)).collect();
        let is_drained = client.set_checks(&drain).await.is_ok() && self.statuses().await == ["critical"; 2];
        let gone: Vec<HealthCheck> =
            instances.iter().map(|instance| HealthCheck::maintenance(instance, DrainReason::HostGone)).collect();
        let is_written = client.set_checks(&gone).await.is_ok() && self.statuses().await == ["critical"; 3];
        let drains = client.node_checks(self.cluster.as_str(), &HOME).await.unwrap_or_default();
        let drains: Vec<HealthCheck> = drains.into_iter().filter(HealthCheck::drains_for_gone_host).collect();
        let is_ended = is_written && client.deregister_checks(&drains).await.is_ok();
        let is_ended = is_ended && drains.len() == 1 && self.statuses().await == ["critical"; 2];
        vec![
            ("finds login tokens", tokens.iter().any(|token| token.accessor == self.leftover)),
            ("finds agents", !members.is_empty()),
            ("reads a cluster's node", node.is_synthetic && node.instances.len() == 1),
            (
                "finds services on agents' nodes",
                of_agents.iter().any(|found| found.node == format!("ip-{}", self.name)),
            ),
            ("finds a task's services", instances.len() == 1),
            ("finds a service's checks", checks.len() == 1),
            ("corrects a status", is_synced),
            ("drains", is_drained),
            ("ends a drain", is_ended),
            ("takes a service out", client.deregister(&instances).await.is_ok() && self.services_left().await == 0),
            ("deletes a login token", client.delete_token(&HOME, self.leftover).await.is_ok()),
            ("force-leaves an agent", client.force_leave(&format!("unknown-{}", self.name), &HOME).await.is_ok()),
            ("takes a node out", client.deregister_node(self.cluster.as_str(), &HOME).await.is_ok()),
        ]
    }

    async fn duties_of_secrets_manager(&self) -> Vec<(&'static str, bool)> {
        let pair = TokenPair {
            accessor: uuid::Uuid::new_v4().to_string().parse().unwrap(),
            secret: SecretString::from(uuid::Uuid::new_v4().to_string()),
        };
        let grant = Grant::ServiceIdentity(self.name.parse().unwrap());
        let mut new = NewToken { pair, description: "made".into(), grant, tenancy: HOME };
        let policy = controller::bootstrap::client_agent_policy(&HOME, &format!("{}-client", self.name));
        let has_policy = self.client.create_policy(&policy).await.is_ok();
        let is_made = self.client.create_token(&new).await.is_ok();
        new.description = "updated".into();
        let is_updated = self.client.update_token(&new).await.is_ok();
        let read = self.client.token(&HOME, new.pair.accessor).await.ok().flatten();
        vec![
            ("makes the client agents' policy", has_policy),
            ("makes a token", is_made),
            ("updates a token", is_updated),
            ("reads a token", read.is_some_and(|token| token.pair.is_same_as(&new.pair))),
            ("deletes the policy", self.client.delete_policy(&policy).await.is_ok_and(|deleted| deleted)),
        ]
    }

    async fn duties_of_auth_method(&self) -> Vec<(&'static str, bool)> {
        let object = |kind, name: String, body: Value| {
            let body = body.as_object().unwrap().clone();
            Object { kind, name, tenancy: HOME, body }
        };
        let node = cluster_arn(&format!("{}-new", self.name));
        let registration = json!({ "Node": node, "Address": "127.0.0.1", "NodeMeta": { "synthetic-node": "true" } });
        let node = object(ObjectKind::SyntheticNode, node, registration);
        let policy = object(
            ObjectKind::Policy,
            format!("{}-gateway", self.name),
            json!({ "Name": format!("{}-gateway", self.name) }),
        );
        let role =
            object(ObjectKind::Role, format!("{}-role", self.name), json!({ "Name": format!("{}-role", self.name) }));
        let method = object(ObjectKind::AuthMethod, "unknown".to_owned(), json!({}));
        let mut made = Vec::new();
        for (what, object) in [("makes a node", &node), ("makes a policy", &policy), ("makes a role", &role)] {
            let is_made = self.client.create(object, object.body.clone()).await.is_ok();
            made.push((what, is_made && self.client.read(object).await.is_ok_and(|found| found.is_some())));
        }
        made.push(("reads auth methods", self.client.read(&method).await.is_ok()));
        made.push(("knows the primary datacenter", self.client.is_primary().await.is_ok()));
        made
    }

    async fn statuses(&self) -> Vec<Value> {
        let checks = self.consul.get(&format!("/v1/health/node/{}", self.encoded())).await;
        checks.as_array().into_iter().flatten().map(|check| check["Status"].clone()).collect()
    }

    async fn services_left(&self) -> usize {
        let node = self.consul.get(&format!("/v1/catalog/node/{}", self.encoded())).await;
        node["Services"].as_object().map_or(0, serde_json::Map::len)
    }

    fn encoded(&self) -> String {
        self.cluster.as_str().replace('/', "%2F")
    }
}

/// The requests that fail with these rules: in `secrets-manager` mode, and in `auth-method` mode.
async fn failing(name: String, rules: &str) -> (BTreeSet<&'static str>, BTreeSet<&'static str>) {
    let objects = Objects::with_rules(&Stack::shared().await.consul, name, rules).await;
    let of_tokens = objects.duties_of_secrets_manager().await;
    let of_logins = objects.duties_of_auth_method().await;
    let of_both = objects.duties_of_both_modes().await;
    let failing = |own: Vec<(&'static str, bool)>| {
        own.iter().chain(&of_both).filter(|(_, works)| !works).map(|(what, _)| *what).collect()
    };
    (failing(of_tokens), failing(of_logins))
}

#[tokio::test]
async fn with_the_documented_policy_everything_works() {
    let (of_tokens, of_logins) = failing("policy-whole".to_owned(), &rules().join("\n")).await;
    assert!(of_tokens.is_empty() && of_logins.is_empty(), "{of_tokens:?} {of_logins:?}");
}

#[tokio::test]
async fn every_documented_rule_is_necessary() {
    let rules = rules();
    assert_eq!(rules.len(), 6, "{rules:#?}");
    let variants = rules.iter().enumerate().flat_map(|(index, rule)| {
        let instead = |replacement: Option<String>| {
            let mut all = rules.clone();
            all.splice(index..=index, replacement);
            all.join("\n")
        };
        let weaker = rule
            .contains("write")
            .then(|| (format!("policy-weaker-{index}"), instead(Some(rule.replace("write", "read")))));
        [Some((format!("policy-without-{index}"), instead(None))), weaker]
            .into_iter()
            .flatten()
            .map(move |(name, text)| (rule, name, text))
    });
    let tried = join_all(variants.map(|(rule, name, text)| async move {
        let (of_tokens, of_logins) = failing(name.clone(), &text).await;
        (rule, name, of_tokens, of_logins)
    }));
    for (rule, name, of_tokens, of_logins) in tried.await {
        assert!(!of_logins.is_empty(), "{name}: {rule} is unnecessary");
        // Only the bootstrap of logins reads the primary datacenter.
        let is_needed = !rule.starts_with("agent_prefix");
        assert_eq!(!of_tokens.is_empty(), is_needed, "{name}: {rule}: {of_tokens:?}");
    }
}
