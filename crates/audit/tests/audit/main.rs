//! Tests of the auditor as a whole: what it reads, what it finds in definitions with one defect, that it finds nothing
//! in correct definitions and in values that are known only at deployment, and what it reports.

#![allow(clippy::expect_used, clippy::indexing_slicing, clippy::panic, clippy::string_slice, clippy::unwrap_used)]

mod advice;
mod arbitrary;
mod baseline;
mod cdk;
mod configuration_fields;
mod controllers;
mod documents;
#[path = "../../src/example.rs"]
mod example;
mod examples;
mod folder;
mod inputs;
mod live_mesh;
mod mesh_templates;
mod messages;
mod mutations;
mod official;
mod pages;
mod paths;
mod places;
mod plan;
mod reading;
mod reference_owners;
mod references;
mod repairs;
mod repeated_keys;
mod reports;
mod role_policies;
mod roles;
mod rule_pages;
mod server_lookup;
mod services;
mod template;
mod terraform_source;
mod unknown_names;
mod unknowns;
