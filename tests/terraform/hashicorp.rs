//! Calls of HashiCorp's module `controller`, with nothing changed but the source.

use local_stack::{Stack, users::deploying, world::cluster_arn};
use serde_json::json;

use crate::terraform::{Terraform, has_node, requirements_or_skip};

/// Two calls with all variables of HashiCorp's module, for two clusters. Its source is `source`.
fn calls(source: &str, secret: &str, port: &str) -> String {
    let call = |name: &str| {
        let cluster = cluster_arn(&format!("hashicorp-{name}"));
        format!(
            r#"
module "{name}" {{
  source = "{source}"

  name_prefix                        = "hashicorp-{name}"
  ecs_cluster_arn                    = "{cluster}"
  region                             = "us-east-1"
  subnets                            = [data.aws_subnets.default.ids[0]]
  security_groups                    = []
  assign_public_ip                   = false
  launch_type                        = "FARGATE"
  requires_compatibilities           = ["FARGATE"]
  consul_ecs_image                   = "hashicorp/consul-ecs:0.9.4"
  log_configuration                  = {{ logDriver = "awslogs", options = {{ awslogs-group = "consul" }} }}
  additional_execution_role_policies = ["arn:aws:iam::aws:policy/ReadOnlyAccess"]
  consul_bootstrap_token_secret_arn  = "{secret}"
  consul_server_hosts                = "127.0.0.1"
  tls                                = false
  tls_server_name                    = ""
  http_config                        = {{ port = {port} }}
  grpc_config                        = {{ port = 8502 }}
  consul_ca_cert_arn                 = ""
  consul_https_ca_cert_arn           = ""
  consul_grpc_ca_cert_arn            = ""
  skip_server_watch                  = true
  iam_role_path                      = "/consul-ecs/"
  consul_partitions_enabled          = false
  consul_partition                   = "default"
}}
"#
        )
    };
    format!(
        r#"
provider "aws" {{
  region = "us-east-1"
}}

data "aws_vpc" "default" {{
  default = true
}}

data "aws_subnets" "default" {{
  filter {{
    name   = "vpc-id"
    values = [data.aws_vpc.default.id]
  }}
}}

data "aws_security_group" "default" {{
  vpc_id = data.aws_vpc.default.id
  name   = "default"
}}
{}{}"#,
        call("one"),
        call("two"),
    )
}

#[tokio::test]
async fn two_calls_of_hashicorps_module_need_another_source_only() {
    if requirements_or_skip().is_none() {
        return;
    }
    let Stack { aws, consul } = Stack::shared().await;
    let secret = aws.create_secret("hashicorp-bootstrap-token", &consul.management_token).await;
    for cluster in ["hashicorp-one", "hashicorp-two"] {
        aws.create_cluster(cluster).await;
    }
    let (_, port) = consul.address.rsplit_once(':').unwrap();
    // Given calls that are valid with the variables of HashiCorp's module
    let stand_in = calls("../move-from-hashicorp/stand-in", &secret, port);
    let terraform = Terraform::root("hashicorp-before", &stand_in).await.expect("Terraform is there");
    terraform.done(&["validate"]).await;

    let outputs = r#"
output "calls" {
  value = { one = module.one, two = module.two }
}

output "default_group" {
  value = data.aws_security_group.default.id
}
"#;
    let ours = calls("../..", &secret, port) + outputs;
    let mut terraform = Terraform::root("hashicorp-after", &ours).await.expect("Terraform is there");
    // By a user with exactly the documented permissions, and those for the data sources of the caller
    let stacks = ["one", "two"].map(|name| format!("hashicorp-{name}-ecs-mesh-controller"));
    let policies = stacks.iter().flat_map(|stack| deploying(stack, &["resources", "terraform"]));
    let vpc = json!({ "Effect": "Allow", "Action": "ec2:DescribeVpc*", "Resource": "*" });
    let policies: Vec<_> = policies.chain([json!({ "Version": "2012-10-17", "Statement": [vpc] })]).collect();
    terraform.run_as(&aws.user("hashicorp", &policies).await);
    let planned = terraform.planned_parameters().await;
    terraform.permit_old_consul(&["one", "two"]);
    terraform.apply(&[]).await;

    let group = terraform.output("default_group").await;
    let calls = terraform.output("calls").await;
    for name in ["one", "two"] {
        let controller = &calls[name];
        let group = group.as_str().expect("an ID");
        assert_eq!(planned[name]["VpcSecurityGroupIds"], group, "the VPC's default group, as there");
        assert_eq!(planned[name]["TokenMode"], "auth-method");
        assert!(has_node(&format!("hashicorp-{name}")).await, "each sets its cluster up");
        let ignored = [
            "additional_execution_role_policies",
            "consul_ecs_image",
            "consul_grpc_ca_cert_arn",
            "grpc_config",
            "launch_type",
            "log_configuration",
            "requires_compatibilities",
            "skip_server_watch",
        ];
        assert_eq!(controller["ignored_variables"], json!(ignored));
        assert!(controller["advice"][0].as_str().unwrap().contains("output consul_policy"), "{controller}");
        assert!(controller["consul_policy"].as_str().unwrap().contains("acl = \"write\""));
    }
    assert_ne!(calls["one"]["task_events_queue_url"], calls["two"]["task_events_queue_url"]);
    terraform.destroy(&[]).await;
}
