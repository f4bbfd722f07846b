//! The unsuccessful answers of two versions of Consul, by HTTP status and text. The tests in `recordings` compare them with the
//! answers of real servers.

use consul::ObjectKind;
use fastrand::Rng;
use mesh::{
    catalog::{HealthCheck, ServiceInstance},
    token::AccessorId,
};
use serde_json::{Value, json};

/// The version whose answers the simulated Consul gives. Only the answers differ: a schedule may have an admin partition, or logins
/// by AWS IAM, with the answers of a version that has none.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Dialect {
    /// Consul 1.8.7.
    V1_8,
    /// Consul 1.21.
    V1_21,
}

/// An unsuccessful answer.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Answer {
    pub(crate) status: u16,
    pub(crate) text: String,
}

impl Answer {
    fn new(status: u16, text: impl Into<String>) -> Self {
        Self { status, text: text.into() }
    }

    pub(crate) fn no_token_to_update(accessor: AccessorId) -> Self {
        Self::new(500, format!("Cannot find token \"{accessor}\""))
    }

    pub(crate) fn accessor_in_use() -> Self {
        Self::new(500, "Invalid Token: AccessorID is already in use")
    }

    pub(crate) fn secret_in_use() -> Self {
        Self::new(500, "Invalid Token: SecretID is already in use")
    }

    /// A token is created or updated with a policy that does not exist.
    pub(crate) fn no_policy_to_link(name: &str) -> Self {
        Self::new(500, format!("No such ACL policy with name \"{name}\""))
    }

    /// A policy or a role is created with a name that exists.
    pub(crate) fn name_in_use(kind: ObjectKind, name: &str) -> Self {
        Self::new(500, format!("Invalid {kind:?}: A {kind:?} with Name \"{name}\" already exists"))
    }

    /// A role is updated by an ID that does not exist.
    pub(crate) fn no_role_to_update(id: &str) -> Self {
        Self::new(500, format!("cannot find role {id}"))
    }

    /// A binding rule is created for an auth method that does not exist.
    pub(crate) fn no_method_to_bind(name: &str) -> Self {
        Self::new(500, format!("cannot find auth method with name \"{name}\""))
    }

    /// A transaction whose operations with these indexes delete services that have changed, or do not exist.
    pub(crate) fn stale(operations: &[(usize, &ServiceInstance)]) -> Self {
        let error = |(index, seen): &(usize, &ServiceInstance)| stale(*index, "service", &seen.id, &seen.node);
        Self::not_applied(&operations.iter().map(error).collect::<Vec<_>>())
    }

    /// A check that has changed since it was read.
    pub(crate) fn stale_check(index: usize, seen: &HealthCheck) -> Self {
        Self::not_applied(&[stale(index, "check", &seen.id, &seen.node)])
    }

    /// A transaction that changed nothing, because of these errors.
    fn not_applied(errors: &[Value]) -> Self {
        Self::new(409, json!({ "Errors": errors, "Results": null }).to_string())
    }

    /// An agent that is no member is forced to leave.
    pub(crate) fn no_agent(name: &str) -> Self {
        Self::new(500, format!("agent: No node found with name '{name}'"))
    }

    /// A request with a credential that does not exist, except those that the dialects answer differently.
    pub(crate) fn unknown_credential() -> Self {
        Self::new(403, "ACL not found")
    }

    /// The limit on the rate of a server's requests.
    pub(crate) fn throttled() -> Self {
        Self::new(429, "")
    }

    /// An election.
    pub(crate) fn no_leader() -> Self {
        Self::new(500, "No cluster leader")
    }
}

/// The error of an operation that deletes what has changed.
fn stale(index: usize, kind: &str, id: &str, node: &str) -> Value {
    let what = format!("failed to delete {kind} \"{id}\" on node \"{node}\", index is stale");
    json!({ "OpIndex": index, "What": what })
}

impl Dialect {
    /// Both dialects.
    #[cfg(test)]
    pub(crate) const ALL: [Self; 2] = [Self::V1_8, Self::V1_21];

