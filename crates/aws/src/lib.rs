//! The AWS services that the functions call, one feature for each, so that a program is built with those that it needs:
//! `ecs`, `secrets` (Secrets Manager) and `queue` (SQS).
//!
//! ```text
//!  TaskDefinitions  Tasks  Clusters  Inventory    SecretStore      Queue     what callers need
//!        └────────────┴──┬────┴─────────┘              │             │
//!                      AwsEcs                     AwsSecrets     SqsQueue    clients of one SDK configuration (sdk)
//! ```

#[cfg(feature = "ecs")]
pub mod ecs;
#[cfg(feature = "queue")]
pub mod queue;
pub mod sdk;
#[cfg(feature = "secrets")]
pub mod secrets;
