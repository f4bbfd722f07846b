//! Evaluates Terraform's language: modules in, values with their places out. Source:
//! <https://developer.hashicorp.com/terraform/language>
//!
//! ```text
//!  Tree ─▶ Directory ─▶ Module ────────────▶ Reader
//!  files   blocks of    a directory with     the arguments of a block as values: known,
//!          all files    its variables        or unknown until Terraform plans
//! ```
//!
//! [`Evaluation::load`] reads a directory, [`Module::root`] is its module, and [`Module::reader`] reads a block of it. Every
//! value has its place in the file of its block; a value from another file has the place of the reference to it.
//!
//! It knows no resource of ECS and no module of HashiCorp's: an [`Interest`] says what matters, and a [`Source`] is a module that
//! the program provides. Providers, state, plans and the network are absent, and it reads only the directories of its [`Tree`].

mod blocks;
mod budget;
mod call;
mod callees;
mod causes;
mod directories;
mod directory;
mod door;
mod equality;
mod evaluation;
mod expression;
mod functions;
mod generator;
mod instances;
mod interest;
mod json;
mod loops;
mod module;
mod names;
mod operators;
mod outputs;
mod provided;
mod references;
mod scope;
mod sets;
mod syntax;
mod template;
mod traversal;
mod tree;
mod types;
mod unification;
pub mod values;
mod variables;

pub use self::{
    blocks::Reader,
    callees::Callee,
    causes::UnknownCause,
    directory::Directory,
    evaluation::Evaluation,
    functions::Function,
    generator::{has_generator, is_of_generator},
    instances::Instance,
    interest::Interest,
    module::{CallSite, Called, Input, Module},
    provided::Source,
    references::references,
    syntax::{Attribute, Block, Body, Expression, Label, is_source_name},
    tree::{Tree, identity},
};
