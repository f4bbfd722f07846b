//! Login tokens that no sweep can delete: what a task's author writes into `consulLogin.meta` decides what their descriptions name.

use std::collections::BTreeMap;

use jiff::Timestamp;
use mesh::{arn::ClusterArn, consul_ecs::SERVICE_METHOD, mark::LoginMark, quota::EntryOwner, token::ListedToken};
use serde::Serialize;

use crate::tokens::Tokens;

/// The login tokens of a service that name no task of the stack's clusters.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase")]
pub struct UntraceableLogins {
    /// The service that the tokens are of, for example `service web`: what Consul has granted.
    pub owner: String,
    /// How many there are.
    pub count: usize,
    /// When the oldest was created.
    pub oldest: Option<Timestamp>,
}

impl Tokens {
    /// The logins through the auth method of services whose tokens name no task of these clusters, which are all clusters of the stack.
    /// Services with many come first.
    pub fn untraceable_logins(&self, clusters: &[ClusterArn]) -> Vec<UntraceableLogins> {
        let is_here = |login: &LoginMark| clusters.iter().any(|cluster| cluster.is_named_by(&login.cluster));
        let is_untraceable = |token: &&ListedToken| {
            token.auth_method.as_deref() == Some(SERVICE_METHOD) && !token.login().is_some_and(is_here)
        };
        let mut owners: BTreeMap<EntryOwner, (usize, Option<Timestamp>)> = BTreeMap::new();
        for token in self.listed.iter().filter(is_untraceable) {
            let (count, oldest) = owners.entry(EntryOwner::of_token(token)).or_default();
            *count += 1;
            *oldest = oldest.iter().copied().chain(token.created_at).min();
        }
        let all = owners.into_iter();
        let mut all: Vec<UntraceableLogins> =
            all.map(|(owner, (count, oldest))| UntraceableLogins { owner: owner.to_string(), count, oldest }).collect();
        all.sort_by_key(|it| std::cmp::Reverse(it.count));
        all
    }
}
