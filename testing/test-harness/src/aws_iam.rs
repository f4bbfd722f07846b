//! Logins at Consul's auth method of type `aws-iam`, as tasks make them: the login holds two requests to AWS, and Consul sends them to
//! learn the caller's role and its tags. Here they reach `MiniStack`.
//!
//! Sources: <https://developer.hashicorp.com/consul/docs/security/acl/auth-methods/aws-iam>,
//! <https://github.com/hashicorp/consul-awsauth/blob/main/token.go>

use std::time::SystemTime;

use aws_credential_types::Credentials;
use aws_sigv4::{
    http_request::{SignableBody, SignableRequest, SigningSettings, sign},
    sign::v4,
};
use aws_smithy_types::base64;
use local_stack::{
    aws::{Aws, REGION},
    consul::{self, Consul, Token},
    http::Answer,
};
use mesh::consul_ecs::{SERVICE_METHOD, SERVICE_NAME_ENTITY_TAG};
use reqwest::Method;
use serde_json::{Value, json};

const FORM: &str = "application/x-www-form-urlencoded; charset=utf-8";

/// Whether this Consul has the type `aws-iam`.
pub fn is_supported() -> bool {
    consul::version() >= (1, 12)
}

/// The auth method of services, which the controller has set up, with AWS at `MiniStack`.
pub async fn use_local_aws(consul: &Consul, aws: &Aws) {
    let path = format!("/v1/acl/auth-method/{SERVICE_METHOD}");
    let mut method = consul.get(&path).await;
    for endpoint in ["STSEndpoint", "IAMEndpoint"] {
        method["Config"][endpoint] = json!(aws.endpoint);
    }
    consul.put(&path, &method).await;
}

/// A role with the path and the tag of a service on ECS, which may read itself. Returns its ARN.
pub async fn create_role(aws: &Aws, service: &str) -> String {
    let iam = aws_sdk_iam::Client::new(&aws.sdk());
    let statement =
        json!({ "Effect": "Allow", "Principal": { "Service": "ecs-tasks.amazonaws.com" }, "Action": "sts:AssumeRole" });
    let trust = json!({ "Version": "2012-10-17", "Statement": [statement] });
    let tag = aws_sdk_iam::types::Tag::builder().key(SERVICE_NAME_ENTITY_TAG).value(service).build().expect("a tag");
    let role = iam.create_role().role_name(service).path("/consul-ecs/").tags(tag);
    let created = role.assume_role_policy_document(trust.to_string()).send().await.expect("CreateRole");
    let arn = created.role().expect("a role").arn().to_owned();
    let statement = json!({ "Effect": "Allow", "Action": "iam:GetRole", "Resource": arn });
    let policy = json!({ "Version": "2012-10-17", "Statement": [statement] });
    let policy = iam.put_role_policy().role_name(service).policy_name("itself").policy_document(policy.to_string());
    policy.send().await.expect("PutRolePolicy");
    arn
}

/// A session of a task's role.
pub struct Session {
    endpoint: String,
    role_name: String,
    credentials: Credentials,
}

/// A request to AWS, as it stands in a login.
pub struct SignedRequest {
    pub headers: Value,
    pub body: String,
}

impl Session {
    /// The session that ECS gives to a task.
    pub async fn of(aws: &Aws, role_arn: &str, task_id: &str) -> Self {
        let body = format!("Action=AssumeRole&Version=2011-06-15&RoleArn={role_arn}&RoleSessionName={task_id}");
        let request = aws.request(Method::POST, "/", "sts").header("Content-Type", FORM).body(body);
        let answer = Answer::to(request).await.and_then(Answer::success).expect("AssumeRole");
        let xml = answer.as_str().expect("XML");
        let text = |element: &str| {
            let (_, rest) = xml.split_once(&format!("<{element}>")).unwrap_or_else(|| panic!("no {element}: {xml}"));
            rest.split('<').next().unwrap_or_default().to_owned()
        };
        let role_name = role_arn.rsplit('/').next().unwrap_or_default().to_owned();
        let key = Credentials::new(
            text("AccessKeyId"),
            text("SecretAccessKey"),
            Some(text("SessionToken")),
            None,
            "the task's role",
        );
        Self { endpoint: format!("{}/", aws.endpoint), role_name, credentials: key }
    }

    /// Who calls.
    pub fn caller_identity(&self) -> SignedRequest {
        self.signed("sts", "Action=GetCallerIdentity&Version=2011-06-15".to_owned())
    }

    /// The role with its path and its tags.
    pub fn role(&self) -> SignedRequest {
        self.signed("iam", format!("Action=GetRole&RoleName={}&Version=2010-05-08", self.role_name))
    }

    fn signed(&self, service: &str, body: String) -> SignedRequest {
        let form = [("content-type", FORM)];
        let request =
            SignableRequest::new("POST", &self.endpoint, form.into_iter(), SignableBody::Bytes(body.as_bytes()));
        let identity = self.credentials.clone().into();
        let parameters = v4::SigningParams::builder()
            .identity(&identity)
            .region(REGION)
            .name(service)
            .time(SystemTime::now())
            .settings(SigningSettings::default())
            .build()
            .expect("all parameters");
        let signed = sign(request.expect("a request"), &parameters.into()).expect("a signature");
        let (instructions, _) = signed.into_parts();
        let headers = form.into_iter().chain(instructions.headers()).map(|(name, value)| (name, json!([value])));
        SignedRequest { headers: headers.map(|(name, value)| (name.to_owned(), value)).collect(), body }
    }

    /// The bearer token of a login.
    fn bearer(&self) -> String {
        let url = &self.endpoint;
        let (mut caller, role) = (self.caller_identity(), self.role());
        // The names as Go writes them: Consul looks them up in this spelling.
        caller.headers["X-Consul-Iam-Getentity-Method"] = json!(["POST"]);
        caller.headers["X-Consul-Iam-Getentity-Url"] = json!([url]);
        caller.headers["X-Consul-Iam-Getentity-Headers"] = json!([role.headers.to_string()]);
        caller.headers["X-Consul-Iam-Getentity-Body"] = json!([role.body]);
        let login = json!({
            "iam_http_request_method": "POST",
            "iam_request_url": base64::encode(url),
            "iam_request_headers": base64::encode(caller.headers.to_string()),
            "iam_request_body": base64::encode(caller.body),
        });
        login.to_string()
    }

    /// Logs in at the auth method of services, and returns the token. `Err` is the refusal.
    pub async fn log_in(&self, consul: &Consul, meta: &Value) -> Result<Token, String> {
        self.log_in_at(SERVICE_METHOD, consul, meta).await
    }

    /// The same, at any auth method.
    pub async fn log_in_at(&self, method: &str, consul: &Consul, meta: &Value) -> Result<Token, String> {
        let login = json!({ "AuthMethod": method, "BearerToken": self.bearer(), "Meta": meta });
        let request = consul.request(Method::POST, "/v1/acl/login", "").json(&login);
        Ok(Token::from(&Answer::to(request).await.and_then(Answer::success)?))
    }
}
