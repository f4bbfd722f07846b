//! The marks in tokens' descriptions, by which we know whose they are.

use std::time::Duration;

use jiff::Timestamp;
use serde::Deserialize;

use super::{
    arn::{ClusterArn, TaskId},
    service_name::ServiceName,
    tags::{NAMESPACE_TAG, PARTITION_TAG},
    tenancy::{Tenancy, TenancyName},
    token::TokenHolder,
};
use crate::time::elapsed;

/// What Consul puts before a login's meta in the description of the token it makes.
const LOGIN_PREFIX: &str = "token created via login: ";
/// The key of the line that says for which cluster a token was made.
const CLUSTER_KEY: &str = "consul.hashicorp.com/cluster";
/// The key of the line that says since when a token waits for its service's first task.
const UNUSED_SINCE_KEY: &str = "ecs-mesh-controller/unused-since";

/// The key of the line that says for which secret a token was made: account, region and name.
const SECRET_KEY: &str = "ecs-mesh-controller/secret";

/// What the description of a token says that a controller made: this one, or the old one.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct HolderMark {
    /// The service; `None` for the Consul client agents' token.
    pub service: Option<ServiceName>,
    /// The cluster as the controller named it: an ARN, or (the old controller) what task metadata printed.
    pub cluster: String,
    /// Since when the token waits for its service's first task.
    pub unused_since: Option<Timestamp>,
    /// The secret that it was made for; `None` for a token of the old controller's, or of our release before this one.
    pub secret: Option<String>,
    partition: Option<String>,
    namespace: Option<String>,
}

impl HolderMark {
    /// The marks in a description, or `None`: then it is not a token of ours.
    #[must_use]
    pub fn parse(description: &str) -> Option<Self> {
        let mut lines = description.lines();
        let holder = lines.next()?.strip_prefix("Token for ")?;
        let service = match holder {
            "consul-client" => None,
            other => Some(other.strip_suffix(" service")?.parse().ok()?),
        };
        let marks: Vec<(&str, &str)> = lines.filter_map(|line| line.split_once(": ")).collect();
        let mark = |key: &str| marks.iter().find(|(k, _)| *k == key).map(|(_, value)| (*value).to_owned());
        Some(Self {
            service,
            cluster: mark(CLUSTER_KEY)?,
            unused_since: mark(UNUSED_SINCE_KEY).and_then(|at| at.parse().ok()),
            secret: mark(SECRET_KEY),
            partition: mark(PARTITION_TAG),
            namespace: mark(NAMESPACE_TAG),
        })
    }

    /// Whether the token was made for one of `clusters`, which may be named by ARN or by name.
    #[must_use]
    pub fn is_of(&self, clusters: &[ClusterArn]) -> bool {
        clusters.iter().any(|cluster| cluster.is_meant_by(&self.cluster))
    }

    /// The same, but only by ARN: a name alone may be that of another account's cluster.
    #[must_use]
    pub fn is_certainly_of(&self, clusters: &[ClusterArn]) -> bool {
        clusters.iter().any(|cluster| cluster.as_str() == self.cluster)
    }

    /// Whether the token may be that of the secret at `place`: it names no other.
    #[must_use]
    pub fn may_be_for(&self, place: &str) -> bool {
        self.secret.as_deref().is_none_or(|secret| secret == place)
    }

    /// Whether the token was made for `holder`.
    fn is_for(&self, holder: &TokenHolder) -> bool {
        let service = match holder {
            TokenHolder::Service(service) => Some(&service.name),
            TokenHolder::Client { .. } => None,
        };
        self.service.as_ref() == service && self.is_in(holder.tenancy())
    }

    /// Whether the token belongs in `tenancy`. Community Edition and its absent marks mean `default`.
    #[must_use]
    pub fn is_in(&self, tenancy: &Tenancy) -> bool {
        let same = |mark: &Option<String>, wanted: Option<&TenancyName>| {
            mark.as_deref().unwrap_or("default") == wanted.map_or("default", TenancyName::as_str)
        };
        same(&self.partition, tenancy.partition()) && same(&self.namespace, tenancy.namespace())
    }
}

/// Whether `description` marks a token that a controller of one of `clusters` made for `holder`.
#[must_use]
pub fn is_token_of(description: &str, holder: &TokenHolder, clusters: &[ClusterArn]) -> bool {
    HolderMark::parse(description).is_some_and(|mark| mark.is_for(holder) && mark.is_of(clusters))
}

/// The description of a token that was made for the secret at `place`, as [`super::secret_name::SecretNames::place_of`] says.
#[must_use]
pub fn marked_for_secret(description: &str, place: &str) -> String {
    format!("{description}\n{SECRET_KEY}: {place}")
}

/// The description of a token that waits for its service's first task since `since`.
#[must_use]
pub fn marked_unused(description: &str, since: Timestamp) -> String {
    format!("{description}\n{UNUSED_SINCE_KEY}: {since}")
}

/// The description of the same token once a task has appeared.
#[must_use]
pub fn marked_used(description: &str) -> String {
    let lines = description.lines().filter(|line| !line.starts_with(UNUSED_SINCE_KEY));
    lines.collect::<Vec<_>>().join("\n")
}

