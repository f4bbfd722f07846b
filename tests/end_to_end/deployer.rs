//! Who deploys: a user with exactly the permissions of docs/reference/permissions-to-deploy.md.

use std::{fs, path::PathBuf, process::Stdio};

use futures::future::join_all;
use local_stack::{
    Stack,
    aws::REGION,
    deploy::{BUCKET, TIME_BOUNDS, events, packaged_template, sam_delete, sam_deploy, status},
    in_repository, scratch,
    users::{deploying, page_of_deployers},
};
use serde_json::{Value, json};
use tokio::process::Command;

use crate::fixture::{Fixture, controller_token};

/// The bucket of the code: its name is like that of the bucket which the SAM CLI creates.
const CODE: &str = "aws-sam-cli-managed-default-code";

/// The packaged template, with its code in another bucket: `sam delete` deletes what it finds there.
async fn template() -> PathBuf {
    let aws = &Stack::shared().await.aws;
    let text = fs::read_to_string(packaged_template(aws).await).unwrap();
    let s3 = aws_sdk_s3::Client::new(&aws.sdk());
    s3.create_bucket().bucket(CODE).send().await.expect("CreateBucket");
    let old = format!("s3://{BUCKET}/");
    for key in text.split(&old).skip(1).map(|rest| rest.split_whitespace().next().expect("a key")) {
        let copy = s3.copy_object().bucket(CODE).key(key).copy_source(format!("{BUCKET}/{key}"));
        copy.send().await.expect("CopyObject");
    }
    let path = scratch::directory().join("deployed-by-a-user.yaml");
    fs::write(&path, text.replace(&old, &format!("s3://{CODE}/"))).unwrap();
    path
}

/// The parameters of a stack that manages one cluster, for functions in a VPC.
async fn parameters(stack: &str) -> Vec<(&'static str, String)> {
    let Stack { aws, consul } = Stack::shared().await;
    aws.create_cluster(stack).await;
    let token = controller_token(consul, stack).await;
    vec![
        ("ConsulHttpAddr", consul.address.clone()),
        ("ConsulHttpTokenSecretArn", aws.create_secret(&format!("{stack}-controller"), &token.secret_id).await),
        ("EcsClusterArns", stack.to_owned()),
        ("SecretNamePrefix", stack.to_owned()),
        ("ReconcileRate", "rate(1 day)".to_owned()),
        ("Bootstrap", "none".to_owned()),
        ("TimeBounds", TIME_BOUNDS.to_owned()),
    ]
}

