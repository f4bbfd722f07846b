//! The account and the clusters that a command reads: arguments, clients, the log of the functions.

use std::{
    collections::{BTreeMap, BTreeSet},
    env,
    time::Duration,
};

use audit_live::{LiveScope, gather_live};
use audit_read::input::Gathered;
use aws::{
    ecs::AwsEcs,
    installation::AwsInstallation,
    logs::AwsLogs,
    sdk::{self, SdkConfig},
};
use clap::Args;
use consul::{ConsulAddresses, HttpConsul};
use diagnosis::{Tokens, unread};
use jiff::Timestamp;
use mesh::{
    arn::ClusterArn, cluster_selection::ClusterSelection, names::InvalidField, secret_name::SecretNamePrefix,
    tenancy::Tenancy,
};
use observe::{Deadline, History, Inspector, Wanted, select_clusters};

use crate::{consul_variables::ConsulVariables, output::Progress, streams::Failure};

/// Which account and region
#[derive(Debug, Args)]
#[command(next_help_heading = "AWS")]
pub(super) struct AwsArguments {
    /// Use this AWS profile [default: `AWS_PROFILE`, or AWS's credential chain]
    #[arg(long, value_name = "NAME")]
    profile: Option<String>,
    /// Use this region [default: `AWS_REGION`, or the profile's region]
    #[arg(long, value_name = "REGION")]
    region: Option<String>,
}

impl AwsArguments {
    pub(super) fn profile(&self) -> Option<&str> {
        self.profile.as_deref()
    }

    pub(super) async fn sdk(&self) -> Result<SdkConfig, Failure> {
        let config = sdk::of_user(self.profile.as_deref(), self.region.as_deref()).await;
        if config.region().is_none() {
            let reason = "no AWS region. Pass --region, set AWS_REGION, or set a region in the profile";
            return Err(Failure::new(reason));
        }
        Ok(config)
    }
}

pub(super) fn runtime() -> Result<tokio::runtime::Runtime, Failure> {
    Ok(tokio::runtime::Builder::new_current_thread().enable_all().build()?)
}

/// The stack of the controller
#[derive(Debug, Args)]
#[command(next_help_heading = "Stack")]
pub(super) struct StackArguments {
    /// Use the controller's stack with this name
    #[arg(long, value_name = "NAME", default_value = "ecs-mesh-controller")]
    pub(super) stack: String,
}

/// The prefix of the names of secrets if there is no stack: the default of the template.
const DEFAULT_PREFIX: &str = "consul-ecs";

/// How the stack is configured
#[derive(Debug, Args)]
pub(super) struct PrefixArguments {
    /// Set the prefix of secret names [default: the stack's `SecretNamePrefix`; `consul-ecs` without a stack]
    #[arg(long, value_name = "PREFIX", value_parser = secret_prefix)]
    secret_name_prefix: Option<SecretNamePrefix>,
}

pub(super) struct Installation {
    /// Its parameters; none if there is no such stack.
    parameters: Option<BTreeMap<String, String>>,
    prefix: SecretNamePrefix,
    /// Why the stack could not be read.
    pub(super) problem: Option<String>,
}

impl Installation {
    pub(super) fn parameter(&self, name: &str) -> Option<&str> {
        self.parameters.as_ref()?.get(name).map(String::as_str)
    }

    /// The clusters with these names or ARNs; without any, the clusters that the stack manages.
    pub(super) async fn clusters(&self, ecs: &AwsEcs, named: &[String]) -> Result<Vec<ClusterArn>, Failure> {
        let mut clusters = selected(ecs, named).await?;
        if let (true, Some(wanted), Some(first)) =
            (named.is_empty(), self.parameter("EcsClusterArns"), clusters.first())
        {
            let prefix = first.as_str().strip_suffix(first.name());
            let managed = ClusterSelection::parse(wanted, prefix).map_err(Failure::new)?;
            clusters.retain(|cluster| managed.contains(cluster));
        }
        Ok(clusters)
    }
}

pub(super) fn secret_prefix(text: &str) -> Result<SecretNamePrefix, String> {
    text.parse().map_err(|invalid: InvalidField| invalid.to_string())
}

