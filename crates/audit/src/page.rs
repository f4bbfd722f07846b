//! The pages of rules: `docs/reference/rules/<id>.md`, or a section of a page that several rules share. A page is the only
//! home of its rule's texts, and its examples are tests. It is read when the rule is shown for the first time.

use std::sync::OnceLock;

use crate::severity::Severity;

/// The page of a rule.
#[derive(Debug)]
pub struct Page {
    /// The ID of the rule, which is the heading of its texts.
    pub(crate) id: &'static str,
    /// The name of the file, without its extension.
    file: &'static str,
    text: &'static str,
    texts: OnceLock<Texts>,
}

/// The text of a file with this name.
macro_rules! text_of {
    ($file:literal) => {
        include_str!(concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/reference/rules/", $file, ".md"))
    };
}
pub(crate) use text_of;

/// The page that the rules of App Mesh share.
pub(crate) static APP_MESH: &str = text_of!("app-mesh");

/// The page of the rule with this ID, or its section of the page that the rules of App Mesh share.
macro_rules! page {
    ($id:literal) => {
        $crate::page::Page::new($id, $id, $crate::page::text_of!($id))
    };
    ($id:literal, in APP_MESH) => {
        $crate::page::Page::new($id, "app-mesh", $crate::page::APP_MESH)
    };
}
pub(crate) use page;

/// What the page of a rule says, in Markdown where nothing else is said. A test finds a page that lacks a part.
#[derive(Debug, Default)]
pub struct Texts {
    /// The defect, in one sentence without its full stop.
    pub title: &'static str,
    /// How severe a finding is, unless its case is milder.
    pub severity: Severity,
    /// Whether `ecs-mesh fix` can fix the findings, at least in some definitions.
    pub is_fixable: bool,
    /// What the rule checks, as the page names it.
    pub applies: &'static str,
    /// What is wrong, and why.
    pub explanation: &'static str,
    /// What the defect causes at run time, in one phrase of plain text.
    pub effect: &'static str,
    /// What to do about it.
    pub advice: &'static str,
    /// The examples, below their heading; empty if one input cannot show the defect.
    pub example: &'static str,
    /// The addresses of the documentation that the rule is based on.
    pub sources: Vec<&'static str>,
}

impl Page {
    pub(crate) const fn new(id: &'static str, file: &'static str, text: &'static str) -> Self {
        Self { id, file, text, texts: OnceLock::new() }
    }

    /// What the page says.
    pub fn texts(&self) -> &Texts {
        self.texts.get_or_init(|| Texts::read(self.body()).unwrap_or_default())
    }

    /// The page, or the section, as a Markdown document.
    pub fn markdown(&self) -> String {
        format!("# {}\n{}", self.id, self.body())
    }

    /// The path of the page among the pages of the rules.
    pub fn path(&self) -> String {
        let anchor = if self.is_section() { format!("#{}", self.id) } else { String::new() };
        format!("{}.md{anchor}", self.file)
    }

    fn is_section(&self) -> bool {
        self.file != self.id
    }

    /// What is below the rule's heading.
    fn body(&self) -> &'static str {
        let body = self.text.split_once(&format!("# {}\n", self.id)).map(|(_, body)| body).unwrap_or_default();
        if self.is_section() { body.split("\n## ").next().unwrap_or_default() } else { body }
    }
}

impl Texts {
    /// Reads what is below a rule's heading. `None` if a part is missing.
    fn read(body: &'static str) -> Option<Self> {
        let (title, rest) = body.trim_start().split_once(".\n\n")?;
        let (table, rest) = rest.split_once("\n\n")?;
        let cell = |name: &str| {
            table
                .lines()
                .find_map(|row| row.strip_prefix("| ")?.strip_prefix(name)?.strip_prefix(" | ")?.strip_suffix(" |"))
        };
        let (explanation, rest) = rest.split_once("\n\n**At run time**: ")?;
        let (effect, rest) = rest.split_once(".\n\n")?;
        let (_, rest) = rest.split_once("# What to do\n\n")?;
        let (rest, sources) = rest.split_once("# Sources\n\n")?;
        let (advice, example) = rest.split_once("# Example").unwrap_or((rest, ""));
        let source = |line: &'static str| line.strip_prefix("- <")?.strip_suffix('>');
        Some(Self {
            title,
            severity: Severity::named(cell("Severity")?)?,
            is_fixable: cell("Fix")? != "by hand",
            applies: cell("Applies to")?,
            explanation,
            effect,
            advice: advice.trim_end_matches(['#', '\n']),
            example: example.trim_end_matches(['#', '\n']),
            sources: sources.lines().filter_map(source).collect(),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const FILE: &str = "# Two\n\n## a-first\n\nOne is wrong.\n\n| | |\n|---|---|\n| Severity | info |\n| Fix | by hand |\n\
        | Applies to | all |\n\nWhy.\n\nMore of it.\n\n**At run time**: it fails.\n\n### What to do\n\nRemove it.\n\n### Sources\n\n\
        - <https://a.example>\n- <https://b.example>\n\n## a-second\n\nNothing else.\n";

    fn section(id: &'static str) -> Page {
        Page::new(id, "two", FILE)
    }

    #[test]
    fn a_section_ends_at_the_next_one() {
        let page = section("a-first");
        let texts = page.texts();
        assert_eq!((texts.title, texts.explanation), ("One is wrong", "Why.\n\nMore of it."));
        assert_eq!((texts.severity, texts.is_fixable, texts.applies), (Severity::Info, false, "all"));
        assert_eq!((texts.effect, texts.advice, texts.example), ("it fails", "Remove it.", ""));
        assert_eq!(texts.sources, ["https://a.example", "https://b.example"]);
        assert!(page.markdown().starts_with("# a-first\n\nOne is wrong."));
        assert_eq!(page.path(), "two.md#a-first");
    }

    #[test]
    fn an_incomplete_section_has_no_texts() {
        assert_eq!(section("a-second").texts().title, "");
        assert_eq!(section("a-third").markdown(), "# a-third\n");
    }
}
