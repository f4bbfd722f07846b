//! Only tasks are registered that this Consul has admitted, or would admit.

use std::sync::{
    Arc,
    atomic::{AtomicUsize, Ordering::SeqCst},
};

use async_trait::async_trait;
use aws::iam::{IamError, IamRoles};
use mesh::{
    admission::{IamRole, RoleArn},
    catalog::CheckStatus,
    consul_ecs::{MESH_TAG, NAMESPACE_TAG, PARTITION_TAG, SERVICE_NAME_TAG, instance_id, sidecar_of},
    tags::Tags,
    tenancy::Tenancy,
};
use observe::SweepOrder;
use report::{ErrorLabel, PlannedAction, SweepOutcome};
use simulation::{admission::Standing, containers::Containers, direct::Direct};

use super::Mesh;

/// A task claims a service, and logs in as another one.
pub(super) fn become_impostor(mesh: &Mesh, task: usize) {
    mesh.log_out(task);
    mesh.change(|world| {
        world.ecs.tasks[task].standing = Standing::Impostor;
        world.log_in(task);
    });
}

#[tokio::test(start_paused = true)]
async fn a_task_that_only_claims_a_service_is_not_registered() {
    // Given a task that neither a login token nor its IAM role proves to be what its configuration names
    let mesh = Mesh::running(2);
    become_impostor(&mesh, 0);
    mesh.lose(0);
    // When a sweep finds it unregistered
    let report = mesh.sweep().await;
    // Then nothing is written, and the summary says what is missing
    assert_eq!((report.outcome, report.clusters[0].repaired), (SweepOutcome::Done, 0));
    let why = mesh.why_skipped(&report, 0);
    assert!(why.contains("not proven to be service-0: its login token belongs to intruder"), "{why}");
    assert!(why.contains("is \"intruder\", not \"service-0\""), "{why}");
    // And a plan has it among what is blocked, with the reason
    let plan = mesh.dry_run().await;
    let [blocked] = plan.clusters[0].blocked.as_slice() else { panic!("{plan:?}") };
    let PlannedAction::Repair { task_id, .. } = &blocked.action else { panic!("{blocked:?}") };
    assert!(*task_id == mesh.id(0).to_string() && why.starts_with(&blocked.reason), "{blocked:?}");
    assert_eq!((plan.clusters[0].planned.len(), plan.clusters[0].waiting.len()), (0, 0), "{plan:?}");
}

#[tokio::test(start_paused = true)]
async fn a_login_token_or_the_iam_role_of_tasks_proves_them_with_one_read() {
    // Given tasks that Consul has lost; with Enterprise, in a partition
    for is_enterprise in [false, true] {
        let mesh = Mesh(Direct::with_running(3, |scenario| scenario.enterprise = is_enterprise));
        (0..3).for_each(|task| mesh.lose(task));
        // Then their login tokens prove them, with one read of the role that they link in Enterprise
        assert_eq!(mesh.sweep().await.clusters[0].repaired, 3);
        let reads = mesh.calls("Consul").iter().filter(|call| *call == "GET role service-0").count();
        assert_eq!((reads, mesh.calls("Iam")), (usize::from(is_enterprise), Vec::new()));
        // And given that the tokens are gone as well
        (0..3).for_each(|task| mesh.lose(task));
        (0..3).for_each(|task| mesh.log_out(task));
        // When a sweep finds them unregistered
        let report = mesh.sweep().await;
        // Then they are registered, after one read of the server, the auth method and the role
        assert_eq!((report.outcome, report.clusters[0].repaired), (SweepOutcome::Done, 3), "{report:?}");
        let calls = mesh.calls("Consul");
        for wanted in ["GET agent", "GET auth method iam-ecs-service-token"] {
            assert_eq!(calls.iter().filter(|call| *call == wanted).count(), 1, "{wanted}: {calls:?}");
        }
        assert_eq!(mesh.calls("Iam"), ["GetRole service-0"]);
        // And each is reported with the command that replaces it, because it has no login token
        for task in 0..3 {
            let why = mesh.why_skipped(&report, task);
            let command = format!("aws ecs stop-task --region us-east-1 --cluster cluster-0 --task {}", mesh.id(task));
            assert!(why.contains("works until its proxy reconnects") && why.ends_with(&command), "{why}");
        }
        let broken = ("Task Broken".to_owned(), "act".to_owned());
        assert_eq!(mesh.announced().iter().filter(|event| **event == broken).count(), 3);
    }
}

