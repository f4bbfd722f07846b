//! What ECS does with the execution role of a task.

use std::collections::BTreeSet;

use super::{
    permissions::{Call, Permission},
    prelude::*,
};
use audit_read::definition::{IamRole, Secret, Statement, TaskDefinition};
use document::HOLE;

pub(super) static ECS_SECRETS_EXECUTION_ROLE: Rule =
    Rule::of_task(page!("ecs-secrets-execution-role"), Applies::EveryTask, check_secrets_execution_role);

fn check_secrets_execution_role(subject: &Subject<'_>, findings: &mut Findings) {
    let definition = subject.definition;
    let role = &definition.execution_role;
    let secrets =
        || definition.containers.items.iter().flat_map(|it| it.secrets.items.iter().map(move |one| (it, one)));
    if let (true, Some((container, secret))) = (role.is_absent(), secrets().next()) {
        let message = format!("{} has secrets, but the definition has no execution role", container.label());
        let draft = Draft::new(role.span(), message, "set executionRoleArn to a role that may read the secrets");
        findings.add(draft.of(container).note(secret.place.span, "the first secret"));
    }
    let Some((role, statements)) = declared(definition) else { return };
    let mut reported: BTreeSet<(&str, Option<usize>)> = BTreeSet::new();
    for (container, secret) in secrets() {
        let calls = calls_for(secret);
        let permissions: Vec<_> = calls.iter().map(|call| call.permission(statements)).collect();
        if permissions.is_empty() || permissions.iter().any(|it| matches!(it, Permission::Allowed(_))) {
            continue;
        }
        let (Some(call), Some(permission)) = (calls.first(), permissions.first()) else { continue };
        let name =
            secret.name.known().map_or_else(|| "a secret".to_owned(), |name| format!("the secret {}", name.shown()));
        let what = format!("{name} of {}", container.label());
        // One finding for each statement that is wrong, or for what is missing.
        let at = statement_of(permission).map(|statement| statement.span.start);
        if reported.insert((call.action, at)) {
            let actions = calls.iter().map(|call| call.action).collect::<Vec<_>>().join(" or ");
            let purpose = format!("{what} needs {actions}");
            findings.extend(refused(role, "execution role", &actions, permission, &purpose).map(|it| it.of(container)));
        }
    }
}

/// The calls for a secret, one of which must be allowed: of a reference that is not known, it may be either.
fn calls_for(secret: &Secret) -> Vec<Call<'static>> {
    let unknown = HOLE.to_string();
    let reference = match &secret.value_from.value {
        Maybe::Known(text) => text.0.as_str(),
        Maybe::Unknown => unknown.as_str(),
        Maybe::Absent => return Vec::new(),
    };
    let secret = |arn: &[&str]| {
        let exact = arn.join(":").replace(HOLE, "*");
        Call { action: "secretsmanager:GetSecretValue", resources: vec![format!("{exact}-*"), exact] }
    };
    let parameter = |arn: String| Call { action: "ssm:GetParameters", resources: vec![arn] };
    let parts: Vec<&str> = reference.split(':').collect();
    let any_secret = ["arn", "*", "secretsmanager", "*", "*", "secret", "*"];
    match parts.as_slice() {
        ["arn", _, "secretsmanager", _, _, "secret", _, ..] => vec![secret(parts.get(..7).unwrap_or_default())],
        ["arn", _, "secretsmanager", ..] if reference.contains(HOLE) => vec![secret(&any_secret)],
        ["arn", _, "ssm", _, _, resource, ..] if resource.starts_with("parameter/") => {
            vec![parameter(parts.get(..6).unwrap_or_default().join(":").replace(HOLE, "*"))]
        }
        _ if reference.contains(HOLE) => vec![secret(&any_secret), parameter("arn:*:ssm:*:*:parameter/*".to_owned())],
        ["arn", ..] => Vec::new(),
        // The name of a parameter, and maybe its version.
        [name] | [name, _] => vec![parameter(format!("arn:*:ssm:*:*:parameter/{}", name.trim_start_matches('/')))],
        _ => Vec::new(),
    }
}

/// The execution role with its statements, if the input has all of them.
fn declared(definition: &TaskDefinition) -> Option<(&IamRole, &[Statement])> {
    let role = definition.declared_execution_role.as_ref()?;
    Some((role, role.statements.as_deref()?))
}

fn statement_of<'s>(permission: &Permission<'s>) -> Option<&'s Statement> {
    match permission {
        Permission::Elsewhere(statement) | Permission::Denied(statement) => Some(statement),
        Permission::Allowed(_) | Permission::Missing => None,
    }
}

/// The finding that a role may not do what it is for; `purpose` says why an action is needed.
pub(super) fn refused(
    role: &IamRole,
    name: &str,
    actions: &str,
    permission: &Permission<'_>,
    purpose: &str,
) -> Option<Draft> {
    let (span, file, message, help) = match permission {
        Permission::Allowed(_) => return None,
        Permission::Missing => {
            let message = format!("{purpose}, but no policy of the {name} allows it");
            (role.place.span, &role.file, message, format!("allow {actions} in a policy of the role"))
        }
        Permission::Elsewhere(statement) => {
            let message = format!("{purpose}, but the {name} may call it for other resources only");
            (statement.span, &statement.file, message, format!("name what {actions} is needed for in Resource"))
        }
        Permission::Denied(statement) => {
            let message = format!("{purpose}, but a policy of the {name} denies it");
            let help = format!("except {actions} from the denial: it outweighs every permission");
            (statement.span, &statement.file, message, help)
        }
    };
    Some(Draft::new(span, message, help).in_file(file))
}

