//! Tests for the threat model in docs/contributing/evidence.md.

mod enterprise_policy;
mod fairness;
mod forgery;
mod injection;
mod least_policy;
mod tls;
