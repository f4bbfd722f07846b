//! What ECS says of each kind of task, in answers made after AWS's documentation, and what the controller, `status`, `why` and `check`
//! say of them. Each recording names its source.

mod controller;
mod stages;

use std::collections::BTreeMap;

use audit::severity::Severity;
use audit_live::{LiveScope, gather_live};
use aws::ecs::AwsEcs;
use diagnosis::{Background, ServiceStatus, State, WhyCause, WhyReport, status, why_task};
use jiff::Timestamp;
use mesh::{
    arn::{ClusterArn, TaskArn},
    catalog::CheckStatus,
    repair::NodeReading,
    task::TaskPhase,
    tenancy::Tenancy,
};
use mesh_examples::{registered, registrations};
use observe::{CatalogReading, Deadline, History, Inspection, Inspector};
use serde_json::{Map, Value, json};
use test_harness::recorder::{Answer, RecordedRequest, Recorder};

use self::controller::controls;
use crate::{
    environment::{client, refusal, sdk_at},
    time::LONG,
};

const RECORDINGS: &str = include_str!("../recordings/ecs-tasks.json");
const CLUSTER: &str = "arn:aws:ecs:us-east-1:123456789012:cluster/prod";

fn now() -> Timestamp {
    "2026-11-20T11:00:00Z".parse().unwrap()
}

fn recordings() -> Value {
    serde_json::from_str(RECORDINGS).unwrap()
}

/// A JSON Merge Patch: <https://www.rfc-editor.org/rfc/rfc7396>
fn merged(base: &Value, patch: &Value) -> Value {
    let (Some(base), Some(patch)) = (base.as_object(), patch.as_object()) else { return patch.clone() };
    let mut all = base.clone();
    for (key, change) in patch {
        match change {
            Value::Null => drop(all.remove(key)),
            change => drop(all.insert(key.clone(), merged(base.get(key).unwrap_or(&Value::Null), change))),
        }
    }
    Value::Object(all)
}

/// The times as ECS's protocol has them, in seconds: the AWS CLI prints texts.
fn in_seconds(value: &Value) -> Value {
    let seconds = |(key, value): (&String, &Value)| {
        let at = value.as_str().filter(|_| key.ends_with("At")).and_then(|text| text.parse::<Timestamp>().ok());
        (key.clone(), at.map_or_else(|| in_seconds(value), |at| json!(at.as_second())))
    };
    match value {
        Value::Object(fields) => Value::Object(fields.iter().map(seconds).collect::<Map<_, _>>()),
        Value::Array(items) => items.iter().map(in_seconds).collect(),
        other => other.clone(),
    }
}

/// A task definition with its ARN.
fn by_arn(definition: Value) -> (String, Value) {
    (definition["taskDefinition"]["taskDefinitionArn"].as_str().unwrap().to_owned(), definition)
}

/// A cluster in ECS: its tasks, its service, and its task definitions by ARN.
#[derive(Clone)]
struct Recorded {
    tasks: Vec<Value>,
    service: Option<Value>,
    definitions: BTreeMap<String, Value>,
    /// The address that its instances have in Consul, and the status of their checks.
    registered_at: [u8; 4],
    checks: CheckStatus,
    /// The revision that ECS denies to read.
    denies_revision: Option<usize>,
}

impl Recorded {
    fn of_kind(kind: &str) -> Self {
        let all = recordings();
        let recording = &all["kinds"][kind];
        assert!(recording["source"].as_str().unwrap().starts_with("https://"), "{kind} names its source");
        let changed = |what: &str| merged(&all[what], recording.get(what).unwrap_or(&json!({})));
        let definitions = [all["definition"].clone(), changed("definition")];
        let replacement = recording.get("replacement").map(|patch| merged(&all["task"], patch));
        Self {
            tasks: [changed("task")].into_iter().chain(replacement).collect(),
            service: recording.get("service").is_none_or(|service| !service.is_null()).then(|| changed("service")),
            definitions: definitions.into_iter().map(by_arn).collect(),
            registered_at: if recording.get("registeredAt").is_some() { [127, 0, 0, 1] } else { [10, 0, 3, 17] },
            checks: if recording.get("checks").is_some() { CheckStatus::Critical } else { CheckStatus::Passing },
            denies_revision: None,
        }
    }

    fn denies(&self, asked: &Value) -> bool {
        let is_denied = |number: usize| asked["taskDefinition"].as_str().unwrap().ends_with(&format!(":{number}"));
        self.denies_revision.is_some_and(is_denied)
    }

