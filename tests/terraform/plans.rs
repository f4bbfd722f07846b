//! What a plan derives from the variables, and what it refuses.

use std::collections::BTreeMap;

use local_stack::functions::ARCHITECTURE;
use serde_json::{Value, json};

use crate::terraform::Terraform;

const SECRET: &str = "\"arn:aws:secretsmanager:us-east-1:000000000000:secret:consul-AbCdEf\"";

/// Calls of the module that work, except that these arguments replace theirs; `null` removes one.
fn calls<'a>(calls: impl IntoIterator<Item = (&'a str, &'a str)>) -> String {
    let call = |(name, changed): (&str, &str)| {
        let working = [
            ("source", "\"../..\""),
            ("name_prefix", &format!("\"{}\"", name.replace('_', "-"))),
            ("ecs_cluster_arn", "\"prod\""),
            ("consul_server_hosts", "\"consul\""),
            ("consul_http_token_secret_arn", SECRET),
        ];
        let mut arguments: BTreeMap<&str, &str> = working.into();
        arguments.extend(changed.split("; ").filter_map(|argument| argument.split_once(" = ")));
        let arguments = arguments.iter().map(|(argument, value)| format!("  {argument} = {value}\n"));
        format!("module \"{name}\" {{\n{}}}\n", arguments.collect::<String>())
    };
    let provider = "provider \"aws\" {\n  region = \"us-east-1\"\n}\n";
    provider.to_owned() + &calls.into_iter().map(call).collect::<String>()
}

/// Plans calls that cannot work: their name, what is changed in a call that works, and what the error says.
async fn refuse(name: &str, refused: &[(&str, &str, &str)]) {
    let main = calls(refused.iter().map(|(name, changed, _)| (*name, *changed)));
    let Some(terraform) = Terraform::root(name, &main).await else { return };

    let said = terraform.run(&["plan"]).await;

    assert_eq!(said.code, Some(1));
    for (name, _, sentence) in refused {
        assert!(said.text.contains(sentence), "{name}: {}", said.text);
    }
    assert_eq!(said.text.matches("Error: ").count(), refused.len(), "{}", said.text);
}

#[tokio::test]
async fn a_value_that_cannot_work_fails_in_the_plan_and_says_what_to_write() {
    let refused = [
        ("public", "assign_public_ip = true", "private subnets with a route to a NAT gateway, or with VPC endpoints"),
        (
            "program",
            "consul_server_hosts = \"exec=ips\"",
            "remove consul_server_hosts and set consul_http_addr to ecs://",
        ),
        ("scheme", "consul_server_hosts = \"https://consul:8501\"", "Write the port in http_config.port."),
        ("keys", "http_config = { ports = 1 }", "http_config may have the keys port, https, tls and tlsServerName."),
        ("port", "http_config = { port = \"http\" }", "http_config.port must be a number from 1 to 65535"),
        ("mode", "mode = \"watch\"", "mode must be one of act, observe."),
        ("prefix", "name_prefix = \"a_b\"", "name_prefix must begin with a letter"),
        ("clusters", "ecs_cluster_arns = [\"a b\"]", "ecs_cluster_arns must be ARNs, names or patterns"),
    ];
    refuse("refused-values", &refused).await;
}

#[tokio::test]
async fn values_that_do_not_go_together_fail_in_the_plan_and_say_what_to_write() {
    let other = if ARCHITECTURE == "arm64" { "x86_64" } else { "arm64" };
    let refused = [
        ("no_servers", "consul_server_hosts = null", "Set either consul_http_addr or consul_server_hosts."),
        (
            "two_schemes",
            "consul_server_hosts = null; consul_http_addr = \"http://consul:8500\"; tls = true",
            "consul_http_addr contains scheme and port. Remove tls and http_config.",
        ),
        (
            "other_region",
            "region = \"eu-west-1\"",
            "region is eu-west-1, and the AWS provider of this module has the region us-east-1.",
        ),
        (
            "two_tokens",
            &format!("consul_bootstrap_token_secret_arn = {SECRET}"),
            "Set either consul_http_token_secret_arn or,",
        ),
        (
            "servers_in_tasks",
            "consul_server_hosts = null; consul_http_addr = \"ecs://infra/consul:8501?scheme=https\"",
            "needs consul_ca_cert_arn, tls_server_name and subnets.",
        ),
        (
            "certificate",
            &format!(
                "consul_server_hosts = null; consul_http_addr = \"http://consul:8500\"; consul_ca_cert_arn = {SECRET}"
            ),
            "every address in consul_http_addr must begin with https://.",
        ),
        ("no_package", "package = \"/nonexistent\"", "Set package to the folder that make dist wrote"),
        ("no_cluster", "ecs_cluster_arn = null", "Set either ecs_cluster_arns or ecs_cluster_arn."),
        ("no_subnets", "security_groups = [\"sg-1\"]", "security_groups has no effect without subnets."),
        (
            "architecture",
            &format!("architecture = \"{other}\""),
            &format!("Set package to a folder with zips for {other}, or remove architecture."),
        ),
    ];
    refuse("refused-combinations", &refused).await;
}

