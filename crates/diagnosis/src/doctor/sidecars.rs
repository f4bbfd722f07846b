//! The check of what Consul has of the clusters' sidecar proxies.

use audit::report::counted;
use mesh::{catalog::HealthCheck, member::MemberTask, task::TaskPhase};
use observe::{InspectedCluster, InspectionError};

use super::{Check, commands::deregister};
use crate::{status::OnNode, unread::unread};

const SIDECARS: &str = "sidecar-checks";

/// Whether a sidecar proxy has a check that ends a health-sync that starts. `read` says whether the clusters have what Consul knows of them.
pub(super) fn check_sidecars(clusters: &[InspectedCluster], read: &Result<(), InspectionError>) -> Check {
    if let Err(error) = read {
        return Check::unknown(SIDECARS, unread(error));
    }
    let checks: Vec<&HealthCheck> = clusters.iter().flat_map(foreign_checks).collect();
    if checks.is_empty() {
        return Check::ok(SIDECARS, "no sidecar proxy has a check of another program");
    }
    let ids: Vec<&str> = checks.iter().map(|check| check.id.as_str()).collect();
    let seen = format!(
        "{} of sidecar proxies that neither consul-ecs nor the controller has written: {}. A health-sync that starts exits with \
         \"only one check should be associated with the sidecar proxy service\". Stop the program that writes them, and \
         deregister them",
        counted(checks.len(), "check"),
        ids.join(", ")
    );
    Check::warning(SIDECARS, seen).with_commands(checks.into_iter().map(command))
}

/// The checks of other programs on the sidecar proxies of tasks with a health-sync.
fn foreign_checks(cluster: &InspectedCluster) -> Vec<&HealthCheck> {
    let Some(on_node) = cluster.catalog.as_ref().map(OnNode::new) else { return Vec::new() };
    let has_health_sync = |member: &&MemberTask| {
        member.task.phase == TaskPhase::Active && member.definition.programs.health_sync.is_some()
    };
    let members = cluster.tasks.iter().filter(has_health_sync);
    members.flat_map(|member| on_node.foreign_checks_of_sidecar(member.task.arn.id())).collect()
}

fn command(check: &HealthCheck) -> String {
    deregister(&check.node, Some(("CheckID", check.id.as_str())), &check.tenancy)
}

#[cfg(test)]
mod tests {
    use mesh::{
        catalog::{CheckStatus, DrainReason, HealthCheck},
        permissions::{Permission, Segment},
    };
    use serde_json::{Value, json};

    use super::*;
    use crate::{
        doctor::CheckOutcome::{Ok as Fine, Unknown, Warning},
        examples::{self, assert_check, revision},
    };

    /// Two tasks with a health-sync, of which the first has one more check at its sidecar proxy.
    fn with_check(change: impl Fn(&mut HealthCheck)) -> InspectedCluster {
        let mut cluster = examples::healthy();
        for member in &mut cluster.tasks {
            revision(member).programs.health_sync = Some("consul-ecs-health-sync".to_owned());
        }
        let catalog = cluster.catalog.as_mut().unwrap();
        let is_sidecar = |it: &&mesh::catalog::ServiceInstance| it.task == examples::id(1) && !it.kind.is_empty();
        let sidecar = catalog.instances.iter().find(is_sidecar).unwrap();
        let mut check = HealthCheck::maintenance(sidecar, DrainReason::Stopping);
        change(&mut check);
        catalog.checks.push(check);
        cluster
    }

    fn esm(check: &mut HealthCheck) {
        check.id = "esm:web:tcp".to_owned();
        (check.notes, check.output, check.status) = (String::new(), String::new(), CheckStatus::Passing);
    }

    #[test]
    fn check_of_another_program_at_a_sidecar_proxy_is_counted_and_named() {
        let made = check_sidecars(&[with_check(esm)], &Ok(()));
        let seen = "1 check of sidecar proxies that neither consul-ecs nor the controller has written: esm:web:tcp. ";
        assert_check(&made, Warning, seen, &["curl --silent --show-error --fail --request PUT "]);
        let body: Value = serde_json::from_str(made.commands[0].split('\'').nth(1).unwrap()).unwrap();
        assert_eq!(body, json!({ "Node": examples::cluster().as_str(), "CheckID": "esm:web:tcp" }));
        // A drain of the controller is none, and neither is a check of the app's instance
        assert_check(&check_sidecars(&[with_check(|_| ())], &Ok(())), Fine, "", &[]);
        let of_app = |check: &mut HealthCheck| {
            esm(check);
            check.service_id = check.service_id.replace("-sidecar-proxy", "");
        };
        assert_check(&check_sidecars(&[with_check(of_app)], &Ok(())), Fine, "", &[]);
    }

    #[test]
    fn task_without_health_sync_is_not_concerned() {
        let mut cluster = with_check(esm);
        revision(&mut cluster.tasks[0]).programs.health_sync = None;
        assert_check(&check_sidecars(&[cluster], &Ok(())), Fine, "", &[]);
    }

    #[test]
    fn what_the_token_may_not_read_is_unknown() {
        let missing = Permission { resource: "node", access: "read", segment: Segment::All };
        let read = Err(InspectionError::CatalogNotPermitted(vec![missing]));
        assert_check(&check_sidecars(&[with_check(esm)], &read), Unknown, "lacks node_prefix", &[]);
    }
}
