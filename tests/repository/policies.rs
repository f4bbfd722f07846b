//! What the roles may do with secrets and events, as IAM decides it: an explicit denial, else an allowance, else nothing.
//!
//! <https://docs.aws.amazon.com/IAM/latest/UserGuide/reference_policies_evaluation-logic.html>

use std::collections::{BTreeMap, BTreeSet};

use mesh::secret_name::{RESERVED_ENDS, RESERVED_NAMES, check_reserved};
use serde_json::Value;

use crate::resolved::{Stack, resource};

const ROLES: [&str; 2] = ["TaskEventsRole", "ReconcileRole"];
const READ: &str = "secretsmanager:GetSecretValue";
/// What a role might be granted beside reading and creating.
const OTHERS: [&str; 5] = [
    "secretsmanager:PutSecretValue",
    "secretsmanager:DescribeSecret",
    "secretsmanager:DeleteSecret",
    "secretsmanager:RestoreSecret",
    "secretsmanager:TagResource",
];
const PREFIX: &str = "consul-ecs";

fn arn(name: &str) -> String {
    format!("arn:aws:secretsmanager:us-east-1:123456789012:secret:{name}")
}

/// The ARN of a secret that exists, below the prefix.
fn below_prefix(name: &str) -> String {
    arn(&format!("{PREFIX}-{name}-AbCdEf"))
}

/// A request, with the values of its condition keys.
struct Request<'a> {
    action: &'a str,
    resource: &'a str,
    context: BTreeMap<&'static str, Vec<&'a str>>,
}

impl<'a> Request<'a> {
    /// A call about a secret that exists.
    fn about(action: &'a str, secret: &'a str, is_own: bool) -> Self {
        let mut context = BTreeMap::from([("secretsmanager:SecretId", vec![secret])]);
        if is_own {
            context.insert("aws:ResourceTag/managed-by", vec!["ecs-mesh-controller"]);
        }
        Self { action, resource: secret, context }
    }

    /// Secrets Manager knows no ID yet, and no suffix.
    fn create(name: &'a str) -> Self {
        Self { action: "secretsmanager:CreateSecret", resource: name, context: BTreeMap::new() }
    }
}

const BUS: &str = "arn:aws:events:us-east-1:123456789012:event-bus/default";

/// A call that sends events of these sources.
fn put_events<'a>(sources: &[&'a str]) -> Request<'a> {
    let key = ("events:source", sources.to_vec());
    let context = if sources.is_empty() { BTreeMap::new() } else { BTreeMap::from([key]) };
    Request { action: "events:PutEvents", resource: BUS, context }
}

/// A call that sets these tags of a secret.
fn tag<'a>(secret: &'a str, tags: &[(&'static str, &'a str)]) -> Request<'a> {
    let mut context = BTreeMap::from([("aws:TagKeys", tags.iter().map(|(key, _)| *key).collect())]);
    context.extend(
        tags.iter()
            .filter(|(key, _)| *key == "managed-by")
            .map(|(_, value)| ("aws:RequestTag/managed-by", vec![*value])),
    );
    Request { action: "secretsmanager:TagResource", resource: secret, context }
}

/// A pattern with `*` and `?`.
fn is_like(pattern: &[u8], text: &[u8]) -> bool {
    match (pattern, text) {
        ([], []) => true,
        ([b'*', rest @ ..], _) => is_like(rest, text) || (!text.is_empty() && is_like(pattern, &text[1..])),
        ([b'?', rest @ ..], [_, left @ ..]) => is_like(rest, left),
        ([first, rest @ ..], [letter, left @ ..]) => first == letter && is_like(rest, left),
        _ => false,
    }
}

/// The texts of a list, or the only one.
pub(crate) fn texts(value: &Value) -> Vec<&str> {
    value
        .as_array()
        .map_or_else(|| value.as_str().into_iter().collect(), |all| all.iter().filter_map(Value::as_str).collect())
}

/// Whether a list has a pattern for the text.
fn names(list: &Value, text: &str) -> bool {
    texts(list).iter().any(|pattern| is_like(pattern.as_bytes(), text.as_bytes()))
}

