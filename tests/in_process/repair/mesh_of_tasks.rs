//! A cluster of running tasks in a scripted ECS, and a scripted Consul that keeps its catalog in memory.

use std::{
    collections::{BTreeMap, BTreeSet},
    sync::{Arc, Mutex},
};

use controller::{Controller, Deadline, Delivery, SweepOrder, settings::Settings};
use report::SweepReport;
use serde_json::{Value, json};
use test_harness::recorder::{Answer, RecordedRequest, Recorder};

use crate::{
    environment::{edges_without_time_limits, sdk_at},
    time::LONG,
};

/// The cluster of all tasks.
pub(super) const CLUSTER: &str = "arn:aws:ecs:us-east-1:123456789012:cluster/shop";

/// A running task, whose containers are healthy.
#[derive(Clone)]
pub(super) struct FakeTask {
    pub(super) arn: String,
    /// `family:revision`.
    pub(super) definition: String,
    /// The container definition of `mesh-init`.
    pub(super) registrar: Value,
    /// Its containers that have stopped.
    pub(super) stopped: BTreeSet<&'static str>,
    /// Its containers that fail their health checks.
    pub(super) unhealthy: BTreeSet<&'static str>,
    /// Its containers whose health ECS does not know.
    pub(super) unknown: BTreeSet<&'static str>,
    /// The value of the tag `ecs-mesh-controller/repair` of its definition.
    pub(super) repair: &'static str,
    /// Its IAM role, in place of that of the definition.
    pub(super) role: Option<String>,
    /// Whether ECS counts it, and neither lists nor describes it.
    pub(super) is_lost: bool,
}

impl FakeTask {
    /// A task of the service `web`, as the Terraform modules of today define it.
    pub(super) fn new(number: usize) -> Self {
        let config = json!({
            "service": { "name": "web", "port": 9090 }, "proxy": {}, "transparentProxy": { "enabled": false },
            "healthSyncContainers": ["app"],
        });
        Self {
            arn: format!("arn:aws:ecs:us-east-1:123456789012:task/shop/{number:032x}"),
            definition: "web:1".to_owned(),
            registrar: json!({
                "name": "consul-ecs-mesh-init",
                "image": "hashicorp/consul-ecs:0.10.0",
                "command": ["mesh-init"],
                "environment": [{ "name": "CONSUL_ECS_CONFIG_JSON", "value": config.to_string() }],
            }),
            stopped: BTreeSet::new(),
            unhealthy: BTreeSet::new(),
            unknown: BTreeSet::new(),
            repair: "on",
            role: None,
            is_lost: false,
        }
    }

    /// The same with further fields in its configuration, and a definition of its own.
    pub(super) fn configured(number: usize, fields: &Value) -> Self {
        let mut task = Self { definition: format!("web:{number}"), ..Self::new(number) };
        task.configure(fields);
        task
    }

    /// Sets fields of its configuration.
    pub(super) fn configure(&mut self, fields: &Value) {
        let config = &mut self.registrar["environment"][0]["value"];
        let mut parsed: Value = serde_json::from_str(config.as_str().unwrap()).unwrap();
        parsed.as_object_mut().unwrap().extend(fields.as_object().unwrap().clone());
        *config = json!(parsed.to_string());
    }

    /// Its ID.
    pub(super) fn id(&self) -> &str {
        self.arn.rsplit('/').next().unwrap()
    }

    /// The event of its current state.
    pub(super) fn event(&self) -> Value {
        let mut detail = self.described();
        detail["version"] = json!(9);
        local_stack::world::envelope(&detail)
    }

    fn definition_arn(&self) -> String {
        format!("arn:aws:ecs:us-east-1:123456789012:task-definition/{}", self.definition)
    }

