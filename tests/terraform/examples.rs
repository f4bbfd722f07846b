//! Each example of the module: valid, applied, and destroyed. The examples of services are formatted, and valid if they need
//! no module of a registry.

use local_stack::{
    Stack,
    aws::ACCOUNT,
    functions::packaged,
    http::Answer,
    in_repository,
    users::deploying,
    world::{cluster_arn, documented_policy},
};
use reqwest::Method;
use serde_json::{Value, json};
use std::{fs, path::PathBuf};

use crate::terraform::{Terraform, function, has_node, has_stack, secret_in};

/// A secret with a token that has the documented policy.
async fn controller_token(name: &str) -> String {
    let stack = Stack::shared().await;
    let token = stack.consul.token_with_rules(name, &documented_policy()).await;
    stack.aws.create_secret(name, &token.secret_id).await
}

/// An example in which the controller finds Consul, and its token.
async fn with_consul(example: &str) -> Option<Terraform> {
    let mut terraform = Terraform::example(example).await?;
    terraform.permit_old_consul(&["controller"]);
    terraform.set("consul_http_addr", &Stack::shared().await.consul.address);
    terraform.set("consul_token_secret_arn", &controller_token(example).await);
    Some(terraform)
}

async fn mode(controller: &Value) -> Value {
    function(&controller["reconcile_function_name"]).await["Environment"]["Variables"]["MODE"].clone()
}

/// What the template says of the function `task-events`.
async fn description(controller: &Value) -> String {
    let function = function(&controller["task_events_function_name"]).await;
    function["Description"].as_str().expect("a description").to_owned()
}

/// A package with the same code, and another template.
fn another_release() -> PathBuf {
    let package = packaged().with_file_name("another-release");
    fs::create_dir_all(&package).unwrap();
    for file in ["task-events.zip", "reconcile.zip", "audit.zip"] {
        fs::copy(packaged().join(file), package.join(file)).unwrap();
    }
    let template = fs::read_to_string(packaged().join("template.yaml")).unwrap();
    let template = template.replace("Description: Updates Consul", "Description: Another release updates Consul");
    fs::write(package.join("template.yaml"), template).unwrap();
    package
}

#[tokio::test]
async fn the_module_and_its_examples_are_formatted_and_valid() {
    let Some(terraform) = Terraform::root("formatted", "module \"stand_in\" {\n  source = \"../..\"\n}\n").await else {
        return;
    };
    let sources = in_repository("deploy/terraform");
    terraform.done(&["fmt", "-check", "-recursive", "-diff", sources.to_str().unwrap()]).await;
    for example in ["new-mesh", "cluster-pattern", "accounts-and-regions", "move-from-hashicorp"] {
        let folder = format!("-chdir=../{example}");
        terraform.done(&[&folder, "init", "-input=false"]).await;
        terraform.done(&[&folder, "validate"]).await;
    }
}

#[tokio::test]
async fn the_examples_of_services_are_formatted_and_valid() {
    let examples = in_repository("examples/terraform");
    let legacy = fs::read_to_string(examples.join("legacy-service/main.tf")).unwrap();
    let Some(terraform) = Terraform::root("legacy-service", &legacy).await else { return };
    terraform.done(&["fmt", "-check", "-recursive", "-diff", examples.to_str().unwrap()]).await;
    terraform.done(&["validate"]).await;
}

#[tokio::test]
async fn a_new_mesh_is_deployed_updated_rolled_back_and_removed() {
    let Some(mut terraform) = with_consul("new-mesh").await else { return };
    // By a user with exactly the documented permissions, and those for the cluster of the example
    let stack = "new-mesh-ecs-mesh-controller";
    let cluster = json!({ "Effect": "Allow", "Action": "ecs:*", "Resource": "*" });
    let mut policies = deploying(stack, &["resources", "terraform"]);
    policies.push(json!({ "Version": "2012-10-17", "Statement": [cluster] }));
    terraform.run_as(&Stack::shared().await.aws.user(stack, &policies).await);

    terraform.apply(&[]).await;

    let controller = terraform.output("controller").await;
    assert_eq!(mode(&controller).await, "act");
    assert!(has_node("new-mesh").await, "the deployment sets Consul up");
    assert_eq!((&controller["advice"], &controller["ignored_variables"]), (&json!([]), &json!([])));

    // An update to another release that fails is rolled back, and the next apply tries it again
    terraform.set("package", another_release().to_str().unwrap());
    terraform.set("consul_http_addr", "http://127.0.0.1:1");
    let said = terraform.run(&["apply", "-auto-approve"]).await;
    assert!(said.code == Some(1) && said.text.contains("Consul is unavailable"), "{}", said.text);
    assert!(!description(&controller).await.starts_with("Another release"));

    terraform.set("consul_http_addr", &Stack::shared().await.consul.address);
    terraform.apply(&[]).await;
    assert!(description(&controller).await.starts_with("Another release"));

    terraform.destroy(&[]).await;
    assert!(!has_stack(stack).await);
}

