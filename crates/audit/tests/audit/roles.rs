//! The roles of a task that the input declares: who may assume them, and what ECS, the login and the controller need of them.
//! Each mistake has a harmless change next to it.

use audit::audit;
use serde_json::{Map, Value, json};

use crate::{
    folder::Folder,
    inputs::gathered,
    reading::{findings_in, ids},
};

const TEMPLATE: &str = r#"Resources:
  TaskRole:
    Type: AWS::IAM::Role
    Properties:
      RoleName: web-task
      Path: /consul-ecs/
      AssumeRolePolicyDocument:
        Version: "2012-10-17"
        Statement:
          - Effect: Allow
            Principal: { Service: ecs-tasks.amazonaws.com }
            Action: sts:AssumeRole
      Tags: [{ Key: consul.hashicorp.com.service-name, Value: web }]
      Policies:
        - PolicyName: login
          PolicyDocument:
            Statement:
              - { Effect: Allow, Action: iam:GetRole, Resource: !Sub "arn:aws:iam::${AWS::AccountId}:role/consul-ecs/web-task" }
              - { Effect: Allow, Action: "ssmmessages:*", Resource: "*" }
  ExecutionRole:
    Type: AWS::IAM::Role
    Properties:
      AssumeRolePolicyDocument:
        Statement:
          - { Effect: Allow, Principal: { Service: [ecs-tasks.amazonaws.com] }, Action: [sts:AssumeRole] }
      ManagedPolicyArns:
        - !Sub arn:${AWS::Partition}:iam::aws:policy/service-role/AmazonECSTaskExecutionRolePolicy
      Policies:
        - PolicyName: secrets
          PolicyDocument:
            Statement:
              - Effect: Allow
                Action: [secretsmanager:GetSecretValue]
                Resource: [!Ref Database, "arn:aws:secretsmanager:eu-west-1:123456789012:secret:key-AbCdEf"]
              - { Effect: Allow, Action: ssm:GetParameters, Resource: !Sub "arn:aws:ssm:*:${AWS::AccountId}:parameter/web/*" }
  Database:
    Type: AWS::SecretsManager::Secret
    Properties: { Name: web/database }
  Task:
    Type: AWS::ECS::TaskDefinition
    Properties:
      Family: web
      RequiresCompatibilities: [FARGATE]
      NetworkMode: awsvpc
      Cpu: 256
      Memory: 512
      TaskRoleArn: !GetAtt TaskRole.Arn
      ExecutionRoleArn: !GetAtt ExecutionRole.Arn
      ContainerDefinitions:
        - Name: web
          Image: !Sub ${AWS::AccountId}.dkr.ecr.${AWS::Region}.amazonaws.com/web:1
          LogConfiguration:
            LogDriver: awslogs
            Options: { awslogs-group: web, awslogs-region: eu-west-1, awslogs-stream-prefix: web }
          Secrets:
            - { Name: PASSWORD, ValueFrom: !Sub "${Database}:password::" }
            - { Name: KEY, ValueFrom: "arn:aws:secretsmanager:eu-west-1:123456789012:secret:key-AbCdEf" }
            - { Name: LICENCE, ValueFrom: /web/licence }
  Service:
    Type: AWS::ECS::Service
    Properties: { TaskDefinition: !Ref Task, EnableExecuteCommand: true }
"#;

/// The policy of AWS, and one for images with another for one group of logs.
const MANAGED: &str = "      ManagedPolicyArns:\n        - !Sub arn:${AWS::Partition}:iam::aws:policy/service-role/AmazonECSTaskExecutionRolePolicy\n      Policies:\n";

fn of_logs(group: &str) -> String {
    format!(
        "      Policies:\n        - PolicyName: start\n          PolicyDocument:\n            Statement:\n              - {{ Effect: Allow, Action: \"ecr:*\", Resource: \"*\" }}\n              - {{ Effect: Allow, Action: \"logs:*\", Resource: \"{group}\" }}\n"
    )
}

const TRUST: &str = "            Action: sts:AssumeRole";

