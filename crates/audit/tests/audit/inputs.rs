//! The auditor's inputs: the same task definition in every format, and files with errors.

#![allow(clippy::expect_used, clippy::indexing_slicing, clippy::panic, clippy::unwrap_used)]

use std::sync::Arc;

use crate::{example::Base, folder::Folder};
use audit::{audit, finding::Finding, severity::Severity};
use audit_read::{
    Material,
    definition::TaskDefinition,
    input::{Gathered, gather, read_source},
};
use document::{InputProblem, SourceFile};

const WEB_YAML: &str = include_str!("../audit_inputs/web.yaml");
const WEB_JSON: &str = include_str!("../audit_inputs/web.template");
const CDK: &str = include_str!("../audit_inputs/cdk.template.json");
const COPILOT: &str = include_str!("../audit_inputs/copilot.yml");
const SAM: &str = include_str!("../audit_inputs/sam.yaml");
const PLAN: &str = include_str!("../audit_inputs/plan.tfplan.json");
const STATE: &str = include_str!("../audit_inputs/state.json");

fn read(name: &str, text: &str) -> Result<Material, InputProblem> {
    let mut material = Material::default();
    read_source(Arc::new(SourceFile::new(name, text)), true, &mut material)?;
    Ok(material)
}

pub(crate) fn gathered(arguments: &[String]) -> Gathered {
    gather(arguments, &mut std::io::empty())
}

fn lines(problems: &[InputProblem]) -> Vec<String> {
    problems.iter().map(ToString::to_string).collect()
}

fn labels(material: &Material) -> Vec<String> {
    material.definitions.iter().map(TaskDefinition::label).collect()
}

/// The rule, and the text at the finding's place.
fn pointed_at(finding: &Finding) -> (&str, &str) {
    (finding.rule.id, finding.file.text.get(finding.span.start..finding.span.end).expect("a span within the text"))
}

