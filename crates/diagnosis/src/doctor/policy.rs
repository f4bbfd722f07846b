//! The policy of the controller's token in Consul, as one command sets it.

use mesh::permission::Permission;

use super::commands::quoted;

/// The name of the policy and the token in the documentation.
pub(super) const DOCUMENTED: &str = "ecs-mesh-controller";

/// The command that gives a policy these rules, and no others.
pub(super) fn update(policy: &str, permissions: &[Permission]) -> String {
    format!("consul acl policy update -name {} -rules {}", quoted(policy), quoted(&rules(permissions)))
}

/// The commands that create the documented policy, and a token with it.
pub(super) fn create(permissions: &[Permission]) -> [String; 2] {
    [
        format!("consul acl policy create -name {DOCUMENTED} -rules {}", quoted(&rules(permissions))),
        format!("consul acl token create -description {DOCUMENTED} -policy-name {DOCUMENTED}"),
    ]
}

/// The rules, each on a line of its own.
fn rules(permissions: &[Permission]) -> String {
    permissions.iter().map(ToString::to_string).collect::<Vec<_>>().join("\n")
}

#[cfg(test)]
mod tests {
    use mesh::permission::required_to_observe;

    use super::*;

    #[test]
    fn policy_has_all_rules() {
        let command = update("ours", &required_to_observe());
        let start =
            "consul acl policy update -name 'ours' -rules 'acl = \"read\"\nagent_prefix \"\" { policy = \"read\" }\n";
        assert!(command.starts_with(start), "{command}");
    }
}
