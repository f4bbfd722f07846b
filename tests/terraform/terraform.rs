//! Terraform in a copy of the module, with the local AWS.

use std::{
    collections::BTreeMap,
    env, fs,
    path::{Path, PathBuf},
    process::Output,
    time::Duration,
};

use local_stack::{
    Stack, consul,
    functions::packaged,
    http::{self, Answer},
    in_repository, scratch,
    users::Key,
};
use reqwest::Method;
use serde_json::{Value, json};
use test_harness::skip::skip_optional;
use tokio::process::Command;

/// The environment variable with the folder of a filesystem mirror:
/// <https://developer.hashicorp.com/terraform/cli/config/config-file#filesystem_mirror>
const MIRROR: &str = "TERRAFORM_PROVIDERS";
/// How long one run may take on a busy machine.
const LONGEST_RUN: Duration = Duration::from_mins(10);
/// Settings of the provider for an AWS that is not the real one.
const LOCAL: &str = "skip_credentials_validation = true\n  skip_metadata_api_check = true\n  s3_use_path_style = true";

/// A root module.
pub(crate) struct Terraform {
    program: PathBuf,
    directory: PathBuf,
    env: BTreeMap<String, String>,
}

/// What a run has printed, without Terraform's frames and line breaks.
pub(crate) struct Said {
    pub(crate) code: Option<i32>,
    pub(crate) text: String,
}

impl Terraform {
    /// A copy of an example, initialized. `None`, after the test was reported as skipped, if something is missing.
    pub(crate) async fn example(name: &str) -> Option<Self> {
        Self::prepare(name, |_| ()).await
    }

    /// A root module next to the examples.
    pub(crate) async fn root(name: &str, main: &str) -> Option<Self> {
        Self::prepare(name, |directory| {
            fs::create_dir_all(directory).unwrap();
            fs::write(directory.join("main.tf"), main).unwrap();
        })
        .await
    }

    async fn prepare(name: &str, write: impl FnOnce(&Path)) -> Option<Self> {
        let (program, mirror) = requirements_or_skip()?;
        let stack = Stack::shared().await;
        // As the archive of a release: the package, and in it the module.
        let package = scratch::directory().join(format!("terraform-{name}"));
        fs::create_dir_all(&package).unwrap();
        for file in ["template.yaml", "task-events.zip", "reconcile.zip", "audit.zip"] {
            std::os::unix::fs::symlink(packaged().join(file), package.join(file)).unwrap();
        }
        copy(&in_repository("deploy/terraform"), &package.join("terraform"));
        let directory = package.join("terraform/examples").join(name);
        write(&directory);
        let configuration = package.join("terraform.rc");
        let mirror = format!("provider_installation {{\n  filesystem_mirror {{\n    path = \"{mirror}\"\n  }}\n}}\n");
        fs::write(&configuration, mirror).unwrap();
        let env = [
            ("PATH", env::var("PATH").unwrap_or_default()),
            ("HOME", package.display().to_string()),
            ("TF_CLI_CONFIG_FILE", configuration.display().to_string()),
            ("TF_IN_AUTOMATION", "1".to_owned()),
            ("CHECKPOINT_DISABLE", "1".to_owned()),
            ("AWS_ENDPOINT_URL", stack.aws.endpoint.clone()),
            ("AWS_ACCESS_KEY_ID", "test".to_owned()),
            ("AWS_SECRET_ACCESS_KEY", "test".to_owned()),
            ("TF_VAR_package", packaged().display().to_string()),
        ];
        let env = env.map(|(name, value)| (name.to_owned(), value)).into();
        let terraform = Self { program, directory, env };
        terraform.change("provider", &format!("provider \"aws\" {{\n  {LOCAL}\n}}\n"));
        terraform.done(&["init", "-input=false"]).await;
        Some(terraform)
    }

    /// Sets a variable of the root module.
    pub(crate) fn set(&mut self, variable: &str, value: &str) {
        self.env.insert(format!("TF_VAR_{variable}"), value.to_owned());
    }