    /// ECS's answer.
    fn answer(&self, request: &RecordedRequest) -> Answer {
        let asked = request.json();
        let has_arn = |task: &&Value, arns: &Value| arns.as_array().is_some_and(|all| all.contains(&task["taskArn"]));
        let answer = match request.operation().as_deref() {
            Some("ListTasks") => {
                // Without a status, ECS lists tasks that are meant to run.
                let status = asked["desiredStatus"].as_str().unwrap_or("RUNNING");
                let listed = self.tasks.iter().filter(|task| task["desiredStatus"] == status);
                json!({ "taskArns": listed.map(|task| &task["taskArn"]).collect::<Vec<_>>() })
            }
            Some("DescribeTasks") => {
                let tasks = self.tasks.iter().filter(|task| has_arn(task, &asked["tasks"]));
                json!({ "tasks": tasks.collect::<Vec<_>>(), "failures": [] })
            }
            Some("ListServices") => {
                json!({ "serviceArns": self.service.iter().map(|it| &it["serviceArn"]).collect::<Vec<_>>() })
            }
            Some("DescribeServices") => json!({ "services": self.service, "failures": [] }),
            Some("DescribeTaskDefinition") if self.denies(&asked) => return refusal("AccessDeniedException"),
            Some("DescribeTaskDefinition") => match self.definitions.get(asked["taskDefinition"].as_str().unwrap()) {
                Some(definition) => definition.clone(),
                None => return refusal("ClientException"),
            },
            operation => panic!("{operation:?} is not expected"),
        };
        let answer = if answer["services"].is_object() { json!({ "services": [answer["services"]] }) } else { answer };
        Answer::ok(in_seconds(&answer).to_string())
    }

    /// What is read of it, with what its tasks have registered in Consul.
    async fn inspected(&self) -> Inspection {
        let ecs = self.ecs().await;
        let inspector = Inspector {
            ecs: &ecs.1,
            consul: &client("http://127.0.0.1:1", ""),
            secret_prefix: "consul-ecs".parse().unwrap(),
            default_tenancy: Tenancy::Community,
            deadline: Deadline::after(LONG),
        };
        let cluster: ClusterArn = CLUSTER.parse().unwrap();
        let mut inspection = inspector.inspect_ecs(std::slice::from_ref(&cluster), &|_| {}).await;
        let read = &mut inspection.clusters[0];
        let node = NodeReading { exists: true, ..NodeReading::missing(cluster, Tenancy::Community) };
        let mut catalog = CatalogReading { nodes: vec![node], ..CatalogReading::default() };
        let members = read.tasks.iter().chain(read.untagged.iter().map(|it| &it.member));
        for member in members.filter(|member| member.task.phase == TaskPhase::Active) {
            let arn = &member.task.arn;
            let (mut instances, checks) = registered(&registrations("orders", arn), arn, self.checks);
            for instance in &mut instances {
                instance.address = Some(self.registered_at.into());
            }
            catalog.instances.extend(instances);
            catalog.checks.extend(checks);
        }
        read.catalog = Some(catalog);
        inspection
    }

    /// The rules that `check --cluster` finds broken, and the revisions that it leaves out.
    async fn checked(&self) -> (Vec<String>, Vec<String>) {
        let ecs = self.ecs().await;
        let scope = LiveScope { clusters: vec![CLUSTER.to_owned()], ..LiveScope::default() };
        let gathered = gather_live(&ecs.1, &scope, &|_, _| {}).await;
        assert_eq!(gathered.problems, []);
        let findings = audit::audit(&gathered.material);
        let found = findings.iter().filter(|finding| finding.severity >= Severity::Warning);
        let found = found.map(|finding| finding.rule.id.to_owned()).collect();
        (found, gathered.generated.into_iter().collect())
    }

    /// A client of ECS, and the server that answers it.
    async fn ecs(&self) -> (Recorder, AwsEcs) {
        let recorded = self.clone();
        let server = Recorder::start(move |request, _| recorded.answer(request)).await;
        let ecs = AwsEcs::new(&sdk_at(&server.url));
        (server, ecs)
    }
}

/// The only service; `None` if there is none.
fn row(inspection: &Inspection) -> Option<ServiceStatus> {
    let mut report = status(inspection, None, now());
    assert!(report.services.len() < 2, "{report:?}");
    report.services.pop()
}

fn why(inspection: &Inspection, task: &TaskArn) -> WhyReport {
    let history = History { is_complete: true, ..History::default() };
    let background = Background { history, searched: vec!["prod".to_owned()], ..Background::default() };
    why_task(task.id(), inspection, &background, now())
}

/// Of a kind of task: what the controller does at its event and says in a sweep, the verdict of `status`, the cause of `why` with a part of
/// its sentence, and what `check` finds.
type Row =
    (&'static str, &'static str, Option<(State, &'static str)>, (WhyCause, &'static str), &'static [&'static str]);

