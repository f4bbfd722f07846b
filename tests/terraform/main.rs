//! The module in `deploy/terraform` and its examples, applied by Terraform to the local AWS.
//!
//! Terraform and its AWS provider are not among the tools of `make setup`: without them, the tests are skipped.

#![allow(clippy::expect_used, clippy::indexing_slicing, clippy::panic, clippy::unwrap_used)]

mod examples;
mod hashicorp;
mod plans;
mod terraform;
