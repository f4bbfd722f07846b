//! Directories as users write them: several files, modules, and values that only a plan knows.

use super::case::Then::{self, Found, Noted, Refused, Silent};
use crate::folder::Folder;

/// What a directory shows, its files, and what it leads to. `@` is the container that waits for a missing one.
type Directory = (&'static str, &'static [(&'static str, &'static str)], Then);

const CONTAINER: &str =
    r#"{ name = "web", image = "example/web:1", dependsOn = [{ containerName = "db", condition = "START" }] }"#;

/// The same in JSON.
const JSON: &str =
    r#"[{"name": "web", "image": "example/web:1", "dependsOn": [{"containerName": "db", "condition": "START"}]}]"#;

/// A task definition whose containers are in a file that its caller names.
const OF_FILE: &str = "variable \"file\" {}\nresource \"aws_ecs_task_definition\" \"web\" {\n  family = \"web\"\n  container_definitions = file(var.file)\n}\n";

/// A service of which there are several.
const SERVICE: &str = r#"
variable "name" { type = string }
variable "port" {
  type    = number
  default = 8080
}
variable "environment" {
  type    = map(string)
  default = {}
}
locals {
  container = {
    name         = var.name
    image        = "example/${var.name}:1"
    portMappings = [{ containerPort = var.port }]
    environment  = [for name, value in var.environment : { name = name, value = value }]
    dependsOn    = [{ containerName = "db", condition = "START" }]
  }
}
resource "aws_ecs_task_definition" "this" {
  family                = var.name
  container_definitions = jsonencode([local.container])
}
output "arn" { value = aws_ecs_task_definition.this.arn }
"#;