    /// Its definition, in ECS's answer.
    fn defined(&self) -> Value {
        let app = |name: &str| json!({ "name": name, "image": "example/x:1" });
        let health_sync = json!({ "name": "consul-ecs-health-sync", "command": ["health-sync"], "image": "x" });
        let containers = json!([self.registrar, app("app"), app("worker"), app("consul-dataplane"), health_sync]);
        let tags = json!([
            { "key": "consul.hashicorp.com/mesh", "value": "true" },
            { "key": "ecs-mesh-controller/repair", "value": self.repair },
        ]);
        let definition = json!({ "taskDefinitionArn": self.definition_arn(), "containerDefinitions": containers });
        json!({ "taskDefinition": definition, "tags": tags })
    }

    fn described(&self) -> Value {
        let mesh_init = json!({ "name": "consul-ecs-mesh-init", "lastStatus": "STOPPED", "exitCode": 0 });
        let container = |name: &str| {
            let status = if self.stopped.contains(name) { "STOPPED" } else { "RUNNING" };
            let health = match name {
                name if self.unhealthy.contains(name) => "UNHEALTHY",
                name if self.unknown.contains(name) => "UNKNOWN",
                _ => "HEALTHY",
            };
            json!({ "name": name, "lastStatus": status, "healthStatus": health })
        };
        let [app, worker, dataplane, health_sync] =
            ["app", "worker", "consul-dataplane", "consul-ecs-health-sync"].map(container);
        json!({
            "taskArn": self.arn, "clusterArn": CLUSTER, "taskDefinitionArn": self.definition_arn(),
            "lastStatus": "RUNNING", "desiredStatus": "RUNNING", "connectivity": "CONNECTED", "launchType": "EC2",
            "startedAt": 1_700_000_000.0, "createdAt": 1_699_999_900.0,
            "overrides": { "taskRoleArn": self.role },
            "group": "service:web",
            "attachments": [{
                "type": "ElasticNetworkInterface",
                "details": [{ "name": "privateIPv4Address", "value": "10.0.0.1" }],
            }],
            "containers": [mesh_init, app, worker, dataplane, health_sync],
        })
    }
}

/// The scripted ECS and Consul, and a controller between them.
pub(super) struct Mesh {
    pub(super) controller: Controller,
    pub(super) consul: Recorder,
    pub(super) aws: Recorder,
    world: Arc<Mutex<World>>,
}

/// What ECS, IAM and Consul hold.
#[derive(Default)]
pub(super) struct World {
    pub(super) tasks: Vec<FakeTask>,
    /// The service in the tag of each IAM role, by the ARN of the role.
    pub(super) roles: BTreeMap<String, &'static str>,
    /// The registered services, by ID.
    pub(super) services: BTreeMap<String, Value>,
    /// The checks, by ID.
    pub(super) checks: BTreeMap<String, Value>,
    /// The login tokens of the service `web`: the ID of the task of each.
    pub(super) logins: Vec<String>,
    /// The answers to reads of what decides about logins, by path.
    pub(super) admission: BTreeMap<&'static str, Value>,
    pub(super) has_no_acls: bool,
    /// The end of the IDs of the services that Consul refuses to register.
    pub(super) refused: Option<&'static str>,
    /// With Consul Enterprise: the partition of the login tokens, which link the role `web`. All else is in the partition `team`.
    pub(super) logins_in: Option<&'static str>,
    index: u64,
}

async fn controller(consul: &Recorder, aws: &Recorder, further: &[(&str, &str)]) -> Controller {
    let settings = Settings::read(|name| {
        if let Some((_, value)) = further.iter().find(|(key, _)| *key == name) {
            return Some((*value).to_owned());
        }
        Some(match name {
            "CONSUL_HTTP_ADDR" => consul.url.clone(),
            "CONSUL_HTTP_TOKEN" => "token".to_owned(),
            "ECS_CLUSTER_ARNS" => CLUSTER.to_owned(),
            "TOKEN_MODE" => "auth-method".to_owned(),
            "BOOTSTRAP" => "none".to_owned(),
            "TIME_BOUNDS" => "health-lag=0".to_owned(),
            "QUEUE_URL" => "http://127.0.0.1/queue".to_owned(),
            _ => return None,
        })
    });
    let settings = settings.expect("settings");
    let edges = edges_without_time_limits(&settings, "token", &sdk_at(&aws.url)).await;
    Controller::new(settings.scope, edges)
}

