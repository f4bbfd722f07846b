//! Reads task definitions: texts in any of four formats, from files, directories and standard input.
//!
//! A problem with one file or one definition does not prevent the others from being checked.

mod cloud_assembly;
mod cloudformation;
mod ecs_json;
mod gather;
mod notation;
mod paths;
mod problem;
mod shared_families;
mod source;
mod terraform;
mod terraform_source;
mod text;
mod words;

pub use self::{
    ecs_json::ecs_definition,
    gather::{Gathered, gather},
    notation::{Notation, is_native_terraform, is_yaml, parse, parse_all, trees},
    problem::InputProblem,
    source::{read_edited, read_source},
    terraform_source::literals,
};
