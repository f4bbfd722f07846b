//! The controllers: `controller` from 0.7 on, `acl-controller` before.

use serde_json::json;

use super::{
    configuration::{controller as configuration, environment},
    containers::{certificates, made, secret},
    inputs::Inputs,
    release::Kind,
};
use crate::{
    document::{HOLE, Node, Value},
    input::terraform_source::values::text,
};

fn name(kind: Kind) -> &'static str {
    if kind == Kind::Controller { "consul-ecs-controller" } else { "consul-acl-controller" }
}

/// The arguments of the task definition.
pub(super) fn values(inputs: &Inputs, kind: Kind) -> Node {
    let prefix = inputs.text("name_prefix", "");
    let family = match &prefix.value {
        Value::Text(prefix_text) => text(format!("{prefix_text}-{}", name(kind)), prefix.place.span),
        _ => text(format!("{HOLE}-{}", name(kind)), prefix.place.span),
    };
    let compatibilities = if kind == Kind::Controller { json!(["EC2", "FARGATE"]) } else { json!(["FARGATE"]) };
    let role = || text(format!("arn:{HOLE}"), inputs.label);
    inputs.map([
        ("family", family),
        ("network_mode", inputs.made("awsvpc".into())),
        ("requires_compatibilities", inputs.or("requires_compatibilities", compatibilities)),
        ("task_role_arn", role()),
        ("execution_role_arn", role()),
    ])
}

/// The only container.
pub(super) fn containers(inputs: &Inputs, kind: Kind) -> Node {
    let token = inputs.text("consul_bootstrap_token_secret_arn", "");
    let mut secrets = secret(inputs, "CONSUL_HTTP_TOKEN", &token);
    let fixed = json!({
        "name": name(kind), "essential": true, "linuxParameters": {"initProcessEnabled": true},
    });
    let container = if kind == Kind::Controller {
        secrets.extend(certificates(inputs));
        let own = [
            ("command", inputs.made(json!(["controller"]))),
            ("environment", environment(inputs, &configuration(inputs))),
        ];
        made(inputs, fixed, own)
    } else {
        secrets.extend(secret(inputs, "CONSUL_CACERT_PEM", &inputs.text("consul_server_ca_cert_arn", "")));
        let address = inputs.map([
            ("name", inputs.made("CONSUL_HTTP_ADDR".into())),
            ("value", inputs.text("consul_server_http_addr", "")),
        ]);
        // An unknown word stands for the flags, which contain the ARN of a secret that the module creates.
        let command = inputs.made(json!(["acl-controller", HOLE.to_string()]));
        made(inputs, fixed, [("command", command), ("environment", inputs.list(vec![address]))])
    };
    let given = [("image", inputs.consul_ecs_image()), ("secrets", inputs.list(secrets))];
    inputs.list(vec![inputs.merge(&[container, inputs.map(given)])])
}