/// The description of a token that goes on waiting from `now` on, or `None` where it may stay as it is: nobody waits, or
/// the wait has only begun.
///
/// A wait that is less than a tenth over is not begun anew: the next one is then hardly shorter than promised, and
/// whoever registers definitions by the minute does not cost a write each time.
#[must_use]
pub fn with_restarted_wait(description: &str, now: Timestamp, wait: Duration) -> Option<String> {
    let since = HolderMark::parse(description)?.unused_since?;
    (elapsed(since, now) >= wait / 10).then(|| marked_unused(&marked_used(description), now))
}

/// The task that logged in for a token.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LoginMark {
    /// The cluster as the task named it.
    pub cluster: String,
    /// The task.
    pub task: TaskId,
}

#[derive(Deserialize)]
struct LoginMeta {
    #[serde(rename = "consul.hashicorp.com/task-id")]
    task_id: String,
    #[serde(rename = "consul.hashicorp.com/cluster")]
    cluster: String,
}

impl LoginMark {
    /// The mark in a token's description, or `None`: then the token is not a task's login token, and not ours.
    ///
    /// ```
    /// use mesh::mark::LoginMark;
    ///
    /// let mark = LoginMark::parse(
    ///     "token created via login: {\"consul.hashicorp.com/cluster\":\"prod\",\
    ///      \"consul.hashicorp.com/task-id\":\"0123456789abcdef0123456789abcdef\"}",
    /// );
    /// assert_eq!(mark.expect("a task's").cluster, "prod");
    /// assert_eq!(LoginMark::parse("token created via login"), None);
    /// ```
    #[must_use]
    pub fn parse(description: &str) -> Option<Self> {
        let meta: LoginMeta = serde_json::from_str(description.strip_prefix(LOGIN_PREFIX)?).ok()?;
        Some(Self { cluster: meta.cluster, task: meta.task_id.parse().ok()? })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::identity::MeshService;

    fn cluster() -> ClusterArn {
        "arn:aws:ecs:us-east-1:123456789012:cluster/prod".parse().unwrap()
    }

    fn service() -> MeshService {
        MeshService { tenancy: Tenancy::Community, name: "web".parse().unwrap() }
    }

    #[test]
    fn the_marks_of_our_own_tokens_are_read_back() {
        let mark = HolderMark::parse(&TokenHolder::Service(service()).token_description(&cluster())).unwrap();
        assert_eq!(mark.service, Some("web".parse().unwrap()));
        assert!(mark.is_certainly_of(&[cluster()]) && mark.is_in(&Tenancy::Community));
        let client = TokenHolder::Client { tenancy: Tenancy::Community };
        assert_eq!(HolderMark::parse(&client.token_description(&cluster())).unwrap().service, None);
    }

    #[test]
    fn a_cluster_s_name_alone_is_no_certainty() {
        let mark = HolderMark::parse("Token for web service\nconsul.hashicorp.com/cluster: prod").unwrap();
        assert!(mark.is_of(&[cluster()]) && !mark.is_certainly_of(&[cluster()]));
    }

    #[test]
    fn what_bears_no_marks_is_nobody_s() {
        for text in ["", "by hand", "Token for web", "Token for web service", "Token for We b service\nx: y"] {
            assert_eq!(HolderMark::parse(text), None, "{text}");
        }
    }

    #[test]
    fn a_token_made_ahead_says_so_until_a_task_appears() {
        let description = TokenHolder::Service(service()).token_description(&cluster());
        let since = Timestamp::from_second(1_000_000).unwrap();
        let unused = marked_unused(&description, since);
        assert_eq!(HolderMark::parse(&unused).unwrap().unused_since, Some(since));
        assert!(is_token_of(&unused, &TokenHolder::Service(service()), &[cluster()]));
        assert_eq!(marked_used(&unused), description);
        assert_eq!(marked_used(&description), description);
    }

    #[test]
    fn a_token_says_for_which_secret_it_was_made() {
        let plain = TokenHolder::Service(service()).token_description(&cluster());
        let marked = HolderMark::parse(&marked_for_secret(&plain, "123456789012/us-east-1/consul-ecs-web")).unwrap();
        assert!(marked.may_be_for("123456789012/us-east-1/consul-ecs-web"));
        assert!(!marked.may_be_for("123456789012/us-east-1/blue-web"), "it is another deployment's");
        assert!(HolderMark::parse(&plain).unwrap().may_be_for("123456789012/us-east-1/blue-web"));
    }

    #[test]
    fn a_wait_is_begun_anew_once_a_tenth_of_it_is_over() {
        let description = TokenHolder::Service(service()).token_description(&cluster());
        let (since, wait) = (Timestamp::from_second(1_000_000).unwrap(), Duration::from_hours(20));
        let after =
            |description: &str, hours| with_restarted_wait(description, since + Duration::from_hours(hours), wait);
        let unused = marked_unused(&description, since);
        assert_eq!(after(&unused, 1), None);
        let anew = after(&unused, 2).unwrap();
        assert_eq!(anew, marked_unused(&description, since + Duration::from_hours(2)));
        assert_eq!(after(&description, 19), None, "nobody waits for the first task of a service in use");
    }
}
