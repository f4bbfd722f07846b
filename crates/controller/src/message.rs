//! The messages of the queue. A message names what to check, never what to delete.

use std::{
    collections::{BTreeMap, BTreeSet},
    sync::Arc,
};

use aws::ecs::{
    API_CALL_DETAIL_TYPE, ApiCall, DETAIL_TYPE, HOST_DETAIL_TYPE, SOURCE, cluster_of_api_call, cluster_of_task_change,
    parse_api_call, parse_lost_host, parse_task_change,
};
use mesh::{
    arn::{ClusterArn, TaskArn, TaskDefinitionArn},
    cluster_selection::ClusterSelection,
    holder::TokenHolder,
    host::LostHost,
    identity::MeshService,
    names::InvalidField,
    scope::Scope,
    task::{TaskChange, TaskPhase},
    tenancy::Tenancy,
};
use report::{Envelope, IdleCheckOrder, LostNodeOrder, OWN_SOURCE, SecondLookOrder};
use serde::Deserialize;
use serde_json::{Value, json};
use telemetry::{Counted, EventKind};
use tracing::{debug, error, info, warn};

use crate::{error::ControllerError, failures::Failures, outcome::Changes};

/// The longest chain of messages that the controller sends to itself: an idle check that hides a token requests the one
/// that deletes it. AWS sees such a chain as a loop, which the template allows: this bound ends it.
const MAX_HOPS: u32 = 8;
/// The largest accepted message, in bytes: the limit of SQS.
const MAX_BYTES: usize = 1024 * 1024;

/// A message of the queue.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Message {
    /// A task changed.
    TaskChange(Box<TaskChange>),
    /// A host has lost contact with ECS.
    LostHost(LostHost),
    IdleCheck(IdleCheck),
    /// A second look at tasks that ECS did not know.
    SecondLook(SecondLook),
    /// The order of a sweep of clusters whose nodes Consul had lost.
    LostNodes(BTreeSet<ClusterArn>),
    /// A call of the ECS API.
    ApiCall(ApiCall),
    /// An event of a cluster that is not configured. Nothing else of it is read.
    Elsewhere(ClusterArn),
    /// An event that the controller does not use, and what it is.
    Other(String),
}

/// A request to check whether a task uses the token of a holder.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct IdleCheck {
    pub(crate) holder: TokenHolder,
    /// Its position in the chain of messages that the controller sends to itself: 1 for the first.
    pub(crate) hops: u32,
}

/// A request to look again at tasks that ECS did not know in a sweep.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct SecondLook {
    /// The clusters of the sweep; empty: all.
    pub(crate) clusters: Vec<ClusterArn>,
    pub(crate) tasks: BTreeSet<TaskArn>,
    /// Whether an operator forced the sweep, and so the removal of `tasks`; of nothing else, because a message may come late.
    pub(crate) force: bool,
}

impl Message {
    /// Parses an `EventBridge` envelope, of ECS or of the controller, for a deployment with these clusters.
    pub(crate) fn parse(body: &str, clusters: &ClusterSelection) -> Result<Self, InvalidField> {
        if body.len() > MAX_BYTES {
            return Err(InvalidField::new("body", &format!("{} bytes", body.len()), "at most 1 MiB"));
        }
        let envelope: Envelope =
            serde_json::from_str(body).map_err(|_| InvalidField::new("body", body, "an EventBridge event in JSON"))?;
        let (Some(source), Some(detail_type)) = (envelope.source, envelope.detail_type) else {
            return Err(InvalidField::new("body", body, "an EventBridge event with source and detail-type"));
        };
        let detail = envelope.detail;
        let other = || Ok(Self::Other(format!("{source}: {detail_type}")));
        match (source.as_str(), detail_type.as_str()) {
            (SOURCE, DETAIL_TYPE) => {
                let cluster = cluster_of_task_change(&detail)?;
                if !clusters.contains(&cluster) {
                    return Ok(Self::Elsewhere(cluster));
                }
                match parse_task_change(envelope.time.as_deref(), &detail)? {
                    Some(change) => Ok(Self::TaskChange(Box::new(change))),
                    None => Ok(Self::Other(format!("{detail_type}: a task without a task definition"))),
                }
            }
            (SOURCE, HOST_DETAIL_TYPE) => match parse_lost_host(&detail) {
                Some(host) if !clusters.contains(&host.cluster) => Ok(Self::Elsewhere(host.cluster)),
                Some(host) => Ok(Self::LostHost(host)),
                None => other(),
            },
            (SOURCE, API_CALL_DETAIL_TYPE) => match cluster_of_api_call(&detail) {
                Some(cluster) if !clusters.contains(&cluster) => Ok(Self::Elsewhere(cluster)),
                _ => parse_api_call(&detail)?.map_or_else(other, |call| Ok(Self::ApiCall(call))),
            },
            (OWN_SOURCE, IdleCheckOrder::DETAIL_TYPE) => parse_idle_check(&detail).map(Self::IdleCheck),
            (OWN_SOURCE, SecondLookOrder::DETAIL_TYPE) => parse_second_look(&detail).map(Self::SecondLook),
            (OWN_SOURCE, LostNodeOrder::DETAIL_TYPE) => parse_lost_nodes(&detail, clusters).map(Self::LostNodes),
            _ => other(),
        }
    }