#[tokio::test]
async fn a_pattern_selects_clusters() {
    let Some(terraform) = with_consul("cluster-pattern").await else { return };
    for cluster in ["prod-web", "prod-jobs", "staging-web"] {
        Stack::shared().await.aws.create_cluster(cluster).await;
    }
    // And a bucket for the package
    let bucket =
        async |method| Answer::to(Stack::shared().await.aws.request(method, "/given-bucket", "s3")).await.unwrap();
    assert_eq!(bucket(Method::PUT).await.status, 200);
    terraform.change("bucket", "module \"controller\" {\n  bucket = \"given-bucket\"\n}\n");

    terraform.apply(&[]).await;

    assert!(has_node("prod-web").await && has_node("prod-jobs").await);
    assert!(!has_node("staging-web").await);
    let controller = terraform.output("controller").await;
    assert_ne!(controller["pre_provision_rule_name"], Value::Null, "token_mode is auto");
    assert!(bucket(Method::GET).await.body.to_string().contains("task-events.zip"));
    terraform.destroy(&[]).await;
    let left = bucket(Method::GET).await;
    assert!(left.status == 200 && !left.body.to_string().contains("task-events.zip"), "{left:?}");
}

/// Whether HashiCorp's controller, or the stand-in, is deployed.
async fn has_old_controller() -> bool {
    let ecs = Stack::shared().await.aws.ecs();
    let described = ecs.describe_services().cluster(cluster_arn("move")).services("consul-ecs-controller").send().await;
    described.is_ok_and(|answer| answer.services().iter().any(|service| service.status() == Some("ACTIVE")))
}

#[tokio::test]
async fn the_move_from_hashicorps_module_and_back() {
    let Some(mut terraform) = Terraform::example("move-from-hashicorp").await else { return };
    terraform.permit_old_consul(&["ecs_mesh_controller"]);
    let Stack { aws, consul } = Stack::shared().await;
    let (_, port) = consul.address.rsplit_once(':').unwrap();
    terraform.set("consul_server_hosts", "127.0.0.1");
    terraform.set("consul_http_port", port);
    terraform.set("tls", "false");
    terraform.set("subnets", "[\"subnet-00000001\"]");
    let bootstrap_token = aws.create_secret("bootstrap-token", &consul.management_token).await;
    terraform.set("consul_bootstrap_token_secret_arn", &bootstrap_token);
    let step = async |file: &str| {
        terraform.done(&["apply", "-auto-approve", &format!("-var-file={file}.tfvars")]).await;
        let controller = terraform.output("controller").await;
        let mode = if controller.is_null() { Value::Null } else { mode(&controller).await };
        (has_old_controller().await, mode)
    };

    assert_eq!(step("1-before").await, (true, Value::Null));
    assert_eq!(step("2-observe").await, (true, json!("observe")));
    assert_eq!(step("3-remove-old").await, (false, json!("observe")));
    assert!(!has_node("move").await, "Mode=observe writes nothing");
    assert_eq!(step("4-act").await, (false, json!("act")));
    assert!(has_node("move").await);
    terraform.apply(&["-var-file=4-act.tfvars"]).await;
    // Back
    assert_eq!(step("3-remove-old").await, (false, json!("observe")));
    assert_eq!(step("2-observe").await, (true, json!("observe")));
    assert_eq!(step("1-before").await, (true, Value::Null));
    assert!(!has_stack("move-ecs-mesh-controller").await);
    terraform.destroy(&["-var-file=1-before.tfvars"]).await;
}

#[tokio::test]
async fn each_account_and_region_has_its_stack() {
    let Some(mut terraform) = Terraform::example("accounts-and-regions").await else { return };
    terraform.permit_old_consul(&["here", "other_region", "other_account"]);
    // When MiniStack creates a function, it ends running functions of the same name in all accounts and regions.
    let call = |name: &str| format!("module \"{name}\" {{\n  name_prefix = \"{}\"\n}}\n", name.replace('_', "-"));
    terraform.change("name", &["other_region", "other_account"].map(call).concat());
    let other = "111111111111";
    terraform.provider("other_region", ACCOUNT);
    terraform.provider("other_account", other);
    terraform.set("consul_http_addr", &Stack::shared().await.consul.address);
    let places =
        [("here", ACCOUNT, "us-east-1"), ("other_region", ACCOUNT, "eu-west-1"), ("other_account", other, "us-east-1")];
    let token = &Stack::shared().await.consul.management_token;
    let mut arns = serde_json::Map::new();
    for (name, account, region) in places {
        arns.insert(name.to_owned(), json!(secret_in(account, region, token).await));
    }
    terraform.set("consul_token_secret_arns", &Value::from(arns).to_string());

    terraform.apply(&[]).await;

    let controllers = terraform.output("controllers").await;
    for (name, account, region) in places {
        let arn = controllers[name]["reconcile_function_arn"].as_str().unwrap();
        assert!(arn.starts_with(&format!("arn:aws:lambda:{region}:{account}:")), "{arn}");
    }
    terraform.destroy(&[]).await;
}
