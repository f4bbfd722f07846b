//! Simulated AWS against MiniStack.

use std::time::Duration;

use ::aws::secrets::SecretsError;
use controller::{Edges, Queue};
use mesh::arn::{ClusterArn, TaskArn, TaskDefinitionArn};
use mesh::secret::{Retirement, SecretState, StoredSecret};
use mesh::token::TokenPair;
use observe::EcsReads;
use secrecy::{ExposeSecret, SecretString};

use super::{Exchange, assert_same, real};
use crate::{calls::CallOutcome, dialect::Dialect, direct::Direct};
use local_stack::world::World;

fn pair(secret: &str) -> TokenPair {
    let accessor = "c0a1e5ce-0000-4000-8000-000000000003".parse().unwrap();
    TokenPair { accessor, secret: SecretString::from(secret) }
}

fn seen(secret: &StoredSecret) -> String {
    let pair = secret.state.pair().map(|pair| format!("{} {}", pair.accessor, pair.secret.expose_secret()));
    let kind = match secret.state {
        SecretState::Missing => "missing",
        SecretState::Empty => "empty",
        SecretState::Active(_) => "active",
        SecretState::Retiring(..) => "retiring",
    };
    format!("{kind} {pair:?} ours: {} {}", secret.is_ours, secret.version.is_some())
}

async fn written(
    all: &mut Exchange,
    edges: &Edges,
    (name, seen_before): (&str, &StoredSecret),
    state: SecretState,
) -> StoredSecret {
    let written = edges.writes.secrets.write(name, seen_before, &state).await;
    all.note("write", written.as_ref().map(drop));
    let read = edges.reads.secrets.read(name).await.unwrap();
    all.note("read it", Ok::<_, SecretsError>(seen(&read)));
    let is_known = written.is_ok_and(|version| Some(version) == read.version);
    all.note("its version is known", Ok::<_, SecretsError>(is_known));
    read
}

async fn secrets(edges: &Edges, name: &str) -> Exchange {
    let (reads, writes) = (&edges.reads.secrets, &edges.writes.secrets);
    let mut all = Exchange::default();
    let missing = reads.read(name).await.unwrap();
    all.note("missing", Ok::<_, SecretsError>(seen(&missing)));
    let active = written(&mut all, edges, (name, &missing), SecretState::Active(pair("one"))).await;
    let retiring = SecretState::Retiring(pair("one"), Retirement::default());
    let retiring = written(&mut all, edges, (name, &active), retiring).await;
    let empty = written(&mut all, edges, (name, &retiring), SecretState::Empty).await;
    let active = written(&mut all, edges, (name, &empty), SecretState::Active(pair("two"))).await;
    written(&mut all, edges, (name, &active), SecretState::Active(pair("two"))).await;
    // A writer that has read an older version is refused
    written(&mut all, edges, (name, &empty), SecretState::Empty).await;
    written(&mut all, edges, (name, &empty), SecretState::Active(pair("two"))).await;
    all.note(
        "created by another writer",
        writes.write(name, &missing, &SecretState::Active(pair("three"))).await.map(drop),
    );
    let read = reads.read(name).await;
    all.note("the value is unchanged", read.as_ref().map(seen));
    all
}

#[tokio::test]
async fn secrets_behave_as_on_ministack() {
    let _turn = super::turn().await;
    let world = World::without_deployment("conform-secrets").await;
    let name = format!("{}-service-0", world.prefix);
    let real = secrets(&real(&world).await, &name).await;
    let simulated = Direct::new(Dialect::V1_21);
    assert_same(&simulated.drive(CallOutcome::Served, secrets(&simulated.edges, &name)), &real);
}

async fn tasks(
    ecs: &dyn EcsReads,
    cluster: &ClusterArn,
    definition: &TaskDefinitionArn,
    known: &[TaskArn; 2],
) -> Exchange {
    let mut all = Exchange::default();
    let elsewhere: ClusterArn = format!("{}-elsewhere", cluster.as_str()).parse().unwrap();
    let statuses = ecs.cluster_statuses(&[cluster.clone(), elsewhere.clone()]).await;
    all.note("clusters", statuses.map(|all| [all.get(cluster).copied(), all.get(&elsewhere).copied()]));
    let place = |arns: &[TaskArn]| -> Vec<Option<usize>> {
        arns.iter().map(|arn| known.iter().position(|known| known == arn)).collect()
    };
    let listed = ecs.list_tasks(cluster).await;
    all.note("list", listed.map(|list| (place(&list.running), place(&list.stopped))));
    let unknown = TaskArn::in_cluster(cluster, &"ffffffffffffffffffffffffffffffff".parse().unwrap());
    let asked = [known[0].clone(), known[1].clone(), unknown];
    let described = ecs.describe_tasks(cluster, &asked).await.map(|described| {
        let mut lines: Vec<String> = described
            .iter()
            .map(|task| {
                let of_definition = task.definition.as_ref() == Some(definition);
                let place = place(std::slice::from_ref(&task.arn));
                format!("{place:?} {:?} {of_definition} {:?} {}", task.phase, task.tags, task.end.stopped_at.is_some())
            })
            .collect();
        lines.sort();
        lines
    });
    all.note("describe", described);
    let answer = ecs.task_definition(definition).await;
    let mesh = |d: &std::sync::Arc<mesh::definition::TaskDefinition>| {
        d.tags.get("consul.hashicorp.com/mesh").map(str::to_owned)
    };
    all.note("definition", answer.as_ref().map(mesh));
    let unknown = "arn:aws:ecs:us-east-1:123456789012:task-definition/unknown-77:1".parse().unwrap();
    all.note("unknown definition", ecs.task_definition(&unknown).await.map(drop));
    all
}

