//! The loop of the controller that HashiCorp ships, next to this controller: the calls and the bytes of a minute.
//!
//! Its model: every 10 seconds it lists and describes all tasks of its cluster, lists all ACL tokens, and lists the services of the
//! cluster's node. One round is run against the local stack; what more tasks cost is calculated from that.

use std::time::Duration;

use futures::{StreamExt, stream};
use local_stack::world::{Definition, World};
use serde_json::{Value, json};

/// The pause between two rounds: `PollingInterval` of consul-ecs' controller.
const PAUSE: Duration = Duration::from_secs(10);
/// The most tasks that `ListTasks` and `DescribeTasks` return.
const PAGE: usize = 100;
/// The tasks of the measured rounds.
const MEASURED: [usize; 2] = [5, 100];
/// The tasks, and the changes a minute, of the table: half of the changes are starts, half are stops.
const TASKS: [usize; 3] = [100, 1_000, 10_000];
const CHANGES: [usize; 3] = [0, 10, 1_000];
/// The services of the tasks. Ours asks for the tokens of one service, where Consul knows the filter.
const SERVICES: f64 = 100.0;
/// How often ours sweeps: the default of `ReconcileRate`.
const SWEEPS_A_MINUTE: f64 = 1.0 / 5.0;

/// What a round, or a minute, costs.
#[derive(Debug, Default, Clone, Copy, PartialEq)]
struct Work {
    aws: f64,
    consul: f64,
    bytes: f64,
}

impl Work {
    fn of(aws: f64, consul: f64, bytes: f64) -> Self {
        Self { aws, consul, bytes }
    }

    fn times(self, factor: f64) -> Self {
        Self::of(self.aws * factor, self.consul * factor, self.bytes * factor)
    }

    fn and(self, other: Self) -> Self {
        Self::of(self.aws + other.aws, self.consul + other.consul, self.bytes + other.bytes)
    }

    fn figures(self) -> Value {
        json!({ "awsCalls": self.aws, "consulCalls": self.consul, "bytes": self.bytes })
    }
}

/// The bytes of one task in the lists of a round.
struct Sizes {
    tasks: f64,
    tokens: f64,
    services: f64,
}

/// One round of the loop in a cluster with so many tasks.
async fn round(world: &World<'_>) -> (Work, Sizes) {
    let (mut work, mut listed) = (Work::default(), Vec::new());
    let mut next = None;
    loop {
        let page = world.ecs_call("ListTasks", &json!({ "cluster": world.name, "nextToken": next })).await;
        work = work.and(Work::of(1.0, 0.0, size(&page)));
        listed.extend(page["taskArns"].as_array().expect("tasks").clone());
        match &page["nextToken"] {
            Value::Null => break,
            token => next = Some(token.clone()),
        }
    }
    for tasks in listed.chunks(PAGE) {
        let described = json!({ "cluster": world.name, "tasks": tasks, "include": ["TAGS"] });
        work = work.and(Work::of(1.0, 0.0, size(&world.ecs_call("DescribeTasks", &described).await)));
    }
    let all = count(listed.len());
    let tasks = work.bytes / all;
    let tokens = world.consul.get("/v1/acl/tokens").await;
    let own = tokens.as_array().expect("tokens").iter().filter(|token| token.to_string().contains(&world.cluster()));
    let tokens = own.map(size).sum::<f64>();
    let services = size(&world.node_services().await);
    let work = work.and(Work::of(0.0, 2.0, tokens + services));
    (work, Sizes { tasks, tokens: tokens / all, services: services / all })
}

/// The rows of the table, and the measured rounds.
pub(crate) async fn compare() -> Value {
    let world = World::without_deployment("always-on").await;
    world.create_node().await;
    let definition = world.dataplane_definition(&world.service()).await;
    let (mut tasks, mut measured, mut sizes) = (0, Vec::new(), None);
    for wanted in MEASURED {
        let started = stream::iter(tasks..wanted).map(|_| start(&world, &definition));
        started.buffer_unordered(8).collect::<Vec<()>>().await;
        tasks = wanted;
        let (work, each) = round(&world).await;
        assert_eq!((work.aws, work.consul), calls_of_a_round(count(tasks)), "the model counts as the round does");
        measured.push(json!({ "tasks": tasks, "round": work.figures() }));
        sizes = Some(each);
    }
    let sizes = sizes.expect("a measured round");
    // As counted on the real one: 22 calls of each in two quiet minutes with five tasks; a round takes longer than its pause.
    let rounds = (Duration::from_mins(2).as_secs_f64() / PAUSE.as_secs_f64()).floor() - 1.0;
    assert_eq!(calls_of_a_round(5.0), (22.0 / rounds, 22.0 / rounds));
    let mut rows = Vec::new();
    println!(
        "\n{:>8}{:>10}{:>36}{:>36}",
        "tasks", "changes", "always-on, a minute: AWS Consul MB", "ours: AWS Consul MB"
    );
    for tasks in TASKS {
        for changes in CHANGES {
            let ours = |listed| ours(count(tasks), count(changes), &sizes, listed);
            let work = [always_on(count(tasks), &sizes), ours(1.0 / SERVICES), ours(1.0)];
            let [theirs, with_filter, old] =
                work.map(|work| format!("{:.0} {:.0} {:.1} MB", work.aws, work.consul, work.bytes / 1e6));
            println!("{tasks:>8}{changes:>10}{theirs:>24}{with_filter:>24}{old:>24}");
            let [theirs, with_filter, old] = work.map(Work::figures);
            let row = json!({
                "tasks": tasks, "changes": changes, "alwaysOn": theirs, "ours": with_filter, "oursWithOldConsul": old,
            });
            rows.push(row);
        }
    }
    json!({ "measured": measured, "calculated": rows })
}

/// A task with two logins, a service and a sidecar proxy.
async fn start(world: &World<'_>, definition: &Definition) {
    let task = world.run(definition).await;
    world.register_instance(&world.service(), &task).await;
    for _ in 0..2 {
        world.token_as_of_login(&world.service(), &task).await;
    }
}

/// The calls of a round to AWS and to Consul.
fn calls_of_a_round(tasks: f64) -> (f64, f64) {
    (2.0 * (tasks / count(PAGE)).ceil(), 2.0)
}

/// A minute of the always-on controller. The deletions after changes come on top, as with ours.
fn always_on(tasks: f64, sizes: &Sizes) -> Work {
    let (aws, consul) = calls_of_a_round(tasks);
    let bytes = tasks * (sizes.tasks + sizes.tokens + sizes.services);
    Work::of(aws, consul, bytes).times(60.0 / PAUSE.as_secs_f64())
}

/// A minute of this controller, if no two stops share a batch: each told to stop makes three calls to Consul, each stop five, with one list of
/// the tokens, `listed` of all. The tests of call counts assert these numbers.
fn ours(tasks: f64, changes: f64, sizes: &Sizes, listed: f64) -> Work {
    let pages = (tasks / count(PAGE)).ceil();
    let sweep = Work::of(1.0 + 3.0 * pages, 4.0, tasks * (sizes.tasks + sizes.tokens + 2.0 * sizes.services));
    let stop = Work::of(0.0, 8.0, tasks * sizes.tokens * listed);
    sweep.times(SWEEPS_A_MINUTE).and(stop.times(changes / 2.0))
}

fn size(value: &Value) -> f64 {
    count(value.to_string().len())
}

#[expect(clippy::cast_precision_loss, reason = "counts far below 2^52")]
fn count(number: usize) -> f64 {
    number as f64
}
