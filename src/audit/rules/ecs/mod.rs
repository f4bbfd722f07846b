//! What ECS itself makes of a task definition: start and stop order, secrets.

mod dependency_unknown;

use crate::audit::rule::Rule;

pub(super) static RULES: &[&Rule] = &[&dependency_unknown::RULE];
