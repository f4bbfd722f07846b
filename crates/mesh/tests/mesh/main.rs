//! Tasks as ECS describes them, with their definitions: who they are, what Consul should hold for them, and whether they are broken.

#![allow(clippy::unwrap_used)]

mod broken;
mod definition;
mod health;
mod repair;
mod task;
