//! Which ECS clusters a deployment manages: by ARN, by name or by a pattern of names, all of one account and region.

use std::{fmt, str::FromStr};

use crate::{
    arn::{ClusterArn, TaskArn},
    names::InvalidField,
};

/// The name of a cluster, or a pattern in which one `*` stands for any number of characters.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct ClusterPattern {
    /// The name, or its part before the `*`.
    start: String,
    /// The part after the `*`; `None`: there is none.
    end: Option<String>,
}

impl ClusterPattern {
    /// Whether the pattern contains a `*`.
    pub fn has_wildcard(&self) -> bool {
        self.end.is_some()
    }

    /// Whether this is a name of the pattern.
    pub fn matches(&self, name: &str) -> bool {
        match &self.end {
            None => name == self.start,
            Some(end) => {
                name.len() >= self.start.len() + end.len() && name.starts_with(&self.start) && name.ends_with(end)
            }
        }
    }

    /// Whether every name of `other` is a name of this pattern.
    pub fn covers(&self, other: &Self) -> bool {
        match (&self.end, &other.end) {
            (Some(end), Some(other_end)) => other.start.starts_with(&self.start) && other_end.ends_with(end),
            _ => !other.has_wildcard() && self.matches(&other.start),
        }
    }
}

impl FromStr for ClusterPattern {
    type Err = InvalidField;

    fn from_str(pattern: &str) -> Result<Self, InvalidField> {
        let is_legal = |part: &str| part.bytes().all(|b| b.is_ascii_alphanumeric() || b == b'-' || b == b'_');
        let (start, end) = pattern.split_once('*').map_or((pattern, None), |(start, end)| (start, Some(end)));
        if is_legal(start) && end.is_none_or(is_legal) && (1..=255).contains(&pattern.len()) {
            Ok(Self { start: start.to_owned(), end: end.map(str::to_owned) })
        } else {
            Err(InvalidField::new("cluster", pattern, "the name of a cluster, with at most one *, such as prod-*"))
        }
    }
}

impl fmt::Display for ClusterPattern {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.end {
            None => f.write_str(&self.start),
            Some(end) => write!(f, "{}*{end}", self.start),
        }
    }
}

/// The clusters of a deployment, all of one account and region.
///
/// ```
/// use mesh::cluster_selection::ClusterSelection;
///
/// let home = "arn:aws:ecs:us-east-1:123456789012:cluster/";
/// let clusters = ClusterSelection::parse("prod-*, shop", Some(home))?;
/// assert!(clusters.contains(&"arn:aws:ecs:us-east-1:123456789012:cluster/prod-1".parse()?));
/// assert!(!clusters.contains(&"arn:aws:ecs:us-east-1:123456789012:cluster/test".parse()?));
/// # Ok::<(), mesh::names::InvalidField>(())
/// ```
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ClusterSelection {
    /// The start of the ARN of each cluster, up to its name.
    prefix: String,
    /// A cluster with that prefix: it has the account and region.
    home: ClusterArn,
    patterns: Vec<ClusterPattern>,
}

impl ClusterSelection {
    /// Parses ARNs, names and patterns, separated by commas. `prefix` is the start of the ARNs of the clusters in the
    /// account and region of the deployment, up to their name; without it, at least one entry has to be an ARN.
    ///
    /// # Errors
    /// An entry is invalid, or is in another account or region than the others.
    pub fn parse(text: &str, prefix: Option<&str>) -> Result<Self, InvalidField> {
        let entries: Vec<&str> = text.split(',').map(str::trim).collect();
        let invalid = |text: &str, expected| InvalidField::new("clusters", text, expected);
        let of_an_arn = entries.iter().find_map(|entry| split_arn(entry)).map(|(prefix, _)| prefix);
        let prefix = prefix.or(of_an_arn).ok_or_else(|| {
            invalid(text, "the ARN of a cluster; names and patterns also need ECS_CLUSTER_ARN_PREFIX")
        })?;
        // Any name makes the prefix an ARN.
        let home: ClusterArn = format!("{prefix}any")
            .parse()
            .map_err(|_| invalid(prefix, "the start of an ARN, such as arn:aws:ecs:us-east-1:123456789012:cluster/"))?;
        let pattern = |entry: &&str| match split_arn(entry) {
            // The clients and secrets of the functions are in one region and account.
            Some((other, _)) if other != prefix => Err(invalid(
                entry,
                "a cluster of the same region and account as the function; deploy one controller for each",
            )),
            Some((_, name)) => name.parse(),
            None => entry.parse(),
        };
        let patterns = entries.iter().map(pattern).collect::<Result<_, _>>()?;
        Ok(Self { prefix: prefix.to_owned(), home, patterns })
    }

    pub fn patterns(&self) -> &[ClusterPattern] {
        &self.patterns
    }

    /// Whether ECS has to list its clusters to find those of a pattern.
    pub fn has_wildcard(&self) -> bool {
        self.patterns.iter().any(ClusterPattern::has_wildcard)
    }

    /// The clusters that are selected by ARN or by name.
    pub fn named(&self) -> impl Iterator<Item = ClusterArn> {
        self.patterns.iter().filter(|pattern| !pattern.has_wildcard()).filter_map(|name| self.home.sibling(&name.start))
    }

    pub fn contains(&self, cluster: &ClusterArn) -> bool {
        self.has_arn(cluster.as_str())
    }

    /// Whether `text` is the ARN of a selected cluster.
    pub fn has_arn(&self, text: &str) -> bool {
        text.strip_prefix(&self.prefix).is_some_and(|name| self.has_name(name))
    }

    /// Whether `mark` is the ARN or the name of a selected cluster: see [`ClusterArn::is_named_by`].
    pub fn is_named_by(&self, mark: &str) -> bool {
        self.has_arn(mark) || self.has_name(mark)
    }

    /// The selected cluster whose ARN or name is `mark`.
    pub fn cluster_named_by(&self, mark: &str) -> Option<ClusterArn> {
        let name = mark.strip_prefix(&self.prefix).unwrap_or(mark);
        self.home.sibling(name).filter(|_| self.has_name(name))
    }

    /// The selected cluster of a task. A short ARN contains no cluster: it counts for the first one with a name.
    pub fn cluster_of(&self, task: &TaskArn) -> Option<ClusterArn> {
        match task.cluster_name() {
            Some(name) => self.home.sibling(name).filter(|cluster| self.contains(cluster) && task.is_in(cluster)),
            None => self.named().find(|cluster| task.is_in(cluster)),
        }
    }

    /// The AWS partition: `aws`, `aws-cn`, `aws-us-gov`, …
    pub fn aws_partition(&self) -> &str {
        self.home.aws_partition()
    }

    pub fn region(&self) -> &str {
        self.home.region()
    }

    /// The AWS account: 12 digits.
    pub fn account(&self) -> &str {
        self.home.account()
    }

    /// The start of the ARNs of the clusters of a pattern, or the ARN of the cluster.
    pub fn arn_start(&self, pattern: &ClusterPattern) -> String {
        format!("{}{}", self.prefix, pattern.start)
    }

    fn has_name(&self, name: &str) -> bool {
        // A colon or slash is part of an ARN, which is not a name.
        !name.is_empty() && !name.contains([':', '/']) && self.patterns.iter().any(|pattern| pattern.matches(name))
    }
}

/// The ARN of a cluster, or a pattern of ARNs, split before the name.
fn split_arn(entry: &str) -> Option<(&str, &str)> {
    let slash = entry.find('/').filter(|_| entry.starts_with("arn:"))?;
    entry.split_at_checked(slash + 1)
}

#[cfg(test)]
mod tests;
