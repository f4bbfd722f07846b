//! The recordings of `status` and `why` in the documentation are what these commands print.

use local_stack::{
    Stack,
    wait::{SOON, eventually},
};
use serde_json::json;
use test_harness::{
    ecs_agent::{DATAPLANE, DataplaneService, Release},
    recorder::{Answer, Recorder},
    terminal::{IN_COLOUR, WIDTH, assert_recorded},
};

use super::{STACK, command, last_line, said, token, world};

/// The lines of a recording without what differs from run to run: their order, the digits of IDs and times, and the unit of a span.
fn comparable(picture: &str) -> String {
    let digits = picture.replace(" min ago", " s ago").replace(|c| matches!(c, '0'..='9' | 'a'..='f'), "0");
    let text: String = digits.split_inclusive('0').filter(|part| *part != "0").collect();
    let mut lines: Vec<&str> = text.lines().collect();
    lines.sort_unstable();
    lines.join("\n")
}

#[tokio::test]
async fn the_recordings_of_status_and_why_are_current() {
    let world = world("prod").await;
    // Given a healthy service, one that starts, and a task whose proxy has stopped
    let service = |name| {
        let mut service = DataplaneService::named(name, Release::V0_10);
        service.config["consulLogin"] = json!({ "enabled": true });
        service
    };
    let mut tasks = service("web").create_ecs_service(&world, 2, &json!([])).await;
    tasks.push(service("orders").run_by_ecs_service(&world, &json!([])).await);
    service("billing").create_ecs_service(&world, 1, &json!([])).await;
    for task in &tasks {
        task.settle().await;
    }
    let broken = &tasks[2];
    broken.report_stopped(DATAPLANE, 139).await;
    let log = [
        "[info] all clusters initialized. initializing init manager",
        "[critical][backtrace] Caught Segmentation fault, suspect faulting address 0x0",
        "[ERROR] envoy process exited: error=\"signal: segmentation fault (core dumped)\"",
    ];
    broken.write_log(DATAPLANE, &log).await;
    world.deliver(&[world.event(&broken.arn).await]).await;
    world.settled().await;
    eventually("why to know from the log who drained the task", SOON, || async {
        let (line, _) = last_line(&world, "orders").await;
        if line.contains("The controller drained it at ") { Ok(()) } else { Err(line) }
    })
    .await;
    // When a person asks
    let aws = Recorder::before_aws(&Stack::shared().await.aws, |_, _| Answer::Forward).await;
    let asked = async |arguments: &[&str], hidden: &[&str]| {
        let mut command = command(&aws.url, &[arguments, &IN_COLOUR, hidden].concat()).await;
        command.env("CONSUL_HTTP_ADDR", &world.consul.address).env("CONSUL_HTTP_TOKEN", token().await);
        let said = said(command.env(WIDTH.0, WIDTH.1)).await;
        assert_eq!((said.code, said.errors.as_str()), (Some(1), ""), "{}", said.out);
        (format!("ecs-mesh {}", arguments.join(" ")), said.out)
    };
    // Then the pictures show the answers
    let (command, out) = asked(&["status", "--cluster", "prod"], &[]).await;
    assert_recorded("status.svg", &command, &out, comparable);
    let (command, out) =
        asked(&["why", "orders", "--cluster", "prod"], &["--stack", STACK, "--secret-name-prefix", STACK]).await;
    assert_recorded("why.svg", &command, &out, comparable);
}
