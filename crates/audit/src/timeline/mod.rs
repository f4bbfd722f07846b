//! The order in which a task's containers start and stop: as data, and drawn.

mod build;
mod mermaid;
mod model;
mod start;
mod stop;
mod svg;
#[cfg(test)]
mod tests;
mod text;

pub use self::{
    model::{Event, Lane, Part, Starting, Timeline},
    svg::STYLE,
};
