//! A task definition in Terraform's language, and what its containers lead to.

use audit::audit;
use audit_read::input::{Gathered, gather};

use crate::folder::Folder;

/// What a case must lead to.
pub(super) enum Then {
    /// The container waits for one that does not exist, at this line of this file.
    Found(&'static str, usize),
    /// Nothing is found.
    Silent,
    /// A line of kind info that contains this.
    Noted(&'static str),
    /// A line of kind error that contains this.
    Refused(&'static str),
}

use Then::{Found, Noted, Refused, Silent};

const CONTAINERS: &str =
    r#"[{ name = "web", image = "example/web:1", dependsOn = [{ containerName = "db", condition = "START" }] }]"#;

/// A resource with these containers, in which `@` is the defect.
pub(super) fn resource(containers: &str) -> String {
    let containers = containers.replace('@', CONTAINERS);
    format!(
        "resource \"aws_ecs_task_definition\" \"web\" {{\n  family = \"web\"\n  container_definitions = {containers}\n}}\n"
    )
}

/// The containers in `main.tf`, other files, and what they lead to. `@` stands for the container that waits.
pub(super) type Case = (&'static str, &'static [(&'static str, &'static str)], Then);

pub(super) fn folder(containers: &str, others: &[(&str, &str)]) -> Folder {
    let main = resource(containers);
    let others: Vec<(&str, String)> =
        others.iter().map(|(name, text)| (*name, text.replace('@', CONTAINERS))).collect();
    let files: Vec<(&str, &[u8])> =
        others.iter().map(|(name, text)| (*name, text.as_bytes())).chain([("main.tf", main.as_bytes())]).collect();
    Folder::with(&files)
}

pub(super) fn read(folder: &Folder) -> Gathered {
    gather(&[folder.path("")], &mut std::io::empty())
}

/// Reads every case, and compares what it leads to.
pub(super) fn check(cases: &[Case]) {
    for (containers, others, then) in cases {
        then.is_what(&folder(containers, others), &format!("{containers}\n{others:?}"));
    }
}

impl Then {
    /// Asserts that a directory leads to this.
    pub(super) fn is_what(&self, folder: &Folder, label: &str) {
        let gathered = read(folder);
        let mut found: Vec<(String, usize)> = audit(&gathered.material)
            .iter()
            .filter(|finding| finding.rule.id == "ecs-dependency-unknown")
            .map(|finding| (finding.file.name.clone(), finding.file.position(finding.span.start).line))
            .collect();
        // Instances of one block have the same place.
        found.dedup();
        let lines = |all: &[document::InputProblem]| all.iter().map(ToString::to_string).collect::<Vec<_>>().join("\n");
        let (problems, notes) = (lines(&gathered.problems), lines(&gathered.unchecked));
        let case = format!("{label}\nfound {found:?}\nproblems {problems}\nnotes {notes}");
        match self {
            Found(file, line) => assert_eq!(found, [(folder.path(file), *line)], "{case}"),
            Silent => assert_eq!((found.len(), problems.as_str(), notes.as_str()), (0, "", ""), "{case}"),
            Noted(part) => {
                assert!(found.is_empty() && problems.is_empty() && notes.contains(part), "{case}");
                assert!(notes.contains("terraform show -json plan.out | ecs-mesh check -"), "{case}");
            }
            Refused(part) => assert!(problems.contains(part), "{case}"),
        }
    }
}
