//! Reads the world of a scope, once: tasks and their definitions in ECS, and what Consul and Secrets Manager have of them, each with
//! what could not be read and why. What it reads, it sets apart from what is another's or
//! not certain; what to do about it, the plan decides. It has no trait that writes.
//!
//! ```text
//!  events ───▶ Observer::observe ─────┐
//!  sweep, ───▶ Observer::read_world ──┼─▶ tasks · definitions · catalog · hosts ─▶ values, and what could not be read
//!  clean-up                           │
//!  ecs-mesh ─▶ Inspector::inspect ────┘
//!              read_live_mesh: what a mesh has of the names in files, before these are deployed
//!              PathReader: what a request from one service to another depends on
//!              InstallationReader, History: the stack, its functions and their log
//! ```
//!
//! A controller refuses where a value is missing; a diagnosis goes on and says so. Both read with the same functions.

mod border;
mod catalog;
mod changes;
mod clock;
mod concurrency;
mod container_log;
mod datacenter;
mod definitions;
mod ecs_reading;
mod edges;
mod error;
mod history;
mod hosts;
mod inspected;
mod inspection;
mod installation;
mod live_mesh;
mod network;
mod observer;
mod path;
mod problem;
mod proxy_output;
mod selection;
mod targets;
mod tasks;
mod world;

/// What the reads of this crate return.
pub use aws::{
    ec2::{AclEntry, Ec2Error, GroupRule, Interface, NetworkAcl, Ports, RulePeer},
    ecs::{
        API_CALL_DETAIL_TYPE, ApiCall, Balanced, DETAIL_TYPE, EcsError, Rollout, RunningService, ServiceDeployment,
        ServiceMessage, ServiceState, parse_api_call, parse_task_change,
    },
    installation::{Caller, DeployedStack, Invoked, Mapping, StackResource, StackResources, Topic, TopicKey, Trail},
    load_balancers::{Target, TargetsError},
    logs::{LogEvent, LogsError},
    queue::FailedMessage,
};
pub use consul::{
    CaRoot, CallLimits, ChainNode, ChainOverrides, ChainResolver, ChainTarget, ConnectProxy, ConsulError, Datacenter,
    Direction, DiscoveryChain, EnvoyExtension, ExpiringCertificate, ExportedService, GatewayRoute, HttpMatch,
    Intention, IntentionAction, IntentionEnd, IntentionPermission, Matched, MeshEntry, OutlierDetection, OwnToken,
    Peering, ProxyDefaults, RegisteredUpstream, ServiceLimits, TokenOwner, UnreadableCertificate, Validity,
};

pub use self::{
    border::{Beyond, Border, BorderReading, GatewayMode, GatewayPlace, Origin},
    catalog::roles_of,
    changes::{ReadErrors, keep_retryable},
    clock::{Clock, Deadline, OutOfTime, SystemClock, Timed, TimestampCache},
    concurrency::{concurrently, concurrently_in_order},
    container_log::last_lines,
    datacenter::DatacenterReading,
    definitions::Definitions,
    ecs_reading::EcsReading,
    edges::{ConsulReads, EcsReads, Reads},
    error::{CallError, Reach},
    history::{History, Wanted},
    inspected::{
        CatalogReading, InspectedCluster, InspectionError, MemberService, OtherController, Outside, RunsAs,
        UntaggedTask, lost_tag,
    },
    inspection::{InspectedTokens, Inspection, Inspector, TokensReading},
    installation::{
        AccountReading, ConsulReading, InstallationReader, Letters, MeshEntryReading, PartsReading, QueueReading, Read,
        SurroundingsReading, physical_id,
    },
    live_mesh::{
        ChainServices, Live, LiveMeshError, LiveMeshQuestions, LiveMeshReading, READ_AGENTS, READ_LOGINS,
        READ_SERVICES, read_live_mesh,
    },
    network::{NetworkReading, read_network},
    observer::Observer,
    path::{Answer, DestinationReading, MeshReading, PathReader, ServiceAt, SourceReading},
    problem::Problem,
    proxy_output::{Endpoint, HeldCertificate, Listener, ProxyOutput, ProxyOutputError, Rejection},
    selection::{SelectError, select_clusters},
    targets::{TargetsReading, read_targets},
    tasks::{ClusterStatuses, ListedTasks, namesakes},
    world::{Reading, Skipped, SweepCause, SweepOrder, Waited, World},
};
