//! The resident memory of the function: after its start, and after many events.

use std::time::Duration;

use local_stack::pids;
use serde_json::{Value, json};
use test_harness::function::{Function, RuntimeApi, wait_for_requests};

use crate::{
    first_event::{Event, FirstEvents, batch_of},
    relay::Relay,
};

/// The events after which memory is read.
pub(crate) const EVENTS: usize = 1_000;

impl FirstEvents<'_> {
    /// The most megabytes that were resident until the function asked for its first event, and until it had handled
    /// [`EVENTS`] of them.
    pub(crate) async fn resident(&mut self) -> [f64; 2] {
        self.made += 1;
        let (event, _) = self.event(Event::Stop).await;
        let event = batch_of(&event);
        [self.resident_after(vec![]).await, self.resident_after(vec![event; EVENTS]).await]
    }

    async fn resident_after(&self, events: Vec<Value>) -> f64 {
        let consul = Relay::before(&self.world.consul.address, &self.identity, Duration::ZERO).await;
        let aws = Relay::before(&self.world.aws.endpoint, &self.identity, Duration::ZERO).await;
        let (cluster, roots, count) = (self.world.cluster(), self.roots(), events.len());
        let mut variables = self.variables(&consul.url, &cluster, &roots);
        variables.push(("AWS_ENDPOINT_URL", aws.url.as_str()));
        let runtime = RuntimeApi::start(events).await;
        let function = Function::start(&self.binary, &runtime, &variables);
        for answer in runtime.answers(count).await {
            assert_eq!(answer.json()["batchItemFailures"], json!([]), "{}", answer.body);
        }
        wait_for_requests(&runtime.0, count + 1, |seen| seen.uri.ends_with("/invocation/next")).await;
        let kib = pids::peak_resident_kib(function.pid()).expect("the function runs");
        f64::from(u32::try_from(kib).expect("less than 4 TiB")) * 1024.0 / 1e6
    }
}