#[tokio::test(start_paused = true)]
async fn a_login_in_another_partition_proves_nothing() {
    // Given tasks whose definition names the partition team-b, with login tokens, their role and an auth method in the partition team
    let mesh = Mesh(Direct::with_running(2, |scenario| scenario.enterprise = true));
    mesh.change(|world| {
        world.ecs.rewrites.config =
            Box::new(|config| config.replace(r#""partition":"team""#, r#""partition":"team-b""#));
        world.ecs.rewrites.definition = Box::new(|definition| {
            let tags = [
                (MESH_TAG, "true"),
                (SERVICE_NAME_TAG, "service-0"),
                (PARTITION_TAG, "team-b"),
                (NAMESPACE_TAG, "default"),
            ];
            definition.tags = Tags::from_iter(tags);
        });
    });
    // When a sweep finds a task unregistered in its partition
    let report = mesh
        .sweep_with(&SweepOrder::default(), |scope| {
            let partition = |name: &str| Tenancy::default_namespace_of(name.parse().unwrap());
            scope.cluster_partitions =
                ["team", "team-b"].map(|name| ("cluster-0".parse().unwrap(), partition(name))).to_vec();
        })
        .await;
    // Then the task is refused: the role grants its name where the token is, and its own partition has no auth method
    assert_eq!((report.outcome, report.clusters[0].repaired), (SweepOutcome::Done, 0), "{report:?}");
    let why = mesh.why_skipped(&report, 0);
    assert!(why.contains("not proven to be service-0: its login token grants this name in partition team,"), "{why}");
    assert!(why.contains("no auth method"), "{why}");
    assert_eq!(mesh.calls("Iam"), [""; 0]);
}

#[tokio::test(start_paused = true)]
async fn a_task_without_login_tokens_is_reported_and_left_alone() {
    let mesh = Mesh::running(8);
    mesh.log_out(0);
    for _ in 0..2 {
        let report = mesh.sweep().await;
        assert!(mesh.why_skipped(&report, 0).contains("none of its login tokens"), "{report:?}");
        assert_eq!(mesh.announced(), [("Task Broken".to_owned(), "act".to_owned())]);
    }
    // And a dry run announces nothing
    let report = mesh.dry_run().await;
    assert!(mesh.why_skipped(&report, 0).contains("none of its login tokens"), "{report:?}");
    assert_eq!(mesh.announced(), []);
}

#[tokio::test(start_paused = true)]
async fn the_checks_of_a_registered_instance_need_no_proof() {
    // Given a registered task without a proof, whose sidecar proxy Consul has lost, and whose app has failed since
    let mesh = Mesh::running(2);
    become_impostor(&mesh, 0);
    let sidecar = sidecar_of(&instance_id("service-0", &mesh.id(0)));
    mesh.change(|world| world.consul.remove(world.ecs.tasks[0].cluster.as_str(), &sidecar));
    mesh.set_containers(0, Containers { is_unhealthy: true, ..Containers::default() });
    // When a sweep reads them twice
    let report = mesh.sweep().await;
    // Then the sidecar proxy is refused, and the checks of the service are corrected
    assert!(mesh.why_skipped(&report, 0).contains("not proven to be service-0"), "{report:?}");
    assert_eq!((report.clusters[0].repaired, report.clusters[0].corrected), (0, 2), "{report:?}");
    assert!(mesh.are_all(0, CheckStatus::Critical), "{:?}", mesh.statuses(0));
}

#[tokio::test(start_paused = true)]
async fn tasks_of_another_host_name_are_proven_by_one_of_them_that_has_logged_in() {
    // Given lost tasks that reach this Consul by another name, without a token
    let mesh = Mesh::running(2);
    mesh.change(|world| {
        world.ecs.rewrites.config =
            Box::new(|config| config.replace(r#""hosts":"consul""#, r#""hosts":"consul.internal""#));
    });
    for task in [0, 1] {
        mesh.lose(task);
        mesh.log_out(task);
    }
    let report = mesh.sweep().await;
    assert_eq!(report.clusters[0].repaired, 0, "{report:?}");
    assert!(mesh.why_skipped(&report, 0).contains("hosts"), "{report:?}");
    // When one of them has a token of this Consul
    mesh.change(|world| world.log_in(0));
    assert_eq!(mesh.sweep().await.clusters[0].repaired, 2);
}

/// An IAM that denies to read a role which is gone, because a permission with a path does not match it.
struct WithoutRole {
    gone: String,
    others: Arc<dyn IamRoles>,
}

#[async_trait]
impl IamRoles for WithoutRole {
    async fn role(&self, role: &RoleArn) -> Result<Option<IamRole>, IamError> {
        if role.name() == self.gone {
            return Err(IamError::Refused { role: role.clone(), reason: "AccessDenied".to_owned() });
        }
        self.others.role(role).await
    }
}

#[tokio::test(start_paused = true)]
async fn a_role_that_may_not_be_read_leaves_its_own_task_unproven() {
    // Given two lost tasks without tokens, and the role of one is gone
    let mut mesh = Mesh::running(2);
    for task in 0..2 {
        mesh.lose(task);
        mesh.log_out(task);
    }
    let gone = mesh.id(0);
    mesh.change(|world| {
        world.ecs.rewrites.task = Box::new(move |task| {
            if *task.arn.id() == gone {
                task.placement.role = Some("arn:aws:iam::123456789012:role/consul-ecs/gone".to_owned());
            }
        });
    });
    let others = Arc::clone(&mesh.0.edges.reads.iam);
    mesh.0.edges.reads.iam = Arc::new(WithoutRole { gone: "gone".to_owned(), others });
    // When a sweep reads the roles
    let report = mesh.sweep().await;
    // Then the other task is registered, and the sweep has not failed
    assert_eq!((report.outcome, report.clusters[0].repaired), (SweepOutcome::Done, 1), "{report:?}");
    assert_eq!((report.problems.len(), report.faults.len()), (0, 1), "{report:?}");
    assert!(mesh.why_skipped(&report, 0).contains("role/consul-ecs/gone could not be read"), "{report:?}");
}

/// An IAM that cannot be reached, and counts the reads.
#[derive(Default)]
struct NoIam(AtomicUsize);

#[async_trait]
impl IamRoles for NoIam {
    async fn role(&self, role: &RoleArn) -> Result<Option<IamRole>, IamError> {
        self.0.fetch_add(1, SeqCst);
        Err(IamError::Failed { role: role.clone(), reason: "dispatch failure: timeout".to_owned() })
    }
}

#[tokio::test(start_paused = true)]
async fn the_first_failure_of_iam_ends_its_reads() {
    // Given ten lost tasks with ten roles, and an IAM that cannot be reached
    let (mut mesh, iam) = (Mesh::running(10), Arc::new(NoIam::default()));
    mesh.0.edges.reads.iam = iam.clone();
    mesh.change(|world| {
        world.ecs.rewrites.task = Box::new(|task| {
            task.placement.role = Some(format!("arn:aws:iam::123456789012:role/consul-ecs/{}", task.arn.id()));
        });
    });
    for task in 0..10 {
        mesh.lose(task);
        mesh.log_out(task);
    }
    let report = mesh.sweep().await;
    assert_eq!(report.clusters[0].repaired, 0);
    let reads = iam.0.load(SeqCst);
    assert!((1..=4).contains(&reads), "at most four at once: {reads}");
    assert!(report.problems.iter().any(|problem| problem.label == ErrorLabel::Iam), "{:?}", report.problems);
}