    /// The body of the message that requests a second look.
    pub(crate) fn second_look(request: &SecondLook) -> String {
        let order = SecondLookOrder {
            clusters: request.clusters.iter().map(ToString::to_string).collect(),
            tasks: request.tasks.iter().map(ToString::to_string).collect(),
            force: request.force,
        };
        json!(order.message()).to_string()
    }

    /// The body of the message that orders a sweep of clusters whose nodes Consul had lost.
    pub(crate) fn lost_nodes(clusters: &BTreeSet<ClusterArn>) -> String {
        let clusters = clusters.iter().map(ToString::to_string).collect();
        json!(LostNodeOrder { clusters }.message()).to_string()
    }

    /// The body of the message that requests an idle check of `holder`, after a chain of `hops` messages. `None` for
    /// client agents, whose token stays, and at the end of a chain: then the sweep continues.
    pub(crate) fn idle_check(holder: &TokenHolder, hops: u32) -> Option<String> {
        let service = holder.service()?;
        if hops >= MAX_HOPS {
            Counted::MessageChainsEnded.add(1);
            error!(action = "ask_for_idle_check", outcome = "too_many_hops", holder = %holder, hops,
                "stopped a chain of the controller's own messages");
            return None;
        }
        let order = IdleCheckOrder {
            service: service.name.to_string(),
            secret: if let TokenHolder::Spelled { secret, .. } = holder { Some(secret.clone()) } else { None },
            hops: hops + 1,
            partition: service.tenancy.partition().map(ToString::to_string),
            namespace: service.tenancy.namespace().map(ToString::to_string),
        };
        Some(json!(order.message()).to_string())
    }
}

fn parse_idle_check(detail: &Value) -> Result<IdleCheck, InvalidField> {
    let text = detail.to_string();
    let detail = IdleCheckOrder::deserialize(detail)
        .map_err(|_| InvalidField::new("detail", &text, "a service, and its partition and namespace or neither"))?;
    let fields = ("detail.partition", "detail.namespace");
    let tenancy = Tenancy::from_names(detail.partition.as_deref(), detail.namespace.as_deref(), fields)?;
    let service = MeshService {
        tenancy: tenancy.unwrap_or_default(),
        name: detail.service.parse().map_err(|e: InvalidField| e.in_field("detail.service"))?,
    };
    let holder = match detail.secret {
        Some(secret) => TokenHolder::in_secret(service, &secret).ok_or_else(|| {
            InvalidField::new("detail.secret", &secret, "the name of the service's secret, in any case")
        })?,
        None => TokenHolder::Service(service),
    };
    Ok(IdleCheck { holder, hops: detail.hops })
}

fn parse_second_look(detail: &Value) -> Result<SecondLook, InvalidField> {
    let text = detail.to_string();
    let SecondLookOrder { clusters, tasks, force } = SecondLookOrder::deserialize(detail)
        .map_err(|_| InvalidField::new("detail", &text, "clusters, tasks, and whether an operator forces it"))?;
    let cluster = |arn: &String| arn.parse().map_err(|e: InvalidField| e.in_field("detail.clusters"));
    let task = |arn: &String| arn.parse().map_err(|e: InvalidField| e.in_field("detail.tasks"));
    Ok(SecondLook {
        clusters: clusters.iter().map(cluster).collect::<Result<_, _>>()?,
        tasks: tasks.iter().map(task).collect::<Result<_, _>>()?,
        force,
    })
}

/// The configured ones among the clusters.
fn parse_lost_nodes(detail: &Value, configured: &ClusterSelection) -> Result<BTreeSet<ClusterArn>, InvalidField> {
    let text = detail.to_string();
    let LostNodeOrder { clusters } =
        LostNodeOrder::deserialize(detail).map_err(|_| InvalidField::new("detail", &text, "clusters"))?;
    let cluster = |arn: &String| arn.parse().map_err(|e: InvalidField| e.in_field("detail.clusters"));
    let mut clusters: BTreeSet<ClusterArn> = clusters.iter().map(cluster).collect::<Result<_, _>>()?;
    clusters.retain(|cluster| configured.contains(cluster));
    Ok(clusters)
}

