//! Which module of terraform-aws-consul-ecs a call names, and in which version.

/// The minor versions of the modules that are known. 0.10 has the inputs of 0.9.4; its images are newer. Source:
/// <https://github.com/hashicorp/terraform-aws-consul-ecs/pull/415>
const MINORS: std::ops::RangeInclusive<u64> = 2..=10;

/// More patches than any minor version has.
const PATCHES: std::ops::Range<u64> = 0..10;

/// A module that makes a task definition.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in super::super) enum Kind {
    MeshTask,
    GatewayTask,
    /// The controller from 0.7 on.
    Controller,
    /// The controller before 0.7.
    AclController,
}

/// A version of the modules.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(in super::super) struct Release {
    pub(super) minor: u64,
    /// `None` if a version constraint leaves it open.
    pub(super) patch: Option<u64>,
}

/// The module and version of a call; `None` if it is another module.
///
/// # Errors
/// The version is none of those that are known: why.
pub(in super::super) fn called(source: &str, version: Option<&str>) -> Option<Result<(Kind, Release), String>> {
    let (path, query) = source.split_once('?').unwrap_or((source, ""));
    let (package, module) = path.split_once("//modules/").or_else(|| {
        // An address with a scheme has two more slashes.
        let (scheme, rest) = path.split_once("://")?;
        let (package, module) = rest.split_once("//modules/")?;
        (!scheme.is_empty()).then_some((package, module))
    })?;
    let package = package.trim_end_matches(".git");
    let is_registry = package == "hashicorp/consul-ecs/aws" || package.ends_with("/hashicorp/consul-ecs/aws");
    let is_git = ["github.com/hashicorp/terraform-aws-consul-ecs", "github.com:hashicorp/terraform-aws-consul-ecs"]
        .iter()
        .any(|repository| package.ends_with(repository));
    if !is_registry && !is_git {
        return None;
    }
    let kind = match module.trim_end_matches('/') {
        "mesh-task" => Kind::MeshTask,
        "gateway-task" => Kind::GatewayTask,
        "controller" => Kind::Controller,
        "acl-controller" => Kind::AclController,
        _ => return None,
    };
    let wanted = if is_git { query.split('&').find_map(|part| part.strip_prefix("ref=")) } else { version };
    let release = match (is_git, wanted) {
        (true, Some(tag)) => exact(tag),
        (_, None) => newest(|_, _| true),
        (false, Some(constraint)) => constrained(constraint),
    };
    let unknown = || {
        let (first, last) = (MINORS.start(), MINORS.end());
        format!("of its versions, 0.{first} to 0.{last} are known, but not {}", wanted.unwrap_or_default())
    };
    Some(release.map(|release| (kind, release)).ok_or_else(unknown))
}

/// `0.9.0` or `v0.9.0`.
fn exact(text: &str) -> Option<Release> {
    let (minor, patch) = parts(text.trim_start_matches('v'))?;
    MINORS.contains(&minor).then_some(Release { minor, patch: Some(patch?) })
}

/// The minor and patch of a version of major 0.
fn parts(text: &str) -> Option<(u64, Option<u64>)> {
    let text = text.split(['-', '+']).next()?;
    let mut numbers = text.trim().split('.').map(str::parse::<u64>);
    if numbers.next()?.ok()? != 0 {
        return None;
    }
    let minor = numbers.next()?.ok()?;
    Some((minor, numbers.next().transpose().ok()?))
}

/// The newest version that meets all constraints. Source:
/// <https://developer.hashicorp.com/terraform/language/expressions/version-constraints>
fn constrained(text: &str) -> Option<Release> {
    let constraints = text.split(',').map(constraint).collect::<Option<Vec<_>>>()?;
    newest(|minor, patch| constraints.iter().all(|constraint| constraint.admits(minor, patch)))
}

struct Constraint {
    operator: String,
    minor: u64,
    patch: Option<u64>,
}

