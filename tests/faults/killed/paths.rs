//! The paths through the functions: the state before, the message, and the clean-up afterwards.

use local_stack::world::idle_check;
use serde_json::{Value, json};

use super::{Fixture, RECONCILE, TASK_EVENTS};

/// A path.
pub(super) struct Path {
    pub(super) name: &'static str,
    /// The calls that every run of the path makes, so that it has to be killed before and after each: `PUT acl/token 2` is the
    /// second call of that kind.
    pub(super) calls: &'static [&'static str],
    kind: Kind,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Kind {
    PreProvision,
    FirstStart,
    ToldToStop,
    Stopped,
    HidingCheck,
    DeletingCheck,
    RestoringCheck,
    Sweep,
}

/// All paths.
pub(super) const PATHS: [Path; 8] = [
    Path {
        name: "killed-registered",
        kind: Kind::PreProvision,
        calls: &[
            "DescribeTaskDefinition",
            "GetSecretValue",
            "GetSecretValue 2",
            "CreateSecret",
            "CreateSecret 2",
            "PUT acl/policy",
            "PUT acl/token",
            "PUT acl/token 2",
        ],
    },
    Path {
        name: "killed-first-start",
        kind: Kind::FirstStart,
        calls: &[
            "DescribeTaskDefinition",
            "GetSecretValue",
            "GetSecretValue 2",
            "CreateSecret",
            "CreateSecret 2",
            "PUT acl/policy",
            "PUT acl/token",
            "PUT acl/token 2",
        ],
    },
    Path {
        name: "killed-told-to-stop",
        kind: Kind::ToldToStop,
        calls: &["DescribeTaskDefinition", "GET catalog/node-services", "GET health/node", "PUT catalog/register"],
    },
    Path {
        name: "killed-stopped",
        kind: Kind::Stopped,
        calls: &[
            "DescribeTaskDefinition",
            "GET acl/tokens",
            "GET catalog/node-services",
            "DELETE acl/token",
            "PUT txn",
            "SendMessageBatch",
        ],
    },
    Path {
        name: "killed-hiding",
        kind: Kind::HidingCheck,
        calls: &[
            "ListTasks",
            "ListTasks 2",
            "DescribeTasks",
            "GetSecretValue",
            "GET acl/token",
            "SendMessageBatch",
            "PutSecretValue",
        ],
    },
    Path {
        name: "killed-deleting",
        kind: Kind::DeletingCheck,
        calls: &["ListTasks", "ListTasks 2", "DescribeTasks", "GetSecretValue", "PutSecretValue", "DELETE acl/token"],
    },
    Path {
        name: "killed-restoring",
        kind: Kind::RestoringCheck,
        calls: &[
            "ListTasks",
            "ListTasks 2",
            "DescribeTasks",
            "GetSecretValue",
            "GET acl/token",
            "PutSecretValue",
            "PUT acl/token",
        ],
    },
    Path {
        name: "killed-sweeping",
        kind: Kind::Sweep,
        calls: &[
            "DescribeClusters",
            "ListTasks",
            "ListTasks 2",
            "DescribeTasks",
            "DescribeTaskDefinition",
            "GET acl/tokens",
            "GET agent/members",
            "GET catalog/node-services",
            "GetSecretValue",
            "GetSecretValue 2",
            "GET acl/token",
            "PutSecretValue",
            "PUT acl/token",
            "DELETE acl/token",
            "PUT txn",
        ],
    },
];

