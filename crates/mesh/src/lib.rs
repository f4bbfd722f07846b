//! The domain: who a task is in the mesh, what Consul and Secrets Manager should hold for it, and the plan that brings that
//! about. It does no I/O, knows no wire format of Consul or AWS, and has no clock: the time is an argument.
//!
//! ```text
//!  what is read                    what is decided                       what is to be done
//!  task · catalog · token ·   ─▶   definition: who a task is        ─▶   plan: the actions
//!  secret · definition             settings: which tokens it requires
//!                                  idleness: which service is idle
//!      (plan::Observed)            lifecycle: a token's next step
//!                                  guard: what a sweep may delete
//! ```
//!
//! - `consul_ecs`: what HashiCorp's consul-ecs is: its releases, containers, configuration and registrations.
//! - `arn`, `cluster_selection`, `identity`, `names`, `release`, `secret_name`, `secret_reference`, `tags`, `tenancy`: parsed once
//!   and then trusted.
//! - `hcp`: HashiCorp's own servers, which are gone.
//! - `host`: whether the host of a task is gone.
//! - `holder`: whose a token is. `mark`: which cluster and service, or which task, a token belongs to, by its description.
//! - `spelling`: which spellings of a service's secret get a token.
//! - `admission`: whether Consul has let a task log in as a service, or would.
//! - `time`: what is assumed of time.
//! - `health`: the statuses that Consul's checks should have. `repair`: what Consul has lost of a task, or has
//!   wrong. `broken`: which tasks have to be replaced.
//! - `permissions`: what the controller's own token has to be allowed.

pub mod admission;
pub mod arn;
pub mod broken;
pub mod catalog;
pub mod cluster_selection;
pub mod consul_ecs;
pub mod definition;
#[cfg(test)]
mod examples;
pub mod existence;
pub mod guard;
pub mod hcp;
pub mod health;
pub mod holder;
pub mod host;
pub mod identity;
pub mod idleness;
pub mod lifecycle;
pub mod local_address;
pub mod mark;
pub mod member;
pub mod names;
pub mod permissions;
pub mod plan;
pub mod quota;
pub mod release;
pub mod repair;
pub mod scope;
pub mod secret;
pub mod secret_name;
pub mod secret_reference;
pub mod settings;
pub mod spelling;
pub mod tags;
pub mod task;
pub mod tenancy;
pub mod time;
pub mod token;
