//! Calls of `HashiCorp`'s Terraform modules: arguments that a module does not have, has in another type, refuses or ignores.
//! Source: <https://github.com/hashicorp/terraform-aws-consul-ecs/tree/main/modules>

use super::prelude::*;
use crate::spelling::{misspelt, nearest, with_words};
use audit_read::definition::{Argument, HashiCorpModule};
use mesh::{
    consul_ecs::{NEWEST, Releases},
    release::Release,
};

const ALL: &[&str] = &["mesh-task", "gateway-task", "controller", "acl-controller"];
const CURRENT: &[&str] = &["mesh-task", "gateway-task", "controller"];
const TASKS: &[&str] = &["mesh-task", "gateway-task"];
const MESH_TASK: &[&str] = &["mesh-task"];
const GATEWAY_TASK: &[&str] = &["gateway-task"];
/// The modules that make a service of the task.
const SERVICES: &[&str] = &["gateway-task", "controller", "acl-controller"];
const CONTROLLERS: &[&str] = &["controller", "acl-controller"];
const ACL_CONTROLLER: &[&str] = &["acl-controller"];

/// Modules, their releases, and the arguments that they have. A module that may have an argument counts as one that has it.
type Arguments = (&'static [&'static str], Releases, &'static [&'static str]);

#[rustfmt::skip]
const ARGUMENTS: [Arguments; 15] = [
    (ALL, Releases::since(2), &[
        "acls", "additional_execution_role_policies", "additional_task_role_policies", "consul_ecs_image",
        "consul_https_ca_cert_arn", "consul_partition", "cpu", "create_execution_role", "create_task_role",
        "execution_role", "iam_role_path", "log_configuration", "memory", "region", "requires_compatibilities", "tags",
        "task_role", "tls", "volumes",
    ]),
    (TASKS, Releases::since(2), &[
        "consul_ecs_config", "consul_namespace", "consul_service_meta", "consul_service_name", "consul_service_tags",
        "envoy_public_listener_port", "extra_container_definitions", "family", "service_token_auth_method_name",
    ]),
    (MESH_TASK, Releases::since(2), &[
        "application_shutdown_delay_seconds", "container_definitions", "outbound_only", "port", "upstreams",
    ]),
    (GATEWAY_TASK, Releases::since(2), &[
        "consul_image", "custom_load_balancer_config", "enable_mesh_gateway_wan_federation", "kind", "lan_address",
        "lan_port", "lb_create_security_group", "lb_enabled", "lb_ingress_rule_cidr_blocks", "lb_modify_security_group",
        "lb_modify_security_group_id", "lb_subnets", "lb_vpc_id", "wan_address", "wan_port",
    ]),
    (SERVICES, Releases::since(2), &["assign_public_ip", "ecs_cluster_arn", "launch_type", "security_groups", "subnets"]),
    (CONTROLLERS, Releases::since(2), &["consul_bootstrap_token_secret_arn", "consul_partitions_enabled", "name_prefix"]),
    (MESH_TASK, Releases::since(3).until(4), &ROLE_ARNS),
    (TASKS, Releases::since(2).until(4), &["acl_secret_name_prefix", "consul_client_token_secret_arn"]),
    (ALL, Releases::since(2).until(6), &["consul_server_ca_cert_arn"]),
    (ACL_CONTROLLER, Releases::since(2).until(6), &["consul_server_http_addr"]),
    (TASKS, Releases::since(2).until(6), &[
        "audit_logging", "client_token_auth_method_name", "consul_agent_configuration", "consul_datacenter",
        "consul_http_addr", "consul_image", "consul_primary_datacenter", "enable_acl_token_replication", "envoy_image",
        "gossip_key_secret_arn", "retry_join",
    ]),
    (MESH_TASK, Releases::since(2).until(6), &["checks"]),
    (CURRENT, Releases::since(7), &[
        "ca_cert_file", "consul_ca_cert_arn", "consul_grpc_ca_cert_arn", "consul_server_address", "consul_server_hosts",
        "grpc_config", "http_config", "skip_server_watch", "tls_server_name",
    ]),
    (TASKS, Releases::since(7), &["consul_dataplane_image", "envoy_readiness_port"]),
    (TASKS, Releases::since(8), &[
        "enable_consul_dns", "enable_transparent_proxy", "exclude_inbound_ports", "exclude_outbound_cidrs",
        "exclude_outbound_ports", "exclude_uids",
    ]),
];

