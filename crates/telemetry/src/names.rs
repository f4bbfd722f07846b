//! The names of the metrics with a further dimension, and of the dimensions.

/// The handled messages, by [`KIND`] and [`OUTCOME`].
pub const EVENTS: &str = "Events";
/// Milliseconds from the time of an event until its work was done.
pub const REACTION_TIME: &str = "ReactionTime";
/// Milliseconds of a sweep.
pub const SWEEP_TIME: &str = "SweepTime";
/// The calls of a service, by [`SERVICE`].
pub const CALLS: &str = "Calls";
/// The calls that failed, by [`SERVICE`].
pub const CALL_ERRORS: &str = "CallErrors";
/// Milliseconds of all calls together, by [`SERVICE`].
pub const CALL_TIME: &str = "CallTime";
/// The starts of execution environments, by [`FUNCTION`].
pub const COLD_STARTS: &str = "ColdStarts";
/// The findings of an audit, by [`SEVERITY`].
pub const AUDIT_FINDINGS: &str = "AuditFindings";
/// The dimension of the kind of a message.
pub const KIND: &str = "Kind";
/// The dimension of an outcome.
pub const OUTCOME: &str = "Outcome";
/// The dimension of a called service.
pub const SERVICE: &str = "Service";
/// The dimension of a function.
pub const FUNCTION: &str = "Function";
/// The dimension of the severity of a finding.
pub const SEVERITY: &str = "Severity";
