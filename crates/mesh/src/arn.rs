//! Amazon resource names of ECS, in every AWS partition (`aws`, `aws-cn`, `aws-us-gov`, …).
//!
//! Shapes: <https://docs.aws.amazon.com/service-authorization/latest/reference/list_amazonelasticcontainerservice.html>

use std::{iter, str::FromStr, sync::Arc};

use crate::names::{InvalidField, text};

text!(Family.0, ClusterArn.arn, ContainerInstanceArn.0, TaskId.0, TaskArn.arn, TaskDefinitionArn.arn);

/// The name of a task definition without its revision: 1 to 255 letters, digits, hyphens and underscores.
///
/// Source: <https://docs.aws.amazon.com/AmazonECS/latest/APIReference/API_RegisterTaskDefinition.html>
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Family(Arc<str>);

impl FromStr for Family {
    type Err = InvalidField;

    fn from_str(name: &str) -> Result<Self, InvalidField> {
        if is_name(name) {
            Ok(Self(name.into()))
        } else {
            Err(InvalidField::new("family", name, "1 to 255 letters, digits, hyphens and underscores"))
        }
    }
}

/// The parts that all ECS ARNs share.
struct Parts<'a> {
    aws_partition: &'a str,
    region: &'a str,
    account: &'a str,
    resource: &'a str,
}

impl Parts<'_> {
    /// Whether the partition, region and account are those of `cluster`.
    fn is_beside(&self, cluster: &ClusterArn) -> bool {
        (self.aws_partition, self.region, self.account)
            == (cluster.aws_partition(), cluster.region(), cluster.account())
    }
}

/// The parts of an ARN of this kind of resource. The resource is then without its kind.
fn split<'a>(arn: &'a str, kind: &str) -> Option<Parts<'a>> {
    let parts = split_any(arn)?;
    let resource = parts.resource.strip_prefix(kind)?.strip_prefix('/')?;
    Some(Parts { resource, ..parts })
}

/// The parts of an ARN of any kind of resource.
fn split_any(arn: &str) -> Option<Parts<'_>> {
    let mut fields = arn.splitn(6, ':');
    let (prefix, partition, service) = (fields.next()?, fields.next()?, fields.next()?);
    let (region, account, resource) = (fields.next()?, fields.next()?, fields.next()?);
    let known = prefix == "arn" && service == "ecs" && (partition == "aws" || partition.starts_with("aws-"));
    let account_is_number = account.len() == 12 && account.bytes().all(|b| b.is_ascii_digit());
    if !known || !is_label(partition) || !is_label(region) || !account_is_number {
        return None;
    }
    Some(Parts { aws_partition: partition, region, account, resource })
}

/// The ARN of a resource of this kind; `None` for another kind of resource, which AWS may add at any time.
fn of_kind<T: FromStr<Err = InvalidField>>(arn: &str, kind: &str) -> Result<Option<T>, InvalidField> {
    let is_other = |parts: Parts<'_>| parts.resource.split_once('/').is_some_and(|(found, _)| found != kind);
    if split_any(arn).is_some_and(is_other) { Ok(None) } else { arn.parse().map(Some) }
}

fn is_label(text: &str) -> bool {
    !text.is_empty() && text.bytes().all(|b| b.is_ascii_lowercase() || b.is_ascii_digit() || b == b'-')
}

/// Names of clusters and families: up to 255 letters, digits, hyphens and underscores.
fn is_name(text: &str) -> bool {
    (1..=255).contains(&text.len()) && text.bytes().all(|b| b.is_ascii_alphanumeric() || b == b'-' || b == b'_')
}

/// The ARN of an ECS cluster: also the name of its synthetic node in Consul's catalog.
///
/// ```
/// use mesh::arn::ClusterArn;
///
/// let cluster: ClusterArn = "arn:aws:ecs:us-east-1:123456789012:cluster/prod".parse()?;
/// assert_eq!(cluster.name(), "prod");
/// assert!(cluster.is_named_by("prod"), "tokens of consul-ecs name a cluster by name or ARN");
/// # Ok::<(), mesh::names::InvalidField>(())
/// ```
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct ClusterArn {
    arn: Arc<str>,
}

impl ClusterArn {
    const EXPECTED: &'static str = "a cluster ARN such as arn:aws:ecs:us-east-1:123456789012:cluster/prod";

    pub fn name(&self) -> &str {
        self.arn.rsplit('/').next().unwrap_or_default()
    }

