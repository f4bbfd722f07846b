//! The policies that a survey needs, to copy.

use serde_json::{Value, json};

use super::PoliciesOf;

/// What every survey calls.
const ALWAYS: [&str; 8] = [
    "ecs:ListClusters",
    "ecs:DescribeClusters",
    "ecs:ListTasks",
    "ecs:DescribeTasks",
    "ecs:DescribeTaskDefinition",
    "ecs:ListServices",
    "ecs:DescribeServices",
    "sts:GetCallerIdentity",
];
/// What it calls to look closer at what is wrong: at hosts that are gone, and at tasks that Consul has lost.
const CLOSER: [&str; 3] = ["ecs:DescribeContainerInstances", "ec2:DescribeInstances", "iam:GetRole"];
/// What it calls for tasks that read a token from Secrets Manager.
const TOKENS: [&str; 1] = ["secretsmanager:GetSecretValue"];

/// The policy in Consul.
const CONSUL: &str = r#"acl = "read"

agent_prefix "" {
  policy = "read"
}

node_prefix "" {
  policy = "read"
}

service_prefix "" {
  policy = "read"
}
"#;

/// The policy for IAM, the policy for Consul, or both with instructions.
pub(super) fn text(of: PoliciesOf) -> String {
    match of {
        PoliciesOf::Iam => format!("{:#}\n", iam()),
        PoliciesOf::Consul => CONSUL.to_owned(),
        PoliciesOf::Both => format!(
            "The policy in IAM. Only tasks that read their token from Secrets Manager (consul-ecs up to 0.4) need\n\
             TokensInSecrets: without it, a survey says that it could not read these secrets.\n\n{:#}\n\n\
             The policy in Consul, policy.hcl:\n\n{CONSUL}\n\
             ecs-mesh survey --print-policies=consul > policy.hcl\n\
             consul acl policy create -name ecs-mesh-survey -rules @policy.hcl\n\
             consul acl token create -description ecs-mesh-survey -policy-name ecs-mesh-survey\n\
             export CONSUL_HTTP_TOKEN=    # the SecretID of this token\n",
            iam()
        ),
    }
}

fn iam() -> Value {
    let statement = |sid: &str, actions: &[&str], resource: &str| json!({ "Sid": sid, "Effect": "Allow", "Action": actions, "Resource": resource });
    json!({
        "Version": "2012-10-17",
        "Statement": [
            statement("Survey", &ALWAYS, "*"),
            statement("LookCloser", &CLOSER, "*"),
            statement("TokensInSecrets", &TOKENS, "arn:*:secretsmanager:*:*:secret:consul-ecs-*"),
        ],
    })
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use mesh::permissions::{exceeding, required_to_observe};
    use mesh::settings::Mode;

    use super::*;

    const PAGE: &str = include_str!("../../../../docs/reference/commands/survey.md");

    #[test]
    fn policy_has_the_permissions_of_the_page_and_no_others() {
        let (_, section) = PAGE.split_once("\n## Permissions\n").unwrap();
        let section = section.split("\n## ").next().unwrap();
        let quoted = section.split('`').skip(1).step_by(2).filter(|text| text.contains(':') && !text.contains('*'));
        let documented: BTreeSet<&str> = quoted.collect();
        let printed: BTreeSet<&str> = ALWAYS.into_iter().chain(CLOSER).chain(TOKENS).collect();
        assert_eq!(documented, printed);
    }

    #[test]
    fn policy_in_consul_has_what_reading_needs_and_no_more() {
        assert_eq!(exceeding(CONSUL, Mode::Observe, false), [""; 0]);
        for permission in required_to_observe() {
            let (resource, _) = (permission.resource, permission.access);
            assert!(CONSUL.contains(resource), "{permission}");
        }
        // It is the policy of a controller that only observes, without its comments; the page has it as well
        let observing = include_str!("../../../../deploy/terraform/policies/observe.hcl");
        let rules: String = observing.split_inclusive('\n').filter(|line| !line.starts_with('#')).collect();
        assert_eq!(CONSUL, rules);
        assert!(PAGE.contains(CONSUL));
    }
}