/// Whether a statement is about the request. Of a negated condition, a key that the request does not have is another value.
fn matches(statement: &Value, request: &Request<'_>) -> bool {
    let is_action = match statement.get("NotAction") {
        Some(others) => !names(others, request.action),
        None => names(&statement["Action"], request.action),
    };
    let meets = |operator: &str, key: &str, values: &Value| {
        let given = request.context.get(key);
        // A single-valued operator decides about several values in a way that AWS does not document.
        let one = || given.map(|given| if let [one] = given.as_slice() { *one } else { panic!("{key}: {given:?}") });
        match operator {
            "StringEquals" => one().is_some_and(|given| texts(values).contains(&given)),
            "StringNotEquals" => one().is_none_or(|given| !texts(values).contains(&given)),
            "ArnLike" => one().is_some_and(|given| names(values, given)),
            "ForAllValues:StringEquals" => given.into_iter().flatten().all(|given| texts(values).contains(given)),
            "Null" => values == if given.is_none() { "true" } else { "false" },
            other => panic!("{other} is not known here"),
        }
    };
    let conditions = statement["Condition"].as_object().into_iter().flatten();
    let mut keys =
        conditions.flat_map(|(operator, keys)| keys.as_object().unwrap().iter().map(move |it| (operator, it)));
    is_action
        && names(&statement["Resource"], request.resource)
        && keys.all(|(operator, (key, values))| meets(operator, key, values))
}

/// The statements of a role, also those of its managed policies.
pub(crate) fn statements(stack: &Stack, role: &str) -> Vec<Value> {
    let role = stack.value(resource(role).get("Properties").unwrap()).unwrap();
    let of = |document: &Value| document["PolicyDocument"]["Statement"].as_array().unwrap().clone();
    let mut all: Vec<Value> = role["Policies"].as_array().unwrap().iter().flat_map(of).collect();
    for name in texts(&role["ManagedPolicyArns"]) {
        all.extend(of(&stack.value(resource(name).get("Properties").unwrap()).unwrap()));
    }
    all
}

fn may(stack: &Stack, role: &str, request: &Request<'_>) -> bool {
    let statements = statements(stack, role);
    let has = |effect: &str| statements.iter().any(|it| it["Effect"] == effect && matches(it, request));
    !has("Deny") && has("Allow")
}

#[test]
fn events_are_sent_only_as_the_controller() {
    let stack = Stack::new(&[("Audit", "true")]);
    for role in ["TaskEventsRole", "ReconcileRole", "AuditRole"] {
        for (sources, is_allowed) in [
            (&["ecs-mesh-controller"][..], true),
            (&["ecs-mesh-controller"; 2], true),
            (&["ecs-mesh-controller", "aws.ecs"], false),
            (&["aws.ecs"], false),
            (&[], false),
        ] {
            assert_eq!(may(&stack, role, &put_events(sources)), is_allowed, "{role}: {sources:?}");
        }
    }
}

#[test]
fn only_the_mark_of_the_controller_is_set_and_no_other_tag() {
    let own = ("managed-by", "ecs-mesh-controller");
    for (mode, stack) in stacks(&arn("own-AbCdEf"), "") {
        let web = arn(&format!("{PREFIX}-web"));
        for (tags, is_own) in [
            (&[own][..], true),
            (&[own, ("team", "web")], false),
            (&[("managed-by", "terraform")], false),
            (&[("team", "web")], false),
            (&[], false),
        ] {
            let is_allowed = is_own && mode != "auth-method";
            assert_eq!(may(&stack, "TaskEventsRole", &tag(&web, tags)), is_allowed, "{mode}: {tags:?}");
        }
        assert!(!may(&stack, "TaskEventsRole", &tag(&arn("other-web"), &[own])), "{mode}");
    }
}

/// A call that creates a secret with tags needs both, by the name and, as denials of AWS show, by the name with a suffix.
#[test]
fn the_secrets_of_client_agents_may_be_created_by_their_own_name() {
    let stack = Stack::new(&[("ClientTokenSecretName", "client")]);
    for name in ["client", "client-AbCdEf", "client-partition", "client-partition-AbCdEf"].map(arn) {
        assert!(may(&stack, "TaskEventsRole", &Request::create(&name)), "{name}");
        assert!(may(&stack, "TaskEventsRole", &tag(&name, &[("managed-by", "ecs-mesh-controller")])), "{name}");
    }
}

/// The names after the prefix that are denied: the exact ones, and one for each end.
fn reserved() -> Vec<String> {
    RESERVED_NAMES
        .iter()
        .map(|name| (*name).to_owned())
        .chain(RESERVED_ENDS.iter().map(|end| format!("dc2-{end}")))
        .collect()
}

