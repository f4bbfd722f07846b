//! The formats of reports.

/// A format of reports.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Format {
    /// Readable text with the lines of the files.
    Text,
    /// One line for each finding.
    Concise,
    /// The auditor's own JSON, with the schema `docs/schema/report.schema.json`.
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
