//! What the living tasks need, and what there is.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::Value;

use super::{Crowd, Member};
use local_stack::world::task_id;

impl Crowd<'_> {
    /// Everything that is not as it has to be.
    pub async fn violations(&self) -> Vec<String> {
        let list = self.world.consul.get("/v1/acl/tokens").await;
        let tokens = list.as_array().expect("a list of tokens");
        let mut wrong = self.wrong_logins(tokens);
        wrong.extend(self.wrong_instances().await);
        wrong.extend(self.wrong_service_tokens(tokens).await);
        wrong.extend(self.foreign_changes().await);
        wrong
    }

    fn living_services(&self) -> BTreeSet<&str> {
        self.members.iter().filter(|member| member.lives).map(|member| member.service.as_str()).collect()
    }

    /// A living task's login is there, and a stopped one's is gone.
    fn wrong_logins(&self, tokens: &[Value]) -> Vec<String> {
        let known: BTreeSet<&str> = tokens.iter().filter_map(|token| token["AccessorID"].as_str()).collect();
        let is_wrong = |member: &&Member| {
            member.login.as_ref().is_some_and(|login| known.contains(login.accessor_id.as_str()) != member.lives)
        };
        let wrong = self.members.iter().filter(is_wrong);
        wrong.map(|member| format!("login token of {}, which lives: {}", member.arn, member.lives)).collect()
    }

    /// A living task's service and sidecar proxy are there, and a stopped one's are gone.
    async fn wrong_instances(&self) -> Vec<String> {
        let is_ours = |id: &String| id.starts_with(self.world.name);
        let found: BTreeSet<String> = self.world.service_ids().await.into_iter().filter(is_ours).collect();
        let living = self.members.iter().filter(|member| member.lives);
        let wanted: BTreeSet<String> = living
            .flat_map(|member| {
                let id = format!("{}-{}", member.service, task_id(&member.arn));
                [format!("{id}-sidecar-proxy"), id]
            })
            .collect();
        found.symmetric_difference(&wanted).map(|id| format!("service {id}, wanted: {}", wanted.contains(id))).collect()
    }

    /// A service with a living task has one token, and its secret holds that; one without has none. In mode
    /// `auth-method` nobody has any.
    async fn wrong_service_tokens(&self, tokens: &[Value]) -> Vec<String> {
        let mut found = self.tokens_by_holder(tokens);
        let (mut wrong, living) = (Vec::new(), self.living_services());
        let mut holders: Vec<(String, String, bool)> = self
            .services
            .iter()
            .map(|(name, _)| (format!("{name} service"), self.world.secret_name(name), living.contains(name.as_str())))
            .collect();
        // The client agents' token stays, as long as the cluster does.
        let client = format!("{}-consul-client-token", self.world.prefix);
        holders.push(("consul-client".to_owned(), client, true));
        for (holder, secret, is_needed) in holders {
            let is_needed = is_needed && self.mode == "secrets-manager";
            let of_holder = found.remove(holder.as_str()).unwrap_or_default();
            wrong.extend(self.wrong_pair(&holder, &of_holder, &secret, is_needed).await);
        }
        wrong.extend(found.into_iter().map(|(holder, of)| format!("orphaned tokens of {holder}: {of:?}")));
        wrong
    }

    /// The accessor IDs of the tokens of these holders.
    pub async fn tokens_of(&self, holders: &[&str]) -> Vec<String> {
        let list = self.world.consul.get("/v1/acl/tokens").await;
        let mut found = self.tokens_by_holder(list.as_array().expect("a list of tokens"));
        let own = holders.iter().flat_map(|holder| found.remove(holder).unwrap_or_default());
        own.map(str::to_owned).collect()
    }

    /// The accessor IDs of the tokens of this cluster, each with whom its description calls its holder.
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
                .then(|| format!("{holder} needs nothing, but has {tokens:?}, and its secret holds {holds}"));
        }
        if tokens.len() != 1 && !self.leaves_orphans {
            return Some(format!("{holder} needs one token and has {tokens:?}"));
        }
        let Some(pair) = self.world.pair(secret).await.filter(|pair| tokens.contains(&pair.accessor_id.as_str()))
        else {
            return Some(format!("{holder}: its secret holds none of its tokens {tokens:?}"));
        };
        let token = self.world.consul.get(&format!("/v1/acl/token/{}", pair.accessor_id)).await;
        (token["SecretID"] != pair.token).then(|| format!("{holder}: its secret and Consul hold different tokens"))
    }
}
