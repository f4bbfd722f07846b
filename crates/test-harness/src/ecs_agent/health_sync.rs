//! `health-sync`: at each tick it compares the health of its task's containers with what it remembers.

use std::collections::BTreeMap;

use reqwest::Method;
use serde_json::{Value, json};

use super::{
    DATAPLANE,
    memory::{CheckHealth, Memory},
    task::DataplaneTask,
};

/// The program of one task.
pub struct HealthSync<'a> {
    task: DataplaneTask<'a>,
    memory: Memory,
    /// The checks as `mesh-init` registered them, by ID.
    checks: BTreeMap<String, Value>,
    state: State,
}

#[derive(PartialEq, Eq)]
enum State {
    Running,
    /// It waits for the end of the dataplane.
    ToldToStop,
    Ended,
}

impl<'a> HealthSync<'a> {
    pub(super) fn new(task: DataplaneTask<'a>, memory: Memory, registrations: &[Value]) -> Self {
        let mut checks = BTreeMap::new();
        for body in registrations {
            for check in body["Checks"].as_array().expect("checks") {
                let mut check = check.clone();
                check["Node"] = body["Node"].clone();
                check["ServiceName"] = body["Service"]["Service"].clone();
                checks.insert(check["CheckID"].as_str().expect("an ID").to_owned(), check);
            }
        }
        Self { task, memory, checks, state: State::Running }
    }

    /// One look at the containers: writes what is due, and returns the number of accepted and of refused requests.
    pub async fn tick(&mut self) -> (usize, usize) {
        match self.state {
            State::Ended => return (0, 0),
            State::ToldToStop if self.task.has_stopped(DATAPLANE).await => return self.deregister().await,
            State::ToldToStop | State::Running => {}
        }
        let health = self.task.health().await;
        let (mut accepted, mut refused) = (0, 0);
        for write in self.memory.due(&health) {
            let mut is_accepted = true;
            for checks in &write.requests {
                is_accepted = self.write(checks).await;
                if !is_accepted {
                    refused += 1;
                    break;
                }
                accepted += 1;
            }
            if is_accepted {
                self.memory.remember(write);
            }
        }
        (accepted, refused)
    }

    /// It is told to stop: its checks become critical. It ends, and deregisters the task, once the dataplane has stopped.
    pub async fn tell_to_stop(&mut self) {
        self.state = State::ToldToStop;
        for write in self.memory.at_stop() {
            for checks in &write.requests {
                self.write(checks).await;
            }
        }
    }

    /// Writes checks in one request. Returns whether Consul has accepted them.
    async fn write(&self, checks: &[CheckHealth]) -> bool {
        let body = json!({
            "Node": self.task.world().cluster(),
            "SkipNodeUpdate": true,
            "Checks": checks.iter().map(|check| self.body(check)).collect::<Vec<Value>>(),
        });
        self.put("/v1/catalog/register", &body).await
    }

    fn body(&self, check: &CheckHealth) -> Value {
        let id = format!("{}{}", self.task.instance(), check.suffix);
        let mut body = self.checks.get(&id).expect("a registered check").clone();
        body["Output"] = json!(format!("ECS health status is {:?} for container {id:?}", check.health));
        body["Status"] = json!(check.status());
        body
    }

    async fn deregister(&mut self) -> (usize, usize) {
        self.state = State::Ended;
        for id in [self.task.instance(), self.task.sidecar()] {
            let body = json!({ "Node": self.task.world().cluster(), "ServiceID": id });
            self.put("/v1/catalog/deregister", &body).await;
        }
        (2, 0)
    }

    /// A write that Consul may refuse, because it has forgotten the task.
    async fn put(&self, path: &str, body: &Value) -> bool {
        let consul = self.task.world().consul;
        let answer = consul.call(Method::PUT, path, &consul.management_token, Some(body)).await;
        let refusal = answer.body.as_str().unwrap_or_default();
        assert!(answer.status == 200 || refusal.contains("Unknown service"), "{}: {refusal}", answer.status);
        answer.status == 200
    }
}