#[tokio::test]
async fn tasks_are_read_as_on_ministack() {
    let _turn = super::turn().await;
    // Given a running and a stopped task on MiniStack
    let world = World::without_deployment("conform-ecs").await;
    let definition = world.mesh_definition("conform-ecs-web").await;
    let (running, stopped) = (world.run(&definition).await, world.run(&definition).await);
    world.stop(&stopped).await;
    let _ecs = world.aws.lock_ecs().await;
    let known = [running.parse().unwrap(), stopped.parse().unwrap()];
    let edges = real(&world).await;
    let cluster = world.cluster().parse().unwrap();
    let real = tasks(edges.reads.ecs.as_ref(), &cluster, &definition.0.parse().unwrap(), &known).await;
    // And the same tasks in the simulation
    let simulated = Direct::new(Dialect::V1_21);
    let (cluster, definition, known) = simulated.with(|world| {
        let stopped = simulated_twin(world);
        (world.clusters[0].clone(), world.ecs.tasks[0].definition.clone(), [world.ecs.tasks[0].arn.clone(), stopped])
    });
    let simulated =
        simulated.drive(CallOutcome::Served, tasks(simulated.edges.reads.ecs.as_ref(), &cluster, &definition, &known));
    assert_same(&simulated, &real);
}

/// A running task, and a stopped task of the same definition: its ARN.
fn simulated_twin(world: &mut crate::world::World) -> TaskArn {
    use crate::ecs::{Ecs, End};
    use crate::task_lifecycle::LIFECYCLE;

    let (scenario, clusters) = (world.scenario.clone(), world.clusters.clone());
    let mut twin = Ecs::new(&scenario, &clusters, &mut world.random).tasks.remove(0);
    let id = "00000000000000000000000000000001".parse().unwrap();
    twin.arn = TaskArn::in_cluster(&clusters[0], &id);
    twin.definition = world.ecs.tasks[0].definition.clone();
    let arn = twin.arn.clone();
    for (task, end) in [(&mut world.ecs.tasks[0], End::Runs), (&mut twin, End::Stops)] {
        (task.end, task.own_tags) = (end, false);
    }
    world.ecs.tasks.push(twin);
    for _ in 0..4 {
        world.step(0);
    }
    for _ in 0..LIFECYCLE.len() {
        if !world.ecs.tasks[1].is_stopped() {
            world.step(1);
        }
    }
    arn
}

/// What three receives show, with one message that is sent at once, one that is delayed, and the first one returned before the
/// last receive: bodies, and how many times each was received.
async fn messages(
    queue: &dyn Queue,
    receive: impl AsyncFn() -> (Vec<(String, u32)>, Option<String>),
) -> [Vec<(String, u32)>; 3] {
    for delay in [Duration::ZERO, Duration::from_secs(600)] {
        queue.send_later(&[r#"{"detail":{}}"#.to_owned()], delay).await.unwrap();
    }
    let (first, receipt) = receive().await;
    let (hidden, _) = receive().await;
    queue.return_after(&[(receipt.unwrap(), Duration::ZERO)]).await.unwrap();
    [first, hidden, receive().await.0]
}

#[tokio::test]
async fn messages_return_as_on_ministack() {
    let _turn = super::turn().await;
    let world = World::without_deployment("conform-queue").await;
    let url = &world.deployed.queue_url;
    let receive = async || {
        let call = world.aws.sqs().receive_message().queue_url(url).visibility_timeout(300);
        let call = call.message_system_attribute_names("ApproximateReceiveCount".into());
        let messages = call.send().await.unwrap().messages.unwrap_or_default();
        let count = |message: &aws_sdk_sqs::types::Message| {
            message.attributes.as_ref().unwrap().values().next().unwrap().parse::<u32>().unwrap()
        };
        let received: Vec<_> = messages.iter().map(|m| (m.body.clone().unwrap(), count(m))).collect();
        (received, messages.first().and_then(|message| message.receipt_handle.clone()))
    };
    let real = messages(real(&world).await.queue.as_ref(), receive).await;

    let simulated = Direct::new(Dialect::V1_21);
    let receive = async || {
        let deliveries = simulated.with(crate::world::World::receive);
        let received: Vec<_> = deliveries.iter().map(|delivery| (delivery.body.clone(), delivery.receives)).collect();
        (received, deliveries.first().and_then(|delivery| delivery.receipt.clone()))
    };
    let served = simulated.drive(CallOutcome::Served, messages(simulated.edges.queue.as_ref(), receive));
    assert_eq!(served, real, "left: simulated, right: real");
    assert_eq!(real.map(|all| all.len()), [1, 0, 1]);
}
