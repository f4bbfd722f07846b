//! Tags: who a task is in the mesh.

use crate::audit::rule::Rule;

pub(in crate::audit::rules) static RULES: &[&Rule] = &[];