/// The arguments before `task_role` and `execution_role`. Source:
/// <https://github.com/hashicorp/terraform-aws-consul-ecs/blob/main/CHANGELOG.md>
const ROLE_ARNS: [&str; 2] = ["task_role_arn", "execution_role_arn"];

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
const REQUIRED: [Arguments; 5] = [
    (MESH_TASK, Releases::since(2), &["family", "container_definitions"]),
    (GATEWAY_TASK, Releases::since(2), &["family", "kind", "ecs_cluster_arn", "subnets"]),
    (
        CONTROLLERS,
        Releases::since(2),
        &["ecs_cluster_arn", "subnets", "name_prefix", "region", "consul_bootstrap_token_secret_arn"],
    ),
    (ACL_CONTROLLER, Releases::since(2), &["consul_server_http_addr"]),
    (CURRENT, Releases::since(7), &["consul_server_hosts"]),
];

pub(super) static CONSUL_MODULE_ARGUMENTS: Rule =
    Rule::of_task(page!("consul-module-arguments"), Applies::ConsulAndController, check_arguments);

fn check_arguments(subject: &Subject<'_>, findings: &mut Findings) {
    let Some(module) = &subject.definition.module else { return };
    if let Some(draft) = of_older_release(module) {
        return findings.add(draft);
    }
    for refusal in &module.refused {
        let draft = Draft::new(refusal.span, refusal.what.clone(), refusal.help.clone());
        let ignored = "the module ignores the argument";
        findings.add(if refusal.is_ignored { draft.severity(Severity::Warning).effect(ignored) } else { draft });
    }
    if module.is_fork {
        return;
    }
    findings
        .extend(module.arguments.iter().filter_map(|argument| unknown(module, argument).or_else(|| no_list(argument))));
    for name in names_of(&REQUIRED, module) {
        if module.arguments.iter().all(|argument| argument.name != name) {
            let message = format!("the argument {name} is missing, which the module {} requires", module.name);
            findings.add(Draft::new(module.call, message, format!("set {name}")));
        }
    }
}

/// The names in the rows of a module in its release.
fn names_of<'r>(rows: &'r [Arguments], module: &HashiCorpModule) -> impl Iterator<Item = &'static str> + use<'r> {
    let (name, release) = (module.name, module.release);
    let of_module = move |(modules, releases, _): &&Arguments| modules.contains(&name) && releases.contain(release);
    rows.iter().filter(of_module).flat_map(|(_, _, names)| *names).copied()
}

/// Which modules have an argument.
enum Owner {
    TheModule,
    OtherReleases(Releases),
    OtherModules(&'static [&'static str], Releases),
    NoModule,
}

fn owner(module: &HashiCorpModule, name: &str) -> Owner {
    let rows = move || ARGUMENTS.iter().filter(move |(_, _, names)| names.contains(&name));
    let is_its = move |row: &&Arguments| row.0.contains(&module.name);
    let of_module = move || rows().filter(is_its).map(|(_, releases, _)| *releases);
    if of_module().any(|releases| releases.contain(module.release)) {
        return Owner::TheModule;
    }
    let other = rows().next().map(|(modules, releases, _)| Owner::OtherModules(modules, *releases));
    of_module().next().map(Owner::OtherReleases).or(other).unwrap_or(Owner::NoModule)
}

/// Without a version, Terraform takes the newest module, which lacks the arguments of an older call. They have one
/// cause, and the advice to remove each would remove TLS and gossip encryption.
fn of_older_release(module: &HashiCorpModule) -> Option<Draft> {
    if module.is_pinned || module.is_fork {
        return None;
    }
    let older = module.arguments.iter().filter_map(|argument| match owner(module, &argument.name) {
        Owner::OtherReleases(_) if ROLE_ARNS.contains(&argument.name.as_str()) => None,
        Owner::OtherReleases(releases) => Some((argument.name.as_str(), releases.example())),
        _ => None,
    });
    let (names, lines): (Vec<&str>, Vec<Release>) = older.unzip();
    let line = lines.into_iter().min().filter(|_| names.len() > 1)?;
    let HashiCorpModule { name: module_name, release, .. } = module;
    let message = format!(
        "without a version, Terraform takes the module {module_name} {release}, which has no arguments {}",
        names.join(", ")
    );
    let help = format!("set version to \"~> {line}.0\", or migrate the call to {release}");
    let source = module.arguments.iter().find(|argument| argument.name == "source");
    Some(Draft::new(source.map_or(module.call, |source| source.span), message, help))
}

