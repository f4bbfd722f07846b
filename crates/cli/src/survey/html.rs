//! A survey as one page: no script, nothing that it loads.

use askama::Template;
use audit::{
    report::{PAGE_STYLE, counted},
    severity::Severity,
};
use diagnosis::{SurveyFinding, SurveyObject, SurveyReport};
use jiff::Timestamp;

use super::{summary, text::cells};
use crate::sheet::{NOTHING_TO_SAY, ago};

/// The most objects and commands of a finding on the page. `--output json` has all.
const SHOWN: usize = 200;

#[derive(Template)]
#[template(path = "survey.html")]
struct Page<'r> {
    report: &'r SurveyReport,
    summary: String,
    style: &'static str,
    version: &'static str,
}

pub(super) fn page(report: &SurveyReport) -> Result<String, askama::Error> {
    let (summary, version) = (summary(report), env!("CARGO_PKG_VERSION"));
    Page { report, summary, style: PAGE_STYLE, version }.render()
}

impl Page<'_> {
    fn is_bad(&self) -> bool {
        !self.report.unread.is_empty() || self.report.count(Severity::Error) > 0
    }

    fn counts(&self) -> [(&'static str, String, usize); 3] {
        [Severity::Error, Severity::Warning, Severity::Info].map(|severity| {
            let number = self.report.count(severity);
            (severity.as_str(), counted(number, severity.as_str()), number)
        })
    }

    fn read_at(&self) -> String {
        self.report.read_at.strftime("%Y-%m-%d %H:%M UTC").to_string()
    }

    fn since(&self, at: &Timestamp) -> String {
        format!("{} ({})", at.strftime("%Y-%m-%d %H:%M UTC"), ago(*at, self.report.read_at))
    }
}

#[expect(clippy::ref_option, reason = "the template passes a reference to the field")]
fn or_dash(text: &Option<String>) -> &str {
    text.as_deref().unwrap_or(NOTHING_TO_SAY)
}

fn objects(finding: &SurveyFinding) -> &[SurveyObject] {
    finding.objects.get(..SHOWN).unwrap_or(&finding.objects)
}

fn commands(finding: &SurveyFinding) -> &[String] {
    finding.commands.get(..SHOWN).unwrap_or(&finding.commands)
}

fn has_controller(finding: &SurveyFinding) -> bool {
    finding.objects.iter().any(|object| object.controller.is_some())
}
