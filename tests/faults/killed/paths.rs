//! The paths through the functions: what there is before, the message, and what is undone afterwards.

use local_stack::world::idle_check;
use serde_json::{Value, json};

use super::{RECONCILE, Scene, TASK_EVENTS};

/// A path.
pub(super) struct Path {
    pub(super) name: &'static str,
    /// The calls that it cannot do without, and before and after which it therefore has to be killed: `PUT acl/token 2` is
    /// the second of that kind.
    pub(super) calls: &'static [&'static str],
    kind: Kind,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Kind {
    Ahead,
    FirstStart,
    ToldToStop,
    Stopped,
    IdleLook,
    DeletingLook,
    LivingLook,
    Sweep,
}

/// All of them.
pub(super) const PATHS: [Path; 8] = [
    Path {
        name: "killed-ahead",
        kind: Kind::Ahead,
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
        kind: Kind::IdleLook,
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
        kind: Kind::DeletingLook,
        calls: &["ListTasks", "ListTasks 2", "DescribeTasks", "GetSecretValue", "PutSecretValue", "DELETE acl/token"],
    },
    Path {
        name: "killed-restoring",
        kind: Kind::LivingLook,
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

impl Scene<'_> {
    /// Brings about what a path begins with. The answer is who gets which message.
    pub(super) async fn prepare(&mut self, path: &Path) -> (&'static str, Value) {
        let service = format!("{}-0", self.crowd.world.name);
        match path.kind {
            Kind::Ahead => {
                self.forget_tokens().await;
                (TASK_EVENTS, self.registered())
            }
            Kind::FirstStart => {
                self.forget_tokens().await;
                (TASK_EVENTS, self.crowd.start(0, 1).await.remove(0))
            }
            Kind::ToldToStop => (TASK_EVENTS, self.started_and_stopped().await.0),
            Kind::Stopped => (TASK_EVENTS, self.started_and_stopped().await.1),
            Kind::IdleLook => {
                let (_, stopped) = self.started_and_stopped().await;
                self.controller.done(&stopped).await;
                (TASK_EVENTS, idle_check(&service))
            }
            Kind::DeletingLook => {
                let (_, stopped) = self.started_and_stopped().await;
                self.controller.done(&stopped).await;
                self.controller.done(&idle_check(&service)).await;
                (TASK_EVENTS, idle_check(&service))
            }
            Kind::LivingLook => {
                let started = self.crowd.start(0, 1).await.remove(0);
                self.controller.done(&started).await;
                let pair = self.crowd.world.pair(&self.crowd.world.secret_name(&service)).await.unwrap();
                self.crowd.world.consul.delete(&format!("/v1/acl/token/{}", pair.accessor_id)).await;
                (TASK_EVENTS, idle_check(&service))
            }
            Kind::Sweep => {
                // The events of one service's start and of the other one's stop are lost.
                let starting = usize::from(!self.crowd.living(0).is_empty());
                self.crowd.start(starting, 1).await;
                for index in self.crowd.living(1 - starting) {
                    self.crowd.stop(index).await;
                }
                (RECONCILE, json!({}))
            }
        }
    }

    /// There is nothing of the service's and the client agents' tokens, as before the first task of all.
    async fn forget_tokens(&self) {
        let world = &self.crowd.world;
        let client = format!("{}-consul-client-token", world.prefix);
        for secret in [client, world.secret_name(&format!("{}-0", world.name))] {
            if world.secret_text(&secret).await.is_some() {
                let call = world.aws.secrets().delete_secret().secret_id(secret).force_delete_without_recovery(true);
                call.send().await.expect("DeleteSecret");
            }
        }
        for accessor in self.crowd.tokens_of(&["consul-client", &format!("{}-0 service", world.name)]).await {
            world.consul.delete(&format!("/v1/acl/token/{accessor}")).await;
        }
    }

    /// What CloudTrail tells when the service's definition is registered.
    fn registered(&self) -> Value {
        let mut event: Value =
            serde_json::from_str(include_str!("../../../events/api-call-register-task-definition.json")).unwrap();
        event["detail"]["responseElements"]["taskDefinition"]["taskDefinitionArn"] = json!(self.crowd.definition(0));
        event
    }

    /// A service has its token, and its only task has stopped: the events that say so.
    async fn started_and_stopped(&mut self) -> (Value, Value) {
        let started = self.crowd.start(0, 1).await.remove(0);
        self.controller.done(&started).await;
        let [told, stopped] = self.crowd.stop(self.crowd.members.len() - 1).await;
        (told, stopped)
    }

    /// Ends what a path has begun, so that it can begin anew.
    pub(super) async fn clean_up(&mut self, path: &Path) {
        if path.kind == Kind::Sweep {
            return;
        }
        if path.kind == Kind::Ahead {
            // Then the first task finds its token.
            let started = self.crowd.start(0, 1).await.remove(0);
            self.controller.done(&started).await;
        }
        if path.kind == Kind::Ahead || path.kind == Kind::FirstStart || path.kind == Kind::LivingLook {
            // What has just been made has to be right before it goes.
            let wrong = self.crowd.violations().await;
            assert!(wrong.is_empty(), "{}: {wrong:#?}", path.name);
        }
        for index in self.crowd.living(0) {
            self.crowd.stop(index).await;
        }
        let stopped = self.crowd.replay().pop().expect("a task");
        self.controller.done(&stopped).await;
        // The first look hides the token, and the second one deletes it.
        for _ in 0..2 {
            self.controller.done(&idle_check(&format!("{}-0", self.crowd.world.name))).await;
        }
    }
}
