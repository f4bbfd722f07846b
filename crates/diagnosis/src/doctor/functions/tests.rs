//! Examples: what the function answers, and the checks.

use observe::StackResource;
use serde_json::{Value, json};

use super::*;
use crate::doctor::CheckOutcome::{self, Failed, Ok as Fine, Unknown, Warning};
use crate::examples::{self, assert_check};

const CLUSTERS: &str = "arn:aws:ecs:us-east-1:123456789012:cluster/";

/// The answer of a function with which all is well, with these fields instead.
fn answer(fields: &Value) -> CheckReport {
    let mut all = json!({
        "mode": "act", "consul": null, "version": "1.21.4", "missingPermissions": [],
        "token": { "accessorId": "1-2", "policies": ["ours"] }, "aclsDisabled": false,
        "setUp": { "missing": [], "incomplete": [], "skipped": [], "failed": [], "complete": 12 },
        "problems": [], "heldBack": [],
    });
    all.as_object_mut().unwrap().extend(fields.as_object().unwrap().clone());
    read_answer(Ok(&Invoked::Answer(all))).unwrap()
}

fn made(fields: &Value, parameters: &[(&str, &str)]) -> Vec<Check> {
    let defaults = [
        ("EcsClusterArns", "prod"),
        ("ConsulHttpAddr", "http://consul:8500"),
        ("ConsulHttpTokenSecretArn", "arn:secret"),
    ];
    let stack = examples::stack("mesh", &[&defaults, parameters].concat());
    let resource = |name: &str, id: &str| (name.to_owned(), StackResource { id: id.to_owned(), kind: String::new() });
    let resources =
        StackResources::from([resource("ReconcileRole", "mesh-role"), resource("MeshPolicy", "arn:policy")]);
    let commands = examples::commands();
    checks(
        &Ok(answer(fields)),
        &Subject { stack: &stack, resources: &resources, clusters: CLUSTERS, commands: &commands },
    )
}

/// The outcome of each check, in the order of the checks.
fn outcomes(checks: &[Check]) -> Vec<CheckOutcome> {
    checks.iter().map(|check| check.outcome).collect()
}

fn of<'a>(checks: &'a [Check], name: &str) -> &'a Check {
    checks.iter().find(|check| check.check == name).unwrap()
}

/// Asserts what the check of this name says.
#[track_caller]
fn assert_of(checks: &[Check], name: &str, outcome: CheckOutcome, seen: &str, commands: &[&str]) {
    assert_check(of(checks, name), outcome, seen, commands);
}

const SWEEP_NOW: &str = "ecs-mesh sweep --stack mesh --region us-east-1";

#[test]
fn consul_that_does_not_answer_the_functions_is_told_by_its_reason() {
    assert_eq!(outcomes(&made(&json!({}), &[])), [Fine; 5]);
    let refused = "Consul is unavailable: http://consul:8500: refused";
    let update = "aws cloudformation update-stack --stack-name mesh --use-previous-template ";
    let expired =
        "Consul is unavailable: https://consul:8501: request failed: invalid peer certificate: certificate expired";
    let show = "openssl s_client -connect SERVER:8501 </dev/null | openssl x509 -noout -dates -issuer -subject";
    let read_or_create = "consul acl policy read -name mesh || consul acl policy create -name mesh ";
    let create = "SECRET_ID=$(consul acl token create ";
    let store = "aws secretsmanager put-secret-value --secret-id arn:secret --secret-string \"${SECRET_ID:?}\" --region us-east-1";
    let denied = "secret arn:secret: AccessDeniedException";
    let attach = "aws iam attach-role-policy --role-name mesh-role ";
    let without = "secret arn:secret: it holds no token";
    let describe = "aws secretsmanager describe-secret --secret-id arn:secret ";
    for (label, reason, outcomes_of_both, at, commands) in [
        ("consul_unavailable", refused, [Failed, Unknown], 0, &["", update][..]),
        ("consul_unavailable", expired, [Failed, Unknown], 0, &[show]),
        ("consul_credential_rejected", "…", [Fine, Failed], 1, &[read_or_create, create, store]),
        ("consul_credential_unreadable", denied, [Unknown, Failed], 1, &[attach]),
        ("consul_credential_unreadable", without, [Unknown, Failed], 1, &[describe]),
    ] {
        let checks = made(&json!({ "consul": { "label": label, "reason": reason } }), &[]);
        assert_eq!(outcomes(&checks)[..2], outcomes_of_both, "{label}");
        assert_eq!(outcomes(&checks)[2..], [Unknown; 3], "{label}");
        assert_check(&checks[at], Failed, "", commands);
    }
}