fn constraint(text: &str) -> Option<Constraint> {
    let text = text.trim();
    let digits = text.find(|c: char| c.is_ascii_digit())?;
    let (operator, version) = text.split_at(digits);
    let (minor, patch) = parts(version)?;
    Some(Constraint { operator: operator.trim().trim_end_matches('v').trim().to_owned(), minor, patch })
}

impl Constraint {
    fn admits(&self, minor: u64, patch: u64) -> bool {
        let own = (self.minor, self.patch.unwrap_or(0));
        match self.operator.as_str() {
            "" | "=" => (minor, patch) == own,
            "!=" => (minor, patch) != own,
            ">" => (minor, patch) > own,
            ">=" => (minor, patch) >= own,
            "<" => (minor, patch) < own,
            "<=" => (minor, patch) <= own,
            "~>" => (minor, patch) >= own && (self.patch.is_none() || minor == self.minor),
            _ => false,
        }
    }
}

/// The newest minor version of which a patch is admitted. The patch is known only if there is no other.
fn newest(admits: impl Fn(u64, u64) -> bool) -> Option<Release> {
    MINORS.rev().find_map(|minor| {
        let patches: Vec<u64> = PATCHES.filter(|patch| admits(minor, *patch)).collect();
        match patches.as_slice() {
            [] => None,
            [only] => Some(Release { minor, patch: Some(*only) }),
            _ => Some(Release { minor, patch: None }),
        }
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn release(source: &str, version: Option<&str>) -> Option<(u64, Option<u64>)> {
        let (_, release) = called(source, version)?.ok()?;
        Some((release.minor, release.patch))
    }

    #[test]
    fn all_spellings_of_a_source_are_known() {
        let registry = "hashicorp/consul-ecs/aws//modules/mesh-task";
        assert_eq!(release(registry, Some("0.9.0")), Some((9, Some(0))));
        assert_eq!(release(registry, Some("= 0.7.1")), Some((7, Some(1))));
        assert_eq!(release(registry, None), Some((10, None)));
        for source in [
            "github.com/hashicorp/terraform-aws-consul-ecs//modules/mesh-task?ref=v0.8.1",
            "git::https://github.com/hashicorp/terraform-aws-consul-ecs.git//modules/mesh-task?ref=v0.8.1&depth=1",
            "git@github.com:hashicorp/terraform-aws-consul-ecs.git//modules/mesh-task?ref=0.8.1",
        ] {
            assert_eq!(release(source, None), Some((8, Some(1))), "{source}");
        }
        assert_eq!(
            release("registry.terraform.io/hashicorp/consul-ecs/aws//modules/mesh-task", Some("0.6.0")),
            Some((6, Some(0)))
        );
        assert!(called("hashicorp/consul-ecs/aws//modules/dev-server", Some("0.9.0")).is_none());
        assert!(called("example/consul-ecs/aws//modules/mesh-task", Some("0.9.0")).is_none());
        assert!(called("terraform-aws-modules/ecs/aws//modules/service", None).is_none());
    }

    #[test]
    fn constraints_select_the_newest_version() {
        let select = |constraint| release("hashicorp/consul-ecs/aws//modules/gateway-task", Some(constraint));
        assert_eq!(select("~> 0.7.0"), Some((7, None)));
        assert_eq!(select("~> 0.7"), Some((10, None)));
        assert_eq!(select("~> 0.10"), Some((10, None)));
        assert_eq!(select("0.10.1"), Some((10, Some(1))));
        assert_eq!(select("~> 0.9.0"), Some((9, None)));
        assert_eq!(select(">= 0.5, < 0.7"), Some((6, None)));
        assert_eq!(select("> 0.5.8, < 0.6"), Some((5, Some(9))));
        assert_eq!(select("1.0.0"), None);
        assert_eq!(select("~> 0.11"), None);
        assert_eq!(select("latest"), None);
    }
}
