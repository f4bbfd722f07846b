//! References to what a template or module does not declare. Each mistake has a harmless change next to it.

use audit::{
    audit,
    report::{Format, Medium},
};

use crate::{
    folder::Folder,
    inputs::gathered,
    reading::{findings_in, ids, is_of_every_definition, report_of},
};

const TEMPLATE: &str = r#"AWSTemplateFormatVersion: "2010-09-09"
Parameters:
  ClusterArn: { Type: String }
  Stage: { Type: String, Default: test }
Conditions:
  IsTest: !Equals [!Ref Stage, test]
Mappings:
  Sizes: { test: { Cpu: "256" }, live: { Cpu: "512" } }
Resources:
  Role:
    Type: AWS::IAM::Role
    Properties:
      AssumeRolePolicyDocument:
        Statement: [{ Effect: Allow, Principal: { Service: ecs-tasks.amazonaws.com }, Action: sts:AssumeRole }]
      ManagedPolicyArns:
        - !Sub arn:${AWS::Partition}:iam::aws:policy/service-role/AmazonECSTaskExecutionRolePolicy
      Policies:
        - PolicyName: secrets
          PolicyDocument:
            Statement: [{ Effect: Allow, Action: secretsmanager:GetSecretValue, Resource: !Ref Database }]
  Database:
    Type: AWS::SecretsManager::Secret
  Nested:
    Type: AWS::CloudFormation::Stack
    Properties: { TemplateURL: nested.yaml }
  Task:
    Type: AWS::ECS::TaskDefinition
    DependsOn: Nested
    Properties:
      Family: !Sub "web-${Stage}"
      Cpu: !FindInMap [Sizes, !Ref Stage, Cpu]
      Memory: 512
      ExecutionRoleArn: !GetAtt Role.Arn
      ContainerDefinitions:
        - Name: web
          Image: !Sub ["example/web:${Tag}", { Tag: !If [IsTest, edge, stable] }]
          Command: [!Sub "echo ${!HOME} ${AWS::Region}"]
          Environment: [{ Name: TOPIC, Value: !GetAtt Nested.Outputs.Topic }]
          Secrets: [{ Name: PASSWORD, ValueFrom: !Ref Database }]
  Service:
    Type: AWS::ECS::Service
    Condition: IsTest
    Properties:
      Cluster: !Ref ClusterArn
      TaskDefinition: !Ref Task
"#;

