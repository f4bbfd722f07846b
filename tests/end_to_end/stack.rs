//! The local stack itself: it starts, the template is deployed, and each part does what other tests rely on.

use reqwest::Method;
use serde_json::json;

use local_stack::{
    Stack,
    consul::Consul,
    deploy::{Deployed, deploy},
    wait::{SOON, eventually},
};
use test_harness::{jwt::JwtAuthMethod, tls::certificate_for};

async fn deployed(stack: &Stack, name: &str) -> Deployed {
    let token = stack.consul.token_with_rules(name, &local_stack::world::documented_policy()).await;
    let secret = stack.aws.secrets().create_secret().name(format!("{name}-controller"));
    let secret = secret.secret_string(token.secret_id).send().await.unwrap();
    let cluster = stack.aws.ecs().create_cluster().cluster_name(name).send().await.unwrap();
    let parameters = [
        ("ConsulHttpAddr", stack.consul.address.as_str()),
        ("ConsulHttpTokenSecretArn", secret.arn().unwrap()),
        ("EcsClusterArns", cluster.cluster().unwrap().cluster_arn().unwrap()),
        ("SecretNamePrefix", name),
    ];
    deploy(&stack.aws, name, &parameters).await
}

#[tokio::test]
async fn messages_reach_the_deployed_function() {
    let stack = Stack::shared().await;
    let deployed = deployed(stack, "smoke").await;

    let client = stack.aws.sqs();
    let message = client
        .send_message()
        .queue_url(&deployed.queue_url)
        .message_body(r#"{"source":"tests","detail-type":"None of Our Business"}"#);
    let id = message.send().await.unwrap().message_id.unwrap();

    eventually("the function to take the message", SOON, || async {
        let left = stack.aws.messages(&deployed.queue_url).await;
        if left.iter().any(|message| message["MessageId"] == id.as_str()) { Err(format!("{left:?}")) } else { Ok(()) }
    })
    .await;
    assert!(stack.aws.messages(&deployed.failed_queue_url).await.is_empty());
}

#[tokio::test]
async fn two_stacks_can_coexist() {
    let stack = Stack::shared().await;
    let (one, two) = tokio::join!(deployed(stack, "side-one"), deployed(stack, "side-two"));
    assert_ne!(one.function_name, two.function_name);
    assert_ne!(one.queue_url, two.queue_url);
}

#[tokio::test]
async fn the_rule_matches_only_its_account_and_region() {
    let stack = Stack::shared().await;
    let deployed = deployed(stack, "pattern").await;
    let rule = stack.aws.call("events", "AWSEvents.DescribeRule", &json!({ "Name": deployed.rule_name })).await;
    let (own, other) = (("us-east-1", "000000000000"), ("eu-west-1", "123456789012"));
    for ((region, account), expected) in [(own, true), ((other.0, own.1), false), ((own.0, other.1), false)] {
        let event = json!({
            "id": "1", "account": account, "source": "aws.ecs", "time": "2026-01-01T00:00:00Z", "region": region,
            "resources": [], "detail-type": "ECS Task State Change",
            "detail": { "clusterArn": format!("arn:aws:ecs:{region}:{account}:cluster/pattern") },
        });
        let question = json!({ "EventPattern": rule["EventPattern"], "Event": event.to_string() });
        let answer = stack.aws.call("events", "AWSEvents.TestEventPattern", &question).await;
        assert_eq!(answer["Result"], expected, "{region} {account}");
    }
}

#[tokio::test]
async fn a_login_s_meta_is_in_the_token() {
    let consul = &Stack::shared().await.consul;
    let method = JwtAuthMethod::create(consul, "smoke-jwt").await;
    let token = method.log_in_task("web", "arn:aws:ecs:us-east-1:000000000000:cluster/c", "0123").await;
    let token = consul.get(&format!("/v1/acl/token/{}", token.accessor_id)).await;
    assert_eq!(
        token["Description"],
        "token created via login: {\"consul.hashicorp.com/cluster\":\"arn:aws:ecs:us-east-1:000000000000:cluster/c\",\
         \"consul.hashicorp.com/task-id\":\"0123\"}"
    );
    assert_eq!(token["ServiceIdentities"][0]["ServiceName"], "web");
}

#[tokio::test]
async fn a_restarted_consul_keeps_its_data() {
    let consul = Consul::start().await;
    let token = consul.token_with_rules("some", r#"node_prefix "" { policy = "read" }"#).await;
    consul.stop();
    let refused = local_stack::http::Answer::to(consul.request(Method::GET, "/v1/status/leader", "")).await;
    assert!(refused.is_err(), "{refused:?}");

    consul.start_again().await;
    let own = consul.call(Method::GET, "/v1/acl/token/self", &token.secret_id, None).await;
    assert_eq!(own.success().unwrap()["AccessorID"], token.accessor_id.as_str());
}

#[tokio::test]
async fn a_tls_consul_is_trusted_by_name() {
    let consul = Consul::start_with_certificate("server.dc1.consul", certificate_for("server.dc1.consul")).await;
    assert!(consul.get("/v1/acl/token/self").await["AccessorID"].is_string());

    let certificate = reqwest::Certificate::from_pem(consul.ca_certificate.as_ref().unwrap().as_bytes()).unwrap();
    let client = local_stack::http::builder().tls_certs_only([certificate]).build().unwrap();
    let by_address = client.get(format!("{}/v1/status/leader", consul.address)).send().await;
    assert!(by_address.is_err(), "the certificate does not contain the address");
}
