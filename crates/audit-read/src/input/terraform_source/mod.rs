//! Terraform sources: `*.tf`, `*.tofu` and `*.tf.json`. Source:
//! <https://developer.hashicorp.com/terraform/language>
//!
//! ```text
//!  read, json  ─▶  directory  ─▶  module, eval, calls       ─▶  declarations
//!  blocks with     one module     values of expressions,        task definitions, and
//!  places                         as far as they are known      services that run them
//! ```
//!
//! Every value has its place in the file of the task definition: one from another file has that of the reference to it.

mod access;
mod blocks;
mod calls;
mod consul_ecs;
mod declarations;
mod directories;
mod directory;
mod encoding;
mod equality;
mod eval;
mod for_expression;
mod frame;
mod functions;
mod instance;
mod instances;
mod json;
mod lists;
mod maps;
mod module;
mod names;
mod one_type;
mod outcome;
mod outputs;
mod read;
mod resources;
mod run;
mod sets;
mod strings;
mod syntax;
mod tags;
mod targets;
mod template;
mod traversal;
mod tree;
mod tree_of_file;
mod types;
mod values;
mod world;

pub use self::tree_of_file::literals;
pub(super) use self::{
    run::{read_directories, read_edited, read_text},
    syntax::is_source_name,
};
