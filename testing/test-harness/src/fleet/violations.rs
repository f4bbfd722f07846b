//! Differences between the state of Consul and Secrets Manager and the state that the running tasks demand.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::Value;

use super::{Fleet, FleetTask};
use local_stack::world::instance_ids;

impl Fleet<'_> {
    /// All differences.
    pub async fn violations(&self) -> Vec<String> {
        let list = self.world.consul.get("/v1/acl/tokens").await;
        let tokens = list.as_array().expect("a list of tokens");
        let mut violations = self.wrong_logins(tokens);
        violations.extend(self.wrong_instances().await);
        violations.extend(self.wrong_service_tokens(tokens).await);
        violations.extend(self.foreign_changes().await);
        violations
    }

    fn active_services(&self) -> BTreeSet<&str> {
        self.tasks.iter().filter(|task| task.is_running).map(|task| task.service.as_str()).collect()
    }

    /// Login tokens: a running task's exists, a stopped task's is deleted.
    fn wrong_logins(&self, tokens: &[Value]) -> Vec<String> {
        let known: BTreeSet<&str> = tokens.iter().filter_map(|token| token["AccessorID"].as_str()).collect();
        let is_wrong = |task: &&FleetTask| {
            task.login.as_ref().is_some_and(|login| known.contains(login.accessor_id.as_str()) != task.is_running)
        };
        let violations = self.tasks.iter().filter(is_wrong);
        violations.map(|task| format!("login token of {}, which is_running: {}", task.arn, task.is_running)).collect()
    }

    /// Service instances: a running task's service and sidecar proxy are registered, a stopped task's are not.
    async fn wrong_instances(&self) -> Vec<String> {
        let is_ours = |id: &String| id.starts_with(self.world.name);
        let found: BTreeSet<String> = self.world.service_ids().await.into_iter().filter(is_ours).collect();
        let living = self.tasks.iter().filter(|task| task.is_running);
        let wanted: BTreeSet<String> = living.flat_map(|task| instance_ids(&task.service, &task.arn)).collect();
        found.symmetric_difference(&wanted).map(|id| format!("service {id}, wanted: {}", wanted.contains(id))).collect()
    }

    /// Service tokens: a service with a running task has one token, which its secret shows; any other service has none. In mode
    /// `auth-method` no service has one.
    async fn wrong_service_tokens(&self, tokens: &[Value]) -> Vec<String> {
        let mut found = self.tokens_by_holder(tokens);
        let (mut violations, living) = (Vec::new(), self.active_services());
        let mut holders: Vec<(String, String, bool)> = self
            .services
            .iter()
            .map(|(name, _)| (format!("{name} service"), self.world.secret_name(name), living.contains(name.as_str())))
            .collect();
        // The client agents' token stays as long as the cluster exists.
        let client = format!("{}-consul-client-token", self.world.prefix);
        holders.push(("consul-client".to_owned(), client, true));
        for (holder, secret, is_needed) in holders {
            let is_needed = is_needed && self.mode != "auth-method";
            let of_holder = found.remove(holder.as_str()).unwrap_or_default();
            violations.extend(self.wrong_pair(&holder, &of_holder, &secret, is_needed).await);
        }
        violations.extend(found.into_iter().map(|(holder, of)| format!("orphaned tokens of {holder}: {of:?}")));
        violations
    }

    /// The accessor IDs of the tokens of these holders.
    pub async fn tokens_of(&self, holders: &[&str]) -> Vec<String> {
        let list = self.world.consul.get("/v1/acl/tokens").await;
        let mut found = self.tokens_by_holder(list.as_array().expect("a list of tokens"));
        let own = holders.iter().flat_map(|holder| found.remove(holder).unwrap_or_default());
        own.map(str::to_owned).collect()
    }

    /// The accessor IDs of this cluster's tokens, by the holder in their description.
    fn tokens_by_holder<'t>(&self, tokens: &'t [Value]) -> BTreeMap<&'t str, Vec<&'t str>> {
        let cluster = format!("consul.hashicorp.com/cluster: {}", self.world.cluster());
        let mut found: BTreeMap<&str, Vec<&str>> = BTreeMap::new();
        for token in tokens {
            let mut lines = token["Description"].as_str().unwrap_or_default().lines();
            let holder = lines.next().and_then(|line| line.strip_prefix("Token for "));
            if let Some(holder) = holder.filter(|_| lines.any(|line| line == cluster)) {
                found.entry(holder).or_default().push(token["AccessorID"].as_str().unwrap());
            }
        }
        found
    }

    async fn wrong_pair(&self, holder: &str, tokens: &[&str], secret: &str, is_needed: bool) -> Option<String> {
        if !is_needed {
            let is_empty = self.world.is_empty(secret).await.unwrap_or(true);
            let holds = if is_empty { "nothing" } else { "a token" };
            return (!tokens.is_empty() || !is_empty)
                .then(|| format!("{holder} demands no token, but has {tokens:?}, and its secret holds {holds}"));
        }
        if tokens.len() != 1 && !self.leaves_orphans {
            return Some(format!("{holder} demands one token and has {tokens:?}"));
        }
        let Some(pair) = self.world.pair(secret).await.filter(|pair| tokens.contains(&pair.accessor_id.as_str()))
        else {
            return Some(format!("{holder}: its secret holds none of its tokens {tokens:?}"));
        };
        let token = self.world.consul.get(&format!("/v1/acl/token/{}", pair.accessor_id)).await;
        (token["SecretID"] != pair.token).then(|| format!("{holder}: its secret and Consul hold different tokens"))
    }
}
