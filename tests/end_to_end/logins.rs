//! A login by IAM role: what it has Consul ask AWS, and the token that Consul gives for it.

use local_stack::{
    Stack,
    aws::{ACCOUNT, Aws},
    consul::Consul,
    http,
};
use mesh::consul_ecs::{SERVICE_METHOD, SERVICE_NAME_ENTITY_TAG};
use serde_json::json;
use test_harness::{
    aws_iam::{Session, SignedRequest, create_role, is_supported, use_local_aws},
    skip::skip_optional,
};

/// The answer of AWS to a request of a login, as Consul reads it: it demands this status and this type.
async fn answered(aws: &Aws, request: &SignedRequest) -> String {
    let mut call = http::client().post(&aws.endpoint).body(request.body.clone());
    for (name, values) in request.headers.as_object().unwrap() {
        call = call.header(name, values[0].as_str().unwrap());
    }
    let answer = call.send().await.unwrap();
    let kind = answer.headers()["content-type"].to_str().unwrap().to_owned();
    let (status, text) = (answer.status().as_u16(), answer.text().await.unwrap());
    assert_eq!((status, kind.as_str()), (200, "text/xml"), "{text}");
    text
}

fn element<'a>(xml: &'a str, name: &str) -> &'a str {
    let (_, rest) = xml.split_once(&format!("<{name}>")).unwrap_or_else(|| panic!("no {name}: {xml}"));
    rest.split('<').next().unwrap()
}

#[tokio::test]
async fn a_login_names_the_role_its_path_and_its_service() {
    let aws = &Stack::shared().await.aws;
    let role = create_role(aws, "login-asked").await;
    let session = Session::of(aws, &role, "task-1").await;
    let caller = answered(aws, &session.caller_identity()).await;
    let details = answered(aws, &session.role()).await;
    // The role is the caller's, by its ID
    assert_eq!(element(&caller, "UserId"), format!("{}:task-1", element(&details, "RoleId")));
    assert_eq!(element(&details, "Arn"), format!("arn:aws:iam::{ACCOUNT}:role/consul-ecs/login-asked"));
    let tag = format!("<Key>{SERVICE_NAME_ENTITY_TAG}</Key><Value>login-asked</Value>");
    assert!(details.contains(&tag), "{details}");
}

#[tokio::test]
async fn consul_gives_a_role_the_identity_of_its_service() {
    if !is_supported() {
        skip_optional("Consul has no auth methods of type aws-iam before 1.12");
        return;
    }
    let (aws, consul) = (&Stack::shared().await.aws, &Consul::start().await);
    let config = json!({
        "BoundIAMPrincipalARNs": [format!("arn:aws:iam::{ACCOUNT}:role/consul-ecs/*")],
        "EnableIAMEntityDetails": true,
        "IAMEntityTags": [SERVICE_NAME_ENTITY_TAG],
    });
    let method = json!({ "Name": SERVICE_METHOD, "Type": "aws-iam", "Config": config });
    consul.put("/v1/acl/auth-method", &method).await;
    let service = format!("${{entity_tags.{SERVICE_NAME_ENTITY_TAG}}}");
    let binding = json!({ "AuthMethod": SERVICE_METHOD, "BindType": "service", "BindName": service });
    consul.put("/v1/acl/binding-rule", &binding).await;
    use_local_aws(consul, aws).await;
    let role = create_role(aws, "login-bound").await;
    let session = Session::of(aws, &role, "task-2").await;
    let token = session.log_in(consul, &json!({ "consul.hashicorp.com/task-id": "task-2" })).await.unwrap();
    let read = consul.get(&format!("/v1/acl/token/{}", token.accessor_id)).await;
    assert_eq!(read["ServiceIdentities"][0]["ServiceName"], "login-bound", "{read}");
    assert_eq!(read["AuthMethod"], SERVICE_METHOD);
}
