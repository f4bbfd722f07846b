//! `make aws-test` without AWS: whole runs on the local stack, and a run in memory that is interrupted at each of its calls. The
//! tests are in Python, as the program is.

#![allow(clippy::expect_used, clippy::panic, clippy::unwrap_used)]

use std::process::Command;

use local_stack::{
    aws::{Aws, REGION},
    consul,
    functions::{ARCHITECTURE, built_binary, packaged},
    in_repository, scratch,
};
use test_harness::skip::skip;

#[tokio::test]
async fn a_sandbox_is_used_and_nothing_of_it_is_left() {
    let python = in_repository("target/tools/venv/bin/python");
    if !python.exists() {
        return skip("no target/tools/venv; make tools installs it");
    }
    // Without an account of its own, it would see what other tests create.
    let aws = Aws::start().await;
    let mut command = Command::new(python);
    command.args(["-m", "pytest", "--quiet", "-p", "no:cacheprovider", "--tb", "short"]);
    command.args(["-o", "asyncio_default_fixture_loop_scope=function", "--basetemp"]);
    command.arg(scratch::directory().join("pytest")).arg(in_repository("tests/aws_test"));
    command.env("AWS_ENDPOINT_URL", &aws.endpoint).env("AWS_REGION", REGION).env("AWS_DEFAULT_REGION", REGION);
    command.env("HOME", scratch::directory()).env("__SAM_CLI_APP_DIR", in_repository("target/tools/sam"));
    command.env("SAM_CLI_TELEMETRY", "0").env("SAM_CLI_POLL_DELAY", "0.5").env("PYTHONDONTWRITEBYTECODE", "1");
    command.env("CONSUL", consul::program()).env("ECS_MESH", built_binary("ecs-mesh")).env("PACKAGE", packaged());
    command.env("ARCHITECTURE", ARCHITECTURE).env("REFUSED", aws.refused());
    let output = tokio::task::spawn_blocking(move || command.output().unwrap()).await.unwrap();
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    assert!(output.status.success(), "{}{}", text(&output.stdout), text(&output.stderr));
}
