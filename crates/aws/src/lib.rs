//! Clients of the AWS services, one feature for each: `ecs`, `secrets` (Secrets Manager) and `queue` (SQS).
//!
//! ```text
//!  TaskDefinitions  Tasks  Clusters  Inventory    SecretStore   MessageSender, MessageVisibility     traits of callers
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