#[test]
fn missing_permission_is_added_to_the_policy_of_the_stack() {
    let ours = json!({ "accessorId": "1-2", "policies": ["theirs", "mesh"] });
    let missing = json!({ "missingPermissions": ["operator = \"write\""], "token": ours });
    let checks = made(&missing, &[("Bootstrap", "full")]);
    let update = "consul acl policy update -name mesh -rules 'acl = \"write\"\noperator = \"write\"\n";
    assert_of(&checks, TOKEN, Failed, "the token 1-2 lacks: operator = \"write\"", &[update]);
    let token = of(&checks, TOKEN);
    assert!(token.seen.ends_with("the rules of policy mesh for every token with this policy"), "{}", token.seen);
    let [command] = token.commands.as_slice() else { panic!("{:?}", token.commands) };
    assert!(command.contains("node \"arn:aws:ecs:us-east-1:123456789012:cluster/prod\" { policy = \"write\" }"));
    // And policies of others are not replaced
    let start = "consul acl policy read -name mesh || consul acl policy create -name mesh -rules ";
    let merged = "consul acl token update -id 1-2 -merge-policies -merge-roles -merge-service-identities \
                  -merge-node-identities -policy-name mesh";
    for policies in [json!(["ours"]), json!(["global-management"]), json!(["ours", "theirs"]), json!([])] {
        let fields = json!({ "missingPermissions": ["x"], "token": { "accessorId": "1-2", "policies": policies } });
        for (parameters, rules) in [(&[][..], "'acl = "), (&[("ConsulPartition", "team")][..], "@policy.hcl")] {
            assert_of(&made(&fields, parameters), TOKEN, Failed, "", &[&format!("{start}{rules}"), merged]);
        }
    }
}

#[test]
fn rules_beyond_what_is_needed_are_listed() {
    let fields = |policy: &str, excess: &[&str], missing: &[&str]| json!({ "token": { "accessorId": "1-2", "policies": [policy], "excess": excess }, "missingPermissions": missing });
    let excess = ["keyring = \"read\"", "mesh = \"write\""];
    let update = "consul acl policy update -name mesh -rules ";
    let needs = "needs: keyring = \"read\"; mesh = \"write\"";
    assert_of(&made(&fields("mesh", &excess, &[]), &[]), TOKEN, Warning, needs, &[update]);
    assert!(of(&made(&fields("theirs", &excess, &[]), &[]), TOKEN).commands.is_empty());
    // Given the rule for client agents, then the command leaves it out, and says when to keep it
    let checks = made(&fields("mesh", &["operator = \"write\""], &[]), &[]);
    assert_of(&checks, TOKEN, Warning, "Keep operator = \"write\" if tasks run client agents", &[update]);
    assert!(!of(&checks, TOKEN).commands[0].contains("operator"), "{checks:?}");
    // Given a stack that requires it, then a command for another rule has it
    for setting in [("Bootstrap", "full"), ("TokenMode", "secrets-manager")] {
        let checks = made(&fields("mesh", &[], &["acl = \"write\""]), &[setting]);
        assert!(of(&checks, TOKEN).commands[0].contains("\noperator = \"write\"\n"), "{setting:?}");
    }
}

