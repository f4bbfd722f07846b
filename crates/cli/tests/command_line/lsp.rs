//! The language server, tested by pytest-lsp: see `lsp/test_lsp.py`.

use std::{path::Path, process::Command};

use test_harness::skip::skip;

const TESTS: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/command_line/lsp");

#[test]
fn editors_talk_to_the_language_server() {
    let has_client = Command::new("python3").args(["-c", "import pytest_lsp"]).output();
    if !has_client.is_ok_and(|found| found.status.success()) {
        return skip("no pytest-lsp; make tools installs it");
    }
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join("cli-lsp");
    let output = Command::new("python3")
        .args(["-m", "pytest", "--quiet", "-p", "no:cacheprovider", "--tb", "short", TESTS])
        .args(["-o", "asyncio_mode=auto", "-o", "asyncio_default_fixture_loop_scope=function", "--basetemp"])
        .arg(folder)
        .env("ECS_MESH", env!("CARGO_BIN_EXE_ecs-mesh"))
        .env("PYTHONDONTWRITEBYTECODE", "1")
        .output()
        .unwrap();
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    assert!(output.status.success(), "{}{}", text(&output.stdout), text(&output.stderr));
}
