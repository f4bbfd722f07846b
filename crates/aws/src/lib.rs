//! Clients of the AWS services, one feature for each: `ecs`, `secrets` (Secrets Manager), `queue` (SQS),
//! `events` (`EventBridge`), `iam` and `logs` (`CloudWatch` Logs); `stack` for the operations by hand, `installation` for what they
//! check, and `chain` for the credentials of a person.
//!
//! ```text
//!  TaskDefinitions  Tasks  Clusters  Inventory …  SecretStore   MessageSender, MessageVisibility     traits of callers
//!        └────────────┴──┬────┴─────────┘              │             │
//!                      AwsEcs                     AwsSecrets     SqsQueue    clients of one SDK configuration (sdk)
//!
//!  EventPublisher ── DefaultBus      Stack ── AwsStack      FailedMessages ── SqsFailedMessages      Logs ── AwsLogs
//! ```

#[cfg(feature = "ecs")]
pub mod ecs;
#[cfg(feature = "events")]
pub mod events;
#[cfg(feature = "stack")]
pub mod failed_messages;
#[cfg(feature = "iam")]
pub mod iam;
#[cfg(feature = "installation")]
pub mod installation;
#[cfg(feature = "logs")]
pub mod logs;
#[cfg(feature = "queue")]
pub mod queue;
pub mod sdk;
#[cfg(feature = "secrets")]
pub mod secrets;
#[cfg(feature = "stack")]
pub mod stack;
