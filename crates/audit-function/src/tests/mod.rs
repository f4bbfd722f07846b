//! Orders, reports and announcements.

pub(crate) mod fakes;

use std::sync::{Arc, atomic::Ordering};

use audit::{Deployment, ignore::Config};
use mesh::{cluster_selection::ClusterSelection, secret_name::SecretNames, settings::TokenMode, tenancy::Tenancy};
use report::Event;
use serde_json::{Value, json};

use self::fakes::{Account, Bucket, RecordingAnnouncer, arn, invocation};
use super::{AuditEdges, Auditor, Order, auditor::Incomplete};

const RECORD: &str = "announced/web/7.json";

#[derive(Default)]
struct World {
    account: Arc<Account>,
    bucket: Arc<Bucket>,
    announcer: Arc<RecordingAnnouncer>,
}

impl World {
    fn of(account: Account) -> Self {
        Self { account: Arc::new(account), ..Self::default() }
    }

    fn edges(&self) -> AuditEdges {
        let (topic, bus) = (self.announcer.clone(), self.announcer.clone());
        AuditEdges { inventory: self.account.clone(), store: self.bucket.clone(), topic, bus }
    }

    async fn run(&self, id: &str, payload: &Value) -> Result<Value, Incomplete> {
        self.order(id, &Order::read(payload).unwrap()).await
    }

    async fn order(&self, id: &str, order: &Order) -> Result<Value, Incomplete> {
        auditor("prod", self.edges()).run(order, &invocation(id)).await
    }
}

/// An auditor of a deployment that manages these clusters.
fn auditor(clusters: &str, edges: AuditEdges) -> Auditor {
    let clusters = ClusterSelection::parse(clusters, Some("arn:aws:ecs:us-east-1:123456789012:cluster/")).unwrap();
    let names = SecretNames::new("consul-ecs".parse().unwrap(), None, Tenancy::Community, &clusters);
    let deployment = Deployment { mode: TokenMode::Auto, names, default_tenancy: Some(Tenancy::Community) };
    Auditor::new(clusters, deployment, Config::default(), edges)
}

fn web(missing: &[&str]) -> World {
    World::of(Account::default().with_mistakes("web", missing))
}

#[tokio::test]
async fn the_answer_is_the_report() {
    let world = web(&["db"]);
    for payload in [
        json!({ "family": "web" }),
        json!({ "taskDefinition": "web:7" }),
        json!({ "taskDefinition": arn("web") }),
        json!({ "cluster": "prod" }),
        json!({ "all": true }),
        json!({ "scheduled": true }),
    ] {
        let report = world.run("one", &payload).await.unwrap();
        assert_eq!(report["findings"][0]["rule"], "ecs-dependency-unknown", "{payload}");
        assert_eq!(report["summary"]["definitions"], 1, "{payload}");
    }
    let answer = world.run("one", &json!({ "family": "web", "format": "markdown" })).await.unwrap();
    assert_eq!(answer["format"], "markdown");
    assert!(answer["report"].as_str().unwrap().contains("ecs-dependency-unknown"), "{answer}");
}

#[tokio::test]
async fn finding_is_announced_once_for_its_revision() {
    let world = web(&["db"]);
    for (id, payload) in [("one", json!({ "taskDefinition": "web:7" })), ("two", json!({ "cluster": "prod" }))] {
        world.run(id, &payload).await.unwrap();
    }
    assert_eq!(world.announcer.announced_messages().len(), 1);
    assert_eq!(world.announcer.messages.lock().unwrap().len(), 1);
    assert_eq!(world.bucket.keys(), [RECORD]);
}

#[tokio::test]
async fn only_new_findings_of_a_revision_are_announced() {
    let before = web(&["db"]);
    before.run("one", &json!({ "all": true })).await.unwrap();
    let after = World { bucket: before.bucket.clone(), ..web(&["db", "cache"]) };
    after.run("two", &json!({ "all": true })).await.unwrap();
    let announced = after.announcer.announced_messages();
    assert!(announced.len() == 1 && announced[0].contains("cache"), "{announced:?}");
}

