//! Three Consul servers, whose leader is killed during the controller's writes.

use std::{
    ops::RangeInclusive,
    sync::{
        Arc, Mutex,
        atomic::{AtomicUsize, Ordering},
    },
    time::Instant,
};

use reqwest::Method;

use crate::{chaos_time, controller::assert_converges, print_figure};
use local_stack::{Stack, consul::Consul, http::Answer, progress::wait_until_done};
use test_harness::{
    fleet::Fleet,
    proxy::{Call, Dialect, Fault, FaultKind, FaultPoint, Proxy, action, seed},
};

const SERVERS: usize = 3;
/// The services that start in a round, and stop in the next.
const SERVICES: usize = 12;
/// The writes at which the leader is killed, one in each round: the kind, the range of its number, and whether the leader has
/// committed it. Each new service demands a token. From the second round on, instances of stopped tasks are deregistered, and
/// tokens of idle services are deleted.
const FATAL: [(&str, RangeInclusive<usize>, FaultPoint); 4] = [
    ("PUT acl/token", 3..=9, FaultPoint::Before),
    ("PUT acl/token", 3..=9, FaultPoint::After),
    ("PUT txn", 1..=1, FaultPoint::Before),
    ("DELETE acl/token", 1..=1, FaultPoint::After),
];

#[tokio::test(flavor = "multi_thread")]
async fn a_leader_killed_during_writes_loses_nothing() {
    let seed = seed("leader");
    let mut random = fastrand::Rng::with_seed(seed);
    let stack = Stack::shared().await;
    // Given three servers, each behind a proxy that sees the writes
    let servers: Arc<[Consul]> = Consul::start_cluster(SERVERS).await.into();
    let mut before = Vec::new();
    for server in servers.iter() {
        before.push(Proxy::before(&server.address, Dialect::Consul).await);
    }
    let addresses: Vec<&str> = before.iter().map(|proxy| proxy.url.as_str()).collect();
    let name = ("throne", "auto");
    let mut fleet = Fleet::deploy(&stack.aws, &servers[0], name, &addresses.join(","), &[]).await;
    fleet.leaves_orphans = true;
    let (began, mut round) = (Instant::now(), 0);
    while round < FATAL.len() || began.elapsed() < chaos_time() {
        // When services start and others stop, and the leader is killed at one of the resulting writes
        let events = fleet.replace_services(round, SERVICES, 2).await;
        wait_for_failure_tolerance(&servers).await;
        let (kind, numbers, when) = FATAL[round % FATAL.len()].clone();
        let number = random.usize(numbers);
        // Every second pass through the list inverts before and after.
        let when = if (round / FATAL.len()).is_multiple_of(2) { when } else { when.other() };
        let victim = kill_leader_at(&before, &servers, (kind, number), when);
        fleet.world.deliver(&events).await;
        let killed = wait_until_done("the leader to be killed during writes", || async {
            for proxy in &before {
                proxy.stats.assert_no_panic();
            }
            victim.killed().ok_or_else(|| format!("{} of {kind}, kill at {number}", victim.writes()))
        })
        .await;
        // Then the other two elect a leader, and all events are handled
        fleet.world.consul = &servers[(killed + 1) % SERVERS];
        fleet.events_handled().await;
        let next = wait_until_done("another leader", || async { leader_of(&servers).await.ok_or("no leader") }).await;
        assert_ne!(next, killed);
        servers[killed].start_again().await;
        round += 1;
    }
    fleet.sweep().await;
    assert_converges(&fleet).await;
    print_figure(&format!("{round} leaders of {SERVERS} servers killed, in {:.0?}", began.elapsed()));
}

/// Waits until Consul tolerates the failure of a server: a restarted server votes only once it has caught up and is stable.
async fn wait_for_failure_tolerance(servers: &[Consul]) {
    let path = "/v1/operator/autopilot/health";
    wait_until_done("Consul to survive the loss of a server", || async {
        let health = Answer::to(servers[0].request(Method::GET, path, &servers[0].management_token)).await?;
        let is_safe = health.status == 200 && health.body["FailureTolerance"].as_u64() >= Some(1);
        if is_safe { Ok(()) } else { Err(health.body.to_string()) }
    })
    .await;
}

/// The server that considers itself the leader.
async fn leader_of(servers: &[Consul]) -> Option<usize> {
    for (index, server) in servers.iter().enumerate() {
        if server.leads().await {
            return Some(index);
        }
    }
    None
}

/// The state of the attempt to kill a leader.
#[derive(Clone, Default)]
struct Victim {
    writes: Arc<AtomicUsize>,
    /// Held while the leader is determined and killed, so that only one is killed.
    search: Arc<tokio::sync::Mutex<()>>,
    killed: Arc<Mutex<Option<usize>>>,
}

impl Victim {
    /// The number of writes of this kind so far.
    fn writes(&self) -> usize {
        self.writes.load(Ordering::SeqCst)
    }

    /// The server that was killed.
    fn killed(&self) -> Option<usize> {
        *self.killed.lock().unwrap()
    }

    /// Kills the current leader, unless one was killed before. Without a leader, as during an election, the next write tries again.
    async fn kill_leader(&self, servers: &[Consul]) -> bool {
        let _ecs = self.search.lock().await;
        if self.killed().is_some() {
            return false;
        }
        let Some(leader) = leader_of(servers).await else { return false };
        servers[leader].kill();
        *self.killed.lock().unwrap() = Some(leader);
        true
    }
}

/// Kills the leader at the n-th write of a kind from now, or at the next one with a leader.
fn kill_leader_at(
    before: &[Proxy],
    servers: &Arc<[Consul]>,
    (kind, number): (&'static str, usize),
    when: FaultPoint,
) -> Victim {
    let victim = Victim::default();
    for proxy in before {
        let (victim, servers) = (victim.clone(), Arc::clone(servers));
        proxy.script(move |call: &Call| {
            let is_counted = call.kind() == kind;
            if !is_counted || victim.writes.fetch_add(1, Ordering::SeqCst) + 1 < number || victim.killed().is_some() {
                return None;
            }
            let (victim, servers) = (victim.clone(), Arc::clone(&servers));
            let kill = action(move |_| {
                let (victim, servers) = (victim.clone(), Arc::clone(&servers));
                async move { victim.kill_leader(&servers).await }
            });
            Some(Fault { kind: FaultKind::Act("leader killed", kill), point: when })
        });
    }
    victim
}