    /// Runs Terraform as the user with this key.
    pub(crate) fn run_as(&mut self, key: &Key) {
        self.env.insert("AWS_ACCESS_KEY_ID".to_owned(), key.id.clone());
        self.env.insert("AWS_SECRET_ACCESS_KEY".to_owned(), key.secret.clone());
    }

    /// Changes the configuration by a file whose arguments replace those in `main.tf`.
    pub(crate) fn change(&self, what: &str, text: &str) {
        fs::write(self.directory.join(format!("{what}_override.tf")), text).unwrap();
    }

    /// Lets calls of the module work with a Consul before 1.12, which has no auth methods of type `aws-iam`.
    pub(crate) fn permit_old_consul(&self, calls: &[&str]) {
        if consul::version() >= (1, 12) {
            return;
        }
        let call = |name: &&str| format!("module \"{name}\" {{\n  token_mode = \"auto\"\n}}\n");
        self.change("token_mode", &calls.iter().map(call).collect::<String>());
    }

    /// The local settings of a further provider, whose access key is the account's ID.
    pub(crate) fn provider(&self, alias: &str, account: &str) {
        let keys = format!("access_key = \"{account}\"\n  secret_key = \"test\"");
        self.change(alias, &format!("provider \"aws\" {{\n  alias = \"{alias}\"\n  {keys}\n  {LOCAL}\n}}\n"));
    }

    async fn terraform(&self, arguments: &[&str]) -> Output {
        let mut command = Command::new(&self.program);
        let command = command.args(arguments).current_dir(&self.directory).env_clear().envs(&self.env);
        let output = command.kill_on_drop(true).output();
        tokio::time::timeout(LONGEST_RUN, output).await.expect("terraform ends").unwrap()
    }

    pub(crate) async fn run(&self, arguments: &[&str]) -> Said {
        let output = self.terraform(&[arguments, &["-no-color"]].concat()).await;
        let said = [output.stdout, output.stderr].concat();
        let text = String::from_utf8_lossy(&said).replace(['│', '╷', '╵'], "");
        Said { code: output.status.code(), text: text.split_whitespace().collect::<Vec<_>>().join(" ") }
    }

    pub(crate) async fn done(&self, arguments: &[&str]) -> String {
        let Said { code, text } = self.run(arguments).await;
        assert_eq!(code, Some(0), "terraform {arguments:?}: {text}");
        text
    }

    /// Applies the configuration, after which a plan has nothing to do.
    pub(crate) async fn apply(&self, further: &[&str]) {
        self.done(&[&["apply", "-auto-approve"], further].concat()).await;
        let Said { code, text } = self.run(&[&["plan", "-detailed-exitcode"], further].concat()).await;
        assert_eq!(code, Some(0), "a plan has changes: {text}");
    }

    pub(crate) async fn destroy(&self, further: &[&str]) {
        self.done(&[&["destroy", "-auto-approve"], further].concat()).await;
    }

    /// The value of an output; `Null` if it is null.
    pub(crate) async fn output(&self, name: &str) -> Value {
        self.json(&["output", "-json"]).await[name]["value"].clone()
    }

    /// The parameters of each stack in a plan, by the module's call.
    pub(crate) async fn planned_parameters(&self) -> BTreeMap<String, Value> {
        self.done(&["plan", "-out=plan"]).await;
        let plan = self.json(&["show", "-json", "plan"]).await;
        let modules = plan["planned_values"]["root_module"]["child_modules"].as_array().expect("modules");
        let stack = |module: &Value| {
            let resources = module["resources"].as_array().expect("resources");
            let stack = resources.iter().find(|resource| resource["type"] == "aws_cloudformation_stack");
            stack.expect("a stack")["values"]["parameters"].clone()
        };
        let name = |module: &Value| module["address"].as_str().unwrap().trim_start_matches("module.").to_owned();
        modules.iter().map(|module| (name(module), stack(module))).collect()
    }