pub(super) struct Clients {
    pub(super) sdk: SdkConfig,
    pub(super) ecs: AwsEcs,
    pub(super) consul: HttpConsul,
    /// The tenancy of tasks without Enterprise tags.
    tenancy: Tenancy,
    consul_hosts: BTreeSet<String>,
}

impl Clients {
    /// The clients of this account and region, and of the Consul that the variables name.
    pub(super) async fn new(aws: &AwsArguments) -> Result<Self, Failure> {
        let variables = ConsulVariables::read(|name| env::var(name).ok())?;
        let sdk = aws.sdk().await?;
        Ok(Self {
            ecs: AwsEcs::new(&sdk),
            sdk,
            consul: variables.client()?,
            consul_hosts: variables.hosts(),
            tenancy: variables.tenancy,
        })
    }

    /// How the stack of this name is installed. What the command line says takes precedence.
    pub(super) async fn installation(&self, stack: &str, prefix: &PrefixArguments) -> Result<Installation, Failure> {
        let (found, problem) = match AwsInstallation::new(&self.sdk).stack(stack).await {
            Ok(found) => (found, None),
            Err(error) => (None, Some(format!("cannot read the parameters of stack {stack}: {error}"))),
        };
        let parameters = found.map(|stack| stack.parameters);
        let of_stack = || {
            let name = parameters.as_ref().and_then(|all| all.get("SecretNamePrefix"));
            secret_prefix(name.map_or(DEFAULT_PREFIX, String::as_str)).map_err(Failure::new)
        };
        let prefix = prefix.secret_name_prefix.clone().map_or_else(of_stack, Ok)?;
        Ok(Installation { parameters, prefix, problem })
    }

    pub(super) fn inspector(&self, installation: &Installation) -> Inspector<'_> {
        Inspector {
            ecs: &self.ecs,
            consul: &self.consul,
            secret_prefix: installation.prefix.clone(),
            default_tenancy: self.tenancy.clone(),
            deadline: Deadline::after(LONGEST_READING),
        }
    }

    /// Reads the tokens in Consul.
    pub(super) async fn tokens(&self, inspector: &Inspector<'_>, installation: &Installation) -> ReadTokens {
        let read = inspector.tokens().await.map_err(|error| unread(&error))?;
        let of_stack = installation.parameter("ConsulHttpAddr").and_then(|text| text.parse::<ConsulAddresses>().ok());
        let consul_hosts = of_stack.iter().flat_map(ConsulAddresses::hosts).chain(self.consul_hosts.clone()).collect();
        Ok(read.map(|tokens| Tokens::of_consul(tokens, consul_hosts)))
    }
}

/// The longest that a command reads: a person ends it before.
pub(super) const LONGEST_READING: Duration = Duration::from_hours(1);

/// The tokens in Consul; `None` if ACLs are off. An error says why they could not be read.
pub(super) type ReadTokens = Result<Option<Tokens>, String>;

/// The tokens, if they are known.
pub(super) fn known(tokens: &ReadTokens) -> Option<&Tokens> {
    tokens.as_ref().ok().and_then(Option::as_ref)
}

/// The clusters with these names or ARNs; every cluster, without any.
pub(super) async fn selected(ecs: &AwsEcs, named: &[String]) -> Result<Vec<ClusterArn>, Failure> {
    select_clusters(ecs, named).await.map_err(Failure::new)
}

/// The log groups in the template that have lines about tasks. The audit has none: `why` audits the revision again.
const LOG_GROUPS: [&str; 2] = ["TaskEventsLogGroup", "ReconcileLogGroup"];

/// Which history is read
#[derive(Debug, Args)]
pub(super) struct HistoryArguments {
    /// Read the log this far back: 30m, 24h, 7d
    #[arg(long, value_name = "SPAN", default_value = "24h", value_parser = span)]
    since: Duration,
    #[command(flatten)]
    stack: StackArguments,
}

impl HistoryArguments {
    pub(super) fn stack(&self) -> &str {
        &self.stack.stack
    }

