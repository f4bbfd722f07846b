//! What the official Terraform modules and AWS's guides make comes out clean.
//!
//! The files hold what the modules of `HashiCorp` render, version by version, with their inputs filled in; and definitions
//! like those of AWS's documentation. What belongs to no mesh is there as well: the controllers, and a Consul server.

use std::{fs, path::PathBuf};

use audit::{Material, audit, finding::Finding, input::read_source, source::SourceFile};

use crate::reading::{ALWAYS, findings_in, shown};

/// What is true of an official definition: the sample's shell keeps TERM from its web server.
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
fn official_definitions_have_no_finding() {
    let mut surprises = Vec::new();
    for (name, text) in official() {
        let found = findings_in(&name, &text);
        let is_rightful = |finding: &Finding| RIGHTFUL.contains(&(name.as_str(), finding.rule.id));
        let found = shown(&found.into_iter().filter(|finding| !is_rightful(finding)).collect::<Vec<_>>());
        if !found.is_empty() {
            surprises.push(format!("{name}: {found:#?}"));
        }
    }
    assert!(surprises.is_empty(), "{} surprises:\n{}", surprises.len(), surprises.join("\n"));
}

#[test]
fn every_version_that_is_in_use_is_there() {
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
        let is_ended = audit(&material).iter().any(|finding| ALWAYS.contains(&finding.rule.id));
        assert_eq!(is_ended, name.contains("app-mesh"), "{name}");
    }
}