impl Fixture<'_> {
    /// Prepares the state before a path. Returns the function and its message.
    pub(super) async fn prepare(&mut self, path: &Path) -> (&'static str, Value) {
        let service = format!("{}-0", self.fleet.world.name);
        match path.kind {
            Kind::PreProvision => {
                self.delete_tokens().await;
                (TASK_EVENTS, self.registered())
            }
            Kind::FirstStart => {
                self.delete_tokens().await;
                (TASK_EVENTS, self.fleet.start(0, 1).await.remove(0))
            }
            Kind::ToldToStop => (TASK_EVENTS, self.started_and_stopped().await.0),
            Kind::Stopped => (TASK_EVENTS, self.started_and_stopped().await.1),
            Kind::HidingCheck => {
                let (_, stopped) = self.started_and_stopped().await;
                self.controller.handle(&stopped).await;
                (TASK_EVENTS, idle_check(&service))
            }
            Kind::DeletingCheck => {
                let (_, stopped) = self.started_and_stopped().await;
                self.controller.handle(&stopped).await;
                self.controller.handle(&idle_check(&service)).await;
                (TASK_EVENTS, idle_check(&service))
            }
            Kind::RestoringCheck => {
                let started = self.fleet.start(0, 1).await.remove(0);
                self.controller.handle(&started).await;
                let pair = self.fleet.world.pair(&self.fleet.world.secret_name(&service)).await.unwrap();
                self.fleet.world.consul.delete(&format!("/v1/acl/token/{}", pair.accessor_id)).await;
                (TASK_EVENTS, idle_check(&service))
            }
            Kind::Sweep => {
                // The events of one service's start and of the other one's stop are lost.
                let starting = usize::from(!self.fleet.running(0).is_empty());
                self.fleet.start(starting, 1).await;
                for index in self.fleet.running(1 - starting) {
                    self.fleet.stop(index).await;
                }
                (RECONCILE, json!({}))
            }
        }
    }

    /// Deletes the tokens of the service and of the client agents, with their secrets, as before the first task.
    async fn delete_tokens(&self) {
        let world = &self.fleet.world;
        let client = format!("{}-consul-client-token", world.prefix);
        for secret in [client, world.secret_name(&format!("{}-0", world.name))] {
            if world.secret_text(&secret).await.is_some() {
                let call = world.aws.secrets().delete_secret().secret_id(secret).force_delete_without_recovery(true);
                call.send().await.expect("DeleteSecret");
            }
        }
        for accessor in self.fleet.tokens_of(&["consul-client", &format!("{}-0 service", world.name)]).await {
            world.consul.delete(&format!("/v1/acl/token/{accessor}")).await;
        }
    }

    /// CloudTrail's event of the registration of the service's task definition.
    fn registered(&self) -> Value {
        let mut event: Value =
            serde_json::from_str(include_str!("../../../events/api-call-register-task-definition.json")).unwrap();
        event["detail"]["responseElements"]["taskDefinition"]["taskDefinitionArn"] = json!(self.fleet.definition(0));
        event
    }

    /// Starts a service's task, so that it has its token, and stops it. Returns the events of its stopping and of its stop.
    async fn started_and_stopped(&mut self) -> (Value, Value) {
        let started = self.fleet.start(0, 1).await.remove(0);
        self.controller.handle(&started).await;
        let [stopping, stopped] = self.fleet.stop(self.fleet.tasks.len() - 1).await;
        (stopping, stopped)
    }

    /// Stops the service's tasks and deletes its token, so that the path can be repeated.
    pub(super) async fn clean_up(&mut self, path: &Path) {
        if path.kind == Kind::Sweep {
            return;
        }
        if path.kind == Kind::PreProvision {
            // The first task finds its token.
            let started = self.fleet.start(0, 1).await.remove(0);
            self.controller.handle(&started).await;
        }
        if path.kind == Kind::PreProvision || path.kind == Kind::FirstStart || path.kind == Kind::RestoringCheck {
            // Check what was created before it is deleted.
            let wrong = self.fleet.violations().await;
            assert!(wrong.is_empty(), "{}: {wrong:#?}", path.name);
        }
        for index in self.fleet.running(0) {
            self.fleet.stop(index).await;
        }
        let stopped = self.fleet.replay().pop().expect("a task");
        self.controller.handle(&stopped).await;
        // The first idle check hides the token, and the second deletes it.
        for _ in 0..2 {
            self.controller.handle(&idle_check(&format!("{}-0", self.fleet.world.name))).await;
        }
    }
}
