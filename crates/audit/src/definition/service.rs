//! A service that runs a task definition.

use super::{
    field::{Field, List, Text},
    tag::Tag,
};
use crate::document::Place;

/// A service that runs a task definition.
#[derive(Debug, Clone)]
pub struct ServiceUse {
    /// Its name, logical ID or address.
    pub name: String,
    /// `TASK_DEFINITION`, `SERVICE` or `NONE`.
    pub propagate_tags: Field<Text>,
    /// `EC2`, `FARGATE`, `EXTERNAL`.
    pub launch_type: Field<Text>,
    /// The tags of the service itself.
    pub tags: List<Tag>,
    /// The bytes that findings point at.
    pub place: Place,
}