const HEALTHY: Option<(State, &str)> = Some((State::Healthy, "healthy"));
const ENDED: Option<(State, &str)> = Some((State::ScaledToZero, "scaled to zero"));
const LOST: &str =
    "the task is not in the mesh: revision 13 lost the tag consul.hashicorp.com/mesh that revision 12 had";
const HELD_UP: &str = "the task is not passing: its container app waits for consul-dataplane, which is UNHEALTHY; ECS gives up \
                       about 2026-11-20 13:56 UTC";

const LOST_CONTACT: &str = "keeps it; ECS has lost contact with its agent";
const UNKNOWN_HEALTH: &str = "keeps it; ECS health status of container app: UNKNOWN; its check \
                              orders-a1b2c3d4e5f60718293a4b5c6d7e8f90-app passes in Consul and stays unchanged";

const KINDS: [Row; 18] = [
    ("managed-instances", "keeps it", HEALTHY, (WhyCause::Healthy, ""), &[]),
    ("replaced-managed-instance", "deregisters it", HEALTHY, (WhyCause::InstanceTerminated, "was drained"), &[]),
    ("daemon", "ignores it", None, (WhyCause::NotInTheMesh, "No action needed"), &[]),
    ("express-mode", "outside of the mesh", None, (WhyCause::NotInTheMesh, ""), &[]),
    (
        "fault-injection",
        "keeps it; ECS contradicts its passing check, which stays because no other instance of orders passes",
        Some((State::Faulty, "the task is not passing: its container app is UNHEALTHY")),
        (WhyCause::NeverHealthy, "container app as UNHEALTHY"),
        &[],
    ),
    ("stopped-by-fault-injection", "deregisters it", ENDED, (WhyCause::StoppedByHand, "StopTask"), &[]),
    (
        "availability-zone-rebalancing",
        "deregisters it",
        HEALTHY,
        (WhyCause::StoppedByItsService, "balanced its tasks over the Availability Zones"),
        &[],
    ),
    ("guardduty", "keeps it", HEALTHY, (WhyCause::Healthy, ""), &[]),
    (
        "ended-beside-guardduty",
        "deregisters it",
        ENDED,
        (WhyCause::EssentialContainerExited, "container app exited with 1"),
        &[],
    ),
    ("service-connect", "keeps it", HEALTHY, (WhyCause::Healthy, ""), &[]),
    (
        "ipv6-only",
        "keeps it",
        Some((State::Faulty, "the task is unreachable: it is registered at 127.0.0.1, where no other task finds it")),
        (WhyCause::RegisteredAtLoopback, "consul-ecs reads only an IPv4 address"),
        &[],
    ),
    ("restart-policy", UNKNOWN_HEALTH, HEALTHY, (WhyCause::Healthy, ""), &["consul-restart-policy"]),
    (
        "disconnected-external-instance",
        LOST_CONTACT,
        Some((State::Faulty, "the task is disconnected from ECS")),
        (WhyCause::Disconnected, "so the controller drains none of their tasks"),
        &["consul-network-mode", "consul-task-platform"],
    ),
    (
        "disconnected-host",
        LOST_CONTACT,
        Some((State::Faulty, "the task is disconnected from ECS")),
        (WhyCause::Disconnected, "Consul still sends requests to it"),
        &[],
    ),
    (
        "new-task-without-health",
        UNKNOWN_HEALTH,
        Some((State::Starting, "starting: 0 of 1 tasks are ready")),
        (WhyCause::Starting, "its container app has not been healthy yet"),
        &[],
    ),
    (
        "never-healthy",
        "keeps it",
        Some((State::Faulty, HELD_UP)),
        (WhyCause::NeverHealthy, "ECS gives up about 2026-11-20 13:56 UTC"),
        &[],
    ),
    (
        "revision-without-tags",
        "outside of the mesh",
        Some((State::Faulty, LOST)),
        (WhyCause::NotInTheMesh, "with the tags of orders:12"),
        &["consul-mesh-tag-missing"],
    ),
    ("blue-green", "keeps it", HEALTHY, (WhyCause::Healthy, ""), &["consul-deployment-strategy"]),
];

