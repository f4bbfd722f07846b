//! What stops cost in an environment that has handled some before: instructions, which grow with the number of tokens in Consul, and
//! resident memory.

use std::time::Duration;

use local_stack::{pids, world::task_id};
use serde_json::{Value, json};
use test_harness::{
    function::{Function, RuntimeApi, wait_for_requests},
    recorder::{Answer, Recorder},
};

use crate::{
    callgrind::Counted,
    first_event::{Event, FirstEvents, batch_of},
    relay::Relay,
};

/// The stops of the longer run; the shorter one has one.
const STOPS: usize = 6;

/// The events after which memory is read.
pub(crate) const EVENTS: usize = 1_000;

impl FirstEvents<'_> {
    /// The instructions of one more stop, with so many tokens in Consul.
    pub(crate) async fn instructions_of_a_stop(&mut self, tokens: usize) -> f64 {
        let list = token_list(tokens);
        let (one, several) = (self.instructions(&list, 1).await, self.instructions(&list, STOPS).await);
        (several - one) / f64::from(u32::try_from(STOPS - 1).expect("a small number"))
    }

    async fn instructions(&mut self, list: &str, stops: usize) -> f64 {
        let mut events = Vec::new();
        for _ in 0..stops {
            self.made += 1;
            events.push(batch_of(&self.event(Event::Stop).await.0));
        }
        let list = list.to_owned();
        let consul = Recorder::before(&self.world.consul.address, move |request, _| {
            let is_list = request.uri.starts_with("/v1/acl/tokens");
            if is_list { Answer::ok(list.clone()) } else { Answer::Forward }
        });
        let consul = Relay::before(&consul.await.url, &self.identity, Duration::ZERO).await;
        let aws = Relay::before(&self.world.aws.endpoint, &self.identity, Duration::ZERO).await;
        let runtime = RuntimeApi::start(events).await;
        let cluster = self.world.cluster();
        let roots = self.roots();
        let mut variables = self.variables(&consul.url, &cluster, &roots);
        variables.push(("AWS_ENDPOINT_URL", aws.url.as_str()));
        let function = Counted::start(&self.binary, &runtime, &variables);
        for answer in runtime.answers(stops).await {
            assert_eq!(answer.json()["batchItemFailures"], json!([]), "{}", answer.body);
        }
        wait_for_requests(&runtime.0, stops + 1, |seen| seen.uri.ends_with("/invocation/next")).await;
        function.instructions()
    }

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

/// Consul's list of so many login tokens of other tasks.
fn token_list(tokens: usize) -> String {
    let entry = |number: usize| -> Value {
        let task = format!("{number:032x}");
        let meta = json!({
            "consul.hashicorp.com/cluster": "arn:aws:ecs:us-east-1:000000000000:cluster/bench",
            "consul.hashicorp.com/task-id": task_id(&task),
        });
        json!({
            "CreateIndex": 1000 + number,
            "ModifyIndex": 1000 + number,
            "AccessorID": format!("00000000-0000-4000-8000-{number:012x}"),
            "SecretID": format!("10000000-0000-4000-8000-{number:012x}"),
            "Description": format!("token created via login: {meta}"),
            "ServiceIdentities": [{ "ServiceName": format!("service-{}", number % 100) }],
            "Local": true,
            "AuthMethod": "iam-ecs-service-token",
            "CreateTime": "2026-11-20T08:15:42.123456789Z",
            "Hash": "4bQzPIeBGSsqAbZCDMXRdxCfjI6mIOYmxaVRxwBEHx8=",
            "Legacy": false,
        })
    };
    Value::Array((0..tokens).map(entry).collect()).to_string()
}
