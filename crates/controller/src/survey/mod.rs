//! Observes whole clusters: what ECS says of their tasks, and what Consul and Secrets Manager hold for them. What could not be
//! read is a problem, and what depends on it is not judged.

mod consul_reader;
mod findings;
mod gone_tasks;
mod order;
mod surveyor;

pub use self::order::SweepOrder;
pub(crate) use self::{
    findings::{Problem, Reading, Survey},
    surveyor::Surveyor,
};
