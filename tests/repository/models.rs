//! What the auditor knows of App Mesh and of ECS's services agrees with AWS's service models.

use std::process::Command;

const REPOSITORY: &str = env!("CARGO_MANIFEST_DIR");

/// Without botocore, which `make setup` installs, there is nothing to compare with.
#[test]
fn the_tables_of_the_auditor_are_those_of_the_models() {
    let python = |arguments: &[&str]| {
        let output = Command::new("python3").arg("-B").args(arguments).current_dir(REPOSITORY).output();
        output.expect("python3 runs")
    };
    if !python(&["-c", "import botocore"]).status.success() {
        return;
    }
    let output = python(&["scripts/aws_shapes.py", "--check"]);
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
}
