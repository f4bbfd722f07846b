//! A task of Consul's mesh: its containers by role, and what they and its configuration determine.

use super::{
    AgentScript, Feature, Generation, Release,
    configuration::PlacedConfiguration,
    container::{Part, consul_ecs_version, release_of},
    names, ports,
};
use crate::versions::Program;
use audit_read::definition::{Container, Field, Maybe, TaskDefinition, Text};
use document::Span;
use mesh::consul_ecs::{GatewayKind, Role, SERVICE_METHOD, SERVICE_NAME_TAG};

/// The DNS server of Consul Dataplane, for TCP and UDP.
const DNS: (u64, &str) = (ports::DNS as u64, "Consul DNS");

/// A task definition of Consul's mesh.
#[derive(Debug)]
pub struct ConsulTask<'d> {
    /// The generation that its containers show.
    pub generation: Generation,
    /// `consul-ecs-mesh-init`.
    pub mesh_init: Option<&'d Container>,
    /// `consul-ecs-control-plane`.
    pub control_plane: Option<&'d Container>,
    /// `consul-ecs-health-sync`.
    pub health_sync: Option<&'d Container>,
    pub client: Option<&'d Container>,
    pub sidecar_proxy: Option<&'d Container>,
    pub dataplane: Option<&'d Container>,
    /// All other containers.
    pub apps: Vec<&'d Container>,
    /// The configuration of mesh-init or of the control plane; health-sync's if both are missing.
    pub configuration: PlacedConfiguration<'d>,
    version: Option<Release>,
    /// Whether the configuration describes a gateway and certainly no service.
    pub is_gateway: bool,
    /// The kind of gateway, if it is a valid one.
    pub gateway: Option<GatewayKind>,
    /// Whether all of its containers are known.
    pub is_complete: bool,
}

impl<'d> ConsulTask<'d> {
    /// Assigns the containers of `definition` to their roles. `None` if none of them is one of the mesh's.
    pub fn of(definition: &'d TaskDefinition) -> Option<Self> {
        let parts = Part::all(definition);
        let first = |role| parts.iter().find(|part| part.role == role).map(|part| part.container);
        let (mesh_init, control_plane, health_sync) =
            (first(Role::MeshInit), first(Role::ControlPlane), first(Role::HealthSync));
        let (client, sidecar_proxy, dataplane) =
            (first(Role::Client), first(Role::SidecarProxy), first(Role::Dataplane));
        // A client agent alone is not a task of the mesh: other tasks have agents too.
        let is_mesh = [mesh_init, control_plane, health_sync, dataplane].iter().any(Option::is_some)
            || sidecar_proxy.and(client).is_some()
            || parts.iter().any(Part::is_configured_app);
        if !is_mesh {
            return None;
        }
        let apps = parts.iter().filter(|part| matches!(part.role, Role::Controller | Role::App));
        let apps = apps.map(|part| part.container).collect();
        let holders = [control_plane, mesh_init, health_sync];
        let version = holders.into_iter().flatten().find_map(consul_ecs_version);
        let holder = holders.into_iter().flatten().next();
        let is_holder = |part: &Part<'_>| holder.is_some_and(|holder| std::ptr::eq(holder, part.container));
        let configuration = match parts.into_iter().find(is_holder) {
            Some(part) => part.configuration,
            None => PlacedConfiguration { content: &Maybe::Unknown, place: definition.place.clone() },
        };
        let generation = match (control_plane, dataplane, client.or(sidecar_proxy), version) {
            (Some(_), ..) => Generation::ControlPlane,
            (_, Some(_), ..) => Generation::Dataplane,
            (_, _, Some(_), _) => Generation::Client,
            // Both proxies are missing: the image or the configuration may show the generation.
            (.., Some(version)) if Generation::Client.fits(version) => Generation::Client,
            (.., None) if matches!(configuration.at("consulServers"), Maybe::Absent) => Generation::Client,
            _ => Generation::Dataplane,
        };
        let is_gateway = describes_a_gateway(&configuration, version);
        let gateway = configuration.text("gateway.kind").and_then(|kind| kind.parse().ok());
        let containers = &definition.containers;
        let is_complete =
            containers.is_complete && containers.items.iter().all(|container| container.name.text().is_some());
        Some(Self {
            generation,
            mesh_init,
            control_plane,
            health_sync,
            client,
            sidecar_proxy,
            dataplane,
            apps,
            configuration,
            version,
            is_gateway,
            gateway: gateway.filter(|_| is_gateway),
            is_complete,
        })
    }

