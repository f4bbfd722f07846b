//! The stack that the end-to-end tests share: two deployments of the template, one for each token mode, with the policy that
//! docs/how-to/install-sam.md documents.

use serde_json::Value;
use tokio::sync::OnceCell;

use local_stack::{
    Stack,
    consul::{Consul, Token},
    deploy::{Deployed, install},
    world::{GRACE, World, documented_policy},
};

/// The clusters of the deployment with the default mode: one for each test.
const TOKEN_CLUSTERS: [&str; 5] = ["first-start", "poison", "examples", "generations", "metrics"];

/// The clusters of the deployment in mode `auth-method`.
const LOGIN_CLUSTERS: [&str; 2] = ["login-tokens", "login-tokens-other"];

pub(crate) struct Fixture {
    pub(crate) stack: &'static Stack,
    tokens: Deployed,
    login: Deployed,
}

impl Fixture {
    /// The fixture of this process.
    pub(crate) async fn get() -> &'static Self {
        static FIXTURE: OnceCell<Fixture> = OnceCell::const_new();
        FIXTURE.get_or_init(Self::start).await
    }

    /// A cluster of the deployment with the default mode, `auto`.
    pub(crate) async fn tokens(name: &'static str) -> World<'static> {
        let fixture = Self::get().await;
        assert!(TOKEN_CLUSTERS.contains(&name), "{name} is not among the deployment's clusters");
        World::new(fixture.stack, &fixture.tokens, "mesh", name)
    }

    /// A cluster of the deployment in `auth-method` mode.
    pub(crate) async fn login(name: &'static str) -> World<'static> {
        let fixture = Self::get().await;
        assert!(LOGIN_CLUSTERS.contains(&name), "{name} is not among the deployment's clusters");
        World::new(fixture.stack, &fixture.login, "login", name)
    }

    async fn start() -> Self {
        let stack = Stack::shared().await;
        let token = controller_token(&stack.consul, "shared").await;
        let (tokens, login) = tokio::join!(
            Self::deploy(stack, &token.secret_id, "mesh", "auto", &TOKEN_CLUSTERS),
            Self::deploy(stack, &token.secret_id, "login", "auth-method", &LOGIN_CLUSTERS),
        );
        Self { stack, tokens, login }
    }

    async fn deploy(stack: &Stack, token: &str, name: &str, mode: &str, clusters: &[&str]) -> Deployed {
        let grace = GRACE.as_secs().to_string();
        let parameters = [
            ("TokenMode", mode),
            // The most verbose level of the template; the tests in `leaks` start the functions with `trace`.
            ("LogLevel", "debug"),
            ("RevocationGraceSeconds", &grace),
            // The tasks' auth method has a type that Consul supports since 1.12.
            ("Bootstrap", "none"),
        ];
        install(&stack.aws, &stack.consul.address, name, clusters, token, &parameters).await.unwrap()
    }

    /// A deployment for one cluster, with any Consul.
    pub(crate) async fn deployment_of_its_own<'a>(
        &'a self,
        consul: &'a Consul,
        name: &'static str,
        token: &str,
        further: &[(&str, &str)],
    ) -> World<'a> {
        let grace = GRACE.as_secs().to_string();
        let parameters = [&[("RevocationGraceSeconds", grace.as_str())], further].concat();
        let deployed = install(&self.stack.aws, &consul.address, name, &[name], token, &parameters).await.unwrap();
        World { aws: &self.stack.aws, consul, deployed, name, prefix: name }
    }
}

/// The world of one cluster of a deployment that several tests share.
pub(crate) async fn shared(
    deployed: &'static OnceCell<Deployed>,
    stack: &'static str,
    clusters: &[&str],
    name: &'static str,
    further: &[(&str, &str)],
) -> World<'static> {
    assert!(clusters.contains(&name), "{name} is not among the deployment's clusters");
    let Stack { aws, consul } = Stack::shared().await;
    let deploy = || async {
        let token = controller_token(consul, stack).await;
        install(aws, &consul.address, stack, clusters, &token.secret_id, further).await.unwrap()
    };
    World::new(Stack::shared().await, deployed.get_or_init(deploy).await, stack, name)
}

/// A token for a controller, with the documented policy.
pub(crate) async fn controller_token(consul: &Consul, name: &str) -> Token {
    consul.token_with_rules(&format!("controller-{name}"), &documented_policy()).await
}

/// The files in `events/`, by name.
pub(crate) fn example_events() -> Vec<(String, Value)> {
    let directory = concat!(env!("CARGO_MANIFEST_DIR"), "/events");
    let mut events: Vec<(String, Value)> = std::fs::read_dir(directory)
        .expect("events/")
        .map(|entry| {
            let path = entry.expect("a file").path();
            let text = std::fs::read_to_string(&path).expect("a readable file");
            let name = path.file_name().unwrap().to_string_lossy().into_owned();
            (name, serde_json::from_str(&text).expect("JSON"))
        })
        .collect();
    events.sort_by(|(a, _), (b, _)| a.cmp(b));
    events
}
