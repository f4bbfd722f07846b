//! What setting Consul up came to, and why an object is not as it should be.

use tracing::warn;

use crate::error::ControllerError;
use consul::Object;

use super::merge::OtherType;

/// Why an object is not as it should be.
#[derive(Debug, thiserror::Error)]
pub enum BootstrapError {
    /// It is something else, and in use.
    #[error(transparent)]
    OtherType(#[from] OtherType),
    /// Consul has no such type of auth methods.
    #[error(
        "{method}: this Consul has no auth methods of type aws-iam: TokenMode auth-method needs Consul 1.12 or newer; \
         upgrade Consul, or set TokenMode to secrets-manager"
    )]
    NeedsNewerConsul {
        /// The auth method.
        method: String,
    },
    /// Consul has no partitions.
    #[error("partition {name}: this Consul has no partitions; leave CONSUL_PARTITION empty, or use Consul Enterprise")]
    NeedsEnterprise {
        /// The partition's name.
        name: String,
    },
    /// What it refers to could not be made.
    #[error("{object}: not attempted, because {missing} failed")]
    NotAttempted {
        /// The object.
        object: String,
        /// What it refers to.
        missing: String,
    },
    /// Somebody writes another value over it again and again.
    #[error("{object}: somebody else keeps writing it; see who else sets Consul up, and do this again")]
    Overwritten {
        /// The object.
        object: String,
    },
    /// Consul, or the time.
    #[error(transparent)]
    Controller(#[from] ControllerError),
}

/// An object that is not as it should be.
#[derive(Debug)]
pub struct BootstrapFailure {
    /// The object.
    pub object: String,
    /// Why.
    pub error: BootstrapError,
}

/// What setting Consul up came to, by object.
#[derive(Debug, Default)]
pub struct BootstrapReport {
    /// What was missing, and is there now.
    pub created: Vec<String>,
    /// What was extended.
    pub updated: Vec<String>,
    /// What was as it should be.
    pub unchanged: Vec<String>,
    /// What is not as it should be. Doing it all again is safe, and mends what can be updated.
    pub failures: Vec<BootstrapFailure>,
}

impl BootstrapReport {
    pub(crate) fn fail(&mut self, object: String, error: BootstrapError) {
        warn!(action = "bootstrap", outcome = "failed", object, error = %error);
        self.failures.push(BootstrapFailure { object, error });
    }

    pub(crate) fn has_failed(&self, object: &Object) -> bool {
        let name = object.to_string();
        self.failures.iter().any(|failure| failure.object == name)
    }
}
