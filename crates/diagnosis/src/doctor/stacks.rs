//! The checks of the stack, and of what else manages its clusters: other stacks, and controllers of consul-ecs.

use audit::report::counted;
use mesh::{arn::ClusterArn, cluster_selection::ClusterSelection, names::InvalidField, settings::Mode};
use observe::{DeployedStack, Inspection, OtherController, Read, RunsAs};

use crate::unread::problems;

use super::{
    Check, CheckOutcome,
    commands::{Commands, word},
};

const STACK: &str = "stack";

/// The value of a parameter; empty if the stack has none of that name.
pub(super) fn parameter<'a>(stack: &'a DeployedStack, name: &str) -> &'a str {
    stack.parameters.get(name).map(String::as_str).unwrap_or_default()
}

/// Whether a stack acts.
pub(super) fn mode(stack: &DeployedStack) -> Mode {
    parameter(stack, "Mode").parse().unwrap_or_default()
}

/// The topic of a stack's alarms, if it has one.
pub fn alarm_topic(stack: &DeployedStack) -> Option<&str> {
    Some(parameter(stack, "AlarmTopicArn")).filter(|topic| !topic.is_empty())
}

/// The clusters that a stack manages; `prefix` is the start of their ARNs.
///
/// # Errors
/// The parameter `EcsClusterArns` is not valid.
pub fn clusters(stack: &DeployedStack, prefix: &str) -> Result<ClusterSelection, InvalidField> {
    ClusterSelection::parse(parameter(stack, "EcsClusterArns"), Some(prefix))
}

/// A stack that is not there yet, with these clusters, this prefix of secrets, and the defaults of the template.
pub(super) fn planned(name: &str, clusters: &str, secret_prefix: &str) -> DeployedStack {
    let parameters = [("EcsClusterArns", clusters), ("SecretNamePrefix", secret_prefix)];
    let parameters = parameters.map(|(name, value)| (name.to_owned(), value.to_owned()));
    DeployedStack { name: name.to_owned(), parameters: parameters.into(), ..DeployedStack::default() }
}

/// Whether the stack is there, and complete.
pub(super) fn check_stack(stack: Option<&DeployedStack>, commands: &Commands) -> Check {
    let Some(stack) = stack else {
        let seen = format!("no stack {} in {}. Pass --stack to name another stack", commands.stack, commands.region);
        return Check::failed(STACK, seen).with_commands([commands.first_deploy()]);
    };
    let events = commands.aws(&format!(
        "cloudformation describe-stack-events --stack-name {} --query \"StackEvents[?contains(ResourceStatus,'FAILED')].\
         [LogicalResourceId,ResourceStatusReason]\" --output text",
        word(&stack.name)
    ));
    let reason = stack.reason.as_ref().map(|reason| format!(": {reason}")).unwrap_or_default();
    let seen = format!("Stack {}: {}{reason}", stack.name, stack.status);
    let rollback = commands.aws(&format!("cloudformation continue-update-rollback --stack-name {}", word(&stack.name)));
    match stack.status.as_str() {
        "CREATE_COMPLETE" | "UPDATE_COMPLETE" | "IMPORT_COMPLETE" => {
            Check::ok(STACK, format!("{seen}, {}", mode_and_clusters(stack)))
        }
        "UPDATE_ROLLBACK_COMPLETE" => Check::warning(
            STACK,
            format!(
                "{seen}: the last update failed, so the previous deployment is in use, {}",
                mode_and_clusters(stack)
            ),
        )
        .with_commands([events]),
        "UPDATE_ROLLBACK_FAILED" => Check::failed(STACK, seen).with_commands([events, rollback]),
        "DELETE_IN_PROGRESS" => {
            Check::failed(STACK, seen).with_commands([wait(stack, "stack-delete-complete", commands)])
        }
        running if running.ends_with("_IN_PROGRESS") => {
            let end = match running {
                rolled_back if rolled_back.contains("ROLLBACK") => "stack-rollback-complete",
                created if created.starts_with("CREATE") => "stack-create-complete",
                imported if imported.starts_with("IMPORT") => "stack-import-complete",
                _ => "stack-update-complete",
            };
            Check::warning(STACK, format!("{seen}. Check again when it has ended"))
                .with_commands([wait(stack, end, commands)])
        }
        _ => Check::failed(STACK, seen).with_commands([events]),
    }
}