#[test]
fn a_role_of_a_template_lets_ecs_do_its_part() {
    assert_eq!(ids(&findings_in("template.yaml", TEMPLATE)), [""; 0]);
    let key = r#""arn:aws:secretsmanager:eu-west-1:123456789012:secret:key-AbCdEf"]"#;
    for (from, to, expected) in [
        // Who may assume a role.
        (
            "Principal: { Service: ecs-tasks.amazonaws.com }",
            "Principal: { Service: ec2.amazonaws.com }",
            "ecs-role-trust",
        ),
        ("Service: [ecs-tasks.amazonaws.com]", "Service: [ecs.amazonaws.com]", "ecs-role-trust"),
        ("Principal: { Service: ecs-tasks.amazonaws.com }", "Principal: { AWS: 123456789012 }", "ecs-role-trust"),
        ("Action: [sts:AssumeRole]", "Action: [sts:AssumeRoleWithSAML]", "ecs-role-trust"),
        ("Service: [ecs-tasks.amazonaws.com]", "Service: [lambda.amazonaws.com, ecs-tasks.amazonaws.com]", ""),
        ("Principal: { Service: ecs-tasks.amazonaws.com }", "Principal: { Service: !Ref Principal }", ""),
        ("Action: [sts:AssumeRole]", "Action: \"sts:*\"", ""),
        // Secrets.
        ("[secretsmanager:GetSecretValue]", "[secretsmanager:DescribeSecret]", "ecs-secrets-execution-role"),
        ("[secretsmanager:GetSecretValue]", "\"secretsmanager:Get*\"", ""),
        (key, "\"arn:aws:s3:::x\"]", "ecs-secrets-execution-role"),
        (key, "\"arn:aws:secretsmanager:eu-west-1:123456789012:secret:key\"]", "ecs-secrets-execution-role"),
        (key, "\"arn:aws:secretsmanager:us-east-1:123456789012:secret:key-AbCdEf\"]", "ecs-secrets-execution-role"),
        (key, "\"arn:aws:secretsmanager:eu-west-1:123456789012:secret:key-??????\"]", ""),
        (key, "!Ref Other]", ""),
        ("[!Ref Database, ", "[", "ecs-secrets-execution-role"),
        ("[!Ref Database, ", "[!Sub \"${Database}*\", ", ""),
        ("ssm:GetParameters", "ssm:GetParameter", "ecs-secrets-execution-role"),
        ("parameter/web/*", "parameter/shop/*", "ecs-secrets-execution-role"),
        // A denial outweighs all, an unknown policy may allow it.
        (
            "              - Effect: Allow\n                Action: [secretsmanager:GetSecretValue]",
            "              - { Effect: Deny, Action: \"secretsmanager:*\", Resource: \"*\" }\n              - Effect: Allow\n                Action: [secretsmanager:GetSecretValue]",
            "ecs-secrets-execution-role",
        ),
        (
            "policy/service-role/AmazonECSTaskExecutionRolePolicy\n      Policies:\n        - PolicyName: secrets",
            "policy/SecretsManagerReadWrite\n      Policies:\n        - PolicyName: other",
            "",
        ),
        // Images and logs.
        (
            "      ManagedPolicyArns:\n        - !Sub arn:${AWS::Partition}:iam::aws:policy/service-role/AmazonECSTaskExecutionRolePolicy\n",
            "",
            "ecs-image-execution-role ecs-image-execution-role ecs-image-execution-role ecs-logs-execution-role ecs-logs-execution-role",
        ),
        // The login, and ExecuteCommand.
        ("Action: iam:GetRole", "Action: iam:GetUser", ""),
        ("\"ssmmessages:*\"", "\"ssm:*\"", "ecs-exec-task-role"),
        ("EnableExecuteCommand: true", "EnableExecuteCommand: false", ""),
        // The grammar of policies.
        ("\"2012-10-17\"", "\"2012-10-71\"", "ecs-role-policy"),
        ("\"2012-10-17\"", "\"2008-10-17\"", ""),
        (
            "{ Effect: Allow, Action: ssm:GetParameters, Resource:",
            "{ Effect: Allow, Action: ssm:GetParameters, Ressource:",
            "ecs-role-policy",
        ),
        ("{ Effect: Allow, Action: ssm:GetParameters", "{ Effect: allow, Action: ssm:GetParameters", "ecs-role-policy"),
        ("policy/service-role/Amazon", "policy/Amazon", "ecs-role-policy"),
        // Names and paths that IAM refuses.
        ("RoleName: web-task", "RoleName: web task", "ecs-role-arn"),
        ("Path: /consul-ecs/", "Path: /consul-ecs", "ecs-role-arn"),
        // The name of a role with a path.
        ("!GetAtt TaskRole.Arn", "!Ref TaskRole", "ecs-role-arn"),
        ("!GetAtt ExecutionRole.Arn", "!Ref ExecutionRole", ""),
    ] {
        assert!(TEMPLATE.contains(from), "{from}");
        let found = findings_in("template.yaml", &TEMPLATE.replacen(from, to, 1));
        assert_eq!(ids(&found).join(" "), expected, "{from} → {to}");
    }
}

