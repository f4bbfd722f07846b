//! The client generation (consul-ecs up to 0.6): the task's own Consul client agent, and Envoy.

use crate::audit::rule::Rule;

pub(in crate::audit::rules) static RULES: &[&Rule] = &[];
