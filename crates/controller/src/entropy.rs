//! Randomness, as an edge: a simulator has its own.

use secrecy::SecretString;
use uuid::Uuid;

/// Makes what nobody can foresee.
pub trait Entropy: Send + Sync {
    /// The secret half of a new token: a random UUID, the form that Consul demands.
    fn secret(&self) -> SecretString;

    /// A random UUID: the accessor ID of a new token.
    fn uuid(&self) -> Uuid;

    /// A number below `limit`, which is not zero: each as likely as the others.
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