#[test]
fn a_role_of_a_template_is_for_tasks_and_their_logs() {
    let group = of_logs("arn:aws:logs:*:*:log-group:/ecs/other:*");
    let logs = "ecs-logs-execution-role";
    for (from, to, expected) in [
        (MANAGED, group.as_str(), "ecs-logs-execution-role ecs-logs-execution-role"),
        (MANAGED, &of_logs("arn:aws:logs:eu-west-1:123456789012:log-group:web:*"), ""),
        (MANAGED, &of_logs("arn:aws:logs:eu-west-1:123456789012:log-group:w*"), ""),
        // The managed policy does not allow to create groups.
        ("{ awslogs-group: web,", "{ awslogs-group: web, awslogs-create-group: true,", logs),
        ("{ awslogs-group: web,", "{ awslogs-group: web, awslogs-create-group: false,", ""),
        // A service is no account.
        ("Principal: { Service: ecs-tasks", "Principal: { AWS: ecs-tasks", "ecs-role-trust"),
    ] {
        assert!(TEMPLATE.contains(from), "{from}");
        let found = findings_in("template.yaml", &TEMPLATE.replacen(from, to, 1));
        assert_eq!(ids(&found).join(" "), expected, "{from} → {to}");
    }
    // Conditions that ECS does not fulfil, and similar ones that it does.
    for (condition, expected) in [
        ("StringEquals: { sts:ExternalId: consul }", "ecs-role-trust"),
        ("StringEqualsIfExists: { sts:ExternalId: consul }", ""),
        ("Bool: { aws:MultiFactorAuthPresent: true }", "ecs-role-trust"),
        ("ArnLike: { aws:SourceArn: \"arn:aws:lambda:eu-west-1:123456789012:*\" }", "ecs-role-trust"),
        ("ArnLike: { aws:SourceArn: \"arn:aws:ecs:eu-west-1:123456789012:cluster/web\" }", "ecs-role-trust"),
        ("ArnLike: { aws:SourceArn: \"arn:aws:ecs:eu-west-1:123456789012:*\" }", ""),
        ("StringEquals: { aws:SourceAccount: \"123456789012\" }", ""),
    ] {
        let with = format!("{TRUST}\n            Condition: {{ {condition} }}");
        let found = findings_in("template.yaml", &TEMPLATE.replacen(TRUST, &with, 1));
        assert_eq!(ids(&found).join(" "), expected, "{condition}");
    }
}

/// What ECS cannot do without the policy of AWS.
const NO_LOGS: &str = "ecs-image-execution-role ecs-image-execution-role ecs-image-execution-role ecs-logs-execution-role ecs-logs-execution-role";

const MODULE: &str = r#"data "aws_iam_policy_document" "trust" {
  statement {
    actions = ["sts:AssumeRole"]
    principals {
      type        = "Service"
      identifiers = ["ecs-tasks.amazonaws.com"]
    }
  }
}

resource "aws_iam_role" "task" {
  name               = "web-task"
  assume_role_policy = data.aws_iam_policy_document.trust.json
}

resource "aws_iam_role" "execution" {
  name               = "web-execution"
  assume_role_policy = jsonencode({
    Version   = "2012-10-17"
    Statement = [{ Effect = "Allow", Action = "sts:AssumeRole", Principal = { Service = "ecs-tasks.amazonaws.com" } }]
  })
}

