//! The descriptions of ACL tokens, and the marks in them: which cluster, service or task a token belongs to.

use std::{fmt, time::Duration};

use jiff::Timestamp;
use serde::Deserialize;

use crate::{
    arn::{ClusterArn, TaskId},
    cluster_selection::ClusterSelection,
    consul_ecs::{NAMESPACE_TAG, PARTITION_TAG},
    holder::TokenHolder,
    identity::MeshService,
    names::ServiceName,
    tenancy::{Tenancy, TenancyName},
    time::elapsed,
};

/// The key of the line with the cluster that a token was created for.
const CLUSTER_KEY: &str = "consul.hashicorp.com/cluster";
/// The key of the line with the time since when a token has been unused: no task of its service has started.
const UNUSED_SINCE_KEY: &str = "ecs-mesh-controller/unused-since";

/// The key of the line with the secret that a token was created for: account, region and name.
const SECRET_KEY: &str = "ecs-mesh-controller/secret";

/// The key of the lines with further clusters whose tasks have used a token.
const USED_IN_KEY: &str = "ecs-mesh-controller/used-in";

/// The text that Consul puts before the metadata of a login in the description of the token.
const LOGIN_PREFIX: &str = "token created via login: ";

/// The description of a token, with its mark.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TokenDescription {
    text: String,
    mark: Mark,
}

/// Who a token belongs to, as its description says.
#[derive(Debug, Clone, PartialEq, Eq)]
enum Mark {
    /// A task has logged in. Its author can choose what the mark names.
    Login(LoginMark),
    /// This controller or that of consul-ecs created the token.
    Holder(HolderMark),
    /// The description names neither.
    None,
}

/// The marks of a token that this controller or that of consul-ecs created.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct HolderMark {
    /// The service; `None` for the Consul client agents' token.
    pub service: Option<ServiceName>,
    /// The cluster: its ARN, or, in tokens of consul-ecs, what the task metadata endpoint printed.
    pub cluster: String,
    /// Further clusters whose tasks have used the token, by ARN.
    pub used_in: Vec<String>,
    /// Since when the token has been waiting for the first task of its service.
    pub unused_since: Option<Timestamp>,
    /// The secret that it was created for; `None` in tokens of consul-ecs.
    pub secret: Option<String>,
    partition: Option<String>,
    namespace: Option<String>,
}

impl From<String> for TokenDescription {
    fn from(text: String) -> Self {
        let login = LoginMark::parse(&text).map(Mark::Login);
        let mark = login.or_else(|| HolderMark::parse(&text).map(Mark::Holder)).unwrap_or(Mark::None);
        Self { text, mark }
    }
}

impl From<&str> for TokenDescription {
    fn from(text: &str) -> Self {
        text.to_owned().into()
    }
}

impl fmt::Display for TokenDescription {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.text)
    }
}

impl TokenDescription {
    pub fn as_str(&self) -> &str {
        &self.text
    }

    /// The task that logged in for the token.
    ///
    /// ```
    /// use mesh::mark::TokenDescription;
    ///
    /// let description = TokenDescription::from(
    ///     "token created via login: {\"consul.hashicorp.com/cluster\":\"prod\",\
    ///      \"consul.hashicorp.com/task-id\":\"0123456789abcdef0123456789abcdef\"}",
    /// );
    /// assert_eq!(description.login().expect("the mark of a task").cluster, "prod");
    /// assert_eq!(TokenDescription::from("token created via login").login(), None);
    /// ```
    pub fn login(&self) -> Option<&LoginMark> {
        match &self.mark {
            Mark::Login(login) => Some(login),
            Mark::Holder(_) | Mark::None => None,
        }
    }

    /// The mark of the controller that created the token.
    pub fn holder_mark(&self) -> Option<&HolderMark> {
        match &self.mark {
            Mark::Holder(mark) => Some(mark),
            Mark::Login(_) | Mark::None => None,
        }
    }

    /// What the mark names as its cluster: an ARN, or in tokens of consul-ecs also a name.
    pub fn cluster(&self) -> Option<&str> {
        match &self.mark {
            Mark::Login(login) => Some(&login.cluster),
            Mark::Holder(mark) => Some(&mark.cluster),
            Mark::None => None,
        }
    }

    /// Whether a controller of one of `clusters` created the token for `holder`.
    pub fn is_of(&self, holder: &TokenHolder, clusters: &ClusterSelection) -> bool {
        self.holder_mark().is_some_and(|mark| mark.is_for(holder) && mark.is_of(clusters))
    }