impl Mesh {
    /// Tasks that Consul knows nothing of.
    pub(super) async fn lost(tasks: Vec<FakeTask>) -> Self {
        Self::start(tasks, &[]).await
    }

    /// The same, with further settings.
    pub(super) async fn start(tasks: Vec<FakeTask>, further: &[(&str, &str)]) -> Self {
        // The dataplane and the health-sync of each have logged in.
        let logins = tasks.iter().flat_map(|task| [task.id().to_owned(), task.id().to_owned()]).collect();
        let admission = BTreeMap::from([("agent/self", json!({ "Config": { "Datacenter": "dc1" } }))]);
        let world = Arc::new(Mutex::new(World { tasks, logins, admission, ..World::default() }));
        let (in_consul, in_aws) = (Arc::clone(&world), Arc::clone(&world));
        let consul = Recorder::start(move |seen, _| in_consul.lock().unwrap().consul(seen)).await;
        let aws = Recorder::start(move |seen, _| in_aws.lock().unwrap().aws(seen)).await;
        let controller = controller(&consul, &aws, further).await;
        Self { controller, consul, aws, world }
    }

    /// The same, with other settings.
    pub(super) async fn with_settings(self, further: &[(&str, &str)]) -> Self {
        Self { controller: controller(&self.consul, &self.aws, further).await, ..self }
    }

    /// Changes what ECS, IAM or Consul hold.
    pub(super) fn with<T>(&self, change: impl FnOnce(&mut World) -> T) -> T {
        change(&mut self.world.lock().unwrap())
    }

    /// Changes a task, by its place.
    pub(super) fn change(&self, index: usize, change: impl FnOnce(&mut FakeTask)) -> FakeTask {
        self.with(|world| {
            change(&mut world.tasks[index]);
            world.tasks[index].clone()
        })
    }

    /// Whether ECS counts every task from now on, and neither lists nor describes any.
    pub(super) fn lose_tasks(&self, is_lost: bool) {
        self.with(|world| world.tasks.iter_mut().for_each(|task| task.is_lost = is_lost));
    }

    /// The login tokens of the service `web` that Consul has: the ID of the task of each.
    pub(super) fn set_logins(&self, logins: Vec<String>) {
        self.with(|world| world.logins = logins);
    }

    /// An IAM role with the tag of a service, created before all tasks.
    pub(super) fn create_role(&self, arn: &str, service: &'static str) {
        self.with(|world| world.roles.insert(arn.to_owned(), service));
    }

    /// The `detail-type`s of the published events.
    pub(super) fn published(&self) -> Vec<String> {
        let entries = self.asked("PutEvents").into_iter().flat_map(|put| put["Entries"].as_array().unwrap().clone());
        entries.map(|entry| entry["DetailType"].as_str().unwrap().to_owned()).collect()
    }

    /// Handles an event of `EventBridge`, or an own message.
    pub(super) async fn handle(&self, body: &Value) {
        let delivery = Delivery { id: "1".to_owned(), receipt: None, receives: 1, body: body.to_string() };
        let report = self.controller.handle(&[delivery], Deadline::after(LONG)).await;
        assert!(report.failures.is_empty(), "{:?}", report.failures);
    }

    /// The statuses of a task's checks, by ID without the task's.
    pub(super) fn statuses(&self, task: &FakeTask) -> BTreeMap<String, String> {
        let world = self.world.lock().unwrap();
        let own = world.checks.iter().filter(|(id, _)| id.contains(task.id()));
        own.map(|(id, check)| (id.replace(task.id(), "*"), check["Status"].as_str().unwrap().to_owned())).collect()
    }

    /// The requests to AWS with this operation.
    pub(super) fn asked(&self, operation: &str) -> Vec<Value> {
        let requests = self.aws.requests();
        let asked = requests.iter().filter(|seen| seen.operation().as_deref() == Some(operation));
        asked.map(RecordedRequest::json).collect()
    }

    pub(super) async fn sweep(&self) -> SweepReport {
        self.sweep_with(&SweepOrder::default()).await
    }