resource "aws_iam_role_policy_attachment" "execution" {
  role       = aws_iam_role.execution.name
  policy_arn = "arn:aws:iam::aws:policy/service-role/AmazonECSTaskExecutionRolePolicy"
}

data "aws_iam_policy_document" "secrets" {
  statement {
    actions   = ["secretsmanager:GetSecretValue"]
    resources = ["arn:aws:secretsmanager:eu-west-1:123456789012:secret:key-AbCdEf"]
  }
}

resource "aws_iam_policy" "secrets" {
  policy = data.aws_iam_policy_document.secrets.json
}

resource "aws_iam_role_policy_attachment" "secrets" {
  role       = aws_iam_role.execution.id
  policy_arn = aws_iam_policy.secrets.arn
}

resource "aws_ecs_task_definition" "web" {
  family                   = "web"
  requires_compatibilities = ["FARGATE"]
  network_mode             = "awsvpc"
  cpu                      = 256
  memory                   = 512
  task_role_arn            = aws_iam_role.task.arn
  execution_role_arn       = aws_iam_role.execution.arn
  container_definitions = jsonencode([{
    name  = "web"
    image = "123456789012.dkr.ecr.eu-west-1.amazonaws.com/web:1"
    logConfiguration = {
      logDriver = "awslogs"
      options   = { awslogs-group = "web", awslogs-region = "eu-west-1", awslogs-stream-prefix = "web" }
    }
    secrets = [{ name = "KEY", valueFrom = "arn:aws:secretsmanager:eu-west-1:123456789012:secret:key-AbCdEf" }]
  }])
}

variable "policy" {}
variable "principals" {}
resource "aws_secretsmanager_secret" "key" {}
"#;

#[test]
fn a_role_of_a_module_lets_ecs_do_its_part() {
    let found = |text: &str| {
        let folder = Folder::with(&[("main.tf", text.as_bytes())]);
        let gathered = gathered(&[folder.path("")]);
        ids(&audit(&gathered.material)).join(" ")
    };
    assert_eq!(found(MODULE), "");
    let key = "resources = [\"arn:aws:secretsmanager:eu-west-1:123456789012:secret:key-AbCdEf\"]";
    for (from, to, expected) in [
        ("identifiers = [\"ecs-tasks.amazonaws.com\"]", "identifiers = [\"ec2.amazonaws.com\"]", "ecs-role-trust"),
        ("identifiers = [\"ecs-tasks.amazonaws.com\"]", "identifiers = var.principals", ""),
        ("Service = \"ecs-tasks.amazonaws.com\"", "Service = \"lambda.amazonaws.com\"", "ecs-role-trust"),
        ("Action = \"sts:AssumeRole\"", "Action = \"sts:TagSession\"", "ecs-role-trust"),
        (
            key,
            "resources = [\"arn:aws:secretsmanager:eu-west-1:123456789012:secret:other-AbCdEf\"]",
            "ecs-secrets-execution-role",
        ),
        (key, "resources = [aws_secretsmanager_secret.key.arn]", ""),
        ("policy_arn = aws_iam_policy.secrets.arn", "policy_arn = var.policy", ""),
        ("Effect = \"Allow\"", "Effect = \"allow\"", "ecs-role-policy"),
        ("aws_iam_role.task.arn", "aws_iam_role.task.name", "ecs-role-arn"),
        ("policy/service-role/AmazonECSTaskExecutionRolePolicy", "policy/AdministratorAccess", ""),
        // A policy of a role by its name: of another one, which the module does not declare, and of this one.
        ("aws_iam_role.execution.name", "\"web-exec\"", NO_LOGS),
        ("aws_iam_role.execution.name", "\"web-execution\"", ""),
        ("aws_iam_role.execution.name", "\"web-exec${var.policy}\"", ""),
        // A condition that ECS does not fulfil.
        (
            "    actions = [\"sts:AssumeRole\"]",
            "    actions = [\"sts:AssumeRole\"]\n    condition {\n      test = \"StringEquals\"\n      variable = \"sts:ExternalId\"\n      values = [\"consul\"]\n    }",
            "ecs-role-trust",
        ),
        (
            "    actions = [\"sts:AssumeRole\"]",
            "    actions = [\"sts:AssumeRole\"]\n    condition {\n      test = \"StringEquals\"\n      variable = \"aws:SourceAccount\"\n      values = [\"123456789012\"]\n    }",
            "",
        ),
    ] {
        assert!(MODULE.contains(from), "{from}");
        assert_eq!(found(&MODULE.replacen(from, to, 1)), expected, "{from} → {to}");
    }
}

