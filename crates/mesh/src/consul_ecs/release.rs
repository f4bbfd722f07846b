//! The releases of consul-ecs and what differs between them. A new release is a row here if its containers differ.

use std::fmt;

use crate::release::Release;

/// The line 0.`minor`.
const fn line(minor: u64) -> Release {
    Release::line(0, minor)
}

/// The newest line that is known.
pub const NEWEST: Release = line(10);
/// The first line of Consul with auth methods of type `aws-iam`, with which tasks log in.
pub const FIRST_CONSUL_WITH_LOGINS: Release = Release::line(1, 12);
/// The first line of Consul that sends proxies the hybrid group X25519MLKEM768 where TLS 1.3 is demanded and no groups are named. Source:
/// <https://github.com/hashicorp/consul/pull/23884>
pub const FIRST_CONSUL_WITH_HYBRID_GROUPS: Release = Release::line(2, 1);
/// The newest line of Consul that this version knows.
pub const NEWEST_CONSUL: Release = Release::line(2, 1);

/// Releases from a first to a last one.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Releases {
    pub since: Release,
    /// The last release or line; `None` if the newest is one.
    pub until: Option<Release>,
    /// Releases of lines before the first: a backport, which later releases of its line have too.
    pub backports: &'static [Release],
}

impl Releases {
    /// From 0.`minor` on.
    pub const fn since(minor: u64) -> Self {
        Self::from(line(minor))
    }

    /// From a release on.
    pub const fn from(since: Release) -> Self {
        Self { since, until: None, backports: &[] }
    }

    /// Up to 0.`minor`.
    #[must_use]
    pub const fn until(self, minor: u64) -> Self {
        Self { until: Some(line(minor)), ..self }
    }

    /// One release, or all of a line.
    pub const fn only(release: Release) -> Self {
        Self { since: release, until: Some(release), backports: &[] }
    }

    /// The ranges without gaps that they consist of.
    fn ranges(self) -> impl Iterator<Item = Self> + Clone {
        let backports = self.backports.iter().map(|since| Self { until: Some(since.in_line()), ..Self::from(*since) });
        backports.chain([Self { backports: &[], ..self }])
    }

    pub fn overlaps(self, other: Self) -> bool {
        let starts_before_end =
            |one: Self, other: Self| other.until.is_none_or(|until| one.since.first() <= until.last());
        let meets = |one: Self, other: Self| starts_before_end(one, other) && starts_before_end(other, one);
        self.ranges().any(|one| other.ranges().any(|other| meets(one, other)))
    }

    /// Whether they contain a release, or the newest release of a line.
    pub fn contain(self, release: Release) -> bool {
        self.overlaps(Self::only(release))
    }

    /// Some release of them: the newest line that is certain.
    pub fn example(self) -> Release {
        self.until.unwrap_or(self.since)
    }
}

/// For example `0.6 or older`, `0.5 to 0.6`, `0.7`, `0.9.4 or newer`, `0.5.2, 0.6 or newer`.
impl fmt::Display for Releases {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.backports.iter().try_for_each(|release| write!(f, "{release}, "))?;
        match self.until {
            None => write!(f, "{} or newer", self.since),
            Some(until) if until == self.since => write!(f, "{until}"),
            Some(until) if self.since <= Feature::Configuration.releases().since => write!(f, "{until} or older"),
            Some(until) => write!(f, "{} to {until}", self.since),
        }
    }
}

/// The containers that connect a task to the mesh.
/// Sources: <https://developer.hashicorp.com/consul/docs/ecs/upgrade-to-dataplanes>,
/// <https://github.com/hashicorp/consul-ecs/pull/211>
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Generation {
    /// A Consul client agent and Envoy.
    Client,
    /// Consul Dataplane and a control-plane container.
    ControlPlane,
    /// Consul Dataplane, mesh-init and health-sync.
    Dataplane,
}

impl Generation {
    pub const fn releases(self) -> Releases {
        match self {
            Self::Client => Releases::since(0).until(6),
            Self::ControlPlane => Releases::since(7).until(7),
            Self::Dataplane => Releases::since(8),
        }
    }

    /// Whether a release has these containers.
    pub fn fits(self, release: Release) -> bool {
        self.releases().contain(release)
    }

    pub fn of(release: Release) -> Self {
        let all = [Self::Client, Self::ControlPlane];
        all.into_iter().find(|generation| generation.fits(release)).unwrap_or(Self::Dataplane)
    }
}

/// A program of consul-ecs that manages the mesh.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ControllerKind {
    /// `consul-ecs acl-controller`.
    AclController,
    /// `consul-ecs controller`.
    Controller,
}

impl ControllerKind {
    pub const ALL: [Self; 2] = [Self::Controller, Self::AclController];

    /// The subcommand of consul-ecs.
    pub const fn command(self) -> &'static str {
        match self {
            Self::AclController => "acl-controller",
            Self::Controller => "controller",
        }
    }

    pub const fn releases(self) -> Releases {
        match self {
            Self::AclController => Releases::since(0).until(6),
            Self::Controller => Releases::since(7),
        }
    }
}

