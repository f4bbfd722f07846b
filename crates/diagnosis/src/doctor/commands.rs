//! Commands that a person can paste.

use std::collections::BTreeMap;

use mesh::{permissions::Permission, tenancy::Tenancy};
use observe::DeployedStack;
use serde_json::json;

/// Commands for one stack, in the region and with the profile of the person who asks.
#[derive(Debug, Clone)]
pub struct Commands {
    pub stack: String,
    pub region: String,
    pub profile: Option<String>,
}

impl Commands {
    pub(super) fn aws(&self, words: &str) -> String {
        format!("aws {words}{}", self.place())
    }

    /// A command of `ecs-mesh` for the stack.
    pub(super) fn ecs_mesh(&self, words: &str) -> String {
        format!("ecs-mesh {words} --stack {}{}", word(&self.stack), self.place())
    }

    /// An update that sets some parameters. The stack keeps its template, its code and its other parameters.
    pub(super) fn update(&self, stack: &DeployedStack, changes: &[(&str, &str)]) -> String {
        // Double quotes, because a comma would begin the next word of the AWS CLI's shorthand.
        let set = changes.iter().map(|(name, value)| format!("ParameterKey={name},ParameterValue=\"{value}\""));
        let others = stack.parameters.keys().filter(|name| changes.iter().all(|(changed, _)| changed != name));
        let kept = others.map(|name| format!("ParameterKey={name},UsePreviousValue=true"));
        let parameters: Vec<String> = set.chain(kept).map(|parameter| word(&parameter)).collect();
        self.aws(&format!(
            "cloudformation update-stack --stack-name {} --use-previous-template --parameters {} \
             --capabilities CAPABILITY_IAM CAPABILITY_AUTO_EXPAND",
            word(&stack.name),
            parameters.join(" ")
        ))
    }

    pub(super) fn first_deploy(&self) -> String {
        format!("sam build && sam deploy --guided --stack-name {}{}", word(&self.stack), self.place())
    }

    fn place(&self) -> String {
        let profile = self.profile.as_ref().map(|profile| format!(" --profile {}", word(profile))).unwrap_or_default();
        format!(" --region {}{profile}", word(&self.region))
    }
}

/// A name as one word of a shell: in quotes, if a shell reads one of its characters.
pub(crate) fn word(name: &str) -> String {
    let is_plain = |c: char| c.is_ascii_alphanumeric() || "-_./:@%+=,".contains(c);
    if !name.is_empty() && name.chars().all(is_plain) { name.to_owned() } else { quoted(name) }
}

/// A text as one word of a shell, in quotes.
pub(crate) fn quoted(text: &str) -> String {
    format!("'{}'", text.replace('\'', "'\\''"))
}

/// Deregisters a part of a node from the catalog, by its field and ID; without one, the node itself. Consul's command line has no such
/// command: <https://developer.hashicorp.com/consul/api-docs/catalog#deregister-entity>
pub(crate) fn deregister(node: &str, part: Option<(&str, &str)>, tenancy: &Tenancy) -> String {
    let mut fields = vec![("Node", node)];
    fields.extend(part);
    if let Tenancy::Enterprise { partition, namespace } = tenancy {
        fields.push(("Partition", partition.as_str()));
        // A node is in no namespace.
        fields.extend(part.map(|_| ("Namespace", namespace.as_str())));
    }
    let body: BTreeMap<&str, &str> = fields.into_iter().collect();
    format!(
        "curl --silent --show-error --fail --request PUT --header \"X-Consul-Token: $CONSUL_HTTP_TOKEN\" --data {} \
         \"$CONSUL_HTTP_ADDR/v1/catalog/deregister\"",
        quoted(&json!(body).to_string())
    )
}

/// The rules that differ by partition: the file of docs/reference/permissions.md.
pub(super) const POLICY_FILE: &str = "@policy.hcl";

/// The command that gives a policy these rules, and no others.
pub(super) fn update_policy(policy: &str, rules: &str) -> String {
    format!("consul acl policy update -name {} -rules {rules}", word(policy))
}

/// The command that creates a policy, unless there is one of this name.
pub(super) fn create_policy(policy: &str, rules: &str) -> String {
    let policy = word(policy);
    format!("consul acl policy read -name {policy} || consul acl policy create -name {policy} -rules {rules}")
}

/// The command that attaches a policy to a token, which keeps what it has.
pub(super) fn attach_policy(policy: &str, accessor_id: &str) -> String {
    format!(
        "consul acl token update -id {} -merge-policies -merge-roles -merge-service-identities -merge-node-identities \
         -policy-name {}",
        word(accessor_id),
        word(policy)
    )
}

/// The command that creates a token with a policy. It prints the secret ID.
pub(super) fn create_token(policy: &str) -> String {
    format!("consul acl token create -description {0} -policy-name {0}", word(policy))
}

/// The command that creates a token with a policy, and keeps the secret ID in a variable of the shell: docs/how-to/install-sam.md.
pub(super) fn keep_token(policy: &str) -> String {
    let parse = "python3 -c 'import json, sys; print(json.load(sys.stdin)[\"SecretID\"])'";
    format!("SECRET_ID=$({} -format json | {parse})", create_token(policy))
}

/// The rules as one word of a shell, each on a line of its own.
pub(super) fn policy_rules(permissions: &[Permission]) -> String {
    quoted(&permissions.iter().map(ToString::to_string).collect::<Vec<_>>().join("\n"))
}

#[cfg(test)]
mod tests {
    use mesh::permissions::required_to_observe;

    use super::*;
    use crate::examples;

    #[test]
    fn commands_go_to_the_same_place() {
        let commands = Commands { profile: Some("prod".to_owned()), ..examples::commands() };
        assert_eq!(
            commands.aws("sts get-caller-identity"),
            "aws sts get-caller-identity --region us-east-1 --profile prod"
        );
        assert_eq!(examples::commands().ecs_mesh("redrive"), "ecs-mesh redrive --stack mesh --region us-east-1");
    }

    #[test]
    fn name_that_a_shell_would_read_is_quoted() {
        let commands = Commands { profile: Some("prod; reboot".to_owned()), ..examples::commands() };
        assert_eq!(commands.aws("sts"), "aws sts --region us-east-1 --profile 'prod; reboot'");
        assert_eq!((word(""), word("arn:aws:a/b-c")), ("''".to_owned(), "arn:aws:a/b-c".to_owned()));
    }

    #[test]
    fn update_keeps_the_template_and_the_other_parameters() {
        let stack = examples::stack("mesh", &[("Mode", "act"), ("EcsClusterArns", "*")]);
        let expected = "aws cloudformation update-stack --stack-name mesh --use-previous-template --parameters \
                        'ParameterKey=Mode,ParameterValue=\"observe\"' ParameterKey=EcsClusterArns,UsePreviousValue=true \
                        --capabilities CAPABILITY_IAM CAPABILITY_AUTO_EXPAND --region us-east-1";
        assert_eq!(examples::commands().update(&stack, &[("Mode", "observe")]), expected);
    }

    #[test]
    fn text_is_one_word() {
        assert_eq!(quoted("acl = \"write\""), "'acl = \"write\"'");
        assert_eq!(quoted("it's"), "'it'\\''s'");
    }

    #[test]
    fn policy_has_all_rules() {
        let command = update_policy("ours", &policy_rules(&required_to_observe()));
        let start =
            "consul acl policy update -name ours -rules 'acl = \"read\"\nagent_prefix \"\" { policy = \"read\" }\n";
        assert!(command.starts_with(start), "{command}");
    }
}
