//! The policies of a task role that the input declares, in each notation.

use crate::{folder::Folder, inputs::gathered};
use audit::audit;

const EC2: &str = "exec=discover -q addrs provider=aws tag_key=consul tag_value=server";
const ECS: &str = "exec=discover -q addrs provider=aws service=ecs ecs_cluster=mesh tag_key=consul tag_value=server";
const CLUSTERS: &str = "exec=discover -q addrs provider=aws service=ecs tag_key=consul tag_value=server";

pub(crate) fn container(hosts: &str) -> String {
    let config = format!(
        r#"{{"bootstrapDir":"/consul","consulServers":{{"hosts":"{hosts}"}},"service":{{"name":"web","port":80}},"proxy":{{}}}}"#
    );
    format!(
        r#"{{"name":"consul-ecs-mesh-init","image":"hashicorp/consul-ecs:0.10.1","environment":[{{"name":"CONSUL_ECS_CONFIG_JSON","value":{config:?}}}]}}"#
    )
}

/// A template whose role has these properties, with more resources.
pub(crate) fn template(hosts: &str, role: &str, more: &str) -> Folder {
    let definition = container(hosts)
        .replace(r#""name""#, r#""Name""#)
        .replace(r#""value""#, r#""Value""#)
        .replace(r#""image""#, r#""Image""#);
    let definition = definition.replace(r#""environment""#, r#""Environment""#);
    let text = format!(
        r#"{{"Resources":{{"Role":{{"Type":"AWS::IAM::Role","Properties":{{{role}}}}},{more}
        "Task":{{"Type":"AWS::ECS::TaskDefinition","Properties":{{"Family":"web","TaskRoleArn":{{"Fn::GetAtt":["Role","Arn"]}},
        "ContainerDefinitions":[{definition}]}}}}}}}}"#
    );
    Folder::with(&[("template.json", text.as_bytes())])
}

/// A root module whose role has these arguments, with more blocks.
pub(crate) fn root_module(hosts: &str, role: &str, more: &str) -> Folder {
    let containers = container(hosts);
    let text = format!(
        "resource \"aws_iam_role\" \"task\" {{\n{role}\n}}\n{more}\nresource \"aws_ecs_task_definition\" \"web\" {{\n  family = \
         \"web\"\n  task_role_arn = aws_iam_role.task.arn\n  container_definitions = {:?}\n}}\n",
        format!("[{containers}]")
    );
    Folder::with(&[("main.tf", text.as_bytes())])
}

/// What the rule says of a folder.
pub(crate) fn found(folder: &Folder) -> Vec<String> {
    let gathered = gathered(&[folder.path("")]);
    assert_eq!(gathered.problems.len(), 0, "{:?}", gathered.problems);
    let found = audit(&gathered.material);
    found
        .iter()
        .filter(|finding| finding.rule.id == "consul-server-lookup")
        .map(|finding| finding.message.clone())
        .collect()
}

fn missing(actions: &str) -> Vec<String> {
    vec![format!("consulServers.hosts asks AWS for the servers, but no policy of the task role allows {actions}")]
}