/// A row for each feature: its name, and the releases that have it.
macro_rules! features {
    ($(#[doc = $about:expr])+ $features:ident { $($(#[doc = $doc:expr])+ $name:ident: $releases:expr,)+ }) => {
        $(#[doc = $about])+
        #[derive(Debug, Clone, Copy, PartialEq, Eq)]
        pub enum $features {
            $($(#[doc = $doc])+ $name,)+
        }

        impl $features {
            pub const ALL: &[Self] = &[$(Self::$name),+];

            pub const fn releases(self) -> Releases {
                match self {
                    $(Self::$name => $releases,)+
                }
            }

            /// Whether a release has it.
            pub fn is_in(self, release: Release) -> bool {
                self.releases().contain(release)
            }
        }
    };
}

features! {
    /// What some releases do and others do not. The fields of the configuration have their releases in `fields.rs`. The `.tf` files
    /// of HashiCorp's modules ask by the same names: `var.has.Login`.
    Feature {
        /// Definitions have tags with the service's name and the module.
        ServiceTags: Releases::since(3),
        /// They read `CONSUL_ECS_CONFIG_JSON`; older ones have flags. <https://github.com/hashicorp/consul-ecs/pull/53>
        Configuration: Releases::since(3),
        /// Their definitions start Envoy with `envoy-entrypoint`; the program is one release older.
        EnvoyEntryPoint: Releases::since(3),
        /// The modules use the configuration. <https://github.com/hashicorp/terraform-aws-consul-ecs/pull/80>
        ConfiguredModules: Releases::since(3),
        /// The containers of consul-ecs have an init process that forwards signals.
        InitProcess: Releases::since(4),
        /// Tasks log in instead of reading a token from a secret. <https://github.com/hashicorp/consul-ecs/pull/69>
        Login: Releases::since(5),
        /// A family that names a service is written in lower case.
        LowerCaseFamily: Releases::since(5),
        /// A gateway has no section `service`. Before, it had one with port 0.
        GatewayWithoutService: Releases::since(6),
        /// Null is no health check.
        NullHealthCheck: Releases::since(6),
        /// Tasks have Consul Dataplane.
        Dataplane: Releases::since(7),
        /// The modules take the image of consul-ecs from Docker Hub.
        /// <https://github.com/hashicorp/terraform-aws-consul-ecs/pull/412>
        DockerHub: Releases::since(7).until(9),
        /// The health check of the control plane fails with an answer that is an error.
        StrictHealthCheck: Releases::from(Release::new(0, 7, 1)),
        /// The controller reads the kind of a gateway from a tag of the task role.
        /// <https://github.com/hashicorp/consul-ecs/pull/216>
        GatewayKindTag: Releases::from(Release::new(0, 7, 2)),
        /// After TERM, health-sync goes on to write what it sees, and may overwrite the critical status.
        /// <https://github.com/hashicorp/consul-ecs/pull/290>
        SyncsAfterTerm: Releases { until: Some(Release::new(0, 9, 1)), ..Releases::since(7) },
        /// Traffic is redirected to the proxy unless the configuration says otherwise.
        TransparentProxy: Releases::since(8),
        /// The dataplane's checks pass only if every synced container is healthy.
        OverallHealth: Releases::since(9),
    }
}

/// The consul-ecs program that registers a task in Consul's catalog.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Registrar {
    /// `control-plane`, which runs as long as the task and syncs its health.
    ControlPlane,
    /// `mesh-init`, which exits once the task is registered.
    MeshInit,
}

impl Registrar {
    /// The generation whose tasks it registers.
    pub const fn generation(self) -> Generation {
        match self {
            Self::ControlPlane => Generation::ControlPlane,
            Self::MeshInit => Generation::Dataplane,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn releases_contain_and_overlap() {
        let resilience = Releases::from(Release::new(0, 9, 4));
        let only = |text: &str| Releases::only(text.parse().unwrap());
        assert!(
            resilience.overlaps(only("0.9.4"))
                && resilience.overlaps(only("0.9"))
                && !resilience.overlaps(only("0.9.3"))
        );
        assert!(resilience.overlaps(Generation::Dataplane.releases()));
        assert!(!resilience.overlaps(Generation::ControlPlane.releases()));
        assert!(!Generation::Client.fits(line(7)) && Generation::Client.fits(Release::new(0, 6, 9)));
        assert!(Generation::ControlPlane.fits(Release::new(0, 7, 3)) && Generation::Dataplane.fits(NEWEST));
    }

    #[test]
    fn a_backport_is_in_its_line_only() {
        const BACKPORTS: &[Release] = &[Release::new(0, 4, 3), Release::new(0, 5, 2)];
        let port = Releases { backports: BACKPORTS, ..Releases::since(6) };
        for (text, has_it) in [
            ("0.3.0", false),
            ("0.4.1", false),
            ("0.4.3", true),
            ("0.5.0", false),
            ("0.5.1", false),
            ("0.5.2", true),
            ("0.5", true),
            ("0.6.0", true),
            ("0.10.1", true),
        ] {
            let release = text.parse().unwrap();
            assert_eq!(port.contain(release), has_it, "{text}");
            assert_eq!(port.overlaps(Releases::only(release)), has_it, "{text}");
        }
        assert_eq!(port.to_string(), "0.4.3, 0.5.2, 0.6 or newer");
    }

    #[test]
    fn releases_read_as_users_write_them() {
        let shown = |releases: Releases| releases.to_string();
        assert_eq!(shown(Generation::Client.releases()), "0.6 or older");
        assert_eq!(shown(Generation::ControlPlane.releases()), "0.7");
        assert_eq!(shown(Generation::Dataplane.releases()), "0.8 or newer");
        assert_eq!(shown(Releases::since(5).until(6)), "0.5 to 0.6");
        assert_eq!(shown(Releases::since(3).until(6)), "0.6 or older");
    }
}
