//! Exported resources of App Mesh, against each other and against task definitions.

use crate::audit::rule::Rule;

pub(in crate::audit::rules) static RULES: &[&Rule] = &[];
