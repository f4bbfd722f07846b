//! The auditor as a whole: what it finds in definitions that are broken in one place, and that it finds nothing in those
//! that are right or that only a deployment can judge.

#![allow(clippy::expect_used, clippy::indexing_slicing, clippy::panic, clippy::string_slice, clippy::unwrap_used)]

#[path = "audit/arbitrary.rs"]
mod arbitrary;
#[path = "audit/combinations.rs"]
mod combinations;
#[path = "audit/configuration_fields.rs"]
mod configuration_fields;
#[path = "audit/mutations/mod.rs"]
mod mutations;
#[path = "audit/official.rs"]
mod official;
#[path = "audit/reading.rs"]
mod reading;
#[path = "audit/repairs.rs"]
mod repairs;
#[path = "audit/template.rs"]
mod template;
#[path = "audit/unknowns.rs"]
mod unknowns;
