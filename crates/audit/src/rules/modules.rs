//! Calls of `HashiCorp`'s Terraform modules: arguments that a module does not have, has in another type, or refuses. Source:
//! <https://github.com/hashicorp/terraform-aws-consul-ecs/tree/main/modules>

use super::prelude::*;
use crate::spelling::nearest;
use audit_read::definition::{Argument, HashiCorpModule};
use mesh::consul_ecs::Releases;

/// The arguments of all modules, by the releases that have them.
#[rustfmt::skip]
const ARGUMENTS: [(Releases, &[&str]); 5] = [
    (Releases::since(2), &[
        "acls", "additional_execution_role_policies", "additional_task_role_policies",
        "application_shutdown_delay_seconds", "assign_public_ip", "consul_bootstrap_token_secret_arn", "consul_ecs_config",
        "consul_ecs_image", "consul_https_ca_cert_arn", "consul_namespace", "consul_partition", "consul_partitions_enabled",
        "consul_service_meta", "consul_service_name", "consul_service_tags", "container_definitions", "cpu",
        "create_execution_role", "create_task_role", "custom_load_balancer_config", "ecs_cluster_arn",
        "enable_mesh_gateway_wan_federation", "envoy_public_listener_port", "execution_role",
        "extra_container_definitions", "family", "iam_role_path", "kind", "lan_address", "lan_port", "launch_type",
        "lb_create_security_group", "lb_enabled", "lb_ingress_rule_cidr_blocks", "lb_modify_security_group",
        "lb_modify_security_group_id", "lb_subnets", "lb_vpc_id", "log_configuration", "memory", "name_prefix",
        "outbound_only", "port", "region", "requires_compatibilities", "security_groups",
        "service_token_auth_method_name", "subnets", "tags", "task_role", "tls", "upstreams", "volumes", "wan_address",
        "wan_port",
    ]),
    (Releases::since(2).until(4), &["acl_secret_name_prefix", "consul_client_token_secret_arn"]),
    (Releases::since(2).until(6), &[
        "audit_logging", "checks", "client_token_auth_method_name", "consul_agent_configuration", "consul_datacenter",
        "consul_http_addr", "consul_image", "consul_primary_datacenter", "consul_server_ca_cert_arn",
        "consul_server_http_addr", "envoy_image", "gossip_key_secret_arn", "retry_join",
    ]),
    (Releases::since(7), &[
        "ca_cert_file", "consul_ca_cert_arn", "consul_dataplane_image", "consul_grpc_ca_cert_arn", "consul_server_address",
        "consul_server_hosts", "envoy_readiness_port", "grpc_config", "http_config", "skip_server_watch",
        "tls_server_name",
    ]),
    (Releases::since(8), &[
        "enable_consul_dns", "enable_transparent_proxy", "exclude_inbound_ports", "exclude_outbound_cidrs",
        "exclude_outbound_ports", "exclude_uids",
    ]),
];

/// The arguments that are lists.
const LISTS: [&str; 14] = [
    "additional_execution_role_policies",
    "additional_task_role_policies",
    "checks",
    "consul_service_tags",
    "container_definitions",
    "exclude_inbound_ports",
    "exclude_outbound_cidrs",
    "exclude_outbound_ports",
    "lb_subnets",
    "requires_compatibilities",
    "retry_join",
    "security_groups",
    "subnets",
    "upstreams",
];

/// The arguments of every call.
const OF_TERRAFORM: [&str; 6] = ["count", "depends_on", "for_each", "providers", "source", "version"];

/// The arguments without which Terraform refuses a call.
const REQUIRED: [(&str, &[&str]); 4] = [
    ("mesh-task", &["family", "container_definitions"]),
    ("gateway-task", &["family", "kind", "ecs_cluster_arn", "subnets"]),
    ("controller", &["ecs_cluster_arn", "subnets", "name_prefix"]),
    ("acl-controller", &["ecs_cluster_arn", "subnets", "name_prefix"]),
];

pub(super) static CONSUL_MODULE_ARGUMENTS: Rule =
    Rule::of_task(page!("consul-module-arguments"), Applies::ConsulAndController, check_arguments);

fn check_arguments(subject: &Subject<'_>, findings: &mut Findings) {
    let Some(module) = &subject.definition.module else { return };
    for refusal in &module.refused {
        findings.add(Draft::new(refusal.span, refusal.what.clone(), refusal.help.clone()));
    }
    if module.is_fork {
        return;
    }
    findings
        .extend(module.arguments.iter().filter_map(|argument| unknown(module, argument).or_else(|| no_list(argument))));
    let required = REQUIRED.iter().filter(|(name, _)| *name == module.name).flat_map(|(_, names)| *names);
    for name in required.filter(|name| module.arguments.iter().all(|argument| argument.name != **name)) {
        let message = format!("the argument {name} is missing, which the module {} requires", module.name);
        findings.add(Draft::new(module.call, message, format!("set {name}")));
    }
}

/// An argument that the module does not have, and what is meant.
fn unknown(module: &HashiCorpModule, argument: &Argument) -> Option<Draft> {
    let HashiCorpModule { name: module, release, .. } = module;
    let name = argument.name.as_str();
    let help = match ARGUMENTS.iter().find(|(_, names)| names.contains(&name)) {
        Some((releases, _)) if releases.contain(*release) => return None,
        Some((releases, _)) => format!("remove it: the modules {releases} have it"),
        None if OF_TERRAFORM.contains(&name) => return None,
        None => {
            let of_release = ARGUMENTS.iter().filter(|(releases, _)| releases.contain(*release));
            let names: Vec<&str> = of_release.flat_map(|(_, names)| *names).copied().collect();
            let meant = nearest(name, names.iter().copied()).or_else(|| of_words(name, &names))?;
            format!("did you mean {meant}?")
        }
    };
    Some(Draft::new(argument.span, format!("the module {module} {release} has no argument {name}"), help))
}

/// The nearest name with all words of `name`, or all of whose words `name` has: `gossip_key_arn`, `tls_enabled`.
fn of_words<'n>(name: &str, names: &[&'n str]) -> Option<&'n str> {
    let has_all = |one: &str, other: &str| one.split('_').all(|word| other.split('_').any(|own| own == word));
    let same = names.iter().copied().filter(|known| has_all(name, known) || has_all(known, name));
    same.min_by_key(|known| known.len().abs_diff(name.len()))
}

fn no_list(argument: &Argument) -> Option<Draft> {
    let name = argument.name.as_str();
    (argument.is_scalar && LISTS.contains(&name)).then(|| {
        Draft::new(argument.span, format!("{name} is no list, which the module requires"), "put the value in brackets")
    })
}