/// A correct definition in every format, and the spelling of its network mode.
fn samples() -> Vec<(&'static str, String, &'static str)> {
    let definition = Base::Dataplane.json();
    let described = format!(r#"{{"taskDefinition": {definition}, "tags": []}}"#);
    let network_mode = r#""networkMode": "awsvpc""#;
    vec![
        ("register.json", definition.to_owned(), network_mode),
        ("described.json", described.replace(r#", "tags": []"#, ""), network_mode),
        ("list.json", format!("[{definition}, {}]", Base::Plain.json()), network_mode),
        ("web.yaml", WEB_YAML.to_owned(), "NetworkMode: awsvpc"),
        ("web.template", WEB_JSON.to_owned(), r#""NetworkMode": "awsvpc""#),
        ("cdk.template.json", CDK.to_owned(), r#""NetworkMode": "awsvpc""#),
        ("sam.yaml", SAM.to_owned(), "NetworkMode: awsvpc"),
        ("plan.tfplan.json", PLAN.to_owned(), r#""network_mode": "awsvpc""#),
        ("state.json", STATE.to_owned(), r#""network_mode": "awsvpc""#),
    ]
}

#[test]
fn a_defect_and_nothing_else_is_found_at_its_place_in_every_format() {
    for (name, text, network_mode) in samples() {
        // The list, the plan and the state also contain other definitions, which are not in the mesh or are to be deleted.
        let broken = text.replace(network_mode, &network_mode.replace("awsvpc", "bridge"));
        let mut findings = audit(&read(name, &broken).unwrap());
        findings.retain(|finding| finding.rule.id != "ecs-fargate-properties");
        let found: Vec<_> = findings.iter().map(pointed_at).collect();
        assert_eq!(found.len(), 1, "{name}: {found:?}");
        assert_eq!((found[0].0, found[0].1.trim_matches('"')), ("consul-network-mode", "bridge"), "{name}");
    }
}

#[test]
fn short_and_long_forms_of_functions_are_equal() {
    let messages = |name: &str, text: &str| -> Vec<String> {
        audit(&read(name, text).unwrap())
            .iter()
            .map(|finding| format!("{}: {}", finding.rule.id, finding.message))
            .collect()
    };
    for (yaml, json, instead) in [
        ("[mesh-init]", "\"mesh-init\"\n", "control-plane"),
        ("NetworkMode: awsvpc", "\"NetworkMode\": \"awsvpc\"", "bridge"),
        ("ContainerName: consul-dataplane", "\"ContainerName\": \"consul-dataplane\"", "missing"),
        ("Name: nofile", "\"Name\": \"nofile\"", "nproc"),
    ] {
        let word = |text: &str| text.rsplit([' ', ':']).next().unwrap().trim_matches(['[', ']', '"', '\n']).to_owned();
        let broken_yaml = WEB_YAML.replace(yaml, &yaml.replace(&word(yaml), instead));
        let broken_json = WEB_JSON.replace(json, &json.replace(&word(json), instead));
        assert!(broken_yaml != WEB_YAML && broken_json != WEB_JSON, "{yaml}");
        let found = messages("web.yaml", &broken_yaml);
        assert_eq!(found, messages("web.template", &broken_json));
        assert!(!found.is_empty(), "{yaml}");
    }
}

#[test]
fn a_template_of_copilot_is_read_as_any_other() {
    let material = read("orders.stack.yml", COPILOT).unwrap();
    let [orders] = material.definitions.as_slice() else { panic!("{:?}", labels(&material)) };
    assert_eq!((orders.address.as_str(), orders.services[0].name.as_str()), ("TaskDefinition", "Service"));
    assert!(!orders.is_synthesised && audit(&material).is_empty());
    let broken = COPILOT
        .replace("ContainerName: agent", "ContainerName: agnet")
        .replace("Name: !Ref WorkloadName", "Name: orders");
    let findings = audit(&read("orders.stack.yml", &broken).unwrap());
    assert_eq!(findings.iter().map(pointed_at).collect::<Vec<_>>(), [("ecs-dependency-unknown", "agnet")]);
}

#[test]
fn values_without_defaults_are_unknown() {
    let material = read("web.yaml", WEB_YAML).unwrap();
    let web = &material.definitions[0];
    assert_eq!((web.address.as_str(), web.label().as_str()), ("Web", "web-staging"));
    assert!(web.task_role.is_unknown() && web.execution_role.is_unknown());
    let dataplane = &web.containers.items[2];
    assert_eq!(
        dataplane.command_line().unwrap(),
        ["/consul/consul-ecs", "envoy-entrypoint", "consul-dataplane", "-config-file", "/consul/consul-dataplane.json"]
    );
    // Even the default of a hidden parameter is unknown.
    assert!(web.containers.items[1].secrets.items[0].value_from.is_unknown());
    let service = &web.services[0];
    assert_eq!((service.name.as_str(), service.launch_type.text()), ("WebService", Some("FARGATE")));
}

#[test]
fn a_plan_s_known_values_are_read() {
    let material = read("plan.tfplan.json", PLAN).unwrap();
    let mut found: Vec<(&str, bool, bool, Vec<&str>)> = material
        .definitions
        .iter()
        .map(|definition| {
            let services = definition.services.iter().map(|service| service.name.as_str()).collect();
            let mode = &definition.network_mode;
            (definition.address.as_str(), definition.containers.is_complete, mode.is_unknown(), services)
        })
        .collect();
    found.sort_unstable();
    assert_eq!(
        found,
        [
            ("aws_ecs_task_definition.batch", true, false, vec![]),
            (
                "module.orders.aws_ecs_task_definition.this[0]",
                false,
                true,
                vec!["module.orders.aws_ecs_service.this[0]"]
            ),
            (r#"module.web["shop"].aws_ecs_task_definition.this"#, true, false, vec!["aws_ecs_service.web"]),
        ]
    );
    // A network mode that the source does not set is bridge, even if the provider reports another value.
    let mut unset: serde_json::Value = serde_json::from_str(PLAN).unwrap();
    let orders = &mut unset["configuration"]["root_module"]["module_calls"]["orders"]["module"]["resources"][0];
    orders["expressions"].as_object_mut().unwrap().remove("network_mode").unwrap();
    let material = read("plan.tfplan.json", &unset.to_string()).unwrap();
    let orders = material.definitions.iter().find(|definition| definition.label() == "orders").unwrap();
    assert!(orders.network_mode.is_absent());
    assert!(!orders.tags.is_complete && orders.tags.items.len() == 2);
}

#[test]
fn a_state_s_service_is_found_by_definition() {
    let material = read("state.json", STATE).unwrap();
    assert_eq!(labels(&material), ["web"]);
    assert_eq!(material.definitions[0].services[0].name, "aws_ecs_service.web");
    assert!(material.definitions[0].tags.items.iter().any(|tag| tag.key.text() == Some("team")));
}

#[test]
fn exports_of_app_mesh_are_read_in_all_forms() {
    let list: Vec<serde_json::Value> = serde_json::from_str(Base::AppMeshResources.json()).unwrap();
    for (text, count) in [
        (Base::AppMeshResources.json(), list.len()),
        (r#"{"mesh": {"meshName": "shop", "spec": {}}}"#, 1),
        (r#"{"mesh": {"meshName": "a", "spec": {}}, "virtualNode": {"meshName": "a", "virtualNodeName": "n"}}"#, 2),
        (r#"{"meshName": "a", "virtualNodeName": "n", "spec": {"listeners": []}}"#, 1),
        (r#"{"meshName": "a", "virtualRouterName": "r", "routeName": "t", "spec": {}}"#, 1),
        (r#"{"meshName": "a", "virtualGatewayName": "g", "gatewayRouteName": "r", "spec": {}}"#, 1),
        (r#"{"gatewayRoute": {"meshName": "a", "virtualGatewayName": "g", "gatewayRouteName": "r", "spec": {}}}"#, 1),
    ] {
        assert_eq!(read("mesh.json", text).unwrap().resources.all().len(), count, "{text}");
    }
    assert!(read("a.json", r#"{"virtualNodes": [{"meshName": "a", "virtualNodeName": "n"}]}"#).is_err());
}

#[test]
fn a_generated_skeleton_with_unknown_keys_is_read() {
    let text = r#"{"family": "", "taskRoleArn": "", "networkMode": "none", "newKey": [{"a": 1}], "containerDefinitions": [
        {"name": "", "image": "", "cpu": 0, "essential": true, "links": [""], "dependsOn": [], "gpu": null}]}"#;
    assert_eq!(read("skeleton.json", text).unwrap().definitions[0].containers.items.len(), 1);
}

#[test]
fn yaml_of_the_aws_cli_is_read() {
    let text =
        "taskDefinition:\n  family: web\n  containerDefinitions:\n  - name: web\n    image: example/web:1\ntags: []\n";
    assert_eq!(labels(&read("web.yml", text).unwrap()), ["web"]);
}

/// Name, text, and the rest of the line after the name.
#[rustfmt::skip]
const BAD: [(&str, &str, &str); 23] = [
    ("a.json", "", ":1:1: not JSON: the text is empty"),
    ("a.yaml", "", ":1:1: not YAML: the text is empty"),
    ("a.json", "hello", ":1:1: not JSON"),
    ("a.json", "{\"family\": \"web\",\n \"containerDefinitions\": [", ":2:26: not JSON: unterminated array"),
    ("a.yaml", "Resources:\n  Web: [a, b\n", ":3:1: not YAML"),
    ("a.yaml", "a: b: c", ":1:5: not YAML"),
    ("a.json", r#"{"containerDefinitions": {}}"#, ":1:26: containerDefinitions: a map where a list is expected"),
    ("a.json", r#"{"containerDefinitions": [{"name": "a", "essential": "yes"}]}"#, ":1:54: containerDefinitions[0].essential: a string where true or false is expected"),
    ("a.json", r#"{"containerDefinitions": [{"name": 7}]}"#, ":1:36: containerDefinitions[0].name: a number where a string is expected"),
    ("a.json", r#"{"taskDefinition": {"containerDefinitions": [7]}}"#, ":1:46: containerDefinitions[0]: a number where a map is expected"),
    ("a.yaml", "Resources:\n  Web:\n    Type: AWS::ECS::TaskDefinition\n    Properties:\n      Volumes: x\n", ":5:16: Web: Volumes: a string where a list is expected"),
    ("a.yaml", "Resources: {Web: {Type: 'AWS::ECS::TaskDefinition', Properties: [x]}}", ":1:65: Web: the task definition: a list where a map is expected"),
    ("a.json", r#"{"format_version": "1.0", "values": {"root_module": {"resources": [{"address": "x.y", "type": "aws_ecs_task_definition", "values": {"container_definitions": "[{oops}]"}}]}}}"#, ":1:161: x.y: container_definitions: not JSON"),
    ("a.json", r#"{"format_version": "1.0", "values": {"root_module": {"resources": [{"address": "x.y", "type": "aws_ecs_task_definition", "values": {"container_definitions": 7}}]}}}"#, ":1:158: x.y: container_definitions: a number where a JSON string is expected"),
    ("a.json", r#"{"version": 4, "terraform_version": "1.9.8", "lineage": "x", "resources": []}"#, ": a raw Terraform state: use the output of `terraform show -json`"),
    ("package.json", r#"{"name": "web"}"#, ": not an ECS task definition, CloudFormation template, output of Terraform's `show -json` or App Mesh export"),
    ("k8s.yaml", "apiVersion: v1\nkind: Pod\n", ": not an ECS task definition"),
    ("two.yaml", "a: 1\n---\nResources: {}\n", ": not an ECS task definition"),
    ("a.yaml", "# nothing\n", ": not an ECS task definition"),
    ("a.json", "[]", ": not an ECS task definition"),
    ("main.tf.json", r#"{"locals": {"a": 1, "a": 2}}"#, ":1:21: the key \"a\" is twice in one map"),
    ("main.tf", "resource \"aws_ecs_task_definition\" \"web\" {\n  family = \"a\"\n  family = \"b\"\n}\n", ":3:3: not Terraform's language: invalid attribute"),
    ("main.tf", "resource \"aws_ecs_task_definition\" \"web\" {\n", ":1:43: not Terraform's language: invalid block body"),
];

#[test]
fn bad_input_is_one_line_and_others_are_read() {
    for (name, text, expected) in BAD {
        let folder = Folder::with(&[(name, text.as_bytes()), ("z-good.json", Base::Plain.json().as_bytes())]);
        let found = gathered(&[folder.path(name), folder.path("z-good.json")]);
        let lines = lines(&found.problems);
        assert_eq!(lines.len(), 1, "{text}: {lines:?}");
        assert!(lines[0].starts_with(&format!("{}{expected}", folder.path(name))), "{text}: {}", lines[0]);
        assert!(!lines[0].contains('\n'));
        assert!(labels(&found.material).contains(&"nightly-report".to_owned()), "{text}");
    }
}

#[test]
fn other_kinds_of_bytes_are_named() {
    let deep = ["[".repeat(100_000), "{\"a\":".repeat(100_000), "- ".repeat(100_000)];
    let utf16: Vec<u8> = "{}".encode_utf16().flat_map(u16::to_le_bytes).collect();
    for (bytes, expected) in [
        (b"a: \xFFb".to_vec(), ":1:4: not UTF-8"),
        ([b"\xFF\xFE".as_slice(), &utf16].concat(), ": UTF-16, not UTF-8"),
        (utf16, ": UTF-16, not UTF-8"),
        (b"PK\x03\x04plan".to_vec(), ": a binary file, not a text: for a saved Terraform plan"),
        (vec![b' '; 50 * 1024 * 1024], ": larger than the limit of 32 MiB"),
        (deep[0].clone().into_bytes(), ":1:"),
        (deep[1].clone().into_bytes(), ":1:"),
        (deep[2].clone().into_bytes(), ":1:"),
    ] {
        let folder = Folder::with(&[("a.yaml", &bytes)]);
        let lines = lines(&gathered(&[folder.path("a.yaml")]).problems);
        assert_eq!(lines.len(), 1, "{expected}: {lines:?}");
        assert!(lines[0].starts_with(&format!("{}{expected}", folder.path("a.yaml"))), "{lines:?}");
    }
}

#[test]
fn a_byte_order_mark_is_accepted() {
    for (name, text) in [("a.json", Base::Dataplane.json()), ("a.yaml", WEB_YAML)] {
        let marked = format!("\u{FEFF}{text}").replace("awsvpc", "bridge");
        let findings = audit(&read(name, &marked).unwrap());
        assert_eq!(findings.iter().map(|found| pointed_at(found).1.trim_matches('"')).collect::<Vec<_>>(), ["bridge"]);
    }
}

#[test]
fn one_bad_definition_does_not_hide_the_others() {
    let text = WEB_YAML.replace("  TaskRole:\n", "  Bad:\n    Type: AWS::ECS::TaskDefinition\n    Properties: {Family: [a]}\n  Worse:\n    Type: AWS::ECS::TaskDefinition\n    Properties: {Tags: a}\n  TaskRole:\n");
    let folder = Folder::with(&[("a.yaml", text.as_bytes())]);
    let found = gathered(&[folder.path("a.yaml")]);
    assert_eq!(labels(&found.material), ["Bad", "Worse", "web-staging"]);
    assert_eq!(found.problems.len(), 2, "{:?}", lines(&found.problems));
}

#[test]
fn a_load_balancer_names_a_container_and_a_port_of_its_task() {
    let found = |container: &str, port: u16| {
        let template = format!(
            "Resources:\n  Task:\n    Type: AWS::ECS::TaskDefinition\n    Properties:\n      Family: web\n      ContainerDefinitions:\n      \
             - Name: web\n        Image: example/web:1\n        PortMappings: [{{ContainerPort: 8080}}]\n  Service:\n    Type: \
             AWS::ECS::Service\n    Properties:\n      TaskDefinition: !Ref Task\n      LoadBalancers:\n      - ContainerName: \
             {container}\n        ContainerPort: {port}\n"
        );
        let source = format!(
            "resource \"aws_ecs_task_definition\" \"web\" {{\n  family = \"web\"\n  container_definitions = jsonencode([{{ name = \
             \"web\", image = \"example/web:1\", portMappings = [{{ containerPort = 8080 }}] }}])\n}}\nresource \
             \"aws_ecs_service\" \"web\" {{\n  task_definition = aws_ecs_task_definition.web.arn\n  load_balancer {{\n    \
             container_name = \"{container}\"\n    container_port = {port}\n  }}\n}}\n"
        );
        let ids = |material: &Material| audit(material).iter().map(|finding| finding.rule.id).collect::<Vec<_>>();
        let (task, service) = source.split_at(source.find("resource \"aws_ecs_service\"").unwrap());
        let folder = Folder::with(&[("task.tf", task.as_bytes()), ("service.tf", service.as_bytes())]);
        let gathered = gathered(&[folder.path("")]);
        assert_eq!(lines(&gathered.problems), Vec::<String>::new());
        assert!(audit(&gathered.material).iter().all(|finding| finding.file.name.ends_with("service.tf")));
        let of_terraform = ids(&gathered.material);
        assert_eq!(ids(&read("template.yaml", &template).unwrap()), of_terraform);
        of_terraform
    };
    assert_eq!(found("web", 8080), [""; 0]);
    assert_eq!(found("web", 80), ["ecs-load-balancer-target"]);
    assert_eq!(found("nginx", 8080), ["ecs-load-balancer-target"]);
}

#[test]
fn a_deployment_that_shifts_requests_is_found_in_every_notation() {
    let config =
        r#"{"bootstrapDir":"/consul","consulServers":{"hosts":"10.0.0.1"},"service":{"name":"web","port":80}}"#;
    let found = |properties: &str, blocks: &str| {
        let template = format!(
            "Resources:\n  Task:\n    Type: AWS::ECS::TaskDefinition\n    Properties:\n      Family: web\n      \
             ContainerDefinitions:\n      - Name: consul-ecs-mesh-init\n        Image: hashicorp/consul-ecs:0.10.1\n        \
             Environment: [{{ Name: CONSUL_ECS_CONFIG_JSON, Value: '{config}' }}]\n  Service:\n    Type: AWS::ECS::Service\n    \
             Properties:\n      TaskDefinition: !Ref Task\n{properties}"
        );
        let source = format!(
            "resource \"aws_ecs_task_definition\" \"web\" {{\n  family = \"web\"\n  container_definitions = jsonencode([{{ name = \
             \"consul-ecs-mesh-init\", image = \"hashicorp/consul-ecs:0.10.1\", environment = [{{ name = \
             \"CONSUL_ECS_CONFIG_JSON\", value = {config:?} }}] }}])\n}}\nresource \"aws_ecs_service\" \"web\" {{\n  \
             task_definition = aws_ecs_task_definition.web.arn\n{blocks}}}\n"
        );
        let of_rule = |material: &Material| {
            let found = audit(material).into_iter().filter(|finding| finding.rule.id == "consul-deployment-strategy");
            found.map(|finding| pointed_at(&finding).1.trim_matches('"').to_owned()).collect::<Vec<_>>()
        };
        let folder = Folder::with(&[("main.tf", source.as_bytes())]);
        let gathered = gathered(&[folder.path("")]);
        assert_eq!(lines(&gathered.problems), Vec::<String>::new());
        let of_terraform = of_rule(&gathered.material);
        assert_eq!(of_rule(&read("template.yaml", &template).unwrap()), of_terraform);
        of_terraform
    };
    for how in ["BLUE_GREEN", "LINEAR", "CANARY"] {
        let properties = format!("      DeploymentConfiguration: {{ Strategy: {how}, BakeTimeInMinutes: 60 }}\n");
        let blocks =
            format!("  deployment_configuration {{\n    strategy = \"{how}\"\n    bake_time_in_minutes = 60\n  }}\n");
        assert_eq!(found(&properties, &blocks), [how]);
    }
    let code_deploy = "      DeploymentController: { Type: CODE_DEPLOY }\n";
    assert_eq!(found(code_deploy, "  deployment_controller {\n    type = \"CODE_DEPLOY\"\n  }\n"), ["CODE_DEPLOY"]);
    let rolling = "      DeploymentConfiguration: { Strategy: ROLLING }\n      DeploymentController: { Type: ECS }\n";
    let blocks = "  deployment_configuration {\n    strategy = \"ROLLING\"\n  }\n  deployment_controller {\n    type = \"ECS\"\n  }\n";
    assert_eq!(found(rolling, blocks), [""; 0]);
    assert_eq!(
        found(
            "      DeploymentConfiguration: { Strategy: !Ref How }\n",
            "  deployment_configuration {\n    strategy = var.how\n  }\n"
        ),
        [""; 0]
    );
}

/// Task definitions that log in, with this role, as a template and as Terraform's source.
fn with_role(path: Option<&str>, tags: &[(&str, &str)], section: &str) -> [Vec<(&'static str, String)>; 2] {
    let config = format!(
        r#"{{"bootstrapDir":"/consul","consulServers":{{"hosts":"10.0.0.1"}},"consulLogin":{{"enabled":true}},{section}}}"#
    );
    let yaml_path = path.map(|path| format!("      Path: {path}\n")).unwrap_or_default();
    let each =
        |format: fn(&str, &str) -> String| tags.iter().map(|(key, value)| format(key, value)).collect::<String>();
    let yaml_tags = each(|key, value| format!("      - {{ Key: {key}, Value: {value} }}\n"));
    let template = format!(
        "Resources:\n  Role:\n    Type: AWS::IAM::Role\n    Properties:\n      AssumeRolePolicyDocument: {{}}\n{yaml_path}      Tags:\n{yaml_tags}  Task:\n    Type: \
         AWS::ECS::TaskDefinition\n    Properties:\n      Family: web\n      TaskRoleArn: !GetAtt Role.Arn\n      \
         ContainerDefinitions:\n      - Name: consul-ecs-mesh-init\n        Image: hashicorp/consul-ecs:0.10.1\n        \
         Environment:\n        - {{ Name: CONSUL_ECS_CONFIG_JSON, Value: '{config}' }}\n"
    );
    let hcl_path = path.map(|path| format!("  path = \"{path}\"\n")).unwrap_or_default();
    let hcl_tags = each(|key, value| format!("    \"{key}\" = \"{value}\"\n"));
    let role = format!(
        "resource \"aws_iam_role\" \"task\" {{\n  assume_role_policy = \"{{}}\"\n{hcl_path}  tags = {{\n{hcl_tags}  }}\n}}\n"
    );
    let escaped = config.replace('"', "\\\"");
    let task = format!(
        "resource \"aws_ecs_task_definition\" \"web\" {{\n  family = \"web\"\n  task_role_arn = aws_iam_role.task.arn\n  \
         container_definitions = jsonencode([{{ name = \"consul-ecs-mesh-init\", image = \"hashicorp/consul-ecs:0.10.1\", \
         environment = [{{ name = \"CONSUL_ECS_CONFIG_JSON\", value = \"{escaped}\" }}] }}])\n}}\n"
    );
    [vec![("template.yaml", template)], vec![("role.tf", role), ("task.tf", task)]]
}

#[test]
fn a_task_role_of_the_input_has_the_tags_and_the_path_of_the_login() {
    const SERVICE: &str = "consul.hashicorp.com.service-name";
    const KIND: &str = "consul.hashicorp.com.gateway-kind";
    let (web, mesh) = (r#""service":{"name":"web","port":80}"#, r#""gateway":{"kind":"mesh-gateway","name":"mgw"}"#);
    let path = Some("/consul-ecs/");
    let no_tag = |tag: &str| format!("the task role has no tag {tag}");
    let no_path = "the path of the task role is /, and not the one that the auth method admits";
    let other_path = "the path of the task role is /team/, and the auth method admits /consul-ecs/ by default";
    let with_a_slash =
        "the task role has the tag consul.hashicorp.com/service-name, with a slash, which Consul does not read";
    let wrong = format!("the tag {SERVICE} of the task role is shop, but the task registers web");
    for (path, tags, section, expected) in [
        (path, vec![(SERVICE, "web")], web, vec![]),
        (path, vec![(SERVICE, "mgw"), (KIND, "mesh-gateway")], mesh, vec![]),
        (Some("/consul-ecs/team/"), vec![(SERVICE, "web")], web, vec![]),
        (Some("/team/"), vec![(SERVICE, "web")], web, vec![other_path.to_owned()]),
        (path, vec![("consul.hashicorp.com/service-name", "web")], web, vec![with_a_slash.to_owned()]),
        (path, vec![("team", "web")], web, vec![no_tag(SERVICE)]),
        (path, vec![(SERVICE, "shop")], web, vec![wrong]),
        (path, vec![(SERVICE, "mgw")], mesh, vec![no_tag(KIND)]),
        (None, vec![(SERVICE, "web")], web, vec![no_path.to_owned()]),
    ] {
        for files in with_role(path, &tags, section) {
            let bytes: Vec<(&str, &[u8])> = files.iter().map(|(name, text)| (*name, text.as_bytes())).collect();
            let folder = Folder::with(&bytes);
            let gathered = gathered(&[folder.path("")]);
            assert_eq!(lines(&gathered.problems), Vec::<String>::new());
            let found = audit(&gathered.material);
            let rules = ["consul-task-role-tags", "consul-gateway-kind-tag"];
            let found = found.iter().filter(|finding| rules.contains(&finding.rule.id));
            let (files, found): (Vec<_>, Vec<_>) =
                found.map(|finding| (finding.file.name.clone(), finding.message.clone())).unzip();
            assert_eq!(found, expected);
            assert!(files.iter().all(|file| !file.ends_with("task.tf")), "{files:?}");
        }
    }
}

#[test]
fn the_tag_of_a_gateway_s_kind_belongs_to_releases() {
    const SERVICE: &str = "consul.hashicorp.com.service-name";
    let mesh = r#""gateway":{"kind":"mesh-gateway","name":"mgw"}"#;
    for (version, is_found) in [("0.7.1", false), ("0.7.2", true), ("0.10.1", true), ("latest", true)] {
        for files in with_role(Some("/consul-ecs/"), &[(SERVICE, "mgw")], mesh) {
            let files = files.into_iter().map(|(name, text)| (name, text.replace("0.10.1", version)));
            let files: Vec<(&str, String)> = files.collect();
            let bytes: Vec<(&str, &[u8])> = files.iter().map(|(name, text)| (*name, text.as_bytes())).collect();
            let folder = Folder::with(&bytes);
            let found = audit(&gathered(&[folder.path("")]).material);
            let rules: Vec<&str> = found.iter().map(|finding| finding.rule.id).collect();
            assert_eq!(rules.contains(&"consul-gateway-kind-tag"), is_found, "{version}: {rules:?}");
            assert!(!rules.contains(&"consul-task-role-tags"), "{version}: the login succeeds");
        }
    }
}

#[test]
fn a_value_of_a_wrong_type_costs_no_other_finding() {
    let base = Base::Dataplane.json().replace(r#""awsvpc""#, r#""bridge""#);
    let base: serde_json::Value = serde_json::from_str(&base).unwrap();
    for (key, wrong, reason) in [
        ("stopTimeout", r#""30""#, "stopTimeout: a string where a whole number is expected"),
        ("stopTimeout", "-1", "stopTimeout: a negative number where a whole number is expected"),
        ("essential", r#""yes""#, "essential: a string where true or false is expected"),
        ("ulimits", r#"[{ "softLimit": 1.5 }]"#, "softLimit: a number where a whole number is expected"),
        ("links", r#""db""#, "links: a string where a list is expected"),
        ("command", "[1]", "command[0]: a number where a string is expected"),
        ("secrets", r#"["x"]"#, "secrets[0]: a string where a map is expected"),
    ] {
        let mut text = base.clone();
        text["containerDefinitions"][0][key] = serde_json::from_str(wrong).unwrap();
        let text = text.to_string();
        let mut material = Material::default();
        let problem = read_source(Arc::new(SourceFile::new("task.json", text)), true, &mut material).unwrap_err();
        assert!(problem.to_string().contains(reason), "{problem}");
        let found = audit(&material);
        assert!(found.iter().any(|finding| finding.rule.id == "consul-network-mode"), "{wrong}: {found:?}");
    }
}

#[test]
fn terraform_matches_the_keys_of_containers_in_any_case() {
    let source = |containers: &str| {
        format!(
            "resource \"aws_ecs_task_definition\" \"web\" {{\n  family = \"web\"\n  container_definitions = {containers}\n}}\n"
        )
    };
    let ids = |name: &str, text: &str| -> Vec<&str> {
        audit(&read(name, text).unwrap()).iter().map(|finding| finding.rule.id).collect()
    };
    let named = "[{ Name = \"web\", IMAGE = \"nginx:1\", PortMappings = [{ ContainerPort = 80, HOSTPORT = 80 }] }]";
    assert_eq!(ids("main.tf", &source(&format!("jsonencode({named})"))), [""; 0]);
    let misspelt = "jsonencode([{ Nam = \"web\", image = \"nginx:1\" }])";
    assert_eq!(ids("main.tf", &source(misspelt)), ["ecs-container-name", "ecs-unknown-key"]);
    // Of several, the last counts.
    assert_eq!(
        ids("main.tf", &source("jsonencode([{ name = \"a b\", Name = \"web\", image = \"nginx:1\" }])")),
        [""; 0]
    );
    let json = r#"[{\"Name\": \"web\", \"Image\": \"nginx:1\"}]"#;
    assert_eq!(ids("main.tf", &source(&format!("\"{json}\""))), [""; 0]);
    let values = format!(r#"{{ "family": "web", "container_definitions": "{json}" }}"#);
    let resource = format!(
        r#"{{ "address": "aws_ecs_task_definition.web", "mode": "managed", "type": "aws_ecs_task_definition", "values": {values} }}"#
    );
    let plan = format!(
        r#"{{ "format_version": "1.2", "planned_values": {{ "root_module": {{ "resources": [{resource}] }} }} }}"#
    );
    assert_eq!(ids("plan.json", &plan), [""; 0]);
    // The AWS CLI and ECS know one spelling.
    let of_cli = r#"{ "family": "web", "containerDefinitions": [{ "Name": "web", "Image": "nginx:1" }] }"#;
    assert_eq!(ids("task.json", of_cli), ["ecs-container-name", "ecs-unknown-key", "ecs-unknown-key"]);
}

#[test]
fn a_placeholder_of_another_program_is_unknown() {
    let json = |name: &str| {
        format!(r#"{{ "family": "web", "containerDefinitions": [{{ "name": "{name}", "image": "a" }}] }}"#)
    };
    let template = |name: &str| {
        format!(
            "Resources:\n  Task:\n    Type: AWS::ECS::TaskDefinition\n    Properties:\n      ContainerDefinitions: [{{Name: '{name}', Image: a}}]\n"
        )
    };
    let found = |name: &str, text: &str| -> Vec<String> {
        let found = audit(&read(name, text).unwrap());
        let shown =
            |finding: &Finding| format!("{} {}", finding.rule.id, finding.container.as_deref().unwrap_or_default());
        found.iter().map(shown).collect()
    };
    for placeholder in ["${NAME}", "<NAME>", "{{ must_env `NAME` }}", "web-${STAGE}"] {
        assert_eq!(found("task.json", &json(placeholder)), [""; 0], "{placeholder}");
        assert_eq!(found("task.yaml", &template(placeholder)), [""; 0], "{placeholder}");
    }
    assert_eq!(found("task.json", &json("a b")), ["ecs-container-name a b"]);
    let declared = |name: &str| format!("Parameters: {{ Name: {{ Type: String }} }}\n{}", template(name));
    assert_eq!(found("task.yaml", &declared("${Name}")), ["ecs-sub-missing "]);
}

#[test]
fn a_placeholder_in_the_configuration_is_unknown() {
    let at = r#"\"port\":9090"#;
    let base = Base::Dataplane.json();
    assert!(base.contains(at));
    for port in ["${PORT}", "{{ port }}"] {
        let text = base.replace(at, &format!(r#"\"port\":{port}"#));
        assert_eq!(audit(&read("task.json", &text).unwrap()).len(), 0, "{port}");
    }
}

#[test]
fn a_defect_of_mesh_gateways_is_an_info_without_one() {
    let controller = Base::Controller.json();
    let image = "hashicorp/consul-ecs:";
    let at = controller.find(image).expect("an image of consul-ecs") + image.len();
    let version = controller[at..].split('"').next().unwrap();
    let controller = controller.replace(&format!("{image}{version}"), &format!("{image}0.7.1"));
    let severity = |others: &str| {
        let material = read("tasks.json", &format!("[{controller}{others}]")).unwrap();
        let found = audit(&material);
        let defect = found.iter().find(|finding| finding.rule.id == "consul-release-defect").expect("the defect");
        defect.severity
    };
    assert_eq!(severity(""), Severity::Info);
    assert_eq!(severity(&format!(",{}", Base::ApiGateway.json())), Severity::Info);
    assert_eq!(severity(&format!(",{}", Base::MeshGateway.json())), Severity::Warning);
}

#[test]
fn a_template_of_another_program_is_named_as_one() {
    let json = |cpu: &str| format!("{{\"family\": \"web\",\n \"cpu\": {cpu},\n \"containerDefinitions\": []}}");
    for (name, text) in [
        ("task.json", json("${cpu}")),
        ("task.json", json("<CPU>")),
        ("task.json", json("@CPU@")),
        ("task.json", json("__CPU__")),
        ("task.json", json("%cpu%")),
        ("task.json", json("{{ .Values.cpu }}")),
        ("task.json", format!("{{% if mesh %}}\n{}\n{{% endif %}}", json("256"))),
        ("task.json", format!("<% if mesh %>\n{}", json("256"))),
        (
            "task.yaml",
            "family: web\ncontainerDefinitions:\n{{- range .apps }}\n  - name: {{ .name }}\n{{- end }}\n".to_owned(),
        ),
        ("task.yaml", "family: web\ncontainerDefinitions:\n  - name: {{ name }}\n".to_owned()),
    ] {
        let problem = read(name, &text).unwrap_err().to_string();
        assert!(problem.ends_with("; this looks like a template: check what it renders"), "{text}: {problem}");
    }
    // A value with such a text is no template, and neither is another mistake.
    for text in [json("25six"), json("256,,"), json("\"{{resolve:ssm:cpu}}\", \"a\": \"${b}\" 1")] {
        let problem = read("task.json", &text).unwrap_err().to_string();
        assert!(!problem.contains("template"), "{text}: {problem}");
    }
}

#[test]
fn two_definitions_of_one_template_or_root_module_have_two_families() {
    const TWICE: &str = "ecs-family-twice";
    let count = |files: &[(&str, String)]| {
        let bytes: Vec<(&str, &[u8])> = files.iter().map(|(name, text)| (*name, text.as_bytes())).collect();
        let folder = Folder::with(&bytes);
        let gathered = gathered(&[folder.path("")]);
        assert_eq!(lines(&gathered.problems), Vec::<String>::new());
        audit(&gathered.material).iter().filter(|finding| finding.rule.id == TWICE).count()
    };
    let resource = |id: &str, family: &str, more: &str| {
        format!(
            "  {id}:\n    Type: AWS::ECS::TaskDefinition\n{more}    Properties:\n      Family: {family}\n      \
             ContainerDefinitions: [{{ Name: app, Image: app }}]\n"
        )
    };
    let template = |web: String, api: String| {
        let head = "Parameters:\n  Family:\n    Type: String\nConditions:\n  Blue: !Equals [!Ref Family, blue]\n";
        [("template.yaml", format!("{head}Resources:\n{web}{api}"))]
    };
    let web = || resource("Web", "shop", "");
    assert_eq!(count(&template(web(), resource("Api", "shop", ""))), 1);
    assert_eq!(count(&template(web(), resource("Api", "api", ""))), 0);
    assert_eq!(count(&template(web(), resource("Api", "shop", "    Condition: Blue\n"))), 0);
    let unknown = || resource("Api", "!Ref Family", "");
    assert_eq!(count(&template(unknown(), unknown().replace("Api", "Other"))), 0);

    let block = |name: &str, family: &str, more: &str| {
        format!(
            "resource \"aws_ecs_task_definition\" \"{name}\" {{\n  family = {family}\n  container_definitions = \
             jsonencode([{{ name = \"app\", image = \"app\" }}])\n  {more}\n}}\n"
        )
    };
    let module = |api: String| [("web.tf", block("web", "\"shop\"", "")), ("api.tf", api)];
    assert_eq!(count(&module(block("api", "\"shop\"", ""))), 1);
    assert_eq!(count(&module(block("api", "\"api\"", ""))), 0);
    assert_eq!(count(&module(block("api", "\"shop\"", "count = var.blue ? 1 : 0"))), 0);
    assert_eq!(count(&module(block("api", "\"shop\"", "lifecycle {\n    enabled = var.blue\n  }"))), 0);
    assert_eq!(count(&module(block("api", "\"shop\"", "provider = aws.west"))), 0);
    assert_eq!(count(&[("a/main.tf", block("web", "\"shop\"", "")), ("b/main.tf", block("web", "\"shop\"", ""))]), 0);
    let called = |more: &str| {
        let call =
            |name: &str| format!("module \"{name}\" {{\n  source = \"./task\"\n  family = \"shop\"\n  {more}\n}}\n");
        let variable = "variable \"family\" {}\n";
        [("main.tf", call("a") + &call("b")), ("task/main.tf", variable.to_owned() + &block("it", "var.family", ""))]
    };
    assert_eq!(count(&called("")), 1);
    let mut mixed = called("").to_vec();
    mixed.push(("own.tf", block("own", "\"shop\"", "")));
    assert_eq!(count(&mixed), 2);
    mixed[0].1 = called("providers = { aws = aws.west }")[0].1.clone();
    assert_eq!(count(&mixed), 0);

    let json = r#"{"family":"shop","containerDefinitions":[{"name":"app","image":"app"}]}"#;
    assert_eq!(count(&[("blue.json", json.to_owned()), ("green.json", json.to_owned())]), 0);
}
