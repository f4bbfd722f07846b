//! ARNs, and other names that are used in URLs, filters, bodies and log lines.

use std::{fmt::Display, str::FromStr, time::Duration};

use consul::ConsulAddresses;
use jiff::Timestamp;
use mesh::scope::IamRolePath;
use mesh::{
    arn::{ClusterArn, Family, TaskArn, TaskDefinitionArn, TaskId},
    mark::TokenDescription,
    names::{InvalidField, ServiceName},
    secret_name::SecretNamePrefix,
    secret_reference::SecretReference,
    tenancy::TenancyName,
    token::AccessorId,
};

/// Whether a name has no character that ends a text in a filter expression, a path, HCL, JSON or a log line.
fn is_harmless(text: &str) -> bool {
    text.bytes().all(|b| b.is_ascii_alphanumeric() || b":/_-".contains(&b))
}

/// A text that parses is harmless and prints as it was; otherwise the error is one line.
fn check<T: FromStr<Err = InvalidField> + Display>(text: &str) -> Option<T> {
    match text.parse::<T>() {
        Ok(value) => {
            assert_eq!(value.to_string(), text);
            assert!(is_harmless(text), "{text:?}");
            Some(value)
        }
        Err(error) => {
            is_one_line(&error);
            None
        }
    }
}

fn is_one_line(error: &InvalidField) {
    let error = error.to_string();
    assert!(!error.chars().any(char::is_control), "{error:?}");
}

/// The input is a name, and optionally a cluster on the second line.
pub fn run(text: &str) {
    let (first, second) = text.split_once('\n').unwrap_or((text, ""));
    let cluster = check::<ClusterArn>(second);
    if let (Some(task), Some(cluster)) = (check::<TaskArn>(first), &cluster) {
        let own = TaskArn::in_cluster(cluster, task.id());
        assert!(own.is_in(cluster), "{own}");
        // The old ARN format of a task lacks the cluster's name.
        assert!(!task.is_in(cluster) || task == own || !task.as_str().contains(&format!("/{}/", cluster.name())));
    }
    if let (Some(definition), Some(cluster)) = (check::<TaskDefinitionArn>(first), &cluster) {
        let _ = definition.is_beside(cluster);
        assert!(!definition.revision().is_empty());
        check::<Family>(definition.family().as_str()).expect("a family");
    }
    if let Some(cluster) = check::<ClusterArn>(first) {
        assert!(cluster.is_named_by(cluster.name()) && cluster.is_named_by(first));
        assert_eq!(cluster.sibling(cluster.name()).as_ref(), Some(&cluster));
    }
    check::<TaskId>(first);
    check::<ServiceName>(first);
    check::<TenancyName>(first);
    if let Ok(accessor) = first.parse::<AccessorId>() {
        assert!(is_harmless(&accessor.to_string()));
    }
    for error in [
        first.parse::<SecretNamePrefix>().err(),
        first.parse::<IamRolePath>().err(),
        first.parse::<ConsulAddresses>().err(),
        ServiceName::from_family(first).err(),
    ] {
        error.iter().for_each(is_one_line);
    }
    if let Some(reference) = SecretReference::parse(first) {
        assert!(reference.is_same_secret_as(&reference, "123456789012", "us-east-1"));
    }
    descriptions(text);
}

/// Descriptions of tokens, which any holder of `acl:write` can write.
fn descriptions(text: &str) {
    let description = TokenDescription::from(text);
    if let Some(mark) = description.holder_mark() {
        let unused = description.without_unused_since().with_unused_since(Timestamp::UNIX_EPOCH);
        assert_eq!(unused.holder_mark().map(|again| &again.cluster), Some(&mark.cluster));
    }
    let _ = description.with_restarted_wait(Timestamp::MAX, Duration::MAX);
}