#[tokio::test]
async fn nothing_is_announced_if_announce_is_false() {
    let world = web(&["db"]);
    world.run("one", &json!({ "all": true, "announce": false })).await.unwrap();
    assert_eq!((world.announcer.announced_messages().len(), world.bucket.keys().len()), (0, 0));
}

#[tokio::test]
async fn record_written_concurrently_is_read_again() {
    let world = web(&["db"]);
    let other = "00000000-0000-0000-0000-000000000001";
    let concurrent = json!({ "announced": { other: "2026-11-21T09:05:00Z" } }).to_string();
    *world.bucket.concurrent_write.lock().unwrap() = Some(concurrent);
    world.run("one", &json!({ "all": true })).await.unwrap();
    let record: Value = serde_json::from_str(&world.bucket.text(RECORD).unwrap()).unwrap();
    let announced = record["announced"].as_object().unwrap();
    assert!(announced.len() == 2 && announced.contains_key(other), "{record}");
}

#[tokio::test]
async fn one_channel_does_not_silence_the_other_and_both_are_tried_again() {
    for (is_bus_down, is_topic_down, reason) in [(true, false, "the bus is down"), (false, true, "the topic is down")] {
        let world = web(&["db"]);
        world.announcer.is_bus_down.store(is_bus_down, Ordering::SeqCst);
        world.announcer.is_topic_down.store(is_topic_down, Ordering::SeqCst);
        let error = world.run("one", &json!({ "all": true })).await.unwrap_err().to_string();
        assert!(error.contains(reason), "{error}");
        assert!(error.contains("1 error in 1 of 1"), "{error}");
        world.announcer.is_bus_down.store(false, Ordering::SeqCst);
        world.announcer.is_topic_down.store(false, Ordering::SeqCst);
        world.run("two", &json!({ "all": true })).await.unwrap();
        let counts = (world.announcer.events.lock().unwrap().len(), world.announcer.messages.lock().unwrap().len());
        assert_eq!(counts, if is_bus_down { (1, 2) } else { (2, 1) });
        let events = world.announcer.events.lock().unwrap().clone();
        let fingerprint = |event: &Event| match event {
            Event::AuditFinding(finding) => finding.fingerprint.clone(),
            other => panic!("{other:?}"),
        };
        assert!(events.iter().all(|event| fingerprint(event) == fingerprint(&events[0])), "a subscriber can tell");
    }
}

#[tokio::test]
async fn findings_without_a_record_are_reported_and_not_announced() {
    let world = web(&["db"]);
    world.bucket.is_down.store(true, Ordering::SeqCst);
    let error = world.run("one", &json!({ "all": true })).await.unwrap_err().to_string();
    assert!(error.contains(RECORD) && error.contains("the bucket is down"), "{error}");
    assert_eq!(world.announcer.announced_messages().len(), 0);
}

#[tokio::test]
async fn failed_read_fails_unattended_invocations_only() {
    let world = web(&["db"]);
    let report = world.run("one", &json!({ "taskDefinition": "api:1" })).await.unwrap();
    assert!(report["problems"][0]["reason"].as_str().unwrap().contains("does not know it"), "{report}");
    let registered = Order::registered(arn("api").parse().unwrap());
    let error = world.order("two", &registered).await.unwrap_err().to_string();
    assert!(error.contains("does not know it"), "{error}");
}

#[tokio::test]
async fn a_scheduled_audit_announces_before_it_fails() {
    let world = World::of(Account::default().with_mistakes("web", &["db"]));
    let auditor = auditor("prod,gone", world.edges());
    let order = Order::read(&json!({ "scheduled": true })).unwrap();
    let error = auditor.run(&order, &invocation("one")).await.unwrap_err().to_string();
    assert!(error.contains("no such cluster"), "{error}");
    assert_eq!(world.announcer.announced_messages().len(), 1);
}