/// An argument that the module does not have, and what is meant.
fn unknown(module: &HashiCorpModule, argument: &Argument) -> Option<Draft> {
    let HashiCorpModule { name: module_name, release, .. } = module;
    let name = argument.name.as_str();
    let help = match owner(module, name) {
        Owner::TheModule => return None,
        Owner::OtherReleases(_) | Owner::OtherModules(..) if ROLE_ARNS.contains(&name) => {
            format!("did you mean {}?", name.trim_end_matches("_arn"))
        }
        Owner::OtherReleases(releases) => format!("remove it: the modules {releases} have it"),
        Owner::OtherModules(modules, releases) if releases.contain(*release) => {
            format!("remove it: it is an argument of {}", modules.join(", "))
        }
        Owner::OtherModules(modules, releases) => {
            format!("remove it: it is an argument of {} {releases}", modules.join(", "))
        }
        Owner::NoModule if OF_TERRAFORM.contains(&name) => return None,
        Owner::NoModule => meant(module, name)?,
    };
    Some(Draft::new(argument.span, format!("the module {module_name} {release} has no argument {name}"), help))
}

/// What to do with an argument of no module. The newest line may get arguments that this release of the tool does not know:
/// there, only a misspelt one is certainly wrong.
fn meant(module: &HashiCorpModule, name: &str) -> Option<String> {
    let is_open = module.release.in_line() >= NEWEST;
    let names: Vec<&'static str> = names_of(&ARGUMENTS, module).collect();
    let (given, free): (Vec<&'static str>, Vec<&'static str>) =
        names.into_iter().partition(|known| module.arguments.iter().any(|argument| argument.name == *known));
    let like = |names: &[&'static str]| {
        let alike = || nearest(name, names.iter().copied()).or_else(|| with_words(name, names.iter().copied()));
        misspelt(name, names.iter().copied()).or_else(|| alike().filter(|_| !is_open))
    };
    match like(&free) {
        Some(meant) => Some(format!("did you mean {meant}?")),
        None => like(&given).map(|twin| format!("remove it: {twin} is there already")),
    }
}

fn no_list(argument: &Argument) -> Option<Draft> {
    let name = argument.name.as_str();
    (argument.is_scalar && LISTS.contains(&name)).then(|| {
        Draft::new(argument.span, format!("{name} is no list, which the module requires"), "put the value in brackets")
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    /// What Terraform reads of the calls: a file, and the modules that it stands for.
    const FILES: [(&str, &[&str]); 2] = [
        (include_str!("../../../audit-read/src/input/terraform_source/consul_ecs/task.tf"), TASKS),
        (include_str!("../../../audit-read/src/input/terraform_source/consul_ecs/controller.tf"), CONTROLLERS),
    ];

    /// The inputs of a file, with their types.
    fn inputs(file: &str) -> impl Iterator<Item = (&str, &str)> {
        file.lines().filter_map(|line| line.split_once("= optional(")).map(|(name, kind)| (name.trim(), kind))
    }

    #[test]
    fn each_input_that_is_read_is_an_argument_of_a_module() {
        for (file, modules) in FILES {
            for (input, _) in inputs(file) {
                let is_of_modules = |row: &&Arguments| row.0.iter().any(|module| modules.contains(module));
                let known = ARGUMENTS.iter().filter(is_of_modules).any(|(_, _, names)| names.contains(&input));
                assert!(known, "{input}");
            }
            assert!(inputs(file).count() > 15);
        }
    }

    #[test]
    fn each_list_is_an_argument_and_its_input_may_be_one() {
        for list in LISTS {
            assert!(ARGUMENTS.iter().any(|(_, _, names)| names.contains(&list)), "{list}");
            let kinds = FILES.iter().flat_map(|(file, _)| inputs(file)).filter(|(input, _)| *input == list);
            for (_, kind) in kinds {
                assert!(kind.starts_with("any") || kind.starts_with("list"), "{list}: {kind}");
            }
        }
    }

    #[test]
    fn each_required_argument_is_one_of_its_module() {
        for (modules, releases, required) in REQUIRED {
            let has = |name: &str| {
                let mut rows = ARGUMENTS.iter().filter(|(of, since, _)| {
                    modules.iter().all(|module| of.contains(module)) && since.contain(releases.example())
                });
                rows.any(|(_, _, names)| names.contains(&name))
            };
            for name in required {
                assert!(has(name), "{name} of {modules:?}");
            }
        }
    }
}