    pub(super) async fn sweep_with(&self, order: &SweepOrder) -> SweepReport {
        self.consul.forget();
        self.aws.forget();
        self.controller.sweep(order, Deadline::after(LONG)).await
    }

    /// The bodies of the registrations of services since the last sweep began.
    pub(super) fn registered(&self) -> Vec<Value> {
        let requests = self.consul.requests();
        let registrations = requests.iter().filter(|seen| seen.uri.starts_with("/v1/catalog/register"));
        registrations.map(RecordedRequest::json).filter(|body| body.get("Service").is_some()).collect()
    }

    /// Forgets a service, with its checks.
    pub(super) fn forget(&self, id: &str) {
        self.with(|world| {
            world.services.remove(id).expect("a registered service");
            world.checks.retain(|_, check| check["ServiceID"] != id);
        });
    }

    /// The requests to Consul, by method and kind, with their numbers.
    pub(super) fn consul_calls(&self) -> BTreeMap<String, usize> {
        let mut calls = BTreeMap::new();
        for seen in self.consul.requests() {
            let path: Vec<&str> = seen.uri.split(['/', '?']).skip(2).take(2).collect();
            *calls.entry(format!("{} {}", seen.method, path.join("/"))).or_default() += 1;
        }
        calls
    }
}

impl World {
    fn consul(&mut self, seen: &RecordedRequest) -> Answer {
        let path: Vec<&str> = seen.uri.split(['/', '?']).skip(2).take(2).collect();
        if self.has_no_acls && path.first() == Some(&"acl") {
            return Answer::status(401, "ACL support disabled");
        }
        let is_refused = |end: &str| seen.json()["Service"]["ID"].as_str().is_some_and(|id| id.ends_with(end));
        if path == ["catalog", "register"] && self.refused.is_some_and(is_refused) {
            return Answer::status(403, "Permission denied");
        }
        if let Some(logins_in) = self.logins_in {
            match (path.join("/").as_str(), seen.uri.split(['?', '&']).find_map(|it| it.strip_prefix("partition="))) {
                ("partitions", _) => {
                    let names = ["default", "team", "team-b"].map(|name| json!({ "Name": name }));
                    return Answer::ok(json!(names).to_string());
                }
                ("acl/tokens", Some(asked)) if asked == logins_in => {
                    let linked = json!([{ "ID": "r", "Name": "web" }]);
                    return Answer::ok(self.login_tokens("Roles", &linked).to_string());
                }
                ("acl/tokens", _) => return Answer::ok("[]"),
                ("catalog/node-services", Some("default" | "team-b")) => return Answer::ok("null"),
                ("acl/role", Some(asked)) if asked != logins_in => return Answer::status(404, ""),
                ("acl/auth-method" | "acl/binding-rules", Some("default" | "team-b")) => {
                    return Answer::status(404, "");
                }
                _ => {}
            }
        }
        Answer::ok(
            match path.join("/").as_str() {
                "catalog/node-services" => self.node(),
                "health/node" => self.checks.values().cloned().collect(),
                "acl/tokens" => self.login_tokens("ServiceIdentities", &json!([{ "ServiceName": "web" }])),
                "catalog/register" => self.register(&seen.json()),
                other => self.admission.get(other).cloned().unwrap_or_else(|| json!([])),
            }
            .to_string(),
        )
    }

    fn node(&self) -> Value {
        let node = json!({ "Node": CLUSTER, "Meta": { "synthetic-node": "true" } });
        json!({ "Node": node, "Services": self.services.values().collect::<Vec<_>>() })
    }

    fn register(&mut self, body: &Value) -> Value {
        self.index += 1;
        if let Some(service) = body.get("Service") {
            let mut service = service.clone();
            service["ModifyIndex"] = json!(self.index);
            self.services.insert(service["ID"].as_str().unwrap().to_owned(), service);
        }
        for check in body["Checks"].as_array().unwrap() {
            let mut check = check.clone();
            check["ModifyIndex"] = json!(self.index);
            self.checks.insert(check["CheckID"].as_str().unwrap().to_owned(), check);
        }
        json!(true)
    }

