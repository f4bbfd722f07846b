//! Who may assume the roles of a task.

use super::prelude::*;
use audit_read::definition::{IamRole, Statement};
use document::HOLE;

/// The principal that assumes the roles of tasks. Source:
/// <https://docs.aws.amazon.com/AmazonECS/latest/developerguide/task-iam-roles.html>
const ECS_TASKS: &str = "ecs-tasks.amazonaws.com";

const ASSUME: &str = "sts:AssumeRole";

pub(super) static ECS_ROLE_TRUST: Rule = Rule::of_task(page!("ecs-role-trust"), Applies::EveryTask, check_role_trust);

fn check_role_trust(subject: &Subject<'_>, findings: &mut Findings) {
    let definition = subject.definition;
    let (task, execution) = (definition.declared_role.as_ref(), definition.declared_execution_role.as_ref());
    let is_same = |role: &&IamRole| {
        task.is_some_and(|task| (task.place.span, &task.file.name) == (role.place.span, &role.file.name))
    };
    for (name, role) in [("task role", task), ("execution role", execution.filter(|role| !is_same(role)))] {
        let Some((role, statements)) = role.and_then(|role| Some((role, role.trust.as_ref()?))) else { continue };
        findings.extend(refusal(name, role, statements));
    }
}

fn refusal(name: &str, role: &IamRole, statements: &[Statement]) -> Option<Draft> {
    let of_tasks = |statement: &&Statement| {
        statement.principals.iter().any(|principal| principal.as_deref().is_none_or(may_be_tasks))
    };
    let concerns = |statement: &&Statement| statement.actions.iter().any(|action| covers(action));
    let denial = statements.iter().filter(concerns).filter(of_tasks).find(|statement| {
        let is_certain = statement.principals.iter().all(Option::is_some) && statement.condition.is_none();
        !statement.is_allowing && is_certain
    });
    let mut allowing = statements.iter().filter(concerns).filter(|it| it.is_allowing && of_tasks(it)).peekable();
    let is_allowed = allowing.peek().is_some();
    let unmet: Option<Vec<_>> = allowing.map(|statement| Some((statement, unmet(statement)?))).collect();
    match unmet.as_deref() {
        Some([(statement, why), ..]) if denial.is_none() => {
            let message = format!("the trust policy of the {name} {why}");
            let help = "remove the condition, or require aws:SourceAccount instead";
            return Some(Draft::new(statement.span, message, help).in_file(&statement.file));
        }
        _ if denial.is_none() && is_allowed => return None,
        _ => {}
    }
    let span = denial.or(statements.first()).map_or(role.place.span, |statement| statement.span);
    let file = denial.or(statements.first()).map_or(&role.file, |statement| &statement.file);
    let message = match (denial, named(statements)) {
        (None, Some(others)) => format!("the trust policy of the {name} admits {others}, but not {ECS_TASKS}"),
        _ => format!("the trust policy of the {name} does not let {ECS_TASKS} assume it"),
    };
    let help = format!("allow {ASSUME} to the principal \"Service\": \"{ECS_TASKS}\"");
    Some(Draft::new(span, message, help).in_file(file))
}

/// Condition keys that ECS never sends. Source:
/// <https://docs.aws.amazon.com/IAM/latest/UserGuide/reference_policies_condition-keys.html>
const OF_OTHERS: [&str; 6] = [
    "sts:ExternalId",
    "sts:SourceIdentity",
    "aws:MultiFactorAuthAge",
    "aws:MultiFactorAuthPresent",
    "aws:username",
    "saml:aud",
];

/// Operators that hold, or may hold, without the key.
const WITHOUT_KEY: [&str; 4] = ["Not", "IfExists", "Null", "ForAllValues"];

/// Why a request of ECS never fulfils the condition of a statement.
fn unmet(statement: &Statement) -> Option<String> {
    let words: Vec<&str> = statement.condition.as_deref()?.split_whitespace().collect();
    if words.iter().any(|word| WITHOUT_KEY.iter().any(|part| word.contains(part))) {
        return None;
    }
    let has = |key: &str| words.iter().any(|word| word.eq_ignore_ascii_case(key));
    if let Some(key) = OF_OTHERS.iter().find(|key| has(key)) {
        return Some(format!("requires {key}, which ECS does not send"));
    }
    let arns: Vec<&str> = words.iter().copied().filter(|word| word.starts_with("arn:")).collect();
    if has("aws:SourceArn") && !arns.is_empty() && arns.iter().all(|arn| is_of_others(arn)) {
        return Some(format!(
            "requires aws:SourceArn {}, and ECS sends arn:aws:ecs:REGION:ACCOUNT:*",
            arns.join(" or ")
        ));
    }
    None
}

/// Whether an ARN certainly is not the source of a task. ECS does not support to name a cluster. Source:
/// <https://docs.aws.amazon.com/AmazonECS/latest/developerguide/task-iam-roles.html>
fn is_of_others(arn: &str) -> bool {
    let parts: Vec<&str> = arn.splitn(6, ':').collect();
    let [_, _, service, _, _, resource] = parts.as_slice() else { return false };
    let is_known = |part: &str| !part.is_empty() && !part.contains(['*', '?', HOLE]);
    let is_of = |kind: &&str| resource.starts_with(kind);
    let names_one = *service == "ecs" && ["cluster/", "service/", "task-definition/"].iter().any(is_of);
    is_known(service) && *service != "ecs" || names_one && is_known(resource)
}

/// The services that statements name instead.
fn named(statements: &[Statement]) -> Option<String> {
    let principals = statements.iter().flat_map(|statement| &statement.principals).flatten();
    let services: Vec<&str> = principals.map(String::as_str).filter(|name| name.contains(".amazonaws.com")).collect();
    (!services.is_empty() && !services.contains(&ECS_TASKS)).then(|| services.join(" and "))
}

/// Whether a principal is ECS's for tasks. China's partition has a domain of its own.
fn may_be_tasks(principal: &str) -> bool {
    principal == "*" || principal == ECS_TASKS || principal.strip_suffix(".cn") == Some(ECS_TASKS)
}

/// Whether a pattern of actions covers the call.
fn covers(pattern: &str) -> bool {
    let before = pattern.split(['*', '?']).next().unwrap_or_default();
    let is_pattern = before.len() < pattern.len();
    pattern.eq_ignore_ascii_case(ASSUME)
        || is_pattern && ASSUME.get(..before.len()).is_some_and(|start| start.eq_ignore_ascii_case(before))
}