#[tokio::test]
async fn a_scheduled_audit_reads_the_clusters_of_a_pattern() {
    // Given clusters `prod` and `test`, of which the services of `prod` alone can be read
    let world = World::of(Account::default().with_mistakes("web", &["db"]));
    let order = Order::read(&json!({ "scheduled": true })).unwrap();
    // When the pattern selects one of them
    let report = auditor("p*", world.edges()).run(&order, &invocation("one")).await.unwrap();
    assert_eq!(report["definitions"].as_array().unwrap().len(), 1, "{report}");
    // Then it alone is read; a pattern of none reads nothing
    let report = auditor("x*", world.edges()).run(&order, &invocation("two")).await.unwrap();
    assert_eq!(report["definitions"].as_array().unwrap().len(), 0, "{report}");
}

#[tokio::test]
async fn one_message_and_an_event_for_each_finding() {
    let account = Account::default().with_mistakes("web", &["db", "cache"]).with_mistakes("api", &["db"]);
    let world = World::of(account);
    world.run("one", &json!({ "all": true })).await.unwrap();
    let messages = world.announcer.messages.lock().unwrap();
    assert_eq!(messages.len(), 1);
    assert_eq!(messages[0].subject, "ecs-mesh: 3 errors in 2 task definitions");
    assert_eq!(messages[0].severity, "error");
    for part in ["web:7\n", "api:7\n", "error in container app: ", "[ecs-dependency-unknown]", "at run time: ", "fix: "]
    {
        assert!(messages[0].text.contains(part), "{part}: {}", messages[0].text);
    }
    let events = world.announcer.events.lock().unwrap();
    let resources: Vec<&str> = events.iter().filter_map(Event::resource).collect();
    assert_eq!(resources, [&arn("api"), &arn("web"), &arn("web")]);
    let Event::AuditFinding(finding) = &events[0] else { panic!("{:?}", events[0]) };
    assert_eq!(finding.task_definition_arn, arn("api"));
    assert_eq!((finding.family.as_str(), finding.revision.as_str()), ("api", "7"));
    assert_eq!((finding.severity.as_str(), finding.container.as_deref()), ("error", Some("app")));
}

#[tokio::test]
async fn many_findings_are_split_into_messages() {
    let names: Vec<String> = (0..2_000).map(|n| format!("missing-{n:04}")).collect();
    let world = web(&names.iter().map(String::as_str).collect::<Vec<_>>());
    world.run("one", &json!({ "all": true })).await.unwrap();
    let messages = world.announcer.messages.lock().unwrap();
    assert!(messages.len() > 1);
    for message in messages.iter() {
        assert!(message.text.len() < 250_000 && message.subject.len() <= 100, "{}", message.subject);
        assert!(message.text.contains(&arn("web")), "each message has the revision");
    }
    let all: String = messages.iter().map(|message| message.text.as_str()).collect();
    for name in &names {
        assert!(all.contains(name), "{name}");
    }
}

/// A revision of `checkout`, made of a correct definition of the mesh.
fn checkout(revision: u32, tags: &Value) -> Value {
    let mut definition: Value = serde_json::from_str(include_str!("../../../audit/src/bases/dataplane.json")).unwrap();
    let fields = definition.as_object_mut().unwrap();
    fields.remove("tags");
    let arn = format!("arn:aws:ecs:eu-central-1:111122223333:task-definition/checkout:{revision}");
    let by = "arn:aws:sts::111122223333:assumed-role/github-deploy/run-812";
    let further = json!({
        "family": "checkout", "taskDefinitionArn": arn, "revision": revision, "registeredBy": by,
        "registeredAt": "2026-11-18T08:12:44Z",
    });
    fields.extend(further.as_object().unwrap().clone());
    json!({ "taskDefinition": definition, "tags": tags })
}

