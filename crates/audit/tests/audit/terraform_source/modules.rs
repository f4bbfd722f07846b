//! Calls of `HashiCorp`'s modules, each beside the definition that the real module made of the same inputs.

use std::{fs, path::PathBuf};

use audit_read::{
    Material,
    definition::{Container, Field, List, Maybe, TaskDefinition, Text},
    input::read_source,
};
use document::SourceFile;
use serde_json::Value;

use crate::reading::{findings_in, shown};

/// Each call, and the definition that the real module made.
pub(super) fn calls() -> Vec<(String, String, String)> {
    let tests = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("tests/audit");
    let folder = fs::read_dir(tests.join("terraform_source/modules")).unwrap();
    let mut paths: Vec<PathBuf> = folder.map(|entry| entry.unwrap().path()).collect();
    paths.sort();
    let read = |path: PathBuf| {
        let name = path.file_stem().unwrap().to_string_lossy().into_owned();
        let rendered = tests.join("official").join(format!("{name}.json"));
        (name, fs::read_to_string(&path).unwrap(), fs::read_to_string(rendered).unwrap())
    };
    paths.into_iter().map(read).collect()
}

fn definition(name: &str, text: &str) -> TaskDefinition {
    let mut material = Material::default();
    read_source(SourceFile::new(name, text).into(), true, &mut material).unwrap();
    assert_eq!(material.definitions.len(), 1, "{name}");
    material.definitions.remove(0)
}

#[test]
fn calls_have_the_findings_of_the_definitions_that_the_modules_make() {
    let calls = calls();
    assert!(calls.len() >= 29, "{}", calls.len());
    for (name, call, rendered) in calls {
        let found = shown(&findings_in("main.tf", &call));
        assert_eq!(found, shown(&findings_in("task.json", &rendered)), "{name}");
        assert_eq!(found, Vec::<String>::new(), "{name}");
    }
}

/// What is known of a call's definition is what the real module made.
#[test]
fn calls_become_the_definitions_that_the_modules_make() {
    for (name, call, rendered) in calls() {
        let (read, rendered) = (definition("main.tf", &call), definition("task.json", &rendered));
        let mut differences = Vec::new();
        let mut check = |what: String, is_same: bool| {
            if !is_same {
                differences.push(what);
            }
        };
        check("family".to_owned(), same(&read.family, &rendered.family));
        check("network mode".to_owned(), same(&read.network_mode, &rendered.network_mode));
        check(
            "compatibilities".to_owned(),
            same_texts(&read.requires_compatibilities, &rendered.requires_compatibilities),
        );
        check("task role".to_owned(), same(&read.task_role, &rendered.task_role));
        check("execution role".to_owned(), same(&read.execution_role, &rendered.execution_role));
        // The order of volumes and tags has no meaning.
        let volumes =
            |definition: &TaskDefinition| sorted(definition.volumes.items.iter().map(|volume| text(&volume.name)));
        let expected = if rendered.volumes.is_present { volumes(&rendered) } else { Vec::new() };
        check("volumes".to_owned(), volumes(&read) == expected);
        let tags = |definition: &TaskDefinition| {
            sorted(definition.tags.items.iter().map(|tag| format!("{}={}", text(&tag.key), text(&tag.value))))
        };
        check(
            format!("tags {:?}, {:?}", tags(&read), tags(&rendered)),
            tags(&read) == tags(&rendered) || name == "mesh-task-0.2",
        );
        check(
            "containers".to_owned(),
            read.containers.is_complete && read.containers.items.len() == rendered.containers.items.len(),
        );
        for (own, other) in read.containers.items.iter().zip(&rendered.containers.items) {
            for part in container_differences(own, other) {
                check(format!("{}: {part}", other.label()), false);
            }
        }
        assert!(differences.is_empty(), "{name}: {differences:#?}");
    }
}

