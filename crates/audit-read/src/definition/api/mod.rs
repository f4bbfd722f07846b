//! What ECS's API says of a task definition: the keys of each map, and the values that ECS accepts.
//!
//! One walk over a definition finds every departure from the table in `shapes`, so that no rule walks it again. The same walk
//! judges the resources of App Mesh and services by `models`, which AWS's service models decide.

mod accept;
mod departure;
mod limits;
mod log_drivers;
#[rustfmt::skip]
mod models;
mod shapes;

pub(super) use self::departure::departures;
pub(crate) use self::departure::departures_from;
pub(crate) use self::models::{
    GATEWAY_ROUTE, MESH, ROUTE, SERVICE, VIRTUAL_GATEWAY, VIRTUAL_NODE, VIRTUAL_ROUTER, VIRTUAL_SERVICE,
};
pub use self::{
    departure::{Departure, Fault, Unread},
    limits::{FARGATE_SIZES, FargateSize, is_no_region, is_region, mebibytes, units},
    log_drivers::log_options,
    shapes::{Accepts, Key, OnFargate, Shape},
};
