//! The name and the namespace of a service.

use super::{inputs::Inputs, release::Kind};
use crate::{
    document::{Node, Value},
    input::terraform_source::values::{text, unknown},
};

/// The name of the service: an input, or else the family. mesh-task makes it lower-case from 0.5 on.
pub(super) fn service_name(inputs: &Inputs, kind: Kind) -> Node {
    let name = inputs.text_or("consul_service_name", "family");
    let is_given = inputs.is_empty(&inputs.text("consul_service_name", "")) == Some(false);
    match &name.value {
        Value::Text(family) if kind == Kind::MeshTask && inputs.release.minor >= 5 && !is_given => {
            text(family.to_lowercase(), name.place.span)
        }
        _ => name,
    }
}

/// A gateway is in the namespace `default` of its partition.
pub(super) fn namespace(inputs: &Inputs, kind: Kind) -> Node {
    let partition = inputs.text("consul_partition", "");
    match (kind, inputs.is_empty(&partition)) {
        (Kind::GatewayTask, Some(true)) => inputs.made("".into()),
        (Kind::GatewayTask, Some(false)) => text("default", partition.place.span),
        (Kind::GatewayTask, None) => unknown(partition.place.span),
        _ => inputs.text("consul_namespace", ""),
    }
}
