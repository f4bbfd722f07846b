//! The pages about the rules.

use crate::rule::Rule;

/// The address of the rules' pages: a path of this repository, unless `ECS_MESH_DOCS` was set at build time.
pub const DOCS: &str = match option_env!("ECS_MESH_DOCS") {
    Some(address) => address,
    None => "docs/rules",
};

/// The page about a rule.
pub fn page(rule: &Rule) -> String {
    page_at(DOCS, rule)
}

/// The page about a rule, if its address is absolute. Where a report is read, a path of this repository leads nowhere.
pub(super) fn link(rule: &Rule) -> Option<String> {
    absolute(page(rule))
}

fn page_at(docs: &str, rule: &Rule) -> String {
    format!("{}/{}.md", docs.trim_end_matches('/'), rule.id)
}

fn absolute(page: String) -> Option<String> {
    ["https://", "http://"].iter().any(|scheme| page.starts_with(scheme)).then_some(page)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::rules::rule;

    #[test]
    fn only_an_absolute_address_is_a_link() {
        let rule = rule("consul-network-mode").unwrap();
        let link = |docs| absolute(page_at(docs, rule));
        assert_eq!(link("docs/rules"), None);
        let address = "https://github.com/owner/repository/blob/v1/docs/rules";
        assert_eq!(link(address), Some(format!("{address}/consul-network-mode.md")));
        assert_eq!(link(&format!("{address}/")), link(address));
    }
}
