//! The pages about the rules.

use crate::rule::Rule;

/// Where the rules' pages are, as links have it: in this repository, unless the build says where they are published.
pub const DOCS: &str = match option_env!("MESH_AUDIT_DOCS") {
    Some(address) => address,
    None => "docs/rules",
};

/// The page about a rule.
#[must_use]
pub fn page(rule: &Rule) -> String {
    format!("{DOCS}/{}.md", rule.id)
}
