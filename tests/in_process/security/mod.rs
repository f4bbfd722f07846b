//! The security review: what is promised, and who could break it, is in docs/reliability.md.

mod fairness;
mod forgery;
mod injection;
mod least_policy;
mod tls;
