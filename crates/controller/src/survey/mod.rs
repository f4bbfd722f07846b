//! Surveys whole clusters: their tasks in ECS, and their entries in Consul and Secrets Manager. A failed read is a
//! problem, and nothing that depends on it is deleted.

mod consul_reader;
mod findings;
mod gone_tasks;
mod order;
mod surveyor;
mod uncertain_tokens;
mod unlisted_clusters;

pub use self::order::{SweepOrder, Waited};
pub(crate) use self::{
    findings::{Problem, Reading, RunningTask, Survey},
    surveyor::Surveyor,
};
