//! The lines of the functions' log about tasks, services and tokens: the controller writes them, `ecs-mesh why` and `compare` read
//! them. docs/reference/logs.md describes the fields.

use jiff::Timestamp;
use mesh::{
    arn::{ClusterArn, TaskId},
    consul_ecs::service_behind,
    task::{ContainerEnd, TaskEnd},
};
use serde::Deserialize;

use crate::{ErrorLabel, LogAction, LogOutcome};

/// Declares each field of a line once: for the struct, and for the event of `tracing`, which has the fields that are set.
macro_rules! log_line {
    (
        names { $($(#[$name_meta:meta])* $name:ident: $enum:ty,)+ }
        texts { $($(#[$text_meta:meta])* $text:ident,)+ }
        numbers { $($number:ident: $integer:ty,)+ }
        times { $($time:ident,)+ }
    ) => {
        #[derive(Debug, Clone, Default, PartialEq, Eq, Deserialize)]
        #[serde(default)]
        pub struct LogLine {
            #[serde(rename = "timestamp")]
            pub at: Timestamp,
            $($(#[$name_meta])* pub $name: Option<$enum>,)+
            $($(#[$text_meta])* pub $text: Option<String>,)+
            $(pub $number: Option<$integer>,)+
            $(pub $time: Option<Timestamp>,)+
        }

        /// Writes a line at a level of `tracing`.
        macro_rules! emit {
            ($line:expr, $level:ident) => {
                tracing::$level!(
                    $($name = $line.$name.as_ref().map(<$enum>::as_str),)+
                    $($text = $line.$text.as_deref(),)+
                    $($number = $line.$number,)+
                    $($time = $line.$time.map(tracing::field::display)),+
                )
            };
        }
    };
}

log_line! {
    names {
        /// `None` for a message whose work failed.
        action: LogAction,
        outcome: LogOutcome,
        error: ErrorLabel,
    }
    texts {
        message,
        reason,
        cluster_arn,
        /// In a line about a call that was not sent, several separated by commas.
        task_id,
        /// The service, or its sidecar proxy.
        service,
        service_id,
        check_id,
        /// The node of a client agent.
        node,
        /// A [`mesh::holder::TokenHolder`]: `service web`.
        holder,
        /// Of a [`crate::Problem`].
        owner,
        secret,
        accessor_id,
        /// The ARN of the last task that used a token.
        last_task,
        trigger,
        idle_since,
        /// A [`crate::SweepReport`] as JSON.
        summary,
        in_ecs,
        in_consul,
        message_id,
        task_definition,
        /// The invalid field of a message or a task definition.
        field,
        stop_code,
        /// As [`ContainerEnd::line`] writes them.
        containers,
    }
    numbers {
        receives: u32,
        returns_in_seconds: u64,
        delay_seconds: u64,
    }
    times {
        created_at,
        started_at,
        stopped_at,
    }
}

impl LogLine {
    pub fn of(action: LogAction, outcome: impl Into<LogOutcome>) -> Self {
        Self { action: Some(action), outcome: Some(outcome.into()), ..Self::default() }
    }

    pub fn debug(&self) {
        emit!(self, debug);
    }

    pub fn info(&self) {
        emit!(self, info);
    }

    pub fn warn(&self) {
        emit!(self, warn);
    }

    pub fn error(&self) {
        emit!(self, error);
    }

    /// Parses a line that was written at `at`; `None` for other lines of the log group, such as Lambda's.
    pub fn parse(text: &str, at: Timestamp) -> Option<Self> {
        let mut parsed: Self = serde_json::from_str(text).ok()?;
        if parsed.at == Timestamp::default() {
            parsed.at = at;
        }
        (parsed.action.is_some() || parsed.outcome.is_some()).then_some(parsed)
    }

    pub fn is(&self, action: &LogAction) -> bool {
        self.action.as_ref() == Some(action)
    }

    pub fn has(&self, outcome: &LogOutcome) -> bool {
        self.outcome.as_ref() == Some(outcome)
    }

    /// Whether the line names a task.
    pub fn is_of_task(&self, id: &TaskId) -> bool {
        let named = self.task_id.as_deref().unwrap_or_default().split(", ");
        named.chain(self.last_task.as_deref().and_then(|arn| arn.rsplit('/').next())).any(|named| named == id.as_str())
    }

    /// Whether the line names a service, its sidecar proxy or its token.
    pub fn is_of_service(&self, name: &str) -> bool {
        let mut services = self.service.as_deref().unwrap_or_default().split(", ");
        self.holder.as_deref().and_then(service_of_holder) == Some(name)
            || services.any(|it| service_behind(it) == name)
    }

    /// Whether the line names this cluster, or none.
    pub fn may_be_in(&self, cluster: &ClusterArn) -> bool {
        let named = self.cluster_arn.as_deref().or(self.last_task.as_deref());
        named.is_none_or(|arn| arn == cluster.as_str() || arn.contains(&format!("/{}/", cluster.name())))
    }

    /// How the task has stopped, if the line says that.
    pub fn end(&self) -> Option<TaskEnd> {
        self.is(&LogAction::TaskStopped).then(|| TaskEnd {
            code: self.stop_code.clone(),
            reason: self.reason.clone(),
            containers: ContainerEnd::in_line(self.containers.as_deref().unwrap_or_default()),
            created_at: self.created_at,
            started_at: self.started_at,
            stopped_at: self.stopped_at.or(Some(self.at)),
        })
    }
}

/// The service of a holder as [`LogLine::holder`] names it. The name of its secret may follow.
pub fn service_of_holder(holder: &str) -> Option<&str> {
    holder.strip_prefix("service ")?.split(' ').next()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parsed(text: &str) -> Option<LogLine> {
        LogLine::parse(text, "2026-11-23T12:00:00Z".parse().unwrap())
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
