//! Clients of the AWS services, one feature for each: `ecs`, `secrets` (Secrets Manager), `queue` (SQS),
//! `events` (`EventBridge`), `ec2`, `load-balancers` (Elastic Load Balancing), `iam`, `logs` (`CloudWatch` Logs) and `stack` (`CloudFormation`); `installation` for a deployed stack and what it needs around it,
//! and `chain` for the credentials of a person.
//!
//! ```text
//!  TaskDefinitions  Tasks  Clusters  Inventory …  SecretReads  SecretWrites   MessageSender …  EventPublisher  IamRoles  Logs   traits
//!        └────────────┴──┬────┴─────────┘              │             │               │           │       │
//!                      AwsEcs                     AwsSecrets     SqsQueue       DefaultBus    AwsIam  AwsLogs
//!                        └───────── clients of one SDK configuration (sdk) ──────────┴───────────┴───────┘
//!  Without a trait, because nothing else stands in for them: DeadLetterQueues, AwsInstallation, AwsLoadBalancers, AwsStacks
//! ```

#[cfg(feature = "ec2")]
pub mod ec2;
#[cfg(feature = "ecs")]
pub mod ecs;
#[cfg(feature = "events")]
pub mod events;
pub mod http;
#[cfg(feature = "iam")]
pub mod iam;
#[cfg(feature = "installation")]
pub mod installation;
#[cfg(feature = "load-balancers")]
pub mod load_balancers;
#[cfg(feature = "logs")]
pub mod logs;
#[cfg(any(feature = "ec2", feature = "load-balancers"))]
mod query;
#[cfg(feature = "queue")]
pub mod queue;
pub mod sdk;
#[cfg(feature = "secrets")]
pub mod secrets;
#[cfg(feature = "stack")]
pub mod stack;