    /// The proxy of its generation.
    pub fn proxy(&self) -> Option<&'d Container> {
        match self.generation {
            Generation::Client => self.sidecar_proxy,
            Generation::ControlPlane | Generation::Dataplane => self.dataplane,
        }
    }

    /// The container that the proxy waits for: mesh-init, or the control plane in 0.7.
    pub fn first(&self) -> Option<&'d Container> {
        match self.generation {
            Generation::Client | Generation::Dataplane => self.mesh_init,
            Generation::ControlPlane => self.control_plane,
        }
    }

    /// The version of consul-ecs, by the image of mesh-init, the control plane or health-sync.
    pub fn version(&self) -> Option<Release> {
        self.version
    }

    /// The release of consul-ecs, if the tag of an image names a single one.
    pub fn release(&self) -> Option<Release> {
        let mut releases = self.consul_ecs_containers().filter_map(release_of);
        releases.find(|(program, _)| *program == Program::ConsulEcs).map(|(_, release)| release)
    }

    /// Whether a container of the mesh mounts the volume called `name`.
    pub fn mounts(&self, name: &str) -> bool {
        let mounted = |container: &Container| {
            container.mount_points.items.iter().any(|mount| mount.source_volume.text() == Some(name))
        };
        self.own_containers().any(mounted)
    }

    /// Whether `name` is the name of a container that a task of its generation needs and this one does not have.
    pub fn misses(&self, name: &str) -> bool {
        let wanted: &[(&str, Option<&Container>)] = match self.generation {
            Generation::Client => &[
                (names::MESH_INIT, self.mesh_init),
                (names::CLIENT, self.client),
                (names::SIDECAR_PROXY, self.sidecar_proxy),
            ],
            Generation::ControlPlane => {
                &[(names::CONTROL_PLANE, self.control_plane), (names::DATAPLANE, self.dataplane)]
            }
            Generation::Dataplane => &[(names::MESH_INIT, self.mesh_init), (names::DATAPLANE, self.dataplane)],
        };
        // If both are missing, the control plane may be the missing one, in any generation that the others show.
        let lacks_first = name == names::CONTROL_PLANE && self.control_plane.is_none() && self.mesh_init.is_none();
        lacks_first || wanted.iter().any(|(wanted, found)| *wanted == name && found.is_none())
    }

    /// The directory that the containers of consul-ecs share with the others, without a slash at its end. `None` if it
    /// is known only at deployment.
    pub fn shared_directory(&self) -> Option<&str> {
        if self.is_run_by_flags() {
            return self.bootstrap_flag();
        }
        match self.configuration.at("bootstrapDir") {
            Maybe::Known(node) => node.text().map(|path| path.trim_end_matches('/')),
            Maybe::Absent => Some("/consul"),
            Maybe::Unknown => None,
        }
    }

    /// Whether mesh-init has flags and certainly no configuration, as before consul-ecs 0.3. These versions have no
    /// gateways and fixed ports.
    pub fn is_run_by_flags(&self) -> bool {
        let is_flag = |word: &Field<Text>| word.known().is_some_and(|word| word.head().starts_with('-'));
        let has_flags = self.mesh_init.is_some_and(|mesh_init| mesh_init.command.items.iter().any(is_flag));
        let is_older = self.version().is_some_and(|version| !Feature::Configuration.is_in(version));
        self.generation == Generation::Client
            && matches!(self.configuration.content, Maybe::Absent)
            && (has_flags || is_older)
    }

    fn bootstrap_flag(&self) -> Option<&str> {
        let words = self.mesh_init.map_or_else(|| Some(Vec::new()), |mesh_init| mesh_init.command.texts())?;
        let mut words = words.into_iter().skip_while(|word| !word.contains("-envoy-bootstrap-dir"));
        let path = match words.next().map(|flag| flag.split_once('=')) {
            Some(Some((_, path))) => path,
            Some(None) => words.next()?,
            None => "/consul",
        };
        Some(path.trim_end_matches('/'))
    }

    /// The service's name in Consul, if it is certain: from the configuration, otherwise from the tag, otherwise from
    /// the family.
    pub fn service_name(&self, definition: &TaskDefinition) -> Option<String> {
        match self.configuration.at("service.name") {
            Maybe::Known(node) if node.text().is_some_and(|name| !name.is_empty()) => node.text().map(str::to_owned),
            Maybe::Known(_) | Maybe::Absent => match definition.tag(SERVICE_NAME_TAG) {
                Maybe::Known(tag) => tag.value.text().map(str::to_owned),
                Maybe::Absent => definition.family.text().map(str::to_lowercase),
                Maybe::Unknown => None,
            },
            Maybe::Unknown => None,
        }
    }

    /// The containers that the mesh brings along.
    pub fn own_containers(&self) -> impl Iterator<Item = &'d Container> + use<'d> {
        let others = [self.client, self.sidecar_proxy, self.dataplane];
        self.consul_ecs_containers().chain(others.into_iter().flatten())
    }

    /// The containers with consul-ecs' own image and configuration.
    pub fn consul_ecs_containers(&self) -> impl Iterator<Item = &'d Container> + use<'d> {
        [self.mesh_init, self.control_plane, self.health_sync].into_iter().flatten()
    }

    /// The container with the configuration.
    pub fn holder(&self) -> Option<&'d Container> {
        self.control_plane.or(self.mesh_init).or(self.health_sync)
    }

    /// Whether the configuration describes a service and certainly no gateway. If parts are unknown, it may describe
    /// neither.
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
        self.port(if self.is_gateway { "gateway.healthCheckPort" } else { "proxy.healthCheckPort" }, ports::READINESS)
    }

    /// The port of the proxy's public listener. Zero means the default.
    pub fn public_port(&self) -> Option<u64> {
        if self.is_gateway {
            self.port("gateway.lanAddress.port", ports::GATEWAY)
        } else {
            self.port("proxy.publicListenerPort", ports::PUBLIC_LISTENER)
        }
    }

    /// The ports on which the mesh's containers, except for the client agent, certainly listen, and their purposes.
    pub fn own_ports(&self) -> Vec<(u64, &'static str)> {
        let mut own = vec![(ports::ENVOY_ADMIN.into(), "Envoy's administration interface")];
        own.extend(self.public_port().map(|port| (port, "the proxy's public listener")));
        if self.generation != Generation::Client {
            own.extend(self.readiness_port().map(|port| (port, "the proxy's readiness check")));
        }
        own.extend(self.fixed_ports());
        own.extend(self.further_listeners().into_iter().map(|(port, what, _)| (port, what)));
        own
    }

    /// The listeners that the configuration adds to the proxy of a service: ports, purposes, and the bytes of the settings.
    pub fn further_listeners(&self) -> Vec<(u64, &'static str, Span)> {
        let proxy = self.configuration.json().and_then(|json| json.get("proxy")).filter(|_| self.is_service());
        let Some(proxy) = proxy else { return Vec::new() };
        let paths = proxy.get("expose").into_iter().flat_map(|expose| expose.items_of("paths"));
        let exposed = paths.filter_map(|path| {
            let node = path.get("listenerPort")?;
            let port = node.number().filter(|port| *port != 0)?;
            Some((port, "an exposed path", node.place.span))
        });
        let metrics = ["envoy_prometheus_bind_addr", "envoy_stats_bind_addr"].into_iter().filter_map(|key| {
            let node = proxy.get("config")?.get(key)?;
            Some((node.text()?.rsplit_once(':')?.1.parse().ok()?, key, node.place.span))
        });
        exposed.chain(metrics).collect()
    }

    /// The ports of these that no configuration changes. Envoy's administration interface is one for every proxy.
    pub fn fixed_ports(&self) -> Vec<(u64, &'static str)> {
        let mut fixed = Vec::new();
        fixed.extend(self.control_plane.map(|_| (ports::CONTROL_PLANE.into(), "the control plane's health check")));
        let is_transparent = self.generation == Generation::Dataplane && self.is_transparent() == Some(true);
        fixed.extend(is_transparent.then_some((ports::OUTBOUND_LISTENER.into(), "the proxy's outbound listener")));
        fixed.extend(self.has_dns().then_some(DNS));
        fixed
    }

    /// The same for UDP.
    pub fn own_udp_ports(&self) -> Vec<(u64, &'static str)> {
        self.has_dns().then_some(DNS).into_iter().collect()
    }

    /// Whether Consul Dataplane certainly answers the DNS requests of the task.
    pub fn has_dns(&self) -> bool {
        self.generation == Generation::Dataplane
            && self.is_transparent() == Some(true)
            && self.configuration.flag("transparentProxy.consulDNS.enabled", false) == Some(true)
    }

    /// An invalid port counts as unknown: another rule reports that. So do all ports if it is unclear whether the task
    /// is a gateway.
    fn port(&self, path: &str, default: u16) -> Option<u64> {
        let default = default.into();
        if !self.is_gateway && !self.is_service() {
            return None;
        }
        if self.is_run_by_flags() {
            return Some(default);
        }
        let port = self.configuration.number(path, default).filter(|port| u16::try_from(*port).is_ok())?;
        Some(if port == 0 { default } else { port })
    }

    /// Whether consul-ecs logs in for the task's token.
    pub fn logs_in(&self) -> Option<bool> {
        self.configuration.flag("consulLogin.enabled", false)
    }

    /// The auth method of the login.
    pub fn login_method(&self) -> Option<&str> {
        match self.configuration.name_at("consulLogin.method") {
            Maybe::Known(method) => Some(method),
            Maybe::Absent => Some(SERVICE_METHOD),
            Maybe::Unknown => None,
        }
    }

    /// Whether the script of the client agent certainly logs in, for the agent's token.
    pub fn agent_logs_in(&self) -> bool {
        self.client.and_then(AgentScript::of).is_some_and(|script| script.mentions("consul login"))
    }

    /// Whether rules of the kernel redirect the app's traffic to the proxy. Without the setting, it is on in the
    /// dataplane generation; for gateways it is off.
    pub fn is_transparent(&self) -> Option<bool> {
        if self.is_gateway || self.is_run_by_flags() {
            return Some(false);
        }
        match self.configuration.at("transparentProxy") {
            Maybe::Known(_) => self.configuration.flag("transparentProxy.enabled", true),
            Maybe::Absent => Some(Feature::TransparentProxy.is_in(self.generation.releases().since)),
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

/// A configuration that also describes a service is ambiguous, unless gateways had a service with port 0.
fn describes_a_gateway(configuration: &PlacedConfiguration<'_>, version: Option<Release>) -> bool {
    let has = |path: &str| matches!(configuration.at(path), Maybe::Known(_));
    let had_both = version.is_some_and(|version| !Feature::GatewayWithoutService.is_in(version));
    let listens = configuration.number("service.port", 0) != Some(0);
    has("gateway") && (!has("service") || (had_both && !listens))
}