#[test]
fn token_that_could_not_be_read_is_not_taken_for_acls_that_are_off() {
    assert_of(&made(&json!({ "token": null, "aclsDisabled": true }), &[]), TOKEN, Warning, "", &[]);
    assert_of(&made(&json!({ "token": null }), &[]), TOKEN, Unknown, "", &[]);
}

#[test]
fn missing_set_up_is_done_by_the_next_sweep_unless_the_mode_is_observe() {
    let missing = "auth method iam-ecs-service-token";
    for (kind, object, version, parameters, outcome, seen, remedy) in [
        ("missing", missing, "1.21.4", &[][..], Failed, missing, &[SWEEP_NOW][..]),
        ("missing", missing, "1.21.4", &[("Mode", "observe")], Fine, "", &[]),
        ("missing", missing, "1.21.4", &[("Bootstrap", "none")], Fine, "", &[]),
        // What this Consul cannot have
        ("skipped", "auth method x", "1.21.4", &[], Warning, "", &[]),
        ("missing", "auth method x", "1.8.7", &[], Warning, "", &[]),
        ("failed", "x: other type", "1.21.4", &[], Failed, "", &[]),
    ] {
        let mut set_up = json!({ "missing": [], "incomplete": [], "skipped": [], "failed": [], "complete": 3 });
        set_up[kind] = json!([object]);
        let checks = made(&json!({ "setUp": set_up, "version": version }), parameters);
        assert_of(&checks, SET_UP, outcome, seen, remedy);
    }
}

#[test]
fn sweep_says_what_it_cannot_read_and_what_it_holds_back() {
    let why = "AccessDeniedException: User: … is not authorized to perform: ecs:ListTasks";
    let attach = "aws iam attach-role-policy --role-name mesh-role --policy-arn arn:policy --region us-east-1";
    for (reason, of_roles, of_sweep, remedy) in [(why, Failed, Fine, &[attach][..]), ("ECS is slow", Fine, Failed, &[])]
    {
        let checks = made(&json!({ "problems": [{ "label": "ecs", "reason": reason }] }), &[]);
        assert_of(&checks, ROLES, of_roles, "", remedy);
        assert_of(&checks, SWEEP, of_sweep, "", &[]);
    }
    let force = "ecs-mesh sweep --force --stack mesh --region us-east-1";
    let held_back = made(&json!({ "heldBack": ["prod: 9 of 10 services"] }), &[]);
    assert_of(&held_back, SWEEP, Warning, "", &["", force]);
    let fault = json!({ "label": "secrets", "owner": "service web", "reason": "secret web: not ours" });
    let checks = made(&json!({ "faults": [fault] }), &[]);
    assert_of(&checks, SWEEP, Warning, "left alone: service web: secret web: not ours", &[""]);
}

#[test]
fn function_that_fails_is_a_failure_and_one_that_cannot_be_asked_unknown() {
    let (stack, resources, commands) = (examples::stack("mesh", &[]), StackResources::new(), examples::commands());
    let subject = Subject { stack: &stack, resources: &resources, clusters: CLUSTERS, commands: &commands };
    let unasked = Err(NoAnswer::Unasked("access denied".to_owned()));
    assert_eq!(outcomes(&checks(&unasked, &subject)), [Unknown; 5]);
    let failed = Err(NoAnswer::Failed("it does not start".to_owned()));
    assert_eq!(outcomes(&checks(&failed, &subject)), [Failed, Unknown, Unknown, Unknown, Unknown]);
}

#[test]
fn function_that_does_not_start_says_why() {
    let why = read_answer(Ok(&Invoked::Error("CONSUL_HTTP_ADDR: got \"\"".to_owned()))).unwrap_err();
    assert_eq!(why, NoAnswer::Failed("reconcile failed: CONSUL_HTTP_ADDR: got \"\"".to_owned()));
}
