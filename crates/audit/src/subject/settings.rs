//! Settings that result from the containers and the configuration of a task.

use super::{Generation, consul::ConsulTask, image::consul_ecs_version};
use audit_read::definition::{Container, Maybe};

impl<'d> ConsulTask<'d> {
    /// The container with the configuration.
    pub fn holder(&self) -> Option<&'d Container> {
        self.control_plane.or(self.mesh_init).or(self.health_sync)
    }

    /// Whether the configuration describes a service and certainly no gateway. It may describe neither, as far as is
    /// known.
    pub fn is_service(&self) -> bool {
        let is_configured = matches!(self.configuration.at("gateway"), Maybe::Absent)
            && !matches!(self.configuration.at("service"), Maybe::Absent);
        is_configured || self.is_run_by_flags()
    }

    /// Whether the task has containers of several generations: an incomplete upgrade.
    pub fn is_mixed(&self) -> bool {
        let client = self.client.is_some() || self.sidecar_proxy.is_some();
        let of_both = self.control_plane.is_some() && (self.mesh_init.is_some() || self.health_sync.is_some());
        of_both || (client && (self.dataplane.is_some() || self.control_plane.is_some()))
    }

    /// Whether no image belongs to another generation than the containers. Rules of their own report that, and the fix
    /// changes the images.
    pub fn has_images_of_its_generation(&self) -> bool {
        let mut versions = self.consul_ecs_containers().filter_map(consul_ecs_version);
        !self.is_mixed() && versions.all(|version| self.generation.fits(version))
    }

    /// The port of the proxy's readiness check (dataplane generation). Zero means the default.
    pub fn readiness_port(&self) -> Option<u64> {
        self.port(if self.is_gateway { "gateway.healthCheckPort" } else { "proxy.healthCheckPort" }, 22000)
    }

    /// The port of the proxy's public listener. Zero means the default.
    pub fn public_port(&self) -> Option<u64> {
        if self.is_gateway {
            self.port("gateway.lanAddress.port", 8443)
        } else {
            self.port("proxy.publicListenerPort", 20000)
        }
    }

    /// The ports on which the mesh's containers, except for the client agent, certainly listen, and their purposes.
    pub fn own_ports(&self) -> Vec<(u64, &'static str)> {
        let mut ports = vec![(19000, "Envoy's administration interface")];
        ports.extend(self.public_port().map(|port| (port, "the proxy's public listener")));
        if self.generation != Generation::Client {
            ports.extend(self.readiness_port().map(|port| (port, "the proxy's readiness check")));
        }
        ports.extend(self.control_plane.map(|_| (10000, "the control plane's health check")));
        ports
    }

    /// An invalid port counts as unknown: another rule reports that. So do all ports if it is unclear whether the task
    /// is a gateway.
    fn port(&self, path: &str, default: u64) -> Option<u64> {
        if !self.is_gateway && !self.is_service() {
            return None;
        }
        if self.is_run_by_flags() {
            return Some(default);
        }
        let port = self.configuration.number(path, default).filter(|port| u16::try_from(*port).is_ok())?;
        Some(if port == 0 { default } else { port })
    }

    /// Whether iptables rules redirect the app's traffic to the proxy. Without the setting, it is on in the
    /// dataplane generation; for gateways it is off.
    pub fn is_transparent(&self) -> Option<bool> {
        if self.is_gateway || self.is_run_by_flags() {
            return Some(false);
        }
        match self.configuration.at("transparentProxy") {
            Maybe::Known(_) => self.configuration.flag("transparentProxy.enabled", true),
            Maybe::Absent => Some(self.generation == Generation::Dataplane),
            Maybe::Unknown => None,
        }
    }

    /// The configured name in Consul; absent if the family is the name.
    pub fn configured_name(&self) -> Maybe<&str> {
        match self.configuration.at("gateway") {
            Maybe::Known(_) if self.is_gateway => self.configuration.name_at("gateway.name"),
            Maybe::Absent => self.configuration.name_at("service.name"),
            Maybe::Known(_) | Maybe::Unknown => Maybe::Unknown,
        }
    }
}
