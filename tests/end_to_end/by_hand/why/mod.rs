//! `ecs-mesh why`: each question that people ask, on the deployed stack with a real Consul. The last line names the cause.

mod log;
mod reading;
mod recordings;
mod stories;

use local_stack::{
    Stack,
    deploy::Deployed,
    wait::{SOON, eventually},
    world::World,
};
use test_harness::recorder::{Answer, Recorder};
use tokio::sync::OnceCell;

use super::{PAGE, Said, command, documented, permissions, said};
use crate::fixture::shared;

const STACK: &str = "why";

/// The clusters of the deployment: one for each test.
const CLUSTERS: [&str; 5] = ["why-healthy", "why-forgotten", "why-unread", "why-log", "prod"];

/// One of the clusters of the deployment `why`.
async fn world(name: &'static str) -> World<'static> {
    static DEPLOYED: OnceCell<Deployed> = OnceCell::const_new();
    shared(&DEPLOYED, STACK, &CLUSTERS, name, &[("Bootstrap", "none")]).await
}

/// A token with the two policies of the page.
async fn token() -> &'static str {
    static TOKEN: OnceCell<String> = OnceCell::const_new();
    let create = || async {
        let blocks = PAGE.split("```hcl\n").skip(1).filter_map(|rest| rest.split_once("```"));
        let policy: String = blocks.map(|(block, _)| block).collect();
        Stack::shared().await.consul.token_with_rules("why", &policy).await.secret_id
    };
    TOKEN.get_or_init(create).await
}

/// Asks `why` of something in a world's cluster.
async fn why(world: &World<'_>, subject: &str, further: &[&str]) -> Said {
    let aws = Recorder::before_aws(&Stack::shared().await.aws, |_, _| Answer::Forward).await;
    let arguments = [&["--cluster", world.name], further].concat();
    why_at(&aws.url, &world.consul.address, token().await, subject, &arguments).await
}

async fn why_at(aws: &str, consul: &str, token: &str, subject: &str, further: &[&str]) -> Said {
    let own = if further.contains(&"--stack") { &[][..] } else { &["--stack", STACK] };
    let arguments = [&["why", subject, "--secret-name-prefix", STACK], own, further].concat();
    said(command(aws, &arguments).await.env("CONSUL_HTTP_ADDR", consul).env("CONSUL_HTTP_TOKEN", token)).await
}

/// The last line of the answer, and the exit code.
async fn last_line(world: &World<'_>, subject: &str) -> (String, Option<i32>) {
    let said = why(world, subject, &[]).await;
    assert_eq!(said.errors, "", "{}", said.out);
    (said.out.lines().last().unwrap_or_default().to_owned(), said.code)
}

/// The cause that an answer names, and the exit code. What it says of each cause, `crates/diagnosis` tests.
fn cause(said: &Said) -> (String, Option<i32>) {
    let document = said.json();
    (document["cause"].as_str().unwrap_or_else(|| panic!("{document:#}{}", said.errors)).to_owned(), said.code)
}

/// Waits until an answer names this cause: lines of the log come a moment after what they tell of.
async fn eventually_because(world: &World<'_>, subject: &str, expected: &str) -> Said {
    eventually(&format!("why to name {expected}"), SOON, || async {
        let said = why(world, subject, &["--output", "json"]).await;
        let (found, _) = cause(&said);
        if found == expected { Ok(said) } else { Err(found) }
    })
    .await
}
