//! Request bodies for writes to the catalog.

use mesh::{
    catalog::{HealthCheck, ServiceInstance},
    tenancy::Tenancy,
};
use serde_json::{Value, json};

pub(super) fn deletion(instance: &ServiceInstance) -> Value {
    let service = json!({ "ID": instance.id, "Service": instance.name, "ModifyIndex": instance.modify_index });
    let service = with_tenancy(service, &instance.tenancy);
    json!({ "Service": { "Verb": "delete-cas", "Node": instance.node, "Service": service } })
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

pub(super) fn with_tenancy(mut body: Value, tenancy: &Tenancy) -> Value {
    if let (Tenancy::Enterprise { partition, namespace }, Some(fields)) = (tenancy, body.as_object_mut()) {
        fields.insert("Partition".to_owned(), json!(partition.as_str()));
        fields.insert("Namespace".to_owned(), json!(namespace.as_str()));
    }
    body
}
