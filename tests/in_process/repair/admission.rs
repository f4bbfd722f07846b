//! Only tasks are registered that this Consul has admitted, or would admit.

use controller::SweepOrder;
use report::{ErrorLabel, PlannedAction, SweepOutcome};
use serde_json::{Value, json};

use super::mesh_of_tasks::{FakeTask, Mesh, why_skipped};

/// The start of the ARNs of the tasks' roles.
pub(super) const ROLES: &str = "arn:aws:iam::123456789012:role/consul-ecs";

/// A task that logs in at the Consul of these hosts, with this role.
fn logging_in(number: usize, hosts: &str, role: &str) -> FakeTask {
    let login = json!({ "consulLogin": { "enabled": true }, "consulServers": { "hosts": hosts } });
    FakeTask { role: Some(format!("{ROLES}/{role}")), ..FakeTask::configured(number, &login) }
}

/// Tasks that Consul has lost together with their login tokens; it has what consul-ecs 0.10 has set up.
async fn without_tokens(tasks: Vec<FakeTask>) -> Mesh {
    let mesh = Mesh::lost(tasks).await;
    mesh.set_logins(Vec::new());
    answer_as_recorded(&mesh);
    mesh
}

/// Consul has the auth method and the binding rules that consul-ecs 0.10 has set up.
pub(super) fn answer_as_recorded(mesh: &Mesh) {
    let recorded: Value = serde_json::from_str(include_str!("../../recordings/login-tokens.json")).unwrap();
    let account = |value: &Value| -> Value {
        serde_json::from_str(&value.to_string().replace("000000000000", "123456789012")).unwrap()
    };
    let method = account(&recorded["setup"]["auth-method"]["iam-ecs-service-token"]);
    let rules = account(&recorded["setup"]["binding-rules"]);
    mesh.with(|world| world.admission.extend([("acl/auth-method", method), ("acl/binding-rules", rules)]));
}

#[tokio::test]
async fn a_task_that_only_claims_a_service_is_not_registered() {
    // Given a task whose container `mesh-init` exits with 0, and a configuration that names the service web
    let task = FakeTask::new(1);
    let mesh = without_tokens(vec![task.clone()]).await;
    // When a sweep finds it unregistered
    let report = mesh.sweep().await;
    // Then nothing is written, and the summary says what is missing
    assert_eq!(mesh.registered(), Vec::<Value>::new());
    let why = why_skipped(&report, &task).unwrap();
    assert!(why.contains("not proven to be web") && why.contains("no login token"), "{why}");
    assert_eq!((report.outcome, report.clusters[0].repaired), (SweepOutcome::Done, 0));
    // And a plan has it among what is blocked, with the reason
    let plan = mesh.sweep_with(&SweepOrder { dry_run: true, ..SweepOrder::default() }).await;
    let [blocked] = plan.clusters[0].blocked.as_slice() else { panic!("{plan:?}") };
    let PlannedAction::Repair { task_id, .. } = &blocked.action else { panic!("{blocked:?}") };
    assert!(task_id == task.id() && blocked.reason.contains("no login token"), "{blocked:?}");
    assert_eq!((plan.clusters[0].planned.len(), plan.clusters[0].waiting.len()), (0, 0), "{plan:?}");
}

#[tokio::test]
async fn a_task_without_a_proof_is_not_registered() {
    // Given tasks that claim to be what neither a login token nor their IAM role says, and one that Consul could not read
    let payments = FakeTask::configured(4, &json!({ "service": { "name": "payments", "port": 9090 } }));
    let listener = json!({ "config": { "envoy_listener": [{ "filters": [null] }] } });
    let unreadable = FakeTask::configured(5, &json!({ "proxy": listener }));
    let rows = [
        (logging_in(1, "127.0.0.1", "team-a"), "is \"team-a\", not \"web\""),
        (logging_in(2, "consul.other.internal", "web"), "hosts"),
        (logging_in(3, "exec=find-consul", "web"), "hosts"),
        (payments.clone(), "not proven to be payments: its login token is that of web"),
        (unreadable.clone(), "null inside a list"),
    ];
    let mesh = without_tokens(rows.iter().map(|(task, _)| task.clone()).collect()).await;
    mesh.set_logins([payments, unreadable].map(|task| task.id().to_owned()).into());
    for role in ["team-a", "web"] {
        mesh.create_role(&format!("{ROLES}/{role}"), role);
    }
    let report = mesh.sweep().await;
    // Then nothing is registered, and the summary says why
    assert_eq!(mesh.registered(), Vec::<Value>::new());
    for (task, reason) in rows {
        let why = why_skipped(&report, &task).unwrap();
        assert!(why.contains(reason), "{why}");
    }
}