#[test]
fn a_template_declares_what_its_definitions_and_services_name() {
    assert_eq!(ids(&findings_in("template.yaml", TEMPLATE)), [""; 0]);
    for (from, to, message) in [
        ("!Ref ClusterArn", "!Ref Cluster", "the template has no parameter or resource Cluster"),
        ("!GetAtt Role.Arn", "!GetAtt Roles.Arn", "the template has no resource Roles"),
        ("!GetAtt Role.Arn", "!Sub ${Roles.Arn}", "the template has no resource Roles"),
        ("!GetAtt Role.Arn", "!GetAtt Role.ARN", "Role is an AWS::IAM::Role, which has no attribute ARN"),
        (
            "ValueFrom: !Ref Database",
            "ValueFrom: !GetAtt Database.Arn",
            "Database is an AWS::SecretsManager::Secret, which has no attribute Arn",
        ),
        ("ValueFrom: !Ref Database", "ValueFrom: !GetAtt Database.Id", ""),
        // An attribute of next year.
        ("ValueFrom: !Ref Database", "ValueFrom: !GetAtt Database.Version", ""),
        ("web-${Stage}", "web-${Stages}", "the template has no parameter or resource Stages"),
        ("web-${Stage}", "web-${!Stages}", ""),
        ("example/web:${Tag}", "example/web:${Tags}", "the template has no parameter or resource Tags"),
        ("[IsTest, edge", "[IsTests, edge", "the template has no condition IsTests"),
        ("Condition: IsTest", "Condition: Test", "the template has no condition Test"),
        ("DependsOn: Nested", "DependsOn: [Nested, Role, Rule]", "the template has no resource Rule"),
        ("DependsOn: Nested", "DependsOn: [Nested, Role]", ""),
        ("[Sizes, !Ref Stage, Cpu]", "[Size, !Ref Stage, Cpu]", "the template has no mapping Size"),
        // The keys may be chosen at deployment.
        ("[Sizes, !Ref Stage, Cpu]", "[Sizes, !Ref Stage, !Ref Stage]", ""),
        ("Default: test", "Default: none", ""),
        // What another program completes.
        ("!Ref ClusterArn", "!Ref \"{{ cluster }}\"", ""),
        ("!Ref ClusterArn", "!Ref AWS::StackName", ""),
        ("${AWS::Region}", "${AWS::Regions}", "CloudFormation has no parameter AWS::Regions"),
        ("${AWS::Region}", "${AWS::Nonsense}", "CloudFormation has no parameter AWS::Nonsense"),
        // A text may be a template itself.
        ("!Sub \"echo ${!HOME} ${AWS::Region}\"", "\"echo '${AWS::Region}'\"", ""),
        // One missing name is one finding.
        (
            "Command: [!Sub",
            "Command: [!Ref Topics, !Ref Topics, !Sub",
            "the template has no parameter or resource Topics",
        ),
    ] {
        assert!(TEMPLATE.contains(from), "{from}");
        let found = findings_in("template.yaml", &TEMPLATE.replacen(from, to, 1));
        let messages: Vec<&str> = found.iter().map(|finding| finding.message.as_str()).collect();
        assert_eq!(messages.join(" "), message, "{from} → {to}");
        assert!(found.iter().all(|finding| finding.rule.id == "ecs-undeclared-reference"), "{from} → {to}");
    }
}

#[test]
fn a_misspelt_name_has_a_suggestion() {
    for (from, to, help) in [
        ("!Ref ClusterArn", "!Ref ClusterAm", "did you mean ClusterArn?"),
        ("!Ref ClusterArn", "!Ref Vpc", "declare it, or correct the name"),
        ("${AWS::Region}", "${AWS::Regions}", "did you mean AWS::Region?"),
        ("${AWS::Region}", "${AWS::Nonsense}", "use one of AWS's pseudo parameters"),
    ] {
        let found = findings_in("template.yaml", &TEMPLATE.replacen(from, to, 1));
        assert_eq!(found.iter().map(|finding| finding.help.as_str()).collect::<Vec<_>>(), [help], "{to}");
    }
}

#[test]
fn no_format_quotes_a_password_that_became_a_reference() {
    for (from, to) in [
        ("Value: !GetAtt Nested.Outputs.Topic", "Value: !Ref hunter2secret"),
        ("Value: !GetAtt Nested.Outputs.Topic", "Value: !Sub \"${hunter2secret}\""),
        ("Value: !GetAtt Nested.Outputs.Topic", "Value: !GetAtt hunter2secret.Arn"),
        ("Value: !GetAtt Nested.Outputs.Topic", "Value: !Join [\"\", [a, !Ref hunter2secret]]"),
    ] {
        // Given a password without quotes in a variable that sounds like one.
        let template = TEMPLATE.replacen("Name: TOPIC", "Name: DB_PASSWORD", 1).replacen(from, to, 1);
        let folder = Folder::with(&[("template.yaml", template.as_bytes())]);
        let report = report_of(&gathered(&[folder.path("")]));
        // Then it is found, and no format has it.
        assert_eq!(report.findings.len(), 1, "{to}");
        for format in Format::ALL {
            let text = report.render(format, Medium::default()).unwrap();
            assert!(!text.contains("hunter2secret"), "{to}: {text}");
        }
        // A name in another variable is no secret.
        let other = findings_in("template.yaml", &TEMPLATE.replacen(from, to, 1));
        assert!(other.iter().all(|finding| finding.message.ends_with(" hunter2secret")), "{to}");
    }
}

