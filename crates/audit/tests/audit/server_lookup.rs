//! What AWS must allow and know so that `discover` finds the servers: resources, conditions and denials of policies, and the
//! tags of the servers' tasks.

use crate::{
    folder::Folder,
    inputs::gathered,
    role_policies::{container, found, root_module, template},
};
use audit::{audit, finding::Finding};

const EC2: &str = "exec=discover -q addrs provider=aws tag_key=consul tag_value=server";
const ECS: &str = "exec=discover -q addrs provider=aws service=ecs ecs_cluster=mesh tag_key=consul tag_value=server";
const CLUSTERS: &str = "exec=discover -q addrs provider=aws service=ecs tag_key=consul tag_value=server";

const DESCRIBE: &str = r#"{"Effect":"Allow","Action":"ecs:DescribeTasks","Resource":"*"}"#;

/// What the rule says of these statements, in a template and in a root module.
fn said(hosts: &str, statements: &str) -> Vec<String> {
    let document = format!(r#"{{"Statement":[{statements}]}}"#);
    let policies = format!(r#""Policies":[{{"PolicyName":"lookup","PolicyDocument":{document}}}]"#);
    let in_template = found(&template(hosts, &policies, ""));
    let inline = format!("inline_policy {{\n  policy = jsonencode({document})\n}}").replace("\":", "\"=");
    assert_eq!(found(&root_module(hosts, &inline, "")), in_template, "{statements}");
    in_template
}

fn allow(action: &str, resource: &str) -> String {
    format!(r#"{{"Effect":"Allow","Action":"{action}","Resource":{resource}}}"#)
}

#[test]
fn an_action_without_a_resource_is_allowed_for_all() {
    let out_of_reach = vec!["ecs:ListTasks cannot be limited by Resource: AWS refuses it to discover".to_owned()];
    for (resource, expected) in [
        (r#""*""#, vec![]),
        (r#"["*"]"#, vec![]),
        (r#""**""#, vec![]),
        (r#"["arn:aws:s3:::a", "*"]"#, vec![]),
        (r#""arn:aws:ecs:eu-central-1:111122223333:cluster/mesh""#, out_of_reach.clone()),
        (r#""arn:aws:ecs:eu-central-1:111122223333:task/mesh/*""#, out_of_reach.clone()),
        (r#""arn:aws:ecs:eu-central-1:111122223333:container-instance/*""#, out_of_reach.clone()),
        (r#"["arn:aws:ecs:*:*:*"]"#, out_of_reach),
    ] {
        let statements = format!("{},{DESCRIBE}", allow("ecs:ListTasks", resource));
        assert_eq!(said(ECS, &statements), expected, "{resource}");
    }
    // A second statement may be the right one.
    let both = format!("{},{},{DESCRIBE}", allow("ecs:ListTasks", r#""arn:aws:s3:::a""#), allow("ecs:List*", r#""*""#));
    assert_eq!(said(ECS, &both), Vec::<String>::new());
    let instances = vec!["ec2:DescribeInstances cannot be limited by Resource: AWS refuses it to discover"];
    let arn = r#""arn:aws:ec2:eu-central-1:111122223333:instance/*""#;
    assert_eq!(said(EC2, &allow("ec2:DescribeInstances", arn)), instances);
}

#[test]
fn tasks_are_described_by_their_arn() {
    let list = allow("ecs:ListTasks", r#""*""#);
    for (resource, count) in [
        (r#""arn:aws:ecs:eu-central-1:111122223333:task/mesh/*""#, 0),
        (r#""arn:aws:ecs:*:*:*""#, 0),
        // A wildcard is any text, also with colons.
        (r#""arn:aws:ecs:*""#, 0),
        (r#""arn:*""#, 0),
        (r#""**""#, 0),
        (r#""arn:aws:ecs:*:*:t*""#, 0),
        (r#""arn:aws:ecs:*task*""#, 0),
        (r#""arn:aws:ecs:eu-west-1:*""#, 0),
        (r#""arn:aws:ecs:eu-????-1:111122223333:task?mesh/*""#, 0),
        (r#""arn:aws:ecs:*:*:c*""#, 1),
        (r#""arn:aws:ecs:*:*:task-definition/*""#, 1),
        (r#""arn:aws:ecs:eu-west-1:111122223333:*cluster""#, 0),
        (r#""arn:aws:ecs:eu-west-1:111122223333:cluster/*task*""#, 1),
        (r#""arn:aws:s3:*""#, 1),
        (r#""arn:aws:ecs:eu-west-1""#, 1),
        (r#""arn:aws:ecs:eu-central-1:111122223333:cluster/mesh""#, 1),
    ] {
        let statements = format!("{list},{}", allow("ecs:DescribeTasks", resource));
        assert_eq!(said(ECS, &statements).len(), count, "{resource}");
    }
}

#[test]
fn denials_and_conditions_count() {
    let all = allow("ecs:*", r#""*""#);
    let deny = r#"{"Effect":"Deny","Action":["ecs:ListTasks"],"Resource":"*"}"#;
    let denied = "consulServers.hosts asks AWS for the servers, but a policy of the task role denies ecs:ListTasks";
    assert_eq!(said(ECS, &format!("{all},{deny}")), [denied]);
    // It may concern other calls.
    let condition = r#""Condition":{"StringEquals":{"aws:RequestedRegion":"us-east-1"}}"#;
    let conditional = deny.replace(r#""Resource":"*""#, &format!(r#""Resource":"*",{condition}"#));
    assert_eq!(said(ECS, &format!("{all},{conditional}")), Vec::<String>::new());
    let by_two_stars = deny.replace(r#""*""#, r#""**""#);
    assert_eq!(said(ECS, &format!("{all},{by_two_stars}")), [denied]);
    let other = r#"{"Effect":"Deny","Action":"ecs:StopTask","Resource":"*"}"#;
    assert_eq!(said(ECS, &format!("{all},{other}")), Vec::<String>::new());

    let cluster = r#""Condition":{"ArnEquals":{"ecs:cluster":"arn:aws:ecs:eu-central-1:111122223333:cluster/mesh"}}"#;
    let limited = allow("ecs:ListTasks", &format!(r#""*",{cluster}"#));
    assert_eq!(said(ECS, &format!("{limited},{DESCRIBE}")), Vec::<String>::new());
    let clusters = allow("ecs:ListClusters", r#""*""#);
    let wrong = "ecs:ListTasks is limited to a cluster, but discover lists the tasks of all clusters";
    assert_eq!(said(CLUSTERS, &format!("{limited},{DESCRIBE},{clusters}")), [wrong]);
}

#[test]
fn the_resource_of_the_statement_is_shown() {
    let arn = r#""arn:aws:ecs:eu-central-1:111122223333:cluster/mesh""#;
    let document = format!(r#"{{"Statement":[{},{DESCRIBE}]}}"#, allow("ecs:ListTasks", arn));
    let policy = format!(
        "resource \"aws_iam_role_policy\" \"it\" {{\n  role = aws_iam_role.task.id\n  policy = jsonencode({})\n}}",
        document.replace("\":", "\"=")
    );
    let folder = root_module(ECS, "", &policy);
    let found: Vec<Finding> = audit(&gathered(&[folder.path("")]).material);
    let lookup = found.iter().find(|finding| finding.rule.id == "consul-server-lookup").unwrap();
    assert_eq!(&lookup.file.text[lookup.span.start..lookup.span.end], arn);
    assert!(lookup.help.contains("ArnEquals") && lookup.help.contains("ecs:cluster"), "{}", lookup.help);
}

/// The services without the tag, if a task seeks the servers with these settings and the service has this argument.
fn without_tag(settings: &str, service: &str) -> Vec<String> {
    let hosts = format!("exec=discover -q addrs provider=aws service=ecs {settings}");
    let text = format!(
        "resource \"aws_ecs_task_definition\" \"server\" {{\n  family = \"consul-server\"\n  tags = {{ role = \"server\" }}\n  \
         container_definitions = jsonencode([{{ name = \"server\", image = \"hashicorp/consul:2.0.1\" }}])\n}}\nresource \
         \"aws_ecs_service\" \"server\" {{\n  name = \"servers\"\n  task_definition = \
         aws_ecs_task_definition.server.arn\n  {service}\n}}\nresource \"aws_ecs_task_definition\" \"front\" {{\n  family = \
         \"front\"\n  container_definitions = {:?}\n}}\nresource \"aws_ecs_task_definition\" \"back\" {{\n  family = \
         \"back\"\n  container_definitions = {:?}\n}}\n",
        format!("[{}]", container(&hosts)),
        format!("[{}]", container(&hosts)),
    );
    let folder = Folder::with(&[("main.tf", text.as_bytes())]);
    let found = audit(&gathered(&[folder.path("")]).material);
    let of_rule = found.iter().filter(|finding| finding.rule.id == "consul-server-tags");
    of_rule.map(|finding| finding.message.clone()).collect()
}

#[test]
fn servers_that_are_found_by_a_tag_have_it() {
    let by_family = "ecs_family=consul-server tag_key=role tag_value=server";
    let wrong = "front finds the servers by the tag role of their tasks, but the service aws_ecs_service.server copies no tags \
                 to them";
    assert_eq!(without_tag(by_family, ""), [wrong], "once, though two tasks seek them");
    assert_eq!(without_tag(by_family, "propagate_tags = \"NONE\""), [wrong]);
    assert_eq!(without_tag(by_family, "propagate_tags = \"SERVICE\""), [wrong]);
    for right in [
        "propagate_tags = \"TASK_DEFINITION\"",
        "propagate_tags = var.tags",
        "propagate_tags = \"SERVICE\"\n  tags = { role = \"server\" }",
    ] {
        assert_eq!(without_tag(by_family, right), Vec::<String>::new(), "{right}");
    }
    for other in [
        "ecs_family=other tag_key=role tag_value=server",
        "ecs_family=consul-server tag_key=role tag_value=other",
        "ecs_family=consul-server tag_key=team tag_value=server",
        "tag_key=role tag_value=server",
    ] {
        assert_eq!(without_tag(other, ""), Vec::<String>::new(), "{other}");
    }
}

/// A volume block of a task definition, with its blocks.
#[test]
fn a_shared_volume_is_found_in_terraform() {
    let shared = |volume: &str| {
        let containers = container("consul.example.internal").replace(
            r#""environment""#,
            r#""mountPoints":[{"sourceVolume":"consul_data","containerPath":"/consul"}],"environment""#,
        );
        let text = format!(
            "resource \"aws_ecs_task_definition\" \"web\" {{\n  family = \"web\"\n  volume {{\n    name = \
             \"consul_data\"\n{volume}\n  }}\n  container_definitions = {:?}\n}}\n",
            format!("[{containers}]")
        );
        let folder = Folder::with(&[("main.tf", text.as_bytes())]);
        let found = audit(&gathered(&[folder.path("")]).material);
        found.iter().filter(|finding| finding.rule.id == "consul-shared-volume").count()
    };
    assert_eq!(shared(""), 0);
    assert_eq!(shared("    efs_volume_configuration {\n      file_system_id = \"fs-1\"\n    }"), 1);
    assert_eq!(shared("    host_path = \"/opt/consul\""), 1);
    assert_eq!(shared("    docker_volume_configuration {\n      scope = \"shared\"\n    }"), 1);
    assert_eq!(shared("    docker_volume_configuration {\n      scope = \"task\"\n    }"), 0);
}
