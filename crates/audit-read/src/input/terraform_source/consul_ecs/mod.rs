//! Calls of `HashiCorp`'s modules for Consul on ECS: the task definitions that they make of their inputs. Source:
//! <https://github.com/hashicorp/terraform-aws-consul-ecs>
//!
//! A value has the place of the input that it is from. What a module makes by itself has the place of the call's name.
//! Parts that no input changes and that differ from patch to patch are unknown, so that no rule judges them.

mod client;
mod configuration;
mod containers;
mod controllers;
mod dataplane;
mod inputs;
mod naming;
mod release;
mod task;

pub(super) use self::{
    release::{Kind, Release, called},
    task::{definition, service},
};
