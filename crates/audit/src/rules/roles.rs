//! The ARNs of a task's IAM roles.

use super::prelude::*;
use crate::spelling::misspelt;
use audit_read::definition::{Dialect, IamRole};

pub(super) static ECS_ROLE_ARN: Rule = Rule::of_task(page!("ecs-role-arn"), Applies::EveryTask, check_role_arn);

fn check_role_arn(subject: &Subject<'_>, findings: &mut Findings) {
    let definition = subject.definition;
    let roles = [("taskRoleArn", &definition.task_role), ("executionRoleArn", &definition.execution_role)];
    for (name, role) in roles {
        if let Some(what) = role.text().and_then(no_role) {
            let message = format!("{name} {what}");
            findings.add(Draft::new(role.span(), message, "write the ARN of the role, or its name without a path"));
        }
    }
    findings.extend(definition.declared_role.iter().chain(&definition.declared_execution_role).filter_map(invalid));
    let declared = [&definition.declared_role, &definition.declared_execution_role];
    for ((name, field), role) in roles.into_iter().zip(declared) {
        let Some(role) = role.as_ref().filter(|role| role.is_named) else { continue };
        let message = match (definition.dialect, role.path.text()) {
            (Dialect::Terraform, _) => format!("{name} is the name of the role, and not its ARN"),
            (Dialect::CloudFormation, Some(path)) if path != "/" => {
                format!("{name} is the name of a role with the path {path}: ECS looks for it in the path /")
            }
            _ => continue,
        };
        findings.add(Draft::new(field.span(), message, "write the ARN of the role"));
    }
}

/// A name or path that IAM refuses. Source: <https://docs.aws.amazon.com/IAM/latest/APIReference/API_CreateRole.html>
fn invalid(role: &IamRole) -> Option<Draft> {
    let is_name = |name: &&str| {
        name.len() <= 64 && name.chars().all(|c| c.is_ascii_alphanumeric() || "_+=,.@-".contains(c)) && !name.is_empty()
    };
    let is_path = |path: &&str| path.starts_with('/') && path.ends_with('/');
    let of =
        |field: &Field<Text>, message: &str, help: &str| Draft::new(field.span(), message, help).in_file(&role.file);
    if role.name.text().is_some_and(|name| !is_name(&name) && !name.contains(['$', '{', '<', '%'])) {
        return Some(of(&role.name, "IAM refuses the name of the role", "use at most 64 letters, digits and _+=,.@-"));
    }
    let is_wrong = role.path.text().is_some_and(|path| !is_path(&path) && !path.contains(['$', '{', '<', '%']));
    is_wrong.then(|| of(&role.path, "IAM refuses the path of the role", "begin and end it with /"))
}

/// Why a text certainly is no IAM role. Other programs may replace parts of it.
fn no_role(text: &str) -> Option<&'static str> {
    let parts: Vec<&str> = text.splitn(6, ':').collect();
    match parts.as_slice() {
        ["arn", _, "iam", "", account, resource] => {
            let is_other_number = account.bytes().all(|byte| byte.is_ascii_digit()) && account.len() != 12;
            match resource.split_once('/') {
                Some(("role", name)) if name.is_empty() || name.ends_with('/') => Some("is an ARN without a name"),
                Some(("role", name)) if !is_a_name(name) => Some("has a character that no role's name has"),
                Some(("role", _)) => is_other_number.then_some("has an account that is no number of 12 digits"),
                Some(("instance-profile", _)) => Some("is an instance profile, and not a role"),
                Some(("user" | "group" | "policy", _)) => Some("is no role"),
                Some((kind, _)) if misspelt(kind, ["role"]).is_some() => Some("is no role"),
                None if resource.starts_with("role:") => Some("has a colon in place of the slash behind role"),
                _ => None,
            }
        }
        ["arn", _, "iam", region, _, _] if region.bytes().any(|byte| byte.is_ascii_digit()) => {
            Some("has a region, and IAM has none")
        }
        ["arn", _, service, ..] if misspelt(service, ["iam"]).is_some_and(|_| *service != "iam") => {
            Some("is no ARN of IAM")
        }
        ["arn", _, "sts", ..] => Some("is an assumed role, and not the role itself"),
        [name] if is_path(name) => Some("is a name with a path"),
        [name] if !is_a_name(name) => Some("has a character that no role's name has"),
        ["role", ..] => Some("is no ARN: arn:aws:iam::ACCOUNT: is missing before it"),
        _ => None,
    }
}

/// Whether a text has only the characters of the names and paths of roles, or those with which other programs mark what they
/// replace.
fn is_a_name(text: &str) -> bool {
    let is_of_a_name = |c: char| c.is_ascii_alphanumeric() || "+=,.@-_/".contains(c);
    text.is_empty() || text.contains(['$', '{', '<', '%', '#', '~', '|', '[', '@']) || text.chars().all(is_of_a_name)
}

/// Whether a text is the path and the name of a role: `consul-ecs/web`.
fn is_path(text: &str) -> bool {
    let is_of_a_name = |c: char| c.is_ascii_alphanumeric() || "+=,.@-_/".contains(c);
    text.contains('/') && text.chars().all(is_of_a_name)
}

/// Whether a text certainly is the ARN of a role with the path `/`.
pub(super) fn has_no_path(arn: &str) -> bool {
    let resource = arn.splitn(6, ':').nth(5).and_then(|resource| resource.strip_prefix("role/"));
    resource.is_some_and(|name| !name.is_empty() && !name.contains('/'))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn other_arns_and_paths_are_no_roles() {
        for (text, is_refused) in [
            ("arn:aws:iam::123456789012:role/consul-ecs/web", false),
            ("arn:aws-us-gov:iam::123456789012:role/web", false),
            ("arn:aws:iam::AWS_ACCOUNT_ID:role/web", false),
            ("web", false),
            ("@@TASK_ROLE@@", false),
            ("arn:aws:iam::123456789012:instance-profile/web", true),
            ("arn:aws:iam::123456789012:user/web", true),
            ("arn:aws:iam::12345678901:role/web", true),
            ("arn:aws:iam::123456789012:role/", true),
            ("arn:aws:iam:eu-west-1:123456789012:role/web", true),
            ("arn:aws:sts::123456789012:assumed-role/web/session", true),
            ("consul-ecs/web", true),
            ("the web task", true),
            ("arn:aws:iam::123456789012:role/the web", true),
            ("arn:aws:iam::123456789012:role:web", true),
            ("arn:aws:iam::123456789012:roles/web", true),
            ("arn:aws:aim::123456789012:role/web", true),
            ("<the role>", false),
            ("{{ role }}", false),
            ("/consul-ecs/web", true),
        ] {
            assert_eq!(no_role(text).is_some(), is_refused, "{text}");
        }
    }

    #[test]
    fn a_role_without_a_path_has_only_a_name() {
        assert!(has_no_path("arn:aws:iam::123456789012:role/web"));
        assert!(!has_no_path("arn:aws:iam::123456789012:role/consul-ecs/web") && !has_no_path("web"));
    }
}
