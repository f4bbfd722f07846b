//! The function `reconcile` of a stack, and the report that it answers.

use aws::installation::{AwsInstallation, InstallationError, Invoked};
use mesh::arn::ClusterArn;
use report::{ClusterReport, ReconcileOrder, SweepReport};
use serde::Deserialize;
use serde_json::{Value, json};

use crate::{output::Progress, streams::Failure};

const RECONCILE: &str = "ReconcileFunction";

pub(super) struct Reconcile<'a> {
    installation: &'a AwsInstallation,
    function: String,
    progress: &'a Progress,
}

impl<'a> Reconcile<'a> {
    pub(super) fn named(function: &str, installation: &'a AwsInstallation, progress: &'a Progress) -> Self {
        Self { installation, function: function.to_owned(), progress }
    }

    /// The function of a stack; `None` if there is no such stack.
    pub(super) async fn of(
        name: &str,
        installation: &'a AwsInstallation,
        progress: &'a Progress,
    ) -> Result<Option<Self>, Failure> {
        progress.say("looking for the function");
        match progress.during(installation.resource(name, RECONCILE)).await {
            Ok(function) => Ok(Some(Self { installation, function, progress })),
            Err(InstallationError::NoStack(_)) => Ok(None),
            Err(error) => Err(Failure::new(error)),
        }
    }

    /// What a sweep of these clusters would do; of all clusters of the stack, if there are none.
    pub(super) async fn plan(&self, clusters: &[ClusterArn], force: bool) -> Result<(SweepReport, Value), Failure> {
        self.progress.say("planning the sweep");
        self.invoke(clusters, force, true).await
    }

    /// Sweeps these clusters; all clusters of the stack, if there are none.
    pub(super) async fn sweep(&self, clusters: &[ClusterArn], force: bool) -> Result<(SweepReport, Value), Failure> {
        self.progress.say("sweeping");
        self.invoke(clusters, force, false).await
    }

    async fn invoke(
        &self,
        clusters: &[ClusterArn],
        force: bool,
        is_dry_run: bool,
    ) -> Result<(SweepReport, Value), Failure> {
        let clusters = clusters.iter().map(ToString::to_string).collect();
        let order = json!(ReconcileOrder::Sweep { clusters, dry_run: is_dry_run, force });
        let answer = self.progress.during(self.installation.invoke(&self.function, &order)).await;
        read(answer.map_err(Failure::new)?)
    }
}

/// The report in an answer, and its JSON. An incomplete sweep ends with an error that has the reasons on its first line, and then
/// the report.
pub(super) fn read(answer: Invoked) -> Result<(SweepReport, Value), Failure> {
    let (value, message) = match answer {
        Invoked::Answer(value) => (value, None),
        Invoked::Error(message) => {
            let report = message.split_once('\n').and_then(|(_, report)| serde_json::from_str(report).ok());
            (report.unwrap_or_default(), Some(message))
        }
    };
    let unreadable = |reason: String| Failure::Message(format!("reconcile: {reason}"));
    match (SweepReport::deserialize(&value), message) {
        (Ok(report), _) => Ok((report, value)),
        (Err(_), Some(message)) => Err(unreadable(message)),
        (Err(error), None) => Err(unreadable(format!("the answer is not a sweep report: {error}"))),
    }
}

pub(super) fn has_actions(report: &SweepReport) -> bool {
    report.clusters.iter().any(|cluster| !cluster.planned.is_empty())
}

/// Whether anything was changed, or could not be.
pub(super) fn has_changes(report: &SweepReport) -> bool {
    let changes = |it: &ClusterReport| {
        let counts: usize = it.created.values().chain(it.deleted.values()).sum();
        counts + it.hidden + it.drained + it.repaired + it.corrected + it.left
    };
    !report.problems.is_empty() || report.clusters.iter().any(|cluster| changes(cluster) > 0)
}

pub(super) fn deletions(report: &SweepReport) -> usize {
    report.clusters.iter().flat_map(|cluster| &cluster.planned).filter(|planned| planned.deletes()).count()
}

#[cfg(test)]
mod tests {
    use report::{PlannedAction, SweepOutcome};
    use serde_json::json;

    use super::*;

    const REPORT: &str =
        r#"{"outcome":"incomplete","clusters":[],"problems":[{"label":"x","reason":"Consul is down"}]}"#;

    #[test]
    fn report_of_an_incomplete_sweep_is_in_its_error() {
        let (report, _) = read(Invoked::Error(format!("Consul is down\n{REPORT}"))).unwrap();
        assert_eq!((report.outcome, report.problems.len()), (SweepOutcome::Incomplete, 1));
    }

    #[test]
    fn other_errors_are_the_function_s() {
        let refused = read(Invoked::Error("CONSUL_HTTP_ADDR: got \"\"".to_owned()));
        let Err(Failure::Message(message)) = refused else { panic!("{refused:?}") };
        assert_eq!(message, "reconcile: CONSUL_HTTP_ADDR: got \"\"");
    }

    #[test]
    fn functions_of_other_versions_are_understood() {
        // As a function of another version answers, with an outcome and an action that this one does not know
        let cluster = json!({
            "clusterArn": "arn:aws:ecs:us-east-1:123456789012:cluster/prod", "status": "active", "found": {}, "created": {},
            "hidden": 0, "deleted": { "services": 1 }, "drained": 0, "repaired": 0, "corrected": 0, "takenOver": 0,
            "replaced": 0, "left": 0, "planned": [{ "action": "polish", "what": "web" }],
        });
        let answer = json!({ "mode": "act", "outcome": "polished", "clusters": [cluster], "problems": [] });
        let (report, _) = read(Invoked::Answer(answer)).unwrap();
        assert_eq!((report.outcome, report.clusters[0].name()), (SweepOutcome::Other, "prod"));
        let PlannedAction::Other { action, fields } = &report.clusters[0].planned[0] else { panic!("{report:?}") };
        assert_eq!((action.as_str(), json!(fields)), ("polish", json!({ "what": "web" })));
        assert!(has_changes(&report) && has_actions(&report) && deletions(&report) == 0);
    }
}
