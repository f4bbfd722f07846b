//! Partitions and namespaces that the controller creates, in the simulated Consul Enterprise.

use consul::ObjectKind;
use controller::{Controller, Edges, Writes};
use local_stack::world::World;
use mesh::{scope::BootstrapExtent, settings::TokenMode, tenancy::Tenancy};
use observe::{Deadline, Reads, SweepOrder};
use report::SweepOutcome;
use serde_json::{Value, json};
use simulation::{direct::Direct, objects::StoredObject};
use test_harness::recorder::Recorder;

use super::{IN_TEAM, tags};
use crate::{
    environment::Environment,
    time::{LONG, without_pauses},
};

/// The simulated Consul Enterprise, with the partition `team`.
struct Simulated(Direct);

impl Simulated {
    fn new() -> Self {
        let direct = Direct::with_running(1, |scenario| scenario.enterprise = true);
        direct.with(|world| world.trace = Some(Vec::new()));
        Self(direct)
    }

    /// An environment of a deployment in the partition, with this Consul.
    async fn environment(&self, world: &World<'_>) -> Environment {
        let Edges { reads, writes, .. } = self.0.edges.clone();
        let nowhere = Recorder::start(|seen, _| panic!("{}", seen.line())).await;
        Environment::with(world, nowhere, &IN_TEAM, |edges| Edges {
            reads: Reads { consul: reads.consul, ..edges.reads },
            writes: Writes { consul: writes.consul, ..edges.writes },
            ..edges
        })
        .await
    }

    /// A controller of the simulated tasks, which sets Consul up.
    fn controller(&self, mode: TokenMode) -> Controller {
        let mut scope = self.0.with(|world| world.scope.clone());
        (scope.token_mode, scope.bootstrap.extent) = (mode, BootstrapExtent::Full);
        Controller::new(scope, self.0.edges.clone())
    }

    /// Works, without pauses.
    async fn serve<T>(&self, work: impl Future<Output = T>) -> T {
        without_pauses(self.0.serve(Box::pin(work))).await
    }

    /// What Consul was asked since the last time, sorted.
    fn asked(&self) -> Vec<String> {
        let trace = self.0.with(|world| world.trace.replace(Vec::new())).unwrap_or_default();
        let call = |step: &String| Some(step.split_once(" Consul: ")?.1.split_once(" -> ")?.0.to_owned());
        let mut asked: Vec<String> = trace.iter().filter_map(call).collect();
        asked.sort();
        asked
    }

    /// The namespaces, without `default`.
    fn namespaces(&self) -> Vec<StoredObject> {
        let all = self.0.with(|world| world.consul.objects_of(ObjectKind::Namespace).cloned().collect::<Vec<_>>());
        all.into_iter().filter(|namespace| namespace.name() != "default").collect()
    }

    fn object(&self, kind: ObjectKind, tenancy: &Tenancy, name: &str) -> StoredObject {
        self.0.with(|world| world.consul.object(kind, tenancy, name).cloned()).unwrap_or_else(|| panic!("no {name}"))
    }
}

/// The names in a list of links.
fn names(links: &Value) -> Vec<&str> {
    links.as_array().into_iter().flatten().filter_map(|link| link["Name"].as_str()).collect()
}

#[tokio::test]
async fn namespace_of_a_starting_task_is_created_once() {
    let world = World::without_deployment("new-namespace").await;
    let tags = tags(&[("partition", "team"), ("namespace", "store")]);
    let definition = world.definition("new-namespace-shop", &tags, None).await;
    let (task, next) = (world.run(&definition).await, world.run(&definition).await);
    let consul = Simulated::new();
    let environment = consul.environment(&world).await;
    let handle = async |task: &str| {
        let event = world.event(task).await;
        let report = consul.serve(environment.handle(&[event])).await;
        assert!(report.failures.is_empty(), "{report:?}");
    };
    handle(&task).await;
    let [created] = &consul.namespaces()[..] else { panic!("one namespace") };
    assert_eq!(
        (created.name(), names(&created.fields["ACLs"]["PolicyDefaults"])),
        ("store", vec!["cross-namespace-read"])
    );
    consul.asked();
    handle(&next).await;
    assert_eq!(consul.asked(), [""; 0], "the environment has seen the namespace");
}

