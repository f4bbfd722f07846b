//! The result of the bootstrap.

use tracing::{info, warn};

use consul::{ConsulError, Object};
use mesh::token_mode::TokenMode;

use crate::error::ControllerError;

use super::merge::OtherType;

/// Why an object could not be created or updated.
#[derive(Debug, thiserror::Error)]
pub enum BootstrapError {
    /// An auth method of that name has another type.
    #[error(transparent)]
    OtherType(#[from] OtherType),
    /// Consul does not support auth methods of type `aws-iam`.
    #[error(
        "{method}: this Consul has no auth methods of type aws-iam: TokenMode auth-method needs Consul 1.12 or newer; \
         upgrade Consul, or set TokenMode to auto or secrets-manager"
    )]
    NeedsNewerConsul {
        /// The auth method.
        method: String,
    },
    /// Consul does not support partitions.
    #[error("partition {name}: this Consul has no partitions; leave CONSUL_PARTITION empty, or use Consul Enterprise")]
    NeedsEnterprise {
        /// The partition's name.
        name: String,
    },
    /// An object that it refers to could not be created.
    #[error("{object}: not attempted, because {missing} failed")]
    NotAttempted {
        /// The object.
        object: String,
        /// What it refers to.
        missing: String,
    },
    /// Another writer keeps replacing it.
    #[error("{object}: another tool keeps writing it; find out which other tool sets Consul up, and try again")]
    Overwritten {
        /// The object.
        object: String,
    },
    /// A call failed, or time ran out.
    #[error(transparent)]
    Controller(#[from] ControllerError),
}

impl BootstrapError {
    /// Whether a Consul without the object is set up correctly in the mode: ACLs are off, or no task of this Consul can
    /// log in.
    pub(crate) fn is_acceptable(&self, mode: TokenMode) -> bool {
        match self {
            Self::Controller(ControllerError::Consul(ConsulError::AclsDisabled { .. })) => true,
            Self::NeedsNewerConsul { .. } => mode == TokenMode::Auto,
            _ => false,
        }
    }
}

/// An object that could not be created or updated.
#[derive(Debug)]
pub struct BootstrapFailure {
    /// The object.
    pub object: String,
    /// The cause.
    pub error: BootstrapError,
}

/// The result of the bootstrap, by object.
#[derive(Debug, Default)]
pub struct BootstrapReport {
    /// The created objects.
    pub created: Vec<String>,
    /// The extended objects.
    pub updated: Vec<String>,
    /// The objects that needed no change.
    pub unchanged: Vec<String>,
    /// The objects that this Consul cannot have: ACLs are off, or it is too old for logins.
    pub skipped: Vec<String>,
    /// The failed objects. The bootstrap may be repeated.
    pub failures: Vec<BootstrapFailure>,
}

impl BootstrapReport {
    pub(crate) fn fail(&mut self, object: String, error: BootstrapError) {
        warn!(action = "bootstrap", outcome = "failed", object, error = %error);
        self.failures.push(BootstrapFailure { object, error });
    }

    pub(crate) fn skip(&mut self, object: String, reason: &BootstrapError) {
        info!(action = "bootstrap", outcome = "skipped", object, %reason);
        self.skipped.push(object);
    }

    pub(crate) fn has_skipped(&self, object: &Object) -> bool {
        self.skipped.contains(&object.to_string())
    }

    pub(crate) fn has_failed(&self, object: &Object) -> bool {
        let name = object.to_string();
        self.failures.iter().any(|failure| failure.object == name)
    }
}
