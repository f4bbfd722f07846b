//! What a service's page says of its deployment.

use diagnosis::RevisionStatus;

use super::*;

/// A deployment of `orders:13` after `orders:12`; the newer revision has passing tasks as far as that is known.
fn deployment(strategy: Option<&str>, bake_minutes: Option<usize>, passing_tasks: Option<usize>) -> DeploymentStatus {
    let revision = |number: usize, running_tasks, passing_tasks| RevisionStatus {
        revision: format!("orders:{number}"),
        running_tasks,
        passing_tasks,
    };
    DeploymentStatus {
        strategy: strategy.map(str::to_owned),
        bake_minutes,
        revisions: vec![revision(13, 2, passing_tasks), revision(12, 3, Some(3))],
    }
}

#[test]
fn a_blue_green_deployment_has_its_bake_time_and_says_where_requests_go() {
    let said = deployment_text(&deployment(Some("blue/green"), Some(60), Some(1)));
    let expected = "Deployment: blue/green, bake time 60 minutes: orders:13 (1 of 2 passing), orders:12 (3 of 3 passing). Requests \
                    through the mesh reach each of them";
    assert_eq!(said, expected);
    let said = deployment_text(&deployment(Some("canary"), None, Some(2)));
    assert!(said.starts_with("Deployment: canary: orders:13 (2 of 2 passing), "), "{said}");
}

#[test]
fn a_rolling_deployment_names_its_revisions_alone() {
    let expected = "Deployment: orders:13 (2 of 2 passing), orders:12 (3 of 3 passing)";
    assert_eq!(deployment_text(&deployment(None, None, Some(2))), expected);
    // Consul could not be read
    let unknown = deployment_text(&deployment(None, None, None));
    assert!(unknown.starts_with("Deployment: orders:13 (? of 2 passing), "), "{unknown}");
}