/// 0.10 has the inputs of 0.9: <https://github.com/hashicorp/terraform-aws-consul-ecs/pull/415> changes its images.
#[test]
fn calls_of_the_newest_modules_become_the_same_with_newer_images() {
    let mut count = 0;
    for (name, call, _) in calls().into_iter().filter(|(_, call, _)| call.contains("\"0.9.0\"")) {
        count += 1;
        let (old, new) =
            (definition("main.tf", &call), definition("main.tf", &call.replace("\"0.9.0\"", "\"0.10.0\"")));
        // The default image of 0.9's dataplane is not known.
        let is_known = |(old, _): &(&Container, &Container)| !text(&old.image).ends_with('…');
        for (old, new) in old.containers.items.iter().zip(&new.containers.items).filter(is_known) {
            let image = |container: &Container| text(&container.image).replace("public.ecr.aws/", "");
            assert_eq!(image(new), image(old).replace("consul-ecs:0.9.0", "consul-ecs:0.10.0"), "{name}");
            let differences = container_differences(old, new);
            assert!(differences.iter().all(|part| part == "image"), "{name}: {differences:?}");
        }
        let version = |definition: &TaskDefinition| {
            let tag = |tag: &&audit_read::definition::Tag| text(&tag.key) == "consul.hashicorp.com/module-version";
            definition.tags.items.iter().find(tag).map(|tag| text(&tag.value))
        };
        let expected = if version(&old).is_some() { Some("0.10.0".to_owned()) } else { None };
        assert_eq!(version(&new), expected, "{name}");
    }
    assert!(count > 5, "{count}");
}

/// What a module makes by itself cannot be edited at its call.
#[test]
fn the_help_at_a_call_names_the_version_of_the_module() {
    let call = |version: &str, more: &str| {
        format!(
            "module \"web\" {{\n  source = \"hashicorp/consul-ecs/aws//modules/mesh-task\"\n  version = \"{version}\"\n  family = \"web\"\n  \
             port = 8080\n  consul_server_hosts = \"consul.example.internal\"\n  container_definitions = [{{ name = \"web\", image = \"web:1\" \
             }}]\n{more}}}\n"
        )
    };
    let help = |text: &str, rule: &str| {
        let mut material = Material::default();
        read_source(SourceFile::new("main.tf", text).into(), true, &mut material).unwrap();
        let found = audit::audit(&material);
        found.into_iter().find(|finding| finding.rule.id == rule).map(|finding| finding.help)
    };
    let check = "consul-control-plane-health-check";
    let corrected = Some("set the version of the module mesh-task to 0.7.1 or newer".to_owned());
    assert_eq!(help(&call("0.7.0", ""), check), corrected);
    assert_eq!(help(&call("0.7.0", ""), "consul-release-defect"), corrected);
    assert_eq!(help(&call("0.7.1", ""), check), None);
    // An input is corrected where it stands.
    let image = "  consul_ecs_image = \"hashicorp/consul-ecs:0.7.0\"\n";
    assert_eq!(help(&call("0.7.1", image), "consul-release-defect").as_deref(), Some("use consul-ecs 0.7.1 or newer"));
}

#[test]
fn a_module_has_the_default_images_of_its_version() {
    for (version, expected) in [
        ("0.3.0", &["consul-ecs:0.3.0", "consul:1.11.2", "envoy-alpine:v1.20.1"][..]),
        ("0.4.2", &["consul-ecs:0.4.1", "consul:1.11.4", "envoy-alpine:v1.20.2"]),
        ("0.5.1", &["consul-ecs:0.5.1", "consul:1.12.2", "envoy-alpine:v1.21.4"]),
        ("0.6.1", &["consul-ecs:0.6.0", "consul:1.15.4", "envoy-distroless:v1.23.10"]),
        ("0.7.0", &["consul-ecs:0.7.0", "consul-dataplane:1.3.0"]),
        ("0.8.1", &["consul-ecs:0.8.1", "consul-dataplane:1.4.2"]),
        ("0.9.4", &["consul-ecs:0.9.4", "consul-dataplane:1.8.2"]),
    ] {
        let source = format!(
            "module \"web\" {{\n  source = \"hashicorp/consul-ecs/aws//modules/mesh-task\"\n  version = \"{version}\"\n  family = \
             \"web\"\n  port = 8080\n  container_definitions = [{{ name = \"web\", image = \"web:1\" }}]\n}}\n"
        );
        let definition = definition("main.tf", &source);
        let images: Vec<String> = definition.containers.items.iter().map(|container| text(&container.image)).collect();
        for image in expected {
            let is_there = images.iter().any(|found| found.rsplit('/').next() == Some(image));
            assert!(is_there, "{version}: {image} is not in {images:?}");
        }
    }
}

