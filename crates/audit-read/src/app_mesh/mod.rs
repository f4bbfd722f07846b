//! Resources of App Mesh: exported by `aws appmesh describe-…`, or declared in a template or plan.

mod export;
mod kind;
mod resource;
mod resources;

pub use self::{
    kind::ResourceKind,
    resource::{Presence, ROUTE_KINDS, Reference, Resource},
    resources::Resources,
};