    /// With the mark of the secret at `place`, as [`super::secret_name::SecretNames::place_of`] returns it.
    #[must_use]
    pub fn for_secret(&self, place: &str) -> Self {
        format!("{self}\n{SECRET_KEY}: {place}").into()
    }

    /// With a mark for each of `clusters` that the description does not name yet.
    #[must_use]
    pub fn with_users<'a>(self, clusters: impl IntoIterator<Item = &'a str>) -> Self {
        clusters.into_iter().fold(self, |marked, cluster| {
            let names = |named: &str| cluster == named || cluster.rsplit('/').next() == Some(named);
            let names_it = |mark: &HolderMark| names(&mark.cluster) || mark.used_in.iter().any(|named| names(named));
            if marked.holder_mark().is_none_or(names_it) {
                marked
            } else {
                format!("{marked}\n{USED_IN_KEY}: {cluster}").into()
            }
        })
    }

    /// With the mark that the token has been unused since `since`.
    #[must_use]
    pub fn with_unused_since(&self, since: Timestamp) -> Self {
        format!("{self}\n{UNUSED_SINCE_KEY}: {since}").into()
    }

    /// Without the mark of an unused token, because a task of its service has started.
    #[must_use]
    pub fn without_unused_since(&self) -> Self {
        let lines = self.text.lines().filter(|line| !line.starts_with(UNUSED_SINCE_KEY));
        lines.collect::<Vec<_>>().join("\n").into()
    }

    /// Restarts the wait of an unused token at `now`. `None` if the token is in use, or if less than a tenth of `wait` has
    /// passed since its mark.
    ///
    /// The tenth bounds the writes to Consul when task definitions are registered in quick succession.
    pub fn with_restarted_wait(&self, now: Timestamp, wait: Duration) -> Option<Self> {
        let since = self.holder_mark()?.unused_since?;
        (elapsed(since, now) >= wait / 10).then(|| self.without_unused_since().with_unused_since(now))
    }
}

impl TokenHolder {
    /// The description of the holder's token for `cluster`, in the format of consul-ecs, so that its controller
    /// recognizes the token after a rollback.
    pub fn token_description(&self, cluster: &ClusterArn) -> TokenDescription {
        let holder = match self {
            Self::Service(service) | Self::Spelled { service, .. } => title_of(&service.name),
            Self::Client { .. } => "Token for consul-client".to_owned(),
        };
        let mut description = format!("{holder}\nconsul.hashicorp.com/cluster: {cluster}");
        if let Tenancy::Enterprise { partition, namespace } = self.tenancy() {
            use std::fmt::Write as _;
            // Writing to a `String` cannot fail.
            let _ = write!(
                description,
                "\nconsul.hashicorp.com/partition: {partition}\nconsul.hashicorp.com/namespace: {namespace}"
            );
        }
        description.into()
    }
}

impl HolderMark {
    /// The marks in a description, or `None` if no controller created the token.
    fn parse(description: &str) -> Option<Self> {
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
            used_in: marks.iter().filter(|(k, _)| *k == USED_IN_KEY).map(|(_, arn)| (*arn).to_owned()).collect(),
            unused_since: mark(UNUSED_SINCE_KEY).and_then(|at| at.parse().ok()),
            secret: mark(SECRET_KEY),
            partition: mark(PARTITION_TAG),
            namespace: mark(NAMESPACE_TAG),
        })
    }

    /// Whether the token was created for one of `clusters`, which the mark names by ARN or by name.
    pub fn is_of(&self, clusters: &ClusterSelection) -> bool {
        clusters.is_named_by(&self.cluster)
    }

    /// A cluster that has used the token and is not selected, so its tasks may still use it.
    pub fn cluster_outside(&self, clusters: &ClusterSelection) -> Option<&str> {
        let all = [&self.cluster].into_iter().chain(&self.used_in);
        all.map(String::as_str).find(|cluster| !clusters.is_named_by(cluster))
    }

    /// Whether the mark has the ARN of one of `clusters`. A name alone may mean a cluster of another account.
    pub fn has_arn_of(&self, clusters: &ClusterSelection) -> bool {
        clusters.has_arn(&self.cluster)
    }

    /// Whether the token may belong to the secret at `place`: the mark names this secret or none.
    pub fn may_be_for(&self, place: &str) -> bool {
        self.secret.as_deref().is_none_or(|secret| secret == place)
    }

    /// The service that the token was created for, if its token may be in `found`: consul-ecs 0.4.1 creates the tokens
    /// of all namespaces in `default`.
    pub fn service_in(&self, found: &Tenancy) -> Option<MeshService> {
        let own = || match found {
            Tenancy::Enterprise { partition, namespace } if namespace.as_str() == "default" => {
                let namespace = self.namespace.as_deref()?.parse().ok()?;
                Some(Tenancy::Enterprise { partition: partition.clone(), namespace })
            }
            _ => None,
        };
        let tenancy = if self.is_in(found) { found.clone() } else { own().filter(|own| self.is_in(own))? };
        Some(MeshService { tenancy, name: self.service.clone()? })
    }

    /// Whether the token was created for `holder`.
    pub fn is_for(&self, holder: &TokenHolder) -> bool {
        let name = holder.service().map(|service| &service.name);
        self.service.as_ref() == name && self.is_in(holder.tenancy())
    }

    /// Whether the token was certainly created for another holder. consul-ecs may leave out the marks of the tenancy.
    pub fn is_for_another_than(&self, holder: &TokenHolder) -> bool {
        let has_name = self.service.as_ref() == holder.service().map(|service| &service.name);
        !has_name || self.partition.is_some() && !self.is_in(holder.tenancy())
    }

    /// Whether the token belongs in `tenancy`. Absent marks, as in Community Edition, mean `default`.
    pub fn is_in(&self, tenancy: &Tenancy) -> bool {
        let same = |mark: &Option<String>, wanted: Option<&TenancyName>| {
            mark.as_deref().unwrap_or("default") == wanted.map_or("default", TenancyName::as_str)
        };
        same(&self.partition, tenancy.partition()) && same(&self.namespace, tenancy.namespace())
    }
}