    /// The login tokens, each with its grants.
    fn login_tokens(&self, field: &str, grants: &Value) -> Value {
        let token = |(number, task): (usize, &String)| {
            let mark = json!({ "consul.hashicorp.com/task-id": task, "consul.hashicorp.com/cluster": CLUSTER });
            json!({
                "AccessorID": format!("00000000-0000-4000-8000-{number:012x}"),
                "Description": format!("token created via login: {mark}"),
                "CreateTime": "2026-01-01T00:00:00Z", "AuthMethod": "iam-ecs-service-token", "Local": true, field: grants,
            })
        };
        self.logins.iter().enumerate().map(token).collect()
    }

    fn aws(&self, seen: &RecordedRequest) -> Answer {
        let asked = seen.json();
        let known = || self.tasks.iter().filter(|task| !task.is_lost);
        let answer = match seen.operation().as_deref() {
            Some("GetRole") => return self.role(seen),
            Some("DescribeClusters") => {
                let counts =
                    json!({ "clusterArn": CLUSTER, "status": "ACTIVE", "runningTasksCount": self.tasks.len() });
                json!({ "clusters": [counts] })
            }
            Some("ListTasks") => {
                let listed = known().filter(|_| asked["desiredStatus"] == "RUNNING");
                json!({ "taskArns": listed.map(|task| &task.arn).collect::<Vec<_>>() })
            }
            Some("DescribeTasks") => {
                let wanted = asked["tasks"].as_array().unwrap();
                let described = known().filter(|task| wanted.contains(&json!(task.arn))).map(FakeTask::described);
                let missing = wanted.iter().filter(|arn| !known().any(|task| json!(task.arn) == **arn));
                let failures: Vec<Value> = missing.map(|arn| json!({ "arn": arn, "reason": "MISSING" })).collect();
                json!({ "tasks": described.collect::<Vec<_>>(), "failures": failures })
            }
            Some("DescribeTaskDefinition") => {
                let wanted = asked["taskDefinition"].as_str().unwrap();
                self.tasks.iter().find(|task| task.definition_arn() == wanted).expect("a known definition").defined()
            }
            Some("DescribeServices") => {
                let services = asked["services"].as_array().unwrap().iter().map(|name| json!({ "serviceName": name }));
                json!({ "services": services.collect::<Vec<_>>() })
            }
            // `EventBridge` takes every event, SQS every message
            Some("PutEvents") => json!({ "FailedEntryCount": 0, "Entries": [] }),
            Some("SendMessageBatch") => json!({ "Successful": [], "Failed": [] }),
            other => panic!("not scripted: {other:?}"),
        };
        Answer::ok(answer.to_string())
    }

    /// The answer of IAM, in its Query protocol; 403 for a role that does not exist, as without the permission.
    fn role(&self, seen: &RecordedRequest) -> Answer {
        let asked = seen.body.split('&').find_map(|field| field.strip_prefix("RoleName="));
        let Some((arn, service)) = self.roles.iter().find(|(arn, _)| arn.rsplit('/').next() == asked) else {
            return Answer::status(403, "<ErrorResponse><Error><Code>AccessDenied</Code></Error></ErrorResponse>");
        };
        let tag = format!("<Key>consul.hashicorp.com.service-name</Key><Value>{service}</Value>");
        Answer::ok(format!(
            "<GetRoleResponse><GetRoleResult><Role><Arn>{arn}</Arn><Path>/consul-ecs/</Path><RoleName>r</RoleName>\
             <RoleId>AROA</RoleId><CreateDate>2023-11-01T00:00:00Z</CreateDate><Tags><member>{tag}</member></Tags></Role>\
             </GetRoleResult></GetRoleResponse>"
        ))
    }
}

/// The reason with which a sweep's summary mentions a task.
pub(super) fn why_skipped(report: &SweepReport, task: &FakeTask) -> Option<String> {
    let mut skipped = report.clusters[0].skipped.iter();
    skipped.find(|entry| entry.what == format!("task {}", task.id())).map(|entry| entry.why.clone())
}