/// From 0.3 on, the modules pass a configuration; before, flags. Source:
/// <https://github.com/hashicorp/terraform-aws-consul-ecs/blob/main/CHANGELOG.md>
#[test]
fn the_configuration_of_a_module_is_judged_from_0_3_on() {
    let found = |version: &str, name: &str, port: u16| {
        let source = format!(
            "module \"web\" {{\n  source = \"hashicorp/consul-ecs/aws//modules/mesh-task\"\n  version = \"{version}\"\n  family = \
             \"web\"\n  port = 9090\n  consul_service_name = \"{name}\"\n  upstreams = [{{ destinationName = \"orders\", \
             localBindPort = {port} }}]\n  container_definitions = [{{ name = \"web\", image = \"web:1\", portMappings = [{{ \
             containerPort = 9090 }}] }}]\n}}\n"
        );
        let mut material = Material::default();
        read_source(SourceFile::new("main.tf", source).into(), true, &mut material).unwrap();
        let mut ids: Vec<&str> = audit::audit(&material).iter().map(|finding| finding.rule.id).collect();
        ids.retain(|id| *id != "consul-end-of-support");
        ids
    };
    for version in ["0.3.0", "0.4.3"] {
        assert_eq!(found(version, "Web", 9090), ["consul-service-name", "consul-upstream-port"], "{version}");
        assert_eq!(found(version, "web", 1234), [""; 0], "{version}");
    }
    assert_eq!(found("0.2.0", "Web", 9090), [""; 0]);
}

/// Up to 0.6, the module syncs no container's health if there are checks. Source:
/// <https://github.com/hashicorp/terraform-aws-consul-ecs/blob/v0.6.0/modules/mesh-task/main.tf>
#[test]
fn a_call_may_have_checks_beside_the_health_check_of_a_container() {
    let (_, call, _) = calls().into_iter().find(|(name, ..)| name == "mesh-task-0.6-acls-tls-gossip").unwrap();
    let checks = "  checks = [{ name = \"HTTP\", http = \"http://localhost:9090\", interval = \"10s\" }]\n";
    for checks in [checks, "  checks = var.checks\n"] {
        let call = call.replace("  upstreams = [{\n", &format!("{checks}  upstreams = [{{\n"));
        assert!(call.contains("healthCheck = {") && call.contains(checks));
        assert_eq!(shown(&findings_in("main.tf", &call)), Vec::<String>::new(), "{checks}");
    }
}

/// The modules' inputs and the provider's arguments are maps and lists of strings, into which Terraform converts.
#[test]
fn numbers_and_booleans_become_strings() {
    let (_, call, _) = calls().into_iter().find(|(name, ..)| name == "mesh-task-0.9-acls-tls").unwrap();
    let inputs = "  consul_service_meta = { version = 2, canary = true }\n  consul_service_tags = [1, true]\n  \
                  tags = { terraform = true, cost = 7 }\n";
    let with_inputs = call.replace("  upstreams = [{\n", &format!("{inputs}  upstreams = [{{\n"));
    assert!(with_inputs.contains(inputs));
    assert_eq!(shown(&findings_in("main.tf", &with_inputs)), Vec::<String>::new());
    let resource = "resource \"aws_ecs_task_definition\" \"web\" {\n  family = \"web\"\n  tags = { terraform = true }\n  \
                    container_definitions = jsonencode([{ name = \"web\", image = \"web:1\" }])\n}\n";
    let read = definition("main.tf", resource);
    assert_eq!(read.tags.items.iter().map(|tag| text(&tag.value)).collect::<Vec<_>>(), ["true"]);
}

