//! The domain model: the identity of a task in the mesh, the state that Consul and Secrets Manager should have for it,
//! and the plan that gets them there. No I/O, no client types, no clock.

pub mod action;
pub mod arn;
pub mod bounds;
pub mod catalog;
pub mod ecs_config;
pub mod field;
pub mod grace;
pub mod guard;
pub mod health;
pub mod identity;
pub mod idleness;
pub mod lifecycle;
pub mod mark;
pub mod observed;
pub mod permission;
pub mod phase;
pub mod plan;
pub mod rules;
pub mod secret;
pub mod secret_name;
pub mod service_name;
pub mod tags;
pub mod task;
pub mod tenancy;
pub mod time;
pub mod token;
