//! The dataplane generation (consul-ecs 0.7 and newer).

use crate::audit::rule::Rule;

pub(in crate::audit::rules) static RULES: &[&Rule] = &[];
