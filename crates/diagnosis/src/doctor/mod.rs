//! Whether an installation works, or can succeed: a list of checks, each with its result and the commands that correct it.
//!
//! ```text
//!  Doctor::installed, Doctor::before_install ─▶ readings ─▶ one function for each check ─▶ DoctorReport
//!        AWS, Consul, the functions              values            pure
//! ```

mod commands;
mod delivery;
mod functions;
mod stacks;
mod surroundings;

use aws::{
    ecs::{AwsEcs, Clusters as _},
    installation::{AwsInstallation, DeployedStack, Resources},
    queue::DeadLetterQueues,
};
use consul::{HttpConsul, Permissions as _, Release as _};
use jiff::Timestamp;
use mesh::{arn::ClusterArn, cluster_selection::ClusterSelection, permissions::required, tenancy::Tenancy};
use observe::{Inspection, Inspector};
use report::CheckReport;
use serde::Serialize;

pub use self::{commands::Commands, delivery::summarize_message};
use self::{
    delivery::{Letters, Queue},
    functions::{NoAnswer, Subject},
};
use crate::unread::{of_consul, problems};

/// What was read, or why it could not be.
type Read<T> = Result<T, String>;

/// How a check ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
pub enum CheckOutcome {
    /// All is as it should be.
    Ok,
    /// It works, with a restriction.
    Warning,
    /// Something does not work.
    Failed,
    /// It could not be checked.
    Unknown,
}

/// A check.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase")]
pub struct Check {
    /// Its name.
    pub check: &'static str,
    /// How it ended.
    pub outcome: CheckOutcome,
    /// What was seen.
    pub seen: String,
    /// The commands that correct it, or that show more.
    #[serde(rename = "fix")]
    pub commands: Vec<String>,
}

impl Check {
    fn new(check: &'static str, outcome: CheckOutcome, seen: impl Into<String>) -> Self {
        Self { check, outcome, seen: seen.into(), commands: Vec::new() }
    }

    pub(super) fn ok(check: &'static str, seen: impl Into<String>) -> Self {
        Self::new(check, CheckOutcome::Ok, seen)
    }

    pub(super) fn warning(check: &'static str, seen: impl Into<String>) -> Self {
        Self::new(check, CheckOutcome::Warning, seen)
    }

    pub(super) fn failed(check: &'static str, seen: impl Into<String>) -> Self {
        Self::new(check, CheckOutcome::Failed, seen)
    }

    /// What could not be read, and why.
    pub(super) fn unknown(check: &'static str, why: impl Into<String>) -> Self {
        Self::new(check, CheckOutcome::Unknown, why)
    }

    /// The check of what could not be read.
    pub(super) fn unread<T>(check: &'static str, read: &Read<T>) -> Self {
        Self::unknown(check, read.as_ref().err().map(String::as_str).unwrap_or_default())
    }

    /// The commands that correct it.
    pub(super) fn with_commands(self, commands: impl IntoIterator<Item = String>) -> Self {
        Self { commands: commands.into_iter().collect(), ..self }
    }
}

/// All checks.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase")]
pub struct DoctorReport {
    /// When they were made.
    pub read_at: Timestamp,
    /// The checks, each after those that it depends on.
    pub checks: Vec<Check>,
}

impl DoctorReport {
    /// How many checks ended so.
    pub fn count(&self, outcome: CheckOutcome) -> usize {
        self.checks.iter().filter(|check| check.outcome == outcome).count()
    }
}

pub struct Sources<'a> {
    pub installation: &'a AwsInstallation,
    pub queues: &'a DeadLetterQueues,
    pub ecs: &'a AwsEcs,
    /// What the clusters run.
    pub inspector: &'a Inspector<'a>,
    /// Consul, from here; `None` if it is not asked.
    pub consul: Option<&'a HttpConsul>,
}

pub struct Doctor<'a> {
    pub sources: Sources<'a>,
    /// The stack, its region and profile.
    pub commands: Commands,
    /// Is called with what is read next.
    pub progress: &'a (dyn Fn(&str) + Sync),
}

/// What was read, with an error in words.
fn in_words<T, E: ToString>(result: Result<T, E>) -> Read<T> {
    result.map_err(|error| error.to_string())
}