#[rustfmt::skip]
const DIRECTORIES: &[Directory] = &[
    ("a module for each service", &[("modules/service/main.tf", SERVICE), ("main.tf", r#"
locals {
  services = { web = { port = 80, environment = { A = 1 } }, worker = { port = 81, environment = {} } }
}
module "service" {
  source      = "./modules/service"
  for_each    = local.services
  name        = each.key
  port        = each.value.port
  environment = each.value.environment
}
resource "aws_ecs_service" "all" {
  for_each        = local.services
  task_definition = module.service[each.key].arn
}
"#)], Found("modules/service/main.tf", 17)),
    ("a file whose path the caller passes", &[("tasks/web.json", JSON), ("m/main.tf", OF_FILE), ("main.tf", "module \"web\" {\n  source = \"./m\"\n  file = \"${path.module}/tasks/web.json\"\n}")], Found("m/main.tf", 4)),
    ("a file below the root module", &[("tasks/web.json", JSON), ("m/main.tf", OF_FILE), ("main.tf", "module \"web\" {\n  source = \"./m\"\n  file = \"${path.root}/tasks/web.json\"\n}")], Found("m/main.tf", 4)),
    ("a path without a directory begins at the root module", &[("web.json", JSON), ("m/main.tf", OF_FILE), ("main.tf", "module \"web\" {\n  source = \"./m\"\n  file = \"web.json\"\n}")], Found("m/main.tf", 4)),
    ("a template of the module that uses it", &[("m/web.json", JSON), ("m/main.tf", "resource \"aws_ecs_task_definition\" \"web\" {\n  family = \"web\"\n  container_definitions = templatefile(\"${path.module}/web.json\", {})\n}\n"), ("main.tf", "module \"web\" {\n  source = \"./m\"\n}")], Found("m/main.tf", 3)),
    ("a template with loops and conditions", &[("web.json.tpl", r#"[
  %{ for name, image in apps ~}
  {
    "name": "${name}",
    "image": "${image}",
    "environment": [%{ for key, value in environment }{"name": "${key}", "value": "${value}"}, %{ endfor }{"name": "LAST", "value": ""}],
    "dependsOn": %{ if name == "web" }[{"containerName": "db", "condition": "START"}]%{ else }[]%{ endif }
  }
  %{~ endfor ~}
]"#), ("main.tf", "resource \"aws_ecs_task_definition\" \"web\" {\n  family = \"web\"\n  container_definitions = templatefile(\"web.json.tpl\", { apps = { web = \"x:1\" }, environment = { A = \"1\", B = \"2\" } })\n}\n")], Found("main.tf", 3)),
    ("a heredoc with values that only a plan knows", &[("main.tf", r#"
variable "tag" {}
resource "aws_ecs_task_definition" "web" {
  family                = "web-${terraform.workspace}"
  container_definitions = <<-DEFINITION
    [
      {
        "name": "web",
        "image": "${data.aws_ecr_repository.web.repository_url}:${var.tag}",
        "environment": [{"name": "STAGE", "value": "${terraform.workspace}"}],
        "dependsOn": [{"containerName": "db", "condition": "START"}]
      }
    ]
  DEFINITION
}
"#)], Found("main.tf", 11)),
    ("a heredoc with the line ends of Windows and a byte order mark", &[("main.tf", "\u{FEFF}resource \"aws_ecs_task_definition\" \"web\" {\r\n  family = \"web\"\r\n  container_definitions = <<-EOF\r\n    [{\"name\": \"web\", \"image\": \"x:1\",\r\n      \"dependsOn\": [{\"containerName\": \"db\", \"condition\": \"START\"}]}]\r\n  EOF\r\n}\r\n")], Found("main.tf", 5)),
    ("a workspace that selects a value", &[("main.tf", "locals {\n  images = { default = \"a:1\", prod = \"b:1\" }\n}\nresource \"aws_ecs_task_definition\" \"web\" {\n  family = \"web\"\n  container_definitions = jsonencode([merge(@, { image = local.images[terraform.workspace] })])\n}\n")], Found("main.tf", 6)),
    ("a workspace that selects containers", &[("main.tf", "locals {\n  is_prod = terraform.workspace == \"prod\"\n  all = concat([@], local.is_prod ? [{ name = \"db\", image = \"x:1\" }] : [])\n}\nresource \"aws_ecs_task_definition\" \"web\" {\n  family = \"web\"\n  container_definitions = jsonencode(local.all)\n}\n")], Silent),
    ("a default that lookup does not need", &[("main.tf", "variable \"other\" {}\nlocals {\n  names = { web = \"db\" }\n}\nresource \"aws_ecs_task_definition\" \"web\" {\n  family = format(\"%s-%s\", \"web\", \"main\")\n  container_definitions = jsonencode([{ name = \"web\", image = coalesce(null, \"\", \"x:1\"), dependsOn = [for name in compact([lookup(local.names, \"web\", var.other), \"\"]) : { containerName = name, condition = \"START\" }] }])\n}\n")], Found("main.tf", 3)),
    ("optional attributes of an object", &[("m/main.tf", "variable \"containers\" {\n  type = list(object({\n    name = string\n    image = optional(string, \"x:1\")\n    dependsOn = optional(list(object({ containerName = string, condition = optional(string, \"START\") })), [])\n  }))\n}\nresource \"aws_ecs_task_definition\" \"web\" {\n  family = \"web\"\n  container_definitions = jsonencode(var.containers)\n}\n"), ("main.tf", "module \"web\" {\n  source = \"./m\"\n  containers = [{ name = \"web\", dependsOn = [{ containerName = \"db\" }] }]\n}")], Found("m/main.tf", 10)),
    ("the items of a set are in their order", &[("main.tf", "locals {\n  names = tolist(toset([\"web\", \"db\", \"api\"]))\n}\nresource \"aws_ecs_task_definition\" \"web\" {\n  family = \"web\"\n  container_definitions = jsonencode([{ name = \"web\", image = \"x:1\", dependsOn = local.names[0] == \"api\" ? @.dependsOn : [] }])\n}\n")], Found("main.tf", 6)),
    ("the keys of a map are in their order", &[("main.tf", "locals {\n  names = [for name, value in { web = 1, api = 2 } : name]\n}\nresource \"aws_ecs_task_definition\" \"web\" {\n  family = \"web\"\n  container_definitions = jsonencode([{ name = \"web\", image = \"x:1\", dependsOn = local.names[0] == \"api\" ? @.dependsOn : [] }])\n}\n")], Found("main.tf", 6)),
    ("a block that is disabled", &[("main.tf", "variable \"enabled\" {\n  type = bool\n  default = false\n}\nresource \"aws_ecs_task_definition\" \"web\" {\n  count = var.enabled ? 1 : 0\n  family = \"web\"\n  container_definitions = jsonencode([@])\n}\nresource \"aws_ecs_service\" \"web\" {\n  count = var.enabled ? 1 : 0\n  task_definition = aws_ecs_task_definition.web[0].arn\n}\n")], Silent),
    ("blocks that OpenTofu does not create", &[("main.tf", "variable \"enabled\" {\n  type = bool\n  default = false\n}\nresource \"aws_ecs_task_definition\" \"web\" {\n  family = \"web\"\n  container_definitions = jsonencode([@])\n  lifecycle {\n    enabled = var.enabled\n  }\n}\nmodule \"api\" {\n  source = \"./m\"\n  lifecycle {\n    enabled = false\n  }\n}\n"), ("m/main.tf", "resource \"aws_ecs_task_definition\" \"web\" {\n  family = \"web\"\n  container_definitions = jsonencode([@])\n}\n")], Silent),
    ("a block that OpenTofu may create", &[("main.tf", "variable \"enabled\" {}\nresource \"aws_ecs_task_definition\" \"web\" {\n  family = \"web\"\n  container_definitions = jsonencode([@])\n  lifecycle {\n    enabled = var.enabled\n  }\n}\n")], Found("main.tf", 4)),
    ("blocks that are of no interest, and unusual blanks", &[("main.tf", "\tresource\t\"aws_ecs_task_definition\"   web\t{\n\n\t\tfamily=   \"web\"\n /* c */ container_definitions=jsonencode( // x\n[\n# y\n@\n,\n]\n)\n lifecycle { ignore_changes = [container_definitions] }\n}"), ("moved.tf", "moved {\n  from = a.b\n  to = c.d\n}\nimport {\n  to = a.b\n  id = \"x\"\n}\nremoved {\n  from = x.y\n}\nterraform {\n  required_version = \">= 1.5\"\n}\n"), ("empty.tf", ""), ("empty.tf.json", "{}")], Found("main.tf", 7)),
    ("a module in JSON", &[("main.tf.json", "{\"module\": {\"web\": {\"source\": \"./m\", \"on\": \"db\"}}}"), ("m/main.tf.json", "{\"variable\": {\"on\": {\"type\": \"string\"}}, \"resource\": {\"aws_ecs_task_definition\": {\"web\": [{\"family\": \"web\",\n\"container_definitions\": \"[{\\\"name\\\": \\\"web\\\", \\\"image\\\": \\\"x:1\\\", \\\"dependsOn\\\": [{\\\"containerName\\\": \\\"${var.on}\\\", \\\"condition\\\": \\\"START\\\"}]}]\"}]}}}")], Found("m/main.tf.json", 2)),
    ("a function that is not computed decides which instances there are", &[("tasks/web.json", JSON), ("main.tf", "resource \"aws_ecs_task_definition\" \"web\" {\n  for_each = fileset(path.module, \"tasks/*.json\")\n  family = each.key\n  container_definitions = file(each.key)\n}\n")], Noted("main.tf:2:14: aws_ecs_task_definition.web: its containers are not known because the function fileset is not computed")),
    ("a resource without its containers", &[("main.tf", "resource \"aws_ecs_task_definition\" \"web\" { family = \"web\" }")], Noted("because it has no container_definitions")),
    ("a module whose input has no value", &[("m/main.tf", "variable \"all\" {}\nresource \"aws_ecs_task_definition\" \"web\" {\n  family = \"web\"\n  container_definitions = jsonencode(var.all)\n}\n"), ("main.tf", "variable \"all\" {}\nmodule \"web\" {\n  source = \"./m\"\n  all = var.all\n}\n")], Noted("main.tf:4:9: module.web.aws_ecs_task_definition.web: its containers are not known because var.all has no value")),
    ("an address of two resources", &[("a.tf", "resource \"aws_ecs_task_definition\" \"web\" {\n  family = \"web\"\n  container_definitions = jsonencode([])\n}\n"), ("b.tf", "resource \"aws_ecs_task_definition\" \"web\" {\n  family = \"web\"\n  container_definitions = jsonencode([])\n}\n")], Refused("b.tf:1:36: aws_ecs_task_definition.web is already declared")),
    ("an address of two resources that have nothing to do with ECS", &[("main.tf", "resource \"aws_ecs_task_definition\" \"web\" {\n  family = \"web\"\n  container_definitions = jsonencode([])\n}\nresource \"aws_security_group\" \"web\" {}\nresource \"aws_security_group\" \"web\" {}\n")], Silent),
    ("a name of two variables", &[("a.tf", "variable \"a\" {}\nvariable \"a\" {}\nresource \"aws_ecs_service\" \"a\" {\n}\n")], Refused("a.tf:2:10: var.a is already declared")),
    ("a local value in a file that cannot be read", &[("broken.tf", "locals {\n  all = [\n"), ("main.tf", "resource \"aws_ecs_task_definition\" \"web\" {\n  family = \"web\"\n  container_definitions = jsonencode(local.all)\n}\n")], Refused("broken.tf:2:10: not Terraform's language")),
    ("a module that calls itself", &[("main.tf", "module \"a\" {\n  source = \"./\"\n  count = 9\n}\nmodule \"b\" {\n  source = \"./m\"\n}\n"), ("m/main.tf", "module \"c\" {\n  source = \"../\"\n}\nresource \"aws_ecs_task_definition\" \"web\" {\n  family = \"web\"\n  container_definitions = jsonencode([])\n}\n")], Noted("m/main.tf:1:8: module.b.module.c: it calls itself")),
    ("a module of an unknown version", &[("main.tf", "module \"web\" {\n  source = \"hashicorp/consul-ecs/aws//modules/mesh-task\"\n  version = \"~> 1.1\"\n}")], Noted("its version ~> 1.1 is unknown (known: ")),
    ("a module of a branch", &[("main.tf", "module \"web\" {\n  source = \"git::https://github.com/hashicorp/terraform-aws-consul-ecs.git//modules/mesh-task?ref=main\"\n}")], Noted("its version main is unknown (known: ")),
    ("a module of another registry", &[("main.tf", "module \"web\" {\n  source = \"cloudposse/ecs-container-definition/aws\"\n  container_name = \"web\"\n}\nresource \"aws_ecs_task_definition\" \"web\" {\n  family = \"web\"\n  container_definitions = module.web.json_map_encoded_list\n}\n")], Noted("because module.web.json_map_encoded_list is known only to Terraform")),
];

#[test]
fn every_directory_is_judged_or_named() {
    for (shows, files, then) in DIRECTORIES {
        let files: Vec<(&str, String)> =
            files.iter().map(|(name, text)| (*name, text.replace('@', CONTAINER))).collect();
        let files: Vec<(&str, &[u8])> = files.iter().map(|(name, text)| (*name, text.as_bytes())).collect();
        then.is_what(&Folder::with(&files), shows);
    }
}

#[test]
fn what_an_unreadable_file_may_declare_is_not_called_undeclared() {
    let main = "resource \"aws_ecs_task_definition\" \"web\" {\n  family = \"web\"\n  container_definitions = jsonencode(local.all)\n}\n";
    let folder = Folder::with(&[("main.tf", main.as_bytes()), ("broken.tf", b"locals {\n  all = [\n")]);
    let unchecked: Vec<String> = super::case::read(&folder).unchecked.iter().map(ToString::to_string).collect();
    assert!(unchecked[0].contains("local.all is not declared in the files that could be read"), "{unchecked:?}");
}
