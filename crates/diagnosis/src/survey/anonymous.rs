//! Leaves the names out of a survey, so that strangers may read it.

use std::collections::BTreeMap;

use super::report::{SurveyObject, SurveyReport};

impl SurveyReport {
    /// The report with numbers in place of names, each name by the same number everywhere. Sentences and commands are left out:
    /// they quote configurations, and what AWS and Consul answer, so they can have any name.
    #[must_use]
    pub fn anonymous(mut self) -> Self {
        let (mut clusters, mut objects) = (Numbers::of("cluster"), Numbers::of("object"));
        for unread in &mut self.unread {
            unread.nameless.clone_into(&mut unread.what);
        }
        self.unread.sort();
        self.unread.dedup();
        (self.account, self.region) = (None, None);
        self.consul = self.consul.as_deref().and_then(version_numbers);
        for cluster in &mut self.clusters {
            cluster.arn = clusters.number(cluster.name());
            cluster.controllers.iter_mut().for_each(|image| "one".clone_into(image));
        }
        for finding in &mut self.findings {
            finding.commands.clear();
            for object in &mut finding.objects {
                *object = SurveyObject {
                    cluster: object.cluster.as_deref().map(|name| clusters.number(name)),
                    name: objects.number(&object.name),
                    why: String::new(),
                    since: object.since,
                    // The reason follows a colon.
                    controller: object.controller.as_deref().and_then(|it| it.split(':').next()).map(str::to_owned),
                };
            }
        }
        self
    }
}

/// The numbers of a version: a custom build may name its company after them.
fn version_numbers(version: &str) -> Option<String> {
    let numbers = version.split(|c: char| !c.is_ascii_digit() && c != '.').next()?.trim_end_matches('.');
    (!numbers.is_empty()).then(|| numbers.to_owned())
}

/// A number for each name, in the order in which they occur.
struct Numbers {
    kind: &'static str,
    names: BTreeMap<String, usize>,
}

impl Numbers {
    fn of(kind: &'static str) -> Self {
        Self { kind, names: BTreeMap::new() }
    }

    fn number(&mut self, name: &str) -> String {
        let next = self.names.len() + 1;
        let number = *self.names.entry(name.to_owned()).or_insert(next);
        format!("{}-{number}", self.kind)
    }
}
