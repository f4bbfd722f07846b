//! What ECS's API says of a task definition: the keys of each map, and the values that ECS accepts.
//!
//! One walk over a definition finds every departure from the table in `shapes`, so that no rule walks it again.

mod accept;
mod departure;
mod limits;
mod shapes;

pub(super) use self::departure::departures;
pub use self::{
    departure::{Departure, Fault, Unread},
    limits::{FARGATE_SIZES, FargateSize, is_no_region, is_region, mebibytes, units},
    shapes::{Accepts, Shape},
};