    pub(super) fn since(&self, now: Timestamp) -> Timestamp {
        now.checked_sub(self.since).unwrap_or(Timestamp::UNIX_EPOCH)
    }

    /// Reads the log. What could not be read is a problem of the history.
    pub(super) async fn read(&self, sdk: &SdkConfig, wanted: Wanted<'_>, since: Timestamp) -> History {
        let unread = |why: String| History::unread(format!("the controller's history could not be read: {why}"));
        let resources = match AwsInstallation::new(sdk).resources(self.stack()).await {
            Ok(resources) => resources,
            Err(error) => return unread(format!("{error}. Pass --stack to name another stack")),
        };
        let groups = LOG_GROUPS.iter().filter_map(|name| resources.get(*name));
        let groups: Vec<String> = groups.map(|group| group.id.clone()).collect();
        if groups.is_empty() {
            return unread(format!("stack {} has no log groups of the functions", self.stack()));
        }
        History::read(&AwsLogs::new(sdk), &groups, wanted, since).await
    }
}

/// The longest span: CloudWatch Logs keeps lines for at most ten years.
const LONGEST_DAYS: u64 = 3_653;

fn span(text: &str) -> Result<Duration, String> {
    let refused =
        || format!("{text:?}: expected a number with a unit, such as 30m, 24h or 7d, up to {LONGEST_DAYS} days");
    let (number, unit) = text.split_at_checked(text.len().saturating_sub(1)).ok_or_else(refused)?;
    let number: u64 = number.parse().map_err(|_| refused())?;
    let seconds = match unit {
        "m" => 60,
        "h" => 3_600,
        "d" => 86_400,
        _ => return Err(refused()),
    };
    let span = number.checked_mul(seconds).filter(|span| (1..=LONGEST_DAYS * 86_400).contains(span));
    span.map(Duration::from_secs).ok_or_else(refused)
}

/// Task definitions of an account and region
#[derive(Debug, Args)]
#[command(next_help_heading = "Live")]
pub(super) struct LiveArguments {
    /// Check the revisions that this cluster runs, by name or ARN; may be repeated
    #[arg(long, value_name = "CLUSTER")]
    cluster: Vec<String>,
    /// Limit to these services of the cluster
    #[arg(long, value_name = "SERVICE", requires = "cluster")]
    service: Vec<String>,
    /// Check the newest active revision of this family
    #[arg(long, value_name = "FAMILY")]
    family: Vec<String>,
    /// Check this revision: family:revision or ARN
    #[arg(long, value_name = "REVISION")]
    task_definition: Vec<String>,
    /// Check the newest revision of every family, and every revision that clusters run
    #[arg(long, conflicts_with_all = ["cluster", "family", "task_definition"])]
    all: bool,
    #[command(flatten)]
    aws: AwsArguments,
}

impl LiveArguments {
    pub(super) fn is_requested(&self) -> bool {
        self.all || !self.scope().is_everything()
    }

    /// Reads from ECS, and shows the progress on a terminal.
    pub(super) fn gather(&self) -> Result<Gathered, Failure> {
        let progress = Progress::new()?;
        let work = async {
            let ecs = AwsEcs::new(&self.aws.sdk().await?);
            let show = |done, total| progress.say(&format!("{done} of {total} task definitions read"));
            Ok(gather_live(&ecs, &self.scope(), &show).await)
        };
        runtime()?.block_on(progress.during(work))
    }

    fn scope(&self) -> LiveScope {
        LiveScope {
            clusters: self.cluster.clone(),
            services: self.service.clone(),
            families: self.family.clone(),
            definitions: self.task_definition.clone(),
            deployed: None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn span_has_a_number_and_a_unit() {
        for (text, seconds) in [("30m", 1_800), ("24h", 86_400), ("7d", 604_800)] {
            assert_eq!(span(text), Ok(Duration::from_secs(seconds)), "{text}");
        }
        for text in ["", "24", "h", "-1h", "0h", "1w", "1 h", "4000d", "99999999999999999999h", "24ü"] {
            assert!(span(text).is_err(), "{text}");
        }
    }
}