#[tokio::test]
async fn each_kind_of_task_is_told_apart() {
    let mut kinds: Vec<String> = recordings()["kinds"].as_object().unwrap().keys().cloned().collect();
    let (mut handled, mut expected) = (Vec::new(), Vec::new());
    for (kind, controller, service, (cause, part), found) in KINDS {
        kinds.retain(|recorded| recorded != kind);
        let recorded = Recorded::of_kind(kind);
        let (inspection, (findings, left_out)) = (recorded.inspected().await, recorded.checked().await);
        assert_eq!(left_out.len(), usize::from(kind == "express-mode"), "{kind}: {left_out:?}");
        let problems: Vec<String> = inspection.problems.iter().map(ToString::to_string).collect();
        assert_eq!(problems, [""; 0], "{kind}");
        let row = row(&inspection);
        let verdict = row.as_ref().map(|row| (row.state, row.verdict.as_str()));
        match (verdict, service) {
            // The verdict goes on with which agent it is.
            (Some((state, verdict)), Some((expected, start))) if start.ends_with("from ECS") => {
                assert!(state == expected && verdict.starts_with(start), "{kind}: {verdict}");
            }
            (verdict, expected) => assert_eq!(verdict, expected, "{kind}"),
        }
        let report = why(&inspection, &recorded.tasks[0]["taskArn"].as_str().unwrap().parse().unwrap());
        assert!(report.cause == cause && report.conclusion.contains(part), "{kind}: {report:?}");
        handled.push((kind, controls(kind.to_owned(), &recorded, 0).await));
        expected.push((kind, controller.to_owned()));
        assert_eq!(findings, found, "{kind}");
    }
    assert_eq!(handled, expected);
    assert_eq!(kinds, [""; 0], "each recording has its row");
}

/// A revision without the mesh tag follows others without it, as often as a pipeline has dropped it.
#[tokio::test]
async fn a_tag_that_was_lost_some_revisions_ago_is_found() {
    let mut recorded = Recorded::of_kind("revision-without-tags");
    let arn = |number: usize| format!("arn:aws:ecs:us-east-1:123456789012:task-definition/orders:{number}");
    for number in [14, 15] {
        let mut definition = recorded.definitions[&arn(13)].clone();
        definition["taskDefinition"]["taskDefinitionArn"] = json!(arn(number));
        recorded.definitions.insert(arn(number), definition);
    }
    for (last, is_found) in [(15, true), (20, false)] {
        let mut recorded = recorded.clone();
        let definition = recorded.definitions[&arn(15)].clone();
        for number in 15..=last {
            let mut definition = definition.clone();
            definition["taskDefinition"]["taskDefinitionArn"] = json!(arn(number));
            recorded.definitions.insert(arn(number), definition);
        }
        recorded.tasks[0]["taskDefinitionArn"] = json!(arn(last));
        recorded.service = None;
        let inspection = recorded.inspected().await;
        let untagged: Vec<&str> = inspection.clusters[0].untagged.iter().map(|it| it.tagged.as_str()).collect();
        assert_eq!((untagged == [arn(12)], inspection.problems.len()), (is_found, 0), "{last}: {untagged:?}");
    }
}

/// A task runs without `GuardDuty`'s agent. That is no fault of it.
#[tokio::test]
async fn a_container_that_aws_adds_and_cannot_start_is_a_note() {
    let of_kind = async |kind: &str| row(&Recorded::of_kind(kind).inspected().await).unwrap();
    let row = of_kind("guardduty").await;
    let notes = row.notes.join("; ");
    let start =
        "runs without a container that AWS has added: aws-guardduty-agent-Xy12Zq did not run (CannotPullContainerError";
    assert!(row.state == State::Healthy && row.notes.len() == 1 && notes.contains(start), "{row:?}");
    for kind in ["service-connect", "managed-instances"] {
        assert_eq!(of_kind(kind).await.notes, [""; 0], "{kind}");
    }
}

/// `check --cluster` names the revision that had the tag.
#[tokio::test]
async fn a_lost_tag_is_found_by_check_with_the_revision_that_had_it() {
    // Without a service, which wants the revision with the tag
    let recorded = Recorded { service: None, ..Recorded::of_kind("revision-without-tags") };
    let (server, ecs) = recorded.ecs().await;
    let scope = LiveScope { clusters: vec![CLUSTER.to_owned()], ..LiveScope::default() };
    let gathered = gather_live(&ecs, &scope, &|_, _| {}).await;
    let findings = audit::audit(&gathered.material);
    let lost = findings.iter().find(|finding| finding.rule.id == "consul-mesh-tag-missing").unwrap();
    assert!(lost.message.contains(": orders:12 had it, and "), "{}", lost.message);
    let described = server.operations().into_iter().filter(|operation| operation == "DescribeTaskDefinition").count();
    assert_eq!(described, 2, "the revision in use, and the one before it");
}

/// What keeps an earlier revision from being read is said, and no tag is thought of.
#[tokio::test]
async fn an_earlier_revision_that_cannot_be_read_is_a_problem() {
    let recorded = Recorded { denies_revision: Some(12), ..Recorded::of_kind("revision-without-tags") };
    let inspection = recorded.inspected().await;
    let problems: Vec<String> = inspection.problems.iter().map(ToString::to_string).collect();
    assert!(problems.len() == 1 && problems[0].contains("orders:12"), "{problems:?}");
    assert_eq!(inspection.clusters[0].untagged.len(), 0);
}
