//! The domain: who a task is in the mesh, what Consul and Secrets Manager should hold for it, and the plan that brings that
//! about. It does no I/O, knows no wire format of Consul or AWS, and has no clock: the time is an argument.
//!
//! ```text
//!  what is read                    what is decided                       what is to be done
//!  task · catalog · token ·   ─▶   identity: who a task is          ─▶   action
//!  secret · tags · phase           required: which tokens it requires
//!                                  idleness: which service is idle
//!        (observed)                lifecycle: a token's next step
//!                                  plan: all of it, by the rules
//!                                  guard: what a sweep may delete
//! ```
//!
//! - `arn`, `cluster_selection`, `family`, `service_name`, `secret_name`, `secret_reference`, `tenancy`, `field`: names, parsed once and then trusted.
//! - `mark`: how a token's description says for which cluster and service it was made. `login`: which task logged in for
//!   a token.
//! - `admission`: whether Consul has let a task log in as a service, or would.
//! - `bounds`, `grace`, `time`: what is assumed of time.
//! - `mode`: whether the controller acts.
//! - `program`: the programs of consul-ecs in a task definition.
//! - `health`: the statuses that Consul's checks should have. `registration`: what consul-ecs registers for a task.
//!   `repair`: what Consul has forgotten of it, or remembers wrongly. `broken`: which tasks have to be replaced. `permission`: what the controller's own token has to be allowed.
//!   `policy_rules`: what its policy allows beyond. `reserved_secret`: names of secrets that are no service's.

pub mod action;
pub mod admission;
pub mod arn;
pub mod bounds;
pub mod broken;
pub mod catalog;
pub mod cluster_selection;
pub mod definition;
pub mod ecs_config;
#[cfg(test)]
mod examples;
pub mod family;
pub mod field;
pub mod grace;
pub mod guard;
pub mod health;
pub mod identity;
pub mod idleness;
pub mod lifecycle;
pub mod login;
pub mod mark;
pub mod mode;
pub mod observed;
pub mod permission;
pub mod phase;
pub mod plan;
pub mod policy_rules;
pub mod program;
pub mod registration;
pub mod repair;
pub mod required;
pub mod reserved_secret;
pub mod rules;
pub mod secret;
pub mod secret_name;
pub mod secret_reference;
pub mod service_name;
pub mod tags;
pub mod task;
pub mod task_end;
pub mod tenancy;
pub mod time;
pub mod token;
pub mod token_mode;
