//! The checks of Consul from here, which is not where the functions run.

use consul::{ConsulError, OwnToken};
use mesh::permission::Permission;
use semver::Version;

use super::{Check, Read, commands};
use crate::problem::of_consul;

const REACH: &str = "consul-from-here";
const ACLS: &str = "consul-acls";
const TOKEN: &str = "consul-token";
/// Where the token is, here.
const VARIABLES: &str = "CONSUL_HTTP_TOKEN or CONSUL_HTTP_TOKEN_FILE";
/// The oldest release with auth methods of type `aws-iam`.
const LOGINS: (u64, u64) = (1, 12);
/// The newest release that the controller is made for.
const NEWEST: (u64, u64) = (2, 0);

/// Whether a release has no auth methods of type `aws-iam`.
pub(super) fn has_no_logins(version: &str) -> bool {
    Version::parse(version).is_ok_and(|version| (version.major, version.minor) < LOGINS)
}

/// What to look at if Consul does not answer here.
fn leader() -> [String; 1] {
    ["curl --silent --show-error \"$CONSUL_HTTP_ADDR/v1/status/leader\"".to_owned()]
}

/// Whether Consul answers here too, once the functions are installed: only the commands that ask Consul need it.
pub(super) fn also_from_here(version: &Result<String, ConsulError>) -> Check {
    match version {
        Ok(version) => Check::ok(REACH, format!("Consul {version} answers here too")),
        Err(ConsulError::PermissionDenied { .. }) => {
            Check::ok(REACH, "Consul answers here too; its version takes agent:read")
        }
        Err(error) => {
            let seen = format!("{}; this is from here, not from where the functions run", of_consul(error));
            Check::warning(REACH, seen).with_commands(leader())
        }
    }
}

/// Whether Consul answers, and is of a release that the controller is made for.
pub(super) fn reach(version: &Result<String, ConsulError>) -> Check {
    let elsewhere = "whether the functions reach it shows after the deployment";
    let version = match version {
        Ok(version) => version,
        Err(ConsulError::PermissionDenied { .. } | ConsulError::CredentialRejected { .. }) => {
            return Check::warning(REACH, format!("Consul answers; its version takes agent:read; {elsewhere}"));
        }
        Err(error) => return Check::failed(REACH, of_consul(error)).with_commands(leader()),
    };
    let seen = format!("Consul {version} answers; {elsewhere}");
    match Version::parse(version).map(|version| (version.major, version.minor)) {
        Ok(_) if has_no_logins(version) => {
            let old = "it is older than 1.12: tasks of consul-ecs 0.5 and newer cannot log in";
            Check::warning(REACH, format!("{seen}; {old}"))
        }
        Ok(number) if number > NEWEST => Check::warning(REACH, format!("{seen}; it is newer than any that was tested")),
        _ => Check::ok(REACH, seen),
    }
}

/// Whether ACLs are on, and bootstrapped: only then Consul knows a token.
pub(super) fn acls(token: &Result<Option<OwnToken>, ConsulError>) -> Check {
    let bootstrap = ["consul acl bootstrap".to_owned()];
    match token {
        Ok(Some(token)) => Check::ok(
            ACLS,
            format!("ACLs are on; CONSUL_HTTP_TOKEN or CONSUL_HTTP_TOKEN_FILE has the token {}", token.accessor_id),
        ),
        Ok(None) => {
            let seen = "ACLs are off: no tokens are created, and tasks cannot log in; to turn them on, set acl.enabled in the \
                        configuration of the servers";
            Check::warning(ACLS, seen).with_commands(bootstrap)
        }
        Err(ConsulError::CredentialRejected { .. } | ConsulError::PermissionDenied { .. }) => {
            let seen = "Consul does not know the token in CONSUL_HTTP_TOKEN or CONSUL_HTTP_TOKEN_FILE: it is not set, is not valid, or ACLs are not bootstrapped";
            Check::failed(ACLS, seen).with_commands(bootstrap)
        }
        Err(error) => Check::unknown(ACLS, of_consul(error)),
    }
}

