//! The check of the stack, and what its parameters say.

use aws::installation::DeployedStack;
use mesh::{cluster_selection::ClusterSelection, field::InvalidField, mode::Mode};

use super::{
    Check,
    commands::{Commands, word},
};

const NAME: &str = "stack";

/// The value of a parameter; empty if the stack has none of that name.
pub(super) fn parameter<'a>(stack: &'a DeployedStack, name: &str) -> &'a str {
    stack.parameters.get(name).map(String::as_str).unwrap_or_default()
}

/// Whether a stack acts.
pub(super) fn mode(stack: &DeployedStack) -> Mode {
    parameter(stack, "Mode").parse().unwrap_or_default()
}

/// The clusters that a stack manages; `prefix` is the start of their ARNs.
pub(super) fn clusters(stack: &DeployedStack, prefix: &str) -> Result<ClusterSelection, InvalidField> {
    ClusterSelection::parse(parameter(stack, "EcsClusterArns"), Some(prefix))
}

/// A stack that is not there yet, with these clusters, this prefix of secrets, and the defaults of the template.
pub(super) fn planned(name: &str, clusters: &str, secret_prefix: &str) -> DeployedStack {
    let parameters = [("EcsClusterArns", clusters), ("SecretNamePrefix", secret_prefix)];
    let parameters = parameters.map(|(name, value)| (name.to_owned(), value.to_owned()));
    DeployedStack { name: name.to_owned(), parameters: parameters.into(), ..DeployedStack::default() }
}

/// Whether the stack is there, and complete.
pub(super) fn check(stack: Option<&DeployedStack>, commands: &Commands) -> Check {
    let Some(stack) = stack else {
        let seen = format!("there is no stack {} in {}; --stack names another one", commands.stack, commands.region);
        return Check::failed(NAME, seen).with_commands([commands.first_deploy()]);
    };
    let events = commands.aws(&format!(
        "cloudformation describe-stack-events --stack-name {} --query \"StackEvents[?contains(ResourceStatus,'FAILED')].\
         [LogicalResourceId,ResourceStatusReason]\" --output text",
        word(&stack.name)
    ));
    let reason = stack.reason.as_ref().map(|reason| format!(": {reason}")).unwrap_or_default();
    let seen = format!("{} is {}{reason}", stack.name, stack.status);
    let rollback = commands.aws(&format!("cloudformation continue-update-rollback --stack-name {}", word(&stack.name)));
    match stack.status.as_str() {
        "CREATE_COMPLETE" | "UPDATE_COMPLETE" | "IMPORT_COMPLETE" => {
            Check::ok(NAME, format!("{seen}, {}", said(stack)))
        }
        "UPDATE_ROLLBACK_COMPLETE" => Check::warning(
            NAME,
            format!("{seen}: the last update failed, and the one before is in use, {}", said(stack)),
        )
        .with_commands([events]),
        "UPDATE_ROLLBACK_FAILED" => Check::failed(NAME, seen).with_commands([events, rollback]),
        "DELETE_IN_PROGRESS" => {
            Check::failed(NAME, seen).with_commands([wait(stack, "stack-delete-complete", commands)])
        }
        running if running.ends_with("_IN_PROGRESS") => {
            let end = match running {
                rolled_back if rolled_back.contains("ROLLBACK") => "stack-rollback-complete",
                created if created.starts_with("CREATE") => "stack-create-complete",
                imported if imported.starts_with("IMPORT") => "stack-import-complete",
                _ => "stack-update-complete",
            };
            Check::warning(NAME, format!("{seen}: ask again when it has ended"))
                .with_commands([wait(stack, end, commands)])
        }
        _ => Check::failed(NAME, seen).with_commands([events]),
    }
}

/// The command that ends when the stack has come to an end.
fn wait(stack: &DeployedStack, end: &str, commands: &Commands) -> String {
    commands.aws(&format!("cloudformation wait {end} --stack-name {}", word(&stack.name)))
}

/// Its mode and clusters.
fn said(stack: &DeployedStack) -> String {
    let mode = mode(stack);
    let what = if mode.acts() { "" } else { ": it reports what it would do, and changes nothing" };
    format!("with Mode={}{what}; clusters {}", mode.as_str(), parameter(stack, "EcsClusterArns"))
}

/// Whether the name is free.
pub(super) fn check_before(stack: Option<&DeployedStack>, commands: &Commands) -> Check {
    match stack {
        None => Check::ok(NAME, format!("there is no stack {} in {} yet", commands.stack, commands.region)),
        Some(stack) => {
            let seen = format!("the stack {} is there already ({}): a deployment updates it", stack.name, stack.status);
            Check::warning(NAME, seen).with_commands([commands.ecs_mesh("doctor")])
        }
    }
}

#[cfg(test)]
pub(super) fn of_tests(name: &str, parameters: &[(&str, &str)]) -> DeployedStack {
    let parameters = parameters.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned()));
    DeployedStack {
        name: name.to_owned(),
        status: "CREATE_COMPLETE".to_owned(),
        reason: None,
        parameters: parameters.collect(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::doctor::{CheckOutcome, commands};

    fn checked(status: &str) -> Check {
        let stack = of_tests("mesh", &[("Mode", "observe"), ("EcsClusterArns", "prod-*")]);
        check(Some(&DeployedStack { status: status.to_owned(), ..stack }), &commands::of_tests())
    }

    #[test]
    fn complete_stack_says_its_mode_and_clusters() {
        let made = checked("UPDATE_COMPLETE");
        assert_eq!(made.outcome, CheckOutcome::Ok);
        let said = "mesh is UPDATE_COMPLETE, with Mode=observe: it reports what it would do, and changes nothing; clusters prod-*";
        assert_eq!(made.seen, said);
    }

    #[test]
    fn each_other_status_says_how_it_goes_on() {
        let rolled_back = checked("UPDATE_ROLLBACK_COMPLETE");
        assert_eq!(rolled_back.outcome, CheckOutcome::Warning);
        assert!(rolled_back.commands[0].starts_with("aws cloudformation describe-stack-events --stack-name mesh "));
        let stuck = checked("UPDATE_ROLLBACK_FAILED");
        assert_eq!(stuck.outcome, CheckOutcome::Failed);
        assert!(stuck.commands[1].starts_with("aws cloudformation continue-update-rollback --stack-name mesh "));
        assert_eq!(checked("ROLLBACK_COMPLETE").outcome, CheckOutcome::Failed);
        let running = checked("UPDATE_IN_PROGRESS");
        assert_eq!(running.outcome, CheckOutcome::Warning);
        assert!(running.commands[0].contains("wait stack-update-complete"));
        assert!(checked("UPDATE_ROLLBACK_IN_PROGRESS").commands[0].contains("wait stack-rollback-complete"));
        let deleted = checked("DELETE_IN_PROGRESS");
        assert_eq!(deleted.outcome, CheckOutcome::Failed);
        assert!(deleted.commands[0].contains("wait stack-delete-complete"));
    }

    #[test]
    fn missing_stack_is_deployed() {
        let made = check(None, &commands::of_tests());
        assert_eq!(made.outcome, CheckOutcome::Failed);
        assert_eq!(made.commands, ["sam build && sam deploy --guided --stack-name mesh --region us-east-1"]);
        assert_eq!(check_before(None, &commands::of_tests()).outcome, CheckOutcome::Ok);
        let there = check_before(Some(&of_tests("mesh", &[])), &commands::of_tests());
        assert_eq!(there.outcome, CheckOutcome::Warning);
    }
}