    /// Draws from a copy of the generator: the rest of the schedule is the same in either dialect.
    pub(crate) fn draw(random: &Rng) -> Self {
        if random.clone().fork().bool() { Self::V1_8 } else { Self::V1_21 }
    }

    /// Whether the list of tokens can be limited to the identity of a service.
    pub(crate) fn filters_tokens_by_service(self) -> bool {
        self.choose(false, true)
    }

    /// One of two values.
    fn choose<T>(self, v1_8: T, v1_21: T) -> T {
        match self {
            Self::V1_8 => v1_8,
            Self::V1_21 => v1_21,
        }
    }

    /// A token that does not exist is read.
    pub(crate) fn no_token(self) -> Answer {
        Answer::new(403, self.choose("ACL not found", "token does not exist: ACL not found"))
    }

    /// A token that does not exist is deleted.
    pub(crate) fn no_token_to_delete(self) -> Result<(), Answer> {
        self.choose(Ok(()), Err(Answer::new(404, "Cannot find token to delete")))
    }

    /// A token is updated with another secret half.
    pub(crate) fn other_secret(self) -> Answer {
        let owner = self.choose("tokens", "token's");
        Answer::new(500, format!("Changing a {owner} SecretID is not permitted"))
    }

    /// The server's version.
    pub(crate) fn version(self) -> &'static str {
        self.choose("1.8.7", "1.21")
    }

    /// An object that does not exist is read.
    pub(crate) fn no_object(self, kind: ObjectKind) -> Answer {
        let (v1_8, name) = match kind {
            ObjectKind::Policy => (Answer::new(403, "ACL not found"), "policy"),
            ObjectKind::Role => (Answer::new(404, ""), "role"),
            ObjectKind::AuthMethod => (Answer::new(404, ""), "auth method"),
            _ => return self.no_partitions(),
        };
        self.choose(v1_8, Answer::new(404, format!("Requested {name} does not exist: ACL not found")))
    }

    /// An auth method of this type is written.
    pub(crate) fn check_method_type(self, kind: &str) -> Result<(), Answer> {
        let known = self.choose(&["jwt", "kubernetes"][..], &["aws-iam", "jwt", "kubernetes"]);
        let unknown = || Answer::new(500, format!("Invalid Auth Method: Type should be one of: [{}]", known.join(" ")));
        if known.contains(&kind) { Ok(()) } else { Err(unknown()) }
    }

    /// A policy that does not exist is deleted.
    pub(crate) fn no_policy_to_delete(self) -> Result<(), Answer> {
        self.choose(Ok(()), Err(Answer::new(404, "Cannot find policy to delete")))
    }

    /// A check is registered, and its service is not.
    pub(crate) fn unknown_service(self, check: &HealthCheck) -> Answer {
        let (service, id) = (&check.service_id, &check.id);
        let v1_8 = format!("Unknown service '{service}' for check '{id}'");
        let v1_21 = format!("Unknown service ID '{service}' for check ID '{id}'");
        Answer::new(500, self.choose(v1_8, v1_21))
    }

    /// A transaction with this number of operations, if they are too many.
    pub(crate) fn check_operations(self, count: usize) -> Result<(), Answer> {
        let most = self.choose(64, 128);
        let too_many = || Answer::new(413, format!("Transaction contains too many operations ({count} > {most})"));
        if count > most { Err(too_many()) } else { Ok(()) }
    }

    /// The partitions of a server without Enterprise.
    pub(crate) fn no_partitions(self) -> Answer {
        Answer::new(404, self.choose("", "Invalid URL path: not a recognized HTTP API endpoint\n"))
    }

    /// A token is deleted with a credential that does not exist.
    pub(crate) fn unknown_credential_deletes_token(self) -> Answer {
        self.no_token_to_delete().err().unwrap_or_else(Answer::unknown_credential)
    }

    /// A credential that does not exist reads its own token.
    pub(crate) fn unknown_credential_reads_itself(self) -> Answer {
        self.no_token()
    }
}

#[cfg(test)]
mod tests;
