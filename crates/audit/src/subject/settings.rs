//! What the containers and the configuration of a task say together.

use super::{consul::ConsulTask, generation::Generation};
use crate::definition::{Container, Maybe};

impl<'d> ConsulTask<'d> {
    /// The container whose configuration it is.
    #[must_use]
    pub fn holder(&self) -> Option<&'d Container> {
        self.control_plane.or(self.mesh_init).or(self.health_sync)
    }

    /// Whether it is a service, by its configuration, and certainly no gateway. A task can be neither, as far as is known.
    #[must_use]
    pub fn is_service(&self) -> bool {
        let is_configured = matches!(self.configuration.at("gateway"), Maybe::Absent)
            && !matches!(self.configuration.at("service"), Maybe::Absent);
        is_configured || self.is_run_by_flags()
    }

    /// Whether containers of more than one generation are there: an upgrade that stopped half-way.
    #[must_use]
    pub fn is_mixed(&self) -> bool {
        let client = self.client.is_some() || self.sidecar_proxy.is_some();
        let of_both = self.control_plane.is_some() && (self.mesh_init.is_some() || self.health_sync.is_some());
        of_both || (client && (self.dataplane.is_some() || self.control_plane.is_some()))
    }

    /// The port on which the proxy says that it is ready (dataplane generation). Zero means the default.
    #[must_use]
    pub fn readiness_port(&self) -> Option<u64> {
        self.port(if self.is_gateway { "gateway.healthCheckPort" } else { "proxy.healthCheckPort" }, 22000)
    }

    /// The port on which the proxy takes the mesh's traffic. Zero means the default.
    #[must_use]
    pub fn public_port(&self) -> Option<u64> {
        if self.is_gateway {
            self.port("gateway.lanAddress.port", 8443)
        } else {
            self.port("proxy.publicListenerPort", 20000)
        }
    }

    /// The ports on which the mesh's own containers certainly listen, but for the client agent's, and what for.
    #[must_use]
    pub fn own_ports(&self) -> Vec<(u64, &'static str)> {
        let mut ports = vec![(19000, "Envoy's administration interface")];
        ports.extend(self.public_port().map(|port| (port, "the proxy's public listener")));
        if self.generation != Generation::Client {
            ports.extend(self.readiness_port().map(|port| (port, "the proxy's readiness check")));
        }
        ports.extend(self.control_plane.map(|_| (10000, "the control plane's health check")));
        ports
    }

    /// What is no port counts as unknown: another rule says so. So does everything where it is unclear what the task is.
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

    /// Whether the traffic of the task goes through the proxy without the app's doing. consul-ecs takes it for on where
    /// `transparentProxy` is there and does not say; without that section it is off, and a gateway never has it.
    #[must_use]
    pub fn is_transparent(&self) -> Option<bool> {
        if self.is_gateway || self.is_run_by_flags() {
            return Some(false);
        }
        match self.configuration.at("transparentProxy") {
            Maybe::Known(_) => self.configuration.flag("transparentProxy.enabled", true),
            Maybe::Absent => Some(false),
            Maybe::Unknown => None,
        }
    }

    /// The name in Consul by the configuration; absent where it is left to the family.
    #[must_use]
    pub fn configured_name(&self) -> Maybe<&str> {
        match self.configuration.at("gateway") {
            Maybe::Known(_) if self.is_gateway => self.configuration.name_at("gateway.name"),
            Maybe::Absent => self.configuration.name_at("service.name"),
            Maybe::Known(_) | Maybe::Unknown => Maybe::Unknown,
        }
    }
}
