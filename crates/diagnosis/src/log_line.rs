//! The lines of the functions' log, as far as they tell what was done.

use aws::logs::LogLine;
use jiff::Timestamp;
use mesh::{
    arn::{ClusterArn, TaskId},
    task_end::{ContainerEnd, TaskEnd},
};
use serde::Deserialize;

/// The action of the line that says how a task has stopped.
pub(crate) const TASK_STOPPED: &str = "task_stopped";

/// A line of the functions' log. Its fields are those of [the page](../../../docs/operate.md#read-the-log).
#[derive(Debug, Clone, Default, PartialEq, Eq, Deserialize)]
#[serde(default)]
pub struct Line {
    /// When it was written.
    #[serde(rename = "timestamp")]
    pub at: Timestamp,
    /// What was done; empty for a failed message.
    pub action: String,
    /// `done`, `observed`, `failed`, `guard_tripped`, …
    pub outcome: String,
    /// Why.
    pub reason: Option<String>,
    /// The label of a failure.
    pub error: Option<String>,
    /// The cluster.
    pub cluster_arn: Option<String>,
    /// The task; in a line about a call that was not sent, several separated by commas.
    pub task_id: Option<String>,
    /// The service, or its sidecar proxy.
    pub service: Option<String>,
    /// The instance.
    pub service_id: Option<String>,
    /// The check.
    pub check_id: Option<String>,
    /// Whose token it is about: `service web`.
    pub holder: Option<String>,
    /// The token.
    pub accessor_id: Option<String>,
    /// The ARN of the last task that used a token.
    pub last_task: Option<String>,
    /// Free text.
    pub message: Option<String>,
    /// The summary of a sweep, as JSON.
    pub summary: Option<String>,
    stop_code: Option<String>,
    containers: Option<String>,
    created_at: Option<Timestamp>,
    started_at: Option<Timestamp>,
    stopped_at: Option<Timestamp>,
}

impl Line {
    /// A line of the functions; `None` for other lines of the log group, as those of Lambda.
    pub fn parse(line: &LogLine) -> Option<Self> {
        let mut parsed: Self = serde_json::from_str(&line.text).ok()?;
        if parsed.at == Timestamp::default() {
            parsed.at = line.at;
        }
        (!parsed.action.is_empty() || !parsed.outcome.is_empty()).then_some(parsed)
    }

    /// Whether it names a task.
    pub fn is_of_task(&self, id: &TaskId) -> bool {
        let named = self.task_id.as_deref().unwrap_or_default().split(", ");
        named.chain(self.last_task.as_deref().and_then(|arn| arn.rsplit('/').next())).any(|named| named == id.as_str())
    }

    /// Whether it names a service, its sidecar proxy or its token.
    pub fn is_of_service(&self, name: &str) -> bool {
        let mut services = self.service.as_deref().unwrap_or_default().split(", ");
        let holder = self.holder.as_deref().and_then(|holder| holder.strip_prefix("service "));
        // The name of its secret may follow; an earlier version wrote a family.
        let holder = holder.and_then(|holder| holder.split(' ').next());
        holder == Some(name) || services.any(|it| it.strip_suffix("-sidecar-proxy").unwrap_or(it) == name)
    }

    /// Whether it may be about a cluster: it names it, or none.
    pub fn may_be_in(&self, cluster: &ClusterArn) -> bool {
        let named = self.cluster_arn.as_deref().or(self.last_task.as_deref());
        named.is_none_or(|arn| arn == cluster.as_str() || arn.contains(&format!("/{}/", cluster.name())))
    }

    /// Whether what it says was only planned, in mode `observe`.
    pub fn is_observed(&self) -> bool {
        self.outcome == "observed"
    }

    /// How the task has stopped, if the line says that.
    pub fn end(&self) -> Option<TaskEnd> {
        (self.action == TASK_STOPPED).then(|| TaskEnd {
            code: self.stop_code.clone(),
            reason: self.reason.clone(),
            containers: ContainerEnd::in_line(self.containers.as_deref().unwrap_or_default()),
            created_at: self.created_at,
            started_at: self.started_at,
            stopped_at: self.stopped_at.or(Some(self.at)),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parsed(text: &str) -> Option<Line> {
        Line::parse(&LogLine { at: "2026-11-23T12:00:00Z".parse().unwrap(), text: text.to_owned() })
    }

    #[test]
    fn line_of_a_stopped_task_says_how_it_ended() {
        let line = parsed(
            r#"{"timestamp":"2026-11-23T11:59:59.5Z","level":"INFO","action":"task_stopped","outcome":"seen",
                "task_id":"00000000000000000000000000000001","stop_code":"EssentialContainerExited",
                "reason":"Essential container in task exited","containers":"app exited with 3",
                "stopped_at":"2026-11-23T11:59:58Z"}"#,
        );
        let line = line.unwrap();
        assert_eq!(line.at, "2026-11-23T11:59:59.5Z".parse().unwrap());
        let end = line.end().unwrap();
        assert_eq!(end.code.as_deref(), Some("EssentialContainerExited"));
        assert_eq!((end.containers[0].name.as_str(), end.containers[0].exit_code), ("app", Some(3)));
    }

    #[test]
    fn lines_of_lambda_itself_are_left_out() {
        assert_eq!(parsed("START RequestId: 1"), None);
        assert_eq!(parsed(r#"{"time":"2026-11-23T12:00:00Z","type":"platform.start","record":{}}"#), None);
    }

    #[test]
    fn line_names_tasks_and_services_in_several_ways() {
        let id: TaskId = "00000000000000000000000000000001".parse().unwrap();
        let is_of = |text: &str| parsed(text).unwrap().is_of_task(&id);
        assert!(is_of(r#"{"action":"observe","task_id":"0f, 00000000000000000000000000000001"}"#));
        assert!(is_of(
            r#"{"action":"revoke","last_task":"arn:aws:ecs:x:1:task/prod/00000000000000000000000000000001"}"#
        ));
        assert!(!is_of(r#"{"action":"revoke"}"#));
        let is_of = |text: &str| parsed(text).unwrap().is_of_service("web");
        assert!(is_of(r#"{"action":"deregister","service":"web-sidecar-proxy"}"#));
        assert!(is_of(r#"{"action":"revoke","holder":"service web of family old"}"#));
        assert!(is_of(r#"{"action":"revoke","holder":"service web in the secret Web"}"#));
        assert!(!is_of(r#"{"action":"revoke","holder":"service webb"}"#));
    }
}