#[tokio::test]
async fn a_tag_creates_no_partition() {
    let world = World::without_deployment("tag-partition").await;
    // Given a task of a partition that exists, and that the settings do not name
    let tags = tags(&[("partition", "foreign"), ("namespace", "store"), ("service-name", "shop")]);
    let read = [("CONSUL_HTTP_TOKEN", "shop-store-foreign")];
    let task = world.run(&world.definition_reading("tag-partition-shop", &tags, None, &read).await).await;
    let consul = Simulated::new();
    consul.0.with(|world| world.create_partition(&"foreign".parse().unwrap()));
    let environment = consul.environment(&world).await;
    // When it starts
    let report = consul.serve(environment.handle(&[world.event(&task).await])).await;
    // Then its message alone is a fault, and says why
    let error = &report.faults[0].error;
    assert!(report.failures.is_empty() && error.field() == Some("consul.hashicorp.com/partition"), "{error}");
    // And a sweep contains it
    let report = consul.serve(environment.controller.sweep(&SweepOrder::default(), Deadline::after(LONG))).await;
    let faults: Vec<_> = report.faults.iter().filter(|fault| fault.reason.contains("foreign")).collect();
    assert!(faults.len() == 1 && faults[0].owner.as_ref().unwrap().contains("tag-partition-shop"), "{report:?}");
    // And nothing is created for it
    let written: Vec<String> = consul.asked().into_iter().filter(|line| !line.starts_with("GET")).collect();
    assert!(!written.iter().any(|line| line.contains("foreign") || line.contains("store")), "{written:?}");
    assert_eq!(consul.namespaces(), []);
    assert!(world.pair("tag-partition-shop-store-foreign").await.is_none());
}

#[tokio::test]
async fn tags_create_a_few_namespaces_at_once() {
    let world = World::without_deployment("many-namespaces").await;
    // Given eleven tasks with a namespace each
    let mut tasks = Vec::new();
    for number in 0..11 {
        let tags = tags(&[("partition", "team"), ("namespace", &format!("space-{number}"))]);
        tasks.push(world.run(&world.definition(&format!("many-namespaces-{number}"), &tags, None).await).await);
    }
    let consul = Simulated::new();
    let environment = consul.environment(&world).await;
    // When they start at once, then ten are created, and the message of the other task returns
    let mut events = Vec::new();
    for task in &tasks {
        events.push(world.event(task).await);
    }
    let report = consul.serve(environment.handle(&events)).await;
    assert_eq!((report.failures.len(), consul.namespaces().len()), (1, 10), "{report:?}");
    let error = &report.failures[0].error;
    assert!(!error.is_permanent() && error.to_string().contains("new namespaces of the tasks of cluster"), "{error}");
    // And so it is in a sweep, which is complete
    let consul = Simulated::new();
    let environment = consul.environment(&world).await;
    let sweep =
        async || consul.serve(environment.controller.sweep(&SweepOrder::default(), Deadline::after(LONG))).await.faults;
    let faults = sweep().await;
    assert!(faults.iter().any(|fault| fault.label.as_str() == "over_limit"), "{faults:?}");
    assert_eq!(consul.namespaces().len(), 10);
    let faults = sweep().await;
    assert!(!faults.iter().any(|fault| fault.label.as_str() == "over_limit"), "{faults:?}");
    assert_eq!(consul.namespaces().len(), 11);
}

#[tokio::test]
async fn a_task_without_its_namespace_harms_no_other() {
    let world = World::without_deployment("no-namespace").await;
    let in_namespace = |name| tags(&[("partition", "team"), ("namespace", name)]);
    let mut events = Vec::new();
    for name in ["consul", "bad", "late", "good"] {
        let definition = world.definition(&format!("no-namespace-{name}"), &in_namespace(name), None).await;
        events.push(world.event(&world.run(&definition).await).await);
    }
    // Given a Consul that refuses two namespaces for their names, and fails to create a third one
    let consul = Simulated::new();
    consul.0.with(|world| {
        let reserved = r#"rpc error making call: Namespace "consul" is reserved for future internal use"#;
        world.consul.refuse("consul", 500, reserved);
        world.consul.refuse("bad", 400, "invalid namespace");
        world.consul.refuse("late", 500, "rpc error making call: EOF");
    });
    let environment = consul.environment(&world).await;
    let report = consul.serve(environment.handle(&events)).await;
    let named = |failures: &[controller::Failure], name: &str| {
        failures.iter().any(|failure| failure.error.to_string().contains(&format!("namespace {name}")))
    };
    // Then the message of the third one returns, and the others are faults
    assert_eq!((report.failures.len(), report.faults.len()), (1, 2), "{report:?}");
    assert!(named(&report.failures, "late") && named(&report.faults, "consul") && named(&report.faults, "bad"));
    let created = consul.namespaces();
    assert_eq!(created.iter().map(StoredObject::name).collect::<Vec<_>>(), ["good"]);
    // And sweeps are complete without them
    let report = consul.serve(environment.controller.sweep(&SweepOrder::default(), Deadline::after(LONG))).await;
    let of_namespaces = report.faults.iter().filter(|fault| fault.reason.starts_with("namespace ")).count();
    assert_eq!((report.outcome, of_namespaces), (SweepOutcome::Done, 3), "{report:?}");
}

/// A partition of a deployment, with the default namespace.
fn team() -> Tenancy {
    Tenancy::default_namespace_of("team".parse().unwrap())
}

