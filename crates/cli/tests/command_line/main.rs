//! `ecs-mesh` as its users run it: checks, fixes, the documentation's pages, and the HTML report in a browser.

#![allow(clippy::expect_used, clippy::indexing_slicing, clippy::panic, clippy::unwrap_used)]

mod check;
mod edits;
mod html;
mod live;
mod pages;
mod workspace;
