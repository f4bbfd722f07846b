//! Gateways.

use std::net::IpAddr;

use serde_json::json;

use super::{dataplane::has_dataplane_image, fixes::configure, prelude::*};
use crate::subject::{PlacedConfiguration, is_observer};
use audit_read::definition::PortMapping;
use mesh::consul_ecs::GatewayKind;

pub(super) static CONSUL_GATEWAY_PROXY_ESSENTIAL: Rule =
    Rule::once_per_task(page!("consul-gateway-proxy-essential"), Applies::ConsulGateway, check_gateway_proxy_essential);

fn check_gateway_proxy_essential(subject: &Subject<'_>) -> Option<Draft> {
    let proxy = subject.consul.as_ref().and_then(ConsulTask::proxy)?;
    (proxy.is_essential() == Some(false)).then(|| {
        let essential = &proxy.essential;
        let message = format!("{} is not essential, but the task is a gateway", proxy.label());
        let draft = Draft::new(essential.span(), message, "set essential to true");
        draft.of(proxy).fix(Fix::set(&essential.place, true))
    })
}

pub(super) static CONSUL_GATEWAY_APP: Rule =
    Rule::of_task(page!("consul-gateway-app"), Applies::ConsulGateway, check_gateway_app);

fn check_gateway_app(subject: &Subject<'_>, findings: &mut Findings) {
    let Some(consul) = &subject.consul else { return };
    // A container of unknown name may be the proxy, and one with its image is the proxy under another name.
    let is_app = |app: &&&Container| app.name.text().is_some() && !is_observer(app) && !has_dataplane_image(app);
    for app in consul.apps.iter().filter(is_app) {
        let port = app.port_mappings.items.iter().find_map(|mapping| mapping.container_port.known());
        if let Some(port) = port.filter(|_| app.is_essential() == Some(true)) {
            let message = format!("{} listens on {port} in a gateway's task", app.label());
            let help = "move it to its own task definition, or set essential to false if it is a helper";
            findings.add(Draft::new(app.span(), message, help).of(app));
        }
    }
}

pub(super) static CONSUL_GATEWAY_LAN_PORT: Rule =
    Rule::once_per_task(page!("consul-gateway-lan-port"), Applies::ConsulGateway, check_gateway_lan_port);

fn check_gateway_lan_port(subject: &Subject<'_>) -> Option<Draft> {
    let consul = subject.consul.as_ref()?;
    // Only services of the mesh call a terminating gateway.
    if !matches!(consul.gateway, Some(GatewayKind::MeshGateway | GatewayKind::ApiGateway)) {
        return None;
    }
    let (Some(proxy), Some(port)) = (consul.proxy(), consul.public_port()) else { return None };
    // An unknown port may be the right one.
    let may_map_it = |mapping: &PortMapping| mapping.container_port.known().is_none_or(|mapped| *mapped == port);
    let mapped = proxy.port_mappings.find(may_map_it);
    matches!(mapped, Maybe::Absent).then(|| {
        let message = format!("{} does not map the gateway's LAN port {port}", proxy.label());
        let help = format!("map the container port {port}, TCP");
        let fix = Fix::append(&proxy.port_mappings, json!({ "containerPort": port, "protocol": "tcp" }));
        let fix = fix.filter(|_| proxy.port_mappings.items.is_empty());
        Draft::new(proxy.port_mappings.place.span, message, help).of(proxy).fix(fix)
    })
}

/// The meta entry of a mesh gateway through which datacenters federate.
const FEDERATION: &str = "gateway.meta.consul-wan-federation";

/// Whether this gateway has it.
fn federates(configuration: &PlacedConfiguration<'_>) -> bool {
    configuration.text(FEDERATION).is_some_and(|mark| mark == "1")
}

pub(super) static CONSUL_GATEWAY_WAN_ADDRESS: Rule =
    Rule::once_per_task(page!("consul-gateway-wan-address"), Applies::ConsulGateway, check_gateway_wan_address);

fn check_gateway_wan_address(subject: &Subject<'_>) -> Option<Draft> {
    wrong_address(&subject.consul.as_ref()?.configuration).or_else(|| missing_address(subject))
}