#[test]
fn a_password_without_quotes_is_not_why_containers_are_unknown() {
    let main = r#"
variable "more" {}
resource "aws_ecs_task_definition" "web" {
  family                = "web"
  container_definitions = jsonencode(concat(hunter2secret, var.more))
}
"#;
    let folder = Folder::with(&[("main.tf", main.as_bytes())]);
    let unchecked = gathered(&[folder.path("")]).unchecked;
    let reasons: Vec<&str> = unchecked.iter().map(|problem| problem.reason.as_str()).collect();
    assert!(reasons[0].contains("because a name is used that is no reference"), "{reasons:?}");
    assert!(!reasons[0].contains("hunter2secret"), "{reasons:?}");
}

#[test]
fn a_macro_may_complete_a_resource() {
    let of = |head: &str, kind: &str| {
        let template =
            format!("AWSTemplateFormatVersion: \"2010-09-09\"\n{head}Resources:\n  Web:\n    Type: {kind}\n");
        let folder = Folder::with(&[("template.yaml", template.as_bytes())]);
        gathered(&[folder.path("template.yaml")]).problems.len()
    };
    for kind in ["AWS::ECS::TaskDefinition", "AWS::ECS::Services", "AWS::AppMesh::Meshes"] {
        assert_eq!(of("", kind), 1, "{kind}");
        for head in
            ["Transform: Own\n", "Transform: [AWS::LanguageExtensions, Own]\n", "Rain: {}\n", "Fn::Include: a.yaml\n"]
        {
            assert_eq!(of(head, kind), 0, "{head}{kind}");
        }
    }
    // The properties may be those of another program as well.
    for properties in ["!Include task.yaml", "{ Fn::Transform: { Name: Own } }", "{ Family: web }"] {
        let kind = format!("AWS::ECS::TaskDefinition\n    Properties: {properties}");
        assert_eq!(of("Transform: Own\n", &kind), 0, "{kind}");
    }
}

#[test]
fn a_template_that_another_program_completes_may_have_more() {
    let broken = TEMPLATE.replace("!Ref ClusterArn", "!Ref Cluster");
    assert_eq!(ids(&findings_in("template.yaml", &broken)), ["ecs-undeclared-reference"]);
    for (from, to, is_found) in [
        ("Parameters:\n", "Transform: AWS::Serverless-2016-10-31\nParameters:\n", false),
        ("Parameters:\n", "Transform: [AWS::LanguageExtensions, Own]\nParameters:\n", false),
        ("Parameters:\n", "Transform: AWS::LanguageExtensions\nParameters:\n", true),
        (
            "Resources:\n",
            "Resources:\n  Fn::Transform: { Name: AWS::Include, Parameters: { Location: s3://b/k } }\n",
            false,
        ),
        ("Resources:\n", "Resources:\n  Network:\n    Type: Own::Network::Vpc::MODULE\n", false),
        ("AWSTemplateFormatVersion: \"2010-09-09\"\n", "", false),
        // Programs with sections, functions and variables of their own.
        ("Parameters:\n", "Modules: { Content: { Source: ./m.yaml } }\nParameters:\n", false),
        ("Parameters:\n", "Rain: { Own: true }\nParameters:\n", false),
        ("Parameters:\n", "Parameters:\n  Fn::Include: parameters.yaml\n", false),
        ("Parameters:\n", "Fn::Include: more.yaml\nParameters:\n", false),
        (
            "Mappings:\n  Sizes: { test: { Cpu: \"256\" }, live: { Cpu: \"512\" } }\n",
            "Mappings: !Include sizes.yaml\n",
            false,
        ),
        ("Mappings:\n", "Outputs: !Rain::Include outputs.yaml\nMappings:\n", false),
        ("{ Type: String, Default: test }", "!Include stage.yaml", false),
        ("Image: !Sub", "User: \"${self:custom.user}\"\n          Image: !Sub", false),
        ("Image: !Sub", "User: \"${opt:user, 'root'}\"\n          Image: !Sub", false),
        ("Image: !Sub", "User: \"${env:USER}\"\n          Image: !Sub", false),
        // A variable of a shell.
        ("Image: !Sub", "User: \"${USER:-root}\"\n          Image: !Sub", true),
    ] {
        assert!(broken.contains(from), "{from}");
        let found = ids(&findings_in("template.yaml", &broken.replacen(from, to, 1)));
        assert_eq!(found.contains(&"ecs-undeclared-reference"), is_found, "{to}");
    }
}