/// A role whose trust policy has no statement is an excerpt, and its policies are not shown either.
#[test]
fn a_role_of_an_excerpt_is_not_judged() {
    let start = TEMPLATE.find("      AssumeRolePolicyDocument:\n        Statement").unwrap();
    let end = TEMPLATE.find("  Database:").unwrap();
    let excerpt = format!("{}      AssumeRolePolicyDocument: {{}}\n{}", &TEMPLATE[..start], &TEMPLATE[end..]);
    assert_eq!(ids(&findings_in("template.yaml", &excerpt)), [""; 0]);
}

#[test]
fn a_secret_of_unknown_kind_needs_one_of_two_permissions() {
    let unknown = TEMPLATE
        .replacen("Resources:\n", "Parameters: { Licence: { Type: String } }\nResources:\n", 1)
        .replacen("ValueFrom: /web/licence", "ValueFrom: !Ref Licence", 1)
        .replacen("            - { Name: PASSWORD, ValueFrom: !Sub \"${Database}:password::\" }\n", "", 1)
        .replacen("            - { Name: KEY, ValueFrom: \"arn:aws:secretsmanager:eu-west-1:123456789012:secret:key-AbCdEf\" }\n", "", 1);
    let found = |from: &str, to: &str| {
        assert!(unknown.contains(from), "{from}");
        let found = findings_in("template.yaml", &unknown.replacen(from, to, 1));
        found.into_iter().map(|finding| format!("{}: {}", finding.rule.id, finding.message)).collect::<Vec<_>>()
    };
    let secrets = "Action: [secretsmanager:GetSecretValue]";
    assert_eq!(found(secrets, secrets), [""; 0]);
    assert_eq!(found(secrets, "Action: [secretsmanager:DescribeSecret]"), [""; 0], "it may be a parameter");
    assert_eq!(found("ssm:GetParameters", "ssm:DescribeParameters"), [""; 0], "it may be a secret");
    let neither = unknown.replacen("ssm:GetParameters", "ssm:DescribeParameters", 1);
    let neither = neither.replacen(secrets, "Action: [secretsmanager:DescribeSecret]", 1);
    let found = findings_in("template.yaml", &neither);
    assert_eq!(
        found.iter().map(|finding| finding.message.as_str()).collect::<Vec<_>>(),
        [
            "the secret LICENCE of web needs secretsmanager:GetSecretValue or ssm:GetParameters, but no policy of the execution role allows it"
        ]
    );
}

/// The service of the examples, whose two roles a template may swap.
const SERVICE: &str = include_str!("../../../../examples/cloudformation/service.yaml");

#[test]
fn an_execution_role_in_place_of_the_task_role_is_one_finding() {
    let found = |text: &str| {
        let found = findings_in("template.yaml", text);
        found.into_iter().map(|finding| (finding.rule.id, finding.message, finding.help)).collect::<Vec<_>>()
    };
    assert_eq!(found(SERVICE), []);
    let swapped = SERVICE.replace("TaskRoleArn: !GetAtt TaskRole.Arn", "TaskRoleArn: !GetAtt ExecutionRole.Arn");
    assert_ne!(swapped, SERVICE);
    let message = "the task role is the execution role, which has neither the path nor the tag of a role of the mesh; TaskRole has them";
    let help = "set TaskRoleArn to the ARN of TaskRole: !GetAtt TaskRole.Arn";
    assert_eq!(found(&swapped), [("consul-task-role-tags", message.to_owned(), help.to_owned())]);
    // One role for both, with the tag and the path.
    let one = SERVICE.replace("ExecutionRoleArn: !GetAtt ExecutionRole.Arn", "ExecutionRoleArn: !GetAtt TaskRole.Arn");
    let found = findings_in("template.yaml", &one);
    assert!(!ids(&found).contains(&"consul-task-role-tags"), "{:?}", ids(&found));
}