    async fn json(&self, arguments: &[&str]) -> Value {
        let output = self.terraform(arguments).await;
        let said = String::from_utf8_lossy(&output.stderr).into_owned();
        serde_json::from_slice(&output.stdout).unwrap_or_else(|error| panic!("{arguments:?}: {error}: {said}"))
    }
}

/// The program, and the folder of the mirror. `None`, after the test was reported as skipped, if one is missing.
pub(crate) fn requirements_or_skip() -> Option<(PathBuf, String)> {
    requirements().inspect_err(|missing| skip_optional(missing)).ok()
}

fn requirements() -> Result<(PathBuf, String), String> {
    let path = env::var_os("PATH").unwrap_or_default();
    let program = env::split_paths(&path).map(|folder| folder.join("terraform")).find(|program| program.is_file());
    let program = program.ok_or("terraform is not on PATH")?;
    let mirror = env::var(MIRROR).map_err(|_| format!("{MIRROR} names no folder with Terraform's AWS provider"))?;
    // Terraform runs in other directories.
    let mirror = fs::canonicalize(&mirror).map_err(|error| format!("{MIRROR}: {mirror}: {error}"))?;
    let mut registries = fs::read_dir(&mirror).map_err(|error| format!("{MIRROR}: {error}"))?.flatten();
    if registries.any(|registry| registry.path().join("hashicorp/aws").is_dir()) {
        Ok((program, mirror.display().to_string()))
    } else {
        Err(format!("{MIRROR}: {} does not contain Terraform's AWS provider", mirror.display()))
    }
}

/// Copies a folder, without what Terraform has written there.
fn copy(from: &Path, to: &Path) {
    fs::create_dir_all(to).unwrap();
    for entry in fs::read_dir(from).unwrap().flatten() {
        let (name, path) = (entry.file_name(), entry.path());
        if name.to_string_lossy().starts_with(".terraform") || name.to_string_lossy().contains(".tfstate") {
            continue;
        }
        if path.is_dir() {
            copy(&path, &to.join(name));
        } else {
            fs::copy(&path, to.join(name)).unwrap();
        }
    }
}

/// A function's configuration in the local AWS.
pub(crate) async fn function(name: &Value) -> Value {
    let aws = &Stack::shared().await.aws;
    let path = format!("/2015-03-31/functions/{}/configuration", name.as_str().expect("a name"));
    Answer::to(aws.request(Method::GET, &path, "lambda")).await.and_then(Answer::success).unwrap()
}

/// Whether Consul has the node of a cluster, which the set-up and sweeps of a controller in mode `act` register.
pub(crate) async fn has_node(cluster: &str) -> bool {
    let nodes = Stack::shared().await.consul.get("/v1/catalog/nodes").await;
    let cluster = local_stack::world::cluster_arn(cluster);
    nodes.as_array().expect("nodes").iter().any(|node| node["Node"] == cluster.as_str())
}

/// Whether a `CloudFormation` stack exists.
pub(crate) async fn has_stack(name: &str) -> bool {
    let query = [("Action", "DescribeStacks"), ("Version", "2010-05-15"), ("StackName", name)];
    let request = Stack::shared().await.aws.request(Method::GET, "/", "cloudformation").query(&query);
    Answer::to(request).await.unwrap().status == 200
}

/// Creates a secret in an account and region, and returns its ARN.
pub(crate) async fn secret_in(account: &str, region: &str, value: &str) -> String {
    let scope = format!("{account}/20260101/{region}/secretsmanager/aws4_request");
    let request = http::client()
        .post(&Stack::shared().await.aws.endpoint)
        .header("Authorization", format!("AWS4-HMAC-SHA256 Credential={scope}, SignedHeaders=host, Signature=none"))
        .header("X-Amz-Target", "secretsmanager.CreateSecret")
        .header("Content-Type", "application/x-amz-json-1.1")
        .body(json!({ "Name": format!("token-{account}-{region}"), "SecretString": value }).to_string());
    let answer = Answer::to(request).await.and_then(Answer::success).unwrap();
    answer["ARN"].as_str().expect("an ARN").to_owned()
}
