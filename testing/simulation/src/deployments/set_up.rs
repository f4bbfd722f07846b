//! What the deployments set up in Consul, next to what others have there: a second controller that sets the same Consul up, for an account
//! of its own, and tools and people who extend and remove objects.

use std::time::Duration;

use consul::{Object, ObjectKind};
use controller::Controller;
use mesh::{
    cluster_selection::ClusterSelection,
    consul_ecs::SERVICE_METHOD,
    scope::{BootstrapExtent, Scope},
    tenancy::Tenancy,
};
use observe::Deadline;
use serde_json::{Value, json};

use super::Deployments;
use crate::{
    dialect::Dialect,
    environment::edges,
    objects::{ANONYMOUS, StoredObject},
    world::World,
};

const HOME: Tenancy = Tenancy::Community;
const ANONYMOUS_POLICY: &str = "anonymous-token-policy";
const CLIENT_METHOD: &str = "iam-ecs-client-token";
/// The roles, and the policies that each needs.
const ROLES: [(&str, Option<&str>); 4] = [
    ("consul-ecs-api-gateway-role", Some("consul-ecs-api-gateway-policy")),
    ("consul-ecs-mesh-gateway-role", Some("consul-ecs-mesh-gateway-policy")),
    (TERMINATING_ROLE, None),
    ("consul-ecs-client-role", Some("consul-ecs-client-policy")),
];
const TERMINATING_ROLE: &str = "consul-ecs-terminating-gateway-role";
/// The auth methods with the number of their binding rules.
const METHODS: [(&str, usize); 2] = [(SERVICE_METHOD, 4), (CLIENT_METHOD, 1)];
/// The policy of the client agents' token, which is deleted with the token.
const OWN_POLICY: &str = "consul-ecs-consul-client-policy";
/// The clusters of the second controller.
const OTHER_CLUSTER: &str = "arn:aws:ecs:us-east-1:999999999999:cluster/other";
/// The longest that the second controller works.
const TIME: Duration = Duration::from_secs(280);

/// The IAM roles of an account's tasks.
fn principal(scope: &Scope) -> String {
    format!("arn:aws:iam::{}:role/consul-ecs/*", scope.clusters.account())
}

/// Another tool's object.
fn of_others(kind: ObjectKind, name: &str, body: &Value) -> Object {
    Object { kind, name: name.to_owned(), tenancy: HOME, body: body.as_object().cloned().unwrap() }
}

/// What others have in Consul, each after what it refers to: objects of their own, and objects that the bootstrap needs as well.
fn objects_of_others() -> Vec<Object> {
    let external = json!([{ "Name": "external" }]);
    let rules = r#"service_prefix "" { policy = "read" }"#;
    let config =
        json!({ "BoundIAMPrincipalARNs": ["arn:aws:iam::888888888888:role/theirs"], "EnableIAMEntityDetails": false });
    vec![
        of_others(ObjectKind::Policy, "external", &json!({ "Name": "external", "Rules": rules })),
        of_others(ObjectKind::Policy, ANONYMOUS_POLICY, &json!({ "Name": ANONYMOUS_POLICY, "Rules": rules })),
        of_others(ObjectKind::Role, "theirs", &json!({ "Name": "theirs", "Policies": external })),
        of_others(
            ObjectKind::Role,
            TERMINATING_ROLE,
            &json!({ "Name": TERMINATING_ROLE, "Description": "theirs", "Policies": external }),
        ),
        of_others(ObjectKind::AnonymousToken, ANONYMOUS, &json!({ "AccessorID": ANONYMOUS, "Policies": external })),
        of_others(
            ObjectKind::AuthMethod,
            SERVICE_METHOD,
            &json!({ "Name": SERVICE_METHOD, "Type": "aws-iam", "Description": "theirs", "Config": config }),
        ),
        of_others(
            ObjectKind::BindingRule,
            "service theirs",
            &json!({ "AuthMethod": SERVICE_METHOD, "BindType": "service", "BindName": "theirs", "Selector": "" }),
        ),
    ]
}

/// Whether a value has everything that it had before: lists and objects may be longer.
fn keeps(now: &Value, before: &Value) -> bool {
    match (now, before) {
        (Value::Object(now), Value::Object(before)) => before
            .iter()
            .filter(|(name, _)| *name != "ModifyIndex")
            .all(|(name, value)| now.get(name).is_some_and(|now| keeps(now, value))),
        (Value::Array(now), Value::Array(before)) => before.iter().all(|value| now.contains(value)),
        // An auth method that has to read tags begins to.
        (Value::Bool(true), Value::Bool(_)) => true,
        _ => now == before,
    }
}

fn has_link(object: &StoredObject, policy: &str) -> bool {
    let links = object.fields.get("Policies").and_then(Value::as_array);
    links.is_some_and(|links| links.iter().any(|link| link["Name"] == policy))
}

/// The second controller.
pub(super) struct Other {
    pub(super) scope: Scope,
    controller: Controller,
    /// When it begins.
    after: Duration,
}

impl Other {
    /// Whether it has set Consul up.
    pub(super) async fn set_up(&self) -> bool {
        tokio::time::sleep(self.after).await;
        self.controller.bootstrap(Deadline::after(TIME)).await.failures.is_empty()
    }
}