/// A stack in each token mode, with a credential and a certificate with these ARNs.
fn stacks(credential: &str, certificate: &str) -> [(&'static str, Stack); 3] {
    ["auto", "secrets-manager", "auth-method"].map(|mode| {
        let parameters =
            [("TokenMode", mode), ("ConsulHttpTokenSecretArn", credential), ("ConsulCaCertSecretArn", certificate)];
        (mode, Stack::new(&parameters))
    })
}

#[test]
fn keys_and_certificates_below_the_prefix_are_out_of_reach() {
    let [credential, certificate] = ["own-AbCdEf", "own-ca-AbCdEf"].map(arn);
    for (mode, stack) in stacks(&credential, &certificate) {
        for (role, name) in ROLES.iter().flat_map(|role| reserved().into_iter().map(move |name| (role, name))) {
            let secret = below_prefix(&name);
            for action in [&[READ], OTHERS.as_slice()].concat() {
                for is_own in [false, true] {
                    let request = Request::about(action, &secret, is_own);
                    assert!(!may(&stack, role, &request), "{role} in mode {mode} may {action} {secret}");
                }
            }
        }
    }
}

#[test]
fn the_own_credential_and_certificate_may_be_among_them_and_are_only_read() {
    for name in reserved() {
        let (credential, certificate) = (below_prefix(&name), below_prefix("consul-server-ca-cert"));
        for (mode, stack) in stacks(&credential, &certificate) {
            for (role, secret) in ROLES.iter().flat_map(|role| [(role, &credential), (role, &certificate)]) {
                assert!(may(&stack, role, &Request::about(READ, secret, false)), "{role} in mode {mode}: {secret}");
                for action in OTHERS {
                    let request = Request::about(action, secret, true);
                    assert!(!may(&stack, role, &request), "{role} in mode {mode} may {action} {secret}");
                }
            }
        }
    }
}

#[test]
fn tokens_of_services_are_in_reach_unless_tasks_log_in() {
    let [credential, certificate] = ["own-AbCdEf", "own-ca-AbCdEf"].map(arn);
    let elsewhere = arn("other-web-AbCdEf");
    for (mode, stack) in stacks(&credential, &certificate) {
        let makes_tokens = mode != "auth-method";
        for role in ROLES {
            for action in [READ, "secretsmanager:PutSecretValue"] {
                // Of Terraform, of the controller, and outside of the prefix
                let web = below_prefix("web");
                assert_eq!(
                    may(&stack, role, &Request::about(action, &web, false)),
                    makes_tokens,
                    "{role} in mode {mode}"
                );
                assert!(may(&stack, role, &Request::about(action, &web, true)), "{role} in mode {mode}");
                assert!(!may(&stack, role, &Request::about(action, &elsewhere, true)), "{role} in mode {mode}");
            }
            let name = arn(&format!("{PREFIX}-web"));
            assert_eq!(may(&stack, role, &Request::create(&name)), makes_tokens, "{role} in mode {mode}");
            assert!(may(&stack, role, &Request::about(READ, &credential, false)), "{role} in mode {mode}");
            assert!(may(&stack, role, &Request::about(READ, &certificate, false)), "{role} in mode {mode}");
        }
    }
}

/// IAM decides about a creation by the name without a suffix. So it would not create what looks like a suffix already.
#[test]
fn a_name_whose_creation_is_denied_is_refused_by_the_function() {
    let [(_, auto), ..] = stacks(&arn("own-AbCdEf"), "");
    for name in reserved() {
        for (end, is_denied) in [("server", true), ("a-bcde", true), ("app", false), ("gateway", false)] {
            let secret = format!("{PREFIX}-{name}-{end}");
            assert_eq!(may(&auto, "TaskEventsRole", &Request::create(&arn(&secret))), !is_denied, "{secret}");
            assert_eq!(check_reserved(&secret, &format!("{PREFIX}-")).is_err(), is_denied, "{secret}");
        }
    }
}

/// IAM decides about a creation by the name without a suffix, which most denials do not match: the function's refusal protects.
#[test]
fn a_reserved_name_is_refused_by_the_function_before_it_is_created() {
    let [(_, auto), ..] = stacks(&arn("own-AbCdEf"), "");
    for name in reserved() {
        let secret = format!("{PREFIX}-{name}");
        // As a suffix, `shared` has the length of the random one
        let is_denied = name.ends_with("-shared");
        assert_eq!(may(&auto, "TaskEventsRole", &Request::create(&arn(&secret))), !is_denied, "{name}");
        assert!(check_reserved(&secret, &format!("{PREFIX}-")).is_err(), "{name}");
    }
}

#[test]
fn the_denied_names_are_those_that_the_function_refuses() {
    let stack = Stack::new(&[]);
    let policy = stack.value(resource("OtherSecretsPolicy").get("Properties").unwrap()).unwrap();
    let denied = policy["PolicyDocument"]["Statement"][0].clone();
    assert_eq!((&denied["Effect"], &denied["Action"]), (&"Deny".into(), &"secretsmanager:*".into()));
    let start = format!("arn:aws:secretsmanager:*:*:secret:{PREFIX}-");
    let name = |arn: &&str| arn.strip_prefix(&start).and_then(|rest| rest.strip_suffix("-??????")).map(str::to_owned);
    let in_template: BTreeSet<String> = texts(&denied["Resource"]).iter().map(|arn| name(arn).expect(arn)).collect();
    let ends = RESERVED_ENDS.iter().map(|end| format!("*-{end}"));
    assert_eq!(in_template, RESERVED_NAMES.iter().map(|name| (*name).to_owned()).chain(ends).collect());
}