/// An address with a scheme, a path or a port.
fn wrong_address(configuration: &PlacedConfiguration<'_>) -> Option<Draft> {
    ["gateway.wanAddress.address", "gateway.lanAddress.address"].into_iter().find_map(|path| {
        let Maybe::Known(address) = configuration.name_at(path) else { return None };
        let is_address = address.parse::<IpAddr>().is_ok();
        let is_unreachable =
            |address: IpAddr| path.starts_with("gateway.wan") && (address.is_loopback() || address.is_unspecified());
        if address.parse().is_ok_and(is_unreachable) || address.eq_ignore_ascii_case("localhost") {
            let message = format!("{path} is {address}, which no other task reaches");
            let help = "write the address that others reach";
            return Some(Draft::new(configuration.place_of(path).span, message, help).severity(Severity::Error));
        }
        let what = if address.contains("://") {
            "has a scheme"
        } else if address.contains('/') {
            "has a path"
        } else if !is_address && address.contains(':') {
            "has a port"
        } else if address.contains(char::is_whitespace) {
            "has a space"
        } else {
            return None;
        };
        let help = "write a host name or an IP address alone: the port has a field of its own";
        Some(Draft::new(configuration.place_of(path).span, format!("{path} {what}"), help).severity(Severity::Error))
    })
}

fn missing_address(subject: &Subject<'_>) -> Option<Draft> {
    let consul = subject.consul.as_ref().filter(|consul| consul.gateway == Some(GatewayKind::MeshGateway))?;
    let configuration = Some(&consul.configuration).filter(|configuration| federates(configuration))?;
    let has_none = matches!(configuration.name_at("gateway.wanAddress.address"), Maybe::Absent);
    let is_certain = !matches!(configuration.at("gateway.wanAddress"), Maybe::Unknown);
    (has_none && is_certain).then(|| {
        let place = configuration.place_of("gateway.wanAddress.address");
        let message = "the mesh gateway federates datacenters, but has no WAN address";
        Draft::new(place.span, message, "set gateway.wanAddress.address and .port")
    })
}

pub(super) static CONSUL_GATEWAY_FEDERATION_TLS: Rule =
    Rule::once_per_task(page!("consul-gateway-federation-tls"), Applies::ConsulGateway, check_gateway_federation_tls);

fn check_gateway_federation_tls(subject: &Subject<'_>) -> Option<Draft> {
    let consul = subject.consul.as_ref().filter(|consul| federates(&consul.configuration))?;
    is_without_tls(consul).then(|| {
        let span = match consul.generation {
            Generation::Client => consul.configuration.place_of(FEDERATION).span,
            _ => consul.configuration.place_of("consulServers.defaults.tls").span,
        };
        let message = "the gateway federates datacenters without TLS";
        Draft::new(span, message, "switch TLS on, or remove consul-wan-federation from the gateway's meta")
    })
}

fn is_without_tls(consul: &ConsulTask<'_>) -> bool {
    let configuration = &consul.configuration;
    match consul.generation {
        Generation::Client => consul.client.is_some_and(|client| {
            let has_no_ca_file = client.command.texts().is_some_and(|words| !words.join(" ").contains("ca_file"));
            has_no_ca_file && matches!(client.secret("CONSUL_CACERT"), Maybe::Absent)
        }),
        Generation::ControlPlane | Generation::Dataplane => {
            let Some(default) = configuration.flag("consulServers.defaults.tls", true) else { return false };
            configuration.flag("consulServers.grpc.tls", default) == Some(false)
        }
    }
}

const NAMESPACE_PATH: &str = "gateway.namespace";

pub(super) static CONSUL_GATEWAY_NAMESPACE: Rule =
    Rule::once_per_task(page!("consul-gateway-namespace"), Applies::ConsulGateway, check_gateway_namespace);

/// Whether a gateway must not have this namespace.
pub(super) fn is_wrong_namespace(namespace: &str) -> bool {
    namespace != "default"
}

fn check_gateway_namespace(subject: &Subject<'_>) -> Option<Draft> {
    let consul = subject.consul.as_ref()?;
    let configuration = &consul.configuration;
    let Maybe::Known(namespace) = configuration.name_at(NAMESPACE_PATH) else { return None };
    is_wrong_namespace(namespace).then(|| {
        let place = configuration.place_of(NAMESPACE_PATH);
        let message = format!("the gateway's namespace is {namespace}");
        let fix = configure(consul, subject.definition, NAMESPACE_PATH, "default");
        Draft::new(place.span, message, "set it to default").fix(fix)
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{audit, example::Base, rules::tests::material};

    fn found(json: &str) -> usize {
        let findings = audit(&material(json));
        findings.iter().filter(|finding| finding.rule.id == CONSUL_GATEWAY_FEDERATION_TLS.id).count()
    }

    #[test]
    fn a_client_agent_s_ca_shows_tls() {
        let federating = Base::ClientGateway
            .json()
            .replace(r#"\"lanAddress\""#, r#"\"meta\":{\"consul-wan-federation\":\"1\"},\"lanAddress\""#);
        assert_eq!(found(&federating), 0);
        assert_eq!(found(&federating.replace("ca_file", "log_file").replace("CONSUL_CACERT", "OTHER")), 1);
    }
}
