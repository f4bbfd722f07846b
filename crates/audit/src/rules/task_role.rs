//! What the task role must allow: `ExecuteCommand`, and the calls of consul-ecs's controller.

use super::{
    execution_role::refused,
    permissions::{Call, Permission},
    prelude::*,
};
use crate::subject::{ControllerKind, consul_ecs_version};
use audit_read::definition::{IamRole, ServiceUse, Statement};
use mesh::release::Release;

pub(super) static ECS_EXEC_TASK_ROLE: Rule =
    Rule::of_task(page!("ecs-exec-task-role"), Applies::EveryTask, check_exec_task_role);

/// What the agent of `ExecuteCommand` calls. None of them knows a resource. Source:
/// <https://docs.aws.amazon.com/AmazonECS/latest/developerguide/task-iam-roles.html#ecs-exec-required-iam-permissions>
const CHANNELS: [&str; 4] = [
    "ssmmessages:CreateControlChannel",
    "ssmmessages:CreateDataChannel",
    "ssmmessages:OpenControlChannel",
    "ssmmessages:OpenDataChannel",
];

fn check_exec_task_role(subject: &Subject<'_>, findings: &mut Findings) {
    let definition = subject.definition;
    let enables = |service: &&ServiceUse| service.execute_command.known() == Some(&true);
    let Some(service) = definition.services.iter().find(enables) else { return };
    let switch = format!("the service {} enables ExecuteCommand", service.name);
    if definition.task_role.is_absent() && definition.runs_on_fargate() {
        let message = format!("{switch}, but the definition has no task role");
        let help = "set taskRoleArn to a role that may open channels of ssmmessages";
        findings.add(Draft::new(service.execute_command.span(), message, help).in_file(&service.file));
    }
    let Some((role, statements)) = of_policies(definition.declared_role.as_ref()) else { return };
    let calls = CHANNELS.map(|action| Call { action, resources: Vec::new() });
    findings.extend(of_calls(role, statements, &calls, &switch));
}

/// A role with the statements of its policies, if the input has all of them.
fn of_policies(role: Option<&IamRole>) -> Option<(&IamRole, &[Statement])> {
    Some((role?, role?.statements.as_deref()?))
}

/// The findings about calls that the task role must allow: one for all that are missing.
pub(super) fn of_calls(role: &IamRole, statements: &[Statement], calls: &[Call<'_>], who: &str) -> Vec<Draft> {
    let permissions = calls.iter().map(|call| (call.action, call.permission(statements)));
    let (missing, others): (Vec<_>, Vec<_>) = permissions.partition(|(_, it)| matches!(it, Permission::Missing));
    let missing: Vec<&str> = missing.into_iter().map(|(action, _)| action).collect();
    let draft = |actions: &str, permission: &Permission<'_>| {
        refused(role, "task role", actions, permission, &format!("{who}: it needs {actions}"))
    };
    let of_missing = if missing.is_empty() { None } else { draft(&missing.join(" and "), &Permission::Missing) };
    of_missing.into_iter().chain(others.iter().filter_map(|(action, permission)| draft(action, permission))).collect()
}

pub(super) static CONSUL_CONTROLLER_ROLE: Rule =
    Rule::of_task(page!("consul-controller-role"), Applies::Controller, check_controller_role);

/// The first release whose controller writes no tokens into Secrets Manager.
const LOGINS_SINCE: Release = Release::line(0, 5);

fn check_controller_role(subject: &Subject<'_>, findings: &mut Findings) {
    let Some(controller) = &subject.controller else { return };
    let label = controller.container.label();
    if subject.definition.task_role.is_absent() && subject.definition.runs_on_fargate() {
        let role = &subject.definition.task_role;
        let message = format!("{label} lists tasks, but the definition has no task role");
        let help = "set taskRoleArn to a role that may call ecs:ListTasks and ecs:DescribeTasks";
        findings.add(Draft::new(role.span(), message, help).of(controller.container));
    }
    let Some((role, statements)) = of_policies(subject.definition.declared_role.as_ref()) else { return };
    let tasks = vec!["arn:*:ecs:*:*:task/*".to_owned(), "arn:*:ecs:*:*:task/*/*".to_owned()];
    let mut calls = vec![
        Call { action: "ecs:ListTasks", resources: Vec::new() },
        Call { action: "ecs:DescribeTasks", resources: tasks },
    ];
    let writes_tokens = controller.kind == Some(ControllerKind::AclController)
        && consul_ecs_version(controller.container).is_some_and(|version| version.in_line() < LOGINS_SINCE);
    if writes_tokens {
        let secret = || vec!["arn:*:secretsmanager:*:*:secret:*".to_owned()];
        let actions = ["secretsmanager:GetSecretValue", "secretsmanager:UpdateSecret"];
        calls.extend(actions.map(|action| Call { action, resources: secret() }));
    }
    let drafts = of_calls(role, statements, &calls, &format!("{label} reads the tasks of the cluster"));
    findings.extend(drafts.into_iter().map(|draft| draft.of(controller.container)));
}