#[tokio::test]
async fn the_iam_role_of_tasks_proves_them_with_one_read_each() {
    // Given three tasks whose login tokens are gone, two of them with one role
    let hosts = "127.0.0.1";
    let tasks = vec![logging_in(1, hosts, "web"), logging_in(2, hosts, "web"), logging_in(3, hosts, "web-blue")];
    let mesh = without_tokens(tasks.clone()).await;
    mesh.create_role(&format!("{ROLES}/web"), "web");
    mesh.create_role(&format!("{ROLES}/web-blue"), "web");
    // When a sweep finds them unregistered
    let report = mesh.sweep().await;
    // Then they are registered, after one read of the server, the auth method, its binding rules and each role
    assert_eq!((report.outcome, report.clusters[0].repaired), (SweepOutcome::Done, 3), "{report:?}");
    let calls = mesh.consul_calls();
    for call in ["GET agent/self", "GET acl/auth-method", "GET acl/binding-rules"] {
        assert_eq!(calls[call], 1, "{call}");
    }
    assert_eq!(mesh.aws.operations().iter().filter(|operation| *operation == "GetRole").count(), 2);
    // And each is reported with the command that replaces it, because it has no login token
    for task in &tasks {
        let why = why_skipped(&report, task).unwrap();
        let command = format!("aws ecs stop-task --region us-east-1 --cluster shop --task {}", task.id());
        assert!(why.contains("works until its proxy reconnects") && why.ends_with(&command), "{why}");
    }
    assert_eq!(mesh.published().iter().filter(|kind| *kind == "ECS Mesh Task Broken").count(), 3);
}

#[tokio::test]
async fn the_checks_of_a_registered_instance_need_no_proof() {
    // Given a registered task without a proof, whose sidecar proxy Consul has lost, and whose app has failed since
    let mesh = Mesh::lost(vec![FakeTask::new(1), FakeTask::new(2)]).await;
    mesh.sweep().await;
    mesh.set_logins(Vec::new());
    let task = mesh.change(0, |task| task.unhealthy = ["app"].into());
    mesh.forget(&format!("web-{}-sidecar-proxy", task.id()));
    // When a sweep looks twice
    let report = mesh.sweep().await;
    // Then the sidecar proxy is refused, and the checks of the service are corrected
    assert_eq!(mesh.registered(), Vec::<Value>::new());
    assert!(why_skipped(&report, &task).unwrap().contains("not proven to be web"), "{report:?}");
    assert_eq!(report.clusters[0].corrected, 2, "{report:?}");
    assert_eq!(mesh.statuses(&task)["web-*-app"], "critical");
}

#[tokio::test]
async fn tasks_of_another_host_name_are_proven_by_one_of_them_that_has_logged_in() {
    // Given tasks that reach this Consul by another name, one of which has its token
    let tasks: Vec<FakeTask> = (1..=2).map(|number| logging_in(number, "consul.internal", "web")).collect();
    let mesh = without_tokens(tasks.clone()).await;
    mesh.set_logins(vec![tasks[0].id().to_owned()]);
    mesh.create_role(&format!("{ROLES}/web"), "web");
    let report = mesh.sweep().await;
    assert_eq!(report.clusters[0].repaired, 2, "{report:?}");
}

#[tokio::test]
async fn the_first_failure_of_iam_ends_its_reads() {
    // Given ten tasks with ten roles, and no permission to read them
    let tasks = (1..=10).map(|number| logging_in(number, "127.0.0.1", &format!("role-{number}"))).collect();
    let mesh = without_tokens(tasks).await;
    let report = mesh.sweep().await;
    assert_eq!(mesh.registered(), Vec::<Value>::new());
    let reads = mesh.aws.operations().iter().filter(|operation| *operation == "GetRole").count();
    assert!(reads <= 4, "at most four at once: {reads}");
    assert!(report.problems.iter().any(|problem| problem.label == ErrorLabel::Iam), "{:?}", report.problems);
}

#[tokio::test]
async fn an_instance_of_another_name_or_kind_is_not_the_task_s() {
    // Given a registered task, whose proxy's ID was taken by a service of another name
    let mesh = Mesh::lost(vec![FakeTask::new(1)]).await;
    mesh.sweep().await;
    let sidecar = format!("web-{}-sidecar-proxy", FakeTask::new(1).id());
    mesh.with(|world| world.services.get_mut(&sidecar).unwrap()["Service"] = json!("other"));
    let report = mesh.sweep().await;
    assert_eq!(report.clusters[0].repaired, 1, "{report:?}");
    assert_eq!(mesh.registered()[0]["Service"]["ID"], json!(sidecar));
}

#[tokio::test]
async fn without_acls_or_with_a_default_policy_that_allows_there_is_nothing_to_prove() {
    let mesh = without_tokens(vec![FakeTask::new(1)]).await;
    let policy = json!({ "ACLResolverSettings": { "ACLDefaultPolicy": "allow" } });
    let agent = json!({ "Config": { "Datacenter": "dc1" }, "DebugConfig": policy });
    mesh.with(|world| world.admission.insert("agent/self", agent));
    assert_eq!(mesh.sweep().await.clusters[0].repaired, 1);
    let mesh = without_tokens(vec![FakeTask::new(1)]).await;
    mesh.with(|world| world.has_no_acls = true);
    assert_eq!(mesh.sweep().await.clusters[0].repaired, 1);
}
