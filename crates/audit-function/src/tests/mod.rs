//! Orders, reports and announcements.

pub(crate) mod fakes;

use std::sync::{Arc, atomic::Ordering};

use audit::{Deployment, ignore::Config};
use mesh::{cluster_selection::ClusterSelection, secret_name::SecretNames, settings::TokenMode, tenancy::Tenancy};
use report::Event;
use serde_json::{Value, json};
use tokio::sync::Semaphore;

use self::fakes::{Account, Bucket, RecordingAnnouncer, arn, invocation};
use super::{Auditor, Edges, Order, auditor::Incomplete, report_store::ReportStore};

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

    /// The same account and bucket with another announcer, as in another invocation.
    fn with_announcer(&self, announcer: RecordingAnnouncer) -> Self {
        let Self { account, bucket, .. } = self;
        Self { account: account.clone(), bucket: bucket.clone(), announcer: Arc::new(announcer) }
    }

    fn edges(&self) -> Edges {
        let (topic, bus) = (self.announcer.clone(), self.announcer.clone());
        Edges { inventory: self.account.clone(), store: self.bucket.clone(), topic, bus }
    }

    async fn run(&self, id: &str, payload: &Value) -> Result<Value, Incomplete> {
        self.order(id, &Order::read(payload).unwrap()).await
    }

    async fn order(&self, id: &str, order: &Order) -> Result<Value, Incomplete> {
        auditor("prod", self.edges()).run(order, &invocation(id)).await
    }
}

/// An auditor of a deployment that manages these clusters.
fn auditor(clusters: &str, edges: Edges) -> Auditor {
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
async fn an_update_announces_nothing_again() {
    // Given the record that an earlier version wrote, whose IDs are derived from messages
    let world = web(&["db"]);
    let written = include_str!("record_by_messages.json");
    ReportStore::create(world.bucket.as_ref(), RECORD, written.to_owned()).await.unwrap();
    // When the revision is audited, then its finding is not announced again
    world.run("one", &json!({ "all": true })).await.unwrap();
    assert_eq!(world.announcer.announced_messages().len(), 0);
    // And afterwards a new finding of the revision is announced
    let after = World { bucket: world.bucket.clone(), ..web(&["db", "cache"]) };
    after.run("two", &json!({ "all": true })).await.unwrap();
    let announced = after.announcer.announced_messages();
    assert!(announced.len() == 1 && announced[0].contains("cache"), "{announced:?}");
}

#[tokio::test]
async fn what_failed_before_an_update_is_announced_after_it() {
    // Given the record of an earlier version that claimed a finding, and ended before it announced it
    let world = web(&["db"]);
    let written = json!({
        "announced": {},
        "claimed": { "d485433f-6823-5933-af9a-2fada758715f": { "by": "zero", "until": "2026-11-21T09:05:00Z" } },
    });
    ReportStore::create(world.bucket.as_ref(), RECORD, written.to_string()).await.unwrap();
    // When the revision is audited, then the finding is announced
    world.run("one", &json!({ "all": true })).await.unwrap();
    assert_eq!(world.announcer.announced_messages().len(), 1);
}

#[tokio::test]
async fn nothing_is_announced_if_announce_is_false() {
    let world = web(&["db"]);
    world.run("one", &json!({ "all": true, "announce": false })).await.unwrap();
    assert_eq!((world.announcer.announced_messages().len(), world.bucket.keys().len()), (0, 0));
}

#[tokio::test]
async fn one_of_two_concurrent_invocations_announces() {
    let first = web(&["db"]);
    let slow = first.with_announcer(RecordingAnnouncer { gate: Semaphore::new(0), ..RecordingAnnouncer::default() });
    let order = json!({ "all": true });
    let second = async {
        // While the slow one is about to announce
        first.run("second", &order).await.unwrap();
        slow.announcer.gate.add_permits(1);
    };
    let (slow_answer, ()) = tokio::join!(slow.run("slow", &order), second);
    slow_answer.unwrap();
    assert_eq!((slow.announcer.announced_messages().len(), first.announcer.announced_messages().len()), (1, 0));
}

#[tokio::test]
async fn record_written_concurrently_is_read_again() {
    let world = web(&["db"]);
    world.run("one", &json!({ "all": true })).await.unwrap();
    let announced = world.bucket.text(RECORD).unwrap();
    // The next one reads an empty record, and before it can claim, another invocation announces everything
    let late = World { bucket: Arc::default(), ..world.with_announcer(RecordingAnnouncer::default()) };
    let empty = RecordingAnnouncer { is_failing: true.into(), ..RecordingAnnouncer::default() };
    let failed = World { bucket: late.bucket.clone(), ..late.with_announcer(empty) };
    failed.run("two", &json!({ "all": true })).await.unwrap_err();
    *late.bucket.concurrent_write.lock().unwrap() = Some(announced);
    late.run("three", &json!({ "all": true })).await.unwrap();
    assert_eq!(late.announcer.announced_messages().len(), 0);
}

#[tokio::test]
async fn what_could_not_be_announced_is_announced_the_next_time() {
    let world = web(&["db"]);
    world.announcer.is_failing.store(true, Ordering::SeqCst);
    let error = world.run("one", &json!({ "all": true })).await.unwrap_err().to_string();
    assert!(error.starts_with("announcing: Publish failed: the topic is down\n1 error in 1 of 1"), "{error}");
    world.announcer.is_failing.store(false, Ordering::SeqCst);
    world.run("two", &json!({ "all": true })).await.unwrap();
    assert_eq!(world.announcer.messages.lock().unwrap().len(), 1);
}

#[tokio::test]
async fn claim_expires_with_its_invocation() {
    // A record of an invocation that ended at 09:05, and of one that runs until 10:05
    let world = web(&["db"]);
    for (until, announced) in [("2026-11-21T10:05:00Z", 0), ("2026-11-21T09:05:00Z", 1)] {
        let mut record: Value = json!({ "ids": "places", "claimed": {} });
        let reported = web(&["db"]);
        reported.run("one", &json!({ "all": true })).await.unwrap();
        let known: Value = serde_json::from_str(&reported.bucket.text(RECORD).unwrap()).unwrap();
        for fingerprint in known["announced"].as_object().unwrap().keys() {
            record["claimed"][fingerprint] = json!({ "by": "another invocation", "until": until });
        }
        let late = World { bucket: Arc::default(), ..world.with_announcer(RecordingAnnouncer::default()) };
        ReportStore::create(late.bucket.as_ref(), RECORD, record.to_string()).await.unwrap();
        late.run("two", &json!({ "all": true })).await.unwrap();
        assert_eq!(late.announcer.announced_messages().len(), announced, "{until}");
    }
}

#[tokio::test]
async fn failed_claim_is_reported_and_not_announced() {
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
