//! The bootstrap keeps what other owners have set up.

use serde_json::json;

use crate::bootstrap::{bootstrap, controller, errors, fake::Fake, writes};

#[tokio::test]
async fn another_account_s_auth_method_is_extended() {
    let fake = Fake::new();
    let theirs = "arn:aws:iam::999999999999:role/consul-ecs/*";
    let method = json!({
        "Name": "iam-ecs-service-token", "Type": "aws-iam", "Description": "AWS IAM auth method for ECS service tokens",
        "MaxTokenTTL": "1h", "CreateIndex": 7,
        "Config": {
            "BoundIAMPrincipalARNs": [theirs],
            "EnableIAMEntityDetails": true,
            "IAMEntityTags": ["consul.hashicorp.com.service-name", "team"],
            "STSEndpoint": "https://sts.example",
        },
    });
    fake.put("acl/auth-method/iam-ecs-service-token", method);
    let consul = fake.start().await;
    let report = bootstrap(&controller(&consul.url, "own", &[]).await).await;
    assert_eq!(errors(&report), [""; 0]);
    assert!(report.updated.contains(&"auth method iam-ecs-service-token".to_owned()), "{report:?}");

    let method = fake.get("acl/auth-method/iam-ecs-service-token");
    assert_eq!(method["MaxTokenTTL"], "1h");
    let config = &method["Config"];
    assert_eq!(config["STSEndpoint"], "https://sts.example");
    assert_eq!(config["BoundIAMPrincipalARNs"], json!([theirs, "arn:aws:iam::123456789012:role/consul-ecs/*"]));
    assert_eq!(
        config["IAMEntityTags"],
        json!([
            "consul.hashicorp.com.service-name",
            "team",
            "consul.hashicorp.com.gateway-kind",
            "consul.hashicorp.com.namespace",
        ])
    );
    let updates: Vec<String> = writes(&consul).into_iter().map(|(line, _)| line).collect();
    assert!(updates.contains(&"PUT /v1/acl/auth-method/iam-ecs-service-token".to_owned()), "{updates:?}");
}

#[tokio::test]
async fn a_user_s_policies_and_rules_are_kept() {
    let fake = Fake::new();
    let user = json!({ "ID": "p-1", "Name": "user" });
    fake.put(
        "acl/role/consul-ecs-mesh-gateway-role",
        json!({ "ID": "r-1", "Name": "consul-ecs-mesh-gateway-role", "Policies": [user] }),
    );
    let widened =
        json!({ "ID": "p-2", "Name": "consul-ecs-mesh-gateway-policy", "Rules": "mesh = \"write\" # and more" });
    fake.put("acl/policy/consul-ecs-mesh-gateway-policy", widened.clone());
    let consul = fake.start().await;
    let report = bootstrap(&controller(&consul.url, "own", &[]).await).await;
    assert_eq!(errors(&report), [""; 0]);
    assert_eq!(fake.get("acl/policy/consul-ecs-mesh-gateway-policy"), widened);
    let attached = &fake.get("acl/role/consul-ecs-mesh-gateway-role")["Policies"];
    assert_eq!(*attached, json!([user, { "Name": "consul-ecs-mesh-gateway-policy" }]));
    let role = writes(&consul).into_iter().find(|(line, _)| line.starts_with("PUT /v1/acl/role/")).unwrap();
    assert_eq!(role.0, "PUT /v1/acl/role/r-1");
}

#[tokio::test]
async fn an_auth_method_of_another_type_stays() {
    let fake = Fake::new();
    let theirs = json!({ "Name": "iam-ecs-service-token", "Type": "jwt", "Config": { "BoundIssuer": "theirs" } });
    fake.put("acl/auth-method/iam-ecs-service-token", theirs.clone());
    let consul = fake.start().await;
    let report = bootstrap(&controller(&consul.url, "own", &[]).await).await;
    let errors = errors(&report);
    assert_eq!(errors.len(), 5, "the method and its four rules: {errors:?}");
    assert!(errors[0].contains("iam-ecs-service-token") && errors[0].contains("\"jwt\""), "{}", errors[0]);
    assert_eq!(fake.get("acl/auth-method/iam-ecs-service-token"), theirs);
    // And the client agents' method is created nevertheless
    assert_eq!(fake.get("acl/auth-method/iam-ecs-client-token")["Type"], "aws-iam");
}
