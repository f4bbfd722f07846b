//! Reads an installation and what is around it, and makes the checks.

use ::report::CheckReport;
use aws::{
    ecs::{AwsEcs, Clusters as _},
    installation::{AwsInstallation, DeployedStack, Resources},
    queue::DeadLetterQueues,
};
use consul::{HttpConsul, Permissions as _, Release as _};
use jiff::Timestamp;
use mesh::{arn::ClusterArn, cluster_selection::ClusterSelection, permission::required, tenancy::Tenancy};

use super::{
    Check, DoctorReport, Read, account,
    commands::Commands,
    consul_from_here,
    delivery::{self, Letters, Queue},
    functions::{self, NoAnswer, Subject},
    others, stack,
};
use crate::{observed::Observed, problem::of_consul, reader::Reader};

/// What is read.
pub struct Sources<'a> {
    pub installation: &'a AwsInstallation,
    pub queues: &'a DeadLetterQueues,
    pub ecs: &'a AwsEcs,
    /// What the clusters run.
    pub reader: &'a Reader<'a>,
    /// Consul, from here; `None` if it is not asked.
    pub consul: Option<&'a HttpConsul>,
}

/// Makes the checks.
pub struct Doctor<'a> {
    /// What is read.
    pub sources: Sources<'a>,
    /// The stack, its region and profile.
    pub commands: Commands,
    /// Is called with what is read next.
    pub progress: &'a (dyn Fn(&str) + Sync),
}

/// What was read, with an error in words.
fn said<T, E: ToString>(result: Result<T, E>) -> Read<T> {
    result.map_err(|error| error.to_string())
}

