//! Commands that a person can paste.

use aws::installation::DeployedStack;
use mesh::permissions::Permission;

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
pub(super) fn word(name: &str) -> String {
    let is_plain = |c: char| c.is_ascii_alphanumeric() || "-_./:@%+=,".contains(c);
    if !name.is_empty() && name.chars().all(is_plain) { name.to_owned() } else { quoted(name) }
}

/// A text as one word of a shell, in quotes.
pub(super) fn quoted(text: &str) -> String {
    format!("'{}'", text.replace('\'', "'\\''"))
}

/// The rules that differ by partition: the file of docs/permissions.md.
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

/// The command that creates a token with a policy, and keeps the secret ID in a variable of the shell: docs/deploy.md.
pub(super) fn keep_token(policy: &str) -> String {
    let parse = "python3 -c 'import json, sys; print(json.load(sys.stdin)[\"SecretID\"])'";
    format!("SECRET_ID=$({} -format json | {parse})", create_token(policy))
}

/// The rules as one word of a shell, each on a line of its own.
pub(super) fn policy_rules(permissions: &[Permission]) -> String {
    quoted(&permissions.iter().map(ToString::to_string).collect::<Vec<_>>().join("\n"))
}

#[cfg(test)]
mod tests;
