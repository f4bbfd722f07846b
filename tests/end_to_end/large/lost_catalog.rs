//! Consul has lost its catalog, with a thousand running tasks: one sweep registers them all, within the function's time and memory.
//!
//! The stand-in for Consul keeps in memory what is registered.

use std::{
    collections::{BTreeMap, BTreeSet},
    sync::{Arc, Mutex},
};

use local_stack::world::instance_ids;
use serde_json::{Value, json};
use test_harness::{
    installation::{CLUSTER, Installation, PAGE, RateLimit, task_arn},
    recorder::{Answer, RecordedRequest, Recorder},
};

use super::{DESCRIBED, counts, handled_with};

/// The tasks, which all run.
const TASKS: usize = 1_000;
const SERVICES: usize = 100;
/// Consul has nothing of it.
const INSTALLATION: Installation = Installation { running: TASKS, stopped: 0, gone: 0, services: SERVICES, tokens: 0 };
/// A task registers its service and a sidecar proxy, with three checks together.
const INSTANCES: usize = 2;
const CHECKS: usize = 3;
/// The most services that `DescribeServices` describes.
const SERVICES_DESCRIBED: usize = 10;
/// The most entries of `PutEvents`.
const PUT: usize = 10;

/// What Consul holds on the cluster's node, by ID.
#[derive(Default)]
struct Catalog {
    has_node: bool,
    services: BTreeMap<String, Value>,
    checks: BTreeMap<String, Value>,
    index: u64,
}

impl Catalog {
    fn answer(&mut self, seen: &RecordedRequest) -> Answer {
        let path: Vec<&str> = seen.uri.split(['/', '?']).skip(2).take(2).collect();
        match path.join("/").as_str() {
            // With the default policy `allow`, tasks without tokens are registered
            "agent/self" => {
                let policy = json!({ "ACLDefaultPolicy": "allow" });
                Answer::ok(json!({ "Config": { "Datacenter": "dc1" }, "DebugConfig": policy }).to_string())
            }
            "acl/tokens" | "agent/members" => Answer::ok("[]"),
            "catalog/node-services" => Answer::ok(self.node().to_string()),
            "health/node" => Answer::ok(json!(self.checks.values().collect::<Vec<_>>()).to_string()),
            "catalog/register" => {
                self.register(&seen.json());
                Answer::ok("true")
            }
            _ => Answer::status(400, format!("not expected: {}", seen.line())),
        }
    }

    fn node(&self) -> Value {
        let node = self.has_node.then(|| json!({ "Node": CLUSTER, "Meta": { "synthetic-node": "true" } }));
        json!({ "Node": node, "Services": self.services.values().collect::<Vec<_>>() })
    }

    fn register(&mut self, body: &Value) {
        assert_eq!(body["Node"], CLUSTER);
        (self.has_node, self.index) = (true, self.index + 1);
        let kept = |object: &Value, id: &str| {
            let mut object = object.clone();
            object["ModifyIndex"] = json!(self.index);
            (object[id].as_str().unwrap().to_owned(), object)
        };
        self.services.extend(body.get("Service").map(|service| kept(service, "ID")));
        self.checks.extend(body["Checks"].as_array().unwrap().iter().map(|check| kept(check, "CheckID")));
    }
}

/// The IDs of the instances of a task.
fn instances(task: usize) -> [String; INSTANCES] {
    instance_ids(&INSTALLATION.service(task), &task_arn(task))
}

#[tokio::test(flavor = "multi_thread")]
async fn a_sweep_registers_a_thousand_lost_tasks() {
    // Given a thousand running tasks, and a Consul without any of them, and without their cluster's node
    let catalog = Arc::new(Mutex::new(Catalog::default()));
    let kept = Arc::clone(&catalog);
    let consul = Recorder::start(move |seen, _| kept.lock().unwrap().answer(seen)).await;
    let aws = INSTALLATION.aws(RateLimit::None).await;
    // When a sweep runs
    let settings = [("TOKEN_MODE", "auth-method")];
    let sweep = json!({ "scheduled": true });
    let work = handled_with(&consul, &aws, &settings, "ReconcileFunction", "a sweep after a lost catalog", sweep).await;
    // Then it says that it has repaired them all, and the guard did not stop it
    let cluster = &work.answer["clusters"][0];
    assert_eq!((&work.answer["outcome"], &cluster["repaired"]), (&json!("done"), &json!(TASKS)), "{}", work.answer);
    assert_eq!((cluster.get("guard"), cluster.get("skipped"), &cluster["left"]), (None, None, &json!(0)), "{cluster}");
    // And Consul holds both instances of each task, and nothing else
    let catalog = catalog.lock().unwrap();
    let held: BTreeSet<&String> = catalog.services.keys().collect();
    let expected: Vec<String> = (0..TASKS).flat_map(instances).collect();
    assert_eq!(held, expected.iter().collect());
    // And their checks, with the health that ECS reports
    assert_eq!(catalog.checks.len(), TASKS * CHECKS);
    assert!(catalog.checks.values().all(|check| check["Status"] == "passing"));
    // And it has written each instance once, and asked ECS at four looks
    let expected = counts(&[
        ("DescribeClusters", 1),
        ("DescribeServices", SERVICES / SERVICES_DESCRIBED),
        // The second read is for their tags, which may opt a task out
        ("DescribeTaskDefinition", 2 * SERVICES),
        ("DescribeTasks", 4 * TASKS / DESCRIBED),
        ("GET acl/tokens", 1),
        ("GET agent/members", 1),
        ("GET agent/self", 1),
        ("GET catalog/node-services", 1),
        // Without the node there were no checks to read before the repair
        ("GET health/node", 2),
        ("ListTasks", TASKS / PAGE + 1),
        ("PUT catalog/register", TASKS * INSTANCES),
        ("PutEvents", TASKS / PUT),
    ]);
    assert_eq!(work.calls, expected);
}
