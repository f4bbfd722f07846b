//! Tests for the threat model in tests/EVIDENCE.md.

mod enterprise_policy;
mod fairness;
mod forgery;
mod injection;
mod least_policy;
mod tls;
