//! Examples: what the function answers, and the checks.

use aws::installation::Resource;
use serde_json::{Value, json};

use super::*;
use crate::{
    doctor::CheckOutcome::{self, Failed, Ok as Fine, Unknown, Warning},
    examples,
};

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
    read_answer(Invoked::Answer(all)).unwrap()
}

fn made(fields: &Value, parameters: &[(&str, &str)]) -> Vec<Check> {
    let defaults = [
        ("EcsClusterArns", "prod"),
        ("ConsulHttpAddr", "http://consul:8500"),
        ("ConsulHttpTokenSecretArn", "arn:secret"),
    ];
    let stack = examples::stack("mesh", &[&defaults, parameters].concat());
    let resource = |name: &str, id: &str| (name.to_owned(), Resource { id: id.to_owned(), kind: String::new() });
    let resources = Resources::from([resource("ReconcileRole", "mesh-role"), resource("MeshPolicy", "arn:policy")]);
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

#[test]
fn all_is_well() {
    assert_eq!(outcomes(&made(&json!({}), &[])), [Fine; 5]);
}

#[test]
fn consul_that_the_functions_do_not_reach_says_which_address() {
    let problem =
        json!({ "label": "consul_unavailable", "reason": "Consul is unavailable: http://consul:8500: refused" });
    let checks = made(&json!({ "consul": problem }), &[]);
    assert_eq!(outcomes(&checks), [Failed, Unknown, Unknown, Unknown, Unknown]);
    assert!(
        checks[0].commands[1].starts_with("aws cloudformation update-stack --stack-name mesh --use-previous-template ")
    );
}

#[test]
fn token_that_consul_does_not_know_is_replaced() {
    let problem = json!({ "label": "consul_credential_rejected", "reason": "…" });
    let checks = made(&json!({ "consul": problem }), &[]);
    assert_eq!(outcomes(&checks), [Fine, Failed, Unknown, Unknown, Unknown]);
    let [policy, token, store] = of(&checks, TOKEN).commands.as_slice() else { panic!("{checks:?}") };
    assert!(
        policy.starts_with("consul acl policy read -name mesh || consul acl policy create -name mesh "),
        "{policy}"
    );
    assert!(token.starts_with("SECRET_ID=$(consul acl token create "), "{token}");
    let stored = "aws secretsmanager put-secret-value --secret-id arn:secret --secret-string \"${SECRET_ID:?}\" --region us-east-1";
    assert_eq!(store, stored);
}

#[test]
fn secret_that_the_functions_cannot_read_is_named() {
    let denied =
        json!({ "label": "consul_credential_unreadable", "reason": "secret arn:secret: AccessDeniedException" });
    let checks = made(&json!({ "consul": denied }), &[]);
    assert!(of(&checks, TOKEN).commands[0].starts_with("aws iam attach-role-policy --role-name mesh-role "));
    let problem = json!({ "label": "consul_credential_unreadable", "reason": "secret arn:secret: it holds no token" });
    let checks = made(&json!({ "consul": problem }), &[]);
    assert_eq!(outcomes(&checks)[..2], [Unknown, Failed]);
    assert!(of(&checks, TOKEN).commands[0].starts_with("aws secretsmanager describe-secret --secret-id arn:secret "));
}

#[test]
fn missing_permission_is_added_to_the_policy_of_the_stack() {
    let ours = json!({ "accessorId": "1-2", "policies": ["theirs", "mesh"] });
    let missing = json!({ "missingPermissions": ["operator = \"write\""], "token": ours });
    let checks = made(&missing, &[("Bootstrap", "full")]);
    let token = of(&checks, TOKEN);
    assert_eq!(token.outcome, Failed);
    assert!(token.seen.starts_with("the token 1-2 lacks: operator = \"write\""), "{}", token.seen);
    assert!(token.seen.ends_with("the rules of the policy mesh, for each token that has it"), "{}", token.seen);
    let [command] = token.commands.as_slice() else { panic!("{:?}", token.commands) };
    assert!(command.starts_with("consul acl policy update -name mesh -rules 'acl = \"write\"\noperator = \"write\"\n"));
    assert!(command.contains("node \"arn:aws:ecs:us-east-1:123456789012:cluster/prod\" { policy = \"write\" }"));
}

#[test]
fn policies_of_others_are_not_replaced() {
    for policies in [json!(["ours"]), json!(["global-management"]), json!(["ours", "theirs"]), json!([])] {
        let fields = json!({ "missingPermissions": ["x"], "token": { "accessorId": "1-2", "policies": policies } });
        for (parameters, rules) in [(&[][..], "'acl = "), (&[("ConsulPartition", "team")][..], "@policy.hcl")] {
            let checks = made(&fields, parameters);
            let [create, attach] = of(&checks, TOKEN).commands.as_slice() else { panic!("{checks:?}") };
            let start = "consul acl policy read -name mesh || consul acl policy create -name mesh -rules ";
            assert!(create.starts_with(&format!("{start}{rules}")), "{create}");
            let merged = "consul acl token update -id 1-2 -merge-policies -merge-roles -merge-service-identities \
                          -merge-node-identities -policy-name mesh";
            assert_eq!(attach, merged);
        }
    }
}

#[test]
fn rules_beyond_what_is_needed_are_listed() {
    let token = |policy: &str| json!({ "accessorId": "1-2", "policies": [policy], "excess": ["keyring = \"read\"", "mesh = \"write\""] });
    let checks = made(&json!({ "token": token("mesh") }), &[]);
    let made_of_ours = of(&checks, TOKEN);
    assert_eq!(made_of_ours.outcome, Warning);
    assert!(made_of_ours.seen.ends_with("needs: keyring = \"read\"; mesh = \"write\""), "{}", made_of_ours.seen);
    assert!(made_of_ours.commands[0].starts_with("consul acl policy update -name mesh -rules "));
    assert!(of(&made(&json!({ "token": token("theirs") }), &[]), TOKEN).commands.is_empty());
}

#[test]
fn operator_is_too_much_unless_there_are_client_agents() {
    let fields = |excess: &[&str], missing: &[&str]| json!({ "token": { "accessorId": "1-2", "policies": ["mesh"], "excess": excess }, "missingPermissions": missing });
    // Given a policy with the rule, then the command leaves it out, and says when to keep it
    let checks = made(&fields(&["operator = \"write\""], &[]), &[]);
    let token = of(&checks, TOKEN);
    assert_eq!(token.outcome, Warning);
    assert!(token.seen.contains("Keep operator = \"write\" if tasks run client agents"), "{}", token.seen);
    assert!(!token.commands[0].contains("operator"), "{}", token.commands[0]);
    // Given a stack that requires it, then a command for another rule has it
    for setting in [("Bootstrap", "full"), ("TokenMode", "secrets-manager")] {
        let checks = made(&fields(&[], &["acl = \"write\""]), &[setting]);
        assert!(of(&checks, TOKEN).commands[0].contains("\noperator = \"write\"\n"), "{setting:?}");
    }
}

#[test]
fn without_acls_it_works_without_tokens() {
    let checks = made(&json!({ "token": null, "aclsDisabled": true }), &[]);
    assert_eq!(of(&checks, TOKEN).outcome, Warning);
}

#[test]
fn token_that_could_not_be_read_is_not_taken_for_acls_that_are_off() {
    assert_eq!(of(&made(&json!({ "token": null }), &[]), TOKEN).outcome, Unknown);
}

#[test]
fn missing_auth_method_is_set_up_by_the_next_sweep_unless_the_mode_is_observe() {
    let set_up = json!({ "missing": ["auth method iam-ecs-service-token"], "incomplete": [], "skipped": [], "failed": [], "complete": 11 });
    let checks = made(&json!({ "setUp": set_up }), &[]);
    let made_of_act = of(&checks, SET_UP);
    assert_eq!(
        (made_of_act.outcome, made_of_act.commands.as_slice()),
        (Failed, &["ecs-mesh sweep --stack mesh --region us-east-1".to_owned()][..])
    );
    assert!(made_of_act.seen.contains("auth method iam-ecs-service-token"));
    assert_eq!(of(&made(&json!({ "setUp": set_up }), &[("Mode", "observe")]), SET_UP).outcome, Fine);
    assert_eq!(of(&made(&json!({ "setUp": set_up }), &[("Bootstrap", "none")]), SET_UP).outcome, Fine);
}

#[test]
fn what_consul_cannot_have_is_a_warning_and_what_cannot_be_compared_a_failure() {
    let skipped = json!({ "missing": [], "incomplete": [], "skipped": ["auth method x"], "failed": [], "complete": 3 });
    assert_eq!(of(&made(&json!({ "setUp": skipped }), &[]), SET_UP).outcome, Warning);
    let of_old = json!({ "missing": ["auth method x"], "incomplete": [], "skipped": [], "failed": [], "complete": 3 });
    assert_eq!(of(&made(&json!({ "setUp": of_old, "version": "1.8.7" }), &[]), SET_UP).outcome, Warning);
    let failed = json!({ "missing": [], "incomplete": [], "skipped": [], "failed": ["x: other type"], "complete": 3 });
    assert_eq!(of(&made(&json!({ "setUp": failed }), &[]), SET_UP).outcome, Failed);
}

#[test]
fn role_without_a_permission_is_named_with_its_policy() {
    let why = "AccessDeniedException: User: … is not authorized to perform: ecs:ListTasks";
    let checks = made(&json!({ "problems": [{ "label": "ecs", "reason": why }] }), &[]);
    assert_eq!((of(&checks, ROLES).outcome, of(&checks, SWEEP).outcome), (Failed, Fine));
    let attach = "aws iam attach-role-policy --role-name mesh-role --policy-arn arn:policy --region us-east-1";
    assert_eq!(of(&checks, ROLES).commands[0], attach);
}

#[test]
fn sweep_says_what_it_cannot_read_and_what_it_holds_back() {
    let checks = made(&json!({ "problems": [{ "label": "ecs", "reason": "ECS is slow" }] }), &[]);
    assert_eq!((of(&checks, ROLES).outcome, of(&checks, SWEEP).outcome), (Fine, Failed));
    let held = of(&made(&json!({ "heldBack": ["prod: 9 of 10 services"] }), &[]), SWEEP).clone();
    assert_eq!(
        (held.outcome, held.commands[1].as_str()),
        (Warning, "ecs-mesh sweep --force --stack mesh --region us-east-1")
    );
}

#[test]
fn function_that_fails_is_a_failure_and_one_that_cannot_be_asked_unknown() {
    let (stack, resources, commands) = (examples::stack("mesh", &[]), Resources::new(), examples::commands());
    let subject = Subject { stack: &stack, resources: &resources, clusters: CLUSTERS, commands: &commands };
    let unasked = Err(NoAnswer::Unasked("access denied".to_owned()));
    assert_eq!(outcomes(&checks(&unasked, &subject)), [Unknown; 5]);
    let failed = Err(NoAnswer::Failed("it does not start".to_owned()));
    assert_eq!(outcomes(&checks(&failed, &subject)), [Failed, Unknown, Unknown, Unknown, Unknown]);
}

#[test]
fn function_that_does_not_start_says_why() {
    let why = read_answer(Invoked::Error("CONSUL_HTTP_ADDR: got \"\"".to_owned())).unwrap_err();
    assert_eq!(why, NoAnswer::Failed("the function reconcile failed: CONSUL_HTTP_ADDR: got \"\"".to_owned()));
    let old = "payload: got {\"check\":true}, expected …: unknown field `check`, expected one of `clusters`";
    let why = read_answer(Invoked::Error(old.to_owned())).unwrap_err();
    assert!(matches!(&why, NoAnswer::Unasked(why) if why.contains("update the stack")), "{why:?}");
}
