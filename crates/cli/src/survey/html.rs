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

    fn is_denied(&self) -> bool {
        self.report.lacks_a_permission()
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

#[cfg(test)]
pub(super) mod tests {
    use diagnosis::{SurveyedCluster, Unread};
    use report::SweptStatus;

    use super::*;

    /// A survey with something unread and a finding of many objects.
    pub(crate) fn report() -> SurveyReport {
        let object = |number: usize| SurveyObject {
            cluster: Some("<b>shop".to_owned()),
            name: format!("web-{number:03}"),
            why: "its task has stopped".to_owned(),
            since: None,
            controller: Some("deregisters it".to_owned()),
        };
        let finding = SurveyFinding {
            id: "left-in-consul".to_owned(),
            severity: Severity::Error,
            title: "300 entries in Consul have no running task".to_owned(),
            cost: "Proxies send requests to them.".to_owned(),
            since: Some("2026-11-23T11:00:00Z".parse().unwrap()),
            objects: (0..300).map(object).collect(),
            commands: vec!["curl --data '{}'".to_owned()],
        };
        SurveyReport {
            read_at: "2026-11-23T12:00:00Z".parse().unwrap(),
            account: Some("123456789012".to_owned()),
            region: Some("us-east-1".to_owned()),
            consul: Some("1.21.4".to_owned()),
            unread: vec![Unread {
                what: "tokens".to_owned(),
                permission: Some("acl = \"read\"".to_owned()),
                nameless: "",
            }],
            clusters: vec![SurveyedCluster {
                arn: "arn:aws:ecs:us-east-1:123456789012:cluster/shop".to_owned(),
                status: SweptStatus::Active,
                tasks: 4,
                mesh_tasks: 3,
                unsorted_tasks: 0,
                services: 2,
                controllers: Vec::new(),
            }],
            findings: vec![finding],
        }
    }

    #[test]
    fn page_shows_names_as_they_are_and_loads_nothing() {
        let page = page(&report()).unwrap();
        assert!(page.contains("&#60;b&#62;shop") && !page.contains("<b>"), "{page}");
        for loaded in ["<script", "src=", "http://", "https://", "@import"] {
            assert!(!page.contains(loaded), "{loaded}");
        }
        assert!(page.contains("2026-11-23 11:00 UTC (60 min ago)") || page.contains("(1 h ago)"), "{page}");
        assert!(page.contains("web-199") && !page.contains("web-200") && page.contains("100 more"), "{page}");
        assert!(page.contains("in 1 cluster of account 123456789012 in us-east-1"), "{page}");
        assert!(page.find("Could not be read") < page.find("left-in-consul"), "what is unread stands at the top");
    }
}