impl Doctor<'_> {
    /// The checks of an installation.
    pub async fn installed(&self) -> DoctorReport {
        let (mut checks, found) = self.find_stack().await;
        let Some((arns, stacks)) = found else { return report(checks) };
        let own = stacks.iter().find(|stack| stack.name == self.commands.stack);
        checks.push(stack::check(own, &self.commands));
        let Some(own) = own else { return report(checks) };
        match said(self.sources.installation.resources(&own.name).await) {
            Ok(resources) => {
                let subject = Subject { stack: own, resources: &resources, clusters: &arns, commands: &self.commands };
                self.check_parts(&subject, &mut checks).await;
            }
            Err(why) => checks.push(Check::unknown("resources", why)),
        }
        (self.progress)("reading the alarms' topic, trails and clusters");
        let topic = match stack::parameter(own, "AlarmTopicArn") {
            "" => None,
            topic => Some((topic, said(self.sources.installation.key_of(topic).await))),
        };
        checks.push(account::check_alarm_topic(topic, &self.commands));
        checks.push(account::check_trail(&said(self.sources.installation.trails().await), &self.commands));
        let known = said(self.sources.ecs.list_clusters().await);
        let selected = said(stack::clusters(own, &arns));
        let observed = match (&known, selected) {
            (Ok(known), Ok(selection)) => Ok(self.observe(known, &selection).await),
            (Err(why), _) => Err(why.clone()),
            (_, Err(why)) => Err(why),
        };
        checks.push(others::check_controllers(&observed, Some(stack::mode(own)), &self.commands));
        let others: Vec<&DeployedStack> = stacks.iter().filter(|stack| stack.name != own.name).collect();
        checks.push(others::check_other_stacks(own, &others, &known, &arns, &self.commands));
        report(checks)
    }

    /// The checks before an installation that manages `clusters`, as in `EcsClusterArns`, with this prefix of the names of secrets and the
    /// tenancy of tasks without tags.
    pub async fn before_install(&self, clusters: &str, secret_prefix: &str, tenancy: &Tenancy) -> DoctorReport {
        let (mut checks, found) = self.find_stack().await;
        let Some((arns, stacks)) = found else { return report(checks) };
        let own = stacks.iter().find(|stack| stack.name == self.commands.stack);
        checks.push(stack::check_before(own, &self.commands));
        let selection = match said(ClusterSelection::parse(clusters, Some(&arns))) {
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
        let known = said(self.sources.ecs.list_clusters().await);
        let observed = match &known {
            Ok(known) => Ok(self.observe(known, &selection).await),
            Err(why) => Err(why.clone()),
        };
        checks.push(mesh_of(&observed, clusters));
        checks.push(others::check_controllers(&observed, None, &self.commands));
        checks.push(account::check_trail(&said(self.sources.installation.trails().await), &self.commands));
        let others: Vec<&DeployedStack> = stacks.iter().filter(|stack| stack.name != self.commands.stack).collect();
        let planned = stack::planned(&self.commands.stack, clusters, secret_prefix);
        checks.push(others::check_before(&planned, &others, &known, &arns, &self.commands));
        report(checks)
    }

    /// The start of the ARNs of clusters, and all stacks; `None` if they cannot be read.
    async fn find_stack(&self) -> (Vec<Check>, Option<(String, Vec<DeployedStack>)>) {
        (self.progress)("reading the stack");
        let caller = said(self.sources.installation.caller().await);
        let mut checks = vec![account::check_credentials(&caller, &self.commands)];
        let Ok(caller) = caller else { return (checks, None) };
        let partition = caller.arn.split(':').nth(1).unwrap_or("aws");
        let arns = format!("arn:{partition}:ecs:{}:{}:cluster/", self.commands.region, caller.account);
        match said(self.sources.installation.stacks(&self.commands.stack).await) {
            Ok(stacks) => (checks, Some((arns, stacks))),
            Err(why) => {
                checks.push(Check::unknown("stack", why));
                (checks, None)
            }
        }
    }

    /// The checks of the functions, rules and queues.
    async fn check_parts(&self, subject: &Subject<'_>, checks: &mut Vec<Check>) {
        (self.progress)("asking the function reconcile");
        checks.extend(functions::checks(&self.ask(subject).await, subject));
        if let Some(consul) = self.sources.consul {
            checks.push(consul_from_here::also_from_here(&consul.version().await));
        }
        (self.progress)("reading rules and queues");
        checks.push(delivery::check_rules(&self.rules(subject.resources).await, &self.commands));
        checks.push(delivery::check_queue(&self.queue(subject).await, subject));
        checks.push(delivery::failed(&self.letters(subject.id("FailedEventsQueue")).await, subject));
        checks.push(delivery::undelivered(&self.letters(subject.id("UndeliveredEventsQueue")).await, subject));
    }

    async fn ask(&self, subject: &Subject<'_>) -> Result<CheckReport, NoAnswer> {
        let invoked = self.sources.installation.invoke(subject.id("ReconcileFunction"), &functions::question()).await;
        functions::read_answer(said(invoked).map_err(NoAnswer::Unasked)?)
    }

    async fn rules(&self, resources: &Resources) -> Read<Vec<(String, bool)>> {
        let mut rules = Vec::new();
        for resource in resources.values().filter(|resource| resource.kind == "AWS::Events::Rule") {
            let is_enabled = said(self.sources.installation.is_enabled(&resource.id).await)?;
            rules.push((resource.id.clone(), is_enabled));
        }
        Ok(rules)
    }

    async fn queue(&self, subject: &Subject<'_>) -> Read<Queue> {
        let installation = self.sources.installation;
        Ok(Queue {
            waiting: said(self.sources.queues.queue(subject.id("TaskEventsQueue")).await)?.messages,
            mapping: said(installation.mapping(subject.id("TaskEventsSource")).await)?,
            concurrency: said(installation.reserved_concurrency(subject.id("TaskEventsFunction")).await)?,
        })
    }

    async fn letters(&self, url: &str) -> Read<Letters> {
        let count = said(self.sources.queues.queue(url).await)?.messages;
        let some = if count == 0 { Vec::new() } else { said(self.sources.queues.look(url).await)? };
        Ok(Letters { count, some })
    }

    /// What runs in the selected ones of the known clusters.
    async fn observe(&self, known: &[ClusterArn], selection: &ClusterSelection) -> Observed {
        let selected: Vec<ClusterArn> = known.iter().filter(|cluster| selection.contains(cluster)).cloned().collect();
        self.sources.reader.read_ecs(&selected, self.progress).await
    }

    /// The checks of Consul from here.
    async fn consul_before(&self, consul: &HttpConsul, selection: &ClusterSelection, tenancy: &Tenancy) -> Vec<Check> {
        (self.progress)("asking Consul");
        let mut checks = vec![consul_from_here::reach(&consul.version().await)];
        checks.push(consul_from_here::acls(&consul.own_token().await));
        let has_partitions = tenancy.partition().is_some();
        let needed = required(selection, selection.patterns(), has_partitions);
        let missing = consul.missing_permissions(tenancy, &needed).await;
        let documented = required(selection, selection.patterns(), true);
        checks.push(consul_from_here::token(
            &missing.map_err(|error| of_consul(&error)),
            &documented,
            &self.commands.stack,
        ));
        checks
    }
}

/// Whether there is a mesh to manage.
fn mesh_of(observed: &Read<Observed>, clusters: &str) -> Check {
    const NAME: &str = "clusters";
    let observed = match observed {
        Ok(observed) => observed,
        Err(why) => return Check::unknown(NAME, why),
    };
    if !observed.problems.is_empty() {
        return Check::unknown(NAME, observed.problems.join("; "));
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
