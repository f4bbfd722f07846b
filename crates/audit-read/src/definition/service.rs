//! A service that runs a task definition.

use super::{
    field::{Field, List, Text},
    tag::Tag,
};
use crate::document::Place;

/// A service that runs a task definition.
#[derive(Debug, Clone)]
pub struct ServiceUse {
    /// Its address or logical ID, or its name where it has no other.
    pub name: String,
    /// Its name in ECS.
    pub service_name: Field<Text>,
    /// `TASK_DEFINITION`, `SERVICE` or `NONE`.
    pub propagate_tags: Field<Text>,
    /// `EC2`, `FARGATE`, `EXTERNAL`.
    pub launch_type: Field<Text>,
    /// The names of its capacity providers, which it has instead of a launch type.
    pub capacity_providers: List<Field<Text>>,
    /// The tags of the service itself.
    pub tags: List<Tag>,
    /// The bytes that findings point at.
    pub place: Place,
}
