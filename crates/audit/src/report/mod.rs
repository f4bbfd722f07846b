//! What an audit found, in every format.

mod build;
mod ci;
mod excerpt;
mod fingerprint;
mod html;
mod junit;
mod markdown;
mod merge;
mod model;
mod sarif;
mod secrets;
mod text;

use crate::rule::Rule;

/// The style of pages: of reports, and of others that look like them.
pub const PAGE_STYLE: &str = include_str!("../../templates/report.css");

pub(crate) use self::merge::mistakes;
pub use self::{
    build::{clean, reported},
    excerpt::Excerpt,
    html::plain,
    model::{Definition, FindingCounts, Report, Reported, ReportedCall, ReportedNote, counted},
};

/// A format of reports.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Format {
    /// Readable text with the lines of the files.
    Text,
    /// One line for each finding.
    Concise,
    /// The auditor's own JSON, with the schema `docs/reference/schema/report.schema.json`.
    Json,
    /// SARIF 2.1.0, for code scanning.
    Sarif,
    /// `JUnit` XML, for the test reports of CI servers.
    Junit,
    /// Workflow commands of GitHub Actions, which become annotations.
    Github,
    /// GitLab's code quality report.
    Gitlab,
    /// Markdown for comments on pull requests.
    Markdown,
    /// One HTML page without external resources.
    Html,
}

impl Format {
    /// All of them.
    pub const ALL: [Self; 9] = [
        Self::Text,
        Self::Concise,
        Self::Json,
        Self::Sarif,
        Self::Junit,
        Self::Github,
        Self::Gitlab,
        Self::Markdown,
        Self::Html,
    ];

    /// Its name.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Text => "text",
            Self::Concise => "concise",
            Self::Json => "json",
            Self::Sarif => "sarif",
            Self::Junit => "junit",
            Self::Github => "github",
            Self::Gitlab => "gitlab",
            Self::Markdown => "markdown",
            Self::Html => "html",
        }
    }

    /// The one with this name.
    pub fn named(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|format| format.as_str() == name)
    }
}

/// Where a text is shown. The default is a file.
#[derive(Debug, Clone, Copy, Default)]
pub struct Medium {
    /// The width of the terminal; `None`: lines may be of any length.
    pub width: Option<u16>,
    /// Whether it shows colours.
    pub in_colour: bool,
}

/// A report that could not be written.
#[derive(Debug, thiserror::Error)]
pub enum RenderError {
    #[error("the report could not be written as HTML: {0}")]
    Html(#[from] askama::Error),
    /// As JSON, SARIF or for GitLab.
    #[error("the report could not be written as JSON: {0}")]
    Json(#[from] serde_json::Error),
    /// As `JUnit` XML.
    #[error("the report could not be written as JUnit XML: {0}")]
    Junit(#[from] quick_junit::SerializeError),
}

impl Report {
    /// The report in `format`; as text, it is made for `medium`.
    ///
    /// # Errors
    /// The library of the format cannot write it.
    pub fn render(&self, format: Format, medium: Medium) -> Result<String, RenderError> {
        Ok(match format {
            Format::Text => text::render(self, medium),
            Format::Concise => text::render_concise(self, medium.in_colour),
            Format::Json => model::json(self)?,
            Format::Sarif => sarif::render(self)?,
            Format::Junit => junit::render(self)?,
            Format::Github => ci::github(self),
            Format::Gitlab => ci::gitlab(self)?,
            Format::Markdown => markdown::render(self),
            Format::Html => html::render(self)?,
        })
    }
}

/// The address of the rules' pages: a path of this repository, unless `ECS_MESH_DOCS` was set at build time.
pub const DOCS: &str = match option_env!("ECS_MESH_DOCS") {
    Some(address) => address,
    None => "docs/reference/rules",
};

/// The page about a rule.
pub fn page(rule: &Rule) -> String {
    page_at(DOCS, rule)
}

/// The page about a command, next to the pages of the rules.
pub fn command_page(command: &str) -> String {
    let reference = DOCS.trim_end_matches('/').trim_end_matches("/rules");
    format!("{reference}/commands/{command}.md")
}

/// The page about a rule, if its address is absolute. Where a report is read, a path of this repository leads nowhere.
fn link(rule: &Rule) -> Option<String> {
    absolute(page(rule))
}

fn page_at(docs: &str, rule: &Rule) -> String {
    format!("{}/{}", docs.trim_end_matches('/'), rule.page.path())
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
        assert_eq!(link("docs/reference/rules"), None);
        let address = "https://github.com/owner/repository/blob/v1/docs/reference/rules";
        assert_eq!(link(address), Some(format!("{address}/consul-network-mode.md")));
        assert_eq!(link(&format!("{address}/")), link(address));
        let section = page_at(address, crate::rules::rule("appmesh-route-weights").unwrap());
        assert_eq!(section, format!("{address}/app-mesh.md#appmesh-route-weights"));
    }
}
