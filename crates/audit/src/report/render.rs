//! A report as text.

use super::{
    concise, format::Format, github, gitlab, html, json, junit, markdown, medium::Medium, model::Report, sarif, text,
};

/// A report that could not be written.
#[derive(Debug, thiserror::Error)]
pub enum RenderError {
    /// As HTML.
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
            Format::Concise => concise::render(self, medium.in_colour),
            Format::Json => json::render(self)?,
            Format::Sarif => sarif::render(self)?,
            Format::Junit => junit::render(self)?,
            Format::Github => github::render(self),
            Format::Gitlab => gitlab::render(self)?,
            Format::Markdown => markdown::render(self),
            Format::Html => html::render(self)?,
        })
    }
}
