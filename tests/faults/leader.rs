//! Three Consul servers, of which the leader is killed in the middle of the controller's writes.

use std::{
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering},
    },
    time::{Duration, Instant},
};

use reqwest::Method;

use crate::{chaos_time, tell};
use local_stack::{Stack, consul::Consul, wait::eventually};
use test_harness::{
    crowd::Crowd,
    proxy::{Call, Dialect, Fault, Proxy, What, When, seed},
};

const SERVERS: usize = 3;
const ROUNDS: usize = 3;
/// How many services come and go in a round.
const SERVICES: usize = 12;
/// How long a round may take. Election and retries take seconds; a message that failed twice returns after ten.
const PATIENCE: Duration = Duration::from_secs(180);

#[tokio::test(flavor = "multi_thread")]
async fn a_leader_that_is_killed_in_the_middle_of_writes_costs_nothing() {
    let seed = seed("leader");
    let mut dice = fastrand::Rng::with_seed(seed);
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
    let (began, mut round) = (Instant::now(), 0);
    while round < ROUNDS || began.elapsed() < chaos_time() {
        // When services start and others stop, and the leader dies at one of the writes for them
        let events = crowd.come_and_go(round, SERVICES, 2).await;
        tolerate_a_failure(&servers).await;
        let leader = the_leader(&servers).await;
        let fatal = dice.usize(3..10);
        let when = if round % 2 == 0 { When::Before } else { When::After };
        let writes = kill_at_write(&before, &servers, leader, (fatal, when));
        crowd.world.consul = &servers[(leader + 1) % SERVERS];
        crowd.world.deliver(&events).await;
        eventually("the leader to be killed in the middle of writes", PATIENCE, || async {
            let so_far = writes.load(Ordering::SeqCst);
            if so_far > fatal { Ok(()) } else { Err(format!("{so_far} of {fatal} writes")) }
        })
        .await;
        // Then the other two elect one of themselves, and all is done
        crowd.worked_off(PATIENCE).await;
        assert_ne!(the_leader(&servers).await, leader);
        servers[leader].start_again().await;
        round += 1;
    }
    crowd.sweep().await;
    crowd.world.settled_within(PATIENCE).await;
    crowd.converged().await;
    tell(&format!("{round} leaders of {SERVERS} servers killed, in {:.0?}", began.elapsed()));
}

/// Waits until one server may fail: one that was started again votes only when it has caught up and was healthy for a while.
async fn tolerate_a_failure(servers: &[Consul]) {
    let path = "/v1/operator/autopilot/health";
    eventually("Consul to survive the loss of a server", Duration::from_mins(2), || async {
        let health = servers[0].call(Method::GET, path, &servers[0].management_token, None).await;
        let is_tolerant = health.status == 200 && health.body["FailureTolerance"].as_u64() >= Some(1);
        if is_tolerant { Ok(()) } else { Err(health.body) }
    })
    .await;
}

/// Which server leads: only it knows for sure, and one that is dead knows nothing.
async fn the_leader(servers: &[Consul]) -> usize {
    eventually("a leader", Duration::from_mins(1), || async {
        for (index, server) in servers.iter().enumerate() {
            if server.leads().await {
                return Ok(index);
            }
        }
        Err("nobody leads")
    })
    .await
}

/// Kills the leader when so many writes have come. The answer counts them.
fn kill_at_write(
    before: &[Proxy],
    servers: &Arc<[Consul]>,
    leader: usize,
    (fatal, when): (usize, When),
) -> Arc<AtomicUsize> {
    let writes = Arc::new(AtomicUsize::new(0));
    for proxy in before {
        let (writes, servers) = (Arc::clone(&writes), Arc::clone(servers));
        proxy.script(move |call: &Call| {
            let is_write = call.method != Method::GET;
            if !is_write || writes.fetch_add(1, Ordering::SeqCst) + 1 != fatal {
                return None;
            }
            let servers = Arc::clone(&servers);
            let act = What::Act("leader killed", Arc::new(move |_| servers[leader].kill()));
            Some(Fault { what: act, when })
        });
    }
    writes
}