/// A received message.
#[derive(Debug, Clone)]
pub struct Delivery {
    pub id: String,
    /// The receipt handle in SQS; `None` for an event without a queue.
    pub receipt: Option<String>,
    /// How often it was received, including this time.
    pub receives: u32,
    /// The message: an `EventBridge` envelope in JSON.
    pub body: String,
}

/// An idle check that messages request.
#[derive(Default)]
pub(super) struct RequestedCheck {
    pub(super) messages: Vec<usize>,
    /// The length of the longest chain of own messages that led to one of them.
    pub(super) hops: u32,
}

/// The batch, sorted.
#[derive(Default)]
pub(super) struct Sorted {
    /// The newest change of each task.
    pub(super) changes: Changes,
    /// The messages with that change. Duplicates fail together, so that none is acknowledged before the work is done.
    pub(super) messages: BTreeMap<TaskArn, Vec<usize>>,
    /// The hosts that have lost contact with ECS, and the messages that say so.
    pub(super) hosts: BTreeMap<LostHost, Vec<usize>>,
    /// The holders whose tokens are checked for idleness.
    pub(super) idle_checks: BTreeMap<TokenHolder, RequestedCheck>,
    /// The second looks at tasks that ECS did not know, and the messages that request them.
    pub(super) second_looks: BTreeMap<SecondLook, Vec<usize>>,
    /// The clusters to sweep because Consul had lost their nodes, and the messages that order it.
    pub(super) lost_nodes: (BTreeSet<ClusterArn>, Vec<usize>),
    /// The definitions to pre-provision tokens for, and the messages that request it.
    pub(super) registered: BTreeMap<(TaskDefinitionArn, Option<ClusterArn>), Vec<usize>>,
    /// The kinds of the messages that are handled.
    pub(super) kinds: BTreeMap<usize, EventKind>,
    /// Messages that cannot be parsed.
    pub(super) unreadable: Failures<usize>,
}

impl Sorted {
    /// Sorts the messages. Ignores events of clusters that are not configured, of tasks outside the mesh, and of tasks with a status
    /// that this version does not know: a sweep sees what such a task becomes.
    pub(super) fn sort(deliveries: &[Delivery], scope: &Scope) -> Self {
        let mut sorted = Self::default();
        for (index, delivery) in deliveries.iter().enumerate() {
            match Message::parse(&delivery.body, &scope.clusters) {
                Ok(Message::Elsewhere(cluster)) => {
                    debug!(cluster_arn = %cluster, outcome = "ignored", "the cluster is not in ECS_CLUSTER_ARNS");
                }
                Ok(Message::TaskChange(change)) if change.phase == TaskPhase::Unknown => {
                    warn!(cluster_arn = %change.cluster, task_id = %change.arn.id(), outcome = "ignored",
                        "the status of the task is not known to this version");
                }
                Ok(Message::TaskChange(change)) => {
                    sorted.kinds.insert(index, EventKind::TaskChange);
                    sorted.keep_newest(index, *change);
                }
                Ok(Message::LostHost(host)) => {
                    sorted.kinds.insert(index, EventKind::HostChange);
                    sorted.hosts.entry(host).or_default().push(index);
                }
                Ok(Message::IdleCheck(IdleCheck { holder, hops })) => {
                    sorted.kinds.insert(index, EventKind::IdleCheck);
                    let check = sorted.idle_checks.entry(holder).or_default();
                    check.hops = check.hops.max(hops);
                    check.messages.push(index);
                }
                Ok(Message::SecondLook(look)) => {
                    sorted.kinds.insert(index, EventKind::SecondLook);
                    sorted.second_looks.entry(look).or_default().push(index);
                }
                Ok(Message::LostNodes(clusters)) => {
                    sorted.kinds.insert(index, EventKind::LostNode);
                    sorted.lost_nodes.0.extend(clusters);
                    sorted.lost_nodes.1.push(index);
                }
                Ok(Message::ApiCall(ApiCall::DefinitionInUse { definition, cluster })) => {
                    sorted.kinds.insert(index, EventKind::TaskDefinition);
                    sorted.registered.entry((definition, cluster)).or_default().push(index);
                }
                Ok(Message::ApiCall(ApiCall::ClusterDeleted(cluster))) => {
                    info!(cluster_arn = %cluster, outcome = "ignored", "deleted clusters are swept by reconcile");
                }
                Ok(Message::Other(what)) => {
                    info!(event = what, outcome = "ignored", "the controller does not use this event");
                }
                Err(error) => {
                    sorted.kinds.insert(index, EventKind::Unreadable);
                    sorted.unreadable.add(index, Arc::new(ControllerError::Unreadable(error)));
                }
            }
        }
        sorted
    }