/// The messages about the mesh tag that the audit of a new revision announces, and the revisions that it described.
async fn announced_of(account: Account, revision: u32) -> (Vec<String>, Vec<String>) {
    let world = World::of(account);
    let arn = format!("arn:aws:ecs:eu-central-1:111122223333:task-definition/checkout:{revision}");
    world.order("one", &Order::registered(arn.parse().unwrap())).await.unwrap();
    let messages = world.announcer.announced_messages().into_iter().filter(|text| text.contains("mesh is missing"));
    let described = world.account.described.lock().unwrap().clone();
    let short = described.iter().map(|arn| arn.rsplit('/').next().unwrap().to_owned()).collect();
    (messages.collect(), short)
}

#[tokio::test]
async fn lost_mesh_tag_is_said_with_the_revision_that_had_it_and_who_registered_the_other() {
    let tag = json!([{ "key": "consul.hashicorp.com/mesh", "value": "true" }]);
    let lost = || Account::default().with(checkout(41, &tag)).with(checkout(42, &json!([])));
    let (messages, described) = announced_of(lost(), 42).await;
    let expected = "the tag consul.hashicorp.com/mesh is missing: checkout:41 had it, and assumed-role/github-deploy/run-812 \
                    registered checkout:42 without it at 2026-11-18T08:12:44Z";
    assert_eq!(
        (messages, described),
        (vec![expected.to_owned()], vec!["checkout:42".to_owned(), "checkout:41".to_owned()])
    );
    // The pipeline has run twice
    let (messages, described) = announced_of(lost().with(checkout(43, &json!([]))), 43).await;
    assert!(messages[0].contains("checkout:41 had it, and assumed-role/github-deploy/run-812 registered checkout:43"));
    assert_eq!(described, ["checkout:43", "checkout:42", "checkout:41"]);
    // A revision with the tag, or before which nothing is, costs no further call
    let (messages, described) = announced_of(lost(), 41).await;
    assert_eq!((messages, described), (Vec::new(), vec!["checkout:41".to_owned()]));
    let (messages, described) = announced_of(Account::default().with(checkout(1, &json!([]))), 1).await;
    assert_eq!(messages, ["the tag consul.hashicorp.com/mesh is missing"]);
    assert_eq!(described, ["checkout:1"]);
}

#[tokio::test]
async fn tag_that_no_earlier_revision_had_is_missing_and_what_could_not_be_read_is_unknown() {
    let none = json!([]);
    let never = (1..=9).fold(Account::default(), |account, revision| account.with(checkout(revision, &none)));
    let (messages, described) = announced_of(never, 9).await;
    assert_eq!(messages, ["the tag consul.hashicorp.com/mesh is missing"]);
    assert_eq!(described.len(), 6, "five revisions back: {described:?}");
    let (messages, _) = announced_of(Account::default().with(checkout(42, &none)), 42).await;
    let unknown = "the tag consul.hashicorp.com/mesh is missing (whether checkout:41 had it is unknown: ";
    assert!(messages[0].starts_with(unknown) && messages[0].contains("ECS does not know it"), "{messages:?}");
}

/// An answer without a definition that can be read does not mean that no earlier revision had the tag.
#[tokio::test]
async fn earlier_revision_whose_answer_has_no_definition_is_unknown() {
    let earlier = "arn:aws:ecs:eu-central-1:111122223333:task-definition/checkout:41".to_owned();
    for answer in [json!({ "taskDefinition": null }), json!({ "taskDefinition": [] }), json!({})] {
        let account = Account::default().with(checkout(42, &json!([]))).answering(earlier.clone(), answer.clone());
        let (messages, described) = announced_of(account, 42).await;
        let unknown = "the tag consul.hashicorp.com/mesh is missing (whether checkout:41 had it is unknown: ";
        assert!(messages.len() == 1 && messages[0].starts_with(unknown), "{answer}: {messages:?}");
        assert_eq!(described, ["checkout:42", "checkout:41"]);
    }
}
