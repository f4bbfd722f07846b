//! The network mode `awsvpc`, which both meshes need.

use crate::{
    definition::TaskDefinition,
    finding::{Draft, Fix},
};

/// The draft for a definition that certainly has another network mode.
pub(super) fn other_network_mode(definition: &TaskDefinition) -> Option<Draft> {
    let mode = &definition.network_mode;
    let message = match (mode.text(), mode.is_absent()) {
        (Some("awsvpc"), _) | (None, false) => return None,
        (Some(other), _) => format!("the network mode is {other}"),
        (None, true) => "no network mode is set, which means bridge".to_owned(),
    };
    let is_enough = definition.suits_awsvpc();
    let help = if is_enough {
        "set networkMode to awsvpc"
    } else {
        "set networkMode to awsvpc, and remove links and host ports that differ from the container's"
    };
    let fix = Fix::set(&mode.place, "awsvpc").filter(|_| is_enough);
    Some(Draft::new(mode.span(), message, help).fix(fix))
}