    /// Keeps the newest version of a task: its work includes the work of older ones.
    pub(super) fn keep_newest(&mut self, index: usize, change: TaskChange) {
        let known = self.changes.get(&change.arn).map(|known| known.version);
        if known.is_none_or(|known| known < change.version) {
            self.messages.insert(change.arn.clone(), vec![index]);
            self.changes.insert(change.arn.clone(), change);
        } else if known == Some(change.version) {
            self.messages.entry(change.arn).or_default().push(index);
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    const PROD: &str = "arn:aws:ecs:us-east-1:123456789012:cluster/prod";

    fn parse(body: &str) -> Result<Message, InvalidField> {
        Message::parse(body, &ClusterSelection::parse(PROD, None).unwrap())
    }

    #[test]
    fn own_messages_round_trip() {
        let enterprise = Tenancy::from_names(Some("p"), Some("n"), ("", "")).unwrap().unwrap();
        for tenancy in [Tenancy::Community, enterprise] {
            let service = MeshService { tenancy, name: "web".parse().unwrap() };
            let spelled = TokenHolder::in_secret(service.clone(), &service.secret_name().to_ascii_uppercase()).unwrap();
            for holder in [TokenHolder::Service(service), spelled] {
                let message = Message::idle_check(&holder, 0).unwrap();
                assert_eq!(parse(&message), Ok(Message::IdleCheck(IdleCheck { holder, hops: 1 })));
            }
        }
    }

    #[test]
    fn second_look_round_trips() {
        let cluster: ClusterArn = "arn:aws:ecs:us-east-1:123456789012:cluster/prod".parse().unwrap();
        let task = TaskArn::in_cluster(&cluster, &"0123456789abcdef0123456789abcdef".parse().unwrap());
        for force in [false, true] {
            let look = SecondLook { clusters: vec![cluster.clone()], tasks: BTreeSet::from([task.clone()]), force };
            assert_eq!(parse(&Message::second_look(&look)), Ok(Message::SecondLook(look)));
        }
    }

    #[test]
    fn order_of_lost_nodes_round_trips_for_the_clusters_of_the_deployment() {
        let all = [PROD, "arn:aws:ecs:us-east-1:123456789012:cluster/other"].map(|it| it.parse().unwrap());
        let order = Message::lost_nodes(&BTreeSet::from(all));
        assert_eq!(parse(&order), Ok(Message::LostNodes(BTreeSet::from([PROD.parse().unwrap()]))));
    }

    #[test]
    fn chain_of_own_messages_ends() {
        let holder = TokenHolder::Service(MeshService { tenancy: Tenancy::Community, name: "web".parse().unwrap() });
        let mut hops = 0;
        while let Some(body) = Message::idle_check(&holder, hops) {
            let Ok(Message::IdleCheck(next)) = parse(&body) else { panic!("an idle check: {body}") };
            assert_eq!(next.hops, hops + 1);
            hops = next.hops;
        }
        assert_eq!(hops, MAX_HOPS);
    }

    #[test]
    fn unused_event_is_not_an_error() {
        let body = r#"{"source":"aws.ecs","detail-type":"ECS Service Action","detail":{}}"#;
        assert_eq!(parse(body), Ok(Message::Other("aws.ecs: ECS Service Action".to_owned())));
    }

    #[test]
    fn malformed_event_is_an_error() {
        for body in ["", "{", "null", "[]", "{}", r#"{"source":"aws.ecs"}"#, r#"{"source":1,"detail-type":"x"}"#] {
            assert_eq!(parse(body).unwrap_err().field(), "body", "{body}");
        }
        assert_eq!(parse(&"x".repeat(2 * MAX_BYTES)).unwrap_err().field(), "body");
    }

    #[test]
    fn error_of_an_idle_check_names_the_field() {
        let body = r#"{"source":"ecs-mesh-controller","detail-type":"Service Idle Check","detail":{"service":"We b"}}"#;
        assert_eq!(parse(body).unwrap_err().field(), "detail.service");
    }

    proptest! {
        #[test]
        fn parsing_never_panics(body in "\\PC*") {
            let _ = parse(&body);
        }
    }
}