#[tokio::test]
async fn parameters_follow_from_hashicorps_variables() {
    let ca =
        format!("consul_ca_cert_arn = {SECRET}; consul_https_ca_cert_arn = {}", SECRET.replace("consul-", "https-"));
    let tls = format!("tls = true; tls_server_name = \"server.dc1.consul\"; {ca}");
    let without_tls = format!("tls_server_name = \"server.dc1.consul\"; {ca}");
    let https_ca = "arn:aws:secretsmanager:us-east-1:000000000000:secret:https-AbCdEf";
    let cases = [
        ("plain", "tls = false", vec![("ConsulHttpAddr", "http://consul:8500"), ("ConsulPartition", "")]),
        (
            "tls",
            &tls,
            vec![
                ("ConsulHttpAddr", "https://consul:8501"),
                ("ConsulTlsServerName", "server.dc1.consul"),
                ("ConsulCaCertSecretArn", https_ca),
            ],
        ),
        // The certificates of a mesh whose controller does not use TLS
        ("without_tls", &without_tls, vec![("ConsulTlsServerName", ""), ("ConsulCaCertSecretArn", "")]),
        (
            "http_config",
            "tls = true; http_config = { port = 443, tlsServerName = \"b\" }",
            vec![("ConsulHttpAddr", "https://consul:443"), ("ConsulTlsServerName", "b")],
        ),
        ("https", "http_config = { https = true }", vec![("ConsulHttpAddr", "https://consul:8500")]),
        ("ipv6", "consul_server_hosts = \"2001:db8::1\"", vec![("ConsulHttpAddr", "http://[2001:db8::1]:8500")]),
        (
            "network",
            "subnets = [\"subnet-1\", \"subnet-2\"]; security_groups = [\"sg-1\", \"sg-2\"]",
            vec![("VpcSubnetIds", "subnet-1,subnet-2"), ("VpcSecurityGroupIds", "sg-1,sg-2")],
        ),
        (
            "clusters",
            "ecs_cluster_arn = null; ecs_cluster_arns = [\"a-*\", \"b\"]; cluster_partitions = [\"a-*=x\", \"b=y\"]",
            vec![("EcsClusterArns", "a-*,b"), ("ClusterPartitions", "a-*=x,b=y")],
        ),
        ("unused_partition", "consul_partition = \"ecs\"", vec![("ConsulPartition", "")]),
        ("partition", "consul_partitions_enabled = true; consul_partition = \"ecs\"", vec![("ConsulPartition", "ecs")]),
        (
            "defaults",
            "consul_partitions_enabled = true",
            vec![
                ("ConsulPartition", "default"),
                ("TokenMode", "auth-method"),
                ("VpcSubnetIds", ""),
                ("VpcSecurityGroupIds", ""),
            ],
        ),
    ];
    let main = calls(cases.iter().map(|(name, changed, _)| (*name, *changed)));
    let Some(terraform) = Terraform::root("derived", &main).await else { return };

    let planned = terraform.planned_parameters().await;

    for (name, _, expected) in cases {
        for (parameter, value) in expected {
            assert_eq!(planned[name][parameter], json!(value), "{name}: {parameter}");
        }
    }
    assert!(
        planned.values().all(|parameters| parameters.as_object().is_some_and(|all| !all.values().any(Value::is_null)))
    );
}
