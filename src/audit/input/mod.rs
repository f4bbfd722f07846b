//! Where task definitions come from.

mod ecs_json;

pub use self::ecs_json::ecs_definition;