/// A plan in which a module makes a task of the base `dataplane`, and the root module its role.
fn plan_with_a_role() -> Value {
    let mut definition: Value = serde_json::from_str(include_str!("../../src/bases/dataplane.json")).unwrap();
    let containers = definition["containerDefinitions"].take().to_string();
    let tags: Map<String, Value> = definition["tags"].as_array().unwrap().iter().map(tag).collect();
    let task = json!({
        "family": "web", "network_mode": "awsvpc", "requires_compatibilities": ["FARGATE"], "cpu": "256", "memory": "512",
        "container_definitions": containers, "tags": tags, "execution_role_arn": "arn:aws:iam::123456789012:role/web-execution",
        "volume": [{ "name": "consul_data" }, { "name": "consul_binary" }],
    });
    let trust = json!({
        "Version": "2012-10-17",
        "Statement": [
            { "Effect": "Allow", "Principal": { "Service": "ecs-tasks.amazonaws.com" }, "Action": "sts:AssumeRole" },
        ],
    });
    let role = json!({
        "name": "web-task", "path": "/consul-ecs/", "assume_role_policy": trust.to_string(),
        "tags": { "consul.hashicorp.com.service-name": "web" },
    });
    let of = |address: &str, kind: &str, values: &Value| json!({ "address": address, "mode": "managed", "type": kind, "values": values });
    let expressions = json!({ "task_role_arn": { "references": ["var.role"] } });
    let module = json!({ "resources": [{ "address": "aws_ecs_task_definition.this", "expressions": expressions }] });
    let call = json!({ "expressions": { "role": { "references": ["aws_iam_role.task.arn", "aws_iam_role.task"] } }, "module": module });
    json!({
        "format_version": "1.2", "terraform_version": "1.9.8",
        "planned_values": { "root_module": {
            "resources": [of("aws_iam_role.task", "aws_iam_role", &role)],
            "child_modules": [{
                "address": "module.web",
                "resources": [of("module.web.aws_ecs_task_definition.this", "aws_ecs_task_definition", &task)],
            }],
        } },
        "resource_changes": [
            { "address": "module.web.aws_ecs_task_definition.this", "change": { "after_unknown": { "task_role_arn": true } } },
            { "address": "aws_iam_role.task", "change": { "after_unknown": { "arn": true, "id": true } } },
        ],
        "configuration": { "root_module": {
            "resources": [{ "address": "aws_iam_role.task", "expressions": {} }], "module_calls": { "web": call },
        } },
    })
}

fn tag(tag: &Value) -> (String, Value) {
    (tag["key"].as_str().unwrap().to_owned(), tag["value"].clone())
}

#[test]
fn a_role_of_a_plan_is_found_through_the_modules() {
    let found = |change: &dyn Fn(&mut Value)| {
        let mut plan = plan_with_a_role();
        change(&mut plan["planned_values"]["root_module"]["resources"][0]["values"]);
        let found = findings_in("plan.json", &plan.to_string());
        found.into_iter().map(|finding| format!("{}: {}", finding.rule.id, finding.message)).collect::<Vec<_>>()
    };
    assert_eq!(found(&|_| {}), [""; 0]);
    let untagged = found(&|role| role["tags"] = json!({}));
    assert!(matches!(untagged.as_slice(), [one] if one.starts_with("consul-task-role-tags: ")), "{untagged:?}");
    let elsewhere = found(&|role| role["path"] = json!("/"));
    assert!(matches!(elsewhere.as_slice(), [one] if one.contains("the path of the task role is /")), "{elsewhere:?}");
    let trust = found(&|role| {
        let trust = role["assume_role_policy"].as_str().unwrap().replace("ecs-tasks", "ec2");
        role["assume_role_policy"] = json!(trust);
    });
    assert!(matches!(trust.as_slice(), [one] if one.starts_with("ecs-role-trust: ")), "{trust:?}");
}