fn borrowed<'a>(parameters: &'a [(&'static str, String)]) -> Vec<(&'a str, &'a str)> {
    parameters.iter().map(|(name, value)| (*name, value.as_str())).collect()
}

/// A denied call in AWS's words, and the action that is missing.
struct Denied {
    action: String,
    sentence: String,
}

/// The table of the page, for a stack.
fn denied(stack: &str) -> Vec<Denied> {
    let page = page_of_deployers(stack);
    let (_, table) = page.split_once("is not authorized to perform:` |").expect("the table");
    let rows = table.lines().skip(2).take_while(|line| line.starts_with('|'));
    rows.map(|row| {
        let shown = row.split('`').nth(1).expect("a sentence");
        let action = shown.split(' ').next().unwrap_or_default().to_owned();
        Denied { action, sentence: format!("is not authorized to perform: {}", shown.trim_end_matches('…')) }
    })
    .collect()
}

/// The policies without an action. Where the sentence names the resource of a statement, only that one loses it.
fn without(denied: &Denied, policies: &[Value]) -> Vec<Value> {
    let mut policies = policies.to_vec();
    let statements = policies.iter_mut().flat_map(|policy| policy["Statement"].as_array_mut().unwrap());
    let mut having: Vec<&mut Value> = statements
        .filter(|statement| statement["Action"].as_array().unwrap().iter().any(|it| *it == *denied.action))
        .collect();
    let is_named = |statement: &Value| statement["Resource"].as_str().is_some_and(|arn| denied.sentence.ends_with(arn));
    let is_one_named = having.iter().any(|statement| is_named(statement));
    having.retain(|statement| !is_one_named || is_named(statement));
    assert!(!having.is_empty(), "the page does not grant {}", denied.action);
    for statement in having {
        statement["Action"].as_array_mut().unwrap().retain(|it| *it != *denied.action);
    }
    policies.retain_mut(|policy| {
        let statements = policy["Statement"].as_array_mut().unwrap();
        statements.retain(|statement| statement["Action"] != serde_json::json!([]));
        !statements.is_empty()
    });
    policies
}

#[tokio::test]
async fn with_the_policies_of_the_page_the_stack_is_deployed_updated_and_deleted() {
    // Given a user with the permissions of the page
    let aws = &Stack::shared().await.aws;
    let stack = "deployer";
    let key = aws.user(stack, &deploying(stack, &["resources", "sam"])).await;
    let (template, mut parameters) = (template().await, parameters(stack).await);
    parameters.push(("LambdaPermissionsBoundary", "arn:aws:iam::aws:policy/AdministratorAccess".to_owned()));
    sam_deploy(aws, &key, &template, stack, &borrowed(&parameters), &["--resolve-s3"]).await.unwrap();

    // When all kinds of resources change, and some are removed
    parameters.retain(|(name, _)| *name != "LambdaPermissionsBoundary");
    for (name, value) in
        [("Mode", "observe"), ("Audit", "false"), ("LogRetentionDays", "7"), ("MaximumConcurrency", "5")]
    {
        parameters.push((name, value.to_owned()));
    }
    parameters.push(("LambdaPermissionsBoundary", String::new()));
    let further = ["--resolve-s3", "--tags", "team=mesh"];
    sam_deploy(aws, &key, &template, stack, &borrowed(&parameters), &further).await.unwrap();
    assert_eq!(status(aws, stack).await, "UPDATE_COMPLETE");

    // Then the same user can remove everything, and nothing was denied: CloudFormation goes on where it cannot clean up
    sam_delete(aws, &key, stack).await.unwrap();
    let said = events(aws, stack).await;
    assert!(said.contains("DELETE_COMPLETE") && !said.contains("not authorized"), "{said}");
}

#[tokio::test]
async fn without_a_rare_action_the_deployment_fails_with_the_sentence_of_the_page() {
    let aws = &Stack::shared().await.aws;
    let template = packaged_template(aws).await;
    let rows = denied("undeployed").len();
    let failures = (0..rows).map(|row| async move {
        let stack = format!("undeployed-{row}");
        let missing = denied(&stack).swap_remove(row);
        let policies = deploying(&stack, &["resources", "sam"]);
        let code = policies.iter().map(|it| it.to_string().replace("aws-sam-cli-managed-default-*", BUCKET));
        let policies: Vec<Value> = code.map(|it| serde_json::from_str(&it).unwrap()).collect();
        let key = aws.user(&stack, &without(&missing, &policies)).await;
        let parameters = parameters(&stack).await;
        let arguments = ["--s3-bucket", BUCKET];
        let said = sam_deploy(aws, &key, template, &stack, &borrowed(&parameters), &arguments).await.unwrap_err();
        let said = said.split_whitespace().collect::<Vec<_>>().join(" ") + &events(aws, &stack).await;
        assert!(said.contains(&missing.sentence), "{}: {said}", missing.sentence);
    });
    assert!(rows > 0, "the table of the page");
    join_all(failures).await;
}

#[tokio::test]
async fn the_policies_of_one_stack_deploy_no_other() {
    let aws = &Stack::shared().await.aws;
    let key = aws.user("narrow", &deploying("narrow", &["resources", "sam"])).await;
    let template = packaged_template(aws).await;
    let said = sam_deploy(aws, &key, template, "broad", &[], &["--s3-bucket", BUCKET]).await.unwrap_err();
    assert!(said.contains("is not authorized to perform: cloudformation:"), "{said}");
}

/// The new values of a deployment by `make deploy`, or why it gives up: there is no terminal to ask on.
async fn values(stack: &str, parameters: &str) -> Result<Value, String> {
    let file = scratch::directory().join(format!("{stack}-parameters.yaml"));
    let mut command = Command::new(in_repository("target/tools/venv/bin/python"));
    command.arg(in_repository("scripts/deploy.py")).arg("x86_64").arg(&file).env_clear();
    command.envs([("STACK", stack), ("PARAMETERS", parameters), ("AWS_DEFAULT_REGION", REGION)]);
    command.envs([("AWS_ACCESS_KEY_ID", "test"), ("AWS_SECRET_ACCESS_KEY", "test")]);
    command.env("AWS_ENDPOINT_URL", &Stack::shared().await.aws.endpoint);
    let output = command.stdin(Stdio::null()).output().await.unwrap();
    if output.status.success() {
        // JSON is YAML.
        Ok(serde_json::from_slice(&fs::read(file).unwrap()).unwrap())
    } else {
        Err(String::from_utf8(output.stderr).unwrap())
    }
}

#[tokio::test]
async fn a_deployment_from_a_clone_lacks_only_what_neither_the_call_nor_the_stack_gives() {
    Fixture::get().await;
    let update = values("mesh", "Mode=observe ReconcileRate='rate(10 minutes)'").await;
    let new = json!({ "Mode": "observe", "ReconcileRate": "rate(10 minutes)", "Architecture": "x86_64" });
    assert_eq!(update.expect("a stack that has the rest"), new);

    let creation = values("new-from-a-clone", "EcsClusterArns=prod").await.unwrap_err();
    assert!(creation.contains("needs values for ConsulHttpAddr, ConsulHttpTokenSecretArn: "), "{creation}");

    for (refused, reason) in [
        ("Mode=obs", "Mode must be one of act, observe"),
        ("ConsulHttpAddr=consul:8500", "ConsulHttpAddr must be http(s)://host:port"),
        ("Mod=observe", "no parameter Mod."),
        ("observe", "write NAME=VALUE"),
    ] {
        let error = values("mesh", refused).await.unwrap_err();
        assert!(error.contains(reason), "{refused}: {error}");
    }
}