const MODULE: &str = r#"
variable "stage" { default = "test" }
locals {
  name  = "web-${var.stage}"
  ports = { http = 8080 }
}
resource "aws_iam_role" "task" {
  count              = 1
  assume_role_policy = "{}"
}
data "aws_region" "current" {}
module "image" {
  source = "./image"
  tag    = "1.4.2"
}
resource "aws_ecs_task_definition" "web" {
  family        = local.name
  task_role_arn = aws_iam_role.task[0].arn
  container_definitions = jsonencode([{
    name         = "web"
    image        = module.image.name
    command      = [templatefile("${path.module}/run.tpl", { port = local.ports.http })]
    environment  = [for name, value in { REGION = data.aws_region.current.name } : { name = name, value = value }]
    portMappings = [for name, port in local.ports : { containerPort = port }]
  }])
}
"#;

const IMAGE: &str = r#"
variable "tag" {}
output "name" { value = "example/web:${var.tag}" }
"#;

const TEMPLATE_FILE: &str = "serve --port ${port}%{ for item in [1, 2] } ${item}%{ endfor }";

fn of_module(from: &str, to: &str) -> String {
    let [main, image, template] = [MODULE, IMAGE, TEMPLATE_FILE].map(|text| text.replacen(from, to, 1));
    assert!([MODULE, IMAGE, TEMPLATE_FILE].iter().any(|text| text.contains(from)), "{from}");
    let files = [("main.tf", main.as_bytes()), ("image/main.tf", image.as_bytes()), ("run.tpl", template.as_bytes())];
    let folder = Folder::with(&files);
    let found = audit(&gathered(&[folder.path("")]).material);
    let found = found.iter().filter(|finding| !is_of_every_definition(finding.rule.id));
    let lines = found.map(|finding| format!("{}:{}", finding.rule.id, finding.message));
    lines.collect::<Vec<_>>().join("\n").replace("ecs-undeclared-reference:", "")
}

#[test]
fn a_module_declares_what_its_definitions_name() {
    assert_eq!(of_module("variable", "variable"), "");
    for (from, to, message) in [
        ("= local.name", "= local.names", "local.names is not declared"),
        ("web-${var.stage}", "web-${var.stages}", "var.stages is not declared"),
        ("= aws_iam_role.task[0].arn", "= aws_iam_role.tasks.arn", "aws_iam_role.tasks is not declared"),
        (
            "= aws_iam_role.task[0].arn",
            "= aws_iam_role.task.arns",
            "the attribute arns of aws_iam_role.task is not declared",
        ),
        ("= aws_iam_role.task[0].arn", "= one(aws_iam_role.task).arn", ""),
        // An attribute of next year.
        ("= aws_iam_role.task[0].arn", "= aws_iam_role.task.session_arn", ""),
        ("data.aws_region.current.name", "data.aws_region.here.name", "data.aws_region.here is not declared"),
        ("= module.image.name", "= module.images.name", "module.images is not declared"),
        ("= module.image.name", "= module.image.names", "module.image.names is not declared"),
        (
            "  tag    =",
            "  tags   =",
            "var.tag has no value: the call of its module does not set it\nmodule.image has no variable tags",
        ),
        ("{ port = local", "{ ports = local", "the template uses port, which the call does not pass"),
        // Only a map that the call writes itself shows all names.
        ("{ port = local.ports.http })", "merge({ item = local.ports.http }, {}))", ""),
        ("port ${port}", "port ${port.http}", ""),
        ("port ${port}", "port ${ports.http}", "the template uses ports, which the call does not pass"),
        // A failing template is an argument of try as well as any other.
        (
            "[templatefile(\"${path.module}/run.tpl\", { port = local.ports.http })]",
            "[try(templatefile(\"${path.module}/run.tpl\", {}), \"serve\")]",
            "",
        ),
        ("= local.name", "= terraform.workspace", ""),
    ] {
        assert_eq!(of_module(from, to), message, "{from} → {to}");
    }
}

