//! How tasks have stopped.

use std::fmt::{self, Write as _};

use jiff::Timestamp;

/// How a task has stopped, as its event says:
/// <https://docs.aws.amazon.com/AmazonECS/latest/developerguide/stopped-task-error-codes.html>
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct TaskEnd {
    /// `stopCode`, for example `EssentialContainerExited`.
    pub code: Option<String>,
    /// `stoppedReason`.
    pub reason: Option<String>,
    /// Its containers, in their order.
    pub containers: Vec<ContainerEnd>,
    /// When ECS created the task.
    pub created_at: Option<Timestamp>,
    /// When its containers had started; `None` if they never had.
    pub started_at: Option<Timestamp>,
    /// When its last container had stopped.
    pub stopped_at: Option<Timestamp>,
}

/// How a container of a task has stopped.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ContainerEnd {
    /// Its name in the task definition.
    pub name: String,
    /// Its exit code; `None` if it never ran.
    pub exit_code: Option<i64>,
    /// Why ECS stopped it or could not start it.
    pub reason: Option<String>,
}

/// For example `web exited with 137 (OutOfMemoryError: Container killed due to memory usage)`.
impl fmt::Display for ContainerEnd {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.exit_code {
            Some(code) => write!(f, "{} exited with {code}", self.name)?,
            None => write!(f, "{} did not run", self.name)?,
        }
        match &self.reason {
            Some(reason) => write!(f, " ({reason})"),
            None => Ok(()),
        }
    }
}

impl ContainerEnd {
    /// Containers in one line, which [`Self::in_line`] reads.
    pub fn line(containers: &[Self]) -> String {
        containers.iter().map(ToString::to_string).collect::<Vec<String>>().join(", ")
    }

    /// The containers of such a line. What does not begin with a container belongs to the reason of the one before.
    pub fn in_line(line: &str) -> Vec<Self> {
        let mut containers: Vec<Self> = Vec::new();
        for part in line.split(", ") {
            match (Self::parse(part), containers.last_mut()) {
                (Some(container), _) => containers.push(container),
                (None, Some(Self { reason: Some(reason), .. })) => drop(write!(reason, ", {part}")),
                (None, _) => {}
            }
        }
        for container in &mut containers {
            container.reason = container.reason.take().map(|reason| reason.trim_end_matches(')').to_owned());
        }
        containers
    }

    /// The beginning of a container, with the parenthesis at the end of its reason.
    fn parse(part: &str) -> Option<Self> {
        let (name, rest) = part.split_once(' ')?;
        let is_name = |c: char| c.is_ascii_alphanumeric() || c == '-' || c == '_';
        let (how, reason) = match rest.split_once(" (") {
            Some((how, reason)) => (how, Some(reason.to_owned())),
            None => (rest, None),
        };
        let exit_code = match how.strip_prefix("exited with ") {
            Some(code) => Some(code.parse().ok()?),
            None if how == "did not run" => None,
            None => return None,
        };
        name.chars().all(is_name).then(|| Self { name: name.to_owned(), exit_code, reason })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn line_is_read_as_it_was_written() {
        let container = |name: &str, exit_code, reason: Option<&str>| ContainerEnd {
            name: name.to_owned(),
            exit_code,
            reason: reason.map(str::to_owned),
        };
        let containers = vec![
            container("consul-ecs-mesh-init", Some(0), None),
            container("app", Some(137), Some("OutOfMemoryError: Container killed due to memory usage")),
            container("side_car", None, Some("CannotPullContainerError: not found, or no access, to x:1")),
            container("last", Some(-1), None),
        ];
        assert_eq!(ContainerEnd::in_line(&ContainerEnd::line(&containers)), containers);
        assert_eq!(ContainerEnd::in_line(""), []);
    }
}