    /// The AWS partition: `aws`, `aws-cn`, `aws-us-gov`, …
    pub fn aws_partition(&self) -> &str {
        self.field(1)
    }

    pub fn region(&self) -> &str {
        self.field(3)
    }

    /// The AWS account: 12 digits.
    pub fn account(&self) -> &str {
        self.field(4)
    }

    fn field(&self, number: usize) -> &str {
        self.arn.split(':').nth(number).unwrap_or_default()
    }

    /// The ARN of the cluster `name` in the same account and region.
    pub fn sibling(&self, name: &str) -> Option<Self> {
        let stem = self.arn.rsplit_once(':').map_or("", |(stem, _)| stem);
        format!("{stem}:cluster/{name}").parse().ok()
    }

    /// Whether the ARNs of two clusters differ, but only in case: Consul takes them for one node.
    pub fn is_namesake_of(&self, other: &Self) -> bool {
        self != other && self.arn.eq_ignore_ascii_case(&other.arn)
    }

    /// Whether `mark` is the ARN or the name of this cluster. The task metadata endpoint prints either, and consul-ecs
    /// copied it into descriptions of tokens.
    pub fn is_named_by(&self, mark: &str) -> bool {
        mark == self.as_str() || mark == self.name()
    }
}

impl FromStr for ClusterArn {
    type Err = InvalidField;

    fn from_str(arn: &str) -> Result<Self, InvalidField> {
        let invalid = || InvalidField::new("cluster ARN", arn, Self::EXPECTED);
        let parts = split(arn, "cluster").ok_or_else(invalid)?;
        if !is_name(parts.resource) {
            return Err(invalid());
        }
        Ok(Self { arn: arn.into() })
    }
}

/// The ARN of a container instance, in the long or the short format.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct ContainerInstanceArn(Arc<str>);

impl FromStr for ContainerInstanceArn {
    type Err = InvalidField;

    fn from_str(arn: &str) -> Result<Self, InvalidField> {
        let invalid = || InvalidField::new("container instance ARN", arn, "the ARN of a container instance");
        split(arn, "container-instance").ok_or_else(invalid)?;
        Ok(Self(arn.into()))
    }
}

/// The ID of an ECS task: 32 hexadecimal digits, or the older form with hyphens.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct TaskId(Arc<str>);

impl FromStr for TaskId {
    type Err = InvalidField;

    fn from_str(id: &str) -> Result<Self, InvalidField> {
        let digits = id.bytes().filter(u8::is_ascii_hexdigit).count();
        let hyphens = id.bytes().filter(|b| *b == b'-').count();
        if digits == 32 && digits + hyphens == id.len() && (hyphens == 0 || hyphens == 4) {
            Ok(Self(id.into()))
        } else {
            Err(InvalidField::new("task ID", id, "32 hexadecimal digits"))
        }
    }
}

/// The ARN of an ECS task, in the long format (`task/<cluster>/<id>`) or the short one (`task/<id>`).
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct TaskArn {
    arn: Arc<str>,
    id: TaskId,
}

impl TaskArn {
    const EXPECTED: &'static str =
        "a task ARN such as arn:aws:ecs:us-east-1:123456789012:task/prod/0123456789abcdef0123456789abcdef";

    /// A listed task; `None` for another kind of resource.
    ///
    /// # Errors
    /// The ARN is invalid.
    pub fn of_listed(arn: &str) -> Result<Option<Self>, InvalidField> {
        of_kind(arn, "task")
    }

    pub fn id(&self) -> &TaskId {
        &self.id
    }

    /// The name of the cluster in a long ARN; `None` in a short one.
    pub fn cluster_name(&self) -> Option<&str> {
        split(&self.arn, "task")?.resource.split_once('/').map(|(name, _)| name)
    }

    pub fn region(&self) -> &str {
        split(&self.arn, "task").map_or("", |parts| parts.region)
    }

    /// The cluster in a long ARN; `None` in a short one.
    pub fn cluster(&self) -> Option<ClusterArn> {
        let name = self.cluster_name()?;
        let (stem, _) = self.arn.split_once(":task/")?;
        format!("{stem}:cluster/{name}").parse().ok()
    }

    /// The long ARN of the task with this ID in `cluster`.
    pub fn in_cluster(cluster: &ClusterArn, id: &TaskId) -> Self {
        // The first five fields are the cluster's own.
        let stem = cluster.arn.rsplit_once(':').map_or("", |(stem, _)| stem);
        Self { arn: format!("{stem}:task/{}/{id}", cluster.name()).into(), id: id.clone() }
    }

