//! Consul Enterprise: a task is proven in the partition of its registration.

use serde_json::{Value, json};

use super::{
    admission::{ROLES, answer_as_recorded},
    mesh_of_tasks::{FakeTask, Mesh, why_skipped},
};

/// A task of the service `web` in the partition `team`, which logs in at this Consul.
fn of_team(number: usize) -> FakeTask {
    let config = json!({
        "service": { "name": "web", "port": 9090, "partition": "team", "namespace": "default" },
        "consulLogin": { "enabled": true }, "consulServers": { "hosts": "127.0.0.1" },
    });
    FakeTask { role: Some(format!("{ROLES}/web")), ..FakeTask::configured(number, &config) }
}

/// A Consul Enterprise that has lost a task of the partition `team`, and has its login tokens in this partition.
async fn lost(task: &FakeTask, logins_in: &'static str) -> Mesh {
    let mesh = Mesh::start(vec![task.clone()], &[("CONSUL_PARTITION", "team")]).await;
    let role = json!({ "Name": "web", "ServiceIdentities": [{ "ServiceName": "web" }] });
    mesh.with(|world| {
        world.logins_in = Some(logins_in);
        world.admission.insert("acl/role", role);
    });
    mesh
}

/// The reads of what decides about logins.
fn reads(mesh: &Mesh) -> Vec<String> {
    let mut lines = mesh.consul.lines();
    lines.retain(|line| ["acl/auth-method", "acl/binding-rules", "acl/role"].iter().any(|path| line.contains(path)));
    lines.sort();
    lines
}

#[tokio::test]
async fn a_login_in_the_partition_of_the_registration_proves_it() {
    let task = of_team(1);
    let mesh = lost(&task, "team").await;
    let report = mesh.sweep().await;
    assert_eq!(report.clusters[0].repaired, 1, "{report:?}");
    assert_eq!(reads(&mesh), ["GET /v1/acl/role/name/web?partition=team&ns=default"]);
    assert_eq!(mesh.registered()[0]["Partition"], "team");
}

#[tokio::test]
async fn a_login_in_another_partition_proves_nothing() {
    // Given a task that claims a service of the partition team, and its login as a service of that name in another one
    let task = of_team(1);
    let mesh = lost(&task, "team-b").await;
    // When a sweep finds it unregistered
    let report = mesh.sweep().await;
    // Then it is refused, although the role grants the name where the token is
    assert_eq!(mesh.registered(), Vec::<Value>::new());
    let why = why_skipped(&report, &task).unwrap();
    assert!(why.contains("not proven to be web") && why.contains("no auth method"), "{why}");
    // And the auth method was looked for in the partition of the claim
    assert_eq!(
        reads(&mesh),
        [
            "GET /v1/acl/auth-method/iam-ecs-service-token?partition=team&ns=default",
            "GET /v1/acl/binding-rules?authmethod=iam-ecs-service-token&partition=team&ns=default",
            "GET /v1/acl/role/name/web?partition=team-b&ns=default",
        ]
    );
}

#[tokio::test]
async fn the_iam_role_proves_it_with_the_auth_method_of_its_partition() {
    // Given the auth method and its rules in the partition of a task whose login tokens are gone
    let task = of_team(1);
    let mesh = lost(&task, "team").await;
    mesh.set_logins(Vec::new());
    answer_as_recorded(&mesh);
    mesh.create_role(&format!("{ROLES}/web"), "web");
    let report = mesh.sweep().await;
    assert_eq!(report.clusters[0].repaired, 1, "{report:?}");
    assert_eq!(
        reads(&mesh),
        [
            "GET /v1/acl/auth-method/iam-ecs-service-token?partition=team&ns=default",
            "GET /v1/acl/binding-rules?authmethod=iam-ecs-service-token&partition=team&ns=default",
        ]
    );
    let partitions = mesh.registered().into_iter().map(|body| body["Partition"].clone());
    assert_eq!(partitions.collect::<Vec<_>>(), ["team", "team"]);
}
