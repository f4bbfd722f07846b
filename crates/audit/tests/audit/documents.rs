//! YAML files with several documents.

use audit::audit;
use audit_read::{
    definition::TaskDefinition,
    input::{Gathered, gather},
};

use crate::{
    folder::Folder,
    reading::{findings_in, ids, repaired},
};

const WEB: &str = include_str!("../audit_inputs/web.yaml");

/// Two templates between documents of other tools.
fn several() -> String {
    let manifest = "apiVersion: v1\nkind: ConfigMap\ndata:\n  meshName: shop\n";
    let broken = "name: {{ .Values.name }}\n";
    let orders = WEB.replace("Default: staging", "Default: production");
    format!("# all of it\n{manifest}---\n{WEB}---\n{broken}---\n{orders}")
}

fn labels(gathered: &Gathered) -> Vec<String> {
    gathered.material.definitions.iter().map(TaskDefinition::label).collect()
}

fn problems(gathered: &Gathered) -> Vec<String> {
    gathered.problems.iter().map(ToString::to_string).collect()
}

#[test]
fn each_document_is_read_on_its_own() {
    let folder = Folder::with(&[("stack.yaml", several().as_bytes())]);
    for path in [folder.path(""), folder.path("stack.yaml")] {
        let found = gather(&[path], &mut std::io::empty());
        assert_eq!(
            (labels(&found), problems(&found)),
            (vec!["web-staging".to_owned(), "web-production".to_owned()], vec![])
        );
        assert_eq!(ids(&audit(&found.material)), [""; 0]);
    }
}

#[test]
fn a_finding_has_its_line_in_the_file() {
    let text = several();
    let at = text.rfind("NetworkMode: awsvpc").unwrap();
    let broken = [&text[..at], &text[at..].replacen("awsvpc", "bridge", 1)].concat();
    let found = findings_in("stack.yaml", &broken);
    assert_eq!((ids(&found), found[0].subject.as_str()), (vec!["consul-network-mode"], "web-production"));
    assert_eq!(found[0].span.start, at + "NetworkMode: ".len());
}

#[test]
fn a_fix_changes_only_its_document() {
    // Given a defect in both documents, and in all notations of line ends.
    for text in [several(), several().replace('\n', "\r\n")] {
        let broken = text.replace("NetworkMode: awsvpc", "NetworkMode: bridge");
        let repaired = repaired("stack.yaml", &broken);
        assert_eq!((repaired.fixed.len(), repaired.left.len()), (2, 0));
        assert_eq!(repaired.after.text, text);
    }
}

#[test]
fn a_broken_document_does_not_hide_the_others() {
    let text = format!("{WEB}---\nType: AWS::ECS::TaskDefinition\nx: [\n---\nfamily: web\ncontainerDefinitions: []\n");
    let folder = Folder::with(&[("stack.yaml", text.as_bytes())]);
    let found = gather(&[folder.path("")], &mut std::io::empty());
    let line = text.lines().position(|line| line == "x: [").unwrap() + 1;
    assert_eq!(labels(&found), ["web-staging", "web"]);
    let [problem] = found.problems.as_slice() else { panic!("{:?}", problems(&found)) };
    assert!(problem.position.unwrap().line > line && problem.reason.contains("not YAML"), "{problem}");
}

#[test]
fn equal_definitions_are_called_by_their_documents() {
    let folder = Folder::with(&[
        ("template.yaml", format!("{WEB}---\n{WEB}").as_bytes()),
        ("task.yaml", b"family: web\ncontainerDefinitions: []\n---\nfamily: web\ncontainerDefinitions: []\n"),
    ]);
    let found = gather(&[folder.path("")], &mut std::io::empty());
    assert_eq!(
        labels(&found),
        ["web (document 1)", "web (document 2)", "web-staging (Web)", "web-staging (Web, document 2)"]
    );
}

#[test]
fn fixes_are_refused_if_the_documents_have_different_formats() {
    let task = "family: plain\nnetworkMode: awsvpc\ncontainerDefinitions: []\n";
    let broken = format!("{}---\n{task}", WEB.replace("NetworkMode: awsvpc", "NetworkMode: bridge"));
    let repaired = repaired("stack.yaml", &broken);
    let reasons: Vec<String> = repaired.left.iter().map(|left| left.error.as_ref().unwrap().to_string()).collect();
    assert_eq!(repaired.after.text, broken);
    assert!(
        !reasons.is_empty() && reasons.iter().all(|reason| reason.contains("different formats: split the file")),
        "{reasons:?}"
    );
}