#[test]
fn a_module_of_which_a_file_is_missing_may_declare_more() {
    let broken = MODULE.replace("= local.name\n", "= local.names\n");
    let of = |files: &[(&str, &[u8])]| {
        let folder = Folder::with(files);
        ids(&audit(&gathered(&[folder.path("")]).material)).contains(&"ecs-undeclared-reference")
    };
    let main = ("main.tf", broken.as_bytes());
    let others: [(&str, &[u8]); 2] = [("image/main.tf", IMAGE.as_bytes()), ("run.tpl", TEMPLATE_FILE.as_bytes())];
    assert!(of(&[main, others[0], others[1]]));
    // A file that is no Terraform, one that Terragrunt generates, an override that declares it, and Terraform's JSON.
    assert!(!of(&[main, others[0], others[1], ("more.tf", b"locals {")]));
    assert!(!of(&[main, others[0], others[1], ("terragrunt.hcl", b"")]));
    assert!(!of(&[main, others[0], others[1], ("live/terragrunt.hcl", b"")]));
    assert!(!of(&[main, others[0], others[1], ("root.hcl", b"")]));
    assert!(!of(&[main, others[0], others[1], ("terragrunt.stack.hcl", b"")]));
    assert!(!of(&[main, others[0], others[1], ("stack.tm.hcl", b"")]));
    assert!(of(&[main, others[0], others[1], (".terraform.lock.hcl", b""), ("live/web.hcl", b"")]));
    assert!(!of(&[main, others[0], others[1], ("more_override.tf", b"locals { names = 1 }")]));
    assert!(!of(&[main, others[0], others[1], ("more.tf.json", br#"{"locals": {"names": "web"}}"#)]));
    // Next to the modules and between them and the directory, which a glob does not match.
    for (generator, glob) in [
        ("web/stack.tm.hcl", "*/main.tf"),
        ("web/root.hcl", "*/main.tf"),
        ("live/terragrunt.hcl", "*/*/main.tf"),
        ("other/stack.tm.hcl", "*/*/main.tf"),
    ] {
        let files =
            [(generator, b"".as_slice()), ("web/main.tf", broken.as_bytes()), ("live/web/main.tf", broken.as_bytes())];
        let found = audit(&gathered(&[Folder::with(&files).path(glob)]).material);
        assert_eq!(ids(&found).contains(&"ecs-undeclared-reference"), generator.starts_with("other"), "{generator}");
    }
    // Above the module.
    for name in ["terragrunt.hcl", "terragrunt.stack.hcl", "globals.tm.hcl"] {
        let folder = Folder::with(&[(name, b"".as_slice()), ("web/main.tf", broken.as_bytes())]);
        let found = ids(&audit(&gathered(&[folder.path("web")]).material));
        assert!(!found.contains(&"ecs-undeclared-reference"), "{name}");
    }
    // An excerpt lacks many names.
    let excerpt = MODULE.replace("locals {", "locals_of_another_file {").replace("= module.image.name", "= var.image");
    assert!(!of(&[("main.tf", excerpt.as_bytes()), others[1]]));
    // The text of an editor has no other files.
    assert_eq!(ids(&findings_in("main.tf", &broken)), [""; 0]);
}

/// A template whose configuration has lost its `!Sub`.
const WITHOUT_SUB: &str = r#"AWSTemplateFormatVersion: "2010-09-09"
Parameters:
  ServiceName: { Type: String, Default: web }
Resources:
  Role:
    Type: AWS::IAM::Role
    Properties:
      Path: /consul-ecs/
      Tags: [{ Key: consul.hashicorp.com.service-name, Value: !Ref ServiceName }]
      AssumeRolePolicyDocument: {}
  Web:
    Type: AWS::ECS::TaskDefinition
    Properties:
      Family: !Ref ServiceName
      NetworkMode: awsvpc
      TaskRoleArn: !GetAtt Role.Arn
      Volumes: [{ Name: consul_data }]
      Tags: [{ Key: consul.hashicorp.com/mesh, Value: "true" }]
      ContainerDefinitions:
        - Name: consul-ecs-mesh-init
          Image: public.ecr.aws/hashicorp/consul-ecs:0.10.1
          Essential: false
          Command: [mesh-init]
          Environment:
            - Name: CONSUL_ECS_CONFIG_JSON
              Value: |
                {
                  "consulLogin": { "enabled": true },
                  "consulServers": { "hosts": "consul.example.internal" },
                  "service": { "name": "${ServiceName}", "port": 9090 },
                  "transparentProxy": { "enabled": false }
                }
            - { Name: GREETING, Value: "Hello ${ServiceName}" }
          MountPoints: [{ SourceVolume: consul_data, ContainerPath: /consul }]
"#;

#[test]
fn a_lost_sub_is_one_finding_at_its_value() {
    let of = |text: &str| {
        let found = findings_in("template.yaml", text);
        let about = ["ecs-sub-missing", "consul-service-name", "consul-task-role-tags", "consul-service-name-tag"];
        let found = found.iter().filter(|finding| about.contains(&finding.rule.id));
        found.map(|finding| (finding.file.position(finding.span.start).line, finding.rule.id)).collect::<Vec<_>>()
    };
    assert_eq!(of(WITHOUT_SUB), [(30, "ecs-sub-missing")]);
    for (from, to) in [
        ("Value: |", "Value: !Sub |"),
        // Another program may replace them.
        ("\"${ServiceName}\", \"port\"", "\"${SERVICE}\", \"port\""),
        ("Parameters:\n", "Transform: Own\nParameters:\n"),
        ("Parameters:\n", "Transform: [AWS::LanguageExtensions, Own]\nParameters:\n"),
        // A text that `Fn::Sub` writes.
        ("Value: |", "Value: !Sub |\n                {\"service\": {\"name\": \"${!ServiceName}\"}}"),
    ] {
        assert!(WITHOUT_SUB.contains(from), "{from}");
        assert_eq!(of(&WITHOUT_SUB.replacen(from, to, 1)), [], "{from} → {to}");
    }
    for (from, to, line) in [
        ("Value: !Ref ServiceName", "Value: \"${ServiceName}\"", 9),
        ("Path: /consul-ecs/", "Path: \"/${AWS::StackName}/\"", 8),
        ("Family: !Ref ServiceName", "Family: \"${ServiceName}\"", 14),
        ("consul-ecs:0.10.1", "consul-ecs:${ServiceName}", 21),
    ] {
        let text = WITHOUT_SUB.replacen("Value: |", "Value: !Sub |", 1);
        assert!(text.contains(from), "{from}");
        assert_eq!(of(&text.replacen(from, to, 1)), [(line, "ecs-sub-missing")], "{from} → {to}");
    }
    // In ECS's JSON, it is a placeholder.
    let json = r#"{"family": "web", "containerDefinitions": [{"name": "web", "image": "example/web:${TAG}"}]}"#;
    assert_eq!(ids(&findings_in("task.json", json)), [""; 0]);
}