impl Doctor<'_> {
    /// The checks of an installation.
    pub async fn installed(&self) -> DoctorReport {
        let (mut checks, found) = self.find_stack().await;
        let Some((arns, stacks)) = found else { return report(checks) };
        let own = stacks.iter().find(|stack| stack.name == self.commands.stack);
        checks.push(stacks::check_stack(own, &self.commands));
        let Some(own) = own else { return report(checks) };
        match in_words(self.sources.installation.resources(&own.name).await) {
            Ok(resources) => {
                let subject = Subject { stack: own, resources: &resources, clusters: &arns, commands: &self.commands };
                self.check_parts(&subject, &mut checks).await;
            }
            Err(why) => checks.push(Check::unknown("resources", why)),
        }
        (self.progress)("reading the alarms' topic, trails and clusters");
        let topic = match stacks::parameter(own, "AlarmTopicArn") {
            "" => None,
            topic => Some((topic, in_words(self.sources.installation.key_of(topic).await))),
        };
        checks.push(surroundings::check_alarm_topic(topic, &self.commands));
        checks.push(surroundings::check_trail(&in_words(self.sources.installation.trails().await), &self.commands));
        let known = in_words(self.sources.ecs.list_clusters().await);
        let selected = in_words(stacks::clusters(own, &arns));
        let observed = match (&known, selected) {
            (Ok(known), Ok(selection)) => Ok(self.observe(known, &selection).await),
            (Err(why), _) => Err(why.clone()),
            (_, Err(why)) => Err(why),
        };
        checks.push(stacks::check_controllers(&observed, Some(stacks::mode(own)), &self.commands));
        let others: Vec<&DeployedStack> = stacks.iter().filter(|stack| stack.name != own.name).collect();
        checks.push(stacks::check_other_stacks(own, &others, &known, &arns, &self.commands));
        report(checks)
    }

    /// The checks before an installation that manages `clusters`, as in `EcsClusterArns`, with this prefix of the names of secrets and the
    /// tenancy of tasks without tags.
    pub async fn before_install(&self, clusters: &str, secret_prefix: &str, tenancy: &Tenancy) -> DoctorReport {
        let (mut checks, found) = self.find_stack().await;
        let Some((arns, stacks)) = found else { return report(checks) };
        let own = stacks.iter().find(|stack| stack.name == self.commands.stack);
        checks.push(stacks::check_stack_before(own, &self.commands));
        let selection = match in_words(ClusterSelection::parse(clusters, Some(&arns))) {
            Ok(selection) => selection,
            Err(why) => {
                checks.push(Check::failed("clusters", why));
                return report(checks);
            }
        };
        if let Some(consul) = self.sources.consul {
            checks.extend(self.consul_before(consul, &selection, tenancy).await);
        }
        (self.progress)("reading clusters and trails");
        let known = in_words(self.sources.ecs.list_clusters().await);
        let observed = match &known {
            Ok(known) => Ok(self.observe(known, &selection).await),
            Err(why) => Err(why.clone()),
        };
        checks.push(mesh_of(&observed, clusters));
        checks.push(stacks::check_controllers(&observed, None, &self.commands));
        checks.push(surroundings::check_trail(&in_words(self.sources.installation.trails().await), &self.commands));
        let others: Vec<&DeployedStack> = stacks.iter().filter(|stack| stack.name != self.commands.stack).collect();
        let planned = stacks::planned(&self.commands.stack, clusters, secret_prefix);
        checks.push(stacks::check_others_before(&planned, &others, &known, &arns, &self.commands));
        report(checks)
    }

    /// The start of the ARNs of clusters, and all stacks; `None` if they cannot be read.
    async fn find_stack(&self) -> (Vec<Check>, Option<(String, Vec<DeployedStack>)>) {
        (self.progress)("reading the stack");
        let caller = in_words(self.sources.installation.caller().await);
        let mut checks = vec![surroundings::check_credentials(&caller, &self.commands)];
        let Ok(caller) = caller else { return (checks, None) };
        let partition = caller.arn.split(':').nth(1).unwrap_or("aws");
        let arns = format!("arn:{partition}:ecs:{}:{}:cluster/", self.commands.region, caller.account);
        match in_words(self.sources.installation.stacks(&self.commands.stack).await) {
            Ok(stacks) => (checks, Some((arns, stacks))),
            Err(why) => {
                checks.push(Check::unknown("stack", why));
                (checks, None)
            }
        }
    }

    /// The checks of the functions, rules and queues.
    async fn check_parts(&self, subject: &Subject<'_>, checks: &mut Vec<Check>) {
        (self.progress)("asking reconcile");
        checks.extend(functions::checks(&self.ask(subject).await, subject));
        if let Some(consul) = self.sources.consul {
            checks.push(surroundings::also_from_here(&consul.version().await));
        }
        (self.progress)("reading rules and queues");
        checks.push(delivery::check_rules(&self.rules(subject.resources).await, &self.commands));
        checks.push(delivery::check_queue(&self.queue(subject).await, subject));
        checks.push(delivery::failed(&self.letters(subject.id("FailedEventsQueue")).await, subject));
        checks.push(delivery::undelivered(&self.letters(subject.id("UndeliveredEventsQueue")).await, subject));
    }

    async fn ask(&self, subject: &Subject<'_>) -> Result<CheckReport, NoAnswer> {
        let invoked = self.sources.installation.invoke(subject.id("ReconcileFunction"), &functions::question()).await;
        functions::read_answer(in_words(invoked).map_err(NoAnswer::Unasked)?)
    }

    async fn rules(&self, resources: &Resources) -> Read<Vec<(String, bool)>> {
        let mut rules = Vec::new();
        for resource in resources.values().filter(|resource| resource.kind == "AWS::Events::Rule") {
            let is_enabled = in_words(self.sources.installation.is_enabled(&resource.id).await)?;
            rules.push((resource.id.clone(), is_enabled));
        }
        Ok(rules)
    }

    async fn queue(&self, subject: &Subject<'_>) -> Read<Queue> {
        let installation = self.sources.installation;
        Ok(Queue {
            waiting: in_words(self.sources.queues.queue(subject.id("TaskEventsQueue")).await)?.messages,
            mapping: in_words(installation.mapping(subject.id("TaskEventsSource")).await)?,
            concurrency: in_words(installation.reserved_concurrency(subject.id("TaskEventsFunction")).await)?,
        })
    }

    async fn letters(&self, url: &str) -> Read<Letters> {
        let count = in_words(self.sources.queues.queue(url).await)?.messages;
        let some = if count == 0 { Vec::new() } else { in_words(self.sources.queues.look(url).await)? };
        Ok(Letters { count, some })
    }

    /// What runs in the selected ones of the known clusters.
    async fn observe(&self, known: &[ClusterArn], selection: &ClusterSelection) -> Inspection {
        let selected: Vec<ClusterArn> = known.iter().filter(|cluster| selection.contains(cluster)).cloned().collect();
        self.sources.inspector.inspect_ecs(&selected, self.progress).await
    }

    /// The checks of Consul from here.
    async fn consul_before(&self, consul: &HttpConsul, selection: &ClusterSelection, tenancy: &Tenancy) -> Vec<Check> {
        (self.progress)("asking Consul");
        let mut checks = vec![surroundings::reach(&consul.version().await)];
        checks.push(surroundings::acls(&consul.own_token().await));
        let has_partitions = tenancy.partition().is_some();
        let needed = required(selection, selection.patterns(), has_partitions);
        let missing = consul.missing_permissions(tenancy, &needed).await;
        let documented = required(selection, selection.patterns(), true);
        checks.push(surroundings::token(
            &missing.map_err(|error| of_consul(&error)),
            &documented,
            &self.commands.stack,
        ));
        checks
    }
}

/// Whether there is a mesh to manage.
fn mesh_of(observed: &Read<Inspection>, clusters: &str) -> Check {
    const NAME: &str = "clusters";
    let Ok(observed) = observed else { return Check::unread(NAME, observed) };
    if !observed.problems.is_empty() {
        return Check::unknown(NAME, problems(observed).join("; "));
    }
    let services: usize = observed.clusters.iter().map(|cluster| cluster.services.len()).sum();
    let tasks: usize = observed.clusters.iter().map(|cluster| cluster.tasks.len()).sum();
    let seen = format!(
        "EcsClusterArns={clusters} selects {} clusters with {services} services and {tasks} tasks of the mesh",
        observed.clusters.len()
    );
    if services + tasks == 0 { Check::warning(NAME, seen) } else { Check::ok(NAME, seen) }
}

fn report(checks: Vec<Check>) -> DoctorReport {
    DoctorReport { read_at: Timestamp::now(), checks }
}
