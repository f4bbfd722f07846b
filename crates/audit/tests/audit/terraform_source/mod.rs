//! Terraform sources: what is read of them, and that the same definition has the same findings in every notation.

mod cases;
mod mistakes;
mod modules;
mod notations;
pub(crate) mod written;
