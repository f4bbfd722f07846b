//! What is written, and the randomness of new tokens, behind traits: the simulation implements its own.

use std::sync::Arc;

use aws::{
    events::EventPublisher,
    queue::{MessageSender, MessageVisibility},
    secrets::SecretWrites,
};
use consul::{AgentWrites, CatalogWrites, ObjectWrites, TokenWrites};
use observe::Reads;
use secrecy::SecretString;
use uuid::Uuid;

/// Consul: tokens, catalog, agents, and the objects of the bootstrap.
pub trait ConsulWrites: TokenWrites + CatalogWrites + AgentWrites + ObjectWrites {}

impl<T: TokenWrites + CatalogWrites + AgentWrites + ObjectWrites> ConsulWrites for T {}

/// What changes something outside of the stack. Only `apply`, `tokens` and `bootstrap` have it.
#[derive(Clone)]
pub struct Writes {
    pub consul: Arc<dyn ConsulWrites>,
    pub secrets: Arc<dyn SecretWrites>,
}

/// The stack's own queue.
pub trait Queue: MessageSender + MessageVisibility {}

impl<T: MessageSender + MessageVisibility> Queue for T {}

#[derive(Clone)]
pub struct Edges {
    pub reads: Reads,
    pub writes: Writes,
    pub queue: Arc<dyn Queue>,
    pub events: Arc<dyn EventPublisher>,
    pub entropy: Arc<dyn Entropy>,
}

/// A source of unpredictable values.
pub trait Entropy: Send + Sync {
    /// The secret ID of a new token: a random UUID, the format that Consul requires.
    fn secret(&self) -> SecretString;

    /// A random UUID: the accessor ID of a new token.
    fn uuid(&self) -> Uuid;

    /// A uniformly distributed number below `limit`, which must not be zero.
    fn below(&self, limit: usize) -> usize;
}

/// The operating system's source of randomness.
#[derive(Debug, Clone, Copy)]
pub struct SystemEntropy;

impl Entropy for SystemEntropy {
    fn secret(&self) -> SecretString {
        SecretString::from(Uuid::new_v4().to_string())
    }

    fn uuid(&self) -> Uuid {
        Uuid::new_v4()
    }

    fn below(&self, limit: usize) -> usize {
        fastrand::usize(..limit)
    }
}
