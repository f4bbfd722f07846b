//! Whether an installation works, or can succeed: a list of checks, each with its result and the commands that correct it.
//!
//! ```text
//!  observe::InstallationReader ─▶ readings ─▶ one function for each check ─▶ DoctorReport
//! ```

mod commands;
mod delivery;
mod ended_servers;
mod functions;
mod mesh_entry;
mod sidecars;
mod stacks;
mod surroundings;

use jiff::Timestamp;
use mesh::{cluster_selection::ClusterSelection, permissions::required};
use observe::{
    AccountReading, ConsulReading, DeployedStack, Inspection, MeshEntryReading, PartsReading, Read, SurroundingsReading,
};
use serde::Serialize;

pub(crate) use self::commands::{deregister, quoted, word};
use self::functions::Subject;
pub use self::{
    commands::Commands,
    delivery::summarize_message,
    stacks::{alarm_topic, clusters},
};
use crate::unread::{of_consul, problems};

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

/// The checks of an installation. `read` is what was read of the stack, if there is one.
pub fn installed(
    account: &AccountReading,
    read: Option<(&Read<PartsReading>, &SurroundingsReading)>,
    commands: &Commands,
) -> DoctorReport {
    let (mut checks, own) = match begin(account, commands) {
        Ok(begun) => begun,
        Err(checks) => return report(checks),
    };
    checks.push(stacks::check_stack(own, commands));
    let (Some(own), Some((parts, around))) = (own, read) else { return report(checks) };
    match parts {
        Ok(parts) => {
            let (resources, clusters) = (&parts.resources, account.cluster_arns.as_str());
            checks.extend(of_parts(parts, &Subject { stack: own, resources, clusters, commands }));
        }
        Err(why) => checks.push(Check::unknown("resources", why)),
    }
    checks.push(surroundings::check_alarm_topic(around.topic.as_ref(), &account.caller, commands));
    checks.push(surroundings::check_trail(&around.trails, commands));
    checks.push(stacks::check_controllers(&around.inspection, Some(stacks::mode(own)), commands));
    let sidecars = around.inspection.as_ref().ok().zip(around.catalogs.as_ref());
    checks.extend(sidecars.map(|(inspection, read)| sidecars::check_sidecars(&inspection.clusters, read)));
    let version = parts.as_ref().ok().and_then(|parts| parts.consul.as_ref()?.as_ref().ok()).map(String::as_str);
    checks.extend(of_mesh(&around.inspection, around.mesh_entry.as_ref(), version, Some(own)));
    checks.push(stacks::check_other_stacks(own, &account.others, &around.clusters, &account.cluster_arns, commands));
    report(checks)
}

/// The checks of the functions, rules and queues.
fn of_parts(parts: &PartsReading, subject: &Subject<'_>) -> Vec<Check> {
    let mut checks = functions::checks(&functions::read_answer(parts.answer.as_ref()), subject);
    checks.extend(parts.consul.as_ref().map(surroundings::also_from_here));
    checks.push(delivery::check_rules(&parts.rules, subject));
    checks.push(delivery::check_queue(&parts.queue, subject));
    checks.push(delivery::failed(&parts.failed, subject));
    checks.push(delivery::undelivered(&parts.undelivered, subject));
    checks
}

/// What is planned before an installation.
pub struct Plan<'a> {
    /// The clusters that it is to manage, as in `EcsClusterArns`, and the selection that they are.
    pub clusters: &'a str,
    pub selection: &'a Read<ClusterSelection>,
    /// The prefix of the names of secrets.
    pub secret_prefix: &'a str,
}

/// The checks before an installation. `read` is what the selected clusters need and run, if they are known.
pub fn before_install(
    plan: &Plan<'_>,
    account: &AccountReading,
    read: Option<(&ConsulReading, &SurroundingsReading)>,
    commands: &Commands,
) -> DoctorReport {
    let (mut checks, own) = match begin(account, commands) {
        Ok(begun) => begun,
        Err(checks) => return report(checks),
    };
    checks.push(stacks::check_stack_before(own, commands));
    let selection = match plan.selection {
        Ok(selection) => selection,
        Err(why) => {
            checks.push(Check::failed("clusters", why));
            return report(checks);
        }
    };
    let Some((consul, around)) = read else { return report(checks) };
    checks.extend(of_consul_before(consul, selection, commands));
    checks.push(mesh_of(&around.inspection, plan.clusters));
    let version = consul.version.as_ref().ok().map(String::as_str);
    checks.extend(of_mesh(&around.inspection, Some(&consul.mesh_entry), version, own));
    checks.push(stacks::check_controllers(&around.inspection, None, commands));
    checks.push(surroundings::check_trail(&around.trails, commands));
    let planned = stacks::planned(&commands.stack, plan.clusters, plan.secret_prefix);
    checks.push(stacks::check_others_before(
        &planned,
        &account.others,
        &around.clusters,
        &account.cluster_arns,
        commands,
    ));
    report(checks)
}

/// The checks of what the tasks of the clusters find in Consul. `mesh_entry` is the config entry `mesh`, if Consul was asked, and `version`
/// that its servers have.
fn of_mesh(
    inspection: &Read<Inspection>,
    mesh_entry: Option<&MeshEntryReading>,
    version: Option<&str>,
    stack: Option<&DeployedStack>,
) -> Vec<Check> {
    let clusters = inspection.as_ref().map(|inspection| inspection.clusters.as_slice()).unwrap_or_default();
    let of_entry = mesh_entry.map(|read| mesh_entry::check_mesh_entry(read, clusters, version));
    of_entry.into_iter().chain(ended_servers::check_servers(clusters, stack)).collect()
}

/// The check of the credentials, and the stack, if it exists; `Err` with all checks if it could not be read.
fn begin<'a>(
    account: &'a AccountReading,
    commands: &Commands,
) -> Result<(Vec<Check>, Option<&'a DeployedStack>), Vec<Check>> {
    let mut checks = vec![surroundings::check_credentials(&account.caller, commands)];
    match &account.stack {
        Ok(stack) => Ok((checks, stack.as_ref())),
        Err(why) => {
            // Without credentials, the first check has said why.
            checks.extend(account.caller.is_ok().then(|| Check::unknown("stack", why)));
            Err(checks)
        }
    }
}

/// The checks of Consul from here.
fn of_consul_before(consul: &ConsulReading, selection: &ClusterSelection, commands: &Commands) -> Vec<Check> {
    let documented = required(selection, selection.patterns(), true);
    let missing = consul.missing.clone().map_err(|error| of_consul(&error));
    vec![
        surroundings::reach(&consul.version),
        surroundings::acls(&consul.own_token),
        surroundings::token(&missing, &documented, &commands.stack),
    ]
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
