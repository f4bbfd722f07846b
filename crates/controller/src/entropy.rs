//! Randomness, behind a trait: the simulation has its own.

use secrecy::SecretString;
use uuid::Uuid;

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