pub(super) static ECS_LOGS_EXECUTION_ROLE: Rule =
    Rule::of_task(page!("ecs-logs-execution-role"), Applies::EveryTask, check_logs_execution_role);

fn check_logs_execution_role(subject: &Subject<'_>, findings: &mut Findings) {
    let definition = subject.definition;
    let is_awslogs = |container: &&Container| container.log_driver.text() == Some("awslogs");
    let containers = &definition.containers.items;
    let Some(container) = containers.iter().find(is_awslogs) else { return };
    let role = &definition.execution_role;
    let is_fargate = definition.requires_compatibilities.items.iter().any(|item| item.text() == Some("FARGATE"));
    // The same role reads secrets, and another rule reports that it is missing.
    let has_secrets = containers.iter().any(|container| !container.secrets.items.is_empty());
    if role.is_absent() && is_fargate && !has_secrets {
        let message =
            format!("{} logs with awslogs on Fargate, but the definition has no execution role", container.label());
        let draft = Draft::new(role.span(), message, "set executionRoleArn to a role that may write the logs");
        findings.add(draft.of(container).note(container.log_driver.span(), "the log driver"));
    }
    let Some((role, statements)) = declared(definition).filter(|_| runs_on_fargate_only(definition)) else { return };
    let mut reported = BTreeSet::new();
    for container in containers.iter().filter(is_awslogs) {
        let name = container.log_group.known().map_or_else(|| "*".to_owned(), |name| name.0.replace(HOLE, "*"));
        let creates = container.creates_log_group.text() == Some("true");
        let of_group = creates.then_some("logs:CreateLogGroup");
        for action in ["logs:CreateLogStream", "logs:PutLogEvents"].into_iter().chain(of_group) {
            let resources = ["", ":*", ":log-stream:*"].map(|end| format!("arn:*:logs:*:*:log-group:{name}{end}"));
            let permission = Call { action, resources: resources.to_vec() }.permission(statements);
            let purpose = format!("the logs of {} need {action}", container.label());
            if let Some(draft) = refused(role, "execution role", action, &permission, &purpose)
                && reported.insert(action)
            {
                // A group that exists is not created.
                let is_needed = Some(action) != of_group;
                findings.add(if is_needed { draft } else { draft.severity(Severity::Warning) }.of(container));
            }
        }
    }
}

/// Whether it certainly never runs on an instance, whose own role writes logs and pulls images.
fn runs_on_fargate_only(definition: &TaskDefinition) -> bool {
    definition.requires_compatibilities.texts().is_some_and(|items| items == ["FARGATE"])
}

pub(super) static ECS_IMAGE_EXECUTION_ROLE: Rule =
    Rule::of_task(page!("ecs-image-execution-role"), Applies::EveryTask, check_image_execution_role);

/// What pulling an image from ECR needs, and whether it is about a repository. Source:
/// <https://docs.aws.amazon.com/AmazonECS/latest/developerguide/task_execution_IAM_role.html>
const PULLING: [(&str, bool); 3] =
    [("ecr:GetAuthorizationToken", false), ("ecr:BatchGetImage", true), ("ecr:GetDownloadUrlForLayer", true)];

fn check_image_execution_role(subject: &Subject<'_>, findings: &mut Findings) {
    let definition = subject.definition;
    let Some((role, statements)) = declared(definition).filter(|_| runs_on_fargate_only(definition)) else { return };
    let mut reported = BTreeSet::new();
    for container in &definition.containers.items {
        let Some(repository) = container.image.known().and_then(|image| repository(&image.0)) else { continue };
        for (action, is_of_repository) in PULLING {
            let resources = is_of_repository.then(|| repository.clone()).into_iter().collect();
            let permission = Call { action, resources }.permission(statements);
            let purpose = format!("the image of {} needs {action}", container.label());
            if let Some(draft) = refused(role, "execution role", action, &permission, &purpose)
                && reported.insert(action)
            {
                findings.add(draft.of(container));
            }
        }
    }
}

/// The ARN of the repository of an image in ECR: `123456789012.dkr.ecr.eu-west-1.amazonaws.com/shop/web:1`.
fn repository(image: &str) -> Option<String> {
    let (registry, rest) = image.split_once('/')?;
    let (account, region) = registry.split_once(".dkr.ecr.")?;
    let region = region.split(".amazonaws.com").next().unwrap_or_default();
    let name = rest.split([':', '@']).next().unwrap_or_default();
    Some(format!("arn:*:ecr:{region}:{account}:repository/{name}").replace(HOLE, "*"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_image_is_in_a_repository() {
        for (image, expected) in [
            (
                "123456789012.dkr.ecr.eu-west-1.amazonaws.com/shop/web:1",
                Some("arn:*:ecr:eu-west-1:123456789012:repository/shop/web"),
            ),
            (
                "123456789012.dkr.ecr.cn-north-1.amazonaws.com.cn/web@sha256:0",
                Some("arn:*:ecr:cn-north-1:123456789012:repository/web"),
            ),
            ("public.ecr.aws/hashicorp/consul-ecs:0.10.1", None),
            ("redis:7", None),
        ] {
            assert_eq!(repository(image).as_deref(), expected, "{image}");
        }
    }
}