fn document(actions: &str) -> String {
    format!(r#"{{"Statement":{{"Effect":"Allow","Action":{actions},"Resource":"*"}}}}"#)
}

#[test]
fn the_task_role_allows_the_lookup() {
    for (hosts, actions, expected) in [
        (EC2, r#"["ec2:DescribeInstances"]"#, vec![]),
        (EC2, r#""ec2:describe*""#, vec![]),
        (EC2, r#""*""#, vec![]),
        (EC2, r#"["s3:GetObject"]"#, missing("ec2:DescribeInstances")),
        (EC2, r#"["ec2:DescribeTags", "ecs:*"]"#, missing("ec2:DescribeInstances")),
        (ECS, r#"["ecs:ListTasks", "ecs:DescribeTasks"]"#, vec![]),
        (ECS, r#"["ecs:ListTasks"]"#, missing("ecs:DescribeTasks")),
        (CLUSTERS, r#"["ecs:ListTasks", "ecs:DescribeTasks"]"#, missing("ecs:ListClusters")),
        ("exec=discover -q addrs provider=azure", r#""s3:*""#, vec![]),
        ("10.0.0.1", r#""s3:*""#, vec![]),
    ] {
        let document = document(actions);
        let policies = format!(r#""Policies":[{{"PolicyName":"lookup","PolicyDocument":{document}}}]"#);
        assert_eq!(found(&template(hosts, &policies, "")), expected, "{hosts} {actions}");
        let attached = format!(
            r#""Policy":{{"Type":"AWS::IAM::Policy","Properties":{{"PolicyDocument":{document},"Roles":[{{"Ref":"Role"}}]}}}},"#
        );
        assert_eq!(found(&template(hosts, "", &attached)), expected, "{hosts} {actions}");

        let inline = format!("inline_policy {{\n  policy = jsonencode({document})\n}}");
        let inline = inline.replace("\":", "\"=");
        assert_eq!(found(&root_module(hosts, &inline, "")), expected, "{hosts} {actions}");
        let policy = format!("policy = {document:?}");
        let of_role =
            format!("resource \"aws_iam_role_policy\" \"it\" {{\n  role = aws_iam_role.task.id\n  {policy}\n}}");
        assert_eq!(found(&root_module(hosts, "", &of_role)), expected, "{hosts} {actions}");
        let actions = if actions.starts_with('[') { actions.to_owned() } else { format!("[{actions}]") };
        let attached = format!(
            "resource \"aws_iam_role_policy_attachment\" \"it\" {{\n  role = aws_iam_role.task.name\n  policy_arn = \
             aws_iam_policy.it.arn\n}}\nresource \"aws_iam_policy\" \"it\" {{\n  policy = \
             data.aws_iam_policy_document.it.json\n}}\ndata \"aws_iam_policy_document\" \"it\" {{\n  statement {{\n    actions = \
             {actions}\n    resources = [\"*\"]\n  }}\n}}"
        );
        assert_eq!(found(&root_module(hosts, "", &attached)), expected, "{hosts} {actions}");
    }
}

#[test]
fn a_role_whose_policies_are_not_all_known_is_not_judged() {
    let none = missing("ec2:DescribeInstances");
    let execution = "arn:aws:iam::aws:policy/service-role/AmazonECSTaskExecutionRolePolicy";
    let team = "arn:aws:iam::123456789012:policy/team";
    for (role, more, expected) in [
        (String::new(), "", &none),
        (format!(r#""ManagedPolicyArns":["{execution}"]"#), "", &none),
        (format!(r#""ManagedPolicyArns":["{team}"]"#), "", &vec![]),
        (r#""ManagedPolicyArns":{"Ref":"Policies"}"#.to_owned(), "", &vec![]),
        (r#""Policies":[{"PolicyDocument":{"Statement":[{"NotAction":"s3:*"}]}}]"#.to_owned(), "", &vec![]),
        (
            r#""Policies":[{"PolicyDocument":{"Statement":[{"Effect":{"Ref":"Effect"},"Action":"s3:*"}]}}]"#.to_owned(),
            "",
            &vec![],
        ),
        (r#""Policies":[{"PolicyDocument":{"Statement":[{"Effect":"Deny","Action":"s3:*"}]}}]"#.to_owned(), "", &none),
        (
            String::new(),
            r#""P":{"Type":"AWS::IAM::Policy","Properties":{"PolicyDocument":{},"Roles":["web"]}},"#,
            &none,
        ),
        // A policy of a role by its name: of this one, and of one that may be this one.
        (
            r#""RoleName":"web""#.to_owned(),
            r#""P":{"Type":"AWS::IAM::Policy","Properties":{"PolicyDocument":{},"Roles":["web"]}},"#,
            &vec![],
        ),
        (
            r#""RoleName":{"Ref":"Name"}"#.to_owned(),
            r#""P":{"Type":"AWS::IAM::Policy","Properties":{"PolicyDocument":{},"Roles":["web"]}},"#,
            &vec![],
        ),
        // Another stack or a custom resource gets its name.
        (
            String::new(),
            r#""Nested":{"Type":"AWS::CloudFormation::Stack","Properties":{"Parameters":{"Name":{"Ref":"Role"}}}},"#,
            &vec![],
        ),
        (
            String::new(),
            r#""Custom":{"Type":"Custom::Policy","Properties":{"Arn":{"Fn::Sub":"${Role.Arn}"}}},"#,
            &vec![],
        ),
        (String::new(), r#""Other":{"Type":"AWS::SNS::Topic","Properties":{"TopicName":"Roles"}},"#, &none),
    ] {
        assert_eq!(&found(&template(EC2, &role, more)), expected, "{role} {more}");
    }
    let attachment = |arn: &str| {
        format!(
            "resource \"aws_iam_role_policy_attachment\" \"it\" {{\n  role = aws_iam_role.task.name\n  policy_arn = {arn}\n}}"
        )
    };
    for (role, more, expected) in [
        (String::new(), String::new(), &none),
        (String::new(), attachment(&format!("{execution:?}")), &none),
        (String::new(), attachment(&format!("{team:?}")), &vec![]),
        (String::new(), attachment("var.policy"), &vec![]),
        (format!("managed_policy_arns = [{team:?}]"), String::new(), &vec![]),
        (String::new(), attachment("var.policy").replace("aws_iam_role.task", "aws_iam_role.other"), &none),
        (String::new(), "output \"role\" {\n  value = aws_iam_role.task.name\n}".to_owned(), &vec![]),
        (String::new(), "locals {\n  role = aws_iam_role.task.name\n}".to_owned(), &vec![]),
        (
            String::new(),
            "resource \"awscc_iam_role_policy\" \"it\" {\n  role_name = aws_iam_role.task.name\n}".to_owned(),
            &vec![],
        ),
        (
            String::new(),
            "resource \"aws_cloudformation_stack\" \"it\" {\n  parameters = {\n    Role = aws_iam_role.task.name\n  }\n}".to_owned(),
            &vec![],
        ),
        (String::new(), attachment("var.policy").replace("aws_iam_role.task.name", "var.role"), &vec![]),
        (
            String::new(),
            "resource \"aws_iam_role_policy\" \"it\" {\n  role = aws_iam_role.task.id\n  policy = \
             data.aws_iam_policy_document.it.json\n}\ndata \"aws_iam_policy_document\" \"it\" {\n  source_json = var.more\n}"
                .to_owned(),
            &vec![],
        ),
        (
            String::new(),
            "module \"more\" {\n  source = \"example/policies/aws\"\n  role = aws_iam_role.task.name\n}".to_owned(),
            &vec![],
        ),
    ] {
        assert_eq!(&found(&root_module(EC2, &role, &more)), expected, "{role} {more}");
    }
}
