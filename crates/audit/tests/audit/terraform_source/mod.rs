//! Terraform sources: what is read of them, and that the same definition has the same findings in every notation.

mod arguments;
mod case;
mod cases;
mod conversions;
mod directories;
mod fixes;
mod mistakes;
mod modules;
mod notations;
mod open;
mod outputs;
pub(crate) mod written;
