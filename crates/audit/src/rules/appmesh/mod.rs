//! Rules for App Mesh.

pub(super) mod resources;
pub(super) mod task;
