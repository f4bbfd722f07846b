//! The check of the config entry `mesh`: what it does to the tasks of the clusters.

use std::{collections::BTreeSet, net::Ipv4Addr};

use mesh::{consul_ecs::FIRST_CONSUL_WITH_HYBRID_GROUPS, release::Release, tenancy::Tenancy};
use observe::{InspectedCluster, MeshEntry, MeshEntryReading};

use super::Check;
use crate::{hybrid_groups::OpenGroups, unread::of_consul};

const MESH_ENTRY: &str = "mesh-entry";
/// The endpoint of the credentials of a task role:
/// <https://docs.aws.amazon.com/AmazonECS/latest/developerguide/task-iam-roles.html>
const CREDENTIALS: Ipv4Addr = Ipv4Addr::new(169, 254, 170, 2);
const CREDENTIALS_PORT: u16 = 80;

/// Whether the entry cuts tasks off. `consul` is the version of the servers, if it is known.
pub(super) fn check_mesh_entry(read: &MeshEntryReading, clusters: &[InspectedCluster], consul: Option<&str>) -> Check {
    let entry = match read {
        Ok(Some(entry)) => entry,
        Ok(None) => return Check::ok(MESH_ENTRY, "Consul has no config entry mesh"),
        Err(error) => return Check::unknown(MESH_ENTRY, of_consul(error)),
    };
    let groups = OpenGroups::of(entry).filter(|_| sends_hybrid_groups(consul));
    let without_credentials = without_credentials(entry, clusters);
    let found: Vec<String> = [
        (!without_credentials.is_empty()).then(|| cut_off(&without_credentials)),
        groups.as_ref().map(|groups| groups.sent(consul.unwrap_or_default())),
    ]
    .into_iter()
    .flatten()
    .collect();
    if found.is_empty() {
        return Check::ok(MESH_ENTRY, "the config entry mesh cuts no task off");
    }
    Check::warning(MESH_ENTRY, found.join(". ")).with_commands(groups.map(|groups| groups.command()))
}

fn sends_hybrid_groups(consul: Option<&str>) -> bool {
    let line = consul.and_then(|version| Release::line_of(version).ok());
    line.is_some_and(|line| line >= FIRST_CONSUL_WITH_HYBRID_GROUPS)
}

/// The revisions with a task role whose proxy gets the requests for its credentials, and refuses them.
fn without_credentials(entry: &MeshEntry, clusters: &[InspectedCluster]) -> BTreeSet<String> {
    if !entry.has_mesh_destinations_only() {
        return BTreeSet::new();
    }
    let is_of_entry =
        |tenancy: &Tenancy| tenancy.partition().is_none_or(|name| entry.partition() == Some(name.as_str()));
    let revisions = clusters.iter().flat_map(InspectedCluster::configured_revisions);
    let cut = revisions.filter(|(service, definition, config)| {
        is_of_entry(&service.tenancy)
            && definition.task_role.is_some()
            && config.redirects(CREDENTIALS, CREDENTIALS_PORT)
    });
    cut.map(|(_, definition, _)| definition.arn.short_name()).collect()
}

fn cut_off(revisions: &BTreeSet<String>) -> String {
    let revisions: Vec<&str> = revisions.iter().map(String::as_str).collect();
    format!(
        "TransparentProxy.MeshDestinationsOnly is on, so transparent proxies refuse what is not in the mesh. The apps of {} may get no \
         credentials of their task role ({CREDENTIALS}). If they need them, add {CREDENTIALS}/32 to \
         transparentProxy.excludeOutboundCIDRs; on EC2, also 169.254.169.254/32, the instance metadata",
        revisions.join(", ")
    )
}

#[cfg(test)]
mod tests {
    use observe::{ConsulError, TokenOwner};
    use serde_json::{Value, json};

    use super::*;
    use crate::{
        doctor::CheckOutcome::{Ok as Fine, Unknown, Warning},
        examples::{self, assert_check, configure, revision},
    };

    fn entry(fields: Value) -> MeshEntry {
        let Value::Object(fields) = fields else { panic!("{fields}") };
        MeshEntry::from(fields)
    }

    /// A cluster whose tasks have a task role, and this section `transparentProxy`.
    fn cluster(transparent_proxy: &str) -> InspectedCluster {
        let mut cluster = examples::healthy();
        cluster.services.clear();
        for member in &mut cluster.tasks {
            let config = format!(r#"{{"service":{{"name":"web","port":80}},"proxy":{{}}{transparent_proxy}}}"#);
            configure(member, &config);
            revision(member).task_role = Some("arn:aws:iam::123456789012:role/web".to_owned());
        }
        cluster
    }

    #[test]
    fn app_behind_a_proxy_to_the_mesh_only_may_get_no_credentials() {
        let only_mesh =
            Ok(Some(entry(json!({ "Kind": "mesh", "TransparentProxy": { "MeshDestinationsOnly": true } }))));
        let found = check_mesh_entry(&only_mesh, &[cluster("")], None);
        assert_check(
            &found,
            Warning,
            "The apps of web:3 may get no credentials of their task role (169.254.170.2)",
            &[],
        );
        for transparent_proxy in [
            r#","transparentProxy":{"enabled":false}"#,
            r#","transparentProxy":{"excludeOutboundCIDRs":["169.254.170.2/32"]}"#,
        ] {
            assert_check(&check_mesh_entry(&only_mesh, &[cluster(transparent_proxy)], None), Fine, "", &[]);
        }
        let mut without_role = cluster("");
        for member in &mut without_role.tasks {
            revision(member).task_role = None;
        }
        assert_check(&check_mesh_entry(&only_mesh, &[without_role], None), Fine, "", &[]);
        let open = Ok(Some(entry(json!({ "Kind": "mesh", "TransparentProxy": { "MeshDestinationsOnly": false } }))));
        assert_check(&check_mesh_entry(&open, &[cluster("")], None), Fine, "", &[]);
        assert_check(&check_mesh_entry(&Ok(None), &[cluster("")], None), Fine, "no config entry mesh", &[]);
    }

    #[test]
    fn servers_that_choose_the_groups_may_send_proxies_what_they_do_not_know() {
        let strict = Ok(Some(entry(json!({
            "Kind": "mesh", "ModifyIndex": 12, "TLS": { "Incoming": { "TLSMinVersion": "TLSv1_3" } },
        }))));
        let check = |consul| check_mesh_entry(&strict, &[], consul);
        let command = "echo '{\"Kind\":\"mesh\",\"TLS\":{\"Incoming\":{\"TLSMinVersion\":\"TLSv1_3\",\"ECDHCurves\":[\"X25519\"]}}}' \
                       | consul config write -cas -modify-index 12 -";
        assert_check(&check(Some("2.1.0")), Warning, "Consul 2.1.0 sends X25519MLKEM768", &[command]);
        assert_check(&check(Some("2.0.2")), Fine, "", &[]);
        assert_check(&check(None), Fine, "", &[]);
    }

    #[test]
    fn entry_that_could_not_be_read_is_unknown() {
        let subject = "the config entry mesh".to_owned();
        let read =
            Err(ConsulError::PermissionDenied { subject, token: TokenOwner::Command, reason: "denied".to_owned() });
        assert_check(&check_mesh_entry(&read, &[cluster("")], None), Unknown, "denied", &[]);
    }
}
