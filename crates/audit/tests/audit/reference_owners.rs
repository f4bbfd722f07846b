//! Whose an undeclared reference is: of the definition or resource that has it, or of its file.

use audit::{audit, finding::Finding};

use crate::{
    folder::Folder,
    inputs::gathered,
    reading::{findings_in, report_of},
};

/// Two definitions and the services that run them.
const TEMPLATE: &str = r#"AWSTemplateFormatVersion: "2010-09-09"
Parameters:
  ClusterArn: { Type: String }
  Stage: { Type: String }
Conditions:
  IsTest: !Equals [!Ref Stage, test]
Resources:
  Queue: { Type: AWS::SQS::Queue }
  Web:
    Type: AWS::ECS::TaskDefinition
    DependsOn: Queue
    Properties: { Family: web, Cpu: 256, Memory: 512, ContainerDefinitions: [{ Name: web, Image: "example/web:1" }] }
  Report:
    Type: AWS::ECS::TaskDefinition
    Properties: { Family: report, Cpu: 256, Memory: 512, ContainerDefinitions: [{ Name: report, Image: "example/report:1" }] }
  WebService:
    Type: AWS::ECS::Service
    Properties: { Cluster: !Ref ClusterArn, TaskDefinition: !Ref Web }
  ReportService:
    Type: AWS::ECS::Service
    Properties: { Cluster: !GetAtt [Queue, QueueName], TaskDefinition: !Ref Report }
  Mesh:
    Type: AWS::AppMesh::Mesh
    DependsOn: Queue
    Properties: { MeshName: shop }
"#;

fn owners(found: &[Finding]) -> Vec<String> {
    let is_reference = |finding: &&Finding| finding.rule.id.ends_with("undeclared-reference");
    let owner = |finding: &Finding| format!("{} {}: {}", finding.rule.id, finding.subject, finding.message);
    found.iter().filter(is_reference).map(owner).collect()
}

#[test]
fn a_template_s_references_belong_to_what_has_them() {
    assert_eq!(owners(&findings_in("template.yaml", TEMPLATE)), [""; 0]);
    for (from, to, owner) in [
        // The second definition, its service, and a mesh.
        (
            "{ Family: report,",
            "{ Family: !Ref Stages,",
            "ecs-undeclared-reference Report: the template has no parameter or resource Stages",
        ),
        (
            "[Queue, QueueName]",
            "[Queues, QueueName]",
            "ecs-undeclared-reference report: the template has no resource Queues",
        ),
        (
            "DependsOn: Queue\n    Properties: { MeshName",
            "DependsOn: Queues\n    Properties: { MeshName",
            "appmesh-undeclared-reference mesh shop: the template has no resource Queues",
        ),
        // A service of none of the two definitions.
        (
            "TaskDefinition: !Ref Report }",
            "TaskDefinition: !Ref Reports }",
            "ecs-undeclared-reference template.yaml: the template has no parameter or resource Reports",
        ),
        // A definition before another one that is not read, because its properties depend on a parameter.
        (
            "DependsOn: Queue\n    Properties: { Family: web, Cpu: 256, Memory: 512, ContainerDefinitions: [{ Name: web, Image: \"example/web:1\" }] }",
            "DependsOn: Queues\n    Properties: !If [IsTest, { Family: web }, { Family: shop }]",
            "ecs-undeclared-reference template.yaml: the template has no resource Queues",
        ),
    ] {
        assert!(TEMPLATE.contains(from), "{from}");
        assert_eq!(owners(&findings_in("template.yaml", &TEMPLATE.replacen(from, to, 1))), [owner], "{to}");
    }
}

#[test]
fn a_file_s_finding_is_ignored_and_counted_as_another() {
    // Given a template with only a service.
    let (head, services) = TEMPLATE.split_once("  Web:\n").unwrap();
    let services = services.split_once("  WebService:").unwrap().1.split_once("  ReportService:").unwrap().0;
    let summary = |comment: &str| {
        let service = services.replace("    Properties", &format!("    {comment}\n    Properties"));
        let template = format!("{head}  WebService:{service}");
        let folder = Folder::with(&[("template.yaml", template.as_bytes())]);
        report_of(&gathered(&[folder.path("template.yaml")])).summary()
    };
    // When nothing declares its definition, then the summary does not take the file for a definition or resource.
    assert_eq!(summary("# a service"), "1 error in 0 of 0 task definitions (1 file)");
    let comment = "# ecs-mesh: ignore[ecs-undeclared-reference] of another stack";
    assert_eq!(summary(comment), "no findings in 0 task definitions (1 file, 1 finding ignored)");
}

