//! The pages about the rules.

use crate::rule::Rule;

/// The address of the rules' pages in links: a path of this repository, unless `ECS_MESH_DOCS` was set at build time.
pub const DOCS: &str = match option_env!("ECS_MESH_DOCS") {
    Some(address) => address,
    None => "docs/rules",
};

/// The page about a rule.
#[must_use]
pub fn page(rule: &Rule) -> String {
    format!("{DOCS}/{}.md", rule.id)
}
