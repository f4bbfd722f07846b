//! Fails a test if IAM refused a call to its stack's functions.

use std::{fmt::Write as _, fs, path::PathBuf, thread};

use serde_json::Value;

/// Checked on drop: fails the test with each call that IAM has refused to a role of the stack.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Permitted {
    pub(crate) stack: String,
    /// What `ministack_iam.py` records.
    pub(crate) refused: PathBuf,
}

impl Permitted {
    /// The refused calls, each with the statement that is missing.
    fn refused(&self) -> String {
        // A world without a deployment has no file.
        if self.stack.is_empty() {
            return String::new();
        }
        let log = fs::read_to_string(&self.refused).unwrap();
        let mut lines = String::new();
        for refused in log.lines().map(|line| serde_json::from_str::<Value>(line).unwrap()) {
            if let Some(role) = self.role(refused["principal"].as_str().unwrap()) {
                let [action, resource, keys] = ["action", "resource", "keys"].map(|field| &refused[field]);
                writeln!(lines, "{role} lacks {{ Action: {action}, Resource: {resource} }} with the keys {keys}")
                    .unwrap();
            }
        }
        lines
    }

    /// The role of the stack that a session belongs to. CloudFormation names it after the stack, the logical ID and something random.
    fn role<'a>(&self, principal: &'a str) -> Option<&'a str> {
        let (_, session) = principal.split_once(":assumed-role/")?;
        let role = session.split('/').next()?.strip_prefix(&format!("{}-", self.stack))?;
        role.starts_with(|letter: char| letter.is_ascii_uppercase()).then_some(role)
    }
}

impl Drop for Permitted {
    fn drop(&mut self) {
        // A second panic would end the process, with the message of the first.
        if !thread::panicking() {
            let refused = self.refused();
            assert!(refused.is_empty(), "IAM refused calls of stack {}:\n{refused}", self.stack);
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_refused_call_of_the_own_stack_is_named_with_what_is_missing() {
        let path = std::env::temp_dir().join(format!("refused-{}", std::process::id()));
        let refused = |stack: &str| Permitted { stack: stack.to_owned(), refused: path.clone() };
        let principal = "arn:aws:sts::000000000000:assumed-role/mesh-other-ReconcileRole-0A/mesh-other-Reconcile";
        let keys = json!({ "ecs:cluster": "prod" });
        let line = json!({ "principal": principal, "action": "ecs:ListTasks", "resource": "*", "keys": keys });
        fs::write(&path, format!("{line}\n")).unwrap();
        let stacks = ["mesh-other", "mesh"].map(refused);
        let said = stacks.each_ref().map(Permitted::refused);
        // Nothing is refused when they are dropped.
        fs::write(&path, "").unwrap();
        drop(stacks);
        fs::remove_file(&path).unwrap();
        let missing = r#"{ Action: "ecs:ListTasks", Resource: "*" } with the keys {"ecs:cluster":"prod"}"#;
        assert_eq!(said, [format!("ReconcileRole-0A lacks {missing}\n"), String::new()]);
    }
}