/// Whether the token in `CONSUL_HTTP_TOKEN` would suffice for the controller. A new one gets a policy with the name of the stack, because
/// the controller of another stack may have another policy.
pub(super) fn token(missing: &Read<Vec<Permission>>, required: &[Permission], stack: &str) -> Check {
    match missing {
        Ok(missing) if missing.is_empty() => {
            Check::ok(TOKEN, format!("the token in {VARIABLES} has every permission that the controller needs"))
        }
        Ok(missing) => {
            let rules: Vec<String> = missing.iter().map(ToString::to_string).collect();
            let seen = format!("the token in {VARIABLES} lacks what the controller needs: {}", rules.join("; "));
            Check::failed(TOKEN, seen).with_commands([
                commands::create_policy(stack, &commands::policy_rules(required)),
                commands::create_token(stack),
            ])
        }
        Err(why) => Check::unknown(TOKEN, why),
    }
}

#[cfg(test)]
mod tests {
    use mesh::permission::required_to_observe;

    use super::*;
    use crate::doctor::CheckOutcome;

    fn unavailable() -> ConsulError {
        ConsulError::Unavailable { subject: "x".to_owned(), reason: "refused".to_owned(), had_no_effect: true }
    }

    fn rejected() -> ConsulError {
        ConsulError::CredentialRejected { subject: "x".to_owned() }
    }

    #[test]
    fn release_is_compared_with_those_that_the_controller_is_made_for() {
        for (version, expected) in [
            ("1.8.7", CheckOutcome::Warning),
            ("1.11.4+ent", CheckOutcome::Warning),
            ("1.12.0", CheckOutcome::Ok),
            ("1.21.4+ent", CheckOutcome::Ok),
            ("2.0.0", CheckOutcome::Ok),
            ("2.1.0", CheckOutcome::Warning),
        ] {
            assert_eq!(reach(&Ok(version.to_owned())).outcome, expected, "{version}");
        }
    }

    #[test]
    fn consul_that_only_fails_here_is_a_warning_once_it_is_installed() {
        assert_eq!(reach(&Err(unavailable())).outcome, CheckOutcome::Failed);
        let made = also_from_here(&Err(unavailable()));
        assert_eq!(made.outcome, CheckOutcome::Warning);
        assert!(made.seen.ends_with("this is from here, not from where the functions run"), "{}", made.seen);
        assert_eq!(also_from_here(&Ok("1.21.4".to_owned())).outcome, CheckOutcome::Ok);
    }

    #[test]
    fn acls_are_bootstrapped_if_a_token_is_known() {
        let token = OwnToken { accessor_id: "1-2".to_owned(), policies: Vec::new() };
        assert_eq!(acls(&Ok(Some(token))).outcome, CheckOutcome::Ok);
        assert_eq!(acls(&Ok(None)).outcome, CheckOutcome::Warning);
        let unknown_token = acls(&Err(rejected()));
        assert_eq!(
            (unknown_token.outcome, unknown_token.commands.as_slice()),
            (CheckOutcome::Failed, &["consul acl bootstrap".to_owned()][..])
        );
        assert_eq!(acls(&Err(unavailable())).outcome, CheckOutcome::Unknown);
    }

    #[test]
    fn token_that_does_not_suffice_is_replaced_by_one_with_the_policy() {
        let required = required_to_observe();
        assert_eq!(token(&Ok(Vec::new()), &required, "mesh").outcome, CheckOutcome::Ok);
        let made = token(&Ok(required.clone()), &required, "mesh");
        assert_eq!(made.outcome, CheckOutcome::Failed);
        assert!(
            made.commands[0].contains("|| consul acl policy create -name mesh -rules 'acl = \"read\""),
            "{:?}",
            made.commands
        );
        assert_eq!(token(&Err("down".to_owned()), &required, "mesh").outcome, CheckOutcome::Unknown);
    }
}
