//! Definitions of the official Terraform modules and of AWS's guides have no findings.
//!
//! The files contain the output of `HashiCorp`'s modules, version by version, with values for their inputs, and
//! definitions like those in AWS's documentation. Tasks outside of the mesh are included: the controllers, and a Consul
//! server.

use std::{fs, path::PathBuf};

use audit::{audit, finding::Finding};
use audit_read::{Material, input::read_source};
use document::SourceFile;

use crate::reading::{END_OF_APP_MESH, findings_in, shown};

/// A correct finding in an official definition: the shell of the sample does not forward TERM to its web server.
const RIGHTFUL: [(&str, &str); 1] = [("aws-fargate-sample-app", "ecs-shell-entry-point")];

/// Each file and its text.
fn official() -> Vec<(String, String)> {
    let folder = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("tests/audit/official");
    let mut files: Vec<PathBuf> = fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path()).collect();
    files.sort();
    let name = |path: &PathBuf| path.file_stem().unwrap().to_string_lossy().into_owned();
    files.iter().map(|path| (name(path), fs::read_to_string(path).unwrap())).collect()
}

#[test]
fn official_definitions_have_no_findings() {
    let mut unexpected = Vec::new();
    for (name, text) in official() {
        let found = findings_in(&name, &text);
        let is_rightful = |finding: &Finding| RIGHTFUL.contains(&(name.as_str(), finding.rule.id));
        let found = shown(&found.into_iter().filter(|finding| !is_rightful(finding)).collect::<Vec<_>>());
        if !found.is_empty() {
            unexpected.push(format!("{name}: {found:#?}"));
        }
    }
    assert!(unexpected.is_empty(), "{} unexpected:\n{}", unexpected.len(), unexpected.join("\n"));
}

#[test]
fn every_version_in_use_has_a_file() {
    let names: Vec<String> = official().into_iter().map(|(name, _)| name).collect();
    for version in ["0.2", "0.4", "0.5", "0.6", "0.7", "0.8", "0.9"] {
        assert!(names.iter().any(|name| name.starts_with(&format!("mesh-task-{version}"))), "{version}");
    }
    for version in ["0.5", "0.6", "0.7", "0.8", "0.9"] {
        assert!(names.iter().any(|name| name.starts_with(&format!("gateway-task-{version}"))), "{version}");
    }
}

#[test]
fn only_app_mesh_has_ended() {
    for (name, text) in official() {
        let mut material = Material::default();
        read_source(SourceFile::new(name.clone(), text).into(), true, &mut material).unwrap();
        let is_ended = audit(&material).iter().any(|finding| END_OF_APP_MESH.contains(&finding.rule.id));
        assert_eq!(is_ended, name.contains("app-mesh"), "{name}");
    }
}
