//! A demo of the controller on the local stack: `make demo`, or `make demo KEEP=1` to keep the stack running. `make dashboard` draws
//! the dashboard from the demo's metrics.
//!
//! Every step is asserted: the demo ends with an error if a result is not as expected.

#![allow(clippy::print_stdout, clippy::expect_used, clippy::unwrap_used, clippy::panic, clippy::indexing_slicing)]

mod dashboard;
mod log;
mod logins;
mod scenes;
mod secrets;
mod timeline;

use std::{fs, os::unix::fs::PermissionsExt, path::Path, time::Duration};

use dashboard::Watched;
use local_stack::{
    aws::Aws,
    consul::{Consul, version},
    deploy::{Deployed, install},
    scratch,
    world::{World, documented_policy},
};
use logins::Logins;
use scenes::Demo;
use timeline::{paragraph, step};

/// The demo's cluster.
const NAME: &str = "demo";
/// The name of the deployed stack.
const STACK: &str = "ecs-mesh-controller";
/// The prefix of secrets' names.
const PREFIX: &str = "mesh";
/// Short, so that the demo need not wait for the default of five minutes.
const GRACE: Duration = Duration::from_secs(4);
/// Short for the same reason: a token is hidden for 4 seconds before it is deleted, instead of 400.
const TIME_BOUNDS: &str = "ecs-lag=0,secrets-lag=0,attempt=3,call=1,clocks=0,shown=1,health-lag=0";

#[tokio::main]
async fn main() {
    let keep = std::env::args().any(|argument| argument == "--keep");
    let picture = std::env::args().skip_while(|argument| argument != "--dashboard").nth(1);
    println!("{}", console::style("ecs-mesh-controller: a mesh on ECS, without ECS").bold());
    let (major, minor) = version();
    let consul = step(&format!("starting Consul {major}.{minor} (ACLs on, default deny)"), Consul::start()).await;
    let aws = step("starting MiniStack in place of AWS", Aws::start()).await;
    let deployed = step("sam deploy of template.yaml", deploy(&aws, &consul)).await;
    let world = World { aws: &aws, consul: &consul, deployed, name: NAME, prefix: PREFIX };
    let mut demo = Demo::new(&world, Logins::of(&aws, &consul).await).await;
    paragraph(&demo.logins.note());
    match picture {
        Some(file) => {
            let mut watched = Watched::of(&aws, STACK).await;
            watched.during(tell(&mut demo)).await;
            watched.draw(&world.deployed, Path::new(&file)).await;
        }
        None => tell(&mut demo).await,
    }
    if !keep {
        demo.the_stack_is_deleted(STACK).await;
    }
    demo.timeline.summary();
    println!("\n{}", console::style("All results are as expected.").green().bold());

    if keep {
        leave_running(&consul, &aws, &world.deployed);
    }
}

async fn tell(demo: &mut Demo<'_>) {
    let task = demo.a_task_starts_and_logs_in().await;
    demo.it_is_drained(&task).await;
    demo.it_stops(&task).await;
    let tasks = demo.consul_loses_a_task().await;
    demo.a_zombie_leaves().await;
    demo.an_impostor_is_refused().await;
    demo.half_of_the_tasks_are_not_listed(&tasks).await;
    demo.tokens_in_secrets_manager().await;
}

async fn deploy(aws: &Aws, consul: &Consul) -> Deployed {
    let token = consul.token_with_rules("ecs-mesh-controller", &documented_policy()).await;
    let grace = GRACE.as_secs().to_string();
    let parameters = [
        ("SecretNamePrefix", PREFIX),
        ("RevocationGraceSeconds", &grace),
        ("TimeBounds", TIME_BOUNDS),
        ("CleanupOnDelete", "true"),
    ];
    install(aws, &consul.address, STACK, &[NAME], &token.secret_id, &parameters).await.unwrap()
}

fn leave_running(consul: &Consul, aws: &Aws, deployed: &Deployed) {
    // The management token of the local Consul is written to a file that only the user can read, and not printed.
    let token_file = scratch::directory().join("consul-token");
    fs::write(&token_file, &consul.management_token).expect("a file");
    fs::set_permissions(&token_file, fs::Permissions::from_mode(0o600)).expect("permissions");
    println!("\nThe stack keeps running. To inspect it:");
    println!("  export CONSUL_HTTP_ADDR={} CONSUL_HTTP_TOKEN=$(cat {})", consul.address, token_file.display());
    println!("  target/tools/bin/consul acl token list");
    println!(
        "  export AWS_ENDPOINT_URL={} AWS_DEFAULT_REGION=us-east-1 AWS_ACCESS_KEY_ID=test AWS_SECRET_ACCESS_KEY=test",
        aws.endpoint
    );
    println!("  function {}, log group {}, queue {}", deployed.function_name, deployed.log_group, deployed.queue_url);
    println!("  function reconcile {}, log group {}", deployed.reconcile, deployed.reconcile_log_group);
    println!("  logs of the servers: {}", scratch::directory().display());
    println!("To stop it:\n  {}\n  {}", consul.keep(), aws.keep());
}
