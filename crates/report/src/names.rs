//! Names that one version writes and another reads.

/// An enum of names in a log or an answer. A name that this version does not know is kept as it is.
macro_rules! names {
    ($(#[$meta:meta])* $name:ident { $($(#[$doc:meta])* $variant:ident = $text:literal,)+ }) => {
        $(#[$meta])*
        #[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, serde::Serialize, serde::Deserialize)]
        #[serde(from = "String", into = "String")]
        pub enum $name {
            $($(#[$doc])* $variant,)+
            /// Written by another version.
            Other(String),
        }

        impl $name {
            #[cfg(test)]
            pub(crate) const ALL: &[&str] = &[$($text),+];

            pub fn as_str(&self) -> &str {
                match self {
                    $(Self::$variant => $text,)+
                    Self::Other(name) => name,
                }
            }
        }

        impl From<String> for $name {
            fn from(name: String) -> Self {
                match name.as_str() {
                    $($text => Self::$variant,)+
                    _ => Self::Other(name),
                }
            }
        }

        impl From<$name> for String {
            fn from(name: $name) -> Self {
                name.as_str().to_owned()
            }
        }
    };
}

names! {
    /// The `action` of a line about a task, a service or a token.
    LogAction {
        TaskStopped = "task_stopped",
        Deregister = "deregister",
        /// The node of a deleted cluster.
        DeregisterNode = "deregister_node",
        /// A failed client agent.
        ForceLeave = "force_leave",
        DeleteLoginToken = "delete_login_token",
        MarkCritical = "mark_critical",
        CreateToken = "create_token",
        RestoreToken = "restore_token",
        UpdateToken = "update_token",
        ShowToken = "show_token",
        HideToken = "hide_token",
        EmptySecret = "empty_secret",
        DeleteUnusedToken = "delete_unused_token",
        Provision = "provision",
        Revoke = "revoke",
        Repair = "repair",
        CorrectHealth = "correct_health",
        Drain = "drain",
        /// The host of a drained task runs again.
        EndDrain = "end_drain",
        ReportBrokenTask = "report_broken_task",
        AskForIdleCheck = "ask_for_idle_check",
        Sweep = "sweep",
        /// A call that mode `observe` did not send.
        Observe = "observe",
    }
}

names! {
    LogOutcome {
        Done = "done",
        /// Only planned, because the mode is `observe`.
        Observed = "observed",
        Seen = "seen",
        Failed = "failed",
        GuardTripped = "guard_tripped",
        Kept = "kept",
        Skipped = "skipped",
        /// Consul refused it, because an optional permission is missing.
        Refused = "refused",
    }
}

names! {
    /// Why something failed, for metrics and log queries.
    ErrorLabel {
        Invalid = "invalid",
        /// AWS denied a call: a permission is missing.
        AwsRefused = "aws_refused",
        Bootstrap = "bootstrap",
        /// One owner has more of something than is handled at once; the rest waits.
        OverLimit = "over_limit",
        ConsulNotFound = "consul_not_found",
        ConsulAclsDisabled = "consul_acls_disabled",
        ConsulCredentialRejected = "consul_credential_rejected",
        ConsulCredentialUnreadable = "consul_credential_unreadable",
        ConsulPermissionDenied = "consul_permission_denied",
        ConsulConflict = "consul_conflict",
        ConsulThrottled = "consul_throttled",
        ConsulUnavailable = "consul_unavailable",
        ConsulRefused = "consul_refused",
        ConsulMalformed = "consul_malformed",
        Ecs = "ecs",
        Ec2 = "ec2",
        Iam = "iam",
        Secrets = "secrets",
        Queue = "queue",
        NotDescribedYet = "not_described_yet",
        AgentStillAlive = "agent_still_alive",
        NotSwept = "not_swept",
        OutOfTime = "out_of_time",
        Panicked = "panicked",
    }
}

impl From<mesh::settings::Mode> for LogOutcome {
    fn from(mode: mesh::settings::Mode) -> Self {
        if mode.acts() { Self::Done } else { Self::Observed }
    }
}