/// The command that ends when the stack has come to an end.
fn wait(stack: &DeployedStack, end: &str, commands: &Commands) -> String {
    commands.aws(&format!("cloudformation wait {end} --stack-name {}", word(&stack.name)))
}

fn mode_and_clusters(stack: &DeployedStack) -> String {
    let mode = mode(stack);
    let what = if mode.acts() { "" } else { " (reports changes, makes none)" };
    format!("Mode={}{what}, clusters {}", mode.as_str(), parameter(stack, "EcsClusterArns"))
}

/// Whether the name is free.
pub(super) fn check_stack_before(stack: Option<&DeployedStack>, commands: &Commands) -> Check {
    match stack {
        None => Check::ok(STACK, format!("no stack {} in {} yet", commands.stack, commands.region)),
        Some(stack) => {
            let seen = format!("stack {} already exists ({}). A deployment updates it", stack.name, stack.status);
            Check::warning(STACK, seen).with_commands([commands.ecs_mesh("doctor")])
        }
    }
}

const CONTROLLERS: &str = "other-controllers";

/// Whether a controller of consul-ecs runs. With `Mode=act` it is a failure: each would delete what the other one creates. `mode` is
/// `None` before the installation.
pub(super) fn check_controllers(observed: &Read<Inspection>, mode: Option<Mode>, commands: &Commands) -> Check {
    let Ok(observed) = observed else { return Check::unread(CONTROLLERS, observed) };
    let found: Vec<(&ClusterArn, &OtherController)> =
        observed.clusters.iter().flat_map(|cluster| cluster.controllers.iter().map(|it| (&cluster.arn, it))).collect();
    if found.is_empty() {
        let problems = problems(observed);
        return match problems.as_slice() {
            [] => Check::ok(CONTROLLERS, format!("none in {}", counted(observed.clusters.len(), "cluster"))),
            problems => Check::unknown(CONTROLLERS, problems.join("; ")),
        };
    }
    let seen: Vec<String> = found.iter().map(|(cluster, other)| describe(cluster, other)).collect();
    let seen = format!("the controller of consul-ecs runs: {}", seen.join(", "));
    let stop = found.iter().map(|(cluster, other)| stop(cluster, other, commands));
    match mode {
        Some(Mode::Observe) => Check::ok(CONTROLLERS, format!("{seen} (expected with Mode=observe)")),
        Some(Mode::Act) => Check::failed(CONTROLLERS, seen).with_commands(stop),
        // It is not stopped: nothing would manage the mesh until the installation acts.
        None => Check::warning(
            CONTROLLERS,
            format!("{seen}. Install with Mode=observe, and stop the other controller before you set Mode=act"),
        )
        .with_commands([commands.first_deploy()]),
    }
}

fn describe(cluster: &ClusterArn, other: &OtherController) -> String {
    match &other.runs_as {
        RunsAs::Service(service) => format!("service {service} of cluster {} ({})", cluster.name(), other.image),
        RunsAs::Task(task) => format!("task {task} of cluster {} ({})", cluster.name(), other.image),
    }
}

fn stop(cluster: &ClusterArn, other: &OtherController, commands: &Commands) -> String {
    let cluster = word(cluster.name());
    commands.aws(&match &other.runs_as {
        RunsAs::Service(service) => {
            format!("ecs update-service --cluster {cluster} --service {} --desired-count 0", word(service))
        }
        RunsAs::Task(task) => format!("ecs stop-task --cluster {cluster} --task {task}"),
    })
}