/// A service and a mesh in one module, and the definition in another file of it.
const MAIN: &str = r#"
locals { name = "web" }
module "network" {
  source = "./network"
  cidr   = "10.0.0.0/16"
}
resource "aws_ecs_service" "web" {
  name            = local.name
  task_definition = aws_ecs_task_definition.web.arn
}
resource "aws_appmesh_mesh" "shop" {
  name = "shop"
}
"#;

const TASK: &str = r#"
resource "aws_ecs_task_definition" "web" {
  family                = local.name
  container_definitions = jsonencode([{ name = "web", image = "example/web:1", memory = 512 }])
}
"#;

const NETWORK: &str = "variable \"cidr\" {}\n";

/// The owners in a module of these files, of which the `named` one is checked; all, if it is empty.
fn of_module(main: &str, task: &str, named: &str) -> Vec<String> {
    let files = [("main.tf", main), ("a_task.tf", task), ("network/main.tf", NETWORK)];
    let folder = Folder::with(&files.map(|(name, text)| (name, text.as_bytes())));
    let owners = owners(&audit(&gathered(&[folder.path(named)]).material));
    owners.iter().map(|owner| owner.replace(&format!("{}/", folder.path("")), "")).collect()
}

#[test]
fn a_module_s_references_belong_to_what_has_them() {
    assert_eq!(of_module(MAIN, TASK, ""), [""; 0]);
    for (from, to, owner) in [
        // The definition itself, its service, a mesh.
        (
            "web\" {\n  name            = local.name",
            "web\" {\n  name            = local.names",
            "ecs-undeclared-reference web: local.names is not declared",
        ),
        (
            "name = \"shop\"",
            "name = local.shop",
            "appmesh-undeclared-reference mesh aws_appmesh_mesh.shop: local.shop is not declared",
        ),
        (
            "= local.name\n",
            "= local.name\n  count = local.number\n",
            "ecs-undeclared-reference web: local.number is not declared",
        ),
        // A service of no definition, before a mesh.
        (
            "= aws_ecs_task_definition.web.arn",
            "= aws_ecs_task_definition.webs.arn",
            "ecs-undeclared-reference main.tf: aws_ecs_task_definition.webs is not declared",
        ),
        // The argument of a call.
        ("= \"10.0.0.0/16\"", "= local.cidr", "ecs-undeclared-reference main.tf: local.cidr is not declared"),
        ("  cidr   =", "  cidrs  =", "ecs-undeclared-reference main.tf: module.network has no variable cidrs"),
    ] {
        assert!(MAIN.contains(from), "{from}");
        assert_eq!(of_module(&MAIN.replacen(from, to, 1), TASK, ""), [owner], "{to}");
    }
}

#[test]
fn a_module_without_definitions_is_refused_as_well() {
    let without = MAIN.replace("aws_ecs_task_definition.web.arn", "\"web\"");
    let found = of_module(&without.replace("\"10.0.0.0/16\"", "local.cidr"), "", "");
    assert_eq!(found, ["ecs-undeclared-reference main.tf: local.cidr is not declared"]);
    // A module that has nothing of ECS is not the auditor's business.
    let network = "module \"network\" {\n  source = \"./network\"\n  cidr   = local.cidr\n}\n";
    assert_eq!(of_module(network, "", ""), [""; 0]);
}

#[test]
fn a_named_file_keeps_its_references_whatever_is_in_the_others() {
    let broken = MAIN.replace("= \"10.0.0.0/16\"", "= local.cidr");
    let found = ["ecs-undeclared-reference main.tf: local.cidr is not declared"];
    assert_eq!(of_module(&broken, TASK, "main.tf"), found);
    // A local value with which the definition of another file is read.
    let local = MAIN.replace("name = \"web\"", "name = local.other");
    let found = ["ecs-undeclared-reference main.tf: local.other is not declared"];
    assert_eq!(of_module(&local, TASK, "main.tf"), found);
    // What is wrong in the other file is not reported.
    let family = TASK.replace("local.name", "local.names");
    assert_eq!(of_module(MAIN, &family, "main.tf"), [""; 0]);
    assert_eq!(of_module(MAIN, &family, "a_task.tf").len(), 1);
    let service = broken
        .replace("local.cidr", "\"10.0.0.0/16\"")
        .replace("aws_ecs_task_definition.web", "aws_ecs_task_definition.webs");
    assert_eq!(of_module(&service, TASK, "a_task.tf"), [""; 0]);
}

#[test]
fn a_call_of_hashicorp_s_module_declares_the_definition() {
    let main = r#"
module "web" {
  source                = "hashicorp/consul-ecs/aws//modules/mesh-task"
  version               = "0.9.0"
  family                = local.family
  container_definitions = [{ name = "web", image = "example/web:1" }]
  port                  = 8080
  consul_server_hosts   = "consul.example"
}
"#;
    let found = of_module(main, "", "");
    assert_eq!(found, ["ecs-undeclared-reference module.web: local.family is not declared"]);
}
