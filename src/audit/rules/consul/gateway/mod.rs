//! Gateways of each kind, in both generations.

use crate::audit::rule::Rule;

pub(in crate::audit::rules) static RULES: &[&Rule] = &[];