/// Why a token is kept that tasks of a cluster outside the deployment have used.
pub fn used_outside(cluster: &str) -> String {
    format!(
        "tasks of {cluster} have used it, which EcsClusterArns does not select, so it is not known whether they still do; delete the \
         token if no task reads it"
    )
}

/// The first line of the description of a service's token.
pub fn title_of(service: &ServiceName) -> String {
    format!("Token for {service} service")
}

/// The task that logged in for a token.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LoginMark {
    /// The cluster as the task named it.
    pub cluster: String,
    pub task: TaskId,
}

/// The metadata with which a task of consul-ecs logs in.
#[derive(Deserialize)]
struct LoginMeta {
    #[serde(rename = "consul.hashicorp.com/task-id")]
    task_id: String,
    #[serde(rename = "consul.hashicorp.com/cluster")]
    cluster: String,
}

impl LoginMark {
    /// The task that logged in for the token with this description, or `None` if the description names none.
    fn parse(description: &str) -> Option<Self> {
        let meta: LoginMeta = serde_json::from_str(description.strip_prefix(LOGIN_PREFIX)?).ok()?;
        Some(Self { cluster: meta.cluster, task: meta.task_id.parse().ok()? })
    }

    /// Whether `task` of `cluster`, which the mark names by ARN or by name, logged in.
    pub fn is_of(&self, task: &TaskId, cluster: &ClusterArn) -> bool {
        self.task == *task && cluster.is_named_by(&self.cluster)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{arn::ClusterArn, examples::clusters, identity::MeshService};

    fn cluster() -> ClusterArn {
        "arn:aws:ecs:us-east-1:123456789012:cluster/prod".parse().unwrap()
    }

    fn service() -> MeshService {
        MeshService { tenancy: Tenancy::Community, name: "web".parse().unwrap() }
    }

    #[test]
    fn marks_of_own_tokens_are_parsed() {
        let description = TokenHolder::Service(service()).token_description(&cluster());
        let mark = description.holder_mark().unwrap();
        assert_eq!(mark.service, Some("web".parse().unwrap()));
        assert!(mark.has_arn_of(&clusters("prod")) && mark.is_in(&Tenancy::Community));
        let client = TokenHolder::Client { tenancy: Tenancy::Community };
        assert_eq!(client.token_description(&cluster()).holder_mark().unwrap().service, None);
    }

    #[test]
    fn cluster_name_alone_is_not_certain() {
        let mark = HolderMark::parse("Token for web service\nconsul.hashicorp.com/cluster: prod").unwrap();
        assert!(mark.is_of(&clusters("prod")) && !mark.has_arn_of(&clusters("prod")));
    }

    #[test]
    fn description_without_marks_is_not_parsed() {
        for text in ["", "by hand", "Token for web", "Token for web service", "Token for We b service\nx: y"] {
            assert_eq!(HolderMark::parse(text), None, "{text}");
        }
    }

    #[test]
    fn unused_mark_is_added_and_removed() {
        let description = TokenHolder::Service(service()).token_description(&cluster());
        let since = Timestamp::from_second(1_000_000).unwrap();
        let unused = description.with_unused_since(since);
        assert_eq!(unused.holder_mark().unwrap().unused_since, Some(since));
        assert!(unused.is_of(&TokenHolder::Service(service()), &clusters("prod")));
        assert_eq!(unused.without_unused_since(), description);
        assert_eq!(description.without_unused_since(), description);
    }

    #[test]
    fn further_clusters_are_marked_once() {
        let description = TokenHolder::Service(service()).token_description(&cluster());
        let other = "arn:aws:ecs:us-east-1:123456789012:cluster/other";
        let marked = description.clone().with_users([cluster().as_str(), other, other]);
        assert_eq!(marked.as_str(), format!("{description}\necs-mesh-controller/used-in: {other}"));
        assert_eq!(marked.holder_mark().unwrap().cluster_outside(&clusters("prod")), Some(other));
        assert_eq!(description.holder_mark().unwrap().cluster_outside(&clusters("prod")), None);
        let by_name = TokenDescription::from("Token for web service\nconsul.hashicorp.com/cluster: prod");
        assert_eq!(by_name.clone().with_users([cluster().as_str()]), by_name, "as consul-ecs names it");
        assert_eq!(TokenDescription::from("by hand").with_users([other]).as_str(), "by hand");
    }

    #[test]
    fn mark_of_a_secret_excludes_other_secrets() {
        let plain = TokenHolder::Service(service()).token_description(&cluster());
        let marked = plain.for_secret("123456789012/us-east-1/consul-ecs-web");
        let marked = marked.holder_mark().unwrap();
        assert!(marked.may_be_for("123456789012/us-east-1/consul-ecs-web"));
        assert!(!marked.may_be_for("123456789012/us-east-1/blue-web"), "the secret of another deployment");
        assert!(plain.holder_mark().unwrap().may_be_for("123456789012/us-east-1/blue-web"));
    }

    #[test]
    fn marks_have_the_documented_form() {
        let team = Tenancy::Enterprise { partition: "team".parse().unwrap(), namespace: "shop".parse().unwrap() };
        let in_team = MeshService { tenancy: team, ..service() };
        let in_cluster = "consul.hashicorp.com/cluster: arn:aws:ecs:us-east-1:123456789012:cluster/prod";
        let tenancy = "consul.hashicorp.com/partition: team\nconsul.hashicorp.com/namespace: shop";
        let secret = "ecs-mesh-controller/secret: 123456789012/us-east-1/consul-ecs";
        let unused = "ecs-mesh-controller/unused-since: 1970-01-01T00:16:40Z";
        let written = [
            (
                TokenHolder::Service(service()),
                "web",
                format!("Token for web service\n{in_cluster}\n{secret}-web\n{unused}"),
            ),
            (
                TokenHolder::Service(in_team),
                "web-shop-team",
                format!("Token for web service\n{in_cluster}\n{tenancy}\n{secret}-web-shop-team\n{unused}"),
            ),
            (
                TokenHolder::Client { tenancy: Tenancy::Community },
                "consul-client-token",
                format!("Token for consul-client\n{in_cluster}\n{secret}-consul-client-token\n{unused}"),
            ),
        ];
        for (holder, name, text) in written {
            let place = format!("123456789012/us-east-1/consul-ecs-{name}");
            let since = Timestamp::from_second(1_000).unwrap();
            let marked = holder.token_description(&cluster()).for_secret(&place).with_unused_since(since);
            assert_eq!(marked.as_str(), text);
            let mark = marked.holder_mark().unwrap();
            assert!(mark.is_for(&holder) && mark.has_arn_of(&clusters("prod")) && mark.may_be_for(&place), "{text}");
            assert_eq!(mark.unused_since, Some(since));
        }
    }

    #[test]
    fn wait_restarts_after_a_tenth_of_it() {
        let description = TokenHolder::Service(service()).token_description(&cluster());
        let (since, wait) = (Timestamp::from_second(1_000_000).unwrap(), Duration::from_hours(20));
        let after = |description: &TokenDescription, hours| {
            description.with_restarted_wait(since + Duration::from_hours(hours), wait)
        };
        let unused = description.with_unused_since(since);
        assert_eq!(after(&unused, 1), None);
        let restarted = after(&unused, 2).unwrap();
        assert_eq!(restarted, description.with_unused_since(since + Duration::from_hours(2)));
        assert_eq!(after(&description, 19), None, "a token in use does not wait");
    }
}
