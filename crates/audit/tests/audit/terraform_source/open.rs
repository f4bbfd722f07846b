//! A module in an editor: what is not saved counts instead of the files on disk.

use std::{path::PathBuf, sync::Arc};

use audit::audit;
use audit_read::input::{Gathered, read_open};
use document::SourceFile;
use terraform::Tree;

use super::case::resource;
use crate::folder::Folder;

/// A container that waits for one that does not exist, in JSON.
const WAITS: &str =
    r#"[{"name": "web", "image": "example/web:1", "dependsOn": [{"containerName": "db", "condition": "START"}]}]"#;

/// The files of the findings in the module of `main.tf`.
fn found(folder: &Folder, tree: &Tree) -> Vec<String> {
    let main = Arc::new(SourceFile::new(folder.path("main.tf"), ""));
    let Gathered { material, problems, .. } = read_open(&main, tree);
    assert!(problems.is_empty(), "{problems:?}");
    let name = |name: &str| PathBuf::from(name).file_name().unwrap().to_string_lossy().into_owned();
    audit(&material)
        .iter()
        .filter(|finding| finding.rule.id == "ecs-dependency-unknown")
        .map(|finding| name(&finding.file.name))
        .collect()
}

#[test]
fn unsaved_texts_count_in_the_place_of_files() {
    // Given a module that takes its containers from a file, by a name in a file of values.
    let main = format!("variable \"file\" {{}}\n{}", resource("file(\"${path.module}/${var.file}\")"));
    let folder = Folder::with(&[
        ("main.tf", main.as_bytes()),
        ("terraform.tfvars", b"file = \"none.json\"\n"),
        ("none.json", b"[]"),
        ("web.json", b"[]"),
    ]);
    for mut tree in [Tree::new([folder.path("").into()]), Tree::new([folder.path("").into()]).remembering()] {
        let mut open = |name: &str, text: &str| tree.open(Arc::new(SourceFile::new(folder.path(name), text)));
        // When the containers get a mistake, the values lead to them, and a new file has a mistake, too; all without being saved.
        open("web.json", WAITS);
        open("terraform.tfvars", "file = \"web.json\"\n");
        open("new.tf", &resource("jsonencode(@)").replace("\"web\" {", "\"new\" {"));
        assert_eq!(found(&folder, &tree), ["main.tf", "new.tf"]);
        // Then the files count again as the editor closes them.
        tree.close(&folder.path("new.tf"));
        assert_eq!(found(&folder, &tree), ["main.tf"]);
        tree.close(&folder.path("terraform.tfvars"));
        assert_eq!(found(&folder, &tree), [""; 0]);
    }
}

#[test]
fn what_is_remembered_is_never_stale() {
    let folder = Folder::with(&[("main.tf", resource("jsonencode([])").as_bytes()), ("b.tf", b"locals {}\n")]);
    let mut tree = Tree::new([folder.path("").into()]).remembering();
    assert_eq!(found(&folder, &tree), [""; 0]);
    // When a file comes before it, and its text changes and changes back.
    for (name, text, expected) in [
        ("a.tf", String::new(), 0),
        ("main.tf", resource("jsonencode(@)"), 1),
        ("main.tf", resource("jsonencode([])"), 0),
        ("main.tf", format!("\n\n{}", resource("jsonencode(@)")), 1),
    ] {
        tree.open(Arc::new(SourceFile::new(folder.path(name), text.as_str())));
        assert_eq!(found(&folder, &tree).len(), expected, "{text}");
    }
    let main = Arc::new(SourceFile::new(folder.path("main.tf"), ""));
    let finding =
        audit(&read_open(&main, &tree).material).into_iter().find(|it| it.rule.id == "ecs-dependency-unknown");
    let finding = finding.unwrap();
    assert_eq!(finding.file.position(finding.span.start).line, 5);
}
