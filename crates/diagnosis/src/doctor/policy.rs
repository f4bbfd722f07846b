//! The policy of the controller's token in Consul, as one command sets it.

use mesh::permission::Permission;

use super::commands::{quoted, word};

/// The rules that differ by partition: the file of docs/permissions.md.
pub(super) const FILE: &str = "@policy.hcl";

/// The command that gives a policy these rules, and no others.
pub(super) fn update(policy: &str, rules: &str) -> String {
    format!("consul acl policy update -name {} -rules {rules}", word(policy))
}

/// The command that creates a policy, unless there is one of this name.
pub(super) fn create(policy: &str, rules: &str) -> String {
    let policy = word(policy);
    format!("consul acl policy read -name {policy} || consul acl policy create -name {policy} -rules {rules}")
}

/// The command that attaches a policy to a token, which keeps what it has.
pub(super) fn attach(policy: &str, accessor_id: &str) -> String {
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
pub(super) fn rules(permissions: &[Permission]) -> String {
    quoted(&permissions.iter().map(ToString::to_string).collect::<Vec<_>>().join("\n"))
}

#[cfg(test)]
mod tests {
    use mesh::permission::required_to_observe;

    use super::*;

    #[test]
    fn policy_has_all_rules() {
        let command = update("ours", &rules(&required_to_observe()));
        let start =
            "consul acl policy update -name ours -rules 'acl = \"read\"\nagent_prefix \"\" { policy = \"read\" }\n";
        assert!(command.starts_with(start), "{command}");
    }
}