    /// Whether the ARN has the partition, region and account of `cluster`, and its name if the ARN contains a cluster
    /// name.
    pub fn is_in(&self, cluster: &ClusterArn) -> bool {
        let is_beside = split(&self.arn, "task").is_some_and(|parts| parts.is_beside(cluster));
        is_beside && self.cluster_name().is_none_or(|name| name == cluster.name())
    }
}

impl FromStr for TaskArn {
    type Err = InvalidField;

    fn from_str(arn: &str) -> Result<Self, InvalidField> {
        let invalid = || InvalidField::new("task ARN", arn, Self::EXPECTED);
        let parts = split(arn, "task").ok_or_else(invalid)?;
        let id = match parts.resource.split_once('/') {
            Some((cluster, id)) if is_name(cluster) => id,
            Some(_) => return Err(invalid()),
            None => parts.resource,
        };
        Ok(Self { arn: arn.into(), id: id.parse().map_err(|_| invalid())? })
    }
}

/// How far back revisions are read for the mesh tag that a revision has lost: the pipeline that drops it may have run several times.
pub const MOST_REVISIONS_BACK: usize = 5;

/// The ARN of one revision of a task definition. The content of a revision is immutable.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct TaskDefinitionArn {
    arn: Arc<str>,
    family: Family,
}

impl TaskDefinitionArn {
    const EXPECTED: &'static str =
        "a task definition ARN such as arn:aws:ecs:us-east-1:123456789012:task-definition/web:7";

    /// The definition of a task; `None` if another kind of resource defines it, such as
    /// `arn:aws:ecs:us-east-1:123456789012:daemon-task-definition/agent:1` of ECS Managed Daemons.
    ///
    /// # Errors
    /// The ARN is invalid.
    pub fn of_task(arn: &str) -> Result<Option<Self>, InvalidField> {
        of_kind(arn, "task-definition")
    }

    /// Whether the definition is in the account and region of `cluster`.
    pub fn is_beside(&self, cluster: &ClusterArn) -> bool {
        split(&self.arn, "task-definition").is_some_and(|parts| parts.is_beside(cluster))
    }

    pub fn family(&self) -> &Family {
        &self.family
    }

    /// `family:revision`.
    pub fn short_name(&self) -> String {
        format!("{}:{}", self.family, self.revision())
    }

    /// The revision number, as in the ARN.
    pub fn revision(&self) -> &str {
        self.arn.rsplit(':').next().unwrap_or_default()
    }

    /// The revision before this one; `None` for the first. ECS may have deleted it.
    pub fn previous(&self) -> Option<Self> {
        let number = self.revision_number().checked_sub(1).filter(|number| *number > 0)?;
        let (without_revision, _) = self.arn.rsplit_once(':')?;
        Some(Self { arn: format!("{without_revision}:{number}").into(), family: self.family.clone() })
    }

    /// The revisions that are read for the mesh tag that this one has lost, newest first.
    pub fn earlier(&self) -> impl Iterator<Item = Self> {
        iter::successors(self.previous(), Self::previous).take(MOST_REVISIONS_BACK)
    }

    /// Whether this is an earlier revision than `other` of the same definition.
    pub fn is_before(&self, other: &Self) -> bool {
        let without_revision = |arn: &Self| arn.arn.rsplit_once(':').map(|(start, _)| start.to_owned());
        without_revision(self) == without_revision(other) && self.revision_number() < other.revision_number()
    }

    pub fn revision_number(&self) -> u32 {
        self.revision().parse().unwrap_or_default()
    }
}

impl FromStr for TaskDefinitionArn {
    type Err = InvalidField;

    fn from_str(arn: &str) -> Result<Self, InvalidField> {
        let invalid = || InvalidField::new("task definition ARN", arn, Self::EXPECTED);
        let parts = split(arn, "task-definition").ok_or_else(invalid)?;
        let (family, revision) = parts.resource.rsplit_once(':').ok_or_else(invalid)?;
        // `u32::from_str` accepts a sign and leading zeros, which would give one revision several ARNs.
        let is_number = revision.parse::<u32>().is_ok_and(|number| number.to_string() == revision);
        if !is_number {
            return Err(invalid());
        }
        Ok(Self { arn: arn.into(), family: family.parse().map_err(|_| invalid())? })
    }
}

#[cfg(test)]
mod tests;