const OTHER_STACKS: &str = "other-stacks";

/// Whether another stack that acts shares clusters or a prefix with this one: docs/how-to/several-accounts.md. `known` are
/// the clusters of the account and region, and `prefix` is the start of their ARNs.
pub(super) fn check_other_stacks(
    stack: &DeployedStack,
    others: &[&DeployedStack],
    known: &Read<Vec<ClusterArn>>,
    prefix: &str,
    commands: &Commands,
) -> Check {
    let Ok(own) = clusters(stack, prefix) else {
        return Check::unknown(
            OTHER_STACKS,
            format!("cannot tell which clusters {:?} selects", parameter(stack, "EcsClusterArns")),
        );
    };
    let known = match known {
        Ok(known) => known,
        Err(_) if others.is_empty() => &Vec::new(),
        Err(why) => return Check::unknown(OTHER_STACKS, why),
    };
    let acting: Vec<&&DeployedStack> = others.iter().filter(|other| mode(other).acts()).collect();
    let mut seen = Vec::new();
    for other in &acting {
        let shared = shared(&own, clusters(other, prefix).ok().as_ref(), known);
        let what = match (shared.as_slice(), shares_secrets(stack, other)) {
            ([], false) => continue,
            ([], true) => format!("the secret name prefix {}", parameter(other, "SecretNamePrefix")),
            (names, _) => format!("the clusters {}", names.join(", ")),
        };
        seen.push(format!("stack {} also manages {what}", other.name));
    }
    match seen.as_slice() {
        [] if others.is_empty() => {
            Check::ok(OTHER_STACKS, "no other stack of the controller in the account and region")
        }
        [] => Check::ok(OTHER_STACKS, format!("{}, each with its own clusters", names(others))),
        seen if mode(stack).acts() => {
            let seen = format!("{}. Give each stack its own, or set Mode=observe in one", seen.join("; "));
            Check::failed(OTHER_STACKS, seen).with_commands([commands.update(stack, &[("Mode", "observe")])])
        }
        seen => Check::ok(OTHER_STACKS, format!("{}, but this stack only observes", seen.join("; "))),
    }
}

/// The same before an installation, when there is nothing to correct yet.
pub(super) fn check_others_before(
    planned: &DeployedStack,
    others: &[&DeployedStack],
    known: &Read<Vec<ClusterArn>>,
    prefix: &str,
    commands: &Commands,
) -> Check {
    let made = check_other_stacks(planned, others, known, prefix, commands);
    let seen = match made.outcome {
        CheckOutcome::Failed => {
            format!("{}. Choose others (--clusters, --secret-name-prefix), or install with Mode=observe", made.seen)
        }
        _ => made.seen,
    };
    Check { seen, commands: Vec::new(), ..made }
}

fn names(stacks: &[&DeployedStack]) -> String {
    let names: Vec<&str> = stacks.iter().map(|stack| stack.name.as_str()).collect();
    names.join(", ")
}

/// The clusters that both select.
fn shared(own: &ClusterSelection, theirs: Option<&ClusterSelection>, known: &[ClusterArn]) -> Vec<String> {
    let Some(theirs) = theirs else { return Vec::new() };
    let both = known.iter().filter(|cluster| own.contains(cluster) && theirs.contains(cluster));
    both.map(|cluster| cluster.name().to_owned()).collect()
}

/// Whether two stacks may share secrets: the same prefix, or one that begins with the other and a hyphen.
fn shares_secrets(stack: &DeployedStack, other: &DeployedStack) -> bool {
    let [own, theirs] = [stack, other].map(|stack| parameter(stack, "SecretNamePrefix"));
    let begins =
        |long: &str, short: &str| long.strip_prefix(short).is_some_and(|rest| rest.is_empty() || rest.starts_with('-'));
    begins(own, theirs) || begins(theirs, own)
}

#[cfg(test)]
mod tests;