/// A Consul without the partition and the cluster's node; once the partition exists, it has namespaces.
fn without_partition() -> Simulated {
    let consul = Simulated::new();
    consul.0.with(|world| {
        assert!(world.consul.remove_object(ObjectKind::Partition, &Tenancy::Community, "team"));
        world.consul.nodes.clear();
        let acls = json!({ "PolicyDefaults": [{ "ID": "p-1", "Name": "user" }] });
        for fields in [
            json!({ "Name": "going", "DeletedAt": "2024-01-01T00:00:00Z" }),
            json!({ "Name": "shop", "Meta": { "by": "user" }, "ACLs": acls }),
        ] {
            let fields = fields.as_object().cloned().unwrap();
            world.consul.objects.push(StoredObject { kind: ObjectKind::Namespace, tenancy: team(), fields });
        }
    });
    consul
}

#[tokio::test]
async fn namespaces_are_set_up_in_secrets_manager_mode() {
    let consul = without_partition();
    let before = consul.namespaces();
    let controller = consul.controller(TokenMode::SecretsManager);
    let report = consul.serve(controller.bootstrap(Deadline::after(LONG))).await;
    assert_eq!(report.created, ["partition team", "ACL policy cross-namespace-read"], "{report:?}");
    // Namespaces of other creators stay as they are
    assert_eq!(report.updated, ["namespace default"]);
    assert_eq!(consul.namespaces(), before);
    let default = consul.object(ObjectKind::Namespace, &team(), "default");
    assert_eq!(names(&default.fields["ACLs"]["PolicyDefaults"]), ["cross-namespace-read"]);
    let rules = r#"partition "team" { namespace_prefix "" { service_prefix "" { policy = "read" } node_prefix "" { policy = "read" } } }"#;
    assert_eq!(consul.object(ObjectKind::Policy, &team(), "cross-namespace-read").text("Rules"), rules);
    consul.asked();
    let report = consul.serve(controller.bootstrap(Deadline::after(LONG))).await;
    assert_eq!(report.unchanged.len(), 3, "{report:?}");
    assert_eq!(consul.asked(), ["GET ACL policy cross-namespace-read", "GET namespace default", "GET partition team"]);
}

#[tokio::test]
async fn logins_are_in_the_default_namespace() {
    let consul = without_partition();
    let controller = consul.controller(TokenMode::AuthMethod);
    let report = consul.serve(controller.bootstrap(Deadline::after(LONG))).await;
    assert!(report.failures.is_empty(), "{report:?}");
    // Where the objects are: how requests name a tenancy is in `client/enterprise.rs`
    let default = Tenancy::of_default_partition();
    let in_tenancy = |kind, tenancy: &Tenancy| {
        consul.0.with(|world| world.consul.objects_of(kind).filter(|object| object.tenancy == *tenancy).count())
    };
    let counts = [ObjectKind::AuthMethod, ObjectKind::BindingRule, ObjectKind::Policy, ObjectKind::Role]
        .map(|kind| (in_tenancy(kind, &team()), in_tenancy(kind, &default)));
    // All partitions share one anonymous token, and its policy
    assert_eq!(counts, [(2, 0), (5, 0), (4, 1), (4, 0)]);
    let mut written = consul.asked();
    written.retain(|line| line.starts_with("PUT ") && !line.starts_with("PUT ACL ") && !line.contains("auth method"));
    let node = "PUT node arn:aws:ecs:us-east-1:123456789012:cluster/cluster-0";
    assert_eq!(written, ["PUT namespace default", node, "PUT partition team", "PUT the anonymous ACL token"]);
    let rules =
        |tenancy: &Tenancy, policy: &str| consul.object(ObjectKind::Policy, tenancy, policy).text("Rules").to_owned();
    let read_all =
        r#"namespace_prefix "" { node_prefix "" { policy = "read" } service_prefix "" { policy = "read" } }"#;
    assert_eq!(rules(&default, "anonymous-token-policy"), format!("partition_prefix \"\" {{ {read_all} }}"));
    assert_eq!(rules(&team(), "consul-ecs-api-gateway-policy"), format!("mesh = \"read\"\n{read_all}"));
    assert_eq!(
        rules(&team(), "consul-ecs-client-policy"),
        r#"node_prefix "" { policy = "write" } namespace_prefix "" { service_prefix "" { policy = "read" } }"#
    );
    let selector = r#"entity_tags["consul.hashicorp.com.namespace"] != """#;
    let bound = "${entity_tags.consul.hashicorp.com.namespace}";
    let method = consul.object(ObjectKind::AuthMethod, &team(), "iam-ecs-service-token");
    assert_eq!(method.fields["NamespaceRules"], json!([{ "Selector": selector, "BindNamespace": bound }]));
}