/// Source: the changelogs of 0.6.0, 0.7.1 and 0.8.0.
#[test]
fn releases_differ_in_what_they_make() {
    let call = |name: &str| calls().into_iter().find(|(known, ..)| known == name).unwrap().1;
    let rules = |text: &str| crate::reading::ids(&findings_in("main.tf", text));

    let first = call("mesh-task-0.7-acls-tls").replace("\"0.7.1\"", "\"0.7.0\"");
    assert_eq!(rules(&first), ["consul-control-plane-health-check"]);

    let by_default = call("mesh-task-0.9-acls-tls").replace("  enable_transparent_proxy = false\n", "");
    assert_eq!(rules(&by_default), ["consul-transparent-proxy-launch-type"]);

    let switched_on = call("mesh-task-0.9-acls-tls")
        .replace("enable_transparent_proxy = false\n", "enable_transparent_proxy = true\n  enable_consul_dns = true\n");
    let found = findings_in("main.tf", &switched_on);
    assert_eq!(crate::reading::ids(&found), ["consul-transparent-proxy-launch-type"]);
    let help = "set requires_compatibilities to [\"EC2\"], or enable_transparent_proxy and enable_consul_dns to false";
    assert_eq!(found[0].help, help);
    let note = found[0].notes[0].span;
    assert_eq!(&switched_on[note.start..note.end], "true", "the input, and not the call");

    for (name, expected) in [
        ("mesh-task-0.5-acls-tls-gossip", &["consul-health-sync-containers"][..]),
        ("mesh-task-0.6-acls-tls-gossip", &[]),
        ("mesh-task-0.9-acls-tls", &[]),
    ] {
        let call = call(name);
        let (before, rest) = call.split_once("    healthCheck = {").unwrap();
        let (_, behind) = rest.split_once("\n    }\n").unwrap();
        assert_eq!(rules(&format!("{before}    healthCheck = null\n{behind}")), expected, "{name}");
    }
}

fn container_differences(own: &Container, other: &Container) -> Vec<String> {
    let dependencies = |container: &Container| {
        sorted(
            container.depends_on.items.iter().map(|one| format!("{} {}", text(&one.container), text(&one.condition))),
        )
    };
    let mounts = |container: &Container| {
        sorted(container.mount_points.items.iter().map(|one| {
            format!("{} {} {:?}", text(&one.source_volume), text(&one.container_path), one.read_only.or(false))
        }))
    };
    let ports =
        |container: &Container| {
            sorted(container.port_mappings.items.iter().map(|one| {
                format!("{:?} {:?} {}", one.container_port.known(), one.host_port.known(), text(&one.protocol))
            }))
        };
    let secrets = |container: &Container| {
        sorted(container.secrets.items.iter().map(|one| format!("{} {}", text(&one.name), text(&one.value_from))))
    };
    let limits = |container: &Container| {
        sorted(
            container
                .ulimits
                .items
                .iter()
                .map(|one| format!("{} {:?} {:?}", text(&one.name), one.soft.known(), one.hard.known())),
        )
    };
    let check = |container: &Container| {
        container.health_check.known().map(|check| {
            (
                check.command.texts().map(|words| words.join(" ")),
                check.interval.known().copied(),
                check.timeout.known().copied(),
                check.retries.known().copied(),
            )
        })
    };
    let compared = [
        ("name", same(&own.name, &other.name)),
        ("image", same(&own.image, &other.image)),
        ("essential", own.is_essential() == other.is_essential()),
        ("entry point", same_texts(&own.entry_point, &other.entry_point)),
        ("command", same_texts(&own.command, &other.command)),
        ("user", same(&own.user, &other.user)),
        ("dependencies", dependencies(own) == dependencies(other)),
        ("mounts", mounts(own) == mounts(other)),
        ("ports", !own.port_mappings.is_complete || ports(own) == ports(other)),
        ("secrets", !own.secrets.is_complete || secrets(own) == secrets(other)),
        ("limits", limits(own) == limits(other)),
        ("health check", check(own) == check(other)),
        ("capabilities", same_texts(&own.added_capabilities, &other.added_capabilities)),
        ("init process", own.init_process.known() == other.init_process.known()),
        ("environment", !own.environment.is_complete || environment(own) == environment(other)),
    ];
    compared.into_iter().filter(|(_, is_same)| !is_same).map(|(part, _)| part.to_owned()).collect()
}

