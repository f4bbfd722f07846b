//! Task definitions with App Mesh's Envoy.

mod end_of_service;

use crate::audit::rule::Rule;

pub(in crate::audit::rules) static RULES: &[&Rule] = &[&end_of_service::RULE];
