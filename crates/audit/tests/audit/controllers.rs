//! The tasks that are taken for controllers of consul-ecs, and those that are not.

use audit::audit;
use audit_read::input::gather;
use serde_json::{Value, json};

use crate::{
    example::Base,
    folder::Folder,
    reading::{findings, findings_in, ids, shown},
};

/// The controller, with changes of its container.
fn controller(changes: &[(&str, Value)]) -> Value {
    let mut definition: Value = serde_json::from_str(Base::Controller.json()).unwrap();
    for (key, value) in changes {
        definition["containerDefinitions"][0][*key] = value.clone();
    }
    definition
}

#[test]
fn a_controller_is_known_by_its_name_its_configuration_or_its_command() {
    let mirror = || ("image", json!("registry.example.com/mesh/controller:5"));
    let name = || ("name", json!("controller"));
    for changes in [
        vec![mirror()],
        vec![mirror(), name()],
        vec![mirror(), name(), ("entryPoint", json!(["/bin/sh", "-c", "consul-ecs controller"]))],
        vec![mirror(), ("command", json!(["/bin/consul-ecs", "controller"]))],
        vec![mirror(), ("command", json!(["/start.sh", "controller"]))],
        vec![name(), ("entryPoint", json!(["/bin/consul-ecs", "controller"])), ("command", json!([]))],
    ] {
        let definition = controller(&changes);
        assert_eq!(shown(&findings(&definition)), Vec::<String>::new(), "{definition}");
    }
}

#[test]
fn a_defect_with_admin_partitions_is_none_without_them() {
    let has_it = |partitions: &str| {
        let source = format!(
            "module \"controller\" {{\n  source = \"hashicorp/consul-ecs/aws//modules/acl-controller\"\n  version = \"0.4.2\"\n  \
             name_prefix = \"prod\"\n  consul_ecs_image = \"hashicorp/consul-ecs:0.4.2\"\n  {partitions}\n}}\n"
        );
        let folder = Folder::with(&[("main.tf", source.as_bytes())]);
        let gathered = gather(&[folder.path("")], &mut std::io::empty());
        audit(&gathered.material).iter().any(|finding| finding.rule.id == "consul-release-defect")
    };
    assert!(!has_it(""));
    assert!(!has_it("consul_partitions_enabled = false"));
    assert!(has_it("consul_partitions_enabled = true"));
    assert!(has_it("consul_partitions_enabled = var.partitions"));
}

#[test]
fn a_controller_with_unknown_values_is_taken_for_no_task_of_the_mesh() {
    let configuration = r#"'{"bootstrapDir":"/consul","consulServers":{"hosts":"x"},"controller":{}}'"#;
    let cases = [
        ("controller", "!Ref Image", "[controller]", configuration),
        (
            "controller",
            "!Sub '${Registry}/consul-ecs:0.9.1'",
            "!If [Old, [acl-controller], [controller]]",
            configuration,
        ),
        ("controller", "!Sub '${Registry}/consul-ecs:0.9.1'", "[controller, !Ref Flag]", configuration),
        ("consul-ecs-controller", "hashicorp/consul-ecs:0.9.4", "[!If [A, tini, !Ref AWS::NoValue], x]", configuration),
        ("!Ref Name", "!Ref Image", "[controller]", "!Ref Configuration"),
        ("!Ref Name", "!Ref Image", "!Ref Command", "!Ref Configuration"),
        ("consul-acl-controller", "public.ecr.aws/hashicorp/consul-ecs:0.9.4", "!Ref Command", "!Ref Configuration"),
    ];
    for (name, image, command, configuration) in cases {
        let template = format!(
            "Resources:\n  Controller:\n    Type: AWS::ECS::TaskDefinition\n    Properties:\n      Family: controller\n      \
             ContainerDefinitions:\n        - Name: {name}\n          Image: {image}\n          Command: {command}\n          \
             Environment:\n            - {{ Name: CONSUL_ECS_CONFIG_JSON, Value: {configuration} }}\n            - {{ Name: \
             CONSUL_HTTP_TOKEN, Value: !Ref Token }}\n            - {{ Name: CONSUL_HTTP_ADDR, Value: !Ref Address }}\n"
        );
        assert_eq!(shown(&findings_in("template.yaml", &template)), Vec::<String>::new(), "{template}");
    }
}

/// Otherwise a container of this name would switch off the rules of the mesh.
#[test]
fn a_task_with_containers_of_the_mesh_is_one_of_the_mesh() {
    let mut beside: Value = serde_json::from_str(Base::Dataplane.json()).unwrap();
    beside["networkMode"] = json!("bridge");
    let mut instead = beside.clone();
    beside["containerDefinitions"].as_array_mut().unwrap().push(json!({
        "name": "consul-ecs-controller", "image": "example/my:1", "essential": false,
        "dependsOn": [{ "containerName": "consul-dataplane", "condition": "HEALTHY" }],
    }));
    assert_eq!(ids(&findings(&beside)), ["consul-network-mode"]);

    let containers = instead["containerDefinitions"].as_array_mut().unwrap();
    let mesh_init = containers.iter_mut().find(|container| container["name"] == "consul-ecs-mesh-init").unwrap();
    mesh_init["command"] = json!(["controller"]);
    assert_eq!(ids(&findings(&instead)), ["consul-mesh-init-command", "consul-network-mode"]);
}

/// Other programs have a command `controller` too.
#[test]
fn a_command_alone_makes_no_controller() {
    let task = json!({ "family": "ingress", "containerDefinitions": [
        { "name": "ingress", "image": "example/ingress:1", "command": ["controller"] },
    ]});
    assert_eq!(shown(&findings(&task)), Vec::<String>::new());
}

/// Up to 0.6, it has flags.
#[test]
fn the_acl_controller_has_no_configuration() {
    let environment = json!([
        { "name": "CONSUL_ECS_CONFIG_JSON", "value": "{oops" },
        { "name": "CONSUL_HTTP_ADDR", "value": "https://consul.example.internal:8501" },
    ]);
    let old = [
        ("image", json!("public.ecr.aws/hashicorp/consul-ecs:0.6.0")),
        ("command", json!(["acl-controller", "-consul-client-secret-arn", "arn"])),
        ("environment", environment),
        (
            "secrets",
            json!([{ "name": "CONSUL_HTTP_TOKEN", "valueFrom": "arn:aws:secretsmanager:us-east-1:123456789012:secret:consul-bootstrap-AbCdEf" }]),
        ),
    ];
    assert_eq!(shown(&findings(&controller(&old))), Vec::<String>::new());
}

/// With a wrapper as entry point, the command still shows what a container of consul-ecs is.
#[test]
fn a_wrapper_hides_no_container_of_the_mesh() {
    let mut wrapped: Value = serde_json::from_str(Base::Dataplane.json()).unwrap();
    let containers = wrapped["containerDefinitions"].as_array_mut().unwrap();
    let mesh_init = containers.iter_mut().find(|container| container["name"] == "consul-ecs-mesh-init").unwrap();
    mesh_init["entryPoint"] = json!(["/usr/local/bin/wait-for-consul"]);
    let text = wrapped.to_string().replace("\"consul-ecs-mesh-init\"", "\"init\"");
    assert_eq!(shown(&findings_in("task.json", &text)), Vec::<String>::new());
}