/// The variables. The configuration of consul-ecs is compared as JSON.
fn environment(container: &Container) -> Vec<(String, Value)> {
    let value = |field: &Field<Text>| serde_json::from_str(&text(field)).unwrap_or_else(|_| Value::String(text(field)));
    container.environment.items.iter().map(|variable| (text(&variable.name), value(&variable.value))).collect()
}

fn text(field: &Field<Text>) -> String {
    field.known().map(Text::shown).unwrap_or_default()
}

fn sorted(items: impl Iterator<Item = String>) -> Vec<String> {
    let mut items: Vec<String> = items.collect();
    items.sort();
    items
}

/// Whether a value is the same, as far as it is known.
fn same(own: &Field<Text>, other: &Field<Text>) -> bool {
    match &own.value {
        Maybe::Known(known) => known.may_be(&text(other)),
        Maybe::Unknown => true,
        Maybe::Absent => other.is_absent(),
    }
}

fn same_texts(own: &List<Field<Text>>, other: &List<Field<Text>>) -> bool {
    !own.is_complete || own.texts().is_none_or(|texts| Some(texts) == other.texts())
}

/// Sources: the pull requests 148, 290 and 415 of <https://github.com/hashicorp/terraform-aws-consul-ecs>, and its module
/// gateway-task 0.10.0.
#[test]
fn default_images_are_those_of_the_release_and_module() {
    for (name, from, to, image) in [
        ("mesh-task-0.7-acls-tls", "0.7.1", "0.7.3", "hashicorp/consul-dataplane:1.3.3"),
        ("mesh-task-0.9-acls-tls", "0.9.0", "0.10.0", "hashicorp/consul-dataplane:2.0.1"),
        ("gateway-task-0.9-mesh-gateway", "0.9.0", "0.10.0", "hashicorp/consul-dataplane:1.9.6"),
        ("mesh-task-0.9-acls-tls", "0.9.0", "~> 0.10.0", "hashicorp/consul-dataplane:…"),
        ("mesh-task-0.5-acls-tls-gossip", "0.5.1", "0.5.2", "envoyproxy/envoy-alpine:v1.21.6"),
        ("mesh-task-0.5-acls-tls-gossip", "0.5.1", "0.5.2", "public.ecr.aws/hashicorp/consul:1.12.7"),
    ] {
        let (_, call, _) = calls().into_iter().find(|(known, ..)| known == name).unwrap();
        let read = definition("main.tf", &call.replace(from, to));
        let images: Vec<String> = read.containers.items.iter().map(|container| text(&container.image)).collect();
        assert!(images.contains(&image.to_owned()), "{name} {to}: {images:?}");
    }
}

/// A version constraint selects a release of a line: what all of its releases have is known.
#[test]
fn the_releases_of_a_version_constraint_share_facts() {
    let (_, call, _) = calls().into_iter().find(|(name, ..)| name == "mesh-task-0.9-acls-tls").unwrap();
    for (version, expected) in [
        ("~> 0.9.0", &["consul-release-defect"][..]),
        ("~> 0.8.0", &["consul-end-of-support", "consul-release-defect"]),
        ("~> 0.10.0", &[]),
        // The default images: Consul Dataplane 1.4 goes with what consul-ecs 0.8 does.
        ("0.8.0", &["consul-end-of-support", "consul-release-defect"]),
    ] {
        let text = call.replace("\"0.9.0\"", &format!("{version:?}"));
        let mut material = Material::default();
        read_source(SourceFile::new("main.tf", text).into(), true, &mut material).unwrap();
        assert_eq!(crate::reading::ids(&audit::audit(&material)), expected, "{version}");
    }
}