impl Deployments {
    /// Makes the controllers set Consul up, which has some objects of others, and which may be too old for logins.
    pub(super) fn prepare_set_up(&mut self) {
        let dialect = Dialect::draw(&self.random);
        let mut objects = objects_of_others();
        objects.retain(|_| self.random.bool());
        let calls = self.random.fork();
        self.direct.with(|world| {
            (world.random, world.shuffles_calls) = (calls, true);
            world.scope.bootstrap.extent = BootstrapExtent::Full;
            world.scenario.dialect = dialect;
            for object in &objects {
                // Without what it refers to, an object is not there either.
                let _ = world.create_object(object, &object.body);
            }
        });
        self.direct.edges = edges(&self.direct.shared, 0);
    }

    /// Another tool may remove an object.
    pub(super) fn remove_object(&mut self) {
        if !self.fails(6) {
            return;
        }
        let drawn = self.random.usize(..);
        let removed = self.direct.with(|world| {
            let mut known = world.consul.objects.iter().filter(|object| object.kind != ObjectKind::AnonymousToken);
            let count = known.clone().count();
            let object = known.nth(drawn.checked_rem(count)?)?.clone();
            world.consul.remove_object(object.kind, &object.tenancy, object.name());
            Some(object)
        });
        self.note(|| format!("somebody removes {removed:?}"));
    }

    /// The second controller, if it sets Consul up at the same time.
    pub(super) fn draw_other(&mut self) -> Option<Other> {
        if !self.draw(3) {
            return None;
        }
        // At once, or while the handler looks whether what it has written is still there
        let after = if self.draw(2) { Duration::ZERO } else { Duration::from_millis(self.random.u64(..2_000)) };
        self.note(|| format!("another controller sets Consul up, after {after:?}"));
        let mut scope = self.direct.with(|world| world.scope.clone());
        scope.clusters = ClusterSelection::parse(OTHER_CLUSTER, None).unwrap();
        let controller = Controller::new(scope.clone(), edges(&self.direct.shared, 1));
        Some(Other { scope, controller, after })
    }

    /// Consul's objects.
    pub(super) fn objects(&self) -> Vec<StoredObject> {
        self.direct.with(|world| world.consul.objects.clone())
    }

    /// Every object of the bootstrap and of others that was there before is still there, with all of its fields.
    pub(super) fn check_objects_kept(&mut self, before: &[StoredObject]) {
        let now = self.objects();
        let is_kept = |object: &&StoredObject| {
            let mut same = now.iter().filter(|now| (now.kind, now.name()) == (object.kind, object.name()));
            same.any(|now| keeps(&now.fields.clone().into(), &object.fields.clone().into()))
        };
        let mut shared = before.iter().filter(|object| object.name() != OWN_POLICY);
        if let Some(lost) = shared.find(|object| !is_kept(object)) {
            self.breaks(format!("only extended: Consul had {lost:?}"));
        }
    }

    /// A controller has set Consul up for its account: everything is there, once; a binding rule twice only after an outage.
    pub(super) fn check_is_set_up(&mut self, scope: &Scope) {
        let principal = principal(scope);
        if let Some(what) = self.direct.with(|world| missing(world, &principal, self.had_outage)) {
            self.breaks(format!("set up: {what}, for {principal}"));
        }
        self.note(|| format!("Consul is set up for {principal}"));
    }
}

/// What is missing in Consul after a bootstrap, or is there twice.
fn missing(world: &World, principal: &str, may_repeat: bool) -> Option<String> {
    let object = |kind, name: &str| world.consul.object(kind, &HOME, name);
    for (role, policy) in ROLES {
        let Some(known) = object(ObjectKind::Role, role) else { return Some(format!("no role {role}")) };
        if let Some(policy) = policy.filter(|it| !has_link(known, it) || object(ObjectKind::Policy, it).is_none()) {
            return Some(format!("no policy {policy} of role {role}"));
        }
    }
    if !object(ObjectKind::AnonymousToken, ANONYMOUS).is_some_and(|token| has_link(token, ANONYMOUS_POLICY)) {
        return Some("no policy of the anonymous token".to_owned());
    }
    // Without auth methods there are no logins.
    let has_logins = world.scenario.dialect.check_method_type("aws-iam").is_ok();
    for (method, rules) in METHODS.into_iter().filter(|_| has_logins) {
        let Some(known) = object(ObjectKind::AuthMethod, method) else { return Some(format!("no method {method}")) };
        let principals = known.fields["Config"]["BoundIAMPrincipalARNs"].as_array();
        if !principals.is_some_and(|all| all.iter().any(|known| known == principal)) {
            return Some(format!("method {method} does not trust the account"));
        }
        let own = world.binding_rules(method).into_iter().filter(|rule| rule["BindName"] != "theirs");
        let mut bound: Vec<String> = own.map(|rule| format!("{} {}", rule["BindName"], rule["Selector"])).collect();
        let count = bound.len();
        bound.sort();
        bound.dedup();
        if bound.len() != rules || (count != rules && !may_repeat) {
            return Some(format!("method {method} has {count} binding rules for {bound:?}"));
        }
    }
    None
}
