//! `ecs-mesh` as its users run it: checks, fixes, the documentation's pages, and the HTML report in a browser.

#![allow(clippy::expect_used, clippy::indexing_slicing, clippy::panic, clippy::unwrap_used)]

mod baseline;
mod calls;
mod check;
mod config;
mod ecosystem;
mod edits;
mod exit_codes;
mod formats;
mod html;
mod integrations;
mod live;
mod lsp;
mod pages;
mod progress;
mod rules;
mod selection;
mod workspace;
