use std::collections::BTreeMap;

use crate::{
    finding::{Draft, Severity},
    rule::{Applies, Check, Rule, TaskFindings},
    subject::Subject,
};

pub(in crate::rules) static RULE: Rule = Rule {
    id: "consul-task-role-shared",
    summary: "each family of the mesh has its own task role",
    severity: Severity::Warning,
    applies: Applies::AllTasks,
    is_fixable: false,
    effect: "tasks of one service can log in to Consul as the other, because Consul identifies them by the role",
    explanation: "\
With the `aws-iam` auth method, a task is identified by its IAM role, and the role's tag \
`consul.hashicorp.com.service-name` contains the name of its service. Two families with the same role have the same \
tag: either the login of one of them is refused, or it registers as the other, with the other's intentions. Both also \
have the same permissions in AWS. Only tasks that log in are compared, and only definitions of one run.",
    sources: &[
        "https://developer.hashicorp.com/consul/docs/security/acl/auth-methods/aws-iam",
        "https://docs.aws.amazon.com/AmazonECS/latest/developerguide/task-iam-roles.html",
    ],
    // Only two definitions together violate the rule: see the tests below.
    example: None,
    check: Check::AllTasks(check),
};

fn check(subjects: &[Subject<'_>], findings: &mut TaskFindings<'_>) {
    let mut first: BTreeMap<&str, &str> = BTreeMap::new();
    for subject in subjects.iter().filter(|subject| logs_in(subject)) {
        let definition = subject.definition;
        let (Some(role), Some(family)) = (definition.task_role.text(), definition.family.text()) else { continue };
        if role.is_empty() {
            continue;
        }
        match first.get(role) {
            Some(other) if *other != family => {
                let message = format!("{family} and {other} have the same task role {role}");
                let help = format!("give {family} its own role, tagged with its service's name");
                findings(subject, Draft::new(definition.task_role.span(), message, help));
            }
            Some(_) => {}
            None => drop(first.insert(role, family)),
        }
    }
}

fn logs_in(subject: &Subject<'_>) -> bool {
    let consul = subject.consul.as_ref();
    consul.is_some_and(|consul| consul.configuration.flag("consulLogin.enabled", false) == Some(true))
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use super::*;
    use crate::{Material, audit, example::Base, input::read_source, source::SourceFile};

    fn ids(families: &[(&str, &str)]) -> Vec<&'static str> {
        let mut material = Material::default();
        for (family, role) in families {
            let mut json: serde_json::Value = serde_json::from_str(Base::Dataplane.json()).unwrap();
            json["family"] = (*family).into();
            let arn = |role: &str| format!("arn:aws:iam::123456789012:role/consul-ecs/{role}");
            json["taskRoleArn"] = if role.is_empty() { String::new() } else { arn(role) }.into();
            let file = SourceFile::new(format!("{family}.json"), json.to_string());
            read_source(Arc::new(file), true, &mut material).unwrap();
        }
        audit(&material).iter().map(|finding| finding.rule.id).collect()
    }

    #[test]
    fn two_families_without_a_role_share_none() {
        assert!(!ids(&[("web", ""), ("orders", "")]).contains(&RULE.id));
    }

    #[test]
    fn two_families_with_one_role_are_found_once() {
        assert_eq!(ids(&[("web", "web"), ("orders", "web"), ("stock", "stock")]), [RULE.id]);
        assert_eq!(ids(&[("web", "web"), ("orders", "orders")]), Vec::<&str>::new());
        // Two revisions of one family.
        assert_eq!(ids(&[("web", "web"), ("web", "web")]), Vec::<&str>::new());
    }
}
