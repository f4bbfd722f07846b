//! Three Consul servers, of which the leader is killed in the middle of the controller's writes.

use std::{
    ops::RangeInclusive,
    sync::{
        Arc, Mutex,
        atomic::{AtomicUsize, Ordering},
    },
    time::Instant,
};

use reqwest::Method;

use crate::{chaos_time, controller::converges, tell};
use local_stack::{Stack, consul::Consul, http::Answer, progress::until_done};
use test_harness::{
    crowd::Crowd,
    proxy::{Call, Dialect, Fault, Proxy, What, When, action, seed},
};

const SERVERS: usize = 3;
/// How many services come and go in a round.
const SERVICES: usize = 12;
/// The writes at which the leader is killed, one in each round; which of its kind it may be; and whether the leader has done
/// it by then. Each new service needs a token. From the second round on, instances of stopped tasks are taken out of the
/// catalog, and tokens of idle services are deleted.
const FATAL: [(&str, RangeInclusive<usize>, When); 4] = [
    ("PUT acl/token", 3..=9, When::Before),
    ("PUT acl/token", 3..=9, When::After),
    ("PUT txn", 1..=1, When::Before),
    ("DELETE acl/token", 1..=1, When::After),
];

#[tokio::test(flavor = "multi_thread")]
async fn a_leader_that_is_killed_in_the_middle_of_writes_costs_nothing() {
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
    let place = ("throne", "secrets-manager");
    let mut crowd = Crowd::deploy(&stack.aws, &servers[0], place, &addresses.join(","), &[]).await;
    crowd.leaves_orphans = true;
    let (began, mut round) = (Instant::now(), 0);
    while round < FATAL.len() || began.elapsed() < chaos_time() {
        // When services start and others stop, and the leader dies at one of the writes for them
        let events = crowd.come_and_go(round, SERVICES, 2).await;
        one_server_may_fail(&servers).await;
        let (kind, numbers, when) = FATAL[round % FATAL.len()].clone();
        let number = random.usize(numbers);
        // Every second time through the list it is the other way round.
        let when = if (round / FATAL.len()).is_multiple_of(2) { when } else { when.other() };
        let victim = kill_leader_at(&before, &servers, (kind, number), when);
        crowd.world.deliver(&events).await;
        let killed = until_done("the leader to be killed in the middle of writes", || async {
            for proxy in &before {
                proxy.tally.must_not_have_panicked();
            }
            victim.killed().ok_or_else(|| format!("{} of {kind}, to be killed at {number}", victim.writes()))
        })
        .await;
        // Then the other two elect one of themselves, and all is done
        crowd.world.consul = &servers[(killed + 1) % SERVERS];
        crowd.worked_off().await;
        let next = until_done("another leader", || async { leader_of(&servers).await.ok_or("nobody leads") }).await;
        assert_ne!(next, killed);
        servers[killed].start_again().await;
        round += 1;
    }
    crowd.sweep_after_restarts().await;
    converges(&crowd).await;
    tell(&format!("{round} leaders of {SERVERS} servers killed, in {:.0?}", began.elapsed()));
}

/// Waits until one server may fail: one that was started again votes only when it has caught up and was healthy for a while.
async fn one_server_may_fail(servers: &[Consul]) {
    let path = "/v1/operator/autopilot/health";
    until_done("Consul to survive the loss of a server", || async {
        let health = Answer::to(servers[0].request(Method::GET, path, &servers[0].management_token)).await?;
        let is_safe = health.status == 200 && health.body["FailureTolerance"].as_u64() >= Some(1);
        if is_safe { Ok(()) } else { Err(health.body.to_string()) }
    })
    .await;
}

/// Which server leads: only it knows for sure, and one that is dead knows nothing.
async fn leader_of(servers: &[Consul]) -> Option<usize> {
    for (index, server) in servers.iter().enumerate() {
        if server.leads().await {
            return Some(index);
        }
    }
    None
}

/// What came of the attempt to kill a leader.
#[derive(Clone, Default)]
struct Victim {
    writes: Arc<AtomicUsize>,
    /// Held while the leader is looked for, so that only one is killed.
    search: Arc<tokio::sync::Mutex<()>>,
    killed: Arc<Mutex<Option<usize>>>,
}

impl Victim {
    /// How many writes of the fatal kind have come so far.
    fn writes(&self) -> usize {
        self.writes.load(Ordering::SeqCst)
    }

    /// Which server was killed.
    fn killed(&self) -> Option<usize> {
        *self.killed.lock().unwrap()
    }

    /// Kills the server that leads at this moment, unless one was killed before. During an election nobody leads: then the
    /// next write brings it.
    async fn kill_leader(&self, servers: &[Consul]) -> bool {
        let _alone = self.search.lock().await;
        if self.killed().is_some() {
            return false;
        }
        let Some(leader) = leader_of(servers).await else { return false };
        servers[leader].kill();
        *self.killed.lock().unwrap() = Some(leader);
        true
    }
}

/// Kills the leader at the n-th write of a kind from now; or, if nobody leads at that moment, at the next one.
fn kill_leader_at(
    before: &[Proxy],
    servers: &Arc<[Consul]>,
    (kind, number): (&'static str, usize),
    when: When,
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
            Some(Fault { what: What::Act("leader killed", kill), when })
        });
    }
    victim
}
