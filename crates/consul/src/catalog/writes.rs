//! Request bodies for writes to the catalog: <https://developer.hashicorp.com/consul/api-docs/catalog#register-entity>
//!
//! Fields that are not configured are left out: Consul 1.8 rejects fields of later versions.

use std::collections::BTreeMap;

use mesh::{
    catalog::{HealthCheck, ServiceInstance},
    consul_ecs::{DestinationType, Expose, ExposedPath, MeshGateway, Proxy, Registration, ServiceAddress, Upstream},
    tenancy::Tenancy,
};
use serde_json::{Map, Value, json};

use super::answers::SYNTHETIC_META;

pub(super) fn deletion(instance: &ServiceInstance) -> Value {
    let service = json!({ "ID": instance.id, "Service": instance.name, "ModifyIndex": instance.modify_index });
    let service = with_tenancy(service, &instance.tenancy);
    json!({ "Service": { "Verb": "delete-cas", "Node": instance.node, "Service": service } })
}

pub(super) fn check_deletion(check: &HealthCheck) -> Value {
    let body = json!({
        "Node": check.node,
        "CheckID": check.id,
        "ServiceID": check.service_id,
        "ServiceName": check.service_name,
        "ModifyIndex": check.modify_index,
    });
    json!({ "Check": { "Verb": "delete-cas", "Check": with_tenancy(body, &check.tenancy) } })
}

pub(super) fn check_body(check: &HealthCheck) -> Value {
    let body = json!({
        "Node": check.node,
        "CheckID": check.id,
        "Name": check.name,
        "Type": check.kind,
        "Notes": check.notes,
        "Status": check.status.as_str(),
        "Output": check.output,
        "ServiceID": check.service_id,
        "ServiceName": check.service_name,
    });
    with_tenancy(body, &check.tenancy)
}

fn with_tenancy(mut body: Value, tenancy: &Tenancy) -> Value {
    if let (Tenancy::Enterprise { partition, namespace }, Some(fields)) = (tenancy, body.as_object_mut()) {
        fields.insert("Partition".to_owned(), json!(partition.as_str()));
        fields.insert("Namespace".to_owned(), json!(namespace.as_str()));
    }
    body
}

/// One write of the instance and all of its checks. `SkipNodeUpdate` leaves a node as it is that exists.
pub(super) fn registration_body(registration: &Registration) -> Value {
    let (key, value) = SYNTHETIC_META;
    set_fields(json!({
        "Node": registration.node,
        "Address": registration.address,
        "NodeMeta": { key: value },
        "SkipNodeUpdate": true,
        "Partition": registration.tenancy.partition().map(ToString::to_string),
        "Service": with_tenancy(service(registration), &registration.tenancy),
        "Checks": registration.checks.iter().map(check_body).collect::<Vec<Value>>(),
    }))
}

fn service(registration: &Registration) -> Value {
    let weights = registration.weights.map(|of| json!({ "Passing": of.passing, "Warning": of.warning }));
    let locality = registration.locality.as_ref();
    set_fields(json!({
        "Kind": registration.kind.as_str(),
        "ID": registration.id,
        "Service": registration.name,
        "Address": registration.service_address,
        "Port": registration.port,
        "Tags": registration.tags,
        "Meta": registration.meta,
        "Weights": weights,
        "EnableTagOverride": registration.enable_tag_override,
        "TaggedAddresses": tagged(&registration.tagged_addresses),
        "Proxy": registration.proxy.as_ref().map(proxy),
        "Locality": locality.map(|of| set_fields(json!({ "Region": of.region, "Zone": of.zone }))),
    }))
}

fn tagged(addresses: &BTreeMap<&'static str, ServiceAddress>) -> Option<Map<String, Value>> {
    let body = |of: &ServiceAddress| json!({ "Address": of.address, "Port": of.port });
    let tagged: Map<_, _> = addresses.iter().map(|(tag, address)| ((*tag).to_owned(), body(address))).collect();
    Some(tagged).filter(|tagged| !tagged.is_empty())
}

fn proxy(proxy: &Proxy) -> Value {
    let service = proxy.destination.as_ref();
    let upstreams: Vec<Value> = proxy.upstreams.iter().map(upstream).collect();
    set_fields(json!({
        "DestinationServiceID": service.map(|of| &of.service_id),
        "DestinationServiceName": service.map(|of| &of.service_name),
        "LocalServiceAddress": service.and_then(|of| of.address.as_ref()),
        "LocalServicePort": service.map(|of| of.port),
        "Mode": proxy.is_transparent.then_some("transparent"),
        "Config": Some(&proxy.config.0).filter(|config| !config.is_empty()),
        "Upstreams": Some(upstreams).filter(|upstreams| !upstreams.is_empty()),
        "MeshGateway": proxy.mesh_gateway.map(mesh_gateway),
        "Expose": proxy.expose.as_ref().map(expose),
    }))
}

fn upstream(upstream: &Upstream) -> Value {
    set_fields(json!({
        "DestinationType": upstream.destination_type.map(DestinationType::as_str),
        "DestinationNamespace": upstream.destination_namespace,
        "DestinationPartition": upstream.destination_partition,
        "DestinationPeer": upstream.destination_peer,
        "DestinationName": upstream.destination_name,
        "Datacenter": upstream.datacenter,
        "LocalBindAddress": upstream.local_bind_address,
        "LocalBindPort": upstream.local_bind_port,
        "Config": upstream.config.as_ref().map(|config| &config.0),
        "MeshGateway": upstream.mesh_gateway.map(mesh_gateway),
    }))
}

fn mesh_gateway(gateway: MeshGateway) -> Value {
    json!({ "Mode": gateway.mode.as_str() })
}

fn expose(expose: &Expose) -> Value {
    let path = |path: &ExposedPath| {
        set_fields(json!({
            "ListenerPort": path.listener_port,
            "Path": path.path,
            "LocalPathPort": path.local_path_port,
            "Protocol": path.protocol,
        }))
    };
    let paths = expose.paths.as_ref().map(|paths| paths.iter().map(path).collect::<Vec<Value>>());
    set_fields(json!({ "Checks": expose.checks, "Paths": paths }))
}

/// The object without its own fields that are null.
fn set_fields(mut object: Value) -> Value {
    if let Some(fields) = object.as_object_mut() {
        fields.retain(|_, value| !value.is_null());
    }
    object
}

#[cfg(test)]
mod tests;
