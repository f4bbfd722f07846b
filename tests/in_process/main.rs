//! The controller and its clients in the test's process, against a real Consul, `MiniStack`, or scripted answers of either: the
//! exact requests, their number, and the handling of each answer.

#![allow(clippy::expect_used, clippy::indexing_slicing, clippy::panic, clippy::unwrap_used)]

mod audit_edges;
mod bootstrap;
mod call_counts;
mod client;
mod concurrency;
mod counted;
mod ec2_client;
mod enterprise;
mod environment;
mod families;
mod healing;
mod limits;
mod live_mesh;
mod load_balancer_client;
mod observing;
mod orders;
mod own_events;
mod own_identity;
mod path_calls;
mod read_once;
mod repair;
mod revocation;
mod secrets_client;
mod security;
mod servers;
mod starting;
mod sweep;
mod task_kinds;
mod time;
mod without_acls;
