//! The types of fields of the configuration.

use semver::Version;

/// A field of the configuration.
#[derive(Debug)]
pub(super) struct Fact {
    /// Its key.
    pub(super) name: &'static str,
    /// Its type.
    pub(super) kind: Kind,
    /// The releases of consul-ecs that have it.
    pub(super) releases: Releases,
    /// Whether it is required.
    pub(super) is_required: bool,
    /// Whether it may be null, which means the same as absent.
    pub(super) is_nullable: bool,
}

/// A type of fields.
#[derive(Debug)]
pub(super) enum Kind {
    /// A string.
    Text,
    /// A string that is not empty.
    NotEmpty,
    /// One of these strings.
    OneOf(&'static [Choice]),
    /// True or false.
    Flag,
    /// An integer between these.
    Whole(i64, i64),
    /// A list of strings.
    Words,
    /// A list of different strings.
    Texts,
    /// A list of different ports.
    Ports,
    /// A map of strings.
    TextMap,
    /// A map with the contents of Consul or Envoy.
    AnyMap,
    Map(&'static Shape),
    /// A list of maps.
    Maps(&'static Shape),
}

/// A port; zero means the default, or none.
pub(super) const PORT: Kind = Kind::Whole(0, 65_535);
/// A port other than zero.
pub(super) const REAL_PORT: Kind = Kind::Whole(1, 65_535);

/// A possible value of a field.
#[derive(Debug)]
pub(super) struct Choice {
    /// The string.
    pub(super) text: &'static str,
    /// The releases that have it.
    pub(super) releases: Releases,
}

/// The fields of a map.
#[derive(Debug)]
pub(super) struct Shape {
    /// Whether consul-ecs refuses unknown fields; otherwise it ignores them.
    pub(super) is_strict: bool,
    /// The known fields.
    pub(super) fields: &'static [Fact],
}

/// Releases 0.x.y, from a first one to the last one of an x.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Releases {
    since: (u64, u64),
    until: Option<u64>,
}

impl Releases {
    /// All that have a configuration: from 0.3 on.
    pub(super) const ALL: Self = Self { since: (3, 0), until: None };

    /// From 0.`minor` on.
    pub(super) const fn since(minor: u64) -> Self {
        Self { since: (minor, 0), until: None }
    }

    /// Whether `version` is one of them.
    pub(super) fn contain(self, version: &Version) -> bool {
        (version.minor, version.patch) >= self.since && self.until.is_none_or(|last| version.minor <= last)
    }

    /// As users read it.
    pub(super) fn shown(self) -> String {
        let first = match self.since {
            (minor, 0) => format!("0.{minor}"),
            (minor, patch) => format!("0.{minor}.{patch}"),
        };
        match self.until {
            Some(last) if self.since == (last, 0) => format!("consul-ecs 0.{last} only"),
            Some(last) if self.since == Self::ALL.since => format!("consul-ecs up to 0.{last}"),
            Some(last) => format!("consul-ecs {first} to 0.{last}"),
            None => format!("consul-ecs {first} or newer"),
        }
    }
}

impl Choice {
    /// A string of all releases.
    pub(super) const fn new(text: &'static str) -> Self {
        Self { text, releases: Releases::ALL }
    }

    /// A string from 0.`minor` on.
    pub(super) const fn since(text: &'static str, minor: u64) -> Self {
        Self { text, releases: Releases::since(minor) }
    }
}

impl Fact {
    /// A field that may be absent or null.
    pub(super) const fn may(name: &'static str, kind: Kind) -> Self {
        Self { name, kind, releases: Releases::ALL, is_required: false, is_nullable: true }
    }

    /// A required field.
    pub(super) const fn must(name: &'static str, kind: Kind) -> Self {
        Self { name, kind, releases: Releases::ALL, is_required: true, is_nullable: false }
    }

    /// The field from 0.`minor` on.
    pub(super) const fn since(self, minor: u64) -> Self {
        self.since_release(minor, 0)
    }

    /// The field from 0.`minor`.`patch` on.
    pub(super) const fn since_release(mut self, minor: u64, patch: u64) -> Self {
        self.releases.since = (minor, patch);
        self
    }

    /// The field up to 0.`minor`.
    pub(super) const fn until(mut self, minor: u64) -> Self {
        self.releases.until = Some(minor);
        self
    }

    /// The field must not be null, but may be absent.
    pub(super) const fn never_null(mut self) -> Self {
        self.is_nullable = false;
        self
    }
}

impl Shape {
    /// The field called `name`.
    pub(super) fn field(&self, name: &str) -> Option<&Fact> {
        self.fields.iter().find(|fact| fact.name == name)
    }

    /// A field that differs from `name` only by case, hyphens and underscores: `destination_name`.
    pub(super) fn nearest(&self, name: &str) -> Option<&'static str> {
        let bare = |text: &str| text.replace(['-', '_'], "").to_lowercase();
        self.fields.iter().map(|fact| fact.name).find(|known| bare(known) == bare(name))
    }
}
