//! Amazon ECS: its events and its API.

mod addresses;
mod api_call;
mod client;
mod clusters;
mod coverage;
mod definition_json;
mod definitions;
mod error;
mod event;
mod inventory;
mod services;
mod states;
mod tasks;

pub use self::{
    addresses::TaskAddresses,
    api_call::{API_CALL_DETAIL_TYPE, ApiCall, parse_api_call},
    client::{AwsEcs, DESCRIBE_LIMIT},
    clusters::{ClusterStatus, Clusters},
    definitions::TaskDefinitions,
    error::EcsError,
    event::{DETAIL_TYPE, SOURCE, parse_task_change},
    inventory::{Inventory, RunningService},
    services::{EcsService, EcsServices},
    states::{
        ClusterStates, ContainerLog, DefinitionState, ServiceDeployment, ServiceSaid, ServiceState, TaskHistory,
        TaskState,
    },
    tasks::{TaskList, Tasks},
};
